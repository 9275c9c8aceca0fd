/* SPDX-License-Identifier: Apache-2.0 */
/* The definition of each operation of mapops.def on single numbers. FLOAT32 is computed in double and rounded once. */
#include "kernels/map/map_formulas.h"

#define VALUE(name, expr)                                                                                              \
    case KERN_MAP_##name:                                                                                              \
        return expr;

#define is_nan(u)                         ((u) != (u))
#define nonzero(u)                        ((u) != 0)
#define absolute                          fabs
#define ratio(u, v)                       ((u) / (v))
#define min_number                        min_f64
#define max_number                        max_f64
#define at_least                          at_least_f64
#define at_most                           at_most_f64
#define muladd                            muladd_f64
#define MAPEXPR(name, arity, types, expr) VALUE(name, expr)
#define MAPTRUTH                          MAPEXPR

static double eval_float(uint32_t code, double a, double b, double c, double p, double q)
{
    switch ((enum kern_map_code)code) {
#include "kernels/core/mapops.def"
        MAP_DOUBLES(VALUE)
    default:
        return NAN;
    }
}

static uint64_t low_bits(uint64_t value, uint64_t bits)
{
    return bits >= 64 ? value : value & ((UINT64_C(1) << bits) - 1);
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

/* Operations whose formulas are the same for either sign; `wide` holds sums. */
#define VALUES_ORDERED(wide)                                                                                           \
    VALUE(MIN, (uint64_t)BASE_MIN(a, b))                                                                               \
    VALUE(MAX, (uint64_t)BASE_MAX(a, b))                                                                               \
    VALUE(MEAN, (uint64_t)(((wide)a + b) / 2))                                                                         \
    VALUE(CLAMP, (uint64_t)BASE_MIN(BASE_MAX(a, p), q))                                                                \
    VALUE(LT, a < b)                                                                                                   \
    VALUE(LE, a <= b)

static uint64_t eval_signed(const struct kern_map_inst *inst, int64_t a, int64_t b, int64_t p, int64_t q)
{
    switch ((enum kern_map_code)inst->code) {
        VALUE(DIV, (uint64_t)divide_i64(a, b))
        VALUE(MOD_TRUNC, (uint64_t)modulus_i64(a, b, false))
        VALUE(MOD_FLOOR, (uint64_t)modulus_i64(a, b, true))
        VALUE(POW, integer_power_signed(a, b))
        VALUES_ORDERED(__int128)
        VALUE(ABS, a < 0 ? 0 - (uint64_t)a : (uint64_t)a)
        VALUE(SIGN, (uint64_t)((a > 0) - (a < 0)))
        VALUE(SHR, (uint64_t)(a >> (b < 0 || b >= p ? 63 : b)))
        VALUE(WRAP, (uint64_t)(p > 0 && p < 64 ? (int64_t)((uint64_t)a << (64 - p)) >> (64 - p) : a))
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
        VALUES_ORDERED(unsigned __int128)
        VALUE(ABS, a)
        VALUE(SIGN, a > 0)
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

/* ---- programs, one element at a time: the reference for the tests of all other kernels ---- */

bool kern_map_any_accepts(const struct kern_op *op)
{
    const struct kern_map *map = &op->u.map;
    if (op->input_count + op->output_count > KERN_TENSORS_MAX || map->inst_count > KERN_MAP_INST_MAX)
        return false;
    for (uint32_t j = 0; j < op->output_count; j++)
        if (map->store[j] >= op->input_count + map->inst_count)
            return false;
    return op->output_count > 0;
}

static void map_element(const struct kern_call *call, const uint32_t *index)
{
    const struct kern_op *op = call->op;
    const struct kern_map *map = &op->u.map;
    struct kern_number registers[KERN_MAP_REGISTERS];
    for (uint32_t i = 0; i < op->input_count; i++) {
        const struct kern_view *view = &op->tensors[i];
        registers[i] =
            kern_number_to(map->load_type[i], kern_read(view->type, call->data[i], kern_offset(view, index)));
    }
    kern_map_eval_program(map, op->input_count, registers);
    for (uint32_t j = 0; j < op->output_count; j++) {
        const struct kern_view *view = &op->tensors[op->input_count + j];
        kern_write(view->type, call->data[op->input_count + j], kern_offset(view, index), registers[map->store[j]]);
    }
}

void kern_map_any_ref_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    kern_each_element(call, call->op->input_count, begin, end, map_element);
}
