/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions and their gradients; im2col. */
#include "graph.h"

#define SPATIAL_MAX        3
#define CONVOLVED_ROWS_MIN 8 /* of a product for each group; fewer have kernels of their own */

/* stride, padding, dilation, transposed, output_padding, groups: consecutive arguments. */
struct window {
    uint32_t spatial, groups;
    bool transposed;
    UINT strides[SPATIAL_MAX], padding[SPATIAL_MAX], dilations[SPATIAL_MAX];
};

/* A list of one number applies to all dimensions. */
static bool read_list(struct aten_graph *g, const struct aten_node *n, uint32_t i, uint32_t count, UINT *out)
{
    uint32_t given;
    const int64_t *list = aten_ints(g, n, i, &given);
    for (uint32_t d = 0; d < count; d++) {
        int64_t value = !given ? -1 : list[given == 1 ? 0 : d];
        if ((given != 1 && given != count) || value < 0 || value > 1 << 30)
            return aten_fail(g, "argument %u must have %u numbers from 0 to 2^30", i, count);
        out[d] = (UINT)value;
    }
    return true;
}

static bool read_window(struct aten_graph *g, const struct aten_node *n, uint32_t first, const struct aten_value *x,
                        struct window *out)
{
    if (!x || g->failed)
        return false;
    if (x->rank < 3 || x->rank > SPATIAL_MAX + 2)
        return aten_fail(g, "the input has %u dimensions, must have 3 to %d", x->rank, SPATIAL_MAX + 2);
    if (!aten_is_float(x->type))
        return aten_fail(g, "the input is %s, must be floating point", aten_type_name(x->type));
    out->spatial = x->rank - 2;
    out->transposed = aten_int(g, n, first + 3, 0) != 0;
    out->groups = (uint32_t)aten_int(g, n, first + 5, 1);
    return read_list(g, n, first, out->spatial, out->strides) &&
           read_list(g, n, first + 1, out->spatial, out->padding) &&
           read_list(g, n, first + 2, out->spatial, out->dilations);
}

/* The output's sizes determine the number of windows and, for transposed convolutions, how much of them is cropped. */
static struct aten_value *convolved(struct aten_graph *g, const struct window *w, bool transposed,
                                    struct aten_value *const *in, const int64_t *sizes)
{
    static const UINT none[SPATIAL_MAX] = { 0 };
    struct aten_desc d[4];
    struct aten_value *y = in[0] && in[1] ? aten_new(g, in[0]->type, w->spatial + 2, sizes) : NULL;
    if (!y)
        return NULL;
    DML_CONVOLUTION_OPERATOR_DESC desc = {
        .InputTensor = aten_describe(g, &d[0], in[0]),
        .FilterTensor = aten_describe(g, &d[1], in[1]),
        .BiasTensor = aten_describe(g, &d[2], in[2]),
        .OutputTensor = aten_describe(g, &d[3], y),
        .Mode = DML_CONVOLUTION_MODE_CROSS_CORRELATION,
        .Direction = transposed ? DML_CONVOLUTION_DIRECTION_BACKWARD : DML_CONVOLUTION_DIRECTION_FORWARD,
        .DimensionCount = w->spatial,
        .Strides = w->strides,
        .Dilations = w->dilations,
        .StartPadding = w->padding,
        .EndPadding = w->padding,
        .OutputPadding = none,
        .GroupCount = w->groups,
    };
    return aten_emit(g, DML_OPERATOR_CONVOLUTION, &desc, in, 3, &y, 1) ? y : NULL;
}

/* convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups) */
bool aten_build_convolution(struct aten_graph *g, const struct aten_node *n)
{
    struct window w;
    struct aten_value *in[3] = { aten_in(g, n, 0), aten_in(g, n, 1), NULL };
    if (!read_window(g, n, 3, in[0], &w) || !in[1])
        return false;
    int64_t channels[SPATIAL_MAX + 2] = { 1, n->outputs[0].sizes[1], 1, 1, 1 };
    if (aten_given(n, 2) && !(in[2] = aten_reshape(g, aten_in_as(g, n, 2, in[0]->type), in[0]->rank, channels)))
        return false;
    return aten_result(g, n, 0, convolved(g, &w, w.transposed, in, n->outputs[0].sizes));
}

/* ---- gradients ---- */

/* {channels * window, batch, positions}: im2col of the windows at the given number of positions. */
static struct aten_value *columns(struct aten_graph *g, const struct window *w, struct aten_value *x,
                                  const int64_t *window, const int64_t *positions)
{
    UINT windows[SPATIAL_MAX], end[SPATIAL_MAX];
    int64_t sizes[3] = { x->sizes[1], x->sizes[0], 1 };
    bool whole = true;
    for (uint32_t i = 0; i < w->spatial; i++) {
        int64_t span = (window[i] - 1) * w->dilations[i] + 1;
        int64_t rest = (positions[i] - 1) * w->strides[i] + span - x->sizes[i + 2] - w->padding[i];
        if (rest <= -(int64_t)w->strides[i]) {
            aten_fail(g, "argument output_padding exceeds the stride");
            return NULL;
        }
        windows[i] = (UINT)window[i];
        end[i] = (UINT)BASE_MAX(rest, 0);
        sizes[0] *= window[i];
        sizes[2] *= positions[i];
        whole = whole && window[i] == 1 && w->strides[i] == 1 && !w->padding[i] && positions[i] == x->sizes[i + 2];
    }
    if (whole)
        return aten_reshape(g, aten_transpose(g, x, 0, 1), 3, sizes);
    struct aten_value *packed = aten_new_packed(g, x->type, 3, sizes), *y = aten_transpose(g, packed, 0, 1);
    struct aten_desc dx, dy;
    if (!y)
        return NULL;
    DML_UNFOLD_OPERATOR_DESC desc = { aten_describe(g, &dx, x),
                                      aten_describe(g, &dy, y),
                                      w->spatial,
                                      windows,
                                      w->strides,
                                      w->dilations,
                                      w->padding,
                                      end };
    return aten_emit(g, DML_OPERATOR_UNFOLD, &desc, &x, 1, &y, 1) ? packed : NULL;
}

/* The sizes of the part of `wide` that the windows at the positions of `small` reach, and the padding that they reach
 * behind it. Returns false if they reach nothing but padding. */
static bool find_reach(const struct window *w, const struct aten_value *wide, const struct aten_value *small,
                       const struct aten_value *weight, int64_t *sizes, UINT *end)
{
    memcpy(sizes, wide->sizes, sizeof(wide->sizes));
    for (uint32_t i = 0; i < w->spatial; i++) {
        int64_t span = w->strides[i] * (small->sizes[i + 2] - 1) + w->dilations[i] * (weight->sizes[i + 2] - 1) + 1;
        int64_t rest = span - wide->sizes[i + 2] - w->padding[i];
        sizes[i + 2] += BASE_MIN(rest, 0);
        end[i] = (UINT)BASE_MAX(rest, 0);
        if (sizes[i + 2] < 1)
            return false;
    }
    return true;
}

/* Images with batch and channels exchanged. With several groups, their channels are images of which each has the
 * channels of one. */
static struct aten_value *exchanged(struct aten_graph *g, const struct window *w, struct aten_value *wide,
                                    const int64_t *sizes)
{
    struct aten_value *seen = aten_view(g, wide, wide->rank, sizes, wide->strides);
    const int64_t groups = w->groups, of_group = sizes[1] / groups;
    const int64_t batch_stride = wide->strides[0], channel_stride = wide->strides[1];
    if (!seen || w->groups == 1)
        return seen ? aten_transpose(g, seen, 0, 1) : NULL;
    int64_t split[ATEN_RANK_MAX] = { of_group, groups, sizes[0] }, merged[ATEN_RANK_MAX] = { of_group };
    int64_t strides[ATEN_RANK_MAX] = { channel_stride, of_group * channel_stride, batch_stride };
    merged[1] = groups * sizes[0];
    for (uint32_t i = 2; i < wide->rank; i++) {
        merged[i] = split[i + 1] = sizes[i];
        strides[i + 1] = wide->strides[i];
    }
    seen = aten_packed(g, aten_view(g, wide, wide->rank + 1, split, strides));
    return seen ? aten_reshape(g, seen, wide->rank, merged) : NULL;
}

/* Convolves images with batch and channels exchanged by the gradient, with strides and dilations exchanged. */
static struct aten_value *convolved_gradient(struct aten_graph *g, const struct window *w, struct aten_value *wide,
                                             struct aten_value *small, const struct aten_value *weight,
                                             const int64_t *sizes, const UINT *end)
{
    struct aten_desc d[3];
    struct aten_value *dw = aten_new_packed(g, wide->type, weight->rank, weight->sizes);
    struct aten_value *in[3] = { exchanged(g, w, wide, sizes), aten_transpose(g, small, 0, 1), NULL };
    if (!dw || !in[0] || !in[1])
        return NULL;
    struct aten_value *y = aten_transpose(g, dw, 0, 1);
    DML_CONVOLUTION_OPERATOR_DESC desc = {
        .InputTensor = aten_describe(g, &d[0], in[0]),
        .FilterTensor = aten_describe(g, &d[1], in[1]),
        .OutputTensor = aten_describe(g, &d[2], y),
        .Mode = DML_CONVOLUTION_MODE_CROSS_CORRELATION,
        .Direction = DML_CONVOLUTION_DIRECTION_FORWARD,
        .DimensionCount = w->spatial,
        .Strides = w->dilations,
        .Dilations = w->strides,
        .StartPadding = w->padding,
        .EndPadding = end,
        .OutputPadding = (const UINT[SPATIAL_MAX]){ 0 },
        .GroupCount = w->groups,
    };
    return aten_emit(g, DML_OPERATOR_CONVOLUTION, &desc, in, 3, &y, 1) ? dw : NULL;
}

/* Whether a convolution computes the gradient: on CPUs, of types with convolution kernels for this, on devices of those
 * that are summed in FLOAT32, with enough output channels in a group for kernels that compute blocks of results. */
static bool by_convolution(const struct aten_graph *g, const struct window *w, const struct aten_value *x,
                           const struct aten_value *weight)
{
    if (aten_host_memory(g->device))
        return x->type == ATEN_FLOAT32 && (w->groups == 1 || weight->sizes[1] == 1);
    return x->type != ATEN_FLOAT64 && (w->groups == 1 || weight->sizes[0] / w->groups >= CONVOLVED_ROWS_MIN);
}

/* Otherwise multiplies the windows' columns by the gradient (for transposed convolutions, by the input) and sums over
 * batch and positions, with one GEMM per group. */
static struct aten_value *weight_gradient(struct aten_graph *g, const struct window *w, struct aten_value *x,
                                          struct aten_value *dy, const struct aten_value *weight)
{
    struct aten_value *wide = w->transposed ? dy : x, *small = w->transposed ? x : dy;
    if (!aten_elements(x) || !aten_elements(dy))
        return aten_scalar(g, x->type, 0);
    int64_t sizes[ATEN_RANK_MAX];
    UINT end[SPATIAL_MAX];
    if (by_convolution(g, w, x, weight) && find_reach(w, wide, small, weight, sizes, end))
        return convolved_gradient(g, w, wide, small, weight, sizes, end);
    struct aten_value *seen = columns(g, w, wide, weight->sizes + 2, small->sizes + 2);
    if (!seen)
        return NULL;
    const int64_t groups = w->groups, depth = seen->sizes[1] * seen->sizes[2];
    const int64_t from[3] = { groups, small->sizes[1] / groups, depth };
    const int64_t to[3] = { groups, seen->sizes[0] / groups, depth };
    small = aten_reshape(g, aten_transpose(g, small, 0, 1), 3, from);
    seen = aten_transpose(g, aten_reshape(g, seen, 3, to), 1, 2);
    return aten_reshape(g, aten_matmul(g, small, seen, NULL, 1, 0), weight->rank, weight->sizes);
}

static struct aten_value *bias_gradient(struct aten_graph *g, struct aten_value *dy)
{
    struct aten_value *sum = aten_reduced(g, DML_REDUCE_FUNCTION_SUM, dy, (1u << dy->rank) - 1 - 2, dy->type);
    return aten_elements(dy) ? aten_reshape(g, sum, 1, &dy->sizes[1]) : aten_scalar(g, dy->type, 0);
}

/* convolution_backward(grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding,
 * groups, output_mask); parameter: index of stride */
bool aten_build_convolution_backward(struct aten_graph *g, const struct aten_node *n)
{
    struct window w;
    struct aten_value *dy = aten_in(g, n, 0), *x = aten_in(g, n, 1), *weight = aten_in(g, n, 2);
    if (!read_window(g, n, (uint32_t)n->parameter, x, &w) || !dy || !weight)
        return false;
    struct aten_value *in[3] = { dy, weight, NULL };
    return (!aten_wanted(n, 0) || aten_result(g, n, 0, convolved(g, &w, !w.transposed, in, x->sizes))) &&
           (!aten_wanted(n, 1) || aten_result(g, n, 1, weight_gradient(g, &w, x, dy, weight))) &&
           (!aten_wanted(n, 2) || aten_result(g, n, 2, bias_gradient(g, dy)));
}
