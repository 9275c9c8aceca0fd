/* SPDX-License-Identifier: Apache-2.0 */
#include "base/parallel.h"

#include "base/cpu.h"

#include <omp.h>

static _Thread_local uint32_t thread_count;

struct base_team base_parallel_enter(uint32_t threads)
{
    struct base_team before = { thread_count, omp_get_max_threads() };
    thread_count = threads ? threads : base_cpu_count();
    if (before.openmp != (int)thread_count)
        omp_set_num_threads((int)thread_count);
    return before;
}

void base_parallel_leave(struct base_team before)
{
    if (before.openmp != (int)thread_count)
        omp_set_num_threads(before.openmp);
    thread_count = before.threads;
}

uint32_t base_parallel_threads(void)
{
    return thread_count ? thread_count : base_cpu_count();
}

struct region {
    base_parallel_fn *fn;
    void *context;
    size_t units;
    unsigned ranges;
};

static void run_range(const struct region *region, unsigned range)
{
    size_t each = region->units / region->ranges, extra = region->units % region->ranges;
    size_t begin = each * range + BASE_MIN(range, extra);
    region->fn(region->context, begin, begin + each + (range < extra), range);
}

#if defined(__SANITIZE_THREAD__)
/* libgomp is not instrumented: tell the sanitizer where the region's start and end order memory. */
void __tsan_acquire(void *address);
void __tsan_release(void *address);
static _Thread_local char team_tag;
#define TEAM_ATTRIBUTES   __attribute__((no_sanitize("thread")))
#define TEAM_ACQUIRE(tag) __tsan_acquire(tag)
#define TEAM_RELEASE(tag) __tsan_release(tag)
#else
static char team_tag;
#define TEAM_ATTRIBUTES
#define TEAM_ACQUIRE(tag) (void)(tag)
#define TEAM_RELEASE(tag) (void)(tag)
#endif

/* Always the whole team: libgomp ends the threads that a smaller one does not need, and creates them anew for the next.
 */
TEAM_ATTRIBUTES static void run_region(const struct region *region)
{
    char *tag = &team_tag;
    uint32_t team = base_parallel_grant(base_parallel_threads());
    if (team < 2) {
        for (unsigned range = 0; range < region->ranges; range++)
            run_range(region, range);
        return;
    }
    TEAM_RELEASE(tag);
#pragma omp parallel num_threads(team)
    {
        TEAM_ACQUIRE(tag);
        /* A team may be granted fewer threads than asked for: every range must run all the same. */
        for (unsigned range = (unsigned)omp_get_thread_num(); range < region->ranges;
             range += (unsigned)omp_get_num_threads())
            run_range(region, range);
        TEAM_RELEASE(tag);
    }
    TEAM_ACQUIRE(tag);
}

void base_parallel_for(size_t units, size_t grain, base_parallel_fn *fn, void *context)
{
    size_t ranges = grain ? units / grain : units;
    base_parallel_ranges(units, (unsigned)BASE_MIN(ranges, UINT32_MAX), fn, context);
}

void base_parallel_ranges(size_t units, unsigned ranges, base_parallel_fn *fn, void *context)
{
    ranges = (unsigned)BASE_MIN(BASE_MIN(ranges, units), base_parallel_threads());
    struct region region = { fn, context, units, BASE_MAX(ranges, 1) };
    if (!units)
        return;
    if (region.ranges == 1)
        fn(context, 0, units, 0);
    else
        run_region(&region);
}
