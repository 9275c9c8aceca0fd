/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of images at any positions (sample.comp). */
#include "shaders/core/shader_block.h"
#include "shaders/resample/resample_params.h"

#include "kernels/resample/sample.h"

_Static_assert(KERN_SAMPLE_ZEROS == SAMPLE_ZEROS && KERN_SAMPLE_EDGE == SAMPLE_EDGE &&
                   KERN_SAMPLE_MIRROR == SAMPLE_MIRROR && KERN_SAMPLE_EDGES == SAMPLE_EDGES &&
                   KERN_SAMPLE_CENTRES == SAMPLE_CENTRES,
               "sample.comp has these numbers");

const char *shader_sample_any_unsupported(const struct kern_op *op)
{
    struct sample_shape s;
    if (!sample_shape_init(op, &s))
        return "no shader for these tensors";
    for (uint32_t d = 0; d < 3; d++)
        if (s.in[d] > 1 << 24) /* pixels that FLOAT32 counts */
            return "the shader does not count that many pixels";
    return shader_block_unsupported(op);
}

static uint64_t units_of(const struct kern_op *op)
{
    return kern_view_elements(&op->tensors[2]);
}

static bool in_double(const struct kern_op *op)
{
    return op->tensors[0].type == DML_TENSOR_DATA_TYPE_FLOAT64 || op->tensors[1].type == DML_TENSOR_DATA_TYPE_FLOAT64;
}

void shader_sample_any_plan(const struct kern_op *op, struct shader_work *out)
{
    shader_add(out, in_double(op) ? SHADER_sample_f64 : SHADER_sample, op, units_of(op), SHADER_GROUP_SIZE,
               sizeof(struct sample_params));
}

void shader_sample_any_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                             uint32_t *words)
{
    const struct kern_sample *sample = &op->u.sample;
    struct sample_shape s;
    sample_shape_init(op, &s);
    struct sample_params params = { .first = s.first,
                                    .taps = s.taps,
                                    .linear = sample->linear,
                                    .padding = (uint32_t)sample->padding,
                                    .unit = (uint32_t)sample->unit,
                                    .channels_last = s.x[1] == 1 && s.channels > 1,
                                    .by_channels = shader_divisor((uint32_t)s.channels) };
    (void)index; /* there is one */
    for (uint32_t d = 0; d < 3; d++) {
        params.in_sizes[d] = (uint32_t)s.in[d];
        params.by_out[d] = shader_divisor((uint32_t)s.out[d]);
    }
    for (uint32_t d = 0; d < 5; d++) {
        params.x[d] = (int)s.x[d];
        params.grid[d] = (int)s.grid[d];
        params.y[d] = (int)s.y[d];
    }
    shader_block_write(op, places, units_of(op), &params, sizeof(params), words);
}
