/* SPDX-License-Identifier: Apache-2.0 */
/* ID3D12GraphicsCommandList::ResourceBarrier. Buffers have no layout: whatever the barrier says, it becomes one full
 * barrier. Its arguments are still checked, so that programs stay correct elsewhere. */
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

/* Pairs BEGIN_ONLY with END_ONLY. NULL or the rule that is broken. */
static const char *split_error(struct d3d_command_list *list, const struct d3d_split *split, unsigned flags)
{
    struct d3d_split *begun = split_find(list, split);
    if (flags == SPLIT_FLAGS)
        return "BEGIN_ONLY and END_ONLY exclude each other";
    if (flags == D3D12_RESOURCE_BARRIER_FLAG_END_ONLY) {
        if (!begun)
            return "END_ONLY without the BEGIN_ONLY barrier of the same states";
        *begun = list->splits[--list->split_count];
        return NULL;
    }
    if (begun)
        return "the split barrier has begun already";
    if (flags != D3D12_RESOURCE_BARRIER_FLAG_BEGIN_ONLY)
        return NULL;
    if (!base_array_reserve((void **)&list->splits, list->split_count, &list->split_capacity, sizeof(*list->splits)))
        return "no memory";
    list->splits[list->split_count++] = *split;
    return NULL;
}

void d3d_list_check_splits(struct d3d_command_list *list)
{
    if (list->split_count)
        d3d_list_fail(list, E_INVALIDARG,
                      "ID3D12GraphicsCommandList::Close: %u split barriers have begun and not ended",
                      list->split_count);
}

static const char *transition_error(struct d3d_command_list *list, const D3D12_RESOURCE_TRANSITION_BARRIER *transition,
                                    unsigned flags)
{
    struct d3d_resource *resource = com_child(d3d_parent(list), transition->pResource, &d3d_resource_vtbl);
    struct d3d_split split = { resource, transition->StateBefore, transition->StateAfter };
    if (!resource)
        return "pResource is no resource of this device";
    if (transition->Subresource && transition->Subresource != D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES)
        return "Subresource must be 0 or ALL_SUBRESOURCES";
    if (split.before == split.after)
        return "StateBefore equals StateAfter";
    const char *error = d3d_states_error(split.before);
    if (!error)
        error = d3d_states_error(split.after);
    if (error)
        return error;
    if ((split.before | split.after) & D3D12_RESOURCE_STATE_UNORDERED_ACCESS &&
        !(resource->desc.Flags & D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS))
        return "UNORDERED_ACCESS needs a resource with ALLOW_UNORDERED_ACCESS";
    if (resource->properties.Type == D3D12_HEAP_TYPE_UPLOAD || resource->properties.Type == D3D12_HEAP_TYPE_READBACK)
        return "resources in UPLOAD and READBACK heaps never change their state";
    error = split_error(list, &split, flags);
    if (!error && !(flags & D3D12_RESOURCE_BARRIER_FLAG_BEGIN_ONLY))
        d3d_list_note_transition(list, &split);
    return error;
}

static const char *aliasing_error(struct d3d_command_list *list, ID3D12Resource *iface)
{
    struct d3d_resource *resource = com_child(d3d_parent(list), iface, &d3d_resource_vtbl);
    bool right = resource && (resource->heap || resource->tiles);
    return iface && !right ? "an aliased resource must be a placed or reserved one of this device" : NULL;
}

static const char *barrier_error(struct d3d_command_list *list, const D3D12_RESOURCE_BARRIER *barrier)
{
    unsigned flags = (unsigned)barrier->Flags;
    if (flags & ~(unsigned)SPLIT_FLAGS || (flags && barrier->Type != D3D12_RESOURCE_BARRIER_TYPE_TRANSITION))
        return "Flags must be NONE, or BEGIN_ONLY or END_ONLY of a transition";
    switch ((int)barrier->Type) {
    case D3D12_RESOURCE_BARRIER_TYPE_TRANSITION:
        return transition_error(list, &barrier->Transition, flags);
    case D3D12_RESOURCE_BARRIER_TYPE_ALIASING: {
        const char *error = aliasing_error(list, barrier->Aliasing.pResourceBefore);
        d3d_list_note_barrier(list, NULL);
        return error ? error : aliasing_error(list, barrier->Aliasing.pResourceAfter);
    }
    case D3D12_RESOURCE_BARRIER_TYPE_UAV: {
        struct d3d_resource *resource = com_child(d3d_parent(list), barrier->UAV.pResource, &d3d_resource_vtbl);
        if (resource || !barrier->UAV.pResource)
            d3d_list_note_barrier(list, resource);
        if (!barrier->UAV.pResource)
            return NULL;
        return resource && resource->desc.Flags & D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS
                   ? NULL
                   : "a UAV barrier needs NULL or a resource of this device with ALLOW_UNORDERED_ACCESS";
    }
    default:
        return "Type must be TRANSITION, ALIASING or UAV";
    }
}

void d3d_command_list_ResourceBarrier(D3D_LIST, UINT count, const D3D12_RESOURCE_BARRIER *barriers)
{
    struct d3d_command_list *list = d3d_command_list_from(iface);
    struct d3d_recording *recording = list->recording;
    if (!d3d_list_recording(list, "ResourceBarrier"))
        return;
    if (count && !barriers) {
        d3d_list_fail(list, E_INVALIDARG, "ID3D12GraphicsCommandList::ResourceBarrier: pBarriers is NULL");
        return;
    }
    for (UINT i = 0; i < count; i++) {
        const char *error = barrier_error(list, &barriers[i]);
        if (error) {
            d3d_list_fail(list, E_INVALIDARG, "ID3D12GraphicsCommandList::ResourceBarrier: pBarriers[%u], type %d: %s",
                          i, (int)barriers[i].Type, error);
            return;
        }
    }
    bool already =
        recording->command_count && recording->commands[recording->command_count - 1].type == ADAPTER_BARRIER;
    if (count && !already)
        d3d_list_append(list, ADAPTER_BARRIER, NULL, NULL);
}
