/* SPDX-License-Identifier: Apache-2.0 */
/* Short lines: a kernel's call and its horizontal steps take longer than their few elements. Some lines at a time are
 * transposed into scratch memory, where they are columns, so that each vector has one element of several lines. */
#include "kernels/core/dense.h"
#include "kernels/reduce/reduction_short.h"

#define SHORT_MAX    64   /* elements of a line */
#define SHORT_FLOATS 8192 /* of a tile */

/* Whether the groups' elements in tensor t are dense FLOAT32 or FLOAT16. */
static bool is_line(const struct kern_reductions *groups, uint32_t t)
{
    return groups->inner.strides[t][0] == 1 && kern_reduction_in_place(groups->call->op->tensors[t].type);
}

uint32_t kern_reduction_short_lines(const struct kern_reductions *groups)
{
    const struct kern_op *op = groups->call->op;
    const bool product = op->kind == KERN_REDUCE && op->u.reduce.function == DML_REDUCE_FUNCTION_MULTIPLY;
    const uint64_t length = groups->inner.count;
    if (groups->columns || op->epilogue || product || op->kind == KERN_GRAD_SUMS || groups->inner.rank > 1 ||
        length < 2 || length > SHORT_MAX || !is_line(groups, 0) ||
        (kern_reduction_has_lines_out(op) && !is_line(groups, op->input_count)))
        return 0;
    if (groups->outer.sizes[groups->outer.rank - 1] < KERN_REDUCTION_SHORT_LEAST)
        return 0;
    return (uint32_t)BASE_MIN(SHORT_FLOATS / length / KERN_REDUCTION_STEP * KERN_REDUCTION_STEP, KERN_REDUCTION_TILE);
}

uint64_t kern_reduction_short_floats(const struct kern_reductions *groups, uint32_t lines)
{
    return groups->inner.count * lines;
}

/* The op on `width` lines from group `first` on, as columns; data[] gets the addresses. */
static void columns_of(const struct kern_reductions *groups, uint64_t first, uint32_t width, uint32_t pitch,
                       float *tile, struct kern_op *out, void **data)
{
    const struct kern_op *op = groups->call->op;
    const struct kern_iterator *outer = &groups->outer, *inner = &groups->inner;
    const uint32_t length = (uint32_t)inner->count;
    *out = *op;
    for (uint32_t t = 0; t < op->input_count + op->output_count; t++) {
        struct kern_view *view = &out->tensors[t];
        const bool own = t == 0 || (kern_reduction_has_lines_out(op) && t == op->input_count);
        const bool whole = own || t < op->input_count;
        const DML_TENSOR_DATA_TYPE type = op->tensors[t].type;
        kern_view_set_packed(view, own ? DML_TENSOR_DATA_TYPE_FLOAT32 : type, 2,
                             (const uint32_t[]){ whole ? length : 1, width });
        view->strides[0] = own ? pitch : inner->strides[t][0];
        view->strides[1] = own ? 1 : outer->strides[t][outer->rank - 1];
        data[t] = own ? tile : (void *)kern_at(groups->call->data[t], type, kern_iterator_offset(outer, t, first));
    }
    kern_reduction_set_axis(out, 0);
}

void kern_reduction_short_tile(const struct kern_reductions *groups, uint64_t first, uint32_t width, void *scratch,
                               kern_reduction_short_run *run)
{
    float *tile = scratch;
    const struct kern_op *op = groups->call->op;
    const struct kern_iterator *outer = &groups->outer;
    const uint32_t y = op->input_count, last = outer->rank - 1,
                   pitch = (uint32_t)base_align_up(width, KERN_REDUCTION_STEP);
    const DML_TENSOR_DATA_TYPE x_type = op->tensors[0].type, y_type = op->tensors[y].type;
    void *data[KERN_TENSORS_MAX];
    struct kern_op columns;
    struct kern_reduction_lines lines = {
        .x = kern_at(groups->call->data[0], x_type, kern_iterator_offset(outer, 0, first)),
        .half = x_type == DML_TENSOR_DATA_TYPE_FLOAT16,
        .apart = outer->strides[0][last],
        .count = width,
        .length = (uint32_t)groups->inner.count,
        .pitch = pitch,
        .tile = tile,
    };
    groups->isa->lines_load(&lines);
    columns_of(groups, first, width, pitch, tile, &columns, data);
    run(groups, &columns, data, width, tile + kern_reduction_short_floats(groups, pitch));
    if (!kern_reduction_has_lines_out(op))
        return;
    lines.x = kern_at(groups->call->data[y], y_type, kern_iterator_offset(outer, y, first));
    lines.half = y_type == DML_TENSOR_DATA_TYPE_FLOAT16;
    lines.apart = outer->strides[y][last];
    groups->isa->lines_store(&lines);
}
