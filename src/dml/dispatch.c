/* SPDX-License-Identifier: Apache-2.0 */
/* The work of a recorded dispatch. It is a snapshot: the binding table may be destroyed, an initializer may be reset.
 * Descriptors are resolved by the list, so running a dispatch needs no lookups, locks or allocations. */
#include "dml/dispatch_spirv.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/parallel.h"

#define STACK_SLOTS 64

/* Where to store a dispatch's buffers in the order of its slots. */
union slot_scratch {
    void *host;
    struct adapter_binding device;
};

struct dml_dispatch {
    struct adapter_dispatch base;
    atomic_uint refs;
    struct dml_compiled_operator *op;    /* kept; NULL for initializers */
    struct dml_initializer *initializer; /* kept; NULL for operators */
    atomic_bool ran;
    union slot_scratch *scratch;           /* for more than STACK_SLOTS slots, else NULL */
    _Atomic(struct dml_staging *) staging; /* NULL: no bindings have needed it yet */
    uint32_t target_count;
    struct dml_target targets[]; /* of an initializer; their operators are kept */
};

static const struct adapter_dispatch_ops dispatch_ops;

static struct dml_dispatch *dispatch_from(struct adapter_dispatch *base)
{
    return container_of(base, struct dml_dispatch, base);
}

static struct dml_device *dispatch_device(const struct dml_dispatch *dispatch)
{
    return dispatch->op ? dml_parent(dispatch->op) : dml_parent(dispatch->initializer);
}

/* ---- life ---- */

static uint32_t slots_needed(const struct dml_dispatch *dispatch)
{
    uint32_t slots = 0;
    if (dispatch->op)
        return dispatch->op->input_count + dispatch->op->output_count;
    for (uint32_t i = 0; i < dispatch->target_count; i++)
        slots = BASE_MAX(slots, dispatch->targets[i].op->input_count);
    return slots;
}

static void dispatch_destroy(struct dml_dispatch *dispatch)
{
    for (uint32_t i = 0; i < dispatch->target_count; i++)
        com_unref(&dispatch->targets[i].op->pageable.base);
    if (dispatch->initializer && !atomic_load(&dispatch->ran))
        atomic_fetch_sub(&dispatch->initializer->waiting, 1);
    dml_staging_destroy(dispatch_device(dispatch), atomic_load(&dispatch->staging));
    if (dispatch->initializer)
        com_unref(&dispatch->initializer->pageable.base);
    if (dispatch->op)
        com_unref(&dispatch->op->pageable.base);
    free(dispatch->scratch);
    free(dispatch);
}

static void snapshot_targets(struct dml_dispatch *dispatch, struct dml_initializer *initializer)
{
    dispatch->initializer = initializer;
    dispatch->target_count = initializer->target_count;
    for (uint32_t i = 0; i < initializer->target_count; i++) {
        dispatch->targets[i] = initializer->targets[i];
        com_ref(&dispatch->targets[i].op->pageable.base);
    }
    atomic_fetch_add(&initializer->waiting, 1);
}

struct adapter_dispatch *dml_dispatch_create(struct dml_pageable *dispatchable)
{
    struct dml_initializer *initializer = dml_as_initializer(dispatchable);
    uint32_t targets = initializer ? initializer->target_count : 0;
    struct dml_dispatch *dispatch = calloc(1, sizeof(*dispatch) + targets * sizeof(*dispatch->targets));
    if (!dispatch)
        return NULL;
    dispatch->base.ops = &dispatch_ops;
    atomic_init(&dispatch->refs, 1);
    atomic_init(&dispatch->ran, false);
    atomic_init(&dispatch->staging, NULL);
    com_ref(&dispatchable->base);
    dispatch->op = dml_as_compiled(dispatchable);
    dispatch->base.threads = dml_parent(dispatchable)->threads;
    dispatch->base.work = UINT64_MAX;
    if (dispatch->op && !dispatch->op->program.spirv) {
        const struct graph_plan *plan = dispatch->op->program.plan;
        dispatch->base.threads = plan->threads;
        dispatch->base.work = plan->work;
    }
    if (initializer)
        snapshot_targets(dispatch, initializer);
    uint32_t slots = slots_needed(dispatch);
    if (slots <= STACK_SLOTS)
        return &dispatch->base;
    dispatch->scratch = calloc(slots, sizeof(*dispatch->scratch));
    if (dispatch->scratch)
        return &dispatch->base;
    dispatch_destroy(dispatch);
    return NULL;
}

HRESULT dml_dispatch_stage(struct adapter_dispatch *base, dml_range_fn *range, const void *context)
{
    struct dml_dispatch *dispatch = dispatch_from(base);
    return dml_staging_extend(&dispatch->staging, dispatch->op, range, context);
}

static void dispatch_ref(struct adapter_dispatch *base)
{
    atomic_fetch_add(&dispatch_from(base)->refs, 1);
}

static void dispatch_unref(struct adapter_dispatch *base)
{
    if (atomic_fetch_sub(&dispatch_from(base)->refs, 1) == 1)
        dispatch_destroy(dispatch_from(base));
}

/* ---- at submission ---- */

static uint64_t binding_bound(const void *context, uint32_t descriptor)
{
    const struct adapter_binding *binding = (const struct adapter_binding *)context + descriptor;
    return binding->memory ? binding->size : 0;
}

static struct dml_range binding_range(const void *context, uint32_t descriptor)
{
    const struct adapter_binding *binding = (const struct adapter_binding *)context + descriptor;
    if (!binding->memory)
        return (struct dml_range){ 0 };
    /* Addresses are unique over all memory, regardless of its owner. */
    return (struct dml_range){ binding->resource_id, binding->offset, 1, binding->memory->address + binding->offset };
}

/* Bindings that are known only now. */
static HRESULT check_late(struct dml_dispatch *dispatch, const struct adapter_binding *bindings,
                          enum adapter_moment moment, char *message)
{
    bool copies;
    if (dml_hazard_execution(dispatch->op, binding_range, bindings, &copies, message))
        return E_INVALIDARG;
    if (copies && moment == ADAPTER_MOMENT_REBOUND &&
        !dml_staging_covers(atomic_load(&dispatch->staging), dispatch->op, binding_range, bindings)) {
        snprintf(message, DML_ERROR_BYTES,
                 "%s: an output is bound to the bytes of an input that is needed longer; the list was recorded without "
                 "a copy of that input, and cannot be executed with these bindings",
                 dispatch->op->what);
        return E_INVALIDARG;
    }
    if (!copies || moment == ADAPTER_MOMENT_REBOUND ||
        SUCCEEDED(dml_dispatch_stage(&dispatch->base, binding_range, bindings)))
        return S_OK;
    snprintf(message, DML_ERROR_BYTES, "%s: no memory for a copy of an input that an output overwrites",
             dispatch->op->what);
    return E_OUTOFMEMORY;
}

static HRESULT dispatch_check(struct adapter_dispatch *base, const struct adapter_binding *bindings, uint32_t count,
                              enum adapter_moment moment, char *message)
{
    struct dml_dispatch *dispatch = dispatch_from(base);
    const struct dml_compiled_operator *op = dispatch->op;
    const bool late = op && dml_compiled_volatile(op);
    struct dml_missing missing;
    bool lacks =
        late && moment != ADAPTER_MOMENT_SUBMITTED ? false
        : op                                       ? dml_missing_execution(op, binding_bound, bindings, &missing)
             : dml_missing_initialization(dispatch->targets, dispatch->target_count, binding_bound, bindings, &missing);
    (void)count; /* that of RecordDispatch: the descriptors that the program has */
    if (lacks) {
        char text[DML_ERROR_BYTES];
        dml_missing_print(&missing, text);
        snprintf(message, 512,
                 "%.380s in descriptor %u of its range; descriptors written elsewhere must be copied here", text,
                 missing.descriptor);
        return E_INVALIDARG;
    }
    /* Before a submission, bindings that are not late were staged when they were recorded. */
    HRESULT hr =
        op && (late || moment == ADAPTER_MOMENT_RECORDED) ? check_late(dispatch, bindings, moment, message) : S_OK;
    if (FAILED(hr))
        return hr;
    if (op && !atomic_load(&op->pageable.base.refs) && !atomic_exchange(&dispatch->op->warned_released, true))
        dml_warn(dispatch_device(dispatch), dispatch->op,
                 "ID3D12CommandQueue::ExecuteCommandLists: a dispatch of the released %s; it is executed", op->what);
    return S_OK;
}

/* ---- execution ---- */

static bool dispatch_first_run(struct dml_dispatch *dispatch)
{
    return !atomic_load(&dispatch->ran) && !atomic_exchange(&dispatch->ran, true);
}

static void *host_address(const struct adapter_binding *binding)
{
    return (char *)binding->memory->host + binding->offset;
}

/* NULL: none. */
static void *host_resource(const struct adapter_binding *bindings, uint32_t descriptor)
{
    return descriptor == GRAPH_NONE ? NULL : host_address(&bindings[descriptor]);
}

static uint64_t *host_tag(const struct dml_compiled_operator *op, void *persistent)
{
    return (uint64_t *)((char *)persistent + op->program.persistent_bytes - DML_TAG_BYTES);
}

/* Initialisation is checked at execution, since it may be recorded in the same list. Of commands that were recorded,
 * the execution is not known. */
static HRESULT check_initialized(struct dml_compiled_operator *op, bool recorded)
{
    if (atomic_load(&op->initialized))
        return S_OK;
    if (op->needs_initialization && recorded) {
        if (!atomic_exchange(&op->warned, true))
            dml_warn(dml_parent(op), op, "%s is recorded before its initialisation, which must be executed before it",
                     op->what);
        return S_OK;
    }
    if (op->needs_initialization) {
        dml_device_remove_parent(dml_parent(op), op, E_INVALIDARG, "%s is executed before its initialisation",
                                 op->what);
        return E_INVALIDARG;
    }
    if (!atomic_exchange(&op->warned, true))
        dml_warn(dml_parent(op), op, "%s is executed without initialisation, which it does not need", op->what);
    return S_OK;
}

static void note_initialized(struct dml_compiled_operator *op)
{
    if (atomic_fetch_add(&op->initialized, 1))
        dml_error(dml_parent(op), op, "%s is initialised more than once; the new persistent resource counts", op->what);
}

static HRESULT run_operator(struct dml_dispatch *dispatch, const struct adapter_binding *bindings,
                            union slot_scratch *scratch)
{
    struct dml_compiled_operator *op = dispatch->op;
    HRESULT hr = check_initialized(op, false);
    if (FAILED(hr))
        return hr;
    void **inputs = &scratch[0].host, **outputs = inputs + op->input_count;
    for (uint32_t i = 0; i < op->input_count; i++)
        inputs[i] =
            op->inputs[i].expect == DML_EXPECT_BUFFER ? host_address(&bindings[op->inputs[i].descriptor]) : NULL;
    for (uint32_t i = 0; i < op->output_count; i++)
        outputs[i] =
            op->outputs[i].expect == DML_EXPECT_BUFFER ? host_address(&bindings[op->outputs[i].descriptor]) : NULL;
    void *persistent = host_resource(bindings, op->persistent_descriptor);
    if (persistent && *host_tag(op, persistent) != op->id) {
        dml_device_remove_parent(dml_parent(op), op, E_INVALIDARG,
                                 "%s: the bound persistent resource was not initialised for this operator", op->what);
        return E_INVALIDARG;
    }
    const struct dml_staging *staging = atomic_load_explicit(&dispatch->staging, memory_order_acquire);
    if (staging)
        dml_staging_copy(staging, inputs);
    struct graph_buffers buffers = { inputs, outputs, host_resource(bindings, op->temp_descriptor), persistent };
    struct graph_tracer tracer;
    graph_plan_run(op->program.plan, &buffers, dml_trace_tracer(op, &tracer));
    return S_OK;
}

static HRESULT run_target(const struct dml_target *target, const struct adapter_binding *bindings,
                          union slot_scratch *scratch)
{
    struct dml_compiled_operator *op = target->op;
    void **owned = &scratch[0].host;
    for (uint32_t i = 0; i < op->input_count; i++)
        owned[i] = op->inputs[i].expect == DML_EXPECT_OWNED
                       ? host_address(&bindings[target->first + op->inputs[i].descriptor])
                       : NULL;
    void *persistent = host_resource(bindings, dml_target_persistent(target));
    HRESULT hr = graph_plan_initialize(op->program.plan, owned, persistent);
    if (persistent)
        *host_tag(op, persistent) = SUCCEEDED(hr) ? op->id : 0;
    if (FAILED(hr)) {
        dml_device_remove_parent(dml_parent(op), op, hr, "%s: no memory for initialising it", op->what);
        return hr;
    }
    note_initialized(op);
    return S_OK;
}

static HRESULT dispatch_run(struct adapter_dispatch *base, const struct adapter_binding *bindings, uint32_t count)
{
    struct dml_dispatch *dispatch = dispatch_from(base);
    union slot_scratch stack[STACK_SLOTS], *scratch = dispatch->scratch ? dispatch->scratch : stack;
    HRESULT hr = S_OK;
    (void)count;
    /* This library has its own pool state for the calling thread. */
    struct base_team before = base_parallel_enter(dispatch_device(dispatch)->threads);
    if (dispatch->op)
        hr = run_operator(dispatch, bindings, scratch);
    for (uint32_t i = 0; SUCCEEDED(hr) && i < dispatch->target_count; i++)
        hr = run_target(&dispatch->targets[i], bindings, scratch);
    if (!dispatch->op && dispatch_first_run(dispatch))
        atomic_fetch_sub(&dispatch->initializer->waiting, 1);
    base_parallel_leave(before);
    return hr;
}

/* ---- the same for compute pipelines ---- */

static struct adapter_binding device_resource(const struct adapter_binding *bindings, uint32_t descriptor)
{
    return descriptor == GRAPH_NONE ? (struct adapter_binding){ 0 } : bindings[descriptor];
}

static void device_slots(const struct dml_slot *slots, uint32_t count, enum dml_expect expect,
                         const struct adapter_binding *bindings, union slot_scratch *out)
{
    struct adapter_binding *to = &out[0].device;
    for (uint32_t i = 0; i < count; i++)
        to[i] = device_resource(bindings, slots[i].expect == expect ? slots[i].descriptor : GRAPH_NONE);
}

static HRESULT encode_operator(struct dml_dispatch *dispatch, const struct adapter_binding *bindings,
                               union slot_scratch *scratch, struct adapter_encoder *encoder)
{
    struct dml_compiled_operator *op = dispatch->op;
    union slot_scratch *outputs = scratch + op->input_count;
    HRESULT hr = check_initialized(op, encoder->recorded);
    if (FAILED(hr))
        return hr;
    device_slots(op->inputs, op->input_count, DML_EXPECT_BUFFER, bindings, scratch);
    device_slots(op->outputs, op->output_count, DML_EXPECT_BUFFER, bindings, outputs);
    const struct dml_staging *staging = atomic_load_explicit(&dispatch->staging, memory_order_acquire);
    if (staging)
        hr = dml_staging_encode(staging, &scratch[0].device, encoder);
    if (FAILED(hr))
        return hr;
    struct dml_spirv_buffers buffers = { &scratch[0].device, &outputs[0].device,
                                         device_resource(bindings, op->temp_descriptor),
                                         device_resource(bindings, op->persistent_descriptor) };
    struct adapter_tracer tracer;
    return dml_spirv_encode(op->program.spirv, &buffers, dml_trace_device_tracer(op, &tracer), encoder);
}

static HRESULT encode_target(const struct dml_target *target, const struct adapter_binding *bindings,
                             union slot_scratch *scratch, struct adapter_encoder *encoder)
{
    struct dml_compiled_operator *op = target->op;
    device_slots(op->inputs, op->input_count, DML_EXPECT_OWNED, bindings + target->first, scratch);
    struct dml_spirv_buffers buffers = { .inputs = &scratch[0].device,
                                         .persistent = device_resource(bindings, dml_target_persistent(target)) };
    note_initialized(op);
    return dml_spirv_encode_initialize(op->program.spirv, &buffers, encoder);
}

static HRESULT dispatch_encode(struct adapter_dispatch *base, const struct adapter_binding *bindings, uint32_t count,
                               struct adapter_encoder *encoder)
{
    struct dml_dispatch *dispatch = dispatch_from(base);
    union slot_scratch stack[STACK_SLOTS], *scratch = dispatch->scratch ? dispatch->scratch : stack;
    HRESULT hr = S_OK;
    (void)count;
    if (dispatch->op)
        return encode_operator(dispatch, bindings, scratch, encoder);
    for (uint32_t i = 0; SUCCEEDED(hr) && i < dispatch->target_count; i++)
        hr = encode_target(&dispatch->targets[i], bindings, scratch, encoder);
    if (SUCCEEDED(hr) && dispatch_first_run(dispatch))
        atomic_fetch_sub(&dispatch->initializer->waiting, 1);
    return hr;
}

static void dispatch_describe(struct adapter_dispatch *base, char *out, size_t size)
{
    const struct dml_dispatch *dispatch = dispatch_from(base);
    if (dispatch->op)
        dml_dispatch_describe(dispatch->op, out, size);
    else
        snprintf(out, size, "an initialisation of %u operators", dispatch->target_count);
}

void dml_dispatch_describe(struct dml_compiled_operator *op, char *out, size_t size)
{
    const struct dml_spirv *spirv = op->program.spirv;
    char name[128];
    com_object_name(&op->pageable.base, name, sizeof(name));
    snprintf(out, size, "%s \"%s\" (operator %llu)%s%s", op->what, name, (unsigned long long)op->id,
             spirv ? ", with the shaders " : "", spirv ? dml_spirv_rows(spirv) : "");
}

/* ---- accesses of its bindings ---- */

static enum adapter_access operator_access(const struct dml_compiled_operator *op, uint32_t slot, uint64_t *out_bytes)
{
    *out_bytes = op->program.temp_bytes;
    if (slot == op->temp_descriptor)
        return ADAPTER_ACCESS_WRITE;
    *out_bytes = op->program.persistent_bytes;
    if (slot == op->persistent_descriptor)
        return ADAPTER_ACCESS_READ;
    for (uint32_t i = 0; i < op->input_count; i++) {
        *out_bytes = op->inputs[i].used_bytes;
        if (op->inputs[i].expect == DML_EXPECT_BUFFER && op->inputs[i].descriptor == slot)
            return ADAPTER_ACCESS_READ;
    }
    for (uint32_t i = 0; i < op->output_count; i++) {
        *out_bytes = op->outputs[i].used_bytes;
        if (op->outputs[i].expect == DML_EXPECT_BUFFER && op->outputs[i].descriptor == slot)
            return ADAPTER_ACCESS_WRITE;
    }
    return ADAPTER_ACCESS_NONE;
}

/* An initializer has, for each target, the owned inputs followed by their transforms' results. */
static enum adapter_access target_access(const struct dml_target *target, uint32_t slot, uint64_t *out_bytes)
{
    const struct dml_compiled_operator *op = target->op;
    *out_bytes = op->program.persistent_bytes;
    if (slot == dml_target_persistent(target))
        return ADAPTER_ACCESS_WRITE;
    for (uint32_t i = 0; i < op->input_count; i++) {
        *out_bytes = op->inputs[i].bytes;
        if (op->inputs[i].expect == DML_EXPECT_OWNED && target->first + op->inputs[i].descriptor == slot)
            return ADAPTER_ACCESS_READ;
    }
    return ADAPTER_ACCESS_NONE;
}

static enum adapter_access dispatch_access(struct adapter_dispatch *base, uint32_t slot, uint64_t *out_bytes)
{
    const struct dml_dispatch *dispatch = dispatch_from(base);
    enum adapter_access access = ADAPTER_ACCESS_NONE;
    if (dispatch->op)
        return operator_access(dispatch->op, slot, out_bytes);
    for (uint32_t i = 0; access == ADAPTER_ACCESS_NONE && i < dispatch->target_count; i++)
        access = target_access(&dispatch->targets[i], slot, out_bytes);
    return access;
}

static const struct adapter_dispatch_ops dispatch_ops = {
    .ref = dispatch_ref,
    .unref = dispatch_unref,
    .check = dispatch_check,
    .run = dispatch_run,
    .encode = dispatch_encode,
    .describe = dispatch_describe,
    .access = dispatch_access,
};
