/* SPDX-License-Identifier: Apache-2.0 */
/* Indices as data: what gather and scatter share. An index is UINT32, INT32, UINT64 or INT64; negative ones count from
 * the end. Nothing that an index says leads outside the tensor it points into. */
#ifndef KERNELS_INDEX_H
#define KERNELS_INDEX_H

#include "kernels/core/dense.h"

#define INDEX_BLOCK 256 /* lookups done together */
#define INDEX_OUT   INT64_MIN

/* Where tuples of indices lead: one dimension of the indexed tensor per element of a tuple. */
struct index_lookup {
    DML_TENSOR_DATA_TYPE type;
    uint32_t tuple;                 /* length, at most KERN_RANK_MAX */
    int64_t tuple_stride;           /* between the elements of one tuple */
    int64_t sizes[KERN_RANK_MAX];   /* of the indexed dimensions */
    int64_t strides[KERN_RANK_MAX]; /* likewise, in elements */
};

bool index_type(DML_TENSOR_DATA_TYPE type);

/* A negative index from the end; the result is below 0 or not below `size` when it is out of range. */
DENSE_INLINE int64_t index_load(const void *indices, int64_t at, DML_TENSOR_DATA_TYPE type, int64_t size)
{
    int64_t value;
    switch (type) {
    case DML_TENSOR_DATA_TYPE_UINT32:
        return ((const uint32_t *)indices)[at];
    case DML_TENSOR_DATA_TYPE_UINT64:
        value = ((const int64_t *)indices)[at];
        return value < 0 ? INT64_MAX : value;
    case DML_TENSOR_DATA_TYPE_INT32:
        value = ((const int32_t *)indices)[at];
        return value < 0 ? value + size : value;
    default:
        value = ((const int64_t *)indices)[at];
        return value < 0 ? value + size : value;
    }
}

DENSE_INLINE int64_t index_clamp(int64_t index, int64_t size)
{
    index = index < 0 ? 0 : index;
    return index < size ? index : size - 1;
}

/* One index into `size` elements; clamped, or -1 when it is out of range. */
int64_t index_clamp_at(DML_TENSOR_DATA_TYPE type, const void *indices, int64_t offset, int64_t size);
int64_t index_check_at(DML_TENSOR_DATA_TYPE type, const void *indices, int64_t offset, int64_t size);

/* Indices below this, as unsigned numbers, are in range and mean what they say; 0 for tuples of several. Most data is
 * like that: it is worth trying before the functions below. */
uint64_t index_plain_limit(const struct index_lookup *lookup);

#endif
