/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by kernels for tiled GEMM with cooperative matrices (tile_matrix.glsl). */
#include "shaders/gemm/shader_tile.h"

#define VECTOR 8 /* elements */

static const struct coop_tile tiles[] = {
#define TILE(class, kind, m, n, k, least)
#define COOP_TILE(m, n, k, groups, least) { m, n, k, groups, least },
#define TUNE(name, value)
#include "shaders/tuning.def"
#undef TILE
#undef COOP_TILE
#undef TUNE
};

static bool plain;
static uint32_t forced, forced_splits;

void shader_coop_force(uint32_t tile, uint32_t splits)
{
    forced = tile;
    forced_splits = splits;
}

uint32_t shader_coop_tiles(void)
{
    return ARRAY_SIZE(tiles);
}

void shader_coop_plain(bool value)
{
    plain = value;
}

bool shader_coop_is_plain(void)
{
    return plain;
}

const char *shader_coop_unsupported(const struct kern_op *op, uint64_t m, uint64_t n, uint64_t k)
{
    const DML_TENSOR_DATA_TYPE type = op->tensors[0].type;
    if ((type != DML_TENSOR_DATA_TYPE_FLOAT16 && type != ANYDML_TENSOR_DATA_TYPE_BFLOAT16) ||
        op->tensors[1].type != type)
        return "no cooperative matrices for these data types";
    return k < TUNE_COOP_DEPTH_MIN || m < TUNE_COOP_LINES_MIN || n < TUNE_COOP_LINES_MIN ||
                   m * n < TUNE_COOP_RESULTS_MIN
               ? "the GEMM is too small"
               : NULL;
}

bool shader_coop_wide(const struct kern_view *view, uint32_t along)
{
    return shader_wide(view, along, VECTOR);
}

enum shader_code shader_coop_code(const struct kern_op *op, const struct coop_codes *codes)
{
    const bool is_half = op->tensors[0].type == DML_TENSOR_DATA_TYPE_FLOAT16;
    return plain ? codes->plain : is_half ? codes->half_precision : codes->bfloat16;
}

static uint32_t count(uint32_t size, uint32_t tile)
{
    return (size + tile - 1) / tile;
}

static uint64_t tiles_of(const struct tile_params *params, const struct coop_tile *tile)
{
    return (uint64_t)count(params->m, tile->m) * count(params->n, tile->n) * params->batches;
}

/* Elements of all tiles, including those outside of the result. */
static uint64_t area(const struct tile_params *params, const struct coop_tile *tile)
{
    return tiles_of(params, tile) * tile->m * tile->n;
}

static const struct coop_tile *choose(const struct kern_op *op, const struct tile_params *params)
{
    const struct coop_tile *last = &tiles[ARRAY_SIZE(tiles) - 1], *tile = tiles;
    if (forced)
        return &tiles[(forced - 1) % ARRAY_SIZE(tiles)];
    if (op->tile)
        return &tiles[BASE_MIN(op->tile, ARRAY_SIZE(tiles)) - 1];
    while (tile < last && (tiles_of(params, tile) < tile->least || area(params, tile) * 4 > area(params, last) * 5))
        tile++;
    return tile;
}

const struct coop_tile *shader_coop_cut(const struct kern_op *op, struct tile_params *params)
{
    const struct coop_tile *tile = choose(op, params);
    const uint64_t splits =
        BASE_MIN(shader_multiprocessors(op) / tiles_of(params, tile), params->k / TUNE_COOP_SPLIT_MIN);
    params->tiles_m = count(params->m, tile->m);
    params->tiles_n = count(params->n, tile->n);
    shader_tile_split(op, forced ? forced_splits : splits, TUNE_SPLITS_MAX, params);
    return tile;
}

void shader_coop_add_tile(const struct kern_op *op, const struct coop_codes *codes, const struct coop_tile *tile,
                          const struct tile_params *params, struct coop_wide wide, size_t parameter_bytes,
                          struct shader_work *out)
{
    const bool one_type = op->tensors[op->input_count].type == op->tensors[0].type;
    const bool two_along_m = tile->groups == 1 || (tile->groups == 2 && tile->m >= tile->n);
    const bool two_along_n = tile->groups == 1 || (tile->groups == 2 && tile->m < tile->n);
    struct shader_dispatch *dispatch = &out->dispatches[0];
    shader_tile_add_code(op, shader_coop_code(op, codes), params, parameter_bytes, out);
    dispatch->constants[2] = tile->m / 32 | tile->n / 32 << 8 | (uint32_t)wide.a << 16 | (uint32_t)wide.b << 17 |
                             (uint32_t)(wide.y && one_type && params->splits == 1) << 18 | (uint32_t)two_along_m << 19 |
                             (uint32_t)two_along_n << 21 | tile->k / 32 << 24;
    dispatch->constants[3] = !params->a_along_k;
    dispatch->constants[4] = params->b_along_k;
    dispatch->constant_count = BASE_MAX(dispatch->constant_count, 5);
}

void shader_coop_add(const struct kern_op *op, const struct coop_codes *codes, const struct tile_params *params,
                     struct coop_wide wide, size_t parameter_bytes, struct shader_work *out)
{
    const struct tile_size *size = shader_tile_choose(SHADER_TILES_COOP, params);
    const struct coop_tile tile = { size->m, size->n, size->k, 1, size->least };
    shader_coop_add_tile(op, codes, &tile, params, wide, parameter_bytes, out);
}
