/* SPDX-License-Identifier: Apache-2.0 */
/* DIRECT, COMPUTE and COPY queues on a device with a queue family for each: work goes to its own, in the order that
 * fences ask for, with right results; one compiled operator runs on several; times can be taken on all. */
#include "api/dml_test.h"

#include "layer.h"

#include <sched.h>

enum { COUNT = 4096, BYTES = COUNT * 4, ROUNDS = 20, STEPS = 6, TYPES = 3 };

static const D3D12_COMMAND_LIST_TYPE types[TYPES] = { D3D12_COMMAND_LIST_TYPE_DIRECT, D3D12_COMMAND_LIST_TYPE_COPY,
                                                      D3D12_COMMAND_LIST_TYPE_COMPUTE };
static struct layer_control *layer;

/* ---- copy in, compute, compute elsewhere, copy out ---- */

struct chain {
    struct rig rig; /* its queue is a COMPUTE queue */
    struct api_queue direct, copy;
    IDMLCompiledOperator *op;
    IDMLBindingTable *there, *back;
    ID3D12Resource *upload, *x, *y, *readback;
    ID3D12Fence *order;
    UINT64 value;
};

static ID3D12Fence *make_fence(ID3D12Device *device)
{
    ID3D12Fence *fence = NULL;
    ok_hr(ID3D12Device_CreateFence(device, 0, D3D12_FENCE_FLAG_NONE, &IID_ID3D12Fence, (void **)&fence), S_OK);
    need(fence);
    return fence;
}

/* x + x, several times over, so that it is replayed: y = x << STEPS. */
static IDMLCompiledOperator *doubled(IDMLDevice1 *dml)
{
    IDMLOperator *add = add_operator(dml, COUNT);
    DML_OPERATOR_GRAPH_NODE_DESC operators[STEPS];
    DML_GRAPH_NODE_DESC nodes[STEPS];
    DML_INPUT_GRAPH_EDGE_DESC in[2] = { { 0, 0, 0, NULL }, { 0, 0, 1, NULL } };
    DML_INTERMEDIATE_GRAPH_EDGE_DESC middle[2 * STEPS];
    DML_OUTPUT_GRAPH_EDGE_DESC out = { STEPS - 1, 0, 0, NULL };
    DML_GRAPH_EDGE_DESC in_edges[2], middle_edges[2 * STEPS], out_edge = { DML_GRAPH_EDGE_TYPE_OUTPUT, &out };
    for (UINT i = 0; i < STEPS; i++) {
        operators[i] = (DML_OPERATOR_GRAPH_NODE_DESC){ add, "double" };
        nodes[i] = (DML_GRAPH_NODE_DESC){ DML_GRAPH_NODE_TYPE_OPERATOR, &operators[i] };
    }
    for (UINT i = 0; i < 2; i++)
        in_edges[i] = (DML_GRAPH_EDGE_DESC){ DML_GRAPH_EDGE_TYPE_INPUT, &in[i] };
    for (UINT i = 0; i < 2 * (STEPS - 1); i++) {
        middle[i] = (DML_INTERMEDIATE_GRAPH_EDGE_DESC){ i / 2, 0, i / 2 + 1, i % 2, NULL };
        middle_edges[i] = (DML_GRAPH_EDGE_DESC){ DML_GRAPH_EDGE_TYPE_INTERMEDIATE, &middle[i] };
    }
    DML_GRAPH_DESC graph = { 1, 1, STEPS, nodes, 2, in_edges, 1, &out_edge, 2 * (STEPS - 1), middle_edges };
    IDMLCompiledOperator *op = NULL;
    ok_hr(IDMLDevice1_CompileGraph(dml, &graph, DML_EXECUTION_FLAG_NONE, &IID_IDMLCompiledOperator, (void **)&op),
          S_OK);
    need(op);
    api_release(add);
    return op;
}

static IDMLBindingTable *table_of(struct chain *c, UINT descriptor, ID3D12Resource *from, ID3D12Resource *to,
                                  const struct prepared *prepared)
{
    IDMLBindingTable *table = table_at(&c->rig, c->op, descriptor);
    bind_inputs(table, 1, &(struct bound){ from, 0, BYTES });
    bind_outputs(table, 1, &(struct bound){ to, 0, BYTES });
    bind_prepared(table, prepared);
    return table;
}

/* This queue's work begins when the value is reached, and raises it by one. */
static void in_turn(struct chain *c, struct api_queue *q)
{
    ID3D12CommandList *lists[] = { (ID3D12CommandList *)q->list };
    ok_hr(ID3D12CommandQueue_Wait(q->queue, c->order, c->value), S_OK);
    ID3D12CommandQueue_ExecuteCommandLists(q->queue, 1, lists);
    ok_hr(ID3D12CommandQueue_Signal(q->queue, c->order, ++c->value), S_OK);
}

static void record_on(struct chain *c, struct api_queue *q, IDMLBindingTable *table)
{
    ID3D12GraphicsCommandList_SetDescriptorHeaps(q->list, 1, &c->rig.heap);
    IDMLCommandRecorder_RecordDispatch(c->rig.recorder, (ID3D12CommandList *)q->list, (IDMLDispatchable *)c->op, table);
    ok_hr(ID3D12GraphicsCommandList_Close(q->list), S_OK);
}

static void round_trip(struct chain *c, struct api_queue *back, float first)
{
    float *in = api_map(c->upload), *out = api_map(c->readback);
    for (int i = 0; i < COUNT; i++)
        in[i] = first + (float)i;
    in_turn(c, &c->copy);
    in_turn(c, &c->rig.q);
    in_turn(c, &c->direct);
    in_turn(c, back);
    ok_hr(ID3D12Fence_SetEventOnCompletion(c->order, c->value, NULL), S_OK);
    int wrong = 0;
    for (int i = 0; i < COUNT; i++)
        wrong += out[i] != (first + (float)i) * (1 << 2 * STEPS);
    ok(!wrong, "from %g: %d of %d elements are wrong", (double)first, wrong, COUNT);
    memset(out, 0xff, BYTES);
}

static void test_chain(void)
{
    struct chain c = { .rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE) };
    struct api_queue back = api_queue_of(c.rig.d3d, D3D12_COMMAND_LIST_TYPE_COPY);
    c.direct = api_queue_of(c.rig.d3d, D3D12_COMMAND_LIST_TYPE_DIRECT);
    c.copy = api_queue_of(c.rig.d3d, D3D12_COMMAND_LIST_TYPE_COPY);
    c.order = make_fence(c.rig.d3d);
    c.op = doubled(c.rig.dml);
    c.upload = api_buffer(c.rig.d3d, D3D12_HEAP_TYPE_UPLOAD, BYTES);
    c.readback = api_buffer(c.rig.d3d, D3D12_HEAP_TYPE_READBACK, BYTES);
    c.x = api_buffer(c.rig.d3d, D3D12_HEAP_TYPE_DEFAULT, BYTES);
    c.y = api_buffer(c.rig.d3d, D3D12_HEAP_TYPE_DEFAULT, BYTES);
    struct prepared prepared = prepare(&c.rig, c.op, 0, NULL);
    c.there = table_of(&c, 0, c.x, c.y, &prepared);
    c.back = table_of(&c, 64, c.y, c.x, &prepared);
    ID3D12GraphicsCommandList_CopyBufferRegion(c.copy.list, c.x, 0, c.upload, 0, BYTES);
    ok_hr(ID3D12GraphicsCommandList_Close(c.copy.list), S_OK);
    ID3D12GraphicsCommandList_CopyBufferRegion(back.list, c.readback, 0, c.x, 0, BYTES);
    ok_hr(ID3D12GraphicsCommandList_Close(back.list), S_OK);
    record_on(&c, &c.rig.q, c.there);
    record_on(&c, &c.direct, c.back);
    memset((void *)layer->submitted, 0, sizeof(layer->submitted));
    for (int i = 0; i < ROUNDS; i++)
        round_trip(&c, &back, (float)i);
    ok(layer->submitted[0] == ROUNDS && layer->submitted[1] == 2 * ROUNDS && layer->submitted[2] == ROUNDS,
       "%u batches on the family of DIRECT queues, %u on that of COPY queues, %u on that of COMPUTE queues",
       layer->submitted[0], layer->submitted[1], layer->submitted[2]);
    void *objects[] = { c.there, c.back, c.op, c.upload, c.readback, c.x, c.y, c.order };
    for (size_t i = 0; i < sizeof(objects) / sizeof(*objects); i++)
        api_release(objects[i]);
    prepared_release(&prepared);
    api_queue_destroy(&back);
    api_queue_destroy(&c.direct);
    api_queue_destroy(&c.copy);
    rig_destroy(&c.rig);
}

/* ---- waits on the device ---- */

/* A queue that waits for another's signal has its work on the device before the other's is done; its own signal comes
 * after both, also without work. */
static void test_overlap(void)
{
    enum { LONG = 64 << 20, TIMES = 12 };
    ID3D12Device *d3d = api_device();
    struct api_queue slow = api_queue_create(d3d), copy = api_queue_of(d3d, D3D12_COMMAND_LIST_TYPE_COPY);
    struct api_queue idle = api_queue_of(d3d, D3D12_COMMAND_LIST_TYPE_DIRECT);
    ID3D12Resource *a = api_buffer(d3d, D3D12_HEAP_TYPE_DEFAULT, LONG),
                   *b = api_buffer(d3d, D3D12_HEAP_TYPE_DEFAULT, LONG);
    ID3D12Resource *readback = api_buffer(d3d, D3D12_HEAP_TYPE_READBACK, BYTES);
    uint32_t *seen = api_map(readback), data[4] = { 1, 2, 3, 4 };
    api_write(&slow, a, LONG - sizeof(data), data, sizeof(data));
    for (int i = 0; i < TIMES; i++) {
        ID3D12GraphicsCommandList_CopyBufferRegion(slow.list, i % 2 ? a : b, 0, i % 2 ? b : a, 0, LONG);
    }
    ok_hr(ID3D12GraphicsCommandList_Close(slow.list), S_OK);
    ID3D12GraphicsCommandList_CopyBufferRegion(copy.list, readback, 0, b, LONG - sizeof(data), sizeof(data));
    ok_hr(ID3D12GraphicsCommandList_Close(copy.list), S_OK);
    layer->submitted[1] = 0;
    const UINT64 value = slow.value + 1;
    ok_hr(ID3D12CommandQueue_Wait(copy.queue, slow.fence, value), S_OK);
    api_queue_execute(&copy);
    ok_hr(ID3D12CommandQueue_Signal(copy.queue, copy.fence, ++copy.value), S_OK);
    ok_hr(ID3D12CommandQueue_Wait(idle.queue, copy.fence, copy.value), S_OK);
    ok_hr(ID3D12CommandQueue_Signal(idle.queue, idle.fence, ++idle.value), S_OK);
    api_queue_execute(&slow);
    ok_hr(ID3D12CommandQueue_Signal(slow.queue, slow.fence, ++slow.value), S_OK);
    while (!layer->submitted[1] && ID3D12Fence_GetCompletedValue(slow.fence) < value)
        nanosleep(&(struct timespec){ 0, 10000 }, NULL);
    ok(ID3D12Fence_GetCompletedValue(slow.fence) < value, "the copy was submitted only after what it waits for");
    ok_hr(ID3D12Fence_SetEventOnCompletion(idle.fence, idle.value, NULL), S_OK);
    ok(ID3D12Fence_GetCompletedValue(copy.fence) == copy.value, "a queue without work has not waited");
    ok(!memcmp(seen, data, sizeof(data)), "the copy came before what it waits for");
    api_queue_wait(&slow);
    api_release(a);
    api_release(b);
    api_release(readback);
    api_queue_destroy(&idle);
    api_queue_destroy(&copy);
    api_queue_destroy(&slow);
    api_release(d3d);
}

/* Who sees a queue's signal sees those that it waited for, whether or not it had work between. */
static void test_order(void)
{
    enum { QUEUES = 4, TURNS = 1500 };
    ID3D12Device *d3d = api_device();
    struct api_queue q[QUEUES];
    ID3D12Resource *bytes = api_buffer(d3d, D3D12_HEAP_TYPE_DEFAULT, 2 * BYTES);
    for (int i = 0; i < QUEUES; i++) {
        q[i] = api_queue_of(d3d, types[i % TYPES]);
        ID3D12GraphicsCommandList_CopyBufferRegion(q[i].list, bytes, 0, bytes, BYTES, BYTES);
        ok_hr(ID3D12GraphicsCommandList_Close(q[i].list), S_OK);
    }
    int early = 0;
    for (int turn = 0; turn < TURNS; turn++) {
        for (int i = QUEUES; i-- > 0;) { /* the last ones wait before there is anything to wait for */
            if (i)
                ok_hr(ID3D12CommandQueue_Wait(q[i].queue, q[i - 1].fence, q[i - 1].value + 1), S_OK);
            if (!i || turn >> i & 1)
                api_queue_execute(&q[i]);
            ok_hr(ID3D12CommandQueue_Signal(q[i].queue, q[i].fence, q[i].value + 1), S_OK);
        }
        while (ID3D12Fence_GetCompletedValue(q[QUEUES - 1].fence) <= q[QUEUES - 1].value)
            sched_yield();
        for (int i = 0; i < QUEUES; i++)
            early += ID3D12Fence_GetCompletedValue(q[i].fence) != ++q[i].value;
    }
    ok(!early, "%d signals were seen before those that they waited for", early);
    api_release(bytes);
    for (int i = 0; i < QUEUES; i++)
        api_queue_destroy(&q[i]);
    api_release(d3d);
}

/* The device goes while queues wait for each other on it, for what was never signalled, and for nothing. */
static void test_removed(void)
{
    enum { QUEUES = 3 };
    for (int stage = 0; stage <= QUEUES; stage++) {
        ID3D12Device *d3d = api_device();
        struct api_queue q[QUEUES];
        ID3D12Fence *never = make_fence(d3d);
        ID3D12Resource *bytes = api_buffer(d3d, D3D12_HEAP_TYPE_DEFAULT, 8 << 20);
        for (int i = 0; i < QUEUES; i++) {
            q[i] = api_queue_of(d3d, types[i % TYPES]);
            for (int k = 0; k < 20; k++)
                ID3D12GraphicsCommandList_CopyBufferRegion(q[i].list, bytes, 0, bytes, 4 << 20, 4 << 20);
            ok_hr(ID3D12GraphicsCommandList_Close(q[i].list), S_OK);
        }
        for (int i = 0; i < QUEUES; i++) {
            if (i == stage)
                ID3D12CommandQueue_Wait(q[i].queue, never, 1);
            if (i)
                ID3D12CommandQueue_Wait(q[i].queue, q[i - 1].fence, 1);
            api_queue_execute(&q[i]);
            ID3D12CommandQueue_Signal(q[i].queue, q[i].fence, ++q[i].value);
        }
        ID3D12Device5_RemoveDevice((ID3D12Device5 *)d3d);
        ok_hr(ID3D12Device_GetDeviceRemovedReason(d3d), DXGI_ERROR_DEVICE_REMOVED);
        for (int i = 0; i < QUEUES; i++) {
            ok_hr(ID3D12Fence_SetEventOnCompletion(q[i].fence, q[i].value, NULL), S_OK);
            ok(ID3D12Fence_GetCompletedValue(q[i].fence) == UINT64_MAX, "stage %d: queue %d has not ended", stage, i);
        }
        for (int i = 0; i < QUEUES; i++)
            api_queue_destroy(&q[i]);
        api_release(never);
        api_release(bytes);
        ok(api_release(d3d) == 0, "stage %d: the device is still referenced", stage);
    }
}

/* ---- timestamps ---- */

static void test_times(void)
{
    ID3D12Device *d3d = api_device();
    D3D12_QUERY_HEAP_DESC desc = { D3D12_QUERY_HEAP_TYPE_TIMESTAMP, 2 * TYPES, 0 };
    ID3D12QueryHeap *heap = NULL;
    ID3D12Resource *readback = api_buffer(d3d, D3D12_HEAP_TYPE_READBACK, 2 * TYPES * 8);
    ok_hr(ID3D12Device_CreateQueryHeap(d3d, &desc, &IID_ID3D12QueryHeap, (void **)&heap), S_OK);
    need(heap);
    for (UINT i = 0; i < TYPES; i++) {
        struct api_queue q = api_queue_of(d3d, types[i]);
        ID3D12Resource *bytes = api_buffer(d3d, D3D12_HEAP_TYPE_DEFAULT, 2 * BYTES);
        ID3D12GraphicsCommandList_EndQuery(q.list, heap, D3D12_QUERY_TYPE_TIMESTAMP, 2 * i);
        ID3D12GraphicsCommandList_CopyBufferRegion(q.list, bytes, 0, bytes, BYTES, BYTES);
        ID3D12GraphicsCommandList_EndQuery(q.list, heap, D3D12_QUERY_TYPE_TIMESTAMP, 2 * i + 1);
        ID3D12GraphicsCommandList_ResolveQueryData(q.list, heap, D3D12_QUERY_TYPE_TIMESTAMP, 2 * i, 2, readback,
                                                   i * 16);
        api_queue_run(&q);
        api_release(bytes);
        api_queue_destroy(&q);
    }
    const UINT64 *times = api_map(readback);
    for (UINT i = 0; i < TYPES; i++)
        ok(times[2 * i] && times[2 * i + 1] > times[2 * i] && (!i || times[2 * i] > times[2 * i - 1]),
           "queue %u: from %llu to %llu", i, (unsigned long long)times[2 * i], (unsigned long long)times[2 * i + 1]);
    api_release(heap);
    api_release(readback);
    api_release(d3d);
}

int main(int count, char **arguments)
{
    void *library = count > 1 ? dlopen(arguments[1], RTLD_NOW) : NULL;
    api_begin();
    setenv("ANYDML_LAYER_FAMILIES", "1", 1);
    need(library);
    struct layer_control *(*control)(void);
    *(void **)&control = dlsym(library, "layer_control");
    layer = control();
    test_chain();
    test_overlap();
    test_order();
    test_removed();
    test_times();
    return api_end();
}
