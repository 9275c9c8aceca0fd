/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/conv/conv_plans.h"

#define BAND_FLOATS (72 * 1024) /* inputs of a band stay in the second-level cache */
#define CHANNELS    128

static bool shape_fits(const struct kern_op *op, const struct conv_shape *s)
{
    if (op->u.conv.spatial != 2 || op->u.conv.integer || s->transposed || s->groups != 1)
        return false;
    /* Without taps to share the copied inputs, copying costs too much. */
    return s->stride[1] == 1 && s->stride[2] == 1 && s->kernel[1] * s->kernel[2] >= 4 && s->in_channels <= CHANNELS &&
           s->out_channels <= CONV_SMALL_COUT_CHANNELS && s->out[2] >= CONV_SMALL_COUT_LANES / 2;
}

bool conv_small_cout_init(const struct kern_op *op, struct conv_small_cout *f)
{
    if (!conv_shape_init(op, &f->s) || !shape_fits(op, &f->s))
        return false;
    const struct conv_shape *s = &f->s;
    int64_t vecs = (s->out[2] + CONV_SMALL_COUT_LANES - 1) / CONV_SMALL_COUT_LANES, most = 24 / s->out_channels;
    int64_t reach[2] = { (s->kernel[1] - 1) * s->dilation[1], (s->kernel[2] - 1) * s->dilation[2] };
    most = BASE_MIN(most, CONV_SMALL_COUT_VECS);
    f->bands[1] = (vecs + most - 1) / most;
    f->columns = (vecs + f->bands[1] - 1) / f->bands[1] * CONV_SMALL_COUT_LANES;
    f->pitch = (f->columns + reach[1] + 15) / 16 * 16;
    f->rows = BAND_FLOATS / (f->pitch * BASE_MAX(s->in_channels, 1)) - reach[0];
    f->rows = BASE_MIN(BASE_MIN(BASE_MAX(f->rows, 4), 32), s->out[1]);
    f->bands[0] = f->rows ? (s->out[1] + f->rows - 1) / f->rows : 0;
    f->in_rows = f->rows + reach[0];
    if (reach[0] > 64 || reach[1] > 64)
        return false;
    f->weights = (uint64_t)s->in_channels * (uint64_t)(f->in_rows * f->pitch);
    f->bias =
        f->weights + base_align_up((uint64_t)(s->kernel[1] * s->kernel[2]) * s->in_channels * s->out_channels, 16);
    f->sums = f->bias + 16;
    f->floats = f->sums + s->out_channels * (uint64_t)f->columns;
    return true;
}

bool kern_conv_small_cout_f32_accepts(const struct kern_op *op)
{
    struct conv_small_cout f;
    return conv_small_cout_init(op, &f) && conv_has_type(op, DML_TENSOR_DATA_TYPE_FLOAT32) &&
           (!op->u.conv.has_bias || op->tensors[2].sizes[1] == f.s.out_channels);
}

void kern_conv_small_cout_f32_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    struct conv_small_cout f;
    conv_small_cout_init(op, &f);
    *out = (struct kern_work){ .units = f.s.batch * (uint64_t)(f.bands[0] * f.bands[1]), .grain = 1 };
    out->worker_scratch_bytes = base_align_up(f.floats * sizeof(float), 64) + dense_epilogue_bytes(op);
}
