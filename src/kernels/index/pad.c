/* SPDX-License-Identifier: Apache-2.0 */
/* Padding, arithmetic sequences, and appending rows to caches. */
#include "kernels/core/dense.h"
#include "kernels/core/number.h"

bool kern_pad_any_accepts(const struct kern_op *op)
{
    return op->tensors[0].rank == op->tensors[1].rank && op->tensors[0].type == op->tensors[1].type;
}

void kern_pad_any_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    const struct kern_view *y = &op->tensors[1];
    uint64_t length = y->sizes[y->rank - 1];
    uint64_t rows = kern_view_elements(y) / length;
    *out = (struct kern_work){ .units = rows, .grain = BASE_MAX(1, 16384 / length) };
    if (!kern_type_bytes(y->type))
        out->grain = rows; /* neighbours share bytes */
}

/* The reference, element by element: the source of position `at` of a line of `size` elements, negative before them;
 * -1: the constant. One mirror or one period at a time. */
static int64_t source_of(DML_PADDING_MODE mode, int64_t at, int64_t size)
{
    while (at < 0 || at >= size) {
        switch (mode) {
        case DML_PADDING_MODE_EDGE:
            at = at < 0 ? 0 : size - 1;
            break;
        case DML_PADDING_MODE_REFLECTION: /* the outermost element is the mirror */
            at = size == 1 ? 0 : at < 0 ? -at : 2 * (size - 1) - at;
            break;
        case DML_PADDING_MODE_SYMMETRIC: /* the mirror is after it */
            at = at < 0 ? -1 - at : 2 * size - 1 - at;
            break;
        case DML_PADDING_MODE_WRAP:
            at += at < 0 ? size : -size;
            break;
        default:
            return -1;
        }
    }
    return at;
}

/* The offset in X of Y's element at `index`; false, and 0: the constant. */
static bool find(const struct kern_op *op, const uint32_t *index, int64_t *out_offset)
{
    const struct kern_pad *pad = &op->u.pad;
    const struct kern_view *x = &op->tensors[0];
    *out_offset = 0;
    for (uint32_t d = 0; d < x->rank; d++) {
        const int64_t at = (int64_t)index[d] - pad->start[d], step = (int64_t)pad->gap[d] + 1;
        const int64_t from = at % step ? -1 : source_of(pad->mode, at / step, x->sizes[d]);
        if (from < 0) {
            *out_offset = 0;
            return false;
        }
        *out_offset += from * x->strides[d];
    }
    return true;
}

static void pad_element(const struct kern_call *call, const uint32_t *index)
{
    const struct kern_view *y = &call->op->tensors[1];
    int64_t offset;
    const void *from = find(call->op, index, &offset) ? call->data[0] : &call->op->u.pad.value;
    kern_copy_element(y->type, call->data[1], kern_offset(y, index), from, offset);
}

void kern_pad_any_ref_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const uint64_t length = call->op->tensors[1].sizes[call->op->tensors[1].rank - 1];
    kern_each_element(call, 1, begin * length, end * length, pad_element);
}

/* ---- APPEND: row l of x becomes row length + l of y, which is known at execution only, if y has one ---- */

bool kern_append_any_accepts(const struct kern_op *op)
{
    const struct kern_view *x = &op->tensors[0], *lengths = &op->tensors[1], *y = &op->tensors[2];
    return op->input_count == 2 && x->rank == 4 && y->rank == 4 && lengths->rank == 1 && x->type == y->type &&
           kern_type_bytes(x->type) && x->sizes[0] == y->sizes[0] && x->sizes[1] == y->sizes[1] &&
           x->sizes[3] == y->sizes[3] && lengths->sizes[0] == y->sizes[0] &&
           (lengths->type == DML_TENSOR_DATA_TYPE_INT32 || lengths->type == DML_TENSOR_DATA_TYPE_UINT32);
}

void kern_append_any_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    *out = (struct kern_work){ .units = dense_rows(&op->tensors[0]), .grain = dense_grain(op->tensors[0].sizes[3]) };
}

/* The reference; a negative length counts as 0. */
static void append_element(const struct kern_call *call, const uint32_t *index)
{
    const struct kern_view *x = &call->op->tensors[0], *lengths = &call->op->tensors[1], *y = &call->op->tensors[2];
    const double length = kern_read_double(lengths->type, call->data[1], index[0] * lengths->strides[0]);
    const double row = (length < 0 ? 0 : length) + index[2];
    const uint32_t to[] = { index[0], index[1], (uint32_t)row, index[3] };
    if (row < y->sizes[2])
        kern_copy_element(y->type, call->data[2], kern_offset(y, to), call->data[0], kern_offset(x, index));
}

void kern_append_any_ref_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const uint64_t length = call->op->tensors[0].sizes[3];
    kern_each_element(call, 0, begin * length, end * length, append_element);
}

/* ---- SEQUENCE: integers wrap; floating-point elements are computed in FLOAT64 and rounded once ---- */

bool kern_sequence_any_accepts(const struct kern_op *op)
{
    return !op->epilogue && kern_type_bytes(op->tensors[0].type);
}

void kern_sequence_any_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    *out = (struct kern_work){ .units = kern_view_elements(&op->tensors[0]), .grain = 32768 };
}

/* The definition. */
void kern_sequence_any_ref_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const struct kern_sequence *sequence = &call->op->u.sequence;
    const struct kern_view *y = &call->op->tensors[0];
    uint32_t at[KERN_RANK_MAX];
    kern_unflatten(begin, y->rank, y->sizes, at);
    for (uint64_t k = begin; k < end; k++) {
        struct kern_number number = { .class = KERN_CLASS_UNSIGNED };
        if (kern_type_class(y->type) == KERN_CLASS_FLOAT)
            number = kern_from_double(sequence->start.f64 + (double)k * sequence->delta.f64);
        else
            number.u = sequence->start.u64 + k * sequence->delta.u64;
        kern_write(y->type, call->data[0], kern_offset(y, at), number);
        kern_advance(y->rank, y->sizes, at);
    }
}
