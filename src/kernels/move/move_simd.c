/* SPDX-License-Identifier: Apache-2.0 */
/* Transposing square tiles in registers; included by each instruction set's file. Whole cache lines are read and
 * written if vectors are as wide, so that rows a power of two apart do not conflict in cache sets. */
#include "kernels/core/isa.h"
#include "kernels/move/move.h"
#include "kernels/vec/vec.h"

/* Lanes of a step: those that stay and those from the other row. */
#define LOW(k, bit, N)  ((k) & (bit) ? (N) + (k) - (bit) : (k))
#define HIGH(k, bit, N) ((k) & (bit) ? (N) + (k) : (k) + (bit))

/* Exchanges elements whose index has the bit with those of the row that has it. */
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

#define MOVE_TRANSPOSE(name, T, N)                                                                                     \
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

MOVE_TRANSPOSE(transpose8, uint8_t, 16)
#if defined(__AVX512BW__)
MOVE_TRANSPOSE(transpose16, uint16_t, 16)
MOVE_TRANSPOSE(transpose32, uint32_t, 16)
MOVE_TRANSPOSE(transpose64, uint64_t, 8)
#elif defined(__AVX2__)
MOVE_TRANSPOSE(transpose16, uint16_t, 16)
MOVE_TRANSPOSE(transpose32, uint32_t, 8)
MOVE_TRANSPOSE(transpose64, uint64_t, 4)
#else
MOVE_TRANSPOSE(transpose16, uint16_t, 8)
MOVE_TRANSPOSE(transpose32, uint32_t, 4)
MOVE_TRANSPOSE(transpose64, uint64_t, 2)
#endif

/* Interleaving in vectors of 16 bytes: all instruction sets have those shuffles in one or few instructions. */
/* Three vectors in two steps: of the first two, then of that and the third. Part `v` of three rows interleaved ... */
#define THIRD_AT(k, v, N)     (((v) * (N) + (k)) % 3)
#define THIRD_FIRST(k, v, N)  (((v) * (N) + (k)) / 3 + (THIRD_AT(k, v, N) == 1 ? (N) : 0))
#define THIRD_SECOND(k, v, N) (THIRD_AT(k, v, N) == 2 ? (N) + ((v) * (N) + (k)) / 3 : (k))
/* ... and row `v` of three deinterleaved from one. */
#define EVERY_FIRST(k, v, N)  (3 * (k) + (v) < 2 * (N) ? 3 * (k) + (v) : 0)
#define EVERY_SECOND(k, v, N) (3 * (k) + (v) < 2 * (N) ? (k) : 3 * (k) + (v) - (N))
#define THREE(r, next, first, second, v, N)                                                                            \
    next[v] = __builtin_shufflevector(r[0], r[1], LANES_##N(first, v, N));                                             \
    next[v] = __builtin_shufflevector(next[v], r[2], LANES_##N(second, v, N));
#define ALL_THREE(r, next, first, second, N)                                                                           \
    THREE(r, next, first, second, 0, N)                                                                                \
    THREE(r, next, first, second, 1, N)                                                                                \
    THREE(r, next, first, second, 2, N)
#define SHUFFLE(a, b, lanes, x, N) __builtin_shufflevector(a, b, LANES_##N(lanes, x, N))
/* Each step halves the distance of neighbours; a power of two of ways needs its logarithm of steps. */
#define MOVE_INTERLEAVE(name, T, N)                                                                                    \
    typedef T name##_line __attribute__((vector_size(N * sizeof(T))));                                                 \
    DENSE_INLINE void name##_step(name##_line *r, uint32_t ways, bool interleave)                                      \
    {                                                                                                                  \
        name##_line next[8];                                                                                           \
        if (ways == 3) {                                                                                               \
            if (interleave) {                                                                                          \
                ALL_THREE(r, next, THIRD_FIRST, THIRD_SECOND, N)                                                       \
            } else {                                                                                                   \
                ALL_THREE(r, next, EVERY_FIRST, EVERY_SECOND, N)                                                       \
            }                                                                                                          \
            memcpy(r, next, 3 * sizeof(r[0]));                                                                         \
        }                                                                                                              \
        _Pragma("GCC unroll 4") for (uint32_t step = 1; ways != 3 && step < ways; step *= 2)                           \
        {                                                                                                              \
            _Pragma("GCC unroll 4") for (uint32_t i = 0; i < ways / 2; i++)                                            \
            {                                                                                                          \
                const name##_line a = r[interleave ? i : 2 * i], b = r[interleave ? i + ways / 2 : 2 * i + 1];         \
                next[interleave ? 2 * i : i] =                                                                         \
                    interleave ? SHUFFLE(a, b, LANES_INTERLEAVED, 0, N) : SHUFFLE(a, b, LANES_EVERY_SECOND, 0, N);     \
                next[interleave ? 2 * i + 1 : i + ways / 2] =                                                          \
                    interleave ? SHUFFLE(a, b, LANES_INTERLEAVED, N / 2, N) : SHUFFLE(a, b, LANES_EVERY_SECOND, 1, N); \
            }                                                                                                          \
            _Pragma("GCC unroll 8") for (uint32_t i = 0; i < ways; i++) r[i] = next[i];                                \
        }                                                                                                              \
    }                                                                                                                  \
    DENSE_INLINE void name##_ways(T *restrict out, const T *restrict in, int64_t stride, uint64_t count,               \
                                  uint32_t ways, bool interleave)                                                      \
    {                                                                                                                  \
        const int64_t from = interleave ? stride : N, to = interleave ? N : stride;                                    \
        uint64_t j = 0;                                                                                                \
        for (; j + N <= count; j += N) {                                                                               \
            name##_line r[8];                                                                                          \
            const T *x = in + j * (interleave ? 1 : ways);                                                             \
            T *y = out + j * (interleave ? ways : 1);                                                                  \
            _Pragma("GCC unroll 8") for (uint32_t i = 0; i < ways; i++) memcpy(&r[i], x + i * from, sizeof(r[i]));     \
            name##_step(r, ways, interleave);                                                                          \
            _Pragma("GCC unroll 8") for (uint32_t i = 0; i < ways; i++) memcpy(y + i * to, &r[i], sizeof(r[i]));       \
        }                                                                                                              \
        for (; j < count; j++)                                                                                         \
            for (uint32_t i = 0; i < ways; i++)                                                                        \
                out[interleave ? (int64_t)(j * ways + i) : (int64_t)j + i * stride] =                                  \
                    in[interleave ? (int64_t)j + i * stride : (int64_t)(j * ways + i)];                                \
    }                                                                                                                  \
    MOVE_WAYS_OF(name##_interleave, name##_ways, true)                                                                 \
    MOVE_WAYS_OF(name##_deinterleave, name##_ways, false)
#define MOVE_WAYS_OF(name, function, interleave)                                                                       \
    static void name(void *out, const void *in, int64_t stride, uint64_t count, uint32_t ways)                         \
    {                                                                                                                  \
        if (ways == 2)                                                                                                 \
            function(out, in, stride, count, 2, interleave);                                                           \
        else if (ways == 3)                                                                                            \
            function(out, in, stride, count, 3, interleave);                                                           \
        else if (ways == 4)                                                                                            \
            function(out, in, stride, count, 4, interleave);                                                           \
        else                                                                                                           \
            function(out, in, stride, count, 8, interleave);                                                           \
    }

MOVE_INTERLEAVE(line8, uint8_t, 16)
MOVE_INTERLEAVE(line16, uint16_t, 8)
MOVE_INTERLEAVE(line32, uint32_t, 4)
MOVE_INTERLEAVE(line64, uint64_t, 2)

const struct move_isa KERN_ISA_TABLE(move_isa_) = {
    .transpose = { [1] = transpose8, [2] = transpose16, [4] = transpose32, [8] = transpose64 },
    .interleave = { [1] = line8_interleave, [2] = line16_interleave, [4] = line32_interleave, [8] = line64_interleave },
    .deinterleave = { [1] = line8_deinterleave,
                      [2] = line16_deinterleave,
                      [4] = line32_deinterleave,
                      [8] = line64_deinterleave },
};

KERN_ISA_RUN_WITH(move_transpose, move_transpose_run(call, &KERN_ISA_TABLE(move_isa_), begin, end))
KERN_ISA_RUN_WITH(move_interleave, move_interleave_run(call, &KERN_ISA_TABLE(move_isa_), begin, end))
