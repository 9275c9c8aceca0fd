/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/core/dense.h"
#include "kernels/core/number.h"

#include <math.h>
#include <stdlib.h>

void dense_store(void *data, int64_t index, DML_TENSOR_DATA_TYPE type, double value)
{
    if (type == DML_TENSOR_DATA_TYPE_FLOAT64)
        ((double *)data)[index] = value;
    else if (type == DML_TENSOR_DATA_TYPE_FLOAT32)
        ((float *)data)[index] = (float)value;
    else
        kern_write_double(type, data, index, dense_is_float(type) ? value : rint(value));
}

bool dense_is_short_float(DML_TENSOR_DATA_TYPE type)
{
    return type == DML_TENSOR_DATA_TYPE_FLOAT32 || type == DML_TENSOR_DATA_TYPE_FLOAT16 ||
           type == ANYDML_TENSOR_DATA_TYPE_BFLOAT16;
}

bool dense_is_float(DML_TENSOR_DATA_TYPE type)
{
    return dense_is_short_float(type) || type == DML_TENSOR_DATA_TYPE_FLOAT64;
}

bool dense_same_type(const struct kern_op *op, uint32_t first, uint32_t last, DML_TENSOR_DATA_TYPE type)
{
    for (uint32_t i = first; i <= last; i++) {
        if (op->tensors[i].type != type)
            return false;
    }
    return true;
}

bool dense_short_floats(const struct kern_op *op)
{
    bool extra = op->kind == KERN_GEMM ? op->u.gemm.has_c : op->kind == KERN_CONV && op->u.conv.has_bias;
    bool result = true;
    for (uint32_t i = 0; i <= op->input_count; i++)
        if (i < 2 + (uint32_t)extra || i == op->input_count)
            result = result && dense_is_short_float(op->tensors[i].type);
    return result;
}

bool dense_half_allowed(const struct kern_op *op)
{
    bool floats32 =
        op->tensors[0].type == DML_TENSOR_DATA_TYPE_FLOAT32 || op->tensors[1].type == DML_TENSOR_DATA_TYPE_FLOAT32;
    return op->flags & (floats32 ? KERN_FLAG_HALF_FLOAT32 : KERN_FLAG_HALF_PRECISION);
}

bool dense_epilogue_fits(const struct kern_op *op)
{
    DML_TENSOR_DATA_TYPE type = op->tensors[op->input_count].type;
    bool integer = (op->kind == KERN_GEMM && op->u.gemm.integer) || (op->kind == KERN_CONV && op->u.conv.integer);
    return !op->epilogue || integer || dense_is_short_float(type);
}

/* Broadcast dimensions count as widest: walking them last would access one element repeatedly. */
static int64_t stride_width(const struct kern_view *view, uint32_t d)
{
    return view->sizes[d] == 1 || view->strides[d] == 0 ? INT64_MAX : llabs(view->strides[d]);
}

void dense_memory_order(const struct kern_view *view, uint32_t *order)
{
    for (uint32_t d = 0; d < view->rank; d++) {
        uint32_t place = d;
        for (; place > 0 && stride_width(view, order[place - 1]) < stride_width(view, d); place--)
            order[place] = order[place - 1];
        order[place] = d;
    }
}

struct kern_view dense_permute(const struct kern_view *view, const uint32_t *order)
{
    struct kern_view result = *view;
    for (uint32_t d = 0; d < view->rank; d++) {
        result.sizes[d] = view->sizes[order[d]];
        result.strides[d] = view->strides[order[d]];
    }
    return result;
}

bool dense_view_merges(const struct kern_view *view, uint32_t d)
{
    return (uint64_t)view->sizes[d] * view->sizes[d + 1] <= UINT32_MAX &&
           (view->sizes[d] == 1 || view->strides[d] == view->strides[d + 1] * view->sizes[d + 1]);
}

void dense_view_merge(struct kern_view *view, uint32_t d)
{
    view->sizes[d] *= view->sizes[d + 1];
    view->strides[d] = view->strides[d + 1];
    for (uint32_t i = d + 1; i + 1 < view->rank; i++) {
        view->sizes[i] = view->sizes[i + 1];
        view->strides[i] = view->strides[i + 1];
    }
    view->rank--;
}

bool dense_merge_rows(const struct kern_op *op, struct kern_op *out)
{
    uint32_t y = op->input_count, first = op->epilogue ? op->epilogue_input : y, d = op->tensors[y].rank - 2;
    for (uint32_t t = first; t <= y; t++)
        if (!dense_view_merges(&op->tensors[t], d))
            return false;
    *out = *op;
    for (uint32_t t = first; t <= y; t++)
        dense_view_merge(&out->tensors[t], d);
    return true;
}
