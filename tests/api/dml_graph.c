/* SPDX-License-Identifier: Apache-2.0 */
/* IDMLDevice1::CompileGraph: numbers, slots, owned inputs, constants, and invalid graphs. */
#include "dml_build.h"

#include <limits.h>
#include <sys/resource.h>

#define BASE_SPACE (UINT64_C(4) << 30) /* bytes of addresses; arrays for 2^32 inputs or outputs take more */

/* Runs with all inputs in one buffer each and compares the outputs, of 4 elements each. */
static void run(struct rig *rig, IDMLCompiledOperator *op, const struct prepared *prepared, UINT input_count,
                const struct bound *inputs, UINT output_count, const float *want)
{
    const UINT count = 4;
    ID3D12Resource *out = buffer_f32(rig, count * output_count, -1, 0);
    struct bound outputs[4];
    for (UINT i = 0; i < output_count; i++)
        outputs[i] = (struct bound){ out, (UINT64)i * count * 4, (UINT64)count * 4 };
    IDMLBindingTable *table = table_at(rig, op, 0);
    bind_inputs(table, input_count, inputs);
    bind_outputs(table, output_count, outputs);
    bind_prepared(table, prepared);
    record(rig, op, table);
    rig_run(rig);
    for (UINT i = 0; i < output_count; i++)
        expect_f32(rig, out, outputs[i].offset, want + (size_t)i * count, count);
    ok_hr(dml_reason(rig), S_OK);
    api_release(table);
    api_release(out);
}

/* (x + y) + x, with an unused input; the sum x + y is an output as well, twice. */
static void test_numbers(void)
{
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    struct build b;
    build_begin(&b, rig.dml, 3, 3);
    add_node(&b, add_operator(rig.dml, 4), "sum");
    add_node(&b, add_operator(rig.dml, 4), NULL);
    add_input(&b, 0, 0, 0);
    add_input(&b, 2, 0, 1);
    add_middle(&b, 0, 0, 1, 0);
    add_input(&b, 0, 1, 1);
    add_output(&b, 1, 0, 0);
    add_output(&b, 0, 0, 1);
    add_output(&b, 0, 0, 2);
    IDMLCompiledOperator *op = build_end(&b);
    struct prepared prepared = prepare(&rig, op, 0, NULL);
    ID3D12Resource *x = buffer_f32(&rig, 4, 1, 1), *y = buffer_f32(&rig, 4, 10, 10);
    const float want[12] = { 12, 24, 36, 48, 11, 22, 33, 44, 11, 22, 33, 44 };
    run(&rig, op, &prepared, 3, (struct bound[]){ { x, 0, 16 }, { NULL, 0, 0 }, { y, 0, 16 } }, 3, want);
    /* A buffer for the unused input is ignored. */
    run(&rig, op, &prepared, 3, (struct bound[]){ { x, 0, 16 }, { x, 0, 16 }, { y, 0, 16 } }, 3, want);
    api_release(x);
    api_release(y);
    prepared_release(&prepared);
    api_release(op);
    rig_destroy(&rig);
}

/* A graph of one node has no slot for the node's absent input; b is owned. */
static void test_owned(void)
{
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    struct build b;
    build_begin(&b, rig.dml, 2, 1);
    add_node(&b, gemm_operator(rig.dml, 2, 2, 2, DML_TENSOR_FLAG_OWNED_BY_DML), "product");
    add_input(&b, 0, 0, 0);
    add_input(&b, 1, 0, 1);
    add_output(&b, 0, 0, 0);
    IDMLCompiledOperator *op = build_end(&b);
    ID3D12Resource *x = buffer_f32(&rig, 4, 0, 1), *y = buffer_f32(&rig, 4, 1, 1);
    struct prepared prepared = prepare(&rig, op, 2, (struct bound[]){ { NULL, 0, 0 }, { y, 0, 16 } });
    api_release(y);
    run(&rig, op, &prepared, 2, (struct bound[]){ { x, 0, 16 }, { NULL, 0, 0 } }, 1, (const float[]){ 3, 4, 11, 16 });
    api_release(x);
    prepared_release(&prepared);
    api_release(op);
    rig_destroy(&rig);
}

/* x + constant, and the constant alone. */
static void test_constant(void)
{
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    float data[4] = { 100, 200, 300, 400 };
    struct build b;
    build_begin(&b, rig.dml, 1, 1);
    add_constant(&b, data, sizeof(data));
    add_node(&b, add_operator(rig.dml, 4), "sum");
    add_input(&b, 0, 1, 0);
    add_middle(&b, 0, 0, 1, 1);
    add_output(&b, 1, 0, 0);
    IDMLCompiledOperator *op = build_end(&b);
    memset(data, 0, sizeof(data));
    struct prepared prepared = prepare(&rig, op, 0, NULL);
    ID3D12Resource *x = buffer_f32(&rig, 4, 1, 1);
    run(&rig, op, &prepared, 1, (struct bound[]){ { x, 0, 16 } }, 1, (const float[]){ 101, 202, 303, 404 });
    api_release(x);
    prepared_release(&prepared);
    api_release(op);
    rig_destroy(&rig);
}

/* ---- errors: each changes a valid graph of a constant, two additions and a GEMM with an owned input ---- */

enum wrong {
    GOOD,
    NO_NODES,
    NODES_NULL,
    EDGES_NULL,
    NODE_TYPE,
    NODE_DESC_NULL,
    OPERATOR_NULL,
    OPERATOR_FOREIGN,
    CONSTANT_NULL,
    CONSTANT_EMPTY,
    CONSTANT_SHORT,
    CONSTANT_LONG,
    EDGE_TYPE,
    EDGE_DESC_NULL,
    GRAPH_INPUT_RANGE,
    TO_NODE_RANGE,
    TO_SLOT_RANGE,
    FROM_NODE_RANGE,
    FROM_SLOT_RANGE,
    GRAPH_OUTPUT_RANGE,
    TWO_SOURCES,
    NO_SOURCE,
    ABSENT_INPUT,
    OUTPUT_TWICE,
    OUTPUT_UNFED,
    OWNED_BY_NODE,
    OWNED_DISAGREE,
    SIZES_DIFFER,
    CYCLE,
    SELF_EDGE,
    FLAGS,
    WRONGS
};

static void build_good(struct build *b, IDMLDevice1 *dml, const float *data)
{
    build_begin(b, dml, 3, 2);
    add_constant(b, data, 16);
    add_node(b, add_operator(dml, 4), "first");
    add_node(b, add_operator(dml, 4), "second");
    add_node(b, gemm_operator(dml, 2, 2, 2, DML_TENSOR_FLAG_OWNED_BY_DML), "product");
    add_input(b, 0, 1, 0);
    add_middle(b, 0, 0, 1, 1);
    add_middle(b, 1, 0, 2, 0);
    add_input(b, 1, 2, 1);
    add_middle(b, 2, 0, 3, 0);
    add_input(b, 2, 3, 1);
    add_output(b, 3, 0, 0);
    add_output(b, 1, 0, 1);
}

static void spoil_parts(struct build *b, enum wrong wrong)
{
    switch (wrong) {
    case NO_NODES:
        b->desc.NodeCount = 0;
        break;
    case NODES_NULL:
        b->desc.Nodes = NULL;
        break;
    case EDGES_NULL:
        b->desc.OutputEdges = NULL;
        break;
    case NODE_TYPE:
        b->nodes[1].Type = DML_GRAPH_NODE_TYPE_INVALID;
        break;
    case NODE_DESC_NULL:
        b->nodes[1].Desc = NULL;
        break;
    case CONSTANT_NULL:
        b->constants[0].Data = NULL;
        break;
    case CONSTANT_EMPTY:
        b->constants[0].DataSize = 0;
        break;
    case CONSTANT_SHORT:
        b->constants[0].DataSize = 15;
        break;
    case CONSTANT_LONG:
        b->constants[0].DataSize = 17;
        break;
    case EDGE_TYPE:
        b->input_edges[0].Type = DML_GRAPH_EDGE_TYPE_OUTPUT;
        break;
    case EDGE_DESC_NULL:
        b->middle_edges[0].Desc = NULL;
        break;
    default:
        break;
    }
}

static void spoil_edges(struct build *b, enum wrong wrong)
{
    switch (wrong) {
    case GRAPH_INPUT_RANGE:
        b->inputs[0].GraphInputIndex = 3;
        break;
    case TO_NODE_RANGE:
        b->inputs[0].ToNodeIndex = 4;
        break;
    case TO_SLOT_RANGE:
        b->middles[0].ToNodeInputIndex = 2;
        break;
    case FROM_NODE_RANGE:
        b->middles[1].FromNodeIndex = 4;
        break;
    case FROM_SLOT_RANGE:
        b->middles[0].FromNodeOutputIndex = 1;
        break;
    case GRAPH_OUTPUT_RANGE:
        b->outputs[1].GraphOutputIndex = 2;
        break;
    case TWO_SOURCES:
        add_input(b, 0, 2, 1);
        break;
    case NO_SOURCE:
        b->desc.IntermediateEdgeCount = 2;
        break;
    case ABSENT_INPUT:
        add_input(b, 0, 3, 2);
        break;
    case OUTPUT_TWICE:
        b->outputs[1].GraphOutputIndex = 0;
        break;
    case OUTPUT_UNFED:
        b->desc.OutputEdgeCount = 1;
        break;
    case OWNED_BY_NODE:
        b->inputs[2].ToNodeInputIndex = 0, b->middles[2].ToNodeInputIndex = 1;
        break;
    case OWNED_DISAGREE:
        b->inputs[2].GraphInputIndex = 0;
        break;
    case CYCLE: /* "first" gets its first input from "second" instead of the graph */
        b->inputs[0] = b->inputs[1];
        b->inputs[1] = b->inputs[2];
        b->desc.InputEdgeCount = 2;
        add_middle(b, 2, 0, 1, 0);
        break;
    case SELF_EDGE:
        b->middles[1] = (DML_INTERMEDIATE_GRAPH_EDGE_DESC){ 2, 0, 2, 0, NULL };
        break;
    default:
        break;
    }
}

static void spoil_operators(struct build *b, enum wrong wrong, IDMLDevice1 *other)
{
    IDMLOperator *old = b->operators[2].Operator;
    if (wrong == OPERATOR_NULL)
        b->operators[2].Operator = NULL;
    else if (wrong == OPERATOR_FOREIGN)
        b->operators[2].Operator = add_operator(other, 4);
    else if (wrong == SIZES_DIFFER)
        b->operators[2].Operator = add_operator(b->dml, 5);
    else
        return;
    api_release(old);
}

static void test_refused(IDMLDevice1 *dml, IDMLDevice1 *other)
{
    static const float data[5] = { 1, 2, 3, 4, 5 };
    for (int wrong = GOOD; wrong < WRONGS; wrong++) {
        struct build b;
        void *out = &out;
        build_good(&b, dml, data);
        spoil_parts(&b, (enum wrong)wrong);
        spoil_edges(&b, (enum wrong)wrong);
        spoil_operators(&b, (enum wrong)wrong, other);
        DML_EXECUTION_FLAGS flags = wrong == FLAGS ? (DML_EXECUTION_FLAGS)16 : DML_EXECUTION_FLAG_NONE;
        HRESULT hr = IDMLDevice1_CompileGraph(dml, &b.desc, flags, &IID_IDMLCompiledOperator, &out);
        rig_skip(hr);
        ok(hr == (wrong == GOOD ? S_OK : E_INVALIDARG), "case %d: 0x%08x", wrong, (unsigned)hr);
        ok((out != NULL) == (wrong == GOOD), "case %d left %p", wrong, out);
        if (out && hr == S_OK)
            api_release(out);
        hr = IDMLDevice1_CompileGraph(dml, &b.desc, flags, &IID_IDMLCompiledOperator, NULL);
        ok(hr == (wrong == GOOD ? S_FALSE : E_INVALIDARG), "case %d, only checked: 0x%08x", wrong, (unsigned)hr);
        release_nodes(&b);
    }
    void *out = &out;
    ok_hr(IDMLDevice1_CompileGraph(dml, NULL, 0, &IID_IDMLCompiledOperator, &out), E_INVALIDARG);
    ok(!out, "desc NULL");
    ok_hr(IDMLDevice1_GetDeviceRemovedReason(dml), S_OK);
}

/* Implausible counts are rejected before anything is allocated for them; some unused inputs are allowed. */
static void test_counts(void)
{
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    const float data[4] = { 1, 2, 3, 4 };
    const struct {
        UINT inputs, outputs;
        HRESULT hr;
    } cases[] = { { UINT_MAX, 2, E_INVALIDARG },
                  { 3, UINT_MAX, E_INVALIDARG },
                  { 3, 3, E_INVALIDARG },
                  { UINT_MAX, UINT_MAX, E_INVALIDARG },
                  { 1003, 2, S_OK } };
    struct rlimit before;
    ok(!getrlimit(RLIMIT_AS, &before), "getrlimit");
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    struct rlimit tight = { BASE_SPACE, before.rlim_max };
    if (api_is("cpu")) /* drivers map as they like */
        ok(!setrlimit(RLIMIT_AS, &tight), "setrlimit");
#endif
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct build b;
        void *out = NULL;
        build_good(&b, rig.dml, data);
        b.desc.InputCount = cases[i].inputs;
        b.desc.OutputCount = cases[i].outputs;
        HRESULT hr = IDMLDevice1_CompileGraph(rig.dml, &b.desc, 0, &IID_IDMLCompiledOperator, &out);
        rig_skip(hr);
        ok(hr == cases[i].hr, "%u inputs, %u outputs: 0x%08x", cases[i].inputs, cases[i].outputs, (unsigned)hr);
        if (out)
            api_release(out);
        release_nodes(&b);
    }
    ok(!setrlimit(RLIMIT_AS, &before), "setrlimit");
    rig_destroy(&rig);
}

/* The same edge sizes in another shape and type: bits are preserved. */
static void test_reinterpreting_edge(void)
{
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    UINT sizes[2] = { 2, 2 };
    DML_BUFFER_TENSOR_DESC buffer = { DML_TENSOR_DATA_TYPE_UINT32, DML_TENSOR_FLAG_NONE, 2, sizes, NULL, 16, 0 };
    DML_TENSOR_DESC tensor = { DML_TENSOR_TYPE_BUFFER, &buffer };
    DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC identity = { &tensor, &tensor, NULL };
    struct build b;
    build_begin(&b, rig.dml, 2, 1);
    add_node(&b, add_operator(rig.dml, 4), NULL);
    add_node(&b, make_operator(rig.dml, DML_OPERATOR_ELEMENT_WISE_IDENTITY, &identity), NULL);
    add_input(&b, 0, 0, 0);
    add_input(&b, 1, 0, 1);
    add_middle(&b, 0, 0, 1, 0);
    add_output(&b, 1, 0, 0);
    IDMLCompiledOperator *op = build_end(&b);
    struct prepared prepared = prepare(&rig, op, 0, NULL);
    ID3D12Resource *x = buffer_f32(&rig, 4, 1, 1);
    run(&rig, op, &prepared, 2, (struct bound[]){ { x, 0, 16 }, { x, 0, 16 } }, 1, (const float[]){ 2, 4, 6, 8 });
    api_release(x);
    prepared_release(&prepared);
    api_release(op);
    rig_destroy(&rig);
}

static void test_all_refused(void)
{
    ID3D12Device *d3d = api_device();
    IDMLDevice1 *dml = rig_dml_device(d3d, 0), *other = rig_dml_device(d3d, 0);
    test_refused(dml, other);
    api_release(dml);
    api_release(other);
    api_release(d3d);
}

int main(void)
{
    api_begin();
    rig_part(test_all_refused());
    rig_part(test_numbers());
    rig_part(test_owned());
    rig_part(test_constant());
    rig_part(test_counts());
    rig_part(test_reinterpreting_edge());
    return rig_end();
}
