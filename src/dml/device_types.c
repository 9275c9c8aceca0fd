/* SPDX-License-Identifier: Apache-2.0 */
/* The data types in which a device executes each operator. */
#include "dml/dml.h"

#include "schema/sample.h"

static bool compiles(struct dml_device *device, const DML_OPERATOR_DESC *op_desc)
{
    char error[DML_ERROR_BYTES] = "";
    struct dml_program program = { 0 };
    struct schema_desc *desc = NULL;
    struct graph graph;
    HRESULT hr = schema_desc_create(op_desc, &desc);
    if (SUCCEEDED(hr))
        hr = graph_from_operator(&graph, desc, DML_EXECUTION_FLAG_NONE, error);
    if (SUCCEEDED(hr)) {
        hr = dml_program_create(device, &graph, NULL, 0, false, &program, error);
        dml_program_destroy(device, &program);
        graph_finish(&graph);
    }
    schema_desc_destroy(desc);
    return SUCCEEDED(hr);
}

static bool takes(const struct schema_op *op, uint32_t field, DML_TENSOR_DATA_TYPE type)
{
    const uint32_t types =
        schema_field_types(op, field, DML_HIGHEST_LEVEL) | schema_field_extensions(op, field, DML_HIGHEST_LEVEL);
    return types >> type & 1;
}

/* Whether an earlier tensor of the same type group has had the answer. */
static bool repeats(const struct schema_op *op, uint32_t field)
{
    for (uint32_t i = 0; i < field && op->fields[field].type_group; i++)
        if (op->fields[i].kind != SCHEMA_ATTRIBUTE && op->fields[i].type_group == op->fields[field].type_group)
            return true;
    return false;
}

enum runs { RUNS_NOT_TAKEN, RUNS, RUNS_NOT };

static enum runs operator_runs(struct dml_device *device, const struct schema_op *op, DML_TENSOR_DATA_TYPE type)
{
    struct schema_sample_storage storage;
    DML_OPERATOR_DESC desc;
    enum runs runs = RUNS_NOT_TAKEN;
    for (uint32_t i = 0; i < op->field_count; i++) {
        if (!takes(op, i, type) || repeats(op, i) || !schema_sample_typed(op, i, type, &storage, &desc))
            continue;
        if (!compiles(device, &desc))
            return RUNS_NOT;
        runs = RUNS;
    }
    return runs;
}

uint32_t dml_operator_types(struct dml_device *device, const struct schema_op *op, uint32_t types)
{
    uint32_t running = 0;
    for (uint32_t type = 1; type < 16; type++)
        if ((types >> type & 1) && operator_runs(device, op, (DML_TENSOR_DATA_TYPE)type) == RUNS)
            running |= UINT32_C(1) << type;
    return running;
}

bool dml_type_runs(struct dml_device *device, DML_TENSOR_DATA_TYPE type)
{
    const enum runs add = operator_runs(device, schema_op_find(DML_OPERATOR_ELEMENT_WISE_ADD), type);
    bool any = add == RUNS;
    for (uint32_t i = 0; add == RUNS_NOT_TAKEN && !any && i < schema_op_count(); i++)
        any = operator_runs(device, schema_op_at(i), type) == RUNS;
    return any;
}
