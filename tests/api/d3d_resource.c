/* SPDX-License-Identifier: Apache-2.0 */
/* ID3D12Resource and ID3D12Heap: valid and invalid descriptions, mapping, placed buffers that share bytes, sizes,
 * residency. */
#include "api_test.h"

#include <unistd.h>

static HRESULT try_create(ID3D12Device *device, D3D12_HEAP_PROPERTIES heap, D3D12_RESOURCE_DESC desc,
                          D3D12_RESOURCE_STATES state)
{
    ID3D12Resource *resource = (ID3D12Resource *)device;
    HRESULT hr = ID3D12Device_CreateCommittedResource(device, &heap, D3D12_HEAP_FLAG_NONE, &desc, state, NULL,
                                                      &IID_ID3D12Resource, (void **)&resource);
    ok(SUCCEEDED(hr) == !!resource, "hr 0x%08x with resource %p", (unsigned)hr, (void *)resource);
    if (resource)
        api_release(resource);
    return hr;
}

static void test_creation(ID3D12Device *device)
{
    const D3D12_HEAP_PROPERTIES gpu = { .Type = D3D12_HEAP_TYPE_DEFAULT }, up = { .Type = D3D12_HEAP_TYPE_UPLOAD },
                                back = { .Type = D3D12_HEAP_TYPE_READBACK };
    D3D12_HEAP_PROPERTIES heap = gpu;
    D3D12_RESOURCE_DESC desc = api_buffer_desc(100, 0), uav = api_buffer_desc(100, 4);
    ok_hr(try_create(device, gpu, desc, D3D12_RESOURCE_STATE_COMMON), S_OK);
    ok_hr(try_create(device, gpu, uav, D3D12_RESOURCE_STATE_UNORDERED_ACCESS), S_OK);
    ok_hr(try_create(device, up, desc, D3D12_RESOURCE_STATE_GENERIC_READ), S_OK);
    ok_hr(try_create(device, up, desc, D3D12_RESOURCE_STATE_COPY_DEST), E_INVALIDARG);
    ok_hr(try_create(device, back, desc, D3D12_RESOURCE_STATE_COPY_DEST), S_OK);
    ok_hr(try_create(device, back, desc, D3D12_RESOURCE_STATE_COMMON), E_INVALIDARG);
    ok_hr(try_create(device, up, uav, D3D12_RESOURCE_STATE_GENERIC_READ), E_INVALIDARG);
    ok_hr(try_create(device, gpu, desc, D3D12_RESOURCE_STATE_COPY_DEST | D3D12_RESOURCE_STATE_COPY_SOURCE),
          E_INVALIDARG);
    ok_hr(try_create(device, gpu, desc, D3D12_RESOURCE_STATE_RENDER_TARGET), E_INVALIDARG);
    ok_hr(try_create(device, gpu, api_buffer_desc(0, 0), 0), E_INVALIDARG);
    ok_hr(try_create(device, gpu, api_buffer_desc(UINT64_MAX, 0), 0), E_INVALIDARG);
    ok_hr(try_create(device, gpu, api_buffer_desc(1ull << 45, 0), 0), E_OUTOFMEMORY);
    ok_hr(try_create(device, gpu, api_buffer_desc(16, 1), 0), E_INVALIDARG);
    desc.Height = 2;
    ok_hr(try_create(device, gpu, desc, 0), E_INVALIDARG);
    desc = api_buffer_desc(100, 0);
    desc.Dimension = D3D12_RESOURCE_DIMENSION_TEXTURE2D;
    ok_hr(try_create(device, gpu, desc, 0), E_NOTIMPL);
    desc = api_buffer_desc(100, 0);
    desc.Alignment = 4096;
    ok_hr(try_create(device, gpu, desc, 0), E_INVALIDARG);
    desc = api_buffer_desc(100, 0);
    heap.CPUPageProperty = D3D12_CPU_PAGE_PROPERTY_WRITE_BACK;
    ok_hr(try_create(device, heap, desc, 0), E_INVALIDARG);
    heap = (D3D12_HEAP_PROPERTIES){ D3D12_HEAP_TYPE_CUSTOM, D3D12_CPU_PAGE_PROPERTY_WRITE_COMBINE, D3D12_MEMORY_POOL_L0,
                                    1, 1 };
    ok_hr(try_create(device, heap, uav, D3D12_RESOURCE_STATE_UNORDERED_ACCESS), S_OK);
    heap.MemoryPoolPreference = D3D12_MEMORY_POOL_L1;
    ok_hr(try_create(device, heap, desc, 0), E_INVALIDARG);
    heap = gpu;
    heap.CreationNodeMask = 2;
    ok_hr(try_create(device, heap, desc, 0), E_INVALIDARG);
    ok_hr(ID3D12Device_CreateCommittedResource(device, &gpu, 0, &desc, 0, NULL, &IID_ID3D12Resource, NULL), S_FALSE);
    void *none = device;
    ok_hr(ID3D12Device_CreateCommittedResource(device, &gpu, 0, &desc, 0, NULL, &IID_ID3D12Fence, &none),
          E_NOINTERFACE);
    ok(!none, "the output is not cleared");
}

static void test_zero(struct api_queue *q)
{
    unsigned char bytes[1000];
    memset(bytes, 1, sizeof(bytes));
    ID3D12Resource *buffer = api_buffer(q->device, D3D12_HEAP_TYPE_DEFAULT, sizeof(bytes));
    api_read(q, buffer, 0, bytes, sizeof(bytes));
    for (size_t i = 0; i < sizeof(bytes); i++)
        ok(!bytes[i] || api_is("null"), "byte %zu is %u", i, bytes[i]);
    api_release(buffer);
}

static void test_map(struct api_queue *q)
{
    ID3D12Resource *gpu = api_buffer(q->device, D3D12_HEAP_TYPE_DEFAULT, 64);
    ID3D12Resource *upload = api_buffer(q->device, D3D12_HEAP_TYPE_UPLOAD, 64);
    void *data = upload;
    ok_hr(ID3D12Resource_Map(gpu, 0, NULL, &data), E_INVALIDARG);
    ok(!data, "the output is not cleared");
    ok_hr(ID3D12Resource_Map(upload, 1, NULL, &data), E_INVALIDARG);
    char *first = api_map(upload), *second = api_map(upload);
    ok(first == second, "nested Map moved");
    const D3D12_RANGE nothing = { 8, 0 };
    ok_hr(ID3D12Resource_Map(upload, 0, &nothing, NULL), S_OK);
    for (int i = 0; i < 3; i++)
        ID3D12Resource_Unmap(upload, 0, NULL);
    ID3D12Resource_Unmap(upload, 0, NULL); /* one too many: only a message */
    first = api_map(upload);
    /* Writes between recording and executing are visible. */
    ID3D12GraphicsCommandList_CopyBufferRegion(q->list, gpu, 0, upload, 0, 64);
    ok_hr(ID3D12GraphicsCommandList_Close(q->list), S_OK);
    memset(first, 0x5a, 64);
    api_queue_execute(q);
    api_queue_wait(q);
    ok_hr(ID3D12GraphicsCommandList_Reset(q->list, q->allocator, NULL), S_OK);
    char got[64] = { 0 };
    api_read(q, gpu, 0, got, sizeof(got));
    ok(!memcmp(first, got, 64) || api_is("null"), "a late CPU write was not seen");
    D3D12_RESOURCE_DESC desc = ID3D12Resource_GetDesc(gpu);
    ok(desc.Width == 64 && desc.Alignment == 65536 && desc.Flags == D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS, "desc");
    D3D12_HEAP_PROPERTIES properties;
    D3D12_HEAP_FLAGS flags;
    ok_hr(ID3D12Resource_GetHeapProperties(upload, &properties, &flags), S_OK);
    ok(properties.Type == D3D12_HEAP_TYPE_UPLOAD && properties.CreationNodeMask == 1, "heap properties");
    ok_hr(ID3D12Resource_GetHeapProperties(upload, NULL, NULL), S_OK);
    UINT64 address = ID3D12Resource_GetGPUVirtualAddress(gpu);
    ok(address && address % 65536 == 0, "address 0x%llx", (unsigned long long)address);
    api_release(gpu);
    api_release(upload);
}

static ID3D12Resource *place(ID3D12Device *device, ID3D12Heap *heap, UINT64 offset, UINT64 width,
                             D3D12_RESOURCE_STATES state, HRESULT want)
{
    D3D12_RESOURCE_DESC desc = api_buffer_desc(width, D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS);
    ID3D12Resource *resource = (ID3D12Resource *)device;
    ok_hr(ID3D12Device_CreatePlacedResource(device, heap, offset, &desc, state, NULL, &IID_ID3D12Resource,
                                            (void **)&resource),
          want);
    ok(SUCCEEDED(want) == !!resource, "resource %p", (void *)resource);
    return resource;
}

static void alias(struct api_queue *q)
{
    D3D12_RESOURCE_BARRIER barrier = { .Type = D3D12_RESOURCE_BARRIER_TYPE_ALIASING };
    ID3D12GraphicsCommandList_ResourceBarrier(q->list, 1, &barrier);
}

static void test_placed(struct api_queue *q)
{
    ID3D12Device *device = q->device;
    D3D12_HEAP_DESC desc = { .SizeInBytes = 100000,
                             .Properties = { .Type = D3D12_HEAP_TYPE_DEFAULT },
                             .Flags = D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS };
    ID3D12Heap *heap = NULL;
    ok_hr(ID3D12Device_CreateHeap(device, &desc, &IID_ID3D12Heap, (void **)&heap), S_OK);
    need(heap);
    ok(ID3D12Heap_GetDesc(heap).SizeInBytes == 131072, "size is not rounded up");
    ID3D12Resource *uav = place(device, heap, 0, 131072, D3D12_RESOURCE_STATE_UNORDERED_ACCESS, S_OK);
    ID3D12Resource *to = place(device, heap, 0, 131072, D3D12_RESOURCE_STATE_COPY_DEST, S_OK);
    ID3D12Resource *from = place(device, heap, 0, 131072, D3D12_RESOURCE_STATE_COPY_SOURCE, S_OK);
    ID3D12Resource *upper = place(device, heap, 65536, 16, D3D12_RESOURCE_STATE_COMMON, S_OK);
    place(device, heap, 4096, 16, D3D12_RESOURCE_STATE_COMMON, E_INVALIDARG);
    place(device, heap, 131072, 1, D3D12_RESOURCE_STATE_COMMON, E_INVALIDARG);
    place(device, heap, 65536, 65537, D3D12_RESOURCE_STATE_COMMON, E_INVALIDARG);
    place(device, NULL, 0, 16, D3D12_RESOURCE_STATE_COMMON, E_INVALIDARG);
    place(device, (ID3D12Heap *)upper, 0, 16, D3D12_RESOURCE_STATE_COMMON, E_INVALIDARG);
    ok(ID3D12Resource_GetGPUVirtualAddress(upper) == ID3D12Resource_GetGPUVirtualAddress(uav) + 65536, "address");
    api_release(heap); /* held by its resources */

    ID3D12Resource *upload = api_buffer(device, D3D12_HEAP_TYPE_UPLOAD, 131072);
    ID3D12Resource *readback = api_buffer(device, D3D12_HEAP_TYPE_READBACK, 131072);
    memset(api_map(upload), 0x21, 131072);
    ID3D12GraphicsCommandList_CopyResource(q->list, to, upload);
    alias(q);
    ID3D12GraphicsCommandList_CopyResource(q->list, readback, from);
    alias(q);
    ID3D12GraphicsCommandList_CopyBufferRegion(q->list, readback, 5, upper, 0, 1);
    api_queue_run(q);
    const char *got = api_map(readback);
    ok((got[0] == 0x21 && got[131071] == 0x21 && got[5] == 0x21) || api_is("null"), "aliases do not share bytes");
    ID3D12Resource *all[] = { uav, to, from, upper, upload, readback };
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        api_release(all[i]);
}

static void test_heap_errors(ID3D12Device *device)
{
    D3D12_HEAP_DESC desc = { .Properties = { .Type = D3D12_HEAP_TYPE_DEFAULT } };
    void *heap = device;
    ok_hr(ID3D12Device_CreateHeap(device, &desc, &IID_ID3D12Heap, &heap), E_INVALIDARG);
    ok(!heap, "the output is not cleared");
    desc.SizeInBytes = 65536;
    desc.Alignment = 3;
    ok_hr(ID3D12Device_CreateHeap(device, &desc, &IID_ID3D12Heap, &heap), E_INVALIDARG);
    desc.Alignment = 4 << 20;
    ok_hr(ID3D12Device_CreateHeap(device, &desc, &IID_ID3D12Heap, NULL), S_FALSE);
    desc.Flags = D3D12_HEAP_FLAG_SHARED;
    ok_hr(ID3D12Device_CreateHeap(device, &desc, &IID_ID3D12Heap, &heap), E_NOTIMPL);
    desc.Flags = 0;
    desc.SizeInBytes = 1ull << 50;
    ok_hr(ID3D12Device_CreateHeap(device, &desc, &IID_ID3D12Heap, &heap), E_OUTOFMEMORY);
}

static void test_sizes(ID3D12Device *device)
{
    D3D12_RESOURCE_DESC descs[] = { api_buffer_desc(1, 0), api_buffer_desc(65537, 0) };
    D3D12_RESOURCE_ALLOCATION_INFO info = ID3D12Device_GetResourceAllocationInfo(device, 0, 1, descs);
    ok(info.SizeInBytes == 65536 && info.Alignment == 65536, "size %llu", (unsigned long long)info.SizeInBytes);
    info = ID3D12Device_GetResourceAllocationInfo(device, 0, 2, descs);
    ok(info.SizeInBytes == 3 * 65536, "size %llu", (unsigned long long)info.SizeInBytes);
    D3D12_RESOURCE_ALLOCATION_INFO1 infos[2];
    (void)ID3D12Device4_GetResourceAllocationInfo1((ID3D12Device4 *)device, 0, 2, descs, infos);
    ok(infos[1].Offset == 65536 && infos[1].SizeInBytes == 131072, "second buffer");
    descs[1].Height = 0;
    info = ID3D12Device_GetResourceAllocationInfo(device, 0, 2, descs);
    ok(info.SizeInBytes == UINT64_MAX, "an invalid description has a size");

    D3D12_RESOURCE_DESC desc = api_buffer_desc(1000, 0);
    D3D12_PLACED_SUBRESOURCE_FOOTPRINT layout;
    UINT rows;
    UINT64 row_size, total;
    ID3D12Device_GetCopyableFootprints(device, &desc, 0, 1, 512, &layout, &rows, &row_size, &total);
    ok(total == 1000 && row_size == 1000 && rows == 1, "total %llu", (unsigned long long)total);
    ok(layout.Offset == 512 && layout.Footprint.RowPitch == 1024 && layout.Footprint.Width == 1000 &&
           layout.Footprint.Height == 1 && layout.Footprint.Depth == 1,
       "footprint");
    desc = api_buffer_desc(1100, 0);
    ID3D12Device_GetCopyableFootprints(device, &desc, 0, 1, 0, &layout, NULL, NULL, NULL);
    ok(layout.Footprint.RowPitch == 1280, "pitch %u", layout.Footprint.RowPitch);
    ID3D12Device_GetCopyableFootprints(device, &desc, 1, 1, 0, &layout, &rows, &row_size, &total);
    ok(total == UINT64_MAX && row_size == UINT64_MAX && rows == UINT32_MAX && layout.Offset == UINT64_MAX, "bad range");
    ID3D12Device_GetCopyableFootprints(device, &desc, 0, 0, 0, NULL, NULL, NULL, &total);
    ok(!total, "nothing has a size");
    ID3D12Device_GetCopyableFootprints(device, &desc, 0, 1, 0, NULL, NULL, NULL, NULL);
}

/* The system would promise both; the second could never be used. */
static void test_limits(ID3D12Device *device)
{
    UINT64 most = api_machine_bytes() / 10 * 6;
    D3D12_HEAP_DESC desc = { .SizeInBytes = most, .Properties = { .Type = D3D12_HEAP_TYPE_DEFAULT } };
    ID3D12Heap *first = NULL, *second = NULL;
    HRESULT hr = ID3D12Device_CreateHeap(device, &desc, &IID_ID3D12Heap, (void **)&first);
    ok(hr == S_OK || hr == E_OUTOFMEMORY, "0x%08x", (unsigned)hr);
    ok_hr(ID3D12Device_CreateHeap(device, &desc, &IID_ID3D12Heap, (void **)&second), E_OUTOFMEMORY);
    ok(!second, "a heap beyond the machine's memory");
    if (first)
        api_release(first);
    desc.SizeInBytes = 65536; /* and released memory can be allocated again */
    ok_hr(ID3D12Device_CreateHeap(device, &desc, &IID_ID3D12Heap, (void **)&first), S_OK);
    api_release(first);
}

static void test_custom_heaps(ID3D12Device *device)
{
    D3D12_FEATURE_DATA_ARCHITECTURE1 arch = { 0 };
    ok_hr(ID3D12Device_CheckFeatureSupport(device, D3D12_FEATURE_ARCHITECTURE1, &arch, sizeof(arch)), S_OK);
    for (int type = D3D12_HEAP_TYPE_DEFAULT; type <= D3D12_HEAP_TYPE_READBACK; type++) {
        D3D12_HEAP_PROPERTIES heap = ID3D12Device_GetCustomHeapProperties(device, 0, (D3D12_HEAP_TYPE)type);
        ok(heap.Type == D3D12_HEAP_TYPE_CUSTOM && heap.CreationNodeMask == 1 && heap.VisibleNodeMask == 1, "type %d",
           type);
        bool hidden = type == D3D12_HEAP_TYPE_DEFAULT;
        ok((heap.CPUPageProperty == D3D12_CPU_PAGE_PROPERTY_NOT_AVAILABLE) == hidden, "type %d: page property", type);
        ok((heap.MemoryPoolPreference == D3D12_MEMORY_POOL_L1) == (hidden && !arch.UMA), "type %d: pool", type);
        ok_hr(try_create(device, heap, api_buffer_desc(16, 0), D3D12_RESOURCE_STATE_COMMON), S_OK);
    }
}

static void test_residency(ID3D12Device *device)
{
    ID3D12Resource *buffer = api_buffer(device, D3D12_HEAP_TYPE_DEFAULT, 16);
    ID3D12Fence *fence = NULL;
    ok_hr(ID3D12Device_CreateFence(device, 0, 0, &IID_ID3D12Fence, (void **)&fence), S_OK);
    ID3D12Pageable *objects[] = { (ID3D12Pageable *)buffer, (ID3D12Pageable *)fence };
    ok_hr(ID3D12Device_Evict(device, 1, objects), S_OK);
    ok_hr(ID3D12Device_MakeResident(device, 1, objects), S_OK);
    ok_hr(ID3D12Device_MakeResident(device, 2, objects), E_INVALIDARG);
    ok_hr(ID3D12Device_MakeResident(device, 1, NULL), E_INVALIDARG);
    ok_hr(ID3D12Device3_EnqueueMakeResident((ID3D12Device3 *)device, 0, 1, objects, fence, 9), S_OK);
    ok(ID3D12Fence_GetCompletedValue(fence) == 9, "not signalled");
    api_release(buffer);
    api_release(fence);
}

int main(void)
{
    api_begin();
    ID3D12Device *device = api_device();
    test_creation(device);
    struct api_queue q = api_queue_create(device);
    test_zero(&q);
    test_map(&q);
    test_placed(&q);
    api_queue_destroy(&q);
    test_heap_errors(device);
    test_sizes(device);
    test_custom_heaps(device);
    if (api_is("cpu"))
        test_limits(device);
    test_residency(device);
    ok(api_release(device) == 0, "the device is still referenced");
    return api_end();
}
