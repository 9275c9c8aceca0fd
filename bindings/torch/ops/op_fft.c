/* SPDX-License-Identifier: Apache-2.0 */
/* Discrete Fourier transforms as GEMMs: a short transform is a single GEMM with all factors, a longer one consists of
 * two steps with the twiddle factors between them (Cooley and Tukey), and a large prime length is a convolution
 * (Bluestein). */
#include "complex.h"
#include "index.h"

#include <math.h>
#include <stdlib.h>

#define DIRECT 64  /* maximum length of a single GEMM */
#define PRIME  256 /* the same for lengths without a divisor to split by */

/* ---- factors ---- */

/* e^(2 pi i numerator / denominator) */
static void root(int64_t numerator, int64_t denominator, double *re, double *im)
{
    const double angle = 2 * M_PI * (double)(numerator % denominator) / (double)denominator;
    *re = cos(angle);
    *im = sin(angle);
}

/* A constant pair with the element (j, k) e^(sign 2 pi i j k / order). */
static struct aten_pair roots(struct aten_graph *g, int32_t type, const int64_t *sizes, int64_t order, int sign)
{
    const size_t count = (size_t)(sizes[0] * sizes[1]), bytes = aten_type_bytes(type);
    char *re = aten_alloc(g, count * bytes), *im = aten_alloc(g, count * bytes);
    struct aten_pair pair = { NULL, NULL };
    if (!re || !im)
        return pair;
    for (int64_t j = 0; j < sizes[0]; j++)
        for (int64_t k = 0; k < sizes[1]; k++) {
            double c, s;
            root(j % order * k, order, &c, &s);
            aten_store_real(type, c, re + (size_t)(j * sizes[1] + k) * bytes);
            aten_store_real(type, sign * s, im + (size_t)(j * sizes[1] + k) * bytes);
        }
    pair.re = aten_constant(g, type, 2, sizes, re);
    pair.im = aten_constant(g, type, 2, sizes, im);
    return pair;
}

static struct aten_pair swapped(struct aten_graph *g, struct aten_pair x, uint32_t a, uint32_t b)
{
    return (struct aten_pair){ aten_transpose(g, x.re, a, b), x.im ? aten_transpose(g, x.im, a, b) : NULL };
}

static struct aten_pair sliced(struct aten_graph *g, struct aten_pair x, uint32_t axis, int64_t start, int64_t count,
                               int64_t step)
{
    return (struct aten_pair){ aten_slice(g, x.re, axis, start, count, step),
                               x.im ? aten_slice(g, x.im, axis, start, count, step) : NULL };
}

static struct aten_pair padded(struct aten_graph *g, struct aten_pair x, int64_t more)
{
    const int64_t before[2] = { 0, 0 }, after[2] = { 0, more };
    return (struct aten_pair){ aten_padded(g, x.re, before, after, 0),
                               x.im ? aten_padded(g, x.im, before, after, 0) : NULL };
}

static struct aten_pair scaled(struct aten_graph *g, struct aten_pair x, double factor)
{
    return (struct aten_pair){ aten_scaled(g, x.re, factor, 0), x.im ? aten_scaled(g, x.im, factor, 0) : NULL };
}

/* ---- one dimension ---- */

static int64_t divisor_of(int64_t n)
{
    for (int64_t d = DIRECT; d > 1; d--)
        if (n % d == 0)
            return d;
    return 1;
}

static struct aten_pair transform(struct aten_graph *g, struct aten_pair x, int sign);

/* A convolution with e^(pi i j^2 / n), of a length with small factors: jk = (j^2 + k^2 - (k - j)^2) / 2. */
static struct aten_pair chirped(struct aten_graph *g, struct aten_pair x, int sign)
{
    const int64_t n = x.re->sizes[1], one[2] = { 1, n };
    const int32_t type = x.re->type;
    int64_t length = 1;
    while (length < 2 * n - 1)
        length *= 2;
    const int64_t whole[2] = { 1, length };
    const size_t bytes = aten_type_bytes(type);
    char *parts[4];
    for (int i = 0; i < 4; i++)
        if (!(parts[i] = aten_alloc(g, (size_t)(i < 2 ? n : length) * bytes)))
            return (struct aten_pair){ NULL, NULL };
    for (int64_t j = 0; j < n; j++) {
        double c, s;
        root(j * j % (2 * n), 2 * n, &c, &s);
        aten_store_real(type, c, parts[0] + (size_t)j * bytes);
        aten_store_real(type, sign * s, parts[1] + (size_t)j * bytes);
        for (int twice = 0; twice < (j ? 2 : 1); twice++) {
            const size_t at = (size_t)(twice ? length - j : j) * bytes;
            aten_store_real(type, c, parts[2] + at);
            aten_store_real(type, -sign * s, parts[3] + at);
        }
    }
    struct aten_pair chirp = { aten_constant(g, type, 2, one, parts[0]), aten_constant(g, type, 2, one, parts[1]) };
    struct aten_pair filter = { aten_constant(g, type, 2, whole, parts[2]),
                                aten_constant(g, type, 2, whole, parts[3]) };
    struct aten_pair y = transform(g, padded(g, aten_pair_multiply(g, x, chirp), length - n), -1);
    y = transform(g, aten_pair_multiply(g, y, transform(g, filter, -1)), 1);
    y = sliced(g, y, 1, 0, n, 1);
    return scaled(g, aten_pair_multiply(g, y, chirp), 1.0 / (double)length);
}

/* n = first * last: elements j1 * last + j2 of x yield elements k1 + first * k2. */
static struct aten_pair split(struct aten_graph *g, struct aten_pair x, int64_t last, int sign)
{
    const int64_t batch = x.re->sizes[0], n = x.re->sizes[1], first = n / last;
    const int64_t cube[3] = { batch, first, last }, turned[3] = { batch, last, first };
    const int64_t columns[2] = { batch * last, first }, rows[2] = { batch * first, last }, flat[2] = { batch, n };
    const int64_t square[2] = { first, first }, between[2] = { first, last };
    x = aten_pair_reshape(g, x, 3, cube);
    if (first <= DIRECT)
        x = aten_pair_matmul(g, roots(g, x.re ? x.re->type : ATEN_FLOAT32, square, first, sign), x);
    else
        x = swapped(
            g,
            aten_pair_reshape(g, transform(g, aten_pair_reshape(g, swapped(g, x, 1, 2), 2, columns), sign), 3, turned),
            1, 2);
    if (!x.re)
        return x;
    x = aten_pair_multiply(g, x, roots(g, x.re->type, between, n, sign));
    x = aten_pair_reshape(g, transform(g, aten_pair_reshape(g, x, 2, rows), sign), 3, cube);
    return aten_pair_reshape(g, swapped(g, x, 1, 2), 2, flat);
}

/* y[b, k] = sum over j of x[b, j] e^(sign 2 pi i j k / n) */
static struct aten_pair transform(struct aten_graph *g, struct aten_pair x, int sign)
{
    if (!x.re || g->failed)
        return (struct aten_pair){ NULL, NULL };
    const int64_t n = x.re->sizes[1], square[2] = { n, n };
    const int64_t last = n <= DIRECT ? 1 : divisor_of(n);
    if (last > 1)
        return split(g, x, last, sign);
    if (n > PRIME)
        return chirped(g, x, sign);
    return aten_pair_matmul(g, x, roots(g, x.re->type, square, n, sign));
}

/* ---- along a dimension ---- */

struct lines {
    uint32_t axis, rank;
    int64_t sizes[ATEN_RANK_MAX];
};

/* Moves the axis to the end and merges all other dimensions. */
static struct aten_pair lines_of(struct aten_graph *g, struct aten_pair x, uint32_t axis, struct lines *lines)
{
    if (!x.re)
        return x;
    const uint32_t end = x.re->rank - 1;
    x = swapped(g, x, axis, end);
    if (!x.re)
        return x;
    lines->axis = axis;
    lines->rank = x.re->rank;
    memcpy(lines->sizes, x.re->sizes, sizeof(lines->sizes));
    const int64_t n = x.re->sizes[end], flat[2] = { n ? aten_elements(x.re) / n : 0, n };
    return aten_pair_reshape(g, x, 2, flat);
}

static struct aten_pair lines_back(struct aten_graph *g, struct aten_pair x, struct lines *lines)
{
    if (!x.re)
        return x;
    lines->sizes[lines->rank - 1] = x.re->sizes[1];
    return swapped(g, aten_pair_reshape(g, x, lines->rank, lines->sizes), lines->axis, lines->rank - 1);
}

static struct aten_pair along(struct aten_graph *g, struct aten_pair x, uint32_t axis, int sign)
{
    struct lines lines;
    return lines_back(g, transform(g, lines_of(g, x, axis, &lines), sign), &lines);
}

/* The first half of a transform of n real numbers determines the rest: the conjugates in reverse order. */
static struct aten_value *real_along(struct aten_graph *g, struct aten_pair x, uint32_t axis, int64_t n)
{
    struct lines lines;
    x = lines_of(g, x, axis, &lines);
    if (!x.re || n < 1)
        return NULL;
    const int64_t half = n / 2 + 1, rest = n - half;
    if (x.re->sizes[1] < half)
        x = padded(g, x, half - x.re->sizes[1]);
    x = sliced(g, x, 1, 0, half, 1);
    /* The imaginary parts of the first and of the middle number are ignored. */
    double *mask = aten_alloc(g, (size_t)half * sizeof(*mask));
    for (int64_t k = 0; mask && k < half; k++)
        mask[k] = k && 2 * k != n;
    if (!mask || !x.re)
        return NULL;
    const int64_t shape[1] = { half };
    char *stored = aten_alloc(g, (size_t)half * sizeof(double));
    for (int64_t k = 0; stored && k < half; k++)
        aten_store_real(x.re->type, mask[k], stored + k * aten_type_bytes(x.re->type));
    x.im = stored ? aten_multiply(g, aten_pair_im(g, x), aten_constant(g, x.re->type, 1, shape, stored)) : NULL;
    if (rest) {
        struct aten_pair back = sliced(g, x, 1, rest, rest, -1);
        struct aten_value *re[2] = { x.re, back.re },
                          *im[2] = { x.im, aten_apply(g, DML_OPERATOR_ELEMENT_WISE_NEGATE, back.im) };
        x = (struct aten_pair){ aten_join(g, re, 2, 1), aten_join(g, im, 2, 1) };
    }
    struct aten_pair y = transform(g, x, 1);
    y.im = NULL;
    return lines_back(g, y, &lines).re;
}

/* ---- operators ---- */

enum { NORM_NONE, NORM_ROOT, NORM_ALL };

static double factor_of(struct aten_graph *g, const struct aten_node *n, int64_t count)
{
    const int64_t mode = aten_int(g, n, 2, NORM_NONE);
    return mode == NORM_NONE || !count ? 1 : mode == NORM_ROOT ? 1 / sqrt((double)count) : 1 / (double)count;
}

struct axes {
    uint32_t list[ATEN_RANK_MAX], count;
    int64_t elements; /* number of elements of all these dimensions */
};

static bool axes_of(struct aten_graph *g, const struct aten_node *n, const struct aten_value *x, struct axes *out)
{
    uint32_t count;
    const int64_t *dims = aten_ints(g, n, 1, &count);
    *out = (struct axes){ .count = count, .elements = 1 };
    if (!x || count > ATEN_RANK_MAX)
        return aten_fail(g, "unsupported arguments");
    for (uint32_t i = 0; i < count; i++) {
        if (!aten_axis(g, dims[i], x->rank, &out->list[i]))
            return false;
        out->elements *= x->sizes[out->list[i]];
    }
    return true;
}

static int32_t part_of(int32_t type)
{
    return aten_wide(aten_is_complex(type) ? aten_part(type) : type);
}

/* _fft_c2c(self, dim, normalization, forward) */
bool aten_build_fft_c2c(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_pair x = aten_pair_in(g, n, 0, part_of(n->outputs[0].type));
    struct axes axes;
    if (!axes_of(g, n, x.re, &axes))
        return false;
    if (!aten_elements(x.re))
        return aten_pair_result(g, n, 0, (struct aten_pair){ aten_scalar(g, x.re->type, 0), NULL });
    for (uint32_t i = 0; i < axes.count; i++)
        x = along(g, x, axes.list[i], aten_int(g, n, 3, 1) ? -1 : 1);
    return aten_pair_result(g, n, 0, scaled(g, x, factor_of(g, n, axes.elements)));
}

/* _fft_r2c(self, dim, normalization, onesided): transforms the last entry of dim first; half of that result may be
 * sufficient. */
bool aten_build_fft_r2c(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_pair x = { aten_in_as(g, n, 0, part_of(n->outputs[0].type)), NULL };
    struct axes axes;
    if (!axes_of(g, n, x.re, &axes))
        return false;
    if (!aten_elements(x.re))
        return aten_pair_result(g, n, 0, (struct aten_pair){ aten_scalar(g, x.re->type, 0), NULL });
    for (uint32_t i = axes.count; i-- > 0;) {
        x = along(g, x, axes.list[i], -1);
        if (i + 1 == axes.count && aten_int(g, n, 3, 1) && x.re)
            x = sliced(g, x, axes.list[i], 0, x.re->sizes[axes.list[i]] / 2 + 1, 1);
    }
    return aten_pair_result(g, n, 0, scaled(g, x, factor_of(g, n, axes.elements)));
}

/* _fft_c2r(self, dim, normalization, last_dim_size) */
bool aten_build_fft_c2r(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_pair x = aten_pair_in(g, n, 0, part_of(n->outputs[0].type));
    const int64_t size = aten_int(g, n, 3, 1);
    struct axes axes;
    if (!axes_of(g, n, x.re, &axes) || !axes.count)
        return aten_fail(g, "dim is empty");
    if (!aten_elements(x.re))
        return aten_result(g, n, 0, aten_scalar(g, x.re->type, 0));
    const uint32_t last = axes.list[axes.count - 1];
    const int64_t elements = axes.elements / x.re->sizes[last] * size;
    for (uint32_t i = 0; i + 1 < axes.count; i++)
        x = along(g, x, axes.list[i], 1);
    struct aten_value *y = real_along(g, x, last, size);
    return aten_result(g, n, 0, aten_scaled(g, y, factor_of(g, n, elements), 0));
}
