/* SPDX-License-Identifier: Apache-2.0 */
/* Timeline semaphores that are shared with the application (anydml_vulkan.h). */
#include "adapter/vulkan/vulkan.h"

HRESULT vulkan_semaphore_create(struct adapter_device *device, uint64_t value, VkSemaphore *out)
{
    VkSemaphoreTypeCreateInfo type = { .sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                       .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE,
                                       .initialValue = value };
    VkSemaphoreCreateInfo info = { .sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type };
    return vulkan_hresult(vk.vkCreateSemaphore(device->handle, &info, NULL, out));
}

void vulkan_semaphore_destroy(struct adapter_device *device, VkSemaphore semaphore)
{
    vk.vkDestroySemaphore(device->handle, semaphore, NULL);
}

HRESULT vulkan_semaphore_value(struct adapter_device *device, VkSemaphore semaphore, uint64_t *out)
{
    return vulkan_hresult(vk.vkGetSemaphoreCounterValue(device->handle, semaphore, out));
}

HRESULT vulkan_semaphore_signal(struct adapter_device *device, VkSemaphore semaphore, uint64_t value)
{
    VkSemaphoreSignalInfo info = { .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO,
                                   .semaphore = semaphore,
                                   .value = value };
    return vulkan_hresult(vk.vkSignalSemaphore(device->handle, &info));
}

HRESULT vulkan_semaphore_wait(struct adapter_device *device, VkSemaphore semaphore, uint64_t value,
                              uint64_t nanoseconds)
{
    VkSemaphoreWaitInfo info = { .sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                 .semaphoreCount = 1,
                                 .pSemaphores = &semaphore,
                                 .pValues = &value };
    VkResult result = vk.vkWaitSemaphores(device->handle, &info, nanoseconds);
    return result == VK_TIMEOUT ? S_FALSE : vulkan_hresult(result);
}

/* An empty submission after the queue's last batch, which has waited for the previous ones. */
HRESULT vulkan_queue_signal(struct adapter_queue *queue, VkSemaphore semaphore, uint64_t value)
{
    return vulkan_submit(queue->last_slot ? queue->last_slot : queue->slot, VK_NULL_HANDLE, NULL, 0,
                         (struct vulkan_moment){ semaphore, value });
}
