/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of large images with stride one, with cooperative matrices (conv_window.comp). */
#include "shaders/conv/shader_conv.h"

#define SIDE         16 /* of a matrix */
#define SUBGROUPS    4
#define KERNEL_MAX   7
#define LOADS_MAX    12 /* vectors of the image at a time, of an invocation */
#define SHARED       49152
#define SHARED_PLAIN 32768 /* of every device */

/* Of a subgroup in matrices, and of a workgroup in subgroups: SHAPE of conv_window.comp. */
struct cut {
    uint32_t rows, columns, groups_x, groups_y, groups_n;
};

struct shape {
    struct conv_window_params params;
    struct cut cut;
    uint64_t tiles, matrices; /* of packed weights */
    bool wide_x;
    uint32_t y_order;
};

static const struct cut cuts[] = {
#define TILE(class, kind, m, n, k, least)
#define COOP_TILE(m, n, k, groups, least)
#define WINDOW(rows, columns, groups_x, groups_y, groups_n) { rows, columns, groups_x, groups_y, groups_n },
#define TUNE(name, value)
#include "shaders/tuning.def"
#undef TILE
#undef COOP_TILE
#undef TUNE
};

static uint32_t forced;

void shader_conv_window_force(uint32_t number)
{
    forced = number;
}

static uint32_t count(uint64_t size, uint64_t tile)
{
    return (uint32_t)((size + tile - 1) / tile);
}

/* Vectors of eight channels are complete and start at multiples of 16 bytes. */
static bool is_wide(const struct kern_view *view)
{
    return view->sizes[1] > 1 && shader_coop_wide(view, 1);
}

static bool fits(const struct cut *c, const struct conv_params *conv)
{
    const uint32_t room = shader_coop_is_plain() ? SHARED_PLAIN - 6 * 512 * SUBGROUPS : SHARED;
    const uint32_t cover =
        (c->groups_y * c->rows + (uint32_t)conv->kernel[1] - 1) * (c->groups_x * SIDE + (uint32_t)conv->kernel[2] - 1);
    if (cover * 2 > LOADS_MAX * 32 * SUBGROUPS)
        return false;
    return 16 * BASE_MAX(cover * 3, SUBGROUPS * SIDE * (4 * c->columns + 1)) <= room;
}

/* The first one that has the channels of the last, and for which there is enough memory; for tests, any. */
static const struct cut *choose(const struct conv_params *conv)
{
    const uint32_t last = ARRAY_SIZE(cuts) - 1, channels = BASE_MIN(count(conv->out_group, SIDE), 4);
    if (forced && fits(&cuts[forced % ARRAY_SIZE(cuts)], conv))
        return &cuts[forced % ARRAY_SIZE(cuts)];
    for (uint32_t i = 0; i <= last; i++)
        if (cuts[i].columns * cuts[i].groups_n >= channels && fits(&cuts[i], conv))
            return &cuts[i];
    return NULL;
}

static bool shape_of(const struct kern_op *op, struct shape *out)
{
    const struct kern_view *x = &op->tensors[0], *y = &op->tensors[op->input_count];
    *out = (struct shape){ .params.conv = shader_conv_parameters(op) };
    struct conv_window_params *params = &out->params;
    const struct conv_params *conv = &params->conv;
    const struct cut *cut = choose(conv);
    if (!cut)
        return false;
    out->cut = *cut;
    const uint32_t pixels = (uint32_t)(conv->out_sizes[1] * conv->out_sizes[2]), images = y->sizes[0];
    params->by_pixels = shader_divisor(pixels);
    params->m = pixels * images;
    params->by_tiles_x = shader_divisor(count((uint32_t)conv->out_sizes[2], cut->groups_x * SIDE));
    params->by_tiles_y = shader_divisor(count((uint32_t)conv->out_sizes[1], cut->groups_y * cut->rows));
    params->by_tiles_n = shader_divisor(count(conv->out_group, cut->groups_n * cut->columns * SIDE));
    params->by_groups = shader_divisor(conv->out_channels / conv->out_group);
    out->tiles = (uint64_t)params->by_tiles_x.size * params->by_tiles_y.size * params->by_tiles_n.size *
                 params->by_groups.size * images;
    out->matrices = (uint64_t)params->by_tiles_n.size * cut->groups_n * cut->columns * count(conv->in_group, SIDE) *
                    params->by_groups.size * conv->by_plane.size;
    out->wide_x = conv->in_group % 8 == 0 && is_wide(x);
    const bool vectors = shader_conv_stores_vectors(y->type) && conv->out_group % 8 == 0 && is_wide(y);
    out->y_order = vectors ? 1 : shader_tile_closer(conv->y[1], conv->y[4]) ? 2 : 0;
    return true;
}

/* Tiles do not have many more pixels than the images. */
static bool fills(const struct shape *s)
{
    const uint64_t width = (uint64_t)s->params.by_tiles_x.size * s->cut.groups_x * SIDE;
    const uint64_t height = (uint64_t)s->params.by_tiles_y.size * s->cut.groups_y * s->cut.rows;
    return width * height * 2 <= (uint64_t)s->params.by_pixels.size * 3;
}

const char *shader_conv_window_coop_unsupported(const struct kern_op *op)
{
    struct conv_shape s;
    struct shape shape;
    const char *found = shader_conv_unsupported(op, &s);
    if (found)
        return found;
    if (s.transposed || s.flip || !conv_is_plane(&s) || s.kernel[1] > KERNEL_MAX || s.kernel[2] > KERNEL_MAX ||
        s.kernel[1] * s.kernel[2] == 1 || s.stride[1] != 1 || s.stride[2] != 1 || s.dilation[1] != 1 ||
        s.dilation[2] != 1)
        return "no shader for such windows";
    const uint64_t m = (uint64_t)(s.out[1] * s.out[2]) * s.batch;
    if (op->tensors[0].type != DML_TENSOR_DATA_TYPE_FLOAT16 || op->tensors[1].type != DML_TENSOR_DATA_TYPE_FLOAT16)
        return "no shader for these data types";
    if (s.in_group < TUNE_WINDOW_CHANNELS_MIN)
        return "too few channels";
    if (m > INT32_MAX / 2 || !shape_of(op, &shape) || shape.tiles > INT32_MAX || shape.matrices > INT32_MAX / 32)
        return "the convolution is large";
    found = shader_coop_unsupported(op, SIDE, m, (uint64_t)(s.kernel[1] * s.kernel[2]) * s.in_group);
    if (found)
        return found;
    return !forced && (shape.tiles < shader_multiprocessors(op) || !fills(&shape)) ? "the image is small"
                                                                                   : shader_epilogue_unsupported(op);
}

static uint64_t pack_groups(const struct shape *shape)
{
    return (shape->matrices + SUBGROUPS - 1) / SUBGROUPS;
}

void shader_conv_window_coop_plan(const struct kern_op *op, struct shader_work *out)
{
    const bool plain = shader_coop_is_plain();
    struct shape shape;
    if (!shape_of(op, &shape))
        return; /* reported as the unsupported reason */
    const struct conv_params *conv = &shape.params.conv;
    const struct cut *cut = &shape.cut;
    const uint32_t bits = (uint32_t)conv->kernel[1] | (uint32_t)conv->kernel[2] << 4 | cut->rows << 8 |
                          cut->columns << 12 | cut->groups_x << 16 | cut->groups_y << 20 | cut->groups_n << 24;
    const enum shader_code pack = plain ? SHADER_conv_window_pack_plain : SHADER_conv_window_pack;
    struct shader_dispatch *dispatch = shader_add(out, pack, op, pack_groups(&shape), 1, sizeof(shape.params));
    dispatch->constants[4] = bits;
    dispatch->constant_count = 5;
    dispatch = shader_add(out, plain ? SHADER_conv_window_coop_plain : SHADER_conv_window_coop, op, shape.tiles, 1,
                          sizeof(shape.params));
    shader_specialize(op, (uint64_t)shape.params.m * conv->out_channels, dispatch);
    dispatch->constants[2] = shape.wide_x;
    dispatch->constants[3] = shape.y_order;
    dispatch->constants[4] = bits;
    dispatch->constant_count = 5;
    shader_conv_finish(op, dispatch);
    out->scratch_bytes = shape.matrices * SIDE * SIDE * 2;
}

void shader_conv_window_coop_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                                   uint32_t *words)
{
    struct shape shape;
    if (shape_of(op, &shape))
        shader_block_write(op, places, index ? shape.tiles : pack_groups(&shape), &shape.params, sizeof(shape.params),
                           words);
}
