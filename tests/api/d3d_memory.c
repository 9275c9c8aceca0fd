/* SPDX-License-Identifier: Apache-2.0 */
/* AnydmlCreateBufferFromMemory: buffers over the application's own memory. */
#include "api_test.h"

#include <pthread.h>

enum { THREADS = 4, ROUNDS = 2000, BYTES = 4096 };

static HRESULT wrap(ID3D12Device *device, void *address, UINT64 bytes, ID3D12Resource **out)
{
    return AnydmlCreateBufferFromMemory(device, address, bytes, &IID_ID3D12Resource, (void **)out);
}

static ID3D12Resource *wrapped(ID3D12Device *device, void *address, UINT64 bytes)
{
    ID3D12Resource *buffer = NULL;
    ok_hr(wrap(device, address, bytes, &buffer), S_OK);
    need(buffer);
    return buffer;
}

static void test_refusals(ID3D12Device *device, char *memory)
{
    void *none = device;
    ID3D12Resource *buffer = (ID3D12Resource *)device;
    ok_hr(wrap(device, NULL, 16, &buffer), E_INVALIDARG);
    ok(!buffer, "left as it was");
    ok_hr(wrap(device, memory + 8, 16, &buffer), E_INVALIDARG);
    ok_hr(wrap(device, memory, 0, &buffer), E_INVALIDARG);
    ok_hr(wrap(device, memory, UINT64_MAX, &buffer), E_INVALIDARG);
    ok_hr(wrap(device, memory, UINT64_MAX - (uintptr_t)memory - 2, &buffer), E_INVALIDARG);
    ok_hr(wrap(NULL, memory, 16, &buffer), E_INVALIDARG);
    ok_hr(AnydmlCreateBufferFromMemory(device, memory, 16, &IID_ID3D12Fence, &none), E_NOINTERFACE);
    ok(!none, "left as it was");
    ok_hr(AnydmlCreateBufferFromMemory(device, memory, 16, &IID_ID3D12Resource, NULL), S_FALSE);
    ok_hr(AnydmlCreateBufferFromMemory(device, memory + 1, 16, &IID_ID3D12Resource, NULL), E_INVALIDARG);
}

static void test_properties(ID3D12Device *device, char *memory)
{
    static const GUID key = { 0x7d1c0e55, 0x11, 0x22, { 1, 2, 3, 4, 5, 6, 7, 8 } };
    ID3D12Resource *buffer = wrapped(device, memory + 16, 1001);
    D3D12_RESOURCE_DESC desc = ID3D12Resource_GetDesc(buffer);
    D3D12_HEAP_PROPERTIES heap = { 0 };
    D3D12_HEAP_FLAGS flags = D3D12_HEAP_FLAG_DENY_BUFFERS;
    ID3D12Device *parent = NULL;
    void *data = NULL;
    int number = 7, got = 0;
    UINT size = sizeof(got);
    ok(desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER && desc.Width == 1004 && desc.Height == 1 &&
           desc.Flags == D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS,
       "width %llu", (unsigned long long)desc.Width);
    ok_hr(ID3D12Resource_GetHeapProperties(buffer, &heap, &flags), S_OK);
    ok(heap.Type == D3D12_HEAP_TYPE_CUSTOM && heap.CPUPageProperty == D3D12_CPU_PAGE_PROPERTY_WRITE_BACK &&
           heap.MemoryPoolPreference == D3D12_MEMORY_POOL_L0 && !flags,
       "heap type %d", (int)heap.Type);
    ok(ID3D12Resource_GetGPUVirtualAddress(buffer) == (uintptr_t)(memory + 16), "address");
    ok_hr(ID3D12Resource_Map(buffer, 0, NULL, &data), S_OK);
    ok(data == memory + 16, "mapped at %p", data);
    ok_hr(ID3D12Resource_Map(buffer, 1, NULL, &data), E_INVALIDARG);
    ID3D12Resource_Unmap(buffer, 0, NULL);
    ok_hr(ID3D12Resource_SetName(buffer, L"mine"), S_OK);
    ok_hr(ID3D12Resource_SetPrivateData(buffer, &key, sizeof(number), &number), S_OK);
    ok_hr(ID3D12Resource_GetPrivateData(buffer, &key, &size, &got), S_OK);
    ok(got == number, "private data");
    ok_hr(ID3D12Resource_GetDevice(buffer, &IID_ID3D12Device, (void **)&parent), S_OK);
    ok(parent == device, "parent");
    api_release(parent);
    ok_hr(ID3D12Device_Evict(device, 1, (ID3D12Pageable *const *)&buffer), S_OK);
    ok_hr(ID3D12Device_MakeResident(device, 1, (ID3D12Pageable *const *)&buffer), S_OK);
    ok(!api_release(buffer), "references left");
}

/* To, from and between, at unaligned offsets; bytes after the end do not change. */
static void test_copies(ID3D12Device *device, char *memory)
{
    struct api_queue q = api_queue_create(device);
    ID3D12Resource *a = wrapped(device, memory, 1000), *b = wrapped(device, memory + 2048, 333);
    ID3D12Resource *inner = api_buffer(device, D3D12_HEAP_TYPE_DEFAULT, 1000);
    char got[1000];
    for (int i = 0; i < BYTES; i++)
        memory[i] = (char)(i * 7);
    ID3D12GraphicsCommandList_CopyBufferRegion(q.list, inner, 0, a, 0, 1000);
    ID3D12GraphicsCommandList_CopyBufferRegion(q.list, b, 3, inner, 500, 330);
    api_queue_run(&q);
    api_read(&q, a, 0, got, sizeof(got));
    if (!api_is("null")) {
        ok(!memcmp(got, memory, sizeof(got)), "read");
        ok(!memcmp(memory + 2048 + 3, memory + 500, 330), "written");
        for (int i = 2048; i < BYTES; i++)
            ok((i >= 2051 && i < 2381) || memory[i] == (char)(i * 7), "byte %d changed", i);
    }
    /* It may be released as soon as it is not in use. */
    api_release(a);
    api_release(b);
    api_release(inner);
    api_queue_destroy(&q);
}

static void *churn(void *argument)
{
    ID3D12Device *device = argument;
    char *memory = aligned_alloc(16, 64);
    need(memory);
    for (int i = 0; i < ROUNDS; i++) {
        ID3D12Resource *buffer = NULL;
        HRESULT hr = wrap(device, memory, 64, &buffer);
        ok(hr == S_OK && buffer && ID3D12Resource_GetGPUVirtualAddress(buffer) == (uintptr_t)memory, "round %d", i);
        if (buffer)
            api_release(buffer);
    }
    free(memory);
    return NULL;
}

static void test_threads(ID3D12Device *device)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        need(!pthread_create(&threads[i], NULL, churn, device));
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static void print_speed(ID3D12Device *device, char *memory)
{
    enum { COUNT = 100000 };
    double start = api_seconds();
    for (int i = 0; i < COUNT; i++)
        api_release(wrapped(device, memory, 64));
    fprintf(stderr, "%.0f ns to create and release one\n", (api_seconds() - start) / COUNT * 1e9);
}

static void test_removed(ID3D12Device *device, char *memory)
{
    ID3D12Resource *before = wrapped(device, memory, 64), *after = NULL;
    void *data = device;
    ID3D12Device5_RemoveDevice((ID3D12Device5 *)device);
    ok_hr(wrap(device, memory, 64, &after), DXGI_ERROR_DEVICE_REMOVED);
    ok_hr(ID3D12Resource_Map(before, 0, NULL, &data), DXGI_ERROR_DEVICE_REMOVED);
    ok(ID3D12Resource_GetDesc(before).Width == 64, "description");
    api_release(before);
}

int main(void)
{
    api_begin();
    ID3D12Device *device = api_device();
    char *memory = aligned_alloc(64, BYTES);
    need(memory);
    if (api_is("vulkan")) {
        ID3D12Resource *buffer = (ID3D12Resource *)device;
        ok_hr(wrap(device, memory, 64, &buffer), DXGI_ERROR_UNSUPPORTED);
        ok(!buffer, "left as it was");
    } else {
        test_refusals(device, memory);
        test_properties(device, memory);
        test_copies(device, memory);
        test_threads(device);
        print_speed(device, memory);
        test_removed(device, memory);
    }
    free(memory);
    api_release(device);
    return api_end();
}
