/* SPDX-License-Identifier: Apache-2.0 */
/* Linear maps along one axis: resampling, padding, adaptive pooling, and their gradients, which are the transposed
 * maps. */
#ifndef ANYDML_TORCH_AXIS_H
#define ANYDML_TORCH_AXIS_H

#include "graph.h"

/* y[to] += weight * x[from] */
struct aten_tap {
    int64_t to, from;
    double weight;
};

struct aten_taps {
    int64_t to, from; /* sizes */
    struct aten_tap *taps;
    uint32_t count, capacity;
};

/* Allocates from the graph's arena, with room for `capacity` taps. Returns false on failure. */
bool aten_taps_init(struct aten_graph *g, struct aten_taps *taps, int64_t to, int64_t from, int64_t capacity);
void aten_taps_add(struct aten_taps *taps, int64_t to, int64_t from, double weight);
/* Transposes the map, as its gradient requires. */
void aten_taps_transpose(struct aten_taps *taps);
/* Applies the map along the axis. x must be floating point unless each y is a single x. */
struct aten_value *aten_along(struct aten_graph *g, struct aten_value *x, uint32_t axis, const struct aten_taps *taps);
/* y[i] = x[indices[i]] along the axis. */
struct aten_value *aten_take(struct aten_graph *g, struct aten_value *x, uint32_t axis, const int64_t *indices,
                             int64_t count);
/* A constant tensor with `count` elements along `axis` and size 1 in the other dimensions of `rank`. */
struct aten_value *aten_vector(struct aten_graph *g, int32_t type, uint32_t rank, uint32_t axis, const double *values,
                               int64_t count);
/* Scatters the updates into zeros of the given sizes: y[indices[i] along the axis] = updates[i], or the sum of
 * updates. */
struct aten_value *aten_scattered(struct aten_graph *g, struct aten_value *updates, struct aten_value *indices,
                                  uint32_t axis, const int64_t *sizes, bool sum);

#endif
