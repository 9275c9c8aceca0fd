/* SPDX-License-Identifier: Apache-2.0 */
/* The readers of constants, the time at which deferred ones are computed, and constants that leave the host: the keeper
 * (keep.h) takes each when the first step that needs it is planned, and then the graph releases it. */
#include "graph/plan/planner.h"

#include "graph/ir/constant.h"
#include "graph/ir/derive.h"
#include "graph/ir/view.h"

struct plan_kept {
    bool used;
    struct graph_key key;
    uint64_t bytes;
    struct graph_kept kept;
};

/* Of deferred transforms, only those whose results are read, by a step or by a transform after them. */
static void count_deferred(struct planner *planner)
{
    const struct graph *graph = planner->graph;
    for (uint32_t i = graph->deferred_count; i-- > 0;) {
        const struct graph_derivation *d = &graph->deferred[i];
        bool read = false;
        for (uint32_t t = 0; d->run && t < d->output_count; t++)
            read |= planner->readers[d->values[d->input_count + t]] > 0;
        for (uint32_t t = 0; read && t < d->input_count; t++)
            planner->readers[d->values[t]]++;
    }
}

/* Twice the largest possible number: one for each step and each value. */
static HRESULT allocate_kept(struct planner *planner)
{
    const uint64_t most = 2 * ((uint64_t)planner->graph->op_count + planner->graph->value_count);
    uint64_t capacity = 16;
    while (capacity < most)
        capacity *= 2;
    if (capacity > UINT32_C(1) << 31)
        return E_OUTOFMEMORY;
    planner->kept = base_arena_alloc(&planner->graph->arena, capacity * sizeof(*planner->kept));
    planner->kept_mask = (uint32_t)capacity - 1;
    return planner->kept ? S_OK : E_OUTOFMEMORY;
}

/* Unused values, whose readers a pass removed, are released now. Of owned inputs only the bytes that are read count:
 * the caller's memory may end after the last element, before its rounded-up size. */
HRESULT plan_count_readers(struct planner *planner)
{
    struct graph *graph = planner->graph;
    for (uint32_t i = 0; i < graph->op_count; i++)
        for (uint32_t t = 0; t < graph->ops[i]->k.input_count; t++) {
            uint32_t value = graph->ops[i]->value[t];
            uint64_t *bytes = &planner->owned_bytes[value];
            planner->readers[value]++;
            if (graph->values[value].place == GRAPH_OWNED)
                *bytes = BASE_MAX(*bytes, graph_view_span_bytes(&graph->ops[i]->k.tensors[t]));
        }
    for (uint32_t v = 0; v < graph->value_count; v++)
        if (graph->values[v].place == GRAPH_CONSTANT && planner->readers[v])
            planner->later += graph->values[v].size_bytes;
    for (uint32_t i = 0; i < graph->derivation_count; i++) /* handled at the end (plan_derive.c) */
        for (uint32_t t = 0; t < graph->derivations[i].input_count; t++)
            planner->readers[graph->derivations[i].values[t]]++;
    count_deferred(planner);
    for (uint32_t v = 0; v < graph->value_count; v++)
        if (graph->values[v].place == GRAPH_CONSTANT && !planner->readers[v])
            graph_constant_release(graph, v);
    return planner->options->keep ? allocate_kept(planner) : S_OK;
}

void plan_forget_reader(struct planner *planner, uint32_t value)
{
    if (!--planner->readers[value])
        graph_constant_release(planner->graph, value);
}

HRESULT plan_derive_constant(struct planner *planner, uint32_t value)
{
    struct graph *graph = planner->graph;
    const uint32_t number = graph->values[value].deferred;
    if (!number)
        return S_OK;
    const struct graph_derivation d = graph->deferred[number - 1];
    for (uint32_t t = 0; t < d.input_count; t++) {
        HRESULT hr = plan_derive_constant(planner, d.values[t]);
        if (FAILED(hr))
            return hr;
    }
    if (!graph_constant_derive(graph, value))
        return E_OUTOFMEMORY;
    for (uint32_t t = 0; t < d.input_count; t++)
        plan_forget_reader(planner, d.values[t]);
    for (uint32_t t = d.input_count; t < d.input_count + d.output_count; t++)
        if (!planner->readers[d.values[t]])
            graph_constant_release(graph, d.values[t]);
    return S_OK;
}

HRESULT plan_keep(struct planner *planner, const struct graph_key *key, const struct graph_keeping *keeping,
                  struct plan_constant *out)
{
    uint32_t at = (uint32_t)(key->content.low ^ key->layout.low) & planner->kept_mask;
    while (planner->kept[at].used &&
           (planner->kept[at].bytes != keeping->bytes || memcmp(&planner->kept[at].key, key, sizeof(*key)) != 0))
        at = (at + 1) & planner->kept_mask;
    struct plan_kept *kept = &planner->kept[at];
    HRESULT hr = kept->used ? S_OK : planner->options->keep(planner->options->context, keeping, &kept->kept);
    if (FAILED(hr))
        return hr;
    *kept = (struct plan_kept){ true, *key, keeping->bytes, kept->kept };
    planner->later -= BASE_MIN(planner->later, keeping->bytes);
    struct graph_kept *copy = base_arena_copy(&planner->plan->arena, &kept->kept, sizeof(kept->kept));
    out->kept = copy;
    return copy ? S_OK : E_OUTOFMEMORY;
}
