/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "kernels/core/number.h"

void check_gen_sequence(struct check_rng *rng, struct check_case *out)
{
    struct kern_op *op = &out->op;
    uint32_t sizes[KERN_RANK_MAX], rank = check_sizes(rng, KERN_RANK_MAX, 5000, sizes);
    DML_TENSOR_DATA_TYPE type = check_any_type(rng);
    if (!kern_type_bytes(type))
        type = DML_TENSOR_DATA_TYPE_FLOAT16;
    op->kind = KERN_SEQUENCE;
    op->output_count = 1;
    check_view(rng, &op->tensors[0], type, rank, sizes);
    op->u.sequence.start.u64 = check_next(rng);
    op->u.sequence.delta.u64 = check_next(rng);
    if (kern_type_class(type) == KERN_CLASS_FLOAT) {
        op->u.sequence.start.f64 = check_uniform(rng, -100, 100);
        op->u.sequence.delta.f64 = check_uniform(rng, -10, 10);
    }
}
