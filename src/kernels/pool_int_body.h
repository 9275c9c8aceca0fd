/* Max pooling of integers for the instruction set of the including file. */
#ifndef KERNELS_POOL_INT_BODY_H
#define KERNELS_POOL_INT_BODY_H

#include "kernels/copy_body.h"
#include "kernels/pool.h"

/* One row of results. With indices: the greatest so far as a signed number in the same order, and its position in the
 * channel, -1 when there is none. Without: elements of the type. */
struct pool_int_row {
    const struct kern_call *call;
    struct pool_shape s;
    int64_t *best, *place;
};

/* An element as a signed number in the same order. */
DENSE_INLINE int64_t pool_int_key(const void *data, int64_t at, DML_TENSOR_DATA_TYPE type)
{
    switch (type) {
    case DML_TENSOR_DATA_TYPE_INT8:
        return ((const int8_t *)data)[at];
    case DML_TENSOR_DATA_TYPE_UINT8:
        return ((const uint8_t *)data)[at];
    case DML_TENSOR_DATA_TYPE_INT16:
        return ((const int16_t *)data)[at];
    case DML_TENSOR_DATA_TYPE_UINT16:
        return ((const uint16_t *)data)[at];
    case DML_TENSOR_DATA_TYPE_INT32:
        return ((const int32_t *)data)[at];
    case DML_TENSOR_DATA_TYPE_UINT32:
        return ((const uint32_t *)data)[at];
    case DML_TENSOR_DATA_TYPE_UINT64:
        return (int64_t)(((const uint64_t *)data)[at] ^ (uint64_t)INT64_MIN);
    default:
        return ((const int64_t *)data)[at];
    }
}

/* A tap for results [begin, end): the first one's element and position in the row, and the step to the next. */
struct pool_int_span {
    int64_t begin, end, at, step;
};

DENSE_INLINE void pool_int_place(const struct pool_int_row *r, const struct pool_int_span *span, int64_t x_at,
                                 int64_t position, DML_TENSOR_DATA_TYPE type, int64_t step)
{
    const void *data = r->call->data[0];
    int64_t *restrict best = r->best + span->begin, *restrict place = r->place + span->begin;
    const int64_t stride = r->s.stride[2];
    for (int64_t i = 0; i < span->end - span->begin; i++) {
        int64_t key = pool_int_key(data, x_at + i * step, type);
        bool take = (place[i] < 0) | (key > best[i]);
        best[i] = take ? key : best[i];
        place[i] = take ? position + i * stride : place[i];
    }
}

#define POOL_INT_MOST(type, step)                                                                                      \
    for (int64_t i = 0; i < count; i++)                                                                                \
        best[i] = from[i * (step)] > best[i] ? from[i * (step)] : best[i];
#define POOL_INT_TAP(name, type, constant)                                                                             \
    static void pool_int_tap_##name(const struct pool_int_row *r, const struct pool_int_span *span, int64_t x_at,      \
                                    int64_t position)                                                                  \
    {                                                                                                                  \
        const int64_t count = span->end - span->begin, step = span->step;                                              \
        const type *restrict from = (const type *)r->call->data[0] + x_at;                                             \
        type *restrict best = (type *)r->best + span->begin;                                                           \
        if (r->call->op->u.pool.has_indices && step == 1)                                                              \
            pool_int_place(r, span, x_at, position, constant, 1);                                                      \
        else if (r->call->op->u.pool.has_indices)                                                                      \
            pool_int_place(r, span, x_at, position, constant, step);                                                   \
        else if (step == 1)                                                                                            \
            POOL_INT_MOST(type, 1)                                                                                     \
        else if (step == 2)                                                                                            \
            POOL_INT_MOST(type, 2)                                                                                     \
        else                                                                                                           \
            POOL_INT_MOST(type, step)                                                                                  \
    }
POOL_INT_TAP(s8, int8_t, DML_TENSOR_DATA_TYPE_INT8)
POOL_INT_TAP(u8, uint8_t, DML_TENSOR_DATA_TYPE_UINT8)
POOL_INT_TAP(s16, int16_t, DML_TENSOR_DATA_TYPE_INT16)
POOL_INT_TAP(u16, uint16_t, DML_TENSOR_DATA_TYPE_UINT16)
POOL_INT_TAP(s32, int32_t, DML_TENSOR_DATA_TYPE_INT32)
POOL_INT_TAP(u32, uint32_t, DML_TENSOR_DATA_TYPE_UINT32)
POOL_INT_TAP(s64, int64_t, DML_TENSOR_DATA_TYPE_INT64)
POOL_INT_TAP(u64, uint64_t, DML_TENSOR_DATA_TYPE_UINT64)

/* Tap k of the last dimension; x_at and position are of the input row's first element. */
static void pool_int_tap(const struct pool_int_row *r, int64_t x_at, int64_t position, int64_t k)
{
    static void (*const taps[])(const struct pool_int_row *, const struct pool_int_span *, int64_t, int64_t) = {
        [DML_TENSOR_DATA_TYPE_INT8] = pool_int_tap_s8,   [DML_TENSOR_DATA_TYPE_UINT8] = pool_int_tap_u8,
        [DML_TENSOR_DATA_TYPE_INT16] = pool_int_tap_s16, [DML_TENSOR_DATA_TYPE_UINT16] = pool_int_tap_u16,
        [DML_TENSOR_DATA_TYPE_INT32] = pool_int_tap_s32, [DML_TENSOR_DATA_TYPE_UINT32] = pool_int_tap_u32,
        [DML_TENSOR_DATA_TYPE_INT64] = pool_int_tap_s64, [DML_TENSOR_DATA_TYPE_UINT64] = pool_int_tap_u64,
    };
    const struct pool_shape *s = &r->s;
    int64_t stride = s->stride[2], first = k * s->dilation[2] - s->pad[2];
    struct pool_int_span span = { .begin = first < 0 ? (-first + stride - 1) / stride : 0,
                                  .end = first < s->in[2] ? (s->in[2] - 1 - first) / stride + 1 : 0,
                                  .step = stride * s->x[4] };
    span.end = BASE_MIN(span.end, s->out[2]);
    span.at = first + span.begin * stride;
    if (span.begin < span.end)
        taps[r->call->op->tensors[0].type](r, &span, x_at + span.at * s->x[4], position + span.at);
}

static void pool_int_taps(const struct pool_int_row *r, const int64_t *at)
{
    const struct pool_shape *s = &r->s;
    int64_t begin[3], end[3], last[2];
    for (uint32_t d = 0; d < 2; d++)
        pool_taps(s, d, at[d + 2], &begin[d], &end[d]);
    /* The last dimension's taps that any result sees. */
    pool_taps(s, 2, s->out[2] - 1, &last[0], &last[1]);
    pool_taps(s, 2, 0, &begin[2], &end[2]);
    begin[2] = BASE_MIN(begin[2], last[0]);
    end[2] = BASE_MAX(end[2], last[1]);
    for (int64_t k0 = begin[0]; k0 < end[0]; k0++) {
        int64_t i0 = at[2] * s->stride[0] - s->pad[0] + k0 * s->dilation[0];
        for (int64_t k1 = begin[1]; k1 < end[1]; k1++) {
            int64_t i1 = at[3] * s->stride[1] - s->pad[1] + k1 * s->dilation[1];
            int64_t x_at = at[0] * s->x[0] + at[1] * s->x[1] + i0 * s->x[2] + i1 * s->x[3];
            for (int64_t k2 = begin[2]; k2 < end[2]; k2++)
                pool_int_tap(r, x_at, (i0 * s->in[1] + i1) * s->in[2], k2);
        }
    }
}

/* The key of the type's lowest number. */
static int64_t pool_int_lowest(DML_TENSOR_DATA_TYPE type)
{
    switch (type) {
    case DML_TENSOR_DATA_TYPE_INT8:
        return INT8_MIN;
    case DML_TENSOR_DATA_TYPE_INT16:
        return INT16_MIN;
    case DML_TENSOR_DATA_TYPE_INT32:
        return INT32_MIN;
    case DML_TENSOR_DATA_TYPE_INT64:
    case DML_TENSOR_DATA_TYPE_UINT64:
        return INT64_MIN;
    default:
        return 0;
    }
}

static void pool_int_clear(const struct pool_int_row *r)
{
    const struct kern_op *op = r->call->op;
    const uint64_t count = (uint64_t)r->s.out[2];
    DML_TENSOR_DATA_TYPE type = op->tensors[1].type;
    const int64_t least = op->u.pool.has_indices || type != DML_TENSOR_DATA_TYPE_UINT64 ? pool_int_lowest(type) : 0;
    const int64_t none = -1;
    copy_row(op->u.pool.has_indices ? sizeof(*r->best) : kern_type_bytes(type), r->best, 1, &least, 0, count);
    if (op->u.pool.has_indices)
        copy_row(sizeof(*r->place), r->place, 1, &none, 0, count);
}

static void pool_int_store_places(const struct pool_int_row *r, const int64_t *at, int64_t y, int64_t index)
{
    const struct kern_op *op = r->call->op;
    const struct pool_shape *s = &r->s;
    const uint32_t bytes = kern_type_bytes(op->tensors[1].type), place_bytes = kern_type_bytes(op->tensors[2].type);
    const uint64_t plane = (uint64_t)(s->in[0] * s->in[1] * s->in[2]);
    const uint64_t base =
        op->u.pool.whole_indices ? ((uint64_t)at[0] * op->tensors[0].sizes[1] + (uint64_t)at[1]) * plane : 0;
    const uint64_t flip = op->tensors[1].type == DML_TENSOR_DATA_TYPE_UINT64 ? (uint64_t)INT64_MIN : 0;
    for (int64_t i = 0; i < s->out[2]; i++) {
        uint64_t value = (uint64_t)r->best[i] ^ flip;
        uint64_t place = r->place[i] >= 0 ? base + (uint64_t)r->place[i] : 0;
        memcpy((char *)r->call->data[1] + (y + i * s->y[4]) * bytes, &value, bytes); /* the low bytes */
        memcpy((char *)r->call->data[2] + (index + i * s->index[4]) * place_bytes, &place, place_bytes);
    }
}

static void pool_int_store(const struct pool_int_row *r, const int64_t *at)
{
    const struct kern_op *op = r->call->op;
    const uint32_t bytes = kern_type_bytes(op->tensors[1].type);
    int64_t y = 0, index = 0;
    for (uint32_t d = 0; d < 4; d++) {
        y += at[d] * r->s.y[d];
        index += at[d] * r->s.index[d];
    }
    if (op->u.pool.has_indices)
        pool_int_store_places(r, at, y, index);
    else
        copy_row(bytes, (char *)r->call->data[1] + y * bytes, r->s.y[4], r->best, 1, (uint64_t)r->s.out[2]);
}

static void pool_int_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const struct kern_view *y = &call->op->tensors[1];
    struct pool_int_row r = { .call = call, .best = call->worker_scratch };
    pool_shape_init(call->op, &r.s);
    r.place = r.best + r.s.out[2];
    for (uint64_t row = begin; row < end; row++) {
        uint32_t at[KERN_RANK_MAX];
        int64_t where[5] = { 0 };
        dense_row_at(y, row, at);
        for (uint32_t d = 0; d < y->rank; d++)
            where[d < 2 ? d : d + 5 - y->rank] = at[d];
        pool_int_clear(&r);
        pool_int_taps(&r, where);
        pool_int_store(&r, where);
    }
}

#endif
