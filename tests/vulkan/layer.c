/* SPDX-License-Identifier: Apache-2.0 */
#include "layer_next.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>
#include <vulkan/vk_layer.h>

#define EXPORT   __attribute__((visibility("default")))
#define KEYS_MAX 4096
#define MODULES  256
#define TRAILER  "anydml layer keys"

struct layer_control control;

EXPORT struct layer_control *layer_control(void)
{
    return &control;
}

struct layer_next next;

PFN_vkVoidFunction next_proc(const char *name)
{
    static pthread_mutex_t known_lock = PTHREAD_MUTEX_INITIALIZER;
    static struct {
        const char *name;
        PFN_vkVoidFunction function;
    } known[128];
    uint32_t i = 0;
    pthread_mutex_lock(&known_lock);
    while (i < 127 && known[i].name && strcmp(known[i].name, name) != 0)
        i++;
    if (!known[i].name)
        known[i].function = next.device_proc(next.device, known[i].name = name);
    PFN_vkVoidFunction function = known[i].function;
    pthread_mutex_unlock(&known_lock);
    return function;
}

VkResult layer_enter(enum layer_call call)
{
    uint32_t number = ++control.calls[call].count, fail_at = control.calls[call].fail_at;
    const VkResult any = faults_enter(call);
    return fail_at && number >= fail_at ? (VkResult)control.calls[call].result : any;
}

/* ---- the pipeline cache: the driver's data, then keys of what is in it, then their number and TRAILER ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t keys[KEYS_MAX];
static uint32_t key_count;
static struct {
    VkShaderModule module;
    uint64_t key;
} modules[MODULES]; /* a ring */
static uint32_t module_count;

static uint64_t mix(uint64_t key, const void *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        key = (key ^ ((const uint8_t *)data)[i]) * UINT64_C(0x100000001b3);
    return key;
}

static bool add_key(uint64_t key)
{
    for (uint32_t i = 0; i < key_count; i++)
        if (keys[i] == key)
            return false;
    if (key_count < KEYS_MAX)
        keys[key_count++] = key;
    return true;
}

static VKAPI_ATTR VkResult VKAPI_CALL create_cache(VkDevice device, const VkPipelineCacheCreateInfo *info,
                                                   const VkAllocationCallbacks *allocator, VkPipelineCache *out)
{
    VkPipelineCacheCreateInfo inner = *info;
    const char *end = (const char *)info->pInitialData + info->initialDataSize;
    const size_t tail = sizeof(uint32_t) + sizeof(TRAILER);
    VkResult result = layer_enter(LAYER_OBJECT);
    if (result != VK_SUCCESS)
        return result;
    key_count = 0;
    if (info->initialDataSize >= tail && !memcmp(end - sizeof(TRAILER), TRAILER, sizeof(TRAILER))) {
        memcpy(&key_count, end - tail, sizeof(key_count));
        memcpy(keys, end - tail - key_count * sizeof(*keys), key_count * sizeof(*keys));
        inner.initialDataSize -= tail + key_count * sizeof(*keys);
    }
    return faults_created(NEXT(vkCreatePipelineCache)(device, &inner, allocator, out));
}

static VKAPI_ATTR VkResult VKAPI_CALL get_cache(VkDevice device, VkPipelineCache cache, size_t *size, void *data)
{
    size_t inner = 0;
    const size_t tail = sizeof(uint32_t) + sizeof(TRAILER);
    VkResult result = layer_enter(LAYER_CACHE);
    if (result == VK_SUCCESS)
        result = NEXT(vkGetPipelineCacheData)(device, cache, &inner, NULL);
    if (result != VK_SUCCESS)
        return result;
    pthread_mutex_lock(&lock);
    size_t whole = inner + key_count * sizeof(*keys) + tail;
    if (data && *size < whole)
        result = VK_INCOMPLETE;
    if (data && result == VK_SUCCESS) {
        result = NEXT(vkGetPipelineCacheData)(device, cache, &inner, data);
        char *at = (char *)data + inner;
        memcpy(at, keys, key_count * sizeof(*keys));
        at += key_count * sizeof(*keys);
        memcpy(at, &key_count, sizeof(key_count));
        memcpy(at + sizeof(key_count), TRAILER, sizeof(TRAILER));
        whole = inner + key_count * sizeof(*keys) + tail;
    }
    pthread_mutex_unlock(&lock);
    *size = whole;
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL create_module(VkDevice device, const VkShaderModuleCreateInfo *info,
                                                    const VkAllocationCallbacks *allocator, VkShaderModule *out)
{
    VkResult result = layer_enter(LAYER_OBJECT);
    if (result != VK_SUCCESS)
        return result;
    result = faults_created(NEXT(vkCreateShaderModule)(device, info, allocator, out));
    pthread_mutex_lock(&lock);
    modules[module_count % MODULES].module = *out;
    modules[module_count++ % MODULES].key = mix(UINT64_C(0xcbf29ce484222325), info->pCode, info->codeSize);
    pthread_mutex_unlock(&lock);
    return result;
}

static uint64_t key_of(const VkComputePipelineCreateInfo *info)
{
    const VkSpecializationInfo *constants = info->stage.pSpecializationInfo;
    uint64_t key = 0;
    for (uint32_t i = 0; i < MODULES; i++)
        if (modules[i].module == info->stage.module)
            key = modules[i].key;
    return constants ? mix(key, constants->pData, constants->dataSize) : key;
}

static VKAPI_ATTR VkResult VKAPI_CALL create_pipelines(VkDevice device, VkPipelineCache cache, uint32_t count,
                                                       const VkComputePipelineCreateInfo *infos,
                                                       const VkAllocationCallbacks *allocator, VkPipeline *out)
{
    VkResult result = layer_enter(LAYER_PIPELINE);
    if (result != VK_SUCCESS)
        return result;
    uint32_t making = ++control.making;
    for (uint32_t most = control.making_max; making > most;)
        if (__atomic_compare_exchange_n((uint32_t *)&control.making_max, &most, making, false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST))
            break;
    usleep(control.pipeline_us);
    result = compile_made_up() ? compile_create_pipelines(device, cache, count, infos, allocator, out)
                               : NEXT(vkCreateComputePipelines)(device, cache, count, infos, allocator, out);
    control.alive += result == VK_SUCCESS ? (int32_t)count : 0;
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; i < count && result == VK_SUCCESS; i++)
        control.compiled += add_key(key_of(&infos[i]));
    pthread_mutex_unlock(&lock);
    --control.making;
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL set_name(VkDevice device, const VkDebugUtilsObjectNameInfoEXT *info)
{
    control.named += info->objectType == VK_OBJECT_TYPE_PIPELINE && info->pObjectName && *info->pObjectName;
    return NEXT(vkSetDebugUtilsObjectNameEXT)(device, info);
}

/* ---- the rest ---- */

#define INTERCEPT(name, call, parameters, ...)                                                                         \
    static VKAPI_ATTR VkResult VKAPI_CALL layer_##name parameters                                                      \
    {                                                                                                                  \
        VkResult result = layer_enter(call);                                                                           \
        return result == VK_SUCCESS ? NEXT(name)(__VA_ARGS__) : result;                                                \
    }
INTERCEPT(vkGetSemaphoreCounterValue, LAYER_COUNTER, (VkDevice device, VkSemaphore semaphore, uint64_t *out), device,
          semaphore, out)
INTERCEPT(vkMapMemory, LAYER_MAP,
          (VkDevice device, VkDeviceMemory memory, VkDeviceSize offset, VkDeviceSize size, VkMemoryMapFlags flags,
           void **out),
          device, memory, offset, size, flags, out)
INTERCEPT(vkBindBufferMemory, LAYER_BIND,
          (VkDevice device, VkBuffer buffer, VkDeviceMemory memory, VkDeviceSize offset), device, buffer, memory,
          offset)
INTERCEPT(vkResetCommandPool, LAYER_RESET, (VkDevice device, VkCommandPool pool, VkCommandPoolResetFlags flags), device,
          pool, flags)
INTERCEPT(vkGetQueryPoolResults, LAYER_TIMES,
          (VkDevice device, VkQueryPool pool, uint32_t first, uint32_t count, size_t size, void *data,
           VkDeviceSize stride, VkQueryResultFlags flags),
          device, pool, first, count, size, data, stride, flags)
INTERCEPT(vkBeginCommandBuffer, LAYER_BEGIN, (VkCommandBuffer commands, const VkCommandBufferBeginInfo *info), commands,
          info)
INTERCEPT(vkEndCommandBuffer, LAYER_END, (VkCommandBuffer commands), commands)

static VKAPI_ATTR VkResult VKAPI_CALL layer_vkAllocateMemory(VkDevice device, const VkMemoryAllocateInfo *info,
                                                             const VkAllocationCallbacks *allocator,
                                                             VkDeviceMemory *out)
{
    VkResult result = layer_enter(LAYER_ALLOCATE);
    return result == VK_SUCCESS ? faults_created(NEXT(vkAllocateMemory)(device, info, allocator, out)) : result;
}

static VKAPI_ATTR VkResult VKAPI_CALL layer_vkAllocateCommandBuffers(VkDevice device,
                                                                     const VkCommandBufferAllocateInfo *info,
                                                                     VkCommandBuffer *out)
{
    VkResult result = layer_enter(LAYER_COMMANDS);
    if (result == VK_SUCCESS)
        result = NEXT(vkAllocateCommandBuffers)(device, info, out);
    if (result == VK_SUCCESS)
        families_note(info->commandPool, out, info->commandBufferCount);
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL layer_vkQueueSubmit(VkQueue queue, uint32_t count, const VkSubmitInfo *infos,
                                                          VkFence fence)
{
    VkResult result = layer_enter(LAYER_SUBMIT);
    if (result != VK_SUCCESS)
        return result;
    if (late_made_up())
        return late_submit(queue, count, infos, fence);
    return families_made_up() ? families_submit(queue, count, infos, fence)
                              : NEXT(vkQueueSubmit)(queue, count, infos, fence);
}

static VKAPI_ATTR VkResult VKAPI_CALL layer_vkCreateBuffer(VkDevice device, const VkBufferCreateInfo *info,
                                                           const VkAllocationCallbacks *allocator, VkBuffer *out)
{
    VkResult result = layer_enter(LAYER_OBJECT);
    if (result != VK_SUCCESS)
        return result;
    if (limits_made_up())
        return limits_create_buffer(device, info, allocator, out);
    return families_made_up() ? families_create_buffer(device, info, allocator, out)
                              : faults_created(NEXT(vkCreateBuffer)(device, info, allocator, out));
}

static VKAPI_ATTR VkResult VKAPI_CALL layer_vkCreateCommandPool(VkDevice device, const VkCommandPoolCreateInfo *info,
                                                                const VkAllocationCallbacks *allocator,
                                                                VkCommandPool *out)
{
    VkResult result = layer_enter(LAYER_OBJECT);
    if (result != VK_SUCCESS)
        return result;
    return families_made_up() ? families_create_pool(device, info, allocator, out)
                              : faults_created(NEXT(vkCreateCommandPool)(device, info, allocator, out));
}

/* Made all the same: the driver is well, and works with what would be given back. */
static VKAPI_ATTR VkResult VKAPI_CALL layer_vkWaitSemaphores(VkDevice device, const VkSemaphoreWaitInfo *info,
                                                             uint64_t timeout)
{
    VkResult made = NEXT(vkWaitSemaphores)(device, info, timeout), result = layer_enter(LAYER_WAIT);
    return result == VK_SUCCESS ? made : result;
}

void layer_note_dispatch(uint64_t groups)
{
    ++control.calls[LAYER_DISPATCH].count;
    if (groups > control.groups_max)
        control.groups_max = groups;
}

static VKAPI_ATTR void VKAPI_CALL dispatch(VkCommandBuffer commands, uint32_t x, uint32_t y, uint32_t z)
{
    layer_note_dispatch((uint64_t)x * y * z);
    NEXT(vkCmdDispatch)(commands, x, y, z);
}

static VKAPI_ATTR void VKAPI_CALL dispatch_base(VkCommandBuffer commands, uint32_t first_x, uint32_t first_y,
                                                uint32_t first_z, uint32_t x, uint32_t y, uint32_t z)
{
    layer_note_dispatch((uint64_t)x * y * z);
    NEXT(vkCmdDispatchBase)(commands, first_x, first_y, first_z, x, y, z);
}

static PFN_vkVoidFunction find(const char *name);

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL device_proc(VkDevice device, const char *name)
{
    PFN_vkVoidFunction own = find(name);
    return own ? own : next.device_proc(device, name);
}

static VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo *info,
                                                    const VkAllocationCallbacks *allocator, VkDevice *out)
{
    VkResult failure = layer_enter(LAYER_DEVICE);
    if (failure != VK_SUCCESS)
        return failure;
    VkLayerDeviceCreateInfo *chain = (VkLayerDeviceCreateInfo *)info->pNext;
    while (chain->sType != VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO || chain->function != VK_LAYER_LINK_INFO)
        chain = (VkLayerDeviceCreateInfo *)chain->pNext;
    PFN_vkGetInstanceProcAddr instance_proc = chain->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    next.device_proc = chain->u.pLayerInfo->pfnNextGetDeviceProcAddr;
    chain->u.pLayerInfo = chain->u.pLayerInfo->pNext;
    const float priority = 1;
    const VkDeviceQueueCreateInfo queue = { .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                            .queueCount = 1,
                                            .pQueuePriorities = &priority };
    VkDeviceCreateInfo inner = *info;
    if (families_made_up()) {
        inner.queueCreateInfoCount = 1;
        inner.pQueueCreateInfos = &queue;
    }
    VkPhysicalDeviceFeatures features;
    if (limits_made_up())
        limits_take_features(&inner, &features);
    const char *names[LAYER_EXTENSIONS_MAX];
    if (kernels_made_up() && info->enabledExtensionCount <= LAYER_EXTENSIONS_MAX)
        kernels_take_extension(&inner, names);
    struct layer_compile_features compile;
    if (compile_made_up())
        compile_take_features(&inner, &compile);
    VkResult result =
        ((PFN_vkCreateDevice)instance_proc(next.instance, "vkCreateDevice"))(physical, &inner, allocator, out);
    next.device = *out;
    if (families_made_up() && result == VK_SUCCESS)
        families_note_device(*out, info);
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo *info,
                                                      const VkAllocationCallbacks *allocator, VkInstance *out)
{
    VkLayerInstanceCreateInfo *chain = (VkLayerInstanceCreateInfo *)info->pNext;
    while (chain->sType != VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO || chain->function != VK_LAYER_LINK_INFO)
        chain = (VkLayerInstanceCreateInfo *)chain->pNext;
    next.instance_proc = chain->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    chain->u.pLayerInfo = chain->u.pLayerInfo->pNext;
    VkResult result = layer_enter(LAYER_INSTANCE);
    if (result == VK_SUCCESS)
        result = ((PFN_vkCreateInstance)next.instance_proc(VK_NULL_HANDLE, "vkCreateInstance"))(info, allocator, out);
    if (result != VK_SUCCESS)
        return result;
    next.instance = *out;
    /* Later the loader would answer with this layer's own. */
    next.extensions =
        (PFN_vkEnumerateDeviceExtensionProperties)next.instance_proc(*out, "vkEnumerateDeviceExtensionProperties");
    next.devices = (PFN_vkEnumeratePhysicalDevices)next.instance_proc(*out, "vkEnumeratePhysicalDevices");
    limits_open(next.instance_proc, *out);
    compile_open(next.instance_proc, *out);
    return result;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL instance_proc(VkInstance instance, const char *name)
{
    PFN_vkVoidFunction own = find(name);
    return own ? own : next.instance_proc(instance, name);
}

static const struct layer_entry intercepted[] = {
    ENTRY("vkGetInstanceProcAddr", instance_proc),
    ENTRY("vkGetDeviceProcAddr", device_proc),
    ENTRY("vkCreateInstance", create_instance),
    ENTRY("vkCreateDevice", create_device),
    ENTRY("vkCreatePipelineCache", create_cache),
    ENTRY("vkGetPipelineCacheData", get_cache),
    ENTRY("vkCreateShaderModule", create_module),
    ENTRY("vkCreateComputePipelines", create_pipelines),
    ENTRY("vkSetDebugUtilsObjectNameEXT", set_name),
    ENTRY("vkQueueSubmit", layer_vkQueueSubmit),
    ENTRY("vkWaitSemaphores", layer_vkWaitSemaphores),
    ENTRY("vkGetSemaphoreCounterValue", layer_vkGetSemaphoreCounterValue),
    ENTRY("vkAllocateMemory", layer_vkAllocateMemory),
    ENTRY("vkCreateBuffer", layer_vkCreateBuffer),
    ENTRY("vkCreateCommandPool", layer_vkCreateCommandPool),
    ENTRY("vkBindBufferMemory", layer_vkBindBufferMemory),
    ENTRY("vkResetCommandPool", layer_vkResetCommandPool),
    ENTRY("vkGetQueryPoolResults", layer_vkGetQueryPoolResults),
    ENTRY("vkMapMemory", layer_vkMapMemory),
    ENTRY("vkAllocateCommandBuffers", layer_vkAllocateCommandBuffers),
    ENTRY("vkBeginCommandBuffer", layer_vkBeginCommandBuffer),
    ENTRY("vkEndCommandBuffer", layer_vkEndCommandBuffer),
    ENTRY("vkCmdDispatch", dispatch),
    ENTRY("vkCmdDispatchBase", dispatch_base),
};

static PFN_vkVoidFunction find(const char *name)
{
    if (families_made_up() && families_find(name))
        return families_find(name);
    if (order_made_up() && order_find(name))
        return order_find(name);
    if (late_made_up() && late_find(name))
        return late_find(name);
    if (kernels_made_up() && kernels_find(name))
        return kernels_find(name);
    if (profiles_made_up() && profiles_find(name))
        return profiles_find(name);
    if (limits_made_up() && limits_find(name))
        return limits_find(name);
    if (compile_made_up() && compile_find(name))
        return compile_find(name);
    PFN_vkVoidFunction own = LAYER_FIND(intercepted, name);
    if (own)
        return own;
    return faults_find(name);
}

EXPORT VKAPI_ATTR VkResult VKAPI_CALL vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface *version)
{
    version->loaderLayerInterfaceVersion = 2;
    version->pfnGetInstanceProcAddr = instance_proc;
    version->pfnGetDeviceProcAddr = device_proc;
    version->pfnGetPhysicalDeviceProcAddr = NULL;
    return VK_SUCCESS;
}
