/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of GEMM. Included by C and GLSL (core/block.h). */
#ifndef SHADERS_GEMM_PARAMS_H
#define SHADERS_GEMM_PARAMS_H

/* struct kern_gemm. Tensors: -1 = absent. */
struct gemm_params {
    float alpha, beta;
    int c, a_zero, b_zero;
};

#endif
