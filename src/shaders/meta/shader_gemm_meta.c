/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products by metacommands. */
#include "shaders/meta/gemm_meta_params.h"
#include "shaders/meta/shader_meta.h"
#include "shaders/core/shader_block.h"

const char *shader_gemm_meta_plain_obstacle(const struct kern_op *op)
{
    const struct kern_gemm *gemm = &op->u.gemm;
    const struct kern_view *y = &op->tensors[op->input_count];
    const char *obstacle = shader_size_obstacle(op);
    if (obstacle)
        return obstacle;
    if (gemm->integer || (gemm->has_c && gemm->beta != 0) || op->tensors[0].type != DML_TENSOR_DATA_TYPE_FLOAT16 ||
        op->tensors[1].type != DML_TENSOR_DATA_TYPE_FLOAT16 || y->type != DML_TENSOR_DATA_TYPE_FLOAT16)
        return "there is no metacommand for it in these types";
    for (uint32_t d = 0; d + 2 < y->rank; d++)
        if (y->sizes[d] > 1)
            return "there is no metacommand for batches";
    return shader_meta_epilogue_obstacle(op, y->rank - 1);
}

static struct gemm_meta_params parameters(const struct kern_op *op)
{
    const struct kern_view *a = &op->tensors[0], *b = &op->tensors[1], *y = &op->tensors[op->input_count];
    const uint32_t last = y->rank - 1;
    return (struct gemm_meta_params){ .m = y->sizes[last - 1],
                                      .n = y->sizes[last],
                                      .k = a->sizes[last],
                                      .a_m = (i32)a->strides[last - 1],
                                      .a_k = (i32)a->strides[last],
                                      .b_k = (i32)b->strides[last - 1],
                                      .b_n = (i32)b->strides[last],
                                      .y_m = (i32)y->strides[last - 1],
                                      .y_n = (i32)y->strides[last],
                                      .alpha = op->u.gemm.alpha };
}

void shader_gemm_meta_plain_plan(const struct kern_op *op, struct shader_work *out)
{
    const struct gemm_meta_params params = parameters(op);
    const uint32_t groups[3] = { (uint32_t)(((uint64_t)params.m * params.n + 127) / 128), 1, 1 };
    shader_meta_add(out, SHADER_META_gemm_meta_plain, groups, 3 + META_EPILOGUE_STEPS, sizeof(params));
}

void shader_gemm_meta_plain_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                                  uint32_t *words)
{
    struct gemm_meta_params *params = (struct gemm_meta_params *)words;
    const struct kern_view *y = &op->tensors[op->input_count];
    *params = parameters(op);
    params->a = shader_meta_place(&places[0]);
    params->b = shader_meta_place(&places[1]);
    params->y = shader_meta_place(&places[op->input_count]);
    shader_meta_epilogue_write(op, y->rank - 1, places, &params->epilogue);
}
