/* SPDX-License-Identifier: Apache-2.0 */
/* Fourier transforms as GEMMs, and preparation of signals. */
#include "onnx/convert/converters.h"

#include <math.h>

#define PI         3.14159265358979323846
#define LENGTH_MAX (1 << 26) /* maximum of a transform, which becomes a matrix */

/* ---- Fourier transforms ---- */

struct transform {
    int64_t length;    /* of the transform */
    int64_t in, out;   /* samples that are read, that are written */
    int64_t parts;     /* 1 = real input, 2 = complex */
    int64_t out_parts; /* 2, or 1 = the real part only */
    double scale;
    bool inverse;
    bool mirrored; /* the samples after the middle are the conjugates of those before it and not present */
};

/* [in * parts, out * out_parts]; a complex sample is two consecutive numbers. */
static struct onnx_value *transform_matrix(struct onnx_builder *b, const struct transform *t, int32_t type)
{
    int64_t columns = t->out * t->out_parts, dims[3] = { 1, t->in * t->parts, columns };
    double *values = onnx_reals(b, dims[1] * columns);
    for (int64_t i = 0; values && i < t->in; i++) {
        double weight = t->mirrored && i && 2 * i != t->length ? 2 * t->scale : t->scale;
        for (int64_t k = 0; k < t->out; k++) {
            double angle = 2 * PI * (double)(i * k % t->length) / (double)t->length;
            double re = weight * cos(angle), im = weight * (t->inverse ? sin(angle) : -sin(angle));
            double *row = values + i * t->parts * columns + k * t->out_parts;
            row[0] = re;
            if (t->out_parts == 2)
                row[1] = im;
            if (t->parts == 2)
                row[columns] = -im;
            if (t->parts == 2 && t->out_parts == 2)
                row[columns + 1] = re;
        }
    }
    return onnx_constant_reals(b, type, 3, dims, values);
}

/* x: [rows, samples * parts] */
static struct onnx_value *transform_rows(struct onnx_builder *b, const struct transform *t, struct onnx_value *x,
                                         int64_t rows, int64_t samples)
{
    int64_t start[3] = { 0 }, dims[3] = { 1, rows, t->in * t->parts };
    x = onnx_as(b, x, 3, (int64_t[]){ 1, rows, samples * t->parts });
    x = onnx_window(b, x, start, dims);
    return x ? onnx_multiply(b, x, transform_matrix(b, t, x->type), false) : NULL;
}

/* dft_length and axis of either version */
static bool dft_read(struct onnx_builder *b, const struct onnx_node *n, const struct onnx_value *x, struct transform *t,
                     uint32_t *axis)
{
    struct onnx_value *length = onnx_in_optional(b, n, 1), *at = n->version < 20 ? NULL : onnx_in_optional(b, n, 2);
    int64_t value = n->version < 20 ? onnx_attr_int(n, "axis", 1) : -2;
    bool onesided = onnx_attr_int(n, "onesided", 0) != 0;
    if (b->failed || (at && !onnx_const_int(b, at, &value)) || !onnx_axis(b, value, x->rank, axis))
        return false;
    t->parts = x->dims[x->rank - 1];
    t->inverse = onnx_attr_int(n, "inverse", 0) != 0;
    if (x->rank < 2 || *axis + 1 == x->rank)
        return onnx_fail(b, "axis %u of rank %u is not supported", *axis, x->rank);
    if (t->parts < 1 || t->parts > 2)
        return onnx_misfit(b, "a number of %lld parts", (long long)t->parts);
    t->mirrored = onesided && t->inverse;
    t->length = t->mirrored ? 2 * (x->dims[*axis] - 1) : x->dims[*axis];
    if (length && !onnx_const_int(b, length, &t->length))
        return false;
    if (t->length > LENGTH_MAX)
        return onnx_fail(b, "length %lld is too long", (long long)t->length);
    if (t->length < 0 || (onesided && !t->inverse && t->parts == 2))
        return onnx_misfit(b, "length %lld, or a onesided transform of complex numbers, is not supported",
                           (long long)t->length);
    t->in = BASE_MIN(x->dims[*axis], t->mirrored ? t->length / 2 + 1 : t->length);
    t->out = onesided && !t->inverse ? t->length / 2 + 1 : t->length;
    t->out_parts = t->mirrored ? 1 : 2;
    t->scale = t->inverse ? 1.0 / (double)t->length : 1;
    return true;
}

bool onnx_dft(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0);
    struct transform t = { 0 };
    int64_t dims[ONNX_RANK_MAX], outer = 1, inner = 1;
    uint32_t axis;
    if (!x || !dft_read(b, n, x, &t, &axis))
        return false;
    memcpy(dims, x->dims, sizeof(dims));
    dims[axis] = t.out;
    dims[x->rank - 1] = t.out_parts;
    for (uint32_t i = 0; i + 1 < x->rank; i++) {
        outer *= i < axis ? x->dims[i] : 1;
        inner *= i > axis ? x->dims[i] : 1;
    }
    if (!outer || !inner || !t.out)
        return onnx_constant_data(b, onnx_out(b, n, 0, x->type, x->rank, dims)) != NULL;
    if (!t.length || !t.in)
        return onnx_misfit(b, "an empty transform is not supported");
    static const uint32_t swap[4] = { 0, 2, 1, 3 };
    struct onnx_value *y = onnx_as(b, x, 4, (int64_t[]){ outer, x->dims[axis], inner, t.parts });
    y = transform_rows(b, &t, onnx_permute(b, y, swap), outer * inner, x->dims[axis]);
    y = onnx_permute(b, onnx_as(b, y, 4, (int64_t[]){ outer, inner, t.out, t.out_parts }), swap);
    return onnx_result_as(b, n, 0, y, x->rank, dims);
}

bool onnx_stft(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0), *step_input = onnx_in(b, n, 1);
    struct onnx_value *window = onnx_in_optional(b, n, 2), *length_input = onnx_in_optional(b, n, 3);
    struct transform t = { .scale = 1, .out_parts = 2 };
    int64_t step;
    if (!x || !step_input || b->failed || !onnx_const_int(b, step_input, &step))
        return false;
    t.length = window ? onnx_elements(window) : 0;
    if (length_input && !onnx_const_int(b, length_input, &t.length))
        return false;
    t.parts = x->rank == 3 ? x->dims[2] : 1;
    bool onesided = onnx_attr_int(n, "onesided", 1) != 0 && t.parts == 1;
    if (t.length > LENGTH_MAX)
        return onnx_fail(b, "length %lld is too long", (long long)t.length);
    if (x->rank < 2 || x->rank > 3 || t.parts < 1 || t.parts > 2 || step < 1 || t.length < 1 || t.length > x->dims[1] ||
        (window && (onnx_elements(window) != t.length || window->type != x->type)))
        return onnx_misfit(b, "frames of %lld every %lld samples are not supported", (long long)t.length,
                           (long long)step);
    t.in = t.length;
    t.out = onesided ? t.length / 2 + 1 : t.length;
    int64_t frames = (x->dims[1] - t.length) / step + 1;
    int64_t dims[4] = { x->dims[0], frames, t.length, t.parts };
    uint32_t strides[4] = { (uint32_t)(x->dims[1] * t.parts), (uint32_t)(step * t.parts), (uint32_t)t.parts, 1 };
    x = onnx_view(b, x, 4, dims, strides);
    if (window)
        x = onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_MULTIPLY, x, onnx_as(b, window, 2, (int64_t[]){ t.length, 1 }));
    x = transform_rows(b, &t, x, dims[0] * frames, t.length);
    return onnx_result_as(b, n, 0, x, 4, (int64_t[]){ dims[0], frames, t.out, 2 });
}

/* com.microsoft: real numbers to half of the spectrum, and back */
bool onnx_rfft(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0);
    bool inverse = !strcmp(n->op, "Irfft");
    struct transform t = { .inverse = inverse, .mirrored = inverse, .parts = inverse ? 2 : 1 };
    int64_t dims[ONNX_RANK_MAX], rows = 1;
    if (!x)
        return false;
    uint32_t rank = x->rank - inverse;
    if (rank < 1 || rank + !inverse > ONNX_RANK_MAX || onnx_attr_int(n, "signal_ndim", 1) != 1 ||
        !onnx_attr_int(n, "onesided", 1))
        return onnx_fail(b, "rank %u, or a transform that is not onesided over one dimension, is not supported",
                         x->rank);
    if (inverse && x->dims[rank] != 2)
        return onnx_misfit(b, "a number of %lld parts", (long long)x->dims[rank]);
    t.length = inverse ? 2 * (x->dims[rank - 1] - 1) : x->dims[rank - 1];
    if (t.length < 1)
        return onnx_misfit(b, "length %lld is not supported", (long long)t.length);
    t.in = x->dims[rank - 1];
    t.out = inverse ? t.length : t.length / 2 + 1;
    t.out_parts = inverse ? 1 : 2;
    t.scale = inverse ? 1.0 / (double)t.length : 1;
    if (onnx_attr_int(n, "normalized", 0))
        t.scale = 1 / sqrt((double)t.length);
    memcpy(dims, x->dims, sizeof(dims));
    for (uint32_t i = 0; i + 1 < rank; i++)
        rows *= x->dims[i];
    dims[rank - 1] = t.out;
    if (!inverse)
        dims[rank] = 2;
    return onnx_result_as(b, n, 0, transform_rows(b, &t, x, rows, t.in), rank + !inverse, dims);
}

/* ---- windows ---- */

bool onnx_signal_window(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *size = onnx_in(b, n, 0);
    int32_t type = (int32_t)onnx_attr_int(n, "output_datatype", ONNX_FLOAT);
    int64_t count;
    if (!size || !onnx_const_int(b, size, &count))
        return false;
    if (count < 0 || !onnx_type_bytes(type))
        return onnx_fail(b, "size %lld of data type %s is not supported", (long long)count, onnx_type_name(type));
    double a = 0.5, c = 0.5, d = 0; /* HannWindow */
    if (!strcmp(n->op, "HammingWindow")) {
        a = 25.0 / 46;
        c = 1 - a;
    } else if (!strcmp(n->op, "BlackmanWindow")) {
        a = 0.42;
        d = 0.08;
    }
    double *values = onnx_reals(b, count);
    double period = (double)BASE_MAX(onnx_attr_int(n, "periodic", 1) ? count : count - 1, 1);
    for (int64_t i = 0; values && i < count; i++) {
        double angle = 2 * PI * (double)i / period;
        values[i] = a - c * cos(angle) + d * cos(2 * angle);
    }
    return values && onnx_result(b, n, 0, onnx_constant_reals(b, type, 1, &count, values));
}

static double mel(double hertz)
{
    return 2595 * log10(1 + hertz / 700);
}

/* The triangles of neighbouring edges, in whole bins of the spectrum. */
static void mel_fill(double *values, const double *edges, int64_t bins, int64_t rows)
{
    for (int64_t i = 0; i < bins; i++) {
        double low = edges[i], centre = edges[i + 1], high = edges[i + 2];
        if (low == centre && centre >= 0 && centre < (double)rows)
            values[(int64_t)centre * bins + i] = 1;
        for (int64_t j = (int64_t)low; low != centre && j <= (int64_t)centre && j < rows; j++)
            values[j * bins + i] = ((double)j - low) / (centre - low);
        for (int64_t j = (int64_t)centre; high != centre && j < (int64_t)high && j < rows; j++)
            values[j * bins + i] = (high - (double)j) / (high - centre);
    }
}

bool onnx_mel_weights(struct onnx_builder *b, const struct onnx_node *n)
{
    int32_t type = (int32_t)onnx_attr_int(n, "output_datatype", ONNX_FLOAT);
    double in[5]; /* bins, length of the transform, sample rate, lower and upper edge in hertz */
    for (uint32_t i = 0; i < 5; i++) {
        const struct onnx_value *v = onnx_in(b, n, i);
        if (!v || !onnx_const_real(b, v, &in[i]))
            return false;
    }
    if (!(in[0] >= 1 && in[0] < 1e6 && in[1] >= 1 && in[1] < 1e8 && in[2] >= 1 && in[3] >= 0 && in[4] > in[3] &&
          in[4] < 1e9) ||
        !onnx_type_bytes(type))
        return onnx_fail(b, "%g bins from %g to %g hertz of %g are not supported", in[0], in[3], in[4], in[2]);
    int64_t bins = (int64_t)in[0], rows = (int64_t)in[1] / 2 + 1, dims[2] = { rows, bins };
    double *edges = onnx_reals(b, bins + 2), *values = onnx_reals(b, rows * bins);
    double low = mel(in[3]), step = (mel(in[4]) - low) / (double)(bins + 2);
    for (int64_t i = 0; edges && i < bins + 2; i++) {
        double hertz = 700 * (pow(10, (low + (double)i * step) / 2595) - 1);
        edges[i] = floor((in[1] + 1) * hertz / in[2]);
    }
    if (!edges || !values)
        return false;
    mel_fill(values, edges, bins, rows);
    return onnx_result(b, n, 0, onnx_constant_reals(b, type, 2, dims, values));
}
