/* SPDX-License-Identifier: Apache-2.0 */
/* Winograd's 8-bit convolutions of struct conv_wino_words (conv_plans.h). */
#include "kernels/core/isa.h"
#include "kernels/gemm/blocked_gemm.h"
#include "kernels/gemm/ukernel.h"

#if defined(__AVX2__) && !defined(__AVX512F__)
#include "kernels/conv/conv_words_finish.h"

#include <immintrin.h>

enum { ROWS = 6, VECS = 2, LANES = 8, WORDS = 16 };
_Static_assert((int)VECS *LANES == CONV_BYTES_LANES, "a tile is as wide as a panel");

#define EACH(i, count) _Pragma("GCC unroll 8") for (uint32_t i = 0; i < (count); i++)

struct wino_run {
    const struct kern_call *call;
    struct conv_wino_words w;
    char *in, *sums;
    uint8_t *outside; /* a pixel of padding */
    const int32_t *start;
    const float *scale;
    struct finish finish;
};

struct place {
    int64_t image, row, column; /* of a tile's first result */
};

static struct place place_of(const struct conv_wino_words *w, uint32_t tile)
{
    const uint32_t line = tile / w->columns;
    return (struct place){ line / w->rows, 2 * (int64_t)(line % w->rows), 2 * (int64_t)(tile % w->columns) };
}

/* ---- inputs ---- */

DENSE_INLINE __m256i load_words(bool is_signed, const uint8_t *from)
{
    const __m128i bytes = _mm_loadu_si128((const __m128i *)from);
    return is_signed ? _mm256_cvtepi8_epi16(bytes) : _mm256_cvtepu8_epi16(bytes);
}

DENSE_INLINE void transform_in(const __m256i *d, __m256i *to)
{
    to[0] = _mm256_sub_epi16(d[0], d[2]);
    to[1] = _mm256_add_epi16(d[1], d[2]);
    to[2] = _mm256_sub_epi16(d[2], d[1]);
    to[3] = _mm256_sub_epi16(d[1], d[3]);
}

/* Sixteen channels of a tile's 4 x 4 pixels. */
DENSE_INLINE void channels_in(bool is_signed, const uint8_t *const *at, uint64_t channel, char *to, uint64_t step)
{
    __m256i rows[4][4], column[4], values[4];
    EACH(i, 4)
    {
        EACH(j, 4)
        column[j] = load_words(is_signed, at[4 * i + j] + channel);
        transform_in(column, rows[i]);
    }
    EACH(j, 4)
    {
        EACH(i, 4)
        column[i] = rows[i][j];
        transform_in(column, values);
        EACH(i, 4)
        _mm256_storeu_si256((__m256i *)(void *)(to + (4 * i + j) * step + channel * sizeof(int16_t)), values[i]);
    }
}

static void tile_in(const struct wino_run *r, uint32_t tile, char *to)
{
    const struct conv_shape *s = &r->w.c.s;
    const struct place p = place_of(&r->w, tile);
    const bool is_signed = r->call->op->tensors[0].type == DML_TENSOR_DATA_TYPE_INT8;
    const uint8_t *image = (const uint8_t *)r->call->data[0] + p.image * s->x[0], *at[16];
    for (int64_t i = 0; i < 4; i++)
        for (int64_t j = 0; j < 4; j++) {
            const int64_t row = p.row - s->pad[1] + i, column = p.column - s->pad[2] + j;
            const bool inside = row >= 0 && row < s->in[1] && column >= 0 && column < s->in[2];
            at[4 * i + j] = inside ? image + row * s->x[3] + column * s->x[4] : r->outside;
        }
    for (uint64_t c = 0; c < s->in_channels; c += WORDS) {
        const uint64_t channel = BASE_MIN(c, s->in_channels - WORDS); /* the last ones may be computed twice */
        if (is_signed)
            channels_in(true, at, channel, to, r->w.in_step);
        else
            channels_in(false, at, channel, to, r->w.in_step);
    }
}

/* ---- products ---- */

struct product {
    const char *in;
    uint64_t row; /* bytes from tile to tile */
    const __m256i *weights;
    uint32_t pairs;
    __m256i *sums;
};

DENSE_INLINE void multiply(uint32_t rows, const struct product *p)
{
    __m256i sums[ROWS][VECS];
    const __m256i *w = p->weights;
    EACH(r, rows)
    EACH(v, VECS)
    sums[r][v] = _mm256_setzero_si256();
    for (uint64_t i = 0; i < p->pairs; i++, w += VECS) {
        __m256i right[VECS];
        EACH(v, VECS)
        {
            right[v] = _mm256_loadu_si256(w + v);
            __asm__("" : "+x"(right[v])); /* not loaded again for each row */
        }
        EACH(r, rows)
        {
            int32_t pair;
            memcpy(&pair, p->in + r * p->row + i * sizeof(pair), sizeof(pair));
            const __m256i left = _mm256_set1_epi32(pair);
            /* GCC 12 copies and spills the sums around the intrinsic. */
            EACH(v, VECS)
            __asm__("vpaddd %1, %0, %0" : "+x"(sums[r][v]) : "x"(_mm256_madd_epi16(left, right[v])));
        }
    }
    EACH(r, rows)
    EACH(v, VECS)
    _mm256_storeu_si256(p->sums + r * VECS + v, sums[r][v]);
}

static void products(const struct wino_run *r, uint32_t panel, uint32_t count)
{
    const struct conv_wino_words *w = &r->w;
    const uint32_t groups = (count + ROWS - 1) / ROWS;
    struct product p = { .row = w->c.s.in_channels * sizeof(int16_t), .pairs = w->c.s.in_channels / 2 };
    for (uint32_t point = 0; point < CONV_WINO_WORDS_POINTS; point++) {
        p.weights = (const __m256i *)(const void *)((const char *)r->call->data[1] + panel * w->panel_bytes +
                                                    point * (w->panel_bytes / CONV_WINO_WORDS_POINTS));
        for (uint32_t i = 0, tile = 0; i < groups; i++) { /* of about the same height */
            const uint32_t rows = count * (i + 1) / groups - tile;
            p.in = r->in + point * w->in_step + tile * p.row;
            p.sums = (__m256i *)(void *)(r->sums + point * w->sum_step) + (uint64_t)tile * VECS;
            UKERNEL_BY_COUNT(rows, ROWS, multiply, &p)
            tile += rows;
        }
    }
}

/* ---- results ---- */

DENSE_INLINE void transform_out(const __m256i *m, __m256i *to)
{
    to[0] = _mm256_add_epi32(_mm256_add_epi32(m[0], m[1]), m[2]);
    to[1] = _mm256_sub_epi32(_mm256_sub_epi32(m[1], m[2]), m[3]);
}

/* Eight channels of a tile's 2 x 2 results. */
DENSE_INLINE void channels_out(const char *sums, uint64_t step, __m256i start, __m256i *to)
{
    __m256i half[2][4], column[4], values[2];
    EACH(j, 4)
    {
        EACH(i, 4)
        column[i] = _mm256_loadu_si256((const __m256i *)(const void *)(sums + (4 * i + j) * step));
        transform_out(column, values);
        half[0][j] = values[0];
        half[1][j] = values[1];
    }
    EACH(i, 2)
    {
        transform_out(half[i], values);
        EACH(j, 2)
        to[2 * i + j] = _mm256_add_epi32(_mm256_srai_epi32(values[j], 2), start);
    }
}

static void tile_out(const struct wino_run *r, uint32_t tile, uint32_t panel, const char *sums)
{
    const struct conv_wino_words *w = &r->w;
    const struct conv_shape *s = &w->c.s;
    const struct place p = place_of(w, tile);
    const uint32_t column = panel * CONV_BYTES_LANES, used = BASE_MIN(s->out_channels - column, CONV_BYTES_LANES);
    uint8_t *y = (uint8_t *)r->call->data[r->call->op->input_count];
    y += p.image * s->y[0] + p.row * s->y[3] + p.column * s->y[4] + column;
    __m256i values[VECS][4];
    EACH(v, VECS)
    channels_out(sums + v * sizeof(__m256i), w->sum_step,
                 _mm256_loadu_si256((const __m256i *)(const void *)(r->start + column) + v), values[v]);
    EACH(i, 4)
    {
        const __m256i pixel[VECS] = { values[0][i], values[1][i] };
        if (p.row + i / 2 < s->out[1] && p.column + i % 2 < s->out[2])
            finished_store(&r->finish, pixel, r->scale + column, used, y + i / 2 * s->y[3] + i % 2 * s->y[4]);
    }
}

static void wino_block(const struct wino_run *r, uint32_t block, uint32_t panel, uint32_t end)
{
    const struct conv_wino_words *w = &r->w;
    const uint32_t first = block * w->block, count = BASE_MIN(w->block, w->tiles - first);
    for (uint32_t t = 0; t < count; t++)
        tile_in(r, first + t, r->in + t * w->c.s.in_channels * sizeof(int16_t));
    for (; panel < end; panel++) {
        products(r, panel, count);
        for (uint32_t t = 0; t < count; t++)
            tile_out(r, first + t, panel, r->sums + t * CONV_BYTES_LANES * sizeof(int32_t));
    }
}

void kern_conv_wino_words_avx2_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    char *scratch = call->worker_scratch;
    struct wino_run r = { .call = call };
    conv_wino_words_init(call->op, &r.w);
    const struct conv_wino_words *w = &r.w;
    int32_t *start = (int32_t *)(void *)scratch;
    float *scale = (float *)(start + w->c.columns);
    const int32_t *sums = (const int32_t *)(const void *)((const char *)call->data[1] + w->panel_bytes * w->vecs);
    r.finish = finish_of(call, &w->c, conv_bytes_parameters(call, &w->c, sums, false, start, scale));
    r.start = start;
    r.scale = scale;
    r.in = scratch + w->in;
    r.sums = scratch + w->sums;
    r.outside = (uint8_t *)scratch + w->outside;
    memset(r.outside, (uint8_t)conv_x_zero(call), w->c.s.in_channels);
    while (begin < end) {
        const uint64_t block = begin / w->cuts, stop = BASE_MIN(end, (block + 1) * w->cuts);
        const uint32_t panel = w->cuts == 1 ? 0 : (uint32_t)(begin % w->cuts);
        wino_block(&r, (uint32_t)block, panel, w->cuts == 1 ? w->vecs : panel + (uint32_t)(stop - begin));
        begin = stop;
    }
}
#endif
