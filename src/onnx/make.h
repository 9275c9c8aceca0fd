/* The operators that rows are put together from, each with its result as a value. `y` is the value to define, or NULL
 * for a temporary one. All return NULL when the conversion has failed, and for NULL inputs: calls can be nested. */
#ifndef ONNX_MAKE_H
#define ONNX_MAKE_H

#include "onnx/build.h"

/* One element of the type; booleans and numbers. */
struct onnx_value *onnx_make_scalar(struct onnx_builder *b, int32_t type, double number);
/* INT32 first, first + 1, ... */
struct onnx_value *onnx_make_range(struct onnx_builder *b, int64_t first, uint32_t rank, const int64_t *dims);
/* Another shape for the same elements. */
struct onnx_value *onnx_make_reshape(struct onnx_builder *b, struct onnx_value *x, uint32_t rank, const int64_t *dims);
struct onnx_value *onnx_make_cast(struct onnx_builder *b, struct onnx_value *x, int32_t type, struct onnx_value *y);
/* Operators whose fields are input, output, ScaleBias or up to two floats that are 0. */
struct onnx_value *onnx_make_unary(struct onnx_builder *b, DML_OPERATOR_TYPE type, struct onnx_value *x,
                                   struct onnx_value *y);
struct onnx_value *onnx_make_scaled(struct onnx_builder *b, struct onnx_value *x, float scale, float bias,
                                    struct onnx_value *y);
struct onnx_value *onnx_make_swish(struct onnx_builder *b, struct onnx_value *x, float alpha, struct onnx_value *y);
/* Broadcast; comparisons give booleans. */
struct onnx_value *onnx_make_binary(struct onnx_builder *b, DML_OPERATOR_TYPE type, struct onnx_value *x,
                                    struct onnx_value *z, struct onnx_value *y);
/* condition ? x : z, broadcast to `like`'s shape, of x's type. */
struct onnx_value *onnx_make_select(struct onnx_builder *b, struct onnx_value *condition, struct onnx_value *x,
                                    struct onnx_value *z, const struct onnx_value *like, struct onnx_value *y);
struct onnx_value *onnx_make_slice(struct onnx_builder *b, struct onnx_value *x, uint32_t axis, int64_t first,
                                   int64_t count, struct onnx_value *y);
/* Of at most 4 values; empty ones are left out. */
struct onnx_value *onnx_make_join(struct onnx_builder *b, struct onnx_value *const *x, uint32_t count, uint32_t axis,
                                  struct onnx_value *y);
/* y[...] = x seen with these strides (in elements) and y's dimensions `dims`. */
struct onnx_value *onnx_make_move(struct onnx_builder *b, struct onnx_value *x, uint32_t rank, const int64_t *dims,
                                  const uint32_t *strides, struct onnx_value *y);
/* table [rows, size], indices of any shape up to rank 3 -> [indices..., size] */
struct onnx_value *onnx_make_lookup(struct onnx_builder *b, struct onnx_value *table, struct onnx_value *indices);
struct onnx_value *onnx_make_reduced(struct onnx_builder *b, DML_REDUCE_FUNCTION function, struct onnx_value *x,
                                     const UINT *axes, UINT axis_count, struct onnx_value *y);

/* y = normalised x, seen with rank/dims, over the axes: its root mean square, and its mean when `mean`. Scale and bias
 * (or NULL) are seen with the dimensions param_dims. */
struct onnx_norm {
    struct onnx_value *x, *scale, *bias, *y;
    uint32_t rank;
    const int64_t *dims, *param_dims;
    UINT axes[ONNX_RANK_MAX];
    UINT axis_count;
    bool mean;
    float epsilon;
};
struct onnx_value *onnx_make_norm(struct onnx_builder *b, const struct onnx_norm *norm);

bool onnx_is_float(int32_t type);

#endif
