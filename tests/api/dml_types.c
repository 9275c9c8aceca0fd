/* SPDX-License-Identifier: Apache-2.0 */
/* Data types: every operator in every type that the documentation or an extension allows for each of its tensors; the
 * device's reports about them. */
#include "dml_test.h"

#include "schema/sample.h"

#include <anydml.h>

enum { TYPES = 16 };

static bool runs_all(void)
{
    const char *adapter = getenv("ANYDML_TEST_ADAPTER");
    return !adapter || !strcmp(adapter, "cpu");
}

static HRESULT create_and_compile(IDMLDevice1 *dml, const DML_OPERATOR_DESC *desc)
{
    IDMLOperator *op = NULL;
    IDMLCompiledOperator *compiled = NULL;
    HRESULT hr = IDMLDevice1_CreateOperator(dml, desc, &IID_IDMLOperator, (void **)&op);
    ok(hr == S_OK, "%s: CreateOperator: 0x%08x", schema_op_find(desc->Type)->name, (unsigned)hr);
    if (!op)
        return hr;
    hr = IDMLDevice1_CompileOperator(dml, op, DML_EXECUTION_FLAG_NONE, &IID_IDMLCompiledOperator, (void **)&compiled);
    ok((hr == S_OK) == (compiled != NULL), "0x%08x and %p", (unsigned)hr, (void *)compiled);
    if (compiled)
        api_release(compiled);
    api_release(op);
    return hr;
}

/* Every data type of a tensor field, the other free fields as in the sample. *out_failed: types that did not compile.
 */
static void test_field(IDMLDevice1 *dml, const struct schema_op *op, uint32_t field, uint32_t types,
                       uint64_t *out_failed)
{
    static struct schema_sample_storage storage;
    const char *name = op->fields[field].name;
    DML_OPERATOR_DESC desc;
    for (uint32_t type = 1; type < TYPES; type++) {
        if (!(types >> type & 1))
            continue;
        const char *type_name = schema_data_type_name((DML_TENSOR_DATA_TYPE)type);
        if (!schema_sample_typed(op, field, (DML_TENSOR_DATA_TYPE)type, &storage, &desc)) {
            ok(false, "%s.%s: no description with %s", op->name, name, type_name);
            continue;
        }
        HRESULT hr = create_and_compile(dml, &desc);
        ok(hr == S_OK || !runs_all(), "%s.%s in %s: 0x%08x", op->name, name, type_name, (unsigned)hr);
        ok(hr == S_OK || hr == DXGI_ERROR_UNSUPPORTED, "%s.%s in %s: 0x%08x", op->name, name, type_name, (unsigned)hr);
        if (hr != S_OK)
            *out_failed |= UINT64_C(1) << type;
    }
}

/* An operator's reported and actual types; *all collects the types of all operators, *lacking those that ADD takes and
 * does not run in. */
static void test_operator(IDMLDevice1 *dml, UINT i, uint64_t *all, uint64_t *lacking)
{
    const struct schema_op *op = schema_op_at(i);
    struct anydml_operator_info info;
    uint64_t types = 0, extensions = 0, failed = 0;
    ok_hr(AnydmlEnumOperators((IDMLDevice *)dml, i, &info), S_OK);
    ok(info.Type == op->type, "%u: %d", i, (int)info.Type);
    for (uint32_t field = 0; field < op->field_count; field++) {
        uint32_t documented = schema_field_types(op, field, DML_FEATURE_LEVEL_6_4);
        uint32_t more = schema_field_extensions(op, field, DML_FEATURE_LEVEL_6_4);
        types |= documented;
        extensions |= more;
        test_field(dml, op, field, documented | more, &failed);
    }
    extensions &= ~types;
    ok(info.SchemaTypes == types, "%s: SchemaTypes %#llx, not %#llx", op->name, (unsigned long long)info.SchemaTypes,
       (unsigned long long)types);
    ok(info.Types == (types & ~failed), "%s: Types %#llx, not %#llx", op->name, (unsigned long long)info.Types,
       (unsigned long long)(types & ~failed));
    ok(info.ExtensionTypes == (extensions & ~failed), "%s: ExtensionTypes %#llx, not %#llx", op->name,
       (unsigned long long)info.ExtensionTypes, (unsigned long long)(extensions & ~failed));
    *all |= info.Types | info.ExtensionTypes;
    if (op->type == DML_OPERATOR_ELEMENT_WISE_ADD)
        *lacking = failed;
}

static void test_features(IDMLDevice1 *dml, uint64_t all)
{
    for (uint32_t type = 0; type < TYPES + 2; type++) {
        DML_FEATURE_QUERY_TENSOR_DATA_TYPE_SUPPORT query = { (DML_TENSOR_DATA_TYPE)type };
        DML_FEATURE_DATA_TENSOR_DATA_TYPE_SUPPORT data = { 7 };
        HRESULT hr = IDMLDevice1_CheckFeatureSupport(dml, DML_FEATURE_TENSOR_DATA_TYPE_SUPPORT, sizeof(query), &query,
                                                     sizeof(data), &data);
        bool known = type <= DML_TENSOR_DATA_TYPE_INT4 || type == (uint32_t)ANYDML_TENSOR_DATA_TYPE_BFLOAT16;
        ok(hr == (known ? S_OK : E_INVALIDARG), "type %u: 0x%08x", type, (unsigned)hr);
        ok(!known || data.IsSupported == (BOOL)(all >> type & 1), "type %u: %d", type, (int)data.IsSupported);
    }
}

/* Extensions are rejected where the rule does not allow them. */
static void test_no_extension(IDMLDevice1 *dml)
{
    static struct schema_sample_storage storage;
    const struct schema_op *op = schema_op_find(DML_OPERATOR_ELEMENT_WISE_BIT_AND);
    DML_OPERATOR_DESC desc;
    ok(schema_sample(op->type, &storage, &desc), "no sample");
    for (uint32_t i = 0; i < storage.tensor_count; i++)
        storage.buffers[i].DataType = (DML_TENSOR_DATA_TYPE)14;
    ok_hr(IDMLDevice1_CreateOperator(dml, &desc, &IID_IDMLOperator, NULL), E_INVALIDARG);
    ok(schema_sample(DML_OPERATOR_ELEMENT_WISE_LOGICAL_AND, &storage, &desc), "no sample");
    for (uint32_t i = 0; i < storage.tensor_count; i++)
        storage.buffers[i].DataType = ANYDML_TENSOR_DATA_TYPE_BFLOAT16;
    ok_hr(IDMLDevice1_CreateOperator(dml, &desc, &IID_IDMLOperator, NULL), E_INVALIDARG);
}

int main(void)
{
    api_begin();
    ID3D12Device *d3d = api_device();
    IDMLDevice1 *dml = rig_dml_device(d3d, 0);
    uint64_t all = 0, lacking = 0;
    for (UINT i = 0; i < schema_op_count(); i++)
        test_operator(dml, i, &all, &lacking);
    test_features(dml, all & ~lacking);
    test_no_extension(dml);
    ok_hr(IDMLDevice1_GetDeviceRemovedReason(dml), S_OK);
    api_release(dml);
    api_release(d3d);
    return api_end();
}
