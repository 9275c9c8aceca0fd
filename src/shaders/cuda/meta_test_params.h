/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHADERS_CUDA_META_TEST_PARAMS_H
#define SHADERS_CUDA_META_TEST_PARAMS_H

#include "shaders/cuda/meta.h"

/* y[i][n] = sum over k of a[i][k] * b[n][k] + add: FLOAT16 factors, dense, FLOAT32 results. */
#define META_TEST_M 64
#define META_TEST_N 8
#define META_TEST_K 16

struct meta_test_params {
    u64 a, b, y;
    float add;
    u32 salt;
};

#endif
