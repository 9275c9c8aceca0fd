/* SPDX-License-Identifier: Apache-2.0 */
#include "d3d12/lists.h"

#include "base/arena.h"

#include <stdlib.h>

/* Most commands use the same objects as the previous one: checking the newest entries keeps `kept` short. */
#define KEPT_WINDOW 8

struct d3d_recording *d3d_recording_create(void)
{
    struct d3d_recording *recording = calloc(1, sizeof(*recording));
    if (recording)
        atomic_init(&recording->refs, 1);
    return recording;
}

void d3d_recording_ref(struct d3d_recording *recording)
{
    atomic_fetch_add(&recording->refs, 1);
}

void d3d_recording_clear(struct d3d_recording *recording)
{
    for (uint32_t i = 0; i < recording->dispatch_count; i++) {
        struct adapter_dispatch *dispatch = recording->commands[recording->dispatches[i].command].u.dispatch.dispatch;
        dispatch->ops->unref(dispatch);
    }
    for (uint32_t i = 0; i < recording->kept_count; i++)
        com_unref(recording->kept[i]);
    recording->command_count = recording->dispatch_count = recording->kept_count = recording->binding_count = 0;
    recording->captured_count = recording->use_count = 0;
    recording->late = false;
}

void d3d_recording_unref(struct d3d_recording *recording)
{
    if (!recording || atomic_fetch_sub(&recording->refs, 1) != 1)
        return;
    d3d_recording_clear(recording);
    free(recording->commands);
    free(recording->dispatches);
    free(recording->captured);
    free(recording->kept);
    free(recording->uses);
    free(recording);
}

bool d3d_recording_retain(struct d3d_recording *recording, struct com_object *object)
{
    uint32_t count = recording->kept_count;
    for (uint32_t i = count; i > 0 && i + KEPT_WINDOW > count; i--) {
        if (recording->kept[i - 1] == object)
            return true;
    }
    if (!base_array_reserve((void **)&recording->kept, count, &recording->kept_capacity, sizeof(*recording->kept)))
        return false;
    com_ref(object);
    recording->kept[recording->kept_count++] = object;
    return true;
}

struct adapter_command *d3d_recording_append(struct d3d_recording *recording, enum adapter_command_type type)
{
    if (!base_array_reserve((void **)&recording->commands, recording->command_count, &recording->command_capacity,
                            sizeof(*recording->commands)))
        return NULL;
    struct adapter_command *command = &recording->commands[recording->command_count++];
    memset(command, 0, sizeof(*command));
    command->type = type;
    return command;
}
