/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of a few groups: vectors over neighbouring groups would be mostly empty. The groups are transposed into
 * scratch memory, where they are dense lines. */
#include "kernels/core/dense.h"
#include "kernels/reduce/reduction_short.h"

/* Groups: more fill their vectors and longer lines of X, and fewer are read faster one by one, unless results are as
 * many as elements. */
#define NARROW_MAX         32
#define NARROW_REDUCED_MIN 4
#define NARROW_REDUCED_MAX 16
#define NARROW_FLOATS      (1u << 18) /* of a tile */

/* Whether neighbouring groups are neighbours in tensor t, which can be read and written a tile at a time. */
static bool is_column(const struct kern_reductions *groups, uint32_t t)
{
    const struct kern_iterator *outer = &groups->outer;
    return outer->strides[t][outer->rank - 1] == 1 && kern_reduction_in_place(groups->call->op->tensors[t].type);
}

uint64_t kern_reduction_narrow_floats(const struct kern_reductions *groups)
{
    const struct kern_op *op = groups->call->op;
    const struct kern_iterator *outer = &groups->outer, *inner = &groups->inner;
    const uint64_t width = outer->sizes[outer->rank - 1],
                   floats = width * base_align_up(inner->count, KERN_REDUCTION_STEP);
    const bool lines_out = kern_reduction_has_lines_out(op);
    if (width < (lines_out ? 2 : NARROW_REDUCED_MIN) || width > (lines_out ? NARROW_MAX : NARROW_REDUCED_MAX))
        return 0;
    if (op->epilogue || op->kind == KERN_GRAD_SUMS || inner->rank > 1 || inner->count < KERN_REDUCTION_SHORT_LEAST ||
        inner->strides[0][0] == 1 || floats > NARROW_FLOATS || !is_column(groups, 0))
        return 0;
    return floats;
}

void kern_reduction_narrow_init(const struct kern_reductions *groups, uint32_t width, void *scratch,
                                struct kern_reduction_narrow *out)
{
    const struct kern_op *op = groups->call->op;
    const struct kern_iterator *outer = &groups->outer, *inner = &groups->inner;
    const uint32_t length = (uint32_t)inner->count, pitch = (uint32_t)base_align_up(length, KERN_REDUCTION_STEP);
    out->op = *op;
    out->tile = scratch;
    out->width = width;
    out->pitch = pitch;
    out->stores = kern_reduction_has_lines_out(op) && is_column(groups, op->input_count);
    for (uint32_t t = 0; t < op->input_count + op->output_count; t++) {
        struct kern_view *view = &out->op.tensors[t];
        const bool own = t == 0 || (out->stores && t == op->input_count);
        const bool whole = t < op->input_count || kern_reduction_has_lines_out(op);
        kern_view_set_packed(view, own ? DML_TENSOR_DATA_TYPE_FLOAT32 : op->tensors[t].type, 2,
                             (const uint32_t[]){ width, whole ? length : 1 });
        view->strides[0] = own ? pitch : outer->strides[t][outer->rank - 1];
        view->strides[1] = own ? 1 : inner->strides[t][0];
    }
    kern_reduction_set_axis(&out->op, 1);
}

void kern_reduction_narrow_tile(const struct kern_reductions *groups, uint64_t first,
                                const struct kern_reduction_narrow *narrow, kern_reduction_narrow_run *run)
{
    const struct kern_op *op = groups->call->op;
    const uint32_t y = op->input_count;
    void *data[KERN_TENSORS_MAX];
    for (uint32_t t = 0; t < y + op->output_count; t++)
        data[t] =
            (void *)kern_at(groups->call->data[t], op->tensors[t].type, kern_iterator_offset(&groups->outer, t, first));
    /* A "line" of X is an element of each group. */
    struct kern_reduction_lines lines = {
        .x = data[0],
        .half = op->tensors[0].type == DML_TENSOR_DATA_TYPE_FLOAT16,
        .apart = groups->inner.strides[0][0],
        .count = (uint32_t)groups->inner.count,
        .length = narrow->width,
        .pitch = narrow->pitch,
        .tile = narrow->tile,
    };
    groups->isa->lines_load(&lines);
    lines.x = data[y];
    lines.half = op->tensors[y].type == DML_TENSOR_DATA_TYPE_FLOAT16;
    lines.apart = groups->inner.strides[y][0];
    data[0] = narrow->tile;
    if (narrow->stores)
        data[y] = narrow->tile;
    run(groups, narrow, data);
    if (narrow->stores)
        groups->isa->lines_store(&lines);
}
