/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels for softmax, normalisations and multiple sums along lines. Few long lines are split into parts: a first
 * dispatch reduces these, a second one does the rest. */
#include "shaders/reduce/shader_lines.h"

#include "kernels/core/number.h"

_Static_assert(SOFTMAX_PLAIN == KERN_SOFTMAX_PLAIN && SOFTMAX_LOG == KERN_SOFTMAX_LOG,
               "softmax.comp has these numbers");

#define PARTIAL_BYTES 24 /* of every shader, at most */

/* Those of dispatch `index`. */
typedef void lines_fn(const struct kern_op *op, uint32_t index, struct shader_lines *out);

static void plan(const struct kern_op *op, lines_fn *lines_of, enum shader_code code, struct shader_work *out)
{
    struct shader_lines lines;
    for (uint32_t i = 0; i == 0 || (i == 1 && lines.params.partials); i++) {
        lines_of(op, i, &lines);
        struct shader_dispatch *dispatch = shader_add(out, code, &lines.op, lines.units, 1, sizeof(lines.params));
        if (i || !lines.params.partials)
            shader_epilogue_add(&lines.op, dispatch);
    }
    out->scratch_bytes = lines.scratch_bytes;
}

static void write(const struct kern_op *op, lines_fn *lines_of, uint32_t index, const struct shader_place *places,
                  uint32_t *words)
{
    struct shader_lines lines;
    lines_of(op, index, &lines);
    shader_block_write(&lines.op, places, lines.units, &lines.params, sizeof(lines.params), words);
}

/* ---- lines that are read once (held.glsl) ---- */

#define HELD_MAX     16 /* vectors of 4 elements that a lane holds */
#define SOFTMAX_HELD 32 /* elements, of lines that are many */
#define NORM_HELD    16

/* Chunks are 16 bytes if all tensors have 16 bits. */
static bool is_wide(const struct kern_op *op)
{
    for (uint32_t t = 0; t < op->input_count + op->output_count; t++)
        if (kern_type_bytes(op->tensors[t].type) != 2)
            return false;
    return true;
}

/* All of a line in one workgroup: one lane per chunk, or fewer if there are many lines. */
static void hold(struct shader_lines *lines, enum kern_kind kind)
{
    struct line_params *p = &lines->params;
    const uint32_t chunk = is_wide(&lines->op) ? 8 : 4;
    p->columns = p->partials = 0;
    p->parts = p->lanes = 1;
    while (p->lanes < SHADER_GROUP_SIZE && p->lanes * chunk < p->count)
        p->lanes *= 2;
    p->size = p->count;
    /* Scales and biases use registers as well. */
    shader_lines_gather(lines, kind == KERN_NORM ? NORM_HELD : SOFTMAX_HELD);
    lines->scratch_bytes = 0;
}

/* A single long line pays off, too. */
static uint64_t held_work(const struct kern_op *op)
{
    return kern_view_elements(&op->tensors[0]) * 8;
}

/* The op's own tensors, and those of its epilogue. */
static const char *lines_and_epilogue_unsupported(const struct kern_op *op)
{
    const char *reason = shader_epilogue_unsupported(op);
    struct kern_op plain = *op;
    plain.epilogue = NULL;
    return reason ? reason : shader_lines_unsupported(&plain);
}

static const char *held_unsupported(const struct kern_op *op, lines_fn *lines_of)
{
    struct shader_lines lines;
    const char *reason = lines_and_epilogue_unsupported(op);
    if (reason)
        return reason;
    for (uint32_t t = 0; t < op->input_count + op->output_count; t++)
        if (kern_type_class(op->tensors[t].type) != KERN_CLASS_FLOAT || kern_type_bytes(op->tensors[t].type) > 4)
            return "no shader for this data type";
    if (!shader_specializes(op, held_work(op)))
        return "too few elements for this shader";
    lines_of(op, 0, &lines);
    const struct kern_view *x = &lines.op.tensors[0];
    if (x->rank != lines.params.outer + 1 || x->strides[x->rank - 1] != 1)
        return "the lines' elements are not contiguous";
    return lines.params.count > HELD_MAX * 4 * SHADER_GROUP_SIZE ? "the lines are too long" : NULL;
}

static void held_plan(const struct kern_op *op, lines_fn *lines_of, enum shader_code code, struct shader_work *out)
{
    struct shader_lines lines;
    lines_of(op, 0, &lines);
    hold(&lines, op->kind);
    struct shader_dispatch *dispatch = shader_add(out, code, &lines.op, lines.units, 1, sizeof(lines.params));
    shader_specialize(op, held_work(op), dispatch);
    const uint32_t at_once = (is_wide(op) ? 8 : 4) * lines.params.lanes; /* elements */
    dispatch->constants[dispatch->constant_count++] = (lines.params.count + at_once - 1) / at_once;
    dispatch->constants[dispatch->constant_count++] = lines.params.mode;
    dispatch->constants[dispatch->constant_count++] = lines.params.lanes;
    dispatch->constants[dispatch->constant_count++] = lines.params.count % at_once == 0;
    shader_epilogue_add(&lines.op, dispatch);
    dispatch->constants[8] = is_wide(op);
    dispatch->constants[9] = op->input_count;
    dispatch->constant_count = 10;
}

static void held_write(const struct kern_op *op, lines_fn *lines_of, const struct shader_place *places, uint32_t *words)
{
    struct shader_lines lines;
    lines_of(op, 0, &lines);
    hold(&lines, op->kind);
    shader_block_write(&lines.op, places, lines.units, &lines.params, sizeof(lines.params), words);
}

/* ---- SOFTMAX ---- */

static void softmax_lines(const struct kern_op *op, uint32_t index, struct shader_lines *out)
{
    shader_lines_of(op, op->u.softmax.axes, op->u.softmax.mode == KERN_SOFTMAX_HARD, PARTIAL_BYTES, out);
    out->params.mode = op->u.softmax.mode;
    if (index)
        shader_lines_finish(out, SHADER_FINISH_PARTS);
}

const char *shader_softmax_subgroup_unsupported(const struct kern_op *op)
{
    return shader_softmax_line_unsupported(op);
}

void shader_softmax_subgroup_plan(const struct kern_op *op, struct shader_work *out)
{
    held_plan(op, softmax_lines, SHADER_softmax_subgroup, out);
}

void shader_softmax_subgroup_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                                   uint32_t *words)
{
    shader_softmax_line_write(op, index, places, words);
}

const char *shader_softmax_line_unsupported(const struct kern_op *op)
{
    return op->u.softmax.mode == KERN_SOFTMAX_HARD ? "no shader for this mode" : held_unsupported(op, softmax_lines);
}

void shader_softmax_line_plan(const struct kern_op *op, struct shader_work *out)
{
    held_plan(op, softmax_lines, SHADER_softmax_line, out);
}

void shader_softmax_line_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                               uint32_t *words)
{
    (void)index; /* there is one */
    held_write(op, softmax_lines, places, words);
}

const char *shader_softmax_any_unsupported(const struct kern_op *op)
{
    return shader_lines_unsupported(op);
}

void shader_softmax_any_plan(const struct kern_op *op, struct shader_work *out)
{
    plan(op, softmax_lines,
         op->u.softmax.mode == KERN_SOFTMAX_HARD ? SHADER_hardmax : shader_real_variant(SHADER_softmax, op), out);
}

void shader_softmax_any_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                              uint32_t *words)
{
    write(op, softmax_lines, index, places, words);
}

/* ---- NORM ---- */

static void norm_lines(const struct kern_op *op, uint32_t index, struct shader_lines *out)
{
    const struct kern_norm *norm = &op->u.norm;
    shader_lines_of(op, norm->axes, false, PARTIAL_BYTES, out);
    out->params.mode = norm->use_mean * NORM_MEAN | norm->use_variance * NORM_VARIANCE | norm->has_scale * NORM_SCALE |
                       norm->has_bias * NORM_BIAS;
    out->params.epsilon = norm->epsilon;
    if (index)
        shader_lines_finish(out, SHADER_FINISH_PARTS);
}

const char *shader_norm_subgroup_unsupported(const struct kern_op *op)
{
    return shader_norm_line_unsupported(op);
}

void shader_norm_subgroup_plan(const struct kern_op *op, struct shader_work *out)
{
    held_plan(op, norm_lines, SHADER_norm_subgroup, out);
}

void shader_norm_subgroup_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                                uint32_t *words)
{
    shader_norm_line_write(op, index, places, words);
}

const char *shader_norm_line_unsupported(const struct kern_op *op)
{
    return held_unsupported(op, norm_lines);
}

void shader_norm_line_plan(const struct kern_op *op, struct shader_work *out)
{
    held_plan(op, norm_lines, SHADER_norm_line, out);
}

void shader_norm_line_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                            uint32_t *words)
{
    (void)index; /* there is one */
    held_write(op, norm_lines, places, words);
}

const char *shader_norm_any_unsupported(const struct kern_op *op)
{
    return lines_and_epilogue_unsupported(op);
}

void shader_norm_any_plan(const struct kern_op *op, struct shader_work *out)
{
    plan(op, norm_lines, shader_real_variant(SHADER_norm, op), out);
}

void shader_norm_any_write(const struct kern_op *op, uint32_t index, const struct shader_place *places, uint32_t *words)
{
    write(op, norm_lines, index, places, words);
}

/* ---- MOMENTS ---- */

static void moments_lines(const struct kern_op *op, uint32_t index, struct shader_lines *out)
{
    shader_lines_of(op, op->u.moments.axes, false, PARTIAL_BYTES, out);
    out->params.mode = NORM_MEAN | NORM_VARIANCE | NORM_MOMENTS;
    if (index)
        shader_lines_finish(out, SHADER_FINISH_LINES);
}

const char *shader_moments_any_unsupported(const struct kern_op *op)
{
    return shader_lines_unsupported(op);
}

void shader_moments_any_plan(const struct kern_op *op, struct shader_work *out)
{
    plan(op, moments_lines, shader_real_variant(SHADER_norm, op), out);
}

void shader_moments_any_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                              uint32_t *words)
{
    write(op, moments_lines, index, places, words);
}

/* ---- GRAD_SUMS ---- */

static void grad_sums_lines(const struct kern_op *op, uint32_t index, struct shader_lines *out)
{
    shader_lines_of(op, op->u.grad_sums.axes, false, PARTIAL_BYTES, out);
    if (index)
        shader_lines_finish(out, SHADER_FINISH_TOTALS);
}

const char *shader_grad_sums_any_unsupported(const struct kern_op *op)
{
    return shader_lines_unsupported(op);
}

void shader_grad_sums_any_plan(const struct kern_op *op, struct shader_work *out)
{
    plan(op, grad_sums_lines, shader_real_variant(SHADER_grad_sums, op), out);
}

void shader_grad_sums_any_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                                uint32_t *words)
{
    write(op, grad_sums_lines, index, places, words);
}

/* ---- LP_NORM ---- */

static void lp_norm_lines(const struct kern_op *op, uint32_t index, struct shader_lines *out)
{
    shader_lines_of(op, 1u << op->u.lp_norm.axis, false, PARTIAL_BYTES, out);
    out->params.mode = op->u.lp_norm.p | op->u.lp_norm.nan * LP_NORM_NAN;
    out->params.epsilon = op->u.lp_norm.epsilon;
    if (index)
        shader_lines_finish(out, SHADER_FINISH_PARTS);
}

const char *shader_lp_norm_any_unsupported(const struct kern_op *op)
{
    return shader_lines_unsupported(op);
}

void shader_lp_norm_any_plan(const struct kern_op *op, struct shader_work *out)
{
    plan(op, lp_norm_lines, shader_real_variant(SHADER_lp_norm, op), out);
}

void shader_lp_norm_any_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                              uint32_t *words)
{
    write(op, lp_norm_lines, index, places, words);
}

/* ---- LRN ---- */

const char *shader_lrn_any_unsupported(const struct kern_op *op)
{
    return shader_block_unsupported(op);
}

void shader_lrn_any_plan(const struct kern_op *op, struct shader_work *out)
{
    shader_add(out, shader_real_variant(SHADER_lrn, op), op, kern_view_elements(&op->tensors[0]), SHADER_GROUP_SIZE,
               sizeof(struct lrn_params));
}

void shader_lrn_any_write(const struct kern_op *op, uint32_t index, const struct shader_place *places, uint32_t *words)
{
    const struct kern_lrn *lrn = &op->u.lrn;
    const uint32_t rank = op->tensors[0].rank;
    const struct lrn_params params = {
        .first = lrn->cross_channel || rank == 2 ? 1 : 2,
        .last = lrn->cross_channel ? 1 : rank - 1,
        .local_size = lrn->local_size,
        .alpha = lrn->alpha,
        .beta = lrn->beta,
        .bias = lrn->bias,
    };
    shader_block_write(op, places, kern_view_elements(&op->tensors[0]), &params, sizeof(params), words);
}
