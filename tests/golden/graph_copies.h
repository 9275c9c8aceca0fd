/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs of graph_print_test.c whose copies become views: concatenations, slices, windows. */
#ifndef TESTS_GOLDEN_GRAPH_COPIES_H
#define TESTS_GOLDEN_GRAPH_COPIES_H

#include "graph_make.h"

#define U32 DML_TENSOR_DATA_TYPE_UINT32

static struct graph_operand temp4(struct graph *graph, uint32_t n, uint32_t c, uint32_t h, uint32_t w)
{
    return make4(graph, GRAPH_TEMP, 0, n, c, h, w);
}

static struct graph_operand in_six(struct graph_operand x, const uint32_t *sizes)
{
    graph_view_reshape(&x.view, 6, sizes, &x.view);
    return x;
}

/* Windows of 2 x 3 pixels of a normalised image, a function of them, and the image again, with a residual: the copies
 * into windows and back become views of ops in six dimensions. */
static void windows(struct graph *graph)
{
    static const uint32_t image[6] = { 1, 2, 2, 2, 3, 8 }, there[6] = { 0, 1, 3, 2, 4, 5 };
    struct graph_operand x = make4(graph, GRAPH_INPUT, 0, 1, 4, 6, 8), y = temp4(graph, 1, 4, 6, 8), in[2], parts, out;
    struct graph_op *norm = graph_op_add(graph, KERN_NORM, &x, 1, &y, 1);
    norm->k.u.norm = (struct kern_norm){ .axes = 8, .epsilon = 1e-5f, .use_mean = true, .use_variance = true };
    y = in_six(y, image);
    y.view = graph_view_permute(&y.view, there);
    parts = graph_temp(graph, F32, 6, y.view.sizes);
    make_move(graph, y, parts);
    graph_view_reshape(&parts.view, 3, SIZES(4, 6, 8), &parts.view);
    out = graph_temp(graph, F32, 3, SIZES(4, 6, 8));
    graph_op_add(graph, KERN_SOFTMAX, &parts, 1, &out, 1)->k.u.softmax.axes = 2;
    out = in_six(out, y.view.sizes);
    out.view = graph_view_permute(&out.view, there);
    y = graph_temp(graph, F32, 6, image);
    make_move(graph, out, y);
    in[0] = x;
    in[1] = y;
    graph_view_reshape(&in[1].view, 4, SIZES(1, 4, 6, 8), &in[1].view);
    make_map(graph, KERN_MAP_ADD, in, 2, make4(graph, GRAPH_OUTPUT, 0, 1, 4, 6, 8), 0, 0);
}

/* Two branches joined along channels, a slice of that, and a transposition. */
static void join_and_slice(struct graph *graph)
{
    struct graph_operand x = make4(graph, GRAPH_INPUT, 0, 1, 2, 3, 4), a = temp4(graph, 1, 2, 3, 4);
    struct graph_operand b = temp4(graph, 1, 2, 3, 4), joined = temp4(graph, 1, 4, 3, 4), part = joined;
    make_map(graph, KERN_MAP_TANH, &x, 1, a, 0, 0);
    make_map(graph, KERN_MAP_RELU, &x, 1, b, 0, 0);
    part.view = graph_view_slice(&joined.view, SIZES(0, 0, 0, 0), SIZES(1, 2, 3, 4), NULL);
    make_move(graph, a, part);
    part.view = graph_view_slice(&joined.view, SIZES(0, 2, 0, 0), SIZES(1, 2, 3, 4), NULL);
    make_move(graph, b, part);
    struct graph_operand slice = temp4(graph, 1, 2, 3, 4), transposed = temp4(graph, 1, 4, 3, 2);
    part.view = graph_view_slice(&joined.view, SIZES(0, 1, 0, 0), SIZES(1, 2, 3, 4), NULL);
    make_move(graph, part, slice);
    slice.view = graph_view_permute(&slice.view, SIZES(0, 3, 2, 1));
    make_move(graph, slice, transposed);
    make_map(graph, KERN_MAP_NEG, &transposed, 1, make4(graph, GRAPH_OUTPUT, 0, 1, 4, 3, 2), 0, 0);
    make_move(graph, joined, make4(graph, GRAPH_OUTPUT, 1, 1, 4, 3, 4));
}

/* Two branches joined along channels, whose bits are then read as integers: they are not converted in the branches. */
static void joined_bits(struct graph *graph)
{
    struct graph_operand x = make4(graph, GRAPH_INPUT, 0, 1, 2, 3, 4), joined = temp4(graph, 1, 4, 3, 4), part = joined;
    part.view = graph_view_slice(&joined.view, SIZES(0, 0, 0, 0), SIZES(1, 2, 3, 4), NULL);
    make_map(graph, KERN_MAP_TANH, &x, 1, part, 0, 0);
    part.view = graph_view_slice(&joined.view, SIZES(0, 2, 0, 0), SIZES(1, 2, 3, 4), NULL);
    make_map(graph, KERN_MAP_RELU, &x, 1, part, 0, 0);
    struct graph_operand bits = joined, y = temp4(graph, 1, 4, 3, 4), out = make4(graph, GRAPH_OUTPUT, 0, 1, 4, 3, 4);
    bits.view.type = y.view.type = out.view.type = U32;
    struct graph_op *op = make_map(graph, KERN_MAP_BIT_NOT, &bits, 1, y, 0, 0);
    op->k.u.map.load_type[0] = op->k.u.map.inst[0].type = op->k.u.map.inst[0].to_type = U32;
    op = make_map(graph, KERN_MAP_ADD, (struct graph_operand[]){ y, y }, 2, out, 0, 0);
    op->k.u.map.load_type[0] = op->k.u.map.load_type[1] = U32;
    op->k.u.map.inst[0].type = op->k.u.map.inst[0].to_type = U32;
}

/* Two convolutions of one input, joined along channels for a pooling and a third one. */
static void joined_convolutions(struct graph *graph)
{
    struct graph_operand x = make4(graph, GRAPH_INPUT, 0, 1, 4, 5, 5), joined = temp4(graph, 1, 12, 5, 5);
    struct graph_operand a = temp4(graph, 1, 4, 5, 5), b = temp4(graph, 1, 8, 5, 5), part = joined;
    struct graph_operand w1 = make_constant(graph, 4, SIZES(4, 4, 1, 1), -1, 0.01f);
    struct graph_operand w2 = make_constant(graph, 4, SIZES(8, 4, 3, 3), -1, 0.01f);
    struct graph_operand w3 = make_constant(graph, 4, SIZES(2, 12, 1, 1), -1, 0.01f),
                         pooled = temp4(graph, 1, 12, 2, 2);
    make_conv(graph, (struct graph_operand[]){ x, w1 }, 2, a, 1, 1, 0);
    make_conv(graph, (struct graph_operand[]){ x, w2 }, 2, b, 1, 1, 1);
    part.view = graph_view_slice(&joined.view, SIZES(0, 0, 0, 0), SIZES(1, 4, 5, 5), NULL);
    make_move(graph, a, part);
    part.view = graph_view_slice(&joined.view, SIZES(0, 4, 0, 0), SIZES(1, 8, 5, 5), NULL);
    make_move(graph, b, part);
    struct graph_op *pool = graph_op_add(graph, KERN_POOL, &joined, 1, &pooled, 1);
    pool->k.u.pool = (struct kern_pool){ .mode = KERN_POOL_MAX, .spatial = 2, .p = 2 };
    for (uint32_t i = 0; i < 2; i++) {
        pool->k.u.pool.window[i] = pool->k.u.pool.strides[i] = 2;
        pool->k.u.pool.dilations[i] = 1;
    }
    make_conv(graph, (struct graph_operand[]){ pooled, w3 }, 2, make4(graph, GRAPH_OUTPUT, 0, 1, 2, 2, 2), 1, 1, 0);
}

/* Layers that read everything before them: their concatenations are the last one, and its beginnings. */
static void dense_block(struct graph *graph)
{
    struct graph_operand feature[4], x = make4(graph, GRAPH_INPUT, 0, 1, 2, 3, 4);
    feature[0] = temp4(graph, 1, 2, 3, 4);
    make_map(graph, KERN_MAP_TANH, &x, 1, feature[0], 0, 0);
    for (uint32_t layer = 1; layer < 4; layer++) {
        struct graph_operand joined = temp4(graph, 1, 2 * layer, 3, 4), part = joined;
        struct graph_operand w = make_constant(graph, 4, SIZES(2, 2 * layer, 1, 1), -1, 0.01f);
        for (uint32_t i = 0; i < layer; i++) {
            part.view = graph_view_slice(&joined.view, SIZES(0, 2 * i, 0, 0), SIZES(1, 2, 3, 4), NULL);
            make_move(graph, feature[i], part);
        }
        feature[layer] = layer < 3 ? temp4(graph, 1, 2, 3, 4) : make4(graph, GRAPH_OUTPUT, 0, 1, 2, 3, 4);
        make_conv(graph, (struct graph_operand[]){ joined, w }, 2, feature[layer], 1, 1, 0);
    }
}

#endif
