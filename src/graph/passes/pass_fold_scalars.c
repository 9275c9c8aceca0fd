/* SPDX-License-Identifier: Apache-2.0 */
/* Constants of a single FLOAT32, FLOAT16 or FLOAT64 element are folded into the element-wise programs (and epilogues)
 * that read them. Sums and products with them become one multiply-add, small powers products, and then a spelled-out
 * GELU or SWISH one operation, or the five by which kernels recognise GELU by tanh. Sums and products are exact; powers
 * and activations may differ by rounding. Divisions become multiplications for powers of two only. */
#include "graph/passes/pass.h"

#include "base/half.h"

#include <math.h>

#define F32              DML_TENSOR_DATA_TYPE_FLOAT32
#define F16              DML_TENSOR_DATA_TYPE_FLOAT16
#define F64              DML_TENSOR_DATA_TYPE_FLOAT64
#define SCALAR_BYTES_MAX 256 /* of the constant that a scalar is in: looking may copy all of it */

/* The value of an input that is one constant number. */
static bool scalar_of(struct graph *graph, const struct graph_program *program, uint32_t input, float *out)
{
    const struct graph_operand *operand = &program->inputs[input];
    const DML_TENSOR_DATA_TYPE type = operand->view.type;
    uint16_t half;
    double wide;
    if (operand->value == GRAPH_NONE || (type != F32 && type != F16 && type != F64) ||
        program->map.load_type[input] != F32)
        return false;
    for (uint32_t d = 0; d < operand->view.rank; d++)
        if (operand->view.sizes[d] > 1 && operand->view.strides[d] != 0)
            return false;
    int64_t at = graph_view_byte_offset(&operand->view);
    uint64_t bytes = graph->values[operand->value].size_bytes;
    if (graph->values[operand->value].place != GRAPH_CONSTANT || bytes > SCALAR_BYTES_MAX || at < 0 ||
        (uint64_t)at + kern_type_bytes(type) > bytes)
        return false;
    const char *data = graph_constant_data(graph, operand->value);
    if (!data)
        return false;
    memcpy(type == F32 ? (void *)out : type == F16 ? (void *)&half : &wide, data + at, kern_type_bytes(type));
    if (type != F32)
        *out = type == F16 ? base_half_to_float(half) : (float)wide;
    return true;
}

static bool append(struct graph_program *program, const struct kern_map_inst *inst, uint8_t *out_reg)
{
    if (program->map.inst_count == KERN_MAP_INST_MAX)
        return false;
    *out_reg = (uint8_t)(program->input_count + program->map.inst_count);
    program->map.inst[program->map.inst_count++] = *inst;
    return true;
}

/* A register of the old program in the new one; a scalar gets its CONST just before its first use. */
static bool place_source(struct graph_program *out, const float *scalars, uint32_t scalar_bits, uint32_t reg,
                         uint8_t *regs, uint8_t *out_reg)
{
    struct kern_map_inst constant = { .code = KERN_MAP_CONST, .type = F32, .to_type = F32 };
    if (reg < KERN_TENSORS_MAX && (scalar_bits >> reg & 1) && regs[reg] == UINT8_MAX) {
        constant.imm[0].f32 = scalars[reg];
        if (!append(out, &constant, &regs[reg]))
            return false;
    }
    *out_reg = regs[reg];
    return true;
}

/* The program without inputs that are single constants; false if there are none, or too many instructions. */
static bool inline_scalars(struct graph *graph, const struct graph_program *in, struct graph_program *out)
{
    uint8_t regs[KERN_TENSORS_MAX + KERN_MAP_INST_MAX];
    float scalars[KERN_TENSORS_MAX];
    uint32_t bits = 0;
    memset(out, 0, sizeof(*out));
    memset(regs, UINT8_MAX, sizeof(regs));
    for (uint32_t i = 0; i < in->input_count; i++) {
        if (in->map.store[0] != i && scalar_of(graph, in, i, &scalars[i])) {
            bits |= UINT32_C(1) << i;
            continue;
        }
        regs[i] = (uint8_t)out->input_count;
        out->inputs[out->input_count] = in->inputs[i];
        out->map.load_type[out->input_count++] = in->map.load_type[i];
    }
    for (uint32_t i = 0; bits && i < in->map.inst_count; i++) {
        struct kern_map_inst inst = in->map.inst[i];
        for (uint32_t s = 0; s < ARRAY_SIZE(inst.src); s++) {
            if (s >= kern_map_arity[inst.code])
                inst.src[s] = 0;
            else if (!place_source(out, scalars, bits, in->map.inst[i].src[s], regs, &inst.src[s]))
                return false;
        }
        if (!append(out, &inst, &regs[in->input_count + i]))
            return false;
    }
    out->map.store[0] = regs[in->map.store[0]];
    return bits != 0;
}

/* ---- one instruction --------------------------------------------------------------------------------------------- */

static const struct kern_map_inst *inst_of(const struct graph_program *program, uint32_t reg)
{
    if (reg < program->input_count)
        return NULL;
    const struct kern_map_inst *inst = &program->map.inst[reg - program->input_count];
    return inst->type == F32 && inst->to_type == F32 ? inst : NULL;
}

static bool constant_of(const struct graph_program *program, uint32_t reg, float *out)
{
    const struct kern_map_inst *inst = inst_of(program, reg);
    if (!inst || inst->code != KERN_MAP_CONST)
        return false;
    *out = inst->imm[0].f32;
    return true;
}

/* 1 / c without rounding */
static bool has_inverse(float c)
{
    int exponent;
    return isfinite(c) && fabsf(frexpf(c, &exponent)) == 0.5f && exponent > -120 && exponent < 120;
}

/* x * p + q for operations with a constant (adding -0 is the identity). */
static bool to_muladd(const struct graph_program *program, struct kern_map_inst *inst)
{
    float left, right, p = 1, q = -0.0f;
    if (inst->type != F32 || inst->to_type != F32 || kern_map_arity[inst->code] != 2)
        return false;
    bool first = constant_of(program, inst->src[0], &left), second = constant_of(program, inst->src[1], &right);
    if (first == second)
        return false;
    float c = first ? left : right;
    if (inst->code == KERN_MAP_MUL)
        p = c;
    else if (inst->code == KERN_MAP_DIV && second && has_inverse(c))
        p = 1 / c;
    else if (inst->code == KERN_MAP_ADD)
        q = c;
    else if (inst->code == KERN_MAP_SUB) {
        p = first ? -1 : 1;
        q = first ? c : -c;
    } else
        return false;
    *inst = (struct kern_map_inst){ KERN_MAP_MULADD, F32, F32, { inst->src[first ? 1 : 0] }, { { p }, { q } } };
    return true;
}

/* Later instructions read x instead of x * 1 + -0, unless nothing else is computed. */
static bool skip_identity(struct graph_program *program, uint32_t at)
{
    const struct kern_map_inst *inst = &program->map.inst[at];
    const uint32_t reg = program->input_count + at;
    if (inst->type != F32 || inst->to_type != F32 || inst->code != KERN_MAP_MULADD || inst->imm[0].f32 != 1 ||
        inst->imm[1].f32 != 0 || !signbit(inst->imm[1].f32) || program->map.inst_count < 2)
        return false;
    bool used = false;
    for (uint32_t i = at + 1; i < program->map.inst_count; i++)
        for (uint32_t k = 0; k < kern_map_arity[program->map.inst[i].code]; k++)
            if (program->map.inst[i].src[k] == reg) {
                program->map.inst[i].src[k] = inst->src[0];
                used = true;
            }
    if (program->map.store[0] == reg && inst->src[0] >= program->input_count) {
        program->map.store[0] = inst->src[0];
        used = true;
    }
    return used;
}

static struct kern_map_inst binary(uint8_t code, uint32_t a, uint32_t b)
{
    return (struct kern_map_inst){ code, F32, F32, { (uint8_t)a, (uint8_t)b }, { { 0 } } };
}

/* Makes room for `count` instructions before instruction `at`, which the caller fills in; false if there is none. */
static bool insert(struct graph_program *program, uint32_t at, uint32_t count)
{
    struct kern_map *map = &program->map;
    const uint32_t first = program->input_count + at;
    if (map->inst_count + count > KERN_MAP_INST_MAX)
        return false;
    for (uint32_t i = at; i < map->inst_count; i++)
        for (uint32_t s = 0; s < kern_map_arity[map->inst[i].code]; s++)
            if (map->inst[i].src[s] >= first)
                map->inst[i].src[s] = (uint8_t)(map->inst[i].src[s] + count);
    memmove(map->inst + at + count, map->inst + at, sizeof(map->inst[0]) * (map->inst_count - at));
    if (map->store[0] >= first)
        map->store[0] = (uint8_t)(map->store[0] + count);
    map->inst_count = (uint8_t)(map->inst_count + count);
    return true;
}

/* Powers by 2, 3, 4 and -1 as products and a quotient, which have the same values for infinities, zeros and NaN. Roots
 * do not: the power of -0 by 1/2 is +0. */
static bool to_product(struct graph_program *program, uint32_t i)
{
    struct kern_map_inst *inst = &program->map.inst[i];
    const uint32_t x = inst->src[0];
    float power;
    if (inst->code != KERN_MAP_POW || inst->type != F32 || inst->to_type != F32 ||
        !constant_of(program, inst->src[1], &power))
        return false;
    if (power == 2 || power == -1) {
        *inst = power == 2 ? binary(KERN_MAP_MUL, x, x) : binary(KERN_MAP_RECIP, x, 0);
        return true;
    }
    if ((power != 3 && power != 4) || !insert(program, i, 1))
        return false;
    const uint32_t square = program->input_count + i;
    inst[0] = binary(KERN_MAP_MUL, x, x);
    inst[1] = binary(KERN_MAP_MUL, square, power == 3 ? x : square);
    return true;
}

/* ---- GELU and SWISH ---------------------------------------------------------------------------------------------- */

#define FACTORS_MAX 2

struct factors {
    double constant;
    uint8_t regs[FACTORS_MAX];
    uint32_t count;
};

/* Register `reg` as a constant times at most two registers that are not multiplied by constants. */
static bool take_factors(const struct graph_program *program, uint32_t reg, struct factors *out)
{
    const struct kern_map_inst *inst = inst_of(program, reg);
    float c;
    while (inst && ((inst->code == KERN_MAP_MULADD && inst->imm[1].f32 == 0) ||
                    (inst->code == KERN_MAP_DIV && constant_of(program, inst->src[1], &c)))) {
        out->constant = inst->code == KERN_MAP_DIV ? out->constant / c : out->constant * inst->imm[0].f32;
        reg = inst->src[0];
        inst = inst_of(program, reg);
    }
    if (inst && inst->code == KERN_MAP_MUL && out->count == 0)
        return take_factors(program, inst->src[0], out) && out->count < FACTORS_MAX &&
               take_factors(program, inst->src[1], out);
    if (out->count == FACTORS_MAX)
        return false;
    out->regs[out->count++] = (uint8_t)reg;
    return true;
}

#define ROUNDED_F32 1e-6
#define ROUNDED_F16 0x1p-11 /* FLOAT16 models have 1.4140625 for sqrt(2) */

static bool close_to(double a, double b, double error)
{
    return fabs(a - b) <= error * fabs(b);
}

/* `argument` is register x times *out_factor. */
static bool argument_of(const struct graph_program *program, uint32_t argument, uint32_t x, double *out_factor)
{
    struct factors f = { .constant = 1 };
    if (!take_factors(program, argument, &f) || f.count != 1 || f.regs[0] != x)
        return false;
    *out_factor = f.constant;
    return true;
}

/* constant * x * s is GELU or SWISH of x; the root in GELU may be off by `error`. */
static bool gate(const struct graph_program *program, double error, double constant, uint32_t x, uint32_t s,
                 struct kern_map_inst *out)
{
    const struct kern_map_inst *inst = inst_of(program, s);
    double factor;
    *out = (struct kern_map_inst){ KERN_MAP_GELU, F32, F32, { (uint8_t)x }, { { 0 } } };
    if (inst && inst->code == KERN_MAP_SIGMOID && constant == 1 && argument_of(program, inst->src[0], x, &factor)) {
        out->code = KERN_MAP_SWISH;
        out->imm[0].f32 = (float)factor;
        return (double)out->imm[0].f32 == factor;
    }
    if (!inst || inst->code != KERN_MAP_MULADD || inst->imm[0].f32 != inst->imm[1].f32)
        return false;
    const struct kern_map_inst *erf = inst_of(program, inst->src[0]);
    return erf && erf->code == KERN_MAP_ERF && close_to(constant * inst->imm[0].f32, 0.5, ROUNDED_F32) &&
           argument_of(program, erf->src[0], x, &factor) && close_to(factor, M_SQRT1_2, error);
}

static bool to_gate(const struct graph_program *program, double error, uint32_t reg, struct kern_map_inst *inst)
{
    struct factors f = { .constant = 1 };
    struct kern_map_inst made;
    if ((inst->code != KERN_MAP_MUL && inst->code != KERN_MAP_MULADD) || !inst_of(program, reg) ||
        !take_factors(program, reg, &f) || f.count != 2)
        return false;
    if (!gate(program, error, f.constant, f.regs[0], f.regs[1], &made) &&
        !gate(program, error, f.constant, f.regs[1], f.regs[0], &made))
        return false;
    *inst = made;
    return true;
}

/* ---- GELU by tanh ------------------------------------------------------------------------------------------------ */

#define DEGREE 3

/* Coefficients of powers of a register; degree < 0: it is not such a polynomial. */
struct polynomial {
    double c[DEGREE + 1];
    int degree;
};

static struct polynomial polynomial_of_inst(const struct kern_map_inst *inst, const struct polynomial *a,
                                            const struct polynomial *b)
{
    static const struct polynomial none = { { 0 }, -1 };
    struct polynomial out = { { 0 }, a->degree };
    if (inst->code == KERN_MAP_CONST)
        return (struct polynomial){ { inst->imm[0].f32 }, 0 };
    if (a->degree < 0 || (kern_map_arity[inst->code] > 1 && b->degree < 0))
        return none;
    if (inst->code == KERN_MAP_MULADD) {
        for (int d = 0; d <= a->degree; d++)
            out.c[d] = a->c[d] * inst->imm[0].f32;
        out.c[0] += inst->imm[1].f32;
    } else if (inst->code == KERN_MAP_ADD || inst->code == KERN_MAP_SUB) {
        out.degree = BASE_MAX(a->degree, b->degree);
        for (int d = 0; d <= out.degree; d++)
            out.c[d] = inst->code == KERN_MAP_ADD ? a->c[d] + b->c[d] : a->c[d] - b->c[d];
    } else if (inst->code == KERN_MAP_DIV && b->degree == 0) {
        for (int d = 0; d <= a->degree; d++)
            out.c[d] = a->c[d] / b->c[0];
    } else if (inst->code == KERN_MAP_MUL && a->degree + b->degree <= DEGREE) {
        out.degree = a->degree + b->degree;
        for (int d = 0; d <= a->degree; d++)
            for (int e = 0; e <= b->degree; e++)
                out.c[d + e] += a->c[d] * b->c[e];
    } else
        return none;
    return out;
}

/* Register `reg` as a polynomial of register x. */
static struct polynomial polynomial_of(const struct graph_program *program, uint32_t reg, uint32_t x)
{
    struct polynomial regs[KERN_TENSORS_MAX + KERN_MAP_INST_MAX];
    for (uint32_t r = 0; r <= reg; r++) {
        const struct kern_map_inst *inst = inst_of(program, r);
        regs[r] = (struct polynomial){ { 0, 1 }, r == x ? 1 : -1 };
        if (inst && r != x)
            regs[r] = polynomial_of_inst(inst, &regs[inst->src[0]], &regs[inst->src[1]]);
    }
    return regs[reg];
}

/* constant * x * s is x * sigmoid(x * (p + q * x * x)): s is that sigmoid, or 1 + tanh of half its operand. */
static bool cubic_gate(const struct graph_program *program, double constant, uint32_t x, uint32_t s, float *p, float *q)
{
    const struct kern_map_inst *inst = inst_of(program, s);
    double scale = 1;
    if (inst && inst->code == KERN_MAP_MULADD && inst->imm[0].f32 == inst->imm[1].f32) {
        constant *= 2 * (double)inst->imm[0].f32;
        scale = 2;
        inst = inst_of(program, inst->src[0]);
    }
    if (!inst || inst->code != (scale == 2 ? KERN_MAP_TANH : KERN_MAP_SIGMOID) || constant != 1)
        return false;
    const struct polynomial f = polynomial_of(program, inst->src[0], x);
    *p = (float)(f.c[1] * scale);
    *q = (float)(f.c[DEGREE] * scale);
    return f.degree > 0 && f.c[0] == 0 && f.c[2] == 0 && isfinite(*p) && isfinite(*q);
}

/* Instruction i as the last of the five that read_cubic of kernels/core/epilogue.c matches, or as SWISH; only where the
 * program gets shorter. */
static bool to_cubic_gate(struct graph_program *program, uint32_t i)
{
    const struct kern_map_inst *inst = &program->map.inst[i];
    const uint32_t reg = program->input_count + i;
    struct factors f = { .constant = 1 };
    float p, q;
    if ((inst->code != KERN_MAP_MUL && inst->code != KERN_MAP_MULADD) || !inst_of(program, reg) ||
        !take_factors(program, reg, &f) || f.count != 2)
        return false;
    const bool first = cubic_gate(program, f.constant, f.regs[0], f.regs[1], &p, &q);
    if (!first && !cubic_gate(program, f.constant, f.regs[1], f.regs[0], &p, &q))
        return false;
    const uint8_t x = f.regs[first ? 0 : 1];
    struct graph_program made = *program;
    struct kern_map_inst *to = made.map.inst + i;
    if (q == 0)
        *to = (struct kern_map_inst){ KERN_MAP_SWISH, F32, F32, { x }, { { p } } };
    else if (insert(&made, i, 4)) {
        to[0] = binary(KERN_MAP_MUL, x, x);
        to[1] = (struct kern_map_inst){ KERN_MAP_MULADD, F32, F32, { (uint8_t)reg }, { { q }, { p } } };
        to[2] = binary(KERN_MAP_MUL, x, reg + 1);
        to[3] = (struct kern_map_inst){ KERN_MAP_SIGMOID, F32, F32, { (uint8_t)(reg + 2) }, { { 0 } } };
        to[4] = binary(KERN_MAP_MUL, x, reg + 3);
    } else
        return false;
    graph_program_trim(&made);
    if (made.map.inst_count >= program->map.inst_count)
        return false;
    *program = made;
    return true;
}

/* ---- programs ---------------------------------------------------------------------------------------------------- */

static bool simplify(struct graph *graph, struct graph_program *program, double error)
{
    struct graph_program without;
    bool changed = inline_scalars(graph, program, &without);
    if (changed)
        *program = without;
    for (uint32_t i = 0; i < program->map.inst_count; i++)
        changed |= to_product(program, i) || to_muladd(program, &program->map.inst[i]);
    for (uint32_t i = 0; i < program->map.inst_count; i++)
        changed |= skip_identity(program, i);
    for (uint32_t i = 0; i < program->map.inst_count; i++)
        changed |= to_gate(program, error, program->input_count + i, &program->map.inst[i]);
    for (uint32_t i = program->map.inst_count; i > 0; i--)
        changed |= i <= program->map.inst_count && to_cubic_gate(program, i - 1);
    if (changed)
        graph_program_trim(program);
    return changed;
}

/* Between integers and floats, programs keep the form by which passes and kernels recognise quantisation. */
static bool has_integers(const struct kern_op *op)
{
    for (uint32_t t = 0; t < op->input_count + op->output_count; t++)
        if (!graph_is_float(op->tensors[t].type))
            return true;
    return false;
}

static bool simplify_op(struct graph *graph, const struct graph_options *options, struct graph_op *op)
{
    struct graph_op made = *op;
    struct graph_program program;
    bool is_map = op->k.kind == KERN_MAP;
    if (op->k.output_count != 1 || (!is_map && !op->k.epilogue) || has_integers(&op->k))
        return false;
    if (is_map)
        graph_program_of(op, &program);
    else
        graph_program_of_epilogue(op, &program);
    if (!simplify(graph, &program, op->k.tensors[op->k.input_count].type == F16 ? ROUNDED_F16 : ROUNDED_F32))
        return false;
    /* An epilogue's register 0 is the kernel's result, needed or not. */
    if (!is_map && (!program.input_count || program.inputs[0].value != GRAPH_NONE))
        return false;
    if (!(is_map ? graph_op_set_program(&made, &program) : graph_op_set_epilogue(&made, &program)) ||
        !graph_op_no_worse(graph, options, op, &made))
        return false;
    if (!is_map)
        made.k.epilogue = base_arena_copy(&graph->arena, &program.map, sizeof(program.map));
    graph->failed |= !is_map && !made.k.epilogue;
    *op = made;
    return true;
}

HRESULT graph_pass_fold_scalars(struct graph *graph, const struct graph_options *options, bool *changed)
{
    for (uint32_t i = 0; i < graph->op_count && !graph->failed; i++)
        if (!graph->ops[i]->dead)
            *changed |= simplify_op(graph, options, graph->ops[i]);
    return graph->failed ? E_OUTOFMEMORY : S_OK;
}
