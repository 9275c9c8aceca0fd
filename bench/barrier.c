/* SPDX-License-Identifier: Apache-2.0 */
/* The overhead of a parallel step: steps of `ns` nanoseconds on one thread, split among THREADS.
 *   barrier THREADS */
#include "base/clock.h"
#include "base/parallel.h"
#include "base/pool.h"

#include <stdio.h>
#include <stdlib.h>

enum { UNITS = 4096, ROUNDS = 9, SECONDS_NS = 30000000 };

static uint32_t loops;

static void work(void *context, size_t begin, size_t end, unsigned worker)
{
    (void)context, (void)worker;
    for (; begin < end; begin++)
        for (volatile uint32_t i = 0; i < loops; i++)
            ;
}

/* Nanoseconds of a step: the minimum of some rounds. */
static double step_ns(uint32_t threads)
{
    double least = 1e18;
    struct base_team before = base_parallel_enter(threads);
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t start = base_now_ns(), now = start;
        uint32_t count = 0;
        for (; now - start < SECONDS_NS; now = base_now_ns()) {
            for (int i = 0; i < 16; i++)
                base_parallel_for(UNITS, 1, work, NULL);
            count += 16;
        }
        least = BASE_MIN(least, (double)(now - start) / count);
    }
    base_parallel_leave(before);
    return least;
}

int main(int argc, char **argv)
{
    uint32_t most = argc > 1 ? (uint32_t)atoi(argv[1]) : base_parallel_threads(), awake;
    if (!most)
        return 2;
    printf("ns a step by threads:\n");
    static const uint32_t sizes[] = { 0, 1, 4, 16 };
    for (size_t s = 0; s < ARRAY_SIZE(sizes); s++) {
        loops = sizes[s];
        double alone = step_ns(1);
        printf("work %8.0f:", alone);
        for (uint32_t threads = 2; threads <= most; threads += threads < 4 ? 1 : 2) {
            double ns = step_ns(threads);
            printf("  %u: %.0f (+%.0f)", threads, ns, ns - alone / threads);
        }
        printf("\n");
    }
    printf("%u workers\n", base_pool_workers(&awake));
    return 0;
}
