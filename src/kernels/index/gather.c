/* Gather for any layout. All modes are one loop nest over Y's dimensions: X and the indices are views of Y's sizes that
 * repeat where a dimension is not theirs, and each place in the nest adds what its index says. Indices are looked up a
 * block at a time; the innermost dimension is a run of elements that share one index where there is such a dimension.
 */
#include "kernels/core/dense.h"
#include "kernels/index/gather.h"
#include "kernels/core/stream.h"
#include "kernels/core/iterator.h"

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

static void lookup_init(struct index_lookup *lookup, const struct kern_op *op)
{
    const struct kern_view *x = &op->tensors[0], *index = &op->tensors[1];
    bool nd = op->u.gather.mode == KERN_INDEX_ND;
    lookup->type = index->type;
    lookup->tuple = nd ? index->sizes[index->rank - 1] : 1;
    lookup->tuple_stride = nd ? index->strides[index->rank - 1] : 0;
    for (uint32_t t = 0; t < lookup->tuple; t++) {
        lookup->sizes[t] = x->sizes[op->u.gather.axis + t];
        lookup->strides[t] = x->strides[op->u.gather.axis + t];
    }
}

/* The innermost dimension becomes the run where its elements share one index. */
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
    lookup_init(&plan->lookup, op);
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

bool kern_gather_any_accepts(const struct kern_op *op)
{
    return kern_gather_any_ref_accepts(op);
}

void kern_gather_any_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    struct gather_plan plan;
    gather_plan_init(&plan, op);
    uint64_t cost = 4 + plan.run * plan.bytes / 16 / plan.pieces;
    *out = (struct kern_work){ .units = plan.iterator.count * plan.pieces, .grain = dense_grain(cost) };
}
