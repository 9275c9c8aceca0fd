/* SPDX-License-Identifier: Apache-2.0 */
/* Devices, each opened once; their memory, copies and timeline points. */
#include "device.h"

#include "telemetry/telemetry.h"
#include "graph.h"

#include <DirectMLGuids.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sysinfo.h>

#define DEVICES_MAX 16

static struct {
    pthread_mutex_t lock;
    bool listed;
    uint32_t count;
    IDXCoreAdapter *adapters[DEVICES_MAX];
    char names[DEVICES_MAX][256];
    struct aten_device *devices[DEVICES_MAX];
} all = { .lock = PTHREAD_MUTEX_INITIALIZER };

bool aten_say(char *message, size_t message_bytes, HRESULT hr, const char *text)
{
    if (message && message_bytes && FAILED(hr))
        snprintf(message, message_bytes, "%s (0x%08x)", text, (unsigned)hr);
    else if (message && message_bytes)
        snprintf(message, message_bytes, "%s", text);
    return false;
}

/* ---- the list ---- */

static void add_adapter(IDXCoreAdapter *adapter)
{
    char *name = all.names[all.count];
    if (FAILED(IDXCoreAdapter_GetProperty(adapter, DXCoreAdapterProperty_DriverDescription, sizeof(all.names[0]) - 1,
                                          name)))
        snprintf(name, sizeof(all.names[0]), "adapter %u", all.count);
    all.adapters[all.count++] = adapter;
}

static void list_adapters(void)
{
    IDXCoreAdapterFactory *factory = NULL;
    IDXCoreAdapterList *list = NULL;
    IDXCoreAdapter *adapter;
    if (all.listed)
        return;
    all.listed = true;
    if (SUCCEEDED(DXCoreCreateAdapterFactory(&IID_IDXCoreAdapterFactory, (void **)&factory)) &&
        SUCCEEDED(IDXCoreAdapterFactory_CreateAdapterList(factory, 1, &DXCORE_ADAPTER_ATTRIBUTE_D3D12_CORE_COMPUTE,
                                                          &IID_IDXCoreAdapterList, (void **)&list)))
        for (uint32_t i = 0; i < IDXCoreAdapterList_GetAdapterCount(list) && all.count < DEVICES_MAX; i++)
            if (SUCCEEDED(IDXCoreAdapterList_GetAdapter(list, i, &IID_IDXCoreAdapter, (void **)&adapter)))
                add_adapter(adapter);
    if (list)
        IDXCoreAdapterList_Release(list);
    if (factory)
        IDXCoreAdapterFactory_Release(factory);
}

uint32_t aten_device_count(void)
{
    pthread_mutex_lock(&all.lock);
    list_adapters();
    pthread_mutex_unlock(&all.lock);
    return all.count;
}

const char *aten_device_name(uint32_t index)
{
    return index < aten_device_count() ? all.names[index] : "";
}

static const char *kind_of(IDXCoreAdapter *adapter)
{
    if (IDXCoreAdapter_IsAttributeSupported(adapter, &DXCORE_HARDWARE_TYPE_ATTRIBUTE_GPU))
        return "gpu";
    return IDXCoreAdapter_IsAttributeSupported(adapter, &DXCORE_HARDWARE_TYPE_ATTRIBUTE_NPU) ? "npu" : "cpu";
}

/* ---- opening ---- */

static HRESULT open_device(struct aten_device *device)
{
    static char probe[16] __attribute__((aligned(16)));
    const D3D12_COMMAND_QUEUE_DESC queue = { .Type = D3D12_COMMAND_LIST_TYPE_COMPUTE };
    HRESULT hr = D3D12CreateDevice((IUnknown *)device->adapter, D3D_FEATURE_LEVEL_1_0_CORE, &IID_ID3D12Device,
                                   (void **)&device->d3d);
    if (SUCCEEDED(hr))
        hr = DMLCreateDevice1(device->d3d, DML_CREATE_DEVICE_FLAG_NONE, DML_FEATURE_LEVEL_1_0, &IID_IDMLDevice1,
                              (void **)&device->dml);
    if (SUCCEEDED(hr))
        hr = ID3D12Device_CreateCommandQueue(device->d3d, &queue, &IID_ID3D12CommandQueue, (void **)&device->queue);
    if (FAILED(hr))
        return hr;
    device->host_memory =
        SUCCEEDED(AnydmlCreateBufferFromMemory(device->d3d, probe, sizeof(probe), &IID_ID3D12Resource, NULL));
    for (int32_t type = 0; type < 64; type++) {
        DML_FEATURE_QUERY_TENSOR_DATA_TYPE_SUPPORT query = { aten_type_dml(type) };
        DML_FEATURE_DATA_TENSOR_DATA_TYPE_SUPPORT data = { FALSE };
        if (aten_type_bytes(type) &&
            SUCCEEDED(IDMLDevice1_CheckFeatureSupport(device->dml, DML_FEATURE_TENSOR_DATA_TYPE_SUPPORT, sizeof(query),
                                                      &query, sizeof(data), &data)) &&
            data.IsSupported)
            device->types |= UINT64_C(1) << type;
    }
    return device->host_memory ? S_OK : aten_remote_create(device->d3d, device->queue, &device->remote);
}

static void close_device(struct aten_device *device)
{
    if (device->queue)
        ID3D12CommandQueue_Release(device->queue);
    if (device->dml)
        IDMLDevice1_Release(device->dml);
    if (device->d3d)
        ID3D12Device_Release(device->d3d);
    free(device);
}

struct aten_device *aten_device_open(uint32_t index, char *message, size_t message_bytes)
{
    HRESULT hr = E_OUTOFMEMORY;
    uint32_t count = aten_device_count();
    if (index >= count) {
        aten_say(message, message_bytes, S_OK, "no adapter has this index");
        return NULL;
    }
    pthread_mutex_lock(&all.lock);
    struct aten_device *device = all.devices[index];
    if (!device && (device = calloc(1, sizeof(*device)))) {
        device->adapter = all.adapters[index];
        hr = open_device(device);
        if (SUCCEEDED(hr)) {
            all.devices[index] = device;
        } else {
            close_device(device);
            device = NULL;
        }
    }
    pthread_mutex_unlock(&all.lock);
    if (!device)
        aten_say(message, message_bytes, hr, "cannot open the adapter");
    else if (telemetry_is_on())
        telemetry_record("torch", kind_of(device->adapter));
    return device;
}

bool aten_host_memory(const struct aten_device *device)
{
    return device->host_memory;
}

bool aten_has_type(const struct aten_device *device, int32_t type)
{
    return type >= 0 && type < 64 && device->types >> type & 1;
}

/* ---- memory ---- */

void *aten_allocate(struct aten_device *device, size_t bytes)
{
    if (bytes > PTRDIFF_MAX)
        return NULL;
    if (device->remote)
        return aten_remote_allocate(device->remote, bytes);
    return aligned_alloc(256, (BASE_MAX(bytes, (size_t)1) + 255) & ~(size_t)255);
}

void aten_free(struct aten_device *device, void *address)
{
    if (device->remote)
        aten_remote_free(device->remote, address);
    else
        free(address);
}

void aten_memory(struct aten_device *device, size_t *out_free, size_t *out_total)
{
    struct sysinfo info = { 0 };
    uint64_t total = 0, used = 0;
    if (device->remote && SUCCEEDED(IDXCoreAdapter_GetProperty(
                              device->adapter, DXCoreAdapterProperty_DedicatedAdapterMemory, sizeof(total), &total)))
        used = aten_remote_used(device->remote);
    sysinfo(&info);
    *out_total = total ? total : (size_t)info.totalram * info.mem_unit;
    *out_free = total ? total - BASE_MIN(used, total) : (size_t)info.freeram * info.mem_unit;
}

bool aten_copy(struct aten_device *device, void *to, const void *from, size_t bytes, enum aten_direction direction,
               char *message, size_t message_bytes)
{
    if (device->remote) {
        HRESULT hr = aten_remote_copy(device->remote, to, from, bytes, direction);
        return SUCCEEDED(hr) || aten_say(message, message_bytes, hr, "copying failed");
    }
    if (bytes)
        memcpy(to, from, bytes);
    return true;
}

/* ---- timeline points: on host memory, all work has finished when a call returns ---- */

uint64_t aten_mark(struct aten_device *device)
{
    return device->remote ? aten_remote_mark(device->remote) : 0;
}

bool aten_reached(struct aten_device *device, uint64_t mark)
{
    return !device->remote || aten_remote_reached(device->remote, mark);
}

bool aten_wait(struct aten_device *device, uint64_t mark)
{
    if (device->remote)
        aten_remote_wait(device->remote, mark);
    return SUCCEEDED(ID3D12Device_GetDeviceRemovedReason(device->d3d));
}

bool aten_synchronize(struct aten_device *device)
{
    return aten_wait(device, aten_mark(device));
}
