/* SPDX-License-Identifier: Apache-2.0 */
/* ID3D12CommandQueue and timestamps: order, waits between queues, re-execution, and the effects of misuse. */
#include "api_test.h"

static void test_creation(ID3D12Device *device)
{
    static const struct {
        int type, priority;
        unsigned flags, mask;
        HRESULT want;
    } rows[] = {
        { 0, 0, 0, 0, S_OK },         { 2, 100, 1, 1, S_OK },       { 3, 10000, 0, 0, S_OK },
        { 1, 0, 0, 0, E_INVALIDARG }, { 9, 0, 0, 0, E_INVALIDARG }, { 2, 50, 0, 0, E_INVALIDARG },
        { 2, 0, 2, 0, E_INVALIDARG }, { 2, 0, 0, 2, E_INVALIDARG },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        D3D12_COMMAND_QUEUE_DESC desc = { (D3D12_COMMAND_LIST_TYPE)rows[i].type, rows[i].priority,
                                          (D3D12_COMMAND_QUEUE_FLAGS)rows[i].flags, rows[i].mask };
        ID3D12CommandQueue *queue = (ID3D12CommandQueue *)device;
        HRESULT hr = ID3D12Device_CreateCommandQueue(device, &desc, &IID_ID3D12CommandQueue, (void **)&queue);
        ok(hr == rows[i].want && SUCCEEDED(hr) == !!queue, "queue %zu: 0x%08x", i, (unsigned)hr);
        if (!queue)
            continue;
        D3D12_COMMAND_QUEUE_DESC got = ID3D12CommandQueue_GetDesc(queue);
        ok(got.Type == desc.Type && got.Priority == desc.Priority && got.NodeMask == 1, "queue %zu: desc", i);
        UINT64 frequency = 0;
        ok_hr(ID3D12CommandQueue_GetTimestampFrequency(queue, &frequency), S_OK);
        ok(frequency, "frequency 0");
        ok_hr(ID3D12CommandQueue_GetTimestampFrequency(queue, NULL), E_INVALIDARG);
        ok_hr(ID3D12CommandQueue_Signal(queue, NULL, 1), E_INVALIDARG);
        ok_hr(ID3D12CommandQueue_Wait(queue, NULL, 1), E_INVALIDARG);
        api_release(queue);
    }
}

static void test_order(struct api_queue *q)
{
    ID3D12Resource *buffers[64];
    unsigned char got[8] = { 0 };
    for (int i = 0; i < 64; i++)
        buffers[i] = api_buffer(q->device, D3D12_HEAP_TYPE_DEFAULT, 8);
    api_write(q, buffers[0], 0, "\1\2\3\4\5\6\7\10", 8);
    for (int i = 1; i < 64; i++) { /* each copy needs the one before */
        api_transition(q, buffers[i - 1], 0x400, 0x800);
        ID3D12GraphicsCommandList_CopyResource(q->list, buffers[i], buffers[i - 1]);
    }
    api_queue_run(q);
    api_read(q, buffers[63], 0, got, sizeof(got));
    ok(!memcmp(got, "\1\2\3\4\5\6\7\10", 8) || api_is("null"), "copies ran out of order");
    for (int i = 0; i < 64; i++)
        api_release(buffers[i]);
}

/* A waits for B, which is submitted later, then for the CPU. */
static void test_waits(ID3D12Device *device)
{
    struct api_queue a = api_queue_create(device), b = api_queue_create(device);
    ID3D12Resource *buffer = api_buffer(device, D3D12_HEAP_TYPE_DEFAULT, 4);
    ID3D12Resource *back = api_buffer(device, D3D12_HEAP_TYPE_READBACK, 4);
    ID3D12Resource *upload = api_buffer(device, D3D12_HEAP_TYPE_UPLOAD, 4);
    memcpy(api_map(upload), "wxyz", 4);
    ID3D12GraphicsCommandList_CopyResource(a.list, back, buffer);
    ID3D12GraphicsCommandList_CopyResource(b.list, buffer, upload);
    ID3D12GraphicsCommandList_Close(a.list);
    ID3D12GraphicsCommandList_Close(b.list);
    ok_hr(ID3D12CommandQueue_Wait(a.queue, b.fence, 1), S_OK);
    api_queue_execute(&a); /* does not block behind the wait */
    ok_hr(ID3D12CommandQueue_Signal(a.queue, a.fence, ++a.value), S_OK);
    nanosleep(&(struct timespec){ 0, 10000000 }, NULL);
    ok(ID3D12Fence_GetCompletedValue(a.fence) == 0, "the wait did not hold");
    api_queue_execute(&b);
    api_queue_wait(&b);
    ok_hr(ID3D12Fence_SetEventOnCompletion(a.fence, a.value, NULL), S_OK);
    ok(!memcmp(api_map(back), "wxyz", 4) || api_is("null"), "A did not see what B wrote");
    ok_hr(ID3D12CommandQueue_Wait(a.queue, b.fence, 100), S_OK);
    ok_hr(ID3D12CommandQueue_Signal(a.queue, a.fence, ++a.value), S_OK);
    ok_hr(ID3D12Fence_Signal(b.fence, 100), S_OK);
    ok_hr(ID3D12Fence_SetEventOnCompletion(a.fence, a.value, NULL), S_OK);
    /* A queue may go while it still waits: its work is done when the fence gets there. */
    ok_hr(ID3D12CommandQueue_Wait(a.queue, b.fence, 200), S_OK);
    ok_hr(ID3D12CommandQueue_Signal(a.queue, a.fence, ++a.value), S_OK);
    api_release(a.queue);
    ok_hr(ID3D12Fence_Signal(b.fence, 200), S_OK);
    ok_hr(ID3D12Fence_SetEventOnCompletion(a.fence, a.value, NULL), S_OK);
    api_release(a.list);
    api_release(a.allocator);
    api_release(a.fence);
    api_queue_destroy(&b);
    api_release(buffer);
    api_release(back);
    api_release(upload);
}

static void test_open_list(struct api_queue *q)
{
    api_queue_execute(q); /* the list is recording: only a message */
    api_queue_wait(q);
    ID3D12CommandList *none[] = { NULL };
    ID3D12CommandQueue_ExecuteCommandLists(q->queue, 1, none);
    ID3D12CommandQueue_ExecuteCommandLists(q->queue, 1, NULL);
    ID3D12CommandQueue_ExecuteCommandLists(q->queue, 0, NULL);
    api_queue_wait(q);
    ok_hr(ID3D12Device_GetDeviceRemovedReason(q->device), S_OK);
}

static ID3D12QueryHeap *query_heap(ID3D12Device *device, UINT count)
{
    D3D12_QUERY_HEAP_DESC desc = { D3D12_QUERY_HEAP_TYPE_TIMESTAMP, count, 0 };
    ID3D12QueryHeap *heap = NULL;
    ok_hr(ID3D12Device_CreateQueryHeap(device, &desc, &IID_ID3D12QueryHeap, (void **)&heap), S_OK);
    need(heap);
    return heap;
}

static void test_timestamps(struct api_queue *q)
{
    ID3D12QueryHeap *heap = query_heap(q->device, 16384);
    ID3D12Resource *back = api_buffer(q->device, D3D12_HEAP_TYPE_READBACK, 8 * 64);
    ID3D12Resource *from = api_buffer(q->device, D3D12_HEAP_TYPE_DEFAULT, 4 << 20);
    ID3D12Resource *to = api_buffer(q->device, D3D12_HEAP_TYPE_DEFAULT, 4 << 20);
    for (UINT i = 0; i < 32; i++) {
        ID3D12GraphicsCommandList_CopyResource(q->list, to, from);
        ID3D12GraphicsCommandList_EndQuery(q->list, heap, D3D12_QUERY_TYPE_TIMESTAMP, i);
    }
    ID3D12GraphicsCommandList_ResolveQueryData(q->list, heap, D3D12_QUERY_TYPE_TIMESTAMP, 0, 33, back, 8);
    api_queue_run(q);
    UINT64 *ticks = api_map(back), frequency = 1;
    for (int i = 1; i < 32; i++)
        ok(ticks[i + 1] >= ticks[i], "query %d goes back", i);
    ok(ticks[1] && !ticks[33] && !ticks[0], "first %llu, never written %llu", (unsigned long long)ticks[1],
       (unsigned long long)ticks[33]);
    /* Two lists around a pause of the host: ticks / frequency must be the time that passed. */
    ID3D12CommandQueue_GetTimestampFrequency(q->queue, &frequency);
    double before[2], after[2];
    for (UINT i = 0; i < 2; i++) {
        ID3D12GraphicsCommandList_EndQuery(q->list, heap, D3D12_QUERY_TYPE_TIMESTAMP, 100 + i);
        ID3D12GraphicsCommandList_ResolveQueryData(q->list, heap, D3D12_QUERY_TYPE_TIMESTAMP, 100 + i, 1, back, i * 8);
        before[i] = api_seconds();
        api_queue_run(q);
        after[i] = api_seconds();
        nanosleep(&(struct timespec){ 0, 300000000 }, NULL);
    }
    double least = before[1] - after[0], most = after[1] - before[0];
    double gpu = (double)(ticks[1] - ticks[0]) / (double)frequency;
    ok(gpu > least * 0.95 && gpu < most * 1.05, "queries say %g s, the clock %g to %g s", gpu, least, most);
    api_release(heap);
    api_release(back);
    api_release(from);
    api_release(to);
}

static void test_query_errors(ID3D12Device *device)
{
    void *out = device;
    D3D12_QUERY_HEAP_DESC desc = { D3D12_QUERY_HEAP_TYPE_OCCLUSION, 1, 0 };
    ok_hr(ID3D12Device_CreateQueryHeap(device, &desc, &IID_ID3D12QueryHeap, &out), E_INVALIDARG);
    ok(!out, "the output is not cleared");
    desc = (D3D12_QUERY_HEAP_DESC){ D3D12_QUERY_HEAP_TYPE_TIMESTAMP, 0, 0 };
    ok_hr(ID3D12Device_CreateQueryHeap(device, &desc, &IID_ID3D12QueryHeap, &out), E_INVALIDARG);
    desc.Count = 4;
    ok_hr(ID3D12Device_CreateQueryHeap(device, &desc, &IID_ID3D12QueryHeap, NULL), S_FALSE);
    ID3D12QueryHeap *heap = query_heap(device, 4);
    ID3D12Resource *back = api_buffer(device, D3D12_HEAP_TYPE_READBACK, 32);
    for (int i = 0; i < 6; i++) {
        struct api_queue q = api_queue_create(device);
        if (i == 0)
            ID3D12GraphicsCommandList_EndQuery(q.list, heap, D3D12_QUERY_TYPE_TIMESTAMP, 4);
        else if (i == 1)
            ID3D12GraphicsCommandList_BeginQuery(q.list, heap, D3D12_QUERY_TYPE_TIMESTAMP, 0);
        else if (i == 2)
            ID3D12GraphicsCommandList_ResolveQueryData(q.list, heap, D3D12_QUERY_TYPE_TIMESTAMP, 0, 1, back, 4);
        else if (i == 3)
            ID3D12GraphicsCommandList_ResolveQueryData(q.list, heap, D3D12_QUERY_TYPE_TIMESTAMP, 0, 4, back, 8);
        else if (i == 4)
            ID3D12GraphicsCommandList_ResolveQueryData(q.list, heap, D3D12_QUERY_TYPE_TIMESTAMP, 2, 3, back, 0);
        else
            ID3D12GraphicsCommandList_EndQuery(q.list, NULL, D3D12_QUERY_TYPE_TIMESTAMP, 0);
        HRESULT hr = ID3D12GraphicsCommandList_Close(q.list);
        ok(hr == E_INVALIDARG, "query error %d: 0x%08x", i, (unsigned)hr);
        api_queue_destroy(&q);
    }
    api_release(heap);
    api_release(back);
}

/* A recorded list, executed very often: memory does not grow. */
static void test_reexecution(struct api_queue *q)
{
    ID3D12Resource *a = api_buffer(q->device, D3D12_HEAP_TYPE_DEFAULT, 64);
    ID3D12Resource *b = api_buffer(q->device, D3D12_HEAP_TYPE_DEFAULT, 64);
    ID3D12GraphicsCommandList_CopyResource(q->list, a, b);
    ok_hr(ID3D12GraphicsCommandList_Close(q->list), S_OK);
    size_t before = 0;
    double start = 0;
    for (int i = 0; i < 20000; i++) {
        if (i == 1000) {
            before = api_allocated_bytes();
            start = api_seconds();
        }
        api_queue_execute(q);
        ID3D12CommandQueue_Signal(q->queue, q->fence, ++q->value);
        ID3D12Fence_SetEventOnCompletion(q->fence, q->value, NULL);
    }
    printf("%.2f us per execution with signal and wait\n", (api_seconds() - start) / 19000 * 1e6);
    size_t after = api_allocated_bytes();
    ok(after < before + 65536, "memory grew from %zu to %zu bytes", before, after);
    ok_hr(ID3D12GraphicsCommandList_Reset(q->list, q->allocator, NULL), S_OK);
    api_release(a);
    api_release(b);
}

/* Without a wait between them: the queue holds thousands of submissions, and lists of two queues overlap. */
static void test_flood(ID3D12Device *device)
{
    struct api_queue a = api_queue_create(device), b = api_queue_create(device);
    ID3D12GraphicsCommandList_Close(a.list);
    ID3D12GraphicsCommandList_Close(b.list);
    for (int i = 0; i < 5000; i++) {
        api_queue_execute(&a);
        api_queue_execute(&b);
        if (i % 7 == 0)
            ID3D12CommandQueue_Signal(a.queue, a.fence, ++a.value);
    }
    api_queue_wait(&a);
    api_queue_wait(&b);
    api_queue_destroy(&a);
    api_queue_destroy(&b);
}

int main(void)
{
    api_begin();
    ID3D12Device *device = api_device();
    test_creation(device);
    struct api_queue q = api_queue_create(device);
    test_order(&q);
    test_open_list(&q);
    test_timestamps(&q);
    test_reexecution(&q);
    api_queue_destroy(&q);
    test_waits(device);
    test_query_errors(device);
    test_flood(device);
    ok(api_release(device) == 0, "the device is still referenced");
    return api_end();
}
