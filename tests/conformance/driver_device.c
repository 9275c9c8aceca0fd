/* SPDX-License-Identifier: Apache-2.0 */
/* One device with its queue, list, descriptors and buffers, used for all requests. With DRIVER_FOREIGN, it is the
 * stand-in for a device of another runtime (tests/foreign). */
#ifdef DRIVER_FOREIGN
#include "foreign/calls.h"
#include "foreign/standin.h"
#endif
#include "driver.h"

#include <DirectMLGuids.h>
#include <anydml_dxcore.h>

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

struct driver_device {
    ID3D12Device *d3d;
    ID3D12InfoQueue *messages;
    ID3D12CommandQueue *queue;
    ID3D12CommandAllocator *allocator;
    ID3D12GraphicsCommandList *list;
    ID3D12Fence *fence;
    ID3D12DescriptorHeap *heap;
    IDMLDevice1 *dml;
    IDMLCommandRecorder *recorder;
    char name[256];
    D3D12_COMMAND_LIST_TYPE type; /* of queue and list */
    bool is_host;
    uint64_t fence_value;
    uint32_t descriptor_step;
    uint64_t capacity; /* of the buffers */
    struct driver_buffers buffers;
};

static void release(void *object)
{
    IUnknown *unknown = object;
    if (unknown)
        unknown->lpVtbl->Release(unknown);
}

#ifndef DRIVER_FOREIGN
/* The adapter of that index, with a reference; NULL for none. */
static IDXCoreAdapter *adapter_at(uint32_t index)
{
    IDXCoreAdapterFactory *factory = NULL;
    IDXCoreAdapterList *list = NULL;
    IDXCoreAdapter *adapter = NULL;
    if (SUCCEEDED(DXCoreCreateAdapterFactory(&IID_IDXCoreAdapterFactory, (void **)&factory)) &&
        SUCCEEDED(IDXCoreAdapterFactory_CreateAdapterList(factory, 1, &DXCORE_ADAPTER_ATTRIBUTE_D3D12_CORE_COMPUTE,
                                                          &IID_IDXCoreAdapterList, (void **)&list)))
        IDXCoreAdapterList_GetAdapter(list, index, &IID_IDXCoreAdapter, (void **)&adapter);
    release(list);
    release(factory);
    return adapter;
}

/* Whether buffers lie at the host's addresses: the device checks its arguments even when it makes nothing. */
static bool takes_host_memory(ID3D12Device *d3d)
{
    static char probe[16] __attribute__((aligned(16)));
    return SUCCEEDED(AnydmlCreateBufferFromMemory(d3d, probe, sizeof(probe), &IID_ID3D12Resource, NULL));
}

#endif

#ifdef DRIVER_FOREIGN
/* Lists of its kind "DIRECT" or "COMPUTE", which the adapter's name says. */
static HRESULT create_d3d(struct driver_device *device, const char *name)
{
    device->type = strcmp(name, "compute") != 0 ? D3D12_COMMAND_LIST_TYPE_DIRECT : D3D12_COMMAND_LIST_TYPE_COMPUTE;
    device->d3d = standin_create(&(struct standin_options){ .interop = 2 });
    if (device->d3d)
        snprintf(device->name, sizeof(device->name), "stand-in on %s", standin_name(device->d3d));
    return device->d3d ? S_OK : DXGI_ERROR_UNSUPPORTED;
}
#else
static HRESULT create_d3d(struct driver_device *device, const char *name)
{
    const bool by_index = isdigit((unsigned char)*name);
    device->type = D3D12_COMMAND_LIST_TYPE_COMPUTE;
    if (!by_index)
        setenv("ANYDML_ADAPTERS", name, 1);
    ID3D12Debug *debug = NULL;
    if (SUCCEEDED(D3D12GetDebugInterface(&IID_ID3D12Debug, (void **)&debug)))
        ID3D12Debug_EnableDebugLayer(debug);
    release(debug);
    IDXCoreAdapter *adapter = adapter_at(by_index ? (uint32_t)strtoul(name, NULL, 10) : 0);
    if (!adapter)
        return DXGI_ERROR_UNSUPPORTED;
    if (FAILED(IDXCoreAdapter_GetProperty(adapter, DXCoreAdapterProperty_DriverDescription, sizeof(device->name),
                                          device->name)))
        snprintf(device->name, sizeof(device->name), "unnamed");
    HRESULT hr =
        D3D12CreateDevice((IUnknown *)adapter, D3D_FEATURE_LEVEL_1_0_CORE, &IID_ID3D12Device, (void **)&device->d3d);
    release(adapter);
    device->is_host = SUCCEEDED(hr) && takes_host_memory(device->d3d);
    if (SUCCEEDED(hr) &&
        FAILED(ID3D12Device_QueryInterface(device->d3d, &IID_ID3D12InfoQueue, (void **)&device->messages)))
        device->messages = NULL;
    return hr;
}
#endif

static HRESULT create_queue(struct driver_device *device)
{
    const D3D12_COMMAND_LIST_TYPE type = device->type;
    const D3D12_COMMAND_QUEUE_DESC queue = { .Type = type };
    const D3D12_DESCRIPTOR_HEAP_DESC heap = { D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV, DRIVER_DESCRIPTORS,
                                              D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE, 0 };
    HRESULT hr = ID3D12Device_CreateCommandQueue(device->d3d, &queue, &IID_ID3D12CommandQueue, (void **)&device->queue);
    if (SUCCEEDED(hr))
        hr = ID3D12Device_CreateCommandAllocator(device->d3d, type, &IID_ID3D12CommandAllocator,
                                                 (void **)&device->allocator);
    if (SUCCEEDED(hr))
        hr = ID3D12Device_CreateCommandList(device->d3d, 0, type, device->allocator, NULL,
                                            &IID_ID3D12GraphicsCommandList, (void **)&device->list);
    if (SUCCEEDED(hr))
        hr = ID3D12Device_CreateFence(device->d3d, 0, D3D12_FENCE_FLAG_NONE, &IID_ID3D12Fence, (void **)&device->fence);
    if (SUCCEEDED(hr))
        hr = ID3D12Device_CreateDescriptorHeap(device->d3d, &heap, &IID_ID3D12DescriptorHeap, (void **)&device->heap);
    return hr;
}

static HRESULT create_dml(struct driver_device *device)
{
    HRESULT hr = DMLCreateDevice1(device->d3d, DML_CREATE_DEVICE_FLAG_DEBUG, DML_FEATURE_LEVEL_6_4, &IID_IDMLDevice1,
                                  (void **)&device->dml);
    if (SUCCEEDED(hr))
        hr = IDMLDevice1_CreateCommandRecorder(device->dml, &IID_IDMLCommandRecorder, (void **)&device->recorder);
    return hr;
}

struct driver_device *driver_device_create(const char *adapter, char message[DRIVER_MESSAGE])
{
    struct driver_device *device = calloc(1, sizeof(*device));
    HRESULT hr = device ? create_d3d(device, adapter) : E_OUTOFMEMORY;
    if (SUCCEEDED(hr))
        hr = create_queue(device);
    if (SUCCEEDED(hr))
        hr = create_dml(device);
    if (SUCCEEDED(hr)) {
        device->descriptor_step =
            ID3D12Device_GetDescriptorHandleIncrementSize(device->d3d, D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV);
        ID3D12GraphicsCommandList_SetDescriptorHeaps(device->list, 1, &device->heap);
        return device;
    }
    snprintf(message, DRIVER_MESSAGE, "no device on adapter \"%s\": 0x%08x", adapter, (unsigned)hr);
    driver_device_destroy(device);
    return NULL;
}

static void release_buffers(struct driver_device *device)
{
    release(device->buffers.buffer);
    release(device->buffers.persistent);
    release(device->buffers.upload);
    release(device->buffers.readback);
    device->buffers = (struct driver_buffers){ 0 };
    device->capacity = 0;
}

void driver_device_destroy(struct driver_device *device)
{
    if (!device)
        return;
    release_buffers(device);
    release(device->recorder);
    release(device->dml);
    release(device->heap);
    release(device->fence);
    release(device->list);
    release(device->allocator);
    release(device->queue);
    release(device->messages);
    release(device->d3d);
    free(device);
}

const char *driver_device_name(struct driver_device *device)
{
    return device->name;
}

ID3D12Device *driver_device_d3d(struct driver_device *device)
{
    return device->d3d;
}

IDMLDevice1 *driver_device_dml(struct driver_device *device)
{
    return device->dml;
}

IDMLCommandRecorder *driver_device_recorder(struct driver_device *device)
{
    return device->recorder;
}

bool driver_device_is_host(struct driver_device *device)
{
    return device->is_host;
}

ID3D12GraphicsCommandList *driver_device_list(struct driver_device *device)
{
    return device->list;
}

void driver_device_descriptor(struct driver_device *device, uint32_t index, D3D12_CPU_DESCRIPTOR_HANDLE *out_cpu,
                              D3D12_GPU_DESCRIPTOR_HANDLE *out_gpu)
{
    *out_cpu = ID3D12DescriptorHeap_GetCPUDescriptorHandleForHeapStart(device->heap);
    *out_gpu = ID3D12DescriptorHeap_GetGPUDescriptorHandleForHeapStart(device->heap);
    out_cpu->ptr += (SIZE_T)index * device->descriptor_step;
    out_gpu->ptr += (UINT64)index * device->descriptor_step;
}

static HRESULT create_buffer(struct driver_device *device, D3D12_HEAP_TYPE type, uint64_t bytes, ID3D12Resource **out,
                             uint8_t **out_data)
{
    const D3D12_HEAP_PROPERTIES heap = { .Type = type };
    const D3D12_RESOURCE_DESC desc = {
        .Dimension = D3D12_RESOURCE_DIMENSION_BUFFER,
        .Width = bytes,
        .Height = 1,
        .DepthOrArraySize = 1,
        .MipLevels = 1,
        .SampleDesc = { 1, 0 },
        .Layout = D3D12_TEXTURE_LAYOUT_ROW_MAJOR,
        .Flags = out_data ? D3D12_RESOURCE_FLAG_NONE : D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS,
    };
    const D3D12_RESOURCE_STATES state = type == D3D12_HEAP_TYPE_UPLOAD     ? D3D12_RESOURCE_STATE_GENERIC_READ
                                        : type == D3D12_HEAP_TYPE_READBACK ? D3D12_RESOURCE_STATE_COPY_DEST
                                                                           : D3D12_RESOURCE_STATE_COMMON;
    HRESULT hr = ID3D12Device_CreateCommittedResource(device->d3d, &heap, D3D12_HEAP_FLAG_NONE, &desc, state, NULL,
                                                      &IID_ID3D12Resource, (void **)out);
    if (SUCCEEDED(hr) && out_data)
        hr = ID3D12Resource_Map(*out, 0, NULL, (void **)out_data);
    return hr;
}

HRESULT driver_device_buffers(struct driver_device *device, uint64_t bytes, struct driver_buffers *out)
{
    HRESULT hr = S_OK;
    if (bytes > device->capacity) {
        release_buffers(device);
        const uint64_t capacity = base_align_up(BASE_MAX(bytes + bytes / 2, UINT64_C(1) << 20), 65536);
        struct driver_buffers *b = &device->buffers;
        hr = create_buffer(device, D3D12_HEAP_TYPE_DEFAULT, capacity, &b->buffer, NULL);
        if (SUCCEEDED(hr))
            hr = create_buffer(device, D3D12_HEAP_TYPE_DEFAULT, capacity, &b->persistent, NULL);
        if (SUCCEEDED(hr))
            hr = create_buffer(device, D3D12_HEAP_TYPE_UPLOAD, capacity, &b->upload, &b->to);
        if (SUCCEEDED(hr))
            hr = create_buffer(device, D3D12_HEAP_TYPE_READBACK, capacity, &b->readback, &b->from);
        if (SUCCEEDED(hr))
            device->capacity = capacity;
    }
    *out = device->buffers;
    return hr;
}

HRESULT driver_device_submit(struct driver_device *device)
{
    ID3D12CommandList *list = (ID3D12CommandList *)device->list;
    HRESULT hr = ID3D12GraphicsCommandList_Close(device->list);
    if (FAILED(hr))
        return hr;
    ID3D12CommandQueue_ExecuteCommandLists(device->queue, 1, &list);
    hr = ID3D12CommandQueue_Signal(device->queue, device->fence, ++device->fence_value);
    if (SUCCEEDED(hr))
        hr = ID3D12Fence_SetEventOnCompletion(device->fence, device->fence_value, NULL);
    if (SUCCEEDED(hr))
        hr = ID3D12Device_GetDeviceRemovedReason(device->d3d);
    if (SUCCEEDED(hr))
        hr = IDMLDevice1_GetDeviceRemovedReason(device->dml);
    if (SUCCEEDED(hr))
        hr = ID3D12CommandAllocator_Reset(device->allocator);
    if (SUCCEEDED(hr))
        hr = ID3D12GraphicsCommandList_Reset(device->list, device->allocator, NULL);
    if (SUCCEEDED(hr))
        ID3D12GraphicsCommandList_SetDescriptorHeaps(device->list, 1, &device->heap);
    return hr;
}

void driver_device_message(struct driver_device *device, char out[DRIVER_MESSAGE])
{
    out[0] = 0;
    uint64_t i = device->messages ? ID3D12InfoQueue_GetNumStoredMessages(device->messages) : 0;
    while (i-- > 0 && !out[0]) {
        SIZE_T bytes = 0;
        ID3D12InfoQueue_GetMessage(device->messages, i, NULL, &bytes);
        D3D12_MESSAGE *message = malloc(bytes + 1);
        if (message && SUCCEEDED(ID3D12InfoQueue_GetMessage(device->messages, i, message, &bytes)) &&
            message->Severity <= D3D12_MESSAGE_SEVERITY_ERROR)
            snprintf(out, DRIVER_MESSAGE, "%.*s", (int)message->DescriptionByteLength, message->pDescription);
        free(message);
    }
    if (device->messages)
        ID3D12InfoQueue_ClearStoredMessages(device->messages);
}
