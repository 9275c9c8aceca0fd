/* SPDX-License-Identifier: Apache-2.0 */
/* Losses and their gradients. Reductions: 0 none, 1 mean, 2 sum. */
#include "graph.h"

#define EW(name) DML_OPERATOR_ELEMENT_WISE_##name

enum { NONE, MEAN, SUM };

static struct aten_value *like(struct aten_graph *g, const struct aten_value *x, double value)
{
    return x ? aten_scalar(g, x->type, value) : NULL;
}

static struct aten_value *summed(struct aten_graph *g, struct aten_value *x)
{
    if (!x || g->failed)
        return NULL;
    if (!aten_elements(x))
        return like(g, x, 0);
    struct aten_value *y =
        aten_reduced(g, DML_REDUCE_FUNCTION_SUM, x, (UINT32_C(1) << BASE_MAX(x->rank, 1u)) - 1, x->type);
    return aten_reshape(g, y, 0, NULL);
}

/* ---- element by element ---- */

/* self and target (arguments `first` and the next), which torch has broadcast. */
struct pair {
    struct aten_value *x, *target;
};

static struct pair pair_of(struct aten_graph *g, const struct aten_node *n, uint32_t first)
{
    const int32_t type = aten_wide(n->outputs[0].type);
    struct pair pair = { aten_in_as(g, n, first, type), aten_in_as(g, n, first + 1, type) };
    return pair;
}

static bool reduced(struct aten_graph *g, const struct aten_node *n, struct aten_value *loss, int64_t reduction)
{
    if (!loss || reduction == NONE)
        return aten_result(g, n, 0, loss);
    struct aten_value *sum = summed(g, loss);
    return aten_result(g, n, 0,
                       reduction == MEAN ? aten_divide(g, sum, like(g, loss, (double)aten_elements(loss))) : sum);
}

/* The gradient of each element; for the mean it is divided by the number of elements. */
static bool spread(struct aten_graph *g, const struct aten_node *n, struct aten_value *slope, int64_t reduction)
{
    if (!slope)
        return aten_fail(g, "unsupported arguments");
    struct aten_value *dy = aten_in_as(g, n, 0, slope->type);
    struct aten_value *dx = aten_multiply(g, dy, slope);
    if (reduction == MEAN && dx)
        dx = aten_scaled(g, dx, 1 / (double)aten_elements(dx), 0);
    return aten_result(g, n, 0, dx);
}

static struct aten_value *difference(struct aten_graph *g, struct pair p)
{
    return aten_subtract(g, p.x, p.target);
}

/* mse_loss(self, target, reduction) */
bool aten_build_mse_loss(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *d = difference(g, pair_of(g, n, 0));
    return reduced(g, n, aten_multiply(g, d, d), aten_int(g, n, 2, MEAN));
}

/* mse_loss_backward(grad_output, self, target, reduction) */
bool aten_build_mse_loss_backward(struct aten_graph *g, const struct aten_node *n)
{
    return spread(g, n, aten_scaled(g, difference(g, pair_of(g, n, 1)), 2, 0), aten_int(g, n, 3, MEAN));
}

/* smooth_l1_loss(self, target, reduction, beta); huber_loss(self, target, reduction, delta), parameter 1, is delta
 * times that. */
bool aten_build_smooth_loss(struct aten_graph *g, const struct aten_node *n)
{
    const double beta = aten_real(g, n, 3, 1), factor = n->parameter ? beta : 1;
    struct aten_value *d = aten_apply(g, EW(ABS), difference(g, pair_of(g, n, 0)));
    if (beta == 0)
        return reduced(g, n, aten_scaled(g, d, n->parameter ? 0 : 1, 0), aten_int(g, n, 2, MEAN));
    struct aten_value *near = aten_scaled(g, aten_multiply(g, d, d), 0.5 * factor / beta, 0);
    struct aten_value *far = aten_scaled(g, aten_scaled(g, d, 1, -0.5 * beta), factor, 0);
    struct aten_value *is_near =
        aten_apply2(g, n->parameter ? EW(LOGICAL_LESS_THAN_OR_EQUAL) : EW(LOGICAL_LESS_THAN), d, like(g, d, beta));
    return reduced(g, n, aten_select(g, is_near, near, far), aten_int(g, n, 2, MEAN));
}

/* (grad_output, self, target, reduction, beta or delta) */
bool aten_build_smooth_loss_backward(struct aten_graph *g, const struct aten_node *n)
{
    const double beta = aten_real(g, n, 4, 1), factor = n->parameter ? beta : 1;
    struct aten_value *d = difference(g, pair_of(g, n, 1));
    struct aten_value *far = aten_scaled(g, aten_apply(g, EW(SIGN), d), factor, 0), *slope = far;
    if (beta != 0) {
        struct aten_value *inside = aten_apply2(g, EW(LOGICAL_LESS_THAN), aten_apply(g, EW(ABS), d), like(g, d, beta));
        slope = aten_select(g, inside, aten_scaled(g, d, factor / beta, 0), far);
    }
    return spread(g, n, slope, aten_int(g, n, 3, MEAN));
}

/* max(log(x), -100) */
static struct aten_value *bounded_log(struct aten_graph *g, struct aten_value *x)
{
    return aten_apply2(g, EW(MAX), aten_apply(g, EW(LOG), x), like(g, x, -100));
}

/* binary_cross_entropy(self, target, weight, reduction) */
bool aten_build_binary_cross_entropy(struct aten_graph *g, const struct aten_node *n)
{
    struct pair p = pair_of(g, n, 0);
    for (uint32_t i = 0; i < 2; i++)
        if (aten_is_tensor(n, i) && aten_is_float(n->args[i].values[0]->type))
            aten_bound(g, n, (struct aten_bound){ .rule = ATEN_BOUND_SHARE, .argument = i, .dimension = i });
    struct aten_value *off =
        aten_multiply(g, aten_scaled(g, p.target, 1, -1), bounded_log(g, aten_scaled(g, p.x, -1, 1)));
    struct aten_value *loss = aten_subtract(g, off, aten_multiply(g, p.target, bounded_log(g, p.x)));
    if (aten_given(n, 2) && loss)
        loss = aten_multiply(g, loss, aten_in_as(g, n, 2, loss->type));
    return reduced(g, n, loss, aten_int(g, n, 3, MEAN));
}

/* binary_cross_entropy_backward(grad_output, self, target, weight, reduction) */
bool aten_build_binary_cross_entropy_backward(struct aten_graph *g, const struct aten_node *n)
{
    struct pair p = pair_of(g, n, 1);
    struct aten_value *both = aten_multiply(g, aten_scaled(g, p.x, -1, 1), p.x);
    struct aten_value *slope = aten_divide(g, difference(g, p), aten_apply2(g, EW(MAX), both, like(g, both, 1e-12)));
    if (aten_given(n, 3) && slope)
        slope = aten_multiply(g, slope, aten_in_as(g, n, 3, slope->type));
    return spread(g, n, slope, aten_int(g, n, 4, MEAN));
}

/* ---- classes ---- */

struct classes {
    uint32_t axis;
    int64_t sizes[ATEN_RANK_MAX]; /* of self */
    struct aten_value *target;    /* INT64, 1 class; 0 for ignored elements */
    struct aten_value *valid;     /* not ignored */
    struct aten_value *weight;    /* weight of the target's class, 0 for ignored elements */
};

/* self is {batch, classes, ...} or {classes}; the target lacks the class dimension. */
static bool read_classes(struct aten_graph *g, const struct aten_node *n, uint32_t target, uint32_t weight,
                         int64_t ignored, struct classes *out, struct aten_value *x)
{
    struct aten_value *t = aten_in_as(g, n, target, ATEN_INT64);
    if (!x || !t || !x->rank)
        return aten_fail(g, "self must have 1 dimension or more");
    out->axis = x->rank > 1 ? 1 : 0;
    aten_bound(g, n,
               (struct aten_bound){ ATEN_BOUND_CLASS, target, .ignores = true, .ignored = ignored,
                                    .size = x->sizes[out->axis] });
    t = t->rank < x->rank ? aten_unsqueeze(g, t, out->axis) : t;
    out->valid = aten_not(g, aten_apply2(g, EW(LOGICAL_EQUALS), t, aten_scalar_int(g, ATEN_INT64, ignored)));
    out->target = aten_select(g, out->valid, t, aten_scalar_int(g, ATEN_INT64, 0));
    struct aten_value *one = like(g, x, 1);
    if (aten_given(n, weight) && out->target) {
        int64_t along[ATEN_RANK_MAX];
        for (uint32_t i = 0; i < x->rank; i++)
            along[i] = i == out->axis ? x->sizes[i] : 1;
        struct aten_value *weights = aten_reshape(g, aten_in_as(g, n, weight, x->type), x->rank, along);
        one = aten_pick(g, aten_expand(g, weights, x->rank, x->sizes), out->target, out->axis);
    }
    out->weight = aten_select(g, out->valid, one, like(g, x, 0));
    return out->weight != NULL;
}

/* nll_loss_forward, nll_loss2d_forward(self, target, weight, reduction, ignore_index) -> (output, total_weight) */
bool aten_build_nll_loss(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = aten_in_as(g, n, 0, aten_wide(n->outputs[0].type));
    const int64_t reduction = aten_int(g, n, 3, MEAN);
    struct classes c;
    if (!x || !read_classes(g, n, 1, 2, aten_int(g, n, 4, -100), &c, x))
        return aten_fail(g, "unsupported arguments");
    const bool empty = !aten_elements(c.target), none = reduction == NONE && x->rank > 1;
    struct aten_value *picked = empty ? c.weight : aten_pick(g, x, c.target, c.axis);
    struct aten_value *loss = aten_select(g, c.valid, aten_apply(g, EW(NEGATE), picked), like(g, x, 0));
    loss = aten_multiply(g, loss, c.weight);
    struct aten_value *total = none ? like(g, x, 0) : summed(g, c.weight);
    if (!aten_result(g, n, 1, total))
        return false;
    if (none)
        return loss && aten_result(g, n, 0, aten_reshape(g, loss, n->outputs[0].rank, n->outputs[0].sizes));
    struct aten_value *sum = summed(g, loss);
    return aten_result(g, n, 0, reduction == MEAN ? aten_divide(g, sum, total) : sum);
}

/* (grad_output, self, target, weight, reduction, ignore_index, total_weight) */
bool aten_build_nll_loss_backward(struct aten_graph *g, const struct aten_node *n)
{
    const int32_t type = aten_wide(n->outputs[0].type);
    struct aten_value *x = aten_in_as(g, n, 1, type), *dy = aten_in_as(g, n, 0, type);
    const int64_t reduction = aten_int(g, n, 4, MEAN);
    struct classes c;
    if (!x || !dy || !read_classes(g, n, 2, 3, aten_int(g, n, 5, -100), &c, x))
        return aten_fail(g, "unsupported arguments");
    if (reduction == MEAN)
        dy = aten_divide(g, dy, aten_in_as(g, n, 6, type));
    if (dy && dy->rank && dy->rank < x->rank && dy->rank + 1 == x->rank && x->rank > 1)
        dy = aten_unsqueeze(g, dy, c.axis);
    const int64_t count = x->sizes[c.axis];
    int64_t along[ATEN_RANK_MAX], *indices = aten_alloc(g, (size_t)count * sizeof(*indices));
    for (int64_t i = 0; indices && i < count; i++)
        indices[i] = i;
    for (uint32_t i = 0; i < x->rank; i++)
        along[i] = i == c.axis ? count : 1;
    struct aten_value *all = indices ? aten_constant(g, ATEN_INT64, x->rank, along, indices) : NULL;
    struct aten_value *hit = aten_apply2(g, EW(LOGICAL_AND), aten_apply2(g, EW(LOGICAL_EQUALS), c.target, all),
                                         aten_expand(g, c.valid, x->rank, x->sizes));
    struct aten_value *slope = aten_apply(g, EW(NEGATE), aten_multiply(g, dy, c.weight));
    return aten_result(g, n, 0, aten_select(g, hit, slope, like(g, x, 0)));
}

/* ---- parametric relu ---- */

/* _prelu_kernel(self, weight) */
bool aten_build_prelu(struct aten_graph *g, const struct aten_node *n)
{
    struct pair p = pair_of(g, n, 0);
    struct aten_value *positive = aten_apply2(g, EW(LOGICAL_GREATER_THAN), p.x, like(g, p.x, 0));
    return aten_result(g, n, 0, aten_select(g, positive, p.x, aten_multiply(g, p.x, p.target)));
}

/* _prelu_kernel_backward(grad_output, self, weight) -> gradients of both, unreduced */
bool aten_build_prelu_backward(struct aten_graph *g, const struct aten_node *n)
{
    struct pair p = pair_of(g, n, 1);
    struct aten_value *dy = p.x ? aten_in_as(g, n, 0, p.x->type) : NULL;
    struct aten_value *positive = aten_apply2(g, EW(LOGICAL_GREATER_THAN), p.x, like(g, p.x, 0));
    return aten_result(g, n, 0, aten_select(g, positive, dy, aten_multiply(g, dy, p.target))) &&
           aten_result(g, n, 1, aten_select(g, positive, like(g, p.x, 0), aten_multiply(g, dy, p.x)));
}
