/* SPDX-License-Identifier: Apache-2.0 */
/* Padded lines of X under the window of a depthwise convolution of bytes (struct conv_dw_bytes). Compiled for each
 * instruction set. */
#ifndef KERNELS_CONV_DW_LINES_H
#define KERNELS_CONV_DW_LINES_H

#include "kernels/conv/conv_plans.h"

struct dw_lines {
    const struct kern_call *call;
    struct conv_dw_bytes d;
    int64_t held[CONV_DW_BYTES_WINDOW];       /* input row of each line, or -1 */
    const uint8_t *row[CONV_DW_BYTES_WINDOW]; /* lines under the window */
};

static uint8_t *dw_line(const struct dw_lines *r, int64_t line)
{
    return (uint8_t *)r->call->worker_scratch + r->d.lines + (uint64_t)line * r->d.line;
}

static void dw_load(const struct dw_lines *r, int64_t n, int64_t row, uint8_t *line)
{
    const struct conv_shape *s = &r->d.c.s;
    const uint8_t *from = (const uint8_t *)r->call->data[0] + n * s->x[0] + row * s->x[3];
    const int64_t channels = s->in_channels, step = s->in[2] > 1 ? s->x[4] : channels;
    const int64_t runs = step == channels ? 1 : s->in[2], count = channels * s->in[2] / runs;
    const uint8_t flip = r->d.c.flip;
    uint8_t *restrict to = line + s->pad[2] * channels;
    for (int64_t run = 0; run < runs; run++, from += step, to += count)
        for (int64_t i = 0; i < count; i++)
            to[i] = from[i] ^ flip;
}

/* Lines for output row `out` of image n. */
static void dw_window(struct dw_lines *r, int64_t n, int64_t out)
{
    const struct conv_shape *s = &r->d.c.s;
    for (int64_t k = 0; k < s->kernel[1]; k++) {
        int64_t row = out * s->stride[1] - s->pad[1] + k, slot = row % s->kernel[1];
        r->row[k] = dw_line(r, s->kernel[1]);
        if (row < 0 || row >= s->in[1])
            continue;
        uint8_t *line = dw_line(r, slot);
        r->row[k] = line;
        if (r->held[slot] != n * s->in[1] + row)
            dw_load(r, n, row, line);
        r->held[slot] = n * s->in[1] + row;
    }
}

#endif
