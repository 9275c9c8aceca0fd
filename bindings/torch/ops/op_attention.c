/* SPDX-License-Identifier: Apache-2.0 */
/* Scaled dot-product attention, forward and backward, each as one graph. The operators are torch_directml's own: the
 * tensors that torch keeps between the two passes are recomputed, so that the forward pass is one operator. */
#include "graph.h"

#include <math.h>

#define EW(name)     DML_OPERATOR_ELEMENT_WISE_##name
#define REDUCE(name) DML_REDUCE_FUNCTION_##name

struct attention {
    struct aten_value *query, *key, *value; /* [batch, heads, tokens, size]; query heads may share those of keys */
    struct aten_value *bias, *keep;         /* NULL: none; keep: weights that dropout keeps, BOOLEAN */
    bool masked;                            /* whole rows may be masked */
    double scale, kept;                     /* kept: the factor of weights that dropout keeps */
    int32_t type;                           /* of the scores, and of the bias */
    int64_t group;                          /* heads of the query for each head of the keys */
};

static struct aten_value *transposed(struct aten_graph *g, struct aten_value *x)
{
    return x ? aten_transpose(g, x, x->rank - 2, x->rank - 1) : NULL;
}

/* [queries, keys]: -infinity where the key follows the query, 0 elsewhere. */
static struct aten_value *causal_mask(struct aten_graph *g, int32_t type, int64_t queries, int64_t keys)
{
    const int64_t rows[2] = { queries, 1 }, columns[2] = { 1, keys };
    float *numbers = aten_alloc(g, (size_t)BASE_MAX(queries, keys) * sizeof(*numbers));
    if (!numbers)
        return NULL;
    for (int64_t i = 0; i < queries || i < keys; i++)
        numbers[i] = (float)i;
    struct aten_value *row = aten_constant(g, ATEN_FLOAT32, 2, rows, numbers);
    struct aten_value *column = aten_constant(g, ATEN_FLOAT32, 2, columns, numbers);
    return aten_select(g, aten_apply2(g, EW(LOGICAL_GREATER_THAN), column, row), aten_scalar(g, type, -INFINITY),
                       aten_scalar(g, type, 0));
}

/* Reads query, key, value, bias, causal, scale, keep, dropout: arguments from `first` on. `type`: of the scores. */
static bool read_attention(struct aten_graph *g, const struct aten_node *n, uint32_t first, struct attention *out)
{
    struct aten_value *q = aten_in(g, n, first), *k = aten_in(g, n, first + 1), *v = aten_in(g, n, first + 2);
    const double dropout = aten_real(g, n, first + 7, 0);
    if (!q || !k || !v)
        return false;
    if (q->rank != 4 || k->rank != 4 || v->rank != 4)
        return aten_fail(g, "query, key and value have %u, %u and %u dimensions, must have 4", q->rank, k->rank,
                         v->rank);
    if (!aten_is_float(q->type) || !aten_elements(q) || !aten_elements(k) || !aten_elements(v))
        return aten_fail(g, "query, key and value must be floating point and must not be empty");
    if (q->sizes[1] % k->sizes[1])
        return aten_fail(g, "query has %lld heads, must be a multiple of the %lld heads of key", (long long)q->sizes[1],
                         (long long)k->sizes[1]);
    *out = (struct attention){ .query = q, .key = k, .value = v, .type = out->type };
    out->type = out->type == ATEN_ABSENT ? q->type : out->type;
    out->scale = aten_real(g, n, first + 5, 1);
    out->kept = dropout < 1 ? 1 / (1 - dropout) : 0;
    out->group = q->sizes[1] / k->sizes[1];
    out->keep = aten_in_optional(g, n, first + 6);
    out->masked = aten_given(n, first + 3);
    if (out->masked)
        out->bias = aten_in_as(g, n, first + 3, out->type);
    if (aten_int(g, n, first + 4, 0)) {
        struct aten_value *causal = causal_mask(g, out->type, q->sizes[2], k->sizes[2]);
        out->bias = out->bias ? aten_add(g, out->bias, causal) : causal;
    }
    return !g->failed;
}

/* ---- in one operator ---- */

/* [batch, heads, tokens, size] as {batch, tokens, heads * size}: a view if the heads of a token are adjacent. */
static struct aten_value *tokens_of(struct aten_graph *g, struct aten_value *x)
{
    const int64_t sizes[3] = { x->sizes[0], x->sizes[2], x->sizes[1] * x->sizes[3] };
    const int64_t size = x->sizes[3], step = size == 1 ? 1 : x->strides[3];
    int64_t strides[3] = { x->strides[0], x->strides[2], size == 1 && x->sizes[1] > 1 ? x->strides[1] : step };
    if (x->sizes[1] > 1 && size > 1 && x->strides[1] != size * step) {
        const int64_t packed[4] = { sizes[1] * sizes[2], size, sizes[2], 1 };
        struct aten_value *y = aten_new_strided(g, x->type, 4, x->sizes, packed);
        struct aten_desc dx, dy;
        if (!y)
            return NULL;
        DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC desc = { aten_describe(g, &dx, x), aten_describe(g, &dy, y), NULL };
        x = aten_emit(g, DML_OPERATOR_ELEMENT_WISE_IDENTITY, &desc, &x, 1, &y, 1) ? y : NULL;
        strides[0] = packed[0];
        strides[1] = packed[2];
        strides[2] = 1;
    }
    return aten_view(g, x, 3, sizes, strides);
}

/* A row in which everything is masked yields zeros, as it does in the operator. */
static struct aten_value *attend(struct aten_graph *g, const struct attention *a)
{
    const struct aten_value *q = a->query, *v = a->value;
    const int64_t scores[4] = { q->sizes[0], q->sizes[1], q->sizes[2], v->sizes[2] };
    const int64_t sizes[3] = { q->sizes[0], q->sizes[2], q->sizes[1] * v->sizes[3] };
    const int64_t heads[4] = { q->sizes[0], q->sizes[1], q->sizes[2], v->sizes[3] };
    const int64_t strides[4] = { sizes[1] * sizes[2], v->sizes[3], sizes[2], 1 };
    struct aten_value *in[12] = { tokens_of(g, a->query), tokens_of(g, a->key), tokens_of(g, a->value) };
    struct aten_value *y = aten_new_packed(g, q->type, 3, sizes);
    struct aten_desc d[5];
    if (!in[0] || !in[1] || !in[2] || !y)
        return NULL;
    in[8] = a->bias ? aten_expand(g, a->bias, 4, scores) : NULL;
    DML_MULTIHEAD_ATTENTION1_OPERATOR_DESC desc = {
        .QueryTensor = aten_describe(g, &d[0], in[0]),
        .KeyTensor = aten_describe(g, &d[1], in[1]),
        .ValueTensor = aten_describe(g, &d[2], in[2]),
        .RelativePositionBiasTensor = in[8] ? aten_describe(g, &d[3], in[8]) : NULL,
        .OutputTensor = aten_describe(g, &d[4], y),
        .Scale = (float)a->scale,
        .MaskFilterValue = -INFINITY,
        .QueryHeadCount = (UINT)q->sizes[1],
        .KeyValueHeadCount = (UINT)v->sizes[1],
        .MaskType = DML_MULTIHEAD_ATTENTION_MASK_TYPE_NONE,
    };
    if (!aten_emit(g, DML_OPERATOR_MULTIHEAD_ATTENTION1, &desc, in, 12, &y, 1))
        return NULL;
    return aten_view(g, y, 4, heads, strides);
}

/* ---- in parts ---- */

/* Rows of the heads that share keys, one after another: [batch, key heads, group * tokens, size]. */
static struct aten_value *grouped(struct aten_graph *g, const struct attention *a, struct aten_value *x)
{
    if (!x || a->group == 1)
        return x;
    const int64_t sizes[4] = { x->sizes[0], a->key->sizes[1], a->group * x->sizes[2], x->sizes[3] };
    return aten_reshape(g, x, 4, sizes);
}

static struct aten_value *ungrouped(struct aten_graph *g, const struct attention *a, struct aten_value *x)
{
    if (!x || a->group == 1)
        return x;
    const int64_t sizes[4] = { x->sizes[0], a->query->sizes[1], a->query->sizes[2], x->sizes[3] };
    return aten_reshape(g, x, 4, sizes);
}

/* softmax(scores), as [batch, heads, queries, keys]; rows in which everything is masked are zeros. */
static struct aten_value *weights(struct aten_graph *g, const struct attention *a)
{
    static const UINT axis = 3;
    const bool exact = a->type == ATEN_FLOAT64; /* factors of GEMMs are FLOAT32 */
    struct aten_value *q = aten_convert(g, grouped(g, a, a->query), a->type);
    struct aten_value *k = aten_convert(g, a->key, a->type);
    struct aten_value *s = aten_matmul(g, q, transposed(g, k), NULL, exact ? 1 : a->scale, 0);
    s = ungrouped(g, a, exact ? aten_scaled(g, s, a->scale, 0) : s);
    if (a->bias)
        s = aten_add(g, s, a->bias);
    struct aten_value *p = s ? aten_new_packed(g, s->type, 4, s->sizes) : NULL;
    struct aten_desc ds, dp;
    if (!p)
        return NULL;
    DML_ACTIVATION_SOFTMAX1_OPERATOR_DESC desc = { aten_describe(g, &ds, s), aten_describe(g, &dp, p), 1, &axis };
    if (!aten_emit(g, DML_OPERATOR_ACTIVATION_SOFTMAX1, &desc, &s, 1, &p, 1) || !a->masked)
        return g->failed ? NULL : p;
    struct aten_value *most = aten_reduced(g, REDUCE(MAX), s, 1u << 3, s->type);
    struct aten_value *none = aten_apply2(g, EW(LOGICAL_EQUALS), most, aten_scalar(g, s->type, -INFINITY));
    return aten_select(g, none, aten_scalar(g, s->type, 0), p);
}

/* Zeros where dropout does not keep the weight, the others scaled. */
static struct aten_value *dropped(struct aten_graph *g, const struct attention *a, struct aten_value *x)
{
    if (!x || !a->keep)
        return x;
    return aten_select(g, a->keep, aten_scaled(g, x, a->kept, 0), aten_scalar(g, x->type, 0));
}

/* torch_directml::attention(query, key, value, bias, causal, scale, keep, dropout) */
bool aten_build_attention(struct aten_graph *g, const struct aten_node *n)
{
    struct attention a = { .type = ATEN_ABSENT };
    struct aten_value *q = aten_in(g, n, 0);
    const bool single = q && q->type != ATEN_FLOAT64 && !aten_given(n, 6);
    if (q && !single)
        a.type = aten_wide(q->type);
    if (!read_attention(g, n, 0, &a))
        return false;
    if (single)
        return aten_result(g, n, 0, attend(g, &a));
    /* Scores of 16-bit types are computed in FLOAT32: the exponentials multiply rounding errors of scores. */
    struct aten_value *p = aten_convert(g, dropped(g, &a, weights(g, &a)), a.value->type);
    return aten_result(g, n, 0, ungrouped(g, &a, aten_matmul(g, grouped(g, &a, p), a.value, NULL, 1, 0)));
}

/* torch_directml::attention_backward(gradient, query, key, value, bias, causal, scale, keep, dropout) -> gradients of
 * query, key, value */
bool aten_build_attention_backward(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *dy = aten_in(g, n, 0), *q = aten_in(g, n, 1);
    struct attention a = { .type = q ? aten_wide(q->type) : ATEN_ABSENT };
    if (!dy || !q || !read_attention(g, n, 1, &a))
        return false;
    struct aten_value *p = weights(g, &a), *rows = grouped(g, &a, dy);
    struct aten_value *kept = aten_convert(g, grouped(g, &a, dropped(g, &a, p)), q->type);
    struct aten_value *dv = aten_matmul(g, transposed(g, kept), rows, NULL, 1, 0);
    /* Their rounding is relative to the gradient, unlike that of scores. */
    struct aten_value *dp = aten_matmul(g, rows, transposed(g, a.value), NULL, 1, 0);
    dp = dropped(g, &a, ungrouped(g, &a, aten_convert(g, dp, a.type)));
    struct aten_value *sum = aten_reduced(g, REDUCE(SUM), aten_multiply(g, dp, p), 1u << 3, a.type);
    struct aten_value *ds = aten_multiply(g, p, aten_subtract(g, dp, sum));
    ds = grouped(g, &a, aten_convert(g, aten_scaled(g, ds, a.scale, 0), q->type));
    struct aten_value *dq = aten_matmul(g, ds, a.key, NULL, 1, 0);
    struct aten_value *dk = aten_matmul(g, transposed(g, ds), grouped(g, &a, a.query), NULL, 1, 0);
    return aten_result(g, n, 0, ungrouped(g, &a, dq)) && aten_result(g, n, 1, dk) && aten_result(g, n, 2, dv);
}
