/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of metacommands, for C and CUDA: a struct by value, which begins with 64-bit addresses (0: there is none),
 * and whose members are numbers of 4 and 8 bytes, which both sides place alike. */
#ifndef SHADERS_CUDA_META_H
#define SHADERS_CUDA_META_H

#ifdef __CUDACC_RTC__
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int i32;
typedef long long i64;
#else
#include <stdint.h>
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t i32;
typedef int64_t i64;
#endif

#define META_PARAMETERS_MAX 2048 /* bytes */

/* Of a dispatch in a chain: it runs at the same time as others, waits until counter `before` has come to `count`, and
 * each of its workgroups adds 1 to `after` at its end. Counters behind that one are the dispatch's own. */
struct meta_turn {
    u32 before, count, after, unused;
};
#define META_TURN_LINE      128 /* counters of a dispatch, some lines of the cache: of its workgroups, and of tiles */
#define META_EPILOGUE_STEPS 8

/* Where an operand of an epilogue's step has its element for a result: it is a single number; at the same distance from
 * its first element as the result; by the result's index along its channels; by the result's index along each of four
 * dimensions. */
enum meta_place { META_PLACE_FIRST, META_PLACE_RESULT, META_PLACE_CHANNEL, META_PLACE_STRIDED };

/* The operations of epilogues: their numbers are in compiled kernels. */
enum meta_code {
    META_ADD = 1,
    META_SUB,
    META_MUL,
    META_DIV,
    META_MIN,
    META_MAX,
    META_CLAMP,
    META_ABS,
    META_NEG,
    META_RECIP,
    META_RELU,
    META_LEAKY_RELU,
    META_HARD_SIGMOID,
    META_HARD_SWISH,
    META_MULADD,
    META_SQRT,
    META_RINT,
    META_ELU,
    META_SIGMOID,
    META_SOFTPLUS,
    META_TANH,
    META_GELU,
    META_SWISH,
};

/* Data types by their numbers in DirectML.h. */
enum meta_type { META_FLOAT32 = 1, META_FLOAT16 = 2, META_UINT8 = 5, META_INT8 = 8, META_BFLOAT16 = 15 };

/* value = code(value) or code(value, operand), as core/epilogue.glsl's. */
struct meta_step {
    u32 code;   /* enum meta_code */
    u32 type;   /* of the operand, enum meta_type; 0: it is `p` */
    u32 place;  /* enum meta_place */
    i32 stride; /* in elements, of META_PLACE_CHANNEL */
    float p, q; /* immediates */
    /* In elements, of META_PLACE_STRIDED: of a convolution's image, channel, row and column; of a GEMM's two batches,
     * its row and its column. */
    i32 strides[4];
};

/* To stand behind a kernel's own addresses: META_EPILOGUE_STEPS more, and then the steps. */
struct meta_epilogue {
    u64 operands[META_EPILOGUE_STEPS];
    struct meta_step steps[META_EPILOGUE_STEPS];
    u32 count, unused;
};

#endif
