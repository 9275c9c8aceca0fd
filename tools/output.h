/* SPDX-License-Identifier: Apache-2.0 */
/* Output files of a command: written under a temporary name until they are complete, so that a failure, a full disk or
 * an interrupt keeps the previous file. No output is one of the command's inputs (tools/files.h). SIGHUP, SIGINT,
 * SIGPIPE and SIGTERM, unless they are ignored, remove incomplete files and then have their usual effect.
 */
#ifndef TOOLS_OUTPUT_H
#define TOOLS_OUTPUT_H

#include "tools/error.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/types.h>

struct tools_output {
    FILE *file;                /* to write to */
    char path[PATH_MAX];       /* its final path: of a link, its target */
    char partial[PATH_MAX];    /* its temporary path; "" for a file that is not regular, which is written directly */
    pid_t writer;              /* a process that writes the file, and ends with it; 0: none */
    struct tools_output *next; /* of the open files */
};

/* Fails in one line, "cannot write PATH: why"; nothing is open then. By one thread, which owns the open files. */
bool tools_output_open(struct tools_output *output, const char *path, struct tools_error *error);

/* Closes the file and, if `ok` and everything could be written, renames it to its final name; otherwise removes it.
 * Returns whether it exists; if `ok`, error has the reason why not. */
bool tools_output_close(struct tools_output *output, bool ok, struct tools_error *error);

/* Whether a file could be written there, which is not an input and was not requested before; creates and changes
 * nothing.
 */
bool tools_output_check(const char *path, struct tools_error *error);

/* The signals that remove files wait between the two. */
void tools_output_hold(sigset_t *before);
void tools_output_release(const sigset_t *before);

#endif
