/* SPDX-License-Identifier: Apache-2.0 */
/* Normalisations in parts, in the shapes that exports have: all become one NORM whose results are near those of double
 * precision, for rows far from zero and rows without variance, too. What only looks like one stays as it is. */
#include "graph_make.h"

#include "base/cpu.h"
#include "base/half.h"
#include "base/parallel.h"

#include "test.h"

#include <math.h>

#define ROWS   6
#define WIDTH  96
#define COUNT  (ROWS * WIDTH)
#define NORMAL 2 /* rows in which the parts come near, too */

enum root { DIVIDE, RECIPROCAL, ONE_BY, POWER_HALF, POWER_MINUS_HALF, SUMMED };

/* What makes it another normalisation, or none, or none that is worth it. */
enum spoil {
    NONE,
    MEAN_OF_OTHER,
    MEAN_OF_ALL,
    LAST_NORM = MEAN_OF_ALL, /* up to here of x - mean, as it is */
    EPSILON_BELOW,
    VARIANCE_DOUBLED,
    SUM,
    SQUARE_OF_OTHER,
    VARIANCE_READ,
    OVERWRITTEN,
    NARROW,
    SPOIL_COUNT
};

struct variant {
    bool centered, half, cast, power, again, scale, bias;
    enum root root;
    float epsilon;
};

struct parts {
    struct graph *graph;
    const struct variant *v;
    enum spoil spoil;
    DML_TENSOR_DATA_TYPE type; /* of intermediate values */
};

static struct graph_operand scalar(struct graph *graph, float value)
{
    return make_constant(graph, 1, SIZES(1), value, 0);
}

static struct graph_operand map(const struct parts *p, enum kern_map_code code, struct graph_operand a,
                                struct graph_operand b)
{
    struct graph_operand in[2] = { a, b }, *like = &in[kern_view_elements(&b.view) > kern_view_elements(&a.view)];
    struct graph_operand out = graph_temp(p->graph, p->type, 3, like->view.sizes);
    make_map(p->graph, code, in, kern_map_arity[code], out, 0, 0);
    return out;
}

static struct graph_operand mean(const struct parts *p, struct graph_operand x, bool all, bool sum)
{
    struct graph_operand out = graph_temp(p->graph, p->type, 3, SIZES(1, all ? 1 : ROWS, 1));
    struct graph_op *op = graph_op_add(p->graph, KERN_REDUCE, &x, 1, &out, 1);
    op->k.u.reduce = (struct kern_reduce){ .function = sum ? DML_REDUCE_FUNCTION_SUM : DML_REDUCE_FUNCTION_AVERAGE,
                                           .axes = all ? 6 : 4 };
    return out;
}

static struct graph_operand cast(const struct parts *p, struct graph_operand from, DML_TENSOR_DATA_TYPE type)
{
    struct graph_operand to = graph_temp(p->graph, type, 3, from.view.sizes);
    make_cast(p->graph, from, to);
    return to;
}

static struct graph_operand divided(const struct parts *p, struct graph_operand d, struct graph_operand v)
{
    struct graph *graph = p->graph;
    enum root root = p->v->root;
    if (root == SUMMED) /* kept for summed() */
        return map(p, KERN_MAP_RECIP, map(p, KERN_MAP_SQRT, v, v), v);
    if (root == POWER_MINUS_HALF)
        return map(p, KERN_MAP_MUL, map(p, KERN_MAP_POW, v, scalar(graph, -0.5f)), d);
    v = root == POWER_HALF ? map(p, KERN_MAP_POW, v, scalar(graph, 0.5f)) : map(p, KERN_MAP_SQRT, v, v);
    if (root == RECIPROCAL)
        return map(p, KERN_MAP_MUL, d, map(p, KERN_MAP_RECIP, v, v));
    if (root == ONE_BY)
        return map(p, KERN_MAP_MUL, d, map(p, KERN_MAP_DIV, scalar(graph, 1), v));
    return map(p, KERN_MAP_DIV, d, v);
}

/* x * k + (bias - mean * k), k = scale * inverse */
static struct graph_operand summed(const struct parts *p, struct graph_operand x, struct graph_operand m,
                                   struct graph_operand inverse)
{
    struct graph_operand scale = make_constant(p->graph, 3, SIZES(1, 1, WIDTH), 0.5f, 1.0f / 64);
    struct graph_operand bias = make_constant(p->graph, 3, SIZES(1, 1, WIDTH), -0.5f, 1.0f / 64);
    struct graph_operand k = graph_temp(p->graph, p->type, 3, x.view.sizes);
    struct graph_operand rest = graph_temp(p->graph, p->type, 3, x.view.sizes);
    make_map(p->graph, KERN_MAP_MUL, (struct graph_operand[]){ inverse, scale }, 2, k, 0, 0);
    struct graph_operand mk = map(p, KERN_MAP_MUL, k, m);
    make_map(p->graph, KERN_MAP_SUB, (struct graph_operand[]){ bias, mk }, 2, rest, 0, 0);
    return map(p, KERN_MAP_ADD, map(p, KERN_MAP_MUL, x, k), rest);
}

static struct graph_operand affine(const struct parts *p, struct graph_operand y)
{
    const float step = 1.0f / 64; /* FLOAT16 has these exactly */
    struct graph_operand scale = make_constant(p->graph, 3, SIZES(1, 1, WIDTH), 0.5f, step);
    struct graph_operand bias = make_constant(p->graph, 3, SIZES(1, 1, WIDTH), -0.5f, step);
    if (p->v->scale)
        y = map(p, KERN_MAP_MUL, p->v->half ? cast(p, scale, F16) : scale, y);
    return p->v->bias ? map(p, KERN_MAP_ADD, y, p->v->half ? cast(p, bias, F16) : bias) : y;
}

/* The variance goes to output 1, when it is read. */
static void make_norm(struct graph *graph, const struct variant *v, enum spoil spoil)
{
    struct parts p = { graph, v, spoil, v->half && !v->cast ? F16 : F32 };
    struct graph_operand in = make_value(graph, GRAPH_INPUT, 0, v->half ? F16 : F32, 3, SIZES(1, ROWS, WIDTH)), x = in;
    if (v->half && v->cast)
        x = cast(&p, in, F32);
    if (spoil == OVERWRITTEN || spoil == NARROW)
        x = map(&p, KERN_MAP_NEG, x, x);
    if (spoil == NARROW)
        p.type = F16;
    struct graph_operand other = map(&p, KERN_MAP_TANH, x, x), d = x, m = x;
    if (v->centered) {
        m = mean(&p, spoil == MEAN_OF_OTHER ? other : x, spoil == MEAN_OF_ALL, false);
        d = map(&p, KERN_MAP_SUB, x, m);
    }
    struct graph_operand root = spoil == SQUARE_OF_OTHER ? other : d;
    struct graph_operand square =
        v->power ? map(&p, KERN_MAP_POW, root, scalar(graph, 2)) : map(&p, KERN_MAP_MUL, root, root);
    struct graph_operand var = mean(&p, square, false, spoil == SUM);
    if (spoil == VARIANCE_READ)
        make_move(graph, var, make_value(graph, GRAPH_OUTPUT, 1, p.type, 3, SIZES(1, ROWS, 1)));
    if (spoil == VARIANCE_DOUBLED)
        var = map(&p, KERN_MAP_MUL, var, scalar(graph, 2));
    if (v->epsilon != 0)
        var = map(&p, KERN_MAP_ADD, var, scalar(graph, spoil == EPSILON_BELOW ? -v->epsilon : v->epsilon));
    if (v->again)
        d = v->centered ? map(&p, KERN_MAP_SUB, x, m) : x;
    if (spoil == OVERWRITTEN) {
        d = cast(&p, d, F32);
        make_map(graph, KERN_MAP_ABS, &in, 1, x, 0, 0);
        make_move(graph, x, make_value(graph, GRAPH_OUTPUT, 1, F32, 3, SIZES(1, ROWS, WIDTH)));
    }
    struct graph_operand y = divided(&p, d, var);
    p.type = v->half ? F16 : F32;
    if (v->root == SUMMED)
        y = summed(&p, x, m, y);
    else
        y = affine(&p, v->half && v->cast ? cast(&p, y, F16) : y);
    make_map(graph, KERN_MAP_NEG, &y, 1, make_value(graph, GRAPH_OUTPUT, 0, p.type, 3, SIZES(1, ROWS, WIDTH)), 0, 0);
}

/* Rows 0 and 1 are ordinary, then far from zero, constant, constant and far from zero, small. */
static void fill(float *x)
{
    static const float centers[ROWS] = { 0, 2, 1e4f, 3.25f, 1e4f, 0.001f }, sizes[ROWS] = { 1, 100, 16, 0, 0, 1e-4f };
    for (uint32_t i = 0; i < COUNT; i++)
        x[i] = centers[i / WIDTH] + sizes[i / WIDTH] * (float)((i * 7919 + 13) % 1009) / 1009.0f;
}

static void expect(const struct variant *v, const float *x, double *y)
{
    for (uint32_t r = 0; r < ROWS; r++) {
        double m = 0, var = 0;
        for (uint32_t i = 0; i < WIDTH && v->centered; i++)
            m += (double)x[r * WIDTH + i] / WIDTH;
        for (uint32_t i = 0; i < WIDTH; i++)
            var += ((double)x[r * WIDTH + i] - m) * ((double)x[r * WIDTH + i] - m) / WIDTH;
        for (uint32_t i = 0; i < WIDTH; i++) {
            double n = ((double)x[r * WIDTH + i] - m) / sqrt(var + (double)v->epsilon);
            n *= v->scale ? 0.5 + i / 64.0 : 1;
            y[r * WIDTH + i] = -(n + (v->bias ? -0.5 + i / 64.0 : 0));
        }
    }
}

struct outcome {
    float y[COUNT];
    uint32_t norms, ops;
    struct kern_norm norm;
};

static bool run(const struct variant *v, enum spoil spoil, uint32_t cpu, uint64_t disabled, float *x,
                struct outcome *out)
{
    struct graph graph;
    struct graph_options options = make_options(disabled);
    static uint16_t half_x[COUNT], half_y[COUNT];
    float variances[COUNT];
    struct make_run data = { { v->half ? (void *)half_x : x }, { v->half ? (void *)half_y : out->y, variances } };
    options.cpu = cpu;
    out->norms = 0;
    for (uint32_t i = 0; i < COUNT && v->half; i++) {
        half_x[i] = base_float_to_half(x[i]);
        x[i] = base_half_to_float(half_x[i]);
    }
    graph_init(&graph, 1, 2, 0);
    make_norm(&graph, v, spoil);
    HRESULT hr = graph_run_passes(&graph, &options);
    out->ops = graph.op_count;
    for (uint32_t i = 0; i < graph.op_count; i++)
        if (graph.ops[i]->k.kind == KERN_NORM) {
            out->norms++;
            out->norm = graph.ops[i]->k.u.norm;
        }
    bool good = make_run_graph(&graph, &options, hr, spoil, &data);
    for (uint32_t i = 0; i < COUNT && v->half; i++)
        out->y[i] = base_half_to_float(half_y[i]);
    return good;
}

static void near(const float *got, const double *expected, uint32_t rows, double room, const char *what,
                 uint32_t number)
{
    double worst = 0;
    for (uint32_t i = 0; i < rows * WIDTH; i++) {
        double off = fabs((double)got[i] - expected[i]) / (1 + fabs(expected[i]));
        worst = off <= worst ? worst : off; /* NaN stays */
    }
    TEST_FOR(worst <= room, "%s %u: %g", what, number, worst);
}

static void test_variant(const struct variant *v, uint32_t number, uint32_t cpu)
{
    static struct outcome fused, parts;
    float x[COUNT];
    double expected[COUNT];
    fill(x);
    if (!run(v, NONE, cpu, 0, x, &fused) || !run(v, NONE, cpu, GRAPH_PASSES_ALL, x, &parts))
        return;
    TEST_FOR(fused.norms == 1 && fused.ops == 1, "variant %u: %u norms of %u ops", number, fused.norms, fused.ops);
    TEST_FOR(fused.norm.use_mean == v->centered && fused.norm.use_variance && fused.norm.has_scale == v->scale &&
                 fused.norm.has_bias == v->bias && fabsf(fused.norm.epsilon - v->epsilon) <= 1e-3f * v->epsilon,
             "variant %u", number);
    expect(v, x, expected);
    near(fused.y, expected, ROWS, v->half ? 1e-3 : 3e-6, "fused variant", number);
    TEST_FOR(parts.norms == 0, "variant %u", number);
    near(parts.y, expected, v->half && !v->cast ? 1 : NORMAL, v->half ? 1e-2 : 1e-5, "variant in parts", number);
}

static void test_spoiled(const struct variant *v, enum spoil spoil, uint32_t cpu)
{
    static struct outcome with, without;
    float x[COUNT];
    double expected[COUNT];
    fill(x);
    if (!run(v, spoil, cpu, 0, x, &with) || !run(v, spoil, cpu, GRAPH_PASS_BIT(fuse_norm), x, &without))
        return;
    bool still = spoil > NONE && spoil <= LAST_NORM;
    TEST_FOR(without.norms == 0 && with.norms == still && (!still || !with.norm.use_mean), "spoiled by %d", (int)spoil);
    for (uint32_t i = 0; i < COUNT; i++)
        expected[i] = (double)without.y[i];
    near(with.y, expected, NORMAL, still ? 1e-5 : 0, "spoiled by", spoil);
}

static const struct variant variants[] = {
    { .centered = true, .power = true, .scale = true, .bias = true, .epsilon = 1e-5f },
    { .centered = true, .again = true, .root = RECIPROCAL, .scale = true, .epsilon = 1e-5f },
    { .centered = true, .root = ONE_BY, .bias = true, .epsilon = 1e-5f },
    { .centered = true, .root = POWER_HALF, .epsilon = 1e-3f },
    { .centered = true, .root = POWER_MINUS_HALF, .again = true, .power = true, .scale = true, .epsilon = 1e-5f },
    { .centered = true, .root = SUMMED, .scale = true, .bias = true, .epsilon = 1e-5f },
    { .root = RECIPROCAL, .power = true, .scale = true, .epsilon = 1e-5f },
    { .root = DIVIDE, .epsilon = 1e-5f },
    { .root = DIVIDE, .scale = true },
    { .root = ONE_BY, .scale = true, .bias = true, .epsilon = 1e-5f },
    { .half = true, .cast = true, .root = RECIPROCAL, .power = true, .scale = true, .epsilon = 1e-5f },
    { .half = true, .cast = true, .centered = true, .scale = true, .bias = true, .epsilon = 1e-5f },
    { .half = true, .centered = true, .power = true, .scale = true, .bias = true, .epsilon = 1e-3f },
    { .half = true, .root = RECIPROCAL, .scale = true, .epsilon = 1e-3f },
};

int main(void)
{
    const struct variant tiny = { .half = true, .centered = true, .scale = true, .epsilon = 1e-8f };
    base_parallel_enter(2);
    for (uint32_t c = 0; c < 2; c++) {
        uint32_t cpu = c ? base_cpu_flags() : 0;
        for (uint32_t i = 0; i < ARRAY_SIZE(variants); i++)
            test_variant(&variants[i], i, cpu);
        for (uint32_t i = NONE + 1; i < SPOIL_COUNT; i++)
            test_spoiled(&variants[0], (enum spoil)i, cpu);
        test_spoiled(&tiny, NONE, cpu);
    }
    return test_result();
}
