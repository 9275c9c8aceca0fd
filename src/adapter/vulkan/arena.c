/* SPDX-License-Identifier: Apache-2.0 */
/* Memory allocation. Drivers allow few allocations (4096 is common) and are slow at them, so small pieces are
 * suballocated from blocks, in units of VULKAN_ALIGNMENT; large ones are blocks of their own. A block is one VkBuffer
 * over one VkDeviceMemory; if it is larger than the driver's allocations may be, the buffer is sparse and has several
 * (sparse.c). If device memory is full, device allocations overflow to host memory that the device can access over the
 * bus: slow, but equivalent to Windows, where the system moves memory there. */
#include "adapter/vulkan/sparse.h"

#include "base/log.h"
#include "base/pages.h"

#include <stdlib.h>

#define BLOCK_BYTES_MIN (UINT64_C(1) << 20)
#define BLOCK_BYTES_MAX (UINT64_C(64) << 20)
/* Larger allocations have a block of their own. */
#define PIECE_BYTES_MAX (BLOCK_BYTES_MAX / 4)

#define NO_TYPE UINT32_MAX

/* Required, preferred and undesirable flags of a memory type. */
struct wish {
    VkMemoryPropertyFlags must, prefer, avoid;
};

static const struct wish wishes[] = {
    [ADAPTER_MEMORY_DEVICE] = { 0, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT },
    [ADAPTER_MEMORY_UPLOAD] = { VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT, 0,
                                VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | VK_MEMORY_PROPERTY_HOST_CACHED_BIT },
    [ADAPTER_MEMORY_READBACK] = { VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
                                  VK_MEMORY_PROPERTY_HOST_CACHED_BIT, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT },
    [VULKAN_MEMORY_TABLES] = { VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
                               VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, VK_MEMORY_PROPERTY_HOST_CACHED_BIT },
};

static uint32_t find_type(const struct vulkan_physical *physical, uint32_t kind, uint32_t allowed)
{
    const struct wish *wish = &wishes[kind];
    uint32_t best = NO_TYPE;
    int best_score = -1;
    for (uint32_t i = 0; i < physical->memory.memoryTypeCount; i++) {
        VkMemoryPropertyFlags flags = physical->memory.memoryTypes[i].propertyFlags;
        if (!(allowed >> i & 1) || (flags & wish->must) != wish->must || (flags & VULKAN_STRANGE_MEMORY))
            continue;
        int score = 8 - __builtin_popcount(flags & wish->avoid) + 4 * __builtin_popcount(flags & wish->prefer);
        if (score > best_score) {
            best = i;
            best_score = score;
        }
    }
    return best;
}

/* The firmware may set memory aside for AMD's integrated GPUs; those of others have the host's. */
#define VENDOR_AMD 0x1002u

static bool heap_is_own(const struct vulkan_physical *physical, uint32_t heap)
{
    const VkPhysicalDeviceType type = physical->properties.deviceType;
    const bool integrated = type == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
    const bool shares = integrated && physical->properties.vendorID != VENDOR_AMD;
    return physical->memory.memoryHeaps[heap].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT &&
           type != VK_PHYSICAL_DEVICE_TYPE_CPU && !shares;
}

/* Of the host's memory drivers promise more than there is, and the process would die when it is written: `rest` bytes
 * will be allocated there one after another, of which `size` now. */
static bool heap_holds(struct adapter_device *device, uint32_t heap, uint64_t size, uint64_t rest)
{
    const struct vulkan_physical *physical = device->physical;
    const uint64_t total = physical->memory.memoryHeaps[heap].size, used = atomic_load(&device->used[heap]);
    if (size > physical->allocation_bytes_max || size > total || used > total - size)
        return false;
    return heap_is_own(physical, heap) || base_memory_fits(rest);
}

bool vulkan_memory_fits(struct adapter_device *device, uint32_t heap, uint64_t size)
{
    return heap_holds(device, heap, size, size);
}

struct vulkan_block {
    struct vulkan_block *next;
    VkBuffer buffer;
    struct vulkan_part only, *parts; /* parts: `only`, or an array of a sparse buffer's */
    uint32_t part_count;
    VkDescriptorPool pool; /* of `uniform`; VK_NULL_HANDLE: not requested yet */
    VkDescriptorSet uniform;
    char *host;       /* of the first unit, as the two that follow; NULL: not for the host */
    uint64_t address; /* a multiple of VULKAN_ALIGNMENT */
    uint64_t offset;  /* in the buffer */
    uint32_t kind;
    uint32_t unit_count, free_units;
    bool sparse;
    bool overflow; /* not of the kind's best memory: that was full */
    bool taken[];  /* by unit */
};

static void block_destroy(struct adapter_device *device, struct vulkan_block *block)
{
    vk.vkDestroyDescriptorPool(device->handle, block->pool, NULL);
    vk.vkDestroyBuffer(device->handle, block->buffer, NULL);
    for (uint32_t i = 0; i < block->part_count; i++) {
        vk.vkFreeMemory(device->handle, block->parts[i].memory, NULL); /* also unmaps it */
        atomic_fetch_sub(&device->used[block->parts[i].heap], block->parts[i].bytes);
    }
    if (block->parts != &block->only)
        free(block->parts);
    free(block);
}

HRESULT vulkan_allocate(struct adapter_device *device, const void *next, uint32_t type, uint64_t bytes,
                        struct vulkan_part *out)
{
    VkMemoryAllocateFlagsInfo flags = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
        .pNext = next,
        .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT,
    };
    VkMemoryAllocateInfo info = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
        .pNext = &flags,
        .allocationSize = bytes,
        .memoryTypeIndex = type,
    };
    HRESULT hr = vulkan_hresult(vk.vkAllocateMemory(device->handle, &info, NULL, &out->memory));
    if (FAILED(hr))
        return hr;
    out->bytes = bytes;
    out->heap = device->physical->memory.memoryTypes[type].heapIndex;
    atomic_fetch_add(&device->used[out->heap], bytes);
    return S_OK;
}

static HRESULT allocate_of(struct adapter_device *device, uint32_t type, uint64_t bytes, uint64_t rest,
                           struct vulkan_part *out)
{
    const uint32_t heap = device->physical->memory.memoryTypes[type].heapIndex;
    return heap_holds(device, heap, bytes, rest) ? vulkan_allocate(device, NULL, type, bytes, out) : E_OUTOFMEMORY;
}

/* The block's next part, from the best of the types; if it may overflow, from the best one whose heap has space.
 * `rest`: the bytes of this part and of those after it. */
static HRESULT allocate(struct adapter_device *device, struct vulkan_block *block, uint32_t types, uint64_t bytes,
                        uint64_t rest, uint32_t *out_type)
{
    const VkPhysicalDeviceMemoryProperties *memory = &device->physical->memory;
    HRESULT hr = E_OUTOFMEMORY;
    for (uint32_t allowed = types, heap; hr == E_OUTOFMEMORY;) {
        *out_type = find_type(device->physical, block->kind, allowed);
        if (*out_type == NO_TYPE)
            break;
        hr = allocate_of(device, *out_type, bytes, rest, &block->parts[block->part_count]);
        if (!block->overflow)
            break;
        heap = memory->memoryTypes[*out_type].heapIndex;
        for (uint32_t i = 0; i < memory->memoryTypeCount; i++)
            if (memory->memoryTypes[i].heapIndex == heap)
                allowed &= ~(1u << i);
    }
    block->part_count += SUCCEEDED(hr);
    return hr;
}

/* As few parts as the driver's limit allows, all but the last one of the same size. */
static HRESULT block_allocate_parts(struct adapter_device *device, struct vulkan_block *block,
                                    const VkMemoryRequirements *needs)
{
    const uint64_t most = vulkan_sparse_part_bytes(device->physical, needs->alignment);
    const uint64_t count = most ? (needs->size - 1) / most + 1 : 0;
    HRESULT hr = count && count <= UINT32_MAX ? S_OK : E_OUTOFMEMORY;
    if (SUCCEEDED(hr) && !(block->parts = calloc(count, sizeof(*block->parts))))
        hr = E_OUTOFMEMORY;
    for (uint64_t done = 0; SUCCEEDED(hr) && done < needs->size; done += most) {
        const uint64_t rest = needs->size - done;
        uint32_t type;
        hr = allocate(device, block, needs->memoryTypeBits, BASE_MIN(rest, most), rest, &type);
    }
    return SUCCEEDED(hr) ? vulkan_sparse_bind(device, block->buffer, block->parts, block->part_count) : hr;
}

static HRESULT block_allocate(struct adapter_device *device, struct vulkan_block *block)
{
    uint32_t type;
    VkMemoryRequirements needs;
    vk.vkGetBufferMemoryRequirements(device->handle, block->buffer, &needs);
    if (block->sparse)
        return block_allocate_parts(device, block, &needs);
    block->parts = &block->only;
    HRESULT hr = allocate(device, block, needs.memoryTypeBits, needs.size, needs.size, &type);
    if (FAILED(hr))
        return hr;
    VkResult result = vk.vkBindBufferMemory(device->handle, block->buffer, block->only.memory, 0);
    void *host = NULL;
    /* Host writes are never flushed: without coherence, as on some mobile GPUs, memory is staged. */
    const VkMemoryPropertyFlags direct = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    if (result == VK_SUCCESS && (device->physical->memory.memoryTypes[type].propertyFlags & direct) == direct)
        result = vk.vkMapMemory(device->handle, block->only.memory, 0, VK_WHOLE_SIZE, 0, &host);
    block->host = host;
    return vulkan_hresult(result);
}

/* `extra` bytes more than its units: room to move the start to an aligned address. */
static HRESULT block_place(struct adapter_device *device, struct vulkan_block *block, uint64_t extra)
{
    const uint64_t bytes = (uint64_t)block->unit_count * VULKAN_ALIGNMENT + extra;
    block->sparse = block->kind == ADAPTER_MEMORY_DEVICE && bytes > vulkan_memory_single(device->physical);
    if (bytes > vulkan_memory_most(device->physical, block->kind))
        return E_OUTOFMEMORY;
    VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
        .flags = block->sparse ? VK_BUFFER_CREATE_SPARSE_BINDING_BIT : 0,
        .size = bytes,
        .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT |
                 VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
                 VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT,
        .sharingMode = device->family_count > 1 ? VK_SHARING_MODE_CONCURRENT : VK_SHARING_MODE_EXCLUSIVE,
        .queueFamilyIndexCount = device->family_count > 1 ? device->family_count : 0,
        .pQueueFamilyIndices = device->families,
    };
    VkResult result = vk.vkCreateBuffer(device->handle, &info, NULL, &block->buffer);
    HRESULT hr = result == VK_SUCCESS ? block_allocate(device, block) : vulkan_hresult(result);
    if (FAILED(hr))
        return hr;
    VkBufferDeviceAddressInfo where = { .sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                        .buffer = block->buffer };
    uint64_t start = vk.vkGetBufferDeviceAddress(device->handle, &where);
    block->address = base_align_up(start, VULKAN_ALIGNMENT);
    block->offset = block->address - start;
    if (block->host)
        block->host += block->offset;
    return S_OK;
}

static HRESULT block_try(struct adapter_device *device, const struct vulkan_block *like, uint64_t extra,
                         struct vulkan_block **out)
{
    struct vulkan_block *block = *out = calloc(1, sizeof(*block) + like->unit_count);
    if (!block)
        return E_OUTOFMEMORY;
    *block = *like;
    HRESULT hr = block_place(device, block, extra);
    if (FAILED(hr)) {
        block_destroy(device, block);
        *out = NULL;
    }
    return hr;
}

static HRESULT block_make(struct adapter_device *device, const struct vulkan_block *like, struct vulkan_block **out)
{
    uint64_t extra = atomic_load(&device->unaligned) ? VULKAN_ALIGNMENT : 0;
    HRESULT hr = block_try(device, like, extra, out);
    if (SUCCEEDED(hr) && !extra && (*out)->offset) {
        atomic_store(&device->unaligned, true);
        block_destroy(device, *out);
        hr = block_try(device, like, VULKAN_ALIGNMENT, out);
    }
    return hr;
}

/* Of `most` bytes, or of `least` if there is not enough space. */
static HRESULT block_create(struct adapter_device *device, uint32_t kind, uint64_t most, uint64_t least,
                            struct vulkan_block **out)
{
    HRESULT hr = E_OUTOFMEMORY;
    for (int overflow = 0; hr == E_OUTOFMEMORY && overflow <= (kind == ADAPTER_MEMORY_DEVICE); overflow++) {
        struct vulkan_block like = { .kind = kind, .overflow = overflow };
        like.unit_count = like.free_units = (uint32_t)(most / VULKAN_ALIGNMENT);
        hr = block_make(device, &like, out);
        like.unit_count = like.free_units = (uint32_t)(least / VULKAN_ALIGNMENT);
        if (hr == E_OUTOFMEMORY && most > least)
            hr = block_make(device, &like, out);
    }
    if (SUCCEEDED(hr) && (*out)->overflow)
        base_log(BASE_LOG_INFO, "vulkan: the memory of \"%s\" is full: %llu bytes are in other memory",
                 device->physical->properties.deviceName, (unsigned long long)(*out)->unit_count * VULKAN_ALIGNMENT);
    return hr;
}

/* ---- pieces, under the lock ---- */

/* The first run of this many free units; unit_count: none. */
static uint32_t find_run(const struct vulkan_block *block, uint32_t units)
{
    for (uint32_t i = 0, run = 0; units <= block->free_units && i < block->unit_count; i++) {
        run = block->taken[i] ? 0 : run + 1;
        if (run == units)
            return i + 1 - units;
    }
    return block->unit_count;
}

/* A new block for pieces of the kind: as large as all blocks before together, so that there are few. */
static HRESULT grow(struct adapter_device *device, uint32_t kind, uint64_t bytes)
{
    struct vulkan_block *block;
    uint64_t before = 0;
    for (block = device->arena.blocks[kind]; block; block = block->next)
        before += (uint64_t)block->unit_count * VULKAN_ALIGNMENT;
    const uint64_t single = vulkan_memory_single(device->physical) - VULKAN_ALIGNMENT; /* room to align it */
    const uint64_t most = BASE_MIN(BLOCK_BYTES_MAX, single / VULKAN_ALIGNMENT * VULKAN_ALIGNMENT);
    uint64_t size = BASE_MAX(BASE_MIN(BASE_MAX(before, BLOCK_BYTES_MIN), most), bytes);
    HRESULT hr = block_create(device, kind, size, bytes, &block);
    if (FAILED(hr))
        return hr;
    struct vulkan_block **at = &device->arena.blocks[kind];
    while (block->overflow && *at) /* better memory is used first */
        at = &(*at)->next;
    block->next = *at;
    *at = block;
    return S_OK;
}

static struct vulkan_block *find_block(struct adapter_device *device, uint32_t kind, uint32_t units, uint32_t *out)
{
    for (struct vulkan_block *block = device->arena.blocks[kind]; block; block = block->next)
        if ((*out = find_run(block, units)) < block->unit_count)
            return block;
    return NULL;
}

static HRESULT take_piece(struct adapter_device *device, uint32_t kind, uint32_t units, struct vulkan_block **out,
                          uint32_t *out_unit)
{
    HRESULT hr = S_OK;
    pthread_mutex_lock(&device->arena.lock);
    *out = find_block(device, kind, units, out_unit);
    if (!*out) {
        hr = grow(device, kind, (uint64_t)units * VULKAN_ALIGNMENT);
        *out = find_block(device, kind, units, out_unit);
    }
    if (*out) {
        memset((*out)->taken + *out_unit, true, units);
        (*out)->free_units -= units;
    }
    pthread_mutex_unlock(&device->arena.lock);
    return hr;
}

/* Removes the block from its list if it is empty and not the only empty one: alternating allocations and frees should
 * not call the driver each time. */
static bool unlink_empty(struct adapter_device *device, struct vulkan_block *block)
{
    struct vulkan_block **list = &device->arena.blocks[block->kind];
    bool other = false;
    if (block->free_units < block->unit_count)
        return false;
    for (struct vulkan_block *b = *list; b; b = b->next)
        other |= b != block && b->free_units == b->unit_count;
    while (other && *list != block)
        list = &(*list)->next;
    if (other)
        *list = block->next;
    return other;
}

static void release_piece(struct adapter_device *device, const struct vulkan_memory *memory)
{
    const uint32_t units = (uint32_t)(memory->base.size / VULKAN_ALIGNMENT);
    struct vulkan_block *block = memory->block;
    pthread_mutex_lock(&device->arena.lock);
    memset(block->taken + memory->unit, false, units);
    block->free_units += units;
    bool gone = unlink_empty(device, block);
    pthread_mutex_unlock(&device->arena.lock);
    if (gone)
        block_destroy(device, block);
}

/* ---- uniform buffers ---- */

static VkResult make_uniform(struct adapter_device *device, struct vulkan_block *block)
{
    const VkDescriptorPoolSize size = { VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC, 1 };
    const VkDescriptorPoolCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = 1, .poolSizeCount = 1, .pPoolSizes = &size
    };
    VkResult result = vk.vkCreateDescriptorPool(device->handle, &info, NULL, &block->pool);
    if (result != VK_SUCCESS)
        return result;
    const VkDescriptorSetAllocateInfo allocate = { .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                                   .descriptorPool = block->pool,
                                                   .descriptorSetCount = 1,
                                                   .pSetLayouts = &device->uniform };
    result = vk.vkAllocateDescriptorSets(device->handle, &allocate, &block->uniform);
    if (result != VK_SUCCESS) {
        vk.vkDestroyDescriptorPool(device->handle, block->pool, NULL);
        block->pool = VK_NULL_HANDLE;
        return result;
    }
    const VkDescriptorBufferInfo buffer = { block->buffer, block->offset, VULKAN_UNIFORM_BYTES };
    const VkWriteDescriptorSet write = { .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                         .dstSet = block->uniform,
                                         .descriptorCount = 1,
                                         .descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC,
                                         .pBufferInfo = &buffer };
    vk.vkUpdateDescriptorSets(device->handle, 1, &write, 0, NULL);
    return result;
}

HRESULT vulkan_arena_uniform(struct adapter_device *device, const struct vulkan_memory *memory, uint64_t at,
                             struct vulkan_uniform *out)
{
    struct vulkan_block *block = memory->block;
    const uint64_t offset = (uint64_t)memory->unit * VULKAN_ALIGNMENT + at;
    VkResult result = VK_SUCCESS;
    if (offset > UINT32_MAX)
        return E_OUTOFMEMORY;
    pthread_mutex_lock(&device->arena.lock);
    if (!block->pool)
        result = make_uniform(device, block);
    *out = (struct vulkan_uniform){ block->uniform, (uint32_t)offset };
    pthread_mutex_unlock(&device->arena.lock);
    return vulkan_hresult(result);
}

/* ---- memory ---- */

HRESULT vulkan_arena_allocate(struct adapter_device *device, uint32_t kind, struct vulkan_memory *memory)
{
    const uint64_t bytes = memory->base.size;
    if (bytes / VULKAN_ALIGNMENT > UINT32_MAX)
        return E_OUTOFMEMORY;
    HRESULT hr = bytes > PIECE_BYTES_MAX
                     ? block_create(device, kind, bytes, bytes, &memory->block)
                     : take_piece(device, kind, (uint32_t)(bytes / VULKAN_ALIGNMENT), &memory->block, &memory->unit);
    if (FAILED(hr))
        return hr;
    const struct vulkan_block *block = memory->block;
    const uint64_t at = (uint64_t)memory->unit * VULKAN_ALIGNMENT;
    memory->buffer = block->buffer;
    memory->offset = block->offset + at;
    memory->base.address = block->address + at;
    memory->base.host = block->host ? block->host + at : NULL;
    return S_OK;
}

void vulkan_arena_release(struct adapter_device *device, struct vulkan_memory *memory)
{
    if (memory->base.size > PIECE_BYTES_MAX)
        block_destroy(device, memory->block);
    else
        release_piece(device, memory);
}

void vulkan_arena_finish(struct adapter_device *device)
{
    for (uint32_t kind = 0; kind < VULKAN_MEMORY_KINDS; kind++)
        while (device->arena.blocks[kind]) {
            struct vulkan_block *block = device->arena.blocks[kind];
            device->arena.blocks[kind] = block->next;
            block_destroy(device, block);
        }
}
