/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* fopencookie */
#include "tools/cmd/shown.h"

#include "base/shown.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>

static ssize_t write_shown(void *state, const char *text, size_t size)
{
    char shown[2 * 4096];
    for (size_t at = 0; at < size;) {
        const size_t part = size - at < 4096 ? size - at : 4096, bytes = base_shown(state, text + at, part, shown);
        for (size_t done = 0; done < bytes;) {
            const ssize_t written = write(STDOUT_FILENO, shown + done, bytes - done);
            if (written < 0 && errno == EINTR)
                continue;
            if (written < 0)
                return 0; /* an error, as fopencookie has it */
            done += (size_t)written;
        }
        at += part;
    }
    return (ssize_t)size;
}

void tools_shown_begin(void)
{
    /* New files get the lowest free descriptor: so reserve these, which cannot be read or written as needed. */
    for (int number = STDIN_FILENO; number <= STDERR_FILENO; number++)
        if (fcntl(number, F_GETFD) < 0 && errno == EBADF)
            open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY);

    static struct base_shown state;
    FILE *shown = fopencookie(&state, "w", (cookie_io_functions_t){ .write = write_shown });
    if (!shown)
        return;
    if (isatty(STDOUT_FILENO))
        setvbuf(shown, NULL, _IOLBF, BUFSIZ);
    fflush(stdout);
    stdout = shown;
}

/* The descriptor is kept: drivers store the value of `stdout` when they are loaded, and use it when the program
 * ends. */
bool tools_shown_end(void)
{
    const bool bad = fflush(stdout) || ferror(stdout);
    return !close(STDOUT_FILENO) && !bad;
}
