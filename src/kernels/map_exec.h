/* The block functions of KERN_MAP as plain loops; each instruction set's file includes this once and is compiled with
 * its flags, so that the compiler makes the vectors. `out` may be one of the sources, never overlap it partly. */
#ifndef KERNELS_MAP_EXEC_H
#define KERNELS_MAP_EXEC_H

#include "kernels/fmath.h"
#include "kernels/fmath_wide.h"
#include "kernels/map.h"
#include "kernels/map_integer.h"
#include "kernels/move.h"

#include "base/half.h"

#if defined(__F16C__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

/* One case: `expr` of x = a[i], y = b[i], z = c[i]. */
#define LOOP(name, expr)                                                                                               \
    case KERN_MAP_##name:                                                                                              \
        _Pragma("GCC ivdep") for (uint32_t i = 0; i < n; i++) out[i] = expr;                                           \
        return true;
#define x a[i]
#define y b[i]
#define z c[i]

#define MIN_NUMBER(u, v) ((u) < (v) || (v) != (v) ? (u) : (v))
#define MAX_NUMBER(u, v) ((u) > (v) || (v) != (v) ? (u) : (v))

/* ---- FLOAT32
 * --------------------------------------------------------------------------------------------------------- */

static float mod_floor_f32(float u, float v)
{
    float rest = fmodf(u, v);
    return rest != 0 && (rest < 0) != (v < 0) ? rest + v : rest;
}

static bool exec_f32_basic(uint8_t code, float *out, const float *a, const float *b, const float *c, float p, float q,
                           uint32_t n)
{
    switch ((enum kern_map_code)code) {
        LOOP(CONST, p)
        LOOP(ADD, x + y)
        LOOP(SUB, x - y)
        LOOP(MUL, x * y)
        LOOP(DIV, x / y)
        LOOP(MOD_TRUNC, fmodf(x, y))
        LOOP(MOD_FLOOR, mod_floor_f32(x, y))
        LOOP(MIN, MIN_NUMBER(x, y))
        LOOP(MAX, MAX_NUMBER(x, y))
        LOOP(MEAN, (float)(((double)x + y) * 0.5))
        LOOP(MULADD, fmath_muladd(x, p, q))
        LOOP(FMA, fmath_muladd(x, y, z))
        LOOP(SELECT, x != 0 ? y : z)
        LOOP(ABS, fmath_abs(x))
        LOOP(NEG, -x)
        LOOP(SIGN, (float)((x > 0) - (x < 0)))
        LOOP(SQRT, sqrtf(x))
        LOOP(RECIP, 1.0f / x)
        LOOP(CEIL, ceilf(x))
        LOOP(FLOOR, floorf(x))
        LOOP(TRUNC, truncf(x))
        LOOP(RINT, rintf(x))
        LOOP(ROUND_AWAY, roundf(x))
    case KERN_MAP_CLAMP:
        _Pragma("GCC ivdep") for (uint32_t i = 0; i < n; i++)
        {
            float low = MAX_NUMBER(x, p);
            out[i] = MIN_NUMBER(low, q);
        }
        return true;
    default:
        return false;
    }
}

/* Squares and roots are what networks use. */
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

/* One case: vectors when all of the block lies in the function's domain, the C library otherwise. */
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
        LOOP(EXP, fmath_exp(x))
        LOOP(LOG, fmath_log(x))
        LOOP(TANH, fmath_tanh(x))
        LOOP(ERF, fmath_erf(x))
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
        LOOP(ATAN2, atan2f(x, y))
    case KERN_MAP_POW:
        return power_f32(out, a, b, n), true;
    default:
        return false;
    }
}

static bool exec_f32_logic(uint8_t code, float *out, const float *a, const float *b, float p, uint32_t n)
{
    bool positive = !(p < 0), negative = !(p > 0);
    switch ((enum kern_map_code)code) {
        LOOP(IS_NAN, x != x ? 1.0f : 0.0f)
        LOOP(IS_INF, (positive && x == INFINITY) || (negative && x == -INFINITY) ? 1.0f : 0.0f)
        LOOP(EQ, x == y ? 1.0f : 0.0f)
        LOOP(LT, x < y ? 1.0f : 0.0f)
        LOOP(LE, x <= y ? 1.0f : 0.0f)
        LOOP(AND, (x != 0) & (y != 0) ? 1.0f : 0.0f)
        LOOP(OR, (x != 0) | (y != 0) ? 1.0f : 0.0f)
        LOOP(XOR, (x != 0) != (y != 0) ? 1.0f : 0.0f)
        LOOP(NOT, x == 0 ? 1.0f : 0.0f)
    default:
        return false;
    }
}

static float hard_sigmoid_f32(float u, float p, float q)
{
    float line = fmath_muladd(u, p, q);
    float top = MIN_NUMBER(line, 1.0f);
    return MAX_NUMBER(0.0f, top);
}

static bool exec_f32_activation(uint8_t code, float *out, const float *a, const float *b, float p, float q, uint32_t n)
{
    switch ((enum kern_map_code)code) {
        LOOP(RELU, x < 0 ? 0.0f : x)
        LOOP(LEAKY_RELU, x < 0 ? p * x : x)
        LOOP(PRELU, x < 0 ? y * x : x)
        LOOP(ELU, x < 0 ? p * fmath_expm1(x) : x)
        LOOP(SELU, x > 0 ? q * x : (q * p) * fmath_expm1(x))
        LOOP(CELU, x > 0 ? x : p * fmath_expm1(x / p))
        LOOP(SIGMOID, fmath_sigmoid(x))
        LOOP(HARD_SIGMOID, hard_sigmoid_f32(x, p, q))
        LOOP(SOFTPLUS, p * x > 88.0f ? x : fmath_softplus(p * x) / p)
        LOOP(PSOFTPLUS, q * x > 88.0f ? (p * q) * x : p * fmath_softplus(q * x))
        LOOP(SOFTSIGN, x / (1.0f + fmath_abs(x)))
        LOOP(STANH, p * fmath_tanh(q * x))
        LOOP(THRESH_RELU, x > p ? x : 0.0f)
        LOOP(SHRINK, x < -q ? x + p : x > q ? x - p : 0.0f)
        LOOP(GELU, fmath_gelu(x))
        LOOP(SWISH, fmath_swish(x, p * x))
        LOOP(HARD_SWISH, x * hard_sigmoid_f32(x, p, q))
    default:
        return false;
    }
}

static bool exec_f32(const struct kern_map_inst *inst, float *out, const float *a, const float *b, const float *c,
                     uint32_t n)
{
    float p = inst->imm[0].f32, q = inst->imm[1].f32;
    return exec_f32_basic(inst->code, out, a, b, c, p, q, n) || exec_f32_logic(inst->code, out, a, b, p, n) ||
           exec_f32_activation(inst->code, out, a, b, p, q, n) || exec_f32_math(inst->code, out, a, b, n);
}

/* ---- FLOAT64: what needs no function of the C library
 * ------------------------------------------------------------------ */

static bool exec_f64_basic(const struct kern_map_inst *inst, double *out, const double *a, const double *b,
                           const double *c, uint32_t n)
{
    const double p = inst->imm[0].f64, q = inst->imm[1].f64;
    switch ((enum kern_map_code)inst->code) {
        LOOP(CONST, p)
        LOOP(ADD, x + y)
        LOOP(SUB, x - y)
        LOOP(MUL, x * y)
        LOOP(DIV, x / y)
        LOOP(MIN, MIN_NUMBER(x, y))
        LOOP(MAX, MAX_NUMBER(x, y))
        LOOP(MEAN, (x + y) / 2)
        LOOP(MULADD, x * p + q)
        LOOP(FMA, __builtin_fma(x, y, z))
        LOOP(SELECT, x != 0 ? y : z)
        LOOP(ABS, __builtin_fabs(x))
        LOOP(NEG, -x)
        LOOP(SIGN, (double)((x > 0) - (x < 0)))
        LOOP(SQRT, sqrt(x))
        LOOP(RECIP, 1 / x)
        LOOP(CEIL, ceil(x))
        LOOP(FLOOR, floor(x))
        LOOP(TRUNC, trunc(x))
        LOOP(RINT, rint(x))
        LOOP(EXP, exp(x))
        LOOP(LOG, log(x))
        LOOP(TANH, tanh(x))
        LOOP(ERF, erf(x))
        LOOP(POW, pow(x, y))
    case KERN_MAP_CLAMP:
        _Pragma("GCC ivdep") for (uint32_t i = 0; i < n; i++)
        {
            double low = MAX_NUMBER(x, p);
            out[i] = MIN_NUMBER(low, q);
        }
        return true;
    default:
        return false;
    }
}

static bool exec_f64_logic(const struct kern_map_inst *inst, double *out, const double *a, const double *b, uint32_t n)
{
    const double p = inst->imm[0].f64, q = inst->imm[1].f64;
    switch ((enum kern_map_code)inst->code) {
        LOOP(IS_NAN, x != x ? 1.0 : 0.0)
        LOOP(EQ, x == y ? 1.0 : 0.0)
        LOOP(LT, x < y ? 1.0 : 0.0)
        LOOP(LE, x <= y ? 1.0 : 0.0)
        LOOP(AND, (x != 0) & (y != 0) ? 1.0 : 0.0)
        LOOP(OR, (x != 0) | (y != 0) ? 1.0 : 0.0)
        LOOP(XOR, (x != 0) != (y != 0) ? 1.0 : 0.0)
        LOOP(NOT, x == 0 ? 1.0 : 0.0)
        LOOP(RELU, x < 0 ? 0.0 : x)
        LOOP(LEAKY_RELU, x < 0 ? p * x : x)
        LOOP(PRELU, x < 0 ? y * x : x)
        LOOP(SOFTSIGN, x / (1 + __builtin_fabs(x)))
        LOOP(THRESH_RELU, x > p ? x : 0.0)
        LOOP(SHRINK, x < -q ? x + p : x > q ? x - p : 0.0)
        LOOP(SIGMOID, x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x)))
    default:
        return false;
    }
}

static bool exec_f64(const struct kern_map_inst *inst, double *out, const double *a, const double *b, const double *c,
                     uint32_t n)
{
    return exec_f64_basic(inst, out, a, b, c, n) || exec_f64_logic(inst, out, a, b, n);
}

/* ---- integers
 * -------------------------------------------------------------------------------------------------------- */

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
    LOOP(SHL, (U)y >= (U)p ? (U)0 : (U)x << ((U)y & (8 * sizeof(U) - 1)))

static bool exec_i32(const struct kern_map_inst *inst, int32_t *out, const int32_t *a, const int32_t *b,
                     const int32_t *c, uint32_t n)
{
    int32_t p = inst->imm[0].i32, q = inst->imm[1].i32;
    switch ((enum kern_map_code)inst->code) {
        INTEGER_BITS(uint32_t)
        LOOP(ABS, x < 0 ? (uint32_t)0 - (uint32_t)x : (uint32_t)x)
        LOOP(SIGN, (x > 0) - (x < 0))
        LOOP(CLAMP, (x > p ? x : p) < q ? (x > p ? x : p) : q)
    default:
        return integer_i32(inst->code, out, a, b, (uint32_t)p, n);
    }
}

static bool exec_u32(const struct kern_map_inst *inst, uint32_t *out, const uint32_t *a, const uint32_t *b,
                     const uint32_t *c, uint32_t n)
{
    uint32_t p = inst->imm[0].u32, q = inst->imm[1].u32;
    switch ((enum kern_map_code)inst->code) {
        INTEGER_BITS(uint32_t)
        LOOP(ABS, x)
        LOOP(SIGN, x > 0)
        LOOP(CLAMP, (x > p ? x : p) < q ? (x > p ? x : p) : q)
    default:
        return integer_u32(inst->code, out, a, b, p, n);
    }
}

static bool exec_i64(const struct kern_map_inst *inst, int64_t *out, const int64_t *a, const int64_t *b,
                     const int64_t *c, uint32_t n)
{
    int64_t p = inst->imm[0].i64, q = inst->imm[1].i64;
    switch ((enum kern_map_code)inst->code) {
        INTEGER_BITS(uint64_t)
        LOOP(ABS, x < 0 ? (uint64_t)0 - (uint64_t)x : (uint64_t)x)
        LOOP(SIGN, (x > 0) - (x < 0))
        LOOP(CLAMP, (x > p ? x : p) < q ? (x > p ? x : p) : q)
    default:
        return integer_i64(inst->code, out, a, b, (uint64_t)p, n);
    }
}

static bool exec_u64(const struct kern_map_inst *inst, uint64_t *out, const uint64_t *a, const uint64_t *b,
                     const uint64_t *c, uint32_t n)
{
    uint64_t p = inst->imm[0].u64, q = inst->imm[1].u64;
    switch ((enum kern_map_code)inst->code) {
        INTEGER_BITS(uint64_t)
        LOOP(ABS, x)
        LOOP(SIGN, x > 0)
        LOOP(CLAMP, (x > p ? x : p) < q ? (x > p ? x : p) : q)
    default:
        return integer_u64(inst->code, out, a, b, p, n);
    }
}

#undef x
#undef y
#undef z
#undef LOOP

static bool exec_block(const struct kern_map_inst *inst, void *out, const void *const *src, uint32_t count)
{
    switch ((DML_TENSOR_DATA_TYPE)inst->type) {
    case DML_TENSOR_DATA_TYPE_FLOAT32:
        return exec_f32(inst, out, src[0], src[1], src[2], count);
    case DML_TENSOR_DATA_TYPE_FLOAT64:
        return exec_f64(inst, out, src[0], src[1], src[2], count);
    case DML_TENSOR_DATA_TYPE_INT32:
        return exec_i32(inst, out, src[0], src[1], src[2], count);
    case DML_TENSOR_DATA_TYPE_UINT32:
        return exec_u32(inst, out, src[0], src[1], src[2], count);
    case DML_TENSOR_DATA_TYPE_INT64:
        return exec_i64(inst, out, src[0], src[1], src[2], count);
    case DML_TENSOR_DATA_TYPE_UINT64:
        return exec_u64(inst, out, src[0], src[1], src[2], count);
    default:
        return false;
    }
}

/* ---- conversions worth vectors: to and from FLOAT32
 * -------------------------------------------------------------------- */

#define EACH(to_type, from_type, expr)                                                                                 \
    for (uint32_t i = 0; i < count; i++) {                                                                             \
        from_type v = ((const from_type *)in)[i];                                                                      \
        ((to_type *)out)[i] = expr;                                                                                    \
    }                                                                                                                  \
    return true;

static void halves_to_floats(float *out, const uint16_t *in, uint32_t count)
{
#if defined(__F16C__)
    uint32_t i = 0;
#if defined(__AVX512F__)
    for (; i + 16 <= count; i += 16)
        _mm512_storeu_ps(out + i, _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(in + i))));
#endif
    for (; i + 8 <= count; i += 8)
        _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(in + i))));
    for (; i < count; i++)
        out[i] = _cvtsh_ss(in[i]);
#elif defined(__aarch64__)
    uint32_t i = 0;
    for (; i + 4 <= count; i += 4)
        vst1q_f32(out + i, vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(in + i))));
    for (; i < count; i++)
        out[i] = base_half_to_float(in[i]);
#else
    kern_convert_portable(DML_TENSOR_DATA_TYPE_FLOAT32, out, DML_TENSOR_DATA_TYPE_FLOAT16, in, count);
#endif
}

static void floats_to_halves(uint16_t *out, const float *in, uint32_t count)
{
#if defined(__F16C__)
    uint32_t i = 0;
#if defined(__AVX512F__)
    for (; i + 16 <= count; i += 16)
        _mm256_storeu_si256((__m256i *)(out + i), _mm512_cvtps_ph(_mm512_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT));
#endif
    for (; i + 8 <= count; i += 8)
        _mm_storeu_si128((__m128i *)(out + i), _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT));
    for (; i < count; i++)
        out[i] = _cvtss_sh(in[i], _MM_FROUND_TO_NEAREST_INT);
#elif defined(__aarch64__)
    uint32_t i = 0;
    for (; i + 4 <= count; i += 4)
        vst1_u16(out + i, vreinterpret_u16_f16(vcvt_f16_f32(vld1q_f32(in + i))));
    for (; i < count; i++)
        out[i] = base_float_to_half(in[i]);
#else
    kern_convert_portable(DML_TENSOR_DATA_TYPE_FLOAT16, out, DML_TENSOR_DATA_TYPE_FLOAT32, in, count);
#endif
}

static bool convert_to_f32(void *out, DML_TENSOR_DATA_TYPE from, const void *in, uint32_t count)
{
    switch ((uint32_t)from) {
    case DML_TENSOR_DATA_TYPE_FLOAT16:
        return halves_to_floats(out, in, count), true;
    case ANYDML_TENSOR_DATA_TYPE_BFLOAT16:
        EACH(float, uint16_t, base_bfloat_to_float(v))
    case DML_TENSOR_DATA_TYPE_FLOAT64:
        EACH(float, double, (float)v)
    case DML_TENSOR_DATA_TYPE_UINT8:
    case DML_TENSOR_DATA_TYPE_UINT4:
        EACH(float, uint8_t, (float)v)
    case DML_TENSOR_DATA_TYPE_INT8:
    case DML_TENSOR_DATA_TYPE_INT4:
        EACH(float, int8_t, (float)v)
    case DML_TENSOR_DATA_TYPE_UINT16:
        EACH(float, uint16_t, (float)v)
    case DML_TENSOR_DATA_TYPE_INT16:
        EACH(float, int16_t, (float)v)
    case DML_TENSOR_DATA_TYPE_INT32:
        EACH(float, int32_t, (float)v)
    case DML_TENSOR_DATA_TYPE_UINT32:
        EACH(float, uint32_t, (float)v)
    case DML_TENSOR_DATA_TYPE_INT64:
        EACH(float, int64_t, (float)v)
    case DML_TENSOR_DATA_TYPE_UINT64:
        EACH(float, uint64_t, (float)v)
    default:
        return false;
    }
}

/* By way of FLOAT32, which rounds only what FLOAT16 cannot hold anyway. */
static bool integers_to_halves(uint16_t *out, DML_TENSOR_DATA_TYPE from, const void *in, uint32_t count)
{
    float floats[128];
    const uint32_t bytes = BASE_MAX(1, kern_type_bytes(from));
    for (uint32_t i = 0; i < count; i += ARRAY_SIZE(floats)) {
        const uint32_t n = BASE_MIN(count - i, (uint32_t)ARRAY_SIZE(floats));
        convert_to_f32(floats, from, (const char *)in + (size_t)i * bytes, n);
        floats_to_halves(out + i, floats, n);
    }
    return true;
}

static inline int32_t saturate(float v, float least, float most)
{
    v = v < least ? least : v;
    v = v > most ? most : v;
    return v != v ? 0 : (int32_t)v;
}

static bool convert_from_f32(DML_TENSOR_DATA_TYPE to, void *out, const void *in, uint32_t count)
{
    switch ((uint32_t)to) {
    case DML_TENSOR_DATA_TYPE_FLOAT16:
        return floats_to_halves(out, in, count), true;
    case ANYDML_TENSOR_DATA_TYPE_BFLOAT16:
        EACH(uint16_t, float, base_float_to_bfloat(v))
    case DML_TENSOR_DATA_TYPE_FLOAT64:
        EACH(double, float, (double)v)
    case DML_TENSOR_DATA_TYPE_UINT8:
        EACH(uint8_t, float, (uint8_t)saturate(v, 0, 255))
    case DML_TENSOR_DATA_TYPE_INT8:
        EACH(int8_t, float, (int8_t)saturate(v, -128, 127))
    case DML_TENSOR_DATA_TYPE_UINT4:
        EACH(uint8_t, float, (uint8_t)saturate(v, 0, 15))
    case DML_TENSOR_DATA_TYPE_INT4:
        EACH(int8_t, float, (int8_t)saturate(v, -8, 7))
    case DML_TENSOR_DATA_TYPE_UINT16:
        EACH(uint16_t, float, (uint16_t)saturate(v, 0, 65535))
    case DML_TENSOR_DATA_TYPE_INT16:
        EACH(int16_t, float, (int16_t)saturate(v, -32768, 32767))
    case DML_TENSOR_DATA_TYPE_INT32:
        EACH(int32_t, float, v != v ? 0 : v >= 0x1p31f ? INT32_MAX : v <= -0x1p31f ? INT32_MIN : (int32_t)v)
    default:
        return false;
    }
}

static bool convert_block(DML_TENSOR_DATA_TYPE to, void *out, DML_TENSOR_DATA_TYPE from, const void *in, uint32_t count)
{
    if (to == DML_TENSOR_DATA_TYPE_FLOAT32)
        return convert_to_f32(out, from, in, count);
    if (from == DML_TENSOR_DATA_TYPE_FLOAT32)
        return convert_from_f32(to, out, in, count);
    if (to == DML_TENSOR_DATA_TYPE_FLOAT16 && kern_type_class(from) != KERN_CLASS_FLOAT)
        return integers_to_halves(out, from, in, count);
    return false;
}

/* ---- loading
 * --------------------------------------------------------------------------------------------------------- */

/* Whole rows of one element each; known lengths become a few stores. */
#define REPEAT_ROWS(length)                                                                                            \
    for (; count >= (length); count -= (length), out += (length), in++)                                                \
        for (uint32_t k = 0; k < (length); k++)                                                                        \
            out[k] = *in;
#define REPEAT(name, type)                                                                                             \
    static void name(type *restrict out, const type *restrict in, uint32_t phase, uint32_t length, uint32_t count)     \
    {                                                                                                                  \
        const uint32_t head = BASE_MIN(length - phase, count);                                                         \
        for (uint32_t k = 0; k < head && phase; k++)                                                                   \
            *out++ = *in;                                                                                              \
        in += phase != 0;                                                                                              \
        count -= phase ? head : 0;                                                                                     \
        if (length == 16)                                                                                              \
            REPEAT_ROWS(16)                                                                                            \
        else if (length == 32)                                                                                         \
            REPEAT_ROWS(32)                                                                                            \
        else if (length == 64)                                                                                         \
            REPEAT_ROWS(64)                                                                                            \
        else                                                                                                           \
            REPEAT_ROWS(length)                                                                                        \
        for (uint32_t k = 0; k < count; k++)                                                                           \
            out[k] = *in;                                                                                              \
    }
REPEAT(repeat_32, uint32_t)
REPEAT(repeat_64, uint64_t)
#undef REPEAT
#undef REPEAT_ROWS

static void repeat_block(uint32_t bytes, void *out, const void *in, uint32_t phase, uint32_t length, uint32_t count)
{
    if (bytes == 4)
        repeat_32(out, in, phase, length, count);
    else
        repeat_64(out, in, phase, length, count);
}

static void nibbles_block(float *restrict out, const uint8_t *restrict in, bool sign, uint32_t bytes)
{
    const int32_t flip = sign ? 8 : 0;
    uint32_t i = 0;
#if defined(__AVX512F__)
    const __m512i shifts = _mm512_set1_epi64((int64_t)4 << 32), low = _mm512_set1_epi32(15);
    const __m512i bit = _mm512_set1_epi32(flip);
    for (; i + 8 <= bytes; i += 8) {
        /* Each byte twice, as the two halves of a 64-bit lane. */
        __m512i pair = _mm512_cvtepu8_epi64(_mm_loadl_epi64((const __m128i *)(in + i)));
        pair = _mm512_or_si512(pair, _mm512_slli_epi64(pair, 32));
        pair = _mm512_and_si512(_mm512_srlv_epi32(pair, shifts), low);
        pair = _mm512_sub_epi32(_mm512_xor_si512(pair, bit), bit);
        _mm512_storeu_ps(out + 2 * i, _mm512_cvtepi32_ps(pair));
    }
#endif
    for (; i < bytes; i++) {
        out[2 * i] = (float)(((in[i] & 15) ^ flip) - flip);
        out[2 * i + 1] = (float)((in[i] >> 4 ^ flip) - flip);
    }
}

#define MAP_ISA(turns)                                                                                                 \
    {                                                                                                                  \
        exec_block, convert_block, repeat_block, nibbles_block, turns                                                  \
    }

#undef EACH

#endif
