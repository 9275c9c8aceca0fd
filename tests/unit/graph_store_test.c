/* SPDX-License-Identifier: Apache-2.0 */
/* The store of shared constants and packed weights, alone and used by plans; the hash that finds them. */
#include "graph_make.h"

#include "test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

/* ---- the hash ---- */

static bool equal(struct base_hash a, struct base_hash b)
{
    return a.low == b.low || a.high == b.high;
}

/* Every bit, the length, and what two words exchange make another hash; the place of the data does not. */
static void test_hash(void)
{
    char data[300] = { 0 }, copy[301];
    for (size_t size = 0; size < 300; size += size < 20 ? 1 : 31) {
        struct base_hash plain = base_hash(data, size);
        memcpy(copy + 1, data, size);
        TEST(equal(base_hash(copy + 1, size), plain) && base_hash(copy + 1, size).high == plain.high);
        TEST(!equal(base_hash(data, size + 1), plain));
        for (size_t bit = 0; bit < size * 8; bit++) {
            data[bit / 8] ^= (char)(1 << bit % 8);
            TEST_FOR(!equal(base_hash(data, size), plain), "bit %zu of %zu bytes", bit, size);
            data[bit / 8] ^= (char)(1 << bit % 8);
        }
        memset(data, (int)size, sizeof(data));
    }
    uint64_t words[32] = { 0 };
    words[3] = UINT64_C(1) << 63;
    struct base_hash before = base_hash(words, sizeof(words));
    for (uint32_t to = 0; to < 32; to++)
        for (uint32_t bit = 0; bit < 64; bit++) {
            uint64_t moved[32] = { 0 };
            moved[to] = UINT64_C(1) << bit;
            TEST((to == 3 && bit == 63) || !equal(base_hash(moved, sizeof(moved)), before));
        }
}

static void print_hash_speed(void)
{
    enum { BYTES = 32 << 20 };
    char *data = malloc(BYTES);
    struct timespec start, end;
    if (!TEST(data != NULL))
        return;
    memset(data, 1, BYTES);
    clock_gettime(CLOCK_MONOTONIC, &start);
    struct base_hash hash = base_hash(data, BYTES);
    clock_gettime(CLOCK_MONOTONIC, &end);
    double ns = (double)(end.tv_sec - start.tv_sec) * 1e9 + (double)(end.tv_nsec - start.tv_nsec);
    fprintf(stderr, "hashed %.1f GB/s (%llx)\n", BYTES / ns, (unsigned long long)hash.low);
    free(data);
}

/* ---- the store ---- */

struct filling {
    char byte;
    size_t bytes;
    atomic_int calls; /* of fill */
};

static void fill_bytes(void *context, void *data)
{
    struct filling *filling = context;
    for (size_t i = 0; i < filling->bytes; i++)
        TEST(!((char *)data)[i]);
    memset(data, filling->byte, filling->bytes);
    atomic_fetch_add(&filling->calls, 1);
}

static void test_store(void)
{
    struct graph_store *store = graph_store_create();
    struct graph_key keys[2] = { { { 1, 2 }, { 3, 4 } }, { { 1, 2 }, { 3, 5 } } };
    uint64_t bytes;
    if (!TEST(store != NULL))
        return;
    for (size_t size = 1; size <= 1 << 20; size *= 32) {
        struct filling fillings[2] = { { 'a', size, 0 }, { 'b', size, 0 } };
        struct graph_blob *blobs[4];
        for (uint32_t i = 0; i < 4; i++) {
            blobs[i] = graph_store_acquire(store, &keys[i % 2], size, fill_bytes, &fillings[i % 2]);
            if (!TEST(blobs[i] != NULL))
                return;
            const char *data = graph_blob_data(blobs[i]);
            TEST((uintptr_t)data % 256 == 0 && data[0] == fillings[i % 2].byte && data[size - 1] == data[0]);
        }
        TEST(blobs[0] == blobs[2] && blobs[1] == blobs[3] && blobs[0] != blobs[1]);
        TEST(fillings[0].calls == 1 && fillings[1].calls == 1);
        TEST(graph_store_count(store, &bytes) == 2 && bytes == 2 * size);
        graph_store_release(store, blobs[0]);
        graph_store_release(store, blobs[1]);
        graph_store_release(store, blobs[3]);
        TEST(graph_store_count(store, &bytes) == 1 && *(const char *)graph_blob_data(blobs[2]) == 'a');
        graph_store_release(store, blobs[2]);
        TEST(graph_store_count(store, &bytes) == 0 && bytes == 0);
    }
    TEST(!graph_store_acquire(store, &keys[0], UINT64_MAX, fill_bytes, NULL));
    TEST(graph_store_count(store, &bytes) == 0 && bytes == 0);
    graph_store_destroy(store);
    graph_store_destroy(NULL);
}

static void fill_quietly(void *context, void *data)
{
    memset(data, *(const char *)context, 512);
}

/* Returns its argument when something was wrong: TEST is for one thread. */
static void *take_and_drop(void *argument)
{
    struct graph_store *store = argument;
    void *wrong = NULL;
    for (uint32_t i = 0; i < 2000; i++) {
        struct graph_key key = { { i % 3, 0 }, { 0, 0 } };
        char byte = (char)('a' + i % 3);
        struct graph_blob *blob = graph_store_acquire(store, &key, 512, fill_quietly, &byte);
        if (!blob)
            return argument;
        if (((const char *)graph_blob_data(blob))[511] != byte)
            wrong = argument;
        graph_store_release(store, blob);
    }
    return wrong;
}

static void test_threads(void)
{
    struct graph_store *store = graph_store_create();
    pthread_t threads[4];
    uint64_t bytes;
    for (uint32_t i = 0; i < 4; i++)
        TEST(!pthread_create(&threads[i], NULL, take_and_drop, store));
    for (uint32_t i = 0; i < 4; i++) {
        void *wrong = store;
        pthread_join(threads[i], &wrong);
        TEST(!wrong);
    }
    TEST(graph_store_count(store, &bytes) == 0);
    graph_store_destroy(store);
}

/* ---- plans ---- */

enum { PLAN_CONV, PLAN_DEPTHWISE, PLAN_GEMM, PLAN_KINDS };

/* An op over constant weights for a batch of n. */
static void make_graph(struct graph *graph, uint32_t kind, uint32_t n, float first)
{
    struct graph_operand in[2];
    graph_init(graph, 1, 1, 0);
    if (kind == PLAN_GEMM) {
        in[0] = make_value(graph, GRAPH_INPUT, 0, F32, 3, SIZES(n, 20, 48));
        in[1] = make_constant(graph, 2, SIZES(48, 64), first, 0.01f);
        in[1].view = graph_view_broadcast(&in[1].view, 3, SIZES(n, 48, 64));
        make_gemm(graph, in, 2, make_value(graph, GRAPH_OUTPUT, 0, F32, 3, SIZES(n, 20, 64)));
        return;
    }
    uint32_t x = kind == PLAN_DEPTHWISE ? 128 : 32, y = kind == PLAN_DEPTHWISE ? 128 : 48;
    in[0] = make4(graph, GRAPH_INPUT, 0, n, x, 16, 16);
    in[1] = make_constant(graph, 4, SIZES(y, kind == PLAN_DEPTHWISE ? 1 : x, 3, 3), first, 0.01f);
    make_conv(graph, in, 2, make4(graph, GRAPH_OUTPUT, 0, n, y, 16, 16), kind == PLAN_DEPTHWISE ? x : 1, 1, 1);
}

static struct graph_plan *plan_of(uint32_t kind, uint32_t n, float first, struct graph_store *store)
{
    struct graph graph;
    struct graph_options options;
    struct graph_plan *plan = NULL;
    char error[256] = "";
    graph_options_init(&options, &graph_backend_host, 1);
    options.store = store;
    make_graph(&graph, kind, n, first);
    TEST_FOR(graph_plan_create(&graph, &options, &plan, error) == S_OK, "%s", error);
    graph_finish(&graph);
    return plan;
}

enum { IN_MAX = 3 * 128 * 256, OUT_MAX = 3 * 128 * 256 };

/* The plan's results are those of a plan that shares nothing. */
static void compare(const struct graph_plan *plan, uint32_t kind, uint32_t n)
{
    static float in[IN_MAX], got[OUT_MAX], want[OUT_MAX];
    struct graph_plan *alone = plan_of(kind, n, 0.5f, NULL);
    struct make_run run = { { in }, { got } };
    for (uint32_t i = 0; i < IN_MAX; i++)
        in[i] = (float)(i % 17) - 8;
    memset(got, 0, sizeof(got));
    memset(want, 0, sizeof(want));
    TEST(plan && alone && make_execute(plan, &run));
    run.outputs[0] = want;
    TEST(alone && make_execute(alone, &run));
    TEST_FOR(!memcmp(got, want, sizeof(got)), "kind %u, batch %u", kind, n);
    graph_plan_destroy(alone);
}

/* Another batch may ask for another layout, which is a blob of its own; the same one never does. */
static void test_plans(uint32_t kind)
{
    struct graph_store *store = graph_store_create();
    uint64_t one, two;
    struct graph_plan *first = plan_of(kind, 1, 0.5f, store), *again = plan_of(kind, 1, 0.5f, store);
    uint32_t blobs = graph_store_count(store, &one);
    if (!TEST(first && again))
        return;
    TEST(first->persistent_bytes == 0 && first->init_step_count == 0);
    TEST_FOR(blobs == 1 && first->steps[0].where[1].data == again->steps[0].where[1].data, "kind %u", kind);
    struct graph_plan *larger = plan_of(kind, 3, 0.5f, store);
    blobs = graph_store_count(store, &two);
    TEST_FOR(larger && blobs <= 2 && two >= one, "kind %u: %u blobs", kind, blobs);
    struct graph_plan *other = plan_of(kind, 1, 0.25f, store);
    TEST(other && graph_store_count(store, &two) == blobs + 1);
    compare(first, kind, 1);
    graph_plan_destroy(first);
    compare(again, kind, 1);
    compare(larger, kind, 3);
    graph_plan_destroy(again);
    graph_plan_destroy(larger);
    graph_plan_destroy(other);
    TEST(graph_store_count(store, &two) == 0 && two == 0);
    graph_store_destroy(store);
}

/* ---- weights that repeat ---- */

/* Views of one constant of which rows, columns or output channels are one and the same in memory. What is packed of
 * them may be equally large and yet differ: in how many repeat before the zeros that fill up a block. */
struct repeated {
    uint32_t kind, rank, sizes[4];
    int64_t strides[4];
};

static const struct repeated repeats[][2] = {
    { { PLAN_GEMM, 2, { 48, 47 }, { 1, 0 } }, { PLAN_GEMM, 2, { 48, 48 }, { 1, 0 } } },
    { { PLAN_GEMM, 2, { 40, 90 }, { 1, 0 } }, { PLAN_GEMM, 2, { 40, 96 }, { 1, 0 } } },
    { { PLAN_GEMM, 2, { 24, 96 }, { 0, 1 } }, { PLAN_GEMM, 2, { 48, 96 }, { 0, 1 } } },
    { { PLAN_GEMM, 2, { 96, 48 }, { 0, 0 } }, { PLAN_GEMM, 2, { 48, 96 }, { 0, 0 } } },
    { { PLAN_CONV, 4, { 41, 32, 3, 3 }, { 0, 9, 3, 1 } }, { PLAN_CONV, 4, { 48, 32, 3, 3 }, { 0, 9, 3, 1 } } },
    { { PLAN_CONV, 4, { 41, 32, 1, 1 }, { 0, 1, 1, 1 } }, { PLAN_CONV, 4, { 48, 32, 1, 1 }, { 0, 1, 1, 1 } } },
    { { PLAN_CONV, 4, { 32, 16, 3, 3 }, { 9, 0, 3, 1 } }, { PLAN_CONV, 4, { 32, 32, 3, 3 }, { 9, 0, 3, 1 } } },
    { { PLAN_CONV, 4, { 32, 16, 1, 3 }, { 16, 1, 0, 0 } }, { PLAN_CONV, 4, { 32, 16, 3, 1 }, { 16, 1, 0, 0 } } },
};

static struct graph_plan *repeated_plan(const struct repeated *r, struct graph_store *store)
{
    const uint32_t *s = r->sizes;
    struct graph graph;
    struct graph_options options;
    struct graph_plan *plan = NULL;
    struct graph_operand in[2];
    char error[256] = "";
    graph_options_init(&options, &graph_backend_host, 1);
    options.store = store;
    graph_init(&graph, 1, 1, 0);
    in[1] = make_constant(&graph, 2, SIZES(96, 96), 0.5f, 0.01f);
    in[1].view = (struct kern_view){ .type = F32, .rank = r->rank };
    memcpy(in[1].view.sizes, r->sizes, sizeof(r->sizes));
    memcpy(in[1].view.strides, r->strides, sizeof(r->strides));
    if (r->kind == PLAN_GEMM) {
        in[0] = make_value(&graph, GRAPH_INPUT, 0, F32, 2, SIZES(20, s[0]));
        make_gemm(&graph, in, 2, make_value(&graph, GRAPH_OUTPUT, 0, F32, 2, SIZES(20, s[1])));
    } else {
        in[0] = make4(&graph, GRAPH_INPUT, 0, 1, s[1], 16, 16);
        make_conv(&graph, in, 2, make4(&graph, GRAPH_OUTPUT, 0, 1, s[0], 17 - s[2], 17 - s[3]), 1, 1, 0);
    }
    TEST_FOR(graph_plan_create(&graph, &options, &plan, error) == S_OK, "%s", error);
    graph_finish(&graph);
    return plan;
}

/* Plans over one constant have the same results as alone, regardless of which packed first. */
static void test_repeated(const struct repeated *first, const struct repeated *second, uint32_t number)
{
    static float in[IN_MAX], got[OUT_MAX], want[OUT_MAX];
    struct graph_store *store = graph_store_create();
    const struct repeated *both[2] = { first, second };
    struct graph_plan *shared[2] = { NULL, NULL };
    for (uint32_t i = 0; i < IN_MAX; i++)
        in[i] = (float)(i % 17) - 8;
    for (uint32_t i = 0; i < 2; i++)
        shared[i] = repeated_plan(both[i], store);
    for (uint32_t i = 0; i < 2; i++) {
        struct graph_plan *alone = repeated_plan(both[i], NULL);
        struct make_run run = { { in }, { got } }, alone_run = { { in }, { want } };
        memset(got, 0, sizeof(got));
        memset(want, 0, sizeof(want));
        if (TEST(shared[i] && alone && make_execute(shared[i], &run) && make_execute(alone, &alone_run)))
            TEST_FOR(!memcmp(got, want, sizeof(got)), "pair %u, %s plan", number, i ? "second" : "first");
        graph_plan_destroy(alone);
    }
    graph_plan_destroy(shared[0]);
    graph_plan_destroy(shared[1]);
    graph_store_destroy(store);
}

int main(void)
{
    for (uint32_t i = 0; i < ARRAY_SIZE(repeats); i++) {
        test_repeated(&repeats[i][0], &repeats[i][1], i);
        test_repeated(&repeats[i][1], &repeats[i][0], i);
    }
    test_hash();
    print_hash_speed();
    test_store();
    test_threads();
    for (uint32_t kind = 0; kind < PLAN_KINDS; kind++)
        test_plans(kind);
    return test_result();
}
