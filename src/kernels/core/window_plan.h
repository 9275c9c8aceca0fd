/* SPDX-License-Identifier: Apache-2.0 */
/* Windows over planes whose rows are contiguous (nchw). Bands of output rows are computed from a padded copy of the
 * input rows that is split by phase: element (i, j) of phase (p, q) is the padded input's element
 * (i * stride + p, j * stride + q). Every tap then reads one contiguous run, and because all phases have the same pitch
 * as the results, rows need not be looked at one by one: a whole band is a single run. */
#ifndef KERNELS_WINDOW_PLAN_H
#define KERNELS_WINDOW_PLAN_H

#include "kernels/core/dense.h"

#define WINDOW_STEP  32   /* whole vectors of every instruction set */
#define WINDOW_BAND  4096 /* results of a band, about */
#define WINDOW_LIMIT (1 << 20)

/* Index 0: rows, 1: columns. */
struct window {
    int64_t in[2], out[2], kernel[2], stride[2], dilation[2], pad[2];
    int64_t x_row; /* elements from one input row to the next */
    float fill;    /* what padding holds */
    DML_TENSOR_DATA_TYPE type;
    float zero; /* taken from elements of INT8 and UINT8 */

    bool fits;           /* sizes are small enough to be worked out; the members below are set only then */
    int64_t pitch, rows; /* of a band's results */
    int64_t phase_rows, phase_floats, line_floats, run_floats;
};

DENSE_INLINE void window_plan_init(struct window *w)
{
    int64_t far[2]; /* phase elements from a tap 0 to the farthest tap */
    w->fits = true;
    for (int d = 0; d < 2; d++) {
        far[d] = (w->kernel[d] - 1) * w->dilation[d] / w->stride[d];
        w->fits &= far[d] < WINDOW_LIMIT && w->out[d] < WINDOW_LIMIT && w->stride[d] < WINDOW_LIMIT / 1024;
    }
    if (!w->fits)
        return;
    w->pitch = w->out[1] + far[1];
    w->rows = BASE_MAX(WINDOW_BAND / w->pitch, 1);
    w->rows = BASE_MIN(w->rows, w->out[0]);
    w->phase_rows = w->rows + far[0];
    w->run_floats = (int64_t)base_align_up((uint64_t)(w->rows * w->pitch), WINDOW_STEP);
    w->phase_floats =
        (int64_t)base_align_up((uint64_t)(w->phase_rows * w->pitch + far[1]), WINDOW_STEP) + 2 * WINDOW_STEP;
    w->line_floats = (int64_t)base_align_up((uint64_t)(w->pitch * w->stride[1]), WINDOW_STEP) + WINDOW_STEP;
}

/* Scratch: phases, a line, results at the pitch, results close together. */
DENSE_INLINE uint64_t window_floats(const struct window *w)
{
    if (!w->fits)
        return UINT64_MAX;
    return (uint64_t)(w->stride[0] * w->stride[1] * w->phase_floats + w->line_floats + 2 * w->run_floats +
                      2 * WINDOW_STEP);
}

#endif
