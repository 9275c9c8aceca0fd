/* SPDX-License-Identifier: Apache-2.0 */
/* Adapters that run SPIR-V as a target: a step is a list of dispatches, which the rows of shaders/shader.c plan.
 * Constants are packed on the host, for rows that want it; the initializer only copies. */
#include "graph/backend.h"

#include "shaders/choices.h"

static bool spirv_supports(const struct graph_options *options, const struct kern_op *op, const char **out_reason)
{
    struct shader_work work;
    return shader_find(op, options->shader_capabilities, &work, out_reason);
}

static uint32_t spirv_priority(const struct graph_options *options, const struct kern_op *op)
{
    const char *reason;
    struct shader_work work;
    uint32_t count;
    return shader_find(op, options->shader_capabilities, &work, &reason) ? (uint32_t)(work.row - shader_rows(&count))
                                                                         : GRAPH_PRIORITY_NONE;
}

static bool spirv_portable(uint32_t priority)
{
    uint32_t count; /* attention_any takes longer than products by tiles and softmax between them */
    return shader_rows(&count)[priority].plan == shader_attention_any_plan;
}

static bool spirv_multiplies(const struct graph_options *options, DML_TENSOR_DATA_TYPE type)
{
    (void)options;
    (void)type;
    return false;
}

static HRESULT spirv_choose(const struct graph_options *options, struct base_arena *arena, struct graph_step *step,
                            uint32_t packable, uint64_t *out_packed_bytes)
{
    const char *reason;
    struct shader_work found, *work;
    step->op.packed_input = packable;
    if (!shader_choose(&step->op, options->shader_capabilities, options->choices, &found, &reason))
        return DXGI_ERROR_UNSUPPORTED;
    *out_packed_bytes = found.packed_bytes;
    if (!found.packed_bytes)
        step->op.packed_input = 0;
    const size_t bytes = sizeof(found) - (SHADER_DISPATCHES_MAX - found.dispatch_count) * sizeof(*found.dispatches);
    work = base_arena_alloc(arena, bytes);
    if (!work)
        return E_OUTOFMEMORY;
    memcpy(work, &found, bytes);
    step->shaders = work;
    step->kernel = work->row->name;
    step->scratch_bytes = work->scratch_bytes;
    return S_OK;
}

/* ---- packing ---- */

static bool spirv_pack(const struct graph_step *step, const void *source, void *packed)
{
    step->shaders->row->pack(&step->op, source, packed);
    return true;
}

static struct base_hash spirv_pack_layout(const struct graph_step *step)
{
    const struct kern_view *view = &step->op.tensors[step->op.packed_input - 1];
    struct {
        const struct shader_row *row;
        uint64_t bytes, code;
        struct kern_view view;
    } layout;
    memset(&layout, 0, sizeof(layout));
    layout.row = step->shaders->row;
    layout.bytes = step->shaders->packed_bytes;
    layout.code = step->shaders->dispatches[0].code;
    layout.view.type = view->type;
    layout.view.rank = view->rank;
    layout.view.offset = view->offset;
    for (uint32_t i = 0; i < view->rank; i++) {
        layout.view.sizes[i] = view->sizes[i];
        layout.view.strides[i] = view->sizes[i] > 1 ? view->strides[i] : 0;
    }
    return base_hash(&layout, sizeof(layout));
}

const struct graph_backend graph_backend_spirv = {
    .name = "spirv",
    .passes = GRAPH_PASS_BIT(dead_nodes) | GRAPH_PASS_BIT(requantize) | GRAPH_PASS_BIT(common_subexpressions) |
              GRAPH_PASS_BIT(fold_constants) | GRAPH_PASS_BIT(fold_batch_norm) | GRAPH_PASS_BIT(views) |
              GRAPH_PASS_BIT(joins) | GRAPH_PASS_BIT(fold_scalars) | GRAPH_PASS_BIT(shapes) |
              GRAPH_PASS_BIT(fuse_activation) | GRAPH_PASS_BIT(fuse_map) | GRAPH_PASS_BIT(fuse_norm) |
              GRAPH_PASS_BIT(fuse_attention) | GRAPH_PASS_BIT(merge_products) | GRAPH_PASS_BIT(weights) |
              GRAPH_PASS_BIT(layout) | GRAPH_PASS_BIT(fuse_upsampling) | GRAPH_PASS_BIT(filters) |
              GRAPH_PASS_BIT(levels),
    .alignment = 256,
    .merged_rows = 1024, /* with more, each product has tiles enough for a device */
    .supports = spirv_supports,
    .priority = spirv_priority,
    .priority_bound = spirv_priority,
    .portable = spirv_portable,
    .multiplies = spirv_multiplies,
    .in_place = graph_map_in_place,
    .choose = spirv_choose,
    .pack = spirv_pack,
    .pack_layout = spirv_pack_layout,
};
