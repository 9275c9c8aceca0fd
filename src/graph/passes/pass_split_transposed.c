/* SPDX-License-Identifier: Apache-2.0 */
/* A transposed convolution whose windows do not overlap writes each result from one pixel: for each row of the window
 * it is a pointwise convolution, whose channels are those of all pixels in that row, since these are adjacent in NHWC.
 * Part of pass fuse_upsampling; weights must be constant. */
#include "graph/passes/pass.h"

#include "kernels/core/dense.h"

#define ROWS_MAX 4 /* of a window: the convolutions that one becomes */

bool graph_transposed_splits(const struct graph *graph, const struct graph_options *options, const struct graph_op *op)
{
    const struct kern_conv *conv = &op->k.u.conv;
    const struct kern_view *x = &op->k.tensors[0], *w = &op->k.tensors[1], *y = &op->k.tensors[op->k.input_count];
    const uint32_t passes = options->backend->passes & ~options->disabled_passes;
    if (op->k.kind != KERN_CONV || op->dead || !(passes & GRAPH_PASS_BIT(fuse_upsampling)) || !conv->transposed ||
        conv->spatial != 2 || conv->groups != 1 || conv->flip || conv->integer || op->k.output_count != 1 ||
        (op->k.epilogue && op->k.epilogue_input != op->k.input_count) || w->sizes[2] > ROWS_MAX)
        return false;
    for (uint32_t t = 1; t < 2u + conv->has_bias; t++)
        if (!graph_value_fixed(graph, options, op->value[t]) || !graph_operand_fits(graph, op, t) ||
            (op->k.tensors[t].type != DML_TENSOR_DATA_TYPE_FLOAT32 &&
             op->k.tensors[t].type != DML_TENSOR_DATA_TYPE_FLOAT16))
            return false;
    for (uint32_t d = 0; d < 2; d++)
        if (conv->strides[d] != w->sizes[2 + d] || conv->dilations[d] != 1 || conv->pad_start[d] ||
            y->sizes[2 + d] != x->sizes[2 + d] * w->sizes[2 + d])
            return false;
    return true;
}

struct context {
    struct kern_view from; /* the weights, or the bias */
    uint32_t row, columns; /* of the window */
};

static void copy(const struct kern_view *view, const void *in, int64_t at, void *out, int64_t to)
{
    const size_t bytes = kern_type_bytes(view->type);
    memcpy((char *)out + (size_t)to * bytes, (const char *)in + (size_t)(view->offset + at) * bytes, bytes);
}

/* [columns, Cout, Cin]: the weights of one row of the window. */
static bool run_weights(const void *context, const void *const *in, void *const *out)
{
    const struct context *c = context;
    const struct kern_view *w = &c->from;
    int64_t to = 0;
    for (uint32_t column = 0; column < c->columns; column++)
        for (uint32_t o = 0; o < w->sizes[1]; o++)
            for (uint32_t i = 0; i < w->sizes[0]; i++)
                copy(w, in[0], i * w->strides[0] + o * w->strides[1] + c->row * w->strides[2] + column * w->strides[3],
                     out[0], to++);
    return true;
}

static bool run_bias(const void *context, const void *const *in, void *const *out)
{
    const struct context *c = context;
    const uint32_t channels = c->from.sizes[1];
    for (uint32_t o = 0; o < c->columns * channels; o++)
        copy(&c->from, in[0], o % channels * c->from.strides[1], out[0], o);
    return true;
}

/* One row of the windows, with its pixels as channels. */
static void row_view(const struct kern_view *view, const struct kern_view *w, uint32_t row, struct kern_view *out)
{
    *out = *view;
    out->offset += row * view->strides[2];
    out->sizes[1] *= w->sizes[3];
    for (uint32_t d = 2; d < 4; d++) {
        out->sizes[d] /= w->sizes[d];
        out->strides[d] *= w->sizes[d];
    }
}

/* All but its weights; their views as if they were there. */
static void build(const struct graph_op *conv, uint32_t row, struct graph_op *out)
{
    const struct kern_view *w = &conv->k.tensors[1];
    const uint32_t channels = w->sizes[1] * w->sizes[3], y = conv->k.input_count;
    *out = *conv;
    out->k.u.conv.transposed = false;
    out->k.u.conv.strides[0] = out->k.u.conv.strides[1] = 1;
    kern_view_set_packed(&out->k.tensors[1], w->type, 4, (const uint32_t[]){ channels, w->sizes[0], 1, 1 });
    if (conv->k.u.conv.has_bias)
        kern_view_set_packed(&out->k.tensors[2], conv->k.tensors[2].type, 4, (const uint32_t[]){ 1, channels, 1, 1 });
    row_view(&conv->k.tensors[y], w, row, &out->k.tensors[y]);
}

static bool make_weights(struct graph *graph, const struct graph_op *conv, uint32_t row, struct graph_op *op)
{
    struct context c = { .row = row, .columns = conv->k.tensors[1].sizes[3] };
    for (uint32_t t = 1; t < 2u + op->k.u.conv.has_bias; t++) {
        const struct kern_view *view = &op->k.tensors[t];
        c.from = conv->k.tensors[t];
        struct graph_operand made = graph_temp(graph, view->type, 4, view->sizes);
        const uint32_t values[] = { conv->value[t], made.value };
        if (made.value == GRAPH_NONE ||
            !graph_derive(graph, &(struct graph_derivation){ "split_transposed", t == 1 ? run_weights : run_bias, &c,
                                                             sizeof(c), 1, 1, values }))
            return false;
        op->value[t] = made.value;
    }
    return true;
}

/* Pixels of a line are adjacent, so that they can be channels. */
static bool is_adjacent(const struct kern_view *y)
{
    return y->strides[3] == y->strides[1] * (int64_t)y->sizes[1];
}

static bool split(struct graph *graph, const struct graph_options *options, struct graph_uses *uses, uint32_t at)
{
    const struct graph_op old = *graph->ops[at];
    const uint32_t rows = old.k.tensors[1].sizes[2], y = old.k.input_count;
    struct graph_op made[ROWS_MAX];
    for (uint32_t row = 0; row < rows; row++) {
        build(&old, row, &made[row]);
        if (!graph_op_no_worse(graph, options, &old, &made[row]))
            return false;
    }
    for (uint32_t row = 0; row < rows; row++)
        if (!make_weights(graph, &old, row, &made[row]))
            return false;
    for (uint32_t row = 0; row + 1 < rows; row++) {
        const struct graph_operand in = { old.value[0], old.k.tensors[0] },
                                   out = { old.value[y], made[row].k.tensors[y] };
        struct graph_op *op = graph_op_insert(graph, at, &old, KERN_CONV, &in, 1, &out);
        if (!op)
            return false;
        *op = made[row];
    }
    *graph->ops[at] = made[rows - 1];
    graph->failed |= !graph_uses_refresh(uses, at);
    for (uint32_t t = 1; t < 2u + old.k.u.conv.has_bias; t++)
        graph_constant_drop_unread(graph, uses, old.value[t]);
    return true;
}

bool graph_split_transposed(struct graph *graph, const struct graph_options *options, struct graph_uses *uses)
{
    const uint32_t count = graph->op_count;
    bool changed = false;
    for (uint32_t i = 0; !graph->failed && i < count; i++) {
        const struct graph_op *op = graph->ops[i];
        if (graph_transposed_splits(graph, options, op) && is_adjacent(&op->k.tensors[op->k.input_count]))
            changed |= split(graph, options, uses, i);
    }
    return changed;
}
