/* Pooling of FLOAT64 for the instruction set of the including file. The taps of every result join in the order of the
 * reference, so that results are its own. */
#include "kernels/core/isa.h"
#include "kernels/pool/pool.h"

#include <math.h>

struct pool_f64 {
    const struct kern_call *call;
    const struct kern_pool *pool;
    struct pool_shape s;
    double *acc, *counts; /* of a row's results or of some channels; what averages divide by along rows */
    int64_t *place;       /* of the maximum in its channel, -1 when there is none */
    int64_t inside[2];    /* results of a row from .. to whose windows have all columns inside */
};

/* Taps `tap_step` apart for `count` results from the begin-th on, whose elements are `step` apart; positions likewise.
 */
struct pool_f64_span {
    const double *from;
    int64_t begin, count, step, taps, tap_step, position, stride, tap_stride;
};

enum pool_f64_kind { POOL_F64_SUM, POOL_F64_SIZE, POOL_F64_SQUARE, POOL_F64_TOP };

/* acc with one more element x */
DENSE_INLINE double pool_f64_one(enum pool_f64_kind kind, double acc, double x)
{
    if (kind == POOL_F64_TOP)
        return x > acc ? x : acc;
    return acc + (kind == POOL_F64_SUM ? x : kind == POOL_F64_SIZE ? fabs(x) : x * x);
}

/* All taps of each result in one go: few taps, a constant number. */
DENSE_INLINE void pool_f64_few(enum pool_f64_kind kind, const struct pool_f64_span *span, double *restrict acc,
                               int64_t taps, int64_t step)
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
DENSE_INLINE void pool_f64_many(enum pool_f64_kind kind, const struct pool_f64_span *span, double *restrict acc,
                                int64_t step)
{
    const int64_t count = span->count;
    for (int64_t t = 0; t < span->taps; t++) {
        const double *restrict from = span->from + t * span->tap_step;
        for (int64_t i = 0; i < count; i++)
            acc[i] = pool_f64_one(kind, acc[i], from[i * step]);
    }
}

/* POOL_F64_CHANNELS results that stay in registers. */
DENSE_INLINE void pool_f64_lanes(enum pool_f64_kind kind, const struct pool_f64_span *span, double *restrict acc)
{
    double sum[POOL_F64_CHANNELS];
    memcpy(sum, acc, sizeof(sum));
    for (int64_t t = 0; t < span->taps; t++)
        for (int64_t i = 0; i < POOL_F64_CHANNELS; i++)
            sum[i] = pool_f64_one(kind, sum[i], span->from[t * span->tap_step + i * span->step]);
    memcpy(acc, sum, sizeof(sum));
}

DENSE_INLINE void pool_f64_join_as(enum pool_f64_kind kind, const struct pool_f64_span *span, double *acc)
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

/* Maxima and where they lie; NaN is none. */
static void pool_f64_places(const struct pool_f64_span *span, double *restrict acc, int64_t *restrict place)
{
    for (int64_t t = 0; t < span->taps; t++) {
        const double *restrict from = span->from + t * span->tap_step;
        const int64_t position = span->position + t * span->tap_stride;
        for (int64_t i = 0; i < span->count; i++) {
            const double x = from[i * span->step];
            const bool take = x > acc[i] || (place[i] < 0 && x == x);
            acc[i] = take ? x : acc[i];
            place[i] = take ? position + i * span->stride : place[i];
        }
    }
}

static void pool_f64_join(const struct pool_f64 *p, const struct pool_f64_span *span)
{
    double *acc = p->acc + span->begin;
    if (p->pool->mode == KERN_POOL_AVERAGE)
        pool_f64_join_as(POOL_F64_SUM, span, acc);
    else if (p->pool->mode == KERN_POOL_LP && p->pool->p == 1)
        pool_f64_join_as(POOL_F64_SIZE, span, acc);
    else if (p->pool->mode == KERN_POOL_LP)
        pool_f64_join_as(POOL_F64_SQUARE, span, acc);
    else if (!p->pool->has_indices)
        pool_f64_join_as(POOL_F64_TOP, span, acc);
    else
        pool_f64_places(span, acc, p->place + span->begin);
}

static void pool_f64_clear(const struct pool_f64 *p, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        p->acc[i] = p->pool->mode == KERN_POOL_MAX ? -INFINITY : 0;
        p->place[i] = -1;
    }
}

/* Results `y_step` and indices `index_step` apart; base: of the first one's channel, `base_step` more for the next. */
struct pool_f64_to {
    int64_t y, y_step, index, index_step, count;
    uint64_t base, base_step;
};

static void pool_f64_store(const struct pool_f64 *p, const struct pool_f64_to *to)
{
    double *y = (double *)p->call->data[1] + to->y;
    for (int64_t i = 0; i < to->count; i++)
        y[i * to->y_step] = p->pool->mode == KERN_POOL_LP && p->pool->p == 2 ? sqrt(p->acc[i]) : p->acc[i];
    if (!p->pool->has_indices)
        return;
    const bool wide = kern_type_bytes(p->call->op->tensors[2].type) == 8;
    const uint64_t base_step = p->pool->whole_indices ? to->base_step : 0;
    for (int64_t i = 0; i < to->count; i++) {
        const uint64_t base = p->pool->whole_indices ? to->base + (uint64_t)i * base_step : 0;
        const uint64_t index = p->place[i] < 0 ? 0 : base + (uint64_t)p->place[i];
        const int64_t at = to->index + i * to->index_step;
        if (wide)
            ((uint64_t *)p->call->data[2])[at] = index;
        else
            ((uint32_t *)p->call->data[2])[at] = (uint32_t)index;
    }
}

/* at: batch, channel, output position. */
static struct pool_f64_to pool_f64_to(const struct pool_f64 *p, const int64_t *at)
{
    const struct pool_shape *s = &p->s;
    struct pool_f64_to to = { .base_step = (uint64_t)(s->in[0] * s->in[1] * s->in[2]) };
    to.base = ((uint64_t)at[0] * p->call->op->tensors[0].sizes[1] + (uint64_t)at[1]) * to.base_step;
    for (uint32_t d = 0; d < 5; d++) {
        to.y += at[d] * s->y[d];
        to.index += at[d] * s->index[d];
    }
    return to;
}

/* What the average of some dimensions divides by; 1 instead of 0, as the sum is 0 then. */
static double pool_f64_count(const struct pool_f64 *p, const int64_t *at, uint32_t dims)
{
    double count = 1;
    for (uint32_t d = 0; d < dims; d++)
        count *= pool_count(&p->s, d, at[d + 2], p->pool->include_padding);
    return count > 0 ? count : 1;
}

/* ---- rows of results ---- */

/* `count` results from the begin-th on, which see the same taps of the input row with element x_at, whose position is
 * given. */
static void pool_f64_piece(const struct pool_f64 *p, int64_t x_at, int64_t position, int64_t begin, int64_t count)
{
    const struct pool_shape *s = &p->s;
    int64_t first, last;
    pool_taps(s, 2, begin, &first, &last);
    const int64_t at = begin * s->stride[2] - s->pad[2] + first * s->dilation[2];
    const struct pool_f64_span span = { .from =
                                            (const double *)p->call->data[0] + x_at + (first < last ? at : 0) * s->x[4],
                                        .begin = begin,
                                        .count = count,
                                        .step = s->stride[2] * s->x[4],
                                        .taps = last - first,
                                        .tap_step = s->dilation[2] * s->x[4],
                                        .position = position + at,
                                        .stride = s->stride[2],
                                        .tap_stride = s->dilation[2] };
    if (span.taps > 0)
        pool_f64_join(p, &span);
}

static void pool_f64_input(const struct pool_f64 *p, int64_t x_at, int64_t position)
{
    const int64_t *inside = p->inside;
    for (int64_t i = 0; i < inside[0]; i++)
        pool_f64_piece(p, x_at, position, i, 1);
    if (inside[0] < inside[1])
        pool_f64_piece(p, x_at, position, inside[0], inside[1] - inside[0]);
    for (int64_t i = inside[1]; i < p->s.out[2]; i++)
        pool_f64_piece(p, x_at, position, i, 1);
}

static void pool_f64_taps(const struct pool_f64 *p, const int64_t *at)
{
    const struct pool_shape *s = &p->s;
    int64_t begin[2], end[2];
    for (uint32_t d = 0; d < 2; d++)
        pool_taps(s, d, at[d + 2], &begin[d], &end[d]);
    for (int64_t k0 = begin[0]; k0 < end[0]; k0++) {
        int64_t i0 = at[2] * s->stride[0] - s->pad[0] + k0 * s->dilation[0];
        for (int64_t k1 = begin[1]; k1 < end[1]; k1++) {
            int64_t i1 = at[3] * s->stride[1] - s->pad[1] + k1 * s->dilation[1];
            pool_f64_input(p, at[0] * s->x[0] + at[1] * s->x[1] + i0 * s->x[2] + i1 * s->x[3],
                           (i0 * s->in[1] + i1) * s->in[2]);
        }
    }
}

static void pool_f64_row(const struct pool_f64 *p, uint64_t row)
{
    const struct pool_shape *s = &p->s;
    const struct kern_view *y = &p->call->op->tensors[1];
    uint32_t where[KERN_RANK_MAX];
    int64_t at[5] = { 0 };
    dense_row_at(y, row, where);
    for (uint32_t d = 0; d < y->rank; d++)
        at[d < 2 ? d : d + 5 - y->rank] = where[d];
    pool_f64_clear(p, s->out[2]);
    pool_f64_taps(p, at);
    if (p->pool->mode == KERN_POOL_AVERAGE) {
        const double outer = pool_f64_count(p, at, 2);
        for (int64_t i = 0; i < s->out[2]; i++)
            p->acc[i] /= outer * p->counts[i];
    }
    struct pool_f64_to to = pool_f64_to(p, at);
    to.base_step = 0;
    to.y_step = s->y[4];
    to.index_step = s->index[4];
    to.count = s->out[2];
    pool_f64_store(p, &to);
}

/* ---- channels ---- */

static void pool_f64_pixel(const struct pool_f64 *p, const int64_t *at, int64_t channels)
{
    const struct pool_shape *s = &p->s;
    struct pool_window w;
    pool_window_at(s, p->call->data[0], at, &w);
    pool_f64_clear(p, channels);
    for (int64_t k0 = w.begin[0]; k0 < w.end[0]; k0++) {
        const int64_t i0 = w.position[0] + k0 * s->dilation[0];
        for (int64_t k1 = w.begin[1]; k1 < w.end[1]; k1++) {
            const int64_t i1 = w.position[1] + k1 * s->dilation[1];
            const int64_t i2 = w.position[2] + w.begin[2] * s->dilation[2];
            const int64_t x_at = w.at + i0 * s->x[2] + i1 * s->x[3] + (w.begin[2] < w.end[2] ? i2 : 0) * s->x[4];
            const struct pool_f64_span span = { .from = (const double *)w.x + x_at,
                                                .count = channels,
                                                .step = s->x[1],
                                                .taps = w.end[2] - w.begin[2],
                                                .tap_step = s->dilation[2] * s->x[4],
                                                .position = (i0 * s->in[1] + i1) * s->in[2] + i2,
                                                .tap_stride = s->dilation[2] };
            pool_f64_join(p, &span);
        }
    }
    if (p->pool->mode == KERN_POOL_AVERAGE) {
        const double count = pool_f64_count(p, at, 3);
        for (int64_t i = 0; i < channels; i++)
            p->acc[i] /= count;
    }
    struct pool_f64_to to = pool_f64_to(p, at);
    to.y_step = s->y[1];
    to.index_step = s->index[1];
    to.count = channels;
    pool_f64_store(p, &to);
}

/* A row of pixels of some channels. */
static void pool_f64_pixels(const struct pool_f64 *p, int64_t lanes, uint64_t unit)
{
    const struct pool_shape *s = &p->s;
    const int64_t channels = p->call->op->tensors[1].sizes[1], blocks = (channels + lanes - 1) / lanes;
    int64_t left = (int64_t)unit, at[5];
    at[3] = left % s->out[1];
    left /= s->out[1];
    at[2] = left % s->out[0];
    left /= s->out[0];
    at[1] = left % blocks * lanes;
    at[0] = left / blocks;
    for (at[4] = 0; at[4] < s->out[2]; at[4]++)
        pool_f64_pixel(p, at, BASE_MIN(lanes, channels - at[1]));
}

static void pool_f64_columns(struct pool_f64 *p)
{
    const struct pool_shape *s = &p->s;
    for (int64_t i = 0; i < s->out[2]; i++) {
        int64_t begin, end;
        const double count = pool_count(s, 2, i, p->pool->include_padding);
        p->counts[i] = count > 0 ? count : 1;
        pool_taps(s, 2, i, &begin, &end);
        if (end - begin < s->window[2])
            continue;
        p->inside[0] = p->inside[1] ? p->inside[0] : i;
        p->inside[1] = i + 1;
    }
}

static void pool_f64_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    struct pool_f64 p = { .call = call, .pool = &call->op->u.pool };
    pool_shape_init(call->op, &p.s);
    const int64_t lanes = pool_f64_channels(call->op, &p.s), most = BASE_MAX(lanes, p.s.out[2]);
    p.acc = call->worker_scratch;
    p.place = (int64_t *)(p.acc + most);
    p.counts = (double *)(p.place + most);
    if (!lanes)
        pool_f64_columns(&p);
    for (uint64_t unit = begin; unit < end; unit++) {
        if (lanes)
            pool_f64_pixels(&p, lanes, unit);
        else
            pool_f64_row(&p, unit);
    }
}

KERN_ISA_RUN(pool_f64, pool_f64_run)
