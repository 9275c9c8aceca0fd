/* SPDX-License-Identifier: Apache-2.0 */
/* Constants and packed weights: in the store, or with the keeper. */
#include "graph/plan/planner.h"

#include "graph/ir/constant.h"
#include "graph/ir/derive.h"
#include "graph/ir/view.h"

#include "base/pages.h"

/* Smaller constants are copied into the plan: looking them up would cost more than they do. */
#define SHARED_BYTES_MIN 4096

#define SCRATCH_BYTES_MAX (UINT64_C(32) << 20) /* larger copies are not kept for the next constant */

static const struct base_hash *content_of(struct planner *planner, uint32_t value)
{
    const struct graph_value *constant = &planner->graph->values[value];
    struct plan_content *content = &planner->contents[value];
    if (!content->known && constant->made)
        content->hash = base_hash_large(constant->made, constant->size_bytes);
    else if (!content->known) /* the zeros at the end follow from the requested size */
        content->hash = base_hash_large(planner->scratch_value == value ? planner->scratch : constant->given,
                                        constant->given_bytes);
    content->known = true;
    return &content->hash;
}

/* No reader besides one that is being served: its bytes are read for the last time. */
static bool is_last(const struct planner *planner, uint32_t value)
{
    return planner->readers[value] == 1;
}

static void copy(struct planner *planner, uint32_t value, bool last, void *to)
{
    if (last)
        graph_constant_take(planner->graph, value, to);
    else
        graph_constant_copy(&planner->graph->values[value], to);
}

static void release_scratch(struct planner *planner)
{
    base_pages_release(planner->scratch, planner->scratch_bytes);
    planner->scratch = NULL;
    planner->scratch_bytes = 0;
    planner->scratch_value = GRAPH_NONE;
}

/* All bytes of the constant, aligned, until the next call; NULL if out of memory. One buffer serves all constants that
 * must be copied for that: it stays in the caches and is allocated once. */
static const void *aligned_bytes(struct planner *planner, uint32_t value)
{
    const struct graph_value *constant = &planner->graph->values[value];
    const void *ready = planner->known[value].data ? planner->known[value].data : graph_constant_ready(constant);
    if (ready || planner->scratch_value == value)
        return ready ? ready : planner->scratch;
    if (planner->scratch_bytes < constant->size_bytes) {
        release_scratch(planner);
        planner->scratch = base_pages_acquire(&planner->graph->pages, constant->size_bytes);
        planner->scratch_bytes = planner->scratch ? constant->size_bytes : 0;
    }
    planner->scratch_value = planner->scratch ? value : GRAPH_NONE;
    if (planner->scratch)
        copy(planner, value, is_last(planner, value), planner->scratch);
    return planner->scratch;
}

/* In a blob of the store, which the plan holds, or with the keeper. */
static HRESULT take(struct planner *planner, const struct graph_key *key, const struct graph_keeping *keeping,
                    struct plan_constant *out)
{
    struct graph_plan *plan = planner->plan;
    if (planner->options->keep)
        return plan_keep(planner, key, keeping, out);
    struct graph_blob *blob = graph_store_acquire(plan->store, key, keeping->bytes, keeping->fill, keeping->context);
    if (!blob)
        return E_OUTOFMEMORY;
    plan->blobs[plan->blob_count++] = blob;
    out->data = graph_blob_data(blob);
    return S_OK;
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
    HRESULT hr = plan_derive_constant(planner, value);
    const char *data = SUCCEEDED(hr) ? aligned_bytes(planner, value) : NULL;
    if (!data)
        return FAILED(hr) ? hr : E_OUTOFMEMORY;
    struct packing packing = { planner->options->backend, step,
                               data + graph_view_byte_offset(&step->op.tensors[input]) };
    const struct graph_key key = { *content_of(planner, value), planner->layouts[at] };
    const struct graph_keeping keeping = { bytes, planner->later, NULL, fill_packed, &packing };
    if (planner->scratch_value == value &&
        is_last(planner, value)) /* the caller's bytes are not packed but this copy */
        graph_constant_release(planner->graph, value);
    hr = take(planner, &key, &keeping, &planner->shared[at]);
    if (planner->scratch_bytes > SCRATCH_BYTES_MAX)
        release_scratch(planner);
    return hr;
}

struct plain {
    struct planner *planner;
    uint32_t value;
    bool last;
};

static void fill_plain(void *context, void *data)
{
    const struct plain *plain = context;
    copy(plain->planner, plain->value, plain->last, data);
}

/* The store has the constant, from where all later readers get it: nothing has to keep the caller's bytes, or the
 * graph's. */
static bool moves(const struct planner *planner, uint32_t value)
{
    return !planner->options->keep && !graph_derivations_read(planner->graph, value);
}

/* To be copied by a keeper, which needs no alignment; NULL: by fill_plain. */
static const void *bytes_of(const struct graph_value *constant)
{
    return !constant->made && constant->given_bytes == constant->size_bytes ? constant->given
                                                                            : graph_constant_ready(constant);
}

static HRESULT copy_constant(struct planner *planner, uint32_t value)
{
    const struct graph_value *constant = &planner->graph->values[value];
    void *copy = base_arena_alloc(&planner->plan->arena, constant->size_bytes);
    if (!copy)
        return E_OUTOFMEMORY;
    graph_constant_copy(constant, copy);
    planner->known[value].data = copy;
    return S_OK;
}

HRESULT plan_share_constant(struct planner *planner, uint32_t value)
{
    struct graph_value *constant = &planner->graph->values[value];
    HRESULT hr = plan_derive_constant(planner, value);
    if (FAILED(hr))
        return hr;
    if (!planner->plan->store || constant->size_bytes < SHARED_BYTES_MIN)
        return copy_constant(planner, value);
    const struct graph_key key = { .content = *content_of(planner, value) };
    struct plain plain = { planner, value, moves(planner, value) };
    const struct graph_keeping keeping = { constant->size_bytes, planner->later, bytes_of(constant), fill_plain,
                                           &plain };
    hr = take(planner, &key, &keeping, &planner->known[value]);
    if (SUCCEEDED(hr) && plain.last)
        graph_constant_release(planner->graph, value);
    return hr;
}

HRESULT plan_keep_constants(struct planner *planner, uint32_t at)
{
    const struct graph_op *op = planner->graph->ops[at];
    uint32_t packed = planner->plan->steps[at].op.packed_input;
    const bool shared = planner->shared[at].data || planner->shared[at].kept;
    for (uint32_t t = 0; t < op->k.input_count; t++) {
        uint32_t value = op->value[t];
        if (planner->graph->values[value].place != GRAPH_CONSTANT)
            continue;
        HRESULT hr = shared && packed == t + 1 ? S_OK : plan_know_constant(planner, value);
        if (FAILED(hr))
            return hr;
        plan_forget_reader(planner, value);
    }
    return S_OK;
}
