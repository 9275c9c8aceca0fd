// SPDX-License-Identifier: Apache-2.0
/* The operations of kernels/core/mapops.def on integer registers. Included once per width: S is the signed type, U the unsigned
 * one, BITS their width, ONES an unsigned constant of all ones. */

U power(U base, U exponent)
{
    U result = U(1);
    for (; exponent != U(0); exponent >>= 1, base *= base)
        result *= (exponent & U(1)) != U(0) ? base : U(1);
    return result;
}

U power_signed(S base, S exponent)
{
    if (exponent >= S(0))
        return power(U(base), U(exponent));
    if (base == S(1) || base == S(-1))
        return (exponent & S(1)) != S(0) ? U(base) : U(1);
    return base == S(0) ? ONES : U(0);
}

S divide(S a, S b)
{
    if (b == S(0))
        return S(-1);
    return b == S(-1) ? S(U(0) - U(a)) : a / b;
}

/* Of the absolute values: GLSL leaves % of negative numbers undefined. */
S modulus(S a, S b, bool floored)
{
    if (b == S(0) || b == S(-1))
        return S(0);
    U ua = a < S(0) ? U(0) - U(a) : U(a), ub = b < S(0) ? U(0) - U(b) : U(b);
    S rest = S(ua % ub);
    rest = a < S(0) ? -rest : rest;
    return floored && rest != S(0) && (rest < S(0)) != (b < S(0)) ? rest + b : rest;
}

U low_bits(U value, U bits)
{
    return bits >= U(BITS) ? value : value & ((U(1) << bits) - U(1));
}

U sign_extend(S value, U bits)
{
    return bits == U(0) || bits >= U(BITS) ? U(value) : U(S(U(value) << (U(BITS) - bits)) >> (U(BITS) - bits));
}

S mean(S a, S b)
{
    S down = (a & b) + ((a ^ b) >> 1);
    return down < S(0) && ((a ^ b) & S(1)) != S(0) ? down + S(1) : down;
}

bool eval_bits(uint code, U a, U b, U c, U p, U q, out U result)
{
    switch (code) {
    case KERN_MAP_CONST:
        result = p;
        return true;
    case KERN_MAP_ADD:
        result = a + b;
        return true;
    case KERN_MAP_SUB:
        result = a - b;
        return true;
    case KERN_MAP_MUL:
        result = a * b;
        return true;
    case KERN_MAP_MULADD:
        result = a * p + q;
        return true;
    case KERN_MAP_FMA:
        result = a * b + c;
        return true;
    case KERN_MAP_SELECT:
        result = a != U(0) ? b : c;
        return true;
    case KERN_MAP_NEG:
        result = U(0) - a;
        return true;
    case KERN_MAP_EQ:
        result = U(a == b ? 1 : 0);
        return true;
    case KERN_MAP_AND:
        result = U(a != U(0) && b != U(0) ? 1 : 0);
        return true;
    case KERN_MAP_OR:
        result = U(a != U(0) || b != U(0) ? 1 : 0);
        return true;
    case KERN_MAP_XOR:
        result = U((a != U(0)) != (b != U(0)) ? 1 : 0);
        return true;
    case KERN_MAP_NOT:
        result = U(a == U(0) ? 1 : 0);
        return true;
    case KERN_MAP_BIT_AND:
        result = a & b;
        return true;
    case KERN_MAP_BIT_OR:
        result = a | b;
        return true;
    case KERN_MAP_BIT_XOR:
        result = a ^ b;
        return true;
    case KERN_MAP_BIT_NOT:
        result = ~a;
        return true;
    case KERN_MAP_BIT_COUNT:
        result = U(COUNT_BITS(low_bits(a, p)));
        return true;
    case KERN_MAP_SHL:
        result = b >= p ? U(0) : a << b;
        return true;
    default:
        result = U(0);
        return false;
    }
}

U eval_signed(uint code, S a, S b, S p, S q)
{
    switch (code) {
    case KERN_MAP_DIV:
        return U(divide(a, b));
    case KERN_MAP_MOD_TRUNC:
        return U(modulus(a, b, false));
    case KERN_MAP_MOD_FLOOR:
        return U(modulus(a, b, true));
    case KERN_MAP_POW:
        return power_signed(a, b);
    case KERN_MAP_MIN:
        return U(min(a, b));
    case KERN_MAP_MAX:
        return U(max(a, b));
    case KERN_MAP_MEAN:
        return U(mean(a, b));
    case KERN_MAP_CLAMP:
        return U(min(max(a, p), q));
    case KERN_MAP_ABS:
        return a < S(0) ? U(0) - U(a) : U(a);
    case KERN_MAP_SIGN:
        return U(S(a > S(0) ? 1 : 0) - S(a < S(0) ? 1 : 0));
    case KERN_MAP_LT:
        return U(a < b ? 1 : 0);
    case KERN_MAP_LE:
        return U(a <= b ? 1 : 0);
    case KERN_MAP_SHR:
        return U(a >> (b < S(0) || b >= p ? S(BITS - 1) : b));
    case KERN_MAP_WRAP:
        return sign_extend(a, U(p));
    default:
        return U(0);
    }
}

U eval_unsigned(uint code, U a, U b, U p, U q)
{
    switch (code) {
    case KERN_MAP_DIV:
        return b == U(0) ? ONES : a / b;
    case KERN_MAP_MOD_TRUNC:
    case KERN_MAP_MOD_FLOOR:
        return b == U(0) ? U(0) : a % b;
    case KERN_MAP_POW:
        return power(a, b);
    case KERN_MAP_MIN:
        return min(a, b);
    case KERN_MAP_MAX:
        return max(a, b);
    case KERN_MAP_MEAN:
        return (a & b) + ((a ^ b) >> 1);
    case KERN_MAP_CLAMP:
        return min(max(a, p), q);
    case KERN_MAP_ABS:
        return a;
    case KERN_MAP_SIGN:
        return U(a > U(0) ? 1 : 0);
    case KERN_MAP_LT:
        return U(a < b ? 1 : 0);
    case KERN_MAP_LE:
        return U(a <= b ? 1 : 0);
    case KERN_MAP_SHR:
        return b >= p ? U(0) : a >> b;
    case KERN_MAP_WRAP:
        return low_bits(a, p);
    default:
        return U(0);
    }
}

U eval_int(uint code, bool is_signed, U a, U b, U c, U p, U q)
{
    U result;
    if (eval_bits(code, a, b, c, p, q, result))
        return result;
    return is_signed ? eval_signed(code, S(a), S(b), S(p), S(q)) : eval_unsigned(code, a, b, p, q);
}
