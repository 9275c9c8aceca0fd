/* Sorting by merging runs of positions: stable, so that equal elements stay in the order of their positions. */
#include "kernels/core/number.h"

static bool is_position(DML_TENSOR_DATA_TYPE type)
{
    return type == DML_TENSOR_DATA_TYPE_UINT32 || type == DML_TENSOR_DATA_TYPE_UINT64;
}

bool kern_sort_any_ref_accepts(const struct kern_op *op)
{
    const struct kern_view *x = &op->tensors[0], *values = &op->tensors[1], *positions = &op->tensors[2];
    uint32_t axis = op->u.sort.axis;
    return !op->epilogue && axis < x->rank && values->rank == x->rank && positions->rank == x->rank &&
           values->type == x->type && kern_type_bytes(x->type) && is_position(positions->type) &&
           values->sizes[axis] <= x->sizes[axis] && positions->sizes[axis] == values->sizes[axis];
}

void kern_sort_any_ref_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    uint64_t length = op->tensors[0].sizes[op->u.sort.axis];
    *out = (struct kern_work){ .units = kern_view_elements(&op->tensors[0]) / length,
                               .grain = BASE_MAX(1, 1024 / length),
                               .worker_scratch_bytes = 2 * length * sizeof(uint32_t) };
}

static bool less(struct kern_number a, struct kern_number b)
{
    if (a.class == KERN_CLASS_SIGNED)
        return a.i < b.i;
    if (a.class == KERN_CLASS_UNSIGNED)
        return a.u < b.u;
    return b.f != b.f ? a.f == a.f : a.f < b.f;
}

struct line {
    const struct kern_view *x;
    const void *data; /* of the line's first element */
    int64_t stride;
    bool descending;
};

static bool before(const struct line *line, uint32_t a, uint32_t b)
{
    struct kern_number left = kern_read(line->x->type, line->data, a * line->stride);
    struct kern_number right = kern_read(line->x->type, line->data, b * line->stride);
    return line->descending ? less(right, left) : less(left, right);
}

static void merge(const struct line *line, const uint32_t *in, uint32_t *out, uint32_t left, uint32_t right,
                  uint32_t end)
{
    for (uint32_t at = left, a = left, b = right; at < end; at++) {
        bool take = a == right || (b < end && before(line, in[b], in[a]));
        out[at] = take ? in[b++] : in[a++];
    }
}

/* Returns the positions in order. */
static const uint32_t *sort_line(const struct line *line, uint32_t length, uint32_t *positions, uint32_t *spare)
{
    for (uint32_t i = 0; i < length; i++)
        positions[i] = i;
    for (uint64_t run = 1; run < length; run *= 2) {
        for (uint64_t left = 0; left < length; left += 2 * run)
            merge(line, positions, spare, (uint32_t)left, (uint32_t)BASE_MIN(left + run, length),
                  (uint32_t)BASE_MIN(left + 2 * run, length));
        uint32_t *swapped = positions;
        positions = spare;
        spare = swapped;
    }
    return positions;
}

void kern_sort_any_ref_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const struct kern_sort *sort = &call->op->u.sort;
    const struct kern_view *x = &call->op->tensors[0], *values = &call->op->tensors[1],
                           *positions = &call->op->tensors[2];
    uint32_t outer[KERN_RANK_MAX], inner[KERN_RANK_MAX], index[KERN_RANK_MAX], length = x->sizes[sort->axis];
    kern_split_sizes(x, UINT32_C(1) << sort->axis, outer, inner);
    for (uint64_t i = begin; i < end; i++) {
        kern_unflatten(i, x->rank, outer, index);
        struct line line = { x, kern_at(call->data[0], x->type, kern_offset(x, index)), x->strides[sort->axis],
                             sort->descending };
        const uint32_t *order =
            sort_line(&line, length, call->worker_scratch, (uint32_t *)call->worker_scratch + length);
        for (uint32_t k = 0; k < values->sizes[sort->axis]; k++) {
            int64_t value = kern_offset(values, index) + k * values->strides[sort->axis];
            int64_t position = kern_offset(positions, index) + k * positions->strides[sort->axis];
            /* The element's own bits: NaNs and -0 stay what they are. */
            memcpy((void *)kern_at(call->data[1], x->type, value), kern_at(line.data, x->type, order[k] * line.stride),
                   kern_type_bytes(x->type));
            kern_write(positions->type, call->data[2], position,
                       (struct kern_number){ .class = KERN_CLASS_UNSIGNED, .u = order[k] });
        }
    }
}
