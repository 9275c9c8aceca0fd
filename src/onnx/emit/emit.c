/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/emit/emit.h"

#include <stdio.h>

/* ---- one operand ---- */

struct onnx_value *onnx_activate_to(struct onnx_builder *b, DML_OPERATOR_TYPE type, struct onnx_value *x, float p,
                                    float q, struct onnx_value *y)
{
    struct onnx_desc dx, dy;
    y = x ? onnx_emit_result(b, y, x->type, x->rank, x->dims) : NULL;
    if (!y)
        return NULL;
    /* Operators without floats have a ScaleBias pointer, or nothing, at its position: both zero. */
    DML_ACTIVATION_LINEAR_OPERATOR_DESC desc = { onnx_desc(b, &dx, x), onnx_desc_as(b, &dy, y, x->rank, x->dims), p,
                                                 q };
    return onnx_emit(b, type, &desc, &x, 1, &y, 1) ? y : NULL;
}

struct onnx_value *onnx_activate(struct onnx_builder *b, DML_OPERATOR_TYPE type, struct onnx_value *x, float p, float q)
{
    return onnx_activate_to(b, type, x, p, q, NULL);
}

struct onnx_value *onnx_apply_to(struct onnx_builder *b, DML_OPERATOR_TYPE type, struct onnx_value *x,
                                 struct onnx_value *y)
{
    return onnx_activate_to(b, type, x, 0, 0, y);
}

struct onnx_value *onnx_apply(struct onnx_builder *b, DML_OPERATOR_TYPE type, struct onnx_value *x)
{
    return onnx_apply_to(b, type, x, NULL);
}

struct onnx_value *onnx_scaled_to(struct onnx_builder *b, struct onnx_value *x, float factor, float offset,
                                  struct onnx_value *y)
{
    struct onnx_desc dx, dy;
    DML_SCALE_BIAS scale_bias = { factor, offset };
    y = x ? onnx_emit_result(b, y, x->type, x->rank, x->dims) : NULL;
    if (!y)
        return NULL;
    DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC desc = { onnx_desc(b, &dx, x), onnx_desc_as(b, &dy, y, x->rank, x->dims),
                                                     &scale_bias };
    return onnx_emit(b, DML_OPERATOR_ELEMENT_WISE_IDENTITY, &desc, &x, 1, &y, 1) ? y : NULL;
}

struct onnx_value *onnx_scaled(struct onnx_builder *b, struct onnx_value *x, float factor, float offset)
{
    return onnx_scaled_to(b, x, factor, offset, NULL);
}

struct onnx_value *onnx_convert_to(struct onnx_builder *b, struct onnx_value *x, int32_t type, struct onnx_value *y)
{
    struct onnx_desc dx, dy;
    if (!x)
        return NULL;
    if (x->type == type)
        return !y || onnx_alias(b, y, x) ? (y ? y : x) : NULL;
    y = onnx_emit_result(b, y, type, x->rank, x->dims);
    if (!y)
        return NULL;
    DML_CAST_OPERATOR_DESC desc = { onnx_desc(b, &dx, x), onnx_desc_as(b, &dy, y, x->rank, x->dims) };
    return onnx_emit(b, DML_OPERATOR_CAST, &desc, &x, 1, &y, 1) ? y : NULL;
}

struct onnx_value *onnx_convert(struct onnx_builder *b, struct onnx_value *x, int32_t type)
{
    return onnx_convert_to(b, x, type, NULL);
}

bool onnx_cast_to(struct onnx_builder *b, struct onnx_value *x, struct onnx_value *y)
{
    return y && onnx_convert_to(b, x, y->type, y);
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

struct onnx_value *onnx_reduced_to(struct onnx_builder *b, DML_REDUCE_FUNCTION function, struct onnx_value *x,
                                   const UINT *axes, UINT count, struct onnx_value *y)
{
    struct onnx_desc dx, dy;
    int64_t dims[ONNX_RANK_MAX];
    if (!x || b->failed)
        return NULL;
    memcpy(dims, x->dims, sizeof(dims));
    for (UINT i = 0; i < count; i++)
        dims[axes[i]] = 1;
    if (!(y = onnx_emit_result(b, y, x->type, x->rank, dims)))
        return NULL;
    DML_REDUCE_OPERATOR_DESC desc = { function, onnx_desc(b, &dx, x), onnx_desc_as(b, &dy, y, x->rank, dims), count,
                                      axes };
    return onnx_emit(b, DML_OPERATOR_REDUCE, &desc, &x, 1, &y, 1) ? y : NULL;
}

struct onnx_value *onnx_reduced(struct onnx_builder *b, DML_REDUCE_FUNCTION function, struct onnx_value *x,
                                const UINT *axes, UINT count)
{
    return onnx_reduced_to(b, function, x, axes, count, NULL);
}

struct onnx_value *onnx_normalize(struct onnx_builder *b, const struct onnx_norm *norm)
{
    struct onnx_desc d[4];
    struct onnx_value *in[3] = { norm->x, norm->scale, norm->bias }, *y = norm->y;
    if (!norm->x || b->failed || !(y = onnx_emit_result(b, y, norm->x->type, norm->x->rank, norm->x->dims)))
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

/* ---- several operands ---- */

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

struct onnx_value *onnx_apply2_to(struct onnx_builder *b, DML_OPERATOR_TYPE type, struct onnx_value *x,
                                  struct onnx_value *z, struct onnx_value *y)
{
    struct onnx_desc dx, dz, dy;
    struct onnx_value *in[2] = { x, z };
    uint32_t rank;
    int64_t dims[ONNX_RANK_MAX];
    if (!x || !z || b->failed || !onnx_broadcast_dims(b, x, z, &rank, dims))
        return NULL;
    y = onnx_emit_result(b, y, is_comparison(type) ? ONNX_BOOL : x->type, rank, dims);
    if (!y)
        return NULL;
    /* POW has a ScaleBias after its three tensors; the others end here. */
    DML_ELEMENT_WISE_POW_OPERATOR_DESC desc = { onnx_desc_broadcast(b, &dx, x, rank, dims),
                                                onnx_desc_broadcast(b, &dz, z, rank, dims),
                                                onnx_desc_as(b, &dy, y, rank, dims), NULL };
    return onnx_emit(b, type, &desc, in, 2, &y, 1) ? y : NULL;
}

struct onnx_value *onnx_apply2(struct onnx_builder *b, DML_OPERATOR_TYPE type, struct onnx_value *x,
                               struct onnx_value *z)
{
    return onnx_apply2_to(b, type, x, z, NULL);
}

struct onnx_value *onnx_select_to(struct onnx_builder *b, struct onnx_value *condition, struct onnx_value *x,
                                  struct onnx_value *z, struct onnx_value *y)
{
    struct onnx_value *in[3] = { condition, x, z }, shape = { .name = "" };
    uint32_t rank;
    int64_t dims[ONNX_RANK_MAX];
    struct onnx_desc d[4];
    if (!condition || !x || !z || b->failed || !onnx_broadcast_dims(b, x, z, &shape.rank, shape.dims) ||
        !onnx_broadcast_dims(b, condition, &shape, &rank, dims) || !(y = onnx_emit_result(b, y, x->type, rank, dims)))
        return NULL;
    DML_ELEMENT_WISE_IF_OPERATOR_DESC desc = {
        onnx_desc_broadcast(b, &d[0], condition, rank, dims),
        onnx_desc_broadcast(b, &d[1], x, rank, dims),
        onnx_desc_broadcast(b, &d[2], z, rank, dims),
        onnx_desc_as(b, &d[3], y, rank, dims),
    };
    return onnx_emit(b, DML_OPERATOR_ELEMENT_WISE_IF, &desc, in, 3, &y, 1) ? y : NULL;
}

struct onnx_value *onnx_select(struct onnx_builder *b, struct onnx_value *condition, struct onnx_value *x,
                               struct onnx_value *z)
{
    return onnx_select_to(b, condition, x, z, NULL);
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

struct onnx_value *onnx_lookup(struct onnx_builder *b, struct onnx_value *table, struct onnx_value *indices)
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

/* ---- converters in terms of other converters ---- */

const char *onnx_join_names(struct onnx_builder *b, const char *prefix, const char *name)
{
    size_t length = strlen(prefix), size = strlen(name) + 1;
    char *joined = length ? base_arena_alloc(&b->arena, length + size) : NULL;
    if (!length)
        return name;
    if (!joined) {
        onnx_fail(b, "out of memory");
        return NULL;
    }
    memcpy(joined, prefix, length);
    memcpy(joined + length, name, size);
    return joined;
}

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
    const struct onnx_converter *row = onnx_converter_find(as->domain, as->op);
    return row && row->convert(b, as);
}

bool onnx_in_type(struct onnx_builder *b, const struct onnx_node *n, onnx_converter_fn *convert, uint32_t inputs,
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
        if (y && !onnx_cast_to(b, y, onnx_out(b, n, i, y->type == type ? first->type : y->type, y->rank, y->dims)))
            return false;
    }
    return !b->failed;
}
