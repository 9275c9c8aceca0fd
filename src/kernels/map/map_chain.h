/* Chains of instructions of KERN_MAP on elements that stay in registers. Included once per instruction set
 * (map_exec.h), after map_rows.h. */
#ifndef KERNELS_MAP_CHAIN_H
#define KERNELS_MAP_CHAIN_H

#include "kernels/map/map_rows.h"

#if defined(__FMA__)

/* Vectors at once: as many as there are registers for, beside a few. */
#if defined(__AVX512F__)
enum { CHAIN_VECS = 16 };
#define CHAIN_MAX(x, y) (rows_vec) _mm512_max_ps((__m512)(x), (__m512)(y))
#define CHAIN_MIN(x, y) (rows_vec) _mm512_min_ps((__m512)(x), (__m512)(y))
#define CHAIN_RINT(x)   (rows_vec) _mm512_roundscale_ps((__m512)(x), _MM_FROUND_CUR_DIRECTION)
typedef __m512i chain_bits;
#define CHAIN_SIZE(x)          _mm512_and_si512((__m512i)(x), _mm512_set1_epi32(0x7fffffff))
#define CHAIN_GREATER(x, y)    _mm512_max_epu32(x, y)
#define CHAIN_ABOVE(x, number) (_mm512_cmpgt_epu32_mask(x, _mm512_set1_epi32((int32_t)(number))) != 0)
#else
enum { CHAIN_VECS = 8 };
#define CHAIN_MAX(x, y)        (rows_vec) _mm256_max_ps((__m256)(x), (__m256)(y))
#define CHAIN_MIN(x, y)        (rows_vec) _mm256_min_ps((__m256)(x), (__m256)(y))
#define CHAIN_RINT(x)          (rows_vec) _mm256_round_ps((__m256)(x), _MM_FROUND_CUR_DIRECTION)
typedef __m256i chain_bits;
#define CHAIN_SIZE(x)          _mm256_and_si256((__m256i)(x), _mm256_set1_epi32(0x7fffffff))
#define CHAIN_GREATER(x, y)    _mm256_max_epu32(x, y)
#define CHAIN_ABOVE(x, number) (_mm256_movemask_epi8(_mm256_cmpgt_epi32(x, _mm256_set1_epi32((int32_t)(number)))) != 0)
#endif
enum { CHAIN_TILE = CHAIN_VECS * ROWS_VEC };

#define CHAIN_EACH for (uint32_t i = 0; i < CHAIN_VECS; i++)

/* One case: `expr` of x = v[i] and y, the other operand. */
#define CHAIN(name, expr)                                                                                              \
    case KERN_MAP_##name:                                                                                              \
        if (link->same) {                                                                                              \
            const rows_vec y = rows_set(*link->other);                                                                 \
            CHAIN_EACH v[i] = expr;                                                                                    \
        } else {                                                                                                       \
            CHAIN_EACH                                                                                                 \
            {                                                                                                          \
                const rows_vec y = rows_load(link->other + at + i * ROWS_VEC);                                         \
                v[i] = expr;                                                                                           \
            }                                                                                                          \
        }                                                                                                              \
        break;

/* All by one divisor that is neither large nor small: the quotient from its reciprocal, and what that lacks, which
 * leaves it rounded as a division rounds but for one in millions. Nothing is lacking of zeros, which is +0: taken from
 * them, with a positive divisor, it leaves their sign. */
FMATH bool chain_divide(rows_vec *v, float divisor)
{
    const float size = fmath_abs(divisor);
    chain_bits greatest = CHAIN_SIZE(v[0]); /* of all: NaN */
    CHAIN_EACH greatest = CHAIN_GREATER(greatest, CHAIN_SIZE(v[i]));
    if (!(size > 0x1p-30f && size < 0x1p30f) || CHAIN_ABOVE(greatest, fmath_to_bits(0x1p60f)))
        return false;
    if (divisor < 0)
        CHAIN_EACH v[i] = -v[i];
    const rows_vec y = rows_set(size), inverse = rows_set(1.0f / size);
    CHAIN_EACH
    {
        const rows_vec q = v[i] * inverse;
        v[i] = rows_muladd(-rows_muladd(q, y, -v[i]), inverse, q);
    }
    return true;
}

static uint32_t chain_block(const struct kern_map_link *links, uint32_t link_count, float *out, const float *in,
                            uint32_t count)
{
    uint32_t at = 0;
    for (; at + CHAIN_TILE <= count; at += CHAIN_TILE) {
        rows_vec v[CHAIN_VECS];
        CHAIN_EACH v[i] = rows_load(in + at + i * ROWS_VEC);
        for (const struct kern_map_link *link = links; link < links + link_count; link++) {
            switch ((enum kern_map_code)link->code) {
                CHAIN(ADD, v[i] + y)
                CHAIN(SUB, v[i] - y)
                CHAIN(MUL, v[i] * y)
            case KERN_MAP_RINT:
                CHAIN_EACH v[i] = CHAIN_RINT(v[i]);
                break;
            case KERN_MAP_RELU:
                CHAIN_EACH v[i] = CHAIN_MAX((rows_vec){ 0 }, v[i]);
                break;
            case KERN_MAP_CLAMP:
                CHAIN_EACH v[i] = CHAIN_MIN(CHAIN_MAX(v[i], rows_set(link->p)), rows_set(link->q));
                break;
            default: /* DIV */
                if (link->same && chain_divide(v, *link->other))
                    break;
                CHAIN_EACH v[i] /= link->same ? rows_set(*link->other) : rows_load(link->other + at + i * ROWS_VEC);
            }
        }
        CHAIN_EACH memcpy(out + at + i * ROWS_VEC, &v[i], sizeof(v[i]));
    }
    return at;
}

#undef CHAIN
#undef CHAIN_EACH

#else

static uint32_t chain_block(const struct kern_map_link *links, uint32_t link_count, float *out, const float *in,
                            uint32_t count)
{
    (void)links, (void)link_count, (void)out, (void)in, (void)count;
    return 0;
}

#endif
#endif
