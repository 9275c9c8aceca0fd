/* SPDX-License-Identifier: Apache-2.0 */
/* Encoding of libdirectml's dispatches. */
#include "adapter/vulkan/vulkan.h"

#include "base/arena.h"

#include <stdlib.h>

/* The tables of commands in the application's command buffers, in the order of their sequences. */
struct adapter_recorded {
    struct vulkan_slot **slots;
    uint32_t count, capacity;
};

struct vulkan_encoder {
    struct adapter_encoder base;
    struct adapter_device *device;
    struct vulkan_record *record;
    bool closed;                       /* the record is not open yet: perhaps `batch` is all */
    struct vulkan_replay *batch;       /* the first sequence, not recorded yet; NULL: none */
    HRESULT result;                    /* of copies and barriers */
    struct adapter_recorded *recorded; /* NULL: the record's own tables are used */
    uint32_t sequences;                /* so far */
    bool edges, copied;                /* barriers for copies are needed around all; there was one */
};

static HRESULT execute_replay(struct vulkan_encoder *encoder, struct vulkan_replay *replay)
{
    HRESULT hr = vulkan_replay_need(encoder->device, replay, VULKAN_REPLAY_PART);
    if (SUCCEEDED(hr))
        hr = vulkan_record_spend(encoder->device, encoder->record, vulkan_sequence_ns(replay->sequence));
    if (SUCCEEDED(hr))
        vk.vkCmdExecuteCommands(encoder->record->commands, 1, &replay->commands[VULKAN_REPLAY_PART]);
    return hr;
}

/* There is more than a sequence that was recorded long before. */
static HRESULT open_record(struct vulkan_encoder *encoder)
{
    struct vulkan_record *record = encoder->record;
    struct vulkan_replay *batch = encoder->batch;
    if (!encoder->closed)
        return S_OK;
    encoder->closed = false;
    encoder->batch = NULL;
    HRESULT hr = vulkan_record_open(encoder->device, record);
    if (FAILED(hr))
        return hr;
    vulkan_barrier(record->commands, record->scope, record->scope);
    return batch ? execute_replay(encoder, batch) : S_OK;
}

/* The table of the next sequence: the one that it had before, if there is one. */
static HRESULT recorded_table(struct vulkan_encoder *encoder, uint32_t count, struct vulkan_table *out)
{
    struct adapter_recorded *recorded = encoder->recorded;
    const uint32_t at = encoder->sequences++;
    if (!base_array_reserve((void **)&recorded->slots, recorded->count, &recorded->capacity, sizeof(*recorded->slots)))
        return E_OUTOFMEMORY;
    if (at == recorded->count)
        recorded->slots[recorded->count++] = NULL;
    struct vulkan_slot **slot = &recorded->slots[at];
    if (!*slot || (*slot)->capacity < count) {
        vulkan_slot_release(encoder->device, *slot);
        HRESULT hr = vulkan_slot_take(encoder->device, count, slot);
        if (FAILED(hr))
            return hr;
    }
    *out = (*slot)->table;
    return S_OK;
}

static HRESULT record_sequence(struct vulkan_encoder *encoder, struct adapter_sequence *sequence,
                               const uint64_t *addresses, bool timed, const struct adapter_tracer *tracer)
{
    struct vulkan_record *record = encoder->record;
    const uint32_t count = vulkan_sequence_table_count(sequence);
    struct vulkan_table table;
    HRESULT hr = encoder->recorded ? recorded_table(encoder, count, &table)
                                   : vulkan_table_take(encoder->device, &record->tables, count, &table);
    if (FAILED(hr))
        return hr;
    memcpy(table.host, addresses, count * sizeof(*addresses));
    return vulkan_sequence_record(encoder->device, record, sequence,
                                  (struct vulkan_addresses){ addresses, table.address, table.uniform },
                                  timed ? vulkan_timing_begin(encoder->device, record, sequence, tracer) : NULL);
}

static HRESULT encoder_run(struct adapter_encoder *base, struct adapter_sequence *sequence, const uint64_t *table,
                           const struct adapter_tracer *tracer)
{
    struct vulkan_encoder *encoder = (struct vulkan_encoder *)base;
    struct vulkan_record *record = encoder->record;
    struct vulkan_replay *replay = NULL;
    HRESULT hr = S_OK;
    const bool timed = !record->plain && (tracer || vulkan_sequence_watched(encoder->device, sequence, record->role));
    if (!record->plain && !timed)
        hr = vulkan_replay_acquire(encoder->device, sequence, table, record, &replay);
    if (FAILED(hr))
        return hr;
    if (replay && encoder->closed && !encoder->batch) {
        encoder->batch = replay;
        return S_OK;
    }
    hr = open_record(encoder);
    if (FAILED(hr))
        return hr;
    return replay ? execute_replay(encoder, replay) : record_sequence(encoder, sequence, table, timed, tracer);
}

static void encoder_copy(struct adapter_encoder *base, const struct adapter_binding *to,
                         const struct adapter_binding *from, uint64_t bytes)
{
    struct vulkan_encoder *encoder = (struct vulkan_encoder *)base;
    if (SUCCEEDED(encoder->result))
        encoder->result = open_record(encoder);
    if (encoder->edges && !encoder->copied)
        vulkan_barrier(encoder->record->commands, VULKAN_SCOPE_DISPATCHES, VULKAN_SCOPE_DEVICE);
    encoder->copied = true;
    if (SUCCEEDED(encoder->result))
        encoder->result = vulkan_record_copy(encoder->device, encoder->record, to, from, bytes);
}

static void encoder_barrier(struct adapter_encoder *base)
{
    struct vulkan_encoder *encoder = (struct vulkan_encoder *)base;
    if (SUCCEEDED(encoder->result))
        encoder->result = open_record(encoder);
    if (SUCCEEDED(encoder->result))
        vulkan_barrier(encoder->record->commands, VULKAN_SCOPE_DEVICE, VULKAN_SCOPE_DEVICE);
}

static HRESULT encode(struct vulkan_encoder *encoder, struct adapter_dispatch *dispatch,
                      const struct adapter_binding *bindings, uint32_t count)
{
    encoder->base = (struct adapter_encoder){ encoder_run, encoder_copy, encoder_barrier, encoder->recorded != NULL };
    HRESULT hr = dispatch->ops->encode(dispatch, bindings, count, &encoder->base);
    return FAILED(hr) ? hr : encoder->result;
}

HRESULT vulkan_dispatch_record(struct adapter_device *device, struct vulkan_record *record,
                               struct adapter_dispatch *dispatch, const struct adapter_binding *bindings,
                               uint32_t count)
{
    struct vulkan_encoder encoder = { .device = device, .record = record };
    return encode(&encoder, dispatch, bindings, count);
}

HRESULT vulkan_dispatch_replay(struct adapter_device *device, struct vulkan_record *record,
                               const struct adapter_command *command, VkCommandBuffer *out)
{
    struct vulkan_encoder encoder = { .device = device, .record = record, .closed = true };
    *out = VK_NULL_HANDLE;
    HRESULT hr =
        encode(&encoder, command->u.dispatch.dispatch, command->u.dispatch.bindings, command->u.dispatch.binding_count);
    if (FAILED(hr) || !encoder.batch)
        return SUCCEEDED(hr) ? open_record(&encoder) : hr;
    hr = vulkan_replay_need(device, encoder.batch, VULKAN_REPLAY_BATCH);
    if (SUCCEEDED(hr))
        *out = encoder.batch->commands[VULKAN_REPLAY_BATCH];
    return hr;
}

/* ---- the application's command buffers ---- */

/* Recording the same bindings again writes equal tables: previously recorded commands may still read them. */
HRESULT vulkan_record(struct adapter_device *device, VkCommandBuffer commands, bool edges,
                      struct adapter_dispatch *dispatch, const struct adapter_binding *bindings, uint32_t count,
                      struct adapter_recorded **io)
{
    struct adapter_recorded *recorded = *io ? *io : calloc(1, sizeof(*recorded));
    if (!recorded)
        return E_OUTOFMEMORY;
    *io = recorded;
    struct vulkan_record record = { .commands = commands, .plain = true };
    struct vulkan_encoder encoder = { .device = device, .record = &record, .recorded = recorded, .edges = edges };
    HRESULT hr = encode(&encoder, dispatch, bindings, count);
    if (edges && encoder.copied)
        vulkan_barrier(commands, VULKAN_SCOPE_DEVICE, VULKAN_SCOPE_DISPATCHES);
    return hr;
}

static HRESULT rebind_run(struct adapter_encoder *base, struct adapter_sequence *sequence, const uint64_t *addresses,
                          const struct adapter_tracer *tracer)
{
    struct vulkan_encoder *encoder = (struct vulkan_encoder *)base;
    const uint32_t count = vulkan_sequence_table_count(sequence);
    (void)tracer;
    if (encoder->sequences >= encoder->recorded->count)
        return E_INVALIDARG;
    struct vulkan_slot *slot = encoder->recorded->slots[encoder->sequences++];
    if (!slot || slot->capacity < count || vulkan_sequence_fixed(sequence))
        return E_INVALIDARG;
    memcpy(slot->table.host, addresses, count * sizeof(*addresses));
    return S_OK;
}

static void rebind_copy(struct adapter_encoder *base, const struct adapter_binding *to,
                        const struct adapter_binding *from, uint64_t bytes)
{
    (void)to, (void)from, (void)bytes;
    ((struct vulkan_encoder *)base)->result = E_INVALIDARG; /* its buffers are part of the recording */
}

static void rebind_barrier(struct adapter_encoder *base)
{
    (void)base;
}

HRESULT vulkan_rebind(struct adapter_device *device, struct adapter_dispatch *dispatch,
                      const struct adapter_binding *bindings, uint32_t count, struct adapter_recorded *recorded)
{
    struct vulkan_encoder encoder = { { rebind_run, rebind_copy, rebind_barrier, true },
                                      .device = device,
                                      .recorded = recorded };
    HRESULT hr = dispatch->ops->encode(dispatch, bindings, count, &encoder.base);
    return FAILED(hr) ? hr : encoder.result;
}

void vulkan_recorded_destroy(struct adapter_device *device, struct adapter_recorded *recorded)
{
    for (uint32_t i = 0; i < recorded->count; i++)
        vulkan_slot_release(device, recorded->slots[i]);
    free(recorded->slots);
    free(recorded);
}
