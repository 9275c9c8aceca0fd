/* SPDX-License-Identifier: Apache-2.0 */
/* DMLCreateDevice(1) and IDMLDevice1: creation, identity, features, private data, residency, children of two devices.
 */
#include "dml_test.h"

#include <anydml.h>

static const DML_FEATURE_LEVEL levels[] = {
    DML_FEATURE_LEVEL_1_0, DML_FEATURE_LEVEL_2_0, DML_FEATURE_LEVEL_2_1, DML_FEATURE_LEVEL_3_0, DML_FEATURE_LEVEL_3_1,
    DML_FEATURE_LEVEL_4_0, DML_FEATURE_LEVEL_4_1, DML_FEATURE_LEVEL_5_0, DML_FEATURE_LEVEL_5_1, DML_FEATURE_LEVEL_5_2,
    DML_FEATURE_LEVEL_6_0, DML_FEATURE_LEVEL_6_1, DML_FEATURE_LEVEL_6_2, DML_FEATURE_LEVEL_6_3, DML_FEATURE_LEVEL_6_4,
};

static HRESULT create(ID3D12Device *d3d, UINT flags, UINT level, const IID *iid, void **out)
{
    return DMLCreateDevice1(d3d, (DML_CREATE_DEVICE_FLAGS)flags, (DML_FEATURE_LEVEL)level, iid, out);
}

static void test_create(ID3D12Device *d3d)
{
    void *out = &out;
    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
        ok_hr(create(d3d, 0, levels[i], &IID_IDMLDevice, &out), S_OK);
        ok(out && !api_release(out), "level 0x%x", levels[i]);
        ok_hr(create(d3d, 0, levels[i], &IID_IDMLDevice, NULL), S_FALSE);
    }
    static const UINT bad[][2] = { { 0, 0x7000 }, { 0, 0x6401 }, { 0, 0xffffffff },
                                   { 0, 0 },      { 0, 0x1234 }, { 2, 0x1000 } };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        out = &out;
        ok_hr(create(d3d, bad[i][0], bad[i][1], &IID_IDMLDevice, &out), i < 3 ? DXGI_ERROR_UNSUPPORTED : E_INVALIDARG);
        ok(!out, "case %zu left something", i);
    }
    out = &out;
    ok_hr(create(NULL, 0, 0x1000, &IID_IDMLDevice, &out), E_INVALIDARG);
    ok(!out, "no Direct3D device");
    out = &out;
    ok_hr(create(d3d, 0, 0x1000, &IID_IDMLOperator, &out), E_NOINTERFACE);
    ok(!out, "a device is no operator");
    ok_hr(DMLCreateDevice(d3d, DML_CREATE_DEVICE_FLAG_NONE, &IID_IDMLDevice1, &out), S_OK);
    api_release(out);
}

static void test_identity(ID3D12Device *d3d)
{
    static const IID *const iids[] = { &IID_IUnknown, &IID_IDMLObject, &IID_IDMLDevice, &IID_IDMLDevice1 };
    IDMLDevice1 *first = rig_dml_device(d3d, 0), *second = rig_dml_device(d3d, 0);
    void *out;
    ok(first != second, "two calls gave one device");
    for (size_t i = 0; i < sizeof(iids) / sizeof(iids[0]); i++) {
        ok_hr(IDMLDevice1_QueryInterface(first, iids[i], &out), S_OK);
        ok(out == (void *)first, "interface %zu has another pointer", i);
        api_release(out);
    }
    ok_hr(IDMLDevice1_QueryInterface(first, &IID_IDMLDebugDevice, &out), E_NOINTERFACE);
    ok(!out, "a debug device without the flag");
    ok_hr(IDMLDevice1_QueryInterface(first, &IID_IDMLDevice, NULL), E_POINTER);
    IUnknown *direct, *parent;
    ok_hr(IDMLDevice1_GetParentDevice(first, &IID_IUnknown, (void **)&parent), S_OK);
    ok_hr(ID3D12Device_QueryInterface(d3d, &IID_IUnknown, (void **)&direct), S_OK);
    ok(parent == direct, "the parent has another identity");
    api_release(parent);
    api_release(direct);
    ok_hr(IDMLDevice1_GetParentDevice(first, &IID_ID3D12Device, NULL), E_INVALIDARG);
    ok_hr(IDMLDevice1_GetParentDevice(first, &IID_IDMLDevice, &out), E_NOINTERFACE);
    ok_hr(IDMLDevice1_GetDeviceRemovedReason(first), S_OK);
    api_release(first);
    api_release(second);
}

static HRESULT check_levels(IDMLDevice1 *dml, UINT count, const DML_FEATURE_LEVEL *list, UINT *out)
{
    DML_FEATURE_QUERY_FEATURE_LEVELS query = { count, list };
    DML_FEATURE_DATA_FEATURE_LEVELS data = { 0 };
    HRESULT hr =
        IDMLDevice1_CheckFeatureSupport(dml, DML_FEATURE_FEATURE_LEVELS, sizeof(query), &query, sizeof(data), &data);
    *out = data.MaxSupportedFeatureLevel;
    return hr;
}

static void test_feature_levels(IDMLDevice1 *dml)
{
    const DML_FEATURE_LEVEL unknown[] = { (DML_FEATURE_LEVEL)0x7000, (DML_FEATURE_LEVEL)0x9000 };
    const DML_FEATURE_LEVEL mixed[] = { (DML_FEATURE_LEVEL)0x7000, DML_FEATURE_LEVEL_3_0, DML_FEATURE_LEVEL_2_0 };
    UINT best;
    ok_hr(check_levels(dml, 2, levels, &best), S_OK);
    ok(best == DML_FEATURE_LEVEL_2_0, "best is 0x%x", best);
    ok_hr(check_levels(dml, 15, levels, &best), S_OK);
    ok(best == DML_FEATURE_LEVEL_6_4, "best is 0x%x", best);
    ok_hr(check_levels(dml, 3, mixed, &best), S_OK);
    ok(best == DML_FEATURE_LEVEL_3_0, "best is 0x%x", best);
    ok_hr(check_levels(dml, 2, unknown, &best), DXGI_ERROR_UNSUPPORTED);
    ok_hr(check_levels(dml, 0, levels, &best), E_INVALIDARG);
    ok_hr(check_levels(dml, 2, NULL, &best), E_INVALIDARG);
}

static HRESULT check_type(IDMLDevice1 *dml, UINT type, UINT query_size, UINT data_size, BOOL *out)
{
    DML_FEATURE_QUERY_TENSOR_DATA_TYPE_SUPPORT query = { (DML_TENSOR_DATA_TYPE)type };
    DML_FEATURE_DATA_TENSOR_DATA_TYPE_SUPPORT data = { FALSE };
    HRESULT hr = IDMLDevice1_CheckFeatureSupport(dml, DML_FEATURE_TENSOR_DATA_TYPE_SUPPORT, query_size, &query,
                                                 data_size, &data);
    *out = data.IsSupported;
    return hr;
}

static void test_data_types(IDMLDevice1 *dml)
{
    BOOL supported;
    for (UINT type = 0; type <= 13; type++) {
        ok_hr(check_type(dml, type, 4, 4, &supported), S_OK);
        ok(supported == (type != 0), "type %u: %d", type, supported);
    }
    ok_hr(check_type(dml, 14, 4, 4, &supported), E_INVALIDARG);
    ok_hr(check_type(dml, 1, 8, 4, &supported), E_INVALIDARG);
    ok_hr(check_type(dml, 1, 4, 1, &supported), E_INVALIDARG);
    ok_hr(IDMLDevice1_CheckFeatureSupport(dml, DML_FEATURE_TENSOR_DATA_TYPE_SUPPORT, 4, NULL, 4, &supported),
          E_INVALIDARG);
    ok_hr(IDMLDevice1_CheckFeatureSupport(dml, (DML_FEATURE)77, 4, &supported, 4, &supported), DXGI_ERROR_UNSUPPORTED);
}

static ULONG references(void *object)
{
    ((IUnknown *)object)->lpVtbl->AddRef(object);
    return api_release(object);
}

static void test_private_data(IDMLDevice1 *dml, ID3D12Device *d3d)
{
    static const GUID guid = { 1, 2, 3, { 4 } }, other = { 5, 6, 7, { 8 } };
    UINT size = 8, value = 0;
    ok_hr(IDMLDevice1_GetPrivateData(dml, &guid, &size, &value), DXGI_ERROR_NOT_FOUND);
    ok(size == 0, "size %u", size);
    ok_hr(IDMLDevice1_SetPrivateData(dml, &guid, 4, &(UINT){ 42 }), S_OK);
    size = 2;
    ok_hr(IDMLDevice1_GetPrivateData(dml, &guid, &size, &value), DXGI_ERROR_MORE_DATA);
    ok(size == 4 && value == 0, "size %u, value %u", size, value);
    ok_hr(IDMLDevice1_GetPrivateData(dml, &guid, &size, &value), S_OK);
    ok(value == 42, "value %u", value);
    ok_hr(IDMLDevice1_SetPrivateData(dml, &guid, 4, NULL), E_INVALIDARG);
    ok_hr(IDMLDevice1_GetPrivateData(dml, &guid, NULL, NULL), E_INVALIDARG);
    ULONG before = references(d3d);
    IUnknown *got = NULL;
    ok_hr(IDMLDevice1_SetPrivateDataInterface(dml, &other, (IUnknown *)d3d), S_OK);
    size = sizeof(got);
    ok_hr(IDMLDevice1_GetPrivateData(dml, &other, &size, &got), S_OK);
    ok(got == (IUnknown *)d3d, "another interface came back");
    ok(references(d3d) == before + 2, "%u references, %u before", references(d3d), before);
    api_release(got);
    ok_hr(IDMLDevice1_SetPrivateDataInterface(dml, &other, NULL), S_OK);
    ok(references(d3d) == before, "%u references, %u before", references(d3d), before);
    ok_hr(IDMLDevice1_SetName(dml, L"a device"), S_OK);
    ok_hr(IDMLDevice1_SetName(dml, NULL), S_OK);
}

static void test_residency(IDMLDevice1 *dml, IDMLDevice1 *other)
{
    IDMLCompiledOperator *op = compile(dml, identity_operator(dml, 4), DML_EXECUTION_FLAG_NONE);
    IDMLOperatorInitializer *initializer = make_initializer(dml, 0, NULL);
    IDMLPageable *objects[] = { (IDMLPageable *)op, (IDMLPageable *)initializer };
    ok_hr(IDMLDevice1_Evict(dml, 2, objects), S_OK);
    ok_hr(IDMLDevice1_MakeResident(dml, 2, objects), S_OK);
    ok_hr(IDMLDevice1_Evict(dml, 0, NULL), S_OK);
    ok_hr(IDMLDevice1_Evict(dml, 1, NULL), E_INVALIDARG);
    ok_hr(IDMLDevice1_MakeResident(other, 2, objects), E_INVALIDARG);
    objects[1] = NULL;
    ok_hr(IDMLDevice1_MakeResident(dml, 2, objects), E_INVALIDARG);
    api_release(op);
    api_release(initializer);
}

static void test_foreign_children(IDMLDevice1 *dml, IDMLDevice1 *other)
{
    IDMLOperator *op = identity_operator(other, 4);
    void *out = &out;
    ok_hr(IDMLDevice1_CompileOperator(dml, op, 0, &IID_IDMLCompiledOperator, &out), E_INVALIDARG);
    ok(!out, "something was compiled");
    IDMLCompiledOperator *compiled = compile(other, op, DML_EXECUTION_FLAG_NONE);
    out = &out;
    ok_hr(IDMLDevice1_CreateOperatorInitializer(dml, 1, &compiled, &IID_IDMLOperatorInitializer, &out), E_INVALIDARG);
    ok(!out, "an initializer was made");
    ok_hr(IDMLDevice1_GetDeviceRemovedReason(dml), S_OK);
    api_release(compiled);
}

static void test_enumeration(IDMLDevice1 *dml)
{
    struct anydml_operator_info info, last = { 0 };
    UINT count = 0, running = 0;
    for (; AnydmlEnumOperators((IDMLDevice *)dml, count, &info) == S_OK; count++) {
        ok(info.Type > last.Type && !strncmp(info.Name, "DML_OPERATOR_", 13), "operator %u: %s", count, info.Name);
        ok(info.SchemaTypes && !(info.Types & ~info.SchemaTypes), "%s: types", info.Name);
        running += info.Types != 0;
        last = info;
    }
    ok(running > 0, "none of them runs");
    ok_hr(AnydmlEnumOperators((IDMLDevice *)dml, count, &info), DXGI_ERROR_NOT_FOUND);
    ok_hr(AnydmlEnumOperators(NULL, 0, &info), E_INVALIDARG);
    ok_hr(AnydmlEnumOperators((IDMLDevice *)dml, 0, NULL), E_INVALIDARG);
}

int main(void)
{
    api_begin();
    ID3D12Device *d3d = api_device();
    ULONG before = references(d3d);
    test_create(d3d);
    test_identity(d3d);
    IDMLDevice1 *dml = rig_dml_device(d3d, 0), *other = rig_dml_device(d3d, 0);
    test_feature_levels(dml);
    test_data_types(dml);
    test_private_data(dml, d3d);
    test_residency(dml, other);
    test_foreign_children(dml, other);
    test_enumeration(dml);
    api_release(dml);
    api_release(other);
    ok(references(d3d) == before, "%u references of the Direct3D device, %u before", references(d3d), before);
    api_release(d3d);
    return api_end();
}
