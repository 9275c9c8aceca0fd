/* Mean-variance and Lp normalisation of FLOAT32 and FLOAT16. Sums go on in double, so that large images keep their
 * mean. */
#include "kernels/reduce/reduction.h"

#include <math.h>

/* Inputs of the element-wise step: X, a = mean as FLOAT32, b = 1 / deviation, c = what a lost of the mean, scaled by b;
 * then the op's further inputs. */
enum { X, MEAN, FACTOR, REST, FURTHER };

static uint32_t norm_program(const struct kern_op *op, struct kern_map *map)
{
    const struct kern_norm *norm = &op->u.norm;
    uint32_t inputs = op->input_count + KERN_REDUCTION_EXTRA, r = X, next = FURTHER;
    memset(map, 0, sizeof(*map));
    if (norm->use_mean)
        r = kern_reductions_step(map, inputs, KERN_MAP_SUB, r, MEAN, 0);
    if (norm->use_variance)
        r = kern_reductions_step(map, inputs, KERN_MAP_FMA, r, FACTOR, REST);
    else if (norm->use_mean)
        r = kern_reductions_step(map, inputs, KERN_MAP_ADD, r, REST, 0);
    if (norm->has_scale && norm->has_bias)
        r = kern_reductions_step(map, inputs, KERN_MAP_FMA, r, next, next + 1);
    else if (norm->has_scale)
        r = kern_reductions_step(map, inputs, KERN_MAP_MUL, r, next, 0);
    else if (norm->has_bias)
        r = kern_reductions_step(map, inputs, KERN_MAP_ADD, r, next, 0);
    kern_reductions_finish(map, op, inputs, r);
    return inputs;
}

bool kern_norm_float_accepts(const struct kern_op *op)
{
    return kern_reductions_accept(op) && op->output_count == 1 && kern_type_bytes(op->tensors[op->input_count].type) &&
           op->tensors[0].rank == op->tensors[op->input_count].rank;
}

void kern_norm_float_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    struct kern_map map;
    uint32_t inputs = norm_program(op, &map);
    uint64_t bytes = kern_map_block_bytes(&map, inputs);
    if (op->epilogue) /* which may run alone */
        bytes = BASE_MAX(bytes, kern_map_block_bytes(op->epilogue, 1 + op->input_count - op->epilogue_input));
    kern_reductions_plan(op, op->u.norm.axes, bytes, out);
}

static void tile_moments(const struct kern_reductions *groups, const struct kern_norm *norm, uint64_t first,
                         uint32_t width)
{
    const struct kern_reduction_scratch *scratch = groups->scratch;
    double count = (double)groups->inner.count, mean[KERN_REDUCTION_TILE];
    memset(scratch->a, 0, width * sizeof(*scratch->a));
    memset(mean, 0, width * sizeof(*mean));
    if (norm->use_mean)
        kern_reductions_moments(groups, first, width, mean, scratch->sum);
    else
        kern_reductions_stat(groups, KERN_STAT_SQUARES, first, width, scratch->a, scratch->sum);
    for (uint32_t i = 0; i < width; i++) {
        double factor = norm->use_variance ? 1 / sqrt(scratch->sum[i] / count + norm->epsilon) : 1;
        scratch->a[i] = (float)mean[i];
        scratch->b[i] = (float)factor;
        scratch->c[i] = (float)((scratch->a[i] - mean[i]) * factor);
    }
}

void kern_norm_run(const struct kern_call *call, const struct kern_reduction_isa *isa, uint64_t begin, uint64_t end)
{
    struct kern_reductions groups;
    struct kern_map map;
    norm_program(call->op, &map);
    kern_reductions_init(&groups, call, isa, call->op->u.norm.axes, false);
    for (uint32_t width; begin < end; begin += width) {
        width = kern_reductions_width(&groups, begin, end);
        tile_moments(&groups, &call->op->u.norm, begin, width);
        if (groups.direct)
            kern_reductions_finish_tile(&groups, KERN_REDUCTION_AFFINE, call->op->u.norm.has_scale,
                                        call->op->u.norm.has_bias, begin, width);
        else if (groups.staged)
            kern_reductions_finish_epilogue(&groups, call->op->u.norm.has_scale, call->op->u.norm.has_bias, begin,
                                            width);
        else
            kern_reductions_apply(&groups, &map, begin, width);
    }
    isa->stream_end();
}

static uint32_t lp_norm_program(const struct kern_op *op, struct kern_map *map)
{
    uint32_t inputs = op->input_count + KERN_REDUCTION_EXTRA;
    memset(map, 0, sizeof(*map));
    kern_reductions_finish(map, op, inputs, kern_reductions_step(map, inputs, KERN_MAP_DIV, X, FACTOR, 0));
    return inputs;
}

bool kern_lp_norm_float_accepts(const struct kern_op *op)
{
    return kern_norm_float_accepts(op) && (op->u.lp_norm.p == 1 || op->u.lp_norm.p == 2);
}

void kern_lp_norm_float_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    struct kern_map map;
    uint32_t inputs = lp_norm_program(op, &map);
    kern_reductions_plan(op, 1u << op->u.lp_norm.axis, kern_map_block_bytes(&map, inputs), out);
}

void kern_lp_norm_run(const struct kern_call *call, const struct kern_reduction_isa *isa, uint64_t begin, uint64_t end)
{
    const struct kern_lp_norm *norm = &call->op->u.lp_norm;
    struct kern_reductions groups;
    struct kern_map map;
    lp_norm_program(call->op, &map);
    kern_reductions_init(&groups, call, isa, 1u << norm->axis, false);
    const struct kern_reduction_scratch *scratch = groups.scratch;
    memset(scratch->a, 0, scratch->tile * sizeof(*scratch->a));
    for (uint32_t width; begin < end; begin += width) {
        width = kern_reductions_width(&groups, begin, end);
        kern_reductions_stat(&groups, norm->p == 1 ? KERN_STAT_SIZE : KERN_STAT_SQUARES, begin, width,
                             norm->p == 1 ? NULL : scratch->a, scratch->sum);
        for (uint32_t i = 0; i < width; i++) {
            double size = norm->p == 1 ? scratch->sum[i] : sqrt(scratch->sum[i]);
            scratch->b[i] = (float)fmax(size, norm->epsilon);
        }
        if (groups.direct)
            kern_reductions_finish_tile(&groups, KERN_REDUCTION_DIVIDED, false, false, begin, width);
        else
            kern_reductions_apply(&groups, &map, begin, width);
    }
    isa->stream_end();
}
