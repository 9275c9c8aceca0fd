/* SPDX-License-Identifier: Apache-2.0 */
/* The convolutions of struct conv_last_bytes (conv_plans.h). */
#include "kernels/conv/conv_bytes_finish.h"
#include "kernels/conv/conv_last_band.h"
#include "kernels/gemm/ukernel.h"

struct last_run {
    struct last_band band;
    struct finish f;
};

/* ---- X ---- */

/* Sixteen pixels at a time, one pack of four planes after another. */
static void copy_planes(const struct last_band *r, const uint8_t *x, int64_t count, uint8_t *to)
{
    const int64_t plane = r->p.c.s.x[1], pixel = r->p.pixel;
    const __m128i signs = _mm_set1_epi8((char)r->p.c.flip);
    for (int64_t c = 0; c < r->p.in; c += CONV_BYTES_PACK, x += CONV_BYTES_PACK * plane, to += CONV_BYTES_PACK)
        for (int64_t i = 0; i < count; i += 16) {
            const int64_t some = BASE_MIN(count - i, 16);
            const __mmask16 mask = (__mmask16)(UINT32_C(0xffff) >> (16 - some));
            __m128i v[CONV_BYTES_PACK];
            uint32_t packs[16];
            for (int64_t k = 0; k < CONV_BYTES_PACK; k++)
                v[k] = c + k < r->p.in ? _mm_xor_si128(_mm_maskz_loadu_epi8(mask, x + k * plane + i), signs) : signs;
            const __m128i low = _mm_unpacklo_epi8(v[0], v[1]), high = _mm_unpackhi_epi8(v[0], v[1]);
            const __m128i low2 = _mm_unpacklo_epi8(v[2], v[3]), high2 = _mm_unpackhi_epi8(v[2], v[3]);
            _mm_storeu_si128((__m128i *)packs, _mm_unpacklo_epi16(low, low2));
            _mm_storeu_si128((__m128i *)packs + 1, _mm_unpackhi_epi16(low, low2));
            _mm_storeu_si128((__m128i *)packs + 2, _mm_unpacklo_epi16(high, high2));
            _mm_storeu_si128((__m128i *)packs + 3, _mm_unpackhi_epi16(high, high2));
            if (pixel == CONV_BYTES_PACK)
                _mm512_mask_storeu_epi32(to + i * pixel, mask, _mm512_loadu_si512(packs));
            for (int64_t k = 0; pixel > CONV_BYTES_PACK && k < some; k++)
                memcpy(to + (i + k) * pixel, &packs[k], sizeof(*packs));
        }
}

/* Pixels of at most one pack in sequence: sixteen at a time, four per lane. */
static void copy_packs(const uint8_t *x, int64_t channels, int64_t count, __m512i signs, uint8_t *to)
{
    uint32_t words[16];
    uint8_t places[64];
    for (uint32_t i = 0; i < 16; i++)
        words[i] = i / 4 * (uint32_t)channels + i % 4;
    for (uint32_t i = 0; i < 64; i++)
        places[i] = i % 4 < channels ? (uint8_t)(i % 16 / 4 * channels + i % 4) : 0x80;
    const __m512i order = _mm512_loadu_si512(words), in_lane = _mm512_loadu_si512(places);
    for (int64_t i = 0; i < count; i += 16, x += 16 * channels, to += 64) {
        const int64_t some = BASE_MIN(count - i, 16);
        const __m512i bytes = _mm512_maskz_loadu_epi8(~UINT64_C(0) >> (64 - some * channels), x);
        const __m512i packs = _mm512_shuffle_epi8(_mm512_permutexvar_epi32(order, bytes), in_lane);
        _mm512_mask_storeu_epi32(to, (__mmask16)(UINT32_C(0xffff) >> (16 - some)), _mm512_xor_si512(packs, signs));
    }
}

/* Pixels of a line, with flipped sign bits if X is signed. */
static void copy_pixels(const struct last_band *r, int64_t from, int64_t count, uint8_t *restrict to)
{
    const struct conv_shape *s = &r->p.c.s;
    const int64_t channels = r->p.in, pixel = r->p.pixel, step = s->x[4];
    const uint8_t *x = (const uint8_t *)r->call->data[0] + from + r->block * channels * s->x[1];
    const __m512i signs = _mm512_set1_epi8((char)r->p.c.flip);
    if (s->x[1] != 1 && channels > 1) {
        if (step == 1)
            copy_planes(r, x, count, to);
        for (int64_t c = 0; step != 1 && c < channels; c++)
            for (int64_t i = 0; i < count; i++)
                to[i * pixel + c] = x[i * step + c * s->x[1]] ^ r->p.c.flip;
        return;
    }
    if (step == channels && pixel == CONV_BYTES_PACK) {
        copy_packs(x, channels, count, signs, to);
        return;
    }
    const bool together = step == channels && pixel == channels;
    const int64_t runs = together ? 1 : count, length = together ? count * channels : channels;
    for (int64_t run = 0; run < runs; run++, x += step, to += pixel)
        for (int64_t i = 0; i < length; i += 64) {
            const __mmask64 mask = ~UINT64_C(0) >> (64 - BASE_MIN(length - i, 64));
            _mm512_mask_storeu_epi8(to + i, mask, _mm512_xor_si512(_mm512_maskz_loadu_epi8(mask, x + i), signs));
        }
}

/* ---- tiles ---- */

struct last_tile {
    const uint8_t *x; /* the copy */
    const int8_t *w;
    const int32_t *start;
    const float *scale;
    uint8_t *y;
    const int64_t *list, *x_at, *y_at;
    int64_t taps;
    uint32_t packs, stored; /* of a tap; rows */
    uint64_t mask;          /* channels that are stored */
};

#define EACH_ROW _Pragma("GCC unroll 14") for (uint32_t r = 0; r < rows; r++)
#define EACH_VEC _Pragma("GCC unroll 4") for (uint32_t v = 0; v < vecs; v++)

/* sums[rows][vecs], in memory: for tile sizes without a specialised function. */
static __attribute__((noinline)) void last_divide(const struct last_tile *t, const struct finish *f,
                                                  const __m512i *sums, uint32_t vecs)
{
    for (uint32_t r = 0; r < t->stored; r++) {
        __m512i number[CONV_PW_BYTES_VECS] = { _mm512_setzero_si512() };
        for (uint32_t v = 0; v < vecs; v++)
            number[v] = scaled(sums[r * vecs + v], _mm512_loadu_ps(t->scale + v * CONV_BYTES_LANES), &f->by, DIVIDE);
        finished_store(f, number, t->mask, t->y + t->y_at[r]);
    }
}

DENSE_INLINE void last_multiply(uint32_t rows, uint32_t vecs, enum scaling scaling, const struct last_tile *t,
                                const struct finish *f)
{
    const int8_t *w = t->w;
    __m512i sums[CONV_PW_BYTES_ROWS][CONV_PW_BYTES_VECS];
    int64_t at[CONV_PW_BYTES_ROWS];
    EACH_ROW at[r] = t->x_at[r];
    EACH_ROW
    EACH_VEC
    sums[r][v] = _mm512_loadu_si512(t->start + v * CONV_BYTES_LANES);
    for (int64_t tap = 0; tap < t->taps; tap++) {
        const uint8_t *x = t->x + t->list[tap];
        for (uint32_t i = 0; i < t->packs; i++, x += CONV_BYTES_PACK, w += vecs * CONV_BYTES_WIDTH) {
            __m512i right[CONV_PW_BYTES_VECS];
            EACH_VEC
            right[v] = _mm512_loadu_si512(w + v * CONV_BYTES_WIDTH);
            EACH_ROW
            {
                int32_t pack;
                memcpy(&pack, x + at[r], sizeof(pack));
                const __m512i left = _mm512_set1_epi32(pack);
                EACH_VEC
                sums[r][v] = multiply_add(sums[r][v], left, right[v]);
            }
        }
    }
    if (scaling == BY_INVERSE && f->scaling == DIVIDE) {
        __m512i all[CONV_PW_BYTES_ROWS * CONV_PW_BYTES_VECS];
        EACH_ROW
        EACH_VEC
        all[r * vecs + v] = sums[r][v];
        last_divide(t, f, all, vecs);
        return;
    }
    EACH_ROW
    {
        __m512i number[CONV_PW_BYTES_VECS] = { _mm512_setzero_si512() };
        if (r >= t->stored)
            return;
        EACH_VEC
        number[v] = scaled(sums[r][v], _mm512_loadu_ps(t->scale + v * CONV_BYTES_LANES), &f->by, scaling);
        finished_store(f, number, t->mask, t->y + t->y_at[r]);
    }
}

/* Pixels of a tile by its vectors: limited by the number of registers. */
static const uint32_t last_rows[] = { 0, 14, 12, 8, 6 };

DENSE_INLINE void last_tile_of(uint32_t vecs, const struct last_tile *t, const struct finish *f)
{
    if (f->scaling == MULTIPLY)
        last_multiply(last_rows[vecs], vecs, MULTIPLY, t, f);
    else
        last_multiply(last_rows[vecs], vecs, BY_INVERSE, t, f);
}

static void last_unit(struct last_run *run, int64_t unit)
{
    struct last_band *r = &run->band;
    const struct conv_last_bytes *p = &r->p;
    const int64_t block = unit / p->panels % p->blocks, band = unit / p->panels / p->blocks;
    const uint32_t panel = (uint32_t)(unit % p->panels), first_vec = p->vecs * panel / p->panels;
    const uint32_t vecs = p->vecs * (panel + 1) / p->panels - first_vec, first = first_vec * CONV_BYTES_LANES;
    const uint32_t used = BASE_MIN((uint32_t)p->out - first, vecs * CONV_BYTES_LANES), rows = last_rows[vecs];
    const uint32_t column = (uint32_t)block * p->c.block_columns + first;
    last_band_for(r, band, block, unit / p->panels, copy_pixels);
    struct last_tile t = { .x = (const uint8_t *)r->scratch + p->image,
                           .list = (const int64_t *)(r->scratch + p->list),
                           .x_at = (const int64_t *)(r->scratch + p->x_at),
                           .y_at = (const int64_t *)(r->scratch + p->y_at),
                           .taps = p->taps,
                           .packs = (uint32_t)(p->run / CONV_BYTES_PACK) };
    t.w = (const int8_t *)r->call->data[1] + (uint64_t)(block * p->vecs + first_vec) * p->panel_bytes;
    t.start = (const int32_t *)r->scratch + column;
    t.scale = (const float *)r->scratch + p->c.columns + column;
    t.mask = ~UINT64_C(0) >> (64 - used);
    t.y = (uint8_t *)r->call->data[r->call->op->input_count] + block * p->out + first;
    for (int64_t pixel = 0; pixel < r->pixels; pixel += rows, t.x_at += rows, t.y_at += rows) {
        t.stored = (uint32_t)BASE_MIN(r->pixels - pixel, rows);
        UKERNEL_BY_COUNT(vecs, CONV_PW_BYTES_VECS, last_tile_of, &t, &run->f)
    }
}

void kern_conv_last_bytes_vnni_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    struct last_run r = { .band = { .call = call, .scratch = call->worker_scratch, .listed = -1, .loaded = -1 } };
    conv_last_bytes_init(call->op, &r.band.p);
    const struct conv_last_bytes *p = &r.band.p;
    int32_t *start = call->worker_scratch;
    const int32_t *sums =
        (const int32_t *)((const char *)call->data[1] + p->panel_bytes * p->vecs * (uint64_t)p->blocks);
    float largest = conv_bytes_parameters(call, &p->c, sums, false, start, (float *)(start + p->c.columns));
    r.f = finish_of(call, &p->c, largest);
    for (uint64_t unit = begin; unit < end; unit++)
        last_unit(&r, (int64_t)unit);
}
