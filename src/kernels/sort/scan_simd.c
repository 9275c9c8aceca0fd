/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of running sums. A row is cut in eight parts: their sums are known first, then all eight run side by side,
 * which hides the latency of the additions. */
#if defined(__AVX512F__)
#pragma GCC target("prefer-vector-width=512") /* loops that the compiler vectorises */
#endif
#include "kernels/core/isa.h"
#include "kernels/sort/scan.h"
#include "kernels/sort/scan_line.h"

#include <float.h>
#include <math.h>

enum { SCAN_PARTS = 8 };

/* Parts join in another order than elements one by one: not where that overflows, vanishes or is no number. */
static bool tame(const double *part, bool product)
{
    for (uint32_t p = 0; p < SCAN_PARTS; p++)
        if (!(fabs(part[p]) <= DBL_MAX) || (product && fabs(part[p]) < DBL_MIN))
            return false;
    return true;
}

/* All loops for a type and an operation with its neutral element. */
#define SCAN_LOOPS(name, type, op, one)                                                                                \
    static void row_##name(type *x, uint32_t count, type *carry)                                                       \
    {                                                                                                                  \
        const bool is_float = (type)0.5 != 0;                                                                          \
        const uint32_t length = count / SCAN_PARTS;                                                                    \
        uint32_t done = 0;                                                                                             \
        type part[SCAN_PARTS], sum = *carry;                                                                           \
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
            sum = part[SCAN_PARTS - 1];                                                                                   \
            done = SCAN_PARTS * length;                                                                                \
        }                                                                                                              \
        for (; done < count; done++)                                                                                   \
            x[done] = sum = sum op x[done];                                                                            \
        *carry = sum;                                                                                                  \
    }                                                                                                                  \
    static void fold_##name(const type *x, uint32_t count, type *carry)                                                \
    {                                                                                                                  \
        /* A product's parts may overflow where it does not. */                                                        \
        const uint32_t whole = (type)0.5 != 0 && (one) ? 0 : count / SCAN_PARTS * SCAN_PARTS;                          \
        type part[SCAN_PARTS], sum = *carry;                                                                           \
        for (uint32_t p = 0; p < SCAN_PARTS; p++)                                                                      \
            part[p] = one;                                                                                             \
        for (uint32_t i = 0; i < whole; i += SCAN_PARTS)                                                               \
            for (uint32_t p = 0; p < SCAN_PARTS; p++)                                                                  \
                part[p] = part[p] op x[i + p];                                                                         \
        for (uint32_t p = 0; p < SCAN_PARTS; p++)                                                                      \
            sum = sum op part[p];                                                                                      \
        for (uint32_t i = whole; i < count; i++)                                                                       \
            sum = sum op x[i];                                                                                         \
        *carry = sum;                                                                                                  \
    }                                                                                                                  \
    static void column_##name(type *sum, const type *x, uint32_t count)                                                \
    {                                                                                                                  \
        for (uint32_t i = 0; i < count; i++)                                                                           \
            sum[i] = sum[i] op x[i];                                                                                   \
    }
SCAN_LOOPS(sum_f64, double, +, 0)
SCAN_LOOPS(sum_u32, uint32_t, +, 0)
SCAN_LOOPS(sum_u64, uint64_t, +, 0)
SCAN_LOOPS(product_f64, double, *, 1)
SCAN_LOOPS(product_u32, uint32_t, *, 1)
SCAN_LOOPS(product_u64, uint64_t, *, 1)

#define SCAN_BY_NUMBER(loop, ...)                                                                                      \
    if (number == KERN_SCAN_F64)                                                                                       \
        product ? loop##_product_f64(__VA_ARGS__) : loop##_sum_f64(__VA_ARGS__);                                       \
    else if (number == KERN_SCAN_U32)                                                                                  \
        product ? loop##_product_u32(__VA_ARGS__) : loop##_sum_u32(__VA_ARGS__);                                       \
    else                                                                                                               \
        product ? loop##_product_u64(__VA_ARGS__) : loop##_sum_u64(__VA_ARGS__);

static void scan_row(enum kern_scan_number number, bool product, void *x, uint32_t count, void *carry)
{
    SCAN_BY_NUMBER(row, x, count, carry)
}

static void scan_fold(enum kern_scan_number number, bool product, const void *x, uint32_t count, void *carry)
{
    SCAN_BY_NUMBER(fold, x, count, carry)
}

static void scan_column(enum kern_scan_number number, bool product, void *sum, const void *x, uint32_t count)
{
    SCAN_BY_NUMBER(column, sum, x, count)
}

static const struct kern_scan_isa scan_isa = { &KERN_ISA_TABLE(kern_map_isa_), scan_row, scan_line, scan_fold,
                                               scan_column };

KERN_ISA_RUN_WITH(scan_any, kern_scan_run(call, &scan_isa, begin, end))
