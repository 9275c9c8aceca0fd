/* SPDX-License-Identifier: Apache-2.0 */
/* DirectMLX.h: expressions, their graph, and detail::Operator, the helper with which every function creates its
 * operator. A new operator is one short function over it. */
#ifndef ANYDML_DMLX_GRAPH_H
#define ANYDML_DMLX_GRAPH_H

#include "dmlx_types.h"

#include <deque>
#include <memory>

namespace dml
{

namespace detail
{

class GraphBuilder;

/* An output of a node, or an input of the graph, with the description `desc`. Reinterpreting creates another one with
 * the same source. */
struct NodeOutput {
    GraphBuilder *builder;
    bool isGraphInput;
    uint32_t node;   /* or the index of the graph's input */
    uint32_t output; /* of the node */
    TensorDesc desc;
};

} /* namespace detail */

/* A tensor of the graph; a small value that is valid as long as the graph. */
class Expression
{
  public:
    Expression() = default;
    Expression(detail::NodeOutput *output) : m_output(output)
    {
    }
    detail::NodeOutput *Impl() const
    {
        return m_output;
    }
    const TensorDesc &GetOutputDesc() const
    {
        detail::Check(m_output != nullptr, "an expression is empty");
        return m_output->desc;
    }
    explicit operator bool() const
    {
        return m_output != nullptr;
    }

  private:
    detail::NodeOutput *m_output = nullptr;
};

/* An activation that is fused into the preceding operator. */
struct FusedActivation {
    DML_OPERATOR_TYPE activation = DML_OPERATOR_INVALID;
    float param1 = 0;
    float param2 = 0;

    static FusedActivation None()
    {
        return {};
    }
    static FusedActivation Elu(float alpha = 1.0f)
    {
        return { DML_OPERATOR_ACTIVATION_ELU, alpha };
    }
    static FusedActivation HardSigmoid(float alpha = 0.2f, float beta = 0.5f)
    {
        return { DML_OPERATOR_ACTIVATION_HARD_SIGMOID, alpha, beta };
    }
    static FusedActivation Identity()
    {
        return { DML_OPERATOR_ACTIVATION_IDENTITY };
    }
    static FusedActivation LeakyRelu(float alpha = 0.01f)
    {
        return { DML_OPERATOR_ACTIVATION_LEAKY_RELU, alpha };
    }
    static FusedActivation Linear(float alpha, float beta)
    {
        return { DML_OPERATOR_ACTIVATION_LINEAR, alpha, beta };
    }
    static FusedActivation ParametricSoftplus(float alpha, float beta)
    {
        return { DML_OPERATOR_ACTIVATION_PARAMETRIC_SOFTPLUS, alpha, beta };
    }
    static FusedActivation Relu()
    {
        return { DML_OPERATOR_ACTIVATION_RELU };
    }
    static FusedActivation ScaledElu(float alpha = 1.67326319217681884765625f, float gamma = 1.05070102214813232421875f)
    {
        return { DML_OPERATOR_ACTIVATION_SCALED_ELU, alpha, gamma };
    }
    static FusedActivation ScaledTanh(float alpha = 1.0f, float beta = 0.5f)
    {
        return { DML_OPERATOR_ACTIVATION_SCALED_TANH, alpha, beta };
    }
    static FusedActivation Sigmoid()
    {
        return { DML_OPERATOR_ACTIVATION_SIGMOID };
    }
    static FusedActivation Softplus(float steepness = 1.0f)
    {
        return { DML_OPERATOR_ACTIVATION_SOFTPLUS, steepness };
    }
    static FusedActivation Softsign()
    {
        return { DML_OPERATOR_ACTIVATION_SOFTSIGN };
    }
    static FusedActivation Tanh()
    {
        return { DML_OPERATOR_ACTIVATION_TANH };
    }
    static FusedActivation ThresholdedRelu(float alpha = 1.0f)
    {
        return { DML_OPERATOR_ACTIVATION_THRESHOLDED_RELU, alpha };
    }
    static FusedActivation Shrink(float bias = 0.0f, float threshold = 0.5f)
    {
        return { DML_OPERATOR_ACTIVATION_SHRINK, bias, threshold };
    }
#if DML_TARGET_VERSION >= 0x3000
    static FusedActivation Celu(float alpha = 1.0f)
    {
        return { DML_OPERATOR_ACTIVATION_CELU, alpha };
    }
#endif
#if DML_TARGET_VERSION >= 0x5100
    static FusedActivation Gelu()
    {
        return { DML_OPERATOR_ACTIVATION_GELU };
    }
#endif

    FusedActivation() = default;
    FusedActivation(DML_OPERATOR_TYPE type, float first = 0, float second = 0)
        : activation(type), param1(first), param2(second)
    {
    }
};

namespace detail
{

/* The same as in DirectMLGuids.h, which a program may include or not: its __uuidof may differ. */
inline constexpr IID DeviceIID = { 0xa0884f9a, 0xd2be, 0x4355, { 0xaa, 0x5d, 0x59, 0x01, 0x28, 0x1a, 0xd1, 0xd2 } };
inline constexpr IID OperatorIID = { 0x26caae7a, 0x3081, 0x4633, { 0x95, 0x81, 0x22, 0x6f, 0xbe, 0x57, 0x69, 0x5d } };
inline constexpr IID CompiledIID = { 0x6b15e56a, 0xbf5c, 0x4902, { 0x92, 0xd8, 0xda, 0x3a, 0x65, 0x0a, 0xfe, 0xa4 } };

inline void **Receive(void *pointer)
{
    return static_cast<void **>(pointer);
}

class GraphBuilder
{
  public:
    GraphBuilder(IDMLDevice *device, TensorPolicy policy) : m_policy(std::move(policy))
    {
        Check(device != nullptr, "Graph: the device must not be null");
        HRESULT hr = device->QueryInterface(DeviceIID, Receive(m_device.ReleaseAndGetAddressOf()));
        if (FAILED(hr))
            Fail(hr, "Graph: the device must have IDMLDevice1");
    }

    void PushName(StringView name)
    {
        m_nameLengths.push_back(m_name.size());
        if (!m_name.empty())
            m_name += '_';
        m_name += name;
    }
    void PopName()
    {
        Check(!m_nameLengths.empty(), "PopName: there must be a name that was pushed");
        m_name.resize(m_nameLengths.back());
        m_nameLengths.pop_back();
    }
    void SetTensorPolicy(TensorPolicy policy)
    {
        m_policy = std::move(policy);
    }
    const TensorPolicy &GetTensorPolicy() const
    {
        return m_policy;
    }

    Expression Add(NodeOutput output)
    {
        m_outputs.push_back(std::move(output));
        return Expression(&m_outputs.back());
    }

    /* Null inputs are absent optional tensors. */
    uint32_t AddOperator(DML_OPERATOR_TYPE type, const void *desc, Span<NodeOutput *const> inputs)
    {
        DML_OPERATOR_DESC whole = { type, desc };
        Node node;
        node.name = m_name;
        for (NodeOutput *input : inputs)
            Check(!input || input->builder == this, "all inputs of an operator must be of one graph");
        HRESULT hr = m_device->CreateOperator(&whole, OperatorIID, Receive(node.op.ReleaseAndGetAddressOf()));
        if (FAILED(hr))
            Fail(hr, "operator type " + std::to_string(type) + (m_name.empty() ? "" : " in " + m_name) + " is refused");
        m_nodes.push_back(std::move(node));
        uint32_t index = static_cast<uint32_t>(m_nodes.size() - 1);
        for (size_t i = 0; i < inputs.size(); i++)
            if (inputs[i])
                m_edges.push_back({ inputs[i], index, static_cast<uint32_t>(i) });
        return index;
    }

#if DML_TARGET_VERSION >= 0x6200
    uint32_t AddConstant(Span<const Byte> data)
    {
        Node node;
        node.constant = data;
        node.name = m_name;
        m_nodes.push_back(std::move(node));
        return static_cast<uint32_t>(m_nodes.size() - 1);
    }
#endif

    ComPtr<IDMLCompiledOperator> Compile(DML_EXECUTION_FLAGS flags, Span<const Expression> outputs,
                                         uint32_t inputCount);

  private:
    struct Node {
        ComPtr<IDMLOperator> op; /* null for a constant */
        Span<const Byte> constant;
        std::string name;
    };
    struct Edge {
        const NodeOutput *from;
        uint32_t toNode, toInput;
    };

    ComPtr<IDMLDevice1> m_device;
    TensorPolicy m_policy;
    std::string m_name;
    std::vector<size_t> m_nameLengths;
    std::vector<Node> m_nodes;
    std::vector<Edge> m_edges;
    std::deque<NodeOutput> m_outputs; /* expressions point to them */
};

/* The edges as descriptions: one vector for each kind, and the array over them for CompileGraph. */
template <typename Desc>
std::vector<DML_GRAPH_EDGE_DESC> EdgeList(DML_GRAPH_EDGE_TYPE type, const std::vector<Desc> &all)
{
    std::vector<DML_GRAPH_EDGE_DESC> list;
    for (const Desc &one : all)
        list.push_back({ type, &one });
    return list;
}

inline ComPtr<IDMLCompiledOperator> GraphBuilder::Compile(DML_EXECUTION_FLAGS flags, Span<const Expression> outputs,
                                                          uint32_t inputCount)
{
    std::vector<DML_OPERATOR_GRAPH_NODE_DESC> operators(m_nodes.size());
    std::vector<DML_GRAPH_NODE_DESC> nodes(m_nodes.size());
#if DML_TARGET_VERSION >= 0x6200
    std::vector<DML_CONSTANT_DATA_GRAPH_NODE_DESC> constants(m_nodes.size());
#endif
    for (size_t i = 0; i < m_nodes.size(); i++) {
        const Node &node = m_nodes[i];
        operators[i] = { node.op.Get(), node.name.c_str() };
        nodes[i] = { DML_GRAPH_NODE_TYPE_OPERATOR, &operators[i] };
#if DML_TARGET_VERSION >= 0x6200
        constants[i] = { node.constant.data(), node.constant.size(), node.name.c_str() };
        if (!node.op)
            nodes[i] = { DML_GRAPH_NODE_TYPE_CONSTANT, &constants[i] };
#endif
    }

    std::vector<DML_INPUT_GRAPH_EDGE_DESC> in;
    std::vector<DML_INTERMEDIATE_GRAPH_EDGE_DESC> between;
    std::vector<DML_OUTPUT_GRAPH_EDGE_DESC> out;
    for (const Edge &edge : m_edges) {
        if (edge.from->isGraphInput)
            in.push_back({ edge.from->node, edge.toNode, edge.toInput, nullptr });
        else
            between.push_back({ edge.from->node, edge.from->output, edge.toNode, edge.toInput, nullptr });
    }
    uint32_t inputs = 0;
    for (const NodeOutput &output : m_outputs)
        if (output.isGraphInput && output.node >= inputs)
            inputs = output.node + 1;
    Check(inputCount == 0 || inputCount >= inputs, "Compile: inputCount must be above the index of every input");
    for (const Expression &expression : outputs) {
        const NodeOutput *from = expression.Impl();
        Check(from && from->builder == this, "Compile: outputs must be expressions of this graph");
        Check(!from->isGraphInput, "Compile: an output must not be an input; Identity makes one of it");
        out.push_back({ from->node, from->output, static_cast<UINT>(out.size()), nullptr });
    }

    auto inList = EdgeList(DML_GRAPH_EDGE_TYPE_INPUT, in), outList = EdgeList(DML_GRAPH_EDGE_TYPE_OUTPUT, out);
    auto betweenList = EdgeList(DML_GRAPH_EDGE_TYPE_INTERMEDIATE, between);
    DML_GRAPH_DESC graph = { inputCount ? inputCount : inputs,  static_cast<UINT>(out.size()),
                             static_cast<UINT>(nodes.size()),   nodes.data(),
                             static_cast<UINT>(in.size()),      inList.data(),
                             static_cast<UINT>(out.size()),     outList.data(),
                             static_cast<UINT>(between.size()), betweenList.data() };
    ComPtr<IDMLCompiledOperator> compiled;
    HRESULT hr = m_device->CompileGraph(&graph, flags, CompiledIID, Receive(compiled.ReleaseAndGetAddressOf()));
    if (FAILED(hr))
        Fail(hr, "Compile: the graph is refused");
    return compiled;
}

/*
 * Builds one operator. Tensors are added in the order of the description's fields, which a braced list guarantees:
 *
 *     Operator op(a);
 *     DML_X_OPERATOR_DESC desc = { op.In(a), op.In(b), op.Out(type, sizes), ... };
 *     return op.Make(DML_OPERATOR_X, desc);
 */
class Operator
{
  public:
    explicit Operator(const Expression &input)
    {
        Check(input.Impl() != nullptr, "an operator's input is an empty expression");
        m_builder = input.Impl()->builder;
    }
    explicit Operator(GraphBuilder *builder) : m_builder(builder)
    {
    }

    const DML_TENSOR_DESC *In(const Expression &input)
    {
        Check(input.Impl() != nullptr, "an operator's input is an empty expression");
        m_inputs.push_back(input.Impl());
        return Keep(input.Impl()->desc);
    }
    const DML_TENSOR_DESC *In(const Optional<Expression> &input)
    {
        if (input)
            return In(*input);
        m_inputs.push_back(nullptr);
        return nullptr;
    }

    const DML_TENSOR_DESC *Out(DML_TENSOR_DATA_TYPE type, TensorDimensions sizes, bool present = true)
    {
        m_outputs.push_back(nullptr);
        if (!present)
            return nullptr;
        const DML_TENSOR_DESC *desc = Keep(TensorDesc(type, std::move(sizes), m_builder->GetTensorPolicy()));
        m_outputs.back() = &m_tensors.back();
        return desc;
    }
    /* Uses type and sizes of another tensor. */
    const DML_TENSOR_DESC *Out(const Expression &like)
    {
        return Out(like.GetOutputDesc().dataType, like.GetOutputDesc().sizes);
    }

    /* The descriptions of all fusible activations start with the fields of LINEAR. */
    const DML_OPERATOR_DESC *Fused(const FusedActivation &activation)
    {
        if (activation.activation == DML_OPERATOR_INVALID)
            return nullptr;
        m_parameters.push_back({ nullptr, nullptr, activation.param1, activation.param2 });
        m_fused.push_back({ activation.activation, &m_parameters.back() });
        return &m_fused.back();
    }

    /* The first output. */
    template <typename Desc> Expression Make(DML_OPERATOR_TYPE type, const Desc &desc)
    {
        uint32_t node = m_builder->AddOperator(type, &desc, m_inputs);
        for (size_t i = 0; i < m_outputs.size(); i++)
            m_results.push_back(
                m_outputs[i] ? m_builder->Add({ m_builder, false, node, static_cast<uint32_t>(i), *m_outputs[i] })
                             : Expression());
        return m_results[0];
    }
    /* After Make; empty for an absent output. */
    Expression Result(size_t index) const
    {
        return m_results[index];
    }
    std::vector<Expression> Results() const
    {
        return m_results;
    }

  private:
    const DML_TENSOR_DESC *Keep(TensorDesc desc)
    {
        m_tensors.push_back(std::move(desc));
        return m_tensors.back().AsPtr<DML_TENSOR_DESC>();
    }

    GraphBuilder *m_builder;
    std::vector<NodeOutput *> m_inputs;
    std::vector<const TensorDesc *> m_outputs;
    std::vector<Expression> m_results;
    std::deque<TensorDesc> m_tensors; /* descriptions point to the elements of these three */
    std::deque<DML_ACTIVATION_LINEAR_OPERATOR_DESC> m_parameters;
    std::deque<DML_OPERATOR_DESC> m_fused;
};

/* A unary operator whose output has the input's sizes; the fields after the tensors follow. */
template <typename Desc, typename... Fields>
Expression Map(DML_OPERATOR_TYPE type, const Expression &input, DML_TENSOR_DATA_TYPE outputType, Fields... fields)
{
    Operator op(input);
    Desc desc = { op.In(input), op.Out(outputType, input.GetOutputDesc().sizes), fields... };
    return op.Make(type, desc);
}
template <typename Desc, typename... Fields>
Expression Map(DML_OPERATOR_TYPE type, const Expression &input, Fields... fields)
{
    return Map<Desc>(type, input, input.GetOutputDesc().dataType, fields...);
}

/* A unary operator whose output has the input's type and other sizes. */
template <typename Desc, typename... Fields>
Expression Resize(DML_OPERATOR_TYPE type, const Expression &input, TensorDimensions sizes, Fields... fields)
{
    Operator op(input);
    Desc desc = { op.In(input), op.Out(input.GetOutputDesc().dataType, std::move(sizes)), fields... };
    return op.Make(type, desc);
}

/* A binary operator whose output has the sizes of the first input. */
template <typename Desc, typename... Fields>
Expression Zip(DML_OPERATOR_TYPE type, const Expression &a, const Expression &b, DML_TENSOR_DATA_TYPE outputType,
               Fields... fields)
{
    Operator op(a);
    Desc desc = { op.In(a), op.In(b), op.Out(outputType, a.GetOutputDesc().sizes), fields... };
    return op.Make(type, desc);
}
template <typename Desc, typename... Fields>
Expression Zip(DML_OPERATOR_TYPE type, const Expression &a, const Expression &b, Fields... fields)
{
    return Zip<Desc>(type, a, b, a.GetOutputDesc().dataType, fields...);
}

inline const DML_SCALE_BIAS *Pointer(const Optional<DML_SCALE_BIAS> &scaleBias)
{
    return scaleBias ? &*scaleBias : nullptr;
}

/* Sizes of tensors in the form that functions take. */
inline const TensorDimensions &SizesOf(const Expression &input)
{
    return input.GetOutputDesc().sizes;
}
inline DML_TENSOR_DATA_TYPE TypeOf(const Expression &input)
{
    return input.GetOutputDesc().dataType;
}
inline UINT Count(size_t count)
{
    return static_cast<UINT>(count);
}

} /* namespace detail */

class Graph
{
  public:
    explicit Graph(IDMLDevice *device, TensorPolicy policy = TensorPolicy::Default())
        : m_builder(std::make_unique<detail::GraphBuilder>(device, std::move(policy)))
    {
    }

    /* Nodes created between push and pop are named for messages, outer names before inner ones. */
    void PushName(StringView name)
    {
        m_builder->PushName(name);
    }
    void PopName()
    {
        m_builder->PopName();
    }

    /* The layout of outputs of operators that are created from now on. */
    void SetTensorPolicy(TensorPolicy policy)
    {
        m_builder->SetTensorPolicy(std::move(policy));
    }
    const TensorPolicy &GetTensorPolicy() const
    {
        return m_builder->GetTensorPolicy();
    }

    /* Input i of the compiled operator is the one that InputTensor created with index i. inputCount is the number of
     * inputs if the last ones are unused. The graph may be compiled again, and destroyed before the compiled
     * operator. */
    ComPtr<IDMLCompiledOperator> Compile(DML_EXECUTION_FLAGS flags, Span<const Expression> outputs,
                                         uint32_t inputCount = 0) const
    {
        return m_builder->Compile(flags, outputs, inputCount);
    }

    detail::GraphBuilder *Impl() const
    {
        return m_builder.get();
    }

  private:
    std::unique_ptr<detail::GraphBuilder> m_builder;
};

class NameScope
{
  public:
    NameScope(Graph &graph, StringView name) : m_graph(graph)
    {
        m_graph.PushName(name);
    }
    ~NameScope()
    {
        m_graph.PopName();
    }
    NameScope(const NameScope &) = delete;
    NameScope &operator=(const NameScope &) = delete;

  private:
    Graph &m_graph;
};

inline Expression InputTensor(Graph &graph, uint32_t inputIndex, TensorDesc desc)
{
    return graph.Impl()->Add({ graph.Impl(), true, inputIndex, 0, std::move(desc) });
}

#if DML_TARGET_VERSION >= 0x6200
/* `data` is read by Compile and must remain valid until then. */
inline Expression ConstantData(Graph &graph, Span<const Byte> data, TensorDesc desc)
{
    return graph.Impl()->Add({ graph.Impl(), false, graph.Impl()->AddConstant(data), 0, std::move(desc) });
}
#endif

/* The same bytes with another type, other sizes or strides. */
inline Expression Reinterpret(Expression input, DML_TENSOR_DATA_TYPE newType, TensorDimensions newSizes,
                              Optional<TensorStrides> newStrides)
{
    TensorDesc desc = input.GetOutputDesc();
    detail::Check(!newStrides || newStrides->size() == newSizes.size(), "Reinterpret: one stride for each size");
    detail::Check(detail::BytesOf(newType, newSizes, newStrides ? newStrides->data() : nullptr) <=
                      desc.totalTensorSizeInBytes,
                  "Reinterpret: the new tensor must not reach behind the end of the input");
    desc.dataType = newType;
    desc.sizes = std::move(newSizes);
    desc.strides = std::move(newStrides);
    return input.Impl()->builder->Add({ input.Impl()->builder, input.Impl()->isGraphInput, input.Impl()->node,
                                        input.Impl()->output, std::move(desc) });
}
inline Expression Reinterpret(Expression input, TensorDimensions newSizes, Optional<TensorStrides> newStrides)
{
    return Reinterpret(input, detail::TypeOf(input), std::move(newSizes), std::move(newStrides));
}
inline Expression Reinterpret(Expression input, DML_TENSOR_DATA_TYPE newType)
{
    return Reinterpret(input, newType, detail::SizesOf(input), input.GetOutputDesc().strides);
}

} /* namespace dml */

#endif
