/* SPDX-License-Identifier: Apache-2.0 */
/* A GEMM tile with its epilogue, in registers; included once per instruction set. */
#ifndef KERNELS_CONV_PW_TILE_H
#define KERNELS_CONV_PW_TILE_H

#include "kernels/conv/conv_plans.h"
#include "kernels/row/curve.h"
#include "kernels/row/epilogue_vec.h"
#include "kernels/gemm/ukernel.h"

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
    /* The part of B needed next, prefetched meanwhile: `next_step` bytes for each k. Weights come from memory, since
     * all of a network's weights pass through the caches between two uses. */
    const char *next;
    uint32_t next_step;
};

/* All loops over a tile are unrolled: it is in registers, which cannot be indexed. */
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
    }

/* The whole tile as one row: its vectors do not depend on each other. */
DENSE_INLINE void conv_pw_curve(const struct kern_epilogue_step *curve, vec (*sums)[UKERNEL_VECS], uint32_t rows,
                                uint32_t vecs)
{
    float tile[UKERNEL_ROWS * UKERNEL_VECS * VEC];
    CONV_PW_EACH_ROW CONV_PW_EACH_VEC vec_store(tile + (r * vecs + v) * VEC, sums[r][v]);
    curve_tile(curve, rows * vecs * VEC, tile);
    CONV_PW_EACH_ROW CONV_PW_EACH_VEC sums[r][v] = vec_load(tile + (r * vecs + v) * VEC);
}

DENSE_INLINE void conv_pw_finish(const struct conv_pw_tile *t, vec (*sums)[UKERNEL_VECS], uint32_t rows, uint32_t vecs,
                                 bool whole)
{
    for (uint32_t i = 0; i < t->epilogue->post.count; i++) {
        const struct kern_epilogue_step *step = &t->epilogue->post.step[i];
        if (!step->tensor) {
            KERN_EPILOGUE_STEP(step, CONV_PW_ALL);
            continue;
        }
        if (step->code == KERN_MAP_MUL)
            CONV_PW_EACH_ROW CONV_PW_EACH_VEC sums[r][v] *= conv_pw_added(t, i, r, v * VEC, whole || v + 1 < vecs);
        else
            CONV_PW_EACH_ROW CONV_PW_EACH_VEC sums[r][v] += conv_pw_added(t, i, r, v * VEC, whole || v + 1 < vecs);
    }
    if (t->epilogue->curved)
        conv_pw_curve(&t->epilogue->curve, sums, rows, vecs);
    CONV_PW_EACH_ROW
    CONV_PW_EACH_VEC
    {
        if (whole || v + 1 < vecs)
            vec_store(t->y + r * t->y_step + v * VEC, sums[r][v]);
        else
            vec_store_part(t->y + r * t->y_step + v * VEC, t->used - v * VEC, sums[r][v]);
    }
}

/* a_row and a_step: elements of A from row to row, and from one k to the next. */
DENSE_INLINE void conv_pw_multiply(uint32_t rows, const struct conv_pw_tile *t, uint32_t vecs, int64_t a_row,
                                   int64_t a_step)
{
    vec sums[UKERNEL_ROWS][UKERNEL_VECS];
    /* Lines of Y are far apart, so that the hardware prefetcher does not detect them. */
    CONV_PW_EACH_ROW
    CONV_PW_EACH_VEC
    {
        sums[r][v] = vec_load(t->bias + v * VEC);
        __builtin_prefetch(t->y + r * t->y_step + v * VEC, 1);
    }
    ukernel_multiply(&(struct ukernel){ .rows = rows,
                                        .vecs = vecs,
                                        .splits = 1,
                                        .group = 1,
                                        .b_type = DML_TENSOR_DATA_TYPE_FLOAT32,
                                        .depth = t->k,
                                        .a = t->a,
                                        .a_row = a_row,
                                        .a_step = a_step,
                                        .b = t->b,
                                        .b_row = CONV_PW_VECS * VEC,
                                        .next = t->next,
                                        .next_lines = 1,
                                        .next_step = t->next_step },
                     sums);
    if (t->used == vecs * VEC)
        conv_pw_finish(t, sums, rows, vecs, true);
    else
        conv_pw_finish(t, sums, rows, vecs, false);
}

/* The tile starts at this pixel and column of the output. */
DENSE_INLINE void conv_pw_place(struct conv_pw_tile *t, const struct kern_call *call, int64_t pixel, uint32_t column)
{
    for (uint32_t i = 0; i < t->epilogue->post.count; i++)
        t->added[i] =
            (const float *)call->data[t->epilogue->post.step[i].tensor] + pixel * t->epilogue->step[i] + column;
}

/* Part `part` of `parts` tiles that share B prefetches its part of as much at `next`. */
DENSE_INLINE void conv_pw_fetch(struct conv_pw_tile *t, const float *next, uint32_t part, uint32_t parts)
{
    t->next_step = (uint32_t)(CONV_PW_VECS * VEC * sizeof(float)) / parts;
    t->next = (const char *)next + (uint64_t)part * t->k * t->next_step;
}

/* rows: 1 to CONV_PW_ROWS */
static void conv_pw_tile(const struct conv_pw_tile *t, uint32_t rows)
{
    if (t->used > VEC)
        UKERNEL_BY_COUNT(rows, CONV_PW_ROWS, conv_pw_multiply, t, 2, t->a_step, 1)
    else
        UKERNEL_BY_COUNT(rows, CONV_PW_ROWS, conv_pw_multiply, t, 1, t->a_step, 1)
}

/* The minimum number of tiles for `pixels`, of about the same height: of `parts` such runs that share B this is number
 * `part`. */
DENSE_INLINE void conv_pw_tiles(struct conv_pw_tile t, uint64_t pixels, const float *next, uint32_t part,
                                uint32_t parts)
{
    const uint32_t tiles = (uint32_t)((pixels + CONV_PW_ROWS - 1) / CONV_PW_ROWS);
    for (uint32_t tile = 0; tile < tiles; tile++) {
        const uint32_t rows = (uint32_t)(pixels * (tile + 1) / tiles - pixels * tile / tiles);
        conv_pw_fetch(&t, next, part * tiles + tile, parts * tiles);
        conv_pw_tile(&t, rows);
        t.a += rows * t.a_step;
        t.y += rows * t.y_step;
        for (uint32_t i = 0; i < t.epilogue->post.count; i++)
            t.added[i] += t.epilogue->post.step[i].tensor ? rows * t.epilogue->step[i] : 0;
    }
}

#endif
