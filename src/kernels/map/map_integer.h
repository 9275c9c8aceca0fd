/* Integer operations of KERN_MAP that need more than one expression; part of map_exec.h. map_eval.c defines them. */
#ifndef KERNELS_MAP_INTEGER_H
#define KERNELS_MAP_INTEGER_H

#include "kernels/map/map.h"

#define EACH_WORD(expr)                                                                                                \
    _Pragma("GCC ivdep") for (uint32_t i = 0; i < n; i++) out[i] = expr;                                               \
    return true;

static inline uint64_t integer_power(uint64_t base, uint64_t exponent)
{
    uint64_t result = 1;
    for (; exponent; exponent >>= 1, base *= base)
        result *= exponent & 1 ? base : 1;
    return result;
}

static inline uint64_t integer_power_signed(int64_t base, int64_t exponent)
{
    if (exponent >= 0)
        return integer_power((uint64_t)base, (uint64_t)exponent);
    if (base == 1 || base == -1)
        return exponent & 1 ? (uint64_t)base : 1;
    return base == 0 ? UINT64_MAX : 0;
}

/* Quotients of 32-bit integers are exact in FLOAT64, which has vectors. */
static inline int32_t divide_i32(int32_t u, int32_t v)
{
    const int32_t by = v == 0 || v == -1 ? 1 : v;
    const int32_t quotient = (int32_t)((double)u / (double)by);
    return v == 0 ? -1 : v == -1 ? (int32_t)(0 - (uint32_t)u) : quotient;
}

static inline int32_t modulus_i32(int32_t u, int32_t v, bool floored)
{
    const int32_t by = v == 0 || v == -1 ? 1 : v;
    const int32_t rest = u - (int32_t)((double)u / (double)by) * by;
    return (floored & (rest != 0) & ((rest < 0) != (v < 0))) ? rest + v : rest;
}

static inline uint32_t divide_u32(uint32_t u, uint32_t v)
{
    const uint32_t quotient = (uint32_t)((double)u / (double)(v ? v : 1));
    return v ? quotient : UINT32_MAX;
}

static inline uint32_t modulus_u32(uint32_t u, uint32_t v)
{
    return v ? u - (uint32_t)((double)u / (double)(v ? v : 1)) * v : 0;
}

static inline int64_t divide_i64(int64_t u, int64_t v)
{
    if (v == 0)
        return -1;
    return v == -1 ? (int64_t)(0 - (uint64_t)u) : u / v;
}

static inline int64_t modulus_i64(int64_t u, int64_t v, bool floored)
{
    const int64_t rest = v == 0 || v == -1 ? 0 : u % v;
    return floored && rest && (rest < 0) != (v < 0) ? rest + v : rest;
}

static inline uint32_t bit_count_32(uint32_t v)
{
    v -= v >> 1 & 0x55555555u;
    v = (v & 0x33333333u) + (v >> 2 & 0x33333333u);
    v = (v + (v >> 4)) & 0x0f0f0f0fu;
    v += v >> 8;
    return (v + (v >> 16)) & 63;
}

static inline uint64_t bit_count_64(uint64_t v)
{
    return bit_count_32((uint32_t)v) + bit_count_32((uint32_t)(v >> 32));
}

static bool integer_i32(uint8_t code, int32_t *out, const int32_t *a, const int32_t *b, uint32_t p, uint32_t n)
{
    const uint32_t mask = p >= 32 ? UINT32_MAX : (1u << p) - 1, shift = p == 0 || p >= 32 ? 0 : 32 - p;
    switch ((enum kern_map_code)code) {
    case KERN_MAP_DIV:
        EACH_WORD(divide_i32(a[i], b[i]))
    case KERN_MAP_MOD_TRUNC:
        EACH_WORD(modulus_i32(a[i], b[i], false))
    case KERN_MAP_MOD_FLOOR:
        EACH_WORD(modulus_i32(a[i], b[i], true))
    case KERN_MAP_POW:
        EACH_WORD((int32_t)integer_power_signed(a[i], b[i]))
    case KERN_MAP_MEAN:
        EACH_WORD((int32_t)(((int64_t)a[i] + b[i]) / 2))
    case KERN_MAP_BIT_COUNT:
        EACH_WORD((int32_t)bit_count_32((uint32_t)a[i] & mask))
    case KERN_MAP_WRAP:
        EACH_WORD((int32_t)((uint32_t)a[i] << shift) >> shift)
    default:
        return false;
    }
}

static bool integer_u32(uint8_t code, uint32_t *out, const uint32_t *a, const uint32_t *b, uint32_t p, uint32_t n)
{
    const uint32_t mask = p >= 32 ? UINT32_MAX : (1u << p) - 1;
    switch ((enum kern_map_code)code) {
    case KERN_MAP_DIV:
        EACH_WORD(divide_u32(a[i], b[i]))
    case KERN_MAP_MOD_TRUNC:
    case KERN_MAP_MOD_FLOOR:
        EACH_WORD(modulus_u32(a[i], b[i]))
    case KERN_MAP_POW:
        EACH_WORD((uint32_t)integer_power(a[i], b[i]))
    case KERN_MAP_MEAN:
        EACH_WORD((uint32_t)(((uint64_t)a[i] + b[i]) / 2))
    case KERN_MAP_BIT_COUNT:
        EACH_WORD(bit_count_32(a[i] & mask))
    case KERN_MAP_SHR:
        EACH_WORD(b[i] >= p ? 0 : a[i] >> (b[i] & 31))
    case KERN_MAP_WRAP:
        EACH_WORD(a[i] & mask)
    default:
        return false;
    }
}

static bool integer_i64(uint8_t code, int64_t *out, const int64_t *a, const int64_t *b, uint64_t p, uint32_t n)
{
    const uint64_t mask = p >= 64 ? UINT64_MAX : (UINT64_C(1) << p) - 1, shift = p == 0 || p >= 64 ? 0 : 64 - p;
    switch ((enum kern_map_code)code) {
    case KERN_MAP_DIV:
        EACH_WORD(divide_i64(a[i], b[i]))
    case KERN_MAP_MOD_TRUNC:
        EACH_WORD(modulus_i64(a[i], b[i], false))
    case KERN_MAP_MOD_FLOOR:
        EACH_WORD(modulus_i64(a[i], b[i], true))
    case KERN_MAP_POW:
        EACH_WORD((int64_t)integer_power_signed(a[i], b[i]))
    case KERN_MAP_BIT_COUNT:
        EACH_WORD((int64_t)bit_count_64((uint64_t)a[i] & mask))
    case KERN_MAP_WRAP:
        EACH_WORD((int64_t)((uint64_t)a[i] << shift) >> shift)
    default:
        return false;
    }
}

static bool integer_u64(uint8_t code, uint64_t *out, const uint64_t *a, const uint64_t *b, uint64_t p, uint32_t n)
{
    const uint64_t mask = p >= 64 ? UINT64_MAX : (UINT64_C(1) << p) - 1;
    switch ((enum kern_map_code)code) {
    case KERN_MAP_DIV:
        EACH_WORD(b[i] ? a[i] / b[i] : UINT64_MAX)
    case KERN_MAP_MOD_TRUNC:
    case KERN_MAP_MOD_FLOOR:
        EACH_WORD(b[i] ? a[i] % b[i] : 0)
    case KERN_MAP_POW:
        EACH_WORD(integer_power(a[i], b[i]))
    case KERN_MAP_BIT_COUNT:
        EACH_WORD(bit_count_64(a[i] & mask))
    case KERN_MAP_SHR:
        EACH_WORD(b[i] >= p ? 0 : a[i] >> (b[i] & 63))
    case KERN_MAP_WRAP:
        EACH_WORD(a[i] & mask)
    default:
        return false;
    }
}

#undef EACH_WORD

#endif
