/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DirectML graphs from C, one function per operator (docs/graph-builder.md has an example and the rules):
 *
 *     struct anydml_graph *graph;
 *     AnydmlGraphCreate((IDMLDevice *)device, &graph);
 *     anydml_expr x = AnydmlGraphInput(graph, 0, DML_TENSOR_DATA_TYPE_FLOAT32, 2, (UINT[]){ 2, 3 });
 *     anydml_expr w = AnydmlGraphInput(graph, 1, DML_TENSOR_DATA_TYPE_FLOAT32, 2, (UINT[]){ 3, 4 });
 *     anydml_expr y = AnydmlActivationRelu(graph, AnydmlGemm(graph, x, w, NULL), NULL);
 *     hr = AnydmlGraphCompile(graph, DML_EXECUTION_FLAG_NONE, 1, &y, &compiled);
 *     if (FAILED(hr))
 *         puts(AnydmlGraphMessage(graph));
 *     AnydmlGraphDestroy(graph);
 *
 * An expression is a tensor of the graph: a pointer that is valid as long as the graph, which owns everything. The
 * first error is stored in the graph: the failed expression and all later ones are NULL, and AnydmlGraphCompile returns
 * the error, so intermediate results need no checks.
 *
 * Threads: a graph may be used by one thread at a time; different graphs are independent.
 */
#ifndef ANYDML_GRAPH_H
#define ANYDML_GRAPH_H

#include "anydml.h"

#include <string.h>

#if DML_TARGET_VERSION < 0x2100
#error "anydml_graph.h makes graphs, which DML_TARGET_VERSION has from 0x2100"
#endif

#ifdef __cplusplus
extern "C" {
#endif

struct anydml_graph;
typedef const struct anydml_expression *anydml_expr;

/* Creates a graph for a device, which it keeps alive. E_INVALIDARG for NULL, E_OUTOFMEMORY; *graph is then NULL. The
 * caller destroys the graph, before or after the compiled operators; AnydmlGraphDestroy accepts NULL. */
HRESULT STDMETHODCALLTYPE AnydmlGraphCreate(IDMLDevice *device, struct anydml_graph **graph);
void STDMETHODCALLTYPE AnydmlGraphDestroy(struct anydml_graph *graph);

/* Input number `index` of the compiled operator: packed, with `count` sizes. An owned input is bound to the
 * initializer. For other layouts use AnydmlGraphInputTensor, which copies the description; its TotalTensorSizeInBytes
 * may be 0. */
anydml_expr STDMETHODCALLTYPE AnydmlGraphInput(struct anydml_graph *graph, UINT index, DML_TENSOR_DATA_TYPE type,
                                               UINT count, const UINT *sizes);
anydml_expr STDMETHODCALLTYPE AnydmlGraphOwnedInput(struct anydml_graph *graph, UINT index, DML_TENSOR_DATA_TYPE type,
                                                    UINT count, const UINT *sizes);
anydml_expr STDMETHODCALLTYPE AnydmlGraphInputTensor(struct anydml_graph *graph, UINT index,
                                                     const DML_BUFFER_TENSOR_DESC *tensor);

/* A constant tensor. Its data is not copied: AnydmlGraphCompile reads it. */
anydml_expr STDMETHODCALLTYPE AnydmlGraphConstant(struct anydml_graph *graph, DML_TENSOR_DATA_TYPE type, UINT count,
                                                  const UINT *sizes, const void *elements);

/* The same bytes with another type, other sizes or strides (NULL: packed). AnydmlGraphBroadcast repeats an expression:
 * sizes are aligned at the last one, and the new size may be anything where the expression's is 1 or missing. */
anydml_expr STDMETHODCALLTYPE AnydmlGraphReinterpret(struct anydml_graph *graph, anydml_expr expression,
                                                     DML_TENSOR_DATA_TYPE type, UINT count, const UINT *sizes,
                                                     const UINT *strides);
anydml_expr STDMETHODCALLTYPE AnydmlGraphBroadcast(struct anydml_graph *graph, anydml_expr expression, UINT count,
                                                   const UINT *sizes);

/* Type, sizes and strides of an expression, valid as long as the graph; NULL for NULL. */
const DML_BUFFER_TENSOR_DESC *STDMETHODCALLTYPE AnydmlGraphTensor(anydml_expr expression);

/* Compiles the graph. Output i of *compiled is outputs[i], input i the one created with that index. Returns the graph's
 * first error, or E_INVALIDARG for invalid outputs (NULL, or an input: AnydmlIdentity makes an output of it), or the
 * result of CompileGraph. A graph may be extended and compiled again. */
HRESULT STDMETHODCALLTYPE AnydmlGraphCompile(struct anydml_graph *graph, DML_EXECUTION_FLAGS flags, UINT count,
                                             const anydml_expr *outputs, IDMLCompiledOperator **compiled);

/* The first error as a sentence that names operator, field, value and rule; "" without an error. Valid until the graph
 * is destroyed or fails again. */
const char *STDMETHODCALLTYPE AnydmlGraphMessage(const struct anydml_graph *graph);

/* Discards the first error and restores the graph as it was before the failed call. S_OK; E_INVALIDARG for NULL;
 * E_OUTOFMEMORY for a graph that ran out of memory, which stays failed. */
HRESULT STDMETHODCALLTYPE AnydmlGraphClearError(struct anydml_graph *graph);

/* A further output of an operator, in options: *Expression receives the tensor if the pointer is not NULL. Members that
 * are 0 or NULL are derived from the inputs and attributes where possible. */
struct anydml_output {
    anydml_expr *Expression;
    DML_TENSOR_DATA_TYPE DataType;
    UINT DimensionCount;
    const UINT *Sizes;
};

/* A fused activation, or one of a recurrent operator, with its parameters in the order of its description; Type 0: no
 * activation. A softmax is computed over the last axis. */
struct anydml_activation {
    DML_OPERATOR_TYPE Type;
    FLOAT Parameters[2];
};

/* Fields whose default is not 0 although 0 is valid: { 1, value }, or { 0 } for the default. */
struct anydml_float {
    BOOL Given;
    FLOAT Value;
};
struct anydml_uint {
    BOOL Given;
    UINT Value;
};

/* Called by all operator functions. `desc` is the operator's description; its tensors are ignored. Array pointers that
 * are NULL, and lengths that follow from the rank, have defaults. inputs and outputs: one entry for each tensor in the
 * order of the description, with arrays expanded. A NULL input is absent, and so is an optional output whose Expression
 * is NULL (except for the first, if all outputs are optional and none is requested). Returns the first output that was
 * created, or NULL. */
anydml_expr STDMETHODCALLTYPE AnydmlGraphOperator(struct anydml_graph *graph, const DML_OPERATOR_DESC *desc,
                                                  const anydml_expr *inputs, const struct anydml_output *outputs);

#include "anydml/graph_operators.h"

#ifdef __cplusplus
}
#endif

#endif
