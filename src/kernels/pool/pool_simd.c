/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling along contiguous rows (nchw) or along channels (nhwc). */
#include "kernels/core/isa.h"
#include "kernels/pool/pool_band.h"
#include "kernels/row/row.h"
#include "kernels/row/tile_store.h"

DENSE_INLINE float pool_join_one(enum pool_kind kind, float acc, float x)
{
    if (kind == POOL_TOP)
        return x > acc ? x : acc;
    return acc + (kind == POOL_SUM_ABS ? fabsf(x) : kind == POOL_SUM_SQUARE ? x * x : x);
}

struct pool_fast {
    struct pool_band b;
    const struct kern_call *call;
    const struct kern_op *flat;
    DML_TENSOR_DATA_TYPE type;
    bool divides, indices;
    float *share[2]; /* 1 / taps inside, for each output row and column */
};

static void pool_fast_init(struct pool_fast *p, const struct kern_call *call)
{
    const struct kern_pool *pool = &call->op->u.pool;
    *p = (struct pool_fast){ .call = call, .indices = pool->has_indices };
    pool_shape_init(call->op, &p->b.s);
    pool_window_init(call->op, &p->b.s, &p->b.w);
    p->b.x = call->data[0];
    p->b.kind = pool_kind_of(pool);
    p->type = call->op->tensors[0].type;
    p->divides = pool->mode == KERN_POOL_AVERAGE;
}

/* 1 / (elements that an average divides by) along one dimension */
static float pool_share(const struct pool_fast *p, uint32_t d, int64_t out)
{
    double count = pool_count(&p->b.s, d, out, p->call->op->u.pool.include_padding);
    return count > 0 ? (float)(1 / count) : 0;
}

static void pool_shares(struct pool_fast *p, float *scratch)
{
    p->share[0] = scratch;
    p->share[1] = scratch + p->b.s.out[1];
    for (uint32_t d = 0; p->divides && d < 2; d++) {
        for (int64_t i = 0; i < p->b.s.out[d + 1]; i++)
            p->share[d][i] = pool_share(p, d + 1, i);
    }
}

static uint64_t pool_index_of(uint64_t base, uint32_t place)
{
    return place == POOL_NOWHERE ? 0 : base + place;
}

/* ---- planes (nchw) ---- */

static void pool_scale_row(float *restrict values, const float *restrict share, float row_share, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        values[i] *= row_share * share[i];
}

static void pool_end_band(const struct pool_fast *p, float *values, int64_t first, int64_t rows, float share)
{
    int64_t width = p->b.w.out[1];
    for (int64_t i = 0; p->b.kind == POOL_SUM_SQUARE && i < rows * width; i++)
        values[i] = sqrtf(values[i]);
    for (int64_t row = 0; p->divides && row < rows; row++)
        pool_scale_row(values + row * width, p->share[1], share * p->share[0][first + row], width);
}

/* The indices of the band's row `row`. at: batch, channel, output depth and row, 0. */
static void pool_index_row(const struct pool_fast *p, const int64_t *at, int64_t row)
{
    const struct pool_shape *s = &p->b.s;
    const uint32_t *place = pool_places(&p->b, at, row);
    const uint64_t base = pool_index_base(p->call->op, s, at);
    const bool wide = kern_type_bytes(p->call->op->tensors[2].type) == 8;
    const int64_t to = pool_offset(s->index, at), step = s->index[4];
    uint32_t *narrow_out = (uint32_t *)p->call->data[2] + to;
    uint64_t *wide_out = (uint64_t *)p->call->data[2] + to;
    for (int64_t i = 0; step == 1 && !wide && i < s->out[2]; i++)
        narrow_out[i] = (uint32_t)pool_index_of(base, place[i]);
    for (int64_t i = 0; step == 1 && wide && i < s->out[2]; i++)
        wide_out[i] = pool_index_of(base, place[i]);
    for (int64_t i = 0; step != 1 && i < s->out[2]; i++)
        pool_store_index(p->call, to + i * step, pool_index_of(base, place[i]));
}

static void pool_band_store(const struct pool_fast *p, const int64_t *at, int64_t depth, int64_t first)
{
    const struct pool_band *b = &p->b;
    uint32_t row_dim = p->call->op->tensors[1].rank - 2;
    uint32_t where[KERN_RANK_MAX] = { (uint32_t)at[0], (uint32_t)at[1], (uint32_t)depth };
    int64_t rows = BASE_MIN(b->w.rows, b->w.out[0] - first);
    pool_band_run(b, at[0] * b->s.x[0] + at[1] * b->s.x[1], depth, first, rows);
    float *values = window_dense(&b->w, &b->band, rows);
    pool_end_band(p, values, first, rows, p->divides ? pool_share(p, 0, depth) : 1);
    if (row_dim > 1)
        where[row_dim] = (uint32_t)first;
    window_finish(&(struct window_to){ p->call, p->flat, NULL, row_dim }, &b->w, values, where, rows);
    for (int64_t row = 0; p->indices && row < rows; row++)
        pool_index_row(p, (const int64_t[5]){ at[0], at[1], depth, first + row }, row);
}

/* ---- planes line by line, without copies: for windows without gaps and column strides of 1 or 2 ---- */

enum { POOL_AHEAD_BYTES = 4096 };

/* Prefetches lines that are read later: the hardware prefetcher works within pages only. */
static void pool_prefetch(const void *x, int64_t at, int64_t count, int64_t bytes)
{
    const uintptr_t from = (uintptr_t)x + (uintptr_t)(at * bytes) + POOL_AHEAD_BYTES;
    for (int64_t b = 0; b < count * bytes; b += 64)
        __builtin_prefetch((const void *)(from + (uintptr_t)b));
}

/* to[i] = the `rows` elements at + i, at + i + w.x_row, ... combined */
DENSE_INLINE void pool_join_rows(enum pool_kind kind, DML_TENSOR_DATA_TYPE type, const struct pool_band *b, int64_t at,
                                 int64_t rows, int64_t count, float *to)
{
    const void *x = b->x;
    const int64_t step = b->w.x_row;
    const float fill = kind == POOL_TOP ? -INFINITY : 0;
    int64_t i = 0;
    for (; i + VEC <= count; i += VEC) {
        vec acc = vec_set(fill);
        for (int64_t r = 0; r < rows; r++)
            acc = pool_join(kind, acc, vec_load_of(type, x, at + r * step + i));
        vec_store(to + i, acc);
    }
    if (i == count)
        return;
    vec acc = vec_set(fill);
    for (int64_t r = 0; r < rows; r++)
        acc = pool_join(kind, acc, vec_load_some(type, x, at + r * step + i, count - i));
    vec_store(to + i, acc);
}

DENSE_INLINE void pool_join_rows_as(DML_TENSOR_DATA_TYPE type, const struct pool_band *b, int64_t at, int64_t rows,
                                    int64_t count, float *to)
{
    if (b->kind == POOL_TOP && rows == 2)
        pool_join_rows(POOL_TOP, type, b, at, 2, count, to);
    else if (b->kind == POOL_TOP && rows == 3)
        pool_join_rows(POOL_TOP, type, b, at, 3, count, to);
    else
        POOL_BY_KIND(b->kind, pool_join_rows, type, b, at, rows, count, to);
}

static void pool_join_rows_of(const struct pool_band *b, int64_t at, int64_t rows, int64_t count, float *to)
{
    VEC_BY_TYPE(b->w.type, pool_join_rows_as, b, at, rows, count, to);
}

/* out[i] = line[i * stride] .. line[i * stride + taps - 1] combined; writes whole vectors. */
DENSE_INLINE void pool_join_columns(enum pool_kind kind, const float *line, int64_t taps, int64_t stride, int64_t count,
                                    float *out)
{
    for (int64_t i = 0; i < count; i += VEC) {
        vec acc = stride == 1 ? vec_load(line + i) : vec_set(kind == POOL_TOP ? -INFINITY : 0);
        for (int64_t k = 1; stride == 1 && k < taps; k++)
            acc = pool_join(kind, acc, vec_load(line + i + k));
        for (int64_t k = 0; stride == 2 && k < taps; k += 2) {
            vec low = vec_load(line + 2 * i + k), high = vec_load(line + 2 * i + k + VEC);
            acc = pool_join(kind, acc, __builtin_shufflevector(low, high, LANES_OF(VEC, LANES_EVERY_SECOND, 0)));
            if (k + 1 < taps)
                acc = pool_join(kind, acc, __builtin_shufflevector(low, high, LANES_OF(VEC, LANES_EVERY_SECOND, 1)));
        }
        vec_store(out + i, acc);
    }
}

/* The combined windows of output row `row` in band.run. plane: element of the channel's first element. */
static void pool_line_run(const struct pool_band *b, int64_t plane, int64_t row)
{
    const struct pool_shape *s = &b->s;
    const int64_t taps = s->window[2], stride = s->stride[2], pad = s->pad[2];
    const int64_t length = stride * (int64_t)base_align_up((uint64_t)s->out[2], VEC) + taps + 1;
    float *line = b->band.phases, *out = b->band.run;
    int64_t begin, end, count = BASE_MIN(s->in[2], length - pad);
    pool_taps(s, 1, row, &begin, &end);
    window_fill(line, BASE_MIN(pad, length), b->w.fill);
    if (count > 0)
        pool_join_rows_of(b, plane + (row * s->stride[1] - s->pad[1] + begin) * s->x[3], end - begin, count,
                          line + pad);
    if (pad + count < length)
        window_fill(line + pad + count, length - pad - count, b->w.fill);
    if (b->kind != POOL_TOP)
        stride == 1 ? pool_join_columns(POOL_SUM, line, taps, 1, s->out[2], out)
                    : pool_join_columns(POOL_SUM, line, taps, 2, s->out[2], out);
    else if (stride == 2 && taps == 2)
        pool_join_columns(POOL_TOP, line, 2, 2, s->out[2], out);
    else if (stride == 2 && taps == 3)
        pool_join_columns(POOL_TOP, line, 3, 2, s->out[2], out);
    else
        stride == 1 ? pool_join_columns(POOL_TOP, line, taps, 1, s->out[2], out)
                    : pool_join_columns(POOL_TOP, line, taps, 2, s->out[2], out);
}

/* `count` results to a dense row; `values` end with a whole vector. */
static void pool_line_store(DML_TENSOR_DATA_TYPE type, void *y, int64_t at, const float *values, int64_t count)
{
    for (int64_t i = 0; i < count; i += VEC)
        vec_store_some(type, y, at + i, vec_load(values + i), count - i);
}

/* The row's results of the plane of channel at[1] in band.run. */
static void pool_line_of(const struct pool_fast *p, const int64_t *at, int64_t row)
{
    const struct pool_shape *s = &p->b.s;
    const int64_t x = at[0] * s->x[0] + at[1] * s->x[1], step = s->stride[1] * s->x[3];
    pool_prefetch(p->b.x, x + row * step, step, kern_type_bytes(p->type));
    pool_line_run(&p->b, x, row);
    pool_end_band(p, p->b.band.run, row, 1, p->divides ? pool_share(p, 0, 0) : 1);
}

/* A unit is a plane. */
static void pool_lines(struct pool_fast *p, uint64_t begin, uint64_t end)
{
    const struct pool_shape *s = &p->b.s;
    const uint32_t channels = p->call->op->tensors[1].sizes[1];
    p->b.band.phases = p->call->worker_scratch;
    p->b.band.run = p->b.band.phases + pool_line_floats(s);
    pool_shares(p, p->b.band.run + base_align_up((uint64_t)s->out[2], WINDOW_STEP));
    for (uint64_t unit = begin; unit < end; unit++) {
        const int64_t at[2] = { (int64_t)(unit / channels), (int64_t)(unit % channels) };
        for (int64_t row = 0; row < s->out[1]; row++) {
            pool_line_of(p, at, row);
            pool_line_store(p->type, p->call->data[1], at[0] * s->y[0] + at[1] * s->y[1] + row * s->y[3], p->b.band.run,
                            s->out[2]);
        }
    }
}

/* VEC channels of an output row, or those that exist from at[1] on, to an NHWC output. */
static void pool_line_transpose(struct pool_fast *p, const int64_t *at, int64_t row, float *block, int64_t pitch)
{
    const struct pool_shape *s = &p->b.s;
    const int64_t channels = BASE_MIN(p->call->op->tensors[1].sizes[1] - at[1], VEC);
    const int64_t y = at[0] * s->y[0] + at[1] + row * s->y[3];
    struct tile_to to = { p->call->data[1], p->type, 0, 1, s->y[4] };
    for (int64_t c = 0; c < channels; c++) {
        p->b.band.run = block + c * pitch;
        pool_line_of(p, (const int64_t[2]){ at[0], at[1] + c }, row);
    }
    for (int64_t i = 0; i < s->out[2]; i += VEC) {
        to.at = y + i * s->y[4];
        tile_store(&to, block + i, pitch, channels, BASE_MIN(s->out[2] - i, VEC));
    }
}

/* A unit is a row of POOL_LANES channels. */
static void pool_lines_transposed(struct pool_fast *p, uint64_t begin, uint64_t end)
{
    const struct pool_shape *s = &p->b.s;
    const int64_t channels = p->call->op->tensors[1].sizes[1], blocks = (channels + POOL_LANES - 1) / POOL_LANES;
    const int64_t pitch = (int64_t)base_align_up((uint64_t)s->out[2], WINDOW_STEP);
    p->b.band.phases = p->call->worker_scratch;
    float *block = p->b.band.phases + pool_line_floats(s);
    pool_shares(p, block + POOL_LANES * pitch);
    for (int64_t unit = (int64_t)begin; unit < (int64_t)end; unit++) {
        int64_t row = unit % s->out[1], first = unit / s->out[1] % blocks * POOL_LANES;
        int64_t at[2] = { unit / s->out[1] / blocks, first };
        for (; at[1] < BASE_MIN(first + POOL_LANES, channels); at[1] += VEC)
            pool_line_transpose(p, at, row, block, pitch);
    }
}

static void pool_planes(struct pool_fast *p, uint64_t begin, uint64_t end)
{
    const struct kern_view *y = &p->call->op->tensors[1];
    struct pool_band *b = &p->b;
    struct kern_op flat;
    window_band_init(&b->w, &b->band, p->call->worker_scratch);
    pool_shares(p, (float *)p->call->worker_scratch + window_floats(&b->w));
    b->place = p->indices ? (int32_t *)(p->share[1] + b->w.out[1]) : NULL;
    p->flat = y->rank > 3 && dense_merge_rows(p->call->op, &flat) ? &flat : NULL;
    for (uint64_t unit = begin; unit < end; unit++) {
        uint64_t plane = unit / (uint64_t)b->s.out[0], depth = unit % (uint64_t)b->s.out[0];
        int64_t at[2] = { (int64_t)(plane / y->sizes[1]), (int64_t)(plane % y->sizes[1]) };
        for (int64_t row = 0; row < b->w.out[0]; row += b->w.rows)
            pool_band_store(p, at, (int64_t)depth, row);
    }
}

/* ---- whole planes (global pooling) ---- */

DENSE_INLINE float pool_reduce(enum pool_kind kind, DML_TENSOR_DATA_TYPE type, const void *x, int64_t at, int64_t count)
{
    vec acc[4];
    int64_t i = 0;
    for (int j = 0; j < 4; j++)
        acc[j] = vec_set(kind == POOL_TOP ? -INFINITY : 0);
    for (; i + 4 * VEC <= count; i += 4 * VEC)
        for (int j = 0; j < 4; j++)
            acc[j] = pool_join(kind, acc[j], vec_load_of(type, x, at + i + j * VEC));
    for (int j = 1; j < 4; j++)
        acc[0] = pool_join(kind == POOL_TOP ? POOL_TOP : POOL_SUM, acc[0], acc[j]);
    float result = kind == POOL_TOP ? vec_top(acc[0]) : vec_sum(acc[0]);
    for (; i < count; i++)
        result = pool_join_one(kind, result, (float)dense_load(x, at + i, type));
    return result;
}

DENSE_INLINE float pool_reduce_plane(DML_TENSOR_DATA_TYPE type, enum pool_kind kind, const void *x, int64_t at,
                                     int64_t count)
{
    return POOL_BY_KIND(kind, pool_reduce, type, x, at, count);
}

static float pool_reduce_other(const struct pool_fast *p, int64_t at, int64_t count)
{
    float result = p->b.w.fill, part[256];
    for (int64_t i = 0; i < count; i += (int64_t)ARRAY_SIZE(part)) {
        uint32_t now = (uint32_t)BASE_MIN(count - i, (int64_t)ARRAY_SIZE(part));
        dense_load_row(p->call->data[0], at + i, 1, p->call->op->tensors[0].type, now, part);
        for (uint32_t j = 0; j < now; j++)
            result = pool_join_one(p->b.kind, result, part[j]);
    }
    return result;
}

static void pool_globals(const struct pool_fast *p, uint64_t begin, uint64_t end)
{
    const struct kern_view *y = &p->call->op->tensors[1];
    for (uint64_t plane = begin; plane < end; plane++) {
        int64_t n = (int64_t)(plane / y->sizes[1]), c = (int64_t)(plane % y->sizes[1]);
        int64_t at = n * p->b.s.x[0] + c * p->b.s.x[1];
        float value = dense_is_short_float(p->type)
                          ? VEC_BY_TYPE(p->type, pool_reduce_plane, p->b.kind, p->call->data[0], at, p->b.s.area)
                          : pool_reduce_other(p, at, p->b.s.area);
        if (p->divides)
            value /= (float)p->b.s.area;
        if (p->b.kind == POOL_SUM_SQUARE)
            value = sqrtf(value);
        dense_store(p->call->data[1], n * p->b.s.y[0] + c * p->b.s.y[1], y->type, value);
    }
}

/* ---- pixels: NHWC input; by vectors of channels, to any output ---- */

/* A row of the output, and the current pixel of it. */
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
    float *tile;             /* [VEC][channels] if the output is not NHWC, else NULL */
};

DENSE_INLINE void pool_put(DML_TENSOR_DATA_TYPE type, const struct pool_fast *p, const struct pool_pixel *w, int64_t c,
                           vec value, int64_t lanes)
{
    if (w->tile)
        vec_store(w->tile + w->at[4] % VEC * w->channels + c, value);
    else
        vec_store_some(type, p->call->data[1], w->y_at + c, value, lanes);
}

/* columns: w->count[2]; lanes: w->lanes; constants if that is faster. */
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

DENSE_INLINE void pool_pixel_kind(enum pool_kind kind, DML_TENSOR_DATA_TYPE type, const struct pool_fast *p,
                                  const struct pool_pixel *w)
{
    if (w->count[2] == 2)
        pool_pixel_columns(type, p, w, kind, 2);
    else if (w->count[2] == 3)
        pool_pixel_columns(type, p, w, kind, 3);
    else
        pool_pixel_columns(type, p, w, kind, w->count[2]);
}

DENSE_INLINE void pool_pixel_as(DML_TENSOR_DATA_TYPE type, const struct pool_fast *p, const struct pool_pixel *w)
{
    POOL_BY_KIND(p->b.kind, pool_pixel_kind, type, p, w);
}

/* ---- with indices ---- */

/* Indices of the channels of a vector from c on. */
static void pool_index_channels(const struct pool_fast *p, const struct pool_pixel *w, int64_t c, const float *best,
                                const int32_t *place)
{
    const struct pool_shape *s = &p->b.s;
    const int64_t to = pool_offset(s->index, w->at) + c * s->index[1];
    const bool wide = kern_type_bytes(p->call->op->tensors[2].type) == 8;
    bool all = wide && s->index[1] == 1;
    for (int64_t i = 0; i < w->lanes; i++)
        all = all && best[i] != -INFINITY;
    if (all) { /* as a rule */
        uint64_t *out = (uint64_t *)p->call->data[2] + to;
        const int64_t first[5] = { w->at[0], c }, second[5] = { w->at[0], c + 1 };
        const uint64_t base = pool_index_base(p->call->op, s, first),
                       step = pool_index_base(p->call->op, s, second) - base;
        for (int64_t i = 0; i < w->lanes; i++)
            out[i] = base + (uint64_t)i * step + (uint32_t)place[i];
        return;
    }
    for (int64_t i = 0; i < w->lanes; i++) {
        int64_t at[5] = { w->at[0], c + i, w->at[2], w->at[3], w->at[4] };
        const uint32_t here = best[i] == -INFINITY ? pool_place_of(&p->b, at) : (uint32_t)place[i];
        pool_store_index(p->call, to + i * s->index[1], pool_index_of(pool_index_base(p->call->op, s, at), here));
    }
}

/* The maxima of a vector of channels with their indices. */
DENSE_INLINE void pool_channels_first(DML_TENSOR_DATA_TYPE type, const struct pool_fast *p, const struct pool_pixel *w,
                                      int64_t c, int64_t lanes)
{
    const struct pool_shape *s = &p->b.s;
    vec acc = vec_set(-INFINITY);
    vec_int place = vec_int_set(0);
    float best[VEC];
    int32_t places[VEC];
    for (int64_t k0 = 0; k0 < w->count[0]; k0++)
        for (int64_t k1 = 0; k1 < w->count[1]; k1++) {
            int64_t at = w->x_at + k0 * w->step[0] + k1 * w->step[1] + c;
            int64_t here = w->place + (k0 * s->dilation[0] * s->in[1] + k1 * s->dilation[1]) * s->in[2];
            for (int64_t k2 = 0; k2 < w->count[2]; k2++, at += w->step[2], here += s->dilation[2])
                vec_take_greater(vec_load_some(type, p->call->data[0], at, lanes), vec_int_set((int32_t)here), &acc,
                                 &place);
        }
    vec_store(best, acc);
    vec_int_store(places, place);
    pool_put(type, p, w, c, acc, lanes);
    pool_index_channels(p, w, c, best, places);
}

DENSE_INLINE void pool_pixel_first(DML_TENSOR_DATA_TYPE type, const struct pool_fast *p, const struct pool_pixel *w)
{
    const int64_t channels = p->call->op->tensors[1].sizes[1];
    if (w->lanes < VEC)
        pool_channels_first(type, p, w, 0, w->lanes);
    for (int64_t c = 0; w->lanes == VEC && c < channels; c += VEC)
        pool_channels_first(type, p, w, pool_vector_at(p, w, c), VEC);
}

/* ---- kernels ---- */

static void pool_pixel_run(const struct pool_fast *p, const struct pool_pixel *w)
{
    if (p->indices)
        VEC_BY_TYPE(p->type, pool_pixel_first, p, w);
    else
        VEC_BY_TYPE(p->type, pool_pixel_as, p, w);
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

static void pool_fast_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    struct pool_fast p;
    pool_fast_init(&p, call);
    switch (pool_way_of(call->op, &p.b.s)) {
    case POOL_PIXELS:
        pool_pixels(&p, begin, end);
        break;
    case POOL_GLOBALS:
        pool_globals(&p, begin, end);
        break;
    case POOL_LINES:
        pool_lines(&p, begin, end);
        break;
    case POOL_LINES_TRANSPOSED:
        pool_lines_transposed(&p, begin, end);
        break;
    case POOL_PLANES:
        pool_planes(&p, begin, end);
        break;
    }
}

KERN_ISA_RUN(pool_f32, pool_fast_run)
