/* SPDX-License-Identifier: Apache-2.0 */
/* Many threads on one device and one queue: creation, views, submission, waiting and release at the same time. */
#include "api_test.h"

#include <pthread.h>

#define THREADS 4
#define ROUNDS  100

struct shared {
    ID3D12Device *device;
    ID3D12CommandQueue *queue;
};

/* Its own list and fence, the common queue. */
static void *worker(void *argument)
{
    struct shared *shared = argument;
    struct api_queue q = api_queue_create(shared->device);
    ID3D12Device_AddRef(shared->device);
    api_release(q.queue);
    q.queue = shared->queue;
    ID3D12CommandQueue_AddRef(q.queue);
    for (int i = 0; i < ROUNDS; i++) {
        uint32_t value = (uint32_t)(uintptr_t)&q + (uint32_t)i, got = 0;
        ID3D12Resource *buffer = api_buffer(shared->device, D3D12_HEAP_TYPE_DEFAULT, 4);
        api_write(&q, buffer, 0, &value, sizeof(value));
        api_read(&q, buffer, 0, &got, sizeof(got));
        ok(got == value || api_is("null"), "round %d: 0x%x, want 0x%x", i, got, value);
        api_release(buffer);
    }
    api_queue_destroy(&q);
    api_release(shared->device);
    return NULL;
}

static void *views(void *argument)
{
    struct shared *shared = argument;
    for (int i = 0; i < ROUNDS * 4; i++) {
        D3D12_DESCRIPTOR_HEAP_DESC desc = { D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV, 64, 0, 0 };
        D3D12_UNORDERED_ACCESS_VIEW_DESC view = {
            .Format = DXGI_FORMAT_R32_TYPELESS,
            .ViewDimension = D3D12_UAV_DIMENSION_BUFFER,
            .Buffer = { .NumElements = 4, .Flags = D3D12_BUFFER_UAV_FLAG_RAW },
        };
        ID3D12DescriptorHeap *heap = NULL;
        ID3D12Resource *buffer = api_buffer(shared->device, D3D12_HEAP_TYPE_DEFAULT, 64);
        ok_hr(ID3D12Device_CreateDescriptorHeap(shared->device, &desc, &IID_ID3D12DescriptorHeap, (void **)&heap),
              S_OK);
        D3D12_CPU_DESCRIPTOR_HANDLE at = ID3D12DescriptorHeap_GetCPUDescriptorHandleForHeapStart(heap);
        UINT step =
            ID3D12Device_GetDescriptorHandleIncrementSize(shared->device, D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV);
        for (UINT j = 0; j < 64; j++, at.ptr += step)
            ID3D12Device_CreateUnorderedAccessView(shared->device, buffer, NULL, &view, at);
        ID3D12Resource_SetName(buffer, L"buffer");
        api_release(buffer);
        api_release(heap);
    }
    return NULL;
}

int main(void)
{
    api_begin();
    struct shared shared = { .device = api_device() };
    D3D12_COMMAND_QUEUE_DESC desc = { .Type = D3D12_COMMAND_LIST_TYPE_COMPUTE };
    pthread_t threads[THREADS + 1];
    ok_hr(ID3D12Device_CreateCommandQueue(shared.device, &desc, &IID_ID3D12CommandQueue, (void **)&shared.queue), S_OK);
    need(shared.queue);
    for (int i = 0; i <= THREADS; i++)
        need(!pthread_create(&threads[i], NULL, i < THREADS ? worker : views, &shared));
    for (int i = 0; i <= THREADS; i++)
        pthread_join(threads[i], NULL);
    ok_hr(ID3D12Device_GetDeviceRemovedReason(shared.device), S_OK);
    api_release(shared.queue);
    ok(api_release(shared.device) == 0, "the device is still referenced");
    return api_end();
}
