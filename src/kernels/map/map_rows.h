/* Instructions of KERN_MAP whose second and third operands are one number for each row, without repeating those in
 * memory first. Included once per instruction set (map_exec.h). */
#ifndef KERNELS_MAP_ROWS_H
#define KERNELS_MAP_ROWS_H

#include "kernels/vec/fmath.h"
#include "kernels/map/map.h"

#if defined(__FMA__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
enum { ROWS_VEC = 16 };
#elif defined(__AVX2__)
enum { ROWS_VEC = 8 };
#else
enum { ROWS_VEC = 4 };
#endif
typedef float rows_vec __attribute__((vector_size(ROWS_VEC * sizeof(float))));

FMATH rows_vec rows_load(const float *from)
{
    rows_vec value;
    memcpy(&value, from, sizeof(value));
    return value;
}

/* The compiler knows no other way to one instruction than this. */
FMATH rows_vec rows_set(float value)
{
    return value - (rows_vec){ 0 };
}

FMATH rows_vec rows_muladd(rows_vec x, rows_vec y, rows_vec z)
{
#if defined(__AVX512F__)
    return (rows_vec)_mm512_fmadd_ps((__m512)x, (__m512)y, (__m512)z);
#elif defined(__FMA__)
    return (rows_vec)_mm256_fmadd_ps((__m256)x, (__m256)y, (__m256)z);
#else
    for (uint32_t i = 0; i < ROWS_VEC; i++)
        z[i] = fmath_muladd(x[i], y[i], z[i]);
    return z;
#endif
}

/* One case: `expr` of x = a[i], y = the row's b, z = the row's c. Rows of 16 and 32 are what blocks of quantized
 * weights have. */
#define ROWS_OF(elements, expr)                                                                                        \
    for (uint32_t row = 0; row < rows; row++, a += (elements), out += (elements)) {                                    \
        const rows_vec y = rows_set(b[row]), z = rows_set(c[row]);                                                     \
        (void)z;                                                                                                       \
        for (uint32_t i = 0; i < (elements); i += ROWS_VEC) {                                                          \
            const rows_vec x = rows_load(a + i), value = expr;                                                         \
            memcpy(out + i, &value, sizeof(value));                                                                    \
        }                                                                                                              \
    }
#define ROWS(name, expr)                                                                                               \
    case KERN_MAP_##name:                                                                                              \
        if (length == 16)                                                                                              \
            ROWS_OF(16, expr)                                                                                          \
        else if (length == 32)                                                                                         \
            ROWS_OF(32, expr)                                                                                          \
        else                                                                                                           \
            ROWS_OF(length, expr)                                                                                      \
        return true;

static bool rows_block(const struct kern_map_inst *inst, void *result, const void *const *src, uint32_t length,
                       uint32_t count)
{
    const float *a = src[0], *b = src[1], *c = src[2] ? src[2] : b;
    const uint32_t rows = count / length;
    float *out = result;
    if (inst->type != DML_TENSOR_DATA_TYPE_FLOAT32 || length % ROWS_VEC || count % length)
        return false;
    switch ((enum kern_map_code)inst->code) {
        ROWS(ADD, x + y)
        ROWS(SUB, x - y)
        ROWS(MUL, x * y)
        ROWS(DIV, x / y)
        ROWS(FMA, rows_muladd(x, y, z))
    default:
        return false;
    }
}

#undef ROWS
#undef ROWS_OF

#endif
