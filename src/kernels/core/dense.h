/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the dense and window families (gemm, conv, pool, resample, gather, attention): typed element access,
 * and walking rows of a view. */
#ifndef KERNELS_DENSE_H
#define KERNELS_DENSE_H

#include "base/half.h"
#include "base/parallel.h"
#include "kernels/core/kernel.h"

/* Prefetch distance in bytes for long streams: the amount that arrives during the latency of memory. The hardware
 * prefetcher alone reaches two thirds of the bandwidth. */
#define DENSE_AHEAD 8192

#define DENSE_INLINE static inline __attribute__((always_inline))

/* Inlined with a constant type these fold to one load or store; with a variable type they are the general case. */
#define DENSE_LOAD(name, type, least, most)                                                                            \
    case DML_TENSOR_DATA_TYPE_##name:                                                                                  \
        return (double)((const type *)data)[index];
DENSE_INLINE double dense_load(const void *data, int64_t index, DML_TENSOR_DATA_TYPE type)
{
    switch ((uint32_t)type) {
        KERN_INTEGER_TYPES(DENSE_LOAD)
        DENSE_LOAD(FLOAT64, double, , )
        DENSE_LOAD(FLOAT32, float, , )
    case DML_TENSOR_DATA_TYPE_FLOAT16:
        return base_half_to_float(((const uint16_t *)data)[index]);
    case ANYDML_TENSOR_DATA_TYPE_BFLOAT16:
        return base_bfloat_to_float(((const uint16_t *)data)[index]);
    default:
        return 0;
    }
}
#undef DENSE_LOAD

/* function(..., a, b) with the types of two factors as constants if it matters. */
#define DENSE_BY_FACTORS(a, b, function, ...)                                                                          \
    ((a) != (b) ? function(__VA_ARGS__, a, b)                                                                          \
     : (a) == DML_TENSOR_DATA_TYPE_FLOAT32                                                                             \
         ? function(__VA_ARGS__, DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_DATA_TYPE_FLOAT32)                           \
     : (a) == DML_TENSOR_DATA_TYPE_FLOAT16                                                                             \
         ? function(__VA_ARGS__, DML_TENSOR_DATA_TYPE_FLOAT16, DML_TENSOR_DATA_TYPE_FLOAT16)                           \
         : function(__VA_ARGS__, a, b))

/* Rounds to nearest even and saturates for integer types; NaN becomes 0 there. */
void dense_store(void *data, int64_t index, DML_TENSOR_DATA_TYPE type, double value);

bool dense_is_float(DML_TENSOR_DATA_TYPE type); /* FLOAT16, bfloat16, FLOAT32, FLOAT64 */
bool dense_is_short_float(
    DML_TENSOR_DATA_TYPE type); /* the same without FLOAT64: types that FLOAT32 represents exactly */

DENSE_INLINE bool dense_is_byte(DML_TENSOR_DATA_TYPE type)
{
    return type == DML_TENSOR_DATA_TYPE_INT8 || type == DML_TENSOR_DATA_TYPE_UINT8;
}

/* Elements from the pointer to the element at at[0], ..., at[dims - 1], 0, ... Dimensions of size 1 repeat. */
DENSE_INLINE int64_t dense_offset(const struct kern_view *view, const uint32_t *at, uint32_t dims)
{
    int64_t offset = 0;
    for (uint32_t d = 0; d < dims; d++)
        offset += view->sizes[d] > 1 ? (int64_t)at[d] * view->strides[d] : 0;
    return offset;
}

/* A row = all elements along the last dimension. Rows are counted row-major over the dimensions before it. */
DENSE_INLINE uint64_t dense_rows(const struct kern_view *view)
{
    uint64_t rows = 1;
    for (uint32_t d = 0; d + 1 < view->rank; d++)
        rows *= view->sizes[d];
    return rows;
}

DENSE_INLINE void dense_row_at(const struct kern_view *view, uint64_t row, uint32_t *at)
{
    at[view->rank - 1] = 0;
    for (uint32_t d = view->rank - 1; d-- > 0;) {
        at[d] = (uint32_t)(row % view->sizes[d]);
        row /= view->sizes[d];
    }
}

/* Positions i in [*begin, *end) of [0, count) for which i * step + offset is in [0, limit). */
DENSE_INLINE void dense_range(int64_t count, int64_t step, int64_t offset, int64_t limit, int64_t *begin, int64_t *end)
{
    *end = limit > offset ? BASE_MIN((limit - offset + step - 1) / step, count) : 0;
    *begin = offset < 0 ? BASE_MIN((-offset + step - 1) / step, *end) : 0;
}

/* How many units a thread should get at least, when one unit costs about `cost` simple operations. */
DENSE_INLINE uint64_t dense_grain(uint64_t cost)
{
    return cost >= KERN_GRAIN ? 1 : KERN_GRAIN / BASE_MAX(cost, 1);
}

/* Parts of packed weights, of `bytes` each, that are worth a thread. */
DENSE_INLINE size_t dense_pack_grain(uint64_t bytes)
{
    return (size_t)(bytes >= BASE_COPY_GRAIN ? 1 : BASE_COPY_GRAIN / BASE_MAX(bytes, 1));
}

/* The offset of the next `count` elements in scratch memory of which *used are allocated, a multiple of `alignment`. */
DENSE_INLINE uint64_t dense_take(uint64_t *used, uint64_t count, uint64_t alignment)
{
    uint64_t at = *used;
    *used += base_align_up(count, alignment);
    return at;
}

/* Order of the dimensions from the largest stride to the smallest, those of size 1 and broadcast ones first: walking
 * rows of the permuted view accesses memory in order. */
void dense_memory_order(const struct kern_view *view, uint32_t *order);
struct kern_view dense_permute(const struct kern_view *view, const uint32_t *order);

/* Tensors `first` to `last` have this type. */
bool dense_same_type(const struct kern_op *op, uint32_t first, uint32_t last, DML_TENSOR_DATA_TYPE type);

/* The factors of a GEMM or convolution and its result are FLOAT32, FLOAT16 or BFLOAT16, in any combination. */
bool dense_short_floats(const struct kern_op *op);
/* The caller allows rounding the GEMM's factors of these types to 16 bits. */
bool dense_half_allowed(const struct kern_op *op);

/* A copy of the op whose output and epilogue inputs have their two last dimensions merged; false: strides do not permit
 * it. */
bool dense_merge_rows(const struct kern_op *op, struct kern_op *out);
bool dense_view_merges(const struct kern_view *view, uint32_t d); /* dimensions d and d + 1 */
void dense_view_merge(struct kern_view *view, uint32_t d);

/* An epilogue computes in FLOAT32, so the result must be a short float, except for integer GEMMs. */
bool dense_epilogue_fits(const struct kern_op *op);

#endif
