/* SPDX-License-Identifier: Apache-2.0 */
// A C++ client as they are written around DirectML: ComPtr, IID_PPV_ARGS, flags, aggregates, templates over
// descriptions. Included by the two programs that bring the identifiers in the two possible ways.
#include <vector>
#include <wrl/client.h>
#include "check.h"
#include "objects.h"

using Microsoft::WRL::ComPtr;

// A tensor that owns its sizes, convertible to either description.
struct Tensor {
    std::vector<UINT> sizes;
    DML_BUFFER_TENSOR_DESC buffer = {};
    DML_TENSOR_DESC desc = {};

    explicit Tensor(std::vector<UINT> s, DML_TENSOR_FLAGS flags = DML_TENSOR_FLAG_NONE) : sizes(std::move(s))
    {
        UINT64 elements = 1;
        for (UINT size : sizes)
            elements *= size;
        buffer = { DML_TENSOR_DATA_TYPE_FLOAT32, flags, static_cast<UINT>(sizes.size()), sizes.data(), nullptr,
                   elements * sizeof(float),     0 };
        desc = DML_TENSOR_DESC{ DML_TENSOR_TYPE_BUFFER, &buffer };
    }
    Tensor(const Tensor &) = delete;
    Tensor &operator=(const Tensor &) = delete;
};

template <DML_OPERATOR_TYPE Type, typename Desc>
ComPtr<IDMLOperator> create_operator(IDMLDevice *device, const Desc &desc)
{
    DML_OPERATOR_DESC operator_desc = { Type, &desc };
    ComPtr<IDMLOperator> op;
    EXPECT(device->CreateOperator(&operator_desc, IID_PPV_ARGS(&op)) == S_OK);
    return op;
}

static ComPtr<IDMLOperator> create_gemm(IDMLDevice *device)
{
    Tensor a({ 1, 1, 2, 3 }, DML_TENSOR_FLAG_OWNED_BY_DML), b({ 1, 1, 3, 4 }), out({ 1, 1, 2, 4 });
    DML_ACTIVATION_RELU_OPERATOR_DESC relu = {};
    DML_OPERATOR_DESC activation = { DML_OPERATOR_ACTIVATION_RELU, &relu };
    DML_GEMM_OPERATOR_DESC gemm = {};
    gemm.ATensor = &a.desc;
    gemm.BTensor = &b.desc;
    gemm.OutputTensor = &out.desc;
    gemm.TransA = DML_MATRIX_TRANSFORM_NONE;
    gemm.Alpha = 1.5f;
    gemm.FusedActivation = &activation;
    return create_operator<DML_OPERATOR_GEMM>(device, gemm);
}

static ComPtr<IDMLCompiledOperator> compile_graph(IDMLDevice *device, IDMLOperator *op)
{
    DML_OPERATOR_GRAPH_NODE_DESC node = { op, "gemm" };
    std::vector<DML_GRAPH_NODE_DESC> nodes(1);
    nodes[0] = { DML_GRAPH_NODE_TYPE_OPERATOR, &node };
    DML_INPUT_GRAPH_EDGE_DESC inputs[2] = { { 0, 0, 0, "a" }, { 1, 0, 1, "b" } };
    DML_OUTPUT_GRAPH_EDGE_DESC output = { 0, 0, 0, nullptr };
    std::vector<DML_GRAPH_EDGE_DESC> input_edges;
    for (auto &edge : inputs)
        input_edges.push_back({ DML_GRAPH_EDGE_TYPE_INPUT, &edge });
    DML_GRAPH_EDGE_DESC output_edge = { DML_GRAPH_EDGE_TYPE_OUTPUT, &output };
    DML_GRAPH_DESC graph = {};
    graph.InputCount = 2;
    graph.OutputCount = 1;
    graph.NodeCount = static_cast<UINT>(nodes.size());
    graph.Nodes = nodes.data();
    graph.InputEdgeCount = static_cast<UINT>(input_edges.size());
    graph.InputEdges = input_edges.data();
    graph.OutputEdgeCount = 1;
    graph.OutputEdges = &output_edge;

    ComPtr<IDMLDevice1> device1;
    EXPECT(device->QueryInterface(IID_PPV_ARGS(&device1)) == S_OK);
    ComPtr<IDMLCompiledOperator> compiled;
    EXPECT(device1->CompileGraph(
               &graph, DML_EXECUTION_FLAG_ALLOW_HALF_PRECISION_COMPUTATION | DML_EXECUTION_FLAG_DESCRIPTORS_VOLATILE,
               IID_PPV_ARGS(&compiled)) == S_OK);
    return compiled;
}

static void run_client()
{
    ComPtr<IDMLDevice> device;
    *device.ReleaseAndGetAddressOf() = abi_fake_device(); // MinGW's Attach counts a reference of its own
    ComPtr<IDMLOperator> op = create_gemm(device.Get());
    EXPECT(op != nullptr);
    ComPtr<IDMLCompiledOperator> compiled = compile_graph(device.Get(), op.Get());
    EXPECT(compiled != nullptr);
    if (!compiled)
        return;
    DML_BINDING_PROPERTIES properties = ABI_GET(DML_BINDING_PROPERTIES, compiled, GetBindingProperties);
    EXPECT_NUMBER("descriptors", properties.RequiredDescriptorCount, 4);
    EXPECT_NUMBER("temporary bytes", properties.TemporaryResourceSize, 256);
    EXPECT_NUMBER("persistent bytes", properties.PersistentResourceSize, 512);
    ComPtr<IDMLPageable> pageable;
    EXPECT(compiled.As(&pageable) == E_NOINTERFACE); // the fake knows only its own identifier
    EXPECT_NUMBER("objects alive", abi_fake_alive(), 3);
}

int main()
{
    run_client();
    EXPECT_NUMBER("objects left", abi_fake_alive(), 0);
    return abi_result();
}
