#include "onnx/write.h"

#include <math.h>

bool onnx_emit_unary(struct onnx_builder *b, DML_OPERATOR_TYPE type, struct onnx_value *x, struct onnx_value *y)
{
    struct onnx_desc dx, dy;
    if (!x || !y)
        return false;
    DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC desc = { onnx_desc(b, &dx, x), onnx_desc(b, &dy, y), NULL };
    return onnx_emit(b, type, &desc, &x, 1, &y, 1);
}

bool onnx_emit_binary(struct onnx_builder *b, DML_OPERATOR_TYPE type, struct onnx_value *x, struct onnx_value *z,
                      struct onnx_value *y)
{
    struct onnx_desc dx, dz, dy;
    struct onnx_value *in[2] = { x, z };
    if (!x || !z || !y)
        return false;
    const DML_TENSOR_DESC *tx = onnx_desc_broadcast(b, &dx, x, y->rank, y->dims);
    const DML_TENSOR_DESC *tz = onnx_desc_broadcast(b, &dz, z, y->rank, y->dims);
    const DML_TENSOR_DESC *ty = onnx_desc(b, &dy, y);
    /* POW has a ScaleBias after its three tensors; the others end here. */
    DML_ELEMENT_WISE_POW_OPERATOR_DESC desc = { tx, tz, ty, NULL };
    return onnx_emit(b, type, &desc, in, 2, &y, 1);
}

bool onnx_emit_if(struct onnx_builder *b, struct onnx_value *const *in, struct onnx_value *y)
{
    struct onnx_desc d[4];
    if (!in[0] || !in[1] || !in[2] || !y)
        return false;
    DML_ELEMENT_WISE_IF_OPERATOR_DESC desc = {
        onnx_desc_broadcast(b, &d[0], in[0], y->rank, y->dims),
        onnx_desc_broadcast(b, &d[1], in[1], y->rank, y->dims),
        onnx_desc_broadcast(b, &d[2], in[2], y->rank, y->dims),
        onnx_desc(b, &d[3], y),
    };
    return onnx_emit(b, DML_OPERATOR_ELEMENT_WISE_IF, &desc, in, 3, &y, 1);
}

bool onnx_emit_scaled(struct onnx_builder *b, struct onnx_value *x, float factor, float offset, struct onnx_value *y)
{
    struct onnx_desc dx, dy;
    DML_SCALE_BIAS scale_bias = { factor, offset };
    if (!x || !y)
        return false;
    DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC desc = { onnx_desc(b, &dx, x), onnx_desc(b, &dy, y), &scale_bias };
    return onnx_emit(b, DML_OPERATOR_ELEMENT_WISE_IDENTITY, &desc, &x, 1, &y, 1);
}

bool onnx_emit_reduce(struct onnx_builder *b, DML_REDUCE_FUNCTION function, struct onnx_value *x, struct onnx_value *y,
                      const int64_t *full, const UINT *axes, UINT count)
{
    struct onnx_desc dx, dy;
    if (!x || !y)
        return false;
    DML_REDUCE_OPERATOR_DESC desc = { function, onnx_desc(b, &dx, x), onnx_desc_as(b, &dy, y, x->rank, full), count,
                                      axes };
    return onnx_emit(b, DML_OPERATOR_REDUCE, &desc, &x, 1, &y, 1);
}

bool onnx_emit_fill(struct onnx_builder *b, struct onnx_value *y, DML_SCALAR_UNION value)
{
    struct onnx_desc dy;
    if (!y)
        return false;
    DML_FILL_VALUE_CONSTANT_OPERATOR_DESC desc = { onnx_desc(b, &dy, y), onnx_type_dml(y->type), value };
    return onnx_emit(b, DML_OPERATOR_FILL_VALUE_CONSTANT, &desc, NULL, 0, &y, 1);
}

bool onnx_emit_cast(struct onnx_builder *b, struct onnx_value *x, struct onnx_value *y)
{
    struct onnx_desc dx, dy;
    if (!x || !y)
        return false;
    if (x->type == y->type)
        return onnx_alias(b, y, x);
    DML_CAST_OPERATOR_DESC desc = { onnx_desc(b, &dx, x), onnx_desc(b, &dy, y) };
    return onnx_emit(b, DML_OPERATOR_CAST, &desc, &x, 1, &y, 1);
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

bool onnx_in_type(struct onnx_builder *b, const struct onnx_node *n, onnx_row_fn *convert, uint32_t inputs,
                  int32_t type)
{
    const struct onnx_value *first = onnx_in(b, n, 0);
    struct onnx_node wide = *n;
    if (!first)
        return false;
    wide.inputs = base_arena_alloc(&b->arena, BASE_MAX(n->input_count, 1u) * sizeof(*wide.inputs));
    wide.outputs = base_arena_alloc(&b->arena, BASE_MAX(n->output_count, 1u) * sizeof(*wide.outputs));
    if (!wide.inputs || !wide.outputs)
        return onnx_fail(b, "out of memory");
    for (uint32_t i = 0; i < n->input_count; i++) {
        struct onnx_value *x = i < 32 && inputs >> i & 1 ? onnx_convert(b, onnx_in_optional(b, n, i), type) : NULL;
        wide.inputs[i] = x ? x->name : n->inputs[i];
    }
    for (uint32_t i = 0; i < n->output_count; i++) {
        wide.outputs[i] = onnx_has_output(n, i) ? onnx_new_name(b) : "";
        if (!wide.outputs[i])
            return false;
    }
    if (b->failed || !convert(b, &wide))
        return false;
    for (uint32_t i = 0; i < n->output_count; i++) {
        struct onnx_value *y = onnx_has_output(n, i) ? onnx_value_find(b, wide.outputs[i]) : NULL;
        if (y && !onnx_emit_cast(b, y, onnx_out(b, n, i, y->type == type ? first->type : y->type, y->rank, y->dims)))
            return false;
    }
    return !b->failed;
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
