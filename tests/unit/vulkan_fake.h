/* SPDX-License-Identifier: Apache-2.0 */
/* A Vulkan driver that only keeps book, for tests of the adapter's insides: memory with limits, and command buffers as
 * texts, a letter for each command. What is submitted is complete at once. */
#ifndef TESTS_UNIT_VULKAN_FAKE_H
#define TESTS_UNIT_VULKAN_FAKE_H

#include "adapter/vulkan/vulkan.h"

#include <stdio.h>
#include <stdlib.h>

struct vulkan_procs vk;

static struct {
    uint32_t allocations, allocations_most, allocations_max; /* living, ever, that it allows */
    uint64_t bytes, bytes_max;
    uint64_t own_bytes, own_bytes_max; /* of memory type 0 */
    uint64_t address;                  /* of the next buffer */
    uint32_t shift;                    /* of addresses behind multiples of 64 KiB */
    uint32_t buffers, semaphores;
    uint32_t parts;       /* bound to sparse buffers, one after another */
    VkResult bind_result; /* of those binds */
    VkQueue bind_queue;   /* the last one's */
    uint32_t mapped;      /* types of memory that were, by bit */
    uint32_t slice_end;   /* of a dispatch's workgroups */
    uint32_t pools;       /* of queries */
    uint32_t launches;    /* of kernels, recorded */
    uint64_t launched;    /* the last one's address */
    uint64_t ticks;       /* of the device's clock: 1000 pass between two timestamps */
    uint64_t tick_mask;   /* of its bits */
    char submitted[4096]; /* "F<A:commands;" with the queue's family and the value that it waits for */
} fake;

struct fake_memory {
    uint64_t bytes;
    uint32_t type;
    void *host;
};

struct fake_buffer {
    uint64_t bytes, address;
};

struct fake_semaphore {
    uint64_t value;
};

struct fake_commands {
    char text[1024];
    uint32_t family;
    struct fake_commands *next; /* of the pool */
};

struct fake_pool {
    uint32_t family;
    struct fake_commands *list;
};

uint64_t vulkan_memory_free(struct adapter_device *device, bool local, uint64_t *out_total)
{
    (void)device;
    *out_total = local ? fake.own_bytes_max : fake.bytes_max;
    return *out_total - (local ? fake.own_bytes : fake.bytes);
}

/* No test makes any. */
void vulkan_foreign_destroy(struct adapter_device *device, struct vulkan_memory *memory)
{
    (void)device, (void)memory;
    abort();
}

bool adapter_watchdog_parse(const char *text, uint64_t *out_ns)
{
    (void)text, (void)out_ns;
    abort();
}

/* ---- memory ---- */

static VkResult fake_create_buffer(VkDevice device, const VkBufferCreateInfo *info, const VkAllocationCallbacks *a,
                                   VkBuffer *out)
{
    struct fake_buffer *buffer = calloc(1, sizeof(*buffer));
    (void)device, (void)a;
    if (!buffer)
        abort();
    buffer->bytes = info->size;
    buffer->address = base_align_up(fake.address, 65536) + fake.shift;
    fake.address = buffer->address + info->size;
    fake.buffers++;
    *out = (VkBuffer)buffer;
    return VK_SUCCESS;
}

static void fake_destroy_buffer(VkDevice device, VkBuffer buffer, const VkAllocationCallbacks *a)
{
    (void)device, (void)a;
    fake.buffers -= buffer != VK_NULL_HANDLE;
    free((void *)buffer);
}

static void fake_requirements(VkDevice device, VkBuffer buffer, VkMemoryRequirements *out)
{
    (void)device;
    *out = (VkMemoryRequirements){ ((struct fake_buffer *)buffer)->bytes, 256, 3 };
}

static VkResult fake_allocate(VkDevice device, const VkMemoryAllocateInfo *info, const VkAllocationCallbacks *a,
                              VkDeviceMemory *out)
{
    (void)device, (void)a;
    if (fake.allocations == fake.allocations_max)
        return VK_ERROR_TOO_MANY_OBJECTS;
    if (info->allocationSize > fake.bytes_max - fake.bytes)
        return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    if (!info->memoryTypeIndex && info->allocationSize > fake.own_bytes_max - fake.own_bytes)
        return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    struct fake_memory *memory = calloc(1, sizeof(*memory));
    if (!memory)
        abort();
    memory->bytes = info->allocationSize;
    memory->type = info->memoryTypeIndex;
    memory->host = info->memoryTypeIndex == 1 ? malloc(memory->bytes) : NULL;
    fake.bytes += memory->bytes;
    fake.own_bytes += info->memoryTypeIndex ? 0 : memory->bytes;
    fake.allocations++;
    fake.allocations_most = BASE_MAX(fake.allocations_most, fake.allocations);
    *out = (VkDeviceMemory)memory;
    return VK_SUCCESS;
}

static void fake_free(VkDevice device, VkDeviceMemory handle, const VkAllocationCallbacks *a)
{
    struct fake_memory *memory = (struct fake_memory *)handle;
    (void)device, (void)a;
    if (!memory)
        return;
    fake.bytes -= memory->bytes;
    fake.own_bytes -= memory->host ? 0 : memory->bytes;
    fake.allocations--;
    free(memory->host);
    free(memory);
}

static VkResult fake_bind(VkDevice device, VkBuffer buffer, VkDeviceMemory memory, VkDeviceSize offset)
{
    (void)device, (void)buffer, (void)memory, (void)offset;
    return VK_SUCCESS;
}

static VkResult fake_map(VkDevice device, VkDeviceMemory memory, VkDeviceSize offset, VkDeviceSize bytes,
                         VkMemoryMapFlags flags, void **out)
{
    (void)device, (void)offset, (void)bytes, (void)flags;
    *out = ((struct fake_memory *)memory)->host;
    fake.mapped |= 1u << ((struct fake_memory *)memory)->type;
    return VK_SUCCESS;
}

/* All parts of one buffer, in order and without gaps. */
static VkResult fake_bind_sparse(VkQueue queue, uint32_t count, const VkBindSparseInfo *info, VkFence fence)
{
    const VkTimelineSemaphoreSubmitInfo *values = info->pNext;
    uint64_t at = 0;
    (void)fence;
    fake.bind_queue = queue;
    if (count != 1 || info->bufferBindCount != 1 || info->waitSemaphoreCount || info->signalSemaphoreCount != 1)
        abort();
    if (fake.bind_result != VK_SUCCESS)
        return fake.bind_result;
    for (uint32_t i = 0; i < info->pBufferBinds->bindCount; i++) {
        const VkSparseMemoryBind *bind = &info->pBufferBinds->pBinds[i];
        if (bind->resourceOffset != at || bind->memoryOffset ||
            bind->size != ((struct fake_memory *)bind->memory)->bytes)
            abort();
        at += bind->size;
        fake.parts++;
    }
    if (at < ((struct fake_buffer *)info->pBufferBinds->buffer)->bytes)
        abort();
    ((struct fake_semaphore *)info->pSignalSemaphores[0])->value = values->pSignalSemaphoreValues[0];
    return VK_SUCCESS;
}

static VkDeviceAddress fake_address(VkDevice device, const VkBufferDeviceAddressInfo *info)
{
    (void)device;
    return ((struct fake_buffer *)info->buffer)->address;
}

/* ---- semaphores, pools ---- */

static VkResult fake_create_semaphore(VkDevice device, const VkSemaphoreCreateInfo *info,
                                      const VkAllocationCallbacks *a, VkSemaphore *out)
{
    (void)device, (void)info, (void)a;
    fake.semaphores++;
    *out = (VkSemaphore)calloc(1, sizeof(struct fake_semaphore));
    return VK_SUCCESS;
}

static void fake_destroy_semaphore(VkDevice device, VkSemaphore semaphore, const VkAllocationCallbacks *a)
{
    (void)device, (void)a;
    fake.semaphores--;
    free((void *)semaphore);
}

static VkResult fake_wait(VkDevice device, const VkSemaphoreWaitInfo *info, uint64_t limit)
{
    (void)device, (void)limit;
    if (((struct fake_semaphore *)info->pSemaphores[0])->value < info->pValues[0])
        abort(); /* for ever */
    return VK_SUCCESS;
}

static VkResult fake_counter(VkDevice device, VkSemaphore semaphore, uint64_t *out)
{
    (void)device;
    *out = ((struct fake_semaphore *)semaphore)->value;
    return VK_SUCCESS;
}

static VkResult fake_create_pool(VkDevice device, const VkCommandPoolCreateInfo *info, const VkAllocationCallbacks *a,
                                 VkCommandPool *out)
{
    struct fake_pool *pool = calloc(1, sizeof(*pool));
    (void)device, (void)a;
    if (!pool)
        abort();
    pool->family = info->queueFamilyIndex;
    *out = (VkCommandPool)pool;
    return VK_SUCCESS;
}

static void fake_destroy_pool(VkDevice device, VkCommandPool pool, const VkAllocationCallbacks *a)
{
    struct fake_pool *owner = (struct fake_pool *)pool;
    (void)device, (void)a;
    while (owner && owner->list) {
        struct fake_commands *next = owner->list->next;
        free(owner->list);
        owner->list = next;
    }
    free(owner);
}

static VkResult fake_reset_pool(VkDevice device, VkCommandPool pool, VkCommandPoolResetFlags flags)
{
    (void)device, (void)flags;
    for (struct fake_commands *c = ((struct fake_pool *)pool)->list; c; c = c->next)
        c->text[0] = '\0';
    return VK_SUCCESS;
}

static VkResult fake_allocate_commands(VkDevice device, const VkCommandBufferAllocateInfo *info, VkCommandBuffer *out)
{
    (void)device;
    struct fake_pool *pool = (struct fake_pool *)info->commandPool;
    struct fake_commands *commands = calloc(1, sizeof(*commands));
    if (!commands)
        abort();
    commands->family = pool->family;
    commands->next = pool->list;
    pool->list = commands;
    *out = (VkCommandBuffer)commands;
    return VK_SUCCESS;
}

static void fake_free_commands(VkDevice device, VkCommandPool pool, uint32_t count, const VkCommandBuffer *commands)
{
    (void)device;
    for (uint32_t i = 0; i < count; i++) {
        struct fake_commands *one = (struct fake_commands *)commands[i], **at = &((struct fake_pool *)pool)->list;
        while (one && *at != one)
            at = &(*at)->next; /* ends badly where it is another pool's */
        if (one)
            *at = one->next;
        free(one);
    }
}

static VkResult fake_begin(VkCommandBuffer commands, const VkCommandBufferBeginInfo *info)
{
    (void)commands, (void)info;
    return VK_SUCCESS;
}

static VkResult fake_end(VkCommandBuffer commands)
{
    (void)commands;
    return VK_SUCCESS;
}

/* ---- commands ---- */

static void fake_put(VkCommandBuffer commands, char letter)
{
    char *text = ((struct fake_commands *)commands)->text;
    size_t length = strlen(text);
    if (length + 2 > sizeof(((struct fake_commands *)commands)->text))
        abort();
    text[length] = letter;
    text[length + 1] = '\0';
}

/* | between commands of the device, D between dispatches alone, C between copies alone, H before the host, ! else. */
static void fake_barrier(VkCommandBuffer commands, VkPipelineStageFlags from, VkPipelineStageFlags to,
                         VkDependencyFlags flags, uint32_t count, const VkMemoryBarrier *barriers, uint32_t b,
                         const VkBufferMemoryBarrier *buffers, uint32_t i, const VkImageMemoryBarrier *images)
{
    const VkPipelineStageFlags dispatches = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                               copies = VK_PIPELINE_STAGE_TRANSFER_BIT;
    const VkAccessFlags seen = barriers->dstAccessMask;
    char letter = '!';
    (void)flags, (void)count, (void)b, (void)buffers, (void)i, (void)images;
    if (to == VK_PIPELINE_STAGE_HOST_BIT && seen == VK_ACCESS_HOST_READ_BIT)
        letter = 'H';
    else if (from == to && to == (dispatches | copies) && (seen & VK_ACCESS_SHADER_READ_BIT) &&
             (seen & VK_ACCESS_TRANSFER_READ_BIT))
        letter = '|';
    else if (from == to && to == dispatches && (seen & VK_ACCESS_SHADER_READ_BIT))
        letter = 'D';
    else if (from == to && to == copies && (seen & VK_ACCESS_TRANSFER_READ_BIT))
        letter = 'C';
    fake_put(commands, letter);
}

static void fake_copy(VkCommandBuffer commands, VkBuffer from, VkBuffer to, uint32_t count, const VkBufferCopy *regions)
{
    (void)from, (void)to, (void)count, (void)regions;
    fake_put(commands, 'c');
}

/* NVIDIA's driver moves large fills to the multiple of 16 before their start. */
static void fake_fill(VkCommandBuffer commands, VkBuffer to, VkDeviceSize offset, VkDeviceSize bytes, uint32_t value)
{
    (void)to, (void)value;
    if (!bytes || offset % 4 || bytes % 4 || (bytes >= 4096 && offset % 16))
        abort();
    fake_put(commands, 'f');
}

static void fake_bind_pipeline(VkCommandBuffer commands, VkPipelineBindPoint point, VkPipeline pipeline)
{
    (void)point, (void)pipeline;
    fake_put(commands, 'p');
}

static VkResult fake_create_pool_of_sets(VkDevice device, const VkDescriptorPoolCreateInfo *info,
                                         const VkAllocationCallbacks *a, VkDescriptorPool *out)
{
    (void)device, (void)info, (void)a;
    *out = (VkDescriptorPool)calloc(1, 1);
    return *out ? VK_SUCCESS : VK_ERROR_OUT_OF_HOST_MEMORY;
}

static void fake_destroy_pool_of_sets(VkDevice device, VkDescriptorPool pool, const VkAllocationCallbacks *a)
{
    (void)device, (void)a;
    free((void *)pool);
}

static VkResult fake_allocate_sets(VkDevice device, const VkDescriptorSetAllocateInfo *info, VkDescriptorSet *out)
{
    (void)device;
    *out = (VkDescriptorSet)info->descriptorPool;
    return VK_SUCCESS;
}

static void fake_update_sets(VkDevice device, uint32_t count, const VkWriteDescriptorSet *writes, uint32_t copy_count,
                             const VkCopyDescriptorSet *copies)
{
    (void)device, (void)count, (void)writes, (void)copy_count, (void)copies;
}

static void fake_bind_sets(VkCommandBuffer commands, VkPipelineBindPoint point, VkPipelineLayout layout, uint32_t first,
                           uint32_t count, const VkDescriptorSet *sets, uint32_t offset_count, const uint32_t *offsets)
{
    (void)commands, (void)point, (void)layout, (void)first, (void)count, (void)sets, (void)offset_count, (void)offsets;
}

/* A kernel whose parameters are one address. */
static void fake_launch(VkCommandBuffer commands, const VkCuLaunchInfoNVX *info)
{
    memcpy(&fake.launched, info->pParams[0], sizeof(fake.launched));
    fake.launches++;
    fake_put(commands, 'k');
}

static void fake_push(VkCommandBuffer commands, VkPipelineLayout layout, VkShaderStageFlags stages, uint32_t offset,
                      uint32_t bytes, const void *data)
{
    (void)commands, (void)layout, (void)stages, (void)offset, (void)bytes, (void)data;
}

static void fake_dispatch(VkCommandBuffer commands, uint32_t x, uint32_t y, uint32_t z)
{
    (void)x, (void)y, (void)z;
    fake_put(commands, 'd');
}

/* Slices of a dispatch come in order and cover it. */
static void fake_dispatch_base(VkCommandBuffer commands, uint32_t first_x, uint32_t first_y, uint32_t first_z,
                               uint32_t x, uint32_t y, uint32_t z)
{
    if (first_x != fake.slice_end && first_x)
        abort();
    if (!x || first_y || first_z || y != 1 || z != 1)
        abort();
    fake.slice_end = first_x + x;
    fake_put(commands, 's');
}

static void fake_execute(VkCommandBuffer commands, uint32_t count, const VkCommandBuffer *secondary)
{
    (void)count;
    if (((struct fake_commands *)secondary[0])->family != ((struct fake_commands *)commands)->family)
        abort();
    for (const char *at = ((struct fake_commands *)secondary[0])->text; *at; at++)
        fake_put(commands, *at);
    fake_put(commands, 'x');
}

static void fake_reset_queries(VkCommandBuffer commands, VkQueryPool pool, uint32_t first, uint32_t count)
{
    (void)commands, (void)pool, (void)first, (void)count;
}

struct fake_queries {
    uint64_t ticks[64];
};

static VkResult fake_create_queries(VkDevice device, const VkQueryPoolCreateInfo *info, const VkAllocationCallbacks *a,
                                    VkQueryPool *out)
{
    (void)device, (void)a;
    if (info->queryType != VK_QUERY_TYPE_TIMESTAMP || info->queryCount > 64)
        abort();
    *out = (VkQueryPool)calloc(1, sizeof(struct fake_queries));
    fake.pools++;
    return VK_SUCCESS;
}

static void fake_destroy_queries(VkDevice device, VkQueryPool pool, const VkAllocationCallbacks *a)
{
    (void)device, (void)a;
    fake.pools--;
    free((void *)pool);
}

static VkResult fake_query_results(VkDevice device, VkQueryPool pool, uint32_t first, uint32_t count, size_t bytes,
                                   void *out, VkDeviceSize stride, VkQueryResultFlags flags)
{
    (void)device;
    if (stride != 8 || bytes != count * 8 || !(flags & VK_QUERY_RESULT_64_BIT))
        abort();
    memcpy(out, ((struct fake_queries *)pool)->ticks + first, bytes);
    return VK_SUCCESS;
}

static void fake_timestamp(VkCommandBuffer commands, VkPipelineStageFlagBits stage, VkQueryPool pool, uint32_t query)
{
    (void)stage;
    ((struct fake_queries *)pool)->ticks[query] = fake.ticks;
    fake.ticks = (fake.ticks + 1000) & fake.tick_mask;
    fake_put(commands, 't');
}

/* The queue's handle is its family and 1. */
static VkResult fake_submit(VkQueue queue, uint32_t count, const VkSubmitInfo *info, VkFence fence)
{
    const VkTimelineSemaphoreSubmitInfo *values = info->pNext;
    const size_t length = strlen(fake.submitted);
    const unsigned after = info->waitSemaphoreCount ? (unsigned)values->pWaitSemaphoreValues[0] : 0;
    (void)count, (void)fence;
    if (((struct fake_commands *)info->pCommandBuffers[0])->family != (uintptr_t)queue - 1)
        abort();
    ((struct fake_semaphore *)info->pSignalSemaphores[0])->value = values->pSignalSemaphoreValues[0];
    snprintf(fake.submitted + length, sizeof(fake.submitted) - length, "%u<%u:%s;", (unsigned)(uintptr_t)queue - 1,
             after, ((struct fake_commands *)info->pCommandBuffers[0])->text);
    return VK_SUCCESS;
}

static void fake_load(void)
{
    vk = (struct vulkan_procs){
        .vkCreateBuffer = fake_create_buffer,
        .vkDestroyBuffer = fake_destroy_buffer,
        .vkGetBufferMemoryRequirements = fake_requirements,
        .vkAllocateMemory = fake_allocate,
        .vkFreeMemory = fake_free,
        .vkBindBufferMemory = fake_bind,
        .vkMapMemory = fake_map,
        .vkGetBufferDeviceAddress = fake_address,
        .vkCreateSemaphore = fake_create_semaphore,
        .vkDestroySemaphore = fake_destroy_semaphore,
        .vkWaitSemaphores = fake_wait,
        .vkGetSemaphoreCounterValue = fake_counter,
        .vkCreateCommandPool = fake_create_pool,
        .vkDestroyCommandPool = fake_destroy_pool,
        .vkResetCommandPool = fake_reset_pool,
        .vkAllocateCommandBuffers = fake_allocate_commands,
        .vkFreeCommandBuffers = fake_free_commands,
        .vkBeginCommandBuffer = fake_begin,
        .vkEndCommandBuffer = fake_end,
        .vkCmdPipelineBarrier = fake_barrier,
        .vkCmdCopyBuffer = fake_copy,
        .vkCmdFillBuffer = fake_fill,
        .vkCmdBindPipeline = fake_bind_pipeline,
        .vkCreateDescriptorPool = fake_create_pool_of_sets,
        .vkDestroyDescriptorPool = fake_destroy_pool_of_sets,
        .vkAllocateDescriptorSets = fake_allocate_sets,
        .vkUpdateDescriptorSets = fake_update_sets,
        .vkCmdBindDescriptorSets = fake_bind_sets,
        .vkCmdPushConstants = fake_push,
        .vkCmdDispatch = fake_dispatch,
        .vkCmdDispatchBase = fake_dispatch_base,
        .vkCmdExecuteCommands = fake_execute,
        .vkCmdResetQueryPool = fake_reset_queries,
        .vkCmdWriteTimestamp = fake_timestamp,
        .vkCreateQueryPool = fake_create_queries,
        .vkDestroyQueryPool = fake_destroy_queries,
        .vkGetQueryPoolResults = fake_query_results,
        .vkQueueSubmit = fake_submit,
        .vkQueueBindSparse = fake_bind_sparse,
    };
    memset(&fake, 0, sizeof(fake));
    fake.allocations_max = UINT32_MAX;
    fake.bytes_max = fake.own_bytes_max = UINT64_C(1) << 40;
    fake.tick_mask = 0xffffff;
    fake.address = 1 << 20;
}

/* A discrete GPU: memory type 0 is its own, 1 the host's; family 0 does all, 1 only copies, 2 computes. */
static const struct vulkan_physical fake_physical = {
    .properties = { .deviceType = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU, .limits.timestampPeriod = 2.5f },
    .memory = { .memoryTypeCount = 2,
                .memoryTypes = { { VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0 },
                                 { VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT, 1 } },
                .memoryHeapCount = 2,
                .memoryHeaps = { { UINT64_C(1) << 40, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT }, { UINT64_C(1) << 40, 0 } } },
    .allocation_bytes_max = UINT64_C(1) << 40,
    .buffer_bytes_max = UINT64_MAX,
    .families = { [VULKAN_ROLE_MAIN] = { 0, 1, 24 },
                  [VULKAN_ROLE_COMPUTE] = { 2, 1, 20 },
                  [VULKAN_ROLE_COPY] = { 1, 1, 64 } },
};

static void fake_device_create(struct adapter_device *device)
{
    *device = (struct adapter_device){ .physical = &fake_physical, .kernels.launch = fake_launch };
    pthread_mutex_init(&device->own.lock, NULL);
    pthread_mutex_init(&device->arena.lock, NULL);
    pthread_mutex_init(&device->replays.lock, NULL);
    for (uint32_t i = 0; i < VULKAN_ROLES; i++) {
        struct vulkan_queues *queues = &device->queues[i];
        queues->count = 1;
        pthread_mutex_init(&queues->slots[0].lock, NULL);
        queues->slots[0].handle = (VkQueue)(uintptr_t)(fake_physical.families[i].index + 1);
        queues->slots[0].role = (enum vulkan_role)i;
        vulkan_command_pool_create(device, fake_physical.families[i].index, &device->replays.pools[i]);
    }
    vulkan_own_create(device);
}

static void fake_device_destroy(struct adapter_device *device)
{
    for (uint32_t i = 0; i < VULKAN_ROLES; i++)
        fake_destroy_pool(device->handle, device->replays.pools[i], NULL);
    vulkan_own_destroy(device);
    vulkan_arena_finish(device);
}

#endif
