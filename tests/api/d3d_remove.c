/* SPDX-License-Identifier: Apache-2.0 */
/* Device removal: its causes, and the results of all functions afterwards. */
#include "api_test.h"

#include <pthread.h>

static void *blocked(void *fence)
{
    ID3D12Fence_SetEventOnCompletion((ID3D12Fence *)fence, UINT64_MAX - 1, NULL);
    return NULL;
}

static void test_after_removal(void)
{
    ID3D12Device *device = api_device();
    struct api_queue q = api_queue_create(device);
    ID3D12Resource *upload = api_buffer(device, D3D12_HEAP_TYPE_UPLOAD, 64);
    ID3D12Fence *other = NULL;
    char *data = api_map(upload);
    HANDLE event = api_event_create();
    pthread_t thread;
    ok_hr(ID3D12Device_CreateFence(device, 3, 0, &IID_ID3D12Fence, (void **)&other), S_OK);
    ok_hr(ID3D12Fence_SetEventOnCompletion(q.fence, 50, event), S_OK);
    ok_hr(ID3D12CommandQueue_Wait(q.queue, q.fence, 40), S_OK); /* a queue that hangs */
    need(!pthread_create(&thread, NULL, blocked, q.fence));
    nanosleep(&(struct timespec){ 0, 5000000 }, NULL);
    ID3D12Device5_RemoveDevice((ID3D12Device5 *)device);
    pthread_join(thread, NULL);
    ok(api_event_fired(event, 1000), "the event did not fire");
    api_event_close(event);
    ok(ID3D12Fence_GetCompletedValue(q.fence) == UINT64_MAX, "fence value");
    ok(ID3D12Fence_GetCompletedValue(other) + 1 == 0, "fence value");
    ok_hr(ID3D12Device_GetDeviceRemovedReason(device), DXGI_ERROR_DEVICE_REMOVED);
    ok_hr(ID3D12Fence_Signal(q.fence, 1), DXGI_ERROR_DEVICE_REMOVED);
    ok(ID3D12Fence_GetCompletedValue(q.fence) == UINT64_MAX, "a signal brought the fence back");
    ok_hr(ID3D12Fence_SetEventOnCompletion(q.fence, 60, NULL), S_OK);
    ok_hr(ID3D12CommandQueue_Signal(q.queue, q.fence, 1), DXGI_ERROR_DEVICE_REMOVED);
    ok_hr(ID3D12CommandQueue_Wait(q.queue, q.fence, 1), DXGI_ERROR_DEVICE_REMOVED);
    ok_hr(ID3D12GraphicsCommandList_Close(q.list), DXGI_ERROR_DEVICE_REMOVED);
    ok_hr(ID3D12CommandAllocator_Reset(q.allocator), DXGI_ERROR_DEVICE_REMOVED);
    void *out = device;
    ok_hr(ID3D12Resource_Map(upload, 0, NULL, &out), DXGI_ERROR_DEVICE_REMOVED);
    data[63] = 1; /* memory that was mapped before stays */
    ok_hr(ID3D12Device_CreateFence(device, 0, 0, &IID_ID3D12Fence, &out), DXGI_ERROR_DEVICE_REMOVED);
    ok(!out, "the output is not cleared");
    D3D12_COMMAND_QUEUE_DESC desc = { .Type = D3D12_COMMAND_LIST_TYPE_COMPUTE };
    ok_hr(ID3D12Device_CreateCommandQueue(device, &desc, &IID_ID3D12CommandQueue, &out), DXGI_ERROR_DEVICE_REMOVED);
    ID3D12GraphicsCommandList_Dispatch(q.list, 1, 1, 1);
    api_queue_execute(&q);
    ID3D12Device *again = api_device();
    ok(again == device, "a removed device is removed for everybody");
    api_release(again);
    api_queue_destroy(&q);
    api_release(upload);
    api_release(other);
    ok(api_release(device) == 0, "the device is still referenced");
}

static void expect_removed(ID3D12Device *device, struct api_queue *q, const char *what)
{
    ok(ID3D12Device_GetDeviceRemovedReason(device) == DXGI_ERROR_INVALID_CALL, "%s: 0x%08x", what,
       (unsigned)ID3D12Device_GetDeviceRemovedReason(device));
    ok(ID3D12Fence_GetCompletedValue(q->fence) == UINT64_MAX, "%s: fence value", what);
    api_queue_destroy(q);
    ok(api_release(device) == 0, "%s: the device is still referenced", what);
}

static void wait_live(void)
{
    double limit = api_seconds() + 5;
    while (api_live_objects("libd3d12.so") && api_seconds() < limit)
        nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
}

static void test_causes(void)
{
    wait_live();
    ID3D12Device *device = api_device();
    ok_hr(ID3D12Device_GetDeviceRemovedReason(device), S_OK);
    struct api_queue q = api_queue_create(device);
    ok_hr(ID3D12GraphicsCommandList_Close(q.list), S_OK);
    ok_hr(ID3D12CommandAllocator_Reset(q.allocator), S_OK);
    api_queue_execute(&q);
    expect_removed(device, &q, "allocator reset after Close");

    device = api_device();
    q = api_queue_create(device);
    ID3D12CommandQueue *copy = NULL;
    D3D12_COMMAND_QUEUE_DESC desc = { .Type = D3D12_COMMAND_LIST_TYPE_COPY };
    ok_hr(ID3D12Device_CreateCommandQueue(device, &desc, &IID_ID3D12CommandQueue, (void **)&copy), S_OK);
    ok_hr(ID3D12GraphicsCommandList_Close(q.list), S_OK);
    ID3D12CommandList *lists[] = { (ID3D12CommandList *)q.list };
    ID3D12CommandQueue_ExecuteCommandLists(copy, 1, lists);
    api_release(copy);
    expect_removed(device, &q, "list of another type");

    device = api_device();
    q = api_queue_create(device);
    ID3D12GraphicsCommandList_Dispatch(q.list, 1, 1, 1);
    ok_hr(ID3D12GraphicsCommandList_Close(q.list), E_NOTIMPL);
    api_queue_execute(&q);
    expect_removed(device, &q, "list with an error");

    device = api_device();
    q = api_queue_create(device);
    D3D12_UNORDERED_ACCESS_VIEW_DESC view = { .Format = DXGI_FORMAT_R32_TYPELESS,
                                              .ViewDimension = D3D12_UAV_DIMENSION_BUFFER,
                                              .Buffer = { .Flags = D3D12_BUFFER_UAV_FLAG_RAW } };
    ID3D12Device_CreateUnorderedAccessView(device, NULL, NULL, &view, (D3D12_CPU_DESCRIPTOR_HANDLE){ 0x1234500000040 });
    expect_removed(device, &q, "a handle of no heap");
}

int main(void)
{
    api_begin();
    test_after_removal();
    test_causes();
    return api_end();
}
