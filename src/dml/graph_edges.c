/* SPDX-License-Identifier: Apache-2.0 */
/* The edges of a DML_GRAPH_DESC, each by itself. */
#include "dml/graph_check.h"

#include <stdarg.h>
#include <stdio.h>

struct edge {
    const struct graph_check *check;
    const char *array; /* "InputEdges" */
    uint32_t index;
    const char *name; /* the caller's, or NULL */
};

static HRESULT BASE_PRINTF(2, 3) edge_fail(const struct edge *edge, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    const char *quote = edge->name ? "\"" : "";
    return graph_check_fail(edge->check, "%s[%u]%s%s%.64s%s: %s", edge->array, edge->index, edge->name ? " " : "",
                            quote, edge->name ? edge->name : "", quote, text);
}

static HRESULT edge_begin(const struct edge *edge, const DML_GRAPH_EDGE_DESC *desc, DML_GRAPH_EDGE_TYPE type)
{
    if (desc->Type != type)
        return edge_fail(edge, "Type is %d, edges of this array have %d", (int)desc->Type, (int)type);
    if (!desc->Desc)
        return edge_fail(edge, "Desc is NULL");
    return S_OK;
}

/* ---- ends of edges ---- */

static HRESULT check_from(const struct edge *edge, uint32_t node, uint32_t slot)
{
    const struct graph_check *check = edge->check;
    char label[GRAPH_LABEL_BYTES];
    if (node >= check->desc->NodeCount)
        return edge_fail(edge, "FromNodeIndex %u: the graph has %u nodes", node, check->desc->NodeCount);
    if (slot >= graph_node_outputs(check, node))
        return edge_fail(edge, "FromNodeOutputIndex %u: %s has %u outputs", slot, graph_node_label(check, node, label),
                         graph_node_outputs(check, node));
    if (check->nodes[node] && !check->nodes[node]->outputs[slot])
        return edge_fail(edge, "FromNodeOutputIndex %u: %s does not describe this output", slot,
                         graph_node_label(check, node, label));
    check->used[check->first_output[node] + slot] = true;
    return S_OK;
}

static HRESULT check_to(const struct edge *edge, uint32_t node, uint32_t slot, const DML_BUFFER_TENSOR_DESC **out)
{
    const struct graph_check *check = edge->check;
    char label[GRAPH_LABEL_BYTES];
    if (node >= check->desc->NodeCount)
        return edge_fail(edge, "ToNodeIndex %u: the graph has %u nodes", node, check->desc->NodeCount);
    if (slot >= graph_node_inputs(check, node))
        return edge_fail(edge, "ToNodeInputIndex %u: %s has %u inputs", slot, graph_node_label(check, node, label),
                         graph_node_inputs(check, node));
    if (!check->nodes[node]->inputs[slot])
        return edge_fail(edge, "ToNodeInputIndex %u: %s does not describe this optional input", slot,
                         graph_node_label(check, node, label));
    bool *fed = &check->fed[check->first_input[node] + slot];
    if (*fed)
        return edge_fail(edge, "input %u of %s has a source already", slot, graph_node_label(check, node, label));
    *fed = true;
    *out = check->nodes[node]->inputs[slot];
    return S_OK;
}

static uint32_t alignment_of(const DML_BUFFER_TENSOR_DESC *tensor)
{
    return BASE_MAX(tensor->GuaranteedBaseOffsetAlignment, DML_MINIMUM_BUFFER_TENSOR_ALIGNMENT);
}

/* ---- input edges ---- */

static HRESULT check_input_edge(const struct edge *edge, const DML_INPUT_GRAPH_EDGE_DESC *desc)
{
    const struct graph_check *check = edge->check;
    const DML_BUFFER_TENSOR_DESC *tensor;
    char label[GRAPH_LABEL_BYTES];
    if (desc->GraphInputIndex >= check->desc->InputCount)
        return edge_fail(edge, "GraphInputIndex %u: the graph has %u inputs", desc->GraphInputIndex,
                         check->desc->InputCount);
    HRESULT hr = check_to(edge, desc->ToNodeIndex, desc->ToNodeInputIndex, &tensor);
    if (FAILED(hr))
        return hr;
    struct dml_slot *slot = &check->graph->inputs[desc->GraphInputIndex];
    bool owned = tensor->Flags & DML_TENSOR_FLAG_OWNED_BY_DML;
    enum dml_expect expect = owned ? DML_EXPECT_OWNED : DML_EXPECT_BUFFER;
    if (slot->expect != DML_EXPECT_NOTHING && slot->expect != expect)
        return edge_fail(edge, "input %u of %s is %sOWNED_BY_DML, another reader of graph input %u is %s",
                         desc->ToNodeInputIndex, graph_node_label(check, desc->ToNodeIndex, label), owned ? "" : "not ",
                         desc->GraphInputIndex, owned ? "not" : "");
    slot->expect = expect;
    slot->bytes = BASE_MAX(slot->bytes, tensor->TotalTensorSizeInBytes);
    slot->alignment = BASE_MAX(slot->alignment, alignment_of(tensor));
    return S_OK;
}

/* ---- output edges ---- */

static HRESULT check_output_edge(const struct edge *edge, const DML_OUTPUT_GRAPH_EDGE_DESC *desc)
{
    const struct graph_check *check = edge->check;
    if (desc->GraphOutputIndex >= check->desc->OutputCount)
        return edge_fail(edge, "GraphOutputIndex %u: the graph has %u outputs", desc->GraphOutputIndex,
                         check->desc->OutputCount);
    HRESULT hr = check_from(edge, desc->FromNodeIndex, desc->FromNodeOutputIndex);
    if (FAILED(hr))
        return hr;
    if (check->written[desc->GraphOutputIndex])
        return edge_fail(edge, "graph output %u has a source already", desc->GraphOutputIndex);
    check->written[desc->GraphOutputIndex] = true;
    struct dml_slot *slot = &check->graph->outputs[desc->GraphOutputIndex];
    const DML_BUFFER_TENSOR_DESC *tensor = graph_output_tensor(check, desc->FromNodeIndex, desc->FromNodeOutputIndex);
    const DML_CONSTANT_DATA_GRAPH_NODE_DESC *constant = check->desc->Nodes[desc->FromNodeIndex].Desc;
    slot->expect = DML_EXPECT_BUFFER;
    slot->bytes = tensor ? tensor->TotalTensorSizeInBytes : base_align_up(constant->DataSize, 4);
    slot->alignment = tensor ? alignment_of(tensor) : DML_MINIMUM_BUFFER_TENSOR_ALIGNMENT;
    return S_OK;
}

/* ---- intermediate edges ---- */

/* Bytes up to the end of the last element, not rounded to 4: the minimum for a constant. */
static uint64_t element_bytes(const DML_BUFFER_TENSOR_DESC *tensor)
{
    uint32_t strides[SCHEMA_MAX_RANK];
    uint64_t last = 0;
    schema_tensor_strides(tensor, strides);
    for (uint32_t i = 0; i < tensor->DimensionCount; i++)
        last += (uint64_t)(tensor->Sizes[i] - 1) * strides[i];
    return ((last + 1) * schema_data_type_bits(tensor->DataType) + 7) / 8;
}

static HRESULT check_constant_edge(const struct edge *edge, const DML_INTERMEDIATE_GRAPH_EDGE_DESC *desc,
                                   const DML_BUFFER_TENSOR_DESC *tensor)
{
    const struct graph_check *check = edge->check;
    const DML_CONSTANT_DATA_GRAPH_NODE_DESC *constant = check->desc->Nodes[desc->FromNodeIndex].Desc;
    uint64_t least = element_bytes(tensor), most = base_align_up(tensor->TotalTensorSizeInBytes, 4);
    char from[GRAPH_LABEL_BYTES], to[GRAPH_LABEL_BYTES];
    if (constant->DataSize >= least && constant->DataSize <= most)
        return S_OK;
    return edge_fail(edge, "%s has %llu bytes, input %u of %s requires %llu to %llu",
                     graph_node_label(check, desc->FromNodeIndex, from), (unsigned long long)constant->DataSize,
                     desc->ToNodeInputIndex, graph_node_label(check, desc->ToNodeIndex, to), (unsigned long long)least,
                     (unsigned long long)most);
}

static HRESULT check_intermediate_edge(const struct edge *edge, const DML_INTERMEDIATE_GRAPH_EDGE_DESC *desc)
{
    const struct graph_check *check = edge->check;
    const DML_BUFFER_TENSOR_DESC *to;
    char from_label[GRAPH_LABEL_BYTES], to_label[GRAPH_LABEL_BYTES];
    HRESULT hr = check_from(edge, desc->FromNodeIndex, desc->FromNodeOutputIndex);
    if (SUCCEEDED(hr))
        hr = check_to(edge, desc->ToNodeIndex, desc->ToNodeInputIndex, &to);
    if (FAILED(hr))
        return hr;
    if (to->Flags & DML_TENSOR_FLAG_OWNED_BY_DML)
        return edge_fail(edge, "input %u of %s is OWNED_BY_DML: only a graph input may feed it", desc->ToNodeInputIndex,
                         graph_node_label(check, desc->ToNodeIndex, to_label));
    const DML_BUFFER_TENSOR_DESC *from = graph_output_tensor(check, desc->FromNodeIndex, desc->FromNodeOutputIndex);
    if (!from)
        return check_constant_edge(edge, desc, to);
    if (from->TotalTensorSizeInBytes != to->TotalTensorSizeInBytes)
        return edge_fail(edge, "TotalTensorSizeInBytes differs: %llu in output %u of %s, %llu in input %u of %s",
                         (unsigned long long)from->TotalTensorSizeInBytes, desc->FromNodeOutputIndex,
                         graph_node_label(check, desc->FromNodeIndex, from_label),
                         (unsigned long long)to->TotalTensorSizeInBytes, desc->ToNodeInputIndex,
                         graph_node_label(check, desc->ToNodeIndex, to_label));
    return S_OK;
}

/* ---- all ---- */

static HRESULT check_input_edges(struct graph_check *check)
{
    HRESULT hr = S_OK;
    for (uint32_t i = 0; SUCCEEDED(hr) && i < check->desc->InputEdgeCount; i++) {
        const DML_GRAPH_EDGE_DESC *desc = &check->desc->InputEdges[i];
        struct edge edge = { check, "InputEdges", i, NULL };
        hr = edge_begin(&edge, desc, DML_GRAPH_EDGE_TYPE_INPUT);
        if (FAILED(hr))
            break;
        edge.name = ((const DML_INPUT_GRAPH_EDGE_DESC *)desc->Desc)->Name;
        hr = check_input_edge(&edge, desc->Desc);
    }
    return hr;
}

static HRESULT check_output_edges(struct graph_check *check)
{
    HRESULT hr = S_OK;
    for (uint32_t i = 0; SUCCEEDED(hr) && i < check->desc->OutputEdgeCount; i++) {
        const DML_GRAPH_EDGE_DESC *desc = &check->desc->OutputEdges[i];
        struct edge edge = { check, "OutputEdges", i, NULL };
        hr = edge_begin(&edge, desc, DML_GRAPH_EDGE_TYPE_OUTPUT);
        if (FAILED(hr))
            break;
        edge.name = ((const DML_OUTPUT_GRAPH_EDGE_DESC *)desc->Desc)->Name;
        hr = check_output_edge(&edge, desc->Desc);
    }
    return hr;
}

static HRESULT check_intermediate_edges(struct graph_check *check)
{
    HRESULT hr = S_OK;
    for (uint32_t i = 0; SUCCEEDED(hr) && i < check->desc->IntermediateEdgeCount; i++) {
        const DML_GRAPH_EDGE_DESC *desc = &check->desc->IntermediateEdges[i];
        struct edge edge = { check, "IntermediateEdges", i, NULL };
        hr = edge_begin(&edge, desc, DML_GRAPH_EDGE_TYPE_INTERMEDIATE);
        if (FAILED(hr))
            break;
        edge.name = ((const DML_INTERMEDIATE_GRAPH_EDGE_DESC *)desc->Desc)->Name;
        hr = check_intermediate_edge(&edge, desc->Desc);
    }
    return hr;
}

HRESULT graph_check_edges(struct graph_check *check)
{
    HRESULT hr = check_input_edges(check);
    if (SUCCEEDED(hr))
        hr = check_output_edges(check);
    if (SUCCEEDED(hr))
        hr = check_intermediate_edges(check);
    for (uint32_t i = 0; SUCCEEDED(hr) && i < check->desc->InputCount; i++)
        check->graph->inputs[i].unused = check->graph->inputs[i].expect == DML_EXPECT_NOTHING;
    return hr;
}
