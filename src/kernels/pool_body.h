/* The pooling of pool_fast.h; included once per instruction set. */
#include "kernels/dense_vec.h"
#include "kernels/pool_fast.h"

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
    struct pool_fast_plan plan;
    const struct kern_call *call;
    enum pool_kind kind;
    bool half, divides;
    float identity;
    float *line, *phase, *row, *out, *share; /* share: 1 / taps inside along the last dimension */
};

static void pool_fast_init(struct pool_fast *p, const struct kern_call *call)
{
    const struct kern_pool *pool = &call->op->u.pool;
    p->call = call;
    pool_shape_init(call->op, &p->s);
    pool_fast_plan_init(&p->s, &p->plan);
    p->kind = pool_kind_of(pool);
    p->half = call->op->tensors[0].type == DML_TENSOR_DATA_TYPE_FLOAT16;
    p->divides = pool->mode == KERN_POOL_AVERAGE;
    p->identity = p->kind == POOL_TOP ? -INFINITY : 0;
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

/* ---- rows (nchw) ---------------------------------------------------------------------------------------------------- */

/* line[0 .. count) takes in one more input row. */
DENSE_INLINE void pool_add_row(enum pool_kind kind, float *restrict line, const float *restrict row, int64_t count)
{
    int64_t i = 0;
    for (; i + VEC <= count; i += VEC)
        vec_store(line + i, pool_join(kind, vec_load(line + i), vec_load(row + i)));
    for (; i < count; i++)
        line[i] = pool_join_one(kind, line[i], row[i]);
}

static void pool_take_row(const struct pool_fast *p, int64_t at)
{
    const struct pool_shape *s = &p->s;
    int64_t room = (int64_t)p->plan.line - s->pad[2], count = s->in[2] < room ? s->in[2] : room;
    const float *row = (const float *)p->call->data[0] + at;
    float *line = p->line + s->pad[2];
    if (count <= 0)
        return;
    if (p->half) {
        dense_load_row(p->call->data[0], at, 1, DML_TENSOR_DATA_TYPE_FLOAT16, (uint32_t)count, p->row);
        row = p->row;
    }
    switch (p->kind) {
    case POOL_SUM: pool_add_row(POOL_SUM, line, row, count); break;
    case POOL_SUM_ABS: pool_add_row(POOL_SUM_ABS, line, row, count); break;
    case POOL_SUM_SQUARE: pool_add_row(POOL_SUM_SQUARE, line, row, count); break;
    case POOL_TOP: pool_add_row(POOL_TOP, line, row, count); break;
    }
}

static void pool_split(const float *restrict line, int64_t stride, int64_t count, float *restrict phase)
{
    if (stride == 2) {
        for (int64_t i = 0; i < count; i++)
            phase[i] = line[i * 2];
        return;
    }
    for (int64_t i = 0; i < count; i++)
        phase[i] = line[i * stride];
}

/* The line is complete along the outer dimensions: join its taps along the last one. */
static void pool_across(const struct pool_fast *p)
{
    const struct pool_shape *s = &p->s;
    enum pool_kind kind = p->kind == POOL_TOP ? POOL_TOP : POOL_SUM; /* elements are already absolute or squared */
    for (uint32_t i = 0; i < p->plan.width; i++)
        p->out[i] = p->identity;
    for (int64_t k = 0; k < s->window[2]; k++) {
        const float *from = p->line + k * s->dilation[2];
        if (s->stride[2] > 1) {
            pool_split(from, s->stride[2], p->plan.width, p->phase);
            from = p->phase;
        }
        if (kind == POOL_TOP)
            pool_add_row(POOL_TOP, p->out, from, p->plan.width);
        else
            pool_add_row(POOL_SUM, p->out, from, p->plan.width);
    }
}

static void pool_row(const struct pool_fast *p, const uint32_t *at)
{
    const struct pool_shape *s = &p->s;
    uint32_t rank = p->call->op->tensors[1].rank;
    int64_t begin[2], end[2], position[2], out[2];
    float share = 1;
    for (uint32_t d = 0; d < 2; d++) {
        out[d] = rank + d >= 5 ? at[rank + d - 3] : 0;
        pool_taps(s, d, out[d], &begin[d], &end[d]);
        position[d] = out[d] * s->stride[d] - s->pad[d];
        share *= p->divides ? pool_share(p, d, out[d]) : 1;
    }
    for (uint32_t i = 0; i < p->plan.line; i++)
        p->line[i] = p->identity;
    int64_t from = at[0] * s->x[0] + at[1] * s->x[1];
    for (int64_t k0 = begin[0]; k0 < end[0]; k0++) {
        for (int64_t k1 = begin[1]; k1 < end[1]; k1++)
            pool_take_row(p, from + (position[0] + k0 * s->dilation[0]) * s->x[2] +
                                 (position[1] + k1 * s->dilation[1]) * s->x[3]);
    }
    pool_across(p);
    for (int64_t i = 0; i < s->out[2]; i++)
        p->out[i] = p->divides ? p->out[i] * share * p->share[i] : p->kind == POOL_SUM_SQUARE ? sqrtf(p->out[i]) : p->out[i];
    dense_finish_f32(p->call, NULL, at, (uint32_t)s->out[2], p->out);
}

static void pool_rows(struct pool_fast *p, uint64_t begin, uint64_t end)
{
    p->line = p->call->worker_scratch;
    p->phase = p->line + p->plan.line;
    p->row = p->phase + p->plan.line;
    p->out = p->row + p->s.in[2];
    p->share = p->out + p->plan.width;
    for (int64_t i = 0; i < p->s.out[2]; i++)
        p->share[i] = p->divides ? pool_share(p, 2, i) : 1;
    for (uint64_t row = begin; row < end; row++) {
        uint32_t at[KERN_RANK_MAX];
        dense_row_at(&p->call->op->tensors[1], row, at);
        pool_row(p, at);
    }
}

/* ---- channels (nhwc) ------------------------------------------------------------------------------------------------ */

struct pool_pixel {
    int64_t x_at, y_at; /* elements; x: of tap begin[0], begin[1], begin[2] */
    int64_t count[3], step[3];
    float share;
};

DENSE_INLINE vec pool_load(const struct pool_fast *p, int64_t at, bool half)
{
    return half ? vec_load_half((const uint16_t *)p->call->data[0] + at) : vec_load((const float *)p->call->data[0] + at);
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
    float acc = p->identity;
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
    case POOL_SUM: p->half ? pool_pixel_as(p, w, POOL_SUM, true) : pool_pixel_as(p, w, POOL_SUM, false); break;
    case POOL_TOP: p->half ? pool_pixel_as(p, w, POOL_TOP, true) : pool_pixel_as(p, w, POOL_TOP, false); break;
    case POOL_SUM_ABS: pool_pixel_as(p, w, POOL_SUM_ABS, p->half); break;
    case POOL_SUM_SQUARE: pool_pixel_as(p, w, POOL_SUM_SQUARE, p->half); break;
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
    else
        pool_rows(&p, begin, end);
}
