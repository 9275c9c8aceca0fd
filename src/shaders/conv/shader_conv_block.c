/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions by blocks of sums of all images' pixels (conv_block.comp): those with long sums. */
#include "shaders/conv/shader_conv.h"

#define LINE 32 /* elements of a line of the second-level cache, as a rule */

static int64_t taps_of(const struct conv_shape *s)
{
    return s->kernel[0] * s->kernel[1] * s->kernel[2];
}

static int64_t pixels_of(const struct conv_shape *s)
{
    return s->out[0] * s->out[1] * s->out[2];
}

/* Windows with elements in common, or a single one. */
static bool overlaps(const struct conv_shape *s)
{
    bool overlaps = true;
    for (uint32_t d = 0; d < 3; d++)
        overlaps = overlaps && (s->out[d] == 1 || s->stride[d] < (s->kernel[d] - 1) * s->dilation[d] + 1);
    return overlaps;
}

/* As gradients of weights: their windows are images of which the results are windows. For these, other kernels compute
 * tables of each tap, or tiles of each image. Windows of patches, which have no element in common, are not long: other
 * kernels read each element once, too. */
static bool is_long(const struct conv_shape *s)
{
    return taps_of(s) >= TUNE_CONV_LONG_TAPS_MIN && taps_of(s) > pixels_of(s) && overlaps(s);
}

const char *shader_conv_block_unsupported(const struct kern_op *op)
{
    struct conv_shape s;
    const char *found = shader_conv_unsupported(op, &s);
    if (found)
        return found;
    if (op->u.conv.integer || op->tensors[0].type == DML_TENSOR_DATA_TYPE_FLOAT64)
        return "no shader for these data types";
    if (s.transposed)
        return "no shader for such windows";
    if (!is_long(&s) && !shader_conv_takes_small())
        return "its windows are small";
    if (taps_of(&s) * s.in_group > INT32_MAX || pixels_of(&s) * s.batch > INT32_MAX)
        return "the shaders do not count that many elements";
    return shader_epilogue_unsupported(op);
}

/* The order of the columns of the GEMM: pixels of an image, or the same pixel of all images, whichever are neighbours
 * in memory. */
static bool images_first(const struct conv_params *conv)
{
    return shader_tile_closer(conv->x[0], conv->x[4]);
}

/* Tensors of Y's rank with dimensions in the order of the GEMM's rows and columns. */
static struct kern_op in_order(const struct kern_op *op, bool images_first)
{
    struct kern_op out = *op;
    for (uint32_t t = 2; t < op->input_count + op->output_count; t++) {
        const struct kern_view *from = &op->tensors[t];
        struct kern_view *to = &out.tensors[t];
        for (uint32_t d = 0; d < from->rank; d++) {
            const uint32_t image = images_first ? from->rank - 1 : 1;
            const uint32_t at = !d ? image : d == 1 ? 0 : d - images_first;
            to->sizes[at] = from->sizes[d];
            to->strides[at] = from->strides[d];
        }
    }
    return out;
}

/* How many neighbours in a GEMM's factor share a line of the cache: `count` elements in a row have this stride. */
static int64_t shares_line(int64_t count, int64_t stride)
{
    stride = stride < 0 ? -stride : stride;
    return !stride ? 1 : BASE_MIN(count, BASE_MAX(LINE / stride, 1));
}

/* The best order of loads of the image: along the window, or along the columns. */
static bool window_first(const struct conv_block_params *params)
{
    const struct conv_params *conv = &params->conv;
    const int64_t k = params->channels_first ? shares_line(conv->in_group, conv->x[1])
                                             : shares_line(conv->kernel[2], (int64_t)conv->dilations[2] * conv->x[4]);
    const int64_t n = params->images_first ? shares_line(params->by_images.size, conv->x[0])
                                           : shares_line(conv->out_sizes[2], (int64_t)conv->steps[2] * conv->x[4]);
    return k >= n;
}

static bool filter_first(const struct conv_block_params *params)
{
    const struct conv_params *conv = &params->conv;
    const int64_t k = params->channels_first ? shares_line(conv->in_group, conv->w[1])
                                             : shares_line(conv->by_window.size, conv->w[4]);
    return k >= shares_line(conv->out_group, conv->w[0]);
}

static const struct block_tile *parameters(const struct kern_op *op, struct conv_block_params *out)
{
    struct conv_shape s;
    conv_shape_init(op, &s);
    *out = (struct conv_block_params){ .conv = shader_conv_parameters(op) };
    out->images_first = images_first(&out->conv);
    out->channels_first = shader_tile_closer(out->conv.x[1], out->conv.x[4]);
    out->by_images = shader_divisor(s.batch);
    out->by_pixels = shader_divisor((uint32_t)pixels_of(&s));
    out->tile = (struct tile_params){ .m = s.out_group,
                                      .n = (uint32_t)pixels_of(&s) * s.batch,
                                      .k = (uint32_t)taps_of(&s) * s.in_group,
                                      .batches = s.groups,
                                      .a_along_k = filter_first(out),
                                      .b_along_k = window_first(out),
                                      .alpha = 1,
                                      .beta = 1,
                                      .c = out->conv.bias,
                                      .a_zero = -1,
                                      .b_zero = -1 };
    return shader_block_cut(op, UINT32_MAX, &out->tile);
}

void shader_conv_block_plan(const struct kern_op *op, struct shader_work *out)
{
    struct conv_block_params params;
    const struct block_tile *tile = parameters(op, &params);
    const struct kern_op ordered = in_order(op, params.images_first);
    const bool whole = params.tile.k % tile->k == 0 && params.tile.depth % tile->k == 0;
    shader_block_add(&ordered, SHADER_conv_block, tile, &params.tile, whole ? GEMM_BLOCK_WHOLE : 0, sizeof(params),
                     out);
}

void shader_conv_block_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                             uint32_t *words)
{
    struct conv_block_params params;
    parameters(op, &params);
    const struct kern_op ordered = in_order(op, params.images_first);
    shader_tile_write(&ordered, index, places, &params.tile, sizeof(params), words);
}
