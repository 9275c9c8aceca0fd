/* SPDX-License-Identifier: Apache-2.0 */
/* Which ops depend on each other. */
#ifndef GRAPH_LEVELS_H
#define GRAPH_LEVELS_H

#include "graph/ir/ir.h"

/* level[position], from 1 on: ops of one level do not depend on each other. False: out of memory. */
bool graph_levels(const struct graph *graph, uint32_t *level);

#endif
