/* SPDX-License-Identifier: Apache-2.0 */
/* ANYDML_LAYER_COMPILE=FILE: for drivers that compile for a GPU that is not there, as Mesa's RADV does with
 * RADV_FORCE_FAMILY. Such a driver has no timeline semaphores and executes nothing. Here a submission is complete when
 * it is made, and memory keeps what the host wrote. For each pipeline a line is appended to FILE: the name of its
 * shader, then the driver's statistics (VK_KHR_pipeline_executable_properties) as NAME=VALUE, separated by tabs. */
#include "layer_next.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define HEAP_BYTES (UINT64_C(8) << 30)
#define LONG_NS    (UINT64_C(1000000000) << 30)

enum { LINE = 2048, PENDING = 256, STATISTICS = 64 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

/* Pipelines without a name so far, a ring. */
static struct {
    VkPipeline pipeline;
    char line[LINE];
} pending[PENDING];
static uint32_t pending_count;

static const char *file_name(void)
{
    return getenv("ANYDML_LAYER_COMPILE");
}

bool compile_made_up(void)
{
    return file_name() && *file_name();
}

static PFN_vkGetPhysicalDeviceMemoryProperties2 next_memory;

void compile_open(PFN_vkGetInstanceProcAddr get, VkInstance instance)
{
    next_memory = (PFN_vkGetPhysicalDeviceMemoryProperties2)get(instance, "vkGetPhysicalDeviceMemoryProperties2");
}

/* A GPU that is not there has no memory: this is a discrete one's. */
static const VkPhysicalDeviceMemoryProperties memory_properties = {
    .memoryTypeCount = 3,
    .memoryTypes = { { VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0 },
                     { VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT, 1 },
                     { VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT |
                           VK_MEMORY_PROPERTY_HOST_CACHED_BIT,
                       1 } },
    .memoryHeapCount = 2,
    .memoryHeaps = { { HEAP_BYTES, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT }, { HEAP_BYTES, 0 } },
};

static VKAPI_ATTR void VKAPI_CALL get_memory(VkPhysicalDevice physical, VkPhysicalDeviceMemoryProperties2 *out)
{
    next_memory(physical, out);
    out->memoryProperties = memory_properties;
    VkBaseOutStructure *link = (VkBaseOutStructure *)out;
    while (link && link->sType != VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT)
        link = link->pNext;
    VkPhysicalDeviceMemoryBudgetPropertiesEXT *budget = (void *)link;
    for (uint32_t i = 0; budget && i < memory_properties.memoryHeapCount; i++)
        budget->heapBudget[i] = memory_properties.memoryHeaps[i].size;
}

static VKAPI_ATTR void VKAPI_CALL get_requirements(VkDevice device, VkBuffer buffer, VkMemoryRequirements *out)
{
    NEXT(vkGetBufferMemoryRequirements)(device, buffer, out);
    out->memoryTypeBits = (1u << memory_properties.memoryTypeCount) - 1;
}

void compile_take_features(VkDeviceCreateInfo *info, struct layer_compile_features *out)
{
    out->executables = (VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR){
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR, (void *)(uintptr_t)info->pNext,
        VK_TRUE
    };
    uint32_t count = 0;
    for (; count < info->enabledExtensionCount && count < LAYER_EXTENSIONS_MAX - 1; count++)
        out->names[count] = info->ppEnabledExtensionNames[count];
    out->names[count++] = VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME;
    info->pNext = &out->executables;
    info->enabledExtensionCount = count;
    info->ppEnabledExtensionNames = out->names;
}

/* ---- statistics ---- */

static void append(const char *name, const char *line)
{
    char whole[LINE + 256];
    int bytes = snprintf(whole, sizeof(whole), "%s%s\n", name, line);
    int file = open(file_name(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (file < 0 || write(file, whole, (size_t)bytes) != bytes) {
        perror(file_name());
        abort();
    }
    close(file);
}

static void add_statistic(char *line, const VkPipelineExecutableStatisticKHR *statistic)
{
    const size_t used = strlen(line);
    const VkPipelineExecutableStatisticValueKHR *value = &statistic->value;
    switch (statistic->format) {
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_BOOL32_KHR:
        snprintf(line + used, LINE - used, "\t%s=%u", statistic->name, value->b32);
        break;
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_FLOAT64_KHR:
        snprintf(line + used, LINE - used, "\t%s=%g", statistic->name, value->f64);
        break;
    default:
        snprintf(line + used, LINE - used, "\t%s=%llu", statistic->name, (unsigned long long)value->u64);
    }
}

static void describe(VkDevice device, VkPipeline pipeline, char *line)
{
    VkPipelineExecutableStatisticKHR statistics[STATISTICS];
    const VkPipelineExecutableInfoKHR info = { VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR, NULL, pipeline, 0 };
    uint32_t count = STATISTICS;
    memset(statistics, 0, sizeof(statistics));
    for (uint32_t i = 0; i < STATISTICS; i++)
        statistics[i].sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR;
    if (NEXT(vkGetPipelineExecutableStatisticsKHR)(device, &info, &count, statistics) < VK_SUCCESS)
        return;
    for (uint32_t i = 0; i < count; i++)
        add_statistic(line, &statistics[i]);
}

VkResult compile_create_pipelines(VkDevice device, VkPipelineCache cache, uint32_t count,
                                  const VkComputePipelineCreateInfo *infos, const VkAllocationCallbacks *allocator,
                                  VkPipeline *out)
{
    VkResult result = VK_SUCCESS;
    for (uint32_t i = 0; i < count && result == VK_SUCCESS; i++) {
        VkComputePipelineCreateInfo info = infos[i];
        char line[LINE] = "";
        info.flags |= VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR;
        result = NEXT(vkCreateComputePipelines)(device, cache, 1, &info, allocator, &out[i]);
        if (result != VK_SUCCESS) {
            snprintf(line, sizeof(line), "\tresult=%d", (int)result);
            append("?", line);
            break;
        }
        describe(device, out[i], line);
        pthread_mutex_lock(&lock);
        pending[pending_count % PENDING].pipeline = out[i];
        memcpy(pending[pending_count++ % PENDING].line, line, sizeof(line));
        pthread_mutex_unlock(&lock);
    }
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL set_name(VkDevice device, const VkDebugUtilsObjectNameInfoEXT *info)
{
    (void)device;
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; i < PENDING && info->objectType == VK_OBJECT_TYPE_PIPELINE; i++) {
        if (!pending[i].pipeline || (uint64_t)pending[i].pipeline != info->objectHandle)
            continue;
        append(info->pObjectName, pending[i].line);
        pending[i].pipeline = VK_NULL_HANDLE;
    }
    pthread_mutex_unlock(&lock);
    return VK_SUCCESS;
}

/* ---- timeline semaphores ---- */

struct timeline {
    uint64_t value; /* under the lock */
};

static VKAPI_ATTR VkResult VKAPI_CALL create_semaphore(VkDevice device, const VkSemaphoreCreateInfo *info,
                                                       const VkAllocationCallbacks *allocator, VkSemaphore *out)
{
    (void)device, (void)allocator;
    const VkSemaphoreTypeCreateInfo *type = info->pNext;
    struct timeline *timeline = calloc(1, sizeof(*timeline));
    if (!timeline)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    if (type && type->sType == VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO)
        timeline->value = type->initialValue;
    *out = (VkSemaphore)timeline;
    return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL destroy_semaphore(VkDevice device, VkSemaphore semaphore,
                                                    const VkAllocationCallbacks *allocator)
{
    (void)device, (void)allocator;
    free((struct timeline *)semaphore);
}

static void raise_to(VkSemaphore semaphore, uint64_t value)
{
    pthread_mutex_lock(&lock);
    ((struct timeline *)semaphore)->value = value;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static VKAPI_ATTR VkResult VKAPI_CALL get_counter(VkDevice device, VkSemaphore semaphore, uint64_t *out)
{
    (void)device;
    pthread_mutex_lock(&lock);
    *out = ((struct timeline *)semaphore)->value;
    pthread_mutex_unlock(&lock);
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL signal_semaphore(VkDevice device, const VkSemaphoreSignalInfo *info)
{
    (void)device;
    raise_to(info->semaphore, info->value);
    return VK_SUCCESS;
}

static bool reached(const VkSemaphoreWaitInfo *info)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < info->semaphoreCount; i++)
        count += ((struct timeline *)info->pSemaphores[i])->value >= info->pValues[i];
    return count == info->semaphoreCount || (count && info->flags & VK_SEMAPHORE_WAIT_ANY_BIT);
}

static VKAPI_ATTR VkResult VKAPI_CALL wait_semaphores(VkDevice device, const VkSemaphoreWaitInfo *info,
                                                      uint64_t timeout)
{
    (void)device;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    const uint64_t ns = (uint64_t)until.tv_nsec + (timeout < LONG_NS ? timeout : LONG_NS);
    until.tv_sec += (time_t)(ns / 1000000000);
    until.tv_nsec = (long)(ns % 1000000000);
    pthread_mutex_lock(&lock);
    int error = 0;
    while (!reached(info) && !error)
        error = pthread_cond_timedwait(&changed, &lock, &until);
    pthread_mutex_unlock(&lock);
    return error ? VK_TIMEOUT : VK_SUCCESS;
}

static const VkTimelineSemaphoreSubmitInfo *values_of(const void *chain)
{
    const VkBaseInStructure *link = chain;
    while (link && link->sType != VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO)
        link = link->pNext;
    return (const VkTimelineSemaphoreSubmitInfo *)(const void *)link;
}

static void complete(const void *chain, const VkSemaphore *semaphores, uint32_t count)
{
    const VkTimelineSemaphoreSubmitInfo *values = values_of(chain);
    for (uint32_t i = 0; values && i < count; i++)
        raise_to(semaphores[i], values->pSignalSemaphoreValues[i]);
}

static VKAPI_ATTR VkResult VKAPI_CALL submit(VkQueue queue, uint32_t count, const VkSubmitInfo *infos, VkFence fence)
{
    (void)queue, (void)fence;
    for (uint32_t i = 0; i < count; i++)
        complete(infos[i].pNext, infos[i].pSignalSemaphores, infos[i].signalSemaphoreCount);
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL bind_sparse(VkQueue queue, uint32_t count, const VkBindSparseInfo *infos,
                                                  VkFence fence)
{
    (void)queue, (void)fence;
    for (uint32_t i = 0; i < count; i++)
        complete(infos[i].pNext, infos[i].pSignalSemaphores, infos[i].signalSemaphoreCount);
    return VK_SUCCESS;
}

/* ---- the rest ---- */

/* Buffers have no addresses there; these are distinct, aligned and have 48 bits. */
static VKAPI_ATTR VkDeviceAddress VKAPI_CALL get_address(VkDevice device, const VkBufferDeviceAddressInfo *info)
{
    (void)device;
    return ((uint64_t)info->buffer & UINT32_MAX) << 16;
}

/* Functions for any arguments, which the caller passes and removes. */
static VKAPI_ATTR VkResult VKAPI_CALL succeed(void)
{
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL layer_GetQueryPoolResults(VkDevice device, VkQueryPool pool, uint32_t first,
                                                                uint32_t count, size_t size, void *data,
                                                                VkDeviceSize stride, VkQueryResultFlags flags)
{
    (void)device, (void)pool, (void)first, (void)count, (void)stride, (void)flags;
    memset(data, 0, size);
    return VK_SUCCESS;
}

static const struct layer_entry made_up[] = {
    ENTRY("vkGetPhysicalDeviceMemoryProperties2", get_memory),
    ENTRY("vkGetBufferMemoryRequirements", get_requirements),
    ENTRY("vkGetBufferDeviceAddress", get_address),
    ENTRY("vkSetDebugUtilsObjectNameEXT", set_name),
    ENTRY("vkCreateSemaphore", create_semaphore),
    ENTRY("vkDestroySemaphore", destroy_semaphore),
    ENTRY("vkGetSemaphoreCounterValue", get_counter),
    ENTRY("vkSignalSemaphore", signal_semaphore),
    ENTRY("vkWaitSemaphores", wait_semaphores),
    ENTRY("vkQueueSubmit", submit),
    ENTRY("vkQueueBindSparse", bind_sparse),
    ENTRY("vkDeviceWaitIdle", succeed),
    ENTRY("vkBeginCommandBuffer", succeed),
    ENTRY("vkEndCommandBuffer", succeed),
    ENTRY("vkResetCommandPool", succeed),
    ENTRY("vkFreeCommandBuffers", succeed),
    ENTRY("vkDestroyCommandPool", succeed),
    ENTRY("vkGetQueryPoolResults", layer_GetQueryPoolResults),
};

PFN_vkVoidFunction compile_find(const char *name)
{
    for (size_t i = 0; i < sizeof(made_up) / sizeof(*made_up); i++)
        if (!strcmp(made_up[i].name, name))
            return made_up[i].function;
    return strncmp(name, "vkCmd", 5) != 0 ? NULL : (PFN_vkVoidFunction)succeed;
}
