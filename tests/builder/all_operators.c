/* SPDX-License-Identifier: Apache-2.0 */
/* Every function of graph_operators.h, with the fields of the schema's sample of its operator. What it asks a device to
 * create must be that very description: outputs have the sizes that the sample says, which the builder does not know.
 * The generated calls set fields by name, so that an argument in the wrong place is found. Then every operator is
 * compiled on a real device. tests/conformance --builder compares what they compute with numpy. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <DirectMLGuids.h>
#include <anydml_graph.h>

#include "schema/sample.h"

struct call_row {
    DML_OPERATOR_TYPE type;
    anydml_expr (*call)(struct anydml_graph *, const void *, const anydml_expr *, const struct anydml_output *);
};

static struct anydml_activation activation_of(const DML_OPERATOR_DESC *desc)
{
    struct anydml_activation made = { DML_OPERATOR_INVALID, { 0, 0 } };
    const struct schema_op *op = desc ? schema_op_find(desc->Type) : NULL;
    uint32_t count = 0;
    made.Type = op ? op->type : DML_OPERATOR_INVALID;
    for (uint32_t i = 0; op && i < op->field_count && count < 2; i++)
        if (op->fields[i].type == SCHEMA_FLOAT)
            memcpy(&made.Parameters[count++], (const char *)desc->Desc + op->fields[i].offset, sizeof(float));
    return made;
}

static const struct anydml_activation *activations_of(UINT count, const DML_OPERATOR_DESC *descs)
{
    static struct anydml_activation made[6];
    for (UINT i = 0; i < count; i++)
        made[i] = activation_of(&descs[i]);
    return made;
}

#include "graph_calls.inc"

/* ---- a device that compares ---- */

static const DML_OPERATOR_DESC *expected;
static const char *difference; /* the field that was not as expected */
static uint32_t created;

static bool same_activation(const DML_OPERATOR_DESC *a, const DML_OPERATOR_DESC *b)
{
    const struct anydml_activation x = activation_of(a), y = activation_of(b);
    return !a == !b && !memcmp(&x, &y, sizeof(x));
}

static bool same_tensor(const DML_TENSOR_DESC *a, const DML_TENSOR_DESC *b)
{
    if (!a || !b)
        return a == b;
    const DML_BUFFER_TENSOR_DESC *x = a->Desc, *y = b->Desc;
    return x->DataType == y->DataType && x->DimensionCount == y->DimensionCount &&
           !memcmp(x->Sizes, y->Sizes, x->DimensionCount * sizeof(UINT)) &&
           x->TotalTensorSizeInBytes == y->TotalTensorSizeInBytes;
}

static bool same_field(const struct schema_field *field, const char *a, const char *b)
{
    const uint32_t count = schema_array_length(field, a);
    const void *x, *y;
    a += field->offset;
    b += field->offset;
    memcpy(&x, a, sizeof(x));
    memcpy(&y, b, sizeof(y));
    switch ((enum schema_field_type)field->type) {
    case SCHEMA_TENSOR:
    case SCHEMA_TENSOR_ARRAY:
        for (uint32_t i = 0; i < count; i++)
            if (!same_tensor(x ? (const DML_TENSOR_DESC *)x + i : NULL, y ? (const DML_TENSOR_DESC *)y + i : NULL))
                return false;
        return true;
    case SCHEMA_UINT_ARRAY:
    case SCHEMA_INT_ARRAY:
    case SCHEMA_FLOAT_ARRAY:
        return !memcmp(x, y, count * 4);
    case SCHEMA_FUSED_ACTIVATION:
        return same_activation(x, y);
    case SCHEMA_ACTIVATION_ARRAY:
        for (uint32_t i = 0; i < count; i++)
            if (!same_activation((const DML_OPERATOR_DESC *)x + i, (const DML_OPERATOR_DESC *)y + i))
                return false;
        return true;
    case SCHEMA_SCALE_BIAS:
        return !x == !y && (!x || !memcmp(x, y, sizeof(DML_SCALE_BIAS)));
    case SCHEMA_SCALAR:
    case SCHEMA_SIZE_2D:
        return !memcmp(a, b, 8);
    default:
        return !memcmp(a, b, 4);
    }
}

static HRESULT fake_create(IDMLDevice1 *iface, const DML_OPERATOR_DESC *desc, REFIID iid, void **out)
{
    const struct schema_op *op = schema_op_find(expected->Type);
    (void)iface, (void)iid;
    *out = NULL;
    created++;
    if (desc->Type != expected->Type)
        difference = "the type";
    for (uint32_t i = 0; i < op->field_count && !difference; i++) {
        const struct schema_field *field = &op->fields[i];
        uint32_t a = 1, b = 1;
        if (field->count_offset) {
            a = schema_array_length(field, desc->Desc);
            b = schema_array_length(field, expected->Desc);
        }
        if (a != b || !same_field(field, desc->Desc, expected->Desc))
            difference = field->name;
    }
    return S_OK;
}

static HRESULT fake_query(IDMLDevice1 *iface, REFIID iid, void **out)
{
    (void)iid;
    *out = iface;
    return S_OK;
}

static ULONG fake_count(IDMLDevice1 *iface)
{
    (void)iface;
    return 1;
}

static IDMLDevice1Vtbl fake_vtbl = {
    .QueryInterface = fake_query, .AddRef = fake_count, .Release = fake_count, .CreateOperator = fake_create
};

/* ---- the calls ---- */

static int failures;

static void fail(const struct schema_op *op, const char *what, const char *more)
{
    printf("%s: %s %s\n", op->name, what, more);
    failures++;
}

struct slots {
    anydml_expr inputs[SCHEMA_SAMPLE_TENSORS];
    anydml_expr results[SCHEMA_SAMPLE_TENSORS];
    struct anydml_output outputs[SCHEMA_SAMPLE_TENSORS];
    uint32_t output_count;
};

/* Inputs like the sample's, and requests for the outputs that it has, with their types and maybe sizes. */
static void prepare(struct slots *slots, struct anydml_graph *graph, const struct schema_op *op, const char *desc,
                    bool sizes)
{
    uint32_t input = 0, graph_inputs = 0;
    memset(slots, 0, sizeof(*slots));
    for (uint32_t i = 0; i < op->field_count; i++) {
        const struct schema_field *field = &op->fields[i];
        if (field->kind == SCHEMA_ATTRIBUTE)
            continue;
        const DML_TENSOR_DESC *tensors;
        memcpy(&tensors, desc + field->offset, sizeof(tensors));
        for (uint32_t at = 0; at < schema_array_length(field, desc); at++) {
            const DML_BUFFER_TENSOR_DESC *tensor = tensors ? tensors[at].Desc : NULL;
            if (field->kind == SCHEMA_INPUT) {
                slots->inputs[input++] = tensor ? AnydmlGraphInputTensor(graph, graph_inputs++, tensor) : NULL;
                continue;
            }
            const uint32_t slot = slots->output_count++;
            if (!tensor)
                continue;
            slots->outputs[slot].Expression = &slots->results[slot];
            slots->outputs[slot].DataType = tensor->DataType;
            slots->outputs[slot].DimensionCount = sizes ? tensor->DimensionCount : 0;
            slots->outputs[slot].Sizes = tensor->Sizes;
        }
    }
}

/* Operators of which the sizes of an output follow from nothing. */
static bool needs_sizes(DML_OPERATOR_TYPE type)
{
    static const DML_OPERATOR_TYPE types[] = {
        DML_OPERATOR_FOLD,
        DML_OPERATOR_SLICE_GRAD,
        DML_OPERATOR_RESAMPLE_GRAD,
        DML_OPERATOR_RESAMPLE_GRAD1,
        DML_OPERATOR_ONE_HOT,
        DML_OPERATOR_MAX_UNPOOLING,
        DML_OPERATOR_ROI_ALIGN,
        DML_OPERATOR_ROI_ALIGN1,
        DML_OPERATOR_RANDOM_GENERATOR,
        DML_OPERATOR_FILL_VALUE_CONSTANT,
        DML_OPERATOR_FILL_VALUE_SEQUENCE,
        DML_OPERATOR_DIAGONAL_MATRIX,
        DML_OPERATOR_SPLIT,                /* into unequal parts, as the sample has it */
        DML_OPERATOR_MULTIHEAD_ATTENTION1, /* the caches */
        DML_OPERATOR_NONZERO_COORDINATES,  /* the sample's count has four dimensions */
    };
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (types[i] == type)
            return true;
    return false;
}

static void compare_call(const struct call_row *row, const struct schema_op *op)
{
    static struct schema_sample_storage storage;
    IDMLDevice1 fake = { &fake_vtbl };
    DML_OPERATOR_DESC sample;
    struct anydml_graph *graph;
    struct slots slots;
    if (!schema_sample(op->type, &storage, &sample) || FAILED(AnydmlGraphCreate((IDMLDevice *)&fake, &graph))) {
        fail(op, "has no sample or graph", "");
        return;
    }
    expected = &sample;
    difference = NULL;
    created = 0;
    prepare(&slots, graph, op, sample.Desc, needs_sizes(op->type));
    anydml_expr first = row->call(graph, sample.Desc, slots.inputs, slots.outputs);
    if (!first || !created || difference)
        fail(op, difference ? difference : "", difference ? "differs" : AnydmlGraphMessage(graph));
    for (uint32_t i = 1; i < slots.output_count; i++)
        if (!slots.outputs[i].Expression != !slots.results[i])
            fail(op, "an output was not stored", "");
    AnydmlGraphDestroy(graph);
}

static void compile_call(IDMLDevice *device, const struct call_row *row, const struct schema_op *op)
{
    static struct schema_sample_storage storage;
    DML_OPERATOR_DESC sample;
    struct anydml_graph *graph;
    struct slots slots;
    IDMLCompiledOperator *compiled = NULL;
    schema_sample(op->type, &storage, &sample);
    if (FAILED(AnydmlGraphCreate(device, &graph)))
        return;
    prepare(&slots, graph, op, sample.Desc, needs_sizes(op->type));
    anydml_expr first = row->call(graph, sample.Desc, slots.inputs, slots.outputs);
    if (FAILED(AnydmlGraphCompile(graph, DML_EXECUTION_FLAG_NONE, 1, &first, &compiled)))
        fail(op, "is not compiled:", AnydmlGraphMessage(graph));
    else
        IDMLCompiledOperator_Release(compiled);
    AnydmlGraphDestroy(graph);
}

int main(void)
{
    const size_t count = sizeof(call_rows) / sizeof(call_rows[0]);
    ID3D12Device *d3d12;
    IDMLDevice *device;
    if (count != schema_op_count() + 4) {
        printf("%zu functions for %u operators\n", count, (unsigned)schema_op_count() + 4);
        return 1;
    }
    if (FAILED(D3D12CreateDevice(NULL, D3D_FEATURE_LEVEL_1_0_CORE, &IID_ID3D12Device, (void **)&d3d12)) ||
        FAILED(DMLCreateDevice(d3d12, DML_CREATE_DEVICE_FLAG_NONE, &IID_IDMLDevice, (void **)&device)))
        return 1;
    for (size_t i = 0; i < count; i++) {
        compare_call(&call_rows[i], schema_op_find(call_rows[i].type));
        compile_call(device, &call_rows[i], schema_op_find(call_rows[i].type));
    }
    IDMLDevice_Release(device);
    ID3D12Device_Release(d3d12);
    printf("%zu functions, %d failures\n", count, failures);
    return failures != 0;
}
