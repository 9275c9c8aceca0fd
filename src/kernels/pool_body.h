/* The pooling of pool_fast.h; included once per instruction set. */
#include "kernels/pool_fast.h"
#include "kernels/window_body.h"

#include <math.h>

enum pool_kind { POOL_SUM, POOL_SUM_ABS, POOL_SUM_SQUARE, POOL_TOP };

DENSE_INLINE vec pool_addend(enum pool_kind kind, vec x)
{
    if (kind == POOL_SUM_ABS)
        return vec_abs(x);
    return x;
}

/* acc with one more element x */
DENSE_INLINE vec pool_join(enum pool_kind kind, vec acc, vec x)
{
    if (kind == POOL_TOP)
        return vec_max(x, acc);
    if (kind == POOL_SUM_SQUARE)
        return vec_fma(x, x, acc);
    return acc + pool_addend(kind, x);
}

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
    struct pool_shape s;
    struct window w;
    struct window_band band;
    const struct kern_call *call;
    const struct kern_op *flat;
    enum pool_kind kind;
    bool half, divides;
    float *share[2]; /* 1 / taps inside, for each output row and column */
};

static void pool_fast_init(struct pool_fast *p, const struct kern_call *call)
{
    const struct kern_pool *pool = &call->op->u.pool;
    p->call = call;
    pool_shape_init(call->op, &p->s);
    pool_window(call->op, &p->s, &p->w);
    p->kind = pool_kind_of(pool);
    p->half = call->op->tensors[0].type == DML_TENSOR_DATA_TYPE_FLOAT16;
    p->divides = pool->mode == KERN_POOL_AVERAGE;
}

/* 1 / (elements that an average divides by) along one dimension */
static float pool_share(const struct pool_fast *p, uint32_t d, int64_t out)
{
    int64_t begin, end;
    if (p->call->op->u.pool.include_padding)
        return 1.0f / (float)p->s.window[d];
    pool_taps(&p->s, d, out, &begin, &end);
    return end > begin ? 1.0f / (float)(end - begin) : 0;
}

/* ---- planes (nchw) --------------------------------------------------------------------------------------------------
 */

/* One depth slice of the window joins the band's results. */
DENSE_INLINE void pool_join_band(const struct pool_fast *p, enum pool_kind kind, int64_t count)
{
    float *run = p->band.run;
    for (int64_t k = 0; k < p->w.kernel[0] * p->w.kernel[1]; k++) {
        const float *tap = window_tap(&p->w, &p->band, k / p->w.kernel[1], k % p->w.kernel[1]);
        for (int64_t i = 0; i < count; i += VEC)
            vec_store(run + i, pool_join(kind, vec_load(run + i), vec_load(tap + i)));
    }
}

static void pool_end_band(const struct pool_fast *p, float *values, int64_t first, int64_t rows, float share)
{
    int64_t width = p->w.out[1];
    for (int64_t i = 0; p->kind == POOL_SUM_SQUARE && i < rows * width; i++)
        values[i] = sqrtf(values[i]);
    for (int64_t row = 0; p->divides && row < rows; row++) {
        float row_share = share * p->share[0][first + row];
        for (int64_t i = 0; i < width; i++)
            values[row * width + i] *= row_share * p->share[1][i];
    }
}

static void pool_band(const struct pool_fast *p, const uint32_t *at, int64_t depth, int64_t first)
{
    const struct pool_shape *s = &p->s;
    uint32_t row_dim = p->call->op->tensors[1].rank - 2, where[KERN_RANK_MAX];
    int64_t rows = BASE_MIN(p->w.rows, p->w.out[0] - first), begin, end;
    int64_t count = (int64_t)base_align_up((uint64_t)(rows * p->w.pitch), VEC);
    pool_taps(s, 0, depth, &begin, &end);
    window_fill(p->band.run, count, p->w.fill);
    for (int64_t k = begin; k < end; k++) {
        int64_t slice = depth * s->stride[0] - s->pad[0] + k * s->dilation[0];
        window_load(&p->w, &p->band, p->call->data[0], at[0] * s->x[0] + at[1] * s->x[1] + slice * s->x[2], first,
                    rows);
        switch (p->kind) {
        case POOL_SUM:
            pool_join_band(p, POOL_SUM, count);
            break;
        case POOL_SUM_ABS:
            pool_join_band(p, POOL_SUM_ABS, count);
            break;
        case POOL_SUM_SQUARE:
            pool_join_band(p, POOL_SUM_SQUARE, count);
            break;
        case POOL_TOP:
            pool_join_band(p, POOL_TOP, count);
            break;
        }
    }
    float *values = window_dense(&p->w, &p->band, rows);
    pool_end_band(p, values, first, rows, p->divides ? pool_share(p, 0, depth) : 1);
    memcpy(where, at, sizeof(where));
    if (row_dim > 1)
        where[row_dim] = (uint32_t)first;
    window_finish(p->call, p->flat, &p->w, values, NULL, where, row_dim, rows);
}

static void pool_planes(struct pool_fast *p, uint64_t begin, uint64_t end)
{
    const struct kern_view *y = &p->call->op->tensors[1];
    struct kern_op flat;
    window_band_init(&p->w, &p->band, p->call->worker_scratch);
    p->share[0] = (float *)p->call->worker_scratch + window_floats(&p->w);
    p->share[1] = p->share[0] + p->w.out[0];
    p->flat = y->rank > 3 && dense_merge_rows(p->call->op, &flat) ? &flat : NULL;
    for (uint32_t d = 0; p->divides && d < 2; d++) {
        for (int64_t i = 0; i < p->w.out[d]; i++)
            p->share[d][i] = pool_share(p, d + 1, i);
    }
    for (uint64_t unit = begin; unit < end; unit++) {
        uint64_t plane = unit / (uint64_t)p->s.out[0], depth = unit % (uint64_t)p->s.out[0];
        uint32_t at[KERN_RANK_MAX] = { (uint32_t)(plane / y->sizes[1]), (uint32_t)(plane % y->sizes[1]),
                                       (uint32_t)depth };
        for (int64_t row = 0; row < p->w.out[0]; row += p->w.rows)
            pool_band(p, at, (int64_t)depth, row);
    }
}

/* ---- whole planes (global pooling)
 * ----------------------------------------------------------------------------------- */

DENSE_INLINE float pool_reduce(enum pool_kind kind, const float *x, int64_t count)
{
    vec acc = vec_set(kind == POOL_TOP ? -INFINITY : 0);
    int64_t i = 0;
    for (; i + VEC <= count; i += VEC)
        acc = pool_join(kind, acc, vec_load(x + i));
    float result = kind == POOL_TOP ? vec_top(acc) : vec_sum(acc);
    for (; i < count; i++)
        result = pool_join_one(kind, result, x[i]);
    return result;
}

static float pool_reduce_plane(const struct pool_fast *p, int64_t at, int64_t count)
{
    const float *x = (const float *)p->call->data[0] + at;
    switch (p->kind) {
    case POOL_SUM:
        return pool_reduce(POOL_SUM, x, count);
    case POOL_SUM_ABS:
        return pool_reduce(POOL_SUM_ABS, x, count);
    case POOL_SUM_SQUARE:
        return pool_reduce(POOL_SUM_SQUARE, x, count);
    case POOL_TOP:
        return pool_reduce(POOL_TOP, x, count);
    }
    return 0;
}

static float pool_reduce_half(const struct pool_fast *p, int64_t at, int64_t count)
{
    float result = p->w.fill, part[256];
    for (int64_t i = 0; i < count; i += (int64_t)ARRAY_SIZE(part)) {
        uint32_t now = (uint32_t)BASE_MIN(count - i, (int64_t)ARRAY_SIZE(part));
        dense_load_row(p->call->data[0], at + i, 1, DML_TENSOR_DATA_TYPE_FLOAT16, now, part);
        for (uint32_t j = 0; j < now; j++)
            result = pool_join_one(p->kind, result, part[j]);
    }
    return result;
}

static void pool_globals(const struct pool_fast *p, uint64_t begin, uint64_t end)
{
    const struct kern_view *y = &p->call->op->tensors[1];
    for (uint64_t plane = begin; plane < end; plane++) {
        int64_t n = (int64_t)(plane / y->sizes[1]), c = (int64_t)(plane % y->sizes[1]);
        int64_t at = n * p->s.x[0] + c * p->s.x[1];
        float value = p->half ? pool_reduce_half(p, at, p->s.area) : pool_reduce_plane(p, at, p->s.area);
        if (p->divides)
            value /= (float)p->s.area;
        if (p->kind == POOL_SUM_SQUARE)
            value = sqrtf(value);
        dense_store(p->call->data[1], n * p->s.y[0] + c * p->s.y[1], y->type, value);
    }
}

/* ---- channels (nhwc) ------------------------------------------------------------------------------------------------
 */

struct pool_pixel {
    int64_t x_at, y_at; /* elements; x: of tap begin[0], begin[1], begin[2] */
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
    float acc = p->w.fill;
    for (int64_t k = 0; k < w->count[0] * w->count[1] * w->count[2]; k++) {
        int64_t k2 = k % w->count[2], k1 = k / w->count[2] % w->count[1], k0 = k / w->count[2] / w->count[1];
        int64_t at = w->x_at + k0 * w->step[0] + k1 * w->step[1] + k2 * w->step[2] + c;
        acc = pool_join_one(p->kind, acc, (float)dense_load(p->call->data[0], at, type));
    }
    acc = p->divides ? acc * w->share : p->kind == POOL_SUM_SQUARE ? sqrtf(acc) : acc;
    dense_store(p->call->data[1], w->y_at + c, type, acc);
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
    switch (p->kind) {
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

static void pool_pixels(const struct pool_fast *p, uint64_t begin, uint64_t end)
{
    const struct pool_shape *s = &p->s;
    for (uint64_t unit = begin; unit < end; unit++) {
        int64_t out[3] = { (int64_t)unit / s->out[1] % s->out[0], (int64_t)unit % s->out[1], 0 };
        int64_t n = (int64_t)unit / s->out[1] / s->out[0];
        for (; out[2] < s->out[2]; out[2]++) {
            struct pool_pixel w = { .x_at = n * s->x[0], .y_at = n * s->y[0], .share = 1 };
            for (uint32_t d = 0; d < 3; d++) {
                int64_t first, last;
                pool_taps(s, d, out[d], &first, &last);
                w.count[d] = last - first;
                w.step[d] = s->dilation[d] * s->x[d + 2];
                w.x_at += (out[d] * s->stride[d] - s->pad[d] + first * s->dilation[d]) * s->x[d + 2];
                w.y_at += out[d] * s->y[d + 2];
                w.share *= p->divides ? pool_share(p, d, out[d]) : 1;
            }
            pool_pixel_run(p, &w);
        }
    }
}

static void pool_fast_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    struct pool_fast p;
    pool_fast_init(&p, call);
    if (pool_channels_last(call->op, &p.s))
        pool_pixels(&p, begin, end);
    else if (pool_global(&p.s))
        pool_globals(&p, begin, end);
    else
        pool_planes(&p, begin, end);
}
