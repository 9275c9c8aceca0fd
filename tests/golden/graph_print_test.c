/* SPDX-License-Identifier: Apache-2.0 */
/* The text of sample graphs as they are lowered and after each pass that changes them, compared with <name>.txt in the
 * folder given as the first argument. "--update" as the second writes those files instead. Portable kernels only, so
 * that the text is the same on every machine; but fuse_inverted_residuals and half are told of others, and
 * split_products of two threads, without which they do nothing. */
#include "graph_copies.h"

#include "base/cpu.h"

#include "test.h"

/* conv -> batch normalisation (scale, shift) -> relu, all weights constant. */
static void conv_batch_norm(struct graph *graph)
{
    struct graph_operand in[3] = { make4(graph, GRAPH_INPUT, 0, 1, 3, 6, 6) };
    struct graph_operand y = temp4(graph, 1, 4, 6, 6), z = temp4(graph, 1, 4, 6, 6);
    in[1] = make_constant(graph, 4, SIZES(4, 3, 3, 3), -1, 0.01f);
    make_conv(graph, in, 2, y, 1, 1, 1);
    in[0] = y;
    in[1] = make_constant(graph, 4, SIZES(1, 4, 1, 1), 1, 0.5f);
    in[2] = make_constant(graph, 4, SIZES(1, 4, 1, 1), -1, 0.5f);
    make_map(graph, KERN_MAP_FMA, in, 3, z, 0, 0);
    make_map(graph, KERN_MAP_RELU, &z, 1, make4(graph, GRAPH_OUTPUT, 0, 1, 4, 6, 6), 0, 0);
}

/* Two convolutions of one image and the image, normalised, are added. */
static void branches(struct graph *graph)
{
    struct graph_operand x = make4(graph, GRAPH_INPUT, 0, 1, 4, 6, 6), terms[3], sum = temp4(graph, 1, 4, 6, 6);
    struct graph_operand all = temp4(graph, 1, 4, 6, 6), in[3] = { x };
    for (uint32_t i = 0; i < 3; i++)
        terms[i] = temp4(graph, 1, 4, 6, 6);
    in[2] = make_constant(graph, 4, SIZES(1, 4, 1, 1), -1, 0.5f);
    in[1] = make_constant(graph, 4, SIZES(4, 4, 1, 1), 1, 0.5f);
    make_conv(graph, in, 2, terms[0], 1, 1, 0);
    in[1] = make_constant(graph, 4, SIZES(4, 4, 3, 3), -1, 0.01f);
    make_conv(graph, in, 3, terms[1], 1, 1, 1);
    in[1] = make_constant(graph, 4, SIZES(1, 4, 1, 1), 1, 0.25f);
    for (uint32_t t = 1; t < 3; t++)
        in[t].view = graph_view_broadcast(&in[t].view, 4, x.view.sizes);
    make_map(graph, KERN_MAP_FMA, in, 3, terms[2], 0, 0);
    make_map(graph, KERN_MAP_ADD, terms, 2, sum, 0, 0);
    make_map(graph, KERN_MAP_SUB, (struct graph_operand[]){ sum, terms[2] }, 2, all, 0, 0);
    make_map(graph, KERN_MAP_RELU, &all, 1, make4(graph, GRAPH_OUTPUT, 0, 1, 4, 6, 6), 0, 0);
}

/* A convolution of columns, and element-wise ops that fuse with it. */
static void columns(struct graph *graph)
{
    struct graph_operand x = make4(graph, GRAPH_INPUT, 0, 1, 4, 9, 1), y = temp4(graph, 1, 4, 7, 1);
    struct graph_operand sum = temp4(graph, 1, 4, 7, 1), add = make4(graph, GRAPH_OWNED, 1, 1, 4, 7, 1);
    struct graph_operand w = make_constant(graph, 4, SIZES(4, 4, 3, 1), -1, 0.01f);
    make_conv(graph, (struct graph_operand[]){ x, w }, 2, y, 1, 1, 0);
    make_map(graph, KERN_MAP_ADD, (struct graph_operand[]){ y, add }, 2, sum, 0, 0);
    make_map(graph, KERN_MAP_RELU, &sum, 1, make4(graph, GRAPH_OUTPUT, 0, 1, 4, 7, 1), 0, 0);
}

/* A residual block with owned weights: conv, relu, conv, add, relu, then pooling over all pixels. */
static void residual(struct graph *graph)
{
    struct graph_operand x = make4(graph, GRAPH_INPUT, 0, 1, 8, 5, 5), w1 = make4(graph, GRAPH_OWNED, 1, 8, 8, 3, 3);
    struct graph_operand w2 = make4(graph, GRAPH_OWNED, 2, 8, 8, 3, 3), a = temp4(graph, 1, 8, 5, 5);
    struct graph_operand b = temp4(graph, 1, 8, 5, 5), c = temp4(graph, 1, 8, 5, 5), d = temp4(graph, 1, 8, 5, 5);
    struct graph_operand e = temp4(graph, 1, 8, 5, 5), out = make4(graph, GRAPH_OUTPUT, 0, 1, 8, 1, 1);
    make_conv(graph, (struct graph_operand[]){ x, w1 }, 2, a, 1, 1, 1);
    make_map(graph, KERN_MAP_RELU, &a, 1, b, 0, 0);
    make_conv(graph, (struct graph_operand[]){ b, w2 }, 2, c, 1, 1, 1);
    make_map(graph, KERN_MAP_ADD, (struct graph_operand[]){ c, b }, 2, d, 0, 0);
    make_map(graph, KERN_MAP_RELU, &d, 1, e, 0, 0);
    struct graph_op *pool = graph_op_add(graph, KERN_POOL, &e, 1, &out, 1);
    pool->k.u.pool = (struct kern_pool){ .mode = KERN_POOL_AVERAGE, .spatial = 2, .p = 2 };
    for (uint32_t i = 0; i < 2; i++) {
        pool->k.u.pool.window[i] = 5;
        pool->k.u.pool.strides[i] = pool->k.u.pool.dilations[i] = 1;
    }
}

static struct graph_operand with_batch_as_channels(struct graph_operand x)
{
    x.view = graph_view_permute(&x.view, SIZES(1, 0, 2, 3));
    return x;
}

/* A convolution whose result is an image to another one's gradient of weights, and so is the gradient there, of which
 * there are statistics, too. */
static void weight_gradient(struct graph *graph)
{
    struct graph_operand x = make4(graph, GRAPH_INPUT, 0, 2, 4, 6, 6), w = make4(graph, GRAPH_INPUT, 1, 8, 4, 3, 3);
    struct graph_operand g = make4(graph, GRAPH_INPUT, 2, 2, 8, 6, 6), a = temp4(graph, 2, 8, 6, 6);
    struct graph_operand b = temp4(graph, 2, 8, 6, 6), c = temp4(graph, 2, 8, 6, 6);
    struct graph_operand dw = make4(graph, GRAPH_OUTPUT, 0, 8, 8, 3, 3);
    struct graph_operand moments[] = { make4(graph, GRAPH_OUTPUT, 1, 1, 8, 1, 1),
                                       make4(graph, GRAPH_OUTPUT, 2, 1, 8, 1, 1) };
    make_conv(graph, (struct graph_operand[]){ x, w }, 2, a, 1, 1, 1);
    make_map(graph, KERN_MAP_RELU, &a, 1, b, 0, 0);
    make_map(graph, KERN_MAP_MUL, (struct graph_operand[]){ b, g }, 2, c, 0, 0);
    graph_op_add(graph, KERN_MOMENTS, &c, 1, moments, 2)->k.u.moments.axes = 0xd;
    make_conv(graph, (struct graph_operand[]){ with_batch_as_channels(b), with_batch_as_channels(c) }, 2,
              with_batch_as_channels(dw), 1, 1, 1);
}

/* Pointwise, depthwise and pointwise convolution with bounds, and a sum with what they began with. */
static void inverted_residual(struct graph *graph)
{
    struct graph_operand image = make4(graph, GRAPH_INPUT, 0, 1, 3, 8, 8), x = temp4(graph, 1, 4, 8, 8);
    struct graph_operand wide[4], narrow = temp4(graph, 1, 4, 8, 8), sum = temp4(graph, 1, 4, 8, 8);
    struct graph_operand w0 = make_constant(graph, 4, SIZES(4, 3, 3, 3), -1, 0.01f);
    struct graph_operand w1 = make_constant(graph, 4, SIZES(8, 4, 1, 1), -1, 0.01f);
    struct graph_operand w2 = make_constant(graph, 4, SIZES(8, 1, 3, 3), -1, 0.01f);
    struct graph_operand w3 = make_constant(graph, 4, SIZES(4, 8, 1, 1), -1, 0.01f);
    struct graph_operand w4 = make_constant(graph, 4, SIZES(2, 4, 3, 3), -1, 0.01f);
    graph->flags = 0; /* blocks need a kernel other than the reference */
    for (uint32_t i = 0; i < ARRAY_SIZE(wide); i++)
        wide[i] = temp4(graph, 1, 8, 8, 8);
    make_conv(graph, (struct graph_operand[]){ image, w0 }, 2, x, 1, 1, 1);
    make_conv(graph, (struct graph_operand[]){ x, w1 }, 2, wide[0], 1, 1, 0);
    make_map(graph, KERN_MAP_CLAMP, &wide[0], 1, wide[1], 0, 6);
    make_conv(graph, (struct graph_operand[]){ wide[1], w2 }, 2, wide[2], 8, 1, 1);
    make_map(graph, KERN_MAP_RELU, &wide[2], 1, wide[3], 0, 0);
    make_conv(graph, (struct graph_operand[]){ wide[3], w3 }, 2, narrow, 1, 1, 0);
    make_map(graph, KERN_MAP_ADD, (struct graph_operand[]){ narrow, x }, 2, sum, 0, 0);
    make_conv(graph, (struct graph_operand[]){ sum, w4 }, 2, make4(graph, GRAPH_OUTPUT, 0, 1, 2, 6, 6), 1, 1, 0);
}

/* x * sigmoid(x), a cast to FLOAT16 and back that has to stay, and a broadcast product. */
static void map_chain(struct graph *graph)
{
    struct graph_operand x = make4(graph, GRAPH_INPUT, 0, 1, 2, 3, 4), s = temp4(graph, 1, 2, 3, 4);
    struct graph_operand y = temp4(graph, 1, 2, 3, 4), in[2] = { x, s };
    struct graph_operand half = make_value(graph, GRAPH_TEMP, 0, F16, 4, SIZES(1, 2, 3, 4));
    make_map(graph, KERN_MAP_SIGMOID, &x, 1, s, 0, 0);
    make_map(graph, KERN_MAP_MUL, in, 2, y, 0, 0);
    make_map(graph, KERN_MAP_MULADD, &y, 1, half, 0.5f, 1);
    in[0] = half;
    in[1] = make_constant(graph, 4, SIZES(1, 2, 1, 1), 2, 1);
    make_map(graph, KERN_MAP_MUL, in, 2, make4(graph, GRAPH_OUTPUT, 0, 1, 2, 3, 4), 0, 0);
}

/* Constants that become one, an op computed twice, an unused op; a product with bias and activation. */
static void known_and_unused(struct graph *graph)
{
    struct graph_operand x = make4(graph, GRAPH_INPUT, 0, 1, 1, 4, 8),
                         w = make_constant(graph, 4, SIZES(1, 1, 8, 4), 0, 1);
    struct graph_operand scaled = temp4(graph, 1, 1, 8, 4), a = temp4(graph, 1, 1, 4, 8), b = temp4(graph, 1, 1, 4, 8);
    struct graph_operand sum = temp4(graph, 1, 1, 4, 8), product = temp4(graph, 1, 1, 4, 4);
    make_map(graph, KERN_MAP_MULADD, &w, 1, scaled, 0.125f, 0);
    make_map(graph, KERN_MAP_TANH, &x, 1, a, 0, 0);
    make_map(graph, KERN_MAP_TANH, &x, 1, b, 0, 0);
    make_map(graph, KERN_MAP_NEG, &x, 1, temp4(graph, 1, 1, 4, 8), 0, 0);
    make_map(graph, KERN_MAP_ADD, (struct graph_operand[]){ a, b }, 2, sum, 0, 0);
    make_gemm(graph, (struct graph_operand[]){ sum, scaled }, 2, product);
    make_map(graph, KERN_MAP_SIGMOID, &product, 1, make4(graph, GRAPH_OUTPUT, 0, 1, 1, 4, 4), 0, 0);
}

/* softmax(q k^T / 8 + mask) v, and GELU in pieces, of tensors that one side of an edge sees with three dimensions. */
static void attention(struct graph *graph)
{
    struct graph_operand x = make4(graph, GRAPH_INPUT, 0, 1, 2, 3, 4), k = x, in[3] = { 0 };
    struct graph_operand scores = temp4(graph, 1, 2, 3, 3), scaled = temp4(graph, 1, 2, 3, 3);
    struct graph_operand masked = temp4(graph, 1, 2, 3, 3), weights = temp4(graph, 1, 2, 3, 3);
    struct graph_operand y = temp4(graph, 1, 2, 3, 4), z = temp4(graph, 1, 1, 6, 4), steps[5];
    k.view = graph_view_permute(&x.view, SIZES(0, 1, 3, 2));
    make_gemm(graph, (struct graph_operand[]){ x, k }, 2, scores);
    make_map(graph, KERN_MAP_DIV, (struct graph_operand[]){ scores, make_constant(graph, 1, SIZES(1), 8, 0) }, 2,
             scaled, 0, 0);
    make_map(graph, KERN_MAP_ADD, (struct graph_operand[]){ scaled, make_constant(graph, 4, SIZES(1, 1, 1, 3), 0, -1) },
             2, masked, 0, 0);
    make_softmax(graph, masked, weights);
    make_gemm(graph, (struct graph_operand[]){ weights, x }, 2, y);
    in[0] = y;
    in[1] = make_constant(graph, 4, SIZES(1, 1, 4, 4), 0, 0.25f);
    graph_view_reshape(&y.view, 4, SIZES(1, 1, 6, 4), &in[0].view);
    make_gemm(graph, in, 2, z);
    graph_view_reshape(&z.view, 3, SIZES(1, 6, 4), &z.view);
    for (uint32_t i = 0; i < 5; i++)
        steps[i] = graph_temp(graph, F32, 3, SIZES(1, 6, 4));
    in[1] = make_constant(graph, 3, SIZES(1, 1, 4), 1, 1);
    in[0] = z;
    make_map(graph, KERN_MAP_ADD, in, 2, steps[0], 0, 0);
    in[0] = steps[0];
    in[1] = make_constant(graph, 1, SIZES(1), 1.41421354f, 0);
    make_map(graph, KERN_MAP_DIV, in, 2, steps[1], 0, 0);
    make_map(graph, KERN_MAP_ERF, &steps[1], 1, steps[2], 0, 0);
    in[0] = steps[2];
    in[1] = make_constant(graph, 1, SIZES(1), 1, 0);
    make_map(graph, KERN_MAP_ADD, in, 2, steps[3], 0, 0);
    make_map(graph, KERN_MAP_MUL, (struct graph_operand[]){ steps[0], steps[3] }, 2, steps[4], 0, 0);
    in[0] = steps[4];
    in[1] = make_constant(graph, 1, SIZES(1), 0.5f, 0);
    make_map(graph, KERN_MAP_MUL, in, 2, make_value(graph, GRAPH_OUTPUT, 0, F32, 3, SIZES(1, 6, 4)), 0, 0);
}

/* Three projections of one input that differ in width, with biases; heads of them meet in a product and a softmax. */
static void projections(struct graph *graph)
{
    static const uint32_t widths[3] = { 4, 4, 6 };
    struct graph_operand x = make4(graph, GRAPH_INPUT, 0, 1, 1, 3, 5), parts[3], scores = temp4(graph, 1, 2, 3, 3);
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t n = widths[i];
        struct graph_operand product = temp4(graph, 1, 1, 3, n), in[2] = { product };
        struct graph_operand w = make_constant(graph, 4, SIZES(1, 1, 5, n), (float)i, 0.25f), heads;
        in[1] = make_constant(graph, 4, SIZES(1, 1, 1, n), 1, (float)i);
        parts[i] = temp4(graph, 1, 1, 3, n);
        make_gemm(graph, (struct graph_operand[]){ x, w }, 2, product);
        make_map(graph, KERN_MAP_ADD, in, 2, parts[i], 0, 0);
        heads = parts[i];
        graph_view_reshape(&parts[i].view, 4, SIZES(1, 3, 2, n / 2), &heads.view);
        parts[i].view = graph_view_permute(&heads.view, SIZES(0, 2, 1, 3));
    }
    parts[1].view = graph_view_permute(&parts[1].view, SIZES(0, 1, 3, 2));
    make_gemm(graph, parts, 2, scores);
    make_softmax(graph, scores, make4(graph, GRAPH_OUTPUT, 0, 1, 2, 3, 3));
    make_softmax(graph, parts[2], make4(graph, GRAPH_OUTPUT, 1, 1, 2, 3, 3));
}

/* The mean of each row of x, dense. */
static struct graph_operand row_means(struct graph *graph, struct graph_operand x)
{
    struct graph_operand out = graph_temp(graph, F32, 3, SIZES(x.view.sizes[0], x.view.sizes[1], 1));
    struct graph_op *op = graph_op_add(graph, KERN_REDUCE, &x, 1, &out, 1);
    op->k.u.reduce = (struct kern_reduce){ .function = DML_REDUCE_FUNCTION_AVERAGE, .axes = 4 };
    return out;
}

static struct graph_operand made(struct graph *graph, enum kern_map_code code, struct graph_operand a,
                                 struct graph_operand b, DML_TENSOR_DATA_TYPE type)
{
    struct graph_operand in[2] = { a, b }, out = graph_temp(graph, type, a.view.rank, a.view.sizes);
    make_map(graph, code, in, kern_map_arity[code], out, 0, 0);
    return out;
}

/* A sum, then layer normalisation in the nine ops of old exports, then the sum once more. */
static void layer_norm(struct graph *graph)
{
    struct graph_operand a = make_value(graph, GRAPH_INPUT, 0, F32, 3, SIZES(2, 3, 8));
    struct graph_operand two = make_constant(graph, 1, SIZES(1), 2, 0);
    struct graph_operand epsilon = make_constant(graph, 1, SIZES(1), 1e-5f, 0);
    struct graph_operand scale = make_constant(graph, 1, SIZES(8), 1, 0.125f);
    struct graph_operand bias = make_value(graph, GRAPH_OWNED, 1, F32, 1, SIZES(8));
    struct graph_operand x = made(graph, KERN_MAP_ADD, a, a, F32), d, y;
    d = made(graph, KERN_MAP_SUB, x, row_means(graph, x), F32);
    y = row_means(graph, made(graph, KERN_MAP_POW, d, two, F32));
    y = made(graph, KERN_MAP_SQRT, made(graph, KERN_MAP_ADD, y, epsilon, F32), y, F32);
    y = made(graph, KERN_MAP_DIV, d, y, F32);
    y = made(graph, KERN_MAP_MUL, y, scale, F32);
    y = made(graph, KERN_MAP_ADD, y, bias, F32);
    make_map(graph, KERN_MAP_ADD, (struct graph_operand[]){ x, y }, 2,
             make_value(graph, GRAPH_OUTPUT, 0, F32, 3, SIZES(2, 3, 8)), 0, 0);
}

/* Root-mean-square normalisation of FLOAT16 in FLOAT32 with a FLOAT16 scale, as language models have it. */
static void rms_norm(struct graph *graph)
{
    struct graph_operand x = make_value(graph, GRAPH_INPUT, 0, F16, 3, SIZES(2, 3, 8));
    struct graph_operand two = make_constant(graph, 1, SIZES(1), 2, 0);
    struct graph_operand epsilon = make_constant(graph, 1, SIZES(1), 1e-5f, 0);
    struct graph_operand scale = make_value(graph, GRAPH_OWNED, 1, F16, 1, SIZES(8));
    struct graph_operand wide = graph_temp(graph, F32, 3, x.view.sizes), y, narrow = x;
    make_cast(graph, x, wide);
    y = row_means(graph, made(graph, KERN_MAP_POW, wide, two, F32));
    y = made(graph, KERN_MAP_SQRT, made(graph, KERN_MAP_ADD, y, epsilon, F32), y, F32);
    y = made(graph, KERN_MAP_MUL, wide, made(graph, KERN_MAP_RECIP, y, y, F32), F32);
    narrow.value = graph_temp(graph, F16, 3, x.view.sizes).value;
    make_cast(graph, y, narrow);
    make_map(graph, KERN_MAP_MUL, (struct graph_operand[]){ scale, narrow }, 2,
             make_value(graph, GRAPH_OUTPUT, 0, F16, 3, SIZES(2, 3, 8)), 0, 0);
}

/* Two convolutions with a pooling between that may be computed in half precision. */
static void half(struct graph *graph)
{
    graph->flags |= ANYDML_EXECUTION_FLAG_HALF_PRECISION_FLOAT32;
    struct graph_operand x = make4(graph, GRAPH_INPUT, 0, 1, 3, 8, 8), a = temp4(graph, 1, 4, 8, 8);
    struct graph_operand b = temp4(graph, 1, 4, 8, 8), pooled = temp4(graph, 1, 4, 4, 4);
    struct graph_operand w1 = make_constant(graph, 4, SIZES(4, 3, 3, 3), -1, 0.01f);
    struct graph_operand w2 = make_constant(graph, 4, SIZES(2, 4, 1, 1), -1, 0.01f);
    make_conv(graph, (struct graph_operand[]){ x, w1 }, 2, a, 1, 1, 1);
    make_map(graph, KERN_MAP_RELU, &a, 1, b, 0, 0);
    struct graph_op *pool = graph_op_add(graph, KERN_POOL, &b, 1, &pooled, 1);
    pool->k.u.pool = (struct kern_pool){ .mode = KERN_POOL_MAX, .spatial = 2, .p = 2 };
    for (uint32_t i = 0; i < 2; i++) {
        pool->k.u.pool.window[i] = pool->k.u.pool.strides[i] = 2;
        pool->k.u.pool.dilations[i] = 1;
    }
    make_conv(graph, (struct graph_operand[]){ pooled, w2 }, 2, make4(graph, GRAPH_OUTPUT, 0, 1, 2, 4, 4), 1, 1, 0);
    /* The ops have portable kernels only; the pass would leave a graph alone that asks for them. */
    graph->flags &= ~(uint32_t)DML_EXECUTION_FLAG_DISABLE_META_COMMANDS;
}

static struct graph_operand bytes(struct graph *graph, uint32_t c, uint32_t h, uint32_t w)
{
    return make_value(graph, GRAPH_TEMP, 0, DML_TENSOR_DATA_TYPE_UINT8, 4, SIZES(1, c, h, w));
}

static struct graph_operand byte_constant(struct graph *graph, int32_t value)
{
    return make_integers(graph, DML_TENSOR_DATA_TYPE_UINT8, 4, SIZES(1, 1, 1, 1), &value);
}

/* A quantised convolution between quantisations that do not see channels, then the largest of its pixels. */
static void quantized(struct graph *graph)
{
    const int32_t w[] = { 1, -2, 3, -4, 5, -6 }, b[] = { 10, -20, 30 }, none[] = { 0, 0, 0 };
    const DML_TENSOR_DATA_TYPE i8 = DML_TENSOR_DATA_TYPE_INT8, i32 = DML_TENSOR_DATA_TYPE_INT32;
    struct graph_operand x = make_value(graph, GRAPH_INPUT, 0, F32, 4, SIZES(1, 1, 1, 32));
    struct graph_operand step = make_constant(graph, 4, SIZES(1, 1, 1, 1), 0.5f, 0), zero = byte_constant(graph, 3);
    struct graph_operand q = bytes(graph, 1, 1, 32), f = temp4(graph, 1, 1, 1, 32), y = temp4(graph, 1, 3, 4, 4);
    struct graph_operand r = temp4(graph, 1, 3, 4, 4), p = bytes(graph, 3, 4, 4), d = temp4(graph, 1, 3, 4, 4);
    struct graph_operand most = temp4(graph, 1, 3, 2, 2),
                         scales = make_constant(graph, 4, SIZES(3, 1, 1, 1), 0.25f, 0.25f);
    struct graph_operand in[3] = { f, temp4(graph, 3, 2, 1, 1), temp4(graph, 1, 3, 1, 1) };
    make_scaled(graph, true, x, step, zero, q);
    make_scaled(graph, false, q, step, zero, f);
    /* One by one: the order in which arguments are made is the compiler's. */
    struct graph_operand w_zero = make_integers(graph, i8, 4, SIZES(3, 1, 1, 1), none);
    make_scaled(graph, false, make_integers(graph, i8, 4, SIZES(3, 2, 1, 1), w), scales, w_zero, in[1]);
    struct graph_operand b_zero = make_integers(graph, i32, 4, SIZES(1, 3, 1, 1), none);
    struct graph_operand b_scale = make_constant(graph, 4, SIZES(1, 3, 1, 1), 0.125f, 0.125f);
    make_scaled(graph, false, make_integers(graph, i32, 4, SIZES(1, 3, 1, 1), b), b_scale, b_zero, in[2]);
    kern_view_set_packed(&in[0].view, F32, 4, SIZES(1, 2, 4, 4));
    make_conv(graph, in, 3, y, 1, 1, 0);
    make_map(graph, KERN_MAP_RELU, &y, 1, r, 0, 0);
    make_scaled(graph, true, r, step, zero, p);
    make_scaled(graph, false, p, step, zero, d);
    struct graph_op *pool = graph_op_add(graph, KERN_POOL, &d, 1, &most, 1);
    pool->k.u.pool = (struct kern_pool){ .mode = KERN_POOL_MAX, .spatial = 2, .p = 2 };
    for (uint32_t i = 0; i < 2; i++) {
        pool->k.u.pool.window[i] = pool->k.u.pool.strides[i] = 2;
        pool->k.u.pool.dilations[i] = 1;
    }
    make_scaled(graph, true, most, step, zero,
                make_value(graph, GRAPH_OUTPUT, 0, DML_TENSOR_DATA_TYPE_UINT8, 4, SIZES(1, 3, 2, 2)));
}

/* Bytes of two scales, joined along channels and quantised with one, of which the largest are taken. */
static void joined_bytes(struct graph *graph)
{
    const DML_TENSOR_DATA_TYPE u8 = DML_TENSOR_DATA_TYPE_UINT8;
    struct graph_operand joined = temp4(graph, 1, 3, 4, 4), part = joined, q = bytes(graph, 3, 4, 4);
    struct graph_operand zero = byte_constant(graph, 3);
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t channels = 2 - i;
        struct graph_operand x = make_value(graph, GRAPH_INPUT, i, u8, 4, SIZES(1, channels, 4, 4));
        struct graph_operand f = temp4(graph, 1, channels, 4, 4);
        struct graph_operand step = make_constant(graph, 4, SIZES(1, 1, 1, 1), 0.5f + 0.25f * (float)i, 0);
        make_scaled(graph, false, x, step, zero, f);
        part.view = graph_view_slice(&joined.view, SIZES(0, 2 * i, 0, 0), SIZES(1, channels, 4, 4), NULL);
        make_move(graph, f, part);
    }
    make_scaled(graph, true, joined, make_constant(graph, 4, SIZES(1, 3, 1, 1), 0.5f, 0.25f), zero, q);
    struct graph_operand y = make_value(graph, GRAPH_OUTPUT, 0, u8, 4, SIZES(1, 3, 2, 2));
    struct graph_op *pool = graph_op_add(graph, KERN_POOL, &q, 1, &y, 1);
    pool->k.u.pool = (struct kern_pool){ .mode = KERN_POOL_MAX, .spatial = 2, .p = 2 };
    for (uint32_t i = 0; i < 2; i++) {
        pool->k.u.pool.window[i] = pool->k.u.pool.strides[i] = 2;
        pool->k.u.pool.dilations[i] = 1;
    }
}

/* x[1, 40] times weights of 4 bits in blocks of 16 with a bias, then relu. */
static void block_weights(struct graph *graph)
{
    const uint8_t f32 = F32;
    const uint32_t rows = 3, blocks = 3, all = rows * blocks;
    struct graph_operand x = make_value(graph, GRAPH_INPUT, 0, F32, 2, SIZES(1, 40));
    struct graph_operand in[3] = { { GRAPH_NONE, { 0 } }, make_constant(graph, 2, SIZES(all, 1), 0.5f, 0.25f) };
    struct graph_operand w = graph_temp(graph, F32, 2, SIZES(all, 16)), y = graph_temp(graph, F32, 2, SIZES(1, rows));
    uint8_t nibbles[72];
    for (uint32_t i = 0; i < sizeof(nibbles); i++)
        nibbles[i] = (uint8_t)(i * 29);
    kern_view_set_packed(&in[0].view, DML_TENSOR_DATA_TYPE_UINT4, 2, SIZES(all, 16));
    in[0].value = graph_constant_add(graph, nibbles, sizeof(nibbles));
    in[1].view = graph_view_broadcast(&in[1].view, 2, SIZES(all, 16));
    struct graph_op *op = graph_op_add(graph, KERN_MAP, in, 2, &w, 1);
    op->k.u.map = (struct kern_map){ .inst_count = 2, .load_type = { f32, f32 }, .store = { 3 } };
    op->k.u.map.inst[0] = (struct kern_map_inst){ KERN_MAP_MULADD, f32, f32, { 0 }, { { .f32 = 1 }, { .f32 = -8 } } };
    op->k.u.map.inst[1] = (struct kern_map_inst){ KERN_MAP_MUL, f32, f32, { 2, 1 }, { { 0 } } };
    kern_view_set_packed(&w.view, F32, 2, SIZES(40, rows));
    w.view.strides[0] = 1;
    w.view.strides[1] = 48;
    make_gemm(graph, (struct graph_operand[]){ x, w, make_constant(graph, 2, SIZES(1, rows), 1, 1) }, 3, y);
    make_map(graph, KERN_MAP_RELU, &y, 1, make_value(graph, GRAPH_OUTPUT, 0, F32, 2, SIZES(1, rows)), 0, 0);
}

/* A product of two rows and long sums, with a bias and relu. */
static void long_sums(struct graph *graph)
{
    struct graph_operand in[3] = { make_value(graph, GRAPH_INPUT, 0, F32, 2, SIZES(2, 4100)),
                                   make_value(graph, GRAPH_INPUT, 1, F32, 2, SIZES(4100, 40)),
                                   make_constant(graph, 2, SIZES(1, 40), 1, 1) };
    struct graph_operand y = graph_temp(graph, F32, 2, SIZES(2, 40));
    in[2].view = graph_view_broadcast(&in[2].view, 2, y.view.sizes);
    make_gemm(graph, in, 3, y)->k.u.gemm.beta = 2;
    make_map(graph, KERN_MAP_RELU, &y, 1, make_value(graph, GRAPH_OUTPUT, 0, F32, 2, SIZES(2, 40)), 0, 0);
}

static const struct {
    const char *name;
    void (*make)(struct graph *graph);
} samples[] = {
    { "conv_batch_norm", conv_batch_norm },
    { "branches", branches },
    { "columns", columns },
    { "residual", residual },
    { "join_and_slice", join_and_slice },
    { "joined_bits", joined_bits },
    { "map_chain", map_chain },
    { "known_and_unused", known_and_unused },
    { "joined_convolutions", joined_convolutions },
    { "dense_block", dense_block },
    { "weight_gradient", weight_gradient },
    { "quantized", quantized },
    { "joined_bytes", joined_bytes },
    { "block_weights", block_weights },
    { "inverted_residual", inverted_residual },
    { "attention", attention },
    { "projections", projections },
    { "long_sums", long_sums },
    { "layer_norm", layer_norm },
    { "windows", windows },
    { "rms_norm", rms_norm },
    { "half", half },
};

static const char *const pass_names[] = {
#define PASS(name, meaning) #name,
#include "graph/passes/passes.def"
#undef PASS
};

static void add_state(struct graph_text *text, const struct graph *graph, const char *title)
{
    char *print = graph_print(graph);
    graph_text_add(text, "== %s\n%s\n", title, print ? print : "out of memory");
    free(print);
}

static uint32_t cpu_of(uint32_t pass)
{
    if (pass == GRAPH_PASS_fuse_inverted_residuals)
        return BASE_CPU_AVX2 | BASE_CPU_NEON;
    return pass == GRAPH_PASS_half ? BASE_CPU_AMX_BF16 | BASE_CPU_AVX512_BF16 : 0;
}

/* Each pass in turn on what the ones before left, twice over, as the compiler does. */
static char *describe(void (*make)(struct graph *graph))
{
    struct graph_text text = { 0 };
    struct graph graph;
    graph_init(&graph, 1, 1, DML_EXECUTION_FLAG_DISABLE_META_COMMANDS);
    make(&graph);
    add_state(&text, &graph, "lowered");
    for (uint32_t i = 0; i < 2 * GRAPH_PASS_COUNT; i++) {
        struct graph_options options = make_options(~(UINT64_C(1) << i % GRAPH_PASS_COUNT));
        options.cpu = cpu_of(i % GRAPH_PASS_COUNT);
        options.threads = i % GRAPH_PASS_COUNT == GRAPH_PASS_split_products ? 2 : 1;
        char *before = graph_print(&graph);
        TEST(graph_run_passes(&graph, &options) == S_OK);
        char *after = graph_print(&graph);
        if (before && after && strcmp(before, after) != 0)
            add_state(&text, &graph, pass_names[i % GRAPH_PASS_COUNT]);
        free(before);
        free(after);
    }
    graph_finish(&graph);
    return graph_text_detach(&text);
}

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    struct graph_text text = { 0 };
    char line[1024];
    if (!file)
        return NULL;
    graph_text_add(&text, "%s", "");
    while (fgets(line, sizeof(line), file))
        graph_text_add(&text, "%s", line);
    fclose(file);
    return graph_text_detach(&text);
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");
    if (!TEST_FOR(file != NULL, "%s", path))
        return;
    TEST(fputs(text, file) >= 0);
    TEST(fclose(file) == 0);
}

/* The first line in which they differ. */
static void explain(const char *name, const char *expected, const char *got)
{
    uint32_t line = 1;
    while (*expected && *expected == *got) {
        line += *expected == '\n';
        expected++;
        got++;
    }
    while (line > 1 && expected[-1] != '\n') {
        expected--;
        got--;
    }
    fprintf(stderr, "%s.txt line %u\nexpected: %.*s\ngot:      %.*s\n", name, line, (int)strcspn(expected, "\n"),
            expected, (int)strcspn(got, "\n"), got);
}

int main(int argc, char **argv)
{
    bool update = argc > 2 && !strcmp(argv[2], "--update");
    if (argc < 2) {
        fprintf(stderr, "usage: %s folder [--update]\n", argv[0]);
        return 2;
    }
    for (uint32_t i = 0; i < ARRAY_SIZE(samples); i++) {
        char path[4096];
        char *text = describe(samples[i].make);
        snprintf(path, sizeof(path), "%s/%s.txt", argv[1], samples[i].name);
        if (update && text)
            write_file(path, text);
        char *expected = read_file(path);
        bool same = expected && text && !strcmp(expected, text);
        TEST_FOR(same, "%s", path);
        if (!same && expected && text)
            explain(samples[i].name, expected, text);
        free(expected);
        free(text);
    }
    return test_result();
}
