/* SPDX-License-Identifier: Apache-2.0 */
/* Values of graphs while they run in parts: shared by flows, which run the parts, and by the operators of the host. */
#ifndef ONNX_FLOW_SCOPE_H
#define ONNX_FLOW_SCOPE_H

#include "onnx/host/array.h"

#include "base/names.h"

struct onnx_device;
struct onnx_pool;
struct flow_part; /* flow.c */

/* A graph of the model, in parts. */
struct flow_graph {
    struct flow_graph *next;
    const struct onnx_model *model;
    struct base_names initializers;
    struct flow_part *parts;
    uint32_t part_count, part_capacity;
};

struct onnx_flow {
    struct onnx_device *device;
    struct onnx_pool *pool;
    DML_EXECUTION_FLAGS flags;
    bool own_weights;
    const struct onnx_model *model;
    struct base_arena arena; /* descriptions of parts */
    struct flow_graph *graphs;
    struct onnx_error *error; /* of the run */
    uint64_t held;            /* bytes of the values that running loops carry and of the results they have collected */
};

/* The values of a graph while it runs. */
struct flow_scope {
    const struct flow_scope *around;
    struct flow_graph *graph;
    bool repeats; /* it, or an enclosing graph, runs once per iteration of a loop */
    struct base_names names;
    struct onnx_array *arrays;
    uint32_t count, capacity;
};

HRESULT onnx_flow_no_memory(struct onnx_flow *flow);
/* "Loop 'name': <text>". Returns E_INVALIDARG. */
HRESULT onnx_flow_fail(struct onnx_flow *flow, const struct onnx_node *n, const char *format, ...) BASE_PRINTF(3, 4);

/* Whether running loops may hold that many bytes more: half of the machine's memory, since what they hold is not
 * bounded by sizes in the model. */
HRESULT onnx_flow_may_hold(struct onnx_flow *flow, const struct onnx_node *n, uint64_t bytes);

/* The scope that has the value, as an array or as an initializer of its graph; NULL: none. */
const struct flow_scope *onnx_flow_find(const struct flow_scope *scope, const char *name,
                                        const struct onnx_array **array, const struct onnx_tensor **tensor);
/* One more owner of the value. */
HRESULT onnx_flow_value(struct onnx_flow *flow, const struct flow_scope *scope, const char *name,
                        struct onnx_array *out);
/* Takes ownership of the array, even on failure. A value named "" is unused. */
HRESULT onnx_flow_define(struct onnx_flow *flow, struct flow_scope *scope, const char *name, struct onnx_array *array);

void onnx_flow_forget(struct flow_scope *scope); /* all its values */

#endif
