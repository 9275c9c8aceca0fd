/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of calls on stderr. */
#ifndef TESTS_API_CAPTURE_H
#define TESTS_API_CAPTURE_H

#include "api_test.h"

#include <unistd.h>

static int capture_kept, capture_end;

static inline void capture_begin(void)
{
    int ends[2];
    need(!pipe(ends));
    capture_kept = dup(STDERR_FILENO);
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
    capture_end = ends[0];
}

static inline const char *capture_text(void)
{
    static char text[4096];
    dup2(capture_kept, STDERR_FILENO);
    close(capture_kept);
    ssize_t count = read(capture_end, text, sizeof(text) - 1);
    text[count > 0 ? count : 0] = 0;
    close(capture_end);
    return text;
}

#endif
