/* SPDX-License-Identifier: Apache-2.0 */
/* Resize and Upsample: output sizes and the coordinate rule become RESAMPLE2's scales and offsets if it supports
 * them. */
#include "onnx/convert/converters.h"
#include "onnx/convert/resize.h"
#include "onnx/emit/emit.h"

#include <float.h>
#include <math.h>

/* ---- reading ---- */

/* Scales and sizes of the axes of the `axes` attribute or of all. Their source depends on the opset: Upsample 7
 * attribute, 9 and Resize 10 input 1, Resize 11+ inputs 2 and 3. */
struct given {
    float scales[ONNX_RANK_MAX], roi[2 * ONNX_RANK_MAX];
    int64_t sizes[ONNX_RANK_MAX];
    uint32_t axes[ONNX_RANK_MAX], count, roi_count;
    bool by_sizes;
};

static bool given_axes(struct onnx_builder *b, const struct onnx_node *n, const struct onnx_value *x, struct given *g)
{
    int64_t values[ONNX_RANK_MAX];
    if (!onnx_attr_ints(b, n, "axes", values, ONNX_RANK_MAX, &g->count))
        return false;
    if (g->count > x->rank)
        return onnx_fail(b, "axes has %u values for %u dimensions", g->count, x->rank);
    for (uint32_t i = 0; i < g->count; i++) {
        if (!onnx_axis(b, values[i], x->rank, &g->axes[i]))
            return false;
    }
    for (; !onnx_attribute(n, "axes") && g->count < x->rank; g->count++)
        g->axes[g->count] = g->count;
    return true;
}

static bool given_values(struct onnx_builder *b, const struct onnx_node *n, const struct onnx_value *x, struct given *g)
{
    bool modern = !strcmp(n->op, "Resize") && n->version >= 11;
    const struct onnx_value *scales = onnx_in_optional(b, n, modern ? 2 : 1);
    const struct onnx_value *sizes = modern ? onnx_in_optional(b, n, 3) : NULL;
    const struct onnx_value *roi = modern ? onnx_in_optional(b, n, 1) : NULL;
    const struct onnx_attribute *a = onnx_attribute(n, "scales");
    bool crop = !strcmp(onnx_attr_string(n, "coordinate_transformation_mode", ""), "tf_crop_and_resize");
    uint32_t count = 0;
    if (b->failed || !given_axes(b, n, x, g))
        return false;
    g->by_sizes = sizes && onnx_elements(sizes);
    if (g->by_sizes ? !onnx_const_ints(b, sizes, g->sizes, ONNX_RANK_MAX, &count)
                    : scales && !onnx_const_floats(b, scales, g->scales, ONNX_RANK_MAX, &count))
        return false;
    for (; !g->by_sizes && !scales && a && a->floats && count < a->count && count < ONNX_RANK_MAX; count++)
        g->scales[count] = a->floats[count];
    if (count != g->count)
        return onnx_fail(b, "%u scales or sizes for %u dimensions", count, g->count);
    if (crop && roi && !onnx_const_floats(b, roi, g->roi, 2 * ONNX_RANK_MAX, &g->roi_count))
        return false;
    if (crop && g->roi_count != 2 * g->count)
        return onnx_fail(b, "the region has %u values, %u are needed", g->roi_count, 2 * g->count);
    return true;
}

/* One scale for all axes, the smallest or the largest that the sizes allow. */
static bool keep_aspect(struct onnx_builder *b, const char *policy, const struct onnx_value *x, const struct given *g,
                        struct onnx_resize *r)
{
    bool smaller = !strcmp(policy, "not_larger");
    float scale = smaller ? FLT_MAX : 0;
    if (!smaller && strcmp(policy, "not_smaller"))
        return onnx_fail(b, "keep_aspect_ratio_policy '%.60s' is not supported", policy);
    for (uint32_t i = 0; i < g->count; i++) {
        float own = (float)g->sizes[i] / (float)x->dims[g->axes[i]];
        scale = smaller ? BASE_MIN(scale, own) : BASE_MAX(scale, own);
    }
    for (uint32_t i = 0; i < g->count; i++) {
        float size = floorf(scale * (float)x->dims[g->axes[i]] + 0.5f);
        if (!(size >= 0 && size < 0x1p31f))
            return onnx_misfit(b, "scale %g of dimension %u", (double)scale, g->axes[i]);
        r->scales[g->axes[i]] = scale;
        r->dims[g->axes[i]] = (int64_t)size;
    }
    return true;
}

static bool resize_sizes(struct onnx_builder *b, const struct onnx_node *n, const struct onnx_value *x,
                         struct onnx_resize *r)
{
    const char *policy = onnx_attr_string(n, "keep_aspect_ratio_policy", "stretch");
    struct given g = { 0 };
    if (!given_values(b, n, x, &g))
        return false;
    for (uint32_t i = 0; i < x->rank; i++) {
        r->dims[i] = x->dims[i];
        r->scales[i] = r->roi[1][i] = 1;
    }
    r->by_sizes = g.by_sizes;
    for (uint32_t i = 0; i < g.count; i++) {
        uint32_t at = g.axes[i];
        r->scales[at] = g.by_sizes ? (float)g.sizes[i] / (float)x->dims[at] : g.scales[i];
        float size = (float)x->dims[at] * g.scales[i];
        if (!g.by_sizes && !(size >= 0 && size < 0x1p31f))
            return onnx_misfit(b, "scale %g of dimension %u", (double)g.scales[i], at);
        r->dims[at] = g.by_sizes ? g.sizes[i] : (int64_t)floorf(size);
        r->roi[0][at] = g.roi[i];
        r->roi[1][at] = g.roi_count ? g.roi[i + g.count] : 1;
    }
    if (g.by_sizes && strcmp(policy, "stretch") && !keep_aspect(b, policy, x, &g, r))
        return false;
    for (uint32_t i = 0; i < x->rank; i++) {
        bool good = !x->dims[i] || (r->scales[i] > 0 && !isinf(r->scales[i]) && r->dims[i] > 0);
        if (!good || r->dims[i] < 0 || r->dims[i] > INT32_MAX)
            return onnx_misfit(b, "dimension %u would become %lld", i, (long long)r->dims[i]);
    }
    return true;
}

static bool resize_rules(struct onnx_builder *b, const struct onnx_node *n, struct onnx_resize *r)
{
    static const char *const rules[] = { "half_pixel",        "pytorch_half_pixel",   "align_corners",
                                         "asymmetric",        "tf_half_pixel_for_nn", "half_pixel_symmetric",
                                         "tf_crop_and_resize" };
    static const char *const nearest[] = { "round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "" };
    bool modern = !strcmp(n->op, "Resize") && n->version >= 11, known = false, rounds = false;
    const char *mode = onnx_attr_string(n, "mode", "nearest");
    r->rule = modern ? onnx_attr_string(n, "coordinate_transformation_mode", "half_pixel") : "asymmetric";
    r->nearest = modern ? onnx_attr_string(n, "nearest_mode", "round_prefer_floor") : "";
    for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
        known = known || !strcmp(rules[i], r->rule);
    for (size_t i = 0; i < ARRAY_SIZE(nearest); i++)
        rounds = rounds || !strcmp(nearest[i], r->nearest);
    if (!known || !rounds)
        return onnx_fail(b, "coordinate_transformation_mode '%.60s' with nearest_mode '%.60s' is not supported",
                         r->rule, r->nearest);
    if (strcmp(mode, "nearest") && strcmp(mode, "linear") && strcmp(mode, "bilinear") && strcmp(mode, "cubic"))
        return onnx_fail(b, "mode '%.60s' is not supported", mode);
    r->mode = !strcmp(mode, "nearest") ? ONNX_RESIZE_NEAREST
              : !strcmp(mode, "cubic") ? ONNX_RESIZE_CUBIC
                                       : ONNX_RESIZE_LINEAR;
    r->crop = !strcmp(r->rule, "tf_crop_and_resize");
    r->antialias = onnx_attr_int(n, "antialias", 0) != 0;
    r->exclude_outside = onnx_attr_int(n, "exclude_outside", 0) != 0;
    r->cubic_a = onnx_attr_float(n, "cubic_coeff_a", -0.75f);
    r->extrapolation = onnx_attr_float(n, "extrapolation_value", 0);
    return true;
}

/* ---- with RESAMPLE2 ---- */

static bool resample_takes(const struct onnx_resize *r, const struct onnx_value *x)
{
    bool small = x->type == ONNX_INT8 || x->type == ONNX_UINT8, nearest = r->mode == ONNX_RESIZE_NEAREST;
    if (x->rank > 4 || r->crop || r->mode == ONNX_RESIZE_CUBIC || (!nearest && (r->antialias || r->exclude_outside)) ||
        !strcmp(r->rule, "tf_half_pixel_for_nn") || !strcmp(r->rule, "half_pixel_symmetric"))
        return false;
    for (uint32_t i = 0; i < x->rank; i++) {
        bool rounded = !r->by_sizes && (float)r->dims[i] != (float)x->dims[i] * r->scales[i];
        if ((!r->nearest[0] && r->scales[i] < 1 && nearest) || (rounded && !strcmp(r->rule, "align_corners")))
            return false;
    }
    return x->type == ONNX_FLOAT || x->type == ONNX_FLOAT16 || x->type == ONNX_BFLOAT16 || (nearest && small);
}

/* DirectML: x = (o - output_offset) / scale - input_offset. */
static void coordinate_rule(const char *rule, float *scale, float *in, float *out, int64_t x_dim, int64_t y_dim)
{
    *in = *out = 0;
    if (!strcmp(rule, "half_pixel") || (!strcmp(rule, "pytorch_half_pixel") && y_dim > 1)) {
        *in = 0.5f;
        *out = -0.5f;
    } else if (!strcmp(rule, "pytorch_half_pixel")) {
        *scale = FLT_MAX; /* one output element reads coordinate 0; DirectML requires a finite scale */
    } else if (!strcmp(rule, "align_corners")) {
        *scale = y_dim > 1 && x_dim > 1 ? (float)(y_dim - 1) / (float)(x_dim - 1) : FLT_MAX;
    }
}

/* Rounding "to nearest" is folded into the input offset: floor(x + 0.5) or ceil(x - 0.5). */
static DML_AXIS_DIRECTION nearest_rule(const char *rule, float *in)
{
    if (!strcmp(rule, "round_prefer_floor"))
        *in += 0.5f;
    else if (!strcmp(rule, "round_prefer_ceil"))
        *in -= 0.5f;
    return !strcmp(rule, "round_prefer_floor") || !strcmp(rule, "ceil") ? DML_AXIS_DIRECTION_INCREASING
                                                                        : DML_AXIS_DIRECTION_DECREASING;
}

static bool resample(struct onnx_builder *b, const struct onnx_resize *r, struct onnx_value *x, struct onnx_value *y)
{
    bool linear = r->mode == ONNX_RESIZE_LINEAR;
    DML_AXIS_DIRECTION direction = DML_AXIS_DIRECTION_DECREASING;
    float scales[ONNX_RANK_MAX], in[ONNX_RANK_MAX], out[ONNX_RANK_MAX], ignored = 0;
    struct onnx_desc dx, dy;
    for (uint32_t i = 0; i < x->rank; i++) {
        bool keeps = onnx_resize_keeps(r, x, i);
        scales[i] = r->scales[i];
        in[i] = out[i] = 0;
        if (!keeps)
            coordinate_rule(r->rule, &scales[i], &in[i], &out[i], x->dims[i], r->dims[i]);
        if (!linear)
            direction = nearest_rule(r->nearest, keeps ? &ignored : &in[i]);
    }
    DML_RESAMPLE2_OPERATOR_DESC desc = { onnx_desc(b, &dx, x),
                                         onnx_desc(b, &dy, y),
                                         linear ? DML_INTERPOLATION_MODE_LINEAR
                                                : DML_INTERPOLATION_MODE_NEAREST_NEIGHBOR,
                                         direction,
                                         x->rank,
                                         scales,
                                         in,
                                         out };
    return onnx_emit(b, DML_OPERATOR_RESAMPLE2, &desc, &x, 1, &y, 1);
}

/* ---- the converter ---- */

/* Integers are interpolated in float32 and truncated; results of cubic interpolation, which overshoots, and of
 * antialiasing are rounded. */
static bool back_to_integer(struct onnx_builder *b, const struct onnx_resize *r, struct onnx_value *x,
                            struct onnx_value *y)
{
    struct onnx_value *rounded = onnx_temp(b, x->type, x->rank, x->dims);
    struct onnx_value *inside = onnx_temp(b, x->type, x->rank, x->dims);
    struct onnx_desc d[4];
    if (!rounded || !inside)
        return false;
    DML_ELEMENT_WISE_ROUND_OPERATOR_DESC round = { onnx_desc(b, &d[0], x), onnx_desc(b, &d[1], rounded),
                                                   DML_ROUNDING_MODE_HALVES_TO_NEAREST_EVEN };
    if (!r->antialias && r->mode != ONNX_RESIZE_CUBIC)
        rounded = x;
    else if (!onnx_emit(b, DML_OPERATOR_ELEMENT_WISE_ROUND, &round, &x, 1, &rounded, 1))
        return false;
    bool small = y->type == ONNX_INT8 || y->type == ONNX_UINT8;
    if (!small)
        return onnx_cast_to(b, rounded, y);
    DML_ELEMENT_WISE_CLIP_OPERATOR_DESC clip = { onnx_desc(b, &d[2], rounded), onnx_desc(b, &d[3], inside), NULL,
                                                 y->type == ONNX_INT8 ? INT8_MIN : 0,
                                                 y->type == ONNX_INT8 ? INT8_MAX : UINT8_MAX };
    return onnx_emit(b, DML_OPERATOR_ELEMENT_WISE_CLIP, &clip, &rounded, 1, &inside, 1) && onnx_cast_to(b, inside, y);
}

bool onnx_resize(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0);
    struct onnx_resize r = { 0 };
    if (!x || !resize_rules(b, n, &r) || !resize_sizes(b, n, x, &r))
        return false;
    struct onnx_value *y = onnx_out(b, n, 0, x->type, x->rank, r.dims);
    if (!y)
        return false;
    if (!onnx_elements(x) || !onnx_elements(y))
        return onnx_elements(y) ? onnx_misfit(b, "the input is empty") : onnx_constant_data(b, y) != NULL;
    if (resample_takes(&r, x))
        return resample(b, &r, x, y);
    if (r.mode == ONNX_RESIZE_NEAREST)
        return onnx_resize_by_tables(b, &r, x, y);
    struct onnx_value *from = onnx_convert(b, x, x->type == ONNX_DOUBLE ? ONNX_DOUBLE : ONNX_FLOAT);
    struct onnx_value *to = from ? onnx_temp(b, from->type, x->rank, r.dims) : NULL;
    if (!to || !(resample_takes(&r, from) ? resample(b, &r, from, to) : onnx_resize_by_tables(b, &r, from, to)))
        return false;
    return onnx_type_is_float(y->type) ? onnx_cast_to(b, to, y) : back_to_integer(b, &r, to, y);
}
