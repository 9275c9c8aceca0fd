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

/* A table released or reset for another operator, right after recording, does not disturb what was recorded. */
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

/* A closed list is executed three times; the outputs are bound anew each time. */
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

/* Descriptors written to a heap that is not shader-visible count once they are copied. */
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

/* Released right after recording: the list keeps what it needs. */
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
    rig_part(test_late_binding());
    rig_part(test_copied_descriptors());
    rig_part(test_released_operator());
    for (int i = 0; i < REFUSE_COUNT; i++)
        rig_part(test_refusal((enum refusal)i));
    return rig_end();
}
