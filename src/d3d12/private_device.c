/* SPDX-License-Identifier: Apache-2.0 */
/* AnydmlDevice: the private interface for libdirectml (private.h). */
#include "d3d12/lists.h"

#include <stdio.h>

#define PRIVATE AnydmlDevice *iface

static struct d3d_device *private_from(PRIVATE)
{
    return ((struct d3d_tear_off *)iface)->device;
}

static uint32_t d3d_private_GetVersion(PRIVATE)
{
    (void)iface;
    return ANYDML_DEVICE_VERSION;
}

static const struct adapter_info *d3d_private_GetAdapterInfo(PRIVATE)
{
    return private_from(iface)->info;
}

static uint32_t d3d_private_GetThreadCount(PRIVATE)
{
    (void)iface;
    return adapter_thread_count();
}

static BOOL d3d_private_RecordsAtOnce(PRIVATE)
{
    (void)iface;
    return FALSE;
}

static HRESULT d3d_private_GetRemovedReason(PRIVATE)
{
    return atomic_load(&private_from(iface)->removed_reason);
}

static BOOL d3d_private_GetResourceInfo(PRIVATE, ID3D12Resource *resource_iface, struct anydml_resource_info *out)
{
    struct d3d_resource *resource = com_child(private_from(iface), resource_iface, &d3d_resource_vtbl);
    if (!resource)
        return FALSE;
    *out = (struct anydml_resource_info){
        .resource_id = resource->id,
        .width = resource->desc.Width,
        .heap_type = resource->properties.Type,
        .flags = resource->desc.Flags,
        .memory_id = resource->memory_id,
        .memory_offset = resource->memory_start + resource->offset,
    };
    return TRUE;
}

static bool has_descriptors(struct d3d_device *device, uint64_t handle, UINT count, bool gpu)
{
    uint32_t index;
    pthread_mutex_lock(&device->tables_lock);
    const struct d3d_descriptor_heap *heap = d3d_descriptors_find(device, handle, count, gpu, &index);
    const bool right = heap && heap->desc.Type == D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV &&
                       (!gpu || heap->desc.Flags & D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE);
    pthread_mutex_unlock(&device->tables_lock);
    return right;
}

static enum anydml_found d3d_private_FindDescriptors(PRIVATE, const struct anydml_descriptors *range)
{
    struct d3d_device *device = private_from(iface);
    if (!has_descriptors(device, range->cpu.ptr, range->count, false))
        return ANYDML_FOUND_NO_CPU;
    return has_descriptors(device, range->gpu.ptr, range->count, true) ? ANYDML_FOUND : ANYDML_FOUND_NO_GPU;
}

static HRESULT d3d_private_WriteDescriptors(PRIVATE, const struct anydml_descriptors *range, UINT first, UINT count,
                                            const struct anydml_buffer *buffers, char *message)
{
    struct d3d_device *device = private_from(iface);
    uint32_t index;
    pthread_mutex_lock(&device->tables_lock);
    struct d3d_descriptor_heap *heap = d3d_descriptors_find(device, range->cpu.ptr, first + count, false, &index);
    for (UINT i = 0; heap && i < count; i++)
        heap->slots[index + first + i] = (struct d3d_descriptor){
            buffers[i].resource_id, buffers[i].offset, buffers[i].size, DXGI_FORMAT_R32_TYPELESS, 4,
        };
    pthread_mutex_unlock(&device->tables_lock);
    if (!heap)
        snprintf(message, ADAPTER_MESSAGE_BYTES, "the descriptor heap of CPUDescriptorHandle was released");
    return heap ? S_OK : E_INVALIDARG;
}

static HRESULT d3d_private_RecordDispatch(PRIVATE, ID3D12CommandList *list_iface, struct adapter_dispatch *dispatch,
                                          const struct anydml_descriptors *range, const struct anydml_buffer *buffers,
                                          struct anydml_recording *out)
{
    const struct d3d_slots slots = { range->gpu.ptr, range->count, buffers };
    struct d3d_command_list *list = com_child(private_from(iface), list_iface, &d3d_command_list_vtbl);
    BOOL in_force = TRUE;
    HRESULT hr = list ? d3d_list_record_dispatch(list, dispatch, &slots, &in_force) : E_INVALIDARG;
    out->heap_not_set = !in_force;
    return hr;
}

/* Lists keep what they need. */
static void d3d_private_ForgetOwner(PRIVATE, const void *owner)
{
    (void)iface, (void)owner;
}

static void d3d_private_PoisonCommandList(PRIVATE, ID3D12CommandList *list_iface, HRESULT hr)
{
    struct d3d_command_list *list = com_child(private_from(iface), list_iface, &d3d_command_list_vtbl);
    if (list && list->open && list->error == S_OK)
        list->error = hr;
}

static void d3d_private_RemoveDevice(PRIVATE, HRESULT reason, const char *message)
{
    d3d_device_remove(private_from(iface), reason, "%s", message);
}

static void d3d_private_Message(PRIVATE, D3D12_MESSAGE_SEVERITY severity, const char *text)
{
    d3d_message(private_from(iface), severity, D3D12_MESSAGE_CATEGORY_APPLICATION_DEFINED,
                D3D12_MESSAGE_ID_STRING_FROM_APPLICATION, text);
}

static HRESULT d3d_private_CreateMemory(PRIVATE, enum adapter_memory_kind kind, uint64_t size,
                                        struct adapter_memory **out, char *message)
{
    return d3d_memory_create(private_from(iface), kind, size, out, message);
}

static void d3d_private_DestroyMemory(PRIVATE, struct adapter_memory *memory)
{
    struct d3d_device *device = private_from(iface);
    if (memory)
        device->ops->memory_destroy(device->adapter, memory);
}

static HRESULT d3d_private_WriteMemory(PRIVATE, struct adapter_memory *memory, const struct adapter_write *writes,
                                       uint32_t count, const struct adapter_writing *how)
{
    struct d3d_device *device = private_from(iface);
    if (!device->ops->memory_write)
        return E_NOTIMPL;
    HRESULT hr = device->ops->memory_write(device->adapter, memory, writes, count, how);
    return d3d_adapter_result(device, hr, "write memory");
}

static HRESULT d3d_private_CreatePipelines(PRIVATE, const struct adapter_pipeline_desc *descs, uint32_t count,
                                           struct adapter_pipeline **out)
{
    struct d3d_device *device = private_from(iface);
    if (!device->ops->pipelines_create)
        return E_NOTIMPL;
    HRESULT hr = device->ops->pipelines_create(device->adapter, descs, count, out);
    return hr == DXGI_ERROR_UNSUPPORTED ? hr : d3d_adapter_result(device, hr, "make pipelines");
}

static HRESULT d3d_private_TestKernel(PRIVATE, const struct adapter_kernel_test *test)
{
    struct d3d_device *device = private_from(iface);
    return device->ops->kernel_test ? device->ops->kernel_test(device->adapter, test) : E_NOTIMPL;
}

static HRESULT d3d_private_CreateSequence(PRIVATE, const struct adapter_step *steps, uint32_t count,
                                          struct adapter_memory *parameters, uint32_t table_count,
                                          struct adapter_sequence **out)
{
    struct d3d_device *device = private_from(iface);
    if (!device->ops->sequence_create)
        return E_NOTIMPL;
    return device->ops->sequence_create(device->adapter, steps, count, parameters, table_count, out);
}

static void d3d_private_DestroySequence(PRIVATE, struct adapter_sequence *sequence)
{
    struct d3d_device *device = private_from(iface);
    if (sequence)
        device->ops->sequence_destroy(device->adapter, sequence);
}

static HRESULT d3d_private_RunDispatch(PRIVATE, ID3D12CommandQueue *queue_iface, struct anydml_run *run)
{
    struct d3d_command_queue *queue = com_child(private_from(iface), queue_iface, &d3d_command_queue_vtbl);
    run->wrong = run->count;
    if (d3d_removed(private_from(iface)))
        return DXGI_ERROR_DEVICE_REMOVED;
    return queue && queue->desc.Type != D3D12_COMMAND_LIST_TYPE_COPY ? d3d_command_queue_run(queue, run) : E_INVALIDARG;
}

const struct AnydmlDeviceVtbl d3d_private_device_vtbl = {
    D3D_TEAR_OFF_METHODS,
    .GetVersion = d3d_private_GetVersion,
    .GetAdapterInfo = d3d_private_GetAdapterInfo,
    .GetThreadCount = d3d_private_GetThreadCount,
    .RecordsAtOnce = d3d_private_RecordsAtOnce,
    .GetRemovedReason = d3d_private_GetRemovedReason,
    .GetResourceInfo = d3d_private_GetResourceInfo,
    .FindDescriptors = d3d_private_FindDescriptors,
    .WriteDescriptors = d3d_private_WriteDescriptors,
    .RecordDispatch = d3d_private_RecordDispatch,
    .ForgetOwner = d3d_private_ForgetOwner,
    .PoisonCommandList = d3d_private_PoisonCommandList,
    .RemoveDevice = d3d_private_RemoveDevice,
    .Message = d3d_private_Message,
    .CreateMemory = d3d_private_CreateMemory,
    .DestroyMemory = d3d_private_DestroyMemory,
    .WriteMemory = d3d_private_WriteMemory,
    .CreatePipelines = d3d_private_CreatePipelines,
    .TestKernel = d3d_private_TestKernel,
    .CreateSequence = d3d_private_CreateSequence,
    .DestroySequence = d3d_private_DestroySequence,
    .ResolveBindings = d3d_private_ResolveBindings,
    .RecordCommands = d3d_private_RecordCommands,
    .DestroyRecorded = d3d_private_DestroyRecorded,
    .RunDispatch = d3d_private_RunDispatch,
};
