/* SPDX-License-Identifier: Apache-2.0 */
/* Resampling, padding, im2col and col2im, pixel and channel shuffles. */
#include "axis.h"

#include <math.h>

/* ---- resampling ---- */

enum resampling { NEAREST, NEAREST_EXACT, LINEAR, CUBIC, LINEAR_ANTIALIAS, CUBIC_ANTIALIAS };

/* The parameter of rows: number of spatial dimensions, plus 8 times the kind. */
#define SPATIAL(n) ((uint32_t)((n)->parameter & 7))
#define KIND(n)    ((enum resampling)((n)->parameter >> 3))

/* One dimension. Like torch, positions are computed in FLOAT32, except for FLOAT64 tensors. */
struct resample {
    enum resampling kind;
    bool align_corners, wide;
    int64_t in, out;
    double scale; /* inputs per output */
};

static double rounded(const struct resample *r, double x)
{
    return r->wide ? x : (double)(float)x;
}

/* The centre of output i in coordinates of the input. */
static double place(const struct resample *r, int64_t i)
{
    if (r->align_corners)
        return rounded(r, r->scale * (double)i);
    return rounded(r, rounded(r, r->scale * ((double)i + 0.5)) - 0.5);
}

static void nearest_taps(const struct resample *r, struct aten_taps *taps)
{
    const double middle = r->kind == NEAREST_EXACT ? 0.5 : 0;
    for (int64_t i = 0; i < r->out; i++) {
        int64_t from = (int64_t)floor((double)(float)(((double)i + middle) * (double)(float)r->scale));
        aten_taps_add(taps, i, BASE_MIN(from, r->in - 1), 1);
    }
}

static void linear_taps(const struct resample *r, struct aten_taps *taps)
{
    for (int64_t i = 0; i < r->out; i++) {
        double at = fmax(place(r, i), 0);
        int64_t from = BASE_MIN((int64_t)at, r->in - 1);
        double part = fmin(at - (double)from, 1);
        aten_taps_add(taps, i, from, 1 - part);
        if (from + 1 < r->in && part > 0)
            aten_taps_add(taps, i, from + 1, part);
        else if (part > 0)
            aten_taps_add(taps, i, from, part);
    }
}

/* The cubic convolution with a = -0.75, or -0.5 for torch's antialiasing filters. */
static double cubic(double x, double a)
{
    x = fabs(x);
    if (x <= 1)
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

static void cubic_taps(const struct resample *r, struct aten_taps *taps)
{
    for (int64_t i = 0; i < r->out; i++) {
        double at = place(r, i);
        int64_t from = (int64_t)floor(at);
        double part = at - (double)from;
        for (int64_t k = -1; k <= 2; k++) {
            int64_t inside = BASE_MAX(BASE_MIN(from + k, r->in - 1), 0);
            aten_taps_add(taps, i, inside, cubic(part - (double)k, -0.75));
        }
    }
}

/* The support of an antialiasing filter: the number of inputs and the first one. */
static int64_t antialias_span(const struct resample *r, int64_t i, int64_t *out_start, double *out_centre)
{
    const double reach = (r->kind == CUBIC_ANTIALIAS ? 2 : 1) * fmax(r->scale, 1);
    *out_centre = rounded(r, r->scale * ((double)i + 0.5));
    *out_start = BASE_MAX((int64_t)(*out_centre - reach + 0.5), 0);
    return BASE_MIN((int64_t)(*out_centre + reach + 0.5), r->in) - *out_start;
}

static double antialias_weight(const struct resample *r, int64_t at, double centre)
{
    const double x = ((double)at - centre + 0.5) / fmax(r->scale, 1);
    return r->kind == CUBIC_ANTIALIAS ? cubic(x, -0.5) : fmax(1 - fabs(x), 0);
}

static void antialias_taps(const struct resample *r, struct aten_taps *taps)
{
    for (int64_t i = 0; i < r->out; i++) {
        int64_t start;
        double centre;
        const int64_t count = antialias_span(r, i, &start, &centre);
        double total = 0;
        for (int64_t k = 0; k < count; k++)
            total += antialias_weight(r, start + k, centre);
        for (int64_t k = 0; k < count && total != 0; k++)
            aten_taps_add(taps, i, start + k, antialias_weight(r, start + k, centre) / total);
    }
}

static bool resample_taps(struct aten_graph *g, const struct resample *r, struct aten_taps *taps)
{
    int64_t each = 4;
    if (r->kind >= LINEAR_ANTIALIAS)
        each = (int64_t)(4 * fmax(r->scale, 1)) + 3;
    if (!aten_taps_init(g, taps, r->out, r->in, r->out * each))
        return false;
    if (r->kind <= NEAREST_EXACT)
        nearest_taps(r, taps);
    else if (r->kind == LINEAR)
        linear_taps(r, taps);
    else if (r->kind == CUBIC)
        cubic_taps(r, taps);
    else
        antialias_taps(r, taps);
    return true;
}

/* Scale factors are arguments from `first` on, one for each dimension, if given. */
static double scale_of(struct aten_graph *g, const struct aten_node *n, uint32_t argument, const struct resample *r)
{
    if (r->align_corners)
        return r->out > 1 ? rounded(r, (double)(r->in - 1) / (double)(r->out - 1)) : 0;
    const double factor = aten_real(g, n, argument, 0);
    return rounded(r, factor > 0 ? 1 / factor : (double)r->in / (double)r->out);
}

/* `sizes`: spatial sizes before and after resampling. */
static bool build_resample(struct aten_graph *g, const struct aten_node *n, uint32_t align, bool gradient)
{
    const uint32_t spatial = SPATIAL(n), corners = KIND(n) >= LINEAR;
    const struct aten_tensor *y = &n->outputs[0];
    const int32_t type = KIND(n) <= NEAREST_EXACT && !gradient ? y->type : aten_wide(y->type);
    struct aten_value *x = aten_in_as(g, n, 0, type);
    if (!x || x->rank != spatial + 2 || (KIND(n) > NEAREST_EXACT && !aten_is_float(type)))
        return aten_fail(g, "argument 0 must have %u dimensions and a type that can be interpolated", spatial + 2);
    if (!aten_elements(x))
        return aten_result(g, n, 0, aten_scalar(g, type, 0));
    for (uint32_t i = 0; x && i < spatial; i++) {
        struct resample r = {
            .kind = KIND(n), .wide = type == ATEN_FLOAT64, .in = x->sizes[i + 2], .out = y->sizes[i + 2]
        };
        struct aten_taps taps;
        if (gradient) {
            r.in = y->sizes[i + 2];
            r.out = x->sizes[i + 2];
        }
        r.align_corners = corners && aten_int(g, n, align, 0) != 0;
        r.scale = scale_of(g, n, align + corners + i, &r);
        if (r.in == r.out && (r.scale == 1 || r.in == 1) && r.kind != CUBIC)
            continue;
        if (!resample_taps(g, &r, &taps))
            return false;
        if (gradient)
            aten_taps_transpose(&taps);
        x = aten_along(g, x, i + 2, &taps);
    }
    return aten_result(g, n, 0, x);
}

/* upsample_*(self, output_size, align_corners of interpolating modes, factors...) */
bool aten_build_upsample(struct aten_graph *g, const struct aten_node *n)
{
    return build_resample(g, n, 2, false);
}

/* upsample_*_backward(grad_output, output_size, input_size, align_corners, factors...) */
bool aten_build_upsample_backward(struct aten_graph *g, const struct aten_node *n)
{
    return build_resample(g, n, 3, true);
}

/* ---- padding ---- */

/* parameter: 1: elements are repeated, 0: they are reflected. The padding of the last dimension is first. */
static bool pad_taps(struct aten_graph *g, int64_t in, int64_t start, int64_t end, bool repeat, struct aten_taps *taps)
{
    const int64_t out = in + start + end;
    if (!aten_taps_init(g, taps, out, in, out))
        return false;
    for (int64_t i = 0; i < out; i++) {
        int64_t from = i - start;
        if (repeat)
            from = BASE_MAX(BASE_MIN(from, in - 1), 0);
        else if (from < 0)
            from = -from;
        else if (from >= in)
            from = 2 * (in - 1) - from;
        if (from < 0 || from >= in)
            return aten_fail(g, "the padding must be smaller than the dimension of %lld elements", (long long)in);
        aten_taps_add(taps, i, from, 1);
    }
    return true;
}

static bool build_pad(struct aten_graph *g, const struct aten_node *n, uint32_t argument, bool gradient)
{
    uint32_t count;
    const int64_t *pads = aten_ints(g, n, argument, &count);
    const int32_t type = gradient ? aten_wide(n->outputs[0].type) : n->outputs[0].type;
    struct aten_value *x = aten_in_as(g, n, 0, type);
    if (!x || count / 2 > x->rank)
        return aten_fail(g, "argument %u has more numbers than the tensor has dimensions", argument);
    if (!aten_elements(x))
        return aten_result(g, n, 0, aten_scalar(g, type, 0));
    for (uint32_t i = 0; x && i < count / 2; i++) {
        const uint32_t axis = x->rank - 1 - i;
        const int64_t start = pads[2 * i], end = pads[2 * i + 1];
        struct aten_taps taps;
        if (!start && !end)
            continue;
        if (!pad_taps(g, x->sizes[axis] - (gradient ? start + end : 0), start, end, n->parameter != 0, &taps))
            return false;
        if (gradient)
            aten_taps_transpose(&taps);
        x = aten_along(g, x, axis, &taps);
    }
    return aten_result(g, n, 0, x);
}

/* (self, padding) */
bool aten_build_pad(struct aten_graph *g, const struct aten_node *n)
{
    return build_pad(g, n, 1, false);
}

/* (grad_output, self, padding) */
bool aten_build_pad_backward(struct aten_graph *g, const struct aten_node *n)
{
    return build_pad(g, n, 2, true);
}

/* ---- im2col ---- */

struct columns {
    UINT window[2], dilations[2], padding[2], strides[2];
};

static bool read_columns(struct aten_graph *g, const struct aten_node *n, uint32_t first, struct columns *out)
{
    UINT *fields[4] = { out->window, out->dilations, out->padding, out->strides };
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t count;
        const int64_t *list = aten_ints(g, n, first + i, &count);
        if (!count || list[0] < 0 || list[count - 1] < 0)
            return aten_fail(g, "argument %u must have two numbers, neither negative", first + i);
        fields[i][0] = (UINT)list[0];
        fields[i][1] = (UINT)list[count - 1];
    }
    return true;
}

/* im2col(self, kernel_size, dilation, padding, stride), col2im(self, output_size, kernel_size, ...): parameter 1 */
bool aten_build_columns(struct aten_graph *g, const struct aten_node *n)
{
    const bool fold = n->parameter != 0;
    const uint32_t rank = fold ? 3 : 4;
    struct aten_value *x = aten_in(g, n, 0);
    struct columns c;
    struct aten_desc dx, dy;
    int64_t sizes[ATEN_RANK_MAX];
    const struct aten_tensor *wanted = &n->outputs[0];
    if (!x || !read_columns(g, n, fold ? 2 : 1, &c))
        return aten_fail(g, "unsupported arguments");
    if (!aten_elements(x))
        return aten_result(g, n, 0, aten_scalar(g, x->type, 0));
    if (x->rank + 1 == rank)
        x = aten_unsqueeze(g, x, 0);
    const uint32_t less = 7 - rank - wanted->rank;
    for (uint32_t i = 0; i < 7 - rank; i++)
        sizes[i] = i < less ? 1 : wanted->sizes[i - less];
    struct aten_value *y = x && x->rank == rank ? aten_new(g, x->type, 7 - rank, sizes) : NULL;
    if (!y)
        return aten_fail(g, "argument 0 (self) must have %u or %u dimensions", rank - 1, rank);
    /* The description of FOLD has the same fields. */
    DML_UNFOLD_OPERATOR_DESC desc = {
        aten_describe(g, &dx, x), aten_describe(g, &dy, y), 2, c.window, c.strides, c.dilations, c.padding, c.padding
    };
    return aten_emit(g, fold ? DML_OPERATOR_FOLD : DML_OPERATOR_UNFOLD, &desc, &x, 1, &y, 1) &&
           aten_result(g, n, 0, aten_reshape(g, y, wanted->rank, wanted->sizes));
}

/* ---- channels and pixels ---- */

/* pixel_shuffle(self {..., c * r * r, h, w}, r): {..., c, h * r, w * r}; parameter 1: pixel_unshuffle, the inverse. */
bool aten_build_pixel_shuffle(struct aten_graph *g, const struct aten_node *n)
{
    static const uint32_t forth[6] = { 0, 1, 4, 2, 5, 3 }, back[6] = { 0, 1, 3, 5, 2, 4 };
    struct aten_value *x = aten_in(g, n, 0);
    const int64_t r = aten_int(g, n, 1, 1);
    if (!x || x->rank < 3 || r < 1)
        return aten_fail(g, "argument 0 (self) must have 3 dimensions or more");
    const int64_t *s = x->sizes + x->rank - 3;
    int64_t sizes[6] = { 1, s[0] / (r * r), r, r, s[1], s[2] };
    if (n->parameter)
        memcpy(sizes + 1, (const int64_t[]){ s[0], s[1] / r, r, s[2] / r, r }, 5 * sizeof(*sizes));
    for (uint32_t i = 0; i + 3 < x->rank; i++)
        sizes[0] *= x->sizes[i];
    x = aten_permute(g, aten_reshape(g, x, 6, sizes), n->parameter ? back : forth);
    return aten_result(g, n, 0, aten_reshape(g, x, n->outputs[0].rank, n->outputs[0].sizes));
}

/* channel_shuffle(self {n, groups * c, ...}, groups): {n, c * groups, ...} */
bool aten_build_channel_shuffle(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = aten_in(g, n, 0);
    const int64_t groups = aten_int(g, n, 1, 1);
    if (!x || x->rank < 2 || groups < 1 || x->sizes[1] % groups)
        return aten_fail(g, "argument 1 (groups) must divide the channels");
    int64_t sizes[4] = { x->sizes[0], groups, x->sizes[1] / groups, 1 };
    for (uint32_t i = 2; i < x->rank; i++)
        sizes[3] *= x->sizes[i];
    struct aten_value *y = aten_transpose(g, aten_reshape(g, x, 4, sizes), 1, 2);
    return aten_result(g, n, 0, aten_reshape(g, y, x->rank, x->sizes));
}
