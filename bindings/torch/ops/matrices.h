/* SPDX-License-Identifier: Apache-2.0 */
/* Functions shared by builders of linear algebra (op_linalg.c): stacks of matrices, {batch, rows, columns}. */
#ifndef ANYDML_TORCH_MATRICES_H
#define ANYDML_TORCH_MATRICES_H

#include "index.h"

/* Maximum number of columns, which are eliminated one by one: each adds several nodes to a graph. */
#define ATEN_STEPS_MAX 64

/* Argument i as a stack of FLOAT32 or FLOAT64, not empty; fails otherwise. */
struct aten_value *aten_stack(struct aten_graph *g, const struct aten_node *n, uint32_t i);
/* Whether the first argument is empty. If so, the results are set: empty tensors or identities, or with `numbers` 1 and
 * 0 (determinants and their logarithms). *out_ok: whether that succeeded. */
bool aten_nothing(struct aten_graph *g, const struct aten_node *n, bool numbers, bool *out_ok);
/* Whether result i is empty. If so, it is set. */
bool aten_nothing_wanted(struct aten_graph *g, const struct aten_node *n, uint32_t i);
/* Stores a stack as result i. */
bool aten_stack_result(struct aten_graph *g, const struct aten_node *n, uint32_t i, struct aten_value *x);
struct aten_value *aten_turned(struct aten_graph *g, struct aten_value *x); /* transposed */
struct aten_value *aten_product(struct aten_graph *g, struct aten_value *x, struct aten_value *y);
/* {1, rows, columns} of x's type: 1 where begin <= column - row < end, otherwise 0. */
struct aten_value *aten_band(struct aten_graph *g, const struct aten_value *x, int64_t rows, int64_t columns,
                             int64_t begin, int64_t end);
/* {1, size, 1} (axis 1) or {1, 1, size} of BOOLEAN: from <= index < to. */
struct aten_value *aten_range(struct aten_graph *g, int64_t size, uint32_t axis, int64_t from, int64_t to);
/* The inverse of a triangular matrix; elements on the other side of the diagonal are not read. `unit`: the diagonal is
 * 1 and is not read either. */
struct aten_value *aten_triangle_inverse(struct aten_graph *g, struct aten_value *x, bool upper, bool unit);

#endif
