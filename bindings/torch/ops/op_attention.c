/* SPDX-License-Identifier: Apache-2.0 */
/* Scaled dot-product attention, forward and backward, each as one graph. The operators are torch_directml's own: the
 * tensors that torch keeps between the two passes are recomputed, so that the forward pass is one fused attention. */
#include "graph.h"

#include <math.h>

#define EW(name)     DML_OPERATOR_ELEMENT_WISE_##name
#define REDUCE(name) DML_REDUCE_FUNCTION_##name

struct attention {
    struct aten_value *query, *key, *value; /* [batch, heads, tokens, size] */
    struct aten_value *scores;              /* [batch, heads, queries, keys], scaled and masked */
    bool biased;                            /* whole rows may be masked */
    double scale;
    int32_t type; /* of the scores */
};

static struct aten_value *transposed(struct aten_graph *g, struct aten_value *x)
{
    return x ? aten_transpose(g, x, 2, 3) : NULL;
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

/* Reads query, key, value, bias, causal, scale: arguments from `first` on. */
static bool read_attention(struct aten_graph *g, const struct aten_node *n, uint32_t first, struct attention *out)
{
    struct aten_value *q = aten_in(g, n, first), *k = aten_in(g, n, first + 1), *v = aten_in(g, n, first + 2);
    if (!q || !k || !v)
        return false;
    if (q->rank != 4 || k->rank != 4 || v->rank != 4)
        return aten_fail(g, "query, key and value have %u, %u and %u dimensions, must have 4", q->rank, k->rank,
                         v->rank);
    if (!aten_is_float(q->type) || !aten_elements(q) || !aten_elements(k) || !aten_elements(v))
        return aten_fail(g, "query, key and value must be floating point and must not be empty");
    const int32_t type = aten_wide(q->type);
    *out = (struct attention){ q, k, v, NULL, aten_given(n, first + 3), aten_real(g, n, first + 5, 1), type };
    /* Scores of 16-bit types are computed in FLOAT32: the exponentials multiply rounding errors of scores. */
    const bool exact = type == ATEN_FLOAT64; /* factors of GEMMs are FLOAT32 */
    struct aten_value *s = aten_matmul(g, aten_convert(g, q, type), transposed(g, aten_convert(g, k, type)), NULL,
                                       exact ? 1 : out->scale, 0);
    if (exact)
        s = aten_scaled(g, s, out->scale, 0);
    if (out->biased)
        s = aten_add(g, s, aten_in_as(g, n, first + 3, type));
    if (aten_int(g, n, first + 4, 0))
        s = aten_add(g, s, causal_mask(g, type, q->sizes[2], k->sizes[2]));
    out->scores = s;
    return s != NULL;
}

/* softmax(scores); rows in which everything is masked are zeros. */
static struct aten_value *weights(struct aten_graph *g, const struct attention *a)
{
    static const UINT axis = 3;
    struct aten_value *s = a->scores, *p = aten_new_packed(g, s->type, 4, s->sizes);
    struct aten_desc ds, dp;
    if (!p)
        return NULL;
    DML_ACTIVATION_SOFTMAX1_OPERATOR_DESC desc = { aten_describe(g, &ds, s), aten_describe(g, &dp, p), 1, &axis };
    if (!aten_emit(g, DML_OPERATOR_ACTIVATION_SOFTMAX1, &desc, &s, 1, &p, 1) || !a->biased)
        return g->failed ? NULL : p;
    struct aten_value *most = aten_reduced(g, REDUCE(MAX), s, 1u << 3, s->type);
    struct aten_value *none = aten_apply2(g, EW(LOGICAL_EQUALS), most, aten_scalar(g, s->type, -INFINITY));
    return aten_select(g, none, aten_scalar(g, s->type, 0), p);
}

/* torch_directml::attention(query, key, value, bias, causal, scale) */
bool aten_build_attention(struct aten_graph *g, const struct aten_node *n)
{
    struct attention a;
    if (!read_attention(g, n, 0, &a))
        return false;
    struct aten_value *p = aten_convert(g, weights(g, &a), a.value->type);
    return aten_result(g, n, 0, aten_matmul(g, p, a.value, NULL, 1, 0));
}

/* torch_directml::attention_backward(gradient, query, key, value, bias, causal, scale) -> gradients of query, key,
 * value */
bool aten_build_attention_backward(struct aten_graph *g, const struct aten_node *n)
{
    struct attention a;
    struct aten_value *dy = aten_in(g, n, 0);
    if (!dy || !read_attention(g, n, 1, &a))
        return false;
    const int32_t type = a.query->type;
    struct aten_value *p = weights(g, &a);
    struct aten_value *dv = aten_matmul(g, transposed(g, aten_convert(g, p, type)), dy, NULL, 1, 0);
    struct aten_value *wide = aten_convert(g, a.value, a.type);
    struct aten_value *dp = aten_matmul(g, aten_convert(g, dy, a.type), transposed(g, wide), NULL, 1, 0);
    struct aten_value *sum = aten_reduced(g, REDUCE(SUM), aten_multiply(g, dp, p), 1u << 3, a.type);
    struct aten_value *ds = aten_multiply(g, p, aten_subtract(g, dp, sum));
    ds = aten_convert(g, aten_scaled(g, ds, a.scale, 0), type);
    return aten_result(g, n, 0, aten_matmul(g, ds, a.key, NULL, 1, 0)) &&
           aten_result(g, n, 1, aten_matmul(g, transposed(g, ds), a.query, NULL, 1, 0)) && aten_result(g, n, 2, dv);
}
