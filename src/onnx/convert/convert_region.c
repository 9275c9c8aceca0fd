/* SPDX-License-Identifier: Apache-2.0 */
/* Regions of images, columns of windows, and pooling undone. */
#include "onnx/convert/converters.h"

bool onnx_roi_align(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *in[3] = { onnx_in(b, n, 0), onnx_in(b, n, 1), onnx_in(b, n, 2) };
    const char *transform =
        onnx_attr_string(n, "coordinate_transformation_mode", n->version < 16 ? "output_half_pixel" : "half_pixel");
    bool half = !strcmp(transform, "half_pixel");
    float scale = onnx_attr_float(n, "spatial_scale", 1.0f);
    int64_t ratio = onnx_attr_int(n, "sampling_ratio", 0);
    struct onnx_desc d[4];
    if (!in[0] || !in[1] || !in[2])
        return false;
    if (strcmp(onnx_attr_string(n, "mode", "avg"), "avg")) /* ONNX's is of weighted pixels, not of samples */
        return onnx_fail(b, "mode '%s' is not supported", onnx_attr_string(n, "mode", ""));
    if (in[0]->rank != 4 || in[1]->rank != 2 || in[1]->type != in[0]->type || ratio < 0 || ratio > 1 << 20)
        return onnx_fail(b, "regions do not fit the input, or sampling_ratio = %lld", (long long)ratio);
    if (in[1]->dims[1] != 4 || onnx_elements(in[2]) != in[1]->dims[0])
        return onnx_misfit(b, "%lld regions of %lld values with %lld indices", (long long)in[1]->dims[0],
                           (long long)in[1]->dims[1], (long long)onnx_elements(in[2]));
    int64_t dims[4] = { in[1]->dims[0], in[0]->dims[1], onnx_attr_int(n, "output_height", 1),
                        onnx_attr_int(n, "output_width", 1) };
    if (!half) { /* regions of less than a pixel are enlarged to one pixel */
        int64_t corner[2] = { in[1]->dims[0], 2 }, start[2] = { 0, 0 }, end[2] = { 0, 2 };
        struct onnx_value *low = onnx_window(b, in[1], start, corner), *high = onnx_window(b, in[1], end, corner);
        struct onnx_value *pixel =
            onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_ADD, low, onnx_scalar(b, in[1]->type, 1.0 / (double)scale));
        high = onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_MAX, high, pixel);
        const int64_t *full = in[1]->dims;
        struct onnx_value *zero = onnx_scalar(b, in[1]->type, 0);
        in[1] = onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_ADD, onnx_surround(b, low, start, full, zero),
                            onnx_surround(b, high, end, full, zero));
    }
    in[2] = onnx_convert(b, in[2], ONNX_UINT64);
    struct onnx_value *y = onnx_out(b, n, 0, in[0]->type, 4, dims);
    if (!y || !in[1] || !in[2])
        return false;
    DML_ROI_ALIGN1_OPERATOR_DESC desc = {
        .InputTensor = onnx_desc(b, &d[0], in[0]),
        .ROITensor = onnx_desc(b, &d[1], in[1]),
        .BatchIndicesTensor = onnx_desc(b, &d[2], in[2]),
        .OutputTensor = onnx_desc(b, &d[3], y),
        .ReductionFunction = DML_REDUCE_FUNCTION_AVERAGE,
        .InterpolationMode = DML_INTERPOLATION_MODE_LINEAR,
        .SpatialScaleX = scale,
        .SpatialScaleY = scale,
        .InputPixelOffset = half ? 0.5f : 0.0f,
        .OutputPixelOffset = -0.5f,
        .MinimumSamplesPerOutput = ratio ? (UINT)ratio : 1,
        .MaximumSamplesPerOutput = ratio ? (UINT)ratio : UINT32_MAX,
    };
    return onnx_emit(b, DML_OPERATOR_ROI_ALIGN1, &desc, in, 3, &y, 1);
}

bool onnx_max_roi_pool(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *in[2] = { onnx_in(b, n, 0), onnx_in(b, n, 1) };
    int64_t pooled[2], rois[4] = { 1, 1, 0, 5 };
    uint32_t count;
    struct onnx_desc d[3];
    if (!in[0] || !in[1] || !onnx_attr_ints(b, n, "pooled_shape", pooled, 2, &count))
        return false;
    if (count != 2 || in[0]->rank != 4 || in[1]->rank != 2 || in[1]->dims[1] != 5 || pooled[0] < 1 || pooled[1] < 1 ||
        pooled[0] > ONNX_SIZE_MAX || pooled[1] > ONNX_SIZE_MAX)
        return onnx_misfit(b, "regions do not fit the input");
    rois[2] = in[1]->dims[0];
    struct onnx_value *y =
        onnx_out(b, n, 0, in[0]->type, 4, (int64_t[]){ rois[2], in[0]->dims[1], pooled[0], pooled[1] });
    if (!y)
        return false;
    if (!onnx_elements(in[0])) /* elements outside of the image are 0 */
        return onnx_fill_to(b, y, (DML_SCALAR_UNION){ 0 });
    DML_ROI_POOLING_OPERATOR_DESC desc = { onnx_desc(b, &d[0], in[0]),
                                           onnx_desc_as(b, &d[1], in[1], 4, rois),
                                           onnx_desc(b, &d[2], y),
                                           onnx_attr_float(n, "spatial_scale", 1.0f),
                                           { .Width = (UINT)pooled[1], .Height = (UINT)pooled[0] } };
    return onnx_emit(b, DML_OPERATOR_ROI_POOLING, &desc, in, 2, &y, 1);
}

/* The indices refer to the tensor of MaxPool's input; output_shape may be larger. */
bool onnx_max_unpool(struct onnx_builder *b, const struct onnx_node *n)
{
    static const int64_t origin[ONNX_RANK_MAX] = { 0 };
    struct onnx_value *in[2] = { onnx_in(b, n, 0), onnx_in(b, n, 1) }, *shape = onnx_in_optional(b, n, 2);
    int64_t kernel[ONNX_RANK_MAX], strides[ONNX_RANK_MAX], pads[2 * ONNX_RANK_MAX] = { 0 }, dims[ONNX_RANK_MAX];
    int64_t wanted[ONNX_RANK_MAX], flat_in[4] = { 1, 1, 1, 0 }, flat_out[4] = { 1, 1, 1, 1 };
    uint32_t count, kernel_count, stride_count, pad_count;
    struct onnx_desc d[3];
    if (!in[0] || !in[1] || b->failed || !onnx_attr_ints(b, n, "strides", strides, ONNX_RANK_MAX, &stride_count) ||
        !onnx_attr_ints(b, n, "pads", pads, 2 * ONNX_RANK_MAX, &pad_count) ||
        !onnx_attr_ints(b, n, "kernel_shape", kernel, ONNX_RANK_MAX, &kernel_count))
        return false;
    uint32_t rank = in[0]->rank, spatial = rank < 2 ? 0 : rank - 2;
    if (rank < 3 || kernel_count != spatial || (stride_count && stride_count != spatial) ||
        (pad_count && pad_count != 2 * spatial))
        return onnx_fail(b, "kernel_shape, strides or pads do not fit rank %u", rank);
    for (uint32_t i = 0; i < rank; i++) {
        int64_t step = i < 2 || !stride_count ? 1 : strides[i - 2];
        if (i >= 2 && (step < 1 || step > 1 << 30 || kernel[i - 2] < 1 || kernel[i - 2] > 1 << 30 || pads[i - 2] < 0 ||
                       pads[i - 2] > 1 << 30 || pads[i - 2 + spatial] < 0 || pads[i - 2 + spatial] > 1 << 30))
            return onnx_fail(b, "kernel_shape, strides or pads are out of range");
        dims[i] =
            i < 2 ? in[0]->dims[i] : (in[0]->dims[i] - 1) * step + kernel[i - 2] - pads[i - 2] - pads[i - 2 + spatial];
        wanted[i] = dims[i];
        flat_out[3] = onnx_size_product(flat_out[3], dims[i]);
        if (dims[i] < (i < 2 ? 0 : 1) || flat_out[3] > ONNX_SIZE_MAX)
            return onnx_misfit(b, "dimension %u of the result is %lld", i, (long long)dims[i]);
    }
    if (shape && (!onnx_const_ints(b, shape, wanted, ONNX_RANK_MAX, &count) || count != rank))
        return onnx_fail(b, "output_shape has not %u values", rank);
    for (uint32_t i = 0; i < rank; i++) {
        if (wanted[i] < dims[i])
            return onnx_misfit(b, "output_shape[%u] = %lld is below %lld", i, (long long)wanted[i], (long long)dims[i]);
    }
    flat_in[3] = onnx_elements(in[0]);
    in[1] = onnx_convert(b, in[1], ONNX_UINT64);
    struct onnx_value *y = in[1] ? onnx_temp(b, in[0]->type, rank, dims) : NULL;
    if (!y || onnx_elements(in[1]) != flat_in[3])
        return onnx_misfit(b, "the number of indices must equal the number of elements");
    DML_MAX_UNPOOLING_OPERATOR_DESC desc = { onnx_desc_as(b, &d[0], in[0], 4, flat_in),
                                             onnx_desc_as(b, &d[1], in[1], 4, flat_in),
                                             onnx_desc_as(b, &d[2], y, 4, flat_out) };
    return onnx_emit(b, DML_OPERATOR_MAX_UNPOOLING, &desc, in, 2, &y, 1) &&
           onnx_result(b, n, 0, onnx_surround(b, y, origin, wanted, onnx_scalar(b, y->type, 0)));
}

static bool read_extents(struct onnx_builder *b, const struct onnx_node *n, const char *name, uint32_t count,
                         int64_t otherwise, UINT *out)
{
    int64_t values[2 * ONNX_RANK_MAX];
    uint32_t given;
    if (!onnx_attr_ints(b, n, name, values, 2 * ONNX_RANK_MAX, &given))
        return false;
    if (given && given != count)
        return onnx_fail(b, "%s has %u values, %u are needed", name, given, count);
    for (uint32_t i = 0; i < count; i++) {
        int64_t value = given ? values[i] : otherwise;
        if (value < (otherwise ? 1 : 0) || value > 1 << 30)
            return onnx_fail(b, "%s[%u] = %lld", name, i, (long long)value);
        out[i] = (UINT)value;
    }
    return true;
}

bool onnx_col2im(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0), *image = onnx_in(b, n, 1), *block = onnx_in(b, n, 2);
    int64_t size[ONNX_RANK_MAX], window[ONNX_RANK_MAX], dims[ONNX_RANK_MAX], area = 1;
    UINT windows[ONNX_RANK_MAX], strides[ONNX_RANK_MAX], dilations[ONNX_RANK_MAX], pads[2 * ONNX_RANK_MAX];
    uint32_t count, same;
    struct onnx_desc dx, dy;
    if (!x || !image || !block || !onnx_const_ints(b, image, size, ONNX_RANK_MAX - 2, &count) ||
        !onnx_const_ints(b, block, window, ONNX_RANK_MAX - 2, &same) ||
        !read_extents(b, n, "strides", count, 1, strides) || !read_extents(b, n, "dilations", count, 1, dilations) ||
        !read_extents(b, n, "pads", 2 * count, 0, pads))
        return false;
    for (uint32_t i = 0; i < count && i < same; i++) {
        if (size[i] < 1 || size[i] > 1 << 30 || window[i] < 1 || window[i] > 1 << 15)
            return onnx_fail(b, "image %lld with blocks of %lld", (long long)size[i], (long long)window[i]);
        windows[i] = (UINT)window[i];
        dims[2 + i] = size[i];
        area *= window[i];
        if (area > INT32_MAX)
            return onnx_fail(b, "blocks of %lld elements are too large", (long long)area);
    }
    if (count != same || !count || x->rank != 3)
        return onnx_fail(b, "an input of rank %u does not fit %u and %u dimensions", x->rank, count, same);
    if (x->dims[1] % area)
        return onnx_misfit(b, "%lld rows are not divisible into blocks of %lld elements", (long long)x->dims[1],
                           (long long)area);
    dims[0] = x->dims[0];
    dims[1] = x->dims[1] / area;
    struct onnx_value *y = onnx_out(b, n, 0, x->type, count + 2, dims);
    if (!y)
        return false;
    DML_FOLD_OPERATOR_DESC desc = {
        onnx_desc(b, &dx, x), onnx_desc(b, &dy, y), count, windows, strides, dilations, pads, pads + count
    };
    return onnx_emit(b, DML_OPERATOR_FOLD, &desc, &x, 1, &y, 1);
}

/* ---- Crop and ImageScaler, from before operator sets, still supported by runtimes ---- */

bool onnx_crop(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0);
    int64_t border[4] = { 0 }, scale[2], start[4] = { 0 }, dims[4];
    uint32_t border_count, scale_count;
    if (!x || !onnx_attr_ints(b, n, "scale", scale, 2, &scale_count) ||
        !onnx_attr_ints(b, n, "border", border, 4, &border_count))
        return false;
    bool sized = scale_count == 2;
    if (x->rank != 4 || border_count != 4)
        return onnx_fail(b, "rank %u without a border of 4 values", x->rank);
    memcpy(dims, x->dims, sizeof(dims));
    for (uint32_t i = 0; i < 2; i++) { /* border: left, top, right, bottom; scale: height, width */
        if (border[1 - i] < 0 || border[1 - i] > ONNX_SIZE_MAX || border[3 - i] < 0 || border[3 - i] > ONNX_SIZE_MAX)
            return onnx_fail(b, "border %lld and %lld", (long long)border[1 - i], (long long)border[3 - i]);
        start[2 + i] = border[1 - i];
        dims[2 + i] = sized ? scale[i] : x->dims[2 + i] - border[1 - i] - border[3 - i];
        if (dims[2 + i] < 1 || dims[2 + i] > x->dims[2 + i] - start[2 + i])
            return onnx_misfit(b, "dimension %u becomes empty", 2 + i);
    }
    return onnx_result(b, n, 0, onnx_window(b, x, start, dims));
}

bool onnx_image_scaler(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0);
    const struct onnx_attribute *bias = onnx_attribute(n, "bias");
    if (!x)
        return false;
    if (bias && bias->count && !bias->floats)
        return onnx_fail(b, "bias must be of type FLOATS");
    if (x->rank != 4 || !bias || bias->count != x->dims[1])
        return onnx_misfit(b, "bias has %u values for %lld channels", bias ? bias->count : 0,
                           (long long)(x->rank == 4 ? x->dims[1] : 0));
    double *values = onnx_reals(b, bias->count);
    for (uint32_t i = 0; values && i < bias->count; i++)
        values[i] = (double)bias->floats[i];
    struct onnx_value *shift = onnx_constant_reals(b, x->type, 3, (int64_t[]){ bias->count, 1, 1 }, values);
    struct onnx_value *scaled = onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_MULTIPLY, x,
                                            onnx_scalar(b, x->type, (double)onnx_attr_float(n, "scale", 1.0f)));
    return onnx_result(b, n, 0, onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_ADD, scaled, shift));
}

/* Affine, ParametricSoftplus, ScaledTanh */
bool onnx_scaled_activation(struct onnx_builder *b, const struct onnx_node *n)
{
    DML_OPERATOR_TYPE type = !strcmp(n->op, "Affine")       ? DML_OPERATOR_ACTIVATION_LINEAR
                             : !strcmp(n->op, "ScaledTanh") ? DML_OPERATOR_ACTIVATION_SCALED_TANH
                                                            : DML_OPERATOR_ACTIVATION_PARAMETRIC_SOFTPLUS;
    return onnx_result(
        b, n, 0,
        onnx_activate(b, type, onnx_in(b, n, 0), onnx_attr_float(n, "alpha", 0), onnx_attr_float(n, "beta", 0)));
}
