/* SPDX-License-Identifier: Apache-2.0 */
/* Sums along lines that are neighbours in memory, in one dispatch (reduce_columns.comp). */
#include "shaders/gemm/shader_tile.h"
#include "shaders/reduce/shader_lines.h"

#include "kernels/core/number.h"

#define VECTOR_BYTES  16
#define PARTIAL_BYTES 16 /* of shader_lines_of(); there are none */

struct columns {
    struct shader_lines lines;
    uint32_t vector; /* lines of a vector; 0: they are not contiguous */
    uint32_t loads;  /* vectors of an invocation */
};

static bool is_sum(DML_REDUCE_FUNCTION function)
{
    return function == DML_REDUCE_FUNCTION_SUM || function == DML_REDUCE_FUNCTION_AVERAGE ||
           function == DML_REDUCE_FUNCTION_L1 || function == DML_REDUCE_FUNCTION_L2 ||
           function == DML_REDUCE_FUNCTION_SUM_SQUARE;
}

static uint32_t count(uint32_t size, uint32_t unit)
{
    return (size + unit - 1) / unit;
}

/* The most lines that aligned vectors have: of 16 bytes, or 8. */
static uint32_t vector_of(const struct kern_view *x, uint32_t outer)
{
    const uint32_t most = VECTOR_BYTES / kern_type_bytes(x->type);
    for (uint32_t vector = most; vector >= 4; vector /= 2)
        if (outer && x->rank == outer + 1 && shader_wide(x, outer - 1, vector))
            return vector;
    return 0;
}

static struct columns columns_of(const struct kern_op *op, uint32_t group_size)
{
    struct columns out = { .loads = 0 };
    struct line_params *p = &out.lines.params;
    shader_lines_of(op, op->u.reduce.axes, false, PARTIAL_BYTES, &out.lines);
    out.vector = vector_of(&out.lines.op.tensors[0], p->outer);
    if (!out.vector)
        return out;
    const uint32_t vector = out.vector, bytes = vector * kern_type_bytes(op->tensors[0].type);
    const uint32_t vectors = p->lines / vector, across = BASE_MAX(TUNE_COLUMN_BYTES / bytes, 1);
    p->lanes = TUNE_COLUMN_LANES;
    while (p->lanes < group_size / across && p->lanes * 2 < p->size &&
           count(vectors, group_size / p->lanes) < shader_multiprocessors(op))
        p->lanes *= 2;
    p->columns = vector;
    p->parts = 1;
    p->partials = 0;
    out.loads = count(p->size, p->lanes);
    out.lines.units = count(vectors, group_size / p->lanes);
    return out;
}

static const char *unsupported(const struct kern_op *op, uint32_t group_size)
{
    const char *reason = shader_lines_unsupported(op);
    const struct kern_view *x = &op->tensors[0], *y = &op->tensors[1];
    if (reason)
        return reason;
    if (!is_sum(op->u.reduce.function))
        return "no shader for this function";
    if (kern_type_class(x->type) != KERN_CLASS_FLOAT || kern_type_bytes(x->type) > 4 ||
        kern_type_class(y->type) != KERN_CLASS_FLOAT || kern_type_bytes(y->type) > 4)
        return "no shader for this data type";
    if (!shader_much(kern_view_elements(x) * TUNE_COLUMN_SHARE))
        return "too few elements for this shader";
    const struct columns columns = columns_of(op, group_size);
    if (!columns.vector)
        return "its lines are not contiguous";
    return columns.loads > TUNE_COLUMN_LOADS_MAX && columns.lines.units < shader_multiprocessors(op)
               ? "its lines are long"
               : NULL;
}

static void plan(const struct kern_op *op, enum shader_code code, uint32_t group_size, struct shader_work *out)
{
    const struct columns columns = columns_of(op, group_size);
    struct shader_dispatch *dispatch =
        shader_add(out, code, &columns.lines.op, columns.lines.units, 1, sizeof(struct line_params));
    if (!dispatch->constants[0])
        shader_specialize(op, kern_view_elements(&op->tensors[0]) * TUNE_COLUMN_SHARE, dispatch);
    dispatch->constants[dispatch->constant_count++] = (uint32_t)op->u.reduce.function;
    dispatch->constants[dispatch->constant_count++] = columns.vector;
    dispatch->constants[dispatch->constant_count++] = columns.lines.params.lanes;
    dispatch->constants[dispatch->constant_count++] = columns.loads <= 2   ? 2
                                                      : columns.loads <= 4 ? 4
                                                                           : 8; /* at a time */
}

static void write(const struct kern_op *op, uint32_t group_size, const struct shader_place *places, uint32_t *words)
{
    const struct columns columns = columns_of(op, group_size);
    shader_block_write(&columns.lines.op, places, columns.lines.units, &columns.lines.params,
                       sizeof(columns.lines.params), words);
}

const char *shader_reduce_line_columns_unsupported(const struct kern_op *op)
{
    return unsupported(op, SHADER_GROUP_SIZE);
}

void shader_reduce_line_columns_plan(const struct kern_op *op, struct shader_work *out)
{
    plan(op, SHADER_reduce_columns, SHADER_GROUP_SIZE, out);
}

void shader_reduce_line_columns_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                                      uint32_t *words)
{
    (void)index; /* there is one */
    write(op, SHADER_GROUP_SIZE, places, words);
}

/* The same with more invocations, for long lines: more loads are in flight at once. */

const char *shader_reduce_line_columns_wide_unsupported(const struct kern_op *op)
{
    const char *reason = unsupported(op, GEMM_WIDE_GROUP);
    if (reason)
        return reason;
    const uint32_t loads = columns_of(op, SHADER_GROUP_SIZE).loads;
    return loads > TUNE_COLUMN_LOADS_WIDE || shader_much(1) ? NULL : "its lines are short";
}

void shader_reduce_line_columns_wide_plan(const struct kern_op *op, struct shader_work *out)
{
    plan(op, SHADER_reduce_columns_wide, GEMM_WIDE_GROUP, out);
}

void shader_reduce_line_columns_wide_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                                           uint32_t *words)
{
    (void)index; /* there is one */
    write(op, GEMM_WIDE_GROUP, places, words);
}
