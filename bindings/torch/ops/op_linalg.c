/* SPDX-License-Identifier: Apache-2.0 */
/* Triangular systems, Cholesky and LU factorizations, and their solvers. Columns are eliminated one by one, so matrices
 * must be small; large ones fall back to the CPU. */
#include "matrices.h"

#include <math.h>

#define EW(name)     DML_OPERATOR_ELEMENT_WISE_##name
#define REDUCE(name) DML_REDUCE_FUNCTION_##name

#define TRIANGLE_MAX 512
#define LU_MAX       16 /* each column gathers all rows again */

/* ---- stacks of matrices ---- */

static struct aten_value *stack_of(struct aten_graph *g, struct aten_value *x)
{
    if (x && aten_is_float(x->type))
        x = aten_convert(g, x, aten_wide(x->type));
    if (!x || (x->type != ATEN_FLOAT32 && x->type != ATEN_FLOAT64) || x->rank < 2 || !aten_elements(x)) {
        aten_fail(g, "matrices must be float32 or float64 and must not be empty");
        return NULL;
    }
    const int64_t rows = x->sizes[x->rank - 2], columns = x->sizes[x->rank - 1];
    const int64_t sizes[3] = { aten_elements(x) / rows / columns, rows, columns };
    return aten_reshape(g, x, 3, sizes);
}

struct aten_value *aten_stack(struct aten_graph *g, const struct aten_node *n, uint32_t i)
{
    return stack_of(g, aten_in(g, n, i));
}

static bool is_full(const struct aten_tensor *t)
{
    for (uint32_t i = 0; i < t->rank; i++)
        if (!t->sizes[i])
            return false;
    return true;
}

bool aten_nothing_wanted(struct aten_graph *g, const struct aten_node *n, uint32_t i)
{
    return aten_wanted(n, i) && !is_full(&n->outputs[i]) && aten_result(g, n, i, aten_scalar(g, n->outputs[i].type, 0));
}

bool aten_nothing(struct aten_graph *g, const struct aten_node *n, bool numbers, bool *out_ok)
{
    const struct aten_value *x = aten_in(g, n, 0);
    *out_ok = true;
    if (!x || aten_elements(x))
        return false;
    for (uint32_t i = 0; i < n->output_count && *out_ok; i++) {
        const struct aten_tensor *out = &n->outputs[i];
        if (!aten_wanted(n, i) || aten_nothing_wanted(g, n, i))
            continue;
        const bool matrix = !numbers && aten_is_float(out->type) && out->rank > 1 &&
                            out->sizes[out->rank - 1] == out->sizes[out->rank - 2];
        struct aten_value *y = matrix ? aten_diagonal_ones(g, out->type, 2, out->sizes + out->rank - 2, 0, 1)
                                      : aten_scalar(g, out->type, numbers && !i);
        *out_ok = aten_result(g, n, i, y);
    }
    return true;
}

bool aten_stack_result(struct aten_graph *g, const struct aten_node *n, uint32_t i, struct aten_value *x)
{
    if (!aten_wanted(n, i))
        return true;
    return aten_result(g, n, i, aten_reshape(g, x, n->outputs[i].rank, n->outputs[i].sizes));
}

struct aten_value *aten_turned(struct aten_graph *g, struct aten_value *x)
{
    return x ? aten_transpose(g, x, 1, 2) : NULL;
}

struct aten_value *aten_product(struct aten_graph *g, struct aten_value *x, struct aten_value *y)
{
    return aten_matmul(g, x, y, NULL, 1, 0);
}

struct aten_value *aten_band(struct aten_graph *g, const struct aten_value *x, int64_t rows, int64_t columns,
                             int64_t begin, int64_t end)
{
    const int64_t sizes[3] = { 1, rows, columns };
    return x ? aten_diagonal_ones(g, x->type, 3, sizes, begin, end) : NULL;
}

struct aten_value *aten_range(struct aten_graph *g, int64_t size, uint32_t axis, int64_t from, int64_t to)
{
    const int64_t sizes[3] = { 1, axis == 1 ? size : 1, axis == 1 ? 1 : size };
    uint8_t *bits = aten_alloc(g, (size_t)size);
    for (int64_t i = from; bits && i < to && i < size; i++)
        bits[i] = 1;
    return bits ? aten_constant(g, ATEN_BOOLEAN, 3, sizes, bits) : NULL;
}

static struct aten_value *zero_of(struct aten_graph *g, const struct aten_value *x)
{
    return x ? aten_scalar(g, x->type, 0) : NULL;
}

static struct aten_value *part(struct aten_graph *g, struct aten_value *x, uint32_t axis, int64_t at)
{
    return x ? aten_slice(g, x, axis, at, 1, 1) : NULL;
}

static bool square(struct aten_graph *g, const struct aten_value *x, int64_t most)
{
    if (!x)
        return false;
    return (x->sizes[1] == x->sizes[2] && x->sizes[1] <= most) ||
           aten_fail(g, "matrices have %lld rows and %lld columns, at most %lld of each are supported",
                     (long long)x->sizes[1], (long long)x->sizes[2], (long long)most);
}

/* ---- triangles ---- */

/* Selects blocks of `half` rows left of diagonal blocks that are already inverted. */
static struct aten_value *blocks(struct aten_graph *g, int64_t size, int64_t half)
{
    const int64_t sizes[3] = { 1, size, size };
    uint8_t *bits = aten_alloc(g, (size_t)(size * size));
    for (int64_t i = 0; bits && i < size; i++)
        for (int64_t j = 0; j < size; j++)
            bits[i * size + j] = i / (2 * half) == j / (2 * half) && i / half > j / half;
    return bits ? aten_constant(g, ATEN_BOOLEAN, 3, sizes, bits) : NULL;
}

/* Doubles the size of inverted blocks in each step, from 1 on: {A, 0; B, C} has the inverse {A', 0; -C' B A', C'}. */
struct aten_value *aten_triangle_inverse(struct aten_graph *g, struct aten_value *x, bool upper, bool unit)
{
    if (!square(g, x, TRIANGLE_MAX))
        return NULL;
    if (upper)
        return aten_turned(g, aten_triangle_inverse(g, aten_turned(g, x), false, unit));
    const int64_t size = x->sizes[1];
    struct aten_value *zero = zero_of(g, x),
                      *diagonal = aten_convert(g, aten_band(g, x, size, size, 0, 1), ATEN_BOOLEAN);
    struct aten_value *y = unit ? aten_scalar(g, x->type, 1) : aten_apply(g, EW(RECIP), x);
    y = aten_expand(g, aten_select(g, diagonal, y, zero), 3, x->sizes);
    for (int64_t half = 1; half < size && y; half *= 2) {
        struct aten_value *beside = aten_select(g, blocks(g, size, half), x, zero);
        y = aten_subtract(g, y, aten_product(g, y, aten_product(g, beside, y)));
    }
    return y;
}

/* op(A) X = B, or X op(A) = B */
static struct aten_value *triangle_solved(struct aten_graph *g, struct aten_value *a, struct aten_value *b, bool upper,
                                          bool left, bool unit)
{
    struct aten_value *inverse = aten_triangle_inverse(g, a, upper, unit);
    return left ? aten_product(g, inverse, b) : aten_product(g, b, inverse);
}

/* Expands both arguments to the same batch dimensions. */
static bool broadcast_batches(struct aten_graph *g, const struct aten_node *n, uint32_t first, uint32_t second,
                              struct aten_value **a, struct aten_value **b)
{
    struct aten_value *x = aten_in(g, n, first), *y = aten_in(g, n, second);
    int64_t sizes[ATEN_RANK_MAX], other[ATEN_RANK_MAX];
    if (!x || !y || x->rank < 2 || y->rank < 2)
        return aten_fail(g, "arguments must be matrices");
    const uint32_t rank = BASE_MAX(x->rank, y->rank);
    for (uint32_t i = 0; i < rank; i++) {
        const int64_t p = i + x->rank < rank ? 1 : x->sizes[i + x->rank - rank];
        const int64_t q = i + y->rank < rank ? 1 : y->sizes[i + y->rank - rank];
        sizes[i] = i + 2 < rank && p == 1 ? q : p;
        other[i] = i + 2 < rank && q == 1 ? p : q;
    }
    *a = stack_of(g, aten_expand(g, x, rank, sizes));
    *b = stack_of(g, aten_expand(g, y, rank, other));
    return *a && *b;
}

/* linalg_solve_triangular(A, B, upper, left, unitriangular) */
bool aten_build_solve_triangular(struct aten_graph *g, const struct aten_node *n)
{
    if (aten_nothing_wanted(g, n, 0))
        return true;
    struct aten_value *a, *b;
    if (!broadcast_batches(g, n, 0, 1, &a, &b))
        return false;
    const bool upper = aten_int(g, n, 2, 0), left = aten_int(g, n, 3, 1), unit = aten_int(g, n, 4, 0);
    return aten_stack_result(g, n, 0, triangle_solved(g, a, b, upper, left, unit));
}

/* triangular_solve(B, A, upper, transpose, unitriangular) -> (solution, copy of A) */
bool aten_build_triangular_solve(struct aten_graph *g, const struct aten_node *n)
{
    if (aten_nothing_wanted(g, n, 0))
        return aten_result(g, n, 1, aten_in(g, n, 1));
    struct aten_value *a, *b;
    if (!broadcast_batches(g, n, 1, 0, &a, &b))
        return false;
    const bool upper = aten_int(g, n, 2, 1), transpose = aten_int(g, n, 3, 0), unit = aten_int(g, n, 4, 0);
    struct aten_value *turned = transpose ? aten_turned(g, a) : a;
    return aten_stack_result(g, n, 0, triangle_solved(g, turned, b, upper != transpose, true, unit)) &&
           aten_stack_result(g, n, 1, a);
}

/* ---- Cholesky ---- */

/* linalg_cholesky_ex(self, upper, check_errors) -> (L, info): info is the first column without a real root. */
bool aten_build_cholesky(struct aten_graph *g, const struct aten_node *n)
{
    bool done;
    if (aten_nothing(g, n, false, &done))
        return done;
    struct aten_value *x = aten_stack(g, n, 0), *columns[ATEN_STEPS_MAX];
    const bool upper = aten_int(g, n, 1, 0);
    if (!square(g, x, ATEN_STEPS_MAX) || aten_int(g, n, 2, 0))
        return aten_fail(g, "check_errors is not supported");
    x = upper ? aten_turned(g, x) : x;
    const int64_t size = x->sizes[1];
    struct aten_value *zero = zero_of(g, x), *info = aten_scalar_int(g, ATEN_INT32, 0), *none = info;
    for (int64_t j = 0; j < size; j++) {
        struct aten_value *column = part(g, x, 2, j), *pivot = part(g, column, 1, j);
        struct aten_value *good = aten_apply2(g, EW(LOGICAL_GREATER_THAN), pivot, zero);
        struct aten_value *first =
            aten_apply2(g, EW(LOGICAL_AND), aten_not(g, good), aten_apply2(g, EW(LOGICAL_EQUALS), info, none));
        info = aten_select(g, first, aten_scalar_int(g, ATEN_INT32, j + 1), info);
        column = aten_select(g, aten_range(g, size, 1, j, size), column, zero);
        column = columns[j] = aten_divide(g, column, aten_apply(g, EW(SQRT), pivot));
        if (j + 1 < size)
            x = aten_subtract(g, x, aten_multiply(g, column, aten_turned(g, column)));
    }
    struct aten_value *y = g->failed ? NULL : aten_join(g, columns, (uint32_t)size, 2);
    return aten_stack_result(g, n, 0, upper ? aten_turned(g, y) : y) && aten_stack_result(g, n, 1, info);
}

/* cholesky_inverse(self, upper) */
bool aten_build_cholesky_inverse(struct aten_graph *g, const struct aten_node *n)
{
    bool done;
    if (aten_nothing(g, n, false, &done))
        return done;
    const bool upper = aten_int(g, n, 1, 0);
    struct aten_value *l = aten_triangle_inverse(g, aten_stack(g, n, 0), upper, false);
    l = upper ? aten_turned(g, l) : l;
    return aten_stack_result(g, n, 0, aten_product(g, aten_turned(g, l), l));
}

/* _cholesky_solve_helper(self, A, upper) */
bool aten_build_cholesky_solve(struct aten_graph *g, const struct aten_node *n)
{
    if (aten_nothing_wanted(g, n, 0))
        return true;
    const bool upper = aten_int(g, n, 2, 0);
    struct aten_value *l = aten_triangle_inverse(g, aten_stack(g, n, 1), upper, false);
    l = upper ? aten_turned(g, l) : l;
    return aten_stack_result(g, n, 0, aten_product(g, aten_turned(g, l), aten_product(g, l, aten_stack(g, n, 0))));
}

/* ---- LU ---- */

struct lu {
    struct aten_value *both;   /* L below the diagonal, U on and above it */
    struct aten_value *pivots; /* {batch, steps, 1}: the row that was exchanged with this one, counted from 1, INT32 */
    struct aten_value *order;  /* {batch, rows, 1}: rows of A in their new order, INT64 */
    struct aten_value *info;   /* position of the first zero on U's diagonal, counted from 1; 0: none */
    int64_t steps;
};

static struct aten_value *numbers(struct aten_graph *g, int64_t count)
{
    const int64_t sizes[3] = { 1, count, 1 };
    int64_t *values = aten_alloc(g, (size_t)count * sizeof(*values));
    for (int64_t i = 0; values && i < count; i++)
        values[i] = i;
    return values ? aten_constant(g, ATEN_INT64, 3, sizes, values) : NULL;
}

/* {batch, rows, 1}: the permutation after exchanging rows j and `with`. */
static struct aten_value *exchange(struct aten_graph *g, int64_t rows, int64_t j, struct aten_value *with)
{
    struct aten_value *all = numbers(g, rows), *here = aten_scalar_int(g, ATEN_INT64, j);
    struct aten_value *other = aten_select(g, aten_apply2(g, EW(LOGICAL_EQUALS), all, with), here, all);
    return aten_select(g, aten_range(g, rows, 1, j, j + 1), with, other);
}

static struct aten_value *in_order(struct aten_graph *g, struct aten_value *x, struct aten_value *order)
{
    return x && order ? aten_pick(g, x, aten_expand(g, order, 3, x->sizes), 1) : NULL;
}

static void lu_step(struct aten_graph *g, struct lu *lu, int64_t j, bool pivoting, struct aten_value **out_pivot)
{
    struct aten_value *x = lu->both, *zero = zero_of(g, x), *column = part(g, x, 2, j);
    const int64_t rows = x ? x->sizes[1] : 0, columns = x ? x->sizes[2] : 0;
    *out_pivot = aten_scalar_int(g, ATEN_INT64, j);
    if (pivoting) {
        struct aten_value *size = aten_select(g, aten_range(g, rows, 1, j, rows), aten_apply(g, EW(ABS), column),
                                              aten_scalar(g, x ? x->type : 0, -1));
        *out_pivot = aten_reduced(g, REDUCE(ARGMAX), size, 2, ATEN_INT64);
        struct aten_value *places = exchange(g, rows, j, *out_pivot);
        x = in_order(g, x, places);
        lu->order = in_order(g, lu->order, places);
        column = part(g, x, 2, j);
    }
    struct aten_value *pivot = part(g, column, 1, j), *row = part(g, x, 1, j);
    struct aten_value *no = aten_apply2(g, EW(LOGICAL_EQUALS), pivot, zero);
    struct aten_value *first = aten_apply2(
        g, EW(LOGICAL_AND), no, aten_apply2(g, EW(LOGICAL_EQUALS), lu->info, aten_scalar_int(g, ATEN_INT32, 0)));
    lu->info = aten_select(g, first, aten_scalar_int(g, ATEN_INT32, j + 1), lu->info);
    struct aten_value *factor = aten_select(g, no, column, aten_divide(g, column, pivot));
    struct aten_value *below = aten_range(g, rows, 1, j + 1, rows);
    struct aten_value *rest = aten_select(g, aten_range(g, columns, 2, j + 1, columns), row, zero);
    struct aten_value *y = aten_subtract(g, x, aten_multiply(g, aten_select(g, below, factor, zero), rest));
    struct aten_value *mine = aten_apply2(g, EW(LOGICAL_AND), below, aten_range(g, columns, 2, j, j + 1));
    lu->both = aten_select(g, mine, factor, y);
}

static bool lu_of(struct aten_graph *g, struct aten_value *x, bool pivoting, struct lu *lu)
{
    struct aten_value *pivots[LU_MAX], *pivot;
    if (!x)
        return false;
    const int64_t batch = x->sizes[0], rows = x->sizes[1], one[3] = { batch, 1, 1 }, all[3] = { batch, rows, 1 };
    *lu = (struct lu){ .both = x, .steps = BASE_MIN(rows, x->sizes[2]) };
    if (lu->steps > LU_MAX)
        return aten_fail(g, "%lld columns, at most %d are supported", (long long)lu->steps, LU_MAX);
    lu->info = aten_expand(g, aten_scalar_int(g, ATEN_INT32, 0), 3, one);
    lu->order = aten_expand(g, numbers(g, rows), 3, all);
    for (int64_t j = 0; j < lu->steps && !g->failed; j++) {
        lu_step(g, lu, j, pivoting, &pivot);
        pivots[j] = aten_expand(g, aten_convert(g, aten_scaled(g, pivot, 1, 1), ATEN_INT32), 3, one);
    }
    lu->pivots = g->failed ? NULL : aten_join(g, pivots, (uint32_t)lu->steps, 1);
    return lu->pivots != NULL;
}

/* P with A = P L U: the 1 of column k is in row order[k]. */
static struct aten_value *permutation(struct aten_graph *g, struct aten_value *order, int32_t type)
{
    if (!order)
        return NULL;
    return aten_convert(g, aten_apply2(g, EW(LOGICAL_EQUALS), numbers(g, order->sizes[1]), aten_turned(g, order)),
                        type);
}

/* L: rows x steps, U: steps x columns */
static struct aten_value *lower(struct aten_graph *g, const struct lu *lu)
{
    struct aten_value *x = aten_slice(g, lu->both, 2, 0, lu->steps, 1);
    x = x ? aten_diagonals_cleared(g, x, 0, INT32_MAX) : NULL;
    return x ? aten_add(g, x, aten_band(g, x, x->sizes[1], x->sizes[2], 0, 1)) : NULL;
}

static struct aten_value *upper(struct aten_graph *g, const struct lu *lu)
{
    struct aten_value *x = aten_slice(g, lu->both, 1, 0, lu->steps, 1);
    return x ? aten_diagonals_cleared(g, x, INT32_MIN, 0) : NULL;
}

/* Reads stored factors and pivots. */
static bool lu_stored(struct aten_graph *g, const struct aten_node *n, uint32_t first, struct lu *lu)
{
    struct aten_value *x = aten_stack(g, n, first), *pivots = aten_convert(g, aten_in(g, n, first + 1), ATEN_INT64);
    if (!x || !pivots || !pivots->rank)
        return false;
    const int64_t rows = x->sizes[1], all[3] = { x->sizes[0], rows, 1 };
    *lu = (struct lu){ .both = x, .steps = BASE_MIN(rows, x->sizes[2]) };
    const int64_t sizes[3] = { x->sizes[0], lu->steps, 1 };
    if (lu->steps > LU_MAX || aten_elements(pivots) != sizes[0] * sizes[1])
        return aten_fail(g, "%lld columns, at most %d are supported", (long long)lu->steps, LU_MAX);
    pivots = aten_scaled(g, aten_reshape(g, pivots, 3, sizes), 1, -1);
    lu->order = aten_expand(g, numbers(g, rows), 3, all);
    for (int64_t j = 0; j < lu->steps && !g->failed; j++)
        lu->order = in_order(g, lu->order, exchange(g, rows, j, part(g, pivots, 1, j)));
    return !g->failed;
}

/* X with A X = B, `adjoint`: A^T X = B, or without `left` X A = B. */
static struct aten_value *lu_solved(struct aten_graph *g, const struct lu *lu, struct aten_value *b, bool left,
                                    bool adjoint)
{
    if (!left)
        return aten_turned(g, lu_solved(g, lu, aten_turned(g, b), true, !adjoint));
    struct aten_value *l = aten_triangle_inverse(g, lu->both, false, true),
                      *u = aten_triangle_inverse(g, lu->both, true, false);
    struct aten_value *p = permutation(g, lu->order, lu->both->type);
    if (adjoint)
        return aten_product(g, p, aten_product(g, aten_turned(g, l), aten_product(g, aten_turned(g, u), b)));
    return aten_product(g, u, aten_product(g, l, aten_product(g, aten_turned(g, p), b)));
}

/* linalg_lu_factor_ex(A, pivot, check_errors) -> (LU, pivots, info) */
bool aten_build_lu_factor(struct aten_graph *g, const struct aten_node *n)
{
    bool done;
    if (aten_nothing(g, n, false, &done))
        return done;
    struct lu lu;
    if (aten_int(g, n, 2, 0))
        return aten_fail(g, "check_errors is not supported");
    return lu_of(g, aten_stack(g, n, 0), aten_int(g, n, 1, 1), &lu) && aten_stack_result(g, n, 0, lu.both) &&
           aten_stack_result(g, n, 1, lu.pivots) && aten_stack_result(g, n, 2, lu.info);
}

static bool factors(struct aten_graph *g, const struct aten_node *n, const struct lu *lu)
{
    struct aten_value *p = permutation(g, lu->order, lu->both->type), *results[3] = { p, lower(g, lu), upper(g, lu) };
    for (uint32_t i = 0; i < 3; i++) {
        bool empty = false;
        for (uint32_t d = 0; aten_wanted(n, i) && d < n->outputs[i].rank; d++)
            empty = empty || !n->outputs[i].sizes[d];
        if (!(empty ? aten_result(g, n, i, zero_of(g, lu->both)) : aten_stack_result(g, n, i, results[i])))
            return false;
    }
    return true;
}

/* linalg_lu(A, pivot) -> (P, L, U) */
bool aten_build_lu(struct aten_graph *g, const struct aten_node *n)
{
    bool done;
    if (aten_nothing(g, n, false, &done))
        return done;
    struct lu lu;
    return lu_of(g, aten_stack(g, n, 0), aten_int(g, n, 1, 1), &lu) && factors(g, n, &lu);
}

/* lu_unpack(LU, pivots, unpack_data, unpack_pivots) -> (P, L, U) */
bool aten_build_lu_unpack(struct aten_graph *g, const struct aten_node *n)
{
    bool done;
    if (aten_nothing(g, n, false, &done))
        return done;
    struct lu lu;
    return lu_stored(g, n, 0, &lu) && factors(g, n, &lu);
}

/* linalg_lu_solve(LU, pivots, B, left, adjoint) */
bool aten_build_lu_solve(struct aten_graph *g, const struct aten_node *n)
{
    if (aten_nothing_wanted(g, n, 0))
        return true;
    struct lu lu;
    struct aten_value *unused, *b, *a = aten_in(g, n, 0), *given = aten_in(g, n, 2);
    if (!a || !given || a->rank != given->rank)
        return aten_fail(g, "broadcast batches are not supported");
    if (!broadcast_batches(g, n, 0, 2, &unused, &b) || !lu_stored(g, n, 0, &lu) || b->sizes[0] != lu.both->sizes[0])
        return aten_fail(g, "broadcast batches are not supported");
    return aten_stack_result(g, n, 0, lu_solved(g, &lu, b, aten_int(g, n, 3, 1), aten_int(g, n, 4, 0)));
}

/* torch computes determinants of contiguous matrices from their transposes; gradients depend on these factors. */
static bool by_columns(const struct aten_value *x)
{
    int64_t step = 1;
    for (uint32_t i = x->rank; i-- > 0; step *= x->sizes[i])
        if (x->sizes[i] != 1 && x->strides[i] != step)
            return false;
    return true;
}

static bool lu_of_argument(struct aten_graph *g, const struct aten_node *n, bool turned, struct lu *lu)
{
    struct aten_value *x = aten_stack(g, n, 0);
    if (!square(g, x, LU_MAX))
        return false;
    return lu_of(g, turned && by_columns(n->args[0].values[0]) ? aten_turned(g, x) : x, true, lu);
}

/* _linalg_solve_ex(A, B, left, check_errors) -> (result, LU, pivots, info) */
bool aten_build_linalg_solve(struct aten_graph *g, const struct aten_node *n)
{
    bool done;
    if (aten_nothing(g, n, false, &done))
        return done;
    struct aten_value *a = aten_in(g, n, 0), *b = aten_in(g, n, 1);
    const bool left = aten_int(g, n, 2, 1);
    struct lu lu;
    if (!a || !b || aten_int(g, n, 3, 0) || !lu_of_argument(g, n, false, &lu))
        return aten_fail(g, "check_errors is not supported");
    const int64_t batch = lu.both->sizes[0], size = lu.both->sizes[1], rest = aten_elements(b) / batch / size;
    bool same = b->rank == a->rank;
    for (uint32_t i = 0; same && i + 2 < a->rank; i++)
        same = a->sizes[i] == b->sizes[i];
    const bool vectors = b->rank + 1 == a->rank && rest == 1;
    if ((!same && !vectors) || aten_elements(b) != batch * size * rest)
        return aten_fail(g, "broadcast batches are not supported");
    const int64_t sizes[3] = { batch, left || vectors ? size : rest, left || vectors ? rest : size };
    if (rest && !aten_stack_result(g, n, 0, lu_solved(g, &lu, aten_reshape(g, b, 3, sizes), left, false)))
        return false;
    return (rest || aten_nothing_wanted(g, n, 0)) && aten_stack_result(g, n, 1, lu.both) &&
           aten_stack_result(g, n, 2, lu.pivots) && aten_stack_result(g, n, 3, lu.info);
}

/* linalg_inv_ex(A, check_errors) -> (inverse, info) */
bool aten_build_inverse(struct aten_graph *g, const struct aten_node *n)
{
    bool done;
    if (aten_nothing(g, n, false, &done))
        return done;
    struct lu lu;
    if (aten_int(g, n, 1, 0) || !lu_of_argument(g, n, false, &lu))
        return aten_fail(g, "check_errors is not supported");
    struct aten_value *one = aten_band(g, lu.both, lu.both->sizes[1], lu.both->sizes[1], 0, 1);
    return aten_stack_result(g, n, 0, lu_solved(g, &lu, aten_expand(g, one, 3, lu.both->sizes), true, false)) &&
           aten_stack_result(g, n, 1, lu.info);
}

/* U's diagonal, {batch, size, 1}; *out_sign: 1 for an even number of exchanges, otherwise -1. */
static struct aten_value *diagonal(struct aten_graph *g, const struct lu *lu, struct aten_value **out_sign)
{
    const int64_t size = lu->steps, batch = lu->both->sizes[0], sizes[3] = { batch, size, 1 };
    const struct aten_value *x = aten_packed(g, lu->both);
    struct aten_value *places = aten_convert(g, aten_scaled(g, numbers(g, size), 1, 1), ATEN_INT32);
    struct aten_value *moved =
        aten_convert(g, aten_not(g, aten_apply2(g, EW(LOGICAL_EQUALS), lu->pivots, places)), lu->both->type);
    *out_sign = aten_reduced(g, REDUCE(MULTIPLY), aten_scaled(g, moved, -2, 1), 2, lu->both->type);
    const int64_t strides[3] = { size * size, size + 1, 1 };
    return x ? aten_view(g, x, 3, sizes, strides) : NULL;
}

/* _linalg_det(A) -> (result, LU, pivots); _linalg_slogdet(A) -> (sign, logabsdet, LU, pivots): parameter 1 */
bool aten_build_determinant(struct aten_graph *g, const struct aten_node *n)
{
    bool done;
    if (aten_nothing(g, n, true, &done))
        return done;
    struct aten_value *sign;
    struct lu lu;
    if (!lu_of_argument(g, n, true, &lu))
        return false;
    struct aten_value *d = diagonal(g, &lu, &sign), *y;
    const int32_t type = lu.both->type;
    if (n->parameter) {
        sign = aten_multiply(g, sign, aten_reduced(g, REDUCE(MULTIPLY), aten_apply(g, EW(SIGN), d), 2, type));
        y = aten_reduced(g, REDUCE(SUM), aten_apply(g, EW(LOG), aten_apply(g, EW(ABS), d)), 2, type);
        if (!aten_stack_result(g, n, 1, y))
            return false;
        y = sign;
    } else {
        y = aten_multiply(g, sign, aten_reduced(g, REDUCE(MULTIPLY), d, 2, type));
    }
    const uint32_t next = n->parameter ? 2 : 1;
    return aten_stack_result(g, n, 0, y) && aten_stack_result(g, n, next, lu.both) &&
           aten_stack_result(g, n, next + 1, lu.pivots);
}
