/* Turning square tiles in registers; included by each instruction set's file. Whole cache lines are read and written
 * where vectors are as wide, so that rows a power of two apart do not fight for cache sets. */
#ifndef KERNELS_MOVE_EXEC_H
#define KERNELS_MOVE_EXEC_H

#include "kernels/move.h"

/* Lanes of a shuffle of two vectors of N elements; constants, or the compiler would make no shuffle of it. */
#define LOW(k, bit, N)     ((k) & (bit) ? (N) + (k) - (bit) : (k))
#define HIGH(k, bit, N)    ((k) & (bit) ? (N) + (k) : (k) + (bit))
#define LANES_2(F, bit, N) F(0, bit, N), F(1, bit, N)
#define LANES_4(F, bit, N) LANES_2(F, bit, N), F(2, bit, N), F(3, bit, N)
#define LANES_8(F, bit, N) LANES_4(F, bit, N), F(4, bit, N), F(5, bit, N), F(6, bit, N), F(7, bit, N)
#define LANES_16(F, bit, N)                                                                                            \
    LANES_8(F, bit, N), F(8, bit, N), F(9, bit, N), F(10, bit, N), F(11, bit, N), F(12, bit, N), F(13, bit, N),        \
        F(14, bit, N), F(15, bit, N)

/* Elements whose index has the bit change sides with those of the row that has it. */
#define STEP(V, r, bit, N)                                                                                             \
    _Pragma("GCC unroll 16") for (uint32_t i = 0; i < N; i++)                                                          \
    {                                                                                                                  \
        if (i & (bit))                                                                                                 \
            continue;                                                                                                  \
        V a = r[i], b = r[i + (bit)];                                                                                  \
        r[i] = __builtin_shufflevector(a, b, LANES_##N(LOW, bit, N));                                                  \
        r[i + (bit)] = __builtin_shufflevector(a, b, LANES_##N(HIGH, bit, N));                                         \
    }
#define STEPS_2(V, r, N)  STEP(V, r, 1, N)
#define STEPS_4(V, r, N)  STEPS_2(V, r, N) STEP(V, r, 2, N)
#define STEPS_8(V, r, N)  STEPS_4(V, r, N) STEP(V, r, 4, N)
#define STEPS_16(V, r, N) STEPS_8(V, r, N) STEP(V, r, 8, N)

#define MOVE_TURN(name, T, N)                                                                                          \
    typedef T name##_vector __attribute__((vector_size(N * sizeof(T))));                                               \
    static inline void name##_tile(T *out, int64_t out_stride, const T *in, int64_t in_stride)                         \
    {                                                                                                                  \
        name##_vector r[N];                                                                                            \
        _Pragma("GCC unroll 16") for (uint32_t i = 0; i < N; i++) memcpy(&r[i], in + i * in_stride, sizeof(r[i]));     \
        STEPS_##N(name##_vector, r, N) _Pragma("GCC unroll 16") for (uint32_t i = 0; i < N; i++)                       \
            memcpy(out + i * out_stride, &r[i], sizeof(r[i]));                                                         \
    }                                                                                                                  \
    static void name(const struct move_block *block, uint64_t *out_width, uint64_t *out_length)                        \
    {                                                                                                                  \
        T *out = (T *)block->out;                                                                                      \
        const T *in = (const T *)block->in;                                                                            \
        *out_width = block->width / N * N;                                                                             \
        *out_length = block->length / N * N;                                                                           \
        for (uint64_t i = 0; i < *out_length; i += N) {                                                                \
            for (uint64_t j = 0; j < *out_width; j += N)                                                               \
                name##_tile(out + (int64_t)j * block->out_stride + i, block->out_stride,                               \
                            in + (int64_t)i * block->in_stride + j, block->in_stride);                                 \
        }                                                                                                              \
    }

MOVE_TURN(turn8, uint8_t, 16)
#if defined(__AVX512BW__)
MOVE_TURN(turn16, uint16_t, 16)
MOVE_TURN(turn32, uint32_t, 16)
MOVE_TURN(turn64, uint64_t, 8)
#elif defined(__AVX2__)
MOVE_TURN(turn16, uint16_t, 16)
MOVE_TURN(turn32, uint32_t, 8)
MOVE_TURN(turn64, uint64_t, 4)
#else
MOVE_TURN(turn16, uint16_t, 8)
MOVE_TURN(turn32, uint32_t, 4)
MOVE_TURN(turn64, uint64_t, 2)
#endif

#define MOVE_ISA                                                                                                       \
    {                                                                                                                  \
        {                                                                                                              \
            [1] = turn8, [2] = turn16, [4] = turn32, [8] = turn64                                                      \
        }                                                                                                              \
    }

#endif
