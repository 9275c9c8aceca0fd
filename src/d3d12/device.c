/* SPDX-License-Identifier: Apache-2.0 */
/* ID3D12Device9: one object per adapter and process, its removal, and the method table. */
#include "d3d12/device_methods.h"

#include "base/log.h"
#include "base/os.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_ADAPTERS 64

static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
static struct d3d_device *open_devices[MAX_ADAPTERS];        /* weak, under open_lock; by adapter_position */
static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER; /* innermost */
static struct d3d_device *all_devices;                       /* weak, under all_lock */
static uint32_t forks;                                       /* through which this process inherited the library */
static pthread_once_t process_once = PTHREAD_ONCE_INIT;

uint64_t d3d_unique_id(void)
{
    static _Atomic uint64_t last;
    return atomic_fetch_add(&last, 1) + 1;
}

/* Threads that no longer exist may have held these locks or waited for them. */
static void free_locks(struct d3d_device *device)
{
    pthread_mutex_init(&device->fences_lock, NULL);
    pthread_mutex_init(&device->tables_lock, NULL);
    for (struct d3d_fence *fence = device->fences; fence; fence = fence->next) {
        pthread_mutex_init(&fence->lock, NULL);
        base_condition_init(&fence->fired);
        fence->sleepers = 0;
    }
}

/* After fork, the parent's devices have no threads: the child starts without devices. Driver objects are not
 * touched. */
static void after_fork_in_child(void)
{
    pthread_mutex_init(&open_lock, NULL);
    pthread_mutex_init(&all_lock, NULL);
    for (struct d3d_device *device = all_devices; device; device = device->next) {
        free_locks(device);
        if (device->info->kind == ADAPTER_HOST)
            continue;
        device->ops = &d3d_inherited_ops;
        atomic_store(&device->removed_reason, DXGI_ERROR_DEVICE_REMOVED);
    }
    memset(open_devices, 0, sizeof(open_devices));
    adapter_thread_budget_forget();
    forks++;
}

uint32_t d3d_fork_count(void)
{
    return forks;
}

/* Threads of this library may run until after the application's dlclose: keep its code mapped from the first device. */
static void process_init(void)
{
    base_on_fork(after_fork_in_child);
    base_library_stay((const void *)process_init);
}

static void list_device(struct d3d_device *device)
{
    pthread_mutex_lock(&all_lock);
    device->next = all_devices;
    device->at = &all_devices;
    if (all_devices)
        all_devices->at = &device->next;
    all_devices = device;
    pthread_mutex_unlock(&all_lock);
}

static void unlist_device(struct d3d_device *device)
{
    pthread_mutex_lock(&all_lock);
    *device->at = device->next;
    if (device->next)
        device->next->at = device->at;
    pthread_mutex_unlock(&all_lock);
}

/* ---- memory ---- */

HRESULT d3d_device_note_memory(struct d3d_device *device, struct adapter_memory *memory, struct com_object *owner)
{
    if (device->info->kind == ADAPTER_HOST)
        return S_OK;
    pthread_mutex_lock(&device->tables_lock);
    bool done = d3d_places_insert(&device->places, memory, owner);
    pthread_mutex_unlock(&device->tables_lock);
    return done ? S_OK : E_OUTOFMEMORY;
}

void d3d_device_forget_memory(struct d3d_device *device, const struct adapter_memory *memory)
{
    if (device->info->kind == ADAPTER_HOST)
        return;
    pthread_mutex_lock(&device->tables_lock);
    d3d_places_remove(&device->places, memory);
    pthread_mutex_unlock(&device->tables_lock);
}

/* ---- tear-offs ---- */

HRESULT d3d_tear_off_QueryInterface(void *iface, REFIID riid, void **out)
{
    return com_QueryInterface(((struct d3d_tear_off *)iface)->device, riid, out);
}

ULONG d3d_tear_off_AddRef(void *iface)
{
    return com_AddRef(((struct d3d_tear_off *)iface)->device);
}

ULONG d3d_tear_off_Release(void *iface)
{
    return com_Release(((struct d3d_tear_off *)iface)->device);
}

static void *device_query(struct com_object *object, const IID *iid)
{
    struct d3d_device *device = (struct d3d_device *)object;
    struct d3d_tear_off *tear_off = NULL;
    if (com_iid_equal(iid, &IID_AnydmlDevice))
        tear_off = &device->private_tear_off;
    else if (device->info_queue && com_iid_equal(iid, &IID_ID3D12DebugDevice))
        tear_off = &device->debug_tear_off;
    else if (device->info_queue &&
             (com_iid_equal(iid, &IID_ID3D12InfoQueue) || com_iid_equal(iid, &IID_ID3D12InfoQueue1)))
        tear_off = &device->info_queue_tear_off;
    if (tear_off)
        com_AddRef(object);
    return tear_off;
}

/* ---- life ---- */

static void device_destroy(struct com_object *object)
{
    struct d3d_device *device = (struct d3d_device *)object;
    pthread_mutex_lock(&open_lock);
    for (uint32_t i = 0; i < MAX_ADAPTERS; i++) {
        if (open_devices[i] == device)
            open_devices[i] = NULL;
    }
    pthread_mutex_unlock(&open_lock);
    com_finish(object); /* private data may still call into the device */
    unlist_device(device);
    if (device->adapter)
        device->ops->device_destroy(device->adapter);
    d3d_info_queue_destroy(device->info_queue);
    d3d_table_finish(&device->resources);
    d3d_table_finish(&device->heaps);
    d3d_places_finish(&device->places);
    pthread_mutex_destroy(&device->fences_lock);
    pthread_mutex_destroy(&device->tables_lock);
    free(device);
}

static const IID *const device_iids[] = {
    &IID_ID3D12Object,  &IID_ID3D12Device,  &IID_ID3D12Device1, &IID_ID3D12Device2,
    &IID_ID3D12Device3, &IID_ID3D12Device4, &IID_ID3D12Device5, &IID_ID3D12Device6,
    &IID_ID3D12Device7, &IID_ID3D12Device8, &IID_ID3D12Device9, NULL,
};

static const struct com_class device_class = { "ID3D12Device", device_iids, device_destroy, device_query };

/* All but the adapter's device. */
static HRESULT device_new(const struct adapter_info *info, struct d3d_device **out)
{
    struct d3d_device *device = *out = calloc(1, sizeof(*device));
    if (!device)
        return E_OUTOFMEMORY;
    com_init(&device->base, &d3d_device_vtbl, &device_class, NULL);
    device->private_tear_off = (struct d3d_tear_off){ &d3d_private_device_vtbl, device };
    device->info_queue_tear_off = (struct d3d_tear_off){ &d3d_info_queue_vtbl, device };
    device->debug_tear_off = (struct d3d_tear_off){ &d3d_debug_device_vtbl, device };
    device->info = info;
    device->ops = info->ops;
    atomic_init(&device->removed_reason, S_OK);
    pthread_mutex_init(&device->fences_lock, NULL);
    pthread_mutex_init(&device->tables_lock, NULL);
    list_device(device);
    if (d3d_debug_enabled())
        device->info_queue = d3d_info_queue_create();
    return device->info_queue || !d3d_debug_enabled() ? S_OK : E_OUTOFMEMORY;
}

static HRESULT device_create(const struct adapter_info *info, struct d3d_device **out)
{
    HRESULT hr = device_new(info, out);
    return SUCCEEDED(hr) ? info->ops->device_create(info, &(*out)->adapter) : hr;
}

HRESULT d3d_device_adopt(const struct adapter_info *info, struct adapter_device *adapter, struct d3d_device **out)
{
    pthread_once(&process_once, process_init);
    HRESULT hr = device_new(info, out);
    if (FAILED(hr)) {
        if (*out)
            com_Release(*out);
        *out = NULL;
        return hr;
    }
    (*out)->adopted_info = *info;
    (*out)->info = &(*out)->adopted_info;
    (*out)->adapter = adapter;
    return S_OK;
}

/* Under open_lock. Ignores a device whose destruction has begun in another thread. */
static HRESULT open_at(uint32_t position, const struct adapter_info *info, struct d3d_device **out)
{
    struct d3d_device *device = open_devices[position];
    if (device && com_try_ref(&device->base)) {
        com_AddRef(device);
        com_unref(&device->base);
        *out = device;
        return S_OK;
    }
    HRESULT hr = device_create(info, out);
    if (SUCCEEDED(hr))
        open_devices[position] = *out;
    return hr;
}

HRESULT d3d_device_open(const struct adapter_info *info, struct d3d_device **out)
{
    pthread_once(&process_once, process_init);
    uint32_t position = adapter_position(info);
    *out = NULL;
    if (position >= MAX_ADAPTERS)
        return E_INVALIDARG;
    if (forks && info->kind != ADAPTER_HOST) {
        base_log(BASE_LOG_ERROR, "D3D12CreateDevice: adapter \"%s\" cannot be used in a forked process", info->name);
        return DXGI_ERROR_UNSUPPORTED;
    }
    pthread_mutex_lock(&open_lock);
    HRESULT hr = open_at(position, info, out);
    pthread_mutex_unlock(&open_lock);
    if (SUCCEEDED(hr)) {
        base_log(BASE_LOG_INFO, "device on adapter %u, \"%s\"", position, info->name);
    } else {
        if (*out)
            com_Release(*out);
        *out = NULL;
        base_log(BASE_LOG_ERROR, "D3D12CreateDevice: adapter \"%s\" failed with 0x%08x", info->name, (unsigned)hr);
    }
    return hr;
}

void d3d_device_remove(struct d3d_device *device, HRESULT reason, const char *format, ...)
{
    char text[1024];
    int used = snprintf(text, sizeof(text), "device removed (0x%08x): ", (unsigned)reason);
    HRESULT alive = S_OK;
    va_list args;
    va_start(args, format);
    vsnprintf(text + used, sizeof(text) - (size_t)used, format, args);
    va_end(args);
    if (!atomic_compare_exchange_strong(&device->removed_reason, &alive, reason))
        return;
    /* Threads that wake up find the message. */
    d3d_message(device, D3D12_MESSAGE_SEVERITY_ERROR, D3D12_MESSAGE_CATEGORY_EXECUTION,
                D3D12_MESSAGE_ID_DEVICE_REMOVAL_PROCESS_AT_FAULT, text);
    pthread_mutex_lock(&device->fences_lock);
    for (struct d3d_fence *fence = device->fences; fence; fence = fence->next)
        d3d_fence_remove(fence);
    pthread_mutex_unlock(&device->fences_lock);
}

HRESULT d3d_adapter_result(struct d3d_device *device, HRESULT hr, const char *what)
{
    if (hr != DXGI_ERROR_DEVICE_HUNG)
        return hr;
    d3d_device_remove(device, hr, "the adapter was lost before it could %s", what);
    return DXGI_ERROR_DEVICE_REMOVED;
}

HRESULT d3d_memory_create(struct d3d_device *device, enum adapter_memory_kind kind, uint64_t size,
                          struct adapter_memory **out, char *message)
{
    HRESULT hr = device->ops->memory_create(device->adapter, kind, base_align_up(size, D3D_PLACEMENT_ALIGNMENT), out);
    *message = '\0';
    if (hr == E_OUTOFMEMORY && device->ops->memory_explain)
        device->ops->memory_explain(device->adapter, kind, size, message);
    return d3d_adapter_result(device, hr, "make memory");
}

/* ---- small methods ---- */

static UINT d3d_device_GetNodeCount(D3D_DEVICE)
{
    (void)iface;
    return 1;
}

static HRESULT d3d_device_GetDeviceRemovedReason(D3D_DEVICE)
{
    return atomic_load(&d3d_device_from(iface)->removed_reason);
}

static COM_STRUCT(LUID) d3d_device_GetAdapterLuid(D3D_DEVICE COM_RESULT(LUID))
{
    COM_RETURN(d3d_device_from(iface)->info->luid);
}

static void d3d_device_RemoveDevice(D3D_DEVICE)
{
    d3d_device_remove(d3d_device_from(iface), DXGI_ERROR_DEVICE_REMOVED,
                      "ID3D12Device5::RemoveDevice: called by the application");
}

const ID3D12Device9Vtbl d3d_device_vtbl = {
    COM_OBJECT_METHODS,
    /* ID3D12Device */
    .GetNodeCount = d3d_device_GetNodeCount,
    .CreateCommandQueue = d3d_device_CreateCommandQueue,
    .CreateCommandAllocator = d3d_device_CreateCommandAllocator,
    .CreateGraphicsPipelineState = d3d_device_CreateGraphicsPipelineState,
    .CreateComputePipelineState = d3d_device_CreateComputePipelineState,
    .CreateCommandList = d3d_device_CreateCommandList,
    .CheckFeatureSupport = d3d_device_CheckFeatureSupport,
    .CreateDescriptorHeap = d3d_device_CreateDescriptorHeap,
    .GetDescriptorHandleIncrementSize = d3d_device_GetDescriptorHandleIncrementSize,
    .CreateRootSignature = d3d_device_CreateRootSignature,
    .CreateConstantBufferView = d3d_device_CreateConstantBufferView,
    .CreateShaderResourceView = d3d_device_CreateShaderResourceView,
    .CreateUnorderedAccessView = d3d_device_CreateUnorderedAccessView,
    .CreateRenderTargetView = d3d_device_CreateRenderTargetView,
    .CreateDepthStencilView = d3d_device_CreateDepthStencilView,
    .CreateSampler = d3d_device_CreateSampler,
    .CopyDescriptors = d3d_device_CopyDescriptors,
    .CopyDescriptorsSimple = d3d_device_CopyDescriptorsSimple,
    .GetResourceAllocationInfo = d3d_device_GetResourceAllocationInfo,
    .GetCustomHeapProperties = d3d_device_GetCustomHeapProperties,
    .CreateCommittedResource = d3d_device_CreateCommittedResource,
    .CreateHeap = d3d_device_CreateHeap,
    .CreatePlacedResource = d3d_device_CreatePlacedResource,
    .CreateReservedResource = d3d_device_CreateReservedResource,
    .CreateSharedHandle = d3d_device_CreateSharedHandle,
    .OpenSharedHandle = d3d_device_OpenSharedHandle,
    .OpenSharedHandleByName = d3d_device_OpenSharedHandleByName,
    .MakeResident = d3d_device_MakeResident,
    .Evict = d3d_device_Evict,
    .CreateFence = d3d_device_CreateFence,
    .GetDeviceRemovedReason = d3d_device_GetDeviceRemovedReason,
    .GetCopyableFootprints = d3d_device_GetCopyableFootprints,
    .CreateQueryHeap = d3d_device_CreateQueryHeap,
    .SetStablePowerState = d3d_device_SetStablePowerState,
    .CreateCommandSignature = d3d_device_CreateCommandSignature,
    .GetResourceTiling = d3d_device_GetResourceTiling,
    .GetAdapterLuid = d3d_device_GetAdapterLuid,
    /* ID3D12Device1, 2, 3 */
    .CreatePipelineLibrary = d3d_device_CreatePipelineLibrary,
    .SetEventOnMultipleFenceCompletion = d3d_device_SetEventOnMultipleFenceCompletion,
    .SetResidencyPriority = d3d_device_SetResidencyPriority,
    .CreatePipelineState = d3d_device_CreatePipelineState,
    .OpenExistingHeapFromAddress = d3d_device_OpenExistingHeapFromAddress,
    .OpenExistingHeapFromFileMapping = d3d_device_OpenExistingHeapFromFileMapping,
    .EnqueueMakeResident = d3d_device_EnqueueMakeResident,
    /* ID3D12Device4 */
    .CreateCommandList1 = d3d_device_CreateCommandList1,
    .CreateProtectedResourceSession = d3d_device_CreateProtectedResourceSession,
    .CreateCommittedResource1 = d3d_device_CreateCommittedResource1,
    .CreateHeap1 = d3d_device_CreateHeap1,
    .CreateReservedResource1 = d3d_device_CreateReservedResource1,
    .GetResourceAllocationInfo1 = d3d_device_GetResourceAllocationInfo1,
    /* ID3D12Device5 */
    .CreateLifetimeTracker = d3d_device_CreateLifetimeTracker,
    .RemoveDevice = d3d_device_RemoveDevice,
    .EnumerateMetaCommands = d3d_device_EnumerateMetaCommands,
    .EnumerateMetaCommandParameters = d3d_device_EnumerateMetaCommandParameters,
    .CreateMetaCommand = d3d_device_CreateMetaCommand,
    .CreateStateObject = d3d_device_CreateStateObject,
    .GetRaytracingAccelerationStructurePrebuildInfo = d3d_device_GetRaytracingAccelerationStructurePrebuildInfo,
    .CheckDriverMatchingIdentifier = d3d_device_CheckDriverMatchingIdentifier,
    /* ID3D12Device6, 7, 8, 9 */
    .SetBackgroundProcessingMode = d3d_device_SetBackgroundProcessingMode,
    .AddToStateObject = d3d_device_AddToStateObject,
    .CreateProtectedResourceSession1 = d3d_device_CreateProtectedResourceSession1,
    .GetResourceAllocationInfo2 = d3d_device_GetResourceAllocationInfo2,
    .CreateCommittedResource2 = d3d_device_CreateCommittedResource2,
    .CreatePlacedResource1 = d3d_device_CreatePlacedResource1,
    .CreateSamplerFeedbackUnorderedAccessView = d3d_device_CreateSamplerFeedbackUnorderedAccessView,
    .GetCopyableFootprints1 = d3d_device_GetCopyableFootprints1,
    .CreateShaderCacheSession = d3d_device_CreateShaderCacheSession,
    .ShaderCacheControl = d3d_device_ShaderCacheControl,
    .CreateCommandQueue1 = d3d_device_CreateCommandQueue1,
};
