/* SPDX-License-Identifier: Apache-2.0 */
/* Files that a command writes: under another name until they are complete, so that a failure, a full disk or a key
 * pressed in between leaves what was there before. No output is one of the command's inputs (tools/files.h). SIGHUP,
 * SIGINT, SIGPIPE and SIGTERM, unless they are ignored, remove what is not complete and then do what they usually do.
 */
#ifndef TOOLS_OUTPUT_H
#define TOOLS_OUTPUT_H

#include "tools/error.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/types.h>

struct tools_output {
    FILE *file;             /* to write to */
    char path[PATH_MAX];    /* where it will be: of a link, what it leads to */
    char partial[PATH_MAX]; /* where it is until then; "" for what is no regular file, which is written to as it is */
    pid_t writer;           /* a process that writes the file, which ends with it; 0: there is none */
    struct tools_output *next; /* of those that are open */
};

/* Fails in one line, "cannot write PATH: why"; nothing is open then. By one thread, which holds what is open. */
bool tools_output_open(struct tools_output *output, const char *path, struct tools_error *error);

/* Closes the file and, when `ok` and all of it could be written, gives it its name; else removes it. Returns whether it
 * is there; when `ok`, error says why it is not. */
bool tools_output_close(struct tools_output *output, bool ok, struct tools_error *error);

/* Whether a file could be written there, which is no input and was not asked for before; makes none and changes none.
 */
bool tools_output_check(const char *path, struct tools_error *error);

/* The signals that remove files wait between the two. */
void tools_output_hold(sigset_t *before);
void tools_output_release(const sigset_t *before);

#endif
