/* SPDX-License-Identifier: Apache-2.0 */
/* Dispatches that are executed together repeatedly. Recording each costs 1 to 3 us of CPU time, so a batch executes a
 * command buffer that contains them already and writes the addresses of its buffers into the table of that command
 * buffer: a secondary one, or, if the batch consists of nothing else, a primary one that is submitted directly. There
 * are as many of these as batches were in flight at once. */
#include "adapter/vulkan/vulkan.h"

#include <stdlib.h>

/* Shorter ones are recorded each time. */
#define REPLAY_STEPS_MIN 4

/* Fraction of the limit: sequences below it need no measurement. */
#define UNMEASURED_SHARE 1024

/* Unused replays: above this number, one that is recorded for other addresses is recorded again. */
#define IDLE_MAX 8

struct adapter_sequence {
    uint32_t count, table_count;
    struct vulkan_replay *idle[VULKAN_ROLES]; /* under the device's replays.lock */
    struct vulkan_tables tables;              /* likewise */
    _Atomic uint64_t ns;                      /* its approximate time: the sum of steps[i].ns */
    atomic_bool measured;
    bool kernels;                  /* some of the steps are */
    uint64_t parameters;           /* the start address of the other steps' parameters, */
    struct vulkan_uniform uniform; /* and that */
    uint32_t block_bytes;          /* the largest of them */
    char *blocks;                  /* theirs */
    struct sequence_step {
        struct adapter_step step;
        _Atomic uint64_t ns; /* measured, or as if a nanosecond were a byte or an operation: slow devices do that */
    } steps[];
};

/* The sequence's own copies of kernel parameters. */
static bool copy_blocks(struct adapter_sequence *sequence)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < sequence->count; i++)
        bytes += base_align_up(sequence->steps[i].step.block_bytes, 8);
    sequence->kernels = bytes;
    sequence->blocks = bytes ? malloc(bytes) : NULL;
    bytes = 0;
    for (uint32_t i = 0; i < sequence->count && sequence->blocks; i++) {
        struct adapter_step *step = &sequence->steps[i].step;
        if (!step->block_bytes)
            continue;
        step->block = memcpy(sequence->blocks + bytes, step->block, step->block_bytes);
        bytes += base_align_up(step->block_bytes, 8);
        sequence->block_bytes = BASE_MAX(sequence->block_bytes, step->block_bytes);
    }
    return sequence->blocks || !sequence->kernels;
}

HRESULT vulkan_sequence_create(struct adapter_device *device, const struct adapter_step *steps, uint32_t count,
                               struct adapter_memory *parameters, uint32_t table_count, struct adapter_sequence **out)
{
    struct adapter_sequence *sequence = *out = calloc(1, sizeof(*sequence) + count * sizeof(sequence->steps[0]));
    if (!sequence)
        return E_OUTOFMEMORY;
    sequence->parameters = parameters->address;
    sequence->count = count;
    sequence->table_count = table_count;
    for (uint32_t i = 0; i < count; i++) {
        sequence->steps[i].step = steps[i];
        atomic_init(&sequence->steps[i].ns, steps[i].work);
        sequence->ns += steps[i].work;
    }
    HRESULT hr = vulkan_arena_uniform(device, vulkan_memory_from(parameters), 0, &sequence->uniform);
    if (SUCCEEDED(hr) && copy_blocks(sequence))
        return S_OK;
    free(sequence);
    *out = NULL;
    return FAILED(hr) ? hr : E_OUTOFMEMORY;
}

/* One by one: Wine 8 crashes at a NULL among several. */
static void forget_commands(struct adapter_device *device, struct vulkan_replay *replay)
{
    for (uint32_t i = 0; i < VULKAN_REPLAY_FORMS; i++)
        if (replay->commands[i])
            vk.vkFreeCommandBuffers(device->handle, device->replays.pools[replay->role], 1, &replay->commands[i]);
    memset(replay->commands, 0, sizeof(replay->commands));
}

/* Under the lock. */
static void replay_free(struct adapter_device *device, struct vulkan_replay *replay)
{
    forget_commands(device, replay);
    free(replay);
}

void vulkan_sequence_destroy(struct adapter_device *device, struct adapter_sequence *sequence)
{
    pthread_mutex_lock(&device->replays.lock);
    for (uint32_t role = 0; role < VULKAN_ROLES; role++)
        for (struct vulkan_replay *replay = sequence->idle[role], *next; replay; replay = next) {
            next = replay->next;
            replay_free(device, replay);
        }
    pthread_mutex_unlock(&device->replays.lock);
    vulkan_tables_finish(device, &sequence->tables);
    free(sequence->blocks);
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

bool vulkan_sequence_fixed(const struct adapter_sequence *sequence)
{
    return sequence->kernels;
}

uint64_t vulkan_sequence_ns(const struct adapter_sequence *sequence)
{
    return atomic_load_explicit(&sequence->ns, memory_order_relaxed);
}

bool vulkan_sequence_watched(const struct adapter_device *device, const struct adapter_sequence *sequence,
                             enum vulkan_role role)
{
    const uint64_t ns = vulkan_sequence_ns(sequence);
    if (!device->watchdog_ns || ns <= device->watchdog_ns / UNMEASURED_SHARE)
        return false;
    return ns > device->watchdog_ns ||
           (device->physical->families[role].timestamp_bits && !atomic_load(&sequence->measured));
}

/* Other work may have delayed it: the shortest time is used. */
void vulkan_sequence_measured(struct adapter_sequence *sequence, const uint64_t *times_ns)
{
    const bool before = atomic_load(&sequence->measured);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < sequence->count; i++) {
        uint64_t ns = times_ns[i + 1] - times_ns[i];
        if (before)
            ns = BASE_MIN(ns, atomic_load(&sequence->steps[i].ns));
        atomic_store(&sequence->steps[i].ns, ns);
        sum += ns;
    }
    atomic_store(&sequence->ns, sum);
    atomic_store(&sequence->measured, true);
}

struct vulkan_push {
    uint64_t parameters, table;
    uint32_t groups;
};

/* State that is already set in the open command buffer. */
struct recorder {
    struct adapter_device *device;
    struct vulkan_record *record;
    VkCommandBuffer commands;
    const struct adapter_pipeline *pipeline;
    bool bound; /* the table */
    const struct adapter_sequence *sequence;
    struct vulkan_addresses table;
    void *block; /* room for a kernel's */
};

/* Not split: kernels use the total number of workgroups. State that is already set is not set again. */
static void record_kernel(struct recorder *recorder, const struct adapter_step *step)
{
    vulkan_kernel_resolve(step, recorder->table.host, recorder->block);
    vulkan_kernel_launch(recorder->device, recorder->record->commands, step->pipeline, step->groups, recorder->block);
    recorder->commands = VK_NULL_HANDLE;
}

static void bind_uniforms(struct recorder *recorder, const struct adapter_step *step)
{
    const struct vulkan_uniform *parameters = &recorder->sequence->uniform, *table = &recorder->table.uniform;
    const VkDescriptorSet sets[] = { parameters->set, table->set };
    const uint32_t offsets[] = { parameters->offset + (uint32_t)(step->parameters - recorder->sequence->parameters),
                                 table->offset };
    const uint32_t count = recorder->bound ? 1 : ARRAY_SIZE(sets); /* the table stays */
    vk.vkCmdBindDescriptorSets(recorder->record->commands, VK_PIPELINE_BIND_POINT_COMPUTE, recorder->device->layout, 0,
                               count, sets, count, offsets);
    recorder->bound = true;
}

static void give_parameters(struct recorder *recorder, const struct adapter_step *step)
{
    const VkCommandBuffer commands = recorder->record->commands;
    const struct vulkan_push push = { step->parameters, recorder->table.address, step->groups[0] };
    recorder->bound = recorder->bound && recorder->commands == commands;
    if (step->pipeline->uniforms)
        bind_uniforms(recorder, step);
    vk.vkCmdPushConstants(commands, recorder->device->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, VULKAN_PUSH_BYTES, &push);
}

/* Slice `slice` of `slices`. */
static void record_slice(struct recorder *recorder, const struct adapter_step *step, uint32_t slice, uint32_t slices)
{
    const VkCommandBuffer commands = recorder->record->commands;
    const uint32_t first = (uint32_t)((uint64_t)step->groups[0] * slice / slices);
    const uint32_t end = (uint32_t)((uint64_t)step->groups[0] * (slice + 1) / slices);
    if (recorder->commands != commands || recorder->pipeline != step->pipeline)
        vk.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, step->pipeline->handle);
    if (recorder->commands != commands || !slice)
        give_parameters(recorder, step);
    recorder->commands = commands;
    recorder->pipeline = step->pipeline;
    if (slices == 1)
        vk.vkCmdDispatch(commands, step->groups[0], step->groups[1], step->groups[2]);
    else
        vk.vkCmdDispatchBase(commands, first, 0, 0, end - first, step->groups[1], step->groups[2]);
}

static HRESULT record_step(struct recorder *recorder, const struct sequence_step *at)
{
    struct adapter_device *device = recorder->device;
    const struct adapter_step *step = &at->step;
    const uint64_t ns = atomic_load_explicit(&at->ns, memory_order_relaxed);
    const bool kernel = step->block_bytes;
    const uint32_t slices = kernel ? 1 : vulkan_record_slices(device, recorder->record, ns, step->groups[0]);
    HRESULT hr = S_OK;
    if (step->barrier)
        vulkan_barrier(recorder->record->commands, VULKAN_SCOPE_DISPATCHES, VULKAN_SCOPE_DISPATCHES);
    for (uint32_t k = 0; SUCCEEDED(hr) && k < slices; k++) {
        hr = vulkan_record_spend(device, recorder->record, ns / slices);
        if (SUCCEEDED(hr) && kernel)
            record_kernel(recorder, step);
        else if (SUCCEEDED(hr))
            record_slice(recorder, step, k, slices);
    }
    return hr;
}

HRESULT vulkan_sequence_record(struct adapter_device *device, struct vulkan_record *record,
                               const struct adapter_sequence *sequence, struct vulkan_addresses table,
                               const struct vulkan_timing *timing)
{
    struct recorder recorder = { .device = device, .record = record, .sequence = sequence, .table = table };
    HRESULT hr = S_OK;
    recorder.block = sequence->kernels ? malloc(sequence->block_bytes) : NULL;
    if (sequence->kernels && !recorder.block)
        return E_OUTOFMEMORY;
    for (uint32_t i = 0; SUCCEEDED(hr) && i < sequence->count; i++) {
        hr = record_step(&recorder, &sequence->steps[i]);
        if (timing && SUCCEEDED(hr))
            vulkan_timing_mark(timing, record->commands, i + 1);
    }
    free(recorder.block);
    return hr;
}

/* ---- replays, under the lock ---- */

static HRESULT replay_fill(struct adapter_device *device, const struct vulkan_replay *replay,
                           enum vulkan_replay_form form)
{
    const VkCommandBuffer commands = replay->commands[form];
    VkCommandBufferInheritanceInfo inheritance = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO };
    VkCommandBufferBeginInfo info = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                      .pInheritanceInfo = form == VULKAN_REPLAY_PART ? &inheritance : NULL };
    HRESULT hr = vulkan_hresult(vk.vkBeginCommandBuffer(commands, &info));
    if (FAILED(hr))
        return hr;
    struct vulkan_record record = { .commands = commands, .plain = true };
    if (form == VULKAN_REPLAY_BATCH)
        vulkan_barrier(commands, VULKAN_SCOPE_DEVICE, VULKAN_SCOPE_DEVICE);
    hr = vulkan_sequence_record(
        device, &record, replay->sequence,
        (struct vulkan_addresses){ replay->recorded, replay->table.address, replay->table.uniform }, NULL);
    if (form == VULKAN_REPLAY_BATCH)
        vulkan_barrier(commands, VULKAN_SCOPE_DEVICE, VULKAN_SCOPE_HOST);
    return SUCCEEDED(hr) ? vulkan_hresult(vk.vkEndCommandBuffer(commands)) : hr;
}

static HRESULT replay_record(struct adapter_device *device, struct vulkan_replay *replay, enum vulkan_replay_form form)
{
    VkCommandBuffer *commands = &replay->commands[form];
    VkCommandBufferAllocateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
        .commandPool = device->replays.pools[replay->role],
        .level = form == VULKAN_REPLAY_PART ? VK_COMMAND_BUFFER_LEVEL_SECONDARY : VK_COMMAND_BUFFER_LEVEL_PRIMARY,
        .commandBufferCount = 1,
    };
    HRESULT hr = vulkan_hresult(vk.vkAllocateCommandBuffers(device->handle, &info, commands));
    if (FAILED(hr)) {
        *commands = VK_NULL_HANDLE;
        return hr;
    }
    hr = replay_fill(device, replay, form);
    if (FAILED(hr)) {
        vk.vkFreeCommandBuffers(device->handle, device->replays.pools[replay->role], 1, commands);
        *commands = VK_NULL_HANDLE;
    }
    return hr;
}

static uint64_t table_bytes(const struct adapter_sequence *sequence)
{
    return sequence->table_count * sizeof(uint64_t);
}

static HRESULT replay_create(struct adapter_device *device, struct adapter_sequence *sequence, enum vulkan_role role,
                             struct vulkan_replay **out)
{
    struct vulkan_replay *replay = calloc(1, sizeof(*replay) + (sequence->kernels ? table_bytes(sequence) : 0));
    if (!replay)
        return E_OUTOFMEMORY;
    replay->sequence = sequence;
    replay->role = role;
    HRESULT hr = vulkan_table_take(device, &sequence->tables, sequence->table_count, &replay->table);
    if (SUCCEEDED(hr))
        *out = replay;
    else
        free(replay);
    return hr;
}

/* An idle replay that can run with the table as it was recorded; NULL: none. */
static struct vulkan_replay **find_idle(struct adapter_sequence *sequence, enum vulkan_role role, const uint64_t *table)
{
    struct vulkan_replay **at = &sequence->idle[role];
    while (*at && sequence->kernels && memcmp((*at)->recorded, table, table_bytes(sequence)) != 0)
        at = &(*at)->next;
    return *at ? at : NULL;
}

/* The one that has been idle for the longest time, if there are many. */
static struct vulkan_replay **find_old(struct adapter_sequence *sequence, enum vulkan_role role)
{
    struct vulkan_replay **at = &sequence->idle[role];
    uint32_t count = 0;
    for (; *at && (*at)->next; count++)
        at = &(*at)->next;
    return count + 1 >= IDLE_MAX ? at : NULL;
}

static HRESULT take_replay(struct adapter_device *device, struct adapter_sequence *sequence, const uint64_t *table,
                           enum vulkan_role role, struct vulkan_replay **out)
{
    struct vulkan_replay **fits = find_idle(sequence, role, table), **from = fits ? fits : find_old(sequence, role);
    HRESULT hr = S_OK;
    if (from) {
        *out = *from;
        *from = (*from)->next;
        if (!fits)
            forget_commands(device, *out); /* which have outdated addresses */
    } else {
        hr = replay_create(device, sequence, role, out);
    }
    if (SUCCEEDED(hr) && sequence->kernels)
        memcpy((*out)->recorded, table, table_bytes(sequence));
    return hr;
}

HRESULT vulkan_replay_acquire(struct adapter_device *device, struct adapter_sequence *sequence, const uint64_t *table,
                              struct vulkan_record *record, struct vulkan_replay **out)
{
    *out = NULL;
    if (sequence->count < REPLAY_STEPS_MIN)
        return S_OK;
    pthread_mutex_lock(&device->replays.lock);
    HRESULT hr = take_replay(device, sequence, table, record->role, out);
    pthread_mutex_unlock(&device->replays.lock);
    if (FAILED(hr))
        return hr;
    memcpy((*out)->table.host, table, table_bytes(sequence));
    (*out)->next = record->replays;
    record->replays = *out;
    return S_OK;
}

HRESULT vulkan_replay_need(struct adapter_device *device, struct vulkan_replay *replay, enum vulkan_replay_form form)
{
    if (replay->commands[form])
        return S_OK;
    pthread_mutex_lock(&device->replays.lock);
    HRESULT hr = replay_record(device, replay, form);
    pthread_mutex_unlock(&device->replays.lock);
    return hr;
}

void vulkan_replays_release(struct adapter_device *device, struct vulkan_replay **io)
{
    if (!*io)
        return;
    pthread_mutex_lock(&device->replays.lock);
    while (*io) {
        struct vulkan_replay *replay = *io;
        *io = replay->next;
        replay->next = replay->sequence->idle[replay->role];
        replay->sequence->idle[replay->role] = replay;
    }
    pthread_mutex_unlock(&device->replays.lock);
}
