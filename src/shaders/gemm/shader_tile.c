/* SPDX-License-Identifier: Apache-2.0 */
#include "shaders/gemm/shader_tile.h"

#include "kernels/core/number.h"

#define DEPTH_UNIT  32 /* along K, a multiple of all tiles' */
#define SCRATCH_MAX (256ull << 20)

static const struct tile_size tiles[SHADER_TILES_COUNT][SHADER_TILE_KINDS] = {
#define TILE(class, kind, m, n, k, least) [SHADER_TILES_##class][SHADER_TILE_##kind] = { m, n, k, least },
#define COOP_TILE(m, n, k, groups, least)
#define TUNE(name, value)
#include "shaders/tuning.def"
#undef TILE
#undef COOP_TILE
#undef TUNE
};

static enum shader_tile_kind forced;

void shader_tile_force(enum shader_tile_kind kind)
{
    forced = kind;
}

enum shader_tile_kind shader_tile_forced(void)
{
    return forced;
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

/* Elements of all tiles, including those outside of the result. */
static uint64_t area(const struct tile_params *params, const struct tile_size *size)
{
    return tiles_of(params, size) * size->m * size->n;
}

const struct tile_size *shader_tile_choose(enum shader_tile_class class, const struct tile_params *params)
{
    const struct tile_size *sizes = tiles[class], *best = &sizes[SHADER_TILE_PLAIN];
    const struct tile_size *large = &sizes[SHADER_TILE_LARGE], *wide = &sizes[SHADER_TILE_WIDE];
    if (forced == SHADER_TILE_WIDE || area(params, wide) < area(params, best))
        best = wide;
    if (!large->m || forced == SHADER_TILE_WIDE)
        return best;
    if (forced == SHADER_TILE_LARGE ||
        (tiles_of(params, large) >= large->least && area(params, large) * 4 <= area(params, best) * 5))
        best = large;
    return best;
}

void shader_tile_split(const struct kern_op *op, uint64_t splits, uint32_t most, struct tile_params *params)
{
    const uint64_t bytes = kern_view_elements(&op->tensors[op->input_count]) * 4;
    splits = BASE_MIN(BASE_MIN(splits, most), SCRATCH_MAX / bytes);
    splits = BASE_MAX(splits, 1);
    params->depth = (uint32_t)base_align_up((params->k + splits - 1) / splits, DEPTH_UNIT);
    params->splits = count(params->k, params->depth);
}

void shader_tile_cut_depth(const struct kern_op *op, struct tile_params *params)
{
    const uint64_t of_result = (uint64_t)params->tiles_m * params->tiles_n * params->batches;
    shader_tile_split(op, BASE_MIN(TUNE_WORKGROUPS / of_result, params->k / TUNE_SPLIT_MIN), TUNE_SPLITS_MAX, params);
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
    const struct kern_view *y = &op->tensors[op->input_count];
    if (index)
        return kern_view_elements(y) / (y->sizes[y->rank - 1] % 4 ? 1 : 4);
    return (uint64_t)params->tiles_m * params->tiles_n * params->batches * params->splits;
}

static uint64_t work_of(const struct tile_params *params)
{
    return (uint64_t)params->m * params->n * params->batches * params->k / 64;
}

void shader_tile_add_code(const struct kern_op *op, enum shader_code code, const struct tile_params *params,
                          size_t parameter_bytes, struct shader_work *out)
{
    struct shader_dispatch *dispatch = shader_add(out, code, op, units(op, params, 0), 1, parameter_bytes);
    shader_specialize(op, work_of(params), dispatch);
    if (params->splits == 1) {
        shader_epilogue_add(op, dispatch);
        return;
    }
    shader_tile_add_sum(op, params, out);
    out->scratch_bytes = kern_view_elements(&op->tensors[op->input_count]) * params->splits * 4;
}

void shader_tile_add_sum(const struct kern_op *op, const struct tile_params *params, struct shader_work *out)
{
    const bool integer = shader_tile_class(op) == SHADER_TILES_INTEGER;
    shader_epilogue_add(op, shader_add(out, integer ? SHADER_tile_sum_int : SHADER_tile_sum, op, units(op, params, 1),
                                       SHADER_GROUP_SIZE, sizeof(*params)));
}

void shader_tile_add(const struct kern_op *op, const struct tile_codes *codes, const struct tile_params *params,
                     size_t parameter_bytes, struct shader_work *out)
{
    const enum shader_tile_class class = shader_tile_class(op);
    const struct tile_size *size = shader_tile_choose(class, params);
    const enum shader_tile_kind kind = (enum shader_tile_kind)(size - tiles[class]);
    enum shader_code code = kind == SHADER_TILE_LARGE  ? codes->large
                            : kind == SHADER_TILE_WIDE ? codes->wide
                                                       : codes->plain;
    if (class == SHADER_TILES_INTEGER)
        code = kind == SHADER_TILE_WIDE ? codes->integer_wide : codes->integer;
    shader_tile_add_code(op, code, params, parameter_bytes, out);
}

void shader_tile_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                       const struct tile_params *params, size_t parameter_bytes, uint32_t *words)
{
    shader_block_write(op, places, units(op, params, index), params, index ? sizeof(*params) : parameter_bytes, words);
}
