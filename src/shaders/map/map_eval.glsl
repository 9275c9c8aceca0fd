// SPDX-License-Identifier: Apache-2.0
/* One operation of kernels/core/mapops.def on registers of any type. Needs core/math.glsl, core/number.glsl and
 * core/pairs.glsl; HAVE_INT64 adds 64-bit integer registers, HAVE_FLOAT64 (with it) double ones. */
#include "shaders/mapops.glsl"

#undef REAL
#define REAL float
#include "shaders/map/map_math.glsl"
#include "shaders/map/map_float.glsl"
#undef REAL

#define S             int
#define U             uint
#define BITS          32
#define ONES          0xffffffffu
#define COUNT_BITS(x) bitCount(x)
#include "shaders/map/map_int.glsl"
#undef S
#undef U
#undef BITS
#undef ONES
#undef COUNT_BITS

#ifdef HAVE_INT64
int count_bits(uint64_t x)
{
    uvec2 halves = unpackUint2x32(x);
    return bitCount(halves.x) + bitCount(halves.y);
}

#define S             int64_t
#define U             uint64_t
#define BITS          64
#define ONES          (~0ul)
#define COUNT_BITS(x) count_bits(x)
#include "shaders/map/map_int.glsl"
#undef S
#undef U
#undef BITS
#undef ONES
#undef COUNT_BITS
#endif

#ifdef HAVE_FLOAT64
#define REAL double
#include "shaders/map/map_math_f64.glsl"
#include "shaders/map/map_float.glsl"
#undef REAL
#endif

uvec2 eval(uint code, uint type, uvec2 a, uvec2 b, uvec2 c, uvec2 p, uvec2 q)
{
    switch (type) {
    case TYPE_FLOAT32:
        return uvec2(floatBitsToUint(eval_real(code, uintBitsToFloat(a.x), uintBitsToFloat(b.x), uintBitsToFloat(c.x),
                                               uintBitsToFloat(p.x), uintBitsToFloat(q.x))),
                     0u);
#ifdef HAVE_INT64
    case TYPE_INT64:
    case TYPE_UINT64:
        return from_uint64(eval_int(code, type == TYPE_INT64, as_uint64(a), as_uint64(b), as_uint64(c), as_uint64(p),
                                    as_uint64(q)));
#endif
#ifdef HAVE_FLOAT64
    case TYPE_FLOAT64:
        return unpackDouble2x32(eval_real(code, packDouble2x32(a), packDouble2x32(b), packDouble2x32(c),
                                          packDouble2x32(p), packDouble2x32(q)));
#endif
    default:
        return uvec2(eval_int(code, type == TYPE_INT32, a.x, b.x, c.x, p.x, q.x), 0u);
    }
}
