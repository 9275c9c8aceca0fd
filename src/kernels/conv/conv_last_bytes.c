/* SPDX-License-Identifier: Apache-2.0 */
/* Accepts 8-bit NHWC convolutions as implicit GEMM (struct conv_last_bytes), plans their work, and packs their
 * weights. */
#include "kernels/conv/conv_plans.h"
#include "kernels/core/isa.h"

enum {
    CHANNELS_MAX = 1 << 16,
    BAND_BYTES = 128 * 1024,    /* of X: in the second-level cache next to a panel */
    BAND_MAX = 4 * 1024 * 1024, /* of the minimum size of a band */
    PIXELS_MIN = 48,            /* of a band, if that needs at most twice the minimum */
    PIXELS_MAX = 4096,          /* whose offsets are listed */
};

static bool shape_suits(const struct conv_shape *s)
{
    return conv_last_fits(s) && s->out_channels <= CHANNELS_MAX;
}

static int64_t input_bytes(struct conv_last_bytes *p)
{
    int64_t bytes = p->pixel;
    for (uint32_t d = 0; d < KERN_SPATIAL_MAX; d++) {
        int64_t low;
        conv_last_range(&p->c.s, d, 0, p->size[d], &low, &p->most[d]);
        bytes = bytes <= BAND_MAX ? bytes * p->most[d] : bytes;
    }
    return bytes;
}

/* Cycles: of the epilogue of a pixel's vector; of copying a pixel, and 8 bytes of it. */
enum { END_CYCLES = 4, PIXEL_CYCLES = 12, COPY_BYTES = 8, WEIGHT_BYTES = 16 };

static double pixel_cycles(const struct conv_last_bytes *p)
{
    return CONV_PW_BYTES_VECS * (END_CYCLES + (double)(p->taps * p->run) / CONV_BYTES_PACK / 2);
}

/* Bands that memory allows, or smaller ones for the sake of threads. */
static void bands_cut(struct conv_last_bytes *p, const struct kern_op *op)
{
    const struct conv_shape *s = &p->c.s;
    struct conv_cut cut = conv_cut_of(op, s, p->size, p->panels * (uint32_t)p->blocks);
    cut.others /= s->groups; /* the number of blocks */
    cut.pixel = pixel_cycles(p);
    cut.unit = (double)p->panel_bytes * CONV_PW_BYTES_VECS / WEIGHT_BYTES;
    cut.copied = (double)(p->blocks * p->most[2] * s->stride[1]) * (PIXEL_CYCLES + (double)p->pixel / COPY_BYTES);
    if (!s->transposed && op->threads > 2)
        p->size[1] = conv_cut_lines(&cut);
}

static bool bands_init(struct conv_last_bytes *p, const struct kern_op *op)
{
    const struct conv_shape *s = &p->c.s;
    p->size[0] = p->size[1] = 1;
    p->size[2] = BASE_MIN(s->out[2], PIXELS_MAX);
    while (input_bytes(p) > BAND_BYTES && p->size[2] > PIXELS_MIN)
        p->size[2] = BASE_MAX(p->size[2] / 2, PIXELS_MIN);
    if (input_bytes(p) > BAND_MAX)
        return false;
    for (; p->size[1] < s->out[1] && (p->size[1] + 1) * p->size[2] <= PIXELS_MAX; p->size[1]++) {
        const bool few = p->size[1] * p->size[2] < PIXELS_MIN;
        p->size[1]++;
        const int64_t bytes = input_bytes(p);
        p->size[1]--;
        if (bytes > (few ? 2 : 1) * BAND_BYTES)
            break;
    }
    input_bytes(p);
    bands_cut(p, op);
    for (uint32_t d = 0; d < KERN_SPATIAL_MAX; d++) {
        p->bands[d] = p->size[d] ? (s->out[d] + p->size[d] - 1) / p->size[d] : 0;
        if (p->bands[d]) /* of about the same size */
            p->size[d] = (s->out[d] + p->bands[d] - 1) / p->bands[d];
    }
    p->pixels = p->size[0] * p->size[1] * p->size[2];
    return true;
}

/* Multiplying zeros costs nothing compared with empty lanes. */
static void blocks_init(struct conv_last_bytes *p)
{
    const struct conv_shape *s = &p->c.s;
    int64_t together = BASE_MAX(BASE_MIN(CONV_BYTES_LANES / s->out_group, s->groups), 1);
    while (s->groups % together)
        together--;
    p->blocks = s->groups / together;
    p->in = together * s->in_group;
    p->out = together * s->out_group;
}

static bool last_init(const struct kern_op *op, int64_t element, struct conv_last_bytes *p)
{
    *p = (struct conv_last_bytes){ .element = element };
    const struct conv_shape *s = &p->c.s;
    if (!conv_bytes_init(op, &p->c) || !shape_suits(s) || (s->y[1] != 1 && s->out_channels > 1))
        return false;
    blocks_init(p);
    p->c.flip = element == 1 ? p->c.flip : 0;
    p->pixel = (int64_t)base_align_up((uint64_t)(p->in * element), CONV_BYTES_PACK);
    p->run = s->dilation[2] == 1 ? p->pixel * s->kernel[2] : p->pixel;
    p->taps = s->kernel[0] * s->kernel[1] * s->kernel[2] * p->pixel / BASE_MAX(p->run, 1);
    p->vecs = (uint32_t)(p->out + CONV_BYTES_LANES - 1) / CONV_BYTES_LANES;
    p->panels = element == 1 ? (p->vecs + CONV_PW_BYTES_VECS - 1) / CONV_PW_BYTES_VECS : p->vecs;
    p->panel_bytes = (uint64_t)(p->taps * p->run) * CONV_BYTES_LANES;
    p->c.block = (uint32_t)p->out;
    p->c.block_columns = p->vecs * CONV_BYTES_LANES;
    p->c.columns = (uint32_t)p->blocks * p->c.block_columns;
    if (!bands_init(p, op))
        return false;
    const uint64_t pixels = (uint64_t)p->pixels + CONV_PW_BYTES_ROWS;
    dense_take(&p->scratch, p->c.columns * (sizeof(int32_t) + sizeof(float)), 64);
    p->image = dense_take(&p->scratch, (uint64_t)input_bytes(p), 64);
    p->list = dense_take(&p->scratch, (uint64_t)p->taps * sizeof(int64_t), 64);
    p->x_at = dense_take(&p->scratch, pixels * sizeof(int64_t), 64);
    p->y_at = dense_take(&p->scratch, pixels * sizeof(int64_t), 64);
    return p->panel_bytes * p->vecs * (uint64_t)p->blocks <= INT32_MAX;
}

bool conv_last_bytes_init(const struct kern_op *op, struct conv_last_bytes *out)
{
    return last_init(op, 1, out);
}

/* Not where most of the products of a block are with zeros. */
bool conv_last_words_init(const struct kern_op *op, struct conv_last_bytes *out)
{
    enum { GROUPS_MAX = 4 };
    return last_init(op, 2, out) && out->in <= GROUPS_MAX * (int64_t)out->c.s.in_group;
}

/* Units: panels of a block of a band, which share its copy of X. */
static uint64_t last_plan(const struct conv_last_bytes *p, struct kern_work *out)
{
    const int64_t bands = p->bands[0] * p->bands[1] * p->bands[2];
    *out = (struct kern_work){ .units = p->c.s.batch * (uint64_t)(bands * p->blocks * p->panels) };
    out->grain = dense_grain((uint64_t)((double)p->pixels * pixel_cycles(p)));
    out->worker_scratch_bytes = p->scratch;
    out->cut = (uint32_t)p->size[1];
    return p->panel_bytes * p->vecs * (uint64_t)p->blocks + p->c.columns * sizeof(int32_t);
}

/* Of output channel o and input channel c of a block; source: the tap's weights. */
static int8_t weight_of(const struct conv_last_bytes *p, const int8_t *source, int64_t block, int64_t o, int64_t c)
{
    const struct conv_shape *s = &p->c.s;
    if (o >= p->out || c >= p->in || o / s->out_group != c / s->in_group)
        return 0;
    return source[(block * p->out + o) * s->w[0] + c % s->in_group * s->w[1]];
}

/* [block][panel][tap][pack][channel of the panel][pack of 4 bytes], zeros for missing weights, then the sums. */
static void last_pack(const struct conv_last_bytes *p, const int8_t *source, int8_t *to)
{
    const struct conv_shape *s = &p->c.s;
    const int64_t taps = s->kernel[0] * s->kernel[1] * s->kernel[2];
    int32_t *sums = (int32_t *)(to + p->panel_bytes * p->vecs * (uint64_t)p->blocks);
    memset(sums, 0, p->c.columns * sizeof(*sums));
    for (uint32_t all = 0; all < p->panels * p->blocks; all++) {
        const int64_t block = all / p->panels, panel = all % p->panels;
        const int64_t first = p->vecs * panel / p->panels * CONV_BYTES_LANES;
        const int64_t end = p->vecs * (panel + 1) / p->panels * CONV_BYTES_LANES;
        for (int64_t i = 0; i < taps * p->pixel; i += CONV_BYTES_PACK) {
            const int64_t tap = i / p->pixel, k1 = tap / s->kernel[2] % s->kernel[1], c = i % p->pixel;
            const int64_t from =
                tap / s->kernel[2] / s->kernel[1] * s->w[2] + k1 * s->w[3] + tap % s->kernel[2] * s->w[4];
            for (int64_t o = first; o < end; o++)
                for (int64_t b = 0; b < CONV_BYTES_PACK; b += p->element, to += p->element) {
                    const int16_t weight = weight_of(p, source + from, block, o, (c + b) / p->element);
                    memcpy(to, &weight, (size_t)p->element); /* little-endian */
                    sums[block * p->c.block_columns + o] += weight;
                }
        }
    }
}

KERN_PACKED_ROW(conv_last_bytes_vnni, struct conv_last_bytes, conv_last_bytes_init(op, &plan), last_plan(&plan, out),
                last_pack(&plan, source, packed))
KERN_PACKED_ROW(conv_last_words_avx2, struct conv_last_bytes, conv_last_words_init(op, &plan), last_plan(&plan, out),
                last_pack(&plan, source, packed))
KERN_PLAN_ACCEPTS(conv_last_words, struct conv_last_bytes, conv_last_words_init(op, &plan))
KERN_PLAN_ACCEPTS(conv_last_bytes, struct conv_last_bytes, conv_last_bytes_init(op, &plan))
