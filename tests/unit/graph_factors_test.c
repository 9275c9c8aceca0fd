/* SPDX-License-Identifier: Apache-2.0 */
/* Attention as torch exports it: operands are multiplied by constants first, and heads share repeated keys and values.
 */
#include "graph_make.h"

#include "base/cpu.h"
#include "base/half.h"

#include "test.h"

#include <math.h>

enum { BATCH = 2, HEADS = 6, QUERIES = 5, KEYS = 7, DEPTH = 6, WIDTH = 4 };
enum { Q_COUNT = BATCH * HEADS * QUERIES * DEPTH, K_COUNT = BATCH * HEADS * KEYS * DEPTH };
enum { V_COUNT = BATCH * HEADS * KEYS * WIDTH, Y_COUNT = BATCH * HEADS * QUERIES * WIDTH };

/* How an operand is multiplied by a constant. */
enum form { NONE, MUL, MUL_LEFT, DIV, MULADD, TWICE, ADDEND, TINY, FORMS };

struct scaled {
    enum form q, k, v;
    bool read_twice; /* the scaled K is copied to an output, too */
    bool published;  /* it is an output */
    bool transposed; /* K is multiplied as [B, H, D, L] */
    bool divided;    /* the scores are divided by 10 / 7 */
    bool safe;       /* weights that are NaN become 0 */
    float otherwise; /* not 0, but this */
    uint32_t share;  /* query heads that have the same keys and values; 0: one */
};

static const struct kern_view *output_view(const struct graph_op *op)
{
    return &op->k.tensors[op->k.input_count];
}

/* [B, L, H, D] as [B, H, L, D], or as [B, H, D, L]. */
static struct graph_operand heads_first(struct graph_operand x, bool transposed)
{
    static const uint32_t orders[2][4] = { { 0, 2, 1, 3 }, { 0, 2, 3, 1 } };
    x.view = graph_view_permute(&x.view, orders[transposed]);
    return x;
}

/* The first heads, each as often as queries share it. */
static struct graph_operand repeated(struct graph *graph, struct graph_operand x, uint32_t share)
{
    const uint32_t *s = x.view.sizes, sizes[] = { s[0], s[1] / share, share, s[2], s[3] };
    struct kern_view each = { .type = x.view.type, .rank = 5, .offset = x.view.offset };
    memcpy(each.sizes, sizes, sizeof(sizes));
    for (uint32_t d = 0; d < 5; d++)
        each.strides[d] = d == 2 ? 0 : x.view.strides[d - (d > 2)];
    struct graph_operand out = graph_temp(graph, x.view.type, 5, sizes);
    make_move(graph, (struct graph_operand){ x.value, each }, out);
    kern_view_set_packed(&out.view, x.view.type, 4, s);
    return out;
}

static struct graph_operand by_constant(struct graph *graph, enum kern_map_code code, struct graph_operand x, float c,
                                        bool left, struct graph_operand out)
{
    const struct graph_operand constant = make_constant(graph, 1, SIZES(1), c, 0);
    make_map(graph, code, (struct graph_operand[]){ left ? constant : x, left ? x : constant }, 2, out, 0, 0);
    return out;
}

static struct graph_operand scale(struct graph *graph, enum form form, struct graph_operand x)
{
    struct graph_operand out = graph_temp(graph, x.view.type, x.view.rank, x.view.sizes), more;
    switch (form) {
    case NONE:
    case FORMS:
        return x;
    case MUL:
    case MUL_LEFT:
        return by_constant(graph, KERN_MAP_MUL, x, 0.7f, form == MUL_LEFT, out);
    case DIV:
        return by_constant(graph, KERN_MAP_DIV, x, 1 / 0.7f, false, out);
    case TWICE:
        more = by_constant(graph, KERN_MAP_MUL, x, 7, false, graph_temp(graph, x.view.type, 4, x.view.sizes));
        return by_constant(graph, KERN_MAP_DIV, more, 10, false, out);
    case MULADD:
    case ADDEND:
        make_map(graph, KERN_MAP_MULADD, &x, 1, out, 0.7f, form == ADDEND ? 0.25f : 0);
        return out;
    case TINY:
        return by_constant(graph, KERN_MAP_MUL, x, 1e-25f, false, out);
    }
    return x;
}

static float factor_of(enum form form)
{
    return form == NONE ? 1.0f : form == TINY ? 1e-25f : 0.7f;
}

/* The weights, or `otherwise` for those that are NaN. */
static struct graph_operand numbers_of(struct graph *graph, struct graph_operand weights, float otherwise)
{
    const struct graph_operand test =
        graph_temp(graph, DML_TENSOR_DATA_TYPE_UINT8, weights.view.rank, weights.view.sizes);
    const struct graph_operand out = graph_temp(graph, weights.view.type, weights.view.rank, weights.view.sizes);
    const struct graph_operand constant = make_constant(graph, 1, SIZES(1), otherwise, 0);
    make_map(graph, KERN_MAP_IS_NAN, &weights, 1, test, 0, 0)->k.u.map.inst[0].to_type = F32;
    make_map(graph, KERN_MAP_SELECT, (struct graph_operand[]){ test, constant, weights }, 3, out, 0, 0);
    return out;
}

static void build(struct graph *graph, const struct scaled *s, DML_TENSOR_DATA_TYPE type)
{
    struct graph_operand q = make_value(graph, GRAPH_INPUT, 0, type, 4, SIZES(BATCH, QUERIES, HEADS, DEPTH));
    struct graph_operand k = make_value(graph, GRAPH_INPUT, 1, type, 4, SIZES(BATCH, KEYS, HEADS, DEPTH));
    struct graph_operand v = make_value(graph, GRAPH_INPUT, 2, type, 4, SIZES(BATCH, KEYS, HEADS, WIDTH));
    struct graph_operand y = make_value(graph, GRAPH_OUTPUT, 0, type, 4, SIZES(BATCH, QUERIES, HEADS, WIDTH));
    const struct graph_operand scores = graph_temp(graph, type, 4, SIZES(BATCH, HEADS, QUERIES, KEYS));
    const struct graph_operand weights = graph_temp(graph, type, 4, SIZES(BATCH, HEADS, QUERIES, KEYS));
    static const uint32_t swap[] = { 0, 1, 3, 2 };
    q = heads_first(q, false);
    if (s->share) {
        k = repeated(graph, heads_first(k, false), s->share);
        v = repeated(graph, heads_first(v, false), s->share);
    } else {
        k = heads_first(k, s->transposed);
        v = heads_first(v, false);
    }
    q = scale(graph, s->q, q);
    k = scale(graph, s->k, k);
    v = scale(graph, s->v, v);
    if (!s->transposed)
        k.view = graph_view_permute(&k.view, swap);
    if (s->published) {
        graph->values[k.value].place = GRAPH_OUTPUT;
        graph->values[k.value].index = 1;
    }
    if (s->read_twice)
        make_map(graph, KERN_MAP_ABS, &k, 1,
                 make_value(graph, GRAPH_OUTPUT, 1, type, 4, SIZES(BATCH, HEADS, DEPTH, KEYS)), 0, 0);
    make_gemm(graph, (struct graph_operand[]){ q, k }, 2, scores);
    make_softmax(graph, scale(graph, s->divided ? DIV : NONE, scores), weights);
    const struct graph_operand numbers = s->safe ? numbers_of(graph, weights, s->otherwise) : weights;
    make_gemm(graph, (struct graph_operand[]){ numbers, v }, 2, heads_first(y, false));
}

/* ---- reference --------------------------------------------------------------------------------------------------- */

struct operand {
    const float *data; /* [B, lines, H, size] */
    uint32_t lines, size;
    enum form form;
    uint32_t share;
};

static double element(const struct operand *x, uint32_t batch, uint32_t head, uint32_t line, uint32_t i)
{
    const uint32_t from = x->share ? head / x->share : head;
    const double value = (double)x->data[((batch * x->lines + line) * HEADS + from) * x->size + i];
    return value * (double)factor_of(x->form) + (x->form == ADDEND ? 0.25 : 0);
}

/* Result i of [B, L, H, D]. */
static double expected(const struct operand *q, const struct operand *k, const struct operand *v, double scale,
                       uint32_t i)
{
    const uint32_t d = i % WIDTH, head = i / WIDTH % HEADS, query = i / (WIDTH * HEADS) % QUERIES;
    const uint32_t batch = i / (WIDTH * HEADS * QUERIES);
    double score[KEYS], top = -INFINITY, total = 0, sum = 0;
    for (uint32_t n = 0; n < KEYS; n++) {
        score[n] = 0;
        for (uint32_t e = 0; e < DEPTH; e++)
            score[n] += scale * element(q, batch, head, query, e) * element(k, batch, head, n, e);
        top = fmax(top, score[n]);
    }
    for (uint32_t n = 0; n < KEYS; n++) {
        total += exp(score[n] - top);
        sum += exp(score[n] - top) * element(v, batch, head, n, d);
    }
    return sum / total;
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static void fill(float *out, uint16_t *half, size_t count, uint32_t seed)
{
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        half[i] = base_float_to_half((float)(seed >> 8) / (float)(1 << 23) - 1);
        out[i] = base_half_to_float(half[i]);
    }
}

static void compare(const struct scaled *s, struct graph *graph, const struct graph_options *options, HRESULT hr,
                    DML_TENSOR_DATA_TYPE type)
{
    static float q[Q_COUNT], k[K_COUNT], v[V_COUNT], y[Y_COUNT], more[K_COUNT];
    static uint16_t q16[Q_COUNT], k16[K_COUNT], v16[V_COUNT], y16[Y_COUNT];
    const bool half = type == F16;
    const struct operand operands[] = { { q, QUERIES, DEPTH, s->q, 0 },
                                        { k, KEYS, DEPTH, s->k, s->share },
                                        { v, KEYS, WIDTH, s->v, s->share } };
    fill(q, q16, Q_COUNT, 1);
    fill(k, k16, K_COUNT, 2);
    fill(v, v16, V_COUNT, 3);
    const struct make_run run = { .inputs = { half ? (void *)q16 : q, half ? (void *)k16 : k, half ? (void *)v16 : v },
                                  .outputs = { half ? (void *)y16 : y, more } };
    if (!TEST(make_run_graph(graph, options, hr, s->q * 100 + s->k * 10 + s->v, &run)))
        return;
    for (uint32_t i = 0; i < Y_COUNT; i++) {
        const double want = expected(&operands[0], &operands[1], &operands[2], s->divided ? 0.7 : 1, i),
                     got = (double)(half ? base_half_to_float(y16[i]) : y[i]);
        if (!TEST_FOR(fabs(got - want) < (half ? 2e-3 : 2e-5), "forms %u %u %u, element %u: got %g, want %g", s->q,
                      s->k, s->v, i, got, want))
            return;
    }
}

static uint32_t count_ops(const struct graph *graph, enum kern_kind kind)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < graph->op_count; i++)
        count += graph->ops[i]->k.kind == kind;
    return count;
}

/* `maps` ops remain that multiply, and the attention has this scale. */
static void test(const struct scaled *s, uint32_t maps, double scale, DML_TENSOR_DATA_TYPE type, uint32_t cpu)
{
    struct graph graph;
    struct graph_options options = make_options(0);
    options.cpu = cpu;
    graph_init(&graph, 3, 2, 0);
    build(&graph, s, type);
    const HRESULT hr = graph_run_passes(&graph, &options);
    TEST(hr == S_OK);
    TEST_FOR(count_ops(&graph, KERN_MAP) == maps, "forms %u %u %u: %u element-wise ops", s->q, s->k, s->v,
             count_ops(&graph, KERN_MAP));
    TEST(count_ops(&graph, KERN_ATTENTION) == 1 && count_ops(&graph, KERN_GEMM) == 0);
    for (uint32_t i = 0; i < graph.op_count; i++)
        if (graph.ops[i]->k.kind == KERN_ATTENTION) {
            TEST(fabs((double)graph.ops[i]->k.u.attention.scale - scale) < 1e-6 * scale);
            TEST(maps || graph.ops[i]->k.tensors[1].strides[3] == 1); /* not a transposed copy */
            TEST(graph.ops[i]->k.u.attention.undefined != s->safe);
            TEST(output_view(graph.ops[i])->strides[3] == 1);
            TEST(!s->share || (graph.ops[i]->k.tensors[1].sizes[1] == HEADS / s->share &&
                               graph.ops[i]->k.tensors[2].sizes[1] == HEADS / s->share &&
                               count_ops(&graph, KERN_MOVE) == 0)); /* no copy of the keys */
        }
    compare(s, &graph, &options, hr, type);
}

static void test_forms(DML_TENSOR_DATA_TYPE type, uint32_t cpu)
{
    for (uint32_t q = NONE; q <= TWICE; q++)
        for (uint32_t k = NONE; k <= TWICE; k++)
            for (uint32_t transposed = 0; transposed < 2; transposed++) {
                const struct scaled s = { .q = q, .k = k, .transposed = transposed };
                test(&s, 0, (double)factor_of(q) * (double)factor_of(k), type, cpu);
            }
}

static void test_refused(uint32_t cpu)
{
    const double factor = (double)0.7f;
    test(&(struct scaled){ .q = ADDEND }, 1, 1, F32, cpu);
    test(&(struct scaled){ .q = MUL, .k = ADDEND, .transposed = true }, 1, factor, F32, cpu);
    test(&(struct scaled){ .q = MUL, .v = MUL }, 1, factor, F32, cpu); /* the result has no factor */
    test(&(struct scaled){ .q = MUL, .k = MUL, .read_twice = true, .transposed = true }, 2, factor, F32, cpu);
    test(&(struct scaled){ .q = MUL, .k = MUL, .published = true, .transposed = true }, 1, factor, F32, cpu);
    test(&(struct scaled){ .q = TINY, .k = TINY }, 1, 1e-25, F32, cpu); /* their product is 0 in FLOAT32 */
}

/* Without a query whose keys are all masked: tests/onnx/test_attention.py has those. */
static void test_safe(DML_TENSOR_DATA_TYPE type, uint32_t cpu)
{
    const double factor = (double)0.7f;
    test(&(struct scaled){ .divided = true }, 0, factor, type, cpu);
    test(&(struct scaled){ .safe = true }, 0, 1, type, cpu);
    test(&(struct scaled){ .q = MUL, .safe = true, .divided = true }, 0, factor * factor, type, cpu);
}

static void test_shared(DML_TENSOR_DATA_TYPE type, uint32_t cpu)
{
    for (uint32_t share = 2; share <= HEADS; share++)
        if (HEADS % share == 0)
            test(&(struct scaled){ .q = MUL, .share = share }, 0, (double)0.7f, type, cpu);
}

/* Another number than 0 is none that attention has. */
static void test_otherwise(void)
{
    struct graph graph;
    const struct graph_options options = make_options(0);
    graph_init(&graph, 3, 2, 0);
    build(&graph, &(struct scaled){ .safe = true, .otherwise = 0.5f }, F32);
    TEST(graph_run_passes(&graph, &options) == S_OK);
    TEST(count_ops(&graph, KERN_ATTENTION) == 0 && count_ops(&graph, KERN_GEMM) == 2);
    graph_finish(&graph);
}

/* The factor 1/2 of a spelled-out GELU belongs to it. */
static void test_gelu(void)
{
    struct graph graph;
    const struct graph_options options = make_options(0);
    graph_init(&graph, 1, 1, 0);
    const struct graph_operand x = make_value(&graph, GRAPH_INPUT, 0, F32, 2, SIZES(QUERIES, DEPTH));
    const struct graph_operand w = make_constant(&graph, 2, SIZES(DEPTH, WIDTH), -0.5f, 0.125f);
    const struct graph_operand y = make_value(&graph, GRAPH_OUTPUT, 0, F32, 2, SIZES(QUERIES, WIDTH));
    struct graph_operand part[5];
    for (uint32_t i = 0; i < ARRAY_SIZE(part); i++)
        part[i] = graph_temp(&graph, F32, 2, SIZES(QUERIES, DEPTH));
    by_constant(&graph, KERN_MAP_DIV, x, sqrtf(2), false, part[0]);
    make_map(&graph, KERN_MAP_ERF, &part[0], 1, part[1], 0, 0);
    by_constant(&graph, KERN_MAP_ADD, part[1], 1, false, part[2]);
    make_map(&graph, KERN_MAP_MUL, (struct graph_operand[]){ x, part[2] }, 2, part[3], 0, 0);
    by_constant(&graph, KERN_MAP_MUL, part[3], 0.5f, false, part[4]);
    make_gemm(&graph, (struct graph_operand[]){ part[4], w }, 2, y);
    TEST(graph_run_passes(&graph, &options) == S_OK);
    TEST(graph.op_count == 2);
    for (uint32_t i = 0; i < graph.op_count; i++) {
        const struct kern_op *op = &graph.ops[i]->k;
        TEST(op->kind == KERN_MAP ? op->u.map.inst_count == 1 && op->u.map.inst[0].code == KERN_MAP_GELU
                                  : op->kind == KERN_GEMM && op->u.gemm.alpha == 1);
    }
    graph_finish(&graph);
}

int main(void)
{
    test_gelu();
    test_otherwise();
    for (uint32_t round = 0; round < 2; round++) {
        test_forms(F32, round ? base_cpu_flags() : 0);
        test_forms(F16, round ? base_cpu_flags() : 0);
        test_safe(F32, round ? base_cpu_flags() : 0);
        test_safe(F16, round ? base_cpu_flags() : 0);
        test_shared(F32, round ? base_cpu_flags() : 0);
        test_shared(F16, round ? base_cpu_flags() : 0);
        test_refused(round ? base_cpu_flags() : 0);
    }
    return test_result();
}
