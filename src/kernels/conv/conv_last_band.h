/* SPDX-License-Identifier: Apache-2.0 */
/* Bands of struct conv_last_bytes: the copy of X and the places of taps and pixels in it. Compiled for each instruction
 * set. */
#ifndef KERNELS_CONV_LAST_BAND_H
#define KERNELS_CONV_LAST_BAND_H

#include "kernels/conv/conv_plans.h"
#include "kernels/gemm/gemm.h"

struct last_band {
    const struct kern_call *call;
    struct conv_last_bytes p;
    char *scratch;
    int64_t n, low[3], size[3], in_low[3], in_size[3];
    int64_t pixels;
    int64_t block;
    int64_t listed, loaded; /* the band whose offsets are in scratch, and the band and block whose inputs are */
};

/* Copies `count` pixels of a line from element `from` of X on. */
typedef void last_copy(const struct last_band *r, int64_t from, int64_t count, uint8_t *to);

static void last_pad(const struct last_band *r, int32_t value, uint8_t *to, int64_t bytes)
{
    if (r->p.element == 1) {
        memset(to, (uint8_t)value ^ r->p.c.flip, (size_t)bytes);
        return;
    }
    int16_t *words = (int16_t *)(void *)to;
    for (int64_t i = 0; i < bytes / 2; i++)
        words[i] = (int16_t)value;
}

static void load_band(const struct last_band *r, last_copy *copy)
{
    const struct conv_shape *s = &r->p.c.s;
    const int64_t line_bytes = r->in_size[2] * r->p.pixel;
    const int64_t begin = BASE_MIN(BASE_MAX(-r->in_low[2], 0), r->in_size[2]);
    const int64_t end = BASE_MAX(BASE_MIN(s->in[2] - r->in_low[2], r->in_size[2]), begin);
    const int32_t padding = conv_x_zero(r->call);
    uint8_t *to = (uint8_t *)r->scratch + r->p.image;
    for (int64_t line = 0; line < r->in_size[0] * r->in_size[1]; line++, to += line_bytes) {
        const int64_t i0 = r->in_low[0] + line / r->in_size[1], i1 = r->in_low[1] + line % r->in_size[1];
        if (i0 < 0 || i0 >= s->in[0] || i1 < 0 || i1 >= s->in[1]) {
            last_pad(r, padding, to, line_bytes);
            continue;
        }
        last_pad(r, padding, to, begin * r->p.pixel);
        last_pad(r, padding, to + end * r->p.pixel, (r->in_size[2] - end) * r->p.pixel);
        copy(r, r->n * s->x[0] + i0 * s->x[2] + i1 * s->x[3] + (r->in_low[2] + begin) * s->x[4], end - begin,
             to + begin * r->p.pixel);
    }
}

/* Offsets of taps from a pixel's first element, and of pixels in the copy and in Y. */
static void list_places(const struct last_band *r)
{
    const struct conv_last_bytes *p = &r->p;
    const struct conv_shape *s = &p->c.s;
    const int64_t line = r->in_size[2] * p->pixel, plane = r->in_size[1] * line, together = p->run / p->pixel;
    int64_t *list = (int64_t *)(r->scratch + p->list);
    int64_t *x_at = (int64_t *)(r->scratch + p->x_at), *y_at = (int64_t *)(r->scratch + p->y_at);
    for (int64_t t = 0; t < p->taps; t++) {
        const int64_t tap = t * together, k1 = tap / s->kernel[2] % s->kernel[1];
        list[t] = tap / s->kernel[2] / s->kernel[1] * s->dilation[0] * plane + k1 * s->dilation[1] * line +
                  tap % s->kernel[2] * s->dilation[2] * p->pixel;
    }
    int64_t i = 0;
    for (int64_t o0 = 0; o0 < r->size[0]; o0++)
        for (int64_t o1 = 0; o1 < r->size[1]; o1++) {
            const int64_t x = o0 * s->stride[0] * plane + o1 * s->stride[1] * line;
            const int64_t y = r->n * s->y[0] + (r->low[0] + o0) * s->y[2] + (r->low[1] + o1) * s->y[3];
            for (int64_t o2 = 0; o2 < r->size[2]; o2++, i++) {
                x_at[i] = x + o2 * s->stride[2] * p->pixel;
                y_at[i] = y + (r->low[2] + o2) * s->y[4];
            }
        }
    for (; i < r->pixels + CONV_PW_BYTES_ROWS; i++) { /* behind the last: the last again */
        x_at[i] = x_at[r->pixels - 1];
        y_at[i] = y_at[r->pixels - 1];
    }
}

static void band_init(struct last_band *r, int64_t band)
{
    const struct conv_last_bytes *p = &r->p;
    int64_t at = band;
    for (uint32_t d = 3; d-- > 0; at /= p->bands[d]) {
        r->low[d] = at % p->bands[d] * p->size[d];
        r->size[d] = BASE_MIN(p->size[d], p->c.s.out[d] - r->low[d]);
        conv_last_range(&p->c.s, d, r->low[d], r->size[d], &r->in_low[d], &r->in_size[d]);
    }
    r->n = at;
    r->pixels = r->size[0] * r->size[1] * r->size[2];
    list_places(r);
    r->listed = band;
}

/* The band and block of a unit, if they are not in scratch already; `key` identifies both. */
static void last_band_for(struct last_band *r, int64_t band, int64_t block, int64_t key, last_copy *copy)
{
    if (r->listed != band)
        band_init(r, band);
    r->block = block;
    if (r->loaded != key)
        load_band(r, copy);
    r->loaded = key;
}

#endif
