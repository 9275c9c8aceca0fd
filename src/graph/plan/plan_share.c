/* SPDX-License-Identifier: Apache-2.0 */
/* Constants and packed weights in the device's store. */
#include "graph/plan/planner.h"

#include "graph/ir/constant.h"
#include "graph/ir/view.h"

#include "base/pages.h"

/* Smaller constants are copied into the plan: looking them up would cost more than they do. */
#define SHARED_BYTES_MIN 4096

static const struct base_hash *content_of(struct planner *planner, uint32_t value)
{
    const struct graph_value *constant = &planner->graph->values[value];
    struct plan_content *content = &planner->contents[value];
    if (!content->known && constant->made)
        content->hash = base_hash(constant->made, constant->size_bytes);
    else if (!content->known) /* the zeros at the end follow from the requested size */
        content->hash =
            base_hash(planner->scratch_value == value ? planner->scratch : constant->given, constant->given_bytes);
    content->known = true;
    return &content->hash;
}

/* All bytes of the constant, aligned, until the next call; NULL if out of memory. One buffer serves all constants that
 * must be copied for that: it stays in the caches and is allocated once. */
static const void *aligned_bytes(struct planner *planner, uint32_t value)
{
    const struct graph_value *constant = &planner->graph->values[value];
    const void *ready = graph_constant_ready(constant);
    if (ready || planner->scratch_value == value)
        return ready ? ready : planner->scratch;
    if (planner->scratch_bytes < constant->size_bytes) {
        base_pages_release(planner->scratch, planner->scratch_bytes);
        planner->scratch = base_pages_acquire(&planner->graph->pages, constant->size_bytes);
        planner->scratch_bytes = planner->scratch ? constant->size_bytes : 0;
    }
    planner->scratch_value = planner->scratch ? value : GRAPH_NONE;
    if (planner->scratch)
        graph_constant_copy(constant, planner->scratch);
    return planner->scratch;
}

/* The blob's bytes, kept by the plan; NULL if out of memory. */
static const void *take(struct planner *planner, const struct graph_key *key, uint64_t bytes, graph_fill_fn *fill,
                        void *context)
{
    struct graph_plan *plan = planner->plan;
    struct graph_blob *blob = graph_store_acquire(plan->store, key, bytes, fill, context);
    if (!blob)
        return NULL;
    plan->blobs[plan->blob_count++] = blob;
    return graph_blob_data(blob);
}

struct packing {
    const struct graph_backend *backend;
    const struct graph_step *step;
    const void *source;
};

static void fill_packed(void *context, void *data)
{
    const struct packing *packing = context;
    packing->backend->pack(packing->step, packing->source, data);
}

HRESULT plan_share_packed(struct planner *planner, uint32_t at, uint64_t bytes)
{
    const struct graph_step *step = &planner->plan->steps[at];
    uint32_t input = step->op.packed_input - 1, value = planner->graph->ops[at]->value[input];
    const char *data = aligned_bytes(planner, value);
    if (!data)
        return E_OUTOFMEMORY;
    const struct graph_backend *backend = planner->options->backend;
    struct packing packing = { backend, step, data + graph_view_byte_offset(&step->op.tensors[input]) };
    struct graph_key key = { *content_of(planner, value), backend->pack_layout(step) };
    planner->shared[at] = take(planner, &key, bytes, fill_packed, &packing);
    return planner->shared[at] ? S_OK : E_OUTOFMEMORY;
}

static void fill_plain(void *context, void *data)
{
    graph_constant_copy(context, data);
}

static const void *copy_constant(struct planner *planner, const struct graph_value *constant)
{
    void *copy = base_arena_alloc(&planner->plan->arena, constant->size_bytes);
    if (copy)
        graph_constant_copy(constant, copy);
    return copy;
}

const void *plan_share_constant(struct planner *planner, uint32_t value)
{
    struct graph_value *constant = &planner->graph->values[value];
    if (!planner->plan->store || constant->size_bytes < SHARED_BYTES_MIN)
        return copy_constant(planner, constant);
    struct graph_key key = { .content = *content_of(planner, value) };
    return take(planner, &key, constant->size_bytes, fill_plain, constant);
}

HRESULT plan_keep_constants(struct planner *planner, uint32_t at)
{
    const struct graph_op *op = planner->graph->ops[at];
    uint32_t packed = planner->plan->steps[at].op.packed_input;
    for (uint32_t t = 0; t < op->k.input_count; t++) {
        uint32_t value = op->value[t];
        if (planner->graph->values[value].place != GRAPH_CONSTANT)
            continue;
        bool shared = planner->shared[at] && packed == t + 1;
        if (!shared && !planner->known[value] && !(planner->known[value] = plan_share_constant(planner, value)))
            return E_OUTOFMEMORY;
        if (!--planner->readers[value])
            graph_constant_release(planner->graph, value);
    }
    return S_OK;
}
