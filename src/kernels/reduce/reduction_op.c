/* SPDX-License-Identifier: Apache-2.0 */
/* What all reductions share: their axes, groups and statistics, and how a value for each group is stored. */
#include "kernels/reduce/reduction_short.h"

const uint32_t kern_reduction_tensors[KERN_TENSORS_MAX] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };

uint32_t kern_reduction_axes(const struct kern_op *op)
{
    switch (op->kind) {
    case KERN_REDUCE:
        return op->u.reduce.axes;
    case KERN_SOFTMAX:
        return op->u.softmax.axes;
    case KERN_NORM:
        return op->u.norm.axes;
    case KERN_MOMENTS:
        return op->u.moments.axes;
    case KERN_GRAD_SUMS:
        return op->u.grad_sums.axes;
    default:
        return UINT32_C(1) << op->u.lp_norm.axis;
    }
}

void kern_reduction_set_axis(struct kern_op *op, uint32_t axis)
{
    switch (op->kind) {
    case KERN_REDUCE:
        op->u.reduce.axes = UINT32_C(1) << axis;
        break;
    case KERN_SOFTMAX:
        op->u.softmax.axes = UINT32_C(1) << axis;
        break;
    case KERN_NORM:
        op->u.norm.axes = UINT32_C(1) << axis;
        break;
    case KERN_MOMENTS:
        op->u.moments.axes = UINT32_C(1) << axis;
        break;
    default:
        op->u.lp_norm.axis = axis;
    }
}

bool kern_reduction_is_position(DML_REDUCE_FUNCTION function)
{
    return function == DML_REDUCE_FUNCTION_ARGMAX || function == DML_REDUCE_FUNCTION_ARGMIN;
}

enum kern_stat kern_reduction_stat(DML_REDUCE_FUNCTION function)
{
    switch (function) {
    case DML_REDUCE_FUNCTION_L1:
        return KERN_STAT_SIZE;
    case DML_REDUCE_FUNCTION_L2:
    case DML_REDUCE_FUNCTION_SUM_SQUARE:
        return KERN_STAT_SQUARES;
    case DML_REDUCE_FUNCTION_MAX:
    case DML_REDUCE_FUNCTION_ARGMAX:
    case DML_REDUCE_FUNCTION_LOG_SUM_EXP:
        return KERN_STAT_MAX;
    case DML_REDUCE_FUNCTION_MIN:
    case DML_REDUCE_FUNCTION_ARGMIN:
        return KERN_STAT_MIN;
    case DML_REDUCE_FUNCTION_MULTIPLY:
        return KERN_STAT_PRODUCT;
    default:
        return KERN_STAT_SUM;
    }
}

void kern_reduction_iterators(const struct kern_op *op, bool row_major, struct kern_iterator *outer,
                              struct kern_iterator *inner)
{
    const uint32_t count = op->input_count + op->output_count, axes = kern_reduction_axes(op);
    kern_iterator_init(outer, op, kern_reduction_tensors, count, ~axes, 0);
    kern_iterator_init(inner, op, kern_reduction_tensors, count, axes, row_major ? KERN_ITERATOR_ROW_MAJOR : 0);
}

bool kern_reduction_in_columns(const struct kern_iterator *outer, const struct kern_iterator *inner)
{
    return outer->strides[0][outer->rank - 1] == 1 && outer->sizes[outer->rank - 1] >= 4 && inner->count > 1 &&
           inner->strides[0][inner->rank - 1] != 1;
}

void kern_reduction_store(const struct kern_call *call, const struct kern_iterator *outer, uint32_t t, uint64_t first,
                          uint32_t width, DML_TENSOR_DATA_TYPE from, const void *values)
{
    const DML_TENSOR_DATA_TYPE type = call->op->tensors[t].type;
    void *y = (void *)kern_at(call->data[t], type, kern_iterator_offset(outer, t, first));
    uint64_t converted[KERN_REDUCTION_TILE];
    kern_convert(kern_map_isa(), type, converted, from, values, width);
    kern_copy_row(kern_type_bytes(type), y, outer->strides[t][outer->rank - 1], converted, 1, width);
}

void kern_reductions_order_groups(struct kern_reductions *groups)
{
    const struct kern_op *op = groups->call->op;
    struct kern_iterator outer;
    if (groups->inner.rank > 1 || groups->outer.sizes[groups->outer.rank - 1] >= KERN_REDUCTION_SHORT_LEAST)
        return;
    kern_iterator_init(&outer, op, kern_reduction_tensors, op->input_count + 1, ~kern_reduction_axes(op),
                       op->input_count);
    if (outer.sizes[outer.rank - 1] > groups->outer.sizes[groups->outer.rank - 1])
        groups->outer = outer;
}

#define LINES_LEAST 16 /* elements of a line that are worth a call */

void kern_reductions_order_elements(struct kern_reductions *groups)
{
    const struct kern_op *op = groups->call->op;
    const uint32_t axes = kern_reduction_axes(op), tensors = op->input_count + op->output_count;
    const uint32_t last = groups->inner.rank - 1;
    struct kern_iterator results;
    kern_iterator_init(&groups->alone, op, kern_reduction_tensors, 1, axes, 0);
    if (groups->alone.rank == groups->inner.rank)
        groups->alone.rank = 0;
    if (groups->direct || op->output_count != 1 || groups->inner.sizes[last] >= LINES_LEAST)
        return;
    kern_iterator_init(&results, op, kern_reduction_tensors, tensors, axes, op->input_count);
    if (results.sizes[results.rank - 1] <= groups->inner.sizes[last])
        return;
    if (!groups->alone.rank)
        groups->alone = groups->inner;
    groups->inner = results;
}
