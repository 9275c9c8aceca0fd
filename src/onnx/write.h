/* Operators that write into a value that exists, often an output of the node. A NULL value fails quietly: whoever made
 * none has said why. */
#ifndef ONNX_WRITE_H
#define ONNX_WRITE_H

#include "onnx/emit.h"

/* One input, one output, and possibly a NULL ScaleBias after them: NEGATE, LOGICAL_NOT and SIGN have no such field, the
 * schema reads only theirs. */
bool onnx_emit_unary(struct onnx_builder *b, DML_OPERATOR_TYPE type, struct onnx_value *x, struct onnx_value *y);
/* x and z are broadcast to y. */
bool onnx_emit_binary(struct onnx_builder *b, DML_OPERATOR_TYPE type, struct onnx_value *x, struct onnx_value *z,
                      struct onnx_value *y);
/* y = in[0] ? in[1] : in[2], broadcast. */
bool onnx_emit_if(struct onnx_builder *b, struct onnx_value *const *in, struct onnx_value *y);
/* y = factor * x + offset */
bool onnx_emit_scaled(struct onnx_builder *b, struct onnx_value *x, float factor, float offset, struct onnx_value *y);
/* `full`: the dimensions of x with 1 for the axes; y has as many elements. */
bool onnx_emit_reduce(struct onnx_builder *b, DML_REDUCE_FUNCTION function, struct onnx_value *x, struct onnx_value *y,
                      const int64_t *full, const UINT *axes, UINT count);
bool onnx_emit_fill(struct onnx_builder *b, struct onnx_value *y, DML_SCALAR_UNION value);
bool onnx_emit_cast(struct onnx_builder *b, struct onnx_value *x, struct onnx_value *y);
struct onnx_value *onnx_broadcast_copy(struct onnx_builder *b, struct onnx_value *x, uint32_t rank,
                                       const int64_t *dims);
/* Converts the node with the inputs of the mask cast to `type`; outputs that have it then become what input 0 is. */
bool onnx_in_type(struct onnx_builder *b, const struct onnx_node *n, onnx_row_fn *convert, uint32_t inputs,
                  int32_t type);
bool onnx_type_is_float(int32_t type);
/* Lowest and highest value; infinities for floats. */
void onnx_type_bounds(int32_t type, DML_SCALAR_UNION *low, DML_SCALAR_UNION *high);

#endif
