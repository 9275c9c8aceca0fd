/* SPDX-License-Identifier: Apache-2.0 */
/* A separate Vulkan program for tests of anydml_vulkan.h: instance, device and one queue, on the first device that
 * AnyDML can use. */
#ifndef TESTS_VULKAN_TEST_H
#define TESTS_VULKAN_TEST_H

#include "capture.h"
#include "dml_test.h"

#include <pthread.h>
#include <vulkan/vulkan.h>

#include <anydml_vulkan.h>

/* Drivers that an instance loads keep a little memory when they are unloaded, which cannot be attributed. */
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#else
#define __lsan_disable()
#define __lsan_enable()
#endif

#define vk_ok(call)                                                                                                    \
    do {                                                                                                               \
        VkResult result_ = (call);                                                                                     \
        if (result_ != VK_SUCCESS) {                                                                                   \
            fprintf(stderr, "%s:%d: cannot go on: %s gave %d\n", __FILE__, __LINE__, #call, (int)result_);             \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

struct app {
    VkInstance instance;
    VkPhysicalDevice physical;
    VkPhysicalDeviceMemoryProperties memory;
    VkDevice device;
    VkQueue queue;
    uint32_t family;
    VkCommandPool pool;
    bool has_fd;
    pthread_mutex_t lock;
    uint32_t locked; /* how often AnyDML took it */

    /* what the device was made with */
    VkPhysicalDeviceVulkan12Features v12;
    VkPhysicalDeviceVulkan11Features v11;
    VkPhysicalDeviceFeatures features;
    VkDeviceQueueCreateInfo queue_info;
    const char *extensions[1];
    VkDeviceCreateInfo info;
    struct anydml_vulkan_device desc;
};

static void STDMETHODCALLTYPE app_lock(void *context, VkQueue queue)
{
    struct app *app = context;
    pthread_mutex_lock(&app->lock);
    ok(queue == app->queue, "another queue is locked");
    app->locked++;
}

static void STDMETHODCALLTYPE app_unlock(void *context, VkQueue queue)
{
    (void)queue;
    pthread_mutex_unlock(&((struct app *)context)->lock);
}

static inline bool app_has_extension(const struct app *app, const char *name)
{
    static VkExtensionProperties list[512];
    uint32_t count = 512;
    if (vkEnumerateDeviceExtensionProperties(app->physical, NULL, &count, list) < VK_SUCCESS)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (!strcmp(list[i].extensionName, name))
            return true;
    return false;
}

/* The device's features among those that AnyDML uses. */
static inline bool app_features(struct app *app)
{
    VkPhysicalDeviceVulkan12Features v12 = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES };
    VkPhysicalDeviceVulkan11Features v11 = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES,
                                             .pNext = &v12 };
    VkPhysicalDeviceFeatures2 all = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &v11 };
    VkPhysicalDeviceProperties properties;
    vkGetPhysicalDeviceProperties(app->physical, &properties);
    if (properties.apiVersion < VK_API_VERSION_1_2)
        return false;
    vkGetPhysicalDeviceFeatures2(app->physical, &all);
    app->v12 = (VkPhysicalDeviceVulkan12Features){ .sType = v12.sType,
                                                   .bufferDeviceAddress = v12.bufferDeviceAddress,
                                                   .timelineSemaphore = v12.timelineSemaphore,
                                                   .uniformBufferStandardLayout = v12.uniformBufferStandardLayout,
                                                   .storageBuffer8BitAccess = v12.storageBuffer8BitAccess };
    app->v11 = (VkPhysicalDeviceVulkan11Features){ .sType = v11.sType,
                                                   .pNext = &app->v12,
                                                   .storageBuffer16BitAccess = v11.storageBuffer16BitAccess };
    app->features = (VkPhysicalDeviceFeatures){ .shaderInt64 = all.features.shaderInt64,
                                                .shaderFloat64 = all.features.shaderFloat64 };
    return v12.bufferDeviceAddress && v12.timelineSemaphore && v12.uniformBufferStandardLayout;
}

static inline bool app_family(struct app *app)
{
    VkQueueFamilyProperties families[16];
    uint32_t count = 16;
    vkGetPhysicalDeviceQueueFamilyProperties(app->physical, &count, families);
    for (app->family = 0; app->family < count; app->family++)
        if (families[app->family].queueFlags & VK_QUEUE_COMPUTE_BIT)
            return true;
    return false;
}

/* Exits with 77 if there is no device. */
static inline void app_find(struct app *app)
{
    VkApplicationInfo application = { .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_2 };
    VkInstanceCreateInfo info = { .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &application };
    VkPhysicalDevice physicals[16];
    uint32_t count = 16, at = 0;
    memset(app, 0, sizeof(*app));
    __lsan_disable();
    if (vkCreateInstance(&info, NULL, &app->instance) != VK_SUCCESS ||
        vkEnumeratePhysicalDevices(app->instance, &count, physicals) < VK_SUCCESS)
        count = 0;
    __lsan_enable();
    for (; at < count; at++) {
        app->physical = physicals[at];
        if (app_features(app) && app_family(app))
            break;
    }
    if (at == count) {
        fprintf(stderr, "no Vulkan device on this machine: skipped\n");
        exit(77);
    }
    vkGetPhysicalDeviceMemoryProperties(app->physical, &app->memory);
    app->has_fd = app_has_extension(app, VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME);
}

/* The device, with the contents of `features`, `v11` and `v12` from app_find and its caller. */
static inline void app_open(struct app *app)
{
    static const float priority = 1;
    app->queue_info = (VkDeviceQueueCreateInfo){ .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                                 .queueFamilyIndex = app->family,
                                                 .queueCount = 1,
                                                 .pQueuePriorities = &priority };
    app->extensions[0] = VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME;
    app->info = (VkDeviceCreateInfo){ .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                      .pNext = &app->v11,
                                      .queueCreateInfoCount = 1,
                                      .pQueueCreateInfos = &app->queue_info,
                                      .enabledExtensionCount = app->has_fd,
                                      .ppEnabledExtensionNames = app->extensions,
                                      .pEnabledFeatures = &app->features };
    vk_ok(vkCreateDevice(app->physical, &app->info, NULL, &app->device));
    vkGetDeviceQueue(app->device, app->family, 0, &app->queue);
    VkCommandPoolCreateInfo pool = { .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                     .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                     .queueFamilyIndex = app->family };
    vk_ok(vkCreateCommandPool(app->device, &pool, NULL, &app->pool));
    pthread_mutex_init(&app->lock, NULL);
    app->desc = (struct anydml_vulkan_device){
        .GetInstanceProcAddr = vkGetInstanceProcAddr,
        .Instance = app->instance,
        .ApiVersion = VK_API_VERSION_1_2,
        .PhysicalDevice = app->physical,
        .Device = app->device,
        .CreateInfo = &app->info,
        .QueueFamily = app->family,
        .QueueCount = 1,
        .Queues = &app->queue,
        .Lock = app_lock,
        .Unlock = app_unlock,
        .Context = app,
    };
}

static inline ID3D12Device *app_d3d(struct app *app)
{
    ID3D12Device *device = NULL;
    ok_hr(AnydmlVulkanCreateDevice(&app->desc, &IID_ID3D12Device, (void **)&device), S_OK);
    need(device);
    return device;
}

/* The application's objects work to the end, whatever was created over them and released. */
static inline void app_close(struct app *app)
{
    vk_ok(vkDeviceWaitIdle(app->device));
    vkDestroyCommandPool(app->device, app->pool, NULL);
    vkDestroyDevice(app->device, NULL);
    vkDestroyInstance(app->instance, NULL);
    pthread_mutex_destroy(&app->lock);
}

/* ---- the application's own work ---- */

static inline VkCommandBuffer app_begin(struct app *app)
{
    VkCommandBuffer commands;
    VkCommandBufferAllocateInfo info = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                         .commandPool = app->pool,
                                         .commandBufferCount = 1 };
    VkCommandBufferBeginInfo begin = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO };
    vk_ok(vkAllocateCommandBuffers(app->device, &info, &commands));
    vk_ok(vkBeginCommandBuffer(commands, &begin));
    return commands;
}

/* Everything before is complete and visible to everything after, including the host. */
static inline void app_barrier(VkCommandBuffer commands)
{
    VkMemoryBarrier all = { .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                            .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
                            .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT };
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                         VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &all, 0, NULL, 0, NULL);
}

static inline void app_submit(struct app *app, VkCommandBuffer commands)
{
    VkSubmitInfo info = { .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                          .commandBufferCount = commands ? 1 : 0,
                          .pCommandBuffers = &commands };
    pthread_mutex_lock(&app->lock);
    vk_ok(vkQueueSubmit(app->queue, 1, &info, VK_NULL_HANDLE));
    pthread_mutex_unlock(&app->lock);
}

/* Ends, submits, waits and frees. */
static inline void app_run(struct app *app, VkCommandBuffer commands)
{
    app_barrier(commands);
    vk_ok(vkEndCommandBuffer(commands));
    app_submit(app, commands);
    pthread_mutex_lock(&app->lock);
    vk_ok(vkQueueWaitIdle(app->queue));
    pthread_mutex_unlock(&app->lock);
    vkFreeCommandBuffers(app->device, app->pool, 1, &commands);
}

/* A buffer with memory of its own, mapped. */
struct app_buffer {
    VkBuffer buffer;
    VkDeviceMemory memory;
    VkDeviceSize allocated;
    uint32_t type;
    float *data;
};

static inline VkDeviceMemory app_allocate(struct app *app, uint32_t types, VkDeviceSize bytes, uint32_t *out_type)
{
    const VkMemoryPropertyFlags wanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    VkMemoryAllocateFlagsInfo flags = { .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                        .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT };
    VkMemoryAllocateInfo info = { .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                  .pNext = &flags,
                                  .allocationSize = bytes };
    VkDeviceMemory memory;
    while (!(types >> info.memoryTypeIndex & 1) ||
           (app->memory.memoryTypes[info.memoryTypeIndex].propertyFlags & wanted) != wanted)
        need(++info.memoryTypeIndex < app->memory.memoryTypeCount);
    vk_ok(vkAllocateMemory(app->device, &info, NULL, &memory));
    *out_type = info.memoryTypeIndex;
    return memory;
}

static inline struct app_buffer app_buffer(struct app *app, VkDeviceSize bytes)
{
    struct app_buffer out;
    VkBufferCreateInfo info = { .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                .size = bytes,
                                .usage = ANYDML_VULKAN_BUFFER_USAGE };
    VkMemoryRequirements needs;
    void *data;
    vk_ok(vkCreateBuffer(app->device, &info, NULL, &out.buffer));
    vkGetBufferMemoryRequirements(app->device, out.buffer, &needs);
    out.memory = app_allocate(app, needs.memoryTypeBits, needs.size, &out.type);
    out.allocated = needs.size;
    vk_ok(vkBindBufferMemory(app->device, out.buffer, out.memory, 0));
    vk_ok(vkMapMemory(app->device, out.memory, 0, VK_WHOLE_SIZE, 0, &data));
    out.data = data;
    return out;
}

static inline void app_buffer_free(struct app *app, struct app_buffer *buffer)
{
    vkDestroyBuffer(app->device, buffer->buffer, NULL);
    vkFreeMemory(app->device, buffer->memory, NULL);
}

/* A failure with its result, whose message has all three words: function, argument, and value or rule. */
#define ok_refusal(call, want, a, b, c)                                                                                \
    do {                                                                                                               \
        capture_begin();                                                                                               \
        HRESULT refused_ = (call);                                                                                     \
        const char *said_ = capture_text();                                                                            \
        ok(refused_ == (want), "%s: got 0x%08x, want 0x%08x: %s", #call, (unsigned)refused_, (unsigned)(want), said_); \
        ok(strstr(said_, a) && strstr(said_, b) && strstr(said_, c), "%s says: %s", #call, said_);                     \
    } while (0)

#endif
