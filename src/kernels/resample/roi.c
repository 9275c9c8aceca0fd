/* Corners, scale and number of samples are computed in FLOAT32, as a shader does: 0.3f * 10 must be 3, not a little
 * more, or one sample too many is taken. Positions are then exact to FLOAT64. */
#include "kernels/resample/roi.h"

#include <math.h>

/* Nearest whole number, halves away from zero; bounded so that differences fit, NaN gives 0. */
static int64_t whole(float value)
{
    const float most = 0x1p40f;
    return value >= most ? (int64_t)most : value <= -most ? -(int64_t)most : value == value ? llroundf(value) : 0;
}

static uint64_t sample_count(const struct kern_roi *roi, float extent, uint32_t bins)
{
    uint32_t least = BASE_MIN(roi->least, ROI_SAMPLES_MAX);
    float count = ceilf(fabsf(extent) / (float)bins);
    if (!(count > (float)least))
        return least;
    return count >= (float)roi->most ? roi->most : (uint64_t)count;
}

static struct roi_axis axis_of(const struct kern_roi *roi, float from, float to, float scale, uint32_t size,
                               uint32_t bins)
{
    float start = from * scale, end = to * scale, extent = end - start;
    struct roi_axis axis = { .pool = roi->mode == KERN_ROI_POOL, .size = size, .bins = bins, .linear = roi->linear };
    if (axis.pool) {
        int64_t first = whole(start), last = whole(end);
        axis.pool_start = first;
        axis.pool_extent = last > first ? (uint64_t)(last - first) + 1 : 1;
        axis.per = 1;
        return axis;
    }
    axis.none = !isfinite(start) || !isfinite(extent);
    axis.per = sample_count(roi, extent, bins);
    axis.span = (double)(bins * axis.per);
    if (roi->align_corners && axis.span > 1)
        axis.span -= 1;
    else
        axis.middle = roi->align_corners;
    axis.start = start;
    axis.step = extent / axis.span;
    axis.in_offset = roi->in_offset;
    axis.out_offset = roi->out_offset;
    return axis;
}

bool roi_region(const struct kern_call *call, const struct kern_roi *roi, const struct kern_view *image,
                const struct kern_view *pooled, uint32_t region, struct roi_region *out)
{
    const struct kern_view *corners = &call->op->tensors[ROI_CORNERS], *batch = &call->op->tensors[ROI_BATCH];
    const double index = dense_load(call->data[ROI_BATCH], region * batch->strides[0], batch->type);
    float at[4];
    for (uint32_t i = 0; i < 4; i++)
        at[i] = (float)dense_load(call->data[ROI_CORNERS], region * corners->strides[0] + i * corners->strides[1],
                                  corners->type);
    out->image = 0;
    out->x = axis_of(roi, at[0], at[2], roi->scale_x, image->sizes[3], pooled->sizes[3]);
    out->y = axis_of(roi, at[1], at[3], roi->scale_y, image->sizes[2], pooled->sizes[2]);
    if (!(index > -1 && index < image->sizes[0]))
        return false;
    out->image = (uint32_t)index;
    return true;
}

/* bin * extent / bins, rounded down or up, without overflow. */
static uint64_t pool_edge(const struct roi_axis *axis, uint64_t bin, bool up)
{
    uint64_t each = axis->pool_extent / axis->bins, rest = axis->pool_extent % axis->bins;
    return bin * each + (bin * rest + (up ? axis->bins - 1 : 0)) / axis->bins;
}

static uint64_t pixel(const struct roi_axis *axis, uint64_t edge)
{
    int64_t at = axis->pool_start + (int64_t)edge;
    return at < 0 ? 0 : BASE_MIN((uint64_t)at, axis->size);
}

static double number(const struct roi_axis *axis, uint64_t sample)
{
    return axis->middle ? 0.5 : (double)sample - axis->out_offset;
}

static double position(const struct roi_axis *axis, uint64_t sample)
{
    return number(axis, sample) * axis->step + axis->start - axis->in_offset;
}

/* The first sample of [low, high) that lies past the limit, against the direction of the axis when it is inverted. */
static uint64_t first_past(const struct roi_axis *axis, uint64_t low, uint64_t high, bool entering)
{
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        double at = position(axis, middle);
        bool below = at<-1, above = at> axis->size, inverted = axis->step < 0;
        bool before = entering ? (inverted ? above : below) : !(inverted ? below : above);
        if (before)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void roi_axis_inside(const struct roi_axis *axis, uint32_t bin, uint64_t *out_first, uint64_t *out_last)
{
    uint64_t low = bin * axis->per, high = low + axis->per;
    *out_first = *out_last = 0;
    if (axis->pool) {
        *out_first = pixel(axis, pool_edge(axis, bin, false));
        *out_last = pixel(axis, pool_edge(axis, bin + 1ull, true));
    } else if (!axis->none) {
        *out_first = first_past(axis, low, high, true);
        *out_last = first_past(axis, *out_first, high, false);
    }
}

double roi_axis_share(const struct roi_axis *axis, uint64_t first, uint64_t last)
{
    return axis->pool ? last > first : (double)(last - first) / (double)axis->per;
}

struct roi_tap roi_axis_tap(const struct roi_axis *axis, uint64_t sample)
{
    struct roi_tap tap = { .i0 = (int64_t)sample, .i1 = (int64_t)sample };
    if (axis->pool)
        return tap;
    double at = position(axis, sample), last = axis->size - 1.0;
    double inside = at > last ? last : at > 0 ? at : 0;
    tap.part = number(axis, sample) / axis->span;
    if (!axis->linear) {
        double nearest = floor(at + 0.5);
        tap.i0 = tap.i1 = (int64_t)(nearest > last ? last : nearest > 0 ? nearest : 0);
        return tap;
    }
    tap.i0 = (int64_t)inside;
    tap.i1 = tap.i0 + (tap.i0 < axis->size - 1);
    tap.w = inside - (double)tap.i0;
    tap.moves = at == inside && tap.i1 > tap.i0;
    return tap;
}

struct roi_grad_tensors roi_grad_tensors(const struct kern_op *op)
{
    const struct kern_roi_grad *grad = &op->u.roi_grad;
    struct roi_grad_tensors t = { ROI_ABSENT, ROI_ABSENT, ROI_ABSENT, NULL, &op->tensors[ROI_GRAD_POOLED] };
    uint32_t next = ROI_GRAD_POOLED + 1;
    if (grad->has_image)
        t.in_image = next++;
    if (grad->has_image_gradient)
        t.out_image = next++;
    if (grad->has_corner_gradient)
        t.out_corners = next;
    t.image = &op->tensors[grad->has_image ? t.in_image : t.out_image];
    return t;
}

uint64_t roi_grad_planes(const struct kern_op *op, uint32_t block)
{
    struct roi_grad_tensors t = roi_grad_tensors(op);
    if (t.out_image == ROI_ABSENT)
        return 0;
    return (uint64_t)t.image->sizes[0] * ((t.image->sizes[1] + block - 1) / block);
}

uint64_t roi_grad_units(const struct kern_op *op, uint32_t block)
{
    bool corners = op->u.roi_grad.has_corner_gradient;
    return roi_grad_planes(op, block) + (corners ? op->tensors[ROI_GRAD_POOLED].sizes[0] : 0);
}
