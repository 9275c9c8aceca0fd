/* SPDX-License-Identifier: Apache-2.0 */
/* With CONFORMANCE_BUILDER=1 operators are made by the graph builder (anydml_graph.h), which is given the types of
 * outputs and not their sizes. */
#include "driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <anydml_graph.h>

/* Operators of which the caller chooses sizes, or ranks, of outputs: those of the request are taken. What the builder
 * finds by itself must be allowed all the same. Windows may be more than fit. */
static bool has_choice(DML_OPERATOR_TYPE type)
{
    switch (type) {
    case DML_OPERATOR_AVERAGE_POOLING:
    case DML_OPERATOR_AVERAGE_POOLING1:
    case DML_OPERATOR_CONVOLUTION:
    case DML_OPERATOR_CONVOLUTION_INTEGER:
    case DML_OPERATOR_LP_POOLING:
    case DML_OPERATOR_LP_POOLING1:
    case DML_OPERATOR_MAX_POOLING:
    case DML_OPERATOR_MAX_POOLING1:
    case DML_OPERATOR_MAX_POOLING2:
    case DML_OPERATOR_QUANTIZED_LINEAR_AVERAGE_POOLING:
    case DML_OPERATOR_QUANTIZED_LINEAR_CONVOLUTION:
    case DML_OPERATOR_UNFOLD:
    case DML_OPERATOR_SLICE1:
    case DML_OPERATOR_FOLD:
    case DML_OPERATOR_SLICE_GRAD:
    case DML_OPERATOR_RESAMPLE:
    case DML_OPERATOR_RESAMPLE1:
    case DML_OPERATOR_RESAMPLE2:
    case DML_OPERATOR_RESAMPLE3:
    case DML_OPERATOR_RESAMPLE_GRAD:
    case DML_OPERATOR_RESAMPLE_GRAD1:
    case DML_OPERATOR_ONE_HOT:
    case DML_OPERATOR_MAX_UNPOOLING:
    case DML_OPERATOR_ROI_ALIGN:
    case DML_OPERATOR_ROI_ALIGN1:
    case DML_OPERATOR_ROI_ALIGN_GRAD:
    case DML_OPERATOR_RANDOM_GENERATOR:
    case DML_OPERATOR_FILL_VALUE_CONSTANT:
    case DML_OPERATOR_FILL_VALUE_SEQUENCE:
    case DML_OPERATOR_DIAGONAL_MATRIX:
    case DML_OPERATOR_DIAGONAL_MATRIX1: /* without an input */
    case DML_OPERATOR_SPLIT:
    case DML_OPERATOR_MULTIHEAD_ATTENTION:
    case DML_OPERATOR_MULTIHEAD_ATTENTION1:
    case DML_OPERATOR_NONZERO_COORDINATES:
    case DML_OPERATOR_AVERAGE_POOLING_GRAD:
        return true;
    default:
        return false;
    }
}

static bool same_sizes(const DML_BUFFER_TENSOR_DESC *a, const DML_BUFFER_TENSOR_DESC *b)
{
    return a->DataType == b->DataType && a->DimensionCount == b->DimensionCount &&
           !memcmp(a->Sizes, b->Sizes, a->DimensionCount * sizeof(UINT));
}

/* The graph's tensors are packed and have no bytes behind them, and its inputs end with the last one that is there. */
static bool can_run(const struct driver_request *request, const anydml_expr *results)
{
    const struct driver_slot *last = request->input_count ? &request->inputs[request->input_count - 1] : NULL;
    if (last && (!last->name || last->source == DRIVER_CONSTANT))
        return false;
    for (uint32_t i = 0; i < request->input_count; i++)
        if (request->inputs[i].name && request->inputs[i].source == DRIVER_CONSTANT &&
            request->inputs[i].tensor->Strides)
            return false;
    for (uint32_t i = 0; i < request->output_count; i++)
        if (!request->outputs[i].name || request->outputs[i].tensor->Strides ||
            request->outputs[i].tensor->TotalTensorSizeInBytes != AnydmlGraphTensor(results[i])->TotalTensorSizeInBytes)
            return false;
    return true;
}

static anydml_expr make_input(struct anydml_graph *graph, uint32_t i, const struct driver_slot *slot)
{
    const DML_BUFFER_TENSOR_DESC *tensor = slot->tensor;
    if (slot->source == DRIVER_CONSTANT && !tensor->Strides)
        return AnydmlGraphConstant(graph, tensor->DataType, tensor->DimensionCount, tensor->Sizes, slot->data);
    return AnydmlGraphInputTensor(graph, i, tensor);
}

/* Without being told sizes: windows that do not fit, scales that give none, parts that are not equal. */
static bool no_sizes_follow(const char *message)
{
    static const char *const rules[] = { "must be given", "must fit into", "must divide", "a size below",
                                         "below 2^32" };
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
        if (strstr(message, rules[i]))
            return true;
    return false;
}

/* One operator in a new graph; false and a line when the builder refuses it, or finds other sizes. */
static bool make(IDMLDevice1 *dml, const struct driver_request *request, bool sizes, struct anydml_graph **graph,
                 anydml_expr *results)
{
    static struct anydml_output outputs[DRIVER_SLOTS];
    static anydml_expr inputs[DRIVER_SLOTS];
    bool fine = true;
    if (FAILED(AnydmlGraphCreate((IDMLDevice *)dml, graph)))
        return false;
    for (uint32_t i = 0; i < request->input_count; i++)
        inputs[i] = request->inputs[i].name ? make_input(*graph, i, &request->inputs[i]) : NULL;
    for (uint32_t i = 0; i < request->output_count; i++) {
        const DML_BUFFER_TENSOR_DESC *tensor = request->outputs[i].name ? request->outputs[i].tensor : NULL;
        results[i] = NULL;
        outputs[i] = (struct anydml_output){ .Expression = tensor ? &results[i] : NULL };
        if (!tensor)
            continue;
        outputs[i].DataType = tensor->DataType;
        outputs[i].DimensionCount = sizes ? tensor->DimensionCount : 0;
        outputs[i].Sizes = tensor->Sizes;
    }
    AnydmlGraphOperator(*graph, &request->desc, inputs, outputs);
    const bool must = sizes || !has_choice(request->desc.Type);
    if (!must && no_sizes_follow(AnydmlGraphMessage(*graph)))
        return true;
    for (uint32_t i = 0; i < request->output_count; i++) {
        if (!request->outputs[i].name ||
            (results[i] && (!must || same_sizes(AnydmlGraphTensor(results[i]), request->outputs[i].tensor))))
            continue;
        fprintf(stderr, "builder: operator %u: output %u: %s\n", (unsigned)request->desc.Type, i,
                results[i] ? "has other sizes" : AnydmlGraphMessage(*graph));
        fine = false;
    }
    return fine;
}

HRESULT driver_build(IDMLDevice1 *dml, const struct driver_request *request, IDMLCompiledOperator **out)
{
    static anydml_expr results[DRIVER_SLOTS];
    struct anydml_graph *graph = NULL;
    HRESULT hr = make(dml, request, false, &graph, results) ? S_OK : E_FAIL;
    *out = NULL;
    if (SUCCEEDED(hr) && has_choice(request->desc.Type)) {
        AnydmlGraphDestroy(graph);
        hr = make(dml, request, true, &graph, results) ? S_OK : E_FAIL;
    }
    if (SUCCEEDED(hr) && can_run(request, results))
        hr = AnydmlGraphCompile(graph, request->flags, request->output_count, results, out);
    AnydmlGraphDestroy(graph);
    return hr;
}
