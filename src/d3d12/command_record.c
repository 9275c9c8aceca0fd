/* SPDX-License-Identifier: Apache-2.0 */
/* Recording of commands, except for barriers. */
#include "d3d12/lists.h"

#include "base/arena.h"

static struct d3d_resource *list_resource(struct d3d_command_list *list, ID3D12Resource *iface)
{
    return com_child(d3d_parent(list), iface, &d3d_resource_vtbl);
}

static bool in_range(const struct d3d_resource *resource, uint64_t offset, uint64_t size)
{
    return offset <= resource->desc.Width && size <= resource->desc.Width - offset;
}

/* ---- copies ---- */

/* The numbers of one method's messages about its two buffers. */
struct copy_messages {
    D3D12_MESSAGE_ID to_null, to, from_null, from;
};

static bool copy_broken(const struct copy_messages *messages, const void *to_iface, const struct d3d_resource *to,
                        const void *from_iface, const struct d3d_resource *from, struct d3d_rule *out)
{
    if (!to)
        return d3d_broken(out, to_iface ? messages->to : messages->to_null,
                          "the destination is not a buffer of this device");
    if (!from)
        return d3d_broken(out, from_iface ? messages->from : messages->from_null,
                          "the source is not a buffer of this device");
    /* Such buffers never leave their state, which is what Direct3D 12 words. */
    if (to->properties.Type == D3D12_HEAP_TYPE_UPLOAD)
        return d3d_broken(out, D3D12_MESSAGE_ID_INVALID_SUBRESOURCE_STATE,
                          "the destination must not be in an UPLOAD heap");
    if (from->properties.Type == D3D12_HEAP_TYPE_READBACK)
        return d3d_broken(out, D3D12_MESSAGE_ID_INVALID_SUBRESOURCE_STATE, "the source must not be in a READBACK heap");
    return false;
}

static bool region_broken(const struct d3d_resource *to, uint64_t to_offset, const struct d3d_resource *from,
                          uint64_t from_offset, uint64_t bytes, struct d3d_rule *out)
{
    if (!in_range(to, to_offset, bytes))
        return d3d_broken(out, D3D12_MESSAGE_ID_COPYBUFFERREGION_DSTRANGEOUTOFBOUNDS,
                          "the range is beyond the end of the destination");
    if (!in_range(from, from_offset, bytes))
        return d3d_broken(out, D3D12_MESSAGE_ID_COPYBUFFERREGION_SRCRANGEOUTOFBOUNDS,
                          "the range is beyond the end of the source");
    if (to == from && to_offset < from_offset + bytes && from_offset < to_offset + bytes)
        return d3d_broken(out, D3D12_MESSAGE_ID_COPY_ON_SAME_SUBRESOURCE, "the ranges of one buffer overlap");
    return false;
}

static void record_copy(struct d3d_command_list *list, struct d3d_resource *to, uint64_t to_offset,
                        struct d3d_resource *from, uint64_t from_offset, uint64_t bytes)
{
    struct adapter_binding to_range = d3d_resource_range(to, to_offset, bytes);
    struct adapter_binding from_range = d3d_resource_range(from, from_offset, bytes);
    d3d_list_note_access(list, "ID3D12GraphicsCommandList: the destination of a copy", &to_range, to,
                         D3D12_RESOURCE_STATE_COPY_DEST);
    d3d_list_note_access(list, "ID3D12GraphicsCommandList: the source of a copy", &from_range, from,
                         D3D12_RESOURCE_STATE_COPY_SOURCE);
    struct adapter_command *command = d3d_list_append(list, ADAPTER_COPY, &to->pageable.base, &from->pageable.base);
    if (!command)
        return;
    command->u.copy.to = to_range;
    command->u.copy.from = from_range;
}

void d3d_command_list_CopyBufferRegion(D3D_LIST, ID3D12Resource *to_iface, UINT64 to_offset, ID3D12Resource *from_iface,
                                       UINT64 from_offset, UINT64 bytes)
{
    static const struct copy_messages messages = {
        D3D12_MESSAGE_ID_COPYBUFFERREGION_NULLDST,
        D3D12_MESSAGE_ID_COPYBUFFERREGION_INVALID_DST_RESOURCE,
        D3D12_MESSAGE_ID_COPYBUFFERREGION_NULLSRC,
        D3D12_MESSAGE_ID_COPYBUFFERREGION_INVALID_SRC_RESOURCE,
    };
    struct d3d_command_list *list = d3d_command_list_from(iface);
    struct d3d_rule rule;
    if (!d3d_list_recording(list, "CopyBufferRegion"))
        return;
    struct d3d_resource *to = list_resource(list, to_iface), *from = list_resource(list, from_iface);
    if (copy_broken(&messages, to_iface, to, from_iface, from, &rule) ||
        region_broken(to, to_offset, from, from_offset, bytes, &rule))
        d3d_list_fail_as(list, E_INVALIDARG, rule.id,
                         "ID3D12GraphicsCommandList::CopyBufferRegion: %llu bytes from offset %llu to offset %llu: %s",
                         (unsigned long long)bytes, (unsigned long long)from_offset, (unsigned long long)to_offset,
                         rule.text);
    else if (bytes)
        record_copy(list, to, to_offset, from, from_offset, bytes);
}

void d3d_command_list_CopyResource(D3D_LIST, ID3D12Resource *to_iface, ID3D12Resource *from_iface)
{
    static const struct copy_messages messages = {
        D3D12_MESSAGE_ID_COPYRESOURCE_NULLDST,
        D3D12_MESSAGE_ID_COPYRESOURCE_INVALIDDSTRESOURCE,
        D3D12_MESSAGE_ID_COPYRESOURCE_NULLSRC,
        D3D12_MESSAGE_ID_COPYRESOURCE_INVALIDSRCRESOURCE,
    };
    struct d3d_command_list *list = d3d_command_list_from(iface);
    struct d3d_rule rule;
    if (!d3d_list_recording(list, "CopyResource"))
        return;
    struct d3d_resource *to = list_resource(list, to_iface), *from = list_resource(list, from_iface);
    bool wrong = copy_broken(&messages, to_iface, to, from_iface, from, &rule);
    if (!wrong && to == from)
        wrong = d3d_broken(&rule, D3D12_MESSAGE_ID_COPY_ON_SAME_SUBRESOURCE, "a buffer cannot be copied to itself");
    if (!wrong && to->desc.Width != from->desc.Width)
        wrong = d3d_broken(&rule, messages.from, "the buffers must have the same width");
    if (wrong)
        d3d_list_fail_as(list, E_INVALIDARG, rule.id, "ID3D12GraphicsCommandList::CopyResource: %s", rule.text);
    else
        record_copy(list, to, 0, from, 0, to->desc.Width);
}

void d3d_command_list_DiscardResource(D3D_LIST, ID3D12Resource *resource, const D3D12_DISCARD_REGION *region)
{
    struct d3d_command_list *list = d3d_command_list_from(iface);
    (void)region; /* a hint */
    if (d3d_list_recording(list, "DiscardResource") && !list_resource(list, resource))
        d3d_list_fail(list, E_INVALIDARG,
                      "ID3D12GraphicsCommandList::DiscardResource: pResource is not a resource of this device");
}

/* ---- descriptors ---- */

static const char *heaps_error(struct d3d_device *device, UINT count, ID3D12DescriptorHeap *const *heaps,
                               struct d3d_descriptor_heap *out[2])
{
    if (count && !heaps)
        return "the array is NULL";
    for (UINT i = 0; i < count; i++) {
        struct d3d_descriptor_heap *heap = com_child(device, heaps[i], &d3d_descriptor_heap_vtbl);
        if (!heap)
            return "an entry is not a descriptor heap of this device";
        if (!(heap->desc.Flags & D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE))
            return "a heap is not shader-visible";
        if (out[heap->desc.Type])
            return "two heaps have the same type";
        out[heap->desc.Type] = heap;
    }
    return NULL;
}

void d3d_command_list_SetDescriptorHeaps(D3D_LIST, UINT count, ID3D12DescriptorHeap *const *heaps)
{
    struct d3d_command_list *list = d3d_command_list_from(iface);
    struct d3d_descriptor_heap *found[2] = { NULL, NULL };
    if (!d3d_list_recording(list, "SetDescriptorHeaps"))
        return;
    const char *error = heaps_error(d3d_parent(list), count, heaps, found);
    struct d3d_descriptor_heap *heap = found[D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV];
    if (error)
        d3d_list_fail_as(list, E_INVALIDARG, D3D12_MESSAGE_ID_SET_DESCRIPTOR_HEAP_INVALID,
                         "ID3D12GraphicsCommandList::SetDescriptorHeaps: %u heaps: %s", count, error);
    else if (heap && !d3d_recording_retain(list->recording, &heap->pageable.base))
        d3d_list_fail_as(list, E_OUTOFMEMORY, D3D12_MESSAGE_ID_COMMAND_LIST_OUTOFMEMORY,
                         "ID3D12GraphicsCommandList::SetDescriptorHeaps: no memory");
    else
        list->heap = heap;
}

/* The descriptor of the CPU handle, and whether the GPU handle is in the current heap. */
static const char *clear_view(struct d3d_command_list *list, uint64_t gpu, uint64_t cpu, struct d3d_descriptor *out)
{
    struct d3d_device *device = d3d_parent(list);
    uint32_t index, gpu_index;
    const char *error = NULL;
    pthread_mutex_lock(&device->tables_lock);
    struct d3d_descriptor_heap *heap = d3d_descriptors_find(device, cpu, 1, false, &index);
    struct d3d_descriptor_heap *gpu_heap = d3d_descriptors_find(device, gpu, 1, true, &gpu_index);
    if (!gpu_heap || gpu_heap != list->heap)
        error = "the GPU handle is not in the heap set by SetDescriptorHeaps";
    else if (!heap || heap->desc.Flags & D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE)
        error = "the CPU handle is not in a heap that is not shader-visible";
    else
        *out = heap->slots[index];
    pthread_mutex_unlock(&device->tables_lock);
    return error;
}

static void record_fill(struct d3d_command_list *list, struct d3d_resource *resource, uint64_t offset, uint64_t size,
                        uint32_t value)
{
    struct adapter_command *command = size ? d3d_list_append(list, ADAPTER_FILL, &resource->pageable.base, NULL) : NULL;
    if (!command)
        return;
    command->u.fill.to = d3d_resource_range(resource, offset, size);
    command->u.fill.value = value;
}

/* Rectangles of a buffer view select elements [left, right). */
static void record_clear(struct d3d_command_list *list, struct d3d_resource *resource,
                         const struct d3d_descriptor *view, uint32_t pattern, UINT rect_count, const D3D12_RECT *rects)
{
    uint64_t count = view->size / view->stride;
    if (!rect_count)
        record_fill(list, resource, view->offset, view->size, pattern);
    for (UINT i = 0; i < rect_count; i++) {
        uint64_t left = (uint64_t)BASE_MAX(rects[i].left, 0), right = (uint64_t)BASE_MAX(rects[i].right, 0);
        right = BASE_MIN(right, count);
        if (left < right)
            record_fill(list, resource, view->offset + left * view->stride, (right - left) * view->stride, pattern);
    }
}

void d3d_command_list_ClearUnorderedAccessViewUint(D3D_LIST, D3D12_GPU_DESCRIPTOR_HANDLE gpu,
                                                   D3D12_CPU_DESCRIPTOR_HANDLE cpu, ID3D12Resource *resource_iface,
                                                   const UINT values[4], UINT rect_count, const D3D12_RECT *rects)
{
    struct d3d_command_list *list = d3d_command_list_from(iface);
    const char *method = "ID3D12GraphicsCommandList::ClearUnorderedAccessViewUint";
    struct d3d_descriptor view = { 0 };
    uint32_t pattern = 0;
    if (!d3d_list_recording(list, "ClearUnorderedAccessViewUint"))
        return;
    struct d3d_resource *resource = list_resource(list, resource_iface);
    struct d3d_rule rule;
    bool wrong = d3d_broken(&rule, D3D12_MESSAGE_ID_CLEAR_UNORDERED_ACCESS_VIEW_INVALID_DESCRIPTOR_HANDLE,
                            clear_view(list, gpu.ptr, cpu.ptr, &view));
    if (!wrong && (!resource || view.resource_id != resource->id))
        wrong = d3d_broken(&rule, D3D12_MESSAGE_ID_CLEARUNORDEREDACCESSVIEW_INVALID_RESOURCE_PTR,
                           "the view is not of pResource");
    if (!wrong && (!values || (rect_count && !rects)))
        wrong = d3d_broken(&rule, D3D12_MESSAGE_ID_UNKNOWN, "Values or pRects is NULL");
    if (!wrong && list->type == D3D12_COMMAND_LIST_TYPE_COPY)
        wrong = d3d_broken(&rule, D3D12_MESSAGE_ID_UNKNOWN, "a COPY list cannot clear");
    if (wrong) {
        d3d_list_fail_as(list, E_INVALIDARG, rule.id, "%s: %s", method, rule.text);
        return;
    }
    if (!d3d_view_clear_pattern(&view, values, &pattern)) {
        d3d_list_fail(list, E_NOTIMPL, "%s: format %d: only values that repeat every 4 bytes can be written", method,
                      (int)view.format);
        return;
    }
    bool raw = view.format == DXGI_FORMAT_R32_TYPELESS || view.format == DXGI_FORMAT_UNKNOWN;
    if (raw && (values[0] != values[1] || values[0] != values[2] || values[0] != values[3]))
        d3d_warn(d3d_parent(list), D3D12_MESSAGE_ID_UNKNOWN,
                 "%s: a raw or structured view uses Values[0] only, but the others differ from it", method);
    const struct adapter_binding range = d3d_resource_range(resource, view.offset, view.size);
    d3d_list_note_access(list, method, &range, resource, D3D12_RESOURCE_STATE_UNORDERED_ACCESS);
    record_clear(list, resource, &view, pattern, rect_count, rects);
}

/* ---- queries ---- */

static struct d3d_query_heap *list_queries(struct d3d_command_list *list, const char *method, D3D12_MESSAGE_ID message,
                                           ID3D12QueryHeap *iface, D3D12_QUERY_TYPE type, UINT start, UINT count)
{
    struct d3d_query_heap *heap = com_child(d3d_parent(list), iface, &d3d_query_heap_vtbl);
    const char *error = NULL;
    if (!heap)
        error = "pQueryHeap is not a query heap of this device";
    else if (type != D3D12_QUERY_TYPE_TIMESTAMP)
        error = "only TIMESTAMP queries are supported";
    else if (start > heap->desc.Count || count > heap->desc.Count - start)
        error = "the index is beyond the end of the heap";
    if (error)
        d3d_list_fail_as(list, E_INVALIDARG, message, "ID3D12GraphicsCommandList::%s: type %d, queries [%u, +%u): %s",
                         method, (int)type, start, count, error);
    return error ? NULL : heap;
}

void d3d_command_list_BeginQuery(D3D_LIST, ID3D12QueryHeap *heap, D3D12_QUERY_TYPE type, UINT index)
{
    struct d3d_command_list *list = d3d_command_list_from(iface);
    (void)heap, (void)index;
    if (d3d_list_recording(list, "BeginQuery"))
        d3d_list_fail_as(list, E_INVALIDARG, D3D12_MESSAGE_ID_BEGIN_END_QUERY_INVALID_PARAMETERS,
                         "ID3D12GraphicsCommandList::BeginQuery: type %d: only timestamps are supported, which use "
                         "EndQuery alone",
                         (int)type);
}

void d3d_command_list_EndQuery(D3D_LIST, ID3D12QueryHeap *heap_iface, D3D12_QUERY_TYPE type, UINT index)
{
    struct d3d_command_list *list = d3d_command_list_from(iface);
    if (!d3d_list_recording(list, "EndQuery"))
        return;
    struct d3d_query_heap *heap =
        list_queries(list, "EndQuery", D3D12_MESSAGE_ID_BEGIN_END_QUERY_INVALID_PARAMETERS, heap_iface, type, index, 1);
    struct adapter_command *command =
        heap ? d3d_list_append(list, ADAPTER_TIMESTAMP, &heap->pageable.base, NULL) : NULL;
    if (!command)
        return;
    command->u.timestamp.queries = heap->queries;
    command->u.timestamp.index = index;
}

void d3d_command_list_ResolveQueryData(D3D_LIST, ID3D12QueryHeap *heap_iface, D3D12_QUERY_TYPE type, UINT start,
                                       UINT count, ID3D12Resource *to_iface, UINT64 offset)
{
    struct d3d_command_list *list = d3d_command_list_from(iface);
    if (!d3d_list_recording(list, "ResolveQueryData"))
        return;
    struct d3d_query_heap *heap =
        list_queries(list, "ResolveQueryData", D3D12_MESSAGE_ID_RESOLVE_QUERY_DATA_INVALID_PARAMETERS, heap_iface, type,
                     start, count);
    struct d3d_resource *to = list_resource(list, to_iface);
    if (!heap)
        return;
    if (!to || to->properties.Type == D3D12_HEAP_TYPE_UPLOAD || offset % 8 || !in_range(to, offset, count * 8ull)) {
        d3d_list_fail_as(
            list, E_INVALIDARG, D3D12_MESSAGE_ID_RESOLVE_QUERY_DATA_INVALID_PARAMETERS,
            "ID3D12GraphicsCommandList::ResolveQueryData: %u results at offset %llu: needs a buffer outside "
            "UPLOAD heaps that holds them, and an offset that is a multiple of 8",
            count, (unsigned long long)offset);
        return;
    }
    const struct adapter_binding range = d3d_resource_range(to, offset, count * 8ull);
    d3d_list_note_access(list, "ID3D12GraphicsCommandList::ResolveQueryData", &range, to,
                         D3D12_RESOURCE_STATE_COPY_DEST);
    struct adapter_command *command =
        count ? d3d_list_append(list, ADAPTER_RESOLVE, &heap->pageable.base, &to->pageable.base) : NULL;
    if (!command)
        return;
    command->u.resolve.queries = heap->queries;
    command->u.resolve.start = start;
    command->u.resolve.count = count;
    command->u.resolve.to = range;
}

/* ---- dispatches of libdirectml ---- */

static bool reserve_dispatch(struct d3d_recording *recording, const struct d3d_slots *slots)
{
    while (slots->buffers && recording->captured_capacity - recording->captured_count < slots->count)
        if (!base_array_reserve((void **)&recording->captured, recording->captured_capacity,
                                &recording->captured_capacity, sizeof(*recording->captured)))
            return false;
    return base_array_reserve((void **)&recording->dispatches, recording->dispatch_count, &recording->dispatch_capacity,
                              sizeof(*recording->dispatches));
}

static uint32_t capture(struct d3d_recording *recording, const struct d3d_slots *slots)
{
    uint32_t first = recording->captured_count;
    if (!slots->buffers || !slots->count)
        return UINT32_MAX;
    memcpy(&recording->captured[first], slots->buffers, slots->count * sizeof(*slots->buffers));
    recording->captured_count += slots->count;
    return first;
}

HRESULT d3d_list_record_dispatch(struct d3d_command_list *list, struct adapter_dispatch *dispatch,
                                 const struct d3d_slots *slots, BOOL *out_heap_in_force)
{
    struct d3d_device *device = d3d_parent(list);
    struct d3d_recording *recording = list->recording;
    uint32_t index = 0, count = slots->count;
    *out_heap_in_force = TRUE;
    if (d3d_removed(device))
        return DXGI_ERROR_DEVICE_REMOVED;
    if (!list->open || list->type == D3D12_COMMAND_LIST_TYPE_COPY)
        return E_INVALIDARG;
    struct d3d_descriptor_heap *heap = NULL;
    if (count) {
        pthread_mutex_lock(&device->tables_lock);
        heap = d3d_descriptors_find(device, slots->handle, count, true, &index);
        pthread_mutex_unlock(&device->tables_lock);
        *out_heap_in_force = heap && heap == list->heap;
        if (!heap)
            return E_INVALIDARG; /* a heap that is merely not in force is reported and resolved all the same */
    }
    if (!reserve_dispatch(recording, slots))
        return E_OUTOFMEMORY;
    struct adapter_command *command = d3d_list_append(list, ADAPTER_DISPATCH, heap ? &heap->pageable.base : NULL, NULL);
    if (!command)
        return E_OUTOFMEMORY;
    dispatch->ops->ref(dispatch);
    command->u.dispatch.dispatch = dispatch;
    command->u.dispatch.binding_count = count;
    recording->dispatches[recording->dispatch_count++] =
        (struct d3d_dispatch_slots){ recording->command_count - 1, heap, index, count, capture(recording, slots) };
    recording->binding_count += count;
    d3d_list_note_dispatch(list);
    return S_OK;
}
