/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_GEMM_H
#define KERNELS_GEMM_H

#include "kernels/core/dense.h"

/* INT8 or UINT8. */
bool gemm_bytes(DML_TENSOR_DATA_TYPE type);

/* A zero point of integer products: tensor `tensor` at coordinates `at`, 0 when it is absent. */
DENSE_INLINE int32_t gemm_zero(const struct kern_call *call, bool present, uint32_t tensor, const uint32_t *at)
{
    const struct kern_view *view = &call->op->tensors[tensor];
    return present ? (int32_t)dense_load(call->data[tensor], dense_offset(view, at, view->rank), view->type) : 0;
}

#endif
