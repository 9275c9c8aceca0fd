/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the kernels for recurrent networks. Fast kernels process some batch rows of one direction through all steps
 * together: every step is a GEMM of their states with R, then the cell's formula row by row. */
#ifndef KERNELS_RECURRENT_H
#define KERNELS_RECURRENT_H

#include "kernels/map/map.h"

#define RECURRENT_ROWS 32 /* of the batch at once */

/* Multiplications of a step from which it pays off to wake other threads for it. */
#define RECURRENT_TEAM_MIN (UINT64_C(1) << 18)

/* There are too few rows for all threads, and steps are large enough to split each: the kernel then has one unit of
 * work. */
bool recurrent_by_team(const struct kern_op *op, uint32_t threads);

/* Fast kernels: hidden values rounded up to whole panels, and the floats that a batch row and a worker need. */
static inline uint64_t recurrent_width(uint32_t hidden)
{
    return base_align_up(hidden, KERN_RECURRENT_PANEL);
}

enum {
    RECURRENT_ROW_PARTS = 8,  /* widths: h, c, a mix, five gates */
    RECURRENT_SAME_PARTS = 5, /* widths: three peepholes, zeros, a bias */
    /* With R in 8 bits, a batch row has another width, of levels, and all: scales and zero points of four gates */
    RECURRENT_BYTES_PARTS = 8,
};

#define RECURRENT_BYTES_HEAD  64    /* bytes before the packed codes: struct recurrent_bytes_head */
#define RECURRENT_BYTES_DEPTH 32768 /* maximum hidden values for which sums of products of 255 and 255 fit INT32 */

/* A packed code is R's integer minus `center`. `wide`: codes exceed -64 to 64. */
struct recurrent_bytes_head {
    int32_t center;
    bool wide;
};

#endif
