/* Scatter for any layout. Dimensions are of three sorts: `free` ones, which Y and the updates share (all but the axis,
 * or what follows the tuple), `places`, which indices point into, and `picks`, along which the indices are listed.
 *
 * A unit of work is one place of one block of free elements. Whoever gets a range of units owns that part of Y: it
 * copies the part from X, then goes through all picks in order and takes those that lead into the part. So threads
 * never meet, and of several updates of one element the last wins, or they are combined in their order. */
#include "kernels/core/dense.h"
#include "kernels/index/scatter.h"
#include "kernels/core/iterator.h"

enum { ROW_BYTES = 1 << 16, SHORT_PICKS = 64 };

/* Dimensions [from, from + count) of a view, or one of size 1. */
static struct kern_view cut(const struct kern_view *view, uint32_t from, uint32_t count)
{
    struct kern_view out = { .type = view->type, .rank = BASE_MAX(count, 1), .sizes = { 1 } };
    memcpy(out.sizes, view->sizes + from, count * sizeof(*out.sizes));
    memcpy(out.strides, view->strides + from, count * sizeof(*out.strides));
    return out;
}

static void lookup_init(struct index_lookup *lookup, const struct kern_op *op)
{
    const struct kern_view *index = &op->tensors[1], *y = &op->tensors[3];
    bool nd = op->u.scatter.mode == KERN_INDEX_ND;
    uint32_t first = nd ? 0 : op->u.scatter.axis;
    lookup->type = index->type;
    lookup->tuple = nd ? index->sizes[index->rank - 1] : 1;
    lookup->tuple_stride = nd ? index->strides[index->rank - 1] : 0;
    for (uint32_t t = 0; t < lookup->tuple; t++) {
        lookup->sizes[t] = y->sizes[first + t];
        lookup->strides[t] = y->strides[first + t];
    }
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
    lookup_init(&plan->lookup, op);
    iterators_init(plan, op);
    uint32_t last = plan->free.rank - 1;
    plan->bytes = kern_type_bytes(op->tensors[3].type);
    plan->update_bytes = kern_type_bytes(op->tensors[2].type);
    plan->combine = op->u.scatter.reduction != KERN_SCATTER_LAST;
    plan->row = plan->free.sizes[last];
    plan->along_free =
        op->u.scatter.mode == KERN_INDEX_ELEMENTS && plan->row > 1 &&
        (plan->picks.count < SHORT_PICKS || scatter_magnitude(plan->free.strides[SCATTER_FREE_UPDATES][last]) <
                                                scatter_magnitude(plan->picks.strides[SCATTER_PICK_UPDATES][0]));
    plan->block = plan->along_free                            ? INDEX_BLOCK
                  : op->u.scatter.mode == KERN_INDEX_ELEMENTS ? 1
                                                              : ROW_BYTES / plan->bytes;
    plan->block = BASE_MIN(plan->block, plan->row);
    plan->blocks = (plan->row + plan->block - 1) / plan->block;
}

bool kern_scatter_any_accepts(const struct kern_op *op)
{
    return kern_scatter_any_ref_accepts(op);
}

void kern_scatter_any_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    struct scatter_plan plan;
    scatter_plan_init(&plan, op);
    uint64_t updates = plan.combine ? plan.block * plan.picks.count / plan.places.count : 0;
    *out = (struct kern_work){ .units = plan.free.count / plan.row * plan.blocks * plan.places.count,
                               .grain = dense_grain(plan.block + updates) };
}
