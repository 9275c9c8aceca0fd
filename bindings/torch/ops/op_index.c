/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and writing at indices. */
#include "index.h"

#include <math.h>

#define EW(name) DML_OPERATOR_ELEMENT_WISE_##name

/* A result of the requested rank: scalars were computed with one dimension. */
static bool result(struct aten_graph *g, const struct aten_node *n, struct aten_value *y)
{
    return aten_result(g, n, 0, aten_reshape(g, y, n->outputs[0].rank, n->outputs[0].sizes));
}

/* Indices along the axis, broadcast over the other dimensions. */
static struct aten_value *along(struct aten_graph *g, struct aten_value *indices, const struct aten_value *x,
                                uint32_t axis)
{
    int64_t sizes[ATEN_RANK_MAX], strides[ATEN_RANK_MAX] = { 0 };
    indices = aten_lined(g, aten_indices(g, indices));
    if (!indices || !x)
        return NULL;
    memcpy(sizes, x->sizes, sizeof(sizes));
    sizes[axis] = indices->sizes[0];
    strides[axis] = indices->strides[0];
    if (!aten_elements(x) || !aten_elements(indices))
        return aten_new_packed(g, indices->type, x->rank, sizes);
    return aten_view(g, indices, x->rank, sizes, strides);
}

/* Records that the indices of argument i address this dimension of x. */
static void bound_by(struct aten_graph *g, const struct aten_node *n, uint32_t i, const struct aten_value *x,
                     uint32_t axis, enum aten_bound_rule rule)
{
    if (x)
        aten_bound(g, n, (struct aten_bound){ .rule = rule, .argument = i, .dimension = axis, .size = x->sizes[axis] });
}

/* ---- reading ---- */

/* index_select(self, dim, index) */
bool aten_build_index_select(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = aten_lined(g, aten_in(g, n, 0)), *indices = aten_lined(g, aten_indices(g, aten_in(g, n, 2)));
    uint32_t axis;
    if (!x || !aten_axis(g, aten_int(g, n, 1, 0), x->rank, &axis))
        return false;
    bound_by(g, n, 2, x, axis, ATEN_BOUND_SELF);
    return result(g, n, aten_gather(g, x, indices, axis));
}

/* embedding(weight, indices, ...) */
bool aten_build_embedding(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = aten_in(g, n, 0);
    bound_by(g, n, 1, x, 0, ATEN_BOUND_SELF);
    return result(g, n, aten_gather(g, x, aten_flat(g, aten_indices(g, aten_in(g, n, 1))), 0));
}

/* The leading part of x with these sizes in each dimension except for the axis. */
static struct aten_value *corner(struct aten_graph *g, struct aten_value *x, const int64_t *sizes, uint32_t axis)
{
    int64_t wanted[ATEN_RANK_MAX];
    if (!x)
        return NULL;
    for (uint32_t i = 0; i < x->rank; i++)
        wanted[i] = i == axis ? x->sizes[i] : sizes[i];
    return aten_view(g, x, x->rank, wanted, x->strides);
}

/* gather(self, dim, index) */
bool aten_build_gather(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = aten_lined(g, aten_in(g, n, 0)), *indices = aten_lined(g, aten_indices(g, aten_in(g, n, 2)));
    uint32_t axis;
    if (!x || !indices || !aten_axis(g, aten_int(g, n, 1, 0), x->rank, &axis))
        return false;
    bound_by(g, n, 2, x, axis, ATEN_BOUND_DIMENSION);
    if (!aten_elements(indices))
        return result(g, n, indices->rank ? aten_convert(g, indices, x->type) : x);
    return result(g, n, aten_pick(g, corner(g, x, indices->sizes, axis), indices, axis));
}

/* Records that argument 1 has indices into the flattened x. */
static void bound_by_elements(struct aten_graph *g, const struct aten_node *n, const struct aten_value *x)
{
    if (x)
        aten_bound(g, n,
                   (struct aten_bound){ ATEN_BOUND_ELEMENTS, .argument = 1, .from_end = true, .size = x->sizes[0] });
}

/* take(self, index) */
bool aten_build_take(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = aten_flat(g, aten_in(g, n, 0));
    bound_by_elements(g, n, x);
    return result(g, n, aten_gather(g, x, aten_flat(g, aten_indices(g, aten_in(g, n, 1))), 0));
}

/* ---- several index tensors ---- */

struct selection {
    struct aten_value *x;      /* with the indexed dimensions first */
    struct aten_value *tuples; /* rank 2 */
    uint32_t order[ATEN_RANK_MAX];
    uint32_t indexed;        /* number of indexed dimensions */
    uint32_t shape_rank, at; /* rank of the indices' common shape, and its position in the result */
    int64_t shape[ATEN_RANK_MAX];
};

static bool broadcast_shape(struct aten_graph *g, const struct aten_node *n, struct selection *s)
{
    s->shape_rank = 0;
    for (uint32_t i = 0; i < n->args[1].count; i++)
        if (n->args[1].values[i])
            s->shape_rank = BASE_MAX(s->shape_rank, n->args[1].values[i]->rank);
    for (uint32_t i = 0; i < s->shape_rank; i++)
        s->shape[i] = 1;
    for (uint32_t i = 0; i < n->args[1].count; i++) {
        const struct aten_value *v = n->args[1].values[i];
        if (!v)
            continue;
        if (v->type == ATEN_BOOLEAN || v->type == ATEN_UINT8)
            return aten_fail(g, "the number of elements that a mask selects is unknown when compiling");
        for (uint32_t d = 0; d < v->rank; d++)
            if (v->sizes[d] != 1)
                s->shape[d + s->shape_rank - v->rank] = v->sizes[d];
    }
    return true;
}

/* x[indices]: argument 0 and the list of argument 1, whose absent elements select whole dimensions. */
static bool selection_make(struct aten_graph *g, const struct aten_node *n, struct aten_value *x, struct selection *s)
{
    struct aten_value *columns[ATEN_RANK_MAX];
    uint32_t used = 0, first = 0;
    bool adjacent = true;
    memset(s, 0, sizeof(*s));
    if (!x || !aten_given(n, 1) || n->args[1].kind != ATEN_TENSORS || n->args[1].count > x->rank)
        return aten_fail(g, "indices must be a list with at most one tensor for each dimension");
    if (!broadcast_shape(g, n, s))
        return false;
    int64_t count = 1, column[2] = { 1, 1 };
    for (uint32_t i = 0; i < s->shape_rank; i++)
        count *= s->shape[i];
    column[0] = count;
    for (uint32_t i = 0; i < n->args[1].count; i++) {
        struct aten_value *v = aten_indices(g, n->args[1].values[i]);
        if (!v)
            continue;
        first = used ? first : i;
        adjacent = adjacent && i == first + used;
        aten_bound(g, n,
                   (struct aten_bound){ ATEN_BOUND_DIMENSION, 1, i, used, .from_end = true, .size = x->sizes[i] });
        v = aten_convert(g, v, ATEN_INT64);
        columns[used] = aten_reshape(g, aten_expand(g, v, s->shape_rank, s->shape), 2, column);
        s->order[used++] = i;
    }
    if (!used)
        return aten_fail(g, "indices has no tensor");
    s->indexed = used;
    s->at = adjacent ? first : 0;
    for (uint32_t i = 0; i < x->rank; i++)
        if (i >= n->args[1].count || !n->args[1].values[i])
            s->order[used++] = i;
    s->tuples = aten_join(g, columns, s->indexed, 1);
    s->x = aten_permute(g, x, s->order);
    return s->x && s->tuples;
}

/* The sizes of a result: the common shape, then the remaining dimensions. *out_order moves the shape to its
 * position. */
static uint32_t selected_sizes(const struct selection *s, int64_t *out, uint32_t *out_order)
{
    const uint32_t rest = s->x->rank - s->indexed, rank = s->shape_rank + rest;
    if (rank > ATEN_RANK_MAX)
        return rank;
    for (uint32_t i = 0; i < s->shape_rank; i++)
        out[i] = s->shape[i];
    for (uint32_t i = 0; i < rest; i++)
        out[s->shape_rank + i] = s->x->sizes[s->indexed + i];
    for (uint32_t i = 0; i < rank; i++)
        out_order[i] = i < s->at ? s->shape_rank + i : i < s->at + s->shape_rank ? i - s->at : i;
    return rank;
}

/* index(self, indices) */
bool aten_build_index(struct aten_graph *g, const struct aten_node *n)
{
    struct selection s;
    int64_t sizes[ATEN_RANK_MAX];
    uint32_t order[ATEN_RANK_MAX];
    if (!selection_make(g, n, aten_in(g, n, 0), &s))
        return false;
    const uint32_t rank = selected_sizes(&s, sizes, order);
    if (rank > ATEN_RANK_MAX)
        return aten_fail(g, "the result has %u dimensions, at most %u are supported", rank, ATEN_RANK_MAX);
    struct aten_value *y;
    if (s.indexed == 1) { /* indexing of rows does not require tuples */
        const int64_t flat = s.tuples->sizes[0];
        y = aten_gather(g, s.x, aten_reshape(g, s.tuples, 1, &flat), 0);
    } else {
        y = aten_gather_tuples(g, s.x, s.tuples);
    }
    return aten_result(g, n, 0, aten_permute(g, aten_reshape(g, y, rank, sizes), order));
}

/* One mask over the first dimensions, with values that are the same for all selected elements. */
static struct aten_value *put_masked(struct aten_graph *g, const struct aten_node *n, struct aten_value *x,
                                     struct aten_value *values, bool accumulate)
{
    struct aten_value *mask = n->args[1].values[0];
    uint32_t rest = x->rank - mask->rank;
    if (values->rank > rest && !(values->rank == rest + 1 && values->sizes[0] == 1)) {
        aten_fail(g, "values for a mask must be the same for all selected elements");
        return NULL;
    }
    if (values->rank > rest)
        values = aten_squeeze(g, values, 0);
    mask = aten_convert(g, mask, ATEN_BOOLEAN);
    for (uint32_t i = 0; i < rest; i++)
        mask = mask ? aten_unsqueeze(g, mask, mask->rank) : NULL;
    if (accumulate)
        values = x->type == ATEN_BOOLEAN ? aten_apply2(g, EW(LOGICAL_OR), x, values) : aten_add(g, x, values);
    return aten_select(g, mask, values, x);
}

/* index_put(self, indices, values, accumulate) */
bool aten_build_index_put(struct aten_graph *g, const struct aten_node *n)
{
    const int32_t type = n->outputs[0].type;
    const bool accumulate = aten_int(g, n, 3, 0), masked = n->args[1].kind == ATEN_TENSORS && n->args[1].count &&
                                                           n->args[1].values[0] &&
                                                           n->args[1].values[0]->type == ATEN_BOOLEAN;
    const int32_t in = accumulate ? aten_wide(type) : type;
    struct aten_value *x = aten_in_as(g, n, 0, in), *values = aten_in_as(g, n, 2, in);
    struct selection s;
    int64_t sizes[ATEN_RANK_MAX], flat[ATEN_RANK_MAX];
    uint32_t order[ATEN_RANK_MAX], back[ATEN_RANK_MAX];
    if (x && values && masked && n->args[1].count == 1)
        return aten_result(g, n, 0, put_masked(g, n, x, values, accumulate));
    if (!values || !selection_make(g, n, x, &s))
        return false;
    const uint32_t rank = selected_sizes(&s, sizes, order);
    if (rank > ATEN_RANK_MAX)
        return aten_fail(g, "values have %u dimensions, at most %u are supported", rank, ATEN_RANK_MAX);
    int64_t placed[ATEN_RANK_MAX];
    for (uint32_t i = 0; i < rank; i++) {
        placed[i] = sizes[order[i]];
        back[order[i]] = i;
    }
    while (values && values->rank > rank && values->sizes[0] == 1)
        values = aten_squeeze(g, values, 0);
    values = aten_permute(g, aten_expand(g, values, rank, placed), back);
    flat[0] = s.tuples->sizes[0];
    for (uint32_t i = s.indexed; i < x->rank; i++)
        flat[i - s.indexed + 1] = s.x->sizes[i];
    values = aten_reshape(g, values, x->rank - s.indexed + 1, flat);
    struct aten_value *y = aten_scatter_tuples(g, s.x, s.tuples, values,
                                               !accumulate            ? ATEN_REPLACE
                                               : type == ATEN_BOOLEAN ? (int)DML_REDUCE_FUNCTION_MAX
                                                                      : (int)DML_REDUCE_FUNCTION_SUM);
    for (uint32_t i = 0; i < x->rank; i++)
        back[s.order[i]] = i;
    return aten_result(g, n, 0, aten_permute(g, y, back));
}

/* put(self, index, source, accumulate) */
bool aten_build_put(struct aten_graph *g, const struct aten_node *n)
{
    const int32_t type = n->outputs[0].type;
    const bool accumulate = aten_int(g, n, 3, 0);
    const int32_t in = accumulate ? aten_wide(type) : type;
    struct aten_value *x = aten_flat(g, aten_in_as(g, n, 0, in)), *source = aten_flat(g, aten_in_as(g, n, 2, in));
    struct aten_value *tuples = aten_unsqueeze(g, aten_flat(g, aten_indices(g, aten_in(g, n, 1))), 1);
    bound_by_elements(g, n, x);
    return result(g, n,
                  aten_scatter_tuples(g, x, tuples, source, accumulate ? (int)DML_REDUCE_FUNCTION_SUM : ATEN_REPLACE));
}

/* embedding_dense_backward(grad_output, indices, num_weights, padding_idx, scale_grad_by_freq) */
bool aten_build_embedding_backward(struct aten_graph *g, const struct aten_node *n)
{
    const int32_t type = aten_wide(n->outputs[0].type);
    struct aten_value *grad = aten_in_as(g, n, 0, type), *at = aten_flat(g, aten_indices(g, aten_in(g, n, 1)));
    const int64_t rows = aten_int(g, n, 2, 0), padding = aten_int(g, n, 3, -1);
    if (!grad || !at)
        return false;
    const int64_t sizes[2] = { at->sizes[0], grad->sizes[grad->rank - 1] }, all[2] = { rows, sizes[1] };
    grad = aten_reshape(g, grad, 2, sizes);
    if (padding >= 0) /* out of range: ignored */
        at = aten_select(g, aten_apply2(g, EW(LOGICAL_EQUALS), at, aten_scalar_int(g, at->type, padding)),
                         aten_scalar_int(g, at->type, rows), at);
    struct aten_value *tuples = aten_unsqueeze(g, at, 1);
    if (aten_int(g, n, 4, 0)) {
        struct aten_value *counts = aten_scatter_tuples(g, aten_zeros(g, type, 1, &rows), tuples,
                                                        aten_filled(g, type, 1, sizes, 1), DML_REDUCE_FUNCTION_SUM);
        grad = aten_divide(g, grad, aten_unsqueeze(g, aten_gather(g, counts, at, 0), 1));
    }
    return aten_result(g, n, 0,
                       aten_scatter_tuples(g, aten_zeros(g, type, 2, all), tuples, grad, DML_REDUCE_FUNCTION_SUM));
}

/* ---- scattering along a dimension ---- */

enum reduction { REPLACE, SUM, PRODUCT, MEAN, LEAST, GREATEST };

static bool reduction_of(struct aten_graph *g, const struct aten_node *n, uint32_t i, enum reduction *out)
{
    static const struct {
        const char *name;
        enum reduction reduction;
    } names[] = { { "sum", SUM },   { "add", SUM },    { "prod", PRODUCT }, { "multiply", PRODUCT },
                  { "mean", MEAN }, { "amin", LEAST }, { "amax", GREATEST } };
    *out = REPLACE;
    for (size_t k = 0; aten_given(n, i) && n->args[i].kind == ATEN_STRING && k < ARRAY_SIZE(names); k++)
        if (!strcmp(n->args[i].string, names[k].name))
            *out = names[k].reduction;
    return *out != REPLACE || aten_fail(g, "reduce must be sum, prod, mean, amin or amax");
}

static int function_of(enum reduction reduction)
{
    static const int functions[] = { ATEN_REPLACE,
                                     DML_REDUCE_FUNCTION_SUM,
                                     DML_REDUCE_FUNCTION_MULTIPLY,
                                     DML_REDUCE_FUNCTION_SUM,
                                     DML_REDUCE_FUNCTION_MIN,
                                     DML_REDUCE_FUNCTION_MAX };
    return functions[reduction];
}

/* The neutral element, for elements that are excluded from the reduction. */
static struct aten_value *neutral(struct aten_graph *g, enum reduction reduction, int32_t type)
{
    static const int64_t least[] = { 0, INT8_MIN, INT16_MIN, INT32_MIN, INT64_MIN };
    static const int64_t most[] = { UINT8_MAX, INT8_MAX, INT16_MAX, INT32_MAX, INT64_MAX };
    const bool lowest = reduction == GREATEST;
    if (reduction == SUM || reduction == MEAN || reduction == PRODUCT)
        return aten_scalar(g, type, reduction == PRODUCT);
    if (aten_is_float(type))
        return aten_scalar(g, type, lowest ? -INFINITY : INFINITY);
    if (type > ATEN_INT64)
        return aten_scalar_int(g, type, lowest ? 0 : type == ATEN_BOOLEAN ? 1 : -1);
    return aten_scalar_int(g, type, lowest ? least[type] : most[type]);
}

struct scatter {
    struct aten_value *x, *indices, *updates; /* of one rank; indices may be smaller than x and than updates */
    uint32_t axis;
    enum reduction reduction;
    bool include_self;
};

static struct aten_value *scattered_mean(struct aten_graph *g, const struct scatter *s, struct aten_value *sum)
{
    struct aten_value *one = aten_scalar(g, sum->type, 1);
    struct aten_value *begin = aten_filled(g, sum->type, sum->rank, sum->sizes, s->include_self);
    struct aten_value *each = aten_expand(g, one, s->indices->rank, s->indices->sizes);
    struct aten_value *count = aten_scatter(g, begin, s->indices, each, s->axis, DML_REDUCE_FUNCTION_SUM);
    count = aten_apply2(g, EW(MAX), count, one);
    return aten_is_float(sum->type) ? aten_divide(g, sum, count) : aten_floor_divided(g, sum, count);
}

/* MIN and MAX may ignore NaN among the updates; this restores it. */
static struct aten_value *with_nan(struct aten_graph *g, const struct scatter *s, struct aten_value *x,
                                   struct aten_value *updates, struct aten_value *y)
{
    struct aten_value *begin = aten_convert(g, aten_test(g, EW(IS_NAN), x, 0), ATEN_INT32);
    struct aten_value *each = aten_convert(g, aten_test(g, EW(IS_NAN), updates, 0), ATEN_INT32);
    struct aten_value *any = aten_scatter(g, begin, s->indices, each, s->axis, DML_REDUCE_FUNCTION_MAX);
    return aten_select(g, aten_convert(g, any, ATEN_BOOLEAN), aten_scalar(g, y ? y->type : ATEN_FLOAT32, NAN), y);
}

static struct aten_value *scattered(struct aten_graph *g, struct scatter *s)
{
    if (!s->x || !s->indices || !s->updates)
        return NULL;
    if (!aten_elements(s->indices) || !aten_elements(s->x))
        return s->x;
    struct aten_value *whole = s->x, *x = corner(g, whole, s->indices->sizes, s->axis);
    struct aten_value *updates = aten_view(g, s->updates, s->indices->rank, s->indices->sizes, s->updates->strides);
    if (!x || !updates)
        return NULL;
    if (!s->include_self && s->reduction != REPLACE)
        x = aten_scatter(g, x, s->indices,
                         aten_expand(g, neutral(g, s->reduction, x->type), s->indices->rank, s->indices->sizes),
                         s->axis, ATEN_REPLACE);
    struct aten_value *y = aten_scatter(g, x, s->indices, updates, s->axis, function_of(s->reduction));
    if (y && s->reduction == MEAN)
        y = scattered_mean(g, s, y);
    if (y && (s->reduction == LEAST || s->reduction == GREATEST) && aten_is_float(y->type))
        y = with_nan(g, s, x, updates, y);
    /* Elements that no index can reach are unchanged. */
    int64_t sizes[ATEN_RANK_MAX];
    memcpy(sizes, x ? x->sizes : whole->sizes, sizeof(sizes));
    for (uint32_t i = 0; i < whole->rank && y; i++) {
        if (sizes[i] == whole->sizes[i])
            continue;
        struct aten_value *parts[2] = { y, NULL };
        int64_t beside[ATEN_RANK_MAX];
        memcpy(beside, sizes, sizeof(beside));
        beside[i] = whole->sizes[i];
        parts[1] = aten_slice(g, aten_view(g, whole, whole->rank, beside, whole->strides), i, sizes[i],
                              whole->sizes[i] - sizes[i], 1);
        y = aten_join(g, parts, 2, i);
        sizes[i] = whole->sizes[i];
    }
    return y;
}

/* For booleans: sum is or, product is and. */
static bool logical(struct aten_graph *g, enum reduction *reduction)
{
    if (*reduction == MEAN)
        return aten_fail(g, "bool tensors have no mean");
    *reduction = *reduction == SUM ? GREATEST : *reduction == PRODUCT ? LEAST : *reduction;
    return true;
}

static bool scatter_begin(struct aten_graph *g, const struct aten_node *n, int32_t type, struct scatter *s)
{
    s->include_self = true;
    s->x = aten_lined(g, aten_in_as(g, n, 0, type));
    if (type == ATEN_BOOLEAN && !logical(g, &s->reduction))
        return false;
    return s->x && aten_axis(g, aten_int(g, n, 1, 0), s->x->rank, &s->axis);
}

/* scatter(self, dim, index, src or value), scatter_add: parameter 1, or the index of `reduce`; scatter_reduce(self,
 * dim, index, src, reduce, include_self). */
bool aten_build_scatter(struct aten_graph *g, const struct aten_node *n)
{
    struct scatter s = { .reduction = n->parameter == 1 ? SUM : REPLACE };
    if (n->parameter > 1 && !reduction_of(g, n, (uint32_t)n->parameter, &s.reduction))
        return false;
    const int32_t type = s.reduction == REPLACE ? n->outputs[0].type : aten_wide(n->outputs[0].type);
    if (!scatter_begin(g, n, type, &s))
        return false;
    s.include_self = aten_int(g, n, 5, 1);
    s.indices = aten_lined(g, aten_indices(g, aten_in(g, n, 2)));
    s.updates = aten_in_as(g, n, 3, type);
    if (!s.updates || !s.indices)
        return false;
    bound_by(g, n, 2, s.x, s.axis, ATEN_BOUND_DIMENSION);
    s.updates = aten_is_tensor(n, 3) && (s.updates->rank || s.indices->rank == 1)
                    ? aten_lined(g, s.updates)
                    : aten_expand(g, s.updates, s.indices->rank, s.indices->sizes);
    return result(g, n, scattered(g, &s));
}

/* index_copy(self, dim, index, source): parameter 0; index_add(..., alpha): 1; index_fill(self, dim, index, value): 2;
 * index_reduce(self, dim, index, source, reduce, include_self): 3 */
bool aten_build_index_write(struct aten_graph *g, const struct aten_node *n)
{
    struct scatter s = { .reduction = n->parameter == 1 ? SUM : REPLACE };
    if (n->parameter == 3 && !reduction_of(g, n, 4, &s.reduction))
        return false;
    const int32_t type = s.reduction == REPLACE ? n->outputs[0].type : aten_wide(n->outputs[0].type);
    if (!scatter_begin(g, n, type, &s))
        return false;
    if (n->parameter == 3)
        s.include_self = aten_int(g, n, 5, 1);
    s.indices = along(g, aten_in(g, n, 2), s.x, s.axis);
    s.updates = aten_in_as(g, n, 3, type);
    if (!s.indices || !s.updates)
        return false;
    for (uint32_t i = 0; n->parameter == 1 && s.updates->rank && i < s.x->rank; i++)
        if (s.updates->rank != s.x->rank || (i != s.axis && s.updates->sizes[i] != s.x->sizes[i]))
            return aten_fail(g, "source must have the sizes of self except in dimension %u", s.axis);
    static const enum aten_bound_rule rules[] = { ATEN_BOUND_COPY, ATEN_BOUND_DIMENSION, ATEN_BOUND_DIMENSION,
                                                  ATEN_BOUND_SELF };
    aten_bound(g, n,
               (struct aten_bound){ .rule = rules[n->parameter],
                                    .argument = 2,
                                    .dimension = s.axis,
                                    .from_end = n->parameter == 2,
                                    .size = s.x->sizes[s.axis] });
    if (n->parameter == 2)
        s.updates = aten_expand(g, aten_reshape(g, s.updates, 0, NULL), s.indices->rank, s.indices->sizes);
    else if (!s.updates->rank)
        s.updates = aten_expand(g, s.updates, s.indices->rank, s.indices->sizes);
    if (n->parameter == 1 && aten_given(n, 4) && !aten_is_number(g, n, 4, 1))
        s.updates = aten_multiply(g, s.updates, aten_in_as(g, n, 4, type));
    return result(g, n, scattered(g, &s));
}

/* ---- masks ---- */

/* For each element, in row-major order, the number of set elements of the mask before it. */
static struct aten_value *ranks_of(struct aten_graph *g, struct aten_value *mask)
{
    struct aten_value *counts = aten_running_sum(g, aten_convert(g, aten_flat(g, mask), ATEN_INT64), 0);
    return aten_scaled(g, counts, 1, -1);
}

/* masked_scatter(self, mask, source): writes source's elements in order */
bool aten_build_masked_scatter(struct aten_graph *g, const struct aten_node *n)
{
    const struct aten_tensor *out = &n->outputs[0];
    struct aten_value *x = aten_expand(g, aten_in(g, n, 0), out->rank, out->sizes);
    struct aten_value *mask = aten_expand(g, aten_convert(g, aten_in(g, n, 1), ATEN_BOOLEAN), out->rank, out->sizes);
    struct aten_value *source = aten_flat(g, aten_in(g, n, 2));
    if (!aten_is_tensor(n, 1) || n->args[1].values[0]->type != ATEN_BOOLEAN)
        return aten_fail(g, "the mask must be bool");
    if (!x || !source || !aten_elements(source))
        return aten_result(g, n, 0, x);
    struct aten_value *taken = aten_gather(g, source, ranks_of(g, mask), 0);
    return aten_result(g, n, 0, aten_select(g, mask, aten_reshape(g, taken, out->rank, out->sizes), x));
}

/* masked_scatter_backward(grad_output, mask, sizes) */
bool aten_build_masked_scatter_backward(struct aten_graph *g, const struct aten_node *n)
{
    const struct aten_tensor *out = &n->outputs[0];
    struct aten_value *grad = aten_in(g, n, 0), *mask = aten_convert(g, aten_in(g, n, 1), ATEN_BOOLEAN);
    if (!grad || !(mask = aten_expand(g, mask, grad->rank, grad->sizes)))
        return false;
    int64_t size = 1;
    for (uint32_t i = 0; i < out->rank; i++)
        size *= out->sizes[i];
    struct aten_value *at = aten_select(g, aten_flat(g, mask), ranks_of(g, mask), aten_scalar_int(g, ATEN_INT64, size));
    return result(g, n,
                  aten_scatter_tuples(g, aten_zeros(g, grad->type, 1, &size), aten_unsqueeze(g, at, 1),
                                      aten_flat(g, grad), ATEN_REPLACE));
}
