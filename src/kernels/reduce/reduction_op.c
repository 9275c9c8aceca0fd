/* SPDX-License-Identifier: Apache-2.0 */
/* What all reductions share: their axes, groups and statistics, and how a value for each group is stored. */
#include "kernels/reduce/reduction.h"

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
