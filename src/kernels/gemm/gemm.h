/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KERNELS_GEMM_H
#define KERNELS_GEMM_H

#include "kernels/core/dense.h"

/* Products of few rows with a plain matrix (gemm_vec.c): bound by reading B once, which general kernels do badly. */
#define GEMM_VEC_ROWS  4    /* most rows of A */
#define GEMM_VEC_UNIT  64   /* columns of one unit of work */
#define GEMM_VEC_PANEL 2048 /* columns at once */

/* INT8 or UINT8. */
bool gemm_bytes(DML_TENSOR_DATA_TYPE type);

/* A zero point of integer products: tensor `tensor` at coordinates `at`, 0 when it is absent. */
DENSE_INLINE int32_t gemm_zero(const struct kern_call *call, bool present, uint32_t tensor, const uint32_t *at)
{
    const struct kern_view *view = &call->op->tensors[tensor];
    return present ? (int32_t)dense_load(call->data[tensor], dense_offset(view, at, view->rank), view->type) : 0;
}

#endif
