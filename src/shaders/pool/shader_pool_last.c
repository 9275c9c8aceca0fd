/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling of channels that are innermost in memory (pool_last.comp). */
#include "shaders/pool/pool_params.h"
#include "shaders/pool/shader_pool.h"

#define VECTOR   4  /* channels */
#define TAPS_MAX 64 /* of a window; more are better shared by several invocations */

static bool is_wide(const struct kern_view *view)
{
    if (view->strides[1] != 1 || view->offset % VECTOR || view->sizes[1] % VECTOR)
        return false;
    for (uint32_t d = 0; d < view->rank; d++)
        if (d != 1 && view->sizes[d] > 1 && view->strides[d] % VECTOR)
            return false;
    return true;
}

static bool fits(const struct pool_shape *s)
{
    for (uint32_t d = 1; d < 3; d++)
        if (s->window[d] > TAPS_MAX || s->dilation[d] > INT16_MAX)
            return false;
    return s->window[1] * s->window[2] <= TAPS_MAX;
}

const char *shader_pool_last_unsupported(const struct kern_op *op)
{
    struct pool_shape s;
    const char *reason = shader_pool_image_unsupported(op, true, &s);
    if (reason)
        return reason;
    if (!fits(&s))
        return "no shader for such windows";
    if (!is_wide(&op->tensors[0]) || !is_wide(&op->tensors[1]))
        return "its channels are not contiguous";
    return shader_block_unsupported(op);
}

static struct pool_last_params params_of(const struct kern_op *op, uint64_t *out_units)
{
    const struct kern_view *y = &op->tensors[1];
    struct pool_last_params params = { .include_padding = op->u.pool.include_padding };
    struct pool_shape s;
    pool_shape_init(op, &s);
    for (uint32_t d = 0; d < 2; d++) {
        params.in_sizes[d] = (int)s.in[d + 1];
        params.strides[d] = (int)s.stride[d + 1];
        params.dilations[d] = (int)s.dilation[d + 1];
        params.pad[d] = (int)s.pad[d + 1];
    }
    params.x[0] = shader_pool_stride(s.x[0], y->sizes[0]);
    params.y[0] = shader_pool_stride(s.y[0], y->sizes[0]);
    for (uint32_t d = 1; d < 3; d++) {
        params.x[d] = shader_pool_stride(s.x[d + 2], s.in[d]);
        params.y[d] = shader_pool_stride(s.y[d + 2], s.out[d]);
    }
    params.by_quads = shader_divisor(y->sizes[1] / VECTOR);
    params.by_rows = shader_divisor((uint32_t)s.out[1]);
    params.by_columns = shader_divisor((uint32_t)s.out[2]);
    *out_units = kern_view_elements(y) / VECTOR;
    return params;
}

void shader_pool_last_plan(const struct kern_op *op, struct shader_work *out)
{
    uint64_t units;
    struct pool_shape s;
    pool_shape_init(op, &s);
    const struct pool_last_params params = params_of(op, &units);
    struct shader_dispatch *dispatch = shader_add(out, SHADER_pool_last, op, units, POOL_LAST_GROUP, sizeof(params));
    dispatch->constants[2] = (uint32_t)s.window[1];
    dispatch->constants[3] = (uint32_t)s.window[2];
    dispatch->constants[4] = op->u.pool.mode == KERN_POOL_AVERAGE;
    dispatch->constant_count = 5;
}

void shader_pool_last_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                            uint32_t *words)
{
    uint64_t units;
    const struct pool_last_params params = params_of(op, &units);
    (void)index; /* there is one */
    shader_block_write(op, places, units, &params, sizeof(params), words);
}
