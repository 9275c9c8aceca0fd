/* SPDX-License-Identifier: Apache-2.0 */
/* Small random graphs: ops of every kind that passes look at, on the same tensors in many views. */
#ifndef TESTS_UNIT_GRAPH_RANDOM_H
#define TESTS_UNIT_GRAPH_RANDOM_H

#include "graph_make.h"

#include <math.h>

#define TENSORS_MAX 24
#define INPUTS      4
#define OUTPUTS     3

static uint64_t state;

static uint32_t rnd(uint32_t below)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((state >> 33) % below);
}

static float rnd_float(void)
{
    return (float)rnd(2001) / 1000.0f - 1.0f;
}

struct maker {
    struct graph *graph;
    struct graph_operand tensors[TENSORS_MAX];
    uint32_t count;
    bool half; /* some tensor was FLOAT16 */
};

static void keep(struct maker *maker, struct graph_operand tensor)
{
    if (maker->count < TENSORS_MAX)
        maker->tensors[maker->count++] = tensor;
}

/* The same bytes seen otherwise: a part, another order of dimensions, other sizes. */
static struct graph_operand look_again(struct graph_operand tensor)
{
    uint32_t start[4] = { 0 }, sizes[4], order[4] = { 0, 1, 2, 3 }, a = rnd(4), b = rnd(4);
    struct kern_view *view = &tensor.view, shaped;
    memcpy(sizes, view->sizes, sizeof(sizes));
    switch (rnd(3)) {
    case 0:
        sizes[a] = 1 + rnd(view->sizes[a]);
        start[a] = rnd(view->sizes[a] - sizes[a] + 1);
        *view = graph_view_slice(view, start, sizes, NULL);
        break;
    case 1:
        order[a] = b;
        order[b] = a;
        *view = graph_view_permute(view, order);
        break;
    default:
        sizes[a] = view->sizes[b];
        sizes[b] = view->sizes[a];
        if (graph_view_reshape(view, 4, sizes, &shaped))
            *view = shaped;
        break;
    }
    return tensor;
}

static struct graph_operand any(const struct maker *maker)
{
    struct graph_operand tensor = maker->tensors[rnd(2) ? maker->count - 1 : rnd(maker->count)];
    return rnd(5) ? tensor : look_again(tensor);
}

static struct graph_operand random_constant(struct maker *maker, const uint32_t *sizes)
{
    struct graph_operand operand = make_constant(maker->graph, 4, sizes, 0, 0);
    float *data = (float *)(uintptr_t)graph_constant_data(maker->graph, operand.value);
    for (uint64_t i = 0; i < kern_view_elements(&operand.view); i++)
        data[i] = rnd_float() * 0.7f;
    return operand;
}

static struct graph_operand temp_like(struct maker *maker, const struct kern_view *view)
{
    DML_TENSOR_DATA_TYPE type = rnd(12) ? F32 : F16;
    maker->half |= type == F16;
    return graph_temp(maker->graph, type, view->rank, view->sizes);
}

static void add_unary(struct maker *maker)
{
    static const enum kern_map_code codes[] = { KERN_MAP_RELU,   KERN_MAP_TANH, KERN_MAP_SIGMOID,
                                                KERN_MAP_MULADD, KERN_MAP_ABS,  KERN_MAP_LEAKY_RELU };
    struct graph_operand in = any(maker), out = temp_like(maker, &in.view);
    make_map(maker->graph, codes[rnd(ARRAY_SIZE(codes))], &in, 1, out, 0.5f, 0.25f);
    keep(maker, out);
}

static const struct graph_operand *same_size(const struct maker *maker, const struct kern_view *view)
{
    for (uint32_t i = maker->count, tries = rnd(4); i--;)
        if (!memcmp(maker->tensors[i].view.sizes, view->sizes, sizeof(view->sizes)) && !tries--)
            return &maker->tensors[i];
    return NULL;
}

static void add_binary(struct maker *maker)
{
    static const enum kern_map_code codes[] = { KERN_MAP_ADD, KERN_MAP_SUB, KERN_MAP_MEAN, KERN_MAP_MAX };
    struct graph_operand in[2] = { any(maker) }, out = temp_like(maker, &in[0].view);
    const struct graph_operand *other = same_size(maker, &in[0].view);
    in[1] = other && rnd(3) ? *other : random_constant(maker, SIZES(1, in[0].view.sizes[1], 1, 1));
    if (rnd(2)) {
        struct graph_operand first = in[0];
        in[0] = in[1];
        in[1] = first;
    }
    make_map(maker->graph, codes[rnd(ARRAY_SIZE(codes))], in, 2, out, 0, 0);
    keep(maker, out);
}

/* x * scale + bias per channel, as batch normalisation lowers to. */
static void add_scale(struct maker *maker)
{
    struct graph_operand in[3] = { any(maker) }, out = temp_like(maker, &in[0].view);
    in[1] = random_constant(maker, SIZES(1, in[0].view.sizes[1], 1, 1));
    in[2] = random_constant(maker, SIZES(1, in[0].view.sizes[1], 1, 1));
    make_map(maker->graph, KERN_MAP_FMA, in, 3, out, 0, 0);
    keep(maker, out);
}

#include "graph_random_moves.h"

/* Of a convolution along one dimension; `count` read all of its input. */
static uint32_t some_windows(uint32_t count)
{
    return rnd(8) ? count : 1 + rnd(count + 3);
}

static void add_conv(struct maker *maker)
{
    struct graph_operand in[3] = { any(maker) };
    const uint32_t *x = in[0].view.sizes;
    uint32_t groups = rnd(3) ? 1 : x[1], outs = groups * (1 + rnd(groups == 1 ? 5 : 2)), pad = rnd(2);
    uint32_t h = x[2] + 2 * pad, w = x[3] + 2 * pad, k = 1 + rnd(3), stride = 1 + rnd(2);
    uint32_t rows = BASE_MIN(k, h), columns = BASE_MIN(k, w);
    if (in[0].view.type != F32)
        return;
    in[1] = random_constant(maker, SIZES(outs, x[1] / groups, rows, columns));
    in[2] = random_constant(maker, SIZES(1, outs, 1, 1));
    const uint32_t out_h = some_windows((h - rows) / stride + 1), out_w = some_windows((w - columns) / stride + 1);
    struct graph_operand out = graph_temp(maker->graph, F32, 4, SIZES(x[0], outs, out_h, out_w));
    make_conv(maker->graph, in, 2 + rnd(2), out, groups, stride, pad);
    keep(maker, out);
}

/* Pixels as one line, and two convolutions along it. */
static void add_lines(struct maker *maker)
{
    struct graph_operand in[3] = { any(maker) }, out;
    const uint32_t n = in[0].view.sizes[0], c = in[0].view.sizes[1], l = in[0].view.sizes[2] * in[0].view.sizes[3];
    if (in[0].view.type != F32)
        return;
    out = graph_temp(maker->graph, F32, 4, in[0].view.sizes);
    make_move(maker->graph, in[0], out);
    kern_view_set_packed(&out.view, F32, 3, SIZES(n, c, l));
    for (uint32_t i = 0, channels = c; i < 2; i++) {
        const uint32_t outs = 1 + rnd(5), taps = 1 + 2 * (l > 2 && rnd(2));
        in[0] = out;
        in[1] = random_constant(maker, SIZES(outs, channels, taps, 1));
        kern_view_set_packed(&in[1].view, F32, 3, SIZES(outs, channels, taps));
        out = graph_temp(maker->graph, F32, 3, SIZES(n, outs, l));
        make_conv(maker->graph, in, 2, out, 1, 1, taps / 2)->k.u.conv.spatial = 1;
        if (rnd(2)) {
            in[0] = out;
            out = graph_temp(maker->graph, F32, 3, SIZES(n, outs, l));
            make_map(maker->graph, KERN_MAP_RELU, in, 1, out, 0, 0);
        }
        channels = outs;
    }
    kern_view_set_packed(&out.view, F32, 4, SIZES(n, out.view.sizes[1], 1, l));
    keep(maker, out);
}

static void add_gemm(struct maker *maker)
{
    struct graph_operand in[3] = { any(maker) };
    const uint32_t *a = in[0].view.sizes;
    uint32_t n = 1 + rnd(5);
    if (in[0].view.type != F32)
        return;
    struct graph_operand out = graph_temp(maker->graph, F32, 4, SIZES(a[0], a[1], a[2], n));
    in[1] = random_constant(maker, SIZES(1, 1, a[3], n));
    in[1].view = graph_view_broadcast(&in[1].view, 4, SIZES(a[0], a[1], a[3], n));
    in[2] = random_constant(maker, SIZES(1, 1, 1, n));
    in[2].view = graph_view_broadcast(&in[2].view, 4, out.view.sizes);
    make_gemm(maker->graph, in, 2 + rnd(2), out);
    keep(maker, out);
}

/* Products of one matrix with several constants, perhaps with bias and activation, that nothing element-wise follows */
static void add_products(struct maker *maker)
{
    struct graph_operand x = any(maker), w = { 0 };
    const uint32_t *s = x.view.sizes;
    bool bias = rnd(2), transposed = rnd(2), active = rnd(2);
    if (x.view.type != F32)
        return;
    for (uint32_t i = 0, count = 2 + rnd(2); i < count; i++) {
        uint32_t n = 1 + rnd(5);
        struct graph_operand sum = graph_temp(maker->graph, F32, 4, SIZES(s[0], s[1], s[2], n)), y = sum;
        struct graph_operand in[3] = { x,
                                       random_constant(maker, transposed ? SIZES(1, 1, n, s[3]) : SIZES(1, 1, s[3], n)),
                                       random_constant(maker, SIZES(1, 1, 1, n)) };
        w = in[1];
        if (transposed)
            w.view = graph_view_permute(&w.view, SIZES(0, 1, 3, 2));
        in[1].view = graph_view_broadcast(&w.view, 4, SIZES(s[0], s[1], s[3], n));
        in[2].view = graph_view_broadcast(&in[2].view, 4, sum.view.sizes);
        make_gemm(maker->graph, in, bias ? 3 : 2, sum);
        if (active) {
            y = graph_temp(maker->graph, F32, 4, sum.view.sizes);
            make_map(maker->graph, KERN_MAP_RELU, &sum, 1, y, 0, 0);
        }
        struct graph_operand out = graph_temp(maker->graph, F32, 4, y.view.sizes);
        make_softmax(maker->graph, y, out);
        keep(maker, rnd(4) ? out : y);
    }
}

/* Perhaps times a constant, perhaps for other readers, too. */
static struct graph_operand perhaps_scaled(struct maker *maker, struct graph_operand x)
{
    if (rnd(2))
        return x;
    const struct graph_operand out = graph_temp(maker->graph, F32, 4, x.view.sizes);
    struct graph_operand in[2] = { x, make_constant(maker->graph, 1, SIZES(1), rnd_float(), 0) };
    const bool inside = rnd(2);
    make_map(maker->graph, inside ? KERN_MAP_MULADD : KERN_MAP_MUL, in, inside ? 1 : 2, out, inside ? rnd_float() : 0,
             0);
    if (!rnd(4))
        keep(maker, out);
    return out;
}

/* Divided by 2, multiplied by a number for each head or query, and masked up to three times; or some or none of it. */
static struct graph_operand masked_scores(struct maker *maker, struct graph_operand scores)
{
    const uint32_t c = scores.view.sizes[1], m = scores.view.sizes[2];
    const bool plain = rnd(2);
    for (uint32_t i = 0; i < 5; i++) {
        struct graph_operand in[2] = { scores };
        if (plain || rnd(2))
            continue;
        if (i == 0)
            in[1] = make_constant(maker->graph, 1, SIZES(1), 2, 0);
        else if (i == 1)
            in[1] = random_constant(maker, rnd(2) ? SIZES(1, c, 1, 1) : SIZES(1, 1, m, 1));
        else {
            const uint32_t heads = rnd(2) ? c : 1, queries = rnd(2) ? m : 1;
            in[1] = random_constant(maker, SIZES(1, heads, queries, m));
        }
        scores = graph_temp(maker->graph, F32, 4, scores.view.sizes);
        make_map(maker->graph, i > 1 ? KERN_MAP_ADD : i ? KERN_MAP_MUL : KERN_MAP_DIV, in, 2, scores, 0, 0);
    }
    return scores;
}

/* softmax(scores of [c] x ([c] y^T)) z of tensors of one size */
static void add_attention(struct maker *maker)
{
    struct graph_operand x = any(maker), parts[3] = { x, x, x };
    const uint32_t *s = x.view.sizes;
    for (uint32_t i = 1; i < 3; i++) {
        const struct graph_operand *other = same_size(maker, &x.view);
        parts[i] = other && rnd(2) ? *other : x;
    }
    if (x.view.type != F32 || parts[1].view.type != F32 || parts[2].view.type != F32)
        return;
    struct graph_operand scores = graph_temp(maker->graph, F32, 4, SIZES(s[0], s[1], s[2], s[2]));
    struct graph_operand weights = graph_temp(maker->graph, F32, 4, scores.view.sizes);
    bool twice = !rnd(4); /* the weights times themselves: no attention */
    if (s[1] % 2 == 0 && rnd(2))
        for (uint32_t i = 1; i < 3; i++)
            parts[i] = repeated_heads(maker, parts[i]);
    struct graph_operand out = graph_temp(maker->graph, F32, 4, twice ? weights.view.sizes : x.view.sizes);
    parts[1].view = graph_view_permute(&parts[1].view, SIZES(0, 1, 3, 2));
    parts[0] = perhaps_scaled(maker, parts[0]);
    parts[1] = perhaps_scaled(maker, parts[1]);
    make_gemm(maker->graph, parts, 2, scores);
    scores = masked_scores(maker, scores);
    make_softmax(maker->graph, scores, weights);
    make_gemm(maker->graph, (struct graph_operand[]){ weights, twice ? weights : parts[2] }, 2, out);
    keep(maker, out);
}

/* x * gate(x / c), where c is that of GELU, or not */
static void add_gate(struct maker *maker)
{
    struct graph_operand x = any(maker), c = make_constant(maker->graph, 1, SIZES(1), rnd(3) ? 1.41421354f : 1.5f, 0);
    struct graph_operand one = make_constant(maker->graph, 1, SIZES(1), 1, 0), steps[5];
    struct graph_operand half = make_constant(maker->graph, 1, SIZES(1), 0.5f, 0);
    for (uint32_t i = 0; i < ARRAY_SIZE(steps); i++)
        steps[i] = graph_temp(maker->graph, F32, 4, x.view.sizes);
    make_map(maker->graph, KERN_MAP_DIV, (struct graph_operand[]){ x, c }, 2, steps[0], 0, 0);
    make_map(maker->graph, rnd(3) ? KERN_MAP_ERF : KERN_MAP_SIGMOID, &steps[0], 1, steps[1], 0, 0);
    make_map(maker->graph, KERN_MAP_ADD, (struct graph_operand[]){ steps[1], one }, 2, steps[2], 0, 0);
    make_map(maker->graph, KERN_MAP_MUL, (struct graph_operand[]){ x, steps[1 + rnd(2)] }, 2, steps[3], 0, 0);
    make_map(maker->graph, KERN_MAP_MUL, (struct graph_operand[]){ half, steps[3] }, 2, steps[4], 0, 0);
    keep(maker, steps[4]);
}

static void add_pool(struct maker *maker)
{
    struct graph_operand in = any(maker);
    const uint32_t *x = in.view.sizes;
    const uint32_t window[2] = { BASE_MIN(x[2], 2), BASE_MIN(x[3], 2) };
    struct graph_operand out =
        graph_temp(maker->graph, in.view.type, 4, SIZES(x[0], x[1], x[2] - window[0] + 1, x[3] - window[1] + 1));
    struct graph_op *op = graph_op_add(maker->graph, KERN_POOL, &in, 1, &out, 1);
    op->k.u.pool = (struct kern_pool){ .mode = rnd(2) ? KERN_POOL_MAX : KERN_POOL_AVERAGE, .spatial = 2, .p = 2 };
    for (uint32_t d = 0; d < 2; d++) {
        op->k.u.pool.window[d] = window[d];
        op->k.u.pool.strides[d] = op->k.u.pool.dilations[d] = 1;
    }
    keep(maker, out);
}

static struct graph_operand reduced(struct maker *maker, struct graph_operand in, DML_REDUCE_FUNCTION function,
                                    uint32_t axes)
{
    uint32_t sizes[4];
    for (uint32_t d = 0; d < 4; d++)
        sizes[d] = axes >> d & 1 ? 1 : in.view.sizes[d];
    struct graph_operand out = graph_temp(maker->graph, in.view.type, 4, sizes);
    struct graph_op *op = graph_op_add(maker->graph, KERN_REDUCE, &in, 1, &out, 1);
    op->k.u.reduce.function = function;
    op->k.u.reduce.axes = axes;
    return out;
}

static void add_reduce(struct maker *maker)
{
    struct graph_operand in = any(maker);
    DML_REDUCE_FUNCTION function = rnd(2) ? DML_REDUCE_FUNCTION_AVERAGE : DML_REDUCE_FUNCTION_MAX;
    keep(maker, reduced(maker, in, function, 1 + rnd(15)));
}

/* As exports have it: of groups of channels in other dimensions, with scales of one and biases of zero. */
static void add_flat_norm(struct maker *maker, struct graph_operand in, struct graph_operand out)
{
    const uint32_t *s = in.view.sizes, groups = s[1] % 2 ? 1 : s[1] / 2;
    const uint32_t flat[] = { s[0], groups, s[1] / groups * s[2] * s[3] };
    struct graph_operand operands[] = { in, make_constant(maker->graph, 3, SIZES(1, groups, 1), 1, 0),
                                        make_constant(maker->graph, 3, SIZES(1, groups, 1), 0, 0) };
    struct graph_operand y = out;
    const int64_t offset = in.view.offset;
    kern_view_set_packed(&operands[0].view, F32, 3, flat);
    kern_view_set_packed(&y.view, F32, 3, flat);
    operands[0].view.offset = offset;
    for (uint32_t i = 1; i < 3; i++)
        operands[i].view = graph_view_broadcast(&operands[i].view, 3, flat);
    struct graph_op *op = graph_op_add(maker->graph, KERN_NORM, operands, 3, &y, 1);
    op->k.u.norm = (struct kern_norm){ 4, 0.5f, true, true, true, true };
    keep(maker, out);
}

static void add_norm(struct maker *maker)
{
    struct graph_operand in = any(maker);
    if (in.view.type != F32)
        return;
    struct graph_operand out = graph_temp(maker->graph, F32, 4, in.view.sizes);
    if (kern_view_packed(&in.view) && rnd(2)) {
        add_flat_norm(maker, in, out);
        return;
    }
    struct graph_op *op = graph_op_add(maker->graph, KERN_NORM, &in, 1, &out, 1);
    op->k.u.norm = (struct kern_norm){ .axes = 12, .epsilon = 0.5f, .use_mean = true, .use_variance = true };
    keep(maker, out);
}

/* Some elements along an axis, at equal distances or not. */
static void add_gather(struct maker *maker)
{
    struct graph_operand in[2] = { any(maker) };
    const uint32_t axis = rnd(4), size = in[0].view.sizes[axis], count = 1 + rnd(3), first = rnd(size),
                   step = 1 + rnd(2);
    uint32_t sizes[4];
    int32_t indices[3];
    memcpy(sizes, in[0].view.sizes, sizeof(sizes));
    sizes[axis] = count;
    for (uint32_t i = 0; i < count; i++)
        indices[i] = (int32_t)(first + i * step) - (rnd(2) ? (int32_t)size : 0);
    in[1] = make_integers(maker->graph, DML_TENSOR_DATA_TYPE_INT32, 1, &count, indices);
    struct graph_operand out = graph_temp(maker->graph, in[0].view.type, 4, sizes);
    struct graph_op *op = graph_op_add(maker->graph, KERN_GATHER, in, 2, &out, 1);
    op->k.u.gather = (struct kern_gather){ axis, 1, KERN_INDEX_AXIS };
    keep(maker, out);
}

static struct graph_operand mapped(struct maker *maker, enum kern_map_code code, struct graph_operand a,
                                   struct graph_operand b, float p, float q)
{
    struct graph_operand in[2] = { a, b }, out = temp_like(maker, &a.view);
    make_map(maker->graph, code, in, kern_map_arity[code], out, p, q);
    return out;
}

/* x * k + (bias - mean * k), k = inverse * scale */
static struct graph_operand summed_norm(struct maker *maker, struct graph_operand x, struct graph_operand mean,
                                        struct graph_operand inverse)
{
    const uint32_t *s = x.view.sizes;
    struct graph_operand k = temp_like(maker, &x.view), rest = temp_like(maker, &x.view);
    struct graph_operand in[2] = { inverse, random_constant(maker, SIZES(1, 1, s[2], s[3])) };
    make_map(maker->graph, KERN_MAP_MUL, in, 2, k, 0, 0);
    in[0] = random_constant(maker, SIZES(1, 1, 1, s[3]));
    in[1] = mapped(maker, KERN_MAP_MUL, k, mean, 0, 0);
    make_map(maker->graph, KERN_MAP_SUB, in, 2, rest, 0, 0);
    return mapped(maker, KERN_MAP_ADD, mapped(maker, KERN_MAP_MUL, x, k, 0, 0), rest, 0, 0);
}

/* (x - mean) / sqrt(variance + 1 / 2) with or without the mean, or nearly that, in parts that others may read, and what
 * follows */
static void add_norm_parts(struct maker *maker)
{
    struct graph_operand x = any(maker), two = make_constant(maker->graph, 1, SIZES(1), 2, 0), d = x, mean = x, y;
    const uint32_t axes = rnd(3) ? 8 : 1 + rnd(15), *sizes = x.view.sizes;
    bool center = rnd(2);
    if (center) {
        mean = reduced(maker, x, DML_REDUCE_FUNCTION_AVERAGE, rnd(10) ? axes : 1 + rnd(15));
        d = mapped(maker, KERN_MAP_SUB, x, mean, 0, 0);
    }
    struct graph_operand square =
        rnd(3) ? mapped(maker, KERN_MAP_MUL, d, d, 0, 0) : mapped(maker, KERN_MAP_POW, d, two, 0, 0);
    struct graph_operand v = reduced(maker, square, DML_REDUCE_FUNCTION_AVERAGE, axes);
    struct graph_operand root = mapped(maker, KERN_MAP_MULADD, v, v, rnd(10) ? 1 : 2, 0.5f);
    root = mapped(maker, KERN_MAP_SQRT, root, root, 0, 0);
    if (center && !rnd(3))
        d = mapped(maker, KERN_MAP_SUB, rnd(8) ? x : mapped(maker, KERN_MAP_TANH, x, x, 0, 0), mean, 0, 0);
    if (center && !rnd(4))
        y = summed_norm(maker, x, mean, mapped(maker, KERN_MAP_RECIP, root, root, 0, 0));
    else if (rnd(2))
        y = mapped(maker, KERN_MAP_DIV, d, root, 0, 0);
    else
        y = mapped(maker, KERN_MAP_MUL, d, mapped(maker, KERN_MAP_RECIP, root, root, 0, 0), 0, 0);
    if (rnd(2))
        y = mapped(maker, KERN_MAP_MUL, y, random_constant(maker, SIZES(1, 1, 1, sizes[3])), 0, 0);
    if (rnd(2))
        y = mapped(maker, KERN_MAP_ADD, y, rnd(2) ? x : random_constant(maker, SIZES(1, sizes[1], 1, 1)), 0, 0);
    if (!rnd(6))
        keep(maker, rnd(2) ? d : rnd(2) ? v : square);
    keep(maker, y);
}

/* x / max(norm of x, something) */
static void add_lp_norm(struct maker *maker)
{
    struct graph_operand x = any(maker), size;
    const DML_REDUCE_FUNCTION norm = rnd(3) ? DML_REDUCE_FUNCTION_L2 : DML_REDUCE_FUNCTION_L1;
    const enum kern_map_code clamp = rnd(2) ? KERN_MAP_CLAMP : KERN_MAP_CLAMP_NAN;
    const float low = 0.5f + (float)rnd(2), high = rnd(8) ? INFINITY : 2;
    size = reduced(maker, x, norm, rnd(8) ? UINT32_C(1) << rnd(4) : 5);
    size = mapped(maker, clamp, size, size, low, high);
    keep(maker, mapped(maker, KERN_MAP_DIV, rnd(8) ? x : mapped(maker, KERN_MAP_TANH, x, x, 0, 0), size, 0, 0));
    if (!rnd(8))
        keep(maker, size);
}

/* One temporary with two contents: what was computed from the first must not come to see the second. */
static void add_overwrite(struct maker *maker)
{
    struct graph_operand a = any(maker), results[2];
    const struct graph_operand *b = same_size(maker, &a.view);
    if (!b || b->view.type != F32 || a.view.type != F32)
        return;
    struct graph_operand second = *b, shared = graph_temp(maker->graph, F32, 4, a.view.sizes);
    bool product = rnd(2);
    for (uint32_t i = 0; i < 2; i++) {
        make_move(maker->graph, i ? second : a, shared);
        results[i] = graph_temp(maker->graph, F32, 4, shared.view.sizes);
        if (product && shared.view.sizes[2] == shared.view.sizes[3])
            make_gemm(maker->graph, (struct graph_operand[]){ shared, shared }, 2, results[i]);
        else
            make_map(maker->graph, KERN_MAP_TANH, &shared, 1, results[i], 0, 0);
    }
    for (uint32_t i = 0; i < 2; i++) {
        struct graph_operand out = graph_temp(maker->graph, F32, 4, shared.view.sizes);
        make_map(maker->graph, KERN_MAP_SIGMOID, &results[i], 1, out, 0, 0);
        keep(maker, out);
    }
}

/* What only depends on constants, sometimes twice. */
static void add_known(struct maker *maker)
{
    struct graph_operand like = any(maker), in = random_constant(maker, SIZES(1, like.view.sizes[1], 1, 1));
    for (uint32_t i = 0; i < 2; i++) {
        struct graph_operand out = graph_temp(maker->graph, F32, 4, in.view.sizes);
        make_map(maker->graph, KERN_MAP_TANH, &in, 1, out, 0, 0);
        keep(maker, out);
    }
}

static struct graph_operand bounded(struct maker *maker, struct graph_operand x, uint32_t one_in)
{
    const uint32_t *sizes = x.view.sizes;
    if (rnd(one_in))
        return x;
    struct graph_operand out = pixels(maker, sizes[0], sizes[1], sizes[2], sizes[3]);
    make_map(maker->graph, rnd(2) ? KERN_MAP_RELU : KERN_MAP_CLAMP, &x, 1, out, -0.3f, 0.8f);
    return out;
}

static struct graph_operand random_conv(struct maker *maker, struct graph_operand x, uint32_t outs, uint32_t groups,
                                        uint32_t k, uint32_t stride)
{
    const uint32_t *sizes = x.view.sizes;
    uint32_t h = some_windows((sizes[2] - 1) / stride + 1), w = some_windows((sizes[3] - 1) / stride + 1);
    struct graph_operand y = pixels(maker, sizes[0], outs, h, w), in[3] = { x };
    in[1] = random_constant(maker, SIZES(outs, sizes[1] / groups, k, k));
    in[2] = random_constant(maker, SIZES(1, outs, 1, 1));
    make_conv(maker->graph, in, 2 + rnd(2), y, groups, stride, k / 2);
    return y;
}

/* A pointwise, a depthwise and a pointwise convolution, sometimes with other readers of intermediate values. */
static void add_block(struct maker *maker)
{
    const uint32_t n = 1 + rnd(2), c = 2 + rnd(3), h = 7 + rnd(3), w = 7 + rnd(3), middle = 2 + rnd(40);
    struct graph_operand from = any(maker), x = pixels(maker, n, c, h, w), in[2];
    const uint32_t *sizes = x.view.sizes;
    from.view = graph_view_slice(&from.view, SIZES(0, 0, 0, 0), SIZES(1, 1, 1, 1), NULL);
    in[0] = random_constant(maker, sizes);
    in[1] = from;
    make_map(maker->graph, KERN_MAP_ADD, in, 2, x, 0, 0);
    in[1] = bounded(maker, random_conv(maker, x, middle, 1, 1, 1), 4);
    if (rnd(8) == 0)
        keep(maker, in[1]);
    in[1] = bounded(maker, random_conv(maker, in[1], middle, middle, 3, 1 + rnd(2)), 4);
    in[0] = random_conv(maker, in[1], sizes[1], 1, 1, 1);
    if (rnd(2) == 0 && in[0].view.sizes[3] == sizes[3] && in[0].view.sizes[2] == sizes[2]) {
        in[1] = x;
        x = pixels(maker, sizes[0], sizes[1], sizes[2], sizes[3]);
        make_map(maker->graph, KERN_MAP_ADD, in, 2, x, 0, 0);
        in[0] = x;
    }
    keep(maker, in[0]);
}

static void add_output(struct maker *maker, uint32_t index)
{
    struct graph_operand from = index ? any(maker) : maker->tensors[maker->count - 1];
    struct graph_operand to = make_value(maker->graph, GRAPH_OUTPUT, index, from.view.type, 4, from.view.sizes);
    make_move(maker->graph, from, to);
}

/* The same graph for the same seed, whatever the compiler: calls of rnd() are in sequence, never two in one list of
 * arguments or values. */
static void make_graph(struct graph *graph, uint64_t seed, uint32_t flags, bool *out_half)
{
    static void (*const adders[])(struct maker *) = {
        add_unary,    add_unary,     add_binary,     add_binary,    add_scale,     add_move,      add_move,
        add_join,     add_conv,      add_conv,       add_gemm,      add_pool,      add_reduce,    add_norm,
        add_known,    add_overwrite, add_overwrite,  add_attention, add_attention, add_attention, add_gate,
        add_products, add_block,     add_norm_parts, add_lp_norm,   add_gather,    add_rotation,  add_windows,
        add_halves,   add_casts,     add_choice,     add_lines,     add_branches,
    };
    struct maker maker = { .graph = graph };
    state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    graph_init(graph, INPUTS, OUTPUTS, flags);
    for (uint32_t i = 0; i < INPUTS; i++) {
        uint32_t twin = i & 1 ? i - 1 : i;
        const uint32_t n = 1 + rnd(2), c = 1 + rnd(4), h = 1 + rnd(6), w = rnd(2) ? h : 1 + rnd(6);
        struct graph_operand input = make4(graph, rnd(5) ? GRAPH_INPUT : GRAPH_OWNED, i, n, c, h, w);
        if (twin != i) /* pairs of one shape, for binary ops and joins */
            input = make_value(graph, GRAPH_INPUT, i, F32, 4, maker.tensors[twin].view.sizes);
        keep(&maker, input);
    }
    for (uint32_t i = 0, ops = 2 + rnd(12); i < ops; i++)
        adders[rnd(ARRAY_SIZE(adders))](&maker);
    for (uint32_t i = 0; i < OUTPUTS; i++)
        add_output(&maker, i);
    *out_half = maker.half;
}

#endif
