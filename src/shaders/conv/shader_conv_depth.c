/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of single channels that are innermost in memory (conv_depth.comp). */
#include "shaders/conv/shader_conv.h"

#define VECTOR 4 /* channels */

static bool one_behind_the_other(const struct kern_view *view, uint32_t d)
{
    if (view->strides[d] != 1 || view->offset % VECTOR)
        return false;
    for (uint32_t i = 0; i < view->rank; i++)
        if (i != d && view->sizes[i] > 1 && view->strides[i] % VECTOR)
            return false;
    return true;
}

const char *shader_conv_depth_obstacle(const struct kern_op *op)
{
    struct conv_shape s;
    const struct kern_view *t = op->tensors, *y = &t[op->input_count];
    const char *found = shader_conv_obstacle(op, &s);
    if (found)
        return found;
    if (t[0].type == DML_TENSOR_DATA_TYPE_FLOAT64 || op->u.conv.integer || t[1].type != t[0].type ||
        !shader_conv_stores_vectors(y->type))
        return "there is no shader for it in these types";
    if (s.transposed || s.flip || s.kernel[0] != 1 || s.in[0] != 1 || s.out[0] != 1 ||
        s.kernel[1] * s.kernel[2] > TUNE_CONV_DIRECT_TAPS_MAX)
        return "there is no shader for it with windows of this kind";
    if (s.in_group != 1 || s.out_group != 1 || s.out_channels % VECTOR || !one_behind_the_other(&t[0], 1) ||
        !one_behind_the_other(&t[1], 0) || !one_behind_the_other(y, 1))
        return "its channels do not lie side by side";
    return shader_epilogue_obstacle(op);
}

static struct conv_parts_params params_of(const struct kern_op *op)
{
    struct conv_parts_params params = { .conv = shader_conv_parameters(op) };
    const uint32_t pixels = (uint32_t)(params.conv.out_sizes[1] * params.conv.out_sizes[2]);
    params.m = pixels * op->tensors[op->input_count].sizes[0];
    params.by_pixels = shader_divisor(pixels);
    params.by_tiles_n = shader_divisor(params.conv.out_channels / VECTOR);
    return params;
}

void shader_conv_depth_plan(const struct kern_op *op, struct shader_work *out)
{
    const struct conv_parts_params params = params_of(op);
    struct shader_dispatch *dispatch =
        shader_add(out, SHADER_conv_depth, op, params.m * params.by_tiles_n.size, CONV_DEPTH_GROUP, sizeof(params));
    dispatch->constants[2] = (uint32_t)params.conv.kernel[1];
    dispatch->constants[3] = (uint32_t)params.conv.kernel[2];
    dispatch->constant_count = 4;
    shader_conv_finish(op, dispatch);
}

void shader_conv_depth_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                             uint32_t *words)
{
    const struct conv_parts_params params = params_of(op);
    (void)index; /* there is one */
    shader_block_write(op, places, params.m * params.by_tiles_n.size, &params, sizeof(params), words);
}
