/* SPDX-License-Identifier: Apache-2.0 */
/* ID3D12GraphicsCommandList::ResourceBarrier. Buffers have no layout: every barrier becomes one full barrier. Arguments
 * are still checked, so that programs remain correct on other runtimes. */
#include "d3d12/lists.h"

#include "base/arena.h"

#define SPLIT_FLAGS (D3D12_RESOURCE_BARRIER_FLAG_BEGIN_ONLY | D3D12_RESOURCE_BARRIER_FLAG_END_ONLY)

static struct d3d_split *split_find(struct d3d_command_list *list, const struct d3d_split *wanted)
{
    for (uint32_t i = 0; i < list->split_count; i++) {
        const struct d3d_split *split = &list->splits[i];
        if (split->resource == wanted->resource && split->before == wanted->before && split->after == wanted->after)
            return &list->splits[i];
    }
    return NULL;
}

/* Pairs BEGIN_ONLY with END_ONLY. true: *out is the rule that is broken. */
static bool split_broken(struct d3d_command_list *list, const struct d3d_split *split, unsigned flags,
                         struct d3d_rule *out)
{
    struct d3d_split *begun = split_find(list, split);
    if (flags == SPLIT_FLAGS)
        return d3d_broken(out, D3D12_MESSAGE_ID_RESOURCE_BARRIER_INVALID_COMBINED_FLAGS,
                          "BEGIN_ONLY and END_ONLY exclude each other");
    if (flags == D3D12_RESOURCE_BARRIER_FLAG_END_ONLY) {
        if (!begun)
            return d3d_broken(out, D3D12_MESSAGE_ID_RESOURCE_BARRIER_UNMATCHED_END,
                              "END_ONLY without the BEGIN_ONLY barrier of the same states");
        *begun = list->splits[--list->split_count];
        return false;
    }
    if (begun)
        return d3d_broken(out, D3D12_MESSAGE_ID_RESOURCE_BARRIER_INVALID_SPLIT_BARRIER,
                          "the split barrier has begun already");
    if (flags != D3D12_RESOURCE_BARRIER_FLAG_BEGIN_ONLY)
        return false;
    if (!base_array_reserve((void **)&list->splits, list->split_count, &list->split_capacity, sizeof(*list->splits)))
        return d3d_broken(out, D3D12_MESSAGE_ID_UNKNOWN, "no memory");
    list->splits[list->split_count++] = *split;
    return false;
}

void d3d_list_check_splits(struct d3d_command_list *list)
{
    if (list->split_count)
        d3d_list_fail_as(list, E_INVALIDARG, D3D12_MESSAGE_ID_RESOURCE_BARRIER_UNMATCHED_BEGIN,
                         "ID3D12GraphicsCommandList::Close: %u split barriers have begun and not ended",
                         list->split_count);
}

/* Errors of the transition itself. */
static bool transition_broken(const D3D12_RESOURCE_TRANSITION_BARRIER *transition, const struct d3d_resource *resource,
                              struct d3d_rule *out)
{
    const unsigned states = (unsigned)transition->StateBefore | (unsigned)transition->StateAfter;
    if (!resource)
        return d3d_broken(out, D3D12_MESSAGE_ID_RESOURCE_BARRIER_NULL_POINTER,
                          "pResource was not created by this device");
    if (transition->Subresource && transition->Subresource != D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES)
        return d3d_broken(out, D3D12_MESSAGE_ID_RESOURCE_BARRIER_INVALID_SUBRESOURCE,
                          "Subresource must be 0 or ALL_SUBRESOURCES");
    if (transition->StateBefore == transition->StateAfter)
        return d3d_broken(out, D3D12_MESSAGE_ID_RESOURCE_BARRIER_MATCHING_STATES, "StateBefore equals StateAfter");
    if (d3d_broken(out, D3D12_MESSAGE_ID_RESOURCE_BARRIER_INVALID_COMBINATION,
                   d3d_states_error(transition->StateBefore)) ||
        d3d_broken(out, D3D12_MESSAGE_ID_RESOURCE_BARRIER_INVALID_COMBINATION,
                   d3d_states_error(transition->StateAfter)))
        return true;
    if (states & D3D12_RESOURCE_STATE_UNORDERED_ACCESS &&
        !(resource->desc.Flags & D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS))
        return d3d_broken(out, D3D12_MESSAGE_ID_RESOURCE_BARRIER_MISSING_BIND_FLAGS,
                          "UNORDERED_ACCESS needs a resource with ALLOW_UNORDERED_ACCESS");
    if (resource->properties.Type == D3D12_HEAP_TYPE_UPLOAD || resource->properties.Type == D3D12_HEAP_TYPE_READBACK)
        return d3d_broken(out, D3D12_MESSAGE_ID_RESOURCE_BARRIER_INVALID_HEAP,
                          "resources in UPLOAD and READBACK heaps never change their state");
    return false;
}

static bool transition_note(struct d3d_command_list *list, const D3D12_RESOURCE_TRANSITION_BARRIER *transition,
                            unsigned flags, struct d3d_rule *out)
{
    struct d3d_resource *resource = com_child(d3d_parent(list), transition->pResource, &d3d_resource_vtbl);
    struct d3d_split split = { resource, transition->StateBefore, transition->StateAfter };
    if (transition_broken(transition, resource, out) || split_broken(list, &split, flags, out))
        return true;
    if (!(flags & D3D12_RESOURCE_BARRIER_FLAG_BEGIN_ONLY))
        d3d_list_note_transition(list, &split);
    return false;
}

static bool aliasing_broken(struct d3d_command_list *list, ID3D12Resource *iface, struct d3d_rule *out)
{
    struct d3d_resource *resource = com_child(d3d_parent(list), iface, &d3d_resource_vtbl);
    bool right = resource && (resource->heap || resource->tiles);
    return iface && !right &&
           d3d_broken(out, D3D12_MESSAGE_ID_RESOURCE_BARRIER_INVALID_RESOURCE,
                      "an aliased resource must be a placed or reserved one of this device");
}

static bool uav_note(struct d3d_command_list *list, ID3D12Resource *iface, struct d3d_rule *out)
{
    struct d3d_resource *resource = com_child(d3d_parent(list), iface, &d3d_resource_vtbl);
    if (iface && !(resource && resource->desc.Flags & D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS))
        return d3d_broken(out, D3D12_MESSAGE_ID_RESOURCE_BARRIER_MISSING_BIND_FLAGS,
                          "a UAV barrier needs NULL or a resource of this device with ALLOW_UNORDERED_ACCESS");
    d3d_list_note_barrier(list, resource);
    return false;
}

/* Takes the barrier's note; true: *out is the rule that it breaks. */
static bool barrier_note(struct d3d_command_list *list, const D3D12_RESOURCE_BARRIER *barrier, struct d3d_rule *out)
{
    unsigned flags = (unsigned)barrier->Flags;
    if (flags & ~(unsigned)SPLIT_FLAGS || (flags && barrier->Type != D3D12_RESOURCE_BARRIER_TYPE_TRANSITION))
        return d3d_broken(out, D3D12_MESSAGE_ID_RESOURCE_BARRIER_INVALID_FLAG,
                          "Flags must be NONE, or BEGIN_ONLY or END_ONLY of a transition");
    switch ((int)barrier->Type) {
    case D3D12_RESOURCE_BARRIER_TYPE_TRANSITION:
        return transition_note(list, &barrier->Transition, flags, out);
    case D3D12_RESOURCE_BARRIER_TYPE_ALIASING:
        if (aliasing_broken(list, barrier->Aliasing.pResourceBefore, out) ||
            aliasing_broken(list, barrier->Aliasing.pResourceAfter, out))
            return true;
        d3d_list_note_barrier(list, NULL);
        return false;
    case D3D12_RESOURCE_BARRIER_TYPE_UAV:
        return uav_note(list, barrier->UAV.pResource, out);
    default:
        return d3d_broken(out, D3D12_MESSAGE_ID_RESOURCE_BARRIER_INVALID_TYPE,
                          "Type must be TRANSITION, ALIASING or UAV");
    }
}

void d3d_command_list_ResourceBarrier(D3D_LIST, UINT count, const D3D12_RESOURCE_BARRIER *barriers)
{
    struct d3d_command_list *list = d3d_command_list_from(iface);
    struct d3d_recording *recording = list->recording;
    if (!d3d_list_recording(list, "ResourceBarrier"))
        return;
    if (count && !barriers) {
        d3d_list_fail_as(list, E_INVALIDARG, D3D12_MESSAGE_ID_RESOURCE_BARRIER_NULL_POINTER,
                         "ID3D12GraphicsCommandList::ResourceBarrier: pBarriers is NULL");
        return;
    }
    for (UINT i = 0; i < count; i++) {
        struct d3d_rule rule;
        if (!barrier_note(list, &barriers[i], &rule))
            continue;
        d3d_list_fail_as(list, E_INVALIDARG, rule.id,
                         "ID3D12GraphicsCommandList::ResourceBarrier: pBarriers[%u], type %d: %s", i,
                         (int)barriers[i].Type, rule.text);
        return;
    }
    bool already =
        recording->command_count && recording->commands[recording->command_count - 1].type == ADAPTER_BARRIER;
    if (count && !already)
        d3d_list_append(list, ADAPTER_BARRIER, NULL, NULL);
}
