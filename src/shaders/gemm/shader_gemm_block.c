/* SPDX-License-Identifier: Apache-2.0 */
/* GEMM with register blocking, for factors in vectors of four elements, or 8-bit in words of four (gemm_block.comp). */
#include "shaders/gemm/shader_tile.h"

#include "kernels/core/number.h"

#define VECTOR  4 /* elements */
#define FACTORS 4 /* bytes of a word */

static const struct block_tile tiles[] = {
#define TILE(class, kind, m, n, k, least)
#define COOP_TILE(m, n, k, groups, least)
#define BLOCK_TILE(m, n, k, side_m, side_n, groups, least) { m, n, k, side_m, side_n, groups, least },
#define TUNE(name, value)
#include "shaders/tuning.def"
#undef TILE
#undef COOP_TILE
#undef TUNE
};

static uint32_t forced, forced_splits;

void shader_block_force(uint32_t tile, uint32_t splits)
{
    forced = tile;
    forced_splits = splits;
}

static uint32_t count(uint32_t size, uint32_t tile)
{
    return (size + tile - 1) / tile;
}

static uint64_t tiles_of(const struct tile_params *params, const struct block_tile *tile)
{
    return (uint64_t)count(params->m, tile->m) * count(params->n, tile->n) * params->batches;
}

/* Elements of all tiles, including those outside of the result. */
static uint64_t area(const struct tile_params *params, const struct block_tile *tile)
{
    return tiles_of(params, tile) * tile->m * tile->n;
}

/* Parts along K: a workgroup for each multiprocessor, and several where parts stay long, so that one multiplies while
 * another loads. */
static uint64_t splits_of(const struct kern_op *op, const struct tile_params *params, const struct block_tile *tile)
{
    const uint64_t units = shader_multiprocessors(op), whole = tiles_of(params, tile);
    const uint64_t splits = BASE_MIN(units / whole, params->k / TUNE_BLOCK_SPLIT_MIN);
    const uint64_t deep = BASE_MIN(TUNE_BLOCK_DEEP_WORKGROUPS * units / whole, params->k / TUNE_BLOCK_DEEP_SPLIT_MIN);
    return forced ? forced_splits : BASE_MAX(BASE_MAX(splits, deep), 1);
}

static const struct block_tile *choose(const struct kern_op *op, const struct tile_params *params)
{
    const struct block_tile *last = &tiles[ARRAY_SIZE(tiles) - 1], *tile = tiles;
    if (forced)
        return &tiles[(forced - 1) % ARRAY_SIZE(tiles)];
    while (tile < last && (tiles_of(params, tile) * splits_of(op, params, tile) < tile->least ||
                           area(params, tile) * 4 > area(params, last) * 5))
        tile++;
    return tile;
}

static bool is_wide(const struct kern_view *view, uint32_t from_last)
{
    return shader_wide(view, view->rank - from_last, VECTOR);
}

/* Whether vectors of a factor are along this dimension, which is that of k. */
static bool along_k(const struct kern_view *view, uint32_t from_last)
{
    return shader_wide(view, view->rank - from_last, kern_type_bytes(view->type) == 1 ? VECTOR * FACTORS : VECTOR);
}

static const char *vectors_unsupported(const struct kern_op *op)
{
    const struct kern_view *a = &op->tensors[0], *b = &op->tensors[1];
    return (!along_k(a, 1) && !is_wide(a, 2)) || (!along_k(b, 2) && !is_wide(b, 1))
               ? "its factors are not contiguous in vectors"
               : NULL;
}

const struct block_tile *shader_block_cut(const struct kern_op *op, uint32_t most, struct tile_params *params)
{
    const struct block_tile *tile = choose(op, params);
    params->tiles_m = count(params->m, tile->m);
    params->tiles_n = count(params->n, tile->n);
    shader_tile_split(op, splits_of(op, params, tile), most, params);
    return tile;
}

void shader_block_add(const struct kern_op *op, enum shader_code code, const struct block_tile *tile,
                      const struct tile_params *params, uint32_t flags, size_t parameter_bytes, struct shader_work *out)
{
    struct shader_dispatch *dispatch = &out->dispatches[0];
    shader_tile_add_code(op, code, params, parameter_bytes, out);
    shader_specialize(op, UINT64_MAX, dispatch); /* always: no other pipeline has this tile */
    dispatch->constants[2] = tile->n << 16 | tile->m;
    dispatch->constants[3] = tile->side_n << 24 | tile->side_m << 16 | tile->groups << 8 | tile->k;
    dispatch->constants[4] =
        (params->a_along_k ? GEMM_BLOCK_A_ALONG_K : 0) | (params->b_along_k ? GEMM_BLOCK_B_ALONG_K : 0) | flags;
    dispatch->constants[5] = tile->m / tile->side_m * (tile->n / tile->side_n) * tile->groups;
    dispatch->constant_count = BASE_MAX(dispatch->constant_count, 6);
}

static const struct block_tile *cut(const struct kern_op *op, struct tile_params *params)
{
    *params = shader_gemm_tile_params(op);
    params->a_along_k = along_k(&op->tensors[0], 1);
    params->b_along_k = !is_wide(&op->tensors[1], 1);
    return shader_block_cut(op, TUNE_SPLITS_MAX, params);
}

/* Elements of k that an element of the tile has: `factors`. */
static void plan(const struct kern_op *op, enum shader_code code, uint32_t factors, bool wide_y,
                 struct shader_work *out)
{
    struct tile_params params;
    const struct block_tile *tile = cut(op, &params);
    const uint32_t depth = tile->k * factors;
    const bool whole = params.k % depth == 0 && params.depth % depth == 0;
    wide_y = wide_y && params.splits == 1 && is_wide(&op->tensors[op->input_count], 1);
    shader_block_add(op, code, tile, &params, (whole ? GEMM_BLOCK_WHOLE : 0) | (wide_y ? GEMM_BLOCK_WIDE_Y : 0),
                     sizeof(params), out);
}

const char *shader_gemm_block_unsupported(const struct kern_op *op)
{
    const char *reason = shader_gemm_tile_unsupported(op);
    if (reason)
        return reason;
    return kern_type_class(op->tensors[0].type) != KERN_CLASS_FLOAT ? "no shader for these data types"
                                                                    : vectors_unsupported(op);
}

void shader_gemm_block_plan(const struct kern_op *op, struct shader_work *out)
{
    plan(op, SHADER_gemm_block, 1, true, out);
}

void shader_gemm_block_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                             uint32_t *words)
{
    struct tile_params params;
    cut(op, &params);
    shader_tile_write(op, index, places, &params, sizeof(params), words);
}

/* ---- 8-bit, by integer dot products ---- */

const char *shader_gemm_block_dot_unsupported(const struct kern_op *op)
{
    const struct kern_view *a = &op->tensors[0];
    const char *reason = shader_gemm_dot_unsupported(op);
    if (reason)
        return reason;
    return a->sizes[a->rank - 1] % FACTORS ? "its factors are not contiguous in vectors" : vectors_unsupported(op);
}

void shader_gemm_block_dot_plan(const struct kern_op *op, struct shader_work *out)
{
    const bool wide_y = op->tensors[op->input_count].type == DML_TENSOR_DATA_TYPE_INT32 && !op->epilogue;
    plan(op, SHADER_gemm_block_dot, FACTORS, wide_y, out);
}

void shader_gemm_block_dot_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                                 uint32_t *words)
{
    shader_gemm_block_write(op, index, places, words);
}
