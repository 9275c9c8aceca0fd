/* SPDX-License-Identifier: Apache-2.0 */
typedef double number;
#include "kernels/gemm/blocked_gemm_float_body.h"

const struct blocked_gemm_isa KERN_ISA_TABLE(blocked_gemm_f64_) = BLOCKED_GEMM_FLOAT_ISA;
