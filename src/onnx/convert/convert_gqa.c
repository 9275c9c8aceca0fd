/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft GroupQueryAttention: the caches contain rows [0, length) of each batch row, or more. The lengths are
 * read from their tensor when the graph runs: one graph serves all of them. */
#include "onnx/convert/attention.h"
#include "onnx/convert/converters.h"

#include <math.h>

struct gqa {
    struct onnx_attention at;
    struct onnx_value *lengths; /* INT32 [batch]: of all tokens, less 1 */
    struct onnx_value *before;  /* INT32 [batch]: number of tokens before the new ones; NULL: none */
    uint8_t new_rows, old_rows; /* masks of run-time lengths: of the tokens, of the past */
    int64_t rows;               /* of the present */
    int64_t total; /* maximum number of tokens of a batch row, including the new ones, or more: up to `rows` */
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
    struct onnx_value *count = onnx_counting(b, ONNX_INT32, 0, 2, row);
    if (!g->before)
        return count;
    struct onnx_value *before = onnx_as(b, g->before, 2, column);
    return a->sequence == 1 ? before : onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_ADD, before, count);
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

/* The cache with the new rows after the old ones of each batch row, followed by zeros: masked values must be finite. */
static struct onnx_value *append(struct onnx_builder *b, const struct gqa *g, struct onnx_value *past,
                                 struct onnx_value *fresh, struct onnx_value *y)
{
    const struct onnx_attention *a = &g->at;
    const int64_t first[] = { a->batch, 1, 1, 1 };
    const int64_t counted[] = { 1, 1, a->sequence, 1 }, numbered[] = { 1, 1, g->rows, 1 };
    struct onnx_value *heads = onnx_tokens_to_heads(b, fresh, a->key_heads, NULL), *in[3];
    struct onnx_value *before = onnx_as(b, g->before, 4, first);
    struct onnx_desc d[4];
    if (!heads || !before || !y)
        return NULL;
    if (past->dims[2] < g->rows) { /* space for the new rows: the values initially written there are irrelevant */
        struct onnx_value *both[] = { past, onnx_cut(b, heads, 2, 0, g->rows - past->dims[2]) };
        past = onnx_join(b, both, 2, 2);
    }
    struct onnx_value *old = onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_LOGICAL_LESS_THAN,
                                         onnx_counting(b, ONNX_INT32, 0, 4, numbered), before);
    past = onnx_select(b, old, past, onnx_scalar(b, heads->type, 0));
    in[0] = past;
    in[1] = onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_ADD, before, onnx_counting(b, ONNX_INT32, 0, 4, counted));
    in[2] = heads;
    if (!past || !in[1])
        return NULL;
    DML_SCATTER_OPERATOR_DESC desc = { onnx_desc(b, &d[0], past), onnx_desc_broadcast(b, &d[1], in[1], 4, heads->dims),
                                       onnx_desc(b, &d[2], heads), onnx_desc(b, &d[3], y), 2 };
    return onnx_emit(b, DML_OPERATOR_SCATTER_ELEMENTS, &desc, in, 3, &y, 1) ? y : NULL;
}

/* The most tokens there can be. With a cache that has room for all the value itself does not matter. */
static bool take_total(struct onnx_builder *b, const struct onnx_node *n, struct gqa *g)
{
    const struct onnx_floor floor = { .input = 6, .floor = 3, .dim = 2, .absent = 10 };
    struct onnx_value *total = onnx_in(b, n, 6);
    uint32_t count;
    if (total && total->source != ONNX_SOURCE_CONSTANT && g->at.past_key && !onnx_in_optional(b, n, 10))
        return onnx_unknown_above(b, n, &floor);
    if (!total || !onnx_const_ints(b, total, &g->total, 1, &count))
        return false;
    if (g->old_rows && !onnx_floor_noted(b, n, &floor)) /* does it fit the past, or the most that this can be? */
        return onnx_refuse_part(b, g->at.past_key);
    return count == 1 || onnx_misfit(b, "total_sequence_length '%s' is not one integer", total->name);
}

/* How long the caches are, and whether that can be. */
static bool take_lengths(struct onnx_builder *b, const struct onnx_node *n, struct gqa *g)
{
    struct onnx_attention *a = &g->at;
    int64_t past = a->past_key ? a->past_key->dims[2] : 0;
    g->lengths = onnx_in(b, n, 5);
    if (!g->lengths || !take_total(b, n, g))
        return false;
    g->rows = BASE_MAX(past, g->total);
    if (g->lengths->type != ONNX_INT32 || onnx_elements(g->lengths) != a->batch || a->keys != a->sequence ||
        g->total < a->sequence || g->total > INT32_MAX)
        return onnx_misfit(b, "seqlens_k or total_sequence_length (%lld) do not fit", (long long)g->total);
    if (past < g->total - a->sequence)
        return onnx_misfit(b, "the past has %lld rows, total_sequence_length is %lld", (long long)past,
                           (long long)g->total);
    if (!past)
        return true;
    /* Rows of the first tokens may be shorter than the batch. */
    g->before = onnx_as(b, g->lengths, 1, &a->batch);
    if (a->sequence == 1)
        return g->before;
    struct onnx_value *count = onnx_scalar(b, ONNX_INT32, (double)a->sequence);
    if (g->new_rows)
        count = onnx_length(b, (uint32_t)__builtin_ctz(g->new_rows));
    g->before = onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_ADD, g->before, onnx_scalar(b, ONNX_INT32, 1));
    g->before = onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_SUBTRACT, g->before, count);
    g->before = onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_MAX, g->before, onnx_scalar(b, ONNX_INT32, 0));
    return g->before;
}

/* The fused operator writes into the cache that its output already contains: the past must be copied there from
 * outside. */
static bool cache_in_place(const struct onnx_builder *b, const struct gqa *g, const struct onnx_value *key,
                           const struct onnx_value *value)
{
    const struct onnx_attention *a = &g->at;
    if (a->softcap > 0 || a->sink || a->relative || a->past_key == a->past_value)
        return false;
    return onnx_may_carry(b, a->past_key, key) && onnx_may_carry(b, a->past_value, value);
}

/* Writes to the cache, then attends over its valid rows. */
static bool use_cache(struct onnx_builder *b, const struct onnx_node *n, struct gqa *g)
{
    struct onnx_attention *a = &g->at;
    const int64_t dims[] = { a->batch, a->key_heads, g->rows, a->size };
    struct onnx_value *past_key = a->past_key, *past_value = a->past_value;
    struct onnx_value *key = onnx_out(b, n, 1, a->q->type, 4, dims), *value = onnx_out(b, n, 2, a->q->type, 4, dims);
    bool in_place = g->before && cache_in_place(b, g, key, value);
    a->past_key = a->past_value = NULL;
    a->past = 0;
    a->total = a->keys;
    if (!key || !value)
        return false;
    if (!g->before || in_place) {
        a->present_key = g->before || onnx_has_output(n, 1) ? key : NULL;
        a->present_value = g->before || onnx_has_output(n, 2) ? value : NULL;
        a->before = g->before;
        a->total = g->before ? g->rows : a->keys;
        if (in_place) {
            key->carried = past_key;
            value->carried = past_value;
            past_key->given = past_value->given = true;
        }
        return true;
    }
    a->k = append(b, g, past_key, a->k, key);
    a->v = append(b, g, past_value, a->v, value);
    a->keys = a->total = g->total;
    return a->k && a->v;
}

/* The keys to which the queries attend, if there are preceding tokens. */
static bool mask_cache(struct onnx_builder *b, struct gqa *g)
{
    struct onnx_attention *a = &g->at;
    const int64_t column[] = { a->batch, 1, a->sequence, 1 };
    if (!g->before || (a->before && a->left < 0)) /* the fused operator masks keys after each query */
        return true;
    if (a->sequence == 1) { /* all keys of its row, or the last ones */
        a->ends = onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_ADD, g->before, onnx_scalar(b, ONNX_INT32, 1));
        if (a->left >= 0 && a->left < INT32_MAX)
            a->starts = onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_SUBTRACT, a->ends,
                                    onnx_scalar(b, ONNX_INT32, (double)a->left + 1));
    } else {
        a->keep = onnx_attention_window(b, a, onnx_as(b, positions(b, g), 4, column));
    }
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
    a->left = window > 0 ? window - 1 : -1; /* the window includes the query's own position */
    if (!a->causal && (window > 0 || g->before || a->batch > 1))
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

/* The partial dimensions: the sequence of the tokens, the rows of the past, and no others. */
static bool take_parts(struct onnx_builder *b, const struct onnx_node *n, struct gqa *g)
{
    for (uint32_t i = 0; i < n->input_count; i++) {
        const struct onnx_value *x = n->inputs[i][0] ? onnx_value_find(b, n->inputs[i]) : NULL;
        bool tokens = i < 3 || i == 9, cache = i == 3 || i == 4;
        for (uint32_t d = 0; x && d < x->rank; d++) {
            uint8_t *rows = tokens && d == 1 ? &g->new_rows : &g->old_rows;
            if (x->lengths[d] && ((!(tokens && d == 1) && !(cache && d == 2)) || x->times[d] != 1))
                return onnx_refuse_part(b, x);
            if (x->lengths[d] && (*rows & ~x->lengths[d] || x->lengths[d] & (x->lengths[d] - 1)))
                return onnx_refuse_part(b, x);
            *rows |= x->lengths[d];
        }
    }
    return true;
}

static bool give_parts(struct onnx_builder *b, const struct onnx_node *n, const struct gqa *g)
{
    const int64_t past = g->at.past, rows = g->rows;
    uint8_t mask = rows == past ? g->old_rows : (uint8_t)(g->old_rows | g->new_rows);
    if (!mask && !g->new_rows)
        return true;
    if ((rows != past && rows != past + g->at.sequence) || !g->at.causal)
        return onnx_fail(b, "caches of %lld rows do not support partial lengths", (long long)rows);
    for (uint32_t i = 0; i < 3 && i < n->output_count; i++) {
        struct onnx_value *y = n->outputs[i][0] ? onnx_value_find(b, n->outputs[i]) : NULL;
        if (!y)
            continue;
        y->lengths[i ? 2 : 1] = i ? mask : g->new_rows;
        y->times[i ? 2 : 1] = y->lengths[i ? 2 : 1] != 0;
    }
    return true;
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
    if (refuse(b, n) || !take_parts(b, n, &g) || !unpack(b, a) || !onnx_attention_shape(b, a))
        return false;
    if (a->q->rank != 3 || a->k->rank != 3 || !a->past_key != !a->past_value || a->value_size != a->size)
        return onnx_fail(b, "query, key and value must be tokens with heads of one size, and the past complete");
    const int64_t dims[] = { a->batch, a->sequence, a->heads * a->size };
    if (!take_lengths(b, n, &g) || !take_attributes(b, n, &g))
        return false;
    const struct gqa whole = g;
    if (!prepare_tokens(b, n, &g) || !use_cache(b, n, &g) || !mask_cache(b, &g))
        return false;
    a->y = onnx_out(b, n, 0, a->q->type, 3, dims);
    return a->y && give_parts(b, n, &whole) && onnx_attend(b, a);
}
