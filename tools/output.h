/* SPDX-License-Identifier: Apache-2.0 */
/* Files that a command writes: under another name until they are complete, so that a failure, a full disk or a key
 * pressed in between leaves what was there before. */
#ifndef TOOLS_OUTPUT_H
#define TOOLS_OUTPUT_H

#include "tools/error.h"

#include <limits.h>
#include <stdio.h>

struct tools_output {
    FILE *file;             /* to write to */
    char path[PATH_MAX];    /* where it will be: of a link, what it leads to */
    char partial[PATH_MAX]; /* where it is until then; "" for what is no regular file, which is written to as it is */
};

/* Fails in one line, "cannot write PATH: why"; nothing is open then. */
bool tools_output_open(struct tools_output *output, const char *path, struct tools_error *error);

/* Closes the file and, when `ok` and all of it could be written, gives it its name; else removes it. Returns whether it
 * is there; when `ok`, error says why it is not. */
bool tools_output_close(struct tools_output *output, bool ok, struct tools_error *error);

/* Whether a file could be written there; makes none and changes none. */
bool tools_output_check(const char *path, struct tools_error *error);

#endif
