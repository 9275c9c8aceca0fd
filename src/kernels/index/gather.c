/* SPDX-License-Identifier: Apache-2.0 */
/* Gather for any layout. All modes are one loop nest over Y's dimensions: X and the indices are views of Y's sizes,
 * broadcast along dimensions that they do not have, and each position of the nest adds the offset of its index. Indices
 * are resolved a block at a time; the innermost dimension is a run of elements that share one index if there is one. */
#include "kernels/core/number.h"
#include "kernels/index/index.h"

enum { PIECE_BYTES = 1 << 18 };

/* X's stride along dimension d of Y. */
static int64_t x_stride(const struct kern_op *op, uint32_t tuple, uint32_t d)
{
    const struct kern_view *x = &op->tensors[0];
    const struct kern_gather *gather = &op->u.gather;
    if (gather->mode == KERN_INDEX_ELEMENTS)
        return d == gather->axis ? 0 : x->strides[d];
    if (d < gather->axis)
        return x->strides[d];
    uint32_t inner = gather->axis + gather->index_rank, from = d - inner + gather->axis + tuple;
    return d < inner || from >= x->rank ? 0 : x->strides[from];
}

static int64_t index_stride(const struct kern_op *op, uint32_t d)
{
    const struct kern_view *index = &op->tensors[1];
    const struct kern_gather *gather = &op->u.gather;
    uint32_t inner = gather->axis + gather->index_rank;
    if (gather->mode == KERN_INDEX_ELEMENTS)
        return index->strides[d];
    if (gather->mode == KERN_INDEX_ND)
        return d < inner ? index->strides[d] : 0;
    return d < gather->axis || d >= inner ? 0 : index->strides[index->rank - inner + d];
}

void index_lookup_init(struct index_lookup *lookup, const struct kern_view *index, const struct kern_view *into,
                       uint32_t first, bool nd)
{
    lookup->type = index->type;
    lookup->tuple = nd ? index->sizes[index->rank - 1] : 1;
    lookup->tuple_stride = nd ? index->strides[index->rank - 1] : 0;
    for (uint32_t t = 0; t < lookup->tuple; t++) {
        lookup->sizes[t] = into->sizes[first + t];
        lookup->strides[t] = into->strides[first + t];
    }
}

/* The innermost dimension becomes the run if its elements share one index. */
static void split_run(struct gather_plan *plan)
{
    struct kern_iterator *iterator = &plan->iterator;
    uint32_t last = iterator->rank - 1;
    plan->run = 1;
    plan->y_step = plan->x_step = 1;
    if (iterator->strides[2][last] != 0)
        return;
    plan->run = iterator->sizes[last];
    plan->y_step = iterator->strides[0][last];
    plan->x_step = iterator->strides[1][last];
    iterator->count /= plan->run;
    iterator->rank = BASE_MAX(last, 1);
    if (last == 0) {
        iterator->sizes[0] = 1;
        for (uint32_t v = 0; v < 3; v++)
            iterator->strides[v][0] = 0;
    }
}

void gather_plan_init(struct gather_plan *plan, const struct kern_op *op)
{
    const uint32_t tensors[] = { 0, 1, 2 };
    const struct kern_view *y = &op->tensors[2];
    struct kern_op wide;
    index_lookup_init(&plan->lookup, &op->tensors[1], &op->tensors[0], op->u.gather.axis,
                      op->u.gather.mode == KERN_INDEX_ND);
    wide.tensors[0] = wide.tensors[1] = wide.tensors[2] = *y;
    for (uint32_t d = 0; d < y->rank; d++) {
        wide.tensors[1].strides[d] = x_stride(op, plan->lookup.tuple, d);
        wide.tensors[2].strides[d] = index_stride(op, d);
    }
    kern_iterator_init(&plan->iterator, &wide, tensors, 3, UINT32_MAX, 0);
    plan->bytes = kern_type_bytes(y->type);
    split_run(plan);
    plan->non_temporal = plan->run * plan->bytes >= 1024 && kern_streams(y);
    plan->pieces = plan->run * plan->bytes < 2 * PIECE_BYTES ? 1 : plan->run * plan->bytes / PIECE_BYTES;
}

/* Dimensions of Y that the mode defines; Y has one of size 1 if there are none. */
static bool ranks_fit(const struct kern_op *op)
{
    const struct kern_view *x = &op->tensors[0], *index = &op->tensors[1], *y = &op->tensors[2];
    const struct kern_gather *gather = &op->u.gather;
    uint32_t tuple = index->sizes[index->rank - 1], rank = 0;
    switch (gather->mode) {
    case KERN_INDEX_AXIS:
        rank = x->rank - 1 + gather->index_rank;
        return gather->axis < x->rank && gather->index_rank <= index->rank && y->rank == BASE_MAX(rank, 1);
    case KERN_INDEX_ELEMENTS:
        return gather->axis < x->rank && x->rank == y->rank && index->rank == y->rank;
    case KERN_INDEX_ND:
        rank = gather->index_rank + x->rank - tuple;
        return tuple <= x->rank && gather->axis <= x->rank - tuple &&
               index->rank == gather->axis + gather->index_rank + 1 && y->rank == BASE_MAX(rank, 1);
    }
    return false;
}

bool kern_gather_any_accepts(const struct kern_op *op)
{
    const struct kern_view *x = &op->tensors[0], *y = &op->tensors[2];
    return !op->epilogue && kern_type_bytes(x->type) && kern_type_bytes(x->type) == kern_type_bytes(y->type) &&
           index_type(op->tensors[1].type) && ranks_fit(op);
}

void kern_gather_any_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    struct gather_plan plan;
    gather_plan_init(&plan, op);
    uint64_t cost = 4 + plan.run * plan.bytes / 16 / plan.pieces;
    *out = (struct kern_work){ .units = plan.iterator.count * plan.pieces, .grain = dense_grain(cost) };
}

/* ---- the definition, element by element ---- */

/* The coordinates in X of the element of Y at `at`. */
static void source(const struct kern_op *op, const void *indices, const uint32_t *at, uint32_t *out)
{
    const struct kern_view *x = &op->tensors[0], *index = &op->tensors[1];
    const struct kern_gather *gather = &op->u.gather;
    bool elements = gather->mode == KERN_INDEX_ELEMENTS, nd = gather->mode == KERN_INDEX_ND;
    uint32_t axis = gather->axis, tuple = nd ? index->sizes[index->rank - 1] : 1;
    uint32_t inner = elements ? axis + 1 : axis + gather->index_rank; /* in Y */
    int64_t where = 0;
    for (uint32_t d = 0; elements && d < index->rank; d++)
        where += at[d] * index->strides[d];
    for (uint32_t d = 0; nd && d < axis; d++)
        where += at[d] * index->strides[d];
    for (uint32_t d = 0; !elements && d < gather->index_rank; d++)
        where += at[axis + d] * index->strides[nd ? axis + d : index->rank - gather->index_rank + d];
    for (uint32_t d = 0; d < axis; d++)
        out[d] = at[d];
    for (uint32_t t = 0; t < tuple; t++)
        out[axis + t] =
            (uint32_t)index_clamp(index_load(indices, where + (nd ? t * index->strides[index->rank - 1] : 0),
                                             index->type, x->sizes[axis + t]),
                                  x->sizes[axis + t]);
    for (uint32_t d = axis + tuple; d < x->rank; d++)
        out[d] = at[inner + d - axis - tuple];
}

static void gather_element(const struct kern_call *call, const uint32_t *at)
{
    const struct kern_view *x = &call->op->tensors[0], *y = &call->op->tensors[2];
    uint32_t from[KERN_RANK_MAX];
    source(call->op, call->data[1], at, from);
    kern_copy_element(y->type, call->data[2], kern_offset(y, at), call->data[0], kern_offset(x, from));
}

void kern_gather_any_ref_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    kern_each_element(call, 2, begin, end, gather_element);
}
