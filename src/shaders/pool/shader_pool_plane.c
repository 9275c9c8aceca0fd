/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling of pixels that are innermost in memory (pool_plane.comp). */
#include "shaders/pool/pool_params.h"
#include "shaders/pool/shader_pool.h"

#define VECTOR   4  /* results */
#define SPAN_MAX 16 /* elements of a row that their windows cover, as in pool_plane.comp */
#define ROWS_MAX 16

static bool fits(const struct pool_shape *s)
{
    for (uint32_t d = 1; d < 3; d++)
        if ((s->dilation[d] != 1 && s->window[d] != 1) || s->in[d] > INT16_MAX)
            return false;
    return s->window[1] <= ROWS_MAX && (VECTOR - 1) * s->stride[2] + s->window[2] <= SPAN_MAX;
}

const char *shader_pool_plane_unsupported(const struct kern_op *op)
{
    struct pool_shape s;
    const char *reason = shader_pool_image_unsupported(op, false, &s);
    if (reason)
        return reason;
    if (!shader_specializes(op, kern_view_elements(&op->tensors[1])))
        return "too few elements for this shader";
    if (!fits(&s))
        return "no shader for such windows";
    if ((s.in[2] > 1 && s.x[4] != 1) || (s.out[2] > 1 && s.y[4] != 1))
        return "its pixels are not contiguous";
    return shader_block_unsupported(op);
}

static struct pool_plane_params params_of(const struct kern_op *op, const struct pool_shape *s, uint64_t *out_units)
{
    const struct kern_view *y = &op->tensors[1];
    const uint32_t quads = (uint32_t)(s->out[2] + VECTOR - 1) / VECTOR;
    struct pool_plane_params params = { .in_sizes = { (int)s->in[1], (int)s->in[2] },
                                        .down = (int)s->stride[1],
                                        .pad = { (int)s->pad[1], (int)s->pad[2] },
                                        .x_row = shader_pool_stride(s->x[3], s->in[1]),
                                        .y_row = shader_pool_stride(s->y[3], s->out[1]),
                                        .by_quads = shader_divisor(quads),
                                        .by_rows = shader_divisor((uint32_t)s->out[1]),
                                        .by_channels = shader_divisor(y->sizes[1]),
                                        .columns = (uint)s->out[2],
                                        .include_padding = op->u.pool.include_padding };
    for (uint32_t d = 0; d < 2; d++) {
        params.x[d] = shader_pool_stride(s->x[d], y->sizes[d]);
        params.y[d] = shader_pool_stride(s->y[d], y->sizes[d]);
    }
    *out_units = kern_view_elements(y) / (uint64_t)s->out[2] * quads;
    return params;
}

void shader_pool_plane_plan(const struct kern_op *op, struct shader_work *out)
{
    uint64_t units;
    struct pool_shape s;
    pool_shape_init(op, &s);
    const struct pool_plane_params params = params_of(op, &s, &units);
    struct shader_dispatch *dispatch = shader_add(out, SHADER_pool_plane, op, units, SHADER_GROUP_SIZE, sizeof(params));
    shader_specialize(op, kern_view_elements(&op->tensors[1]), dispatch);
    dispatch->constants[2] = (uint32_t)s.window[1];
    dispatch->constants[3] = (uint32_t)s.window[2];
    dispatch->constants[4] = (uint32_t)s.stride[2];
    dispatch->constants[5] = op->u.pool.mode == KERN_POOL_AVERAGE;
    dispatch->constant_count = 6;
}

void shader_pool_plane_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                             uint32_t *words)
{
    uint64_t units;
    struct pool_shape s;
    (void)index; /* there is one */
    pool_shape_init(op, &s);
    const struct pool_plane_params params = params_of(op, &s, &units);
    shader_block_write(op, places, units, &params, sizeof(params), words);
}
