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

static int64_t to_signed(double x, int64_t least, int64_t most)
{
    if (x != x)
        return 0;
    if (x <= (double)least)
        return least;
    return x >= (double)most ? most : (int64_t)x;
}

static uint64_t to_unsigned(double x, uint64_t most)
{
    if (!(x > 0))
        return 0;
    return x >= (double)most ? most : (uint64_t)x;
}

/* One case: `expr` of x, load(an element). */
#define FROM_TYPE(value, type, load, expr)                                                                             \
    case value:                                                                                                        \
        for (uint32_t i = 0; i < count; i++) {                                                                         \
            const __typeof__(load(((const type *)in)[i])) x = load(((const type *)in)[i]);                             \
            out[i] = expr;                                                                                             \
        }                                                                                                              \
        break;
#define FROM(name, type, expr) FROM_TYPE(DML_TENSOR_DATA_TYPE_##name, type, , expr)
/* A function for one type of results; 4-bit elements stand one per byte. */
#define TO(name, result, integers, floats)                                                                             \
    static void to_##name(result *out, DML_TENSOR_DATA_TYPE from, const void *in, uint32_t count)                      \
    {                                                                                                                  \
        switch ((uint32_t)from) {                                                                                      \
            FROM(UINT64, uint64_t, integers)                                                                           \
            FROM(INT64, int64_t, integers)                                                                             \
            FROM(UINT32, uint32_t, integers)                                                                           \
            FROM(INT32, int32_t, integers)                                                                             \
            FROM(UINT16, uint16_t, integers)                                                                           \
            FROM(INT16, int16_t, integers)                                                                             \
            FROM(UINT8, uint8_t, integers)                                                                             \
            FROM(INT8, int8_t, integers)                                                                               \
            FROM(UINT4, uint8_t, integers)                                                                             \
            FROM(INT4, int8_t, integers)                                                                               \
            FROM(FLOAT64, double, floats)                                                                              \
            FROM(FLOAT32, float, floats)                                                                               \
            FROM_TYPE(DML_TENSOR_DATA_TYPE_FLOAT16, uint16_t, base_half_to_float, floats)                              \
            FROM_TYPE(ANYDML_TENSOR_DATA_TYPE_BFLOAT16, uint16_t, base_bfloat_to_float, floats)                        \
        }                                                                                                              \
    }
TO(float64, double, (double)x, x)
TO(float16, uint16_t, base_double_to_half((double)x), base_double_to_half(x))
TO(bfloat16, uint16_t, base_double_to_bfloat((double)x), base_double_to_bfloat(x))
TO(uint64, uint64_t, (uint64_t)x, to_unsigned(x, UINT64_MAX))
TO(int64, int64_t, (int64_t)x, to_signed(x, INT64_MIN, INT64_MAX))
TO(uint32, uint32_t, (uint32_t)x, (uint32_t)to_unsigned(x, UINT32_MAX))
TO(int32, int32_t, (int32_t)x, (int32_t)to_signed(x, INT32_MIN, INT32_MAX))
TO(uint16, uint16_t, (uint16_t)x, (uint16_t)to_unsigned(x, UINT16_MAX))
TO(int16, int16_t, (int16_t)x, (int16_t)to_signed(x, INT16_MIN, INT16_MAX))
TO(uint8, uint8_t, (uint8_t)x, (uint8_t)to_unsigned(x, UINT8_MAX))
TO(int8, int8_t, (int8_t)x, (int8_t)to_signed(x, INT8_MIN, INT8_MAX))
TO(uint4, uint8_t, (uint8_t)x, (uint8_t)to_unsigned(x, 15)) /* stores keep the low bits */
TO(int4, int8_t, (int8_t)x, (int8_t)to_signed(x, -8, 7))

#define CASE(NAME, name)                                                                                               \
    case DML_TENSOR_DATA_TYPE_##NAME:                                                                                  \
        to_##name(out, from, in, count);                                                                               \
        return;

void kern_convert(const struct kern_map_isa *isa, DML_TENSOR_DATA_TYPE to, void *out, DML_TENSOR_DATA_TYPE from,
                  const void *in, uint32_t count)
{
    if (to == from) {
        memcpy(out, in, (size_t)count * BASE_MAX(1, kern_type_bytes(to)));
        return;
    }
    if (isa->convert(to, out, from, in, count)) /* all to FLOAT32, among others */
        return;
    switch ((uint32_t)to) {
        CASE(FLOAT64, float64)
        CASE(FLOAT16, float16)
        CASE(UINT64, uint64)
        CASE(INT64, int64)
        CASE(UINT32, uint32)
        CASE(INT32, int32)
        CASE(UINT16, uint16)
        CASE(INT16, int16)
        CASE(UINT8, uint8)
        CASE(INT8, int8)
        CASE(UINT4, uint4)
        CASE(INT4, int4)
    case ANYDML_TENSOR_DATA_TYPE_BFLOAT16:
        to_bfloat16(out, from, in, count);
    }
}
