/* SPDX-License-Identifier: Apache-2.0 */
#include "adapter/vulkan/vulkan.h"

#include <stdlib.h>

/* The next queue in turn of those with the role, or of MAIN's. */
static struct vulkan_queue_slot *next_slot(struct adapter_device *device, enum vulkan_role role)
{
    struct vulkan_queues *queues = &device->queues[device->queues[role].count ? role : VULKAN_ROLE_MAIN];
    return &queues->slots[atomic_fetch_add(&queues->next, 1) % queues->count];
}

static enum vulkan_role role_of(D3D12_COMMAND_LIST_TYPE type)
{
    return type == D3D12_COMMAND_LIST_TYPE_COPY      ? VULKAN_ROLE_COPY
           : type == D3D12_COMMAND_LIST_TYPE_COMPUTE ? VULKAN_ROLE_COMPUTE
                                                     : VULKAN_ROLE_MAIN;
}

/* Copy-only families cannot reset and read queries, and others may lack timestamps. */
static bool has_timestamps(const struct adapter_device *device, enum vulkan_role role)
{
    return role != VULKAN_ROLE_COPY && device->physical->families[role].timestamp_bits;
}

HRESULT vulkan_queue_create(struct adapter_device *device, D3D12_COMMAND_LIST_TYPE type, struct adapter_queue **out)
{
    *out = NULL;
    struct adapter_queue *queue = calloc(1, sizeof(*queue));
    if (!queue)
        return E_OUTOFMEMORY;
    queue->device = device;
    queue->slot = next_slot(device, role_of(type));
    queue->query_slot = has_timestamps(device, queue->slot->role) ? queue->slot : next_slot(device, VULKAN_ROLE_MAIN);
    HRESULT hr = vulkan_timeline_share(device, &queue->shared);
    if (FAILED(hr)) {
        free(queue);
        return hr;
    }
    queue->timeline = vulkan_timeline_of(queue->shared);
    *out = queue;
    return S_OK;
}

void vulkan_queue_destroy(struct adapter_queue *queue)
{
    struct adapter_device *device = queue->device;
    vulkan_queue_finish(queue, queue->ticket);
    while (queue->records) {
        struct vulkan_record *record = queue->records;
        queue->records = record->next;
        vk.vkDestroyCommandPool(device->handle, record->pool, NULL);
        vulkan_tables_finish(device, &record->tables);
        vulkan_timings_finish(queue, record, false);
        vulkan_points_clear(&record->points);
        free(record->parts);
        free(record);
    }
    vulkan_memory_destroy(device, queue->scratch);
    vulkan_points_clear(&queue->points);
    vulkan_timeline_unref(queue->shared);
    free(queue);
}

static HRESULT record_create(struct adapter_queue *queue, enum vulkan_role role, struct vulkan_record **out)
{
    const uint32_t family = queue->device->physical->families[role].index;
    struct vulkan_record *record = calloc(1, sizeof(*record));
    if (!record)
        return E_OUTOFMEMORY;
    record->parts = malloc(sizeof(*record->parts));
    HRESULT hr =
        record->parts ? vulkan_commands_create(queue->device, family, &record->pool, record->parts) : E_OUTOFMEMORY;
    if (FAILED(hr)) {
        free(record->parts);
        free(record);
        return hr;
    }
    record->part_count = record->part_capacity = 1;
    record->role = role;
    record->scope = role == VULKAN_ROLE_COPY ? VULKAN_SCOPE_COPIES : VULKAN_SCOPE_DEVICE;
    record->next = queue->records;
    queue->records = record;
    *out = record;
    return S_OK;
}

/* Its work is complete, or will never be. Sequences may be released. */
static void record_finish(struct adapter_queue *queue, struct vulkan_record *record, bool complete)
{
    vulkan_timings_finish(queue, record, complete);
    vulkan_points_clear(&record->points);
    vulkan_replays_release(queue->device, &record->replays);
}

static struct vulkan_record *find_record(struct adapter_queue *queue, enum vulkan_role role)
{
    struct vulkan_record *record = queue->records;
    while (record && (record->ticket > queue->complete || record->role != role))
        record = record->next;
    return record;
}

/* A command buffer that is not in use; a new one when all are. */
static HRESULT take_record(struct adapter_queue *queue, enum vulkan_role role, struct vulkan_record **out)
{
    struct vulkan_record *record = find_record(queue, role);
    if (!record) {
        VkResult result = vk.vkGetSemaphoreCounterValue(queue->device->handle, queue->timeline, &queue->complete);
        if (result != VK_SUCCESS)
            return vulkan_hresult(result);
        record = find_record(queue, role);
    }
    if (!record)
        return record_create(queue, role, out);
    vulkan_tables_reset(&record->tables);
    record_finish(queue, record, true);
    return *out = record, S_OK;
}

static bool has_queries(const struct adapter_batch *batch)
{
    for (uint32_t i = 0; i < batch->list_count; i++)
        for (uint32_t k = 0; k < batch->command_counts[i]; k++)
            if (batch->lists[i][k].type == ADAPTER_TIMESTAMP || batch->lists[i][k].type == ADAPTER_RESOLVE)
                return true;
    return false;
}

/* Ignoring barriers, which are at both ends of each batch anyway. NULL: the batch contains something else. */
static const struct adapter_command *only_dispatch(const struct adapter_batch *batch)
{
    const struct adapter_command *only = NULL;
    for (uint32_t i = 0; i < batch->list_count; i++)
        for (uint32_t k = 0; k < batch->command_counts[i]; k++) {
            const struct adapter_command *command = &batch->lists[i][k];
            if (command->type == ADAPTER_BARRIER)
                continue;
            if (only || command->type != ADAPTER_DISPATCH)
                return NULL;
            only = command;
        }
    return only;
}

/* *out_replay: to be submitted instead of the record's parts, or VK_NULL_HANDLE. */
static HRESULT record_batch(struct adapter_queue *queue, struct vulkan_record *record,
                            const struct adapter_batch *batch, VkCommandBuffer *out_replay)
{
    const struct adapter_command *only = only_dispatch(batch);
    HRESULT hr = S_OK;
    *out_replay = VK_NULL_HANDLE;
    if (only) {
        hr = vulkan_dispatch_replay(queue->device, record, only, out_replay);
    } else {
        hr = vulkan_record_open(queue->device, record);
        if (SUCCEEDED(hr))
            hr = vulkan_batch_record(queue, record, batch);
    }
    if (FAILED(hr) || *out_replay)
        return hr;
    vulkan_barrier(record->commands, record->scope, VULKAN_SCOPE_HOST);
    return vulkan_hresult(vk.vkEndCommandBuffer(record->commands));
}

static HRESULT submit_part(struct adapter_queue *queue, struct vulkan_queue_slot *slot, struct vulkan_record *record,
                           VkCommandBuffer commands)
{
    struct vulkan_moment moments[VULKAN_POINTS_MAX + 1];
    uint32_t count = vulkan_points_moments(&queue->points, moments);
    if (queue->ticket && slot != queue->last_slot) /* only the semaphore orders the work */
        moments[count++] = (struct vulkan_moment){ queue->timeline, queue->ticket };
    HRESULT hr =
        vulkan_submit(slot, commands, moments, count, (struct vulkan_moment){ queue->timeline, queue->ticket + 1 });
    if (FAILED(hr))
        return hr;
    queue->last_slot = slot;
    record->ticket = ++queue->ticket;
    if (queue->points.count) {
        record->points = queue->points; /* until they have been waited for */
        queue->points.count = 0;
    }
    return S_OK;
}

HRESULT vulkan_queue_submit(struct adapter_queue *queue, const struct adapter_batch *batch, uint64_t *out_ticket)
{
    struct vulkan_queue_slot *slot =
        queue->query_slot != queue->slot && has_queries(batch) ? queue->query_slot : queue->slot;
    struct vulkan_record *record = NULL;
    VkCommandBuffer replay;
    *out_ticket = queue->ticket;
    HRESULT hr = take_record(queue, slot->role, &record);
    if (FAILED(hr))
        return hr;
    hr = record_batch(queue, record, batch, &replay);
    if (SUCCEEDED(hr) && replay)
        hr = submit_part(queue, slot, record, replay);
    for (uint32_t i = 0; SUCCEEDED(hr) && !replay && i <= record->part; i++)
        hr = submit_part(queue, slot, record, record->parts[i]);
    *out_ticket = queue->ticket;
    if (FAILED(hr)) {
        vulkan_timeline_wait(queue->device, queue->timeline, record->ticket); /* for parts that were submitted */
        record_finish(queue, record, false);
    }
    return hr;
}

HRESULT vulkan_queue_finish(struct adapter_queue *queue, uint64_t ticket)
{
    HRESULT hr = vulkan_timeline_wait(queue->device, queue->timeline, ticket);
    if (SUCCEEDED(hr))
        queue->complete = BASE_MAX(queue->complete, ticket);
    for (struct vulkan_record *record = queue->records; record; record = record->next)
        if (record->ticket <= ticket || FAILED(hr))
            record_finish(queue, record, SUCCEEDED(hr));
    return hr;
}

HRESULT vulkan_queries_create(struct adapter_device *device, uint32_t count, struct adapter_queries **out)
{
    *out = NULL;
    struct adapter_queries *queries = calloc(1, sizeof(*queries) + count * sizeof(queries->written[0]));
    if (!queries)
        return E_OUTOFMEMORY;
    queries->count = count;
    VkQueryPoolCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
        .queryType = VK_QUERY_TYPE_TIMESTAMP,
        .queryCount = count,
    };
    HRESULT hr = S_OK;
    if (count && device->physical->families[VULKAN_ROLE_MAIN].timestamp_bits)
        hr = vulkan_hresult(vk.vkCreateQueryPool(device->handle, &info, NULL, &queries->pool));
    if (FAILED(hr))
        free(queries);
    else
        *out = queries;
    return hr;
}

void vulkan_queries_destroy(struct adapter_device *device, struct adapter_queries *queries)
{
    vk.vkDestroyQueryPool(device->handle, queries->pool, NULL);
    free(queries);
}
