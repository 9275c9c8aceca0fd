/* SPDX-License-Identifier: Apache-2.0 */
/* ID3D12Heap, and the interpretation of heap properties. */
#include "d3d12/device_methods.h"

#include <stdlib.h>

#define FLAGS_ABSENT                                                                                                   \
    (D3D12_HEAP_FLAG_SHARED | D3D12_HEAP_FLAG_SHARED_CROSS_ADAPTER | D3D12_HEAP_FLAG_HARDWARE_PROTECTED)
#define FLAGS_KNOWN 0x1fedu /* every bit that <directx/d3d12.h> names */

static bool custom_pair_is_legal(const struct adapter_info *info, const D3D12_HEAP_PROPERTIES *properties)
{
    if (properties->MemoryPoolPreference == D3D12_MEMORY_POOL_L1)
        return !info->uma && properties->CPUPageProperty == D3D12_CPU_PAGE_PROPERTY_NOT_AVAILABLE;
    return properties->MemoryPoolPreference == D3D12_MEMORY_POOL_L0 &&
           properties->CPUPageProperty >= D3D12_CPU_PAGE_PROPERTY_NOT_AVAILABLE &&
           properties->CPUPageProperty <= D3D12_CPU_PAGE_PROPERTY_WRITE_BACK;
}

static const char *properties_error(const struct adapter_info *info, const D3D12_HEAP_PROPERTIES *properties)
{
    if (properties->CreationNodeMask > 1 || properties->VisibleNodeMask > 1)
        return "node masks must be 0 or 1";
    switch ((int)properties->Type) {
    case D3D12_HEAP_TYPE_DEFAULT:
    case D3D12_HEAP_TYPE_UPLOAD:
    case D3D12_HEAP_TYPE_READBACK:
        if (properties->CPUPageProperty || properties->MemoryPoolPreference)
            return "CPUPageProperty and MemoryPoolPreference must be UNKNOWN unless Type is CUSTOM";
        return NULL;
    case D3D12_HEAP_TYPE_CUSTOM:
        return custom_pair_is_legal(info, properties)
                   ? NULL
                   : "a CUSTOM heap needs L0 with a page property, or (not on UMA) L1 with NOT_AVAILABLE";
    default:
        return "Type must be DEFAULT, UPLOAD, READBACK or CUSTOM";
    }
}

HRESULT d3d_heap_check(struct d3d_device *device, const char *method, const D3D12_HEAP_PROPERTIES *properties,
                       D3D12_HEAP_FLAGS flags)
{
    const char *error = properties_error(device->info, properties);
    if (error)
        return d3d_fail_as(device, E_INVALIDARG, D3D12_MESSAGE_ID_CREATEHEAP_INVALIDPROPERTIES,
                           "%s: heap properties {Type %d, CPUPageProperty %d, MemoryPoolPreference %d}: %s", method,
                           (int)properties->Type, (int)properties->CPUPageProperty,
                           (int)properties->MemoryPoolPreference, error);
    if ((unsigned)flags & ~FLAGS_KNOWN)
        return d3d_fail_as(device, E_INVALIDARG, D3D12_MESSAGE_ID_CREATEHEAP_UNRECOGNIZEDMISCFLAGS,
                           "%s: heap flags 0x%x have unknown bits", method, (unsigned)flags);
    if (flags & FLAGS_ABSENT)
        return d3d_fail_as(device, E_NOTIMPL, D3D12_MESSAGE_ID_CREATEHEAP_INVALIDMISCFLAGS,
                           "%s: heap flags 0x%x: shared and protected heaps are not supported", method,
                           (unsigned)flags);
    return S_OK;
}

enum adapter_memory_kind d3d_heap_memory_kind(const D3D12_HEAP_PROPERTIES *properties)
{
    if (properties->Type == D3D12_HEAP_TYPE_UPLOAD ||
        properties->CPUPageProperty == D3D12_CPU_PAGE_PROPERTY_WRITE_COMBINE)
        return ADAPTER_MEMORY_UPLOAD;
    if (properties->Type == D3D12_HEAP_TYPE_READBACK ||
        properties->CPUPageProperty == D3D12_CPU_PAGE_PROPERTY_WRITE_BACK)
        return ADAPTER_MEMORY_READBACK;
    return ADAPTER_MEMORY_DEVICE;
}

COM_STRUCT(D3D12_HEAP_PROPERTIES)
d3d_device_GetCustomHeapProperties(D3D_DEVICE COM_RESULT(D3D12_HEAP_PROPERTIES), UINT node_mask, D3D12_HEAP_TYPE type)
{
    struct d3d_device *device = d3d_device_from(iface);
    bool coherent = device->info->uma && device->info->cache_coherent_uma;
    D3D12_HEAP_PROPERTIES properties = {
        .Type = D3D12_HEAP_TYPE_CUSTOM,
        .MemoryPoolPreference = D3D12_MEMORY_POOL_L0,
        .CreationNodeMask = 1,
        .VisibleNodeMask = 1,
    };
    switch ((int)type) {
    case D3D12_HEAP_TYPE_UPLOAD:
        properties.CPUPageProperty =
            coherent ? D3D12_CPU_PAGE_PROPERTY_WRITE_BACK : D3D12_CPU_PAGE_PROPERTY_WRITE_COMBINE;
        break;
    case D3D12_HEAP_TYPE_READBACK:
        properties.CPUPageProperty = D3D12_CPU_PAGE_PROPERTY_WRITE_BACK;
        break;
    default:
        properties.CPUPageProperty = D3D12_CPU_PAGE_PROPERTY_NOT_AVAILABLE;
        if (!device->info->uma)
            properties.MemoryPoolPreference = D3D12_MEMORY_POOL_L1;
    }
    if (node_mask > 1 || type < D3D12_HEAP_TYPE_DEFAULT || type > D3D12_HEAP_TYPE_READBACK)
        d3d_fail_as(
            device, E_INVALIDARG, D3D12_MESSAGE_ID_GETCUSTOMHEAPPROPERTIES_INVALIDHEAPTYPE,
            "ID3D12Device::GetCustomHeapProperties: node mask %u, heap type %d: the mask must be 0 or 1, the type "
            "DEFAULT, UPLOAD or READBACK",
            node_mask, (int)type);
    COM_RETURN(properties);
}

/* ---- the object ---- */

static void heap_destroy(struct com_object *object)
{
    struct d3d_heap *heap = (struct d3d_heap *)object;
    struct d3d_device *device = d3d_parent(heap);
    if (heap->memory) {
        d3d_device_forget_memory(device, heap->memory);
        device->ops->memory_destroy(device->adapter, heap->memory);
    }
    com_finish(object);
    free(heap);
}

static const IID *const heap_iids[] = {
    &IID_ID3D12Object, &IID_ID3D12DeviceChild, &IID_ID3D12Pageable, &IID_ID3D12Heap, &IID_ID3D12Heap1, NULL,
};

static const struct com_class heap_class = { "ID3D12Heap", heap_iids, heap_destroy, NULL };

static COM_STRUCT(D3D12_HEAP_DESC) d3d_heap_GetDesc(ID3D12Heap1 *iface COM_RESULT(D3D12_HEAP_DESC))
{
    COM_RETURN(((struct d3d_heap *)iface)->desc);
}

static HRESULT d3d_heap_GetProtectedResourceSession(ID3D12Heap1 *iface, REFIID riid, void **out)
{
    (void)iface, (void)riid;
    if (out)
        *out = NULL;
    return DXGI_ERROR_NOT_FOUND;
}

const ID3D12Heap1Vtbl d3d_heap_vtbl = {
    COM_CHILD_METHODS,
    .GetDesc = d3d_heap_GetDesc,
    .GetProtectedResourceSession = d3d_heap_GetProtectedResourceSession,
};

static HRESULT heap_desc_check(struct d3d_device *device, const D3D12_HEAP_DESC *desc)
{
    const char *method = "ID3D12Device::CreateHeap";
    if (!desc)
        return d3d_fail_as(device, E_INVALIDARG, D3D12_MESSAGE_ID_CREATEHEAP_NULLDESC, "%s: pDesc is NULL", method);
    if (!desc->SizeInBytes || desc->SizeInBytes > UINT64_MAX - D3D_PLACEMENT_ALIGNMENT)
        return d3d_fail_as(device, E_INVALIDARG, D3D12_MESSAGE_ID_CREATEHEAP_INVALIDSIZE,
                           "%s: pDesc->SizeInBytes is %llu", method, (unsigned long long)desc->SizeInBytes);
    if (desc->Alignment && desc->Alignment != D3D12_DEFAULT_RESOURCE_PLACEMENT_ALIGNMENT &&
        desc->Alignment != D3D12_DEFAULT_MSAA_RESOURCE_PLACEMENT_ALIGNMENT)
        return d3d_fail_as(device, E_INVALIDARG, D3D12_MESSAGE_ID_CREATEHEAP_INVALIDALIGNMENT,
                           "%s: pDesc->Alignment is %llu: must be 0, 65536 or 4194304", method,
                           (unsigned long long)desc->Alignment);
    return d3d_heap_check(device, method, &desc->Properties, desc->Flags);
}

HRESULT d3d_device_CreateHeap(D3D_DEVICE, const D3D12_HEAP_DESC *desc, REFIID riid, void **out)
{
    struct d3d_device *device = d3d_device_from(iface);
    HRESULT hr = d3d_create_begin(device, out);
    if (SUCCEEDED(hr))
        hr = heap_desc_check(device, desc);
    if (FAILED(hr))
        return hr;
    struct d3d_heap *heap = calloc(1, sizeof(*heap));
    if (!heap)
        return E_OUTOFMEMORY;
    com_init(&heap->pageable.base, &d3d_heap_vtbl, &heap_class, &device->base);
    atomic_init(&heap->pageable.residency, !(desc->Flags & D3D12_HEAP_FLAG_CREATE_NOT_RESIDENT));
    heap->desc = *desc;
    heap->desc.SizeInBytes = base_align_up(desc->SizeInBytes, D3D_PLACEMENT_ALIGNMENT);
    heap->desc.Alignment = desc->Alignment ? desc->Alignment : D3D_PLACEMENT_ALIGNMENT;
    heap->desc.Properties.CreationNodeMask = heap->desc.Properties.VisibleNodeMask = 1;
    heap->id = d3d_unique_id();
    char why[ADAPTER_MESSAGE_BYTES] = "";
    if (out)
        hr = d3d_memory_create(device, d3d_heap_memory_kind(&desc->Properties), heap->desc.SizeInBytes, &heap->memory,
                               why);
    if (heap->memory)
        hr = d3d_device_note_memory(device, heap->memory, &heap->pageable.base);
    if (SUCCEEDED(hr))
        return com_return(&heap->pageable.base, riid, out);
    com_Release(heap);
    return d3d_fail_as(device, hr, D3D12_MESSAGE_ID_CREATEHEAP_OUTOFMEMORY_RETURN,
                       "ID3D12Device::CreateHeap: {SizeInBytes %llu}: no memory%s%s",
                       (unsigned long long)desc->SizeInBytes, *why ? ": " : "", why);
}

HRESULT d3d_device_CreateHeap1(D3D_DEVICE, const D3D12_HEAP_DESC *desc, ID3D12ProtectedResourceSession *session,
                               REFIID riid, void **out)
{
    if (!session)
        return d3d_device_CreateHeap(iface, desc, riid, out);
    if (out)
        *out = NULL;
    return d3d_not_implemented(d3d_device_from(iface), "ID3D12Device4::CreateHeap1 with a protected session");
}
