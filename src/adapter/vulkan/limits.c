/* SPDX-License-Identifier: Apache-2.0 */
/* Limits that shaders require beyond Vulkan's guaranteed minimum: shared memory of 16 KiB and 65535 workgroups are
 * sufficient for them. */
#include "adapter/vulkan/vulkan.h"

/* Vulkan promises 128. */
const char *vulkan_limits_lack(const VkPhysicalDeviceLimits *limits)
{
    const bool fits = limits->maxComputeWorkGroupInvocations >= VULKAN_GROUP_SIZE &&
                      limits->maxComputeWorkGroupSize[0] >= VULKAN_GROUP_SIZE;
    return fits ? NULL : "workgroups of 256 invocations";
}

bool vulkan_limits_wide(const VkPhysicalDeviceLimits *limits)
{
    return limits->maxComputeWorkGroupInvocations >= 512 && limits->maxComputeWorkGroupSize[0] >= 512;
}
