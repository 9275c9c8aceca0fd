/* SPDX-License-Identifier: Apache-2.0 */
/* When barriers sleep, and that they do. */
#include "adapter/cpu/cpu.h"
#include "base/clock.h"

#include "test.h"

#include <omp.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define MS UINT64_C(1000000)

static void test_judge(void)
{
    struct cpu_oversubscription load = { 0 };
    TEST(!cpu_oversubscription_judge(&load, 1000 * MS, 5000 * MS)); /* what was before */
    TEST(!cpu_oversubscription_judge(&load, 1050 * MS, 6000 * MS)); /* too early */
    TEST(!cpu_oversubscription_judge(&load, 1100 * MS, 5950 * MS)); /* once */
    TEST(cpu_oversubscription_judge(&load, 1200 * MS, 6000 * MS) && load.rest_ms == 1000);
    TEST(cpu_oversubscription_judge(&load, 1300 * MS, 6050 * MS) && load.rest_ms == 2000);
    load.since_ns = 0; /* after a rest */
    TEST(!cpu_oversubscription_judge(&load, 1400 * MS, 6500 * MS) && load.rest_ms == 2000);
    for (uint64_t i = 1; i < 6; i++)
        TEST(cpu_oversubscription_judge(&load, (1400 + 100 * i) * MS, (6500 + 60 * i) * MS));
    TEST(load.rest_ms == 16000);
    TEST(!cpu_oversubscription_judge(&load, 2100 * MS, 6850 * MS)); /* a quarter of the time */
    TEST(load.rest_ms == 0);
    TEST(!cpu_oversubscription_judge(&load, 2200 * MS, 1000 * MS)); /* threads have ended */
    TEST(!cpu_oversubscription_judge(&load, 2400 * MS, 1100 * MS));
    TEST(!cpu_oversubscription_judge(&load, 2500 * MS, 1110 * MS)); /* it was short */
    TEST(!cpu_oversubscription_judge(&load, 2600 * MS, 1200 * MS));
    TEST(cpu_oversubscription_judge(&load, 2700 * MS, 1300 * MS) && load.rest_ms == 1000);
}

static double cpu_seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Processor time of a team of two of which one waits for the other, who sleeps. */
static double waiting(void)
{
    double start = cpu_seconds();
    for (uint32_t i = 0; i < 20; i++) {
#pragma omp parallel num_threads(2)
        if (omp_get_thread_num())
            usleep(2000);
    }
    return cpu_seconds() - start;
}

static void test_rest(void)
{
    unsigned threads = (unsigned)omp_get_num_procs();
    waiting();
    double before = waiting();
    TEST(cpu_oversubscription_rest(threads, 1000));
    double during = before, after = 0;
    for (uint32_t i = 0; i < 20 && during >= before / 2; i++) /* it may take a while to begin */
        during = waiting();
    for (uint32_t i = 0; i < 100 && after < before / 2; i++) {
        usleep(100000);
        after = waiting();
    }
    fprintf(stderr, "processor seconds before, during, after: %.4f %.4f %.4f\n", before, during, after);
    if (before < 0.008)
        return; /* they never spin here: OMP_WAIT_POLICY=passive, or another OpenMP */
    TEST(during < before / 2);
    TEST(after >= before / 2); /* the team that slept is gone */
    TEST(!cpu_oversubscription_rest(1, 1) || threads < 16);
}

int main(void)
{
    test_judge();
    test_rest();
    return test_result();
}
