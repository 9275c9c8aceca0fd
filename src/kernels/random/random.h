/* SPDX-License-Identifier: Apache-2.0 */
/* Philox 4x32-10: a counter and a key, mixed by ten rounds of multiplications, produce four words. */
#ifndef KERNELS_RANDOM_H
#define KERNELS_RANDOM_H

#include "kernels/core/kernel.h"

#define KERN_RANDOM_GROUPS 64 /* computed at once */

#define KERN_PHILOX_M0 UINT32_C(0xd2511f53)
#define KERN_PHILOX_M1 UINT32_C(0xcd9e8d57)
#define KERN_PHILOX_K0 UINT32_C(0x9e3779b9)
#define KERN_PHILOX_K1 UINT32_C(0xbb67ae85)

struct kern_random_state {
    uint64_t low, high; /* of the counter */
    uint32_t key[2];
};

/* Of four words each, for all of output 0. */
uint64_t kern_random_groups(const struct kern_op *op);

/* A counter on its way to four words. */
struct philox_lane {
    uint32_t c0, c1, c2, c3;
};

static inline struct philox_lane philox_round(struct philox_lane in, uint32_t k0, uint32_t k1)
{
    uint64_t a = (uint64_t)KERN_PHILOX_M0 * in.c0, b = (uint64_t)KERN_PHILOX_M1 * in.c2;
    return (struct philox_lane){ (uint32_t)(b >> 32) ^ in.c1 ^ k0, (uint32_t)b, (uint32_t)(a >> 32) ^ in.c3 ^ k1,
                                 (uint32_t)a };
}

/* block: the words of KERN_RANDOM_GROUPS groups from `state` on */
typedef void kern_random_fn(const struct kern_random_state *state, uint32_t *out);
void kern_random_run(const struct kern_call *call, kern_random_fn *block, uint64_t begin, uint64_t end);

#endif
