/* What each operation of mapops.def means, on single numbers. FLOAT32 is computed in double and rounded once. */
#include "kernels/map/map.h"

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

static double eval_activation(uint32_t code, double a, double p, double q)
{
    switch ((enum kern_map_code)code) {
    case KERN_MAP_ELU:
        return a < 0 ? p * expm1(a) : a;
    case KERN_MAP_SELU:
        return a > 0 ? q * a : q * p * expm1(a);
    case KERN_MAP_CELU:
        return a != a ? a : fmax(0, a) + fmin(0, p * expm1(a / p));
    case KERN_MAP_SIGMOID:
        return sigmoid(a);
    case KERN_MAP_SOFTPLUS:
        return softplus(p * a) / p;
    case KERN_MAP_PSOFTPLUS:
        return p * softplus(q * a);
    case KERN_MAP_STANH:
        return p * tanh(q * a);
    case KERN_MAP_GELU:
        return a / 2 * erfc(-a * 0.70710678118654752440);
    case KERN_MAP_SWISH:
        return a * sigmoid(p * a);
    default:
        return NAN;
    }
}

static double eval_math(uint32_t code, double a, double p, double q)
{
    switch ((enum kern_map_code)code) {
    case KERN_MAP_SQRT:
        return sqrt(a);
    case KERN_MAP_EXP:
        return exp(a);
    case KERN_MAP_LOG:
        return log(a);
    case KERN_MAP_SIN:
        return sin(a);
    case KERN_MAP_COS:
        return cos(a);
    case KERN_MAP_TAN:
        return tan(a);
    case KERN_MAP_ASIN:
        return asin(a);
    case KERN_MAP_ACOS:
        return acos(a);
    case KERN_MAP_ATAN:
        return atan(a);
    case KERN_MAP_SINH:
        return sinh(a);
    case KERN_MAP_COSH:
        return cosh(a);
    case KERN_MAP_TANH:
        return tanh(a);
    case KERN_MAP_ASINH:
        return asinh(a);
    case KERN_MAP_ACOSH:
        return acosh(a);
    case KERN_MAP_ATANH:
        return atanh(a);
    case KERN_MAP_ERF:
        return erf(a);
    case KERN_MAP_CEIL:
        return ceil(a);
    case KERN_MAP_FLOOR:
        return floor(a);
    case KERN_MAP_TRUNC:
        return trunc(a);
    case KERN_MAP_RINT:
        return rint(a);
    case KERN_MAP_ROUND_AWAY:
        return round(a);
    default:
        return eval_activation(code, a, p, q);
    }
}

#define is_nan(u) ((u) != (u))
#define absolute  fabs
#define MAPEXPR(name, arity, types, expr)                                                                              \
    case KERN_MAP_##name:                                                                                              \
        return expr;
#define MAPTRUTH MAPEXPR

static double eval_float(uint32_t code, double a, double b, double c, double p, double q)
{
    switch ((enum kern_map_code)code) {
#include "kernels/map/mapops.def"
    case KERN_MAP_CONST:
        return p;
    case KERN_MAP_MOD_TRUNC:
        return fmod(a, b);
    case KERN_MAP_MOD_FLOOR:
        return mod_floor(a, b);
    case KERN_MAP_POW:
        return pow(a, b);
    case KERN_MAP_MEAN:
        return (a + b) / 2;
    case KERN_MAP_ATAN2:
        return atan2(a, b);
    case KERN_MAP_MULADD:
        return a * p + q;
    case KERN_MAP_FMA:
        return fma(a, b, c);
    case KERN_MAP_SELECT:
        return a != 0 ? b : c;
    case KERN_MAP_SIGN:
        return (a > 0) - (a < 0);
    case KERN_MAP_IS_INF:
        return is_infinite(a, p);
    default:
        return eval_math(code, a, p, q);
    }
}

static uint64_t power(uint64_t base, uint64_t exponent)
{
    uint64_t result = 1;
    for (; exponent; exponent >>= 1, base *= base)
        if (exponent & 1)
            result *= base;
    return result;
}

/* a to a negative power: 1 / a^|b|, truncated. */
static uint64_t power_signed(int64_t base, int64_t exponent)
{
    if (exponent >= 0)
        return power((uint64_t)base, (uint64_t)exponent);
    if (base == 1 || base == -1)
        return exponent & 1 ? (uint64_t)base : 1;
    return base == 0 ? UINT64_MAX : 0;
}

static int64_t divide_signed(int64_t a, int64_t b)
{
    if (b == 0)
        return -1;
    return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}

static int64_t mod_signed(int64_t a, int64_t b, bool floored)
{
    int64_t rest = b == 0 || b == -1 ? 0 : a % b;
    return floored && rest && (rest < 0) != (b < 0) ? rest + b : rest;
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
static bool eval_bits(const struct kern_map_inst *inst, uint64_t a, uint64_t b, uint64_t c, uint64_t p, uint64_t q,
                      uint64_t *out)
{
    switch ((enum kern_map_code)inst->code) {
    case KERN_MAP_CONST:
        return *out = p, true;
    case KERN_MAP_ADD:
        return *out = a + b, true;
    case KERN_MAP_SUB:
        return *out = a - b, true;
    case KERN_MAP_MUL:
        return *out = a * b, true;
    case KERN_MAP_MULADD:
        return *out = a * p + q, true;
    case KERN_MAP_FMA:
        return *out = a * b + c, true;
    case KERN_MAP_SELECT:
        return *out = a ? b : c, true;
    case KERN_MAP_NEG:
        return *out = 0 - a, true;
    case KERN_MAP_EQ:
        return *out = a == b, true;
    case KERN_MAP_AND:
        return *out = a && b, true;
    case KERN_MAP_OR:
        return *out = a || b, true;
    case KERN_MAP_XOR:
        return *out = !a != !b, true;
    case KERN_MAP_NOT:
        return *out = !a, true;
    case KERN_MAP_BIT_AND:
        return *out = a & b, true;
    case KERN_MAP_BIT_OR:
        return *out = a | b, true;
    case KERN_MAP_BIT_XOR:
        return *out = a ^ b, true;
    case KERN_MAP_BIT_NOT:
        return *out = ~a, true;
    case KERN_MAP_BIT_COUNT:
        return *out = (uint64_t)__builtin_popcountll(low_bits(a, p)), true;
    case KERN_MAP_SHL:
        return *out = b >= p ? 0 : a << b, true;
    default:
        return false;
    }
}

static uint64_t eval_signed(const struct kern_map_inst *inst, int64_t a, int64_t b, int64_t p, int64_t q)
{
    switch ((enum kern_map_code)inst->code) {
    case KERN_MAP_DIV:
        return (uint64_t)divide_signed(a, b);
    case KERN_MAP_MOD_TRUNC:
        return (uint64_t)mod_signed(a, b, false);
    case KERN_MAP_MOD_FLOOR:
        return (uint64_t)mod_signed(a, b, true);
    case KERN_MAP_POW:
        return power_signed(a, b);
    case KERN_MAP_MIN:
        return (uint64_t)BASE_MIN(a, b);
    case KERN_MAP_MAX:
        return (uint64_t)BASE_MAX(a, b);
    case KERN_MAP_MEAN:
        return (uint64_t)(((__int128)a + b) / 2);
    case KERN_MAP_CLAMP:
        return (uint64_t)BASE_MIN(BASE_MAX(a, p), q);
    case KERN_MAP_ABS:
        return a < 0 ? 0 - (uint64_t)a : (uint64_t)a;
    case KERN_MAP_SIGN:
        return (uint64_t)((a > 0) - (a < 0));
    case KERN_MAP_LT:
        return a < b;
    case KERN_MAP_LE:
        return a <= b;
    case KERN_MAP_SHR:
        return (uint64_t)(a >> (b < 0 || b >= p ? 63 : b));
    case KERN_MAP_WRAP:
        return sign_extend((uint64_t)a, (uint64_t)p);
    default:
        return 0;
    }
}

static uint64_t eval_unsigned(const struct kern_map_inst *inst, uint64_t a, uint64_t b, uint64_t p, uint64_t q)
{
    switch ((enum kern_map_code)inst->code) {
    case KERN_MAP_DIV:
        return b ? a / b : UINT64_MAX;
    case KERN_MAP_MOD_TRUNC:
    case KERN_MAP_MOD_FLOOR:
        return b ? a % b : 0;
    case KERN_MAP_POW:
        return power(a, b);
    case KERN_MAP_MIN:
        return BASE_MIN(a, b);
    case KERN_MAP_MAX:
        return BASE_MAX(a, b);
    case KERN_MAP_MEAN:
        return (uint64_t)(((unsigned __int128)a + b) / 2);
    case KERN_MAP_CLAMP:
        return BASE_MIN(BASE_MAX(a, p), q);
    case KERN_MAP_ABS:
        return a;
    case KERN_MAP_SIGN:
        return a > 0;
    case KERN_MAP_LT:
        return a < b;
    case KERN_MAP_LE:
        return a <= b;
    case KERN_MAP_SHR:
        return b >= p ? 0 : a >> b;
    case KERN_MAP_WRAP:
        return low_bits(a, p);
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
