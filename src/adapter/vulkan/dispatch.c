/* SPDX-License-Identifier: Apache-2.0 */
/* What dispatches of libdirectml do while they are encoded. */
#include "adapter/vulkan/vulkan.h"

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
    vulkan_compute_barrier(((struct vulkan_encoder *)base)->commands);
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
