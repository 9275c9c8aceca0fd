/* Gather: rows of Y are copied one by one; the slice number of each is looked up, negative counts from the end, and
 * what is out of range is clamped so that nothing outside X is ever read. */
#include "kernels/dense.h"

static bool index_type(DML_TENSOR_DATA_TYPE type)
{
    return type == DML_TENSOR_DATA_TYPE_INT32 || type == DML_TENSOR_DATA_TYPE_UINT32 ||
           type == DML_TENSOR_DATA_TYPE_INT64 || type == DML_TENSOR_DATA_TYPE_UINT64;
}

bool kern_gather_any_ref_accepts(const struct kern_op *op)
{
    const struct kern_view *x = &op->tensors[0], *index = &op->tensors[1], *y = &op->tensors[2];
    const struct kern_gather *gather = &op->u.gather;
    if (op->epilogue || gather->axis >= x->rank || gather->index_rank > index->rank)
        return false;
    uint32_t rank = x->rank - 1 + gather->index_rank;
    return y->rank == BASE_MAX(rank, 1) && kern_type_bytes(x->type) &&
           kern_type_bytes(x->type) == kern_type_bytes(y->type) && index_type(index->type);
}

void kern_gather_any_ref_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    (void)state;
    (void)threads;
    const struct kern_view *y = &op->tensors[2];
    *out = (struct kern_work){ .units = dense_rows(y), .grain = dense_grain(32 + y->sizes[y->rank - 1]) };
}

static int64_t clamp_signed(int64_t index, int64_t size)
{
    if (index < 0)
        index += size;
    return index < 0 ? 0 : index < size ? index : size - 1;
}

static int64_t load_index(const void *data, int64_t at, DML_TENSOR_DATA_TYPE type, int64_t size)
{
    switch (type) {
    case DML_TENSOR_DATA_TYPE_INT32:
        return clamp_signed(((const int32_t *)data)[at], size);
    case DML_TENSOR_DATA_TYPE_INT64:
        return clamp_signed(((const int64_t *)data)[at], size);
    case DML_TENSOR_DATA_TYPE_UINT32:
        return BASE_MIN((int64_t)((const uint32_t *)data)[at], size - 1);
    default:
        return (int64_t)BASE_MIN(((const uint64_t *)data)[at], (uint64_t)size - 1);
    }
}

static void copy_strided(char *to, int64_t to_step, const char *from, int64_t from_step, uint32_t count, uint32_t bytes)
{
    if (to_step == 1 && from_step == 1) {
        memcpy(to, from, (size_t)count * bytes);
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        memcpy(to + i * to_step * bytes, from + i * from_step * bytes, bytes);
}

void kern_gather_any_ref_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const struct kern_view *x = &call->op->tensors[0], *index = &call->op->tensors[1], *y = &call->op->tensors[2];
    uint32_t axis = call->op->u.gather.axis, indices = call->op->u.gather.index_rank;
    uint32_t inner = x->rank - axis - 1, bytes = kern_type_bytes(x->type), last = y->rank - 1;
    struct kern_view lookup = *index; /* its last index_rank dimensions */
    lookup.rank = indices;
    memmove(lookup.sizes, index->sizes + index->rank - indices, indices * sizeof(*lookup.sizes));
    memmove(lookup.strides, index->strides + index->rank - indices, indices * sizeof(*lookup.strides));
    for (uint64_t row = begin; row < end; row++) {
        uint32_t at[KERN_RANK_MAX];
        dense_row_at(y, row, at);
        const char *from = (const char *)call->data[0] + dense_offset(x, at, axis) * bytes;
        char *to = (char *)call->data[2] + dense_offset(y, at, last) * bytes;
        for (uint32_t d = 0; d + 1 < inner; d++)
            from += (int64_t)at[axis + indices + d] * x->strides[axis + 1 + d] * bytes;
        /* Without inner dimensions every element of the row has its own slice, otherwise one serves the whole row. A
         * scalar index without inner dimensions leaves a row along X's dimension before the axis. */
        uint32_t lookups = inner ? 1 : y->sizes[last], length = inner ? y->sizes[last] : 1;
        int64_t from_step = !inner && !indices && axis ? x->strides[axis - 1] * bytes : 0;
        for (uint32_t i = 0; i < lookups; i++) {
            if (!inner && indices)
                at[last] = i;
            int64_t where = dense_offset(&lookup, at + axis, indices);
            int64_t slice = load_index(call->data[1], where, index->type, x->sizes[axis]);
            copy_strided(to + i * y->strides[last] * bytes, y->strides[last],
                         from + i * from_step + slice * x->strides[axis] * bytes, inner ? x->strides[x->rank - 1] : 0,
                         length, bytes);
        }
    }
}
