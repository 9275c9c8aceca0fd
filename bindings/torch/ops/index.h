/* SPDX-License-Identifier: Apache-2.0 */
/* Functions shared by builders of moving, indexing, sorting and random operators (index.c). As in graph.h, they return
 * NULL if they fail or are given NULL. */
#ifndef ANYDML_TORCH_INDEX_H
#define ANYDML_TORCH_INDEX_H

#include "graph.h"

/* A scalar as a tensor of one dimension with one element. */
struct aten_value *aten_lined(struct aten_graph *g, struct aten_value *x);
/* All elements in row-major order, of rank 1. */
struct aten_value *aten_flat(struct aten_graph *g, struct aten_value *x);
/* Zeros, stored as one element in memory. */
struct aten_value *aten_zeros(struct aten_graph *g, int32_t type, uint32_t rank, const int64_t *sizes);
/* start, start + step, ...: FILL_VALUE_SEQUENCE, of rank 1. */
struct aten_value *aten_sequence(struct aten_graph *g, int32_t type, int64_t count, DML_SCALAR_UNION start,
                                 DML_SCALAR_UNION step);
/* Pads x with `value`, `before` and `after` each dimension; neither is negative. */
struct aten_value *aten_padded(struct aten_graph *g, struct aten_value *x, const int64_t *before, const int64_t *after,
                               double value);
/* x in a tensor of zeros with these sizes, at start, start + step, ... along the axis (SLICE_GRAD). */
struct aten_value *aten_placed(struct aten_graph *g, struct aten_value *x, const int64_t *sizes, uint32_t axis,
                               int64_t start, int64_t step);
/* Ones where begin <= column - row < end in the last two of 2 or more dimensions, zeros elsewhere. */
struct aten_value *aten_diagonal_ones(struct aten_graph *g, int32_t type, uint32_t rank, const int64_t *sizes,
                                      int64_t begin, int64_t end);
/* x with zeros on these diagonals. */
struct aten_value *aten_diagonals_cleared(struct aten_graph *g, struct aten_value *x, int64_t begin, int64_t end);

/* Indices in a type that DirectML accepts: INT64 or INT32. */
struct aten_value *aten_indices(struct aten_graph *g, struct aten_value *x);
/* y[p, q, r] = x[p, indices[q], r]; indices of rank 1. */
struct aten_value *aten_gather(struct aten_graph *g, struct aten_value *x, struct aten_value *indices, uint32_t axis);
/* y[q, r] = x[tuples[q, :], r]; tuples of rank 2. */
struct aten_value *aten_gather_tuples(struct aten_graph *g, struct aten_value *x, struct aten_value *tuples);

/* How updates are combined with elements: DML_REDUCE_FUNCTION SUM, MULTIPLY, MIN, MAX, or ATEN_REPLACE, which replaces
 * elements. */
#define ATEN_REPLACE (-1)
/* y = x; y[tuples[q, :], r] = updates[q, r]. Tuples out of range are ignored. */
struct aten_value *aten_scatter_tuples(struct aten_graph *g, struct aten_value *x, struct aten_value *tuples,
                                       struct aten_value *updates, int function);
/* y = x; y[i with i[axis] = indices[i]] = updates[i]; indices and updates have x's sizes except along the axis. */
struct aten_value *aten_scatter(struct aten_graph *g, struct aten_value *x, struct aten_value *indices,
                                struct aten_value *updates, uint32_t axis, int function);
/* The first k elements along the axis, in order, and their positions (INT64). NaN is greater than any number. */
struct aten_value *aten_sorted(struct aten_graph *g, struct aten_value *x, uint32_t axis, int64_t k, bool descending,
                               struct aten_value **out_indices);
struct aten_value *aten_running_sum(struct aten_graph *g, struct aten_value *x, uint32_t axis);
/* Whether any element along the axes (bits) is not 0: BOOLEAN. */
struct aten_value *aten_any(struct aten_graph *g, struct aten_value *x, uint32_t axes);

/* `count` random 32-bit numbers (wide: 64-bit) from the generator of argument i: UINT32 or UINT64, of rank 1. */
struct aten_value *aten_random_words(struct aten_graph *g, const struct aten_node *n, uint32_t i, bool wide,
                                     int64_t count);
/* Uniform numbers in [0, 1) with as many digits as the type has: FLOAT64 for FLOAT64, otherwise FLOAT32. */
struct aten_value *aten_uniform(struct aten_graph *g, const struct aten_node *n, uint32_t i, int32_t type,
                                int64_t count);

#endif
