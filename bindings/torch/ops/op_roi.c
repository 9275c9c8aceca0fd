/* SPDX-License-Identifier: Apache-2.0 */
/* Regions of images: operators of torchvision, which the glue registers for when torchvision is loaded. */
#include "graph.h"

#define EW(name) DML_OPERATOR_ELEMENT_WISE_##name

/* Regions as DirectML has them: corners [K, 4], and the image of each, [K]. */
struct regions {
    struct aten_value *corners, *image;
};

/* From rows (image, x1, y1, x2, y2). Unless aligned, regions of less than a pixel are enlarged to one pixel. */
static struct regions regions_of(struct aten_graph *g, const struct aten_node *n, uint32_t i, double scale,
                                 bool aligned)
{
    struct aten_value *rows = aten_in(g, n, i);
    struct regions r = { NULL, NULL };
    if (!rows || rows->rank != 2 || rows->sizes[1] != 5) {
        aten_fail(g, "regions must have the shape [K, 5]");
        return r;
    }
    if (rows->type == ATEN_FLOAT64) { /* DirectML interpolates in FLOAT32 */
        aten_fail(g, "regions in float64 are not supported");
        return r;
    }
    r.image = aten_convert(g, aten_squeeze(g, aten_slice(g, rows, 1, 0, 1, 1), 1), ATEN_UINT32);
    r.corners = aten_slice(g, rows, 1, 1, 4, 1);
    if (!aligned) {
        struct aten_value *low = aten_slice(g, rows, 1, 1, 2, 1), *high = aten_slice(g, rows, 1, 3, 2, 1);
        struct aten_value *parts[2] = { low, aten_apply2(g, EW(MAX), high, aten_scaled(g, low, 1, 1 / scale)) };
        r.corners = aten_join(g, parts, 2, 1);
    }
    r.corners = aten_packed(g, r.corners);
    r.image = aten_packed(g, r.image);
    return r;
}

/* roi_align(input, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio, aligned) */
bool aten_build_roi_align(struct aten_graph *g, const struct aten_node *n)
{
    const double scale = aten_real(g, n, 2, 1);
    const int64_t ratio = aten_int(g, n, 5, -1);
    const bool aligned = aten_int(g, n, 6, 0);
    struct aten_value *x = aten_in(g, n, 0);
    struct regions r = regions_of(g, n, 1, scale, aligned);
    struct aten_value *y = aten_new(g, n->outputs[0].type, n->outputs[0].rank, n->outputs[0].sizes);
    struct aten_value *in[3] = { x, r.corners, r.image };
    struct aten_desc d[4];
    if (!x || !r.corners || !r.image || !y || x->rank != 4 || !(scale > 0) || ratio > UINT16_MAX)
        return aten_fail(g, "unsupported arguments");
    DML_ROI_ALIGN1_OPERATOR_DESC desc = {
        .InputTensor = aten_describe(g, &d[0], x),
        .ROITensor = aten_describe(g, &d[1], r.corners),
        .BatchIndicesTensor = aten_describe(g, &d[2], r.image),
        .OutputTensor = aten_describe(g, &d[3], y),
        .ReductionFunction = DML_REDUCE_FUNCTION_AVERAGE,
        .InterpolationMode = DML_INTERPOLATION_MODE_LINEAR,
        .SpatialScaleX = (float)scale,
        .SpatialScaleY = (float)scale,
        .InputPixelOffset = aligned ? 0.5f : 0.0f,
        .OutputPixelOffset = -0.5f,
        .MinimumSamplesPerOutput = ratio > 0 ? (UINT)ratio : 1,
        .MaximumSamplesPerOutput = ratio > 0 ? (UINT)ratio : UINT32_MAX,
    };
    return aten_emit(g, DML_OPERATOR_ROI_ALIGN1, &desc, in, 3, &y, 1) && aten_result(g, n, 0, y);
}

/* _roi_align_backward(grad, rois, spatial_scale, pooled_height, pooled_width, batch_size, channels, height, width,
 * sampling_ratio, aligned) */
bool aten_build_roi_align_backward(struct aten_graph *g, const struct aten_node *n)
{
    const double scale = aten_real(g, n, 2, 1);
    const int64_t ratio = aten_int(g, n, 9, -1);
    const bool aligned = aten_int(g, n, 10, 0);
    const struct aten_tensor *out = &n->outputs[0];
    struct aten_value *dy = aten_in(g, n, 0);
    struct regions r = regions_of(g, n, 1, scale, aligned);
    if (!dy || !r.corners || !r.image || dy->rank != 4 || !(scale > 0) || ratio > UINT16_MAX)
        return aten_fail(g, "unsupported arguments");
    if (!aten_elements(dy))
        return aten_result(g, n, 0, aten_filled(g, out->type, out->rank, out->sizes, 0));
    struct aten_value *dx = aten_new(g, out->type, out->rank, out->sizes), *in[4] = { NULL, dy, r.corners, r.image };
    struct aten_desc d[4];
    if (!dx)
        return false;
    DML_ROI_ALIGN_GRAD_OPERATOR_DESC desc = {
        .InputGradientTensor = aten_describe(g, &d[0], dy),
        .ROITensor = aten_describe(g, &d[1], r.corners),
        .BatchIndicesTensor = aten_describe(g, &d[2], r.image),
        .OutputGradientTensor = aten_describe(g, &d[3], dx),
        .ReductionFunction = DML_REDUCE_FUNCTION_AVERAGE,
        .InterpolationMode = DML_INTERPOLATION_MODE_LINEAR,
        .SpatialScaleX = (float)scale,
        .SpatialScaleY = (float)scale,
        .InputPixelOffset = aligned ? 0.5f : 0.0f,
        .OutputPixelOffset = -0.5f,
        .MinimumSamplesPerOutput = ratio > 0 ? (UINT)ratio : 1,
        .MaximumSamplesPerOutput = ratio > 0 ? (UINT)ratio : UINT32_MAX,
    };
    struct aten_value *outputs[2] = { dx, NULL };
    return aten_emit(g, DML_OPERATOR_ROI_ALIGN_GRAD, &desc, in, 4, outputs, 2) && aten_result(g, n, 0, dx);
}
