/* SPDX-License-Identifier: Apache-2.0 */
/* What dispatches of libdirectml do while they are encoded. */
#include "adapter/vulkan/vulkan.h"

#include <stdlib.h>

struct vulkan_encoder {
    struct adapter_encoder base;
    struct adapter_device *device;
    struct vulkan_record *record;
    HRESULT result; /* of copies */
};

static HRESULT encoder_run(struct adapter_encoder *base, struct adapter_sequence *sequence,
                           const struct adapter_tracer *tracer, uint64_t **out_table)
{
    struct vulkan_encoder *encoder = (struct vulkan_encoder *)base;
    struct vulkan_record *record = encoder->record;
    struct vulkan_replay *replay = NULL;
    struct vulkan_table table;
    HRESULT hr = S_OK;
    const bool timed = !record->plain && (tracer || vulkan_sequence_watched(encoder->device, sequence, record->role));
    if (!record->plain && !timed)
        hr = vulkan_replay_acquire(encoder->device, sequence, record, &replay);
    if (SUCCEEDED(hr) && replay) {
        *out_table = replay->table.host;
        hr = vulkan_record_spend(encoder->device, record, vulkan_sequence_ns(sequence));
        if (SUCCEEDED(hr))
            vk.vkCmdExecuteCommands(record->commands, 1, &replay->commands);
        return hr;
    }
    if (SUCCEEDED(hr))
        hr = vulkan_table_take(encoder->device, &record->tables, vulkan_sequence_table_count(sequence), &table);
    if (SUCCEEDED(hr)) {
        *out_table = table.host;
        hr = vulkan_sequence_record(encoder->device, record, sequence, table.address,
                                    timed ? vulkan_timing_begin(encoder->device, record, sequence, tracer) : NULL);
    }
    return hr;
}

static void encoder_copy(struct adapter_encoder *base, const struct adapter_binding *to,
                         const struct adapter_binding *from, uint64_t bytes)
{
    struct vulkan_encoder *encoder = (struct vulkan_encoder *)base;
    if (SUCCEEDED(encoder->result))
        encoder->result = vulkan_record_copy(encoder->device, encoder->record, to, from, bytes);
}

static void encoder_barrier(struct adapter_encoder *base)
{
    vulkan_barrier(((struct vulkan_encoder *)base)->record->commands, VULKAN_SCOPE_DEVICE, VULKAN_SCOPE_DEVICE);
}

HRESULT vulkan_dispatch_record(struct adapter_device *device, struct vulkan_record *record,
                               struct adapter_dispatch *dispatch, const struct adapter_binding *bindings,
                               uint32_t count)
{
    struct vulkan_encoder encoder = {
        .base = { encoder_run, encoder_copy, encoder_barrier },
        .device = device,
        .record = record,
    };
    HRESULT hr = dispatch->ops->encode(dispatch, bindings, count, &encoder.base);
    return FAILED(hr) ? hr : encoder.result;
}

/* ---- the application's command buffers ---- */

/* The tables of what was recorded. */
struct adapter_recorded {
    struct vulkan_tables tables;
};

/* Recorded once more, the same bindings make the same tables: commands of before may still read them. */
HRESULT vulkan_record(struct adapter_device *device, VkCommandBuffer commands, struct adapter_dispatch *dispatch,
                      const struct adapter_binding *bindings, uint32_t count, struct adapter_recorded **io)
{
    struct adapter_recorded *recorded = *io ? *io : calloc(1, sizeof(*recorded));
    if (!recorded)
        return E_OUTOFMEMORY;
    vulkan_tables_reset(&recorded->tables);
    struct vulkan_record record = { .commands = commands, .plain = true, .tables = recorded->tables };
    HRESULT hr = vulkan_dispatch_record(device, &record, dispatch, bindings, count);
    recorded->tables = record.tables;
    *io = recorded;
    return hr;
}

void vulkan_recorded_destroy(struct adapter_device *device, struct adapter_recorded *recorded)
{
    vulkan_tables_finish(device, &recorded->tables);
    free(recorded);
}
