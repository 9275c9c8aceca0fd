/* The pooling of pool_fast.h; included once per instruction set. */
#include "kernels/pool_band.h"
#include "kernels/pool_fast.h"
#include "kernels/pool_line.h"

DENSE_INLINE float pool_join_one(enum pool_kind kind, float acc, float x)
{
    if (kind == POOL_TOP)
        return x > acc ? x : acc;
    return acc + (kind == POOL_SUM_ABS ? fabsf(x) : kind == POOL_SUM_SQUARE ? x * x : x);
}

static enum pool_kind pool_kind_of(const struct kern_pool *pool)
{
    if (pool->mode == KERN_POOL_LP)
        return pool->p == 1 ? POOL_SUM_ABS : POOL_SUM_SQUARE;
    return pool->mode == KERN_POOL_MAX ? POOL_TOP : POOL_SUM;
}

struct pool_fast {
    struct pool_band b;
    const struct kern_call *call;
    const struct kern_op *flat;
    bool half, divides, indices;
    float *share[2]; /* 1 / taps inside, for each output row and column */
};

static void pool_fast_init(struct pool_fast *p, const struct kern_call *call)
{
    const struct kern_pool *pool = &call->op->u.pool;
    *p = (struct pool_fast){ .call = call, .indices = pool->has_indices };
    pool_shape_init(call->op, &p->b.s);
    pool_window(call->op, &p->b.s, &p->b.w);
    p->b.x = call->data[0];
    p->b.kind = pool_kind_of(pool);
    p->half = call->op->tensors[0].type == DML_TENSOR_DATA_TYPE_FLOAT16;
    p->divides = pool->mode == KERN_POOL_AVERAGE;
}

/* 1 / (elements that an average divides by) along one dimension */
static float pool_share(const struct pool_fast *p, uint32_t d, int64_t out)
{
    double count = pool_count(&p->b.s, d, out, p->call->op->u.pool.include_padding);
    return count > 0 ? (float)(1 / count) : 0;
}

/* What the indices count before the channel's first element. */
static uint64_t pool_base(const struct pool_fast *p, int64_t n, int64_t c)
{
    const struct kern_view *x = &p->call->op->tensors[0];
    uint64_t plane = (uint64_t)(p->b.s.in[0] * p->b.s.in[1] * p->b.s.in[2]);
    return p->call->op->u.pool.whole_indices ? ((uint64_t)n * x->sizes[1] + (uint64_t)c) * plane : 0;
}

static void pool_store_index(const struct pool_fast *p, int64_t at, uint64_t base, uint32_t place)
{
    uint64_t index = place == POOL_NOWHERE ? 0 : base + place;
    if (kern_type_bytes(p->call->op->tensors[2].type) == 8)
        ((uint64_t *)p->call->data[2])[at] = index;
    else
        ((uint32_t *)p->call->data[2])[at] = (uint32_t)index;
}

/* ---- planes (nchw) --------------------------------------------------------------------------------------------------
 */

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

/* The indices of the band's row `row`. at: batch, channel, output depth and row. */
static void pool_index_row(const struct pool_fast *p, const int64_t *at, int64_t row)
{
    const struct pool_shape *s = &p->b.s;
    const uint32_t *place = pool_places(&p->b, at, row);
    uint64_t base = pool_base(p, at[0], at[1]);
    int64_t to = 0, step = s->index[4];
    for (uint32_t d = 0; d < 4; d++)
        to += at[d] * s->index[d];
    if (step == 1 && kern_type_bytes(p->call->op->tensors[2].type) == 4) {
        uint32_t *out = (uint32_t *)p->call->data[2] + to;
        for (int64_t i = 0; i < s->out[2]; i++)
            out[i] = place[i] == POOL_NOWHERE ? 0 : (uint32_t)base + place[i];
        return;
    }
    if (step == 1) {
        uint64_t *out = (uint64_t *)p->call->data[2] + to;
        for (int64_t i = 0; i < s->out[2]; i++)
            out[i] = place[i] == POOL_NOWHERE ? 0 : base + place[i];
        return;
    }
    for (int64_t i = 0; i < s->out[2]; i++)
        pool_store_index(p, to + i * step, base, place[i]);
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
    window_finish(p->call, p->flat, &b->w, values, NULL, where, row_dim, rows);
    for (int64_t row = 0; p->indices && row < rows; row++)
        pool_index_row(p, (const int64_t[5]){ at[0], at[1], depth, first + row }, row);
}

static void pool_lines(const struct pool_fast *p, const int64_t *at)
{
    const struct pool_shape *s = &p->b.s;
    const int64_t y = at[0] * s->y[0] + at[1] * s->y[1];
    const int64_t x = at[0] * s->x[0] + at[1] * s->x[1], step = s->stride[1] * s->x[3];
    for (int64_t row = 0; row < s->out[1]; row++) {
        pool_ask(p->b.x, x + row * step, step, p->half ? 2 : 4);
        pool_line_run(&p->b, x, row);
        pool_end_band(p, p->b.band.run, row, 1, p->divides ? pool_share(p, 0, 0) : 1);
        pool_line_store(p->call->data[1], p->half, y + row * s->y[3], p->b.band.run, s->out[2]);
    }
}

static void pool_planes(struct pool_fast *p, uint64_t begin, uint64_t end)
{
    const struct kern_view *y = &p->call->op->tensors[1];
    struct pool_band *b = &p->b;
    struct kern_op flat;
    window_band_init(&b->w, &b->band, p->call->worker_scratch);
    p->share[0] = (float *)p->call->worker_scratch + window_floats(&b->w);
    p->share[1] = p->share[0] + b->w.out[0];
    b->place = p->indices ? (int32_t *)(p->share[1] + b->w.out[1]) : NULL;
    p->flat = y->rank > 3 && dense_merge_rows(p->call->op, &flat) ? &flat : NULL;
    for (uint32_t d = 0; p->divides && d < 2; d++) {
        for (int64_t i = 0; i < b->w.out[d]; i++)
            p->share[d][i] = pool_share(p, d + 1, i);
    }
    const bool lines = !p->indices && pool_line_fits(&b->s, b->w.type);
    for (uint64_t unit = begin; unit < end; unit++) {
        uint64_t plane = unit / (uint64_t)b->s.out[0], depth = unit % (uint64_t)b->s.out[0];
        int64_t at[2] = { (int64_t)(plane / y->sizes[1]), (int64_t)(plane % y->sizes[1]) };
        if (lines) {
            pool_lines(p, at);
            continue;
        }
        for (int64_t row = 0; row < b->w.out[0]; row += b->w.rows)
            pool_band_store(p, at, (int64_t)depth, row);
    }
}

/* ---- whole planes (global pooling)
 * ----------------------------------------------------------------------------------- */

DENSE_INLINE float pool_reduce(enum pool_kind kind, const void *x, bool half, int64_t at, int64_t count)
{
    const DML_TENSOR_DATA_TYPE type = half ? DML_TENSOR_DATA_TYPE_FLOAT16 : DML_TENSOR_DATA_TYPE_FLOAT32;
    vec acc[4];
    int64_t i = 0;
    for (int j = 0; j < 4; j++)
        acc[j] = vec_set(kind == POOL_TOP ? -INFINITY : 0);
    for (; i + 4 * VEC <= count; i += 4 * VEC)
        for (int j = 0; j < 4; j++)
            acc[j] = pool_join(kind, acc[j],
                               half ? vec_load_half((const uint16_t *)x + at + i + j * VEC)
                                    : vec_load((const float *)x + at + i + j * VEC));
    for (int j = 1; j < 4; j++)
        acc[0] = pool_join(kind == POOL_TOP ? POOL_TOP : POOL_SUM, acc[0], acc[j]);
    float result = kind == POOL_TOP ? vec_top(acc[0]) : vec_sum(acc[0]);
    for (; i < count; i++)
        result = pool_join_one(kind, result, (float)dense_load(x, at + i, type));
    return result;
}

static float pool_reduce_plane(const struct pool_fast *p, int64_t at, int64_t count)
{
    const void *x = p->call->data[0];
    switch (p->b.kind) {
    case POOL_SUM:
        return p->half ? pool_reduce(POOL_SUM, x, true, at, count) : pool_reduce(POOL_SUM, x, false, at, count);
    case POOL_SUM_ABS:
        return pool_reduce(POOL_SUM_ABS, x, p->half, at, count);
    case POOL_SUM_SQUARE:
        return pool_reduce(POOL_SUM_SQUARE, x, p->half, at, count);
    case POOL_TOP:
        return p->half ? pool_reduce(POOL_TOP, x, true, at, count) : pool_reduce(POOL_TOP, x, false, at, count);
    }
    return 0;
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
        bool floats = p->half || p->call->op->tensors[0].type == DML_TENSOR_DATA_TYPE_FLOAT32;
        float value = floats ? pool_reduce_plane(p, at, p->b.s.area) : pool_reduce_other(p, at, p->b.s.area);
        if (p->divides)
            value /= (float)p->b.s.area;
        if (p->b.kind == POOL_SUM_SQUARE)
            value = sqrtf(value);
        dense_store(p->call->data[1], n * p->b.s.y[0] + c * p->b.s.y[1], y->type, value);
    }
}

/* ---- channels (nhwc) ------------------------------------------------------------------------------------------------
 */

struct pool_pixel {
    int64_t at[5];      /* batch, 0, output position */
    int64_t x_at, y_at; /* elements; x: of tap begin[0], begin[1], begin[2] */
    int64_t place;      /* of that tap in a channel */
    int64_t count[3], step[3];
    float share;
};

DENSE_INLINE vec pool_load(const struct pool_fast *p, int64_t at, bool half)
{
    return half ? vec_load_half((const uint16_t *)p->call->data[0] + at)
                : vec_load((const float *)p->call->data[0] + at);
}

DENSE_INLINE void pool_channels(const struct pool_fast *p, const struct pool_pixel *w, int64_t c, enum pool_kind kind,
                                bool half)
{
    vec acc = vec_set(kind == POOL_TOP ? -INFINITY : 0);
    for (int64_t k0 = 0; k0 < w->count[0]; k0++) {
        for (int64_t k1 = 0; k1 < w->count[1]; k1++) {
            int64_t at = w->x_at + k0 * w->step[0] + k1 * w->step[1] + c;
            for (int64_t k2 = 0; k2 < w->count[2]; k2++)
                acc = pool_join(kind, acc, pool_load(p, at + k2 * w->step[2], half));
        }
    }
    if (p->divides)
        acc *= vec_set(w->share);
    if (kind == POOL_SUM_SQUARE) {
        for (int i = 0; i < VEC; i++)
            acc[i] = sqrtf(acc[i]);
    }
    if (half)
        vec_store_half((uint16_t *)p->call->data[1] + w->y_at + c, acc);
    else
        vec_store((float *)p->call->data[1] + w->y_at + c, acc);
}

static void pool_channel(const struct pool_fast *p, const struct pool_pixel *w, int64_t c)
{
    DML_TENSOR_DATA_TYPE type = p->call->op->tensors[0].type;
    float acc = p->b.w.fill;
    for (int64_t k = 0; k < w->count[0] * w->count[1] * w->count[2]; k++) {
        int64_t k2 = k % w->count[2], k1 = k / w->count[2] % w->count[1], k0 = k / w->count[2] / w->count[1];
        int64_t at = w->x_at + k0 * w->step[0] + k1 * w->step[1] + k2 * w->step[2] + c;
        acc = pool_join_one(p->b.kind, acc, (float)dense_load(p->call->data[0], at, type));
    }
    acc = p->divides ? acc * w->share : p->b.kind == POOL_SUM_SQUARE ? sqrtf(acc) : acc;
    dense_store(p->call->data[1], w->y_at + c, type, acc);
}

/* Indices of the `count` channels from c on; best and place are of as many lanes. */
static void pool_index_channels(const struct pool_fast *p, const struct pool_pixel *w, int64_t c, int64_t count,
                                const float *best, const int32_t *place)
{
    const struct pool_shape *s = &p->b.s;
    int64_t to = w->at[0] * s->index[0];
    for (uint32_t d = 2; d < 5; d++)
        to += w->at[d] * s->index[d];
    for (int64_t i = 0; i < count; i++) {
        int64_t at[5] = { w->at[0], c + i, w->at[2], w->at[3], w->at[4] };
        uint32_t here = (uint32_t)place[i];
        if (best[i] == -INFINITY) {
            struct pool_window window;
            pool_window_at(s, p->b.x, at, &window);
            struct pool_best first = pool_best_of(s, &window, p->call->op->tensors[0].type);
            here = first.found ? (uint32_t)first.position : POOL_NOWHERE;
        }
        pool_store_index(p, to + (c + i) * s->index[1], pool_base(p, at[0], at[1]), here);
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
        vec_take_greater(pool_load(p, at, p->half), vec_int_set((int32_t)(w->place + here)), &acc, &place);
    }
    vec_store(best, acc);
    vec_int_store(places, place);
    if (p->half)
        vec_store_half((uint16_t *)p->call->data[1] + w->y_at + c, acc);
    else
        vec_store((float *)p->call->data[1] + w->y_at + c, acc);
    pool_index_channels(p, w, c, VEC, best, places);
}

static void pool_pixel_first(const struct pool_fast *p, const struct pool_pixel *w)
{
    int64_t channels = p->call->op->tensors[1].sizes[1], c = 0;
    for (; c + VEC <= channels; c += VEC)
        pool_channels_first(p, w, c);
    if (c < channels && channels >= VEC) {
        pool_channels_first(p, w, channels - VEC);
        return;
    }
    for (; c < channels; c++) {
        pool_channel(p, w, c);
        pool_index_channels(p, w, c, 1, (const float[]){ -INFINITY }, (const int32_t[]){ 0 });
    }
}

DENSE_INLINE void pool_pixel_as(const struct pool_fast *p, const struct pool_pixel *w, enum pool_kind kind, bool half)
{
    int64_t channels = p->call->op->tensors[1].sizes[1], c = 0;
    for (; c + VEC <= channels; c += VEC)
        pool_channels(p, w, c, kind, half);
    if (c < channels && channels >= VEC) { /* the last vector overlaps the one before */
        pool_channels(p, w, channels - VEC, kind, half);
        return;
    }
    for (; c < channels; c++)
        pool_channel(p, w, c);
}

static void pool_pixel_run(const struct pool_fast *p, const struct pool_pixel *w)
{
    if (p->indices) {
        pool_pixel_first(p, w);
        return;
    }
    switch (p->b.kind) {
    case POOL_SUM:
        p->half ? pool_pixel_as(p, w, POOL_SUM, true) : pool_pixel_as(p, w, POOL_SUM, false);
        break;
    case POOL_TOP:
        p->half ? pool_pixel_as(p, w, POOL_TOP, true) : pool_pixel_as(p, w, POOL_TOP, false);
        break;
    case POOL_SUM_ABS:
        pool_pixel_as(p, w, POOL_SUM_ABS, p->half);
        break;
    case POOL_SUM_SQUARE:
        pool_pixel_as(p, w, POOL_SUM_SQUARE, p->half);
        break;
    }
}

static void pool_pixel_init(const struct pool_fast *p, const int64_t *at, struct pool_pixel *w)
{
    const struct pool_shape *s = &p->b.s;
    *w = (struct pool_pixel){ .x_at = at[0] * s->x[0], .y_at = at[0] * s->y[0], .share = 1 };
    memcpy(w->at, at, sizeof(w->at));
    for (uint32_t d = 0; d < 3; d++) {
        int64_t first, last;
        pool_taps(s, d, at[d + 2], &first, &last);
        int64_t from = last > first ? at[d + 2] * s->stride[d] - s->pad[d] + first * s->dilation[d] : 0;
        w->count[d] = last - first;
        w->step[d] = s->dilation[d] * s->x[d + 2];
        w->x_at += from * s->x[d + 2];
        w->y_at += at[d + 2] * s->y[d + 2];
        w->place = (w->place + from) * (d < 2 ? s->in[d + 1] : 1);
        w->share *= p->divides ? pool_share(p, d, at[d + 2]) : 1;
    }
}

static void pool_pixels(const struct pool_fast *p, uint64_t begin, uint64_t end)
{
    const struct pool_shape *s = &p->b.s;
    for (uint64_t unit = begin; unit < end; unit++) {
        int64_t row = (int64_t)unit;
        int64_t at[5] = { row / s->out[1] / s->out[0], 0, row / s->out[1] % s->out[0], row % s->out[1] };
        for (; at[4] < s->out[2]; at[4]++) {
            struct pool_pixel w;
            pool_pixel_init(p, at, &w);
            pool_pixel_run(p, &w);
        }
    }
}

static void pool_fast_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    struct pool_fast p;
    pool_fast_init(&p, call);
    if (pool_channels_last(call->op, &p.b.s))
        pool_pixels(&p, begin, end);
    else if (pool_global(&p.b.s) && !p.indices)
        pool_globals(&p, begin, end);
    else
        pool_planes(&p, begin, end);
}
