/* SPDX-License-Identifier: Apache-2.0 */
/* Models that are no single graph: with loops, with branches that are chosen by what was computed, or with computed
 * values that shapes depend on. Their graphs are cut where that is so; each part is a program of its own, compiled when
 * it is first reached with the shapes that have come up, and kept. Values go from part to part in host memory, and the
 * host runs If, Loop and Scan. For one thread. */
#ifndef ONNX_FLOW_H
#define ONNX_FLOW_H

#include "onnx/array.h"
#include "onnx/exec.h"

struct onnx_flow;

/* Model, device and pool must outlive it. own_weights: as onnx_compile_owned. NULL: memory is short. */
struct onnx_flow *onnx_flow_create(const struct onnx_model *model, struct onnx_device *device, struct onnx_pool *pool,
                                   DML_EXECUTION_FLAGS flags, bool own_weights);
void onnx_flow_destroy(struct onnx_flow *flow); /* NULL is fine */

/* Arrays of the model's inputs and outputs; outputs become the caller's when it succeeds. E_INVALIDARG: error says
 * what.
 */
HRESULT onnx_flow_run(struct onnx_flow *flow, const struct onnx_array *inputs, struct onnx_array *outputs,
                      struct onnx_error *error);

uint32_t onnx_flow_program_count(const struct onnx_flow *flow); /* compiled so far and kept */
uint32_t onnx_flow_node_count(const struct onnx_flow *flow);    /* of DirectML, in all of them */

#endif
