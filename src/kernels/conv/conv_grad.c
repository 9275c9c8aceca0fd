/* SPDX-License-Identifier: Apache-2.0 */
/* Accepts convolutions that are gradients of weights (conv_grad.h), and plans their work. */
#include "kernels/conv/conv_grad.h"
#include "kernels/core/isa.h"

enum {
    EXTENT_MAX = 1 << 24, /* limit of spatial sizes: products do not overflow */
    ROWS_MOST = 192,
    ROWS_LEAST = 48,
    UNITS = 32,            /* that many threads share */
    PLANES_TAPS_LEAST = 4, /* GEMMs with few taps read more than they multiply */
    PLANES_TAPS_MOST = 256,
    PLANES_SUMS = 256, /* taps of filters at once */
    PLANES_LANES = 16,
    PLANES_FLOATS = 256 * 1024, /* of a band, in the second-level cache */
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

static bool is_gradient(const struct kern_op *op, struct conv_shape *s)
{
    const struct kern_conv *conv = &op->u.conv;
    return !conv->integer && !conv->transposed && !conv->flip && !conv->has_bias && !op->epilogue &&
           op->packed_input != 2 && dense_short_floats(op) && conv_shape_init(op, s) && shape_suits(s);
}

bool conv_grad_init(const struct kern_op *op, struct conv_grad *p)
{
    struct conv_shape *s = &p->s;
    memset(p, 0, sizeof(*p));
    if (!is_gradient(op, s))
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

/* ---- of planes ---- */

/* Few filters for each plane: more would fill the vectors of a GEMM. Lines that are not contiguous are gathered, which
 * pays off for even fewer. */
static bool planes_suit(const struct conv_shape *s)
{
    const int64_t taps = s->out[1] * s->out[2];
    return conv_is_plane(s) && taps >= PLANES_TAPS_LEAST && taps <= PLANES_TAPS_MOST && s->x[4] > 0 && s->w[4] > 0 &&
           s->out_group <= (s->x[4] == 1 && s->w[4] == 1 ? 16 : 4);
}

bool conv_grad_planes_init(const struct kern_op *op, struct conv_grad_planes *p)
{
    struct conv_shape *s = &p->s;
    memset(p, 0, sizeof(*p));
    if (!is_gradient(op, s) || !planes_suit(s))
        return false;
    p->w = (struct window){ .x_row = s->x[3], .x_step = s->x[4], .type = op->tensors[0].type };
    for (int d = 0; d < 2; d++) {
        p->w.in[d] = s->in[d + 1];
        p->w.out[d] = s->kernel[d + 1];
        p->w.kernel[d] = s->out[d + 1];
        p->w.stride[d] = s->dilation[d + 1];
        p->w.dilation[d] = s->stride[d + 1];
        p->w.pad[d] = s->pad[d + 1];
    }
    window_plan_init(&p->w);
    if (window_floats(&p->w) > PLANES_FLOATS)
        return false;
    const int64_t planes = (int64_t)s->batch * s->groups;
    p->taps = s->out[1] * s->out[2];
    p->together = BASE_MIN(BASE_MAX(PLANES_SUMS / p->taps, 1), s->out_group);
    while (p->together > 1 && (s->out_group + p->together - 1) / p->together * planes < UNITS)
        p->together /= 2;
    p->parts = (s->out_group + p->together - 1) / p->together;
    p->lines_floats =
        op->tensors[1].type == DML_TENSOR_DATA_TYPE_FLOAT32 && s->w[4] == 1 ? 0 : (uint64_t)(p->w.rows * s->kernel[2]);
    dense_take(&p->floats, (uint64_t)(p->together * p->taps) * PLANES_LANES, PLANES_LANES);
    p->lines = dense_take(&p->floats, p->lines_floats, PLANES_LANES);
    p->places = dense_take(&p->floats, (uint64_t)p->taps * sizeof(float *) / sizeof(float), PLANES_LANES);
    p->band = dense_take(&p->floats, window_floats(&p->w), PLANES_LANES);
    return true;
}

bool kern_conv_grad_planes_f32_accepts(const struct kern_op *op)
{
    struct conv_grad_planes p;
    return conv_grad_planes_init(op, &p);
}

void kern_conv_grad_planes_f32_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    struct conv_grad_planes p;
    conv_grad_planes_init(op, &p);
    *out = (struct kern_work){ .units = (uint64_t)p.s.batch * p.s.groups * (uint64_t)p.parts };
    out->grain = dense_grain((uint64_t)(p.taps * p.together * p.s.in_group * p.s.kernel[2] / 8 * p.s.kernel[1]));
    out->worker_scratch_bytes = p.floats * sizeof(float);
}
