/* SPDX-License-Identifier: Apache-2.0 */
/* The definition of the element-wise operations against formulas in long double, and integers against written-out
 * results. */
#include "check.h"

#include "kernels/map/map.h"

#include <math.h>
#include <stdio.h>

static bool formula_math(uint8_t code, long double a, long double b, long double *out)
{
    switch ((enum kern_map_code)code) {
    case KERN_MAP_SQRT:
        return *out = sqrtl(a), true;
    case KERN_MAP_RECIP:
        return *out = 1 / a, true;
    case KERN_MAP_EXP:
        return *out = expl(a), true;
    case KERN_MAP_LOG:
        return *out = logl(a), true;
    case KERN_MAP_SIN:
        return *out = sinl(a), true;
    case KERN_MAP_COS:
        return *out = cosl(a), true;
    case KERN_MAP_TAN:
        return *out = sinl(a) / cosl(a), true;
    case KERN_MAP_ASIN:
        return *out = asinl(a), true;
    case KERN_MAP_ACOS:
        return *out = acosl(a), true;
    case KERN_MAP_ATAN:
        return *out = atanl(a), true;
    case KERN_MAP_SINH:
        return *out = expm1l(a) / 2 - expm1l(-a) / 2, true;
    case KERN_MAP_COSH:
        return *out = (expl(a) + expl(-a)) / 2, true;
    case KERN_MAP_TANH:
        return *out = expm1l(2 * a) / (expm1l(2 * a) + 2), true;
    case KERN_MAP_ASINH:
        return *out = asinhl(a), true;
    case KERN_MAP_ACOSH:
        return *out = acoshl(a), true;
    case KERN_MAP_ATANH:
        return *out = (log1pl(a) - log1pl(-a)) / 2, true;
    case KERN_MAP_ERF:
        return *out = erfl(a), true;
    case KERN_MAP_CEIL:
        return *out = ceill(a), true;
    case KERN_MAP_FLOOR:
        return *out = floorl(a), true;
    case KERN_MAP_TRUNC:
        return *out = truncl(a), true;
    case KERN_MAP_RINT:
        return *out = rintl(a), true;
    case KERN_MAP_ROUND_AWAY:
        return *out = a < 0 ? -floorl(0.5L - a) : floorl(a + 0.5L), true;
    case KERN_MAP_ATAN2:
        return *out = atan2l(a, b), true;
    case KERN_MAP_POW:
        return *out = powl(a, b), true;
    default:
        return false;
    }
}

static bool formula_basic(uint8_t code, long double a, long double b, long double c, long double p, long double q,
                          long double *out)
{
    switch ((enum kern_map_code)code) {
    case KERN_MAP_CONST:
        return *out = p, true;
    case KERN_MAP_ADD:
        return *out = a + b, true;
    case KERN_MAP_SUB:
        return *out = a - b, true;
    case KERN_MAP_MUL:
        return *out = a * b, true;
    case KERN_MAP_DIV:
        return *out = a / b, true;
    case KERN_MAP_MOD_TRUNC:
        return *out = a - b * truncl(a / b), true;
    case KERN_MAP_MOD_FLOOR:
        return *out = a - b * floorl(a / b), true;
    case KERN_MAP_MIN:
        return *out = fminl(a, b), true;
    case KERN_MAP_MAX:
        return *out = fmaxl(a, b), true;
    case KERN_MAP_MIN_NAN:
        return *out = isnan(a) || isnan(b) ? a + b : fminl(a, b), true;
    case KERN_MAP_MAX_NAN:
        return *out = isnan(a) || isnan(b) ? a + b : fmaxl(a, b), true;
    case KERN_MAP_MEAN:
        return *out = (a + b) / 2, true;
    case KERN_MAP_MULADD:
        return *out = a * p + q, true;
    case KERN_MAP_FMA:
        return *out = a * b + c, true;
    case KERN_MAP_CLAMP:
        return *out = fminl(fmaxl(a, p), q), true;
    case KERN_MAP_CLAMP_NAN:
        return *out = isnan(a) ? a : fminl(fmaxl(a, p), q), true;
    case KERN_MAP_SELECT:
        return *out = a != 0 ? b : c, true;
    case KERN_MAP_ABS:
        return *out = fabsl(a), true;
    case KERN_MAP_NEG:
        return *out = -a, true;
    case KERN_MAP_SIGN:
        return *out = a > 0 ? 1 : a < 0 ? -1 : 0, true;
    case KERN_MAP_EQ:
        return *out = a == b, true;
    case KERN_MAP_LT:
        return *out = a < b, true;
    case KERN_MAP_LE:
        return *out = a <= b, true;
    case KERN_MAP_AND:
        return *out = a && b, true;
    case KERN_MAP_OR:
        return *out = a || b, true;
    case KERN_MAP_XOR:
        return *out = !a != !b, true;
    case KERN_MAP_NOT:
        return *out = !a, true;
    case KERN_MAP_IS_NAN:
    case KERN_MAP_IS_INF:
        return *out = 0, true;
    default:
        return false;
    }
}

static long double sigmoid(long double a)
{
    return 1 / (1 + expl(-a));
}

static bool formula_activation(uint8_t code, long double a, long double b, long double p, long double q,
                               long double *out)
{
    switch ((enum kern_map_code)code) {
    case KERN_MAP_RELU:
        return *out = fmaxl(a, 0), true;
    case KERN_MAP_LEAKY_RELU:
        return *out = a < 0 ? p * a : a, true;
    case KERN_MAP_ELU:
        return *out = a < 0 ? p * expm1l(a) : a, true;
    case KERN_MAP_SELU:
        return *out = a > 0 ? q * a : q * p * expm1l(a), true;
    case KERN_MAP_CELU:
        return *out = fmaxl(0, a) + fminl(0, p * expm1l(a / p)), true;
    case KERN_MAP_SIGMOID:
        return *out = sigmoid(a), true;
    case KERN_MAP_HARD_SIGMOID:
        return *out = isnan(a) ? a : fmaxl(0, fminl(p * a + q, 1)), true;
    case KERN_MAP_SOFTPLUS:
        return *out = log1pl(expl(p * a)) / p, true;
    case KERN_MAP_PSOFTPLUS:
        return *out = p * log1pl(expl(q * a)), true;
    case KERN_MAP_SOFTSIGN:
        return *out = a / (1 + fabsl(a)), true;
    case KERN_MAP_STANH:
        return *out = p * tanhl(q * a), true;
    case KERN_MAP_THRESH_RELU:
        return *out = a > p ? a : 0, true;
    case KERN_MAP_SHRINK:
        return *out = a < -q ? a + p : a > q ? a - p : 0, true;
    case KERN_MAP_GELU:
        return *out = a / 2 * erfcl(-a / sqrtl(2)), true;
    case KERN_MAP_SWISH:
        return *out = a * sigmoid(p * a), true;
    case KERN_MAP_HARD_SWISH:
        return *out = a * fmaxl(0, fminl(p * a + q, 1)), true;
    case KERN_MAP_PRELU:
        return *out = a < 0 ? b * a : a, true;
    default:
        return false;
    }
}

static bool close_to(double got, long double want, uint8_t type)
{
    bool single = type == DML_TENSOR_DATA_TYPE_FLOAT32;
    if (want != want)
        return got != got;
    /* Sums that cancel lose relative accuracy in double itself. */
    return got == (double)want ||
           fabsl((long double)got - want) <= (single ? 6.1e-8L : 4e-15L) * fabsl(want) + (single ? 1e-15L : 1e-14L);
}

static int check_float_code(struct check_rng *rng, uint8_t code, uint8_t type)
{
    for (uint32_t i = 0; i < 200; i++) {
        struct kern_number n[5];
        long double want = 0;
        for (uint32_t k = 0; k < 5; k++)
            n[k] = kern_number_to(type, kern_from_double(check_uniform(rng, k == 3 ? 0.1 : -3, 3)));
        struct kern_map_inst inst = { code, type, type };
        kern_write(type, &inst.imm[0], 0, n[3]);
        kern_write(type, &inst.imm[1], 0, n[4]);
        if (!formula_basic(code, n[0].f, n[1].f, n[2].f, n[3].f, n[4].f, &want) &&
            !formula_math(code, n[0].f, n[1].f, &want) &&
            !formula_activation(code, n[0].f, n[1].f, n[3].f, n[4].f, &want)) {
            printf("FAIL map code %u has no formula in check_oracle_map.c\n", code);
            return 1;
        }
        double got = kern_map_eval(&inst, n[0], n[1], n[2]).f;
        if (!close_to(got, want, type)) {
            printf("FAIL map code %u type %u of %.9g %.9g %.9g: got %.17g, want %.17Lg\n", code, type, n[0].f, n[1].f,
                   n[2].f, got, want);
            return 1;
        }
    }
    return 0;
}

struct integer_case {
    uint8_t code, type;
    int64_t a, b, p, want;
};

#define I32 DML_TENSOR_DATA_TYPE_INT32
#define U32 DML_TENSOR_DATA_TYPE_UINT32
#define I64 DML_TENSOR_DATA_TYPE_INT64
#define U64 DML_TENSOR_DATA_TYPE_UINT64
static const struct integer_case integer_cases[] = {
    { KERN_MAP_ADD, I32, INT32_MAX, 1, 0, INT32_MIN },
    { KERN_MAP_SUB, U32, 0, 1, 0, UINT32_MAX },
    { KERN_MAP_MUL, I64, INT64_C(1) << 62, 4, 0, 0 },
    { KERN_MAP_DIV, I32, -7, 2, 0, -3 },
    { KERN_MAP_DIV, I32, 7, 0, 0, -1 },
    { KERN_MAP_DIV, U32, 7, 0, 0, UINT32_MAX },
    { KERN_MAP_DIV, I32, INT32_MIN, -1, 0, INT32_MIN },
    { KERN_MAP_DIV, I64, INT64_MIN, -1, 0, INT64_MIN },
    { KERN_MAP_MOD_TRUNC, I32, -7, 3, 0, -1 },
    { KERN_MAP_MOD_FLOOR, I32, -7, 3, 0, 2 },
    { KERN_MAP_MOD_FLOOR, I32, 7, -3, 0, -2 },
    { KERN_MAP_MOD_FLOOR, U32, 7, 3, 0, 1 },
    { KERN_MAP_POW, I32, -3, 3, 0, -27 },
    { KERN_MAP_POW, I32, 2, -1, 0, 0 },
    { KERN_MAP_POW, I32, -1, -3, 0, -1 },
    { KERN_MAP_MIN, I32, -5, 3, 0, -5 },
    { KERN_MAP_MAX, U32, -5, 3, 0, (uint32_t)-5 },
    { KERN_MAP_MEAN, I32, INT32_MAX, INT32_MAX, 0, INT32_MAX },
    { KERN_MAP_MEAN, I32, -3, 0, 0, -1 },
    { KERN_MAP_SHL, U32, 3, 31, 32, INT64_C(0x80000000) },
    { KERN_MAP_SHL, U32, 3, 32, 32, 0 },
    { KERN_MAP_SHL, I32, 200, 9, 8, 0 },
    { KERN_MAP_SHR, I32, -8, 1, 32, -4 },
    { KERN_MAP_SHR, I32, -8, 40, 32, -1 },
    { KERN_MAP_SHR, U32, INT64_C(0x80000000), 31, 32, 1 },
    { KERN_MAP_WRAP, I32, 200, 0, 8, -56 },
    { KERN_MAP_WRAP, U32, 300, 0, 8, 44 },
    { KERN_MAP_BIT_COUNT, I32, -1, 0, 8, 8 },
    { KERN_MAP_BIT_COUNT, U64, -1, 0, 64, 64 },
    { KERN_MAP_ABS, I32, INT32_MIN, 0, 0, INT32_MIN },
    { KERN_MAP_NEG, U32, 1, 0, 0, UINT32_MAX },
    { KERN_MAP_SIGN, I64, INT64_MIN, 0, 0, -1 },
    { KERN_MAP_LT, I32, -1, 1, 0, 1 },
    { KERN_MAP_LT, U32, -1, 1, 0, 0 },
    { KERN_MAP_XOR, I32, 1, 2, 0, 0 },
    { KERN_MAP_NOT, I32, 0, 0, 0, 1 },
    { KERN_MAP_BIT_NOT, I32, 0, 0, 0, -1 },
};
#undef I32
#undef U32
#undef I64
#undef U64

static struct kern_number integer(uint8_t type, int64_t value)
{
    return kern_number_to(type, (struct kern_number){ .class = KERN_CLASS_SIGNED, .i = value });
}

static int check_integers(void)
{
    int failures = 0;
    for (uint32_t i = 0; i < ARRAY_SIZE(integer_cases); i++) {
        const struct integer_case *c = &integer_cases[i];
        struct kern_map_inst inst = { c->code, c->type, c->type };
        kern_write(c->type, &inst.imm[0], 0, integer(c->type, c->p));
        struct kern_number got =
            kern_map_eval(&inst, integer(c->type, c->a), integer(c->type, c->b), integer(c->type, 0));
        if (got.i != c->want) {
            printf("FAIL integer case %u: got %lld, want %lld\n", i, (long long)got.i, (long long)c->want);
            failures++;
        }
    }
    return failures;
}

int check_oracle_map(struct check_rng *rng)
{
    static const char types[] = {
#define MAPOP(name, arity, types, formula) #types[0],
#include "kernels/core/mapops.def"
    };
    int failures = check_integers();
    for (uint8_t code = 0; code < KERN_MAP_CODE_COUNT; code++) {
        if (types[code] == 'I' || code == KERN_MAP_CONVERT)
            continue;
        failures += check_float_code(rng, code, DML_TENSOR_DATA_TYPE_FLOAT32);
        failures += check_float_code(rng, code, DML_TENSOR_DATA_TYPE_FLOAT64);
    }
    return failures;
}
