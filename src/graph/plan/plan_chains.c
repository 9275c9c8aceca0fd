/* SPDX-License-Identifier: Apache-2.0 */
/* Chains: consecutive steps without barriers, whose kernels synchronise in memory. Data that one of them reads may stay
 * in caches near a compute unit until the end of the chain, so no step may write what an earlier one uses; plan_temp.c
 * assigns separate memory to everything that a chain uses. */
#include "graph/plan/planner.h"

static bool uses(const struct graph_op *op, uint32_t value)
{
    for (uint32_t t = 0; t < op->k.input_count + op->k.output_count; t++)
        if (op->value[t] == value)
            return true;
    return false;
}

/* Step `at` writes nothing that the steps from `first` on use. */
static bool may_follow(const struct graph *graph, uint32_t first, uint32_t at)
{
    const struct graph_op *op = graph->ops[at];
    for (uint32_t i = first; i < at; i++)
        for (uint32_t t = op->k.input_count; t < op->k.input_count + op->k.output_count; t++)
            if (uses(graph->ops[i], op->value[t]))
                return false;
    return true;
}

/* Other steps run concurrently with the step before: each of a chain waits for that one. */
static bool reads_last(const struct graph *graph, uint32_t at)
{
    const struct graph_op *last = graph->ops[at - 1];
    for (uint32_t t = 0; t < graph->ops[at]->k.input_count; t++)
        for (uint32_t k = last->k.input_count; k < last->k.input_count + last->k.output_count; k++)
            if (graph->ops[at]->value[t] == last->value[k])
                return true;
    return false;
}

/* The caller may bind an output over an input. */
static bool binds_both(const struct graph *graph, uint32_t first, uint32_t end)
{
    bool reads = false, writes = false;
    for (uint32_t i = first; i < end; i++)
        for (uint32_t t = 0; t < graph->ops[i]->k.input_count + graph->ops[i]->k.output_count; t++) {
            const enum graph_place place = graph->values[graph->ops[i]->value[t]].place;
            reads = reads || place == GRAPH_INPUT;
            writes = writes || place == GRAPH_OUTPUT;
        }
    return reads && writes;
}

static HRESULT find_chain(struct planner *planner, uint32_t first, uint32_t *out_count)
{
    const struct graph *graph = planner->graph;
    const uint32_t *values[PLAN_CHAIN_MAX];
    uint32_t count = 0;
    while (count < PLAN_CHAIN_MAX && first + count < graph->op_count &&
           (!count || (reads_last(graph, first + count) && may_follow(graph, first, first + count))) &&
           !binds_both(graph, first, first + count + 1)) {
        values[count] = graph->ops[first + count]->value;
        count++;
    }
    *out_count = 0;
    return count > 1 ? planner->options->backend->chain(&planner->plan->arena, &planner->plan->steps[first], values,
                                                        count, out_count)
                     : S_OK;
}

HRESULT plan_find_chains(struct planner *planner)
{
    const struct graph_options *options = planner->options;
    struct graph_plan *plan = planner->plan;
    HRESULT hr = S_OK;
    if (!options->backend->chain || !(options->backend->passes & ~options->disabled_passes & GRAPH_PASS_BIT(chains)))
        return S_OK;
    for (uint32_t i = 0, count; SUCCEEDED(hr) && i < plan->step_count; i += BASE_MAX(count, 1u)) {
        plan->steps[i].zeroes = !plan->zeroed_bytes;
        hr = find_chain(planner, i, &count);
        plan->steps[i].chain = count;
        plan->steps[i].zeroes = count && plan->steps[i].zeroes;
        if (!count)
            continue;
        for (uint32_t k = 0; k < count; k++)
            plan->steps[i + k].turn = k;
        plan->steps[i].zeroed_offset = plan->zeroed_bytes;
        plan->zeroed_bytes += base_align_up(plan->steps[i].zeroed_bytes, options->backend->alignment);
    }
    return hr;
}
