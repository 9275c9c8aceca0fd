/* SPDX-License-Identifier: Apache-2.0 */
/* Devices that the application made, with its queues: of anydml_vulkan.h, and those behind another Direct3D 12
 * (src/foreign). Vulkan does not report what is enabled in a device: the caller passes it. */
#include "adapter/vulkan/sparse.h"

#include "shaders/shader.h"

#include <stdlib.h>

/* The features of one struct of the chain. Those that later became part of Vulkan12Features also occur separately. */
static void add_features(const VkBaseInStructure *link, struct vulkan_features *out)
{
    const void *s = link;
    switch ((int)link->sType) {
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2:
        out->core = ((const VkPhysicalDeviceFeatures2 *)s)->features;
        break;
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES:
        out->v11 = *(const VkPhysicalDeviceVulkan11Features *)s;
        break;
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES:
        out->v12 = *(const VkPhysicalDeviceVulkan12Features *)s;
        break;
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES:
        out->v11.storageBuffer16BitAccess = ((const VkPhysicalDevice16BitStorageFeatures *)s)->storageBuffer16BitAccess;
        break;
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES:
        out->v12.storageBuffer8BitAccess = ((const VkPhysicalDevice8BitStorageFeatures *)s)->storageBuffer8BitAccess;
        break;
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES:
        out->v12.bufferDeviceAddress = ((const VkPhysicalDeviceBufferDeviceAddressFeatures *)s)->bufferDeviceAddress;
        break;
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES:
        out->v12.timelineSemaphore = ((const VkPhysicalDeviceTimelineSemaphoreFeatures *)s)->timelineSemaphore;
        break;
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES:
        out->v12.shaderFloat16 = ((const VkPhysicalDeviceShaderFloat16Int8Features *)s)->shaderFloat16;
        break;
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES:
        out->v12.vulkanMemoryModel = ((const VkPhysicalDeviceVulkanMemoryModelFeatures *)s)->vulkanMemoryModel;
        out->v12.vulkanMemoryModelDeviceScope =
            ((const VkPhysicalDeviceVulkanMemoryModelFeatures *)s)->vulkanMemoryModelDeviceScope;
        break;
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES:
        out->dot_products = ((const VkPhysicalDeviceVulkan13Features *)s)->shaderIntegerDotProduct;
        break;
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES:
        out->dot_products = ((const VkPhysicalDeviceShaderIntegerDotProductFeatures *)s)->shaderIntegerDotProduct;
        break;
    case VULKAN_STRUCTURE_MATRIX_FEATURES:
        out->matrices = ((const struct vulkan_matrix_features *)s)->matrices;
        break;
    case VULKAN_STRUCTURE_BFLOAT16_FEATURES:
        out->bfloat16 = ((const struct vulkan_bfloat16_features *)s)->values &&
                        ((const struct vulkan_bfloat16_features *)s)->matrices;
        break;
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_UNIFORM_BUFFER_STANDARD_LAYOUT_FEATURES:
        out->v12.uniformBufferStandardLayout =
            ((const VkPhysicalDeviceUniformBufferStandardLayoutFeatures *)s)->uniformBufferStandardLayout;
        break;
    }
}

static struct vulkan_features enabled_features(const VkDeviceCreateInfo *info)
{
    struct vulkan_features features = { 0 };
    if (info->pEnabledFeatures)
        features.core = *info->pEnabledFeatures;
    for (const VkBaseInStructure *link = info->pNext; link; link = link->pNext)
        add_features(link, &features);
    return features;
}

static bool enabled_extension(const VkDeviceCreateInfo *info, const char *name)
{
    for (uint32_t i = 0; i < info->enabledExtensionCount; i++)
        if (!strcmp(info->ppEnabledExtensionNames[i], name))
            return true;
    return false;
}

/* The number of queues that the application created in a family, as vkGetDeviceQueue finds them. */
static uint32_t queues_made(const VkDeviceCreateInfo *info, uint32_t family)
{
    for (uint32_t i = 0; i < info->queueCreateInfoCount; i++)
        if (info->pQueueCreateInfos[i].queueFamilyIndex == family && !info->pQueueCreateInfos[i].flags)
            return info->pQueueCreateInfos[i].queueCount;
    return 0;
}

static HRESULT check_desc(const struct anydml_vulkan_device *desc, char *message)
{
    const char *null = !desc                               ? "desc"
                       : !desc->GetInstanceProcAddr        ? "GetInstanceProcAddr"
                       : !desc->Instance                   ? "Instance"
                       : !desc->PhysicalDevice             ? "PhysicalDevice"
                       : !desc->Device                     ? "Device"
                       : !desc->CreateInfo                 ? "CreateInfo"
                       : !desc->Queues && desc->QueueCount ? "Queues"
                       : !desc->Lock && desc->Unlock       ? "Lock, but not Unlock,"
                       : desc->Lock && !desc->Unlock       ? "Unlock, but not Lock,"
                                                           : NULL;
    if (null)
        return vulkan_invalid(message, "%s is NULL", null);
    if (desc->ApiVersion < VK_API_VERSION_1_2)
        return vulkan_invalid(message, "ApiVersion is %u.%u: the instance must be of Vulkan 1.2 or newer",
                              VK_API_VERSION_MAJOR(desc->ApiVersion), VK_API_VERSION_MINOR(desc->ApiVersion));
    if (!desc->QueueCount || desc->QueueCount > VULKAN_QUEUES_MAX)
        return vulkan_invalid(message, "QueueCount is %u: must be 1 to %u", desc->QueueCount, VULKAN_QUEUES_MAX);
    return S_OK;
}

/* NULL, or an error: a queue that is none of the device's. */
static HRESULT check_handles(const struct anydml_vulkan_device *desc, char *message)
{
    const uint32_t made = queues_made(desc->CreateInfo, desc->QueueFamily);
    for (uint32_t i = 0; i < desc->QueueCount; i++) {
        bool known = false;
        for (uint32_t k = 0; k < made && !known; k++) {
            VkQueue queue = VK_NULL_HANDLE;
            vk.vkGetDeviceQueue(desc->Device, desc->QueueFamily, k, &queue);
            known = queue && queue == desc->Queues[i];
        }
        if (!known)
            return vulkan_invalid(message,
                                  "Queues[%u] is %p: must be one of the %u queues that CreateInfo makes of family %u",
                                  i, (void *)desc->Queues[i], made, desc->QueueFamily);
    }
    return S_OK;
}

/* Also the physical's fields of queues. */
static HRESULT check_queues(const struct adapter_adoption *adoption, struct vulkan_physical *physical, char *message)
{
    const struct anydml_vulkan_device *desc = adoption->desc;
    VkQueueFamilyProperties families[32];
    uint32_t count = ARRAY_SIZE(families), family = desc->QueueFamily;
    vk.vkGetPhysicalDeviceQueueFamilyProperties(desc->PhysicalDevice, &count, families);
    if (family >= count || !(families[family].queueFlags & VK_QUEUE_COMPUTE_BIT))
        return vulkan_invalid(
            message, "QueueFamily is %u: must be a family of PhysicalDevice with VK_QUEUE_COMPUTE_BIT", family);
    HRESULT hr = adoption->trusts_queues ? S_OK : check_handles(desc, message);
    physical->families[VULKAN_ROLE_MAIN] =
        (struct vulkan_family){ family, desc->QueueCount, families[family].timestampValidBits,
                                (families[family].queueFlags & VK_QUEUE_SPARSE_BINDING_BIT) != 0 };
    return hr;
}

/* As add_physical finds them, among what is enabled. */
static void add_capabilities(const struct anydml_vulkan_device *desc, const struct vulkan_features *features,
                             struct vulkan_physical *physical)
{
    const VkPhysicalDevice handle = desc->PhysicalDevice;
    const uint32_t allowed = vulkan_capabilities_allowed();
    if (features->dot_products && vulkan_trusts_dot_products(handle))
        physical->capabilities |= SHADER_CAPABILITY_DOT & allowed;
    if (physical->capabilities & SHADER_CAPABILITY_STORAGE && features->matrices && features->v12.shaderFloat16 &&
        features->v12.vulkanMemoryModel && features->v12.vulkanMemoryModelDeviceScope) {
        const uint32_t enabled =
            SHADER_CAPABILITY_COOP | (features->bfloat16 ? (uint32_t)SHADER_CAPABILITY_COOP_BFLOAT16 : 0);
        physical->capabilities |=
            vulkan_cooperative_find(desc->GetInstanceProcAddr, desc->Instance, handle, enabled) & allowed;
    }
    if (enabled_extension(desc->CreateInfo, VK_NVX_BINARY_IMPORT_EXTENSION_NAME)) {
        physical->capabilities |= SHADER_CAPABILITY_META & allowed;
        physical->multiprocessors = vulkan_multiprocessors(handle);
    }
}

static HRESULT describe_adopted(const struct adapter_adoption *adoption, struct vulkan_physical *physical,
                                char *message)
{
    const struct anydml_vulkan_device *desc = adoption->desc;
    const struct vulkan_features features = enabled_features(desc->CreateInfo);
    const char *lack = vulkan_physical_describe(desc->PhysicalDevice, &features, physical);
    if (lack)
        return vulkan_invalid(message, "%s is missing: PhysicalDevice \"%s\" must have it, and CreateInfo enable it",
                              lack, physical->properties.deviceName);
    add_capabilities(desc, &features, physical);
    physical->budget = enabled_extension(desc->CreateInfo, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
    physical->external_fd = enabled_extension(desc->CreateInfo, VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME);
    HRESULT hr = check_queues(adoption, physical, message);
    vulkan_sparse_check(physical);
    return hr;
}

static struct adapter_device *device_new(void)
{
    struct adapter_device *device = calloc(1, sizeof(*device));
    if (device)
        device->adopted = calloc(1, sizeof(*device->adopted));
    if (device && device->adopted)
        return device;
    free(device);
    return NULL;
}

static HRESULT start_adopted(const struct adapter_adoption *adoption, struct adapter_device *device)
{
    const struct anydml_vulkan_device *desc = adoption->desc;
    device->physical = device->adopted;
    device->handle = desc->Device;
    device->queues[VULKAN_ROLE_MAIN].count = desc->QueueCount;
    for (uint32_t i = 0; i < desc->QueueCount; i++) {
        struct vulkan_queue_slot *slot = &device->queues[VULKAN_ROLE_MAIN].slots[i];
        slot->handle = desc->Queues[i];
        slot->enter = desc->Lock;
        slot->leave = desc->Unlock;
        slot->context = desc->Context;
    }
    for (uint32_t i = 0; i < adoption->family_count; i++)
        if (adoption->families[i] != desc->QueueFamily && device->family_count < VULKAN_ROLES - 1)
            device->families[device->family_count++] = adoption->families[i];
    HRESULT hr = vulkan_device_start(device);
    if (FAILED(hr))
        vulkan_device_destroy(device); /* which also returns the loader */
    return hr;
}

HRESULT vulkan_device_adopt(const struct adapter_adoption *adoption, struct adapter_info *out_info,
                            struct adapter_device **out, char *message)
{
    const struct anydml_vulkan_device *desc = adoption->desc;
    *out = NULL;
    HRESULT hr = check_desc(desc, message);
    if (FAILED(hr))
        return hr;
    struct adapter_device *device = device_new();
    if (!device)
        return E_OUTOFMEMORY;
    hr = vulkan_loader_borrow(desc->GetInstanceProcAddr, desc->Instance, message);
    const bool borrowed = SUCCEEDED(hr);
    if (SUCCEEDED(hr))
        hr = describe_adopted(adoption, device->adopted, message);
    if (FAILED(hr)) {
        if (borrowed)
            vulkan_loader_return();
        free(device->adopted);
        free(device);
        return hr;
    }
    hr = start_adopted(adoption, device);
    if (FAILED(hr))
        return hr;
    vulkan_describe(device->physical, 0, out_info);
    *out = device;
    return S_OK;
}
