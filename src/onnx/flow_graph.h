/* What flow.c and flow_loop.c share. */
#ifndef ONNX_FLOW_GRAPH_H
#define ONNX_FLOW_GRAPH_H

#include "onnx/flow.h"

/* The values of a graph while it runs. */
struct flow_scope {
    const struct flow_scope *around;
    struct flow_graph *graph;
    bool repeats; /* it, or one around it, runs once per iteration of a loop */
    struct onnx_names names;
    struct onnx_array *arrays;
    uint32_t count, capacity;
};

/* "Loop 'name': <text>". Returns E_INVALIDARG. */
HRESULT onnx_flow_fail(struct onnx_flow *flow, const struct onnx_node *n, const char *format, ...) BASE_PRINTF(3, 4);

/* One more owner of the value. */
HRESULT onnx_flow_value(struct onnx_flow *flow, const struct flow_scope *scope, const char *name,
                        struct onnx_array *out);
/* Takes the array over, even on failure. A name of "" is nobody's. */
HRESULT onnx_flow_define(struct onnx_flow *flow, struct flow_scope *scope, const char *name, struct onnx_array *array);

/* Runs an inner graph inside `around`. The inputs stay the caller's, the outputs become his when it succeeds. */
HRESULT onnx_flow_run_graph(struct onnx_flow *flow, const struct onnx_model *graph, const struct flow_scope *around,
                            bool repeats, const struct onnx_array *inputs, struct onnx_array *outputs);

HRESULT onnx_flow_run_loop(struct onnx_flow *flow, struct flow_scope *scope, const struct onnx_node *n);
HRESULT onnx_flow_run_scan(struct onnx_flow *flow, struct flow_scope *scope, const struct onnx_node *n);

#endif
