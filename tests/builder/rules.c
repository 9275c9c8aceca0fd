/* SPDX-License-Identifier: Apache-2.0 */
/* What tests/builder/all_operators.c cannot see: defaults, sizes and types without any request, errors and their text,
 * inputs, constants, views, several outputs, and that a graph computes. */
#include <stdio.h>
#include <string.h>

#include <DirectMLGuids.h>
#include <anydml_graph.h>

#define F32 DML_TENSOR_DATA_TYPE_FLOAT32
#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            printf("line %d: %s: %s\n", __LINE__, #condition, AnydmlGraphMessage(graph));                              \
            failures++;                                                                                                \
        }                                                                                                              \
    } while (0)
#define SIZES(...)                                                                                                     \
    (sizeof((UINT[]){ __VA_ARGS__ }) / sizeof(UINT)), (const UINT[])                                                   \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }

static IDMLDevice *device;
static ID3D12CommandQueue *queue;
static struct anydml_graph *graph;
static int failures;

static void begin(void)
{
    if (FAILED(AnydmlGraphCreate(device, &graph)))
        failures++;
}

static void end(void)
{
    AnydmlGraphDestroy(graph);
    graph = NULL;
}

static anydml_expr input(UINT index, DML_TENSOR_DATA_TYPE type, UINT count, const UINT *sizes)
{
    return AnydmlGraphInput(graph, index, type, count, sizes);
}

static int is(anydml_expr expression, DML_TENSOR_DATA_TYPE type, UINT count, const UINT *sizes)
{
    const DML_BUFFER_TENSOR_DESC *tensor = AnydmlGraphTensor(expression);
    return tensor && tensor->DataType == type && tensor->DimensionCount == count &&
           !memcmp(tensor->Sizes, sizes, count * sizeof(UINT));
}

/* Compiles, and runs on addresses; inputs in the order of their index. */
static int run(anydml_expr output, UINT count, const void *const *inputs, void *out)
{
    IDMLCompiledOperator *compiled;
    D3D12_GPU_VIRTUAL_ADDRESS in[8], result = (UINT64)(uintptr_t)out;
    if (FAILED(AnydmlGraphCompile(graph, DML_EXECUTION_FLAG_NONE, 1, &output, &compiled)))
        return 0;
    for (UINT i = 0; i < count; i++)
        in[i] = (UINT64)(uintptr_t)inputs[i];
    HRESULT hr = AnydmlRunOperator(queue, compiled, count, in, 1, &result);
    IDMLCompiledOperator_Release(compiled);
    return SUCCEEDED(hr);
}

/* ---- sizes and types without any request ---- */

static void test_sizes(void)
{
    begin();
    anydml_expr x = input(0, F32, SIZES(2, 4, 8, 7)), w = input(1, F32, SIZES(6, 4, 3, 3)), indices;
    struct anydml_convolution_options convolution = { .Strides = (UINT[]){ 2, 1 }, .StartPadding = (UINT[]){ 1, 1 } };
    struct anydml_max_pooling2_options pooling = { .WindowSize = (UINT[]){ 2, 3 } };
    CHECK(is(AnydmlConvolution(graph, x, w, NULL), F32, SIZES(2, 6, 6, 5)));
    CHECK(is(AnydmlConvolution(graph, x, w, &convolution), F32, SIZES(2, 6, 4, 6)));
    anydml_expr back = input(2, F32, SIZES(4, 3, 3, 3));
    convolution.Direction = DML_CONVOLUTION_DIRECTION_BACKWARD;
    convolution.GroupCount = 2;
    CHECK(is(AnydmlConvolution(graph, x, back, &convolution), F32, SIZES(2, 6, 16, 8)));
    pooling.OutputIndicesTensor.Expression = &indices;
    CHECK(is(AnydmlMaxPooling2(graph, x, &pooling), F32, SIZES(2, 4, 7, 5)));
    CHECK(is(indices, DML_TENSOR_DATA_TYPE_UINT32, SIZES(2, 4, 7, 5)));
    anydml_expr deep = input(3, F32, SIZES(1, 2, 5, 6, 7));
    CHECK(is(AnydmlAveragePooling1(graph, deep,
                                   &(struct anydml_average_pooling1_options){ .WindowSize = (UINT[]){ 2, 2, 2 } }),
             F32, SIZES(1, 2, 4, 5, 6)));
    anydml_expr wide = input(4, F32, SIZES(1, 2, 1, 2, 1, 2, 1, 3));
    CHECK(is(AnydmlActivationSoftmax1(graph, wide, NULL), F32, SIZES(1, 2, 1, 2, 1, 2, 1, 3)));
    struct anydml_reduce_options reduce = { .Function = DML_REDUCE_FUNCTION_SUM };
    CHECK(is(AnydmlReduce(graph, x, &reduce), F32, SIZES(1, 1, 1, 1)));
    reduce = (struct anydml_reduce_options){ .AxisCount = 1, .Axes = (UINT[]){ 1 } };
    CHECK(is(AnydmlReduce(graph, x, &reduce), DML_TENSOR_DATA_TYPE_UINT32, SIZES(2, 1, 8, 7)));
    CHECK(is(AnydmlSlice1(graph, x,
                          &(struct anydml_slice1_options){ .InputWindowOffsets = (UINT[]){ 1, 0, 3, 0 },
                                                           .InputWindowStrides = (INT[]){ 1, 1, -2, 1 } }),
             F32, SIZES(1, 4, 3, 7)));
    CHECK(is(AnydmlSlice(graph, x, &(struct anydml_slice_options){ .Strides = (UINT[]){ 1, 2, 3, 4 } }), F32,
             SIZES(2, 2, 3, 2)));
    anydml_expr parts[2], joined[3];
    struct anydml_output outputs[] = { { .Expression = &parts[0] }, { .Expression = &parts[1] } };
    AnydmlSplit(graph, x, 2, outputs, &(struct anydml_split_options){ .Axis = 1 });
    CHECK(is(parts[1], F32, SIZES(2, 2, 8, 7)));
    joined[0] = x, joined[1] = parts[0], joined[2] = parts[1];
    CHECK(is(AnydmlJoin(graph, 3, joined, &(struct anydml_join_options){ .Axis = 1 }), F32, SIZES(2, 8, 8, 7)));
    CHECK(is(AnydmlLogicalEquals(graph, x, x, NULL), DML_TENSOR_DATA_TYPE_UINT8, SIZES(2, 4, 8, 7)));
    UINT larger[] = { 2, 4, 16, 21 };
    CHECK(is(
        AnydmlResample3(graph, x,
                        &(struct anydml_resample3_options){ .OutputTensor = { .DimensionCount = 4, .Sizes = larger } }),
        F32, SIZES(2, 4, 16, 21)));
    CHECK(is(AnydmlResample3(graph, x, &(struct anydml_resample3_options){ .Scales = (FLOAT[]){ 1, 1, 2.5f, 1 } }), F32,
             SIZES(2, 4, 20, 7)));
    CHECK(is(AnydmlCast(graph, x,
                        &(struct anydml_cast_options){ .OutputTensor = { .DataType = DML_TENSOR_DATA_TYPE_INT8 } }),
             DML_TENSOR_DATA_TYPE_INT8, SIZES(2, 4, 8, 7)));
    CHECK(is(AnydmlFillValueConstant(graph,
                                     &(struct anydml_fill_value_constant_options){
                                         .OutputTensor = { .DimensionCount = 1, .Sizes = (UINT[]){ 3 } },
                                         .ValueDataType = DML_TENSOR_DATA_TYPE_INT64 }),
             DML_TENSOR_DATA_TYPE_INT64, SIZES(3)));
    end();
}

static void test_recurrent_and_attention(void)
{
    begin();
    anydml_expr x = input(0, F32, SIZES(1, 5, 2, 4)), w = input(1, F32, SIZES(1, 2, 12, 4));
    anydml_expr r = input(2, F32, SIZES(1, 2, 12, 3)), hidden, cell;
    struct anydml_lstm_options lstm = { .Direction = DML_RECURRENT_NETWORK_DIRECTION_BIDIRECTIONAL };
    CHECK(is(AnydmlLstm(graph, x, w, r, &lstm), F32, SIZES(5, 2, 2, 3))); /* the first, as none is asked for */
    lstm.OutputSingleTensor.Expression = &hidden;
    lstm.OutputCellSingleTensor.Expression = &cell;
    CHECK(AnydmlLstm(graph, x, w, r, &lstm) == hidden);
    CHECK(is(hidden, F32, SIZES(1, 2, 2, 3)) && is(cell, F32, SIZES(1, 2, 2, 3)));
    anydml_expr q = input(3, F32, SIZES(2, 5, 24)), k = input(4, F32, SIZES(2, 7, 24));
    struct anydml_multihead_attention_options attention = { .QueryTensor = q, .KeyTensor = k, .ValueTensor = k };
    attention.HeadCount = 3;
    CHECK(is(AnydmlMultiheadAttention(graph, &attention), F32, SIZES(2, 5, 24)));
    end();
}

/* ---- numbers ---- */

static void test_numbers(void)
{
    const float x[] = { 1, -2, 3, -4, 5, -6 }, w[] = { 1, 0, 2, 0, 1, -1 }, b[] = { 10, -20 };
    float y[6] = { 0 };
    begin();
    anydml_expr ex = input(0, F32, SIZES(2, 3)), ew = AnydmlGraphConstant(graph, F32, SIZES(3, 2), w);
    anydml_expr eb = AnydmlGraphBroadcast(graph, AnydmlGraphConstant(graph, F32, SIZES(2), b), SIZES(2, 2));
    struct anydml_gemm_options gemm = { .CTensor = eb, .Alpha = { 1, 2 }, .Beta = { 1, 0.5f } };
    gemm.FusedActivation = (struct anydml_activation){ DML_OPERATOR_ACTIVATION_LEAKY_RELU, { 0.5f } };
    /* x w = {{0, -3}, {0, 6}}; doubled and {5, -10} added: {{5, -16}, {5, 2}}; what is below 0 halved */
    const float first[] = { 5, -8, 5, 2 };
    CHECK(run(AnydmlGemm(graph, ex, ew, &gemm), 1, (const void *[]){ x }, y) && !memcmp(y, first, sizeof(first)));
    anydml_expr back = AnydmlGraphReinterpret(graph, ex, F32, SIZES(3, 2), (UINT[]){ 1, 3 });
    const float turned[] = { 1, -4, -2, 5, 3, -6 };
    CHECK(run(AnydmlIdentity(graph, back, NULL), 1, (const void *[]){ x }, y) && !memcmp(y, turned, sizeof(turned)));
    const DML_SCALE_BIAS scale_bias = { 2, 1 };
    const float moved[] = { 3, -3, 7, -7, 11, -11 };
    CHECK(run(AnydmlIdentity(graph, ex, &(struct anydml_identity_options){ .ScaleBias = &scale_bias }), 1,
              (const void *[]){ x }, y) &&
          !memcmp(y, moved, sizeof(moved)));
    gemm = (struct anydml_gemm_options){ .FusedActivation = { DML_OPERATOR_ACTIVATION_SOFTMAX1, { 0 } } };
    CHECK(run(AnydmlGemm(graph, ex, ew, &gemm), 1, (const void *[]){ x }, y) && y[0] > 0.952f && y[0] < 0.953f);
    const unsigned char bytes[] = { 1, 2, 3 };
    anydml_expr eu = AnydmlGraphConstant(graph, DML_TENSOR_DATA_TYPE_UINT8, SIZES(3), bytes);
    struct anydml_cast_options to_float = { .OutputTensor = { .DataType = F32 } };
    CHECK(run(AnydmlCast(graph, eu, &to_float), 1, (const void *[]){ x }, y) && y[0] == 1 && y[2] == 3);
    anydml_expr owned = AnydmlGraphOwnedInput(graph, 1, F32, SIZES(3, 2));
    const float plain[] = { 0, -3, 0, 6 };
    CHECK(run(AnydmlGemm(graph, ex, owned, NULL), 2, (const void *[]){ x, w }, y) && !memcmp(y, plain, sizeof(plain)));
    end();
}

/* ---- errors ---- */

#define REFUSED(expression, hr, text)                                                                                  \
    do {                                                                                                               \
        anydml_expr one = (expression);                                                                                \
        CHECK(!one && strstr(AnydmlGraphMessage(graph), text));                                                        \
        CHECK(!AnydmlIdentity(graph, x, NULL)); /* it stays */                                                         \
        CHECK(AnydmlGraphCompile(graph, DML_EXECUTION_FLAG_NONE, 1, &x, &compiled) == (hr) && !compiled);              \
        CHECK(strstr(AnydmlGraphMessage(graph), text));                                                                \
        CHECK(AnydmlGraphClearError(graph) == S_OK && !*AnydmlGraphMessage(graph));                                    \
        one = AnydmlIdentity(graph, x, NULL); /* and goes */                                                           \
        if (x)                                                                                                         \
            CHECK(AnydmlGraphCompile(graph, DML_EXECUTION_FLAG_NONE, 1, &one, &compiled) == S_OK &&                    \
                  IDMLCompiledOperator_Release(compiled) == 0);                                                        \
        end();                                                                                                         \
        begin();                                                                                                       \
        x = input(0, F32, SIZES(2, 4, 8, 7));                                                                          \
        w = input(1, F32, SIZES(6, 4, 3, 3));                                                                          \
    } while (0)

static void test_errors(void)
{
    IDMLCompiledOperator *compiled;
    struct anydml_graph *other;
    begin();
    anydml_expr x = input(0, F32, SIZES(2, 4, 8, 7)), w = input(1, F32, SIZES(6, 4, 3, 3));
    REFUSED(AnydmlGemm(graph, x, w, NULL), E_INVALIDARG, "DML_OPERATOR_GEMM: BTensor: Sizes[0] = 6");
    REFUSED(AnydmlAdd(graph, x, NULL), E_INVALIDARG, "DML_OPERATOR_ELEMENT_WISE_ADD: BTensor: NULL, must be given");
    REFUSED(AnydmlConvolution(graph, x, w, &(struct anydml_convolution_options){ .Strides = (UINT[]){ 0, 1 } }),
            E_INVALIDARG, "DML_OPERATOR_CONVOLUTION: Strides[0] = 0, must be at least 1");
    REFUSED(AnydmlConvolution(graph, w, x, NULL), E_INVALIDARG, "must fit into the padded input (3)");
    REFUSED(AnydmlMaxPooling2(graph, x, NULL), E_INVALIDARG, "WindowSize: NULL, must be given");
    REFUSED(AnydmlCast(graph, x, NULL), E_INVALIDARG, "OutputTensor: DataType does not follow");
    REFUSED(AnydmlOneHot(graph, x, x, NULL), E_INVALIDARG, "OutputTensor: Sizes do not follow");
    REFUSED(AnydmlTopK1(graph, x, &(struct anydml_top_k1_options){ .Axis = 4, .K = 1 }), E_INVALIDARG,
            "Axis = 4, must be below the dimension count (4)");
    REFUSED(AnydmlTile(graph, x, &(struct anydml_tile_options){ .Repeats = (UINT[]){ 1, 1, ~0u, 1 } }), E_INVALIDARG,
            "OutputTensor: Sizes[2] = ");
    REFUSED(AnydmlMeanVarianceNormalization1(graph, x, NULL), E_INVALIDARG, "Axes: NULL, must be given");
    REFUSED(AnydmlSplit(graph, x, 3, (const struct anydml_output[3]){ { NULL } }, NULL), E_INVALIDARG,
            "OutputCount = 3, must divide");
    REFUSED(AnydmlJoin(graph, 0, NULL, NULL), E_INVALIDARG, "DML_OPERATOR_JOIN: InputTensors: 0 tensors, must be 1 to");
    REFUSED(AnydmlGraphInput(graph, 0, DML_TENSOR_DATA_TYPE_UNKNOWN, SIZES(1)), E_INVALIDARG, "DataType = 0");
    REFUSED(AnydmlGraphInput(graph, 0, F32, 9, (UINT[9]){ 0 }), E_INVALIDARG, "DimensionCount = 9, must be 1 to 8");
    REFUSED(AnydmlGraphInput(graph, 0, F32, SIZES(2, 0)), E_INVALIDARG, "Sizes[1] = 0");
    REFUSED(AnydmlGraphInput(graph, 0, F32, SIZES(65536, 65536)), E_INVALIDARG, "more than 2^32 - 1 elements");
    REFUSED(AnydmlGraphConstant(graph, F32, SIZES(1), NULL), E_INVALIDARG, "elements = NULL");
    REFUSED(AnydmlGraphReinterpret(graph, x, F32, SIZES(449), NULL), E_INVALIDARG, "has 1796 bytes, must be at most");
    REFUSED(AnydmlGraphBroadcast(graph, x, SIZES(2, 4, 8, 8)), E_INVALIDARG, "sizes[3] = 8, must be");
    REFUSED(AnydmlGraphOperator(graph, &(DML_OPERATOR_DESC){ (DML_OPERATOR_TYPE)200, "" }, NULL, NULL), E_INVALIDARG,
            "operator type 200");
    /* Lengths that do not go with the rank, and products beyond 64 bits, through the function below all others. */
    const UINT ones[8] = { 1, 1, 1, 1, 1, 1, 1, 1 }, most = ~0u;
    DML_MAX_POOLING_OPERATOR_DESC pool = { .DimensionCount = 8, .Strides = ones, .WindowSize = ones };
    REFUSED(AnydmlGraphOperator(graph, &(DML_OPERATOR_DESC){ DML_OPERATOR_MAX_POOLING, &pool }, &x, NULL), E_INVALIDARG,
            "DimensionCount = 8, must be the number of spatial dimensions");
    DML_SLICE1_OPERATOR_DESC slice = { .DimensionCount = 1, .InputWindowOffsets = &most };
    REFUSED(AnydmlGraphOperator(graph, &(DML_OPERATOR_DESC){ DML_OPERATOR_SLICE1, &slice }, &x, NULL), E_INVALIDARG,
            "DimensionCount = 1, must equal the rank (4)");
    struct anydml_space_to_depth1_options blocks = { .BlockSize = ~0u };
    REFUSED(AnydmlSpaceToDepth1(graph, x, &blocks), E_INVALIDARG, "InputTensor: Sizes[2] = 8, must be divisible by");
    AnydmlGraphCreate(device, &other);
    anydml_expr stranger = AnydmlGraphInput(other, 0, F32, SIZES(2, 4, 8, 7));
    REFUSED(AnydmlAdd(graph, x, stranger), E_INVALIDARG, "BTensor: is an expression of another graph");
    AnydmlGraphDestroy(other);

    CHECK(AnydmlGraphCompile(graph, DML_EXECUTION_FLAG_NONE, 1, &x, &compiled) == E_INVALIDARG && !compiled);
    CHECK(strstr(AnydmlGraphMessage(graph), "outputs[0] is an input"));
    end();
    CHECK(AnydmlGraphCreate(NULL, &graph) == E_INVALIDARG && !graph);
    CHECK(!AnydmlAdd(NULL, NULL, NULL) && AnydmlGraphTensor(NULL) == NULL);
    AnydmlGraphDestroy(NULL);
}

int main(void)
{
    const D3D12_COMMAND_QUEUE_DESC desc = { .Type = D3D12_COMMAND_LIST_TYPE_COMPUTE };
    ID3D12Device *d3d12;
    if (FAILED(D3D12CreateDevice(NULL, D3D_FEATURE_LEVEL_1_0_CORE, &IID_ID3D12Device, (void **)&d3d12)) ||
        FAILED(ID3D12Device_CreateCommandQueue(d3d12, &desc, &IID_ID3D12CommandQueue, (void **)&queue)) ||
        FAILED(DMLCreateDevice(d3d12, DML_CREATE_DEVICE_FLAG_NONE, &IID_IDMLDevice, (void **)&device)))
        return 1;
    test_sizes();
    test_recurrent_and_attention();
    test_numbers();
    test_errors();
    IDMLDevice_Release(device);
    ID3D12CommandQueue_Release(queue);
    ID3D12Device_Release(d3d12);
    printf("%d failures\n", failures);
    return failures != 0;
}
