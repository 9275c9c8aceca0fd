/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

/* Corners are -4 to 4 or anything at all; scales make them fall inside, outside and across the image. */
static void corners(struct check_rng *rng, struct check_case *out, uint32_t count, DML_TENSOR_DATA_TYPE type)
{
    static const DML_TENSOR_DATA_TYPE batches[] = { DML_TENSOR_DATA_TYPE_UINT32, DML_TENSOR_DATA_TYPE_UINT64,
                                                    DML_TENSOR_DATA_TYPE_FLOAT32 };
    const uint32_t sizes[] = { count, 4 };
    check_view_broadcast(rng, &out->op.tensors[0], type, 2, sizes);
    check_view(rng, &out->op.tensors[1], batches[check_pick(rng, 3)], 1, sizes);
    out->data[0] = check_chance(rng, 4)   ? CHECK_DATA_SPECIAL
                   : check_chance(rng, 2) ? CHECK_DATA_POSITIVE
                                          : CHECK_DATA_NORMAL;
    out->data[1] = CHECK_DATA_INDEX;
}

static void parameters(struct check_rng *rng, struct kern_roi *roi)
{
    roi->linear = roi->mode != KERN_ROI_POOL && !check_chance(rng, 3);
    roi->align_corners = check_chance(rng, 3);
    roi->scale_x = (float)check_uniform(rng, 0.2, 7);
    roi->scale_y = (float)check_uniform(rng, 0.2, 7);
    roi->in_offset = check_chance(rng, 3) ? (float)check_uniform(rng, -1, 1) : 0.5f;
    roi->out_offset = check_chance(rng, 3) ? (float)check_uniform(rng, -1, 1) : -0.5f;
    roi->outside = check_chance(rng, 2) ? 0 : (float)check_uniform(rng, -3, 3);
    roi->least = 1 + check_pick(rng, check_chance(rng, 3) ? 6 : 2);
    roi->most = check_chance(rng, 2) ? UINT32_MAX : roi->least + check_pick(rng, 3);
    if (roi->mode == KERN_ROI_POOL) {
        roi->outside = 0;
        roi->least = roi->most = 1;
    }
}

/* Image and pooled views; channels last half of the time. */
static void views(struct check_rng *rng, struct kern_view *image, struct kern_view *pooled, uint32_t regions,
                  DML_TENSOR_DATA_TYPE type)
{
    const uint32_t order[] = { 0, 3, 1, 2 };
    uint32_t x[] = { 1 + check_pick(rng, 3), 1 + check_pick(rng, 20), 1 + check_pick(rng, 12),
                     1 + check_pick(rng, 24) };
    uint32_t y[] = { regions, x[1], 1 + check_pick(rng, 5), 1 + check_pick(rng, 6) };
    for (uint32_t i = 0; i < 2; i++) {
        struct kern_view *view = i ? pooled : image;
        uint32_t *sizes = i ? y : x;
        const uint32_t last[] = { sizes[0], sizes[2], sizes[3], sizes[1] };
        if (check_chance(rng, 2)) {
            check_view(rng, view, type, 4, sizes);
            continue;
        }
        struct kern_view packed;
        kern_view_set_packed(&packed, type, 4, last);
        *view = packed;
        for (uint32_t d = 0; d < 4; d++) {
            view->sizes[d] = sizes[d];
            view->strides[d] = packed.strides[order[d]];
        }
    }
}

void check_gen_roi(struct check_rng *rng, struct check_case *out)
{
    struct kern_op *op = &out->op;
    uint32_t regions = 1 + check_pick(rng, 5);
    DML_TENSOR_DATA_TYPE type = check_float_type(rng);
    op->kind = KERN_ROI;
    op->input_count = 3;
    op->output_count = 1;
    op->u.roi.mode = check_pick(rng, 3);
    parameters(rng, &op->u.roi);
    corners(rng, out, regions, type);
    views(rng, &op->tensors[2], &op->tensors[3], regions, type);
    out->index_limit[1] = op->tensors[2].sizes[0];
    out->norm_wise = true;
}

void check_gen_roi_grad(struct check_rng *rng, struct check_case *out)
{
    struct kern_op *op = &out->op;
    struct kern_roi_grad *grad = &op->u.roi_grad;
    uint32_t regions = 1 + check_pick(rng, 5), next = 3, want = 1 + check_pick(rng, 3);
    DML_TENSOR_DATA_TYPE type = check_float_type(rng);
    struct kern_view image, pooled;
    op->kind = KERN_ROI_GRAD;
    grad->roi.mode = check_chance(rng, 3) ? KERN_ROI_MAX : KERN_ROI_AVERAGE;
    parameters(rng, &grad->roi);
    corners(rng, out, regions, type);
    views(rng, &image, &pooled, regions, type);
    grad->has_image_gradient = want & 1;
    grad->has_corner_gradient = want >> 1;
    grad->has_image = grad->has_corner_gradient || grad->roi.mode == KERN_ROI_MAX;
    op->tensors[2] = pooled;
    if (grad->has_image)
        op->tensors[next++] = image;
    op->input_count = next;
    if (grad->has_image_gradient)
        check_view(rng, &op->tensors[next++], type, 4, image.sizes);
    if (grad->has_corner_gradient)
        check_view(rng, &op->tensors[next++], type, 2, (const uint32_t[]){ regions, 4 });
    op->output_count = next - op->input_count;
    out->index_limit[1] = image.sizes[0];
    out->norm_wise = true;
}
