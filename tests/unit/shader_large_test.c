/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that index arrays, and metacommands, are not selected for tensors beyond 4 GiB (shaders/shader.c): a driver
 * that multiplies an index in 32 bits would write over the tensor's beginning. */
#include "shaders/shader.h"

#include "test.h"

#include <string.h>

static struct kern_view dense(DML_TENSOR_DATA_TYPE type, uint32_t rank, const uint32_t *sizes)
{
    struct kern_view view = { .type = type, .rank = rank };
    int64_t stride = 1;
    for (uint32_t d = rank; d-- > 0; stride *= sizes[d]) {
        view.sizes[d] = sizes[d];
        view.strides[d] = stride;
    }
    return view;
}

static const char *found(const struct kern_op *op)
{
    struct shader_work work;
    const char *reason = NULL;
    return shader_find(op, UINT32_MAX, &work, &reason) ? work.row->name : reason;
}

/* M x K by K x N. */
static const char *gemm(DML_TENSOR_DATA_TYPE type, uint32_t m, uint32_t k, uint32_t n)
{
    struct kern_op op = { .kind = KERN_GEMM, .input_count = 2, .output_count = 1 };
    op.u.gemm = (struct kern_gemm){ .alpha = 1 };
    op.tensors[0] = dense(type, 2, (uint32_t[]){ m, k });
    op.tensors[1] = dense(type, 2, (uint32_t[]){ k, n });
    op.tensors[2] = dense(type, 2, (uint32_t[]){ m, n });
    return found(&op);
}

int main(void)
{
    static const DML_TENSOR_DATA_TYPE types[] = { DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_DATA_TYPE_FLOAT16 };
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t n = 16384 << i; /* 65536 rows of 64 KiB */
        TEST(!strcmp(gemm(types[i], 65537, 16, n), "gemm_any"));
        TEST(!strcmp(gemm(types[i], 16, 65537, n), "gemm_any"));
        TEST(strcmp(gemm(types[i], 65535, 16, n), "gemm_any") != 0);
        TEST(strcmp(gemm(types[i], 16, 65535, n), "gemm_any") != 0);
    }
    return test_result();
}
