/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of the debug layer about states of buffers and about dispatches without a barrier between them, by the IDs
 * of Direct3D 12's messages; and none for correct programs. */
#include "dml_test.h"

#define UNORDERED D3D12_RESOURCE_STATE_UNORDERED_ACCESS
#define SOURCE    D3D12_RESOURCE_STATE_COPY_SOURCE
#define DEST      D3D12_RESOURCE_STATE_COPY_DEST

enum { COUNT = 8, BYTES = 4 * COUNT };

/* An operator that copies, and buffers for it. */
struct bench {
    struct rig rig;
    ID3D12InfoQueue *queue;
    IDMLCompiledOperator *op;
    ID3D12Resource *buffers[4];
    IDMLBindingTable *tables[DML_TEST_DESCRIPTORS / 2];
    UINT table_count;
};

static struct bench bench_create(DML_EXECUTION_FLAGS flags)
{
    ID3D12Debug *debug = NULL;
    struct bench b = { 0 };
    ok_hr(D3D12GetDebugInterface(&IID_ID3D12Debug, (void **)&debug), S_OK);
    need(debug);
    ID3D12Debug_EnableDebugLayer(debug);
    api_release(debug);
    b.rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    ok_hr(ID3D12Device_QueryInterface(b.rig.d3d, &IID_ID3D12InfoQueue, (void **)&b.queue), S_OK);
    need(b.queue);
    b.op = compile(b.rig.dml, identity_operator(b.rig.dml, COUNT), flags);
    need(!properties(b.op).TemporaryResourceSize && !properties(b.op).PersistentResourceSize);
    for (int i = 0; i < 4; i++)
        b.buffers[i] = api_buffer(b.rig.d3d, D3D12_HEAP_TYPE_DEFAULT, 4 * BYTES);
    ID3D12InfoQueue_ClearStoredMessages(b.queue);
    return b;
}

static void bench_destroy(struct bench *b)
{
    ok_hr(dml_reason(&b->rig), S_OK);
    for (UINT i = 0; i < b->table_count; i++)
        api_release(b->tables[i]);
    for (int i = 0; i < 4; i++)
        api_release(b->buffers[i]);
    api_release(b->op);
    api_release(b->queue);
    rig_destroy(&b->rig);
}

/* Records the operator over parts of two buffers, with descriptors of its own. */
static void dispatch_parts(struct bench *b, int from, UINT64 from_offset, int to, UINT64 to_offset)
{
    IDMLBindingTable *table = table_at(&b->rig, b->op, 2 * b->table_count);
    bind_inputs(table, 1, &(struct bound){ b->buffers[from], from_offset, BYTES });
    bind_outputs(table, 1, &(struct bound){ b->buffers[to], to_offset, BYTES });
    record(&b->rig, b->op, table);
    b->tables[b->table_count++] = table;
}

static void dispatch(struct bench *b, int from, int to)
{
    dispatch_parts(b, from, 0, to, 0);
}

static void copy(struct bench *b, int from, int to)
{
    ID3D12GraphicsCommandList_CopyBufferRegion(b->rig.q.list, b->buffers[to], 0, b->buffers[from], 0, BYTES);
}

static void transition(struct bench *b, int buffer, D3D12_RESOURCE_STATES before, D3D12_RESOURCE_STATES after)
{
    api_transition(&b->rig.q, b->buffers[buffer], before, after);
}

static void uav_barrier(struct bench *b, ID3D12Resource *resource)
{
    D3D12_RESOURCE_BARRIER barrier = { .Type = D3D12_RESOURCE_BARRIER_TYPE_UAV, .UAV = { resource } };
    ID3D12GraphicsCommandList_ResourceBarrier(b->rig.q.list, 1, &barrier);
}

/* No message since the last check. */
static void expect_silence(struct bench *b, const char *about)
{
    ok(!ID3D12InfoQueue_GetNumStoredMessages(b->queue), "%llu messages about %s",
       (unsigned long long)ID3D12InfoQueue_GetNumStoredMessages(b->queue), about);
    ID3D12InfoQueue_ClearStoredMessages(b->queue);
}

static void expect_one(struct bench *b, D3D12_MESSAGE_CATEGORY category, D3D12_MESSAGE_SEVERITY severity,
                       D3D12_MESSAGE_ID id, const char *part)
{
    UINT64 count = ID3D12InfoQueue_GetNumStoredMessages(b->queue);
    SIZE_T bytes = 0;
    ok(count == 1, "%llu messages instead of one with \"%s\"", (unsigned long long)count, part);
    if (!count)
        return;
    ID3D12InfoQueue_GetMessage(b->queue, 0, NULL, &bytes);
    D3D12_MESSAGE *message = malloc(bytes);
    need(message);
    ok_hr(ID3D12InfoQueue_GetMessage(b->queue, 0, message, &bytes), S_OK);
    ok(message->Category == category && message->Severity == severity && message->ID == id,
       "category %d, severity %d, number %d: %s", (int)message->Category, (int)message->Severity, (int)message->ID,
       message->pDescription);
    ok(strstr(message->pDescription, part), "\"%s\" is not in \"%s\"", part, message->pDescription);
    free(message);
    ID3D12InfoQueue_ClearStoredMessages(b->queue);
}

static void expect_copy_error(struct bench *b, const char *part)
{
    expect_one(b, D3D12_MESSAGE_CATEGORY_EXECUTION, D3D12_MESSAGE_SEVERITY_ERROR,
               D3D12_MESSAGE_ID_INVALID_SUBRESOURCE_STATE, part);
}

static void expect_dispatch_error(struct bench *b, const char *part)
{
    expect_one(b, D3D12_MESSAGE_CATEGORY_EXECUTION, D3D12_MESSAGE_SEVERITY_ERROR,
               D3D12_MESSAGE_ID_GPU_BASED_VALIDATION_INCOMPATIBLE_RESOURCE_STATE, part);
}

static void expect_race(struct bench *b)
{
    expect_one(b, D3D12_MESSAGE_CATEGORY_EXECUTION, D3D12_MESSAGE_SEVERITY_WARNING, D3D12_MESSAGE_ID_UNKNOWN,
               "no UAV barrier");
}

static void test_copies(struct bench *b)
{
    ok_hr(ID3D12Resource_SetName(b->buffers[1], L"the target"), S_OK);
    transition(b, 1, DEST, SOURCE);
    copy(b, 0, 1);
    expect_copy_error(b, "\"the target\" is in 0x800 (COPY_SOURCE)");
    rig_run(&b->rig);
    transition(b, 0, UNORDERED, DEST);
    copy(b, 0, 1);
    expect_copy_error(b, "the source of a copy");
    ID3D12GraphicsCommandList_CopyResource(b->rig.q.list, b->buffers[1], b->buffers[0]);
    expect_copy_error(b, "the source of a copy");
    rig_run(&b->rig);
    copy(b, 0, 1); /* becomes COPY_DEST by that */
    copy(b, 1, 2);
    expect_copy_error(b, "promoted");
    transition(b, 1, UNORDERED, SOURCE);
    expect_one(b, D3D12_MESSAGE_CATEGORY_RESOURCE_MANIPULATION, D3D12_MESSAGE_SEVERITY_ERROR,
               D3D12_MESSAGE_ID_RESOURCE_BARRIER_BEFORE_AFTER_MISMATCH, "StateBefore");
    rig_run(&b->rig);
    copy(b, 0, 1);
    transition(b, 1, DEST, SOURCE);
    copy(b, 1, 2);
    transition(b, 1, SOURCE, D3D12_RESOURCE_STATE_GENERIC_READ);
    copy(b, 1, 3);
    rig_run(&b->rig);
    copy(b, 3, 1); /* buffers are in COMMON again */
    rig_run(&b->rig);
    expect_silence(b, "good copies");
}

/* Barriers that are wrong by themselves: the list fails, and the message has its number. */
static void test_barriers(struct bench *b)
{
    struct api_queue q = api_queue_create(b->rig.d3d), before = b->rig.q;
    b->rig.q = q;
    transition(b, 0, SOURCE, SOURCE);
    expect_one(b, D3D12_MESSAGE_CATEGORY_RESOURCE_MANIPULATION, D3D12_MESSAGE_SEVERITY_ERROR,
               D3D12_MESSAGE_ID_RESOURCE_BARRIER_MATCHING_STATES, "StateBefore equals StateAfter");
    transition(b, 0, SOURCE | UNORDERED, DEST);
    expect_one(b, D3D12_MESSAGE_CATEGORY_RESOURCE_MANIPULATION, D3D12_MESSAGE_SEVERITY_ERROR,
               D3D12_MESSAGE_ID_RESOURCE_BARRIER_INVALID_COMBINATION, "pBarriers[0], type 0");
    api_transition(&q, NULL, SOURCE, DEST);
    expect_one(b, D3D12_MESSAGE_CATEGORY_RESOURCE_MANIPULATION, D3D12_MESSAGE_SEVERITY_ERROR,
               D3D12_MESSAGE_ID_RESOURCE_BARRIER_NULL_POINTER, "pResource");
    ID3D12GraphicsCommandList_ResourceBarrier(q.list, 1, NULL);
    expect_one(b, D3D12_MESSAGE_CATEGORY_RESOURCE_MANIPULATION, D3D12_MESSAGE_SEVERITY_ERROR,
               D3D12_MESSAGE_ID_RESOURCE_BARRIER_NULL_POINTER, "pBarriers is NULL");
    b->rig.q = before;
    api_queue_destroy(&q);
}

static void test_queries(struct bench *b)
{
    D3D12_QUERY_HEAP_DESC desc = { D3D12_QUERY_HEAP_TYPE_TIMESTAMP, 1, 0 };
    ID3D12QueryHeap *heap = NULL;
    ok_hr(ID3D12Device_CreateQueryHeap(b->rig.d3d, &desc, &IID_ID3D12QueryHeap, (void **)&heap), S_OK);
    need(heap);
    ID3D12GraphicsCommandList_EndQuery(b->rig.q.list, heap, D3D12_QUERY_TYPE_TIMESTAMP, 0);
    transition(b, 0, UNORDERED, SOURCE);
    ID3D12GraphicsCommandList_ResolveQueryData(b->rig.q.list, heap, D3D12_QUERY_TYPE_TIMESTAMP, 0, 1, b->buffers[0], 0);
    expect_copy_error(b, "ResolveQueryData");
    rig_run(&b->rig);
    api_release(heap);
}

static void test_clear(struct bench *b)
{
    D3D12_UNORDERED_ACCESS_VIEW_DESC view = { .Format = DXGI_FORMAT_R32_TYPELESS,
                                              .ViewDimension = D3D12_UAV_DIMENSION_BUFFER,
                                              .Buffer = { .NumElements = COUNT, .Flags = D3D12_BUFFER_UAV_FLAG_RAW } };
    ID3D12DescriptorHeap *hidden = rig_heap(b->rig.d3d, 1, false);
    D3D12_CPU_DESCRIPTOR_HANDLE cpu = ID3D12DescriptorHeap_GetCPUDescriptorHandleForHeapStart(hidden);
    const UINT zeros[4] = { 0 };
    ID3D12Device_CreateUnorderedAccessView(b->rig.d3d, b->buffers[0], NULL, &view, cpu);
    ID3D12Device_CreateUnorderedAccessView(b->rig.d3d, b->buffers[0], NULL, &view, rig_cpu(&b->rig, 200));
    transition(b, 0, UNORDERED, DEST);
    ID3D12GraphicsCommandList_ClearUnorderedAccessViewUint(b->rig.q.list, rig_gpu(&b->rig, 200), cpu, b->buffers[0],
                                                           zeros, 0, NULL);
    expect_copy_error(b, "ClearUnorderedAccessViewUint");
    transition(b, 0, DEST, UNORDERED);
    ID3D12GraphicsCommandList_ClearUnorderedAccessViewUint(b->rig.q.list, rig_gpu(&b->rig, 200), cpu, b->buffers[0],
                                                           zeros, 0, NULL);
    expect_silence(b, "a good clear");
    dispatch(b, 0, 1);
    expect_race(b);
    rig_run(&b->rig);
    api_release(hidden);
}

static void test_dispatches(struct bench *b)
{
    transition(b, 0, UNORDERED, SOURCE);
    dispatch(b, 0, 1);
    expect_dispatch_error(b, "descriptor 0: needs the state 0x8 (UNORDERED_ACCESS)");
    rig_run(&b->rig);
    transition(b, 1, UNORDERED, DEST);
    dispatch(b, 0, 1);
    expect_dispatch_error(b, "descriptor 1");
    rig_run(&b->rig);
    copy(b, 2, 0);
    dispatch(b, 0, 1);
    expect_dispatch_error(b, "promoted");
    rig_run(&b->rig);
    copy(b, 2, 0);
    transition(b, 0, DEST, UNORDERED);
    dispatch(b, 0, 1);
    transition(b, 1, UNORDERED, SOURCE);
    copy(b, 1, 3);
    rig_run(&b->rig);
    expect_silence(b, "a good dispatch");
}

static void test_races(struct bench *b)
{
    dispatch(b, 0, 1);
    expect_silence(b, "the first dispatch");
    dispatch(b, 1, 2); /* reads what that wrote */
    expect_race(b);
    dispatch(b, 3, 1); /* writes what that read */
    expect_race(b);
    dispatch(b, 0, 1); /* writes what that wrote */
    expect_race(b);
    rig_run(&b->rig);
    dispatch(b, 0, 1);
    uav_barrier(b, b->buffers[1]);
    dispatch(b, 1, 2);
    uav_barrier(b, NULL);
    dispatch(b, 2, 3);
    transition(b, 3, UNORDERED, SOURCE);
    transition(b, 3, SOURCE, UNORDERED);
    dispatch(b, 3, 1);
    rig_run(&b->rig);
    dispatch(b, 1, 0); /* another call: in order */
    dispatch(b, 1, 2); /* both only read it */
    dispatch_parts(b, 1, BYTES, 3, BYTES);
    dispatch_parts(b, 1, BYTES, 3, 0); /* other bytes of one buffer */
    rig_run(&b->rig);
    expect_silence(b, "dispatches that are in order or know nothing of each other");
    dispatch(b, 0, 1);
    uav_barrier(b, b->buffers[2]); /* another's */
    dispatch(b, 1, 2);
    expect_race(b);
    rig_run(&b->rig);
}

/* Lists of one call follow one another without a change of states. */
static void test_lists(struct bench *b)
{
    struct api_queue first = b->rig.q, second = api_queue_create(b->rig.d3d);
    ID3D12CommandList *lists[] = { (ID3D12CommandList *)first.list, (ID3D12CommandList *)second.list };
    transition(b, 1, DEST, SOURCE);
    dispatch(b, 0, 2);
    b->rig.q = second;
    rig_set_heap(&b->rig);
    copy(b, 3, 1);
    expect_silence(b, "either list");
    ok_hr(ID3D12GraphicsCommandList_Close(first.list), S_OK);
    ok_hr(ID3D12GraphicsCommandList_Close(second.list), S_OK);
    ID3D12CommandQueue_ExecuteCommandLists(first.queue, 2, lists);
    expect_copy_error(b, "the destination of a copy");
    api_queue_wait(&first);
    ID3D12CommandQueue_ExecuteCommandLists(first.queue, 1, &lists[0]);
    ID3D12CommandQueue_ExecuteCommandLists(first.queue, 1, &lists[1]);
    api_queue_wait(&first);
    expect_silence(b, "two calls");
    ok_hr(ID3D12GraphicsCommandList_Reset(second.list, second.allocator, NULL), S_OK);
    rig_set_heap(&b->rig);
    dispatch(b, 2, 3);
    ok_hr(ID3D12GraphicsCommandList_Close(second.list), S_OK);
    ID3D12CommandQueue_ExecuteCommandLists(first.queue, 2, lists);
    expect_race(b);
    api_queue_wait(&first);
    api_queue_destroy(&second);
    b->rig.q = first;
    ok_hr(ID3D12GraphicsCommandList_Reset(first.list, first.allocator, NULL), S_OK);
    rig_set_heap(&b->rig);
}

static void test_late(void)
{
    struct bench b = bench_create(DML_EXECUTION_FLAG_DESCRIPTORS_VOLATILE);
    transition(&b, 0, UNORDERED, SOURCE);
    dispatch(&b, 0, 1);
    expect_silence(&b, "bindings that are not known yet");
    rig_run(&b.rig);
    expect_dispatch_error(&b, "descriptor 0");
    dispatch(&b, 0, 1);
    dispatch(&b, 1, 2);
    rig_run(&b.rig);
    expect_race(&b);
    dispatch(&b, 0, 1);
    uav_barrier(&b, NULL);
    dispatch(&b, 1, 2);
    rig_run(&b.rig);
    expect_silence(&b, "late bindings that are right");
    bench_destroy(&b);
}

int main(void)
{
    api_begin();
    struct bench b = bench_create(DML_EXECUTION_FLAG_NONE);
    test_copies(&b);
    test_barriers(&b);
    test_queries(&b);
    test_clear(&b);
    test_dispatches(&b);
    test_races(&b);
    test_lists(&b);
    bench_destroy(&b);
    test_late();
    return api_end();
}
