/* SPDX-License-Identifier: Apache-2.0 */
/* Which row runs a reduction depends on its types, and on no size: the largest tensors that there are, and those whose
 * number of elements is a prime, have the row and the cut that a size beside them has. Nothing runs. */
#include "base/cpu.h"
#include "kernels/core/kernel.h"

#include "test.h"

/* One group of that many contiguous elements. */
static void reduction_make(struct kern_op *op, enum kern_kind kind, DML_TENSOR_DATA_TYPE type, uint32_t elements)
{
    const bool reduces = kind == KERN_REDUCE || kind == KERN_MOMENTS;
    *op =
        (struct kern_op){ .kind = kind, .input_count = 1, .output_count = kind == KERN_MOMENTS ? 2 : 1, .threads = 4 };
    kern_view_set_packed(&op->tensors[0], type, 2, (const uint32_t[]){ 1, elements });
    for (uint32_t t = 1; t < 3; t++)
        kern_view_set_packed(&op->tensors[t], type, 2, (const uint32_t[]){ 1, reduces ? 1 : elements });
    if (kind == KERN_MOMENTS)
        op->u.moments.axes = 2;
    else if (kind == KERN_SOFTMAX)
        op->u.softmax = (struct kern_softmax){ KERN_SOFTMAX_PLAIN, 2 };
    else if (kind == KERN_NORM)
        op->u.norm = (struct kern_norm){ .axes = 2, .epsilon = 1, .use_mean = true, .use_variance = true };
    else if (kind == KERN_LP_NORM)
        op->u.lp_norm = (struct kern_lp_norm){ .axis = 1, .p = 2 };
}

static void check_sizes(const struct kern_op *like, enum kern_kind kind, DML_TENSOR_DATA_TYPE type, uint32_t cpu)
{
    /* With the one that is compared: beside the largest tensor, beside two primes. */
    static const uint32_t sizes[][2] = { { UINT32_MAX, UINT32_MAX - 131070 },
                                         { 2147483647, 2147483648u },
                                         { 16777213, 16777216 } };
    for (uint32_t i = 0; i < ARRAY_SIZE(sizes); i++) {
        const struct kern_row *rows[2];
        struct kern_work works[2] = { { 0 }, { 0 } };
        for (uint32_t j = 0; j < 2; j++) {
            struct kern_op op;
            reduction_make(&op, kind, type, sizes[i][j]);
            if (kind == KERN_REDUCE)
                op.u = like->u;
            rows[j] = kern_find(&op, cpu);
            if (rows[j])
                rows[j]->plan(&op, op.threads, &works[j]);
        }
        TEST_FOR(rows[0] == rows[1], "kind %d, type %d, %u elements: %s, but with %u %s", (int)kind, (int)type,
                 sizes[i][0], rows[0] ? rows[0]->name : "none", sizes[i][1], rows[1] ? rows[1]->name : "none");
        TEST_FOR(works[0].units == works[1].units && works[0].grain == works[1].grain, "kind %d, type %d, %u elements",
                 (int)kind, (int)type, sizes[i][0]);
    }
}

int main(void)
{
    static const DML_TENSOR_DATA_TYPE types[] = {
        DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_DATA_TYPE_FLOAT16, DML_TENSOR_DATA_TYPE_FLOAT64,
        DML_TENSOR_DATA_TYPE_INT8,    DML_TENSOR_DATA_TYPE_UINT8,   DML_TENSOR_DATA_TYPE_INT32,
        DML_TENSOR_DATA_TYPE_UINT64,
    };
    static const enum kern_kind others[] = { KERN_MOMENTS, KERN_SOFTMAX, KERN_NORM, KERN_LP_NORM };
    const uint32_t cpus[] = { BASE_CPU_NONE, base_cpu_flags() };
    for (uint32_t c = 0; c < ARRAY_SIZE(cpus); c++)
        for (uint32_t t = 0; t < ARRAY_SIZE(types); t++) {
            struct kern_op like = { 0 };
            for (uint32_t f = 0; f <= DML_REDUCE_FUNCTION_SUM_SQUARE; f++) {
                like.u.reduce = (struct kern_reduce){ (DML_REDUCE_FUNCTION)f, 2, false, false };
                check_sizes(&like, KERN_REDUCE, types[t], cpus[c]);
            }
            for (uint32_t k = 0; k < ARRAY_SIZE(others); k++)
                check_sizes(&like, others[k], types[t], cpus[c]);
        }
    return test_result();
}
