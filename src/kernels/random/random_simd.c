/* SPDX-License-Identifier: Apache-2.0 */
/* Philox over many counters at once: one lane per counter, so that the compiler makes vectors of the rounds. */
#if defined(__AVX512F__)
#pragma GCC target("prefer-vector-width=512") /* loops that the compiler vectorises */
#endif
#include "kernels/core/isa.h"
#include "kernels/random/random.h"

struct philox_lane {
    uint32_t c0, c1, c2, c3;
};

static inline struct philox_lane philox_round(struct philox_lane in, uint32_t k0, uint32_t k1)
{
    uint64_t a = (uint64_t)KERN_PHILOX_M0 * in.c0, b = (uint64_t)KERN_PHILOX_M1 * in.c2;
    return (struct philox_lane){ (uint32_t)(b >> 32) ^ in.c1 ^ k0, (uint32_t)b, (uint32_t)(a >> 32) ^ in.c3 ^ k1,
                                 (uint32_t)a };
}

/* Written out: the loop over the lanes is the one to make vectors of. */
static inline struct philox_lane philox_rounds(struct philox_lane lane, const uint32_t (*k)[2])
{
    lane = philox_round(lane, k[0][0], k[0][1]);
    lane = philox_round(lane, k[1][0], k[1][1]);
    lane = philox_round(lane, k[2][0], k[2][1]);
    lane = philox_round(lane, k[3][0], k[3][1]);
    lane = philox_round(lane, k[4][0], k[4][1]);
    lane = philox_round(lane, k[5][0], k[5][1]);
    lane = philox_round(lane, k[6][0], k[6][1]);
    lane = philox_round(lane, k[7][0], k[7][1]);
    lane = philox_round(lane, k[8][0], k[8][1]);
    return philox_round(lane, k[9][0], k[9][1]);
}

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
    for (uint32_t i = 0; i < KERN_RANDOM_GROUPS; i++) {
        struct philox_lane lane = { words[0][i], words[1][i], words[2][i], words[3][i] };
        lane = philox_rounds(lane, keys);
        words[0][i] = lane.c0;
        words[1][i] = lane.c1;
        words[2][i] = lane.c2;
        words[3][i] = lane.c3;
    }
    for (uint32_t i = 0; i < KERN_RANDOM_GROUPS; i++)
        for (uint32_t j = 0; j < 4; j++)
            out[4 * i + j] = words[j][i];
}

void KERN_ISA_TABLE(kern_random_block_)(const struct kern_random_state *state, uint32_t *out)
{
    random_block(state, out);
}

KERN_ISA_RUN_WITH(random_philox, kern_random_run(call, KERN_ISA_TABLE(kern_random_block_), begin, end))
