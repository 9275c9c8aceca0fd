/* SPDX-License-Identifier: Apache-2.0 */
/* Models that are not a single graph: with loops, with branches selected by computed values, or with computed values on
 * which shapes depend. Their graphs are split there; each part is a program, compiled at first execution for the shapes
 * of that execution, and kept. Values pass from part to part in host memory, and the host executes If, Loop, Scan, and
 * the operators of host.def, which have no converter. For one thread. */
#ifndef ONNX_FLOW_H
#define ONNX_FLOW_H

#include "onnx/host/array.h"
#include "onnx/run/exec.h"

struct onnx_flow;

/* Model, device and pool must outlive it. own_weights: as onnx_compile_owned. NULL: memory is short. */
struct onnx_flow *onnx_flow_create(const struct onnx_model *model, struct onnx_device *device, struct onnx_pool *pool,
                                   DML_EXECUTION_FLAGS flags, bool own_weights);
void onnx_flow_destroy(struct onnx_flow *flow); /* NULL is fine */

/* Arrays of the model's inputs and outputs; on success the caller owns the outputs. E_INVALIDARG: error has the reason.
 */
HRESULT onnx_flow_run(struct onnx_flow *flow, const struct onnx_array *inputs, struct onnx_array *outputs,
                      struct onnx_error *error);

uint32_t onnx_flow_node_count(const struct onnx_flow *flow); /* of DirectML, in all of them */

#endif
