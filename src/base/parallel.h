/* SPDX-License-Identifier: Apache-2.0 */
/* Work in parallel, by the threads of the process's pool (pool.h). */
#ifndef BASE_PARALLEL_H
#define BASE_PARALLEL_H

#include "base/base.h"

/* Called with disjoint ranges that cover [0, units). worker < base_parallel_threads(); of calls at the same time each
 * has another one. */
typedef void base_parallel_fn(void *context, size_t begin, size_t end, unsigned worker);

/* The number of threads for parallel work of the calling thread, including this thread. 1 inside of such work. */
uint32_t base_parallel_threads(void);

/* Sets that number, 0 = one per core, until the matching leave. */
struct base_team {
    uint32_t threads;
    bool nested;
};
struct base_team base_parallel_enter(uint32_t threads);
void base_parallel_leave(struct base_team before);

/* Runs fn over [0, units) in at most `ranges` equal contiguous ranges of at least `grain` units, one for each worker;
 * idle workers steal from others' ranges. On an oversubscribed machine, ranges are split further. Runs on the calling
 * thread alone if one range is enough or there are no other threads. Returns when all work is complete. */
void base_parallel_ranges(size_t units, size_t grain, uint32_t ranges, base_parallel_fn *fn, void *context);

/* The same with ranges of at most `blocks` blocks each, which have no cost besides the calls. */
void base_parallel_blocks(size_t units, size_t grain, uint32_t ranges, uint32_t blocks, base_parallel_fn *fn,
                          void *context);

/* The same with one range per thread. */
void base_parallel_for(size_t units, size_t grain, base_parallel_fn *fn, void *context);

#define BASE_COPY_GRAIN ((size_t)1 << 20) /* bytes that are worth a thread */
/* memcpy and memset by the calling thread's team. */
void base_parallel_copy(void *to, const void *from, size_t bytes);
void base_parallel_zero(void *to, size_t bytes);

/* Marks the calling thread as a pool worker. */
void base_parallel_inside(void);

#endif
