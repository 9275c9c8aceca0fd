/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes that several families of converters share: windows of convolutions and pooling, batched matrix products.
 */
#ifndef ONNX_GEOMETRY_H
#define ONNX_GEOMETRY_H

#include "onnx/emit/build.h"

/* The window attributes that convolutions and poolings share. */
struct onnx_window {
    uint32_t spatial;
    UINT kernel[3], strides[3], dilations[3], start[3], end[3], output_padding[3];
};
/* Up to three unsigned values of an attribute, each `otherwise` when it is absent. */
bool onnx_window_attribute(struct onnx_builder *b, const struct onnx_node *n, const char *name, uint32_t spatial,
                           UINT *out, UINT otherwise);
/* Everything except for kernel and spatial, which are set; dims = spatial sizes of the input. Padding by auto_pad is
 * resolved for the forward direction. */
bool onnx_window_read(struct onnx_builder *b, const struct onnx_node *n, struct onnx_window *w, const int64_t *dims);
/* The number of windows, of convolutions and of pooling. Pooling has one window that is larger than the input, unless
 * it is so by the stride or more. */
int64_t onnx_window_output(const struct onnx_window *w, uint32_t i, int64_t in);
int64_t onnx_pool_output(const struct onnx_window *w, uint32_t i, int64_t in, bool ceil_mode);

/* DirectML pools 4 or 5 dimensions: 3 become [N, C, 1, W]. */
struct onnx_pool_shape {
    uint32_t rank;
    int64_t in[5], out[5];
};

/* Puts a spatial dimension of size 1 in front when there is only one. */
void onnx_window_widen(struct onnx_window *w, struct onnx_pool_shape *shape, const struct onnx_value *x,
                       const int64_t *out);

/* x times z: sizes in ONNX, and in DirectML: two batch dimensions, rows, columns. */
struct onnx_product {
    uint32_t rank;
    int64_t dims[2 * ONNX_RANK_MAX]; /* of the result */
    int64_t m, k, n, batch[2];
    int64_t steps[3][2]; /* of x, z and the result in the batch dimensions; 0 = broadcast */
};

/* keep_rows: m stays the rows of one matrix; otherwise rows of several matrices become one matrix if possible. */
bool onnx_product_plan(struct onnx_builder *b, const struct onnx_value *x, const struct onnx_value *z, bool keep_rows,
                       struct onnx_product *p);
/* operand: 0 = x, 1 = z, 2 = the result. */
const DML_TENSOR_DESC *onnx_product_desc(struct onnx_builder *b, struct onnx_desc *d, struct onnx_value *v,
                                         const struct onnx_product *p, uint32_t operand);

#endif
