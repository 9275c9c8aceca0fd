/* SPDX-License-Identifier: Apache-2.0 */
/* Dispatches that are executed together again and again. Recording them costs the processor 1 to 3 us each, so a batch
 * executes a secondary command buffer that has them already and writes the addresses of its buffers into the table
 * which belongs to that. There are as many of these as batches in flight have needed at once. */
#include "adapter/vulkan/vulkan.h"

#include <stdlib.h>

/* Shorter ones are recorded each time. */
#define REPLAY_STEPS_MIN 4

struct adapter_sequence {
    uint32_t count, table_count;
    struct vulkan_replay *idle;  /* under the device's replays.lock */
    struct vulkan_tables tables; /* likewise */
    struct adapter_step steps[];
};

HRESULT vulkan_sequence_create(struct adapter_device *device, const struct adapter_step *steps, uint32_t count,
                               uint32_t table_count, struct adapter_sequence **out)
{
    struct adapter_sequence *sequence = *out = calloc(1, sizeof(*sequence) + count * sizeof(*steps));
    (void)device;
    if (!sequence)
        return E_OUTOFMEMORY;
    sequence->count = count;
    sequence->table_count = table_count;
    memcpy(sequence->steps, steps, count * sizeof(*steps));
    return S_OK;
}

void vulkan_sequence_destroy(struct adapter_device *device, struct adapter_sequence *sequence)
{
    pthread_mutex_lock(&device->replays.lock);
    for (struct vulkan_replay *replay = sequence->idle, *next; replay; replay = next) {
        next = replay->next;
        vk.vkFreeCommandBuffers(device->handle, device->replays.pool, 1, &replay->commands);
        free(replay);
    }
    pthread_mutex_unlock(&device->replays.lock);
    vulkan_tables_finish(device, &sequence->tables);
    free(sequence);
}

uint32_t vulkan_sequence_step_count(const struct adapter_sequence *sequence)
{
    return sequence->count;
}

uint32_t vulkan_sequence_table_count(const struct adapter_sequence *sequence)
{
    return sequence->table_count;
}

void vulkan_sequence_record(struct adapter_device *device, VkCommandBuffer commands,
                            const struct adapter_sequence *sequence, uint64_t table, const struct vulkan_timing *timing)
{
    const struct adapter_pipeline *bound = NULL;
    for (uint32_t i = 0; i < sequence->count; i++) {
        const struct adapter_step *step = &sequence->steps[i];
        const uint64_t push[] = { step->parameters, table };
        if (step->barrier)
            vulkan_barrier(commands, VULKAN_SCOPE_DISPATCHES, VULKAN_SCOPE_DISPATCHES);
        if (bound != step->pipeline)
            vk.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, step->pipeline->handle);
        bound = step->pipeline;
        vk.vkCmdPushConstants(commands, device->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(push), push);
        vk.vkCmdDispatch(commands, step->groups[0], step->groups[1], step->groups[2]);
        if (timing)
            vulkan_timing_mark(timing, commands, i + 1);
    }
}

/* ---- replays, under the lock ---- */

static HRESULT replay_record(struct adapter_device *device, struct vulkan_replay *replay)
{
    VkCommandBufferInheritanceInfo inheritance = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO };
    VkCommandBufferBeginInfo info = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                      .pInheritanceInfo = &inheritance };
    VkResult result = vk.vkBeginCommandBuffer(replay->commands, &info);
    if (result != VK_SUCCESS)
        return vulkan_hresult(result);
    vulkan_sequence_record(device, replay->commands, replay->sequence, replay->table.address, NULL);
    return vulkan_hresult(vk.vkEndCommandBuffer(replay->commands));
}

static HRESULT replay_create(struct adapter_device *device, struct adapter_sequence *sequence,
                             struct vulkan_replay **out)
{
    VkCommandBufferAllocateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
        .commandPool = device->replays.pool,
        .level = VK_COMMAND_BUFFER_LEVEL_SECONDARY,
        .commandBufferCount = 1,
    };
    struct vulkan_replay *replay = calloc(1, sizeof(*replay));
    if (!replay)
        return E_OUTOFMEMORY;
    replay->sequence = sequence;
    HRESULT hr = vulkan_table_take(device, &sequence->tables, sequence->table_count, &replay->table);
    if (SUCCEEDED(hr))
        hr = vulkan_hresult(vk.vkAllocateCommandBuffers(device->handle, &info, &replay->commands));
    if (SUCCEEDED(hr))
        hr = replay_record(device, replay);
    if (SUCCEEDED(hr))
        return *out = replay, S_OK;
    if (replay->commands)
        vk.vkFreeCommandBuffers(device->handle, device->replays.pool, 1, &replay->commands);
    free(replay);
    return hr;
}

HRESULT vulkan_replay_acquire(struct adapter_device *device, struct adapter_sequence *sequence,
                              struct vulkan_replay **io, struct vulkan_replay **out)
{
    HRESULT hr = S_OK;
    *out = NULL;
    if (sequence->count < REPLAY_STEPS_MIN)
        return S_OK;
    pthread_mutex_lock(&device->replays.lock);
    if (sequence->idle) {
        *out = sequence->idle;
        sequence->idle = sequence->idle->next;
    } else {
        hr = replay_create(device, sequence, out);
    }
    pthread_mutex_unlock(&device->replays.lock);
    if (FAILED(hr))
        return hr;
    (*out)->next = *io;
    *io = *out;
    return S_OK;
}

void vulkan_replays_release(struct adapter_device *device, struct vulkan_replay **io)
{
    if (!*io)
        return;
    pthread_mutex_lock(&device->replays.lock);
    while (*io) {
        struct vulkan_replay *replay = *io;
        *io = replay->next;
        replay->next = replay->sequence->idle;
        replay->sequence->idle = replay;
    }
    pthread_mutex_unlock(&device->replays.lock);
}
