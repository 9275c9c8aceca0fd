/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of softmax, normalisations and sums of several things along lines. */
#include "shaders/reduce/shader_lines.h"

#include "kernels/core/number.h"

_Static_assert(SOFTMAX_PLAIN == KERN_SOFTMAX_PLAIN && SOFTMAX_LOG == KERN_SOFTMAX_LOG,
               "softmax.comp has these numbers");

/* One dispatch, a workgroup per unit. */
static void plan(const struct shader_lines *lines, enum shader_code code, struct shader_work *out)
{
    shader_add(out, code, &lines->op, lines->units, 1, sizeof(lines->params));
}

static void write(const struct shader_lines *lines, const struct shader_place *places, uint32_t *words)
{
    shader_block_write(&lines->op, places, lines->units, &lines->params, sizeof(lines->params), words);
}

/* ---- SOFTMAX ---- */

static void softmax_lines(const struct kern_op *op, struct shader_lines *out)
{
    shader_lines_of(op, op->u.softmax.axes, op->u.softmax.mode == KERN_SOFTMAX_HARD, 0, out);
    out->params.mode = op->u.softmax.mode;
}

const char *shader_softmax_any_obstacle(const struct kern_op *op)
{
    return shader_lines_obstacle(op);
}

void shader_softmax_any_plan(const struct kern_op *op, struct shader_work *out)
{
    struct shader_lines lines;
    softmax_lines(op, &lines);
    plan(&lines, op->u.softmax.mode == KERN_SOFTMAX_HARD ? SHADER_hardmax : shader_real_variant(SHADER_softmax, op),
         out);
}

void shader_softmax_any_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                              uint32_t *words)
{
    struct shader_lines lines;
    softmax_lines(op, &lines);
    write(&lines, places, words);
}

/* ---- NORM ---- */

static void norm_lines(const struct kern_op *op, struct shader_lines *out)
{
    const struct kern_norm *norm = &op->u.norm;
    shader_lines_of(op, norm->axes, false, 0, out);
    out->params.mode = norm->use_mean * NORM_MEAN | norm->use_variance * NORM_VARIANCE | norm->has_scale * NORM_SCALE |
                       norm->has_bias * NORM_BIAS;
    out->params.epsilon = norm->epsilon;
}

const char *shader_norm_any_obstacle(const struct kern_op *op)
{
    return shader_lines_obstacle(op);
}

void shader_norm_any_plan(const struct kern_op *op, struct shader_work *out)
{
    struct shader_lines lines;
    norm_lines(op, &lines);
    plan(&lines, shader_real_variant(SHADER_norm, op), out);
}

void shader_norm_any_write(const struct kern_op *op, uint32_t index, const struct shader_place *places, uint32_t *words)
{
    struct shader_lines lines;
    norm_lines(op, &lines);
    write(&lines, places, words);
}

/* ---- MOMENTS ---- */

static void moments_lines(const struct kern_op *op, struct shader_lines *out)
{
    shader_lines_of(op, op->u.moments.axes, false, 0, out);
    out->params.mode = NORM_MEAN | NORM_VARIANCE | NORM_MOMENTS;
}

const char *shader_moments_any_obstacle(const struct kern_op *op)
{
    return shader_lines_obstacle(op);
}

void shader_moments_any_plan(const struct kern_op *op, struct shader_work *out)
{
    struct shader_lines lines;
    moments_lines(op, &lines);
    plan(&lines, shader_real_variant(SHADER_norm, op), out);
}

void shader_moments_any_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                              uint32_t *words)
{
    struct shader_lines lines;
    moments_lines(op, &lines);
    write(&lines, places, words);
}

/* ---- GRAD_SUMS: few long lines are cut in parts ---- */

#define GRAD_SUMS_BYTES 24 /* of a part's total, at most */

const char *shader_grad_sums_any_obstacle(const struct kern_op *op)
{
    return shader_lines_obstacle(op);
}

void shader_grad_sums_any_plan(const struct kern_op *op, struct shader_work *out)
{
    struct shader_lines lines;
    shader_lines_of(op, op->u.grad_sums.axes, false, GRAD_SUMS_BYTES, &lines);
    const uint64_t parts = lines.params.parts;
    plan(&lines, shader_real_variant(SHADER_grad_sums, op), out);
    if (parts == 1)
        return;
    out->scratch_bytes = parts * lines.params.lines * GRAD_SUMS_BYTES;
    shader_lines_finish(&lines);
    plan(&lines, shader_real_variant(SHADER_grad_sums, op), out);
}

void shader_grad_sums_any_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                                uint32_t *words)
{
    struct shader_lines lines;
    shader_lines_of(op, op->u.grad_sums.axes, false, GRAD_SUMS_BYTES, &lines);
    if (index)
        shader_lines_finish(&lines);
    write(&lines, places, words);
}

/* ---- LP_NORM ---- */

static void lp_norm_lines(const struct kern_op *op, struct shader_lines *out)
{
    shader_lines_of(op, 1u << op->u.lp_norm.axis, false, 0, out);
    out->params.mode = op->u.lp_norm.p;
    out->params.epsilon = op->u.lp_norm.epsilon;
}

const char *shader_lp_norm_any_obstacle(const struct kern_op *op)
{
    return shader_lines_obstacle(op);
}

void shader_lp_norm_any_plan(const struct kern_op *op, struct shader_work *out)
{
    struct shader_lines lines;
    lp_norm_lines(op, &lines);
    plan(&lines, shader_real_variant(SHADER_lp_norm, op), out);
}

void shader_lp_norm_any_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                              uint32_t *words)
{
    struct shader_lines lines;
    lp_norm_lines(op, &lines);
    write(&lines, places, words);
}

/* ---- LRN ---- */

const char *shader_lrn_any_obstacle(const struct kern_op *op)
{
    return shader_block_obstacle(op);
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
