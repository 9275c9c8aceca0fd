/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of single channels that are innermost in memory (conv_depth.comp, conv_strip.comp). */
#include "shaders/conv/shader_conv.h"

#define VECTOR       4 /* channels */
#define SIDE_BY_SIDE 8 /* vectors of channels that invocations of conv_strip.comp have, at most */

static bool has_vectors(const struct kern_view *view, uint32_t d, int64_t vector)
{
    if (view->strides[d] != 1 || view->offset % vector)
        return false;
    for (uint32_t i = 0; i < view->rank; i++)
        if (i != d && view->sizes[i] > 1 && view->strides[i] % vector)
            return false;
    return view->sizes[d] % vector == 0;
}

const char *shader_conv_depth_unsupported(const struct kern_op *op)
{
    struct conv_shape s;
    const struct kern_view *t = op->tensors, *y = &t[op->input_count];
    const char *found = shader_conv_unsupported(op, &s);
    if (found)
        return found;
    if (t[0].type == DML_TENSOR_DATA_TYPE_FLOAT64 || op->u.conv.integer || t[1].type != t[0].type ||
        !shader_conv_stores_vectors(y->type))
        return "no shader for these data types";
    if (s.transposed || s.flip || !conv_is_plane(&s) || s.kernel[1] * s.kernel[2] > TUNE_CONV_DIRECT_TAPS_MAX)
        return "no shader for such windows";
    if (s.in_group != 1 || s.out_group != 1 || !has_vectors(&t[0], 1, VECTOR) || !has_vectors(&t[1], 0, VECTOR) ||
        !has_vectors(y, 1, VECTOR))
        return "its channels are not contiguous";
    return shader_epilogue_unsupported(op);
}

/* ---- several pixels at a time ---- */

static uint32_t forced;

void shader_conv_depth_force(uint32_t shader)
{
    forced = shader;
}

static uint32_t vector_of(const struct kern_op *op)
{
    return op->tensors[0].type == DML_TENSOR_DATA_TYPE_FLOAT32 ? 4 : 8;
}

/* If there are enough pixels to be worth it. */
static bool takes_strips(const struct kern_op *op, const struct conv_params *conv, uint64_t pixels,
                         enum shader_code *out)
{
    const int64_t vector = vector_of(op);
    *out = conv->kernel[2] == 3 ? SHADER_conv_strip_3 : SHADER_conv_strip_5;
    if ((conv->kernel[2] != 3 && conv->kernel[2] != 5) || conv->steps[2] != 1 || conv->dilations[2] != 1)
        return false; /* with steps of two it is slower */
    if (!has_vectors(&op->tensors[0], 1, vector) || !has_vectors(&op->tensors[1], 0, vector) ||
        !has_vectors(&op->tensors[op->input_count], 1, vector))
        return false;
    return forced ? forced == 2 : pixels * conv->out_channels >= TUNE_CONV_STRIP_RESULTS_MIN;
}

/* Many rows of few windows by an invocation each: otherwise the device would wait for the loads of a few. */
static bool splits_rows(const struct conv_params *conv, uint64_t units)
{
    const uint32_t taps = (uint32_t)(conv->kernel[1] * conv->kernel[2]);
    if (conv->kernel[1] == 1)
        return false;
    return forced ? forced == 3 : taps > TUNE_CONV_DEPTH_TAPS && units < TUNE_CONV_DEPTH_UNITS;
}

struct plan {
    struct conv_parts_params params;
    enum shader_code code;
    bool strips, split;
    uint32_t units;
};

static void set_strips(const struct kern_op *op, struct plan *plan)
{
    struct conv_parts_params *params = &plan->params;
    const struct conv_params *conv = &params->conv;
    const uint32_t width = (uint32_t)conv->out_sizes[2], vectors = conv->out_channels / vector_of(op);
    uint32_t side_by_side = SIDE_BY_SIDE;
    while (vectors % side_by_side)
        side_by_side--;
    params->by_tiles_n = shader_divisor(side_by_side);
    params->by_tiles_m = shader_divisor((width + CONV_STRIP_RESULTS - 1) / CONV_STRIP_RESULTS);
    params->by_splits = shader_divisor(op->tensors[op->input_count].sizes[0]);
    plan->units = vectors * params->by_tiles_m.size * (uint32_t)conv->out_sizes[1] * params->by_splits.size;
}

static struct plan plan_of(const struct kern_op *op)
{
    struct plan plan = { .params = { .conv = shader_conv_parameters(op) } };
    struct conv_parts_params *params = &plan.params;
    const uint32_t pixels = (uint32_t)(params->conv.out_sizes[1] * params->conv.out_sizes[2]);
    params->m = pixels * op->tensors[op->input_count].sizes[0];
    params->by_pixels = shader_divisor(pixels);
    plan.strips = takes_strips(op, &params->conv, params->m, &plan.code);
    if (plan.strips) {
        set_strips(op, &plan);
        return plan;
    }
    plan.code = SHADER_conv_depth;
    params->by_tiles_n = shader_divisor(params->conv.out_channels / VECTOR);
    plan.units = params->m * params->by_tiles_n.size;
    plan.split = splits_rows(&params->conv, plan.units);
    if (plan.split) {
        const uint32_t per_group = CONV_DEPTH_GROUP / (uint32_t)params->conv.kernel[1];
        plan.units = (plan.units + per_group - 1) / per_group; /* workgroups */
    }
    return plan;
}

void shader_conv_depth_plan(const struct kern_op *op, struct shader_work *out)
{
    const struct plan plan = plan_of(op);
    struct shader_dispatch *dispatch =
        shader_add(out, plan.code, op, plan.units, plan.split ? 1 : CONV_DEPTH_GROUP, sizeof(plan.params));
    dispatch->constants[2] = (uint32_t)plan.params.conv.kernel[1];
    if (!plan.strips)
        dispatch->constants[3] = (uint32_t)plan.params.conv.kernel[2];
    dispatch->constants[4] = plan.split;
    dispatch->constant_count = 5;
    shader_conv_finish(op, dispatch);
}

void shader_conv_depth_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                             uint32_t *words)
{
    const struct plan plan = plan_of(op);
    (void)index; /* there is one */
    shader_block_write(op, places, plan.units, &plan.params, sizeof(plan.params), words);
}
