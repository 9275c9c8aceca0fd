/* SPDX-License-Identifier: Apache-2.0 */
/* Plain Vulkan for vulkan_interop.c: an instance, buffers, a compute pipeline with push constants, submissions that
 * raise a timeline semaphore. Any failure ends the program, as in sample.h. */
#ifndef VULKAN_SAMPLE_H
#define VULKAN_SAMPLE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vulkan.h>

static void vulkan_check(VkResult result, const char *what)
{
    if (result >= VK_SUCCESS)
        return;
    fprintf(stderr, "%s: %d\n", what, (int)result);
    exit(1);
}
#define VK_CHECK(call) vulkan_check((call), #call)

struct vulkan {
    VkInstance instance;
    VkPhysicalDevice physical;
    VkDevice device;
    uint32_t family;
    VkQueue queue;
    VkCommandPool pool;
    VkCommandBuffer commands;
    VkSemaphore timeline;
};

/* The first family of the device that computes. */
static int vulkan_family(VkPhysicalDevice physical, uint32_t *out)
{
    VkQueueFamilyProperties families[16];
    uint32_t count = 16;
    vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, families);
    for (*out = 0; *out < count; ++*out)
        if (families[*out].queueFlags & VK_QUEUE_COMPUTE_BIT)
            return 1;
    return 0;
}

/* An instance of Vulkan 1.2 and the best device: a GPU before a CPU. Ends with 77, "skipped", without any. */
static struct vulkan vulkan_find(void)
{
    VkApplicationInfo application = { .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_2 };
    VkInstanceCreateInfo info = { .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &application };
    struct vulkan v = { 0 };
    VkPhysicalDevice all[16];
    uint32_t count = 16, family;
    int best = -1;
    if (vkCreateInstance(&info, NULL, &v.instance) != VK_SUCCESS ||
        vkEnumeratePhysicalDevices(v.instance, &count, all) < VK_SUCCESS)
        count = 0;
    for (uint32_t i = 0; i < count; i++) {
        VkPhysicalDeviceProperties properties;
        vkGetPhysicalDeviceProperties(all[i], &properties);
        const int rank = properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU ? 2
                         : properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU        ? 0
                                                                                       : 1;
        if (properties.apiVersion < VK_API_VERSION_1_2 || rank <= best || !vulkan_family(all[i], &family))
            continue;
        best = rank;
        v.physical = all[i];
        v.family = family;
    }
    if (v.physical)
        return v;
    fprintf(stderr, "no device supports Vulkan 1.2\n");
    exit(77);
}

/* After vkCreateDevice: its queue, a command buffer and a timeline semaphore at 0. */
static void vulkan_begin(struct vulkan *v)
{
    vkGetDeviceQueue(v->device, v->family, 0, &v->queue);
    VkCommandPoolCreateInfo pool = { .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                     .queueFamilyIndex = v->family };
    VK_CHECK(vkCreateCommandPool(v->device, &pool, NULL, &v->pool));
    VkCommandBufferAllocateInfo buffer = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                           .commandPool = v->pool,
                                           .commandBufferCount = 1 };
    VK_CHECK(vkAllocateCommandBuffers(v->device, &buffer, &v->commands));
    VkSemaphoreTypeCreateInfo type = { .sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                       .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE };
    VkSemaphoreCreateInfo semaphore = { .sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type };
    VK_CHECK(vkCreateSemaphore(v->device, &semaphore, NULL, &v->timeline));
}

static void vulkan_end(struct vulkan *v)
{
    vkDestroySemaphore(v->device, v->timeline, NULL);
    vkDestroyCommandPool(v->device, v->pool, NULL);
    vkDestroyDevice(v->device, NULL);
    vkDestroyInstance(v->instance, NULL);
}

/* ---- buffers ---- */

struct vulkan_buffer {
    VkBuffer buffer;
    VkDeviceMemory memory;
    float *data; /* NULL: device memory */
};

static struct vulkan_buffer vulkan_buffer(struct vulkan *v, VkDeviceSize bytes, VkBufferUsageFlags usage, int mapped)
{
    const VkMemoryPropertyFlags wanted =
        mapped ? VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT
               : VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
    VkBufferCreateInfo info = { .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = bytes, .usage = usage };
    VkMemoryAllocateFlagsInfo flags = { .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                        .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT };
    VkMemoryAllocateInfo allocate = { .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .pNext = &flags };
    VkPhysicalDeviceMemoryProperties types;
    VkMemoryRequirements needs;
    struct vulkan_buffer out = { 0 };
    void *data = NULL;
    VK_CHECK(vkCreateBuffer(v->device, &info, NULL, &out.buffer));
    vkGetBufferMemoryRequirements(v->device, out.buffer, &needs);
    vkGetPhysicalDeviceMemoryProperties(v->physical, &types);
    while (!(needs.memoryTypeBits >> allocate.memoryTypeIndex & 1) ||
           (types.memoryTypes[allocate.memoryTypeIndex].propertyFlags & wanted) != wanted)
        if (++allocate.memoryTypeIndex == types.memoryTypeCount)
            vulkan_check(VK_ERROR_FEATURE_NOT_PRESENT, "a memory type for a buffer");
    allocate.allocationSize = needs.size;
    VK_CHECK(vkAllocateMemory(v->device, &allocate, NULL, &out.memory));
    VK_CHECK(vkBindBufferMemory(v->device, out.buffer, out.memory, 0));
    if (mapped)
        VK_CHECK(vkMapMemory(v->device, out.memory, 0, VK_WHOLE_SIZE, 0, &data));
    out.data = data;
    return out;
}

static void vulkan_buffer_free(struct vulkan *v, struct vulkan_buffer *buffer)
{
    vkDestroyBuffer(v->device, buffer->buffer, NULL);
    vkFreeMemory(v->device, buffer->memory, NULL);
}

/* ---- a compute pipeline whose arguments are push constants ---- */

struct vulkan_pipeline {
    VkPipelineLayout layout;
    VkPipeline handle;
};

static struct vulkan_pipeline vulkan_pipeline(struct vulkan *v, const uint32_t *spirv, size_t bytes, uint32_t arguments)
{
    VkPushConstantRange range = { VK_SHADER_STAGE_COMPUTE_BIT, 0, arguments };
    VkPipelineLayoutCreateInfo layout = { .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                          .pushConstantRangeCount = 1,
                                          .pPushConstantRanges = &range };
    VkShaderModuleCreateInfo code = { .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                      .codeSize = bytes,
                                      .pCode = spirv };
    VkComputePipelineCreateInfo info = { .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
                                         .stage = { .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                    .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                                                    .pName = "main" } };
    struct vulkan_pipeline out;
    VK_CHECK(vkCreatePipelineLayout(v->device, &layout, NULL, &out.layout));
    VK_CHECK(vkCreateShaderModule(v->device, &code, NULL, &info.stage.module));
    info.layout = out.layout;
    VK_CHECK(vkCreateComputePipelines(v->device, VK_NULL_HANDLE, 1, &info, NULL, &out.handle));
    vkDestroyShaderModule(v->device, info.stage.module, NULL);
    return out;
}

static void vulkan_pipeline_free(struct vulkan *v, struct vulkan_pipeline *pipeline)
{
    vkDestroyPipeline(v->device, pipeline->handle, NULL);
    vkDestroyPipelineLayout(v->device, pipeline->layout, NULL);
}

/* ---- commands ---- */

static void vulkan_record(struct vulkan *v)
{
    VkCommandBufferBeginInfo begin = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                       .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT };
    VK_CHECK(vkResetCommandPool(v->device, v->pool, 0));
    VK_CHECK(vkBeginCommandBuffer(v->commands, &begin));
}

/* Makes writes at `from` visible to accesses at `to`. */
static void vulkan_barrier(struct vulkan *v, VkPipelineStageFlags from, VkAccessFlags writes, VkPipelineStageFlags to,
                           VkAccessFlags uses)
{
    VkMemoryBarrier barrier = { VK_STRUCTURE_TYPE_MEMORY_BARRIER, NULL, writes, uses };
    vkCmdPipelineBarrier(v->commands, from, to, 0, 1, &barrier, 0, NULL, 0, NULL);
}

/* Raises the timeline to `value` at its end. */
static void vulkan_submit(struct vulkan *v, uint64_t value)
{
    VkTimelineSemaphoreSubmitInfo values = { .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                             .signalSemaphoreValueCount = 1,
                                             .pSignalSemaphoreValues = &value };
    VkSubmitInfo info = { .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                          .pNext = &values,
                          .commandBufferCount = 1,
                          .pCommandBuffers = &v->commands,
                          .signalSemaphoreCount = 1,
                          .pSignalSemaphores = &v->timeline };
    VK_CHECK(vkEndCommandBuffer(v->commands));
    VK_CHECK(vkQueueSubmit(v->queue, 1, &info, VK_NULL_HANDLE));
}

#endif
