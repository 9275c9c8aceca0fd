/* SPDX-License-Identifier: Apache-2.0 */
/* QAttention: the projection of query, key and value in integers, attention in floats. */
#include "onnx/convert/converters.h"
#include "onnx/convert/quant.h"

#include <math.h>

struct attention {
    int64_t batch, sequence, hidden, heads, size, past, total;
    int32_t type; /* of the floats */
    double filter;
};

static bool attention_read(struct onnx_builder *b, const struct onnx_node *n, const struct onnx_factors *f,
                           const struct onnx_value *past, struct attention *a)
{
    const struct onnx_value *x = f->a.x, *w = f->b.x;
    if (!x || !w || !f->a.scale || !f->b.scale || b->failed)
        return false;
    a->heads = onnx_attr_int(n, "num_heads", 0);
    if (x->rank != 3 || w->rank != 2 || a->heads < 1)
        return onnx_fail(b, "input of rank %u, weights of rank %u, %lld heads", x->rank, w->rank, (long long)a->heads);
    if (w->dims[1] % (3 * a->heads) || w->dims[1] < 1)
        return onnx_misfit(b, "%lld columns are not those of %lld heads", (long long)w->dims[1], (long long)a->heads);
    if (onnx_attr_int(n, "do_rotary", 0) || onnx_attr_int(n, "past_present_share_buffer", 0))
        return onnx_fail(b, "do_rotary and past_present_share_buffer are not supported");
    a->batch = x->dims[0];
    a->sequence = x->dims[1];
    a->hidden = w->dims[1] / 3;
    a->size = a->hidden / a->heads;
    a->type = f->a.scale->type;
    a->filter = (double)onnx_attr_float(n, "mask_filter_value", -10000.0f);
    if (past && (past->rank != 5 || past->dims[0] != 2 || past->dims[1] != a->batch || past->dims[2] != a->heads ||
                 past->dims[4] != a->size))
        return onnx_misfit(b, "past '%s' is not [2, batch, heads, length, size]", past->name);
    a->past = past ? past->dims[3] : 0;
    a->total = a->past + a->sequence;
    return true;
}

/* `count` equal parts along an axis. */
static bool split(struct onnx_builder *b, struct onnx_value *x, uint32_t axis, uint32_t count, struct onnx_value **out)
{
    struct onnx_desc d[3], dx;
    DML_TENSOR_DESC tensors[3];
    int64_t dims[ONNX_RANK_MAX];
    if (!x)
        return false;
    memcpy(dims, x->dims, sizeof(dims));
    dims[axis] /= count;
    for (uint32_t i = 0; i < count; i++) {
        out[i] = onnx_temp(b, x->type, x->rank, dims);
        const DML_TENSOR_DESC *t = onnx_desc(b, &d[i], out[i]);
        if (!t)
            return false;
        tensors[i] = *t;
    }
    DML_SPLIT_OPERATOR_DESC desc = { onnx_desc(b, &dx, x), count, tensors, axis };
    return onnx_emit(b, DML_OPERATOR_SPLIT, &desc, &x, 1, out, count);
}

/* ---- masks, as numbers that are added to the scores: [batch or 1, 1, sequence or 1, total] ---- */

/* filter where the condition holds, 0 elsewhere */
static struct onnx_value *hide(struct onnx_builder *b, const struct attention *a, struct onnx_value *condition)
{
    return onnx_select(b, condition, onnx_scalar(b, a->type, a->filter), onnx_scalar(b, a->type, 0));
}

/* Masks keys from ends[i] on, and those before starts[i]. */
static struct onnx_value *mask_by_length(struct onnx_builder *b, const struct attention *a, struct onnx_value *mask)
{
    const int64_t dims[4] = { a->batch, 1, 1, 1 };
    struct onnx_value *at = onnx_counting(b, ONNX_INT32, 0, 1, &a->total), *parts[2] = { mask, NULL };
    bool starts = mask->dims[0] == 2 * a->batch;
    if (starts && !split(b, mask, 0, 2, parts))
        return NULL;
    struct onnx_value *hidden =
        onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL, at, onnx_as(b, parts[0], 4, dims));
    if (!starts)
        return hide(b, a, hidden);
    struct onnx_value *before =
        onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_LOGICAL_LESS_THAN, at, onnx_as(b, parts[1], 4, dims));
    return hide(b, a, onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_LOGICAL_OR, hidden, before));
}

static struct onnx_value *mask_given(struct onnx_builder *b, const struct attention *a, struct onnx_value *mask)
{
    if (mask->type == ONNX_INT32 && mask->rank == 1 && (mask->dims[0] == a->batch || mask->dims[0] == 2 * a->batch))
        return mask_by_length(b, a, mask);
    bool whole = mask->rank == 3 && mask->dims[1] == a->sequence;
    const int64_t dims[4] = { a->batch, 1, whole ? a->sequence : 1, a->total };
    if (mask->type != ONNX_INT32 || !mask->rank || mask->rank > 3) {
        onnx_fail(b, "mask '%s' of %s and rank %u is not supported", mask->name, onnx_type_name(mask->type),
                  mask->rank);
        return NULL;
    }
    if ((mask->rank != 2 && !whole) || mask->dims[0] != a->batch || mask->dims[mask->rank - 1] != a->total) {
        onnx_misfit(b, "the shape of mask '%s' does not fit %lld queries and %lld keys", mask->name,
                    (long long)a->sequence, (long long)a->total);
        return NULL;
    }
    struct onnx_value *zero = onnx_scalar(b, ONNX_INT32, 0);
    return hide(b, a, onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_LOGICAL_EQUALS, onnx_as(b, mask, 4, dims), zero));
}

/* Later keys than the query. */
static struct onnx_value *mask_causal(struct onnx_builder *b, const struct attention *a)
{
    const int64_t dims[4] = { 1, 1, a->sequence, a->total };
    double *values = onnx_reals(b, a->sequence * a->total);
    for (int64_t i = 0; values && i < a->sequence * a->total; i++)
        values[i] = i % a->total > a->past + i / a->total ? a->filter : 0;
    return onnx_constant_reals(b, a->type, 4, dims, values);
}

static bool masks(struct onnx_builder *b, const struct onnx_node *n, const struct attention *a, struct onnx_value **out)
{
    struct onnx_value *mask = onnx_in_optional(b, n, 5), *causal = NULL;
    *out = NULL;
    /* A dummy mask has one element per row. */
    if (mask && !(mask->rank == 2 && mask->dims[1] == 1 && a->total != 1))
        *out = mask_given(b, a, mask);
    if (onnx_attr_int(n, "unidirectional", 0))
        causal = mask_causal(b, a);
    if (*out && causal)
        *out = onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_ADD, *out, causal);
    else if (causal)
        *out = causal;
    return !b->failed;
}

/* ---- attention ---- */

/* [2, batch, heads, length, size] and its two halves. */
static bool join_present(struct onnx_builder *b, const struct onnx_node *n, const struct attention *a,
                         struct onnx_value *const *parts)
{
    const int64_t dims[5] = { 2, a->batch, a->heads, a->total, a->size };
    const int64_t half[5] = { 1, a->batch, a->heads, a->total, a->size };
    struct onnx_value *y = onnx_out(b, n, 1, a->type, 5, dims);
    struct onnx_desc d[3];
    const DML_TENSOR_DESC *t[2] = { onnx_desc_as(b, &d[0], parts[0], 5, half),
                                    onnx_desc_as(b, &d[1], parts[1], 5, half) };
    if (!y || !t[0] || !t[1])
        return false;
    const DML_TENSOR_DESC tensors[2] = { *t[0], *t[1] };
    DML_JOIN_OPERATOR_DESC desc = { 2, tensors, onnx_desc(b, &d[2], y), 0 };
    return onnx_emit(b, DML_OPERATOR_JOIN, &desc, parts, 2, &y, 1);
}

static bool attend(struct onnx_builder *b, const struct onnx_node *n, const struct attention *a,
                   struct onnx_value *const *tokens, struct onnx_value *const *past, struct onnx_value *mask)
{
    const int64_t out[3] = { a->batch, a->sequence, a->hidden };
    const int64_t scores[4] = { a->batch, a->heads, a->sequence, a->total };
    const int64_t kept[4] = { a->batch, a->heads, a->total, a->size };
    const int64_t old[4] = { a->batch, a->heads, a->past, a->size };
    struct onnx_value *in[11] = { tokens[0], tokens[1], tokens[2], [8] = mask, [9] = past[0], [10] = past[1] };
    struct onnx_value *y[3] = { onnx_out(b, n, 0, a->type, 3, out), NULL, NULL };
    struct onnx_desc d[9];
    float scale = onnx_attr_float(n, "scale", 0);
    bool present = onnx_has_output(n, 1);
    for (uint32_t i = 1; i < 3 && present; i++)
        y[i] = onnx_temp(b, a->type, 4, kept);
    DML_MULTIHEAD_ATTENTION_OPERATOR_DESC desc = {
        .QueryTensor = onnx_desc(b, &d[0], in[0]),
        .KeyTensor = onnx_desc(b, &d[1], in[1]),
        .ValueTensor = onnx_desc(b, &d[2], in[2]),
        .RelativePositionBiasTensor = onnx_desc_broadcast(b, &d[3], mask, 4, scores),
        .PastKeyTensor = onnx_desc_as(b, &d[4], in[9], 4, old),
        .PastValueTensor = onnx_desc_as(b, &d[5], in[10], 4, old),
        .OutputTensor = onnx_desc(b, &d[6], y[0]),
        .OutputPresentKeyTensor = onnx_desc(b, &d[7], y[1]),
        .OutputPresentValueTensor = onnx_desc(b, &d[8], y[2]),
        .Scale = scale != 0 ? scale : (float)(1 / sqrt((double)a->size)),
        .MaskFilterValue = (float)a->filter,
        .HeadCount = (UINT)a->heads,
    };
    return y[0] && onnx_emit(b, DML_OPERATOR_MULTIHEAD_ATTENTION, &desc, in, 11, y, 3) &&
           (!present || join_present(b, n, a, &y[1]));
}

bool onnx_qattention(struct onnx_builder *b, const struct onnx_node *n)
{
    const struct onnx_factors f = { { onnx_in(b, n, 0), onnx_in(b, n, 3), onnx_in_optional(b, n, 6) },
                                    { onnx_in(b, n, 1), onnx_in(b, n, 4), onnx_in_optional(b, n, 7) } };
    struct onnx_value *bias = onnx_in(b, n, 2), *past = onnx_in_optional(b, n, 8);
    struct onnx_value *tokens[3], *old[2] = { NULL, NULL }, *mask;
    struct attention a;
    if (!bias || !attention_read(b, n, &f, past, &a))
        return false;
    if (past && a.past && !split(b, past, 0, 2, old))
        return false;
    return masks(b, n, &a, &mask) && split(b, onnx_product_floats(b, &f, bias), 2, 3, tokens) &&
           attend(b, n, &a, tokens, old, mask);
}
