/* SPDX-License-Identifier: Apache-2.0 */
#include "base/parallel.h"

#include "base/cpu.h"
#include "base/pool.h"

/* Number of blocks of a range on an oversubscribed machine. Otherwise one, or the caller's number: each call of most
 * kernels packs operands into scratch memory and recomputes the borders of bands, which costs more than the imbalance
 * on an idle machine. */
#define BLOCKS_CROWDED 4

/* Of the calling thread. */
static _Thread_local struct {
    uint32_t threads;
    bool entered;
    bool inside; /* of a range: nested parallel work runs on one thread */
} own;

struct base_team base_parallel_enter(uint32_t threads)
{
    struct base_team before = { .threads = own.threads, .nested = own.entered };
    own.threads = threads ? threads : base_cpu_cores();
    if (!own.entered)
        base_pool_enter(own.threads);
    own.entered = true;
    return before;
}

void base_parallel_leave(struct base_team before)
{
    own.threads = before.threads;
    if (!before.nested)
        base_pool_leave();
    own.entered = before.nested;
}

uint32_t base_parallel_threads(void)
{
    if (own.inside)
        return 1;
    return own.threads ? own.threads : base_cpu_cores();
}

void base_parallel_inside(void)
{
    own.inside = true;
}

static void run(size_t units, size_t grain, uint32_t ranges, uint32_t blocks, base_parallel_fn *fn, void *context)
{
    struct base_pool_job job = { fn, context, units, ranges, 1 };
    if (base_pool_crowded())
        blocks = BLOCKS_CROWDED;
    if (blocks > 1)
        job.blocks = (uint32_t)BASE_MAX(BASE_MIN(units / BASE_MAX(grain, 1) / ranges, blocks), 1);
    own.inside = true;
    base_pool_run(&job);
    own.inside = false;
}

void base_parallel_ranges(size_t units, size_t grain, uint32_t ranges, base_parallel_fn *fn, void *context)
{
    base_parallel_blocks(units, grain, ranges, 1, fn, context);
}

void base_parallel_blocks(size_t units, size_t grain, uint32_t ranges, uint32_t blocks, base_parallel_fn *fn,
                          void *context)
{
    size_t most = BASE_MIN(units / BASE_MAX(grain, 1), base_parallel_threads());
    ranges = (uint32_t)BASE_MIN(ranges, most);
    if (ranges > 1)
        run(units, grain, ranges, ranges > 2 ? blocks : 1, fn, context);
    else if (units)
        fn(context, 0, units, 0);
}

void base_parallel_for(size_t units, size_t grain, base_parallel_fn *fn, void *context)
{
    base_parallel_ranges(units, grain, UINT32_MAX, fn, context);
}

struct copy {
    char *to;
    const char *from;
};

static void copy_range(void *context, size_t begin, size_t end, unsigned worker)
{
    const struct copy *copy = context;
    (void)worker;
    memcpy(copy->to + begin, copy->from + begin, end - begin);
}

void base_parallel_copy(void *to, const void *from, size_t bytes)
{
    struct copy copy = { to, from };
    base_parallel_for(bytes, BASE_COPY_GRAIN, copy_range, &copy);
}

static void zero_range(void *context, size_t begin, size_t end, unsigned worker)
{
    (void)worker;
    memset((char *)context + begin, 0, end - begin);
}

void base_parallel_zero(void *to, size_t bytes)
{
    base_parallel_for(bytes, BASE_COPY_GRAIN, zero_range, to);
}
