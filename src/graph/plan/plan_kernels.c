/* SPDX-License-Identifier: Apache-2.0 */
/* Selects the backend's kernel for each step, and the inputs to be packed ahead of time. */
#include "graph/plan/planner.h"

#include "graph/ir/cost.h"
#include "graph/ir/text.h"
#include "graph/ir/uses.h"
#include "graph/ir/view.h"

#include "base/clock.h"
#include "base/parallel.h"

#include <stdio.h>
#include <stdlib.h>

HRESULT plan_add_persistent(struct planner *planner, uint64_t bytes, uint64_t *out_offset)
{
    const uint64_t alignment = planner->options->backend->alignment;
    uint64_t *end = &planner->plan->persistent_bytes;
    if (bytes > INT64_MAX - alignment || *end > INT64_MAX - alignment - bytes)
        return E_OUTOFMEMORY;
    *out_offset = *end;
    *end += base_align_up(bytes, alignment);
    return S_OK;
}

/* An earlier step that packs the same bytes; GRAPH_NONE: this one does. */
static uint32_t find_packed(struct planner *planner, uint32_t at)
{
    const struct graph_step *step = &planner->plan->steps[at];
    uint32_t value = planner->graph->ops[at]->value[step->op.packed_input - 1];
    const struct base_hash layout = planner->layouts[at];
    for (uint32_t i = planner->packs[value]; i != GRAPH_NONE; i = planner->next_pack[i])
        if (planner->layouts[i].low == layout.low && planner->layouts[i].high == layout.high)
            return i;
    planner->next_pack[at] = planner->packs[value];
    planner->packs[value] = at;
    return GRAPH_NONE;
}

static HRESULT add_pack(struct planner *planner, uint32_t at, uint64_t bytes)
{
    struct graph_plan *plan = planner->plan;
    const struct graph_step *step = &plan->steps[at];
    uint32_t input = step->op.packed_input - 1;
    const struct graph_value *value = &planner->graph->values[planner->graph->ops[at]->value[input]];
    if (plan->store && plan->backend->pack && value->place == GRAPH_CONSTANT)
        return plan_share_packed(planner, at, bytes);
    uint32_t earlier = find_packed(planner, at);
    if (earlier != GRAPH_NONE) {
        planner->packed[at] = planner->packed[earlier];
        return S_OK;
    }
    struct graph_init_step *init = &plan->init_steps[plan->init_step_count++];
    init->pack = true;
    init->step = at;
    init->size_bytes = value->size_bytes;
    init->source.buffer = value->place == GRAPH_CONSTANT  ? GRAPH_BUFFER_CONSTANT
                          : value->place == GRAPH_DERIVED ? GRAPH_BUFFER_TEMP /* plan_derive.c assigns the address */
                                                          : GRAPH_BUFFER_INPUT;
    init->source.index = value->index;
    init->source.offset = (uint64_t)graph_view_byte_offset(&step->op.tensors[input]);
    /* The planner's constants are copied into the plan on first use; known[] finds the copy. */
    HRESULT hr = plan_add_persistent(planner, bytes, &planner->packed[at]);
    init->destination = planner->packed[at];
    return hr;
}

static void add_to_run(struct graph_plan *plan, const struct graph_step *step)
{
    struct graph_cost cost;
    graph_op_cost(&step->op, &cost);
    plan->work += cost.read + cost.written + cost.flops;
    plan->threads = BASE_MAX(plan->threads, step->threads);
}

/* DXGI_ERROR_UNSUPPORTED with a description. */
static HRESULT refuse(struct planner *planner, const struct graph_step *step)
{
    const char *reason = "no kernel supports it";
    struct graph_text text = { 0 };
    graph_text_op(&text, &step->op);
    for (uint32_t t = 0; t < step->op.input_count + step->op.output_count; t++) {
        graph_text_add(&text, " ");
        graph_text_view(&text, &step->op.tensors[t]);
    }
    char *what = graph_text_detach(&text);
    planner->options->backend->supports(planner->options, &step->op, &reason);
    snprintf(planner->error, 256, "%s: %s: %s", step->origin, reason, what ? what : "");
    free(what);
    return DXGI_ERROR_UNSUPPORTED;
}

/* Values that are not constants are packed if the initializer runs kernels. */
static uint32_t packable_of(const struct planner *planner, const struct graph_op *op)
{
    const uint32_t packable = graph_op_packable(planner->graph, op);
    const bool runs = planner->options->backend->derives;
    if (packable && !runs &&
        (!planner->plan->store || planner->graph->values[op->value[packable - 1]].place != GRAPH_CONSTANT))
        return 0;
    return packable;
}

static HRESULT choose_kernel(struct planner *planner, uint32_t at)
{
    struct graph_plan *plan = planner->plan;
    struct graph_step *step = &plan->steps[at];
    uint32_t packable = packable_of(planner, planner->graph->ops[at]);
    uint64_t packed_bytes;
    HRESULT hr = planner->options->backend->choose(planner->options, &plan->arena, step, packable, &packed_bytes);
    if (FAILED(hr))
        return hr == DXGI_ERROR_UNSUPPORTED ? refuse(planner, step) : hr;
    add_to_run(plan, step);
    planner->packed[at] = packed_bytes;
    if (step->op.packed_input) /* before the step may become one of a chain */
        planner->layouts[at] = planner->options->backend->pack_layout(step);
    return S_OK;
}

HRESULT plan_keep_all(struct planner *planner)
{
    uint64_t start = base_now_ns();
    struct base_team before = base_parallel_enter(planner->options->threads); /* weights are large */
    HRESULT hr = S_OK;
    for (uint32_t i = 0; SUCCEEDED(hr) && i < planner->plan->step_count; i++) {
        if (planner->plan->steps[i].op.packed_input)
            hr = add_pack(planner, i, planner->packed[i]);
        if (SUCCEEDED(hr))
            hr = plan_keep_constants(planner, i);
    }
    base_parallel_leave(before);
    planner->plan->constants_ns += base_now_ns() - start;
    return hr;
}

HRESULT plan_choose_kernels(struct planner *planner)
{
    HRESULT hr = S_OK;
    for (uint32_t i = 0; SUCCEEDED(hr) && i < planner->plan->step_count; i++)
        hr = choose_kernel(planner, i);
    return hr;
}
