/* SPDX-License-Identifier: Apache-2.0 */
#include "shaders/gemm/shader_tile.h"

#include "kernels/core/number.h"

enum {
    DEPTH = 16,       /* a multiple of all tiles' */
    WORKGROUPS = 256, /* with fewer, a product is cut along K, too */
    SPLIT_MIN = 128,  /* along K */
    SPLITS_MAX = 32,
    LARGE_MIN = 192, /* large tiles need less memory traffic, but there must be enough of them to fill a device */
};

#define SCRATCH_MAX (256ull << 20)

struct tile_size {
    uint32_t m, n; /* as in tile_size.glsl */
};

static const struct tile_size plain = { 64, 64 }, large = { 128, 128 }, wide = { 32, 128 };

static const struct tile_size *forced;

void shader_tile_force(enum shader_tile_kind kind)
{
    forced = kind == SHADER_TILE_LARGE ? &large : kind == SHADER_TILE_WIDE ? &wide : NULL;
}

static bool is_integer(const struct kern_op *op)
{
    return kern_type_class(op->tensors[0].type) != KERN_CLASS_FLOAT;
}

static uint32_t count(uint32_t size, uint32_t tile)
{
    return (size + tile - 1) / tile;
}

static uint64_t tiles_of(const struct tile_params *params, const struct tile_size *size)
{
    return (uint64_t)count(params->m, size->m) * count(params->n, size->n) * params->batches;
}

/* Elements of all tiles, those outside the result included. */
static uint64_t area(const struct tile_params *params, const struct tile_size *size)
{
    return tiles_of(params, size) * size->m * size->n;
}

static const struct tile_size *choose(const struct kern_op *op, const struct tile_params *params)
{
    const struct tile_size *best = area(params, &wide) < area(params, &plain) ? &wide : &plain;
    if (forced && !(forced == &large && is_integer(op)))
        return forced;
    if (!is_integer(op) && tiles_of(params, &large) >= LARGE_MIN && area(params, &large) * 4 <= area(params, best) * 5)
        best = &large;
    return best;
}

static enum shader_code code_of(const struct kern_op *op, const struct tile_codes *codes, const struct tile_size *size)
{
    if (is_integer(op))
        return size == &wide ? codes->integer_wide : codes->integer;
    return size == &large ? codes->large : size == &wide ? codes->wide : codes->plain;
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
    const struct tile_size *size = choose(op, params);
    params->tiles_m = count(params->m, size->m);
    params->tiles_n = count(params->n, size->n);
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
    const enum shader_code code = code_of(op, codes, choose(op, params));
    struct shader_dispatch *dispatch = shader_add(out, code, op, units(op, params, 0), 1, parameter_bytes);
    shader_specialize(op, (uint64_t)params->m * params->n * params->batches * params->k / 64, dispatch);
    if (params->splits > 1) {
        dispatch = shader_add(out, is_integer(op) ? SHADER_tile_sum_int : SHADER_tile_sum, op, units(op, params, 1),
                              SHADER_GROUP_SIZE, sizeof(*params));
        out->scratch_bytes = units(op, params, 1) * params->splits * 4;
    }
    shader_epilogue_add(op, dispatch);
}

void shader_tile_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                       const struct tile_params *params, size_t parameter_bytes, uint32_t *words)
{
    shader_block_write(op, places, units(op, params, index), params, index ? sizeof(*params) : parameter_bytes, words);
}
