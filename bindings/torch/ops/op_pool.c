/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling and its gradients. The parameter of rows is the number of spatial dimensions. */
#include "axis.h"
#include "index.h"

#include <math.h>

#define EW(name)    DML_OPERATOR_ELEMENT_WISE_##name
#define SPATIAL_MAX 3

struct pool {
    uint32_t spatial;
    UINT window[SPATIAL_MAX], strides[SPATIAL_MAX], start[SPATIAL_MAX], end[SPATIAL_MAX], dilations[SPATIAL_MAX];
};

/* {batch, channels, spatial sizes}: adds a batch dimension of 1 if there is none. */
static struct aten_value *batched(struct aten_graph *g, struct aten_value *x, uint32_t spatial)
{
    if (x && x->rank == spatial + 1)
        return aten_unsqueeze(g, x, 0);
    if (x && x->rank != spatial + 2) {
        aten_fail(g, "a tensor has %u dimensions, must have %u or %u", x->rank, spatial + 1, spatial + 2);
        return NULL;
    }
    return x;
}

static struct aten_value *input(struct aten_graph *g, const struct aten_node *n, uint32_t i, int32_t type)
{
    return batched(g, aten_in_as(g, n, i, type), (uint32_t)n->parameter);
}

/* Sets result i, without the batch dimension that was added. */
static bool result(struct aten_graph *g, const struct aten_node *n, uint32_t i, struct aten_value *y)
{
    if (!aten_wanted(n, i))
        return true;
    return aten_result(g, n, i, y ? aten_reshape(g, y, n->outputs[i].rank, n->outputs[i].sizes) : NULL);
}

/* A single number applies to all dimensions; without any: `otherwise`. */
static bool read_list(struct aten_graph *g, const struct aten_node *n, uint32_t i, uint32_t spatial,
                      const UINT *otherwise, UINT *out)
{
    uint32_t count;
    const int64_t *list = aten_ints(g, n, i, &count);
    for (uint32_t d = 0; d < spatial; d++) {
        int64_t value = count ? list[count == 1 ? 0 : d] : otherwise[d];
        if ((count > 1 && count != spatial) || value < 0 || value > 1 << 30)
            return aten_fail(g, "argument %u must have %u numbers from 0 to 2^30", i, spatial);
        out[d] = (UINT)value;
    }
    return true;
}

/* Reads kernel_size, stride, padding and, with `dilated`, dilation: arguments from `first` on. The padding at the end
 * follows from the spatial sizes `in` and `out`. */
static bool read_pool(struct aten_graph *g, const struct aten_node *n, uint32_t first, bool dilated, const int64_t *in,
                      const int64_t *out, struct pool *p)
{
    static const UINT ones[SPATIAL_MAX] = { 1, 1, 1 };
    p->spatial = (uint32_t)n->parameter;
    if (!read_list(g, n, first, p->spatial, ones, p->window) ||
        !read_list(g, n, first + 1, p->spatial, p->window, p->strides) ||
        !read_list(g, n, first + 2, p->spatial, ones, p->start) ||
        !read_list(g, n, dilated ? first + 3 : UINT32_MAX, p->spatial, ones, p->dilations))
        return false;
    for (uint32_t d = 0; d < p->spatial; d++) {
        int64_t span = (int64_t)(p->window[d] - 1) * p->dilations[d] + 1;
        int64_t rest = (out[d] - 1) * p->strides[d] + span - in[d] - p->start[d];
        p->end[d] = (UINT)BASE_MAX(rest, 0);
    }
    return true;
}

/* ---- maxima ---- */

/* Computes maxima only if `indices` is NULL. DirectML's maxima ignore NaN. */
static bool max_of_numbers(struct aten_graph *g, struct aten_value *x, const struct pool *p, struct aten_value *maxima,
                           struct aten_value *indices)
{
    struct aten_desc d[3];
    struct aten_value *made[2] = { maxima, indices };
    if (!maxima)
        return false;
    DML_MAX_POOLING2_OPERATOR_DESC desc = { aten_describe(g, &d[0], x),
                                            aten_describe(g, &d[1], maxima),
                                            indices ? aten_describe(g, &d[2], indices) : NULL,
                                            p->spatial,
                                            p->strides,
                                            p->window,
                                            p->start,
                                            p->end,
                                            p->dilations };
    return aten_emit(g, DML_OPERATOR_MAX_POOLING2, &desc, &x, 1, made, indices ? 2 : 1);
}

/* The position in its plane of the last NaN in each window, counted from 1; 0 if a window has none. */
static struct aten_value *last_nan(struct aten_graph *g, struct aten_value *x, const struct pool *p,
                                   const int64_t *sizes, int64_t plane)
{
    const int32_t type = plane < 1 << 24 ? ATEN_FLOAT32 : ATEN_INT64;
    int64_t shape[ATEN_RANK_MAX];
    for (uint32_t i = 0; i < x->rank; i++)
        shape[i] = i < 2 ? 1 : x->sizes[i];
    const DML_SCALAR_UNION one =
        type == ATEN_INT64 ? (DML_SCALAR_UNION){ .Int64 = 1 } : (DML_SCALAR_UNION){ .Float32 = 1 };
    struct aten_value *places = aten_reshape(g, aten_sequence(g, type, plane, one, one), x->rank, shape);
    places = aten_select(g, aten_test(g, EW(IS_NAN), x, 0), places, aten_scalar(g, type, 0));
    struct aten_value *last = places ? aten_new(g, type, x->rank, sizes) : NULL;
    return last && max_of_numbers(g, places, p, last, NULL) ? last : NULL;
}

/* The index of the first element of each channel's plane, as DirectML counts. */
static struct aten_value *first_places(struct aten_graph *g, const struct aten_value *x, int64_t plane)
{
    const int64_t sizes[ATEN_RANK_MAX] = { x->sizes[0], x->sizes[1], 1, 1, 1 };
    const DML_SCALAR_UNION none = { .Int64 = 0 }, step = { .Int64 = plane };
    return aten_reshape(g, aten_sequence(g, ATEN_INT64, sizes[0] * sizes[1], none, step), x->rank, sizes);
}

/* Without positions. */
static bool maxima_alone(struct aten_graph *g, struct aten_value *x, const struct pool *p, const int64_t *sizes,
                         struct aten_value **out)
{
    *out = aten_new(g, x->type, x->rank, sizes);
    if (!*out || !max_of_numbers(g, x, p, *out, NULL) || !aten_is_float(x->type))
        return *out && !g->failed;
    struct aten_value *any = aten_new(g, x->type, x->rank, sizes);
    if (!any || !max_of_numbers(g, aten_convert(g, aten_test(g, EW(IS_NAN), x, 0), x->type), p, any, NULL))
        return false;
    any = aten_apply2(g, EW(LOGICAL_GREATER_THAN), any, aten_scalar(g, x->type, 0));
    *out = aten_select(g, any, aten_scalar(g, x->type, NAN), *out);
    return *out != NULL;
}

/* out[0]: maxima, out[1]: their positions in the plane of their channel. NaN is greater than numbers. */
static bool max_pooled(struct aten_graph *g, struct aten_value *x, const struct pool *p, const int64_t *sizes,
                       struct aten_value **out)
{
    int64_t plane = 1;
    for (uint32_t i = 2; i < x->rank; i++)
        plane *= x->sizes[i];
    out[1] = NULL;
    if (!aten_wanted(g->node, 1))
        return maxima_alone(g, x, p, sizes, out);
    out[0] = aten_new(g, x->type, x->rank, sizes);
    out[1] = aten_new(g, ATEN_UINT64, x->rank, sizes);
    if (!out[1] || !max_of_numbers(g, x, p, out[0], out[1]))
        return false;
    out[1] = aten_subtract(g, aten_convert(g, out[1], ATEN_INT64), first_places(g, x, plane));
    if (!aten_is_float(x->type) || !out[1])
        return out[1] != NULL;
    struct aten_value *last = last_nan(g, x, p, sizes, plane);
    struct aten_value *none = last ? aten_apply2(g, EW(LOGICAL_EQUALS), last, aten_scalar(g, last->type, 0)) : NULL;
    out[0] = none ? aten_select(g, none, out[0], aten_scalar(g, x->type, NAN)) : NULL;
    out[1] = none ? aten_select(g, none, out[1], aten_scaled(g, aten_convert(g, last, ATEN_INT64), 1, -1)) : NULL;
    return out[0] && out[1];
}

/* The sizes of result i with a batch. */
static void batched_sizes(const struct aten_node *n, uint32_t i, int64_t *out)
{
    const struct aten_tensor *t = &n->outputs[i];
    uint32_t less = (uint32_t)n->parameter + 2 - t->rank;
    for (uint32_t d = 0; d < (uint32_t)n->parameter + 2; d++)
        out[d] = d < less ? 1 : t->sizes[d - less];
}

/* max_pool*d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode) -> (maxima, indices) */
bool aten_build_max_pool(struct aten_graph *g, const struct aten_node *n)
{
    int64_t sizes[ATEN_RANK_MAX];
    struct pool p;
    struct aten_value *x = input(g, n, 0, n->outputs[0].type), *made[2];
    if (!x)
        return false;
    batched_sizes(n, 0, sizes);
    return read_pool(g, n, 1, true, x->sizes + 2, sizes + 2, &p) && max_pooled(g, x, &p, sizes, made) &&
           result(g, n, 0, made[0]) && result(g, n, 1, made[1]);
}

/* Each element's sum over the windows that contain it and have its index. */
static struct aten_value *gathered(struct aten_graph *g, const struct pool *p, struct aten_value *dy,
                                   struct aten_value *indices, const int64_t *sizes)
{
    struct aten_desc d[3];
    struct aten_value *in[2] = { dy, indices }, *dx = aten_new(g, dy->type, dy->rank, sizes);
    if (!dx)
        return NULL;
    ANYDML_INDEXED_MAX_POOLING_GRAD_OPERATOR_DESC desc = { aten_describe(g, &d[0], dy),
                                                           aten_describe(g, &d[1], indices),
                                                           aten_describe(g, &d[2], dx),
                                                           p->spatial,
                                                           p->strides,
                                                           p->window,
                                                           p->start,
                                                           p->end,
                                                           p->dilations };
    return aten_emit(g, ANYDML_OPERATOR_INDEXED_MAX_POOLING_GRAD, &desc, in, 2, &dx, 1) ? dx : NULL;
}

/* max_pool*d_with_indices_backward(grad_output, self, kernel_size, stride, padding, dilation, ceil_mode, indices) */
bool aten_build_max_pool_backward(struct aten_graph *g, const struct aten_node *n)
{
    const int32_t type = n->outputs[0].type;
    struct aten_value *dy = input(g, n, 0, type), *x = input(g, n, 1, type), *indices = input(g, n, 7, ATEN_INT64);
    struct pool p;
    if (!x || !dy || !indices)
        return false;
    if (!aten_elements(x))
        return aten_result(g, n, 0, aten_scalar(g, type, 0));
    return read_pool(g, n, 2, true, x->sizes + 2, dy->sizes + 2, &p) &&
           result(g, n, 0, gathered(g, &p, dy, indices, x->sizes));
}

/* Of windows that differ: adds each gradient at the position of its maximum; arguments: grad_output, self; the last:
 * indices. */
bool aten_build_uneven_max_pool_backward(struct aten_graph *g, const struct aten_node *n)
{
    const int32_t type = aten_wide(n->outputs[0].type);
    struct aten_value *dy = input(g, n, 0, type), *x = input(g, n, 1, type);
    struct aten_value *indices = input(g, n, n->arg_count - 1, ATEN_INT64);
    int64_t from[3] = { 1, 1, 1 }, to[3] = { 1, 1, 1 };
    for (uint32_t i = 0; x && dy && i < x->rank; i++) {
        from[BASE_MIN(i, 2u)] *= dy->sizes[i];
        to[BASE_MIN(i, 2u)] *= x->sizes[i];
    }
    if (!x || !dy || !indices)
        return false;
    if (!aten_elements(x))
        return aten_result(g, n, 0, aten_scalar(g, type, 0));
    return result(g, n, 0,
                  aten_scattered(g, aten_reshape(g, dy, 3, from), aten_reshape(g, indices, 3, from), 2, to, true));
}

/* max_unpool*d(self, indices, output_size): writes each maximum to its position. */
bool aten_build_max_unpool(struct aten_graph *g, const struct aten_node *n)
{
    const struct aten_tensor *y = &n->outputs[0];
    struct aten_value *x = input(g, n, 0, y->type), *indices = input(g, n, 1, ATEN_INT64);
    int64_t sizes[ATEN_RANK_MAX], from[3] = { 1, 1, 1 }, to[3] = { 1, 1, 1 };
    if (!x || !indices)
        return false;
    batched_sizes(n, 0, sizes);
    for (uint32_t i = 0; i < x->rank; i++) {
        from[BASE_MIN(i, 2u)] *= x->sizes[i];
        to[BASE_MIN(i, 2u)] *= sizes[i];
    }
    aten_bound(g, n, (struct aten_bound){ ATEN_BOUND_PLACE, .argument = 1, .size = to[2] });
    if (!aten_elements(x))
        return aten_result(g, n, 0, aten_scalar(g, y->type, 0));
    return result(g, n, 0,
                  aten_scattered(g, aten_reshape(g, x, 3, from), aten_reshape(g, indices, 3, from), 2, to, false));
}

/* ---- means ---- */

/* DirectML divides by the whole window; torch divides by the elements inside of the input, or of the input and its
 * padding. */
static struct aten_value *counted(struct aten_graph *g, struct aten_value *y, const struct pool *p, const int64_t *in,
                                  bool padding)
{
    for (uint32_t d = 0; y && d < p->spatial; d++) {
        const int64_t out = y->sizes[d + 2], margin = padding ? p->start[d] : 0;
        double *factors = aten_alloc(g, (size_t)out * sizeof(*factors));
        bool plain = true;
        for (int64_t i = 0; factors && i < out; i++) {
            int64_t start = i * p->strides[d] - p->start[d];
            int64_t count = BASE_MIN(start + p->window[d], in[d] + margin) - BASE_MAX(start, -margin);
            factors[i] = (double)p->window[d] / (double)count;
            plain = plain && count == p->window[d];
        }
        if (!plain)
            y = aten_multiply(g, y, aten_vector(g, y->type, y->rank, d + 2, factors, out));
    }
    return y;
}

/* Corrects means over whole windows; arguments from `first` on: ceil_mode, count_include_pad, divisor_override. */
static struct aten_value *divided(struct aten_graph *g, const struct aten_node *n, uint32_t first, struct aten_value *y,
                                  const struct pool *p, const int64_t *in)
{
    double elements = 1;
    if (!aten_given(n, first + 2))
        return counted(g, y, p, in, aten_int(g, n, first + 1, 1) != 0);
    for (uint32_t d = 0; d < p->spatial; d++)
        elements *= p->window[d];
    return aten_scaled(g, y, elements / aten_real(g, n, first + 2, 1), 0);
}

static struct aten_value *averaged(struct aten_graph *g, struct aten_value *x, const struct pool *p,
                                   const int64_t *sizes, bool gradient)
{
    struct aten_value *y = x ? aten_new(g, x->type, x->rank, sizes) : NULL;
    struct aten_desc dx, dy;
    if (!y)
        return NULL;
    /* The description of AVERAGE_POOLING_GRAD has the same fields. */
    DML_AVERAGE_POOLING_OPERATOR_DESC desc = {
        aten_describe(g, &dx, x), aten_describe(g, &dy, y), p->spatial, p->strides, p->window, p->start, p->end, TRUE
    };
    return aten_emit(g, gradient ? DML_OPERATOR_AVERAGE_POOLING_GRAD : DML_OPERATOR_AVERAGE_POOLING, &desc, &x, 1, &y,
                     1)
               ? y
               : NULL;
}

/* avg_pool*d(self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override) */
bool aten_build_avg_pool(struct aten_graph *g, const struct aten_node *n)
{
    int64_t sizes[ATEN_RANK_MAX];
    struct pool p;
    struct aten_value *x = input(g, n, 0, aten_wide(n->outputs[0].type));
    if (!x)
        return false;
    batched_sizes(n, 0, sizes);
    return read_pool(g, n, 1, false, x->sizes + 2, sizes + 2, &p) &&
           result(g, n, 0, divided(g, n, 4, averaged(g, x, &p, sizes, false), &p, x->sizes + 2));
}

/* avg_pool*d_backward(grad_output, self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
 */
bool aten_build_avg_pool_backward(struct aten_graph *g, const struct aten_node *n)
{
    int64_t sizes[ATEN_RANK_MAX];
    struct pool p;
    struct aten_value *dy = input(g, n, 0, aten_wide(n->outputs[0].type));
    if (!dy)
        return false;
    batched_sizes(n, 0, sizes);
    return read_pool(g, n, 2, false, sizes + 2, dy->sizes + 2, &p) &&
           result(g, n, 0, averaged(g, divided(g, n, 5, dy, &p, sizes + 2), &p, sizes, true));
}

/* ---- adaptive pooling ---- */

static int64_t first_of(int64_t i, int64_t out, int64_t in)
{
    return i * in / out;
}

static int64_t behind(int64_t i, int64_t out, int64_t in)
{
    return ((i + 1) * in + out - 1) / out;
}

/* Whether all windows have one size and do not overlap; sizes are spatial. */
static bool even_pool(uint32_t spatial, const int64_t *in, const int64_t *out, struct pool *p)
{
    *p = (struct pool){ .spatial = spatial };
    for (uint32_t d = 0; d < spatial; d++) {
        if (in[d] % out[d])
            return false;
        p->window[d] = p->strides[d] = (UINT)(in[d] / out[d]);
        p->dilations[d] = 1;
    }
    return true;
}

static bool adaptive_taps(struct aten_graph *g, int64_t in, int64_t out, struct aten_taps *taps)
{
    if (!aten_taps_init(g, taps, out, in, in + 2 * out))
        return false;
    for (int64_t i = 0; i < out; i++) {
        int64_t start = first_of(i, out, in), end = behind(i, out, in);
        for (int64_t k = start; k < end; k++)
            aten_taps_add(taps, i, k, 1 / (double)(end - start));
    }
    return true;
}

/* x has the sizes `from`; gradients are propagated from the windows to the input. */
static struct aten_value *adapted(struct aten_graph *g, struct aten_value *x, const int64_t *to, bool gradient)
{
    const uint32_t spatial = x->rank - 2;
    const int64_t *in = (gradient ? to : x->sizes) + 2, *out = (gradient ? x->sizes : to) + 2;
    struct pool p;
    bool one = true;
    for (uint32_t d = 0; d < spatial; d++)
        one = one && out[d] == 1;
    if (one && gradient) {
        int64_t count = 1;
        for (uint32_t d = 0; d < spatial; d++)
            count *= in[d];
        return aten_expand(g, aten_scaled(g, x, 1 / (double)count, 0), x->rank, to);
    }
    if (one)
        return aten_reduced(g, DML_REDUCE_FUNCTION_AVERAGE, x, (1u << x->rank) - 4, x->type);
    if (even_pool(spatial, in, out, &p))
        return averaged(g, x, &p, to, gradient);
    for (uint32_t d = 0; x && d < spatial; d++) {
        struct aten_taps taps;
        if (in[d] == out[d])
            continue;
        if (!adaptive_taps(g, in[d], out[d], &taps))
            return NULL;
        if (gradient)
            aten_taps_transpose(&taps);
        x = aten_along(g, x, d + 2, &taps);
    }
    return x;
}

/* _adaptive_avg_pool*d(self, output_size), _adaptive_avg_pool*d_backward(grad_output, self) */
static bool build_adaptive_avg(struct aten_graph *g, const struct aten_node *n, bool gradient)
{
    int64_t sizes[ATEN_RANK_MAX];
    struct aten_value *x = input(g, n, 0, aten_wide(n->outputs[0].type));
    if (!x)
        return false;
    batched_sizes(n, 0, sizes);
    for (uint32_t i = 0; i < x->rank; i++)
        if (!sizes[i] || !x->sizes[i])
            return aten_result(g, n, 0, aten_scalar(g, x->type, 0));
    return result(g, n, 0, adapted(g, x, sizes, gradient));
}

bool aten_build_adaptive_avg_pool(struct aten_graph *g, const struct aten_node *n)
{
    return build_adaptive_avg(g, n, false);
}

bool aten_build_adaptive_avg_pool_backward(struct aten_graph *g, const struct aten_node *n)
{
    return build_adaptive_avg(g, n, true);
}

/* For windows of several sizes: pads each one to the largest size by repeating its last element. *out_sources: the
 * position along the axis from which each element is copied. */
static struct aten_value *spread(struct aten_graph *g, struct aten_value *x, uint32_t axis, int64_t out,
                                 int64_t **out_sources)
{
    const int64_t in = x->sizes[axis];
    int64_t most = 1;
    for (int64_t i = 0; i < out; i++)
        most = BASE_MAX(most, behind(i, out, in) - first_of(i, out, in));
    int64_t *sources = *out_sources = aten_alloc(g, (size_t)(out * most) * sizeof(*sources));
    for (int64_t i = 0; sources && i < out * most; i++) {
        int64_t o = i / most;
        sources[i] = BASE_MIN(first_of(o, out, in) + i % most, behind(o, out, in) - 1);
    }
    return sources ? aten_take(g, x, axis, sources, out * most) : NULL;
}

/* For each position in the plane made by spread(), the position in x's plane. */
static struct aten_value *places(struct aten_graph *g, const struct aten_value *x, const struct aten_value *wide,
                                 int64_t *const *sources)
{
    int64_t count = 1;
    for (uint32_t i = 2; i < wide->rank; i++)
        count *= wide->sizes[i];
    int64_t *table = aten_alloc(g, (size_t)count * sizeof(*table));
    for (int64_t i = 0; table && i < count; i++) {
        int64_t rest = i, step = 1;
        for (uint32_t d = wide->rank; d-- > 2; rest /= wide->sizes[d], step *= x->sizes[d])
            table[i] += step * sources[d - 2][rest % wide->sizes[d]];
    }
    return table ? aten_constant(g, ATEN_INT64, 1, &count, table) : NULL;
}

/* adaptive_max_pool*d(self, output_size) -> (maxima, indices) */
bool aten_build_adaptive_max_pool(struct aten_graph *g, const struct aten_node *n)
{
    int64_t sizes[ATEN_RANK_MAX], *sources[SPATIAL_MAX];
    struct pool p;
    struct aten_value *x = input(g, n, 0, n->outputs[0].type), *made[2], *wide = x;
    if (!x)
        return false;
    batched_sizes(n, 0, sizes);
    for (uint32_t i = 0; i < x->rank; i++)
        if (!sizes[i])
            return aten_result(g, n, 0, aten_scalar(g, x->type, 0)) &&
                   aten_result(g, n, 1, aten_scalar(g, ATEN_INT64, 0));
    if (even_pool(x->rank - 2, x->sizes + 2, sizes + 2, &p))
        return max_pooled(g, x, &p, sizes, made) && result(g, n, 0, made[0]) && result(g, n, 1, made[1]);
    for (uint32_t d = 2; wide && d < x->rank; d++)
        wide = spread(g, wide, d, sizes[d], &sources[d - 2]);
    if (!wide || !even_pool(x->rank - 2, wide->sizes + 2, sizes + 2, &p) || !max_pooled(g, wide, &p, sizes, made))
        return false;
    if (!made[1])
        return result(g, n, 0, made[0]);
    const int64_t count = aten_elements(made[1]);
    struct aten_value *flat = aten_reshape(g, aten_convert(g, made[1], ATEN_INT64), 1, &count);
    return result(g, n, 0, made[0]) && result(g, n, 1, aten_pick(g, places(g, x, wide, sources), flat, 0));
}
