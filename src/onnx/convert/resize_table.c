/* SPDX-License-Identifier: Apache-2.0 */
/* Resizing axis by axis with tables that are computed here: indices of elements, or weights. */
#include "onnx/convert/resize.h"
#include "onnx/emit/emit.h"

#include <math.h>

#define WEIGHTS_MAX (INT64_C(1) << 24)
#define AXIS_MAX    (INT64_C(1) << 26)

/* The position of output o in the input, by ONNX's rules. */
static float position(const struct onnx_resize *r, uint32_t axis, int64_t in, int64_t o)
{
    const float scale = r->scales[axis], out = (float)r->dims[axis], at = (float)o, last = (float)(in - 1);
    /* With scales, align_corners uses the size before it is rounded down. */
    const float length = r->by_sizes ? out : (float)in * scale;
    if (!strcmp(r->rule, "asymmetric"))
        return at / scale;
    if (!strcmp(r->rule, "align_corners"))
        return r->dims[axis] > 1 && length > 1 ? at * last / (length - 1) : 0;
    if (!strcmp(r->rule, "tf_half_pixel_for_nn"))
        return (at + 0.5f) / scale;
    if (!strcmp(r->rule, "pytorch_half_pixel") && r->dims[axis] == 1)
        return 0;
    if (!strcmp(r->rule, "half_pixel_symmetric")) {
        const float middle = (float)in / 2, shift = middle * (1 - out / (scale * (float)in));
        return shift + (at + 0.5f) / scale - 0.5f;
    }
    if (r->crop) {
        const float start = r->roi[0][axis], end = r->roi[1][axis];
        return r->dims[axis] > 1 ? start * last + at * (end - start) * last / (out - 1) : 0.5f * (start + end) * last;
    }
    return (at + 0.5f) / scale - 0.5f;
}

static int64_t inside(double at, int64_t in)
{
    return at > (double)(in - 1) ? in - 1 : at > 0 ? (int64_t)at : 0; /* NaN is before it */
}

static int64_t nearest(const struct onnx_resize *r, uint32_t axis, float at, int64_t in)
{
    float whole = floorf(at);
    if (!strcmp(r->nearest, "round_prefer_floor"))
        whole = at - whole > 0.5f ? whole + 1 : whole;
    else if (!strcmp(r->nearest, "round_prefer_ceil"))
        whole = at - whole >= 0.5f ? whole + 1 : whole;
    else if (!strcmp(r->nearest, "ceil") || (!r->nearest[0] && r->scales[axis] < 1))
        whole = ceilf(at);
    return inside(whole, in);
}

static double weight(const struct onnx_resize *r, double distance)
{
    const double d = fabs(distance), a = r->cubic_a;
    if (r->mode == ONNX_RESIZE_LINEAR)
        return d < 1 ? 1 - d : 0;
    if (d <= 1)
        return ((a + 2) * d - (a + 3)) * d * d + 1;
    return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

/* A row of weights: the filter around `at`, wider for antialiasing, repeating the edge at the borders. */
static void weights(const struct onnx_resize *r, uint32_t axis, float at, int64_t in, double *row)
{
    const double stretch = r->antialias ? BASE_MIN((double)r->scales[axis], 1.0) : 1.0;
    const double reach = (r->mode == ONNX_RESIZE_LINEAR ? 1 : 2) / stretch;
    /* Farther out the filter covers only the edge: positions of a region may be as large as floats. */
    const double centre = fmin(fmax((double)at, -reach - 1), (double)in + reach);
    double sum = 0;
    for (int64_t k = (int64_t)floor(centre - reach); k <= (int64_t)ceil(centre + reach); k++) {
        double w = weight(r, ((double)k - centre) * stretch);
        if (r->exclude_outside && (k < 0 || k >= in))
            continue;
        row[inside((double)k, in)] += w;
        sum += w;
    }
    for (int64_t i = 0; sum != 0 && i < in; i++)
        row[i] /= sum;
}

struct axis {
    uint32_t index;
    int64_t outer, in, out, inner;
};

static struct axis axis_of(const struct onnx_value *x, const struct onnx_resize *r, uint32_t index)
{
    struct axis a = { index, 1, x->dims[index], r->dims[index], 1 };
    for (uint32_t i = 0; i < x->rank; i++) {
        a.outer *= i < index ? x->dims[i] : 1;
        a.inner *= i > index ? x->dims[i] : 1;
    }
    return a;
}

static bool gather_axis(struct onnx_builder *b, const struct onnx_resize *r, const struct axis *a, struct onnx_value *x,
                        struct onnx_value *y)
{
    int32_t *table = base_arena_alloc(&b->arena, (size_t)a->out * sizeof(*table));
    struct onnx_desc d[3];
    if (!table)
        return onnx_fail(b, "out of memory");
    for (int64_t o = 0; o < a->out; o++)
        table[o] = (int32_t)nearest(r, a->index, position(r, a->index, a->in, o), a->in);
    struct onnx_value *indices = onnx_constant(b, ONNX_INT32, 1, &a->out, table, (uint64_t)a->out * sizeof(*table));
    if (!indices)
        return false;
    DML_GATHER_OPERATOR_DESC desc = {
        onnx_desc_as(b, &d[0], x, 3, (const int64_t[]){ a->outer, a->in, a->inner }),
        onnx_desc_as(b, &d[1], indices, 3, (const int64_t[]){ 1, 1, a->out }),
        onnx_desc_as(b, &d[2], y, 3, (const int64_t[]){ a->outer, a->out, a->inner }),
        1,
        1,
    };
    return onnx_emit(b, DML_OPERATOR_GATHER, &desc, (struct onnx_value *[]){ x, indices }, 2, &y, 1);
}

static struct onnx_value *weights_of(struct onnx_builder *b, const struct onnx_resize *r, const struct axis *a,
                                     int32_t type)
{
    const int64_t dims[2] = { a->out, a->in };
    if (a->out > WEIGHTS_MAX / a->in) {
        onnx_fail(b, "a dimension of %lld cannot become %lld in this mode", (long long)a->in, (long long)a->out);
        return NULL;
    }
    struct onnx_value *w = onnx_temp(b, type, 2, dims);
    double *row = base_arena_alloc(&b->arena, (size_t)a->in * sizeof(*row));
    void *data = w && row ? onnx_constant_data(b, w) : NULL;
    for (int64_t o = 0; data && o < a->out; o++) {
        memset(row, 0, (size_t)a->in * sizeof(*row));
        weights(r, a->index, position(r, a->index, a->in, o), a->in, row);
        for (int64_t i = 0; i < a->in; i++) {
            if (type == ONNX_DOUBLE)
                ((double *)data)[o * a->in + i] = row[i];
            else
                ((float *)data)[o * a->in + i] = (float)row[i];
        }
    }
    return data ? w : NULL;
}

/* The last axis: rows times the transposed weights; another one: the weights times each matrix after it. */
static bool multiply_axis(struct onnx_builder *b, const struct onnx_resize *r, const struct axis *a,
                          struct onnx_value *x, struct onnx_value *y)
{
    struct onnx_value *w = weights_of(b, r, a, x->type);
    struct onnx_desc d[3];
    if (!w)
        return false;
    bool last = a->inner == 1;
    const int64_t x_dims[4] = { 1, last ? 1 : a->outer, last ? a->outer : a->in, last ? a->in : a->inner };
    const int64_t y_dims[4] = { 1, last ? 1 : a->outer, last ? a->outer : a->out, last ? a->out : a->inner };
    const int64_t w_dims[4] = { 1, last ? 1 : a->outer, a->out, a->in };
    const uint32_t w_strides[4] = { 0, 0, (uint32_t)a->in, 1 };
    const DML_TENSOR_DESC *tx = onnx_desc_as(b, &d[0], x, 4, x_dims);
    const DML_TENSOR_DESC *tw = onnx_desc_strided(b, &d[1], w, 4, w_dims, w_strides);
    DML_GEMM_OPERATOR_DESC desc = {
        .ATensor = last ? tx : tw,
        .BTensor = last ? tw : tx,
        .OutputTensor = onnx_desc_as(b, &d[2], y, 4, y_dims),
        .TransB = last ? DML_MATRIX_TRANSFORM_TRANSPOSE : DML_MATRIX_TRANSFORM_NONE,
        .Alpha = 1.0f,
    };
    return onnx_emit(b, DML_OPERATOR_GEMM, &desc, (struct onnx_value *[]){ last ? x : w, last ? w : x, NULL }, 3, &y,
                     1);
}

/* Elements outside of the input become the extrapolation value. */
static struct onnx_value *extrapolate(struct onnx_builder *b, const struct onnx_resize *r, const struct axis *a,
                                      struct onnx_value *y)
{
    int64_t dims[ONNX_RANK_MAX], some = 0;
    for (uint32_t i = 0; i < y->rank; i++)
        dims[i] = i == a->index ? a->out : 1;
    struct onnx_value *mask = onnx_temp(b, ONNX_BOOL, y->rank, dims);
    uint8_t *outside = mask ? onnx_constant_data(b, mask) : NULL;
    for (int64_t o = 0; outside && o < a->out; o++) {
        float at = position(r, a->index, a->in, o);
        some += outside[o] = !(at >= 0 && at <= (float)(a->in - 1));
    }
    if (!outside || !some)
        return outside ? y : NULL;
    struct onnx_value *value = onnx_scalar(b, y->type, r->extrapolation);
    struct onnx_value *result = onnx_temp(b, y->type, y->rank, y->dims);
    return onnx_select_to(b, mask, value, y, result) ? result : NULL;
}

bool onnx_resize_by_tables(struct onnx_builder *b, const struct onnx_resize *r, struct onnx_value *x,
                           struct onnx_value *y)
{
    struct axis axes[ONNX_RANK_MAX];
    uint32_t count = 0;
    struct onnx_value *now = x;
    for (uint32_t i = 0; i < x->rank; i++) {
        if (onnx_resize_keeps(r, x, i))
            continue;
        struct axis a = axes[count++] = axis_of(now, r, i);
        if (a.out > AXIS_MAX)
            return onnx_fail(b, "dimension %u would become %lld", i, (long long)a.out);
        int64_t dims[ONNX_RANK_MAX];
        memcpy(dims, now->dims, sizeof(dims));
        dims[i] = r->dims[i];
        struct onnx_value *next = onnx_temp(b, x->type, x->rank, dims);
        if (!next ||
            !(r->mode == ONNX_RESIZE_NEAREST ? gather_axis(b, r, &a, now, next) : multiply_axis(b, r, &a, now, next)))
            return false;
        now = next;
    }
    for (uint32_t i = 0; r->crop && now && i < count; i++)
        now = extrapolate(b, r, &axes[i], now);
    return now && onnx_alias(b, y, now);
}
