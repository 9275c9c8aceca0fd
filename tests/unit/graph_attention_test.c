/* SPDX-License-Identifier: Apache-2.0 */
/* Attention that appends to caches: the existing contents of the present outputs are the past. */
#include "graph_make.h"
#include "schema/sample.h"

#include "base/cpu.h"

#include "test.h"

#include <math.h>

enum { BATCH = 2, HEADS = 4, KEY_HEADS = 2, ROOM = 9, KEY_SIZE = 4, VALUE_SIZE = 6, QUERIES_MAX = 3 };

struct problem {
    uint32_t fresh; /* queries and new keys */
    int32_t lengths[BATCH];
    float q[BATCH * QUERIES_MAX * HEADS * KEY_SIZE], k[BATCH * QUERIES_MAX * KEY_HEADS * KEY_SIZE];
    float v[BATCH * QUERIES_MAX * KEY_HEADS * VALUE_SIZE], y[BATCH * QUERIES_MAX * HEADS * VALUE_SIZE];
    float past_k[BATCH * KEY_HEADS * ROOM * KEY_SIZE], past_v[BATCH * KEY_HEADS * ROOM * VALUE_SIZE];
    float present_k[BATCH * KEY_HEADS * ROOM * KEY_SIZE], present_v[BATCH * KEY_HEADS * ROOM * VALUE_SIZE];
};

static void fill(float *out, size_t count, uint32_t seed)
{
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        out[i] = (float)(seed >> 8) / (float)(1 << 23) - 1;
    }
}

static int64_t past_of(const struct problem *p, uint32_t batch)
{
    return p->lengths[batch] < 0 ? 0 : p->lengths[batch];
}

/* A row of a cache after the call: `size` floats of a key or value. */
static const float *row_of(const struct problem *p, const float *past, const float *fresh, uint32_t batch,
                           uint32_t head, uint32_t row, uint32_t size)
{
    int64_t first = past_of(p, batch);
    if (row >= first && row < first + p->fresh)
        return fresh + ((batch * p->fresh + (uint32_t)(row - first)) * KEY_HEADS + head) * size;
    return past + ((batch * KEY_HEADS + head) * ROOM + row) * size;
}

static double expected(const struct problem *p, uint32_t batch, uint32_t query, uint32_t head, uint32_t d)
{
    const float *q = p->q + ((batch * p->fresh + query) * HEADS + head) * KEY_SIZE;
    uint32_t key_head = head / (HEADS / KEY_HEADS);
    double total = 0, sum = 0;
    for (uint32_t t = 0; t < ROOM && t <= past_of(p, batch) + query; t++) {
        const float *k = row_of(p, p->past_k, p->k, batch, key_head, t, KEY_SIZE);
        double score = 0;
        for (uint32_t i = 0; i < KEY_SIZE; i++)
            score += 0.5 * q[i] * k[i];
        total += exp(score);
        sum += exp(score) * row_of(p, p->past_v, p->v, batch, key_head, t, VALUE_SIZE)[d];
    }
    return sum / total;
}

static bool caches_hold(const struct problem *p)
{
    for (uint32_t i = 0; i < BATCH * KEY_HEADS * ROOM; i++) {
        uint32_t batch = i / (KEY_HEADS * ROOM), head = i / ROOM % KEY_HEADS, row = i % ROOM;
        if (memcmp(p->present_k + i * KEY_SIZE, row_of(p, p->past_k, p->k, batch, head, row, KEY_SIZE),
                   KEY_SIZE * sizeof(float)) ||
            memcmp(p->present_v + i * VALUE_SIZE, row_of(p, p->past_v, p->v, batch, head, row, VALUE_SIZE),
                   VALUE_SIZE * sizeof(float)))
            return false;
    }
    return true;
}

static bool results_hold(const struct problem *p)
{
    for (uint32_t i = 0; i < BATCH * p->fresh * HEADS * VALUE_SIZE; i++) {
        uint32_t d = i % VALUE_SIZE, head = i / VALUE_SIZE % HEADS, query = i / (VALUE_SIZE * HEADS) % p->fresh;
        double want = expected(p, i / (VALUE_SIZE * HEADS * p->fresh), query, head, d);
        if (!(fabs(p->y[i] - want) < 1e-5)) {
            printf("element %u: got %g, want %g\n", i, p->y[i], want);
            return false;
        }
    }
    return true;
}

static void run(struct problem *p, uint64_t disabled, uint32_t cpu)
{
    static struct schema_sample_storage storage;
    char text[512], error[256];
    DML_OPERATOR_DESC op;
    struct schema_desc *desc;
    struct graph graph;
    struct graph_plan *plan;
    snprintf(text, sizeof(text),
             "QueryTensor=%dx%ux%d KeyTensor=%dx%ux%d ValueTensor=%dx%ux%d PastSequenceLengthsTensor=%d:INT32 "
             "OutputTensor=%dx%ux%d OutputPresentKeyTensor=%dx%dx%dx%d OutputPresentValueTensor=%dx%dx%dx%d "
             "QueryHeadCount=%d KeyValueHeadCount=%d Scale=0.5",
             BATCH, p->fresh, HEADS * KEY_SIZE, BATCH, p->fresh, KEY_HEADS * KEY_SIZE, BATCH, p->fresh,
             KEY_HEADS * VALUE_SIZE, BATCH, BATCH, p->fresh, HEADS * VALUE_SIZE, BATCH, KEY_HEADS, ROOM, KEY_SIZE,
             BATCH, KEY_HEADS, ROOM, VALUE_SIZE, HEADS, KEY_HEADS);
    TEST(schema_sample_with(DML_OPERATOR_MULTIHEAD_ATTENTION1, text, &storage, &op));
    TEST(schema_desc_create(&op, &desc) == S_OK);
    TEST(graph_from_operator(&graph, desc, 0, error) == S_OK);
    struct graph_options options = make_options(disabled);
    options.cpu = cpu;
    TEST(graph_run_passes(&graph, &options) == S_OK);
    TEST(graph_plan_create(&graph, &options, &plan, error) == S_OK);
    struct make_run buffers = { .inputs = { p->q, p->k, p->v }, .outputs = { p->y, p->present_k, p->present_v } };
    buffers.inputs[11] = p->lengths;
    TEST(make_execute(plan, &buffers));
    graph_plan_destroy(plan);
    graph_finish(&graph);
    schema_desc_destroy(desc);
}

static void test_lengths(uint32_t fresh, int32_t first, int32_t second)
{
    static struct problem p;
    for (uint32_t round = 0; round < 3; round++) {
        p.fresh = fresh;
        p.lengths[0] = first;
        p.lengths[1] = second;
        fill(p.q, ARRAY_SIZE(p.q), 1 + round);
        fill(p.k, ARRAY_SIZE(p.k), 2 + round);
        fill(p.v, ARRAY_SIZE(p.v), 3 + round);
        fill(p.past_k, ARRAY_SIZE(p.past_k), 4 + round);
        fill(p.past_v, ARRAY_SIZE(p.past_v), 5 + round);
        memcpy(p.present_k, p.past_k, sizeof(p.present_k));
        memcpy(p.present_v, p.past_v, sizeof(p.present_v));
        run(&p, round == 1 ? GRAPH_PASSES_ALL : 0, round == 2 ? base_cpu_flags() : 0);
        TEST(caches_hold(&p));
        TEST(results_hold(&p));
    }
}

int main(void)
{
    test_lengths(3, 0, 0);
    test_lengths(3, 2, 5);
    test_lengths(1, 4, 8);
    test_lengths(3, 8, 6); /* does not fit: what there is space for */
    test_lengths(2, 100, 7);
    test_lengths(3, -1, 1); /* as if it were 0 */
    return test_result();
}
