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
