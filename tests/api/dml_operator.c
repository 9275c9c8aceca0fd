/* SPDX-License-Identifier: Apache-2.0 */
/* IDMLOperator: all operators can be described; invalid descriptions; nothing of the caller's is kept; sizes of
 * tensors. */
#include "dml_test.h"

#include "schema/sample.h"

#include <anydml.h>

static HRESULT create(IDMLDevice1 *dml, DML_OPERATOR_TYPE type, const void *desc, const IID *iid, void **out)
{
    DML_OPERATOR_DESC op = { type, desc };
    return IDMLDevice1_CreateOperator(dml, &op, iid, out);
}

/* Creates one of each, and compiles it: the cpu adapter runs all. */
static void test_all(IDMLDevice1 *dml)
{
    static struct schema_sample_storage storage;
    struct anydml_operator_info info;
    const char *adapter = getenv("ANYDML_TEST_ADAPTER");
    const bool some = adapter && strcmp(adapter, "cpu"); /* shaders are for some operators */
    UINT compiled = 0;
    for (UINT i = 0; AnydmlEnumOperators((IDMLDevice *)dml, i, &info) == S_OK; i++) {
        DML_OPERATOR_DESC desc;
        IDMLOperator *op = NULL;
        void *program = NULL;
        ok(schema_sample(info.Type, &storage, &desc), "no recipe of %s", info.Name);
        HRESULT hr = IDMLDevice1_CreateOperator(dml, &desc, &IID_IDMLOperator, (void **)&op);
        ok(hr == S_OK, "%s: 0x%08x", info.Name, (unsigned)hr);
        if (!op)
            continue;
        memset(&storage, 0xa5, sizeof(storage)); /* descriptions are read during the call only */
        hr = IDMLDevice1_CompileOperator(dml, op, 0, &IID_IDMLCompiledOperator, &program);
        ok(hr == S_OK || (some && hr == DXGI_ERROR_UNSUPPORTED), "%s: 0x%08x", info.Name, (unsigned)hr);
        ok(info.Types || hr == DXGI_ERROR_UNSUPPORTED, "%s compiled, but is not said to run", info.Name);
        ok((hr == S_OK) == (program != NULL), "%s: 0x%08x and %p", info.Name, (unsigned)hr, program);
        compiled += hr == S_OK;
        if (program)
            api_release(program);
        ok(!api_release(op), "%s has references left", info.Name);
    }
    ok(compiled == schema_op_count() || (some && compiled > 0), "%u operators compile", compiled);
}

static void test_refused(IDMLDevice1 *dml)
{
    struct tensor tensor;
    const DML_TENSOR_DESC *desc = tensor_f32(&tensor, 1, 1, 1, 4, DML_TENSOR_FLAG_NONE);
    DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC good = { desc, desc, NULL }, bad = { desc, NULL, NULL };
    void *out = &out;
    ok_hr(IDMLDevice1_CreateOperator(dml, NULL, &IID_IDMLOperator, &out), E_INVALIDARG);
    ok(!out, "desc NULL");
    ok_hr(create(dml, DML_OPERATOR_ELEMENT_WISE_IDENTITY, NULL, &IID_IDMLOperator, &out), E_INVALIDARG);
    ok_hr(create(dml, DML_OPERATOR_INVALID, &good, &IID_IDMLOperator, &out), E_INVALIDARG);
    ok_hr(create(dml, (DML_OPERATOR_TYPE)9999, &good, &IID_IDMLOperator, &out), E_INVALIDARG);
    out = &out;
    ok_hr(create(dml, DML_OPERATOR_ELEMENT_WISE_IDENTITY, &bad, &IID_IDMLOperator, &out), E_INVALIDARG);
    ok(!out, "an output is missing");
    ok_hr(create(dml, DML_OPERATOR_ELEMENT_WISE_IDENTITY, &good, &IID_IDMLOperator, NULL), S_FALSE);
    ok_hr(create(dml, DML_OPERATOR_ELEMENT_WISE_IDENTITY, &bad, &IID_IDMLOperator, NULL), E_INVALIDARG);
    out = &out;
    ok_hr(create(dml, DML_OPERATOR_ELEMENT_WISE_IDENTITY, &good, &IID_IDMLCompiledOperator, &out), E_NOINTERFACE);
    ok(!out, "an operator is not compiled");
    tensor.buffer.DimensionCount = 0;
    ok_hr(create(dml, DML_OPERATOR_ELEMENT_WISE_IDENTITY, &good, &IID_IDMLOperator, NULL), E_INVALIDARG);
    tensor.buffer.DimensionCount = 4;
    tensor.sizes[2] = 0;
    ok_hr(create(dml, DML_OPERATOR_ELEMENT_WISE_IDENTITY, &good, &IID_IDMLOperator, NULL), E_INVALIDARG);
}

/* The minimum TotalTensorSizeInBytes: accepted, 4 bytes less are not. */
struct size_case {
    DML_TENSOR_DATA_TYPE type;
    UINT rank, sizes[4];
    bool strided;
    UINT strides[4];
    UINT64 bytes; /* 0: refused in any case */
};

static const struct size_case size_cases[] = {
    { DML_TENSOR_DATA_TYPE_FLOAT32, 4, { 1, 1, 3, 5 }, false, { 0 }, 60 },
    { DML_TENSOR_DATA_TYPE_UINT8, 4, { 1, 1, 1, 5 }, false, { 0 }, 8 },
    { DML_TENSOR_DATA_TYPE_FLOAT16, 4, { 1, 2, 3, 3 }, false, { 0 }, 36 },
    { DML_TENSOR_DATA_TYPE_FLOAT32, 4, { 1, 3, 4, 4 }, true, { 0, 1, 0, 0 }, 12 },
    { DML_TENSOR_DATA_TYPE_FLOAT32, 4, { 1, 1, 2, 3 }, true, { 10, 10, 5, 1 }, 32 },
    { DML_TENSOR_DATA_TYPE_FLOAT16, 4, { 1, 2, 3, 4 }, true, { 24, 1, 8, 2 }, 48 },
    { DML_TENSOR_DATA_TYPE_INT64, 2, { 2, 2 }, false, { 0 }, 32 },
    { DML_TENSOR_DATA_TYPE_UINT8, 4, { 1, 65536, 65536, 1 }, false, { 0 }, 0 },
};

static HRESULT create_sized(IDMLDevice1 *dml, const struct size_case *c, UINT64 bytes)
{
    DML_BUFFER_TENSOR_DESC in = { c->type,  DML_TENSOR_FLAG_NONE,           c->rank,
                                  c->sizes, c->strided ? c->strides : NULL, bytes,
                                  0 };
    DML_BUFFER_TENSOR_DESC out = { c->type, DML_TENSOR_FLAG_NONE, c->rank, c->sizes, NULL, UINT64_C(1) << 33, 0 };
    DML_TENSOR_DESC in_desc = { DML_TENSOR_TYPE_BUFFER, &in }, out_desc = { DML_TENSOR_TYPE_BUFFER, &out };
    DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC identity = { &in_desc, &out_desc, NULL };
    return create(dml, DML_OPERATOR_ELEMENT_WISE_IDENTITY, &identity, &IID_IDMLOperator, NULL);
}

static void test_sizes(IDMLDevice1 *dml)
{
    for (size_t i = 0; i < sizeof(size_cases) / sizeof(size_cases[0]); i++) {
        const struct size_case *c = &size_cases[i];
        UINT64 bytes = c->bytes ? c->bytes : UINT64_C(1) << 33;
        HRESULT hr = create_sized(dml, c, bytes);
        ok(hr == (c->bytes ? S_FALSE : E_INVALIDARG), "case %zu: 0x%08x", i, (unsigned)hr);
        hr = create_sized(dml, c, c->bytes ? c->bytes - 4 : 4);
        ok(hr == E_INVALIDARG, "case %zu, 4 bytes less: 0x%08x", i, (unsigned)hr);
    }
}

static void test_object(IDMLDevice1 *dml)
{
    static const IID *const iids[] = { &IID_IUnknown, &IID_IDMLObject, &IID_IDMLDeviceChild, &IID_IDMLOperator };
    IDMLOperator *op = identity_operator(dml, 4);
    void *out;
    for (size_t i = 0; i < sizeof(iids) / sizeof(iids[0]); i++) {
        ok_hr(IDMLOperator_QueryInterface(op, iids[i], &out), S_OK);
        ok(out == (void *)op, "interface %zu has another pointer", i);
        api_release(out);
    }
    ok_hr(IDMLOperator_QueryInterface(op, &IID_IDMLPageable, &out), E_NOINTERFACE);
    ok_hr(IDMLOperator_GetDevice(op, &IID_IDMLDevice1, &out), S_OK);
    ok(out == (void *)dml, "another device");
    api_release(out);
    ok_hr(IDMLOperator_GetDevice(op, &IID_IDMLOperator, &out), E_NOINTERFACE);
    ok_hr(IDMLOperator_GetDevice(op, &IID_IDMLDevice, NULL), E_INVALIDARG);
    ok_hr(IDMLOperator_SetName(op, L"named"), S_OK);
    api_release(op);
}

int main(void)
{
    api_begin();
    ID3D12Device *d3d = api_device();
    IDMLDevice1 *dml = rig_dml_device(d3d, 0);
    test_object(dml);
    test_refused(dml);
    test_sizes(dml);
    test_all(dml);
    ok_hr(IDMLDevice1_GetDeviceRemovedReason(dml), S_OK);
    api_release(dml);
    api_release(d3d);
    return api_end();
}
