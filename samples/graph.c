/* SPDX-License-Identifier: Apache-2.0 */
/* A graph: Relu(X W + B) as one compiled operator. W is a constant inside the graph, B is owned by DirectML (given
 * once, to the initializer), X and the result are bound for each execution. The persistent buffer that the initializer
 * fills contains W and B in the layout of the compiled graph. */
#include "sample.h"

#define M 2
#define K 3
#define N 4

/* A 4-D tensor of rows x columns floats. The arrays live as long as the program, because the descriptions point to
 * them. */
struct tensor {
    UINT sizes[4], strides[4];
    DML_BUFFER_TENSOR_DESC layout;
    DML_TENSOR_DESC desc;
};

static void tensor_init(struct tensor *t, UINT rows, UINT columns, DML_TENSOR_FLAGS flags)
{
    *t = (struct tensor){ .sizes = { 1, 1, rows, columns } };
    t->layout = (DML_BUFFER_TENSOR_DESC){ DML_TENSOR_DATA_TYPE_FLOAT32,   flags, 4, t->sizes, NULL,
                                          rows * columns * sizeof(float), 0 };
    t->desc = (DML_TENSOR_DESC){ DML_TENSOR_TYPE_BUFFER, &t->layout };
}

static IDMLCompiledOperator *compile(IDMLDevice1 *dml, const float *weights)
{
    static struct tensor x, w, b, y;
    tensor_init(&x, M, K, DML_TENSOR_FLAG_NONE);
    tensor_init(&w, K, N, DML_TENSOR_FLAG_NONE);
    tensor_init(&y, M, N, DML_TENSOR_FLAG_NONE);
    tensor_init(&b, M, N, DML_TENSOR_FLAG_OWNED_BY_DML);
    b.strides[3] = 1; /* the other strides are 0: one row in memory, broadcast to every row of the result */
    b.layout.Strides = b.strides;
    b.layout.TotalTensorSizeInBytes = N * sizeof(float);

    DML_GEMM_OPERATOR_DESC gemm = {
        &x.desc, &w.desc, NULL, &y.desc, DML_MATRIX_TRANSFORM_NONE, DML_MATRIX_TRANSFORM_NONE, 1.0f, 0.0f, NULL
    };
    DML_ELEMENT_WISE_ADD_OPERATOR_DESC add = { &y.desc, &b.desc, &y.desc };
    DML_ACTIVATION_RELU_OPERATOR_DESC relu = { &y.desc, &y.desc };
    IDMLOperator *ops[] = { sample_operator((IDMLDevice *)dml, DML_OPERATOR_GEMM, &gemm),
                            sample_operator((IDMLDevice *)dml, DML_OPERATOR_ELEMENT_WISE_ADD, &add),
                            sample_operator((IDMLDevice *)dml, DML_OPERATOR_ACTIVATION_RELU, &relu) };

    /* Nodes 0 to 2 are the operators, node 3 is the constant; it is copied while the graph is compiled. */
    DML_OPERATOR_GRAPH_NODE_DESC op_nodes[] = { { ops[0], "gemm" }, { ops[1], "bias" }, { ops[2], "relu" } };
    DML_CONSTANT_DATA_GRAPH_NODE_DESC constant = { weights, K * N * sizeof(float), "weights" };
    DML_GRAPH_NODE_DESC nodes[] = { { DML_GRAPH_NODE_TYPE_OPERATOR, &op_nodes[0] },
                                    { DML_GRAPH_NODE_TYPE_OPERATOR, &op_nodes[1] },
                                    { DML_GRAPH_NODE_TYPE_OPERATOR, &op_nodes[2] },
                                    { DML_GRAPH_NODE_TYPE_CONSTANT, &constant } };
    DML_INPUT_GRAPH_EDGE_DESC in[] = { { 0, 0, 0, "x" }, { 1, 1, 1, "b" } };
    DML_INTERMEDIATE_GRAPH_EDGE_DESC middle[] = { { 3, 0, 0, 1, NULL }, { 0, 0, 1, 0, NULL }, { 1, 0, 2, 0, NULL } };
    DML_OUTPUT_GRAPH_EDGE_DESC out = { 2, 0, 0, "y" };
    DML_GRAPH_EDGE_DESC inputs[] = { { DML_GRAPH_EDGE_TYPE_INPUT, &in[0] }, { DML_GRAPH_EDGE_TYPE_INPUT, &in[1] } };
    DML_GRAPH_EDGE_DESC between[] = { { DML_GRAPH_EDGE_TYPE_INTERMEDIATE, &middle[0] },
                                      { DML_GRAPH_EDGE_TYPE_INTERMEDIATE, &middle[1] },
                                      { DML_GRAPH_EDGE_TYPE_INTERMEDIATE, &middle[2] } };
    DML_GRAPH_EDGE_DESC outputs = { DML_GRAPH_EDGE_TYPE_OUTPUT, &out };
    DML_GRAPH_DESC graph = { 2, 1, 4, nodes, 2, inputs, 1, &outputs, 3, between };
    IDMLCompiledOperator *compiled;
    const DML_EXECUTION_FLAGS flags = DML_EXECUTION_FLAG_NONE;
    CHECK(IDMLDevice1_CompileGraph(dml, &graph, flags, &IID_IDMLCompiledOperator, (void **)&compiled));
    for (int i = 0; i < 3; i++)
        IDMLOperator_Release(ops[i]); /* the compiled graph needs them no more */
    return compiled;
}

/* Records one dispatch and runs it. Bindings without a buffer bind nothing; `inputs` is the binding for BindInputs. */
static void run(IDMLDevice *dml, struct sample_queue *q, IDMLDispatchable *work, UINT input_count,
                const DML_BINDING_DESC *inputs, ID3D12Resource *output, ID3D12Resource *persistent)
{
    DML_BINDING_PROPERTIES needs = IDMLDispatchable_GetBindingProperties(work);
    ID3D12DescriptorHeap *heap = sample_heap(q->device, needs.RequiredDescriptorCount);
    IDMLBindingTable *table = sample_table(dml, work, heap);
    ID3D12Resource *temporary = NULL;
    IDMLCommandRecorder *recorder;
    CHECK(IDMLDevice_CreateCommandRecorder(dml, &IID_IDMLCommandRecorder, (void **)&recorder));
    if (needs.TemporaryResourceSize)
        temporary = sample_buffer(q->device, D3D12_HEAP_TYPE_DEFAULT, needs.TemporaryResourceSize);
    DML_BUFFER_BINDING ranges[] = { { output, 0, output ? ID3D12Resource_GetDesc(output).Width : 0 },
                                    { persistent, 0, needs.PersistentResourceSize },
                                    { temporary, 0, needs.TemporaryResourceSize } };
    DML_BINDING_DESC bindings[3];
    for (int i = 0; i < 3; i++)
        bindings[i] = (DML_BINDING_DESC){ DML_BINDING_TYPE_BUFFER, &ranges[i] };
    IDMLBindingTable_BindInputs(table, input_count, inputs);
    if (output)
        IDMLBindingTable_BindOutputs(table, 1, &bindings[0]);
    if (persistent)
        IDMLBindingTable_BindPersistentResource(table, &bindings[1]);
    if (temporary)
        IDMLBindingTable_BindTemporaryResource(table, &bindings[2]);
    ID3D12GraphicsCommandList_SetDescriptorHeaps(q->list, 1, &heap);
    IDMLCommandRecorder_RecordDispatch(recorder, (ID3D12CommandList *)q->list, work, table);
    sample_flush(q);
    if (temporary)
        ID3D12Resource_Release(temporary);
    IDMLCommandRecorder_Release(recorder);
    IDMLBindingTable_Release(table);
    ID3D12DescriptorHeap_Release(heap);
}

int main(void)
{
    static const float x[M * K] = { 1, 2, 3, -1, -2, -3 }, b[N] = { 10, 0, -10, 0.5f };
    static const float w[K * N] = { 1, 0, 0, 1, 0, 1, 0, 1, 0, 0, 1, 1 };
    static const float expected[M * N] = { 11, 2, 0, 6.5f, 9, 0, 0, 0 };
    ID3D12Device *device;
    IDMLDevice1 *dml1;
    CHECK(D3D12CreateDevice(NULL, D3D_FEATURE_LEVEL_1_0_CORE, &IID_ID3D12Device, (void **)&device));
    CHECK(
        DMLCreateDevice1(device, DML_CREATE_DEVICE_FLAG_NONE, DML_FEATURE_LEVEL_6_2, &IID_IDMLDevice1, (void **)&dml1));
    IDMLDevice *dml = (IDMLDevice *)dml1; /* IDMLDevice1 starts with the methods of IDMLDevice */
    struct sample_queue q = sample_queue_create(device);
    IDMLCompiledOperator *graph = compile(dml1, w);

    ID3D12Resource *bx = sample_buffer(device, D3D12_HEAP_TYPE_DEFAULT, sizeof(x));
    ID3D12Resource *bb = sample_buffer(device, D3D12_HEAP_TYPE_DEFAULT, sizeof(b));
    ID3D12Resource *by = sample_buffer(device, D3D12_HEAP_TYPE_DEFAULT, sizeof(expected)), *persistent = NULL;
    sample_write(&q, bx, x, sizeof(x));
    sample_write(&q, bb, b, sizeof(b));

    /* The initializer takes one array of owned inputs per operator, and writes the persistent buffer. */
    UINT64 bytes = IDMLCompiledOperator_GetBindingProperties(graph).PersistentResourceSize;
    if (bytes)
        persistent = sample_buffer(device, D3D12_HEAP_TYPE_DEFAULT, bytes);
    IDMLOperatorInitializer *initializer;
    CHECK(IDMLDevice_CreateOperatorInitializer(dml, 1, &graph, &IID_IDMLOperatorInitializer, (void **)&initializer));
    DML_BUFFER_BINDING owned[2] = { { NULL, 0, 0 }, { bb, 0, sizeof(b) } }, range = { bx, 0, sizeof(x) };
    DML_BUFFER_ARRAY_BINDING array = { 2, owned };
    DML_BINDING_DESC whole = { DML_BINDING_TYPE_BUFFER_ARRAY, &array };
    run(dml, &q, (IDMLDispatchable *)initializer, 1, &whole, persistent, NULL);
    ID3D12Resource_Release(bb); /* DirectML has its own copy now */

    /* Each execution binds the inputs that are not owned. */
    DML_BINDING_DESC inputs[2] = { { DML_BINDING_TYPE_BUFFER, &range }, { DML_BINDING_TYPE_NONE, NULL } };
    float y[M * N];
    run(dml, &q, (IDMLDispatchable *)graph, 2, inputs, by, persistent);
    sample_read(&q, by, y, sizeof(y));
    for (int i = 0; i < M * N; i++)
        printf("%g%s", y[i], i % N == N - 1 ? "\n" : " ");

    sample_queue_release(&q);
    void *objects[] = { by, bx, initializer, graph, dml1, device, persistent };
    for (size_t i = 0; i < 6u + (persistent != NULL); i++)
        IUnknown_Release((IUnknown *)objects[i]);
    return memcmp(y, expected, sizeof(y)) != 0;
}
