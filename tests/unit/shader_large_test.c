/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that index arrays, and metacommands, are not selected for tensors beyond 4 GiB (shaders/shader.c): a driver
 * that multiplies an index in 32 bits would write over the tensor's beginning. */
#include "shaders/shader.h"

#include "test.h"

#include <string.h>

static struct kern_view dense(uint32_t rows, uint32_t columns)
{
    return (struct kern_view){
        .type = DML_TENSOR_DATA_TYPE_FLOAT32, .rank = 2, .sizes = { rows, columns }, .strides = { columns, 1 }
    };
}

static const char *found(const struct kern_op *op)
{
    struct shader_work work;
    const char *reason = NULL;
    return shader_find(op, UINT32_MAX, &work, &reason) ? work.row->name : reason;
}

/* M x K by K x N. */
static const char *gemm(uint32_t m, uint32_t k, uint32_t n)
{
    struct kern_op op = { .kind = KERN_GEMM, .input_count = 2, .output_count = 1 };
    op.u.gemm = (struct kern_gemm){ .alpha = 1 };
    op.tensors[0] = dense(m, k);
    op.tensors[1] = dense(k, n);
    op.tensors[2] = dense(m, n);
    return found(&op);
}

int main(void)
{
    /* Rows of 64 KiB. */
    TEST(!strcmp(gemm(65537, 16, 16384), "gemm_any"));
    TEST(!strcmp(gemm(16, 65537, 16384), "gemm_any"));
    TEST(strcmp(gemm(65535, 16, 16384), "gemm_any") != 0);
    TEST(strcmp(gemm(16, 65535, 16384), "gemm_any") != 0);
    return test_result();
}
