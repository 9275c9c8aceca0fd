/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_GEMM_H
#define KERNELS_GEMM_H

#include "kernels/core/dense.h"
#include "kernels/core/epilogue.h"

/* GEMM of few rows with a plain matrix (gemm_vec_simd.c), bound by reading B once. */
#define GEMM_VEC_ROWS  4    /* maximum rows of A */
#define GEMM_VEC_UNIT  64   /* columns of one unit of work */
#define GEMM_VEC_PANEL 2048 /* columns at once */

/* A zero point of integer GEMMs: tensor `tensor` at coordinates `at`, 0 if it is absent. */
DENSE_INLINE int32_t gemm_zero(const struct kern_call *call, bool present, uint32_t tensor, const uint32_t *at)
{
    const struct kern_view *view = &call->op->tensors[tensor];
    return present ? (int32_t)dense_load(call->data[tensor], dense_offset(view, at, view->rank), view->type) : 0;
}

/* Broadcast along the first `dims` dimensions. */
DENSE_INLINE bool gemm_repeats(const struct kern_view *view, uint32_t dims)
{
    bool result = true;
    for (uint32_t d = 0; d < dims; d++)
        result = result && (view->sizes[d] == 1 || view->strides[d] == 0);
    return result;
}

/* All rows of the view, which are Y's, have the same distance. */
bool gemm_rows_even(const struct kern_view *view, const struct kern_view *y, int64_t *row);

/* Elements between rows. */
DENSE_INLINE int64_t gemm_row_step(const struct kern_view *view)
{
    return view->sizes[view->rank - 2] > 1 ? view->strides[view->rank - 2] : 0;
}

/* beta * C is added to sums, FLOAT32 or (wide) FLOAT64, from coordinates `at` on. */
DENSE_INLINE void gemm_add_c(const struct kern_call *call, const uint32_t *at, uint32_t count, bool wide, void *sums)
{
    const struct kern_view *c = &call->op->tensors[2];
    const float beta = call->op->u.gemm.beta;
    int64_t from = dense_offset(c, at, c->rank), step = c->sizes[c->rank - 1] > 1 ? c->strides[c->rank - 1] : 0;
    for (uint32_t i = 0; !wide && i < count; i++)
        ((float *)sums)[i] += beta * (float)dense_load(call->data[2], from + i * step, c->type);
    for (uint32_t i = 0; wide && i < count; i++)
        ((double *)sums)[i] += beta * dense_load(call->data[2], from + i * step, c->type);
}

/* alpha * sums + beta * C in place, likewise. */
DENSE_INLINE void gemm_scale(const struct kern_call *call, const uint32_t *at, uint32_t count, bool wide, void *sums)
{
    const struct kern_gemm *gemm = &call->op->u.gemm;
    for (uint32_t i = 0; gemm->alpha != 1 && !wide && i < count; i++)
        ((float *)sums)[i] *= gemm->alpha;
    for (uint32_t i = 0; gemm->alpha != 1 && wide && i < count; i++)
        ((double *)sums)[i] *= gemm->alpha;
    if (gemm->has_c && gemm->beta != 0)
        gemm_add_c(call, at, count, wide, sums);
}

/* ---- panels (gemm.c) ---- */

/* GEMM with constant weights, FLOAT32, FLOAT16 or bfloat16: B is in panels as wide as a tile, [K][columns] each, padded
 * with zeros. While one part of a panel is multiplied with all rows of A, the next one is prefetched, so that weights
 * stream through the caches at the speed of the arithmetic. Elements of 16 bits become FLOAT32 once: rows of A when
 * they are loaded, and the part of a panel if several tiles multiply it. */
/* Columns of a panel: those of a tile. */
#define PANEL_COLUMNS_avx512 48
#define PANEL_COLUMNS_avx2   16
#define PANEL_COLUMNS_neon   16

#define PANEL_DEPTH      384 /* of a part that stays in the second-level cache, next to its part of A */
#define PANEL_BLOCK_ROWS 128 /* maximum rows of A at once */
#define PANEL_PART_ROWS  24  /* of a part of a block that threads share: whole tiles of 6 and of 8 */
#define PANEL_FEW_ROWS   16  /* the same for sums of up to PANEL_SHORT_SUM products */
#define PANEL_SHORT_SUM  64
#define PANEL_ADDS       4 /* tensors that are added or multiplied in the epilogue */
#define PANEL_CODES      4 /* operations on one number between those */

/* All dimensions of A and Y except for the last are rows. */
struct panel_shape {
    uint64_t rows, blocks;
    uint32_t n, k, columns, panels, block_rows;
    uint32_t parts, part_rows; /* of the rows of a block: units of work are parts of panels of blocks */
    uint32_t element;          /* bytes of a weight */
    uint64_t pitch;            /* elements between rows of A in scratch */
    uint64_t sums, epilogue;   /* offsets in the worker's scratch; of elements of 16 bits also: */
    uint64_t floats, wide;     /* A, and a part of a panel */
    uint64_t bytes;
};

/* `columns`: of a panel. */
void panel_shape_init(const struct kern_op *op, uint32_t columns, struct panel_shape *out);

/* How results are stored to Y without the general epilogue: sums * alpha, with which tensors are added or multiplied,
 * then few operations, then the other tensors. */
struct panel_finish {
    DML_TENSOR_DATA_TYPE type; /* of Y and the tensors */
    uint32_t count, lead;      /* tensors, and those before the operations */
    uint32_t tensor[PANEL_ADDS];
    bool multiplies[PANEL_ADDS]; /* otherwise it is added */
    uint32_t step[PANEL_ADDS];   /* between columns: 1, or 0 for one number per row */
    float factor[PANEL_ADDS];
    bool transposed; /* adjacent rows of Y are adjacent elements: whole columns of a block are stored; FLOAT32 only */
    uint32_t code_count;
    struct kern_epilogue_step code[PANEL_CODES]; /* RELU, curves, SQRT, with numbers */
};

bool panel_finish_init(const struct kern_op *op, struct panel_finish *out);

#endif
