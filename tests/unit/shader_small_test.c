/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that take a device as long as waiting for its memory once: by one dispatch of enough workgroups. */
#include "shaders/shader.h"

#include "kernels/core/kernel.h"
#include "test.h"

#include <string.h>

#define F16 DML_TENSOR_DATA_TYPE_FLOAT16

static void pack(struct kern_view *view, uint32_t rank, const uint32_t *sizes)
{
    kern_view_set_packed(view, F16, rank, sizes);
}

/* [N, C, H, W] with channels innermost. */
static void pack_image(struct kern_view *view, uint32_t channels, uint32_t side)
{
    pack(view, 4, (uint32_t[]){ 1, channels, side, side });
    view->strides[1] = 1;
    view->strides[2] = (int64_t)channels * side;
    view->strides[3] = channels;
}

/* One dispatch of this kernel, of at least this many workgroups. */
static void expect(const struct kern_op *op, const char *kernel, uint32_t groups)
{
    struct shader_work work;
    const char *reason = "";
    const bool found = shader_find(op, UINT32_MAX, &work, &reason);
    TEST_FOR(found && !strcmp(work.row->name, kernel) && work.dispatch_count == 1 &&
                 work.dispatches[0].groups[0] >= groups,
             "%s: %s", kernel, found ? work.row->name : reason);
    if (found)
        TEST_FOR(work.dispatches[0].groups[0] >= groups, "%s: %u workgroups", kernel, work.dispatches[0].groups[0]);
}

static void test_gemm(uint32_t k, uint32_t n, bool transposed, const char *kernel, uint32_t groups)
{
    struct kern_op op = { .kind = KERN_GEMM, .input_count = 2, .output_count = 1 };
    op.u.gemm = (struct kern_gemm){ .alpha = 1 };
    pack(&op.tensors[0], 2, (uint32_t[]){ 1, k });
    pack(&op.tensors[1], 2, (uint32_t[]){ k, n });
    pack(&op.tensors[2], 2, (uint32_t[]){ 1, n });
    if (transposed) {
        op.tensors[1].strides[0] = 1;
        op.tensors[1].strides[1] = k;
    }
    expect(&op, kernel, groups);
}

static void test_conv(uint32_t in, uint32_t out, uint32_t groups, uint32_t side, uint32_t kernel, const char *name,
                      uint32_t workgroups)
{
    struct kern_op op = { .kind = KERN_CONV, .input_count = 2, .output_count = 1 };
    op.u.conv = (struct kern_conv){ .spatial = 2, .groups = groups };
    for (uint32_t d = 0; d < 2; d++) {
        op.u.conv.strides[d] = op.u.conv.dilations[d] = 1;
        op.u.conv.pad_start[d] = kernel / 2;
    }
    pack_image(&op.tensors[0], in, side);
    pack(&op.tensors[1], 4, (uint32_t[]){ out, in / groups, kernel, kernel });
    if (groups == in) { /* channels innermost, too */
        op.tensors[1].strides[0] = 1;
        op.tensors[1].strides[2] = (int64_t)out * kernel;
        op.tensors[1].strides[3] = out;
    }
    pack_image(&op.tensors[2], out, side);
    expect(&op, name, workgroups);
}

static void test_mean(uint32_t channels, uint32_t side, const char *kernel, uint32_t groups)
{
    struct kern_op op = { .kind = KERN_REDUCE, .input_count = 1, .output_count = 1 };
    op.u.reduce = (struct kern_reduce){ DML_REDUCE_FUNCTION_AVERAGE, 12, false, false };
    pack_image(&op.tensors[0], channels, side);
    pack_image(&op.tensors[1], channels, 1);
    expect(&op, kernel, groups);
}

int main(void)
{
    for (uint32_t transposed = 0; transposed < 2; transposed++) {
        test_gemm(768, 1000, transposed, "gemm_line", 100);
        test_gemm(1024, 1000, transposed, "gemm_line", 100);
        test_gemm(2048, 1000, transposed, "gemm_line_wide", 60);
    }
    test_conv(1152, 48, 1, 1, 1, "conv_gemm_line", 16);
    test_conv(48, 1152, 1, 1, 1, "conv_gemm_line", 32);
    test_conv(4, 96, 1, 1, 1, "conv_gemm_line", 1);
    test_conv(64, 256, 1, 2, 1, "conv_gemm_line", 8);
    test_mean(96, 56, "reduce_line_columns_wide", 6);
    test_mean(1152, 7, "reduce_line_columns", 16);
    test_mean(96, 7, "reduce_line_columns", 2);
    test_conv(768, 768, 768, 7, 7, "conv_depth", 500);
    test_conv(480, 480, 480, 14, 5, "conv_depth", 500);
    return test_result();
}
