/* SPDX-License-Identifier: Apache-2.0 */
/* Padding, appending rows to caches, and arithmetic sequences, for the instruction set of the including file. */
#include "kernels/core/isa.h"
#include "kernels/core/copy_body.h"
#include "kernels/core/dense.h"
#include "kernels/map/map.h"

/* Padded elements with adjacent sources: `count` elements from `first` on, `step` apart; -1: the constant. */
struct pad_source {
    int64_t first, step;
    uint64_t count;
};

/* The sources of `most` elements from `at` (which may be outside) on, or of the first of them. */
static struct pad_source pad_sources(DML_PADDING_MODE mode, int64_t at, int64_t size, uint64_t most)
{
    const bool reflects = mode == DML_PADDING_MODE_REFLECTION;
    if (at >= 0 && at < size)
        return (struct pad_source){ at, 1, BASE_MIN((uint64_t)(size - at), most) };
    if (mode == DML_PADDING_MODE_CONSTANT || mode == DML_PADDING_MODE_EDGE) {
        int64_t edge = at < 0 ? 0 : size - 1;
        return (struct pad_source){ mode == DML_PADDING_MODE_EDGE ? edge : -1, 0,
                                    at < 0 ? BASE_MIN((uint64_t)-at, most) : most };
    }
    const int64_t period = reflects                             ? BASE_MAX(1, 2 * (size - 1))
                           : mode == DML_PADDING_MODE_SYMMETRIC ? 2 * size
                                                                : size;
    const int64_t rest = (at % period + period) % period;
    if (rest < size)
        return (struct pad_source){ rest, 1, BASE_MIN((uint64_t)(BASE_MIN(size, period) - rest), most) };
    return (struct pad_source){ period - !reflects - rest, -1, BASE_MIN((uint64_t)(period - rest), most) };
}

struct pad_row {
    const struct kern_op *op;
    const void *in;
    void *out;
    int64_t in_offset, out_offset; /* of the row's first element */
    bool constant;
    bool non_temporal; /* inner elements go past the caches */
};

/* `count` elements from `in` on, `in_stride` apart, to the row's elements from `to` on, `step` apart. Inlined with a
 * stride of 0 for the constant: fills are compiled without loads. */
DENSE_INLINE void pad_put(const struct pad_row *row, uint64_t to, int64_t step, const void *in, int64_t in_offset,
                          int64_t in_stride, uint64_t count)
{
    const struct kern_view *y = &row->op->tensors[1];
    const uint32_t bytes = kern_type_bytes(y->type);
    const int64_t stride = y->strides[y->rank - 1], out_offset = row->out_offset + (int64_t)to * stride;
    char *put = (char *)row->out + out_offset * bytes;
    const char *take = (const char *)in + in_offset * bytes;
    if (bytes && in != &row->op->u.pad.value && row->non_temporal && stride * step == 1 && count * bytes >= 1024)
        kern_stream_row(bytes, put, take, in_stride, count);
    else if (bytes)
        copy_row(bytes, put, stride * step, take, in_stride, count);
    for (uint64_t i = 0; i < count && !bytes; i++)
        kern_write(y->type, row->out, out_offset + (int64_t)i * stride * step,
                   kern_read(y->type, in, in_offset + (int64_t)i * in_stride));
}

static void pad_constant(const struct pad_row *row, uint64_t to, uint64_t count)
{
    pad_put(row, to, 1, &row->op->u.pad.value, 0, 0, count);
}

static void pad_copy(const struct pad_row *row, uint64_t to, struct pad_source from, int64_t step)
{
    const struct kern_view *x = &row->op->tensors[0];
    const int64_t stride = x->strides[x->rank - 1];
    pad_put(row, to, step, row->in, row->in_offset + from.first * stride, stride * from.step, from.count);
}

static void pad_fill_row(const struct pad_row *row)
{
    const struct kern_pad *pad = &row->op->u.pad;
    const uint32_t last = row->op->tensors[0].rank - 1;
    const uint64_t start = pad->start[last], inside = row->op->tensors[0].sizes[last];
    const uint64_t length = row->op->tensors[1].sizes[last];
    if (row->constant || pad->gap[last])
        pad_constant(row, 0, length);
    if (row->constant)
        return;
    if (pad->gap[last]) {
        pad_copy(row, start, (struct pad_source){ 0, 1, inside }, (int64_t)pad->gap[last] + 1);
        return;
    }
    struct pad_source from;
    for (uint64_t i = 0; i < length; i += from.count) {
        from = pad_sources(pad->mode, (int64_t)i - (int64_t)start, (int64_t)inside, length - i);
        if (from.first < 0)
            pad_constant(row, i, from.count);
        else
            pad_copy(row, i, from, 1);
    }
}

static int64_t pad_outer_index(const struct kern_pad *pad, uint32_t d, uint32_t index, int64_t size)
{
    int64_t at = (int64_t)index - pad->start[d], step = (int64_t)pad->gap[d] + 1;
    if (step > 1 && at % step)
        return -1;
    return pad_sources(pad->mode, step > 1 ? at / step : at, size, 1).first;
}

static void pad_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const struct kern_pad *pad = &call->op->u.pad;
    const struct kern_view *x = &call->op->tensors[0], *y = &call->op->tensors[1];
    uint32_t index[KERN_RANK_MAX] = { 0 };
    bool non_temporal = kern_streams(y);
    kern_unflatten(begin, y->rank - 1, y->sizes, index);
    for (uint64_t i = begin; i < end; i++) {
        struct pad_row row = {
            .op = call->op, .in = call->data[0], .out = call->data[1], .non_temporal = non_temporal
        };
        for (uint32_t d = 0; d + 1 < y->rank; d++) {
            int64_t from = pad_outer_index(pad, d, index[d], x->sizes[d]);
            row.constant |= from < 0;
            row.in_offset += from * x->strides[d];
            row.out_offset += index[d] * y->strides[d];
        }
        pad_fill_row(&row);
        kern_advance(y->rank - 1, y->sizes, index);
    }
    if (non_temporal)
        kern_stream_end();
}

KERN_ISA_RUN(pad_any, pad_run)

static void append_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const struct kern_view *x = &call->op->tensors[0], *lengths = &call->op->tensors[1], *y = &call->op->tensors[2];
    const uint32_t bytes = kern_type_bytes(x->type);
    for (uint64_t row = begin; row < end; row++) {
        uint32_t at[4];
        dense_row_at(x, row, at);
        int64_t from = dense_offset(x, at, 3);
        double length = dense_load(call->data[1], dense_offset(lengths, at, 1), lengths->type);
        uint64_t place = (length > 0 ? (uint64_t)length : 0) + at[2];
        if (place >= y->sizes[2])
            continue;
        at[2] = (uint32_t)place;
        copy_row(bytes, (char *)call->data[2] + dense_offset(y, at, 3) * bytes, y->strides[3],
                 (const char *)call->data[0] + from * bytes, x->strides[3], x->sizes[3]);
    }
}

KERN_ISA_RUN(append_any, append_run)

enum { SEQUENCE_PIECE = 256 };

/* In arithmetic that wraps at the element's width; `wide` has at least the width of int. */
#define SEQUENCE_INTEGERS(type, wide)                                                                                  \
    {                                                                                                                  \
        const wide base = (wide)(s->start.u64 + first * s->delta.u64), step = (wide)s->delta.u64;                      \
        for (uint64_t i = 0; i < count; i++)                                                                           \
            ((type *)out)[i] = (type)(base + (wide)i * step);                                                          \
    }

static void sequence_integers(const struct kern_sequence *s, uint32_t bytes, uint64_t first, uint64_t count, void *out)
{
    if (bytes == 1)
        SEQUENCE_INTEGERS(uint8_t, uint32_t)
    else if (bytes == 2)
        SEQUENCE_INTEGERS(uint16_t, uint32_t)
    else if (bytes == 4)
        SEQUENCE_INTEGERS(uint32_t, uint32_t)
    else
        SEQUENCE_INTEGERS(uint64_t, uint64_t)
}

/* FLOAT32 whose last bit is 1 if the value is not exact: rounding it once more, to a type with at least two bits less,
 * equals rounding the value once. */
DENSE_INLINE float sequence_odd(double value)
{
    const float near = (float)value;
    const double back = near;
    uint32_t bits = base_float_to_bits(near);
    bits -= __builtin_fabs(back) > __builtin_fabs(value);
    return base_bits_to_float(bits | (back != value));
}

/* At most SEQUENCE_PIECE elements. */
static void sequence_floats(const struct kern_sequence *s, DML_TENSOR_DATA_TYPE type, uint64_t first, uint32_t count,
                            void *out)
{
    const double base = (double)first, start = s->start.f64, delta = s->delta.f64; /* base: exact, and so are sums */
    double values[SEQUENCE_PIECE];
    float odd[SEQUENCE_PIECE];
    for (int32_t i = 0; i < (int32_t)count; i++)
        values[i] = start + (base + i) * delta;
    if (type == DML_TENSOR_DATA_TYPE_FLOAT64) {
        memcpy(out, values, count * sizeof(*values));
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        odd[i] = type == DML_TENSOR_DATA_TYPE_FLOAT32 ? (float)values[i] : sequence_odd(values[i]);
    kern_convert(&KERN_ISA_TABLE(kern_map_isa_), type, out, DML_TENSOR_DATA_TYPE_FLOAT32, odd, count);
}

static void sequence_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const uint32_t tensors[] = { 0 };
    const struct kern_sequence *sequence = &call->op->u.sequence;
    const DML_TENSOR_DATA_TYPE type = call->op->tensors[0].type;
    const uint32_t bytes = kern_type_bytes(type);
    struct kern_iterator iterator;
    struct kern_cursor cursor;
    kern_iterator_init(&iterator, call->op, tensors, 1, UINT32_MAX, KERN_ITERATOR_ROW_MAJOR);
    const int64_t stride = iterator.strides[0][iterator.rank - 1];
    kern_cursor_seek(&iterator, begin, &cursor);
    while (begin < end) {
        uint64_t piece[SEQUENCE_PIECE], n = BASE_MIN(kern_cursor_row_left(&iterator, &cursor), end - begin);
        char *to = (char *)call->data[0] + cursor.offset[0] * bytes;
        void *out = stride == 1 ? (void *)to : piece;
        if (stride != 1 || dense_is_float(type))
            n = BASE_MIN(n, SEQUENCE_PIECE);
        if (dense_is_float(type))
            sequence_floats(sequence, type, begin, (uint32_t)n, out);
        else
            sequence_integers(sequence, bytes, begin, n, out);
        if (out == piece)
            copy_row(bytes, to, stride, piece, 1, n);
        kern_cursor_skip(&iterator, &cursor, n);
        begin += n;
    }
}

KERN_ISA_RUN(sequence_any, sequence_run)
