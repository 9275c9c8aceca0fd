/* SPDX-License-Identifier: Apache-2.0 */
/* Models on devices with their own memory. One command list copies inputs to the device, runs the operator and copies
 * outputs back; it is recorded once and executed repeatedly. */
#include "pydml.h"

#include <DirectMLGuids.h>

#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 256 };         /* of tensors in the buffers */
#define AREA_MAX (UINT64_MAX / 4) /* bytes of a buffer: sums of sizes do not wrap below it */

/* Tensors in sequence in one device buffer, and its host-visible counterpart. */
struct area {
    ID3D12Resource *device, *host;
    uint8_t *mapped;
    uint64_t *offsets; /* of each slot */
    uint64_t bytes;
};

struct pydml_remote {
    struct pydml_device *device;
    IDMLCompiledOperator *op;
    const struct pydml_model *model;
    ID3D12CommandAllocator *allocator;
    ID3D12GraphicsCommandList *list;
    ID3D12Fence *fence;
    uint64_t value; /* last one signalled */
    IDMLCommandRecorder *recorder;
    ID3D12DescriptorHeap *heap; /* these three: as recorded in `list` */
    IDMLBindingTable *table;
    ID3D12Resource *temporary;
    ID3D12Resource *persistent;
    struct area in, out;
};

static void area_finish(struct area *area)
{
    pydml_release(area->device);
    pydml_release(area->host);
    free(area->offsets);
    memset(area, 0, sizeof(*area));
}

/* For the owned slots, or for the others. */
static HRESULT area_init(struct area *area, const struct pydml_device *device, const struct pydml_slot *slots,
                         uint32_t count, D3D12_HEAP_TYPE heap, bool owned)
{
    area->offsets = calloc((size_t)count + 1, sizeof(*area->offsets));
    if (!area->offsets)
        return E_OUTOFMEMORY;
    for (uint32_t i = 0; i < count; i++) {
        area->offsets[i] = area->bytes;
        if ((slots[i].owned != 0) != owned)
            continue;
        if (slots[i].bytes > AREA_MAX - area->bytes)
            return E_OUTOFMEMORY;
        area->bytes += (slots[i].bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    if (!area->bytes)
        return S_OK;
    HRESULT hr = pydml_buffer(device, D3D12_HEAP_TYPE_DEFAULT, area->bytes, &area->device);
    if (SUCCEEDED(hr))
        hr = pydml_buffer(device, heap, area->bytes, &area->host);
    return SUCCEEDED(hr) ? ID3D12Resource_Map(area->host, 0, NULL, (void **)&area->mapped) : hr;
}

/* The host memory for the slots of the area. */
static void area_fill(const struct area *area, const struct pydml_slot *slots, uint32_t count, bool owned,
                      const struct pydml_memory *memory)
{
    for (uint32_t i = 0; i < count; i++)
        if (slots[i].bytes && memory[i].data && (slots[i].owned != 0) == owned)
            memcpy(area->mapped + area->offsets[i], memory[i].data,
                   memory[i].bytes < slots[i].bytes ? memory[i].bytes : slots[i].bytes);
}

static void transition(struct pydml_remote *r, ID3D12Resource *buffer, D3D12_RESOURCE_STATES before,
                       D3D12_RESOURCE_STATES after)
{
    const D3D12_RESOURCE_BARRIER barrier = { .Type = D3D12_RESOURCE_BARRIER_TYPE_TRANSITION,
                                             .Transition = { buffer, D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES, before,
                                                             after } };
    if (buffer)
        ID3D12GraphicsCommandList_ResourceBarrier(r->list, 1, &barrier);
}

static void record_upload(struct pydml_remote *r, const struct area *area)
{
    if (area->bytes)
        ID3D12GraphicsCommandList_CopyBufferRegion(r->list, area->device, 0, area->host, 0, area->bytes);
    transition(r, area->device, D3D12_RESOURCE_STATE_COPY_DEST, D3D12_RESOURCE_STATE_UNORDERED_ACCESS);
}

static HRESULT execute(struct pydml_remote *r)
{
    ID3D12CommandList *list = (ID3D12CommandList *)r->list;
    ID3D12CommandQueue_ExecuteCommandLists(r->device->queue, 1, &list);
    HRESULT hr = ID3D12CommandQueue_Signal(r->device->queue, r->fence, ++r->value);
    if (SUCCEEDED(hr))
        hr = ID3D12Fence_SetEventOnCompletion(r->fence, r->value, NULL);
    return SUCCEEDED(hr) ? ID3D12Device_GetDeviceRemovedReason(r->device->d3d) : hr;
}

/* Discards the recorded commands and opens the list again. */
static HRESULT reopen(struct pydml_remote *r)
{
    pydml_release(r->table);
    pydml_release(r->heap);
    pydml_release(r->temporary);
    r->table = NULL;
    r->heap = NULL;
    r->temporary = NULL;
    HRESULT hr = ID3D12CommandAllocator_Reset(r->allocator);
    return SUCCEEDED(hr) ? ID3D12GraphicsCommandList_Reset(r->list, r->allocator, NULL) : hr;
}

/* A binding table with its heap and temporary buffer for the next recording. */
static HRESULT prepare(struct pydml_remote *r, IDMLDispatchable *dispatchable)
{
    const DML_BINDING_PROPERTIES need = IDMLDispatchable_GetBindingProperties(dispatchable);
    const D3D12_DESCRIPTOR_HEAP_DESC heap = { D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV,
                                              need.RequiredDescriptorCount ? need.RequiredDescriptorCount : 1,
                                              D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE, 0 };
    DML_BINDING_TABLE_DESC desc = { .Dispatchable = dispatchable, .SizeInDescriptors = need.RequiredDescriptorCount };
    HRESULT hr = ID3D12Device_CreateDescriptorHeap(r->device->d3d, &heap, &IID_ID3D12DescriptorHeap, (void **)&r->heap);
    if (FAILED(hr))
        return hr;
    desc.CPUDescriptorHandle = ID3D12DescriptorHeap_GetCPUDescriptorHandleForHeapStart(r->heap);
    desc.GPUDescriptorHandle = ID3D12DescriptorHeap_GetGPUDescriptorHandleForHeapStart(r->heap);
    hr = IDMLDevice_CreateBindingTable(r->device->dml, &desc, &IID_IDMLBindingTable, (void **)&r->table);
    if (SUCCEEDED(hr) && need.TemporaryResourceSize)
        hr = pydml_buffer(r->device, D3D12_HEAP_TYPE_DEFAULT, need.TemporaryResourceSize, &r->temporary);
    if (SUCCEEDED(hr) && r->temporary) {
        const DML_BUFFER_BINDING binding = { r->temporary, 0, need.TemporaryResourceSize };
        const DML_BINDING_DESC whole = { DML_BINDING_TYPE_BUFFER, &binding };
        IDMLBindingTable_BindTemporaryResource(r->table, &whole);
    }
    ID3D12GraphicsCommandList_SetDescriptorHeaps(r->list, 1, &r->heap);
    return hr;
}

static DML_BUFFER_BINDING bound(const struct area *area, const struct pydml_slot *slots, uint32_t i, bool owned)
{
    if (!slots[i].bytes || (slots[i].owned != 0) != owned)
        return (DML_BUFFER_BINDING){ NULL, 0, 0 };
    return (DML_BUFFER_BINDING){ area->device, area->offsets[i], slots[i].bytes };
}

static DML_BUFFER_BINDING bound_whole(ID3D12Resource *buffer)
{
    return (DML_BUFFER_BINDING){ buffer, 0, buffer ? ID3D12Resource_GetDesc(buffer).Width : 0 };
}

/* Owned inputs go into the persistent buffer. */
static HRESULT record_initializer(struct pydml_remote *r, IDMLDispatchable *initializer, const struct area *weights)
{
    const uint32_t count = r->model->input_count;
    DML_BUFFER_BINDING *buffers = calloc((size_t)count + 1, sizeof(*buffers));
    HRESULT hr = buffers ? prepare(r, initializer) : E_OUTOFMEMORY;
    if (SUCCEEDED(hr)) {
        const DML_BUFFER_ARRAY_BINDING array = { count, buffers };
        const DML_BINDING_DESC in = { DML_BINDING_TYPE_BUFFER_ARRAY, &array };
        const DML_BUFFER_BINDING kept = bound_whole(r->persistent);
        const DML_BINDING_DESC out = { DML_BINDING_TYPE_BUFFER, &kept };
        for (uint32_t i = 0; i < count; i++)
            buffers[i] = bound(weights, r->model->inputs, i, true);
        record_upload(r, weights);
        if (r->model->owns)
            IDMLBindingTable_BindInputs(r->table, 1, &in);
        if (r->persistent)
            IDMLBindingTable_BindOutputs(r->table, 1, &out);
        IDMLCommandRecorder_RecordDispatch(r->recorder, (ID3D12CommandList *)r->list, initializer, r->table);
        hr = ID3D12GraphicsCommandList_Close(r->list);
    }
    free(buffers);
    return hr;
}

static HRESULT bind_slots(struct pydml_remote *r, bool inputs)
{
    const struct area *area = inputs ? &r->in : &r->out;
    const struct pydml_slot *slots = inputs ? r->model->inputs : r->model->outputs;
    const uint32_t count = inputs ? r->model->input_count : r->model->output_count;
    DML_BUFFER_BINDING *buffers = calloc((size_t)count + 1, sizeof(*buffers));
    DML_BINDING_DESC *descs = calloc((size_t)count + 1, sizeof(*descs));
    for (uint32_t i = 0; buffers && descs && i < count; i++) {
        buffers[i] = bound(area, slots, i, false);
        if (buffers[i].Buffer)
            descs[i] = (DML_BINDING_DESC){ DML_BINDING_TYPE_BUFFER, &buffers[i] };
    }
    if (buffers && descs && inputs && count)
        IDMLBindingTable_BindInputs(r->table, count, descs);
    if (buffers && descs && !inputs)
        IDMLBindingTable_BindOutputs(r->table, count, descs);
    const HRESULT hr = buffers && descs ? S_OK : E_OUTOFMEMORY;
    free(buffers);
    free(descs);
    return hr;
}

static HRESULT record_run(struct pydml_remote *r)
{
    HRESULT hr = prepare(r, (IDMLDispatchable *)r->op);
    if (FAILED(hr))
        return hr;
    const DML_BUFFER_BINDING kept = bound_whole(r->persistent);
    const DML_BINDING_DESC persistent = { DML_BINDING_TYPE_BUFFER, &kept };
    if (r->persistent)
        IDMLBindingTable_BindPersistentResource(r->table, &persistent);
    hr = bind_slots(r, true);
    if (SUCCEEDED(hr))
        hr = bind_slots(r, false);
    if (FAILED(hr))
        return hr;
    record_upload(r, &r->in);
    IDMLCommandRecorder_RecordDispatch(r->recorder, (ID3D12CommandList *)r->list, (IDMLDispatchable *)r->op, r->table);
    transition(r, r->out.device, D3D12_RESOURCE_STATE_UNORDERED_ACCESS, D3D12_RESOURCE_STATE_COPY_SOURCE);
    ID3D12GraphicsCommandList_CopyBufferRegion(r->list, r->out.host, 0, r->out.device, 0, r->out.bytes);
    return ID3D12GraphicsCommandList_Close(r->list);
}

static HRESULT create_list(struct pydml_remote *r)
{
    const D3D12_COMMAND_LIST_TYPE type = D3D12_COMMAND_LIST_TYPE_COMPUTE;
    ID3D12Device *d3d = r->device->d3d;
    HRESULT hr = ID3D12Device_CreateCommandAllocator(d3d, type, &IID_ID3D12CommandAllocator, (void **)&r->allocator);
    if (SUCCEEDED(hr))
        hr = ID3D12Device_CreateCommandList(d3d, 0, type, r->allocator, NULL, &IID_ID3D12GraphicsCommandList,
                                            (void **)&r->list);
    if (SUCCEEDED(hr))
        hr = ID3D12Device_CreateFence(d3d, 0, D3D12_FENCE_FLAG_NONE, &IID_ID3D12Fence, (void **)&r->fence);
    if (SUCCEEDED(hr))
        hr = IDMLDevice_CreateCommandRecorder(r->device->dml, &IID_IDMLCommandRecorder, (void **)&r->recorder);
    return hr;
}

HRESULT pydml_remote_create(struct pydml_device *device, IDMLCompiledOperator *op, const struct pydml_model *model,
                            struct pydml_remote **out)
{
    struct pydml_remote *r = calloc(1, sizeof(*r));
    if (!r)
        return E_OUTOFMEMORY;
    r->device = device;
    r->op = op;
    r->model = model;
    HRESULT hr = create_list(r);
    const uint64_t kept = IDMLCompiledOperator_GetBindingProperties(op).PersistentResourceSize;
    if (SUCCEEDED(hr) && kept)
        hr = pydml_buffer(device, D3D12_HEAP_TYPE_DEFAULT, kept, &r->persistent);
    if (SUCCEEDED(hr))
        hr = area_init(&r->in, device, model->inputs, model->input_count, D3D12_HEAP_TYPE_UPLOAD, false);
    if (SUCCEEDED(hr))
        hr = area_init(&r->out, device, model->outputs, model->output_count, D3D12_HEAP_TYPE_READBACK, false);
    if (SUCCEEDED(hr))
        *out = r;
    else
        pydml_remote_destroy(r);
    return hr;
}

void pydml_remote_destroy(struct pydml_remote *r)
{
    if (!r)
        return;
    area_finish(&r->in);
    area_finish(&r->out);
    void *objects[] = { r->table, r->heap, r->temporary, r->persistent, r->recorder, r->list, r->allocator, r->fence };
    for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++)
        pydml_release(objects[i]);
    free(r);
}

HRESULT pydml_remote_initialize(struct pydml_remote *r, const struct pydml_memory *inputs)
{
    const struct pydml_model *m = r->model;
    IDMLOperatorInitializer *initializer = NULL;
    struct area weights = { 0 };
    HRESULT hr = IDMLDevice_CreateOperatorInitializer(r->device->dml, 1, &r->op, &IID_IDMLOperatorInitializer,
                                                      (void **)&initializer);
    if (SUCCEEDED(hr))
        hr = area_init(&weights, r->device, m->inputs, m->input_count, D3D12_HEAP_TYPE_UPLOAD, true);
    if (SUCCEEDED(hr)) {
        area_fill(&weights, m->inputs, m->input_count, true, inputs);
        hr = record_initializer(r, (IDMLDispatchable *)initializer, &weights);
    }
    if (SUCCEEDED(hr))
        hr = execute(r);
    HRESULT opened = reopen(r);
    pydml_release(initializer);
    area_finish(&weights);
    hr = SUCCEEDED(hr) ? opened : hr;
    return SUCCEEDED(hr) ? record_run(r) : hr;
}

HRESULT pydml_remote_run(struct pydml_remote *r, const struct pydml_memory *inputs, const struct pydml_memory *outputs)
{
    const struct pydml_model *m = r->model;
    area_fill(&r->in, m->inputs, m->input_count, false, inputs);
    HRESULT hr = execute(r);
    for (uint32_t i = 0; SUCCEEDED(hr) && i < m->output_count; i++)
        memcpy(outputs[i].data, r->out.mapped + r->out.offsets[i],
               outputs[i].bytes < m->outputs[i].bytes ? outputs[i].bytes : m->outputs[i].bytes);
    return hr;
}
