/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft GroupQueryAttention: its caches hold rows [0, length) of each batch row, or more. */
#include "onnx/attention.h"

#include <math.h>

struct gqa {
    struct onnx_attention at;
    struct onnx_value *lengths; /* INT32 [batch]: of all tokens, less 1 */
    int64_t rows;               /* of the present */
    int64_t total;              /* most tokens of a batch row, with the new ones */
    bool first;                 /* there are no tokens before */
};

static bool refuse(struct onnx_builder *b, const struct onnx_node *n)
{
    static const char *const quantized[] = { "k_quant_type", "v_quant_type" };
    for (size_t i = 0; i < ARRAY_SIZE(quantized); i++) {
        if (strcmp(onnx_attr_string(n, quantized[i], "NONE"), "NONE"))
            return !onnx_fail(b, "quantised caches are not supported");
    }
    if (onnx_attr_int(n, "kv_cache_bit_width", 0) || onnx_attr_int(n, "sliding_window_cache", 0) ||
        onnx_attr_int(n, "qk_output", 0) || onnx_has_output(n, 3))
        return !onnx_fail(b, "quantised and windowed caches and output_qk are not supported");
    return b->failed;
}

static bool unpack(struct onnx_builder *b, struct onnx_attention *a)
{
    if (!a->q || a->k || a->v)
        return a->q && ((a->k && a->v) || onnx_fail(b, "key and value must be given together"));
    int64_t parts = a->heads + 2 * a->key_heads;
    if (a->heads < 1 || a->key_heads < 1 || a->q->rank != 3)
        return onnx_fail(b, "'%s' is not %lld heads", a->q->name, (long long)parts);
    if (a->q->dims[2] % parts)
        return onnx_misfit(b, "the %lld elements of '%s' are not those of %lld heads", (long long)a->q->dims[2],
                           a->q->name, (long long)parts);
    int64_t size = a->q->dims[2] / parts, keys = a->key_heads * size, queries = a->heads * size;
    struct onnx_value *all = a->q;
    a->q = onnx_cut(b, all, 2, 0, queries);
    a->k = onnx_cut(b, all, 2, queries, keys);
    a->v = onnx_cut(b, all, 2, queries + keys, keys);
    return a->v;
}

/* Of the new tokens: [batch or 1, sequence] */
static struct onnx_value *positions(struct onnx_builder *b, const struct gqa *g)
{
    const struct onnx_attention *a = &g->at;
    const int64_t row[] = { 1, a->sequence }, column[] = { a->batch, 1 };
    if (g->first || a->batch == 1)
        return onnx_counting(b, ONNX_INT32, g->first ? 0 : g->total - a->sequence, 2, row);
    return onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_ADD, onnx_as(b, g->lengths, 2, column),
                       onnx_counting(b, ONNX_INT32, 1 - a->sequence, 2, row));
}

/* Each head of the tokens divided by its root mean square. */
static struct onnx_value *head_norm(struct onnx_builder *b, const struct onnx_node *n, struct onnx_value *x,
                                    struct onnx_value *weight, int64_t heads)
{
    if (!weight || !x)
        return x;
    const int64_t dims[] = { x->dims[0], x->dims[1], heads, x->dims[2] / heads }, params[] = { 1, 1, 1, dims[3] };
    if (onnx_elements(weight) != dims[3] || weight->type != x->type) {
        onnx_misfit(b, "'%s' must have one %s per element of a head", weight->name, onnx_type_name(x->type));
        return NULL;
    }
    return onnx_normalize(b, &(struct onnx_norm){ .x = x,
                                                  .scale = weight,
                                                  .rank = 4,
                                                  .dims = dims,
                                                  .param_dims = params,
                                                  .axes = { 3 },
                                                  .axis_count = 1,
                                                  .epsilon = onnx_attr_float(n, "qk_norm_epsilon", 1e-6f) });
}

static bool prepare_tokens(struct onnx_builder *b, const struct onnx_node *n, struct gqa *g)
{
    struct onnx_attention *a = &g->at;
    a->q = head_norm(b, n, a->q, onnx_in_optional(b, n, 14), a->heads);
    a->k = head_norm(b, n, a->k, onnx_in_optional(b, n, 15), a->key_heads);
    if (b->failed || !onnx_attr_int(n, "do_rotary", 0))
        return !b->failed;
    struct onnx_rotary r = { .cos = onnx_in(b, n, 7),
                             .sin = onnx_in(b, n, 8),
                             .positions = onnx_in_optional(b, n, 9),
                             .heads = a->heads,
                             .interleaved = onnx_attr_int(n, "rotary_interleaved", 0) != 0 };
    if (!r.cos || !r.sin || r.cos->rank != 2)
        return onnx_fail(b, "do_rotary needs cos_cache and sin_cache");
    r.size = 2 * r.cos->dims[1];
    r.positions = r.positions ? r.positions : positions(b, g);
    a->q = r.positions ? onnx_rotate(b, &r, a->q, NULL) : NULL;
    r.heads = a->key_heads;
    a->k = a->q ? onnx_rotate(b, &r, a->k, NULL) : NULL;
    return a->k;
}

/* The cache with the new rows behind the old ones of each batch row. */
static struct onnx_value *append(struct onnx_builder *b, const struct gqa *g, struct onnx_value *past,
                                 struct onnx_value *fresh, struct onnx_value *y)
{
    const struct onnx_attention *a = &g->at;
    const int64_t index[] = { a->batch, 1, 1, 1 };
    struct onnx_value *heads = onnx_tokens_to_heads(b, fresh, a->key_heads, NULL), *parts[3];
    struct onnx_desc d[4];
    if (!heads || !y)
        return NULL;
    if (g->first || a->batch == 1) { /* where the rows lie is known */
        int64_t start = g->first ? 0 : g->total - a->sequence, end = start + a->sequence;
        uint32_t count = 0;
        if (start)
            parts[count++] = onnx_cut(b, past, 2, 0, start);
        parts[count++] = heads;
        if (end < g->rows)
            parts[count++] = onnx_cut(b, past, 2, end, g->rows - end);
        return onnx_join_to(b, parts, count, 2, y);
    }
    if (past->dims[2] < g->rows) { /* room for one more: what is written there first does not matter */
        struct onnx_value *both[] = { past, heads };
        past = onnx_join(b, both, 2, 2);
    }
    struct onnx_value *in[3] = { past, onnx_as(b, g->lengths, 4, index), heads };
    if (!past || !in[1])
        return NULL;
    DML_SCATTER_OPERATOR_DESC desc = { onnx_desc(b, &d[0], past), onnx_desc_broadcast(b, &d[1], in[1], 4, heads->dims),
                                       onnx_desc(b, &d[2], heads), onnx_desc(b, &d[3], y), 2 };
    return onnx_emit(b, DML_OPERATOR_SCATTER_ELEMENTS, &desc, in, 3, &y, 1) ? y : NULL;
}

/* How long the caches are, and whether that can be. */
static bool take_lengths(struct onnx_builder *b, const struct onnx_node *n, struct gqa *g)
{
    struct onnx_attention *a = &g->at;
    struct onnx_value *total = onnx_in(b, n, 6);
    uint32_t count;
    g->lengths = onnx_in(b, n, 5);
    if (!g->lengths || !total || !onnx_const_ints(b, total, &g->total, 1, &count))
        return false;
    int64_t past = a->past_key ? a->past_key->dims[2] : 0;
    g->first = g->total == a->sequence;
    g->rows = BASE_MAX(past, g->total);
    if (count != 1 || g->lengths->type != ONNX_INT32 || onnx_elements(g->lengths) != a->batch ||
        a->keys != a->sequence || g->total < a->sequence || g->total > INT32_MAX)
        return onnx_misfit(b, "seqlens_k or total_sequence_length (%lld) do not fit", (long long)g->total);
    if (!g->first && past < g->total - a->sequence)
        return onnx_misfit(b, "the past has %lld rows, total_sequence_length is %lld", (long long)past,
                           (long long)g->total);
    if (!g->first && a->batch > 1 && a->sequence > 1)
        return onnx_fail(b, "several new tokens behind a past, and several batch rows");
    return true;
}

/* Into the cache, then over the rows of it that count. */
static bool use_cache(struct onnx_builder *b, const struct onnx_node *n, struct gqa *g)
{
    struct onnx_attention *a = &g->at;
    const int64_t dims[] = { a->batch, a->key_heads, g->rows, a->size };
    struct onnx_value *past_key = a->past_key, *past_value = a->past_value;
    struct onnx_value *key = onnx_out(b, n, 1, a->q->type, 4, dims), *value = onnx_out(b, n, 2, a->q->type, 4, dims);
    a->past_key = a->past_value = NULL;
    a->past = 0;
    a->total = a->keys;
    if (!key || !value)
        return false;
    if (g->first && g->rows == a->sequence) {
        a->present_key = onnx_has_output(n, 1) ? key : NULL;
        a->present_value = onnx_has_output(n, 2) ? value : NULL;
        return true;
    }
    if (!append(b, g, past_key, a->k, key) || !append(b, g, past_value, a->v, value))
        return false;
    if (g->first)
        return true;
    a->k = key;
    a->v = value;
    a->keys = a->total = g->total;
    a->past = 0;
    return true;
}

/* Which keys the queries see, when there are tokens before them. */
static bool mask_cache(struct onnx_builder *b, struct gqa *g)
{
    struct onnx_attention *a = &g->at;
    if (g->first)
        return true;
    if (a->batch > 1) { /* one query, which sees all keys of its row, or the last ones */
        a->ends = onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_ADD, onnx_as(b, g->lengths, 1, &a->batch),
                              onnx_scalar(b, ONNX_INT32, 1));
        if (a->left >= 0 && a->left < INT32_MAX)
            a->starts = onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_SUBTRACT, a->ends,
                                    onnx_scalar(b, ONNX_INT32, (double)a->left + 1));
        a->causal = false;
        a->left = -1;
        return !b->failed;
    }
    const int64_t column[] = { a->sequence, 1 };
    struct onnx_value *position = onnx_counting(b, ONNX_INT32, g->total - a->sequence, 2, column);
    bool all = a->sequence == 1 && a->left < 0;
    a->keep = all ? NULL : onnx_attention_window(b, a, position);
    a->causal = false;
    a->left = -1;
    return !b->failed;
}

static bool take_sink(struct onnx_builder *b, const struct onnx_node *n, struct onnx_attention *a)
{
    struct onnx_value *sink = onnx_in_optional(b, n, 11);
    if (b->failed)
        return false;
    if (!sink && onnx_attr_int(n, "smooth_softmax", 0) != 1)
        return true;
    if (sink && (onnx_elements(sink) != a->heads || sink->type != a->q->type))
        return onnx_misfit(b, "'%s' must have one %s per head", sink->name, onnx_type_name(a->q->type));
    if (!sink) {
        sink = onnx_temp(b, a->q->type, 1, &a->heads);
        void *zeros = onnx_constant_data(b, sink);
        if (!zeros)
            return false;
        memset(zeros, 0, onnx_value_bytes(sink));
    }
    a->sink = sink;
    return true;
}

static bool take_attributes(struct onnx_builder *b, const struct onnx_node *n, struct gqa *g)
{
    struct onnx_attention *a = &g->at;
    int64_t window = onnx_attr_int(n, "local_window_size", -1);
    struct onnx_value *bias = onnx_in_optional(b, n, 10);
    float scale = onnx_attr_float(n, "scale", 0);
    onnx_attention_defaults(a);
    a->scale = scale != 0 ? scale : a->scale;
    a->softcap = onnx_attr_float(n, "softcap", 0);
    a->causal = onnx_attr_int(n, "causal", 1) != 0;
    a->left = window > 0 ? window - 1 : -1; /* the window counts the query's own place */
    if (!a->causal && (window > 0 || !g->first || a->batch > 1))
        return onnx_fail(b, "causal = 0 is supported without past, window and batch only");
    if (bias && (bias->rank != 4 || bias->type != a->q->type))
        return onnx_fail(b, "attention_bias '%s' has rank %u and is %s", bias->name, bias->rank,
                         onnx_type_name(bias->type));
    if (bias &&
        ((bias->dims[0] != 1 && bias->dims[0] != a->batch) || (bias->dims[1] != 1 && bias->dims[1] != a->heads) ||
         bias->dims[2] != a->sequence || bias->dims[3] != g->total))
        return onnx_misfit(b, "the shape of attention_bias '%s' does not fit", bias->name);
    a->relative = bias;
    return take_sink(b, n, a);
}

bool onnx_group_query_attention(struct onnx_builder *b, const struct onnx_node *n)
{
    struct gqa g = { .at = { .q = onnx_in(b, n, 0),
                             .k = onnx_in_optional(b, n, 1),
                             .v = onnx_in_optional(b, n, 2),
                             .past_key = onnx_in_optional(b, n, 3),
                             .past_value = onnx_in_optional(b, n, 4) } };
    struct onnx_attention *a = &g.at;
    a->heads = onnx_attr_int(n, "num_heads", 0);
    a->key_heads = onnx_attr_int(n, "kv_num_heads", 0);
    if (refuse(b, n) || !unpack(b, a) || !onnx_attention_shape(b, a))
        return false;
    if (a->q->rank != 3 || a->k->rank != 3 || !a->past_key != !a->past_value || a->value_size != a->size)
        return onnx_fail(b, "query, key and value must be tokens with heads of one size, and the past complete");
    const int64_t dims[] = { a->batch, a->sequence, a->heads * a->size };
    if (!take_lengths(b, n, &g) || !take_attributes(b, n, &g) || !prepare_tokens(b, n, &g) || !use_cache(b, n, &g) ||
        !mask_cache(b, &g))
        return false;
    a->y = onnx_out(b, n, 0, a->q->type, 3, dims);
    return onnx_attend(b, a);
}
