/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in's heaps, resources and descriptor heaps. */
#include "standin_own.h"

#include <anydml_vulkan.h>

/* ---- chunks ---- */

static VkBufferUsageFlags usage_of(D3D12_HEAP_TYPE type)
{
    if (type == D3D12_HEAP_TYPE_READBACK)
        return VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
               VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
    return type == D3D12_HEAP_TYPE_UPLOAD
               ? ANYDML_VULKAN_BUFFER_USAGE & ~(VkBufferUsageFlags)VK_BUFFER_USAGE_TRANSFER_DST_BIT
               : ANYDML_VULKAN_BUFFER_USAGE;
}

/* Mapped memory where there is some of the kind, so that it can be zeroed. */
static uint32_t memory_type(const struct standin *device, uint32_t allowed, D3D12_HEAP_TYPE type)
{
    const VkMemoryPropertyFlags mapped = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    uint32_t best = UINT32_MAX;
    for (uint32_t i = device->memory.memoryTypeCount; i-- > 0;) {
        const VkMemoryPropertyFlags flags = device->memory.memoryTypes[i].propertyFlags;
        const bool local = flags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
        if (allowed >> i & 1 && (flags & mapped) == mapped &&
            (best == UINT32_MAX || local == (type == D3D12_HEAP_TYPE_DEFAULT)))
            best = i;
    }
    check(best != UINT32_MAX);
    return best;
}

static struct chunk *chunk_new(struct standin *device, D3D12_HEAP_TYPE type, uint64_t bytes)
{
    struct chunk *chunk = calloc(1, sizeof(*chunk));
    check(chunk);
    VkBufferCreateInfo info = { .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                .size = bytes,
                                .usage = usage_of(type),
                                .sharingMode =
                                    device->family_count > 1 ? VK_SHARING_MODE_CONCURRENT : VK_SHARING_MODE_EXCLUSIVE,
                                .queueFamilyIndexCount = device->family_count > 1 ? device->family_count : 0,
                                .pQueueFamilyIndices = device->families };
    VkMemoryRequirements needs;
    check(vkCreateBuffer(device->device, &info, NULL, &chunk->buffer) == VK_SUCCESS);
    vkGetBufferMemoryRequirements(device->device, chunk->buffer, &needs);
    VkMemoryAllocateFlagsInfo flags = { .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                        .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT };
    VkMemoryAllocateInfo allocate = { .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                      .pNext = &flags,
                                      .allocationSize = needs.size,
                                      .memoryTypeIndex = memory_type(device, needs.memoryTypeBits, type) };
    void *host;
    check(vkAllocateMemory(device->device, &allocate, NULL, &chunk->memory) == VK_SUCCESS);
    check(vkBindBufferMemory(device->device, chunk->buffer, chunk->memory, 0) == VK_SUCCESS);
    check(vkMapMemory(device->device, chunk->memory, 0, VK_WHOLE_SIZE, 0, &host) == VK_SUCCESS);
    VkBufferDeviceAddressInfo where = { .sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                        .buffer = chunk->buffer };
    chunk->address = vkGetBufferDeviceAddress(device->device, &where);
    chunk->host = memset(host, 0, (size_t)bytes);
    chunk->bytes = bytes;
    chunk->type = type;
    return chunk;
}

static void chunk_free(struct standin *device, struct chunk *chunk)
{
    vkDestroyBuffer(device->device, chunk->buffer, NULL);
    vkFreeMemory(device->device, chunk->memory, NULL);
    free(chunk);
}

/* Bytes at an odd multiple of 256. Small pieces stay taken until the device is destroyed. */
static struct chunk *take(struct standin *device, D3D12_HEAP_TYPE type, uint64_t bytes, uint64_t *out_offset,
                          struct chunk **out_own)
{
    if (bytes > CHUNK_BYTES / 16) {
        *out_own = chunk_new(device, type, bytes + 1024);
        *out_offset = 768;
        return *out_own;
    }
    pthread_mutex_lock(&device->lock);
    struct chunk *chunk = device->chunks;
    while (chunk && (chunk->type != type || chunk->used + bytes + 1024 > chunk->bytes))
        chunk = chunk->next;
    if (!chunk) {
        chunk = chunk_new(device, type, CHUNK_BYTES);
        chunk->next = device->chunks;
        device->chunks = chunk;
    }
    *out_offset = chunk->used + 256;
    chunk->used += (bytes + 256 + 511) / 512 * 512;
    pthread_mutex_unlock(&device->lock);
    return chunk;
}

void standin_memory_finish(struct standin *device)
{
    while (device->chunks) {
        struct chunk *next = device->chunks->next;
        chunk_free(device, device->chunks);
        device->chunks = next;
    }
}

/* ---- resources ---- */

static D3D12_RESOURCE_DESC *STDMETHODCALLTYPE resource_GetDesc(struct resource *resource, D3D12_RESOURCE_DESC *out)
{
    *out = resource->desc;
    return out;
}

static D3D12_GPU_VIRTUAL_ADDRESS STDMETHODCALLTYPE resource_GetGPUVirtualAddress(struct resource *resource)
{
    return resource->chunk ? resource->chunk->address + resource->offset : 0;
}

static HRESULT STDMETHODCALLTYPE resource_GetHeapProperties(struct resource *resource, D3D12_HEAP_PROPERTIES *out,
                                                            D3D12_HEAP_FLAGS *flags)
{
    if (resource->reserved)
        return E_INVALIDARG;
    *out = (D3D12_HEAP_PROPERTIES){ .Type = resource->type };
    *flags = D3D12_HEAP_FLAG_NONE;
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE resource_Map(struct resource *resource, UINT sub, const D3D12_RANGE *range, void **out)
{
    (void)sub, (void)range;
    check(resource->type != D3D12_HEAP_TYPE_DEFAULT);
    *out = resource->chunk->host + resource->offset;
    return S_OK;
}

static void STDMETHODCALLTYPE resource_Unmap(struct resource *resource, UINT sub, const D3D12_RANGE *range)
{
    (void)resource, (void)sub, (void)range;
}

static void resource_destroy(struct object *object)
{
    struct resource *resource = (struct resource *)object;
    if (resource->own)
        chunk_free(object->device, resource->own);
    free(resource);
}

static void *const *resource_slots(void)
{
    static const struct method methods[] = {
        METHOD(ID3D12Resource, GetDesc, resource_GetDesc),
        METHOD(ID3D12Resource, GetGPUVirtualAddress, resource_GetGPUVirtualAddress),
        METHOD(ID3D12Resource, GetHeapProperties, resource_GetHeapProperties),
        METHOD(ID3D12Resource, Map, resource_Map),
        METHOD(ID3D12Resource, Unmap, resource_Unmap),
    };
    static void *const *slots;
    if (!slots)
        slots = TABLE(methods);
    return slots;
}

static struct resource *resource_new(struct standin *device, const D3D12_RESOURCE_DESC *desc, D3D12_HEAP_TYPE type)
{
    struct resource *resource =
        object_new(device, sizeof(*resource), resource_slots(), &IID_ID3D12Resource, resource_destroy);
    resource->base.iids[1] = &IID_ID3D12Pageable;
    resource->desc = *desc;
    resource->type = type;
    return resource;
}

HRESULT standin_CreateCommittedResource(struct standin *device, const D3D12_HEAP_PROPERTIES *properties,
                                        D3D12_HEAP_FLAGS flags, const D3D12_RESOURCE_DESC *desc,
                                        D3D12_RESOURCE_STATES state, const D3D12_CLEAR_VALUE *clear, REFIID riid,
                                        void **out)
{
    (void)flags, (void)state, (void)clear;
    struct resource *resource = resource_new(device, desc, properties->Type);
    check(desc->Height && desc->DepthOrArraySize && desc->MipLevels && desc->SampleDesc.Count);
    if (desc->Dimension == D3D12_RESOURCE_DIMENSION_BUFFER)
        resource->chunk = take(device, properties->Type, desc->Width, &resource->offset, &resource->own);
    return object_return(resource, riid, out);
}

HRESULT standin_CreatePlacedResource(struct standin *device, struct heap *heap, UINT64 offset,
                                     const D3D12_RESOURCE_DESC *desc, D3D12_RESOURCE_STATES state,
                                     const D3D12_CLEAR_VALUE *clear, REFIID riid, void **out)
{
    (void)state, (void)clear;
    check(offset + desc->Width <= heap->desc.SizeInBytes);
    struct resource *resource = resource_new(device, desc, heap->desc.Properties.Type);
    resource->chunk = heap->chunk;
    resource->offset = heap->offset + offset;
    return object_return(resource, riid, out);
}

HRESULT standin_CreateReservedResource(struct standin *device, const D3D12_RESOURCE_DESC *desc,
                                       D3D12_RESOURCE_STATES state, const D3D12_CLEAR_VALUE *clear, REFIID riid,
                                       void **out)
{
    (void)state, (void)clear;
    struct resource *resource = resource_new(device, desc, D3D12_HEAP_TYPE_DEFAULT);
    resource->reserved = true;
    resource->chunk = resource->own = chunk_new(device, D3D12_HEAP_TYPE_DEFAULT, desc->Width);
    return object_return(resource, riid, out);
}

/* ---- heaps ---- */

static void heap_destroy(struct object *object)
{
    chunk_free(object->device, ((struct heap *)object)->chunk);
    free(object);
}

HRESULT standin_create_heap(struct standin *device, const D3D12_HEAP_DESC *desc, REFIID riid, void **out)
{
    static void *const *slots;
    if (!slots)
        slots = object_table(NULL, 0);
    struct heap *heap = object_new(device, sizeof(*heap), slots, &IID_ID3D12Heap, heap_destroy);
    heap->desc = *desc;
    heap->chunk = chunk_new(device, desc->Properties.Type, desc->SizeInBytes + 1024);
    heap->offset = 256;
    return object_return(heap, riid, out);
}

static D3D12_CPU_DESCRIPTOR_HANDLE *STDMETHODCALLTYPE heap_GetCpuStart(struct descriptor_heap *heap,
                                                                       D3D12_CPU_DESCRIPTOR_HANDLE *out)
{
    out->ptr = (SIZE_T)heap->cpu;
    return out;
}

static D3D12_GPU_DESCRIPTOR_HANDLE *STDMETHODCALLTYPE heap_GetGpuStart(struct descriptor_heap *heap,
                                                                       D3D12_GPU_DESCRIPTOR_HANDLE *out)
{
    out->ptr = heap->gpu;
    return out;
}

static void descriptor_heap_destroy(struct object *object)
{
    free(((struct descriptor_heap *)object)->cpu);
    free(object);
}

HRESULT standin_create_descriptor_heap(struct standin *device, const D3D12_DESCRIPTOR_HEAP_DESC *desc, REFIID riid,
                                       void **out)
{
    static const struct method methods[] = {
        METHOD(ID3D12DescriptorHeap, GetCPUDescriptorHandleForHeapStart, heap_GetCpuStart),
        METHOD(ID3D12DescriptorHeap, GetGPUDescriptorHandleForHeapStart, heap_GetGpuStart),
    };
    static void *const *slots;
    if (!slots)
        slots = TABLE(methods);
    struct descriptor_heap *heap =
        object_new(device, sizeof(*heap), slots, &IID_ID3D12DescriptorHeap, descriptor_heap_destroy);
    heap->cpu = calloc(desc->NumDescriptors, STEP);
    check(heap->cpu);
    pthread_mutex_lock(&device->lock);
    heap->gpu = UINT64_C(0x100000000) * ++device->heaps;
    pthread_mutex_unlock(&device->lock);
    return object_return(heap, riid, out);
}
