/* Pooling and sampling of regions of interest, the definition: sample by sample. The maximum never chooses NaN. */
#include "kernels/resample/roi.h"

#include <math.h>

enum { ROI_IMAGE = 2, ROI_OUT };

bool kern_roi_any_ref_accepts(const struct kern_op *op)
{
    const struct kern_view *x = &op->tensors[ROI_IMAGE], *y = &op->tensors[ROI_OUT];
    return !op->epilogue && x->rank == 4 && y->rank == 4 && dense_is_float(x->type) && y->type == x->type &&
           op->tensors[ROI_CORNERS].rank == 2 && op->tensors[ROI_BATCH].rank == 1;
}

void kern_roi_any_ref_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    const struct kern_view *y = &op->tensors[ROI_OUT];
    *out = (struct kern_work){ .units = dense_rows(y), .grain = dense_grain(256 * (uint64_t)y->sizes[3]) };
}

double roi_ref_value(const struct kern_view *x, const void *data, int64_t plane, const struct roi_tap *tx,
                     const struct roi_tap *ty)
{
    double sum = 0;
    for (uint32_t corner = 0; corner < 4; corner++) {
        bool right = corner & 1, below = corner >> 1;
        double weight = (right ? tx->w : 1 - tx->w) * (below ? ty->w : 1 - ty->w);
        int64_t at = plane + (below ? ty->i1 : ty->i0) * x->strides[2] + (right ? tx->i1 : tx->i0) * x->strides[3];
        if (weight != 0)
            sum += weight * dense_load(data, at, x->type);
    }
    return sum;
}

struct cell {
    uint64_t x[2], y[2]; /* samples inside */
    double share;        /* of all */
};

static double reduce(const struct kern_call *call, const struct roi_axis *ax, const struct roi_axis *ay, int64_t plane,
                     const struct cell *cell)
{
    const struct kern_roi *roi = &call->op->u.roi;
    const struct kern_view *image = &call->op->tensors[ROI_IMAGE];
    double sum = 0, best = -INFINITY;
    for (uint64_t sy = cell->y[0]; sy < cell->y[1]; sy++) {
        struct roi_tap ty = roi_axis_tap(ay, sy);
        for (uint64_t sx = cell->x[0]; sx < cell->x[1]; sx++) {
            struct roi_tap tx = roi_axis_tap(ax, sx);
            double value = roi_ref_value(image, call->data[ROI_IMAGE], plane, &tx, &ty);
            sum += value;
            best = value > best ? value : best;
        }
    }
    if (roi->mode == KERN_ROI_AVERAGE)
        return sum / ((double)ax->per * (double)ay->per) + (cell->share < 1 ? roi->outside * (1 - cell->share) : 0);
    if (roi->mode == KERN_ROI_POOL)
        return best;
    return cell->share < 1 && roi->outside > best ? (double)roi->outside : best;
}

void kern_roi_any_ref_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const struct kern_roi *roi = &call->op->u.roi;
    const struct kern_view *image = &call->op->tensors[ROI_IMAGE], *y = &call->op->tensors[ROI_OUT];
    for (uint64_t row = begin; row < end; row++) {
        struct roi_region region;
        uint32_t at[KERN_RANK_MAX];
        dense_row_at(y, row, at);
        bool known = roi_region(call, roi, image, y, at[0], &region);
        const struct roi_axis ax = region.x, ay = region.y;
        int64_t plane = region.image * image->strides[0] + at[1] * image->strides[1];
        for (uint32_t i = 0; i < y->sizes[3]; i++) {
            struct cell cell;
            double value = roi->outside;
            roi_axis_inside(&ax, i, &cell.x[0], &cell.x[1]);
            roi_axis_inside(&ay, at[2], &cell.y[0], &cell.y[1]);
            cell.share = roi_axis_share(&ax, cell.x[0], cell.x[1]) * roi_axis_share(&ay, cell.y[0], cell.y[1]) * known;
            if (cell.share > 0)
                value = reduce(call, &ax, &ay, plane, &cell);
            at[3] = i;
            dense_store(call->data[ROI_OUT], dense_offset(y, at, 4), y->type, value);
        }
    }
}
