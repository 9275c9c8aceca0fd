#include "onnx/make.h"

#include "base/half.h"

bool onnx_is_float(int32_t type)
{
    return type == ONNX_FLOAT || type == ONNX_FLOAT16 || type == ONNX_DOUBLE || type == ONNX_BFLOAT16;
}

struct onnx_value *onnx_make_scalar(struct onnx_builder *b, int32_t type, double number)
{
    DML_SCALAR_UNION value = { 0 };
    switch (type) {
    case ONNX_FLOAT:
        value.Float32 = (float)number;
        break;
    case ONNX_DOUBLE:
        value.Float64 = number;
        break;
    case ONNX_FLOAT16:
        value.UInt16 = base_float_to_half((float)number);
        break;
    case ONNX_BFLOAT16:
        value.UInt16 = base_float_to_bfloat((float)number);
        break;
    default: /* little-endian: the low bytes are those of every narrower type */
        value.Int64 = (int64_t)number;
        break;
    }
    return b->failed ? NULL : onnx_constant(b, type, 0, NULL, &value, onnx_type_bytes(type));
}

struct onnx_value *onnx_make_range(struct onnx_builder *b, int64_t first, uint32_t rank, const int64_t *dims)
{
    struct onnx_value *y = b->failed ? NULL : onnx_temp(b, ONNX_INT32, rank, dims);
    int32_t *data = onnx_known_data(b, y);
    for (int64_t i = 0; data && i < onnx_elements(y); i++)
        data[i] = (int32_t)(first + i);
    return data ? y : NULL;
}

struct onnx_value *onnx_make_reshape(struct onnx_builder *b, struct onnx_value *x, uint32_t rank, const int64_t *dims)
{
    struct onnx_value *y = x ? onnx_temp(b, x->type, rank, dims) : NULL;
    return y && onnx_alias(b, y, x) ? y : NULL;
}

/* y, which must have as many elements, or a temporary of that shape. */
static struct onnx_value *result(struct onnx_builder *b, struct onnx_value *y, int32_t type, uint32_t rank,
                                 const int64_t *dims)
{
    int64_t elements = 1;
    for (uint32_t i = 0; i < rank; i++)
        elements *= dims[i];
    if (y && !b->failed && onnx_elements(y) != elements)
        onnx_fail(b, "'%s' would have %lld elements instead of %lld", y->name, (long long)elements,
                  (long long)onnx_elements(y));
    if (b->failed)
        return NULL;
    return y ? y : onnx_temp(b, type, rank, dims);
}

struct onnx_value *onnx_make_cast(struct onnx_builder *b, struct onnx_value *x, int32_t type, struct onnx_value *y)
{
    struct onnx_desc dx, dy;
    if (!x)
        return NULL;
    if (x->type == type)
        return !y || onnx_alias(b, y, x) ? (y ? y : x) : NULL;
    y = result(b, y, type, x->rank, x->dims);
    if (!y)
        return NULL;
    DML_CAST_OPERATOR_DESC desc = { onnx_desc(b, &dx, x), onnx_desc_as(b, &dy, y, x->rank, x->dims) };
    return onnx_emit(b, DML_OPERATOR_CAST, &desc, &x, 1, &y, 1) ? y : NULL;
}

struct onnx_value *onnx_make_unary(struct onnx_builder *b, DML_OPERATOR_TYPE type, struct onnx_value *x,
                                   struct onnx_value *y)
{
    struct onnx_desc dx, dy;
    y = x ? result(b, y, x->type, x->rank, x->dims) : NULL;
    if (!y)
        return NULL;
    DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC desc = { onnx_desc(b, &dx, x), onnx_desc_as(b, &dy, y, x->rank, x->dims),
                                                     NULL };
    return onnx_emit(b, type, &desc, &x, 1, &y, 1) ? y : NULL;
}

struct onnx_value *onnx_make_scaled(struct onnx_builder *b, struct onnx_value *x, float scale, float bias,
                                    struct onnx_value *y)
{
    struct onnx_desc dx, dy;
    DML_SCALE_BIAS scale_bias = { scale, bias };
    y = x ? result(b, y, x->type, x->rank, x->dims) : NULL;
    if (!y)
        return NULL;
    DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC desc = { onnx_desc(b, &dx, x), onnx_desc_as(b, &dy, y, x->rank, x->dims),
                                                     &scale_bias };
    return onnx_emit(b, DML_OPERATOR_ELEMENT_WISE_IDENTITY, &desc, &x, 1, &y, 1) ? y : NULL;
}

struct onnx_value *onnx_make_swish(struct onnx_builder *b, struct onnx_value *x, float alpha, struct onnx_value *y)
{
    struct onnx_desc dx, dy;
    y = x ? result(b, y, x->type, x->rank, x->dims) : NULL;
    if (!y)
        return NULL;
    DML_ACTIVATION_SWISH_OPERATOR_DESC desc = { onnx_desc(b, &dx, x), onnx_desc_as(b, &dy, y, x->rank, x->dims),
                                                alpha };
    return onnx_emit(b, DML_OPERATOR_ACTIVATION_SWISH, &desc, &x, 1, &y, 1) ? y : NULL;
}

static bool is_comparison(DML_OPERATOR_TYPE type)
{
    switch (type) {
    case DML_OPERATOR_ELEMENT_WISE_LOGICAL_EQUALS:
    case DML_OPERATOR_ELEMENT_WISE_LOGICAL_GREATER_THAN:
    case DML_OPERATOR_ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL:
    case DML_OPERATOR_ELEMENT_WISE_LOGICAL_LESS_THAN:
    case DML_OPERATOR_ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL:
        return true;
    default:
        return false;
    }
}

struct onnx_value *onnx_make_binary(struct onnx_builder *b, DML_OPERATOR_TYPE type, struct onnx_value *x,
                                    struct onnx_value *z, struct onnx_value *y)
{
    struct onnx_desc dx, dz, dy;
    struct onnx_value *in[2] = { x, z };
    uint32_t rank;
    int64_t dims[ONNX_RANK_MAX];
    if (!x || !z || b->failed || !onnx_broadcast_dims(b, x, z, &rank, dims))
        return NULL;
    if (x->type != z->type) {
        onnx_fail(b, "'%s' is %s and '%s' %s", x->name, onnx_type_name(x->type), z->name, onnx_type_name(z->type));
        return NULL;
    }
    y = result(b, y, is_comparison(type) ? ONNX_BOOL : x->type, rank, dims);
    if (!y)
        return NULL;
    const DML_TENSOR_DESC *tx = onnx_desc_broadcast(b, &dx, x, rank, dims);
    const DML_TENSOR_DESC *tz = onnx_desc_broadcast(b, &dz, z, rank, dims);
    DML_ELEMENT_WISE_ADD_OPERATOR_DESC desc = { tx, tz, onnx_desc_as(b, &dy, y, rank, dims) };
    return onnx_emit(b, type, &desc, in, 2, &y, 1) ? y : NULL;
}

struct onnx_value *onnx_make_select(struct onnx_builder *b, struct onnx_value *condition, struct onnx_value *x,
                                    struct onnx_value *z, const struct onnx_value *like, struct onnx_value *y)
{
    struct onnx_value *in[3] = { condition, x, z };
    struct onnx_desc d[4];
    if (!condition || !x || !z || !like || !(y = result(b, y, x->type, like->rank, like->dims)))
        return NULL;
    DML_ELEMENT_WISE_IF_OPERATOR_DESC desc = {
        onnx_desc_broadcast(b, &d[0], condition, like->rank, like->dims),
        onnx_desc_broadcast(b, &d[1], x, like->rank, like->dims),
        onnx_desc_broadcast(b, &d[2], z, like->rank, like->dims),
        onnx_desc(b, &d[3], y),
    };
    return onnx_emit(b, DML_OPERATOR_ELEMENT_WISE_IF, &desc, in, 3, &y, 1) ? y : NULL;
}

struct onnx_value *onnx_make_slice(struct onnx_builder *b, struct onnx_value *x, uint32_t axis, int64_t first,
                                   int64_t count, struct onnx_value *y)
{
    struct onnx_desc dx, dy;
    UINT offsets[ONNX_RANK_MAX] = { 0 }, sizes[ONNX_RANK_MAX];
    INT steps[ONNX_RANK_MAX];
    int64_t dims[ONNX_RANK_MAX];
    if (!x || b->failed)
        return NULL;
    for (uint32_t i = 0; i < x->rank; i++) {
        dims[i] = i == axis ? count : x->dims[i];
        sizes[i] = (UINT)dims[i];
        steps[i] = 1;
    }
    offsets[axis] = (UINT)first;
    if (!(y = result(b, y, x->type, x->rank, dims)))
        return NULL;
    DML_SLICE1_OPERATOR_DESC desc = {
        onnx_desc(b, &dx, x), onnx_desc_as(b, &dy, y, x->rank, dims), x->rank, offsets, sizes, steps
    };
    return onnx_emit(b, DML_OPERATOR_SLICE1, &desc, &x, 1, &y, 1) ? y : NULL;
}

struct onnx_value *onnx_make_join(struct onnx_builder *b, struct onnx_value *const *x, uint32_t count, uint32_t axis,
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
    if (!(y = result(b, y, x[0]->type, x[0]->rank, dims)))
        return NULL;
    DML_JOIN_OPERATOR_DESC desc = { used, tensors, onnx_desc_as(b, &d[4], y, x[0]->rank, dims), axis };
    return onnx_emit(b, DML_OPERATOR_JOIN, &desc, in, used, &y, 1) ? y : NULL;
}

struct onnx_value *onnx_make_move(struct onnx_builder *b, struct onnx_value *x, uint32_t rank, const int64_t *dims,
                                  const uint32_t *strides, struct onnx_value *y)
{
    struct onnx_desc dx, dy;
    y = x ? result(b, y, x->type, rank, dims) : NULL;
    if (!y)
        return NULL;
    DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC desc = { onnx_desc_strided(b, &dx, x, rank, dims, strides),
                                                     onnx_desc_as(b, &dy, y, rank, dims), NULL };
    return onnx_emit(b, DML_OPERATOR_ELEMENT_WISE_IDENTITY, &desc, &x, 1, &y, 1) ? y : NULL;
}

struct onnx_value *onnx_make_lookup(struct onnx_builder *b, struct onnx_value *table, struct onnx_value *indices)
{
    struct onnx_desc d[3];
    struct onnx_value *in[2] = { table, indices };
    int64_t dims[4] = { 1, 1, 1, 1 }, table_dims[4] = { 1, 1, 1, 1 }, index_dims[4] = { 1, 1, 1, 1 };
    if (!table || !indices || b->failed)
        return NULL;
    if (table->rank != 2 || indices->rank > 3) {
        onnx_fail(b, "'%s' must have rank 2, '%s' at most 3", table->name, indices->name);
        return NULL;
    }
    uint32_t rank = indices->rank + 1;
    for (uint32_t i = 0; i < indices->rank; i++)
        dims[i] = index_dims[i + 1] = indices->dims[i];
    dims[rank - 1] = table->dims[1];
    struct onnx_value *y = onnx_temp(b, table->type, rank, dims);
    /* all three have one rank, which is at least that of the table */
    uint32_t used = BASE_MAX(rank, 2u);
    table_dims[used - 2] = table->dims[0];
    table_dims[used - 1] = table->dims[1];
    DML_GATHER_OPERATOR_DESC desc = { onnx_desc_as(b, &d[0], table, used, table_dims),
                                      onnx_desc_as(b, &d[1], indices, used, rank < 2 ? table_dims + 2 : index_dims),
                                      y ? onnx_desc_as(b, &d[2], y, used, dims) : NULL, used - 2, indices->rank };
    return y && onnx_emit(b, DML_OPERATOR_GATHER, &desc, in, 2, &y, 1) ? y : NULL;
}

struct onnx_value *onnx_make_reduced(struct onnx_builder *b, DML_REDUCE_FUNCTION function, struct onnx_value *x,
                                     const UINT *axes, UINT axis_count, struct onnx_value *y)
{
    struct onnx_desc dx, dy;
    int64_t dims[ONNX_RANK_MAX];
    if (!x || b->failed)
        return NULL;
    memcpy(dims, x->dims, sizeof(dims));
    for (UINT i = 0; i < axis_count; i++)
        dims[axes[i]] = 1;
    if (!(y = result(b, y, x->type, x->rank, dims)))
        return NULL;
    DML_REDUCE_OPERATOR_DESC desc = { function, onnx_desc(b, &dx, x), onnx_desc_as(b, &dy, y, x->rank, dims),
                                      axis_count, axes };
    return onnx_emit(b, DML_OPERATOR_REDUCE, &desc, &x, 1, &y, 1) ? y : NULL;
}

struct onnx_value *onnx_make_norm(struct onnx_builder *b, const struct onnx_norm *norm)
{
    struct onnx_desc d[4];
    struct onnx_value *in[3] = { norm->x, norm->scale, norm->bias }, *y = norm->y;
    if (!norm->x || b->failed || !(y = result(b, y, norm->x->type, norm->x->rank, norm->x->dims)))
        return NULL;
    DML_MEAN_VARIANCE_NORMALIZATION2_OPERATOR_DESC desc = {
        .InputTensor = onnx_desc_as(b, &d[0], norm->x, norm->rank, norm->dims),
        .ScaleTensor = norm->scale ? onnx_desc_as(b, &d[1], norm->scale, norm->rank, norm->param_dims) : NULL,
        .BiasTensor = norm->bias ? onnx_desc_as(b, &d[2], norm->bias, norm->rank, norm->param_dims) : NULL,
        .OutputTensor = onnx_desc_as(b, &d[3], y, norm->rank, norm->dims),
        .AxisCount = norm->axis_count,
        .Axes = norm->axes,
        .UseMean = norm->mean,
        .UseVariance = TRUE,
        .Epsilon = norm->epsilon,
    };
    return onnx_emit(b, DML_OPERATOR_MEAN_VARIANCE_NORMALIZATION2, &desc, in, 3, &y, 1) ? y : NULL;
}
