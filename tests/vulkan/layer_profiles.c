/* SPDX-License-Identifier: Apache-2.0 */
/* ANYDML_LAYER_PROFILE=NAME: the device, lavapipe in the tests, is presented as a GPU of profiles.def: its name and
 * vendor, its limits, the features that it lacks, and the types of its memory. Results, subgroups of the driver's own
 * size and queues remain the driver's. The memory is the host's, in the driver's only type; what is not HOST_VISIBLE
 * cannot be mapped. The rules that such a device adds are checked by the validation layers, which come before this
 * one (scripts/check-profiles). */
#include "layer_next.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB (UINT64_C(1) << 20)

enum {
    INT64 = 1,
    FLOAT64 = 2,
    FLOAT16 = 4, /* arithmetic */
    STORAGE8 = 8,
    STORAGE16 = 16,
    DOT = 32, /* packed 8-bit dot products are accelerated */
    SPARSE = 64,
    SUBNORMALS = 128, /* FLOAT32's can be preserved */
    NO_SUBGROUPS = 256,
};

/* DISCRETE: the host sees 256 MiB of the GPU's memory; REBAR: all of it; UNIFIED: there is one memory. */
enum memory { DISCRETE, REBAR, UNIFIED };

static const struct profile {
    const char *name, *device;
    uint32_t vendor, id;
    VkDriverId driver;
    enum memory memory;
    uint64_t heap;
    uint32_t shared, invocations;
    uint64_t allocation;
    uint32_t range, alignment;
    uint32_t abilities;
} profiles[] = {
#define PROFILE(name, device, vendor, id, driver, memory, mib, kib, invocations, allocation, range, alignment, able)   \
    { name,       device, vendor,    id,  VK_DRIVER_ID_##driver, memory, (mib)*MIB, (kib)*1024u, invocations,          \
      allocation, range,  alignment, able },
#include "profiles.def"
#undef PROFILE
};

static const struct profile *profile;

bool profiles_made_up(void)
{
    const char *wanted = getenv("ANYDML_LAYER_PROFILE");
    if (!wanted || !*wanted || profile)
        return profile != NULL;
    for (size_t i = 0; i < sizeof(profiles) / sizeof(*profiles); i++)
        if (!strcmp(profiles[i].name, wanted))
            profile = &profiles[i];
    if (!profile) {
        fprintf(stderr, "layer_profiles.c: no profile is called \"%s\"\n", wanted);
        abort();
    }
    return true;
}

bool profiles_limits(unsigned long long *allocation, int *sparse)
{
    if (!profiles_made_up())
        return false;
    *allocation = profile->allocation;
    *sparse = (profile->abilities & SPARSE) != 0;
    return true;
}

static VkBool32 able(uint32_t ability)
{
    return (profile->abilities & ability) == ability;
}

/* ---- what there is ---- */

static void restrict_limits(VkPhysicalDeviceLimits *limits)
{
    limits->maxComputeSharedMemorySize = profile->shared;
    limits->maxComputeWorkGroupInvocations = profile->invocations;
    for (uint32_t d = 0; d < 3; d++) {
        limits->maxComputeWorkGroupCount[d] = 65535;
        limits->maxComputeWorkGroupSize[d] = d < 2 ? profile->invocations : 64;
    }
    limits->maxStorageBufferRange = profile->range;
    limits->minStorageBufferOffsetAlignment = profile->alignment;
    limits->minUniformBufferOffsetAlignment = profile->alignment < 64 ? 64 : profile->alignment;
    limits->maxUniformBufferRange = 65536;
    limits->maxPushConstantsSize = 128;
}

static void restrict_driver(VkPhysicalDeviceDriverProperties *driver)
{
    driver->driverID = profile->driver;
    snprintf(driver->driverName, sizeof(driver->driverName), "profile");
    snprintf(driver->driverInfo, sizeof(driver->driverInfo), "%s", profile->name);
}

#define RESTRICT_FLOATS(floats)                                                                                        \
    do {                                                                                                               \
        if (!able(SUBNORMALS))                                                                                         \
            (floats)->shaderDenormPreserveFloat32 = VK_FALSE;                                                          \
        if (!able(FLOAT64))                                                                                            \
            (floats)->shaderSignedZeroInfNanPreserveFloat64 = (floats)->shaderDenormPreserveFloat64 = VK_FALSE;        \
    } while (0)

static void restrict_property(void *link)
{
    switch ((uint32_t)((VkBaseOutStructure *)link)->sType) {
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES:
        restrict_driver(link);
        break;
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES:
        ((VkPhysicalDeviceVulkan12Properties *)link)->driverID = profile->driver;
        RESTRICT_FLOATS((VkPhysicalDeviceVulkan12Properties *)link);
        break;
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES:
        RESTRICT_FLOATS((VkPhysicalDeviceFloatControlsProperties *)link);
        break;
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES:
        if (able(NO_SUBGROUPS))
            ((VkPhysicalDeviceSubgroupProperties *)link)->supportedOperations = VK_SUBGROUP_FEATURE_BASIC_BIT;
        break;
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES:
        if (able(NO_SUBGROUPS))
            ((VkPhysicalDeviceVulkan11Properties *)link)->subgroupSupportedOperations = VK_SUBGROUP_FEATURE_BASIC_BIT;
        break;
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_PROPERTIES: {
        VkPhysicalDeviceShaderIntegerDotProductProperties *dots = link;
        dots->integerDotProduct4x8BitPackedSignedAccelerated = able(DOT);
        dots->integerDotProduct4x8BitPackedUnsignedAccelerated = able(DOT);
        dots->integerDotProduct4x8BitPackedMixedSignednessAccelerated = able(DOT);
        break;
    }
    default:
        break;
    }
}

static VKAPI_ATTR void VKAPI_CALL get_properties(VkPhysicalDevice physical, VkPhysicalDeviceProperties2 *out)
{
    ((PFN_vkGetPhysicalDeviceProperties2)limits_find("vkGetPhysicalDeviceProperties2"))(physical, out);
    VkPhysicalDeviceProperties *properties = &out->properties;
    properties->vendorID = profile->vendor;
    properties->deviceID = profile->id;
    properties->deviceType =
        profile->memory == UNIFIED ? VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU : VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
    snprintf(properties->deviceName, sizeof(properties->deviceName), "%s", profile->device);
    restrict_limits(&properties->limits);
    for (VkBaseOutStructure *link = out->pNext; link; link = link->pNext)
        restrict_property(link);
}

static VKAPI_ATTR void VKAPI_CALL get_old_properties(VkPhysicalDevice physical, VkPhysicalDeviceProperties *out)
{
    VkPhysicalDeviceProperties2 all = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2 };
    get_properties(physical, &all);
    *out = all.properties;
}

static void restrict_feature(void *link)
{
    switch ((uint32_t)((VkBaseOutStructure *)link)->sType) {
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES: {
        VkPhysicalDeviceVulkan11Features *features = link;
        features->storageBuffer16BitAccess &= able(STORAGE16);
        features->uniformAndStorageBuffer16BitAccess &= able(STORAGE16);
        break;
    }
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES: {
        VkPhysicalDeviceVulkan12Features *features = link;
        features->storageBuffer8BitAccess &= able(STORAGE8);
        features->uniformAndStorageBuffer8BitAccess &= able(STORAGE8);
        features->shaderInt8 &= able(STORAGE8);
        features->shaderFloat16 &= able(FLOAT16);
        break;
    }
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES:
        ((VkPhysicalDevice16BitStorageFeatures *)link)->storageBuffer16BitAccess &= able(STORAGE16);
        break;
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES:
        ((VkPhysicalDevice8BitStorageFeatures *)link)->storageBuffer8BitAccess &= able(STORAGE8);
        break;
    default:
        break;
    }
}

static VKAPI_ATTR void VKAPI_CALL get_features(VkPhysicalDevice physical, VkPhysicalDeviceFeatures2 *out)
{
    ((PFN_vkGetPhysicalDeviceFeatures2)limits_find("vkGetPhysicalDeviceFeatures2"))(physical, out);
    out->features.shaderInt64 &= able(INT64);
    out->features.shaderFloat64 &= able(FLOAT64);
    out->features.shaderInt16 &= able(STORAGE16);
    for (VkBaseOutStructure *link = out->pNext; link; link = link->pNext)
        restrict_feature(link);
}

static VKAPI_ATTR void VKAPI_CALL get_old_features(VkPhysicalDevice physical, VkPhysicalDeviceFeatures *out)
{
    VkPhysicalDeviceFeatures2 all = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2 };
    get_features(physical, &all);
    *out = all.features;
}

/* ---- memory ---- */

enum {
    LOCAL = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT,
    MAPPED = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
    CACHED = VK_MEMORY_PROPERTY_HOST_CACHED_BIT,
    HOST_MIB = 16384,
    BAR_MIB = 256,
};

static void make_memory(VkPhysicalDeviceMemoryProperties *out)
{
    static const VkMemoryType discrete[] = {
        { LOCAL, 0 }, { MAPPED, 1 }, { LOCAL | MAPPED, 2 }, { MAPPED | CACHED, 1 }
    };
    static const VkMemoryType rebar[] = { { LOCAL, 0 }, { MAPPED, 1 }, { LOCAL | MAPPED, 0 }, { MAPPED | CACHED, 1 } };
    static const VkMemoryType unified[] = { { LOCAL, 0 }, { LOCAL | MAPPED, 0 }, { LOCAL | MAPPED | CACHED, 0 } };
    *out = (VkPhysicalDeviceMemoryProperties){ .memoryTypeCount = profile->memory == UNIFIED ? 3 : 4,
                                               .memoryHeapCount = profile->memory == DISCRETE ? 3
                                                                  : profile->memory == REBAR  ? 2
                                                                                              : 1 };
    out->memoryHeaps[0] = (VkMemoryHeap){ profile->heap, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT };
    out->memoryHeaps[1] = (VkMemoryHeap){ HOST_MIB * MIB, 0 };
    out->memoryHeaps[2] = (VkMemoryHeap){ BAR_MIB * MIB, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT };
    memcpy(out->memoryTypes,
           profile->memory == UNIFIED ? unified
           : profile->memory == REBAR ? rebar
                                      : discrete,
           out->memoryTypeCount * sizeof(VkMemoryType));
}

static VKAPI_ATTR void VKAPI_CALL get_memory(VkPhysicalDevice physical, VkPhysicalDeviceMemoryProperties2 *out)
{
    (void)physical;
    make_memory(&out->memoryProperties);
    for (VkBaseOutStructure *link = out->pNext; link; link = link->pNext) {
        VkPhysicalDeviceMemoryBudgetPropertiesEXT *budget = (void *)link;
        for (uint32_t i = 0; link->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT &&
                             i < out->memoryProperties.memoryHeapCount;
             i++) {
            budget->heapBudget[i] = out->memoryProperties.memoryHeaps[i].size;
            budget->heapUsage[i] = 0;
        }
    }
}

static VKAPI_ATTR void VKAPI_CALL get_old_memory(VkPhysicalDevice physical, VkPhysicalDeviceMemoryProperties *out)
{
    (void)physical;
    make_memory(out);
}

static VKAPI_ATTR void VKAPI_CALL get_requirements(VkDevice device, VkBuffer buffer, VkMemoryRequirements *out)
{
    VkPhysicalDeviceMemoryProperties memory;
    NEXT(vkGetBufferMemoryRequirements)(device, buffer, out);
    make_memory(&memory);
    out->memoryTypeBits = (1u << memory.memoryTypeCount) - 1;
}

static VKAPI_ATTR VkResult VKAPI_CALL allocate(VkDevice device, const VkMemoryAllocateInfo *info,
                                               const VkAllocationCallbacks *allocator, VkDeviceMemory *out)
{
    VkMemoryAllocateInfo inner = *info;
    inner.memoryTypeIndex = 0;
    return ((PFN_vkAllocateMemory)limits_find("vkAllocateMemory"))(device, &inner, allocator, out);
}

static const struct layer_entry intercepted[] = {
    ENTRY("vkGetPhysicalDeviceProperties", get_old_properties),
    ENTRY("vkGetPhysicalDeviceProperties2", get_properties),
    ENTRY("vkGetPhysicalDeviceFeatures", get_old_features),
    ENTRY("vkGetPhysicalDeviceFeatures2", get_features),
    ENTRY("vkGetPhysicalDeviceMemoryProperties", get_old_memory),
    ENTRY("vkGetPhysicalDeviceMemoryProperties2", get_memory),
    ENTRY("vkGetBufferMemoryRequirements", get_requirements),
    ENTRY("vkAllocateMemory", allocate),
};

PFN_vkVoidFunction profiles_find(const char *name)
{
    return LAYER_FIND(intercepted, name);
}
