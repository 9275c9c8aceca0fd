/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling and sampling of regions of interest, and the gradients, the reference: sample by sample. The maximum never
 * selects NaN. Units of gradients are the planes of the image's, then the regions of the corners', if requested. */
#include "kernels/resample/roi.h"

#include <math.h>

/* One output's samples in one channel of an image. */
struct cell {
    const struct kern_call *call;
    struct roi_tensors t;
    struct roi_region region;
    int64_t image;       /* offset of the channel in the image */
    uint64_t x[2], y[2]; /* samples inside */
    double sum, best;
    struct roi_tap best_x, best_y; /* the first of the largest */
};

static void cell_at(struct cell *cell, uint32_t ox, uint32_t oy)
{
    roi_axis_inside(&cell->region.x, ox, &cell->x[0], &cell->x[1]);
    roi_axis_inside(&cell->region.y, oy, &cell->y[0], &cell->y[1]);
}

static int64_t pixel_at(const struct cell *cell, const struct roi_tap *tx, const struct roi_tap *ty, uint32_t corner)
{
    return cell->image + (corner >> 1 ? ty->i1 : ty->i0) * cell->t.image->strides[2] +
           (corner & 1 ? tx->i1 : tx->i0) * cell->t.image->strides[3];
}

static double value_at(const struct cell *cell, const struct roi_tap *tx, const struct roi_tap *ty)
{
    double sum = 0;
    for (uint32_t corner = 0; corner < 4; corner++) {
        double weight = (corner & 1 ? tx->w : 1 - tx->w) * (corner >> 1 ? ty->w : 1 - ty->w);
        if (weight != 0)
            sum += weight *
                   dense_load(cell->call->data[cell->t.in_image], pixel_at(cell, tx, ty, corner), cell->t.image->type);
    }
    return sum;
}

static void reduce(struct cell *cell)
{
    cell->sum = 0;
    cell->best = -INFINITY;
    for (uint64_t sy = cell->y[0]; sy < cell->y[1]; sy++) {
        const struct roi_tap ty = roi_axis_tap(&cell->region.y, sy);
        for (uint64_t sx = cell->x[0]; sx < cell->x[1]; sx++) {
            const struct roi_tap tx = roi_axis_tap(&cell->region.x, sx);
            const double value = value_at(cell, &tx, &ty);
            cell->sum += value;
            if (!(value > cell->best))
                continue;
            cell->best = value;
            cell->best_x = tx;
            cell->best_y = ty;
        }
    }
}

bool kern_roi_any_ref_accepts(const struct kern_op *op)
{
    const struct roi_tensors t = roi_tensors(op);
    return !op->epilogue && t.image->rank == 4 && t.pooled->rank == 4 && dense_is_float(t.image->type) &&
           t.pooled->type == t.image->type && op->tensors[ROI_CORNERS].rank == 2 && op->tensors[ROI_BATCH].rank == 1;
}

void kern_roi_any_ref_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    const struct kern_view *y = roi_tensors(op).pooled;
    *out = (struct kern_work){ .units = dense_rows(y), .grain = dense_grain(256 * (uint64_t)y->sizes[3]) };
}

static double output(struct cell *cell, uint32_t ox, uint32_t oy)
{
    const struct kern_roi *roi = cell->t.roi;
    const struct roi_axis *ax = &cell->region.x, *ay = &cell->region.y;
    cell_at(cell, ox, oy);
    const double share = roi_axis_share(ax, cell->x[0], cell->x[1]) * roi_axis_share(ay, cell->y[0], cell->y[1]);
    if (!(share > 0))
        return roi->outside;
    reduce(cell);
    if (roi->mode == KERN_ROI_AVERAGE)
        return cell->sum / ((double)ax->per * (double)ay->per) + (share < 1 ? roi->outside * (1 - share) : 0);
    return roi->mode == KERN_ROI_MAX && share < 1 && roi->outside > cell->best ? (double)roi->outside : cell->best;
}

void kern_roi_any_ref_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    struct cell cell = { .call = call, .t = roi_tensors(call->op) };
    const struct kern_view *image = cell.t.image, *y = cell.t.pooled;
    for (uint64_t row = begin; row < end; row++) {
        uint32_t at[KERN_RANK_MAX];
        dense_row_at(y, row, at);
        const bool known = roi_region(call, &cell.t, at[0], &cell.region);
        cell.image = cell.region.image * image->strides[0] + at[1] * image->strides[1];
        for (; at[3] < y->sizes[3]; at[3]++)
            dense_store(call->data[cell.t.pooled_at], dense_offset(y, at, 4), y->type,
                        known ? output(&cell, at[3], at[2]) : cell.t.roi->outside);
    }
}

/* ---- gradients ---- */

struct grad {
    struct cell cell;
    double *plane;  /* sums of the image's gradient, NULL while the corners' is computed */
    double sums[4]; /* of the corners' */
};

bool kern_roi_grad_any_ref_accepts(const struct kern_op *op)
{
    const struct roi_tensors t = roi_tensors(op);
    return !op->epilogue && dense_is_float(t.pooled->type) && t.pooled->rank == 4 && t.image->rank == 4;
}

void kern_roi_grad_any_ref_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    const struct roi_tensors t = roi_tensors(op);
    *out = (struct kern_work){ .units = roi_grad_units(op, 1), .grain = 1 };
    if (t.out_image != ROI_ABSENT)
        out->worker_scratch_bytes = sizeof(double) * t.image->sizes[2] * t.image->sizes[3];
}

/* One sample hands on `gradient`. */
static void sample(struct grad *g, const struct roi_tap *tx, const struct roi_tap *ty, double gradient)
{
    const struct roi_tensors *t = &g->cell.t;
    for (uint32_t corner = 0; corner < 4; corner++) {
        bool right = corner & 1, below = corner >> 1;
        double wx = right ? tx->w : 1 - tx->w, wy = below ? ty->w : 1 - ty->w;
        if (g->plane) {
            if (wx * wy != 0)
                g->plane[(below ? ty->i1 : ty->i0) * t->image->sizes[3] + (right ? tx->i1 : tx->i0)] +=
                    gradient * wx * wy;
            continue;
        }
        double value = dense_load(g->cell.call->data[t->in_image], pixel_at(&g->cell, tx, ty, corner), t->image->type);
        double dx = tx->moves && wy != 0 ? (right ? value : -value) * wy * gradient * t->roi->scale_x : 0;
        double dy = ty->moves && wx != 0 ? (below ? value : -value) * wx * gradient * t->roi->scale_y : 0;
        g->sums[0] += dx * (1 - tx->part);
        g->sums[1] += dy * (1 - ty->part);
        g->sums[2] += dx * tx->part;
        g->sums[3] += dy * ty->part;
    }
}

/* The samples of one output: all of them, or the first of the largest. */
static void hand_on(struct grad *g, uint32_t ox, uint32_t oy, double gradient)
{
    struct cell *cell = &g->cell;
    const struct roi_axis *ax = &cell->region.x, *ay = &cell->region.y;
    cell_at(cell, ox, oy);
    if (cell->t.roi->mode != KERN_ROI_AVERAGE) {
        reduce(cell);
        if (cell->best > -INFINITY)
            sample(g, &cell->best_x, &cell->best_y, gradient);
        return;
    }
    for (uint64_t sy = cell->y[0]; sy < cell->y[1]; sy++) {
        const struct roi_tap ty = roi_axis_tap(ay, sy);
        for (uint64_t sx = cell->x[0]; sx < cell->x[1]; sx++) {
            const struct roi_tap tx = roi_axis_tap(ax, sx);
            sample(g, &tx, &ty, gradient / ((double)ax->per * (double)ay->per));
        }
    }
}

/* All outputs of one channel of one region; `source` = image whose gradient is computed, or any. */
static void region(struct grad *g, uint32_t r, uint32_t c, const uint32_t *source)
{
    struct cell *cell = &g->cell;
    const struct kern_view *pooled = cell->t.pooled, *image = cell->t.image;
    if (!roi_region(cell->call, &cell->t, r, &cell->region) || (source && cell->region.image != *source))
        return;
    cell->image = cell->region.image * image->strides[0] + c * image->strides[1];
    for (uint32_t oy = 0; oy < pooled->sizes[2]; oy++)
        for (uint32_t ox = 0; ox < pooled->sizes[3]; ox++) {
            const uint32_t where[] = { r, c, oy, ox };
            hand_on(g, ox, oy,
                    dense_load(cell->call->data[cell->t.pooled_at], dense_offset(pooled, where, 4), pooled->type));
        }
}

static void plane_unit(struct grad *g, uint64_t unit)
{
    const struct kern_view *out = &g->cell.call->op->tensors[g->cell.t.out_image];
    uint32_t n = (uint32_t)(unit / out->sizes[1]), c = (uint32_t)(unit % out->sizes[1]);
    uint64_t count = (uint64_t)out->sizes[2] * out->sizes[3];
    g->plane = g->cell.call->worker_scratch;
    for (uint64_t i = 0; i < count; i++)
        g->plane[i] = 0;
    for (uint32_t r = 0; r < g->cell.t.pooled->sizes[0]; r++)
        region(g, r, c, &n);
    for (uint64_t i = 0; i < count; i++) {
        const uint32_t at[] = { n, c, (uint32_t)(i / out->sizes[3]), (uint32_t)(i % out->sizes[3]) };
        dense_store(g->cell.call->data[g->cell.t.out_image], dense_offset(out, at, 4), out->type, g->plane[i]);
    }
}

static void region_unit(struct grad *g, uint32_t r)
{
    const struct kern_view *out = &g->cell.call->op->tensors[g->cell.t.out_corners];
    g->plane = NULL;
    memset(g->sums, 0, sizeof(g->sums));
    for (uint32_t c = 0; c < g->cell.t.pooled->sizes[1]; c++)
        region(g, r, c, NULL);
    for (uint32_t i = 0; i < 4; i++)
        dense_store(g->cell.call->data[g->cell.t.out_corners], r * out->strides[0] + i * out->strides[1], out->type,
                    g->sums[i]);
}

void kern_roi_grad_any_ref_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    struct grad g = { .cell = { .call = call, .t = roi_tensors(call->op) } };
    uint64_t planes = roi_grad_planes(call->op, 1);
    for (uint64_t unit = begin; unit < end; unit++) {
        if (unit < planes)
            plane_unit(&g, unit);
        else
            region_unit(&g, (uint32_t)(unit - planes));
    }
}
