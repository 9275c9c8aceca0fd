/* SPDX-License-Identifier: Apache-2.0 */
/* Padding, and appending rows to caches, for the instruction set of the including file. */
#include "kernels/core/isa.h"
#include "kernels/core/copy_body.h"
#include "kernels/core/dense.h"
#include "kernels/core/number.h"
#include "kernels/core/stream.h"

/* Padded elements that come from neighbours: `count` of them, from the input's element `first` on, `step` apart; first
 * = -1: the constant. */
struct pad_source {
    int64_t first, step;
    uint64_t count;
};

/* The sources of `most` elements from `at` (which may lie outside) on, or of the first of them. */
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

/* Elements of the input, or the constant, to the row's elements from `to` on, `step` apart. */
static void pad_copy(const struct pad_row *row, uint64_t to, struct pad_source from, int64_t step)
{
    const struct kern_view *x = &row->op->tensors[0], *y = &row->op->tensors[1];
    const uint32_t bytes = kern_type_bytes(x->type), last = x->rank - 1;
    const bool constant = from.first < 0;
    const int64_t in_stride = x->strides[last] * from.step, out_stride = y->strides[last] * step;
    const void *in = constant ? &row->op->u.pad.value : row->in;
    const int64_t in_offset = constant ? 0 : row->in_offset + from.first * x->strides[last];
    const int64_t out_offset = row->out_offset + (int64_t)to * y->strides[last];
    char *put = (char *)row->out + out_offset * bytes;
    const char *take = (const char *)in + in_offset * bytes;
    if (bytes && row->non_temporal && !constant && out_stride == 1 && from.count * bytes >= 1024)
        kern_stream_row(bytes, put, take, in_stride, from.count);
    else if (bytes)
        copy_row(bytes, put, out_stride, take, in_stride, from.count);
    for (uint64_t i = 0; i < from.count && !bytes; i++)
        kern_write(y->type, row->out, out_offset + (int64_t)i * out_stride,
                   kern_read(x->type, in, in_offset + (int64_t)i * in_stride));
}

static void pad_fill_row(const struct pad_row *row)
{
    const struct kern_pad *pad = &row->op->u.pad;
    const uint32_t last = row->op->tensors[0].rank - 1;
    const uint64_t start = pad->start[last], inside = row->op->tensors[0].sizes[last];
    const uint64_t length = row->op->tensors[1].sizes[last];
    if (row->constant || pad->gap[last])
        pad_copy(row, 0, (struct pad_source){ -1, 0, length }, 1);
    if (row->constant)
        return;
    if (pad->gap[last]) {
        pad_copy(row, start, (struct pad_source){ 0, 1, inside }, (int64_t)pad->gap[last] + 1);
        return;
    }
    struct pad_source from;
    for (uint64_t i = 0; i < length; i += from.count) {
        from = pad_sources(pad->mode, (int64_t)i - (int64_t)start, (int64_t)inside, length - i);
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
