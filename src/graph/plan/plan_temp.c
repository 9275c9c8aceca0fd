/* SPDX-License-Identifier: Apache-2.0 */
/* Lifetimes of temporary values, in-place results, and scratch memory. */
#include "graph/plan/planner.h"

#include "graph/ir/levels.h"
#include "graph/ir/view.h"

static HRESULT add_block(struct planner *planner, uint64_t size, uint32_t first, uint32_t last, uint32_t value,
                         uint32_t *out)
{
    *out = planner->block_count;
    planner->blocks[planner->block_count++] = (struct plan_block){ size, first, last, 0, value };
    return size > INT64_MAX ? E_OUTOFMEMORY : S_OK;
}

/* Times at which a value is accessed. */
struct life {
    uint32_t first, last;
    uint32_t writes;
};

static void note_lives(const struct graph *graph, struct life *lives)
{
    for (uint32_t v = 0; v < graph->value_count; v++)
        lives[v].first = GRAPH_NONE;
    for (uint32_t i = 0; i < graph->op_count; i++)
        for (uint32_t t = 0; t < graph->ops[i]->k.input_count + graph->ops[i]->k.output_count; t++) {
            struct life *life = &lives[graph->ops[i]->value[t]];
            life->first = BASE_MIN(life->first, i);
            life->last = i;
            life->writes += t >= graph->ops[i]->k.input_count;
        }
}

/* Every input of the op that is in this block is read exactly where the result is written. */
static bool reads_in_step(const struct planner *planner, const struct graph_op *op, uint32_t block)
{
    const struct kern_view *result = &op->k.tensors[op->k.input_count];
    for (uint32_t t = 0; t < op->k.input_count; t++)
        if (planner->block[op->value[t]] == block && !graph_views_same_places(&op->k.tensors[t], result))
            return false;
    return graph_view_injective(result);
}

/* The block of an input whose last reader is op `at` and whose memory its result may reuse. */
static uint32_t block_to_reuse(const struct planner *planner, const struct life *lives, uint32_t at)
{
    const struct graph_op *op = planner->graph->ops[at];
    const struct life *result = &lives[op->value[op->k.input_count]];
    if (op->k.output_count != 1 || result->first != at || result->writes != 1 ||
        !planner->options->backend->in_place(&op->k))
        return GRAPH_NONE;
    for (uint32_t t = 0; t < op->k.input_count; t++) {
        uint32_t block = planner->block[op->value[t]];
        if (block != GRAPH_NONE && planner->blocks[block].last == at && reads_in_step(planner, op, block))
            return block;
    }
    return GRAPH_NONE;
}

static HRESULT place_value(struct planner *planner, const struct life *lives, uint32_t value, uint32_t at)
{
    uint64_t size = planner->graph->values[value].size_bytes;
    uint32_t block = block_to_reuse(planner, lives, at);
    if (block == GRAPH_NONE)
        return add_block(planner, size, lives[value].first, lives[value].last, value, &planner->block[value]);
    struct plan_block *shared = &planner->blocks[block];
    shared->size = BASE_MAX(shared->size, size);
    shared->last = BASE_MAX(shared->last, lives[value].last);
    planner->block[value] = block;
    return S_OK;
}

static HRESULT place_values(struct planner *planner, const struct life *lives)
{
    HRESULT hr = S_OK;
    for (uint32_t i = 0; i < planner->graph->op_count; i++) {
        const struct graph_op *op = planner->graph->ops[i];
        for (uint32_t t = 0; SUCCEEDED(hr) && t < op->k.input_count + op->k.output_count; t++) {
            uint32_t value = op->value[t];
            if (planner->graph->values[value].place == GRAPH_TEMP && planner->block[value] == GRAPH_NONE)
                hr = place_value(planner, lives, value, i);
        }
    }
    return hr;
}

/* Two blocks per step at most; their numbers go into the step's offsets until the offsets are known. */
static HRESULT place_scratch(struct planner *planner, uint32_t at)
{
    struct graph_step *step = &planner->plan->steps[at];
    uint32_t shared = GRAPH_NONE, workers = GRAPH_NONE;
    uint64_t bytes;
    HRESULT hr = S_OK;
    if (step->scratch_bytes)
        hr = add_block(planner, step->scratch_bytes, at, at, GRAPH_NONE, &shared);
    if (SUCCEEDED(hr) && step->worker_scratch_stride) {
        if (!base_mul_u64(step->worker_scratch_stride, BASE_MAX(step->ranges, 1u), &bytes))
            return E_OUTOFMEMORY;
        hr = add_block(planner, bytes, at, at, GRAPH_NONE, &workers);
    }
    step->scratch_offset = shared;
    step->worker_scratch_offset = workers;
    return hr;
}

/* If ops of one level run concurrently, memory that one of them uses is in use during all of them. */
static HRESULT widen_lives(struct planner *planner)
{
    const struct graph_options *options = planner->options;
    const uint32_t count = planner->graph->op_count;
    if (!(options->backend->passes & ~options->disabled_passes & GRAPH_PASS_BIT(levels)))
        return S_OK;
    uint32_t *level = base_arena_alloc(&planner->graph->arena, (count + UINT64_C(1)) * 3 * sizeof(*level));
    if (!level || !graph_levels(planner->graph, level))
        return E_OUTOFMEMORY;
    uint32_t *first = level + count, *last = first + count; /* [step]: of its level */
    for (uint32_t i = 0; i < count; i++)
        first[i] = i && level[i] == level[i - 1] ? first[i - 1] : i;
    for (uint32_t i = count; i-- > 0;)
        last[i] = i + 1 < count && level[i] == level[i + 1] ? last[i + 1] : i;
    for (uint32_t i = 0; i < planner->block_count; i++) {
        planner->blocks[i].first = first[planner->blocks[i].first];
        planner->blocks[i].last = last[planner->blocks[i].last];
    }
    return S_OK;
}

/* Memory that a chain uses is in use during all of it; memory that must be zero, from the first chain to the last. */
static HRESULT widen_to_chains(struct planner *planner, uint32_t *out_zeroed)
{
    struct graph_plan *plan = planner->plan;
    uint32_t first = GRAPH_NONE, end = 0;
    for (uint32_t i = 0; i < plan->step_count; i++) {
        if (!plan->steps[i].chain)
            continue;
        first = BASE_MIN(first, i);
        end = i + plan->steps[i].chain;
        for (uint32_t b = 0; b < planner->block_count; b++) {
            struct plan_block *block = &planner->blocks[b];
            if (block->first > i && block->first < end)
                block->first = i;
            if (block->last >= i && block->last < end)
                block->last = end - 1;
        }
    }
    *out_zeroed = GRAPH_NONE;
    return plan->zeroed_bytes ? add_block(planner, plan->zeroed_bytes, first, end - 1, GRAPH_NONE, out_zeroed) : S_OK;
}

HRESULT plan_place_temporaries(struct planner *planner)
{
    struct graph_plan *plan = planner->plan;
    uint64_t blocks = planner->graph->value_count + UINT64_C(2) * plan->step_count + 2;
    uint32_t zeroed = GRAPH_NONE;
    struct life *lives = base_arena_alloc(&planner->graph->arena, (planner->graph->value_count + 1) * sizeof(*lives));
    planner->blocks = base_arena_alloc(&planner->graph->arena, blocks * sizeof(*planner->blocks));
    if (!lives || !planner->blocks)
        return E_OUTOFMEMORY;
    note_lives(planner->graph, lives);
    HRESULT hr = place_values(planner, lives);
    for (uint32_t i = 0; SUCCEEDED(hr) && i < plan->step_count; i++)
        hr = place_scratch(planner, i);
    if (SUCCEEDED(hr))
        hr = widen_lives(planner);
    if (SUCCEEDED(hr))
        hr = widen_to_chains(planner, &zeroed);
    if (SUCCEEDED(hr))
        hr = plan_place_blocks(planner->blocks, planner->block_count, planner->options->backend->alignment,
                               &plan->temp_bytes, &plan->temp_lower_bound);
    if (SUCCEEDED(hr) && planner->block_count) {
        plan->blocks = base_arena_copy(&plan->arena, planner->blocks, planner->block_count * sizeof(*plan->blocks));
        plan->block_count = planner->block_count;
        hr = plan->blocks ? S_OK : E_OUTOFMEMORY;
    }
    if (SUCCEEDED(hr) && zeroed != GRAPH_NONE)
        plan->zeroed_offset = planner->blocks[zeroed].offset;
    for (uint32_t i = 0; SUCCEEDED(hr) && i < plan->step_count; i++) {
        uint64_t *offsets[2] = { &plan->steps[i].scratch_offset, &plan->steps[i].worker_scratch_offset };
        for (uint32_t k = 0; k < 2; k++)
            *offsets[k] = *offsets[k] == GRAPH_NONE ? 0 : planner->blocks[*offsets[k]].offset;
    }
    return hr;
}
