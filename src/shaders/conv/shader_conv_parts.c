/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions by small tiles (conv_parts.comp), whose larger tiles would not fill a device. */
#include "shaders/conv/shader_conv.h"

#define TILE      32
#define SUBGROUPS 4 /* of a workgroup */

struct shape {
    struct conv_parts_params params;
    uint32_t groups; /* workgroups */
    bool wide_x, wide_w, wide_y;
    uint32_t y_order;
};

static uint32_t count(uint64_t size, uint64_t tile)
{
    return (uint32_t)((size + tile - 1) / tile);
}

static const char *unsupported(const struct kern_op *op)
{
    struct conv_shape s;
    const char *found = shader_conv_unsupported(op, &s);
    if (found)
        return found;
    if (s.transposed || s.flip || !conv_is_plane(&s))
        return "no shader for such windows";
    const uint64_t k = (uint64_t)(s.kernel[1] * s.kernel[2]) * s.in_group;
    const uint64_t m = (uint64_t)(s.out[1] * s.out[2]) * s.batch;
    const uint64_t tiles = (uint64_t)count(m, TILE) * count(s.out_group, TILE) * s.groups;
    if (k > INT32_MAX / 2 || m > INT32_MAX / 2 || tiles > TUNE_PARTS_TILES_MAX)
        return "the convolution is large";
    if (s.out_group < TUNE_CONV_CHANNELS_MIN || k < TUNE_TILE_DEPTH_MIN)
        return "too few channels";
    return shader_epilogue_unsupported(op);
}

/* Vectors of this many elements are aligned along dimension 1 and the dimensions after it. */
static bool is_wide(const struct kern_view *view, int64_t vector)
{
    if (view->offset % vector)
        return false;
    for (uint32_t d = 0; d < view->rank; d++)
        if (view->sizes[d] > 1 && view->strides[d] != 1 && view->strides[d] % vector)
            return false;
    return true;
}

static bool wide_image(const struct kern_op *op, const struct conv_parts_params *params, uint32_t vector)
{
    const struct conv_params *conv = &params->conv;
    return params->channels_first && conv->in_group % vector == 0 && conv->x[1] == 1 && conv->x[4] != 1 &&
           conv->x[3] != 1 && conv->x[0] != 1 && is_wide(&op->tensors[0], vector);
}

/* The summed elements are contiguous. */
static bool wide_filter(const struct kern_op *op, const struct conv_parts_params *params, uint32_t vector)
{
    const struct conv_params *conv = &params->conv;
    const int taps = (int)conv->by_plane.size, channels = (int)conv->in_group, line = conv->kernel[2];
    const int channel_step = params->channels_first ? 1 : taps, tap_step = params->channels_first ? channels : 1;
    return params->k % vector == 0 && op->tensors[1].offset % vector == 0 &&
           (conv->w[0] % (int)vector == 0 || op->tensors[1].sizes[0] == 1) &&
           (channels == 1 || conv->w[1] == channel_step) && (conv->kernel[1] == 1 || conv->w[3] == line * tap_step) &&
           (line == 1 || conv->w[4] == tap_step);
}

static bool wide_result(const struct kern_op *op, const struct conv_params *conv)
{
    const struct kern_view *y = &op->tensors[op->input_count];
    return shader_conv_stores_vectors(y->type) && conv->y[1] == 1 && conv->out_group % 8 == 0 && conv->y[4] != 1 &&
           conv->y[3] != 1 && conv->y[0] != 1 && is_wide(y, 16 / (int64_t)kern_type_bytes(y->type));
}

/* Tiles are workgroups'. If there are fewer than multiprocessors, and splitting saves enough rounds of chunks to
 * compensate for a second dispatch, which adds the parts, several workgroups share the sums of one. */
static void share(const struct kern_op *op, struct shape *shape)
{
    struct conv_parts_params *params = &shape->params;
    const uint32_t tiles_m = count(params->m, TILE), tiles_n = count(params->n, TILE);
    const uint32_t tiles = tiles_m * tiles_n * (params->conv.out_channels / params->conv.out_group);
    const uint32_t rounds = count(params->all_chunks, SUBGROUPS);
    uint32_t splits = BASE_MIN(2 * shader_multiprocessors(op) / tiles, rounds / TUNE_PARTS_ROUNDS_MIN);
    if (tiles >= shader_multiprocessors(op) || !splits || rounds - rounds / splits < TUNE_PARTS_ROUNDS_SAVED)
        splits = 1;
    params->chunks = count(params->all_chunks, splits);
    params->splits = count(params->all_chunks, params->chunks);
    params->by_tiles_m = shader_divisor(tiles_m);
    params->by_tiles_n = shader_divisor(tiles_n);
    params->by_splits = shader_divisor(params->splits);
    shape->groups = tiles * params->splits;
}

static struct shape shape_of(const struct kern_op *op)
{
    const uint32_t vector = 16 / (uint32_t)kern_type_bytes(op->tensors[0].type);
    struct shape shape = { .params.conv = shader_conv_parameters(op) };
    struct conv_parts_params *params = &shape.params;
    const struct conv_params *conv = &params->conv;
    const uint32_t pixels = (uint32_t)(conv->out_sizes[1] * conv->out_sizes[2]);
    params->by_pixels = shader_divisor(pixels);
    params->m = pixels * op->tensors[op->input_count].sizes[0];
    params->n = conv->out_group;
    params->k = conv->in_group * conv->by_plane.size;
    params->all_chunks = count(params->k, 4 * vector);
    params->channels_first = shader_tile_closer(conv->x[1], conv->x[4]);
    shape.wide_x = wide_image(op, params, vector);
    shape.wide_w = wide_filter(op, params, vector);
    shape.wide_y = wide_result(op, conv);
    shape.y_order = shape.wide_y ? 1 : shader_tile_closer(conv->y[1], conv->y[4]) ? 2 : 0; /* Y_ORDER */
    share(op, &shape);
    return shape;
}

/* Work of the second dispatch. */
static uint32_t sum_units(const struct shape *shape)
{
    return shape->params.m * shape->params.conv.out_channels / (shape->wide_y ? 8 : 1);
}

static void plan(const struct kern_op *op, enum shader_code code, struct shader_work *out)
{
    const struct shape shape = shape_of(op);
    const struct conv_parts_params *params = &shape.params;
    struct shader_dispatch *dispatch = shader_add(out, code, op, shape.groups, 1, sizeof(*params));
    shader_specialize(op, (uint64_t)params->m * params->conv.out_channels * params->k / 64, dispatch);
    dispatch->constants[2] = shape.wide_x;
    dispatch->constants[3] = shape.wide_w;
    dispatch->constants[4] = shape.y_order;
    dispatch->constants[5] = params->splits > 1;
    dispatch->constant_count = 6;
    if (params->splits > 1) {
        out->scratch_bytes = (uint64_t)params->m * params->conv.out_channels * params->splits * 4;
        dispatch = shader_add(out, SHADER_conv_sum, op, sum_units(&shape), SHADER_GROUP_SIZE, sizeof(*params));
        dispatch->constants[2] = shape.wide_y;
        dispatch->constant_count = 3;
    }
    shader_conv_finish(op, dispatch);
}

static void write(const struct kern_op *op, uint32_t index, const struct shader_place *places, uint32_t *words)
{
    const struct shape shape = shape_of(op);
    const uint32_t units = index ? sum_units(&shape) : shape.groups;
    shader_block_write(op, places, units, &shape.params, sizeof(shape.params), words);
}

/* ---- of FLOAT32 ---- */

const char *shader_conv_parts_unsupported(const struct kern_op *op)
{
    if (op->tensors[0].type != DML_TENSOR_DATA_TYPE_FLOAT32 || op->tensors[1].type != DML_TENSOR_DATA_TYPE_FLOAT32)
        return "no shader for these data types";
    return unsupported(op);
}

void shader_conv_parts_plan(const struct kern_op *op, struct shader_work *out)
{
    plan(op, SHADER_conv_parts, out);
}

void shader_conv_parts_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                             uint32_t *words)
{
    write(op, index, places, words);
}

/* ---- with cooperative matrices ---- */

const char *shader_conv_parts_coop_unsupported(const struct kern_op *op)
{
    struct conv_shape s;
    const char *found = unsupported(op);
    if (found)
        return found;
    conv_shape_init(op, &s);
    return shader_coop_unsupported(op, s.out_group, (uint64_t)(s.out[1] * s.out[2]) * s.batch,
                                   (uint64_t)(s.kernel[1] * s.kernel[2]) * s.in_group);
}

void shader_conv_parts_coop_plan(const struct kern_op *op, struct shader_work *out)
{
    static const struct coop_codes codes = { SHADER_conv_parts_coop, SHADER_conv_parts_coop_bfloat16,
                                             SHADER_conv_parts_coop_plain };
    plan(op, shader_coop_code(op, &codes), out);
}

void shader_conv_parts_coop_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                                  uint32_t *words)
{
    write(op, index, places, words);
}
