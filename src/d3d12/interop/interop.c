/* SPDX-License-Identifier: Apache-2.0 */
/* libd3d12's functions of anydml_vulkan.h: validate the objects, and delegate the rest to the adapter. */
#include "d3d12/interop/interop.h"

#include "d3d12/lists.h"

#include "base/log.h"

#include <stdio.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

/* LUIDs of listed adapters have their family's number there (adapters.c). */
#define LUID_HIGH    0x414e
#define LUID_ADOPTED 0xad0000u

static HRESULT refuse(HRESULT hr, const char *method, const char *text)
{
    base_log(BASE_LOG_ERROR, "%s: %s", method, text);
    return hr;
}

EXPORT HRESULT AnydmlVulkanCreateDevice(const struct anydml_vulkan_device *desc, REFIID riid, void **out)
{
    static _Atomic uint32_t count;
    char message[ADAPTER_MESSAGE_BYTES] = "the device could not be made";
    struct adapter_info info = { 0 };
    struct adapter_device *adapter = NULL;
    struct d3d_device *device = NULL;
    if (!out)
        return refuse(E_INVALIDARG, "AnydmlVulkanCreateDevice", "out is NULL");
    *out = NULL;
    HRESULT hr =
        adapter_vulkan_interop.device_adopt(&(struct adapter_adoption){ .desc = desc }, &info, &adapter, message);
    if (FAILED(hr))
        return refuse(hr, "AnydmlVulkanCreateDevice", message);
    info.ops = &adapter_vulkan_ops;
    info.luid = (LUID){ .LowPart = LUID_ADOPTED + (atomic_fetch_add(&count, 1) & 0xffffu), .HighPart = LUID_HIGH };
    hr = d3d_device_adopt(&info, adapter, &device);
    if (SUCCEEDED(hr))
        return com_return(&device->base, riid, out);
    adapter_vulkan_ops.device_destroy(adapter);
    return refuse(hr, "AnydmlVulkanCreateDevice", "no memory");
}

struct d3d_device *d3d_vulkan_device(ID3D12Device *iface, const char *method, void **out, HRESULT *hr)
{
    if (out)
        *out = NULL;
    if (!iface || !out)
        *hr = refuse(E_INVALIDARG, method, iface ? "out is NULL" : "device is NULL");
    else if ((const void *)iface->lpVtbl != &d3d_device_vtbl)
        *hr = refuse(DXGI_ERROR_UNSUPPORTED, method, "device was not created by this runtime");
    else if (d3d_device_from(iface)->ops != &adapter_vulkan_ops)
        *hr = d3d_fail(d3d_device_from(iface), DXGI_ERROR_UNSUPPORTED, "%s: device is on adapter \"%s\", not on Vulkan",
                       method, d3d_device_from(iface)->info->name);
    else
        *hr = d3d_create_begin(d3d_device_from(iface), out);
    return SUCCEEDED(*hr) ? d3d_device_from(iface) : NULL;
}

static HRESULT opened(struct d3d_device *device, const char *method, const char *message, HRESULT hr)
{
    return FAILED(hr) ? d3d_fail(device, hr, "%s: %s", method, *message ? message : "the driver refused") : hr;
}

EXPORT HRESULT AnydmlVulkanOpenBuffer(ID3D12Device *iface, const struct anydml_vulkan_buffer *buffer, REFIID riid,
                                      void **out)
{
    const char *method = "AnydmlVulkanOpenBuffer";
    char message[ADAPTER_MESSAGE_BYTES] = "";
    struct adapter_memory *memory = NULL;
    HRESULT hr;
    struct d3d_device *device = d3d_vulkan_device(iface, method, out, &hr);
    if (!device)
        return hr;
    hr = adapter_vulkan_interop.buffer_open(device->adapter, buffer, &memory, message);
    if (FAILED(hr))
        return opened(device, method, message, hr);
    return d3d_resource_open(device, method, memory, buffer->Size, riid, out);
}

EXPORT HRESULT AnydmlVulkanOpenMemory(ID3D12Device *iface, const struct anydml_vulkan_memory *range, REFIID riid,
                                      void **out)
{
    const char *method = "AnydmlVulkanOpenMemory";
    char message[ADAPTER_MESSAGE_BYTES] = "";
    struct adapter_memory *memory = NULL;
    HRESULT hr;
    struct d3d_device *device = d3d_vulkan_device(iface, method, out, &hr);
    if (!device)
        return hr;
    hr = adapter_vulkan_interop.memory_open(device->adapter, range, &memory, message);
    if (FAILED(hr))
        return opened(device, method, message, hr);
    hr = d3d_resource_open(device, method, memory, range->Size, riid, out);
    if (SUCCEEDED(hr) && !range->Memory)
        close(range->Fd); /* the driver has its own */
    return hr;
}

EXPORT HRESULT AnydmlVulkanCreateSharedBuffer(ID3D12Device *iface, UINT64 size, REFIID riid, void **out)
{
    const char *method = "AnydmlVulkanCreateSharedBuffer";
    char message[ADAPTER_MESSAGE_BYTES] = "";
    struct adapter_memory *memory = NULL;
    HRESULT hr;
    struct d3d_device *device = d3d_vulkan_device(iface, method, out, &hr);
    if (!device)
        return hr;
    hr = adapter_vulkan_interop.memory_share(device->adapter, size, &memory, message);
    if (FAILED(hr))
        return opened(device, method, message, hr);
    return d3d_resource_open(device, method, memory, size, riid, out);
}

/* Likewise a resource. */
static struct d3d_resource *vulkan_resource(ID3D12Resource *iface, const char *method, const void *out, HRESULT *hr)
{
    struct d3d_resource *resource = (struct d3d_resource *)iface;
    if (!iface || !out)
        *hr = refuse(E_INVALIDARG, method, iface ? "out is NULL" : "resource is NULL");
    else if ((const void *)iface->lpVtbl != &d3d_resource_vtbl)
        *hr = refuse(DXGI_ERROR_UNSUPPORTED, method, "resource was not created by this runtime");
    else if (d3d_parent(resource)->ops != &adapter_vulkan_ops)
        *hr = d3d_fail(d3d_parent(resource), DXGI_ERROR_UNSUPPORTED, "%s: resource is on adapter \"%s\", not on Vulkan",
                       method, d3d_parent(resource)->info->name);
    else
        *hr = S_OK;
    return SUCCEEDED(*hr) ? resource : NULL;
}

EXPORT HRESULT AnydmlVulkanGetBuffer(ID3D12Resource *iface, struct anydml_vulkan_buffer *out)
{
    HRESULT hr;
    const struct d3d_resource *resource = vulkan_resource(iface, "AnydmlVulkanGetBuffer", out, &hr);
    if (!resource)
        return hr;
    const struct adapter_binding range = d3d_resource_range(resource, 0, resource->desc.Width);
    *out = adapter_vulkan_interop.buffer_get(&range);
    return S_OK;
}

EXPORT HRESULT AnydmlVulkanExportMemory(ID3D12Resource *iface, struct anydml_vulkan_memory *out)
{
    const char *method = "AnydmlVulkanExportMemory";
    char message[ADAPTER_MESSAGE_BYTES] = "";
    HRESULT hr;
    const struct d3d_resource *resource = vulkan_resource(iface, method, out, &hr);
    if (!resource)
        return hr;
    struct d3d_device *device = d3d_parent((void *)resource);
    hr = adapter_vulkan_interop.memory_export(device->adapter, resource->memory, out, message);
    return opened(device, method, message, hr);
}

/* ---- AnydmlDevice's part ---- */

#define PRIVATE AnydmlDevice *iface

/* Slot i, which may be empty. NULL, or an error message. */
static const char *resolve_slot(struct d3d_device *device, const struct d3d_slots *slots, uint32_t i,
                                struct adapter_binding *out)
{
    struct anydml_buffer bound = { 0 };
    struct com_object *kept = NULL;
    const char *error = NULL;
    uint32_t index;
    pthread_mutex_lock(&device->tables_lock);
    if (slots->buffers && slots->buffers[i].resource_id) {
        bound = slots->buffers[i];
    } else {
        const struct d3d_descriptor_heap *heap =
            d3d_descriptors_find(device, slots->handle, slots->count, true, &index);
        if (heap)
            bound = (struct anydml_buffer){ heap->slots[index + i].resource_id, heap->slots[index + i].offset,
                                            heap->slots[index + i].size };
        else
            error = "is in a descriptor heap that was released";
    }
    if (!error)
        error = d3d_slot_resolve(device, &bound, out, &kept);
    pthread_mutex_unlock(&device->tables_lock);
    if (kept)
        com_unref(kept);
    return error;
}

HRESULT d3d_private_ResolveBindings(PRIVATE, D3D12_GPU_DESCRIPTOR_HANDLE handle, UINT count,
                                    const struct anydml_buffer *buffers, struct adapter_binding *out, char *message)
{
    struct d3d_device *device = ((struct d3d_tear_off *)iface)->device;
    const struct d3d_slots slots = { handle.ptr, count, buffers };
    if (device->ops != &adapter_vulkan_ops || !adapter_vulkan_interop.adopted(device->adapter)) {
        snprintf(message, ADAPTER_MESSAGE_BYTES, "the device was not created by AnydmlVulkanCreateDevice");
        return DXGI_ERROR_UNSUPPORTED;
    }
    for (uint32_t i = 0; i < count; i++) {
        const char *error = resolve_slot(device, &slots, i, &out[i]);
        if (!error)
            continue;
        snprintf(message, ADAPTER_MESSAGE_BYTES, "descriptor %u of bindings %s", i, error);
        return E_INVALIDARG;
    }
    return S_OK;
}

HRESULT d3d_private_RecordCommands(PRIVATE, void *commands, struct adapter_dispatch *dispatch,
                                   const struct adapter_binding *bindings, UINT count, struct adapter_recorded **io,
                                   char *message)
{
    struct d3d_device *device = ((struct d3d_tear_off *)iface)->device;
    HRESULT hr = dispatch->ops->check(dispatch, bindings, count, ADAPTER_MOMENT_SUBMITTED, message);
    if (FAILED(hr))
        return hr;
    *message = 0;
    return adapter_vulkan_interop.record(device->adapter, commands, false, dispatch, bindings, count, io);
}

void d3d_private_DestroyRecorded(PRIVATE, struct adapter_recorded *recorded)
{
    struct d3d_device *device = ((struct d3d_tear_off *)iface)->device;
    if (recorded && !d3d_inherited(device))
        adapter_vulkan_interop.recorded_destroy(device->adapter, recorded);
}
