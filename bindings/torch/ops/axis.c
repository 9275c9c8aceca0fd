/* SPDX-License-Identifier: Apache-2.0 */
/* Linear maps along one axis. */
#include "axis.h"

bool aten_taps_init(struct aten_graph *g, struct aten_taps *taps, int64_t to, int64_t from, int64_t capacity)
{
    *taps = (struct aten_taps){ .to = to, .from = from };
    if (to < 1 || from < 1 || capacity > INT32_MAX)
        return aten_fail(g, "cannot map a dimension of %lld elements to one of %lld", (long long)from, (long long)to);
    taps->capacity = (uint32_t)capacity;
    taps->taps = aten_alloc(g, (size_t)capacity * sizeof(*taps->taps));
    return taps->taps != NULL;
}

void aten_taps_add(struct aten_taps *taps, int64_t to, int64_t from, double weight)
{
    if (taps->count < taps->capacity)
        taps->taps[taps->count++] = (struct aten_tap){ to, from, weight };
}

void aten_taps_transpose(struct aten_taps *taps)
{
    int64_t to = taps->to;
    taps->to = taps->from;
    taps->from = to;
    for (uint32_t i = 0; i < taps->count; i++) {
        struct aten_tap *tap = &taps->taps[i];
        *tap = (struct aten_tap){ tap->from, tap->to, tap->weight };
    }
}

struct aten_value *aten_vector(struct aten_graph *g, int32_t type, uint32_t rank, uint32_t axis, const double *values,
                               int64_t count)
{
    int64_t sizes[ATEN_RANK_MAX];
    char *data = aten_alloc(g, (size_t)count * 8);
    for (int64_t i = 0; data && i < count; i++)
        aten_store_real(type, values[i], data + i * aten_type_bytes(type));
    for (uint32_t i = 0; i < rank; i++)
        sizes[i] = i == axis ? count : 1;
    return data ? aten_constant(g, type, rank, sizes, data) : NULL;
}

struct aten_value *aten_take(struct aten_graph *g, struct aten_value *x, uint32_t axis, const int64_t *indices,
                             int64_t count)
{
    int64_t sizes[ATEN_RANK_MAX];
    struct aten_desc d[3];
    if (!x || g->failed)
        return NULL;
    memcpy(sizes, x->sizes, sizeof(sizes));
    sizes[axis] = count;
    struct aten_value *in[2] = { x, aten_constant(g, ATEN_INT64, 1, &count, indices) };
    struct aten_value *y = aten_new(g, x->type, x->rank, sizes);
    if (!y || !in[1])
        return NULL;
    DML_GATHER_OPERATOR_DESC desc = { aten_describe(g, &d[0], x), aten_describe_rank(g, &d[1], in[1], x->rank),
                                      aten_describe(g, &d[2], y), axis, 1 };
    return aten_emit(g, DML_OPERATOR_GATHER, &desc, in, 2, &y, 1) ? y : NULL;
}

struct aten_value *aten_scattered(struct aten_graph *g, struct aten_value *updates, struct aten_value *indices,
                                  uint32_t axis, const int64_t *sizes, bool sum)
{
    struct aten_desc d[4];
    if (!updates || !indices || g->failed)
        return NULL;
    struct aten_value *in[3] = { aten_filled(g, updates->type, updates->rank, sizes, 0), indices, updates };
    struct aten_value *y = aten_new(g, updates->type, updates->rank, sizes);
    if (!in[0] || !y)
        return NULL;
    if (!aten_elements(updates))
        return in[0];
    /* The description of SCATTER_ELEMENTS has the same fields except for the last. */
    ANYDML_SCATTER_REDUCE_ELEMENTS_OPERATOR_DESC desc = {
        aten_describe(g, &d[0], in[0]),
        aten_describe(g, &d[1], indices),
        aten_describe(g, &d[2], updates),
        aten_describe(g, &d[3], y),
        axis,
        DML_REDUCE_FUNCTION_SUM,
    };
    return aten_emit(g, sum ? ANYDML_OPERATOR_SCATTER_REDUCE_ELEMENTS : DML_OPERATOR_SCATTER_ELEMENTS, &desc, in, 3, &y,
                     1)
               ? y
               : NULL;
}

/* ---- maps ---- */

#define TAPS_MAX 12 /* maps with more taps are computed as a GEMM */

/* The maximum number of taps of one element; 0: out of memory. */
static uint32_t most_taps(struct aten_graph *g, const struct aten_taps *taps)
{
    uint32_t most = 0, *counts = aten_alloc(g, (size_t)taps->to * sizeof(*counts));
    for (uint32_t i = 0; counts && i < taps->count; i++) {
        uint32_t *count = &counts[taps->taps[i].to];
        most = BASE_MAX(most, ++*count);
    }
    return counts ? BASE_MAX(most, 1u) : 0;
}

/* y = sum over k of weights[k] * x[indices[k]] */
static struct aten_value *gathered(struct aten_graph *g, struct aten_value *x, uint32_t axis,
                                   const struct aten_taps *taps, uint32_t most)
{
    const size_t to = (size_t)taps->to;
    int64_t *indices = aten_alloc(g, most * to * sizeof(*indices));
    double *weights = aten_alloc(g, most * to * sizeof(*weights));
    uint32_t *counts = aten_alloc(g, to * sizeof(*counts));
    struct aten_value *y = NULL;
    bool plain = most == 1;
    for (uint32_t i = 0; counts && i < taps->count; i++) {
        const struct aten_tap *tap = &taps->taps[i];
        size_t k = counts[tap->to]++, at = k * to + (size_t)tap->to;
        indices[at] = tap->from;
        weights[at] = tap->weight;
    }
    for (size_t i = 0; counts && plain && i < to; i++)
        plain = weights[i] == 1;
    for (uint32_t k = 0; counts && k < most; k++) {
        struct aten_value *part = aten_take(g, x, axis, indices + k * to, taps->to);
        if (!plain)
            part = aten_multiply(g, part, aten_vector(g, x->type, x->rank, axis, weights + k * to, taps->to));
        y = y ? aten_add(g, y, part) : part;
    }
    return y;
}

/* Multiplies the matrix of the map with x as {before, axis, behind}. */
static struct aten_value *multiplied(struct aten_graph *g, struct aten_value *x, uint32_t axis,
                                     const struct aten_taps *taps)
{
    const int64_t shape[2] = { taps->to, taps->from };
    const uint32_t bytes = aten_type_bytes(x->type);
    double *matrix = aten_alloc(g, (size_t)(taps->to * taps->from) * sizeof(*matrix));
    int64_t sizes[ATEN_RANK_MAX], flat[3] = { 1, taps->from, 1 };
    if (!matrix)
        return NULL;
    for (uint32_t i = 0; i < taps->count; i++)
        matrix[taps->taps[i].to * taps->from + taps->taps[i].from] += taps->taps[i].weight;
    for (int64_t i = 0; i < taps->to * taps->from; i++)
        aten_store_real(x->type, matrix[i], (char *)matrix + i * bytes);
    struct aten_value *m = aten_constant(g, x->type, 2, shape, matrix);
    memcpy(sizes, x->sizes, sizeof(sizes));
    sizes[axis] = taps->to;
    for (uint32_t i = 0; i < x->rank; i++)
        if (i != axis)
            flat[i < axis ? 0 : 2] *= x->sizes[i];
    struct aten_value *rows = aten_reshape(g, x, 3, flat);
    if (flat[2] == 1)
        rows = aten_matmul(g, aten_squeeze(g, rows, 2), aten_transpose(g, m, 0, 1), NULL, 1, 0);
    else
        rows = aten_matmul(g, m, rows, NULL, 1, 0);
    return aten_reshape(g, rows, x->rank, sizes);
}

struct aten_value *aten_along(struct aten_graph *g, struct aten_value *x, uint32_t axis, const struct aten_taps *taps)
{
    if (!x || g->failed || x->sizes[axis] != taps->from)
        return NULL;
    const uint32_t most = most_taps(g, taps);
    if (!most)
        return NULL;
    if (most <= TAPS_MAX)
        return gathered(g, x, axis, taps, most);
    if (taps->to * taps->from <= 1 << 24)
        return multiplied(g, x, axis, taps);
    aten_fail(g, "cannot map a dimension of %lld elements to one of %lld with %u taps per element",
              (long long)taps->from, (long long)taps->to, most);
    return NULL;
}
