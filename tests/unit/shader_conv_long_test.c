/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions whose windows are larger than their results: gradients of weights, and no patches. */
#include "shaders/shader.h"

#include "kernels/core/kernel.h"
#include "test.h"

#include <string.h>

/* Square images, windows and results; of 64 images with 32 channels, 16 output channels. */
static void test_conv(DML_TENSOR_DATA_TYPE type, uint32_t side, uint32_t window, uint32_t stride, uint32_t result,
                      bool expected)
{
    struct kern_op op = { .kind = KERN_CONV, .input_count = 2, .output_count = 1 };
    struct shader_work work;
    const char *reason = "";
    op.u.conv = (struct kern_conv){ .spatial = 2, .groups = 1 };
    for (uint32_t d = 0; d < 2; d++) {
        op.u.conv.strides[d] = stride;
        op.u.conv.dilations[d] = 1;
        op.u.conv.pad_start[d] = ((result - 1) * stride + window - side) / 2;
    }
    kern_view_set_packed(&op.tensors[0], type, 4, (uint32_t[]){ 64, 32, side, side });
    kern_view_set_packed(&op.tensors[1], type, 4, (uint32_t[]){ 16, 32, window, window });
    kern_view_set_packed(&op.tensors[2], type, 4, (uint32_t[]){ 64, 16, result, result });
    const bool found = shader_find(&op, UINT32_MAX, &work, &reason);
    TEST_FOR(found && !strcmp(work.row->name, "conv_block") == expected, "window %u, stride %u, result %u: %s", window,
             stride, result, found ? work.row->name : reason);
}

int main(void)
{
    const DML_TENSOR_DATA_TYPE types[] = { DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_DATA_TYPE_FLOAT16 };
    for (uint32_t i = 0; i < 2; i++) {
        test_conv(types[i], 28, 28, 1, 3, true);
        test_conv(types[i], 28, 28, 1, 1, true);
        test_conv(types[i], 28, 14, 2, 9, true);
        test_conv(types[i], 224, 16, 16, 14, false);
        test_conv(types[i], 28, 3, 1, 28, false);
    }
    return test_result();
}
