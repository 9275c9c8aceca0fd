/* SPDX-License-Identifier: Apache-2.0 */
/* Pad: negative amounts crop first, the others then pad the rest. */
#include "onnx/convert/converters.h"

struct pad {
    DML_PADDING_MODE mode;
    int64_t pads[2 * ONNX_RANK_MAX];
    struct onnx_value *value; /* a scalar, of mode "constant" only; NULL = zero */
};

static bool pad_amounts(struct onnx_builder *b, const struct onnx_node *n, const struct onnx_value *x, int64_t *pads)
{
    int64_t given[2 * ONNX_RANK_MAX], axes[ONNX_RANK_MAX];
    uint32_t count, axis_count = x->rank;
    for (uint32_t i = 0; i < x->rank; i++)
        axes[i] = i;
    memset(pads, 0, 2 * ONNX_RANK_MAX * sizeof(*pads));
    if (n->version < 11) {
        if (!onnx_attr_ints(b, n, "pads", given, 2 * ONNX_RANK_MAX, &count))
            return false;
    } else {
        const struct onnx_value *input = onnx_in(b, n, 1), *axis_input = onnx_in_optional(b, n, 3);
        if (!input || b->failed || !onnx_const_ints(b, input, given, 2 * ONNX_RANK_MAX, &count) ||
            (axis_input && !onnx_const_ints(b, axis_input, axes, ONNX_RANK_MAX, &axis_count)))
            return false;
    }
    if (count != 2 * axis_count)
        return onnx_fail(b, "pads has %u values, %u are needed", count, 2 * axis_count);
    for (uint32_t i = 0; i < axis_count; i++) {
        uint32_t axis;
        if (!onnx_axis(b, axes[i], x->rank, &axis))
            return false;
        if (given[i] < -INT32_MAX || given[i] > INT32_MAX || given[i + axis_count] < -INT32_MAX ||
            given[i + axis_count] > INT32_MAX)
            return onnx_fail(b, "pads of axis %u are %lld and %lld", axis, (long long)given[i],
                             (long long)given[i + axis_count]);
        pads[axis] = given[i];
        pads[axis + ONNX_RANK_MAX] = given[i + axis_count];
    }
    return true;
}

static bool pad_value(struct onnx_builder *b, const struct onnx_node *n, const struct onnx_value *x, struct pad *pad)
{
    if (pad->mode != DML_PADDING_MODE_CONSTANT)
        return true;
    if (n->version < 11)
        return (pad->value = onnx_scalar(b, x->type, onnx_attr_float(n, "value", 0))) != NULL;
    struct onnx_value *value = onnx_in_optional(b, n, 2);
    if (!value)
        return !b->failed;
    if (value->type != x->type || onnx_elements(value) != 1)
        return onnx_fail(b, "the value must be one %s", onnx_type_name(x->type));
    pad->value = onnx_temp(b, value->type, 0, NULL);
    return pad->value && onnx_alias(b, pad->value, value);
}

/* The part of x that negative amounts leave; they become 0. */
static struct onnx_value *pad_cut(struct onnx_builder *b, struct onnx_value *x, int64_t *pads)
{
    UINT offsets[ONNX_RANK_MAX], sizes[ONNX_RANK_MAX];
    INT strides[ONNX_RANK_MAX];
    int64_t dims[ONNX_RANK_MAX];
    struct onnx_desc dx, dy;
    bool cut = false;
    for (uint32_t i = 0; i < x->rank; i++) {
        int64_t *start = &pads[i], *end = &pads[i + ONNX_RANK_MAX];
        cut = cut || *start < 0 || *end < 0;
        offsets[i] = (UINT)BASE_MAX(-*start, 0);
        dims[i] = x->dims[i] - offsets[i] - BASE_MAX(-*end, 0);
        if (dims[i] < 0) {
            onnx_misfit(b, "dimension %u is cropped by more than its size", i);
            return NULL;
        }
        sizes[i] = (UINT)dims[i];
        strides[i] = 1;
        *start = BASE_MAX(*start, 0);
        *end = BASE_MAX(*end, 0);
    }
    struct onnx_value *y = cut ? onnx_temp(b, x->type, x->rank, dims) : x;
    if (!cut || !y)
        return y;
    DML_SLICE1_OPERATOR_DESC desc = { onnx_desc(b, &dx, x), onnx_desc(b, &dy, y), x->rank, offsets, sizes, strides };
    return onnx_emit(b, DML_OPERATOR_SLICE1, &desc, &x, 1, &y, 1) ? y : NULL;
}

static bool pad_emit(struct onnx_builder *b, const struct pad *pad, struct onnx_value *x, DML_SCALAR_UNION value,
                     struct onnx_value *y)
{
    UINT start[ONNX_RANK_MAX], end[ONNX_RANK_MAX];
    struct onnx_desc dx, dy;
    if (!x || !y)
        return false;
    for (uint32_t i = 0; i < x->rank; i++) {
        start[i] = (UINT)pad->pads[i];
        end[i] = (UINT)pad->pads[i + ONNX_RANK_MAX];
    }
    DML_PADDING1_OPERATOR_DESC desc = {
        onnx_desc(b, &dx, x), onnx_desc(b, &dy, y), pad->mode, onnx_type_dml(x->type), value, x->rank, start, end
    };
    return onnx_emit(b, DML_OPERATOR_PADDING1, &desc, &x, 1, &y, 1);
}

/* A value that is not known when the graph is compiled: padding with zeros, whose positions a mask then selects. */
static bool pad_computed(struct onnx_builder *b, const struct pad *pad, struct onnx_value *x, struct onnx_value *y)
{
    const DML_SCALAR_UNION zero = { .UInt64 = 0 }, one = { .UInt8 = 1 };
    struct onnx_value *ones = onnx_temp(b, ONNX_BOOL, x->rank, x->dims);
    struct onnx_value *inside = onnx_temp(b, ONNX_BOOL, y->rank, y->dims);
    struct onnx_value *padded = onnx_temp(b, y->type, y->rank, y->dims);
    return onnx_fill_to(b, ones, one) && pad_emit(b, pad, ones, zero, inside) && pad_emit(b, pad, x, zero, padded) &&
           onnx_select_to(b, inside, padded, pad->value, y);
}

bool onnx_pad(struct onnx_builder *b, const struct onnx_node *n)
{
    static const char *const modes[] = { "constant", "edge", "reflect", "symmetric", "wrap" };
    struct onnx_value *x = onnx_in(b, n, 0);
    const char *mode = onnx_attr_string(n, "mode", "constant");
    struct pad pad = { DML_PADDING_MODE_CONSTANT };
    int64_t dims[ONNX_RANK_MAX];
    DML_SCALAR_UNION value = { .UInt64 = 0 };
    uint32_t kind = 0;
    while (kind < ARRAY_SIZE(modes) && strcmp(modes[kind], mode))
        kind++;
    if (kind == ARRAY_SIZE(modes))
        return onnx_fail(b, "mode '%s' is not supported", mode);
    pad.mode = (DML_PADDING_MODE)kind;
    if (!x || !pad_amounts(b, n, x, pad.pads) || !pad_value(b, n, x, &pad) || !(x = pad_cut(b, x, pad.pads)))
        return false;
    for (uint32_t i = 0; i < x->rank; i++)
        dims[i] = x->dims[i] + pad.pads[i] + pad.pads[i + ONNX_RANK_MAX];
    struct onnx_value *y = onnx_out(b, n, 0, x->type, x->rank, dims);
    if (!y)
        return false;
    if (!x->rank)
        return onnx_alias(b, y, x);
    if (!onnx_elements(x) && onnx_elements(y) && !kind) {
        struct onnx_value *from = pad.value ? pad.value : onnx_scalar(b, x->type, 0);
        struct onnx_value *all = from ? onnx_broadcast_copy(b, from, y->rank, dims) : NULL;
        return all && onnx_alias(b, y, all);
    }
    if (pad.value && pad.value->source != ONNX_SOURCE_CONSTANT && onnx_elements(y))
        return pad_computed(b, &pad, x, y);
    if (pad.value && pad.value->source == ONNX_SOURCE_CONSTANT)
        memcpy(&value, pad.value->data, onnx_type_bytes(x->type));
    return pad_emit(b, &pad, x, value, y);
}
