/* SPDX-License-Identifier: Apache-2.0 */
/* The block functions of KERN_MAP as plain loops; each instruction set's file includes this once and is compiled with
 * its flags, so that the compiler vectorises them. `out` may be one of the sources, but never overlaps it partly. */
#if defined(__AVX512F__)
#pragma GCC target("prefer-vector-width=512") /* loops that the compiler vectorises */
#endif
#include "kernels/core/isa.h"
#include "kernels/vec/fmath.h"
#include "kernels/map/map.h"
#include "kernels/map/map_formulas.h"
#include "kernels/map/map_bytes_simd.h"
#include "kernels/map/map_load.h"
#include "kernels/move/move.h"

/* One case: `expr` of x = a[i], y = b[i], z = c[i]. */
#define LOOP(name, expr)                                                                                               \
    case KERN_MAP_##name:                                                                                              \
        _Pragma("GCC ivdep") for (uint32_t i = 0; i < n; i++) out[i] = expr;                                           \
        return true;
#define x a[i]
#define y b[i]
#define z c[i]

/* ---- the expressions of mapops.def ---- */

#define is_nan(u)        ((u) != (u))
#define nonzero(u)       ((u) != 0)
#define absolute(u)      _Generic((u), float : fmath_abs, double : fabs)(u)
#define ratio(u, v)      ((u) / (v))
#define min_number(u, v) _Generic((u) + (v), float : min_f32, double : min_f64)(u, v)
#define max_number(u, v) _Generic((u) + (v), float : max_f32, double : max_f64)(u, v)
#define at_least(u, v)   _Generic((u) + (v), float : at_least_f32, double : at_least_f64)(u, v)
#define at_most(u, v)    _Generic((u) + (v), float : at_most_f32, double : at_most_f64)(u, v)
#define muladd(u, v, w)  _Generic((u), float : fmath_muladd, double : muladd_f64)(u, v, w)

#define MAP_OF_FLOAT(function) function##f
/* FORMULA(name, expression), as MAP_DOUBLES; without those that are called for whole blocks below */
#define MAP_FLOATS(FORMULA)                                                                                            \
    MAP_BOTH(FORMULA, MAP_OF_FLOAT)                                                                                    \
    FORMULA(MOD_FLOOR, mod_floor_f32(a, b))                                                                            \
    FORMULA(MEAN, (float)(((double)a + b) * 0.5))                                                                      \
    FORMULA(MULADD, fmath_muladd(a, p, q))                                                                             \
    FORMULA(FMA, fmath_muladd(a, b, c))                                                                                \
    FORMULA(SIGN, (float)((a > 0) - (a < 0)))                                                                          \
    FORMULA(EXP, fmath_exp(a))                                                                                         \
    FORMULA(LOG, fmath_log(a))                                                                                         \
    FORMULA(TANH, fmath_tanh(a))                                                                                       \
    FORMULA(ERF, fmath_erf(a))                                                                                         \
    FORMULA(ELU, a < 0 ? p * fmath_expm1(a) : a)                                                                       \
    FORMULA(SELU, a > 0 ? q * a : (q * p) * fmath_expm1(a))                                                            \
    FORMULA(CELU, a > 0 ? a : p * fmath_expm1(a / p))                                                                  \
    FORMULA(SIGMOID, fmath_sigmoid(a))                                                                                 \
    FORMULA(SOFTPLUS, p *a > 88.0f ? a : fmath_softplus(p * a) / p)                                                    \
    FORMULA(PSOFTPLUS, q *a > 88.0f ? (p * q) * a : p * fmath_softplus(q * a))                                         \
    FORMULA(STANH, p *fmath_tanh(q *a))                                                                                \
    FORMULA(GELU, fmath_gelu(a))                                                                                       \
    FORMULA(SWISH, fmath_swish(a, p *a))

/* f32_ADD(a, b, c, p, q), f64_ADD and so on; all have the same parameters. */
#define MAP_FUNCTION(T, name, expr)                                                                                    \
    FMATH T name(T a, T b, T c, T p, T q)                                                                              \
    {                                                                                                                  \
        return expr;                                                                                                   \
    }
#define MAP_F32(name, expr)                MAP_FUNCTION(float, f32_##name, expr)
#define MAP_F64(name, expr)                MAP_FUNCTION(double, f64_##name, expr)
#define MAPEXPR(name, arity, types, expr)  MAP_F32(name, expr) MAP_F64(name, expr)
#define MAPTRUTH(name, arity, types, expr) MAPEXPR(name, arity, types, (expr) ? 1 : 0)
#include "kernels/core/mapops.def"
MAP_FLOATS(MAP_F32)
MAP_DOUBLES(MAP_F64)

/* ---- FLOAT32 ---- */

#define LOOP_F32(name, expr) LOOP(name, f32_##name(x, y, z, p, q))

static bool exec_f32_plain(const struct kern_map_inst *inst, float *out, const float *a, const float *b, const float *c,
                           uint32_t n)
{
    const float p = inst->imm[0].f32, q = inst->imm[1].f32;
    switch ((enum kern_map_code)inst->code) {
#define MAPEXPR(name, arity, types, expr) LOOP_F32(name, expr)
#define MAPTRUTH                          MAPEXPR
#include "kernels/core/mapops.def"
        MAP_FLOATS(LOOP_F32)
    default:
        return false;
    }
}

/* Squares and roots are common in networks. */
static void power_f32(float *out, const float *a, const float *b, uint32_t n)
{
    bool square = true, root = true, inside = true;
    for (uint32_t i = 0; i < n; i++) {
        square &= b[i] == 2.0f;
        root &= b[i] == 0.5f && a[i] > 0 && a[i] < INFINITY;
        inside &= FMATH_IN_POSITIVE(a[i]) && FMATH_IN_FINITE(b[i]);
    }
    if (square)
        _Pragma("GCC ivdep") for (uint32_t i = 0; i < n; i++) out[i] = a[i] * a[i];
    else if (root)
        _Pragma("GCC ivdep") for (uint32_t i = 0; i < n; i++) out[i] = sqrtf(a[i]);
    else if (inside)
        _Pragma("GCC ivdep") for (uint32_t i = 0; i < n; i++) out[i] = fmath_pow(a[i], b[i]);
    else
        for (uint32_t i = 0; i < n; i++)
            out[i] = powf(a[i], b[i]);
}

/* One case: vectors if all of the block is in the function's domain, otherwise the C library. */
#define WIDE(name, function, domain)                                                                                   \
    case KERN_MAP_##name: {                                                                                            \
        bool inside = true;                                                                                            \
        for (uint32_t i = 0; i < n; i++)                                                                               \
            inside &= domain(x);                                                                                       \
        if (inside)                                                                                                    \
            _Pragma("GCC ivdep") for (uint32_t i = 0; i < n; i++) out[i] = fmath_##function(x);                        \
        else                                                                                                           \
            for (uint32_t i = 0; i < n; i++)                                                                           \
                out[i] = function##f(x);                                                                               \
        return true;                                                                                                   \
    }

static bool exec_f32_math(uint8_t code, float *out, const float *a, const float *b, uint32_t n)
{
    switch ((enum kern_map_code)code) {
        WIDE(SIN, sin, FMATH_IN_TURNS)
        WIDE(COS, cos, FMATH_IN_TURNS)
        WIDE(TAN, tan, FMATH_IN_TURNS)
        WIDE(ASIN, asin, FMATH_IN_ONE)
        WIDE(ACOS, acos, FMATH_IN_ONE)
        WIDE(ATAN, atan, FMATH_IN_FINITE)
        WIDE(SINH, sinh, FMATH_IN_EXP)
        WIDE(COSH, cosh, FMATH_IN_EXP)
        WIDE(ASINH, asinh, FMATH_IN_FINITE)
        WIDE(ACOSH, acosh, FMATH_IN_ABOVE)
        WIDE(ATANH, atanh, FMATH_IN_OPEN_ONE)
    case KERN_MAP_POW:
        return power_f32(out, a, b, n), true;
    default:
        return false;
    }
}

static bool all_within(const float *a, float bound, uint32_t n)
{
    uint32_t greatest = 0;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t size = base_float_to_bits(a[i]) & 0x7fffffffu; /* the largest of all: NaN */
        greatest = size > greatest ? size : greatest;
    }
    return greatest <= base_float_to_bits(bound);
}

/* Faster ways for elements near zero, as nearly all are: the domain of the FLOAT32 formula (NaN is outside), the
 * formula of x and p, and one for vectors `first` of FLOAT16 origin. */
#define MAP_CURVES(OP)                                                                                                 \
    OP(EXP, FMATH_NEAR_EXP, fmath_exp_near(x), half_exp(first))                                                        \
    OP(SIGMOID, FMATH_NEAR_EXP, fmath_sigmoid_near(x), half_swish(vec_set(1), first))                                  \
    OP(SWISH, FMATH_NEAR_SWISH(p), fmath_swish_near(x, p *x), half_swish(first, vec_set(p) * first))                   \
    OP(GELU, FMATH_NEAR_GELU, fmath_gelu_near(x), half_gelu(first))
#ifdef FMATH_FUSED
#define MAP_NEAR(OP)                                                                                                   \
    MAP_CURVES(OP)                                                                                                     \
    OP(SIN, FMATH_NEAR_TURNS, fmath_sin_near(x), direct_half_turned(first, 0))                                         \
    OP(COS, FMATH_NEAR_TURNS, fmath_cos_near(x), direct_half_turned(first, 1))
#else
#define MAP_NEAR MAP_CURVES
#endif

/* false: not all of the block is inside */
#define NEAR(name, bound, expr, halves)                                                                                \
    case KERN_MAP_##name:                                                                                              \
        if (!all_within(a, bound, n))                                                                                  \
            return false;                                                                                              \
        _Pragma("GCC ivdep") for (uint32_t i = 0; i < n; i++) out[i] = expr;                                           \
        return true;

static bool exec_f32_near(uint8_t code, float *out, const float *a, float p, uint32_t n)
{
    switch ((enum kern_map_code)code) {
        MAP_NEAR(NEAR)
    default:
        return false;
    }
}
#undef NEAR

static bool exec_f32(const struct kern_map_inst *inst, float *out, const float *a, const float *b, const float *c,
                     uint32_t n)
{
    return exec_f32_near(inst->code, out, a, inst->imm[0].f32, n) || exec_f32_plain(inst, out, a, b, c, n) ||
           exec_f32_math(inst->code, out, a, b, n);
}

/* ---- FLOAT64 ---- */

#define LOOP_F64(name, expr) LOOP(name, f64_##name(x, y, z, p, q))

static bool exec_f64(const struct kern_map_inst *inst, double *out, const double *a, const double *b, const double *c,
                     uint32_t n)
{
    const double p = inst->imm[0].f64, q = inst->imm[1].f64;
    switch ((enum kern_map_code)inst->code) {
#define MAPEXPR(name, arity, types, expr) LOOP_F64(name, expr)
#define MAPTRUTH                          MAPEXPR
#include "kernels/core/mapops.def"
        MAP_DOUBLES(LOOP_F64)
    default:
        return false;
    }
}

/* ---- integers ---- */

/* Cases whose low bits do not depend on the sign; U = the unsigned type. */
#define INTEGER_BITS(U)                                                                                                \
    LOOP(CONST, p)                                                                                                     \
    LOOP(ADD, (U)x + (U)y)                                                                                             \
    LOOP(SUB, (U)x - (U)y)                                                                                             \
    LOOP(MUL, (U)x *(U)y)                                                                                              \
    LOOP(MULADD, (U)x *(U)p + (U)q)                                                                                    \
    LOOP(FMA, (U)x *(U)y + (U)z)                                                                                       \
    LOOP(MIN, x < y ? x : y)                                                                                           \
    LOOP(MAX, x > y ? x : y)                                                                                           \
    LOOP(SELECT, x != 0 ? y : z)                                                                                       \
    LOOP(NEG, (U)0 - (U)x)                                                                                             \
    LOOP(EQ, x == y)                                                                                                   \
    LOOP(LT, x < y)                                                                                                    \
    LOOP(LE, x <= y)                                                                                                   \
    LOOP(AND, (x != 0) & (y != 0))                                                                                     \
    LOOP(OR, (x != 0) | (y != 0))                                                                                      \
    LOOP(XOR, (x != 0) != (y != 0))                                                                                    \
    LOOP(NOT, x == 0)                                                                                                  \
    LOOP(BIT_AND, x &y)                                                                                                \
    LOOP(BIT_OR, x | y)                                                                                                \
    LOOP(BIT_XOR, x ^ y)                                                                                               \
    LOOP(BIT_NOT, ~x)                                                                                                  \
    LOOP(CLAMP, (x > p ? x : p) < q ? (x > p ? x : p) : q)                                                             \
    LOOP(SHL, (U)y >= (U)p ? (U)0 : (U)x << ((U)y & (8 * sizeof(U) - 1)))

#define LOW_BITS(U, bits)    ((U)p >= (bits) ? (U)-1 : ((U)1 << (U)p) - 1)
#define UNUSED_BITS(U, bits) ((U)p == 0 || (U)p >= (bits) ? 0 : (bits) - (U)p)
#define INTEGER_SIGNED(T, U, bits)                                                                                     \
    LOOP(ABS, x < 0 ? (U)0 - (U)x : (U)x)                                                                              \
    LOOP(SIGN, (x > 0) - (x < 0))                                                                                      \
    LOOP(DIV, divide_i##bits(x, y))                                                                                    \
    LOOP(MOD_TRUNC, modulus_i##bits(x, y, false))                                                                      \
    LOOP(MOD_FLOOR, modulus_i##bits(x, y, true))                                                                       \
    LOOP(POW, (T)integer_power_signed(x, y))                                                                           \
    LOOP(BIT_COUNT, (T)bit_count_##bits((U)x &LOW_BITS(U, bits)))                                                      \
    LOOP(WRAP, (T)((U)x << UNUSED_BITS(U, bits)) >> UNUSED_BITS(U, bits))
#define INTEGER_UNSIGNED(T, U, bits)                                                                                   \
    LOOP(ABS, x)                                                                                                       \
    LOOP(SIGN, x > 0)                                                                                                  \
    LOOP(DIV, divide_u##bits(x, y))                                                                                    \
    LOOP(MOD_TRUNC, modulus_u##bits(x, y))                                                                             \
    LOOP(MOD_FLOOR, modulus_u##bits(x, y))                                                                             \
    LOOP(POW, (T)integer_power(x, y))                                                                                  \
    LOOP(BIT_COUNT, bit_count_##bits(x &LOW_BITS(U, bits)))                                                            \
    LOOP(SHR, y >= p ? 0 : x >> (y & ((bits)-1)))                                                                      \
    LOOP(WRAP, x &LOW_BITS(U, bits))

/* exec_i32 and so on; `more`: additional cases of the type. */
#define EXEC_INTEGER(name, T, U, bits, OWN, more)                                                                      \
    static bool exec_##name(const struct kern_map_inst *inst, T *out, const T *a, const T *b, const T *c, uint32_t n)  \
    {                                                                                                                  \
        const T p = inst->imm[0].name, q = inst->imm[1].name;                                                          \
        switch ((enum kern_map_code)inst->code) {                                                                      \
            INTEGER_BITS(U)                                                                                            \
            OWN(T, U, bits)                                                                                            \
            more default : return false;                                                                               \
        }                                                                                                              \
    }
EXEC_INTEGER(i32, int32_t, uint32_t, 32, INTEGER_SIGNED, LOOP(MEAN, (int32_t)(((int64_t)x + y) / 2)))
EXEC_INTEGER(u32, uint32_t, uint32_t, 32, INTEGER_UNSIGNED, LOOP(MEAN, (uint32_t)(((uint64_t)x + y) / 2)))
EXEC_INTEGER(i64, int64_t, uint64_t, 64, INTEGER_SIGNED, )
EXEC_INTEGER(u64, uint64_t, uint64_t, 64, INTEGER_UNSIGNED, )

#undef x
#undef y
#undef z
#undef LOOP

#define EXEC(type, name)                                                                                               \
    case DML_TENSOR_DATA_TYPE_##type:                                                                                  \
        return exec_##name(inst, out, src[0], src[1], src[2], count);

static bool exec_block(const struct kern_map_inst *inst, void *out, const void *const *src, uint32_t count)
{
    switch ((DML_TENSOR_DATA_TYPE)inst->type) {
        EXEC(FLOAT32, f32)
        EXEC(FLOAT64, f64)
        EXEC(INT32, i32)
        EXEC(UINT32, u32)
        EXEC(INT64, i64)
        EXEC(UINT64, u64)
    default:
        return false;
    }
}
#undef EXEC

#include "kernels/map/map_registers.h"

#if defined(ISA_PORTABLE)
/* Operations without a loop of their own use the reference, number by number. */
static bool exec_portable(const struct kern_map_inst *inst, void *out, const void *const *src, uint32_t count)
{
    if (exec_block(inst, out, src, count))
        return true;
    for (uint32_t i = 0; i < count; i++) {
        struct kern_number a = kern_read(inst->type, src[0], i);
        struct kern_number b = kern_read(inst->type, src[1], i);
        struct kern_number c = kern_read(inst->type, src[2], i);
        kern_write(inst->type, out, i, kern_map_eval(inst, a, b, c));
    }
    return true;
}

#define EXECUTE   exec_portable
#define TRANSPOSE NULL
#else
#define EXECUTE   exec_block
#define TRANSPOSE &KERN_ISA_TABLE(move_isa_)
#endif

const struct kern_map_isa KERN_ISA_TABLE(kern_map_isa_) = {
    EXECUTE,      convert_block, repeat_block,        nibbles_block,    rows_block,        look_up_block, stream_block,
    direct_block, chain_block,   look_up_bytes_block, pair_bytes_block, plain_bytes_block, TRANSPOSE
};

KERN_ISA_RUN_WITH(map_any, kern_map_run(call, &KERN_ISA_TABLE(kern_map_isa_), begin, end))
