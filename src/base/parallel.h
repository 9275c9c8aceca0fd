/* SPDX-License-Identifier: Apache-2.0 */
/* Work in parallel, by the threads of the process's pool (pool.h). */
#ifndef BASE_PARALLEL_H
#define BASE_PARALLEL_H

#include "base/base.h"

/* Called with disjoint ranges that cover [0, units). worker < base_parallel_threads(); of calls at the same time each
 * has another one. */
typedef void base_parallel_fn(void *context, size_t begin, size_t end, unsigned worker);

/* How many threads parallel work started by the calling thread uses, this thread included. 1 inside of such work. */
uint32_t base_parallel_threads(void);

/* Sets that number, 0 = one per core, until the matching leave. */
struct base_team {
    uint32_t threads;
    bool nested;
};
struct base_team base_parallel_enter(uint32_t threads);
void base_parallel_leave(struct base_team before);

/* Runs fn over [0, units) in at most `ranges` equal contiguous ranges of at least `grain` units, one for each worker;
 * who is done with his takes those of others. They are cut further where threads may be kept from theirs. On the
 * calling thread alone when one range is enough or there are no other threads. Returns when all is done. */
void base_parallel_ranges(size_t units, size_t grain, uint32_t ranges, base_parallel_fn *fn, void *context);

/* The same in blocks: each range in `blocks` of them at most, which cost nothing but the calls. */
void base_parallel_blocks(size_t units, size_t grain, uint32_t ranges, uint32_t blocks, base_parallel_fn *fn,
                          void *context);

/* The same with as many ranges as there are threads. */
void base_parallel_for(size_t units, size_t grain, base_parallel_fn *fn, void *context);

/* For threads that only do others' work. */
void base_parallel_inside(void);

#endif
