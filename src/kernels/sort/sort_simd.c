/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of sorting and of running sums, most of which are vectorised. */
#if defined(__AVX512F__)
#pragma GCC target("prefer-vector-width=512") /* loops that the compiler vectorises */
#endif
#include "kernels/core/isa.h"
#include "kernels/sort/sort.h"
#include "kernels/vec/vec.h"

#include <float.h>
#include <math.h>

/* ---- elements to sort keys and back ---- */

/* Floats are ordered like sign-magnitude numbers; NaNs get the largest key, both zeros the same. */
#define SORT_TYPE(bits, key)                                                                                           \
    static void encode_##bits(const struct kern_sort_code *code, const void *elements, uint32_t count, void *into)     \
    {                                                                                                                  \
        const key sign = (key)code->sign, mask = (key)code->mask, infinity = (key)code->infinity;                      \
        const key flip = (key)code->flip;                                                                              \
        const uint##bits##_t *x = elements;                                                                            \
        key *keys = into;                                                                                              \
        const bool is_float = code->is_float;                                                                          \
        for (uint32_t i = 0; i < count && is_float; i++) {                                                             \
            const key b = x[i], size = b & (sign - 1);                                                                 \
            key ordered = b & sign ? ~b & mask : b | sign;                                                             \
            ordered = size == 0 ? sign : ordered;                                                                      \
            ordered = size > infinity ? mask : ordered;                                                                \
            keys[i] = ordered ^ flip;                                                                                  \
        }                                                                                                              \
        for (uint32_t i = 0; i < count && !is_float; i++)                                                              \
            keys[i] = x[i] ^ flip;                                                                                     \
    }                                                                                                                  \
    static void decode_##bits(const struct kern_sort_code *code, const void *from, uint32_t count, void *elements)     \
    {                                                                                                                  \
        const key sign = (key)code->sign, mask = (key)code->mask, flip = (key)code->flip;                              \
        const key *keys = from;                                                                                        \
        uint##bits##_t *x = elements;                                                                                  \
        const bool is_float = code->is_float;                                                                          \
        for (uint32_t i = 0; i < count && is_float; i++) {                                                             \
            const uint##bits##_t b = (uint##bits##_t)(keys[i] ^ flip);                                                 \
            x[i] = (uint##bits##_t)(b & sign ? b ^ sign : ~b & mask);                                                  \
        }                                                                                                              \
        for (uint32_t i = 0; i < count && !is_float; i++)                                                              \
            x[i] = (uint##bits##_t)(keys[i] ^ flip);                                                                   \
    }
SORT_TYPE(8, uint32_t)
SORT_TYPE(16, uint32_t)
SORT_TYPE(32, uint32_t)
SORT_TYPE(64, uint64_t)

static bool sort_any_within(const struct kern_sort_code *code, const void *keys, uint32_t count, uint64_t bound)
{
    const uint32_t *k32 = keys, b32 = (uint32_t)bound;
    const uint64_t *k64 = keys;
    const bool wide = code->bytes == 8;
    uint32_t found = 0;
    for (uint32_t i = 0; i < count && wide; i++)
        found |= k64[i] <= bound;
    for (uint32_t i = 0; i < count && !wide; i++)
        found |= k32[i] <= b32;
    return found;
}

static const struct kern_sort_isa sort_isa = {
    .encode = { [1] = encode_8, [2] = encode_16, [4] = encode_32, [8] = encode_64 },
    .decode = { [1] = decode_8, [2] = decode_16, [4] = decode_32, [8] = decode_64 },
    .any_within = sort_any_within,
};

KERN_ISA_RUN_WITH(sort_any, kern_sort_run(call, &sort_isa, begin, end))

/* ---- running sums of dense lines: shifted and added in a vector; the carry between vectors is FLOAT64 ---- */

#define SCAN_AHEAD 2048 /* bytes that are prefetched */
typedef double wide __attribute__((vector_size(VEC_WIDE * sizeof(double))));
typedef float narrow __attribute__((vector_size(VEC_WIDE * sizeof(float))));

/* Shifts lanes up, filling with zeros; broadcasts the last lane; concatenates two vectors. */
#define LANES_LAST(k, x, N) ((N)-1)
#define LANES_ALL(k, x, N)  (k)
#define WIDE_UP(v, by)      __builtin_shufflevector((wide){ 0 }, v, LANES_OF(VEC_WIDE, LANES_UP, by))
#define WIDE_LAST(v)        __builtin_shufflevector(v, v, LANES_OF(VEC_WIDE, LANES_LAST, 0))
#define NARROW_PAIR(a, b)   __builtin_shufflevector(a, b, LANES_OF(VEC, LANES_ALL, 0))
#define VEC_UP(v, by)       __builtin_shufflevector(vec_set(0), v, LANES_OF(VEC, LANES_UP, by))

DENSE_INLINE wide scan_wide(const float *x)
{
#if defined(__AVX512F__)
    wide v = (wide)_mm512_cvtps_pd(_mm256_loadu_ps(x)); /* compilers convert one half after another */
#else
    narrow in;
    memcpy(&in, x, sizeof(in));
    wide v = __builtin_convertvector(in, wide);
#endif
    v += WIDE_UP(v, 1);
    if (VEC_WIDE > 2)
        v += WIDE_UP(v, 2 % VEC_WIDE);
    if (VEC_WIDE > 4)
        v += WIDE_UP(v, 4 % VEC_WIDE);
    return v;
}

/* The sums of half a vector of elements, after *carry. */
DENSE_INLINE narrow scan_half_vector(const float *x, bool exclusive, wide *carry)
{
    const wide sums = scan_wide(x);
    const wide out = *carry + (exclusive ? WIDE_UP(sums, 1) : sums);
    *carry += WIDE_LAST(sums);
    return __builtin_convertvector(out, narrow);
}

DENSE_INLINE uint32_t scan_line_f32(const float *x, float *y, bool exclusive, bool stream, uint32_t count,
                                    double *carry)
{
    wide sum = (wide){ 0 } + *carry;
    uint32_t i = 0;
    stream = stream && (uintptr_t)y % (VEC * sizeof(float)) == 0;
    for (; i + VEC <= count; i += VEC) {
        __builtin_prefetch(x + i + SCAN_AHEAD / sizeof(*x));
        const narrow low = scan_half_vector(x + i, exclusive, &sum),
                     high = scan_half_vector(x + i + VEC_WIDE, exclusive, &sum);
        const vec out = (vec)NARROW_PAIR(low, high);
        vec_put(y, i, false, stream, out);
    }
    *carry = sum[0];
    return i;
}

/* A vector's own sums fit FLOAT32: FLOAT16 has half as many bits. */
DENSE_INLINE uint32_t scan_line_f16(const uint16_t *x, uint16_t *y, bool exclusive, bool stream, uint32_t count,
                                    double *carry)
{
    double sum = *carry;
    uint32_t i = 0;
    stream = stream && (uintptr_t)y % (VEC * sizeof(*y)) == 0;
    for (; i + VEC <= count; i += VEC) {
        if (i % (2 * VEC) == 0)
            __builtin_prefetch(x + i + SCAN_AHEAD / sizeof(*x));
        vec v = vec_load_half(x + i);
        v += VEC_UP(v, 1);
        v += VEC_UP(v, 2);
        if (VEC > 4)
            v += VEC_UP(v, 4 % VEC);
        if (VEC > 8)
            v += VEC_UP(v, 8 % VEC);
        const vec before = vec_set((float)sum);
        sum += v[VEC - 1];
        if (exclusive)
            v = VEC_UP(v, 1);
        const vec out = v + before;
        vec_put(y, i, true, stream, out);
    }
    *carry = sum;
    return i;
}

static void scan_line(const void *x, void *y, bool half, bool exclusive, bool stream, uint32_t count, double *carry)
{
    uint32_t i;
    if (half)
        i = exclusive ? scan_line_f16(x, y, true, stream, count, carry)
                      : scan_line_f16(x, y, false, stream, count, carry);
    else
        i = exclusive ? scan_line_f32(x, y, true, stream, count, carry)
                      : scan_line_f32(x, y, false, stream, count, carry);
    for (; i < count; i++) {
        const double before = *carry;
        *carry += half ? dense_load(x, i, DML_TENSOR_DATA_TYPE_FLOAT16) : ((const float *)x)[i];
        const float out = (float)(exclusive ? before : *carry);
        if (half)
            ((uint16_t *)y)[i] = base_float_to_half(out);
        else
            ((float *)y)[i] = out;
    }
}

/* ---- blocks of numbers: a row is split into eight parts, whose sums are computed first, then in parallel ---- */

enum { SCAN_PARTS = 8 };

/* Parts are combined in another order than elements one by one: not if that overflows, underflows or is NaN. */
static bool tame(const double *part, bool product)
{
    for (uint32_t p = 0; p < SCAN_PARTS; p++)
        if (!(fabs(part[p]) <= DBL_MAX) || (product && fabs(part[p]) < DBL_MIN))
            return false;
    return true;
}

/* All loops for a type and an operation with its neutral element. */
#define SCAN_LOOPS(name, type, op, one)                                                                                \
    static void row_##name(void *elements, uint32_t count, void *carry)                                                \
    {                                                                                                                  \
        type *x = elements;                                                                                            \
        const bool is_float = (type)0.5 != 0;                                                                          \
        const uint32_t length = count / SCAN_PARTS;                                                                    \
        uint32_t done = 0;                                                                                             \
        type part[SCAN_PARTS], sum = *(type *)carry;                                                                   \
        for (uint32_t p = 0; p < SCAN_PARTS; p++)                                                                      \
            part[p] = one;                                                                                             \
        for (uint32_t i = 0; i < length; i++)                                                                          \
            for (uint32_t p = 0; p < SCAN_PARTS; p++)                                                                  \
                part[p] = part[p] op x[p * length + i];                                                                \
        if (!is_float || tame((const double *)part, one)) {                                                            \
            for (uint32_t p = 0; p < SCAN_PARTS; p++) {                                                                \
                const type next = sum op part[p];                                                                      \
                part[p] = sum;                                                                                         \
                sum = next;                                                                                            \
            }                                                                                                          \
            for (uint32_t i = 0; i < length; i++)                                                                      \
                for (uint32_t p = 0; p < SCAN_PARTS; p++)                                                              \
                    x[p * length + i] = part[p] = part[p] op x[p * length + i];                                        \
            sum = part[SCAN_PARTS - 1];                                                                                \
            done = SCAN_PARTS * length;                                                                                \
        }                                                                                                              \
        for (; done < count; done++)                                                                                   \
            x[done] = sum = sum op x[done];                                                                            \
        *(type *)carry = sum;                                                                                          \
    }                                                                                                                  \
    static void fold_##name(const void *elements, uint32_t count, void *carry)                                         \
    {                                                                                                                  \
        const type *x = elements;                                                                                      \
        /* A product's parts may overflow where it does not. */                                                        \
        const uint32_t whole = (type)0.5 != 0 && (one) ? 0 : count / SCAN_PARTS * SCAN_PARTS;                          \
        type part[SCAN_PARTS], sum = *(type *)carry;                                                                   \
        for (uint32_t p = 0; p < SCAN_PARTS; p++)                                                                      \
            part[p] = one;                                                                                             \
        for (uint32_t i = 0; i < whole; i += SCAN_PARTS)                                                               \
            for (uint32_t p = 0; p < SCAN_PARTS; p++)                                                                  \
                part[p] = part[p] op x[i + p];                                                                         \
        for (uint32_t p = 0; p < SCAN_PARTS; p++)                                                                      \
            sum = sum op part[p];                                                                                      \
        for (uint32_t i = whole; i < count; i++)                                                                       \
            sum = sum op x[i];                                                                                         \
        *(type *)carry = sum;                                                                                          \
    }                                                                                                                  \
    static void column_##name(void *sums, const void *elements, uint32_t count)                                        \
    {                                                                                                                  \
        const type *x = elements;                                                                                      \
        type *sum = sums;                                                                                              \
        for (uint32_t i = 0; i < count; i++)                                                                           \
            sum[i] = sum[i] op x[i];                                                                                   \
    }
SCAN_LOOPS(sum_f64, double, +, 0)
SCAN_LOOPS(sum_u32, uint32_t, +, 0)
SCAN_LOOPS(sum_u64, uint64_t, +, 0)
SCAN_LOOPS(product_f64, double, *, 1)
SCAN_LOOPS(product_u32, uint32_t, *, 1)
SCAN_LOOPS(product_u64, uint64_t, *, 1)

static const struct kern_scan_isa scan_isa = {
    &KERN_ISA_TABLE(kern_map_isa_),
    { { row_sum_f64, row_product_f64 }, { row_sum_u32, row_product_u32 }, { row_sum_u64, row_product_u64 } },
    { { fold_sum_f64, fold_product_f64 }, { fold_sum_u32, fold_product_u32 }, { fold_sum_u64, fold_product_u64 } },
    { { column_sum_f64, column_product_f64 },
      { column_sum_u32, column_product_u32 },
      { column_sum_u64, column_product_u64 } },
    scan_line,
};

KERN_ISA_RUN_WITH(scan_any, kern_scan_run(call, &scan_isa, begin, end))
