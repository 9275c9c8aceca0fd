/* SPDX-License-Identifier: Apache-2.0 */
/* The convolutions of struct conv_last_bytes without VNNI: X and the weights as 16-bit numbers, two of which are
 * multiplied and added exactly. Sums are requantised in registers. */
#include "kernels/core/isa.h"
#include "kernels/gemm/blocked_gemm.h"
#include "kernels/gemm/ukernel.h"

#if defined(__AVX2__) && !defined(__AVX512F__)
#include "kernels/conv/conv_last_band.h"
#include "kernels/conv/conv_words_finish.h"

#include <immintrin.h>

enum { WORDS_ROWS = 6, WORDS_VECS = 2, WORDS_LANES = 8 };
_Static_assert((int)WORDS_VECS *WORDS_LANES == CONV_BYTES_LANES, "a tile is as wide as a panel");

struct last_tile {
    const uint8_t *x; /* the copy */
    const int16_t *w;
    const int32_t *start;
    const float *scale;
    uint8_t *y;
    const int64_t *list, *x_at, *y_at;
    int64_t taps;
    uint32_t packs, used; /* of a tap; channels that are stored */
};

#define EACH_ROW _Pragma("GCC unroll 6") for (uint32_t r = 0; r < rows; r++)
#define EACH_VEC _Pragma("GCC unroll 2") for (uint32_t v = 0; v < WORDS_VECS; v++)

DENSE_INLINE void last_tile(uint32_t rows, const struct last_tile *t, const struct finish *f)
{
    const __m256i *w = (const __m256i *)(const void *)t->w;
    __m256i sums[WORDS_ROWS][WORDS_VECS];
    int64_t at[WORDS_ROWS];
    EACH_ROW at[r] = t->x_at[r];
    EACH_ROW
    EACH_VEC
    sums[r][v] = _mm256_loadu_si256((const __m256i *)t->start + v);
    for (int64_t tap = 0; tap < t->taps; tap++) {
        const uint8_t *x = t->x + t->list[tap];
        for (uint32_t i = 0; i < t->packs; i++, x += CONV_BYTES_PACK, w += WORDS_VECS) {
            __m256i right[WORDS_VECS];
            EACH_VEC
            {
                right[v] = _mm256_loadu_si256(w + v);
                __asm__("" : "+x"(right[v])); /* not loaded again for each row */
            }
            EACH_ROW
            {
                int32_t pack;
                memcpy(&pack, x + at[r], sizeof(pack));
                const __m256i left = _mm256_set1_epi32(pack);
                /* GCC 12 copies and spills the sums around the intrinsic. */
                EACH_VEC
                __asm__("vpaddd %1, %0, %0" : "+x"(sums[r][v]) : "x"(_mm256_madd_epi16(left, right[v])));
            }
        }
    }
    EACH_ROW
    finished_store(f, sums[r], t->scale, t->used, t->y + t->y_at[r]);
}

/* ---- X ---- */

static void widen(const struct last_band *r, const uint8_t *restrict x, int64_t count, int16_t *restrict to)
{
    if (r->call->op->tensors[0].type == DML_TENSOR_DATA_TYPE_INT8)
        for (int64_t i = 0; i < count; i++)
            to[i] = (int8_t)x[i];
    else
        for (int64_t i = 0; i < count; i++)
            to[i] = x[i];
}

static void copy_words(const struct last_band *r, int64_t from, int64_t count, uint8_t *restrict to)
{
    const struct conv_shape *s = &r->p.c.s;
    const int64_t channels = r->p.in, pixel = r->p.pixel / 2, step = s->x[4];
    const uint8_t *x = (const uint8_t *)r->call->data[0] + from + r->block * channels * s->x[1];
    const bool is_signed = r->call->op->tensors[0].type == DML_TENSOR_DATA_TYPE_INT8;
    int16_t *words = (int16_t *)(void *)to;
    if (pixel > channels) /* in whole packs */
        for (int64_t i = 0; i < count; i++)
            words[i * pixel + channels] = 0;
    if (s->x[1] != 1 && channels > 1) {
        for (int64_t c = 0; c < channels; c++, x += s->x[1])
            for (int64_t i = 0; i < count; i++)
                words[i * pixel + c] = is_signed ? (int8_t)x[i * step] : x[i * step];
        return;
    }
    if (step == channels && pixel == channels) {
        widen(r, x, count * channels, words);
        return;
    }
    for (int64_t i = 0; i < count; i++, x += step, words += pixel)
        widen(r, x, channels, words);
}

/* ---- units ---- */

static void last_unit(struct last_band *r, const struct finish *f, int64_t unit)
{
    const struct conv_last_bytes *p = &r->p;
    const int64_t block = unit / p->panels % p->blocks;
    const uint32_t first = (uint32_t)(unit % p->panels) * CONV_BYTES_LANES;
    const uint32_t column = (uint32_t)block * p->c.block_columns + first;
    last_band_for(r, unit / p->panels / p->blocks, block, unit / p->panels, copy_words);
    struct last_tile t = { .x = (const uint8_t *)r->scratch + p->image,
                           .list = (const int64_t *)(r->scratch + p->list),
                           .x_at = (const int64_t *)(r->scratch + p->x_at),
                           .y_at = (const int64_t *)(r->scratch + p->y_at),
                           .taps = p->taps,
                           .packs = (uint32_t)(p->run / CONV_BYTES_PACK) };
    t.w = (const int16_t *)(const void *)((const char *)r->call->data[1] +
                                          (uint64_t)(block * p->vecs + unit % p->panels) * p->panel_bytes);
    t.start = (const int32_t *)r->scratch + column;
    t.scale = (const float *)r->scratch + p->c.columns + column;
    t.used = BASE_MIN((uint32_t)p->out - first, CONV_BYTES_LANES);
    t.y = (uint8_t *)r->call->data[r->call->op->input_count] + block * p->out + first;
    const int64_t tiles = (r->pixels + WORDS_ROWS - 1) / WORDS_ROWS;
    for (int64_t i = 0, pixel = 0; i < tiles; i++) { /* of about the same height */
        const int64_t rows = r->pixels * (i + 1) / tiles - pixel;
        UKERNEL_BY_COUNT((uint32_t)rows, WORDS_ROWS, last_tile, &t, f)
        pixel += rows;
        t.x_at += rows;
        t.y_at += rows;
    }
}

void kern_conv_last_words_avx2_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    struct last_band r = { .call = call, .scratch = call->worker_scratch, .listed = -1, .loaded = -1 };
    conv_last_words_init(call->op, &r.p);
    const struct conv_last_bytes *p = &r.p;
    int32_t *start = call->worker_scratch;
    const int32_t *sums =
        (const int32_t *)((const char *)call->data[1] + p->panel_bytes * p->vecs * (uint64_t)p->blocks);
    const float largest = conv_bytes_parameters(call, &p->c, sums, false, start, (float *)(start + p->c.columns));
    const struct finish f = finish_of(call, &p->c, largest);
    for (uint64_t unit = begin; unit < end; unit++)
        last_unit(&r, &f, (int64_t)unit);
}
#endif
