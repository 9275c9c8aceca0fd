/* SPDX-License-Identifier: Apache-2.0 */
/* What an op computes and moves. */
#ifndef GRAPH_COST_H
#define GRAPH_COST_H

#include "kernels/core/kernel.h"

/* Matrix products are exact; for other kinds a few operations per element are
 * counted.
 */
struct graph_cost {
    uint64_t flops;
    uint64_t read, written; /* bytes; broadcast elements count once */
};
void graph_op_cost(const struct kern_op *op, struct graph_cost *out);
/* The number of `threads` threads that are worth using: all, or one. */
uint32_t graph_op_threads(const struct kern_op *op, uint32_t threads);

#endif
