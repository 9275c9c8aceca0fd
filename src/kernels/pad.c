/* Padding, row by row: the inside of a row is one copy, its ends are computed per element. */
#include "kernels/number.h"
#include "kernels/stream.h"
#include "kernels/walk.h"

/* The input's index for `at` (which may lie outside), or -1 for the constant. */
static int64_t source_index(DML_PADDING_MODE mode, int64_t at, int64_t size)
{
    if (at >= 0 && at < size)
        return at;
    int64_t period = mode == DML_PADDING_MODE_REFLECTION  ? BASE_MAX(1, 2 * (size - 1))
                     : mode == DML_PADDING_MODE_SYMMETRIC ? 2 * size
                                                          : size;
    int64_t rest = (at % period + period) % period;
    switch (mode) {
    case DML_PADDING_MODE_EDGE:
        return at < 0 ? 0 : size - 1;
    case DML_PADDING_MODE_REFLECTION:
        return rest < size ? rest : period - rest;
    case DML_PADDING_MODE_SYMMETRIC:
        return rest < size ? rest : period - 1 - rest;
    case DML_PADDING_MODE_WRAP:
        return rest;
    default:
        return -1;
    }
}

bool kern_pad_any_accepts(const struct kern_op *op)
{
    return op->tensors[0].rank == op->tensors[1].rank && op->tensors[0].type == op->tensors[1].type;
}

void kern_pad_any_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    (void)state;
    (void)threads;
    const struct kern_view *y = &op->tensors[1];
    uint64_t length = y->sizes[y->rank - 1];
    uint64_t rows = kern_view_elements(y) / length;
    *out = (struct kern_work){ .units = rows, .grain = BASE_MAX(1, 16384 / length) };
    if (!kern_type_bytes(y->type))
        out->grain = rows; /* neighbours share bytes */
}

struct row {
    const struct kern_op *op;
    const void *in;
    void *out;
    int64_t in_offset, out_offset; /* of the row's first element */
    bool constant;
    bool far; /* inner elements go past the caches */
};

/* `count` neighbours of the input, `step` apart in the output. */
static void copy_run(const struct row *row, uint64_t to, uint64_t from, uint64_t count, int64_t step)
{
    const struct kern_view *x = &row->op->tensors[0], *y = &row->op->tensors[1];
    int64_t in_stride = x->strides[x->rank - 1], out_stride = y->strides[y->rank - 1];
    uint32_t bytes = kern_type_bytes(x->type);
    int64_t in_offset = row->in_offset + (int64_t)from * in_stride;
    int64_t out_offset = row->out_offset + (int64_t)to * out_stride;
    out_stride *= step;
    if (bytes && row->far && out_stride == 1 && count * bytes >= 1024) {
        kern_stream_row(bytes, (char *)row->out + out_offset * bytes, (const char *)row->in + in_offset * bytes,
                        in_stride, count);
        return;
    }
    if (bytes) {
        kern_copy_row(bytes, (char *)row->out + out_offset * bytes, out_stride,
                      (const char *)row->in + in_offset * bytes, in_stride, count);
        return;
    }
    for (uint64_t i = 0; i < count; i++)
        kern_write(y->type, row->out, out_offset + (int64_t)i * out_stride,
                   kern_read(x->type, row->in, in_offset + (int64_t)i * in_stride));
}

static void fill_run(const struct row *row, uint64_t to, uint64_t count)
{
    const struct kern_view *y = &row->op->tensors[1];
    int64_t stride = y->strides[y->rank - 1];
    uint32_t bytes = kern_type_bytes(y->type);
    int64_t offset = row->out_offset + (int64_t)to * stride;
    if (bytes) {
        kern_copy_row(bytes, (char *)row->out + offset * bytes, stride, &row->op->u.pad.value, 0, count);
        return;
    }
    for (uint64_t i = 0; i < count; i++)
        kern_write(y->type, row->out, offset + (int64_t)i * stride, kern_read(y->type, &row->op->u.pad.value, 0));
}

static void fill_ends(const struct row *row, uint64_t begin, uint64_t end)
{
    const struct kern_pad *pad = &row->op->u.pad;
    uint32_t last = row->op->tensors[0].rank - 1;
    for (uint64_t i = begin; i < end; i++) {
        int64_t from = source_index(pad->mode, (int64_t)i - pad->start[last], row->op->tensors[0].sizes[last]);
        if (from < 0)
            fill_run(row, i, 1);
        else
            copy_run(row, i, (uint64_t)from, 1, 1);
    }
}

static void pad_row(const struct row *row)
{
    uint32_t last = row->op->tensors[0].rank - 1;
    uint64_t start = row->op->u.pad.start[last], inside = row->op->tensors[0].sizes[last];
    uint64_t length = row->op->tensors[1].sizes[last];
    if (row->constant) {
        fill_run(row, 0, length);
        return;
    }
    if (row->op->u.pad.gap[last]) {
        fill_run(row, 0, length);
        copy_run(row, start, 0, inside, (int64_t)row->op->u.pad.gap[last] + 1);
        return;
    }
    fill_ends(row, 0, start);
    copy_run(row, start, 0, inside, 1);
    fill_ends(row, start + inside, length);
}

static int64_t outer_index(const struct kern_pad *pad, uint32_t d, uint32_t index, int64_t size)
{
    int64_t at = (int64_t)index - pad->start[d], step = (int64_t)pad->gap[d] + 1;
    if (at % step)
        return -1;
    return source_index(pad->mode, at / step, size);
}

void kern_pad_any_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const struct kern_pad *pad = &call->op->u.pad;
    const struct kern_view *x = &call->op->tensors[0], *y = &call->op->tensors[1];
    uint32_t index[KERN_RANK_MAX] = { 0 };
    bool far = kern_streams(y);
    kern_unflatten(begin, y->rank - 1, y->sizes, index);
    for (uint64_t i = begin; i < end; i++) {
        struct row row = { .op = call->op, .in = call->data[0], .out = call->data[1], .far = far };
        for (uint32_t d = 0; d + 1 < y->rank; d++) {
            int64_t from = outer_index(pad, d, index[d], x->sizes[d]);
            row.constant |= from < 0;
            row.in_offset += from * x->strides[d];
            row.out_offset += index[d] * y->strides[d];
        }
        pad_row(&row);
        kern_advance(y->rank - 1, y->sizes, index);
    }
    if (far)
        kern_stream_end();
}
