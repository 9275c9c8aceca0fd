/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by gather and scatter: indices as data. An index is UINT32, INT32, UINT64 or INT64; negative ones count from
 * the end. Indices never address memory outside of the indexed tensor. */
#ifndef KERNELS_INDEX_H
#define KERNELS_INDEX_H

#include "kernels/core/dense.h"
#include "kernels/core/iterator.h"

#define INDEX_BLOCK 256 /* lookups done together */
#define INDEX_OUT   INT64_MIN

/* Tuples of indices: one dimension of the indexed tensor per element of a tuple. */
struct index_lookup {
    DML_TENSOR_DATA_TYPE type;
    uint32_t tuple;                 /* length, at most KERN_RANK_MAX */
    int64_t tuple_stride;           /* between the elements of one tuple */
    int64_t sizes[KERN_RANK_MAX];   /* of the indexed dimensions */
    int64_t strides[KERN_RANK_MAX]; /* likewise, in elements */
};

/* `count` runs of elements, at most INDEX_BLOCK, whose positions on one side are given by indices; strides in
 * elements. */
struct index_block {
    char *to;
    const char *from;
    int64_t to_row, from_row; /* to the next run, in addition to the index */
    const void *indices;
    int64_t first, stride; /* of the indices */
    uint32_t count;
};

/* The rest of a block after the first runs; elements have `bytes` bytes on both sides. */
DENSE_INLINE struct index_block index_block_rest(const struct index_block *b, uint32_t bytes, uint32_t done)
{
    struct index_block rest = *b;
    rest.to += (int64_t)done * b->to_row * bytes;
    rest.from += (int64_t)done * b->from_row * bytes;
    rest.first += (int64_t)done * b->stride;
    rest.count -= done;
    return rest;
}

DENSE_INLINE bool index_type(DML_TENSOR_DATA_TYPE type)
{
    return type == DML_TENSOR_DATA_TYPE_INT32 || type == DML_TENSOR_DATA_TYPE_UINT32 ||
           type == DML_TENSOR_DATA_TYPE_INT64 || type == DML_TENSOR_DATA_TYPE_UINT64;
}

/* Resolves a negative index; the result is below 0 or not below `size` if it is out of range. */
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

/* Tuples lead into `into` from dimension `first` on; they are as long as the indices' last dimension (nd), or 1. */
void index_lookup_init(struct index_lookup *lookup, const struct kern_view *index, const struct kern_view *into,
                       uint32_t first, bool nd);

/* Indices below this, as unsigned numbers, are in range and need no resolution; 0 for tuples of several. Most data is
 * like that: test it before using index_rows and index_checked. */
DENSE_INLINE uint64_t index_plain_limit(const struct index_lookup *lookup)
{
    uint64_t size = (uint64_t)lookup->sizes[0];
    if (lookup->tuple != 1)
        return 0;
    return lookup->type == DML_TENSOR_DATA_TYPE_INT32 ? BASE_MIN(size, UINT64_C(1) << 31) : size;
}

/* Dimension t of the tuples is combined with those before it, with constant types and constant strides of 1 and 2.
 * `places` (NULL: clamps) holds the position so far, UINT64_MAX = out of range. */
DENSE_INLINE void index_row(const struct index_lookup *lookup, uint32_t t, DML_TENSOR_DATA_TYPE type,
                            const struct index_block *b, int64_t stride, int64_t *out, uint64_t *places)
{
    const int64_t size = lookup->sizes[t], step = lookup->strides[t], first = b->first + t * lookup->tuple_stride;
    const void *from = (const char *)b->indices + first * (int64_t)kern_type_bytes(type);
    const uint32_t count = b->count;
    for (uint32_t i = 0; i < count; i++) {
        const int64_t index = index_load(from, (int64_t)i * stride, type, size), before = t ? out[i] : 0;
        if (!places) {
            out[i] = before + index_clamp(index, size) * step;
            continue;
        }
        const uint64_t place = t ? places[i] : 0;
        const uint64_t outside = -(uint64_t)((uint64_t)index >= (uint64_t)size || place == UINT64_MAX); /* no branch */
        out[i] = before + (int64_t)((uint64_t)index * (uint64_t)step & ~outside);
        places[i] = (place * (uint64_t)size + (uint64_t)index) | outside;
    }
}

#define INDEX_ROW(constant)                                                                                            \
    case constant:                                                                                                     \
        if (b->stride == 1)                                                                                            \
            index_row(lookup, t, constant, b, 1, out, places);                                                         \
        else if (b->stride == 2)                                                                                       \
            index_row(lookup, t, constant, b, 2, out, places);                                                         \
        else                                                                                                           \
            index_row(lookup, t, constant, b, b->stride, out, places);                                                 \
        break;

/* Offsets in elements of all tuples; out-of-range ones are clamped, unless places are requested. */
DENSE_INLINE void index_rows(const struct index_lookup *lookup, const struct index_block *b, int64_t *out,
                             uint64_t *places)
{
    for (uint32_t t = 0; t < lookup->tuple; t++)
        switch ((uint32_t)lookup->type) {
            INDEX_ROW(DML_TENSOR_DATA_TYPE_UINT32)
            INDEX_ROW(DML_TENSOR_DATA_TYPE_INT32)
            INDEX_ROW(DML_TENSOR_DATA_TYPE_UINT64)
            INDEX_ROW(DML_TENSOR_DATA_TYPE_INT64)
        }
}

/* The same, but INDEX_OUT for out-of-range indices, and for positions outside [begin, end): positions are counted
 * row-major over the indexed dimensions. */
static inline void index_checked(const struct index_lookup *lookup, const struct index_block *b, uint64_t begin,
                                 uint64_t end, int64_t *out_offsets)
{
    const uint32_t count = b->count;
    uint64_t places[INDEX_BLOCK];
    index_rows(lookup, b, out_offsets, places);
    for (uint32_t i = 0; i < count; i++)
        out_offsets[i] = places[i] - begin < end - begin ? out_offsets[i] : INDEX_OUT;
}

/* Copies runs of a known number of bytes between rows and the positions given by offsets: those in `from`, or (scatter)
 * in `to` unless they are INDEX_OUT. */
DENSE_INLINE void index_copy_known(const struct index_block *b, const int64_t *offsets, bool scatter, int64_t to_row,
                                   uint32_t bytes, uint32_t run_bytes)
{
    const int64_t from_row = b->from_row;
    const char *from = b->from;
    char *to = b->to; /* the compiler must assume that copies change the block */
    for (uint32_t i = 0, count = b->count; i < count; i++) {
        const int64_t put = scatter ? offsets[i] : 0, get = scatter ? 0 : offsets[i];
        if (put != INDEX_OUT)
            memcpy(to + (put + (int64_t)i * to_row) * bytes, from + (get + (int64_t)i * from_row) * bytes, run_bytes);
    }
}

/* Single elements that are gathered into a row are stored as vectors. */
#define INDEX_KNOWN(size)                                                                                              \
    case size:                                                                                                         \
        if (bytes == (size) && (scatter || b->to_row == 1))                                                            \
            index_copy_known(b, offsets, scatter, scatter ? b->to_row : 1, size, size);                                \
        else                                                                                                           \
            index_copy_known(b, offsets, scatter, b->to_row, bytes, size);                                             \
        return true;

/* false: unsupported number of bytes */
DENSE_INLINE bool index_copy_runs(const struct index_block *b, const int64_t *offsets, bool scatter, uint64_t run_bytes,
                                  uint32_t bytes)
{
    switch (run_bytes) {
        INDEX_KNOWN(1)
        INDEX_KNOWN(2)
        INDEX_KNOWN(4)
        INDEX_KNOWN(8)
        INDEX_KNOWN(12)
        INDEX_KNOWN(16)
        INDEX_KNOWN(32)
        INDEX_KNOWN(64)
    default:
        return false;
    }
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

struct gather_plan {
    struct kern_iterator iterator; /* lookups; view 0 = Y, 1 = X, 2 = indices */
    struct index_lookup lookup;
    uint32_t bytes;
    uint64_t run; /* elements per lookup */
    int64_t y_step, x_step;
    bool non_temporal; /* runs go past the caches */
    uint64_t pieces;   /* into which a run is split, so that few long ones keep all threads busy */
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
    uint64_t block;               /* maximum number that is processed together */
    uint64_t blocks;              /* in a row */
    bool along_free;              /* lookups go along the block, not along the picks */
};
void scatter_plan_init(struct scatter_plan *plan, const struct kern_op *op);

#endif
