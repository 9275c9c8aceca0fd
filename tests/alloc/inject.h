/* SPDX-License-Identifier: Apache-2.0 */
/* What inject.c offers to the programs that it is preloaded to. */
#ifndef TESTS_ALLOC_INJECT_H
#define TESTS_ALLOC_INJECT_H

#include <stdbool.h>
#include <stdint.h>

/* Exit codes of a process that crashed. */
enum { INJECT_CRASH = 99, INJECT_CRASH_LIBRARY = 98 };

struct inject_use {
    int64_t blocks; /* of the heap */
    int64_t mapped; /* bytes */
};

/* From now on the allocation of this number fails, counted from 1; 0: none. */
void inject_begin(uint64_t number);
/* No more. How many there were. */
uint64_t inject_end(void);
struct inject_use inject_in_use(void);
/* Is there a block of the heap, or a mapping, made between the two, that our code has left there? Ones that a library
 * allocated are only blamed on us where it was our allocation that failed. `show`: says which. */
bool inject_ours_left(int64_t mapped_before, bool show);

#endif
