/* SPDX-License-Identifier: Apache-2.0 */
/* What submitting costs beyond computing: lists of 1 and of many additions of 16 numbers, each its own dispatch,
 * recorded once and executed again and again: overhead [DISPATCHES [ROUNDS [STEPS]]]
 * STEPS: each dispatch is of a graph of that many additions. With ANYDML_DISABLE_PASS=fuse_map each of them is a step.
 */
#include <anydml_d3d12.h>

#pragma GCC diagnostic ignored "-Wunused-function" /* shared by samples, not all of it is used */
#include "chain.h"

enum { ROUND = 200 };

struct bench {
    struct sample_queue q;
    IDMLDevice *dml;
    IDMLCommandRecorder *recorder;
    IDMLCompiledOperator *add;
    ID3D12DescriptorHeap *heap;
    ID3D12Resource *x, *y, *temporary; /* temporary: NULL if not needed */
    UINT64 temporary_bytes;
    UINT step; /* bytes of a descriptor handle */
    UINT descriptors;
};

static double thread_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static void record(struct bench *b, ID3D12GraphicsCommandList *list, IDMLDispatchable *work, UINT index, BOOL bind)
{
    DML_BINDING_TABLE_DESC desc = { work, ID3D12DescriptorHeap_GetCPUDescriptorHandleForHeapStart(b->heap),
                                    ID3D12DescriptorHeap_GetGPUDescriptorHandleForHeapStart(b->heap),
                                    IDMLDispatchable_GetBindingProperties(work).RequiredDescriptorCount };
    desc.CPUDescriptorHandle.ptr += (SIZE_T)index * b->descriptors * b->step;
    desc.GPUDescriptorHandle.ptr += (UINT64)index * b->descriptors * b->step;
    DML_BUFFER_BINDING input = { b->x, 0, CHAIN_COUNT * 4 }, output = { b->y, 0, CHAIN_COUNT * 4 };
    DML_BINDING_DESC inputs[] = { { DML_BINDING_TYPE_BUFFER, &input }, { DML_BINDING_TYPE_BUFFER, &input } };
    DML_BINDING_DESC outputs = { DML_BINDING_TYPE_BUFFER, &output };
    IDMLBindingTable *table;
    CHECK(IDMLDevice_CreateBindingTable(b->dml, &desc, &IID_IDMLBindingTable, (void **)&table));
    IDMLBindingTable_BindInputs(table, bind ? 2 : 0, inputs);
    IDMLBindingTable_BindOutputs(table, bind ? 1 : 0, &outputs);
    if (bind && b->temporary) {
        DML_BUFFER_BINDING temporary = { b->temporary, 0, b->temporary_bytes };
        DML_BINDING_DESC binding = { DML_BINDING_TYPE_BUFFER, &temporary };
        IDMLBindingTable_BindTemporaryResource(table, &binding);
    }
    IDMLCommandRecorder_RecordDispatch(b->recorder, (ID3D12CommandList *)list, work, table);
    IDMLBindingTable_Release(table);
}

static void create(struct bench *b, UINT most, UINT steps)
{
    ID3D12Device *device;
    CHECK(D3D12CreateDevice(NULL, D3D_FEATURE_LEVEL_1_0_CORE, &IID_ID3D12Device, (void **)&device));
    b->q = sample_queue_create(device);
    CHECK(DMLCreateDevice(device, DML_CREATE_DEVICE_FLAG_NONE, &IID_IDMLDevice, (void **)&b->dml));
    CHECK(IDMLDevice_CreateCommandRecorder(b->dml, &IID_IDMLCommandRecorder, (void **)&b->recorder));
    b->add = compile_add(b->dml, steps);
    DML_BINDING_PROPERTIES needs = IDMLDispatchable_GetBindingProperties((IDMLDispatchable *)b->add);
    b->descriptors = needs.RequiredDescriptorCount;
    b->temporary_bytes = needs.TemporaryResourceSize;
    b->temporary = b->temporary_bytes ? sample_buffer(device, D3D12_HEAP_TYPE_DEFAULT, b->temporary_bytes) : NULL;
    D3D12_DESCRIPTOR_HEAP_DESC heap = { D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV, b->descriptors * most,
                                        D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE, 0 };
    CHECK(ID3D12Device_CreateDescriptorHeap(device, &heap, &IID_ID3D12DescriptorHeap, (void **)&b->heap));
    b->step = ID3D12Device_GetDescriptorHandleIncrementSize(device, heap.Type);
    b->x = sample_buffer(device, D3D12_HEAP_TYPE_DEFAULT, CHAIN_COUNT * 4);
    b->y = sample_buffer(device, D3D12_HEAP_TYPE_DEFAULT, CHAIN_COUNT * 4);
    IDMLOperatorInitializer *initializer;
    CHECK(
        IDMLDevice_CreateOperatorInitializer(b->dml, 1, &b->add, &IID_IDMLOperatorInitializer, (void **)&initializer));
    ID3D12GraphicsCommandList_SetDescriptorHeaps(b->q.list, 1, &b->heap);
    record(b, b->q.list, (IDMLDispatchable *)initializer, 0, 0);
    sample_flush(&b->q);
    IDMLOperatorInitializer_Release(initializer);
}

static void execute(struct bench *b, int here)
{
    ID3D12CommandList *lists[] = { (ID3D12CommandList *)b->q.list };
    if (here) {
        CHECK(AnydmlExecuteCommandLists(b->q.queue, 1, lists));
        return;
    }
    ID3D12CommandQueue_ExecuteCommandLists(b->q.queue, 1, lists);
    CHECK(ID3D12CommandQueue_Signal(b->q.queue, b->q.fence, ++b->q.value));
    CHECK(ID3D12Fence_SetEventOnCompletion(b->q.fence, b->q.value, NULL));
}

/* Records `count` additions and times their execution by both ways. */
static void measure(struct bench *b, UINT count, UINT rounds, double *us)
{
    ID3D12GraphicsCommandList_SetDescriptorHeaps(b->q.list, 1, &b->heap);
    double start = now_us();
    for (UINT i = 0; i < count; i++)
        record(b, b->q.list, (IDMLDispatchable *)b->add, i, 1);
    CHECK(ID3D12GraphicsCommandList_Close(b->q.list));
    printf("%5u dispatches: recording %.2f us each\n", count, (now_us() - start) / count);
    UINT runs = count < ROUND ? ROUND / count : 1;
    for (int here = 1; here >= 0; here--) {
        double thread = thread_us();
        for (UINT r = 0; r < rounds; r++) {
            start = now_us();
            for (UINT i = 0; i < runs; i++)
                execute(b, here);
            us[r] = (now_us() - start) / runs;
        }
        thread = (thread_us() - thread) / ((double)rounds * runs);
        qsort(us, rounds, sizeof(*us), by_size);
        printf("  %-42s %8.2f us median, %8.2f us min, %.3f us each, %.2f us of the thread's CPU time\n",
               here ? "AnydmlExecuteCommandLists" : "ExecuteCommandLists, Signal, wait", us[rounds / 2], us[0],
               us[0] / count, thread);
    }
    CHECK(ID3D12CommandAllocator_Reset(b->q.allocator));
    CHECK(ID3D12GraphicsCommandList_Reset(b->q.list, b->q.allocator, NULL));
}

int main(int argc, char **argv)
{
    UINT most = argc > 1 ? (UINT)strtoul(argv[1], NULL, 10) : 1000;
    UINT rounds = argc > 2 ? (UINT)strtoul(argv[2], NULL, 10) : 500;
    UINT steps = argc > 3 ? (UINT)strtoul(argv[3], NULL, 10) : 1;
    if (!most || !rounds || !steps || most > 100000 || rounds > 1000000 || steps > 10000) {
        fprintf(stderr, "usage: %s [DISPATCHES [ROUNDS [STEPS]]]\n", argv[0]);
        return 2;
    }
    struct bench b;
    double *us = malloc(rounds * sizeof(*us));
    if (!us)
        return 1;
    create(&b, most, steps);
    measure(&b, 1, rounds, us);
    measure(&b, most, rounds, us);
    free(us);
    IUnknown *objects[] = { (IUnknown *)b.x,   (IUnknown *)b.y,        (IUnknown *)b.heap,
                            (IUnknown *)b.add, (IUnknown *)b.recorder, (IUnknown *)b.dml };
    for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++)
        IUnknown_Release(objects[i]);
    if (b.temporary)
        ID3D12Resource_Release(b.temporary);
    sample_queue_release(&b.q);
    ID3D12Device_Release(b.q.device);
    return 0;
}
