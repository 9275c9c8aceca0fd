/* SPDX-License-Identifier: Apache-2.0 */
/* Large FLOAT16 products with cooperative matrices whose factors are packed first (tile_pack.glsl, tile_packed.glsl).
 */
#include "shaders/gemm/shader_tile.h"

#define BLOCK       64 /* lines and elements along k that a workgroup packs */
#define SCRATCH_MAX (UINT64_C(1) << 30)

static const struct coop_tile tile = { 128, 128, 32, 1, 0 };

static bool forced;

void shader_gemm_packed_force(bool value)
{
    forced = value;
}

static uint32_t count(uint64_t size, uint64_t part)
{
    return (uint32_t)((size + part - 1) / part);
}

static struct tile_params params_of(const struct kern_op *op)
{
    struct tile_params params = shader_gemm_tile_params(op);
    params.tiles_m = count(params.m, tile.m);
    params.tiles_n = count(params.n, tile.n);
    params.splits = 1;
    params.depth = params.k;
    return params;
}

/* Workgroups that pack. */
static uint64_t blocks(const struct tile_params *params)
{
    return (uint64_t)params->batches * (params->tiles_m + params->tiles_n) * (tile.m / BLOCK) * count(params->k, BLOCK);
}

const char *shader_gemm_packed_coop_obstacle(const struct kern_op *op)
{
    const char *obstacle = shader_gemm_coop_obstacle(op);
    if (obstacle)
        return obstacle;
    if (op->tensors[0].type != DML_TENSOR_DATA_TYPE_FLOAT16)
        return "there is no shader for it in these types";
    const struct tile_params params = params_of(op);
    if (blocks(&params) * BLOCK * BLOCK * 2 > SCRATCH_MAX)
        return "the product is large";
    const uint32_t least = BASE_MIN(BASE_MIN(params.m, params.n), params.k);
    return least < TUNE_PACKED_SIDE_MIN && !forced ? "the product is small" : NULL;
}

void shader_gemm_packed_coop_plan(const struct kern_op *op, struct shader_work *out)
{
    static const struct coop_codes codes = { SHADER_gemm_packed, SHADER_gemm_packed, SHADER_gemm_packed_plain };
    const struct kern_view *a = &op->tensors[0], *b = &op->tensors[1], *y = &op->tensors[op->input_count];
    const struct tile_params params = params_of(op);
    const struct coop_wide wide = { shader_coop_wide(a, a->rank - (params.a_along_k ? 1 : 2)),
                                    shader_coop_wide(b, b->rank - (params.b_along_k ? 2 : 1)),
                                    shader_coop_wide(y, y->rank - 1) };
    struct shader_dispatch *pack = shader_add(out, shader_coop_is_plain() ? SHADER_gemm_pack_plain : SHADER_gemm_pack,
                                              op, blocks(&params), 1, sizeof(params));
    shader_coop_add_tile(op, &codes, &tile, &params, wide, sizeof(params), out);
    memcpy(pack->constants + 2, out->dispatches[1].constants + 2, 3 * sizeof(*pack->constants));
    pack->constant_count = 5;
    out->scratch_bytes = blocks(&params) * BLOCK * BLOCK * 2;
}

void shader_gemm_packed_coop_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                                   uint32_t *words)
{
    const struct tile_params params = params_of(op);
    if (index)
        shader_tile_write(op, 0, places, &params, sizeof(params), words);
    else
        shader_block_write(op, places, blocks(&params), &params, sizeof(params), words);
}
