/* SPDX-License-Identifier: Apache-2.0 */
/* Worker threads shared by all threads of the process (pool.c), used through base/parallel.h. */
#ifndef BASE_POOL_H
#define BASE_POOL_H

#include "base/parallel.h"

enum {
    BASE_POOL_WORKERS_MAX = 255, /* in addition to submitting threads */
    BASE_POOL_CLIENTS_MAX = 64,  /* threads with work at a time; further ones do theirs alone */
};

/* Work of the calling thread: `ranges` equal parts of [0, units), each of `blocks` equal blocks, the unit of stealing.
 * A range belongs to one thread; idle threads steal blocks from it. */
struct base_pool_job {
    base_parallel_fn *fn;
    void *context;
    uint64_t units; /* ranges * blocks at least */
    uint32_t ranges, blocks;
};

/* Returns when all work is complete. The calling thread takes part, so progress does not depend on workers; `worker` is
 * less than job->ranges, and 0 for the calling thread. */
void base_pool_run(const struct base_pool_job *job);

/* Between these calls the calling thread submits work and computes; while every CPU has such a thread, workers sleep.
 * Not nested. `threads`: the number that it can use. */
void base_pool_enter(uint32_t threads);
void base_pool_leave(void);

/* Whether the machine is oversubscribed: then smaller pieces are better, since any thread may be preempted. */
bool base_pool_crowded(void);

/* Whether waiting threads spin for a while before they sleep (true at first). */
void base_pool_set_spinning(bool spinning);

/* For tests and logs: workers that there are, and how many of them do not sleep. */
uint32_t base_pool_workers(uint32_t *out_awake);

#endif
