/* SPDX-License-Identifier: Apache-2.0 */
/* Windows as columns and back: the reference, UNFOLD in runs along the image's rows, for elements of any width, and the
 * accept functions of FOLD's kernels. Sums of integers wrap. */
#include "kernels/core/iterator.h"
#include "kernels/core/number.h"
#include "kernels/resample/resample.h"
#include "kernels/resample/scatter_add.h"

bool kern_fold_any_ref_accepts(const struct kern_op *op)
{
    const struct kern_fold *fold = &op->u.fold;
    const struct kern_view *image = &op->tensors[!fold->unfold], *columns = &op->tensors[fold->unfold];
    uint64_t positions = 1;
    if (op->epilogue || !fold->spatial || fold->spatial > KERN_FOLD_MAX || image->rank != fold->spatial + 2 ||
        columns->rank != 3 || image->type != columns->type || !kern_type_bytes(image->type))
        return false;
    for (uint32_t d = 0; d < fold->spatial; d++)
        positions *= fold->positions[d];
    return columns->sizes[0] == image->sizes[0] && columns->sizes[1] == image->sizes[1] * fold_taps(fold) &&
           columns->sizes[2] == positions;
}

static void unfold_one(const struct kern_call *call, const uint32_t *at)
{
    const struct kern_op *op = call->op;
    const struct kern_fold *fold = &op->u.fold;
    uint32_t bytes = kern_type_bytes(op->tensors[0].type), b[KERN_FOLD_MAX], k[KERN_FOLD_MAX];
    uint32_t where[KERN_RANK_MAX] = { at[0], (uint32_t)(at[1] / fold_taps(fold)) };
    char *to = (char *)call->data[1] + dense_offset(&op->tensors[1], at, 3) * bytes;
    kern_unflatten(at[1], fold->spatial, fold->window, k);
    kern_unflatten(at[2], fold->spatial, fold->positions, b);
    for (uint32_t d = 0; d < fold->spatial; d++) {
        int64_t pixel = fold_pixel(fold, d, b[d], k[d]);
        if (pixel < 0 || pixel >= op->tensors[0].sizes[d + 2]) {
            memset(to, 0, bytes);
            return;
        }
        where[d + 2] = (uint32_t)pixel;
    }
    const struct kern_view *image = &op->tensors[0];
    memcpy(to, (const char *)call->data[0] + dense_offset(image, where, image->rank) * bytes, bytes);
}

static void fold_one(const struct kern_call *call, const uint32_t *at)
{
    const struct kern_fold *fold = &call->op->u.fold;
    const struct kern_view *columns = &call->op->tensors[0], *image = &call->op->tensors[1];
    const uint32_t taps = (uint32_t)fold_taps(fold);
    struct kern_number sum = { .class = kern_type_class(image->type) };
    for (uint32_t tap = 0; tap < taps; tap++) {
        uint32_t k[KERN_FOLD_MAX], b, where[3] = { at[0], at[1] * taps + tap, 0 };
        bool inside = true;
        kern_unflatten(tap, fold->spatial, fold->window, k);
        for (uint32_t d = 0; d < fold->spatial && inside; d++) {
            inside = fold_position(fold, d, at[d + 2], k[d], &b);
            where[2] = where[2] * fold->positions[d] + (inside ? b : 0);
        }
        if (!inside)
            continue;
        const int64_t from = dense_offset(columns, where, 3);
        if (sum.class == KERN_CLASS_FLOAT)
            sum.f += dense_load(call->data[0], from, image->type);
        else
            sum.u += kern_read(image->type, call->data[0], from).u;
    }
    kern_write(image->type, call->data[1], dense_offset(image, at, image->rank), sum);
}

void kern_fold_any_ref_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    kern_each_element(call, 1, begin, end, call->op->u.fold.unfold ? unfold_one : fold_one);
}

bool kern_unfold_any_accepts(const struct kern_op *op)
{
    return op->u.fold.unfold && kern_fold_any_ref_accepts(op);
}

/* A unit is a row of the columns: one tap of one channel at all positions. */
void kern_unfold_any_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    const struct kern_view *y = &op->tensors[1];
    *out = (struct kern_work){ .units = dense_rows(y), .grain = dense_grain(y->sizes[2]) };
}

/* Along the last dimension: positions before, in and after the image; row = NULL: none inside. */
static void unfold_line(const struct kern_call *call, uint32_t k, const char *row, char *to)
{
    const struct kern_fold *fold = &call->op->u.fold;
    const struct kern_view *x = &call->op->tensors[0];
    const uint32_t d = fold->spatial - 1, bytes = kern_type_bytes(x->type);
    const int64_t stride = fold->strides[d], count = fold->positions[d], width = x->sizes[d + 2];
    const int64_t first = fold_pixel(fold, d, 0, k), step = call->op->tensors[1].strides[2];
    const uint64_t zero = 0;
    int64_t begin, end;
    dense_range(row ? count : 0, stride, first, width, &begin, &end);
    kern_copy_row(bytes, to, step, &zero, 0, (uint64_t)begin);
    if (begin < end)
        kern_copy_row(bytes, to + begin * step * bytes, step,
                      row + (first + begin * stride) * x->strides[d + 2] * bytes, stride * x->strides[d + 2],
                      (uint64_t)(end - begin));
    kern_copy_row(bytes, to + end * step * bytes, step, &zero, 0, (uint64_t)(count - end));
}

static void unfold_row(const struct kern_call *call, const uint32_t *at)
{
    const struct kern_fold *fold = &call->op->u.fold;
    const struct kern_view *x = &call->op->tensors[0], *y = &call->op->tensors[1];
    uint32_t last = fold->spatial - 1, bytes = kern_type_bytes(x->type), k[KERN_FOLD_MAX];
    uint32_t channel = (uint32_t)(at[1] / fold_taps(fold)), lines = y->sizes[2] / fold->positions[last];
    char *to = (char *)call->data[1] + dense_offset(y, at, 2) * bytes;
    kern_unflatten(at[1], fold->spatial, fold->window, k);
    for (uint32_t line = 0; line < lines; line++) {
        uint32_t b[KERN_FOLD_MAX];
        int64_t from = at[0] * x->strides[0] + channel * x->strides[1];
        bool inside = true;
        kern_unflatten(line, last, fold->positions, b);
        for (uint32_t d = 0; d < last; d++) {
            int64_t pixel = fold_pixel(fold, d, b[d], k[d]);
            inside &= pixel >= 0 && pixel < x->sizes[d + 2];
            from += pixel * x->strides[d + 2];
        }
        unfold_line(call, k[last], inside ? (const char *)call->data[0] + from * bytes : NULL, to);
        to += (int64_t)fold->positions[last] * y->strides[2] * bytes;
    }
}

void kern_unfold_any_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    for (uint64_t row = begin; row < end; row++) {
        uint32_t at[KERN_RANK_MAX];
        dense_row_at(&call->op->tensors[1], row, at);
        unfold_row(call, at);
    }
}

bool kern_fold_f32_accepts(const struct kern_op *op)
{
    return !op->u.fold.unfold && kern_fold_any_ref_accepts(op) && dense_is_short_float(op->tensors[0].type);
}

/* A unit is a row of the image. */
void kern_fold_f32_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    const struct kern_fold *fold = &op->u.fold;
    const struct kern_view *y = &op->tensors[1];
    uint32_t last = fold->spatial - 1;
    *out = (struct kern_work){ .units = dense_rows(y), .grain = dense_grain(4 * (uint64_t)y->sizes[y->rank - 1]) };
    out->worker_scratch_bytes =
        (fold->positions[last] + scatter_add_floats(y->sizes[y->rank - 1], fold->strides[last])) * sizeof(float);
}
