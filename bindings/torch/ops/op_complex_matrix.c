/* SPDX-License-Identifier: Apache-2.0 */
/* Multiplication of complex matrices and vectors: products of their parts. */
#include "complex.h"

struct aten_pair aten_pair_matmul(struct aten_graph *g, struct aten_pair x, struct aten_pair y)
{
    struct aten_pair z = { aten_matmul(g, x.re, y.re, NULL, 1, 0), NULL };
    if (x.im && y.im)
        z.re = aten_matmul(g, x.im, y.im, z.re, -1, 1);
    if (y.im)
        z.im = aten_matmul(g, x.re, y.im, NULL, 1, 0);
    if (x.im)
        z.im = aten_matmul(g, x.im, y.re, z.im, 1, z.im ? 1 : 0);
    return z;
}

/* Sums of no elements are 0. */
static struct aten_pair product(struct aten_graph *g, struct aten_pair x, struct aten_pair y)
{
    if (!x.re || !y.re)
        return (struct aten_pair){ NULL, NULL };
    if (!aten_elements(x.re) || !aten_elements(y.re))
        return (struct aten_pair){ aten_scalar(g, x.re->type, 0), NULL };
    return aten_pair_matmul(g, x, y);
}

static struct aten_pair at(struct aten_graph *g, const struct aten_node *n, uint32_t i)
{
    return aten_pair_in(g, n, i, aten_pair_type(n));
}

static struct aten_pair unsqueezed(struct aten_graph *g, struct aten_pair x, uint32_t axis)
{
    return (struct aten_pair){ x.re ? aten_unsqueeze(g, x.re, axis) : NULL,
                               x.im ? aten_unsqueeze(g, x.im, axis) : NULL };
}

struct aten_pair aten_pair_reshape(struct aten_graph *g, struct aten_pair x, uint32_t rank, const int64_t *sizes)
{
    return (struct aten_pair){ x.re ? aten_reshape(g, x.re, rank, sizes) : NULL,
                               x.im ? aten_reshape(g, x.im, rank, sizes) : NULL };
}

/* mm, bmm(self, mat2) */
bool aten_build_complex_mm(struct aten_graph *g, const struct aten_node *n)
{
    return aten_pair_result(g, n, 0, product(g, at(g, n, 0), at(g, n, 1)));
}

static struct aten_pair scaled(struct aten_graph *g, const struct aten_node *n, struct aten_pair x, uint32_t factor)
{
    return aten_given(n, factor) && !aten_is_number(g, n, factor, 1) ? aten_pair_multiply(g, x, at(g, n, factor)) : x;
}

/* beta * self + alpha * xy, arguments 3 and 4; self is not read if beta is 0. */
static bool added(struct aten_graph *g, const struct aten_node *n, struct aten_pair xy)
{
    xy = scaled(g, n, xy, 4);
    if (!xy.re || (aten_given(n, 3) && n->args[3].kind != ATEN_REALS && aten_real(g, n, 3, 1) == 0))
        return aten_pair_result(g, n, 0, xy);
    struct aten_pair z = scaled(g, n, at(g, n, 0), 3);
    struct aten_value *im = xy.im && z.im ? aten_add(g, z.im, xy.im) : xy.im ? xy.im : z.im;
    return aten_pair_result(g, n, 0, (struct aten_pair){ aten_add(g, z.re, xy.re), im });
}

/* addmm, baddbmm(self, mat1, mat2, beta, alpha) */
bool aten_build_complex_addmm(struct aten_graph *g, const struct aten_node *n)
{
    return added(g, n, product(g, at(g, n, 1), at(g, n, 2)));
}

static struct aten_value *rows_first(struct aten_graph *g, struct aten_value *x)
{
    return x ? aten_transpose(g, x, 0, 1) : NULL;
}

/* addbmm(self, batch1, batch2, beta, alpha): one product of concatenated rows and columns. */
bool aten_build_complex_addbmm(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_pair x = at(g, n, 1), y = at(g, n, 2);
    if (!x.re || !y.re || x.re->rank != 3 || y.re->rank != 3)
        return aten_fail(g, "batch1 and batch2 must have 3 dimensions");
    const int64_t rows[2] = { x.re->sizes[1], x.re->sizes[0] * x.re->sizes[2] };
    const int64_t columns[2] = { y.re->sizes[0] * y.re->sizes[1], y.re->sizes[2] };
    x = (struct aten_pair){ rows_first(g, x.re), rows_first(g, x.im) };
    return added(g, n, product(g, aten_pair_reshape(g, x, 2, rows), aten_pair_reshape(g, y, 2, columns)));
}

/* The product of matrices as a result of fewer dimensions. */
static struct aten_pair flattened(struct aten_graph *g, struct aten_pair x, uint32_t rank)
{
    return x.re && x.re->rank ? aten_pair_reshape(g, x, rank, x.re->sizes) : x;
}

/* mv(self, vec), addmv(self, mat, vec, beta, alpha): parameter 1. */
bool aten_build_complex_mv(struct aten_graph *g, const struct aten_node *n)
{
    const uint32_t first = n->parameter ? 1 : 0;
    struct aten_pair y = unsqueezed(g, at(g, n, first + 1), 1);
    y = flattened(g, product(g, at(g, n, first), y), 1);
    return n->parameter ? added(g, n, y) : aten_pair_result(g, n, 0, y);
}

/* dot, vdot(self, other): parameter 1, the conjugate of self. */
bool aten_build_complex_dot(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_pair x = unsqueezed(g, at(g, n, 0), 0), y = unsqueezed(g, at(g, n, 1), 1);
    if (n->parameter && x.im)
        x.im = aten_scaled(g, x.im, -1, 0);
    return aten_pair_result(g, n, 0, flattened(g, product(g, x, y), 0));
}

/* addr(self, vec1, vec2, beta, alpha) */
bool aten_build_complex_addr(struct aten_graph *g, const struct aten_node *n)
{
    return added(g, n, aten_pair_multiply(g, unsqueezed(g, at(g, n, 1), 1), at(g, n, 2)));
}
