/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/convert/attention.h"

#include <math.h>

void onnx_attention_defaults(struct onnx_attention *a)
{
    a->left = a->right = -1;
    a->scale = a->size > 0 ? (float)(1 / sqrt((double)a->size)) : 1.0f;
    a->filter = -INFINITY;
}

static bool divides(struct onnx_builder *b, const struct onnx_value *v, int64_t heads)
{
    if (v->dims[2] % heads)
        return onnx_misfit(b, "the %lld elements of '%s' are not those of %lld heads", (long long)v->dims[2], v->name,
                           (long long)heads);
    return true;
}

static bool expect(struct onnx_builder *b, const struct onnx_value *v, const int64_t *dims)
{
    for (uint32_t i = 0; v && i < 4; i++) {
        if (v->rank != 4 || v->dims[i] != dims[i])
            return onnx_misfit(b, "'%s' must have the shape {%lld, %lld, %lld, %lld}", v->name, (long long)dims[0],
                               (long long)dims[1], (long long)dims[2], (long long)dims[3]);
    }
    return true;
}

static bool check_keys(struct onnx_builder *b, const struct onnx_attention *a)
{
    const struct onnx_value *const kv[] = { a->k, a->v };
    for (uint32_t i = 0; i < 2; i++) {
        int64_t size = i ? a->value_size : a->size;
        bool tokens = kv[i]->rank == 3;
        int64_t heads = tokens ? kv[i]->dims[2] / size : kv[i]->dims[1], rows = kv[i]->dims[tokens ? 1 : 2];
        if (kv[i]->dims[0] != a->batch || heads != a->key_heads || rows != a->keys ||
            kv[i]->dims[kv[i]->rank - 1] != (tokens ? heads * size : size))
            return onnx_misfit(b, "'%s' does not fit the query and the other tensors", kv[i]->name);
    }
    const int64_t past_key[] = { a->batch, a->key_heads, a->past, a->size };
    const int64_t past_value[] = { a->batch, a->key_heads, a->past, a->value_size };
    return expect(b, a->past_key, past_key) && expect(b, a->past_value, past_value);
}

bool onnx_attention_shape(struct onnx_builder *b, struct onnx_attention *a)
{
    struct onnx_value *all[] = { a->q, a->k, a->v, a->past_key, a->past_value, a->bias };
    if (!a->q || !a->k || !a->v || b->failed)
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
        if (all[i] && all[i]->type != a->q->type)
            return onnx_fail(b, "'%s' is %s, '%s' %s", a->q->name, onnx_type_name(a->q->type), all[i]->name,
                             onnx_type_name(all[i]->type));
        if (all[i] && i < 3 && all[i]->rank != 3 && all[i]->rank != 4)
            return onnx_fail(b, "'%s' has rank %u, must be 3 or 4", all[i]->name, all[i]->rank);
    }
    bool tokens = a->q->rank == 3;
    a->heads = tokens ? a->heads : a->q->dims[1];
    a->key_heads = a->k->rank == 3 ? a->key_heads : a->k->dims[1];
    if (a->heads < 1 || a->key_heads < 1 || a->heads % a->key_heads)
        return onnx_misfit(b, "%lld heads of queries cannot share %lld heads of keys", (long long)a->heads,
                           (long long)a->key_heads);
    if ((tokens && !divides(b, a->q, a->heads)) || (a->v->rank == 3 && !divides(b, a->v, a->key_heads)))
        return false;
    a->batch = a->q->dims[0];
    a->sequence = a->q->dims[tokens ? 1 : 2];
    a->size = tokens ? a->q->dims[2] / a->heads : a->q->dims[3];
    a->keys = a->k->dims[a->k->rank == 3 ? 1 : 2];
    a->value_size = a->v->rank == 3 ? a->v->dims[2] / a->key_heads : a->v->dims[3];
    a->past = a->past_key && a->past_key->rank == 4 ? a->past_key->dims[2] : 0;
    a->total = a->past + a->keys;
    if (!a->size || !a->value_size)
        return onnx_misfit(b, "the head size is 0");
    return check_keys(b, a);
}

struct onnx_value *onnx_heads_to_tokens(struct onnx_builder *b, struct onnx_value *x, struct onnx_value *y)
{
    if (!x)
        return NULL;
    const int64_t *d = x->dims, tokens[] = { d[0], d[2], d[1] * d[3] }, apart[] = { d[0], d[2], d[1], d[3] };
    if (d[1] == 1 || d[2] == 1) {
        struct onnx_value *same = onnx_as(b, x, 3, tokens);
        return !y || (same && onnx_alias(b, y, same)) ? (y ? y : same) : NULL;
    }
    const uint32_t strides[] = { (uint32_t)(d[1] * d[2] * d[3]), (uint32_t)d[3], (uint32_t)(d[2] * d[3]), 1 };
    y = y ? y : onnx_temp(b, x->type, 3, tokens);
    return y ? onnx_view_to(b, x, 4, apart, strides, y) : NULL;
}

struct onnx_value *onnx_tokens_to_heads(struct onnx_builder *b, struct onnx_value *x, int64_t heads,
                                        struct onnx_value *y)
{
    if (!x)
        return NULL;
    int64_t size = x->dims[2] / heads, rows = x->dims[1];
    const int64_t dims[] = { x->dims[0], heads, rows, size };
    if (heads == 1 || rows == 1) {
        struct onnx_value *same = onnx_as(b, x, 4, dims);
        return !y || (same && onnx_alias(b, y, same)) ? (y ? y : same) : NULL;
    }
    const uint32_t strides[] = { (uint32_t)(rows * heads * size), (uint32_t)size, (uint32_t)(heads * size), 1 };
    return onnx_view_to(b, x, 4, dims, strides, y);
}

/* ---- masks ---- */

struct onnx_value *onnx_attention_both(struct onnx_builder *b, struct onnx_value *x, struct onnx_value *z)
{
    if (!x || !z)
        return x ? x : z;
    return onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_LOGICAL_AND, x, z);
}

struct onnx_value *onnx_attention_window(struct onnx_builder *b, const struct onnx_attention *a,
                                         struct onnx_value *position)
{
    struct onnx_value *keep = NULL, *keys = onnx_counting(b, ONNX_INT32, 0, 1, &a->total), *bound;
    if (a->causal)
        keep = onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL, keys, position);
    if (a->left >= 0) {
        bound = onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_SUBTRACT, position,
                            onnx_scalar(b, ONNX_INT32, (double)BASE_MIN(a->left, INT32_MAX / 2)));
        bound = onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL, keys, bound);
        keep = onnx_attention_both(b, keep, bound);
    }
    if (a->right >= 0) {
        bound = onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_ADD, position,
                            onnx_scalar(b, ONNX_INT32, (double)BASE_MIN(a->right, INT32_MAX / 2)));
        bound = onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL, keys, bound);
        keep = onnx_attention_both(b, keep, bound);
    }
    return keep;
}

/* Query i, at position past + i, attends to key n. */
static bool sees(const struct onnx_attention *a, int64_t i, int64_t n)
{
    int64_t at = a->past + i;
    return (!a->causal || n <= at) && (a->left < 0 || n >= at - a->left) && (a->right < 0 || n <= at + a->right);
}

static bool sees_all(const struct onnx_attention *a)
{
    int64_t last = a->past + a->sequence - 1;
    return (!a->causal || a->past >= a->total - 1) && (a->left < 0 || last - a->left <= 0) &&
           (a->right < 0 || a->past + a->right >= a->total - 1);
}

/* The window as a mask that is known: booleans, or numbers to add when the filter is another than theirs. */
static bool add_window(struct onnx_builder *b, struct onnx_attention *a)
{
    const int64_t dims[] = { a->sequence, a->total };
    bool numbers = a->filter != -INFINITY;
    struct onnx_value *mask = onnx_temp(b, numbers ? ONNX_FLOAT : ONNX_BOOL, 2, dims);
    void *data = onnx_constant_data(b, mask);
    if (!data)
        return false;
    for (int64_t i = 0; i < a->sequence; i++) {
        for (int64_t n = 0; n < a->total; n++) {
            if (numbers)
                ((float *)data)[i * a->total + n] = sees(a, i, n) ? 0 : -INFINITY;
            else
                ((uint8_t *)data)[i * a->total + n] = sees(a, i, n);
        }
    }
    a->causal = false;
    a->left = a->right = -1;
    if (!numbers)
        return (a->keep = onnx_attention_both(b, a->keep, mask)) != NULL;
    mask = onnx_convert(b, mask, a->q->type);
    a->relative = a->relative ? onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_ADD, a->relative, mask) : mask;
    return a->relative;
}

/* The lengths as a boolean mask, for operators without lengths. */
static bool lengths_to_keep(struct onnx_builder *b, struct onnx_attention *a)
{
    const int64_t dims[] = { a->batch, 1, 1, 1 };
    struct onnx_value *keys = onnx_counting(b, ONNX_INT32, 0, 1, &a->total), *keep;
    if (!a->ends)
        return !b->failed;
    keep = onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_LOGICAL_LESS_THAN, keys, onnx_as(b, a->ends, 4, dims));
    if (a->starts)
        keep = onnx_attention_both(b, keep,
                                   onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL, keys,
                                               onnx_as(b, a->starts, 4, dims)));
    a->keep = onnx_attention_both(b, a->keep, keep);
    a->ends = a->starts = NULL;
    return !b->failed;
}

/* ---- the fused operator ---- */

static struct onnx_value *tokens_of(struct onnx_builder *b, struct onnx_value *x)
{
    return x && x->rank == 4 ? onnx_heads_to_tokens(b, x, NULL) : x;
}

enum { QUERY, KEY, VALUE, BIAS = 6, MASK, RELATIVE_BIAS, PAST_KEY, PAST_VALUE, LENGTHS, INPUTS };

/* Keys and values in head layout are passed as the past, with no new keys. */
static const DML_TENSOR_DESC *cache_desc(struct onnx_builder *b, struct onnx_desc *d, struct onnx_value *v,
                                         int64_t rows)
{
    if (!v)
        return NULL;
    const int64_t dims[] = { v->dims[0], v->dims[1], rows, v->dims[3] };
    const uint32_t strides[] = { (uint32_t)(v->dims[1] * v->dims[2] * v->dims[3]), (uint32_t)(v->dims[2] * v->dims[3]),
                                 (uint32_t)v->dims[3], 1 };
    return onnx_desc_strided(b, d, v, 4, dims, rows == v->dims[2] ? NULL : strides);
}

static bool masks_for_fused(struct onnx_builder *b, struct onnx_attention *a, struct onnx_value **in,
                            DML_MULTIHEAD_ATTENTION_MASK_TYPE *type)
{
    *type = DML_MULTIHEAD_ATTENTION_MASK_TYPE_NONE;
    in[RELATIVE_BIAS] = a->relative;
    if (a->keep && !lengths_to_keep(b, a))
        return false;
    if (a->keep) {
        in[MASK] = onnx_convert(b, a->keep, ONNX_INT32);
        *type = DML_MULTIHEAD_ATTENTION_MASK_TYPE_BOOLEAN;
    } else if (a->starts) {
        const int64_t one[] = { 1, a->batch };
        struct onnx_value *both[] = { onnx_as(b, a->ends, 2, one), onnx_as(b, a->starts, 2, one) };
        in[MASK] = onnx_join(b, both, 2, 0);
        *type = DML_MULTIHEAD_ATTENTION_MASK_TYPE_KEY_SEQUENCE_END_START;
    } else if (a->ends) {
        in[MASK] = a->ends;
        *type = DML_MULTIHEAD_ATTENTION_MASK_TYPE_KEY_SEQUENCE_LENGTH;
    }
    return !b->failed;
}

static struct onnx_value *present(struct onnx_builder *b, const struct onnx_attention *a, struct onnx_value *wanted,
                                  int64_t size)
{
    const int64_t dims[] = { a->batch, a->key_heads, a->total, size };
    return wanted ? wanted : onnx_temp(b, a->q->type, 4, dims);
}

/* Without a mask and past, causal attention equals attention with an empty cache. */
static struct onnx_value *no_rows(struct onnx_builder *b, const struct onnx_attention *a)
{
    struct onnx_value *lengths = onnx_temp(b, ONNX_INT32, 1, &a->batch);
    int32_t *zeros = onnx_constant_data(b, lengths);
    if (!zeros)
        return NULL;
    memset(zeros, 0, (size_t)a->batch * sizeof(*zeros));
    return lengths;
}

static bool use_cache(struct onnx_builder *b, struct onnx_attention *a, struct onnx_value **in, struct onnx_value **out)
{
    in[LENGTHS] = a->before ? a->before : no_rows(b, a);
    in[KEY] = tokens_of(b, a->k);
    in[VALUE] = tokens_of(b, a->v);
    out[1] = present(b, a, a->present_key, a->size);
    out[2] = present(b, a, a->present_value, a->value_size);
    return in[LENGTHS] && out[1] && out[2] && in[KEY] && in[VALUE];
}

static bool fused_inputs(struct onnx_builder *b, struct onnx_attention *a, struct onnx_value **in,
                         struct onnx_value **out, DML_MULTIHEAD_ATTENTION_MASK_TYPE *type)
{
    bool cache =
        a->before || (a->causal && a->left < 0 && a->right < 0 && !a->past && !a->keep && !a->ends && a->k->rank == 3);
    if (!cache && (a->causal || a->left >= 0 || a->right >= 0) && !add_window(b, a))
        return false;
    if (!masks_for_fused(b, a, in, type))
        return false;
    in[QUERY] = tokens_of(b, a->q);
    in[BIAS] = a->bias;
    if (cache)
        return use_cache(b, a, in, out);
    bool heads = a->k->rank == 4;
    in[heads ? PAST_KEY : KEY] = a->k;
    in[heads ? PAST_VALUE : VALUE] = a->v;
    if (!heads && a->past) {
        in[PAST_KEY] = a->past_key;
        in[PAST_VALUE] = a->past_value;
    }
    out[1] = a->present_key;
    out[2] = a->present_value;
    return in[QUERY];
}

static bool attend_fused(struct onnx_builder *b, struct onnx_attention *a)
{
    struct onnx_desc d[INPUTS + 3];
    struct onnx_value *in[INPUTS] = { NULL }, *out[3] = { NULL };
    DML_MULTIHEAD_ATTENTION_MASK_TYPE type;
    const int64_t full[] = { a->batch, a->heads, a->sequence, a->total };
    const int64_t tokens[] = { a->batch, a->sequence, a->heads * a->value_size };
    if (!fused_inputs(b, a, in, out, &type))
        return false;
    int64_t rows = a->k->rank == 4 ? a->total : a->past;
    bool direct = a->y->rank == 3 || a->heads == 1 || a->sequence == 1;
    out[0] = direct ? a->y : onnx_temp(b, a->q->type, 3, tokens);
    if (!out[0])
        return false;
    DML_MULTIHEAD_ATTENTION1_OPERATOR_DESC desc = {
        .QueryTensor = onnx_desc(b, &d[QUERY], in[QUERY]),
        .KeyTensor = onnx_desc(b, &d[KEY], in[KEY]),
        .ValueTensor = onnx_desc(b, &d[VALUE], in[VALUE]),
        .BiasTensor = onnx_desc(b, &d[BIAS], in[BIAS]),
        .MaskTensor = type == DML_MULTIHEAD_ATTENTION_MASK_TYPE_BOOLEAN
                          ? onnx_desc_broadcast(b, &d[MASK], in[MASK], 4, full)
                          : onnx_desc(b, &d[MASK], in[MASK]),
        .RelativePositionBiasTensor =
            a->relative ? onnx_desc_broadcast(b, &d[RELATIVE_BIAS], in[RELATIVE_BIAS], 4, full) : NULL,
        .PastKeyTensor = cache_desc(b, &d[PAST_KEY], in[PAST_KEY], rows),
        .PastValueTensor = cache_desc(b, &d[PAST_VALUE], in[PAST_VALUE], rows),
        .PastSequenceLengthsTensor = onnx_desc(b, &d[LENGTHS], in[LENGTHS]),
        .OutputTensor = onnx_desc_as(b, &d[INPUTS], out[0], 3, tokens),
        .OutputPresentKeyTensor = onnx_desc(b, &d[INPUTS + 1], out[1]),
        .OutputPresentValueTensor = onnx_desc(b, &d[INPUTS + 2], out[2]),
        .Scale = a->scale,
        .MaskFilterValue = a->filter,
        .QueryHeadCount = (UINT)a->heads,
        .KeyValueHeadCount = (UINT)a->key_heads,
        .MaskType = type,
    };
    return onnx_emit(b, DML_OPERATOR_MULTIHEAD_ATTENTION1, &desc, in, INPUTS, out, 3) &&
           (direct || onnx_tokens_to_heads(b, out[0], a->heads, a->y));
}

/* ---- as GEMMs and a softmax ---- */

/* y = alpha * x * z per head, or * its transpose; x: `columns` of its rows, which are `row` elements apart. */
struct product {
    struct onnx_value *x, *z, *y;
    int64_t columns, row;
    bool transposed;
    float alpha;
};

static struct onnx_value *multiply(struct onnx_builder *b, const struct onnx_attention *a, const struct product *p)
{
    struct onnx_desc dx, dz, dy;
    struct onnx_value *x = p->x, *z = p->z, *y = p->y, *in[2] = { x, z };
    int64_t columns = p->columns, row = p->row;
    int64_t rows = a->heads / a->key_heads * a->sequence;
    const int64_t x_dims[] = { a->batch, a->key_heads, rows, columns };
    const uint32_t x_strides[] = { (uint32_t)(a->key_heads * rows * row), (uint32_t)(rows * row), (uint32_t)row, 1 };
    if (!x || !z || !y)
        return NULL;
    const int64_t y_dims[] = { a->batch, a->key_heads, rows, p->transposed ? a->total : z->dims[3] };
    DML_GEMM_OPERATOR_DESC desc = { .ATensor =
                                        onnx_desc_strided(b, &dx, x, 4, x_dims, row == columns ? NULL : x_strides),
                                    .BTensor = cache_desc(b, &dz, z, a->total),
                                    .OutputTensor = onnx_desc_as(b, &dy, y, 4, y_dims),
                                    .TransB =
                                        p->transposed ? DML_MATRIX_TRANSFORM_TRANSPOSE : DML_MATRIX_TRANSFORM_NONE,
                                    .Alpha = p->alpha };
    return onnx_emit(b, DML_OPERATOR_GEMM, &desc, in, 2, &y, 1) ? y : NULL;
}

/* Part of the bias is added to tokens. */
static struct onnx_value *biased(struct onnx_builder *b, const struct onnx_attention *a, struct onnx_value *x,
                                 int64_t first)
{
    if (!a->bias || !x || x->rank == 4)
        return x;
    return onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_ADD, x, onnx_cut(b, a->bias, 0, first, x->dims[2]));
}

/* All keys or values as heads, with the past before them. */
static struct onnx_value *heads_of(struct onnx_builder *b, const struct onnx_attention *a, struct onnx_value *x,
                                   struct onnx_value *past, struct onnx_value *whole)
{
    bool joined = a->past && x && x->rank == 3;
    struct onnx_value *heads = x && x->rank == 3 ? onnx_tokens_to_heads(b, x, a->key_heads, joined ? NULL : whole) : x;
    struct onnx_value *both[] = { past, heads };
    return joined ? onnx_join_to(b, both, 2, 2, whole) : heads;
}

/* The value at this stage, to a->scores if that is requested. */
static struct onnx_value *stage(struct onnx_builder *b, struct onnx_attention *a, enum onnx_attention_scores stage,
                                struct onnx_value *x)
{
    if (!x || !a->scores || a->stage != stage)
        return x;
    return onnx_alias(b, a->scores, x) ? x : NULL;
}

static struct onnx_value *mask_scores(struct onnx_builder *b, struct onnx_attention *a, struct onnx_value *x)
{
    if (a->relative)
        x = onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_ADD, x, a->relative);
    if (!a->keep || !x)
        return x;
    struct onnx_value *zero = onnx_scalar(b, a->keep->type, 0);
    struct onnx_value *filter = onnx_scalar(b, x->type, a->filter);
    struct onnx_value *out = onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_LOGICAL_EQUALS, a->keep, zero);
    if (a->filter != -INFINITY)
        filter = onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_ADD, x, filter);
    return onnx_select(b, out, filter, x);
}

/* The weights [batch, heads, sequence, total or more]; rows of -infinity become zeros. */
static struct onnx_value *soften(struct onnx_builder *b, struct onnx_attention *a, struct onnx_value *x)
{
    static const UINT axis = 3;
    const int64_t column[] = { a->batch, a->heads, a->sequence, 1 };
    static const uint32_t per_head[] = { 0, 1, 0, 0 };
    struct onnx_desc dx, dy;
    struct onnx_value *scores = x;
    if (a->sink) {
        struct onnx_value *both[] = { x, onnx_view(b, a->sink, 4, column, per_head) };
        x = scores = onnx_join(b, both, 2, 3);
    }
    struct onnx_value *y = x ? onnx_temp(b, x->type, 4, x->dims) : NULL;
    if (!y)
        return NULL;
    DML_ACTIVATION_SOFTMAX1_OPERATOR_DESC desc = { onnx_desc(b, &dx, x), onnx_desc(b, &dy, y), 1, &axis };
    if (!onnx_emit(b, DML_OPERATOR_ACTIVATION_SOFTMAX1, &desc, &x, 1, &y, 1) || (!a->keep && !a->relative))
        return b->failed ? NULL : y;
    struct onnx_value *never =
        onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_LOGICAL_EQUALS, scores, onnx_scalar(b, x->type, -INFINITY));
    return onnx_select(b, never, onnx_scalar(b, x->type, 0), y);
}

static bool attend_apart(struct onnx_builder *b, struct onnx_attention *a)
{
    const int64_t scores[] = { a->batch, a->heads, a->sequence, a->total };
    const int64_t heads[] = { a->batch, a->heads, a->sequence, a->value_size };
    int64_t keys_bias = a->heads * a->size, values_bias = keys_bias + a->key_heads * a->size;
    if (((a->causal || a->left >= 0 || a->right >= 0) && !add_window(b, a)) || !lengths_to_keep(b, a))
        return false;
    struct onnx_value *q = biased(b, a, a->q, 0);
    q = q && q->rank == 3 ? onnx_tokens_to_heads(b, q, a->heads, NULL) : q;
    struct onnx_value *k = heads_of(b, a, biased(b, a, a->k, keys_bias), a->past_key, a->present_key);
    struct onnx_value *v = heads_of(b, a, biased(b, a, a->v, values_bias), a->past_value, a->present_value);
    const struct product qk = { q, k, onnx_temp(b, a->q->type, 4, scores), a->size, a->size, true, a->scale };
    struct onnx_value *x = stage(b, a, ONNX_SCORES_RAW, multiply(b, a, &qk));
    if (a->softcap > 0) {
        x = onnx_scaled(b, x, 1 / a->softcap, 0);
        x = onnx_scaled(b, onnx_apply(b, DML_OPERATOR_ACTIVATION_TANH, x), a->softcap, 0);
    }
    x = stage(b, a, ONNX_SCORES_MASKED, mask_scores(b, a, stage(b, a, ONNX_SCORES_CAPPED, x)));
    x = stage(b, a, ONNX_SCORES_SOFTMAX, soften(b, a, x));
    if (!x)
        return false;
    struct onnx_value *y = a->y->rank == 4 ? a->y : onnx_temp(b, a->q->type, 4, heads);
    const struct product xv = { x, v, y, a->total, x->dims[3], false, 1 };
    y = multiply(b, a, &xv);
    return y && (a->y->rank == 4 || onnx_heads_to_tokens(b, y, a->y));
}

/* Keys and values in head layout are concatenated with the past here, and copied if they are requested as outputs. */
static bool join_heads(struct onnx_builder *b, struct onnx_attention *a)
{
    struct onnx_value *key[] = { a->past_key, a->k }, *value[] = { a->past_value, a->v };
    if (a->past) {
        a->k = onnx_join_to(b, key, 2, 2, a->present_key);
        a->v = onnx_join_to(b, value, 2, 2, a->present_value);
    } else if ((a->present_key && !onnx_alias(b, a->present_key, a->k)) ||
               (a->present_value && !onnx_alias(b, a->present_value, a->v))) {
        return false;
    }
    a->present_key = a->present_value = NULL;
    return a->k && a->v;
}

bool onnx_attend(struct onnx_builder *b, struct onnx_attention *a)
{
    if (b->failed || !a->y)
        return false;
    if (a->k->rank != a->v->rank)
        return onnx_fail(b, "'%s' and '%s' differ in rank", a->k->name, a->v->name);
    if (!a->before && sees_all(a)) {
        a->causal = false;
        a->left = a->right = -1;
    }
    bool cache = a->causal && a->left < 0 && a->right < 0 && !a->past && !a->keep && !a->ends;
    bool apart = a->softcap > 0 || a->sink || a->scores || !a->total || !a->sequence;
    if (a->k->rank == 4 && cache && !apart && a->k->dims[2] == a->total) { /* the fused operator appends tokens */
        a->k = tokens_of(b, a->k);
        a->v = tokens_of(b, a->v);
    }
    if (!a->k || !a->v || (a->k->rank == 4 && !join_heads(b, a)))
        return false;
    return apart ? attend_apart(b, a) : attend_fused(b, a);
}
