/* SPDX-License-Identifier: Apache-2.0 */
/* Views: pure functions on operands; no data moves. */
#ifndef GRAPH_VIEW_H
#define GRAPH_VIEW_H

#include "graph/ir/ir.h"

bool graph_view_from_desc(const DML_BUFFER_TENSOR_DESC *desc, struct kern_view *out);
struct kern_view graph_view_broadcast(const struct kern_view *view, uint32_t rank,
                                      const uint32_t *sizes); /* size 1 -> n by stride 0, aligned right */
struct kern_view graph_view_permute(const struct kern_view *view, const uint32_t *order);
struct kern_view graph_view_slice(const struct kern_view *view, const uint32_t *start, const uint32_t *sizes,
                                  const int32_t *steps);
/* false when the dimensions cannot be regrouped without moving data. */
bool graph_view_reshape(const struct kern_view *view, uint32_t rank, const uint32_t *sizes, struct kern_view *out);
bool graph_view_equal(const struct kern_view *a, const struct kern_view *b);
/* Bytes from the value's start to the last element's end. */
uint64_t graph_view_span_bytes(const struct kern_view *view);
/* The lowest and highest element that the view touches; false when that does not fit 64 bits. */
bool graph_view_bounds(const struct kern_view *view, int64_t *out_low, int64_t *out_high);
/* Byte offset of element 0,...,0 from the value's start. */
int64_t graph_view_byte_offset(const struct kern_view *view);
/* No two indices address the same element (may return false for unusual strides of which this is true). */
bool graph_view_injective(const struct kern_view *view);
/* `from` and `to` show the same elements in two values (the sides of a MOVE, sizes equal); `view` refers to from's
 * value: *out shows the same elements in to's value. false if no view can, or if `view` covers elements outside of
 * `from`.
 */
bool graph_view_through(const struct kern_view *from, const struct kern_view *to, const struct kern_view *view,
                        struct kern_view *out);
/* Where that fails because a dimension of `view` crosses dimensions of the copy: out_counts[d] sizes, the innermost
 * first, into which dimension d divides, together at most KERN_RANK_MAX; false if no division helps. */
bool graph_view_divide(const struct kern_view *from, const struct kern_view *to, const struct kern_view *view,
                       uint32_t *out_counts, uint32_t (*out_sizes)[KERN_RANK_MAX]);
/* The elements of `b` follow those of `a` in dimension d, where alone they may differ in size: both are one view, with
 * *out_stride there. */
bool graph_view_follows(const struct kern_view *a, const struct kern_view *b, uint32_t d, int64_t *out_stride);
/* Two views of one value surely share no bytes. */
bool graph_views_disjoint(const struct kern_view *a, const struct kern_view *b);
/* Elements of both views, possibly of different types, have the same width and the same positions. */
bool graph_views_same_places(const struct kern_view *a, const struct kern_view *b);

#endif
