/* SPDX-License-Identifier: Apache-2.0 */
/* ID3D12Resource: buffers, committed, placed in a heap, or reserved. */
#include "d3d12/device_methods.h"

#include <stdio.h>
#include <stdlib.h>

static void resource_destroy(struct com_object *object)
{
    struct d3d_resource *resource = (struct d3d_resource *)object;
    struct d3d_device *device = d3d_parent(resource);
    pthread_mutex_lock(&device->tables_lock);
    d3d_table_remove(&device->resources, resource->id);
    pthread_mutex_unlock(&device->tables_lock);
    if (resource->heap) {
        com_unref(&resource->heap->pageable.base);
    } else if (resource->memory && resource->memory != &resource->borrowed) {
        d3d_device_forget_memory(device, resource->memory);
        device->ops->memory_destroy(device->adapter, resource->memory);
    }
    d3d_tiles_destroy(resource->tiles); /* released after the addresses in its heaps */
    com_finish(object);
    free(resource);
}

static const IID *const resource_iids[] = {
    &IID_ID3D12Object,
    &IID_ID3D12DeviceChild,
    &IID_ID3D12Pageable,
    &IID_ID3D12Resource,
    &IID_ID3D12Resource1,
    &IID_ID3D12Resource2,
    NULL,
};

static const struct com_class resource_class = { "ID3D12Resource", resource_iids, resource_destroy, NULL };

static struct d3d_resource *resource_from(ID3D12Resource2 *iface)
{
    return (struct d3d_resource *)iface;
}

/* ---- methods ---- */

static bool is_mappable(const struct d3d_resource *resource)
{
    return resource->properties.Type == D3D12_HEAP_TYPE_UPLOAD ||
           resource->properties.Type == D3D12_HEAP_TYPE_READBACK ||
           (resource->properties.Type == D3D12_HEAP_TYPE_CUSTOM &&
            resource->properties.CPUPageProperty != D3D12_CPU_PAGE_PROPERTY_NOT_AVAILABLE);
}

static HRESULT d3d_resource_Map(ID3D12Resource2 *iface, UINT subresource, const D3D12_RANGE *read, void **data)
{
    struct d3d_resource *resource = resource_from(iface);
    struct d3d_device *device = d3d_parent(resource);
    (void)read; /* memory is coherent */
    if (data)
        *data = NULL;
    if (d3d_removed(device))
        return DXGI_ERROR_DEVICE_REMOVED;
    if (subresource)
        return d3d_fail_as(device, E_INVALIDARG, D3D12_MESSAGE_ID_MAP_INVALIDSUBRESOURCE,
                           "ID3D12Resource::Map: subresource %u: a buffer has only 0", subresource);
    if (!is_mappable(resource) || !resource->memory->host)
        return d3d_fail_as(device, E_INVALIDARG, D3D12_MESSAGE_ID_MAP_INVALIDHEAP,
                           "ID3D12Resource::Map: a resource in a heap of type %d is not for the CPU",
                           (int)resource->properties.Type);
    atomic_fetch_add(&resource->map_count, 1);
    if (data)
        *data = (char *)resource->memory->host + resource->offset;
    return S_OK;
}

static void d3d_resource_Unmap(ID3D12Resource2 *iface, UINT subresource, const D3D12_RANGE *written)
{
    struct d3d_resource *resource = resource_from(iface);
    (void)written;
    int count = atomic_load(&resource->map_count);
    while (count > 0 && !atomic_compare_exchange_weak(&resource->map_count, &count, count - 1))
        ;
    if (count <= 0 || subresource)
        d3d_warn(d3d_parent(resource), D3D12_MESSAGE_ID_RESOURCE_UNMAP_NOTMAPPED,
                 "ID3D12Resource::Unmap: subresource %u is not mapped", subresource);
}

static COM_STRUCT(D3D12_RESOURCE_DESC) d3d_resource_GetDesc(ID3D12Resource2 *iface COM_RESULT(D3D12_RESOURCE_DESC))
{
    COM_RETURN(resource_from(iface)->desc);
}

static COM_STRUCT(D3D12_RESOURCE_DESC1) d3d_resource_GetDesc1(ID3D12Resource2 *iface COM_RESULT(D3D12_RESOURCE_DESC1))
{
    const D3D12_RESOURCE_DESC *desc = &resource_from(iface)->desc;
    COM_RETURN((D3D12_RESOURCE_DESC1){
        .Dimension = desc->Dimension,
        .Alignment = desc->Alignment,
        .Width = desc->Width,
        .Height = desc->Height,
        .DepthOrArraySize = desc->DepthOrArraySize,
        .MipLevels = desc->MipLevels,
        .Format = desc->Format,
        .SampleDesc = desc->SampleDesc,
        .Layout = desc->Layout,
        .Flags = desc->Flags,
    });
}

static D3D12_GPU_VIRTUAL_ADDRESS d3d_resource_GetGPUVirtualAddress(ID3D12Resource2 *iface)
{
    return resource_from(iface)->memory->address + resource_from(iface)->offset;
}

static HRESULT d3d_resource_WriteToSubresource(ID3D12Resource2 *iface, UINT subresource, const D3D12_BOX *box,
                                               const void *data, UINT row_pitch, UINT depth_pitch)
{
    (void)subresource, (void)box, (void)data, (void)row_pitch, (void)depth_pitch;
    return d3d_not_implemented(d3d_parent(iface), "ID3D12Resource::WriteToSubresource");
}

static HRESULT d3d_resource_ReadFromSubresource(ID3D12Resource2 *iface, void *data, UINT row_pitch, UINT depth_pitch,
                                                UINT subresource, const D3D12_BOX *box)
{
    (void)subresource, (void)box, (void)data, (void)row_pitch, (void)depth_pitch;
    return d3d_not_implemented(d3d_parent(iface), "ID3D12Resource::ReadFromSubresource");
}

static HRESULT d3d_resource_GetHeapProperties(ID3D12Resource2 *iface, D3D12_HEAP_PROPERTIES *properties,
                                              D3D12_HEAP_FLAGS *flags)
{
    if (resource_from(iface)->tiles)
        return d3d_fail_as(d3d_parent(iface), E_INVALIDARG, D3D12_MESSAGE_ID_GETHEAPPROPERTIES_INVALIDRESOURCE,
                           "ID3D12Resource::GetHeapProperties: a reserved resource is not in a heap");
    if (properties)
        *properties = resource_from(iface)->properties;
    if (flags)
        *flags = resource_from(iface)->heap_flags;
    return S_OK;
}

static HRESULT d3d_resource_GetProtectedResourceSession(ID3D12Resource2 *iface, REFIID riid, void **out)
{
    (void)iface, (void)riid;
    if (out)
        *out = NULL;
    return DXGI_ERROR_NOT_FOUND;
}

const ID3D12Resource2Vtbl d3d_resource_vtbl = {
    COM_CHILD_METHODS,
    .Map = d3d_resource_Map,
    .Unmap = d3d_resource_Unmap,
    .GetDesc = d3d_resource_GetDesc,
    .GetGPUVirtualAddress = d3d_resource_GetGPUVirtualAddress,
    .WriteToSubresource = d3d_resource_WriteToSubresource,
    .ReadFromSubresource = d3d_resource_ReadFromSubresource,
    .GetHeapProperties = d3d_resource_GetHeapProperties,
    .GetProtectedResourceSession = d3d_resource_GetProtectedResourceSession,
    .GetDesc1 = d3d_resource_GetDesc1,
};

/* ---- creation ---- */

struct creation {
    const char *method;
    const D3D12_RESOURCE_DESC *desc;
    D3D12_RESOURCE_STATES state;
    const D3D12_CLEAR_VALUE *clear;
    const D3D12_HEAP_PROPERTIES *properties;
    D3D12_HEAP_FLAGS flags;
};

static const char *state_error(const struct creation *creation)
{
    if (creation->properties->Type == D3D12_HEAP_TYPE_UPLOAD && creation->state != D3D12_RESOURCE_STATE_GENERIC_READ)
        return "a resource in an UPLOAD heap must start in GENERIC_READ";
    if (creation->properties->Type == D3D12_HEAP_TYPE_READBACK && creation->state != D3D12_RESOURCE_STATE_COPY_DEST)
        return "a resource in a READBACK heap must start in COPY_DEST";
    return d3d_states_error(creation->state);
}

static HRESULT creation_check(struct d3d_device *device, const struct creation *creation)
{
    const char *method = creation->method;
    if (!creation->desc || !creation->properties)
        return d3d_fail_as(device, E_INVALIDARG,
                           creation->desc ? D3D12_MESSAGE_ID_CREATERESOURCEANDHEAP_NULLHEAPPROPERTIES
                                          : D3D12_MESSAGE_ID_CREATERESOURCEANDHEAP_NULLRESOURCEPROPERTIES,
                           "%s: the description or the heap properties are NULL", method);
    if (creation->desc->Dimension >= D3D12_RESOURCE_DIMENSION_TEXTURE1D &&
        creation->desc->Dimension <= D3D12_RESOURCE_DIMENSION_TEXTURE3D)
        return d3d_fail_as(device, E_NOTIMPL, D3D12_MESSAGE_ID_CREATERESOURCE_INVALIDDIMENSIONALITY,
                           "%s: pDesc->Dimension is %d: there are only buffers", method,
                           (int)creation->desc->Dimension);
    const char *error = d3d_resource_desc_error(creation->desc);
    if (error)
        return d3d_fail_as(
            device, creation->desc->Flags & D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER ? E_NOTIMPL : E_INVALIDARG,
            D3D12_MESSAGE_ID_CREATERESOURCE_INVALIDDESC, "%s: {Width %llu, Height %u, Flags 0x%x}: %s", method,
            (unsigned long long)creation->desc->Width, creation->desc->Height, (unsigned)creation->desc->Flags, error);
    if (creation->clear)
        return d3d_fail_as(device, E_INVALIDARG, D3D12_MESSAGE_ID_CREATERESOURCE_INVALIDCLEARVALUE,
                           "%s: pOptimizedClearValue must be NULL for a buffer", method);
    if ((creation->properties->Type == D3D12_HEAP_TYPE_UPLOAD ||
         creation->properties->Type == D3D12_HEAP_TYPE_READBACK) &&
        creation->desc->Flags & D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS)
        return d3d_fail_as(device, E_INVALIDARG, D3D12_MESSAGE_ID_CREATERESOURCE_INVALIDMISCFLAGS,
                           "%s: UPLOAD and READBACK heaps refuse ALLOW_UNORDERED_ACCESS", method);
    error = state_error(creation);
    if (error)
        return d3d_fail_as(device, E_INVALIDARG, D3D12_MESSAGE_ID_CREATERESOURCE_INVALIDARG_RETURN,
                           "%s: initial state 0x%x: %s", method, (unsigned)creation->state, error);
    return S_OK;
}

static struct d3d_resource *resource_new(struct d3d_device *device, const struct creation *creation)
{
    struct d3d_resource *resource = calloc(1, sizeof(*resource));
    if (!resource)
        return NULL;
    com_init(&resource->pageable.base, &d3d_resource_vtbl, &resource_class, &device->base);
    atomic_init(&resource->pageable.residency, !(creation->flags & D3D12_HEAP_FLAG_CREATE_NOT_RESIDENT));
    resource->desc = *creation->desc;
    resource->desc.Alignment = D3D_PLACEMENT_ALIGNMENT;
    resource->properties = *creation->properties;
    resource->properties.CreationNodeMask = resource->properties.VisibleNodeMask = 1;
    resource->heap_flags = creation->flags;
    resource->id = resource->memory_id = d3d_unique_id();
    return resource;
}

static HRESULT resource_register(struct d3d_device *device, struct d3d_resource *resource)
{
    pthread_mutex_lock(&device->tables_lock);
    bool done = d3d_table_insert(&device->resources, resource->id, resource);
    pthread_mutex_unlock(&device->tables_lock);
    if (!done || resource->heap) /* owner of the heap's memory */
        return done ? S_OK : E_OUTOFMEMORY;
    return d3d_device_note_memory(device, resource->memory, &resource->pageable.base);
}

/* Creates the resource described by `creation`, already checked, without memory. S_FALSE if the caller only asked
 * whether it is possible. */
static HRESULT resource_begin(struct d3d_device *device, const struct creation *creation, void **out,
                              struct d3d_resource **out_resource)
{
    *out_resource = out ? resource_new(device, creation) : NULL;
    return !out ? S_FALSE : *out_resource ? S_OK : E_OUTOFMEMORY;
}

/* Completes resource_begin; hr: the result of acquiring `what` for it, "memory" and why there is none. */
static HRESULT resource_finish(struct d3d_device *device, const struct creation *creation,
                               struct d3d_resource *resource, HRESULT hr, const char *what, REFIID riid, void **out)
{
    if (SUCCEEDED(hr))
        hr = resource_register(device, resource);
    if (SUCCEEDED(hr))
        return com_return(&resource->pageable.base, riid, out);
    com_Release(resource);
    return d3d_fail_as(device, hr,
                       hr == E_OUTOFMEMORY ? D3D12_MESSAGE_ID_CREATERESOURCEANDHEAP_OUTOFMEMORY_RETURN
                                           : D3D12_MESSAGE_ID_UNKNOWN,
                       "%s: {Width %llu}: no %s", creation->method, (unsigned long long)creation->desc->Width, what);
}

static HRESULT committed_create(struct d3d_device *device, const struct creation *creation, REFIID riid, void **out)
{
    struct d3d_resource *resource;
    HRESULT hr = d3d_create_begin(device, out);
    if (SUCCEEDED(hr) && creation->properties)
        hr = d3d_heap_check(device, creation->method, creation->properties, creation->flags);
    if (SUCCEEDED(hr))
        hr = creation_check(device, creation);
    if (SUCCEEDED(hr))
        hr = resource_begin(device, creation, out, &resource);
    if (hr != S_OK)
        return hr;
    char why[ADAPTER_MESSAGE_BYTES], what[ADAPTER_MESSAGE_BYTES + 16];
    hr = d3d_memory_create(device, d3d_heap_memory_kind(creation->properties), creation->desc->Width, &resource->memory,
                           why);
    snprintf(what, sizeof(what), "memory%s%s", *why ? ": " : "", why);
    return resource_finish(device, creation, resource, hr, what, riid, out);
}

static HRESULT placed_check(struct d3d_device *device, const struct creation *creation, const struct d3d_heap *heap,
                            UINT64 offset)
{
    HRESULT hr = creation_check(device, creation);
    if (FAILED(hr))
        return hr;
    uint64_t size = base_align_up(creation->desc->Width, D3D_PLACEMENT_ALIGNMENT);
    if (offset % D3D_PLACEMENT_ALIGNMENT)
        return d3d_fail_as(device, E_INVALIDARG, D3D12_MESSAGE_ID_CREATERESOURCE_INVALIDALIGNMENT,
                           "%s: HeapOffset %llu is not a multiple of 65536", creation->method,
                           (unsigned long long)offset);
    if (offset > heap->desc.SizeInBytes || size > heap->desc.SizeInBytes - offset)
        return d3d_fail_as(device, E_INVALIDARG, D3D12_MESSAGE_ID_CREATERESOURCE_INVALIDARG_RETURN,
                           "%s: HeapOffset %llu and size %llu exceed the heap's %llu bytes", creation->method,
                           (unsigned long long)offset, (unsigned long long)size,
                           (unsigned long long)heap->desc.SizeInBytes);
    if (heap->desc.Flags & D3D12_HEAP_FLAG_DENY_BUFFERS)
        return d3d_fail_as(device, E_INVALIDARG, D3D12_MESSAGE_ID_CREATERESOURCEANDHEAP_INVALIDHEAPMISCFLAGS,
                           "%s: the heap denies buffers", creation->method);
    return S_OK;
}

static HRESULT placed_create(struct d3d_device *device, struct creation *creation, ID3D12Heap *heap_iface,
                             UINT64 offset, REFIID riid, void **out)
{
    struct d3d_resource *resource;
    HRESULT hr = d3d_create_begin(device, out);
    if (FAILED(hr))
        return hr;
    struct d3d_heap *heap = com_child(device, heap_iface, &d3d_heap_vtbl);
    if (!heap)
        return d3d_fail_as(device, E_INVALIDARG, D3D12_MESSAGE_ID_CREATERESOURCEANDHEAP_NULLHEAP,
                           "%s: pHeap was not created by this device", creation->method);
    creation->properties = &heap->desc.Properties;
    creation->flags = heap->desc.Flags;
    hr = placed_check(device, creation, heap, offset);
    if (SUCCEEDED(hr))
        hr = resource_begin(device, creation, out, &resource);
    if (hr != S_OK)
        return hr;
    com_ref(&heap->pageable.base);
    atomic_store(&resource->pageable.residency, 1); /* the heap's is relevant */
    resource->heap = heap;
    resource->memory = heap->memory;
    resource->memory_id = heap->id;
    resource->offset = offset;
    return resource_finish(device, creation, resource, S_OK, "memory", riid, out);
}

/* ---- reserved resources ---- */

static HRESULT reserved_create(struct d3d_device *device, const struct creation *creation, REFIID riid, void **out)
{
    struct d3d_resource *resource;
    HRESULT hr = d3d_create_begin(device, out);
    if (SUCCEEDED(hr) && !device->info->reserved)
        hr = d3d_fail(device, E_NOTIMPL, "%s: TiledResourcesTier of adapter \"%s\" is NOT_SUPPORTED", creation->method,
                      device->info->name);
    if (SUCCEEDED(hr))
        hr = creation_check(device, creation);
    if (SUCCEEDED(hr))
        hr = resource_begin(device, creation, out, &resource);
    if (hr != S_OK)
        return hr;
    resource->tiles = d3d_tiles_create(creation->desc->Width);
    hr = resource->tiles ? device->ops->reserved_create(
                               device->adapter, base_align_up(creation->desc->Width, D3D_TILE_BYTES), &resource->memory)
                         : E_OUTOFMEMORY;
    return resource_finish(device, creation, resource, hr, "addresses", riid, out);
}

/* ---- the device's seven methods ---- */

HRESULT d3d_device_CreateReservedResource(D3D_DEVICE, const D3D12_RESOURCE_DESC *desc, D3D12_RESOURCE_STATES state,
                                          const D3D12_CLEAR_VALUE *clear, REFIID riid, void **out)
{
    static const D3D12_HEAP_PROPERTIES properties = { .Type = D3D12_HEAP_TYPE_DEFAULT };
    struct creation creation = { "ID3D12Device::CreateReservedResource", desc, state, clear, &properties, 0 };
    return reserved_create(d3d_device_from(iface), &creation, riid, out);
}

HRESULT d3d_device_CreateReservedResource1(D3D_DEVICE, const D3D12_RESOURCE_DESC *desc, D3D12_RESOURCE_STATES state,
                                           const D3D12_CLEAR_VALUE *clear, ID3D12ProtectedResourceSession *session,
                                           REFIID riid, void **out)
{
    if (!session)
        return d3d_device_CreateReservedResource(iface, desc, state, clear, riid, out);
    if (out)
        *out = NULL;
    return d3d_not_implemented(d3d_device_from(iface),
                               "ID3D12Device4::CreateReservedResource1 with a protected session");
}

HRESULT d3d_device_CreateCommittedResource(D3D_COMMITTED(D3D12_RESOURCE_DESC), REFIID riid, void **out)
{
    struct creation creation = {
        "ID3D12Device::CreateCommittedResource", desc, state, clear, properties, flags,
    };
    return committed_create(d3d_device_from(iface), &creation, riid, out);
}

HRESULT d3d_device_CreateCommittedResource1(D3D_COMMITTED(D3D12_RESOURCE_DESC), ID3D12ProtectedResourceSession *session,
                                            REFIID riid, void **out)
{
    if (!session)
        return d3d_device_CreateCommittedResource(iface, properties, flags, desc, state, clear, riid, out);
    if (out)
        *out = NULL;
    return d3d_not_implemented(d3d_device_from(iface),
                               "ID3D12Device4::CreateCommittedResource1 with a protected session");
}

HRESULT d3d_device_CreateCommittedResource2(D3D_COMMITTED(D3D12_RESOURCE_DESC1),
                                            ID3D12ProtectedResourceSession *session, REFIID riid, void **out)
{
    D3D12_RESOURCE_DESC old = { 0 };
    if (desc)
        old = d3d_resource_desc0(desc);
    return d3d_device_CreateCommittedResource1(iface, properties, flags, desc ? &old : NULL, state, clear, session,
                                               riid, out);
}

HRESULT d3d_device_CreatePlacedResource(D3D_PLACED(D3D12_RESOURCE_DESC))
{
    struct creation creation = { "ID3D12Device::CreatePlacedResource", desc, state, clear, NULL, 0 };
    return placed_create(d3d_device_from(iface), &creation, heap, offset, riid, out);
}

HRESULT d3d_device_CreatePlacedResource1(D3D_PLACED(D3D12_RESOURCE_DESC1))
{
    D3D12_RESOURCE_DESC old = { 0 };
    if (desc)
        old = d3d_resource_desc0(desc);
    return d3d_device_CreatePlacedResource(iface, heap, offset, desc ? &old : NULL, state, clear, riid, out);
}

/* ---- AnydmlCreateBufferFromMemory ---- */

#define BORROWED_ALIGNMENT                                                                                             \
    16u /* DML_MINIMUM_BUFFER_TENSOR_ALIGNMENT: the alignment that kernels assume for bindings                         \
         */
#define BORROWED_SPACE UINT64_MAX /* memory_id of all of them: one address space, so that overlaps are detected */

static const char borrow_method[] = "AnydmlCreateBufferFromMemory";

static HRESULT borrow_check(struct d3d_device *device, const void *address, uint64_t bytes, bool wanted)
{
    const char *method = borrow_method;
    uintptr_t start = (uintptr_t)address;
    if (device->info->kind != ADAPTER_HOST && !wanted) /* a question, not a mistake */
        return DXGI_ERROR_UNSUPPORTED;
    if (device->info->kind != ADAPTER_HOST)
        return d3d_fail_as(device, DXGI_ERROR_UNSUPPORTED, D3D12_MESSAGE_ID_OPENEXISTINGHEAP_UNSUPPORTED,
                           "%s: the memory of adapter \"%s\" is not host memory", method, device->info->name);
    if (!address || start % BORROWED_ALIGNMENT)
        return d3d_fail_as(device, E_INVALIDARG, D3D12_MESSAGE_ID_OPENEXISTINGHEAP_INVALIDADDRESS,
                           "%s: address %p: must not be NULL and a multiple of %u", method, address,
                           BORROWED_ALIGNMENT);
    if (!bytes || bytes > UINTPTR_MAX - D3D_PLACEMENT_ALIGNMENT - start)
        return d3d_fail_as(device, E_INVALIDARG, D3D12_MESSAGE_ID_OPENEXISTINGHEAP_INVALIDARG_RETURN,
                           "%s: %llu bytes: must not be 0 nor pass the end of the address space", method,
                           (unsigned long long)bytes);
    return S_OK;
}

static D3D12_RESOURCE_DESC buffer_desc(uint64_t bytes)
{
    return (D3D12_RESOURCE_DESC){
        .Dimension = D3D12_RESOURCE_DIMENSION_BUFFER,
        .Width = bytes,
        .Height = 1,
        .DepthOrArraySize = 1,
        .MipLevels = 1,
        .SampleDesc = { 1, 0 },
        .Layout = D3D12_TEXTURE_LAYOUT_ROW_MAJOR,
        .Flags = D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS,
    };
}

HRESULT d3d_resource_borrow(struct d3d_device *device, void *address, uint64_t bytes, REFIID riid, void **out)
{
    static const D3D12_HEAP_PROPERTIES properties = {
        .Type = D3D12_HEAP_TYPE_CUSTOM,
        .CPUPageProperty = D3D12_CPU_PAGE_PROPERTY_WRITE_BACK,
        .MemoryPoolPreference = D3D12_MEMORY_POOL_L0,
    };
    HRESULT hr = d3d_create_begin(device, out);
    if (SUCCEEDED(hr))
        hr = borrow_check(device, address, bytes, out);
    if (FAILED(hr))
        return hr;
    const D3D12_RESOURCE_DESC desc = buffer_desc(base_align_up(bytes, 4));
    const struct creation creation = { borrow_method, .desc = &desc, .properties = &properties };
    struct d3d_resource *resource;
    hr = resource_begin(device, &creation, out, &resource);
    if (hr != S_OK)
        return hr;
    resource->borrowed = (struct adapter_memory){ desc.Width, (uintptr_t)address, address };
    resource->memory = &resource->borrowed;
    resource->memory_id = BORROWED_SPACE;
    resource->memory_start = resource->borrowed.address;
    return resource_finish(device, &creation, resource, S_OK, "memory", riid, out);
}

/* ---- memory that the adapter opened ---- */

HRESULT d3d_resource_open(struct d3d_device *device, const char *method, struct adapter_memory *memory, uint64_t bytes,
                          REFIID riid, void **out)
{
    static const D3D12_HEAP_PROPERTIES properties = { .Type = D3D12_HEAP_TYPE_DEFAULT };
    const D3D12_RESOURCE_DESC desc = buffer_desc(bytes);
    const struct creation creation = { method, .desc = &desc, .properties = &properties };
    struct d3d_resource *resource;
    HRESULT hr = resource_begin(device, &creation, out, &resource);
    if (hr != S_OK) {
        device->ops->memory_destroy(device->adapter, memory);
        return hr;
    }
    resource->memory = memory;
    resource->memory_id = BORROWED_SPACE;
    resource->memory_start = memory->address;
    return resource_finish(device, &creation, resource, S_OK, "memory", riid, out);
}
