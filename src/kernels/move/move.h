/* SPDX-License-Identifier: Apache-2.0 */
/* How a bit copy between two views is walked, and the functions of each instruction set. */
#ifndef KERNELS_MOVE_H
#define KERNELS_MOVE_H

#include "kernels/core/iterator.h"

/* A crossed unit: out[j * out_stride + i * row_stride] = in[j + i * in_stride] for elements j < width, i < length. */
struct move_block {
    char *out;
    const char *in;
    int64_t out_stride, row_stride, in_stride;
    uint64_t width, length;
};

/* Transposes the part of the block that whole tiles cover: sides `*out_width` and `*out_length`. */
typedef void move_transpose_fn(const struct move_block *block, uint64_t *out_width, uint64_t *out_length);
/* `ways` (MOVE_WAYS) rows of `count` elements, `stride` elements apart, are interleaved into one, or one is
 * deinterleaved. */
typedef void move_interleave_fn(void *out, const void *in, int64_t stride, uint64_t count, uint32_t ways);
struct move_isa {
    move_transpose_fn *transpose[9];                     /* by bytes of an element; NULL: unsupported */
    move_interleave_fn *interleave[9], *deinterleave[9]; /* likewise */
};
/* The whole block; isa may be NULL. */
void move_block_transpose(const struct move_isa *isa, uint32_t bytes, const struct move_block *block);
#define MOVE_WAYS(n) ((n) == 2 || (n) == 3 || (n) == 4 || (n) == 8)
extern const struct move_isa move_isa_avx2, move_isa_avx512, move_isa_neon;
void move_transpose_run(const struct kern_call *call, const struct move_isa *isa, uint64_t begin, uint64_t end);

void move_interleave_run(const struct kern_call *call, const struct move_isa *isa, uint64_t begin, uint64_t end);

#endif
