/* SPDX-License-Identifier: Apache-2.0 */
/* Which convolutions are gradients of weights (conv_grad.h), and how their work is cut. */
#include "kernels/conv/conv_grad.h"
#include "kernels/core/isa.h"

enum {
    EXTENT_MAX = 1 << 24, /* of everything spatial: products stay small */
    ROWS_MOST = 192,
    ROWS_LEAST = 48,
    UNITS = 32, /* which many threads share */
};

static bool shape_suits(const struct conv_shape *s)
{
    int64_t taps = 1, pixels = 1;
    for (uint32_t d = 0; d < KERN_SPATIAL_MAX; d++) {
        if (s->in[d] > EXTENT_MAX || s->out[d] > EXTENT_MAX || s->kernel[d] > EXTENT_MAX || s->stride[d] > EXTENT_MAX ||
            s->dilation[d] > EXTENT_MAX || s->pad[d] > EXTENT_MAX || s->pad[d] < -EXTENT_MAX)
            return false;
        taps = BASE_MIN(taps * s->kernel[d], INT32_MAX);
        pixels = BASE_MIN(pixels * s->out[d], INT32_MAX);
    }
    return taps > pixels;
}

bool conv_grad_init(const struct kern_op *op, struct conv_grad *p)
{
    const struct kern_conv *conv = &op->u.conv;
    struct conv_shape *s = &p->s;
    memset(p, 0, sizeof(*p));
    if (conv->integer || conv->transposed || conv->flip || conv->has_bias || op->epilogue || op->packed_input == 2 ||
        !dense_short_floats(op) || !conv_shape_init(op, s) || !shape_suits(s))
        return false;
    p->rows = s->batch * s->out[0] * s->out[1] * s->out[2];
    p->panels = (s->out_group + CONV_GRAD_COLUMNS - 1) / CONV_GRAD_COLUMNS;
    p->block_rows = ROWS_MOST;
    while (p->block_rows > ROWS_LEAST && (p->rows + p->block_rows - 1) / p->block_rows * p->panels * s->groups < UNITS)
        p->block_rows /= 2;
    p->block_rows = BASE_MIN(p->block_rows, p->rows);
    p->blocks = (p->rows + p->block_rows - 1) / p->block_rows;
    p->lines = s->in_group * s->kernel[0] * s->kernel[1];
    p->together = BASE_MAX(CONV_GRAD_DEPTH / s->kernel[2], 1);
    p->a = dense_take(&p->floats, (uint64_t)p->block_rows * CONV_GRAD_DEPTH, 16);
    p->b = dense_take(&p->floats, (uint64_t)CONV_GRAD_COLUMNS * CONV_GRAD_DEPTH, 16);
    p->c = dense_take(&p->floats, (uint64_t)p->block_rows * CONV_GRAD_PITCH, 16);
    return true;
}

bool kern_conv_grad_f32_accepts(const struct kern_op *op)
{
    struct conv_grad plan;
    return conv_grad_init(op, &plan);
}

void kern_conv_grad_f32_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    struct conv_grad p;
    conv_grad_init(op, &p);
    *out = (struct kern_work){ .units = (uint64_t)p.s.groups * (uint64_t)(p.blocks * p.panels) };
    out->grain = dense_grain((uint64_t)(p.lines * p.s.kernel[2] * p.block_rows));
    out->worker_scratch_bytes = p.floats * sizeof(float);
}
