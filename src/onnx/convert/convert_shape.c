/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that only reinterpret bytes or compute data at compile time: no work remains for the device. */
#include "onnx/convert/converters.h"

bool onnx_constant_node(struct onnx_builder *b, const struct onnx_node *n)
{
    const struct onnx_attribute *value = onnx_attribute(n, "value");
    const struct onnx_attribute *a;
    int64_t count = 0;
    const struct onnx_value *known = NULL;
    if (value && value->t) {
        const struct onnx_tensor *t = value->t;
        if (!onnx_type_bytes(t->type))
            return onnx_fail(b, "data type %s is not supported", onnx_type_name(t->type));
        struct onnx_value *v = onnx_out(b, n, 0, t->type, t->rank, t->dims);
        if (!v)
            return false;
        v->source = ONNX_SOURCE_CONSTANT;
        v->data = t->data;
        v->mapped = t->mapped;
        return true;
    }
    if ((a = onnx_attribute(n, "value_float")))
        known = onnx_constant(b, ONNX_FLOAT, 0, NULL, &a->f, sizeof(a->f));
    else if ((a = onnx_attribute(n, "value_int")))
        known = onnx_constant(b, ONNX_INT64, 0, NULL, &a->i, sizeof(a->i));
    else if ((a = onnx_attribute(n, "value_floats")) && a->floats && (count = a->count) > 0)
        known = onnx_constant(b, ONNX_FLOAT, 1, &count, a->floats, a->count * sizeof(*a->floats));
    else if ((a = onnx_attribute(n, "value_ints")) && a->ints && (count = a->count) > 0)
        known = onnx_constant(b, ONNX_INT64, 1, &count, a->ints, a->count * sizeof(*a->ints));
    else
        return onnx_fail(b, "has no value of a supported kind");
    return known && onnx_alias(b, onnx_out(b, n, 0, known->type, known->rank, known->dims), known);
}

bool onnx_shape_of(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0);
    if (!x)
        return false;
    int64_t start = onnx_attr_int(n, "start", 0), end = onnx_attr_int(n, "end", x->rank), rank = x->rank;
    start = start < 0 ? BASE_MAX(start + rank, 0) : BASE_MIN(start, rank);
    end = end < 0 ? BASE_MAX(end + rank, 0) : BASE_MIN(end, rank);
    int64_t count = BASE_MAX(end - start, 0);
    struct onnx_value *known =
        onnx_constant(b, ONNX_INT64, 1, &count, x->dims + start, (uint64_t)count * sizeof(int64_t));
    return known && onnx_alias(b, onnx_out(b, n, 0, ONNX_INT64, 1, &count), known);
}

bool onnx_constant_of_shape(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *shape = onnx_in(b, n, 0);
    const struct onnx_attribute *a = onnx_attribute(n, "value");
    int64_t dims[ONNX_RANK_MAX];
    uint32_t rank;
    float zero = 0;
    if (!shape || !onnx_const_ints(b, shape, dims, ONNX_RANK_MAX, &rank))
        return false;
    int32_t type = a && a->t ? a->t->type : ONNX_FLOAT;
    const void *element = a && a->t ? a->t->data : &zero;
    uint32_t size = onnx_type_bytes(type);
    struct onnx_value *y = size ? onnx_out(b, n, 0, type, rank, dims) : NULL;
    if (!y)
        return onnx_fail(b, "data type %s is not supported", onnx_type_name(type));
    int64_t count = onnx_elements(y);
    if (count < 0 || count > (int64_t)1 << 28)
        return onnx_fail(b, "too many elements (%lld)", (long long)count);
    char *data = base_arena_alloc(&b->arena, (size_t)count * size);
    if (!data)
        return onnx_fail(b, "out of memory");
    for (int64_t i = 0; i < count; i++)
        memcpy(data + (size_t)i * size, element, size);
    y->source = ONNX_SOURCE_CONSTANT;
    y->data = data;
    return true;
}

/* 0 copies the input's dimension (unless allowzero), one -1 is inferred. */
bool onnx_reshape(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0), *shape = onnx_in_optional(b, n, 1);
    int64_t dims[ONNX_RANK_MAX], known = 1;
    uint32_t rank = 0, open = ONNX_RANK_MAX;
    if (!x || b->failed)
        return false;
    if (shape) {
        if (!onnx_const_ints(b, shape, dims, ONNX_RANK_MAX, &rank))
            return false;
    } else {
        if (!onnx_attr_ints(b, n, "shape", dims, ONNX_RANK_MAX, &rank))
            return false;
    }
    for (uint32_t i = 0; i < rank; i++) {
        if (dims[i] == 0 && !onnx_attr_int(n, "allowzero", 0)) {
            if (i >= x->rank)
                return onnx_fail(b, "shape[%u] = 0 copies a dimension that the input does not have", i);
            dims[i] = x->dims[i];
        }
        if (dims[i] == -1 && open == ONNX_RANK_MAX)
            open = i;
        else if (dims[i] < 0)
            return onnx_fail(b, "shape[%u] = %lld", i, (long long)dims[i]);
        else if (dims[i] > UINT32_MAX || __builtin_mul_overflow(known, dims[i], &known))
            return onnx_fail(b, "shape[%u] = %lld makes the tensor too large", i, (long long)dims[i]);
    }
    if (open < rank)
        dims[open] = known ? onnx_elements(x) / known : 0;
    return onnx_alias(b, onnx_out(b, n, 0, x->type, rank, dims), x);
}

bool onnx_flatten(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0);
    int64_t axis = onnx_attr_int(n, "axis", 1), dims[2] = { 1, 1 };
    if (!x)
        return false;
    if (axis < -(int64_t)x->rank || axis > (int64_t)x->rank)
        return onnx_fail(b, "axis %lld is outside the %u dimensions", (long long)axis, x->rank);
    axis = axis < 0 ? axis + x->rank : axis;
    for (uint32_t i = 0; i < x->rank; i++)
        dims[i >= (uint32_t)axis] = onnx_size_product(dims[i >= (uint32_t)axis], x->dims[i]);
    return onnx_alias(b, onnx_out(b, n, 0, x->type, 2, dims), x);
}

/* Squeeze and Unsqueeze: axes are an attribute before opset 13, an input since. */
bool onnx_squeeze(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0), *input = onnx_in_optional(b, n, 1);
    int64_t values[ONNX_RANK_MAX], dims[ONNX_RANK_MAX];
    bool expand = !strcmp(n->op, "Unsqueeze");
    uint32_t count, mask = 0, rank = 0, from = 0;
    if (!onnx_attr_ints(b, n, "axes", values, ONNX_RANK_MAX, &count) || !x || b->failed ||
        (input && !onnx_const_ints(b, input, values, ONNX_RANK_MAX, &count)))
        return false;
    uint32_t full = x->rank + (expand ? count : 0);
    if (full > ONNX_RANK_MAX)
        return onnx_fail(b, "the result has more than 8 dimensions");
    for (uint32_t i = 0; i < count; i++) {
        uint32_t axis;
        if (!onnx_axis(b, values[i], full, &axis))
            return false;
        mask |= 1u << axis;
    }
    for (uint32_t i = 0; !expand && !count && i < full; i++)
        mask |= (uint32_t)(x->dims[i] == 1) << i;
    for (uint32_t i = 0; i < full; i++) {
        if (expand)
            dims[rank++] = mask >> i & 1 || from == x->rank ? 1 : x->dims[from++];
        else if (!(mask >> i & 1))
            dims[rank++] = x->dims[i];
    }
    return onnx_alias(b, onnx_out(b, n, 0, x->type, rank, dims), x);
}
