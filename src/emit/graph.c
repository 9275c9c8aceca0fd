/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/graph.h"

#include "base/arena.h"
#include "base/file.h"

#include <stdlib.h>

#include <DirectMLGuids.h>

#define UNUSED UINT32_MAX

void emit_finish(struct emit_graph *graph)
{
    for (uint32_t i = 0; i < graph->node_count; i++)
        if (graph->nodes[i].type == DML_GRAPH_NODE_TYPE_OPERATOR && graph->nodes[i].desc.op.Operator)
            IDMLOperator_Release(graph->nodes[i].desc.op.Operator);
    free(graph->nodes);
    free(graph->edges);
    free(graph->outputs);
}

static bool reserve_node(struct emit_graph *graph)
{
    return base_array_reserve((void **)&graph->nodes, graph->node_count, &graph->node_capacity, sizeof(*graph->nodes));
}

HRESULT emit_operator(struct emit_graph *graph, const DML_OPERATOR_DESC *desc, const char *name)
{
    IDMLOperator *op = NULL;
    if (!reserve_node(graph))
        return E_OUTOFMEMORY;
    HRESULT hr = IDMLDevice1_CreateOperator(graph->device, desc, &IID_IDMLOperator, (void **)&op);
    if (SUCCEEDED(hr))
        graph->nodes[graph->node_count++] =
            (struct emit_node){ .type = DML_GRAPH_NODE_TYPE_OPERATOR, .desc.op = { op, name } };
    return hr;
}

bool emit_constant(struct emit_graph *graph, const void *data, uint64_t bytes, const char *name, bool mapped)
{
    if (!reserve_node(graph))
        return false;
    graph->nodes[graph->node_count++] = (struct emit_node){ .type = DML_GRAPH_NODE_TYPE_CONSTANT,
                                                            .mapped = mapped,
                                                            .desc.constant = { data, bytes, name } };
    return true;
}

bool emit_edge(struct emit_graph *graph, struct emit_source from, uint32_t node, uint32_t input, const char *name)
{
    if (!base_array_reserve((void **)&graph->edges, graph->edge_count, &graph->edge_capacity, sizeof(*graph->edges)))
        return false;
    graph->edges[graph->edge_count++] = (struct emit_edge){ from, node, input, name };
    return true;
}

bool emit_output(struct emit_graph *graph, uint32_t node, uint32_t output, const char *name)
{
    const uint32_t index = graph->output_count;
    if (!base_array_reserve((void **)&graph->outputs, index, &graph->output_capacity, sizeof(*graph->outputs)))
        return false;
    graph->outputs[graph->output_count++] = (DML_OUTPUT_GRAPH_EDGE_DESC){ node, output, index, name };
    return true;
}

/* ---- compilation ---- */

/* A place in DirectML's graph for each node, or UNUSED; returns the number of places. */
static uint32_t place_nodes(const struct emit_graph *graph, uint32_t *places)
{
    uint32_t used = 0;
    for (uint32_t i = 0; i < graph->node_count; i++)
        places[i] = graph->used_only ? UNUSED : 0;
    for (uint32_t i = 0; i < graph->output_count; i++)
        places[graph->outputs[i].FromNodeIndex] = 0;
    /* Nodes are after those that their edges start from. */
    for (uint32_t i = graph->used_only ? graph->edge_count : 0; i-- > 0;)
        if (!graph->edges[i].from.is_input && places[graph->edges[i].node] != UNUSED)
            places[graph->edges[i].from.index] = 0;
    for (uint32_t i = 0; i < graph->node_count; i++)
        if (places[i] != UNUSED)
            places[i] = used++;
    return used;
}

/* One edge in DirectML's form. */
union edge {
    DML_INPUT_GRAPH_EDGE_DESC in;
    DML_INTERMEDIATE_GRAPH_EDGE_DESC between;
    DML_OUTPUT_GRAPH_EDGE_DESC out;
};

/* The graph in DirectML's form. Returns the memory of its arrays, which is not cleared: single operators are compiled
 * by the thousand. NULL: out of memory. */
static void *describe(const struct emit_graph *graph, DML_GRAPH_DESC *out)
{
    const size_t edges = graph->edge_count, outputs = graph->output_count;
    union edge *edge = malloc((edges + outputs) * sizeof(*edge) + (2 * edges + outputs) * sizeof(DML_GRAPH_EDGE_DESC) +
                              graph->node_count * (sizeof(DML_GRAPH_NODE_DESC) + sizeof(uint32_t)));
    void *const memory = edge;
    if (!memory)
        return NULL;
    DML_GRAPH_EDGE_DESC *in = (void *)(edge + edges + outputs), *between = in + edges, *to_output = between + edges;
    DML_GRAPH_NODE_DESC *nodes = (void *)(to_output + outputs);
    uint32_t *places = (void *)(nodes + graph->node_count);
    *out = (DML_GRAPH_DESC){ .InputCount = graph->input_count,
                             .OutputCount = graph->output_count,
                             .NodeCount = place_nodes(graph, places),
                             .Nodes = nodes,
                             .InputEdges = in,
                             .OutputEdgeCount = graph->output_count,
                             .OutputEdges = to_output,
                             .IntermediateEdges = between };
    for (uint32_t i = 0; i < graph->node_count; i++)
        if (places[i] != UNUSED)
            nodes[places[i]] = (DML_GRAPH_NODE_DESC){ graph->nodes[i].type, &graph->nodes[i].desc };
    for (uint32_t i = 0; i < graph->edge_count; i++) {
        const struct emit_edge *e = &graph->edges[i];
        const uint32_t to = places[e->node];
        if (to == UNUSED)
            continue;
        if (e->from.is_input) {
            edge->in = (DML_INPUT_GRAPH_EDGE_DESC){ e->from.index, to, e->input, e->name };
            in[out->InputEdgeCount++] = (DML_GRAPH_EDGE_DESC){ DML_GRAPH_EDGE_TYPE_INPUT, edge++ };
        } else {
            edge->between =
                (DML_INTERMEDIATE_GRAPH_EDGE_DESC){ places[e->from.index], e->from.output, to, e->input, e->name };
            between[out->IntermediateEdgeCount++] = (DML_GRAPH_EDGE_DESC){ DML_GRAPH_EDGE_TYPE_INTERMEDIATE, edge++ };
        }
    }
    for (uint32_t i = 0; i < outputs; i++) {
        edge->out = graph->outputs[i];
        edge->out.FromNodeIndex = places[edge->out.FromNodeIndex];
        to_output[i] = (DML_GRAPH_EDGE_DESC){ DML_GRAPH_EDGE_TYPE_OUTPUT, edge++ };
    }
    return memory;
}

/* File data that the graph does not need any more may leave memory. */
static void STDMETHODCALLTYPE constant_done(void *context, UINT index)
{
    const DML_GRAPH_DESC *desc = context;
    const struct emit_node *node = desc->Nodes[index].Desc; /* its description is at its start */
    if (node->mapped)
        base_forget_pages(node->desc.constant.Data, node->desc.constant.DataSize);
}

static void STDMETHODCALLTYPE constant_part(void *context, UINT index, UINT64 offset, UINT64 bytes)
{
    const DML_GRAPH_DESC *desc = context;
    const struct emit_node *node = desc->Nodes[index].Desc;
    if (node->mapped)
        base_forget_pages((const char *)node->desc.constant.Data + offset, bytes);
}

HRESULT emit_compile(const struct emit_graph *graph, DML_EXECUTION_FLAGS flags, IDMLCompiledOperator **out)
{
    DML_GRAPH_DESC desc;
    void *memory = describe(graph, &desc);
    if (!memory)
        return E_OUTOFMEMORY;
    const struct anydml_constant_reads reads = { constant_done, constant_part, &desc };
    HRESULT hr =
        AnydmlCompileGraphInParts(graph->device, &desc, flags, &reads, &IID_IDMLCompiledOperator, (void **)out);
    free(memory);
    return hr;
}
