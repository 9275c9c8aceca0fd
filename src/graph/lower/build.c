/* SPDX-License-Identifier: Apache-2.0 */
/* From checked descriptions to the naive graph: values for all tensors, then each operator's lowering. */
#include "graph/lower/build.h"

#include "graph/ir/constant.h"
#include "graph/ir/view.h"
#include "graph/lower/lower.h"

/* graph->failed without a message means out of memory. */
static HRESULT built(const struct graph *graph)
{
    return graph->failed ? E_OUTOFMEMORY : S_OK;
}

/* Appends one operator's ops. values[i]: inputs, then outputs; GRAPH_NONE where the slot has no tensor. */
static HRESULT lower_node(struct graph *graph, const struct schema_desc *desc, uint32_t node, const uint32_t *values,
                          char *error)
{
    uint32_t count = desc->input_count + desc->output_count;
    struct graph_operand *operands = base_arena_alloc(&graph->arena, count * sizeof(*operands));
    if (!operands)
        return E_OUTOFMEMORY;
    for (uint32_t i = 0; i < count; i++) {
        const DML_BUFFER_TENSOR_DESC *tensor =
            i < desc->input_count ? desc->inputs[i] : desc->outputs[i - desc->input_count];
        operands[i].value = tensor ? values[i] : GRAPH_NONE;
        if (tensor && !graph_view_from_desc(tensor, &operands[i].view))
            return E_INVALIDARG;
    }
    struct graph_lowering lowering = { graph, desc, operands, operands + desc->input_count, node, error };
    graph->node = node;
    graph->origin = desc->op->name;
    HRESULT hr = graph_lower(&lowering);
    graph->node = GRAPH_NONE;
    graph->origin = "";
    return FAILED(hr) ? hr : built(graph);
}

HRESULT graph_from_operator(struct graph *graph, const struct schema_desc *desc, uint32_t flags, char *error)
{
    graph_init(graph, desc->input_count, desc->output_count, flags);
    error[0] = 0;
    uint32_t count = desc->input_count + desc->output_count;
    uint32_t *values = base_arena_alloc(&graph->arena, count * sizeof(*values));
    HRESULT hr = values ? S_OK : E_OUTOFMEMORY;
    for (uint32_t i = 0; values && i < count; i++) {
        bool input = i < desc->input_count;
        const DML_BUFFER_TENSOR_DESC *tensor = input ? desc->inputs[i] : desc->outputs[i - desc->input_count];
        if (!tensor)
            continue;
        enum graph_place place = tensor->Flags & DML_TENSOR_FLAG_OWNED_BY_DML ? GRAPH_OWNED : GRAPH_INPUT;
        values[i] = graph_value_add(graph, input ? place : GRAPH_OUTPUT, input ? i : i - desc->input_count,
                                    tensor->TotalTensorSizeInBytes);
        hr = built(graph);
    }
    if (SUCCEEDED(hr))
        hr = lower_node(graph, desc, 0, values, error);
    if (FAILED(hr))
        graph_finish(graph);
    return hr;
}

/* Filled up with zeros to the size that its readers expect. */
static uint32_t add_constant(struct build *build, uint32_t node)
{
    const DML_CONSTANT_DATA_GRAPH_NODE_DESC *constant = build->desc->Nodes[node].Desc;
    uint64_t *bytes = &build->bytes[build->first_output[node]];
    *bytes = base_align_up(BASE_MAX(*bytes, (uint64_t)constant->DataSize), 4);
    return graph_constant_lend(build->graph, node, constant->Data, constant->DataSize, *bytes);
}

static uint32_t add_named(struct build *build, enum graph_place place, uint32_t index, uint64_t bytes, const char *name)
{
    uint32_t value = graph_value_add(build->graph, place, index, bytes);
    if (value != GRAPH_NONE)
        build->graph->values[value].name = name;
    return value;
}

static void add_node_outputs(struct build *build, uint32_t node)
{
    if (!build->nodes[node]) {
        uint32_t constant = build->output_value[build->first_output[node]] = add_constant(build, node);
        if (constant != GRAPH_NONE)
            build->graph->values[constant].name = build->graph->node_names[node];
        return;
    }
    for (uint32_t s = 0; s < build->nodes[node]->output_count; s++) {
        uint32_t slot = build->first_output[node] + s, index = build->graph_output[slot];
        if (build->nodes[node]->outputs[s])
            build->output_value[slot] =
                add_named(build, index == GRAPH_NONE ? GRAPH_TEMP : GRAPH_OUTPUT, index == GRAPH_NONE ? 0 : index,
                          build->bytes[slot], build->slot_name[slot]);
    }
}

static HRESULT add_values(struct build *build)
{
    for (uint32_t i = 0; i < build->desc->InputCount; i++)
        if (build->input_kind[i])
            build->input_value[i] = add_named(build, build->input_kind[i] == 2 ? GRAPH_OWNED : GRAPH_INPUT, i,
                                              build->input_bytes[i], build->input_name[i]);
    for (uint32_t i = 0; i < build->desc->NodeCount; i++)
        add_node_outputs(build, i);
    return built(build->graph);
}

static HRESULT lower_graph_node(struct build *build, uint32_t node)
{
    const struct schema_desc *desc = build->nodes[node];
    uint32_t count = desc->input_count + desc->output_count;
    uint32_t *values = base_arena_alloc(&build->graph->arena, count * sizeof(*values));
    if (!values)
        return E_OUTOFMEMORY;
    for (uint32_t s = 0; s < desc->input_count; s++) {
        const struct build_feed *feed = &build->feeds[build->first_input[node] + s];
        if (feed->from != BUILD_NOTHING)
            values[s] =
                feed->from == BUILD_GRAPH_INPUT ? build->input_value[feed->index] : build->output_value[feed->index];
    }
    for (uint32_t s = 0; s < desc->output_count; s++)
        values[desc->input_count + s] = build->output_value[build->first_output[node] + s];
    return lower_node(build->graph, desc, node, values, build->error);
}

/* Bytes of an output slot up to the end of its last element: buffers may end there, before the rounded-up size. */
static uint64_t slot_used(const struct build *build, uint32_t slot)
{
    uint32_t node = build->owner[slot];
    struct kern_view view;
    if (!build->nodes[node])
        return ((const DML_CONSTANT_DATA_GRAPH_NODE_DESC *)build->desc->Nodes[node].Desc)->DataSize;
    const DML_BUFFER_TENSOR_DESC *tensor = build->nodes[node]->outputs[slot - build->first_output[node]];
    return tensor && graph_view_from_desc(tensor, &view) ? graph_view_span_bytes(&view) : build->bytes[slot];
}

/* Fills a graph output that its node cannot write directly: copies the value's bytes, in words if the size is a
 * multiple of a word. */
static HRESULT add_output_copy(struct build *build, uint32_t index, uint32_t slot)
{
    struct graph *graph = build->graph;
    uint64_t used = slot_used(build, slot), units = used % 4 ? used : used / 4;
    uint32_t sizes[2] = { 1, (uint32_t)units };
    struct graph_operand from = { build->output_value[slot], { 0 } };
    /* A dimension holds up to 2^32 - 1 elements. */
    while (units > UINT32_MAX && units % 2 == 0) {
        sizes[0] *= 2;
        units /= 2;
        sizes[1] = (uint32_t)units;
    }
    if (units > UINT32_MAX)
        return E_OUTOFMEMORY;
    kern_view_set_packed(&from.view, used % 4 ? DML_TENSOR_DATA_TYPE_UINT8 : DML_TENSOR_DATA_TYPE_UINT32, 2, sizes);
    struct graph_operand to = { graph_value_add(graph, GRAPH_OUTPUT, index, build->bytes[slot]), from.view };
    graph_op_add(graph, KERN_MOVE, &from, 1, &to, 1);
    return built(graph);
}

static HRESULT build_graph(struct build *build)
{
    HRESULT hr = build_read(build);
    if (SUCCEEDED(hr))
        hr = add_values(build);
    for (uint32_t i = 0; SUCCEEDED(hr) && i < build->desc->NodeCount; i++)
        if (build->nodes[build->order[i]])
            hr = lower_graph_node(build, build->order[i]);
    for (uint32_t i = 0; SUCCEEDED(hr) && i < build->desc->OutputCount; i++) {
        uint32_t slot = build->output_source[i];
        /* The slot's first graph output is its own buffer; a constant does not have one. */
        if (build->graph_output[slot] != i || !build->nodes[build->owner[slot]])
            hr = add_output_copy(build, i, slot);
    }
    return hr;
}

HRESULT graph_from_desc(struct graph *graph, const DML_GRAPH_DESC *desc, const struct schema_desc *const *nodes,
                        uint32_t flags, char *error)
{
    struct build build = { .graph = graph, .desc = desc, .nodes = nodes, .error = error };
    graph_init(graph, desc->InputCount, desc->OutputCount, flags);
    error[0] = 0;
    HRESULT hr = build_graph(&build);
    if (FAILED(hr))
        graph_finish(graph);
    return hr;
}
