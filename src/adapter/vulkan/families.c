/* SPDX-License-Identifier: Apache-2.0 */
/* Assigns roles to the queue families of a device. */
#include "adapter/vulkan/vulkan.h"

#define KINDS (VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT | VK_QUEUE_SPARSE_BINDING_BIT)

#define NONE UINT32_MAX

/* Among the families with all of `must` and none of `avoid`, the first of those with the fewest additional abilities
 * outside of KINDS: video families can also copy, but slowly or only on some engines. */
static uint32_t find(const VkQueueFamilyProperties *list, uint32_t count, VkQueueFlags must, VkQueueFlags avoid)
{
    uint32_t best = NONE;
    int best_others = 0;
    for (uint32_t i = 0; i < count; i++) {
        const VkQueueFlags flags = list[i].queueFlags;
        const int others = __builtin_popcount(flags & ~(VkQueueFlags)KINDS);
        if ((flags & must) != must || flags & avoid || !list[i].queueCount)
            continue;
        if (best == NONE || others < best_others) {
            best = i;
            best_others = others;
        }
    }
    return best;
}

static struct vulkan_family family_at(const VkQueueFamilyProperties *list, uint32_t index)
{
    if (index == NONE)
        return (struct vulkan_family){ 0 };
    return (struct vulkan_family){ index, list[index].queueCount, list[index].timestampValidBits,
                                   (list[index].queueFlags & VK_QUEUE_SPARSE_BINDING_BIT) != 0 };
}

bool vulkan_families_choose(const VkQueueFamilyProperties *list, uint32_t count, struct vulkan_family out[VULKAN_ROLES])
{
    const uint32_t all = find(list, count, VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT, 0);
    const uint32_t alone = find(list, count, VK_QUEUE_COMPUTE_BIT, VK_QUEUE_GRAPHICS_BIT);
    const uint32_t copies = find(list, count, VK_QUEUE_TRANSFER_BIT, VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT);
    out[VULKAN_ROLE_MAIN] = family_at(list, all != NONE ? all : alone);
    out[VULKAN_ROLE_COMPUTE] = family_at(list, all != NONE ? alone : NONE);
    out[VULKAN_ROLE_COPY] = family_at(list, copies);
    return out[VULKAN_ROLE_MAIN].queues;
}
