/* SPDX-License-Identifier: Apache-2.0 */
/* IDMLCompiledOperator: compilation, its properties, the flags, the objects that it keeps. */
#include "dml_test.h"

static void test_object(IDMLDevice1 *dml)
{
    static const IID *const iids[] = { &IID_IUnknown,     &IID_IDMLObject,       &IID_IDMLDeviceChild,
                                       &IID_IDMLPageable, &IID_IDMLDispatchable, &IID_IDMLCompiledOperator };
    IDMLCompiledOperator *op = compile(dml, identity_operator(dml, 8), DML_EXECUTION_FLAG_NONE);
    void *out;
    for (size_t i = 0; i < sizeof(iids) / sizeof(iids[0]); i++) {
        ok_hr(IDMLCompiledOperator_QueryInterface(op, iids[i], &out), S_OK);
        ok(out == (void *)op, "interface %zu has another pointer", i);
        api_release(out);
    }
    ok_hr(IDMLCompiledOperator_QueryInterface(op, &IID_IDMLOperatorInitializer, &out), E_NOINTERFACE);
    ok_hr(IDMLCompiledOperator_GetDevice(op, &IID_IDMLDevice, &out), S_OK);
    ok(out == (void *)dml, "another device");
    api_release(out);
    ok(!api_release(op), "references are left");
}

static void test_properties(IDMLDevice1 *dml)
{
    IDMLCompiledOperator *plain = compile(dml, identity_operator(dml, 8), DML_EXECUTION_FLAG_NONE);
    IDMLCompiledOperator *bound = compile(dml, gemm_operator(dml, 4, 4, 4, DML_TENSOR_FLAG_NONE), 0);
    IDMLCompiledOperator *owned = compile(dml, gemm_operator(dml, 4, 4, 4, DML_TENSOR_FLAG_OWNED_BY_DML), 0);
    IDMLCompiledOperator *all[] = { plain, bound, owned };
    for (size_t i = 0; i < 3; i++) {
        DML_BINDING_PROPERTIES first = properties(all[i]), again = properties(all[i]);
        ok(first.RequiredDescriptorCount >= 1, "operator %zu needs no descriptor", i);
        ok(first.TemporaryResourceSize % 4 == 0 && first.PersistentResourceSize % 4 == 0, "operator %zu", i);
        ok(first.RequiredDescriptorCount == again.RequiredDescriptorCount &&
               first.TemporaryResourceSize == again.TemporaryResourceSize &&
               first.PersistentResourceSize == again.PersistentResourceSize,
           "operator %zu has changed", i);
    }
    ok(!properties(plain).PersistentResourceSize, "a copy has state");
    ok(properties(owned).PersistentResourceSize >= 64, "an owned tensor of 64 bytes is kept in fewer");
    for (size_t i = 0; i < 3; i++)
        api_release(all[i]);
}

static void test_arguments(IDMLDevice1 *dml)
{
    IDMLOperator *op = identity_operator(dml, 8);
    const IID *iid = &IID_IDMLCompiledOperator;
    void *out = &out;
    ok_hr(IDMLDevice1_CompileOperator(dml, NULL, 0, iid, &out), E_INVALIDARG);
    ok(!out, "op NULL");
    ok_hr(IDMLDevice1_CompileOperator(dml, op, (DML_EXECUTION_FLAGS)8, iid, &out), E_INVALIDARG);
    out = &out;
    ok_hr(IDMLDevice1_CompileOperator(dml, op, 0, &IID_IDMLOperator, &out), E_NOINTERFACE);
    ok(!out, "bad riid");
    ok_hr(IDMLDevice1_CompileOperator(dml, op, 0, iid, NULL), S_FALSE);
    for (UINT flags = 0; flags < 8; flags++) {
        ok_hr(IDMLDevice1_CompileOperator(dml, op, (DML_EXECUTION_FLAGS)flags, iid, &out), S_OK);
        api_release(out);
    }
    ok(!api_release(op), "the operator has references left");
}

/* All flags compute the same GEMM. */
static void test_flags(DML_EXECUTION_FLAGS flags)
{
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    IDMLCompiledOperator *op = compile(rig.dml, gemm_operator(rig.dml, 2, 2, 2, DML_TENSOR_FLAG_NONE), flags);
    struct prepared prepared = prepare(&rig, op, 0, NULL);
    ID3D12Resource *a = buffer_f32(&rig, 4, 0, 1), *b = buffer_f32(&rig, 4, 1, 1), *out = buffer_f32(&rig, 4, -1, 0);
    IDMLBindingTable *table = table_at(&rig, op, 0);
    bind_inputs(table, 3, (struct bound[]){ { a, 0, 16 }, { b, 0, 16 }, { NULL, 0, 0 } });
    bind_outputs(table, 1, &(struct bound){ out, 0, 16 });
    bind_prepared(table, &prepared);
    record(&rig, op, table);
    rig_run(&rig);
    expect_f32(&rig, out, 0, (const float[]){ 3, 4, 11, 16 }, 4);
    ok_hr(dml_reason(&rig), S_OK);
    api_release(table);
    api_release(a);
    api_release(b);
    api_release(out);
    prepared_release(&prepared);
    api_release(op);
    rig_destroy(&rig);
}

static void test_with_device(void (*test)(IDMLDevice1 *))
{
    ID3D12Device *d3d = api_device();
    IDMLDevice1 *dml = rig_dml_device(d3d, 0);
    test(dml);
    api_release(dml);
    api_release(d3d);
}

int main(void)
{
    api_begin();
    rig_part(test_with_device(test_object));
    rig_part(test_with_device(test_properties));
    rig_part(test_with_device(test_arguments));
    for (UINT flags = 0; flags < 8; flags++)
        rig_part(test_flags((DML_EXECUTION_FLAGS)flags));
    return rig_end();
}
