/* SPDX-License-Identifier: Apache-2.0 */
/* What inject.c offers to the programs that it is preloaded to. */
#ifndef TESTS_ALLOC_INJECT_H
#define TESTS_ALLOC_INJECT_H

#include <stdbool.h>
#include <stdint.h>

enum {
    INJECT_CRASH = 99, /* the exit code of a process that crashed */
    INJECT_SKIP = 77,  /* of one where what shall fail cannot: calls on files, but on x86-64 */
};

struct inject_use {
    int64_t blocks; /* of the heap */
    int64_t mapped; /* bytes */
    int64_t files;  /* descriptors */
};

/* From now on the allocation, or what else fails, of this number does, counted from 1; 0: none. */
void inject_begin(uint64_t number);
/* No more. How many there were. */
uint64_t inject_end(void);
struct inject_use inject_in_use(void);
/* Says on stderr which blocks of the heap that were made between the two are still there. */
void inject_show_left(void);

#endif
