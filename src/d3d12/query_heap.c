/* SPDX-License-Identifier: Apache-2.0 */
/* ID3D12QueryHeap: timestamps. */
#include "d3d12/device_methods.h"

#include <stdlib.h>

static void query_heap_destroy(struct com_object *object)
{
    struct d3d_query_heap *heap = (struct d3d_query_heap *)object;
    struct d3d_device *device = d3d_parent(heap);
    if (heap->queries)
        device->ops->queries_destroy(device->adapter, heap->queries);
    com_finish(object);
    free(heap);
}

static const IID *const query_heap_iids[] = {
    &IID_ID3D12Object, &IID_ID3D12DeviceChild, &IID_ID3D12Pageable, &IID_ID3D12QueryHeap, NULL,
};

static const struct com_class query_heap_class = { "ID3D12QueryHeap", query_heap_iids, query_heap_destroy, NULL };

const ID3D12QueryHeapVtbl d3d_query_heap_vtbl = { COM_CHILD_METHODS };

static HRESULT query_heap_check(struct d3d_device *device, const D3D12_QUERY_HEAP_DESC *desc)
{
    const char *method = "ID3D12Device::CreateQueryHeap";
    if (!desc)
        return d3d_fail_as(device, E_INVALIDARG, D3D12_MESSAGE_ID_CREATEQUERY_HEAP_INVALID_PARAMETERS,
                           "%s: pDesc is NULL", method);
    if (desc->Type != D3D12_QUERY_HEAP_TYPE_TIMESTAMP && desc->Type != D3D12_QUERY_HEAP_TYPE_COPY_QUEUE_TIMESTAMP)
        return d3d_fail_as(device, E_INVALIDARG, D3D12_MESSAGE_ID_CREATEQUERY_HEAP_INVALID_PARAMETERS,
                           "%s: pDesc->Type is %d: only timestamps are supported", method, (int)desc->Type);
    if (!desc->Count || desc->NodeMask > 1)
        return d3d_fail_as(device, E_INVALIDARG, D3D12_MESSAGE_ID_CREATEQUERY_HEAP_INVALID_PARAMETERS,
                           "%s: Count %u must be at least 1, NodeMask %u must be 0 or 1", method, desc->Count,
                           desc->NodeMask);
    return S_OK;
}

HRESULT d3d_device_CreateQueryHeap(D3D_DEVICE, const D3D12_QUERY_HEAP_DESC *desc, REFIID riid, void **out)
{
    struct d3d_device *device = d3d_device_from(iface);
    HRESULT hr = d3d_create_begin(device, out);
    if (SUCCEEDED(hr))
        hr = query_heap_check(device, desc);
    if (FAILED(hr))
        return hr;
    if (!out)
        return S_FALSE;
    struct d3d_query_heap *heap = calloc(1, sizeof(*heap));
    if (!heap)
        return E_OUTOFMEMORY;
    com_init(&heap->pageable.base, &d3d_query_heap_vtbl, &query_heap_class, &device->base);
    atomic_init(&heap->pageable.residency, 1);
    heap->desc = *desc;
    hr = device->ops->queries_create(device->adapter, desc->Count, &heap->queries);
    hr = d3d_adapter_result(device, hr, "make queries");
    if (SUCCEEDED(hr))
        return com_return(&heap->pageable.base, riid, out);
    com_Release(heap);
    return d3d_fail(device, hr, "ID3D12Device::CreateQueryHeap: no memory for %u queries", desc->Count);
}
