/* Products with weights that are known before execution, FLOAT32 or, for few rows, FLOAT16 and bfloat16: B lies in
 * panels as wide as a tile, [K][columns] each, zeros behind the last. While one part of a panel is multiplied with all
 * rows of A, the next one is fetched, so that weights stream through the caches at the speed of the arithmetic. */
#ifndef KERNELS_GEMM_PANEL_H
#define KERNELS_GEMM_PANEL_H

#include "kernels/core/epilogue.h"
#include "kernels/gemm/gemm.h"

/* Columns of a panel: those of a tile. */
#define PANEL_COLUMNS_avx512 48
#define PANEL_COLUMNS_avx2   16
#define PANEL_COLUMNS_neon   16

#define PANEL_DEPTH      384 /* of a part that stays in the second-level cache, next to its part of A */
#define PANEL_BLOCK_ROWS 128 /* most rows of A at once */
#define PANEL_FEW_ROWS   16  /* the same for sums of up to PANEL_SHORT_SUM products */
#define PANEL_SHORT_SUM  64
#define PANEL_ADDS       4 /* tensors that are added in the epilogue */
#define PANEL_CODES      2 /* operations on one number after that */

/* All dimensions of A and Y but the last are rows. */
struct panel_shape {
    uint64_t rows, blocks;
    uint32_t n, k, columns, panels, block_rows;
    uint32_t element; /* bytes of a weight */
    uint64_t sums, epilogue, floats,
        bytes; /* places in the worker's scratch; floats: A, where its elements have 16 bits */
};

/* `columns`: of a panel. */
void panel_shape_init(const struct kern_op *op, uint32_t columns, struct panel_shape *out);

/* How results get to Y without the general epilogue: sums * alpha + what is added, then few operations. */
struct panel_finish {
    uint32_t count;
    uint32_t tensor[PANEL_ADDS];
    uint32_t step[PANEL_ADDS]; /* between columns: 1, or 0 for one number per row */
    float factor[PANEL_ADDS];
    uint32_t code_count;
    struct kern_epilogue_step code[PANEL_CODES]; /* RELU, GELU, SWISH, SQRT */
};

bool panel_finish_init(const struct kern_op *op, struct panel_finish *out);

#endif
