/* SPDX-License-Identifier: Apache-2.0 */
/* Corners, scale and number of samples are computed in FLOAT32, like in a shader: 0.3f * 10 must be 3, not slightly
 * more, which would add a sample. Positions are then computed in FLOAT64. */
#include "kernels/resample/roi.h"

#include <math.h>

#define PLANAR_BLOCK  16
#define REDUCTION_MAX 64
#define GRAD_BLOCK    8
#define GRAD_ELEMENTS (1u << 20)
#define BYTES_MAX     (UINT64_C(1) << 28) /* of scratch: beyond, the reference does */

/* Nearest integer, halves away from zero; bounded so that differences fit, NaN becomes 0. */
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

bool roi_region(const struct kern_call *call, const struct roi_tensors *t, uint32_t region, struct roi_region *out)
{
    const struct kern_view *corners = &call->op->tensors[ROI_CORNERS], *batch = &call->op->tensors[ROI_BATCH];
    const double index = dense_load(call->data[ROI_BATCH], region * batch->strides[0], batch->type);
    float at[4];
    for (uint32_t i = 0; i < 4; i++)
        at[i] = (float)dense_load(call->data[ROI_CORNERS], region * corners->strides[0] + i * corners->strides[1],
                                  corners->type);
    out->image = 0;
    out->x = axis_of(t->roi, at[0], at[2], t->roi->scale_x, t->image->sizes[3], t->pooled->sizes[3]);
    out->y = axis_of(t->roi, at[1], at[3], t->roi->scale_y, t->image->sizes[2], t->pooled->sizes[2]);
    if (!(index > -1 && index < t->image->sizes[0]))
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

/* The first sample of [low, high) that is beyond the limit, against the direction of the axis if it is inverted. */
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

struct roi_tensors roi_tensors(const struct kern_op *op)
{
    const struct kern_roi_grad *grad = &op->u.roi_grad;
    struct roi_tensors t = { &op->u.roi, 2, 3, ROI_ABSENT, ROI_ABSENT, &op->tensors[2], &op->tensors[3] };
    uint32_t next = 3;
    if (op->kind == KERN_ROI)
        return t;
    t.roi = &grad->roi;
    t.pooled_at = 2;
    t.in_image = grad->has_image ? next++ : ROI_ABSENT;
    t.out_image = grad->has_image_gradient ? next++ : ROI_ABSENT;
    t.out_corners = grad->has_corner_gradient ? next : ROI_ABSENT;
    const uint32_t image = grad->has_image ? t.in_image : t.out_image;
    t.image = image == ROI_ABSENT ? NULL : &op->tensors[image];
    t.pooled = &op->tensors[2];
    return t;
}

uint64_t roi_grad_planes(const struct kern_op *op, uint32_t block)
{
    const struct roi_tensors t = roi_tensors(op);
    if (t.out_image == ROI_ABSENT)
        return 0;
    return (uint64_t)t.image->sizes[0] * ((t.image->sizes[1] + block - 1) / block);
}

uint64_t roi_grad_units(const struct kern_op *op, uint32_t block)
{
    const struct roi_tensors t = roi_tensors(op);
    return roi_grad_planes(op, block) + (t.out_corners == ROI_ABSENT ? 0 : t.pooled->sizes[0]);
}

/* ---- the fast kernels ---- */

/* Along an axis positions are monotonic, so two bins share at most two elements; maxima list every sample, and as steps
 * are longer than half a pixel if there are more samples than the minimum, these are bounded, too. */
static uint64_t capacity(const struct kern_roi *roi, uint32_t size, uint32_t bins)
{
    uint64_t each = roi->mode == KERN_ROI_MAX ? BASE_MIN(roi->least, ROI_SAMPLES_MAX) : 0;
    return (uint64_t)bins * (each + 3) + 2 * (uint64_t)size + 16;
}

static uint64_t list_bytes(uint32_t bins, uint64_t capacity)
{
    return (2 * ((uint64_t)bins + 1) + 5 * capacity) * 4;
}

void roi_plan_init(const struct kern_op *op, const struct roi_tensors *t, struct roi_plan *out)
{
    const struct kern_view *image = t->image, *pooled = t->pooled;
    const bool grad = op->kind == KERN_ROI_GRAD;
    uint32_t channels = image->sizes[1];
    bool last = !grad && channels > 1 && image->strides[1] == 1 && image->strides[3] != 1;
    uint64_t plane = (uint64_t)image->sizes[2] * image->sizes[3];
    *out = (struct roi_plan){ .group = grad ? 1 : BASE_MIN(channels, last ? REDUCTION_MAX : PLANAR_BLOCK) };
    out->block = last ? out->group : PLANAR_BLOCK;
    if (grad) {
        out->block = (uint32_t)BASE_MIN(GRAD_BLOCK, BASE_MAX(1, GRAD_ELEMENTS / plane));
        out->planes = plane * out->block;
    }
    out->capacity_x = capacity(t->roi, image->sizes[3], pooled->sizes[3]);
    out->capacity_y = capacity(t->roi, image->sizes[2], pooled->sizes[2]);
    out->line = (uint64_t)image->sizes[3] * out->group;
    out->out = (uint64_t)pooled->sizes[3] * out->group;
    out->bytes = (4 * out->line + image->sizes[3] + out->out + out->planes) * 4 +
                 list_bytes(pooled->sizes[3], out->capacity_x) + list_bytes(pooled->sizes[2], out->capacity_y);
}

void *roi_list_place(struct roi_list *list, void *scratch, uint32_t bins, uint64_t capacity)
{
    list->capacity = (uint32_t)capacity;
    list->begin = scratch;
    list->share = (float *)(list->begin + bins + 1);
    list->i0 = (int32_t *)(list->share + bins + 1);
    list->i1 = list->i0 + capacity;
    list->w = (float *)(list->i1 + capacity);
    list->d0 = list->w + capacity;
    list->d1 = list->d0 + capacity;
    return list->d1 + capacity;
}

/* The entry of element `index` in the current bin; only the last three can contain it. */
static uint32_t entry(struct roi_list *list, uint32_t first, uint32_t *count, int64_t index)
{
    for (uint32_t i = *count; i > first && i + 3 > *count; i--)
        if (list->i0[i - 1] == index)
            return i - 1;
    if (*count == list->capacity)
        return *count - 1; /* impossible: see capacity() */
    uint32_t i = (*count)++;
    list->i0[i] = (int32_t)index;
    list->w[i] = list->d0[i] = list->d1[i] = 0;
    list->low = BASE_MIN(list->low, (int32_t)index);
    list->high = BASE_MAX(list->high, (int32_t)index + 1);
    return i;
}

/* The elements of a sample, with their weights in the average and in its derivative. */
static void average_sample(struct roi_list *list, uint32_t start, uint32_t *count, const struct roi_tap *tap,
                           float each, bool moves)
{
    const uint32_t e0 = entry(list, start, count, tap->i0);
    list->w[e0] += (float)(1 - tap->w) * each;
    if (tap->w == 0 && !(moves && tap->moves))
        return;
    const uint32_t e1 = entry(list, start, count, tap->i1);
    const float d1 = (float)tap->part * each, d0 = (float)(1 - tap->part) * each;
    list->w[e1] += (float)tap->w * each;
    list->d0[e0] -= tap->moves ? d0 : 0;
    list->d1[e0] -= tap->moves ? d1 : 0;
    list->d0[e1] += tap->moves ? d0 : 0;
    list->d1[e1] += tap->moves ? d1 : 0;
}

static void maximum_sample(struct roi_list *list, uint32_t *count, const struct roi_tap *tap)
{
    const uint32_t i = *count;
    if (i == list->capacity)
        return; /* impossible: see capacity() */
    list->i0[i] = (int32_t)tap->i0;
    list->i1[i] = (int32_t)tap->i1;
    list->w[i] = (float)tap->w;
    list->low = (int32_t)BASE_MIN(list->low, tap->i0);
    list->high = (int32_t)BASE_MAX(list->high, tap->i1 + 1);
    ++*count;
}

void roi_list_init(struct roi_list *list, const struct roi_axis *axis, bool average, bool moves)
{
    const float each = (float)(1 / (double)axis->per);
    uint32_t count = 0;
    list->low = INT32_MAX;
    list->high = 0;
    for (uint32_t bin = 0; bin < axis->bins; bin++) {
        uint64_t first, last;
        const uint32_t start = list->begin[bin] = count;
        roi_axis_inside(axis, bin, &first, &last);
        list->share[bin] = (float)roi_axis_share(axis, first, last);
        for (uint64_t s = first; s < last; s++) {
            const struct roi_tap tap = roi_axis_tap(axis, s);
            if (average)
                average_sample(list, start, &count, &tap, each, moves && axis->linear);
            else
                maximum_sample(list, &count, &tap);
        }
    }
    list->begin[axis->bins] = count;
    list->low = BASE_MIN(list->low, list->high);
}

bool kern_roi_f32_accepts(const struct kern_op *op)
{
    const struct roi_tensors t = roi_tensors(op);
    struct roi_plan plan;
    if (op->epilogue || t.image->rank != 4 || t.pooled->rank != 4 || t.image->type != t.pooled->type ||
        !dense_is_short_float(t.image->type))
        return false;
    roi_plan_init(op, &t, &plan);
    return plan.bytes <= BYTES_MAX;
}

bool kern_roi_grad_f32_accepts(const struct kern_op *op)
{
    return op->u.roi_grad.roi.mode == KERN_ROI_AVERAGE && kern_roi_f32_accepts(op);
}

void kern_roi_f32_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    const struct roi_tensors t = roi_tensors(op);
    const struct kern_view *y = t.pooled;
    struct roi_plan plan;
    roi_plan_init(op, &t, &plan);
    *out = (struct kern_work){ .units = (uint64_t)y->sizes[0] * ((y->sizes[1] + plan.block - 1) / plan.block) };
    out->grain = dense_grain(8ull * y->sizes[2] * y->sizes[3] * plan.block);
    out->worker_scratch_bytes = plan.bytes;
}

void kern_roi_grad_f32_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    const struct roi_tensors t = roi_tensors(op);
    struct roi_plan plan;
    roi_plan_init(op, &t, &plan);
    *out = (struct kern_work){ .units = roi_grad_units(op, plan.block), .grain = 1 };
    out->worker_scratch_bytes = plan.bytes;
}
