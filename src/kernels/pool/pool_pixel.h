/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling of inputs whose channels lie together, by vectors of channels, to any output. Included by pool_simd.c. */
#ifndef KERNELS_POOL_PIXEL_H
#define KERNELS_POOL_PIXEL_H

#include "kernels/pool/pool.h"
#include "kernels/vec/tile_body.h"

/* A row of the output, and the pixel of it that is worked on. */
struct pool_pixel {
    int64_t at[5];               /* batch, 0, output position */
    int64_t row_x, row_y;        /* elements; x: of the first taps inside, at column 0 */
    int64_t row_place;           /* of those in a channel */
    int64_t inside[2];           /* pixels from .. to have all columns of their windows inside */
    float row_share, full_share; /* of the outer dimensions; of a window's columns when all are inside */
    int64_t count[3], step[3];   /* taps inside */
    int64_t x_at, y_at, place;
    float share;
    int64_t channels, lanes; /* of the tensors; of a vector */
    float *tile;             /* [VEC][channels] where the output's channels do not lie together, else NULL */
};

DENSE_INLINE void pool_put(DML_TENSOR_DATA_TYPE type, const struct pool_fast *p, const struct pool_pixel *w, int64_t c,
                           vec value, int64_t lanes)
{
    if (w->tile)
        vec_store(w->tile + w->at[4] % VEC * w->channels + c, value);
    else
        vec_store_some(type, p->call->data[1], w->y_at + c, value, lanes);
}

/* columns: w->count[2]; lanes: w->lanes; constants where that pays. */
DENSE_INLINE vec pool_channels(DML_TENSOR_DATA_TYPE type, const struct pool_fast *p, const struct pool_pixel *w,
                               int64_t c, enum pool_kind kind, int64_t columns, int64_t lanes)
{
    vec acc = vec_set(kind == POOL_TOP ? -INFINITY : 0);
    for (int64_t k0 = 0; k0 < w->count[0]; k0++) {
        for (int64_t k1 = 0; k1 < w->count[1]; k1++) {
            int64_t at = w->x_at + k0 * w->step[0] + k1 * w->step[1] + c;
            for (int64_t k2 = 0; k2 < columns; k2++)
                acc = pool_join(kind, acc, vec_load_some(type, p->call->data[0], at + k2 * w->step[2], lanes));
        }
    }
    if (kind == POOL_SUM)
        acc *= vec_set(w->share);
    if (kind == POOL_SUM_SQUARE) {
        for (int i = 0; i < VEC; i++)
            acc[i] = sqrtf(acc[i]);
    }
    return acc;
}

/* The last vector of many channels overlaps the one before. */
DENSE_INLINE int64_t pool_vector_at(const struct pool_fast *p, const struct pool_pixel *w, int64_t c)
{
    return BASE_MIN(c, (int64_t)p->call->op->tensors[1].sizes[1] - w->lanes);
}

DENSE_INLINE void pool_pixel_columns(DML_TENSOR_DATA_TYPE type, const struct pool_fast *p, const struct pool_pixel *w,
                                     enum pool_kind kind, int64_t columns)
{
    const int64_t channels = p->call->op->tensors[1].sizes[1];
    if (w->lanes < VEC) {
        pool_put(type, p, w, 0, pool_channels(type, p, w, 0, kind, columns, w->lanes), w->lanes);
        return;
    }
    for (int64_t c = 0; c < channels; c += VEC) {
        int64_t from = pool_vector_at(p, w, c);
        pool_put(type, p, w, from, pool_channels(type, p, w, from, kind, columns, VEC), VEC);
    }
}

DENSE_INLINE void pool_pixel_as(DML_TENSOR_DATA_TYPE type, const struct pool_fast *p, const struct pool_pixel *w,
                                enum pool_kind kind)
{
    if (w->count[2] == 2)
        pool_pixel_columns(type, p, w, kind, 2);
    else if (w->count[2] == 3)
        pool_pixel_columns(type, p, w, kind, 3);
    else
        pool_pixel_columns(type, p, w, kind, w->count[2]);
}

/* ---- with indices ---- */

/* Indices of the channels of a vector from c on. */
static void pool_index_channels(const struct pool_fast *p, const struct pool_pixel *w, int64_t c, const float *best,
                                const int32_t *place)
{
    const struct pool_shape *s = &p->b.s;
    const int64_t to = pool_offset(s->index, w->at);
    for (int64_t i = 0; i < w->lanes; i++) {
        int64_t at[5] = { w->at[0], c + i, w->at[2], w->at[3], w->at[4] };
        const uint32_t here = best[i] == -INFINITY ? pool_place_of(&p->b, at) : (uint32_t)place[i];
        pool_store_index(p->call, to + (c + i) * s->index[1], pool_index_of(pool_index_base(p->call->op, s, at), here));
    }
}

/* The maxima of a vector of channels with their indices. */
static void pool_channels_first(const struct pool_fast *p, const struct pool_pixel *w, int64_t c)
{
    const struct pool_shape *s = &p->b.s;
    vec acc = vec_set(-INFINITY);
    vec_int place = vec_int_set(0);
    float best[VEC];
    int32_t places[VEC];
    for (int64_t k = 0; k < w->count[0] * w->count[1] * w->count[2]; k++) {
        int64_t k2 = k % w->count[2], k1 = k / w->count[2] % w->count[1], k0 = k / w->count[2] / w->count[1];
        int64_t at = w->x_at + k0 * w->step[0] + k1 * w->step[1] + k2 * w->step[2] + c;
        int64_t here = (k0 * s->dilation[0] * s->in[1] + k1 * s->dilation[1]) * s->in[2] + k2 * s->dilation[2];
        vec_take_greater(vec_load_some(p->type, p->call->data[0], at, w->lanes),
                         vec_int_set((int32_t)(w->place + here)), &acc, &place);
    }
    vec_store(best, acc);
    vec_int_store(places, place);
    pool_put(p->type, p, w, c, acc, w->lanes);
    pool_index_channels(p, w, c, best, places);
}

static void pool_pixel_first(const struct pool_fast *p, const struct pool_pixel *w)
{
    for (int64_t c = 0; c < (int64_t)p->call->op->tensors[1].sizes[1]; c += VEC)
        pool_channels_first(p, w, pool_vector_at(p, w, c));
}

/* ---- rows ---- */

static void pool_pixel_run(const struct pool_fast *p, const struct pool_pixel *w)
{
    if (p->indices)
        pool_pixel_first(p, w);
    else if (p->b.kind == POOL_SUM)
        VEC_BY_TYPE(p->type, pool_pixel_as, p, w, POOL_SUM);
    else if (p->b.kind == POOL_TOP)
        VEC_BY_TYPE(p->type, pool_pixel_as, p, w, POOL_TOP);
    else if (p->b.kind == POOL_SUM_ABS)
        pool_pixel_columns(p->type, p, w, POOL_SUM_ABS, w->count[2]);
    else
        pool_pixel_columns(p->type, p, w, POOL_SUM_SQUARE, w->count[2]);
}

static void pool_row_init(const struct pool_fast *p, const int64_t *at, struct pool_pixel *w)
{
    const struct pool_shape *s = &p->b.s;
    const int64_t channels = p->call->op->tensors[1].sizes[1];
    *w = (struct pool_pixel){ .row_x = at[0] * s->x[0], .row_y = at[0] * s->y[0], .row_share = 1, .full_share = 1 };
    memcpy(w->at, at, sizeof(w->at));
    for (uint32_t d = 0; d < 2; d++) {
        int64_t first, last;
        pool_taps(s, d, at[d + 2], &first, &last);
        int64_t from = last > first ? at[d + 2] * s->stride[d] - s->pad[d] + first * s->dilation[d] : 0;
        w->count[d] = last - first;
        w->step[d] = s->dilation[d] * s->x[d + 2];
        w->row_x += from * s->x[d + 2];
        w->row_y += at[d + 2] * s->y[d + 2];
        w->row_place = (w->row_place + from) * s->in[d + 1];
        w->row_share *= p->divides ? pool_share(p, d, at[d + 2]) : 1;
    }
    w->step[2] = s->dilation[2] * s->x[4];
    if (p->divides)
        w->full_share = 1 / (float)s->window[2];
    const int64_t span = s->in[2] + s->pad[2] - 1, taps = s->window[2] - 1;
    w->inside[0] = (s->pad[2] + s->stride[2] - 1) / s->stride[2];
    if (!taps || s->dilation[2] <= span / taps)
        w->inside[1] = (span - taps * s->dilation[2]) / s->stride[2] + 1;
    w->lanes = BASE_MIN(channels, VEC);
    w->channels = pool_tile_pitch(p->call->op);
    w->tile = s->y[1] == 1 ? NULL : p->call->worker_scratch;
}

static void pool_pixel_move(const struct pool_fast *p, struct pool_pixel *w, int64_t to)
{
    const struct pool_shape *s = &p->b.s;
    int64_t first = 0, last = s->window[2], from = to * s->stride[2] - s->pad[2];
    bool inside = to >= w->inside[0] && to < w->inside[1];
    if (!inside)
        pool_taps(s, 2, to, &first, &last);
    from = last > first ? from + first * s->dilation[2] : 0;
    w->at[4] = to;
    w->count[2] = last - first;
    w->x_at = w->row_x + from * s->x[4];
    w->y_at = w->row_y + to * s->y[4];
    w->place = w->row_place + from;
    w->share = w->row_share * (inside || !p->divides ? w->full_share : pool_share(p, 2, to));
}

/* The last `count` pixels from the tile to the output. */
static void pool_tile_flush(const struct pool_fast *p, const struct pool_pixel *w, int64_t count)
{
    const struct pool_shape *s = &p->b.s;
    const int64_t channels = p->call->op->tensors[1].sizes[1];
    struct tile_to to = { p->call->data[1], p->type, 0, s->y[4], s->y[1] };
    for (int64_t c = 0; c < channels; c += VEC) {
        to.at = w->row_y + (w->at[4] + 1 - count) * s->y[4] + c * s->y[1];
        tile_store(&to, w->tile + c, w->channels, count, BASE_MIN(channels - c, VEC));
    }
}

static void pool_pixels(const struct pool_fast *p, uint64_t begin, uint64_t end)
{
    const struct pool_shape *s = &p->b.s;
    for (uint64_t unit = begin; unit < end; unit++) {
        int64_t row = (int64_t)unit;
        int64_t at[5] = { row / s->out[1] / s->out[0], 0, row / s->out[1] % s->out[0], row % s->out[1] };
        struct pool_pixel w;
        pool_row_init(p, at, &w);
        for (int64_t i = 0; i < s->out[2]; i++) {
            pool_pixel_move(p, &w, i);
            pool_pixel_run(p, &w);
            if (w.tile && (i % VEC == VEC - 1 || i + 1 == s->out[2]))
                pool_tile_flush(p, &w, i % VEC + 1);
        }
    }
}

#endif
