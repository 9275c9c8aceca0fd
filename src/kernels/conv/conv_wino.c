/* SPDX-License-Identifier: Apache-2.0 */
/* Accepts convolutions for Winograd's algorithm, and plans their work. */
#include "kernels/conv/conv_plans.h"
#include "kernels/core/choice.h"
#include "kernels/core/isa.h"

#include <math.h>

/* Transformed inputs and products of a block of tiles stay in the second-level cache. */
#define BLOCK_FLOATS (160 * 1024)
#define BLOCK_ROWS   6 /* maximum calls of the GEMM for a panel */

static bool shape_fits(const struct kern_op *op, const struct conv_shape *s)
{
    if (op->u.conv.spatial != 2 || s->groups != 1 || s->transposed || op->u.conv.integer)
        return false;
    if (s->kernel[1] != s->kernel[2] || (s->kernel[1] != 3 && s->kernel[1] != 5))
        return false;
    return s->stride[1] == 1 && s->stride[2] == 1 && s->dilation[1] == 1 && s->dilation[2] == 1;
}

/* A transposed convolution is the convolution with the mirrored filter and exchanged channels. */
static void turn(struct conv_shape *s)
{
    const int64_t out = s->w[1];
    s->w[1] = s->w[0];
    s->w[0] = out;
    for (uint32_t d = 0; d < KERN_SPATIAL_MAX; d++)
        s->pad[d] = (s->kernel[d] - 1) * s->dilation[d] - s->pad[d];
    s->flip = !s->flip;
    s->transposed = false;
}

#define FILTER_CYCLES 50 /* cost of the transform of a filter */

/* Time relative to the direct convolution: cycles of two multiply-adds on vectors, fitted to measurements from 3 to 512
 * channels and 7 x 7 to 160 x 160 pixels. GEMMs run at 80 % of the peak, transforms cost by the vector, weights come
 * from memory at 6 bytes a cycle; direct convolutions run at 85 %, on whole vectors of output channels. */
static double wino_cost(const struct wino *w, bool packed)
{
    const struct conv_shape *s = &w->s;
    double lanes = w->lanes, taps = (double)(s->kernel[1] * s->kernel[2]), in = s->in_channels;
    double outs = (double)w->panels * w->panel, direct_outs = (s->out_channels + w->lanes - 1) / w->lanes * lanes;
    double products = (double)w->tiles * w->points * in * outs / (2 * lanes) / 0.8;
    double transforms = (double)w->tiles * w->points * (w->depth + outs) / lanes * (w->size == 6 ? 2.7 : 7);
    double weights = w->points * in * s->out_channels * sizeof(float) / 6;
    double direct = (double)s->batch * s->out[1] * s->out[2] * taps * in * direct_outs / (2 * lanes) / 0.85;
    double direct_weights = taps * in * s->out_channels * sizeof(float) / 6;
    if (!packed) { /* written before they are read */
        weights += weights + FILTER_CYCLES * in * s->out_channels;
        direct_weights *= 3;
    }
    return (products + transforms + weights) / (direct + direct_weights);
}

#define GRAD_SUMS   (600 * 1024)  /* floats of sums at once */
#define GRAD_BLOCK  (1024 * 1024) /* of transformed tiles, if sums exceed the second-level cache */
#define GRAD_POINTS 36

static bool grad_fits(const struct kern_op *op, const struct conv_shape *s)
{
    if (op->u.conv.spatial != 2 || s->groups != 1 || s->transposed || s->flip || op->u.conv.has_bias || op->epilogue ||
        op->packed_input || !conv_has_type(op, DML_TENSOR_DATA_TYPE_FLOAT32))
        return false;
    for (uint32_t d = 1; d < KERN_SPATIAL_MAX; d++)
        if (s->out[d] != 3 || s->stride[d] != 1 || s->dilation[d] != 1 || s->kernel[d] < 4)
            return false;
    return s->x[0] == 1 && s->w[0] == 1;
}

static bool wino_grad_init(const struct kern_op *op, uint32_t lanes, struct wino_grad *g)
{
    const struct conv_shape *s = &g->s;
    if (!conv_shape_init(op, &g->s) || !grad_fits(op, s))
        return false;
    g->ins = s->batch;
    g->images = s->in_channels;
    g->outs = s->out_channels;
    g->rows = (uint32_t)((s->kernel[1] + 3) / 4);
    g->columns = (uint32_t)((s->kernel[2] + 3) / 4);
    const uint64_t tiles = (uint64_t)g->rows * g->columns * g->images;
    g->tiles = (uint32_t)tiles;
    g->panel = lanes * WINO_VECS(lanes);
    g->panels = (g->outs + g->panel - 1) / g->panel;
    g->depth = (g->ins + lanes - 1) / lanes * lanes;
    const uint64_t panel_sums = (uint64_t)GRAD_POINTS * g->ins * g->panel;
    g->cut = (uint32_t)BASE_MIN(BASE_MAX(GRAD_SUMS / BASE_MAX(panel_sums, 1), 1), g->panels);
    const uint64_t tile = (uint64_t)GRAD_POINTS * (g->depth + g->cut * (uint64_t)g->panel);
    const uint64_t most = (g->cut * panel_sums <= BLOCK_FLOATS ? BLOCK_FLOATS : GRAD_BLOCK) / tile;
    const uint64_t blocks = (tiles + BASE_MAX(most, 16) - 1) / BASE_MAX(most, 16);
    g->block = blocks ? (uint32_t)((tiles + blocks - 1) / blocks) : 0;
    g->in_step = (uint64_t)g->block * g->depth + 16;
    g->out_step = (uint64_t)g->cut * g->block * g->panel + 16;
    g->sum_step = (uint64_t)g->cut * g->ins * g->panel + 16;
    g->out = base_align_up(GRAD_POINTS * g->in_step, 16);
    g->sum = g->out + base_align_up(GRAD_POINTS * g->out_step, 16);
    g->patch = g->sum + base_align_up(GRAD_POINTS * g->sum_step, 16);
    g->floats = g->patch + (uint64_t)GRAD_POINTS * BASE_MAX(g->depth, g->panel);
    return tiles && tiles <= UINT32_MAX && g->ins;
}

/* As wino_cost; sums are read and written again for each block of tiles. */
static double grad_cost(const struct wino_grad *g, double lanes)
{
    double outs = (double)g->panels * g->panel, ins = g->depth, tiles = g->tiles;
    double cuts = (double)g->panels / g->cut, blocks = tiles / g->block;
    double products = tiles * GRAD_POINTS * ins * outs / (2 * lanes) / 0.8;
    double transforms = tiles * GRAD_POINTS * (ins * cuts + outs) / lanes * 2.7;
    double sums = GRAD_POINTS * ins * outs * (2 + 2 * (blocks - 1)) * sizeof(float) / 16 + ins * outs * 12;
    double gradients = (double)g->images * g->s.kernel[1] * g->s.kernel[2];
    double direct = gradients * 9 * ins * outs / (2 * lanes) / 0.75 + 9 * ins * outs * sizeof(float) / 3;
    return (products + transforms + sums) / direct;
}

#define TILES_BEST 8 /* fewer at once take as long */

/* Cycles until all threads are done, as in wino_cost. */
static double blocks_time(const struct wino *w, uint32_t threads, uint32_t blocks)
{
    const uint32_t each = (blocks * w->panels + threads - 1) / threads, tiles = (w->tiles + blocks - 1) / blocks;
    const double lanes = w->lanes, point = (double)w->points * BASE_MAX(tiles, TILES_BEST);
    const double products = point * w->s.in_channels * w->panel / (2 * lanes) / 0.8;
    const double weights = (double)w->points * w->s.in_channels * w->panel * sizeof(float) / 16;
    const double transform = (double)w->points * tiles / lanes * (w->size == 6 ? 2.7 : 7);
    return each * (products + weights + transform * w->panel) +
           (each + w->panels - 1) / w->panels * transform * w->depth;
}

/* The number that memory requires, or more, so that threads are done soonest. */
static uint32_t wino_blocks(const struct wino *w, uint32_t threads)
{
    uint32_t best = w->blocks;
    double least = 0.97 * blocks_time(w, threads, best);
    for (uint32_t blocks = best + 1; blocks <= BASE_MIN(w->tiles, w->blocks + 2 * threads); blocks++) {
        const double time = blocks_time(w, threads, blocks);
        best = time < least ? blocks : best;
        least = time < least ? time : least;
    }
    return best;
}

bool wino_init(const struct kern_op *op, uint32_t lanes, struct wino *w)
{
    w->gradient = wino_grad_init(op, lanes, &w->g);
    if (w->gradient)
        return true;
    if (!conv_shape_init(op, &w->s))
        return false;
    if (w->s.transposed && w->s.groups == 1)
        turn(&w->s);
    if (!shape_fits(op, &w->s) || !conv_epilogue_init(op, &w->post))
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
    if (op->cut)
        w->blocks = BASE_MIN(op->cut, BASE_MAX(w->tiles, 1));
    else if (op->threads > 2)
        w->blocks = wino_blocks(w, op->threads);
    else /* an even number, so that two threads do not share a block, whose inputs both would transform */
        w->blocks += tiles >= 2 * rows ? w->blocks % 2 : 0;
    w->block = w->blocks ? (w->tiles + w->blocks - 1) / w->blocks : 0;
    w->blocks = w->block ? (w->tiles + w->block - 1) / w->block : 0; /* none is empty */
    w->cuts = w->blocks < BASE_MAX(32, 4u * op->threads) ? w->panels : 1;
    w->in_step = (uint64_t)w->block * w->depth + 16; /* the points of a tile must not all map to one cache set */
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
    if (!wino_init(op, 16, &w))
        return false;
    if (w.gradient)
        return kern_pays(op, KERN_CHOICE_winograd_3, grad_cost(&w.g, 16));
    return conv_has_type(op, DML_TENSOR_DATA_TYPE_FLOAT32) &&
           (!op->u.conv.has_bias || op->tensors[2].sizes[1] == w.s.out_channels) &&
           kern_pays(op, w.size == 6 ? KERN_CHOICE_winograd_3 : KERN_CHOICE_winograd_5,
                     wino_cost(&w, op->packed_input == 2));
}

double kern_conv_wino_cost(const struct kern_op *op)
{
    struct wino w;
    return wino_init(op, 16, &w) && !w.gradient ? wino_cost(&w, true) : INFINITY;
}

static uint64_t wino_plan(const struct kern_op *op, const struct wino *w, struct kern_work *out)
{
    if (w->gradient) {
        *out = (struct kern_work){ .units = w->g.panels, .grain = 1 };
        out->worker_scratch_bytes = w->g.floats * sizeof(float);
        return 0;
    }
    const uint64_t packed = (uint64_t)w->points * w->panels * w->panel * w->s.in_channels * sizeof(float);
    *out = (struct kern_work){ .units = (uint64_t)w->blocks * w->cuts, .grain = 1 };
    out->worker_scratch_bytes = w->floats * sizeof(float);
    out->cut = w->blocks;
    out->packs = op->packed_input != 2;
    out->scratch_bytes = out->packs ? packed : 0;
    return packed;
}

#define ROW(isa)                                                                                                       \
    KERN_PACKED_ROW(conv_wino_f32_##isa, struct wino, wino_init(op, CONV_PW_LANES_##isa, &plan),                       \
                    wino_plan(op, &plan, out), wino_pack_##isa(&plan, source, packed))
KERN_EACH_ISA(ROW)
