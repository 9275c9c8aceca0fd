/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of FLOAT32 with windows of 3 x 3 by Winograd's algorithm (conv_winograd.comp). */
#include "shaders/conv/shader_conv.h"

#define VECTOR 4
#define PLANES 16
#define BLOCK  CONV_WINOGRAD_CHANNELS

static uint32_t count(uint64_t size, uint64_t tile)
{
    return (uint32_t)((size + tile - 1) / tile);
}

/* All vectors of channels start at multiples of their size. */
static bool is_wide(const struct kern_view *view)
{
    if (view->offset % VECTOR || view->sizes[1] % VECTOR || view->strides[1] != 1)
        return false;
    for (uint32_t d = 0; d < view->rank; d++)
        if (d != 1 && view->sizes[d] > 1 && view->strides[d] % VECTOR)
            return false;
    return true;
}

static struct conv_winograd_params parameters(const struct kern_op *op)
{
    struct conv_winograd_params params = { .conv = shader_conv_parameters(op) };
    const struct conv_params *conv = &params.conv;
    const uint32_t height = (uint32_t)conv->out_sizes[1], width = (uint32_t)conv->out_sizes[2];
    const uint32_t columns = count(width, 2), images = op->tensors[op->input_count].sizes[0];
    params.by_pixels = shader_divisor(height * width);
    params.by_columns = shader_divisor(columns);
    params.by_squares = shader_divisor(columns * count(height, 2));
    params.by_tiles_n = shader_divisor(count(conv->out_group, BLOCK));
    params.m = height * width * images;
    params.squares = params.by_squares.size * images;
    params.chunks = conv->in_group / CONV_WINOGRAD_CHUNK;
    return params;
}

static uint32_t groups_of(const struct conv_winograd_params *params)
{
    return count(params->squares, CONV_WINOGRAD_SQUARES) * params->by_tiles_n.size;
}

/* Packed windows of an input channel, for the output channels in whole blocks. */
static uint64_t windows_of(const struct conv_winograd_params *params)
{
    return (uint64_t)params->by_tiles_n.size * BLOCK * params->conv.in_group;
}

const char *shader_conv_winograd_unsupported(const struct kern_op *op)
{
    struct conv_shape s;
    const char *found = shader_conv_unsupported(op, &s);
    if (found)
        return found;
    if (op->tensors[0].type != DML_TENSOR_DATA_TYPE_FLOAT32 || op->tensors[1].type != DML_TENSOR_DATA_TYPE_FLOAT32)
        return "no shader for these data types";
    if (s.transposed || s.flip || s.groups != 1 || !conv_is_plane(&s))
        return "no shader for such windows";
    for (uint32_t d = 1; d < 3; d++)
        if (s.kernel[d] != 3 || s.stride[d] != 1 || s.dilation[d] != 1)
            return "no shader for such windows";
    if (!is_wide(&op->tensors[0]))
        return "the image is not in vectors of channels";
    const uint64_t m = (uint64_t)((s.out[1] + 1) * (s.out[2] + 1)) * s.batch;
    const uint64_t windows = (uint64_t)s.in_group * count(s.out_group, BLOCK) * BLOCK;
    if (m > INT32_MAX / 2 || windows > INT32_MAX / (4 * PLANES))
        return "the convolution is large";
    if (shader_conv_takes_small())
        return shader_epilogue_unsupported(op);
    const struct conv_winograd_params params = parameters(op);
    if (params.by_tiles_n.size * BLOCK * 3 > s.out_group * 4)
        return "too few channels";
    return groups_of(&params) < TUNE_WINOGRAD_GROUPS_MIN ? "the convolution is small" : shader_epilogue_unsupported(op);
}

void shader_conv_winograd_plan(const struct kern_op *op, struct shader_work *out)
{
    const struct conv_winograd_params params = parameters(op);
    const struct kern_view *y = &op->tensors[op->input_count];
    const uint64_t bytes = windows_of(&params) * PLANES * sizeof(float);
    const bool packed = op->packed_input == 2;
    struct shader_dispatch *dispatch;
    if (packed) {
        out->packed_bytes = bytes;
    } else {
        out->scratch_bytes = bytes;
        shader_add(out, SHADER_conv_winograd_pack, op, windows_of(&params), SHADER_GROUP_SIZE, sizeof(params));
    }
    dispatch = shader_add(out, SHADER_conv_winograd, op, groups_of(&params), 1, sizeof(params));
    shader_specialize(op, (uint64_t)params.m * params.conv.out_channels, dispatch);
    dispatch->constants[2] = shader_conv_stores_vectors(y->type) && is_wide(y);
    dispatch->constants[3] = packed;
    dispatch->constant_count = 4;
    shader_conv_finish(op, dispatch);
}

void shader_conv_winograd_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                                uint32_t *words)
{
    const struct conv_winograd_params params = parameters(op);
    const bool packs = op->packed_input != 2 && index == 0;
    shader_block_write(op, places, packs ? windows_of(&params) : groups_of(&params), &params, sizeof(params), words);
}

/* ---- packing ---- */

/* G, of three numbers. */
static void transform(const float *from, uint32_t from_step, float *to, uint32_t to_step)
{
    const float a = from[0], b = from[from_step], c = from[2 * from_step];
    to[0] = a;
    to[to_step] = 0.5f * (a + b + c);
    to[2 * to_step] = 0.5f * (a - b + c);
    to[3 * to_step] = c;
}

static void pack_window(const struct conv_params *conv, const float *w, float *to)
{
    float window[9], columns[12], all[PLANES];
    for (int y = 0; y < 3; y++)
        for (int x = 0; x < 3; x++)
            window[3 * y + x] = w[y * conv->w[3] + x * conv->w[4]];
    for (uint32_t x = 0; x < 3; x++)
        transform(window + x, 3, columns + x, 3);
    for (uint32_t y = 0; y < 4; y++)
        transform(columns + 3 * y, 1, all + 4 * y, 1);
    for (uint32_t p = 0; p < PLANES; p++)
        to[p * BLOCK] = all[p];
}

void shader_conv_winograd_pack(const struct kern_op *op, const void *source, void *packed)
{
    const struct conv_params conv = shader_conv_parameters(op);
    const float *w = source;
    float *to = packed;
    for (uint32_t n = 0; n < conv.out_group; n++)
        for (uint32_t c = 0; c < conv.in_group; c++)
            pack_window(&conv, w + (int64_t)n * conv.w[0] + (int64_t)c * conv.w[1],
                        to + ((uint64_t)(n / BLOCK) * conv.in_group + c) * PLANES * BLOCK + n % BLOCK);
}
