/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of inputs that outputs overlap: in-place execution requires that each element is read before it is written; if
 * a program cannot guarantee that, it reads a copy. The memory belongs to the dispatch, not to the temporary resource,
 * whose size is queried before anything is bound: few operators are ever executed so. */
#include "dml/dml.h"

#include "base/parallel.h"

#include <stdlib.h>

struct staged {
    uint32_t input;
    uint64_t offset, bytes;
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
        *staged = (struct staged){ i, bytes, copied_bytes(op, i) };
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
        *out = staging;
    else
        free(staging);
    return hr;
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

void dml_staging_encode(const struct dml_staging *staging, struct adapter_binding *inputs,
                        struct adapter_encoder *encoder)
{
    for (uint32_t i = 0; i < staging->count; i++) {
        const struct staged *staged = &staging->inputs[i];
        struct adapter_binding copy = { staging->memory, staged->offset, staged->bytes };
        encoder->copy(encoder, &copy, &inputs[staged->input], staged->bytes);
        inputs[staged->input] = copy;
    }
    encoder->barrier(encoder);
}
