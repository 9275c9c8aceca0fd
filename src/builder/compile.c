/* SPDX-License-Identifier: Apache-2.0 */
/* A graph in the form that IDMLDevice1::CompileGraph takes. */
#include "builder/builder.h"

#include <stdlib.h>

#include <DirectMLGuids.h>

#include "base/base.h"

#define EXPORT __attribute__((visibility("default")))

#define UNUSED UINT32_MAX

/* Nodes and edges in DirectML's form, without those that do not lead to an output; the arrays have capacity for all
 * edges of each kind. */
struct description {
    uint32_t *places; /* of the graph's nodes among `nodes`, or UNUSED */
    DML_OPERATOR_GRAPH_NODE_DESC *operators;
    DML_GRAPH_NODE_DESC *nodes;
    DML_INPUT_GRAPH_EDGE_DESC *in;
    DML_INTERMEDIATE_GRAPH_EDGE_DESC *between;
    DML_OUTPUT_GRAPH_EDGE_DESC *out;
    DML_GRAPH_EDGE_DESC *in_list, *between_list, *out_list;
    DML_GRAPH_DESC graph;
};

static void description_finish(struct description *d)
{
    free(d->places);
    free(d->operators);
    free(d->nodes);
    free(d->in);
    free(d->between);
    free(d->out);
    free(d->in_list);
    free(d->between_list);
    free(d->out_list);
}

static bool description_reserve(struct description *d, size_t nodes, size_t edges, size_t outputs)
{
    d->places = calloc(nodes + 1, sizeof(*d->places));
    d->operators = calloc(nodes + 1, sizeof(*d->operators));
    d->nodes = calloc(nodes + 1, sizeof(*d->nodes));
    d->in = calloc(edges + 1, sizeof(*d->in));
    d->between = calloc(edges + 1, sizeof(*d->between));
    d->out = calloc(outputs + 1, sizeof(*d->out));
    d->in_list = calloc(edges + 1, sizeof(*d->in_list));
    d->between_list = calloc(edges + 1, sizeof(*d->between_list));
    d->out_list = calloc(outputs + 1, sizeof(*d->out_list));
    return d->places && d->operators && d->nodes && d->in && d->between && d->out && d->in_list && d->between_list &&
           d->out_list;
}

/* Assigns an index to each node that leads to an output; returns their number. Edges are sorted by their target nodes,
 * and start at earlier ones. */
static uint32_t place_nodes(struct description *d, const struct anydml_graph *graph, UINT count,
                            const anydml_expr *outputs)
{
    uint32_t used = 0;
    for (uint32_t i = 0; i < graph->node_count; i++)
        d->places[i] = UNUSED;
    for (UINT i = 0; i < count; i++)
        d->places[outputs[i]->node] = 0;
    for (uint32_t i = graph->edge_count; i-- > 0;)
        if (!graph->edges[i].from->is_input && d->places[graph->edges[i].node] != UNUSED)
            d->places[graph->edges[i].from->node] = 0;
    for (uint32_t i = 0; i < graph->node_count; i++)
        if (d->places[i] != UNUSED)
            d->places[i] = used++;
    return used;
}

static void describe_nodes(struct description *d, const struct anydml_graph *graph)
{
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const struct builder_node *node = &graph->nodes[i];
        const uint32_t at = d->places[i];
        if (at == UNUSED)
            continue;
        d->operators[at].Operator = node->op;
        if (node->op)
            d->nodes[at] = (DML_GRAPH_NODE_DESC){ DML_GRAPH_NODE_TYPE_OPERATOR, &d->operators[at] };
        else
            d->nodes[at] = (DML_GRAPH_NODE_DESC){ DML_GRAPH_NODE_TYPE_CONSTANT, &node->constant };
    }
}

static void describe(struct description *d, const struct anydml_graph *graph, UINT count, const anydml_expr *outputs)
{
    UINT in = 0, between = 0;
    const uint32_t used = place_nodes(d, graph, count, outputs);
    describe_nodes(d, graph);
    for (uint32_t i = 0; i < graph->edge_count; i++) {
        const struct builder_edge *edge = &graph->edges[i];
        const uint32_t to = d->places[edge->node];
        if (to == UNUSED)
            continue;
        if (edge->from->is_input) {
            d->in[in] = (DML_INPUT_GRAPH_EDGE_DESC){ edge->from->node, to, edge->input, NULL };
            d->in_list[in] = (DML_GRAPH_EDGE_DESC){ DML_GRAPH_EDGE_TYPE_INPUT, &d->in[in] };
            in++;
        } else {
            d->between[between] = (DML_INTERMEDIATE_GRAPH_EDGE_DESC){ d->places[edge->from->node], edge->from->output,
                                                                      to, edge->input, NULL };
            d->between_list[between] = (DML_GRAPH_EDGE_DESC){ DML_GRAPH_EDGE_TYPE_INTERMEDIATE, &d->between[between] };
            between++;
        }
    }
    for (UINT i = 0; i < count; i++) {
        d->out[i] = (DML_OUTPUT_GRAPH_EDGE_DESC){ d->places[outputs[i]->node], outputs[i]->output, i, NULL };
        d->out_list[i] = (DML_GRAPH_EDGE_DESC){ DML_GRAPH_EDGE_TYPE_OUTPUT, &d->out[i] };
    }
    d->graph = (DML_GRAPH_DESC){ graph->input_count, count, used,        d->nodes, in,
                                 d->in_list,         count, d->out_list, between,  d->between_list };
}

static bool outputs_allowed(struct anydml_graph *graph, UINT count, const anydml_expr *outputs)
{
    if (!count || !outputs)
        return builder_fail(graph, E_INVALIDARG, "AnydmlGraphCompile: needs at least one output");
    for (UINT i = 0; i < count; i++) {
        if (!outputs[i] || outputs[i]->graph != graph)
            return builder_fail(graph, E_INVALIDARG, "AnydmlGraphCompile: outputs[%u] is %s", i,
                                outputs[i] ? "of another graph" : "NULL");
        if (outputs[i]->is_input || !graph->nodes[outputs[i]->node].op)
            return builder_fail(graph, E_INVALIDARG,
                                "AnydmlGraphCompile: outputs[%u] is an input or a constant; AnydmlIdentity makes an "
                                "output of it",
                                i);
    }
    return true;
}

EXPORT HRESULT AnydmlGraphCompile(struct anydml_graph *graph, DML_EXECUTION_FLAGS flags, UINT count,
                                  const anydml_expr *outputs, IDMLCompiledOperator **compiled)
{
    struct description d = { 0 };
    if (compiled)
        *compiled = NULL;
    if (!graph || !compiled)
        return E_INVALIDARG;
    if (FAILED(graph->hr) || !outputs_allowed(graph, count, outputs))
        return graph->hr;
    HRESULT hr = E_OUTOFMEMORY;
    if (description_reserve(&d, graph->node_count, graph->edge_count, count)) {
        describe(&d, graph, count, outputs);
        hr = IDMLDevice1_CompileGraph(graph->device, &d.graph, flags, &IID_IDMLCompiledOperator, (void **)compiled);
    }
    if (FAILED(hr))
        builder_fail(graph, hr, "AnydmlGraphCompile: CompileGraph returned 0x%08x; the log says why", (unsigned)hr);
    description_finish(&d);
    return hr;
}
