/* SPDX-License-Identifier: Apache-2.0 */
/* Products by tiles in shared memory (tile.glsl): what their rows share. */
#ifndef SHADERS_GEMM_SHADER_TILE_H
#define SHADERS_GEMM_SHADER_TILE_H

#include "shaders/core/shader_block.h"
#include "shaders/gemm/tile_params.h"

/* Of one product, for tiles of every size; for integers. */
struct tile_codes {
    enum shader_code plain, large, wide, integer, integer_wide;
};

/* Sets all that sizes decide: m, n, k and batches are set. */
void shader_tile_cut(const struct kern_op *op, struct tile_params *params);
/* The same along K only: tiles_m and tiles_n are set, too. */
void shader_tile_cut_depth(const struct kern_op *op, struct tile_params *params);

/* Adds the dispatches; parameter_bytes: of the first one. */
void shader_tile_add(const struct kern_op *op, const struct tile_codes *codes, const struct tile_params *params,
                     size_t parameter_bytes, struct shader_work *out);

/* Fills the block of dispatch `index`; `all`: the parameters of the first one, which begin with params. */
void shader_tile_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                       const struct tile_params *params, size_t parameter_bytes, uint32_t *words);

/* Of KERN_GEMM (shader_gemm.c): why no shader takes it that has neither FLOAT64 nor small shapes in mind, else NULL. */
const char *shader_gemm_single_obstacle(const struct kern_op *op);
/* All that does not depend on the size of tiles. */
struct tile_params shader_gemm_tile_params(const struct kern_op *op);

/* Whether neighbours along the first of two strides lie closer together. */
static inline bool shader_tile_closer(int64_t stride, int64_t other)
{
    const int64_t a = stride < 0 ? -stride : stride, b = other < 0 ? -other : other;
    return a && (!b || a < b);
}

enum shader_tile_kind { SHADER_TILE_CHOSEN, SHADER_TILE_LARGE, SHADER_TILE_WIDE };

/* For tests: tiles of floating-point products, whatever their size. */
void shader_tile_force(enum shader_tile_kind kind);

#endif
