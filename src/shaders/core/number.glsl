// SPDX-License-Identifier: Apache-2.0
/* Conversions between storage and registers. A register is two words; types of 32 bits use the first. */

float half_to_float(uint h)
{
    if (HALF)
        return unpackHalf2x16(h).x;
    uint sign_bit = (h & 0x8000u) << 16, exponent = h >> 10 & 31u, mantissa = h & 0x3ffu;
    if (exponent == 31u)
        return uintBitsToFloat(sign_bit | 0x7f800000u | mantissa << 13);
    if (exponent != 0u)
        return uintBitsToFloat(sign_bit | (exponent + 112u) << 23 | mantissa << 13);
    return uintBitsToFloat(sign_bit | floatBitsToUint(float(mantissa) * 5.9604644775390625e-8));
}

/* Rounds to nearest even. */
uint float_to_half(float x)
{
    if (HALF)
        return packHalf2x16(vec2(x, 0.0));
    uint bits = floatBitsToUint(x), sign_bit = bits >> 16 & 0x8000u, a = bits & 0x7fffffffu;
    if (a > 0x7f800000u)
        return sign_bit | 0x7e00u | (a >> 13 & 0x3ffu);
    if (a >= 0x477ff000u)
        return sign_bit | 0x7c00u;
    if (a < 0x38800000u)
        return sign_bit | uint(roundEven(uintBitsToFloat(a) * 16777216.0));
    return sign_bit | (a + 0xfffu + (a >> 13 & 1u) - 0x38000000u) >> 13;
}

/* Two of them in a word, the first one in the lower half. */
vec2 halves_to_floats(uint word)
{
    if (HALF)
        return unpackHalf2x16(word);
    return vec2(half_to_float(word & 0xffffu), half_to_float(word >> 16));
}

uint floats_to_halves(vec2 x)
{
    if (HALF)
        return packHalf2x16(x);
    return float_to_half(x.x) | float_to_half(x.y) << 16;
}

float bfloat_to_float(uint b)
{
    return uintBitsToFloat(b << 16);
}

/* Rounds to nearest even. */
uint float_to_bfloat(float x)
{
    uint bits = floatBitsToUint(x);
    if (is_nan(x))
        return bits >> 16 | 0x40u;
    return bits + 0x7fffu + (bits >> 16 & 1u) >> 16;
}

float nan_like(float x)
{
    return NAN;
}

/* Truncates and saturates; NaN becomes 0. `bits` up to 32. */
uint float_to_int(float x, uint bits, bool is_signed)
{
    if (is_nan(x))
        return 0u;
    float limit = power_of_two(int(bits) - (is_signed ? 1 : 0));
    uint most = bits == 32u ? 0xffffffffu : (1u << bits) - 1u;
    if (is_signed)
        return x >= limit ? most >> 1 : x < -limit ? ~(most >> 1) : uint(int(x));
    return x >= limit ? most : x > 0.0 ? uint(x) : 0u;
}

/* Conversions between bits and values without branches, of which there would be many in each shader's loops.
 * SwiftShader compiles every path through the branches of a loop. */
#define TYPE_BIT(type) (1u << (type))

bool type_is_signed(uint type)
{
    return (TYPE_BIT(type) & (TYPE_BIT(TYPE_INT32) | TYPE_BIT(TYPE_INT16) | TYPE_BIT(TYPE_INT8) | TYPE_BIT(TYPE_INT64) |
                              TYPE_BIT(TYPE_INT4))) != 0u;
}

bool type_is_nibble(uint type)
{
    return (TYPE_BIT(type) & (TYPE_BIT(TYPE_UINT4) | TYPE_BIT(TYPE_INT4))) != 0u;
}

/* log2 of an element's bytes; 4-bit types: 0. */
uint type_shift(uint type)
{
    const uint shifts = 1u << 2 * TYPE_FLOAT16 | 1u << 2 * TYPE_UINT16 | 1u << 2 * TYPE_INT16 | 1u << 2 * TYPE_BFLOAT16 |
                        2u << 2 * TYPE_FLOAT32 | 2u << 2 * TYPE_UINT32 | 2u << 2 * TYPE_INT32 |
                        3u << 2 * TYPE_FLOAT64 | 3u << 2 * TYPE_UINT64 | 3u << 2 * TYPE_INT64;
    return shifts >> 2u * type & 3u;
}

/* Of integer types to 32 bits. */
uint type_bits(uint type)
{
    return min(8u << type_shift(type), 32u) >> uint(type_is_nibble(type));
}

#ifdef HAVE_INT64
uint64_t as_uint64(uvec2 x)
{
    return packUint2x32(x);
}

uvec2 from_uint64(uint64_t x)
{
    return unpackUint2x32(x);
}

uint64_t float_to_int64(float x, bool is_signed)
{
    if (is_nan(x))
        return 0ul;
    if (is_signed)
        return x >= 9223372036854775808.0   ? 0x7ffffffffffffffful
               : x < -9223372036854775808.0 ? 0x8000000000000000ul
                                            : uint64_t(int64_t(x));
    return x >= 18446744073709551616.0 ? ~0ul : x > 0.0 ? uint64_t(x) : 0ul;
}
#endif

#ifdef HAVE_FLOAT64
bool is_nan(double x)
{
    uvec2 bits = unpackDouble2x32(x);
    uint high = bits.y & 0x7fffffffu;
    return high > 0x7ff00000u || (high == 0x7ff00000u && bits.x != 0u);
}

bool nonzero(double x)
{
    uvec2 bits = unpackDouble2x32(x);
    return ((bits.y & 0x7fffffffu) | bits.x) != 0u;
}

double nan_like(double x)
{
    return packDouble2x32(uvec2(0u, 0x7ff80000u));
}

bool is_inf(double x)
{
    uvec2 bits = unpackDouble2x32(x);
    return (bits.y & 0x7fffffffu) == 0x7ff00000u && bits.x == 0u;
}

uint double_to_int(double x, uint bits, bool is_signed)
{
    if (is_nan(x))
        return 0u;
    double limit = double(power_of_two(int(bits) - (is_signed ? 1 : 0)));
    uint most = bits == 32u ? 0xffffffffu : (1u << bits) - 1u;
    if (is_signed)
        return x >= limit ? most >> 1 : x < -limit ? ~(most >> 1) : uint(int(x));
    return x >= limit ? most : x > 0.0lf ? uint(x) : 0u;
}

uint64_t double_to_int64(double x, bool is_signed)
{
    if (is_nan(x))
        return 0ul;
    if (is_signed)
        return x >= 9223372036854775808.0lf   ? 0x7ffffffffffffffful
               : x < -9223372036854775808.0lf ? 0x8000000000000000ul
                                              : uint64_t(int64_t(x));
    return x >= 18446744073709551616.0lf ? ~0ul : x > 0.0lf ? uint64_t(x) : 0ul;
}

/* Rounded to odd when inexact, so that rounding again to fewer bits gives the correctly rounded result. */
float double_to_odd_float(double x)
{
    float near = float(x);
    if (is_nan(x) || is_inf(near) || double(near) == x)
        return near;
    uint bits = floatBitsToUint(near);
    if (abs(double(near)) > abs(x))
        bits--;
    return uintBitsToFloat(bits | 1u);
}

/* To integers, without GLSL's functions, which some drivers implement correctly for floats only. */
double with_sign(double x, double sign_of)
{
    uvec2 bits = unpackDouble2x32(x);
    return packDouble2x32(uvec2(bits.x, (bits.y & 0x7fffffffu) | (unpackDouble2x32(sign_of).y & 0x80000000u)));
}

double rint_of(double x)
{
    precise double near = abs(x) + 4503599627370496.0lf, whole = near - 4503599627370496.0lf;
    return abs(x) < 4503599627370496.0lf ? with_sign(whole, x) : x;
}

double floor_of(double x)
{
    double near = rint_of(x);
    return near > x ? with_sign(near - 1.0lf, x) : near;
}

double ceil_of(double x)
{
    double near = rint_of(x);
    return near < x ? with_sign(near + 1.0lf, x) : near;
}

double trunc_of(double x)
{
    return with_sign(floor_of(abs(x)), x);
}

double fmod_of(double a, double b)
{
    uint64_t mask = 0x7ffffffffffffffful, unit = 0x10000000000000ul;
    uint64_t ua = packUint2x32(unpackDouble2x32(a)) & mask, ub = packUint2x32(unpackDouble2x32(b)) & mask;
    if (is_nan(a) || is_nan(b) || is_inf(a) || ub == 0ul)
        return nan_like(a);
    if (ua < ub)
        return a;
    int ea = max(int(ua >> 52), 1), eb = max(int(ub >> 52), 1);
    uint64_t ma = (ua & (unit - 1ul)) | (ua >= unit ? unit : 0ul), mb = (ub & (unit - 1ul)) | (ub >= unit ? unit : 0ul);
    uint64_t rest = ma % mb;
    for (int e = ea - eb, k; e > 0; e -= k) {
        k = min(e, 8);
        rest = (rest << k) % mb;
    }
    /* rest * 2^(eb - 1075), assembled from bits: normalised, or subnormal at the end of the exponent range */
    if (rest == 0ul)
        return a < 0.0lf ? -0.0lf : 0.0lf;
    while (rest < unit && eb > 1) {
        rest <<= 1;
        eb--;
    }
    uint64_t bits = rest >= unit ? uint64_t(eb) << 52 | (rest - unit) : rest;
    double y = packDouble2x32(unpackUint2x32(bits));
    return a < 0.0lf ? -y : y;
}
#endif

float register_to_float(uvec2 x, uint type)
{
    switch (type) {
    case TYPE_INT32:
        return float(int(x.x));
    case TYPE_UINT32:
        return float(x.x);
#ifdef HAVE_INT64
    case TYPE_INT64:
        return float(int64_t(as_uint64(x)));
    case TYPE_UINT64:
        return float(as_uint64(x));
#endif
#ifdef HAVE_FLOAT64
    case TYPE_FLOAT64:
        return float(packDouble2x32(x));
#endif
    default:
        return uintBitsToFloat(x.x);
    }
}

/* As an integer of `bits` bits, to 32. */
uint register_to_int(uvec2 x, uint type, uint bits, bool is_signed)
{
    switch (type) {
    case TYPE_FLOAT32:
        return float_to_int(uintBitsToFloat(x.x), bits, is_signed);
#ifdef HAVE_FLOAT64
    case TYPE_FLOAT64:
        return double_to_int(packDouble2x32(x), bits, is_signed);
#endif
    default:
        return x.x;
    }
}

#ifdef HAVE_INT64
uvec2 register_to_int64(uvec2 x, uint type, bool is_signed)
{
    switch (type) {
    case TYPE_FLOAT32:
        return from_uint64(float_to_int64(uintBitsToFloat(x.x), is_signed));
    case TYPE_INT32:
        return uvec2(x.x, uint(int(x.x) >> 31));
    case TYPE_UINT32:
        return uvec2(x.x, 0u);
#ifdef HAVE_FLOAT64
    case TYPE_FLOAT64:
        return from_uint64(double_to_int64(packDouble2x32(x), is_signed));
#endif
    default:
        return x;
    }
}
#endif

#ifdef HAVE_FLOAT64
uvec2 register_to_double(uvec2 x, uint type)
{
    switch (type) {
    case TYPE_FLOAT32:
        return unpackDouble2x32(double(uintBitsToFloat(x.x)));
    case TYPE_INT32:
        return unpackDouble2x32(double(int(x.x)));
    case TYPE_UINT32:
        return unpackDouble2x32(double(x.x));
    case TYPE_INT64:
        return unpackDouble2x32(double(int64_t(as_uint64(x))));
    case TYPE_UINT64:
        return unpackDouble2x32(double(as_uint64(x)));
    default:
        return x;
    }
}
#endif

/* From one compute type to another. */
uvec2 convert(uvec2 x, uint from, uint to)
{
    if (from == to)
        return x;
    switch (to) {
    case TYPE_FLOAT32:
        return uvec2(floatBitsToUint(register_to_float(x, from)), 0u);
#ifdef HAVE_INT64
    case TYPE_INT64:
    case TYPE_UINT64:
        return register_to_int64(x, from, to == TYPE_INT64);
#endif
#ifdef HAVE_FLOAT64
    case TYPE_FLOAT64:
        return register_to_double(x, from);
#endif
    default:
        return uvec2(register_to_int(x, from, 32u, to == TYPE_INT32), 0u);
    }
}

/* ---- elements in memory ---- */

/* Its bits, lower word first; zeros above the element's width. */
uvec2 load_element(Place place, uint type)
{
    if (type_is_nibble(type))
        return uvec2(load_nibble(place), 0u);
    switch (type_shift(type)) {
    case 0u:
        return uvec2(load_byte(place.address), 0u);
    case 1u:
        return uvec2(load_short(place.address), 0u);
    case 2u:
        return uvec2(Words(place.address).v, 0u);
    default:
        return Pairs(place.address).v;
    }
}

/* The low bits of `bits` that an element has. */
void store_element(Place place, uint type, uvec2 bits)
{
    if (type_is_nibble(type)) {
        store_nibble(place, bits.x);
        return;
    }
    switch (type_shift(type)) {
    case 0u:
        store_byte(place.address, bits.x);
        break;
    case 1u:
        store_short(place.address, bits.x);
        break;
    case 2u:
        Words(place.address).v = bits.x;
        break;
    default:
        Pairs(place.address).v = bits;
    }
}

/* An element's bits, zeros above its width, in the compute type that represents it exactly. */
uvec2 from_bits(uvec2 bits, uint type, out uint compute_type)
{
    compute_type = type;
    switch (type) {
    case TYPE_FLOAT16:
        compute_type = TYPE_FLOAT32;
        return uvec2(floatBitsToUint(half_to_float(bits.x)), 0u);
    case TYPE_BFLOAT16:
        compute_type = TYPE_FLOAT32;
        return uvec2(floatBitsToUint(bfloat_to_float(bits.x)), 0u);
    case TYPE_UINT16:
    case TYPE_UINT8:
    case TYPE_UINT4:
        compute_type = TYPE_UINT32;
        return bits;
    case TYPE_INT16:
    case TYPE_INT8:
    case TYPE_INT4:
        compute_type = TYPE_INT32;
        return uvec2(uint(bitfieldExtract(int(bits.x), 0, int(type_bits(type)))), 0u);
    default:
        return bits;
    }
}

/* from_bits(load_element()): types that are not specialization constants are tested only once. */
uvec2 load(Place place, uint type, out uint compute_type)
{
    switch (type) {
    case TYPE_FLOAT16:
        compute_type = TYPE_FLOAT32;
        return uvec2(floatBitsToUint(half_to_float(load_short(place.address))), 0u);
    case TYPE_BFLOAT16:
        compute_type = TYPE_FLOAT32;
        return uvec2(floatBitsToUint(bfloat_to_float(load_short(place.address))), 0u);
    case TYPE_UINT16:
        compute_type = TYPE_UINT32;
        return uvec2(load_short(place.address), 0u);
    case TYPE_UINT8:
        compute_type = TYPE_UINT32;
        return uvec2(load_byte(place.address), 0u);
    case TYPE_INT16:
        compute_type = TYPE_INT32;
        return uvec2(uint(bitfieldExtract(int(load_short(place.address)), 0, 16)), 0u);
    case TYPE_INT8:
        compute_type = TYPE_INT32;
        return uvec2(uint(bitfieldExtract(int(load_byte(place.address)), 0, 8)), 0u);
    case TYPE_UINT4:
        compute_type = TYPE_UINT32;
        return uvec2(load_nibble(place), 0u);
    case TYPE_INT4:
        compute_type = TYPE_INT32;
        return uvec2(uint(bitfieldExtract(int(load_nibble(place)), 0, 4)), 0u);
    case TYPE_FLOAT64:
    case TYPE_INT64:
    case TYPE_UINT64:
        compute_type = type;
        return Pairs(place.address).v;
    default:
        compute_type = type;
        return uvec2(Words(place.address).v, 0u);
    }
}

/* To be rounded once more, to fewer bits. */
float register_to_odd_float(uvec2 x, uint type)
{
#ifdef HAVE_FLOAT64
    if (type == TYPE_FLOAT64)
        return double_to_odd_float(packDouble2x32(x));
#endif
    return register_to_float(x, type);
}

/* A register as an element of `type`; bits above the element's width are undefined. */
uvec2 to_bits(uvec2 x, uint from, uint type)
{
    switch (type) {
    case TYPE_FLOAT16:
        return uvec2(float_to_half(register_to_odd_float(x, from)), 0u);
    case TYPE_BFLOAT16:
        return uvec2(float_to_bfloat(register_to_odd_float(x, from)), 0u);
    case TYPE_UINT16:
    case TYPE_INT16:
    case TYPE_UINT8:
    case TYPE_INT8:
    case TYPE_UINT4:
    case TYPE_INT4:
        return uvec2(register_to_int(x, from, type_bits(type), type_is_signed(type)), 0u);
    default:
        return convert(x, from, type);
    }
}

/* store_element(to_bits()), likewise. */
void store(Place place, uint type, uvec2 x, uint from)
{
    uint narrow = register_to_int(x, from, type_bits(type), type_is_signed(type));
    switch (type) {
    case TYPE_FLOAT16:
        store_short(place.address, float_to_half(register_to_odd_float(x, from)));
        break;
    case TYPE_BFLOAT16:
        store_short(place.address, float_to_bfloat(register_to_odd_float(x, from)));
        break;
    case TYPE_UINT16:
    case TYPE_INT16:
        store_short(place.address, narrow);
        break;
    case TYPE_UINT8:
    case TYPE_INT8:
        store_byte(place.address, narrow);
        break;
    case TYPE_UINT4:
    case TYPE_INT4:
        store_nibble(place, narrow);
        break;
    case TYPE_FLOAT64:
    case TYPE_INT64:
    case TYPE_UINT64:
        Pairs(place.address).v = convert(x, from, type);
        break;
    default:
        Words(place.address).v = convert(x, from, type).x;
    }
}
