/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs for tests, node by node and edge by edge. */
#ifndef TESTS_API_DML_BUILD_H
#define TESTS_API_DML_BUILD_H

#include "dml_test.h"

enum { MAX_PARTS = 32 };

/* A graph under construction. */
struct build {
    IDMLDevice1 *dml;
    DML_OPERATOR_GRAPH_NODE_DESC operators[MAX_PARTS];
    DML_CONSTANT_DATA_GRAPH_NODE_DESC constants[MAX_PARTS];
    DML_GRAPH_NODE_DESC nodes[MAX_PARTS];
    DML_INPUT_GRAPH_EDGE_DESC inputs[MAX_PARTS];
    DML_OUTPUT_GRAPH_EDGE_DESC outputs[MAX_PARTS];
    DML_INTERMEDIATE_GRAPH_EDGE_DESC middles[MAX_PARTS];
    DML_GRAPH_EDGE_DESC input_edges[MAX_PARTS], output_edges[MAX_PARTS], middle_edges[MAX_PARTS];
    DML_GRAPH_DESC desc;
};

static inline void build_begin(struct build *b, IDMLDevice1 *dml, UINT inputs, UINT outputs)
{
    memset(b, 0, sizeof(*b));
    b->dml = dml;
    b->desc = (DML_GRAPH_DESC){ .InputCount = inputs,
                                .OutputCount = outputs,
                                .Nodes = b->nodes,
                                .InputEdges = b->input_edges,
                                .OutputEdges = b->output_edges,
                                .IntermediateEdges = b->middle_edges };
}

/* Takes the reference on op. */
static inline void add_node(struct build *b, IDMLOperator *op, const char *name)
{
    UINT i = b->desc.NodeCount++;
    b->operators[i] = (DML_OPERATOR_GRAPH_NODE_DESC){ op, name };
    b->nodes[i] = (DML_GRAPH_NODE_DESC){ DML_GRAPH_NODE_TYPE_OPERATOR, &b->operators[i] };
}

static inline void add_constant(struct build *b, const void *data, size_t bytes)
{
    UINT i = b->desc.NodeCount++;
    b->constants[i] = (DML_CONSTANT_DATA_GRAPH_NODE_DESC){ data, bytes, "constant" };
    b->nodes[i] = (DML_GRAPH_NODE_DESC){ DML_GRAPH_NODE_TYPE_CONSTANT, &b->constants[i] };
}

static inline void add_input(struct build *b, UINT input, UINT node, UINT slot)
{
    UINT i = b->desc.InputEdgeCount++;
    b->inputs[i] = (DML_INPUT_GRAPH_EDGE_DESC){ input, node, slot, NULL };
    b->input_edges[i] = (DML_GRAPH_EDGE_DESC){ DML_GRAPH_EDGE_TYPE_INPUT, &b->inputs[i] };
}

static inline void add_output(struct build *b, UINT node, UINT slot, UINT output)
{
    UINT i = b->desc.OutputEdgeCount++;
    b->outputs[i] = (DML_OUTPUT_GRAPH_EDGE_DESC){ node, slot, output, "out" };
    b->output_edges[i] = (DML_GRAPH_EDGE_DESC){ DML_GRAPH_EDGE_TYPE_OUTPUT, &b->outputs[i] };
}

static inline void add_middle(struct build *b, UINT from, UINT from_slot, UINT to, UINT to_slot)
{
    UINT i = b->desc.IntermediateEdgeCount++;
    b->middles[i] = (DML_INTERMEDIATE_GRAPH_EDGE_DESC){ from, from_slot, to, to_slot, NULL };
    b->middle_edges[i] = (DML_GRAPH_EDGE_DESC){ DML_GRAPH_EDGE_TYPE_INTERMEDIATE, &b->middles[i] };
}

static inline void release_nodes(struct build *b)
{
    for (UINT i = 0; i < MAX_PARTS; i++)
        if (b->operators[i].Operator)
            api_release(b->operators[i].Operator);
}

/* Compiles, then releases the operators and wipes all descriptions. */
static inline IDMLCompiledOperator *build_end_with(struct build *b, DML_EXECUTION_FLAGS flags)
{
    IDMLCompiledOperator *op = NULL;
    HRESULT hr = IDMLDevice1_CompileGraph(b->dml, &b->desc, flags, &IID_IDMLCompiledOperator, (void **)&op);
    rig_skip(hr);
    ok_hr(hr, S_OK);
    need(op);
    release_nodes(b);
    memset(b, 0xa5, sizeof(*b));
    return op;
}

static inline IDMLCompiledOperator *build_end(struct build *b)
{
    return build_end_with(b, DML_EXECUTION_FLAG_NONE);
}

#endif
