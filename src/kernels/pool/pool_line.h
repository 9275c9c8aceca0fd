/* Pooling of planes line by line, without copies: the rows of a window join first, then its columns. For windows
 * without gaps whose columns lie 1 or 2 apart. Included once per instruction set. */
#ifndef KERNELS_POOL_LINE_H
#define KERNELS_POOL_LINE_H

#include "kernels/pool/pool_band.h"

/* Every second element of two vectors one after the other. */
#if VEC == 16
#define POOL_EVEN(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30)
#define POOL_ODD(a, b)  __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31)
#elif VEC == 8
#define POOL_EVEN(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14)
#define POOL_ODD(a, b)  __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15)
#else
#define POOL_EVEN(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6)
#define POOL_ODD(a, b)  __builtin_shufflevector(a, b, 1, 3, 5, 7)
#endif

enum { POOL_AHEAD_BYTES = 4096 };

/* What is read some lines later: the processor looks ahead within pages only. */
static void pool_prefetch(const void *x, int64_t at, int64_t count, int64_t bytes)
{
    const uintptr_t from = (uintptr_t)x + (uintptr_t)(at * bytes) + POOL_AHEAD_BYTES;
    for (int64_t b = 0; b < count * bytes; b += 64)
        __builtin_prefetch((const void *)(from + (uintptr_t)b));
}

/* to[i] = the `rows` elements at + i, at + i + w.x_row, ... joined */
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
    else if (b->kind == POOL_TOP)
        pool_join_rows(POOL_TOP, type, b, at, rows, count, to);
    else if (b->kind == POOL_SUM)
        pool_join_rows(POOL_SUM, type, b, at, rows, count, to);
    else if (b->kind == POOL_SUM_ABS)
        pool_join_rows(POOL_SUM_ABS, type, b, at, rows, count, to);
    else
        pool_join_rows(POOL_SUM_SQUARE, type, b, at, rows, count, to);
}

static void pool_join_rows_of(const struct pool_band *b, int64_t at, int64_t rows, int64_t count, float *to)
{
    VEC_BY_TYPE(b->w.type, pool_join_rows_as, b, at, rows, count, to);
}

/* out[i] = line[i * stride] .. line[i * stride + taps - 1] joined; writes whole vectors. */
DENSE_INLINE void pool_join_columns(enum pool_kind kind, const float *line, int64_t taps, int64_t stride, int64_t count,
                                    float *out)
{
    for (int64_t i = 0; i < count; i += VEC) {
        vec acc = stride == 1 ? vec_load(line + i) : vec_set(kind == POOL_TOP ? -INFINITY : 0);
        for (int64_t k = 1; stride == 1 && k < taps; k++)
            acc = pool_join(kind, acc, vec_load(line + i + k));
        for (int64_t k = 0; stride == 2 && k < taps; k += 2) {
            vec low = vec_load(line + 2 * i + k), high = vec_load(line + 2 * i + k + VEC);
            acc = pool_join(kind, acc, POOL_EVEN(low, high));
            if (k + 1 < taps)
                acc = pool_join(kind, acc, POOL_ODD(low, high));
        }
        vec_store(out + i, acc);
    }
}

/* The joined windows of output row `row` in band.run. plane: element of the channel's first element. */
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

#endif
