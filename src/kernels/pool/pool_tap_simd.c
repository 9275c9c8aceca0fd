/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling tap by tap, in any layout: FLOAT64, whose taps are combined in the order of the reference so that results are
 * equal, and maxima of integers. Rows of results are computed one channel after another, or pixels of some channels. */
#include "kernels/core/isa.h"
#include "kernels/core/copy_body.h"
#include "kernels/pool/pool.h"

#include <math.h>

/* Taps `tap_step` apart of `count` results from the begin-th on, whose elements are `step` apart; positions alike. */
struct pool_span {
    const void *from;
    int64_t begin, count, step, taps, tap_step, position, stride, tap_stride;
};

/* The type of the accumulators of a row of results, or of the channels of a pixel: FLOAT64 or the integer type; with
 * indices of integers, keys: signed numbers in the same order of 64 bits for types of 64 and of 32 bits otherwise. The
 * positions in the channel have as many bits, -1 for none. */
struct pool_taps {
    const struct kern_call *call;
    const struct kern_pool *pool;
    struct pool_shape s;
    enum pool_kind kind;
    uint32_t bytes; /* of an element */
    void (*join)(const struct pool_taps *p, const struct pool_span *span);
    void *acc, *place;
    /* FLOAT64: results of a row whose windows have all columns inside. Integers: columns that any result reads. */
    int64_t inside[2];
    double *counts;     /* FLOAT64: divisors of a row's averages */
    void *line;         /* integers: rows of a window combined, followed by their columns; NULL: combined one by one */
    int64_t line_count; /* elements */
};

#define POOL_PLACES(wide, type)                                                                                        \
    for (int64_t i = 0; i < count; i++) {                                                                              \
        const wide place = ((const wide *)p->place)[i];                                                                \
        ((type *)to)[i * step] = place < 0 ? 0 : (type)(base + (uint64_t)place);                                       \
        base += base_step;                                                                                             \
        COPY_ONE_BY_ONE;                                                                                               \
    }

/* The indices of `count` results from `at` on, `step` apart, as those of channels `base_step` apart. */
static void pool_store_places(const struct pool_taps *p, const int64_t *at, int64_t step, uint64_t base_step,
                              int64_t count)
{
    const struct kern_op *op = p->call->op;
    const uint32_t bytes = kern_type_bytes(op->tensors[2].type);
    uint64_t base = pool_index_base(op, &p->s, at);
    char *to = (char *)p->call->data[2] + pool_offset(p->s.index, at) * bytes;
    if (p->bytes == 8 && bytes == 8)
        POOL_PLACES(int64_t, uint64_t)
    else if (p->bytes == 8)
        POOL_PLACES(int64_t, uint32_t)
    else if (bytes == 8)
        POOL_PLACES(int32_t, uint64_t)
    else
        POOL_PLACES(int32_t, uint32_t)
}

/* The window of `channels` results from `at` on. */
static void pool_pixel(const struct pool_taps *p, const int64_t *at, int64_t channels)
{
    const struct pool_shape *s = &p->s;
    struct pool_window w;
    pool_window_at(s, p->call->data[0], at, &w);
    if (w.begin[2] == w.end[2])
        return;
    const int64_t i2 = w.position[2] + w.begin[2] * s->dilation[2];
    struct pool_span span = { .count = channels,
                              .step = s->x[1],
                              .taps = w.end[2] - w.begin[2],
                              .tap_step = s->dilation[2] * s->x[4],
                              .tap_stride = s->dilation[2] };
    for (int64_t k0 = w.begin[0]; k0 < w.end[0]; k0++) {
        const int64_t i0 = w.position[0] + k0 * s->dilation[0];
        for (int64_t k1 = w.begin[1]; k1 < w.end[1]; k1++) {
            const int64_t i1 = w.position[1] + k1 * s->dilation[1];
            span.from = (const char *)w.x + (w.at + i0 * s->x[2] + i1 * s->x[3] + i2 * s->x[4]) * p->bytes;
            span.position = (i0 * s->in[1] + i1) * s->in[2] + i2;
            p->join(p, &span);
        }
    }
}

/* Stores the input rows of X for the row of results at `at` in `input`; returns their number. */
static int64_t pool_rows(const struct pool_taps *p, const int64_t *at,
                         void (*input)(const struct pool_taps *p, int64_t x_at, int64_t position, bool first))
{
    const struct pool_shape *s = &p->s;
    const int64_t channel = at[0] * s->x[0] + at[1] * s->x[1];
    int64_t begin[2], end[2], rows = 0;
    for (uint32_t d = 0; d < 2; d++)
        pool_taps(s, d, at[d + 2], &begin[d], &end[d]);
    for (int64_t k0 = begin[0]; k0 < end[0]; k0++) {
        const int64_t i0 = at[2] * s->stride[0] - s->pad[0] + k0 * s->dilation[0];
        for (int64_t k1 = begin[1]; k1 < end[1]; k1++) {
            const int64_t i1 = at[3] * s->stride[1] - s->pad[1] + k1 * s->dilation[1];
            input(p, channel + i0 * s->x[2] + i1 * s->x[3], (i0 * s->in[1] + i1) * s->in[2], !rows);
            rows++;
        }
    }
    return rows;
}

/* A row of pixels of `lanes` channels, one of all such rows: of the first. */
static void pool_pixels_at(const struct pool_taps *p, int64_t lanes, uint64_t unit, int64_t *at)
{
    const struct pool_shape *s = &p->s;
    const int64_t blocks = (p->call->op->tensors[1].sizes[1] + lanes - 1) / lanes, row = (int64_t)unit;
    at[4] = 0;
    at[3] = row % s->out[1];
    at[2] = row / s->out[1] % s->out[0];
    at[1] = row / s->out[1] / s->out[0] % blocks * lanes;
    at[0] = row / s->out[1] / s->out[0] / blocks;
}

/* ---- FLOAT64 ---- */

/* acc with one more element x */
DENSE_INLINE double pool_f64_one(enum pool_kind kind, double acc, double x)
{
    if (kind == POOL_TOP)
        return x > acc ? x : acc;
    return acc + (kind == POOL_SUM ? x : kind == POOL_SUM_ABS ? fabs(x) : x * x);
}

/* All taps of each result in one go: few taps, a constant number. */
DENSE_INLINE void pool_f64_few(enum pool_kind kind, const struct pool_span *span, double *restrict acc, int64_t taps,
                               int64_t step)
{
    const double *restrict from = span->from;
    const int64_t count = span->count, apart = span->tap_step;
    for (int64_t i = 0; i < count; i++) {
        double sum = acc[i];
        for (int64_t t = 0; t < taps; t++)
            sum = pool_f64_one(kind, sum, from[i * step + t * apart]);
        acc[i] = sum;
    }
}

/* Tap by tap. */
DENSE_INLINE void pool_f64_many(enum pool_kind kind, const struct pool_span *span, double *restrict acc, int64_t step)
{
    const int64_t count = span->count;
    for (int64_t t = 0; t < span->taps; t++) {
        const double *restrict from = (const double *)span->from + t * span->tap_step;
        for (int64_t i = 0; i < count; i++)
            acc[i] = pool_f64_one(kind, acc[i], from[i * step]);
    }
}

/* POOL_F64_CHANNELS results that stay in registers. */
DENSE_INLINE void pool_f64_lanes(enum pool_kind kind, const struct pool_span *span, double *restrict acc)
{
    double sum[POOL_F64_CHANNELS];
    memcpy(sum, acc, sizeof(sum));
    for (int64_t t = 0; t < span->taps; t++)
        for (int64_t i = 0; i < POOL_F64_CHANNELS; i++)
            sum[i] = pool_f64_one(kind, sum[i], ((const double *)span->from)[t * span->tap_step + i * span->step]);
    memcpy(acc, sum, sizeof(sum));
}

DENSE_INLINE void pool_f64_join_as(enum pool_kind kind, const struct pool_span *span, double *acc)
{
    if (span->count == POOL_F64_CHANNELS && span->step > 2)
        pool_f64_lanes(kind, span, acc);
    else if (span->taps == 2 && span->step == 2)
        pool_f64_few(kind, span, acc, 2, 2);
    else if (span->taps == 3 && span->step == 2)
        pool_f64_few(kind, span, acc, 3, 2);
    else if (span->taps == 3 && span->step == 1)
        pool_f64_few(kind, span, acc, 3, 1);
    else if (span->step == 1)
        pool_f64_many(kind, span, acc, 1);
    else if (span->step == 2)
        pool_f64_many(kind, span, acc, 2);
    else
        pool_f64_many(kind, span, acc, span->step);
}

/* Maxima and their positions; NaN is ignored. */
static void pool_f64_places(const struct pool_span *span, double *restrict acc, int64_t *restrict place)
{
    for (int64_t t = 0; t < span->taps; t++) {
        const double *restrict from = (const double *)span->from + t * span->tap_step;
        const int64_t position = span->position + t * span->tap_stride;
        for (int64_t i = 0; i < span->count; i++) {
            const double x = from[i * span->step];
            const bool take = x > acc[i] || (place[i] < 0 && x == x);
            acc[i] = take ? x : acc[i];
            place[i] = take ? position + i * span->stride : place[i];
        }
    }
}

static void pool_f64_join(const struct pool_taps *p, const struct pool_span *span)
{
    double *acc = (double *)p->acc + span->begin;
    if (p->pool->has_indices)
        pool_f64_places(span, acc, (int64_t *)p->place + span->begin);
    else
        POOL_BY_KIND(p->kind, pool_f64_join_as, span, acc);
}

static void pool_f64_clear(const struct pool_taps *p, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        ((double *)p->acc)[i] = p->pool->mode == KERN_POOL_MAX ? -INFINITY : 0;
        ((int64_t *)p->place)[i] = -1;
    }
}

/* The divisor of an average over some dimensions; 1 instead of 0, because the sum is 0 then. */
static double pool_f64_count(const struct pool_taps *p, const int64_t *at, uint32_t first, uint32_t end)
{
    double count = 1;
    for (uint32_t d = first; d < end; d++)
        count *= pool_count(&p->s, d, at[d + 2], p->pool->include_padding);
    return count > 0 ? count : 1;
}

/* `count` results from `at` on, along dimension d (channels or the last one). */
static void pool_f64_store(const struct pool_taps *p, const int64_t *at, uint32_t d, int64_t count)
{
    const struct pool_shape *s = &p->s;
    const double outer = p->pool->mode != KERN_POOL_AVERAGE ? 1 : pool_f64_count(p, at, 0, d == 1 ? 3 : 2);
    double *y = (double *)p->call->data[1] + pool_offset(s->y, at), *acc = p->acc;
    for (int64_t i = 0; i < count && p->pool->mode == KERN_POOL_AVERAGE; i++)
        acc[i] /= d == 1 ? outer : outer * p->counts[i];
    for (int64_t i = 0; i < count; i++)
        y[i * s->y[d]] = p->kind == POOL_SUM_SQUARE ? sqrt(acc[i]) : acc[i];
    if (p->pool->has_indices)
        pool_store_places(p, at, s->index[d],
                          d == 1 && p->pool->whole_indices ? (uint64_t)(s->in[0] * s->in[1] * s->in[2]) : 0, count);
}

/* `count` results from the begin-th on, with the same taps of the input row that starts with element x_at. */
static void pool_f64_piece(const struct pool_taps *p, int64_t x_at, int64_t position, int64_t begin, int64_t count)
{
    const struct pool_shape *s = &p->s;
    int64_t first, last;
    pool_taps(s, 2, begin, &first, &last);
    const int64_t at = begin * s->stride[2] - s->pad[2] + first * s->dilation[2];
    if (first == last)
        return;
    pool_f64_join(p, &(struct pool_span){ .from = (const double *)p->call->data[0] + x_at + at * s->x[4],
                                          .begin = begin,
                                          .count = count,
                                          .step = s->stride[2] * s->x[4],
                                          .taps = last - first,
                                          .tap_step = s->dilation[2] * s->x[4],
                                          .position = position + at,
                                          .stride = s->stride[2],
                                          .tap_stride = s->dilation[2] });
}

static void pool_f64_input(const struct pool_taps *p, int64_t x_at, int64_t position, bool first)
{
    const int64_t *inside = p->inside;
    for (int64_t i = 0; i < inside[0]; i++)
        pool_f64_piece(p, x_at, position, i, 1);
    if (inside[0] < inside[1])
        pool_f64_piece(p, x_at, position, inside[0], inside[1] - inside[0]);
    for (int64_t i = inside[1]; i < p->s.out[2]; i++)
        pool_f64_piece(p, x_at, position, i, 1);
}

static void pool_f64_columns(struct pool_taps *p)
{
    const struct pool_shape *s = &p->s;
    for (int64_t i = 0; i < s->out[2]; i++) {
        int64_t begin, end;
        p->counts[i] = pool_f64_count(p, (const int64_t[5]){ 0, 0, 0, 0, i }, 2, 3);
        pool_taps(s, 2, i, &begin, &end);
        if (end - begin < s->window[2])
            continue;
        p->inside[0] = p->inside[1] ? p->inside[0] : i;
        p->inside[1] = i + 1;
    }
}

static void pool_f64_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    struct pool_taps p = { .call = call, .pool = &call->op->u.pool, .bytes = 8, .join = pool_f64_join };
    p.kind = pool_kind_of(p.pool);
    const struct kern_view *y = &call->op->tensors[1];
    int64_t at[5];
    pool_shape_init(call->op, &p.s);
    const int64_t lanes = pool_f64_channels(call->op, &p.s), most = BASE_MAX(lanes, p.s.out[2]);
    p.acc = call->worker_scratch;
    p.place = (double *)p.acc + most;
    p.counts = (double *)p.place + most;
    if (!lanes)
        pool_f64_columns(&p);
    for (uint64_t unit = begin; unit < end; unit++) {
        if (!lanes) {
            pool_row_at(y, unit, at);
            pool_f64_clear(&p, p.s.out[2]);
            pool_rows(&p, at, pool_f64_input);
            pool_f64_store(&p, at, 4, p.s.out[2]);
            continue;
        }
        pool_pixels_at(&p, lanes, unit, at);
        const int64_t channels = BASE_MIN(lanes, y->sizes[1] - at[1]);
        for (; at[4] < p.s.out[2]; at[4]++) {
            pool_f64_clear(&p, channels);
            pool_pixel(&p, at, channels);
            pool_f64_store(&p, at, 1, channels);
        }
    }
}

KERN_ISA_RUN(pool_f64, pool_f64_run)

/* ---- maxima of integers ---- */

/* Including an element twice does not change a maximum: the last vector overlaps the previous one. */
enum { POOL_INT_PART = 32 };
#define POOL_INT_LANES(type) (POOL_INT_PART / (int64_t)sizeof(type))
#define POOL_INT_MAX(type, first, lanes, step)                                                                         \
    for (int64_t i = 0; i < (lanes); i++) {                                                                            \
        const type x = from[((first) + i) * (step)], b = best[(first) + i];                                            \
        best[(first) + i] = x > b ? x : b;                                                                             \
    }
/* Elements two apart as the low halves of pairs; the last one has no upper half. */
#define POOL_INT_LOW(type, pair, first, lanes)                                                                         \
    for (int64_t i = 0; i < (lanes); i++) {                                                                            \
        pair two;                                                                                                      \
        memcpy(&two, from + 2 * ((first) + i), sizeof(two));                                                           \
        best[(first) + i] = (type)two > best[(first) + i] ? (type)two : best[(first) + i];                             \
    }
#define POOL_INT_PAIRS(type, pair)                                                                                     \
    const int64_t pairs = count - 1;                                                                                   \
    if (pairs >= POOL_INT_PART) {                                                                                      \
        for (; at + POOL_INT_PART <= pairs; at += POOL_INT_PART)                                                       \
            POOL_INT_LOW(type, pair, at, POOL_INT_PART)                                                                \
        at = pairs - POOL_INT_PART;                                                                                    \
        POOL_INT_LOW(type, pair, at, POOL_INT_PART)                                                                    \
    } else {                                                                                                           \
        POOL_INT_LOW(type, pair, 0, pairs)                                                                             \
    }                                                                                                                  \
    POOL_INT_MAX(type, pairs, 1, 2)
#define POOL_INT_EVEN(type, pair) POOL_INT_MAX(type, 0, count, 2)
#define POOL_INT_ROW(name, type, wide, flip, even, pair)                                                               \
    static void pool_int_most_##name(type *restrict best, const type *restrict from, int64_t step, int64_t count)      \
    {                                                                                                                  \
        int64_t at = 0;                                                                                                \
        if (step == 1 && count >= POOL_INT_LANES(type)) {                                                              \
            for (; at + POOL_INT_LANES(type) <= count; at += POOL_INT_LANES(type))                                     \
                POOL_INT_MAX(type, at, POOL_INT_LANES(type), 1)                                                        \
            at = count - POOL_INT_LANES(type);                                                                         \
            POOL_INT_MAX(type, at, POOL_INT_LANES(type), 1)                                                            \
        } else if (step == 2) {                                                                                        \
            even(type, pair)                                                                                           \
        } else {                                                                                                       \
            POOL_INT_MAX(type, 0, count, step)                                                                         \
        }                                                                                                              \
    }                                                                                                                  \
    DENSE_INLINE void pool_int_place_##name(wide *restrict best, wide *restrict place, const type *restrict from,      \
                                            int64_t step, wide position, wide stride, int64_t count)                   \
    {                                                                                                                  \
        for (int64_t i = 0; i < count; i++) {                                                                          \
            const wide key = (wide)(from[i * step] ^ (flip)), b = best[i], p = place[i];                               \
            const wide take = -(wide)((p < 0) | (key > b));                                                            \
            best[i] = (key & take) | (b & ~take);                                                                      \
            place[i] = (position & take) | (p & ~take);                                                                \
            position += stride;                                                                                        \
        }                                                                                                              \
    }                                                                                                                  \
    static void pool_int_values_##name(const void *keys, void *y, int64_t step, int64_t count)                         \
    {                                                                                                                  \
        const wide *restrict from = (const wide *)keys;                                                                \
        type *restrict to = (type *)y;                                                                                 \
        for (int64_t i = 0; step == 1 && i < count; i++)                                                               \
            to[i] = (type)((type)from[i] ^ (flip));                                                                    \
        for (int64_t i = 0; step != 1 && i < count; i++) {                                                             \
            to[i * step] = (type)((type)from[i] ^ (flip));                                                             \
            COPY_ONE_BY_ONE;                                                                                           \
        }                                                                                                              \
    }                                                                                                                  \
    static void pool_int_line_##name(void *best, const void *from, int64_t count)                                      \
    {                                                                                                                  \
        pool_int_most_##name((type *)best, (const type *)from, 1, count);                                              \
    }                                                                                                                  \
    /* At least 16 channels of one pixel of a line. */                                                                 \
    static void pool_int_pixel_##name(void *to, const void *line, int64_t taps, int64_t step, int64_t count)           \
    {                                                                                                                  \
        enum { LANES = 16 / sizeof(type) };                                                                            \
        for (int64_t begin = 0; begin < count; begin += LANES) {                                                       \
            const int64_t at = BASE_MIN(begin, count - LANES);                                                         \
            const type *from = (const type *)line + at;                                                                \
            type best[LANES];                                                                                          \
            memcpy(best, from, sizeof(best));                                                                          \
            for (int64_t t = 1; t < taps; t++) {                                                                       \
                from += step;                                                                                          \
                POOL_INT_MAX(type, 0, LANES, 1)                                                                        \
            }                                                                                                          \
            memcpy((type *)to + at, best, sizeof(best));                                                               \
        }                                                                                                              \
    }                                                                                                                  \
    /* The taps of adjacent channels, whose maxima stay in registers. */                                               \
    static void pool_int_channels_##name(const struct pool_taps *p, const struct pool_span *span)                      \
    {                                                                                                                  \
        enum { LANES = POOL_INT_LANES(type) };                                                                         \
        for (int64_t begin = 0; begin < span->count; begin += LANES) {                                                 \
            const int64_t at = BASE_MIN(begin, span->count - LANES);                                                   \
            const type *from = (const type *)span->from + at;                                                          \
            type best[LANES];                                                                                          \
            memcpy(best, (const type *)p->acc + at, sizeof(best));                                                     \
            for (int64_t t = 0; t < span->taps; t++, from += span->tap_step)                                           \
                POOL_INT_MAX(type, 0, LANES, 1)                                                                        \
            memcpy((type *)p->acc + at, best, sizeof(best));                                                           \
        }                                                                                                              \
    }                                                                                                                  \
    static void pool_int_tap_##name(const struct pool_taps *p, const struct pool_span *span)                           \
    {                                                                                                                  \
        const type *from = (const type *)span->from;                                                                   \
        const wide position = (wide)span->position, stride = (wide)span->stride;                                       \
        wide *best = (wide *)p->acc + span->begin, *place = (wide *)p->place + span->begin;                            \
        if (!p->pool->has_indices)                                                                                     \
            pool_int_most_##name((type *)p->acc + span->begin, from, span->step, span->count);                         \
        else if (span->step == 1)                                                                                      \
            pool_int_place_##name(best, place, from, 1, position, stride, span->count);                                \
        else if (span->step == 2)                                                                                      \
            pool_int_place_##name(best, place, from, 2, position, stride, span->count);                                \
        else                                                                                                           \
            pool_int_place_##name(best, place, from, span->step, position, stride, span->count);                       \
    }
POOL_INT_ROW(s8, int8_t, int32_t, 0, POOL_INT_PAIRS, uint16_t)
POOL_INT_ROW(u8, uint8_t, int32_t, 0, POOL_INT_PAIRS, uint16_t)
POOL_INT_ROW(s16, int16_t, int32_t, 0, POOL_INT_PAIRS, uint32_t)
POOL_INT_ROW(u16, uint16_t, int32_t, 0, POOL_INT_PAIRS, uint32_t)
POOL_INT_ROW(s32, int32_t, int32_t, 0, POOL_INT_PAIRS, uint64_t)
POOL_INT_ROW(u32, uint32_t, int32_t, (uint32_t)INT32_MIN, POOL_INT_PAIRS, uint64_t)
POOL_INT_ROW(s64, int64_t, int64_t, 0, POOL_INT_EVEN, int64_t)
POOL_INT_ROW(u64, uint64_t, int64_t, (uint64_t)INT64_MIN, POOL_INT_EVEN, uint64_t)

static const struct {
    void (*tap)(const struct pool_taps *p, const struct pool_span *span); /* the first */
    void (*channels)(const struct pool_taps *p, const struct pool_span *span);
    void (*values)(const void *keys, void *y, int64_t step, int64_t count);
    void (*line)(void *best, const void *from, int64_t count);
    void (*pixel)(void *to, const void *line, int64_t taps, int64_t step, int64_t count);
} pool_int_types[] = {
    [DML_TENSOR_DATA_TYPE_INT8] = { pool_int_tap_s8, pool_int_channels_s8, pool_int_values_s8, pool_int_line_s8,
                                    pool_int_pixel_s8 },
    [DML_TENSOR_DATA_TYPE_UINT8] = { pool_int_tap_u8, pool_int_channels_u8, pool_int_values_u8, pool_int_line_u8,
                                     pool_int_pixel_u8 },
    [DML_TENSOR_DATA_TYPE_INT16] = { pool_int_tap_s16, pool_int_channels_s16, pool_int_values_s16, pool_int_line_s16,
                                     pool_int_pixel_s16 },
    [DML_TENSOR_DATA_TYPE_UINT16] = { pool_int_tap_u16, pool_int_channels_u16, pool_int_values_u16, pool_int_line_u16,
                                      pool_int_pixel_u16 },
    [DML_TENSOR_DATA_TYPE_INT32] = { pool_int_tap_s32, pool_int_channels_s32, pool_int_values_s32, pool_int_line_s32,
                                     pool_int_pixel_s32 },
    [DML_TENSOR_DATA_TYPE_UINT32] = { pool_int_tap_u32, pool_int_channels_u32, pool_int_values_u32, pool_int_line_u32,
                                      pool_int_pixel_u32 },
    [DML_TENSOR_DATA_TYPE_INT64] = { pool_int_tap_s64, pool_int_channels_s64, pool_int_values_s64, pool_int_line_s64,
                                     pool_int_pixel_s64 },
    [DML_TENSOR_DATA_TYPE_UINT64] = { pool_int_tap_u64, pool_int_channels_u64, pool_int_values_u64, pool_int_line_u64,
                                      pool_int_pixel_u64 },
};

static void pool_int_join(const struct pool_taps *p, const struct pool_span *span)
{
    struct pool_span tap = *span;
    if (span->step == 1 && span->count * p->bytes >= POOL_INT_PART && !p->pool->has_indices) {
        pool_int_types[p->call->op->tensors[0].type].channels(p, span);
        return;
    }
    for (int64_t t = 0; t < span->taps; t++) {
        pool_int_types[p->call->op->tensors[0].type].tap(p, &tap);
        tap.from = (const char *)tap.from + span->tap_step * p->bytes;
        tap.position += span->tap_stride;
    }
}

/* Tap k of the last dimension; x and position are of the input row's first element. */
static void pool_int_tap(const struct pool_taps *p, const char *x, int64_t position, int64_t k)
{
    const struct pool_shape *s = &p->s;
    const int64_t stride = s->stride[2], first = k * s->dilation[2] - s->pad[2];
    int64_t begin, end;
    dense_range(s->out[2], stride, first, s->in[2], &begin, &end);
    const int64_t at = first + begin * stride;
    const struct pool_span span = { .from = x + at * s->x[4] * p->bytes,
                                    .begin = begin,
                                    .count = end - begin,
                                    .step = stride * s->x[4],
                                    .position = position + at,
                                    .stride = stride };
    if (span.count > 0)
        pool_int_types[p->call->op->tensors[0].type].tap(p, &span);
}

static void pool_int_input(const struct pool_taps *p, int64_t x_at, int64_t position, bool first)
{
    const char *from = (const char *)p->call->data[0] + x_at * p->bytes;
    if (p->line && first)
        memcpy(p->line, from, (size_t)p->line_count * p->bytes);
    else if (p->line)
        pool_int_types[p->call->op->tensors[0].type].line(p->line, from, p->line_count);
    for (int64_t k = p->inside[0]; !p->line && k < p->inside[1]; k++)
        pool_int_tap(p, from, position, k);
}

static void pool_int_row(const struct pool_taps *p, const int64_t *at, const void *least)
{
    const DML_TENSOR_DATA_TYPE type = p->call->op->tensors[1].type;
    const uint64_t width = (uint64_t)p->s.out[2];
    const uint32_t wide = p->bytes == 8 ? 8 : 4;
    const int64_t none = -1;
    char *to = (char *)p->call->data[1] + pool_offset(p->s.y, at) * p->bytes;
    copy_row(p->pool->has_indices ? wide : p->bytes, p->acc, 1, least, 0, width);
    if (p->pool->has_indices)
        copy_row(wide, p->place, 1, &none, 0, width);
    const int64_t rows = pool_rows(p, at, pool_int_input);
    for (int64_t k = p->inside[0]; p->line && rows && k < p->inside[1]; k++)
        pool_int_tap(p, p->line, 0, k);
    if (!p->pool->has_indices) {
        copy_row(p->bytes, to, p->s.y[4], p->acc, 1, width);
        return;
    }
    pool_int_types[type].values(p->acc, to, p->s.y[4], p->s.out[2]);
    pool_store_places(p, at, p->s.index[4], 0, p->s.out[2]);
}

/* A row of pixels of adjacent channels, by way of p->line. */
static void pool_int_pixels(const struct pool_taps *p, int64_t *at, int64_t channels, const void *least)
{
    const struct pool_shape *s = &p->s;
    const int64_t rows = pool_rows(p, at, pool_int_input), step = s->dilation[2] * channels;
    for (; at[4] < s->out[2]; at[4]++) {
        char *to = (char *)p->call->data[1] + pool_offset(s->y, at) * p->bytes;
        int64_t begin, end;
        pool_taps(s, 2, at[4], &begin, &end);
        const int64_t first = at[4] * s->stride[2] - s->pad[2] + begin * s->dilation[2];
        if (rows && begin < end)
            pool_int_types[p->call->op->tensors[1].type].pixel(to, (char *)p->line + first * channels * p->bytes,
                                                               end - begin, step, channels);
        else
            copy_row(p->bytes, to, 1, least, 0, (uint64_t)channels);
    }
}

static void pool_int_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const struct kern_view *y = &call->op->tensors[1];
    struct pool_taps p = {
        .call = call, .pool = &call->op->u.pool, .bytes = kern_type_bytes(y->type), .join = pool_int_join
    };
    const bool is_signed = y->type == DML_TENSOR_DATA_TYPE_INT8 || y->type == DML_TENSOR_DATA_TYPE_INT16 ||
                           y->type == DML_TENSOR_DATA_TYPE_INT32 || y->type == DML_TENSOR_DATA_TYPE_INT64;
    /* Keys of unsigned numbers are signed ones unless they are wider. Of the lowest number, the low bytes count. */
    int64_t at[5], last[2], least = is_signed ? INT64_MIN >> (64 - 8 * p.bytes) : 0;
    if (!is_signed && p.pool->has_indices && p.bytes >= 4)
        least = INT64_MIN >> (64 - 8 * p.bytes);
    pool_shape_init(call->op, &p.s);
    p.acc = call->worker_scratch;
    p.place = (int64_t *)p.acc + p.s.out[2];
    if (!p.pool->has_indices && p.s.x[4] == 1 && p.s.stride[2] <= p.s.window[2] * p.s.dilation[2])
        p.line = (int64_t *)p.place + p.s.out[2];
    pool_taps(&p.s, 2, p.s.out[2] - 1, &last[0], &last[1]);
    pool_taps(&p.s, 2, 0, &p.inside[0], &p.inside[1]);
    p.inside[0] = BASE_MIN(p.inside[0], last[0]);
    p.inside[1] = BASE_MAX(p.inside[1], last[1]);
    const bool by_channels = pool_int_by_channels(call->op, &p.s), by_line = pool_int_line_bytes(call->op, &p.s) > 0;
    p.line_count = by_line ? p.s.in[2] * y->sizes[1] : p.s.in[2];
    if (by_channels)
        p.line = by_line ? (int64_t *)p.place + p.s.out[2] : NULL;
    for (uint64_t unit = begin; unit < end && !by_channels; unit++) {
        pool_row_at(y, unit, at);
        pool_int_row(&p, at, &least);
    }
    for (uint64_t unit = begin; unit < end && by_channels; unit++) {
        pool_pixels_at(&p, y->sizes[1], unit, at);
        if (by_line)
            pool_int_pixels(&p, at, y->sizes[1], &least);
        for (; at[4] < p.s.out[2]; at[4]++) {
            p.acc = (char *)call->data[1] + pool_offset(p.s.y, at) * p.bytes;
            copy_row(p.bytes, p.acc, 1, &least, 0, y->sizes[1]);
            pool_pixel(&p, at, y->sizes[1]);
        }
    }
}

KERN_ISA_RUN(pool_int, pool_int_run)
