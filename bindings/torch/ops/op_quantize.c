/* SPDX-License-Identifier: Apache-2.0 */
/* Fake quantization: numbers rounded to those that integers from quant_min to quant_max stand for, and which numbers
 * are within these. */
#include "graph.h"

#define EW(name) DML_OPERATOR_ELEMENT_WISE_##name

/* scale and zero_point are of rank 0 or broadcast to x. As on the CPU, x is multiplied by the reciprocal of the scale,
 * rounded to FLOAT32. on: NULL, or whether to quantize at all; limits: the argument quant_min, before quant_max. */
static bool quantized(struct aten_graph *g, const struct aten_node *n, struct aten_value *scale,
                      struct aten_value *zero_point, struct aten_value *on, uint32_t limits)
{
    struct aten_value *self = aten_in(g, n, 0);
    if (!self || !scale || !zero_point || !aten_is_float(self->type))
        return aten_fail(g, "unsupported types");
    const int32_t type = aten_wide(self->type);
    struct aten_value *least = aten_in_as(g, n, limits, type), *most = aten_in_as(g, n, limits + 1, type);
    struct aten_value *by = aten_convert(g, aten_divide(g, aten_scalar(g, ATEN_FLOAT32, 1), scale), type);
    struct aten_value *x = aten_multiply(g, aten_convert(g, self, type), by), *zero = aten_convert(g, zero_point, type);
    const DML_ROUNDING_MODE even = DML_ROUNDING_MODE_HALVES_TO_NEAREST_EVEN;
    x = aten_is_float(zero_point->type) ? aten_round(g, aten_add(g, x, zero), even)
                                        : aten_add(g, aten_round(g, x, even), zero);
    struct aten_value *inside =
        aten_apply2(g, EW(LOGICAL_AND), aten_apply2(g, EW(LOGICAL_GREATER_THAN_OR_EQUAL), x, least),
                    aten_apply2(g, EW(LOGICAL_LESS_THAN_OR_EQUAL), x, most));
    struct aten_value *y = aten_apply2(g, EW(MIN), aten_apply2(g, EW(MAX), x, least), most);
    y = aten_multiply(g, aten_subtract(g, y, zero), aten_convert(g, scale, type));
    if (on) {
        y = aten_select(g, on, y, aten_convert(g, self, type));
        inside = aten_apply2(g, EW(LOGICAL_OR), inside, aten_not(g, on));
    }
    return aten_result(g, n, 0, y) && aten_result(g, n, 1, inside);
}

/* fake_quantize_per_tensor_affine_cachemask(self, scale, zero_point, quant_min, quant_max) */
bool aten_build_fake_quantize(struct aten_graph *g, const struct aten_node *n)
{
    return quantized(g, n, aten_in_as(g, n, 1, ATEN_FLOAT32), aten_in(g, n, 2), NULL, 3);
}

/* The only element of a tensor, with rank 0. */
static struct aten_value *only(struct aten_graph *g, struct aten_value *x)
{
    if (!x || aten_elements(x) != 1) {
        aten_fail(g, "scale, zero_point and fake_quant_enabled must have one element");
        return NULL;
    }
    return aten_reshape(g, x, 0, NULL);
}

/* _fake_quantize_per_tensor_affine_cachemask_tensor_qparams(self, scale, zero_point, fake_quant_enabled, quant_min,
 * quant_max) */
bool aten_build_fake_quantize_tensors(struct aten_graph *g, const struct aten_node *n)
{
    return quantized(g, n, only(g, aten_in_as(g, n, 1, ATEN_FLOAT32)), only(g, aten_in(g, n, 2)),
                     only(g, aten_in_as(g, n, 3, ATEN_BOOLEAN)), 4);
}

/* One number for each index of this axis, to be broadcast. */
static struct aten_value *along(struct aten_graph *g, struct aten_value *x, const struct aten_value *self,
                                uint32_t axis)
{
    int64_t sizes[ATEN_RANK_MAX];
    for (uint32_t d = 0; d < self->rank; d++)
        sizes[d] = d == axis ? self->sizes[d] : 1;
    if (x && (x->rank != 1 || x->sizes[0] != sizes[axis])) {
        aten_fail(g, "scale and zero_point must have %lld elements", (long long)sizes[axis]);
        return NULL;
    }
    return aten_reshape(g, x, self->rank, sizes);
}

/* fake_quantize_per_channel_affine_cachemask(self, scale, zero_point, axis, quant_min, quant_max) */
bool aten_build_fake_quantize_channels(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *self = aten_in(g, n, 0);
    uint32_t axis;
    if (!self || !self->rank || !aten_axis(g, aten_int(g, n, 3, 0), self->rank, &axis))
        return aten_fail(g, "axis must be one of self");
    return quantized(g, n, along(g, aten_in_as(g, n, 1, ATEN_FLOAT32), self, axis),
                     along(g, aten_in(g, n, 2), self, axis), NULL, 4);
}
