/* SPDX-License-Identifier: Apache-2.0 */
/* Complex numbers as pairs of real tensors, since DirectML has no complex types. In memory both parts of a number are
 * adjacent. */
#ifndef ANYDML_TORCH_COMPLEX_H
#define ANYDML_TORCH_COMPLEX_H

#include "graph.h"

/* Both parts broadcast together. im NULL: 0 everywhere. re NULL: failed. */
struct aten_pair {
    struct aten_value *re, *im;
};

/* The parts of a complex value, converted to the type `part`. */
struct aten_pair aten_pair_of(struct aten_graph *g, struct aten_value *x, int32_t part);
/* Argument i, which may be complex, real or a number, with parts of this type. */
struct aten_pair aten_pair_in(struct aten_graph *g, const struct aten_node *n, uint32_t i, int32_t part);
/* Stores x as the node's result i, which is complex. */
bool aten_pair_result(struct aten_graph *g, const struct aten_node *n, uint32_t i, struct aten_pair x);
struct aten_pair aten_pair_multiply(struct aten_graph *g, struct aten_pair x, struct aten_pair y);
/* Of matrices, or of batches of them; `im` of either is NULL if it is real. */
struct aten_pair aten_pair_matmul(struct aten_graph *g, struct aten_pair x, struct aten_pair y);
struct aten_pair aten_pair_reshape(struct aten_graph *g, struct aten_pair x, uint32_t rank, const int64_t *sizes);
struct aten_pair aten_pair_divide(struct aten_graph *g, struct aten_pair x, struct aten_pair y);
/* The absolute value. Does not overflow unless the result does. */
struct aten_value *aten_pair_size(struct aten_graph *g, struct aten_pair x);
struct aten_pair aten_pair_polar(struct aten_graph *g, struct aten_value *radius, struct aten_value *angle);
/* The type of the parts of the node's results or of its first argument. */
int32_t aten_pair_type(const struct aten_node *n);
/* The dimensions of argument 1 as a set of axes of x; all if it is absent, empty or no list of dimensions. */
bool aten_pair_axes(struct aten_graph *g, const struct aten_node *n, struct aten_pair x, uint32_t *out);
/* The sum over the axes, with the sizes of `out`. */
struct aten_pair aten_pair_sum(struct aten_graph *g, struct aten_pair x, uint32_t axes, const struct aten_tensor *out);
/* The imaginary part, or zeros if it is NULL. */
struct aten_value *aten_pair_im(struct aten_graph *g, struct aten_pair x);

#endif
