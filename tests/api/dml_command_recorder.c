/* SPDX-License-Identifier: Apache-2.0 */
/* IDMLCommandRecorder and execution: numbers, re-execution, late binding, lifetimes, refusals. */
#include "dml_test.h"

static const float ramp[8] = { 0, 1, 2, 3, 4, 5, 6, 7 }, doubled[8] = { 0, 2, 4, 6, 8, 10, 12, 14 };

static void test_identity(void)
{
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    IDMLCompiledOperator *op = compile(rig.dml, identity_operator(rig.dml, 8), DML_EXECUTION_FLAG_NONE);
    struct prepared prepared = prepare(&rig, op, 0, NULL);
    ID3D12Resource *in = buffer_f32(&rig, 8, 0, 1), *out = buffer_f32(&rig, 12, -1, 0);
    IDMLBindingTable *table = table_at(&rig, op, 0);
    bind_inputs(table, 1, &(struct bound){ in, 0, 32 });
    bind_outputs(table, 1, &(struct bound){ out, 16, 32 });
    bind_prepared(table, &prepared);
    record(&rig, op, table);
    rig_run(&rig);
    const float guarded[12] = { -1, -1, -1, -1, 0, 1, 2, 3, 4, 5, 6, 7 };
    expect_f32(&rig, out, 0, guarded, 12);
    ok_hr(dml_reason(&rig), S_OK);
    api_release(table);
    api_release(in);
    api_release(out);
    prepared_release(&prepared);
    api_release(op);
    rig_destroy(&rig);
}

/* A table released or reset for another operator, right after recording, does not affect the recorded dispatch. */
static void test_table_independent(void)
{
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    IDMLCompiledOperator *add = compile(rig.dml, add_operator(rig.dml, 8), DML_EXECUTION_FLAG_NONE);
    IDMLCompiledOperator *identity = compile(rig.dml, identity_operator(rig.dml, 8), DML_EXECUTION_FLAG_NONE);
    struct prepared p_add = prepare(&rig, add, 0, NULL), p_identity = prepare(&rig, identity, 0, NULL);
    ID3D12Resource *in = buffer_f32(&rig, 8, 0, 1), *sum = buffer_f32(&rig, 8, -1, 0),
                   *copy = buffer_f32(&rig, 8, -1, 0);
    IDMLBindingTable *table = table_at(&rig, add, 0);
    bind_inputs(table, 2, (struct bound[]){ { in, 0, 32 }, { in, 0, 32 } });
    bind_outputs(table, 1, &(struct bound){ sum, 0, 32 });
    bind_prepared(table, &p_add);
    record(&rig, add, table);
    DML_BINDING_TABLE_DESC next = { (IDMLDispatchable *)identity, rig_cpu(&rig, 16), rig_gpu(&rig, 16),
                                    properties(identity).RequiredDescriptorCount };
    ok_hr(IDMLBindingTable_Reset(table, &next), S_OK);
    bind_inputs(table, 1, &(struct bound){ in, 0, 32 });
    bind_outputs(table, 1, &(struct bound){ copy, 0, 32 });
    bind_prepared(table, &p_identity);
    record(&rig, identity, table);
    ok(!api_release(table), "the table has references left");
    rig_run(&rig);
    expect_f32(&rig, sum, 0, doubled, 8);
    expect_f32(&rig, copy, 0, ramp, 8);
    api_release(in);
    api_release(sum);
    api_release(copy);
    prepared_release(&p_add);
    prepared_release(&p_identity);
    api_release(add);
    api_release(identity);
    rig_destroy(&rig);
}

/* SizeInBytes 0 everywhere: inputs, outputs, owned weights, the temporary and the persistent resource. */
static void test_sizes_to_the_end(void)
{
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    IDMLCompiledOperator *op = compile(rig.dml, gemm_operator(rig.dml, 2, 2, 2, DML_TENSOR_FLAG_OWNED_BY_DML), 0);
    IDMLOperatorInitializer *initializer = make_initializer(rig.dml, 1, &op);
    DML_BINDING_PROPERTIES props = properties(op);
    ID3D12Resource *a = buffer_f32(&rig, 8, -3, 1), *b = buffer_f32(&rig, 4, 2, 0), *out = buffer_f32(&rig, 8, -1, 0);
    ID3D12Resource *state = api_buffer(rig.d3d, D3D12_HEAP_TYPE_DEFAULT, props.PersistentResourceSize);
    ID3D12Resource *temporary = api_buffer(rig.d3d, D3D12_HEAP_TYPE_DEFAULT, props.TemporaryResourceSize + 4);
    IDMLBindingTable *table = table_at(&rig, initializer, 0);
    bind_owned(table, 3, (struct bound[]){ { NULL, 0, 0 }, { b, 0, 0 }, { NULL, 0, 0 } });
    bind_outputs(table, 1, &(struct bound){ state, 0, 0 });
    record(&rig, initializer, table);
    api_release(table);
    table = table_at(&rig, op, 0);
    bind_inputs(table, 3, (struct bound[]){ { a, 16, 0 }, { NULL, 0, 0 }, { NULL, 0, 0 } });
    bind_outputs(table, 1, &(struct bound){ out, 16, 0 });
    bind_temporary(table, temporary, 0, 0);
    bind_persistent(table, state, 0, 0);
    record(&rig, op, table);
    rig_run(&rig);
    expect_f32(&rig, out, 0, (const float[]){ -1, -1, -1, -1, 6, 6, 14, 14 }, 8);
    ok_hr(dml_reason(&rig), S_OK);
    api_release(table);
    api_release(initializer);
    api_release(op);
    api_release(a);
    api_release(b);
    api_release(out);
    api_release(state);
    api_release(temporary);
    rig_destroy(&rig);
}

/* One range of descriptors serves several dispatches before the list is executed, by separate tables or by one that is
 * rebound: each dispatch has the bindings of its RecordDispatch. */
static void test_shared_range(bool one_table)
{
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    IDMLCompiledOperator *op = compile(rig.dml, identity_operator(rig.dml, 8), DML_EXECUTION_FLAG_NONE);
    struct prepared prepared = prepare(&rig, op, 0, NULL);
    ID3D12Resource *ins[3], *outs[3];
    IDMLBindingTable *table = NULL;
    for (int i = 0; i < 3; i++) {
        ins[i] = buffer_f32(&rig, 8, 10 * (float)i, 1);
        outs[i] = buffer_f32(&rig, 8, -1, 0);
    }
    for (int i = 0; i < 3; i++) {
        if (!table || !one_table)
            table = table_at(&rig, op, 0);
        bind_inputs(table, 1, &(struct bound){ ins[i], 0, 32 });
        bind_outputs(table, 1, &(struct bound){ outs[i], 0, 32 });
        bind_prepared(table, &prepared);
        record(&rig, op, table);
        if (!one_table)
            api_release(table);
    }
    if (one_table) /* bindings after the last RecordDispatch affect none of them */
        bind_outputs(table, 1, &(struct bound){ ins[0], 0, 32 });
    rig_run(&rig);
    for (int i = 0; i < 3; i++) {
        float want[8];
        for (int k = 0; k < 8; k++)
            want[k] = 10 * (float)i + (float)k;
        expect_f32(&rig, ins[i], 0, want, 8);
        expect_f32(&rig, outs[i], 0, want, 8);
        api_release(ins[i]);
        api_release(outs[i]);
    }
    ok_hr(dml_reason(&rig), S_OK);
    if (one_table)
        api_release(table);
    prepared_release(&prepared);
    api_release(op);
    rig_destroy(&rig);
}

/* Initializers of several operators and their executions in one list, all by one range of descriptors. */
static void test_shared_range_initializers(void)
{
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    IDMLOperatorInitializer *initializers[2];
    IDMLCompiledOperator *ops[2];
    ID3D12Resource *weights[2], *outs[2], *in = buffer_f32(&rig, 4, 1, 1);
    struct prepared prepared[2];
    for (int i = 0; i < 2; i++) {
        ops[i] = compile(rig.dml, gemm_operator(rig.dml, 2, 2, 2, DML_TENSOR_FLAG_OWNED_BY_DML), 0);
        initializers[i] = make_initializer(rig.dml, 1, &ops[i]);
        weights[i] = buffer_f32(&rig, 4, (float)i, 0);
        prepared[i] = (struct prepared){ .props = properties(ops[i]) };
        prepared[i].persistent = api_buffer(rig.d3d, D3D12_HEAP_TYPE_DEFAULT, prepared[i].props.PersistentResourceSize);
        if (prepared[i].props.TemporaryResourceSize)
            prepared[i].temporary =
                api_buffer(rig.d3d, D3D12_HEAP_TYPE_DEFAULT, prepared[i].props.TemporaryResourceSize);
        outs[i] = buffer_f32(&rig, 4, -1, 0);
    }
    for (int i = 0; i < 4; i++) {
        const struct prepared *own = &prepared[i % 2];
        void *dispatchable = i < 2 ? (void *)initializers[i] : (void *)ops[i - 2];
        IDMLBindingTable *table = table_at(&rig, dispatchable, 0);
        if (i < 2) {
            bind_owned(table, 3, (struct bound[]){ { NULL, 0, 0 }, { weights[i], 0, 16 }, { NULL, 0, 0 } });
            bind_outputs(table, 1, &(struct bound){ own->persistent, 0, own->props.PersistentResourceSize });
        } else {
            bind_inputs(table, 3, (struct bound[]){ { in, 0, 16 }, { NULL, 0, 0 }, { NULL, 0, 0 } });
            bind_outputs(table, 1, &(struct bound){ outs[i - 2], 0, 16 });
            bind_prepared(table, own);
        }
        record(&rig, dispatchable, table);
        api_release(table);
    }
    rig_run(&rig);
    expect_f32(&rig, outs[0], 0, (const float[]){ 0, 0, 0, 0 }, 4);
    expect_f32(&rig, outs[1], 0, (const float[]){ 3, 3, 7, 7 }, 4);
    ok_hr(dml_reason(&rig), S_OK);
    for (int i = 0; i < 2; i++) {
        api_release(initializers[i]);
        api_release(ops[i]);
        api_release(weights[i]);
        api_release(outs[i]);
        prepared_release(&prepared[i]);
    }
    api_release(in);
    rig_destroy(&rig);
}

/* A closed list is executed three times; the outputs are bound again each time. */
static void test_late_binding(void)
{
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    IDMLCompiledOperator *op = compile(rig.dml, identity_operator(rig.dml, 8), DML_EXECUTION_FLAG_DESCRIPTORS_VOLATILE);
    struct prepared prepared = prepare(&rig, op, 0, NULL);
    ID3D12Resource *in = buffer_f32(&rig, 8, 0, 1), *outs[3];
    IDMLBindingTable *table = table_at(&rig, op, 0);
    for (int i = 0; i < 3; i++)
        outs[i] = buffer_f32(&rig, 8, -1, 0);
    record(&rig, op, table);
    ok_hr(ID3D12GraphicsCommandList_Close(rig.q.list), S_OK);
    for (int i = 0; i < 3; i++) {
        bind_inputs(table, 1, &(struct bound){ in, 0, 32 });
        bind_outputs(table, 1, &(struct bound){ outs[i], 0, 32 });
        bind_prepared(table, &prepared);
        api_queue_execute(&rig.q);
        api_queue_wait(&rig.q);
    }
    ok_hr(ID3D12CommandAllocator_Reset(rig.q.allocator), S_OK);
    ok_hr(ID3D12GraphicsCommandList_Reset(rig.q.list, rig.q.allocator, NULL), S_OK);
    for (int i = 0; i < 3; i++) {
        expect_f32(&rig, outs[i], 0, ramp, 8);
        api_release(outs[i]);
    }
    ok_hr(dml_reason(&rig), S_OK);
    api_release(table);
    api_release(in);
    prepared_release(&prepared);
    api_release(op);
    rig_destroy(&rig);
}

/* Descriptors written to a heap that is not shader-visible are used once they are copied. */
static void test_copied_descriptors(void)
{
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    IDMLCompiledOperator *op = compile(rig.dml, identity_operator(rig.dml, 8), DML_EXECUTION_FLAG_NONE);
    struct prepared prepared = prepare(&rig, op, 0, NULL);
    ID3D12Resource *in = buffer_f32(&rig, 8, 0, 1), *out = buffer_f32(&rig, 8, -1, 0);
    UINT count = prepared.props.RequiredDescriptorCount;
    ID3D12DescriptorHeap *plain = rig_heap(rig.d3d, count, false);
    D3D12_CPU_DESCRIPTOR_HANDLE start;
    start = ID3D12DescriptorHeap_GetCPUDescriptorHandleForHeapStart(plain);
    DML_BINDING_TABLE_DESC desc = { (IDMLDispatchable *)op, start, rig_gpu(&rig, 32), count };
    IDMLBindingTable *table = NULL;
    ok_hr(IDMLDevice1_CreateBindingTable(rig.dml, &desc, &IID_IDMLBindingTable, (void **)&table), S_OK);
    need(table);
    bind_inputs(table, 1, &(struct bound){ in, 0, 32 });
    bind_outputs(table, 1, &(struct bound){ out, 0, 32 });
    bind_prepared(table, &prepared);
    record(&rig, op, table);
    ID3D12Device_CopyDescriptorsSimple(rig.d3d, count, rig_cpu(&rig, 32), start,
                                       D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV);
    rig_run(&rig);
    expect_f32(&rig, out, 0, ramp, 8);
    api_release(table);
    api_release(plain);
    api_release(in);
    api_release(out);
    prepared_release(&prepared);
    api_release(op);
    rig_destroy(&rig);
}

/* Released right after recording: the list keeps its objects. */
static void test_released_operator(void)
{
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    IDMLCompiledOperator *op = compile(rig.dml, identity_operator(rig.dml, 8), DML_EXECUTION_FLAG_NONE);
    struct prepared prepared = prepare(&rig, op, 0, NULL);
    ID3D12Resource *in = buffer_f32(&rig, 8, 0, 1), *out = buffer_f32(&rig, 8, -1, 0);
    IDMLBindingTable *table = table_at(&rig, op, 0);
    bind_inputs(table, 1, &(struct bound){ in, 0, 32 });
    bind_outputs(table, 1, &(struct bound){ out, 0, 32 });
    bind_prepared(table, &prepared);
    record(&rig, op, table);
    api_release(table);
    ok(!api_release(op), "the operator has references left");
    rig_run(&rig);
    expect_f32(&rig, out, 0, ramp, 8);
    api_release(in);
    api_release(out);
    prepared_release(&prepared);
    rig_destroy(&rig);
}

/* ---- refusals: the device is removed, the list cannot be closed, the Direct3D device lives ---- */

enum refusal {
    REFUSE_NULL_LIST,
    REFUSE_NULL_DISPATCHABLE,
    REFUSE_NULL_TABLE,
    REFUSE_OTHER_TABLE,
    REFUSE_EMPTY_TABLE,
    REFUSE_CLOSED_LIST,
    REFUSE_MISSING_INPUT,
    REFUSE_MISSING_OUTPUT,
    REFUSE_OTHER_DEVICE,
    REFUSE_COUNT,
};

static void refuse(struct rig *rig, enum refusal refusal, IDMLCompiledOperator *op, IDMLBindingTable *table,
                   IDMLCompiledOperator *other)
{
    ID3D12CommandList *list = (ID3D12CommandList *)rig->q.list;
    void *dispatchable = op;
    if (refusal == REFUSE_EMPTY_TABLE)
        ok_hr(IDMLBindingTable_Reset(table, NULL), S_OK);
    if (refusal == REFUSE_CLOSED_LIST)
        ok_hr(ID3D12GraphicsCommandList_Close(rig->q.list), S_OK);
    if (refusal == REFUSE_MISSING_INPUT)
        IDMLBindingTable_BindInputs(table, 0, NULL);
    if (refusal == REFUSE_MISSING_OUTPUT)
        IDMLBindingTable_BindOutputs(table, 0, NULL);
    if (refusal == REFUSE_NULL_DISPATCHABLE)
        dispatchable = NULL;
    if (refusal == REFUSE_OTHER_TABLE || refusal == REFUSE_OTHER_DEVICE)
        dispatchable = other;
    IDMLCommandRecorder_RecordDispatch(rig->recorder, refusal == REFUSE_NULL_LIST ? NULL : list, dispatchable,
                                       refusal == REFUSE_NULL_TABLE ? NULL : table);
    ok(dml_reason(rig) == E_INVALIDARG, "refusal %d: reason 0x%08x", refusal, (unsigned)dml_reason(rig));
    ok_hr(ID3D12Device_GetDeviceRemovedReason(rig->d3d), S_OK);
    if (refusal != REFUSE_CLOSED_LIST && refusal != REFUSE_NULL_LIST)
        ok_hr(ID3D12GraphicsCommandList_Close(rig->q.list), E_INVALIDARG);
}

static void test_refusal(enum refusal refusal)
{
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    IDMLDevice1 *second = rig_dml_device(rig.d3d, DML_CREATE_DEVICE_FLAG_NONE);
    IDMLDevice1 *home = refusal == REFUSE_OTHER_DEVICE ? second : rig.dml;
    IDMLCompiledOperator *op = compile(rig.dml, identity_operator(rig.dml, 8), DML_EXECUTION_FLAG_NONE);
    IDMLCompiledOperator *other = compile(home, identity_operator(home, 8), DML_EXECUTION_FLAG_NONE);
    struct prepared prepared = prepare(&rig, op, 0, NULL);
    ID3D12Resource *in = buffer_f32(&rig, 8, 0, 1), *out = buffer_f32(&rig, 8, -1, 0);
    IDMLBindingTable *table = table_at(&rig, op, 0);
    bind_inputs(table, 1, &(struct bound){ in, 0, 32 });
    bind_outputs(table, 1, &(struct bound){ out, 0, 32 });
    bind_prepared(table, &prepared);
    refuse(&rig, refusal, op, table, other);
    ok_hr(IDMLDevice1_GetDeviceRemovedReason(second), S_OK);
    api_release(table);
    api_release(in);
    api_release(out);
    prepared_release(&prepared);
    api_release(op);
    api_release(other);
    api_release(second);
    rig_destroy(&rig);
}

static void test_object(void)
{
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    void *out = &out;
    ok_hr(IDMLDevice1_CreateCommandRecorder(rig.dml, &IID_IDMLCommandRecorder, NULL), E_INVALIDARG);
    ok_hr(IDMLDevice1_CreateCommandRecorder(rig.dml, &IID_IDMLOperator, &out), E_NOINTERFACE);
    ok(!out, "out was not set to NULL");
    IDMLDevice *device = NULL;
    ok_hr(IDMLCommandRecorder_GetDevice(rig.recorder, &IID_IDMLDevice, (void **)&device), S_OK);
    ok((void *)device == (void *)rig.dml, "GetDevice gave another device");
    api_release(device);
    rig_destroy(&rig);
}

int main(void)
{
    api_begin();
    rig_part(test_object());
    rig_part(test_identity());
    rig_part(test_table_independent());
    rig_part(test_sizes_to_the_end());
    rig_part(test_shared_range(false));
    rig_part(test_shared_range(true));
    rig_part(test_shared_range_initializers());
    rig_part(test_late_binding());
    rig_part(test_copied_descriptors());
    rig_part(test_released_operator());
    for (int i = 0; i < REFUSE_COUNT; i++)
        rig_part(test_refusal((enum refusal)i));
    return rig_end();
}
