/* SPDX-License-Identifier: Apache-2.0 */
/* Max pooling of integers for the instruction set of the including file. */
#include "kernels/core/isa.h"
#include "kernels/core/copy_body.h"
#include "kernels/pool/pool.h"

/* One row of results: elements of the type; with indices keys, that is signed numbers in the same order of 64 bits for
 * types of 64 and of 32 bits otherwise, and the position in the channel of each, of as many bits, -1 when there is
 * none.
 */
struct pool_int_row {
    const struct kern_call *call;
    struct pool_shape s;
    void *best, *place;
    void *line; /* rows of a window joined, whose columns join then; NULL: they join one by one */
};

/* The key of an element is the element ^ this. */
static uint64_t pool_int_flip(DML_TENSOR_DATA_TYPE type)
{
    return type == DML_TENSOR_DATA_TYPE_UINT64   ? (uint64_t)INT64_MIN
           : type == DML_TENSOR_DATA_TYPE_UINT32 ? (uint32_t)INT32_MIN
                                                 : 0;
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
    case DML_TENSOR_DATA_TYPE_UINT32:
        return INT32_MIN;
    case DML_TENSOR_DATA_TYPE_INT64:
    case DML_TENSOR_DATA_TYPE_UINT64:
        return INT64_MIN;
    default:
        return 0;
    }
}

/* A tap for `count` results from the begin-th on: elements `step` apart, positions `stride` apart. */
struct pool_int_span {
    int64_t begin, count, step, position, stride;
};

/* Taking one maximum twice does no harm: the last vector overlaps the one before. */
enum { POOL_INT_PART = 32 };
#define POOL_INT_LANES(type) (POOL_INT_PART / (int64_t)sizeof(type))
#define POOL_INT_MAX(type, first, lanes, step)                                                                         \
    for (int64_t i = 0; i < (lanes); i++) {                                                                            \
        const type x = from[((first) + i) * (step)], b = best[(first) + i];                                            \
        best[(first) + i] = x > b ? x : b;                                                                             \
    }
/* Elements two apart as the low halves of pairs; the last one has no other half. */
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
    static void pool_int_join_##name(void *best, const void *from, int64_t count)                                      \
    {                                                                                                                  \
        pool_int_most_##name((type *)best, (const type *)from, 1, count);                                              \
    }                                                                                                                  \
    static void pool_int_tap_##name(const struct pool_int_row *r, const struct pool_int_span *span, const void *x,     \
                                    int64_t x_at)                                                                      \
    {                                                                                                                  \
        const type *from = (const type *)x + x_at;                                                                     \
        wide *best = (wide *)r->best + span->begin, *place = (wide *)r->place + span->begin;                           \
        if (!r->call->op->u.pool.has_indices)                                                                          \
            pool_int_most_##name((type *)r->best + span->begin, from, span->step, span->count);                        \
        else if (span->step == 1)                                                                                      \
            pool_int_place_##name(best, place, from, 1, (wide)span->position, (wide)span->stride, span->count);        \
        else if (span->step == 2)                                                                                      \
            pool_int_place_##name(best, place, from, 2, (wide)span->position, (wide)span->stride, span->count);        \
        else                                                                                                           \
            pool_int_place_##name(best, place, from, span->step, (wide)span->position, (wide)span->stride,             \
                                  span->count);                                                                        \
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
    void (*tap)(const struct pool_int_row *r, const struct pool_int_span *span, const void *x, int64_t x_at);
    void (*values)(const void *keys, void *y, int64_t step, int64_t count);
    void (*join)(void *best, const void *from, int64_t count);
} pool_int_types[] = {
    [DML_TENSOR_DATA_TYPE_INT8] = { pool_int_tap_s8, pool_int_values_s8, pool_int_join_s8 },
    [DML_TENSOR_DATA_TYPE_UINT8] = { pool_int_tap_u8, pool_int_values_u8, pool_int_join_u8 },
    [DML_TENSOR_DATA_TYPE_INT16] = { pool_int_tap_s16, pool_int_values_s16, pool_int_join_s16 },
    [DML_TENSOR_DATA_TYPE_UINT16] = { pool_int_tap_u16, pool_int_values_u16, pool_int_join_u16 },
    [DML_TENSOR_DATA_TYPE_INT32] = { pool_int_tap_s32, pool_int_values_s32, pool_int_join_s32 },
    [DML_TENSOR_DATA_TYPE_UINT32] = { pool_int_tap_u32, pool_int_values_u32, pool_int_join_u32 },
    [DML_TENSOR_DATA_TYPE_INT64] = { pool_int_tap_s64, pool_int_values_s64, pool_int_join_s64 },
    [DML_TENSOR_DATA_TYPE_UINT64] = { pool_int_tap_u64, pool_int_values_u64, pool_int_join_u64 },
};

/* Tap k of the last dimension; x[x_at] and position are of the input row's first element. */
static void pool_int_tap(const struct pool_int_row *r, const void *x, int64_t x_at, int64_t position, int64_t k)
{
    const struct pool_shape *s = &r->s;
    const int64_t stride = s->stride[2], first = k * s->dilation[2] - s->pad[2];
    const int64_t begin = first < 0 ? (-first + stride - 1) / stride : 0;
    const int64_t end = first < s->in[2] ? (s->in[2] - 1 - first) / stride + 1 : 0;
    const int64_t at = first + begin * stride;
    const struct pool_int_span span = { begin, BASE_MIN(end, s->out[2]) - begin, stride * s->x[4], position + at,
                                        stride };
    if (span.count > 0)
        pool_int_types[r->call->op->tensors[0].type].tap(r, &span, x, x_at + at * s->x[4]);
}

/* Row x[x_at] joins the others of its window. */
static void pool_int_line_join(const struct pool_int_row *r, int64_t x_at, bool first)
{
    const DML_TENSOR_DATA_TYPE type = r->call->op->tensors[0].type;
    const char *from = (const char *)r->call->data[0] + x_at * kern_type_bytes(type);
    if (first)
        memcpy(r->line, from, (size_t)r->s.in[2] * kern_type_bytes(type));
    else
        pool_int_types[type].join(r->line, from, r->s.in[2]);
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
            if (r->line)
                pool_int_line_join(r, x_at, k0 == begin[0] && k1 == begin[1]);
            for (int64_t k2 = begin[2]; !r->line && k2 < end[2]; k2++)
                pool_int_tap(r, r->call->data[0], x_at, (i0 * s->in[1] + i1) * s->in[2], k2);
        }
    }
    bool any = begin[0] < end[0] && begin[1] < end[1];
    for (int64_t k2 = begin[2]; r->line && any && k2 < end[2]; k2++)
        pool_int_tap(r, r->line, 0, 0, k2);
}

static void pool_int_clear(const struct pool_int_row *r)
{
    const struct kern_op *op = r->call->op;
    const DML_TENSOR_DATA_TYPE type = op->tensors[1].type;
    const bool places = op->u.pool.has_indices;
    const uint32_t bytes = kern_type_bytes(type), wide = bytes == 8 ? 8 : 4;
    const int64_t least = pool_int_lowest(type) ^ (int64_t)(places ? 0 : pool_int_flip(type)), none = -1;
    copy_row(places ? wide : bytes, r->best, 1, &least, 0, (uint64_t)r->s.out[2]); /* the low bytes */
    if (places)
        copy_row(wide, r->place, 1, &none, 0, (uint64_t)r->s.out[2]);
}

#define POOL_INT_PLACES(wide, type)                                                                                    \
    for (int64_t i = 0; i < count; i++) {                                                                              \
        const wide place = ((const wide *)from)[i];                                                                    \
        ((type *)to)[i * step] = place < 0 ? 0 : (type)(base + (uint64_t)place);                                       \
        COPY_ONE_BY_ONE;                                                                                               \
    }

static void pool_int_places(const void *from, bool is_wide, uint64_t base, void *to, uint32_t bytes, int64_t step,
                            int64_t count)
{
    if (is_wide && bytes == 8)
        POOL_INT_PLACES(int64_t, uint64_t)
    else if (is_wide)
        POOL_INT_PLACES(int64_t, uint32_t)
    else if (bytes == 8)
        POOL_INT_PLACES(int32_t, uint64_t)
    else
        POOL_INT_PLACES(int32_t, uint32_t)
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
    char *to = (char *)r->call->data[1] + y * bytes;
    if (!op->u.pool.has_indices) {
        copy_row(bytes, to, r->s.y[4], r->best, 1, (uint64_t)r->s.out[2]);
        return;
    }
    const uint32_t place_bytes = kern_type_bytes(op->tensors[2].type);
    const uint64_t plane = (uint64_t)(r->s.in[0] * r->s.in[1] * r->s.in[2]);
    const uint64_t base =
        op->u.pool.whole_indices ? ((uint64_t)at[0] * op->tensors[0].sizes[1] + (uint64_t)at[1]) * plane : 0;
    pool_int_types[op->tensors[1].type].values(r->best, to, r->s.y[4], r->s.out[2]);
    pool_int_places(r->place, bytes == 8, base, (char *)r->call->data[2] + index * place_bytes, place_bytes,
                    r->s.index[4], r->s.out[2]);
}

/* The window of one result, whose channels are r->best; `x_at` is of the image. */
static void pool_int_pixel(const struct pool_int_row *r, const int64_t *begin, const int64_t *end, const int64_t *at,
                           int64_t x_at)
{
    const struct pool_shape *s = &r->s;
    const struct pool_int_span span = { 0, r->call->op->tensors[1].sizes[1], 1, 0, 0 };
    int64_t first[3];
    for (uint32_t d = 0; d < 3; d++)
        first[d] = at[d] * s->stride[d] - s->pad[d];
    for (int64_t k0 = begin[0]; k0 < end[0]; k0++)
        for (int64_t k1 = begin[1]; k1 < end[1]; k1++)
            for (int64_t k2 = begin[2]; k2 < end[2]; k2++)
                pool_int_types[r->call->op->tensors[0].type].tap(r, &span, r->call->data[0],
                                                                 x_at + (first[0] + k0 * s->dilation[0]) * s->x[2] +
                                                                     (first[1] + k1 * s->dilation[1]) * s->x[3] +
                                                                     (first[2] + k2 * s->dilation[2]) * s->x[4]);
}

static void pool_int_line(struct pool_int_row *r, uint64_t line)
{
    const struct pool_shape *s = &r->s;
    const struct kern_view *y = &r->call->op->tensors[1];
    const uint32_t bytes = kern_type_bytes(y->type);
    const int64_t least = pool_int_lowest(y->type) ^ (int64_t)pool_int_flip(y->type), row = (int64_t)line;
    const int64_t image = row / s->out[1] / s->out[0];
    int64_t at[3] = { row / s->out[1] % s->out[0], row % s->out[1], 0 }, begin[3], end[3];
    char *to = (char *)r->call->data[1] + (image * s->y[0] + at[0] * s->y[2] + at[1] * s->y[3]) * bytes;
    for (uint32_t d = 0; d < 2; d++)
        pool_taps(s, d, at[d], &begin[d], &end[d]);
    for (; at[2] < s->out[2]; at[2]++) {
        r->best = to + at[2] * s->y[4] * bytes;
        pool_taps(s, 2, at[2], &begin[2], &end[2]);
        copy_row(bytes, r->best, 1, &least, 0, y->sizes[1]); /* the low bytes */
        pool_int_pixel(r, begin, end, at, image * s->x[0]);
    }
}

static void pool_int_rows(struct pool_int_row *r, uint64_t begin, uint64_t end)
{
    const struct kern_view *y = &r->call->op->tensors[1];
    r->best = r->call->worker_scratch;
    r->place = (int64_t *)r->best + r->s.out[2];
    if (!r->call->op->u.pool.has_indices && r->s.x[4] == 1 && r->s.stride[2] <= r->s.window[2] * r->s.dilation[2])
        r->line = (int64_t *)r->place + r->s.out[2];
    for (uint64_t row = begin; row < end; row++) {
        uint32_t at[KERN_RANK_MAX];
        int64_t where[5] = { 0 };
        dense_row_at(y, row, at);
        for (uint32_t d = 0; d < y->rank; d++)
            where[d < 2 ? d : d + 5 - y->rank] = at[d];
        pool_int_clear(r);
        pool_int_taps(r, where);
        pool_int_store(r, where);
    }
}

static void pool_int_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    struct pool_int_row r = { .call = call };
    pool_shape_init(call->op, &r.s);
    if (!pool_int_by_channels(call->op, &r.s)) {
        pool_int_rows(&r, begin, end);
        return;
    }
    for (uint64_t line = begin; line < end; line++)
        pool_int_line(&r, line);
}

KERN_ISA_RUN(pool_int, pool_int_run)
