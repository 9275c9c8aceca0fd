/* SPDX-License-Identifier: Apache-2.0 */
/* Rules for a DML_GRAPH_DESC, except for its edges (graph_edges.c). */
#include "dml/graph_check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define UNUSED_INPUTS_MAX (1u << 20) /* the minimum size of Direct3D 12's descriptor heaps */

HRESULT graph_check_fail(const struct graph_check *check, const char *format, ...)
{
    char text[768];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return dml_fail(check->device, NULL, E_INVALIDARG, "IDMLDevice1::CompileGraph: %s", text);
}

const char *graph_node_label(const struct graph_check *check, uint32_t node, char out[GRAPH_LABEL_BYTES])
{
    const DML_GRAPH_NODE_DESC *desc = &check->desc->Nodes[node];
    bool constant = desc->Type == DML_GRAPH_NODE_TYPE_CONSTANT;
    const char *name = constant ? ((const DML_CONSTANT_DATA_GRAPH_NODE_DESC *)desc->Desc)->Name
                                : ((const DML_OPERATOR_GRAPH_NODE_DESC *)desc->Desc)->Name;
    const char *what = constant || !check->nodes[node] ? "constant" : check->nodes[node]->op->name;
    if (name)
        snprintf(out, GRAPH_LABEL_BYTES, "node %u \"%.64s\" (%s)", node, name, what);
    else
        snprintf(out, GRAPH_LABEL_BYTES, "node %u (%s)", node, what);
    return out;
}

uint32_t graph_node_inputs(const struct graph_check *check, uint32_t node)
{
    return check->nodes[node] ? check->nodes[node]->input_count : 0;
}

uint32_t graph_node_outputs(const struct graph_check *check, uint32_t node)
{
    return check->nodes[node] ? check->nodes[node]->output_count : 1;
}

const DML_BUFFER_TENSOR_DESC *graph_output_tensor(const struct graph_check *check, uint32_t node, uint32_t slot)
{
    return check->nodes[node] ? check->nodes[node]->outputs[slot] : NULL;
}

/* ---- nodes ---- */

static HRESULT check_arrays(const struct graph_check *check)
{
    const DML_GRAPH_DESC *desc = check->desc;
    const struct {
        const char *name;
        UINT count;
        const void *array;
    } arrays[] = {
        { "Node", desc->NodeCount, desc->Nodes },
        { "InputEdge", desc->InputEdgeCount, desc->InputEdges },
        { "OutputEdge", desc->OutputEdgeCount, desc->OutputEdges },
        { "IntermediateEdge", desc->IntermediateEdgeCount, desc->IntermediateEdges },
    };
    if (!desc->NodeCount)
        return graph_check_fail(check, "NodeCount is 0: a graph has at least one node");
    for (size_t i = 0; i < ARRAY_SIZE(arrays); i++)
        if (arrays[i].count && !arrays[i].array)
            return graph_check_fail(check, "%ss is NULL, but %sCount is %u", arrays[i].name, arrays[i].name,
                                    arrays[i].count);
    return S_OK;
}

/* Every output has an edge, and few inputs have none: arrays are only allocated for plausible counts. */
static HRESULT check_counts(const struct graph_check *check)
{
    const DML_GRAPH_DESC *desc = check->desc;
    if (desc->OutputCount > desc->OutputEdgeCount)
        return graph_check_fail(check, "OutputCount is %u, but OutputEdgeCount is %u: an edge must lead to each output",
                                desc->OutputCount, desc->OutputEdgeCount);
    if (desc->InputCount > desc->InputEdgeCount && desc->InputCount - desc->InputEdgeCount > UNUSED_INPUTS_MAX)
        return graph_check_fail(check, "InputCount is %u, but InputEdgeCount is %u: at most %u inputs may be unused",
                                desc->InputCount, desc->InputEdgeCount, UNUSED_INPUTS_MAX);
    return S_OK;
}

static HRESULT check_operator_node(const struct graph_check *check, uint32_t index)
{
    const DML_OPERATOR_GRAPH_NODE_DESC *node = check->desc->Nodes[index].Desc;
    if (com_child(check->device, node->Operator, &dml_operator_vtbl))
        return S_OK;
    return graph_check_fail(check, "Nodes[%u]%s%s: Operator is %s", index, node->Name ? " " : "",
                            node->Name ? node->Name : "", node->Operator ? "no operator of this device" : "NULL");
}

static HRESULT check_constant_node(const struct graph_check *check, uint32_t index)
{
    const DML_CONSTANT_DATA_GRAPH_NODE_DESC *node = check->desc->Nodes[index].Desc;
    if (!node->Data || !node->DataSize || node->DataSize > SCHEMA_MAX_TENSOR_BYTES)
        return graph_check_fail(check, "Nodes[%u]%s%s: a constant needs data, not %llu bytes at %s", index,
                                node->Name ? " " : "", node->Name ? node->Name : "", (unsigned long long)node->DataSize,
                                node->Data ? "an address" : "NULL");
    return S_OK;
}

static HRESULT check_nodes(const struct graph_check *check)
{
    for (uint32_t i = 0; i < check->desc->NodeCount; i++) {
        const DML_GRAPH_NODE_DESC *node = &check->desc->Nodes[i];
        HRESULT hr = S_OK;
        if (node->Type != DML_GRAPH_NODE_TYPE_OPERATOR && node->Type != DML_GRAPH_NODE_TYPE_CONSTANT)
            return graph_check_fail(check, "Nodes[%u]: Type %d is neither OPERATOR nor CONSTANT", i, (int)node->Type);
        if (!node->Desc)
            return graph_check_fail(check, "Nodes[%u]: Desc is NULL", i);
        hr = node->Type == DML_GRAPH_NODE_TYPE_OPERATOR ? check_operator_node(check, i) : check_constant_node(check, i);
        if (FAILED(hr))
            return hr;
    }
    return S_OK;
}

static HRESULT number_slots(struct graph_check *check)
{
    uint64_t inputs = 0, outputs = 0;
    for (uint32_t i = 0; i < check->desc->NodeCount; i++) {
        const DML_GRAPH_NODE_DESC *node = &check->desc->Nodes[i];
        const DML_OPERATOR_GRAPH_NODE_DESC *op = node->Desc;
        if (node->Type == DML_GRAPH_NODE_TYPE_OPERATOR)
            check->nodes[i] = ((const struct dml_operator *)op->Operator)->desc;
        check->first_input[i] = (uint32_t)inputs;
        check->first_output[i] = (uint32_t)outputs;
        inputs += graph_node_inputs(check, i);
        outputs += graph_node_outputs(check, i);
    }
    if (inputs > UINT32_MAX || outputs > UINT32_MAX)
        return graph_check_fail(check, "the nodes have too many inputs or outputs");
    check->first_input[check->desc->NodeCount] = (uint32_t)inputs;
    check->first_output[check->desc->NodeCount] = (uint32_t)outputs;
    return S_OK;
}

/* ---- after the edges ---- */

static HRESULT check_inputs_fed(const struct graph_check *check, uint32_t node)
{
    char label[GRAPH_LABEL_BYTES];
    for (uint32_t s = 0; s < graph_node_inputs(check, node); s++)
        if (check->nodes[node]->inputs[s] && !check->fed[check->first_input[node] + s])
            return graph_check_fail(check, "%s: no edge leads to input %u, which the operator describes",
                                    graph_node_label(check, node, label), s);
    return S_OK;
}

static void report_unused(const struct graph_check *check, uint32_t node)
{
    char label[GRAPH_LABEL_BYTES];
    for (uint32_t s = 0; s < graph_node_outputs(check, node); s++) {
        bool described = !check->nodes[node] || check->nodes[node]->outputs[s];
        if (described && !check->used[check->first_output[node] + s])
            dml_info(check->device, NULL, "IDMLDevice1::CompileGraph: %s: output %u is used by no edge",
                     graph_node_label(check, node, label), s);
    }
}

static HRESULT check_connections(const struct graph_check *check)
{
    for (uint32_t i = 0; i < check->desc->NodeCount; i++) {
        HRESULT hr = check_inputs_fed(check, i);
        if (FAILED(hr))
            return hr;
        report_unused(check, i);
    }
    for (uint32_t i = 0; i < check->desc->OutputCount; i++)
        if (!check->written[i])
            return graph_check_fail(check, "no edge leads to graph output %u of %u", i, check->desc->OutputCount);
    return S_OK;
}

/* Intermediate edges by their source: edges of node n are edges[start[n]] to edges[start[n + 1] - 1]. */
static void sort_edges(const struct graph_check *check, uint32_t *start, uint32_t *edges, uint32_t *waiting)
{
    const DML_GRAPH_DESC *desc = check->desc;
    for (uint32_t i = 0; i < desc->IntermediateEdgeCount; i++) {
        const DML_INTERMEDIATE_GRAPH_EDGE_DESC *edge = desc->IntermediateEdges[i].Desc;
        start[edge->FromNodeIndex]++;
        waiting[edge->ToNodeIndex]++;
    }
    for (uint32_t n = 0, sum = 0; n <= desc->NodeCount; n++) {
        sum += start[n];
        start[n] = sum; /* the end; each edge below moves it down */
    }
    for (uint32_t i = 0; i < desc->IntermediateEdgeCount; i++) {
        const DML_INTERMEDIATE_GRAPH_EDGE_DESC *edge = desc->IntermediateEdges[i].Desc;
        edges[--start[edge->FromNodeIndex]] = i;
    }
}

/* Removes nodes whose sources are all removed until none is left. */
static HRESULT check_acyclic(const struct graph_check *check)
{
    const DML_GRAPH_DESC *desc = check->desc;
    struct base_arena *arena = &check->graph->arena;
    uint32_t *start = base_arena_alloc(arena, ((size_t)desc->NodeCount + 1) * sizeof(*start));
    uint32_t *edges = base_arena_alloc(arena, ((size_t)desc->IntermediateEdgeCount + 1) * sizeof(*edges));
    uint32_t *waiting = base_arena_alloc(arena, desc->NodeCount * sizeof(*waiting));
    uint32_t *ready = base_arena_alloc(arena, desc->NodeCount * sizeof(*ready));
    uint32_t count = 0;
    char label[GRAPH_LABEL_BYTES];
    if (!start || !edges || !waiting || !ready)
        return E_OUTOFMEMORY;
    sort_edges(check, start, edges, waiting);
    for (uint32_t n = 0; n < desc->NodeCount; n++)
        if (!waiting[n])
            ready[count++] = n;
    for (uint32_t taken = 0; taken < count; taken++) {
        uint32_t node = ready[taken];
        for (uint32_t e = start[node]; e < start[node + 1]; e++) {
            const DML_INTERMEDIATE_GRAPH_EDGE_DESC *edge = desc->IntermediateEdges[edges[e]].Desc;
            if (!--waiting[edge->ToNodeIndex])
                ready[count++] = edge->ToNodeIndex;
        }
    }
    for (uint32_t n = 0; count < desc->NodeCount && n < desc->NodeCount; n++)
        if (waiting[n])
            return graph_check_fail(check, "the edges form a cycle: %s waits for it",
                                    graph_node_label(check, n, label));
    return S_OK;
}

/* ---- the whole ---- */

static bool allocate_nodes(struct graph_check *check)
{
    struct base_arena *arena = &check->graph->arena;
    size_t nodes = (size_t)check->desc->NodeCount + 1;
    check->nodes = base_arena_alloc(arena, nodes * sizeof(*check->nodes));
    check->first_input = base_arena_alloc(arena, nodes * sizeof(*check->first_input));
    check->first_output = base_arena_alloc(arena, nodes * sizeof(*check->first_output));
    check->graph->nodes = check->nodes;
    return check->nodes && check->first_input && check->first_output;
}

static bool allocate_slots(struct graph_check *check)
{
    struct base_arena *arena = &check->graph->arena;
    size_t inputs = (size_t)check->desc->InputCount + 1, outputs = (size_t)check->desc->OutputCount + 1;
    check->fed = base_arena_alloc(arena, check->first_input[check->desc->NodeCount] + (size_t)1);
    check->used = base_arena_alloc(arena, check->first_output[check->desc->NodeCount] + (size_t)1);
    check->written = base_arena_alloc(arena, outputs);
    check->graph->inputs = base_arena_alloc(arena, inputs * sizeof(struct dml_slot));
    check->graph->outputs = base_arena_alloc(arena, outputs * sizeof(struct dml_slot));
    return check->fed && check->used && check->written && check->graph->inputs && check->graph->outputs;
}

HRESULT dml_graph_check(struct dml_device *device, const DML_GRAPH_DESC *desc, struct dml_graph *out)
{
    struct graph_check check = { .device = device, .desc = desc, .graph = out };
    memset(out, 0, sizeof(*out));
    HRESULT hr = check_arrays(&check);
    if (FAILED(hr))
        return hr;
    hr = check_counts(&check);
    if (SUCCEEDED(hr))
        hr = check_nodes(&check);
    if (FAILED(hr))
        return hr;
    hr = allocate_nodes(&check) ? number_slots(&check) : E_OUTOFMEMORY;
    if (FAILED(hr))
        return hr;
    hr = allocate_slots(&check) ? graph_check_edges(&check) : E_OUTOFMEMORY;
    if (SUCCEEDED(hr))
        hr = check_connections(&check);
    return FAILED(hr) ? hr : check_acyclic(&check);
}

void dml_graph_finish(struct dml_graph *graph)
{
    base_arena_finish(&graph->arena);
}
