/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels for attention. */
#include "shaders/attention/shader_attention.h"
#include "shaders/gemm/shader_tile.h"

#include "kernels/attention/attention.h"

static uint32_t lanes(const struct kern_op *op)
{
    uint32_t count = 1;
    while (count < op->tensors[2].sizes[3] && count < SHADER_GROUP_SIZE)
        count *= 2;
    return count;
}

/* A workgroup each: queries, times the chunks of V's columns. */
static uint64_t units(const struct kern_op *op)
{
    const struct kern_view *y = &op->tensors[op->input_count];
    return (uint64_t)y->sizes[0] * y->sizes[1] * y->sizes[2] * ((y->sizes[3] + lanes(op) - 1) / lanes(op));
}

const char *shader_attention_any_unsupported(const struct kern_op *op)
{
    return units(op) > UINT32_MAX ? "the shaders do not count that many elements" : shader_block_unsupported(op);
}

void shader_attention_any_plan(const struct kern_op *op, struct shader_work *out)
{
    shader_add(out, shader_real_variant(SHADER_attention, op), op, units(op), 1, sizeof(struct attention_params));
}

void shader_attention_write(const struct kern_op *op, uint64_t units, uint32_t parts, const struct shader_place *places,
                            uint32_t *words)
{
    const struct kern_attention *attention = &op->u.attention;
    struct attention_inputs in;
    attention_inputs_init(op, &in);
    const struct attention_params params = { .scale = attention->scale,
                                             .filter_by = attention->filter,
                                             .new_keys = attention->new_keys,
                                             .causal = attention->causal,
                                             .undefined = attention->undefined,
                                             .skips_masked = attention->filter == -INFINITY,
                                             .mask = in.mask,
                                             .keep = in.keep,
                                             .end = in.end,
                                             .start = in.start,
                                             .past = in.past,
                                             .parts = parts,
                                             .lanes = lanes(op) };
    shader_block_write(op, places, units, &params, sizeof(params), words);
}

void shader_attention_any_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                                uint32_t *words)
{
    shader_attention_write(op, units(op), 1, places, words);
}

void shader_attention_inputs(const struct kern_op *op, struct shader_dispatch *out)
{
    struct attention_inputs in;
    attention_inputs_init(op, &in);
    out->constants[INPUTS_CONSTANT] =
        INPUTS_KNOWN | in.mask | in.keep << 4 | in.end << 8 | in.start << 12 | in.past << 16;
    out->constant_count = INPUTS_CONSTANT + 1;
}

/* ---- many queries ---- */

enum { WIDTH_MAX = 128, QUERIES_MIN = 8, VECTOR = 4, SLICE = 4, TILE_SHARED_MAX = 32 << 10 };

/* Queries of a workgroup, and of an invocation; groups of invocations with their own keys, invocations that share
 * queries, keys that each of those processes at a time; minimum number of workgroups for the tile (tuning.def). */
struct attention_tile {
    uint32_t queries, side, groups, lanes, scores, least;
};

static const struct attention_tile tiles[] = {
#define ATTENTION_TILE(queries, side, groups, lanes, scores, least) { queries, side, groups, lanes, scores, least },
#define TILE(class, kind, m, n, k, least)
#define COOP_TILE(m, n, k, groups, least)
#define TUNE(name, value)
#include "shaders/tuning.def"
#undef TILE
#undef COOP_TILE
#undef TUNE
};

static uint64_t tiles_of(const struct kern_op *op, uint32_t rows)
{
    const struct kern_view *y = &op->tensors[op->input_count];
    return (uint64_t)y->sizes[0] * y->sizes[1] * ((y->sizes[2] + rows - 1) / rows);
}

const char *shader_attention_tile_unsupported(const struct kern_op *op)
{
    const struct kern_view *y = &op->tensors[op->input_count];
    if (shader_real_variant(SHADER_attention, op) != SHADER_attention)
        return "it has types of 64 bits";
    if (y->sizes[2] < QUERIES_MIN || y->sizes[3] > WIDTH_MAX)
        return "it has few queries, or wide values";
    return shader_attention_any_unsupported(op);
}

/* Vectors of V, the same number for each lane. */
static uint32_t width_of(const struct kern_op *op, const struct attention_tile *tile)
{
    const uint32_t width = (op->tensors[2].sizes[3] + VECTOR - 1) / VECTOR;
    return (width + tile->lanes - 1) / tile->lanes * tile->lanes;
}

static uint32_t tile_bytes(const struct kern_op *op, const struct attention_tile *tile)
{
    const uint32_t width = width_of(op, tile), keys = tile->groups * tile->lanes * tile->scores;
    const uint32_t values = tile->groups * 4 * SLICE * (width + tile->queries / 4 + 1);
    const uint32_t merged = tile->groups > 1 ? tile->queries * (width + 1) : 0;
    return BASE_MAX(BASE_MAX((tile->queries + keys) * SLICE, values), merged) * 16 +
           tile->groups * tile->queries * tile->lanes * 4;
}

static struct attention_tile choose_tile(const struct kern_op *op)
{
    const struct attention_tile *tile = tiles, *last = &tiles[ARRAY_SIZE(tiles) - 1];
    const enum shader_tile_kind kind = shader_tile_forced();
    while (tile < last && kind != SHADER_TILE_LARGE &&
           (kind == SHADER_TILE_WIDE || tiles_of(op, tile->queries) < tile->least))
        tile++;
    struct attention_tile chosen = *tile;
    while (tile_bytes(op, &chosen) > TILE_SHARED_MAX && chosen.groups > 1)
        chosen.groups /= 2;
    return chosen;
}

static uint32_t tile_flags(const struct kern_op *op)
{
    static const uint32_t wide[] = { TILE_WIDE_Q, TILE_WIDE_K, TILE_WIDE_V, TILE_WIDE_Y };
    uint32_t flags = 0;
    for (uint32_t i = 0; i < ARRAY_SIZE(wide); i++)
        if (shader_wide(&op->tensors[i < 3 ? i : op->input_count], 3, VECTOR))
            flags |= wide[i];
    return flags;
}

void shader_attention_tile_plan(const struct kern_op *op, struct shader_work *out)
{
    const struct attention_tile tile = choose_tile(op);
    struct shader_dispatch *dispatch =
        shader_add(out, SHADER_attention_tile, op, tiles_of(op, tile.queries), 1, sizeof(struct attention_params));
    shader_specialize(op, UINT64_MAX, dispatch); /* always: no other pipeline has these sizes */
    dispatch->constants[2] = tile.lanes << 24 | tile.groups << 16 | tile.side << 8 | tile.queries;
    dispatch->constants[3] = tile_flags(op) << 16 | width_of(op, &tile) << 8 | tile.scores;
    dispatch->constants[4] = tile.queries / tile.side * tile.lanes * tile.groups;
    shader_attention_inputs(op, dispatch);
}

void shader_attention_tile_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                                 uint32_t *words)
{
    shader_attention_write(op, tiles_of(op, choose_tile(op).queries), 1, places, words);
}

/* ---- many queries, with cooperative matrices ---- */

enum { MATRIX = 16, SUBGROUPS = 4, SHARED_MAX = 48 << 10, SHARED_MAX_PLAIN = 32 << 10 };

/* Of a workgroup, in matrices (attention_coop.comp). */
struct coop_shape {
    uint32_t depth, width, keys, sets;
    bool packs; /* weights on their way are FLOAT32 */
};

static uint32_t shared_bytes(const struct coop_shape *shape)
{
    const uint32_t sums = shape->packs ? 4 * shape->keys + 1 : BASE_MAX(2 * shape->keys + 1, 5);
    const uint32_t stage = MATRIX * sums + 8 + (shader_coop_is_plain() ? 32 * shape->depth : 0);
    const uint32_t tile = MATRIX * shape->keys * (2 * shape->depth + 1 + 2 * shape->width + 1);
    return (tile + 2 + SUBGROUPS * shape->sets * stage) * 16;
}

static struct coop_shape coop_shape(const struct kern_op *op)
{
    const uint32_t room = shader_coop_is_plain() ? SHARED_MAX_PLAIN : SHARED_MAX;
    const uint32_t depth = op->tensors[0].sizes[3], width = op->tensors[2].sizes[3];
    const enum shader_tile_kind kind = shader_tile_forced();
    struct coop_shape shape = { (depth + MATRIX - 1) / MATRIX, (width + MATRIX - 1) / MATRIX, 2, 1,
                                op->tensors[0].type != DML_TENSOR_DATA_TYPE_FLOAT16 };
    const bool narrow = shape.depth + shape.width <= 8; /* otherwise there are too few registers */
    if (narrow && (kind == SHADER_TILE_LARGE || tiles_of(op, 2 * MATRIX * SUBGROUPS) >= TUNE_ATTENTION_LARGE))
        shape.sets = 2;
    else if (narrow && kind == SHADER_TILE_CHOSEN && tiles_of(op, MATRIX * SUBGROUPS) <= TUNE_ATTENTION_FEW)
        shape.keys = 4;
    while (shared_bytes(&shape) > room && shape.keys > 1)
        shape.keys /= 2;
    if (shared_bytes(&shape) > room)
        shape.sets = 1;
    return shape;
}

static uint64_t coop_tiles(const struct kern_op *op)
{
    return tiles_of(op, MATRIX * SUBGROUPS * coop_shape(op).sets);
}

const char *shader_attention_coop_unsupported(const struct kern_op *op)
{
    const DML_TENSOR_DATA_TYPE type = op->tensors[0].type;
    if ((type != DML_TENSOR_DATA_TYPE_FLOAT16 && type != ANYDML_TENSOR_DATA_TYPE_BFLOAT16) ||
        op->tensors[1].type != type || op->tensors[2].type != type)
        return "no cooperative matrices for these data types";
    return op->tensors[0].sizes[3] > WIDTH_MAX ? "it has wide queries" : shader_attention_tile_unsupported(op);
}

static uint32_t coop_flags(const struct kern_op *op, const struct coop_shape *shape)
{
    static const uint32_t wide[] = { COOP_WIDE_Q, COOP_WIDE_K, COOP_WIDE_V, COOP_WIDE_Y };
    const struct kern_attention *attention = &op->u.attention;
    uint32_t flags = shape->sets > 1 ? COOP_TWO_SETS : 0;
    for (uint32_t i = 0; i < ARRAY_SIZE(wide); i++) {
        const struct kern_view *view = &op->tensors[i < 3 ? i : op->input_count];
        if (view->type == op->tensors[0].type && shader_coop_wide(view, 3))
            flags |= wide[i];
    }
    if (attention->has_mask || attention->has_keep || attention->has_end || attention->has_start ||
        !(attention->scale > 0))
        flags |= COOP_MASKED;
    return flags;
}

void shader_attention_coop_plan(const struct kern_op *op, struct shader_work *out)
{
    const bool half = op->tensors[0].type == DML_TENSOR_DATA_TYPE_FLOAT16;
    const struct coop_shape shape = coop_shape(op);
    enum shader_code code = half ? SHADER_attention_coop : SHADER_attention_coop_bfloat16;
    if (shader_coop_is_plain())
        code = half ? SHADER_attention_coop_plain : SHADER_attention_coop_plain_bfloat16;
    struct shader_dispatch *dispatch = shader_add(out, code, op, coop_tiles(op), 1, sizeof(struct attention_params));
    shader_specialize(op, UINT64_MAX, dispatch); /* always: no other pipeline has these sizes */
    dispatch->constants[2] = shape.depth;
    dispatch->constants[3] = shape.width;
    dispatch->constants[4] = shape.keys;
    dispatch->constants[5] = coop_flags(op, &shape);
    shader_attention_inputs(op, dispatch);
}

void shader_attention_coop_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                                 uint32_t *words)
{
    shader_attention_write(op, coop_tiles(op), 1, places, words);
}
