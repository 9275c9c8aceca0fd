/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of a SORT op. The reference: merging runs of positions, which is stable, so that equal elements stay in the
 * order of their positions. */
#include "kernels/core/iterator.h"
#include "kernels/core/number.h"
#include "kernels/sort/sort.h"

/* Few lines get scratch memory each; of many, each worker's lines share the worker's. */
#define FEW_LINES 4

enum { LINE_VALUES, LINE_X, LINE_POSITIONS };

bool kern_sort_any_accepts(const struct kern_op *op)
{
    const struct kern_view *x = &op->tensors[0], *values = &op->tensors[1], *positions = &op->tensors[2];
    uint32_t axis = op->u.sort.axis;
    return !op->epilogue && axis < x->rank && values->rank == x->rank && positions->rank == x->rank &&
           values->type == x->type && kern_type_bytes(x->type) &&
           (positions->type == DML_TENSOR_DATA_TYPE_UINT32 || positions->type == DML_TENSOR_DATA_TYPE_UINT64) &&
           values->sizes[axis] <= x->sizes[axis] && positions->sizes[axis] == values->sizes[axis];
}

static uint64_t line_bytes(const struct kern_op *op)
{
    uint32_t length = op->tensors[0].sizes[op->u.sort.axis], k = op->tensors[1].sizes[op->u.sort.axis];
    bool wide = kern_type_bytes(op->tensors[0].type) == 8;
    return base_align_up(wide ? kern_sort_wide_bytes(length, k) : kern_sort_narrow_bytes(length, k), 64);
}

void kern_sort_any_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    uint32_t length = op->tensors[0].sizes[op->u.sort.axis];
    uint64_t lines = kern_view_elements(&op->tensors[0]) / length;
    *out = (struct kern_work){ .units = lines, .grain = BASE_MAX(1, 8192 / length) };
    if (lines <= FEW_LINES)
        out->scratch_bytes = lines * line_bytes(op);
    else
        out->worker_scratch_bytes = line_bytes(op);
}

static struct kern_sort_code make_code(DML_TENSOR_DATA_TYPE type, bool descending)
{
    struct kern_sort_code code = { .bytes = kern_type_bytes(type) };
    enum kern_class class = kern_type_class(type);
    code.is_float = class == KERN_CLASS_FLOAT;
    code.mask = UINT64_MAX >> (64 - 8 * code.bytes);
    code.sign = UINT64_C(1) << (8 * code.bytes - 1);
    code.infinity = type == ANYDML_TENSOR_DATA_TYPE_BFLOAT16 ? UINT64_C(0x7f80)
                    : code.bytes == 2                        ? UINT64_C(0x7c00)
                    : code.bytes == 4                        ? UINT64_C(0x7f800000)
                                                             : UINT64_C(0x7ff0000000000000);
    code.flip = (descending ? code.mask : 0) ^ (class == KERN_CLASS_SIGNED ? code.sign : 0);
    return code;
}

void kern_sort_run(const struct kern_call *call, const struct kern_sort_isa *isa, uint64_t begin, uint64_t end)
{
    const struct kern_op *op = call->op;
    const struct kern_view *x = &op->tensors[0], *values = &op->tensors[1], *positions = &op->tensors[2];
    const uint32_t tensors[] = { 1, 0, 2 }, axis = op->u.sort.axis;
    const struct kern_sort_code code = make_code(x->type, op->u.sort.descending);
    struct kern_iterator lines;
    struct kern_sort_line line = { .isa = isa,
                                   .code = &code,
                                   .x_stride = x->strides[axis],
                                   .value_stride = values->strides[axis],
                                   .position_stride = positions->strides[axis],
                                   .position_bytes = kern_type_bytes(positions->type),
                                   .length = x->sizes[axis],
                                   .k = values->sizes[axis],
                                   .scratch = call->worker_scratch };
    kern_iterator_init(&lines, op, tensors, 3, ~(UINT32_C(1) << axis), 0);
    for (uint64_t i = begin; i < end; i++) {
        line.x = (const char *)call->data[0] + kern_iterator_offset(&lines, LINE_X, i) * code.bytes;
        line.values = (char *)call->data[1] + kern_iterator_offset(&lines, LINE_VALUES, i) * code.bytes;
        line.positions = (char *)call->data[2] + kern_iterator_offset(&lines, LINE_POSITIONS, i) * line.position_bytes;
        if (lines.count <= FEW_LINES)
            line.scratch = (char *)call->scratch + i * line_bytes(op);
        if (code.bytes == 8)
            kern_sort_wide_line(&line);
        else
            kern_sort_narrow_line(&line);
    }
}

/* ---- the reference ---- */

void kern_sort_any_ref_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    uint64_t length = op->tensors[0].sizes[op->u.sort.axis];
    *out = (struct kern_work){ .units = kern_view_elements(&op->tensors[0]) / length,
                               .grain = BASE_MAX(1, 1024 / length),
                               .worker_scratch_bytes = 2 * length * sizeof(uint32_t) };
}

static bool less(struct kern_number a, struct kern_number b)
{
    return a.class == KERN_CLASS_FLOAT && b.f != b.f ? a.f == a.f : kern_number_less(a, b);
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
            /* The element's own bits: NaNs and -0 are preserved. */
            kern_copy_element(x->type, call->data[1], value, line.data, order[k] * line.stride);
            kern_write(positions->type, call->data[2], position, kern_from_integer(order[k]));
        }
    }
}
