/* SPDX-License-Identifier: Apache-2.0 */
/* Random products with quantised constant weights, alone or two of one input: with and without the passes the results
 * are the same except for rounding, on portable kernels and on those of this CPU. */
#include "graph_make.h"

#include "base/cpu.h"
#include "base/half.h"
#include "base/parallel.h"
#include "kernels/core/number.h"

#include "test.h"

#include <math.h>

#define F16 DML_TENSOR_DATA_TYPE_FLOAT16

static uint64_t state, bytes_state; /* of what is made, and of what constants hold */
static bool twins;                  /* two products */
static bool special;                /* the input is to have an infinity or a NaN */

static uint32_t next(uint64_t *from, uint32_t below)
{
    *from = *from * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((*from >> 33) % below);
}

static uint32_t rnd(uint32_t below)
{
    return next(&state, below);
}

/* Integers over their whole range, floats from 0.01 to 0.02. */
static struct graph_operand constant(struct graph *graph, DML_TENSOR_DATA_TYPE type, uint32_t rank,
                                     const uint32_t *sizes)
{
    struct graph_operand out = { GRAPH_NONE, { 0 } };
    kern_view_set_packed(&out.view, type, rank, sizes);
    uint64_t count = kern_view_elements(&out.view), bytes = (count * kern_type_bits(type) + 7) / 8 + 3;
    uint8_t *data = base_arena_alloc(&graph->arena, bytes & ~3ull);
    for (uint64_t i = 0; i < (bytes & ~3ull); i++)
        data[i] = (uint8_t)next(&bytes_state, 256);
    for (uint64_t i = 0; graph_is_float(type) && i < count; i++)
        kern_write_double(type, data, (int64_t)i, 0.01 + next(&bytes_state, 100) * 1e-4);
    out.value = graph_constant_add(graph, data, bytes & ~3ull);
    return out;
}

/* out = (q - zero) * scale; `zero` GRAPH_NONE: `middle`, which may be none. */
static void dequantize(struct graph *graph, const struct graph_operand *in, uint32_t count, float middle,
                       struct graph_operand out)
{
    struct graph_op *op = graph_op_add(graph, KERN_MAP, in, count, &out, 1);
    struct kern_map *map = &op->k.u.map;
    uint8_t last = 0, f32 = F32;
    for (uint32_t t = 0; t < count; t++)
        map->load_type[t] = f32;
    if (count == 3)
        map->inst[map->inst_count++] = (struct kern_map_inst){ KERN_MAP_SUB, f32, f32, { 0, 2 }, { { 0 } } };
    else if (middle != 0)
        map->inst[map->inst_count++] =
            (struct kern_map_inst){ KERN_MAP_MULADD, f32, f32, { 0 }, { { .f32 = 1 }, { .f32 = -middle } } };
    if (map->inst_count)
        last = (uint8_t)count;
    map->inst[map->inst_count] = (struct kern_map_inst){ KERN_MAP_MUL, f32, f32, { last, 1 }, { { 0 } } };
    map->store[0] = (uint8_t)(count + map->inst_count++);
}

/* How the weights lie: [K, N], or [N, K] transposed; scales for blocks along K, one for each column, or one for all. */
struct layout {
    uint32_t k, n, block, groups;
    bool transposed, merged; /* merged: columns and blocks are one dimension */
    enum { BLOCKS, COLUMNS, ALL } grain;
};

static void layout_make(struct layout *l, bool large)
{
    static const uint32_t blocks[] = { 16, 32, 24, 8 };
    *l = (struct layout){ .k = 1 + rnd(100), .n = 1 + rnd(50), .transposed = rnd(2), .grain = rnd(3) };
    if (large) { /* as floats, too large for a constant */
        l->k += 2100;
        l->n += 2000;
    }
    l->block = l->grain == BLOCKS ? blocks[rnd(4)] : l->k;
    l->groups = (l->k + l->block - 1) / l->block;
    l->merged = l->transposed && rnd(2);
}

/* A parameter with the sizes of the integers, repeated within its grain. */
static struct graph_operand parameter(struct graph *graph, const struct layout *l, DML_TENSOR_DATA_TYPE type,
                                      const struct kern_view *like)
{
    uint32_t count = l->grain == BLOCKS ? l->groups * l->n : l->grain == COLUMNS ? l->n : 1;
    struct graph_operand out = constant(graph, type, 1, &count);
    struct kern_view view = *like;
    int64_t group = l->transposed ? 1 : l->n, column = l->transposed ? l->groups : 1;
    view.type = type;
    for (uint32_t d = 0; d < view.rank; d++)
        view.strides[d] = 0;
    if (l->grain != ALL) {
        uint32_t last = view.rank - 1;
        view.strides[l->transposed ? 0 : last] = l->merged ? 1 : l->grain == BLOCKS ? column : 1;
        if (!l->merged)
            view.strides[l->transposed ? 1 : 0] = l->grain == BLOCKS ? group : 0;
    }
    out.view = view;
    return out;
}

/* The matrix [K, N] as the product reads it. */
static struct graph_operand matrix(struct graph *graph, const struct layout *l)
{
    static const DML_TENSOR_DATA_TYPE types[] = { DML_TENSOR_DATA_TYPE_INT4, DML_TENSOR_DATA_TYPE_UINT4,
                                                  DML_TENSOR_DATA_TYPE_INT8, DML_TENSOR_DATA_TYPE_UINT8 };
    static const float middles[] = { 0, 8, 0, 128 };
    uint32_t t = rnd(4), zero = rnd(3), deep = l->groups * l->block;
    DML_TENSOR_DATA_TYPE out_type = rnd(4) ? F32 : F16;
    uint32_t plain[3] = { l->groups, l->block, l->n }, transposed[3] = { l->n, l->groups, l->block };
    uint32_t merged[2] = { l->n * l->groups, l->block };
    struct graph_operand in[3] = { l->merged       ? constant(graph, types[t], 2, merged)
                                   : l->transposed ? constant(graph, types[t], 3, transposed)
                                                   : constant(graph, types[t], 3, plain) };
    in[1] = parameter(graph, l, rnd(3) ? F32 : F16, &in[0].view);
    if (zero == 0)
        in[2] = parameter(graph, l, types[t], &in[0].view);
    struct graph_operand out = graph_temp(graph, out_type, in[0].view.rank, in[0].view.sizes);
    dequantize(graph, in, zero == 0 ? 3 : 2, zero == 1 ? middles[t] : 0, out);
    kern_view_set_packed(&out.view, out_type, 2, (uint32_t[]){ l->k, l->n });
    out.view.strides[0] = l->transposed ? 1 : l->n;
    out.view.strides[1] = l->transposed ? deep : 1;
    return out;
}

/* Two products of one input, of the same form, and the product of both results. */
static struct graph_operand make_twins(struct graph *graph, const struct layout *l, struct graph_operand x)
{
    uint32_t batch = x.view.sizes[0], rows = x.view.sizes[1];
    struct graph_operand y[2], out = make_value(graph, GRAPH_OUTPUT, 0, F32, 3, SIZES(batch, rows, rows));
    uint64_t form = state;
    special = false;
    for (uint32_t i = 0; i < 2; i++) {
        struct graph_operand in[2] = { x };
        state = form;
        in[1] = matrix(graph, l);
        in[1].view = graph_view_broadcast(&in[1].view, 3, SIZES(batch, l->k, l->n));
        y[i] = graph_temp(graph, F32, 3, SIZES(batch, rows, l->n));
        make_gemm(graph, in, 2, y[i]);
    }
    y[1].view = graph_view_permute(&y[1].view, SIZES(0, 2, 1));
    make_gemm(graph, y, 2, out);
    return out;
}

static struct graph_operand make(struct graph *graph, uint64_t seed, bool large)
{
    struct layout l;
    bytes_state = state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    graph_init(graph, 1, 1, 0);
    layout_make(&l, large);
    twins = !large && rnd(4) == 0;
    if (twins && rnd(3)) /* whole panels: another may follow */
        l.n = (uint32_t)base_align_up(l.n, KERN_QGEMM_COLUMNS);
    uint32_t batch = 1 + rnd(2), rows = 1 + rnd(large ? 90 : 12), count = 2 + rnd(2);
    struct graph_operand x = make_value(graph, GRAPH_INPUT, 0, F32, 3, (uint32_t[]){ batch, rows, l.k });
    if (twins)
        return make_twins(graph, &l, x);
    struct graph_operand out = make_value(graph, GRAPH_OUTPUT, 0, F32, 3, (uint32_t[]){ batch, rows, l.n });
    struct graph_operand sums = graph_temp(graph, F32, 3, out.view.sizes), in[3] = { x, matrix(graph, &l) };
    in[1].view = graph_view_broadcast(&in[1].view, 3, (uint32_t[]){ batch, l.k, l.n });
    if (count == 3) {
        in[2] = constant(graph, F32, 1, &l.n);
        in[2].view = graph_view_broadcast(&in[2].view, 3, out.view.sizes);
    }
    bool last = rnd(2);
    special = last && seed % 4 == 0; /* what kernels of integers cannot do; a RELU may drop a NaN or not */
    struct graph_op *op = make_gemm(graph, in, count, last ? out : sums);
    op->k.u.gemm.alpha = rnd(3) ? 1 : 0.5f;
    op->k.u.gemm.beta = rnd(3) ? 1 : 2;
    if (!last)
        make_map(graph, KERN_MAP_RELU, &sums, 1, out, 0, 0);
    return out;
}

static uint32_t changed, merged;

static void count(const char *after)
{
    const char *first = after ? strstr(after, "qgemm") : NULL;
    changed += first && !strstr(after, "MUL(");
    merged += twins && first && !strstr(first + 1, "qgemm");
}

static bool run_one(uint64_t seed, bool large, uint64_t disabled, uint32_t cpu, struct make_run *run,
                    struct kern_view *view)
{
    struct graph graph;
    struct graph_options options = make_options(disabled);
    struct graph_operand out = make(&graph, seed, large);
    uint64_t inputs = graph.values[0].size_bytes / sizeof(float);
    options.cpu = cpu;
    *view = out.view;
    memset(run, 0, sizeof(*run));
    run->inputs[0] = malloc(inputs * sizeof(float));
    run->outputs[0] = calloc(1, graph.values[out.value].size_bytes);
    for (uint64_t i = 0; i < inputs; i++)
        ((float *)run->inputs[0])[i] = (float)rnd(2000) * 1e-3f - 1;
    if (special)
        ((float *)run->inputs[0])[rnd((uint32_t)inputs)] = seed % 8 ? INFINITY : NAN;
    HRESULT hr = graph_run_passes(&graph, &options);
    char *after = graph_print(&graph);
    count(after);
    free(after);
    return make_run_graph(&graph, &options, hr, seed, run);
}

static void compare(uint64_t seed, const struct make_run *a, const struct make_run *b, const struct kern_view *view)
{
    const float *x = a->outputs[0], *y = b->outputs[0];
    double most = 1;
    for (uint64_t i = 0; i < kern_view_elements(view); i++)
        most = isfinite(x[i]) ? fmax(most, fabs(x[i])) : most;
    for (uint64_t i = 0; i < kern_view_elements(view); i++)
        if (!TEST_FOR(x[i] == y[i] || (isnan(x[i]) && isnan(y[i])) || fabs(x[i] - y[i]) <= 1e-3 * most,
                      "seed %llu element %llu: %g and %g", (unsigned long long)seed, (unsigned long long)i, x[i],
                      y[i])) /* weights that were FLOAT16 are not rounded now */
            return;
}

static void check(uint64_t seed, bool large)
{
    const uint32_t cpus[] = { 0, base_cpu_flags() };
    struct make_run plain, run;
    struct kern_view view;
    bool good = run_one(seed, large, GRAPH_PASSES_ALL, 0, &plain, &view);
    for (uint32_t i = large; i < ARRAY_SIZE(cpus) && good; i++) {
        good = run_one(seed, large, 0, cpus[i], &run, &view);
        if (good)
            compare(seed, &plain, &run, &view);
        free(run.inputs[0]);
        free(run.outputs[0]);
    }
    free(plain.inputs[0]);
    free(plain.outputs[0]);
}

int main(void)
{
    const uint32_t seeds = 600, large = 8;
    base_parallel_enter(2);
    for (uint64_t seed = 1; seed <= seeds && test_failures < 10; seed++)
        check(seed, false);
    printf("%u of %u graphs read their weights as they are, %u with one product for two\n", changed, 2 * seeds, merged);
    TEST(changed > seeds && merged > seeds / 8);
    changed = 0;
    for (uint64_t seed = 1; seed <= large && test_failures < 10; seed++)
        check(seed, true);
    printf("%u of %u large ones\n", changed, large);
    TEST(changed > 0 || !(base_cpu_flags() & (BASE_CPU_AVX2 | BASE_CPU_AVX512 | BASE_CPU_NEON)));
    return test_result();
}
