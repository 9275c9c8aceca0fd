/* SPDX-License-Identifier: Apache-2.0 */
/* GEMM with few rows or columns: bound by reading the large matrix, which is read once. */
#include "shaders/gemm/shader_tile.h"

#include "kernels/core/number.h"

#define LINES_MAX 4 /* as in gemm_vec.comp and gemm_line.comp */

static uint32_t lines(const struct kern_op *op)
{
    const struct kern_view *y = &op->tensors[op->input_count];
    return BASE_MIN(y->sizes[y->rank - 2], y->sizes[y->rank - 1]);
}

static const char *lines_unsupported(const struct kern_op *op)
{
    const char *reason = shader_gemm_single_unsupported(op);
    return reason ? reason : lines(op) > LINES_MAX ? "it has too many rows and columns" : NULL;
}

const char *shader_gemm_vec_unsupported(const struct kern_op *op)
{
    const struct kern_view *a = &op->tensors[0];
    const char *reason = lines_unsupported(op);
    return reason ? reason : a->sizes[a->rank - 1] < TUNE_VEC_DEPTH_MIN ? "its sums are short" : NULL;
}

static struct vec_params parameters(const struct kern_op *op)
{
    struct vec_params params = { .tile = shader_gemm_tile_params(op), .lines = lines(op) };
    const struct tile_params *tile = &params.tile;
    params.small = tile->m > params.lines;
    params.columns = params.small ? tile->m : tile->n;
    params.along_k = params.small ? tile->a_along_k : tile->b_along_k;
    return params;
}

/* By workgroups of this many columns each. */
static void cut(const struct kern_op *op, uint32_t columns, struct vec_params *params)
{
    params->tile.tiles_m = 1;
    params->tile.tiles_n = (params->columns + columns - 1) / columns;
    shader_tile_cut_depth(op, &params->tile);
}

static struct vec_params vec_parameters(const struct kern_op *op)
{
    struct vec_params params = parameters(op);
    params.slices = params.along_k ? TUNE_VEC_SLICES_ALONG_K : TUNE_VEC_SLICES;
    cut(op, SHADER_GROUP_SIZE / params.slices, &params);
    return params;
}

void shader_gemm_vec_plan(const struct kern_op *op, struct shader_work *out)
{
    static const struct tile_codes codes = { SHADER_gemm_vec, SHADER_gemm_vec, SHADER_gemm_vec, SHADER_gemm_vec_int,
                                             SHADER_gemm_vec_int };
    const struct vec_params params = vec_parameters(op);
    shader_tile_add(op, &codes, &params.tile, sizeof(params), out);
}

void shader_gemm_vec_write(const struct kern_op *op, uint32_t index, const struct shader_place *places, uint32_t *words)
{
    const struct vec_params params = vec_parameters(op);
    shader_tile_write(op, index, places, &params.tile, sizeof(params), words);
}

/* ---- by vectors of 16 bytes (gemm_line.comp) ---- */

#define VECTOR_BYTES 16
#define LOADS_MAX    8 /* UNROLL_MAX */

/* Workgroups, if this many invocations share a sum. */
static uint64_t line_groups(const struct vec_params *params, uint32_t group_size, uint32_t slices, uint32_t vector)
{
    const uint32_t columns = group_size / slices * (params->along_k ? 1 : vector);
    return (uint64_t)((params->columns + columns - 1) / columns) * params->tile.batches;
}

/* More invocations share a sum if there would be too few workgroups, as long as each has two vectors. Only the longest
 * sums are computed in parts, which take a second dispatch. */
static struct vec_params line_parameters(const struct kern_op *op, uint32_t group_size)
{
    struct vec_params params = parameters(op);
    const uint32_t vector = VECTOR_BYTES / kern_type_bytes(op->tensors[0].type);
    const uint32_t steps = params.along_k ? (params.tile.k + vector - 1) / vector : params.tile.k;
    const uint32_t least = params.along_k ? TUNE_LINE_SLICES_ALONG_K : group_size / TUNE_LINE_ACROSS;
    params.slices = params.along_k ? 1 : vector; /* an invocation for each column adds them up */
    while (params.slices < least && params.slices < steps)
        params.slices *= 2;
    while (params.slices < group_size && params.slices * 2 < steps &&
           line_groups(&params, group_size, params.slices, vector) < TUNE_LINE_WORKGROUPS)
        params.slices *= 2;
    cut(op, group_size / params.slices * (params.along_k ? 1 : vector), &params);
    if (line_groups(&params, group_size, params.slices, vector) >= TUNE_LINE_WORKGROUPS ||
        steps / params.slices <= TUNE_LINE_LOADS_MAX) {
        params.tile.splits = 1;
        params.tile.depth = params.tile.k;
    }
    return params;
}

static uint64_t large_elements(const struct vec_params *params)
{
    return (uint64_t)params->columns * params->tile.k * params->tile.batches;
}

const char *shader_gemm_line_any_unsupported(const struct kern_op *op)
{
    const char *reason = lines_unsupported(op);
    if (reason)
        return reason;
    const struct vec_params params = parameters(op);
    if (kern_type_class(op->tensors[0].type) != KERN_CLASS_FLOAT || op->tensors[0].type != op->tensors[1].type ||
        (params.tile.c >= 0 && (kern_type_class(op->tensors[params.tile.c].type) != KERN_CLASS_FLOAT ||
                                kern_type_bytes(op->tensors[params.tile.c].type) > 4)))
        return "no shader for these data types";
    const struct kern_view *large = &op->tensors[1 - params.small];
    const bool last = params.small ? params.along_k : !params.along_k; /* dimension of adjacent elements */
    return large->strides[large->rank - (last ? 1 : 2)] == 1 ? NULL : "its elements are not contiguous";
}

const char *shader_gemm_line_unsupported(const struct kern_op *op)
{
    const char *reason = shader_gemm_vec_unsupported(op);
    if (!reason)
        reason = shader_gemm_line_any_unsupported(op);
    if (reason)
        return reason;
    const struct vec_params params = parameters(op);
    return shader_specializes(op, large_elements(&params)) ? NULL : "the GEMM is too small";
}

static void line_plan(const struct kern_op *op, enum shader_code code, uint32_t group_size, struct shader_work *out)
{
    const struct vec_params params = line_parameters(op, group_size);
    const uint32_t vector = VECTOR_BYTES / kern_type_bytes(op->tensors[0].type);
    const uint32_t depth = BASE_MIN(params.tile.depth, params.tile.k), step = params.along_k ? vector : 1;
    struct shader_dispatch *dispatch = &out->dispatches[0];
    shader_tile_add_code(op, code, &params.tile, sizeof(params), out);
    if (!dispatch->constants[0] && !dispatch->constants[1])
        shader_specialize(op, large_elements(&params) * TUNE_LINE_SHARE, dispatch);
    dispatch->constants[2] = params.lines;
    dispatch->constants[3] = params.along_k;
    dispatch->constants[4] = params.slices;
    dispatch->constants[5] = 1; /* loads at a time */
    while (dispatch->constants[5] < LOADS_MAX && dispatch->constants[5] * params.slices * step < depth)
        dispatch->constants[5] *= 2;
    dispatch->constant_count = BASE_MAX(dispatch->constant_count, 6);
}

void shader_gemm_line_plan(const struct kern_op *op, struct shader_work *out)
{
    line_plan(op, SHADER_gemm_line, SHADER_GROUP_SIZE, out);
}

void shader_gemm_line_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                            uint32_t *words)
{
    const struct vec_params params = line_parameters(op, SHADER_GROUP_SIZE);
    shader_tile_write(op, index, places, &params.tile, sizeof(params), words);
}

/* The same with more invocations, for long sums: more loads are in flight at once. */

const char *shader_gemm_line_wide_unsupported(const struct kern_op *op)
{
    const char *reason = shader_gemm_line_unsupported(op);
    if (reason)
        return reason;
    const struct kern_view *a = &op->tensors[0];
    return a->sizes[a->rank - 1] < TUNE_WIDE_DEPTH_MIN && !shader_much(1) ? "its sums are short" : NULL;
}

void shader_gemm_line_wide_plan(const struct kern_op *op, struct shader_work *out)
{
    line_plan(op, SHADER_gemm_line_wide, GEMM_WIDE_GROUP, out);
}

void shader_gemm_line_wide_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                                 uint32_t *words)
{
    const struct vec_params params = line_parameters(op, GEMM_WIDE_GROUP);
    shader_tile_write(op, index, places, &params.tile, sizeof(params), words);
}
