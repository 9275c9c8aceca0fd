/* SPDX-License-Identifier: Apache-2.0 */
/* Basics that all other files use: results, timelines, command buffers, barriers and copies. */
#include "adapter/vulkan/vulkan.h"

#include "base/log.h"

HRESULT vulkan_hresult(VkResult result)
{
    switch (result) {
    case VK_SUCCESS:
        return S_OK;
    case VK_ERROR_OUT_OF_HOST_MEMORY:
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
    case VK_ERROR_OUT_OF_POOL_MEMORY:
    case VK_ERROR_TOO_MANY_OBJECTS:
    case VK_ERROR_MEMORY_MAP_FAILED:
    case VK_ERROR_FRAGMENTATION:
    case VK_ERROR_FRAGMENTED_POOL:
        return E_OUTOFMEMORY;
    case VK_ERROR_DEVICE_LOST:
        return DXGI_ERROR_DEVICE_HUNG;
    default:
        base_log(BASE_LOG_ERROR, "vulkan: the driver returned %d", (int)result);
        return E_FAIL;
    }
}

HRESULT vulkan_timeline_create(struct adapter_device *device, VkSemaphore *out)
{
    VkSemaphoreTypeCreateInfo type = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
        .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE,
    };
    VkSemaphoreCreateInfo info = { .sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type };
    return vulkan_hresult(vk.vkCreateSemaphore(device->handle, &info, NULL, out));
}

HRESULT vulkan_timeline_wait(struct adapter_device *device, VkSemaphore timeline, uint64_t value)
{
    VkSemaphoreWaitInfo info = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
        .semaphoreCount = 1,
        .pSemaphores = &timeline,
        .pValues = &value,
    };
    return vulkan_hresult(vk.vkWaitSemaphores(device->handle, &info, UINT64_MAX));
}

void vulkan_slot_enter(struct vulkan_queue_slot *slot)
{
    pthread_mutex_lock(&slot->lock);
    if (slot->enter)
        slot->enter(slot->context, slot->handle);
}

void vulkan_slot_leave(struct vulkan_queue_slot *slot)
{
    if (slot->enter)
        slot->leave(slot->context, slot->handle);
    pthread_mutex_unlock(&slot->lock);
}

HRESULT vulkan_submit(struct vulkan_queue_slot *slot, VkCommandBuffer commands, const struct vulkan_moment *moments,
                      uint32_t count, struct vulkan_moment end)
{
    VkPipelineStageFlags stages[VULKAN_POINTS_MAX + 1];
    VkSemaphore waits[VULKAN_POINTS_MAX + 1];
    uint64_t wait_values[VULKAN_POINTS_MAX + 1];
    for (uint32_t i = 0; i < count; i++) {
        stages[i] = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
        waits[i] = moments[i].timeline;
        wait_values[i] = moments[i].value;
    }
    VkTimelineSemaphoreSubmitInfo values = {
        .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
        .waitSemaphoreValueCount = count,
        .pWaitSemaphoreValues = wait_values,
        .signalSemaphoreValueCount = 1,
        .pSignalSemaphoreValues = &end.value,
    };
    VkSubmitInfo info = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
        .pNext = &values,
        .waitSemaphoreCount = count,
        .pWaitSemaphores = waits,
        .pWaitDstStageMask = stages,
        .commandBufferCount = commands ? 1 : 0,
        .pCommandBuffers = &commands,
        .signalSemaphoreCount = 1,
        .pSignalSemaphores = &end.timeline,
    };
    vulkan_slot_enter(slot);
    VkResult result = vk.vkQueueSubmit(slot->handle, 1, &info, VK_NULL_HANDLE);
    vulkan_slot_leave(slot);
    return vulkan_hresult(result);
}

HRESULT vulkan_command_pool_create(struct adapter_device *device, uint32_t family, VkCommandPool *out)
{
    VkCommandPoolCreateInfo pool = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
        .queueFamilyIndex = family,
    };
    return vulkan_hresult(vk.vkCreateCommandPool(device->handle, &pool, NULL, out));
}

HRESULT vulkan_commands_allocate(struct adapter_device *device, VkCommandPool pool, VkCommandBuffer *out)
{
    VkCommandBufferAllocateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
        .commandPool = pool,
        .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
        .commandBufferCount = 1,
    };
    return vulkan_hresult(vk.vkAllocateCommandBuffers(device->handle, &info, out));
}

HRESULT vulkan_commands_create(struct adapter_device *device, uint32_t family, VkCommandPool *out_pool,
                               VkCommandBuffer *out_commands)
{
    HRESULT hr = vulkan_command_pool_create(device, family, out_pool);
    if (FAILED(hr))
        return hr;
    hr = vulkan_commands_allocate(device, *out_pool, out_commands);
    if (FAILED(hr)) {
        vk.vkDestroyCommandPool(device->handle, *out_pool, NULL);
        *out_pool = VK_NULL_HANDLE;
    }
    return hr;
}

HRESULT vulkan_commands_begin(struct adapter_device *device, VkCommandPool pool, VkCommandBuffer commands)
{
    VkCommandBufferBeginInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
        .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT,
    };
    VkResult result = pool ? vk.vkResetCommandPool(device->handle, pool, 0) : VK_SUCCESS;
    if (result == VK_SUCCESS)
        result = vk.vkBeginCommandBuffer(commands, &info);
    return vulkan_hresult(result);
}

static VkPipelineStageFlags stages_of(uint32_t scope)
{
    return (scope & VULKAN_SCOPE_DISPATCHES ? VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT : 0) |
           (scope & VULKAN_SCOPE_COPIES ? VK_PIPELINE_STAGE_TRANSFER_BIT : 0) |
           (scope & VULKAN_SCOPE_HOST ? VK_PIPELINE_STAGE_HOST_BIT : 0);
}

static VkAccessFlags writes_of(uint32_t scope)
{
    return (scope & VULKAN_SCOPE_DISPATCHES ? VK_ACCESS_SHADER_WRITE_BIT : 0) |
           (scope & VULKAN_SCOPE_COPIES ? VK_ACCESS_TRANSFER_WRITE_BIT : 0);
}

static VkAccessFlags accesses_of(uint32_t scope)
{
    return writes_of(scope) | (scope & VULKAN_SCOPE_DISPATCHES ? VK_ACCESS_SHADER_READ_BIT : 0) |
           (scope & VULKAN_SCOPE_COPIES ? VK_ACCESS_TRANSFER_READ_BIT : 0) |
           (scope & VULKAN_SCOPE_HOST ? VK_ACCESS_HOST_READ_BIT : 0);
}

void vulkan_barrier(VkCommandBuffer commands, uint32_t from, uint32_t to)
{
    VkMemoryBarrier barrier = { .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                .srcAccessMask = writes_of(from),
                                .dstAccessMask = accesses_of(to) };
    vk.vkCmdPipelineBarrier(commands, stages_of(from), stages_of(to), 0, 1, &barrier, 0, NULL, 0, NULL);
}

void vulkan_copy(VkCommandBuffer commands, const struct adapter_binding *to, const struct adapter_binding *from,
                 uint64_t bytes)
{
    VkBufferCopy region = { vulkan_offset_of(from), vulkan_offset_of(to), bytes };
    if (bytes)
        vk.vkCmdCopyBuffer(commands, vulkan_buffer_of(from), vulkan_buffer_of(to), 1, &region);
}
