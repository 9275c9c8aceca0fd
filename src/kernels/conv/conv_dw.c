#include "kernels/conv/conv_dw.h"

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

bool conv_dw_suits(const struct kern_op *op)
{
    struct conv_shape s;
    DML_TENSOR_DATA_TYPE type = op->tensors[op->input_count].type;
    if (op->u.conv.integer || !dense_is_short_float(type))
        return false;
    if (!dense_same_type(op, 0, op->u.conv.has_bias ? 2 : 1, type) || !conv_shape_init(op, &s) || !shape_suits(op, &s))
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

bool kern_conv_dw_f32_accepts(const struct kern_op *op)
{
    return conv_dw_suits(op);
}

void kern_conv_dw_f32_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    struct conv_shape s;
    struct window w;
    (void)state;
    (void)threads;
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
