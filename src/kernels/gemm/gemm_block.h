/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of a GEMM with unpacked factors: both are copied to the micro-kernel's layout, some steps of k at a time.
 * Compiled once per instruction set. */
#ifndef KERNELS_GEMM_BLOCK_H
#define KERNELS_GEMM_BLOCK_H

#include "kernels/gemm/gemm.h"
#include "kernels/gemm/ukernel.h"
#include "kernels/row/row.h"
#include "kernels/row/tile_store.h"

#define GEMM_BLOCK_LINE 128 /* elements of a line that are transposed at once */

/* Of a factor as FLOAT32: to[o * pitch + i] = data[at + o * outer + i * inner]. */
struct gemm_block_source {
    const void *data;
    DML_TENSOR_DATA_TYPE type;
    int64_t at, outer, inner;
    int64_t outers, inners; /* how many */
};

/* A factor that is contiguous along `outer`: lines of it are read, and transposed by squares of vectors. */
static inline void gemm_block_turn(const struct gemm_block_source *from, float *to, int64_t pitch)
{
    float lines[VEC * (GEMM_BLOCK_LINE + VEC)];
    const bool floats = from->type == DML_TENSOR_DATA_TYPE_FLOAT32;
    struct tile_to tile = { to, DML_TENSOR_DATA_TYPE_FLOAT32, 0, 1, pitch };
    for (int64_t i0 = 0; i0 < from->inners; i0 += VEC) {
        const int64_t rows = BASE_MIN(from->inners - i0, VEC);
        for (int64_t o0 = 0; o0 < from->outers; o0 += GEMM_BLOCK_LINE) {
            const int64_t count = BASE_MIN(from->outers - o0, GEMM_BLOCK_LINE), at = from->at + i0 * from->inner + o0;
            int64_t done = 0;
            for (; floats && rows == VEC && done + VEC <= count; done += VEC) {
                tile.at = (o0 + done) * pitch + i0;
                tile_store(&tile, (const float *)from->data + at + done, from->inner, VEC, VEC);
            }
            for (int64_t r = 0; done < count && r < rows; r++)
                dense_load_row(from->data, at + r * from->inner + done, 1, from->type, (uint32_t)(count - done),
                               lines + r * (GEMM_BLOCK_LINE + VEC));
            for (int64_t o = done; o < count; o += VEC) {
                tile.at = (o0 + o) * pitch + i0;
                tile_store(&tile, lines + o - done, GEMM_BLOCK_LINE + VEC, rows, BASE_MIN(count - o, VEC));
            }
        }
    }
}

/* A factor that is contiguous along `inner`: a call for each line would take as long as multiplying some rows with it.
 */
DENSE_INLINE void gemm_block_lines(DML_TENSOR_DATA_TYPE type, const struct gemm_block_source *from, float *to,
                                   int64_t pitch)
{
    for (int64_t o = 0; o < from->outers; o++)
        for (int64_t i = 0; i < from->inners; i += VEC)
            vec_store_some(DML_TENSOR_DATA_TYPE_FLOAT32, to, o * pitch + i,
                           vec_load_some(type, from->data, from->at + o * from->outer + i, from->inners - i),
                           from->inners - i);
}

static inline void gemm_block_load(const struct gemm_block_source *from, float *to, int64_t pitch)
{
    if (from->inner == 1 && dense_is_short_float(from->type)) {
        VEC_BY_TYPE(from->type, gemm_block_lines, from, to, pitch);
        return;
    }
    if (from->outer == 1 && from->inner != 1 && from->outers > 1) {
        gemm_block_turn(from, to, pitch);
        return;
    }
    for (int64_t o = 0; o < from->outers; o++)
        dense_load_row(from->data, from->at + o * from->outer, from->inner, from->type, (uint32_t)from->inners,
                       to + o * pitch);
}

/* C (+)= A * B of up to GEMM_TILE_COLUMNS columns, which B and C have in whole vectors. */
struct gemm_block {
    const float *a, *b;
    int64_t a_row, a_step, b_row, c_row;
    float *c;
    uint32_t rows, columns, depth;
    bool add;
};

DENSE_INLINE void gemm_block_tile(uint32_t rows, const struct gemm_block *g, uint32_t first, uint32_t vecs)
{
    ukernel(&(struct ukernel){ .rows = rows,
                               .vecs = vecs,
                               .splits = 1,
                               .group = 1,
                               .b_type = DML_TENSOR_DATA_TYPE_FLOAT32,
                               .depth = g->depth,
                               .a = g->a + first * g->a_row,
                               .a_row = g->a_row,
                               .a_step = g->a_step,
                               .b = g->b,
                               .b_row = g->b_row,
                               .next = (const char *)g->b,
                               .c = g->c + first * g->c_row,
                               .c_row = g->c_row,
                               .add = g->add });
}

DENSE_INLINE void gemm_block_tiles(uint32_t vecs, const struct gemm_block *g)
{
    for (uint32_t first = 0; first < g->rows; first += GEMM_TILE_ROWS)
        UKERNEL_BY_COUNT(BASE_MIN(g->rows - first, GEMM_TILE_ROWS), GEMM_TILE_ROWS, gemm_block_tile, g, first, vecs)
}

static inline void gemm_block_multiply(const struct gemm_block *g)
{
    UKERNEL_BY_COUNT((g->columns + VEC - 1) / VEC, GEMM_TILE_VECS, gemm_block_tiles, g)
}

#endif
