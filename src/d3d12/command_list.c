/* SPDX-License-Identifier: Apache-2.0 */
/* ID3D12GraphicsCommandList: its life, errors and method table. command_record.c and command_barrier.c record. */
#include "d3d12/lists.h"

#include "d3d12/command_list_stubs.h"
#include "d3d12/device_methods.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static void allocator_leave(struct d3d_command_list *list)
{
    void *user = list;
    if (list->allocator)
        atomic_compare_exchange_strong(&list->allocator->user, &user, NULL);
}

static void command_list_destroy(struct com_object *object)
{
    struct d3d_command_list *list = (struct d3d_command_list *)object;
    allocator_leave(list);
    d3d_recording_unref(list->recording);
    if (list->allocator)
        com_unref(&list->allocator->base);
    free(list->splits);
    d3d_states_finish(&list->states);
    com_finish(object);
    free(list);
}

static const IID *const command_list_iids[] = {
    &IID_ID3D12Object,
    &IID_ID3D12DeviceChild,
    &IID_ID3D12CommandList,
    &IID_ID3D12GraphicsCommandList,
    &IID_ID3D12GraphicsCommandList1,
    &IID_ID3D12GraphicsCommandList2,
    &IID_ID3D12GraphicsCommandList3,
    &IID_ID3D12GraphicsCommandList4,
    &IID_ID3D12GraphicsCommandList5,
    &IID_ID3D12GraphicsCommandList6,
    NULL,
};

static const struct com_class command_list_class = { "ID3D12GraphicsCommandList", command_list_iids,
                                                     command_list_destroy, NULL };

/* ---- helpers of recording methods ---- */

bool d3d_list_recording(struct d3d_command_list *list, const char *method)
{
    if (d3d_removed(d3d_parent(list)))
        return false;
    if (!list->open)
        d3d_fail_as(d3d_parent(list), E_FAIL, D3D12_MESSAGE_ID_COMMAND_LIST_CLOSED,
                    "ID3D12GraphicsCommandList::%s: the list is closed", method);
    return list->open;
}

static void list_break(struct d3d_command_list *list, HRESULT hr, D3D12_MESSAGE_ID id, const char *format, va_list args)
{
    char text[1024];
    vsnprintf(text, sizeof(text), format, args);
    if (list->error == S_OK)
        list->error = hr;
    d3d_message(d3d_parent(list), D3D12_MESSAGE_SEVERITY_ERROR, d3d_message_category(id), id, text);
}

void d3d_list_fail(struct d3d_command_list *list, HRESULT hr, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    list_break(list, hr, D3D12_MESSAGE_ID_UNKNOWN, format, args);
    va_end(args);
}

void d3d_list_fail_as(struct d3d_command_list *list, HRESULT hr, D3D12_MESSAGE_ID id, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    list_break(list, hr, id, format, args);
    va_end(args);
}

struct adapter_command *d3d_list_append(struct d3d_command_list *list, enum adapter_command_type type,
                                        struct com_object *first, struct com_object *second)
{
    bool kept = (!first || d3d_recording_retain(list->recording, first)) &&
                (!second || d3d_recording_retain(list->recording, second));
    struct adapter_command *command = kept ? d3d_recording_append(list->recording, type) : NULL;
    if (!command)
        d3d_list_fail_as(list, E_OUTOFMEMORY, D3D12_MESSAGE_ID_COMMAND_LIST_OUTOFMEMORY,
                         "ID3D12GraphicsCommandList: no memory for a command");
    return command;
}

/* ---- opening and closing ---- */

/* Starts recording with this allocator. */
static HRESULT list_open(struct d3d_command_list *list, struct d3d_command_allocator *allocator, const char *method)
{
    struct d3d_device *device = d3d_parent(list);
    void *unused = NULL;
    if (allocator->type != list->type)
        return d3d_fail_as(device, E_INVALIDARG, D3D12_MESSAGE_ID_WRONG_COMMAND_ALLOCATOR_TYPE,
                           "%s: the allocator is of type %d, the list of type %d", method, (int)allocator->type,
                           (int)list->type);
    struct d3d_recording *recording = list->recording;
    if (!recording || atomic_load(&recording->refs) > 1) /* a queue still needs the old one */
        recording = d3d_recording_create();
    if (!recording)
        return E_OUTOFMEMORY;
    if (!atomic_compare_exchange_strong(&allocator->user, &unused, (void *)list)) {
        if (recording != list->recording)
            d3d_recording_unref(recording);
        return d3d_fail_as(device, E_INVALIDARG, D3D12_MESSAGE_ID_COMMAND_ALLOCATOR_CONTENTION,
                           "%s: another command list is recording with the allocator", method);
    }
    if (recording == list->recording)
        d3d_recording_clear(recording);
    else
        d3d_recording_unref(list->recording);
    list->recording = recording;
    com_ref(&allocator->base);
    if (list->allocator)
        com_unref(&list->allocator->base);
    list->allocator = allocator;
    list->allocator_generation = atomic_load(&allocator->generation);
    list->heap = NULL;
    list->split_count = 0;
    d3d_states_clear(&list->states);
    list->open = true;
    return S_OK;
}

static HRESULT d3d_command_list_Close(D3D_LIST)
{
    struct d3d_command_list *list = d3d_command_list_from(iface);
    struct d3d_device *device = d3d_parent(list);
    if (d3d_removed(device))
        return DXGI_ERROR_DEVICE_REMOVED;
    if (!list->open)
        return d3d_fail_as(device, E_FAIL, D3D12_MESSAGE_ID_COMMAND_LIST_CLOSED,
                           "ID3D12GraphicsCommandList::Close: the list is closed already");
    d3d_list_check_splits(list);
    list->open = false;
    allocator_leave(list);
    return list->error;
}

static HRESULT d3d_command_list_Reset(D3D_LIST, ID3D12CommandAllocator *allocator_iface, ID3D12PipelineState *state)
{
    struct d3d_command_list *list = d3d_command_list_from(iface);
    struct d3d_device *device = d3d_parent(list);
    const char *method = "ID3D12GraphicsCommandList::Reset";
    if (d3d_removed(device))
        return DXGI_ERROR_DEVICE_REMOVED;
    if (list->open)
        return d3d_fail_as(device, E_FAIL, D3D12_MESSAGE_ID_COMMAND_LIST_OPEN, "%s: the list is recording", method);
    if (FAILED(list->error))
        return d3d_fail(device, list->error, "%s: the list failed while recording and cannot be used again", method);
    struct d3d_command_allocator *allocator = com_child(device, allocator_iface, &d3d_command_allocator_vtbl);
    if (!allocator || state)
        return d3d_fail(device, E_INVALIDARG, "%s: needs an allocator of this device and no pipeline", method);
    return list_open(list, allocator, method);
}

static void d3d_command_list_ClearState(D3D_LIST, ID3D12PipelineState *state)
{
    struct d3d_command_list *list = d3d_command_list_from(iface);
    if (!d3d_list_recording(list, "ClearState"))
        return;
    list->heap = NULL;
    if (state)
        d3d_command_list_SetPipelineState(list, state);
}

static D3D12_COMMAND_LIST_TYPE d3d_command_list_GetType(D3D_LIST)
{
    return d3d_command_list_from(iface)->type;
}

/* Markers are for capturing tools. */
static void d3d_command_list_SetMarker(D3D_LIST, UINT metadata, const void *data, UINT size)
{
    (void)iface, (void)metadata, (void)data, (void)size;
}

static void d3d_command_list_BeginEvent(D3D_LIST, UINT metadata, const void *data, UINT size)
{
    (void)iface, (void)metadata, (void)data, (void)size;
}

static void d3d_command_list_EndEvent(D3D_LIST)
{
    (void)iface;
}

const ID3D12GraphicsCommandList6Vtbl d3d_command_list_vtbl = {
    COM_CHILD_METHODS,
    .GetType = d3d_command_list_GetType,
    .Close = d3d_command_list_Close,
    .Reset = d3d_command_list_Reset,
    .ClearState = d3d_command_list_ClearState,
    .CopyBufferRegion = d3d_command_list_CopyBufferRegion,
    .CopyResource = d3d_command_list_CopyResource,
    .ResourceBarrier = d3d_command_list_ResourceBarrier,
    .SetDescriptorHeaps = d3d_command_list_SetDescriptorHeaps,
    .ClearUnorderedAccessViewUint = d3d_command_list_ClearUnorderedAccessViewUint,
    .DiscardResource = d3d_command_list_DiscardResource,
    .BeginQuery = d3d_command_list_BeginQuery,
    .EndQuery = d3d_command_list_EndQuery,
    .ResolveQueryData = d3d_command_list_ResolveQueryData,
    .SetMarker = d3d_command_list_SetMarker,
    .BeginEvent = d3d_command_list_BeginEvent,
    .EndEvent = d3d_command_list_EndEvent,
#include "d3d12/command_list_stubs.def"
};

/* ---- creation ---- */

static HRESULT list_create(struct d3d_device *device, const char *method, UINT node_mask, D3D12_COMMAND_LIST_TYPE type,
                           struct d3d_command_list **out)
{
    *out = NULL;
    if (node_mask > 1)
        return d3d_fail_as(device, E_INVALIDARG, D3D12_MESSAGE_ID_INVALID_NODE_INDEX, "%s: node mask %u must be 0 or 1",
                           method, node_mask);
    if (type != D3D12_COMMAND_LIST_TYPE_DIRECT && type != D3D12_COMMAND_LIST_TYPE_COMPUTE &&
        type != D3D12_COMMAND_LIST_TYPE_COPY)
        return d3d_fail_as(device, E_INVALIDARG, D3D12_MESSAGE_ID_CREATE_COMMAND_LIST_INVALID_COMMAND_LIST_TYPE,
                           "%s: type %d must be DIRECT, COMPUTE or COPY", method, (int)type);
    struct d3d_command_list *list = calloc(1, sizeof(*list));
    if (!list)
        return E_OUTOFMEMORY;
    com_init(&list->base, &d3d_command_list_vtbl, &command_list_class, &device->base);
    list->type = type;
    *out = list;
    return S_OK;
}

HRESULT d3d_device_CreateCommandList(D3D_DEVICE, UINT node_mask, D3D12_COMMAND_LIST_TYPE type,
                                     ID3D12CommandAllocator *allocator_iface, ID3D12PipelineState *state, REFIID riid,
                                     void **out)
{
    struct d3d_device *device = d3d_device_from(iface);
    const char *method = "ID3D12Device::CreateCommandList";
    struct d3d_command_list *list;
    HRESULT hr = d3d_create_begin_strict(device, method, out);
    if (FAILED(hr))
        return hr;
    struct d3d_command_allocator *allocator = com_child(device, allocator_iface, &d3d_command_allocator_vtbl);
    if (!allocator || state)
        return d3d_fail_as(device, E_INVALIDARG,
                           allocator_iface ? D3D12_MESSAGE_ID_UNKNOWN
                                           : D3D12_MESSAGE_ID_CREATECOMMANDLIST_NULL_COMMANDALLOCATOR,
                           "%s: needs an allocator of this device and no pipeline", method);
    hr = list_create(device, method, node_mask, type, &list);
    if (SUCCEEDED(hr))
        hr = list_open(list, allocator, method);
    if (SUCCEEDED(hr))
        return com_return(&list->base, riid, out);
    if (list)
        com_Release(list);
    return hr;
}

HRESULT d3d_device_CreateCommandList1(D3D_DEVICE, UINT node_mask, D3D12_COMMAND_LIST_TYPE type,
                                      D3D12_COMMAND_LIST_FLAGS flags, REFIID riid, void **out)
{
    struct d3d_device *device = d3d_device_from(iface);
    const char *method = "ID3D12Device4::CreateCommandList1";
    struct d3d_command_list *list;
    HRESULT hr = d3d_create_begin_strict(device, method, out);
    if (SUCCEEDED(hr) && flags)
        hr = d3d_fail(device, E_INVALIDARG, "%s: flags 0x%x must be NONE", method, (unsigned)flags);
    if (SUCCEEDED(hr))
        hr = list_create(device, method, node_mask, type, &list);
    return SUCCEEDED(hr) ? com_return(&list->base, riid, out) : hr;
}
