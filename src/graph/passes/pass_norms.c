/* SPDX-License-Identifier: Apache-2.0 */
/* Exporters write the normalisation of groups of channels as one of [N, groups, rest] without effective scale and bias,
 * of which the image [N, C, H, W] is another view; what follows has a scale and a bias for each channel. Scales of one
 * and biases of zero are dropped, and dimensions are split where those of the image that was written, or is read, begin
 * and end, [N, groups, C / groups, H, W], so that fusions and layouts can express both. */
#include "graph/passes/pass.h"

#include "base/half.h"

#define CONSTANT_BYTES_MAX 65536 /* that are compared: looking may copy them */

static bool is_all(struct graph *graph, const struct graph_operand *operand, float value)
{
    const struct kern_view *view = &operand->view;
    const uint32_t bytes = kern_type_bytes(view->type);
    const uint64_t size = graph->values[operand->value].size_bytes;
    const bool half = view->type == DML_TENSOR_DATA_TYPE_FLOAT16;
    uint64_t end = graph_view_span_bytes(view);
    if (graph->values[operand->value].place != GRAPH_CONSTANT || size > CONSTANT_BYTES_MAX || end > size ||
        view->offset < 0 || (!half && view->type != DML_TENSOR_DATA_TYPE_FLOAT32))
        return false;
    for (uint32_t d = 0; d < view->rank; d++)
        if (view->strides[d] < 0)
            return false;
    const char *data = graph_constant_data(graph, operand->value);
    for (uint64_t at = (uint64_t)graph_view_byte_offset(view); data && at < end; at += bytes) {
        float x;
        uint16_t bits;
        memcpy(half ? (void *)&bits : &x, data + at, bytes);
        if ((half ? base_half_to_float(bits) : x) != value)
            return false;
    }
    return data != NULL;
}

static void remove_input(struct graph_op *op, uint32_t at)
{
    const uint32_t count = op->k.input_count + op->k.output_count;
    for (uint32_t t = at; t + 1 < count; t++) {
        op->value[t] = op->value[t + 1];
        op->k.tensors[t] = op->k.tensors[t + 1];
    }
    op->k.input_count--;
    if (op->k.epilogue)
        op->k.epilogue_input--;
}

static bool drop_parameters(struct graph *graph, const struct graph_options *options, struct graph_op *op)
{
    struct graph_op made = *op;
    struct kern_norm *norm = &made.k.u.norm;
    const uint32_t bias = 1 + norm->has_scale;
    if (norm->has_bias && is_all(graph, &(struct graph_operand){ op->value[bias], op->k.tensors[bias] }, 0)) {
        remove_input(&made, bias);
        norm->has_bias = false;
    }
    if (norm->has_scale && is_all(graph, &(struct graph_operand){ op->value[1], op->k.tensors[1] }, 1)) {
        remove_input(&made, 1);
        norm->has_scale = false;
    }
    if (made.k.input_count == op->k.input_count || !graph_op_as_fast(graph, options, op, &made))
        return false;
    *op = made;
    return true;
}

static uint32_t long_axes(const uint32_t *sizes, uint32_t rank, uint32_t axes)
{
    uint32_t count = 0;
    for (uint32_t d = 0; d < rank; d++)
        count += (axes >> d & 1) && sizes[d] > 1;
    return count;
}

/* The dimensions of `image`, split where the op's begin and end, and the axes among them. False: they do not nest, or
 * split none of the op's axes. */
static bool nest(const struct graph_op *op, const struct kern_view *image, struct kern_view *out, uint32_t *out_axes)
{
    const struct kern_view *x = &op->k.tensors[0];
    uint64_t begin = 1, ends[KERN_RANK_MAX], product = 1;
    uint32_t d = 0;
    *out = (struct kern_view){ .type = x->type };
    *out_axes = 0;
    for (uint32_t i = 0; i < x->rank; i++)
        ends[i] = product *= x->sizes[i];
    if (kern_view_elements(image) != product || product == 0)
        return false;
    for (uint32_t i = 0; i < image->rank; i++) {
        const uint64_t image_end = begin * image->sizes[i];
        do {
            while (d + 1 < x->rank && ends[d] <= begin)
                d++;
            const uint64_t end = BASE_MIN(ends[d], image_end);
            if (end % begin || out->rank == KERN_RANK_MAX)
                return false;
            *out_axes |= (end > begin && op->k.u.norm.axes >> d & 1 ? UINT32_C(1) : 0) << out->rank;
            out->sizes[out->rank++] = (uint32_t)(end / begin);
            begin = end;
        } while (begin < image_end);
    }
    return long_axes(out->sizes, out->rank, *out_axes) > long_axes(x->sizes, x->rank, op->k.u.norm.axes);
}

static bool take_dimensions(const struct graph *graph, const struct graph_options *options, struct graph_op *op,
                            const struct kern_view *image)
{
    struct graph_op made = *op;
    struct kern_view shape;
    if (image->rank < 4 || !nest(op, image, &shape, &made.k.u.norm.axes))
        return false;
    for (uint32_t t = 0; t < op->k.input_count + op->k.output_count; t++)
        if (!graph_view_reshape(&op->k.tensors[t], shape.rank, shape.sizes, &made.k.tensors[t]))
            return false;
    if (!graph_op_as_fast(graph, options, op, &made))
        return false;
    *op = made;
    return true;
}

/* Those of what X was written as, or of the element-wise op that reads the result. */
static bool split_dimensions(const struct graph *graph, const struct graph_uses *uses,
                             const struct graph_options *options, uint32_t at)
{
    struct graph_op *op = graph->ops[at];
    const uint32_t y = op->k.input_count;
    struct graph_use_summary sum = graph_uses_of(uses, op->value[0]);
    bool split = false;
    if (sum.writes == 1 && sum.writer < at && kern_view_packed(&op->k.tensors[0])) {
        const struct kern_view image = graph->ops[sum.writer]->k.tensors[sum.writer_tensor];
        split = kern_view_packed(&image) && take_dimensions(graph, options, op, &image);
    }
    sum = graph_uses_of(uses, op->value[y]);
    if (sum.writes != 1 || sum.reading_ops != 1 || !kern_view_packed(&op->k.tensors[y]))
        return split;
    const struct graph_op *reader = graph->ops[sum.reader];
    for (uint32_t t = 0; t < reader->k.input_count && reader->k.kind == KERN_MAP; t++)
        if (reader->value[t] == op->value[y] && kern_view_packed(&reader->k.tensors[t]))
            return take_dimensions(graph, options, op, &reader->k.tensors[t]) || split;
    return split;
}

HRESULT graph_pass_norms(struct graph *graph, const struct graph_options *options, bool *changed)
{
    struct graph_uses uses;
    bool ok = graph_uses_init(&uses, graph);
    for (uint32_t i = 0; ok && !graph->failed && i < graph->op_count; i++) {
        struct graph_op *op = graph->ops[i];
        if (op->dead || op->k.kind != KERN_NORM || op->k.output_count != 1)
            continue;
        if (drop_parameters(graph, options, op)) {
            *changed = true;
            ok = graph_uses_refresh(&uses, i);
        }
        if (ok && split_dimensions(graph, &uses, options, i)) {
            *changed = true;
            ok = graph_uses_refresh(&uses, i);
        }
    }
    graph_uses_finish(&uses);
    return ok && !graph->failed ? S_OK : E_OUTOFMEMORY;
}
