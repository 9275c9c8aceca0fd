/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of elements of any type: converted to FLOAT32, and stored as results, through the op's epilogue if it has one.
 */
#ifndef KERNELS_ROW_H
#define KERNELS_ROW_H

#include "kernels/core/dense.h"

/* Rows of elements `step` apart, to and from dense FLOAT32. Integers: as dense_store. */
void dense_load_row(const void *data, int64_t index, int64_t step, DML_TENSOR_DATA_TYPE type, uint32_t count,
                    float *out);
void dense_store_row(void *data, int64_t index, int64_t step, DML_TENSOR_DATA_TYPE type, uint32_t count,
                     const float *in);

/* Stores `count` results along output 0's last dimension from coordinates `at` on, through the epilogue if there is
 * one: by the reference, or fast with dense_epilogue_bytes(op) of scratch for each worker. */
void dense_finish(const struct kern_call *call, const uint32_t *at, uint32_t count, const double *values);
void dense_finish_f32(const struct kern_call *call, void *scratch, const uint32_t *at, uint32_t count,
                      const float *values);
/* Through the op's epilogue: `count` results of each of some rows of Y, which are `pitch` values apart. */
void dense_finish_rows(const struct kern_call *call, void *scratch, const uint32_t *at, uint32_t rows, uint32_t count,
                       const float *values, uint32_t pitch);
/* Results along the last dimension in place, for `count` contiguous results at `y`; the epilogue reads nothing else. */
void dense_finish_line(const struct kern_call *call, void *scratch, float *y, int64_t count);
/* The line of Y at `at`, whose channel and column are 0: `values` are [pixels][channels], channels being dimension 1.
 */
void dense_finish_pixels(const struct kern_call *call, void *scratch, const uint32_t *at, const float *values);
uint64_t dense_epilogue_bytes(const struct kern_op *op);

/* Stores one result at `index` of output 0, through op->epilogue when there is one. */
void kern_epilogue_store(const struct kern_call *call, const uint32_t *index, double value);

#endif
