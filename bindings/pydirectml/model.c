/* SPDX-License-Identifier: Apache-2.0 */
/* A compiled operator that runs on host memory. The cpu adapter uses it in place. */
#include "pydml.h"

#include <stdlib.h>
#include <string.h>

HRESULT pydml_model_create(struct pydml_device *device, IDMLCompiledOperator *op, const struct pydml_slot *inputs,
                           uint32_t input_count, const struct pydml_slot *outputs, uint32_t output_count,
                           struct pydml_model **out)
{
    struct pydml_model *model = calloc(1, sizeof(*model));
    struct pydml_slot *slots = calloc((size_t)input_count + output_count + 1, sizeof(*slots));
    *out = NULL;
    if (!model || !slots) {
        free(model);
        free(slots);
        pydml_release(op);
        return E_OUTOFMEMORY;
    }
    *model =
        (struct pydml_model){ device, op, slots, slots + input_count, input_count, output_count, NULL, false, false };
    if (input_count)
        memcpy(model->inputs, inputs, input_count * sizeof(*slots));
    memcpy(model->outputs, outputs, output_count * sizeof(*slots));
    for (uint32_t i = 0; i < input_count; i++)
        model->owns |= inputs[i].owned != 0;
    HRESULT hr = device->host ? S_OK : pydml_remote_create(device, op, model, &model->remote);
    if (SUCCEEDED(hr))
        *out = model;
    else
        pydml_model_destroy(model);
    return hr;
}

void pydml_model_destroy(struct pydml_model *model)
{
    if (!model)
        return;
    pydml_remote_destroy(model->remote);
    pydml_release(model->op);
    free(model->inputs);
    free(model);
}

uint32_t pydml_model_is_shared(const struct pydml_model *model)
{
    return !model->remote;
}

/* In place. Only the first run passes the owned inputs' addresses. */
static HRESULT run_here(struct pydml_model *model, const struct pydml_memory *inputs,
                        const struct pydml_memory *outputs)
{
    const size_t count = (size_t)model->input_count + model->output_count;
    D3D12_GPU_VIRTUAL_ADDRESS few[64], *addresses = few;
    if (count > sizeof(few) / sizeof(few[0]))
        addresses = malloc(count * sizeof(*addresses));
    if (!addresses)
        return E_OUTOFMEMORY;
    for (uint32_t i = 0; i < model->input_count; i++)
        addresses[i] = model->inputs[i].owned && model->ready ? 0 : (uintptr_t)inputs[i].data;
    for (uint32_t i = 0; i < model->output_count; i++)
        addresses[model->input_count + i] = (uintptr_t)outputs[i].data;
    HRESULT hr = AnydmlRunOperator(model->device->queue, model->op, model->input_count, addresses, model->output_count,
                                   addresses + model->input_count);
    if (addresses != few)
        free(addresses);
    return hr;
}

/* Whether the memory has the size of the slot's description, except for the bytes that round it up. */
static bool large_enough(const struct pydml_memory *memory, const struct pydml_slot *slot)
{
    return memory->bytes >= slot->bytes || slot->bytes - memory->bytes < 4;
}

static bool all_large_enough(const struct pydml_model *model, const struct pydml_memory *inputs,
                             const struct pydml_memory *outputs)
{
    for (uint32_t i = 0; i < model->input_count; i++)
        if (inputs[i].data && !(model->inputs[i].owned && model->ready) && !large_enough(&inputs[i], &model->inputs[i]))
            return false;
    for (uint32_t i = 0; i < model->output_count; i++)
        if (!outputs[i].data || !large_enough(&outputs[i], &model->outputs[i]))
            return false;
    return true;
}

HRESULT pydml_model_run(struct pydml_model *model, const struct pydml_memory *inputs,
                        const struct pydml_memory *outputs)
{
    HRESULT hr = all_large_enough(model, inputs, outputs) ? S_OK : E_INVALIDARG;
    if (SUCCEEDED(hr) && model->remote && !model->ready)
        hr = pydml_remote_initialize(model->remote, inputs);
    if (SUCCEEDED(hr))
        hr = model->remote ? pydml_remote_run(model->remote, inputs, outputs) : run_here(model, inputs, outputs);
    if (SUCCEEDED(hr) && !model->ready)
        model->ready = true;
    return hr;
}
