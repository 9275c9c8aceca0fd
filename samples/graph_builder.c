/* SPDX-License-Identifier: Apache-2.0 */
/* A small network with the graph builder (docs/graph-builder.md): one function per operator, sizes of outputs are
 * inferred by the library, errors are checked once. An image of 8 x 8 is processed by a convolution with bias and Relu,
 * max pooling, a dense layer and Softmax; its weights are constants of the graph. */
#include <anydml_graph.h>

#include "sample.h"

#include <math.h>

enum { SIDE = 8, CHANNELS = 2, POOLED = 4, CLASSES = 3 };
#define F32 DML_TENSOR_DATA_TYPE_FLOAT32

static const float filter[CHANNELS][3][3] = { { { 1, 0, -1 }, { 2, 0, -2 }, { 1, 0, -1 } },
                                              { { 1, 2, 1 }, { 0, 0, 0 }, { -1, -2, -1 } } };
static const float bias[CHANNELS] = { 0.5f, -0.5f };
static float weights[CHANNELS * POOLED * POOLED][CLASSES];

static IDMLCompiledOperator *compile(IDMLDevice *dml)
{
    struct anydml_graph *graph;
    IDMLCompiledOperator *compiled;
    CHECK(AnydmlGraphCreate(dml, &graph));
    anydml_expr x = AnydmlGraphInput(graph, 0, F32, 4, (UINT[]){ 1, 1, SIDE, SIDE });
    anydml_expr f = AnydmlGraphConstant(graph, F32, 4, (UINT[]){ CHANNELS, 1, 3, 3 }, filter);
    anydml_expr b = AnydmlGraphConstant(graph, F32, 4, (UINT[]){ 1, CHANNELS, 1, 1 }, bias);
    anydml_expr w = AnydmlGraphConstant(graph, F32, 2, (UINT[]){ CHANNELS * POOLED * POOLED, CLASSES }, weights);

    x = AnydmlConvolution(graph, x, f,
                          &(struct anydml_convolution_options){ .BiasTensor = b,
                                                                .StartPadding = (UINT[]){ 1, 1 },
                                                                .EndPadding = (UINT[]){ 1, 1 },
                                                                .FusedActivation = { DML_OPERATOR_ACTIVATION_RELU } });
    x = AnydmlMaxPooling2(
        graph, x, &(struct anydml_max_pooling2_options){ .Strides = (UINT[]){ 2, 2 }, .WindowSize = (UINT[]){ 2, 2 } });
    x = AnydmlGraphReinterpret(graph, x, F32, 2, (UINT[]){ 1, CHANNELS * POOLED * POOLED }, NULL);
    x = AnydmlActivationSoftmax1(graph, AnydmlGemm(graph, x, w, NULL), NULL);

    HRESULT hr = AnydmlGraphCompile(graph, DML_EXECUTION_FLAG_NONE, 1, &x, &compiled);
    if (FAILED(hr))
        fprintf(stderr, "%s\n", AnydmlGraphMessage(graph));
    CHECK(hr);
    AnydmlGraphDestroy(graph);
    return compiled;
}

/* The same on the CPU, operator by operator. */
static void reference(const float image[SIDE][SIDE], float out[CLASSES])
{
    float sum = 0;
    memset(out, 0, CLASSES * sizeof(*out));
    for (int c = 0; c < CHANNELS; c++)
        for (int at = 0; at < POOLED * POOLED; at++) {
            float most = 0;
            for (int i = 0; i < 4; i++) {
                const int y = at / POOLED * 2 + i / 2, x = at % POOLED * 2 + i % 2;
                float value = bias[c];
                for (int k = 0; k < 9; k++) {
                    const int from_y = y + k / 3 - 1, from_x = x + k % 3 - 1;
                    if (from_y >= 0 && from_y < SIDE && from_x >= 0 && from_x < SIDE)
                        value += filter[c][k / 3][k % 3] * image[from_y][from_x];
                }
                most = value > most ? value : most;
            }
            for (int j = 0; j < CLASSES; j++)
                out[j] += most * weights[c * POOLED * POOLED + at][j];
        }
    for (int j = 0; j < CLASSES; j++)
        sum += out[j] = expf(out[j]);
    for (int j = 0; j < CLASSES; j++)
        out[j] /= sum;
}

/* Records `dispatchable`, with one input and one output if there are any, and runs it. */
static void run(IDMLDevice *dml, struct sample_queue *q, IDMLDispatchable *dispatchable, ID3D12Resource *in,
                ID3D12Resource *out, ID3D12Resource *persistent)
{
    const DML_BINDING_PROPERTIES need = IDMLDispatchable_GetBindingProperties(dispatchable);
    ID3D12DescriptorHeap *heap = sample_heap(q->device, need.RequiredDescriptorCount);
    IDMLBindingTable *table = sample_table(dml, dispatchable, heap);
    DML_BUFFER_BINDING from = { in, 0, SIDE * SIDE * sizeof(float) }, to = { out, 0, CLASSES * sizeof(float) };
    DML_BUFFER_BINDING kept = { persistent, 0, 0 }, scratch = { NULL, 0, need.TemporaryResourceSize };
    IDMLCommandRecorder *recorder;
    if (persistent)
        kept.SizeInBytes = ID3D12Resource_GetDesc(persistent).Width;
    DML_BINDING_DESC binding = { DML_BINDING_TYPE_BUFFER, &kept };
    if (persistent && !in)
        IDMLBindingTable_BindOutputs(table, 1, &binding); /* the initializer writes it */
    else if (persistent)
        IDMLBindingTable_BindPersistentResource(table, &binding);
    if (need.TemporaryResourceSize) {
        scratch.Buffer = sample_buffer(q->device, D3D12_HEAP_TYPE_DEFAULT, need.TemporaryResourceSize);
        binding.Desc = &scratch;
        IDMLBindingTable_BindTemporaryResource(table, &binding);
    }
    if (in) {
        binding.Desc = &from;
        IDMLBindingTable_BindInputs(table, 1, &binding);
        binding.Desc = &to;
        IDMLBindingTable_BindOutputs(table, 1, &binding);
    }
    CHECK(IDMLDevice_CreateCommandRecorder(dml, &IID_IDMLCommandRecorder, (void **)&recorder));
    ID3D12GraphicsCommandList_SetDescriptorHeaps(q->list, 1, &heap);
    IDMLCommandRecorder_RecordDispatch(recorder, (ID3D12CommandList *)q->list, dispatchable, table);
    sample_flush(q);
    IDMLCommandRecorder_Release(recorder);
    IDMLBindingTable_Release(table);
    ID3D12DescriptorHeap_Release(heap);
    if (scratch.Buffer)
        ID3D12Resource_Release(scratch.Buffer);
}

int main(void)
{
    float image[SIDE][SIDE], y[CLASSES], expected[CLASSES];
    ID3D12Device *device;
    IDMLDevice *dml;
    IDMLOperatorInitializer *initializer;
    for (int i = 0; i < SIDE * SIDE; i++)
        image[i / SIDE][i % SIDE] = (float)(i * 7 % 13) / 13;
    for (int i = 0; i < CHANNELS * POOLED * POOLED * CLASSES; i++)
        weights[i / CLASSES][i % CLASSES] = (float)(i * 5 % 11 - 5) / 40;
    CHECK(D3D12CreateDevice(NULL, D3D_FEATURE_LEVEL_1_0_CORE, &IID_ID3D12Device, (void **)&device));
    CHECK(DMLCreateDevice(device, DML_CREATE_DEVICE_FLAG_NONE, &IID_IDMLDevice, (void **)&dml));
    struct sample_queue q = sample_queue_create(device);
    IDMLCompiledOperator *network = compile(dml);

    ID3D12Resource *in = sample_buffer(device, D3D12_HEAP_TYPE_DEFAULT, sizeof(image));
    ID3D12Resource *out = sample_buffer(device, D3D12_HEAP_TYPE_DEFAULT, sizeof(y)), *persistent = NULL;
    const UINT64 bytes = IDMLCompiledOperator_GetBindingProperties(network).PersistentResourceSize;
    if (bytes)
        persistent = sample_buffer(device, D3D12_HEAP_TYPE_DEFAULT, bytes);
    CHECK(IDMLDevice_CreateOperatorInitializer(dml, 1, &network, &IID_IDMLOperatorInitializer, (void **)&initializer));
    run(dml, &q, (IDMLDispatchable *)initializer, NULL, NULL, persistent);
    sample_write(&q, in, image, sizeof(image));
    run(dml, &q, (IDMLDispatchable *)network, in, out, persistent);
    sample_read(&q, out, y, sizeof(y));

    int wrong = 0;
    reference(image, expected);
    for (int j = 0; j < CLASSES; j++) {
        printf("class %d: %.4f\n", j, (double)y[j]);
        wrong += !(fabsf(y[j] - expected[j]) < 1e-5f);
    }
    sample_queue_release(&q);
    void *objects[] = { in, out, initializer, network, dml, device, persistent };
    for (size_t i = 0; i < 6u + (persistent != NULL); i++)
        IUnknown_Release((IUnknown *)objects[i]);
    return wrong != 0;
}
