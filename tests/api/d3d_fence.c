/* SPDX-License-Identifier: Apache-2.0 */
/* ID3D12Fence: values, events, blocking waits, several fences, and no lost wake-ups. */
#include "api_test.h"

#include <pthread.h>

static ID3D12Fence *fence_create(ID3D12Device *device, UINT64 value)
{
    ID3D12Fence *fence = NULL;
    ok_hr(ID3D12Device_CreateFence(device, value, D3D12_FENCE_FLAG_NONE, &IID_ID3D12Fence, (void **)&fence), S_OK);
    need(fence);
    return fence;
}

static HANDLE new_event(void)
{
    HANDLE event = api_event_create();
    need(event);
    return event;
}

static void test_values(ID3D12Device *device)
{
    ID3D12Fence *fence = fence_create(device, 5);
    ok(ID3D12Fence_GetCompletedValue(fence) == 5, "initial value");
    ok_hr(ID3D12Fence_Signal(fence, 3), S_OK);
    ok(ID3D12Fence_GetCompletedValue(fence) == 3, "values may fall");
    void *out = device;
    ok_hr(ID3D12Device_CreateFence(device, 0, D3D12_FENCE_FLAG_SHARED, &IID_ID3D12Fence, &out), E_NOTIMPL);
    ok(!out, "the output is not cleared");
    ok_hr(ID3D12Device_CreateFence(device, 0, 0, &IID_ID3D12Heap, &out), E_NOINTERFACE);
    ok_hr(ID3D12Device_CreateFence(device, 0, 0, &IID_ID3D12Fence, NULL), E_INVALIDARG);
    api_release(fence);
}

static void test_events(ID3D12Device *device)
{
    ID3D12Fence *fence = fence_create(device, 5);
    HANDLE reached = new_event(), one = new_event(), two = new_event(), closed = new_event();
    ok_hr(ID3D12Fence_SetEventOnCompletion(fence, 5, reached), S_OK);
    ok(api_event_fired(reached, 0), "a reached value does not fire at once");
    ok_hr(ID3D12Fence_SetEventOnCompletion(fence, 7, one), S_OK);
    ok_hr(ID3D12Fence_SetEventOnCompletion(fence, 7, two), S_OK);
    ok_hr(ID3D12Fence_SetEventOnCompletion(fence, 7, two), S_OK);
    HANDLE watch = api_event_duplicate(closed); /* the same event under another number */
    ok_hr(ID3D12Fence_SetEventOnCompletion(fence, 7, closed), S_OK);
    api_event_close(closed);
    ok_hr(ID3D12Fence_Signal(fence, 6), S_OK);
    ok(!api_event_fired(one, 0) && !api_event_fired(two, 0), "fired too early");
    ok_hr(ID3D12Fence_Signal(fence, 8), S_OK);
    ok(api_event_fired(one, 0) && api_event_fired(two, 0) && api_event_fired(watch, 0), "did not fire");
    uint64_t count = api_event_take(two);
    ok(count == (API_EVENTS_COUNT ? 2 : 1), "fired %llu times", (unsigned long long)count);
    ok_hr(ID3D12Fence_Signal(fence, 9), S_OK);
    ok(!api_event_fired(two, 0), "fired again");
    ok_hr(ID3D12Fence_SetEventOnCompletion(fence, 100, closed), E_INVALIDARG);
    ok_hr(ID3D12Fence_SetEventOnCompletion(fence, 100, one), S_OK); /* dies with the fence */
    api_event_close(reached);
    api_event_close(one);
    api_event_close(two);
    api_event_close(watch);
    api_release(fence);
}

struct waiting {
    ID3D12Fence *fence;
    UINT64 value;
    int thread;
};

static void *wait_thread(void *argument)
{
    struct waiting *waiting = argument;
    __atomic_store_n(&waiting->thread, api_thread_id(), __ATOMIC_RELEASE);
    ok_hr(ID3D12Fence_SetEventOnCompletion(waiting->fence, waiting->value, NULL), S_OK);
    return NULL;
}

static void test_blocking(ID3D12Device *device)
{
    ID3D12Fence *fence = fence_create(device, 0);
    struct waiting waiting[3];
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) {
        waiting[i] = (struct waiting){ fence, 10, 0 };
        need(!pthread_create(&threads[i], NULL, wait_thread, &waiting[i]));
    }
    for (int i = 0; i < 3; i++)
        api_await_sleep(&waiting[i].thread);
    ok_hr(ID3D12Fence_Signal(fence, 10), S_OK);
    ok_hr(ID3D12Fence_Signal(fence, 1), S_OK); /* the value was reached: no wait may miss it */
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    api_release(fence);
}

static void test_several(ID3D12Device *device)
{
    ID3D12Device1 *one = (ID3D12Device1 *)device;
    ID3D12Fence *fences[] = { fence_create(device, 0), fence_create(device, 0) };
    const UINT64 values[] = { 1, 2 };
    HANDLE all = new_event(), any = new_event();
    ok_hr(ID3D12Device1_SetEventOnMultipleFenceCompletion(one, fences, values, 2, D3D12_MULTIPLE_FENCE_WAIT_FLAG_ALL,
                                                          all),
          S_OK);
    ok_hr(ID3D12Device1_SetEventOnMultipleFenceCompletion(one, fences, values, 2, D3D12_MULTIPLE_FENCE_WAIT_FLAG_ANY,
                                                          any),
          S_OK);
    ok(!api_event_fired(all, 0) && !api_event_fired(any, 0), "fired too early");
    ID3D12Fence_Signal(fences[1], 2);
    ok(!api_event_fired(all, 0) && api_event_fired(any, 0), "any");
    ID3D12Fence_Signal(fences[0], 1);
    ok(api_event_fired(all, 0), "all");
    ok_hr(ID3D12Device1_SetEventOnMultipleFenceCompletion(one, fences, values, 2, 0, NULL), S_OK);
    ok_hr(ID3D12Device1_SetEventOnMultipleFenceCompletion(one, fences, values, 0, 0, NULL), E_INVALIDARG);
    ok_hr(ID3D12Device1_SetEventOnMultipleFenceCompletion(one, NULL, values, 1, 0, NULL), E_INVALIDARG);
    api_event_close(all);
    api_event_close(any);
    api_release(fences[0]);
    api_release(fences[1]);
}

#define SUBMISSIONS 10000

static ID3D12Fence *many[SUBMISSIONS];

static void *wait_for_many(void *unused)
{
    (void)unused;
    for (int i = 0; i < SUBMISSIONS; i++)
        ok_hr(ID3D12Fence_SetEventOnCompletion(many[i], 1, NULL), S_OK);
    return NULL;
}

static void test_many(ID3D12Device *device)
{
    struct api_queue q = api_queue_create(device);
    pthread_t threads[2];
    unsigned files = api_open_handles();
    HANDLE event = new_event();
    ok_hr(ID3D12GraphicsCommandList_Close(q.list), S_OK);
    for (int i = 0; i < SUBMISSIONS; i++)
        many[i] = fence_create(device, 0);
    for (int i = 0; i < 2; i++)
        need(!pthread_create(&threads[i], NULL, wait_for_many, NULL));
    for (int i = 0; i < SUBMISSIONS; i++) {
        api_queue_execute(&q);
        if (i % 100 == 0)
            ok_hr(ID3D12Fence_SetEventOnCompletion(many[i], 1, event), S_OK);
        ok_hr(ID3D12CommandQueue_Signal(q.queue, many[i], 1), S_OK);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    uint64_t fired = api_event_take(event);
    ok(fired == (API_EVENTS_COUNT ? SUBMISSIONS / 100 : 1), "%llu events", (unsigned long long)fired);
    for (int i = 0; i < SUBMISSIONS; i++)
        api_release(many[i]);
    api_queue_destroy(&q);
    api_event_close(event);
    ok(api_open_handles() <= files, /* a driver may close one of its own meanwhile */
       "%u handles leaked", api_open_handles() - files);
}

int main(void)
{
    api_begin();
    ID3D12Device *device = api_device();
    test_values(device);
    test_events(device);
    test_blocking(device);
    test_several(device);
    test_many(device);
    ok(api_release(device) == 0, "the device is still referenced");
    return api_end();
}
