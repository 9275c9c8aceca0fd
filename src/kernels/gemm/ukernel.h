/* SPDX-License-Identifier: Apache-2.0 */
/* The GEMM micro-kernel: accumulators of rows x vectors in registers, to which each step of k adds one element of every
 * row of A times a row of B. Compiled once per instruction set. */
#ifndef KERNELS_GEMM_UKERNEL_H
#define KERNELS_GEMM_UKERNEL_H

#include "kernels/vec/vec.h"
#include "kernels/row/row.h"

/* The most that any tile has. */
#define UKERNEL_ROWS   14
#define UKERNEL_VECS   6
#define UKERNEL_SPLITS 4

/* Unrolled, since registers cannot be indexed. */
#define UKERNEL_EACH_ROW   _Pragma("GCC unroll 14") for (uint32_t m = 0; m < t->rows; m++)
#define UKERNEL_EACH_VEC   _Pragma("GCC unroll 6") for (uint32_t v = 0; v < t->vecs; v++)
#define UKERNEL_EACH_SPLIT _Pragma("GCC unroll 4") for (uint32_t s = 0; s < t->splits; s++)

/* In longer loops for NEON, GCC moves loads to the beginning until no registers are left for accumulators. */
#if defined(__x86_64__)
#define UKERNEL_REGISTER(value) "+v"(value)
#elif defined(__aarch64__)
#define UKERNEL_REGISTER(value) "+w"(value)
#endif

enum { UKERNEL_UNROLL = sizeof(vec) == 16 ? 1 : 4 };

struct ukernel {
    /* Constants at the calls of the micro-kernel. */
    uint32_t rows, vecs;
    uint32_t splits; /* of k over several accumulators each: with few rows this hides latencies */
    uint32_t group;  /* steps of k between two prefetches, a multiple of splits */
    DML_TENSOR_DATA_TYPE b_type;
    uint32_t depth; /* steps of k */
    /* A: elements between rows and between steps of k, or pointers to contiguous rows. */
    const float *a;
    int64_t a_row, a_step;
    const float *const *a_rows;
    /* B: elements between rows. */
    const void *b;
    int64_t b_row;
    /* Before each group next_lines cache lines from `next` on are prefetched; `next` then advances by next_step
     * bytes. */
    const char *next;
    uint32_t next_lines, next_step;
    /* C: elements between rows; add: to its contents. */
    float *c;
    int64_t c_row;
    bool add;
};

DENSE_INLINE int64_t ukernel_b_bytes(const struct ukernel *t)
{
    return t->b_type == DML_TENSOR_DATA_TYPE_FLOAT16 || t->b_type == ANYDML_TENSOR_DATA_TYPE_BFLOAT16
               ? 2
               : (int64_t)sizeof(float);
}

/* One step of k: `a` steps behind t->a, or element k of the rows. */
DENSE_INLINE void ukernel_step(const struct ukernel *t, const float *a, int64_t k, const char *b,
                               vec (*sum)[UKERNEL_VECS])
{
    vec right[UKERNEL_VECS];
    UKERNEL_EACH_VEC right[v] = vec_load_of(t->b_type, b, v * VEC);
    /* Otherwise GCC reloads it for each of two or three rows, which takes 1.5 times as long. */
    if (t->rows > 1)
        UKERNEL_EACH_VEC __asm__("" : UKERNEL_REGISTER(right[v]));
    UKERNEL_EACH_ROW
    {
        vec left = vec_set(*(t->a_rows ? t->a_rows[m] + k : a));
        a += t->a_row;
        UKERNEL_EACH_VEC sum[m][v] = vec_fma(left, right[v], sum[m][v]);
    }
}

/* sum += A * B */
DENSE_INLINE void ukernel_multiply(const struct ukernel *t, vec (*sum)[UKERNEL_VECS])
{
    vec part[UKERNEL_SPLITS][UKERNEL_ROWS][UKERNEL_VECS];
    const float *a = t->a;
    const char *b = t->b, *next = t->next;
    const int64_t depth = t->depth, group = t->group, splits = t->splits, b_row = t->b_row * ukernel_b_bytes(t);
    int64_t k = 0;
    UKERNEL_EACH_SPLIT UKERNEL_EACH_ROW UKERNEL_EACH_VEC part[s][m][v] = s ? (vec){ 0 } : sum[m][v];
    for (; k + group <= depth; k += group, a += group * t->a_step, next += t->next_step) {
        for (uint32_t i = 0; i < t->next_lines; i++)
            __builtin_prefetch(next + 64 * i, 0, 2);
#pragma GCC unroll UKERNEL_UNROLL
        for (int64_t u = 0; u < group; u += splits, b += splits * b_row)
            UKERNEL_EACH_SPLIT ukernel_step(t, a + (u + s) * t->a_step, k + u + s, b + s * b_row, part[s]);
    }
    for (; k < depth; k++, a += t->a_step, b += b_row)
        ukernel_step(t, a, k, b, part[0]);
    UKERNEL_EACH_ROW UKERNEL_EACH_VEC
    {
        sum[m][v] = part[0][m][v];
        for (uint32_t s = 1; s < splits; s++)
            sum[m][v] += part[s][m][v];
    }
}

/* C (+)= A * B */
DENSE_INLINE void ukernel(const struct ukernel *t)
{
    vec sum[UKERNEL_ROWS][UKERNEL_VECS];
    UKERNEL_EACH_ROW UKERNEL_EACH_VEC
    {
        sum[m][v] = (vec){ 0 };
        if (t->add)
            sum[m][v] = vec_load(t->c + m * t->c_row + v * VEC);
    }
    ukernel_multiply(t, sum);
    UKERNEL_EACH_ROW UKERNEL_EACH_VEC vec_store(t->c + m * t->c_row + v * VEC, sum[m][v]);
}

/* sums[m * c_row] (+)= A[m] . B for one contiguous row of B from element `at` on; rows of A end with whole vectors,
 * padded with zeros. */
DENSE_INLINE void ukernel_dots(uint32_t rows, DML_TENSOR_DATA_TYPE type, const struct ukernel *t, int64_t at,
                               float *sums)
{
    vec low[4], high[4];
    uint32_t k = 0;
    for (uint32_t m = 0; m < rows; m++)
        low[m] = high[m] = vec_set(0);
    for (; k + 2 * VEC <= t->depth; k += 2 * VEC) {
        vec b0 = vec_load_of(type, t->b, at + k), b1 = vec_load_of(type, t->b, at + k + VEC);
        for (uint32_t m = 0; m < rows; m++) {
            low[m] = vec_fma(vec_load(t->a + m * t->a_row + k), b0, low[m]);
            high[m] = vec_fma(vec_load(t->a + m * t->a_row + k + VEC), b1, high[m]);
        }
    }
    for (; k < t->depth; k += VEC) {
        vec rest = vec_load_some(type, t->b, at + k, t->depth - k);
        for (uint32_t m = 0; m < rows; m++)
            low[m] = vec_fma(vec_load(t->a + m * t->a_row + k), rest, low[m]);
    }
    for (uint32_t m = 0; m < rows; m++)
        sums[m * t->c_row] = (t->add ? sums[m * t->c_row] : 0) + vec_sum(low[m] + high[m]);
}

/* function(n, ...) for n = count, a constant in each case, from 1 to `most`, itself a constant. */
#define UKERNEL_CASE(n, most, function, ...)                                                                           \
    case n:                                                                                                            \
        if ((n) <= (most))                                                                                             \
            function(n, __VA_ARGS__);                                                                                  \
        break;
#define UKERNEL_BY_COUNT(count, most, ...)                                                                             \
    switch (count) {                                                                                                   \
        UKERNEL_CASE(1, most, __VA_ARGS__)                                                                             \
        UKERNEL_CASE(2, most, __VA_ARGS__)                                                                             \
        UKERNEL_CASE(3, most, __VA_ARGS__)                                                                             \
        UKERNEL_CASE(4, most, __VA_ARGS__)                                                                             \
        UKERNEL_CASE(5, most, __VA_ARGS__)                                                                             \
        UKERNEL_CASE(6, most, __VA_ARGS__)                                                                             \
        UKERNEL_CASE(7, most, __VA_ARGS__)                                                                             \
        UKERNEL_CASE(8, most, __VA_ARGS__)                                                                             \
        UKERNEL_CASE(9, most, __VA_ARGS__)                                                                             \
        UKERNEL_CASE(10, most, __VA_ARGS__)                                                                            \
        UKERNEL_CASE(11, most, __VA_ARGS__)                                                                            \
        UKERNEL_CASE(12, most, __VA_ARGS__)                                                                            \
        UKERNEL_CASE(13, most, __VA_ARGS__)                                                                            \
        UKERNEL_CASE(14, most, __VA_ARGS__)                                                                            \
    default:                                                                                                           \
        break;                                                                                                         \
    }

/* ---- a tile of a GEMM: a few rows of A times a part of B ---- */

/* The number of sums that fit the registers. */
#if defined(__AVX512F__)
#define GEMM_TILE_VECS 3
#define GEMM_TILE_ROWS 8
#elif defined(__aarch64__)
#define GEMM_TILE_VECS 4
#define GEMM_TILE_ROWS 6
#else
#define GEMM_TILE_VECS 2
#define GEMM_TILE_ROWS 6
#endif
#define GEMM_TILE_COLUMNS (GEMM_TILE_VECS * VEC)

/* to[] = pointers to the rows of a tensor from the one at coordinates `at` of `rows` on: divisions for each row would
 * take as long as a short sum. */
DENSE_INLINE void gemm_tile_pointers(const struct kern_view *rows, const struct kern_view *view, const void *data,
                                     const uint32_t *at, uint32_t count, const void **to)
{
    const uint32_t last = rows->rank - 1, d = last - 1;
    const int64_t bytes = kern_type_bytes(view->type);
    uint32_t here[KERN_RANK_MAX], run;
    memcpy(here, at, sizeof(here));
    if (!last) { /* a vector: one row */
        to[0] = (const char *)data + dense_offset(view, here, 0) * bytes;
        return;
    }
    const int64_t step = view->sizes[d] > 1 ? view->strides[d] * bytes : 0;
    for (uint32_t m = 0; m < count; m += run) {
        const char *from = (const char *)data + dense_offset(view, here, last) * bytes;
        run = BASE_MIN(count - m, rows->sizes[d] - here[d]);
        for (uint32_t i = 0; i < run; i++)
            to[m + i] = from + i * step;
        here[d] += run;
        for (uint32_t carry = d; carry && here[carry] == rows->sizes[carry]; carry--) {
            here[carry] = 0;
            here[carry - 1]++;
        }
    }
}

/* rows[]: A's rows from `first` on, `count` of `k` elements, as FLOAT32: in place, or (floats) copied there, `pitch`
 * apart. */
static inline void gemm_tile_load(const struct kern_call *call, uint64_t first, uint32_t count, uint32_t k,
                                  const void **rows, float *floats, uint64_t pitch)
{
    const struct kern_view *a = &call->op->tensors[0];
    const int64_t step = k > 1 ? a->strides[a->rank - 1] : 0;
    uint32_t at[KERN_RANK_MAX];
    dense_row_at(a, first, at);
    if (!floats)
        gemm_tile_pointers(a, a, call->data[0], at, count, rows);
    for (uint32_t m = 0; floats && m < count; m++) {
        dense_row_at(a, first + m, at);
        rows[m] = floats + m * pitch;
        dense_load_row(call->data[0], dense_offset(a, at, a->rank - 1), step, a->type, k, floats + m * pitch);
    }
}

/* Rows of B, GEMM_TILE_COLUMNS elements each; `lines` cache lines of the next data are prefetched at every fourth k. */
struct gemm_tile_part {
    const char *b;
    uint32_t depth, lines;
    const char *next;
    bool add;        /* to the sums that there are */
    uint32_t across; /* elements from one row of sums to the next */
};

/* sums[m][0 .. columns) (+)= a[m] * b for `rows` rows. */
DENSE_INLINE void gemm_tile(uint32_t rows, DML_TENSOR_DATA_TYPE type, const struct gemm_tile_part *part,
                            const void *const *a, uint32_t k0, float *sums, const char *next)
{
    const float *row[GEMM_TILE_ROWS];
#pragma GCC unroll 8
    for (uint32_t m = 0; m < rows; m++)
        row[m] = (const float *)a[m] + k0;
    ukernel(&(struct ukernel){ .rows = rows,
                               .vecs = GEMM_TILE_VECS,
                               .splits = rows == 1   ? 4
                                         : rows == 2 ? 2
                                                     : 1,
                               .group = 4,
                               .b_type = type,
                               .depth = part->depth,
                               .a_rows = row,
                               .b = part->b,
                               .b_row = GEMM_TILE_COLUMNS,
                               .next = next,
                               .next_lines = part->lines,
                               .next_step = 64 * part->lines,
                               .c = sums,
                               .c_row = part->across,
                               .add = part->add });
}

DENSE_INLINE void gemm_tile_rows(DML_TENSOR_DATA_TYPE type, uint32_t rows, const struct gemm_tile_part *part,
                                 const void *const *a, uint32_t k0, float *sums, const char *next)
{
    UKERNEL_BY_COUNT(rows, GEMM_TILE_ROWS, gemm_tile, type, part, a, k0, sums, next)
}

#endif
