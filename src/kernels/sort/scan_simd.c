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

/* One case of each function, for a type and an operation with its neutral element. */
#define SCAN_PART_SUMS(type, op, one)                                                                                  \
    for (uint32_t p = 0; p < SCAN_PARTS; p++)                                                                          \
        part[p] = one;                                                                                                 \
    for (uint32_t i = 0; i < length; i++)                                                                              \
        for (uint32_t p = 0; p < SCAN_PARTS; p++)                                                                      \
            part[p] = part[p] op x[p * length + i];
#define SCAN_PARTS_RUN(type, op)                                                                                       \
    for (uint32_t p = 0; p < SCAN_PARTS; p++) {                                                                        \
        type next = sum op part[p];                                                                                    \
        part[p] = sum;                                                                                                 \
        sum = next;                                                                                                    \
    }                                                                                                                  \
    for (uint32_t i = 0; i < length; i++)                                                                              \
        for (uint32_t p = 0; p < SCAN_PARTS; p++)                                                                      \
            x[p * length + i] = part[p] = part[p] op x[p * length + i];
#define SCAN_REST(op)                                                                                                  \
    for (; done < count; done++)                                                                                       \
        x[done] = sum = sum op x[done];                                                                                \
    *carry = sum;

static void row_f64(double *x, uint32_t count, double *carry, bool product)
{
    double part[SCAN_PARTS], sum = *carry;
    uint32_t length = count / SCAN_PARTS, done = 0;
    if (product) {
        SCAN_PART_SUMS(double, *, 1)
        if (tame(part, true)) {
            SCAN_PARTS_RUN(double, *)
            sum = part[SCAN_PARTS - 1];
            done = SCAN_PARTS * length;
        }
        SCAN_REST(*)
        return;
    }
    SCAN_PART_SUMS(double, +, 0)
    if (tame(part, false)) {
        SCAN_PARTS_RUN(double, +)
        sum = part[SCAN_PARTS - 1];
        done = SCAN_PARTS * length;
    }
    SCAN_REST(+)
}

#define SCAN_ROW_INTEGER(type)                                                                                         \
    type part[SCAN_PARTS], sum = *carry;                                                                               \
    uint32_t length = count / SCAN_PARTS, done = SCAN_PARTS * length;                                                  \
    if (product) {                                                                                                     \
        SCAN_PART_SUMS(type, *, 1)                                                                                     \
        SCAN_PARTS_RUN(type, *)                                                                                        \
        SCAN_REST(*)                                                                                                   \
        return;                                                                                                        \
    }                                                                                                                  \
    SCAN_PART_SUMS(type, +, 0)                                                                                         \
    SCAN_PARTS_RUN(type, +)                                                                                            \
    SCAN_REST(+)

static void row_u32(uint32_t *x, uint32_t count, uint32_t *carry, bool product)
{
    SCAN_ROW_INTEGER(uint32_t)
}

static void row_u64(uint64_t *x, uint32_t count, uint64_t *carry, bool product)
{
    SCAN_ROW_INTEGER(uint64_t)
}

static void scan_row(enum kern_scan_number number, bool product, void *x, uint32_t count, void *carry)
{
    if (number == KERN_SCAN_F64)
        row_f64(x, count, carry, product);
    else if (number == KERN_SCAN_U32)
        row_u32(x, count, carry, product);
    else
        row_u64(x, count, carry, product);
}

#define SCAN_FOLD(type, op, one)                                                                                       \
    {                                                                                                                  \
        const type *x = in;                                                                                            \
        type part[SCAN_PARTS], sum = *(type *)carry;                                                                   \
        for (uint32_t p = 0; p < SCAN_PARTS; p++)                                                                      \
            part[p] = one;                                                                                             \
        uint32_t i = 0;                                                                                                \
        for (; i + SCAN_PARTS <= count; i += SCAN_PARTS)                                                               \
            for (uint32_t p = 0; p < SCAN_PARTS; p++)                                                                  \
                part[p] = part[p] op x[i + p];                                                                         \
        for (uint32_t p = 0; p < SCAN_PARTS; p++)                                                                      \
            sum = sum op part[p];                                                                                      \
        for (; i < count; i++)                                                                                         \
            sum = sum op x[i];                                                                                         \
        *(type *)carry = sum;                                                                                          \
        return;                                                                                                        \
    }

static void scan_fold(enum kern_scan_number number, bool product, const void *in, uint32_t count, void *carry)
{
    if (number == KERN_SCAN_F64 && product) {
        double *sum = carry;
        const double *x = in;
        for (uint32_t i = 0; i < count; i++)
            *sum *= x[i];
        return;
    }
    if (number == KERN_SCAN_F64)
        SCAN_FOLD(double, +, 0)
    if (number == KERN_SCAN_U32 && product)
        SCAN_FOLD(uint32_t, *, 1)
    if (number == KERN_SCAN_U32)
        SCAN_FOLD(uint32_t, +, 0)
    if (product)
        SCAN_FOLD(uint64_t, *, 1)
    SCAN_FOLD(uint64_t, +, 0)
}

#define SCAN_COLUMN(type, op)                                                                                          \
    {                                                                                                                  \
        type *sum = out;                                                                                               \
        const type *x = in;                                                                                            \
        for (uint32_t i = 0; i < count; i++)                                                                           \
            sum[i] = sum[i] op x[i];                                                                                   \
        return;                                                                                                        \
    }

static void scan_column(enum kern_scan_number number, bool product, void *out, const void *in, uint32_t count)
{
    if (number == KERN_SCAN_F64 && product)
        SCAN_COLUMN(double, *)
    if (number == KERN_SCAN_F64)
        SCAN_COLUMN(double, +)
    if (number == KERN_SCAN_U32 && product)
        SCAN_COLUMN(uint32_t, *)
    if (number == KERN_SCAN_U32)
        SCAN_COLUMN(uint32_t, +)
    if (product)
        SCAN_COLUMN(uint64_t, *)
    SCAN_COLUMN(uint64_t, +)
}

#undef SCAN_PART_SUMS
#undef SCAN_PARTS_RUN
#undef SCAN_REST
#undef SCAN_ROW_INTEGER
#undef SCAN_FOLD
#undef SCAN_COLUMN

const struct kern_scan_isa KERN_ISA_TABLE(kern_scan_isa_) = { &KERN_ISA_TABLE(kern_map_isa_), scan_row, scan_line,
                                                              scan_fold, scan_column };

KERN_ISA_RUN_WITH(scan_any, kern_scan_run(call, &KERN_ISA_TABLE(kern_scan_isa_), begin, end))
