/* SPDX-License-Identifier: Apache-2.0 */
/* Worker threads that all threads of the process share (pool.c). What uses them: base/parallel.h. */
#ifndef BASE_POOL_H
#define BASE_POOL_H

#include "base/parallel.h"

enum {
    BASE_POOL_WORKERS_MAX = 255, /* beside the callers */
    BASE_POOL_CLIENTS_MAX = 64,  /* threads with work at a time; further ones do theirs alone */
};

/* Work of the calling thread: `ranges` equal parts of [0, units), each in `blocks` equal blocks, which are what threads
 * take. A range belongs to one thread, from whom those take that are done with theirs. */
struct base_pool_job {
    base_parallel_fn *fn;
    void *context;
    uint64_t units; /* ranges * blocks at least */
    uint32_t ranges, blocks;
};

/* Returns when all is done. The caller works, too, so it ends whether there are workers or not; `worker` is less than
 * job->ranges, and 0 for the caller. */
void base_pool_run(const struct base_pool_job *job);

/* Between these the calling thread submits work and computes; while all CPUs have a thread that does, workers sleep.
 * Not nested. `threads`: so many it would use. */
void base_pool_enter(uint32_t threads);
void base_pool_leave(void);

/* Whether others want the CPUs: then it pays to cut finer, since any thread may be kept from its range. */
bool base_pool_crowded(void);

/* Whether waiting threads spin for a while before they sleep (true at first). */
void base_pool_set_spinning(bool spinning);

/* For tests and logs: workers that there are, and how many of them do not sleep. */
uint32_t base_pool_workers(uint32_t *out_awake);

#endif
