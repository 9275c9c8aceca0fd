/* SPDX-License-Identifier: Apache-2.0 */
/* kern_copy_row for the instruction set of the including file. */
#ifndef KERNELS_COPY_BODY_H
#define KERNELS_COPY_BODY_H

#include "kernels/core/kernel.h"

/* Prevents vectorisation of a loop: for distant stores the compiler would use scatter instructions, which are slower
 * than single stores. */
#define COPY_ONE_BY_ONE __asm__ volatile("")

/* Constant strides are vectorised. The sides never overlap. */
#define COPY_STEP(out_step, in_step)                                                                                   \
    for (int64_t i = 0; i < n; i++)                                                                                    \
        out[i * (out_step)] = in[i * (in_step)];
#define COPY_ROW(name, type)                                                                                           \
    static void name(type *restrict out, int64_t out_stride, const type *restrict in, int64_t in_stride, int64_t n)    \
    {                                                                                                                  \
        if (out_stride == 1 && in_stride == 2)                                                                         \
            COPY_STEP(1, 2)                                                                                            \
        else if (out_stride == 1 && in_stride == 0)                                                                    \
            COPY_STEP(1, 0)                                                                                            \
        else if (out_stride == 1 && in_stride == -1 && n >= 16)                                                        \
            COPY_STEP(1, -1)                                                                                           \
        else                                                                                                           \
            for (int64_t i = 0; i < n; i++) {                                                                          \
                out[i * out_stride] = in[i * in_stride];                                                               \
                COPY_ONE_BY_ONE;                                                                                       \
            }                                                                                                          \
    }
COPY_ROW(copy_row_8, uint8_t)
COPY_ROW(copy_row_16, uint16_t)
COPY_ROW(copy_row_32, uint32_t)
COPY_ROW(copy_row_64, uint64_t)

static void copy_row(uint32_t bytes, void *out, int64_t out_stride, const void *in, int64_t in_stride, uint64_t count)
{
    if (out_stride == 1 && in_stride == 1)
        memcpy(out, in, count * bytes);
    else if (bytes == 4)
        copy_row_32(out, out_stride, in, in_stride, (int64_t)count);
    else if (bytes == 2)
        copy_row_16(out, out_stride, in, in_stride, (int64_t)count);
    else if (bytes == 1)
        copy_row_8(out, out_stride, in, in_stride, (int64_t)count);
    else
        copy_row_64(out, out_stride, in, in_stride, (int64_t)count);
}

#endif
