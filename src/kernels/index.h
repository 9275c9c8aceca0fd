/* Indices as data: what gather and scatter share. An index is UINT32, INT32, UINT64 or INT64; negative ones count from
 * the end. Nothing that an index says leads outside the tensor it points into. */
#ifndef KERNELS_INDEX_H
#define KERNELS_INDEX_H

#include "kernels/kern.h"

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

/* One index into `size` elements; clamped, or -1 when it is out of range. */
int64_t index_clamp_at(DML_TENSOR_DATA_TYPE type, const void *indices, int64_t offset, int64_t size);
int64_t index_check_at(DML_TENSOR_DATA_TYPE type, const void *indices, int64_t offset, int64_t size);

/* Indices below this, as unsigned numbers, are in range and mean what they say; 0 for tuples of several. Most data is
 * like that: it is worth trying before the functions below. */
uint64_t index_plain_limit(const struct index_lookup *lookup);

/* Offsets in elements for `count` (at most INDEX_BLOCK) tuples, the first at `first`, `stride` apart; what is out of
 * range is clamped. */
void index_clamped(const struct index_lookup *lookup, const void *indices, int64_t first, int64_t stride,
                   uint32_t count, int64_t *out_offsets);

/* The same, but INDEX_OUT for what is out of range, and for what leads to a place outside [begin, end): places are
 * counted row-major over the indexed dimensions. */
void index_checked(const struct index_lookup *lookup, const void *indices, int64_t first, int64_t stride,
                   uint32_t count, uint64_t begin, uint64_t end, int64_t *out_offsets);

#endif
