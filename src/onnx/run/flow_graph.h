/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by flow.c and flow_loop.c. */
#ifndef ONNX_FLOW_GRAPH_H
#define ONNX_FLOW_GRAPH_H

#include "onnx/host/flow_scope.h"
#include "onnx/run/flow.h"

/* Runs an inner graph inside `around`. The caller keeps the inputs, and owns the outputs on success. */
HRESULT onnx_flow_run_graph(struct onnx_flow *flow, const struct onnx_model *graph, const struct flow_scope *around,
                            bool repeats, const struct onnx_array *inputs, struct onnx_array *outputs);

HRESULT onnx_flow_run_loop(struct onnx_flow *flow, struct flow_scope *scope, const struct onnx_node *n);
HRESULT onnx_flow_run_scan(struct onnx_flow *flow, struct flow_scope *scope, const struct onnx_node *n);

#endif
