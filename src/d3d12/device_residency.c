/* SPDX-License-Identifier: Apache-2.0 */
/* MakeResident and Evict. Memory never moves: residency is counted, so that misuse can be reported. */
#include "d3d12/device_methods.h"

/* The pageable object, or NULL for objects without residency of their own (including placed and reserved resources). */
static struct d3d_pageable *pageable_of(struct d3d_device *device, ID3D12Pageable *iface)
{
    struct d3d_resource *resource = com_child(device, iface, &d3d_resource_vtbl);
    if (resource)
        return resource->heap || resource->tiles ? NULL : &resource->pageable;
    const void *const vtbls[] = { &d3d_heap_vtbl, &d3d_descriptor_heap_vtbl, &d3d_query_heap_vtbl };
    for (size_t i = 0; i < ARRAY_SIZE(vtbls); i++) {
        struct d3d_pageable *pageable = com_child(device, iface, vtbls[i]);
        if (pageable)
            return pageable;
    }
    return NULL;
}

/* no_array: the number of the message about that. */
static HRESULT pageables_check(struct d3d_device *device, const char *method, D3D12_MESSAGE_ID no_array, UINT count,
                               ID3D12Pageable *const *objects)
{
    if (d3d_removed(device))
        return DXGI_ERROR_DEVICE_REMOVED;
    if (count && !objects)
        return d3d_fail_as(device, E_INVALIDARG, no_array, "%s: ppObjects is NULL", method);
    for (UINT i = 0; i < count; i++) {
        if (!pageable_of(device, objects[i]))
            return d3d_fail_as(
                device, E_INVALIDARG,
                no_array == D3D12_MESSAGE_ID_SETRESIDENCYPRIORITY_INVALID_PAGEABLE ? no_array
                                                                                   : D3D12_MESSAGE_ID_UNKNOWN,
                "%s: ppObjects[%u] is not a heap, committed resource, descriptor heap or query heap of this "
                "device",
                method, i);
    }
    return S_OK;
}

HRESULT d3d_device_MakeResident(D3D_DEVICE, UINT count, ID3D12Pageable *const *objects)
{
    struct d3d_device *device = d3d_device_from(iface);
    HRESULT hr = pageables_check(device, "ID3D12Device::MakeResident", D3D12_MESSAGE_ID_MAKERESIDENT_NULLOBJECTARRAY,
                                 count, objects);
    for (UINT i = 0; SUCCEEDED(hr) && i < count; i++)
        atomic_fetch_add(&pageable_of(device, objects[i])->residency, 1);
    return hr;
}

HRESULT d3d_device_Evict(D3D_DEVICE, UINT count, ID3D12Pageable *const *objects)
{
    struct d3d_device *device = d3d_device_from(iface);
    HRESULT hr = pageables_check(device, "ID3D12Device::Evict", D3D12_MESSAGE_ID_EVICT_NULLOBJECTARRAY, count, objects);
    for (UINT i = 0; SUCCEEDED(hr) && i < count; i++) {
        atomic_int *residency = &pageable_of(device, objects[i])->residency;
        if (atomic_fetch_sub(residency, 1) > 0)
            continue;
        atomic_fetch_add(residency, 1);
        d3d_warn(device, D3D12_MESSAGE_ID_EVICT_UNDERFLOW, "ID3D12Device::Evict: ppObjects[%u] is not resident", i);
    }
    return hr;
}

HRESULT d3d_device_SetResidencyPriority(D3D_DEVICE, UINT count, ID3D12Pageable *const *objects,
                                        const D3D12_RESIDENCY_PRIORITY *priorities)
{
    struct d3d_device *device = d3d_device_from(iface);
    HRESULT hr = pageables_check(device, "ID3D12Device1::SetResidencyPriority",
                                 D3D12_MESSAGE_ID_SETRESIDENCYPRIORITY_INVALID_PAGEABLE, count, objects);
    if (SUCCEEDED(hr) && count && !priorities)
        hr = d3d_fail_as(device, E_INVALIDARG, D3D12_MESSAGE_ID_SETRESIDENCYPRIORITY_INVALID_PRIORITY,
                         "ID3D12Device1::SetResidencyPriority: pPriorities is NULL");
    return hr;
}

HRESULT d3d_device_EnqueueMakeResident(D3D_DEVICE, D3D12_RESIDENCY_FLAGS flags, UINT count,
                                       ID3D12Pageable *const *objects, ID3D12Fence *fence_iface, UINT64 value)
{
    struct d3d_device *device = d3d_device_from(iface);
    struct d3d_fence *fence = com_child(device, fence_iface, &d3d_fence_vtbl);
    (void)flags;
    if (!fence)
        return d3d_fail(device, E_INVALIDARG,
                        "ID3D12Device3::EnqueueMakeResident: pFenceToSignal is not a fence of this device");
    HRESULT hr = d3d_device_MakeResident(iface, count, objects);
    if (SUCCEEDED(hr))
        d3d_fence_signal(fence, value);
    return hr;
}
