/* SPDX-License-Identifier: Apache-2.0 */
/* Sorting, running sums, random words. */
#include "graph/lower/lower.h"

HRESULT lower_top_k(struct graph_lowering *lowering)
{
    struct kern_sort sort = { .descending = true };
    if (lowering->desc->op->type == DML_OPERATOR_TOP_K) {
        sort.axis = LOWER_DESC(lowering, TOP_K)->Axis;
    } else {
        sort.axis = LOWER_DESC(lowering, TOP_K1)->Axis;
        sort.descending = LOWER_DESC(lowering, TOP_K1)->AxisDirection == DML_AXIS_DIRECTION_DECREASING;
    }
    struct graph_op *op = lower_op(lowering, KERN_SORT, lowering->inputs, 1, lowering->outputs, 2);
    if (!op)
        return E_OUTOFMEMORY;
    op->k.u.sort = sort;
    return lower_done(lowering);
}

HRESULT lower_random_generator(struct graph_lowering *lowering)
{
    uint32_t outputs = lower_present(&lowering->outputs[1]) ? 2 : 1;
    lower_op(lowering, KERN_RANDOM, lowering->inputs, 1, lowering->outputs, outputs);
    return lower_done(lowering);
}

/* ---- running sums ---- */

/* A long line is split into blocks, so that all threads have work: first the blocks' sums, then each block's initial
 * value, then the blocks. */
#define LONG_LINE (UINT32_C(1) << 18)
#define BLOCK     (UINT32_C(1) << 14)
#define FEW_LINES 8

static struct graph_operand part(const struct graph_operand *operand, uint32_t axis, uint32_t start, uint32_t size,
                                 int32_t step)
{
    struct graph_operand result = *operand;
    uint32_t starts[KERN_RANK_MAX] = { 0 }, sizes[KERN_RANK_MAX];
    int32_t steps[KERN_RANK_MAX];
    for (uint32_t d = 0; d < operand->view.rank; d++) {
        sizes[d] = d == axis ? size : operand->view.sizes[d];
        steps[d] = d == axis ? step : 1;
    }
    starts[axis] = start;
    result.view = graph_view_slice(&operand->view, starts, sizes, steps);
    return result;
}

/* Without dimensions of size 1 other than the axis; returns the new index of the axis. */
static uint32_t compact(struct graph_operand *operand, uint32_t axis)
{
    struct kern_view *view = &operand->view;
    uint32_t rank = 0, place = 0;
    for (uint32_t d = 0; d < view->rank; d++) {
        if (d == axis)
            place = rank;
        else if (view->sizes[d] == 1)
            continue;
        view->sizes[rank] = view->sizes[d];
        view->strides[rank++] = view->strides[d];
    }
    view->rank = rank;
    return place;
}

/* The axis as [size / BLOCK, BLOCK]. */
static struct graph_operand in_blocks(const struct graph_operand *operand, uint32_t axis)
{
    struct graph_operand result = *operand;
    struct kern_view *view = &result.view;
    for (uint32_t d = view->rank++; d > axis; d--) {
        view->sizes[d] = view->sizes[d - 1];
        view->strides[d] = view->strides[d - 1];
    }
    view->sizes[axis] = operand->view.sizes[axis] / BLOCK;
    view->strides[axis] = operand->view.strides[axis] * BLOCK;
    view->sizes[axis + 1] = BLOCK;
    return result;
}

static void scan(struct graph_lowering *lowering, struct kern_scan params, const struct graph_operand *x,
                 const struct graph_operand *init, const struct graph_operand *y)
{
    struct graph_operand in[2] = { *x };
    params.has_init = init != NULL;
    if (init)
        in[1] = *init;
    struct graph_op *op = lower_op(lowering, KERN_SCAN, in, params.has_init ? 2 : 1, y, 1);
    if (op)
        op->k.u.scan = params;
}

/* A temporary for sums of x: x's sizes, but 1 at `axis`. */
static struct graph_operand sums_temp(struct graph_lowering *lowering, const struct kern_view *x, uint32_t axis)
{
    uint32_t sizes[KERN_RANK_MAX];
    memcpy(sizes, x->sizes, sizeof(sizes));
    sizes[axis] = 1;
    return graph_temp(lowering->graph, lower_is_float(x->type) ? DML_TENSOR_DATA_TYPE_FLOAT64 : x->type, x->rank,
                      sizes);
}

static void scan_in_blocks(struct graph_lowering *lowering, struct kern_scan params, const struct graph_operand *x,
                           const struct graph_operand *y)
{
    struct kern_scan inner = params, totals = { params.axis + 1, params.product, false, true, false };
    uint32_t axis = params.axis, size = x->view.sizes[axis], whole = size / BLOCK * BLOCK;
    struct graph_operand from = part(x, axis, 0, whole, 1), to = part(y, axis, 0, whole, 1);
    from = in_blocks(&from, axis);
    to = in_blocks(&to, axis);
    inner.axis = axis + 1;
    struct graph_operand sums = sums_temp(lowering, &from.view, axis + 1);
    struct graph_operand begins = sums_temp(lowering, &from.view, axis + 1);
    scan(lowering, totals, &from, NULL, &sums);
    scan(lowering, (struct kern_scan){ axis, params.product, true, false, false }, &sums, NULL, &begins);
    scan(lowering, inner, &from, &begins, &to);
    if (whole == size)
        return;
    struct graph_operand rest = sums_temp(lowering, &sums.view, axis), begin = rest;
    totals.axis = axis;
    scan(lowering, totals, &sums, NULL, &rest);
    begin.view.rank = x->view.rank; /* without the dimension of the blocks, which has size 1 now */
    memmove(&begin.view.sizes[axis], &rest.view.sizes[axis + 1], (x->view.rank - axis) * sizeof(*rest.view.sizes));
    memmove(&begin.view.strides[axis], &rest.view.strides[axis + 1],
            (x->view.rank - axis) * sizeof(*rest.view.strides));
    from = part(x, axis, whole, size - whole, 1);
    to = part(y, axis, whole, size - whole, 1);
    scan(lowering, params, &from, &begin, &to);
}

static HRESULT cumulate(struct graph_lowering *lowering, struct kern_scan params, DML_AXIS_DIRECTION direction)
{
    struct graph_operand x = lowering->inputs[0], y = lowering->outputs[0];
    uint32_t size = x.view.sizes[params.axis];
    if (direction == DML_AXIS_DIRECTION_DECREASING) {
        x = part(&x, params.axis, size - 1, size, -1);
        y = part(&y, params.axis, size - 1, size, -1);
    }
    uint64_t lines = kern_view_elements(&x.view) / size;
    uint32_t axis = params.axis;
    /* Floating-point products of blocks overflow or underflow where running products do not. */
    bool joins = !params.product || !lower_is_float(x.view.type);
    compact(&x, axis);
    params.axis = compact(&y, axis);
    if (size >= LONG_LINE && lines <= FEW_LINES && joins && x.view.rank < KERN_RANK_MAX)
        scan_in_blocks(lowering, params, &x, &y);
    else
        scan(lowering, params, &x, NULL, &y);
    return lower_done(lowering);
}

HRESULT lower_cumulative(struct graph_lowering *lowering)
{
    if (lowering->desc->op->type == DML_OPERATOR_CUMULATIVE_PRODUCT) {
        const DML_CUMULATIVE_PRODUCT_OPERATOR_DESC *desc = LOWER_DESC(lowering, CUMULATIVE_PRODUCT);
        struct kern_scan params = { .axis = desc->Axis, .product = true, .exclusive = desc->HasExclusiveProduct };
        return cumulate(lowering, params, desc->AxisDirection);
    }
    const DML_CUMULATIVE_SUMMATION_OPERATOR_DESC *desc = LOWER_DESC(lowering, CUMULATIVE_SUMMATION);
    return cumulate(lowering, (struct kern_scan){ .axis = desc->Axis, .exclusive = desc->HasExclusiveSum },
                    desc->AxisDirection);
}
