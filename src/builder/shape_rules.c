/* SPDX-License-Identifier: Apache-2.0 */
/* Default sizes where validation leaves a choice: of windows, parts and scaled images. */
#include "builder/builder.h"

/* ---- windows ---- */

/* The windows over the last `count` dimensions of a tensor. Arrays may be NULL: strides and dilations of 1, no
 * padding. */
struct windows {
    const DML_BUFFER_TENSOR_DESC *input;
    uint32_t count;
    const UINT *sizes, *strides, *dilations, *start, *end, *more;
};

static struct windows windows_of(const struct builder_call *call, const DML_BUFFER_TENSOR_DESC *input)
{
    struct windows w = { .input = input, .count = builder_uint(call, "DimensionCount") };
    w.sizes = builder_uints(call, "WindowSize");
    w.strides = builder_uints(call, "Strides");
    w.dilations = builder_uints(call, "Dilations");
    w.start = builder_uints(call, "StartPadding");
    w.end = builder_uints(call, "EndPadding");
    w.more = builder_uints(call, "OutputPadding");
    return w;
}

/* Rejects lengths and windows that would overflow; validation reports other errors. */
static bool windows_allowed(struct builder_call *call, const struct windows *w)
{
    if (!w->count || w->count + 2 != w->input->DimensionCount)
        return builder_refuse(call, "DimensionCount = %u, must be the number of spatial dimensions", w->count);
    if (!w->sizes)
        return builder_refuse(call, "WindowSize: NULL, must be given");
    for (uint32_t i = 0; i < w->count; i++) {
        if (!w->sizes[i])
            return builder_refuse(call, "WindowSize[%u] = 0, must be at least 1", i);
        if (w->strides && !w->strides[i])
            return builder_refuse(call, "Strides[%u] = 0, must be at least 1", i);
        if (w->dilations && !w->dilations[i])
            return builder_refuse(call, "Dilations[%u] = 0, must be at least 1", i);
    }
    return true;
}

static int64_t extent(const struct windows *w, uint32_t i)
{
    return builder_times(w->sizes[i] - INT64_C(1), w->dilations ? w->dilations[i] : 1) + 1;
}

static int64_t padding(const struct windows *w, uint32_t i)
{
    return (int64_t)(w->start ? w->start[i] : 0) + (w->end ? w->end[i] : 0);
}

/* How many windows fit. */
static bool forward(struct builder_call *call, const struct windows *w, int64_t *out)
{
    const UINT *sizes = w->input->Sizes + w->input->DimensionCount - w->count;
    if (!windows_allowed(call, w))
        return false;
    for (uint32_t i = 0; i < w->count; i++) {
        const int64_t room = sizes[i] + padding(w, i);
        if (extent(w, i) > room)
            return builder_refuse(call,
                                  "the window of %lld elements in spatial dimension %u must fit into the padded "
                                  "input (%lld)",
                                  (long long)extent(w, i), i, (long long)room);
        out[i] = (room - extent(w, i)) / (w->strides ? w->strides[i] : 1) + 1;
    }
    return true;
}

/* The sizes for which the number of windows equals the input's elements. */
static bool backward(struct builder_call *call, const struct windows *w, int64_t *out)
{
    const UINT *sizes = w->input->Sizes + w->input->DimensionCount - w->count;
    if (!windows_allowed(call, w))
        return false;
    for (uint32_t i = 0; i < w->count; i++)
        out[i] = builder_times(sizes[i] - INT64_C(1), w->strides ? w->strides[i] : 1) + extent(w, i) - padding(w, i) +
                 (w->more ? w->more[i] : 0);
    return true;
}

static void begin(const struct windows *w, int64_t channels, struct builder_shape *shape)
{
    shape->rank = w->input->DimensionCount;
    shape->sizes[0] = w->input->Sizes[0];
    shape->sizes[1] = channels;
}

bool builder_shape_convolution(struct builder_call *call, struct builder_shape *shape)
{
    const DML_BUFFER_TENSOR_DESC *filter = builder_tensor(call, "FilterTensor");
    struct windows w = windows_of(call, builder_tensor(call, "InputTensor"));
    if (filter->DimensionCount != w.input->DimensionCount || filter->DimensionCount < 3)
        return builder_refuse(call,
                              "FilterTensor: DimensionCount = %u, must equal that of InputTensor (%u) and be 3 "
                              "or more",
                              filter->DimensionCount, w.input->DimensionCount);
    w.sizes = filter->Sizes + 2;
    if (builder_uint(call, "Direction") == DML_CONVOLUTION_DIRECTION_BACKWARD) {
        begin(&w, builder_times(filter->Sizes[1], builder_uint(call, "GroupCount")), shape);
        return backward(call, &w, shape->sizes + 2);
    }
    begin(&w, filter->Sizes[0], shape);
    return forward(call, &w, shape->sizes + 2);
}

bool builder_shape_pooling(struct builder_call *call, struct builder_shape *shape)
{
    const struct windows w = windows_of(call, builder_tensor(call, "InputTensor"));
    if (w.input->DimensionCount < 3)
        return builder_refuse(call, "InputTensor: DimensionCount = %u, must be 3 or more", w.input->DimensionCount);
    begin(&w, w.input->Sizes[1], shape);
    return forward(call, &w, shape->sizes + 2);
}

bool builder_shape_pooling_grad(struct builder_call *call, struct builder_shape *shape)
{
    const struct windows w = windows_of(call, builder_tensor(call, "InputGradientTensor"));
    if (w.input->DimensionCount < 3)
        return builder_refuse(call, "InputGradientTensor: DimensionCount = %u, must be 3 or more",
                              w.input->DimensionCount);
    begin(&w, w.input->Sizes[1], shape);
    return backward(call, &w, shape->sizes + 2);
}

static void copy(struct builder_shape *shape, const DML_BUFFER_TENSOR_DESC *like)
{
    shape->rank = like->DimensionCount;
    for (uint32_t i = 0; i < shape->rank; i++)
        shape->sizes[i] = like->Sizes[i];
}

/* Lists with one number for each dimension are as long as the rank, or the builder may not read them. */
static bool per_dimension(struct builder_call *call, const char *field, uint32_t rank)
{
    const uint32_t length = builder_uint(call, field);
    return length == rank || builder_refuse(call, "%s = %u, must equal the rank (%u)", field, length, rank);
}

/* ---- parts ---- */

/* Sizes of SLICE1 are those of a window in the input, in which strides select elements. */
bool builder_shape_slice1(struct builder_call *call, struct builder_shape *shape)
{
    const UINT *sizes = builder_uints(call, "InputWindowSizes");
    const INT *strides = builder_ints(call, "InputWindowStrides");
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
bool builder_shape_split(struct builder_call *call, struct builder_shape *shape)
{
    const uint32_t axis = builder_uint(call, "Axis");
    copy(shape, builder_tensor(call, "InputTensor"));
    if (axis >= shape->rank)
        return builder_refuse(call, "Axis = %u, must be below the rank (%u)", axis, shape->rank);
    if (shape->sizes[axis] % call->output_count)
        return builder_refuse(call,
                              "OutputCount = %u, must divide InputTensor's Sizes[%u] (%lld) where outputs have "
                              "no sizes",
                              call->output_count, axis, (long long)shape->sizes[axis]);
    shape->sizes[axis] /= call->output_count;
    return true;
}

/* ---- images ---- */

bool builder_shape_resample(struct builder_call *call, struct builder_shape *shape)
{
    const FLOAT *scales = builder_floats(call, "Scales");
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
