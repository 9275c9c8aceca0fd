/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/ir/view.h"

bool graph_view_from_desc(const DML_BUFFER_TENSOR_DESC *desc, struct kern_view *out)
{
    uint32_t strides[SCHEMA_MAX_RANK];
    if (!schema_data_type_bits(desc->DataType) || !desc->DimensionCount || desc->DimensionCount > KERN_RANK_MAX)
        return false;
    memset(out, 0, sizeof(*out));
    schema_tensor_strides(desc, strides);
    out->type = desc->DataType;
    out->rank = desc->DimensionCount;
    for (uint32_t i = 0; i < out->rank; i++) {
        out->sizes[i] = desc->Sizes[i];
        out->strides[i] = strides[i];
    }
    return true;
}

struct kern_view graph_view_broadcast(const struct kern_view *view, uint32_t rank, const uint32_t *sizes)
{
    struct kern_view out = { .type = view->type, .rank = rank, .offset = view->offset };
    for (uint32_t i = 0; i < rank; i++) {
        uint32_t missing = rank - BASE_MIN(view->rank, rank);
        bool repeat = i < missing || (view->sizes[i - missing] == 1 && sizes[i] != 1);
        out.sizes[i] = sizes[i];
        out.strides[i] = repeat ? 0 : view->strides[i - missing];
    }
    return out;
}

struct kern_view graph_view_permute(const struct kern_view *view, const uint32_t *order)
{
    struct kern_view out = *view;
    for (uint32_t i = 0; i < view->rank; i++) {
        out.sizes[i] = view->sizes[order[i]];
        out.strides[i] = view->strides[order[i]];
    }
    return out;
}

struct kern_view graph_view_slice(const struct kern_view *view, const uint32_t *start, const uint32_t *sizes,
                                  const int32_t *steps)
{
    struct kern_view out = *view;
    for (uint32_t i = 0; i < view->rank; i++) {
        out.offset += (int64_t)start[i] * view->strides[i];
        out.sizes[i] = sizes[i];
        out.strides[i] = view->strides[i] * (steps ? steps[i] : 1);
    }
    return out;
}

/* The view without its dimensions of size 1. */
static uint32_t drop_ones(const struct kern_view *view, uint64_t *sizes, int64_t *strides)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < view->rank; i++) {
        if (view->sizes[i] == 1)
            continue;
        sizes[count] = view->sizes[i];
        strides[count++] = view->strides[i];
    }
    return count;
}

bool graph_view_reshape(const struct kern_view *view, uint32_t rank, const uint32_t *sizes, struct kern_view *out)
{
    uint64_t old_sizes[KERN_RANK_MAX];
    int64_t old_strides[KERN_RANK_MAX];
    uint32_t old_rank = drop_ones(view, old_sizes, old_strides), o = 0, n = 0;
    struct kern_view result = { .type = view->type, .rank = rank, .offset = view->offset };
    memcpy(result.sizes, sizes, rank * sizeof(*sizes));
    if (kern_view_elements(view) != kern_view_elements(&result))
        return false;
    while (n < rank && o < old_rank) {
        uint32_t n_end = n + 1, o_end = o + 1;
        uint64_t n_product = sizes[n], o_product = old_sizes[o];
        while (n_product != o_product)
            if (n_product < o_product)
                n_product *= sizes[n_end++];
            else
                o_product *= old_sizes[o_end++];
        for (uint32_t i = o; i + 1 < o_end; i++)
            if (old_strides[i] != (int64_t)old_sizes[i + 1] * old_strides[i + 1])
                return false;
        int64_t stride = old_strides[o_end - 1];
        for (uint32_t i = n_end; i-- > n; stride *= sizes[i])
            result.strides[i] = stride;
        n = n_end;
        o = o_end;
    }
    for (; n < rank; n++) /* only sizes of 1 are left */
        result.strides[n] = 1;
    *out = result;
    return true;
}

bool graph_view_equal(const struct kern_view *a, const struct kern_view *b)
{
    if (a->type != b->type || a->rank != b->rank || a->offset != b->offset)
        return false;
    for (uint32_t i = 0; i < a->rank; i++)
        if (a->sizes[i] != b->sizes[i] || (a->sizes[i] > 1 && a->strides[i] != b->strides[i]))
            return false;
    return true;
}

bool graph_views_same_places(const struct kern_view *a, const struct kern_view *b)
{
    struct kern_view like_b = *a;
    like_b.type = b->type;
    return schema_data_type_bits(a->type) == schema_data_type_bits(b->type) && graph_view_equal(&like_b, b);
}

bool graph_view_bounds(const struct kern_view *view, int64_t *out_low, int64_t *out_high)
{
    int64_t low = view->offset, high = view->offset;
    for (uint32_t i = 0; i < view->rank; i++) {
        int64_t reach, *end = view->strides[i] < 0 ? &low : &high;
        if (__builtin_mul_overflow((int64_t)view->sizes[i] - 1, view->strides[i], &reach) ||
            __builtin_add_overflow(*end, reach, end))
            return false;
    }
    *out_low = low;
    *out_high = high;
    return true;
}

uint64_t graph_view_span_bytes(const struct kern_view *view)
{
    int64_t low, high;
    uint64_t bits;
    if (!graph_view_bounds(view, &low, &high) || high < 0 ||
        !base_mul_u64((uint64_t)high + 1, schema_data_type_bits(view->type), &bits) || bits > UINT64_MAX - 7)
        return UINT64_MAX;
    return (bits + 7) / 8;
}

int64_t graph_view_byte_offset(const struct kern_view *view)
{
    uint32_t bits = schema_data_type_bits(view->type);
    return bits >= 8 ? view->offset * (bits / 8) : view->offset / 2;
}

bool graph_view_follows(const struct kern_view *a, const struct kern_view *b, uint32_t d, int64_t *out_stride)
{
    const int64_t step = b->offset - a->offset;
    *out_stride = a->sizes[d] > 1 ? a->strides[d] : b->sizes[d] > 1 ? b->strides[d] : step;
    if (a->type != b->type || a->rank != b->rank || step != *out_stride * (int64_t)a->sizes[d] ||
        (b->sizes[d] > 1 && b->strides[d] != *out_stride))
        return false;
    for (uint32_t i = 0; i < a->rank; i++)
        if (i != d && (a->sizes[i] != b->sizes[i] || (a->sizes[i] > 1 && a->strides[i] != b->strides[i])))
            return false;
    return true;
}
