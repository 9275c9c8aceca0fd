/* SPDX-License-Identifier: Apache-2.0 */
/* IDMLOperatorInitializer: owned inputs, several operators, Reset, the empty one, errors of its tables. */
#include "dml_test.h"

/* a = 0..3 as 2 x 2, b = 1..4: a * b */
static const float product[4] = { 3, 4, 11, 16 };

static void run_gemm(struct rig *rig, IDMLCompiledOperator *op, const struct prepared *prepared)
{
    ID3D12Resource *a = buffer_f32(rig, 4, 0, 1), *out = buffer_f32(rig, 4, -1, 0);
    IDMLBindingTable *table = table_at(rig, op, 0);
    bind_inputs(table, 3, (struct bound[]){ { a, 0, 16 }, { NULL, 0, 0 }, { NULL, 0, 0 } });
    bind_outputs(table, 1, &(struct bound){ out, 0, 16 });
    bind_prepared(table, prepared);
    record(rig, op, table);
    rig_run(rig);
    expect_f32(rig, out, 0, product, 4);
    api_release(table);
    api_release(a);
    api_release(out);
}

/* The source may be an UPLOAD buffer, and may be released once the initialisation has run. */
static void test_owned(void)
{
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    IDMLCompiledOperator *op =
        compile(rig.dml, gemm_operator(rig.dml, 2, 2, 2, DML_TENSOR_FLAG_OWNED_BY_DML), DML_EXECUTION_FLAG_NONE);
    ID3D12Resource *b = api_buffer(rig.d3d, D3D12_HEAP_TYPE_UPLOAD, 16);
    memcpy(api_map(b), (float[]){ 1, 2, 3, 4 }, 16);
    struct prepared prepared = prepare(&rig, op, 3, (struct bound[]){ { NULL, 0, 0 }, { b, 0, 16 }, { NULL, 0, 0 } });
    ok(prepared.props.PersistentResourceSize >= 16, "only %llu bytes of state",
       (unsigned long long)prepared.props.PersistentResourceSize);
    memset(api_map(b), 0, 16);
    api_release(b);
    for (int i = 0; i < 3; i++)
        run_gemm(&rig, op, &prepared);
    ok_hr(dml_reason(&rig), S_OK);
    prepared_release(&prepared);
    api_release(op);
    rig_destroy(&rig);
}

/* An empty initializer and table first, then Reset for the operator; both dispatches in one list. */
static void test_reset(void)
{
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    IDMLCompiledOperator *op =
        compile(rig.dml, gemm_operator(rig.dml, 2, 2, 2, DML_TENSOR_FLAG_OWNED_BY_DML), DML_EXECUTION_FLAG_NONE);
    IDMLOperatorInitializer *initializer = make_initializer(rig.dml, 0, NULL);
    IDMLBindingTable *table = NULL;
    ok(properties(initializer).RequiredDescriptorCount >= 1, "an empty initializer has no descriptor");
    ok_hr(IDMLDevice1_CreateBindingTable(rig.dml, NULL, &IID_IDMLBindingTable, (void **)&table), S_OK);
    need(table);
    ok_hr(IDMLOperatorInitializer_Reset(initializer, 1, &op), S_OK);
    DML_BINDING_TABLE_DESC desc = { (IDMLDispatchable *)initializer, rig_cpu(&rig, 0), rig_gpu(&rig, 0),
                                    properties(initializer).RequiredDescriptorCount };
    ok_hr(IDMLBindingTable_Reset(table, &desc), S_OK);
    struct prepared prepared = { .props = properties(op) };
    prepared.persistent = api_buffer(rig.d3d, D3D12_HEAP_TYPE_DEFAULT, prepared.props.PersistentResourceSize);
    ID3D12Resource *b = buffer_f32(&rig, 4, 1, 1);
    bind_owned(table, 3, (struct bound[]){ { NULL, 0, 0 }, { b, 0, 16 }, { NULL, 0, 0 } });
    bind_outputs(table, 1, &(struct bound){ prepared.persistent, 0, prepared.props.PersistentResourceSize });
    record(&rig, initializer, table);
    ok_hr(IDMLOperatorInitializer_Reset(initializer, 0, NULL), S_OK); /* recorded work is unaffected */
    if (prepared.props.TemporaryResourceSize)
        prepared.temporary = api_buffer(rig.d3d, D3D12_HEAP_TYPE_DEFAULT, prepared.props.TemporaryResourceSize);
    rig_run(&rig);
    run_gemm(&rig, op, &prepared);
    ok_hr(dml_reason(&rig), S_OK);
    IDMLBindingTable_BindInputs(table, 0, NULL); /* created before the last Reset */
    ok_hr(dml_reason(&rig), E_INVALIDARG);
    api_release(table);
    api_release(initializer);
    api_release(b);
    prepared_release(&prepared);
    api_release(op);
    rig_destroy(&rig);
}

/* Two operators with state and one without, in one dispatch. */
static void test_several(void)
{
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    IDMLCompiledOperator *ops[3];
    ops[0] = compile(rig.dml, gemm_operator(rig.dml, 2, 2, 2, DML_TENSOR_FLAG_OWNED_BY_DML), DML_EXECUTION_FLAG_NONE);
    ops[1] = compile(rig.dml, identity_operator(rig.dml, 4), DML_EXECUTION_FLAG_NONE);
    ops[2] = compile(rig.dml, gemm_operator(rig.dml, 2, 2, 2, DML_TENSOR_FLAG_OWNED_BY_DML), DML_EXECUTION_FLAG_NONE);
    IDMLOperatorInitializer *initializer = make_initializer(rig.dml, 3, ops);
    IDMLBindingTable *table = table_at(&rig, initializer, 0);
    ID3D12Resource *b = buffer_f32(&rig, 4, 1, 1), *zero = buffer_f32(&rig, 4, 0, 0);
    UINT64 bytes = properties(ops[0]).PersistentResourceSize;
    ID3D12Resource *persistent = api_buffer(rig.d3d, D3D12_HEAP_TYPE_DEFAULT, 2 * bytes);
    DML_BUFFER_BINDING first[3] = { { NULL, 0, 0 }, { b, 0, 16 }, { NULL, 0, 0 } };
    DML_BUFFER_BINDING last[3] = { { NULL, 0, 0 }, { zero, 0, 16 }, { NULL, 0, 0 } };
    DML_BUFFER_ARRAY_BINDING first_array = { 3, first }, last_array = { 3, last };
    DML_BINDING_DESC inputs[3] = { { DML_BINDING_TYPE_BUFFER_ARRAY, &first_array },
                                   { DML_BINDING_TYPE_NONE, NULL },
                                   { DML_BINDING_TYPE_BUFFER_ARRAY, &last_array } };
    IDMLBindingTable_BindInputs(table, 3, inputs);
    bind_outputs(table, 3, (struct bound[]){ { persistent, 0, bytes }, { NULL, 0, 0 }, { persistent, bytes, bytes } });
    record(&rig, initializer, table);
    rig_run(&rig);
    struct prepared prepared = { .persistent = persistent, .props = properties(ops[0]) };
    if (prepared.props.TemporaryResourceSize)
        prepared.temporary = api_buffer(rig.d3d, D3D12_HEAP_TYPE_DEFAULT, prepared.props.TemporaryResourceSize);
    run_gemm(&rig, ops[0], &prepared);
    ok_hr(dml_reason(&rig), S_OK);
    api_release(table);
    api_release(initializer);
    api_release(b);
    api_release(zero);
    prepared_release(&prepared);
    for (int i = 0; i < 3; i++)
        api_release(ops[i]);
    rig_destroy(&rig);
}

static void test_arguments(void)
{
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    IDMLCompiledOperator *op = compile(rig.dml, identity_operator(rig.dml, 4), DML_EXECUTION_FLAG_NONE);
    IDMLCompiledOperator *twice[] = { op, op }, *null[] = { NULL };
    IDMLOperatorInitializer *initializer = make_initializer(rig.dml, 1, &op);
    const IID *iid = &IID_IDMLOperatorInitializer;
    void *out = &out;
    ok_hr(IDMLDevice1_CreateOperatorInitializer(rig.dml, 2, twice, iid, &out), E_INVALIDARG);
    ok(!out, "one operator twice");
    ok_hr(IDMLDevice1_CreateOperatorInitializer(rig.dml, 1, NULL, iid, &out), E_INVALIDARG);
    ok_hr(IDMLDevice1_CreateOperatorInitializer(rig.dml, 1, null, iid, &out), E_INVALIDARG);
    ok_hr(IDMLDevice1_CreateOperatorInitializer(rig.dml, 1, &op, iid, NULL), E_INVALIDARG);
    ok_hr(IDMLDevice1_CreateOperatorInitializer(rig.dml, 1, &op, &IID_IDMLCompiledOperator, &out), E_NOINTERFACE);
    ok_hr(IDMLOperatorInitializer_Reset(initializer, 2, twice), E_INVALIDARG);
    ok_hr(IDMLOperatorInitializer_Reset(initializer, 1, NULL), E_INVALIDARG);
    ok(properties(initializer).PersistentResourceSize == 0, "an initializer has a persistent resource");
    ok_hr(IDMLOperatorInitializer_QueryInterface(initializer, &IID_IDMLDispatchable, &out), S_OK);
    api_release(out);
    ok_hr(IDMLOperatorInitializer_QueryInterface(initializer, &IID_IDMLCompiledOperator, &out), E_NOINTERFACE);
    ok(!api_release(op), "the operator has references of the application");
    api_release(initializer);
    ok_hr(dml_reason(&rig), S_OK);
    rig_destroy(&rig);
}

/* ---- refused bindings ---- */

enum wrong {
    WRONG_PLAIN_BUFFER,
    WRONG_ARRAY_LENGTH,
    WRONG_NOT_OWNED,
    WRONG_COUNT,
    WRONG_OUTPUT_SMALL,
    WRONG_SAME_RESOURCE,
    WRONG_INPUT_MISSING,
    WRONG_OUTPUT_MISSING,
    WRONG_READBACK,
    WRONG_NUMBER,
};

static void bind_wrong(struct rig *rig, enum wrong wrong, IDMLBindingTable *table, ID3D12Resource *b,
                       ID3D12Resource *state, UINT64 bytes)
{
    struct bound good[3] = { { NULL, 0, 0 }, { b, 0, 16 }, { NULL, 0, 0 } };
    struct bound two[2] = { { b, 0, 16 }, { b, 0, 16 } };
    ID3D12Resource *readback = api_buffer(rig->d3d, D3D12_HEAP_TYPE_READBACK, 16);
    bind_owned(table, 3, good);
    bind_outputs(table, 1, &(struct bound){ state, 0, bytes });
    ok_hr(dml_reason(rig), S_OK);
    if (wrong == WRONG_PLAIN_BUFFER)
        bind_inputs(table, 1, two);
    if (wrong == WRONG_ARRAY_LENGTH)
        bind_owned(table, 2, good);
    if (wrong == WRONG_NOT_OWNED)
        bind_owned(table, 3, (struct bound[]){ { b, 0, 16 }, { b, 0, 16 }, { NULL, 0, 0 } });
    if (wrong == WRONG_COUNT)
        bind_outputs(table, 2, two);
    if (wrong == WRONG_OUTPUT_SMALL)
        bind_outputs(table, 1, &(struct bound){ state, 0, bytes - 4 });
    if (wrong == WRONG_SAME_RESOURCE) /* disjoint, but still rejected */
        bind_owned(table, 3, (struct bound[]){ { NULL, 0, 0 }, { state, bytes, 16 }, { NULL, 0, 0 } });
    if (wrong == WRONG_INPUT_MISSING)
        IDMLBindingTable_BindInputs(table, 0, NULL);
    if (wrong == WRONG_OUTPUT_MISSING)
        IDMLBindingTable_BindOutputs(table, 0, NULL);
    if (wrong == WRONG_READBACK)
        bind_owned(table, 3, (struct bound[]){ { NULL, 0, 0 }, { readback, 0, 16 }, { NULL, 0, 0 } });
    api_release(readback);
}

static void test_wrong(enum wrong wrong)
{
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    IDMLCompiledOperator *op =
        compile(rig.dml, gemm_operator(rig.dml, 2, 2, 2, DML_TENSOR_FLAG_OWNED_BY_DML), DML_EXECUTION_FLAG_NONE);
    IDMLOperatorInitializer *initializer = make_initializer(rig.dml, 1, &op);
    IDMLBindingTable *table = table_at(&rig, initializer, 0);
    UINT64 bytes = properties(op).PersistentResourceSize;
    ID3D12Resource *b = buffer_f32(&rig, 4, 1, 1);
    ID3D12Resource *state = api_buffer(rig.d3d, D3D12_HEAP_TYPE_DEFAULT, bytes + 16);
    bind_wrong(&rig, wrong, table, b, state, bytes);
    record(&rig, initializer, table);
    ok(dml_reason(&rig) == E_INVALIDARG, "case %d: reason 0x%08x", wrong, (unsigned)dml_reason(&rig));
    ok_hr(ID3D12Device_GetDeviceRemovedReason(rig.d3d), S_OK);
    api_release(table);
    api_release(initializer);
    api_release(b);
    api_release(state);
    api_release(op);
    rig_destroy(&rig);
}

int main(void)
{
    api_begin();
    rig_part(test_arguments());
    rig_part(test_owned());
    rig_part(test_reset());
    rig_part(test_several());
    for (int i = 0; i < WRONG_NUMBER; i++)
        rig_part(test_wrong((enum wrong)i));
    return rig_end();
}
