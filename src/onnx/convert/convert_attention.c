/* SPDX-License-Identifier: Apache-2.0 */
/* ai.onnx Attention */
#include "onnx/convert/attention.h"
#include "onnx/convert/converters.h"

#include <math.h>

/* The mask, extended to the number of keys: missing positions are masked. */
static struct onnx_value *whole_mask(struct onnx_builder *b, struct onnx_value *mask, int64_t total)
{
    const int64_t start[ONNX_RANK_MAX] = { 0 };
    int64_t dims[ONNX_RANK_MAX];
    uint32_t last = mask->rank - 1;
    if (!mask->rank || mask->rank > 4) {
        onnx_fail(b, "'%s' has rank %u, must be 1 to 4", mask->name, mask->rank);
        return NULL;
    }
    if (mask->dims[last] >= total)
        return mask;
    memcpy(dims, mask->dims, sizeof(dims));
    dims[last] = total;
    return onnx_surround(b, mask, start, dims, onnx_scalar(b, mask->type, mask->type == ONNX_BOOL ? 0 : -INFINITY));
}

static bool take_mask(struct onnx_builder *b, const struct onnx_node *n, struct onnx_attention *a)
{
    struct onnx_value *mask = onnx_in_optional(b, n, 3);
    struct onnx_value full = { .name = n->output_count ? n->outputs[0] : "",
                               .rank = 4,
                               .dims = { a->batch, a->heads, a->sequence, a->total } };
    uint32_t rank;
    int64_t dims[ONNX_RANK_MAX];
    if (!mask || b->failed)
        return !b->failed;
    if (mask->type != ONNX_BOOL)
        mask = onnx_convert(b, mask, a->q->type);
    if (!mask || !(mask = whole_mask(b, mask, a->total)) || !onnx_broadcast_dims(b, mask, &full, &rank, dims))
        return false;
    if (memcmp(dims, full.dims, 4 * sizeof(*dims)))
        return onnx_misfit(b, "the mask is larger than the scores");
    if (mask->type == ONNX_BOOL)
        a->keep = mask;
    else
        a->relative = mask;
    return true;
}

/* The number of valid keys of each batch row; the queries are the last of them. */
static bool take_lengths(struct onnx_builder *b, const struct onnx_node *n, struct onnx_attention *a)
{
    struct onnx_value *lengths = onnx_in_optional(b, n, 6);
    const int64_t per_batch[] = { a->batch, 1, 1, 1 }, per_query[] = { a->sequence, 1 };
    if (!lengths || b->failed)
        return !b->failed;
    if (a->past_key)
        return onnx_fail(b, "'%s' excludes the past", lengths->name);
    if (onnx_elements(lengths) != a->batch)
        return onnx_misfit(b, "'%s' must have one length per batch row", lengths->name);
    a->ends = onnx_convert(b, lengths, ONNX_INT32);
    a->ends = onnx_as(b, a->ends, 1, &a->batch);
    if (!a->causal && a->left < 0 && a->right < 0)
        return a->ends;
    struct onnx_value *position = onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_ADD, onnx_as(b, a->ends, 4, per_batch),
                                              onnx_counting(b, ONNX_INT32, -a->sequence, 2, per_query));
    struct onnx_value *window = position ? onnx_attention_window(b, a, position) : NULL;
    a->keep = window ? onnx_attention_both(b, a->keep, window) : NULL;
    a->causal = false;
    a->left = a->right = -1;
    return a->keep;
}

static bool take_outputs(struct onnx_builder *b, const struct onnx_node *n, struct onnx_attention *a)
{
    const int64_t tokens[] = { a->batch, a->sequence, a->heads * a->value_size };
    const int64_t heads[] = { a->batch, a->heads, a->sequence, a->value_size };
    const int64_t key[] = { a->batch, a->key_heads, a->total, a->size };
    const int64_t value[] = { a->batch, a->key_heads, a->total, a->value_size };
    const int64_t scores[] = { a->batch, a->heads, a->sequence, a->total };
    bool flat = a->q->rank == 3;
    a->y = onnx_out(b, n, 0, a->q->type, flat ? 3 : 4, flat ? tokens : heads);
    if (onnx_has_output(n, 1))
        a->present_key = onnx_out(b, n, 1, a->q->type, 4, key);
    if (onnx_has_output(n, 2))
        a->present_value = onnx_out(b, n, 2, a->q->type, 4, value);
    if (onnx_has_output(n, 3))
        a->scores = onnx_out(b, n, 3, a->q->type, 4, scores);
    return !b->failed;
}

bool onnx_attention(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_attention a = { .q = onnx_in(b, n, 0), .k = onnx_in(b, n, 1), .v = onnx_in(b, n, 2) };
    int64_t stage = onnx_attr_int(n, "qk_matmul_output_mode", 0);
    a.heads = onnx_attr_int(n, "q_num_heads", 0);
    a.key_heads = onnx_attr_int(n, "kv_num_heads", 0);
    a.past_key = onnx_in_optional(b, n, 4);
    a.past_value = onnx_in_optional(b, n, 5);
    if (!onnx_attention_shape(b, &a))
        return false;
    if (!a.past_key != !a.past_value || stage < 0 || stage > 3)
        return onnx_fail(b, "past_key without past_value, or qk_matmul_output_mode out of range");
    onnx_attention_defaults(&a);
    a.scale = onnx_attr_float(n, "scale", a.scale);
    a.softcap = onnx_attr_float(n, "softcap", 0);
    a.causal = onnx_attr_int(n, "is_causal", 0) != 0;
    a.left = onnx_attr_int(n, "left_window_size", -1);
    a.right = onnx_attr_int(n, "right_window_size", -1);
    a.stage = (enum onnx_attention_scores)stage;
    return take_mask(b, n, &a) && take_lengths(b, n, &a) && take_outputs(b, n, &a) && onnx_attend(b, &a);
}
