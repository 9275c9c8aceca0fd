/* SPDX-License-Identifier: Apache-2.0 */
/* Resources of the parent. What is known of one is private data of the resource: it is found without a table of
 * pointers, which are used again, and it disappears with the resource. Bindings name it by a number that is never used
 * again. */
#include "foreign/device.h"

#include <stdlib.h>

#define BUCKETS 1024u

/* {0c8f3a0e-5f5b-4d2c-9b41-7f2f5a9f64d1} */
static const GUID private_data = { 0x0c8f3a0e, 0x5f5b, 0x4d2c, { 0x9b, 0x41, 0x7f, 0x2f, 0x5a, 0x9f, 0x64, 0xd1 } };

struct foreign_resource {
    const IUnknownVtbl *lpVtbl;
    uint32_t refs;                 /* under known_lock */
    const IUnknown *owner;         /* the device of the resource, which keeps it alive; identity only */
    struct foreign_resource *next; /* under known_lock: of the bucket */
    struct adapter_memory *memory;
    struct anydml_resource_info info;
};

static pthread_mutex_t known_lock = PTHREAD_MUTEX_INITIALIZER;
static struct foreign_resource *known[BUCKETS];
static pthread_mutex_t create_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- the object that the resource keeps ---- */

static HRESULT STDMETHODCALLTYPE resource_QueryInterface(IUnknown *iface, REFIID riid, void **out)
{
    *out = NULL;
    if (memcmp(riid, &IID_IUnknown, sizeof(IID)) != 0)
        return E_NOINTERFACE;
    iface->lpVtbl->AddRef(iface);
    *out = iface;
    return S_OK;
}

static ULONG STDMETHODCALLTYPE resource_AddRef(IUnknown *iface)
{
    pthread_mutex_lock(&known_lock);
    const uint32_t refs = ++((struct foreign_resource *)iface)->refs;
    pthread_mutex_unlock(&known_lock);
    return refs;
}

static ULONG STDMETHODCALLTYPE resource_Release(IUnknown *iface)
{
    struct foreign_resource *resource = (struct foreign_resource *)iface;
    pthread_mutex_lock(&known_lock);
    const uint32_t refs = --resource->refs;
    if (!refs) {
        struct foreign_resource **at = &known[resource->info.resource_id % BUCKETS];
        while (*at != resource)
            at = &(*at)->next;
        *at = resource->next;
    }
    pthread_mutex_unlock(&known_lock);
    if (refs)
        return refs;
    adapter_vulkan_interop.buffer_unwrap(resource->memory);
    free(resource);
    return 0;
}

static const IUnknownVtbl resource_vtbl = { resource_QueryInterface, resource_AddRef, resource_Release };

void foreign_resource_unref(struct foreign_resource *resource)
{
    if (resource)
        resource_Release((IUnknown *)resource);
}

/* ---- creation ---- */

static bool is_child(struct foreign_device *device, ID3D12Resource *resource)
{
    ID3D12Device *parent = NULL;
    if (FAILED(resource->lpVtbl->GetDevice(resource, &IID_ID3D12Device, (void **)&parent)) || !parent)
        return false;
    const bool same = foreign_is_same((IUnknown *)parent, device->identity);
    parent->lpVtbl->Release(parent);
    return same;
}

/* Reserved resources have no heap: they are like those of DEFAULT heaps. */
static D3D12_HEAP_TYPE heap_type(ID3D12Resource *resource)
{
    D3D12_HEAP_PROPERTIES properties = { .Type = D3D12_HEAP_TYPE_DEFAULT };
    D3D12_HEAP_FLAGS flags;
    return SUCCEEDED(resource->lpVtbl->GetHeapProperties(resource, &properties, &flags)) ? properties.Type
                                                                                         : D3D12_HEAP_TYPE_DEFAULT;
}

/* Bytes of the buffer that whole words have. */
static bool describe(struct foreign_device *device, ID3D12Resource *iface, struct foreign_resource *resource)
{
    static uint64_t last_id; /* under create_lock */
    UINT64 handle = 0, offset = 0;
    const D3D12_RESOURCE_DESC desc = vkd3d_resource_desc(iface);
    if (desc.Dimension != D3D12_RESOURCE_DIMENSION_BUFFER ||
        FAILED(device->interop->lpVtbl->GetVulkanResourceInfo(device->interop, iface, &handle, &offset)))
        return false;
    const uint64_t address = iface->lpVtbl->GetGPUVirtualAddress(iface);
    const struct anydml_vulkan_buffer buffer = { (VkBuffer)(uintptr_t)handle, offset, desc.Width, address };
    resource->memory = adapter_vulkan_interop.buffer_wrap(&buffer);
    resource->owner = device->identity;
    /* Addresses are unique over all memory: overlaps of placed resources are found by them. */
    resource->info = (struct anydml_resource_info){ .resource_id = ++last_id,
                                                    .width = desc.Width,
                                                    .heap_type = heap_type(iface),
                                                    .flags = desc.Flags,
                                                    .memory_id = 1,
                                                    .memory_offset = address };
    return resource->memory;
}

/* Under create_lock; with one reference, that of the caller. */
static struct foreign_resource *create(struct foreign_device *device, ID3D12Resource *iface)
{
    struct foreign_resource *resource = calloc(1, sizeof(*resource));
    if (!resource)
        return NULL;
    if (!is_child(device, iface) || !describe(device, iface, resource)) {
        free(resource);
        return NULL;
    }
    resource->lpVtbl = &resource_vtbl;
    resource->refs = 1;
    pthread_mutex_lock(&known_lock);
    struct foreign_resource **bucket = &known[resource->info.resource_id % BUCKETS];
    resource->next = *bucket;
    *bucket = resource;
    pthread_mutex_unlock(&known_lock);
    if (SUCCEEDED(iface->lpVtbl->SetPrivateDataInterface(iface, &private_data, (IUnknown *)resource)))
        return resource;
    resource_Release((IUnknown *)resource);
    return NULL;
}

/* Of the resource; NULL: it was not looked at yet. */
static struct foreign_resource *kept(struct foreign_device *device, ID3D12Resource *iface)
{
    struct foreign_resource *resource = NULL;
    UINT bytes = sizeof(resource);
    if (FAILED(iface->lpVtbl->GetPrivateData(iface, &private_data, &bytes, &resource)) || !resource)
        return NULL;
    if (resource->owner == device->identity)
        return resource;
    resource_Release((IUnknown *)resource);
    return NULL;
}

struct foreign_resource *foreign_resource_get(struct foreign_device *device, ID3D12Resource *iface)
{
    struct foreign_resource *resource = NULL;
    ID3D12Resource *own = NULL;
    if (!iface || FAILED(iface->lpVtbl->QueryInterface(iface, &IID_ID3D12Resource, (void **)&own)) || !own)
        return NULL;
    resource = kept(device, own);
    if (!resource) {
        pthread_mutex_lock(&create_lock);
        resource = kept(device, own);
        if (!resource)
            resource = create(device, own);
        pthread_mutex_unlock(&create_lock);
    }
    own->lpVtbl->Release(own);
    return resource;
}

const struct anydml_resource_info *foreign_resource_info(const struct foreign_resource *resource)
{
    return &resource->info;
}

struct foreign_resource *foreign_resource_bind(const struct anydml_buffer *buffer, struct adapter_binding *out)
{
    pthread_mutex_lock(&known_lock);
    struct foreign_resource *resource = known[buffer->resource_id % BUCKETS];
    while (resource && resource->info.resource_id != buffer->resource_id)
        resource = resource->next;
    if (resource)
        resource->refs++;
    pthread_mutex_unlock(&known_lock);
    if (resource)
        *out = (struct adapter_binding){ resource->memory, buffer->offset, buffer->size, buffer->resource_id };
    return resource;
}
