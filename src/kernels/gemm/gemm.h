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

/* alpha * sums + beta * C in place, FLOAT32 or (wide) FLOAT64, from coordinates `at` on. */
DENSE_INLINE void gemm_scale(const struct kern_call *call, const uint32_t *at, uint32_t count, bool wide, void *sums)
{
    const struct kern_gemm *gemm = &call->op->u.gemm;
    const struct kern_view *c = &call->op->tensors[2];
    float *singles = sums;
    double *doubles = sums;
    for (uint32_t i = 0; gemm->alpha != 1 && !wide && i < count; i++)
        singles[i] *= gemm->alpha;
    for (uint32_t i = 0; gemm->alpha != 1 && wide && i < count; i++)
        doubles[i] *= gemm->alpha;
    if (!gemm->has_c || gemm->beta == 0)
        return;
    int64_t from = dense_offset(c, at, c->rank), step = c->sizes[c->rank - 1] > 1 ? c->strides[c->rank - 1] : 0;
    for (uint32_t i = 0; !wide && i < count; i++)
        singles[i] += gemm->beta * (float)dense_load(call->data[2], from + i * step, c->type);
    for (uint32_t i = 0; wide && i < count; i++)
        doubles[i] += gemm->beta * dense_load(call->data[2], from + i * step, c->type);
}

#endif
