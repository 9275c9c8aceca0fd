/* SPDX-License-Identifier: Apache-2.0 */
/* ANYDML_LAYER_LIMITS="ALLOCATION BUFFER HEAP SPARSE": a device whose allocations and plain buffers have at most so
 * many bytes, whose memory has HEAP bytes in all, and, with SPARSE 1, whose queues bind sparse buffers; 0: as the
 * driver says. Sparse buffers are plain ones of the driver's, with memory of the layer's own. What would break Vulkan's
 * rules of them on a device that has them ends the process, and so does every use of one that is not bound completely.
 */
#include "layer_next.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFERS = 1024, MEMORIES = 8192, ALIGNMENT = 65536 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct limits {
    unsigned long long allocation, buffer, heap;
    int sparse;
} limits;

static struct sparse {
    VkBuffer handle; /* VK_NULL_HANDLE: free */
    VkDeviceMemory real;
    VkDeviceSize bytes, bound; /* bound: from byte 0 on, without gaps */
    VkDeviceMemory parts[64];
    uint32_t part_count;
} buffers[BUFFERS];

static struct memory {
    VkDeviceMemory handle;
    VkDeviceSize bytes;
} memories[MEMORIES];

bool limits_made_up(void)
{
    const char *wanted = getenv("ANYDML_LAYER_LIMITS");
    if (profiles_limits(&limits.allocation, &limits.sparse))
        return true;
    return wanted &&
           sscanf(wanted, "%llu %llu %llu %d", &limits.allocation, &limits.buffer, &limits.heap, &limits.sparse) == 4;
}

/* ---- what there is ---- */

/* The instance's functions: later the loader would answer with this layer's own. */
static struct {
    PFN_vkGetPhysicalDeviceProperties2 properties;
    PFN_vkGetPhysicalDeviceFeatures2 features;
    PFN_vkGetPhysicalDeviceQueueFamilyProperties families;
    PFN_vkGetPhysicalDeviceMemoryProperties2 memory;
} instance_next;

void limits_open(PFN_vkGetInstanceProcAddr get, VkInstance instance)
{
    instance_next.properties = (PFN_vkGetPhysicalDeviceProperties2)get(instance, "vkGetPhysicalDeviceProperties2");
    instance_next.features = (PFN_vkGetPhysicalDeviceFeatures2)get(instance, "vkGetPhysicalDeviceFeatures2");
    instance_next.families =
        (PFN_vkGetPhysicalDeviceQueueFamilyProperties)get(instance, "vkGetPhysicalDeviceQueueFamilyProperties");
    instance_next.memory =
        (PFN_vkGetPhysicalDeviceMemoryProperties2)get(instance, "vkGetPhysicalDeviceMemoryProperties2");
}

static void *link_of(void *chain, VkStructureType type)
{
    VkBaseOutStructure *link = chain;
    while (link && link->sType != type)
        link = link->pNext;
    return link;
}

static VKAPI_ATTR void VKAPI_CALL get_properties(VkPhysicalDevice physical, VkPhysicalDeviceProperties2 *out)
{
    instance_next.properties(physical, out);
    VkPhysicalDeviceMaintenance3Properties *allocation =
        link_of(out, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES);
    VkPhysicalDeviceMaintenance4Properties *buffer =
        link_of(out, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_PROPERTIES);
    if (allocation && limits.allocation)
        allocation->maxMemoryAllocationSize = limits.allocation;
    if (buffer)
        buffer->maxBufferSize = limits.buffer ? limits.buffer : UINT64_MAX;
    if (limits.allocation && limits.allocation < out->properties.limits.maxStorageBufferRange)
        out->properties.limits.maxStorageBufferRange = (uint32_t)limits.allocation;
    if (limits.sparse)
        out->properties.limits.sparseAddressSpaceSize = UINT64_C(1) << 40;
}

static VKAPI_ATTR void VKAPI_CALL get_features(VkPhysicalDevice physical, VkPhysicalDeviceFeatures2 *out)
{
    instance_next.features(physical, out);
    out->features.sparseBinding = limits.sparse ? VK_TRUE : VK_FALSE;
}

static VKAPI_ATTR void VKAPI_CALL get_families(VkPhysicalDevice physical, uint32_t *count,
                                               VkQueueFamilyProperties *properties)
{
    instance_next.families(physical, count, properties);
    for (uint32_t i = 0; properties && limits.sparse && i < *count; i++)
        properties[i].queueFlags |= VK_QUEUE_SPARSE_BINDING_BIT;
}

static VkDeviceSize used_bytes(void)
{
    VkDeviceSize used = 0;
    for (uint32_t i = 0; i < MEMORIES; i++)
        used += memories[i].handle ? memories[i].bytes : 0;
    return used;
}

static VKAPI_ATTR void VKAPI_CALL get_memory(VkPhysicalDevice physical, VkPhysicalDeviceMemoryProperties2 *out)
{
    instance_next.memory(physical, out);
    VkPhysicalDeviceMemoryBudgetPropertiesEXT *budget =
        link_of(out, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT);
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; limits.heap && i < out->memoryProperties.memoryHeapCount; i++) {
        out->memoryProperties.memoryHeaps[i].size = limits.heap;
        if (budget) {
            budget->heapBudget[i] = limits.heap;
            budget->heapUsage[i] = used_bytes();
        }
    }
    pthread_mutex_unlock(&lock);
}

void limits_take_features(VkDeviceCreateInfo *info, VkPhysicalDeviceFeatures *features)
{
    if (!info->pEnabledFeatures)
        return;
    *features = *info->pEnabledFeatures;
    expect(!features->sparseBinding || limits.sparse, "a feature is enabled that the device lacks");
    features->sparseBinding = VK_FALSE;
    info->pEnabledFeatures = features;
}

/* ---- memory ---- */

static VKAPI_ATTR VkResult VKAPI_CALL allocate(VkDevice device, const VkMemoryAllocateInfo *info,
                                               const VkAllocationCallbacks *allocator, VkDeviceMemory *out)
{
    VkResult result = layer_enter(LAYER_ALLOCATE);
    uint32_t i = 0;
    pthread_mutex_lock(&lock);
    if (limits.allocation && info->allocationSize > limits.allocation)
        result = VK_ERROR_OUT_OF_DEVICE_MEMORY;
    if (limits.heap && info->allocationSize > limits.heap - used_bytes())
        result = VK_ERROR_OUT_OF_DEVICE_MEMORY;
    if (result == VK_SUCCESS)
        result = NEXT(vkAllocateMemory)(device, info, allocator, out);
    while (i < MEMORIES - 1 && memories[i].handle)
        i++;
    if (result == VK_SUCCESS)
        memories[i] = (struct memory){ *out, info->allocationSize };
    if (result == VK_SUCCESS && info->allocationSize > control.allocation_max)
        control.allocation_max = info->allocationSize;
    control.allocated = used_bytes();
    pthread_mutex_unlock(&lock);
    return result;
}

static VKAPI_ATTR void VKAPI_CALL free_memory(VkDevice device, VkDeviceMemory memory,
                                              const VkAllocationCallbacks *allocator)
{
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; memory && i < BUFFERS; i++)
        for (uint32_t k = 0; buffers[i].handle && k < buffers[i].part_count; k++)
            expect(buffers[i].parts[k] != memory, "memory is freed before the buffer that it is bound to");
    for (uint32_t i = 0; memory && i < MEMORIES; i++)
        if (memories[i].handle == memory)
            memories[i].handle = VK_NULL_HANDLE;
    control.allocated = used_bytes();
    pthread_mutex_unlock(&lock);
    NEXT(vkFreeMemory)(device, memory, allocator);
}

/* ---- buffers ---- */

/* Of all of a buffer. */
static VkResult allocate_real(VkDevice device, struct sparse *sparse)
{
    VkMemoryRequirements needs;
    NEXT(vkGetBufferMemoryRequirements)(device, sparse->handle, &needs);
    const VkMemoryAllocateFlagsInfo flags = { .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                              .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT };
    const VkMemoryAllocateInfo info = { .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                        .pNext = &flags,
                                        .allocationSize = needs.size,
                                        .memoryTypeIndex = (uint32_t)__builtin_ctz(needs.memoryTypeBits) };
    VkResult result = NEXT(vkAllocateMemory)(device, &info, NULL, &sparse->real);
    return result == VK_SUCCESS ? NEXT(vkBindBufferMemory)(device, sparse->handle, sparse->real, 0) : result;
}

VkResult limits_create_buffer(VkDevice device, const VkBufferCreateInfo *info, const VkAllocationCallbacks *allocator,
                              VkBuffer *out)
{
    VkBufferCreateInfo inner = *info;
    const bool is_sparse = info->flags & VK_BUFFER_CREATE_SPARSE_BINDING_BIT;
    expect(!is_sparse || limits.sparse, "a sparse buffer on a device without them");
    expect(!limits.buffer || info->size <= limits.buffer, "a buffer is larger than maxBufferSize");
    inner.flags &= ~(VkBufferCreateFlags)VK_BUFFER_CREATE_SPARSE_BINDING_BIT;
    VkResult result = NEXT(vkCreateBuffer)(device, &inner, allocator, out);
    if (result != VK_SUCCESS || !is_sparse)
        return result;
    pthread_mutex_lock(&lock);
    uint32_t i = 0;
    while (i < BUFFERS - 1 && buffers[i].handle)
        i++;
    buffers[i] = (struct sparse){ .handle = *out, .bytes = info->size };
    control.sparse_buffers++;
    result = allocate_real(device, &buffers[i]);
    pthread_mutex_unlock(&lock);
    expect(result == VK_SUCCESS, "the driver has no memory for the layer's buffer");
    return result;
}

static struct sparse *find_sparse(VkBuffer handle)
{
    for (uint32_t i = 0; handle && i < BUFFERS; i++)
        if (buffers[i].handle == handle)
            return &buffers[i];
    return NULL;
}

static VKAPI_ATTR void VKAPI_CALL destroy_buffer(VkDevice device, VkBuffer buffer,
                                                 const VkAllocationCallbacks *allocator)
{
    pthread_mutex_lock(&lock);
    struct sparse *sparse = find_sparse(buffer);
    VkDeviceMemory real = sparse ? sparse->real : VK_NULL_HANDLE;
    if (sparse)
        sparse->handle = VK_NULL_HANDLE;
    control.sparse_buffers -= sparse != NULL;
    pthread_mutex_unlock(&lock);
    NEXT(vkDestroyBuffer)(device, buffer, allocator);
    NEXT(vkFreeMemory)(device, real, NULL);
}

static VKAPI_ATTR VkResult VKAPI_CALL bind_memory(VkDevice device, VkBuffer buffer, VkDeviceMemory memory,
                                                  VkDeviceSize offset)
{
    VkResult result = layer_enter(LAYER_BIND);
    expect(!find_sparse(buffer), "a sparse buffer is bound as others are");
    return result == VK_SUCCESS ? NEXT(vkBindBufferMemory)(device, buffer, memory, offset) : result;
}

static void bind_part(struct sparse *sparse, const VkSparseMemoryBind *bind)
{
    VkDeviceSize bytes = 0;
    for (uint32_t i = 0; i < MEMORIES; i++)
        if (memories[i].handle == bind->memory)
            bytes = memories[i].bytes;
    expect(bytes && bind->memoryOffset + bind->size <= bytes, "a part is bound beyond its memory");
    expect(bind->resourceOffset == sparse->bound && bind->resourceOffset % ALIGNMENT == 0,
           "the parts are not one after another at aligned offsets");
    expect(bind->size % ALIGNMENT == 0 || bind->resourceOffset + bind->size >= sparse->bytes,
           "a part's size is not aligned");
    expect(sparse->part_count < 64, "there are more parts than the layer has room for");
    for (uint32_t i = 0; i < sparse->part_count; i++)
        expect(sparse->parts[i] != bind->memory, "two parts have the same memory");
    sparse->parts[sparse->part_count++] = bind->memory;
    sparse->bound += bind->size;
}

/* Semaphores are waited for and signalled as those of a submission. */
static VKAPI_ATTR VkResult VKAPI_CALL bind_sparse(VkQueue queue, uint32_t count, const VkBindSparseInfo *infos,
                                                  VkFence fence)
{
    VkResult result = layer_enter(LAYER_SPARSE);
    for (uint32_t i = 0; result == VK_SUCCESS && i < count; i++) {
        const VkSubmitInfo submit = { .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                      .pNext = infos[i].pNext,
                                      .signalSemaphoreCount = infos[i].signalSemaphoreCount,
                                      .pSignalSemaphores = infos[i].pSignalSemaphores };
        expect(!infos[i].waitSemaphoreCount, "a bind that waits is not made up here");
        pthread_mutex_lock(&lock);
        for (uint32_t k = 0; k < infos[i].bufferBindCount; k++) {
            struct sparse *sparse = find_sparse(infos[i].pBufferBinds[k].buffer);
            expect(sparse, "a buffer that is bound is not sparse");
            for (uint32_t b = 0; b < infos[i].pBufferBinds[k].bindCount; b++)
                bind_part(sparse, &infos[i].pBufferBinds[k].pBinds[b]);
        }
        pthread_mutex_unlock(&lock);
        result = NEXT(vkQueueSubmit)(queue, 1, &submit, i + 1 == count ? fence : VK_NULL_HANDLE);
    }
    return result;
}

/* ---- uses ---- */

static void expect_bound(VkBuffer buffer)
{
    pthread_mutex_lock(&lock);
    const struct sparse *sparse = find_sparse(buffer);
    expect(!sparse || sparse->bound >= sparse->bytes, "a sparse buffer is used that is not bound completely");
    pthread_mutex_unlock(&lock);
}

static VKAPI_ATTR VkDeviceAddress VKAPI_CALL get_address(VkDevice device, const VkBufferDeviceAddressInfo *info)
{
    expect_bound(info->buffer);
    return NEXT(vkGetBufferDeviceAddress)(device, info);
}

static VKAPI_ATTR void VKAPI_CALL fill(VkCommandBuffer commands, VkBuffer buffer, VkDeviceSize offset,
                                       VkDeviceSize bytes, uint32_t value)
{
    expect_bound(buffer);
    NEXT(vkCmdFillBuffer)(commands, buffer, offset, bytes, value);
}

static VKAPI_ATTR void VKAPI_CALL copy(VkCommandBuffer commands, VkBuffer from, VkBuffer to, uint32_t count,
                                       const VkBufferCopy *regions)
{
    expect_bound(from);
    expect_bound(to);
    NEXT(vkCmdCopyBuffer)(commands, from, to, count, regions);
}

static const struct layer_entry intercepted[] = {
    ENTRY("vkGetPhysicalDeviceProperties2", get_properties),
    ENTRY("vkGetPhysicalDeviceFeatures2", get_features),
    ENTRY("vkGetPhysicalDeviceQueueFamilyProperties", get_families),
    ENTRY("vkGetPhysicalDeviceMemoryProperties2", get_memory),
    ENTRY("vkAllocateMemory", allocate),
    ENTRY("vkFreeMemory", free_memory),
    ENTRY("vkDestroyBuffer", destroy_buffer),
    ENTRY("vkBindBufferMemory", bind_memory),
    ENTRY("vkQueueBindSparse", bind_sparse),
    ENTRY("vkGetBufferDeviceAddress", get_address),
    ENTRY("vkCmdFillBuffer", fill),
    ENTRY("vkCmdCopyBuffer", copy),
};

PFN_vkVoidFunction limits_find(const char *name)
{
    return LAYER_FIND(intercepted, name);
}
