/* SPDX-License-Identifier: Apache-2.0 */
#include "shaders/gemm/shader_tile.h"

#include "kernels/core/number.h"

enum {
    WORKGROUPS = 256, /* with fewer, a product is cut along K, too */
    SPLIT_MIN = 128,  /* along K */
    SPLITS_MAX = 32,
    DEPTH_UNIT = 32, /* a multiple of all tiles' */
};

#define SCRATCH_MAX (256ull << 20)

/* Large tiles need less memory traffic, but there must be enough of them to fill a device; none: large_min 0. */
static const struct tile_class {
    struct tile_size plain, large, wide;
    uint32_t large_min;
} classes[SHADER_TILES_COUNT] = {
    [SHADER_TILES_FLOAT] = { { 64, 64, 16 }, { 128, 128, 8 }, { 32, 128, 16 }, 192 },
    [SHADER_TILES_INTEGER] = { { 64, 64, 16 }, { 64, 64, 16 }, { 32, 128, 16 }, 0 },
    [SHADER_TILES_COOP] = { { 64, 64, 32 }, { 128, 128, 32 }, { 32, 128, 32 }, 96 },
};

static enum shader_tile_kind forced;

void shader_tile_force(enum shader_tile_kind kind)
{
    forced = kind;
}

enum shader_tile_class shader_tile_class(const struct kern_op *op)
{
    return kern_type_class(op->tensors[0].type) == KERN_CLASS_FLOAT ? SHADER_TILES_FLOAT : SHADER_TILES_INTEGER;
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

const struct tile_size *shader_tile_choose(enum shader_tile_class class, const struct tile_params *params)
{
    const struct tile_class *sizes = &classes[class];
    const struct tile_size *best = &sizes->plain;
    if (forced == SHADER_TILE_WIDE || area(params, &sizes->wide) < area(params, best))
        best = &sizes->wide;
    if (!sizes->large_min || forced == SHADER_TILE_WIDE)
        return best;
    if (forced == SHADER_TILE_LARGE || (tiles_of(params, &sizes->large) >= sizes->large_min &&
                                        area(params, &sizes->large) * 4 <= area(params, best) * 5))
        best = &sizes->large;
    return best;
}

void shader_tile_cut_depth(const struct kern_op *op, struct tile_params *params)
{
    const uint64_t tiles = (uint64_t)params->tiles_m * params->tiles_n * params->batches;
    const uint64_t bytes = kern_view_elements(&op->tensors[op->input_count]) * 4;
    uint64_t splits = BASE_MIN(WORKGROUPS / tiles, params->k / SPLIT_MIN);
    splits = BASE_MIN(BASE_MIN(splits, SPLITS_MAX), SCRATCH_MAX / bytes);
    splits = BASE_MAX(splits, 1);
    params->depth = (uint32_t)base_align_up((params->k + splits - 1) / splits, DEPTH_UNIT);
    params->splits = count(params->k, params->depth);
}

void shader_tile_cut(const struct kern_op *op, enum shader_tile_class class, struct tile_params *params)
{
    const struct tile_size *size = shader_tile_choose(class, params);
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

void shader_tile_add_code(const struct kern_op *op, enum shader_code code, const struct tile_params *params,
                          size_t parameter_bytes, struct shader_work *out)
{
    struct shader_dispatch *dispatch = shader_add(out, code, op, units(op, params, 0), 1, parameter_bytes);
    shader_specialize(op, (uint64_t)params->m * params->n * params->batches * params->k / 64, dispatch);
    if (params->splits > 1) {
        const bool integer = shader_tile_class(op) == SHADER_TILES_INTEGER;
        dispatch = shader_add(out, integer ? SHADER_tile_sum_int : SHADER_tile_sum, op, units(op, params, 1),
                              SHADER_GROUP_SIZE, sizeof(*params));
        out->scratch_bytes = units(op, params, 1) * params->splits * 4;
    }
    shader_epilogue_add(op, dispatch);
}

void shader_tile_add(const struct kern_op *op, const struct tile_codes *codes, const struct tile_params *params,
                     size_t parameter_bytes, struct shader_work *out)
{
    const enum shader_tile_class class = shader_tile_class(op);
    const struct tile_class *sizes = &classes[class];
    const struct tile_size *size = shader_tile_choose(class, params);
    enum shader_code code = size == &sizes->large ? codes->large : size == &sizes->wide ? codes->wide : codes->plain;
    if (class == SHADER_TILES_INTEGER)
        code = size == &sizes->wide ? codes->integer_wide : codes->integer;
    shader_tile_add_code(op, code, params, parameter_bytes, out);
}

void shader_tile_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                       const struct tile_params *params, size_t parameter_bytes, uint32_t *words)
{
    shader_block_write(op, places, units(op, params, index), params, index ? sizeof(*params) : parameter_bytes, words);
}
