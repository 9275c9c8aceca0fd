/* SPDX-License-Identifier: Apache-2.0 */
/* Dense conversions between data types; the rules are those of kern_number_to. */
#include "kernels/map/map.h"

#include "base/cpu.h"
#include "base/half.h"

const struct kern_map_isa *kern_map_isa(void)
{
#if defined(__x86_64__)
    if (base_cpu_flags() & BASE_CPU_AVX512)
        return &kern_map_isa_avx512;
    if (base_cpu_flags() & BASE_CPU_AVX2)
        return &kern_map_isa_avx2;
#elif defined(__aarch64__)
    if (base_cpu_flags() & BASE_CPU_NEON)
        return &kern_map_isa_neon;
#endif
    return &kern_map_isa_portable;
}

/* One case: `expr` of x, load(an element). */
#define FROM_TYPE(value, type, load, expr)                                                                             \
    case value:                                                                                                        \
        for (uint32_t i = 0; i < count; i++) {                                                                         \
            const __typeof__(load(((const type *)in)[i])) x = load(((const type *)in)[i]);                             \
            out[i] = expr;                                                                                             \
        }                                                                                                              \
        break;
#define FROM(name, type, expr)                FROM_TYPE(DML_TENSOR_DATA_TYPE_##name, type, , expr)
#define FROM_INTEGER(name, type, least, most) FROM(name, type, (__typeof__(*out))x)
/* A function for results of one type; 4-bit elements take one byte each, and stores keep their low bits. */
#define TO(name, result, floats)                                                                                       \
    static void to_##name(result *out, DML_TENSOR_DATA_TYPE from, const void *in, uint32_t count)                      \
    {                                                                                                                  \
        switch ((uint32_t)from) {                                                                                      \
            KERN_INTEGER_TYPES(FROM_INTEGER)                                                                           \
            FROM_INTEGER(UINT4, uint8_t, , )                                                                           \
            FROM_INTEGER(INT4, int8_t, , )                                                                             \
            FROM(FLOAT64, double, floats)                                                                              \
            FROM(FLOAT32, float, floats)                                                                               \
            FROM_TYPE(DML_TENSOR_DATA_TYPE_FLOAT16, uint16_t, base_half_to_float, floats)                              \
            FROM_TYPE(ANYDML_TENSOR_DATA_TYPE_BFLOAT16, uint16_t, base_bfloat_to_float, floats)                        \
        }                                                                                                              \
    }
#define TO_INTEGER(name, type, least, most)                                                                            \
    TO(name, type,                                                                                                     \
       (type)((least) < 0 ? kern_to_signed(x, (int64_t)(least), (int64_t)(most))                                       \
                          : (int64_t)kern_to_unsigned(x, most)))
TO(FLOAT64, double, x)
TO_INTEGER(UINT64, uint64_t, 0, UINT64_MAX)
TO_INTEGER(INT64, int64_t, INT64_MIN, INT64_MAX)
TO_INTEGER(UINT32, uint32_t, 0, UINT32_MAX)
TO_INTEGER(INT32, int32_t, INT32_MIN, INT32_MAX)
TO_INTEGER(UINT16, uint16_t, 0, UINT16_MAX)
TO_INTEGER(INT16, int16_t, INT16_MIN, INT16_MAX)
TO_INTEGER(UINT8, uint8_t, 0, UINT8_MAX)
TO_INTEGER(INT8, int8_t, INT8_MIN, INT8_MAX)
TO_INTEGER(UINT4, uint8_t, 0, 15)
TO_INTEGER(INT4, int8_t, -8, 7)

/* Of 16 bits, rounded once from FLOAT64, which represents all others except for long integers. */
static void to_short_float(DML_TENSOR_DATA_TYPE to, uint16_t *out, DML_TENSOR_DATA_TYPE from, const char *in,
                           uint32_t count)
{
    double part[64];
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t at = i % ARRAY_SIZE(part);
        if (!at)
            to_FLOAT64(part, from, in + (size_t)i * BASE_MAX(1, kern_type_bytes(from)),
                       BASE_MIN(count - i, (uint32_t)ARRAY_SIZE(part)));
        out[i] = to == DML_TENSOR_DATA_TYPE_FLOAT16 ? base_double_to_half(part[at]) : base_double_to_bfloat(part[at]);
    }
}

#define CASE(name, ...)                                                                                                \
    case DML_TENSOR_DATA_TYPE_##name:                                                                                  \
        to_##name(out, from, in, count);                                                                               \
        return;

void kern_convert(const struct kern_map_isa *isa, DML_TENSOR_DATA_TYPE to, void *out, DML_TENSOR_DATA_TYPE from,
                  const void *in, uint32_t count)
{
    if (to == from) {
        memcpy(out, in, (size_t)count * BASE_MAX(1, kern_type_bytes(to)));
        return;
    }
    if (isa->convert(to, out, from, in, count)) /* including all to FLOAT32 */
        return;
    switch ((uint32_t)to) {
        KERN_INTEGER_TYPES(CASE)
        CASE(UINT4)
        CASE(INT4)
        CASE(FLOAT64)
    default:
        to_short_float(to, out, from, in, count);
    }
}
