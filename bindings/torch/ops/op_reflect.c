/* SPDX-License-Identifier: Apache-2.0 */
/* Householder reflections: QR and operators on its factors; matrix exponentials; singular values and eigenvalues. */
#include "matrices.h"

#include <math.h>

#define EW(name)     DML_OPERATOR_ELEMENT_WISE_##name
#define REDUCE(name) DML_REDUCE_FUNCTION_##name

/* I - tau v v^T for each column: v {batch, rows, 1} with a one on top, tau {batch, 1, 1} */
struct reflections {
    struct aten_value *v[ATEN_STEPS_MAX], *tau[ATEN_STEPS_MAX];
    int64_t count;
};

static struct aten_value *number(struct aten_graph *g, const struct aten_value *x, double value)
{
    return x ? aten_scalar(g, x->type, value) : NULL;
}

static struct aten_value *reflected(struct aten_graph *g, struct aten_value *x, struct aten_value *v,
                                    struct aten_value *tau)
{
    struct aten_value *row = aten_reduced(g, REDUCE(SUM), aten_multiply(g, v, x), 2, x ? x->type : 0);
    return aten_subtract(g, x, aten_multiply(g, aten_multiply(g, v, tau), row));
}

/* The reflection that clears column j below row j. */
static void reflection(struct aten_graph *g, struct aten_value *x, int64_t j, struct reflections *r)
{
    const int64_t rows = x->sizes[1];
    struct aten_value *column = aten_slice(g, x, 2, j, 1, 1), *top = aten_slice(g, column, 1, j, 1, 1);
    struct aten_value *zero = number(g, x, 0), *one = number(g, x, 1);
    struct aten_value *below = aten_select(g, aten_range(g, rows, 1, j + 1, rows), column, zero);
    struct aten_value *most = aten_reduced(g, REDUCE(MAX), aten_apply(g, EW(ABS), below), 2, x->type);
    struct aten_value *nothing = aten_apply2(g, EW(LOGICAL_EQUALS), most, zero);
    struct aten_value *sum = aten_reduced(g, REDUCE(SUM), aten_multiply(g, below, below), 2, x->type);
    struct aten_value *size = aten_apply(g, EW(SQRT), aten_add(g, sum, aten_multiply(g, top, top)));
    struct aten_value *negative = aten_apply2(g, EW(LOGICAL_LESS_THAN), top, zero);
    struct aten_value *end = aten_select(g, negative, size, aten_scaled(g, size, -1, 0));
    struct aten_value *tau = aten_divide(g, aten_subtract(g, end, top), aten_select(g, nothing, one, end));
    struct aten_value *scale = aten_select(g, nothing, one, aten_subtract(g, top, end));
    struct aten_value *v = aten_divide(g, below, scale);
    r->v[j] = aten_select(g, aten_range(g, rows, 1, j, j + 1), one, v);
    r->tau[j] = aten_select(g, nothing, zero, tau);
}

/* R, with zeros below the diagonal. */
static struct aten_value *triangularized(struct aten_graph *g, struct aten_value *x, struct reflections *r)
{
    if (!x)
        return NULL;
    r->count = BASE_MIN(x->sizes[1], x->sizes[2]);
    if (r->count > ATEN_STEPS_MAX) {
        aten_fail(g, "%lld columns, at most %d are supported", (long long)r->count, ATEN_STEPS_MAX);
        return NULL;
    }
    for (int64_t j = 0; j < r->count && x; j++) {
        reflection(g, x, j, r);
        x = reflected(g, x, r->v[j], r->tau[j]);
    }
    return x ? aten_diagonals_cleared(g, x, INT32_MIN, 0) : NULL;
}

/* The product of all reflections times x; `reverse`: in reverse order, which is the transpose. */
static struct aten_value *times(struct aten_graph *g, const struct reflections *r, struct aten_value *x,
                                bool transposed)
{
    for (int64_t k = 0; k < r->count; k++) {
        const int64_t j = transposed ? k : r->count - 1 - k;
        x = reflected(g, x, r->v[j], r->tau[j]);
    }
    return x;
}

static struct aten_value *columns_of_one(struct aten_graph *g, const struct aten_value *x, int64_t columns)
{
    const int64_t sizes[3] = { x->sizes[0], x->sizes[1], columns };
    return aten_expand(g, aten_band(g, x, x->sizes[1], columns, 0, 1), 3, sizes);
}

/* linalg_qr(A, mode) -> (Q, R); modes reduced, complete, r */
bool aten_build_qr(struct aten_graph *g, const struct aten_node *n)
{
    bool done;
    if (aten_nothing(g, n, false, &done))
        return done;
    const char *mode = aten_given(n, 1) ? n->args[1].string : "reduced";
    struct reflections *r = aten_alloc(g, sizeof(*r));
    struct aten_value *x = aten_stack(g, n, 0), *upper = r ? triangularized(g, x, r) : NULL;
    if (!upper)
        return false;
    const bool complete = *mode == 'c';
    if (!complete)
        upper = aten_slice(g, upper, 1, 0, r->count, 1);
    if (!aten_stack_result(g, n, 1, upper))
        return false;
    if (*mode == 'r' && !mode[1])
        return aten_result(g, n, 0, number(g, x, 0));
    struct aten_value *q = times(g, r, columns_of_one(g, x, complete ? x->sizes[1] : r->count), false);
    return aten_stack_result(g, n, 0, q);
}

/* geqrf(self) -> (a, tau): R, with the reflections stored below it. */
bool aten_build_geqrf(struct aten_graph *g, const struct aten_node *n)
{
    bool done;
    if (aten_nothing(g, n, false, &done))
        return done;
    struct reflections *r = aten_alloc(g, sizeof(*r));
    struct aten_value *x = aten_stack(g, n, 0), *y = r ? triangularized(g, x, r) : NULL;
    if (!y)
        return false;
    const int64_t columns = x->sizes[2], rows = x->sizes[1];
    struct aten_value *v = aten_join(g, r->v, (uint32_t)r->count, 2);
    if (r->count < columns) {
        const int64_t before[3] = { 0 }, after[3] = { 0, 0, columns - r->count };
        v = aten_padded(g, v, before, after, 0);
    }
    v = v ? aten_diagonals_cleared(g, v, 0, INT32_MAX) : NULL;
    (void)rows;
    return aten_stack_result(g, n, 0, aten_add(g, y, v)) &&
           aten_stack_result(g, n, 1, aten_join(g, r->tau, (uint32_t)r->count, 1));
}

/* Reads the results of geqrf: arguments `first` and the next one. */
static bool stored(struct aten_graph *g, const struct aten_node *n, uint32_t first, struct reflections *r,
                   struct aten_value **out)
{
    struct aten_value *x = *out = aten_stack(g, n, first), *tau = aten_in(g, n, first + 1);
    if (!x || !tau || !tau->rank)
        return false;
    r->count = tau->sizes[tau->rank - 1];
    const int64_t sizes[3] = { x->sizes[0], r->count, 1 };
    if (r->count > ATEN_STEPS_MAX || r->count > x->sizes[2] || aten_elements(tau) != sizes[0] * sizes[1])
        return aten_fail(g, "%lld reflections, at most %d are supported", (long long)r->count, ATEN_STEPS_MAX);
    tau = r->count ? aten_reshape(g, tau, 3, sizes) : tau;
    for (int64_t j = 0; j < r->count; j++) {
        struct aten_value *column = aten_slice(g, x, 2, j, 1, 1);
        column = aten_select(g, aten_range(g, x->sizes[1], 1, j + 1, x->sizes[1]), column, number(g, x, 0));
        r->v[j] = aten_select(g, aten_range(g, x->sizes[1], 1, j, j + 1), number(g, x, 1), column);
        r->tau[j] = aten_slice(g, tau, 1, j, 1, 1);
    }
    return !g->failed;
}

/* linalg_householder_product(input, tau) */
bool aten_build_householder_product(struct aten_graph *g, const struct aten_node *n)
{
    bool done;
    if (aten_nothing(g, n, false, &done))
        return done;
    struct reflections *r = aten_alloc(g, sizeof(*r));
    struct aten_value *x;
    if (!r || !stored(g, n, 0, r, &x))
        return false;
    return aten_stack_result(g, n, 0, times(g, r, columns_of_one(g, x, x->sizes[2]), false));
}

/* ormqr(self, tau, other, left, transpose) */
bool aten_build_ormqr(struct aten_graph *g, const struct aten_node *n)
{
    if (aten_nothing_wanted(g, n, 0))
        return true;
    struct reflections *r = aten_alloc(g, sizeof(*r));
    const bool left = aten_int(g, n, 3, 1), transpose = aten_int(g, n, 4, 0);
    struct aten_value *x, *other = aten_stack(g, n, 2);
    if (!r || !stored(g, n, 0, r, &x))
        return false;
    if (left)
        return aten_stack_result(g, n, 0, times(g, r, other, transpose));
    return aten_stack_result(g, n, 0, aten_turned(g, times(g, r, aten_turned(g, other), !transpose)));
}

/* ---- exponentials ---- */

#define HALVINGS        32
#define EXPONENTIAL_MAX 256

/* linalg_matrix_exp(self): Taylor series of A / 2^k with a norm below one half, squared k times. */
bool aten_build_matrix_exp(struct aten_graph *g, const struct aten_node *n)
{
    bool done;
    if (aten_nothing(g, n, false, &done))
        return done;
    struct aten_value *x = aten_stack(g, n, 0);
    if (aten_has_type(g->device, ATEN_FLOAT64)) /* each squaring doubles the error */
        x = aten_convert(g, x, ATEN_FLOAT64);
    if (!x || x->sizes[1] != x->sizes[2] || x->sizes[1] > EXPONENTIAL_MAX)
        return aten_fail(g, "self must have at most %d rows and columns", EXPONENTIAL_MAX);
    const int terms = x->type == ATEN_FLOAT64 ? 16 : 10;
    struct aten_value *norm = aten_reduced(g, REDUCE(SUM), aten_apply(g, EW(ABS), x), 2, x->type);
    norm = aten_reduced(g, REDUCE(MAX), norm, 4, x->type);
    struct aten_value *halvings = aten_scaled(g, aten_apply(g, EW(LOG), norm), 1 / log(2), 1);
    halvings = aten_apply(g, EW(CEIL), halvings);
    halvings = aten_apply2(g, EW(MIN), aten_apply2(g, EW(MAX), halvings, number(g, x, 0)), number(g, x, HALVINGS));
    struct aten_value *factor = aten_apply2(g, EW(POW), number(g, x, 0.5), halvings);
    struct aten_value *a = aten_multiply(g, x, factor), *one = aten_band(g, x, x->sizes[1], x->sizes[1], 0, 1);
    struct aten_value *y = one;
    for (int k = terms; k > 0; k--)
        y = aten_add(g, one, aten_scaled(g, k == terms ? a : aten_product(g, a, y), 1.0 / k, 0));
    for (int k = 0; k < HALVINGS; k++) {
        struct aten_value *more = aten_apply2(g, EW(LOGICAL_GREATER_THAN), halvings, number(g, x, k));
        y = aten_select(g, more, aten_product(g, y, y), y);
    }
    return aten_stack_result(g, n, 0, y);
}

/* ---- singular values ---- */

#define SINGULAR_MAX 16
#define SWEEPS       9

/* Rotates each column of P against the column of Q at the same position, until their first `rows` elements are
 * orthogonal. */
static void rotate(struct aten_graph *g, int64_t rows, struct aten_value **p, struct aten_value **q)
{
    struct aten_value *x = aten_slice(g, *p, 1, 0, rows, 1), *y = aten_slice(g, *q, 1, 0, rows, 1);
    if (!x || !y)
        return;
    struct aten_value *one = number(g, x, 1), *zero = number(g, x, 0);
    struct aten_value *a = aten_reduced(g, REDUCE(SUM), aten_multiply(g, x, x), 2, x->type);
    struct aten_value *b = aten_reduced(g, REDUCE(SUM), aten_multiply(g, y, y), 2, x->type);
    struct aten_value *c = aten_reduced(g, REDUCE(SUM), aten_multiply(g, x, y), 2, x->type);
    struct aten_value *none = aten_apply2(g, EW(LOGICAL_EQUALS), c, zero);
    struct aten_value *zeta =
        aten_divide(g, aten_subtract(g, b, a), aten_select(g, none, one, aten_scaled(g, c, 2, 0)));
    struct aten_value *away = aten_apply(g, EW(ABS), zeta);
    struct aten_value *root = aten_apply(g, EW(SQRT), aten_scaled(g, aten_multiply(g, zeta, zeta), 1, 1));
    struct aten_value *t = aten_apply(g, EW(RECIP), aten_add(g, away, root));
    t = aten_select(g, aten_apply2(g, EW(LOGICAL_LESS_THAN), zeta, zero), aten_scaled(g, t, -1, 0), t);
    t = aten_select(g, none, zero, t);
    struct aten_value *cosine =
        aten_apply(g, EW(RECIP), aten_apply(g, EW(SQRT), aten_scaled(g, aten_multiply(g, t, t), 1, 1)));
    struct aten_value *sine = aten_multiply(g, cosine, t), *before = *p;
    *p = aten_subtract(g, aten_multiply(g, cosine, *p), aten_multiply(g, sine, *q));
    *q = aten_add(g, aten_multiply(g, sine, before), aten_multiply(g, cosine, *q));
}

/* Rotates all columns but the first by one position, as in a round-robin tournament, so that each pair meets once. */
static void move_on(struct aten_graph *g, struct aten_value **p, struct aten_value **q)
{
    const int64_t half = *p && *q ? (*p)->sizes[2] : 0;
    if (half < 2)
        return;
    struct aten_value *first[3] = { aten_slice(g, *p, 2, 0, 1, 1), aten_slice(g, *q, 2, 0, 1, 1),
                                    half > 2 ? aten_slice(g, *p, 2, 1, half - 2, 1) : NULL };
    struct aten_value *second[2] = { aten_slice(g, *q, 2, 1, half - 1, 1), aten_slice(g, *p, 2, half - 1, 1, 1) };
    *p = g->failed ? NULL : aten_join(g, first, half > 2 ? 3 : 2, 2);
    *q = g->failed ? NULL : aten_join(g, second, 2, 2);
}

/* x {batch, rows, columns}, rows >= columns: returns {batch, rows + columns, columns}, x V above V. The columns of x V
 * are orthogonal and ordered by descending norm; *out_sizes: the norms (one-sided Jacobi method by Hestenes). */
static struct aten_value *orthogonal(struct aten_graph *g, struct aten_value *x, struct aten_value **out_sizes)
{
    const int64_t batch = x->sizes[0], rows = x->sizes[1], columns = x->sizes[2], even = columns + columns % 2;
    const int64_t before[3] = { 0 }, after[3] = { 0, 0, even - columns }, square[3] = { batch, even, even };
    struct aten_value *both[2] = { aten_padded(g, x, before, after, 0),
                                   aten_expand(g, aten_band(g, x, even, even, 0, 1), 3, square) };
    struct aten_value *all = both[0] && both[1] ? aten_join(g, both, 2, 1) : NULL;
    struct aten_value *p = aten_slice(g, all, 2, 0, even / 2, 1), *q = aten_slice(g, all, 2, even / 2, even / 2, 1);
    for (int64_t round = 0; round < SWEEPS * (even - 1) && p && q; round++) {
        rotate(g, rows, &p, &q);
        move_on(g, &p, &q);
    }
    struct aten_value *halves[2] = { p, q }, *indices;
    all = p && q ? aten_join(g, halves, 2, 2) : NULL;
    struct aten_value *top = aten_slice(g, all, 1, 0, rows, 1);
    struct aten_value *sizes = aten_reduced(g, REDUCE(SUM), aten_multiply(g, top, top), 2, x->type);
    sizes = aten_apply(g, EW(SQRT), sizes);
    if (even > columns) /* the added column is the last one */
        sizes = aten_subtract(g, sizes, aten_apply(g, EW(ABS), aten_slice(g, all, 1, rows + columns, 1, 1)));
    sizes = aten_sorted(g, sizes, 2, columns, true, &indices);
    *out_sizes = sizes;
    const int64_t wanted[3] = { batch, rows + columns, columns };
    all = aten_slice(g, all, 1, 0, rows + columns, 1);
    return all ? aten_pick(g, all, aten_expand(g, indices, 3, wanted), 2) : NULL;
}

/* Extends the columns to an orthonormal basis whose first vectors have their directions; zero columns are allowed. */
static struct aten_value *basis(struct aten_graph *g, struct aten_value *x, int64_t columns)
{
    struct reflections *r = aten_alloc(g, sizeof(*r));
    struct aten_value *upper = r && x ? triangularized(g, x, r) : NULL;
    if (!upper)
        return NULL;
    const int64_t width = x->sizes[2], sizes[3] = { x->sizes[0], 1, width };
    upper = aten_packed(g, upper);
    const int64_t strides[3] = { upper ? upper->strides[0] : 0, 0, width + 1 };
    struct aten_value *diagonal = upper ? aten_view(g, upper, 3, sizes, strides) : NULL;
    struct aten_value *sign = aten_select(g, aten_apply2(g, EW(LOGICAL_LESS_THAN), diagonal, number(g, x, 0)),
                                          number(g, x, -1), number(g, x, 1));
    struct aten_value *q = times(g, r, columns_of_one(g, x, columns), false);
    if (columns == width)
        return aten_multiply(g, q, sign);
    struct aten_value *parts[2] = { aten_multiply(g, aten_slice(g, q, 2, 0, width, 1), sign),
                                    aten_slice(g, q, 2, width, columns - width, 1) };
    return parts[0] && parts[1] ? aten_join(g, parts, 2, 2) : NULL;
}

/* _linalg_svd(A, full_matrices, compute_uv, driver) -> (U, S, Vh) */
bool aten_build_svd(struct aten_graph *g, const struct aten_node *n)
{
    bool done;
    if (aten_nothing(g, n, false, &done))
        return done;
    struct aten_value *x = aten_stack(g, n, 0), *sizes;
    if (!x || BASE_MIN(x->sizes[1], x->sizes[2]) > SINGULAR_MAX)
        return aten_fail(g, "at most %d rows or columns are supported", SINGULAR_MAX);
    const bool wide = x->sizes[1] < x->sizes[2], vectors = aten_int(g, n, 2, 1), full = aten_int(g, n, 1, 0);
    x = wide ? aten_turned(g, x) : x;
    const int64_t rows = x->sizes[1], columns = x->sizes[2];
    struct aten_value *all = orthogonal(g, x, &sizes);
    if (!all || !aten_stack_result(g, n, 1, sizes))
        return false;
    if (!vectors)
        return (!aten_wanted(n, 0) || aten_nothing_wanted(g, n, 0)) &&
               (!aten_wanted(n, 2) || aten_nothing_wanted(g, n, 2));
    struct aten_value *u = basis(g, aten_slice(g, all, 1, 0, rows, 1), full ? rows : columns);
    struct aten_value *v = aten_slice(g, all, 1, rows, columns, 1);
    return aten_stack_result(g, n, 0, wide ? v : u) && aten_stack_result(g, n, 2, aten_turned(g, wide ? u : v));
}

/* ---- eigenvalues of symmetric matrices ---- */

/* Copies one triangle to the other side of the diagonal. */
static struct aten_value *symmetric(struct aten_graph *g, struct aten_value *x, bool upper)
{
    x = x && upper ? aten_turned(g, x) : x;
    return aten_add(g, aten_diagonals_cleared(g, x, 1, INT32_MAX),
                    aten_turned(g, aten_diagonals_cleared(g, x, 0, INT32_MAX)));
}

/* _linalg_eigh(A, UPLO, compute_v) -> (eigenvalues, eigenvectors): a multiple of the identity is added so that no
 * eigenvalue is negative; they are then the singular values, and the right singular vectors are the eigenvectors. */
bool aten_build_eigh(struct aten_graph *g, const struct aten_node *n)
{
    bool done;
    if (aten_nothing(g, n, false, &done))
        return done;
    struct aten_value *x = aten_stack(g, n, 0), *sizes;
    if (!x || x->sizes[1] > SINGULAR_MAX)
        return aten_fail(g, "at most %d rows are supported", SINGULAR_MAX);
    const int64_t size = x->sizes[1];
    const bool upper = n->args[1].kind == ATEN_STRING && (*n->args[1].string | 32) == 'u';
    x = symmetric(g, x, upper);
    struct aten_value *most = aten_reduced(g, REDUCE(L1), x, 4, x ? x->type : 0);
    most = aten_reduced(g, REDUCE(MAX), most, 2, x ? x->type : 0);
    x = aten_add(g, x, aten_multiply(g, aten_band(g, x, size, size, 0, 1), most));
    struct aten_value *all = x ? orthogonal(g, x, &sizes) : NULL;
    if (!all)
        return false;
    sizes = aten_slice(g, aten_subtract(g, sizes, most), 2, size - 1, size, -1);
    if (!aten_stack_result(g, n, 0, sizes))
        return false;
    if (!aten_int(g, n, 2, 1))
        return !aten_wanted(n, 1) || aten_nothing_wanted(g, n, 1);
    struct aten_value *v = aten_slice(g, all, 1, size, size, 1);
    return aten_stack_result(g, n, 1, aten_slice(g, v, 2, size - 1, size, -1));
}
