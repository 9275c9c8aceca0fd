/* SPDX-License-Identifier: Apache-2.0 */
/* What passes share. A pass receives a valid graph and leaves one with the same meaning; it marks ops dead, and
 * the runner removes them. Out of memory: E_OUTOFMEMORY, the graph is then discarded. */
#ifndef GRAPH_PASS_H
#define GRAPH_PASS_H

#include "graph/backend.h"
#include "graph/ir/constant.h"
#include "graph/ir/derive.h"
#include "graph/ir/levels.h"
#include "graph/ir/program.h"
#include "graph/ir/uses.h"
#include "graph/ir/view.h"

typedef HRESULT graph_pass_fn(struct graph *graph, const struct graph_options *options, bool *changed);

#define PASS(name, meaning) graph_pass_fn graph_pass_##name;
#include "graph/passes/passes.def"
#undef PASS

/* Pass transposed replaces the op, if kernels accept the convolutions that it becomes. */
bool graph_splits_transposed(const struct graph_op *op);

/* ---- ranks of kernels (priority.c) ---- */

/* From now on priorities are remembered, in graph->priorities: options stay the same until that is NULL again. */
void graph_priorities_begin(struct graph *graph);
/* The backend's rank of the kernel that the op will get (backend.h); GRAPH_PRIORITY_NONE: no kernel. */
uint32_t graph_op_priority(const struct graph *graph, const struct graph_options *options, const struct graph_op *op);
/* `after` has a kernel, of a rank at least as good as that of `before`. */
bool graph_op_no_worse(const struct graph *graph, const struct graph_options *options, const struct graph_op *before,
                       const struct graph_op *after);
/* `after` has a kernel that is not portable code, or of a rank at least as good as that of `before`: for ops whose
 * kernels rank by shape, not by speed. */
bool graph_op_as_fast(const struct graph *graph, const struct graph_options *options, const struct graph_op *before,
                      const struct graph_op *after);

/* `whole`, which replaces several ops, has a kernel that is not portable code, unless `part`, one of those, has none
 * either. */
bool graph_op_pays(const struct graph *graph, const struct graph_options *options, const struct graph_op *part,
                   const struct graph_op *whole);

/* All inputs are constant, and they and the results small enough: the op runs before execution, where nothing else
 * writes the results (pass_fold_constants.c). */
bool graph_op_foldable(const struct graph *graph, const struct graph_options *options, const struct graph_op *op);

/* gather_rows.c: the gather at this position reads a table that an element-wise op makes: that op is applied to the
 * rows that are read. false: not possible, or no gain. */
bool graph_gather_rows(struct graph *graph, struct graph_uses *uses, const struct graph_options *options, uint32_t at);

#endif
