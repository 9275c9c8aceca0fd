/* Gather by its definition, element by element. */
#include "kernels/index/gather.h"

#include "kernels/core/number.h"

/* Dimensions of Y that the mode gives; Y has one of size 1 when there are none. */
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

bool kern_gather_any_ref_accepts(const struct kern_op *op)
{
    const struct kern_view *x = &op->tensors[0], *y = &op->tensors[2];
    return !op->epilogue && kern_type_bytes(x->type) && kern_type_bytes(x->type) == kern_type_bytes(y->type) &&
           index_type(op->tensors[1].type) && ranks_fit(op);
}

void kern_gather_any_ref_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    *out = (struct kern_work){ .units = kern_view_elements(&op->tensors[2]), .grain = 1024 };
}

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
        out[axis + t] = (uint32_t)index_clamp_at(
            index->type, indices, where + (nd ? t * index->strides[index->rank - 1] : 0), x->sizes[axis + t]);
    for (uint32_t d = axis + tuple; d < x->rank; d++)
        out[d] = at[inner + d - axis - tuple];
}

void kern_gather_any_ref_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const struct kern_view *x = &call->op->tensors[0], *y = &call->op->tensors[2];
    uint32_t at[KERN_RANK_MAX], from[KERN_RANK_MAX];
    kern_unflatten(begin, y->rank, y->sizes, at);
    for (uint64_t i = begin; i < end; i++) {
        source(call->op, call->data[1], at, from);
        memcpy((void *)kern_at(call->data[2], y->type, kern_offset(y, at)),
               kern_at(call->data[0], x->type, kern_offset(x, from)), kern_type_bytes(x->type));
        kern_advance(y->rank, y->sizes, at);
    }
}
