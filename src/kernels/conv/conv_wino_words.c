/* SPDX-License-Identifier: Apache-2.0 */
/* Accepts 8-bit convolutions for Winograd's algorithm in 16 bits (struct conv_wino_words), plans their work, and packs
 * their weights. */
#include "kernels/conv/conv_plans.h"
#include "kernels/core/isa.h"

enum {
    CHANNELS_MIN = 16,        /* words of a vector */
    CHANNELS_MAX = 1820,      /* 4 * 9 products of 255 and 128 for each do not exceed INT32 */
    BLOCK_BYTES = 256 * 1024, /* of transformed tiles and sums: in the second-level cache */
    BLOCK_MIN = 18,           /* tiles that are multiplied with a panel, or most of the time goes into reading it */
    SUM_BYTES = CONV_BYTES_LANES * (int)sizeof(int32_t),
    APART = 64, /* points of a tile are not all in one set of a cache */
};

static bool shape_suits(const struct conv_shape *s)
{
    bool suits = s->groups == 1 && conv_is_plane(s) && s->x[1] == 1 && s->y[1] == 1 && s->out_channels > 1;
    for (uint32_t d = 1; d < KERN_SPATIAL_MAX; d++)
        suits = suits && s->kernel[d] == 3 && s->stride[d] == 1 && s->dilation[d] == 1;
    return suits && s->in_channels % 2 == 0 && s->in_channels >= CHANNELS_MIN && s->in_channels <= CHANNELS_MAX;
}

/* Cycles, fitted to measurements: of two vector multiplications, of the transforms of a tile's vector of inputs and of
 * its vector of results; of the end of a pixel's vector and of its copy in conv_last_words. */
static bool pays(const struct conv_wino_words *w)
{
    const struct conv_shape *s = &w->c.s;
    const double in = s->in_channels, pixels = (double)s->batch * (double)s->out[1] * (double)s->out[2];
    const double products = w->tiles * (double)CONV_WINO_WORDS_POINTS * in / 2 * w->vecs * 1.25;
    const double transforms = w->tiles * (in / 16 * 60 + w->vecs * 90.0);
    const double weights = (double)w->panel_bytes * w->vecs / 16;
    const double direct = pixels * 9 * in / 2 * w->vecs * 1.25, ends = pixels * (w->vecs * 12.0 + in / 8);
    return products + transforms + weights < 0.95 * (direct + ends);
}

bool conv_wino_words_init(const struct kern_op *op, struct conv_wino_words *w)
{
    *w = (struct conv_wino_words){ 0 };
    const struct conv_shape *s = &w->c.s;
    if (!conv_bytes_init(op, &w->c) || !shape_suits(s))
        return false;
    w->c.flip = 0;
    w->rows = (uint32_t)((s->out[1] + 1) / 2);
    w->columns = (uint32_t)((s->out[2] + 1) / 2);
    const uint64_t tiles = (uint64_t)w->rows * w->columns * s->batch;
    w->tiles = (uint32_t)tiles;
    w->vecs = (s->out_channels + CONV_BYTES_LANES - 1) / CONV_BYTES_LANES;
    w->c.columns = w->vecs * CONV_BYTES_LANES;
    w->panel_bytes = (uint64_t)CONV_WINO_WORDS_POINTS * s->in_channels / 2 * SUM_BYTES;
    const uint64_t tile = CONV_WINO_WORDS_POINTS * (s->in_channels * sizeof(int16_t) + SUM_BYTES);
    const uint64_t most = BASE_MAX(BLOCK_BYTES / tile, BLOCK_MIN), least = (tiles + most - 1) / most;
    if (!tiles || tiles > UINT32_MAX || w->panel_bytes * w->vecs > INT32_MAX)
        return false;
    /* The same number for each thread, if their blocks do not become too small. */
    const uint64_t threads = BASE_MAX(op->threads, 1), even = (least + threads - 1) / threads * threads;
    w->blocks = (uint32_t)(even * BLOCK_MIN <= tiles ? even : least);
    w->block = (w->tiles + w->blocks - 1) / w->blocks;
    w->blocks = (w->tiles + w->block - 1) / w->block; /* none is empty */
    w->cuts = w->blocks < BASE_MAX(32, 4u * op->threads) ? w->vecs : 1;
    w->in_step = w->block * s->in_channels * sizeof(int16_t) + APART;
    w->sum_step = (uint64_t)w->block * SUM_BYTES + APART;
    dense_take(&w->scratch, w->c.columns * (sizeof(int32_t) + sizeof(float)), 64);
    w->in = dense_take(&w->scratch, CONV_WINO_WORDS_POINTS * w->in_step, 64);
    w->sums = dense_take(&w->scratch, CONV_WINO_WORDS_POINTS * w->sum_step, 64);
    w->outside = dense_take(&w->scratch, s->in_channels, 64);
    return pays(w);
}

static uint64_t wino_plan(const struct conv_wino_words *w, struct kern_work *out)
{
    *out = (struct kern_work){ .units = (uint64_t)w->blocks * w->cuts, .grain = 1 };
    out->worker_scratch_bytes = w->scratch;
    return w->panel_bytes * w->vecs + w->c.columns * sizeof(int32_t);
}

/* 4 times the transformed filter: whole numbers. */
static void transform(const int8_t *w, int64_t row, int64_t column, int16_t *to)
{
    int half[4][3];
    for (int64_t j = 0; j < 3; j++) {
        const int a = w[j * column], b = w[row + j * column], c = w[2 * row + j * column];
        half[0][j] = 2 * a;
        half[1][j] = a + b + c;
        half[2][j] = a - b + c;
        half[3][j] = 2 * c;
    }
    for (uint32_t i = 0; i < 4; i++, to += 4) {
        const int a = half[i][0], b = half[i][1], c = half[i][2];
        to[0] = (int16_t)(2 * a);
        to[1] = (int16_t)(a + b + c);
        to[2] = (int16_t)(a - b + c);
        to[3] = (int16_t)(2 * c);
    }
}

static int32_t filter_sum(const int8_t *w, int64_t row, int64_t column)
{
    int32_t sum = 0;
    for (int64_t i = 0; i < 9; i++)
        sum += w[i / 3 * row + i % 3 * column];
    return sum;
}

/* [panel][point][pair of input channels][channel of the panel][2 words], zeros for missing channels, then the sums. */
static void wino_pack(const struct conv_wino_words *w, const int8_t *source, int16_t *to)
{
    const struct conv_shape *s = &w->c.s;
    int32_t *sums = (int32_t *)(void *)((char *)to + w->panel_bytes * w->vecs);
    const uint64_t point_words = (uint64_t)s->in_channels * CONV_BYTES_LANES;
    memset(sums, 0, w->c.columns * sizeof(*sums));
    for (uint32_t panel = 0; panel < w->vecs; panel++, to += CONV_WINO_WORDS_POINTS * point_words)
        for (uint32_t c = 0; c < s->in_channels; c += 2)
            for (uint32_t i = 0; i < 2 * CONV_BYTES_LANES; i++) {
                const uint32_t o = panel * CONV_BYTES_LANES + i / 2;
                const int8_t *from = source + o * s->w[0] + (c + i % 2) * s->w[1];
                int16_t points[CONV_WINO_WORDS_POINTS] = { 0 };
                if (o < s->out_channels) {
                    transform(from, s->w[3], s->w[4], points);
                    sums[o] += filter_sum(from, s->w[3], s->w[4]);
                }
                for (uint32_t point = 0; point < CONV_WINO_WORDS_POINTS; point++)
                    to[point * point_words + (uint64_t)c * CONV_BYTES_LANES + i] = points[point];
            }
}

KERN_PACKED_ROW(conv_wino_words_avx2, struct conv_wino_words, conv_wino_words_init(op, &plan), wino_plan(&plan, out),
                wino_pack(&plan, source, packed))
KERN_PLAN_ACCEPTS(conv_wino_words, struct conv_wino_words, conv_wino_words_init(op, &plan))
