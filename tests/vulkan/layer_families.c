/* SPDX-License-Identifier: Apache-2.0 */
/* ANYDML_LAYER_FAMILIES=1: devices have three queue families, whatever the driver's have: 0 does everything, 1 only
 * copies, 2 computes and copies. All of their queues are one queue of the driver's family 0, so work comes there in the
 * order of submission. What would break Vulkan's rules of families on a device that has them ends the process. */
#include "layer_next.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { QUEUES = 4, DEVICES = 64, HANDLES = 8192 };

static const VkQueueFamilyProperties table[LAYER_FAMILIES] = {
    { VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT, 2, 64, { 1, 1, 1 } },
    { VK_QUEUE_TRANSFER_BIT, 1, 64, { 1, 1, 1 } },
    { VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT, QUEUES, 64, { 1, 1, 1 } },
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Handles that the loader dispatches begin with a pointer of its own. */
struct made_up_queue {
    void *dispatch;
    uint32_t family;
    VkQueue real;
};

/* The families of pools and command buffers, a ring: handles come again. */
static struct {
    uint64_t handle;
    uint32_t family;
} families[HANDLES];
static uint32_t family_count;

bool families_made_up(void)
{
    const char *wanted = getenv("ANYDML_LAYER_FAMILIES");
    return wanted && *wanted == '1';
}

static void note(uint64_t handle, uint32_t family)
{
    pthread_mutex_lock(&lock);
    families[family_count % HANDLES].handle = handle;
    families[family_count++ % HANDLES].family = family;
    pthread_mutex_unlock(&lock);
}

/* Under the lock; the newest one of that handle. */
static uint32_t family_of(uint64_t handle)
{
    for (uint32_t i = 1; i <= HANDLES && i <= family_count; i++)
        if (families[(family_count - i) % HANDLES].handle == handle)
            return families[(family_count - i) % HANDLES].family;
    return LAYER_FAMILIES;
}

static uint32_t family_at(uint64_t handle)
{
    pthread_mutex_lock(&lock);
    uint32_t family = family_of(handle);
    pthread_mutex_unlock(&lock);
    return family;
}

void families_note(VkCommandPool pool, const VkCommandBuffer *commands, uint32_t count)
{
    for (uint32_t i = 0; families_made_up() && i < count; i++)
        note((uint64_t)(uintptr_t)commands[i], family_at((uint64_t)pool));
}

/* ---- what there is ---- */

static VKAPI_ATTR void VKAPI_CALL get_families(VkPhysicalDevice physical, uint32_t *count,
                                               VkQueueFamilyProperties *properties)
{
    (void)physical;
    if (properties && *count > LAYER_FAMILIES)
        *count = LAYER_FAMILIES;
    if (properties)
        memcpy(properties, table, *count * sizeof(*table));
    else
        *count = LAYER_FAMILIES;
}

static VKAPI_ATTR void VKAPI_CALL get_families2(VkPhysicalDevice physical, uint32_t *count,
                                                VkQueueFamilyProperties2 *properties)
{
    (void)physical;
    if (properties && *count > LAYER_FAMILIES)
        *count = LAYER_FAMILIES;
    for (uint32_t i = 0; properties && i < *count; i++)
        properties[i].queueFamilyProperties = table[i];
    if (!properties)
        *count = LAYER_FAMILIES;
}

static struct {
    VkDevice device;
    uint32_t families; /* a bit for each that it was made with */
    struct made_up_queue queues[LAYER_FAMILIES][QUEUES];
} devices[DEVICES];

/* Under the lock. */
static uint32_t device_at(VkDevice device)
{
    uint32_t i = 0;
    while (i < DEVICES - 1 && devices[i].device && devices[i].device != device)
        i++;
    devices[i].device = device;
    return i;
}

void families_note_device(VkDevice device, const VkDeviceCreateInfo *info)
{
    pthread_mutex_lock(&lock);
    const uint32_t i = device_at(device);
    devices[i].families = 0;
    for (uint32_t k = 0; k < info->queueCreateInfoCount; k++)
        devices[i].families |= 1u << info->pQueueCreateInfos[k].queueFamilyIndex;
    pthread_mutex_unlock(&lock);
}

static VKAPI_ATTR void VKAPI_CALL get_queue(VkDevice device, uint32_t family, uint32_t index, VkQueue *out)
{
    pthread_mutex_lock(&lock);
    const uint32_t i = device_at(device);
    struct made_up_queue *queue = &devices[i].queues[family][index];
    queue->dispatch = *(void **)device;
    queue->family = family;
    NEXT(vkGetDeviceQueue)(device, 0, 0, &queue->real);
    *(void **)queue->real = queue->dispatch; /* as the loader does, which does not see it; layers below ask */
    *out = (VkQueue)queue;
    pthread_mutex_unlock(&lock);
}

/* ---- what is of a family ---- */

VkResult families_create_pool(VkDevice device, const VkCommandPoolCreateInfo *info,
                              const VkAllocationCallbacks *allocator, VkCommandPool *out)
{
    VkCommandPoolCreateInfo inner = *info;
    inner.queueFamilyIndex = 0;
    VkResult result = NEXT(vkCreateCommandPool)(device, &inner, allocator, out);
    if (result == VK_SUCCESS)
        note((uint64_t)*out, info->queueFamilyIndex);
    return result;
}

VkResult families_create_buffer(VkDevice device, const VkBufferCreateInfo *info, const VkAllocationCallbacks *allocator,
                                VkBuffer *out)
{
    VkBufferCreateInfo inner = *info;
    uint32_t seen = 0;
    for (uint32_t i = 0; info->sharingMode == VK_SHARING_MODE_CONCURRENT && i < info->queueFamilyIndexCount; i++)
        seen |= 1u << info->pQueueFamilyIndices[i];
    pthread_mutex_lock(&lock);
    expect(seen == devices[device_at(device)].families, "a buffer is not for all families of the device");
    pthread_mutex_unlock(&lock);
    inner.sharingMode = VK_SHARING_MODE_EXCLUSIVE;
    inner.queueFamilyIndexCount = 0;
    return NEXT(vkCreateBuffer)(device, &inner, allocator, out);
}

static VKAPI_ATTR void VKAPI_CALL execute(VkCommandBuffer commands, uint32_t count, const VkCommandBuffer *secondary)
{
    for (uint32_t i = 0; i < count; i++)
        expect(family_at((uint64_t)(uintptr_t)secondary[i]) == family_at((uint64_t)(uintptr_t)commands),
               "a secondary command buffer is of another family");
    NEXT(vkCmdExecuteCommands)(commands, count, secondary);
}

/* Pipelines, their stages and queries are not for families that only copy. */
static void expect_computes(VkCommandBuffer commands)
{
    const uint32_t family = family_at((uint64_t)(uintptr_t)commands);
    expect(family < LAYER_FAMILIES && table[family].queueFlags & VK_QUEUE_COMPUTE_BIT,
           "a command is not for a family that only copies");
}

static VKAPI_ATTR void VKAPI_CALL bind(VkCommandBuffer commands, VkPipelineBindPoint point, VkPipeline pipeline)
{
    expect_computes(commands);
    NEXT(vkCmdBindPipeline)(commands, point, pipeline);
}

static VKAPI_ATTR void VKAPI_CALL reset_queries(VkCommandBuffer commands, VkQueryPool pool, uint32_t first,
                                                uint32_t count)
{
    expect_computes(commands);
    NEXT(vkCmdResetQueryPool)(commands, pool, first, count);
}

static VKAPI_ATTR void VKAPI_CALL families_CmdCopyQueryPoolResults(VkCommandBuffer commands, VkQueryPool pool,
                                                                   uint32_t first, uint32_t count, VkBuffer to,
                                                                   VkDeviceSize offset, VkDeviceSize stride,
                                                                   VkQueryResultFlags flags)
{
    expect_computes(commands);
    NEXT(vkCmdCopyQueryPoolResults)(commands, pool, first, count, to, offset, stride, flags);
}

static VKAPI_ATTR void VKAPI_CALL families_CmdPipelineBarrier(VkCommandBuffer commands, VkPipelineStageFlags from,
                                                              VkPipelineStageFlags to, VkDependencyFlags flags,
                                                              uint32_t count, const VkMemoryBarrier *barriers,
                                                              uint32_t b, const VkBufferMemoryBarrier *buffers,
                                                              uint32_t i, const VkImageMemoryBarrier *images)
{
    if ((from | to) & VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT)
        expect_computes(commands);
    NEXT(vkCmdPipelineBarrier)(commands, from, to, flags, count, barriers, b, buffers, i, images);
}

/* ---- submissions, to one queue of the driver's ---- */

VkResult families_submit(VkQueue queue, uint32_t count, const VkSubmitInfo *infos, VkFence fence)
{
    const uint32_t family = ((struct made_up_queue *)queue)->family;
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < infos[i].commandBufferCount; k++) {
            expect(family_of((uint64_t)(uintptr_t)infos[i].pCommandBuffers[k]) == family,
                   "a command buffer is submitted to another family's queue");
            control.submitted[family]++;
        }
    VkResult result = NEXT(vkQueueSubmit)(((struct made_up_queue *)queue)->real, count, infos, fence);
    pthread_mutex_unlock(&lock);
    return result;
}

static const struct layer_entry intercepted[] = {
    ENTRY("vkGetPhysicalDeviceQueueFamilyProperties", get_families),
    ENTRY("vkGetPhysicalDeviceQueueFamilyProperties2", get_families2),
    ENTRY("vkGetDeviceQueue", get_queue),
    ENTRY("vkCmdExecuteCommands", execute),
    ENTRY("vkCmdBindPipeline", bind),
    ENTRY("vkCmdResetQueryPool", reset_queries),
    ENTRY("vkCmdCopyQueryPoolResults", families_CmdCopyQueryPoolResults),
    ENTRY("vkCmdPipelineBarrier", families_CmdPipelineBarrier),
};

PFN_vkVoidFunction families_find(const char *name)
{
    return LAYER_FIND(intercepted, name);
}
