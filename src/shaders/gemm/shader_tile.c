/* SPDX-License-Identifier: Apache-2.0 */
#include "shaders/gemm/shader_tile.h"

#include "kernels/core/number.h"

enum {
    SMALL = 64, /* elements of a tile along M and N, as in tile.glsl */
    LARGE = 128,
    DEPTH = 16,       /* a multiple of both tiles' */
    WORKGROUPS = 256, /* with fewer, a product is cut along K, too */
    SPLIT_MIN = 128,  /* along K */
    SPLITS_MAX = 32,
};

#define SCRATCH_MAX (256ull << 20)

/* Large tiles need less memory traffic, but there must be enough of them to fill a device. */
static uint64_t large_from = 192;

void shader_tile_large_from(uint64_t tiles)
{
    large_from = tiles;
}

static bool is_integer(const struct kern_op *op)
{
    return kern_type_class(op->tensors[0].type) != KERN_CLASS_FLOAT;
}

static uint32_t count(uint32_t size, uint32_t tile)
{
    return (size + tile - 1) / tile;
}

static uint64_t tiles_of(const struct tile_params *params, uint32_t side)
{
    return (uint64_t)count(params->m, side) * count(params->n, side) * params->batches;
}

static bool is_large(const struct kern_op *op, const struct tile_params *params)
{
    return !is_integer(op) && tiles_of(params, LARGE) >= large_from;
}

void shader_tile_cut_depth(const struct kern_op *op, struct tile_params *params)
{
    const uint64_t tiles = (uint64_t)params->tiles_m * params->tiles_n * params->batches;
    const uint64_t bytes = kern_view_elements(&op->tensors[op->input_count]) * 4;
    uint64_t splits = BASE_MIN(WORKGROUPS / tiles, params->k / SPLIT_MIN);
    splits = BASE_MIN(BASE_MIN(splits, SPLITS_MAX), SCRATCH_MAX / bytes);
    splits = BASE_MAX(splits, 1);
    params->depth = (uint32_t)base_align_up((params->k + splits - 1) / splits, DEPTH);
    params->splits = count(params->k, params->depth);
}

void shader_tile_cut(const struct kern_op *op, struct tile_params *params)
{
    const uint32_t side = is_large(op, params) ? LARGE : SMALL;
    params->tiles_m = count(params->m, side);
    params->tiles_n = count(params->n, side);
    shader_tile_cut_depth(op, params);
}

static uint64_t units(const struct kern_op *op, const struct tile_params *params, uint32_t index)
{
    if (index)
        return kern_view_elements(&op->tensors[op->input_count]);
    return (uint64_t)params->tiles_m * params->tiles_n * params->batches * params->splits;
}

void shader_tile_add(const struct kern_op *op, const struct tile_codes *codes, const struct tile_params *params,
                     size_t parameter_bytes, struct shader_work *out)
{
    const enum shader_code code = is_integer(op) ? codes->integer : is_large(op, params) ? codes->large : codes->plain;
    struct shader_dispatch *dispatch = shader_add(out, code, op, units(op, params, 0), 1, parameter_bytes);
    shader_specialize(op, (uint64_t)params->m * params->n * params->batches * params->k / 64, dispatch);
    if (params->splits == 1)
        return;
    shader_add(out, is_integer(op) ? SHADER_tile_sum_int : SHADER_tile_sum, op, units(op, params, 1), SHADER_GROUP_SIZE,
               sizeof(*params));
    out->scratch_bytes = units(op, params, 1) * params->splits * 4;
}

void shader_tile_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                       const struct tile_params *params, size_t parameter_bytes, uint32_t *words)
{
    shader_block_write(op, places, units(op, params, index), params, index ? sizeof(*params) : parameter_bytes, words);
}
