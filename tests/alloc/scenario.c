/* SPDX-License-Identifier: Apache-2.0 */
#include "scenario.h"

#include "schema/sample.h"
#include "schema/schema.h"

#include <DirectML.h>
#include <DirectMLGuids.h>
#include <anydml.h>
#include <anydml_d3d12.h>

#include <stdlib.h>
#include <string.h>

enum { SLOTS = 16, OBJECTS = 64 };

#define PLAIN "BiasTensor=- GroupCount=1 Strides=1,1 StartPadding=0,0 EndPadding=0,0 "

static const struct scenario {
    const char *name;
    DML_OPERATOR_TYPE type;
    const char *fields;
    DML_EXECUTION_FLAGS flags;
} scenarios[SCENARIOS] = {
    { "gemm", DML_OPERATOR_GEMM, "ATensor=1x1x9x70 BTensor=1x1x70x33 CTensor=- OutputTensor=1x1x9x33", 0 },
    { "gemm owned", DML_OPERATOR_GEMM, "ATensor=1x1x40x70 BTensor=1x1x70x130! CTensor=- OutputTensor=1x1x40x130", 0 },
    { "convolution", DML_OPERATOR_CONVOLUTION,
      PLAIN "InputTensor=1x8x20x20 FilterTensor=12x8x3x3! OutputTensor=1x12x18x18", 0 },
    { "convolution of FLOAT16", DML_OPERATOR_CONVOLUTION,
      PLAIN "InputTensor=1x8x9x9:FLOAT16 FilterTensor=12x8x3x3:FLOAT16 OutputTensor=1x12x7x7:FLOAT16", 0 },
    { "lstm", DML_OPERATOR_LSTM, "", 0 },
    { "softmax", DML_OPERATOR_ACTIVATION_SOFTMAX, "", DML_EXECUTION_FLAG_DESCRIPTORS_VOLATILE },
};

/* ---- one run ---- */

struct run {
    IUnknown *objects[OBJECTS]; /* released in the opposite order */
    uint32_t count;
    ID3D12Device *d3d;
    IDMLDevice *dml;
    ID3D12CommandQueue *queue;
    ID3D12CommandAllocator *allocator;
    ID3D12GraphicsCommandList *list;
    ID3D12Fence *fence;
    ID3D12DescriptorHeap *heap;
    IDMLCommandRecorder *recorder;
    UINT step;
    UINT64 value;
};

/* Of what was just made; the first failure ends a run. */
#define MAKE(run, object, call)                                                                                        \
    do {                                                                                                               \
        HRESULT hr_ = (call);                                                                                          \
        if (FAILED(hr_))                                                                                               \
            return hr_;                                                                                                \
        (run)->objects[(run)->count++] = (IUnknown *)(object);                                                         \
    } while (0)
#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        HRESULT hr_ = (call);                                                                                          \
        if (FAILED(hr_))                                                                                               \
            return hr_;                                                                                                \
    } while (0)

static HRESULT open_device(struct run *run)
{
    const D3D12_COMMAND_LIST_TYPE type = D3D12_COMMAND_LIST_TYPE_COMPUTE;
    D3D12_COMMAND_QUEUE_DESC queue = { .Type = type };
    D3D12_DESCRIPTOR_HEAP_DESC heap = { D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV, 64,
                                        D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE, 0 };
    MAKE(run, run->d3d, D3D12CreateDevice(NULL, (D3D_FEATURE_LEVEL)0x1000, &IID_ID3D12Device, (void **)&run->d3d));
    MAKE(run, run->dml, DMLCreateDevice(run->d3d, DML_CREATE_DEVICE_FLAG_NONE, &IID_IDMLDevice, (void **)&run->dml));
    MAKE(run, run->queue,
         ID3D12Device_CreateCommandQueue(run->d3d, &queue, &IID_ID3D12CommandQueue, (void **)&run->queue));
    MAKE(run, run->allocator,
         ID3D12Device_CreateCommandAllocator(run->d3d, type, &IID_ID3D12CommandAllocator, (void **)&run->allocator));
    MAKE(run, run->list,
         ID3D12Device_CreateCommandList(run->d3d, 0, type, run->allocator, NULL, &IID_ID3D12GraphicsCommandList,
                                        (void **)&run->list));
    MAKE(run, run->fence,
         ID3D12Device_CreateFence(run->d3d, 0, D3D12_FENCE_FLAG_NONE, &IID_ID3D12Fence, (void **)&run->fence));
    MAKE(run, run->heap,
         ID3D12Device_CreateDescriptorHeap(run->d3d, &heap, &IID_ID3D12DescriptorHeap, (void **)&run->heap));
    MAKE(run, run->recorder,
         IDMLDevice_CreateCommandRecorder(run->dml, &IID_IDMLCommandRecorder, (void **)&run->recorder));
    run->step = ID3D12Device_GetDescriptorHandleIncrementSize(run->d3d, D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV);
    ID3D12GraphicsCommandList_SetDescriptorHeaps(run->list, 1, &run->heap);
    return S_OK;
}

static HRESULT make_buffer(struct run *run, D3D12_HEAP_TYPE type, UINT64 bytes, ID3D12Resource **out)
{
    D3D12_HEAP_PROPERTIES heap = { .Type = type };
    D3D12_RESOURCE_DESC desc = { .Dimension = D3D12_RESOURCE_DIMENSION_BUFFER,
                                 .Width = bytes,
                                 .Height = 1,
                                 .DepthOrArraySize = 1,
                                 .MipLevels = 1,
                                 .SampleDesc = { 1, 0 },
                                 .Layout = D3D12_TEXTURE_LAYOUT_ROW_MAJOR };
    D3D12_RESOURCE_STATES state = D3D12_RESOURCE_STATE_COPY_DEST;
    if (type == D3D12_HEAP_TYPE_DEFAULT) {
        desc.Flags = D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS;
        state = D3D12_RESOURCE_STATE_COMMON;
    } else if (type == D3D12_HEAP_TYPE_UPLOAD) {
        state = D3D12_RESOURCE_STATE_GENERIC_READ;
    }
    MAKE(run, *out,
         ID3D12Device_CreateCommittedResource(run->d3d, &heap, D3D12_HEAP_FLAG_NONE, &desc, state, NULL,
                                              &IID_ID3D12Resource, (void **)out));
    return S_OK;
}

/* Closes, executes, waits. */
static HRESULT flush(struct run *run)
{
    ID3D12CommandList *lists[] = { (ID3D12CommandList *)run->list };
    TRY(ID3D12GraphicsCommandList_Close(run->list));
    ID3D12CommandQueue_ExecuteCommandLists(run->queue, 1, lists);
    TRY(ID3D12CommandQueue_Signal(run->queue, run->fence, ++run->value));
    TRY(ID3D12Fence_SetEventOnCompletion(run->fence, run->value, NULL));
    TRY(ID3D12Device_GetDeviceRemovedReason(run->d3d));
    TRY(ID3D12CommandAllocator_Reset(run->allocator));
    TRY(ID3D12GraphicsCommandList_Reset(run->list, run->allocator, NULL));
    ID3D12GraphicsCommandList_SetDescriptorHeaps(run->list, 1, &run->heap);
    return IDMLDevice_GetDeviceRemovedReason(run->dml);
}

/* A tensor's buffer with small numbers in it; NULL for no tensor. */
static HRESULT upload(struct run *run, const DML_BUFFER_TENSOR_DESC *tensor, DML_BUFFER_BINDING *out)
{
    ID3D12Resource *buffer, *staging;
    unsigned char *data;
    if (!tensor)
        return S_OK;
    UINT64 bytes = (tensor->TotalTensorSizeInBytes + 3) & ~UINT64_C(3);
    TRY(make_buffer(run, D3D12_HEAP_TYPE_DEFAULT, bytes, &buffer));
    TRY(make_buffer(run, D3D12_HEAP_TYPE_UPLOAD, bytes, &staging));
    TRY(ID3D12Resource_Map(staging, 0, NULL, (void **)&data));
    memset(data, 0, bytes);
    for (UINT64 i = 3; i < bytes; i += 4) /* floats between 0.1 and 2, and halves */
        data[i] = tensor->DataType == DML_TENSOR_DATA_TYPE_UINT32 ? 0 : 0x3e + (i / 4) % 2;
    *out = (DML_BUFFER_BINDING){ buffer, 0, bytes };
    ID3D12GraphicsCommandList_CopyBufferRegion(run->list, buffer, 0, staging, 0, bytes);
    return flush(run);
}

static HRESULT make_table(struct run *run, IDMLDispatchable *work, IDMLBindingTable **out)
{
    DML_BINDING_TABLE_DESC desc = { work, ID3D12DescriptorHeap_GetCPUDescriptorHandleForHeapStart(run->heap),
                                    ID3D12DescriptorHeap_GetGPUDescriptorHandleForHeapStart(run->heap),
                                    IDMLDispatchable_GetBindingProperties(work).RequiredDescriptorCount };
    MAKE(run, *out, IDMLDevice_CreateBindingTable(run->dml, &desc, &IID_IDMLBindingTable, (void **)out));
    return S_OK;
}

static DML_BINDING_DESC binding(const DML_BUFFER_BINDING *buffer)
{
    return (DML_BINDING_DESC){ buffer->Buffer ? DML_BINDING_TYPE_BUFFER : DML_BINDING_TYPE_NONE,
                               buffer->Buffer ? buffer : NULL };
}

/* What an operator needs besides its tensors. */
struct needs {
    DML_BUFFER_BINDING temporary, persistent;
};

static HRESULT initialize(struct run *run, IDMLCompiledOperator *op, uint32_t inputs, const DML_BUFFER_BINDING *owned,
                          struct needs *needs)
{
    IDMLOperatorInitializer *initializer;
    IDMLBindingTable *table;
    DML_BINDING_PROPERTIES props = IDMLDispatchable_GetBindingProperties((IDMLDispatchable *)op);
    if (props.TemporaryResourceSize)
        TRY(make_buffer(run, D3D12_HEAP_TYPE_DEFAULT, props.TemporaryResourceSize, &needs->temporary.Buffer));
    if (props.PersistentResourceSize)
        TRY(make_buffer(run, D3D12_HEAP_TYPE_DEFAULT, props.PersistentResourceSize, &needs->persistent.Buffer));
    needs->temporary.SizeInBytes = props.TemporaryResourceSize;
    needs->persistent.SizeInBytes = props.PersistentResourceSize;
    MAKE(run, initializer,
         IDMLDevice_CreateOperatorInitializer(run->dml, 1, &op, &IID_IDMLOperatorInitializer, (void **)&initializer));
    TRY(make_table(run, (IDMLDispatchable *)initializer, &table));
    DML_BUFFER_ARRAY_BINDING array = { inputs, owned };
    DML_BINDING_DESC in = { DML_BINDING_TYPE_BUFFER_ARRAY, &array }, out = binding(&needs->persistent);
    if (inputs)
        IDMLBindingTable_BindInputs(table, 1, &in);
    if (needs->persistent.Buffer)
        IDMLBindingTable_BindOutputs(table, 1, &out);
    IDMLCommandRecorder_RecordDispatch(run->recorder, (ID3D12CommandList *)run->list, (IDMLDispatchable *)initializer,
                                       table);
    return flush(run);
}

static HRESULT read_back(struct run *run, const DML_BUFFER_BINDING *from, unsigned char *out)
{
    ID3D12Resource *readback;
    void *data;
    TRY(make_buffer(run, D3D12_HEAP_TYPE_READBACK, from->SizeInBytes, &readback));
    ID3D12GraphicsCommandList_CopyBufferRegion(run->list, readback, 0, from->Buffer, 0, from->SizeInBytes);
    TRY(flush(run));
    TRY(ID3D12Resource_Map(readback, 0, NULL, &data));
    memcpy(out, data, from->SizeInBytes);
    return S_OK;
}

/* Its first output into `result`. */
static HRESULT execute(struct run *run, const struct scenario *scenario, const DML_OPERATOR_DESC *op_desc,
                       const struct schema_desc *desc, unsigned char *result)
{
    DML_BUFFER_BINDING in[SLOTS] = { { 0 } }, out[SLOTS] = { { 0 } }, owned[SLOTS] = { { 0 } };
    DML_BINDING_DESC inputs[SLOTS], outputs[SLOTS];
    struct needs needs = { { 0 }, { 0 } };
    IDMLOperator *op;
    IDMLCompiledOperator *compiled;
    IDMLBindingTable *table;
    bool owns = false;
    MAKE(run, op, IDMLDevice_CreateOperator(run->dml, op_desc, &IID_IDMLOperator, (void **)&op));
    MAKE(run, compiled,
         IDMLDevice_CompileOperator(run->dml, op, scenario->flags, &IID_IDMLCompiledOperator, (void **)&compiled));
    for (uint32_t i = 0; i < desc->input_count; i++) {
        TRY(upload(run, desc->inputs[i], &in[i]));
        if (desc->inputs[i] && desc->inputs[i]->Flags & DML_TENSOR_FLAG_OWNED_BY_DML) {
            owned[i] = in[i];
            in[i] = (DML_BUFFER_BINDING){ 0 };
            owns = true;
        }
        inputs[i] = binding(&in[i]);
    }
    for (uint32_t i = 0; i < desc->output_count; i++) {
        TRY(upload(run, desc->outputs[i], &out[i]));
        outputs[i] = binding(&out[i]);
    }
    TRY(initialize(run, compiled, owns ? desc->input_count : 0, owned, &needs));
    TRY(make_table(run, (IDMLDispatchable *)compiled, &table));
    DML_BINDING_DESC temporary = binding(&needs.temporary), persistent = binding(&needs.persistent);
    IDMLBindingTable_BindInputs(table, desc->input_count, inputs);
    IDMLBindingTable_BindOutputs(table, desc->output_count, outputs);
    if (needs.temporary.Buffer)
        IDMLBindingTable_BindTemporaryResource(table, &temporary);
    if (needs.persistent.Buffer)
        IDMLBindingTable_BindPersistentResource(table, &persistent);
    IDMLCommandRecorder_RecordDispatch(run->recorder, (ID3D12CommandList *)run->list, (IDMLDispatchable *)compiled,
                                       table);
    TRY(flush(run));
    return read_back(run, &out[0], result);
}

/* ---- scenarios ---- */

static const struct scenario *current;
static struct schema_sample_storage storage;
static DML_OPERATOR_DESC op_desc;
static struct schema_desc *desc;
struct scenario_results scenario_results;

const char *scenario_name(uint32_t index)
{
    return scenarios[index].name;
}

bool scenario_open(uint32_t index)
{
    current = &scenarios[index];
    if (!schema_sample_with(current->type, current->fields, &storage, &op_desc) ||
        schema_desc_create(&op_desc, &desc) != S_OK)
        return false;
    const UINT64 bytes = (desc->outputs[0]->TotalTensorSizeInBytes + 3) & ~UINT64_C(3);
    scenario_results = (struct scenario_results){ malloc(bytes), malloc(bytes), bytes };
    return scenario_results.want && scenario_results.got;
}

void scenario_close(void)
{
    free(scenario_results.want);
    free(scenario_results.got);
    schema_desc_destroy(desc);
}

HRESULT scenario_run(void)
{
    struct run run = { .count = 0 };
    memset(scenario_results.got, 0xee, scenario_results.bytes);
    HRESULT hr = open_device(&run);
    if (SUCCEEDED(hr))
        hr = execute(&run, current, &op_desc, desc, scenario_results.got);
    /* What a removed device and a list that lacks work say is only that. */
    if (FAILED(hr) && run.d3d && FAILED(ID3D12Device_GetDeviceRemovedReason(run.d3d)))
        hr = ID3D12Device_GetDeviceRemovedReason(run.d3d);
    else if (FAILED(hr) && run.dml && FAILED(IDMLDevice_GetDeviceRemovedReason(run.dml)))
        hr = IDMLDevice_GetDeviceRemovedReason(run.dml);
    for (uint32_t i = run.count; i-- > 0;)
        IUnknown_Release(run.objects[i]);
    return hr;
}
