/* SPDX-License-Identifier: Apache-2.0 */
/* Philox over many counters at once: one lane per counter, so that the compiler vectorises the rounds. */
#if defined(__AVX512F__)
#pragma GCC target("prefer-vector-width=512") /* loops that the compiler vectorises */
#endif
#include "kernels/core/isa.h"
#include "kernels/random/random.h"

static void random_block(const struct kern_random_state *state, uint32_t *out)
{
    uint32_t words[4][KERN_RANDOM_GROUPS], keys[10][2];
    for (uint32_t r = 0; r < 10; r++) {
        keys[r][0] = state->key[0] + r * KERN_PHILOX_K0;
        keys[r][1] = state->key[1] + r * KERN_PHILOX_K1;
    }
    for (uint32_t i = 0; i < KERN_RANDOM_GROUPS; i++) {
        uint64_t low = state->low + i, high = state->high + (low < state->low);
        words[0][i] = (uint32_t)low;
        words[1][i] = (uint32_t)(low >> 32);
        words[2][i] = (uint32_t)high;
        words[3][i] = (uint32_t)(high >> 32);
    }
    for (uint32_t i = 0; i < KERN_RANDOM_GROUPS; i++) { /* the loop to be vectorised */
        struct philox_lane lane = { words[0][i], words[1][i], words[2][i], words[3][i] };
#pragma GCC unroll 10
        for (uint32_t r = 0; r < 10; r++)
            lane = philox_round(lane, keys[r][0], keys[r][1]);
        words[0][i] = lane.c0;
        words[1][i] = lane.c1;
        words[2][i] = lane.c2;
        words[3][i] = lane.c3;
    }
    for (uint32_t i = 0; i < KERN_RANDOM_GROUPS; i++)
        for (uint32_t j = 0; j < 4; j++)
            out[4 * i + j] = words[j][i];
}

KERN_ISA_RUN_WITH(random_philox, kern_random_run(call, random_block, begin, end))
