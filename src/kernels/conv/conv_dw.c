/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/conv/conv_plans.h"
#include "kernels/core/isa.h"

/* Sums of so many products of 9-bit numbers are exact in FLOAT32: integers run on the same machinery. */
#define EXACT_TAPS 256

bool kern_conv_int_accepts(const struct kern_op *op);

/* One input channel per group, two dimensions, contiguous rows, a band that stays in the second-level cache. */
static bool shape_suits(const struct kern_op *op, const struct conv_shape *s)
{
    struct window w;
    if (s->transposed || s->in_group != 1 || s->groups < 2 || s->kernel[0] != 1 || s->out[0] != 1 || s->in[0] != 1 ||
        s->pad[0] || s->x[4] != 1 || s->y[4] != 1)
        return false;
    conv_dw_window(op, s, &w);
    return window_floats(&w) <= 256 * 1024;
}

bool kern_conv_dw_f32_accepts(const struct kern_op *op)
{
    struct conv_shape s;
    DML_TENSOR_DATA_TYPE type = op->tensors[op->input_count].type;
    if (!dense_is_short_float(type) || !conv_has_type(op, type) || !conv_shape_init(op, &s) || !shape_suits(op, &s))
        return false;
    /* Small planes under large windows are better off in oneDNN, with channels innermost, reorders included. */
    return type != DML_TENSOR_DATA_TYPE_FLOAT32 || s.out[1] * s.out[2] >= 16 * s.kernel[1] * s.kernel[2];
}

bool kern_conv_dw_int_accepts(const struct kern_op *op)
{
    struct conv_shape s;
    return kern_conv_int_accepts(op) && conv_shape_init(op, &s) && shape_suits(op, &s) &&
           s.kernel[1] * s.kernel[2] <= EXACT_TAPS;
}

void kern_conv_dw_f32_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    struct conv_shape s;
    struct window w;
    conv_shape_init(op, &s);
    conv_dw_window(op, &s, &w);
    uint64_t taps = (uint64_t)(w.kernel[0] * w.kernel[1]);
    *out = (struct kern_work){ .units = (uint64_t)s.batch * s.out_channels };
    out->grain = dense_grain((uint64_t)(w.out[0] * w.out[1]) * taps / 4);
    out->worker_scratch_bytes = base_align_up((window_floats(&w) + taps) * sizeof(float) + taps * sizeof(float *), 64) +
                                dense_epilogue_bytes(op);
}

void kern_conv_dw_int_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    kern_conv_dw_f32_plan(op, state, threads, out);
}

/* ---- channels last ---- */

enum {
    LANES = 16,           /* of the widest vector */
    EXTENT_MAX = 1 << 16, /* of everything spatial: products stay small */
    TAPS_MAX = 1024,
    CHANNELS_MAX = 1 << 16,
};

/* One channel per group, two dimensions at most, channels innermost in X and Y. */
static bool last_shape_suits(const struct conv_shape *s)
{
    bool suits = !s->transposed && s->in_group == 1 && s->out_group == 1 && s->groups > 1 && s->kernel[0] == 1 &&
                 s->in[0] == 1 && s->out[0] == 1 && !s->pad[0] && s->x[1] == 1 && s->y[1] == 1 &&
                 s->groups <= CHANNELS_MAX;
    for (uint32_t d = 1; d < KERN_SPATIAL_MAX; d++)
        suits = suits && s->in[d] <= EXTENT_MAX && s->out[d] <= EXTENT_MAX && s->kernel[d] <= EXTENT_MAX &&
                s->stride[d] <= EXTENT_MAX && s->dilation[d] <= EXTENT_MAX && s->pad[d] <= EXTENT_MAX &&
                s->pad[d] >= -EXTENT_MAX;
    return suits && s->kernel[1] * s->kernel[2] <= TAPS_MAX;
}

/* Bounds are done in registers; other programs run along rows of results that lie together, and read nothing else. */
static bool last_end_suits(const struct kern_op *op, struct conv_dw_last *d)
{
    d->post = !kern_epilogue_bounds(op, &d->bounds);
    return !d->post ||
           (op->epilogue_input == op->input_count && (d->s.out[2] == 1 || d->s.y[4] == (int64_t)d->s.out_channels));
}

bool conv_dw_last_init(const struct kern_op *op, struct conv_dw_last *d)
{
    *d = (struct conv_dw_last){ 0 };
    if (!conv_has_type(op, DML_TENSOR_DATA_TYPE_FLOAT32) || !conv_shape_init(op, &d->s) || !last_shape_suits(&d->s) ||
        !last_end_suits(op, d))
        return false;
    d->taps = d->s.kernel[1] * d->s.kernel[2];
    d->pitch = (int64_t)base_align_up(d->s.groups, LANES);
    d->weights = dense_take(&d->floats, (uint64_t)(op->packed_input == 2 ? 0 : d->taps * d->pitch), LANES);
    d->bias = dense_take(&d->floats, (uint64_t)(d->pitch), LANES);
    d->epilogue = d->floats;
    return d->taps * d->pitch <= INT32_MAX / (int64_t)sizeof(float);
}

static uint64_t last_plan(const struct kern_op *op, const struct conv_dw_last *d, struct kern_work *out)
{
    *out = (struct kern_work){ .units = (uint64_t)d->s.batch * (uint64_t)d->s.out[1] };
    out->grain = dense_grain((uint64_t)(d->taps * d->pitch / 4) * (uint64_t)d->s.out[2]);
    out->worker_scratch_bytes = (uint64_t)d->floats * sizeof(float) + (d->post ? dense_epilogue_bytes(op) : 0);
    return (uint64_t)(d->taps * d->pitch) * sizeof(float);
}

void conv_dw_last_pack(const struct conv_dw_last *d, const float *source, float *packed)
{
    const struct conv_shape *s = &d->s;
    for (int64_t t = 0; t < d->taps; t++, packed += d->pitch) {
        const int64_t tap = s->flip ? d->taps - 1 - t : t;
        const float *from = source + tap / s->kernel[2] * s->w[3] + tap % s->kernel[2] * s->w[4];
        for (int64_t c = 0; c < d->pitch; c++)
            packed[c] = c < s->groups ? from[c * s->w[0]] : 0;
    }
}

#define ROW(isa)                                                                                                       \
    KERN_PACKED_ROW(conv_dw_last_f32_##isa, struct conv_dw_last, conv_dw_last_init(op, &plan),                         \
                    last_plan(op, &plan, out), conv_dw_last_pack(&plan, source, packed))
KERN_PLAN_ACCEPTS(conv_dw_last_f32, struct conv_dw_last, conv_dw_last_init(op, &plan))
KERN_EACH_ISA(ROW)
