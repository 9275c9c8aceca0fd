/* SPDX-License-Identifier: Apache-2.0 */
/* The debug layer's tracking of buffer states and of hazards between dispatches. AnyDML does not depend on either,
 * other runtimes do. A list is checked while it is recorded, starting from COMMON, the state of a buffer at each call
 * of ExecuteCommandLists. Checks that need the whole call are made there: lists that follow one another in it, and
 * bindings that are known only then. */
#include "d3d12/lists.h"

#include "base/arena.h"

#include <stdio.h>
#include <stdlib.h>

void d3d_states_clear(struct d3d_states *states)
{
    states->count = states->pending_count = states->commands = 0;
}

void d3d_states_finish(struct d3d_states *states)
{
    free(states->states);
    free(states->pending);
}

/* ---- words ---- */

static void resource_name(struct d3d_device *device, uint64_t id, char *out, size_t size)
{
    pthread_mutex_lock(&device->tables_lock);
    struct d3d_resource *resource = d3d_table_find(&device->resources, id);
    bool there = resource && com_try_ref(&resource->pageable.base);
    pthread_mutex_unlock(&device->tables_lock);
    snprintf(out, size, "%s", "");
    if (!there)
        return;
    com_object_name(&resource->pageable.base, out, size);
    com_unref(&resource->pageable.base);
}

static const char *state_name(D3D12_RESOURCE_STATES state)
{
    switch ((unsigned)state) {
    case D3D12_RESOURCE_STATE_COMMON:
        return "COMMON";
    case D3D12_RESOURCE_STATE_UNORDERED_ACCESS:
        return "UNORDERED_ACCESS";
    case D3D12_RESOURCE_STATE_COPY_DEST:
        return "COPY_DEST";
    case D3D12_RESOURCE_STATE_COPY_SOURCE:
        return "COPY_SOURCE";
    case D3D12_RESOURCE_STATE_GENERIC_READ:
        return "GENERIC_READ";
    default:
        return "others";
    }
}

/* "ID3D12...::Method", and for dispatches the operator and the descriptor. */
static void use_name(const struct d3d_use *use, char *out, size_t size)
{
    char operator[256];
    if (!use->dispatch) {
        snprintf(out, size, "%s", use->what);
        return;
    }
    snprintf(operator, sizeof(operator), "a dispatch");
    if (use->dispatch->ops->describe)
        use->dispatch->ops->describe(use->dispatch, operator, sizeof(operator));
    snprintf(out, size, "%s: %s, descriptor %u", use->what, operator, use->slot);
}

static void report_state(struct d3d_device *device, const struct d3d_use *use, const struct d3d_state *state)
{
    char what[320], name[128], text[768];
    use_name(use, what, sizeof(what));
    resource_name(device, use->resource_id, name, sizeof(name));
    snprintf(text, sizeof(text), "%s: needs the state 0x%x (%s), but the buffer \"%s\" is in 0x%x (%s)%s", what,
             (unsigned)use->state, state_name(use->state), name, (unsigned)state->state, state_name(state->state),
             state->promoted ? ", promoted from COMMON by an earlier command" : "");
    if (use->kind == D3D_USE_TRANSITION)
        d3d_message(device, D3D12_MESSAGE_SEVERITY_ERROR, D3D12_MESSAGE_CATEGORY_RESOURCE_MANIPULATION,
                    D3D12_MESSAGE_ID_RESOURCE_BARRIER_BEFORE_AFTER_MISMATCH, text);
    else /* accesses through descriptors are checked by GPU-based validation there */
        d3d_message(device, D3D12_MESSAGE_SEVERITY_ERROR, D3D12_MESSAGE_CATEGORY_EXECUTION,
                    use->dispatch ? D3D12_MESSAGE_ID_GPU_BASED_VALIDATION_INCOMPATIBLE_RESOURCE_STATE
                                  : D3D12_MESSAGE_ID_INVALID_SUBRESOURCE_STATE,
                    text);
}

/* Direct3D 12 has no message ID for this. */
static void report_race(struct d3d_device *device, const struct d3d_use *use, const struct d3d_use *before)
{
    char what[320], earlier[320], name[128], text[1024];
    use_name(use, what, sizeof(what));
    use_name(before, earlier, sizeof(earlier));
    resource_name(device, use->resource_id, name, sizeof(name));
    snprintf(text, sizeof(text),
             "%s: %s bytes of the buffer \"%s\" which an earlier command %s (%s), and no UAV barrier is between them: "
             "that is in order here, but a race on Windows",
             what, use->writes ? "writes" : "reads", name, before->writes ? "writes" : "reads", earlier);
    d3d_message(device, D3D12_MESSAGE_SEVERITY_WARNING, D3D12_MESSAGE_CATEGORY_EXECUTION, D3D12_MESSAGE_ID_UNKNOWN,
                text);
}

/* ---- effect of each use on the states ---- */

/* NULL: memory is short, and only a diagnostic is lost. */
static struct d3d_state *state_of(struct d3d_states *states, uint64_t resource_id)
{
    for (uint32_t i = 0; i < states->count; i++) {
        if (states->states[i].resource_id == resource_id)
            return &states->states[i];
    }
    if (!base_array_reserve((void **)&states->states, states->count, &states->capacity, sizeof(*states->states)))
        return NULL;
    states->states[states->count] = (struct d3d_state){ resource_id, D3D12_RESOURCE_STATE_COMMON, false };
    return &states->states[states->count++];
}

/* Previous accesses of this resource (0: of all) are ordered before the following ones. */
static void pending_drop(struct d3d_states *states, uint64_t resource_id)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; resource_id && i < states->pending_count; i++) {
        if (states->pending[i].resource_id != resource_id)
            states->pending[kept++] = states->pending[i];
    }
    states->pending_count = kept;
}

static bool races(const struct d3d_use *a, const struct d3d_use *b)
{
    return a->resource_id == b->resource_id && a->command != b->command && (a->writes || b->writes) &&
           a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
}

static void apply_order(struct d3d_device *device, struct d3d_states *states, struct d3d_use *use)
{
    for (uint32_t i = 0; i < states->pending_count; i++) {
        if (!races(use, &states->pending[i]))
            continue;
        if (!use->reported)
            report_race(device, use, &states->pending[i]);
        use->reported = true;
        pending_drop(states, use->resource_id); /* one message for one missing barrier */
        break;
    }
    if (base_array_reserve((void **)&states->pending, states->pending_count, &states->pending_capacity,
                           sizeof(*states->pending)))
        states->pending[states->pending_count++] = *use;
}

static void apply(struct d3d_device *device, struct d3d_states *states, struct d3d_use *use)
{
    struct d3d_state *state = use->kind == D3D_USE_BARRIER ? NULL : state_of(states, use->resource_id);
    if (use->kind != D3D_USE_ACCESS)
        pending_drop(states, use->resource_id);
    if (!state)
        return;
    bool common = state->state == D3D12_RESOURCE_STATE_COMMON;
    bool fits = common || (use->kind == D3D_USE_TRANSITION ? state->state == use->state : state->state & use->state);
    if (!fits && !use->reported)
        report_state(device, use, state);
    use->reported |= !fits;
    if (use->kind == D3D_USE_TRANSITION)
        *state = (struct d3d_state){ use->resource_id, use->after, false };
    else if (common)
        *state = (struct d3d_state){ use->resource_id, use->state, true };
    if (use->kind == D3D_USE_ACCESS && use->state == D3D12_RESOURCE_STATE_UNORDERED_ACCESS && fits)
        apply_order(device, states, use);
}

/* ---- while a list is recorded ---- */

static void note(struct d3d_command_list *list, struct d3d_use *use)
{
    struct d3d_recording *recording = list->recording;
    if (use->kind != D3D_USE_LATE)
        apply(d3d_parent(list), &list->states, use);
    if (base_array_reserve((void **)&recording->uses, recording->use_count, &recording->use_capacity,
                           sizeof(*recording->uses)))
        recording->uses[recording->use_count++] = *use;
}

/* Whether a resource's state can change: in UPLOAD and READBACK heaps it cannot. */
static bool has_states(const struct d3d_resource *resource)
{
    return resource->properties.Type != D3D12_HEAP_TYPE_UPLOAD && resource->properties.Type != D3D12_HEAP_TYPE_READBACK;
}

void d3d_list_note_access(struct d3d_command_list *list, const char *what, const struct adapter_binding *range,
                          const struct d3d_resource *resource, D3D12_RESOURCE_STATES state)
{
    if (!d3d_parent(list)->info_queue || !has_states(resource))
        return;
    struct d3d_use use = { .kind = D3D_USE_ACCESS,
                           .what = what,
                           .command = list->recording->command_count,
                           .resource_id = resource->id,
                           .offset = range->offset,
                           .bytes = range->size,
                           .state = state,
                           .writes = state != D3D12_RESOURCE_STATE_COPY_SOURCE };
    note(list, &use);
}

void d3d_list_note_transition(struct d3d_command_list *list, const struct d3d_split *split)
{
    struct d3d_use use = { .kind = D3D_USE_TRANSITION,
                           .what = "ID3D12GraphicsCommandList::ResourceBarrier: StateBefore",
                           .resource_id = split->resource->id,
                           .state = split->before,
                           .after = split->after };
    if (d3d_parent(list)->info_queue)
        note(list, &use);
}

void d3d_list_note_barrier(struct d3d_command_list *list, const struct d3d_resource *resource)
{
    struct d3d_use use = { .kind = D3D_USE_BARRIER, .resource_id = resource ? resource->id : 0 };
    if (d3d_parent(list)->info_queue)
        note(list, &use);
}

/* ---- dispatches ---- */

/* The access of the dispatch to its slot; false: no access. `out` has the command and the dispatch.
 */
static bool slot_use(struct d3d_device *device, uint32_t slot, uint64_t resource_id, struct d3d_use *out)
{
    enum adapter_access access = out->dispatch->ops->access(out->dispatch, slot, &out->bytes);
    if (access == ADAPTER_ACCESS_NONE || !resource_id)
        return false;
    pthread_mutex_lock(&device->tables_lock);
    const struct d3d_resource *resource = d3d_table_find(&device->resources, resource_id);
    bool counts = resource && has_states(resource);
    out->offset = counts ? resource->offset : 0;
    pthread_mutex_unlock(&device->tables_lock);
    out->kind = D3D_USE_ACCESS;
    out->what = "IDMLCommandRecorder::RecordDispatch";
    out->slot = slot;
    out->resource_id = resource_id;
    out->state = D3D12_RESOURCE_STATE_UNORDERED_ACCESS; /* including inputs */
    out->writes = access == ADAPTER_ACCESS_WRITE;
    return counts;
}

/* The binding of the slot, if known at recording. */
static const struct anydml_buffer *slot_captured(const struct d3d_recording *recording,
                                                 const struct d3d_dispatch_slots *slots, uint32_t slot)
{
    const struct anydml_buffer *buffer =
        slots->captured == UINT32_MAX ? NULL : &recording->captured[slots->captured + slot];
    return buffer && buffer->resource_id ? buffer : NULL;
}

void d3d_list_note_dispatch(struct d3d_command_list *list)
{
    struct d3d_device *device = d3d_parent(list);
    struct d3d_recording *recording = list->recording;
    if (!device->info_queue)
        return;
    const struct d3d_dispatch_slots *slots = &recording->dispatches[recording->dispatch_count - 1];
    struct adapter_dispatch *dispatch = recording->commands[slots->command].u.dispatch.dispatch;
    struct d3d_use late = { .kind = D3D_USE_LATE, .slot = recording->dispatch_count - 1 };
    bool any_late = false;
    for (uint32_t i = 0; dispatch->ops->access && i < slots->count; i++) {
        struct d3d_use use = { .command = slots->command, .dispatch = dispatch };
        const struct anydml_buffer *buffer = slot_captured(recording, slots, i);
        any_late |= !buffer;
        if (!buffer || !slot_use(device, i, buffer->resource_id, &use))
            continue;
        use.offset += buffer->offset;
        note(list, &use);
    }
    recording->late |= any_late;
    if (any_late)
        note(list, &late);
}

/* ---- when lists are executed ---- */

static void apply_late(struct d3d_device *device, struct d3d_states *states, const struct d3d_recording *recording,
                       const struct d3d_dispatch_slots *slots, const struct adapter_command *command)
{
    struct adapter_dispatch *dispatch = command->u.dispatch.dispatch;
    for (uint32_t i = 0; i < slots->count; i++) {
        const struct adapter_binding *binding = &command->u.dispatch.bindings[i];
        struct d3d_use use = { .command = states->commands + slots->command, .dispatch = dispatch };
        if (slot_captured(recording, slots, i) || !slot_use(device, i, binding->resource_id, &use))
            continue;
        use.offset = binding->offset;
        apply(device, states, &use);
    }
}

static void replay(struct d3d_device *device, struct d3d_states *states, const struct d3d_recording *recording,
                   const struct adapter_command *commands)
{
    for (uint32_t i = 0; i < recording->use_count; i++) {
        struct d3d_use use = recording->uses[i];
        const struct d3d_dispatch_slots *slots = use.kind == D3D_USE_LATE ? &recording->dispatches[use.slot] : NULL;
        use.command += states->commands;
        if (slots)
            apply_late(device, states, recording, slots, &commands[slots->command]);
        else
            apply(device, states, &use);
    }
    states->commands += recording->command_count;
}

void d3d_submission_check_states(struct d3d_device *device, const struct d3d_submission *submission)
{
    struct d3d_states states = { 0 };
    uint32_t count = device->info_queue ? submission->batch.list_count : 0;
    bool news = count > 1;
    for (uint32_t i = 0; i < count; i++)
        news |= submission->recordings[i]->late;
    for (uint32_t i = 0; news && i < count; i++)
        replay(device, &states, submission->recordings[i], submission->batch.lists[i]);
    d3d_states_finish(&states);
}
