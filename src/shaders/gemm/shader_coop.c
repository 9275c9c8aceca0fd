/* SPDX-License-Identifier: Apache-2.0 */
/* Products by tiles with cooperative matrices (tile_matrix.glsl): what their rows share. */
#include "shaders/gemm/shader_tile.h"

#define VECTOR 8 /* elements */

static bool plain;

void shader_coop_plain(bool value)
{
    plain = value;
}

const char *shader_coop_obstacle(const struct kern_op *op, uint64_t m, uint64_t n, uint64_t k)
{
    const DML_TENSOR_DATA_TYPE type = op->tensors[0].type;
    if ((type != DML_TENSOR_DATA_TYPE_FLOAT16 && type != ANYDML_TENSOR_DATA_TYPE_BFLOAT16) ||
        op->tensors[1].type != type)
        return "there are no cooperative matrices of these types";
    return k < TUNE_COOP_DEPTH_MIN || m < TUNE_COOP_LINES_MIN || n < TUNE_COOP_LINES_MIN ||
                   m * n < TUNE_COOP_RESULTS_MIN
               ? "the product is small"
               : NULL;
}

bool shader_coop_wide(const struct kern_view *view, uint32_t along)
{
    if (view->strides[along] != 1 || view->sizes[along] % VECTOR || view->offset % VECTOR)
        return false;
    for (uint32_t d = 0; d < view->rank; d++)
        if (d != along && view->sizes[d] > 1 && view->strides[d] % VECTOR)
            return false;
    return true;
}

enum shader_code shader_coop_code(const struct kern_op *op, const struct coop_codes *codes)
{
    const bool is_half = op->tensors[0].type == DML_TENSOR_DATA_TYPE_FLOAT16;
    return plain ? codes->plain : is_half ? codes->half_precision : codes->bfloat16;
}

void shader_coop_add(const struct kern_op *op, const struct coop_codes *codes, const struct tile_params *params,
                     struct coop_wide wide, size_t parameter_bytes, struct shader_work *out)
{
    const bool one_type = op->tensors[op->input_count].type == op->tensors[0].type;
    const enum shader_code code = shader_coop_code(op, codes);
    const struct tile_size *size = shader_tile_choose(SHADER_TILES_COOP, params);
    struct shader_dispatch *dispatch = &out->dispatches[0];
    shader_tile_add_code(op, code, params, parameter_bytes, out);
    dispatch->constants[2] = size->m / 32 | size->n / 32 << 8 | (uint32_t)wide.a << 16 | (uint32_t)wide.b << 17;
    dispatch->constants[2] |= (uint32_t)(wide.y && one_type && params->splits == 1) << 18;
    dispatch->constants[3] = !params->a_along_k;
    dispatch->constants[4] = params->b_along_k;
    dispatch->constant_count = BASE_MAX(dispatch->constant_count, 5);
}
