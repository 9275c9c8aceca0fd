/* SPDX-License-Identifier: Apache-2.0 */
/* One VkDeviceMemory and one VkBuffer per allocation of the front, zeroed. */
#include "adapter/vulkan/vulkan.h"

#include <stdlib.h>

#define NO_TYPE UINT32_MAX

/* What vulkan_memory_write() moves at once. */
#define STAGING_BYTES (UINT64_C(64) << 20)

/* adapter/cpu/device.c; its header has that adapter's own structs. */
uint64_t cpu_memory_available(void);

/* Flags that a memory type should have, and those that it had better not have. */
struct wish {
    VkMemoryPropertyFlags must, prefer, avoid;
};

static const struct wish wishes[] = {
    [ADAPTER_MEMORY_DEVICE] = { 0, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT },
    [ADAPTER_MEMORY_UPLOAD] = { VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT, 0,
                                VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | VK_MEMORY_PROPERTY_HOST_CACHED_BIT },
    [ADAPTER_MEMORY_READBACK] = { VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
                                  VK_MEMORY_PROPERTY_HOST_CACHED_BIT, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT },
};

/* Types whose memory some drivers lend on conditions that are not met here. */
#define STRANGE                                                                                                        \
    (VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT | VK_MEMORY_PROPERTY_PROTECTED_BIT |                                      \
     VK_MEMORY_PROPERTY_DEVICE_COHERENT_BIT_AMD)

static uint32_t find_type(const struct vulkan_physical *physical, enum adapter_memory_kind kind, uint32_t allowed)
{
    const struct wish *wish = &wishes[kind];
    uint32_t best = NO_TYPE;
    int best_score = -1;
    for (uint32_t i = 0; i < physical->memory.memoryTypeCount; i++) {
        VkMemoryPropertyFlags flags = physical->memory.memoryTypes[i].propertyFlags;
        if (!(allowed >> i & 1) || (flags & wish->must) != wish->must || (flags & STRANGE))
            continue;
        int score = 8 - __builtin_popcount(flags & wish->avoid) + 4 * __builtin_popcount(flags & wish->prefer);
        if (score > best_score) {
            best = i;
            best_score = score;
        }
    }
    return best;
}

/* Drivers that run on the processor promise more memory than there is, and the process would die when it is written. */
bool vulkan_memory_fits(struct adapter_device *device, uint32_t heap, uint64_t size)
{
    const struct vulkan_physical *physical = device->physical;
    uint64_t total = physical->memory.memoryHeaps[heap].size, used = atomic_load(&device->used[heap]);
    if (size > physical->allocation_bytes_max || size > total || used > total - size)
        return false;
    return physical->properties.deviceType != VK_PHYSICAL_DEVICE_TYPE_CPU || size <= cpu_memory_available();
}

static HRESULT allocate(struct adapter_device *device, struct vulkan_memory *memory, enum adapter_memory_kind kind)
{
    VkMemoryRequirements needs;
    vk.vkGetBufferMemoryRequirements(device->handle, memory->buffer, &needs);
    uint32_t type = find_type(device->physical, kind, needs.memoryTypeBits);
    if (type == NO_TYPE)
        return E_OUTOFMEMORY;
    memory->heap = device->physical->memory.memoryTypes[type].heapIndex;
    if (!vulkan_memory_fits(device, memory->heap, needs.size))
        return E_OUTOFMEMORY;
    VkMemoryAllocateFlagsInfo flags = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
        .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT,
    };
    VkMemoryAllocateInfo info = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
        .pNext = &flags,
        .allocationSize = needs.size,
        .memoryTypeIndex = type,
    };
    VkResult result = vk.vkAllocateMemory(device->handle, &info, NULL, &memory->memory);
    if (result != VK_SUCCESS)
        return vulkan_hresult(result);
    memory->allocated = needs.size;
    atomic_fetch_add(&device->used[memory->heap], needs.size);
    result = vk.vkBindBufferMemory(device->handle, memory->buffer, memory->memory, 0);
    bool visible = device->physical->memory.memoryTypes[type].propertyFlags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT;
    if (result == VK_SUCCESS && visible)
        result = vk.vkMapMemory(device->handle, memory->memory, 0, VK_WHOLE_SIZE, 0, &memory->base.host);
    return vulkan_hresult(result);
}

/* `extra` bytes more than asked for: room to move the start to an aligned address. */
static HRESULT place(struct adapter_device *device, struct vulkan_memory *memory, enum adapter_memory_kind kind,
                     uint64_t extra)
{
    VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
        .size = memory->base.size + extra,
        .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                 VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT,
    };
    VkResult result = vk.vkCreateBuffer(device->handle, &info, NULL, &memory->buffer);
    HRESULT hr = result == VK_SUCCESS ? allocate(device, memory, kind) : vulkan_hresult(result);
    if (FAILED(hr))
        return hr;
    VkBufferDeviceAddressInfo where = { .sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                        .buffer = memory->buffer };
    uint64_t start = vk.vkGetBufferDeviceAddress(device->handle, &where);
    memory->base.address = base_align_up(start, VULKAN_ALIGNMENT);
    memory->offset = memory->base.address - start;
    if (memory->base.host)
        memory->base.host = (char *)memory->base.host + memory->offset;
    return S_OK;
}

static void release(struct adapter_device *device, struct vulkan_memory *memory)
{
    vk.vkDestroyBuffer(device->handle, memory->buffer, NULL);
    vk.vkFreeMemory(device->handle, memory->memory, NULL); /* unmaps it, too */
    if (memory->allocated)
        atomic_fetch_sub(&device->used[memory->heap], memory->allocated);
    *memory = (struct vulkan_memory){ .base.size = memory->base.size };
}

/* Work of the adapter itself: begin_own() to end_own() record commands, which are complete then. */
static HRESULT begin_own(struct adapter_device *device)
{
    pthread_mutex_lock(&device->own.lock);
    HRESULT hr = vulkan_commands_begin(device, device->own.pool, device->own.commands);
    if (FAILED(hr))
        pthread_mutex_unlock(&device->own.lock);
    return hr;
}

static HRESULT end_own(struct adapter_device *device)
{
    vulkan_barrier(device->own.commands);
    HRESULT hr = vulkan_hresult(vk.vkEndCommandBuffer(device->own.commands));
    if (SUCCEEDED(hr))
        hr = vulkan_submit(&device->queue_slots[0], device->own.commands, device->own.done, device->own.value + 1);
    if (SUCCEEDED(hr))
        hr = vulkan_timeline_wait(device, device->own.done, ++device->own.value);
    pthread_mutex_unlock(&device->own.lock);
    return hr;
}

HRESULT vulkan_memory_zero(struct adapter_device *device, struct vulkan_memory *memory)
{
    if (memory->base.host) {
        memset(memory->base.host, 0, memory->base.size);
        return S_OK;
    }
    HRESULT hr = begin_own(device);
    if (FAILED(hr))
        return hr;
    vk.vkCmdFillBuffer(device->own.commands, memory->buffer, memory->offset, memory->base.size, 0);
    return end_own(device);
}

HRESULT vulkan_memory_create(struct adapter_device *device, enum adapter_memory_kind kind, uint64_t size,
                             struct adapter_memory **out)
{
    *out = NULL;
    if (size > UINT64_MAX - 2 * VULKAN_ALIGNMENT)
        return E_OUTOFMEMORY;
    struct vulkan_memory *memory = calloc(1, sizeof(*memory));
    if (!memory)
        return E_OUTOFMEMORY;
    memory->base.size = base_align_up(BASE_MAX(size, 1), VULKAN_ALIGNMENT);
    uint64_t extra = atomic_load(&device->unaligned) ? VULKAN_ALIGNMENT : 0;
    HRESULT hr = place(device, memory, kind, extra);
    if (SUCCEEDED(hr) && !extra && memory->offset) {
        atomic_store(&device->unaligned, true);
        release(device, memory);
        hr = place(device, memory, kind, VULKAN_ALIGNMENT);
    }
    if (SUCCEEDED(hr))
        hr = vulkan_memory_zero(device, memory);
    if (FAILED(hr)) {
        release(device, memory);
        free(memory);
        return hr;
    }
    *out = &memory->base;
    return S_OK;
}

void vulkan_memory_destroy(struct adapter_device *device, struct adapter_memory *memory)
{
    if (!memory)
        return;
    if (vulkan_memory_from(memory)->foreign) {
        vulkan_foreign_destroy(device, vulkan_memory_from(memory));
        return;
    }
    release(device, vulkan_memory_from(memory));
    free(memory);
}

static HRESULT copy_staged(struct adapter_device *device, struct adapter_memory *memory, uint64_t offset,
                           struct adapter_memory *staging, uint64_t bytes)
{
    const struct adapter_binding to = { memory, offset, bytes, 0 }, from = { staging, 0, bytes, 0 };
    HRESULT hr = begin_own(device);
    if (FAILED(hr))
        return hr;
    vulkan_copy(device->own.commands, &to, &from, bytes);
    return end_own(device);
}

HRESULT vulkan_memory_write(struct adapter_device *device, struct adapter_memory *memory, uint64_t offset,
                            const void *data, uint64_t bytes)
{
    struct adapter_memory *staging = NULL;
    if (memory->host) {
        memcpy((char *)memory->host + offset, data, bytes);
        return S_OK;
    }
    HRESULT hr = vulkan_memory_create(device, ADAPTER_MEMORY_UPLOAD, BASE_MIN(bytes, STAGING_BYTES), &staging);
    for (uint64_t done = 0; SUCCEEDED(hr) && done < bytes; done += STAGING_BYTES) {
        const uint64_t n = BASE_MIN(bytes - done, STAGING_BYTES);
        memcpy(staging->host, (const char *)data + done, n);
        hr = copy_staged(device, memory, offset + done, staging, n);
    }
    vulkan_memory_destroy(device, staging);
    return hr;
}
