/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of inputs that outputs overlap: in-place execution requires that each element is read before it is written; if
 * a program cannot guarantee that, it reads a copy. The memory belongs to the dispatch, not to the temporary resource,
 * whose size is queried before anything is bound: few operators are ever executed so. */
#include "dml/dispatch_spirv.h"

#include "base/parallel.h"

#include <stdlib.h>

#include <DirectMLGuids.h>

struct staged {
    uint32_t input;
    uint64_t offset, bytes;
    struct dml_compiled_operator *mover; /* copies from an address that changes after it was recorded; else NULL */
};

/* Immutable; bindings that need more get another one. */
struct dml_staging {
    struct dml_staging *older; /* submissions may still use it */
    struct adapter_memory *memory;
    uint32_t count;
    struct staged inputs[];
};

void dml_staging_destroy(struct dml_device *device, struct dml_staging *staging)
{
    while (staging) {
        struct dml_staging *older = staging->older;
        device->d3d12->lpVtbl->DestroyMemory(device->d3d12, staging->memory);
        for (uint32_t i = 0; i < staging->count; i++)
            if (staging->inputs[i].mover)
                com_Release(staging->inputs[i].mover);
        free(staging);
        staging = older;
    }
}

static bool staged_before(const struct dml_staging *staging, uint32_t input)
{
    for (uint32_t i = 0; staging && i < staging->count; i++)
        if (staging->inputs[i].input == input)
            return true;
    return false;
}

/* Bytes to copy: the application's memory may end after the last element. */
static uint64_t copied_bytes(const struct dml_compiled_operator *op, uint32_t input)
{
    return op->program.spirv ? op->inputs[input].bytes : graph_aliases_bytes_read(op->program.aliases, input);
}

/* The addresses of a copy command are part of its recording, those of an operator can change. */
static HRESULT make_mover(struct dml_device *device, struct staged *staged)
{
    const UINT sizes[] = { 1, 1, 1, (UINT)(staged->bytes / 4) };
    const DML_BUFFER_TENSOR_DESC words = {
        DML_TENSOR_DATA_TYPE_UINT32, DML_TENSOR_FLAG_NONE, ARRAY_SIZE(sizes), sizes, NULL, staged->bytes
    };
    const DML_TENSOR_DESC tensor = { DML_TENSOR_TYPE_BUFFER, &words };
    const DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC identity = { &tensor, &tensor, NULL };
    const DML_OPERATOR_DESC desc = { DML_OPERATOR_ELEMENT_WISE_IDENTITY, &identity };
    IDMLDevice1 *iface = (IDMLDevice1 *)device;
    IDMLOperator *op = NULL;
    IDMLCompiledOperator *mover = NULL;
    if (staged->bytes / 4 > UINT32_MAX)
        return E_OUTOFMEMORY;
    HRESULT hr = dml_device_CreateOperator(iface, &desc, &IID_IDMLOperator, (void **)&op);
    if (FAILED(hr))
        return hr;
    hr = dml_device_CompileOperator(iface, op, DML_EXECUTION_FLAG_DESCRIPTORS_VOLATILE, &IID_IDMLCompiledOperator,
                                    (void **)&mover);
    com_Release(op);
    staged->mover = (struct dml_compiled_operator *)mover;
    return hr;
}

static HRESULT make_movers(struct dml_compiled_operator *op, struct dml_staging *staging)
{
    HRESULT hr = S_OK;
    if (!dml_parent(op)->records_at_once || !dml_compiled_volatile(op))
        return S_OK;
    for (uint32_t i = 0; SUCCEEDED(hr) && i < staging->count; i++)
        hr = make_mover(dml_parent(op), &staging->inputs[i]);
    return hr;
}

static HRESULT staging_create(struct dml_compiled_operator *op, struct dml_staging *older, dml_range_fn *range,
                              const void *context, struct dml_staging **out)
{
    AnydmlDevice *d3d12 = dml_parent(op)->d3d12;
    uint64_t bytes = 0;
    struct dml_staging *staging = calloc(1, sizeof(*staging) + op->input_count * sizeof(*staging->inputs));
    if (!staging)
        return E_OUTOFMEMORY;
    for (uint32_t i = 0; i < op->input_count; i++) {
        if (!staged_before(older, i) && !dml_hazard_copy(op, range, context, i))
            continue;
        struct staged *staged = &staging->inputs[staging->count++];
        *staged = (struct staged){ i, bytes, copied_bytes(op, i), NULL };
        bytes += base_align_up(staged->bytes, DML_TEMPORARY_BUFFER_ALIGNMENT);
    }
    if (older && staging->count == older->count) {
        free(staging);
        *out = older;
        return S_OK;
    }
    char why[ADAPTER_MESSAGE_BYTES];
    HRESULT hr = d3d12->lpVtbl->CreateMemory(d3d12, ADAPTER_MEMORY_DEVICE, bytes, &staging->memory, why);
    if (FAILED(hr) && *why)
        dml_error(dml_parent(op), op, "%s: a copy of inputs that outputs overwrite: %s", op->what, why);
    if (SUCCEEDED(hr))
        hr = make_movers(op, staging);
    if (SUCCEEDED(hr))
        *out = staging;
    else
        dml_staging_destroy(dml_parent(op), staging);
    return hr;
}

bool dml_staging_covers(const struct dml_staging *staging, const struct dml_compiled_operator *op, dml_range_fn *range,
                        const void *context)
{
    for (uint32_t i = 0; i < op->input_count; i++)
        if (dml_hazard_copy(op, range, context, i) && !staged_before(staging, i))
            return false;
    return true;
}

HRESULT dml_staging_extend(_Atomic(struct dml_staging *) *staging, struct dml_compiled_operator *op,
                           dml_range_fn *range, const void *context)
{
    struct dml_staging *older = atomic_load(staging), *next;
    for (;;) {
        HRESULT hr = staging_create(op, older, range, context, &next);
        if (FAILED(hr) || next == older)
            return hr;
        next->older = older;
        if (atomic_compare_exchange_strong(staging, &older, next))
            break;
        next->older = NULL; /* another thread was quicker */
        dml_staging_destroy(dml_parent(op), next);
    }
    for (uint32_t i = 0; i < next->count; i++)
        if (!staged_before(older, next->inputs[i].input))
            dml_info(dml_parent(op), op,
                     "%s: an output is bound to the bytes of input %u, which is needed longer: it is copied first",
                     op->what, next->inputs[i].input);
    return S_OK;
}

/* ---- execution ---- */

void dml_staging_copy(const struct dml_staging *staging, void **inputs)
{
    for (uint32_t i = 0; i < staging->count; i++) {
        const struct staged *staged = &staging->inputs[i];
        char *copy = (char *)staging->memory->host + staged->offset;
        base_parallel_copy(copy, inputs[staged->input], staged->bytes);
        inputs[staged->input] = copy;
    }
}

HRESULT dml_staging_encode(const struct dml_staging *staging, struct adapter_binding *inputs,
                           struct adapter_encoder *encoder)
{
    HRESULT hr = S_OK;
    for (uint32_t i = 0; SUCCEEDED(hr) && i < staging->count; i++) {
        const struct staged *staged = &staging->inputs[i];
        struct adapter_binding copy = { staging->memory, staged->offset, staged->bytes };
        const struct dml_spirv_buffers buffers = { &inputs[staged->input], &copy, { 0 }, { 0 } };
        if (staged->mover)
            hr = dml_spirv_encode(staged->mover->program.spirv, &buffers, NULL, encoder);
        else
            encoder->copy(encoder, &copy, &inputs[staged->input], staged->bytes);
        inputs[staged->input] = copy;
    }
    encoder->barrier(encoder);
    return hr;
}
