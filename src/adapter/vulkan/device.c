/* SPDX-License-Identifier: Apache-2.0 */
#include "adapter/vulkan/sparse.h"

#include "base/log.h"
#include "base/os.h"
#include "shaders/shader.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- enumeration ---- */

static bool shares_memory(const struct vulkan_physical *physical)
{
    VkPhysicalDeviceType type = physical->properties.deviceType;
    return type == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU || type == VK_PHYSICAL_DEVICE_TYPE_CPU;
}

static void describe_memory(const struct vulkan_physical *physical, struct adapter_info *out)
{
    for (uint32_t i = 0; i < physical->memory.memoryHeapCount; i++) {
        const VkMemoryHeap *heap = &physical->memory.memoryHeaps[i];
        if ((heap->flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) && !shares_memory(physical))
            out->dedicated_memory += heap->size;
        else
            out->shared_memory += heap->size;
    }
    out->uma = shares_memory(physical);
    out->cache_coherent_uma = out->uma;
    out->integrated = out->uma;
}

static uint64_t version_words(const VkPhysicalDeviceProperties *properties)
{
    uint32_t v = properties->driverVersion;
    if (properties->vendorID == 0x10de) /* NVIDIA packs 10.8.8.6 bits */
        return (uint64_t)(v >> 22) << 48 | (uint64_t)(v >> 14 & 255) << 32 | (v >> 6 & 255) << 16 | (v & 63);
    return (uint64_t)VK_API_VERSION_MAJOR(v) << 48 | (uint64_t)VK_API_VERSION_MINOR(v) << 32 |
           (uint64_t)VK_API_VERSION_PATCH(v) << 16;
}

/* Programs skip software; ANYDML_VULKAN_HARDWARE=1 lets them be tested with it. */
static bool all_count_as_hardware(void)
{
    const char *all = getenv("ANYDML_VULKAN_HARDWARE");
    return all && !strcmp(all, "1");
}

/* Without a GPU, all that drivers could offer is a slower CPU. */
static bool hardware_likely(void)
{
    return all_count_as_hardware() || base_gpu_likely();
}

void vulkan_describe(const struct vulkan_physical *physical, uint32_t index, struct adapter_info *out)
{
    const VkPhysicalDeviceProperties *properties = &physical->properties;
    float period = properties->limits.timestampPeriod;
    memset(out, 0, sizeof(*out));
    out->index = index;
    out->kind = ADAPTER_SPIRV;
    snprintf(out->name, sizeof(out->name), "%s", properties->deviceName);
    out->vendor_id = properties->vendorID;
    out->device_id = properties->deviceID;
    out->driver_version = version_words(properties);
    memcpy(out->driver_uuid, physical->driver_uuid, sizeof(out->driver_uuid));
    describe_memory(physical, out);
    out->shader_capabilities = physical->capabilities;
    out->multiprocessors = physical->multiprocessors;
    /* Some drivers' addresses need room to be aligned. */
    out->allocation_bytes_max = vulkan_memory_single(physical) - VULKAN_ALIGNMENT;
    out->memory_bytes_max = vulkan_memory_most(physical, ADAPTER_MEMORY_DEVICE) - VULKAN_ALIGNMENT;
    out->is_gpu = properties->deviceType == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU ||
                  properties->deviceType == VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU ||
                  properties->deviceType == VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU;
    out->hardware = properties->deviceType != VK_PHYSICAL_DEVICE_TYPE_CPU || all_count_as_hardware();
    out->timestamp_frequency = period > 0 ? (uint64_t)(1e9 / (double)period + 0.5) : 1000000000u;
}

static uint32_t vulkan_enumerate(struct adapter_info *out, uint32_t capacity)
{
    const struct vulkan_physical *physicals;
    uint32_t count = vulkan_physicals(&physicals);
    for (uint32_t i = 0; i < count && i < capacity; i++)
        vulkan_describe(&physicals[i], i, &out[i]);
    return count;
}

/* ---- the device ---- */

static VkBool32 has(const struct vulkan_physical *physical, enum shader_capability capability)
{
    return physical->capabilities & capability ? VK_TRUE : VK_FALSE;
}

#define EXTENSIONS_MAX 6

static uint32_t list_extensions(const struct vulkan_physical *physical, const char **out)
{
    uint32_t count = 0;
    if (physical->budget)
        out[count++] = VK_EXT_MEMORY_BUDGET_EXTENSION_NAME;
    if (physical->external_fd)
        out[count++] = VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME;
    if (has(physical, SHADER_CAPABILITY_DOT))
        out[count++] = VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME;
    if (has(physical, SHADER_CAPABILITY_COOP))
        out[count++] = "VK_KHR_cooperative_matrix";
    if (has(physical, SHADER_CAPABILITY_COOP_BFLOAT16))
        out[count++] = "VK_KHR_shader_bfloat16";
    if (has(physical, SHADER_CAPABILITY_META))
        out[count++] = VK_NVX_BINARY_IMPORT_EXTENSION_NAME;
    return count;
}

static HRESULT open_device(struct adapter_device *device)
{
    const struct vulkan_physical *physical = device->physical;
    const float priorities[VULKAN_QUEUES_MAX] = { 1, 1, 1, 1 };
    VkDeviceQueueCreateInfo queues[VULKAN_ROLES];
    uint32_t family_count = 0;
    const char *extensions[EXTENSIONS_MAX];
    const uint32_t extension_count = list_extensions(physical, extensions);
    for (uint32_t role = 0; role < VULKAN_ROLES; role++)
        if (device->queues[role].count)
            queues[family_count++] = (VkDeviceQueueCreateInfo){ .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                                                .queueFamilyIndex = physical->families[role].index,
                                                                .queueCount = device->queues[role].count,
                                                                .pQueuePriorities = priorities };
    struct vulkan_bfloat16_features bfloat16 = { VULKAN_STRUCTURE_BFLOAT16_FEATURES, NULL, VK_TRUE, VK_FALSE, VK_TRUE };
    struct vulkan_matrix_features matrix = { VULKAN_STRUCTURE_MATRIX_FEATURES, NULL, VK_TRUE, VK_FALSE };
    VkPhysicalDeviceShaderIntegerDotProductFeatures dots = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES,
        .shaderIntegerDotProduct = VK_TRUE,
    };
    if (has(physical, SHADER_CAPABILITY_COOP_BFLOAT16))
        matrix.next = &bfloat16;
    if (has(physical, SHADER_CAPABILITY_COOP))
        dots.pNext = &matrix;
    VkPhysicalDeviceVulkan12Features v12 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
        .pNext = has(physical, SHADER_CAPABILITY_DOT) ? (void *)&dots : dots.pNext,
        .shaderFloat16 = has(physical, SHADER_CAPABILITY_COOP),
        .vulkanMemoryModel = has(physical, SHADER_CAPABILITY_COOP),
        .vulkanMemoryModelDeviceScope = has(physical, SHADER_CAPABILITY_COOP),
        .bufferDeviceAddress = VK_TRUE,
        .timelineSemaphore = VK_TRUE,
        .uniformBufferStandardLayout = VK_TRUE,
        .storageBuffer8BitAccess = has(physical, SHADER_CAPABILITY_STORAGE),
    };
    VkPhysicalDeviceVulkan11Features v11 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES,
        .pNext = &v12,
        .storageBuffer16BitAccess = has(physical, SHADER_CAPABILITY_STORAGE),
    };
    VkPhysicalDeviceFeatures features = { .shaderInt64 = has(physical, SHADER_CAPABILITY_INT64),
                                          .shaderFloat64 = has(physical, SHADER_CAPABILITY_FLOAT64),
                                          .sparseBinding = physical->sparse_bytes_max > 0 };
    VkDeviceCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
        .pNext = &v11,
        .queueCreateInfoCount = family_count,
        .pQueueCreateInfos = queues,
        .enabledExtensionCount = extension_count,
        .ppEnabledExtensionNames = extensions,
        .pEnabledFeatures = &features,
    };
    return vulkan_hresult(vk.vkCreateDevice(physical->handle, &info, NULL, &device->handle));
}

/* An application's device has its own. */
static void find_queues(struct adapter_device *device)
{
    for (uint32_t role = 0; role < VULKAN_ROLES; role++) {
        struct vulkan_queues *queues = &device->queues[role];
        const uint32_t family = device->physical->families[role].index;
        if (queues->count)
            device->families[device->family_count++] = family;
        for (uint32_t i = 0; i < queues->count; i++) {
            queues->slots[i].role = (enum vulkan_role)role;
            if (!queues->slots[i].handle)
                vk.vkGetDeviceQueue(device->handle, family, i, &queues->slots[i].handle);
        }
    }
}

/* Set 0: the dispatch's parameters; set 1: the table. */
static HRESULT create_layout(struct adapter_device *device)
{
    const VkDescriptorSetLayoutBinding binding = { .descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC,
                                                   .descriptorCount = 1,
                                                   .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT };
    const VkDescriptorSetLayoutCreateInfo set = { .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                                  .bindingCount = 1,
                                                  .pBindings = &binding };
    HRESULT hr = vulkan_hresult(vk.vkCreateDescriptorSetLayout(device->handle, &set, NULL, &device->uniform));
    if (FAILED(hr))
        return hr;
    const VkDescriptorSetLayout sets[] = { device->uniform, device->uniform };
    VkPushConstantRange range = { .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT, .size = VULKAN_PUSH_BYTES };
    VkPipelineLayoutCreateInfo layout = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
        .setLayoutCount = ARRAY_SIZE(sets),
        .pSetLayouts = sets,
        .pushConstantRangeCount = 1,
        .pPushConstantRanges = &range,
    };
    return vulkan_hresult(vk.vkCreatePipelineLayout(device->handle, &layout, NULL, &device->layout));
}

void vulkan_device_destroy(struct adapter_device *device)
{
    const bool adopted = device->adopted; /* the application's other work is not waited for: ours is complete */
    if (device->handle) {
        if (!adopted)
            vk.vkDeviceWaitIdle(device->handle);
        vulkan_pipelines_finish(device);
        for (uint32_t role = 0; role < VULKAN_ROLES; role++)
            vk.vkDestroyCommandPool(device->handle, device->replays.pools[role], NULL);
        vulkan_own_destroy(device);
        vulkan_slots_finish(device);
        vulkan_arena_finish(device);
        vk.vkDestroyPipelineLayout(device->handle, device->layout, NULL);
        vk.vkDestroyDescriptorSetLayout(device->handle, device->uniform, NULL);
        if (!adopted)
            vk.vkDestroyDevice(device->handle, NULL);
    }
    for (uint32_t i = 0; i < VULKAN_ROLES * VULKAN_QUEUES_MAX; i++)
        pthread_mutex_destroy(&device->queues[i / VULKAN_QUEUES_MAX].slots[i % VULKAN_QUEUES_MAX].lock);
    pthread_mutex_destroy(&device->pipelines.lock);
    pthread_mutex_destroy(&device->pipelines.saving);
    base_condition_destroy(&device->pipelines.built);
    pthread_mutex_destroy(&device->own.lock);
    pthread_mutex_destroy(&device->binds.lock);
    pthread_mutex_destroy(&device->arena.lock);
    pthread_mutex_destroy(&device->slots.lock);
    pthread_mutex_destroy(&device->replays.lock);
    if (adopted)
        vulkan_loader_return();
    free(device->adopted);
    free(device);
}

HRESULT vulkan_device_start(struct adapter_device *device)
{
    vulkan_pipelines_start(device);
    pthread_mutex_init(&device->own.lock, NULL);
    pthread_mutex_init(&device->binds.lock, NULL);
    pthread_mutex_init(&device->arena.lock, NULL);
    pthread_mutex_init(&device->slots.lock, NULL);
    pthread_mutex_init(&device->replays.lock, NULL);
    for (uint32_t i = 0; i < VULKAN_ROLES * VULKAN_QUEUES_MAX; i++)
        pthread_mutex_init(&device->queues[i / VULKAN_QUEUES_MAX].slots[i % VULKAN_QUEUES_MAX].lock, NULL);
    HRESULT hr = device->handle ? S_OK : open_device(device);
    if (SUCCEEDED(hr))
        find_queues(device);
    device->watchdog_ns = vulkan_watchdog_ns(device->physical);
    if (SUCCEEDED(hr) && device->physical->external_fd)
        device->get_memory_fd = (PFN_vkGetMemoryFdKHR)vk.vkGetDeviceProcAddr(device->handle, "vkGetMemoryFdKHR");
    if (SUCCEEDED(hr) && !device->adopted)
        device->set_name =
            (PFN_vkSetDebugUtilsObjectNameEXT)vk.vkGetDeviceProcAddr(device->handle, "vkSetDebugUtilsObjectNameEXT");
    if (SUCCEEDED(hr) && has(device->physical, SHADER_CAPABILITY_META))
        vulkan_kernels_open(device);
    if (SUCCEEDED(hr))
        hr = create_layout(device);
    if (SUCCEEDED(hr))
        hr = vulkan_cache_create(device);
    if (SUCCEEDED(hr))
        hr = vulkan_own_create(device);
    for (uint32_t role = 0; SUCCEEDED(hr) && role < VULKAN_ROLE_COPY; role++)
        if (device->queues[role].count)
            hr = vulkan_command_pool_create(device, device->physical->families[role].index,
                                            &device->replays.pools[role]);
    return hr;
}

static HRESULT vulkan_device_create(const struct adapter_info *info, struct adapter_device **out)
{
    const struct vulkan_physical *physicals;
    uint32_t count = vulkan_physicals(&physicals);
    *out = NULL;
    if (info->index >= count)
        return E_INVALIDARG;
    if (!vulkan_physical_open(info->index)) {
        base_log(BASE_LOG_ERROR, "vulkan: the driver no longer reports \"%s\"", info->name);
        return DXGI_ERROR_UNSUPPORTED;
    }
    struct adapter_device *device = calloc(1, sizeof(*device));
    if (!device)
        return E_OUTOFMEMORY;
    device->physical = &physicals[info->index];
    for (uint32_t role = 0; role < VULKAN_ROLES; role++)
        device->queues[role].count = BASE_MIN(device->physical->families[role].queues, VULKAN_QUEUES_MAX);
    HRESULT hr = vulkan_device_start(device);
    if (FAILED(hr))
        vulkan_device_destroy(device);
    else
        *out = device;
    return hr;
}

/* The largest heap of device memory, or of other memory; if there is none, the largest. */
static uint32_t find_heap(const VkPhysicalDeviceMemoryProperties *memory, bool local)
{
    uint32_t best = 0;
    bool fits_before = false;
    for (uint32_t i = 0; i < memory->memoryHeapCount; i++) {
        const bool fits = !(memory->memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) == !local;
        const bool larger = memory->memoryHeaps[i].size > memory->memoryHeaps[best].size;
        if (fits > fits_before || (fits == fits_before && larger))
            best = i;
        fits_before |= fits;
    }
    return best;
}

/* VK_EXT_memory_budget's, of an open physical device. */
static void heap_budget(const struct vulkan_physical *physical, uint32_t heap, uint64_t *out_budget,
                        uint64_t *out_usage)
{
    VkPhysicalDeviceMemoryBudgetPropertiesEXT budget = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT,
    };
    VkPhysicalDeviceMemoryProperties2 properties = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2,
                                                     .pNext = &budget };
    vk.vkGetPhysicalDeviceMemoryProperties2(physical->handle, &properties);
    /* Drivers report more than the heap has (Intel: llama.cpp#29277; RADV: VulkanMemoryAllocator#157). */
    const uint64_t size = physical->memory.memoryHeaps[heap].size;
    *out_budget = budget.heapBudget[heap] ? BASE_MIN(budget.heapBudget[heap], size) : size;
    *out_usage = budget.heapUsage[heap];
}

/* Without VK_EXT_memory_budget, the usage by other libraries of the process is unknown. */
static void vulkan_memory_budget(const struct adapter_info *info, bool local, uint64_t *out_budget, uint64_t *out_usage)
{
    const struct vulkan_physical *physicals;
    vulkan_physicals(&physicals);
    const struct vulkan_physical *physical = &physicals[info->index];
    const uint32_t heap = find_heap(&physical->memory, local);
    *out_budget = physical->memory.memoryHeaps[heap].size;
    *out_usage = 0;
    if (physical->budget && vulkan_physical_open(info->index))
        heap_budget(physical, heap, out_budget, out_usage);
}

uint64_t vulkan_memory_free(struct adapter_device *device, bool local, uint64_t *out_total)
{
    const struct vulkan_physical *physical = device->physical;
    const uint32_t heap = find_heap(&physical->memory, local);
    uint64_t budget = physical->memory.memoryHeaps[heap].size, usage = atomic_load(&device->used[heap]);
    *out_total = budget;
    if (physical->budget)
        heap_budget(physical, heap, &budget, &usage);
    return budget - BASE_MIN(usage, budget);
}

const struct adapter_ops adapter_vulkan_ops = {
    .name = "vulkan",
    .hardware = hardware_likely,
    .enumerate = vulkan_enumerate,
    .device_create = vulkan_device_create,
    .device_destroy = vulkan_device_destroy,
    .memory_budget = vulkan_memory_budget,
    .memory_create = vulkan_memory_create,
    .memory_destroy = vulkan_memory_destroy,
    .memory_explain = vulkan_memory_explain,
    .memory_write = vulkan_memory_write,
    .queue_create = vulkan_queue_create,
    .queue_destroy = vulkan_queue_destroy,
    .queue_submit = vulkan_queue_submit,
    .queue_finish = vulkan_queue_finish,
    .queue_point = vulkan_queue_point,
    .point_release = vulkan_point_release,
    .queue_wait = vulkan_queue_wait,
    .queue_settle = vulkan_queue_settle,
    .queries_create = vulkan_queries_create,
    .queries_destroy = vulkan_queries_destroy,
    .pipelines_create = vulkan_pipelines_create,
    .kernel_test = vulkan_kernel_test,
    .sequence_create = vulkan_sequence_create,
    .sequence_destroy = vulkan_sequence_destroy,
};
