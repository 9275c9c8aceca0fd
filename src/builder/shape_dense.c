/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes of convolutions, pooling, GEMMs, attention and recurrent operators. */
#include "builder/builder.h"

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
    w.sizes = w.sizes ? w.sizes : builder_uints(call, "WindowSizes");
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
    const bool unfold = call->op->type == DML_OPERATOR_UNFOLD;
    if (!w->count || (unfold ? w->count >= w->input->DimensionCount : w->count + 2 != w->input->DimensionCount))
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

bool builder_shape_convolution(struct builder_call *call, uint32_t slot, struct builder_shape *shape)
{
    const DML_BUFFER_TENSOR_DESC *filter = builder_tensor(call, "FilterTensor");
    struct windows w = windows_of(call, builder_tensor(call, "InputTensor"));
    (void)slot;
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

bool builder_shape_pooling(struct builder_call *call, uint32_t slot, struct builder_shape *shape)
{
    const struct windows w = windows_of(call, builder_tensor(call, "InputTensor"));
    (void)slot;
    if (w.input->DimensionCount < 3)
        return builder_refuse(call, "InputTensor: DimensionCount = %u, must be 3 or more", w.input->DimensionCount);
    begin(&w, w.input->Sizes[1], shape);
    return forward(call, &w, shape->sizes + 2);
}

bool builder_shape_pooling_grad(struct builder_call *call, uint32_t slot, struct builder_shape *shape)
{
    const struct windows w = windows_of(call, builder_tensor(call, "InputGradientTensor"));
    (void)slot;
    if (w.input->DimensionCount < 3)
        return builder_refuse(call, "InputGradientTensor: DimensionCount = %u, must be 3 or more",
                              w.input->DimensionCount);
    begin(&w, w.input->Sizes[1], shape);
    return backward(call, &w, shape->sizes + 2);
}

/* {batch..., channels * window, windows} of {batch..., channels, spatial...}. */
bool builder_shape_unfold(struct builder_call *call, uint32_t slot, struct builder_shape *shape)
{
    const struct windows w = windows_of(call, builder_tensor(call, "InputTensor"));
    int64_t count[SCHEMA_MAX_RANK], windows = 1, elements = 1;
    (void)slot;
    if (w.count >= w.input->DimensionCount)
        return builder_refuse(call, "DimensionCount = %u, must be below the rank of InputTensor (%u)", w.count,
                              w.input->DimensionCount);
    if (!forward(call, &w, count))
        return false;
    for (uint32_t i = 0; i < w.count; i++) {
        windows = builder_times(windows, count[i]);
        elements = builder_times(elements, w.sizes[i]);
    }
    const uint32_t before = w.input->DimensionCount - w.count - 1;
    shape->rank = before + 2;
    for (uint32_t i = 0; i < before; i++)
        shape->sizes[i] = w.input->Sizes[i];
    shape->sizes[before] = builder_times(w.input->Sizes[before], elements);
    shape->sizes[before + 1] = windows;
    return true;
}

bool builder_shape_product(struct builder_call *call, uint32_t slot, struct builder_shape *shape)
{
    const DML_BUFFER_TENSOR_DESC *a = builder_tensor(call, "ATensor"), *b = builder_tensor(call, "BTensor");
    const uint32_t rank = a->DimensionCount;
    (void)slot;
    if (rank < 2 || b->DimensionCount != rank)
        return builder_refuse(call, "BTensor: DimensionCount = %u, must equal that of ATensor (%u) and be 2 or more",
                              b->DimensionCount, rank);
    shape->rank = rank;
    for (uint32_t i = 0; i < rank; i++)
        shape->sizes[i] = a->Sizes[i];
    shape->sizes[rank - 2] = a->Sizes[rank - (builder_uint(call, "TransA") ? 1 : 2)];
    shape->sizes[rank - 1] = b->Sizes[rank - (builder_uint(call, "TransB") ? 2 : 1)];
    return true;
}

/* ---- attention ---- */

/* The size `back` dimensions before the end; 0 if the tensor is absent or has fewer. */
static int64_t size_at(const DML_BUFFER_TENSOR_DESC *tensor, uint32_t back)
{
    return tensor && tensor->DimensionCount >= back ? tensor->Sizes[tensor->DimensionCount - back] : 0;
}

/* The same rules as validation (shape_attention.c), without leading ones. */
bool builder_shape_attention(struct builder_call *call, uint32_t slot, struct builder_shape *shape)
{
    const DML_BUFFER_TENSOR_DESC *query = builder_tensor(call, "QueryTensor");
    const DML_BUFFER_TENSOR_DESC *key = builder_tensor(call, "KeyTensor");
    const DML_BUFFER_TENSOR_DESC *value = builder_tensor(call, "ValueTensor");
    const DML_BUFFER_TENSOR_DESC *key_value = builder_tensor(call, "StackedKeyValueTensor");
    const DML_BUFFER_TENSOR_DESC *all = builder_tensor(call, "StackedQueryKeyValueTensor");
    const DML_BUFFER_TENSOR_DESC *past_key = builder_tensor(call, "PastKeyTensor");
    const DML_BUFFER_TENSOR_DESC *past_value = builder_tensor(call, "PastValueTensor");
    const DML_BUFFER_TENSOR_DESC *stacked = builder_tensor(call, "StackedQueryKeyTensor");
    stacked = stacked ? stacked : all;
    const bool grouped = schema_field_find(call->op, "KeyValueHeadCount");
    const int64_t heads = builder_uint(call, grouped ? "QueryHeadCount" : "HeadCount");
    const int64_t key_heads = builder_uint(call, grouped ? "KeyValueHeadCount" : "HeadCount");
    if (!heads || !key_heads)
        return builder_refuse(call, "HeadCount = 0, must be at least 1");
    if (!query && !stacked)
        return builder_refuse(call, "QueryTensor: NULL, must be given if there is no stacked query");
    if (slot && builder_tensor(call, "PastSequenceLengthsTensor"))
        return false; /* the caller chooses the length of the caches */
    const int64_t batch = size_at(query ? query : stacked, query ? 3 : 5);
    const int64_t sequence = size_at(query ? query : stacked, query ? 2 : 4);
    const int64_t head_size = query ? size_at(query, 1) / heads : size_at(stacked, 1);
    int64_t value_size = value ? size_at(value, 1) / key_heads : head_size;
    if (!value && !key_value && !all && past_value)
        value_size = size_at(past_value, 1);
    if (!slot) {
        shape->rank = query ? query->DimensionCount : 3;
        for (uint32_t i = 0; i + 3 < shape->rank; i++)
            shape->sizes[i] = 1;
        shape->sizes[shape->rank - 3] = batch;
        shape->sizes[shape->rank - 2] = sequence;
        shape->sizes[shape->rank - 1] = builder_times(heads, value_size);
        return true;
    }
    int64_t keys = key ? size_at(key, 2) : key_value ? size_at(key_value, 4) : query ? 0 : sequence;
    shape->rank = 4;
    shape->sizes[0] = batch;
    shape->sizes[1] = key_heads;
    shape->sizes[2] = keys + size_at(past_key, 2);
    shape->sizes[3] = slot == 1 ? head_size : value_size;
    return true;
}

/* ---- recurrent operators: sequence {T, D, B, H}, states {1, D, B, H} ---- */

bool builder_shape_recurrent(struct builder_call *call, uint32_t slot, struct builder_shape *shape)
{
    const DML_BUFFER_TENSOR_DESC *x = builder_tensor(call, "InputTensor");
    const DML_BUFFER_TENSOR_DESC *r = builder_tensor(call, "RecurrenceTensor");
    if (x->DimensionCount != 4 || r->DimensionCount != 4)
        return builder_refuse(call, "InputTensor and RecurrenceTensor: DimensionCount = %u and %u, must be 4",
                              x->DimensionCount, r->DimensionCount);
    shape->rank = 4;
    shape->sizes[0] = slot ? 1 : x->Sizes[1];
    shape->sizes[1] = builder_uint(call, "Direction") == DML_RECURRENT_NETWORK_DIRECTION_BIDIRECTIONAL ? 2 : 1;
    shape->sizes[2] = x->Sizes[2];
    shape->sizes[3] = r->Sizes[3];
    return true;
}
