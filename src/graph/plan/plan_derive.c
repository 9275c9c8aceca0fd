/* SPDX-License-Identifier: Apache-2.0 */
/* Results of the initializer's transforms of owned inputs: in the persistent buffer if a step reads them directly,
 * otherwise (inputs of packing and of other transforms) in memory that is reused. */
#include "graph/plan/planner.h"

#include <stdlib.h>

/* Alternates: a transform, then the packing of its results. */
static int by_turn(const void *a, const void *b)
{
    const struct graph_init_step *x = a, *y = b;
    if (x->turn != y->turn)
        return x->turn < y->turn ? -1 : 1;
    return x->destination < y->destination ? -1 : 1;
}

/* Blocks of the values in the initializer's memory, from the operation that computes each to the last that reads it.
 */
static HRESULT place(struct planner *planner)
{
    const struct graph *graph = planner->graph;
    uint32_t values = graph->value_count, count = 0;
    uint64_t least;
    struct plan_block *blocks = base_arena_alloc(&planner->graph->arena, (values + UINT64_C(1)) * sizeof(*blocks));
    if (!blocks)
        return E_OUTOFMEMORY;
    for (uint32_t i = 0; i < graph->derivation_count; i++) {
        const struct graph_derivation *d = &graph->derivations[i];
        for (uint32_t t = 0; t < d->input_count + d->output_count; t++) {
            uint32_t value = d->values[t];
            bool made = t >= d->input_count;
            if (made && planner->resident[value] == UINT64_MAX) {
                planner->block[value] = count;
                blocks[count++] = (struct plan_block){ graph->values[value].size_bytes, i, i, 0, value };
            } else if (!made && planner->block[value] != GRAPH_NONE) {
                blocks[planner->block[value]].last = i;
            }
        }
    }
    HRESULT hr =
        plan_place_blocks(blocks, count, planner->options->backend->alignment, &planner->plan->init_temp_bytes, &least);
    for (uint32_t i = 0; SUCCEEDED(hr) && i < count; i++)
        planner->made_at[blocks[i].value] = blocks[i].offset;
    return hr;
}

static void locate_made(const struct planner *planner, uint32_t value, struct graph_location *where)
{
    bool resident = planner->resident[value] != UINT64_MAX;
    where->buffer = resident ? GRAPH_BUFFER_PERSISTENT : GRAPH_BUFFER_TEMP;
    where->offset += resident ? planner->resident[value] : planner->made_at[value];
}

static HRESULT locate_value(struct planner *planner, uint32_t value, struct graph_location *where)
{
    HRESULT hr = S_OK;
    *where = (struct graph_location){ GRAPH_BUFFER_INPUT, planner->graph->values[value].index, 0, NULL };
    if (planner->graph->values[value].place == GRAPH_CONSTANT) {
        hr = plan_know_constant(planner, value);
        where->buffer = GRAPH_BUFFER_CONSTANT;
        where->data = planner->known[value].data;
    } else if (planner->graph->values[value].place == GRAPH_DERIVED) {
        locate_made(planner, value, where);
    }
    return hr;
}

static HRESULT keep(struct planner *planner, const struct graph_derivation *d, struct graph_init_derivation *out)
{
    struct base_arena *arena = &planner->plan->arena;
    uint32_t count = d->input_count + d->output_count;
    HRESULT hr = S_OK;
    out->make = *d;
    out->make.values = NULL; /* the graph's */
    out->make.context = base_arena_copy(arena, d->context, d->context_bytes);
    out->where = base_arena_alloc(arena, count * sizeof(*out->where));
    out->bytes = base_arena_alloc(arena, d->output_count * sizeof(*out->bytes));
    if (!out->make.context || !out->where || !out->bytes)
        return E_OUTOFMEMORY;
    for (uint32_t t = 0; SUCCEEDED(hr) && t < count; t++)
        hr = locate_value(planner, d->values[t], &out->where[t]);
    for (uint32_t t = 0; t < d->output_count; t++)
        out->bytes[t] = planner->graph->values[d->values[d->input_count + t]].size_bytes;
    return hr;
}

/* Packing reads the result of a transform as soon as it is available. */
static void take_turns(struct planner *planner, const uint32_t *turns)
{
    struct graph_plan *plan = planner->plan;
    for (uint32_t i = 0; i < plan->init_step_count; i++) {
        struct graph_init_step *init = &plan->init_steps[i];
        if (init->source.buffer != GRAPH_BUFFER_TEMP)
            continue;
        uint32_t value = planner->graph->ops[init->step]->value[plan->steps[init->step].op.packed_input - 1];
        locate_made(planner, value, &init->source);
        init->turn = turns[value];
    }
    qsort(plan->init_steps, plan->init_step_count, sizeof(*plan->init_steps), by_turn);
}

HRESULT plan_derive(struct planner *planner)
{
    struct graph *graph = planner->graph;
    struct graph_plan *plan = planner->plan;
    if (!graph->derivation_count)
        return S_OK;
    uint32_t *turns = base_arena_alloc(&graph->arena, graph->value_count * sizeof(*turns));
    planner->made_at = base_arena_alloc(&graph->arena, graph->value_count * sizeof(*planner->made_at));
    plan->derivations = base_arena_alloc(&plan->arena, graph->derivation_count * sizeof(*plan->derivations));
    HRESULT hr = turns && planner->made_at && plan->derivations ? place(planner) : E_OUTOFMEMORY;
    for (uint32_t i = 0; SUCCEEDED(hr) && i < graph->derivation_count; i++) {
        const struct graph_derivation *d = &graph->derivations[i];
        hr = keep(planner, d, &plan->derivations[plan->derivation_count++]);
        for (uint32_t t = 0; t < d->output_count; t++)
            turns[d->values[d->input_count + t]] = plan->derivation_count;
    }
    if (SUCCEEDED(hr))
        take_turns(planner, turns);
    return hr;
}
