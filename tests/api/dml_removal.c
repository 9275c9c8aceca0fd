/* SPDX-License-Identifier: Apache-2.0 */
/* Removal: which errors remove which device, and what still works afterwards. */
#include "dml_test.h"

/* Every method of a removed device and of its children. */
static void check_removed(struct rig *rig, IDMLOperator *op, IDMLCompiledOperator *compiled,
                          IDMLOperatorInitializer *initializer, IDMLBindingTable *table)
{
    IDMLDevice1 *dml = rig->dml;
    IDMLPageable *pageable = (IDMLPageable *)compiled;
    DML_FEATURE_QUERY_TENSOR_DATA_TYPE_SUPPORT query = { DML_TENSOR_DATA_TYPE_FLOAT32 };
    DML_FEATURE_DATA_TENSOR_DATA_TYPE_SUPPORT data;
    DML_GRAPH_DESC graph = { 0 };
    DML_OPERATOR_DESC desc = { DML_OPERATOR_INVALID, NULL };
    const HRESULT gone = DXGI_ERROR_DEVICE_REMOVED;
    void *out = &out;
    ok_hr(IDMLDevice1_CheckFeatureSupport(dml, DML_FEATURE_TENSOR_DATA_TYPE_SUPPORT, 4, &query, 4, &data), gone);
    ok_hr(IDMLDevice1_CreateOperator(dml, &desc, &IID_IDMLOperator, &out), gone);
    ok(!out, "CreateOperator left something");
    ok_hr(IDMLDevice1_CompileOperator(dml, op, 0, &IID_IDMLCompiledOperator, &out), gone);
    ok_hr(IDMLDevice1_CompileGraph(dml, &graph, 0, &IID_IDMLCompiledOperator, &out), gone);
    ok_hr(IDMLDevice1_CreateOperatorInitializer(dml, 0, NULL, &IID_IDMLOperatorInitializer, &out), gone);
    ok_hr(IDMLDevice1_CreateCommandRecorder(dml, &IID_IDMLCommandRecorder, &out), gone);
    ok_hr(IDMLDevice1_CreateBindingTable(dml, NULL, &IID_IDMLBindingTable, &out), gone);
    ok_hr(IDMLDevice1_Evict(dml, 1, &pageable), gone);
    ok_hr(IDMLDevice1_MakeResident(dml, 1, &pageable), gone);
    ok_hr(IDMLOperatorInitializer_Reset(initializer, 0, NULL), gone);
    ok_hr(IDMLBindingTable_Reset(table, NULL), gone);
    IDMLBindingTable_BindInputs(table, 5, NULL);
    IDMLBindingTable_BindOutputs(table, 5, NULL);
    IDMLBindingTable_BindTemporaryResource(table, NULL);
    IDMLBindingTable_BindPersistentResource(table, NULL);
    /* Called by the error paths of programs. */
    ok(properties(compiled).RequiredDescriptorCount >= 1, "GetBindingProperties");
    ok_hr(IDMLDevice1_GetParentDevice(dml, &IID_ID3D12Device, &out), S_OK);
    api_release(out);
    ok_hr(IDMLCompiledOperator_GetDevice(compiled, &IID_IDMLDevice, &out), S_OK);
    api_release(out);
    ok_hr(IDMLDevice1_QueryInterface(dml, &IID_IDMLDevice, &out), S_OK);
    api_release(out);
    ok_hr(IDMLDevice1_SetName(dml, L"gone"), S_OK);
    ok_hr(IDMLDevice1_SetPrivateData(dml, &IID_IDMLDevice, 4, &query), S_OK);
    ok_hr(IDMLDevice1_SetPrivateData(dml, &IID_IDMLDevice, 0, NULL), S_OK);
}

enum cause { CAUSE_BINDING, CAUSE_PARENT };

static void test_removed(enum cause cause)
{
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    IDMLDevice1 *second = rig_dml_device(rig.d3d, 0);
    IDMLOperator *op = add_operator(rig.dml, 4);
    IDMLCompiledOperator *compiled = compile(rig.dml, add_operator(rig.dml, 4), DML_EXECUTION_FLAG_NONE);
    IDMLOperatorInitializer *initializer = make_initializer(rig.dml, 0, NULL);
    IDMLBindingTable *table = table_at(&rig, compiled, 0);
    ok_hr(dml_reason(&rig), S_OK);
    if (cause == CAUSE_BINDING)
        bind_inputs(table, 1, &(struct bound){ NULL, 0, 0 });
    else
        ID3D12Device5_RemoveDevice((ID3D12Device5 *)rig.d3d);
    HRESULT reason = dml_reason(&rig);
    if (cause == CAUSE_BINDING)
        ok_hr(reason, E_INVALIDARG);
    ok(FAILED(reason) && reason == dml_reason(&rig), "0x%08x", (unsigned)reason);
    check_removed(&rig, op, compiled, initializer, table);
    ok_hr(dml_reason(&rig), reason);
    ok(FAILED(ID3D12Device_GetDeviceRemovedReason(rig.d3d)) == (cause == CAUSE_PARENT), "the Direct3D device");
    ok(FAILED(IDMLDevice1_GetDeviceRemovedReason(second)) == (cause == CAUSE_PARENT), "the second DirectML device");
    if (cause == CAUSE_BINDING)
        api_release(compile(second, add_operator(second, 4), DML_EXECUTION_FLAG_NONE));
    void *out = &out;
    HRESULT created = DMLCreateDevice(rig.d3d, DML_CREATE_DEVICE_FLAG_NONE, &IID_IDMLDevice, &out);
    ok_hr(created, cause == CAUSE_PARENT ? DXGI_ERROR_DEVICE_REMOVED : S_OK);
    if (out)
        api_release(out);
    api_release(op);
    api_release(compiled);
    api_release(initializer);
    api_release(table);
    api_release(second);
    rig_destroy(&rig);
}

/* ---- errors found while a list executes: the Direct3D device is removed too, nothing is skipped silently ---- */

enum fault { FAULT_NOT_INITIALIZED, FAULT_UNBOUND, FAULT_OTHER_STATE, FAULT_RESOURCE_GONE, FAULTS };

static struct prepared state_for(struct rig *rig, IDMLCompiledOperator *op, bool initialize)
{
    struct prepared prepared = { .props = properties(op) };
    ID3D12Resource *b = buffer_f32(rig, 4, 1, 1);
    if (initialize) {
        prepared = prepare(rig, op, 3, (struct bound[]){ { NULL, 0, 0 }, { b, 0, 16 }, { NULL, 0, 0 } });
    } else {
        prepared.persistent = api_buffer(rig->d3d, D3D12_HEAP_TYPE_DEFAULT, prepared.props.PersistentResourceSize);
        if (prepared.props.TemporaryResourceSize)
            prepared.temporary = api_buffer(rig->d3d, D3D12_HEAP_TYPE_DEFAULT, prepared.props.TemporaryResourceSize);
    }
    api_release(b);
    return prepared;
}

static void execute_fault(struct rig *rig, enum fault fault, IDMLCompiledOperator *op, const struct prepared *prepared)
{
    ID3D12Resource *a = buffer_f32(rig, 4, 0, 1), *out = buffer_f32(rig, 4, 0, 0);
    IDMLBindingTable *table = table_at(rig, op, 0);
    bind_inputs(table, 3, (struct bound[]){ { a, 0, 16 }, { NULL, 0, 0 }, { NULL, 0, 0 } });
    bind_outputs(table, 1, &(struct bound){ fault == FAULT_UNBOUND ? NULL : out, 0, 16 });
    bind_prepared(table, prepared);
    record(rig, op, table);
    ok_hr(dml_reason(rig), S_OK);
    ok_hr(ID3D12GraphicsCommandList_Close(rig->q.list), S_OK);
    if (fault == FAULT_RESOURCE_GONE) {
        api_release(a);
        a = NULL;
    }
    api_queue_execute(&rig->q);
    ID3D12CommandQueue_Signal(rig->q.queue, rig->q.fence, ++rig->q.value);
    ID3D12Fence_SetEventOnCompletion(rig->q.fence, rig->q.value, NULL);
    /* Whose state a buffer holds is seen where the host reads it; a GPU runs with it, as with other wrong weights. */
    const bool seen = fault != FAULT_OTHER_STATE || !api_is("vulkan");
    const UINT64 completed = ID3D12Fence_GetCompletedValue(rig->q.fence);
    ok(FAILED(ID3D12Device_GetDeviceRemovedReason(rig->d3d)) == seen, "fault %d: the Direct3D device", fault);
    ok(FAILED(dml_reason(rig)) == seen, "fault %d: the DirectML device", fault);
    ok(completed == (seen ? UINT64_MAX : rig->q.value), "fault %d: the fence is at %llu", fault,
       (unsigned long long)completed);
    if (a)
        api_release(a);
    api_release(out);
    api_release(table);
}

static void test_fault(enum fault fault)
{
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    IDMLCompiledOperator *op = compile(rig.dml, gemm_operator(rig.dml, 2, 2, 2, DML_TENSOR_FLAG_OWNED_BY_DML),
                                       DML_EXECUTION_FLAG_DESCRIPTORS_VOLATILE);
    IDMLCompiledOperator *other =
        compile(rig.dml, gemm_operator(rig.dml, 2, 2, 2, DML_TENSOR_FLAG_OWNED_BY_DML), DML_EXECUTION_FLAG_NONE);
    struct prepared prepared = state_for(&rig, op, fault != FAULT_NOT_INITIALIZED);
    struct prepared foreign = state_for(&rig, other, true);
    execute_fault(&rig, fault, op, fault == FAULT_OTHER_STATE ? &foreign : &prepared);
    prepared_release(&prepared);
    prepared_release(&foreign);
    api_release(op);
    api_release(other);
    rig_destroy(&rig);
}

int main(void)
{
    api_begin();
    rig_part(test_removed(CAUSE_BINDING));
    rig_part(test_removed(CAUSE_PARENT));
    /* The null adapter executes nothing, so it detects no errors of an execution. */
    for (int i = 0; i < FAULTS && !api_is("null"); i++)
        rig_part(test_fault((enum fault)i));
    return rig_end();
}
