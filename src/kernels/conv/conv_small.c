/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of convolutions of few input channels, and of few output channels. */
#include "kernels/conv/conv_plans.h"
#include "kernels/core/isa.h"

enum {
    CHANNELS_MAX = 4,
    TAPS_MAX = 64, /* from here on a matrix product for each tap is as fast */
    STEP_MAX = 64, /* kernel sizes, strides, dilations: their products stay small */
    WIDTH_MAX = 1 << 16,
    IMAGE_FLOATS = 12 * 1024, /* of a band: next to the weights in the first caches */
    IMAGE_MAX = 256 * 1024,   /* of a band of one row: still in the second-level cache */
};

static bool shape_fits(const struct conv_shape *s)
{
    bool small = s->groups == 1 && !s->transposed && s->kernel[0] == 1 && s->in[0] == 1 && s->out[0] == 1 &&
                 !s->pad[0] && s->in_channels <= CHANNELS_MAX && s->out_channels >= CONV_SMALL_CIN_LANES / 2 &&
                 s->out[2] <= WIDTH_MAX && s->in[2] <= WIDTH_MAX && s->pad[2] <= WIDTH_MAX;
    for (uint32_t d = 1; d < KERN_SPATIAL_MAX; d++)
        small = small && s->kernel[d] <= STEP_MAX && s->stride[d] <= STEP_MAX && s->dilation[d] <= STEP_MAX;
    return small && s->in_channels * s->kernel[1] * s->kernel[2] <= TAPS_MAX;
}

/* Bounds are done in registers. Other programs run along lines of results that lie together, and read nothing else. */
static bool output_fits(const struct kern_op *op, struct conv_small_cin *f)
{
    const struct conv_shape *s = &f->s;
    const bool pixels = s->y[1] == 1 || s->out_channels == 1, planes = s->y[4] == 1 || s->out[2] == 1;
    f->post = !kern_epilogue_bounds(op, &f->bounds);
    f->direct = pixels && !f->post;
    if (f->post && op->epilogue_input != op->input_count)
        return false;
    return planes || (pixels && (!f->post || s->y[4] == (int64_t)s->out_channels));
}

bool conv_small_cin_init(const struct kern_op *op, struct conv_small_cin *f)
{
    *f = (struct conv_small_cin){ 0 };
    struct conv_shape *s = &f->s;
    if (!conv_has_type(op, DML_TENSOR_DATA_TYPE_FLOAT32) || !conv_shape_init(op, s) || !shape_fits(s) ||
        !output_fits(op, f))
        return false;
    const int64_t reach = (s->kernel[1] - 1) * s->dilation[1];
    f->taps = s->in_channels * s->kernel[1] * s->kernel[2];
    f->blocks = (s->out_channels + CONV_SMALL_CIN_LANES - 1) / CONV_SMALL_CIN_LANES;
    /* The last tile of a row may reach some pixels beyond. */
    f->pitch = (int64_t)base_align_up(
        (uint64_t)((s->out[2] + CONV_SMALL_CIN_LANES) * s->stride[2] + (s->kernel[2] - 1) * s->dilation[2]),
        CONV_SMALL_CIN_LANES);
    const int64_t row = f->pitch * s->in_channels;
    f->rows = BASE_MAX(IMAGE_FLOATS / row - reach, 1) / s->stride[1];
    f->rows = BASE_MIN(BASE_MAX(f->rows, 1), s->out[1]);
    f->bands = (s->out[1] + f->rows - 1) / f->rows;
    f->in_rows = (f->rows - 1) * s->stride[1] + reach + 1;
    f->image = dense_take(&f->floats, (uint64_t)(f->in_rows * row), 16);
    f->bias = dense_take(&f->floats, (uint64_t)(f->blocks * CONV_SMALL_CIN_LANES), 16);
    f->offsets = dense_take(&f->floats, (uint64_t)(f->taps), 16);
    f->results = dense_take(
        &f->floats, (uint64_t)(f->direct ? 0 : (s->out[2] + CONV_SMALL_CIN_LANES) * 2 * CONV_SMALL_CIN_LANES), 16);
    f->weights =
        dense_take(&f->floats, (uint64_t)(op->packed_input == 2 ? 0 : f->blocks * f->taps * CONV_SMALL_CIN_LANES), 16);
    f->epilogue = f->floats;
    return f->in_rows * row <= IMAGE_MAX;
}

static uint64_t cin_plan(const struct kern_op *op, const struct conv_small_cin *f, struct kern_work *out)
{
    *out = (struct kern_work){ .units = f->s.batch * (uint64_t)f->bands };
    out->grain = dense_grain((uint64_t)(f->taps * f->blocks * f->rows * f->s.out[2]));
    out->worker_scratch_bytes = (uint64_t)f->floats * sizeof(float) + (f->post ? dense_epilogue_bytes(op) : 0);
    return (uint64_t)(f->blocks * f->taps) * CONV_SMALL_CIN_LANES * sizeof(float);
}

void conv_small_cin_pack(const struct conv_small_cin *f, const float *source, float *packed)
{
    const struct conv_shape *s = &f->s;
    memset(packed, 0, (size_t)(f->blocks * f->taps) * CONV_SMALL_CIN_LANES * sizeof(float));
    for (int64_t i = 0; i < s->out_channels * f->taps; i++) {
        int64_t o = i / f->taps, tap = i % f->taps, line = tap / s->kernel[2], k2 = tap % s->kernel[2];
        int64_t c = line % s->in_channels, k1 = line / s->in_channels;
        if (s->flip) {
            k1 = s->kernel[1] - 1 - k1;
            k2 = s->kernel[2] - 1 - k2;
        }
        packed[((o / CONV_SMALL_CIN_LANES) * f->taps + tap) * CONV_SMALL_CIN_LANES + o % CONV_SMALL_CIN_LANES] =
            source[o * s->w[0] + c * s->w[1] + k1 * s->w[3] + k2 * s->w[4]];
    }
}

/* Every instruction set cuts and packs in the same way. */
#define ROW(isa)                                                                                                       \
    KERN_PACKED_ROW(conv_small_cin_f32_##isa, struct conv_small_cin, conv_small_cin_init(op, &plan),                   \
                    cin_plan(op, &plan, out), conv_small_cin_pack(&plan, source, packed))
KERN_PLAN_ACCEPTS(conv_small_cin_f32, struct conv_small_cin, conv_small_cin_init(op, &plan))
KERN_EACH_ISA(ROW)

/* ---- few output channels ---- */

enum {
    COUT_CHANNELS_MAX = 128,
    BAND_FLOATS = 72 * 1024, /* inputs of a band stay in the second-level cache */
};

static bool cout_shape_fits(const struct kern_op *op, const struct conv_shape *s)
{
    if (op->u.conv.spatial != 2 || op->u.conv.integer || s->transposed || s->groups != 1)
        return false;
    /* Without taps to share the copied inputs, copying costs too much. */
    return s->stride[1] == 1 && s->stride[2] == 1 && s->kernel[1] * s->kernel[2] >= 4 &&
           s->in_channels <= COUT_CHANNELS_MAX && s->out_channels <= CONV_SMALL_COUT_CHANNELS &&
           s->out[2] >= CONV_SMALL_COUT_LANES / 2;
}

bool conv_small_cout_init(const struct kern_op *op, struct conv_small_cout *f)
{
    if (!conv_shape_init(op, &f->s) || !cout_shape_fits(op, &f->s))
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
