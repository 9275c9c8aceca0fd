/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels for regions of interest. Positions are computed in FLOAT64, as in the reference, if the device supports
 * it. */
#include "shaders/core/shader_block.h"
#include "shaders/resample/resample_params.h"

#include "kernels/resample/roi.h"

_Static_assert(KERN_ROI_POOL == 0 && KERN_ROI_AVERAGE == 1 && KERN_ROI_MAX == 2 && ROI_SAMPLES_MAX == 4096,
               "roi.glsl has these numbers");

static struct roi_params params_of(const struct kern_roi *roi)
{
    return (struct roi_params){ .mode = (uint32_t)roi->mode,
                                .linear = roi->linear,
                                .align_corners = roi->align_corners,
                                .least = roi->least,
                                .most = roi->most,
                                .scale_x = roi->scale_x,
                                .scale_y = roi->scale_y,
                                .in_offset = roi->in_offset,
                                .out_offset = roi->out_offset,
                                .outside = roi->outside };
}

/* ---- ROI ---- */

static uint64_t results(const struct kern_op *op)
{
    return kern_view_elements(&op->tensors[op->input_count]);
}

const char *shader_roi_any_unsupported(const struct kern_op *op)
{
    return shader_block_unsupported(op);
}

void shader_roi_any_plan(const struct kern_op *op, struct shader_work *out)
{
    shader_add(out, SHADER_roi, op, results(op), SHADER_GROUP_SIZE, sizeof(struct roi_params));
}

void shader_roi_any_write(const struct kern_op *op, uint32_t index, const struct shader_place *places, uint32_t *words)
{
    const struct roi_params params = params_of(&op->u.roi);
    shader_block_write(op, places, results(op), &params, sizeof(params), words);
}

/* ---- ROI_GRAD: planes of the image's gradient, then regions of the corners' ---- */

void shader_roi_grad_any_plan(const struct kern_op *op, struct shader_work *out)
{
    const struct roi_tensors t = roi_tensors(op);
    if (t.out_image != ROI_ABSENT) {
        shader_add(out, SHADER_roi_grad, op, roi_grad_planes(op, 1), SHADER_GROUP_SIZE, sizeof(struct roi_params));
        out->scratch_bytes = 8 * kern_view_elements(t.image);
    }
    if (t.out_corners != ROI_ABSENT)
        shader_add(out, SHADER_roi_grad, op, t.pooled->sizes[0], SHADER_GROUP_SIZE, sizeof(struct roi_params));
}

const char *shader_roi_grad_any_unsupported(const struct kern_op *op)
{
    return shader_block_unsupported(op);
}

void shader_roi_grad_any_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                               uint32_t *words)
{
    const struct roi_tensors t = roi_tensors(op);
    struct roi_params params = params_of(&op->u.roi_grad.roi);
    params.in_image = t.in_image;
    params.out_image = t.out_image;
    params.out_corners = t.out_corners;
    params.sizes_image = t.in_image != ROI_ABSENT ? t.in_image : t.out_image;
    params.regions = index == 1 || t.out_image == ROI_ABSENT;
    shader_block_write(op, places, params.regions ? t.pooled->sizes[0] : roi_grad_planes(op, 1), &params,
                       sizeof(params), words);
}
