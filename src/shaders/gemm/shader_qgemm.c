/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels for GEMM with quantised weights, which are read directly. */
#include "shaders/gemm/qgemm_params.h"
#include "shaders/gemm/shader_tile.h"

#include "kernels/core/kernel.h"
#include "kernels/gemm/qgemm.h"

static const char no_types[] = "no shader for these data types";

static uint64_t result_elements(const struct kern_op *op)
{
    return kern_view_elements(&op->tensors[op->input_count]);
}

static bool has_double(const struct kern_op *op)
{
    return op->tensors[0].type == DML_TENSOR_DATA_TYPE_FLOAT64 ||
           op->tensors[op->input_count].type == DML_TENSOR_DATA_TYPE_FLOAT64;
}

static struct qgemm_params parameters(const struct kern_op *op)
{
    struct qgemm_shape shape;
    qgemm_shape_init(op, &shape);
    return (struct qgemm_params){ shape.k,     shape.block,           shape.groups,
                                  shape.depth, shape.nibbles ? 8 : 4, op->u.qgemm.has_zero ? 3 : -1 };
}

/* ---- any ---- */

const char *shader_qgemm_any_unsupported(const struct kern_op *op)
{
    const char *reason = shader_block_unsupported(op);
    return reason ? reason : kern_qgemm_any_ref_accepts(op) ? NULL : no_types;
}

void shader_qgemm_any_plan(const struct kern_op *op, struct shader_work *out)
{
    shader_add(out, has_double(op) ? SHADER_qgemm_any_f64 : SHADER_qgemm_any, op, result_elements(op),
               SHADER_GROUP_SIZE, sizeof(struct qgemm_params));
}

void shader_qgemm_any_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                            uint32_t *words)
{
    const struct qgemm_params params = parameters(op);
    shader_block_write(op, places, result_elements(op), &params, sizeof(params), words);
}

/* ---- few rows, and many ---- */

#define LINES_MAX 4

static const char *unsupported(const struct kern_op *op)
{
    const char *found = shader_size_unsupported(op);
    if (found)
        return found;
    return !kern_qgemm_any_ref_accepts(op) || has_double(op) ? no_types : shader_epilogue_unsupported(op);
}

static struct qgemm_tile_params tiles(const struct kern_op *op)
{
    const struct kern_view *x = &op->tensors[0], *y = &op->tensors[op->input_count];
    struct qgemm_tile_params params = { .qgemm = parameters(op) };
    const uint32_t n = y->sizes[y->rank - 1];
    params.tile = (struct tile_params){ .m = (uint32_t)(result_elements(op) / n),
                                        .n = n,
                                        .k = params.qgemm.k,
                                        .batches = 1,
                                        .a_along_k = x->strides[x->rank - 1] == 1,
                                        .alpha = 1,
                                        .c = -1,
                                        .a_zero = -1,
                                        .b_zero = -1 };
    params.words = params.qgemm.depth / params.qgemm.word;
    params.by_block = shader_divisor(params.qgemm.block);
    params.by_words = shader_divisor(params.words);
    return params;
}

const char *shader_qgemm_vec_unsupported(const struct kern_op *op)
{
    const struct kern_view *y = &op->tensors[op->input_count];
    const char *found = unsupported(op);
    if (found)
        return found;
    return result_elements(op) / y->sizes[y->rank - 1] > TUNE_QGEMM_FEW_ROWS ? "it has too many rows" : NULL;
}

static uint32_t lines(const struct tile_params *tile)
{
    return BASE_MIN(tile->m == 3 ? 4 : tile->m, LINES_MAX);
}

static struct qgemm_tile_params vec_tiles(const struct kern_op *op)
{
    struct qgemm_tile_params params = tiles(op);
    struct tile_params *tile = &params.tile;
    tile->tiles_m = (tile->m + lines(tile) - 1) / lines(tile);
    tile->tiles_n = (tile->n + KERN_QGEMM_COLUMNS - 1) / KERN_QGEMM_COLUMNS;
    shader_tile_cut_depth(op, tile);
    params.split_words = (params.qgemm.groups * params.words + tile->splits - 1) / tile->splits;
    return params;
}

static void vec_plan(const struct kern_op *op, enum shader_code code, struct shader_work *out)
{
    const struct qgemm_tile_params params = vec_tiles(op);
    struct shader_dispatch *dispatch = &out->dispatches[0];
    shader_tile_add_code(op, code, &params.tile, sizeof(params), out);
    dispatch->constants[2] = lines(&params.tile);
    dispatch->constants[3] = params.qgemm.word == 8;
    dispatch->constants[4] = op->u.qgemm.has_zero;
    dispatch->constant_count = BASE_MAX(dispatch->constant_count, 5);
}

void shader_qgemm_vec_plan(const struct kern_op *op, struct shader_work *out)
{
    vec_plan(op, SHADER_qgemm_vec, out);
}

void shader_qgemm_vec_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                            uint32_t *words)
{
    const struct qgemm_tile_params params = vec_tiles(op);
    shader_tile_write(op, index, places, &params.tile, sizeof(params), words);
}

/* The same with more invocations, for long sums: more loads are in flight at once if there are few workgroups. */

const char *shader_qgemm_vec_wide_unsupported(const struct kern_op *op)
{
    const char *found = shader_qgemm_vec_unsupported(op);
    if (found || shader_much(1))
        return found;
    const struct qgemm_tile_params params = vec_tiles(op);
    if (params.tile.k < TUNE_WIDE_DEPTH_MIN || params.tile.tiles_n * params.tile.tiles_m > TUNE_WIDE_GROUPS_MAX)
        return "its sums are short or many";
    return NULL;
}

void shader_qgemm_vec_wide_plan(const struct kern_op *op, struct shader_work *out)
{
    vec_plan(op, SHADER_qgemm_vec_wide, out);
}

void shader_qgemm_vec_wide_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                                 uint32_t *words)
{
    shader_qgemm_vec_write(op, index, places, words);
}

const char *shader_qgemm_tile_unsupported(const struct kern_op *op)
{
    const char *found = unsupported(op);
    return found ? found : result_elements(op) < TUNE_TILE_ELEMENTS_MIN ? "the GEMM is too small" : NULL;
}

static struct qgemm_tile_params many_tiles(const struct kern_op *op)
{
    struct qgemm_tile_params params = tiles(op);
    shader_tile_cut(op, SHADER_TILES_FLOAT, &params.tile);
    return params;
}

void shader_qgemm_tile_plan(const struct kern_op *op, struct shader_work *out)
{
    static const struct tile_codes codes = { .plain = SHADER_qgemm_tile,
                                             .large = SHADER_qgemm_tile_large,
                                             .wide = SHADER_qgemm_tile_wide };
    const struct qgemm_tile_params params = many_tiles(op);
    shader_tile_add(op, &codes, &params.tile, sizeof(params), out);
}

void shader_qgemm_tile_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                             uint32_t *words)
{
    const struct qgemm_tile_params params = many_tiles(op);
    shader_tile_write(op, index, places, &params.tile, sizeof(params), words);
}
