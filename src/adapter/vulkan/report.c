/* SPDX-License-Identifier: Apache-2.0 */
/* What the log says of the loader and its devices (ANYDML_LOG=info); `anydml doctor` reads these lines. */
#include "adapter/vulkan/vulkan.h"

#include "base/log.h"
#include "shaders/shader.h"

#include <stdio.h>

void vulkan_report_loader(PFN_vkGetInstanceProcAddr get)
{
    uint32_t v = 0;
    if (!get || !base_log_enabled(BASE_LOG_INFO))
        return;
    PFN_vkEnumerateInstanceVersion ask = (PFN_vkEnumerateInstanceVersion)get(NULL, "vkEnumerateInstanceVersion");
    if (ask && ask(&v) == VK_SUCCESS)
        base_log(BASE_LOG_INFO, "vulkan: the loader is %s, Vulkan %u.%u.%u", BASE_VULKAN_LOADER,
                 VK_API_VERSION_MAJOR(v), VK_API_VERSION_MINOR(v), VK_API_VERSION_PATCH(v));
    else
        base_log(BASE_LOG_INFO, "vulkan: the loader is %s, Vulkan 1.0", BASE_VULKAN_LOADER);
}

static const char *type_name(VkPhysicalDeviceType type)
{
    switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
        return "integrated GPU";
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
        return "discrete GPU";
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
        return "virtual GPU";
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
        return "software";
    default:
        return "other";
    }
}

void vulkan_report_found(VkPhysicalDevice handle)
{
    VkPhysicalDeviceSubgroupProperties subgroup = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES };
    VkPhysicalDeviceDriverProperties driver = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES,
                                                .pNext = &subgroup };
    VkPhysicalDeviceProperties2 properties = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                               .pNext = &driver };
    if (!base_log_enabled(BASE_LOG_INFO))
        return;
    vk.vkGetPhysicalDeviceProperties2(handle, &properties);
    const VkPhysicalDeviceProperties *p = &properties.properties;
    base_log(BASE_LOG_INFO,
             "vulkan: \"%s\" is found: %s %04x:%04x, Vulkan %u.%u.%u, driver version 0x%x %s %s, subgroups of %u, "
             "%u bytes of shared memory",
             p->deviceName, type_name(p->deviceType), p->vendorID, p->deviceID, VK_API_VERSION_MAJOR(p->apiVersion),
             VK_API_VERSION_MINOR(p->apiVersion), VK_API_VERSION_PATCH(p->apiVersion), p->driverVersion,
             driver.driverName, driver.driverInfo, subgroup.subgroupSize, p->limits.maxComputeSharedMemorySize);
}

void vulkan_report_used(const struct vulkan_physical *physical)
{
    static const char *const words[] = {
#define CAPABILITY(NAME, word) #word,
#include "shaders/capabilities.def"
#undef CAPABILITY
    };
    char list[256] = "";
    size_t used = 0;
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (physical->capabilities >> i & 1 && used < sizeof(list))
            used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", used ? "," : "", words[i]);
    base_log(BASE_LOG_INFO, "vulkan: \"%s\" is used with %s", physical->properties.deviceName, used ? list : "none");
}
