/* SPDX-License-Identifier: Apache-2.0 */
/* Devices by the number of their adapter, or the default one. */
#include "pydml.h"

#include <DirectMLGuids.h>
#include <anydml_dxcore.h>

#include <stdio.h>
#include <stdlib.h>

void pydml_release(void *object)
{
    if (object)
        IUnknown_Release((IUnknown *)object);
}

static IDXCoreAdapterList *list_adapters(void)
{
    IDXCoreAdapterFactory *factory = NULL;
    IDXCoreAdapterList *list = NULL;
    if (FAILED(DXCoreCreateAdapterFactory(&IID_IDXCoreAdapterFactory, (void **)&factory)))
        return NULL;
    if (FAILED(IDXCoreAdapterFactory_CreateAdapterList(factory, 1, &DXCORE_ADAPTER_ATTRIBUTE_D3D12_CORE_COMPUTE,
                                                       &IID_IDXCoreAdapterList, (void **)&list)))
        list = NULL;
    pydml_release(factory);
    return list;
}

uint32_t pydml_adapter_count(void)
{
    IDXCoreAdapterList *list = list_adapters();
    const uint32_t count = list ? IDXCoreAdapterList_GetAdapterCount(list) : 0;
    pydml_release(list);
    return count;
}

static bool adapter_is_gpu(IDXCoreAdapter *adapter)
{
    return IDXCoreAdapter_IsAttributeSupported(adapter, &DXCORE_HARDWARE_TYPE_ATTRIBUTE_GPU);
}

static IDXCoreAdapter *adapter_at(IDXCoreAdapterList *list, uint32_t index)
{
    IDXCoreAdapter *adapter = NULL;
    /* Counting looks at all adapters, which may load drivers: not for the first one. */
    if (!list || (index && index >= IDXCoreAdapterList_GetAdapterCount(list)) ||
        FAILED(IDXCoreAdapterList_GetAdapter(list, index, &IID_IDXCoreAdapter, (void **)&adapter)))
        return NULL;
    return adapter;
}

/* The adapter of an index; without one the first, or (not gpu) the first that is no GPU, if there is such. NULL: there
 * is none. */
static IDXCoreAdapter *find_adapter(int32_t index, bool gpu)
{
    IDXCoreAdapterList *list = list_adapters();
    IDXCoreAdapter *found = adapter_at(list, index < 0 ? 0 : (uint32_t)index), *other;
    for (uint32_t i = 1; index < 0 && !gpu && found && adapter_is_gpu(found); i++) {
        if (!(other = adapter_at(list, i)))
            break;
        if (!adapter_is_gpu(other)) {
            pydml_release(found);
            found = other;
        } else {
            pydml_release(other);
        }
    }
    pydml_release(list);
    return found;
}

static void describe(struct pydml_device *device, IDXCoreAdapter *adapter)
{
    size_t size = 0;
    device->gpu = adapter_is_gpu(adapter);
    if (FAILED(IDXCoreAdapter_GetPropertySize(adapter, DXCoreAdapterProperty_DriverDescription, &size)) ||
        size > sizeof(device->name) ||
        FAILED(IDXCoreAdapter_GetProperty(adapter, DXCoreAdapterProperty_DriverDescription, sizeof(device->name),
                                          device->name)))
        snprintf(device->name, sizeof(device->name), "unnamed");
}

static void enable_debug_layer(void)
{
    ID3D12Debug *debug = NULL;
    if (SUCCEEDED(D3D12GetDebugInterface(&IID_ID3D12Debug, (void **)&debug)))
        ID3D12Debug_EnableDebugLayer(debug);
    pydml_release(debug);
}

/* Whether buffers can be created over host memory: the device checks its arguments even if it creates nothing. */
static bool takes_host_memory(ID3D12Device *d3d)
{
    static char probe[16] __attribute__((aligned(16)));
    return SUCCEEDED(AnydmlCreateBufferFromMemory(d3d, probe, sizeof(probe), &IID_ID3D12Resource, NULL));
}

static HRESULT open_device(struct pydml_device *device, IDXCoreAdapter *adapter, bool debug)
{
    const D3D12_COMMAND_QUEUE_DESC queue = { .Type = D3D12_COMMAND_LIST_TYPE_COMPUTE };
    HRESULT hr =
        D3D12CreateDevice((IUnknown *)adapter, D3D_FEATURE_LEVEL_1_0_CORE, &IID_ID3D12Device, (void **)&device->d3d);
    if (FAILED(hr))
        return hr;
    device->host = takes_host_memory(device->d3d);
    if (FAILED(ID3D12Device_QueryInterface(device->d3d, &IID_ID3D12InfoQueue, (void **)&device->messages)))
        device->messages = NULL;
    hr = ID3D12Device_CreateCommandQueue(device->d3d, &queue, &IID_ID3D12CommandQueue, (void **)&device->queue);
    if (FAILED(hr))
        return hr;
    return DMLCreateDevice(device->d3d, debug ? DML_CREATE_DEVICE_FLAG_DEBUG : DML_CREATE_DEVICE_FLAG_NONE,
                           &IID_IDMLDevice, (void **)&device->dml);
}

HRESULT pydml_device_create(int32_t index, uint32_t gpu, uint32_t debug, struct pydml_device **out)
{
    *out = NULL;
    if (debug)
        enable_debug_layer();
    IDXCoreAdapter *adapter = find_adapter(index, gpu != 0);
    if (!adapter)
        return DXGI_ERROR_NOT_FOUND;
    struct pydml_device *device = calloc(1, sizeof(*device));
    HRESULT hr = E_OUTOFMEMORY;
    if (device) {
        describe(device, adapter);
        hr = open_device(device, adapter, debug != 0);
    }
    pydml_release(adapter);
    if (SUCCEEDED(hr))
        *out = device;
    else
        pydml_device_destroy(device);
    return hr;
}

void pydml_device_destroy(struct pydml_device *device)
{
    if (!device)
        return;
    pydml_release(device->dml);
    pydml_release(device->queue);
    pydml_release(device->messages);
    pydml_release(device->d3d);
    free(device);
}

IDMLDevice *pydml_device_dml(const struct pydml_device *device)
{
    return device->dml;
}

const char *pydml_device_name(const struct pydml_device *device)
{
    return device->name;
}

uint32_t pydml_device_is_gpu(const struct pydml_device *device)
{
    return device->gpu;
}

void pydml_device_message(struct pydml_device *device, char *out, uint32_t room)
{
    out[0] = 0;
    uint64_t i = device->messages ? ID3D12InfoQueue_GetNumStoredMessages(device->messages) : 0;
    while (i-- > 0 && !out[0]) {
        SIZE_T bytes = 0;
        ID3D12InfoQueue_GetMessage(device->messages, i, NULL, &bytes);
        D3D12_MESSAGE *message = malloc(bytes + 1);
        if (message && SUCCEEDED(ID3D12InfoQueue_GetMessage(device->messages, i, message, &bytes)) &&
            message->Severity <= D3D12_MESSAGE_SEVERITY_ERROR)
            snprintf(out, room, "%.*s", (int)message->DescriptionByteLength, message->pDescription);
        free(message);
    }
    if (device->messages)
        ID3D12InfoQueue_ClearStoredMessages(device->messages);
}

HRESULT pydml_buffer(const struct pydml_device *device, D3D12_HEAP_TYPE heap, uint64_t bytes, ID3D12Resource **out)
{
    const bool on_device = heap == D3D12_HEAP_TYPE_DEFAULT;
    const D3D12_HEAP_PROPERTIES properties = { .Type = heap };
    const D3D12_RESOURCE_DESC desc = {
        .Dimension = D3D12_RESOURCE_DIMENSION_BUFFER,
        .Width = bytes,
        .Height = 1,
        .DepthOrArraySize = 1,
        .MipLevels = 1,
        .SampleDesc = { 1, 0 },
        .Layout = D3D12_TEXTURE_LAYOUT_ROW_MAJOR,
        .Flags = on_device ? D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS : D3D12_RESOURCE_FLAG_NONE,
    };
    const D3D12_RESOURCE_STATES state = on_device                          ? D3D12_RESOURCE_STATE_COMMON
                                        : heap == D3D12_HEAP_TYPE_READBACK ? D3D12_RESOURCE_STATE_COPY_DEST
                                                                           : D3D12_RESOURCE_STATE_GENERIC_READ;
    *out = NULL;
    return ID3D12Device_CreateCommittedResource(device->d3d, &properties, D3D12_HEAP_FLAG_NONE, &desc, state, NULL,
                                                &IID_ID3D12Resource, (void **)out);
}
