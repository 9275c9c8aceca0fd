/* Tiles of the convolution of conv_few_in.h, and the rows of the image that they read; also the first step of fused
 * blocks. */
#ifndef KERNELS_CONV_FEW_IN_TILE_H
#define KERNELS_CONV_FEW_IN_TILE_H

#include "kernels/conv/conv_few_in.h"
#include "kernels/vec/dense_vec.h"

/* A tile that fits in registers; smaller ones for the ends of rows. */
#if VEC == 16
#define FEW_BLOCKS 2
#define FEW_PIXELS 14
#define FEW_HALF   8
#define FEW_REST   4
#else
#define FEW_BLOCKS 1
#define FEW_PIXELS 6
#define FEW_HALF   4
#define FEW_REST   2
#endif
#define FEW_WIDTH (FEW_BLOCKS * CONV_FEW_IN_LANES) /* channels of a tile */
#define FEW_VECS  (FEW_WIDTH / VEC)

struct few {
    struct conv_few_in f;
    const struct kern_call *call;
    const float *weights;
    float *image, *bias, *results;
    int32_t *offsets;
};

/* Where a tile reads and writes. */
struct few_tile {
    const float *x, *w, *bias;
    float *y;
    int64_t y_step;   /* from pixel to pixel */
    int64_t channels; /* to store */
    int64_t pixels;
};

DENSE_INLINE vec few_end(const struct few *r, vec value)
{
    if (r->f.relu)
        return vec_max(vec_set(0), value); /* NaN stays */
    return r->f.clamp ? vec_min(vec_max(value, vec_set(r->f.low)), vec_set(r->f.high)) : value;
}

DENSE_INLINE void few_tile_end(const struct few *r, const struct few_tile *t, vec acc[FEW_PIXELS][FEW_VECS], int pixels,
                               int vecs)
{
    const bool whole = t->pixels == pixels && t->channels >= vecs * VEC;
#pragma GCC unroll 14
    for (int p = 0; p < pixels; p++) {
#pragma GCC unroll 4
        for (int v = 0; v < vecs; v++) {
            vec value = few_end(r, acc[p][v]);
            if (whole)
                vec_store(t->y + p * t->y_step + v * VEC, value);
            else if (p < t->pixels && v * VEC < t->channels)
                vec_store_some(DML_TENSOR_DATA_TYPE_FLOAT32, t->y + p * t->y_step, v * VEC, value,
                               t->channels - v * VEC);
        }
    }
}

/* pixels, vecs, stride: constants where that pays. */
DENSE_INLINE void few_tile_run(const struct few *r, const struct few_tile *t, int pixels, int vecs, int64_t stride)
{
    vec acc[FEW_PIXELS][FEW_VECS], w[FEW_VECS];
    const int64_t taps = r->f.taps;
#pragma GCC unroll 14
    for (int p = 0; p < pixels; p++)
#pragma GCC unroll 4
        for (int v = 0; v < vecs; v++)
            acc[p][v] = vec_load(t->bias + v * VEC);
    for (int64_t k = 0; k < taps; k++) {
        const float *x = t->x + r->offsets[k], *from = t->w + k * CONV_FEW_IN_LANES;
#pragma GCC unroll 4
        for (int v = 0; v < vecs; v++)
            w[v] =
                vec_load(from + v * VEC / CONV_FEW_IN_LANES * taps * CONV_FEW_IN_LANES + v * VEC % CONV_FEW_IN_LANES);
#pragma GCC unroll 14
        for (int p = 0; p < pixels; p++) {
            vec element = vec_set(x[p * stride]);
#pragma GCC unroll 4
            for (int v = 0; v < vecs; v++)
                acc[p][v] = vec_fma(element, w[v], acc[p][v]);
        }
    }
    few_tile_end(r, t, acc, pixels, vecs);
}

DENSE_INLINE void few_tile_by(const struct few *r, const struct few_tile *t, int pixels, int64_t stride)
{
    if (FEW_BLOCKS == 2 && t->channels <= CONV_FEW_IN_LANES)
        few_tile_run(r, t, pixels, FEW_VECS / FEW_BLOCKS, stride);
    else
        few_tile_run(r, t, pixels, FEW_VECS, stride);
}

/* The next pixels of a row with `left` more to do; t->pixels: how many. */
static inline void few_tile_next(const struct few *r, struct few_tile *t, int64_t left)
{
    const int64_t stride = r->f.s.stride[2], most = stride > 2 ? FEW_REST : left > FEW_HALF ? FEW_PIXELS : FEW_HALF;
    t->pixels = BASE_MIN(left, most);
    if (stride > 2 || left <= FEW_REST)
        few_tile_by(r, t, FEW_REST, stride);
    else if (most == FEW_PIXELS)
        stride == 1 ? few_tile_by(r, t, FEW_PIXELS, 1) : few_tile_by(r, t, FEW_PIXELS, 2);
    else
        stride == 1 ? few_tile_by(r, t, FEW_HALF, 1) : few_tile_by(r, t, FEW_HALF, 2);
}

/* The rows of the image that a band needs, from input row `first` on (which may be negative). */
static inline void few_load(const struct few *r, int64_t n, int64_t first)
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
static inline void few_offsets(const struct few *r)
{
    const struct conv_shape *s = &r->f.s;
    for (int64_t k = 0; k < r->f.taps; k++) {
        const int64_t line = k / s->kernel[2], c = line % s->in_channels, k1 = line / s->in_channels;
        r->offsets[k] =
            (int32_t)((k1 * s->dilation[1] * s->in_channels + c) * r->f.pitch + k % s->kernel[2] * s->dilation[2]);
    }
}

#endif
