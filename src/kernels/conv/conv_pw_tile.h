/* A tile of a product with what ends it, in registers; included once per instruction set. */
#ifndef KERNELS_CONV_PW_TILE_H
#define KERNELS_CONV_PW_TILE_H

#include "kernels/conv/conv_pw.h"
#include "kernels/vec/vec.h"

#define CONV_PW_ROWS KERN_ISA_PASTE(CONV_PW_ROWS_, ISA)
_Static_assert(VEC == KERN_ISA_PASTE(CONV_PW_LANES_, ISA), "packed for these vectors");

/* Y[rows, columns of a panel] = epilogue(A[rows, k] * B[k, columns] + bias) */
struct conv_pw_tile {
    const float *a;    /* rows a_step apart */
    const float *b;    /* [k][CONV_PW_VECS * VEC] */
    const float *bias; /* one per column */
    float *y;          /* rows y_step apart */
    int64_t a_step, y_step;
    uint32_t k, used; /* columns that are stored */
    const struct conv_pw_epilogue *epilogue;
    const float *added[CONV_EPILOGUE_MAX]; /* tensors that are added, at the tile's first element */
    /* What B is needed next, fetched meanwhile: `next_step` bytes for each k. Weights come from afar, since all of a
     * network's pass through the caches between two uses. */
    const char *next;
    uint32_t next_step;
};

/* All loops over a tile are taken apart: it lies in registers, which have no numbers. */
#define CONV_PW_EACH_ROW _Pragma("GCC unroll 16") for (uint32_t r = 0; r < rows; r++)
#define CONV_PW_EACH_VEC _Pragma("GCC unroll 2") for (uint32_t v = 0; v < vecs; v++)

DENSE_INLINE vec conv_pw_added(const struct conv_pw_tile *t, uint32_t i, uint32_t row, uint32_t column, bool whole)
{
    const float *from = t->added[i] + row * t->epilogue->step[i] + column;
    return whole ? vec_load(from) : vec_load_part(from, t->used - column, vec_set(0));
}

#define CONV_PW_ALL(value)                                                                                             \
    CONV_PW_EACH_ROW                                                                                                   \
    CONV_PW_EACH_VEC                                                                                                   \
    {                                                                                                                  \
        vec x = sums[r][v];                                                                                            \
        sums[r][v] = (value);                                                                                          \
    }                                                                                                                  \
    break;

/* A step of the epilogue that has no tensor. */
DENSE_INLINE void conv_pw_step(const struct conv_epilogue_step *step, vec (*sums)[CONV_PW_VECS], uint32_t rows,
                               uint32_t vecs)
{
    const vec p = vec_set(step->p), q = vec_set(step->q), zero = vec_set(0);
    switch (step->code) {
    case KERN_MAP_RELU:
        CONV_PW_ALL(vec_max(zero, x)) /* NaN stays */
    case KERN_MAP_LEAKY_RELU:
        CONV_PW_ALL(vec_max(zero, x) - p * vec_max(zero, -x))
    case KERN_MAP_CLAMP:
        CONV_PW_ALL(vec_min(vec_max(x, p), q))
    case KERN_MAP_MULADD:
        CONV_PW_ALL(vec_fma(x, p, q))
    case KERN_MAP_MUL:
        CONV_PW_ALL(x * p)
    case KERN_MAP_MIN:
        CONV_PW_ALL(vec_min(x, p))
    case KERN_MAP_MAX:
        CONV_PW_ALL(vec_max(x, p))
    default:
        CONV_PW_ALL(x + p)
    }
}

DENSE_INLINE void conv_pw_finish(const struct conv_pw_tile *t, vec (*sums)[CONV_PW_VECS], uint32_t rows, uint32_t vecs,
                                 bool whole)
{
    for (uint32_t i = 0; i < t->epilogue->post.count; i++) {
        const struct conv_epilogue_step *step = &t->epilogue->post.step[i];
        if (!step->tensor) {
            conv_pw_step(step, sums, rows, vecs);
            continue;
        }
        CONV_PW_EACH_ROW
        CONV_PW_EACH_VEC
        sums[r][v] += conv_pw_added(t, i, r, v * VEC, whole || v + 1 < vecs);
    }
    CONV_PW_EACH_ROW
    CONV_PW_EACH_VEC
    {
        if (whole || v + 1 < vecs)
            vec_store(t->y + r * t->y_step + v * VEC, sums[r][v]);
        else
            vec_store_part(t->y + r * t->y_step + v * VEC, t->used - v * VEC, sums[r][v]);
    }
}

DENSE_INLINE void conv_pw_multiply(const struct conv_pw_tile *t, uint32_t rows, uint32_t vecs)
{
    vec sums[CONV_PW_ROWS][CONV_PW_VECS];
    const float *a = t->a, *b = t->b;
    const int64_t a_step = t->a_step;
    const char *next = t->next;
    /* Lines of Y lie apart, where the processor's own prefetching does not see them come. */
    CONV_PW_EACH_ROW
    CONV_PW_EACH_VEC
    {
        sums[r][v] = vec_load(t->bias + v * VEC);
        __builtin_prefetch(t->y + r * t->y_step + v * VEC, 1);
    }
    for (const float *end = a + t->k; a < end; a++, b += CONV_PW_VECS * VEC, next += t->next_step) {
        vec right[CONV_PW_VECS];
        __builtin_prefetch(next, 0, 2);
        CONV_PW_EACH_VEC
        right[v] = vec_load(b + v * VEC);
        CONV_PW_EACH_ROW
        {
            vec left = vec_set(a[r * a_step]);
            CONV_PW_EACH_VEC
            sums[r][v] = vec_fma(left, right[v], sums[r][v]);
        }
    }
    if (t->used == vecs * VEC)
        conv_pw_finish(t, sums, rows, vecs, true);
    else
        conv_pw_finish(t, sums, rows, vecs, false);
}

/* The tile begins at this pixel and column of the output. */
DENSE_INLINE void conv_pw_place(struct conv_pw_tile *t, const struct kern_call *call, int64_t pixel, uint32_t column)
{
    for (uint32_t i = 0; i < t->epilogue->post.count; i++)
        t->added[i] =
            (const float *)call->data[t->epilogue->post.step[i].tensor] + pixel * t->epilogue->step[i] + column;
}

/* Part `part` of `parts` tiles that share B fetches its part of as much at `next`. */
DENSE_INLINE void conv_pw_fetch(struct conv_pw_tile *t, const float *next, uint32_t part, uint32_t parts)
{
    t->next_step = (uint32_t)(CONV_PW_VECS * VEC * sizeof(float)) / parts;
    t->next = (const char *)next + (uint64_t)part * t->k * t->next_step;
}

#define CONV_PW_CASE(rows)                                                                                             \
    case rows:                                                                                                         \
        conv_pw_multiply(t, rows, vecs);                                                                               \
        break;

DENSE_INLINE void conv_pw_rows(const struct conv_pw_tile *t, uint32_t rows, uint32_t vecs)
{
    switch (rows) {
        CONV_PW_CASE(1)
        CONV_PW_CASE(2)
        CONV_PW_CASE(3)
        CONV_PW_CASE(4)
        CONV_PW_CASE(5)
        CONV_PW_CASE(6)
#if !defined(__AVX2__) || defined(__AVX512F__)
        CONV_PW_CASE(7)
        CONV_PW_CASE(8)
        CONV_PW_CASE(9)
        CONV_PW_CASE(10)
        CONV_PW_CASE(11)
        CONV_PW_CASE(12)
#endif
#if defined(__AVX512F__)
        CONV_PW_CASE(13)
        CONV_PW_CASE(14)
#endif
    default:
        break;
    }
}

/* rows: 1 to CONV_PW_ROWS */
static void conv_pw_tile(const struct conv_pw_tile *t, uint32_t rows)
{
    if (t->used > VEC)
        conv_pw_rows(t, rows, 2);
    else
        conv_pw_rows(t, rows, 1);
}

#endif
