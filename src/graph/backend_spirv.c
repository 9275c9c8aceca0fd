/* SPDX-License-Identifier: Apache-2.0 */
/* The backend of adapters that run SPIR-V: a step is a list of dispatches, planned by the kernels of shaders/shader.c.
 * Constants are packed on the host for kernels that require it; the initializer only copies. */
#include "graph/backend.h"

#include "graph/ir/program.h"
#include "graph/plan/planner.h"

#include "shaders/choices.h"

#include "base/parallel.h"

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
    uint32_t count;
    return shader_rows(&count)[priority].portable;
}

static bool spirv_multiplies(const struct graph_options *options, DML_TENSOR_DATA_TYPE type)
{
    (void)options;
    (void)type;
    return false;
}

static bool spirv_lacks(const struct graph_options *options, DML_TENSOR_DATA_TYPE type)
{
    return type == DML_TENSOR_DATA_TYPE_FLOAT64 && !(options->shader_capabilities & SHADER_CAPABILITY_FLOAT64);
}

/* A copy with capacity for exactly its number of dispatches. */
static struct shader_work *keep_work(struct base_arena *arena, const struct shader_work *work)
{
    const size_t bytes = sizeof(*work) - (SHADER_DISPATCHES_MAX - work->dispatch_count) * sizeof(*work->dispatches);
    return base_arena_copy(arena, work, bytes);
}

static HRESULT spirv_choose(const struct graph_options *options, struct base_arena *arena, struct graph_step *step,
                            uint32_t packable, uint64_t *out_packed_bytes)
{
    const char *reason;
    struct shader_work found, *work;
    step->op.packed_input = packable;
    step->op.multiprocessors = (uint16_t)options->multiprocessors;
    step->op.specialized = options->specialized;
    if (!shader_choose(&step->op, options->shader_capabilities, options->choices, &found, &reason))
        return DXGI_ERROR_UNSUPPORTED;
    *out_packed_bytes = found.packed_bytes;
    if (!found.packed_bytes)
        step->op.packed_input = 0;
    work = keep_work(arena, &found);
    if (!work)
        return E_OUTOFMEMORY;
    step->target = GRAPH_TARGET_SPIRV;
    step->u.spirv.work = work;
    step->kernel = work->row->name;
    step->scratch_bytes = work->scratch_bytes;
    return S_OK;
}

/* ---- chains ---- */

_Static_assert(PLAN_CHAIN_MAX == SHADER_CHAIN_MAX, "steps of a chain");

static HRESULT spirv_chain(struct base_arena *arena, struct graph_step *steps, const uint32_t *const *values,
                           uint32_t count, uint32_t *out_count)
{
    struct shader_link links[SHADER_CHAIN_MAX];
    for (uint32_t i = 0; i < count; i++)
        links[i] = (struct shader_link){ &steps[i].op, steps[i].u.spirv.work, values[i] };
    *out_count = shader_chain_length(links, count);
    steps->zeroed_bytes = *out_count ? shader_chain_bytes(*out_count) : 0;
    for (uint32_t i = 0; i < *out_count; i++) {
        struct shader_work work = { .packed_bytes = links[i].work->packed_bytes };
        if (!i && steps->zeroes)
            shader_zero_plan(&work);
        shader_chain_plan(&links[i], &work);
        steps[i].u.spirv.work = keep_work(arena, &work);
        steps[i].kernel = work.row->name;
        steps[i].scratch_bytes = work.scratch_bytes;
        if (!steps[i].u.spirv.work)
            return E_OUTOFMEMORY;
    }
    return S_OK;
}

/* ---- packing ---- */

static void spirv_pack(const struct graph_step *step, const void *source, void *packed)
{
    struct base_team before = base_parallel_enter(0); /* weights are large */
    step->u.spirv.work->row->pack(&step->op, source, packed);
    base_parallel_leave(before);
}

static struct base_hash spirv_pack_layout(const struct graph_step *step)
{
    const struct kern_view *view = &step->op.tensors[step->op.packed_input - 1];
    const struct shader_work *work = step->u.spirv.work;
    struct {
        const struct shader_row *row;
        uint64_t bytes;
        struct shader_identity shaders[4];
        struct kern_view view;
    } layout;
    memset(&layout, 0, sizeof(layout));
    layout.row = work->row;
    layout.bytes = work->packed_bytes;
    for (uint32_t i = 0; i < work->dispatch_count && i < ARRAY_SIZE(layout.shaders); i++)
        layout.shaders[i] = work->dispatches[i].shader;
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
    .passes = GRAPH_PASS_BIT(dead_nodes) | GRAPH_PASS_BIT(narrow) | GRAPH_PASS_BIT(requantize) |
              GRAPH_PASS_BIT(common_subexpressions) | GRAPH_PASS_BIT(fold_constants) | GRAPH_PASS_BIT(fold_batch_norm) |
              GRAPH_PASS_BIT(branches) | GRAPH_PASS_BIT(gathers) | GRAPH_PASS_BIT(views) | GRAPH_PASS_BIT(windows) |
              GRAPH_PASS_BIT(rolls) | GRAPH_PASS_BIT(casts) | GRAPH_PASS_BIT(halves) | GRAPH_PASS_BIT(joins) |
              GRAPH_PASS_BIT(fold_scalars) | GRAPH_PASS_BIT(factors) | GRAPH_PASS_BIT(shapes) | GRAPH_PASS_BIT(norms) |
              GRAPH_PASS_BIT(fuse_activation) | GRAPH_PASS_BIT(fuse_map) | GRAPH_PASS_BIT(fuse_norm) |
              GRAPH_PASS_BIT(fuse_lp_norm) | GRAPH_PASS_BIT(sums) | GRAPH_PASS_BIT(fuse_attention) |
              GRAPH_PASS_BIT(merge_products) | GRAPH_PASS_BIT(weights) | GRAPH_PASS_BIT(layout) |
              GRAPH_PASS_BIT(transposed) | GRAPH_PASS_BIT(fuse_upsampling) | GRAPH_PASS_BIT(filters) |
              GRAPH_PASS_BIT(levels) | GRAPH_PASS_BIT(chains),
    .alignment = 256,
    .norms_last = true,
    .lines_last = true,
    .merged_rows = 1024, /* larger ones have enough tiles to fill a device */
    .supports = spirv_supports,
    .priority = spirv_priority,
    .portable = spirv_portable,
    .multiplies = spirv_multiplies,
    .lacks = spirv_lacks,
    .in_place = graph_map_in_place,
    .choose = spirv_choose,
    .chain = spirv_chain,
    .pack = spirv_pack,
    .pack_layout = spirv_pack_layout,
};
