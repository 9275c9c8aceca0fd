// SPDX-License-Identifier: Apache-2.0
/* vec.h for NEON. */
#ifndef KERNELS_VEC_NEON_H
#define KERNELS_VEC_NEON_H

DENSE_INLINE vec vec_load_half(const uint16_t *from)
{
    return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(from)));
}

DENSE_INLINE vec vec_load_bfloat(const uint16_t *from)
{
    return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(from), 16));
}

DENSE_INLINE void vec_store_half(uint16_t *to, vec value)
{
    vst1_u16(to, vreinterpret_u16_f16(vcvt_f16_f32(value)));
}

/* As base_float_to_bfloat. */
DENSE_INLINE void vec_store_bfloat(uint16_t *to, vec value)
{
    uint32x4_t bits = vreinterpretq_u32_f32(value), odd = vandq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(1));
    uint32x4_t rounded = vaddq_u32(vaddq_u32(bits, vdupq_n_u32(0x7fff)), odd);
    uint32x4_t quiet = vorrq_u32(bits, vdupq_n_u32(0x400000));
    vst1_u16(to, vshrn_n_u32(vbslq_u32(vceqq_f32(value, value), rounded, quiet), 16));
}

/* NaN in `a` returns b. */
DENSE_INLINE vec vec_max(vec a, vec b)
{
    return vbslq_f32(vcgtq_f32(a, b), a, b);
}

DENSE_INLINE vec vec_min(vec a, vec b)
{
    return vbslq_f32(vcltq_f32(a, b), a, b);
}

DENSE_INLINE vec vec_fma(vec a, vec b, vec c)
{
    return vfmaq_f32(c, a, b);
}

DENSE_INLINE float vec_sum(vec a)
{
    return vaddvq_f32(a);
}

DENSE_INLINE float vec_top(vec a)
{
    return vmaxvq_f32(a);
}

DENSE_INLINE vec vec_round(vec a)
{
    return vrndnq_f32(a);
}

/* a * 2^n for whole n from -126 to 127 */
DENSE_INLINE vec vec_scale(vec a, vec n)
{
    int32x4_t bits = vshlq_n_s32(vaddq_s32(vcvtnq_s32_f32(n), vdupq_n_s32(127)), 23);
    return vmulq_f32(a, vreinterpretq_f32_s32(bits));
}

/* If x is larger than *best, *best = x and *place = here. */
DENSE_INLINE void vec_take_greater(vec x, vec_int here, vec *best, vec_int *place)
{
    uint32x4_t greater = vcgtq_f32(x, *best);
    *best = vbslq_f32(greater, x, *best);
    *place = vbslq_s32(greater, here, *place);
}

#endif
