/* SPDX-License-Identifier: Apache-2.0 */
/* IDMLBindingTable: creation, Reset, rules for bindings, overlaps. A rejected binding removes the DirectML device with
 * E_INVALIDARG and does not affect the Direct3D device. */
#include "dml_test.h"

/* ---- creation ---- */

static HRESULT try_table(struct rig *rig, void *dispatchable, UINT64 cpu, UINT64 gpu, UINT count)
{
    DML_BINDING_TABLE_DESC desc = { dispatchable, { (SIZE_T)cpu }, { gpu }, count };
    IDMLBindingTable *table = (IDMLBindingTable *)&desc;
    HRESULT hr = IDMLDevice1_CreateBindingTable(rig->dml, &desc, &IID_IDMLBindingTable, (void **)&table);
    if (SUCCEEDED(hr))
        api_release(table);
    else
        ok(!table, "a table was made and refused");
    return hr;
}

static void test_creation(void)
{
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    IDMLDevice1 *second = rig_dml_device(rig.d3d, 0);
    IDMLCompiledOperator *op = compile(rig.dml, identity_operator(rig.dml, 8), DML_EXECUTION_FLAG_NONE);
    IDMLCompiledOperator *foreign = compile(second, identity_operator(second, 8), DML_EXECUTION_FLAG_NONE);
    ID3D12DescriptorHeap *plain = rig_heap(rig.d3d, 8, false);
    D3D12_CPU_DESCRIPTOR_HANDLE plain_cpu;
    plain_cpu = ID3D12DescriptorHeap_GetCPUDescriptorHandleForHeapStart(plain);
    UINT count = properties(op).RequiredDescriptorCount, last = DML_TEST_DESCRIPTORS - count;
    UINT64 cpu = rig_cpu(&rig, 0).ptr, gpu = rig_gpu(&rig, 0).ptr;
    ok_hr(try_table(&rig, op, cpu, gpu, count), S_OK);
    ok_hr(try_table(&rig, op, cpu, gpu, count + 5), S_OK);
    ok_hr(try_table(&rig, op, plain_cpu.ptr, gpu, count), S_OK);
    ok_hr(try_table(&rig, op, rig_cpu(&rig, last).ptr, rig_gpu(&rig, last).ptr, count), S_OK);
    ok_hr(try_table(&rig, op, rig_cpu(&rig, last + 1).ptr, gpu, count), E_INVALIDARG);
    ok_hr(try_table(&rig, op, cpu, rig_gpu(&rig, last + 1).ptr, count), E_INVALIDARG);
    ok_hr(try_table(&rig, op, cpu, gpu, count - 1), E_INVALIDARG);
    ok_hr(try_table(&rig, op, 0, gpu, count), E_INVALIDARG);
    ok_hr(try_table(&rig, op, cpu, 0, count), E_INVALIDARG);
    ok_hr(try_table(&rig, NULL, cpu, gpu, count), E_INVALIDARG);
    ok_hr(try_table(&rig, foreign, cpu, gpu, count), E_INVALIDARG);
    ok_hr(IDMLDevice1_CreateBindingTable(rig.dml, NULL, &IID_IDMLBindingTable, NULL), E_INVALIDARG);
    IDMLBindingTable *table = table_at(&rig, op, 0);
    DML_BINDING_TABLE_DESC bad = { (IDMLDispatchable *)op, rig_cpu(&rig, 0), rig_gpu(&rig, 0), count - 1 };
    ok_hr(IDMLBindingTable_Reset(table, &bad), E_INVALIDARG);
    ok_hr(dml_reason(&rig), S_OK);
    ok(!api_release(op), "the operator has references of the application");
    api_release(table);
    api_release(foreign);
    api_release(second);
    api_release(plain);
    rig_destroy(&rig);
}

/* ---- one binding ---- */

enum target { PLAIN_INPUT, OUTPUT, TEMPORARY, PERSISTENT };

struct binding_case {
    const char *what;
    enum target target;
    D3D12_HEAP_TYPE heap;
    UINT64 offset;
    INT64 more; /* bytes beyond the required ones */
    bool good;
};

#define WRAP (UINT64_MAX - 15)
#define REST INT64_MIN /* SizeInBytes is 0: up to the end */

/* The buffers have 1024 bytes more than required. */
static const struct binding_case binding_cases[] = {
    { "plain input", PLAIN_INPUT, D3D12_HEAP_TYPE_DEFAULT, 0, 0, true },
    { "input at 16", PLAIN_INPUT, D3D12_HEAP_TYPE_DEFAULT, 16, 0, true },
    { "larger input", PLAIN_INPUT, D3D12_HEAP_TYPE_DEFAULT, 0, 4, true },
    { "input at 8", PLAIN_INPUT, D3D12_HEAP_TYPE_DEFAULT, 8, 0, false },
    { "short input", PLAIN_INPUT, D3D12_HEAP_TYPE_DEFAULT, 0, -1, false },
    { "input, not whole words", PLAIN_INPUT, D3D12_HEAP_TYPE_DEFAULT, 0, 1, false },
    { "input beyond the end", PLAIN_INPUT, D3D12_HEAP_TYPE_DEFAULT, 1040, 0, false },
    { "input that wraps", PLAIN_INPUT, D3D12_HEAP_TYPE_DEFAULT, WRAP, 0, false },
    { "input in UPLOAD", PLAIN_INPUT, D3D12_HEAP_TYPE_UPLOAD, 0, 0, false },
    { "input in READBACK", PLAIN_INPUT, D3D12_HEAP_TYPE_READBACK, 0, 0, false },
    { "output at 16", OUTPUT, D3D12_HEAP_TYPE_DEFAULT, 16, 0, true },
    { "output at 8", OUTPUT, D3D12_HEAP_TYPE_DEFAULT, 8, 0, false },
    { "short output", OUTPUT, D3D12_HEAP_TYPE_DEFAULT, 0, -4, false },
    { "output in READBACK", OUTPUT, D3D12_HEAP_TYPE_READBACK, 0, 0, false },
    { "input to the end", PLAIN_INPUT, D3D12_HEAP_TYPE_DEFAULT, 0, REST, true },
    { "input, the last bytes", PLAIN_INPUT, D3D12_HEAP_TYPE_DEFAULT, 1024, REST, true },
    { "input, too few bytes to the end", PLAIN_INPUT, D3D12_HEAP_TYPE_DEFAULT, 1040, REST, false },
    { "input, no bytes to the end", PLAIN_INPUT, D3D12_HEAP_TYPE_DEFAULT, 1056, REST, false },
    { "input beyond the end to the end", PLAIN_INPUT, D3D12_HEAP_TYPE_DEFAULT, 1072, REST, false },
    { "output to the end", OUTPUT, D3D12_HEAP_TYPE_DEFAULT, 16, REST, true },
    { "state to the end", PERSISTENT, D3D12_HEAP_TYPE_DEFAULT, 256, REST, true },
    { "temporary to the end", TEMPORARY, D3D12_HEAP_TYPE_DEFAULT, 256, REST, true },
    { "state at 256", PERSISTENT, D3D12_HEAP_TYPE_DEFAULT, 256, 0, true },
    { "state at 128", PERSISTENT, D3D12_HEAP_TYPE_DEFAULT, 128, 0, false },
    { "short state", PERSISTENT, D3D12_HEAP_TYPE_DEFAULT, 0, -4, false },
    { "state in UPLOAD", PERSISTENT, D3D12_HEAP_TYPE_UPLOAD, 0, 0, false },
    { "temporary at 256", TEMPORARY, D3D12_HEAP_TYPE_DEFAULT, 256, 0, true },
    { "temporary at 128", TEMPORARY, D3D12_HEAP_TYPE_DEFAULT, 128, 0, false },
    { "short temporary", TEMPORARY, D3D12_HEAP_TYPE_DEFAULT, 0, -4, false },
};

/* (x + y) * y through an activation that is applied separately needs memory between its steps: two nodes in a graph
 * whose intermediate tensor cannot be avoided, a softmax of a GEMM. */
static IDMLCompiledOperator *operator_with_temporary(struct rig *rig)
{
    struct tensor tensor;
    const DML_TENSOR_DESC *desc = tensor_f32(&tensor, 1, 1, 64, 64, DML_TENSOR_FLAG_NONE);
    DML_ACTIVATION_SOFTMAX_OPERATOR_DESC softmax = { desc, desc };
    IDMLOperator *ops[2] = { gemm_operator(rig->dml, 64, 64, 64, DML_TENSOR_FLAG_NONE),
                             make_operator(rig->dml, DML_OPERATOR_ACTIVATION_SOFTMAX, &softmax) };
    DML_OPERATOR_GRAPH_NODE_DESC op_nodes[2] = { { ops[0], "product" }, { ops[1], NULL } };
    DML_GRAPH_NODE_DESC nodes[2] = { { DML_GRAPH_NODE_TYPE_OPERATOR, &op_nodes[0] },
                                     { DML_GRAPH_NODE_TYPE_OPERATOR, &op_nodes[1] } };
    DML_INPUT_GRAPH_EDGE_DESC in[2] = { { 0, 0, 0, NULL }, { 0, 0, 1, NULL } };
    DML_GRAPH_EDGE_DESC in_edges[2] = { { DML_GRAPH_EDGE_TYPE_INPUT, &in[0] }, { DML_GRAPH_EDGE_TYPE_INPUT, &in[1] } };
    DML_INTERMEDIATE_GRAPH_EDGE_DESC middle = { 0, 0, 1, 0, NULL };
    DML_GRAPH_EDGE_DESC middle_edge = { DML_GRAPH_EDGE_TYPE_INTERMEDIATE, &middle };
    DML_OUTPUT_GRAPH_EDGE_DESC out = { 1, 0, 0, NULL };
    DML_GRAPH_EDGE_DESC out_edge = { DML_GRAPH_EDGE_TYPE_OUTPUT, &out };
    DML_GRAPH_DESC graph = { 1, 1, 2, nodes, 2, in_edges, 1, &out_edge, 1, &middle_edge };
    IDMLCompiledOperator *op = NULL;
    HRESULT hr = IDMLDevice1_CompileGraph(rig->dml, &graph, 0, &IID_IDMLCompiledOperator, (void **)&op);
    rig_skip(hr);
    ok_hr(hr, S_OK);
    need(op);
    api_release(ops[0]);
    api_release(ops[1]);
    return op;
}

static void bind_case(IDMLBindingTable *table, const struct binding_case *c, ID3D12Resource *buffer, UINT64 bytes)
{
    struct bound bound[3] = { { buffer, c->offset, bytes } };
    if (c->target == PLAIN_INPUT)
        bind_inputs(table, 1, bound);
    else if (c->target == OUTPUT)
        bind_outputs(table, 1, bound);
    else if (c->target == TEMPORARY)
        bind_temporary(table, buffer, c->offset, bytes);
    else
        bind_persistent(table, buffer, c->offset, bytes);
}

static void test_binding(const struct binding_case *c)
{
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    IDMLCompiledOperator *op = c->target == PERSISTENT
                                   ? compile(rig.dml, gemm_operator(rig.dml, 2, 2, 2, DML_TENSOR_FLAG_OWNED_BY_DML), 0)
                               : c->target == TEMPORARY ? operator_with_temporary(&rig)
                                                        : compile(rig.dml, identity_operator(rig.dml, 8), 0);
    DML_BINDING_PROPERTIES props = properties(op);
    UINT64 bytes = c->target == PERSISTENT  ? props.PersistentResourceSize
                   : c->target == TEMPORARY ? props.TemporaryResourceSize
                                            : 32;
    if (bytes) {
        IDMLBindingTable *table = table_at(&rig, op, 0);
        ID3D12Resource *buffer = api_buffer(rig.d3d, c->heap, bytes + 1024);
        bind_case(table, c, buffer, c->more == REST ? 0 : bytes + (UINT64)c->more);
        ok(dml_reason(&rig) == (c->good ? S_OK : E_INVALIDARG), "%s: 0x%08x", c->what, (unsigned)dml_reason(&rig));
        ok_hr(ID3D12Device_GetDeviceRemovedReason(rig.d3d), S_OK);
        api_release(buffer);
        api_release(table);
    } else {
        ok(c->target == TEMPORARY, "%s: nothing to bind", c->what);
    }
    api_release(op);
    rig_destroy(&rig);
}

/* ---- counts and types ---- */

enum shape { TOO_FEW, TOO_MANY, NULL_ARRAY, EXTRA_BUFFER, ARRAY_TYPE, BAD_TYPE, NULL_DESC, EMPTY_TABLE, SHAPES };

static void bind_shape(IDMLBindingTable *table, enum shape shape, ID3D12Resource *buffer)
{
    struct bound bound[4] = { { buffer, 0, 16 }, { buffer, 0, 16 }, { buffer, 0, 16 }, { buffer, 0, 16 } };
    DML_BUFFER_ARRAY_BINDING array = { 0, NULL };
    DML_BINDING_DESC descs[3] = { { DML_BINDING_TYPE_NONE, NULL } };
    if (shape == TOO_FEW)
        bind_inputs(table, 2, bound);
    if (shape == TOO_MANY)
        bind_inputs(table, 4, bound);
    if (shape == NULL_ARRAY)
        IDMLBindingTable_BindOutputs(table, 1, NULL);
    if (shape == EXTRA_BUFFER) /* the third tensor is absent */
        bind_inputs(table, 3, bound);
    descs[0] = (DML_BINDING_DESC){ DML_BINDING_TYPE_BUFFER_ARRAY, &array };
    if (shape == BAD_TYPE)
        descs[0].Type = (DML_BINDING_TYPE)7;
    if (shape == NULL_DESC)
        descs[0] = (DML_BINDING_DESC){ DML_BINDING_TYPE_BUFFER, NULL };
    if (shape == ARRAY_TYPE || shape == BAD_TYPE || shape == NULL_DESC)
        IDMLBindingTable_BindInputs(table, 3, descs);
    if (shape == EMPTY_TABLE) {
        ok_hr(IDMLBindingTable_Reset(table, NULL), S_OK);
        IDMLBindingTable_BindInputs(table, 0, NULL);
    }
}

static void test_shape(enum shape shape)
{
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    IDMLCompiledOperator *op = compile(rig.dml, gemm_operator(rig.dml, 2, 2, 2, DML_TENSOR_FLAG_NONE), 0);
    IDMLBindingTable *table = table_at(&rig, op, 0);
    ID3D12Resource *buffer = api_buffer(rig.d3d, D3D12_HEAP_TYPE_DEFAULT, 64);
    bind_inputs(table, 3, (struct bound[]){ { buffer, 0, 16 }, { buffer, 0, 16 }, { NULL, 0, 0 } });
    IDMLBindingTable_BindInputs(table, 0, NULL);
    IDMLBindingTable_BindTemporaryResource(table, NULL);
    IDMLBindingTable_BindPersistentResource(table, NULL);
    bind_persistent(table, buffer, 0, 64); /* needless: ignored */
    ok_hr(dml_reason(&rig), S_OK);
    bind_shape(table, shape, buffer);
    ok(dml_reason(&rig) == E_INVALIDARG, "shape %d: 0x%08x", shape, (unsigned)dml_reason(&rig));
    api_release(buffer);
    api_release(table);
    api_release(op);
    rig_destroy(&rig);
}

/* ---- overlaps of one buffer ---- */

struct overlap_case {
    const char *what;
    bool gemm; /* else an addition */
    UINT64 first, second, output;
    bool good;
};

static const struct overlap_case overlap_cases[] = {
    { "addition, apart", false, 0, 16, 32, true },
    { "addition, one input twice", false, 0, 0, 32, true },
    { "addition over its first input", false, 0, 32, 0, true },
    { "addition over its second input", false, 32, 0, 0, true },
    { "addition over part of an input", false, 16, 48, 0, true },
    { "product, apart", true, 0, 16, 32, true },
    { "product over its first input", true, 0, 16, 0, true },
};

static void run_overlap(struct rig *rig, const struct overlap_case *c, DML_EXECUTION_FLAGS flags)
{
    IDMLCompiledOperator *op = compile(
        rig->dml, c->gemm ? gemm_operator(rig->dml, 2, 2, 2, DML_TENSOR_FLAG_NONE) : add_operator(rig->dml, 4), flags);
    struct prepared prepared = prepare(rig, op, 0, NULL);
    ID3D12Resource *buffer = buffer_f32(rig, 16, 0, 1);
    IDMLBindingTable *table = table_at(rig, op, 0);
    bind_inputs(table, c->gemm ? 3 : 2,
                (struct bound[]){ { buffer, c->first, 16 }, { buffer, c->second, 16 }, { NULL, 0, 0 } });
    bind_outputs(table, 1, &(struct bound){ buffer, c->output, 16 });
    bind_prepared(table, &prepared);
    ok_hr(dml_reason(rig), S_OK);
    record(rig, op, table);
    if (!flags)
        ok(dml_reason(rig) == (c->good ? S_OK : E_INVALIDARG), "%s: 0x%08x", c->what, (unsigned)dml_reason(rig));
    if (flags || c->good) {
        ok_hr(ID3D12GraphicsCommandList_Close(rig->q.list), S_OK);
        api_queue_execute(&rig->q);
        if (c->good)
            api_queue_wait(&rig->q);
        ok(dml_reason(rig) == (c->good ? S_OK : E_INVALIDARG), "%s, late: 0x%08x", c->what, (unsigned)dml_reason(rig));
    }
    api_release(buffer);
    api_release(table);
    prepared_release(&prepared);
    api_release(op);
}

/* An operator bound late is checked when it is executed. */
static void test_overlap(const struct overlap_case *c)
{
    static const DML_EXECUTION_FLAGS flags[] = { DML_EXECUTION_FLAG_NONE, DML_EXECUTION_FLAG_DESCRIPTORS_VOLATILE };
    for (int i = 0; i < 2; i++) {
        struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
        run_overlap(&rig, c, flags[i]);
        rig_destroy(&rig);
    }
}

/* In part: by one element, at offsets that are legal by themselves. */
static void test_partial_overlap(void)
{
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    IDMLCompiledOperator *op = compile(rig.dml, identity_operator(rig.dml, 8), DML_EXECUTION_FLAG_NONE);
    IDMLBindingTable *table = table_at(&rig, op, 0);
    ID3D12Resource *buffer = api_buffer(rig.d3d, D3D12_HEAP_TYPE_DEFAULT, 64);
    bind_inputs(table, 1, &(struct bound){ buffer, 0, 32 });
    bind_outputs(table, 1, &(struct bound){ buffer, 16, 32 });
    record(&rig, op, table);
    ok_hr(dml_reason(&rig), E_INVALIDARG);
    api_release(buffer);
    api_release(table);
    api_release(op);
    rig_destroy(&rig);
}

int main(void)
{
    api_begin();
    rig_part(test_creation());
    for (size_t i = 0; i < sizeof(binding_cases) / sizeof(binding_cases[0]); i++)
        rig_part(test_binding(&binding_cases[i]));
    for (int i = 0; i < SHAPES; i++)
        rig_part(test_shape((enum shape)i));
    for (size_t i = 0; i < sizeof(overlap_cases) / sizeof(overlap_cases[0]); i++)
        rig_part(test_overlap(&overlap_cases[i]));
    rig_part(test_partial_overlap());
    return rig_end();
}
