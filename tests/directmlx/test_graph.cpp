/* SPDX-License-Identifier: Apache-2.0 */
// Graphs themselves: constants, owned inputs, names, policies, reinterpretation, and what is refused.
#include "harness.h"

#include <DirectMLGuids.h>

using dml::Expression;

static void test_inputs()
{
    Tensor x = random_tensor({ 1, 1, 2, 3 }), w = random_tensor({ 1, 1, 3, 4 }), c = { F32, { 1, 1, 2, 4 }, {} };
    w.flags = DML_TENSOR_FLAG_OWNED_BY_DML;
    const float constant[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    auto y = run("inputs", { x, w, random_tensor({ 1 }) }, [&](dml::Graph &graph, const In &in) {
        dml::NameScope outer(graph, "outer");
        graph.PushName("inner");
        auto bytes = reinterpret_cast<const dml::Byte *>(constant);
        Expression bias = dml::ConstantData(graph, dml::Span<const dml::Byte>(bytes, sizeof(constant)),
                                            dml::TensorDesc(F32, { 1, 1, 2, 4 }));
        graph.PopName();
        Expression product = dml::Gemm(in[0], in[1]);
        return Out{ product + bias, product };
    });
    Values product(8), sum(8);
    for (int i = 0; i < 8; i++) {
        for (int k = 0; k < 3; k++)
            product[i] += x.values[i / 4 * 3 + k] * w.values[k * 4 + i % 4];
        sum[i] = product[i] + constant[i];
    }
    expect("constant", y[0], sum, { 1, 1, 2, 4 });
    expect("owned", y[1], product, { 1, 1, 2, 4 });
}

static void test_layouts()
{
    Tensor x = random_tensor({ 2, 3, 4, 5 });
    dml::TensorDesc seen;
    auto y = run(
        "interleaved", { x },
        [&](dml::Graph &graph, const In &in) {
            Expression first = dml::Abs(in[0]);
            seen = first.GetOutputDesc();
            graph.SetTensorPolicy(dml::TensorPolicy::Default());
            return Out{ first, -first };
        },
        dml::TensorPolicy::InterleavedChannel());
    expect_true("interleaved strides", seen.strides && *seen.strides == dml::TensorStrides{ 60, 1, 15, 3 });
    expect("interleaved", y[0], map(x, [](double v) { return std::fabs(v); }));
    expect("packed", y[1], map(x, [](double v) { return -std::fabs(v); }));

    Tensor row = random_tensor({ 1, 1, 1, 4 }), t = random_tensor({ 1, 1, 3, 4 });
    auto z = run("reinterpret", { t, row }, [](dml::Graph &, const In &in) {
        Expression rows = dml::Reinterpret(in[1], { 1, 1, 3, 4 }, dml::TensorStrides{ 0, 0, 0, 1 });
        Expression turned = dml::Reinterpret(in[0], { 1, 1, 4, 3 }, dml::TensorStrides{ 12, 12, 1, 4 });
        return Out{ in[0] * rows, dml::Identity(turned), dml::Identity(dml::Reinterpret(in[0], U32)) };
    });
    Values scaled(12), transposed(12);
    for (int i = 0; i < 12; i++) {
        scaled[i] = t.values[i] * row.values[i % 4];
        transposed[i % 4 * 3 + i / 4] = t.values[i];
    }
    expect("broadcast", z[0], scaled);
    expect("transpose", z[1], transposed, { 1, 1, 4, 3 });
    expect_true("type", z[2].type == U32);
}

static void test_descriptions()
{
    dml::TensorDesc desc(DML_TENSOR_DATA_TYPE_INT8, DML_TENSOR_FLAG_OWNED_BY_DML, { 3, 7 });
    const DML_BUFFER_TENSOR_DESC &buffer = *desc.AsPtr<DML_BUFFER_TENSOR_DESC>();
    expect_true("description", buffer.DimensionCount == 2 && buffer.Sizes[1] == 7 && !buffer.Strides &&
                                   buffer.TotalTensorSizeInBytes == 24 && buffer.Flags == desc.flags);
    dml::TensorDesc copy(*desc.AsPtr<DML_TENSOR_DESC>());
    expect_true("copy", copy.sizes == desc.sizes && copy.totalTensorSizeInBytes == 24 && copy.dataType == I8);
    dml::TensorDesc strided(F32, DML_TENSOR_FLAG_NONE, { 2, 2 }, dml::TensorStrides{ 4, 1 }, 24, 16);
    expect_true("strided", strided.AsPtr<DML_BUFFER_TENSOR_DESC>()->Strides[0] == 4);
    using namespace dml::detail;
    expect_true("identifiers", DeviceIID == IID_IDMLDevice1 && OperatorIID == IID_IDMLOperator &&
                                   CompiledIID == IID_IDMLCompiledOperator);
}

#if defined(__cpp_exceptions)
static void refused(const char *name, const std::function<void(dml::Graph &, Expression)> &build)
{
    dml::Graph graph(device());
    Expression x = dml::InputTensor(graph, 0, dml::TensorDesc(F32, { 1, 1, 2, 3 }));
    try {
        build(graph, x);
        fail(std::string(name) + ": not refused");
    } catch (const dml::Error &error) {
        expect_true(name,
                    error.Code() == E_INVALIDARG && std::string(error.what()).find("0x80070057") != std::string::npos);
    }
}

static void test_errors()
{
    refused("sizes differ", [](dml::Graph &graph, Expression x) {
        dml::Add(x, dml::InputTensor(graph, 1, dml::TensorDesc(F32, { 1, 1, 2, 4 })));
    });
    refused("two graphs", [](dml::Graph &, Expression x) {
        dml::Graph other(device());
        dml::Add(dml::InputTensor(other, 0, x.GetOutputDesc()), x);
    });
    refused("empty expression", [](dml::Graph &, Expression x) { dml::Add(x, Expression()); });
    refused("input as output", [](dml::Graph &graph, Expression x) { graph.Compile(DML_EXECUTION_FLAG_NONE, { x }); });
    refused("input count", [](dml::Graph &graph, Expression x) {
        graph.Compile(DML_EXECUTION_FLAG_NONE, { -dml::InputTensor(graph, 4, x.GetOutputDesc()) }, 4);
    });
    refused("axis", [](dml::Graph &, Expression x) { dml::Reduce(x, DML_REDUCE_FUNCTION_SUM, { 4 }); });
    refused("axis of TopK", [](dml::Graph &, Expression x) { dml::TopK(x, 4, 1, DML_AXIS_DIRECTION_INCREASING); });
    refused("stride 0", [](dml::Graph &, Expression x) { dml::MaxPooling(x, { 1, 1 }, { 0, 1 }); });
    refused("window too large", [](dml::Graph &, Expression x) { dml::MaxPooling(x, { 3, 1 }); });
    refused("windows of other rank", [](dml::Graph &, Expression x) { dml::MaxPooling(x, { 1, 1, 1 }); });
    refused("reinterpreted too large", [](dml::Graph &, Expression x) { dml::Reinterpret(x, { 7 }, dml::NullOpt); });
    refused("rank 1", [](dml::Graph &graph, Expression x) {
        dml::Gemm(dml::InputTensor(graph, 1, dml::TensorDesc(F32, { 3 })), x);
    });
    refused("slice", [](dml::Graph &, Expression x) { dml::Slice(x, { 0 }, { 1 }, { 1 }); });
    refused("names", [](dml::Graph &graph, Expression) { graph.PopName(); });
    refused("no type", [](dml::Graph &, Expression) { dml::TensorDesc(DML_TENSOR_DATA_TYPE_UNKNOWN, { 1 }); });
    refused("no device", [](dml::Graph &, Expression) { dml::Graph graph(nullptr); });
}
#else
static void test_errors()
{
}
#endif

void test_graph()
{
    test_inputs();
    test_layouts();
    test_descriptions();
    test_errors();
}
