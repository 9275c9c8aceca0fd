/* SPDX-License-Identifier: Apache-2.0 */
/* DirectML's indexing, padding and sorting operators as functions of values. */
#include "index.h"

#define EW(name) DML_OPERATOR_ELEMENT_WISE_##name

struct aten_value *aten_lined(struct aten_graph *g, struct aten_value *x)
{
    return x && !x->rank ? aten_unsqueeze(g, x, 0) : x;
}

struct aten_value *aten_flat(struct aten_graph *g, struct aten_value *x)
{
    const int64_t size = x ? aten_elements(x) : 0;
    return aten_reshape(g, x, 1, &size);
}

struct aten_value *aten_zeros(struct aten_graph *g, int32_t type, uint32_t rank, const int64_t *sizes)
{
    return aten_filled(g, type, rank, sizes, 0);
}

struct aten_value *aten_sequence(struct aten_graph *g, int32_t type, int64_t count, DML_SCALAR_UNION start,
                                 DML_SCALAR_UNION step)
{
    struct aten_value *y = aten_new_packed(g, type, 1, &count);
    struct aten_desc d;
    if (!y)
        return NULL;
    DML_FILL_VALUE_SEQUENCE_OPERATOR_DESC desc = { aten_describe(g, &d, y), aten_type_dml(type), start, step };
    return aten_emit(g, DML_OPERATOR_FILL_VALUE_SEQUENCE, &desc, NULL, 0, &y, 1) ? y : NULL;
}

struct aten_value *aten_padded(struct aten_graph *g, struct aten_value *x, const int64_t *before, const int64_t *after,
                               double value)
{
    int64_t sizes[ATEN_RANK_MAX];
    UINT starts[ATEN_RANK_MAX] = { 0 }, ends[ATEN_RANK_MAX] = { 0 };
    struct aten_desc dx, dy;
    bool any = false;
    for (uint32_t i = 0; x && i < x->rank; i++) {
        starts[i] = (UINT)before[i];
        ends[i] = (UINT)after[i];
        sizes[i] = x->sizes[i] + before[i] + after[i];
        any = any || before[i] || after[i];
    }
    if (!x || !any)
        return x;
    if (!aten_elements(x))
        return aten_filled(g, x->type, x->rank, sizes, value);
    struct aten_value *y = aten_new(g, x->type, x->rank, sizes);
    if (!y)
        return NULL;
    DML_PADDING1_OPERATOR_DESC desc = { aten_describe(g, &dx, x),
                                        aten_describe(g, &dy, y),
                                        DML_PADDING_MODE_CONSTANT,
                                        aten_type_dml(x->type),
                                        aten_scalar_union(x->type, value),
                                        x->rank,
                                        starts,
                                        ends };
    return aten_emit(g, DML_OPERATOR_PADDING1, &desc, &x, 1, &y, 1) ? y : NULL;
}

struct aten_value *aten_placed(struct aten_graph *g, struct aten_value *x, const int64_t *sizes, uint32_t axis,
                               int64_t start, int64_t step)
{
    UINT offsets[ATEN_RANK_MAX] = { 0 }, windows[ATEN_RANK_MAX];
    INT steps[ATEN_RANK_MAX];
    struct aten_desc dx, dy;
    if (!x)
        return NULL;
    if (!aten_elements(x))
        return aten_zeros(g, x->type, x->rank, sizes);
    for (uint32_t i = 0; i < x->rank; i++) {
        windows[i] = (UINT)(i == axis ? (x->sizes[i] - 1) * step + 1 : x->sizes[i]);
        steps[i] = i == axis ? (INT)step : 1;
    }
    offsets[axis] = (UINT)start;
    struct aten_value *y = aten_new(g, x->type, x->rank, sizes);
    if (!y)
        return NULL;
    DML_SLICE_GRAD_OPERATOR_DESC desc = {
        aten_describe(g, &dx, x), aten_describe(g, &dy, y), x->rank, offsets, windows, steps
    };
    return aten_emit(g, DML_OPERATOR_SLICE_GRAD, &desc, &x, 1, &y, 1) ? y : NULL;
}

static INT bounded(int64_t diagonal)
{
    return (INT)BASE_MIN(BASE_MAX(diagonal, (int64_t)INT32_MIN), (int64_t)INT32_MAX);
}

/* `shape` has the type and the sizes of the result; x may be NULL. */
static struct aten_value *diagonals(struct aten_graph *g, struct aten_value *x, const struct aten_value *shape,
                                    double value, int64_t begin, int64_t end)
{
    struct aten_value three = { .type = shape->type, .rank = 3, .sizes = { 1 } };
    struct aten_desc dx, dy;
    const uint32_t rank = shape->rank;
    if (g->failed || rank < 2)
        return NULL;
    if (rank > 4) { /* maximum rank of the operator: merge the batch dimensions */
        for (uint32_t i = 0; i + 2 < rank; i++)
            three.sizes[0] *= shape->sizes[i];
        three.sizes[1] = shape->sizes[rank - 2];
        three.sizes[2] = shape->sizes[rank - 1];
        if (x && !(x = aten_reshape(g, x, 3, three.sizes)))
            return NULL;
        return aten_reshape(g, diagonals(g, x, &three, value, begin, end), rank, shape->sizes);
    }
    struct aten_value *y = aten_new(g, shape->type, rank, shape->sizes);
    if (!y)
        return NULL;
    if (begin >= end)
        return x ? x : aten_zeros(g, shape->type, rank, shape->sizes);
    DML_DIAGONAL_MATRIX1_OPERATOR_DESC desc = {
        x ? aten_describe(g, &dx, x) : NULL,   aten_describe(g, &dy, y), aten_type_dml(shape->type),
        aten_scalar_union(shape->type, value), bounded(begin),           bounded(end)
    };
    return aten_emit(g, DML_OPERATOR_DIAGONAL_MATRIX1, &desc, &x, 1, &y, 1) ? y : NULL;
}

struct aten_value *aten_diagonal_ones(struct aten_graph *g, int32_t type, uint32_t rank, const int64_t *sizes,
                                      int64_t begin, int64_t end)
{
    struct aten_value shape = { .type = type, .rank = rank };
    memcpy(shape.sizes, sizes, rank * sizeof(*sizes));
    return diagonals(g, NULL, &shape, 1, begin, end);
}

struct aten_value *aten_diagonals_cleared(struct aten_graph *g, struct aten_value *x, int64_t begin, int64_t end)
{
    return x ? diagonals(g, x, x, 0, begin, end) : NULL;
}

/* ---- indices ---- */

struct aten_value *aten_indices(struct aten_graph *g, struct aten_value *x)
{
    return x && x->type != ATEN_INT32 ? aten_convert(g, x, ATEN_INT64) : x;
}

struct aten_value *aten_gather(struct aten_graph *g, struct aten_value *x, struct aten_value *indices, uint32_t axis)
{
    struct aten_value *in[2] = { x, indices };
    struct aten_desc d[3];
    int64_t sizes[ATEN_RANK_MAX];
    if (!x || !indices || g->failed)
        return NULL;
    memcpy(sizes, x->sizes, sizeof(sizes));
    sizes[axis] = indices->sizes[0];
    struct aten_value *y = aten_new(g, x->type, x->rank, sizes);
    if (!y)
        return NULL;
    DML_GATHER_OPERATOR_DESC desc = { aten_describe(g, &d[0], x), aten_describe_rank(g, &d[1], indices, x->rank),
                                      aten_describe(g, &d[2], y), axis, 1 };
    return aten_emit(g, DML_OPERATOR_GATHER, &desc, in, 2, &y, 1) ? y : NULL;
}

struct aten_value *aten_gather_tuples(struct aten_graph *g, struct aten_value *x, struct aten_value *tuples)
{
    struct aten_value *in[2] = { x, tuples };
    struct aten_desc d[3];
    int64_t sizes[ATEN_RANK_MAX];
    if (!x || !tuples || g->failed)
        return NULL;
    const uint32_t indexed = (uint32_t)tuples->sizes[1], rank = x->rank - indexed + 1;
    sizes[0] = tuples->sizes[0];
    for (uint32_t i = indexed; i < x->rank; i++)
        sizes[i - indexed + 1] = x->sizes[i];
    struct aten_value *y = aten_new(g, x->type, rank, sizes);
    const uint32_t all = BASE_MAX(x->rank, 2u);
    if (!y)
        return NULL;
    DML_GATHER_ND1_OPERATOR_DESC desc = { aten_describe_rank(g, &d[0], x, all),
                                          aten_describe_rank(g, &d[1], tuples, all),
                                          aten_describe_rank(g, &d[2], y, all),
                                          x->rank,
                                          2,
                                          0 };
    return aten_emit(g, DML_OPERATOR_GATHER_ND1, &desc, in, 2, &y, 1) ? y : NULL;
}

struct aten_value *aten_scatter_tuples(struct aten_graph *g, struct aten_value *x, struct aten_value *tuples,
                                       struct aten_value *updates, int function)
{
    struct aten_value *in[3] = { x, tuples, updates };
    struct aten_desc d[4];
    if (!x || !tuples || !updates || g->failed)
        return NULL;
    if (!aten_elements(updates) || !aten_elements(tuples))
        return x;
    const uint32_t all = BASE_MAX(x->rank, 2u);
    struct aten_value *y = aten_new(g, x->type, x->rank, x->sizes);
    if (!y)
        return NULL;
    /* The description of SCATTER_ND is this one without the last field. */
    ANYDML_SCATTER_REDUCE_ND_OPERATOR_DESC desc = { aten_describe_rank(g, &d[0], x, all),
                                                    aten_describe_rank(g, &d[1], tuples, all),
                                                    aten_describe_rank(g, &d[2], updates, all),
                                                    aten_describe_rank(g, &d[3], y, all),
                                                    x->rank,
                                                    2,
                                                    (DML_REDUCE_FUNCTION)BASE_MAX(function, 0) };
    const DML_OPERATOR_TYPE type =
        function == ATEN_REPLACE ? DML_OPERATOR_SCATTER_ND : ANYDML_OPERATOR_SCATTER_REDUCE_ND;
    return aten_emit(g, type, &desc, in, 3, &y, 1) ? y : NULL;
}

struct aten_value *aten_scatter(struct aten_graph *g, struct aten_value *x, struct aten_value *indices,
                                struct aten_value *updates, uint32_t axis, int function)
{
    struct aten_value *in[3] = { x, indices, updates };
    struct aten_desc d[4];
    if (!x || !indices || !updates || g->failed)
        return NULL;
    if (!aten_elements(indices))
        return x;
    struct aten_value *y = aten_new(g, x->type, x->rank, x->sizes);
    if (!y)
        return NULL;
    ANYDML_SCATTER_REDUCE_ELEMENTS_OPERATOR_DESC desc = { aten_describe(g, &d[0], x),
                                                          aten_describe(g, &d[1], indices),
                                                          aten_describe(g, &d[2], updates),
                                                          aten_describe(g, &d[3], y),
                                                          axis,
                                                          (DML_REDUCE_FUNCTION)BASE_MAX(function, 0) };
    const DML_OPERATOR_TYPE type =
        function == ATEN_REPLACE ? DML_OPERATOR_SCATTER_ELEMENTS : ANYDML_OPERATOR_SCATTER_REDUCE_ELEMENTS;
    return aten_emit(g, type, &desc, in, 3, &y, 1) ? y : NULL;
}

/* ---- along an axis ---- */

/* Reinterprets the bits as another type of the same size. */
static struct aten_value *seen_as(struct aten_graph *g, struct aten_value *x, int32_t type)
{
    struct aten_value *y = x ? aten_view(g, x, x->rank, x->sizes, x->strides) : NULL;
    if (y)
        y->type = type;
    return y;
}

struct aten_value *aten_sorted(struct aten_graph *g, struct aten_value *x, uint32_t axis, int64_t k, bool descending,
                               struct aten_value **out_indices)
{
    struct aten_value *out[2];
    struct aten_desc d[3];
    int64_t sizes[ATEN_RANK_MAX];
    *out_indices = NULL;
    if (!x || g->failed)
        return NULL;
    memcpy(sizes, x->sizes, sizeof(sizes));
    sizes[axis] = k;
    out[0] = aten_new(g, x->type, x->rank, sizes);
    out[1] = aten_new(g, ATEN_UINT64, x->rank, sizes);
    if (!out[0] || !out[1])
        return NULL;
    DML_TOP_K1_OPERATOR_DESC desc = { aten_describe(g, &d[0], x),
                                      aten_describe(g, &d[1], out[0]),
                                      aten_describe(g, &d[2], out[1]),
                                      axis,
                                      (UINT)k,
                                      descending ? DML_AXIS_DIRECTION_DECREASING : DML_AXIS_DIRECTION_INCREASING };
    if (!aten_emit(g, DML_OPERATOR_TOP_K1, &desc, &x, 1, out, 2))
        return NULL;
    *out_indices = seen_as(g, out[1], ATEN_INT64);
    return out[0];
}

struct aten_value *aten_running_sum(struct aten_graph *g, struct aten_value *x, uint32_t axis)
{
    struct aten_value *y = x ? aten_new(g, x->type, x->rank, x->sizes) : NULL;
    struct aten_desc dx, dy;
    if (!y)
        return NULL;
    DML_CUMULATIVE_SUMMATION_OPERATOR_DESC desc = { aten_describe(g, &dx, x), aten_describe(g, &dy, y), axis,
                                                    DML_AXIS_DIRECTION_INCREASING, FALSE };
    return aten_emit(g, DML_OPERATOR_CUMULATIVE_SUMMATION, &desc, &x, 1, &y, 1) ? y : NULL;
}

struct aten_value *aten_any(struct aten_graph *g, struct aten_value *x, uint32_t axes)
{
    x = aten_convert(g, aten_convert(g, x, ATEN_BOOLEAN), ATEN_INT32);
    return aten_convert(g, aten_reduced(g, DML_REDUCE_FUNCTION_MAX, x, axes, ATEN_INT32), ATEN_BOOLEAN);
}

/* ---- random numbers ---- */

static struct aten_value *words(struct aten_graph *g, const struct aten_node *n, uint32_t i, int64_t count)
{
    struct aten_value *state = aten_generator(g, n, i, (uint64_t)count);
    struct aten_value *y = state ? aten_new_packed(g, ATEN_UINT32, 1, &count) : NULL;
    struct aten_desc ds, dy;
    if (!y)
        return NULL;
    DML_RANDOM_GENERATOR_OPERATOR_DESC desc = { aten_describe(g, &ds, state), aten_describe(g, &dy, y), NULL,
                                                DML_RANDOM_GENERATOR_TYPE_PHILOX_4X32_10 };
    return aten_emit(g, DML_OPERATOR_RANDOM_GENERATOR, &desc, &state, 1, &y, 1) ? y : NULL;
}

struct aten_value *aten_random_words(struct aten_graph *g, const struct aten_node *n, uint32_t i, bool wide,
                                     int64_t count)
{
    if (!wide)
        return words(g, n, i, count);
    struct aten_value *w = aten_convert(g, words(g, n, i, 2 * count), ATEN_UINT64);
    struct aten_value *high = aten_slice(g, w, 0, 0, count, 1), *low = aten_slice(g, w, 0, count, count, 1);
    return aten_add(g, aten_multiply(g, high, aten_scalar_int(g, ATEN_UINT64, INT64_C(1) << 32)), low);
}

struct aten_value *aten_uniform(struct aten_graph *g, const struct aten_node *n, uint32_t i, int32_t type,
                                int64_t count)
{
    const bool wide = type == ATEN_FLOAT64;
    struct aten_value *w = aten_random_words(g, n, i, wide, count);
    const int32_t of = wide ? ATEN_UINT64 : ATEN_UINT32, digits = wide                    ? 53
                                                                  : type == ATEN_FLOAT16  ? 11
                                                                  : type == ATEN_BFLOAT16 ? 8
                                                                                          : 24;
    /* Only as many digits as the type has, so that no value is rounded up to 1. */
    w = aten_divide(g, w, aten_scalar_int(g, of, INT64_C(1) << ((wide ? 64 : 32) - digits)));
    w = aten_convert(g, w, wide ? ATEN_FLOAT64 : ATEN_FLOAT32);
    return aten_scaled(g, w, 1.0 / (double)(INT64_C(1) << digits), 0);
}
