/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHADERS_META_GEMM_META_PARAMS_H
#define SHADERS_META_GEMM_META_PARAMS_H

#include "shaders/meta/meta.h"

struct gemm_meta_params {
    u64 a, b, y;
    struct meta_epilogue epilogue;
    u32 m, n, k;
    i32 a_m, a_k, b_k, b_n, y_m, y_n; /* strides */
    float alpha;
};

#endif
