/* Scatter by its definition: a copy, then one update after the other. */
#include "kernels/number.h"
#include "kernels/scatter.h"

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

bool kern_scatter_any_ref_accepts(const struct kern_op *op)
{
    const struct kern_view *x = &op->tensors[0], *y = &op->tensors[3];
    uint32_t bytes = kern_type_bytes(x->type);
    return !op->epilogue && bytes && bytes == kern_type_bytes(op->tensors[2].type) &&
           bytes == kern_type_bytes(y->type) && x->rank == y->rank && index_type(op->tensors[1].type) && ranks_fit(op);
}

void kern_scatter_any_ref_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    (void)op;
    (void)state;
    (void)threads;
    *out = (struct kern_work){ .units = 1, .grain = 1 };
}

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
        int64_t place = index_check_at(index->type, indices, offset, y->sizes[first + t]);
        if (place < 0)
            return false;
        out[first + t] = (uint32_t)place;
    }
    return true;
}

void kern_scatter_any_ref_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const struct kern_view *x = &call->op->tensors[0], *u = &call->op->tensors[2], *y = &call->op->tensors[3];
    const uint32_t bytes = kern_type_bytes(y->type);
    uint32_t at[KERN_RANK_MAX] = { 0 }, to[KERN_RANK_MAX];
    if (begin == end)
        return;
    do
        memcpy((void *)kern_at(call->data[3], y->type, kern_offset(y, at)),
               kern_at(call->data[0], x->type, kern_offset(x, at)), bytes);
    while (kern_advance(y->rank, y->sizes, at));
    do
        if (target(call->op, call->data[1], at, to))
            memcpy((void *)kern_at(call->data[3], y->type, kern_offset(y, to)),
                   kern_at(call->data[2], u->type, kern_offset(u, at)), bytes);
    while (kern_advance(u->rank, u->sizes, at));
}
