/* SPDX-License-Identifier: Apache-2.0 */
/* The fast kernels of roi.h. */
#include "kernels/core/isa.h"
#include "kernels/resample/resample.h"
#include "kernels/resample/roi.h"
#include "kernels/row/row.h"

#include <math.h>

#define ROI_LONG 64 /* pixels from which a line of one channel is long enough */

struct roi_work {
    struct roi_plan plan;
    const struct kern_call *call;
    struct roi_tensors t;
    struct roi_list lx, ly;
    float *line, *row0, *row1, *row2, *single, *samples, *out, *planes;
    uint32_t group;  /* current number of channels: plan.group, the rest, or 1 */
    uint32_t pixels; /* columns touched */
    int64_t plane;   /* offset of the first column touched */
};

static void roi_work_init(struct roi_work *w, const struct kern_call *call)
{
    void *scratch = call->worker_scratch;
    *w = (struct roi_work){ .call = call, .t = roi_tensors(call->op) };
    roi_plan_init(call->op, &w->t, &w->plan);
    scratch = roi_list_place(&w->lx, scratch, w->t.pooled->sizes[3], w->plan.capacity_x);
    scratch = roi_list_place(&w->ly, scratch, w->t.pooled->sizes[2], w->plan.capacity_y);
    w->samples = w->lx.d0; /* maxima need no derivatives */
    w->line = scratch;
    w->row0 = w->line + w->plan.line;
    w->row1 = w->row0 + w->plan.line;
    w->row2 = w->row1 + w->plan.line;
    w->single = w->row2 + w->plan.line;
    w->out = w->single + w->t.image->sizes[3];
    w->planes = w->out + w->plan.out;
}

/* The lists of a region; false if its image does not exist. */
static bool roi_lists(struct roi_work *w, uint32_t r, bool moves, uint32_t *out_image)
{
    const bool average = w->t.roi->mode == KERN_ROI_AVERAGE;
    struct roi_region region;
    if (!roi_region(w->call, &w->t, r, &region))
        return false;
    roi_list_init(&w->lx, &region.x, average, moves);
    roi_list_init(&w->ly, &region.y, average, moves);
    w->pixels = (uint32_t)(w->lx.high - w->lx.low);
    *out_image = region.image;
    return true;
}

static void roi_fill(float *out, float value, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        out[i] = value;
}

static void roi_max_row(float *restrict line, const float *restrict row, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        line[i] = row[i] > line[i] ? row[i] : line[i];
}

/* The used columns of one channel of an image row. */
static const float *roi_row_single(const struct roi_work *w, int64_t at, float *buffer)
{
    const struct kern_view *x = w->t.image;
    if (x->type == DML_TENSOR_DATA_TYPE_FLOAT32 && (x->strides[3] == 1 || w->pixels == 1))
        return (const float *)w->call->data[w->t.in_image] + at;
    dense_load_row(w->call->data[w->t.in_image], at, x->strides[3], x->type, w->pixels, buffer);
    return buffer;
}

static void roi_scatter(const float *restrict from, uint32_t count, uint32_t step, float *restrict to)
{
    for (uint32_t i = 0; i < count; i++)
        to[(size_t)i * step] = from[i];
}

/* The used columns of an image row, the channels of each side by side, as FLOAT32: in place, or copied. */
static const float *roi_row(const struct roi_work *w, int32_t row, float *buffer)
{
    const struct kern_view *x = w->t.image;
    int64_t at = w->plane + row * x->strides[2];
    uint32_t group = w->group;
    if (group == 1)
        return roi_row_single(w, at, buffer);
    if (x->strides[1] != 1) {
        for (uint32_t k = 0; k < group; k++)
            roi_scatter(roi_row_single(w, at + k * x->strides[1], w->single), w->pixels, group, buffer + k);
        return buffer;
    }
    if (x->type == DML_TENSOR_DATA_TYPE_FLOAT32 && (x->strides[3] == group || w->pixels == 1))
        return (const float *)w->call->data[w->t.in_image] + at;
    for (uint32_t i = 0; i < w->pixels; i++)
        dense_load_row(w->call->data[w->t.in_image], at + i * x->strides[3], 1, x->type, group,
                       buffer + (size_t)i * group);
    return buffer;
}

static void roi_average_row(struct roi_work *w, uint32_t oy)
{
    uint32_t count = w->pixels * w->group, group = w->group;
    roi_fill(w->line, 0, count);
    for (uint32_t t = w->ly.begin[oy]; t < w->ly.begin[oy + 1]; t++)
        resample_add(w->line, roi_row(w, w->ly.i0[t], w->row0), w->ly.w[t], count);
    for (uint32_t ox = 0; ox < w->t.pooled->sizes[3]; ox++) {
        float share = w->lx.share[ox] * w->ly.share[oy], *out = w->out + (uint64_t)ox * group;
        float sum = share < 1 ? w->t.roi->outside * (1 - share) : 0;
        if (share == 0 || group > 1)
            roi_fill(out, sum, group);
        for (uint32_t t = w->lx.begin[ox]; share > 0 && t < w->lx.begin[ox + 1]; t++) {
            const float *from = w->line + (uint64_t)(w->lx.i0[t] - w->lx.low) * group;
            if (group > 1)
                resample_add(out, from, w->lx.w[t], group);
            else
                sum += w->lx.w[t] * *from;
        }
        if (group == 1)
            *out = sum;
    }
}

static void roi_blend_samples(const struct roi_list *list, const float *restrict line, float *restrict out,
                              uint32_t count)
{
    const int32_t *restrict i0 = list->i0, *restrict i1 = list->i1;
    const float *restrict w = list->w;
    line -= list->low;
    for (uint32_t i = 0; i < count; i++) {
        float a = line[i0[i]], b = line[i1[i]];
        out[i] = w[i] != 0 ? a * (1 - w[i]) + b * w[i] : a; /* 0 * infinity is not 0 */
    }
}

/* Combines the line with the maxima. */
static void roi_max_line(struct roi_work *w, const float *line)
{
    const struct roi_list *list = &w->lx;
    uint32_t group = w->group, bins = w->t.pooled->sizes[3];
    if (group == 1)
        roi_blend_samples(list, line, w->samples, list->begin[bins]);
    for (uint32_t ox = 0; ox < bins; ox++) {
        float *out = w->out + (uint64_t)ox * group;
        for (uint32_t t = list->begin[ox]; t < list->begin[ox + 1]; t++) {
            const float *a = line + (uint64_t)(list->i0[t] - list->low) * group;
            const float *b = line + (uint64_t)(list->i1[t] - list->low) * group;
            const float *from = a;
            if (group > 1 && list->w[t] != 0)
                resample_mix(w->row1, a, b, list->w[t], group);
            if (group == 1)
                from = w->samples + t;
            else if (list->w[t] != 0)
                from = w->row1;
            roi_max_row(out, from, group);
        }
    }
}

static void roi_max_finish(struct roi_work *w, uint32_t oy)
{
    for (uint32_t ox = 0; ox < w->t.pooled->sizes[3]; ox++) {
        float share = w->lx.share[ox] * w->ly.share[oy], *out = w->out + (uint64_t)ox * w->group;
        if (share == 0)
            roi_fill(out, w->t.roi->outside, w->group);
        for (uint32_t i = 0; share > 0 && share < 1 && i < w->group; i++)
            out[i] = w->t.roi->outside > out[i] ? w->t.roi->outside : out[i];
    }
}

static void roi_max_output(struct roi_work *w, uint32_t oy)
{
    uint32_t count = w->pixels * w->group;
    roi_fill(w->out, -INFINITY, w->t.pooled->sizes[3] * w->group);
    roi_fill(w->line, -INFINITY, count);
    for (uint32_t s = w->ly.begin[oy]; s < w->ly.begin[oy + 1]; s++) {
        const float *row = roi_row(w, w->ly.i0[s], w->row0);
        if (!w->t.roi->linear) { /* whole pixels: first down the columns, then once along the line */
            roi_max_row(w->line, row, count);
            continue;
        }
        if (w->ly.w[s] != 0) {
            resample_mix(w->line, row, roi_row(w, w->ly.i1[s], w->row1), w->ly.w[s], count);
            row = w->line;
        }
        roi_max_line(w, row);
    }
    if (!w->t.roi->linear)
        roi_max_line(w, w->line);
    roi_max_finish(w, oy);
}

static void roi_store(const struct roi_work *w, uint32_t r, uint32_t c, uint32_t oy)
{
    const struct kern_view *y = w->t.pooled;
    const uint32_t at[] = { r, c, oy, 0 };
    int64_t to = dense_offset(y, at, 4);
    if (w->group == 1) {
        dense_store_row(w->call->data[w->t.pooled_at], to, y->strides[3], y->type, y->sizes[3], w->out);
        return;
    }
    for (uint32_t ox = 0; ox < y->sizes[3]; ox++)
        dense_store_row(w->call->data[w->t.pooled_at], to + ox * y->strides[3], y->strides[1], y->type, w->group,
                        w->out + (uint64_t)ox * w->group);
}

static void roi_block(struct roi_work *w, uint32_t r, uint32_t first, uint32_t last)
{
    const struct kern_view *x = w->t.image, *y = w->t.pooled;
    uint32_t image = 0;
    const bool known = roi_lists(w, r, false, &image);
    const uint32_t group = x->strides[1] != 1 && w->pixels > ROI_LONG ? 1 : w->plan.group;
    for (uint32_t c = first; c < last; c += group) {
        w->group = BASE_MIN(group, last - c);
        w->plane = image * x->strides[0] + c * x->strides[1] + w->lx.low * x->strides[3];
        for (uint32_t oy = 0; oy < y->sizes[2]; oy++) {
            if (!known)
                roi_fill(w->out, w->t.roi->outside, y->sizes[3] * w->group);
            else if (w->t.roi->mode == KERN_ROI_AVERAGE)
                roi_average_row(w, oy);
            else
                roi_max_output(w, oy);
            roi_store(w, r, c, oy);
        }
    }
}

static void roi_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    struct roi_work w;
    roi_work_init(&w, call);
    uint32_t channels = w.t.pooled->sizes[1], blocks = (channels + w.plan.block - 1) / w.plan.block;
    for (uint64_t unit = begin; unit < end; unit++) {
        uint32_t first = (uint32_t)(unit % blocks) * w.plan.block;
        roi_block(&w, (uint32_t)(unit / blocks), first, BASE_MIN(first + w.plan.block, channels));
    }
}

/* ---- the gradients of averages: outputs are added to a line through the lists, the line over the image's rows ---- */

/* The lists of a region; false when no sample of it is inside an image. */
static bool roi_grad_region(struct roi_work *w, uint32_t r, bool moves, uint32_t *out_image)
{
    w->group = 1;
    return roi_lists(w, r, moves, out_image) && w->pixels && w->ly.high > w->ly.low;
}

static void roi_grad_load(const struct roi_work *w, uint32_t r, uint32_t c, uint32_t oy)
{
    const struct kern_view *pooled = w->t.pooled;
    const uint32_t at[] = { r, c, oy, 0 };
    dense_load_row(w->call->data[w->t.pooled_at], dense_offset(pooled, at, 4), pooled->strides[3], pooled->type,
                   pooled->sizes[3], w->out);
}

static void roi_grad_scatter_add(struct roi_work *w, uint32_t r, uint32_t c, float *plane)
{
    uint32_t width = w->t.image->sizes[3];
    for (uint32_t oy = 0; oy < w->t.pooled->sizes[2]; oy++) {
        if (w->ly.begin[oy] == w->ly.begin[oy + 1])
            continue;
        roi_grad_load(w, r, c, oy);
        roi_fill(w->line, 0, w->pixels);
        for (uint32_t ox = 0; ox < w->t.pooled->sizes[3]; ox++)
            for (uint32_t t = w->lx.begin[ox]; t < w->lx.begin[ox + 1]; t++)
                w->line[w->lx.i0[t] - w->lx.low] += w->lx.w[t] * w->out[ox];
        for (uint32_t t = w->ly.begin[oy]; t < w->ly.begin[oy + 1]; t++)
            resample_add(plane + (uint64_t)w->ly.i0[t] * width + w->lx.low, w->line, w->ly.w[t], w->pixels);
    }
}

/* A block of planes of the image's gradient. */
static void roi_grad_planes_unit(struct roi_work *w, uint64_t unit)
{
    const struct kern_view *out = &w->call->op->tensors[w->t.out_image];
    uint32_t channels = out->sizes[1], block = w->plan.block, blocks = (channels + block - 1) / block;
    uint32_t n = (uint32_t)(unit / blocks), first = (uint32_t)(unit % blocks) * block;
    uint32_t count = BASE_MIN(block, channels - first), height = out->sizes[2], width = out->sizes[3], image;
    uint64_t plane = (uint64_t)height * width;
    memset(w->planes, 0, count * plane * sizeof(float));
    for (uint32_t r = 0; r < w->t.pooled->sizes[0]; r++) {
        if (!roi_grad_region(w, r, false, &image) || image != n)
            continue;
        for (uint32_t c = 0; c < count; c++)
            roi_grad_scatter_add(w, r, first + c, w->planes + c * plane);
    }
    for (uint32_t row = 0; row < count * height; row++) {
        const uint32_t at[] = { n, first + row / height, row % height, 0 };
        dense_store_row(w->call->data[w->t.out_image], dense_offset(out, at, 4), out->strides[3], out->type, width,
                        w->planes + (uint64_t)row * width);
    }
}

/* One row of outputs of one channel: the derivatives with respect to the corners. */
static void roi_grad_corners(struct roi_work *w, uint32_t n, uint32_t r, uint32_t c, uint32_t oy, double sums[4])
{
    const struct kern_view *x = w->t.image;
    int64_t at = n * x->strides[0] + c * x->strides[1] + w->lx.low * x->strides[3];
    roi_fill(w->line, 0, w->pixels);
    roi_fill(w->row1, 0, w->pixels);
    roi_fill(w->row2, 0, w->pixels);
    for (uint32_t t = w->ly.begin[oy]; t < w->ly.begin[oy + 1]; t++) {
        const float *row = roi_row_single(w, at + w->ly.i0[t] * x->strides[2], w->row0);
        resample_add(w->line, row, w->ly.w[t], w->pixels);
        resample_add(w->row1, row, w->ly.d0[t], w->pixels);
        resample_add(w->row2, row, w->ly.d1[t], w->pixels);
    }
    roi_grad_load(w, r, c, oy);
    for (uint32_t ox = 0; ox < w->t.pooled->sizes[3]; ox++) {
        float s[4] = { 0 };
        for (uint32_t t = w->lx.begin[ox]; t < w->lx.begin[ox + 1]; t++) {
            int32_t i = w->lx.i0[t] - w->lx.low;
            s[0] += w->lx.d0[t] * w->line[i];
            s[1] += w->lx.w[t] * w->row1[i];
            s[2] += w->lx.d1[t] * w->line[i];
            s[3] += w->lx.w[t] * w->row2[i];
        }
        for (uint32_t i = 0; i < 4; i++)
            sums[i] += (double)s[i] * (double)w->out[ox];
    }
}

static void roi_grad_region_unit(struct roi_work *w, uint32_t r)
{
    const struct kern_view *out = &w->call->op->tensors[w->t.out_corners];
    double sums[4] = { 0 };
    uint32_t n = 0;
    bool moves = w->t.roi->linear && roi_grad_region(w, r, true, &n);
    for (uint32_t c = 0; moves && c < w->t.pooled->sizes[1]; c++)
        for (uint32_t oy = 0; oy < w->t.pooled->sizes[2]; oy++)
            roi_grad_corners(w, n, r, c, oy, sums);
    for (uint32_t i = 0; i < 4; i++)
        dense_store(w->call->data[w->t.out_corners], r * out->strides[0] + i * out->strides[1], out->type,
                    sums[i] * (double)(i % 2 ? w->t.roi->scale_y : w->t.roi->scale_x));
}

static void roi_grad_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    struct roi_work w;
    roi_work_init(&w, call);
    uint64_t planes = roi_grad_planes(call->op, w.plan.block);
    for (uint64_t unit = begin; unit < end; unit++) {
        if (unit < planes)
            roi_grad_planes_unit(&w, unit);
        else
            roi_grad_region_unit(&w, (uint32_t)(unit - planes));
    }
}

KERN_ISA_RUN(roi_f32, roi_run)
KERN_ISA_RUN(roi_grad_f32, roi_grad_run)
