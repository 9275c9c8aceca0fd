/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of maxima by their indices (pool_index.comp). */
#include "shaders/pool/shader_pool.h"

#include "shaders/pool/pool_params.h"

const char *shader_pool_grad_index_unsupported(const struct kern_op *op)
{
    struct pool_shape s;
    if (!op->u.pool_grad.has_indices)
        return "no shader for gradients without indices";
    if (!kern_pool_grad_any_ref_accepts(op) || !pool_shape_init(op, &s))
        return "no shader for these tensors";
    for (uint32_t d = 0; d < 3; d++)
        if ((s.window[d] - 1) * s.dilation[d] > INT32_MAX / 2 || s.pad[d] + s.in[d] > INT32_MAX / 2 ||
            s.stride[d] > INT32_MAX / 4 || s.out[d] * s.stride[d] > INT32_MAX)
            return "the shaders do not count that many elements";
    return shader_block_unsupported(op);
}

static uint64_t units_of(const struct kern_op *op)
{
    return kern_view_elements(&op->tensors[2]);
}

void shader_pool_grad_index_plan(const struct kern_op *op, struct shader_work *out)
{
    const bool in_double = op->tensors[0].type == DML_TENSOR_DATA_TYPE_FLOAT64;
    shader_add(out, in_double ? SHADER_pool_index_f64 : SHADER_pool_index, op, units_of(op), SHADER_GROUP_SIZE,
               sizeof(struct pool_index_params));
}

void shader_pool_grad_index_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                                  uint32_t *words)
{
    struct pool_index_params params = { .by_channels = shader_divisor(op->tensors[2].sizes[1]) };
    struct pool_shape s;
    pool_shape_init(op, &s);
    (void)index; /* there is one */
    for (uint32_t d = 0; d < 3; d++) {
        params.pad[d] = (uint32_t)s.pad[d];
        params.reach[d] = (uint32_t)((s.window[d] - 1) * s.dilation[d]);
        params.out_sizes[d] = (uint32_t)s.out[d];
        params.by_step[d] = shader_divisor((uint32_t)s.stride[d]);
        params.by_dilation[d] = shader_divisor((uint32_t)s.dilation[d]);
        params.by_in[d] = shader_divisor((uint32_t)s.in[d]);
    }
    for (uint32_t d = 0; d < 5; d++) {
        params.dy[d] = (int)s.y[d];
        params.index[d] = (int)s.index[d];
        params.dx[d] = (int)s.x[d];
    }
    params.channels_last = s.x[1] == 1 && s.x[4] != 1;
    shader_block_write(op, places, units_of(op), &params, sizeof(params), words);
}
