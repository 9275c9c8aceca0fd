/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels for resampling. */
#include "shaders/core/shader_block.h"
#include "shaders/resample/resample_params.h"

#include "kernels/resample/resample.h"

_Static_assert(sizeof(struct resample_list) == 12, "resample.comp has this size");

static uint64_t table_bytes(const struct kern_op *op)
{
    uint64_t bytes = 0;
    for (uint32_t d = 0; d < op->tensors[1].rank; d++)
        bytes += resample_table_bytes(op, d);
    return bytes;
}

/* Nearest, forward: bits are copied, of any type. */
static bool copies(const struct kern_op *op)
{
    return op->u.resample.mode == DML_INTERPOLATION_MODE_NEAREST_NEIGHBOR && !op->u.resample.transposed;
}

const char *shader_resample_any_unsupported(const struct kern_op *op)
{
    if (table_bytes(op) > INT32_MAX)
        return "the shaders do not count that many weights";
    return shader_block_unsupported(op);
}

void shader_resample_any_plan(const struct kern_op *op, struct shader_work *out)
{
    const bool wide = op->tensors[0].type == DML_TENSOR_DATA_TYPE_FLOAT64 && !copies(op);
    struct shader_dispatch *dispatch =
        shader_add(out, wide ? SHADER_resample_f64 : SHADER_resample, op, kern_view_elements(&op->tensors[1]),
                   SHADER_GROUP_SIZE, sizeof(struct resample_params));
    dispatch->parameter_words += (uint32_t)(table_bytes(op) / 4);
}

void shader_resample_any_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                               uint32_t *words)
{
    struct resample_params params = { .copies = copies(op) };
    uint32_t at = sizeof(struct shader_header) + sizeof(params) + 2 * sizeof(struct shader_view);
    for (uint32_t d = 0; d < op->tensors[1].rank; d++) {
        struct resample_table table;
        params.tables[d] = at;
        resample_table_init(op, d, words + at / 4, &table);
        at += (uint32_t)resample_table_bytes(op, d);
    }
    shader_block_write(op, places, kern_view_elements(&op->tensors[1]), &params, sizeof(params), words);
}
