/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of struct kern_total_isa; each instruction set's file includes this once and is compiled with its flags. */
#if defined(__AVX512F__)
#pragma GCC target("prefer-vector-width=512") /* loops that the compiler vectorises */
#endif
#include "kernels/core/isa.h"
#include "kernels/reduce/reduce_int.h"

#define FOLD(fold, join)                                                                                               \
    case KERN_TOTAL_##fold:                                                                                            \
        _Pragma("GCC ivdep") for (uint32_t i = 0; i < count; i++) join;                                                \
        break;
/* What joins `acc` for element i. */
#define FOLDS(S, acc)                                                                                                  \
    FOLD(SUM, acc += x[i])                                                                                             \
    FOLD(SIZE, acc += (S)x[i] < 0 ? 0 - x[i] : x[i])                                                                   \
    FOLD(SQUARES, acc += x[i] * x[i])                                                                                  \
    FOLD(PRODUCT, acc *= x[i])                                                                                         \
    FOLD(MAX, acc = (x[i] ^ mask) > acc ? x[i] ^ mask : acc)

/* For words of type W, S where they have a sign. */
#define FOLD_WORDS(bits, W, S)                                                                                         \
    static uint64_t fold_row_##bits(enum kern_total fold, const void *data, uint32_t count, uint64_t flip)             \
    {                                                                                                                  \
        const W *x = data, mask = (W)flip;                                                                             \
        W total = fold == KERN_TOTAL_PRODUCT;                                                                          \
        switch (fold) {                                                                                                \
            FOLDS(S, total)                                                                                            \
        }                                                                                                              \
        return total;                                                                                                  \
    }                                                                                                                  \
    static void fold_column_##bits(enum kern_total fold, void *into, const void *data, uint32_t count, uint64_t flip)  \
    {                                                                                                                  \
        const W *x = data, mask = (W)flip;                                                                             \
        W *acc = into;                                                                                                 \
        switch (fold) {                                                                                                \
            FOLDS(S, acc[i])                                                                                           \
        }                                                                                                              \
    }                                                                                                                  \
    static void fold_position_##bits(void *extremes, uint32_t *position, const void *data, uint32_t index, bool last,  \
                                     uint32_t count, uint64_t flip)                                                    \
    {                                                                                                                  \
        const W *x = data, mask = (W)flip;                                                                             \
        W *best = extremes;                                                                                            \
        _Pragma("GCC ivdep") for (uint32_t i = 0; i < count; i++)                                                      \
        {                                                                                                              \
            W v = x[i] ^ mask, b = best[i];                                                                            \
            bool better = (v > b) | (last & (v == b));                                                                 \
            best[i] = better ? v : b;                                                                                  \
            position[i] = better ? index : position[i];                                                                \
        }                                                                                                              \
    }
FOLD_WORDS(32, uint32_t, int32_t)
FOLD_WORDS(64, uint64_t, int64_t)

static uint8_t fold_bytes(const uint8_t *x, uint64_t count, uint8_t flip)
{
    uint8_t most = 0;
    for (uint64_t i = 0; i < count; i++)
        most = (x[i] ^ flip) > most ? x[i] ^ flip : most;
    return most;
}

static const struct kern_total_isa reduce_int_isa = {
    &KERN_ISA_TABLE(kern_map_isa_),     { fold_row_32, fold_row_64 },           fold_bytes,
    { fold_column_32, fold_column_64 }, { fold_position_32, fold_position_64 },
};

KERN_ISA_RUN_WITH(reduce_int, kern_reduce_int_on(call, &reduce_int_isa, begin, end))
