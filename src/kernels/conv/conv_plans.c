/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of convolutions of few input or output channels, of depthwise ones, and of 8-bit ones. */
#include "kernels/conv/conv_plans.h"
#include "kernels/core/isa.h"
#include "kernels/gemm/gemm.h"
#include "kernels/row/row.h"

/* ---- bands for threads ---- */

#define CUT_GAIN 0.97 /* factor between times that count as equal */

static double cut_time(const struct conv_cut *c, int64_t lines)
{
    const int64_t bands = (c->lines + lines - 1) / lines, units = bands * c->others * c->panels;
    const int64_t each = (units + c->threads - 1) / c->threads, copies = (each + c->panels - 1) / c->panels;
    const double pixels = (double)base_align_up((uint64_t)(lines * c->width), (uint64_t)c->tile);
    return (double)each * (pixels * c->pixel + c->unit) + (double)copies * c->copied * ((double)lines + c->overlap);
}

struct conv_cut conv_cut_of(const struct kern_op *op, const struct conv_shape *s, const int64_t *size, uint32_t panels)
{
    return (struct conv_cut){
        .threads = op->threads,
        .known = op->cut,
        .lines = s->out[1],
        .most = size[1],
        .others = (int64_t)(s->batch * s->groups) * s->out[0] * ((s->out[2] + size[2] - 1) / BASE_MAX(size[2], 1)),
        .panels = panels,
        .width = size[2],
        .tile = 1,
        .overlap = (double)(s->kernel[1] - 1) * (double)s->dilation[1] / (double)s->stride[1],
    };
}

int64_t conv_cut_lines(const struct conv_cut *cut)
{
    int64_t best = cut->most;
    if (cut->known)
        return BASE_MIN(cut->known, best);
    if (cut->threads < 2 || best < 2)
        return best;
    const int64_t bands = (cut->lines + best - 1) / best;
    double least = CUT_GAIN * cut_time(cut, best);
    for (int64_t more = bands + 1; more <= BASE_MIN(cut->lines, bands + 2 * (int64_t)cut->threads); more++) {
        const int64_t lines = (cut->lines + more - 1) / more;
        const double time = cut_time(cut, lines);
        best = time < least ? lines : best;
        least = time < least ? time : least;
    }
    return best;
}

/* ---- few input channels ---- */

enum {
    CIN_CHANNELS_MAX = 4,
    CIN_TAPS_MAX = 64, /* from here on a GEMM for each tap is as fast */
    STEP_MAX = 64,     /* limit of kernel sizes, strides, dilations: their products do not overflow */
    WIDTH_MAX = 1 << 16,
    IMAGE_FLOATS = 12 * 1024, /* of a band: next to the weights in the first caches */
    IMAGE_MAX = 256 * 1024,   /* of a band of one row: still in the second-level cache */
};

static bool cin_shape_fits(const struct conv_shape *s)
{
    bool small = s->groups == 1 && !s->transposed && conv_is_plane(s) && s->in_channels <= CIN_CHANNELS_MAX &&
                 s->out_channels >= CONV_SMALL_CIN_LANES / 2 && s->out[2] <= WIDTH_MAX && s->in[2] <= WIDTH_MAX &&
                 s->pad[2] <= WIDTH_MAX;
    for (uint32_t d = 1; d < KERN_SPATIAL_MAX; d++)
        small = small && s->kernel[d] <= STEP_MAX && s->stride[d] <= STEP_MAX && s->dilation[d] <= STEP_MAX;
    return small && s->in_channels * s->kernel[1] * s->kernel[2] <= CIN_TAPS_MAX;
}

/* Steps are applied to tiles. Other programs (`post`) run over contiguous lines of results, and read nothing else. */
static bool end_fits(const struct kern_op *op, struct conv_pw_epilogue *ends, bool *post)
{
    *post = !conv_tile_epilogue_alone(op, ends);
    if (*post)
        *ends = (struct conv_pw_epilogue){ 0 };
    return !*post || op->epilogue_input == op->input_count;
}

static bool cin_output_fits(const struct kern_op *op, struct conv_small_cin *f)
{
    const struct conv_shape *s = &f->s;
    const bool pixels = s->y[1] == 1 || s->out_channels == 1, planes = s->y[4] == 1 || s->out[2] == 1;
    if (!end_fits(op, &f->ends, &f->post))
        return false;
    f->direct = pixels && !f->post;
    return planes || (pixels && (!f->post || s->y[4] == (int64_t)s->out_channels));
}

bool conv_small_cin_init(const struct kern_op *op, struct conv_small_cin *f)
{
    *f = (struct conv_small_cin){ 0 };
    struct conv_shape *s = &f->s;
    if (!conv_has_type(op, DML_TENSOR_DATA_TYPE_FLOAT32) || !conv_shape_init(op, s) || !cin_shape_fits(s) ||
        !cin_output_fits(op, f))
        return false;
    const int64_t reach = (s->kernel[1] - 1) * s->dilation[1];
    f->taps = s->in_channels * s->kernel[1] * s->kernel[2];
    f->blocks = (s->out_channels + CONV_SMALL_CIN_LANES - 1) / CONV_SMALL_CIN_LANES;
    /* The last tile of a row may exceed it by some pixels. */
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

/* All instruction sets split and pack in the same way. */
#define ROW_CIN(isa)                                                                                                   \
    KERN_PACKED_ROW(conv_small_cin_f32_##isa, struct conv_small_cin, conv_small_cin_init(op, &plan),                   \
                    cin_plan(op, &plan, out), conv_small_cin_pack(&plan, source, packed))
KERN_PLAN_ACCEPTS(conv_small_cin_f32, struct conv_small_cin, conv_small_cin_init(op, &plan))
KERN_EACH_ISA(ROW_CIN)

/* ---- few output channels ---- */

enum {
    COUT_CHANNELS_MAX = 128,
    BAND_FLOATS = 72 * 1024, /* inputs of a band stay in the second-level cache */
};

static bool cout_shape_fits(const struct kern_op *op, const struct conv_shape *s)
{
    if (op->u.conv.spatial != 2 || op->u.conv.integer || s->transposed || s->groups != 1)
        return false;
    /* Without taps that share the copied inputs, copying costs too much. */
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

void kern_conv_small_cout_f32_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    struct conv_small_cout f;
    conv_small_cout_init(op, &f);
    *out = (struct kern_work){ .units = f.s.batch * (uint64_t)(f.bands[0] * f.bands[1]), .grain = 1 };
    out->worker_scratch_bytes = base_align_up(f.floats * sizeof(float), 64) + dense_epilogue_bytes(op);
}

/* ---- depthwise, rows of planes ---- */

/* Sums of at most this many products of 9-bit numbers are exact in FLOAT32: integers use the same code. */
#define EXACT_TAPS 256

/* One input channel per group, contiguous rows, a band that stays in the second-level cache. */
static bool dw_shape_suits(const struct kern_op *op, const struct conv_shape *s)
{
    struct window w;
    if (s->in_group != 1 || s->groups < 2 || s->x[4] != 1 || s->y[4] != 1)
        return false;
    if (!conv_is_plane(s) && (s->kernel[0] > CONV_DW_DEPTH_MAX || !conv_last_fits(s)))
        return false;
    if (s->transposed && (s->stride[1] > CONV_DW_STRIDE_MAX || s->stride[2] > CONV_DW_STRIDE_MAX))
        return false;
    conv_dw_window(op, s, &w);
    return window_floats(&w) <= 256 * 1024 && conv_dw_up_floats(s, &w) <= 256 * 1024;
}

bool kern_conv_dw_f32_accepts(const struct kern_op *op)
{
    struct conv_shape s;
    if (kern_conv_grad_planes_f32_accepts(op)) /* filters as large as planes: long sums */
        return false;
    return !op->u.conv.integer && dense_short_floats(op) && conv_shape_init(op, &s) && dw_shape_suits(op, &s);
}

bool kern_conv_dw_int_accepts(const struct kern_op *op)
{
    struct conv_shape s;
    return kern_conv_int_accepts(op) && conv_shape_init(op, &s) && !s.transposed && dw_shape_suits(op, &s) &&
           s.kernel[0] * s.kernel[1] * s.kernel[2] <= EXACT_TAPS;
}

void kern_conv_dw_f32_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    struct conv_shape s;
    struct window w;
    conv_shape_init(op, &s);
    conv_dw_window(op, &s, &w);
    const uint64_t depth = (uint64_t)s.kernel[0], plane = (uint64_t)(s.kernel[1] * s.kernel[2]);
    const uint64_t phases = s.transposed ? (uint64_t)(s.stride[1] * s.stride[2]) : 1, taps = depth * plane;
    const uint64_t floats = window_floats(&w) + taps + conv_dw_up_floats(&s, &w);
    const uint64_t lists = depth * (sizeof(struct conv_dw_slice) + sizeof(int64_t)) + plane * sizeof(float *) +
                           taps * sizeof(int64_t) + phases * sizeof(uint32_t);
    *out = (struct kern_work){ .units = (uint64_t)s.batch * s.out_channels };
    out->grain = dense_grain((uint64_t)(s.out[0] * w.out[0] * w.out[1]) * taps / 4);
    out->worker_scratch_bytes = base_align_up(floats * sizeof(float) + lists, 64) + dense_epilogue_bytes(op) + 64;
}

void kern_conv_dw_int_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    kern_conv_dw_f32_plan(op, threads, out);
}

/* ---- depthwise, channels last ---- */

enum {
    LAST_LANES = 16,      /* of the widest vector */
    EXTENT_MAX = 1 << 16, /* of everything spatial: products stay small */
    LAST_TAPS_MAX = 1024,
    LAST_CHANNELS_MAX = 1 << 16,
    LAST_ROW_MAX = 1 << 30, /* results */
};

/* One channel per group, or 2 or 4 (vec/vec_group.h). */
static bool last_groups_suit(const struct kern_op *op, const struct conv_shape *s)
{
    const bool few = s->in_group == 2 || s->in_group == 4;
    return s->in_group == s->out_group && s->groups > 1 && s->out_channels <= LAST_CHANNELS_MAX &&
           (s->in_group == 1 || (few && !s->transposed && op->tensors[0].type == DML_TENSOR_DATA_TYPE_FLOAT32));
}

/* Channels innermost in X and Y. */
static bool last_shape_suits(const struct conv_shape *s)
{
    bool suits = s->x[1] == 1 && s->y[1] == 1;
    for (uint32_t d = 0; d < KERN_SPATIAL_MAX; d++)
        suits = suits && s->in[d] <= EXTENT_MAX && s->out[d] <= EXTENT_MAX && s->kernel[d] <= EXTENT_MAX &&
                s->stride[d] <= EXTENT_MAX && s->dilation[d] <= EXTENT_MAX && s->pad[d] <= EXTENT_MAX &&
                s->pad[d] >= -EXTENT_MAX;
    return suits && s->kernel[0] * s->kernel[1] * s->kernel[2] <= LAST_TAPS_MAX;
}

/* Steps whose tensors are FLOAT32 with Y's channels innermost; other programs run over lines of results. */
static void last_end(const struct kern_op *op, struct conv_dw_last *d)
{
    bool tiles = conv_tile_epilogue(op, &d->ends);
    for (uint32_t i = 0; tiles && i < d->ends.post.count; i++) {
        const struct kern_view *view = &op->tensors[d->ends.post.step[i].tensor];
        if (!d->ends.post.step[i].tensor)
            continue;
        d->ends.step[i] = view->sizes[view->rank - 1] > 1 ? view->strides[view->rank - 1] : 0;
        d->ends.step[i] *= d->s.transposed ? d->s.stride[2] : 1;
        tiles = view->sizes[1] == d->s.out_channels && view->strides[1] == 1;
    }
    d->post = !tiles;
    if (d->post)
        d->ends = (struct conv_pw_epilogue){ 0 };
}

bool conv_dw_last_init(const struct kern_op *op, struct conv_dw_last *d)
{
    *d = (struct conv_dw_last){ .w_type = op->tensors[1].type, .to = op->tensors[op->input_count].type };
    if (op->u.conv.integer || !dense_short_floats(op) || !conv_shape_init(op, &d->s) || !last_groups_suit(op, &d->s) ||
        !last_shape_suits(&d->s))
        return false;
    last_end(op, d);
    const uint64_t taps = (uint64_t)(d->s.kernel[0] * d->s.kernel[1] * d->s.kernel[2]);
    const uint64_t words = sizeof(int64_t) / sizeof(float);
    const uint64_t row = (uint64_t)d->s.out[2] * d->s.out_channels;
    d->taps = (int64_t)taps;
    d->pitch = (int64_t)base_align_up(d->s.out_channels, LAST_LANES);
    d->through_line = d->post || (d->ends.curved && d->to != DML_TENSOR_DATA_TYPE_FLOAT32);
    d->to = d->through_line ? DML_TENSOR_DATA_TYPE_FLOAT32 : d->to;
    d->weights =
        dense_take(&d->floats, op->packed_input == 2 ? 0 : taps * d->s.in_group * (uint64_t)d->pitch, LAST_LANES);
    d->bias = dense_take(&d->floats, (uint64_t)(d->pitch), LAST_LANES);
    d->zeros = dense_take(&d->floats, (uint64_t)(d->pitch), LAST_LANES);
    d->list = dense_take(&d->floats, taps * 2 * words, LAST_LANES);
    d->parts = dense_take(&d->floats, taps * (CONV_DW_LAST_PIXELS + 1) * words, LAST_LANES);
    d->line = dense_take(&d->floats, d->through_line ? row : 0, LAST_LANES);
    d->epilogue = d->floats;
    return d->taps * d->s.in_group * d->pitch <= INT32_MAX / (int64_t)sizeof(float) && row <= LAST_ROW_MAX &&
           (!d->through_line || d->post || d->s.out[2] == 1 || d->s.y[4] == (int64_t)d->s.out_channels);
}

static uint64_t last_plan(const struct kern_op *op, const struct conv_dw_last *d, struct kern_work *out)
{
    *out = (struct kern_work){ .units = (uint64_t)d->s.batch * (uint64_t)(d->s.out[0] * d->s.out[1]) };
    out->grain = dense_grain((uint64_t)(d->taps * d->s.in_group * d->pitch / 4) * (uint64_t)d->s.out[2]);
    out->worker_scratch_bytes = (uint64_t)d->floats * sizeof(float) + (d->post ? dense_epilogue_bytes(op) : 0);
    return (uint64_t)(d->taps * d->s.in_group * d->pitch) * sizeof(float);
}

void conv_dw_last_inner(const struct conv_shape *s, int64_t first, int64_t count, int64_t *out)
{
    const int64_t step = s->transposed ? 1 : s->stride[2];
    int64_t at;
    out[0] = 0;
    out[1] = count;
    for (int64_t k2 = 0; k2 < s->kernel[2]; k2++) {
        int64_t begin = 0, end = count;
        if (conv_dw_last_column(s, first, k2, &at))
            dense_range(count, step, at, s->in[2], &begin, &end);
        out[0] = BASE_MAX(out[0], begin);
        out[1] = BASE_MIN(out[1], end);
    }
}

void conv_dw_last_pack(const struct conv_dw_last *d, const void *source, float *packed)
{
    const struct conv_shape *s = &d->s;
    const bool floats = d->w_type == DML_TENSOR_DATA_TYPE_FLOAT32;
    for (int64_t t = 0; t < d->taps * s->in_group; t++, packed += d->pitch) {
        const int64_t from = conv_weight_at(s, t / s->in_group) + t % s->in_group * s->w[1];
        for (int64_t c = 0; c < d->pitch; c++)
            packed[c] = c >= s->out_channels ? 0
                        : floats             ? ((const float *)source)[from + c * s->w[0]]
                                             : (float)dense_load(source, from + c * s->w[0], d->w_type);
    }
}

#define ROW_DW_LAST(isa)                                                                                               \
    KERN_PACKED_ROW(conv_dw_last_f32_##isa, struct conv_dw_last, conv_dw_last_init(op, &plan),                         \
                    last_plan(op, &plan, out), conv_dw_last_pack(&plan, source, packed))
KERN_PLAN_ACCEPTS(conv_dw_last_f32, struct conv_dw_last, conv_dw_last_init(op, &plan))
KERN_EACH_ISA(ROW_DW_LAST)

/* ---- bytes ---- */

#define BYTES_BLOCK        (16 * 1024)
#define BYTES_BLOCK_PIXELS 24 /* whole tiles of most heights */
#define BYTES_PIXELS_MIN   8
#define BYTES_CHANNELS_MIN 16 /* fewer leave most of a vector empty */
#define BYTES_LINES        (256 * 1024)

bool conv_bytes_init(const struct kern_op *op, struct conv_bytes *c)
{
    const struct kern_conv *conv = &op->u.conv;
    const struct kern_view *t = op->tensors;
    if (!conv->integer || conv->transposed || conv->flip || conv->has_w_zero || op->packed_input != 2 ||
        !dense_is_byte(t[0].type) || t[1].type != DML_TENSOR_DATA_TYPE_INT8 || !conv_shape_init(op, &c->s) ||
        (conv->has_bias && t[2].type != DML_TENSOR_DATA_TYPE_INT32))
        return false;
    if (!kern_epilogue_requantize(op, &c->how))
        return false;
    const struct kern_view *scale = &t[c->how.scale], *y = &t[op->input_count];
    struct kern_view one = *scale; /* channel */
    one.sizes[1] = 1;
    if (!gemm_repeats(&one, one.rank) || (c->how.divisor && !gemm_repeats(&t[c->how.divisor], y->rank)) ||
        (c->how.zero && !gemm_repeats(&t[c->how.zero], y->rank)))
        return false;
    bool is_signed = y->type == DML_TENSOR_DATA_TYPE_INT8;
    c->scale_step = scale->sizes[1] > 1 ? scale->strides[1] : 0;
    c->flip = t[0].type == DML_TENSOR_DATA_TYPE_INT8 ? 0x80 : 0;
    return c->how.low <= c->how.high && c->how.low >= (is_signed ? -128 : 0) && c->how.high <= (is_signed ? 127 : 255);
}

bool conv_pw_bytes_init(const struct kern_op *op, struct conv_pw_bytes *out)
{
    struct conv_shape *s = &out->c.s;
    memset(out, 0, sizeof(*out));
    if (!conv_bytes_init(op, &out->c) || !conv_is_pointwise(s) || s->in_channels % CONV_BYTES_PACK ||
        memcmp(s->in, s->out, sizeof(s->in)) != 0 || !conv_pixels(&op->tensors[0], &out->x_step) ||
        !conv_pixels(&op->tensors[op->input_count], &out->y_step))
        return false;
    out->pixels = (uint64_t)s->batch * (uint64_t)(s->out[0] * s->out[1] * s->out[2]);
    out->k = s->in_channels;
    out->vecs = (s->out_channels + CONV_BYTES_LANES - 1) / CONV_BYTES_LANES;
    out->panels = (out->vecs + CONV_PW_BYTES_VECS - 1) / CONV_PW_BYTES_VECS;
    out->c.columns = out->vecs * CONV_BYTES_LANES;
    out->block = BASE_MAX(BYTES_BLOCK / out->k / BYTES_BLOCK_PIXELS, 1) * BYTES_BLOCK_PIXELS;
    out->blocks = (out->pixels + out->block - 1) / out->block;
    out->tile_scratch = out->c.columns * (sizeof(int32_t) + sizeof(float));
    return out->pixels >= BYTES_PIXELS_MIN;
}

bool conv_dw_bytes_init(const struct kern_op *op, struct conv_dw_bytes *out)
{
    struct conv_shape *s = &out->c.s;
    memset(out, 0, sizeof(*out));
    if (!conv_bytes_init(op, &out->c) || s->in_group != 1 || s->out_group != 1 || s->groups < BYTES_CHANNELS_MIN ||
        !conv_is_plane(s) || s->x[1] != 1 || s->y[1] != 1)
        return false;
    for (uint32_t d = 1; d < 3; d++)
        if (s->kernel[d] > CONV_DW_BYTES_WINDOW || s->dilation[d] != 1 || s->pad[d] >= s->kernel[d])
            return false;
    int64_t pixels = BASE_MAX(s->pad[2] + s->in[2], (s->out[2] - 1) * s->stride[2] + s->kernel[2]);
    out->packs = (uint32_t)(s->kernel[1] * s->kernel[2] + CONV_BYTES_PACK - 1) / CONV_BYTES_PACK;
    out->blocks = (s->out_channels + CONV_BYTES_WIDTH - 1) / CONV_BYTES_WIDTH;
    out->c.columns = out->blocks * CONV_BYTES_WIDTH;
    out->line = base_align_up((uint64_t)pixels * s->out_channels, 64);
    out->lines = out->c.columns * (sizeof(int32_t) + sizeof(float));
    out->scratch = out->lines + out->line * ((uint64_t)s->kernel[1] + 1);
    return out->scratch <= BYTES_LINES;
}

float conv_bytes_parameters(const struct kern_call *call, const struct conv_bytes *c, const int32_t *sums,
                            bool interleaved, int32_t *start, float *scale)
{
    const struct kern_conv *conv = &call->op->u.conv;
    const int32_t *bias = conv->has_bias ? call->data[2] : NULL;
    const float *scales = call->data[c->how.scale];
    uint32_t largest = 0; /* as bits, where NaN is the largest of all */
    uint32_t zero = (uint32_t)conv_x_zero(call) + c->flip;
    for (uint32_t i = 0; i < c->columns; i++) {
        uint32_t channel = interleaved ? conv_dw_bytes_channel(i) : i;
        bool held = channel < c->s.out_channels;
        if (c->block) {
            channel = i / c->block_columns * c->block + i % c->block_columns;
            held = i % c->block_columns < c->block;
        }
        uint32_t plus = held && bias ? (uint32_t)bias[channel * c->s.bias] : 0;
        start[i] = (int32_t)(plus - zero * (uint32_t)sums[i]);
        scale[i] = held ? scales[channel * c->scale_step] : 0;
        uint32_t size = base_float_to_bits(scale[i]) & INT32_MAX;
        largest = BASE_MAX(size, largest);
    }
    return base_bits_to_float(largest);
}

/* ---- bytes, pointwise ---- */

static uint64_t bytes_pw_plan(const struct conv_pw_bytes *p, struct kern_work *out)
{
    *out = (struct kern_work){ .units = p->blocks * p->panels };
    out->grain =
        dense_grain((uint64_t)BASE_MIN(p->block, p->pixels) * (p->k / CONV_BYTES_PACK + 8) * CONV_PW_BYTES_VECS);
    out->worker_scratch_bytes = p->tile_scratch + CONV_PW_BYTES_ROWS * ((uint64_t)p->k + CONV_BYTES_WIDTH);
    return (uint64_t)p->c.columns * (p->k + sizeof(int32_t));
}

/* [panel][k / 4][channel of the panel][4], then the sums. */
static void bytes_pw_pack(const struct conv_pw_bytes *p, const int8_t *source, int8_t *to)
{
    const struct conv_shape *s = &p->c.s;
    int32_t *sums = (int32_t *)(to + (uint64_t)p->c.columns * p->k);
    memset(sums, 0, p->c.columns * sizeof(*sums));
    for (uint32_t panel = 0; panel < p->panels; panel++) {
        uint32_t first = p->vecs * panel / p->panels * CONV_BYTES_LANES;
        uint32_t end = p->vecs * (panel + 1) / p->panels * CONV_BYTES_LANES;
        for (uint32_t k = 0; k < p->k; k += CONV_BYTES_PACK)
            for (uint32_t i = first; i < end; i++)
                for (uint32_t b = 0; b < CONV_BYTES_PACK; b++, to++) {
                    *to = i < s->out_channels ? source[i * s->w[0] + (k + b) * s->w[1]] : 0;
                    sums[i] += *to;
                }
    }
}

/* ---- bytes, depthwise ---- */

static uint64_t bytes_dw_plan(const struct conv_dw_bytes *d, uint32_t threads, struct kern_work *out)
{
    *out = (struct kern_work){ .units = d->c.s.batch * (uint64_t)d->c.s.out[1] };
    out->grain = dense_grain((uint64_t)d->c.s.out[2] * d->blocks * (d->packs + 2) * 12);
    if (out->units >= 2 * (uint64_t)threads) /* neighbours share most of what they read */
        out->grain = BASE_MAX(out->grain, 2);
    out->worker_scratch_bytes = d->scratch;
    return (uint64_t)d->c.columns * (d->packs * CONV_BYTES_PACK + sizeof(int32_t));
}

/* [block][pack][channel of the block][4], zeros for taps past the last, then the sums. */
static void bytes_dw_pack(const struct conv_dw_bytes *d, const int8_t *source, int8_t *to)
{
    const struct conv_shape *s = &d->c.s;
    uint32_t taps = (uint32_t)(s->kernel[1] * s->kernel[2]), depth = d->packs * CONV_BYTES_PACK;
    int32_t *sums = (int32_t *)(to + (uint64_t)d->c.columns * depth);
    memset(to, 0, (uint64_t)d->c.columns * (depth + sizeof(int32_t)));
    for (uint32_t i = 0; i < d->c.columns; i++) {
        uint32_t channel = conv_dw_bytes_channel(i);
        for (uint32_t t = 0; channel < s->out_channels && t < taps; t++) {
            int8_t w = source[channel * s->w[0] + conv_weight_at(s, t)];
            uint64_t line = (uint64_t)(i / CONV_BYTES_WIDTH) * d->packs + t / CONV_BYTES_PACK;
            to[(line * CONV_BYTES_WIDTH + i % CONV_BYTES_WIDTH) * CONV_BYTES_PACK + t % CONV_BYTES_PACK] = w;
            sums[i] += w;
        }
    }
}

KERN_PACKED_ROW(conv_pw_bytes_vnni, struct conv_pw_bytes, conv_pw_bytes_init(op, &plan), bytes_pw_plan(&plan, out),
                bytes_pw_pack(&plan, source, packed))
KERN_PLAN_ACCEPTS(conv_pw_bytes, struct conv_pw_bytes, conv_pw_bytes_init(op, &plan))
KERN_PACKED_ROW(conv_dw_bytes_vnni, struct conv_dw_bytes, conv_dw_bytes_init(op, &plan),
                bytes_dw_plan(&plan, op->threads, out), bytes_dw_pack(&plan, source, packed))
KERN_PLAN_ACCEPTS(conv_dw_bytes, struct conv_dw_bytes, conv_dw_bytes_init(op, &plan))

/* ---- the same with words ---- */

bool conv_dw_words_init(const struct kern_op *op, struct conv_dw_bytes *out)
{
    const bool suits = conv_dw_bytes_init(op, out);
    out->scratch += 64; /* sixteen channels are read from any */
    return suits;
}

static uint64_t words_dw_plan(const struct conv_dw_bytes *d, uint32_t threads, struct kern_work *out)
{
    bytes_dw_plan(d, threads, out);
    return conv_dw_words_bytes(d) + d->c.columns * sizeof(int32_t);
}

/* [sixteen channels][pair of taps][channel][2 words], zeros for a tap after the last, then the sums. */
static void words_dw_pack(const struct conv_dw_bytes *d, const int8_t *source, int16_t *to)
{
    const struct conv_shape *s = &d->c.s;
    const uint32_t taps = (uint32_t)(s->kernel[1] * s->kernel[2]), pairs = (taps + 1) / 2;
    int32_t *sums = (int32_t *)(void *)((char *)to + conv_dw_words_bytes(d));
    memset(to, 0, conv_dw_words_bytes(d) + d->c.columns * sizeof(int32_t));
    for (uint32_t o = 0; o < s->out_channels; o++)
        for (uint32_t t = 0; t < taps; t++) {
            const int8_t w = source[o * s->w[0] + conv_weight_at(s, t)];
            const uint64_t line = (uint64_t)(o / CONV_BYTES_LANES) * pairs + t / 2;
            to[(line * CONV_BYTES_LANES + o % CONV_BYTES_LANES) * 2 + t % 2] = w;
            sums[o] += w;
        }
}

KERN_PACKED_ROW(conv_dw_words_avx2, struct conv_dw_bytes, conv_dw_words_init(op, &plan),
                words_dw_plan(&plan, op->threads, out), words_dw_pack(&plan, source, packed))
KERN_PLAN_ACCEPTS(conv_dw_words, struct conv_dw_bytes, conv_dw_words_init(op, &plan))
