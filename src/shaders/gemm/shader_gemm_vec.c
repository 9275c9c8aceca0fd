/* SPDX-License-Identifier: Apache-2.0 */
/* Products of few rows, or with few columns: bound by reading the large matrix, which must happen once. */
#include "shaders/gemm/shader_tile.h"

#include "kernels/core/number.h"

#define LINES_MAX 4 /* as in gemm_vec.comp */

static uint32_t lines(const struct kern_op *op)
{
    const struct kern_view *y = &op->tensors[op->input_count];
    return BASE_MIN(y->sizes[y->rank - 2], y->sizes[y->rank - 1]);
}

const char *shader_gemm_vec_obstacle(const struct kern_op *op)
{
    const struct kern_view *a = &op->tensors[0];
    const char *obstacle = shader_gemm_single_obstacle(op);
    if (obstacle)
        return obstacle;
    return lines(op) > LINES_MAX || a->sizes[a->rank - 1] < TUNE_VEC_DEPTH_MIN ? "it has many rows and columns" : NULL;
}

static struct vec_params parameters(const struct kern_op *op)
{
    struct vec_params params = { .tile = shader_gemm_tile_params(op), .lines = lines(op) };
    struct tile_params *tile = &params.tile;
    params.small = tile->m > params.lines;
    params.columns = params.small ? tile->m : tile->n;
    params.along_k = params.small ? tile->a_along_k : tile->b_along_k;
    params.slices = params.along_k ? TUNE_VEC_SLICES_ALONG_K : TUNE_VEC_SLICES;
    const uint32_t across = SHADER_GROUP_SIZE / params.slices;
    tile->tiles_m = 1;
    tile->tiles_n = (params.columns + across - 1) / across;
    shader_tile_cut_depth(op, tile);
    return params;
}

void shader_gemm_vec_plan(const struct kern_op *op, struct shader_work *out)
{
    static const struct tile_codes codes = { SHADER_gemm_vec, SHADER_gemm_vec, SHADER_gemm_vec, SHADER_gemm_vec_int,
                                             SHADER_gemm_vec_int };
    const struct vec_params params = parameters(op);
    shader_tile_add(op, &codes, &params.tile, sizeof(params), out);
}

void shader_gemm_vec_write(const struct kern_op *op, uint32_t index, const struct shader_place *places, uint32_t *words)
{
    const struct vec_params params = parameters(op);
    shader_tile_write(op, index, places, &params.tile, sizeof(params), words);
}
