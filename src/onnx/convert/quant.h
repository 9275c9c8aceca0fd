/* SPDX-License-Identifier: Apache-2.0 */
/* Linear quantisation as expressions: value = (q - zero point) * scale. All functions accept NULL operands and then
 * return NULL, except for a zero point, for which NULL means 0. */
#ifndef ONNX_QUANT_H
#define ONNX_QUANT_H

#include "onnx/emit/emit.h"

/* One scale for each block of elements: data and scale viewed with equal rank, the scale's sizes are the data's or
 * 1. */
struct onnx_grain {
    int64_t data[4], scale[4];
    bool ragged; /* the last block is smaller: scales were expanded to one value per element */
};

/* A quantised tensor: x with its scale and zero point (or NULL). */
struct onnx_quantized {
    struct onnx_value *x, *scale, *zero_point;
};

/* Inputs first, first + 1, first + 2 of the node; only the last one is optional. */
struct onnx_quantized onnx_quantized_in(struct onnx_builder *b, const struct onnx_node *n, uint32_t first);
/* The two inputs that describe the output. */
struct onnx_quantized onnx_quantized_out(struct onnx_builder *b, const struct onnx_node *n, uint32_t first);

/* One scale for all (one element), for each index on `axis` (a vector), or for each block of block_size on `axis` (the
 * rank of x). Only incomplete last blocks change q's scale and zero point. */
bool onnx_grain_find(struct onnx_builder *b, struct onnx_quantized *q, const struct onnx_value *x, int64_t axis,
                     int64_t block_size, struct onnx_grain *out);

/* Of the scale's type, with the shape of q->x. */
struct onnx_value *onnx_dequantize(struct onnx_builder *b, const struct onnx_quantized *q,
                                   const struct onnx_grain *grain);
/* x as integers of `type`. */
struct onnx_value *onnx_quantize(struct onnx_builder *b, struct onnx_value *x, const struct onnx_quantized *q,
                                 const struct onnx_grain *grain, int32_t type);
/* With one scale for all. */
struct onnx_value *onnx_dequantize_all(struct onnx_builder *b, const struct onnx_quantized *q);
struct onnx_value *onnx_quantize_all(struct onnx_builder *b, struct onnx_value *x, const struct onnx_quantized *q,
                                     int32_t type);

bool onnx_is_4bit(int32_t type);
/* The same bytes as elements of another type. */
struct onnx_value *onnx_reinterpret(struct onnx_builder *b, struct onnx_value *x, int32_t type, uint32_t rank,
                                    const int64_t *dims);
/* onnx_convert that also supports 4-bit types: to integers modulo 16 (floats are truncated first). */
struct onnx_value *onnx_convert_4bit(struct onnx_builder *b, struct onnx_value *x, int32_t type);
/* x - zero point in `type`, exact if that is FLOAT64. */
struct onnx_value *onnx_less_zero_point(struct onnx_builder *b, struct onnx_value *x, struct onnx_value *zero_point,
                                        int32_t type);

/* The factors of an integer GEMM or convolution. */
struct onnx_factors {
    struct onnx_quantized a, b; /* scales are not read by onnx_product_sums */
};
/* y: x quantised to 8 bits, its scale and its zero point. */
bool onnx_dynamic_quantize(struct onnx_builder *b, struct onnx_value *x, struct onnx_value *const *y);
/* dequantize(a) x dequantize(b) + bias (or NULL), of the scales' type. */
struct onnx_value *onnx_product_floats(struct onnx_builder *b, const struct onnx_factors *f, struct onnx_value *bias);

#endif
