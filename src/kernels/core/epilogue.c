/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/core/epilogue.h"
#include "kernels/core/dense.h"

static bool is_float(const struct kern_map_inst *inst)
{
    return inst->type == DML_TENSOR_DATA_TYPE_FLOAT32 && inst->to_type == DML_TENSOR_DATA_TYPE_FLOAT32;
}

/* The register holds a number of the program. */
static bool number_of(const struct kern_op *op, uint32_t reg, float *out)
{
    const uint32_t inputs = kern_epilogue_inputs(op);
    if (reg < inputs || op->epilogue->inst[reg - inputs].code != KERN_MAP_CONST)
        return false;
    *out = op->epilogue->inst[reg - inputs].imm[0].f32;
    return true;
}

static bool commutes(uint8_t code)
{
    return code == KERN_MAP_ADD || code == KERN_MAP_MUL || code == KERN_MAP_MIN || code == KERN_MAP_MAX ||
           code == KERN_MAP_MIN_NAN || code == KERN_MAP_MAX_NAN;
}

/* Kernels keep a value that is NaN, by the order of the operands of their instructions; a bound must be a number then.
 */
static bool is_bound(const struct kern_epilogue_step *step)
{
    return (step->code != KERN_MAP_MIN_NAN && step->code != KERN_MAP_MAX_NAN) || step->p == step->p;
}

/* The instruction uses the value in register `last`, and otherwise only operands that the kernel supports. */
static bool read_step(const struct kern_op *op, const struct kern_map_inst *inst, uint32_t last, uint8_t operands,
                      struct kern_epilogue_step *out)
{
    const uint32_t extra = op->input_count - op->epilogue_input;
    *out = (struct kern_epilogue_step){ .code = inst->code, .p = inst->imm[0].f32, .q = inst->imm[1].f32 };
    if (inst->code == KERN_MAP_SWISH) /* q is of the cubic one */
        out->q = 0;
    if (kern_map_arity[inst->code] == 1)
        return inst->src[0] == last && (operands & KERN_EPILOGUE_VALUE);
    const bool first = inst->src[0] == last;
    const uint32_t other = inst->src[first ? 1 : 0];
    if (kern_map_arity[inst->code] != 2 || other == last || (!first && (inst->src[1] != last || !commutes(inst->code))))
        return false;
    if (number_of(op, other, &out->p))
        return (operands & KERN_EPILOGUE_NUMBER) && is_bound(out);
    out->tensor = op->epilogue_input + other - 1;
    return other >= 1 && other <= extra && (operands & KERN_EPILOGUE_TENSOR);
}

/* x * sigmoid(x) and x * hard sigmoid(x) as two instructions; `gate`: the first one's register. */
static bool read_gate(const struct kern_map_inst *inst, uint32_t last, uint32_t gate,
                      const struct kern_epilogue_support *support, struct kern_epilogue_step *out)
{
    const bool hard = inst->code == KERN_MAP_HARD_SIGMOID;
    const uint8_t code = hard ? KERN_MAP_HARD_SWISH : KERN_MAP_SWISH, *src = inst[1].src;
    *out =
        (struct kern_epilogue_step){ .code = code, .p = hard ? inst->imm[0].f32 : 1, .q = hard ? inst->imm[1].f32 : 0 };
    return (support->operands[code] & KERN_EPILOGUE_GATE) && (hard || inst->code == KERN_MAP_SIGMOID) &&
           inst->src[0] == last && inst[1].code == KERN_MAP_MUL && is_float(&inst[1]) &&
           ((src[0] == last && src[1] == gate) || (src[0] == gate && src[1] == last));
}

static bool multiplies(const struct kern_map_inst *inst, uint32_t a, uint32_t b)
{
    return inst->code == KERN_MAP_MUL && is_float(inst) &&
           ((inst->src[0] == a && inst->src[1] == b) || (inst->src[0] == b && inst->src[1] == a));
}

#define CUBIC_CODES 5

/* x * sigmoid(x * (p + q * x * x)) as five instructions, the first of which writes register `square`. */
static bool read_cubic(const struct kern_map_inst *inst, uint32_t last, uint32_t square,
                       const struct kern_epilogue_support *support, struct kern_epilogue_step *out)
{
    *out = (struct kern_epilogue_step){ .code = KERN_MAP_SWISH, .p = inst[1].imm[1].f32, .q = inst[1].imm[0].f32 };
    return (support->operands[KERN_MAP_SWISH] & KERN_EPILOGUE_CUBIC) && multiplies(&inst[0], last, last) &&
           inst[1].code == KERN_MAP_MULADD && is_float(&inst[1]) && inst[1].src[0] == square &&
           multiplies(&inst[2], last, square + 1) && inst[3].code == KERN_MAP_SIGMOID && is_float(&inst[3]) &&
           inst[3].src[0] == square + 2 && multiplies(&inst[4], last, square + 3);
}

/* value * a + b as a product and a sum. */
static bool read_fma(const struct kern_op *op, const struct kern_map_inst *inst, uint32_t last,
                     const struct kern_epilogue_support *support, struct kern_epilogue_step *out)
{
    const bool first = inst->src[0] == last;
    struct kern_map_inst product = *inst, sum = *inst;
    product.code = KERN_MAP_MUL;
    sum.code = KERN_MAP_ADD;
    sum.src[0] = (uint8_t)last;
    sum.src[1] = inst->src[2];
    return (first || inst->src[1] == last) && read_step(op, &product, last, support->operands[KERN_MAP_MUL], &out[0]) &&
           read_step(op, &sum, last, support->operands[KERN_MAP_ADD], &out[1]);
}

bool kern_epilogue_match(const struct kern_op *op, const struct kern_epilogue_support *support,
                         struct kern_epilogue *out)
{
    const struct kern_map *map = op->epilogue;
    const uint32_t inputs = kern_epilogue_inputs(op);
    uint32_t last = 0;
    out->count = 0;
    for (uint32_t i = 0; map && i < map->inst_count; i++) {
        const struct kern_map_inst *inst = &map->inst[i];
        if (!is_float(inst))
            return false;
        if (inst->code == KERN_MAP_CONST)
            continue;
        if (out->count == support->steps)
            return false;
        struct kern_epilogue_step *step = &out->step[out->count++];
        if (i + CUBIC_CODES <= map->inst_count && read_cubic(inst, last, inputs + i, support, step))
            i += CUBIC_CODES - 1;
        else if (i + 1 < map->inst_count && read_gate(inst, last, inputs + i, support, step))
            i++;
        else if (inst->code == KERN_MAP_FMA && out->count < support->steps && read_fma(op, inst, last, support, step))
            out->count++;
        else if (!read_step(op, inst, last, support->operands[inst->code], step))
            return false;
        last = inputs + i;
    }
    return !map || map->store[0] == last;
}

bool kern_epilogue_bounds(const struct kern_op *op, struct kern_bounds *out)
{
    static const struct kern_epilogue_support support = { 2,
                                                          { [KERN_MAP_RELU] = KERN_EPILOGUE_VALUE,
                                                            [KERN_MAP_CLAMP] = KERN_EPILOGUE_VALUE,
                                                            [KERN_MAP_CLAMP_NAN] = KERN_EPILOGUE_VALUE,
                                                            [KERN_MAP_MIN] = KERN_EPILOGUE_NUMBER,
                                                            [KERN_MAP_MAX] = KERN_EPILOGUE_NUMBER } };
    struct kern_epilogue epilogue;
    const struct kern_epilogue_step *step = epilogue.step;
    *out = (struct kern_bounds){ .kind = KERN_BOUNDS_NONE };
    if (!kern_epilogue_match(op, &support, &epilogue))
        return false;
    if (epilogue.count == 1 && step->code == KERN_MAP_RELU)
        out->kind = KERN_BOUNDS_RELU;
    else if (epilogue.count == 1 && step->code == KERN_MAP_CLAMP)
        *out = (struct kern_bounds){ KERN_BOUNDS_CLAMP, step->p, step->q };
    else if (epilogue.count == 1 && step->code == KERN_MAP_CLAMP_NAN)
        *out = (struct kern_bounds){ KERN_BOUNDS_CLAMP_NAN, step->p, step->q };
    else if (epilogue.count == 2 && step[0].code == KERN_MAP_MIN && step[1].code == KERN_MAP_MAX)
        *out = (struct kern_bounds){ KERN_BOUNDS_CLIP, step[1].p, step[0].p };
    return !epilogue.count || out->kind != KERN_BOUNDS_NONE;
}

uint32_t kern_epilogue_quantize_steps(const struct kern_epilogue *epilogue, struct kern_requantize *out)
{
    const struct kern_epilogue_step *step = epilogue->step;
    uint32_t at = epilogue->count;
    out->divisor = out->zero = 0;
    if (at < 2 || step[--at].code != KERN_MAP_CLAMP)
        return 0;
    out->low = step[at].p;
    out->high = step[at].q;
    if (step[at - 1].code == KERN_MAP_ADD && step[at - 1].tensor)
        out->zero = step[--at].tensor;
    if (!at || step[--at].code != KERN_MAP_RINT)
        return 0;
    if (at && step[at - 1].code == KERN_MAP_DIV && step[at - 1].tensor)
        out->divisor = step[--at].tensor;
    return epilogue->count - at;
}

bool kern_epilogue_requantize(const struct kern_op *op, struct kern_requantize *out)
{
    static const struct kern_epilogue_support support = { 5,
                                                          { [KERN_MAP_MUL] = KERN_EPILOGUE_TENSOR,
                                                            [KERN_MAP_DIV] = KERN_EPILOGUE_TENSOR,
                                                            [KERN_MAP_RINT] = KERN_EPILOGUE_VALUE,
                                                            [KERN_MAP_ADD] = KERN_EPILOGUE_TENSOR,
                                                            [KERN_MAP_CLAMP] = KERN_EPILOGUE_VALUE } };
    struct kern_epilogue epilogue;
    if (!dense_is_byte(op->tensors[op->input_count].type) || !kern_epilogue_match(op, &support, &epilogue) ||
        !epilogue.count || kern_epilogue_quantize_steps(&epilogue, out) + 1 != epilogue.count ||
        epilogue.step[0].code != KERN_MAP_MUL)
        return false;
    out->scale = epilogue.step[0].tensor;
    return op->tensors[out->scale].type == DML_TENSOR_DATA_TYPE_FLOAT32 &&
           (!out->divisor || op->tensors[out->divisor].type == DML_TENSOR_DATA_TYPE_FLOAT32) &&
           (!out->zero || dense_is_byte(op->tensors[out->zero].type));
}
