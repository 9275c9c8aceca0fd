/* SPDX-License-Identifier: Apache-2.0 */
/* Losses that compare the scores of classes with the score of the correct one. */
#include "axis.h"
#include "index.h"

#define EW(name)     DML_OPERATOR_ELEMENT_WISE_##name
#define REDUCE(name) DML_REDUCE_FUNCTION_##name

enum { NONE, MEAN };

/* Scores as [rows, classes]. */
static struct aten_value *rows_of(struct aten_graph *g, struct aten_value *x)
{
    x = x && !x->rank ? aten_unsqueeze(g, x, 0) : x;
    return x && x->rank == 1 ? aten_unsqueeze(g, x, 0) : x;
}

static struct aten_value *summed(struct aten_graph *g, struct aten_value *x, uint32_t axis)
{
    return x ? aten_squeeze(g, aten_reduced(g, REDUCE(SUM), x, UINT32_C(1) << axis, x->type), axis) : NULL;
}

/* Reduces the losses of rows as requested. */
static bool reduced(struct aten_graph *g, const struct aten_node *n, struct aten_value *loss, int64_t reduction)
{
    if (loss && reduction != NONE) {
        const double count = (double)loss->sizes[0];
        loss = summed(g, loss, 0);
        loss = reduction == MEAN ? aten_scaled(g, loss, 1 / count, 0) : loss;
    }
    return aten_result(g, n, 0, aten_reshape(g, loss, n->outputs[0].rank, n->outputs[0].sizes));
}

/* The gradient of each row, [rows, 1]. */
static struct aten_value *row_gradient(struct aten_graph *g, struct aten_value *grad, int64_t rows, int64_t reduction)
{
    const int64_t sizes[2] = { rows, 1 }, one[2] = { 1, 1 };
    if (!grad)
        return NULL;
    if (reduction == MEAN)
        grad = aten_scaled(g, grad, 1 / (double)rows, 0);
    return aten_reshape(g, grad, 2, aten_elements(grad) == rows ? sizes : one);
}

static struct aten_value *classes(struct aten_graph *g, int64_t count, uint32_t rank)
{
    double *values = aten_alloc(g, (size_t)count * sizeof(*values));
    for (int64_t i = 0; values && i < count; i++)
        values[i] = (double)i;
    return values ? aten_vector(g, ATEN_INT64, rank, rank - 1, values, count) : NULL;
}

struct margins {
    struct aten_value *over; /* by how much each class violates the margin, [rows, classes]; 0 if it does not */
    struct aten_value *right, *target, *weight;
    double p;
};

/* Reads self, target, p, margin, weight: arguments from `first` on. */
static bool margins_of(struct aten_graph *g, const struct aten_node *n, uint32_t first, struct margins *m)
{
    struct aten_value *x = rows_of(g, aten_in_as(g, n, first, aten_wide(n->outputs[0].type)));
    struct aten_value *weight = aten_in_optional(g, n, first + 4);
    if (!x || x->rank != 2 || !aten_elements(x))
        return aten_fail(g, "self must have 1 or 2 dimensions and must not be empty");
    const int64_t column[2] = { x->sizes[0], 1 };
    m->target = aten_reshape(g, aten_convert(g, aten_in(g, n, first + 1), ATEN_INT64), 2, column);
    m->p = aten_real(g, n, first + 2, 1);
    m->right = aten_apply2(g, EW(LOGICAL_EQUALS), classes(g, x->sizes[1], 2), m->target);
    struct aten_value *zero = aten_scalar(g, x->type, 0);
    struct aten_value *over = aten_subtract(g, x, aten_pick(g, x, m->target, 1));
    over = aten_apply2(g, EW(MAX), aten_scaled(g, over, 1, aten_real(g, n, first + 3, 1)), zero);
    m->over = aten_select(g, m->right, zero, over);
    m->weight = weight ? aten_reshape(g, aten_gather(g, aten_convert(g, weight, x->type), aten_flat(g, m->target), 0),
                                      2, column)
                       : NULL;
    return !g->failed;
}

/* multi_margin_loss(self, target, p, margin, weight, reduction) */
bool aten_build_multi_margin(struct aten_graph *g, const struct aten_node *n)
{
    struct margins m;
    if (!margins_of(g, n, 0, &m))
        return false;
    struct aten_value *loss = m.p == 2 ? aten_multiply(g, m.over, m.over) : m.over;
    loss = m.weight ? aten_multiply(g, loss, m.weight) : loss;
    loss = aten_scaled(g, summed(g, loss, 1), 1 / (double)m.over->sizes[1], 0);
    return reduced(g, n, loss, aten_int(g, n, 5, MEAN));
}

/* multi_margin_loss_backward(grad_output, self, target, p, margin, weight, reduction) */
bool aten_build_multi_margin_backward(struct aten_graph *g, const struct aten_node *n)
{
    struct margins m;
    if (!margins_of(g, n, 1, &m))
        return false;
    const int64_t rows = m.over->sizes[0], count = m.over->sizes[1];
    struct aten_value *grad = row_gradient(g, aten_in_as(g, n, 0, m.over->type), rows, aten_int(g, n, 6, MEAN));
    struct aten_value *each = m.p == 2 ? aten_scaled(g, m.over, 2, 0) : aten_apply(g, EW(SIGN), m.over);
    each = m.weight ? aten_multiply(g, each, m.weight) : each;
    each = aten_multiply(g, aten_scaled(g, each, 1 / (double)count, 0), grad);
    struct aten_value *all = each ? aten_reduced(g, REDUCE(SUM), each, 2, each->type) : NULL;
    each = aten_select(g, m.right, aten_scaled(g, all, -1, 0), each);
    return aten_result(g, n, 0, aten_reshape(g, each, n->outputs[0].rank, n->outputs[0].sizes));
}

/* ---- several correct classes ---- */

struct labels {
    struct aten_value *given; /* [rows, labels]: targets before the first -1 */
    struct aten_value *at;    /* the same as indices, 0 for absent ones */
    struct aten_value *is;    /* [rows, classes] */
    struct aten_value *over;  /* [rows, labels, classes]: by how much a class violates the margin of a label */
};

static bool labels_of(struct aten_graph *g, struct aten_value *x, struct aten_value *target, struct labels *l)
{
    target = rows_of(g, aten_convert(g, target, ATEN_INT64));
    if (!x || x->rank != 2 || !target || !aten_elements(x))
        return aten_fail(g, "self must have 1 or 2 dimensions and must not be empty");
    struct aten_value *zero = aten_scalar_int(g, ATEN_INT64, 0), *nothing = aten_scalar(g, x->type, 0);
    struct aten_value *ends = aten_convert(g, aten_apply2(g, EW(LOGICAL_LESS_THAN), target, zero), ATEN_INT64);
    l->given = aten_apply2(g, EW(LOGICAL_EQUALS), aten_running_sum(g, ends, 1), zero);
    l->at = aten_select(g, l->given, target, zero);
    struct aten_value *given = aten_unsqueeze(g, l->given, 2);
    struct aten_value *hit =
        aten_apply2(g, EW(LOGICAL_EQUALS), aten_unsqueeze(g, l->at, 2), classes(g, x->sizes[1], 3));
    hit = aten_apply2(g, EW(LOGICAL_AND), hit, given);
    l->is = hit ? aten_squeeze(g, aten_any(g, hit, 2), 1) : NULL;
    struct aten_value *over =
        aten_subtract(g, aten_unsqueeze(g, x, 1), aten_unsqueeze(g, aten_pick(g, x, l->at, 1), 2));
    over = aten_apply2(g, EW(MAX), aten_scaled(g, over, 1, 1), nothing);
    struct aten_value *counts = aten_apply2(g, EW(LOGICAL_AND), given, aten_not(g, aten_unsqueeze(g, l->is, 1)));
    l->over = aten_select(g, counts, over, nothing);
    return !g->failed;
}

/* multilabel_margin_loss_forward(self, target, reduction) -> (output, is_target) */
bool aten_build_multilabel_margin(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = rows_of(g, aten_in_as(g, n, 0, aten_wide(n->outputs[0].type)));
    struct labels l;
    if (!labels_of(g, x, aten_in(g, n, 1), &l))
        return false;
    struct aten_value *loss = aten_scaled(g, summed(g, summed(g, l.over, 2), 1), 1 / (double)x->sizes[1], 0);
    if (aten_wanted(n, 1) && !aten_result(g, n, 1, aten_reshape(g, l.is, n->outputs[1].rank, n->outputs[1].sizes)))
        return false;
    return reduced(g, n, loss, aten_int(g, n, 2, MEAN));
}

/* multilabel_margin_loss_backward(grad_output, self, target, reduction, is_target) */
bool aten_build_multilabel_margin_backward(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = rows_of(g, aten_in_as(g, n, 1, aten_wide(n->outputs[0].type)));
    struct labels l;
    if (!labels_of(g, x, aten_in(g, n, 2), &l))
        return false;
    struct aten_value *grad = row_gradient(g, aten_in_as(g, n, 0, x->type), x->sizes[0], aten_int(g, n, 3, MEAN));
    struct aten_value *each = aten_scaled(g, aten_apply(g, EW(SIGN), l.over), 1 / (double)x->sizes[1], 0);
    struct aten_value *own = aten_scaled(g, summed(g, each, 2), -1, 0);
    struct aten_value *y = aten_scatter(g, summed(g, each, 1), l.at, own, 1, REDUCE(SUM));
    return aten_result(g, n, 0, aten_reshape(g, aten_multiply(g, y, grad), n->outputs[0].rank, n->outputs[0].sizes));
}
