/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/build.h"

#include <stdarg.h>
#include <stdio.h>

static HRESULT BASE_PRINTF(2, 3) refuse(struct build *build, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(build->error, BUILD_ERROR_BYTES, format, args);
    va_end(args);
    return E_INVALIDARG;
}

static const DML_BUFFER_TENSOR_DESC *input_desc(const struct build *build, uint32_t node, uint32_t slot)
{
    return build->nodes[node] ? build->nodes[node]->inputs[slot] : NULL;
}

/* NULL for a constant node, too. */
static const DML_BUFFER_TENSOR_DESC *output_desc(const struct build *build, uint32_t node, uint32_t slot)
{
    return build->nodes[node] ? build->nodes[node]->outputs[slot] : NULL;
}

static uint32_t input_slots(const struct build *build, uint32_t node)
{
    return build->nodes[node] ? build->nodes[node]->input_count : 0;
}

static uint32_t output_slots(const struct build *build, uint32_t node)
{
    return build->nodes[node] ? build->nodes[node]->output_count : 1;
}

static void *array(struct build *build, uint64_t count, size_t element)
{
    return base_arena_alloc(&build->graph->arena, (count + 1) * element);
}

static HRESULT check_nodes(struct build *build)
{
    const DML_GRAPH_DESC *desc = build->desc;
    if (!desc->NodeCount || !desc->Nodes)
        return refuse(build, "graph: NodeCount must be at least 1");
    if ((desc->InputEdgeCount && !desc->InputEdges) || (desc->OutputEdgeCount && !desc->OutputEdges) ||
        (desc->IntermediateEdgeCount && !desc->IntermediateEdges))
        return refuse(build, "graph: an edge array is NULL but its count is not 0");
    for (uint32_t i = 0; i < desc->NodeCount; i++) {
        if (build->nodes[i])
            continue;
        const DML_CONSTANT_DATA_GRAPH_NODE_DESC *constant = desc->Nodes[i].Desc;
        if (desc->Nodes[i].Type != DML_GRAPH_NODE_TYPE_CONSTANT || !constant || !constant->Data ||
            !constant->DataSize || constant->DataSize > SCHEMA_MAX_TENSOR_BYTES)
            return refuse(build, "graph node %u: neither an operator nor a constant with data", i);
    }
    return S_OK;
}

static HRESULT count_slots(struct build *build)
{
    uint32_t nodes = build->desc->NodeCount;
    uint64_t inputs = 0, outputs = 0;
    build->first_input = array(build, nodes, sizeof(uint32_t));
    build->first_output = array(build, nodes, sizeof(uint32_t));
    if (!build->first_input || !build->first_output)
        return E_OUTOFMEMORY;
    for (uint32_t i = 0; i < nodes; i++) {
        build->first_input[i] = (uint32_t)inputs;
        build->first_output[i] = (uint32_t)outputs;
        inputs += input_slots(build, i);
        outputs += output_slots(build, i);
        if (inputs >= GRAPH_NONE || outputs >= GRAPH_NONE)
            return E_OUTOFMEMORY;
    }
    build->feeds = array(build, inputs, sizeof(*build->feeds));
    build->owner = array(build, outputs, sizeof(uint32_t));
    build->graph_output = array(build, outputs, sizeof(uint32_t));
    build->bytes = array(build, outputs, sizeof(uint64_t));
    build->output_value = array(build, outputs, sizeof(uint32_t));
    build->slot_name = array(build, outputs, sizeof(*build->slot_name));
    build->input_name = array(build, build->desc->InputCount, sizeof(*build->input_name));
    build->output_source = array(build, build->desc->OutputCount, sizeof(uint32_t));
    build->input_bytes = array(build, build->desc->InputCount, sizeof(uint64_t));
    build->input_kind = array(build, build->desc->InputCount, sizeof(uint8_t));
    build->input_value = array(build, build->desc->InputCount, sizeof(uint32_t));
    build->order = array(build, nodes, sizeof(uint32_t));
    if (!build->feeds || !build->owner || !build->graph_output || !build->bytes || !build->output_value ||
        !build->slot_name || !build->input_name || !build->output_source || !build->input_bytes || !build->input_kind ||
        !build->input_value || !build->order)
        return E_OUTOFMEMORY;
    memset(build->output_source, 0xff, build->desc->OutputCount * sizeof(uint32_t));
    for (uint32_t i = 0; i < nodes; i++)
        for (uint32_t s = 0; s < output_slots(build, i); s++) {
            const DML_BUFFER_TENSOR_DESC *tensor = output_desc(build, i, s);
            build->owner[build->first_output[i] + s] = i;
            build->graph_output[build->first_output[i] + s] = GRAPH_NONE;
            build->bytes[build->first_output[i] + s] = tensor ? tensor->TotalTensorSizeInBytes : 0;
        }
    return S_OK;
}

/* NULL for a name that says nothing to people: empty, or made by a program for itself. */
static const char *name_of(const char *name)
{
    return name && (unsigned char)*name > ' ' ? name : NULL;
}

/* The names of the description's nodes, which stay the caller's. */
static HRESULT read_names(struct build *build)
{
    const DML_GRAPH_DESC *desc = build->desc;
    struct graph *graph = build->graph;
    graph->node_names = array(build, desc->NodeCount, sizeof(*graph->node_names));
    if (!graph->node_names)
        return E_OUTOFMEMORY;
    for (uint32_t i = 0; i < desc->NodeCount; i++) {
        if (!desc->Nodes[i].Desc)
            continue;
        const char *name = desc->Nodes[i].Type == DML_GRAPH_NODE_TYPE_OPERATOR
                               ? ((const DML_OPERATOR_GRAPH_NODE_DESC *)desc->Nodes[i].Desc)->Name
                               : ((const DML_CONSTANT_DATA_GRAPH_NODE_DESC *)desc->Nodes[i].Desc)->Name;
        graph->node_names[i] = name_of(name);
        if (graph->node_names[i])
            graph->named_nodes = desc->NodeCount;
    }
    return S_OK;
}

/* Connects one input slot; checks that it exists, is described, and has no other edge. */
static HRESULT feed_slot(struct build *build, uint32_t node, uint32_t slot, struct build_feed feed)
{
    if (node >= build->desc->NodeCount || slot >= input_slots(build, node))
        return refuse(build, "graph edge to node %u, input %u: there is no such input", node, slot);
    if (!input_desc(build, node, slot))
        return refuse(build, "graph edge to node %u (%s), input %u: the operator was made without that tensor", node,
                      build->nodes[node]->op->name, slot);
    struct build_feed *target = &build->feeds[build->first_input[node] + slot];
    if (target->from != BUILD_NOTHING)
        return refuse(build, "graph node %u (%s), input %u: more than one edge leads there", node,
                      build->nodes[node]->op->name, slot);
    *target = feed;
    return S_OK;
}

/* Checks an output slot and gives its number among all. */
static HRESULT output_slot(struct build *build, uint32_t node, uint32_t slot, uint32_t *out)
{
    if (node >= build->desc->NodeCount || slot >= output_slots(build, node))
        return refuse(build, "graph edge from node %u, output %u: there is no such output", node, slot);
    if (build->nodes[node] && !output_desc(build, node, slot))
        return refuse(build, "graph edge from node %u (%s), output %u: the operator was made without that tensor", node,
                      build->nodes[node]->op->name, slot);
    *out = build->first_output[node] + slot;
    return S_OK;
}

static HRESULT read_input_edge(struct build *build, const DML_GRAPH_EDGE_DESC *edge)
{
    const DML_INPUT_GRAPH_EDGE_DESC *input = edge->Desc;
    if (edge->Type != DML_GRAPH_EDGE_TYPE_INPUT || !input)
        return refuse(build, "graph: InputEdges holds an edge that is not of type INPUT, or has no Desc");
    if (input->GraphInputIndex >= build->desc->InputCount)
        return refuse(build, "graph input edge: GraphInputIndex %u must be below InputCount %u", input->GraphInputIndex,
                      build->desc->InputCount);
    HRESULT hr = feed_slot(build, input->ToNodeIndex, input->ToNodeInputIndex,
                           (struct build_feed){ BUILD_GRAPH_INPUT, input->GraphInputIndex });
    if (FAILED(hr))
        return hr;
    const DML_BUFFER_TENSOR_DESC *tensor = input_desc(build, input->ToNodeIndex, input->ToNodeInputIndex);
    uint8_t kind = tensor->Flags & DML_TENSOR_FLAG_OWNED_BY_DML ? 2 : 1,
            *known = &build->input_kind[input->GraphInputIndex];
    if (*known && *known != kind)
        return refuse(build, "graph input %u: all tensors it feeds must agree on DML_TENSOR_FLAG_OWNED_BY_DML",
                      input->GraphInputIndex);
    uint64_t *bytes = &build->input_bytes[input->GraphInputIndex];
    *known = kind;
    if (!build->input_name[input->GraphInputIndex])
        build->input_name[input->GraphInputIndex] = name_of(input->Name);
    *bytes = BASE_MAX(*bytes, tensor->TotalTensorSizeInBytes);
    return S_OK;
}

static HRESULT read_intermediate_edge(struct build *build, const DML_GRAPH_EDGE_DESC *edge)
{
    const DML_INTERMEDIATE_GRAPH_EDGE_DESC *link = edge->Desc;
    uint32_t slot;
    if (edge->Type != DML_GRAPH_EDGE_TYPE_INTERMEDIATE || !link)
        return refuse(build, "graph: IntermediateEdges holds an edge that is not of type INTERMEDIATE, or has no Desc");
    HRESULT hr = output_slot(build, link->FromNodeIndex, link->FromNodeOutputIndex, &slot);
    if (SUCCEEDED(hr))
        hr =
            feed_slot(build, link->ToNodeIndex, link->ToNodeInputIndex, (struct build_feed){ BUILD_NODE_OUTPUT, slot });
    if (FAILED(hr))
        return hr;
    const DML_BUFFER_TENSOR_DESC *tensor = input_desc(build, link->ToNodeIndex, link->ToNodeInputIndex);
    if (tensor->Flags & DML_TENSOR_FLAG_OWNED_BY_DML)
        return refuse(build, "graph node %u (%s), input %u: an OWNED_BY_DML tensor must be fed by a graph input",
                      link->ToNodeIndex, build->nodes[link->ToNodeIndex]->op->name, link->ToNodeInputIndex);
    if (build->nodes[link->FromNodeIndex] && tensor->TotalTensorSizeInBytes != build->bytes[slot])
        return refuse(
            build,
            "graph edge from node %u, output %u to node %u, input %u: TotalTensorSizeInBytes must be equal at "
            "both ends, not %llu and %llu",
            link->FromNodeIndex, link->FromNodeOutputIndex, link->ToNodeIndex, link->ToNodeInputIndex,
            (unsigned long long)build->bytes[slot], (unsigned long long)tensor->TotalTensorSizeInBytes);
    build->bytes[slot] = BASE_MAX(build->bytes[slot], tensor->TotalTensorSizeInBytes);
    if (!build->slot_name[slot])
        build->slot_name[slot] = name_of(link->Name);
    return S_OK;
}

static HRESULT read_output_edge(struct build *build, const DML_GRAPH_EDGE_DESC *edge)
{
    const DML_OUTPUT_GRAPH_EDGE_DESC *output = edge->Desc;
    uint32_t slot;
    if (edge->Type != DML_GRAPH_EDGE_TYPE_OUTPUT || !output)
        return refuse(build, "graph: OutputEdges holds an edge that is not of type OUTPUT, or has no Desc");
    if (output->GraphOutputIndex >= build->desc->OutputCount)
        return refuse(build, "graph output edge: GraphOutputIndex %u must be below OutputCount %u",
                      output->GraphOutputIndex, build->desc->OutputCount);
    if (build->output_source[output->GraphOutputIndex] != GRAPH_NONE)
        return refuse(build, "graph output %u: more than one edge leads there", output->GraphOutputIndex);
    HRESULT hr = output_slot(build, output->FromNodeIndex, output->FromNodeOutputIndex, &slot);
    if (FAILED(hr))
        return hr;
    build->output_source[output->GraphOutputIndex] = slot;
    build->graph_output[slot] = BASE_MIN(build->graph_output[slot], output->GraphOutputIndex);
    if (!build->slot_name[slot])
        build->slot_name[slot] = name_of(output->Name);
    return S_OK;
}

static HRESULT check_connected(struct build *build)
{
    for (uint32_t i = 0; i < build->desc->OutputCount; i++)
        if (build->output_source[i] == GRAPH_NONE)
            return refuse(build, "graph output %u: no edge leads there", i);
    for (uint32_t i = 0; i < build->desc->NodeCount; i++)
        for (uint32_t s = 0; s < input_slots(build, i); s++)
            if (input_desc(build, i, s) && build->feeds[build->first_input[i] + s].from == BUILD_NOTHING)
                return refuse(build, "graph node %u (%s), input %u: no edge leads there", i, build->nodes[i]->op->name,
                              s);
    return S_OK;
}

struct visit {
    uint32_t node, next_input;
};

enum { UNSEEN, OPEN, DONE };

/* Goes one step on from the top of the stack; false for a cycle. */
static bool visit_step(struct build *build, struct visit *stack, uint32_t *depth, uint8_t *state, uint32_t *done)
{
    struct visit *top = &stack[*depth - 1];
    while (top->next_input < input_slots(build, top->node)) {
        const struct build_feed *feed = &build->feeds[build->first_input[top->node] + top->next_input++];
        uint32_t from = feed->from == BUILD_NODE_OUTPUT ? build->owner[feed->index] : top->node;
        if (feed->from != BUILD_NODE_OUTPUT || state[from] == DONE)
            continue;
        if (state[from] == OPEN)
            return false;
        state[from] = OPEN;
        stack[(*depth)++] = (struct visit){ from, 0 };
        return true;
    }
    state[top->node] = DONE;
    build->order[(*done)++] = top->node;
    --*depth;
    return true;
}

/* Depth first from each node: nodes given in a legal order keep it. */
static HRESULT sort_nodes(struct build *build)
{
    uint32_t count = build->desc->NodeCount, depth = 0, done = 0;
    struct visit *stack = array(build, count, sizeof(*stack));
    uint8_t *state = array(build, count, sizeof(*state));
    if (!stack || !state)
        return E_OUTOFMEMORY;
    for (uint32_t i = 0; i < count; i++) {
        if (state[i] != UNSEEN)
            continue;
        state[i] = OPEN;
        stack[depth++] = (struct visit){ i, 0 };
        while (depth)
            if (!visit_step(build, stack, &depth, state, &done))
                return refuse(build, "graph: the edges form a cycle through node %u", stack[depth - 1].node);
    }
    return S_OK;
}

/* A constant lends its bytes to each reader: they may not be more than the reader has room for. */
static HRESULT check_constants(struct build *build)
{
    for (uint32_t i = 0; i < build->desc->NodeCount; i++)
        for (uint32_t s = 0; s < input_slots(build, i); s++) {
            const struct build_feed *feed = &build->feeds[build->first_input[i] + s];
            uint32_t from = feed->from == BUILD_NODE_OUTPUT ? build->owner[feed->index] : GRAPH_NONE;
            if (from == GRAPH_NONE || build->nodes[from])
                continue;
            const DML_CONSTANT_DATA_GRAPH_NODE_DESC *constant = build->desc->Nodes[from].Desc;
            const DML_BUFFER_TENSOR_DESC *tensor = input_desc(build, i, s);
            struct kern_view view;
            if (constant->DataSize > base_align_up(tensor->TotalTensorSizeInBytes, 4) ||
                !graph_view_from_desc(tensor, &view) || constant->DataSize < graph_view_span_bytes(&view))
                return refuse(build, "graph constant node %u: DataSize %llu does not fit node %u (%s), input %u", from,
                              (unsigned long long)constant->DataSize, i, build->nodes[i]->op->name, s);
        }
    return S_OK;
}

HRESULT build_read(struct build *build)
{
    const DML_GRAPH_DESC *desc = build->desc;
    HRESULT hr = check_nodes(build);
    if (SUCCEEDED(hr))
        hr = read_names(build);
    if (SUCCEEDED(hr))
        hr = count_slots(build);
    for (uint32_t i = 0; SUCCEEDED(hr) && i < desc->InputEdgeCount; i++)
        hr = read_input_edge(build, &desc->InputEdges[i]);
    for (uint32_t i = 0; SUCCEEDED(hr) && i < desc->IntermediateEdgeCount; i++)
        hr = read_intermediate_edge(build, &desc->IntermediateEdges[i]);
    for (uint32_t i = 0; SUCCEEDED(hr) && i < desc->OutputEdgeCount; i++)
        hr = read_output_edge(build, &desc->OutputEdges[i]);
    if (SUCCEEDED(hr))
        hr = check_connected(build);
    if (SUCCEEDED(hr))
        hr = check_constants(build);
    return SUCCEEDED(hr) ? sort_nodes(build) : hr;
}
