/* Gradients of ROI, the definition. Units are the planes of the image's gradient, then the regions of the corners'
 * gradient; either may be absent. */
#include "kernels/resample/roi.h"

#include <math.h>

struct grad {
    const struct kern_call *call;
    const struct kern_roi_grad *params;
    struct roi_grad_tensors t;
    struct roi_axis x, y;
    double *plane;  /* sums of the image's gradient, NULL while the corners' is made */
    int64_t image;  /* offset of the plane in the image */
    double sums[4]; /* of the corners' */
};

bool kern_roi_grad_any_ref_accepts(const struct kern_op *op)
{
    struct roi_grad_tensors t = roi_grad_tensors(op);
    return !op->epilogue && dense_is_float(t.pooled->type) && t.pooled->rank == 4 && t.image->rank == 4;
}

void kern_roi_grad_any_ref_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    struct roi_grad_tensors t = roi_grad_tensors(op);
    *out = (struct kern_work){ .units = roi_grad_units(op, 1), .grain = 1 };
    if (t.out_image != ROI_ABSENT)
        out->worker_scratch_bytes = sizeof(double) * t.image->sizes[2] * t.image->sizes[3];
}

/* One sample hands on `gradient`. */
static void sample(struct grad *g, const struct roi_tap *tx, const struct roi_tap *ty, double gradient)
{
    for (uint32_t corner = 0; corner < 4; corner++) {
        bool right = corner & 1, below = corner >> 1;
        double wx = right ? tx->w : 1 - tx->w, wy = below ? ty->w : 1 - ty->w;
        int64_t ix = right ? tx->i1 : tx->i0, iy = below ? ty->i1 : ty->i0;
        if (g->plane) {
            if (wx * wy != 0)
                g->plane[iy * g->t.image->sizes[3] + ix] += gradient * wx * wy;
            continue;
        }
        const struct kern_view *image = g->t.image;
        double value = dense_load(g->call->data[g->t.in_image],
                                  g->image + iy * image->strides[2] + ix * image->strides[3], image->type);
        double dx = tx->moves && wy != 0 ? (right ? value : -value) * wy * gradient * g->params->roi.scale_x : 0;
        double dy = ty->moves && wx != 0 ? (below ? value : -value) * wx * gradient * g->params->roi.scale_y : 0;
        g->sums[0] += dx * (1 - tx->part);
        g->sums[1] += dy * (1 - ty->part);
        g->sums[2] += dx * tx->part;
        g->sums[3] += dy * ty->part;
    }
}

/* The samples of one output: all of them, or the first of the greatest. */
static void output(struct grad *g, uint32_t ox, uint32_t oy, double gradient)
{
    uint64_t x[2], y[2];
    struct roi_tap best_x, best_y;
    double best = -INFINITY;
    bool average = g->params->roi.mode == KERN_ROI_AVERAGE;
    roi_axis_inside(&g->x, ox, &x[0], &x[1]);
    roi_axis_inside(&g->y, oy, &y[0], &y[1]);
    for (uint64_t sy = y[0]; sy < y[1]; sy++) {
        struct roi_tap ty = roi_axis_tap(&g->y, sy);
        for (uint64_t sx = x[0]; sx < x[1]; sx++) {
            struct roi_tap tx = roi_axis_tap(&g->x, sx);
            if (average) {
                sample(g, &tx, &ty, gradient / ((double)g->x.per * (double)g->y.per));
                continue;
            }
            double value = roi_ref_value(g->t.image, g->call->data[g->t.in_image], g->image, &tx, &ty);
            if (!(value > best))
                continue;
            best = value;
            best_x = tx;
            best_y = ty;
        }
    }
    if (!average && best > -INFINITY)
        sample(g, &best_x, &best_y, gradient);
}

/* All outputs of one channel of one region; `source` = image that the gradient is wanted of, or any. */
static void region(struct grad *g, uint32_t r, uint32_t c, const uint32_t *source)
{
    const struct kern_view *pooled = g->t.pooled;
    struct roi_region at;
    if (!roi_region(g->call, &g->params->roi, g->t.image, pooled, r, &at) || (source && at.image != *source))
        return;
    g->x = at.x;
    g->y = at.y;
    g->image = at.image * g->t.image->strides[0] + c * g->t.image->strides[1];
    for (uint32_t oy = 0; oy < pooled->sizes[2]; oy++)
        for (uint32_t ox = 0; ox < pooled->sizes[3]; ox++) {
            const uint32_t where[] = { r, c, oy, ox };
            output(g, ox, oy, dense_load(g->call->data[ROI_GRAD_POOLED], dense_offset(pooled, where, 4), pooled->type));
        }
}

static void plane_unit(struct grad *g, uint64_t unit)
{
    const struct kern_view *out = &g->call->op->tensors[g->t.out_image];
    uint32_t n = (uint32_t)(unit / out->sizes[1]), c = (uint32_t)(unit % out->sizes[1]);
    uint64_t count = (uint64_t)out->sizes[2] * out->sizes[3];
    g->plane = g->call->worker_scratch;
    for (uint64_t i = 0; i < count; i++)
        g->plane[i] = 0;
    for (uint32_t r = 0; r < g->t.pooled->sizes[0]; r++)
        region(g, r, c, &n);
    for (uint64_t i = 0; i < count; i++) {
        const uint32_t at[] = { n, c, (uint32_t)(i / out->sizes[3]), (uint32_t)(i % out->sizes[3]) };
        dense_store(g->call->data[g->t.out_image], dense_offset(out, at, 4), out->type, g->plane[i]);
    }
}

static void region_unit(struct grad *g, uint32_t r)
{
    const struct kern_view *out = &g->call->op->tensors[g->t.out_corners];
    g->plane = NULL;
    memset(g->sums, 0, sizeof(g->sums));
    for (uint32_t c = 0; c < g->t.pooled->sizes[1]; c++)
        region(g, r, c, NULL);
    for (uint32_t i = 0; i < 4; i++)
        dense_store(g->call->data[g->t.out_corners], r * out->strides[0] + i * out->strides[1], out->type, g->sums[i]);
}

void kern_roi_grad_any_ref_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    struct grad g = { .call = call, .params = &call->op->u.roi_grad, .t = roi_grad_tensors(call->op) };
    uint64_t planes = roi_grad_planes(call->op, 1);
    for (uint64_t unit = begin; unit < end; unit++) {
        if (unit < planes)
            plane_unit(&g, unit);
        else
            region_unit(&g, (uint32_t)(unit - planes));
    }
}
