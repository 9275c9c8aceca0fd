/* SPDX-License-Identifier: Apache-2.0 */
/* ExecuteCommandLists: checks the lists and captures the state that they run with. Descriptors are read here and become
 * the bindings of libdirectml's dispatches; all objects in use are kept until the work is complete. */
#include "d3d12/lists.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- checks ---- */

/* Rules whose violation drops the call (false) or removes the device (also false). */
static bool list_check(struct d3d_command_queue *queue, struct d3d_command_list *list, UINT index)
{
    struct d3d_device *device = d3d_parent(queue);
    const char *method = "ID3D12CommandQueue::ExecuteCommandLists";
    if (!list || list->open || !list->recording) {
        d3d_fail_as(device, E_INVALIDARG,
                    list ? D3D12_MESSAGE_ID_EXECUTECOMMANDLISTS_OPENCOMMANDLIST : D3D12_MESSAGE_ID_UNKNOWN,
                    "%s: ppCommandLists[%u] %s: nothing is executed", method, index,
                    list ? "is not closed" : "was not created by this device");
        return false;
    }
    if (list->type != queue->desc.Type)
        d3d_device_remove(device, DXGI_ERROR_INVALID_CALL, "%s: ppCommandLists[%u] is of type %d, the queue of type %d",
                          method, index, (int)list->type, (int)queue->desc.Type);
    else if (FAILED(list->error))
        d3d_device_remove(device, DXGI_ERROR_INVALID_CALL, "%s: ppCommandLists[%u] failed while recording (0x%08x)",
                          method, index, (unsigned)list->error);
    else if (atomic_load(&list->allocator->generation) != list->allocator_generation)
        d3d_device_remove(device, DXGI_ERROR_INVALID_CALL,
                          "%s: the allocator of ppCommandLists[%u] was reset after Close", method, index);
    return !d3d_removed(device);
}

/* For the debug layer: objects that the application has released or evicted too early. The list still runs because it
 * keeps what it needs. */
static void list_check_objects(struct d3d_device *device, const struct d3d_recording *recording, uint32_t index)
{
    for (uint32_t i = 0; device->info_queue && i < recording->kept_count; i++) {
        struct com_object *object = recording->kept[i];
        bool released = !atomic_load(&object->refs);
        char name[128], text[320];
        if (!released && atomic_load(&((struct d3d_pageable *)object)->residency) >= 1)
            continue;
        com_object_name(object, name, sizeof(name));
        snprintf(text, sizeof(text),
                 "ID3D12CommandQueue::ExecuteCommandLists: ppCommandLists[%u] uses the %s %s \"%s\"", index,
                 released ? "released" : "evicted", object->class->name, name);
        d3d_message(device, D3D12_MESSAGE_SEVERITY_ERROR, D3D12_MESSAGE_CATEGORY_EXECUTION,
                    released ? D3D12_MESSAGE_ID_OBJECT_DELETED_WHILE_STILL_IN_USE
                             : D3D12_MESSAGE_ID_OBJECT_EVICTED_WHILE_STILL_IN_USE,
                    text);
    }
}

/* ---- one block of memory ---- */

struct sizes {
    uint32_t lists, copied_commands, bindings;
};

static void *carve(char **at, size_t bytes)
{
    char *start = *at;
    *at += base_align_up(bytes, 16);
    return start;
}

static size_t block_bytes(const struct sizes *sizes)
{
    return 5 * 16 + sizes->lists * (2 * sizeof(void *) + sizeof(uint32_t)) +
           sizes->copied_commands * sizeof(struct adapter_command) +
           sizes->bindings * (sizeof(struct adapter_binding) + sizeof(void *));
}

static struct d3d_submission *block_make(struct d3d_worker *worker, const struct sizes *sizes)
{
    size_t bytes = block_bytes(sizes);
    struct d3d_submission *submission = d3d_worker_acquire_block(worker, bytes);
    if (!submission) {
        submission = malloc(sizeof(*submission) + bytes);
        if (!submission)
            return NULL;
        submission->capacity = bytes;
    }
    submission->next = NULL;
    submission->more = false;
    submission->run = NULL;
    submission->recordings = NULL;
    submission->kept_count = 0;
    return submission;
}

/* ---- descriptors -> bindings ---- */

struct resolver {
    struct d3d_submission *submission;
    struct adapter_command *commands; /* free room for copies */
    struct adapter_binding *bindings; /* free room */
    const char *error;                /* error in the following slot */
    uint32_t error_slot;
};

const char *d3d_slot_resolve(struct d3d_device *device, const struct anydml_buffer *slot, struct adapter_binding *out,
                             struct com_object **out_kept)
{
    *out = (struct adapter_binding){ 0 };
    *out_kept = NULL;
    if (!slot->resource_id)
        return NULL;
    struct d3d_resource *resource = d3d_table_find(&device->resources, slot->resource_id);
    if (!resource || !com_try_ref(&resource->pageable.base))
        return "names a resource that has been released";
    *out_kept = &resource->pageable.base;
    if (slot->offset > resource->desc.Width || slot->size > resource->desc.Width - slot->offset)
        return "reaches beyond the end of its buffer";
    *out = d3d_resource_range(resource, slot->offset, slot->size);
    return NULL;
}

/* Under tables_lock. The binding of slot j of a dispatch, possibly in *storage. */
static const struct anydml_buffer *slot_bound(const struct d3d_recording *recording,
                                              const struct d3d_dispatch_slots *slots, uint32_t j,
                                              struct anydml_buffer *storage)
{
    if (slots->captured != UINT32_MAX && recording->captured[slots->captured + j].resource_id)
        return &recording->captured[slots->captured + j];
    const struct d3d_descriptor *descriptor = &slots->heap->slots[slots->first + j];
    *storage = (struct anydml_buffer){ descriptor->resource_id, descriptor->offset, descriptor->size };
    return storage;
}

/* Under tables_lock. Copies a list that has dispatches, including their bindings. */
static const struct adapter_command *list_resolve(struct d3d_device *device, struct resolver *resolver,
                                                  const struct d3d_recording *recording)
{
    struct adapter_command *commands = resolver->commands;
    resolver->commands += recording->command_count;
    memcpy(commands, recording->commands, recording->command_count * sizeof(*commands));
    for (uint32_t i = 0; i < recording->dispatch_count; i++) {
        const struct d3d_dispatch_slots *slots = &recording->dispatches[i];
        commands[slots->command].u.dispatch.bindings = resolver->bindings;
        for (uint32_t j = 0; j < slots->count; j++) {
            struct anydml_buffer storage;
            struct d3d_submission *submission = resolver->submission;
            const char *error = d3d_slot_resolve(device, slot_bound(recording, slots, j, &storage),
                                                 resolver->bindings++, &submission->kept[submission->kept_count]);
            submission->kept_count += submission->kept[submission->kept_count] != NULL;
            if (!error || resolver->error)
                continue;
            resolver->error = error;
            resolver->error_slot = slots->first + j;
        }
    }
    return commands;
}

static void submission_fill(struct d3d_device *device, struct d3d_submission *submission, const struct sizes *sizes,
                            struct d3d_command_list *const *lists, struct resolver *resolver)
{
    char *at = submission->data;
    const struct adapter_command **arrays = carve(&at, sizes->lists * sizeof(*arrays));
    uint32_t *counts = carve(&at, sizes->lists * sizeof(*counts));
    submission->recordings = carve(&at, sizes->lists * sizeof(*submission->recordings));
    submission->kept = carve(&at, sizes->bindings * sizeof(*submission->kept));
    *resolver = (struct resolver){ .submission = submission };
    resolver->bindings = carve(&at, sizes->bindings * sizeof(*resolver->bindings));
    resolver->commands = (struct adapter_command *)at;
    if (sizes->copied_commands)
        pthread_mutex_lock(&device->tables_lock);
    for (uint32_t i = 0; i < sizes->lists; i++) {
        struct d3d_recording *recording = lists[i]->recording;
        d3d_recording_ref(recording);
        submission->recordings[i] = recording;
        counts[i] = recording->command_count;
        arrays[i] = recording->dispatch_count ? list_resolve(device, resolver, recording) : recording->commands;
    }
    if (sizes->copied_commands)
        pthread_mutex_unlock(&device->tables_lock);
    submission->batch = (struct adapter_batch){ arrays, counts, sizes->lists };
}

/* Calls every dispatch's binding check; false: the device is removed. */
static bool dispatches_check(struct d3d_device *device, const struct d3d_submission *submission)
{
    char message[512] = "";
    for (uint32_t i = 0; i < submission->batch.list_count; i++) {
        const struct d3d_recording *recording = submission->recordings[i];
        for (uint32_t j = 0; j < recording->dispatch_count; j++) {
            const struct adapter_command *command = &submission->batch.lists[i][recording->dispatches[j].command];
            struct adapter_dispatch *dispatch = command->u.dispatch.dispatch;
            HRESULT hr = dispatch->ops->check(dispatch, command->u.dispatch.bindings, command->u.dispatch.binding_count,
                                              ADAPTER_MOMENT_SUBMITTED, message);
            if (SUCCEEDED(hr))
                continue;
            d3d_device_remove(device, hr, "ID3D12CommandQueue::ExecuteCommandLists: ppCommandLists[%u]: %s", i,
                              message);
            return false;
        }
    }
    return true;
}

/* ---- the whole ---- */

/* Notes that this worker will run the recordings; warns when another one still does. */
static void recordings_begin(struct d3d_device *device, struct d3d_worker *worker,
                             const struct d3d_submission *submission)
{
    for (uint32_t i = 0; i < submission->batch.list_count; i++) {
        struct d3d_recording *recording = submission->recordings[i];
        void *before = atomic_exchange(&recording->last_worker, (void *)worker);
        if (atomic_fetch_add(&recording->pending, 1) && before != worker)
            d3d_warn(device, D3D12_MESSAGE_ID_COMMAND_LIST_SYNC,
                     "ID3D12CommandQueue::ExecuteCommandLists: ppCommandLists[%u] still runs on another queue", i);
    }
}

static bool lists_check(struct d3d_command_queue *queue, struct d3d_command_list *const *lists, uint32_t count,
                        struct sizes *out)
{
    *out = (struct sizes){ .lists = count };
    for (uint32_t i = 0; i < count; i++) {
        struct d3d_command_list *list = com_child(d3d_parent(queue), lists[i], &d3d_command_list_vtbl);
        if (!list_check(queue, list, i))
            return false;
        list_check_objects(d3d_parent(queue), list->recording, i);
        if (list->recording->dispatch_count) {
            out->copied_commands += list->recording->command_count;
            out->bindings += list->recording->binding_count;
        }
    }
    return true;
}

struct d3d_submission *d3d_submission_create(struct d3d_command_queue *queue, ID3D12CommandList *const *ifaces,
                                             uint32_t count)
{
    struct d3d_device *device = d3d_parent(queue);
    struct d3d_command_list *const *lists = (struct d3d_command_list *const *)ifaces;
    struct resolver resolver;
    struct sizes sizes;
    if (!lists_check(queue, lists, count, &sizes))
        return NULL;
    struct d3d_submission *submission = block_make(queue->worker, &sizes);
    if (!submission) {
        d3d_device_remove(device, E_OUTOFMEMORY, "ID3D12CommandQueue::ExecuteCommandLists: no memory for %u lists",
                          count);
        return NULL;
    }
    submission_fill(device, submission, &sizes, lists, &resolver);
    recordings_begin(device, queue->worker, submission);
    if (resolver.error)
        d3d_device_remove(device, DXGI_ERROR_INVALID_CALL,
                          "ID3D12CommandQueue::ExecuteCommandLists: descriptor %u of a dispatch %s",
                          resolver.error_slot, resolver.error);
    if (!resolver.error && dispatches_check(device, submission)) {
        d3d_submission_check_states(device, submission);
        return submission;
    }
    d3d_submission_release(queue->worker, submission);
    return NULL;
}

struct d3d_submission *d3d_submission_create_run(struct d3d_worker *worker, uint32_t binding_count,
                                                 struct adapter_command **out_command,
                                                 struct adapter_binding **out_bindings)
{
    const struct sizes sizes = { .lists = 1, .copied_commands = 1, .bindings = binding_count };
    struct d3d_submission *submission = block_make(worker, &sizes);
    if (!submission)
        return NULL;
    char *at = submission->data;
    const struct adapter_command **lists = carve(&at, sizeof(*lists));
    uint32_t *counts = carve(&at, sizeof(*counts));
    submission->kept = carve(&at, binding_count * sizeof(*submission->kept));
    *out_bindings = carve(&at, binding_count * sizeof(**out_bindings));
    lists[0] = *out_command = (struct adapter_command *)(void *)at;
    counts[0] = 1;
    submission->batch = (struct adapter_batch){ lists, counts, 1 };
    return submission;
}

/* A few microseconds of copying, and the overhead of a command. */
#define SHORT_WORK   (UINT64_C(1) << 16)
#define COMMAND_WORK 256

static uint64_t command_work(const struct adapter_command *command)
{
    switch (command->type) {
    case ADAPTER_COPY:
        return command->u.copy.to.size;
    case ADAPTER_FILL:
        return command->u.fill.to.size;
    case ADAPTER_DISPATCH:
        return command->u.dispatch.dispatch->work;
    default:
        return 0;
    }
}

bool d3d_submission_short(const struct d3d_submission *submission)
{
    const struct adapter_batch *batch = &submission->batch;
    uint64_t work = 0;
    for (uint32_t i = 0; i < batch->list_count; i++)
        for (uint32_t j = 0; j < batch->command_counts[i] && work < SHORT_WORK; j++)
            work += BASE_MIN(command_work(&batch->lists[i][j]), SHORT_WORK) + COMMAND_WORK;
    return work < SHORT_WORK;
}

void d3d_submission_release(struct d3d_worker *worker, struct d3d_submission *submission)
{
    for (uint32_t i = 0; i < submission->kept_count; i++)
        com_unref(submission->kept[i]);
    for (uint32_t i = 0; submission->recordings && i < submission->batch.list_count; i++) {
        atomic_fetch_sub(&submission->recordings[i]->pending, 1);
        d3d_recording_unref(submission->recordings[i]);
    }
    if (submission->run)
        submission->run->ops->unref(submission->run);
    d3d_worker_release_block(worker, submission);
}
