/* SPDX-License-Identifier: Apache-2.0 */
/* What builders of linear algebra share (op_linalg.c): stacks of matrices, {batch, rows, columns}. */
#ifndef ANYDML_TORCH_MATRICES_H
#define ANYDML_TORCH_MATRICES_H

#include "index.h"

#define ATEN_STEPS_MAX 64 /* columns that are eliminated one by one: each is some nodes of a graph */

/* Argument i as a stack, of FLOAT32 or FLOAT64 and with elements; fails otherwise. */
struct aten_value *aten_stack(struct aten_graph *g, const struct aten_node *n, uint32_t i);
/* Whether the first argument has no elements, and the results are there: empty ones, identities, or where they are
 * `numbers` 1 and 0 (determinants and their logarithms); *out_ok: without failing. */
bool aten_nothing(struct aten_graph *g, const struct aten_node *n, bool numbers, bool *out_ok);
/* Whether result i is empty: then it is there. */
bool aten_nothing_wanted(struct aten_graph *g, const struct aten_node *n, uint32_t i);
/* A stack as result i. */
bool aten_stack_result(struct aten_graph *g, const struct aten_node *n, uint32_t i, struct aten_value *x);
struct aten_value *aten_turned(struct aten_graph *g, struct aten_value *x); /* transposed */
struct aten_value *aten_product(struct aten_graph *g, struct aten_value *x, struct aten_value *y);
/* {1, rows, columns} of x's type: 1 where begin <= column - row < end. */
struct aten_value *aten_band(struct aten_graph *g, const struct aten_value *x, int64_t rows, int64_t columns,
                             int64_t begin, int64_t end);
/* {1, size, 1} (axis 1) or {1, 1, size} of BOOLEAN: from <= index < to. */
struct aten_value *aten_range(struct aten_graph *g, int64_t size, uint32_t axis, int64_t from, int64_t to);
/* Of a triangle; what is on its other side is not read. `unit`: its diagonal neither, which is 1. */
struct aten_value *aten_triangle_inverse(struct aten_graph *g, struct aten_value *x, bool upper, bool unit);

#endif
