/* SPDX-License-Identifier: Apache-2.0 */
/* Looking up indices a block at a time, for the instruction set of the including file. */
#ifndef KERNELS_INDEX_BODY_H
#define KERNELS_INDEX_BODY_H

#include "kernels/index/index.h"

/* Dimension t of the tuples, with constant types and a constant stride of 1. `places` (NULL: clamps) holds the place so
 * far, UINT64_MAX = out of range. */
DENSE_INLINE void index_row(const struct index_lookup *lookup, uint32_t t, DML_TENSOR_DATA_TYPE type, const void *from,
                            int64_t stride, uint32_t count, int64_t *out, uint64_t *places)
{
    const int64_t size = lookup->sizes[t], step = lookup->strides[t];
    for (uint32_t i = 0; i < count; i++) {
        const int64_t index = index_load(from, (int64_t)i * stride, type, size);
        if (!places) {
            out[i] += index_clamp(index, size) * step;
            continue;
        }
        const bool inside = (uint64_t)index < (uint64_t)size && places[i] != UINT64_MAX;
        out[i] += inside ? index * step : 0;
        places[i] = inside ? places[i] * (uint64_t)size + (uint64_t)index : UINT64_MAX;
    }
}

#define INDEX_ROW(constant)                                                                                            \
    case constant:                                                                                                     \
        if (stride == 1)                                                                                               \
            index_row(lookup, t, constant, from, 1, count, out, places);                                               \
        else                                                                                                           \
            index_row(lookup, t, constant, from, stride, count, out, places);                                          \
        break;

DENSE_INLINE void index_rows(const struct index_lookup *lookup, const void *indices, int64_t first, int64_t stride,
                             uint32_t count, int64_t *out, uint64_t *places)
{
    memset(out, 0, count * sizeof(*out));
    for (uint32_t t = 0; t < lookup->tuple; t++) {
        const int64_t offset = first + (int64_t)t * lookup->tuple_stride;
        const void *from = (const char *)indices + offset * (int64_t)kern_type_bytes(lookup->type);
        switch ((uint32_t)lookup->type) {
            INDEX_ROW(DML_TENSOR_DATA_TYPE_UINT32)
            INDEX_ROW(DML_TENSOR_DATA_TYPE_INT32)
            INDEX_ROW(DML_TENSOR_DATA_TYPE_UINT64)
            INDEX_ROW(DML_TENSOR_DATA_TYPE_INT64)
        }
    }
}

/* Offsets in elements for `count` (at most INDEX_BLOCK) tuples, the first at `first`, `stride` apart; what is out of
 * range is clamped. */
static inline void index_clamped(const struct index_lookup *lookup, const void *indices, int64_t first, int64_t stride,
                                 uint32_t count, int64_t *out_offsets)
{
    index_rows(lookup, indices, first, stride, count, out_offsets, NULL);
}

/* The same, but INDEX_OUT for what is out of range, and for what leads to a place outside [begin, end): places are
 * counted row-major over the indexed dimensions. */
static inline void index_checked(const struct index_lookup *lookup, const void *indices, int64_t first, int64_t stride,
                                 uint32_t count, uint64_t begin, uint64_t end, int64_t *out_offsets)
{
    uint64_t places[INDEX_BLOCK];
    memset(places, 0, count * sizeof(*places));
    index_rows(lookup, indices, first, stride, count, out_offsets, places);
    for (uint32_t i = 0; i < count; i++)
        out_offsets[i] = places[i] - begin < end - begin ? out_offsets[i] : INDEX_OUT;
}

/* CALL(element, index) with unsigned types of these sizes. */
#define INDEX_BY_SIZES(bytes, index_bytes, CALL)                                                                       \
    switch ((bytes)*16 + (index_bytes)) {                                                                              \
    case 0x14:                                                                                                         \
        CALL(uint8_t, uint32_t)                                                                                        \
    case 0x18:                                                                                                         \
        CALL(uint8_t, uint64_t)                                                                                        \
    case 0x24:                                                                                                         \
        CALL(uint16_t, uint32_t)                                                                                       \
    case 0x28:                                                                                                         \
        CALL(uint16_t, uint64_t)                                                                                       \
    case 0x44:                                                                                                         \
        CALL(uint32_t, uint32_t)                                                                                       \
    case 0x48:                                                                                                         \
        CALL(uint32_t, uint64_t)                                                                                       \
    case 0x84:                                                                                                         \
        CALL(uint64_t, uint32_t)                                                                                       \
    default:                                                                                                           \
        CALL(uint64_t, uint64_t)                                                                                       \
    }

#endif
