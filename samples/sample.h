/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by graph.c, graph_builder.c and interleave.c, and explained in hello.c: a device, buffers, copies, waiting.
 * Any failure ends the program with a message, which is sufficient for a sample. */
#ifndef SAMPLE_H
#define SAMPLE_H

#include <DirectML.h>
#include <DirectMLGuids.h>
#include <anydml_by_value.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void sample_check(HRESULT hr, const char *what)
{
    if (SUCCEEDED(hr))
        return;
    fprintf(stderr, "%s: 0x%08x\n", what, (unsigned)hr);
    exit(1);
}
#define CHECK(call) sample_check((call), #call)

/* The contents of a file, which the caller frees. */
struct bytes {
    const unsigned char *at, *end;
};

static inline struct bytes read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    long size = -1;
    if (file && !fseek(file, 0, SEEK_END))
        size = ftell(file);
    unsigned char *data = size > 0 ? malloc((size_t)size) : NULL;
    if (!data || fseek(file, 0, SEEK_SET) || fread(data, 1, (size_t)size, file) != (size_t)size) {
        fprintf(stderr, "%s: cannot be read\n", path);
        exit(2);
    }
    fclose(file);
    return (struct bytes){ data, data + size };
}

static ID3D12Resource *sample_buffer(ID3D12Device *device, D3D12_HEAP_TYPE heap, UINT64 bytes)
{
    int on_device = heap == D3D12_HEAP_TYPE_DEFAULT;
    D3D12_HEAP_PROPERTIES properties = { .Type = heap };
    D3D12_RESOURCE_DESC desc = {
        .Dimension = D3D12_RESOURCE_DIMENSION_BUFFER,
        .Width = bytes,
        .Height = 1,
        .DepthOrArraySize = 1,
        .MipLevels = 1,
        .SampleDesc.Count = 1,
        .Layout = D3D12_TEXTURE_LAYOUT_ROW_MAJOR,
        .Flags = on_device ? D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS : D3D12_RESOURCE_FLAG_NONE,
    };
    D3D12_RESOURCE_STATES state = on_device                          ? D3D12_RESOURCE_STATE_COMMON
                                  : heap == D3D12_HEAP_TYPE_READBACK ? D3D12_RESOURCE_STATE_COPY_DEST
                                                                     : D3D12_RESOURCE_STATE_GENERIC_READ;
    ID3D12Resource *buffer;
    CHECK(ID3D12Device_CreateCommittedResource(device, &properties, D3D12_HEAP_FLAG_NONE, &desc, state, NULL,
                                               &IID_ID3D12Resource, (void **)&buffer));
    return buffer;
}

/* A compute queue, and a command list that is open for recording. */
struct sample_queue {
    ID3D12Device *device;
    ID3D12CommandQueue *queue;
    ID3D12CommandAllocator *allocator;
    ID3D12GraphicsCommandList *list;
    ID3D12Fence *fence;
    UINT64 value; /* last one signalled */
};

static struct sample_queue sample_queue_create(ID3D12Device *device)
{
    const D3D12_COMMAND_LIST_TYPE type = D3D12_COMMAND_LIST_TYPE_COMPUTE;
    D3D12_COMMAND_QUEUE_DESC desc = { .Type = type };
    struct sample_queue q = { .device = device };
    CHECK(ID3D12Device_CreateCommandQueue(device, &desc, &IID_ID3D12CommandQueue, (void **)&q.queue));
    CHECK(ID3D12Device_CreateCommandAllocator(device, type, &IID_ID3D12CommandAllocator, (void **)&q.allocator));
    CHECK(ID3D12Device_CreateCommandList(device, 0, type, q.allocator, NULL, &IID_ID3D12GraphicsCommandList,
                                         (void **)&q.list));
    CHECK(ID3D12Device_CreateFence(device, 0, D3D12_FENCE_FLAG_NONE, &IID_ID3D12Fence, (void **)&q.fence));
    return q;
}

static void sample_queue_release(struct sample_queue *q)
{
    ID3D12Fence_Release(q->fence);
    ID3D12GraphicsCommandList_Release(q->list);
    ID3D12CommandAllocator_Release(q->allocator);
    ID3D12CommandQueue_Release(q->queue);
}

/* Executes the recorded commands, waits for them, and opens the list again. */
static void sample_flush(struct sample_queue *q)
{
    CHECK(ID3D12GraphicsCommandList_Close(q->list));
    ID3D12CommandList *lists[] = { (ID3D12CommandList *)q->list };
    ID3D12CommandQueue_ExecuteCommandLists(q->queue, 1, lists);
    CHECK(ID3D12CommandQueue_Signal(q->queue, q->fence, ++q->value));
    CHECK(ID3D12Fence_SetEventOnCompletion(q->fence, q->value, NULL));
    CHECK(ID3D12Device_GetDeviceRemovedReason(q->device));
    CHECK(ID3D12CommandAllocator_Reset(q->allocator));
    CHECK(ID3D12GraphicsCommandList_Reset(q->list, q->allocator, NULL));
}

static inline void sample_write(struct sample_queue *q, ID3D12Resource *to, const void *data, UINT64 bytes)
{
    ID3D12Resource *upload = sample_buffer(q->device, D3D12_HEAP_TYPE_UPLOAD, bytes);
    void *mapped;
    CHECK(ID3D12Resource_Map(upload, 0, NULL, &mapped));
    memcpy(mapped, data, bytes);
    ID3D12Resource_Unmap(upload, 0, NULL);
    ID3D12GraphicsCommandList_CopyBufferRegion(q->list, to, 0, upload, 0, bytes);
    sample_flush(q);
    ID3D12Resource_Release(upload);
}

static inline void sample_read(struct sample_queue *q, ID3D12Resource *from, void *data, UINT64 bytes)
{
    ID3D12Resource *readback = sample_buffer(q->device, D3D12_HEAP_TYPE_READBACK, bytes);
    void *mapped;
    ID3D12GraphicsCommandList_CopyBufferRegion(q->list, readback, 0, from, 0, bytes);
    sample_flush(q);
    CHECK(ID3D12Resource_Map(readback, 0, NULL, &mapped));
    memcpy(data, mapped, bytes);
    ID3D12Resource_Unmap(readback, 0, NULL);
    ID3D12Resource_Release(readback);
}

static inline IDMLOperator *sample_operator(IDMLDevice *dml, DML_OPERATOR_TYPE type, const void *desc)
{
    DML_OPERATOR_DESC whole = { type, desc };
    IDMLOperator *op;
    CHECK(IDMLDevice_CreateOperator(dml, &whole, &IID_IDMLOperator, (void **)&op));
    return op;
}

static ID3D12DescriptorHeap *sample_heap(ID3D12Device *device, UINT count)
{
    D3D12_DESCRIPTOR_HEAP_DESC desc = { D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV, count ? count : 1,
                                        D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE, 0 };
    ID3D12DescriptorHeap *heap;
    CHECK(ID3D12Device_CreateDescriptorHeap(device, &desc, &IID_ID3D12DescriptorHeap, (void **)&heap));
    return heap;
}

/* A binding table over the whole of `heap`. */
static inline IDMLBindingTable *sample_table(IDMLDevice *dml, IDMLDispatchable *dispatchable,
                                             ID3D12DescriptorHeap *heap)
{
    DML_BINDING_TABLE_DESC desc = {
        .Dispatchable = dispatchable,
        .CPUDescriptorHandle = ID3D12DescriptorHeap_GetCPUDescriptorHandleForHeapStart(heap),
        .GPUDescriptorHandle = ID3D12DescriptorHeap_GetGPUDescriptorHandleForHeapStart(heap),
        .SizeInDescriptors = IDMLDispatchable_GetBindingProperties(dispatchable).RequiredDescriptorCount,
    };
    IDMLBindingTable *table;
    CHECK(IDMLDevice_CreateBindingTable(dml, &desc, &IID_IDMLBindingTable, (void **)&table));
    return table;
}

#endif
