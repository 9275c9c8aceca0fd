/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that the command starts: itself, ffmpeg. */
#ifndef TOOLS_CHILD_H
#define TOOLS_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#define TOOLS_CHILD_SELF "/proc/self/exe" /* this program */
#define TOOLS_CHILD_NULL (-1)             /* instead of a file descriptor: /dev/null */

struct tools_child {
    const char *program;      /* searched for in PATH if it has no slash */
    char *const *words;       /* the arguments, from the name on, then NULL */
    char *const *environment; /* NULL: the parent's */
    int files[3];             /* standard input, output and error */
    const sigset_t *mask;     /* NULL: the parent's */
    bool detached;            /* in a session of its own, without the parent's other files */
};

/* 0, or the error; SIGPIPE has its default action in the child. */
int tools_child_start(const struct tools_child *child, pid_t *out);
/* The status, as waitpid's. */
int tools_child_wait(pid_t pid);

#endif
