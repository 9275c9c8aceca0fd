/* Operators as expressions, for rows that need several: each appends one DirectML operator and returns its result. All
 * take NULL operands and then return NULL, so that a chain is checked once, at its end. */
#ifndef ONNX_EMIT_H
#define ONNX_EMIT_H

#include "onnx/build.h"

/* ---- constants ---- */
struct onnx_value *onnx_scalar(struct onnx_builder *b, int32_t type, double value); /* rank 0 */
struct onnx_value *onnx_smallest(struct onnx_builder *b, int32_t type);             /* -inf, or the least integer */
struct onnx_value *onnx_largest(struct onnx_builder *b, int32_t type);
struct onnx_value *onnx_constant_reals(struct onnx_builder *b, int32_t type, uint32_t rank, const int64_t *dims,
                                       const double *values);
/* `count` doubles in the arena; NULL = failed */
double *onnx_reals(struct onnx_builder *b, int64_t count);
/* 0, 1, 2 ... as a vector. */
struct onnx_value *onnx_counting(struct onnx_builder *b, int32_t type, int64_t count);
/* The known value of one element, of any type that the host computes with. */
bool onnx_const_real(struct onnx_builder *b, const struct onnx_value *v, double *out);
bool onnx_const_int(struct onnx_builder *b, const struct onnx_value *v, int64_t *out);

/* ---- the same elements seen otherwise ---- */
struct onnx_value *onnx_as(struct onnx_builder *b, struct onnx_value *x, uint32_t rank, const int64_t *dims);
/* A packed copy of y[i] = x[i . strides]; no copy when that is x itself. */
struct onnx_value *onnx_view(struct onnx_builder *b, struct onnx_value *x, uint32_t rank, const int64_t *dims,
                             const uint32_t *strides);
struct onnx_value *onnx_permute(struct onnx_builder *b, struct onnx_value *x, const uint32_t *order);
void onnx_packed_strides(uint32_t rank, const int64_t *dims, uint32_t *strides);
/* Elements start .. start + dims of x. */
struct onnx_value *onnx_window(struct onnx_builder *b, struct onnx_value *x, const int64_t *start, const int64_t *dims);
/* x in the middle of dims, value (a known scalar of x's type) around it. */
struct onnx_value *onnx_surround(struct onnx_builder *b, struct onnx_value *x, const int64_t *start,
                                 const int64_t *dims, const struct onnx_value *value);
/* Output i of the node is v. */
bool onnx_result(struct onnx_builder *b, const struct onnx_node *n, uint32_t i, const struct onnx_value *v);
/* Output i of the node is v, seen with another shape. */
bool onnx_result_as(struct onnx_builder *b, const struct onnx_node *n, uint32_t i, const struct onnx_value *v,
                    uint32_t rank, const int64_t *dims);

/* ---- arithmetic; operands broadcast ---- */
struct onnx_value *onnx_apply(struct onnx_builder *b, DML_OPERATOR_TYPE type, struct onnx_value *x);
struct onnx_value *onnx_apply2(struct onnx_builder *b, DML_OPERATOR_TYPE type, struct onnx_value *x,
                               struct onnx_value *z);
struct onnx_value *onnx_compare(struct onnx_builder *b, DML_OPERATOR_TYPE type, struct onnx_value *x,
                                struct onnx_value *z); /* BOOL */
struct onnx_value *onnx_select(struct onnx_builder *b, struct onnx_value *condition, struct onnx_value *x,
                               struct onnx_value *z);
struct onnx_value *onnx_convert(struct onnx_builder *b, struct onnx_value *x, int32_t type);
struct onnx_value *onnx_round_even(struct onnx_builder *b, struct onnx_value *x);
/* p and q: the operator's first two floats. */
struct onnx_value *onnx_activate(struct onnx_builder *b, DML_OPERATOR_TYPE type, struct onnx_value *x, float p,
                                 float q);
/* Reduced dimensions become 1. */
struct onnx_value *onnx_reduce_axis(struct onnx_builder *b, DML_REDUCE_FUNCTION function, struct onnx_value *x,
                                    uint32_t axis);
/* [batch, m, k] x [batch, k, n]; a batch of 1 is shared. Both have rank 3. */
struct onnx_value *onnx_multiply(struct onnx_builder *b, struct onnx_value *x, struct onnx_value *z, bool transpose_z);
/* y[o] = x[o with o[axis] = indices[o]]; indices may broadcast against x off the axis. */
struct onnx_value *onnx_pick(struct onnx_builder *b, struct onnx_value *x, struct onnx_value *indices, uint32_t axis);
/* An index counted from the end (negative) becomes one from the start. */
struct onnx_value *onnx_wrap_index(struct onnx_builder *b, struct onnx_value *indices, struct onnx_value *size);

/* ---- rows in terms of other rows ---- */
const char *onnx_new_name(struct onnx_builder *b); /* for a value between two rows; NULL = failed */
/* Converts a node that looks like n but for what `as` sets: op, domain, version, inputs, outputs, attributes. */
bool onnx_convert_as(struct onnx_builder *b, const struct onnx_node *as);

#endif
