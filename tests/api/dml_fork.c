/* SPDX-License-Identifier: Apache-2.0 */
/* A child of fork with the parent's device of a driver: the device is removed, everything is released without touching
 * the driver, and it ends; the parent continues to compute. */
#include "dml_test.h"

struct work {
    struct rig rig;
    IDMLCompiledOperator *op;
    struct prepared prepared;
    ID3D12Resource *in, *out;
    IDMLBindingTable *table;
    struct api_queue blocked; /* perhaps with work that waits */
    ID3D12QueryHeap *queries;
    ID3D12Heap *heap;
};

static void compute(struct work *w)
{
    const float want[8] = { 3, 4, 5, 6, 7, 8, 9, 10 };
    record(&w->rig, w->op, w->table);
    rig_run(&w->rig);
    expect_f32(&w->rig, w->out, 0, want, 8);
}

static struct work work_create(void)
{
    struct work w = { .rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE) };
    D3D12_QUERY_HEAP_DESC queries = { D3D12_QUERY_HEAP_TYPE_TIMESTAMP, 4, 0 };
    D3D12_HEAP_DESC heap = { .SizeInBytes = 65536, .Properties = { .Type = D3D12_HEAP_TYPE_DEFAULT } };
    w.op = compile(w.rig.dml, identity_operator(w.rig.dml, 8), DML_EXECUTION_FLAG_NONE);
    w.prepared = prepare(&w.rig, w.op, 0, NULL);
    w.in = buffer_f32(&w.rig, 8, 3, 1);
    w.out = buffer_f32(&w.rig, 8, 0, 0);
    w.table = table_at(&w.rig, w.op, 0);
    bind_inputs(w.table, 1, &(struct bound){ w.in, 0, 32 });
    bind_outputs(w.table, 1, &(struct bound){ w.out, 0, 32 });
    bind_prepared(w.table, &w.prepared);
    ok_hr(ID3D12Device_CreateQueryHeap(w.rig.d3d, &queries, &IID_ID3D12QueryHeap, (void **)&w.queries), S_OK);
    ok_hr(ID3D12Device_CreateHeap(w.rig.d3d, &heap, &IID_ID3D12Heap, (void **)&w.heap), S_OK);
    w.blocked = api_queue_create(w.rig.d3d);
    compute(&w);
    return w;
}

/* Gives a queue work that waits until its fence has 1. */
static void block(struct work *w)
{
    ID3D12CommandList *lists[] = { (ID3D12CommandList *)w->blocked.list };
    ok_hr(ID3D12CommandQueue_Wait(w->blocked.queue, w->blocked.fence, 1), S_OK);
    ID3D12GraphicsCommandList_CopyBufferRegion(w->blocked.list, w->in, 0, w->out, 0, 4);
    ok_hr(ID3D12GraphicsCommandList_Close(w->blocked.list), S_OK);
    ID3D12CommandQueue_ExecuteCommandLists(w->blocked.queue, 1, lists);
}

static void work_destroy(struct work *w)
{
    api_release(w->queries);
    api_release(w->heap);
    api_release(w->table);
    api_release(w->in);
    api_release(w->out);
    prepared_release(&w->prepared);
    api_release(w->op);
    api_queue_destroy(&w->blocked);
    rig_destroy(&w->rig);
}

static void live_as_child(struct work *w)
{
    ID3D12Heap *none = NULL;
    D3D12_HEAP_DESC heap = { .SizeInBytes = 65536, .Properties = { .Type = D3D12_HEAP_TYPE_DEFAULT } };
    alarm(30); /* a hang is a failure */
    ok_hr(ID3D12Device_GetDeviceRemovedReason(w->rig.d3d), DXGI_ERROR_DEVICE_REMOVED);
    ok_hr(ID3D12Device_CreateHeap(w->rig.d3d, &heap, &IID_ID3D12Heap, (void **)&none), DXGI_ERROR_DEVICE_REMOVED);
    ok(!none, "a heap in the child");
    if (none)
        api_release(none); /* otherwise it would keep the device */
    work_destroy(w);
}

/* Whether a child that releases nothing ends by exit(): lavapipe 26.1 waits there for threads that only the parent has
 * (docs/internals/gpu-drivers.md). Then children end without what libraries do at the end of a process. */
static bool drivers_end(void)
{
    enum { SECONDS = 5 };
    int status = -1;
    struct work w = work_create();
    pid_t child = fork();
    if (!child) {
        alarm(SECONDS);
        exit(0);
    }
    need(child > 0 && waitpid(child, &status, 0) == child);
    work_destroy(&w);
    if (status)
        fprintf(stderr, "the driver cannot end a child of fork: _exit instead of exit\n");
    return status == 0;
}

static void test_child(bool blocked, bool ends)
{
    int status = -1;
    struct work w = work_create();
    if (blocked)
        block(&w);
    pid_t child = fork();
    if (!child) {
        live_as_child(&w);
        if (ends)
            exit(api_failures ? 1 : 0); /* libraries end as they do at the end of a process */
        _exit(api_failures ? 1 : 0);
    }
    compute(&w);
    need(child > 0 && waitpid(child, &status, 0) == child);
    ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with 0x%x", (unsigned)status);
    compute(&w);
    ok_hr(ID3D12Fence_Signal(w.blocked.fence, 1), S_OK);
    ok_hr(ID3D12Device_GetDeviceRemovedReason(w.rig.d3d), S_OK);
    work_destroy(&w);
}

int main(void)
{
    api_begin();
    const bool ends = drivers_end();
    test_child(false, ends);
    test_child(true, ends);
    return api_end();
}
