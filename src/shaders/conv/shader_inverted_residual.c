/* SPDX-License-Identifier: Apache-2.0 */
/* Inverted residuals as three dispatches with the wide images between them in scratch memory. */
#include "shaders/conv/conv_params.h"
#include "shaders/core/shader_block.h"

#include "kernels/conv/conv_plans.h"
#include "kernels/core/kernel.h"

_Static_assert(KERN_BOUNDS_RELU == 1 && KERN_BOUNDS_CLAMP == 2 && KERN_BOUNDS_CLIP == 3 && KERN_BOUNDS_CLAMP_NAN == 4,
               "inverted_residual.comp has these numbers");

enum { EXPAND, DEPTHWISE, PROJECT, STAGES };

static uint64_t units(const struct inverted_residual *b, uint32_t stage)
{
    const uint64_t out = (uint64_t)b->oh * b->ow * b->batch;
    return stage == EXPAND ? (uint64_t)b->h * b->w * b->batch * b->m : stage == DEPTHWISE ? out * b->m : out * b->o;
}

/* Windows may start far outside the image: positions are computed in 32 bits. */
static bool positions_fit(const struct inverted_residual *b)
{
    const struct kern_inverted_residual *p = b->p;
    for (uint32_t d = 0; d < 2; d++) {
        const uint64_t first = (uint64_t)p->image[d] * p->first_strides[d] + p->first[d] + p->first_start[d];
        const uint64_t second = (uint64_t)(d ? b->ow : b->oh) * p->strides[d] + p->window[d] + p->pad_start[d];
        if (first > INT32_MAX || second > INT32_MAX)
            return false;
    }
    return true;
}

const char *shader_inverted_residual_any_unsupported(const struct kern_op *op)
{
    struct inverted_residual b;
    const char *reason = shader_block_unsupported(op);
    if (reason)
        return reason;
    if (!kern_inverted_residual_any_ref_accepts(op) || !residual_shape(op, &b))
        return "no shader for these data types";
    if (op->tensors[0].type != DML_TENSOR_DATA_TYPE_FLOAT32 || op->tensors[2].type != DML_TENSOR_DATA_TYPE_FLOAT32)
        return "no shader for these data types";
    return units(&b, EXPAND) + units(&b, DEPTHWISE) > INT32_MAX / 4 || !positions_fit(&b)
               ? "the shaders do not count that many elements"
               : NULL;
}

void shader_inverted_residual_any_plan(const struct kern_op *op, struct shader_work *out)
{
    struct inverted_residual b;
    residual_shape(op, &b);
    for (uint32_t stage = 0; stage < STAGES; stage++)
        shader_add(out, SHADER_inverted_residual, op, units(&b, stage), SHADER_GROUP_SIZE,
                   sizeof(struct inverted_residual_params));
    out->scratch_bytes = (units(&b, EXPAND) + units(&b, DEPTHWISE)) * sizeof(float);
}

static struct inverted_residual_params parameters(const struct inverted_residual *b, uint32_t stage)
{
    const struct kern_inverted_residual *p = b->p;
    struct inverted_residual_params params = { .stage = stage, .middle = b->m, .channels = b->c, .outputs = b->o };
    params.b1 = (int)(b->m * b->depth);
    params.wd = params.b1 + (int)b->m;
    params.bd = params.wd + (int)(b->m * b->taps);
    params.w2 = params.bd + (int)b->m;
    params.b2 = params.w2 + (int)(b->o * b->m);
    params.depthwise = (uint32_t)(units(b, EXPAND) * sizeof(float));
    for (uint32_t d = 0; d < 2; d++) {
        params.first[d] = (int)p->first[d];
        params.first_steps[d] = (int)p->first_strides[d];
        params.first_start[d] = (int)p->first_start[d];
        params.image[d] = (int)p->image[d];
        params.window[d] = (int)p->window[d];
        params.steps[d] = (int)p->strides[d];
        params.pad[d] = (int)p->pad_start[d];
        params.bounds[d] = (uint32_t)p->bounds[d].kind;
        params.low[d] = p->bounds[d].low;
        params.high[d] = p->bounds[d].high;
    }
    return params;
}

void shader_inverted_residual_any_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                                        uint32_t *words)
{
    struct inverted_residual b;
    residual_shape(op, &b);
    struct inverted_residual_params params = parameters(&b, index);
    for (uint32_t d = 0; d < 2; d++) {
        params.in_sizes[d] = (int)op->tensors[0].sizes[d + 2];
        params.out_sizes[d] = (int)op->tensors[2].sizes[d + 2];
    }
    shader_block_write(op, places, units(&b, index), &params, sizeof(params), words);
}
