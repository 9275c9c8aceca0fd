/* SPDX-License-Identifier: Apache-2.0 */
/* Translates neutral commands to Vulkan. There is a barrier between commands that access the same bytes, unless both
 * only read them: so Direct3D's order holds without knowledge of states, even if a program forgot a barrier, and
 * independent commands run concurrently. The program's own barriers are kept as well, because bytes may have several
 * addresses. */
#include "adapter/vulkan/vulkan.h"

/* Addresses that a command since the last barrier uses. */
struct use {
    uint64_t begin, end;
    bool writes;
};

#define USES_MAX 128u /* that are looked through before a barrier is set anyway */

struct recorder {
    struct adapter_queue *queue;
    struct vulkan_record *record;
    struct use uses[USES_MAX]; /* since the last barrier; with more, everything waits for everything */
    uint32_t use_count;
};

static void device_barrier(struct recorder *recorder)
{
    vulkan_barrier(recorder->record->commands, recorder->record->scope, recorder->record->scope);
}

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

/* Copies through the scratch memory, piece by piece, in the order in which no byte is overwritten before it was
 * read. */
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
        vulkan_copy(recorder->record->commands, &scratch, &source, n);
        device_barrier(recorder);
        vulkan_copy(recorder->record->commands, &target, &scratch, n);
        device_barrier(recorder);
        done += n;
    }
    return S_OK;
}

static bool overlap(const struct adapter_binding *a, const struct adapter_binding *b)
{
    return a->memory == b->memory && a->offset < b->offset + b->size && b->offset < a->offset + a->size;
}

static HRESULT record_copy(struct recorder *recorder, const struct adapter_command *command)
{
    const struct adapter_binding *to = &command->u.copy.to, *from = &command->u.copy.from;
    uint64_t bytes = to->size;
    if (overlap(to, from) && to->offset == from->offset)
        return S_OK;
    if (overlap(to, from))
        return copy_overlapping(recorder, to, from, bytes);
    return vulkan_record_copy(recorder->queue->device, recorder->record, to, from, bytes);
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
        vk.vkCmdFillBuffer(recorder->record->commands, vulkan_buffer_of(&scratch), vulkan_offset_of(&scratch), 8,
                           value);
        device_barrier(recorder);
        vulkan_copy(recorder->record->commands, to, &scratch, head);
        vulkan_copy(recorder->record->commands, &end, &copied, tail);
    }
    return vulkan_record_fill(recorder->queue->device, recorder->record, &middle, body,
                              head ? value >> 8 * head | value << (32 - 8 * head) : value);
}

static void record_timestamp(struct recorder *recorder, const struct adapter_command *command)
{
    struct adapter_queries *queries = command->u.timestamp.queries;
    uint32_t index = command->u.timestamp.index;
    if (!queries->pool)
        return;
    vk.vkCmdResetQueryPool(recorder->record->commands, queries->pool, index, 1);
    vk.vkCmdWriteTimestamp(recorder->record->commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries->pool, index);
    atomic_store(&queries->written[index], true);
}

/* Runs of written and of never-written queries. */
static HRESULT record_resolve(struct recorder *recorder, const struct adapter_command *command)
{
    struct adapter_queries *queries = command->u.resolve.queries;
    uint32_t start = command->u.resolve.start, count = command->u.resolve.count;
    HRESULT hr = S_OK;
    for (uint32_t i = 0, n; SUCCEEDED(hr) && i < count; i += n) {
        bool written = atomic_load(&queries->written[start + i]);
        struct adapter_binding to = part(&command->u.resolve.to, UINT64_C(8) * i);
        for (n = 1; i + n < count && atomic_load(&queries->written[start + i + n]) == written;)
            n++;
        if (written)
            vk.vkCmdCopyQueryPoolResults(recorder->record->commands, queries->pool, start + i, n, vulkan_buffer_of(&to),
                                         vulkan_offset_of(&to), 8, VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
        else
            hr = vulkan_record_fill(recorder->queue->device, recorder->record, &to, UINT64_C(8) * n, 0);
    }
    return hr;
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
        return record_resolve(recorder, command);
    case ADAPTER_BARRIER:
        return S_OK;
    case ADAPTER_DISPATCH:
        return vulkan_dispatch_record(recorder->queue->device, recorder->record, command->u.dispatch.dispatch,
                                      command->u.dispatch.bindings, command->u.dispatch.binding_count);
    }
    return E_INVALIDARG;
}

/* ---- barriers ---- */

static bool conflicts(const struct use *a, const struct use *b)
{
    return (a->writes || b->writes) && a->begin < b->end && b->begin < a->end;
}

/* Notes the use; true: it must wait for one of the first `before`. */
static bool note_use(struct recorder *recorder, const struct adapter_binding *binding, bool writes, uint32_t before)
{
    if (!binding->memory)
        return false;
    const uint64_t begin = binding->memory->address + binding->offset;
    const struct use use = { begin, begin + binding->size, writes };
    bool wait = false;
    for (uint32_t i = 0; i < before && !wait; i++)
        wait = conflicts(&recorder->uses[i], &use);
    if (recorder->use_count < USES_MAX)
        recorder->uses[recorder->use_count++] = use;
    return wait;
}

/* The write set of a dispatch is unknown. */
static bool note_uses(struct recorder *recorder, const struct adapter_command *command)
{
    const uint32_t before = recorder->use_count;
    bool wait = before == USES_MAX;
    switch (command->type) {
    case ADAPTER_COPY:
        wait |= note_use(recorder, &command->u.copy.to, true, before);
        return note_use(recorder, &command->u.copy.from, false, before) || wait;
    case ADAPTER_FILL:
        return note_use(recorder, &command->u.fill.to, true, before) || wait;
    case ADAPTER_RESOLVE:
        return note_use(recorder, &command->u.resolve.to, true, before) || wait;
    case ADAPTER_DISPATCH:
        for (uint32_t i = 0; i < command->u.dispatch.binding_count; i++)
            wait |= note_use(recorder, &command->u.dispatch.bindings[i], true, before);
        return wait;
    default:
        return false;
    }
}

/* Unaligned fills and copies of overlapping bytes, in sequence. */
static bool needs_scratch(const struct adapter_command *command)
{
    if (command->type == ADAPTER_FILL)
        return (command->u.fill.to.offset | command->u.fill.to.size) & 3;
    return command->type == ADAPTER_COPY && overlap(&command->u.copy.to, &command->u.copy.from);
}

static HRESULT list_record(struct recorder *recorder, const struct adapter_command *list, uint32_t count)
{
    HRESULT hr = S_OK;
    for (uint32_t i = 0; SUCCEEDED(hr) && i < count; i++) {
        const bool timestamp = list[i].type == ADAPTER_TIMESTAMP;
        const bool asked = list[i].type == ADAPTER_BARRIER && recorder->use_count;
        if (asked || note_uses(recorder, &list[i]) || needs_scratch(&list[i])) {
            device_barrier(recorder);
            recorder->use_count = 0;
            note_uses(recorder, &list[i]);
        }
        hr = record(recorder, &list[i]);
        if (timestamp || needs_scratch(&list[i])) /* later work starts after that time */
            device_barrier(recorder);
        if (timestamp)
            recorder->use_count = 0;
    }
    return hr;
}

HRESULT vulkan_batch_record(struct adapter_queue *queue, struct vulkan_record *target,
                            const struct adapter_batch *batch)
{
    struct recorder recorder = { .queue = queue, .record = target };
    HRESULT hr = S_OK;
    vulkan_barrier(target->commands, target->scope, target->scope); /* batches before it */
    for (uint32_t i = 0; SUCCEEDED(hr) && i < batch->list_count; i++)
        hr = list_record(&recorder, batch->lists[i], batch->command_counts[i]);
    return hr;
}
