/* SPDX-License-Identifier: Apache-2.0 */
/* From the rewritten graph to a plan: steps, kernels, memory positions. */
#include "graph/plan/planner.h"

#include "graph/ir/constant.h"
#include "graph/ir/derive.h"
#include "graph/ir/text.h"
#include "graph/ir/uses.h"
#include "graph/ir/view.h"

#include "base/pages.h"

#include <stdio.h>
#include <stdlib.h>

/* NULL: memory is short. */
static const char *names_of(const struct planner *planner, const struct graph_op *op)
{
    struct graph_text text = { 0 };
    if (!planner->graph->named_nodes)
        return "";
    graph_text_names(&text, planner->graph, op);
    graph_text_add(&text, "%s", "");
    char *made = graph_text_detach(&text);
    const char *kept = made ? base_arena_strdup(&planner->plan->arena, made) : NULL;
    free(made);
    return kept;
}

static HRESULT make_steps(struct planner *planner)
{
    struct graph_plan *plan = planner->plan;
    const struct graph *graph = planner->graph;
    /* A step packs at most one input, a value is copied at most once. */
    uint64_t init_steps = (uint64_t)graph->op_count + graph->value_count + 1; /* and uses one blob instead */
    plan->steps = base_arena_alloc(&plan->arena, (graph->op_count + UINT64_C(1)) * sizeof(*plan->steps));
    plan->init_steps = base_arena_alloc(&plan->arena, init_steps * sizeof(*plan->init_steps));
    plan->blobs = base_arena_alloc(&plan->arena, init_steps * sizeof(*plan->blobs));
    if (!plan->steps || !plan->init_steps || !plan->blobs)
        return E_OUTOFMEMORY;
    for (uint32_t i = 0; i < graph->op_count; i++) {
        const struct graph_op *op = graph->ops[i];
        struct graph_step *step = &plan->steps[i];
        step->op = op->k;
        step->node = op->node;
        step->origin = op->origin ? op->origin : "";
        step->names = names_of(planner, op);
        if (!step->names)
            return E_OUTOFMEMORY;
        plan_tidy_loops(&step->op);
        if (op->k.epilogue)
            step->op.epilogue = base_arena_copy(&plan->arena, op->k.epilogue, sizeof(*op->k.epilogue));
        if (op->k.epilogue && !step->op.epilogue)
            return E_OUTOFMEMORY;
        plan->step_count++;
    }
    return S_OK;
}

/* Every view must be inside its value: kernels trust the plan. */
static HRESULT check_views(const struct planner *planner)
{
    for (uint32_t i = 0; i < planner->graph->op_count; i++) {
        const struct graph_op *op = planner->graph->ops[i];
        for (uint32_t t = 0; t < op->k.input_count + op->k.output_count; t++) {
            if (graph_operand_fits(planner->graph, op, t))
                continue;
            snprintf(planner->error, 256, "%s: tensor %u reaches beyond its %llu bytes", op->origin, t,
                     (unsigned long long)planner->graph->values[op->value[t]].size_bytes);
            return E_INVALIDARG;
        }
    }
    return S_OK;
}

HRESULT plan_know_constant(struct planner *planner, uint32_t value)
{
    const struct plan_constant *known = &planner->known[value];
    return known->data || known->kept ? S_OK : plan_share_constant(planner, value);
}

/* The value as it is in the persistent buffer: an owned input, or the result of a transform. */
static HRESULT make_resident(struct planner *planner, uint32_t number)
{
    const struct graph_value *value = &planner->graph->values[number];
    if (planner->resident[number] != UINT64_MAX)
        return S_OK;
    if (value->place == GRAPH_DERIVED) /* computed there */
        return plan_add_persistent(planner, value->size_bytes, &planner->resident[number]);
    struct graph_init_step *init = &planner->plan->init_steps[planner->plan->init_step_count++];
    HRESULT hr = plan_add_persistent(planner, value->size_bytes, &planner->resident[number]);
    init->destination = planner->resident[number];
    init->size_bytes = planner->owned_bytes[number];
    init->source.buffer = GRAPH_BUFFER_INPUT;
    init->source.index = value->index;
    return hr;
}

static void locate_constant(const struct plan_constant *constant, uint64_t bytes, struct graph_location *where)
{
    where->buffer = GRAPH_BUFFER_CONSTANT;
    where->data = constant->data;
    where->kept = constant->kept;
    where->bytes = bytes;
}

static HRESULT locate(struct planner *planner, uint32_t step, uint32_t tensor)
{
    uint32_t number = planner->graph->ops[step]->value[tensor];
    const struct graph_value *value = &planner->graph->values[number];
    struct graph_location *where = &planner->plan->steps[step].where[tensor];
    bool packed = planner->plan->steps[step].op.packed_input == tensor + 1;
    if (packed && (planner->shared[step].data || planner->shared[step].kept)) {
        locate_constant(&planner->shared[step], planner->packed[step], where);
        return S_OK;
    }
    HRESULT hr = value->place == GRAPH_CONSTANT ? plan_know_constant(planner, number) : S_OK;
    where->index = value->index;
    where->offset = (uint64_t)graph_view_byte_offset(&planner->plan->steps[step].op.tensors[tensor]);
    if (SUCCEEDED(hr) && packed) {
        where->buffer = GRAPH_BUFFER_PERSISTENT;
        where->offset = planner->packed[step];
        return S_OK;
    }
    switch (value->place) {
    case GRAPH_INPUT:
        where->buffer = GRAPH_BUFFER_INPUT;
        break;
    case GRAPH_OUTPUT:
        where->buffer = GRAPH_BUFFER_OUTPUT;
        break;
    case GRAPH_TEMP:
        where->buffer = GRAPH_BUFFER_TEMP;
        where->offset += planner->blocks[planner->block[number]].offset;
        break;
    case GRAPH_OWNED:
    case GRAPH_DERIVED:
        hr = make_resident(planner, number);
        where->buffer = GRAPH_BUFFER_PERSISTENT;
        where->offset += planner->resident[number];
        break;
    case GRAPH_CONSTANT:
        locate_constant(&planner->known[number], value->size_bytes, where);
        break;
    }
    return hr;
}

static HRESULT locate_all(struct planner *planner)
{
    HRESULT hr = S_OK;
    for (uint32_t i = 0; i < planner->plan->step_count; i++)
        for (uint32_t t = 0;
             SUCCEEDED(hr) && t < planner->plan->steps[i].op.input_count + planner->plan->steps[i].op.output_count; t++)
            hr = locate(planner, i, t);
    for (uint32_t i = 0; SUCCEEDED(hr) && i < planner->plan->init_step_count; i++) {
        struct graph_init_step *init = &planner->plan->init_steps[i];
        if (!init->pack || init->source.buffer != GRAPH_BUFFER_CONSTANT)
            continue;
        uint32_t input = planner->plan->steps[init->step].op.packed_input - 1;
        init->source.data = planner->known[planner->graph->ops[init->step]->value[input]].data;
    }
    return hr;
}

static bool allocate(struct planner *planner)
{
    struct base_arena *arena = &planner->graph->arena; /* the planner's own arrays live as long as the graph */
    uint64_t values = planner->graph->value_count + UINT64_C(1), steps = planner->graph->op_count + UINT64_C(1);
    planner->block = base_arena_alloc(arena, values * sizeof(*planner->block));
    planner->resident = base_arena_alloc(arena, values * sizeof(*planner->resident));
    planner->known = base_arena_alloc(arena, values * sizeof(*planner->known));
    planner->contents = base_arena_alloc(arena, values * sizeof(*planner->contents));
    planner->readers = base_arena_alloc(arena, values * sizeof(*planner->readers));
    planner->owned_bytes = base_arena_alloc(arena, values * sizeof(*planner->owned_bytes));
    planner->packs = base_arena_alloc(arena, values * sizeof(*planner->packs));
    planner->next_pack = base_arena_alloc(arena, steps * sizeof(*planner->next_pack));
    planner->layouts = base_arena_alloc(arena, steps * sizeof(*planner->layouts));
    planner->packed = base_arena_alloc(arena, steps * sizeof(*planner->packed));
    planner->shared = base_arena_alloc(arena, steps * sizeof(*planner->shared));
    if (!planner->block || !planner->resident || !planner->known || !planner->contents || !planner->readers ||
        !planner->owned_bytes || !planner->packs || !planner->next_pack || !planner->layouts || !planner->packed ||
        !planner->shared)
        return false;
    memset(planner->packs, 0xff, values * sizeof(*planner->packs));
    memset(planner->block, 0xff, values * sizeof(*planner->block));
    memset(planner->resident, 0xff, values * sizeof(*planner->resident));
    return true;
}

static HRESULT make_plan(struct planner *planner)
{
    HRESULT hr = allocate(planner) ? check_views(planner) : E_OUTOFMEMORY;
    if (SUCCEEDED(hr) && !graph_derivations_trim(planner->graph))
        hr = E_OUTOFMEMORY;
    if (SUCCEEDED(hr))
        hr = plan_count_readers(planner);
    if (SUCCEEDED(hr))
        hr = make_steps(planner);
    if (SUCCEEDED(hr))
        hr = plan_choose_kernels(planner);
    if (SUCCEEDED(hr))
        hr = plan_find_chains(planner);
    if (SUCCEEDED(hr) && planner->options->chosen)
        hr = planner->options->chosen(planner->options->context, planner->plan);
    if (SUCCEEDED(hr))
        hr = plan_keep_all(planner);
    if (SUCCEEDED(hr))
        hr = plan_place_temporaries(planner);
    if (SUCCEEDED(hr))
        hr = locate_all(planner);
    return SUCCEEDED(hr) ? plan_derive(planner) : hr;
}

HRESULT graph_plan_create(struct graph *graph, const struct graph_options *options, struct graph_plan **out,
                          char *error)
{
    struct graph_plan *plan = calloc(1, sizeof(*plan));
    *out = NULL;
    if (!plan)
        return E_OUTOFMEMORY;
    plan->backend = options->backend;
    plan->store = options->store;
    plan->threads = 1;
    plan->input_count = graph->input_count;
    plan->output_count = graph->output_count;
    struct planner planner = { .graph = graph, .options = options, .plan = plan, .error = error };
    planner.scratch_value = GRAPH_NONE;
    HRESULT hr = graph->failed ? E_OUTOFMEMORY : make_plan(&planner);
    base_pages_release(planner.scratch, planner.scratch_bytes);
    if (FAILED(hr))
        graph_plan_destroy(plan);
    else
        *out = plan;
    return hr;
}

void graph_plan_release_constants(struct graph_plan *plan)
{
    for (uint32_t i = 0; i < plan->step_count; i++)
        for (uint32_t t = 0; t < KERN_TENSORS_MAX; t++)
            plan->steps[i].where[t].data = NULL;
    for (uint32_t i = 0; i < plan->blob_count; i++)
        graph_store_release(plan->store, plan->blobs[i]);
    plan->blob_count = 0;
}

void graph_plan_destroy(struct graph_plan *plan)
{
    if (!plan)
        return;
    graph_plan_release_constants(plan);
    base_arena_finish(&plan->arena);
    free(plan);
}
