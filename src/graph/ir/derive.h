/* SPDX-License-Identifier: Apache-2.0 */
/* Weight transforms: values computed from others that do not change. */
#ifndef GRAPH_DERIVE_H
#define GRAPH_DERIVE_H

#include "graph/ir/ir.h"
#include "graph/options.h"

/* A constant, or, if the backend supports transforms, an owned input or the result of a transform: a transform may read
 * it. */
bool graph_value_fixed(const struct graph *graph, const struct graph_options *options, uint32_t value);
/* Runs the transform now if all inputs are constants; otherwise the initializer runs it. Its inputs are constant, its
 * outputs new temporaries, which become constants or DERIVED. False and graph->failed if out of memory. */
bool graph_derive(struct graph *graph, const struct graph_derivation *derivation);
/* The same for a copy: the elements of `from`, a view of the fixed `value`, one after the other in `to`. */
bool graph_derive_copy(struct graph *graph, const char *name, uint32_t value, const struct kern_view *from,
                       uint32_t to);
bool graph_derivations_read(const struct graph *graph, uint32_t value);
/* Removes transforms whose results are unused. */
bool graph_derivations_trim(struct graph *graph);

#endif
