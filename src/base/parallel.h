/* SPDX-License-Identifier: Apache-2.0 */
/* The worker team. It is OpenMP's, because oneDNN uses that too: one team per submitting thread, so the two never
 * compete for cores. */
#ifndef BASE_PARALLEL_H
#define BASE_PARALLEL_H

#include "base/base.h"

/* Called with disjoint ranges that cover [0, units); worker < base_parallel_threads(). */
typedef void base_parallel_fn(void *context, size_t begin, size_t end, unsigned worker);

/* How many threads parallel work started by the calling thread uses, this thread included. */
uint32_t base_parallel_threads(void);

/* Sets that number, 0 = one per processor, until the matching leave. The thread may be the application's, and OpenMP's
 * number for it with it: both are put back. */
struct base_team {
    uint32_t threads;
    int openmp;
};
struct base_team base_parallel_enter(uint32_t threads);
void base_parallel_leave(struct base_team before);

/* OpenMP's runtime ends the process when it cannot create a thread. So threads are tried first: how many of `threads`,
 * this one included, a team of the calling thread gets; less than asked for where the system refuses more, and 1 on the
 * thread that forked this process while it had a team. What is not tried again costs a comparison. */
uint32_t base_parallel_grant(uint32_t threads);
/* The same for a thread that has no team yet; each call tries. */
uint32_t base_parallel_possible(uint32_t threads);

/* Runs fn over [0, units) in at most base_parallel_threads() equal contiguous ranges of at least `grain` units, on the
 * calling thread alone when one range is enough or it is granted no others. Returns when all is done. */
void base_parallel_for(size_t units, size_t grain, base_parallel_fn *fn, void *context);

/* The same in that many ranges, fewer where there are fewer threads or units. */
void base_parallel_ranges(size_t units, unsigned ranges, base_parallel_fn *fn, void *context);

#endif
