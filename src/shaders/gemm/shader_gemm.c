/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels for GEMM. */
#include "shaders/core/shader_block.h"
#include "shaders/gemm/gemm_params.h"
#include "shaders/gemm/shader_tile.h"

#include "kernels/core/kernel.h"

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

/* ---- GEMM ---- */

static const char *gemm_unsupported(const struct kern_op *op)
{
    const char *reason = shader_size_unsupported(op);
    return reason ? reason : kern_gemm_any_ref_accepts(op) ? NULL : no_types;
}

const char *shader_gemm_any_unsupported(const struct kern_op *op)
{
    const char *reason = shader_block_unsupported(op);
    return reason ? reason : gemm_unsupported(op);
}

const char *shader_gemm_single_unsupported(const struct kern_op *op)
{
    const char *reason = gemm_unsupported(op);
    return reason ? reason : has_double(op) ? no_types : shader_epilogue_unsupported(op);
}

void shader_gemm_any_plan(const struct kern_op *op, struct shader_work *out)
{
    struct shader_dispatch *dispatch = shader_add(out, has_double(op) ? SHADER_gemm_any_f64 : SHADER_gemm_any, op,
                                                  result_elements(op), SHADER_GROUP_SIZE, sizeof(struct gemm_params));
    dispatch->constants[dispatch->constant_count++] = op->u.gemm.integer;
}

static struct gemm_params gemm_parameters(const struct kern_op *op)
{
    const struct kern_gemm *gemm = &op->u.gemm;
    struct gemm_params params = { gemm->alpha, gemm->beta, -1, -1, -1 };
    if (!gemm->integer && gemm->has_c && gemm->beta != 0)
        params.c = 2;
    if (gemm->integer && gemm->has_a_zero)
        params.a_zero = 2;
    if (gemm->integer && gemm->has_b_zero)
        params.b_zero = 2 + gemm->has_a_zero;
    return params;
}

void shader_gemm_any_write(const struct kern_op *op, uint32_t index, const struct shader_place *places, uint32_t *words)
{
    const struct gemm_params params = gemm_parameters(op);
    shader_block_write(op, places, result_elements(op), &params, sizeof(params), words);
}

const char *shader_gemm_tile_unsupported(const struct kern_op *op)
{
    const char *reason = shader_gemm_single_unsupported(op);
    const struct kern_view *a = &op->tensors[0], *y = &op->tensors[op->input_count];
    if (reason)
        return reason;
    return a->sizes[a->rank - 1] < TUNE_TILE_DEPTH_MIN ||
                   (uint64_t)y->sizes[y->rank - 2] * y->sizes[y->rank - 1] < TUNE_TILE_ELEMENTS_MIN
               ? "the GEMM is too small"
               : NULL;
}

static int64_t stride(const struct kern_view *view, uint32_t from_last)
{
    return view->strides[view->rank - from_last];
}

struct tile_params shader_gemm_tile_params(const struct kern_op *op)
{
    const struct kern_view *a = &op->tensors[0], *b = &op->tensors[1], *y = &op->tensors[op->input_count];
    const struct gemm_params gemm = gemm_parameters(op);
    struct tile_params params = { .m = y->sizes[y->rank - 2],
                                  .n = y->sizes[y->rank - 1],
                                  .k = a->sizes[a->rank - 1],
                                  .a_along_k = shader_tile_closer(stride(a, 1), stride(a, 2)),
                                  .b_along_k = shader_tile_closer(stride(b, 2), stride(b, 1)),
                                  .y_along_m = shader_tile_closer(stride(y, 2), stride(y, 1)),
                                  .alpha = gemm.alpha,
                                  .beta = gemm.beta,
                                  .c = gemm.c,
                                  .a_zero = gemm.a_zero,
                                  .b_zero = gemm.b_zero };
    params.batches = (uint32_t)(result_elements(op) / ((uint64_t)params.m * params.n));
    return params;
}

static struct tile_params gemm_tiles(const struct kern_op *op, enum shader_tile_class class)
{
    struct tile_params params = shader_gemm_tile_params(op);
    shader_tile_cut(op, class, &params);
    return params;
}

void shader_gemm_tile_plan(const struct kern_op *op, struct shader_work *out)
{
    static const struct tile_codes codes = { SHADER_gemm_tile, SHADER_gemm_tile_large, SHADER_gemm_tile_wide,
                                             SHADER_gemm_tile_int, SHADER_gemm_tile_int_wide };
    const struct tile_params params = gemm_tiles(op, shader_tile_class(op));
    shader_tile_add(op, &codes, &params, sizeof(params), out);
}

void shader_gemm_tile_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                            uint32_t *words)
{
    const struct tile_params params = gemm_tiles(op, shader_tile_class(op));
    shader_tile_write(op, index, places, &params, sizeof(params), words);
}

/* ---- 8-bit GEMM by integer dot products ---- */

const char *shader_gemm_dot_unsupported(const struct kern_op *op)
{
    return op->u.gemm.integer ? shader_gemm_tile_unsupported(op) : no_types;
}

void shader_gemm_dot_plan(const struct kern_op *op, struct shader_work *out)
{
    static const struct tile_codes codes = { .integer = SHADER_gemm_dot, .integer_wide = SHADER_gemm_dot_wide };
    const struct tile_params params = gemm_tiles(op, SHADER_TILES_INTEGER);
    shader_tile_add(op, &codes, &params, sizeof(params), out);
}

void shader_gemm_dot_write(const struct kern_op *op, uint32_t index, const struct shader_place *places, uint32_t *words)
{
    shader_gemm_tile_write(op, index, places, words);
}

/* ---- GEMM with cooperative matrices ---- */

const char *shader_gemm_coop_unsupported(const struct kern_op *op)
{
    const char *reason = shader_gemm_single_unsupported(op);
    const struct kern_view *a = &op->tensors[0], *y = &op->tensors[op->input_count];
    return reason ? reason
                  : shader_coop_unsupported(op, y->sizes[y->rank - 2], y->sizes[y->rank - 1], a->sizes[a->rank - 1]);
}

void shader_gemm_coop_plan(const struct kern_op *op, struct shader_work *out)
{
    static const struct coop_codes codes = { SHADER_gemm_coop, SHADER_gemm_coop_bfloat16, SHADER_gemm_coop_plain };
    const struct kern_view *a = &op->tensors[0], *b = &op->tensors[1], *y = &op->tensors[op->input_count];
    struct tile_params params = shader_gemm_tile_params(op);
    const struct coop_tile *tile = shader_coop_cut(op, &params);
    const struct coop_wide wide = { shader_coop_wide(a, a->rank - (params.a_along_k ? 1 : 2)),
                                    shader_coop_wide(b, b->rank - (params.b_along_k ? 2 : 1)),
                                    shader_coop_wide(y, y->rank - 1) };
    shader_coop_add_tile(op, &codes, tile, &params, wide, sizeof(params), out);
}

void shader_gemm_coop_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                            uint32_t *words)
{
    struct tile_params params = shader_gemm_tile_params(op);
    shader_coop_cut(op, &params);
    shader_tile_write(op, index, places, &params, sizeof(params), words);
}
