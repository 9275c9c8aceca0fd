/* SPDX-License-Identifier: Apache-2.0 */
/* Stores small blocks of results, transposed if the output's layout requires it; included once per instruction set. */
#ifndef KERNELS_TILE_STORE_H
#define KERNELS_TILE_STORE_H

#include "kernels/row/row.h"
#include "kernels/vec/vec.h"

/* The position of a tile in the output, in elements. */
struct tile_to {
    void *y;
    DML_TENSOR_DATA_TYPE type;
    int64_t at, row, column;
};

static inline void tile_store_transposed(const struct tile_to *to, const float *from, int64_t pitch, int64_t rows,
                                         int64_t columns)
{
    vec v[VEC];
    if (rows >= VEC) {
#pragma GCC unroll 16
        for (int r = 0; r < VEC; r++)
            v[r] = vec_load(from + r * pitch);
    } else { /* the last row again, in place of what was never written */
#pragma GCC unroll 16
        for (int r = 0; r < VEC; r++)
            v[r] = vec_load(from + BASE_MIN(r, rows - 1) * pitch);
    }
    vec_transpose(v);
    for (int64_t j = 0; j < columns; j++)
        vec_store_some(to->type, to->y, to->at + j * to->column, v[j], rows);
}

/* `rows` rows of `columns` results, both at most VEC; VEC elements of each row are read, which are `pitch`
 * apart. */
static inline void tile_store(const struct tile_to *to, const float *from, int64_t pitch, int64_t rows, int64_t columns)
{
    if (to->row == 1) {
        tile_store_transposed(to, from, pitch, rows, columns);
        return;
    }
    for (int64_t r = 0; r < rows; r++) {
        if (to->column == 1)
            vec_store_some(to->type, to->y, to->at + r * to->row, vec_load(from + r * pitch), columns);
        else
            dense_store_row(to->y, to->at + r * to->row, to->column, to->type, (uint32_t)columns, from + r * pitch);
    }
}

#endif
