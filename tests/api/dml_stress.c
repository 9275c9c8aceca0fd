/* SPDX-License-Identifier: Apache-2.0 */
/* Memory does not grow over long runs; several threads on one device compute the same as one. */
#include "dml_test.h"

#include <pthread.h>
#include <unistd.h>

/* Sanitizers keep freed memory. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED true
#endif
#endif
#ifndef SANITIZED
#define SANITIZED false
#endif

/* What sanitizers find, they find in fewer rounds, where no memory is measured. */
enum { ROUNDS = SANITIZED ? 100 : 1000, PER_LIST = 100, THREADS = 4, COMPILATIONS = 25 };

static bool exact_memory(void)
{
    return !SANITIZED && !getenv("VK_INSTANCE_LAYERS"); /* which record all allocations */
}

/* Allowed growth of the process in a loop: 2 MiB (a GPU's driver 8: it allocates 1 MiB at a time, more often at first),
 * less than one leaked object for each of its 100,000 dispatches. */
static void expect_no_growth(const char *what, long before)
{
    long grown = (long)api_resident_bytes() - before;
    ok(!exact_memory() || grown < (api_is("vulkan") ? 8 : 2) * 1024 * 1024, "%s: %ld bytes", what, grown);
}

struct work {
    IDMLCompiledOperator *op;
    struct prepared prepared;
    ID3D12Resource *in, *out;
    IDMLBindingTable *table;
};

static struct work work_create(struct rig *rig, DML_EXECUTION_FLAGS flags)
{
    struct work work = { .op = compile(rig->dml, add_operator(rig->dml, 8), flags) };
    work.prepared = prepare(rig, work.op, 0, NULL);
    work.in = buffer_f32(rig, 8, 0, 1);
    work.out = buffer_f32(rig, 8, -1, 0);
    work.table = table_at(rig, work.op, 0);
    return work;
}

static void work_bind(struct work *work)
{
    bind_inputs(work->table, 2, (struct bound[]){ { work->in, 0, 32 }, { work->in, 0, 32 } });
    bind_outputs(work->table, 1, &(struct bound){ work->out, 0, 32 });
    bind_prepared(work->table, &work->prepared);
}

static void work_destroy(struct rig *rig, struct work *work)
{
    expect_f32(rig, work->out, 0, (const float[]){ 0, 2, 4, 6, 8, 10, 12, 14 }, 8);
    ok_hr(dml_reason(rig), S_OK);
    api_release(work->table);
    api_release(work->in);
    api_release(work->out);
    prepared_release(&work->prepared);
    api_release(work->op);
}

/* 100,000 dispatches are bound and recorded; lists are reset every 100. */
static void test_recording(void)
{
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    struct work work = work_create(&rig, DML_EXECUTION_FLAG_NONE);
    long before = 0;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < PER_LIST; i++) {
            work_bind(&work);
            record(&rig, work.op, work.table);
        }
        rig_run(&rig);
        if (round == ROUNDS / 10)
            before = (long)api_resident_bytes();
    }
    expect_no_growth("recording", before);
    work_destroy(&rig, &work);
    rig_destroy(&rig);
}

/* One closed list is executed 100,000 times with its own bindings each time. */
static void test_execution(void)
{
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    struct work work = work_create(&rig, DML_EXECUTION_FLAG_DESCRIPTORS_VOLATILE);
    long before = 0;
    record(&rig, work.op, work.table);
    ok_hr(ID3D12GraphicsCommandList_Close(rig.q.list), S_OK);
    for (int i = 0; i < ROUNDS * PER_LIST; i++) {
        work_bind(&work);
        api_queue_execute(&rig.q);
        if (i % PER_LIST == 0)
            api_queue_wait(&rig.q);
        if (i == ROUNDS * PER_LIST / 10)
            before = (long)api_resident_bytes();
    }
    api_queue_wait(&rig.q);
    expect_no_growth("execution", before);
    ok_hr(ID3D12CommandAllocator_Reset(rig.q.allocator), S_OK);
    ok_hr(ID3D12GraphicsCommandList_Reset(rig.q.list, rig.q.allocator, NULL), S_OK);
    work_destroy(&rig, &work);
    rig_destroy(&rig);
}

/* ---- threads: each has its own queue, heap and recorder; the two devices are shared ---- */

struct worker {
    struct rig rig;
    float results[16];
    pthread_t thread;
};

/* a * b with a owned b, compiled again each time. */
static void compute(struct rig *rig, float out[16])
{
    IDMLCompiledOperator *op = compile(rig->dml, gemm_operator(rig->dml, 4, 4, 4, DML_TENSOR_FLAG_OWNED_BY_DML), 0);
    ID3D12Resource *a = buffer_f32(rig, 16, 0.5f, 0.25f), *b = buffer_f32(rig, 16, -3, 0.5f);
    ID3D12Resource *result = buffer_f32(rig, 16, -1, 0);
    struct prepared prepared = prepare(rig, op, 3, (struct bound[]){ { NULL, 0, 0 }, { b, 0, 64 }, { NULL, 0, 0 } });
    IDMLBindingTable *table = table_at(rig, op, 0);
    bind_inputs(table, 3, (struct bound[]){ { a, 0, 64 }, { NULL, 0, 0 }, { NULL, 0, 0 } });
    bind_outputs(table, 1, &(struct bound){ result, 0, 64 });
    bind_prepared(table, &prepared);
    record(rig, op, table);
    rig_run(rig);
    api_read(&rig->q, result, 0, out, 64);
    rig_set_heap(rig);
    api_release(table);
    api_release(a);
    api_release(b);
    api_release(result);
    prepared_release(&prepared);
    api_release(op);
}

static void *worker_run(void *context)
{
    struct worker *worker = context;
    for (int i = 0; i < COMPILATIONS; i++) {
        float again[16] = { 0 };
        compute(&worker->rig, again);
        ok(i == 0 || !memcmp(again, worker->results, sizeof(again)), "round %d differs", i);
        memcpy(worker->results, again, sizeof(again));
    }
    return NULL;
}

static void test_threads(void)
{
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    struct worker workers[THREADS];
    float want[16] = { 0 };
    compute(&rig, want);
    for (int i = 0; i < THREADS; i++) {
        workers[i].rig = rig;
        workers[i].rig.q = api_queue_create(rig.d3d);
        workers[i].rig.heap = rig_heap(rig.d3d, DML_TEST_DESCRIPTORS, true);
        rig_set_heap(&workers[i].rig);
        need(!pthread_create(&workers[i].thread, NULL, worker_run, &workers[i]));
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        ok(api_is("null") || !memcmp(workers[i].results, want, sizeof(want)), "thread %d differs", i);
        api_release(workers[i].rig.heap);
        api_queue_destroy(&workers[i].rig.q);
    }
    ok_hr(dml_reason(&rig), S_OK);
    rig_destroy(&rig);
}

/* Devices are created and destroyed while others work. */
static void *device_loop(void *context)
{
    ID3D12Device *d3d = context;
    for (int i = 0; i < 100; i++) {
        IDMLDevice1 *dml = rig_dml_device(d3d, 0);
        IDMLOperator *op = identity_operator(dml, 4);
        ok_hr(IDMLDevice1_SetName(dml, L"one of many"), S_OK);
        api_release(dml);
        api_release(op); /* the operator keeps its device */
    }
    return NULL;
}

static void test_devices(void)
{
    ID3D12Device *d3d = api_device();
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        need(!pthread_create(&threads[i], NULL, device_loop, d3d));
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    api_release(d3d);
}

int main(void)
{
    api_small_pages();
    api_begin();
    rig_part(test_devices());
    rig_part(test_threads());
    rig_part(test_recording());
    rig_part(test_execution());
    return rig_end();
}
