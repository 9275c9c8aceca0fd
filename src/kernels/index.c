#include "kernels/index.h"

#include "kernels/dense.h"

bool index_type(DML_TENSOR_DATA_TYPE type)
{
    return type == DML_TENSOR_DATA_TYPE_INT32 || type == DML_TENSOR_DATA_TYPE_UINT32 ||
           type == DML_TENSOR_DATA_TYPE_INT64 || type == DML_TENSOR_DATA_TYPE_UINT64;
}

/* A negative index from the end; the result is below 0 or not below `size` when it is out of range. */
DENSE_INLINE int64_t load_index(const void *indices, int64_t at, DML_TENSOR_DATA_TYPE type, int64_t size)
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

DENSE_INLINE int64_t clamped(int64_t index, int64_t size)
{
    index = index < 0 ? 0 : index;
    return index < size ? index : size - 1;
}

int64_t index_clamp_at(DML_TENSOR_DATA_TYPE type, const void *indices, int64_t offset, int64_t size)
{
    return clamped(load_index(indices, offset, type, size), size);
}

int64_t index_check_at(DML_TENSOR_DATA_TYPE type, const void *indices, int64_t offset, int64_t size)
{
    int64_t index = load_index(indices, offset, type, size);
    return index >= 0 && index < size ? index : -1;
}

/* Dimension t of the tuples. Inlined with constant types and a constant stride of 1. */
DENSE_INLINE void clamp_row(const struct index_lookup *lookup, uint32_t t, DML_TENSOR_DATA_TYPE type, const void *from,
                            int64_t stride, uint32_t count, int64_t *out)
{
    const int64_t size = lookup->sizes[t], step = lookup->strides[t];
    if (t == 0)
        for (uint32_t i = 0; i < count; i++)
            out[i] = clamped(load_index(from, (int64_t)i * stride, type, size), size) * step;
    else
        for (uint32_t i = 0; i < count; i++)
            out[i] += clamped(load_index(from, (int64_t)i * stride, type, size), size) * step;
}

/* `places` holds the place so far, UINT64_MAX = out of range. */
DENSE_INLINE void check_row(const struct index_lookup *lookup, uint32_t t, DML_TENSOR_DATA_TYPE type, const void *from,
                            int64_t stride, uint32_t count, uint64_t *places, int64_t *out)
{
    const int64_t size = lookup->sizes[t], step = lookup->strides[t];
    for (uint32_t i = 0; i < count; i++) {
        int64_t index = load_index(from, (int64_t)i * stride, type, size);
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

static const void *tuple_element(const struct index_lookup *lookup, const void *indices, int64_t first, uint32_t t)
{
    int64_t offset = first + (int64_t)t * lookup->tuple_stride;
    return (const char *)indices + offset * (int64_t)kern_type_bytes(lookup->type);
}

uint64_t index_plain_limit(const struct index_lookup *lookup)
{
    uint64_t size = (uint64_t)lookup->sizes[0];
    if (lookup->tuple != 1)
        return 0;
    return lookup->type == DML_TENSOR_DATA_TYPE_INT32 ? BASE_MIN(size, UINT64_C(1) << 31) : size;
}

void index_clamped(const struct index_lookup *lookup, const void *indices, int64_t first, int64_t stride,
                   uint32_t count, int64_t *out_offsets)
{
    for (uint32_t t = 0; t < lookup->tuple; t++) {
        const void *from = tuple_element(lookup, indices, first, t);
#define CLAMP(type, step) clamp_row(lookup, t, type, from, step, count, out_offsets)
        INDEX_DISPATCH(lookup->type, stride, CLAMP)
#undef CLAMP
    }
}

void index_checked(const struct index_lookup *lookup, const void *indices, int64_t first, int64_t stride,
                   uint32_t count, uint64_t begin, uint64_t end, int64_t *out_offsets)
{
    uint64_t places[INDEX_BLOCK];
    memset(places, 0, count * sizeof(*places));
    memset(out_offsets, 0, count * sizeof(*out_offsets));
    for (uint32_t t = 0; t < lookup->tuple; t++) {
        const void *from = tuple_element(lookup, indices, first, t);
#define CHECK(type, step) check_row(lookup, t, type, from, step, count, places, out_offsets)
        INDEX_DISPATCH(lookup->type, stride, CHECK)
#undef CHECK
    }
    for (uint32_t i = 0; i < count; i++)
        out_offsets[i] = places[i] - begin < end - begin ? out_offsets[i] : INDEX_OUT;
}
