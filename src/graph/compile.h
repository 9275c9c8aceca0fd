/* SPDX-License-Identifier: Apache-2.0 */
/* From a checked description to a plan: what users of the graph compiler call, in this order.
 *
 *   graph_from_operator, graph_from_desc  each DirectML operator becomes a few ops, without optimisation (lower/)
 *   graph_run_passes                      small rewrites, each switchable by name (passes/)
 *   graph_plan_create                     order, kernels, offsets in the temporary and the persistent buffer (plan/)
 *
 * Passes and planner know the target only through struct graph_backend (backend.h). */
#ifndef GRAPH_COMPILE_H
#define GRAPH_COMPILE_H

#include "graph/ir/ir.h"
#include "graph/options.h"
#include "graph/plan/plan.h"
#include "schema/schema.h"

/* Whole graphs: one operator, or a DML_GRAPH_DESC whose nodes were already checked. nodes[i] = copy of node i's
 * description, or NULL for a constant node (then the DML_CONSTANT_DATA_GRAPH_NODE_DESC of the desc is used). */
HRESULT graph_from_operator(struct graph *graph, const struct schema_desc *desc, uint32_t flags, char *error);
HRESULT graph_from_desc(struct graph *graph, const DML_GRAPH_DESC *desc, const struct schema_desc *const *nodes,
                        uint32_t flags, char *error);

HRESULT graph_run_passes(struct graph *graph, const struct graph_options *options);

#endif
