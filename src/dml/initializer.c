/* SPDX-License-Identifier: Apache-2.0 */
/* IDMLOperatorInitializer: a set of compiled operators whose state is initialised by one dispatch. */
#include "dml/dml.h"

#include <stdlib.h>

#include <DirectMLGuids.h>

static void targets_destroy(struct dml_target *targets, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        com_unref(&targets[i].op->pageable.base);
    free(targets);
}

static void initializer_destroy(struct com_object *object)
{
    struct dml_initializer *initializer = (struct dml_initializer *)object;
    targets_destroy(initializer->targets, initializer->target_count);
    com_finish(object);
    free(initializer);
}

static const IID *const initializer_iids[] = {
    &IID_IDMLObject, &IID_IDMLDeviceChild, &IID_IDMLPageable, &IID_IDMLDispatchable, &IID_IDMLOperatorInitializer, NULL,
};

static const struct com_class initializer_class = { "IDMLOperatorInitializer", initializer_iids, initializer_destroy,
                                                    NULL, dml_pageable_released };

static HRESULT targets_check(struct dml_device *device, const char *method, UINT count,
                             IDMLCompiledOperator *const *operators)
{
    if (count && !operators)
        return dml_fail(device, NULL, E_INVALIDARG, "%s: operators is NULL, operatorCount is %u", method, count);
    for (UINT i = 0; i < count; i++) {
        if (!com_child(device, operators[i], &dml_compiled_operator_vtbl))
            return dml_fail(device, NULL, E_INVALIDARG, "%s: operators[%u] is %s", method, i,
                            operators[i] ? "no compiled operator of this device" : "NULL");
    }
    return S_OK;
}

static int compare_pointers(const void *a, const void *b)
{
    uintptr_t left = (uintptr_t)((const struct dml_target *)a)->op,
              right = (uintptr_t)((const struct dml_target *)b)->op;
    return (left > right) - (left < right);
}

/* Whether an operator occurs twice. `scratch` has room for all. */
static bool has_duplicate(struct dml_target *scratch, UINT count)
{
    bool found = false;
    qsort(scratch, count, sizeof(*scratch), compare_pointers);
    for (UINT i = 1; i < count; i++)
        found |= scratch[i].op == scratch[i - 1].op;
    return found;
}

/* New targets, not kept yet. */
static HRESULT targets_create(struct dml_device *device, const char *method, UINT count,
                              IDMLCompiledOperator *const *operators, struct dml_target **out)
{
    struct dml_target *targets = calloc((size_t)count + 1, sizeof(*targets));
    if (!targets)
        return E_OUTOFMEMORY;
    for (UINT i = 0; i < count; i++)
        targets[i].op = (struct dml_compiled_operator *)operators[i];
    if (has_duplicate(targets, count)) {
        free(targets);
        return dml_fail(device, NULL, E_INVALIDARG, "%s: an operator occurs twice among the %u", method, count);
    }
    for (UINT i = 0; i < count; i++)
        targets[i].op = (struct dml_compiled_operator *)operators[i];
    *out = targets;
    return S_OK;
}

static HRESULT initializer_set(struct dml_device *device, struct dml_initializer *initializer, const char *method,
                               UINT count, IDMLCompiledOperator *const *operators)
{
    struct dml_target *targets = NULL, *old = initializer->targets;
    uint32_t old_count = initializer->target_count, descriptors = 0;
    HRESULT hr = targets_create(device, method, count, operators, &targets);
    if (FAILED(hr))
        return hr;
    for (UINT i = 0; i < count; i++) {
        struct dml_compiled_operator *op = targets[i].op;
        com_ref(&op->pageable.base);
        targets[i].first = descriptors;
        descriptors += op->owned_count + (op->program.persistent_bytes != 0);
    }
    initializer->targets = targets;
    initializer->target_count = count;
    initializer->descriptor_count = descriptors;
    targets_destroy(old, old_count);
    return S_OK;
}

HRESULT dml_device_CreateOperatorInitializer(DML_DEVICE, UINT count, IDMLCompiledOperator *const *operators,
                                             REFIID riid, void **out)
{
    static const char method[] = "IDMLDevice::CreateOperatorInitializer";
    struct dml_device *device = dml_device_from(iface);
    HRESULT hr = dml_create_begin_strict(device, method, out);
    if (SUCCEEDED(hr))
        hr = targets_check(device, method, count, operators);
    if (FAILED(hr))
        return hr;
    struct dml_initializer *initializer = calloc(1, sizeof(*initializer));
    if (!initializer)
        return E_OUTOFMEMORY;
    com_init(&initializer->pageable.base, &dml_initializer_vtbl, &initializer_class, &device->base);
    atomic_init(&initializer->pageable.residency, 1);
    atomic_init(&initializer->generation, 0);
    atomic_init(&initializer->waiting, 0);
    hr = initializer_set(device, initializer, method, count, operators);
    if (SUCCEEDED(hr))
        return com_return(&initializer->pageable.base, riid, out);
    com_Release(initializer);
    return hr;
}

/* Intermediate results are in memory that is allocated for the run: no temporary buffer. */
static COM_STRUCT(DML_BINDING_PROPERTIES)
    dml_initializer_GetBindingProperties(IDMLOperatorInitializer *iface COM_RESULT(DML_BINDING_PROPERTIES))
{
    const struct dml_initializer *initializer = (const struct dml_initializer *)iface;
    COM_RETURN((DML_BINDING_PROPERTIES){ BASE_MAX(initializer->descriptor_count, 1), 0, 0 });
}

static HRESULT dml_initializer_Reset(IDMLOperatorInitializer *iface, UINT count, IDMLCompiledOperator *const *operators)
{
    static const char method[] = "IDMLOperatorInitializer::Reset";
    struct dml_initializer *initializer = (struct dml_initializer *)iface;
    struct dml_device *device = dml_parent(initializer);
    HRESULT hr =
        dml_device_removed(device) ? DXGI_ERROR_DEVICE_REMOVED : targets_check(device, method, count, operators);
    if (SUCCEEDED(hr))
        hr = initializer_set(device, initializer, method, count, operators);
    if (FAILED(hr))
        return hr;
    device->d3d12->lpVtbl->ForgetOwner(device->d3d12, initializer);
    atomic_fetch_add(&initializer->generation, 1);
    if (atomic_load(&initializer->waiting))
        dml_warn(device, initializer,
                 "%s: a recorded dispatch has not been executed yet; it initialises the former operators", method);
    return S_OK;
}

const IDMLOperatorInitializerVtbl dml_initializer_vtbl = {
    COM_CHILD_METHODS,
    .GetBindingProperties = dml_initializer_GetBindingProperties,
    .Reset = dml_initializer_Reset,
};
