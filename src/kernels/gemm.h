#ifndef KERNELS_GEMM_H
#define KERNELS_GEMM_H

#include "kernels/dense.h"

bool gemm_small_integer(DML_TENSOR_DATA_TYPE type);

#endif
