/* SPDX-License-Identifier: Apache-2.0 */
/* Dense conversions between data types; the rules are those of kern_number_to. */
#include "kernels/map/map.h"

#include "base/half.h"

#define FROM(name, type, expr) FROM_TYPE(DML_TENSOR_DATA_TYPE_##name, type, expr)
#define FROM_TYPE(value, type, expr)                                                                                   \
    case value:                                                                                                        \
        for (uint32_t i = 0; i < count; i++) {                                                                         \
            type x = ((const type *)in)[i];                                                                            \
            out[i] = expr;                                                                                             \
        }                                                                                                              \
        break;
#define FROM_INTEGERS(expr)                                                                                            \
    FROM(UINT64, uint64_t, expr)                                                                                       \
    FROM(INT64, int64_t, expr)                                                                                         \
    FROM(UINT32, uint32_t, expr)                                                                                       \
    FROM(INT32, int32_t, expr)                                                                                         \
    FROM(UINT16, uint16_t, expr)                                                                                       \
    FROM(INT16, int16_t, expr)                                                                                         \
    FROM(UINT8, uint8_t, expr)                                                                                         \
    FROM(INT8, int8_t, expr)                                                                                           \
    FROM(UINT4, uint8_t, expr)                                                                                         \
    FROM(INT4, int8_t, expr)
#define FROM_FLOATS(wide, half, bfloat)                                                                                \
    FROM(FLOAT64, double, wide)                                                                                        \
    FROM(FLOAT32, float, wide)                                                                                         \
    FROM(FLOAT16, uint16_t, half)                                                                                      \
    FROM_TYPE(ANYDML_TENSOR_DATA_TYPE_BFLOAT16, uint16_t, bfloat)

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

static void to_float32(float *out, DML_TENSOR_DATA_TYPE from, const void *in, uint32_t count)
{
    switch ((uint32_t)from) {
        FROM_INTEGERS((float)x)
        FROM_FLOATS((float)x, base_half_to_float(x), base_bfloat_to_float(x))
    default:
        break;
    }
}

static void to_float64(double *out, DML_TENSOR_DATA_TYPE from, const void *in, uint32_t count)
{
    switch ((uint32_t)from) {
        FROM_INTEGERS((double)x)
        FROM_FLOATS(x, base_half_to_float(x), base_bfloat_to_float(x))
    default:
        break;
    }
}

static void to_float16(uint16_t *out, DML_TENSOR_DATA_TYPE from, const void *in, uint32_t count)
{
    switch ((uint32_t)from) {
        FROM_INTEGERS(base_double_to_half((double)x))
        FROM(FLOAT64, double, base_double_to_half(x))
        FROM(FLOAT32, float, base_float_to_half(x))
        FROM(FLOAT16, uint16_t, x)
        FROM_TYPE(ANYDML_TENSOR_DATA_TYPE_BFLOAT16, uint16_t, base_float_to_half(base_bfloat_to_float(x)))
    default:
        break;
    }
}

static void to_bfloat16(uint16_t *out, DML_TENSOR_DATA_TYPE from, const void *in, uint32_t count)
{
    switch ((uint32_t)from) {
        FROM_INTEGERS(base_double_to_bfloat((double)x))
        FROM(FLOAT64, double, base_double_to_bfloat(x))
        FROM(FLOAT32, float, base_float_to_bfloat(x))
        FROM(FLOAT16, uint16_t, base_float_to_bfloat(base_half_to_float(x)))
        FROM_TYPE(ANYDML_TENSOR_DATA_TYPE_BFLOAT16, uint16_t, x)
    default:
        break;
    }
}

static void to_uint64(uint64_t *out, DML_TENSOR_DATA_TYPE from, const void *in, uint32_t count)
{
    switch ((uint32_t)from) {
        FROM_INTEGERS((uint64_t)x)
        FROM_FLOATS(to_unsigned(x, UINT64_MAX), to_unsigned(base_half_to_float(x), UINT64_MAX),
                    to_unsigned(base_bfloat_to_float(x), UINT64_MAX))
    default:
        break;
    }
}

static void to_int64(int64_t *out, DML_TENSOR_DATA_TYPE from, const void *in, uint32_t count)
{
    switch ((uint32_t)from) {
        FROM_INTEGERS((int64_t)x)
        FROM_FLOATS(to_signed(x, INT64_MIN, INT64_MAX), to_signed(base_half_to_float(x), INT64_MIN, INT64_MAX),
                    to_signed(base_bfloat_to_float(x), INT64_MIN, INT64_MAX))
    default:
        break;
    }
}

static void to_uint32(uint32_t *out, DML_TENSOR_DATA_TYPE from, const void *in, uint32_t count)
{
    switch ((uint32_t)from) {
        FROM_INTEGERS((uint32_t)x)
        FROM_FLOATS((uint32_t)to_unsigned(x, UINT32_MAX), (uint32_t)to_unsigned(base_half_to_float(x), UINT32_MAX),
                    (uint32_t)to_unsigned(base_bfloat_to_float(x), UINT32_MAX))
    default:
        break;
    }
}

static void to_int32(int32_t *out, DML_TENSOR_DATA_TYPE from, const void *in, uint32_t count)
{
    switch ((uint32_t)from) {
        FROM_INTEGERS((int32_t)x)
        FROM_FLOATS((int32_t)to_signed(x, INT32_MIN, INT32_MAX),
                    (int32_t)to_signed(base_half_to_float(x), INT32_MIN, INT32_MAX),
                    (int32_t)to_signed(base_bfloat_to_float(x), INT32_MIN, INT32_MAX))
    default:
        break;
    }
}

static void to_16_bits(uint16_t *out, int64_t least, int64_t most, DML_TENSOR_DATA_TYPE from, const void *in,
                       uint32_t count)
{
    switch ((uint32_t)from) {
        FROM_INTEGERS((uint16_t)x)
        FROM_FLOATS((uint16_t)to_signed(x, least, most), (uint16_t)to_signed(base_half_to_float(x), least, most),
                    (uint16_t)to_signed(base_bfloat_to_float(x), least, most))
    default:
        break;
    }
}

/* Also 4-bit types, which keep their low bits when they are stored. */
static void to_8_bits(uint8_t *out, int64_t least, int64_t most, DML_TENSOR_DATA_TYPE from, const void *in,
                      uint32_t count)
{
    switch ((uint32_t)from) {
        FROM_INTEGERS((uint8_t)x)
        FROM_FLOATS((uint8_t)to_signed(x, least, most), (uint8_t)to_signed(base_half_to_float(x), least, most),
                    (uint8_t)to_signed(base_bfloat_to_float(x), least, most))
    default:
        break;
    }
}

bool kern_convert_portable(DML_TENSOR_DATA_TYPE to, void *out, DML_TENSOR_DATA_TYPE from, const void *in,
                           uint32_t count)
{
    switch ((uint32_t)to) {
    case DML_TENSOR_DATA_TYPE_FLOAT32:
        return to_float32(out, from, in, count), true;
    case DML_TENSOR_DATA_TYPE_FLOAT64:
        return to_float64(out, from, in, count), true;
    case DML_TENSOR_DATA_TYPE_FLOAT16:
        return to_float16(out, from, in, count), true;
    case ANYDML_TENSOR_DATA_TYPE_BFLOAT16:
        return to_bfloat16(out, from, in, count), true;
    case DML_TENSOR_DATA_TYPE_UINT64:
        return to_uint64(out, from, in, count), true;
    case DML_TENSOR_DATA_TYPE_INT64:
        return to_int64(out, from, in, count), true;
    case DML_TENSOR_DATA_TYPE_UINT32:
        return to_uint32(out, from, in, count), true;
    case DML_TENSOR_DATA_TYPE_INT32:
        return to_int32(out, from, in, count), true;
    case DML_TENSOR_DATA_TYPE_UINT16:
        return to_16_bits(out, 0, UINT16_MAX, from, in, count), true;
    case DML_TENSOR_DATA_TYPE_INT16:
        return to_16_bits(out, INT16_MIN, INT16_MAX, from, in, count), true;
    case DML_TENSOR_DATA_TYPE_UINT8:
        return to_8_bits(out, 0, UINT8_MAX, from, in, count), true;
    case DML_TENSOR_DATA_TYPE_INT8:
        return to_8_bits(out, INT8_MIN, INT8_MAX, from, in, count), true;
    case DML_TENSOR_DATA_TYPE_UINT4:
        return to_8_bits(out, 0, 15, from, in, count), true;
    case DML_TENSOR_DATA_TYPE_INT4:
        return to_8_bits(out, -8, 7, from, in, count), true;
    default:
        return false;
    }
}

void kern_convert(const struct kern_map_isa *isa, DML_TENSOR_DATA_TYPE to, void *out, DML_TENSOR_DATA_TYPE from,
                  const void *in, uint32_t count)
{
    if (to == from)
        memcpy(out, in, (size_t)count * BASE_MAX(1, kern_type_bytes(to)));
    else if (!isa->convert || !isa->convert(to, out, from, in, count))
        kern_convert_portable(to, out, from, in, count);
}
