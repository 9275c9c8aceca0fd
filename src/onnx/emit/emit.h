/* SPDX-License-Identifier: Apache-2.0 */
/* Building blocks of converters: each function appends one DirectML operator (or none if another view of the same bytes
 * suffices) and returns its result. With `_to` the last argument is the value to define, often an output of the node;
 * it has the same number of elements as the result, and NULL requests a temporary. All return NULL if the conversion
 * has failed, and for NULL operands: calls can be nested and checked once, at the end. */
#ifndef ONNX_EMIT_H
#define ONNX_EMIT_H

#include "onnx/emit/build.h"

/* ---- constants (emit_view.c) ---- */
struct onnx_value *onnx_scalar(struct onnx_builder *b, int32_t type, double value); /* rank 0 */
struct onnx_value *onnx_smallest(struct onnx_builder *b, int32_t type);             /* -inf, or the smallest integer */
struct onnx_value *onnx_largest(struct onnx_builder *b, int32_t type);
struct onnx_value *onnx_constant_reals(struct onnx_builder *b, int32_t type, uint32_t rank, const int64_t *dims,
                                       const double *values);
/* `count` doubles in the arena; NULL = failed */
double *onnx_reals(struct onnx_builder *b, int64_t count);
/* first, first + 1, ... */
struct onnx_value *onnx_counting(struct onnx_builder *b, int32_t type, int64_t first, uint32_t rank,
                                 const int64_t *dims);
/* The known value of one element, of any type that the host computes with. */
bool onnx_const_real(struct onnx_builder *b, const struct onnx_value *v, double *out);
bool onnx_const_int(struct onnx_builder *b, const struct onnx_value *v, int64_t *out);
bool onnx_type_is_float(int32_t type);
/* Lowest and highest value; infinities for floats. */
void onnx_type_bounds(int32_t type, DML_SCALAR_UNION *low, DML_SCALAR_UNION *high);

/* ---- the same elements elsewhere (emit_view.c) ---- */
struct onnx_value *onnx_as(struct onnx_builder *b, struct onnx_value *x, uint32_t rank, const int64_t *dims);
/* A packed copy of y[i] = x[i . strides]; no copy when that is x itself. */
struct onnx_value *onnx_view(struct onnx_builder *b, struct onnx_value *x, uint32_t rank, const int64_t *dims,
                             const uint32_t *strides);
struct onnx_value *onnx_view_to(struct onnx_builder *b, struct onnx_value *x, uint32_t rank, const int64_t *dims,
                                const uint32_t *strides, struct onnx_value *y);
struct onnx_value *onnx_permute(struct onnx_builder *b, struct onnx_value *x, const uint32_t *order);
void onnx_packed_strides(uint32_t rank, const int64_t *dims, uint32_t *strides);
struct onnx_value *onnx_broadcast_copy(struct onnx_builder *b, struct onnx_value *x, uint32_t rank,
                                       const int64_t *dims);
/* Elements start .. start + dims of x. */
struct onnx_value *onnx_window(struct onnx_builder *b, struct onnx_value *x, const int64_t *start, const int64_t *dims);
struct onnx_value *onnx_cut(struct onnx_builder *b, struct onnx_value *x, uint32_t axis, int64_t first, int64_t count);
struct onnx_value *onnx_cut_to(struct onnx_builder *b, struct onnx_value *x, uint32_t axis, int64_t first,
                               int64_t count, struct onnx_value *y);
/* x in the middle of dims, value (a known scalar of x's type) around it. */
struct onnx_value *onnx_surround(struct onnx_builder *b, struct onnx_value *x, const int64_t *start,
                                 const int64_t *dims, const struct onnx_value *value);
/* Of at most 4 values; empty ones are left out. */
struct onnx_value *onnx_join(struct onnx_builder *b, struct onnx_value *const *x, uint32_t count, uint32_t axis);
struct onnx_value *onnx_join_to(struct onnx_builder *b, struct onnx_value *const *x, uint32_t count, uint32_t axis,
                                struct onnx_value *y);
bool onnx_fill_to(struct onnx_builder *b, struct onnx_value *y, DML_SCALAR_UNION value);
/* Output i of the node is v, or v with another shape. */
bool onnx_result(struct onnx_builder *b, const struct onnx_node *n, uint32_t i, const struct onnx_value *v);
bool onnx_result_as(struct onnx_builder *b, const struct onnx_node *n, uint32_t i, const struct onnx_value *v,
                    uint32_t rank, const int64_t *dims);

/* ---- arithmetic; operands broadcast (emit.c) ---- */
struct onnx_value *onnx_apply(struct onnx_builder *b, DML_OPERATOR_TYPE type, struct onnx_value *x);
struct onnx_value *onnx_apply_to(struct onnx_builder *b, DML_OPERATOR_TYPE type, struct onnx_value *x,
                                 struct onnx_value *y);
/* p and q: the operator's first two floats. */
struct onnx_value *onnx_activate(struct onnx_builder *b, DML_OPERATOR_TYPE type, struct onnx_value *x, float p,
                                 float q);
struct onnx_value *onnx_activate_to(struct onnx_builder *b, DML_OPERATOR_TYPE type, struct onnx_value *x, float p,
                                    float q, struct onnx_value *y);
/* factor * x + offset */
struct onnx_value *onnx_scaled(struct onnx_builder *b, struct onnx_value *x, float factor, float offset);
struct onnx_value *onnx_scaled_to(struct onnx_builder *b, struct onnx_value *x, float factor, float offset,
                                  struct onnx_value *y);
/* Comparisons return BOOL. */
struct onnx_value *onnx_apply2(struct onnx_builder *b, DML_OPERATOR_TYPE type, struct onnx_value *x,
                               struct onnx_value *z);
struct onnx_value *onnx_apply2_to(struct onnx_builder *b, DML_OPERATOR_TYPE type, struct onnx_value *x,
                                  struct onnx_value *z, struct onnx_value *y);
/* condition ? x : z */
struct onnx_value *onnx_select(struct onnx_builder *b, struct onnx_value *condition, struct onnx_value *x,
                               struct onnx_value *z);
struct onnx_value *onnx_select_to(struct onnx_builder *b, struct onnx_value *condition, struct onnx_value *x,
                                  struct onnx_value *z, struct onnx_value *y);
struct onnx_value *onnx_convert(struct onnx_builder *b, struct onnx_value *x, int32_t type);
struct onnx_value *onnx_convert_to(struct onnx_builder *b, struct onnx_value *x, int32_t type, struct onnx_value *y);
/* y = x converted to y's type; y is not NULL unless the conversion has failed. */
bool onnx_cast_to(struct onnx_builder *b, struct onnx_value *x, struct onnx_value *y);
struct onnx_value *onnx_round_even(struct onnx_builder *b, struct onnx_value *x);
/* Reduced dimensions become 1. */
struct onnx_value *onnx_reduced(struct onnx_builder *b, DML_REDUCE_FUNCTION function, struct onnx_value *x,
                                const UINT *axes, UINT count);
struct onnx_value *onnx_reduced_to(struct onnx_builder *b, DML_REDUCE_FUNCTION function, struct onnx_value *x,
                                   const UINT *axes, UINT count, struct onnx_value *y);
/* [batch, m, k] x [batch, k, n]; a batch of 1 is shared. Both have rank 3. */
struct onnx_value *onnx_multiply(struct onnx_builder *b, struct onnx_value *x, struct onnx_value *z, bool transpose_z);
/* y[o] = x[o with o[axis] = indices[o]]; indices may broadcast against x off the axis. */
struct onnx_value *onnx_pick(struct onnx_builder *b, struct onnx_value *x, struct onnx_value *indices, uint32_t axis);
/* table [rows, size], indices of any shape up to rank 3 -> [indices..., size] */
struct onnx_value *onnx_lookup(struct onnx_builder *b, struct onnx_value *table, struct onnx_value *indices);

/* y (NULL: a temporary) = normalised x, viewed with rank/dims, over the axes: divided by its root mean square, with its
 * mean subtracted if `mean`. Scale and bias (or NULL) are viewed with the dimensions param_dims. */
struct onnx_norm {
    struct onnx_value *x, *scale, *bias, *y;
    uint32_t rank;
    const int64_t *dims, *param_dims;
    UINT axes[ONNX_RANK_MAX];
    UINT axis_count;
    bool mean;
    float epsilon;
};
struct onnx_value *onnx_normalize(struct onnx_builder *b, const struct onnx_norm *norm);

/* ---- converters in terms of other converters (emit.c) ---- */
const char *onnx_new_name(struct onnx_builder *b); /* for a value between two converters; NULL = failed */
const char *onnx_join_names(struct onnx_builder *b, const char *prefix, const char *name); /* NULL = failed */
/* Converts a copy of n with the members of `as` that are set: op, domain, version, inputs, outputs, attributes. */
bool onnx_convert_as(struct onnx_builder *b, const struct onnx_node *as);
/* LSTM with W [directions, inputs, 4 * hidden] and R [directions, hidden, 4 * hidden]. */
bool onnx_lstm_transposed(struct onnx_builder *b, const struct onnx_node *n);
/* Converts the node with the inputs of the mask cast to `type`; outputs of that type are then cast to the type of input
 * 0. */
bool onnx_in_type(struct onnx_builder *b, const struct onnx_node *n, onnx_converter_fn *convert, uint32_t inputs,
                  int32_t type);

/* For onnx_emit: y, the first result of an operator with an empty input. False (not failed yet) if it is not a sum. */
bool onnx_emit_nothing(struct onnx_builder *b, DML_OPERATOR_TYPE type, const void *desc,
                       struct onnx_value *const *inputs, uint32_t input_count, struct onnx_value *y);

/* For the functions above: y, which must have the number of elements of rank/dims, or a temporary of that shape. */
struct onnx_value *onnx_emit_result(struct onnx_builder *b, struct onnx_value *y, int32_t type, uint32_t rank,
                                    const int64_t *dims);

#endif
