/* SPDX-License-Identifier: Apache-2.0 */
/* A compiled graph of many dispatches, executed repeatedly with other bindings: results, memory, threads, and removal
 * at every step. dml_replay [EXECUTIONS]: that many, by default 2000, or 400 with sanitizers. */
#include "dml_build.h"

#include <anydml_dxcore.h>

#include <limits.h>
#include <pthread.h>

/* On devices, each addition is a dispatch, and each needs the one before it. */
enum { STEPS = 20, COUNT = 8, SETS = 5, IN_FLIGHT = 10, THREADS = 8, TENSORS_MAX = 24 };

static int executions;

/* ---- the graph: out = x + STEPS * y ---- */

static IDMLCompiledOperator *chain(IDMLDevice1 *dml)
{
    struct build b;
    build_begin(&b, dml, 2, 1);
    for (UINT i = 0; i < STEPS; i++) {
        add_node(&b, add_operator(dml, COUNT), "step");
        if (i)
            add_middle(&b, i - 1, 0, i, 0);
        add_input(&b, 1, i, 1);
    }
    add_input(&b, 0, 0, 0);
    add_output(&b, STEPS - 1, 0, 0);
    return build_end(&b);
}

/* The bindings of one execution; its output is between bytes that must not change. */
struct set {
    ID3D12Resource *x, *y, *out;
    float x0, y0;
};

struct client {
    struct rig rig;
    IDMLCompiledOperator *op;
    ID3D12Resource *temporaries[IN_FLIGHT]; /* NULL: none needed */
    struct set sets[SETS];
    pthread_t thread;
    int executions;
};

static void client_prepare(struct client *c, int seed)
{
    const DML_BINDING_PROPERTIES props = properties(c->op);
    for (int i = 0; i < IN_FLIGHT; i++)
        c->temporaries[i] = props.TemporaryResourceSize
                                ? api_buffer(c->rig.d3d, D3D12_HEAP_TYPE_DEFAULT, props.TemporaryResourceSize)
                                : NULL;
    for (int i = 0; i < SETS; i++) {
        struct set *set = &c->sets[i];
        set->x0 = (float)(seed * 10 + i);
        set->y0 = (float)(i + 1);
        set->x = buffer_f32(&c->rig, COUNT, set->x0, 1);
        set->y = buffer_f32(&c->rig, COUNT, set->y0, 0);
        set->out = buffer_f32(&c->rig, 3 * COUNT, -7, 0);
    }
}

static void client_release(struct client *c)
{
    for (int i = 0; i < IN_FLIGHT; i++)
        if (c->temporaries[i])
            api_release(c->temporaries[i]);
    for (int i = 0; i < SETS; i++) {
        api_release(c->sets[i].x);
        api_release(c->sets[i].y);
        api_release(c->sets[i].out);
    }
}

static void client_record(struct client *c, int slot, const struct set *set)
{
    IDMLBindingTable *table = table_at(&c->rig, c->op, (UINT)slot * properties(c->op).RequiredDescriptorCount);
    bind_inputs(table, 2, (struct bound[]){ { set->x, 0, COUNT * 4 }, { set->y, 0, COUNT * 4 } });
    bind_outputs(table, 1, &(struct bound){ set->out, COUNT * 4, COUNT * 4 });
    if (c->temporaries[slot])
        bind_temporary(table, c->temporaries[slot], 0, properties(c->op).TemporaryResourceSize);
    record(&c->rig, c->op, table);
    api_release(table);
}

static void client_expect(struct client *c, const struct set *set)
{
    float want[3 * COUNT];
    for (int i = 0; i < 3 * COUNT; i++)
        want[i] = i / COUNT == 1 ? set->x0 + (float)(i % COUNT) + STEPS * set->y0 : -7;
    expect_f32(&c->rig, set->out, 0, want, 3 * COUNT);
}

/* Lists of one dispatch each, several in flight, each time with other buffers. */
static void client_run(struct client *c)
{
    ID3D12CommandAllocator *allocators[IN_FLIGHT];
    ID3D12GraphicsCommandList *lists[IN_FLIGHT], *own = c->rig.q.list;
    const D3D12_COMMAND_LIST_TYPE type = D3D12_COMMAND_LIST_TYPE_COMPUTE;
    for (int i = 0; i < IN_FLIGHT; i++) {
        ok_hr(
            ID3D12Device_CreateCommandAllocator(c->rig.d3d, type, &IID_ID3D12CommandAllocator, (void **)&allocators[i]),
            S_OK);
        need(allocators[i]);
        ok_hr(ID3D12Device_CreateCommandList(c->rig.d3d, 0, type, allocators[i], NULL, &IID_ID3D12GraphicsCommandList,
                                             (void **)&lists[i]),
              S_OK);
        need(lists[i]);
    }
    for (int done = 0; done < c->executions;) {
        for (int i = 0; i < IN_FLIGHT; i++, done++) {
            c->rig.q.list = lists[i];
            rig_set_heap(&c->rig);
            client_record(c, i, &c->sets[done % SETS]);
            ok_hr(ID3D12GraphicsCommandList_Close(lists[i]), S_OK);
            api_queue_execute(&c->rig.q);
        }
        api_queue_wait(&c->rig.q);
        for (int i = 0; i < IN_FLIGHT; i++) {
            ok_hr(ID3D12CommandAllocator_Reset(allocators[i]), S_OK);
            ok_hr(ID3D12GraphicsCommandList_Reset(lists[i], allocators[i], NULL), S_OK);
        }
    }
    c->rig.q.list = own;
    for (int i = 0; i < IN_FLIGHT; i++) {
        api_release(lists[i]);
        api_release(allocators[i]);
    }
    for (int i = 0; i < SETS; i++)
        client_expect(c, &c->sets[i]);
}

/* ---- memory ---- */

/* Sanitizers keep freed memory. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static const bool exact_memory = false;
#else
static const bool exact_memory = true;
#endif

/* The adapter's reported usage; the whole machine's with drivers of CPUs. */
static uint64_t device_bytes(ID3D12Device *d3d)
{
    struct DXCoreAdapterMemoryBudget budget = { 0 };
    DXCoreAdapterMemoryBudgetNodeSegmentGroup group = { 0, DXCoreSegmentGroup_Local };
    IDXCoreAdapterFactory *factory = NULL;
    IDXCoreAdapter *adapter = NULL;
    LUID luid = ID3D12Device_GetAdapterLuid(d3d);
    ok_hr(DXCoreCreateAdapterFactory(&IID_IDXCoreAdapterFactory, (void **)&factory), S_OK);
    need(factory);
    ok_hr(IDXCoreAdapterFactory_GetAdapterByLuid(factory, &luid, &IID_IDXCoreAdapter, (void **)&adapter), S_OK);
    need(adapter);
    ok_hr(IDXCoreAdapter_QueryState(adapter, DXCoreAdapterState_AdapterMemoryBudget, sizeof(group), &group,
                                    sizeof(budget), &budget),
          S_OK);
    ok(budget.budget > 0, "a budget of 0 bytes");
    bool counted = IDXCoreAdapter_IsPropertySupported(adapter, DXCoreAdapterProperty_IsHardware);
    ok_hr(IDXCoreAdapter_GetProperty(adapter, DXCoreAdapterProperty_IsHardware, sizeof(counted), &counted), S_OK);
    api_release(adapter);
    api_release(factory);
    return counted && api_is("vulkan") ? budget.currentUsage : 0;
}

static void test_many(void)
{
    struct client c = { .rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE), .executions = executions / 10 };
    c.op = chain(c.rig.dml);
    client_prepare(&c, 1);
    struct prepared prepared = prepare(&c.rig, c.op, 0, NULL);
    client_run(&c);
    /* Drivers grow their pools of command memory for a while; a leak grows in every part. */
    const uint64_t device_before = device_bytes(c.rig.d3d);
    long least = LONG_MAX;
    c.executions = executions * 3 / 10;
    for (int part = 0; part < 3; part++) {
        const long before = (long)api_resident_bytes();
        client_run(&c);
        const long grown = (long)api_resident_bytes() - before;
        least = grown < least ? grown : least;
    }
    const uint64_t device_after = device_bytes(c.rig.d3d);
    ok(!exact_memory || least < 1 << 20, "each %d executions took %ld bytes or more", c.executions, least);
    ok(device_after <= device_before + (4 << 20), "device memory grew from %llu to %llu bytes",
       (unsigned long long)device_before, (unsigned long long)device_after);
    ok_hr(dml_reason(&c.rig), S_OK);
    prepared_release(&prepared);
    client_release(&c);
    api_release(c.op);
    rig_destroy(&c.rig);
}

/* ---- threads: one compiled operator and one device, a queue each ---- */

static void *client_main(void *context)
{
    client_run(context);
    return NULL;
}

static void test_threads(void)
{
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    IDMLCompiledOperator *op = chain(rig.dml);
    struct prepared prepared = prepare(&rig, op, 0, NULL);
    struct client clients[THREADS] = { 0 };
    for (int i = 0; i < THREADS; i++) {
        clients[i] = (struct client){ .rig = rig, .op = op, .executions = executions / THREADS };
        clients[i].rig.q = api_queue_create(rig.d3d);
        clients[i].rig.heap = rig_heap(rig.d3d, DML_TEST_DESCRIPTORS, true);
        rig_set_heap(&clients[i].rig);
        client_prepare(&clients[i], i);
    }
    for (int i = 0; i < THREADS; i++)
        need(!pthread_create(&clients[i].thread, NULL, client_main, &clients[i]));
    for (int i = 0; i < THREADS; i++)
        pthread_join(clients[i].thread, NULL);
    ok_hr(dml_reason(&rig), S_OK);
    for (int i = 0; i < THREADS; i++) {
        client_release(&clients[i]);
        api_release(clients[i].rig.heap);
        api_queue_destroy(&clients[i].rig.q);
    }
    prepared_release(&prepared);
    api_release(op);
    rig_destroy(&rig);
}

/* ---- removal ---- */

enum step { CREATED, COMPILED, INITIALIZED, BOUND, RECORDED, CLOSED, EXECUTED, SIGNALLED, WAITED, STEPS_OF_REMOVAL };

/* Removes the device after the step, and continues as a program that has not noticed. */
static void test_removed(enum step when)
{
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    struct client c = { .rig = rig };
    IDMLCompiledOperator *op = chain(rig.dml);
    c.op = op;
    client_prepare(&c, 3);
    struct prepared prepared = prepare(&rig, op, 0, NULL);
#define REMOVE(step)                                                                                                   \
    if (when == (step))                                                                                                \
    ID3D12Device5_RemoveDevice((ID3D12Device5 *)rig.d3d)
    REMOVE(CREATED);
    IDMLCompiledOperator *other = NULL;
    IDMLOperator *add = when > CREATED ? add_operator(rig.dml, COUNT) : NULL;
    if (add) {
        IDMLDevice1_CompileOperator(rig.dml, add, 0, &IID_IDMLCompiledOperator, (void **)&other);
        api_release(add);
    }
    REMOVE(COMPILED);
    REMOVE(INITIALIZED);
    IDMLBindingTable *table = NULL;
    DML_BINDING_TABLE_DESC desc = { (IDMLDispatchable *)op, rig_cpu(&rig, 0), rig_gpu(&rig, 0),
                                    properties(op).RequiredDescriptorCount };
    HRESULT hr = IDMLDevice1_CreateBindingTable(rig.dml, &desc, &IID_IDMLBindingTable, (void **)&table);
    ok(hr == (when > INITIALIZED ? S_OK : DXGI_ERROR_DEVICE_REMOVED), "step %d: 0x%08x", (int)when, (unsigned)hr);
    if (table) {
        bind_inputs(table, 2, (struct bound[]){ { c.sets[0].x, 0, COUNT * 4 }, { c.sets[0].y, 0, COUNT * 4 } });
        bind_outputs(table, 1, &(struct bound){ c.sets[0].out, COUNT * 4, COUNT * 4 });
        bind_prepared(table, &prepared);
        REMOVE(BOUND);
        for (int i = 0; i < 3; i++)
            record(&rig, op, table);
    }
    REMOVE(RECORDED);
    ID3D12GraphicsCommandList_Close(rig.q.list);
    REMOVE(CLOSED);
    for (int i = 0; i < 3; i++)
        api_queue_execute(&rig.q);
    REMOVE(EXECUTED);
    ID3D12CommandQueue_Signal(rig.q.queue, rig.q.fence, ++rig.q.value);
    REMOVE(SIGNALLED);
    ID3D12Fence_SetEventOnCompletion(rig.q.fence, rig.q.value, NULL);
    REMOVE(WAITED);
#undef REMOVE
    ok(FAILED(ID3D12Device_GetDeviceRemovedReason(rig.d3d)), "step %d: the device lives", (int)when);
    ok(FAILED(dml_reason(&rig)), "step %d: the DirectML device lives", (int)when);
    if (table)
        api_release(table);
    if (other)
        api_release(other);
    prepared_release(&prepared);
    client_release(&c);
    api_release(op);
    rig_destroy(&rig);
}

/* The process's next device works. */
static void test_removal(void)
{
    for (int i = 0; i < STEPS_OF_REMOVAL; i++)
        test_removed((enum step)i);
    struct client c = { .rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE), .executions = IN_FLIGHT };
    c.op = chain(c.rig.dml);
    client_prepare(&c, 2);
    struct prepared prepared = prepare(&c.rig, c.op, 0, NULL);
    client_run(&c);
    ok_hr(dml_reason(&c.rig), S_OK);
    prepared_release(&prepared);
    client_release(&c);
    api_release(c.op);
    rig_destroy(&c.rig);
}

/* ---- many buffers ---- */

/* The sum of `count` inputs, two at a time: passes make one op of as many as fit. */
static void test_sum(UINT count)
{
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    struct build b;
    struct bound inputs[TENSORS_MAX];
    float want[COUNT] = { 0 };
    build_begin(&b, rig.dml, count, 1);
    for (UINT i = 0; i + 1 < count; i++) {
        add_node(&b, add_operator(rig.dml, COUNT), NULL);
        add_input(&b, i + 1, i, 1);
        if (i)
            add_middle(&b, i - 1, 0, i, 0);
    }
    add_input(&b, 0, 0, 0);
    add_output(&b, count - 2, 0, 0);
    IDMLCompiledOperator *op = build_end(&b);
    for (UINT i = 0; i < count; i++) {
        inputs[i] = (struct bound){ buffer_f32(&rig, COUNT, (float)(i * i), (float)i), 0, COUNT * 4 };
        for (UINT k = 0; k < COUNT; k++)
            want[k] += (float)(i * i + i * k);
    }
    ID3D12Resource *out = buffer_f32(&rig, COUNT, -1, 0);
    struct prepared prepared = prepare(&rig, op, 0, NULL);
    IDMLBindingTable *table = table_at(&rig, op, 0);
    bind_inputs(table, count, inputs);
    bind_outputs(table, 1, &(struct bound){ out, 0, COUNT * 4 });
    bind_prepared(table, &prepared);
    record(&rig, op, table);
    rig_run(&rig);
    expect_f32(&rig, out, 0, want, COUNT);
    ok_hr(dml_reason(&rig), S_OK);
    for (UINT i = 0; i < count; i++)
        api_release(inputs[i].buffer);
    api_release(out);
    api_release(table);
    prepared_release(&prepared);
    api_release(op);
    rig_destroy(&rig);
}

/* JOIN of `count` tensors (split: SPLIT into them) along the last dimension, in one operator. */
static void test_join(UINT count, bool split)
{
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    struct tensor parts[TENSORS_MAX], whole;
    DML_TENSOR_DESC part_descs[TENSORS_MAX];
    struct bound bound[TENSORS_MAX], all;
    float want[TENSORS_MAX * 2];
    for (UINT i = 0; i < count; i++) {
        part_descs[i] = *tensor_f32(&parts[i], 1, 1, 1, 2, DML_TENSOR_FLAG_NONE);
        bound[i] = (struct bound){ buffer_f32(&rig, 2, split ? -1 : (float)(10 * i), split ? 0 : 1), 0, 8 };
        want[2 * i] = (float)(10 * i);
        want[2 * i + 1] = (float)(10 * i + 1);
    }
    const DML_TENSOR_DESC *whole_desc = tensor_f32(&whole, 1, 1, 1, 2 * count, DML_TENSOR_FLAG_NONE);
    DML_JOIN_OPERATOR_DESC join = { count, part_descs, whole_desc, 3 };
    DML_SPLIT_OPERATOR_DESC cut = { whole_desc, count, part_descs, 3 };
    all = buffer_of(&rig, want, (UINT64)count * 8);
    if (!split)
        api_write(&rig.q, all.buffer, 0, (float[2 * TENSORS_MAX]){ 0 }, count * 8), rig_set_heap(&rig);
    IDMLOperator *made =
        split ? make_operator(rig.dml, DML_OPERATOR_SPLIT, &cut) : make_operator(rig.dml, DML_OPERATOR_JOIN, &join);
    IDMLCompiledOperator *op = compile(rig.dml, made, DML_EXECUTION_FLAG_NONE);
    struct prepared prepared = prepare(&rig, op, 0, NULL);
    IDMLBindingTable *table = table_at(&rig, op, 0);
    bind_inputs(table, split ? 1 : count, split ? &all : bound);
    bind_outputs(table, split ? count : 1, split ? bound : &all);
    bind_prepared(table, &prepared);
    record(&rig, op, table);
    rig_run(&rig);
    for (UINT i = 0; split && i < count; i++)
        expect_f32(&rig, bound[i].buffer, 0, &want[2 * i], 2);
    if (!split)
        expect_f32(&rig, all.buffer, 0, want, 2 * count);
    ok_hr(dml_reason(&rig), S_OK);
    for (UINT i = 0; i < count; i++)
        api_release(bound[i].buffer);
    api_release(all.buffer);
    api_release(table);
    prepared_release(&prepared);
    api_release(op);
    rig_destroy(&rig);
}

int main(int argc, char **argv)
{
    executions = argc > 1 ? (int)strtol(argv[1], NULL, 10) : exact_memory ? 2000 : 400;
    need(executions >= 100);
    api_small_pages();
    api_begin();
    for (UINT count = 14; count <= 17; count++)
        rig_part(test_sum(count));
    rig_part(test_join(TENSORS_MAX, false));
    rig_part(test_join(TENSORS_MAX, true));
    setenv("ANYDML_DISABLE_PASS", "fuse_map", 1);
    rig_part(test_many());
    rig_part(test_threads());
    rig_part(test_removal());
    ok(!rig_parts_skipped, "%d parts found no shader", rig_parts_skipped);
    return rig_end();
}
