/* SPDX-License-Identifier: Apache-2.0 */
/* Random layers on dequantised bytes: the passes may change a result by the rounding of float sums, so a quantised one
 * by 1 if it is next to a tie; where float sums are exact they change no byte. On portable kernels and on those
 * of this CPU. */
#include "graph_make.h"

#include "base/cpu.h"
#include "base/parallel.h"

#include "test.h"

#include <math.h>

#define U8 DML_TENSOR_DATA_TYPE_UINT8
#define I8 DML_TENSOR_DATA_TYPE_INT8

static uint64_t state;
static bool exact; /* all scales are small multiples of powers of two: sums take less than 24 bits, in any order */

#define EXACT_X 0x1p-6f
#define EXACT_W 0x1p-7f /* and its multiples */

static uint32_t rnd(uint32_t below)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((state >> 33) % below);
}

static struct graph_operand one(struct graph *graph, DML_TENSOR_DATA_TYPE type, int32_t value)
{
    return make_integers(graph, type, 4, SIZES(1, 1, 1, 1), &value);
}

static struct graph_operand integers(struct graph *graph, DML_TENSOR_DATA_TYPE type, const uint32_t *sizes,
                                     int32_t least, uint32_t range)
{
    int32_t values[4096] = { 0 };
    uint32_t count = sizes[0] * sizes[1] * sizes[2] * sizes[3];
    for (uint32_t i = 0; i < count; i++)
        values[i] = least + (int32_t)rnd(range);
    return make_integers(graph, type, 4, sizes, values);
}

/* A factor of random bytes with a scale for all or for each coordinate along `dim`. */
static struct graph_operand weights(struct graph *graph, const uint32_t *sizes, uint32_t dim, float *scale)
{
    DML_TENSOR_DATA_TYPE type = rnd(4) ? I8 : U8;
    uint32_t each[4] = { 1, 1, 1, 1 }, all = rnd(3) == 0;
    if (!all)
        each[dim] = sizes[dim];
    struct graph_operand out = graph_temp(graph, F32, 4, sizes);
    const float base = exact ? EXACT_W * (float)(1 + rnd(3)) : *scale, step = exact ? EXACT_W : 0.001f;
    struct graph_operand scales = make_constant(graph, 4, each, base, all ? 0 : step);
    struct graph_operand zeros = rnd(3) ? integers(graph, type, each, 0, 1) : integers(graph, type, each, 0, 5);
    const int32_t least = exact ? (type == I8 ? -1 : 0) : (type == I8 ? -128 : 0);
    make_scaled(graph, false, integers(graph, type, sizes, least, exact ? 3 : 256), scales, zeros, out);
    *scale = base;
    return out;
}

static struct graph_operand bias(struct graph *graph, const uint32_t *sizes, float scale)
{
    struct graph_operand out = graph_temp(graph, F32, 4, sizes);
    if (rnd(2))
        return make_constant(graph, 4, sizes, exact ? -0x5p-5f : -0.3f, exact ? 0x3p-6f : 0.1f);
    make_scaled(graph, false, integers(graph, DML_TENSOR_DATA_TYPE_INT32, sizes, -500, 1000),
                make_constant(graph, 4, SIZES(1, 1, 1, 1), scale, 0), one(graph, DML_TENSOR_DATA_TYPE_INT32, 0), out);
    return out;
}

static struct graph_operand add_conv(struct graph *graph, struct graph_operand x, float scale)
{
    const uint32_t *s = x.view.sizes;
    uint32_t groups = rnd(3) ? 1 : s[1], outs = groups * (1 + rnd(groups == 1 ? 20 : 2)), k = rnd(2) ? 3 : 1;
    uint32_t pad = rnd(2), stride = 1 + rnd(2);
    float w_scale = 0.01f;
    struct graph_operand in[3] = { x, weights(graph, SIZES(outs, s[1] / groups, k, k), 0, &w_scale) };
    struct graph_operand y = graph_temp(
        graph, F32, 4, SIZES(s[0], outs, (s[2] + 2 * pad - k) / stride + 1, (s[3] + 2 * pad - k) / stride + 1));
    bool biased = rnd(2);
    if (biased)
        in[2] = bias(graph, SIZES(1, outs, 1, 1), scale * w_scale);
    make_conv(graph, in, 2 + biased, y, groups, stride, pad);
    return y;
}

static struct graph_operand add_gemm(struct graph *graph, struct graph_operand a, float scale)
{
    const uint32_t *s = a.view.sizes;
    uint32_t n = 1 + rnd(30);
    float w_scale = 0.01f;
    struct graph_operand in[3] = { a, weights(graph, SIZES(1, 1, s[3], n), 3, &w_scale) };
    struct graph_operand y = graph_temp(graph, F32, 4, SIZES(s[0], s[1], s[2], n));
    bool biased = rnd(2);
    in[1].view = graph_view_broadcast(&in[1].view, 4, SIZES(s[0], s[1], s[3], n));
    if (biased) {
        in[2] = bias(graph, SIZES(1, 1, 1, n), scale * w_scale);
        in[2].view = graph_view_broadcast(&in[2].view, 4, y.view.sizes);
    }
    make_gemm(graph, in, 2 + biased, y);
    return y;
}

static struct graph_operand add_pool(struct graph *graph, struct graph_operand x)
{
    const uint32_t *s = x.view.sizes;
    struct graph_operand y = graph_temp(graph, F32, 4, SIZES(s[0], s[1], s[2] - 1, s[3] - 1));
    struct graph_op *op = graph_op_add(graph, KERN_POOL, &x, 1, &y, 1);
    op->k.u.pool = (struct kern_pool){ .mode = KERN_POOL_MAX, .spatial = 2, .p = 2 };
    for (uint32_t d = 0; d < 2; d++) {
        op->k.u.pool.window[d] = 2;
        op->k.u.pool.strides[d] = op->k.u.pool.dilations[d] = 1;
    }
    return y;
}

/* One layer; returns the output's operand. The layers of kind 0 to 2 end in bytes or floats, kind 3 only copies. */
static struct graph_operand make_layer(struct graph *graph, uint64_t seed, uint64_t *out_input_bytes)
{
    state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    graph_init(graph, 1, 1, 0);
    DML_TENSOR_DATA_TYPE type = rnd(3) ? U8 : I8;
    const uint32_t sizes[4] = { 1 + rnd(2), 1 + rnd(9), 3 + rnd(6), 3 + rnd(6) }, kind = rnd(4);
    struct graph_operand q = make_value(graph, GRAPH_INPUT, 0, type, 4, sizes), x = graph_temp(graph, F32, 4, sizes), y;
    const float x_scale = exact ? EXACT_X : 0.02f;
    /* Many quotients are halves. */
    const float y_scale = exact ? EXACT_X * EXACT_W * (float)((6 + 4 * rnd(15)) << rnd(3)) : 0.05f;
    struct graph_operand scale = make_constant(graph, 4, SIZES(1, 1, 1, 1), x_scale, 0);
    struct graph_operand zero = one(graph, type, rnd(2) ? 0 : 100);
    *out_input_bytes = graph->values[q.value].size_bytes;
    if (rnd(2)) { /* as importers write it: one long row */
        struct graph_operand row = q, to = x;
        uint32_t count = sizes[0] * sizes[1] * sizes[2] * sizes[3];
        kern_view_set_packed(&row.view, type, 4, SIZES(1, 1, 1, count));
        kern_view_set_packed(&to.view, F32, 4, SIZES(1, 1, 1, count));
        make_scaled(graph, false, row, scale, zero, to);
    } else {
        make_scaled(graph, false, q, scale, zero, x);
    }
    y = kind == 0   ? add_conv(graph, x, x_scale)
        : kind == 1 ? add_gemm(graph, x, x_scale)
        : kind == 2 ? add_pool(graph, x)
                    : x;
    bool quantizes = kind >= 2 || rnd(3), alike = kind >= 2 && rnd(3);
    if (kind < 2 && rnd(2)) {
        struct graph_operand r = graph_temp(graph, F32, 4, y.view.sizes);
        make_map(graph, KERN_MAP_RELU, &y, 1, r, 0, 0);
        y = r;
    }
    struct graph_operand out = make_value(graph, GRAPH_OUTPUT, 0,
                                          !quantizes ? F32
                                          : alike    ? type
                                                     : U8,
                                          4, y.view.sizes);
    if (!quantizes)
        make_move(graph, y, out);
    else if (alike)
        make_scaled(graph, true, y, scale, zero, out);
    else
        make_scaled(graph, true, y, make_constant(graph, 4, SIZES(1, 1, 1, 1), y_scale, 0), one(graph, U8, 7), out);
    return out;
}

/* ---- edges that read a value's bytes as another type ---- */

enum { TYPED_POOL, TYPED_POOL_QUANTIZE, TYPED_QUANTIZE, TYPED_RELU, TYPED_COUNT };

static struct kern_op *last_op(struct graph *graph)
{
    return &graph->ops[graph->op_count - 1]->k;
}

/* One op of these reads floats as INT32: what passes know of the floats does not hold for that. */
static struct graph_operand make_typed(struct graph *graph, uint64_t which, uint64_t *out_input_bytes)
{
    const DML_TENSOR_DATA_TYPE i32 = DML_TENSOR_DATA_TYPE_INT32;
    bool pools = which == TYPED_POOL || which == TYPED_POOL_QUANTIZE;
    const uint32_t sizes[4] = { 1, 3, 5, 5 };
    state = which + 1;
    graph_init(graph, 1, 1, 0);
    struct graph_operand q = make_value(graph, GRAPH_INPUT, 0, U8, 4, sizes), x = graph_temp(graph, F32, 4, sizes), y;
    struct graph_operand scale = make_constant(graph, 4, SIZES(1, 1, 1, 1), 0.02f, 0), zero = one(graph, U8, 200);
    *out_input_bytes = graph->values[q.value].size_bytes;
    make_scaled(graph, false, q, scale, zero, x);
    if (pools) {
        if (which == TYPED_POOL)
            x.view.type = i32;
        y = add_pool(graph, x);
        y.view.type = F32;
        if (which == TYPED_POOL)
            last_op(graph)->tensors[1].type = i32;
    } else {
        float w_scale = 0.01f;
        struct graph_operand in[2] = { x, weights(graph, SIZES(4, 3, 1, 1), 0, &w_scale) };
        y = graph_temp(graph, F32, 4, SIZES(1, 4, 5, 5));
        make_conv(graph, in, 2, y, 1, 1, 0);
    }
    if (which == TYPED_RELU) {
        struct graph_operand r = graph_temp(graph, F32, 4, y.view.sizes);
        make_map(graph, KERN_MAP_RELU, &y, 1, r, 0, 0);
        last_op(graph)->tensors[0].type = i32;
        y = r;
    }
    struct graph_operand out = make_value(graph, GRAPH_OUTPUT, 0, U8, 4, y.view.sizes);
    /* Bits of floats as numbers are millions. */
    if (!pools)
        scale = make_constant(graph, 4, SIZES(1, 1, 1, 1), 1e7f, 0), zero = one(graph, U8, 7);
    make_scaled(graph, true, y, scale, zero, out);
    if (which == TYPED_POOL_QUANTIZE || which == TYPED_QUANTIZE)
        last_op(graph)->tensors[0].type = i32;
    return out;
}

/* ---- sums as long as INT32 holds, and one term longer ---- */

static const struct long_sum {
    bool conv, biased, fits;
    uint32_t terms;
} long_sums[] = {
    { false, false, true, 33025 }, { false, false, false, 33026 }, { true, false, true, 33025 },
    { true, false, false, 33026 }, { true, true, true, 16512 },    { true, true, false, 16513 },
};

static struct graph_operand make_long(struct graph *graph, uint64_t which, uint64_t *out_input_bytes)
{
    const struct long_sum *sum = &long_sums[which];
    const uint32_t n = sum->terms, *x_sizes = sum->conv ? SIZES(1, n, 1, 1) : SIZES(1, 1, 1, n);
    const uint32_t *w_sizes = sum->conv ? SIZES(1, n, 1, 1) : SIZES(1, 1, n, 1);
    graph_init(graph, 1, 1, 0);
    struct graph_operand q = make_value(graph, GRAPH_INPUT, 0, U8, 4, x_sizes), in[3];
    struct graph_operand scale = make_constant(graph, 4, SIZES(1, 1, 1, 1), 1, 0), zero = one(graph, U8, 0);
    int32_t *all = malloc(n * sizeof(*all));
    for (uint32_t i = 0; i < n; i++)
        all[i] = 255;
    *out_input_bytes = n;
    in[0] = graph_temp(graph, F32, 4, x_sizes);
    in[1] = graph_temp(graph, F32, 4, w_sizes);
    make_scaled(graph, false, q, scale, zero, in[0]);
    make_scaled(graph, false, make_integers(graph, U8, 4, w_sizes, all), scale, zero, in[1]);
    free(all);
    struct graph_operand out = make4(graph, GRAPH_OUTPUT, 0, 1, 1, 1, 1);
    if (sum->biased) /* near the largest that becomes an integer */
        in[2] = make_constant(graph, 4, SIZES(1, 1, 1, 1), 0x1p30f - 64, 0);
    if (sum->conv)
        make_conv(graph, in, 2 + sum->biased, out, 1, 1, 0);
    else
        make_gemm(graph, in, 2, out);
    return out;
}

/* ---- functions of one byte ---- */

/* x * sigmoid(x), each step through bytes; `which` 1: the factor is the sigmoid of other bytes; 2: floats at the end.
 */
static struct graph_operand make_swish(struct graph *graph, uint64_t which, uint64_t *out_input_bytes)
{
    const uint32_t sizes[4] = { 1, 3, 23, 31 };
    graph_init(graph, 1, 1, 0);
    struct graph_operand q = make_value(graph, GRAPH_INPUT, 0, I8, 4, SIZES(2, 3, 23, 31));
    struct graph_operand scale = make_constant(graph, 4, SIZES(1, 1, 1, 1), 0.0625f, 0), zero = one(graph, I8, -7);
    struct graph_operand part = make_constant(graph, 4, SIZES(1, 1, 1, 1), 0.00390625f, 0), none = one(graph, U8, 0);
    struct graph_operand x = graph_temp(graph, F32, 4, sizes), s = graph_temp(graph, F32, 4, sizes),
                         bytes = graph_temp(graph, U8, 4, sizes), again = graph_temp(graph, F32, 4, sizes),
                         second = graph_temp(graph, F32, 4, sizes), product = graph_temp(graph, F32, 4, sizes);
    *out_input_bytes = graph->values[q.value].size_bytes;
    kern_view_set_packed(&q.view, I8, 4, sizes);
    struct graph_operand of = q;
    of.view.offset = which == 1 ? 3 * 23 * 31 : 0;
    make_scaled(graph, false, of, scale, zero, x);
    make_map(graph, KERN_MAP_SIGMOID, &x, 1, s, 0, 0);
    make_scaled(graph, true, s, part, none, bytes);
    make_scaled(graph, false, bytes, part, none, again);
    make_scaled(graph, false, q, scale, zero, second);
    struct graph_operand out = make_value(graph, GRAPH_OUTPUT, 0, which == 2 ? F32 : U8, 4, sizes);
    make_map(graph, KERN_MAP_MUL, (struct graph_operand[]){ second, again }, 2, which == 2 ? out : product, 0, 0);
    if (which != 2)
        make_scaled(graph, true, product, scale, one(graph, U8, 12), out);
    return out;
}

/* ---- running ---- */

struct layer {
    struct graph_operand (*make)(struct graph *graph, uint64_t seed, uint64_t *out_input_bytes);
    uint64_t seed;
    int32_t byte; /* of all the input; negative: random ones */
};

static uint32_t changed, half_steps;

static bool run_layer(const struct layer *layer, uint64_t disabled, uint32_t cpu, struct make_run *run,
                      struct kern_view *view)
{
    const uint64_t seed = layer->seed;
    struct graph graph;
    uint64_t input_bytes;
    struct graph_options options = make_options(disabled);
    struct graph_operand out = layer->make(&graph, seed, &input_bytes);
    options.cpu = cpu;
    *view = out.view;
    memset(run, 0, sizeof(*run));
    run->inputs[0] = malloc(input_bytes);
    run->outputs[0] = calloc(1, graph.values[out.value].size_bytes);
    state = seed;
    for (uint64_t i = 0; i < input_bytes; i++)
        ((uint8_t *)run->inputs[0])[i] = (uint8_t)(layer->byte < 0 ? rnd(256) : (uint32_t)layer->byte);
    char *before = graph_print(&graph);
    HRESULT hr = graph_run_passes(&graph, &options);
    char *after = graph_print(&graph);
    changed += before && after && !strstr(before, "integer") && strstr(after, "integer");
    free(before);
    free(after);
    return make_run_graph(&graph, &options, hr, seed, run);
}

static double element(const void *data, DML_TENSOR_DATA_TYPE type, uint64_t i)
{
    return type == U8 ? ((const uint8_t *)data)[i] : type == I8 ? ((const int8_t *)data)[i] : ((const float *)data)[i];
}

static void compare(uint64_t seed, const struct make_run *a, const struct make_run *b, const struct kern_view *view)
{
    double most = 1;
    for (uint64_t i = 0; i < kern_view_elements(view); i++)
        most = fmax(most, fabs(element(a->outputs[0], view->type, i)));
    for (uint64_t i = 0; i < kern_view_elements(view); i++) {
        double x = element(a->outputs[0], view->type, i), y = element(b->outputs[0], view->type, i);
        double room = view->type == F32 ? 1e-5 * most : !exact;
        half_steps += view->type != F32 && x != y;
        if (!TEST_FOR(fabs(x - y) <= room, "seed %llu element %llu: %g and %g", (unsigned long long)seed,
                      (unsigned long long)i, x, y))
            return;
    }
}

/* The layer with passes gives what it gives without. */
static void check_layer(const struct layer *layer)
{
    const uint32_t cpus[] = { 0, base_cpu_flags() };
    struct make_run plain, run;
    struct kern_view view;
    bool good = run_layer(layer, GRAPH_PASSES_ALL, 0, &plain, &view);
    for (uint32_t i = 0; i < ARRAY_SIZE(cpus) && good; i++) {
        good = run_layer(layer, 0, cpus[i], &run, &view);
        if (good)
            compare(layer->seed, &plain, &run, &view);
        free(run.inputs[0]);
        free(run.outputs[0]);
    }
    free(plain.inputs[0]);
    free(plain.outputs[0]);
}

static void test_long_sums(void)
{
    for (uint32_t i = 0; i < ARRAY_SIZE(long_sums); i++) {
        const struct long_sum *sum = &long_sums[i];
        const double want = sum->terms * 255.0 * 255 + (sum->biased ? 0x1p30 - 64 : 0);
        const uint32_t cpus[] = { 0, base_cpu_flags() }, before = changed;
        for (uint32_t c = 0; c < ARRAY_SIZE(cpus); c++) {
            struct make_run run;
            struct kern_view view;
            if (TEST(run_layer(&(struct layer){ make_long, i, 255 }, 0, cpus[c], &run, &view))) {
                double got = *(const float *)run.outputs[0];
                TEST_FOR(fabs(got - want) < 1e-3 * want, "%u terms: %g, not %g", sum->terms, got, want);
            }
            free(run.inputs[0]);
            free(run.outputs[0]);
        }
        TEST_FOR((changed > before) == sum->fits, "%u terms", sum->terms);
    }
}

/* Zero points of 0 are dropped first: the lists of uses that another pass left must not stay what they were. */
static void test_kept_uses(void)
{
    struct graph graph;
    struct graph_options options = make_options(0);
    struct graph_uses uses;
    uint64_t bytes;
    bool any = false, integer = false;
    make_long(&graph, 0, &bytes);
    graph_priorities_begin(&graph);
    graph_uses_keep(&graph);
    TEST(graph_uses_init(&uses, &graph));
    graph_uses_finish(&uses);
    TEST(graph_pass_integer(&graph, &options, &any) == S_OK && any);
    for (uint32_t i = 0; i < graph.op_count; i++)
        integer |= graph.ops[i]->k.kind == KERN_GEMM && graph.ops[i]->k.u.gemm.integer;
    TEST(integer);
    graph_uses_forget(&graph);
    graph_finish(&graph);
}

/* MatMulInteger, Cast and Mul, as models of dynamic quantisation have them: one op, whose sums are converted exactly.
 */
static void test_converted_sums(bool separate)
{
    enum { ROWS = 5, DEPTH = 9, COLUMNS = 19 };
    uint8_t x[ROWS * DEPTH];
    float scale = 0.375f, y[ROWS * COLUMNS];
    int32_t w[DEPTH * COLUMNS];
    struct graph graph;
    struct graph_options options = make_options(0);
    graph_init(&graph, 2, 1, 0);
    for (uint32_t i = 0; i < ROWS * DEPTH; i++)
        x[i] = (uint8_t)rnd(256);
    for (uint32_t i = 0; i < DEPTH * COLUMNS; i++)
        w[i] = (int32_t)rnd(256) - 128;
    const struct graph_operand in[2] = { make_value(&graph, GRAPH_INPUT, 0, U8, 4, SIZES(1, 1, ROWS, DEPTH)),
                                         make_integers(&graph, I8, 4, SIZES(1, 1, DEPTH, COLUMNS), w) };
    const struct graph_operand factor = make4(&graph, GRAPH_INPUT, 1, 1, 1, 1, 1);
    const struct graph_operand out = make4(&graph, GRAPH_OUTPUT, 0, 1, 1, ROWS, COLUMNS);
    const struct graph_operand sums = graph_temp(&graph, DML_TENSOR_DATA_TYPE_INT32, 4, SIZES(1, 1, ROWS, COLUMNS));
    make_gemm(&graph, in, 2, sums)->k.u.gemm.integer = true;
    struct graph_operand floats = sums;
    if (separate) {
        floats = graph_temp(&graph, F32, 4, SIZES(1, 1, ROWS, COLUMNS));
        make_cast(&graph, sums, floats);
        graph.ops[graph.op_count - 1]->k.u.map.load_type[0] = DML_TENSOR_DATA_TYPE_INT32;
    }
    struct kern_map *map =
        &make_map(&graph, KERN_MAP_MUL, (struct graph_operand[]){ floats, factor }, 2, out, 0, 0)->k.u.map;
    if (!separate) {
        map->load_type[0] = DML_TENSOR_DATA_TYPE_INT32;
        map->inst[1] = map->inst[0];
        map->inst[1].src[0] = 2;
        map->inst[0] = (struct kern_map_inst){ KERN_MAP_CONVERT, DML_TENSOR_DATA_TYPE_INT32, F32, { 0 }, { { 0 } } };
        map->inst_count = 2;
        map->store[0] = 3;
    }
    const HRESULT hr = graph_run_passes(&graph, &options);
    TEST(hr == S_OK && graph.op_count == 1);
    const struct make_run run = { .inputs = { x, &scale }, .outputs = { y } };
    if (!TEST(make_run_graph(&graph, &options, hr, separate, &run)))
        return;
    for (uint32_t i = 0; i < ROWS * COLUMNS; i++) {
        int32_t want = 0;
        for (uint32_t k = 0; k < DEPTH; k++)
            want += x[i / COLUMNS * DEPTH + k] * w[k * COLUMNS + i % COLUMNS];
        TEST(y[i] == (float)want * scale);
    }
}

/* One look-up instead of two steps; not for what depends on two bytes, nor for floats. */
static void test_of_one_byte(void)
{
    exact = true;
    for (uint64_t which = 0; which < 3; which++) {
        struct graph graph;
        struct graph_options options = make_options(0);
        uint64_t bytes;
        uint32_t maps = 0;
        check_layer(&(struct layer){ make_swish, which, -1 });
        make_swish(&graph, which, &bytes);
        TEST(graph_run_passes(&graph, &options) == S_OK);
        for (uint32_t i = 0; i < graph.op_count; i++)
            maps += graph.ops[i]->k.kind == KERN_MAP;
        TEST_FOR(maps == (which ? 2 : 1), "graph %u: %u maps", (uint32_t)which, maps);
        graph_finish(&graph);
    }
    exact = false;
}

int main(void)
{
    test_of_one_byte();
    for (uint32_t i = 0; i < 8; i++)
        test_converted_sums(i & 1);
    uint32_t seeds = 400;
    for (uint64_t seed = 1; seed <= seeds; seed++)
        check_layer(&(struct layer){ make_layer, seed, -1 });
    TEST(changed > seeds / 2);
    exact = true;
    for (uint64_t seed = 1; seed <= 2 * seeds; seed++)
        check_layer(&(struct layer){ make_layer, seed, -1 });
    exact = false;
    printf("%u layers became integer, %u bytes differ by 1\n", changed, half_steps);
    TEST(changed > 3 * seeds / 2);
    for (uint64_t which = 0; which < TYPED_COUNT; which++)
        check_layer(&(struct layer){ make_typed, which, -1 });
    test_long_sums();
    test_kept_uses();
    return test_result();
}
