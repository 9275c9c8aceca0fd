/* SPDX-License-Identifier: Apache-2.0 */
/* Errors of any call, and objects that are not destroyed. */
#include "layer_next.h"

#include <string.h>

#define MEMORY VK_ERROR_OUT_OF_HOST_MEMORY, VK_ERROR_OUT_OF_DEVICE_MEMORY

/* What Vulkan 1.3 documents; any call may return VK_ERROR_UNKNOWN, too. 0: no more. */
enum { ERRORS_MAX = 8 };
static const VkResult errors[LAYER_CALLS][ERRORS_MAX] = {
    [LAYER_PIPELINE] = { MEMORY, VK_ERROR_INVALID_SHADER_NV, VK_ERROR_UNKNOWN },
    [LAYER_SUBMIT] = { MEMORY, VK_ERROR_DEVICE_LOST, VK_ERROR_UNKNOWN },
    [LAYER_WAIT] = { MEMORY, VK_ERROR_DEVICE_LOST, VK_ERROR_UNKNOWN },
    [LAYER_COUNTER] = { MEMORY, VK_ERROR_DEVICE_LOST, VK_ERROR_UNKNOWN },
    [LAYER_ALLOCATE] = { MEMORY, VK_ERROR_TOO_MANY_OBJECTS, VK_ERROR_INVALID_EXTERNAL_HANDLE, VK_ERROR_UNKNOWN },
    [LAYER_MAP] = { MEMORY, VK_ERROR_MEMORY_MAP_FAILED, VK_ERROR_UNKNOWN },
    [LAYER_COMMANDS] = { MEMORY, VK_ERROR_UNKNOWN },
    [LAYER_BEGIN] = { MEMORY, VK_ERROR_UNKNOWN },
    [LAYER_END] = { MEMORY, VK_ERROR_UNKNOWN },
    [LAYER_DEVICE] = { MEMORY, VK_ERROR_INITIALIZATION_FAILED, VK_ERROR_EXTENSION_NOT_PRESENT,
                       VK_ERROR_FEATURE_NOT_PRESENT, VK_ERROR_TOO_MANY_OBJECTS, VK_ERROR_DEVICE_LOST },
    [LAYER_OBJECT] = { MEMORY, VK_ERROR_UNKNOWN },
    [LAYER_BIND] = { MEMORY, VK_ERROR_UNKNOWN },
    [LAYER_RESET] = { MEMORY, VK_ERROR_UNKNOWN },
    [LAYER_TIMES] = { MEMORY, VK_ERROR_DEVICE_LOST, VK_ERROR_UNKNOWN },
    [LAYER_SPARSE] = { MEMORY, VK_ERROR_DEVICE_LOST },
    [LAYER_SIGNAL] = { MEMORY, VK_ERROR_UNKNOWN },
    [LAYER_SETS] = { MEMORY, VK_ERROR_FRAGMENTED_POOL, VK_ERROR_OUT_OF_POOL_MEMORY, VK_ERROR_UNKNOWN },
    [LAYER_CACHE] = { MEMORY, VK_INCOMPLETE, VK_ERROR_UNKNOWN },
    [LAYER_IDLE] = { MEMORY, VK_ERROR_DEVICE_LOST, VK_ERROR_UNKNOWN },
    [LAYER_LIST] = { MEMORY, VK_ERROR_INITIALIZATION_FAILED, VK_ERROR_UNKNOWN },
    [LAYER_INSTANCE] = { MEMORY, VK_ERROR_INITIALIZATION_FAILED, VK_ERROR_INCOMPATIBLE_DRIVER },
};

static bool may_be_lost(enum layer_call call)
{
    for (uint32_t i = 0; i < ERRORS_MAX; i++)
        if (errors[call][i] == VK_ERROR_DEVICE_LOST)
            return true;
    return false;
}

VkResult faults_enter(enum layer_call call)
{
    const uint32_t number = ++control.any.count, variant = control.any.variant;
    if (!control.any.fail_at || number < control.any.fail_at)
        return VK_SUCCESS;
    if (number > control.any.fail_at)
        return control.any.result == VK_ERROR_DEVICE_LOST && may_be_lost(call) ? VK_ERROR_DEVICE_LOST : VK_SUCCESS;
    control.any.call = call;
    control.any.result = variant < ERRORS_MAX ? errors[call][variant] : VK_SUCCESS;
    return (VkResult)control.any.result;
}

VkResult faults_created(VkResult result)
{
    control.alive += result == VK_SUCCESS;
    return result;
}

/* ---- functions ---- */

#define CREATE(Name)                                                                                                   \
    static VKAPI_ATTR VkResult VKAPI_CALL create_##Name(VkDevice device, const Vk##Name##CreateInfo *info,             \
                                                        const VkAllocationCallbacks *allocator, Vk##Name *out)         \
    {                                                                                                                  \
        VkResult result = layer_enter(LAYER_OBJECT);                                                                   \
        return result == VK_SUCCESS ? faults_created(NEXT(vkCreate##Name)(device, info, allocator, out)) : result;     \
    }
CREATE(Semaphore)
CREATE(QueryPool)
CREATE(PipelineLayout)
CREATE(DescriptorSetLayout)
CREATE(DescriptorPool)

#define DESTROY(Name)                                                                                                  \
    static VKAPI_ATTR void VKAPI_CALL destroy_##Name(VkDevice device, Vk##Name object,                                 \
                                                     const VkAllocationCallbacks *allocator)                           \
    {                                                                                                                  \
        control.alive -= object != VK_NULL_HANDLE;                                                                     \
        NEXT(vkDestroy##Name)(device, object, allocator);                                                              \
    }
DESTROY(Semaphore)
DESTROY(QueryPool)
DESTROY(PipelineLayout)
DESTROY(DescriptorSetLayout)
DESTROY(DescriptorPool)
DESTROY(PipelineCache)
DESTROY(ShaderModule)
DESTROY(Pipeline)
DESTROY(Buffer)
DESTROY(CommandPool)

static VKAPI_ATTR void VKAPI_CALL free_memory(VkDevice device, VkDeviceMemory memory,
                                              const VkAllocationCallbacks *allocator)
{
    control.alive -= memory != VK_NULL_HANDLE;
    NEXT(vkFreeMemory)(device, memory, allocator);
}

static VKAPI_ATTR VkResult VKAPI_CALL signal_semaphore(VkDevice device, const VkSemaphoreSignalInfo *info)
{
    VkResult result = layer_enter(LAYER_SIGNAL);
    return result == VK_SUCCESS ? NEXT(vkSignalSemaphore)(device, info) : result;
}

static VKAPI_ATTR VkResult VKAPI_CALL allocate_sets(VkDevice device, const VkDescriptorSetAllocateInfo *info,
                                                    VkDescriptorSet *out)
{
    VkResult result = layer_enter(LAYER_SETS);
    return result == VK_SUCCESS ? NEXT(vkAllocateDescriptorSets)(device, info, out) : result;
}

/* Idle all the same: the driver is well, and works with what would be given back. */
static VKAPI_ATTR VkResult VKAPI_CALL wait_idle(VkDevice device)
{
    VkResult made = NEXT(vkDeviceWaitIdle)(device), result = layer_enter(LAYER_IDLE);
    return result == VK_SUCCESS ? made : result;
}

static VKAPI_ATTR VkResult VKAPI_CALL list_devices(VkInstance instance, uint32_t *count, VkPhysicalDevice *out)
{
    VkResult result = layer_enter(LAYER_LIST);
    return result == VK_SUCCESS ? next.devices(instance, count, out) : result;
}

static const struct layer_entry intercepted[] = {
    ENTRY("vkCreateSemaphore", create_Semaphore),
    ENTRY("vkCreateQueryPool", create_QueryPool),
    ENTRY("vkCreatePipelineLayout", create_PipelineLayout),
    ENTRY("vkCreateDescriptorSetLayout", create_DescriptorSetLayout),
    ENTRY("vkCreateDescriptorPool", create_DescriptorPool),
    ENTRY("vkDestroySemaphore", destroy_Semaphore),
    ENTRY("vkDestroyQueryPool", destroy_QueryPool),
    ENTRY("vkDestroyPipelineLayout", destroy_PipelineLayout),
    ENTRY("vkDestroyDescriptorSetLayout", destroy_DescriptorSetLayout),
    ENTRY("vkDestroyDescriptorPool", destroy_DescriptorPool),
    ENTRY("vkDestroyPipelineCache", destroy_PipelineCache),
    ENTRY("vkDestroyShaderModule", destroy_ShaderModule),
    ENTRY("vkDestroyPipeline", destroy_Pipeline),
    ENTRY("vkDestroyBuffer", destroy_Buffer),
    ENTRY("vkDestroyCommandPool", destroy_CommandPool),
    ENTRY("vkFreeMemory", free_memory),
    ENTRY("vkSignalSemaphore", signal_semaphore),
    ENTRY("vkAllocateDescriptorSets", allocate_sets),
    ENTRY("vkDeviceWaitIdle", wait_idle),
    ENTRY("vkEnumeratePhysicalDevices", list_devices),
};

PFN_vkVoidFunction faults_find(const char *name)
{
    return LAYER_FIND(intercepted, name);
}
