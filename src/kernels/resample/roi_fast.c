#include "kernels/resample/roi_fast.h"

#define PLANAR_BLOCK  16
#define REDUCTION_MAX 64
#define GRAD_BLOCK    8
#define GRAD_ELEMENTS (1u << 20)
#define BYTES_MAX     (UINT64_C(1) << 28) /* of scratch: beyond, the reference does */

/* Along an axis positions rise or fall, so two bins share two elements at most; maxima list every sample, and as steps
 * are longer than half a pixel where there are more samples than the least, these are bounded too. */
static uint64_t capacity(const struct kern_roi *roi, uint32_t size, uint32_t bins)
{
    uint64_t each = roi->mode == KERN_ROI_MAX ? BASE_MIN(roi->least, ROI_SAMPLES_MAX) : 0;
    return (uint64_t)bins * (each + 3) + 2 * (uint64_t)size + 16;
}

static uint64_t list_bytes(uint32_t bins, uint64_t capacity)
{
    return (2 * ((uint64_t)bins + 1) + 5 * capacity) * 4;
}

void roi_plan_init(const struct kern_op *op, const struct kern_roi *roi, const struct kern_view *image,
                   const struct kern_view *pooled, bool grad, struct roi_plan *out)
{
    uint32_t channels = image->sizes[1];
    bool last = !grad && channels > 1 && image->strides[1] == 1 && image->strides[3] != 1;
    uint64_t plane = (uint64_t)image->sizes[2] * image->sizes[3];
    *out = (struct roi_plan){ .group = grad ? 1 : BASE_MIN(channels, last ? REDUCTION_MAX : PLANAR_BLOCK) };
    out->block = last ? out->group : PLANAR_BLOCK;
    if (grad) {
        out->block = (uint32_t)BASE_MIN(GRAD_BLOCK, BASE_MAX(1, GRAD_ELEMENTS / plane));
        out->planes = plane * out->block;
    }
    out->capacity_x = capacity(roi, image->sizes[3], pooled->sizes[3]);
    out->capacity_y = capacity(roi, image->sizes[2], pooled->sizes[2]);
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

/* The entry of element `index` in the bin that is being made; the three last can hold it. */
static uint32_t entry(struct roi_list *list, uint32_t first, uint32_t *count, int64_t index)
{
    for (uint32_t i = *count; i > first && i + 3 > *count; i--)
        if (list->i0[i - 1] == index)
            return i - 1;
    if (*count == list->capacity)
        return *count - 1; /* cannot be: see capacity() */
    uint32_t i = (*count)++;
    list->i0[i] = (int32_t)index;
    list->w[i] = list->d0[i] = list->d1[i] = 0;
    list->low = BASE_MIN(list->low, (int32_t)index);
    list->high = BASE_MAX(list->high, (int32_t)index + 1);
    return i;
}

static void list_begin(struct roi_list *list)
{
    list->low = INT32_MAX;
    list->high = 0;
}

static void list_end(struct roi_list *list, uint32_t bins, uint32_t count)
{
    list->begin[bins] = count;
    list->low = BASE_MIN(list->low, list->high);
}

void roi_list_average(struct roi_list *list, const struct roi_axis *axis, bool moves)
{
    uint32_t count = 0;
    float each = (float)(1 / (double)axis->per);
    list_begin(list);
    for (uint32_t bin = 0; bin < axis->bins; bin++) {
        uint64_t first, last;
        uint32_t start = list->begin[bin] = count;
        roi_axis_inside(axis, bin, &first, &last);
        list->share[bin] = (float)roi_axis_share(axis, first, last);
        for (uint64_t s = first; s < last; s++) {
            struct roi_tap tap = roi_axis_tap(axis, s);
            uint32_t e0 = entry(list, start, &count, tap.i0);
            list->w[e0] += (float)(1 - tap.w) * each;
            moves &= axis->linear;
            if (tap.w == 0 && !(moves && tap.moves))
                continue;
            uint32_t e1 = entry(list, start, &count, tap.i1);
            float d1 = (float)tap.part * each, d0 = (float)(1 - tap.part) * each;
            list->w[e1] += (float)tap.w * each;
            list->d0[e0] -= tap.moves ? d0 : 0;
            list->d1[e0] -= tap.moves ? d1 : 0;
            list->d0[e1] += tap.moves ? d0 : 0;
            list->d1[e1] += tap.moves ? d1 : 0;
        }
    }
    list_end(list, axis->bins, count);
}

void roi_list_samples(struct roi_list *list, const struct roi_axis *axis)
{
    uint32_t count = 0;
    list_begin(list);
    for (uint32_t bin = 0; bin < axis->bins; bin++) {
        uint64_t first, last;
        list->begin[bin] = count;
        roi_axis_inside(axis, bin, &first, &last);
        list->share[bin] = (float)roi_axis_share(axis, first, last);
        for (uint64_t s = first; s < last && count < list->capacity; s++, count++) {
            struct roi_tap tap = roi_axis_tap(axis, s);
            list->i0[count] = (int32_t)tap.i0;
            list->i1[count] = (int32_t)tap.i1;
            list->w[count] = (float)tap.w;
            list->low = (int32_t)BASE_MIN(list->low, tap.i0);
            list->high = (int32_t)BASE_MAX(list->high, tap.i1 + 1);
        }
    }
    list_end(list, axis->bins, count);
}

bool kern_roi_f32_accepts(const struct kern_op *op)
{
    struct roi_plan plan;
    const struct kern_view *x = &op->tensors[2], *y = &op->tensors[3];
    if (op->epilogue || x->rank != 4 || y->rank != 4 || x->type != y->type || !dense_is_short_float(x->type))
        return false;
    roi_plan_init(op, &op->u.roi, x, y, false, &plan);
    return plan.bytes <= BYTES_MAX;
}

void kern_roi_f32_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    struct roi_plan plan;
    const struct kern_view *x = &op->tensors[2], *y = &op->tensors[3];
    roi_plan_init(op, &op->u.roi, x, y, false, &plan);
    *out = (struct kern_work){ .units = (uint64_t)y->sizes[0] * ((y->sizes[1] + plan.block - 1) / plan.block) };
    out->grain = dense_grain(8ull * y->sizes[2] * y->sizes[3] * plan.block);
    out->worker_scratch_bytes = plan.bytes;
}

bool kern_roi_grad_f32_accepts(const struct kern_op *op)
{
    struct roi_plan plan;
    struct roi_grad_tensors t = roi_grad_tensors(op);
    if (op->epilogue || op->u.roi_grad.roi.mode != KERN_ROI_AVERAGE || !dense_is_short_float(t.pooled->type) ||
        t.image->type != t.pooled->type)
        return false;
    roi_plan_init(op, &op->u.roi_grad.roi, t.image, t.pooled, true, &plan);
    return plan.bytes <= BYTES_MAX;
}

void kern_roi_grad_f32_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    struct roi_plan plan;
    struct roi_grad_tensors t = roi_grad_tensors(op);
    roi_plan_init(op, &op->u.roi_grad.roi, t.image, t.pooled, true, &plan);
    *out = (struct kern_work){ .units = roi_grad_units(op, plan.block), .grain = 1 };
    out->worker_scratch_bytes = plan.bytes;
}
