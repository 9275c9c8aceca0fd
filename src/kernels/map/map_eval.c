/* What each operation of mapops.def means, on single numbers. FLOAT32 is computed in double and rounded once. */
#include "kernels/map/map.h"
#include "kernels/map/map_integer.h"

#include <math.h>

static double mod_floor(double a, double b)
{
    double rest = fmod(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

static double min_number(double a, double b)
{
    return a < b || b != b ? a : b;
}

static double max_number(double a, double b)
{
    return a > b || b != b ? a : b;
}

static double sigmoid(double a)
{
    return a < 0 ? exp(a) / (1 + exp(a)) : 1 / (1 + exp(-a));
}

/* ln(1 + e^a) without overflow */
static double softplus(double a)
{
    return (a > 0 ? a : a != a ? a : 0) + log1p(exp(-fabs(a)));
}

static double is_infinite(double a, double p)
{
    return (a == INFINITY && !(p < 0)) || (a == -INFINITY && !(p > 0));
}

static double muladd(double a, double b, double c)
{
    return a * b + c;
}

#define VALUE(name, expr)                                                                                              \
    case KERN_MAP_##name:                                                                                              \
        return expr;

static double eval_activation(uint32_t code, double a, double p, double q)
{
    switch ((enum kern_map_code)code) {
        VALUE(ELU, a < 0 ? p * expm1(a) : a)
        VALUE(SELU, a > 0 ? q * a : q * p * expm1(a))
        VALUE(CELU, a != a ? a : fmax(0, a) + fmin(0, p * expm1(a / p)))
        VALUE(SIGMOID, sigmoid(a))
        VALUE(SOFTPLUS, softplus(p * a) / p)
        VALUE(PSOFTPLUS, p * softplus(q * a))
        VALUE(STANH, p * tanh(q * a))
        VALUE(GELU, a / 2 * erfc(-a * 0.70710678118654752440))
        VALUE(SWISH, a * sigmoid(p * a))
    default:
        return NAN;
    }
}

static double eval_math(uint32_t code, double a, double p, double q)
{
    switch ((enum kern_map_code)code) {
        VALUE(SQRT, sqrt(a))
        VALUE(EXP, exp(a))
        VALUE(LOG, log(a))
        VALUE(SIN, sin(a))
        VALUE(COS, cos(a))
        VALUE(TAN, tan(a))
        VALUE(ASIN, asin(a))
        VALUE(ACOS, acos(a))
        VALUE(ATAN, atan(a))
        VALUE(SINH, sinh(a))
        VALUE(COSH, cosh(a))
        VALUE(TANH, tanh(a))
        VALUE(ASINH, asinh(a))
        VALUE(ACOSH, acosh(a))
        VALUE(ATANH, atanh(a))
        VALUE(ERF, erf(a))
        VALUE(CEIL, ceil(a))
        VALUE(FLOOR, floor(a))
        VALUE(TRUNC, trunc(a))
        VALUE(RINT, rint(a))
        VALUE(ROUND_AWAY, round(a))
    default:
        return eval_activation(code, a, p, q);
    }
}

#define is_nan(u)                         ((u) != (u))
#define absolute                          fabs
#define MAPEXPR(name, arity, types, expr) VALUE(name, expr)
#define MAPTRUTH                          MAPEXPR

static double eval_float(uint32_t code, double a, double b, double c, double p, double q)
{
    switch ((enum kern_map_code)code) {
#include "kernels/map/mapops.def"
        VALUE(CONST, p)
        VALUE(MOD_TRUNC, fmod(a, b))
        VALUE(MOD_FLOOR, mod_floor(a, b))
        VALUE(POW, pow(a, b))
        VALUE(MEAN, (a + b) / 2)
        VALUE(ATAN2, atan2(a, b))
        VALUE(MULADD, a * p + q)
        VALUE(FMA, fma(a, b, c))
        VALUE(SELECT, a != 0 ? b : c)
        VALUE(SIGN, (a > 0) - (a < 0))
        VALUE(IS_INF, is_infinite(a, p))
    default:
        return eval_math(code, a, p, q);
    }
}

static uint64_t low_bits(uint64_t value, uint64_t bits)
{
    return bits >= 64 ? value : value & ((UINT64_C(1) << bits) - 1);
}

static uint64_t sign_extend(uint64_t value, uint64_t bits)
{
    return bits == 0 || bits >= 64 ? value : (uint64_t)((int64_t)(value << (64 - bits)) >> (64 - bits));
}

/* Operations whose low bits do not depend on the sign. */
#define VALUE_TO(name, expr)                                                                                           \
    case KERN_MAP_##name:                                                                                              \
        return *out = expr, true;

static bool eval_bits(const struct kern_map_inst *inst, uint64_t a, uint64_t b, uint64_t c, uint64_t p, uint64_t q,
                      uint64_t *out)
{
    switch ((enum kern_map_code)inst->code) {
        VALUE_TO(CONST, p)
        VALUE_TO(ADD, a + b)
        VALUE_TO(SUB, a - b)
        VALUE_TO(MUL, a * b)
        VALUE_TO(MULADD, a * p + q)
        VALUE_TO(FMA, a * b + c)
        VALUE_TO(SELECT, a ? b : c)
        VALUE_TO(NEG, 0 - a)
        VALUE_TO(EQ, a == b)
        VALUE_TO(AND, a && b)
        VALUE_TO(OR, a || b)
        VALUE_TO(XOR, !a != !b)
        VALUE_TO(NOT, !a)
        VALUE_TO(BIT_AND, a & b)
        VALUE_TO(BIT_OR, a | b)
        VALUE_TO(BIT_XOR, a ^ b)
        VALUE_TO(BIT_NOT, ~a)
        VALUE_TO(BIT_COUNT, (uint64_t)__builtin_popcountll(low_bits(a, p)))
        VALUE_TO(SHL, b >= p ? 0 : a << b)
    default:
        return false;
    }
}

static uint64_t eval_signed(const struct kern_map_inst *inst, int64_t a, int64_t b, int64_t p, int64_t q)
{
    switch ((enum kern_map_code)inst->code) {
        VALUE(DIV, (uint64_t)divide_i64(a, b))
        VALUE(MOD_TRUNC, (uint64_t)modulus_i64(a, b, false))
        VALUE(MOD_FLOOR, (uint64_t)modulus_i64(a, b, true))
        VALUE(POW, integer_power_signed(a, b))
        VALUE(MIN, (uint64_t)BASE_MIN(a, b))
        VALUE(MAX, (uint64_t)BASE_MAX(a, b))
        VALUE(MEAN, (uint64_t)(((__int128)a + b) / 2))
        VALUE(CLAMP, (uint64_t)BASE_MIN(BASE_MAX(a, p), q))
        VALUE(ABS, a < 0 ? 0 - (uint64_t)a : (uint64_t)a)
        VALUE(SIGN, (uint64_t)((a > 0) - (a < 0)))
        VALUE(LT, a < b)
        VALUE(LE, a <= b)
        VALUE(SHR, (uint64_t)(a >> (b < 0 || b >= p ? 63 : b)))
        VALUE(WRAP, sign_extend((uint64_t)a, (uint64_t)p))
    default:
        return 0;
    }
}

static uint64_t eval_unsigned(const struct kern_map_inst *inst, uint64_t a, uint64_t b, uint64_t p, uint64_t q)
{
    switch ((enum kern_map_code)inst->code) {
        VALUE(DIV, divide_u64(a, b))
        VALUE(MOD_TRUNC, modulus_u64(a, b))
        VALUE(MOD_FLOOR, modulus_u64(a, b))
        VALUE(POW, integer_power(a, b))
        VALUE(MIN, BASE_MIN(a, b))
        VALUE(MAX, BASE_MAX(a, b))
        VALUE(MEAN, (uint64_t)(((unsigned __int128)a + b) / 2))
        VALUE(CLAMP, BASE_MIN(BASE_MAX(a, p), q))
        VALUE(ABS, a)
        VALUE(SIGN, a > 0)
        VALUE(LT, a < b)
        VALUE(LE, a <= b)
        VALUE(SHR, b >= p ? 0 : a >> b)
        VALUE(WRAP, low_bits(a, p))
    default:
        return 0;
    }
}

struct kern_number kern_map_eval(const struct kern_map_inst *inst, struct kern_number a, struct kern_number b,
                                 struct kern_number c)
{
    struct kern_number p = kern_from_scalar(inst->type, inst->imm[0]);
    struct kern_number q = kern_from_scalar(inst->type, inst->imm[1]);
    struct kern_number out = { .class = kern_type_class(inst->type) };
    if (inst->code == KERN_MAP_CONVERT)
        return kern_number_to(inst->to_type, a);
    if (out.class == KERN_CLASS_FLOAT)
        out.f = eval_float(inst->code, a.f, b.f, c.f, p.f, q.f);
    else if (!eval_bits(inst, a.u, b.u, c.u, p.u, q.u, &out.u))
        out.u = out.class == KERN_CLASS_SIGNED ? eval_signed(inst, a.i, b.i, p.i, q.i)
                                               : eval_unsigned(inst, a.u, b.u, p.u, q.u);
    return kern_number_to(inst->type, out);
}

void kern_map_eval_program(const struct kern_map *map, uint32_t input_count, struct kern_number *registers)
{
    for (uint32_t i = 0; i < map->inst_count; i++) {
        const struct kern_map_inst *inst = &map->inst[i];
        registers[input_count + i] =
            kern_map_eval(inst, registers[inst->src[0]], registers[inst->src[1]], registers[inst->src[2]]);
    }
}
