/* Compute pipelines, and what dispatches of libdirectml do while they are encoded. */
#include "adapter/vulkan/vulkan.h"

#include "base/log.h"

#include <stdlib.h>

#define SPECIALIZATION_MAX 16

struct adapter_pipeline {
    VkPipeline handle;
};

struct vulkan_encoder {
    struct adapter_encoder base;
    struct adapter_device *device;
    VkCommandBuffer commands;
    struct adapter_pipeline *bound;
};

static void encoder_dispatch(struct adapter_encoder *base, struct adapter_pipeline *pipeline, const void *push_data,
                             uint32_t push_bytes, uint32_t x, uint32_t y, uint32_t z)
{
    struct vulkan_encoder *encoder = (struct vulkan_encoder *)base;
    if (encoder->bound != pipeline)
        vk.vkCmdBindPipeline(encoder->commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline->handle);
    encoder->bound = pipeline;
    if (push_bytes)
        vk.vkCmdPushConstants(encoder->commands, encoder->device->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                              BASE_MIN(push_bytes, encoder->device->push_bytes), push_data);
    vk.vkCmdDispatch(encoder->commands, x, y, z);
}

static void encoder_copy(struct adapter_encoder *base, const struct adapter_binding *to,
                         const struct adapter_binding *from, uint64_t bytes)
{
    vulkan_copy(((struct vulkan_encoder *)base)->commands, to, from, bytes);
}

static void encoder_barrier(struct adapter_encoder *base)
{
    vulkan_barrier(((struct vulkan_encoder *)base)->commands);
}

HRESULT vulkan_dispatch_record(struct adapter_device *device, VkCommandBuffer commands,
                               struct adapter_dispatch *dispatch, const struct adapter_binding *bindings,
                               uint32_t count)
{
    struct vulkan_encoder encoder = {
        .base = { encoder_dispatch, encoder_copy, encoder_barrier },
        .device = device,
        .commands = commands,
    };
    return dispatch->ops->encode(dispatch, bindings, count, &encoder.base);
}

/* The capabilities that are optional features of devices: a shader that declares one the device lacks is refused here,
 * and the caller may try another variant. */
static bool capable(const struct vulkan_physical *physical, const uint32_t *spirv, size_t words)
{
    enum { OP_CAPABILITY = 17, CAPABILITY_FLOAT64 = 10, CAPABILITY_INT64 = 11, HEADER_WORDS = 5 };
    for (size_t at = HEADER_WORDS; at + 1 < words && (spirv[at] & 0xffff) == OP_CAPABILITY; at += spirv[at] >> 16) {
        if ((spirv[at + 1] == CAPABILITY_FLOAT64 && !physical->float64) ||
            (spirv[at + 1] == CAPABILITY_INT64 && !physical->int64))
            return false;
        if (!(spirv[at] >> 16))
            return false;
    }
    return true;
}

HRESULT vulkan_pipeline_create(struct adapter_device *device, const uint32_t *spirv, size_t spirv_bytes,
                               const uint32_t *specialization, uint32_t specialization_count,
                               struct adapter_pipeline **out)
{
    VkSpecializationMapEntry entries[SPECIALIZATION_MAX];
    VkShaderModule module = VK_NULL_HANDLE;
    *out = NULL;
    if (specialization_count > SPECIALIZATION_MAX)
        return E_INVALIDARG;
    if (!capable(device->physical, spirv, spirv_bytes / 4))
        return DXGI_ERROR_UNSUPPORTED;
    struct adapter_pipeline *pipeline = calloc(1, sizeof(*pipeline));
    if (!pipeline)
        return E_OUTOFMEMORY;
    for (uint32_t i = 0; i < specialization_count; i++)
        entries[i] = (VkSpecializationMapEntry){ i, i * 4, 4 };
    VkSpecializationInfo constants = { specialization_count, entries, specialization_count * 4u, specialization };
    VkShaderModuleCreateInfo code = { .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                      .codeSize = spirv_bytes,
                                      .pCode = spirv };
    VkResult result = vk.vkCreateShaderModule(device->handle, &code, NULL, &module);
    VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = { .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                   .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                   .module = module,
                   .pName = "main",
                   .pSpecializationInfo = &constants },
        .layout = device->layout,
    };
    if (result == VK_SUCCESS)
        result = vk.vkCreateComputePipelines(device->handle, device->cache, 1, &info, NULL, &pipeline->handle);
    vk.vkDestroyShaderModule(device->handle, module, NULL);
    if (result == VK_SUCCESS)
        *out = pipeline;
    else
        free(pipeline);
    return vulkan_hresult(result);
}

void vulkan_pipeline_destroy(struct adapter_device *device, struct adapter_pipeline *pipeline)
{
    vk.vkDestroyPipeline(device->handle, pipeline->handle, NULL);
    free(pipeline);
}
