/* SPDX-License-Identifier: Apache-2.0 */
/* Normalisation in transformers: over the last dimensions or groups of channels, with sums before it. */
#include "onnx/convert/converters.h"

/* Layer or root-mean-square normalisation of x over the dimensions from `axis` on. */
struct layer_norm {
    struct onnx_value *x, *scale, *bias;
    uint32_t axis;
    bool mean; /* layer normalisation */
    float epsilon;
};

/* The value broadcast to x's rank by ones in front; false when it does not fit. */
static bool param_dims(struct onnx_builder *b, const struct onnx_value *v, const struct onnx_value *x, int64_t *dims)
{
    if (v->rank > x->rank)
        return onnx_fail(b, "'%s' has rank %u, '%s' only %u", v->name, v->rank, x->name, x->rank);
    for (uint32_t i = 0; i < x->rank; i++) {
        dims[i] = i + v->rank < x->rank ? 1 : v->dims[i + v->rank - x->rank];
        if (dims[i] != 1 && dims[i] != x->dims[i])
            return onnx_misfit(b, "'%s' does not broadcast to '%s'", v->name, x->name);
    }
    return true;
}

static struct onnx_value *layer_norm(struct onnx_builder *b, const struct layer_norm *l, struct onnx_value *y)
{
    int64_t dims[ONNX_RANK_MAX], bias_dims[ONNX_RANK_MAX];
    struct onnx_norm norm = { .x = l->x, .scale = l->scale, .bias = l->bias, .y = y, .param_dims = dims };
    if (!l->x || !l->scale || !param_dims(b, l->scale, l->x, dims))
        return NULL;
    bool apart =
        l->bias && (!param_dims(b, l->bias, l->x, bias_dims) || memcmp(bias_dims, dims, l->x->rank * sizeof(*dims)));
    if (b->failed)
        return NULL;
    if (apart) { /* the bias has another shape than the scale */
        norm.bias = NULL;
        norm.y = NULL;
    }
    norm.rank = l->x->rank;
    norm.dims = l->x->dims;
    norm.mean = l->mean;
    norm.epsilon = l->epsilon;
    for (uint32_t i = l->axis; i < l->x->rank; i++)
        norm.axes[norm.axis_count++] = i;
    struct onnx_value *out = onnx_normalize(b, &norm);
    return apart ? onnx_apply2_to(b, DML_OPERATOR_ELEMENT_WISE_ADD, out, l->bias, y) : out;
}

/* The node's outputs `first` (mean, or none if it is 0) and `second` (1 / deviation), computed in float32. */
static bool statistics(struct onnx_builder *b, const struct onnx_node *n, const struct layer_norm *l, uint32_t first,
                       uint32_t second)
{
    UINT axes[ONNX_RANK_MAX];
    UINT count = 0;
    int64_t dims[ONNX_RANK_MAX];
    bool want_mean = first && onnx_has_output(n, first), want_deviation = onnx_has_output(n, second);
    if (!want_mean && !want_deviation)
        return true;
    for (uint32_t i = 0; i < l->x->rank; i++) {
        dims[i] = i < l->axis ? l->x->dims[i] : 1;
        if (i >= l->axis)
            axes[count++] = i;
    }
    int32_t type = l->x->type == ONNX_DOUBLE ? ONNX_DOUBLE : ONNX_FLOAT;
    struct onnx_value *x = onnx_convert(b, l->x, type);
    if (l->mean) {
        struct onnx_value *mean = onnx_reduced(b, DML_REDUCE_FUNCTION_AVERAGE, x, axes, count);
        x = onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_SUBTRACT, x, mean);
        if (want_mean) {
            struct onnx_value *y = onnx_out(b, n, first, ONNX_FLOAT, l->x->rank, dims);
            if (!y || !onnx_convert_to(b, mean, ONNX_FLOAT, y))
                return false;
        }
    }
    if (!want_deviation)
        return x != NULL;
    struct onnx_value *square = onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_MULTIPLY, x, x);
    struct onnx_value *variance = onnx_reduced(b, DML_REDUCE_FUNCTION_AVERAGE, square, axes, count);
    struct onnx_value *sum = onnx_scaled(b, variance, 1, l->epsilon);
    struct onnx_value *root = onnx_apply(b, DML_OPERATOR_ELEMENT_WISE_SQRT, sum);
    struct onnx_value *inverse = onnx_apply(b, DML_OPERATOR_ELEMENT_WISE_RECIP, root);
    struct onnx_value *y = onnx_out(b, n, second, ONNX_FLOAT, l->x->rank, dims);
    return y && onnx_convert_to(b, inverse, ONNX_FLOAT, y);
}

/* LayerNormalization, RMSNormalization, SimplifiedLayerNormalization (the last two may have the scale's type as output
 * type). */
bool onnx_layer_normalization(struct onnx_builder *b, const struct onnx_node *n)
{
    bool mean = !strcmp(n->op, "LayerNormalization");
    struct layer_norm l = { .x = onnx_in(b, n, 0), .scale = onnx_in(b, n, 1), .mean = mean };
    if (!l.x || !l.scale || !onnx_axis(b, onnx_attr_int(n, "axis", -1), l.x->rank, &l.axis))
        return false;
    l.bias = mean ? onnx_in_optional(b, n, 2) : NULL;
    l.epsilon = onnx_attr_float(n, "epsilon", 1e-5f);
    struct onnx_value *x = l.x, *y = onnx_out(b, n, 0, l.scale->type, x->rank, x->dims);
    if (!y || b->failed)
        return false;
    if (x->type == l.scale->type)
        return layer_norm(b, &l, y) && statistics(b, n, &l, mean ? 1 : 0, mean ? 2 : 1);
    int32_t type = x->type == ONNX_DOUBLE || l.scale->type == ONNX_DOUBLE ? ONNX_DOUBLE : ONNX_FLOAT;
    l.x = onnx_convert(b, x, type);
    l.scale = onnx_convert(b, l.scale, type);
    l.bias = onnx_convert(b, l.bias, type);
    return onnx_convert_to(b, layer_norm(b, &l, NULL), y->type, y) && statistics(b, n, &l, mean ? 1 : 0, mean ? 2 : 1);
}

/* com.microsoft: normalises input + skip + bias, and optionally outputs that sum. */
bool onnx_skip_layer_normalization(struct onnx_builder *b, const struct onnx_node *n)
{
    bool mean = !strcmp(n->op, "SkipLayerNormalization");
    struct onnx_value *x = onnx_in(b, n, 0), *skip = onnx_in(b, n, 1);
    struct onnx_value *bias = onnx_in_optional(b, n, mean ? 4 : 3);
    struct layer_norm l = { .scale = onnx_in(b, n, 2), .mean = mean };
    uint32_t rank;
    int64_t dims[ONNX_RANK_MAX];
    if (!x || !skip || !l.scale || b->failed || !onnx_broadcast_dims(b, x, skip, &rank, dims))
        return false;
    if (!rank || rank != x->rank || memcmp(dims, x->dims, rank * sizeof(*dims)))
        return onnx_misfit(b, "'%s' does not broadcast to '%s'", skip->name, x->name);
    struct onnx_value *sum = NULL, *y = onnx_out(b, n, 0, x->type, rank, dims);
    if (onnx_has_output(n, 3))
        sum = onnx_out(b, n, 3, x->type, rank, dims);
    l.x = onnx_apply2_to(b, DML_OPERATOR_ELEMENT_WISE_ADD, x, skip, bias ? NULL : sum);
    if (bias)
        l.x = onnx_apply2_to(b, DML_OPERATOR_ELEMENT_WISE_ADD, l.x, bias, sum);
    l.bias = mean ? onnx_in_optional(b, n, 3) : NULL;
    l.axis = rank - 1;
    l.epsilon = onnx_attr_float(n, "epsilon", 1e-12f);
    return y && l.x && layer_norm(b, &l, y) && statistics(b, n, &l, mean ? 1 : 0, 2);
}

/* How many words each sequence has: the sum of the mask, or 0 without one. */
static bool mask_index(struct onnx_builder *b, const struct onnx_node *n, const struct onnx_value *ids)
{
    static const UINT axis = 1;
    struct onnx_value *mask = onnx_in_optional(b, n, 7), *y = NULL;
    if (b->failed || !onnx_has_output(n, 1))
        return !b->failed;
    if (!(y = onnx_out(b, n, 1, ONNX_INT32, 1, ids->dims)))
        return false;
    if (mask)
        return onnx_reduced_to(b, DML_REDUCE_FUNCTION_SUM, mask, &axis, 1, y);
    void *zeros = onnx_constant_data(b, y);
    if (zeros)
        memset(zeros, 0, onnx_value_bytes(y));
    return zeros;
}

bool onnx_embed_layer_normalization(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *ids = onnx_in(b, n, 0), *segments = onnx_in_optional(b, n, 1), *words = onnx_in(b, n, 2);
    struct onnx_value *places = onnx_in(b, n, 3), *kinds = onnx_in_optional(b, n, 4);
    struct onnx_value *place_ids = onnx_in_optional(b, n, 8);
    struct layer_norm l = { .scale = onnx_in(b, n, 5), .bias = onnx_in(b, n, 6), .axis = 2, .mean = true };
    if (!ids || !words || !places || !l.scale || !l.bias || b->failed)
        return false;
    if (ids->rank != 2 || words->rank != 2 || places->rank != 2 || (kinds && kinds->rank != 2) ||
        words->dims[1] != places->dims[1] || (!place_ids && places->dims[0] < ids->dims[1]))
        return onnx_misfit(b, "the shapes of the ids and tables do not fit");
    const int64_t dims[] = { ids->dims[0], ids->dims[1], words->dims[1] };
    struct onnx_value *y = onnx_out(b, n, 0, words->type, 3, dims), *sum = NULL;
    if (onnx_has_output(n, 2))
        sum = onnx_out(b, n, 2, words->type, 3, dims);
    struct onnx_value *place = place_ids ? onnx_lookup(b, places, place_ids) : onnx_cut(b, places, 0, 0, ids->dims[1]);
    bool more = segments && kinds;
    l.x = onnx_apply2_to(b, DML_OPERATOR_ELEMENT_WISE_ADD, onnx_lookup(b, words, ids), place, more ? NULL : sum);
    if (more)
        l.x = onnx_apply2_to(b, DML_OPERATOR_ELEMENT_WISE_ADD, l.x, onnx_lookup(b, kinds, segments), sum);
    l.epsilon = onnx_attr_float(n, "epsilon", 1e-12f);
    return y && layer_norm(b, &l, y) && mask_index(b, n, ids);
}

bool onnx_mean_variance_normalization(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0), *y = x ? onnx_out(b, n, 0, x->type, x->rank, x->dims) : NULL;
    int64_t axes[ONNX_RANK_MAX] = { 0, 2, 3 };
    uint32_t count;
    if (!y || !onnx_attr_ints(b, n, "axes", axes, ONNX_RANK_MAX, &count))
        return false;
    if (!onnx_attribute(n, "axes"))
        count = 3;
    /* the definition adds 1e-9 to the deviation, here its square to the variance */
    struct onnx_norm norm = { .x = x, .y = y, .rank = x->rank, .dims = x->dims, .mean = true, .epsilon = 1e-18f };
    for (uint32_t i = 0; i < count; i++) {
        if (!onnx_axis(b, axes[i], x->rank, &norm.axes[i]))
            return false;
    }
    norm.axis_count = count;
    return onnx_normalize(b, &norm);
}

/* x is viewed as [batch, groups, channels of each, pixels] or, in NHWC, [batch, pixels, groups, channels of each]; the
 * parameters are per channel, or per group. y NULL: a temporary. */
struct group_norm {
    struct onnx_value *x, *scale, *bias, *y;
    int64_t groups;
    bool last;
    float epsilon;
};

static struct onnx_value *group_norm(struct onnx_builder *b, const struct group_norm *g)
{
    struct onnx_value *x = g->x, *scale = g->scale, *bias = g->bias;
    const int64_t groups = g->groups;
    const bool last = g->last;
    if (!x || !scale || !bias || b->failed)
        return NULL;
    if (x->rank < 2) {
        onnx_fail(b, "'%s' has rank %u", x->name, x->rank);
        return NULL;
    }
    int64_t channels = x->dims[last ? x->rank - 1 : 1], pixels = 1;
    for (uint32_t i = 1; i < x->rank; i++)
        pixels *= i == (last ? x->rank - 1 : 1) ? 1 : x->dims[i];
    if (groups < 1 || channels % groups || onnx_elements(scale) != onnx_elements(bias) ||
        (onnx_elements(scale) != channels && onnx_elements(scale) != groups)) {
        onnx_misfit(b, "%lld groups do not fit %lld channels with %lld scales and %lld biases", (long long)groups,
                    (long long)channels, (long long)onnx_elements(scale), (long long)onnx_elements(bias));
        return NULL;
    }
    int64_t each = channels / groups, of_scale = onnx_elements(scale) / groups;
    const int64_t first[] = { x->dims[0], groups, each, pixels }, first_params[] = { 1, groups, of_scale, 1 };
    const int64_t behind[] = { x->dims[0], pixels, groups, each }, behind_params[] = { 1, 1, groups, of_scale };
    struct onnx_norm norm = { .x = x,
                              .scale = onnx_convert(b, scale, x->type),
                              .bias = onnx_convert(b, bias, x->type),
                              .y = g->y,
                              .rank = 4,
                              .dims = last ? behind : first,
                              .param_dims = last ? behind_params : first_params,
                              .axes = { last ? 1 : 2, 3 },
                              .axis_count = 2,
                              .mean = true,
                              .epsilon = g->epsilon };
    return onnx_normalize(b, &norm);
}

bool onnx_group_normalization(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0), *y = x ? onnx_out(b, n, 0, x->type, x->rank, x->dims) : NULL;
    const struct group_norm norm = { .x = x,
                                     .scale = onnx_in(b, n, 1),
                                     .bias = onnx_in(b, n, 2),
                                     .y = y,
                                     .groups = onnx_attr_int(n, "num_groups", 0),
                                     .epsilon = onnx_attr_float(n, "epsilon", 1e-5f) };
    return y && group_norm(b, &norm);
}

/* com.microsoft GroupNorm and SkipGroupNorm, which normalises x + skip + bias and optionally outputs that sum */
bool onnx_group_norm(struct onnx_builder *b, const struct onnx_node *n)
{
    bool last = onnx_attr_int(n, "channels_last", 1) != 0, swish = onnx_attr_int(n, "activation", 0) != 0;
    struct onnx_value *x = onnx_in(b, n, 0), *gamma = onnx_in(b, n, 1), *beta = onnx_in(b, n, 2), *sum = x;
    struct onnx_value *y = x ? onnx_out(b, n, 0, x->type, x->rank, x->dims) : NULL;
    if (!y || !gamma || !beta)
        return false;
    if (x->rank != 4)
        return onnx_fail(b, "'%s' has rank %u, must be 4", x->name, x->rank);
    if (!strcmp(n->op, "SkipGroupNorm")) {
        int64_t dims[] = { x->dims[0], 1, 1, 1 }, channels = x->dims[last ? 3 : 1];
        struct onnx_value *skip = onnx_in(b, n, 3), *bias = onnx_in_optional(b, n, 4), *all = NULL;
        if (!skip || b->failed)
            return false;
        dims[last ? 3 : 1] = channels;
        if (skip->rank == 2)
            skip = onnx_as(b, skip, 4, dims);
        dims[0] = 1;
        bias = bias ? onnx_as(b, bias, 4, dims) : NULL;
        if (onnx_has_output(n, 1))
            all = onnx_out(b, n, 1, x->type, x->rank, x->dims);
        sum = onnx_apply2_to(b, DML_OPERATOR_ELEMENT_WISE_ADD, x, skip, bias ? NULL : all);
        sum = bias ? onnx_apply2_to(b, DML_OPERATOR_ELEMENT_WISE_ADD, sum, bias, all) : sum;
    }
    const struct group_norm norm = { .x = sum,
                                     .scale = gamma,
                                     .bias = beta,
                                     .y = swish ? NULL : y,
                                     .groups = onnx_attr_int(n, "groups", 0),
                                     .last = last,
                                     .epsilon = onnx_attr_float(n, "epsilon", 1e-5f) };
    struct onnx_value *normal = group_norm(b, &norm);
    return swish ? onnx_activate_to(b, DML_OPERATOR_ACTIVATION_SWISH, normal, 1, 0, y) != NULL : normal != NULL;
}
