/* SPDX-License-Identifier: Apache-2.0 */
/* Windows as columns and back. */
#include "shaders/core/shader_block.h"
#include "shaders/resample/fold_params.h"

#include "kernels/resample/resample.h"

_Static_assert(FOLD_MAX == KERN_FOLD_MAX, "dimensions of a window");

/* Shaders compute positions in and around the image in 32 bits. */
static bool pixels_fit(const struct kern_op *op)
{
    const struct kern_fold *fold = &op->u.fold;
    for (uint32_t d = 0; d < fold->spatial; d++)
        if ((uint64_t)fold->positions[d] * fold->strides[d] > INT32_MAX / 2 ||
            (uint64_t)fold->window[d] * fold->dilations[d] > INT32_MAX / 4 || fold->pad_start[d] > INT32_MAX / 4 ||
            fold->strides[d] > INT32_MAX || fold->dilations[d] > INT32_MAX)
            return false;
    return true;
}

const char *shader_fold_any_unsupported(const struct kern_op *op)
{
    const char *reason = shader_block_unsupported(op);
    if (reason)
        return reason;
    if (!kern_fold_any_ref_accepts(op))
        return "no shader for this data type";
    return pixels_fit(op) ? NULL : "the shaders do not count that many elements";
}

void shader_fold_any_plan(const struct kern_op *op, struct shader_work *out)
{
    const bool in_double = !op->u.fold.unfold && op->tensors[0].type == DML_TENSOR_DATA_TYPE_FLOAT64;
    shader_add(out, in_double ? SHADER_fold_f64 : SHADER_fold, op, kern_view_elements(&op->tensors[1]),
               SHADER_GROUP_SIZE, sizeof(struct fold_params));
}

void shader_fold_any_write(const struct kern_op *op, uint32_t index, const struct shader_place *places, uint32_t *words)
{
    const struct kern_fold *fold = &op->u.fold;
    struct fold_params params = { fold->unfold, fold->spatial, (uint32_t)fold_taps(fold), { 0 } };
    for (uint32_t d = 0; d < fold->spatial; d++) {
        params.window[d] = (int)fold->window[d];
        params.steps[d] = (int)fold->strides[d];
        params.dilations[d] = (int)fold->dilations[d];
        params.pad[d] = (int)fold->pad_start[d];
        params.positions[d] = (int)fold->positions[d];
    }
    shader_block_write(op, places, kern_view_elements(&op->tensors[1]), &params, sizeof(params), words);
}

/* ---- columns of images, in vectors of positions ---- */

#define VECTOR 4 /* positions */

const char *shader_unfold_unsupported(const struct kern_op *op)
{
    const struct kern_fold *fold = &op->u.fold;
    const uint64_t bytes = kern_type_bytes(op->tensors[0].type);
    const char *reason = shader_fold_any_unsupported(op);
    if (reason)
        return reason;
    if (!fold->unfold || fold->spatial > 2)
        return "no shader for such windows";
    return bytes != 2 && bytes != 4 ? "no shader for this data type" : NULL;
}

static uint64_t unfold_units(const struct kern_op *op)
{
    const struct kern_view *columns = &op->tensors[1];
    return (uint64_t)columns->sizes[0] * columns->sizes[1] * ((columns->sizes[2] + VECTOR - 1) / VECTOR);
}

void shader_unfold_plan(const struct kern_op *op, struct shader_work *out)
{
    struct shader_dispatch *dispatch =
        shader_add(out, SHADER_unfold, op, unfold_units(op), SHADER_GROUP_SIZE, sizeof(struct unfold_params));
    dispatch->constants[2] = kern_type_bytes(op->tensors[0].type) == 2;
    dispatch->constants[3] = shader_wide(&op->tensors[1], 2, VECTOR);
    dispatch->constant_count = 4;
}

void shader_unfold_write(const struct kern_op *op, uint32_t index, const struct shader_place *places, uint32_t *words)
{
    const struct kern_fold *fold = &op->u.fold;
    const struct kern_view *image = &op->tensors[0], *columns = &op->tensors[1];
    const uint32_t missing = 2 - fold->spatial;
    struct unfold_params params = { .in_sizes = { 1, 1 }, .positions = columns->sizes[2] };
    uint32_t window[2] = { 1, 1 }, positions[2] = { 1, 1 };
    (void)index; /* there is one */
    for (uint32_t d = 0; d < fold->spatial; d++) {
        params.in_sizes[missing + d] = (int)image->sizes[2 + d];
        params.steps[missing + d] = (int)fold->strides[d];
        params.dilations[missing + d] = (int)fold->dilations[d];
        params.pad[missing + d] = (int)fold->pad_start[d];
        params.x[2 + missing + d] = (int)image->strides[2 + d];
        window[missing + d] = fold->window[d];
        positions[missing + d] = fold->positions[d];
    }
    for (uint32_t d = 0; d < 2; d++)
        params.x[d] = (int)image->strides[d];
    for (uint32_t d = 0; d < 3; d++)
        params.y[d] = (int)columns->strides[d];
    params.by_vectors = shader_divisor((columns->sizes[2] + VECTOR - 1) / VECTOR);
    params.by_rows = shader_divisor(columns->sizes[1]);
    params.by_taps = shader_divisor(window[0] * window[1]);
    params.by_window = shader_divisor(window[1]);
    params.by_columns = shader_divisor(positions[1]);
    shader_block_write(op, places, unfold_units(op), &params, sizeof(params), words);
}
