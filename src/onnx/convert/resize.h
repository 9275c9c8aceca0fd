/* SPDX-License-Identifier: Apache-2.0 */
/* Resize and Upsample: the interface between reading attributes (convert_resize.c) and the methods that DirectML does
 * not support (resize_table.c). */
#ifndef ONNX_RESIZE_H
#define ONNX_RESIZE_H

#include "onnx/emit/build.h"

enum onnx_resize_mode { ONNX_RESIZE_NEAREST, ONNX_RESIZE_LINEAR, ONNX_RESIZE_CUBIC };

struct onnx_resize {
    enum onnx_resize_mode mode;
    const char *rule, *nearest; /* coordinate_transformation_mode; nearest_mode, "" before opset 11 */
    float scales[ONNX_RANK_MAX], roi[2][ONNX_RANK_MAX];
    int64_t dims[ONNX_RANK_MAX]; /* of the result */
    bool by_sizes, crop, exclude_outside, antialias;
    float cubic_a, extrapolation;
};

/* An axis that does not change, whatever the rounding. */
static inline bool onnx_resize_keeps(const struct onnx_resize *r, const struct onnx_value *x, uint32_t axis)
{
    return r->dims[axis] == x->dims[axis] && r->scales[axis] == 1.0f &&
           (!r->crop || (r->roi[0][axis] == 0 && r->roi[1][axis] == 1));
}

/* One axis after another: gathers the nearest elements, or multiplies by a matrix of weights. Any type for nearest,
 * float32 or float64 otherwise. */
bool onnx_resize_by_tables(struct onnx_builder *b, const struct onnx_resize *r, struct onnx_value *x,
                           struct onnx_value *y);

#endif
