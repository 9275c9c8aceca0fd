/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft Attention, MultiHeadAttention, DecoderMaskedMultiHeadAttention */
#include "onnx/convert/attention.h"
#include "onnx/convert/converters.h"

#include <math.h>

/* INT32 masks: a vector of lengths, of ends and starts, or of lengths followed by positions in packed tokens; or a mask
 * of keys, per batch row, per query as well, or for all positions up to some maximum. */
static bool take_mask(struct onnx_builder *b, struct onnx_value *mask, struct onnx_attention *a)
{
    int64_t rows = a->batch;
    if (!mask)
        return !b->failed;
    if (mask->type != ONNX_INT32)
        return onnx_fail(b, "'%s' must be int32", mask->name);
    if (mask->rank == 1 && (mask->dims[0] == rows || mask->dims[0] == 2 * rows || mask->dims[0] == 3 * rows + 2)) {
        a->ends = mask->dims[0] == rows ? mask : onnx_cut(b, mask, 0, 0, rows);
        if (mask->dims[0] == 2 * rows)
            a->starts = onnx_cut(b, mask, 0, rows, rows);
        return !b->failed;
    }
    if (mask->rank == 4 && mask->dims[2] >= a->total && mask->dims[3] >= a->total) {
        mask = onnx_cut(b, mask, 2, a->total - a->sequence, a->sequence);
        mask = onnx_cut(b, mask, 3, 0, a->total);
    }
    if (!mask)
        return false;
    const int64_t keys[] = { rows, 1, 1, a->total }, queries[] = { rows, 1, a->sequence, a->total };
    const int64_t *dims = mask->rank == 2 ? keys : queries;
    int64_t elements = dims[0] * dims[2] * dims[3];
    if (!mask->rank || mask->rank > 4)
        return onnx_fail(b, "mask '%s' of rank %u is not supported", mask->name, mask->rank);
    if (mask->rank < 2 || mask->dims[0] != rows || mask->dims[mask->rank - 1] != a->total ||
        onnx_elements(mask) != elements)
        return onnx_misfit(b, "the shape of mask '%s' does not fit %lld queries and %lld keys", mask->name,
                           (long long)a->sequence, (long long)a->total);
    return (a->keep = onnx_as(b, mask, 4, dims)) != NULL;
}

static bool take_relative(struct onnx_builder *b, struct onnx_value *bias, struct onnx_attention *a)
{
    if (!bias)
        return !b->failed;
    if (bias->rank != 4 || bias->type != a->q->type)
        return onnx_fail(b, "attention_bias '%s' has rank %u and is %s", bias->name, bias->rank,
                         onnx_type_name(bias->type));
    if ((bias->dims[0] != 1 && bias->dims[0] != a->batch) || (bias->dims[1] != 1 && bias->dims[1] != a->heads) ||
        bias->dims[2] != a->sequence || bias->dims[3] != a->total)
        return onnx_misfit(b, "the shape of attention_bias '%s' does not fit", bias->name);
    a->relative = bias;
    return true;
}

static bool take_attributes(const struct onnx_node *n, struct onnx_attention *a)
{
    onnx_attention_defaults(a);
    float scale = onnx_attr_float(n, "scale", 0);
    a->scale = scale != 0 ? scale : a->scale;
    a->filter = onnx_attr_float(n, "mask_filter_value", -10000.0f);
    a->causal = onnx_attr_int(n, "unidirectional", 0) != 0;
    return true;
}

/* Part `part` of [batch, sequence, heads, parts, size] as tokens. */
static struct onnx_value *unstack(struct onnx_builder *b, struct onnx_value *x, int64_t part)
{
    if (!x)
        return NULL;
    const int64_t dims[] = { x->dims[0], x->dims[1], x->dims[2] * x->dims[4] };
    return onnx_as(b, onnx_cut(b, x, 3, part, 1), 3, dims);
}

/* separate query, key and value, whichever way they are packed */
static bool unpack(struct onnx_builder *b, struct onnx_attention *a)
{
    struct onnx_value *q = a->q, *k = a->k;
    if (!q)
        return false;
    if (q->rank == 5 && q->dims[3] == 3 && !k && !a->v) {
        a->q = unstack(b, q, 0);
        a->k = unstack(b, q, 1);
        a->v = unstack(b, q, 2);
    } else if (k && k->rank == 5 && k->dims[3] == 2 && !a->v) {
        a->k = unstack(b, k, 0);
        a->v = unstack(b, k, 1);
    } else if (q->rank == 3 && !k && !a->v && q->dims[2] % 3 == 0) { /* decoders: three parts of one size */
        int64_t size = q->dims[2] / 3;
        a->q = onnx_cut(b, q, 2, 0, size);
        a->k = onnx_cut(b, q, 2, size, size);
        a->v = onnx_cut(b, q, 2, 2 * size, size);
    }
    if (!b->failed && (!a->k || !a->v))
        return onnx_fail(b, "key or value is missing, or they are packed in an unknown format");
    return !b->failed;
}

static bool take_present(struct onnx_builder *b, const struct onnx_node *n, struct onnx_attention *a)
{
    const int64_t key[] = { a->batch, a->key_heads, a->total, a->size };
    const int64_t value[] = { a->batch, a->key_heads, a->total, a->value_size };
    const int64_t scores[] = { a->batch, a->heads, a->sequence, a->total };
    if (onnx_has_output(n, 1))
        a->present_key = onnx_out(b, n, 1, a->q->type, 4, key);
    if (onnx_has_output(n, 2))
        a->present_value = onnx_out(b, n, 2, a->q->type, 4, value);
    if (onnx_has_output(n, 3))
        a->scores = onnx_out(b, n, 3, a->q->type, 4, scores);
    a->stage = ONNX_SCORES_MASKED;
    return !b->failed;
}

/* Both operators have the same inputs in different order. */
bool onnx_multi_head_attention(struct onnx_builder *b, const struct onnx_node *n)
{
    bool decoder = !strcmp(n->op, "DecoderMaskedMultiHeadAttention");
    struct onnx_attention a = { .q = onnx_in(b, n, 0),
                                .k = onnx_in_optional(b, n, 1),
                                .v = onnx_in_optional(b, n, 2),
                                .bias = onnx_in_optional(b, n, decoder ? 10 : 3),
                                .past_key = onnx_in_optional(b, n, decoder ? 5 : 6),
                                .past_value = onnx_in_optional(b, n, decoder ? 6 : 7) };
    a.heads = a.key_heads = onnx_attr_int(n, "num_heads", 0);
    if (b->failed || !unpack(b, &a))
        return false;
    if (onnx_attr_int(n, "past_present_share_buffer", 0) || onnx_in_optional(b, n, decoder ? 7 : 8) ||
        onnx_in_optional(b, n, 9))
        return onnx_fail(b, "caches that past and present share are not supported");
    if (!onnx_attention_shape(b, &a))
        return false;
    const int64_t dims[] = { a.batch, a.sequence, a.heads * a.value_size };
    int64_t elements = a.heads * (2 * a.size + a.value_size);
    if (a.q->rank != 3 || !a.past_key != !a.past_value)
        return onnx_fail(b, "query must have rank 3; past key and value must be given together");
    if (a.bias && onnx_elements(a.bias) != elements)
        return onnx_misfit(b, "'%s' has %lld values instead of %lld", a.bias->name, (long long)onnx_elements(a.bias),
                           (long long)elements);
    take_attributes(n, &a);
    a.y = onnx_out(b, n, 0, a.q->type, 3, dims);
    return take_mask(b, onnx_in_optional(b, n, decoder ? 3 : 4), &a) &&
           take_relative(b, onnx_in_optional(b, n, decoder ? 4 : 5), &a) && take_present(b, n, &a) &&
           onnx_attend(b, &a);
}

/* The tokens' queries, keys and values: x W + bias, split in three. */
static bool project(struct onnx_builder *b, const struct onnx_node *n, struct onnx_attention *a)
{
    struct onnx_value *x = onnx_in(b, n, 0), *w = onnx_in(b, n, 1), *bias = onnx_in_optional(b, n, 2);
    int64_t sizes[3];
    struct onnx_desc d[4];
    if (!x || !w || b->failed)
        return false;
    uint32_t count;
    if (!onnx_attr_ints(b, n, "qkv_hidden_sizes", sizes, 3, &count))
        return false;
    if (x->rank != 3 || w->rank != 2 || w->dims[0] != x->dims[2] || (count && count != 3))
        return onnx_misfit(b, "'%s' does not fit '%s'", w->name, x->name);
    for (uint32_t i = 0; i < 3 && !count; i++)
        sizes[i] = w->dims[1] / 3;
    if (sizes[0] < 1 || sizes[2] < 1 || sizes[0] > w->dims[1] || sizes[2] > w->dims[1] || sizes[0] != sizes[1] ||
        sizes[0] + sizes[1] + sizes[2] != w->dims[1] || (bias && onnx_elements(bias) != w->dims[1]))
        return onnx_misfit(b, "the %lld columns of '%s' are not those of query, key and value", (long long)w->dims[1],
                           w->name);
    const int64_t rows[] = { x->dims[0] * x->dims[1], x->dims[2] }, out[] = { rows[0], w->dims[1] };
    const int64_t dims[] = { x->dims[0], x->dims[1], w->dims[1] };
    struct onnx_value *in[3] = { x, w, bias }, *y = onnx_temp(b, x->type, 3, dims);
    if (!y)
        return false;
    DML_GEMM_OPERATOR_DESC desc = { onnx_desc_as(b, &d[0], x, 2, rows),
                                    onnx_desc(b, &d[1], w),
                                    bias ? onnx_desc_broadcast(b, &d[2], bias, 2, out) : NULL,
                                    onnx_desc_as(b, &d[3], y, 2, out),
                                    .Alpha = 1,
                                    .Beta = 1 };
    if (!onnx_emit(b, DML_OPERATOR_GEMM, &desc, in, 3, &y, 1))
        return false;
    a->q = onnx_cut(b, y, 2, 0, sizes[0]);
    a->k = onnx_cut(b, y, 2, sizes[0], sizes[1]);
    a->v = onnx_cut(b, y, 2, sizes[0] + sizes[1], sizes[2]);
    return a->v;
}

/* Past and present have keys and values in one tensor [2, batch, heads, rows, size]. */
static struct onnx_value *past_part(struct onnx_builder *b, struct onnx_value *past, int64_t part)
{
    return onnx_as(b, onnx_cut(b, past, 0, part, 1), 4, past->dims + 1);
}

static bool join_present(struct onnx_builder *b, const struct onnx_node *n, const struct onnx_attention *a,
                         struct onnx_value *key, struct onnx_value *value)
{
    const int64_t one[] = { 1, a->batch, a->key_heads, a->total, a->size };
    const int64_t dims[] = { 2, a->batch, a->key_heads, a->total, a->size };
    struct onnx_value *both[] = { onnx_as(b, key, 5, one), onnx_as(b, value, 5, one) };
    struct onnx_value *y = onnx_out(b, n, 1, a->q->type, 5, dims);
    return y && onnx_join_to(b, both, 2, 0, y);
}

bool onnx_attention_ms(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_attention a = { .heads = onnx_attr_int(n, "num_heads", 0) };
    struct onnx_value *past = onnx_in_optional(b, n, 4), *key = NULL, *value = NULL;
    a.key_heads = a.heads;
    if (b->failed || !project(b, n, &a))
        return false;
    if (onnx_attr_int(n, "do_rotary", 0) || onnx_attr_int(n, "past_present_share_buffer", 0) ||
        onnx_in_optional(b, n, 6))
        return onnx_fail(b, "do_rotary and caches that past and present share are not supported");
    if (past && (past->rank != 5 || past->dims[0] != 2))
        return onnx_misfit(b, "'%s' must have the shape {2, batch, heads, rows, size}", past->name);
    if (past) {
        a.past_key = past_part(b, past, 0);
        a.past_value = past_part(b, past, 1);
    }
    if (b->failed || !onnx_attention_shape(b, &a))
        return false;
    const int64_t dims[] = { a.batch, a.sequence, a.heads * a.value_size };
    const int64_t present[] = { a.batch, a.key_heads, a.total, a.size };
    take_attributes(n, &a);
    a.y = onnx_out(b, n, 0, a.q->type, 3, dims);
    bool wanted = onnx_has_output(n, 1);
    if (wanted && a.value_size != a.size)
        return onnx_fail(b, "a present of keys and values of different sizes");
    if (wanted) {
        a.present_key = key = onnx_temp(b, a.q->type, 4, present);
        a.present_value = value = onnx_temp(b, a.q->type, 4, present);
    }
    return take_mask(b, onnx_in_optional(b, n, 3), &a) && take_relative(b, onnx_in_optional(b, n, 5), &a) &&
           onnx_attend(b, &a) && (!wanted || join_present(b, n, &a, key, value));
}
