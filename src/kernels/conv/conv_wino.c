/* SPDX-License-Identifier: Apache-2.0 */
/* Which convolutions are computed so, how the work is cut, and the transform of the weights. */
#include "kernels/conv/conv_plans.h"
#include "kernels/core/choice.h"
#include "kernels/core/isa.h"

#include <math.h>

/* Transformed inputs and products of a block of tiles stay in the second-level cache. */
#define BLOCK_FLOATS (160 * 1024)
#define BLOCK_ROWS   6 /* most calls of the product for a panel */

static bool shape_fits(const struct kern_op *op, const struct conv_shape *s)
{
    if (op->u.conv.spatial != 2 || s->groups != 1 || s->transposed || op->u.conv.integer)
        return false;
    if (s->kernel[1] != s->kernel[2] || (s->kernel[1] != 3 && s->kernel[1] != 5))
        return false;
    return s->stride[1] == 1 && s->stride[2] == 1 && s->dilation[1] == 1 && s->dilation[2] == 1;
}

/* Time over the direct convolution's: cycles of two multiply-adds on vectors, fitted to measurements from 3 to 512
 * channels and 7 x 7 to 160 x 160 pixels. Products run at 80 % of the peak, transforms cost by the vector, weights
 * come from memory at 6 bytes a cycle; direct convolutions run at 85 %, on whole vectors of output channels. */
static double wino_cost(const struct wino *w)
{
    const struct conv_shape *s = &w->s;
    double lanes = w->lanes, taps = (double)(s->kernel[1] * s->kernel[2]), in = s->in_channels;
    double outs = (double)w->panels * w->panel, direct_outs = (s->out_channels + w->lanes - 1) / w->lanes * lanes;
    double products = (double)w->tiles * w->points * in * outs / (2 * lanes) / 0.8;
    double transforms = (double)w->tiles * w->points * (w->depth + outs) / lanes * (w->size == 6 ? 2.7 : 7);
    double weights = w->points * in * s->out_channels * sizeof(float) / 6;
    double direct = (double)s->batch * s->out[1] * s->out[2] * taps * in * direct_outs / (2 * lanes) / 0.85;
    double direct_weights = taps * in * s->out_channels * sizeof(float) / 6;
    return (products + transforms + weights) / (direct + direct_weights);
}

bool wino_init(const struct kern_op *op, uint32_t lanes, struct wino *w)
{
    if (!conv_shape_init(op, &w->s) || !shape_fits(op, &w->s) || !conv_epilogue_init(op, &w->post))
        return false;
    const struct conv_shape *s = &w->s;
    w->size = (uint32_t)s->kernel[1] + WINO_OUTS - 1;
    w->points = w->size * w->size;
    w->rows = (uint32_t)((s->out[1] + WINO_OUTS - 1) / WINO_OUTS);
    w->columns = (uint32_t)((s->out[2] + WINO_OUTS - 1) / WINO_OUTS);
    uint64_t tiles = (uint64_t)w->rows * w->columns * s->batch;
    w->tiles = (uint32_t)tiles;
    w->lanes = lanes;
    w->panel = lanes * WINO_VECS(lanes);
    w->panels = (s->out_channels + w->panel - 1) / w->panel;
    w->depth = (s->in_channels + lanes - 1) / lanes * lanes;
    uint64_t most = BLOCK_FLOATS / ((uint64_t)w->points * ((uint64_t)w->depth + w->panel)), rows = WINO_ROWS(lanes);
    most = BASE_MIN(BASE_MAX(most / rows, 1), BLOCK_ROWS) * rows;
    w->blocks = (uint32_t)((tiles + most - 1) / most);
    /* An even number, so that two threads share no block, whose inputs both would transform. */
    w->blocks += tiles >= 2 * rows ? w->blocks % 2 : 0;
    w->block = w->blocks ? (w->tiles + w->blocks - 1) / w->blocks : 0;
    w->blocks = w->block ? (w->tiles + w->block - 1) / w->block : 0; /* none is empty */
    w->cuts = w->blocks < 32 ? w->panels : 1;
    w->in_step =
        (uint64_t)w->block * w->depth + 16; /* the points of a tile must not all fall into one set of a cache */
    w->out_step = (uint64_t)w->block * w->panel + 16;
    w->out = base_align_up(w->points * w->in_step, 16);
    w->patch = w->out + base_align_up(w->points * w->out_step, 16);
    uint64_t strip = (uint64_t)w->size * lanes * wino_strip_columns(w, BASE_MIN(w->block, w->columns));
    w->bias = w->patch + base_align_up(BASE_MAX((uint64_t)w->points * w->depth, strip), 16);
    w->floats = w->bias + (uint64_t)w->panels * w->panel;
    return tiles && tiles <= UINT32_MAX;
}

bool kern_conv_wino_f32_accepts(const struct kern_op *op)
{
    struct wino w;
    return op->packed_input == 2 && wino_init(op, 16, &w) && conv_has_type(op, DML_TENSOR_DATA_TYPE_FLOAT32) &&
           (!op->u.conv.has_bias || op->tensors[2].sizes[1] == w.s.out_channels) &&
           kern_pays(op, w.size == 6 ? KERN_CHOICE_winograd_3 : KERN_CHOICE_winograd_5, wino_cost(&w));
}

double kern_conv_wino_cost(const struct kern_op *op)
{
    struct wino w;
    return wino_init(op, 16, &w) ? wino_cost(&w) : INFINITY;
}

static uint64_t wino_plan(const struct wino *w, struct kern_work *out)
{
    *out = (struct kern_work){ .units = (uint64_t)w->blocks * w->cuts, .grain = 1 };
    out->worker_scratch_bytes = w->floats * sizeof(float);
    return (uint64_t)w->points * w->panels * w->panel * w->s.in_channels * sizeof(float);
}

/* The values of the polynomial of a row of weights at the points, over the product of the differences of points. */
static void weight_values(uint32_t size, uint32_t taps, const double *from, double *to, uint32_t step)
{
    double points[WINO_SIZE_MAX] = { 0 };
    for (uint32_t i = 1; i + 1 < size; i++)
        points[i] = (i % 2 ? 1 : -1) * wino_point(size, (i - 1) / 2);
    for (uint32_t i = 0; i + 1 < size; i++) {
        double value = 0, product = 1;
        for (uint32_t t = taps; t-- > 0;)
            value = value * points[i] + from[t];
        for (uint32_t j = 0; j + 1 < size; j++)
            product *= j == i ? 1 : points[i] - points[j];
        to[i * step] = value / product;
    }
    to[(size - 1) * step] = from[taps - 1];
}

#define PACK_LANES 8
#define PANEL_MAX  32
typedef double pack_vec __attribute__((vector_size(PACK_LANES * sizeof(double))));
typedef float pack_floats __attribute__((vector_size(PACK_LANES * sizeof(float))));

/* The weights of input channel c for `count` output channels from `from` on, zeros for others. */
static void pack_load(const struct conv_shape *s, const float *from, uint32_t c, uint32_t count, pack_vec *out)
{
    uint32_t taps = (uint32_t)(s->kernel[1] * s->kernel[2]);
    from += c * s->w[1];
    for (uint32_t t = 0; t < taps; t++) {
        uint32_t tap = s->flip ? taps - 1 - t : t;
        const float *at = from + tap / s->kernel[2] * s->w[3] + tap % s->kernel[2] * s->w[4];
        out[t] = (pack_vec){ 0 };
        for (uint32_t lane = 0; lane < PACK_LANES && lane < count; lane++)
            out[t][lane] = at[lane * s->w[0]];
    }
}

/* Values at all points. matrix: [point of a line][tap] */
static void pack_values(uint32_t size, uint32_t taps, const double *matrix, const pack_vec *plain, uint32_t step,
                        float *out)
{
    pack_vec half[5 * WINO_SIZE_MAX];
    for (uint32_t i = 0; i < taps * size; i++) {
        half[i] = matrix[i % size * taps] * plain[i / size * taps];
        for (uint32_t t = 1; t < taps; t++)
            half[i] += matrix[i % size * taps + t] * plain[i / size * taps + t];
    }
    for (uint32_t i = 0; i < size * size; i++, out += step) {
        pack_vec sum = matrix[i / size * taps] * half[i % size];
        for (uint32_t t = 1; t < taps; t++)
            sum += matrix[i / size * taps + t] * half[t * size + i % size];
        pack_floats single = __builtin_convertvector(sum, pack_floats);
        memcpy(out, &single, sizeof(single));
    }
}

/* Packed: [panel][point][input channel][output channel of the panel]. Whole lines go out at once: those of neighbouring
 * points often share sets of the caches. */
static void wino_pack(const struct wino *w, const float *source, float *packed)
{
    const struct conv_shape *s = &w->s;
    uint32_t taps = (uint32_t)s->kernel[1];
    double matrix[5 * WINO_SIZE_MAX];
    for (uint32_t t = 0; t < taps; t++) {
        double unit[5] = { 0 };
        unit[t] = 1;
        weight_values(w->size, taps, unit, matrix + t, taps);
    }
    for (uint32_t o = 0; o < s->out_channels; o += w->panel, packed += (uint64_t)w->points * s->in_channels * w->panel)
        for (uint32_t c = 0; c < s->in_channels; c++) {
            float values[WINO_SIZE_MAX * WINO_SIZE_MAX * PANEL_MAX];
            for (uint32_t i = 0; i < w->panel; i += PACK_LANES) {
                pack_vec plain[25];
                uint32_t left = s->out_channels - o > i ? s->out_channels - o - i : 0;
                pack_load(s, source + (int64_t)(left ? o + i : 0) * s->w[0], c, left, plain);
                pack_values(w->size, taps, matrix, plain, w->panel, values + i);
            }
            for (uint32_t i = 0; i < w->points; i++)
                memcpy(packed + ((uint64_t)i * s->in_channels + c) * w->panel, values + i * w->panel,
                       w->panel * sizeof(float));
        }
}

#define ROW(isa)                                                                                                       \
    KERN_PACKED_ROW(conv_wino_f32_##isa, struct wino, wino_init(op, CONV_PW_LANES_##isa, &plan),                       \
                    wino_plan(&plan, out), wino_pack(&plan, source, packed))
KERN_EACH_ISA(ROW)
