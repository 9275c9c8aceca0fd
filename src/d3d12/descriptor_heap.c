/* SPDX-License-Identifier: Apache-2.0 */
/* ID3D12DescriptorHeap. A handle is (heap's number << 32 | position * 64), GPU handles with the top bit set: every
 * handle identifies its heap, and handles of released heaps are detected. */
#include "d3d12/device_methods.h"

#include <stdlib.h>

#define GPU_BIT         (1ull << 63)
#define MAX_DESCRIPTORS (1u << 25) /* position * 64 must stay below 2^32 */

static void descriptor_heap_destroy(struct com_object *object)
{
    struct d3d_descriptor_heap *heap = (struct d3d_descriptor_heap *)object;
    struct d3d_device *device = d3d_parent(heap);
    pthread_mutex_lock(&device->tables_lock);
    d3d_table_remove(&device->heaps, heap->id);
    pthread_mutex_unlock(&device->tables_lock);
    free(heap->slots);
    com_finish(object);
    free(heap);
}

static const IID *const descriptor_heap_iids[] = {
    &IID_ID3D12Object, &IID_ID3D12DeviceChild, &IID_ID3D12Pageable, &IID_ID3D12DescriptorHeap, NULL,
};

static const struct com_class descriptor_heap_class = { "ID3D12DescriptorHeap", descriptor_heap_iids,
                                                        descriptor_heap_destroy, NULL };

static struct d3d_descriptor_heap *heap_from(ID3D12DescriptorHeap *iface)
{
    return (struct d3d_descriptor_heap *)iface;
}

static COM_STRUCT(D3D12_DESCRIPTOR_HEAP_DESC)
    d3d_descriptor_heap_GetDesc(ID3D12DescriptorHeap *iface COM_RESULT(D3D12_DESCRIPTOR_HEAP_DESC))
{
    COM_RETURN(heap_from(iface)->desc);
}

static COM_STRUCT(D3D12_CPU_DESCRIPTOR_HANDLE) d3d_descriptor_heap_GetCPUDescriptorHandleForHeapStart(
    ID3D12DescriptorHeap *iface COM_RESULT(D3D12_CPU_DESCRIPTOR_HANDLE))
{
    COM_RETURN((D3D12_CPU_DESCRIPTOR_HANDLE){ heap_from(iface)->id << 32 });
}

static COM_STRUCT(D3D12_GPU_DESCRIPTOR_HANDLE) d3d_descriptor_heap_GetGPUDescriptorHandleForHeapStart(
    ID3D12DescriptorHeap *iface COM_RESULT(D3D12_GPU_DESCRIPTOR_HANDLE))
{
    struct d3d_descriptor_heap *heap = heap_from(iface);
    bool visible = heap->desc.Flags & D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE;
    COM_RETURN((D3D12_GPU_DESCRIPTOR_HANDLE){ visible ? heap->id << 32 | GPU_BIT : 0 });
}

const ID3D12DescriptorHeapVtbl d3d_descriptor_heap_vtbl = {
    COM_CHILD_METHODS,
    .GetDesc = d3d_descriptor_heap_GetDesc,
    .GetCPUDescriptorHandleForHeapStart = d3d_descriptor_heap_GetCPUDescriptorHandleForHeapStart,
    .GetGPUDescriptorHandleForHeapStart = d3d_descriptor_heap_GetGPUDescriptorHandleForHeapStart,
};

struct d3d_descriptor_heap *d3d_descriptors_find(struct d3d_device *device, uint64_t handle, uint64_t count, bool gpu,
                                                 uint32_t *out_index)
{
    uint32_t position = (uint32_t)handle;
    if (!!(handle & GPU_BIT) != gpu || position % D3D_DESCRIPTOR_SIZE)
        return NULL;
    struct d3d_descriptor_heap *heap = d3d_table_find(&device->heaps, (handle & ~GPU_BIT) >> 32);
    position /= D3D_DESCRIPTOR_SIZE;
    if (!heap || position > heap->desc.NumDescriptors || count > heap->desc.NumDescriptors - position)
        return NULL;
    *out_index = position;
    return heap;
}

UINT d3d_device_GetDescriptorHandleIncrementSize(D3D_DEVICE, D3D12_DESCRIPTOR_HEAP_TYPE type)
{
    (void)iface;
    return (unsigned)type < D3D12_DESCRIPTOR_HEAP_TYPE_NUM_TYPES ? D3D_DESCRIPTOR_SIZE : 0;
}

static HRESULT descriptor_heap_check(struct d3d_device *device, const D3D12_DESCRIPTOR_HEAP_DESC *desc)
{
    const char *method = "ID3D12Device::CreateDescriptorHeap";
    if (!desc)
        return d3d_fail_as(device, E_INVALIDARG, D3D12_MESSAGE_ID_CREATE_DESCRIPTOR_HEAP_INVALID_DESC,
                           "%s: pDescriptorHeapDesc is NULL", method);
    if (desc->Type != D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV && desc->Type != D3D12_DESCRIPTOR_HEAP_TYPE_SAMPLER)
        return d3d_fail_as(device, E_INVALIDARG, D3D12_MESSAGE_ID_CREATE_DESCRIPTOR_HEAP_INVALID_DESC,
                           "%s: Type %d: only CBV_SRV_UAV and SAMPLER are supported", method, (int)desc->Type);
    if (desc->Flags & ~D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE || desc->NodeMask > 1)
        return d3d_fail_as(device, E_INVALIDARG, D3D12_MESSAGE_ID_CREATE_DESCRIPTOR_HEAP_INVALID_DESC,
                           "%s: Flags 0x%x must be NONE or SHADER_VISIBLE, NodeMask %u 0 or 1", method,
                           (unsigned)desc->Flags, desc->NodeMask);
    if (desc->NumDescriptors > MAX_DESCRIPTORS)
        return d3d_fail_as(device, E_OUTOFMEMORY, D3D12_MESSAGE_ID_CREATE_DESCRIPTOR_HEAP_LARGE_NUM_DESCRIPTORS,
                           "%s: NumDescriptors %u exceeds %u", method, desc->NumDescriptors, MAX_DESCRIPTORS);
    return S_OK;
}

/* Heap numbers have 31 bits in a handle: they are counted by themselves. */
static uint64_t heap_number(void)
{
    static atomic_uint last;
    return atomic_fetch_add(&last, 1) % 0x7fffffffu + 1;
}

static HRESULT descriptor_heap_register(struct d3d_device *device, struct d3d_descriptor_heap *heap)
{
    if (!heap->slots)
        return E_OUTOFMEMORY;
    pthread_mutex_lock(&device->tables_lock);
    bool done = d3d_table_insert(&device->heaps, heap->id, heap);
    pthread_mutex_unlock(&device->tables_lock);
    return done ? S_OK : E_OUTOFMEMORY;
}

HRESULT d3d_device_CreateDescriptorHeap(D3D_DEVICE, const D3D12_DESCRIPTOR_HEAP_DESC *desc, REFIID riid, void **out)
{
    struct d3d_device *device = d3d_device_from(iface);
    HRESULT hr = d3d_create_begin_strict(device, "ID3D12Device::CreateDescriptorHeap", out);
    if (SUCCEEDED(hr))
        hr = descriptor_heap_check(device, desc);
    if (FAILED(hr))
        return hr;
    struct d3d_descriptor_heap *heap = calloc(1, sizeof(*heap));
    if (!heap)
        return E_OUTOFMEMORY;
    com_init(&heap->pageable.base, &d3d_descriptor_heap_vtbl, &descriptor_heap_class, &device->base);
    atomic_init(&heap->pageable.residency, 1);
    heap->desc = *desc;
    heap->desc.NodeMask = 1;
    heap->id = heap_number();
    heap->slots = calloc(BASE_MAX(desc->NumDescriptors, 1), sizeof(*heap->slots));
    hr = descriptor_heap_register(device, heap);
    if (SUCCEEDED(hr))
        return com_return(&heap->pageable.base, riid, out);
    com_Release(heap);
    return d3d_fail(device, hr, "ID3D12Device::CreateDescriptorHeap: no memory for %u descriptors",
                    desc->NumDescriptors);
}
