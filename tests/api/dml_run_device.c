/* SPDX-License-Identifier: Apache-2.0 */
/* AnydmlRunOperator on devices: addresses of all kinds, outputs over inputs, the order of the queue, memory and
 * operators that are released while they are in use, threads, and errors. dml_run_device RUNS: prints the cost of a run
 * for the caller and the process, and of a dispatch in a list. */
#include "dml_build.h"

#include <anydml.h>

#include <pthread.h>
#include <time.h>

static UINT64 address(ID3D12Resource *buffer)
{
    return ID3D12Resource_GetGPUVirtualAddress(buffer);
}

static void run(struct rig *rig, IDMLCompiledOperator *op, UINT64 a, UINT64 b, UINT64 out)
{
    ok_hr(AnydmlRunOperator(rig->q.queue, op, 2, (UINT64[]){ a, b }, 1, &out), S_OK);
}

/* ---- unaligned addresses; surrounding bytes must not change ---- */

static IDMLCompiledOperator *add_halves(IDMLDevice1 *dml, UINT count)
{
    const UINT sizes[4] = { 1, 1, 1, count };
    const DML_BUFFER_TENSOR_DESC buffer = {
        DML_TENSOR_DATA_TYPE_FLOAT16, DML_TENSOR_FLAG_NONE, 4, sizes, NULL, (count * 2 + 3) & ~3u, 0
    };
    const DML_TENSOR_DESC tensor = { DML_TENSOR_TYPE_BUFFER, &buffer };
    const DML_ELEMENT_WISE_ADD_OPERATOR_DESC desc = { &tensor, &tensor, &tensor };
    return compile(dml, make_operator(dml, DML_OPERATOR_ELEMENT_WISE_ADD, &desc), DML_EXECUTION_FLAG_NONE);
}

static void test_shifts(struct rig *rig)
{
    enum { COUNT = 101, ALL = COUNT + 32 };
    static const UINT shifts[][3] = { { 0, 0, 0 }, { 1, 0, 0 }, { 0, 2, 3 }, { 4, 5, 6 }, { 7, 7, 7 }, { 0, 16, 9 } };
    IDMLCompiledOperator *op = compile(rig->dml, add_operator(rig->dml, COUNT), DML_EXECUTION_FLAG_NONE);
    ID3D12Resource *x = buffer_f32(rig, ALL, 0, 1), *y = buffer_f32(rig, ALL, 1000, 2);
    for (size_t t = 0; t < sizeof(shifts) / sizeof(shifts[0]); t++) {
        const UINT *s = shifts[t];
        float got[ALL];
        ID3D12Resource *z = buffer_f32(rig, ALL, -7, 0);
        run(rig, op, address(x) + 4 * s[0], address(y) + 4 * s[1], address(z) + 4 * s[2]);
        api_read(&rig->q, z, 0, got, sizeof(got));
        for (UINT i = 0; i < ALL; i++) {
            const bool within = i >= s[2] && i < s[2] + COUNT;
            const float want = within ? (float)(i - s[2] + s[0]) + 1000 + 2 * (float)(i - s[2] + s[1]) : -7;
            ok(got[i] == want, "shifts %zu, element %u: %g, not %g", t, i, (double)got[i], (double)want);
        }
        api_release(z);
    }
    api_release(x);
    api_release(y);
    api_release(op);
}

/* Three 16-bit numbers in sequence, up to the end of the memory: accesses of four bytes would exceed it. */
static void test_halves(struct rig *rig)
{
    enum { COUNT = 32768 };
    static uint16_t data[COUNT], got[COUNT];
    IDMLCompiledOperator *op = add_halves(rig->dml, 3);
    for (UINT i = 0; i < COUNT; i++)
        data[i] = i % 2 ? 0x3c00 : 0x4000; /* 1, 2 */
    struct bound z = buffer_of(rig, data, sizeof(data));
    const UINT at[] = { 0, 3, 6, 21, COUNT - 3 };
    for (size_t k = 0; k < sizeof(at) / sizeof(at[0]); k++) {
        run(rig, op, address(z.buffer) + 2 * 100, address(z.buffer) + 2 * 101, address(z.buffer) + 2 * at[k]);
        for (UINT i = 0; i < 3; i++)
            data[at[k] + i] = 0x4200; /* 3 */
    }
    api_read(&rig->q, z.buffer, 0, got, sizeof(got));
    for (UINT i = 0; i < COUNT; i++)
        ok(got[i] == data[i], "half %u is %04x, not %04x", i, got[i], data[i]);
    api_release(z.buffer);
    api_release(op);
}

/* ---- outputs over inputs, and a part of them ---- */

static void test_in_place(struct rig *rig)
{
    enum { SIDE = 8, COUNT = SIDE * SIDE };
    float a[COUNT + 4], b[COUNT], got[COUNT];
    IDMLCompiledOperator *op =
        compile(rig->dml, gemm_operator(rig->dml, SIDE, SIDE, SIDE, DML_TENSOR_FLAG_NONE), DML_EXECUTION_FLAG_NONE);
    for (UINT i = 0; i < COUNT; i++)
        a[i] = (float)(i * 7 % 5) - 2, b[i] = (float)(i * 3 % 7) - 3;
    for (UINT over = 0; over < 3; over++) { /* a, b, a part of a that no binding could have */
        struct bound x = buffer_of(rig, a, sizeof(a)), y = buffer_of(rig, b, sizeof(b));
        const UINT64 in[3] = { address(x.buffer), address(y.buffer), 0 };
        const UINT64 out = over == 2 ? in[0] + 12 : in[over];
        ok_hr(AnydmlRunOperator(rig->q.queue, op, 3, in, 1, &out), S_OK);
        api_read(&rig->q, over == 1 ? y.buffer : x.buffer, over == 2 ? 12 : 0, got, sizeof(got));
        for (UINT i = 0; i < COUNT; i++) {
            float want = 0;
            for (UINT k = 0; k < SIDE; k++)
                want += a[i / SIDE * SIDE + k] * b[k * SIDE + i % SIDE];
            ok(got[i] == want, "over %u, element %u: %g, not %g", over, i, (double)got[i], (double)want);
        }
        api_release(x.buffer);
        api_release(y.buffer);
    }
    api_release(op);
}

/* ---- order ---- */

/* Runs and lists alternate without waits: x = (x + one), by way of y. */
static void test_order(struct rig *rig)
{
    enum { COUNT = 16, TURNS = 300 };
    float want[COUNT];
    IDMLCompiledOperator *op = compile(rig->dml, add_operator(rig->dml, COUNT), DML_EXECUTION_FLAG_NONE);
    ID3D12Resource *x = buffer_f32(rig, COUNT, 0, 1), *one = buffer_f32(rig, COUNT, 1, 0);
    ID3D12Resource *y = buffer_f32(rig, COUNT, -1, 0);
    ID3D12GraphicsCommandList_CopyBufferRegion(rig->q.list, x, 0, y, 0, COUNT * 4);
    ok_hr(ID3D12GraphicsCommandList_Close(rig->q.list), S_OK);
    for (UINT i = 0; i < TURNS; i++) {
        for (UINT k = 0; k < i % 3; k++) /* in place */
            run(rig, op, address(x), address(one), address(x));
        run(rig, op, address(x), address(one), address(y));
        api_queue_execute(&rig->q);
    }
    api_queue_wait(&rig->q);
    ok_hr(ID3D12CommandAllocator_Reset(rig->q.allocator), S_OK);
    ok_hr(ID3D12GraphicsCommandList_Reset(rig->q.list, rig->q.allocator, NULL), S_OK);
    for (UINT i = 0; i < COUNT; i++)
        want[i] = (float)i + 2 * TURNS;
    expect_f32(rig, x, 0, want, COUNT);
    api_release(x);
    api_release(y);
    api_release(one);
    api_release(op);
}

/* The queue waits for the caller, who submits more than its limit. */
static void test_waiting_queue(struct rig *rig)
{
    enum { COUNT = 16, RUNS = 3000 };
    float want[COUNT];
    IDMLCompiledOperator *op = compile(rig->dml, add_operator(rig->dml, COUNT), DML_EXECUTION_FLAG_NONE);
    ID3D12Resource *x = buffer_f32(rig, COUNT, 0, 1), *one = buffer_f32(rig, COUNT, 1, 0);
    ID3D12Fence *fence = NULL;
    ok_hr(ID3D12Device_CreateFence(rig->d3d, 0, D3D12_FENCE_FLAG_NONE, &IID_ID3D12Fence, (void **)&fence), S_OK);
    ok_hr(ID3D12CommandQueue_Wait(rig->q.queue, fence, 1), S_OK);
    for (UINT i = 0; i < RUNS; i++)
        run(rig, op, address(x), address(one), address(x));
    ok_hr(ID3D12Fence_Signal(fence, 1), S_OK);
    for (UINT i = 0; i < RUNS; i++)
        run(rig, op, address(x), address(one), address(x));
    for (UINT i = 0; i < COUNT; i++)
        want[i] = (float)i + 2 * RUNS;
    expect_f32(rig, x, 0, want, COUNT);
    api_release(fence);
    api_release(x);
    api_release(one);
    api_release(op);
}

/* ---- a graph that is replayed, each time with other memory, which is released immediately ---- */

static void test_release(struct rig *rig)
{
    enum { STEPS = 6, COUNT = 8, SETS = 40 };
    struct build b;
    ID3D12Resource *out[SETS];
    float want[COUNT];
    build_begin(&b, rig->dml, 2, 1);
    for (UINT i = 0; i < STEPS; i++) {
        add_node(&b, add_operator(rig->dml, COUNT), "step");
        if (i)
            add_middle(&b, i - 1, 0, i, 0);
        add_input(&b, 1, i, 1);
    }
    add_input(&b, 0, 0, 0);
    add_output(&b, STEPS - 1, 0, 0);
    IDMLCompiledOperator *op = build_end(&b);
    for (UINT s = 0; s < SETS; s++) {
        ID3D12Resource *x = buffer_f32(rig, COUNT, (float)s, 1), *y = buffer_f32(rig, COUNT, (float)(s % 7), 0);
        out[s] = buffer_f32(rig, COUNT, -7, 0);
        for (UINT i = 0; i < 5; i++)
            run(rig, op, address(x), address(y), address(out[s]));
        api_release(x);
        api_release(y);
    }
    api_release(op);
    for (UINT s = 0; s < SETS; s++) {
        for (UINT i = 0; i < COUNT; i++)
            want[i] = (float)(s + i) + STEPS * (float)(s % 7);
        expect_f32(rig, out[s], 0, want, COUNT);
        api_release(out[s]);
    }
}

/* ---- threads, with weights, and temporary memory that they share ---- */

enum { ROWS = 4, SIDE = 48 };
static float weights[SIDE * SIDE];

struct worker {
    struct rig *rig;
    IDMLCompiledOperator *op;
    ID3D12Resource *x, *y;
    pthread_t thread;
    HRESULT hr;
};

static void *work(void *context)
{
    struct worker *worker = context;
    for (UINT turn = 0; turn < 100 && worker->hr == S_OK; turn++) { /* the last at an address that requires a copy */
        const UINT64 in = address(worker->x) + (turn == 99 ? 4 : 0), out = address(worker->y);
        worker->hr = AnydmlRunOperator(worker->rig->q.queue, worker->op, 1, &in, 1, &out);
    }
    return NULL;
}

static void test_threads(struct rig *rig)
{
    struct worker workers[6];
    struct build b;
    for (UINT i = 0; i < SIDE * SIDE; i++)
        weights[i] = (float)(i * 31 % 100);
    build_begin(&b, rig->dml, 1, 1);
    add_node(&b, gemm_operator(rig->dml, ROWS, SIDE, SIDE, DML_TENSOR_FLAG_NONE), "product");
    add_constant(&b, weights, sizeof(weights));
    add_input(&b, 0, 0, 0);
    add_middle(&b, 1, 0, 0, 1);
    add_output(&b, 0, 0, 0);
    IDMLCompiledOperator *op = build_end(&b);
    for (UINT t = 0; t < sizeof(workers) / sizeof(workers[0]); t++) {
        float x[ROWS * SIDE + 4] = { 0 };
        x[1 + t] = 2; /* twice row t of the weights, when it is read from the second element on */
        workers[t] = (struct worker){
            rig, op, buffer_of(rig, x, sizeof(x)).buffer, buffer_f32(rig, ROWS * SIDE, -7, 0), 0, S_OK
        };
    }
    for (UINT t = 0; t < sizeof(workers) / sizeof(workers[0]); t++)
        need(!pthread_create(&workers[t].thread, NULL, work, &workers[t]));
    for (UINT t = 0; t < sizeof(workers) / sizeof(workers[0]); t++) {
        float want[SIDE];
        pthread_join(workers[t].thread, NULL);
        ok_hr(workers[t].hr, S_OK);
        for (UINT i = 0; i < SIDE; i++)
            want[i] = 2 * weights[t * SIDE + i];
        expect_f32(rig, workers[t].y, 0, want, SIDE);
        api_release(workers[t].x);
        api_release(workers[t].y);
    }
    api_release(op);
}

/* ---- errors ---- */

static void test_errors(struct rig *rig)
{
    enum { COUNT = 16 };
    IDMLCompiledOperator *op = compile(rig->dml, add_operator(rig->dml, COUNT), DML_EXECUTION_FLAG_NONE);
    ID3D12Resource *x = buffer_f32(rig, COUNT, 0, 1);
    struct api_queue copies = api_queue_of(rig->d3d, D3D12_COMMAND_LIST_TYPE_COPY);
    ID3D12Resource *gone = buffer_f32(rig, COUNT, 0, 1);
    const UINT64 good[2] = { address(x), address(x) };
    const UINT64 bad[] = { 1, address(x) - 4, address(x) + 65536 - 4 * COUNT + 4, UINT64_MAX - 3, address(gone) };
    BOOL quiet = AnydmlQuiet(TRUE);
    api_release(gone);
    ok_hr(AnydmlRunOperator(NULL, op, 2, good, 1, good), E_INVALIDARG);
    ok_hr(AnydmlRunOperator(copies.queue, op, 2, good, 1, good), E_INVALIDARG);
    ok_hr(AnydmlRunOperator((ID3D12CommandQueue *)(void *)rig->d3d, op, 2, good, 1, good), E_INVALIDARG);
    for (UINT i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        const UINT64 mixed[2] = { address(x), bad[i] };
        ok_hr(AnydmlRunOperator(rig->q.queue, op, 2, mixed, 1, good), E_INVALIDARG);
        ok_hr(AnydmlRunOperator(rig->q.queue, op, 2, good, 1, &bad[i]), E_INVALIDARG);
    }
    AnydmlQuiet(quiet);
    ok_hr(AnydmlRunOperator(rig->q.queue, op, 2, good, 1, good), S_OK);
    expect_f32(rig, x, 0, (float[]){ 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30 }, COUNT);
    api_queue_destroy(&copies);
    api_release(x);
    api_release(op);
}

/* ---- costs ---- */

static double seconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

struct costs {
    double own, all, time;
};

static struct costs costs_now(void)
{
    return (struct costs){ seconds(CLOCK_THREAD_CPUTIME_ID), seconds(CLOCK_PROCESS_CPUTIME_ID),
                           seconds(CLOCK_MONOTONIC) };
}

static void print_costs(const char *what, struct costs from, double given, UINT runs)
{
    const struct costs now = costs_now();
    printf("%s: %.2f us of the caller, %.2f us of the process, %.2f us of time\n", what,
           (given - from.own) / runs * 1e6, (now.all - from.all) / runs * 1e6, (now.time - from.time) / runs * 1e6);
}

static void measure_runs(struct rig *rig, IDMLCompiledOperator *op, ID3D12Resource *const buffers[2], UINT runs)
{
    const struct costs from = costs_now();
    for (UINT i = 0; i < runs; i++)
        run(rig, op, address(buffers[0]), address(buffers[1]), address(buffers[i % 2]));
    const double given = costs_now().own;
    api_queue_wait(&rig->q);
    print_costs("run", from, given, runs);
}

/* The same without addresses: a table, a list, and waiting for it. */
static void measure_lists(struct rig *rig, IDMLCompiledOperator *op, ID3D12Resource *const buffers[2], UINT runs)
{
    ID3D12CommandList *lists[] = { (ID3D12CommandList *)rig->q.list };
    const struct costs from = costs_now();
    for (UINT i = 0; i < runs; i++) {
        IDMLBindingTable *table = table_at(rig, op, 0);
        bind_inputs(table, 2, (struct bound[]){ { buffers[0], 0, 64 }, { buffers[1], 0, 64 } });
        bind_outputs(table, 1, &(struct bound){ buffers[i % 2], 0, 64 });
        record(rig, op, table);
        ok_hr(ID3D12GraphicsCommandList_Close(rig->q.list), S_OK);
        ok_hr(AnydmlExecuteCommandLists(rig->q.queue, 1, lists), S_OK);
        ok_hr(ID3D12CommandAllocator_Reset(rig->q.allocator), S_OK);
        ok_hr(ID3D12GraphicsCommandList_Reset(rig->q.list, rig->q.allocator, NULL), S_OK);
        rig_set_heap(rig);
        api_release(table);
    }
    print_costs("table and list", from, costs_now().own, runs);
}

static void measure(struct rig *rig, UINT runs)
{
    IDMLCompiledOperator *op = compile(rig->dml, add_operator(rig->dml, 16), DML_EXECUTION_FLAG_NONE);
    ID3D12Resource *buffers[2] = { buffer_f32(rig, 16, 0, 0), buffer_f32(rig, 16, 0, 0) };
    for (UINT turn = 0; turn < 5; turn++) {
        measure_runs(rig, op, buffers, runs);
        measure_lists(rig, op, buffers, runs);
    }
    api_release(buffers[0]);
    api_release(buffers[1]);
    api_release(op);
}

int main(int argc, char **argv)
{
    api_begin();
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    if (argc > 1) {
        measure(&rig, (UINT)atoi(argv[1]));
    } else {
        test_shifts(&rig);
        test_halves(&rig);
        test_in_place(&rig);
        test_order(&rig);
        test_waiting_queue(&rig);
        test_release(&rig);
        test_threads(&rig);
        test_errors(&rig);
    }
    rig_destroy(&rig);
    return api_end();
}
