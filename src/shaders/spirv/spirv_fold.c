/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic on constants, as SPIR-V defines it for 32 bits. What it leaves undefined is not computed. */
#include "shaders/spirv/spirv_module.h"

enum { UMIN = 38, SMIN = 39, UMAX = 41, SMAX = 42 }; /* of GLSL.std.450 */

static bool fold_extended(uint32_t literal, uint32_t a, uint32_t b, uint32_t *out)
{
    switch (literal) {
    case UMIN:
        *out = BASE_MIN(a, b);
        return true;
    case UMAX:
        *out = BASE_MAX(a, b);
        return true;
    case SMIN:
        *out = (int32_t)a < (int32_t)b ? a : b;
        return true;
    case SMAX:
        *out = (int32_t)a > (int32_t)b ? a : b;
        return true;
    default:
        return false;
    }
}

static bool fold_one(uint32_t op, uint32_t a, uint32_t *out)
{
    switch (op) {
    case OpCopyObject:
    case OpBitcast:
        *out = a;
        return true;
    case OpSNegate:
        *out = 0u - a;
        return true;
    case OpNot:
        *out = ~a;
        return true;
    case OpLogicalNot:
        *out = !a;
        return true;
    default:
        return false;
    }
}

static bool fold_compare(uint32_t op, uint32_t a, uint32_t b, uint32_t *out)
{
    const int32_t x = (int32_t)a, y = (int32_t)b;
    switch (op) {
    case OpIEqual:
    case OpLogicalEqual:
        *out = a == b;
        return true;
    case OpINotEqual:
    case OpLogicalNotEqual:
        *out = a != b;
        return true;
    case OpUGreaterThan:
        *out = a > b;
        return true;
    case OpUGreaterThanEqual:
        *out = a >= b;
        return true;
    case OpULessThan:
        *out = a < b;
        return true;
    case OpULessThanEqual:
        *out = a <= b;
        return true;
    case OpSGreaterThan:
        *out = x > y;
        return true;
    case OpSGreaterThanEqual:
        *out = x >= y;
        return true;
    case OpSLessThan:
        *out = x < y;
        return true;
    case OpSLessThanEqual:
        *out = x <= y;
        return true;
    default:
        return false;
    }
}

static bool fold_shift(uint32_t op, uint32_t a, uint32_t b, uint32_t *out)
{
    if (b > 31)
        return false;
    switch (op) {
    case OpShiftLeftLogical:
        *out = a << b;
        return true;
    case OpShiftRightLogical:
        *out = a >> b;
        return true;
    case OpShiftRightArithmetic:
        *out = (uint32_t)((int32_t)a >> b);
        return true;
    default:
        return false;
    }
}

static bool fold_quotient(uint32_t op, uint32_t a, uint32_t b, uint32_t *out)
{
    if (!b)
        return false;
    if (op == OpUDiv)
        *out = a / b;
    else if (op == OpUMod)
        *out = a % b;
    return op == OpUDiv || op == OpUMod;
}

static bool fold_two(uint32_t op, uint32_t a, uint32_t b, uint32_t *out)
{
    switch (op) {
    case OpIAdd:
        *out = a + b;
        return true;
    case OpISub:
        *out = a - b;
        return true;
    case OpIMul:
        *out = a * b;
        return true;
    case OpBitwiseAnd:
    case OpLogicalAnd:
        *out = a & b;
        return true;
    case OpBitwiseOr:
    case OpLogicalOr:
        *out = a | b;
        return true;
    case OpBitwiseXor:
        *out = a ^ b;
        return true;
    default:
        return fold_compare(op, a, b, out) || fold_shift(op, a, b, out) || fold_quotient(op, a, b, out);
    }
}

bool spirv_fold(uint32_t op, uint32_t literal, const uint32_t *a, uint32_t count, uint32_t *out)
{
    if (op == OpExtInst)
        return count == 2 && fold_extended(literal, a[0], a[1], out);
    if (op == OpSelect && count == 3) {
        *out = a[0] ? a[1] : a[2];
        return true;
    }
    return count == 1 ? fold_one(op, a[0], out) : count == 2 && fold_two(op, a[0], a[1], out);
}
