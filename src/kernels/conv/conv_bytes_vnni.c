/* SPDX-License-Identifier: Apache-2.0 */
/* The convolutions of struct conv_bytes (conv_plans.h). */
#include "kernels/conv/conv_bytes_finish.h"
#include "kernels/conv/conv_dw_lines.h"
#include "kernels/gemm/ukernel.h"

/* ---- pointwise ---- */

struct pw_tile {
    const uint8_t *x; /* rows x_step apart */
    const int8_t *w;
    const int32_t *start;
    const float *scale;
    uint8_t *y;
    int64_t x_step, y_step;
    uint32_t packs;
    uint64_t mask; /* channels that are stored */
};

#define EACH_ROW _Pragma("GCC unroll 14") for (uint32_t r = 0; r < rows; r++)
#define EACH_VEC _Pragma("GCC unroll 4") for (uint32_t v = 0; v < vecs; v++)

DENSE_INLINE void pw_store(const struct pw_tile *t, const struct finish *f, const __m512i *number, uint32_t row)
{
    finished_store(f, number, t->mask, t->y + row * t->y_step);
}

/* sums[rows][vecs], in memory: for tile sizes without a specialised function. */
static __attribute__((noinline)) void pw_divide(const struct pw_tile *t, const struct finish *f, const __m512i *sums,
                                                uint32_t rows, uint32_t vecs)
{
    for (uint32_t r = 0; r < rows; r++) {
        __m512i number[CONV_PW_BYTES_VECS] = { _mm512_setzero_si512() };
        for (uint32_t v = 0; v < vecs; v++)
            number[v] = scaled(sums[r * vecs + v], _mm512_loadu_ps(t->scale + v * CONV_BYTES_LANES), &f->by, DIVIDE);
        pw_store(t, f, number, r);
    }
}

DENSE_INLINE void pw_multiply(uint32_t rows, uint32_t vecs, bool flip, enum scaling scaling, const struct pw_tile *t,
                              const struct finish *f)
{
    const __m512i sign_bit = _mm512_set1_epi8((char)0x80);
    const uint8_t *x = t->x;
    const int8_t *w = t->w;
    const int64_t x_step = t->x_step;
    __m512i sums[CONV_PW_BYTES_ROWS][CONV_PW_BYTES_VECS];
    EACH_ROW
    EACH_VEC
    sums[r][v] = _mm512_loadu_si512(t->start + v * CONV_BYTES_LANES);
    for (uint32_t i = 0; i < t->packs; i++, x += CONV_BYTES_PACK, w += vecs * CONV_BYTES_WIDTH) {
        __m512i right[CONV_PW_BYTES_VECS];
        EACH_VEC
        right[v] = _mm512_loadu_si512(w + v * CONV_BYTES_WIDTH);
        EACH_ROW
        {
            int32_t pack;
            memcpy(&pack, x + r * x_step, sizeof(pack));
            __m512i left = _mm512_set1_epi32(pack);
            left = flip ? _mm512_xor_si512(left, sign_bit) : left;
            EACH_VEC
            sums[r][v] = multiply_add(sums[r][v], left, right[v]);
        }
    }
    if (scaling == BY_INVERSE && f->scaling == DIVIDE) {
        __m512i all[CONV_PW_BYTES_ROWS * CONV_PW_BYTES_VECS];
        EACH_ROW
        EACH_VEC
        all[r * vecs + v] = sums[r][v];
        pw_divide(t, f, all, rows, vecs);
        return;
    }
    EACH_ROW
    {
        __m512i number[CONV_PW_BYTES_VECS] = { _mm512_setzero_si512() };
        EACH_VEC
        number[v] = scaled(sums[r][v], _mm512_loadu_ps(t->scale + v * CONV_BYTES_LANES), &f->by, scaling);
        pw_store(t, f, number, r);
    }
}

/* Pixels of a tile by its vectors: limited by the number of registers. */
static const uint32_t pw_rows[] = { 0, 14, 12, 8, 6 };

DENSE_INLINE void pw_tile_of(uint32_t vecs, bool flip, const struct pw_tile *t, const struct finish *f)
{
    if (f->scaling == MULTIPLY)
        pw_multiply(pw_rows[vecs], vecs, flip, MULTIPLY, t, f);
    else
        pw_multiply(pw_rows[vecs], vecs, flip, BY_INVERSE, t, f);
}

static void pw_tile(const struct pw_tile *t, const struct finish *f, uint32_t vecs, bool flip)
{
    if (flip)
        UKERNEL_BY_COUNT(vecs, CONV_PW_BYTES_VECS, pw_tile_of, true, t, f)
    else
        UKERNEL_BY_COUNT(vecs, CONV_PW_BYTES_VECS, pw_tile_of, false, t, f)
}

/* The last pixels of a block, as a whole tile in scratch memory. */
static void pw_rest(const struct conv_pw_bytes *p, const struct pw_tile *t, const struct finish *f, uint32_t vecs,
                    uint32_t rows, uint8_t *scratch)
{
    uint8_t *x = scratch, *y = scratch + (uint64_t)CONV_PW_BYTES_ROWS * p->k;
    uint64_t used = (uint64_t)__builtin_popcountll(t->mask);
    struct pw_tile rest = *t;
    for (uint32_t r = 0; r < pw_rows[vecs]; r++)
        memcpy(x + (uint64_t)r * p->k, t->x + (int64_t)BASE_MIN(r, rows - 1) * t->x_step, p->k);
    rest.x = x;
    rest.x_step = p->k;
    rest.y = y;
    rest.y_step = CONV_BYTES_WIDTH;
    pw_tile(&rest, f, vecs, p->c.flip);
    for (uint32_t r = 0; r < rows; r++)
        memcpy(t->y + r * t->y_step, y + (uint64_t)r * CONV_BYTES_WIDTH, used);
}

static void pw_unit(const struct kern_call *call, const struct conv_pw_bytes *p, const struct finish *f, uint64_t unit)
{
    uint64_t block = unit / p->panels, first = block * p->block, end = BASE_MIN(first + p->block, p->pixels);
    uint32_t panel = (uint32_t)(unit % p->panels), first_vec = p->vecs * panel / p->panels;
    uint32_t vecs = p->vecs * (panel + 1) / p->panels - first_vec, column = first_vec * CONV_BYTES_LANES;
    uint32_t used = BASE_MIN(p->c.s.out_channels - column, vecs * CONV_BYTES_LANES), rows = pw_rows[vecs];
    char *scratch = call->worker_scratch;
    struct pw_tile t = { .x_step = p->x_step, .y_step = p->y_step, .packs = p->k / CONV_BYTES_PACK };
    t.w = (const int8_t *)call->data[1] + (uint64_t)column * p->k;
    t.start = (const int32_t *)scratch + column;
    t.scale = (const float *)scratch + p->c.columns + column;
    t.mask = ~UINT64_C(0) >> (64 - used);
    t.x = (const uint8_t *)call->data[0] + (int64_t)first * p->x_step;
    t.y = (uint8_t *)call->data[call->op->input_count] + (int64_t)first * p->y_step + column;
    for (; first + rows <= end; first += rows, t.x += rows * t.x_step, t.y += rows * t.y_step)
        pw_tile(&t, f, vecs, p->c.flip);
    if (first < end)
        pw_rest(p, &t, f, vecs, (uint32_t)(end - first), (uint8_t *)scratch + p->tile_scratch);
}

void kern_conv_pw_bytes_vnni_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    struct conv_pw_bytes p;
    conv_pw_bytes_init(call->op, &p);
    int32_t *start = call->worker_scratch;
    const int8_t *packed = call->data[1];
    float largest = conv_bytes_parameters(call, &p.c, (const int32_t *)(packed + (uint64_t)p.c.columns * p.k), false,
                                          start, (float *)(start + p.c.columns));
    const struct finish f = finish_of(call, &p.c, largest);
    for (uint64_t unit = begin; unit < end; unit++)
        pw_unit(call, &p, &f, unit);
}

/* ---- depthwise ---- */

struct dw {
    struct dw_lines lines;
    struct finish f;
};

/* Four taps of 64 channels. */
DENSE_INLINE void dw_add(__m512i *sums, const __m512i *x, const __m512i *w)
{
    __m512i ab = _mm512_unpacklo_epi8(x[0], x[1]), cd = _mm512_unpacklo_epi8(x[2], x[3]);
    sums[0] = multiply_add(sums[0], _mm512_unpacklo_epi16(ab, cd), w[0]);
    sums[1] = multiply_add(sums[1], _mm512_unpackhi_epi16(ab, cd), w[1]);
    ab = _mm512_unpackhi_epi8(x[0], x[1]);
    cd = _mm512_unpackhi_epi8(x[2], x[3]);
    sums[2] = multiply_add(sums[2], _mm512_unpacklo_epi16(ab, cd), w[2]);
    sums[3] = multiply_add(sums[3], _mm512_unpackhi_epi16(ab, cd), w[3]);
}

DENSE_INLINE void dw_put(const struct dw *r, const __m512i *sums, const float *scale, __mmask64 mask, uint8_t *y,
                         enum scaling scaling)
{
    __m512i number[4];
    for (uint32_t v = 0; v < 4; v++)
        number[v] = scaled(sums[v], _mm512_loadu_ps(scale + v * CONV_BYTES_LANES), &r->f.by, scaling);
    _mm512_mask_storeu_epi8(y, mask, finished(&r->f, number[0], number[1], number[2], number[3]));
}

/* A row of a block of channels. */
DENSE_INLINE void dw_block_3x3(const struct dw *r, uint32_t block, const int32_t *start, const float *scale,
                               __mmask64 mask, uint8_t *y, enum scaling scaling)
{
    const struct conv_shape *s = &r->lines.d.c.s;
    const int64_t channels = s->in_channels, step = s->stride[2] * channels, first = (int64_t)block * CONV_BYTES_WIDTH;
    const uint8_t *const rows[] = { r->lines.row[0] + first, r->lines.row[1] + first, r->lines.row[2] + first };
    const char *packed = (const char *)r->lines.call->data[1] + (uint64_t)block * 12 * 64;
    __m512i w[12];
#pragma GCC unroll 12
    for (uint32_t i = 0; i < 12; i++)
        w[i] = _mm512_loadu_si512(packed + i * 64);
    for (int64_t i = 0, at = 0; i < s->out[2]; i++, at += step, y += s->y[4]) {
        __m512i sums[4], x[12];
#pragma GCC unroll 12
        for (uint32_t t = 0; t < 12; t++)
            x[t] = t < 9 ? _mm512_maskz_loadu_epi8(mask, rows[t / 3] + at + t % 3 * channels) : _mm512_setzero_si512();
        for (uint32_t v = 0; v < 4; v++)
            sums[v] = _mm512_loadu_si512(start + v * CONV_BYTES_LANES);
#pragma GCC unroll 3
        for (uint32_t g = 0; g < 3; g++)
            dw_add(sums, x + 4 * g, w + 4 * g);
        dw_put(r, sums, scale, mask, y, scaling);
    }
}

DENSE_INLINE void dw_block_any(const struct dw *r, uint32_t block, const int32_t *start, const float *scale,
                               __mmask64 mask, uint8_t *y, enum scaling scaling)
{
    const struct conv_shape *s = &r->lines.d.c.s;
    const int64_t channels = s->in_channels, step = s->stride[2] * channels, first = (int64_t)block * CONV_BYTES_WIDTH;
    const uint8_t *taps[CONV_DW_BYTES_WINDOW * CONV_DW_BYTES_WINDOW + CONV_BYTES_PACK];
    const char *packed = (const char *)r->lines.call->data[1] + (uint64_t)block * r->lines.d.packs * 256;
    const uint32_t count = (uint32_t)(s->kernel[1] * s->kernel[2]);
    for (uint32_t t = 0; t < r->lines.d.packs * CONV_BYTES_PACK; t++) {
        uint32_t tap = t < count ? t : 0; /* those after the last have no weight */
        taps[t] = r->lines.row[tap / s->kernel[2]] + tap % s->kernel[2] * channels + first;
    }
    for (int64_t i = 0, at = 0; i < s->out[2]; i++, at += step, y += s->y[4]) {
        __m512i sums[4], x[4], w[4];
        for (uint32_t v = 0; v < 4; v++)
            sums[v] = _mm512_loadu_si512(start + v * CONV_BYTES_LANES);
        for (uint32_t g = 0; g < r->lines.d.packs; g++) {
            for (uint32_t v = 0; v < 4; v++) {
                x[v] = _mm512_maskz_loadu_epi8(mask, taps[4 * g + v] + at);
                w[v] = _mm512_loadu_si512(packed + (4 * g + v) * 64);
            }
            dw_add(sums, x, w);
        }
        dw_put(r, sums, scale, mask, y, scaling);
    }
}

DENSE_INLINE void dw_row(const struct dw *r, uint8_t *y, enum scaling scaling)
{
    const struct conv_shape *s = &r->lines.d.c.s;
    const int32_t *start = r->lines.call->worker_scratch;
    const float *scale = (const float *)start + r->lines.d.c.columns;
    for (uint32_t block = 0; block < r->lines.d.blocks; block++) {
        uint32_t first = block * CONV_BYTES_WIDTH, used = BASE_MIN(s->out_channels - first, CONV_BYTES_WIDTH);
        __mmask64 mask = ~UINT64_C(0) >> (64 - used);
        if (s->kernel[1] == 3 && s->kernel[2] == 3 && scaling != DIVIDE)
            dw_block_3x3(r, block, start + first, scale + first, mask, y + first, scaling);
        else
            dw_block_any(r, block, start + first, scale + first, mask, y + first, scaling);
    }
}

void kern_conv_dw_bytes_vnni_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    struct dw r = { .lines = { .call = call } };
    conv_dw_bytes_init(call->op, &r.lines.d);
    const struct conv_shape *s = &r.lines.d.c.s;
    const uint64_t weights = (uint64_t)r.lines.d.c.columns * r.lines.d.packs * CONV_BYTES_PACK;
    int32_t *start = call->worker_scratch;
    const uint8_t padding = (uint8_t)conv_x_zero(call) ^ r.lines.d.c.flip;
    float largest = conv_bytes_parameters(call, &r.lines.d.c, (const int32_t *)((const char *)call->data[1] + weights),
                                          true, start, (float *)(start + r.lines.d.c.columns));
    r.f = finish_of(call, &r.lines.d.c, largest);
    memset(dw_line(&r.lines, 0), padding, r.lines.d.line * ((uint64_t)s->kernel[1] + 1));
    memset(r.lines.held, -1, sizeof(r.lines.held));
    for (uint64_t unit = begin; unit < end; unit++) {
        int64_t n = (int64_t)unit / s->out[1], row = (int64_t)unit % s->out[1];
        dw_window(&r.lines, n, row);
        uint8_t *y = (uint8_t *)call->data[call->op->input_count] + n * s->y[0] + row * s->y[3];
        if (r.f.scaling == BY_INVERSE)
            dw_row(&r, y, BY_INVERSE);
        else if (r.f.scaling == MULTIPLY)
            dw_row(&r, y, MULTIPLY);
        else
            dw_row(&r, y, DIVIDE);
    }
}
