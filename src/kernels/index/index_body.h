/* SPDX-License-Identifier: Apache-2.0 */
/* Looking up indices a block at a time, for the instruction set of the including file. */
#ifndef KERNELS_INDEX_BODY_H
#define KERNELS_INDEX_BODY_H

#include "kernels/index/index.h"

/* Dimension t of the tuples. Inlined with constant types and a constant stride of 1. */
DENSE_INLINE void index_clamp_row(const struct index_lookup *lookup, uint32_t t, DML_TENSOR_DATA_TYPE type,
                                  const void *from, int64_t stride, uint32_t count, int64_t *out)
{
    const int64_t size = lookup->sizes[t], step = lookup->strides[t];
    if (t == 0)
        for (uint32_t i = 0; i < count; i++)
            out[i] = index_clamp(index_load(from, (int64_t)i * stride, type, size), size) * step;
    else
        for (uint32_t i = 0; i < count; i++)
            out[i] += index_clamp(index_load(from, (int64_t)i * stride, type, size), size) * step;
}

/* `places` holds the place so far, UINT64_MAX = out of range. */
DENSE_INLINE void index_check_row(const struct index_lookup *lookup, uint32_t t, DML_TENSOR_DATA_TYPE type,
                                  const void *from, int64_t stride, uint32_t count, uint64_t *places, int64_t *out)
{
    const int64_t size = lookup->sizes[t], step = lookup->strides[t];
    for (uint32_t i = 0; i < count; i++) {
        int64_t index = index_load(from, (int64_t)i * stride, type, size);
        bool inside = (uint64_t)index < (uint64_t)size && places[i] != UINT64_MAX;
        out[i] += inside ? index * step : 0;
        places[i] = inside ? places[i] * (uint64_t)size + (uint64_t)index : UINT64_MAX;
    }
}

/* A row function for the type and stride at hand: `call` sees them as constants. */
#define INDEX_DISPATCH(type, stride, call)                                                                             \
    switch (type) {                                                                                                    \
    case DML_TENSOR_DATA_TYPE_UINT32:                                                                                  \
        (stride) == 1 ? call(DML_TENSOR_DATA_TYPE_UINT32, 1) : call(DML_TENSOR_DATA_TYPE_UINT32, stride);              \
        break;                                                                                                         \
    case DML_TENSOR_DATA_TYPE_INT32:                                                                                   \
        (stride) == 1 ? call(DML_TENSOR_DATA_TYPE_INT32, 1) : call(DML_TENSOR_DATA_TYPE_INT32, stride);                \
        break;                                                                                                         \
    case DML_TENSOR_DATA_TYPE_UINT64:                                                                                  \
        (stride) == 1 ? call(DML_TENSOR_DATA_TYPE_UINT64, 1) : call(DML_TENSOR_DATA_TYPE_UINT64, stride);              \
        break;                                                                                                         \
    default:                                                                                                           \
        (stride) == 1 ? call(DML_TENSOR_DATA_TYPE_INT64, 1) : call(DML_TENSOR_DATA_TYPE_INT64, stride);                \
        break;                                                                                                         \
    }

static inline const void *index_tuple_element(const struct index_lookup *lookup, const void *indices, int64_t first,
                                              uint32_t t)
{
    int64_t offset = first + (int64_t)t * lookup->tuple_stride;
    return (const char *)indices + offset * (int64_t)kern_type_bytes(lookup->type);
}

/* Offsets in elements for `count` (at most INDEX_BLOCK) tuples, the first at `first`, `stride` apart; what is out of
 * range is clamped. */
static inline void index_clamped(const struct index_lookup *lookup, const void *indices, int64_t first, int64_t stride,
                                 uint32_t count, int64_t *out_offsets)
{
    for (uint32_t t = 0; t < lookup->tuple; t++) {
        const void *from = index_tuple_element(lookup, indices, first, t);
#define CLAMP(type, step) index_clamp_row(lookup, t, type, from, step, count, out_offsets)
        INDEX_DISPATCH(lookup->type, stride, CLAMP)
#undef CLAMP
    }
}

/* The same, but INDEX_OUT for what is out of range, and for what leads to a place outside [begin, end): places are
 * counted row-major over the indexed dimensions. */
static inline void index_checked(const struct index_lookup *lookup, const void *indices, int64_t first, int64_t stride,
                                 uint32_t count, uint64_t begin, uint64_t end, int64_t *out_offsets)
{
    uint64_t places[INDEX_BLOCK];
    memset(places, 0, count * sizeof(*places));
    memset(out_offsets, 0, count * sizeof(*out_offsets));
    for (uint32_t t = 0; t < lookup->tuple; t++) {
        const void *from = index_tuple_element(lookup, indices, first, t);
#define CHECK(type, step) index_check_row(lookup, t, type, from, step, count, places, out_offsets)
        INDEX_DISPATCH(lookup->type, stride, CHECK)
#undef CHECK
    }
    for (uint32_t i = 0; i < count; i++)
        out_offsets[i] = places[i] - begin < end - begin ? out_offsets[i] : INDEX_OUT;
}

#endif
