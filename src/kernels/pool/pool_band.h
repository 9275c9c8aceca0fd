/* SPDX-License-Identifier: Apache-2.0 */
/* Bands of pooling results from planes whose rows are contiguous; included once per instruction set. */
#ifndef KERNELS_POOL_BAND_H
#define KERNELS_POOL_BAND_H

#include "kernels/pool/pool.h"
#include "kernels/row/window.h"

#include <math.h>

#define POOL_CHUNK 16 /* taps that are combined in one pass */

struct pool_band {
    struct pool_shape s;
    struct window w;
    struct window_band band;
    const void *x;
    enum pool_kind kind;
    int32_t *place; /* POOL_TOP: the position of the first maximum, counted from tap 0; NULL: not needed */
};

/* acc with one more element x */
DENSE_INLINE vec pool_join(enum pool_kind kind, vec acc, vec x)
{
    if (kind == POOL_TOP)
        return vec_max(x, acc);
    if (kind == POOL_SUM_SQUARE)
        return vec_fma(x, x, acc);
    return acc + (kind == POOL_SUM_ABS ? vec_abs(x) : x);
}

DENSE_INLINE void pool_join_taps(enum pool_kind kind, const float *const *tap, int64_t taps, float *run, int64_t count)
{
    for (int64_t i = 0; i < count; i += 2 * VEC) {
        vec a = vec_load(run + i), b = vec_load(run + i + VEC);
        for (int64_t k = 0; k < taps; k++) {
            a = pool_join(kind, a, vec_load(tap[k] + i));
            b = pool_join(kind, b, vec_load(tap[k] + i + VEC));
        }
        vec_store(run + i, a);
        vec_store(run + i + VEC, b);
    }
}

DENSE_INLINE void pool_join_places(const float *const *tap, const int32_t *here, int64_t taps, float *run,
                                   int32_t *place, int64_t count)
{
    for (int64_t i = 0; i < count; i += VEC) {
        vec best = vec_load(run + i);
        vec_int at = vec_int_load(place + i);
        for (int64_t k = 0; k < taps; k++)
            vec_take_greater(vec_load(tap[k] + i), vec_int_set(here[k]), &best, &at);
        vec_store(run + i, best);
        vec_int_store(place + i, at);
    }
}

DENSE_INLINE void pool_join_some(enum pool_kind kind, const float *const *tap, int64_t taps, float *run, int64_t count)
{
    if (taps == 4)
        pool_join_taps(kind, tap, 4, run, count);
    else if (taps == 9)
        pool_join_taps(kind, tap, 9, run, count);
    else
        pool_join_taps(kind, tap, taps, run, count);
}

static void pool_join_chunk(const struct pool_band *b, const float *const *tap, const int32_t *here, int64_t taps,
                            int64_t count)
{
    if (b->place)
        pool_join_places(tap, here, taps, b->band.run, b->place, count);
    else
        POOL_BY_KIND(b->kind, pool_join_some, tap, taps, b->band.run, count);
}

/* Combines one depth slice of the window with the band's results. Positions outside the input may wrap. */
static void pool_join_slice(const struct pool_band *b, int64_t depth, int64_t count)
{
    const struct window *w = &b->w;
    int64_t taps = w->kernel[0] * w->kernel[1];
    for (int64_t k = 0; k < taps; k += POOL_CHUNK) {
        const float *tap[POOL_CHUNK];
        int32_t here[POOL_CHUNK];
        int64_t now = BASE_MIN(taps - k, POOL_CHUNK);
        for (int64_t j = 0; j < now; j++) {
            int64_t k0 = (k + j) / w->kernel[1], k1 = (k + j) % w->kernel[1];
            tap[j] = window_tap(w, &b->band, k0, k1);
            here[j] = (int32_t)(((uint64_t)depth * (uint64_t)w->in[0] + (uint64_t)(k0 * w->dilation[0])) *
                                    (uint64_t)w->in[1] +
                                (uint64_t)(k1 * w->dilation[1]));
        }
        pool_join_chunk(b, tap, here, now, count);
    }
}

/* Results of output rows first .. first + rows - 1 at depth `depth` into band.run (rows w.pitch apart) and place.
 * plane: element of the channel's first element. */
static void pool_band_run(const struct pool_band *b, int64_t plane, int64_t depth, int64_t first, int64_t rows)
{
    const struct pool_shape *s = &b->s;
    int64_t count = (int64_t)base_align_up((uint64_t)(rows * b->w.pitch), 2 * VEC), begin, end;
    pool_taps(s, 0, depth, &begin, &end);
    window_fill(b->band.run, count, b->w.fill);
    for (int64_t k = begin; k < end; k++) {
        int64_t slice = depth * s->stride[0] - s->pad[0] + k * s->dilation[0];
        window_load(&b->w, &b->band, b->x, plane + slice * s->x[2], first, rows);
        pool_join_slice(b, k * s->dilation[0], count);
    }
}

#define POOL_NOWHERE UINT32_MAX

/* The reference's position: where nothing exceeds -infinity. */
static uint32_t pool_place_of(const struct pool_band *b, const int64_t at[5])
{
    struct pool_window window;
    pool_window_at(&b->s, b->x, at, &window);
    const struct pool_best best = pool_best_of(&b->s, &window, b->w.type);
    return best.found ? (uint32_t)best.position : POOL_NOWHERE;
}

/* The positions of the band's row `row` as row-major indices in the channel. at: batch, channel, depth and row of Y. */
static uint32_t *pool_places(const struct pool_band *b, const int64_t at[5], int64_t row)
{
    const struct pool_shape *s = &b->s;
    const float *run = b->band.run + row * b->w.pitch;
    uint32_t *place = (uint32_t *)b->place + row * b->w.pitch, lost = 0;
    uint64_t depth = (uint64_t)(at[2] * s->stride[0] - s->pad[0]), line = (uint64_t)(at[3] * s->stride[1] - s->pad[1]);
    uint32_t base = (uint32_t)((depth * (uint64_t)s->in[1] + line) * (uint64_t)s->in[2] - (uint64_t)s->pad[2]);
    uint32_t step = (uint32_t)s->stride[2];
    for (uint32_t i = 0; i < (uint32_t)s->out[2]; i++) {
        place[i] += base + i * step;
        lost |= run[i] == -INFINITY;
    }
    for (int64_t i = 0; lost && i < s->out[2]; i++) {
        if (run[i] == -INFINITY)
            place[i] = pool_place_of(b, (const int64_t[5]){ at[0], at[1], at[2], at[3], i });
    }
    return place;
}

#endif
