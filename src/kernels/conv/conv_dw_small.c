/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/conv/conv_dw_small.h"
#include "kernels/core/isa.h"
#include "kernels/row/row.h"

enum {
    EXTENT_MAX = 1 << 12, /* of everything spatial: products stay small */
    LINE_RESULTS = 31,    /* results: the kernel of planes fills its vectors with longer lines, without transposing */
    IMAGE_PIXELS = 2048,  /* padding included */
    BLOCK = 8,            /* channels; a fifth of what is computed may belong to none */
    ALIGN = 16,           /* floats */
};

/* Rows of an image follow each other without gaps. */
static bool dense_image(const int64_t *strides, const int64_t *size)
{
    return (size[2] == 1 || strides[4] == 1) && (size[1] == 1 || strides[3] == size[2]) &&
           (size[0] == 1 || strides[2] == size[1] * size[2]);
}

static bool shape_suits(const struct conv_shape *s)
{
    const uint64_t whole = base_align_up(s->out_channels, BLOCK);
    bool suits = s->in_group == 1 && s->groups > 1 && 4 * whole <= 5 * (uint64_t)s->out_channels && !s->transposed &&
                 s->out[2] <= LINE_RESULTS && dense_image(s->x, s->in) && s->y[4] == 1;
    for (uint32_t d = 0; d < KERN_SPATIAL_MAX; d++)
        suits = suits && s->in[d] <= EXTENT_MAX && s->out[d] <= EXTENT_MAX && s->kernel[d] <= EXTENT_MAX &&
                s->stride[d] <= EXTENT_MAX && s->dilation[d] <= EXTENT_MAX && s->pad[d] <= EXTENT_MAX &&
                s->pad[d] >= -EXTENT_MAX;
    return suits;
}

bool conv_dw_small_init(const struct kern_op *op, int64_t lanes, struct conv_dw_small *p)
{
    *p = (struct conv_dw_small){ .lanes = lanes };
    const struct conv_shape *s = &p->s;
    if (op->u.conv.integer || !dense_short_floats(op) || !conv_shape_init(op, &p->s) || !shape_suits(s))
        return false;
    p->pixels = 1;
    for (int d = 0; d < 3; d++) {
        p->size[d] = (s->out[d] - 1) * s->stride[d] + (s->kernel[d] - 1) * s->dilation[d] + 1;
        p->pixels *= BASE_MIN(p->size[d], IMAGE_PIXELS + 1); /* products do not overflow */
    }
    p->taps = s->kernel[0] * s->kernel[1] * s->kernel[2];
    p->ins = s->in[0] * s->in[1] * s->in[2];
    p->outs = s->out[0] * s->out[1] * s->out[2];
    if (p->pixels > IMAGE_PIXELS || p->ins > IMAGE_PIXELS)
        return false;
    p->blocks = (s->out_channels + lanes - 1) / lanes;
    p->groups = (p->outs + CONV_DW_SMALL_RESULTS - 1) / CONV_DW_SMALL_RESULTS;
    p->direct = kern_epilogue_bounds(op, &p->bounds) && dense_image(s->y, s->out);
    const uint64_t outs = (uint64_t)BASE_MAX(p->outs, lanes), ins = (uint64_t)BASE_MAX(p->ins, lanes);
    p->image = dense_take(&p->floats, (uint64_t)((p->pixels + 1) * lanes), ALIGN);
    p->bias = dense_take(&p->floats, (uint64_t)(p->blocks * lanes), ALIGN);
    p->weights = dense_take(&p->floats, op->packed_input == 2 ? 0 : (uint64_t)(p->taps * lanes), ALIGN);
    p->results = dense_take(&p->floats, outs * (uint64_t)lanes, ALIGN);
    p->planes = dense_take(&p->floats, p->direct ? 0 : outs * (uint64_t)lanes, ALIGN);
    p->places = dense_take(&p->floats, ins, ALIGN);
    p->reads = dense_take(&p->floats, (uint64_t)p->outs, ALIGN);
    p->steps = dense_take(&p->floats, (uint64_t)p->taps, ALIGN);
    p->list = dense_take(&p->floats, (uint64_t)p->groups * sizeof(struct conv_dw_small_group) / sizeof(float), ALIGN);
    p->epilogue = p->floats;
    return true;
}

static uint64_t small_plan(const struct kern_op *op, const struct conv_dw_small *p, struct kern_work *out)
{
    *out = (struct kern_work){ .units = p->s.batch * (uint64_t)p->blocks };
    out->grain = dense_grain((uint64_t)(p->outs * p->taps + 4 * p->ins));
    out->worker_scratch_bytes = p->floats * sizeof(float) + (p->direct ? 0 : dense_epilogue_bytes(op));
    return (uint64_t)(p->blocks * p->taps * p->lanes) * sizeof(float);
}

void conv_dw_small_pack_block(const struct kern_op *op, const struct conv_dw_small *p, const void *source,
                              int64_t block, float *packed)
{
    const struct conv_shape *s = &p->s;
    const DML_TENSOR_DATA_TYPE type = op->tensors[1].type;
    for (int64_t t = 0; t < p->taps; t++, packed += p->lanes) {
        const int64_t from = conv_weight_at(s, t);
        for (int64_t i = 0; i < p->lanes; i++) {
            const int64_t o = block * p->lanes + i, at = from + o * s->w[0];
            packed[i] = o >= s->out_channels                   ? 0
                        : type == DML_TENSOR_DATA_TYPE_FLOAT32 ? ((const float *)source)[at]
                                                               : (float)dense_load(source, at, type);
        }
    }
}

static void small_pack(const struct kern_op *op, const struct conv_dw_small *p, const void *source, float *packed)
{
    for (int64_t block = 0; block < p->blocks; block++)
        conv_dw_small_pack_block(op, p, source, block, packed + block * p->taps * p->lanes);
}

static int64_t place_of(const struct conv_dw_small *p, int64_t plane, int64_t row, int64_t column)
{
    return (plane * p->size[1] + row) * p->size[2] + column;
}

/* Pixels of X that no tap reads have a place behind the image. */
static void places_init(const struct conv_dw_small *p, int32_t *places)
{
    const struct conv_shape *s = &p->s;
    const int32_t unused = (int32_t)(p->pixels * p->lanes);
    int32_t *to = places;
    for (int64_t line = 0; line < s->in[0] * s->in[1]; line++) {
        const int64_t plane = line / s->in[1] + s->pad[0], row = line % s->in[1] + s->pad[1];
        const bool inside = plane >= 0 && plane < p->size[0] && row >= 0 && row < p->size[1];
        for (int64_t column = s->pad[2]; column < s->pad[2] + s->in[2]; column++) {
            const bool used = inside && column >= 0 && column < p->size[2];
            *to++ = used ? (int32_t)(place_of(p, plane, row, column) * p->lanes) : unused;
        }
    }
    while (to < places + p->lanes)
        *to++ = unused;
}

/* Elements of the window along dimension d that are inside for one of some results. */
static void add_range(const struct conv_shape *s, uint32_t d, int64_t at, int64_t *range)
{
    int64_t from, to;
    dense_range(s->kernel[d], s->dilation[d], at * s->stride[d] - s->pad[d], s->in[d], &from, &to);
    if (from >= to)
        return;
    range[0] = BASE_MIN(range[0], from);
    range[1] = BASE_MAX(range[1], to);
}

/* A group's taps are those of the kernel's planes and rows that are inside for one of its results. */
static struct conv_dw_small_group group_of(const struct conv_dw_small *p, int64_t i)
{
    const struct conv_shape *s = &p->s;
    const int64_t first = p->outs * i / p->groups, end = p->outs * (i + 1) / p->groups;
    int64_t planes[2] = { s->kernel[0], 0 }, rows[2] = { s->kernel[1], 0 };
    for (int64_t line = first / s->out[2]; line <= (end - 1) / s->out[2]; line++) {
        add_range(s, 0, line / s->out[1], planes);
        add_range(s, 1, line % s->out[1], rows);
    }
    return (struct conv_dw_small_group){ .first = (int32_t)first,
                                         .count = (int32_t)(end - first),
                                         .planes = { (int32_t)planes[0], (int32_t)planes[1] },
                                         .begin = (int32_t)(rows[0] * s->kernel[2]),
                                         .end = (int32_t)(rows[1] * s->kernel[2]) };
}

void conv_dw_small_tables(const struct conv_dw_small *p, float *scratch)
{
    const struct conv_shape *s = &p->s;
    int32_t *reads = (int32_t *)(scratch + p->reads), *steps = (int32_t *)(scratch + p->steps);
    struct conv_dw_small_group *list = (struct conv_dw_small_group *)(scratch + p->list);
    places_init(p, (int32_t *)(scratch + p->places));
    for (int64_t line = 0; line < s->out[0] * s->out[1]; line++) {
        const int64_t at = place_of(p, line / s->out[1] * s->stride[0], line % s->out[1] * s->stride[1], 0);
        for (int64_t i = 0; i < s->out[2]; i++)
            *reads++ = (int32_t)((at + i * s->stride[2]) * p->lanes);
    }
    for (int64_t line = 0; line < s->kernel[0] * s->kernel[1]; line++) {
        const int64_t k0 = line / s->kernel[1], k1 = line % s->kernel[1];
        const int64_t at = place_of(p, k0 * s->dilation[0], k1 * s->dilation[1], 0);
        for (int64_t k2 = 0; k2 < s->kernel[2]; k2++)
            *steps++ = (int32_t)((at + k2 * s->dilation[2]) * p->lanes);
    }
    for (int64_t i = 0; i < p->groups; i++)
        list[i] = group_of(p, i);
}

bool kern_conv_dw_small_f32_accepts(const struct kern_op *op)
{
    struct conv_dw_small plan;
    return conv_dw_small_init(op, 1, &plan) && !kern_conv_grad_planes_f32_accepts(op);
}

#define ROW(isa)                                                                                                       \
    KERN_PACKED_ROW(conv_dw_small_f32_##isa, struct conv_dw_small,                                                     \
                    conv_dw_small_init(op, CONV_DW_SMALL_LANES_##isa, &plan), small_plan(op, &plan, out),              \
                    small_pack(op, &plan, source, packed))
KERN_EACH_ISA(ROW)
