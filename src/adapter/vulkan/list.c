/* SPDX-License-Identifier: Apache-2.0 */
/* Neutral commands to Vulkan's. Between any two commands stands a barrier, so that Direct3D's order holds without
 * knowledge of states, also where a program forgot one. */
#include "adapter/vulkan/vulkan.h"

struct recorder {
    struct adapter_queue *queue;
    struct vulkan_record *record;
    VkCommandBuffer commands;
};

static HRESULT need_scratch(struct recorder *recorder)
{
    struct adapter_queue *queue = recorder->queue;
    if (queue->scratch)
        return S_OK;
    return vulkan_memory_create(queue->device, ADAPTER_MEMORY_DEVICE, VULKAN_ALIGNMENT, &queue->scratch);
}

static struct adapter_binding part(const struct adapter_binding *whole, uint64_t offset)
{
    return (struct adapter_binding){ whole->memory, whole->offset + offset, whole->size - offset };
}

/* Through the scratch memory, piece by piece, in the order in which no byte is overwritten before it was read. */
static HRESULT copy_overlapping(struct recorder *recorder, const struct adapter_binding *to,
                                const struct adapter_binding *from, uint64_t bytes)
{
    HRESULT hr = need_scratch(recorder);
    if (FAILED(hr))
        return hr;
    struct adapter_binding scratch = { recorder->queue->scratch, 0, VULKAN_ALIGNMENT };
    for (uint64_t done = 0; done < bytes;) {
        uint64_t n = BASE_MIN(bytes - done, VULKAN_ALIGNMENT);
        uint64_t at = to->offset < from->offset ? done : bytes - done - n;
        struct adapter_binding source = part(from, at), target = part(to, at);
        vulkan_copy(recorder->commands, &scratch, &source, n);
        vulkan_barrier(recorder->commands);
        vulkan_copy(recorder->commands, &target, &scratch, n);
        vulkan_barrier(recorder->commands);
        done += n;
    }
    return S_OK;
}

static HRESULT record_copy(struct recorder *recorder, const struct adapter_command *command)
{
    const struct adapter_binding *to = &command->u.copy.to, *from = &command->u.copy.from;
    uint64_t bytes = to->size;
    bool overlap = to->memory == from->memory && to->offset < from->offset + bytes && from->offset < to->offset + bytes;
    if (overlap && to->offset == from->offset)
        return S_OK;
    if (overlap)
        return copy_overlapping(recorder, to, from, bytes);
    vulkan_copy(recorder->commands, to, from, bytes);
    return S_OK;
}

static void fill(VkCommandBuffer commands, const struct adapter_binding *to, uint64_t bytes, uint32_t value)
{
    if (bytes)
        vk.vkCmdFillBuffer(commands, vulkan_buffer_of(to), vulkan_offset_of(to), bytes, value);
}

/* Vulkan fills whole words; bytes before and after them are copied from a filled scratch. */
static HRESULT record_fill(struct recorder *recorder, const struct adapter_command *command)
{
    const struct adapter_binding *to = &command->u.fill.to;
    uint32_t value = command->u.fill.value, head = (uint32_t)(0 - to->offset) & 3;
    head = (uint32_t)BASE_MIN(head, to->size);
    uint64_t body = (to->size - head) & ~UINT64_C(3);
    uint64_t tail = to->size - head - body;
    struct adapter_binding middle = part(to, head), end = part(to, head + body);
    if (head || tail) {
        HRESULT hr = need_scratch(recorder);
        if (FAILED(hr))
            return hr;
        struct adapter_binding scratch = { recorder->queue->scratch, 0, 8 }, copied = part(&scratch, head);
        fill(recorder->commands, &scratch, 8, value);
        vulkan_barrier(recorder->commands);
        vulkan_copy(recorder->commands, to, &scratch, head);
        vulkan_copy(recorder->commands, &end, &copied, tail);
    }
    fill(recorder->commands, &middle, body, head ? value >> 8 * head | value << (32 - 8 * head) : value);
    return S_OK;
}

static void record_timestamp(struct recorder *recorder, const struct adapter_command *command)
{
    struct adapter_queries *queries = command->u.timestamp.queries;
    uint32_t index = command->u.timestamp.index;
    if (!queries->pool)
        return;
    vk.vkCmdResetQueryPool(recorder->commands, queries->pool, index, 1);
    vk.vkCmdWriteTimestamp(recorder->commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries->pool, index);
    atomic_store(&queries->written[index], true);
}

/* Runs of written and of never-written queries. */
static void record_resolve(struct recorder *recorder, const struct adapter_command *command)
{
    struct adapter_queries *queries = command->u.resolve.queries;
    uint32_t start = command->u.resolve.start, count = command->u.resolve.count;
    for (uint32_t i = 0, n; i < count; i += n) {
        bool written = atomic_load(&queries->written[start + i]);
        struct adapter_binding to = part(&command->u.resolve.to, UINT64_C(8) * i);
        for (n = 1; i + n < count && atomic_load(&queries->written[start + i + n]) == written;)
            n++;
        if (written)
            vk.vkCmdCopyQueryPoolResults(recorder->commands, queries->pool, start + i, n, vulkan_buffer_of(&to),
                                         vulkan_offset_of(&to), 8, VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
        else
            fill(recorder->commands, &to, UINT64_C(8) * n, 0);
    }
}

static HRESULT record(struct recorder *recorder, const struct adapter_command *command)
{
    switch (command->type) {
    case ADAPTER_COPY:
        return record_copy(recorder, command);
    case ADAPTER_FILL:
        return record_fill(recorder, command);
    case ADAPTER_TIMESTAMP:
        return record_timestamp(recorder, command), S_OK;
    case ADAPTER_RESOLVE:
        return record_resolve(recorder, command), S_OK;
    case ADAPTER_BARRIER:
        return S_OK;
    case ADAPTER_DISPATCH:
        return vulkan_dispatch_record(recorder->queue->device, recorder->record, command);
    }
    return E_INVALIDARG;
}

HRESULT vulkan_list_record(struct adapter_queue *queue, struct vulkan_record *target,
                           const struct adapter_command *list, uint32_t count)
{
    VkCommandBuffer commands = target->commands;
    struct recorder recorder = { queue, target, commands };
    enum adapter_command_type last = ADAPTER_BARRIER;
    HRESULT hr = S_OK;
    for (uint32_t i = 0; SUCCEEDED(hr) && i < count; i++) {
        if (list[i].type == ADAPTER_BARRIER)
            continue; /* there is one anyway */
        if (last == ADAPTER_DISPATCH && list[i].type == ADAPTER_DISPATCH)
            vulkan_compute_barrier(commands);
        else if (last != ADAPTER_BARRIER)
            vulkan_barrier(commands);
        hr = record(&recorder, &list[i]);
        last = list[i].type;
    }
    return hr;
}
