/* SPDX-License-Identifier: Apache-2.0 */
/* Operators on positions along an axis: sorting, running sums, sequences, triangles, crops. */
#include "onnx/convert/converters.h"

#include <math.h>

bool onnx_top_k(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0), *y[2];
    int64_t k = onnx_attr_int(n, "k", 0), dims[ONNX_RANK_MAX];
    uint32_t axis;
    struct onnx_desc d[3];
    if (!x || !onnx_axis(b, onnx_attr_int(n, "axis", -1), x->rank, &axis))
        return false;
    if (n->version >= 10) {
        const struct onnx_value *input = onnx_in(b, n, 1);
        if (!input || !onnx_const_int(b, input, &k))
            return false;
    }
    if (k < 0 || k > x->dims[axis])
        return onnx_misfit(b, "k = %lld is outside the %lld elements", (long long)k, (long long)x->dims[axis]);
    memcpy(dims, x->dims, sizeof(dims));
    dims[axis] = k;
    y[0] = onnx_out(b, n, 0, x->type, x->rank, dims);
    y[1] = onnx_out(b, n, 1, ONNX_UINT64, x->rank, dims); /* non-negative: the bits of INT64 */
    if (!y[0] || !y[1])
        return false;
    DML_TOP_K1_OPERATOR_DESC desc = {
        onnx_desc(b, &d[0], x),
        onnx_desc(b, &d[1], y[0]),
        onnx_desc(b, &d[2], y[1]),
        axis,
        (UINT)k,
        onnx_attr_int(n, "largest", 1) ? DML_AXIS_DIRECTION_DECREASING : DML_AXIS_DIRECTION_INCREASING,
    };
    bool done = onnx_emit(b, DML_OPERATOR_TOP_K1, &desc, &x, 1, y, 2);
    y[1]->type = ONNX_INT64;
    return done;
}

/* CumSum and CumProd */
bool onnx_cumulate(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0), *input = onnx_in(b, n, 1);
    bool sum = !strcmp(n->op, "CumSum");
    int64_t at;
    uint32_t axis;
    struct onnx_desc dx, dy;
    if (!x || !input || !onnx_const_int(b, input, &at) || !onnx_axis(b, at, x->rank, &axis))
        return false;
    struct onnx_value *y = onnx_out(b, n, 0, x->type, x->rank, x->dims);
    if (!y)
        return false;
    /* CUMULATIVE_PRODUCT has the same fields. */
    DML_CUMULATIVE_SUMMATION_OPERATOR_DESC desc = { onnx_desc(b, &dx, x), onnx_desc(b, &dy, y), axis,
                                                    onnx_attr_int(n, "reverse", 0) ? DML_AXIS_DIRECTION_DECREASING
                                                                                   : DML_AXIS_DIRECTION_INCREASING,
                                                    onnx_attr_int(n, "exclusive", 0) != 0 };
    return onnx_emit(b, sum ? DML_OPERATOR_CUMULATIVE_SUMMATION : DML_OPERATOR_CUMULATIVE_PRODUCT, &desc, &x, 1, &y, 1);
}

/* ---- diagonals ---- */

static INT diagonal(int64_t k)
{
    const int64_t limit = 1 << 30; /* beyond every matrix */
    return (INT)(k < -limit ? -limit : k > limit ? limit : k);
}

static bool emit_diagonal(struct onnx_builder *b, struct onnx_value *x, struct onnx_value *y,
                          const struct onnx_value *value, INT begin, INT end)
{
    uint32_t rank = y->rank;
    int64_t dims[3] = { 1, y->dims[rank - 2], y->dims[rank - 1] };
    DML_SCALAR_UNION scalar = { 0 };
    struct onnx_desc dx, dy;
    for (uint32_t i = 0; i + 2 < rank; i++)
        dims[0] *= y->dims[i];
    if (!value)
        return false;
    memcpy(&scalar, value->data, onnx_type_bytes(value->type));
    DML_DIAGONAL_MATRIX1_OPERATOR_DESC desc = { x ? onnx_desc_as(b, &dx, x, 3, dims) : NULL,
                                                onnx_desc_as(b, &dy, y, 3, dims),
                                                onnx_type_dml(y->type),
                                                scalar,
                                                begin,
                                                end };
    return onnx_emit(b, DML_OPERATOR_DIAGONAL_MATRIX1, &desc, &x, 1, &y, 1);
}

bool onnx_eye_like(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0);
    if (!x)
        return false;
    int32_t type = (int32_t)onnx_attr_int(n, "dtype", x->type);
    INT k = diagonal(onnx_attr_int(n, "k", 0));
    if (x->rank != 2 || !onnx_type_bytes(type))
        return onnx_fail(b, "rank %u and data type %s are not supported", x->rank, onnx_type_name(type));
    struct onnx_value *y = onnx_out(b, n, 0, type, 2, x->dims);
    return y && emit_diagonal(b, NULL, y, onnx_scalar(b, type, 1), k, k + 1);
}

bool onnx_trilu(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0), *input = onnx_in_optional(b, n, 1);
    int64_t k = 0;
    if (!x || b->failed || (input && !onnx_const_int(b, input, &k)))
        return false;
    if (x->rank < 2)
        return onnx_fail(b, "rank %u is not supported", x->rank);
    struct onnx_value *y = onnx_out(b, n, 0, x->type, x->rank, x->dims), *zero = onnx_scalar(b, x->type, 0);
    if (!y)
        return false;
    if (onnx_attr_int(n, "upper", 1))
        return emit_diagonal(b, x, y, zero, INT32_MIN, diagonal(k));
    return emit_diagonal(b, x, y, zero, diagonal(k) + 1, INT32_MAX);
}

/* ---- sequences ---- */

/* The number of elements before the limit; float32 rounds the difference, as in other runtimes. */
static bool range_count(struct onnx_builder *b, int32_t type, const double *value, int64_t *out)
{
    double span = value[1] - value[0];
    if (type == ONNX_FLOAT)
        span = (double)(float)span;
    double count = ceil(span / value[2]);
    if (value[2] == 0 || !(count < 0x1p27))
        return onnx_fail(b, "delta = %g leads to an invalid number of elements", value[2]);
    *out = count > 0 ? (int64_t)count : 0;
    return true;
}

static bool range_integers(struct onnx_builder *b, const struct onnx_node *n, struct onnx_value *const *in)
{
    int64_t value[3], count;
    uint32_t one;
    struct onnx_value *wide[3];
    for (uint32_t i = 0; i < 3; i++) {
        wide[i] = onnx_temp(b, ONNX_INT64, 0, NULL);
        if (!wide[i] || !onnx_fold_cast(b, wide[i], in[i]) || !onnx_const_ints(b, wide[i], &value[i], 1, &one))
            return false;
    }
    double real[3] = { (double)value[0], (double)value[1], (double)value[2] };
    if (!range_count(b, ONNX_INT64, real, &count))
        return false;
    /* doubles may be off by one at the limit of 64 bits only; the count above has already failed there */
    struct onnx_value *y = onnx_temp(b, ONNX_INT64, 1, &count);
    struct onnx_value *narrow = onnx_out(b, n, 0, in[0]->type, 1, &count);
    int64_t *to = y && narrow ? onnx_constant_data(b, y) : NULL;
    for (int64_t i = 0; to && i < count; i++)
        to[i] = (int64_t)((uint64_t)value[0] + (uint64_t)i * (uint64_t)value[2]);
    return to && onnx_fold_cast(b, narrow, y);
}

bool onnx_range(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *in[3] = { onnx_in(b, n, 0), onnx_in(b, n, 1), onnx_in_optional(b, n, 2) };
    double value[3];
    int64_t count;
    if (!in[0] || !in[1] || b->failed)
        return false;
    int32_t type = in[0]->type;
    in[2] = in[2] ? in[2] : onnx_scalar(b, type, 1); /* com.microsoft */
    if (!in[2])
        return false;
    for (uint32_t i = 0; i < 3; i++) {
        if (in[i]->type != type || onnx_elements(in[i]) != 1)
            return onnx_fail(b, "start, limit and delta must be one number of one type each");
        if (type == ONNX_BFLOAT16 && in[i]->source == ONNX_SOURCE_CONSTANT) {
            uint16_t half;
            float f;
            memcpy(&half, in[i]->data, sizeof(half));
            uint32_t bits = (uint32_t)half << 16;
            memcpy(&f, &bits, sizeof(f));
            value[i] = (double)f;
        } else if (!onnx_const_real(b, in[i], &value[i])) {
            return false;
        }
    }
    if (type != ONNX_FLOAT && type != ONNX_DOUBLE && type != ONNX_FLOAT16 && type != ONNX_BFLOAT16)
        return range_integers(b, n, in);
    double *values = range_count(b, type, value, &count) ? onnx_reals(b, count) : NULL;
    for (int64_t i = 0; values && i < count; i++)
        values[i] = value[0] + (double)i * value[2];
    return values && onnx_result(b, n, 0, onnx_constant_reals(b, type, 1, &count, values));
}

bool onnx_reverse_sequence(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *in[2] = { onnx_in(b, n, 0), onnx_in(b, n, 1) };
    uint32_t batch, time, strides[ONNX_RANK_MAX] = { 0 };
    int64_t dims[ONNX_RANK_MAX];
    struct onnx_desc d[3];
    if (!in[0] || !in[1] || !onnx_axis(b, onnx_attr_int(n, "batch_axis", 1), in[0]->rank, &batch) ||
        !onnx_axis(b, onnx_attr_int(n, "time_axis", 0), in[0]->rank, &time))
        return false;
    if (batch == time)
        return onnx_fail(b, "batch_axis and time_axis are both %u", batch);
    if (onnx_elements(in[1]) != in[0]->dims[batch])
        return onnx_misfit(b, "%lld lengths for %lld sequences", (long long)onnx_elements(in[1]),
                           (long long)in[0]->dims[batch]);
    memcpy(dims, in[0]->dims, sizeof(dims));
    dims[time] = 1;
    strides[batch] = 1;
    in[1] = onnx_convert(b, in[1], ONNX_UINT64);
    struct onnx_value *y = onnx_out(b, n, 0, in[0]->type, in[0]->rank, in[0]->dims);
    if (!y || !in[1])
        return false;
    DML_REVERSE_SUBSEQUENCES_OPERATOR_DESC desc = { onnx_desc(b, &d[0], in[0]),
                                                    onnx_desc_strided(b, &d[1], in[1], y->rank, dims, strides),
                                                    onnx_desc(b, &d[2], y), time };
    return onnx_emit(b, DML_OPERATOR_REVERSE_SUBSEQUENCES, &desc, in, 2, &y, 1);
}

/* ---- shapes ---- */

bool onnx_size_of(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0);
    int64_t count = x ? onnx_elements(x) : 0;
    return x && onnx_result(b, n, 0, onnx_constant(b, ONNX_INT64, 0, NULL, &count, sizeof(count)));
}

bool onnx_center_crop_pad(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0), *input = onnx_in(b, n, 1);
    int64_t axes[ONNX_RANK_MAX], wanted[ONNX_RANK_MAX], dims[ONNX_RANK_MAX], cropped[ONNX_RANK_MAX];
    int64_t crop[ONNX_RANK_MAX] = { 0 }, pad[ONNX_RANK_MAX] = { 0 };
    uint32_t count, axis, given;
    if (!x || !input || !onnx_attr_ints(b, n, "axes", axes, ONNX_RANK_MAX, &given) ||
        !onnx_const_ints(b, input, wanted, ONNX_RANK_MAX, &count))
        return false;
    if (count != (given ? given : x->rank))
        return onnx_fail(b, "shape has %u values, %u are needed", count, given ? given : x->rank);
    memcpy(dims, x->dims, sizeof(dims));
    memcpy(cropped, x->dims, sizeof(cropped));
    for (uint32_t i = 0; i < count; i++) {
        if (!onnx_axis(b, given ? axes[i] : i, x->rank, &axis))
            return false;
        if (wanted[i] < 0 || wanted[i] > INT32_MAX)
            return onnx_fail(b, "shape[%u] = %lld", i, (long long)wanted[i]);
        dims[axis] = wanted[i];
        cropped[axis] = BASE_MIN(wanted[i], x->dims[axis]);
        crop[axis] = (x->dims[axis] - cropped[axis]) / 2;
        pad[axis] = (wanted[i] - cropped[axis]) / 2;
    }
    struct onnx_value *inner = onnx_window(b, x, crop, cropped), *zero = onnx_scalar(b, x->type, 0);
    return zero && onnx_result(b, n, 0, onnx_surround(b, inner, pad, dims, zero));
}
