#include "onnx/emit.h"

#include <math.h>
#include <stdio.h>

/* ---- constants ---- */

double *onnx_reals(struct onnx_builder *b, int64_t count)
{
    bool fits = count >= 0 && count <= (int64_t)1 << 27;
    double *values = fits ? base_arena_alloc(&b->arena, BASE_MAX((size_t)count, 1u) * sizeof(*values)) : NULL;
    if (!values)
        onnx_fail(b, fits ? "out of memory" : "%lld constants are too many", (long long)count);
    return values;
}

/* bfloat16 is not computed with on the host: rounded to nearest even here. */
static void store_bfloat16(uint16_t *out, const double *values, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        float f = (float)values[i];
        uint32_t bits;
        memcpy(&bits, &f, sizeof(bits));
        out[i] = isnan(f) ? 0x7fc0 : (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    }
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
        return onnx_known_cast(b, y, &from) ? y : NULL;
    uint16_t *out = onnx_known_data(b, y);
    if (out)
        store_bfloat16(out, values, onnx_elements(y));
    return out ? y : NULL;
}

struct onnx_value *onnx_scalar(struct onnx_builder *b, int32_t type, double value)
{
    return onnx_constant_reals(b, type, 0, NULL, &value);
}

static struct onnx_value *bits(struct onnx_builder *b, int32_t type, uint64_t value)
{
    return onnx_constant(b, type, 0, NULL, &value, onnx_type_bytes(type));
}

struct onnx_value *onnx_smallest(struct onnx_builder *b, int32_t type)
{
    switch (type) {
    case ONNX_FLOAT:
    case ONNX_DOUBLE:
    case ONNX_FLOAT16:
    case ONNX_BFLOAT16:
        return onnx_scalar(b, type, -INFINITY);
    case ONNX_INT8:
    case ONNX_INT16:
    case ONNX_INT32:
    case ONNX_INT64:
        return bits(b, type, (uint64_t)1 << (onnx_type_bytes(type) * 8 - 1));
    default:
        return bits(b, type, 0);
    }
}

struct onnx_value *onnx_largest(struct onnx_builder *b, int32_t type)
{
    switch (type) {
    case ONNX_FLOAT:
    case ONNX_DOUBLE:
    case ONNX_FLOAT16:
    case ONNX_BFLOAT16:
        return onnx_scalar(b, type, INFINITY);
    case ONNX_INT8:
    case ONNX_INT16:
    case ONNX_INT32:
    case ONNX_INT64:
        return bits(b, type, ((uint64_t)1 << (onnx_type_bytes(type) * 8 - 1)) - 1);
    default:
        return bits(b, type, UINT64_MAX);
    }
}

struct onnx_value *onnx_counting(struct onnx_builder *b, int32_t type, int64_t count)
{
    double *values = onnx_reals(b, count);
    for (int64_t i = 0; values && i < count; i++)
        values[i] = (double)i;
    return onnx_constant_reals(b, type, 1, &count, values);
}

bool onnx_const_real(struct onnx_builder *b, const struct onnx_value *v, double *out)
{
    int64_t none;
    uint32_t count;
    if (v->source != ONNX_SOURCE_CONSTANT)
        return onnx_const_ints(b, v, &none, 1, &count);
    struct onnx_value *real = onnx_elements(v) == 1 && onnx_is_known(v) ? onnx_temp(b, ONNX_DOUBLE, 0, NULL) : NULL;
    if (!real)
        return onnx_fail(b, "'%s' must be one number", v->name);
    if (!onnx_known_cast(b, real, v))
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

/* ---- the same elements seen otherwise ---- */

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

struct onnx_value *onnx_view(struct onnx_builder *b, struct onnx_value *x, uint32_t rank, const int64_t *dims,
                             const uint32_t *strides)
{
    struct onnx_desc dx, dy;
    int64_t known[ONNX_RANK_MAX];
    if (!x || is_packed(x, rank, dims, strides))
        return onnx_as(b, x, rank, dims);
    struct onnx_value *y = onnx_temp(b, x->type, rank, dims);
    if (!y)
        return NULL;
    for (uint32_t i = 0; i < rank; i++)
        known[i] = strides[i];
    if (onnx_is_known(x) && onnx_elements(y) <= 65536)
        return onnx_known_view(b, y, x, 0, known) ? y : NULL;
    DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC desc = { onnx_desc_strided(b, &dx, x, rank, dims, strides),
                                                     onnx_desc(b, &dy, y), NULL };
    return onnx_emit(b, DML_OPERATOR_ELEMENT_WISE_IDENTITY, &desc, &x, 1, &y, 1) ? y : NULL;
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

struct onnx_value *onnx_window(struct onnx_builder *b, struct onnx_value *x, const int64_t *start, const int64_t *dims)
{
    UINT offsets[ONNX_RANK_MAX], sizes[ONNX_RANK_MAX];
    INT strides[ONNX_RANK_MAX];
    struct onnx_desc dx, dy;
    if (!x || !memcmp(x->dims, dims, x->rank * sizeof(*dims)))
        return x;
    struct onnx_value *y = onnx_temp(b, x->type, x->rank, dims);
    if (!y)
        return NULL;
    for (uint32_t i = 0; i < x->rank; i++) {
        offsets[i] = (UINT)start[i];
        sizes[i] = (UINT)dims[i];
        strides[i] = 1;
    }
    DML_SLICE1_OPERATOR_DESC desc = { onnx_desc(b, &dx, x), onnx_desc(b, &dy, y), x->rank, offsets, sizes, strides };
    return onnx_emit(b, DML_OPERATOR_SLICE1, &desc, &x, 1, &y, 1) ? y : NULL;
}

static struct onnx_value *fill(struct onnx_builder *b, struct onnx_value *y, DML_SCALAR_UNION value)
{
    struct onnx_desc dy;
    DML_FILL_VALUE_CONSTANT_OPERATOR_DESC desc = { onnx_desc(b, &dy, y), onnx_type_dml(y->type), value };
    return onnx_emit(b, DML_OPERATOR_FILL_VALUE_CONSTANT, &desc, NULL, 0, &y, 1) ? y : NULL;
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
        return fill(b, y, scalar);
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

bool onnx_result_as(struct onnx_builder *b, const struct onnx_node *n, uint32_t i, const struct onnx_value *v,
                    uint32_t rank, const int64_t *dims)
{
    return v && !b->failed && onnx_alias(b, onnx_out(b, n, i, v->type, rank, dims), v);
}

bool onnx_result(struct onnx_builder *b, const struct onnx_node *n, uint32_t i, const struct onnx_value *v)
{
    return v && onnx_result_as(b, n, i, v, v->rank, v->dims);
}

/* ---- arithmetic ---- */

struct onnx_value *onnx_apply(struct onnx_builder *b, DML_OPERATOR_TYPE type, struct onnx_value *x)
{
    return onnx_activate(b, type, x, 0, 0);
}

struct onnx_value *onnx_activate(struct onnx_builder *b, DML_OPERATOR_TYPE type, struct onnx_value *x, float p, float q)
{
    struct onnx_value *y = x ? onnx_temp(b, x->type, x->rank, x->dims) : NULL;
    struct onnx_desc dx, dy;
    if (!y)
        return NULL;
    /* Operators without floats have a ScaleBias pointer, or nothing, in their place: both zero. */
    DML_ACTIVATION_LINEAR_OPERATOR_DESC desc = { onnx_desc(b, &dx, x), onnx_desc(b, &dy, y), p, q };
    return onnx_emit(b, type, &desc, &x, 1, &y, 1) ? y : NULL;
}

static struct onnx_value *apply2(struct onnx_builder *b, DML_OPERATOR_TYPE type, struct onnx_value *x,
                                 struct onnx_value *z, int32_t result)
{
    struct onnx_desc dx, dz, dy;
    struct onnx_value *in[2] = { x, z };
    uint32_t rank;
    int64_t dims[ONNX_RANK_MAX];
    if (!x || !z || !onnx_broadcast_dims(b, x, z, &rank, dims))
        return NULL;
    struct onnx_value *y = onnx_temp(b, result, rank, dims);
    if (!y)
        return NULL;
    DML_ELEMENT_WISE_POW_OPERATOR_DESC desc = { onnx_desc_broadcast(b, &dx, x, rank, dims),
                                                onnx_desc_broadcast(b, &dz, z, rank, dims), onnx_desc(b, &dy, y),
                                                NULL };
    return onnx_emit(b, type, &desc, in, 2, &y, 1) ? y : NULL;
}

struct onnx_value *onnx_apply2(struct onnx_builder *b, DML_OPERATOR_TYPE type, struct onnx_value *x,
                               struct onnx_value *z)
{
    return x ? apply2(b, type, x, z, x->type) : NULL;
}

struct onnx_value *onnx_compare(struct onnx_builder *b, DML_OPERATOR_TYPE type, struct onnx_value *x,
                                struct onnx_value *z)
{
    return apply2(b, type, x, z, ONNX_BOOL);
}

struct onnx_value *onnx_select(struct onnx_builder *b, struct onnx_value *condition, struct onnx_value *x,
                               struct onnx_value *z)
{
    struct onnx_value *in[3] = { condition, x, z }, shape = { .name = "" };
    uint32_t rank;
    int64_t dims[ONNX_RANK_MAX];
    struct onnx_desc d[4];
    if (!condition || !x || !z || !onnx_broadcast_dims(b, x, z, &shape.rank, shape.dims) ||
        !onnx_broadcast_dims(b, condition, &shape, &rank, dims))
        return NULL;
    struct onnx_value *y = onnx_temp(b, x->type, rank, dims);
    if (!y)
        return NULL;
    DML_ELEMENT_WISE_IF_OPERATOR_DESC desc = { onnx_desc_broadcast(b, &d[0], condition, rank, dims),
                                               onnx_desc_broadcast(b, &d[1], x, rank, dims),
                                               onnx_desc_broadcast(b, &d[2], z, rank, dims), onnx_desc(b, &d[3], y) };
    return onnx_emit(b, DML_OPERATOR_ELEMENT_WISE_IF, &desc, in, 3, &y, 1) ? y : NULL;
}

struct onnx_value *onnx_convert(struct onnx_builder *b, struct onnx_value *x, int32_t type)
{
    struct onnx_desc dx, dy;
    if (!x || x->type == type)
        return x;
    struct onnx_value *y = onnx_temp(b, type, x->rank, x->dims);
    if (!y)
        return NULL;
    DML_CAST_OPERATOR_DESC desc = { onnx_desc(b, &dx, x), onnx_desc(b, &dy, y) };
    return onnx_emit(b, DML_OPERATOR_CAST, &desc, &x, 1, &y, 1) ? y : NULL;
}

struct onnx_value *onnx_round_even(struct onnx_builder *b, struct onnx_value *x)
{
    struct onnx_value *y = x ? onnx_temp(b, x->type, x->rank, x->dims) : NULL;
    struct onnx_desc dx, dy;
    if (!y)
        return NULL;
    DML_ELEMENT_WISE_ROUND_OPERATOR_DESC desc = { onnx_desc(b, &dx, x), onnx_desc(b, &dy, y),
                                                  DML_ROUNDING_MODE_HALVES_TO_NEAREST_EVEN };
    return onnx_emit(b, DML_OPERATOR_ELEMENT_WISE_ROUND, &desc, &x, 1, &y, 1) ? y : NULL;
}

struct onnx_value *onnx_reduce_axis(struct onnx_builder *b, DML_REDUCE_FUNCTION function, struct onnx_value *x,
                                    uint32_t axis)
{
    int64_t dims[ONNX_RANK_MAX];
    struct onnx_desc dx, dy;
    if (!x)
        return NULL;
    memcpy(dims, x->dims, sizeof(dims));
    dims[axis] = 1;
    struct onnx_value *y = onnx_temp(b, x->type, x->rank, dims);
    if (!y)
        return NULL;
    DML_REDUCE_OPERATOR_DESC desc = { function, onnx_desc(b, &dx, x), onnx_desc(b, &dy, y), 1, &axis };
    return onnx_emit(b, DML_OPERATOR_REDUCE, &desc, &x, 1, &y, 1) ? y : NULL;
}

static const DML_TENSOR_DESC *matrix_desc(struct onnx_builder *b, struct onnx_desc *d, struct onnx_value *x,
                                          int64_t batch)
{
    int64_t dims[4] = { 1, batch, x->dims[1], x->dims[2] };
    uint32_t strides[4] = { 0, x->dims[0] == 1 ? 0 : (uint32_t)(x->dims[1] * x->dims[2]), (uint32_t)x->dims[2], 1 };
    return onnx_desc_strided(b, d, x, 4, dims, strides);
}

struct onnx_value *onnx_multiply(struct onnx_builder *b, struct onnx_value *x, struct onnx_value *z, bool transpose_z)
{
    struct onnx_value *in[3] = { x, z, NULL };
    struct onnx_desc d[3];
    if (!x || !z)
        return NULL;
    int64_t dims[3] = { BASE_MAX(x->dims[0], z->dims[0]), x->dims[1], z->dims[transpose_z ? 1 : 2] };
    struct onnx_value *y = onnx_temp(b, x->type, 3, dims);
    if (!y)
        return NULL;
    DML_GEMM_OPERATOR_DESC desc = {
        .ATensor = matrix_desc(b, &d[0], x, dims[0]),
        .BTensor = matrix_desc(b, &d[1], z, dims[0]),
        .OutputTensor = matrix_desc(b, &d[2], y, dims[0]),
        .TransB = transpose_z ? DML_MATRIX_TRANSFORM_TRANSPOSE : DML_MATRIX_TRANSFORM_NONE,
        .Alpha = 1.0f,
    };
    return onnx_emit(b, DML_OPERATOR_GEMM, &desc, in, 3, &y, 1) ? y : NULL;
}

struct onnx_value *onnx_pick(struct onnx_builder *b, struct onnx_value *x, struct onnx_value *indices, uint32_t axis)
{
    struct onnx_value *in[2] = { x, indices };
    int64_t dims[ONNX_RANK_MAX];
    struct onnx_desc d[3];
    if (!x || !indices)
        return NULL;
    memcpy(dims, x->dims, sizeof(dims));
    dims[axis] = indices->dims[axis];
    struct onnx_value *y = onnx_temp(b, x->type, x->rank, dims);
    if (!y)
        return NULL;
    DML_GATHER_ELEMENTS_OPERATOR_DESC desc = { onnx_desc(b, &d[0], x),
                                               onnx_desc_broadcast(b, &d[1], indices, x->rank, dims),
                                               onnx_desc(b, &d[2], y), axis };
    return onnx_emit(b, DML_OPERATOR_GATHER_ELEMENTS, &desc, in, 2, &y, 1) ? y : NULL;
}

struct onnx_value *onnx_wrap_index(struct onnx_builder *b, struct onnx_value *indices, struct onnx_value *size)
{
    struct onnx_value *zero = indices ? onnx_scalar(b, indices->type, 0) : NULL;
    struct onnx_value *negative = onnx_compare(b, DML_OPERATOR_ELEMENT_WISE_LOGICAL_LESS_THAN, indices, zero);
    return onnx_select(b, negative, onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_ADD, indices, size), indices);
}

/* ---- rows in terms of other rows ---- */

const char *onnx_new_name(struct onnx_builder *b)
{
    char name[32];
    snprintf(name, sizeof(name), "\x01%u", b->temporary_count++);
    const char *copy = base_arena_strdup(&b->arena, name);
    if (!copy)
        onnx_fail(b, "out of memory");
    return copy;
}

bool onnx_convert_as(struct onnx_builder *b, const struct onnx_node *as)
{
    const struct onnx_row *row = onnx_row_find(as->domain, as->op);
    return row && row->convert(b, as);
}
