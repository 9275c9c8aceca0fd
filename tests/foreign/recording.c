/* SPDX-License-Identifier: Apache-2.0 */
/* Dispatches in lists of the stand-in: what the application may do with them, and what the memory behind them does. */
#include "foreign_test.h"

enum { COUNT = 1000, BYTES = COUNT * 4, SMALL = 16 };

static IDMLBindingTable *bound_table(struct rig *rig, IDMLCompiledOperator *op, UINT descriptor, ID3D12Resource *a,
                                     ID3D12Resource *b, ID3D12Resource *out)
{
    IDMLBindingTable *table = table_at(rig, op, descriptor);
    bind_inputs(table, 2, (struct bound[]){ { a, 0, BYTES }, { b, 0, BYTES } });
    bind_outputs(table, 1, (struct bound[]){ { out, 0, BYTES } });
    return table;
}

struct buffers {
    ID3D12Resource *a, *b, *out;
};

static struct buffers make_buffers(struct rig *rig)
{
    return (struct buffers){ buffer_f32(rig, COUNT, 0, 1), buffer_f32(rig, COUNT, 100, 1),
                             api_buffer(rig->d3d, D3D12_HEAP_TYPE_DEFAULT, BYTES) };
}

static void release_buffers(struct buffers *buffers)
{
    api_release(buffers->a);
    api_release(buffers->b);
    api_release(buffers->out);
}

/* a + b to out, out + b to out, in one list with the barrier that Direct3D needs; the table is released at once, and
 * the closed list is executed three times. */
static void test_add(const struct standin_options *options, D3D12_COMMAND_LIST_TYPE type)
{
    struct rig rig = foreign_rig_of(options, type);
    struct buffers x = make_buffers(&rig);
    IDMLCompiledOperator *op = compile(rig.dml, add_operator(rig.dml, COUNT), DML_EXECUTION_FLAG_NONE);
    IDMLBindingTable *first = bound_table(&rig, op, 0, x.a, x.b, x.out),
                     *second = bound_table(&rig, op, 3, x.out, x.b, x.out);
    const uint32_t locks = standin_counts(rig.d3d).locks;
    record(&rig, op, first);
    api_release(first);
    unordered_barrier(&rig);
    record(&rig, op, second);
    api_release(second);
    ok(standin_counts(rig.d3d).locks == locks, "RecordDispatch submits");
    ok(standin_counts(rig.d3d).begins == 2, "%u times Begin", standin_counts(rig.d3d).begins);
    ok_hr(ID3D12GraphicsCommandList_Close(rig.q.list), S_OK);
    for (int i = 0; i < 3; i++) {
        foreign_execute(&rig);
        foreign_expect(&rig, x.out, COUNT, 200, 3);
    }
    ok_hr(dml_reason(&rig), S_OK);
    foreign_reopen(&rig);
    api_release(op);
    release_buffers(&x);
    foreign_rig_destroy(&rig);
}

/* Weights in an UPLOAD heap, copied by the initializer, and the operator, in one list or in two; the upload heap is
 * released after the first. */
static void test_initializer(D3D12_COMMAND_LIST_TYPE type, bool one_list)
{
    struct rig rig = foreign_rig(type);
    float b[SMALL * SMALL];
    for (int i = 0; i < SMALL * SMALL; i++)
        b[i] = i / SMALL == i % SMALL ? 3 : 0;
    ID3D12Resource *a = buffer_f32(&rig, SMALL * SMALL, 0, 1),
                   *upload = api_buffer(rig.d3d, D3D12_HEAP_TYPE_UPLOAD, 1024),
                   *out = api_buffer(rig.d3d, D3D12_HEAP_TYPE_DEFAULT, 1024);
    memcpy(api_map(upload), b, sizeof(b));
    IDMLCompiledOperator *op = compile(
        rig.dml, gemm_operator(rig.dml, SMALL, SMALL, SMALL, DML_TENSOR_FLAG_OWNED_BY_DML), DML_EXECUTION_FLAG_NONE);
    IDMLOperatorInitializer *initializer = make_initializer(rig.dml, 1, &op);
    struct prepared prepared = { .props = properties(op) };
    const UINT64 persistent = prepared.props.PersistentResourceSize;
    need(persistent);
    prepared.persistent = api_buffer(rig.d3d, D3D12_HEAP_TYPE_DEFAULT, persistent);
    if (prepared.props.TemporaryResourceSize)
        prepared.temporary = api_buffer(rig.d3d, D3D12_HEAP_TYPE_DEFAULT, prepared.props.TemporaryResourceSize);
    IDMLBindingTable *init = table_at(&rig, initializer, 0), *table = table_at(&rig, op, 8);
    bind_owned(init, 3, (struct bound[]){ { 0 }, { upload, 0, 1024 }, { 0 } });
    bind_outputs(init, 1, &(struct bound){ prepared.persistent, 0, persistent });
    record(&rig, initializer, init);
    if (one_list)
        unordered_barrier(&rig);
    else
        rig_run(&rig);
    if (!one_list)
        api_release(upload);
    bind_inputs(table, 3, (struct bound[]){ { a, 0, 1024 }, { 0 }, { 0 } });
    bind_outputs(table, 1, &(struct bound){ out, 0, 1024 });
    bind_prepared(table, &prepared);
    record(&rig, op, table);
    rig_run(&rig);
    if (one_list)
        api_release(upload);
    foreign_expect(&rig, out, SMALL * SMALL, 0, 3);
    ok_hr(dml_reason(&rig), S_OK);
    api_release(init);
    api_release(table);
    api_release(initializer);
    api_release(op);
    prepared_release(&prepared);
    api_release(a);
    api_release(out);
    foreign_rig_destroy(&rig);
}

/* The application's own dispatches before, between and after: its state is set once. */
static void test_state(D3D12_COMMAND_LIST_TYPE type)
{
    struct rig rig = foreign_rig(type);
    struct buffers x = make_buffers(&rig);
    IDMLCompiledOperator *op = compile(rig.dml, add_operator(rig.dml, COUNT), DML_EXECUTION_FLAG_NONE);
    IDMLBindingTable *table = bound_table(&rig, op, 0, x.out, x.b, x.out);
    standin_state(rig.q.list, x.out, 7);
    standin_dispatch(rig.q.list, COUNT); /* 7 */
    unordered_barrier(&rig);
    record(&rig, op, table); /* 107 + i */
    unordered_barrier(&rig);
    standin_dispatch(rig.q.list, COUNT); /* 114 + i */
    unordered_barrier(&rig);
    standin_dispatch(rig.q.list, COUNT); /* 121 + i */
    unordered_barrier(&rig);
    record(&rig, op, table); /* 221 + 2 i */
    rig_run(&rig);
    foreign_expect(&rig, x.out, COUNT, 221, 2);
    api_release(table);
    api_release(op);
    release_buffers(&x);
    foreign_rig_destroy(&rig);
}

/* Reads its input in another order: an output over it needs a copy. */
static IDMLOperator *reverse_operator(IDMLDevice1 *dml)
{
    struct tensor in, lengths, out;
    DML_REVERSE_SUBSEQUENCES_OPERATOR_DESC desc = { tensor_f32(&in, 1, 1, 1, COUNT, DML_TENSOR_FLAG_NONE),
                                                    tensor_f32(&lengths, 1, 1, 1, 1, DML_TENSOR_FLAG_NONE),
                                                    tensor_f32(&out, 1, 1, 1, COUNT, DML_TENSOR_FLAG_NONE), 3 };
    lengths.buffer.DataType = DML_TENSOR_DATA_TYPE_UINT32;
    return make_operator(dml, DML_OPERATOR_REVERSE_SUBSEQUENCES, &desc);
}

static IDMLBindingTable *reverse_table(struct rig *rig, IDMLCompiledOperator *op, UINT descriptor,
                                       const struct prepared *prepared, ID3D12Resource *in, ID3D12Resource *lengths,
                                       ID3D12Resource *out)
{
    IDMLBindingTable *table = table_at(rig, op, descriptor);
    bind_inputs(table, 2, (struct bound[]){ { in, 0, BYTES }, { lengths, 0, 4 } });
    bind_outputs(table, 1, (struct bound[]){ { out, 0, BYTES } });
    bind_prepared(table, prepared);
    return table;
}

/* In place, where the operator needs a copy of its input; for late binding by a dispatch, else by a copy command. */
static void test_in_place(D3D12_COMMAND_LIST_TYPE type, DML_EXECUTION_FLAGS flags)
{
    struct rig rig = foreign_rig(type);
    struct buffers x = make_buffers(&rig);
    const uint32_t length = COUNT;
    ID3D12Resource *lengths = buffer_of(&rig, &length, 4).buffer;
    IDMLCompiledOperator *add = compile(rig.dml, add_operator(rig.dml, COUNT), DML_EXECUTION_FLAG_NONE),
                         *op = compile(rig.dml, reverse_operator(rig.dml), flags);
    struct prepared prepared = prepare(&rig, op, 0, NULL);
    IDMLBindingTable *before = bound_table(&rig, add, 16, x.a, x.b, x.out),
                     *table = reverse_table(&rig, op, 32, &prepared, x.out, lengths, x.out),
                     *after = bound_table(&rig, add, 24, x.out, x.b, x.out);
    for (int round = 0; round < 3; round++) {
        record(&rig, add, before); /* 100 + 2 i */
        unordered_barrier(&rig);
        record(&rig, op, table); /* 100 + 2 (COUNT - 1 - i) */
        unordered_barrier(&rig);
        record(&rig, add, after); /* plus 100 + i */
        ok_hr(ID3D12GraphicsCommandList_Close(rig.q.list), S_OK);
        foreign_execute(&rig);
        foreign_execute(&rig);
        foreign_expect(&rig, x.out, COUNT, 200 + 2 * (COUNT - 1), -1);
        foreign_reopen(&rig);
    }
    ok_hr(dml_reason(&rig), S_OK);
    api_release(before);
    api_release(table);
    api_release(after);
    prepared_release(&prepared);
    api_release(op);
    api_release(add);
    api_release(lengths);
    release_buffers(&x);
    foreign_rig_destroy(&rig);
}

/* Copies of the application right before and after dispatches that copy: its transitions of unordered access order
 * shaders alone, and synchronisation validation, which does not see what shaders do at addresses, sees these. */
static void test_copies(D3D12_COMMAND_LIST_TYPE type)
{
    struct rig rig = foreign_rig_of(&(struct standin_options){ .interop = 2, .same_buffer = true }, type);
    struct buffers x = make_buffers(&rig);
    const uint32_t length = COUNT;
    ID3D12Resource *lengths = buffer_of(&rig, &length, 4).buffer;
    IDMLCompiledOperator *op = compile(rig.dml, reverse_operator(rig.dml), DML_EXECUTION_FLAG_NONE);
    struct prepared prepared = prepare(&rig, op, 0, NULL);
    IDMLBindingTable *table = reverse_table(&rig, op, 32, &prepared, x.out, lengths, x.out);
    ID3D12GraphicsCommandList_CopyBufferRegion(rig.q.list, x.out, 0, x.a, 0, BYTES);
    api_transition(&rig.q, x.out, D3D12_RESOURCE_STATE_COPY_DEST, D3D12_RESOURCE_STATE_UNORDERED_ACCESS);
    record(&rig, op, table);
    api_transition(&rig.q, x.out, D3D12_RESOURCE_STATE_UNORDERED_ACCESS, D3D12_RESOURCE_STATE_COPY_SOURCE);
    ID3D12GraphicsCommandList_CopyBufferRegion(rig.q.list, x.a, 0, x.out, 0, BYTES);
    api_transition(&rig.q, x.out, D3D12_RESOURCE_STATE_COPY_SOURCE, D3D12_RESOURCE_STATE_UNORDERED_ACCESS);
    record(&rig, op, table);
    api_transition(&rig.q, x.out, D3D12_RESOURCE_STATE_UNORDERED_ACCESS, D3D12_RESOURCE_STATE_COPY_DEST);
    ID3D12GraphicsCommandList_CopyBufferRegion(rig.q.list, x.out, 0, x.b, 0, BYTES);
    rig_run(&rig);
    foreign_expect(&rig, x.a, COUNT, COUNT - 1, -1);
    foreign_expect(&rig, x.out, COUNT, 100, 1);
    ok_hr(dml_reason(&rig), S_OK);
    api_release(table);
    prepared_release(&prepared);
    api_release(op);
    api_release(lengths);
    release_buffers(&x);
    foreign_rig_destroy(&rig);
}

/* Bindings before and after RecordDispatch, and between two executions of a closed list; by the same table, or another
 * one over the same descriptors. */
static void test_late_binding(D3D12_COMMAND_LIST_TYPE type)
{
    struct rig rig = foreign_rig(type);
    struct buffers x = make_buffers(&rig);
    IDMLCompiledOperator *op = compile(rig.dml, add_operator(rig.dml, COUNT), DML_EXECUTION_FLAG_DESCRIPTORS_VOLATILE);
    IDMLBindingTable *table = table_at(&rig, op, 5);
    bind_inputs(table, 2, (struct bound[]){ { x.a, 0, BYTES }, { x.b, 0, BYTES } });
    record(&rig, op, table);
    bind_outputs(table, 1, (struct bound[]){ { x.out, 0, BYTES } });
    ok_hr(ID3D12GraphicsCommandList_Close(rig.q.list), S_OK);
    foreign_execute(&rig);
    foreign_expect(&rig, x.out, COUNT, 100, 2);
    bind_inputs(table, 2, (struct bound[]){ { x.out, 0, BYTES }, { x.b, 0, BYTES } });
    bind_outputs(table, 1, (struct bound[]){ { x.a, 0, BYTES } });
    foreign_execute(&rig);
    foreign_expect(&rig, x.a, COUNT, 200, 3);
    api_release(table);
    table = bound_table(&rig, op, 5, x.b, x.b, x.out);
    foreign_execute(&rig);
    foreign_expect(&rig, x.out, COUNT, 200, 2);
    ok_hr(dml_reason(&rig), S_OK);
    foreign_reopen(&rig);
    /* The list is gone; with another operator the descriptors belong to that. */
    IDMLCompiledOperator *identity = compile(rig.dml, identity_operator(rig.dml, COUNT), DML_EXECUTION_FLAG_NONE);
    IDMLBindingTable *other = table_at(&rig, identity, 5);
    bind_inputs(other, 1, (struct bound[]){ { x.b, 0, BYTES } });
    bind_outputs(other, 1, (struct bound[]){ { x.out, 0, BYTES } });
    record(&rig, identity, other);
    rig_run(&rig);
    foreign_expect(&rig, x.out, COUNT, 100, 1);
    api_release(other);
    api_release(identity);
    api_release(table);
    api_release(op);
    release_buffers(&x);
    foreign_rig_destroy(&rig);
}

/* What an operator that is not compiled for it had when it was recorded stays, as with devices of libd3d12. */
static void test_captured(void)
{
    struct rig rig = foreign_rig(D3D12_COMMAND_LIST_TYPE_DIRECT);
    struct buffers x = make_buffers(&rig);
    IDMLCompiledOperator *op = compile(rig.dml, add_operator(rig.dml, COUNT), DML_EXECUTION_FLAG_NONE);
    IDMLBindingTable *table = bound_table(&rig, op, 5, x.a, x.b, x.out);
    record(&rig, op, table);
    bind_inputs(table, 2, (struct bound[]){ { x.b, 0, BYTES }, { x.b, 0, BYTES } });
    bind_outputs(table, 1, (struct bound[]){ { x.a, 0, BYTES } });
    unordered_barrier(&rig);
    record(&rig, op, table);
    rig_run(&rig);
    foreign_expect(&rig, x.out, COUNT, 100, 2);
    foreign_expect(&rig, x.a, COUNT, 200, 2);
    api_release(table);
    api_release(op);
    release_buffers(&x);
    foreign_rig_destroy(&rig);
}

/* Two lists with ranges of their own, in flight on two queues. */
static void test_two_queues(void)
{
    struct rig rig = foreign_rig(D3D12_COMMAND_LIST_TYPE_DIRECT);
    struct buffers x = make_buffers(&rig), y = make_buffers(&rig);
    struct api_queue first = rig.q, second = api_queue_of(rig.d3d, D3D12_COMMAND_LIST_TYPE_COMPUTE);
    IDMLCompiledOperator *op = compile(rig.dml, add_operator(rig.dml, COUNT), DML_EXECUTION_FLAG_NONE);
    IDMLBindingTable *a = bound_table(&rig, op, 0, x.a, x.b, x.out), *b = bound_table(&rig, op, 8, y.b, y.b, y.out);
    record(&rig, op, a);
    rig.q = second;
    record(&rig, op, b);
    rig.q = first;
    ok_hr(ID3D12GraphicsCommandList_Close(first.list), S_OK);
    ok_hr(ID3D12GraphicsCommandList_Close(second.list), S_OK);
    api_queue_execute(&first);
    api_queue_execute(&second);
    api_queue_wait(&second);
    api_queue_wait(&rig.q);
    foreign_expect(&rig, x.out, COUNT, 100, 2);
    foreign_expect(&rig, y.out, COUNT, 200, 2);
    foreign_reopen(&rig);
    api_release(a);
    api_release(b);
    api_queue_destroy(&second);
    api_release(op);
    release_buffers(&x);
    release_buffers(&y);
    foreign_rig_destroy(&rig);
}

static uint64_t resident_bytes(void)
{
    unsigned long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    need(file && fscanf(file, "%*u %llu", &pages) == 1);
    fclose(file);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Frames over few ranges, with new tables, bindings in turn and ranges that overlap: memory does not grow. */
static void test_flat_memory(uint32_t dispatches)
{
    enum { PER_LIST = 200 };
    struct rig rig = foreign_rig(D3D12_COMMAND_LIST_TYPE_DIRECT);
    struct buffers x = make_buffers(&rig);
    ID3D12Resource *more[20];
    IDMLCompiledOperator *op = compile(rig.dml, add_operator(rig.dml, COUNT), DML_EXECUTION_FLAG_NONE);
    uint64_t before = 0;
    double seconds = 0;
    for (int i = 0; i < 20; i++)
        more[i] = api_buffer(rig.d3d, D3D12_HEAP_TYPE_DEFAULT, BYTES);
    for (uint32_t done = 0; done < dispatches; done += PER_LIST) {
        if (done == 4 * PER_LIST)
            before = resident_bytes();
        for (uint32_t i = 0; i < PER_LIST; i++) {
            IDMLBindingTable *table = bound_table(&rig, op, (done + i) * 2 % 250, x.a, x.b, more[(done + 3 * i) % 20]);
            const double start = api_seconds();
            record(&rig, op, table);
            seconds += api_seconds() - start;
            api_release(table);
        }
        ok_hr(ID3D12GraphicsCommandList_Close(rig.q.list), S_OK); /* most of it is not to be executed */
        foreign_reopen(&rig);
    }
    const uint64_t after = resident_bytes();
    printf("RecordDispatch of an addition: %.2f us; %lld KiB more after %u of them\n", seconds / dispatches * 1e6,
           ((long long)after - (long long)before) / 1024, dispatches);
#if !defined(__SANITIZE_ADDRESS__) /* which keeps what was freed for a while */
    ok(after < before + (1 << 20), "memory grew by %llu bytes", (unsigned long long)(after - before));
#endif
    for (int i = 0; i < 20; i++)
        api_release(more[i]);
    api_release(op);
    release_buffers(&x);
    foreign_rig_destroy(&rig);
}

/* What was recorded does not keep an operator that the application has released, nor its memory. */
static void test_released_operators(void)
{
    struct rig rig = foreign_rig(D3D12_COMMAND_LIST_TYPE_DIRECT);
    struct buffers x = make_buffers(&rig);
    const uint32_t before = api_live_objects("libdirectml.so");
    for (UINT i = 0; i < 10; i++) {
        IDMLCompiledOperator *op = compile(rig.dml, add_operator(rig.dml, COUNT),
                                           i % 2 ? DML_EXECUTION_FLAG_DESCRIPTORS_VOLATILE : DML_EXECUTION_FLAG_NONE);
        IDMLBindingTable *table = bound_table(&rig, op, 5 * i, x.a, x.b, x.out);
        record(&rig, op, table);
        rig_run(&rig);
        api_release(table);
        api_release(op);
        ok(api_live_objects("libdirectml.so") == before, "%u objects more",
           api_live_objects("libdirectml.so") - before);
    }
    foreign_expect(&rig, x.out, COUNT, 100, 2);
    release_buffers(&x);
    foreign_rig_destroy(&rig);
}

/* A closed list cannot be made to copy an input first: that is an error, once the bindings are complete. */
static void test_late_conflict(void)
{
    struct rig rig = foreign_rig(D3D12_COMMAND_LIST_TYPE_DIRECT);
    struct buffers x = make_buffers(&rig);
    const uint32_t length = COUNT;
    ID3D12Resource *lengths = buffer_of(&rig, &length, 4).buffer;
    IDMLCompiledOperator *op = compile(rig.dml, reverse_operator(rig.dml), DML_EXECUTION_FLAG_DESCRIPTORS_VOLATILE);
    struct prepared prepared = prepare(&rig, op, 0, NULL);
    IDMLBindingTable *table = reverse_table(&rig, op, 32, &prepared, x.a, lengths, x.out);
    record(&rig, op, table);
    ok_hr(ID3D12GraphicsCommandList_Close(rig.q.list), S_OK);
    foreign_execute(&rig);
    foreign_expect(&rig, x.out, COUNT, COUNT - 1, -1);
    /* The other way round: in between, the input is the output. */
    capture_begin();
    bind_inputs(table, 2, (struct bound[]){ { x.out, 0, BYTES }, { lengths, 0, 4 } });
    bind_outputs(table, 1, (struct bound[]){ { x.b, 0, BYTES } });
    foreign_execute(&rig);
    api_release(table);
    table = reverse_table(&rig, op, 64, &prepared, x.a, lengths, x.out);
    const char *said = capture_text();
    ok(!*said, "said: %s", said);
    foreign_expect(&rig, x.b, COUNT, 0, 1);
    /* In place: the list cannot do it, and the next call says so. */
    api_release(table);
    table = reverse_table(&rig, op, 32, &prepared, x.b, lengths, x.b);
    capture_begin();
    api_release(reverse_table(&rig, op, 64, &prepared, x.a, lengths, x.out));
    said = capture_text();
    ok(strstr(said, "without a copy"), "said: %s", said);
    foreign_reopen(&rig);
    record(&rig, op, table);
    rig_run(&rig);
    foreign_expect(&rig, x.b, COUNT, COUNT - 1, -1);
    api_release(table);
    prepared_release(&prepared);
    api_release(op);
    api_release(lengths);
    release_buffers(&x);
    foreign_rig_destroy(&rig);
}

struct recorder_thread {
    struct rig rig;
    struct buffers buffers;
    IDMLCompiledOperator *op;
    UINT descriptor;
};

static void *record_frames(void *argument)
{
    struct recorder_thread *thread = argument;
    struct rig *rig = &thread->rig;
    for (int frame = 0; frame < 20; frame++) {
        IDMLBindingTable *table =
            bound_table(rig, thread->op, thread->descriptor, thread->buffers.a, thread->buffers.b, thread->buffers.out);
        for (int i = 0; i < 5; i++) {
            record(rig, thread->op, table);
            unordered_barrier(rig);
        }
        api_release(table);
        rig_run(rig);
    }
    return NULL;
}

static void test_threads(void)
{
    struct rig rig = foreign_rig(D3D12_COMMAND_LIST_TYPE_DIRECT);
    struct recorder_thread threads[2];
    pthread_t ids[2];
    for (UINT i = 0; i < 2; i++) {
        threads[i].buffers = make_buffers(&rig);
        threads[i].descriptor = 8 * i;
        threads[i].op = compile(rig.dml, add_operator(rig.dml, COUNT), DML_EXECUTION_FLAG_NONE);
    }
    threads[0].rig = threads[1].rig = rig;
    threads[1].rig.q = api_queue_of(rig.d3d, D3D12_COMMAND_LIST_TYPE_COMPUTE);
    for (int i = 0; i < 2; i++)
        need(!pthread_create(&ids[i], NULL, record_frames, &threads[i]));
    for (int i = 0; i < 2; i++)
        need(!pthread_join(ids[i], NULL));
    rig.q = threads[0].rig.q; /* whose fence has gone on */
    for (int i = 0; i < 2; i++) {
        foreign_expect(&rig, threads[i].buffers.out, COUNT, 100, 2);
        api_release(threads[i].op);
        release_buffers(&threads[i].buffers);
    }
    ok_hr(dml_reason(&rig), S_OK);
    api_queue_destroy(&threads[1].rig.q);
    foreign_rig_destroy(&rig);
}

/* Two devices over one use each other's pipelines, and each its own operators and ranges. */
static void test_two_devices(void)
{
    struct rig rig = foreign_rig(D3D12_COMMAND_LIST_TYPE_DIRECT), second = rig;
    struct buffers x = make_buffers(&rig);
    IDMLCompiledOperator *op = compile(rig.dml, add_operator(rig.dml, COUNT), DML_EXECUTION_FLAG_NONE);
    second.dml = rig_dml_device(rig.d3d, DML_CREATE_DEVICE_FLAG_NONE);
    ok_hr(IDMLDevice1_CreateCommandRecorder(second.dml, &IID_IDMLCommandRecorder, (void **)&second.recorder), S_OK);
    IDMLCompiledOperator *other = compile(second.dml, add_operator(second.dml, COUNT), DML_EXECUTION_FLAG_NONE);
    IDMLBindingTable *a = bound_table(&rig, op, 0, x.a, x.b, x.out),
                     *b = bound_table(&second, other, 3, x.out, x.a, x.b);
    record(&rig, op, a);
    unordered_barrier(&rig);
    record(&second, other, b);
    rig_run(&rig);
    foreign_expect(&rig, x.b, COUNT, 100, 3);
    /* An error removes one of them. */
    bind_outputs(b, 1, (struct bound[]){ { x.b, 0, BYTES + 4 } });
    ok_hr(dml_reason(&second), E_INVALIDARG);
    ok_hr(dml_reason(&rig), S_OK);
    api_release(a);
    api_release(b);
    api_release(other);
    api_release(second.recorder);
    api_release(second.dml);
    a = bound_table(&rig, op, 0, x.a, x.a, x.out);
    record(&rig, op, a);
    rig_run(&rig);
    foreign_expect(&rig, x.out, COUNT, 0, 2);
    api_release(a);
    api_release(op);
    release_buffers(&x);
    foreign_rig_destroy(&rig);
}

int main(int argc, char **argv)
{
    const struct standin_options newest = { .interop = 2 }, older = { .interop = 1, .same_buffer = true };
    const D3D12_COMMAND_LIST_TYPE types[] = { D3D12_COMMAND_LIST_TYPE_DIRECT, D3D12_COMMAND_LIST_TYPE_COMPUTE };
    api_begin();
    setenv("ANYDML_LOG", "error", 1);
    for (int i = 0; i < 2; i++) {
        test_add(&newest, types[i]);
        test_add(&older, types[i]);
        test_initializer(types[i], true);
        test_initializer(types[i], false);
        test_state(types[i]);
        test_in_place(types[i], DML_EXECUTION_FLAG_NONE);
        test_in_place(types[i], DML_EXECUTION_FLAG_DESCRIPTORS_VOLATILE);
        test_copies(types[i]);
        test_late_binding(types[i]);
    }
    test_captured();
    test_two_queues();
    test_two_devices();
    test_threads();
    test_released_operators();
    test_late_conflict();
    test_flat_memory(argc > 1 ? (uint32_t)atoi(argv[1]) : 20000);
    return api_end();
}
