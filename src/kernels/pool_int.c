/* Max pooling of integers of any width, in any layout: tap by tap along rows of results. */
#include "kernels/pool.h"

bool kern_pool_int_accepts(const struct kern_op *op)
{
    struct pool_shape s;
    DML_TENSOR_DATA_TYPE type = op->tensors[0].type;
    return !op->epilogue && op->u.pool.mode == KERN_POOL_MAX && pool_shape_init(op, &s) &&
           op->tensors[1].type == type && kern_type_bytes(type) && !dense_is_float(type);
}

void kern_pool_int_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    const struct kern_view *y = &op->tensors[1];
    uint64_t width = y->sizes[y->rank - 1];
    (void)state;
    (void)threads;
    *out = (struct kern_work){ .units = dense_rows(y), .grain = dense_grain(16 * width) };
    out->worker_scratch_bytes = 2 * width * sizeof(int64_t);
}

/* One row of results: the greatest so far and its position in the channel, -1 when there is none. */
struct pool_row {
    const struct kern_call *call;
    struct pool_shape s;
    int64_t *best, *place;
};

/* An element as a signed number in the same order. */
DENSE_INLINE int64_t pool_key(const void *data, int64_t at, DML_TENSOR_DATA_TYPE type)
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

/* Tap k of the last dimension; x_at and position are of the input row's first element. */
DENSE_INLINE void pool_tap_as(const struct pool_row *r, int64_t x_at, int64_t position, int64_t k,
                              DML_TENSOR_DATA_TYPE type)
{
    const struct pool_shape *s = &r->s;
    const void *data = r->call->data[0];
    int64_t stride = s->stride[2], first = k * s->dilation[2] - s->pad[2];
    int64_t begin = first < 0 ? (-first + stride - 1) / stride : 0;
    int64_t end = first < s->in[2] ? (s->in[2] - 1 - first) / stride + 1 : 0;
    end = BASE_MIN(end, s->out[2]);
    for (int64_t i = begin; i < end; i++) {
        int64_t at = first + i * stride, key = pool_key(data, x_at + at * s->x[4], type);
        bool take = r->place[i] < 0 || key > r->best[i];
        r->best[i] = take ? key : r->best[i];
        r->place[i] = take ? position + at : r->place[i];
    }
}

static void pool_tap(const struct pool_row *r, int64_t x_at, int64_t position, int64_t k)
{
    switch (r->call->op->tensors[0].type) {
    case DML_TENSOR_DATA_TYPE_INT8:
        pool_tap_as(r, x_at, position, k, DML_TENSOR_DATA_TYPE_INT8);
        break;
    case DML_TENSOR_DATA_TYPE_UINT8:
        pool_tap_as(r, x_at, position, k, DML_TENSOR_DATA_TYPE_UINT8);
        break;
    case DML_TENSOR_DATA_TYPE_INT16:
        pool_tap_as(r, x_at, position, k, DML_TENSOR_DATA_TYPE_INT16);
        break;
    case DML_TENSOR_DATA_TYPE_UINT16:
        pool_tap_as(r, x_at, position, k, DML_TENSOR_DATA_TYPE_UINT16);
        break;
    case DML_TENSOR_DATA_TYPE_INT32:
        pool_tap_as(r, x_at, position, k, DML_TENSOR_DATA_TYPE_INT32);
        break;
    case DML_TENSOR_DATA_TYPE_UINT32:
        pool_tap_as(r, x_at, position, k, DML_TENSOR_DATA_TYPE_UINT32);
        break;
    case DML_TENSOR_DATA_TYPE_UINT64:
        pool_tap_as(r, x_at, position, k, DML_TENSOR_DATA_TYPE_UINT64);
        break;
    default:
        pool_tap_as(r, x_at, position, k, DML_TENSOR_DATA_TYPE_INT64);
        break;
    }
}

static void pool_row_taps(const struct pool_row *r, const int64_t *at)
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
                pool_tap(r, x_at, (i0 * s->in[1] + i1) * s->in[2], k2);
        }
    }
}

/* The key of the type's lowest number. */
static int64_t pool_lowest(DML_TENSOR_DATA_TYPE type)
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

static void pool_row_store(const struct pool_row *r, const int64_t *at)
{
    const struct kern_op *op = r->call->op;
    const struct pool_shape *s = &r->s;
    uint32_t bytes = kern_type_bytes(op->tensors[1].type);
    uint64_t plane = (uint64_t)(s->in[0] * s->in[1] * s->in[2]);
    uint64_t base =
        op->u.pool.whole_indices ? ((uint64_t)at[0] * op->tensors[0].sizes[1] + (uint64_t)at[1]) * plane : 0;
    bool is_unsigned = op->tensors[1].type == DML_TENSOR_DATA_TYPE_UINT64;
    int64_t y = 0, index = 0, low = pool_lowest(op->tensors[1].type);
    for (uint32_t d = 0; d < 4; d++) {
        y += at[d] * s->y[d];
        index += at[d] * s->index[d];
    }
    for (int64_t i = 0; i < s->out[2]; i++) {
        bool found = r->place[i] >= 0;
        uint64_t value = (uint64_t)(found ? r->best[i] : low) ^ (is_unsigned ? (uint64_t)INT64_MIN : 0);
        memcpy((char *)r->call->data[1] + (y + i * s->y[4]) * bytes, &value, bytes); /* the low bytes */
        uint64_t place = found ? base + (uint64_t)r->place[i] : 0;
        if (op->u.pool.has_indices)
            memcpy((char *)r->call->data[2] + (index + i * s->index[4]) * kern_type_bytes(op->tensors[2].type), &place,
                   kern_type_bytes(op->tensors[2].type));
    }
}

void kern_pool_int_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const struct kern_view *y = &call->op->tensors[1];
    struct pool_row r = { .call = call, .best = call->worker_scratch };
    pool_shape_init(call->op, &r.s);
    r.place = r.best + r.s.out[2];
    for (uint64_t row = begin; row < end; row++) {
        uint32_t at[KERN_RANK_MAX];
        int64_t where[5] = { 0 };
        dense_row_at(y, row, at);
        for (uint32_t d = 0; d < y->rank; d++)
            where[d < 2 ? d : d + 5 - y->rank] = at[d];
        for (int64_t i = 0; i < r.s.out[2]; i++) {
            r.best[i] = INT64_MIN;
            r.place[i] = -1;
        }
        pool_row_taps(&r, where);
        pool_row_store(&r, where);
    }
}
