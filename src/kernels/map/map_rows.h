/* Instructions of KERN_MAP whose second and third operands are one number for each row, without repeating those in
 * memory first. Included once per instruction set (map_exec.h). */
#ifndef KERNELS_MAP_ROWS_H
#define KERNELS_MAP_ROWS_H

#include "kernels/vec/fmath.h"
#include "kernels/vec/vec.h"
#include "kernels/map/map.h"

/* As fmath_muladd. */
FMATH vec rows_muladd(vec x, vec y, vec z)
{
#if defined(FMATH_FUSED)
    return vec_fma(x, y, z);
#else
    for (uint32_t i = 0; i < VEC; i++)
        z[i] = fmath_muladd(x[i], y[i], z[i]);
    return z;
#endif
}

/* One case: `expr` of x = a[i], y = the row's b, z = the row's c. Rows of 16 and 32 are what blocks of quantized
 * weights have. */
#define ROWS_OF(elements, expr)                                                                                        \
    for (uint32_t row = 0; row < rows; row++, a += (elements), out += (elements)) {                                    \
        const vec y = vec_set(b[row]), z = vec_set(c[row]);                                                            \
        (void)z;                                                                                                       \
        for (uint32_t i = 0; i < (elements); i += VEC) {                                                               \
            const vec x = vec_load(a + i);                                                                             \
            vec_store(out + i, expr);                                                                                  \
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
    if (inst->type != DML_TENSOR_DATA_TYPE_FLOAT32 || length % VEC || count % length)
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
