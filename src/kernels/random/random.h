/* SPDX-License-Identifier: Apache-2.0 */
/* Philox 4x32-10: a counter and a key, mixed by ten rounds of multiplications, give four words. */
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

struct kern_random_state kern_random_read(const struct kern_op *op, const void *state);
/* The counter moved on by `groups`. */
struct kern_random_state kern_random_after(struct kern_random_state state, uint64_t groups);
/* Writes output 1, where there is one. */
void kern_random_finish(const struct kern_call *call);
uint64_t kern_random_groups(const struct kern_op *op);

/* The words of KERN_RANDOM_GROUPS groups from `state` on. */
typedef void kern_random_fn(const struct kern_random_state *state, uint32_t *out);
kern_random_fn kern_random_block_portable, kern_random_block_avx2, kern_random_block_avx512, kern_random_block_neon;

void kern_random_run(const struct kern_call *call, kern_random_fn *block, uint64_t begin, uint64_t end);

#endif
