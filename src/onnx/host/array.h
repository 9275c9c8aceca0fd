/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors in host memory that several owners share. Not thread-safe. */
#ifndef ONNX_ARRAY_H
#define ONNX_ARRAY_H

#include "onnx/onnx.h"

struct onnx_array {
    int32_t type; /* enum onnx_type */
    uint32_t rank;
    int64_t dims[ONNX_RANK_MAX];
    uint64_t bytes;
    void *data;      /* packed elements, aligned so that devices can use them in place; written by its creator only */
    uint32_t *users; /* of the data */
};

/* Zeroed elements; false when memory is short, or they are more than there can be. */
bool onnx_array_make(struct onnx_array *out, int32_t type, uint32_t rank, const int64_t *dims);
bool onnx_array_of_tensor(struct onnx_array *out, const struct onnx_tensor *t);
struct onnx_array onnx_array_share(const struct onnx_array *a); /* one more owner */
void onnx_array_finish(struct onnx_array *a);                   /* a zeroed array is allowed */

/* Element `at` of an axis, which the result does not have. Not for 4-bit types. */
bool onnx_array_element(struct onnx_array *out, const struct onnx_array *x, uint32_t axis, int64_t at);
/* The inverse: `out` has the axis, and one element of it is written. */
void onnx_array_set_element(struct onnx_array *out, uint32_t axis, int64_t at, const struct onnx_array *x);

#endif
