/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of constants: aligned, zeroed, released. */
#include "base/pages.h"

#include "test.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* On both sides of the sizes for the heap, a chunk, and a separate mapping. */
static const uint64_t sizes[] = { 0,
                                  1,
                                  255,
                                  256,
                                  257,
                                  4095,
                                  (64 << 10) - 1,
                                  64 << 10,
                                  (64 << 10) + 1,
                                  1 << 20,
                                  (2 << 20) - 1,
                                  2 << 20,
                                  (2 << 20) + 1,
                                  5 << 20 };

static bool zeros(const char *data, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes; i++)
        if (data[i])
            return false;
    return true;
}

static bool filled(const char *data, char byte, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes; i++)
        if (data[i] != byte)
            return false;
    return true;
}

static long mapped_pages(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file && fscanf(file, "%ld", &pages) != 1)
        pages = 0;
    if (file)
        fclose(file);
    return pages;
}

/* Nothing overlaps, and memory that is released late is intact until then. */
static void test_sizes(void)
{
    enum { COUNT = ARRAY_SIZE(sizes), ROUNDS = 4 };
    struct base_pages pages = { 0 };
    char *data[ROUNDS * COUNT];
    for (uint32_t i = 0; i < ROUNDS * COUNT; i++) {
        uint64_t bytes = sizes[i % COUNT];
        data[i] = base_pages_acquire(&pages, bytes);
        if (!TEST_FOR(data[i] && (uintptr_t)data[i] % 256 == 0 && zeros(data[i], bytes), "%llu bytes",
                      (unsigned long long)bytes))
            return;
        memset(data[i], (int)i + 1, bytes);
    }
    for (uint32_t i = 0; i < ROUNDS * COUNT; i += 2) {
        TEST(filled(data[i], (char)(i + 1), sizes[i % COUNT]));
        base_pages_release(data[i], sizes[i % COUNT]);
    }
    base_pages_finish(&pages);
    base_pages_finish(&pages);
    for (uint32_t i = 1; i < ROUNDS * COUNT; i += 2) {
        TEST(filled(data[i], (char)(i + 1), sizes[i % COUNT]));
        base_pages_release(data[i], sizes[i % COUNT]);
    }
    for (uint32_t i = 0; i < COUNT; i++)
        base_pages_release(NULL, sizes[i]);
}

/* The system gets it back: all of large runs at once, chunks when nothing is left in them. */
static void test_given_back(void)
{
    struct base_pages pages = { 0 };
    long before = mapped_pages();
    for (uint32_t round = 0; round < 200; round++) {
        void *large = base_pages_acquire(&pages, 5 << 20), *small[6];
        for (uint32_t i = 0; i < 6; i++)
            small[i] = base_pages_acquire(&pages, 1 << 20);
        base_pages_release(large, 5 << 20);
        for (uint32_t i = 0; i < 6; i++)
            base_pages_release(small[i], 1 << 20);
    }
    base_pages_finish(&pages);
    TEST(before > 0 && mapped_pages() < before + (8 << 20) / 4096);
}

static void test_refused(void)
{
    struct base_pages pages = { 0 };
    TEST(!base_pages_acquire(&pages, UINT64_MAX));
    TEST(!base_pages_acquire(&pages, INT64_MAX));
    TEST(!base_pages_acquire(&pages, UINT64_C(1) << 60));
    base_pages_finish(&pages);
}

struct share {
    char *data[64];
};

static void *give_all(void *argument)
{
    struct share *share = argument;
    for (uint32_t i = 0; i < ARRAY_SIZE(share->data); i++)
        base_pages_release(share->data[i], 100000);
    return NULL;
}

/* Threads release allocations in one chunk. */
static void test_threads(void)
{
    struct base_pages pages = { 0 };
    struct share shares[4];
    pthread_t threads[4];
    for (uint32_t i = 0; i < 64; i++)
        for (uint32_t t = 0; t < 4; t++)
            TEST((shares[t].data[i] = base_pages_acquire(&pages, 100000)) != NULL);
    base_pages_finish(&pages);
    for (uint32_t t = 0; t < 4; t++)
        TEST(!pthread_create(&threads[t], NULL, give_all, &shares[t]));
    for (uint32_t t = 0; t < 4; t++)
        pthread_join(threads[t], NULL);
}

int main(void)
{
    test_sizes();
    test_given_back();
    test_refused();
    test_threads();
    return test_result();
}
