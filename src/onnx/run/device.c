/* SPDX-License-Identifier: Apache-2.0 */
/* Opening an adapter, and the pool of execution contexts in which programs run. */
#include "onnx/run/exec_context.h"

#include <anydml_d3d12.h>
#include <anydml_dxcore.h>
#include <DirectMLGuids.h>

#include <stdio.h>
#include <stdlib.h>

void onnx_release(void *object)
{
    if (object)
        IUnknown_Release((IUnknown *)object);
}

HRESULT onnx_exec_fail(struct onnx_error *error, HRESULT hr, const char *what)
{
    snprintf(error->text, sizeof(error->text), "%s failed (0x%08x)", what, (unsigned)hr);
    return hr;
}

/* ---- devices ---- */

static HRESULT find_adapter(uint32_t index, IDXCoreAdapter **out)
{
    IDXCoreAdapterFactory *factory = NULL;
    IDXCoreAdapterList *list = NULL;
    HRESULT hr = DXCoreCreateAdapterFactory(&IID_IDXCoreAdapterFactory, (void **)&factory);
    if (SUCCEEDED(hr))
        hr = IDXCoreAdapterFactory_CreateAdapterList(factory, 1, &DXCORE_ADAPTER_ATTRIBUTE_D3D12_CORE_COMPUTE,
                                                     &IID_IDXCoreAdapterList, (void **)&list);
    if (SUCCEEDED(hr))
        hr = !index || index < IDXCoreAdapterList_GetAdapterCount(list) /* which loads all drivers */
                 ? IDXCoreAdapterList_GetAdapter(list, index, &IID_IDXCoreAdapter, (void **)out)
                 : DXGI_ERROR_NOT_FOUND;
    onnx_release(list);
    onnx_release(factory);
    return hr;
}

/* Whether the device supports buffers over host memory: it checks its arguments even if it creates nothing. */
static bool takes_host_memory(ID3D12Device *d3d)
{
    static char probe[16] __attribute__((aligned(16)));
    return SUCCEEDED(AnydmlCreateBufferFromMemory(d3d, probe, sizeof(probe), &IID_ID3D12Resource, NULL));
}

static HRESULT device_finish(struct onnx_device *device, HRESULT hr, struct onnx_device **out, struct onnx_error *error)
{
    if (SUCCEEDED(hr))
        hr = IDMLDevice1_CreateCommandRecorder(device->dml, &IID_IDMLCommandRecorder, (void **)&device->recorder);
    if (FAILED(hr)) {
        onnx_device_close(device);
        return onnx_exec_fail(error, hr, "opening the device");
    }
    device->host_memory = takes_host_memory(device->d3d);
    *out = device;
    return S_OK;
}

HRESULT onnx_device_open(uint32_t adapter, struct onnx_device **out, struct onnx_error *error)
{
    struct onnx_device *device = calloc(1, sizeof(*device));
    IDXCoreAdapter *found = NULL;
    *out = NULL;
    if (!device)
        return onnx_exec_fail(error, E_OUTOFMEMORY, "opening the device");
    device->adapter = adapter;
    HRESULT hr = find_adapter(adapter, &found);
    if (SUCCEEDED(hr))
        hr = D3D12CreateDevice((IUnknown *)found, D3D_FEATURE_LEVEL_1_0_CORE, &IID_ID3D12Device, (void **)&device->d3d);
    if (SUCCEEDED(hr))
        hr = DMLCreateDevice1(device->d3d, DML_CREATE_DEVICE_FLAG_NONE, DML_FEATURE_LEVEL_1_0, &IID_IDMLDevice1,
                              (void **)&device->dml);
    onnx_release(found);
    return device_finish(device, hr, out, error);
}

HRESULT onnx_device_wrap(IDMLDevice *dml, struct onnx_device **out, struct onnx_error *error)
{
    struct onnx_device *device = calloc(1, sizeof(*device));
    *out = NULL;
    if (!device)
        return onnx_exec_fail(error, E_OUTOFMEMORY, "opening the device");
    device->adapter = UINT32_MAX;
    HRESULT hr = IDMLDevice_QueryInterface(dml, &IID_IDMLDevice1, (void **)&device->dml);
    if (SUCCEEDED(hr))
        hr = IDMLDevice_GetParentDevice(dml, &IID_ID3D12Device, (void **)&device->d3d);
    return device_finish(device, hr, out, error);
}

void onnx_device_close(struct onnx_device *device)
{
    if (!device)
        return;
    onnx_release(device->recorder);
    onnx_release(device->dml);
    onnx_release(device->d3d);
    free(device);
}

ID3D12Resource *onnx_buffer(struct onnx_device *device, D3D12_HEAP_TYPE heap, uint64_t bytes, HRESULT *hr)
{
    bool is_default = heap == D3D12_HEAP_TYPE_DEFAULT;
    D3D12_HEAP_PROPERTIES properties = { .Type = heap, .CreationNodeMask = 1, .VisibleNodeMask = 1 };
    D3D12_RESOURCE_DESC desc = {
        .Dimension = D3D12_RESOURCE_DIMENSION_BUFFER,
        .Width = base_align_up(BASE_MAX(bytes, 4), 4),
        .Height = 1,
        .DepthOrArraySize = 1,
        .MipLevels = 1,
        .SampleDesc = { 1, 0 },
        .Layout = D3D12_TEXTURE_LAYOUT_ROW_MAJOR,
        .Flags = is_default ? D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS : D3D12_RESOURCE_FLAG_NONE,
    };
    D3D12_RESOURCE_STATES state = is_default                         ? D3D12_RESOURCE_STATE_COMMON
                                  : heap == D3D12_HEAP_TYPE_READBACK ? D3D12_RESOURCE_STATE_COPY_DEST
                                                                     : D3D12_RESOURCE_STATE_GENERIC_READ;
    ID3D12Resource *buffer = NULL;
    *hr = ID3D12Device_CreateCommittedResource(device->d3d, &properties, D3D12_HEAP_FLAG_NONE, &desc, state, NULL,
                                               &IID_ID3D12Resource, (void **)&buffer);
    return SUCCEEDED(*hr) ? buffer : NULL;
}

/* ---- execution contexts ---- */

HRESULT onnx_pool_create(struct onnx_device *device, uint64_t limit, struct onnx_pool **out)
{
    struct onnx_pool *pool = calloc(1, sizeof(*pool));
    *out = pool;
    if (!pool)
        return E_OUTOFMEMORY;
    pool->device = device;
    pool->limit = limit;
    pthread_mutex_init(&pool->lock, NULL);
    return S_OK;
}

void onnx_pool_use_queue(struct onnx_pool *pool, ID3D12CommandQueue *queue)
{
    ID3D12CommandQueue_AddRef(queue);
    onnx_release(pool->queue);
    pool->queue = queue;
}

static void exec_context_destroy(struct onnx_exec_context *context)
{
    onnx_release(context->temporary);
    onnx_release(context->queue);
    free(context);
}

void onnx_pool_destroy(struct onnx_pool *pool)
{
    if (!pool)
        return;
    while (pool->idle) {
        struct onnx_exec_context *context = pool->idle;
        pool->idle = context->next;
        exec_context_destroy(context);
    }
    onnx_release(pool->queue);
    onnx_caches_destroy(pool->caches);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

static void exec_context_drop_temporary(struct onnx_exec_context *context)
{
    onnx_release(context->temporary);
    context->temporary = NULL;
    context->temporary_bytes = 0;
    context->generation++;
}

void onnx_pool_trim(struct onnx_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    for (struct onnx_exec_context *context = pool->idle; context; context = context->next)
        exec_context_drop_temporary(context);
    pool->idle_bytes = 0;
    pthread_mutex_unlock(&pool->lock);
}

static HRESULT exec_context_create(struct onnx_pool *pool, struct onnx_exec_context **out)
{
    struct onnx_exec_context *context = calloc(1, sizeof(*context));
    D3D12_COMMAND_QUEUE_DESC desc = { .Type = D3D12_COMMAND_LIST_TYPE_COMPUTE };
    if (!context)
        return E_OUTOFMEMORY;
    context->id = pool->next_id++;
    HRESULT hr = S_OK;
    context->queue = pool->queue;
    if (context->queue)
        ID3D12CommandQueue_AddRef(context->queue);
    else
        hr = ID3D12Device_CreateCommandQueue(pool->device->d3d, &desc, &IID_ID3D12CommandQueue,
                                             (void **)&context->queue);
    if (FAILED(hr))
        exec_context_destroy(context);
    else
        *out = context;
    return hr;
}

/* Last in, first out: a single caller always gets the execution context whose lists are already recorded. */
HRESULT onnx_exec_context_acquire(struct onnx_pool *pool, struct onnx_exec_context **out)
{
    HRESULT hr = S_OK;
    pthread_mutex_lock(&pool->lock);
    struct onnx_exec_context *context = pool->idle;
    if (context) {
        pool->idle = context->next;
        pool->idle_bytes -= context->temporary_bytes;
    } else {
        hr = exec_context_create(pool, &context);
    }
    pthread_mutex_unlock(&pool->lock);
    *out = context;
    return hr;
}

void onnx_exec_context_release(struct onnx_pool *pool, struct onnx_exec_context *context)
{
    pthread_mutex_lock(&pool->lock);
    if (pool->idle_bytes + context->temporary_bytes > pool->limit)
        exec_context_drop_temporary(context);
    pool->idle_bytes += context->temporary_bytes;
    context->next = pool->idle;
    pool->idle = context;
    pthread_mutex_unlock(&pool->lock);
}

HRESULT onnx_exec_context_temporary(struct onnx_pool *pool, struct onnx_exec_context *context, uint64_t bytes)
{
    HRESULT hr = S_OK;
    if (bytes <= context->temporary_bytes)
        return S_OK;
    exec_context_drop_temporary(context);
    context->temporary = onnx_buffer(pool->device, D3D12_HEAP_TYPE_DEFAULT, bytes, &hr);
    context->temporary_bytes = context->temporary ? bytes : 0;
    return hr;
}

HRESULT onnx_exec_context_execute(struct onnx_exec_context *context, ID3D12GraphicsCommandList *list)
{
    return AnydmlExecuteCommandLists(context->queue, 1, (ID3D12CommandList *[]){ (ID3D12CommandList *)list });
}
