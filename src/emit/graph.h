/* SPDX-License-Identifier: Apache-2.0 */
/* A DirectML graph in the making: nodes, edges, outputs, and their compilation. The graph builder, the ONNX converters,
 * torch's operators and `anydml dispatch` emit their graphs with it. Not thread-safe. */
#ifndef EMIT_GRAPH_H
#define EMIT_GRAPH_H

#include "base/base.h"

#include <anydml.h>

/* What an edge starts from: an input of the graph, or an output of a node. */
struct emit_source {
    bool is_input;
    uint32_t index; /* of the graph's input, or the node */
    uint32_t output;
};

struct emit_node {
    union {
        DML_OPERATOR_GRAPH_NODE_DESC op; /* the operator is released with the graph */
        DML_CONSTANT_DATA_GRAPH_NODE_DESC constant;
    } desc;
    DML_GRAPH_NODE_TYPE type;
    bool mapped;
};

struct emit_edge {
    struct emit_source from;
    uint32_t node, input;
    const char *name;
};

/* A zeroed struct with a device is an empty graph. Names (NULL: none) and the data of constants must outlive it. */
struct emit_graph {
    IDMLDevice1 *device; /* not owned */
    uint32_t input_count;
    bool used_only; /* nodes that do not lead to an output are left out; sources of edges must precede their nodes */
    struct emit_node *nodes;
    struct emit_edge *edges;
    DML_OUTPUT_GRAPH_EDGE_DESC *outputs;
    uint32_t node_count, node_capacity, edge_count, edge_capacity, output_count, output_capacity;
};

void emit_finish(struct emit_graph *graph);

/* Appends a node, number graph->node_count - 1: E_OUTOFMEMORY, or the HRESULT of CreateOperator. */
HRESULT emit_operator(struct emit_graph *graph, const DML_OPERATOR_DESC *desc, const char *name);
/* The same for a constant. `mapped`: the data is of a mapped file, whose pages may leave memory once the graph has it.
 * This and the following: false if out of memory. */
bool emit_constant(struct emit_graph *graph, const void *data, uint64_t bytes, const char *name, bool mapped);
bool emit_edge(struct emit_graph *graph, struct emit_source from, uint32_t node, uint32_t input, const char *name);
/* Appends an output of the graph. */
bool emit_output(struct emit_graph *graph, uint32_t node, uint32_t output, const char *name);

/* E_OUTOFMEMORY, or the HRESULT of CompileGraph. The graph may be extended and compiled again. */
HRESULT emit_compile(const struct emit_graph *graph, DML_EXECUTION_FLAGS flags, IDMLCompiledOperator **out);

#endif
