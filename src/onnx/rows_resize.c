/* Resize and Upsample: output sizes and the coordinate rule become RESAMPLE2's scales and offsets. */
#include "onnx/build.h"

#include <math.h>

struct resize {
    float scales[ONNX_RANK_MAX];
    int64_t dims[ONNX_RANK_MAX];
    bool by_sizes;
};

/* Where the scales and sizes are depends on the opset: Upsample 7 attribute, 9 and Resize 10 input 1, Resize 11+ inputs
 * 2 and 3. */
static bool resize_read(struct onnx_builder *b, const struct onnx_node *n, const struct onnx_value *x, struct resize *r)
{
    bool modern = !strcmp(n->op, "Resize") && n->version >= 11;
    const struct onnx_value *scales = onnx_in_optional(b, n, modern ? 2 : 1);
    const struct onnx_value *sizes = modern ? onnx_in_optional(b, n, 3) : NULL;
    uint32_t count = 0;
    if (b->failed)
        return false;
    if (modern && onnx_attribute(n, "axes"))
        return onnx_fail(b, "the axes attribute is not supported");
    if (sizes && onnx_elements(sizes)) {
        r->by_sizes = true;
        if (!onnx_const_ints(b, sizes, r->dims, ONNX_RANK_MAX, &count))
            return false;
    } else if (scales) {
        if (!onnx_const_floats(b, scales, r->scales, ONNX_RANK_MAX, &count))
            return false;
    } else {
        const struct onnx_attribute *a = onnx_attribute(n, "scales");
        for (count = 0; a && a->floats && count < a->count && count < ONNX_RANK_MAX; count++)
            r->scales[count] = a->floats[count];
    }
    if (count != x->rank)
        return onnx_fail(b, "%u scales or sizes for %u dimensions", count, x->rank);
    for (uint32_t i = 0; i < count; i++) {
        if (r->by_sizes)
            r->scales[i] = (float)r->dims[i] / (float)x->dims[i];
        else
            r->dims[i] = (int64_t)floorf((float)x->dims[i] * r->scales[i]);
        if (!(r->scales[i] > 0) || r->dims[i] < 1)
            return onnx_fail(b, "dimension %u would become %lld", i, (long long)r->dims[i]);
    }
    return true;
}

/* DirectML: x = (o - output_offset) / scale - input_offset. */
static bool coordinate_rule(struct onnx_builder *b, const char *rule, float *scale, float *in, float *out,
                            int64_t x_dim, int64_t y_dim)
{
    *in = *out = 0;
    if (!strcmp(rule, "half_pixel") || (!strcmp(rule, "pytorch_half_pixel") && y_dim > 1)) {
        *in = 0.5f;
        *out = -0.5f;
    } else if (!strcmp(rule, "pytorch_half_pixel")) {
        *scale = INFINITY; /* one output element reads coordinate 0 */
    } else if (!strcmp(rule, "align_corners")) {
        *scale = y_dim > 1 && x_dim > 1 ? (float)(y_dim - 1) / (float)(x_dim - 1) : INFINITY;
    } else if (strcmp(rule, "asymmetric")) {
        return onnx_fail(b, "coordinate_transformation_mode '%s' is not supported", rule);
    }
    if (isinf(*scale))
        *scale = 3.402823466e+38f; /* coordinate 0 for every output; DirectML wants a finite scale */
    return true;
}

/* Rounding "to nearest" is folded into the input offset: floor(x + 0.5) or ceil(x - 0.5). */
static bool nearest_rule(struct onnx_builder *b, const char *rule, float *in, DML_AXIS_DIRECTION *direction)
{
    if (!strcmp(rule, "round_prefer_floor")) {
        *direction = DML_AXIS_DIRECTION_INCREASING;
        *in += 0.5f;
    } else if (!strcmp(rule, "round_prefer_ceil")) {
        *direction = DML_AXIS_DIRECTION_DECREASING;
        *in -= 0.5f;
    } else if (!strcmp(rule, "floor")) {
        *direction = DML_AXIS_DIRECTION_DECREASING;
    } else if (!strcmp(rule, "ceil")) {
        *direction = DML_AXIS_DIRECTION_INCREASING;
    } else {
        return onnx_fail(b, "nearest_mode '%s' is not supported", rule);
    }
    return true;
}

bool onnx_resize(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0);
    struct resize r = { 0 };
    bool modern = !strcmp(n->op, "Resize") && n->version >= 11;
    const char *mode = onnx_attr_string(n, "mode", "nearest");
    const char *rule = onnx_attr_string(n, "coordinate_transformation_mode", modern ? "half_pixel" : "asymmetric");
    const char *nearest = onnx_attr_string(n, "nearest_mode", modern ? "round_prefer_floor" : "floor");
    bool linear = !strcmp(mode, "linear") || !strcmp(mode, "bilinear");
    DML_AXIS_DIRECTION direction = DML_AXIS_DIRECTION_DECREASING;
    float in[ONNX_RANK_MAX], out[ONNX_RANK_MAX];
    struct onnx_desc dx, dy;
    if (!x || !resize_read(b, n, x, &r))
        return false;
    if (!linear && strcmp(mode, "nearest"))
        return onnx_fail(b, "mode '%s' is not supported", mode);
    if (x->rank > 4)
        return onnx_fail(b, "input of rank %u is not supported", x->rank);
    for (uint32_t i = 0; i < x->rank; i++) {
        if (r.dims[i] == x->dims[i] && r.scales[i] == 1.0f) {
            in[i] = out[i] = 0; /* untouched, whatever the rounding */
            if (!linear && !nearest_rule(b, "floor", &in[i], &direction))
                return false;
        } else if (!coordinate_rule(b, rule, &r.scales[i], &in[i], &out[i], x->dims[i], r.dims[i])) {
            return false;
        }
    }
    for (uint32_t i = 0; i < x->rank && !linear; i++) {
        bool untouched = r.dims[i] == x->dims[i] && r.scales[i] == 1.0f;
        float ignored = 0;
        if (!nearest_rule(b, nearest, untouched ? &ignored : &in[i], &direction))
            return false;
    }
    struct onnx_value *y = onnx_out(b, n, 0, x->type, x->rank, r.dims);
    if (!y)
        return false;
    DML_RESAMPLE2_OPERATOR_DESC desc = { onnx_desc(b, &dx, x),
                                         onnx_desc(b, &dy, y),
                                         linear ? DML_INTERPOLATION_MODE_LINEAR
                                                : DML_INTERPOLATION_MODE_NEAREST_NEIGHBOR,
                                         direction,
                                         x->rank,
                                         r.scales,
                                         in,
                                         out };
    return onnx_emit(b, DML_OPERATOR_RESAMPLE2, &desc, &x, 1, &y, 1);
}
