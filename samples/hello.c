/* SPDX-License-Identifier: Apache-2.0 */
/* The shortest complete DirectML program: adds a tensor to itself. */
#include <DirectML.h>
#include <DirectMLGuids.h>
#include <anydml_by_value.h>
#include <stdio.h>
#include <stdlib.h>

#define COUNT       6
#define BYTES       (COUNT * sizeof(float))
#define CHECK(call) check((call), #call)

static ID3D12Device *device;
static ID3D12CommandQueue *queue;
static ID3D12CommandAllocator *allocator;
static ID3D12GraphicsCommandList *list;
static ID3D12Fence *fence;
static ID3D12DescriptorHeap *heap;
static IDMLDevice *dml;
static IDMLCommandRecorder *recorder;

static void check(HRESULT hr, const char *what)
{
    if (SUCCEEDED(hr))
        return;
    fprintf(stderr, "%s: 0x%08x\n", what, (unsigned)hr);
    exit(1);
}

/* 1. A Direct3D 12 device on the default adapter, a compute queue, a command list, and DirectML on top. */
static void create_device(void)
{
    const D3D12_COMMAND_LIST_TYPE type = D3D12_COMMAND_LIST_TYPE_COMPUTE;
    D3D12_COMMAND_QUEUE_DESC desc = { .Type = type };
    CHECK(D3D12CreateDevice(NULL, D3D_FEATURE_LEVEL_1_0_CORE, &IID_ID3D12Device, (void **)&device));
    CHECK(ID3D12Device_CreateCommandQueue(device, &desc, &IID_ID3D12CommandQueue, (void **)&queue));
    CHECK(ID3D12Device_CreateCommandAllocator(device, type, &IID_ID3D12CommandAllocator, (void **)&allocator));
    const GUID *iid = &IID_ID3D12GraphicsCommandList;
    CHECK(ID3D12Device_CreateCommandList(device, 0, type, allocator, NULL, iid, (void **)&list));
    CHECK(ID3D12Device_CreateFence(device, 0, D3D12_FENCE_FLAG_NONE, &IID_ID3D12Fence, (void **)&fence));
    CHECK(DMLCreateDevice(device, DML_CREATE_DEVICE_FLAG_NONE, &IID_IDMLDevice, (void **)&dml));
    CHECK(IDMLDevice_CreateCommandRecorder(dml, &IID_IDMLCommandRecorder, (void **)&recorder));
}

/* Runs the list, waits for the fence that the queue signals afterwards, and opens the list again. */
static void execute(void)
{
    static UINT64 value;
    ID3D12CommandList *lists[] = { (ID3D12CommandList *)list };
    CHECK(ID3D12GraphicsCommandList_Close(list));
    ID3D12CommandQueue_ExecuteCommandLists(queue, 1, lists);
    CHECK(ID3D12CommandQueue_Signal(queue, fence, ++value));
    CHECK(ID3D12Fence_SetEventOnCompletion(fence, value, NULL)); /* no event: waits */
    CHECK(ID3D12Device_GetDeviceRemovedReason(device));          /* S_OK, or the device's error */
    CHECK(ID3D12CommandAllocator_Reset(allocator));
    CHECK(ID3D12GraphicsCommandList_Reset(list, allocator, NULL));
}

/* DEFAULT memory is the device's, UPLOAD and READBACK memory can be mapped. DirectML needs unordered access. */
static ID3D12Resource *create_buffer(D3D12_HEAP_TYPE type, D3D12_RESOURCE_STATES state)
{
    D3D12_HEAP_PROPERTIES properties = { .Type = type };
    D3D12_RESOURCE_DESC desc = { D3D12_RESOURCE_DIMENSION_BUFFER, 0, BYTES, 1, 1, 1, .SampleDesc = { 1, 0 } };
    desc.Layout = D3D12_TEXTURE_LAYOUT_ROW_MAJOR;
    if (type == D3D12_HEAP_TYPE_DEFAULT)
        desc.Flags = D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS;
    ID3D12Resource *buffer;
    CHECK(ID3D12Device_CreateCommittedResource(device, &properties, D3D12_HEAP_FLAG_NONE, &desc, state, NULL,
                                               &IID_ID3D12Resource, (void **)&buffer));
    return buffer;
}

/* 2. An operator is described by a C struct, created (that checks it), and compiled for this device. */
static IDMLCompiledOperator *compile_add(void)
{
    UINT sizes[] = { 1, 1, 2, 3 };
    DML_BUFFER_TENSOR_DESC layout = { DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_FLAG_NONE, 4, sizes, NULL, BYTES, 0 };
    DML_TENSOR_DESC tensor = { DML_TENSOR_TYPE_BUFFER, &layout };
    DML_ELEMENT_WISE_ADD_OPERATOR_DESC add = { &tensor, &tensor, &tensor };
    DML_OPERATOR_DESC desc = { DML_OPERATOR_ELEMENT_WISE_ADD, &add };
    IDMLOperator *op;
    IDMLCompiledOperator *compiled;
    CHECK(IDMLDevice_CreateOperator(dml, &desc, &IID_IDMLOperator, (void **)&op));
    CHECK(IDMLDevice_CompileOperator(dml, op, DML_EXECUTION_FLAG_NONE, &IID_IDMLCompiledOperator, (void **)&compiled));
    IDMLOperator_Release(op);
    return compiled;
}

/* 3. A dispatch reads its bindings from descriptors in a shader-visible heap: a binding table writes them there, a
 * recorder appends the dispatch to the list. (If GetBindingProperties requires a temporary or a persistent buffer,
 * those are bound too: graph.c. An add needs neither.) */
static void dispatch(IDMLDispatchable *work, ID3D12Resource *x, ID3D12Resource *y)
{
    UINT count = IDMLDispatchable_GetBindingProperties(work).RequiredDescriptorCount;
    D3D12_DESCRIPTOR_HEAP_DESC heap_desc = { D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV, count ? count : 1,
                                             D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE, 0 };
    CHECK(ID3D12Device_CreateDescriptorHeap(device, &heap_desc, &IID_ID3D12DescriptorHeap, (void **)&heap));
    DML_BINDING_TABLE_DESC desc = { work, ID3D12DescriptorHeap_GetCPUDescriptorHandleForHeapStart(heap),
                                    ID3D12DescriptorHeap_GetGPUDescriptorHandleForHeapStart(heap), count };
    DML_BUFFER_BINDING input = { x, 0, BYTES }, output = { y, 0, BYTES };
    DML_BINDING_DESC inputs[] = { { DML_BINDING_TYPE_BUFFER, &input }, { DML_BINDING_TYPE_BUFFER, &input } };
    DML_BINDING_DESC outputs = { DML_BINDING_TYPE_BUFFER, &output };
    IDMLBindingTable *table;
    CHECK(IDMLDevice_CreateBindingTable(dml, &desc, &IID_IDMLBindingTable, (void **)&table));
    IDMLBindingTable_BindInputs(table, x ? 2 : 0, inputs);
    IDMLBindingTable_BindOutputs(table, y ? 1 : 0, &outputs);
    ID3D12GraphicsCommandList_SetDescriptorHeaps(list, 1, &heap);
    IDMLCommandRecorder_RecordDispatch(recorder, (ID3D12CommandList *)list, work, table);
    IDMLBindingTable_Release(table);
}

int main(void)
{
    IDMLOperatorInitializer *initializer;
    create_device();
    IDMLCompiledOperator *add = compile_add();
    /* 4. Every compiled operator is initialised once, even one without persistent data. */
    CHECK(IDMLDevice_CreateOperatorInitializer(dml, 1, &add, &IID_IDMLOperatorInitializer, (void **)&initializer));
    dispatch((IDMLDispatchable *)initializer, NULL, NULL);
    execute();
    ID3D12DescriptorHeap_Release(heap); /* the device has read it */

    /* 5. Upload x, compute y = x + x, read y back. Buffers change their use between lists without barriers. */
    ID3D12Resource *upload = create_buffer(D3D12_HEAP_TYPE_UPLOAD, D3D12_RESOURCE_STATE_GENERIC_READ);
    ID3D12Resource *readback = create_buffer(D3D12_HEAP_TYPE_READBACK, D3D12_RESOURCE_STATE_COPY_DEST);
    ID3D12Resource *x = create_buffer(D3D12_HEAP_TYPE_DEFAULT, D3D12_RESOURCE_STATE_COMMON);
    ID3D12Resource *y = create_buffer(D3D12_HEAP_TYPE_DEFAULT, D3D12_RESOURCE_STATE_COMMON);
    int wrong = 0;
    float *data;
    CHECK(ID3D12Resource_Map(upload, 0, NULL, (void **)&data));
    for (int n = 0; n < COUNT; n++)
        data[n] = n + 0.25f;
    ID3D12Resource_Unmap(upload, 0, NULL);
    ID3D12GraphicsCommandList_CopyBufferRegion(list, x, 0, upload, 0, BYTES);
    execute();
    dispatch((IDMLDispatchable *)add, x, y);
    execute();
    ID3D12GraphicsCommandList_CopyBufferRegion(list, readback, 0, y, 0, BYTES);
    execute();
    CHECK(ID3D12Resource_Map(readback, 0, NULL, (void **)&data));
    for (int n = 0; n < COUNT; n++)
        wrong += data[n] != 2 * n + 0.5f;
    printf("%g + %g = %g, and so on: %d wrong\n", 0.25, 0.25, data[0], wrong);
    ID3D12Resource_Unmap(readback, 0, NULL);

    /* 6. Every object that was created is released, in any order. */
    void *objects[] = { upload,   readback, x,     y,    initializer, add,   heap,
                        recorder, dml,      fence, list, allocator,   queue, device };
    for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++)
        IUnknown_Release((IUnknown *)objects[i]);
    return wrong != 0;
}
