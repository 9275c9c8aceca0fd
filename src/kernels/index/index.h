/* SPDX-License-Identifier: Apache-2.0 */
/* Indices as data: what gather and scatter share. An index is UINT32, INT32, UINT64 or INT64; negative ones count from
 * the end. Nothing that an index says leads outside the tensor it points into. */
#ifndef KERNELS_INDEX_H
#define KERNELS_INDEX_H

#include "kernels/core/dense.h"
#include "kernels/core/iterator.h"

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

DENSE_INLINE bool index_type(DML_TENSOR_DATA_TYPE type)
{
    return type == DML_TENSOR_DATA_TYPE_INT32 || type == DML_TENSOR_DATA_TYPE_UINT32 ||
           type == DML_TENSOR_DATA_TYPE_INT64 || type == DML_TENSOR_DATA_TYPE_UINT64;
}

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
    default:
        value = type == DML_TENSOR_DATA_TYPE_INT32 ? ((const int32_t *)indices)[at] : ((const int64_t *)indices)[at];
        return value < 0 ? value + size : value;
    }
}

DENSE_INLINE int64_t index_clamp(int64_t index, int64_t size)
{
    index = index < 0 ? 0 : index;
    return index < size ? index : size - 1;
}

/* The tuples lead into `into` from dimension `first` on: `nd` ones are as long as the indices' last dimension, others
 * have one element. */
void index_lookup_init(struct index_lookup *lookup, const struct kern_view *index, const struct kern_view *into,
                       uint32_t first, bool nd);

/* Indices below this, as unsigned numbers, are in range and mean what they say; 0 for tuples of several. Most data is
 * like that: it is worth trying before the functions of index_body.h. */
DENSE_INLINE uint64_t index_plain_limit(const struct index_lookup *lookup)
{
    uint64_t size = (uint64_t)lookup->sizes[0];
    if (lookup->tuple != 1)
        return 0;
    return lookup->type == DML_TENSOR_DATA_TYPE_INT32 ? BASE_MIN(size, UINT64_C(1) << 31) : size;
}

struct gather_plan {
    struct kern_iterator iterator; /* lookups; view 0 = Y, 1 = X, 2 = indices */
    struct index_lookup lookup;
    uint32_t bytes;
    uint64_t run; /* elements that one lookup gives */
    int64_t y_step, x_step;
    bool non_temporal; /* runs go past the caches */
    uint64_t pieces;   /* that a run is cut in, so that few long ones keep all threads busy */
};
void gather_plan_init(struct gather_plan *plan, const struct kern_op *op);

enum { SCATTER_FREE_Y, SCATTER_FREE_X, SCATTER_FREE_UPDATES, SCATTER_FREE_INDICES, SCATTER_FREE_VIEWS };
enum { SCATTER_PICK_INDICES, SCATTER_PICK_UPDATES };

struct scatter_plan {
    struct kern_iterator free, places, picks;
    struct index_lookup lookup;   /* offsets in Y */
    uint32_t bytes, update_bytes; /* of an element */
    bool combine;                 /* there is a reduction */
    uint64_t row;                 /* elements along free's last dimension */
    uint64_t block;               /* at most so many of them are treated together */
    uint64_t blocks;              /* in a row */
    bool along_free;              /* lookups go along the block, not along the picks */
};
void scatter_plan_init(struct scatter_plan *plan, const struct kern_op *op);

#endif
