/* SPDX-License-Identifier: Apache-2.0 */
/* ID3D12CommandQueue. */
#include "d3d12/lists.h"

#include "d3d12/device_methods.h"

#include "base/os.h"

#include <stdlib.h>

static void command_queue_destroy(struct com_object *object)
{
    struct d3d_command_queue *queue = (struct d3d_command_queue *)object;
    if (queue->worker)
        d3d_worker_close(queue->worker);
    if (queue->temp)
        com_Release(queue->temp);
    pthread_mutex_destroy(&queue->temp_lock);
    com_finish(object);
    free(queue);
}

static const IID *const command_queue_iids[] = {
    &IID_ID3D12Object, &IID_ID3D12DeviceChild, &IID_ID3D12Pageable, &IID_ID3D12CommandQueue, NULL,
};

static const struct com_class command_queue_class = { "ID3D12CommandQueue", command_queue_iids, command_queue_destroy,
                                                      NULL };

static struct d3d_command_queue *queue_from(ID3D12CommandQueue *iface)
{
    return (struct d3d_command_queue *)iface;
}

#define QUEUE ID3D12CommandQueue *iface

/* Short work runs on the calling thread: waking the queue's thread would take as long. */
static bool take_queue(struct d3d_command_queue *queue, bool is_short)
{
    return is_short && d3d_parent(queue)->info->kind == ADAPTER_HOST && d3d_worker_acquire(queue->worker);
}

/* S_OK: it is in the queue, or done. */
static HRESULT push_lists(struct d3d_command_queue *queue, UINT count, ID3D12CommandList *const *lists)
{
    struct d3d_device *device = d3d_parent(queue);
    struct d3d_work work = { .type = D3D_WORK_EXECUTE, .submission = d3d_submission_create(queue, lists, count) };
    if (!work.submission)
        return E_INVALIDARG;
    if (take_queue(queue, d3d_submission_short(work.submission))) {
        HRESULT hr = d3d_worker_run(queue->worker, work.submission);
        d3d_worker_release(queue->worker);
        return hr;
    }
    /* Submits to a device immediately: waking the queue's thread would take longer than submitting. */
    if (device->info->kind == ADAPTER_SPIRV && d3d_worker_acquire(queue->worker)) {
        d3d_worker_execute(queue->worker, work.submission);
        d3d_worker_release(queue->worker);
        return S_OK;
    }
    if (d3d_worker_push(queue->worker, &work))
        return S_OK;
    d3d_submission_release(queue->worker, work.submission);
    d3d_device_remove(device, E_OUTOFMEMORY, "ID3D12CommandQueue::ExecuteCommandLists: no memory for %u lists", count);
    return E_OUTOFMEMORY;
}

static void d3d_command_queue_ExecuteCommandLists(QUEUE, UINT count, ID3D12CommandList *const *lists)
{
    struct d3d_command_queue *queue = queue_from(iface);
    struct d3d_device *device = d3d_parent(queue);
    if (!count || d3d_removed(device))
        return;
    if (!lists) {
        d3d_fail(device, E_INVALIDARG, "ID3D12CommandQueue::ExecuteCommandLists: ppCommandLists is NULL");
        return;
    }
    push_lists(queue, count, lists);
}

static HRESULT push_fence(struct d3d_command_queue *queue, enum d3d_work_type type, ID3D12Fence *iface, UINT64 value,
                          const char *method)
{
    struct d3d_device *device = d3d_parent(queue);
    struct d3d_fence *fence = com_child(device, iface, &d3d_fence_vtbl);
    if (d3d_removed(device))
        return DXGI_ERROR_DEVICE_REMOVED;
    if (!fence)
        return d3d_fail(device, E_INVALIDARG, "%s: pFence is not a fence of this device", method);
    bool reached = d3d_fence_value(fence) >= value;
    if (take_queue(queue, type == D3D_WORK_SIGNAL || reached)) {
        if (type == D3D_WORK_SIGNAL)
            d3d_fence_signal(fence, value);
        d3d_worker_release(queue->worker);
        return S_OK;
    }
    struct d3d_work work = { .type = type, .fence = fence, .value = value };
    com_ref(&fence->base);
    if (d3d_worker_push(queue->worker, &work))
        return S_OK;
    com_unref(&fence->base);
    return E_OUTOFMEMORY;
}

static HRESULT d3d_command_queue_Signal(QUEUE, ID3D12Fence *fence, UINT64 value)
{
    return push_fence(queue_from(iface), D3D_WORK_SIGNAL, fence, value, "ID3D12CommandQueue::Signal");
}

static HRESULT d3d_command_queue_Wait(QUEUE, ID3D12Fence *fence, UINT64 value)
{
    return push_fence(queue_from(iface), D3D_WORK_WAIT, fence, value, "ID3D12CommandQueue::Wait");
}

static HRESULT execute_here(struct d3d_command_queue *queue, UINT count, ID3D12CommandList *const *lists)
{
    struct d3d_submission *submission = d3d_submission_create(queue, lists, count);
    HRESULT hr = submission ? d3d_worker_run(queue->worker, submission) : E_INVALIDARG;
    d3d_worker_release(queue->worker);
    return hr;
}

static HRESULT execute_after_others(struct d3d_command_queue *queue, UINT count, ID3D12CommandList *const *lists)
{
    ID3D12Fence *fence = NULL;
    HRESULT hr = ID3D12Device_CreateFence((ID3D12Device *)d3d_parent(queue), 0, D3D12_FENCE_FLAG_NONE, &IID_ID3D12Fence,
                                          (void **)&fence);
    if (SUCCEEDED(hr))
        hr = push_lists(queue, count, lists);
    if (SUCCEEDED(hr))
        hr = push_fence(queue, D3D_WORK_SIGNAL, fence, 1, "AnydmlExecuteCommandLists");
    if (SUCCEEDED(hr))
        d3d_fence_wait((struct d3d_fence *)fence, 1);
    if (fence)
        ID3D12Fence_Release(fence);
    return hr;
}

HRESULT d3d_command_queue_execute(struct d3d_command_queue *queue, UINT count, ID3D12CommandList *const *lists)
{
    struct d3d_device *device = d3d_parent(queue);
    HRESULT hr = S_OK;
    if (count && !lists)
        return d3d_fail(device, E_INVALIDARG, "AnydmlExecuteCommandLists: lists is NULL");
    if (count && !d3d_removed(device))
        hr = d3d_worker_acquire(queue->worker) ? execute_here(queue, count, lists)
                                               : execute_after_others(queue, count, lists);
    return d3d_removed(device) ? DXGI_ERROR_DEVICE_REMOVED : hr;
}

static HRESULT d3d_command_queue_GetTimestampFrequency(QUEUE, UINT64 *out)
{
    struct d3d_device *device = d3d_parent(iface);
    if (!out)
        return d3d_fail(device, E_INVALIDARG, "ID3D12CommandQueue::GetTimestampFrequency: pFrequency is NULL");
    *out = device->info->timestamp_frequency;
    return S_OK;
}

static HRESULT d3d_command_queue_GetClockCalibration(QUEUE, UINT64 *gpu, UINT64 *cpu)
{
    struct d3d_device *device = d3d_parent(iface);
    if (!gpu || !cpu)
        return d3d_fail(device, E_INVALIDARG, "ID3D12CommandQueue::GetClockCalibration: an output is NULL");
    if (device->info->kind != ADAPTER_HOST) /* its clock cannot be read from here */
        return d3d_not_implemented(device, "ID3D12CommandQueue::GetClockCalibration on this adapter");
    *gpu = *cpu = base_ticks_ns();
    return S_OK;
}

static COM_STRUCT(D3D12_COMMAND_QUEUE_DESC) d3d_command_queue_GetDesc(QUEUE COM_RESULT(D3D12_COMMAND_QUEUE_DESC))
{
    COM_RETURN(queue_from(iface)->desc);
}

/* Mappings change in the queue's order, as all its work. */
static void push_tiles(struct d3d_command_queue *queue, struct d3d_tile_update *update)
{
    struct d3d_device *device = d3d_parent(queue);
    const struct d3d_work work = { .type = D3D_WORK_TILES, .tiles = update };
    if (!update)
        return;
    if (take_queue(queue, true)) {
        d3d_tile_update_run(device, update);
        d3d_worker_release(queue->worker);
    } else if (d3d_worker_push(queue->worker, &work)) {
        return;
    } else {
        d3d_device_remove(device, E_OUTOFMEMORY, "ID3D12CommandQueue: no memory for a change of tile mappings");
    }
    d3d_tile_update_destroy(update);
}

static void d3d_command_queue_UpdateTileMappings(QUEUE, ID3D12Resource *resource, UINT region_count,
                                                 const D3D12_TILED_RESOURCE_COORDINATE *starts,
                                                 const D3D12_TILE_REGION_SIZE *sizes, ID3D12Heap *heap,
                                                 UINT range_count, const D3D12_TILE_RANGE_FLAGS *range_flags,
                                                 const UINT *offsets, const UINT *counts,
                                                 D3D12_TILE_MAPPING_FLAGS flags)
{
    struct d3d_command_queue *queue = queue_from(iface);
    const struct d3d_tile_regions regions = { region_count, starts, sizes };
    const struct d3d_tile_ranges ranges = { range_count, range_flags, offsets, counts };
    (void)flags; /* a promise about hazards */
    push_tiles(queue, d3d_tile_update_create(d3d_parent(queue), resource, heap, &regions, &ranges));
}

static void d3d_command_queue_CopyTileMappings(QUEUE, ID3D12Resource *to, const D3D12_TILED_RESOURCE_COORDINATE *to_at,
                                               ID3D12Resource *from, const D3D12_TILED_RESOURCE_COORDINATE *from_at,
                                               const D3D12_TILE_REGION_SIZE *size, D3D12_TILE_MAPPING_FLAGS flags)
{
    struct d3d_command_queue *queue = queue_from(iface);
    (void)flags;
    push_tiles(queue, d3d_tile_copy_create(d3d_parent(queue), to, to_at, from, from_at, size));
}

/* Markers are for capturing tools. */
static void d3d_command_queue_SetMarker(QUEUE, UINT metadata, const void *data, UINT size)
{
    (void)iface, (void)metadata, (void)data, (void)size;
}

static void d3d_command_queue_BeginEvent(QUEUE, UINT metadata, const void *data, UINT size)
{
    (void)iface, (void)metadata, (void)data, (void)size;
}

static void d3d_command_queue_EndEvent(QUEUE)
{
    (void)iface;
}

const ID3D12CommandQueueVtbl d3d_command_queue_vtbl = {
    COM_CHILD_METHODS,
    .UpdateTileMappings = d3d_command_queue_UpdateTileMappings,
    .CopyTileMappings = d3d_command_queue_CopyTileMappings,
    .ExecuteCommandLists = d3d_command_queue_ExecuteCommandLists,
    .SetMarker = d3d_command_queue_SetMarker,
    .BeginEvent = d3d_command_queue_BeginEvent,
    .EndEvent = d3d_command_queue_EndEvent,
    .Signal = d3d_command_queue_Signal,
    .Wait = d3d_command_queue_Wait,
    .GetTimestampFrequency = d3d_command_queue_GetTimestampFrequency,
    .GetClockCalibration = d3d_command_queue_GetClockCalibration,
    .GetDesc = d3d_command_queue_GetDesc,
};

static HRESULT queue_desc_check(struct d3d_device *device, const D3D12_COMMAND_QUEUE_DESC *desc)
{
    const char *method = "ID3D12Device::CreateCommandQueue";
    if (!desc)
        return d3d_fail(device, E_INVALIDARG, "%s: pDesc is NULL", method);
    if (desc->Type != D3D12_COMMAND_LIST_TYPE_DIRECT && desc->Type != D3D12_COMMAND_LIST_TYPE_COMPUTE &&
        desc->Type != D3D12_COMMAND_LIST_TYPE_COPY)
        return d3d_fail_as(device, E_INVALIDARG, D3D12_MESSAGE_ID_CREATE_QUEUE_INVALID_TYPE,
                           "%s: Type %d: must be DIRECT, COMPUTE or COPY", method, (int)desc->Type);
    if (desc->Priority != D3D12_COMMAND_QUEUE_PRIORITY_NORMAL && desc->Priority != D3D12_COMMAND_QUEUE_PRIORITY_HIGH &&
        desc->Priority != D3D12_COMMAND_QUEUE_PRIORITY_GLOBAL_REALTIME)
        return d3d_fail_as(device, E_INVALIDARG, D3D12_MESSAGE_ID_CREATE_QUEUE_INVALID_PRIORITY,
                           "%s: Priority %d: must be 0, 100 or 10000", method, desc->Priority);
    if ((unsigned)desc->Flags > D3D12_COMMAND_QUEUE_FLAG_DISABLE_GPU_TIMEOUT)
        return d3d_fail_as(device, E_INVALIDARG, D3D12_MESSAGE_ID_CREATE_QUEUE_INVALID_FLAGS,
                           "%s: Flags 0x%x: must be NONE or DISABLE_GPU_TIMEOUT", method, (unsigned)desc->Flags);
    if (desc->NodeMask > 1)
        return d3d_fail_as(device, E_INVALIDARG, D3D12_MESSAGE_ID_INVALID_NODE_INDEX, "%s: NodeMask %u: must be 0 or 1",
                           method, desc->NodeMask);
    return S_OK;
}

HRESULT d3d_device_CreateCommandQueue(D3D_DEVICE, const D3D12_COMMAND_QUEUE_DESC *desc, REFIID riid, void **out)
{
    struct d3d_device *device = d3d_device_from(iface);
    HRESULT hr = d3d_create_begin_strict(device, "ID3D12Device::CreateCommandQueue", out);
    if (SUCCEEDED(hr))
        hr = queue_desc_check(device, desc);
    if (FAILED(hr))
        return hr;
    struct d3d_command_queue *queue = calloc(1, sizeof(*queue));
    if (!queue)
        return E_OUTOFMEMORY;
    com_init(&queue->base, &d3d_command_queue_vtbl, &command_queue_class, &device->base);
    pthread_mutex_init(&queue->temp_lock, NULL);
    queue->desc = *desc;
    queue->desc.NodeMask = 1;
    hr = d3d_worker_create(device, desc->Type, &queue->worker);
    if (SUCCEEDED(hr))
        return com_return(&queue->base, riid, out);
    com_Release(queue);
    return d3d_fail(device, hr, "ID3D12Device::CreateCommandQueue: the queue or its thread could not be created");
}

HRESULT d3d_device_CreateCommandQueue1(D3D_DEVICE, const D3D12_COMMAND_QUEUE_DESC *desc, REFIID creator, REFIID riid,
                                       void **out)
{
    (void)creator;
    return d3d_device_CreateCommandQueue(iface, desc, riid, out);
}
