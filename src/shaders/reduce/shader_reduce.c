/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of KERN_REDUCE. Few long lines are cut in parts: a first dispatch reduces these, a second one their totals. */
#include "shaders/reduce/shader_lines.h"

#include "kernels/core/number.h"

_Static_assert(REDUCE_ARGMAX == DML_REDUCE_FUNCTION_ARGMAX && REDUCE_ARGMIN == DML_REDUCE_FUNCTION_ARGMIN &&
                   REDUCE_AVERAGE == DML_REDUCE_FUNCTION_AVERAGE && REDUCE_L1 == DML_REDUCE_FUNCTION_L1 &&
                   REDUCE_L2 == DML_REDUCE_FUNCTION_L2 && REDUCE_LOG_SUM == DML_REDUCE_FUNCTION_LOG_SUM &&
                   REDUCE_LOG_SUM_EXP == DML_REDUCE_FUNCTION_LOG_SUM_EXP && REDUCE_MAX == DML_REDUCE_FUNCTION_MAX &&
                   REDUCE_MIN == DML_REDUCE_FUNCTION_MIN && REDUCE_MULTIPLY == DML_REDUCE_FUNCTION_MULTIPLY &&
                   REDUCE_SUM == DML_REDUCE_FUNCTION_SUM && REDUCE_SUM_SQUARE == DML_REDUCE_FUNCTION_SUM_SQUARE,
               "the shaders have these numbers");

#define PARTIAL_BYTES 16 /* of every shader, at most */

static void lines_of(const struct kern_op *op, bool ordered, uint32_t index, struct shader_lines *out)
{
    shader_lines_of(op, op->u.reduce.axes, ordered, PARTIAL_BYTES, out);
    out->params.mode = (uint32_t)op->u.reduce.function;
    out->params.last = op->u.reduce.last;
    if (index)
        shader_lines_finish(out, SHADER_FINISH_TOTALS);
}

static void plan(const struct kern_op *op, bool ordered, enum shader_code code, struct shader_work *out)
{
    struct shader_lines lines;
    for (uint32_t i = 0; i == 0 || (i == 1 && lines.params.partials); i++) {
        lines_of(op, ordered, i, &lines);
        shader_add(out, code, &lines.op, lines.units, 1, sizeof(struct line_params));
    }
    out->scratch_bytes = lines.scratch_bytes;
}

static void write(const struct kern_op *op, bool ordered, uint32_t index, const struct shader_place *places,
                  uint32_t *words)
{
    struct shader_lines lines;
    lines_of(op, ordered, index, &lines);
    shader_block_write(&lines.op, places, lines.units, &lines.params, sizeof(lines.params), words);
}

/* ---- minimum, maximum, their positions ---- */

static bool is_position(const struct kern_op *op)
{
    return op->u.reduce.function == DML_REDUCE_FUNCTION_ARGMAX || op->u.reduce.function == DML_REDUCE_FUNCTION_ARGMIN;
}

static bool is_extreme(const struct kern_op *op)
{
    return is_position(op) || op->u.reduce.function == DML_REDUCE_FUNCTION_MAX ||
           op->u.reduce.function == DML_REDUCE_FUNCTION_MIN;
}

static bool is_float(const struct kern_op *op, uint32_t tensor)
{
    return kern_type_class(op->tensors[tensor].type) == KERN_CLASS_FLOAT;
}

static bool extreme_fits(const struct kern_op *op)
{
    const DML_TENSOR_DATA_TYPE x = op->tensors[0].type, y = op->tensors[1].type;
    if (is_position(op))
        return !is_float(op, 1);
    return x == y || (is_float(op, 0) && is_float(op, 1) && x != DML_TENSOR_DATA_TYPE_FLOAT64 &&
                      y != DML_TENSOR_DATA_TYPE_FLOAT64);
}

const char *shader_reduce_extreme_obstacle(const struct kern_op *op)
{
    if (!is_extreme(op))
        return "there is no shader for this function";
    if (!extreme_fits(op))
        return "there is no shader for a result of this type";
    return shader_lines_obstacle(op);
}

void shader_reduce_extreme_plan(const struct kern_op *op, struct shader_work *out)
{
    plan(op, true, SHADER_reduce_extreme, out);
}

void shader_reduce_extreme_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                                 uint32_t *words)
{
    write(op, true, index, places, words);
}

/* ---- sums and products of integers ---- */

const char *shader_reduce_int_obstacle(const struct kern_op *op)
{
    if (is_extreme(op) || op->u.reduce.function == DML_REDUCE_FUNCTION_LOG_SUM_EXP)
        return "there is no shader for this function of integers";
    if (is_float(op, 0))
        return "there is no shader for it in floating point";
    return shader_lines_obstacle(op);
}

/* Results that are more than the low bits of sums of 32 bits take 64 bits, or doubles. */
static enum shader_code int_code(const struct kern_op *op)
{
    const DML_REDUCE_FUNCTION function = op->u.reduce.function;
    if (function == DML_REDUCE_FUNCTION_L2 || function == DML_REDUCE_FUNCTION_LOG_SUM || is_float(op, 1))
        return SHADER_reduce_int_f64;
    return function == DML_REDUCE_FUNCTION_AVERAGE ? SHADER_reduce_int_i64 : shader_variant(SHADER_reduce_int, op);
}

void shader_reduce_int_plan(const struct kern_op *op, struct shader_work *out)
{
    plan(op, false, int_code(op), out);
}

void shader_reduce_int_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                             uint32_t *words)
{
    write(op, false, index, places, words);
}

/* ---- of floating-point numbers ---- */

const char *shader_reduce_real_obstacle(const struct kern_op *op)
{
    if (is_extreme(op))
        return "there is no shader for this function";
    if (!is_float(op, 0))
        return "there is no shader for it in integers";
    return shader_lines_obstacle(op);
}

/* Of much work, the function is a constant, too. */
void shader_reduce_real_plan(const struct kern_op *op, struct shader_work *out)
{
    plan(op, false, shader_real_variant(SHADER_reduce_real, op), out);
    for (uint32_t i = 0; i < out->dispatch_count; i++) {
        struct shader_dispatch *dispatch = &out->dispatches[i];
        if (dispatch->constants[0])
            dispatch->constants[dispatch->constant_count++] = 1 + (uint32_t)op->u.reduce.function;
    }
}

void shader_reduce_real_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                              uint32_t *words)
{
    write(op, false, index, places, words);
}
