/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic sequences. Integers wrap; floating-point elements are computed in FLOAT64 and rounded once. */
#include "kernels/core/dense.h"
#include "kernels/core/number.h"

bool kern_sequence_any_accepts(const struct kern_op *op)
{
    return !op->epilogue && kern_type_bytes(op->tensors[0].type);
}

void kern_sequence_any_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
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
