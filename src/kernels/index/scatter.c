/* SPDX-License-Identifier: Apache-2.0 */
/* Scatter for any layout. Dimensions are of three kinds: `free` ones, common to Y and the updates (all except the axis,
 * or those after the tuple), `places`, which indices address, and `picks`, along which the indices are listed.
 *
 * A unit of work is one place of one block of free elements. The thread with a range of units owns that part of Y: it
 * copies the part from X, then iterates over all picks in order and applies those that address the part. So threads
 * never conflict, and of several updates of one element the last wins, or they are combined in order. */
#include "kernels/core/number.h"
#include "kernels/index/index.h"

#include <stdlib.h>

enum { ROW_BYTES = 1 << 16, SHORT_PICKS = 64 };

/* Dimensions [from, from + count) of a view, or one of size 1. */
static struct kern_view cut(const struct kern_view *view, uint32_t from, uint32_t count)
{
    struct kern_view out = { .type = view->type, .rank = BASE_MAX(count, 1), .sizes = { 1 } };
    memcpy(out.sizes, view->sizes + from, count * sizeof(*out.sizes));
    memcpy(out.strides, view->strides + from, count * sizeof(*out.strides));
    return out;
}

static void iterators_init(struct scatter_plan *plan, const struct kern_op *op)
{
    static const uint32_t tensors[] = { 0, 1, 2, 3 };
    const struct kern_view *x = &op->tensors[0], *index = &op->tensors[1], *u = &op->tensors[2], *y = &op->tensors[3];
    bool nd = op->u.scatter.mode == KERN_INDEX_ND;
    uint32_t tuple = plan->lookup.tuple, listed = index->rank - 1, axis = 1u << op->u.scatter.axis;
    struct kern_op wide;
    wide.tensors[0] = nd ? cut(index, 0, listed) : *index;
    wide.tensors[1] = nd ? cut(u, 0, listed) : *u;
    kern_iterator_init(&plan->picks, &wide, tensors, 2, nd ? UINT32_MAX : axis, KERN_ITERATOR_ROW_MAJOR);
    wide.tensors[0] = nd ? cut(y, 0, tuple) : *y;
    wide.tensors[1] = nd ? cut(x, 0, tuple) : *x;
    kern_iterator_init(&plan->places, &wide, tensors, 2, nd ? UINT32_MAX : axis, KERN_ITERATOR_ROW_MAJOR);
    wide.tensors[SCATTER_FREE_Y] = nd ? cut(y, tuple, y->rank - tuple) : *y;
    wide.tensors[SCATTER_FREE_X] = nd ? cut(x, tuple, x->rank - tuple) : *x;
    wide.tensors[SCATTER_FREE_UPDATES] = nd ? cut(u, listed, y->rank - tuple) : *u;
    wide.tensors[SCATTER_FREE_INDICES] = *index;
    if (nd) /* no index depends on them */
        memset(wide.tensors[SCATTER_FREE_INDICES].strides, 0, sizeof(index->strides));
    kern_iterator_init(&plan->free, &wide, tensors, SCATTER_FREE_VIEWS, nd ? UINT32_MAX : ~axis, SCATTER_FREE_Y);
}

void scatter_plan_init(struct scatter_plan *plan, const struct kern_op *op)
{
    const bool nd = op->u.scatter.mode == KERN_INDEX_ND;
    index_lookup_init(&plan->lookup, &op->tensors[1], &op->tensors[3], nd ? 0 : op->u.scatter.axis, nd);
    iterators_init(plan, op);
    uint32_t last = plan->free.rank - 1;
    plan->bytes = kern_type_bytes(op->tensors[3].type);
    plan->update_bytes = kern_type_bytes(op->tensors[2].type);
    plan->combine = op->u.scatter.reduction != KERN_SCATTER_LAST;
    plan->row = plan->free.sizes[last];
    plan->along_free = op->u.scatter.mode == KERN_INDEX_ELEMENTS && plan->row > 1 &&
                       (plan->picks.count < SHORT_PICKS || llabs(plan->free.strides[SCATTER_FREE_UPDATES][last]) <
                                                               llabs(plan->picks.strides[SCATTER_PICK_UPDATES][0]));
    plan->block = plan->along_free                            ? INDEX_BLOCK
                  : op->u.scatter.mode == KERN_INDEX_ELEMENTS ? 1
                                                              : ROW_BYTES / plan->bytes;
    plan->block = BASE_MIN(plan->block, plan->row);
    plan->blocks = (plan->row + plan->block - 1) / plan->block;
}

static bool ranks_fit(const struct kern_op *op)
{
    const struct kern_view *x = &op->tensors[0], *index = &op->tensors[1], *updates = &op->tensors[2];
    const struct kern_scatter *scatter = &op->u.scatter;
    uint32_t tuple = index->sizes[index->rank - 1], rank;
    switch (scatter->mode) {
    case KERN_INDEX_ELEMENTS:
        return scatter->axis < x->rank && index->rank == x->rank && updates->rank == x->rank;
    case KERN_INDEX_ND:
        rank = index->rank - 1 + x->rank - tuple;
        return tuple <= x->rank && updates->rank == BASE_MAX(rank, 1);
    case KERN_INDEX_AXIS:
        break;
    }
    return false;
}

static bool types_fit(const struct kern_op *op)
{
    DML_TENSOR_DATA_TYPE x = op->tensors[0].type, update = op->tensors[2].type, y = op->tensors[3].type;
    uint32_t bytes = kern_type_bytes(x);
    if (op->u.scatter.reduction == KERN_SCATTER_LAST)
        return bytes && bytes == kern_type_bytes(update) && bytes == kern_type_bytes(y);
    if (x == DML_TENSOR_DATA_TYPE_FLOAT32 && y == x)
        return update == x || update == DML_TENSOR_DATA_TYPE_FLOAT16 || update == ANYDML_TENSOR_DATA_TYPE_BFLOAT16;
    return bytes && x == y && x == update && x != DML_TENSOR_DATA_TYPE_FLOAT16 && x != ANYDML_TENSOR_DATA_TYPE_BFLOAT16;
}

bool kern_scatter_any_accepts(const struct kern_op *op)
{
    const struct kern_view *x = &op->tensors[0], *y = &op->tensors[3];
    return !op->epilogue && types_fit(op) && x->rank == y->rank && index_type(op->tensors[1].type) && ranks_fit(op);
}

void kern_scatter_any_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    struct scatter_plan plan;
    scatter_plan_init(&plan, op);
    uint64_t updates = plan.combine ? plan.block * plan.picks.count / plan.places.count : 0;
    *out = (struct kern_work){ .units = plan.free.count / plan.row * plan.blocks * plan.places.count,
                               .grain = dense_grain(plan.block + updates) };
}

/* ---- the reference: a copy, then one update after another ---- */

/* The coordinates in Y of the update at `at`; false when an index is out of range. */
static bool target(const struct kern_op *op, const void *indices, const uint32_t *at, uint32_t *out)
{
    const struct kern_view *index = &op->tensors[1], *y = &op->tensors[3];
    bool nd = op->u.scatter.mode == KERN_INDEX_ND;
    uint32_t first = nd ? 0 : op->u.scatter.axis, tuple = nd ? index->sizes[index->rank - 1] : 1;
    uint32_t lookup_rank = nd ? index->rank - 1 : index->rank;
    int64_t where = 0;
    for (uint32_t d = 0; d < lookup_rank; d++)
        where += at[d] * index->strides[d];
    for (uint32_t d = 0; d < y->rank; d++)
        out[d] = nd ? d < tuple ? 0 : at[lookup_rank + d - tuple] : at[d];
    for (uint32_t t = 0; t < tuple; t++) {
        int64_t offset = where + (nd ? t * index->strides[index->rank - 1] : 0);
        int64_t place = index_load(indices, offset, index->type, y->sizes[first + t]);
        if (place < 0 || place >= y->sizes[first + t])
            return false;
        out[first + t] = (uint32_t)place;
    }
    return true;
}

static struct kern_number combined(enum kern_scatter_reduction reduction, struct kern_number held,
                                   struct kern_number update)
{
    const bool none = held.class == KERN_CLASS_FLOAT && held.f != held.f; /* a number wins over NaN */
    switch (reduction) {
    case KERN_SCATTER_ADD:
        return kern_number_sum(held, update);
    case KERN_SCATTER_MULTIPLY:
        return kern_number_product(held, update);
    case KERN_SCATTER_MIN:
        return none || kern_number_less(update, held) ? update : held;
    default:
        return none || kern_number_less(held, update) ? update : held;
    }
}

static void put(const struct kern_call *call, const uint32_t *at, const uint32_t *to)
{
    const struct kern_view *u = &call->op->tensors[2], *y = &call->op->tensors[3];
    enum kern_scatter_reduction reduction = call->op->u.scatter.reduction;
    int64_t from = kern_offset(u, at), place = kern_offset(y, to);
    if (reduction == KERN_SCATTER_LAST)
        kern_copy_element(y->type, call->data[3], place, call->data[2], from);
    else
        kern_write(
            y->type, call->data[3], place,
            combined(reduction, kern_read(y->type, call->data[3], place), kern_read(u->type, call->data[2], from)));
}

void kern_scatter_any_ref_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const struct kern_view *x = &call->op->tensors[0], *u = &call->op->tensors[2], *y = &call->op->tensors[3];
    uint32_t at[KERN_RANK_MAX] = { 0 }, to[KERN_RANK_MAX];
    if (begin == end)
        return;
    do
        kern_copy_element(y->type, call->data[3], kern_offset(y, at), call->data[0], kern_offset(x, at));
    while (kern_advance(y->rank, y->sizes, at));
    do
        if (target(call->op, call->data[1], at, to))
            put(call, at, to);
    while (kern_advance(u->rank, u->sizes, at));
}
