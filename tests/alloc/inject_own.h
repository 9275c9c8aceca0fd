/* SPDX-License-Identifier: Apache-2.0 */
/* Between the parts of the library that is preloaded. */
#ifndef TESTS_ALLOC_INJECT_OWN_H
#define TESTS_ALLOC_INJECT_OWN_H

#include "inject.h"

/* What fails: ANYDML_INJECT_WHAT has the name. */
enum inject_kind {
    INJECT_MEMORY,  /* "memory": allocations; without the variable, too */
    INJECT_THREADS, /* "threads": pthread_create */
    INJECT_EIO,     /* "EIO" and the next ones: calls on files, which return this error */
    INJECT_ENOSPC,
    INJECT_EINTR,
    INJECT_EMFILE,
    INJECT_SHORT, /* "short": half of what was asked for is read or written */
    INJECT_KINDS
};
extern enum inject_kind inject_what;

/* Counts this call, and whether it is the one that fails. For calls of inject_what alone. */
bool inject_fails(void);

/* false: not on this machine. */
bool inject_files_start(void);

#endif
