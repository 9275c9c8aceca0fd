/* SPDX-License-Identifier: Apache-2.0 */
/* Products of few rows with a plain matrix: bound by reading B once, which general kernels do badly. */
#ifndef KERNELS_GEMM_VEC_H
#define KERNELS_GEMM_VEC_H

#include "kernels/gemm/gemm.h"

#define GEMM_VEC_ROWS  4    /* most rows of A */
#define GEMM_VEC_UNIT  64   /* columns of one unit of work */
#define GEMM_VEC_PANEL 2048 /* columns at once */

#endif
