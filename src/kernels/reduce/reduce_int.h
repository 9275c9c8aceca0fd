/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions of integers: sums and products in words of 4 or 8 bytes, of which the low bits are the result; extremes
 * and positions of words whose bits were flipped so that the greatest unsigned one is wanted. */
#ifndef KERNELS_REDUCE_INT_H
#define KERNELS_REDUCE_INT_H

#include "kernels/map/map.h"

enum kern_total {
    KERN_TOTAL_SUM,
    KERN_TOTAL_SIZE, /* sum of |x|, x signed */
    KERN_TOTAL_SQUARES,
    KERN_TOTAL_PRODUCT,
    KERN_TOTAL_MAX, /* greatest x ^ flip */
};

/* Loops of one instruction set, [0] on words of 4 bytes, [1] of 8. */
struct kern_total_isa {
    const struct kern_map_isa *map;
    /* All elements of a run folded. */
    uint64_t (*row[2])(enum kern_total fold, const void *x, uint32_t count, uint64_t flip);
    /* The greatest x ^ flip of a run of bytes. */
    uint8_t (*bytes)(const uint8_t *x, uint64_t count, uint8_t flip);
    /* One element of each of `count` groups joins acc[]. */
    void (*column[2])(enum kern_total fold, void *acc, const void *x, uint32_t count, uint64_t flip);
    /* position[] gets `index` where x[] ^ flip exceeds best[], or equals it and the last one is wanted. */
    void (*position[2])(void *best, uint32_t *position, const void *x, uint32_t index, bool last, uint32_t count,
                        uint64_t flip);
};

void kern_reduce_int_on(const struct kern_call *call, const struct kern_total_isa *isa, uint64_t begin, uint64_t end);

#endif
