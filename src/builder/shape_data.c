/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes of reductions and of operators that move, gather and resize elements. */
#include "builder/builder.h"

static void copy(struct builder_shape *shape, const DML_BUFFER_TENSOR_DESC *like)
{
    shape->rank = like->DimensionCount;
    for (uint32_t i = 0; i < shape->rank; i++)
        shape->sizes[i] = like->Sizes[i];
}

static bool below_rank(struct builder_call *call, const char *field, uint32_t axis, uint32_t rank)
{
    return axis < rank || builder_refuse(call, "%s = %u, must be below the rank (%u)", field, axis, rank);
}

/* Lists with one number for each dimension are as long as the rank, or the builder may not read them. */
static bool per_dimension(struct builder_call *call, const char *field, uint32_t rank)
{
    const uint32_t length = builder_uint(call, field);
    return length == rank || builder_refuse(call, "%s = %u, must equal the rank (%u)", field, length, rank);
}

bool builder_shape_reduce(struct builder_call *call, uint32_t slot, struct builder_shape *shape)
{
    const UINT *axes = builder_uints(call, "Axes");
    const uint32_t count = builder_uint(call, "AxisCount");
    (void)slot;
    copy(shape, builder_tensor(call, "InputTensor"));
    for (uint32_t i = 0; axes && i < count && i < SCHEMA_MAX_RANK; i++) {
        if (!below_rank(call, "Axes", axes[i], shape->rank))
            return false;
        shape->sizes[axes[i]] = 1;
    }
    return true;
}

bool builder_shape_top_k(struct builder_call *call, uint32_t slot, struct builder_shape *shape)
{
    const uint32_t axis = builder_uint(call, "Axis");
    (void)slot;
    copy(shape, builder_tensor(call, "InputTensor"));
    if (!below_rank(call, "Axis", axis, shape->rank))
        return false;
    shape->sizes[axis] = builder_uint(call, "K");
    return shape->sizes[axis] || builder_refuse(call, "K = 0, must be at least 1");
}

/* ---- blocks ---- */

/* The sizes of SLICE are the output's. */
bool builder_shape_slice(struct builder_call *call, uint32_t slot, struct builder_shape *shape)
{
    const UINT *sizes = builder_uints(call, "Sizes");
    (void)slot;
    copy(shape, builder_tensor(call, "InputTensor"));
    if (!per_dimension(call, "DimensionCount", shape->rank))
        return false;
    for (uint32_t i = 0; i < shape->rank; i++)
        shape->sizes[i] = sizes[i];
    return true;
}

/* Sizes of SLICE1 are those of a window in the input, in which strides select elements. */
bool builder_shape_slice1(struct builder_call *call, uint32_t slot, struct builder_shape *shape)
{
    const UINT *sizes = builder_uints(call, "InputWindowSizes");
    const INT *strides = builder_ints(call, "InputWindowStrides");
    (void)slot;
    copy(shape, builder_tensor(call, "InputTensor"));
    if (!per_dimension(call, "DimensionCount", shape->rank))
        return false;
    for (uint32_t i = 0; i < shape->rank; i++) {
        const int64_t stride = strides[i] < 0 ? -(int64_t)strides[i] : strides[i];
        if (!stride)
            return builder_refuse(call, "InputWindowStrides[%u] = 0, must not be 0", i);
        if (!sizes[i])
            return builder_refuse(call, "InputWindowSizes[%u] = 0, must be at least 1", i);
        shape->sizes[i] = (sizes[i] - 1) / stride + 1;
    }
    return true;
}

/* Parts without given sizes are equal. */
bool builder_shape_split(struct builder_call *call, uint32_t slot, struct builder_shape *shape)
{
    const uint32_t axis = builder_uint(call, "Axis");
    (void)slot;
    copy(shape, builder_tensor(call, "InputTensor"));
    if (!below_rank(call, "Axis", axis, shape->rank))
        return false;
    if (shape->sizes[axis] % call->output_count)
        return builder_refuse(call,
                              "OutputCount = %u, must divide InputTensor's Sizes[%u] (%lld) where outputs have "
                              "no sizes",
                              call->output_count, axis, (long long)shape->sizes[axis]);
    shape->sizes[axis] /= call->output_count;
    return true;
}

bool builder_shape_join(struct builder_call *call, uint32_t slot, struct builder_shape *shape)
{
    const uint32_t axis = builder_uint(call, "Axis");
    (void)slot;
    copy(shape, call->tensors[0].Desc);
    if (!below_rank(call, "Axis", axis, shape->rank))
        return false;
    for (uint32_t i = 1; i < call->input_count; i++) {
        const DML_BUFFER_TENSOR_DESC *part = call->tensors[i].Desc;
        if (part->DimensionCount != shape->rank)
            return builder_refuse(call, "InputTensors[%u]: DimensionCount = %u, must equal that of the first (%u)", i,
                                  part->DimensionCount, shape->rank);
        shape->sizes[axis] += part->Sizes[axis];
    }
    return true;
}

bool builder_shape_padding(struct builder_call *call, uint32_t slot, struct builder_shape *shape)
{
    const UINT *start = builder_uints(call, "StartPadding"), *end = builder_uints(call, "EndPadding");
    (void)slot;
    copy(shape, builder_tensor(call, "InputTensor"));
    if (!per_dimension(call, "DimensionCount", shape->rank))
        return false;
    for (uint32_t i = 0; i < shape->rank; i++)
        shape->sizes[i] += (int64_t)start[i] + end[i];
    return true;
}

bool builder_shape_tile(struct builder_call *call, uint32_t slot, struct builder_shape *shape)
{
    const UINT *repeats = builder_uints(call, "Repeats");
    (void)slot;
    copy(shape, builder_tensor(call, "InputTensor"));
    if (!per_dimension(call, "RepeatsCount", shape->rank))
        return false;
    for (uint32_t i = 0; i < shape->rank; i++)
        shape->sizes[i] = builder_times(shape->sizes[i], repeats[i]);
    return true;
}

static bool block(struct builder_call *call, struct builder_shape *shape, int64_t *size)
{
    *size = builder_uint(call, "BlockSize");
    copy(shape, builder_tensor(call, "InputTensor"));
    if (shape->rank != 4)
        return builder_refuse(call, "InputTensor: DimensionCount = %u, must be 4", shape->rank);
    return *size || builder_refuse(call, "BlockSize = 0, must be at least 1");
}

bool builder_shape_space_to_depth(struct builder_call *call, uint32_t slot, struct builder_shape *shape)
{
    int64_t size;
    (void)slot;
    if (!block(call, shape, &size))
        return false;
    shape->sizes[1] = builder_times(builder_times(shape->sizes[1], size), size);
    shape->sizes[2] /= size;
    shape->sizes[3] /= size;
    return true;
}

bool builder_shape_depth_to_space(struct builder_call *call, uint32_t slot, struct builder_shape *shape)
{
    int64_t size;
    (void)slot;
    if (!block(call, shape, &size))
        return false;
    shape->sizes[1] /= builder_times(size, size);
    shape->sizes[2] = builder_times(shape->sizes[2], size);
    shape->sizes[3] = builder_times(shape->sizes[3], size);
    return true;
}

/* ---- images ---- */

bool builder_shape_upsample(struct builder_call *call, uint32_t slot, struct builder_shape *shape)
{
    const DML_UPSAMPLE_2D_OPERATOR_DESC *desc = (const void *)call->desc.bytes;
    (void)slot;
    copy(shape, builder_tensor(call, "InputTensor"));
    if (shape->rank < 2)
        return builder_refuse(call, "InputTensor: DimensionCount = 1, must be 2 or more");
    shape->sizes[shape->rank - 2] = builder_times(shape->sizes[shape->rank - 2], desc->ScaleSize.Height);
    shape->sizes[shape->rank - 1] = builder_times(shape->sizes[shape->rank - 1], desc->ScaleSize.Width);
    return true;
}

bool builder_shape_resample(struct builder_call *call, uint32_t slot, struct builder_shape *shape)
{
    const FLOAT *scales = builder_floats(call, "Scales");
    (void)slot;
    if (!scales)
        return false;
    copy(shape, builder_tensor(call, "InputTensor"));
    if (!per_dimension(call, call->op->type == DML_OPERATOR_RESAMPLE ? "ScaleCount" : "DimensionCount", shape->rank))
        return false;
    for (uint32_t i = 0; i < shape->rank; i++) {
        const double size = (double)shape->sizes[i] * (double)scales[i];
        if (!(size > 0 && size < 4294967296.0))
            return builder_refuse(call, "Scales[%u] = %g, must be positive and lead to a size below 2^32", i,
                                  (double)scales[i]);
        shape->sizes[i] = size < 1 ? 1 : (int64_t)size;
    }
    return true;
}

bool builder_shape_roi_pooling(struct builder_call *call, uint32_t slot, struct builder_shape *shape)
{
    const DML_ROI_POOLING_OPERATOR_DESC *desc = (const void *)call->desc.bytes;
    const DML_BUFFER_TENSOR_DESC *x = builder_tensor(call, "InputTensor"), *roi = builder_tensor(call, "ROITensor");
    (void)slot;
    if (x->DimensionCount != 4 || roi->DimensionCount < 2)
        return builder_refuse(call, "InputTensor and ROITensor: DimensionCount = %u and %u, must be 4",
                              x->DimensionCount, roi->DimensionCount);
    shape->rank = 4;
    shape->sizes[0] = roi->Sizes[roi->DimensionCount - 2];
    shape->sizes[1] = x->Sizes[1];
    shape->sizes[2] = desc->PooledSize.Height;
    shape->sizes[3] = desc->PooledSize.Width;
    return true;
}

/* The size of the image's gradient is unknown unless the image is present. */
bool builder_shape_roi_align_grad(struct builder_call *call, uint32_t slot, struct builder_shape *shape)
{
    const DML_BUFFER_TENSOR_DESC *like = builder_tensor(call, slot ? "ROITensor" : "InputTensor");
    if (!like)
        return false;
    copy(shape, like);
    return true;
}

/* ---- indices ---- */

/* `count` sizes, extended by leading ones or shortened by leading sizes of 1 to the requested rank. */
static void align(struct builder_shape *shape, const int64_t *sizes, uint32_t count, uint32_t rank)
{
    while (count > rank && sizes[0] == 1) {
        sizes++;
        count--;
    }
    shape->rank = 0;
    for (uint32_t i = count; i < rank; i++)
        shape->sizes[shape->rank++] = 1;
    for (uint32_t i = 0; i < count && shape->rank < SCHEMA_MAX_RANK; i++)
        shape->sizes[shape->rank++] = sizes[i];
}

/* The input's sizes, with the axis replaced by the last IndexDimensions sizes of the indices. */
bool builder_shape_gather(struct builder_call *call, uint32_t slot, struct builder_shape *shape)
{
    const DML_BUFFER_TENSOR_DESC *x = builder_tensor(call, "InputTensor"), *at = builder_tensor(call, "IndicesTensor");
    const uint32_t axis = builder_uint(call, "Axis"), dimensions = builder_uint(call, "IndexDimensions");
    int64_t sizes[2 * SCHEMA_MAX_RANK];
    uint32_t count = 0;
    (void)slot;
    if (!below_rank(call, "Axis", axis, x->DimensionCount))
        return false;
    if (dimensions > at->DimensionCount)
        return builder_refuse(call, "IndexDimensions = %u, must be at most the rank of IndicesTensor (%u)", dimensions,
                              at->DimensionCount);
    for (uint32_t i = 0; i < axis; i++)
        sizes[count++] = x->Sizes[i];
    for (uint32_t i = at->DimensionCount - dimensions; i < at->DimensionCount; i++)
        sizes[count++] = at->Sizes[i];
    for (uint32_t i = axis + 1; i < x->DimensionCount; i++)
        sizes[count++] = x->Sizes[i];
    align(shape, sizes, count, x->DimensionCount);
    return true;
}

/* The indices' sizes without the last, which is the number of indexed input dimensions, followed by the remaining input
 * sizes.
 */
bool builder_shape_gather_nd(struct builder_call *call, uint32_t slot, struct builder_shape *shape)
{
    const DML_BUFFER_TENSOR_DESC *x = builder_tensor(call, "InputTensor"), *at = builder_tensor(call, "IndicesTensor");
    const uint32_t dimensions = builder_uint(call, "InputDimensionCount");
    const uint32_t index_dimensions = builder_uint(call, "IndicesDimensionCount");
    int64_t sizes[2 * SCHEMA_MAX_RANK];
    uint32_t count = 0;
    (void)slot;
    if (dimensions > x->DimensionCount || !index_dimensions || index_dimensions > at->DimensionCount)
        return builder_refuse(call,
                              "InputDimensionCount = %u and IndicesDimensionCount = %u, must be 1 to the ranks "
                              "(%u and %u)",
                              dimensions, index_dimensions, x->DimensionCount, at->DimensionCount);
    const uint64_t picked = (uint64_t)builder_uint(call, "BatchDimensionCount") + at->Sizes[at->DimensionCount - 1];
    if (picked > dimensions)
        return builder_refuse(call,
                              "IndicesTensor: Sizes[%u] = %u, must be at most InputDimensionCount less "
                              "BatchDimensionCount",
                              at->DimensionCount - 1, at->Sizes[at->DimensionCount - 1]);
    for (uint32_t i = at->DimensionCount - index_dimensions; i + 1 < at->DimensionCount; i++)
        sizes[count++] = at->Sizes[i];
    for (uint32_t i = x->DimensionCount - dimensions + (uint32_t)picked; i < x->DimensionCount; i++)
        sizes[count++] = x->Sizes[i];
    align(shape, sizes, count, x->DimensionCount);
    return true;
}

/* The count {1}; coordinates {elements, rank}, of which the first `count` are written. */
bool builder_shape_nonzero(struct builder_call *call, uint32_t slot, struct builder_shape *shape)
{
    const DML_BUFFER_TENSOR_DESC *x = builder_tensor(call, "InputTensor");
    shape->rank = slot ? 2 : 1;
    shape->sizes[0] = 1;
    for (uint32_t i = 0; slot && i < x->DimensionCount; i++)
        shape->sizes[0] *= x->Sizes[i];
    if (slot)
        shape->sizes[1] = x->DimensionCount;
    return true;
}

/* The caller chooses the number of values; the state has the input's sizes. */
bool builder_shape_random(struct builder_call *call, uint32_t slot, struct builder_shape *shape)
{
    if (!slot)
        return false;
    copy(shape, builder_tensor(call, "InputStateTensor"));
    return true;
}
