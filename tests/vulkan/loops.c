/* SPDX-License-Identifier: Apache-2.0 */
/* Loops over tensors, with LOADS_UNASKED (shaders/core/memory.glsl): lavapipe 26.1 executes their bodies once more with
 * no invocation active, and what they would find then are numbers and addresses outside of every buffer. */
#include "api/vulkan_test.h"

#include "loops_spirv.h"

enum { ELEMENTS = 77, NUMBERS = 3, BLOCK = 0, TABLE = 1024, VALUES = 2048, RESULT = 4096, BYTES = 8192 };

struct push {
    uint64_t block, table;
    uint32_t groups;
};

static VkPipeline pipeline_of(struct app *app, VkPipelineLayout layout)
{
    static const uint32_t unasked = VK_TRUE;
    static const VkSpecializationMapEntry entry = { 18, 0, sizeof(unasked) };
    const VkSpecializationInfo constants = { 1, &entry, sizeof(unasked), &unasked };
    const VkShaderModuleCreateInfo code = { .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                            .codeSize = sizeof(loops_spirv),
                                            .pCode = loops_spirv };
    VkShaderModule module;
    vk_ok(vkCreateShaderModule(app->device, &code, NULL, &module));
    const VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = { .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                   .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                   .module = module,
                   .pName = "main",
                   .pSpecializationInfo = &constants },
        .layout = layout,
    };
    VkPipeline pipeline;
    vk_ok(vkCreateComputePipelines(app->device, VK_NULL_HANDLE, 1, &info, NULL, &pipeline));
    vkDestroyShaderModule(app->device, module, NULL);
    return pipeline;
}

/* Everything that is not one of these is larger than any number or address. */
static void fill(char *data, uint64_t address)
{
    uint32_t *block = (uint32_t *)(data + BLOCK);
    uint64_t *table = (uint64_t *)(data + TABLE);
    memset(data, 0x7f, BYTES);
    block[0] = ELEMENTS;
    block[1] = NUMBERS;
    table[0] = address + RESULT;
    for (uint32_t i = 0; i < NUMBERS; i++) {
        block[2 + i] = 1 + i;
        table[1 + i] = address + VALUES + 4 * i;
        ((uint32_t *)(data + VALUES))[i] = 1000 * (i + 1);
    }
}

static void run(struct app *app, struct app_buffer *buffer)
{
    const VkBufferDeviceAddressInfo where = { .sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                              .buffer = buffer->buffer };
    const uint64_t address = vkGetBufferDeviceAddress(app->device, &where);
    const struct push push = { address + BLOCK, address + TABLE, 1 };
    const VkPushConstantRange range = { VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(push) };
    const VkPipelineLayoutCreateInfo info = { .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                              .pushConstantRangeCount = 1,
                                              .pPushConstantRanges = &range };
    VkPipelineLayout layout;
    vk_ok(vkCreatePipelineLayout(app->device, &info, NULL, &layout));
    VkPipeline pipeline = pipeline_of(app, layout);
    fill((char *)buffer->data, address);
    VkCommandBuffer commands = app_begin(app);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    vkCmdPushConstants(commands, layout, range.stageFlags, 0, sizeof(push), &push);
    vkCmdDispatch(commands, push.groups, 1, 1);
    app_run(app, commands);
    vkDestroyPipeline(app->device, pipeline, NULL);
    vkDestroyPipelineLayout(app->device, layout, NULL);
}

int main(void)
{
    struct app app;
    api_begin();
    app_find(&app);
    app_open(&app);
    struct app_buffer buffer = app_buffer(&app, BYTES);
    run(&app, &buffer);
    const uint32_t *result = (uint32_t *)((char *)buffer.data + RESULT), sum = NUMBERS * (NUMBERS + 1) / 2 * 1000;
    for (uint32_t i = 0; i < ELEMENTS; i++)
        ok(result[i] == 2 * sum + i, "element %u is %u", i, result[i]);
    app_buffer_free(&app, &buffer);
    app_close(&app);
    return api_end();
}
