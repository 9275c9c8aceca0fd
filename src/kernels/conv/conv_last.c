/* SPDX-License-Identifier: Apache-2.0 */
/* Accepts NHWC convolutions as implicit GEMM (struct conv_last), plans their work, and packs their weights. */
#include "kernels/conv/conv_grad.h"
#include "kernels/conv/conv_plans.h"
#include "kernels/core/isa.h"
#include "kernels/row/row.h"

enum {
    EXTENT_MAX = 1 << 16, /* limit of spatial sizes: products do not overflow */
    TAPS_MAX = 1024,
    GROUP_MIN = 4,              /* output channels: vectors of fewer are mostly empty */
    BAND_FLOATS = 96 * 1024,    /* of X: in the second-level cache next to a panel */
    BAND_MAX = 2 * 1024 * 1024, /* of the minimum size of a band */
    PIXELS_MIN = 64,            /* of a band, if that needs at most twice the minimum */
    ALIASED = 256,              /* channels: pixels of a multiple would conflict in few cache sets */
    LANES = 16,                 /* of the widest vector */
    GRAD_IMAGES = 4,            /* that share a panel; of fewer no gradient was measured */
    GRAD_TAPS = 512,            /* of contiguous lines that dilation splits */
    GRAD_PANEL = 256 * 1024,    /* floats that do not stay in the second-level cache from image to image */
};

bool conv_last_fits(const struct conv_shape *s)
{
    int64_t taps = 1;
    for (uint32_t d = 0; d < KERN_SPATIAL_MAX; d++) {
        if (s->in[d] > EXTENT_MAX || s->out[d] > EXTENT_MAX || s->kernel[d] > EXTENT_MAX || s->stride[d] > EXTENT_MAX ||
            s->dilation[d] > EXTENT_MAX || s->pad[d] > EXTENT_MAX || s->pad[d] < -EXTENT_MAX)
            return false;
        taps = BASE_MIN(taps * s->kernel[d], INT32_MAX);
    }
    return taps <= TAPS_MAX && s->in_group <= EXTENT_MAX;
}

static bool shape_suits(const struct conv_shape *s)
{
    /* Other kernels for transposed ones are still slower. */
    const bool wide = s->out_group >= GROUP_MIN || (s->transposed && s->groups == 1);
    return conv_last_fits(s) && wide && s->out_channels <= UINT32_MAX / 2;
}

/* Added tensors have Y's layout, NHWC. */
static bool ends_in_registers(const struct kern_op *op, struct conv_last *p)
{
    const struct kern_view *y = &op->tensors[op->input_count];
    if (y->type != DML_TENSOR_DATA_TYPE_FLOAT32 || y->strides[1] != 1 || !p->in_tile)
        return false;
    for (uint32_t i = 0; i < p->epilogue.post.count; i++) {
        const struct kern_view *added = &op->tensors[p->epilogue.post.step[i].tensor];
        p->epilogue.step[i] = 0;
        if (!p->epilogue.post.step[i].tensor)
            continue;
        if (added->sizes[1] != y->sizes[1] || added->strides[1] != 1)
            return false;
        p->epilogue.step[i] = added->sizes[added->rank - 1] > 1 ? p->phases * added->strides[added->rank - 1] : 0;
    }
    return true;
}

static void input_init(const struct kern_op *op, struct conv_last *p)
{
    const struct conv_shape *s = &p->s;
    int64_t low, size;
    conv_last_range(s, 2, 0, s->out[2], &low, &size);
    p->copies = op->tensors[0].type != DML_TENSOR_DATA_TYPE_FLOAT32 || (s->in_group > 1 && s->x[1] != 1) || low < 0 ||
                low + size > s->in[2];
    p->pixel = s->in_group + (s->in_group % ALIASED ? 0 : LANES);
    p->pixel = p->copies ? p->pixel : s->x[4];
    /* Taps of a line that are consecutive in X and in a panel are merged. */
    const bool merges = !s->transposed && s->dilation[2] == 1 && p->pixel == (int64_t)s->in_group;
    p->taps = s->kernel[0] * s->kernel[1] * s->kernel[2];
    p->step = !s->transposed && s->stride[1] == 1 && s->kernel[1] > 1 ? s->dilation[1] : 1;
    p->run = merges ? s->kernel[2] * s->in_group : s->in_group;
}

/* The most output lines whose distances are multiples of the step. */
static int64_t lines_together(const struct conv_last *p)
{
    return (p->s.out[1] + p->step - 1) / p->step;
}

/* Bands of size[1] lines. */
static int64_t line_bands(const struct conv_last *p)
{
    const int64_t starts = BASE_MIN(p->step, p->s.out[1]);
    return p->size[1] ? starts * ((lines_together(p) + p->size[1] - 1) / p->size[1]) : 0;
}

static int64_t input_floats(struct conv_last *p)
{
    int64_t floats = p->copies ? p->pixel : p->s.in_group;
    for (uint32_t d = 0; d < KERN_SPATIAL_MAX; d++) {
        int64_t low;
        conv_last_range(&p->s, d, 0, p->size[d], &low, &p->most[d]);
        p->most[d] += p->s.transposed; /* for runs that start elsewhere */
        if (d == 1 && p->step > 1)
            p->most[1] = BASE_MIN(p->size[1] + p->s.kernel[1] - 1, (p->s.in[1] + p->step - 1) / p->step);
        if (d < 2)
            p->most[d] = BASE_MIN(p->most[d], p->s.in[d]);
        floats *= p->most[d];
    }
    return floats;
}

#define WEIGHT_BYTES 16 /* of a panel, used in a cycle */
#define COPY_FLOATS  2  /* of X likewise, from another CPU's cache */

/* Bands that memory allows, or smaller ones for the sake of threads. */
static void bands_cut(struct conv_last *p, const struct kern_op *op)
{
    const struct conv_shape *s = &p->s;
    const int64_t line = p->most[2] * s->in_group;
    struct conv_cut cut = conv_cut_of(op, s, p->size, p->panels);
    cut.pixel = (double)(p->taps * s->in_group);
    cut.unit = (double)p->panel_floats * sizeof(float) / WEIGHT_BYTES;
    cut.overlap = p->step > 1 ? (double)(s->kernel[1] - 1) : cut.overlap;
    cut.copied = p->copies ? (double)(line * s->stride[1]) / COPY_FLOATS : 0;
    if (!s->transposed && p->size[1] > 1 && op->threads > 2)
        p->size[1] = conv_cut_lines(&cut);
    p->bands[1] = line_bands(p);
}

static bool bands_init(struct conv_last *p, uint32_t rows, const struct kern_op *op)
{
    const struct conv_shape *s = &p->s;
    const int64_t least = (int64_t)base_align_up(4 * rows, (uint64_t)p->phases);
    p->size[0] = p->size[1] = 1;
    p->size[2] = s->out[2];
    while (input_floats(p) > BAND_FLOATS && p->size[2] > least)
        p->size[2] = BASE_MAX((int64_t)base_align_up((uint64_t)(p->size[2] / 2), (uint64_t)p->phases), least);
    if (input_floats(p) > BAND_MAX)
        return false;
    for (; p->size[1] < lines_together(p); p->size[1]++) {
        const bool few = p->size[1] * p->size[2] < PIXELS_MIN;
        p->size[1]++;
        const int64_t floats = input_floats(p);
        p->size[1]--;
        if (floats > (few ? 2 : 1) * BAND_FLOATS)
            break;
    }
    for (uint32_t d = 0; d < KERN_SPATIAL_MAX; d++)
        p->bands[d] = p->size[d] ? (s->out[d] + p->size[d] - 1) / p->size[d] : 0;
    input_floats(p);
    bands_cut(p, op);
    if (!p->bands[1] || !p->bands[2])
        return true;
    /* Of about the same size. */
    const int64_t parts = p->bands[1] / BASE_MIN(p->step, s->out[1]);
    p->size[1] = (lines_together(p) + parts - 1) / parts;
    p->size[2] = (int64_t)base_align_up((uint64_t)((s->out[2] + p->bands[2] - 1) / p->bands[2]), (uint64_t)p->phases);
    return true;
}

/* Gradients of weights for which conv_grad is faster. Here each image reads the panel again for its few pixels, which
 * is slow for one pixel and for panels that exceed the caches. Dilation, which strides become in gradients, splits the
 * runs of taps; conv_grad copies batch-innermost images as vectors, other layouts are no faster until there are many
 * images. */
static bool better_as_gradient(const struct kern_op *op, const struct conv_last *p)
{
    const struct conv_shape *s = &p->s;
    struct conv_grad plan;
    if (s->batch < GRAD_IMAGES || !conv_grad_init(op, &plan))
        return false;
    const bool cut = s->dilation[2] > 1 && (s->x[4] != 1 || p->taps > GRAD_TAPS || s->in_group < GRAD_IMAGES);
    return s->out[0] * s->out[1] * s->out[2] == 1 || p->panel_floats > GRAD_PANEL || cut;
}

bool conv_last_init(const struct kern_op *op, uint32_t rows, uint32_t lanes, struct conv_last *p)
{
    *p = (struct conv_last){ 0 };
    const struct conv_shape *s = &p->s;
    if (op->u.conv.integer || !dense_short_floats(op) || !conv_shape_init(op, &p->s) || !shape_suits(s) ||
        (op->u.conv.has_bias && op->tensors[2].sizes[1] != s->out_channels))
        return false;
    p->phases = s->transposed ? s->stride[2] : 1;
    p->in_tile = conv_tile_epilogue(op, &p->epilogue);
    p->end = ends_in_registers(op, p)                                 ? CONV_LAST_REGISTERS
             : !op->epilogue || op->epilogue_input == op->input_count ? CONV_LAST_LINE
                                                                      : CONV_LAST_ROWS;
    p->in_tile = p->end == CONV_LAST_REGISTERS || conv_tile_epilogue_alone(op, &p->epilogue);
    input_init(op, p);
    p->width = CONV_PW_VECS * lanes;
    p->panels = (s->out_group + p->width - 1) / p->width;
    p->panel_floats = p->taps * s->in_group * p->width;
    if (better_as_gradient(op, p) || !bands_init(p, rows, op))
        return false;
    const int64_t floats = input_floats(p);
    p->image = dense_take(&p->floats, (uint64_t)(p->copies ? floats : 0) + LANES * LANES, LANES);
    p->list = dense_take(&p->floats, (uint64_t)p->taps * sizeof(struct conv_last_tap) / sizeof(float), LANES);
    p->bias = dense_take(&p->floats, (uint64_t)p->width, LANES);
    p->results =
        dense_take(&p->floats, (uint64_t)(p->end == CONV_LAST_REGISTERS ? 0 : (p->size[2] + LANES) * p->width), LANES);
    p->line = dense_take(&p->floats, (uint64_t)(BASE_MAX(p->size[2], p->most[2]) + LANES) * LANES, LANES);
    p->finish = p->floats;
    return p->panel_floats * p->panels <= INT32_MAX / (int64_t)s->groups;
}

/* Units: panels of a band, which share its copy of X. */
static uint64_t last_plan(const struct kern_op *op, const struct conv_last *p, struct kern_work *out)
{
    const struct conv_shape *s = &p->s;
    const uint64_t packed = (uint64_t)(p->panel_floats * p->panels) * s->groups * sizeof(float);
    const uint64_t cost = (uint64_t)(p->size[1] * p->size[2]) * (uint64_t)p->panel_floats / 32;
    *out = (struct kern_work){ .units = (uint64_t)s->batch * s->groups *
                                        (uint64_t)(p->bands[0] * p->bands[1] * p->bands[2] * p->panels) };
    out->grain = dense_grain(cost);
    out->cut = (uint32_t)p->size[1];
    out->worker_scratch_bytes =
        p->floats * sizeof(float) + (p->end == CONV_LAST_REGISTERS ? 0 : dense_epilogue_bytes(op));
    out->packs = op->packed_input != 2;
    out->scratch_bytes = out->packs ? packed : 0;
    return packed;
}

/* One tap of a panel: [input channel][width], zeros behind the last output channel. */
DENSE_INLINE void pack_tap(const struct conv_last *p, const void *source, DML_TENSOR_DATA_TYPE type, int64_t from,
                           int64_t used, float *to)
{
    const struct conv_shape *s = &p->s;
    const int64_t in = s->w[s->transposed ? 0 : 1], out = s->w[s->transposed ? 1 : 0];
    for (int64_t c = 0; c < s->in_group; c++, to += p->width) {
        for (int64_t i = 0; i < used; i++)
            to[i] = (float)dense_load(source, from + c * in + i * out, type);
        for (int64_t i = used; i < p->width; i++)
            to[i] = 0;
    }
}

struct last_packing {
    const struct kern_op *op;
    const struct conv_last *plan;
    const void *source;
    float *packed;
};

/* Panels of all groups. */
static void last_pack_range(void *context, size_t begin, size_t end, unsigned worker)
{
    const struct last_packing *job = context;
    const struct conv_last *p = job->plan;
    const struct conv_shape *s = &p->s;
    const DML_TENSOR_DATA_TYPE type = job->op->tensors[1].type, f32 = DML_TENSOR_DATA_TYPE_FLOAT32;
    float *packed = job->packed + begin * (uint64_t)(p->taps * s->in_group * p->width);
    (void)worker;
    for (int64_t i = (int64_t)begin; i < (int64_t)end; i++) {
        const int64_t group = i / p->panels, first = i % p->panels * p->width;
        const int64_t used = BASE_MIN(s->out_group - first, p->width);
        const int64_t start =
            s->transposed ? group * s->in_group * s->w[0] + first * s->w[1] : (group * s->out_group + first) * s->w[0];
        for (int64_t tap = 0; tap < p->taps; tap++, packed += s->in_group * p->width) {
            const int64_t from = start + conv_weight_at(s, tap);
            if (type == f32)
                pack_tap(p, job->source, f32, from, used, packed);
            else
                pack_tap(p, job->source, type, from, used, packed);
        }
    }
}

/* [group][panel][tap][input channel][width] */
static void conv_last_pack(const struct kern_op *op, const struct conv_last *p, const void *source, float *packed)
{
    struct last_packing packing = { op, p, source, packed };
    const uint64_t bytes = (uint64_t)(p->taps * p->s.in_group * p->width) * sizeof(float);
    base_parallel_for((size_t)p->s.groups * p->panels, dense_pack_grain(bytes), last_pack_range, &packing);
}

#define ROW(isa)                                                                                                       \
    KERN_PACKED_ROW(conv_last_f32_##isa, struct conv_last,                                                             \
                    conv_last_init(op, CONV_PW_ROWS_##isa, CONV_PW_LANES_##isa, &plan), last_plan(op, &plan, out),     \
                    conv_last_pack(op, &plan, source, packed))
/* Kernels with more rows per tile need more memory: a size that fits the largest fits every instruction set. */
KERN_PLAN_ACCEPTS(conv_last_f32, struct conv_last, conv_last_init(op, CONV_PW_ROWS_MAX, CONV_PW_LANES_MAX, &plan))
KERN_EACH_ISA(ROW)
