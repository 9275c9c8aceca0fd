/* SPDX-License-Identifier: Apache-2.0 */
/* AnydmlExecuteCommandLists: returns when the lists have run, in the queue's order. And ExecuteCommandLists of short
 * lists, which on cpu adapters run on the submitting thread while the queue is idle. */
#include "api_test.h"

#include <pthread.h>
#include <sched.h>

enum { BYTES = 4096, THREADS = 4, ROUNDS = 500 };

/* A closed list that copies `from` to `to`. */
static void record_copy(struct api_queue *q, ID3D12Resource *to, ID3D12Resource *from)
{
    ok_hr(ID3D12CommandAllocator_Reset(q->allocator), S_OK);
    ok_hr(ID3D12GraphicsCommandList_Reset(q->list, q->allocator, NULL), S_OK);
    ID3D12GraphicsCommandList_CopyResource(q->list, to, from);
    ok_hr(ID3D12GraphicsCommandList_Close(q->list), S_OK);
}

static HRESULT execute(struct api_queue *q)
{
    ID3D12CommandList *lists[] = { (ID3D12CommandList *)q->list };
    return AnydmlExecuteCommandLists(q->queue, 1, lists);
}

static void test_refusals(ID3D12Device *device)
{
    struct api_queue q = api_queue_create(device);
    ID3D12CommandList *lists[] = { (ID3D12CommandList *)q.list, NULL };
    ok_hr(AnydmlExecuteCommandLists(NULL, 1, lists), E_INVALIDARG);
    ok_hr(AnydmlExecuteCommandLists((ID3D12CommandQueue *)q.fence, 1, lists), DXGI_ERROR_UNSUPPORTED);
    ok_hr(AnydmlExecuteCommandLists(q.queue, 1, NULL), E_INVALIDARG);
    ok_hr(AnydmlExecuteCommandLists(q.queue, 1, lists), E_INVALIDARG); /* open */
    ok_hr(ID3D12GraphicsCommandList_Close(q.list), S_OK);
    ok_hr(AnydmlExecuteCommandLists(q.queue, 2, lists), E_INVALIDARG);
    ok_hr(AnydmlExecuteCommandLists(q.queue, 0, NULL), S_OK);
    ok_hr(AnydmlExecuteCommandLists(q.queue, 1, lists), S_OK); /* the queue still works */
    ok_hr(ID3D12Device_GetDeviceRemovedReason(device), S_OK);
    api_queue_destroy(&q);
}

/* Its writes are visible when it returns, whether the queue was idle, or its thread was busy. */
static void test_done(ID3D12Device *device)
{
    struct api_queue q = api_queue_create(device);
    ID3D12Resource *up = api_buffer(device, D3D12_HEAP_TYPE_UPLOAD, BYTES);
    ID3D12Resource *down = api_buffer(device, D3D12_HEAP_TYPE_READBACK, BYTES);
    unsigned char *from = api_map(up), *to = api_map(down);
    ID3D12GraphicsCommandList_Close(q.list);
    record_copy(&q, down, up);
    for (int i = 0; i < ROUNDS; i++) {
        memset(from, i & 255, BYTES);
        if (i % 3 == 1)
            api_queue_execute(&q); /* not waited for */
        ok_hr(execute(&q), S_OK);
        ok(api_is("null") || (to[0] == (i & 255) && !memcmp(to, from, BYTES)), "round %d", i);
    }
    api_queue_wait(&q);
    api_release(up);
    api_release(down);
    api_queue_destroy(&q);
}

static bool is_host(void)
{
    return api_is("cpu") || api_is("null");
}

/* Short lists on an idle queue complete at once; after a wait they stay pending, and so do signals after them.
 */
static void test_short(ID3D12Device *device)
{
    struct api_queue q = api_queue_create(device);
    ID3D12Resource *up = api_buffer(device, D3D12_HEAP_TYPE_UPLOAD, BYTES);
    ID3D12Resource *down = api_buffer(device, D3D12_HEAP_TYPE_READBACK, BYTES);
    unsigned *from = api_map(up), *to = api_map(down);
    ID3D12Fence *gate;
    ok_hr(ID3D12Device_CreateFence(device, 0, D3D12_FENCE_FLAG_NONE, &IID_ID3D12Fence, (void **)&gate), S_OK);
    ID3D12GraphicsCommandList_Close(q.list);
    record_copy(&q, down, up);
    from[0] = 1;
    ok_hr(ID3D12CommandQueue_Wait(q.queue, gate, 0), S_OK); /* reached already */
    api_queue_execute(&q);
    ok_hr(ID3D12CommandQueue_Signal(q.queue, q.fence, ++q.value), S_OK);
    ok(!is_host() || ID3D12Fence_GetCompletedValue(q.fence) == q.value, "the queue's thread was used");
    api_queue_wait(&q);
    ok(api_is("null") || to[0] == 1, "nothing was copied");
    from[0] = 2;
    ok_hr(ID3D12CommandQueue_Wait(q.queue, gate, 1), S_OK);
    api_queue_execute(&q);
    ok_hr(ID3D12CommandQueue_Signal(q.queue, q.fence, ++q.value), S_OK);
    nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
    ok(ID3D12Fence_GetCompletedValue(q.fence) < q.value && (api_is("null") || to[0] == 1), "it overtook the wait");
    ok_hr(ID3D12Fence_Signal(gate, 1), S_OK);
    api_queue_wait(&q);
    ok(api_is("null") || to[0] == 2, "nothing was copied behind the wait");
    api_release(gate);
    api_release(up);
    api_release(down);
    api_queue_destroy(&q);
}

struct waiting {
    struct api_queue *q;
    int done; /* atomic */
};

static void *execute_behind(void *argument)
{
    struct waiting *waiting = argument;
    ok_hr(execute(waiting->q), S_OK);
    __atomic_store_n(&waiting->done, 1, __ATOMIC_RELEASE);
    return NULL;
}

/* The queue waits for a fence: the call does not overtake it. */
static void test_order(ID3D12Device *device)
{
    struct api_queue q = api_queue_create(device);
    struct waiting waiting = { &q, 0 };
    pthread_t thread;
    ok_hr(ID3D12GraphicsCommandList_Close(q.list), S_OK);
    ok_hr(ID3D12CommandQueue_Wait(q.queue, q.fence, 1), S_OK);
    need(!pthread_create(&thread, NULL, execute_behind, &waiting));
    nanosleep(&(struct timespec){ 0, 30000000 }, NULL);
    ok(!__atomic_load_n(&waiting.done, __ATOMIC_ACQUIRE), "it overtook the wait");
    ok_hr(ID3D12Fence_Signal(q.fence, 1), S_OK);
    pthread_join(thread, NULL);
    q.value = 1;
    api_queue_destroy(&q);
}

struct client {
    ID3D12Device *device;
    ID3D12CommandQueue *queue; /* of all */
    unsigned id;
};

static void *client_main(void *argument)
{
    struct client *client = argument;
    struct api_queue own = api_queue_create(client->device);
    struct api_queue q = own;
    ID3D12Resource *up = api_buffer(client->device, D3D12_HEAP_TYPE_UPLOAD, BYTES);
    ID3D12Resource *down = api_buffer(client->device, D3D12_HEAP_TYPE_READBACK, BYTES);
    unsigned *from = api_map(up), *to = api_map(down);
    q.queue = client->queue;
    ID3D12GraphicsCommandList_Close(q.list);
    record_copy(&q, down, up);
    for (unsigned i = 0; i < ROUNDS; i++) {
        from[0] = i << 8 | client->id;
        if (i % 7 == client->id)
            api_queue_execute(&q);
        ok_hr(execute(&q), S_OK);
        ok(api_is("null") || to[0] == from[0], "thread %u, round %u", client->id, i);
    }
    api_queue_wait(&q);
    api_release(up);
    api_release(down);
    api_queue_destroy(&own);
    return NULL;
}

static void test_threads(ID3D12Device *device)
{
    struct api_queue q = api_queue_create(device);
    struct client clients[THREADS];
    pthread_t threads[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        clients[i] = (struct client){ device, q.queue, i };
        need(!pthread_create(&threads[i], NULL, client_main, &clients[i]));
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    api_queue_destroy(&q);
}

static void test_removed(ID3D12Device *device)
{
    struct api_queue q = api_queue_create(device);
    ok_hr(ID3D12GraphicsCommandList_Close(q.list), S_OK);
    ID3D12Device5_RemoveDevice((ID3D12Device5 *)device);
    ok_hr(execute(&q), DXGI_ERROR_DEVICE_REMOVED);
    api_queue_destroy(&q);
}

int main(void)
{
    api_begin();
    ID3D12Device *device = api_device();
    test_refusals(device);
    test_done(device);
    test_short(device);
    test_order(device);
    test_threads(device);
    test_removed(device);
    api_release(device);
    return api_end();
}
