/* SPDX-License-Identifier: Apache-2.0 */
/* Constants: the caller's bytes, or the graph's own. */
#ifndef GRAPH_CONSTANT_H
#define GRAPH_CONSTANT_H

#include "graph/ir/ir.h"

#define GRAPH_CONSTANT_ALIGNMENT 16 /* alignment that kernels may assume */

/* Adds a constant: a copy of `data`, or a reference to `data` of the description's node, which must remain valid until
 * the graph is compiled. GRAPH_NONE and graph->failed if out of memory. */
uint32_t graph_constant_add(struct graph *graph, const void *data, uint64_t size_bytes);
uint32_t graph_constant_lend(struct graph *graph, uint32_t node, const void *data, uint64_t data_bytes,
                             uint64_t size_bytes);
/* Makes the value a constant with these bytes, base_pages_acquire(&graph->pages, its size), which the graph owns from
 * now on. */
void graph_constant_put(struct graph *graph, uint32_t value, void *taken);
/* A new dense constant of this type and shape, whose bytes must be written by the caller; NULL and graph->failed if out
 * of memory. */
void *graph_constant_new(struct graph *graph, DML_TENSOR_DATA_TYPE type, uint32_t rank, const uint32_t *sizes,
                         struct graph_operand *out);
/* All its bytes, aligned, until it is released. NULL and graph->failed when memory is short. */
const void *graph_constant_data(struct graph *graph, uint32_t value);
/* The same without a copy: NULL when there would have to be one. */
const void *graph_constant_ready(const struct graph_value *constant);
/* Writes all its bytes. */
void graph_constant_copy(const struct graph_value *constant, void *to);
/* The same for the last time: the caller may release what has been read. */
void graph_constant_take(struct graph *graph, uint32_t value, void *to);
/* Computes it now if it is deferred. False and graph->failed when memory is short. */
bool graph_constant_derive(struct graph *graph, uint32_t value);
/* Drops the last use of the constant. */
void graph_constant_release(struct graph *graph, uint32_t value);

#endif
