/* SPDX-License-Identifier: Apache-2.0 */
/* The graph: its ownership, its first error, its inputs and constants, reinterpreting views of its tensors, and its
 * compilation. */
#include "builder/builder.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <DirectMLGuids.h>

#define EXPORT __attribute__((visibility("default")))

bool builder_fail(struct anydml_graph *graph, HRESULT hr, const char *format, ...)
{
    va_list args;
    if (FAILED(graph->hr))
        return false;
    graph->hr = hr;
    va_start(args, format);
    vsnprintf(graph->message, sizeof(graph->message), format, args);
    va_end(args);
    return false;
}

EXPORT HRESULT AnydmlGraphCreate(IDMLDevice *device, struct anydml_graph **out)
{
    if (!out)
        return E_INVALIDARG;
    *out = NULL;
    if (!device)
        return E_INVALIDARG;
    struct anydml_graph *graph = calloc(1, sizeof(*graph));
    if (!graph)
        return E_OUTOFMEMORY;
    graph->emit.used_only = true;
    HRESULT hr = IDMLDevice_QueryInterface(device, &IID_IDMLDevice1, (void **)&graph->emit.device);
    if (FAILED(hr)) {
        free(graph);
        return hr;
    }
    *out = graph;
    return S_OK;
}

EXPORT void AnydmlGraphDestroy(struct anydml_graph *graph)
{
    if (!graph)
        return;
    emit_finish(&graph->emit);
    for (struct anydml_expression *one = graph->expressions, *next; one; one = next) {
        next = one->next;
        free(one);
    }
    IDMLDevice1_Release(graph->emit.device);
    free(graph);
}

EXPORT const char *AnydmlGraphMessage(const struct anydml_graph *graph)
{
    return graph ? graph->message : "the graph is NULL";
}

EXPORT HRESULT AnydmlGraphClearError(struct anydml_graph *graph)
{
    if (!graph)
        return E_INVALIDARG;
    if (graph->hr == E_OUTOFMEMORY) /* a node may lack edges */
        return E_OUTOFMEMORY;
    graph->hr = S_OK;
    graph->message[0] = 0;
    return S_OK;
}

EXPORT const DML_BUFFER_TENSOR_DESC *AnydmlGraphTensor(anydml_expr expression)
{
    return expression ? &expression->tensor : NULL;
}

struct anydml_expression *builder_expression(struct anydml_graph *graph, DML_TENSOR_DATA_TYPE type, uint32_t count,
                                             const UINT *sizes)
{
    struct anydml_expression *made = calloc(1, sizeof(*made));
    if (!made) {
        builder_fail(graph, E_OUTOFMEMORY, "no memory for an expression");
        return NULL;
    }
    made->graph = graph;
    made->next = graph->expressions;
    graph->expressions = made;
    memcpy(made->sizes, sizes, count * sizeof(*sizes));
    made->tensor = (DML_BUFFER_TENSOR_DESC){ .DataType = type, .DimensionCount = count, .Sizes = made->sizes };
    made->tensor.TotalTensorSizeInBytes = schema_tensor_min_bytes(&made->tensor);
    return made;
}

/* Errors that schema_tensor_min_bytes does not report are found when an operator uses the tensor. */
static bool tensor_allowed(struct anydml_graph *graph, const char *what, const DML_BUFFER_TENSOR_DESC *tensor)
{
    if (FAILED(graph->hr))
        return false;
    if (!tensor || !tensor->Sizes)
        return builder_fail(graph, E_INVALIDARG, "%s: Sizes = NULL, must be given", what);
    if (!tensor->DimensionCount || tensor->DimensionCount > SCHEMA_MAX_RANK)
        return builder_fail(graph, E_INVALIDARG, "%s: DimensionCount = %u, must be 1 to %u", what,
                            tensor->DimensionCount, (unsigned)SCHEMA_MAX_RANK);
    if (!schema_data_type_bits(tensor->DataType))
        return builder_fail(graph, E_INVALIDARG, "%s: DataType = %u, must be a data type", what,
                            (unsigned)tensor->DataType);
    for (uint32_t i = 0; i < tensor->DimensionCount; i++)
        if (!tensor->Sizes[i])
            return builder_fail(graph, E_INVALIDARG, "%s: Sizes[%u] = 0, must be at least 1", what, i);
    return schema_tensor_min_bytes(tensor) ||
           builder_fail(graph, E_INVALIDARG, "%s: has more than 2^32 - 1 elements", what);
}

/* A copy of a description that is allowed. */
static struct anydml_expression *copy_tensor(struct anydml_graph *graph, const DML_BUFFER_TENSOR_DESC *tensor)
{
    struct anydml_expression *made = builder_expression(graph, tensor->DataType, tensor->DimensionCount, tensor->Sizes);
    if (!made)
        return NULL;
    made->tensor.Flags = tensor->Flags;
    made->tensor.GuaranteedBaseOffsetAlignment = tensor->GuaranteedBaseOffsetAlignment;
    if (tensor->Strides) {
        memcpy(made->strides, tensor->Strides, tensor->DimensionCount * sizeof(UINT));
        made->tensor.Strides = made->strides;
    }
    made->tensor.TotalTensorSizeInBytes = schema_tensor_min_bytes(&made->tensor);
    if (tensor->TotalTensorSizeInBytes)
        made->tensor.TotalTensorSizeInBytes = tensor->TotalTensorSizeInBytes;
    return made;
}

EXPORT anydml_expr AnydmlGraphInputTensor(struct anydml_graph *graph, UINT index, const DML_BUFFER_TENSOR_DESC *tensor)
{
    if (!graph || !tensor_allowed(graph, "AnydmlGraphInput", tensor))
        return NULL;
    if (index >= SCHEMA_MAX_TENSORS) {
        builder_fail(graph, E_INVALIDARG, "AnydmlGraphInput: index = %u, must be below %u", index,
                     (unsigned)SCHEMA_MAX_TENSORS);
        return NULL;
    }
    struct anydml_expression *made = copy_tensor(graph, tensor);
    if (!made)
        return NULL;
    made->from = (struct emit_source){ true, index, 0 };
    graph->emit.input_count = BASE_MAX(graph->emit.input_count, index + 1);
    return made;
}

EXPORT anydml_expr AnydmlGraphInput(struct anydml_graph *graph, UINT index, DML_TENSOR_DATA_TYPE type, UINT count,
                                    const UINT *sizes)
{
    const DML_BUFFER_TENSOR_DESC tensor = { .DataType = type, .DimensionCount = count, .Sizes = sizes };
    return AnydmlGraphInputTensor(graph, index, &tensor);
}

EXPORT anydml_expr AnydmlGraphOwnedInput(struct anydml_graph *graph, UINT index, DML_TENSOR_DATA_TYPE type, UINT count,
                                         const UINT *sizes)
{
    const DML_BUFFER_TENSOR_DESC tensor = { type, DML_TENSOR_FLAG_OWNED_BY_DML, count, sizes, NULL, 0, 0 };
    return AnydmlGraphInputTensor(graph, index, &tensor);
}

EXPORT anydml_expr AnydmlGraphConstant(struct anydml_graph *graph, DML_TENSOR_DATA_TYPE type, UINT count,
                                       const UINT *sizes, const void *elements)
{
    const DML_BUFFER_TENSOR_DESC tensor = { .DataType = type, .DimensionCount = count, .Sizes = sizes };
    if (!graph || !tensor_allowed(graph, "AnydmlGraphConstant", &tensor))
        return NULL;
    if (!elements) {
        builder_fail(graph, E_INVALIDARG, "AnydmlGraphConstant: elements = NULL, must be given");
        return NULL;
    }
    struct anydml_expression *made = builder_expression(graph, type, count, sizes);
    if (!made)
        return NULL;
    /* The caller's bytes, which need not extend to the multiple of 4 that a tensor has. */
    uint64_t bits = schema_data_type_bits(type);
    for (uint32_t i = 0; i < count; i++)
        bits *= sizes[i];
    made->from.index = graph->emit.node_count;
    if (emit_constant(&graph->emit, elements, (bits + 7) / 8, NULL, false))
        return made;
    builder_fail(graph, E_OUTOFMEMORY, "no memory for a constant");
    return NULL;
}

EXPORT anydml_expr AnydmlGraphReinterpret(struct anydml_graph *graph, anydml_expr expression, DML_TENSOR_DATA_TYPE type,
                                          UINT count, const UINT *sizes, const UINT *strides)
{
    DML_BUFFER_TENSOR_DESC tensor = { .DataType = type, .DimensionCount = count, .Sizes = sizes, .Strides = strides };
    if (!graph || !tensor_allowed(graph, "AnydmlGraphReinterpret", &tensor))
        return NULL;
    if (!expression || expression->graph != graph) {
        builder_fail(graph, E_INVALIDARG, "AnydmlGraphReinterpret: the expression is %s",
                     expression ? "of another graph" : "NULL");
        return NULL;
    }
    const uint64_t bytes = schema_tensor_min_bytes(&tensor);
    if (bytes > expression->tensor.TotalTensorSizeInBytes) {
        builder_fail(graph, E_INVALIDARG,
                     "AnydmlGraphReinterpret: the new tensor has %llu bytes, must be at most the expression's (%llu)",
                     (unsigned long long)bytes, (unsigned long long)expression->tensor.TotalTensorSizeInBytes);
        return NULL;
    }
    tensor.Flags = expression->tensor.Flags;
    tensor.TotalTensorSizeInBytes = expression->tensor.TotalTensorSizeInBytes;
    tensor.GuaranteedBaseOffsetAlignment = expression->tensor.GuaranteedBaseOffsetAlignment;
    struct anydml_expression *made = copy_tensor(graph, &tensor);
    if (made)
        made->from = expression->from;
    return made;
}

EXPORT anydml_expr AnydmlGraphBroadcast(struct anydml_graph *graph, anydml_expr expression, UINT count,
                                        const UINT *sizes)
{
    UINT strides[SCHEMA_MAX_RANK] = { 0 }, own[SCHEMA_MAX_RANK];
    if (!graph || FAILED(graph->hr))
        return NULL;
    const uint32_t rank = expression ? expression->tensor.DimensionCount : 0;
    if (!rank || count < rank || count > SCHEMA_MAX_RANK || !sizes) {
        builder_fail(graph, E_INVALIDARG, "AnydmlGraphBroadcast: count = %u, must be %u to %u, and no argument NULL",
                     count, rank, (unsigned)SCHEMA_MAX_RANK);
        return NULL;
    }
    schema_tensor_strides(&expression->tensor, own);
    for (uint32_t i = 0, to = count - rank; i < rank; i++, to++) {
        const UINT size = expression->sizes[i];
        if (size != sizes[to] && size != 1) {
            builder_fail(graph, E_INVALIDARG,
                         "AnydmlGraphBroadcast: sizes[%u] = %u, must be that of the expression (%u)", to, sizes[to],
                         size);
            return NULL;
        }
        strides[to] = size == 1 ? 0 : own[i];
    }
    return AnydmlGraphReinterpret(graph, expression, expression->tensor.DataType, count, sizes, strides);
}

/* ---- compilation ---- */

static bool outputs_allowed(struct anydml_graph *graph, UINT count, const anydml_expr *outputs)
{
    if (!count || !outputs)
        return builder_fail(graph, E_INVALIDARG, "AnydmlGraphCompile: needs at least one output");
    for (UINT i = 0; i < count; i++) {
        if (!outputs[i] || outputs[i]->graph != graph)
            return builder_fail(graph, E_INVALIDARG, "AnydmlGraphCompile: outputs[%u] is %s", i,
                                outputs[i] ? "of another graph" : "NULL");
        const struct emit_source from = outputs[i]->from;
        if (from.is_input || graph->emit.nodes[from.index].type != DML_GRAPH_NODE_TYPE_OPERATOR)
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
    if (compiled)
        *compiled = NULL;
    if (!graph || !compiled)
        return E_INVALIDARG;
    if (FAILED(graph->hr) || !outputs_allowed(graph, count, outputs))
        return graph->hr;
    graph->emit.output_count = 0;
    for (UINT i = 0; i < count; i++)
        if (!emit_output(&graph->emit, outputs[i]->from.index, outputs[i]->from.output, NULL))
            return builder_fail(graph, E_OUTOFMEMORY, "AnydmlGraphCompile: no memory"), graph->hr;
    HRESULT hr = emit_compile(&graph->emit, flags, compiled);
    if (FAILED(hr))
        builder_fail(graph, hr, "AnydmlGraphCompile: CompileGraph returned 0x%08x; the log says why", (unsigned)hr);
    return hr;
}
