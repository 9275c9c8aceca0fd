/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles of struct conv_small_cin, and the rows of the image that they read; also the first step of fused inverted
 * residuals. */
#ifndef KERNELS_CONV_SMALL_CIN_TILE_H
#define KERNELS_CONV_SMALL_CIN_TILE_H

#include "kernels/conv/conv_plans.h"
#include "kernels/row/curve.h"
#include "kernels/row/epilogue_vec.h"
#include "kernels/row/row.h"

/* A tile that fits the registers; smaller ones for the ends of rows. */
#if VEC == 16
#define CIN_BLOCKS 2
#define CIN_PIXELS 14
#define CIN_HALF   8
#define CIN_REST   4
#else
#define CIN_BLOCKS 1
#define CIN_PIXELS 6
#define CIN_HALF   4
#define CIN_REST   2
#endif
#define CIN_WIDTH (CIN_BLOCKS * CONV_SMALL_CIN_LANES) /* channels of a tile */
#define CIN_VECS  (CIN_WIDTH / VEC)

struct small_cin {
    struct conv_small_cin f;
    const struct kern_call *call;
    const float *weights;
    float *image, *bias, *results, *epilogue;
    int32_t *offsets;
};

/* Source and destination of a tile. */
struct small_cin_tile {
    const float *x, *w, *bias;
    float *y;
    int64_t y_step;   /* from pixel to pixel */
    int64_t channels; /* to store */
    int64_t pixels;
};

/* The whole tile as one row. */
DENSE_INLINE void small_cin_curve(const struct kern_epilogue_step *curve, vec acc[CIN_PIXELS][CIN_VECS], int pixels,
                                  int vecs)
{
    float tile[CIN_PIXELS * CIN_WIDTH];
#pragma GCC unroll 64
    for (int i = 0; i < pixels * vecs; i++)
        vec_store(tile + i * VEC, acc[i / vecs][i % vecs]);
    curve_tile(curve, (uint32_t)(pixels * vecs * VEC), tile);
#pragma GCC unroll 64
    for (int i = 0; i < pixels * vecs; i++)
        acc[i / vecs][i % vecs] = vec_load(tile + i * VEC);
}

#define CIN_ALL(value)                                                                                                 \
    _Pragma("GCC unroll 14") for (int i = 0; i < pixels; i++) _Pragma("GCC unroll 4") for (int v = 0; v < vecs; v++)   \
    {                                                                                                                  \
        const vec x = acc[i][v];                                                                                       \
        acc[i][v] = (value);                                                                                           \
    }

DENSE_INLINE void small_cin_tile_end(const struct small_cin *r, const struct small_cin_tile *t,
                                     vec acc[CIN_PIXELS][CIN_VECS], int pixels, int vecs)
{
    const struct kern_epilogue *post = &r->f.ends.post;
    const bool whole = t->pixels == pixels && t->channels >= vecs * VEC;
    for (const struct kern_epilogue_step *step = post->step; step < post->step + post->count; step++)
        KERN_EPILOGUE_STEP(step, CIN_ALL);
    if (r->f.ends.curved)
        small_cin_curve(&r->f.ends.curve, acc, pixels, vecs);
#pragma GCC unroll 14
    for (int p = 0; p < pixels; p++) {
#pragma GCC unroll 4
        for (int v = 0; v < vecs; v++) {
            if (whole)
                vec_store(t->y + p * t->y_step + v * VEC, acc[p][v]);
            else if (p < t->pixels && v * VEC < t->channels)
                vec_store_some(DML_TENSOR_DATA_TYPE_FLOAT32, t->y + p * t->y_step, v * VEC, acc[p][v],
                               t->channels - v * VEC);
        }
    }
}

/* pixels, vecs, stride: constants if that is faster. */
DENSE_INLINE void small_cin_tile_run(const struct small_cin *r, const struct small_cin_tile *t, int pixels, int vecs,
                                     int64_t stride)
{
    vec acc[CIN_PIXELS][CIN_VECS], w[CIN_VECS];
    const int64_t taps = r->f.taps;
#pragma GCC unroll 14
    for (int p = 0; p < pixels; p++)
#pragma GCC unroll 4
        for (int v = 0; v < vecs; v++)
            acc[p][v] = vec_load(t->bias + v * VEC);
    for (int64_t k = 0; k < taps; k++) {
        const float *x = t->x + r->offsets[k], *from = t->w + k * CONV_SMALL_CIN_LANES;
#pragma GCC unroll 4
        for (int v = 0; v < vecs; v++)
            w[v] = vec_load(from + v * VEC / CONV_SMALL_CIN_LANES * taps * CONV_SMALL_CIN_LANES +
                            v * VEC % CONV_SMALL_CIN_LANES);
#pragma GCC unroll 14
        for (int p = 0; p < pixels; p++) {
            vec element = vec_set(x[p * stride]);
#pragma GCC unroll 4
            for (int v = 0; v < vecs; v++)
                acc[p][v] = vec_fma(element, w[v], acc[p][v]);
        }
    }
    small_cin_tile_end(r, t, acc, pixels, vecs);
}

DENSE_INLINE void small_cin_tile_by(const struct small_cin *r, const struct small_cin_tile *t, int pixels,
                                    int64_t stride)
{
    if (CIN_BLOCKS == 2 && t->channels <= CONV_SMALL_CIN_LANES)
        small_cin_tile_run(r, t, pixels, CIN_VECS / CIN_BLOCKS, stride);
    else
        small_cin_tile_run(r, t, pixels, CIN_VECS, stride);
}

/* The next pixels of a row with `left` more to do; t->pixels: their number. */
static inline void small_cin_tile_next(const struct small_cin *r, struct small_cin_tile *t, int64_t left)
{
    const int64_t stride = r->f.s.stride[2], most = stride > 2 ? CIN_REST : left > CIN_HALF ? CIN_PIXELS : CIN_HALF;
    t->pixels = BASE_MIN(left, most);
    if (stride > 2 || left <= CIN_REST)
        small_cin_tile_by(r, t, CIN_REST, stride);
    else if (most == CIN_PIXELS)
        stride == 1 ? small_cin_tile_by(r, t, CIN_PIXELS, 1) : small_cin_tile_by(r, t, CIN_PIXELS, 2);
    else
        stride == 1 ? small_cin_tile_by(r, t, CIN_HALF, 1) : small_cin_tile_by(r, t, CIN_HALF, 2);
}

/* The rows of the image that a band needs, from input row `first` on (which may be negative). */
static inline void small_cin_load(const struct small_cin *r, int64_t n, int64_t first)
{
    const struct conv_shape *s = &r->f.s;
    const int64_t pad = BASE_MIN(s->pad[2], r->f.pitch), count = BASE_MIN(s->in[2], r->f.pitch - pad);
    float *to = r->image;
    for (int64_t i = 0; i < r->f.in_rows; i++) {
        const int64_t row = first + i;
        for (int64_t c = 0; c < s->in_channels; c++, to += r->f.pitch) {
            if (row < 0 || row >= s->in[1]) {
                memset(to, 0, (size_t)r->f.pitch * sizeof(*to));
                continue;
            }
            memset(to, 0, (size_t)pad * sizeof(*to));
            dense_load_row(r->call->data[0], n * s->x[0] + c * s->x[1] + row * s->x[3], s->x[4],
                           DML_TENSOR_DATA_TYPE_FLOAT32, (uint32_t)count, to + pad);
            memset(to + pad + count, 0, (size_t)(r->f.pitch - pad - count) * sizeof(*to));
        }
    }
}

/* Of each tap in the copy of the image. */
static inline void small_cin_offsets(const struct small_cin *r)
{
    const struct conv_shape *s = &r->f.s;
    for (int64_t k = 0; k < r->f.taps; k++) {
        const int64_t line = k / s->kernel[2], c = line % s->in_channels, k1 = line / s->in_channels;
        r->offsets[k] =
            (int32_t)((k1 * s->dilation[1] * s->in_channels + c) * r->f.pitch + k % s->kernel[2] * s->dilation[2]);
    }
}

#endif
