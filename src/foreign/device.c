/* SPDX-License-Identifier: Apache-2.0 */
/* AnydmlDevice over a device of vkd3d-proton: what is not in files of its own. Memory, pipelines and sequences are the
 * Vulkan adapter's. */
#include "foreign/device.h"

#include "base/log.h"

#include <stdio.h>

#define PRIVATE AnydmlDevice *self

void foreign_message(struct foreign_device *device, D3D12_MESSAGE_SEVERITY severity, const char *text)
{
    enum base_log_level level = BASE_LOG_INFO;
    ID3D12InfoQueue *queue = NULL;
    if (severity == D3D12_MESSAGE_SEVERITY_CORRUPTION || severity == D3D12_MESSAGE_SEVERITY_ERROR)
        level = BASE_LOG_ERROR;
    else if (severity == D3D12_MESSAGE_SEVERITY_WARNING)
        level = BASE_LOG_WARN;
    base_log(level, "%s", text);
    if (FAILED(ID3D12Device_QueryInterface(device->parent, &IID_ID3D12InfoQueue, (void **)&queue)) || !queue)
        return;
    queue->lpVtbl->AddApplicationMessage(queue, severity, text);
    queue->lpVtbl->Release(queue);
}

bool foreign_is_same(IUnknown *object, IUnknown *identity)
{
    IUnknown *unknown = NULL;
    if (FAILED(object->lpVtbl->QueryInterface(object, &IID_IUnknown, (void **)&unknown)) || !unknown)
        return false;
    unknown->lpVtbl->Release(unknown);
    return unknown == identity;
}

static uint32_t device_GetVersion(PRIVATE)
{
    (void)self;
    return ANYDML_DEVICE_VERSION;
}

static const struct adapter_info *device_GetAdapterInfo(PRIVATE)
{
    return &foreign_from(self)->info;
}

static uint32_t device_GetThreadCount(PRIVATE)
{
    (void)self;
    return adapter_thread_count();
}

static BOOL device_RecordsAtOnce(PRIVATE)
{
    (void)self;
    return TRUE;
}

static HRESULT device_GetRemovedReason(PRIVATE)
{
    struct foreign_device *device = foreign_from(self);
    const HRESULT reason = atomic_load(&device->reason);
    return FAILED(reason) ? reason : ID3D12Device_GetDeviceRemovedReason(device->parent);
}

static BOOL device_GetResourceInfo(PRIVATE, ID3D12Resource *resource_iface, struct anydml_resource_info *out)
{
    struct foreign_resource *resource = foreign_resource_get(foreign_from(self), resource_iface);
    if (!resource)
        return FALSE;
    *out = *foreign_resource_info(resource);
    foreign_resource_unref(resource);
    return TRUE;
}

/* Heaps cannot be found by their handles. */
static enum anydml_found device_FindDescriptors(PRIVATE, const struct anydml_descriptors *range)
{
    (void)self;
    return !range->cpu.ptr ? ANYDML_FOUND_NO_CPU : !range->gpu.ptr ? ANYDML_FOUND_NO_GPU : ANYDML_FOUND;
}

/* The list of another runtime cannot be made to fail at Close: the DirectML device is removed instead, with a
 * message. */
static void device_PoisonCommandList(PRIVATE, ID3D12CommandList *list, HRESULT hr)
{
    (void)self, (void)list, (void)hr;
}

/* Of the DirectML devices over it: nothing removes a device of vkd3d-proton. */
static void device_RemoveDevice(PRIVATE, HRESULT reason, const char *message)
{
    struct foreign_device *device = foreign_from(self);
    HRESULT alive = S_OK;
    atomic_compare_exchange_strong(&device->reason, &alive, reason);
    foreign_message(device, D3D12_MESSAGE_SEVERITY_ERROR, message);
}

static void device_Message(PRIVATE, D3D12_MESSAGE_SEVERITY severity, const char *text)
{
    foreign_message(foreign_from(self), severity, text);
}

/* ---- the adapter's part ---- */

static HRESULT adapter_result(struct foreign_device *device, HRESULT hr, const char *what)
{
    char text[ADAPTER_MESSAGE_BYTES];
    if (hr != DXGI_ERROR_DEVICE_HUNG)
        return hr;
    snprintf(text, sizeof(text), "the VkDevice was lost before it could %s", what);
    device_RemoveDevice(&device->base, hr, text);
    return DXGI_ERROR_DEVICE_REMOVED;
}

static HRESULT device_CreateMemory(PRIVATE, enum adapter_memory_kind kind, uint64_t size, struct adapter_memory **out,
                                   char *message)
{
    struct foreign_device *device = foreign_from(self);
    HRESULT hr = adapter_vulkan_ops.memory_create(device->adapter, kind, size, out);
    *message = '\0';
    if (hr == E_OUTOFMEMORY)
        adapter_vulkan_ops.memory_explain(device->adapter, kind, size, message);
    return adapter_result(device, hr, "make memory");
}

static void device_DestroyMemory(PRIVATE, struct adapter_memory *memory)
{
    if (memory)
        adapter_vulkan_ops.memory_destroy(foreign_from(self)->adapter, memory);
}

static HRESULT device_WriteMemory(PRIVATE, struct adapter_memory *memory, const struct adapter_write *writes,
                                  uint32_t count, const struct adapter_writing *how)
{
    struct foreign_device *device = foreign_from(self);
    return adapter_result(device, adapter_vulkan_ops.memory_write(device->adapter, memory, writes, count, how),
                          "write memory");
}

static HRESULT device_CreatePipelines(PRIVATE, const struct adapter_pipeline_desc *descs, uint32_t count,
                                      struct adapter_pipeline **out)
{
    struct foreign_device *device = foreign_from(self);
    HRESULT hr = adapter_vulkan_ops.pipelines_create(device->adapter, descs, count, out);
    return hr == DXGI_ERROR_UNSUPPORTED ? hr : adapter_result(device, hr, "make pipelines");
}

static HRESULT device_TestKernel(PRIVATE, const struct adapter_kernel_test *test)
{
    return adapter_vulkan_ops.kernel_test(foreign_from(self)->adapter, test);
}

static HRESULT device_CreateSequence(PRIVATE, const struct adapter_step *steps, uint32_t count,
                                     struct adapter_memory *parameters, uint32_t table_count,
                                     struct adapter_sequence **out)
{
    return adapter_vulkan_ops.sequence_create(foreign_from(self)->adapter, steps, count, parameters, table_count, out);
}

static void device_DestroySequence(PRIVATE, struct adapter_sequence *sequence)
{
    if (sequence)
        adapter_vulkan_ops.sequence_destroy(foreign_from(self)->adapter, sequence);
}

/* ---- what programs of other runtimes do not have ---- */

static HRESULT device_ResolveBindings(PRIVATE, D3D12_GPU_DESCRIPTOR_HANDLE handle, UINT count,
                                      const struct anydml_buffer *buffers, struct adapter_binding *out, char *message)
{
    (void)self, (void)handle, (void)count, (void)buffers, (void)out;
    snprintf(message, ADAPTER_MESSAGE_BYTES,
             "the device is one of vkd3d-proton: use IDMLCommandRecorder::RecordDispatch with its lists");
    return DXGI_ERROR_UNSUPPORTED;
}

static HRESULT device_RecordCommands(PRIVATE, void *commands, struct adapter_dispatch *dispatch,
                                     const struct adapter_binding *bindings, UINT count, struct adapter_recorded **io,
                                     char *message)
{
    (void)commands, (void)dispatch, (void)bindings, (void)io;
    return device_ResolveBindings(self, (D3D12_GPU_DESCRIPTOR_HANDLE){ 0 }, count, NULL, NULL, message);
}

static void device_DestroyRecorded(PRIVATE, struct adapter_recorded *recorded)
{
    if (recorded)
        adapter_vulkan_interop.recorded_destroy(foreign_from(self)->adapter, recorded);
}

static HRESULT device_RunDispatch(PRIVATE, ID3D12CommandQueue *queue, struct anydml_run *run)
{
    (void)self, (void)queue;
    run->wrong = run->count;
    return DXGI_ERROR_UNSUPPORTED;
}

/* ---- open.c's and others' ---- */

static HRESULT device_QueryInterface(PRIVATE, REFIID riid, void **out)
{
    struct foreign_device *device = foreign_from(self);
    if (memcmp(riid, &IID_AnydmlDevice, sizeof(IID)) != 0)
        return ID3D12Device_QueryInterface(device->parent, riid, out);
    self->lpVtbl->AddRef(self);
    *out = self;
    return S_OK;
}

const struct AnydmlDeviceVtbl foreign_device_vtbl = {
    .QueryInterface = device_QueryInterface,
    .AddRef = foreign_device_AddRef,
    .Release = foreign_device_Release,
    .GetVersion = device_GetVersion,
    .GetAdapterInfo = device_GetAdapterInfo,
    .GetThreadCount = device_GetThreadCount,
    .RecordsAtOnce = device_RecordsAtOnce,
    .GetRemovedReason = device_GetRemovedReason,
    .GetResourceInfo = device_GetResourceInfo,
    .FindDescriptors = device_FindDescriptors,
    .WriteDescriptors = foreign_device_WriteDescriptors,
    .RecordDispatch = foreign_device_RecordDispatch,
    .ForgetOwner = foreign_device_ForgetOwner,
    .PoisonCommandList = device_PoisonCommandList,
    .RemoveDevice = device_RemoveDevice,
    .Message = device_Message,
    .CreateMemory = device_CreateMemory,
    .DestroyMemory = device_DestroyMemory,
    .WriteMemory = device_WriteMemory,
    .CreatePipelines = device_CreatePipelines,
    .TestKernel = device_TestKernel,
    .CreateSequence = device_CreateSequence,
    .DestroySequence = device_DestroySequence,
    .ResolveBindings = device_ResolveBindings,
    .RecordCommands = device_RecordCommands,
    .DestroyRecorded = device_DestroyRecorded,
    .RunDispatch = device_RunDispatch,
};
