/* SPDX-License-Identifier: Apache-2.0 */
/* Compute pipelines, and what dispatches of libdirectml do while they are encoded. */
#include "adapter/vulkan/vulkan.h"

#include <stdlib.h>

#define SPECIALIZATION_MAX 8

/* Kept until the device goes: drivers take long to make one, and programs ask for the same few again and again. */
struct adapter_pipeline {
    VkPipeline handle;
    uint64_t key; /* of code and constants */
    size_t spirv_bytes;
    uint32_t constants[SPECIALIZATION_MAX];
    uint32_t constant_count;
    struct adapter_pipeline *next;
};

struct vulkan_encoder {
    struct adapter_encoder base;
    struct adapter_device *device;
    struct vulkan_record *record;
};

static HRESULT encoder_run(struct adapter_encoder *base, struct adapter_sequence *sequence, uint64_t **out_table)
{
    struct vulkan_encoder *encoder = (struct vulkan_encoder *)base;
    struct vulkan_record *record = encoder->record;
    struct vulkan_replay *replay = NULL;
    struct vulkan_table table;
    HRESULT hr = record->plain ? S_OK : vulkan_replay_acquire(encoder->device, sequence, &record->replays, &replay);
    if (SUCCEEDED(hr) && replay) {
        *out_table = replay->table.host;
        vk.vkCmdExecuteCommands(record->commands, 1, &replay->commands);
        return S_OK;
    }
    if (SUCCEEDED(hr))
        hr = vulkan_table_take(encoder->device, &record->tables, vulkan_sequence_table_count(sequence), &table);
    if (SUCCEEDED(hr)) {
        *out_table = table.host;
        vulkan_sequence_record(encoder->device, record->commands, sequence, table.address);
    }
    return hr;
}

static void encoder_copy(struct adapter_encoder *base, const struct adapter_binding *to,
                         const struct adapter_binding *from, uint64_t bytes)
{
    vulkan_copy(((struct vulkan_encoder *)base)->record->commands, to, from, bytes);
}

static void encoder_barrier(struct adapter_encoder *base)
{
    vulkan_barrier(((struct vulkan_encoder *)base)->record->commands, VULKAN_SCOPE_DEVICE, VULKAN_SCOPE_DEVICE);
}

HRESULT vulkan_dispatch_record(struct adapter_device *device, struct vulkan_record *record,
                               const struct adapter_command *command)
{
    struct adapter_dispatch *dispatch = command->u.dispatch.dispatch;
    struct vulkan_encoder encoder = {
        .base = { encoder_run, encoder_copy, encoder_barrier },
        .device = device,
        .record = record,
    };
    return dispatch->ops->encode(dispatch, command->u.dispatch.bindings, command->u.dispatch.binding_count,
                                 &encoder.base);
}

/* ---- pipelines ---- */

VkPipeline vulkan_pipeline_handle(const struct adapter_pipeline *pipeline)
{
    return pipeline->handle;
}

static uint64_t hash_words(uint64_t hash, const uint32_t *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ words[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static bool same_pipeline(const struct adapter_pipeline *a, const struct adapter_pipeline *b)
{
    return a->key == b->key && a->spirv_bytes == b->spirv_bytes && a->constant_count == b->constant_count &&
           !memcmp(a->constants, b->constants, a->constant_count * sizeof(a->constants[0]));
}

static HRESULT build_pipeline(struct adapter_device *device, const uint32_t *spirv, struct adapter_pipeline *pipeline)
{
    VkSpecializationMapEntry entries[SPECIALIZATION_MAX];
    VkShaderModule module = VK_NULL_HANDLE;
    for (uint32_t i = 0; i < pipeline->constant_count; i++)
        entries[i] = (VkSpecializationMapEntry){ i, i * 4, 4 };
    VkSpecializationInfo constants = { pipeline->constant_count, entries, pipeline->constant_count * 4u,
                                       pipeline->constants };
    VkShaderModuleCreateInfo code = { .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                      .codeSize = pipeline->spirv_bytes,
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
    return vulkan_hresult(result);
}

/* Under the pipelines' lock. */
static HRESULT find_or_build(struct adapter_device *device, const uint32_t *spirv, const struct adapter_pipeline *like,
                             struct adapter_pipeline **out)
{
    for (struct adapter_pipeline *pipeline = device->pipelines; pipeline; pipeline = pipeline->next) {
        if (same_pipeline(pipeline, like))
            return *out = pipeline, S_OK;
    }
    struct adapter_pipeline *pipeline = malloc(sizeof(*pipeline));
    if (!pipeline)
        return E_OUTOFMEMORY;
    *pipeline = *like;
    HRESULT hr = build_pipeline(device, spirv, pipeline);
    if (FAILED(hr)) {
        free(pipeline);
        return hr;
    }
    pipeline->next = device->pipelines;
    device->pipelines = pipeline;
    *out = pipeline;
    return S_OK;
}

HRESULT vulkan_pipeline_create(struct adapter_device *device, const uint32_t *spirv, size_t spirv_bytes,
                               const uint32_t *specialization, uint32_t specialization_count,
                               struct adapter_pipeline **out)
{
    struct adapter_pipeline like = { .spirv_bytes = spirv_bytes, .constant_count = specialization_count };
    *out = NULL;
    if (specialization_count > SPECIALIZATION_MAX)
        return E_INVALIDARG;
    for (uint32_t i = 0; i < specialization_count; i++)
        like.constants[i] = specialization[i];
    like.key = hash_words(UINT64_C(0xcbf29ce484222325), spirv, spirv_bytes / 4);
    pthread_mutex_lock(&device->pipelines_lock);
    HRESULT hr = find_or_build(device, spirv, &like, out);
    pthread_mutex_unlock(&device->pipelines_lock);
    return hr;
}

void vulkan_pipeline_destroy(struct adapter_device *device, struct adapter_pipeline *pipeline)
{
    (void)device;
    (void)pipeline; /* the device keeps it for the next one who asks */
}

void vulkan_pipelines_finish(struct adapter_device *device)
{
    while (device->pipelines) {
        struct adapter_pipeline *pipeline = device->pipelines;
        device->pipelines = pipeline->next;
        vk.vkDestroyPipeline(device->handle, pipeline->handle, NULL);
        free(pipeline);
    }
}
