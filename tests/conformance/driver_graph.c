/* SPDX-License-Identifier: Apache-2.0 */
/* The operator as a node of a graph: inputs come from constants or through nodes that change nothing, outputs leave
 * through such nodes, so that the graph compiler's rewrites meet every operator. */
#include "driver.h"

#include <DirectMLGuids.h>

#include "base/base.h"

enum { NODES = 64 };

struct maker {
    IDMLDevice1 *dml;
    HRESULT hr;
    IDMLOperator *made[NODES];
    DML_OPERATOR_GRAPH_NODE_DESC operators[NODES];
    DML_CONSTANT_DATA_GRAPH_NODE_DESC constants[NODES];
    DML_GRAPH_NODE_DESC nodes[NODES];
    DML_INPUT_GRAPH_EDGE_DESC in[NODES];
    DML_OUTPUT_GRAPH_EDGE_DESC out[NODES];
    DML_INTERMEDIATE_GRAPH_EDGE_DESC mid[NODES];
    DML_GRAPH_EDGE_DESC in_edges[NODES], out_edges[NODES], mid_edges[NODES];
    DML_GRAPH_DESC graph;
};

static uint32_t add_operator(struct maker *maker, IDMLOperator *op)
{
    const uint32_t node = maker->graph.NodeCount++;
    maker->operators[node].Operator = op;
    maker->nodes[node] = (DML_GRAPH_NODE_DESC){ DML_GRAPH_NODE_TYPE_OPERATOR, &maker->operators[node] };
    return node;
}

/* A node of one input and one output like `tensor`. */
static uint32_t add_unary(struct maker *maker, DML_OPERATOR_TYPE type, const DML_BUFFER_TENSOR_DESC *tensor)
{
    DML_BUFFER_TENSOR_DESC buffer = *tensor;
    buffer.Flags = DML_TENSOR_FLAG_NONE;
    const DML_TENSOR_DESC desc = { DML_TENSOR_TYPE_BUFFER, &buffer };
    const DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC identity = { &desc, &desc, NULL };
    const DML_ELEMENT_WISE_BIT_NOT_OPERATOR_DESC bit_not = { &desc, &desc };
    const DML_OPERATOR_DESC op_desc = { type, type == DML_OPERATOR_ELEMENT_WISE_IDENTITY ? (const void *)&identity
                                                                                         : &bit_not };
    IDMLOperator *op = NULL;
    HRESULT hr = IDMLDevice1_CreateOperator(maker->dml, &op_desc, &IID_IDMLOperator, (void **)&op);
    maker->hr = FAILED(hr) ? hr : maker->hr;
    const uint32_t node = add_operator(maker, op);
    maker->made[node] = op;
    return node;
}

static void add_input_edge(struct maker *maker, uint32_t slot, uint32_t node, uint32_t input)
{
    const uint32_t i = maker->graph.InputEdgeCount++;
    maker->in[i] = (DML_INPUT_GRAPH_EDGE_DESC){ slot, node, input, NULL };
    maker->in_edges[i] = (DML_GRAPH_EDGE_DESC){ DML_GRAPH_EDGE_TYPE_INPUT, &maker->in[i] };
}

static void add_output_edge(struct maker *maker, uint32_t node, uint32_t output, uint32_t slot)
{
    const uint32_t i = maker->graph.OutputEdgeCount++;
    maker->out[i] = (DML_OUTPUT_GRAPH_EDGE_DESC){ node, output, slot, NULL };
    maker->out_edges[i] = (DML_GRAPH_EDGE_DESC){ DML_GRAPH_EDGE_TYPE_OUTPUT, &maker->out[i] };
}

static void add_edge(struct maker *maker, uint32_t from, uint32_t output, uint32_t to, uint32_t input)
{
    const uint32_t i = maker->graph.IntermediateEdgeCount++;
    maker->mid[i] = (DML_INTERMEDIATE_GRAPH_EDGE_DESC){ from, output, to, input, NULL };
    maker->mid_edges[i] = (DML_GRAPH_EDGE_DESC){ DML_GRAPH_EDGE_TYPE_INTERMEDIATE, &maker->mid[i] };
}

static void connect_input(struct maker *maker, uint32_t node, uint32_t input, const struct driver_slot *slot)
{
    uint32_t first, second;
    switch (slot->source) {
    case DRIVER_CONSTANT:
        first = maker->graph.NodeCount++;
        maker->constants[first] = (DML_CONSTANT_DATA_GRAPH_NODE_DESC){ slot->data, slot->data_bytes, NULL };
        maker->nodes[first] = (DML_GRAPH_NODE_DESC){ DML_GRAPH_NODE_TYPE_CONSTANT, &maker->constants[first] };
        add_edge(maker, first, 0, node, input);
        break;
    case DRIVER_IDENTITY:
        first = add_unary(maker, DML_OPERATOR_ELEMENT_WISE_IDENTITY, slot->tensor);
        add_input_edge(maker, input, first, 0);
        add_edge(maker, first, 0, node, input);
        break;
    case DRIVER_NOT_NOT:
        first = add_unary(maker, DML_OPERATOR_ELEMENT_WISE_BIT_NOT, slot->tensor);
        second = add_unary(maker, DML_OPERATOR_ELEMENT_WISE_BIT_NOT, slot->tensor);
        add_input_edge(maker, input, first, 0);
        add_edge(maker, first, 0, second, 0);
        add_edge(maker, second, 0, node, input);
        break;
    case DRIVER_DIRECT:
        add_input_edge(maker, input, node, input);
        break;
    }
}

static void connect_output(struct maker *maker, uint32_t node, uint32_t output, const struct driver_slot *slot)
{
    if (slot->source == DRIVER_DIRECT) {
        add_output_edge(maker, node, output, output);
        return;
    }
    const bool is_not = slot->source == DRIVER_NOT_NOT;
    uint32_t last =
        add_unary(maker, is_not ? DML_OPERATOR_ELEMENT_WISE_BIT_NOT : DML_OPERATOR_ELEMENT_WISE_IDENTITY, slot->tensor);
    add_edge(maker, node, output, last, 0);
    if (is_not) {
        const uint32_t second = add_unary(maker, DML_OPERATOR_ELEMENT_WISE_BIT_NOT, slot->tensor);
        add_edge(maker, last, 0, second, 0);
        last = second;
    }
    add_output_edge(maker, last, 0, output);
}

HRESULT driver_compile_graph(IDMLDevice1 *dml, IDMLOperator *op, const struct driver_request *request,
                             IDMLCompiledOperator **out)
{
    static struct maker maker;
    if (request->input_count > DRIVER_GRAPH_SLOTS || request->output_count > DRIVER_GRAPH_SLOTS)
        return E_INVALIDARG;
    maker = (struct maker){ .dml = dml, .hr = S_OK };
    const uint32_t node = add_operator(&maker, op);
    for (uint32_t i = 0; i < request->input_count; i++)
        if (request->inputs[i].name)
            connect_input(&maker, node, i, &request->inputs[i]);
    for (uint32_t i = 0; i < request->output_count; i++)
        if (request->outputs[i].name)
            connect_output(&maker, node, i, &request->outputs[i]);
    maker.graph.InputCount = request->input_count;
    maker.graph.OutputCount = request->output_count;
    maker.graph.Nodes = maker.nodes;
    maker.graph.InputEdges = maker.in_edges;
    maker.graph.OutputEdges = maker.out_edges;
    maker.graph.IntermediateEdges = maker.mid_edges;
    HRESULT hr = maker.hr;
    if (SUCCEEDED(hr))
        hr = IDMLDevice1_CompileGraph(dml, &maker.graph, request->flags, &IID_IDMLCompiledOperator, (void **)out);
    for (uint32_t i = 0; i < maker.graph.NodeCount; i++)
        if (maker.made[i])
            IDMLOperator_Release(maker.made[i]);
    return hr;
}
