/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels for KERN_REDUCE. Few long lines are split into parts: a first dispatch reduces these, a second one their
 * totals. */
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
    out->params.nan = op->u.reduce.nan;
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

const char *shader_reduce_extreme_unsupported(const struct kern_op *op)
{
    if (!is_extreme(op))
        return "no shader for this function";
    if (!extreme_fits(op))
        return "no shader for results of this type";
    return shader_lines_unsupported(op);
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

const char *shader_reduce_int_unsupported(const struct kern_op *op)
{
    if (is_extreme(op) || op->u.reduce.function == DML_REDUCE_FUNCTION_LOG_SUM_EXP)
        return "no shader for this function of integers";
    if (is_float(op, 0))
        return "no shader for floating-point types";
    return shader_lines_unsupported(op);
}

/* Results that are more than the low bits of 32-bit sums take 64 bits, or doubles. */
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

const char *shader_reduce_real_unsupported(const struct kern_op *op)
{
    if (is_extreme(op))
        return "no shader for this function";
    if (!is_float(op, 0))
        return "no shader for integers";
    return shader_lines_unsupported(op);
}

/* For much work, the function is a constant, too. */
static void set_function(const struct kern_op *op, struct shader_dispatch *out)
{
    if (out->constants[0])
        out->constants[out->constant_count++] = 1 + (uint32_t)op->u.reduce.function;
}

void shader_reduce_real_plan(const struct kern_op *op, struct shader_work *out)
{
    plan(op, false, shader_real_variant(SHADER_reduce_real, op), out);
    for (uint32_t i = 0; i < out->dispatch_count; i++)
        set_function(op, &out->dispatches[i]);
}

void shader_reduce_real_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                              uint32_t *words)
{
    write(op, false, index, places, words);
}

/* ---- of contiguous vectors (extreme_line.comp, reduce_line.comp); the kernels above combine parts ---- */

#define COLUMN_LANES  8    /* at least */
#define COLUMN_GROUPS 1024 /* workgroups that keep a large device busy */
#define COLUMN_PARTS  256
#define COLUMN_LEAST  16 /* elements of a lane */

static bool is_sum(DML_REDUCE_FUNCTION function)
{
    return function == DML_REDUCE_FUNCTION_SUM || function == DML_REDUCE_FUNCTION_AVERAGE ||
           function == DML_REDUCE_FUNCTION_L1 || function == DML_REDUCE_FUNCTION_L2 ||
           function == DML_REDUCE_FUNCTION_SUM_SQUARE;
}

/* Lanes of adjacent lines process 4 of them at a time, or 8 of 16 bits. */
static void choose_columns(struct shader_lines *lines)
{
    struct line_params *p = &lines->params;
    const struct kern_view *x = &lines->op.tensors[0];
    const bool wide = kern_type_bytes(x->type) == 2 && (p->outer == 1 || x->sizes[p->outer - 1] % 8 == 0);
    p->columns = wide ? 8 : 4;
    p->lanes = COLUMN_LANES;
    while (p->lanes < SHADER_GROUP_SIZE && p->columns * SHADER_GROUP_SIZE / (2 * p->lanes) >= p->lines)
        p->lanes *= 2;
    const uint32_t group_lines = p->columns * SHADER_GROUP_SIZE / p->lanes;
    const uint32_t groups = (p->lines + group_lines - 1) / group_lines;
    const uint32_t most = BASE_MIN(p->count / (p->lanes * COLUMN_LEAST), COLUMN_PARTS);
    const uint32_t parts = BASE_MAX(BASE_MIN(COLUMN_GROUPS / groups, most), 1);
    const uint32_t size = (p->count + parts - 1) / parts;
    p->parts = (p->count + size - 1) / size;
    p->partials = p->parts > 1 ? p->parts : 0;
    lines->units = (uint64_t)groups * p->parts;
    lines->scratch_bytes = (uint64_t)p->partials * p->lines * PARTIAL_BYTES;
}

static void vector_lines(const struct kern_op *op, uint32_t index, struct shader_lines *out)
{
    const bool extreme = is_extreme(op);
    lines_of(op, extreme, extreme ? index : 0, out);
    if (!extreme && out->params.columns)
        choose_columns(out);
    else if (!extreme || !index)
        shader_lines_gather(out, UINT32_MAX);
    if (!extreme && index)
        shader_lines_finish(out, SHADER_FINISH_TOTALS);
}

static const char *vector_unsupported(const struct kern_op *op)
{
    struct shader_lines lines;
    if (!is_float(op, 0) || kern_type_bytes(op->tensors[0].type) > 4)
        return "no shader for this data type";
    if (!shader_specializes(op, kern_view_elements(&op->tensors[0])))
        return "too few elements for this shader";
    vector_lines(op, 0, &lines);
    const struct kern_view *x = &lines.op.tensors[0];
    const uint32_t outer = lines.params.outer;
    const bool dense = !is_extreme(op) && lines.params.columns
                           ? x->strides[outer - 1] == 1 && (outer == 1 || x->sizes[outer - 1] % 4 == 0)
                           : x->rank == outer + 1 && x->strides[outer] == 1;
    return dense ? NULL : "its elements are not contiguous";
}

static void plan_vectors(const struct kern_op *op, enum shader_code code, struct shader_work *out)
{
    const DML_REDUCE_FUNCTION function = op->u.reduce.function;
    const bool extreme = is_extreme(op);
    const bool least = function == DML_REDUCE_FUNCTION_MIN || function == DML_REDUCE_FUNCTION_ARGMIN;
    struct shader_lines lines;
    vector_lines(op, 0, &lines);
    out->scratch_bytes = lines.scratch_bytes;
    struct shader_dispatch *first = shader_add(out, code, &lines.op, lines.units, 1, sizeof(struct line_params));
    shader_specialize(op, kern_view_elements(&op->tensors[0]), first);
    first->constants[first->constant_count++] = extreme ? least : (uint32_t)function;
    first->constants[first->constant_count++] = extreme ? op->u.reduce.last : lines.params.columns;
    first->constants[first->constant_count++] = lines.params.lanes;
    if (extreme)
        first->constants[first->constant_count++] = op->u.reduce.nan;
    if (!lines.params.partials)
        return;
    vector_lines(op, 1, &lines);
    struct shader_dispatch *second = shader_add(out, extreme ? SHADER_reduce_extreme : SHADER_reduce_real, &lines.op,
                                                lines.units, 1, sizeof(struct line_params));
    if (!extreme)
        set_function(op, second);
}

static void write_vectors(const struct kern_op *op, uint32_t index, const struct shader_place *places, uint32_t *words)
{
    struct shader_lines lines;
    vector_lines(op, index, &lines);
    shader_block_write(&lines.op, places, lines.units, &lines.params, sizeof(lines.params), words);
}

const char *shader_extreme_line_unsupported(const struct kern_op *op)
{
    const char *reason = shader_reduce_extreme_unsupported(op);
    return reason ? reason : vector_unsupported(op);
}

void shader_extreme_line_plan(const struct kern_op *op, struct shader_work *out)
{
    plan_vectors(op, SHADER_extreme_line, out);
}

void shader_extreme_line_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                               uint32_t *words)
{
    write_vectors(op, index, places, words);
}

const char *shader_reduce_line_unsupported(const struct kern_op *op)
{
    const char *reason = shader_lines_unsupported(op);
    if (reason)
        return reason;
    if (!is_sum(op->u.reduce.function))
        return "no shader for this function";
    if (!is_float(op, 1) || kern_type_bytes(op->tensors[1].type) > 4)
        return "no shader for this data type";
    return vector_unsupported(op);
}

void shader_reduce_line_plan(const struct kern_op *op, struct shader_work *out)
{
    plan_vectors(op, SHADER_reduce_line, out);
}

void shader_reduce_line_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                              uint32_t *words)
{
    write_vectors(op, index, places, words);
}

/* The same, across subgroups by shuffles. */

const char *shader_extreme_subgroup_unsupported(const struct kern_op *op)
{
    return shader_extreme_line_unsupported(op);
}

void shader_extreme_subgroup_plan(const struct kern_op *op, struct shader_work *out)
{
    plan_vectors(op, SHADER_extreme_subgroup, out);
}

void shader_extreme_subgroup_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                                   uint32_t *words)
{
    write_vectors(op, index, places, words);
}

const char *shader_reduce_subgroup_unsupported(const struct kern_op *op)
{
    const char *reason = shader_reduce_line_unsupported(op);
    struct shader_lines lines;
    if (reason)
        return reason;
    vector_lines(op, 0, &lines);
    return lines.params.columns ? "its lines are neighbours" : NULL;
}

void shader_reduce_subgroup_plan(const struct kern_op *op, struct shader_work *out)
{
    plan_vectors(op, SHADER_reduce_subgroup, out);
}

void shader_reduce_subgroup_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                                  uint32_t *words)
{
    write_vectors(op, index, places, words);
}
