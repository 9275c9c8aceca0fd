/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/emit/emit.h"

#include "base/half.h"

#include <math.h>

/* ---- constants ---- */

double *onnx_reals(struct onnx_builder *b, int64_t count)
{
    bool fits = count >= 0 && count <= (int64_t)1 << 27;
    double *values = fits ? base_arena_alloc(&b->arena, BASE_MAX((size_t)count, 1u) * sizeof(*values)) : NULL;
    if (!values)
        onnx_fail(b, fits ? "out of memory" : "too many constants (%lld)", (long long)count);
    return values;
}

/* bfloat16 is not computed with on the host. */
static void store_bfloat16(uint16_t *out, const double *values, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        out[i] = base_double_to_bfloat(values[i]);
}

struct onnx_value *onnx_constant_reals(struct onnx_builder *b, int32_t type, uint32_t rank, const int64_t *dims,
                                       const double *values)
{
    struct onnx_value *y = onnx_temp(b, type, rank, dims);
    struct onnx_value from = { .type = ONNX_DOUBLE, .rank = rank, .data = values };
    if (!y || !values)
        return NULL;
    memcpy(from.dims, y->dims, sizeof(from.dims));
    if (type != ONNX_BFLOAT16)
        return onnx_fold_cast(b, y, &from) ? y : NULL;
    uint16_t *out = onnx_constant_data(b, y);
    if (out)
        store_bfloat16(out, values, onnx_elements(y));
    return out ? y : NULL;
}

struct onnx_value *onnx_scalar(struct onnx_builder *b, int32_t type, double value)
{
    return onnx_constant_reals(b, type, 0, NULL, &value);
}

struct onnx_value *onnx_smallest(struct onnx_builder *b, int32_t type)
{
    DML_SCALAR_UNION low, high;
    onnx_type_bounds(type, &low, &high);
    return onnx_constant(b, type, 0, NULL, &low, onnx_type_bytes(type));
}

struct onnx_value *onnx_largest(struct onnx_builder *b, int32_t type)
{
    DML_SCALAR_UNION low, high;
    onnx_type_bounds(type, &low, &high);
    return onnx_constant(b, type, 0, NULL, &high, onnx_type_bytes(type));
}

struct onnx_value *onnx_counting(struct onnx_builder *b, int32_t type, int64_t first, uint32_t rank,
                                 const int64_t *dims)
{
    int64_t count = 1;
    for (uint32_t i = 0; i < rank; i++)
        count = onnx_size_product(count, dims[i]);
    double *values = b->failed ? NULL : onnx_reals(b, count);
    for (int64_t i = 0; values && i < count; i++)
        values[i] = (double)(first + i);
    return values ? onnx_constant_reals(b, type, rank, dims, values) : NULL;
}

bool onnx_const_real(struct onnx_builder *b, const struct onnx_value *v, double *out)
{
    int64_t none;
    uint32_t count;
    if (v->source != ONNX_SOURCE_CONSTANT)
        return onnx_const_ints(b, v, &none, 1, &count);
    struct onnx_value *real = onnx_elements(v) == 1 && onnx_is_constant(v) ? onnx_temp(b, ONNX_DOUBLE, 0, NULL) : NULL;
    if (!real)
        return onnx_fail(b, "'%s' must be one number", v->name);
    if (!onnx_fold_cast(b, real, v))
        return false;
    *out = *(const double *)real->data;
    return true;
}

bool onnx_const_int(struct onnx_builder *b, const struct onnx_value *v, int64_t *out)
{
    double real = 0;
    uint32_t count;
    if (v->type == ONNX_INT64 || v->type == ONNX_INT32)
        return (onnx_const_ints(b, v, out, 1, &count) && count == 1) ||
               onnx_fail(b, "'%s' must be one number", v->name);
    if (!onnx_const_real(b, v, &real))
        return false;
    if (!(fabs(real) < 0x1p62))
        return onnx_fail(b, "'%s' = %g is out of range", v->name, real);
    *out = (int64_t)real;
    return true;
}

bool onnx_type_is_float(int32_t type)
{
    return type == ONNX_FLOAT || type == ONNX_DOUBLE || type == ONNX_FLOAT16 || type == ONNX_BFLOAT16;
}

void onnx_type_bounds(int32_t type, DML_SCALAR_UNION *low, DML_SCALAR_UNION *high)
{
    low->UInt64 = 0;
    high->UInt64 = UINT64_MAX; /* all ones: the largest of every unsigned type */
    switch (type) {
    case ONNX_FLOAT:
        low->Float32 = -INFINITY;
        high->Float32 = INFINITY;
        break;
    case ONNX_DOUBLE:
        low->Float64 = -INFINITY;
        high->Float64 = INFINITY;
        break;
    case ONNX_FLOAT16:
        low->UInt16 = 0xfc00;
        high->UInt16 = 0x7c00;
        break;
    case ONNX_BFLOAT16:
        low->UInt16 = 0xff80;
        high->UInt16 = 0x7f80;
        break;
    case ONNX_BOOL:
        high->UInt64 = 1;
        break;
    case ONNX_INT8:
        low->Int8 = INT8_MIN;
        high->Int8 = INT8_MAX;
        break;
    case ONNX_INT16:
        low->Int16 = INT16_MIN;
        high->Int16 = INT16_MAX;
        break;
    case ONNX_INT32:
        low->Int32 = INT32_MIN;
        high->Int32 = INT32_MAX;
        break;
    case ONNX_INT64:
        low->Int64 = INT64_MIN;
        high->Int64 = INT64_MAX;
        break;
    default:
        break;
    }
}

/* ---- the same elements elsewhere ---- */

struct onnx_value *onnx_emit_result(struct onnx_builder *b, struct onnx_value *y, int32_t type, uint32_t rank,
                                    const int64_t *dims)
{
    int64_t elements = 1;
    for (uint32_t i = 0; i < rank; i++)
        elements *= dims[i];
    if (y && !b->failed && onnx_elements(y) != elements)
        onnx_misfit(b, "'%s' would have %lld elements instead of %lld", y->name, (long long)elements,
                    (long long)onnx_elements(y));
    if (b->failed)
        return NULL;
    return y ? y : onnx_temp(b, type, rank, dims);
}

struct onnx_value *onnx_as(struct onnx_builder *b, struct onnx_value *x, uint32_t rank, const int64_t *dims)
{
    struct onnx_value *y = x ? onnx_temp(b, x->type, rank, dims) : NULL;
    return y && onnx_alias(b, y, x) ? y : NULL;
}

void onnx_packed_strides(uint32_t rank, const int64_t *dims, uint32_t *strides)
{
    int64_t step = 1;
    for (uint32_t i = rank; i-- > 0;) {
        strides[i] = (uint32_t)step;
        step *= dims[i];
    }
}

static bool is_packed(const struct onnx_value *x, uint32_t rank, const int64_t *dims, const uint32_t *strides)
{
    int64_t step = 1;
    for (uint32_t i = rank; i-- > 0;) {
        if (dims[i] != 1 && strides[i] != step)
            return false;
        step *= dims[i];
    }
    return step == onnx_elements(x);
}

struct onnx_value *onnx_view_to(struct onnx_builder *b, struct onnx_value *x, uint32_t rank, const int64_t *dims,
                                const uint32_t *strides, struct onnx_value *y)
{
    struct onnx_desc dx, dy;
    int64_t known[ONNX_RANK_MAX];
    y = x ? onnx_emit_result(b, y, x->type, rank, dims) : NULL;
    if (!y)
        return NULL;
    if (is_packed(x, rank, dims, strides))
        return onnx_alias(b, y, x) ? y : NULL;
    for (uint32_t i = 0; i < rank; i++)
        known[i] = strides[i];
    if (onnx_is_constant(x) && onnx_elements(y) <= 65536 && y->rank == rank)
        return onnx_fold_view(b, y, x, 0, known) ? y : NULL;
    DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC desc = { onnx_desc_strided(b, &dx, x, rank, dims, strides),
                                                     onnx_desc_as(b, &dy, y, rank, dims), NULL };
    return onnx_emit(b, DML_OPERATOR_ELEMENT_WISE_IDENTITY, &desc, &x, 1, &y, 1) ? y : NULL;
}

struct onnx_value *onnx_view(struct onnx_builder *b, struct onnx_value *x, uint32_t rank, const int64_t *dims,
                             const uint32_t *strides)
{
    return onnx_view_to(b, x, rank, dims, strides, NULL);
}

struct onnx_value *onnx_permute(struct onnx_builder *b, struct onnx_value *x, const uint32_t *order)
{
    int64_t dims[ONNX_RANK_MAX];
    uint32_t packed[ONNX_RANK_MAX], strides[ONNX_RANK_MAX];
    if (!x)
        return NULL;
    onnx_packed_strides(x->rank, x->dims, packed);
    for (uint32_t i = 0; i < x->rank; i++) {
        dims[i] = x->dims[order[i]];
        strides[i] = packed[order[i]];
    }
    return onnx_view(b, x, x->rank, dims, strides);
}

struct onnx_value *onnx_broadcast_copy(struct onnx_builder *b, struct onnx_value *x, uint32_t rank, const int64_t *dims)
{
    struct onnx_value *y = x ? onnx_temp(b, x->type, rank, dims) : NULL;
    struct onnx_desc dx, dy;
    if (!y)
        return NULL;
    DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC desc = { onnx_desc_broadcast(b, &dx, x, rank, dims), onnx_desc(b, &dy, y),
                                                     NULL };
    return onnx_emit(b, DML_OPERATOR_ELEMENT_WISE_IDENTITY, &desc, &x, 1, &y, 1) ? y : NULL;
}

static struct onnx_value *window_to(struct onnx_builder *b, struct onnx_value *x, const int64_t *start,
                                    const int64_t *dims, struct onnx_value *y)
{
    UINT offsets[ONNX_RANK_MAX], sizes[ONNX_RANK_MAX];
    INT steps[ONNX_RANK_MAX];
    struct onnx_desc dx, dy;
    y = onnx_emit_result(b, y, x->type, x->rank, dims);
    if (!y)
        return NULL;
    if (!memcmp(x->dims, dims, x->rank * sizeof(*dims)))
        return onnx_alias(b, y, x) ? y : NULL;
    for (uint32_t i = 0; i < x->rank; i++) {
        offsets[i] = (UINT)start[i];
        sizes[i] = (UINT)dims[i];
        steps[i] = 1;
    }
    DML_SLICE1_OPERATOR_DESC desc = {
        onnx_desc(b, &dx, x), onnx_desc_as(b, &dy, y, x->rank, dims), x->rank, offsets, sizes, steps
    };
    return onnx_emit(b, DML_OPERATOR_SLICE1, &desc, &x, 1, &y, 1) ? y : NULL;
}

struct onnx_value *onnx_window(struct onnx_builder *b, struct onnx_value *x, const int64_t *start, const int64_t *dims)
{
    return x ? window_to(b, x, start, dims, NULL) : NULL;
}

struct onnx_value *onnx_cut_to(struct onnx_builder *b, struct onnx_value *x, uint32_t axis, int64_t first,
                               int64_t count, struct onnx_value *y)
{
    int64_t start[ONNX_RANK_MAX] = { 0 }, dims[ONNX_RANK_MAX];
    if (!x)
        return NULL;
    memcpy(dims, x->dims, sizeof(dims));
    start[axis] = first;
    dims[axis] = count;
    return window_to(b, x, start, dims, y);
}

struct onnx_value *onnx_cut(struct onnx_builder *b, struct onnx_value *x, uint32_t axis, int64_t first, int64_t count)
{
    return onnx_cut_to(b, x, axis, first, count, NULL);
}

bool onnx_fill_to(struct onnx_builder *b, struct onnx_value *y, DML_SCALAR_UNION value)
{
    struct onnx_desc dy;
    if (!y)
        return false;
    DML_FILL_VALUE_CONSTANT_OPERATOR_DESC desc = { onnx_desc(b, &dy, y), onnx_type_dml(y->type), value };
    return onnx_emit(b, DML_OPERATOR_FILL_VALUE_CONSTANT, &desc, NULL, 0, &y, 1);
}

struct onnx_value *onnx_surround(struct onnx_builder *b, struct onnx_value *x, const int64_t *start,
                                 const int64_t *dims, const struct onnx_value *value)
{
    UINT before[ONNX_RANK_MAX], after[ONNX_RANK_MAX];
    DML_SCALAR_UNION scalar = { 0 };
    struct onnx_desc dx, dy;
    if (!x || !value || !memcmp(x->dims, dims, x->rank * sizeof(*dims)))
        return value ? x : NULL;
    struct onnx_value *y = onnx_temp(b, x->type, x->rank, dims);
    if (!y)
        return NULL;
    memcpy(&scalar, value->data, onnx_type_bytes(value->type));
    if (!onnx_elements(x))
        return onnx_fill_to(b, y, scalar) ? y : NULL;
    for (uint32_t i = 0; i < x->rank; i++) {
        before[i] = (UINT)start[i];
        after[i] = (UINT)(dims[i] - x->dims[i] - start[i]);
    }
    DML_PADDING1_OPERATOR_DESC desc = { onnx_desc(b, &dx, x),
                                        onnx_desc(b, &dy, y),
                                        DML_PADDING_MODE_CONSTANT,
                                        onnx_type_dml(y->type),
                                        scalar,
                                        x->rank,
                                        before,
                                        after };
    return onnx_emit(b, DML_OPERATOR_PADDING1, &desc, &x, 1, &y, 1) ? y : NULL;
}

struct onnx_value *onnx_join_to(struct onnx_builder *b, struct onnx_value *const *x, uint32_t count, uint32_t axis,
                                struct onnx_value *y)
{
    struct onnx_desc d[5];
    DML_TENSOR_DESC tensors[4];
    struct onnx_value *in[4];
    int64_t dims[ONNX_RANK_MAX], size = 0;
    uint32_t used = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!x[i] || b->failed)
            return NULL;
        memcpy(dims, x[i]->dims, sizeof(dims));
        size += x[i]->dims[axis];
        const DML_TENSOR_DESC *tensor = onnx_elements(x[i]) ? onnx_desc(b, &d[used], x[i]) : NULL;
        if (!tensor)
            continue;
        tensors[used] = *tensor;
        in[used++] = x[i];
    }
    dims[axis] = size;
    if (!(y = onnx_emit_result(b, y, x[0]->type, x[0]->rank, dims)))
        return NULL;
    DML_JOIN_OPERATOR_DESC desc = { used, tensors, onnx_desc_as(b, &d[4], y, x[0]->rank, dims), axis };
    return onnx_emit(b, DML_OPERATOR_JOIN, &desc, in, used, &y, 1) ? y : NULL;
}

struct onnx_value *onnx_join(struct onnx_builder *b, struct onnx_value *const *x, uint32_t count, uint32_t axis)
{
    return onnx_join_to(b, x, count, axis, NULL);
}

bool onnx_result_as(struct onnx_builder *b, const struct onnx_node *n, uint32_t i, const struct onnx_value *v,
                    uint32_t rank, const int64_t *dims)
{
    return v && !b->failed && onnx_alias(b, onnx_out(b, n, i, v->type, rank, dims), v);
}

bool onnx_result(struct onnx_builder *b, const struct onnx_node *n, uint32_t i, const struct onnx_value *v)
{
    return v && onnx_result_as(b, n, i, v, v->rank, v->dims);
}
