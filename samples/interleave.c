/* SPDX-License-Identifier: Apache-2.0 */
/* Two alternating queues. Queue 0 computes b = a + one, queue 1 computes a = b + b, repeatedly; fences in both
 * directions keep the order, and the CPU only waits at the very end. Each queue executes one list, recorded once, and
 * stamps the time before and after its work. */
#include "sample.h"

#define COUNT  1024
#define BYTES  (COUNT * sizeof(float))
#define ROUNDS 10

static IDMLCompiledOperator *compile_add(IDMLDevice *dml)
{
    UINT sizes[] = { 1, 1, 1, COUNT };
    DML_BUFFER_TENSOR_DESC layout = { DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_FLAG_NONE, 4, sizes, NULL, BYTES, 0 };
    DML_TENSOR_DESC tensor = { DML_TENSOR_TYPE_BUFFER, &layout };
    DML_ELEMENT_WISE_ADD_OPERATOR_DESC add = { &tensor, &tensor, &tensor };
    IDMLOperator *op = sample_operator(dml, DML_OPERATOR_ELEMENT_WISE_ADD, &add);
    IDMLCompiledOperator *compiled;
    CHECK(IDMLDevice_CompileOperator(dml, op, DML_EXECUTION_FLAG_NONE, &IID_IDMLCompiledOperator, (void **)&compiled));
    IDMLOperator_Release(op);
    return compiled;
}

static void initialize(IDMLDevice *dml, IDMLCommandRecorder *recorder, struct sample_queue *q, IDMLCompiledOperator *op)
{
    IDMLOperatorInitializer *initializer;
    CHECK(IDMLDevice_CreateOperatorInitializer(dml, 1, &op, &IID_IDMLOperatorInitializer, (void **)&initializer));
    IDMLDispatchable *work = (IDMLDispatchable *)initializer;
    ID3D12DescriptorHeap *heap =
        sample_heap(q->device, IDMLDispatchable_GetBindingProperties(work).RequiredDescriptorCount);
    IDMLBindingTable *table = sample_table(dml, work, heap);
    ID3D12GraphicsCommandList_SetDescriptorHeaps(q->list, 1, &heap);
    IDMLCommandRecorder_RecordDispatch(recorder, (ID3D12CommandList *)q->list, work, table);
    sample_flush(q);
    IDMLBindingTable_Release(table);
    ID3D12DescriptorHeap_Release(heap);
    IDMLOperatorInitializer_Release(initializer);
}

/* The work that one queue repeats: stamp, y = x0 + x1, stamp. The list is closed and not opened again. */
struct turn {
    ID3D12DescriptorHeap *heap;
    ID3D12QueryHeap *stamps;
    ID3D12Resource *ticks;
};

static struct turn record(IDMLDevice *dml, IDMLCommandRecorder *recorder, struct sample_queue *q,
                          IDMLCompiledOperator *op, ID3D12Resource *x0, ID3D12Resource *x1, ID3D12Resource *y)
{
    IDMLDispatchable *work = (IDMLDispatchable *)op;
    struct turn t = { sample_heap(q->device, IDMLDispatchable_GetBindingProperties(work).RequiredDescriptorCount) };
    D3D12_QUERY_HEAP_DESC desc = { D3D12_QUERY_HEAP_TYPE_TIMESTAMP, 2, 0 };
    CHECK(ID3D12Device_CreateQueryHeap(q->device, &desc, &IID_ID3D12QueryHeap, (void **)&t.stamps));
    t.ticks = sample_buffer(q->device, D3D12_HEAP_TYPE_READBACK, 2 * sizeof(UINT64));

    DML_BUFFER_BINDING ranges[] = { { x0, 0, BYTES }, { x1, 0, BYTES }, { y, 0, BYTES } };
    DML_BINDING_DESC bindings[3];
    for (int i = 0; i < 3; i++)
        bindings[i] = (DML_BINDING_DESC){ DML_BINDING_TYPE_BUFFER, &ranges[i] };
    IDMLBindingTable *table = sample_table(dml, work, t.heap);
    IDMLBindingTable_BindInputs(table, 2, bindings);
    IDMLBindingTable_BindOutputs(table, 1, bindings + 2);
    ID3D12GraphicsCommandList_SetDescriptorHeaps(q->list, 1, &t.heap);
    ID3D12GraphicsCommandList_EndQuery(q->list, t.stamps, D3D12_QUERY_TYPE_TIMESTAMP, 0);
    IDMLCommandRecorder_RecordDispatch(recorder, (ID3D12CommandList *)q->list, work, table);
    ID3D12GraphicsCommandList_EndQuery(q->list, t.stamps, D3D12_QUERY_TYPE_TIMESTAMP, 1);
    ID3D12GraphicsCommandList_ResolveQueryData(q->list, t.stamps, D3D12_QUERY_TYPE_TIMESTAMP, 0, 2, t.ticks, 0);
    CHECK(ID3D12GraphicsCommandList_Close(q->list));
    IDMLBindingTable_Release(table); /* the written descriptors stay in the heap */
    return t;
}

/* Prints the duration of the last turn; false if the two stamps are in the wrong order. */
static int turn_finish(struct turn *t, struct sample_queue *q, int index)
{
    UINT64 frequency, *ticks;
    CHECK(ID3D12CommandQueue_GetTimestampFrequency(q->queue, &frequency));
    CHECK(ID3D12Resource_Map(t->ticks, 0, NULL, (void **)&ticks));
    int ordered = ticks[1] >= ticks[0];
    printf("queue %d: last turn %.1f microseconds\n", index, (double)(ticks[1] - ticks[0]) * 1e6 / (double)frequency);
    ID3D12Resource_Unmap(t->ticks, 0, NULL);
    ID3D12Resource_Release(t->ticks);
    ID3D12QueryHeap_Release(t->stamps);
    ID3D12DescriptorHeap_Release(t->heap);
    return ordered;
}

int main(void)
{
    ID3D12Device *device;
    IDMLDevice *dml;
    IDMLCommandRecorder *recorder;
    CHECK(D3D12CreateDevice(NULL, D3D_FEATURE_LEVEL_1_0_CORE, &IID_ID3D12Device, (void **)&device));
    CHECK(DMLCreateDevice(device, DML_CREATE_DEVICE_FLAG_NONE, &IID_IDMLDevice, (void **)&dml));
    CHECK(IDMLDevice_CreateCommandRecorder(dml, &IID_IDMLCommandRecorder, (void **)&recorder));
    struct sample_queue q[2] = { sample_queue_create(device), sample_queue_create(device) };
    struct sample_queue copies = sample_queue_create(device);
    IDMLCompiledOperator *add = compile_add(dml);
    initialize(dml, recorder, &q[0], add);

    static float zeros[COUNT], ones[COUNT], result[COUNT];
    for (int i = 0; i < COUNT; i++)
        ones[i] = 1;
    ID3D12Resource *a = sample_buffer(device, D3D12_HEAP_TYPE_DEFAULT, BYTES);
    ID3D12Resource *b = sample_buffer(device, D3D12_HEAP_TYPE_DEFAULT, BYTES);
    ID3D12Resource *one = sample_buffer(device, D3D12_HEAP_TYPE_DEFAULT, BYTES);
    sample_write(&copies, a, zeros, BYTES);
    sample_write(&copies, one, ones, BYTES);
    struct turn turns[2] = { record(dml, recorder, &q[0], add, a, one, b), record(dml, recorder, &q[1], add, b, b, a) };

    /* All turns are queued at once. Fence 0 counts the turns of queue 0, fence 1 those of queue 1. */
    UINT64 start[2] = { q[0].value, q[1].value };
    for (UINT64 round = 1; round <= ROUNDS; round++) {
        for (int i = 0; i < 2; i++) {
            UINT64 after = start[!i] + (i ? round : round - 1);
            ID3D12CommandList *lists[] = { (ID3D12CommandList *)q[i].list };
            CHECK(ID3D12CommandQueue_Wait(q[i].queue, q[!i].fence, after));
            ID3D12CommandQueue_ExecuteCommandLists(q[i].queue, 1, lists);
            CHECK(ID3D12CommandQueue_Signal(q[i].queue, q[i].fence, ++q[i].value));
        }
    }
    CHECK(ID3D12CommandQueue_Wait(copies.queue, q[1].fence, q[1].value));
    sample_read(&copies, a, result, BYTES); /* a third queue, after the last turn */

    /* a -> 2 (a + 1), from 0: 2, 6, 14, ... = 2^(rounds + 1) - 2 */
    int ok = turn_finish(&turns[0], &q[0], 0) & turn_finish(&turns[1], &q[1], 1);
    for (int i = 0; i < COUNT; i++)
        ok &= result[i] == (float)((2 << ROUNDS) - 2);
    printf("after %d rounds: %g, %s\n", ROUNDS, result[0], ok ? "as expected" : "WRONG");
    void *objects[] = { a, b, one, add, recorder, dml, device };
    for (size_t n = 0; n < sizeof(objects) / sizeof(objects[0]); n++)
        IUnknown_Release((IUnknown *)objects[n]);
    sample_queue_release(&q[0]);
    sample_queue_release(&q[1]);
    sample_queue_release(&copies);
    return !ok;
}
