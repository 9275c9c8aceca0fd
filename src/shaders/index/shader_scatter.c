/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that scatter: Y becomes X, then updates of one target are applied in order. For replacement, the last one is
 * identified by its number; for reductions, updates are sorted by target, stably. */
#include "kernels/core/number.h"
#include "shaders/core/shader_block.h"
#include "shaders/index/index_params.h"
#include "shaders/sort/shader_sort_runs.h"

_Static_assert(KERN_SCATTER_ADD == 1 && KERN_SCATTER_MULTIPLY == 2 && KERN_SCATTER_MIN == 3,
               "scatter_combine.comp has these numbers");

static struct scatter_params params_of(const struct kern_op *op)
{
    const struct kern_view *index = &op->tensors[1], *updates = &op->tensors[2], *y = &op->tensors[3];
    const bool tuples = op->u.scatter.mode == KERN_INDEX_ND;
    struct scatter_params params = { tuples, tuples ? UINT32_MAX : op->u.scatter.axis,
                                     (uint32_t)op->u.scatter.reduction, (uint32_t)kern_view_elements(updates), 1 };
    for (uint32_t d = tuples ? index->sizes[index->rank - 1] : y->rank; d < y->rank; d++)
        params.inner *= y->sizes[d];
    params.items /= params.inner;
    params.targets = (uint32_t)kern_view_elements(y) / params.inner;
    return params;
}

static void add(struct shader_work *out, enum shader_code code, const struct kern_op *op, uint64_t units)
{
    shader_add(out, code, op, units, SHADER_GROUP_SIZE, sizeof(struct scatter_params));
}

static uint64_t y_elements(const struct kern_op *op)
{
    return kern_view_elements(&op->tensors[3]);
}

static uint64_t update_elements(const struct kern_op *op)
{
    return kern_view_elements(&op->tensors[2]);
}

/* ---- the last update of an element wins ---- */

enum last_dispatch { LAST_COPY, LAST_WINNERS, LAST_WRITE };

const char *shader_scatter_last_unsupported(const struct kern_op *op)
{
    if (op->u.scatter.reduction != KERN_SCATTER_LAST)
        return "no shader with this reduction";
    return shader_block_unsupported(op);
}

void shader_scatter_last_plan(const struct kern_op *op, struct shader_work *out)
{
    const struct scatter_params params = params_of(op);
    out->scratch_bytes = UINT64_C(4) * params.targets;
    add(out, SHADER_scatter_copy, op, y_elements(op));
    add(out, SHADER_scatter_winners, op, params.items);
    add(out, SHADER_scatter_last, op, update_elements(op));
}

void shader_scatter_last_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                               uint32_t *words)
{
    const struct scatter_params params = params_of(op);
    const uint64_t units = index == LAST_COPY      ? y_elements(op)
                           : index == LAST_WINNERS ? params.items
                                                   : update_elements(op);
    shader_block_write(op, places, units, &params, sizeof(params), words);
}

/* ---- updates are combined ---- */

enum combine_dispatch { COMBINE_COPY, COMBINE_SORT, COMBINE_MERGE };

static struct shader_runs runs_of(const struct scatter_params *params)
{
    return shader_runs(1, params->items, params->items, false);
}

/* 64-bit indices need no 64-bit arithmetic. */
static enum shader_code combine_variant(const struct kern_op *op)
{
    struct kern_op numbers = *op;
    numbers.tensors[1].type = DML_TENSOR_DATA_TYPE_UINT32;
    return shader_variant(SHADER_scatter_combine, &numbers);
}

const char *shader_scatter_combine_unsupported(const struct kern_op *op)
{
    const char *reason = shader_block_unsupported(op);
    if (op->u.scatter.reduction == KERN_SCATTER_LAST)
        return "no shader without a reduction";
    if (kern_type_bits(op->tensors[3].type) < 32 && kern_type_class(op->tensors[3].type) == KERN_CLASS_FLOAT)
        return "no shader that rounds sums to 16 bits";
    if (reason)
        return reason;
    const struct scatter_params params = params_of(op);
    return runs_of(&params).capacity > INT32_MAX ? "the shaders do not sort that many updates" : NULL;
}

void shader_scatter_combine_plan(const struct kern_op *op, struct shader_work *out)
{
    const struct scatter_params params = params_of(op);
    const struct shader_runs runs = runs_of(&params);
    out->scratch_bytes = shader_runs_scratch_bytes(&runs);
    add(out, SHADER_scatter_copy, op, y_elements(op));
    shader_add(out, SHADER_scatter_chunk, op, runs.parts, 1, sizeof(params));
    shader_runs_plan(&runs, op, out);
    add(out, combine_variant(op), op, update_elements(op));
}

void shader_scatter_combine_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                                  uint32_t *words)
{
    struct scatter_params params = params_of(op);
    const struct shader_runs runs = runs_of(&params);
    uint64_t units = update_elements(op);
    params.from = shader_runs_merge(&runs, runs.merges).from;
    if (index == COMBINE_COPY) {
        units = y_elements(op);
        params.targets = 0; /* unused */
    } else if (index == COMBINE_SORT) {
        units = runs.parts;
    } else if (index < COMBINE_MERGE + runs.merges) {
        shader_runs_write(&runs, op, index - COMBINE_MERGE, places, words);
        return;
    }
    shader_block_write(op, places, units, &params, sizeof(params), words);
}
