/* UNFOLD in runs along the image's rows, for elements of any width; and what FOLD's rows accept. */
#include "kernels/resample/fold.h"

#include "kernels/resample/scatter_add_plan.h"

bool kern_unfold_any_accepts(const struct kern_op *op)
{
    return op->u.fold.unfold && kern_fold_any_ref_accepts(op);
}

/* A unit is a row of the columns: one tap of one channel at all positions. */
void kern_unfold_any_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    const struct kern_view *y = &op->tensors[1];
    *out = (struct kern_work){ .units = dense_rows(y), .grain = dense_grain(y->sizes[2]) };
}

/* Elements `count` of one width: zeros when `from` is NULL. */
struct unfold_run {
    char *to;
    const char *from;
    int64_t to_step, from_step, count;
};

DENSE_INLINE void unfold_copy_as(const struct unfold_run *run, uint32_t bytes)
{
    if (run->to_step == 1 && run->from && run->from_step == 1) {
        memcpy(run->to, run->from, (size_t)run->count * bytes);
        return;
    }
    if (run->to_step == 1 && !run->from) {
        memset(run->to, 0, (size_t)run->count * bytes);
        return;
    }
    int64_t from_step = run->from ? run->from_step * bytes : 0, to_step = run->to_step * bytes;
    const char *from = run->from ? run->from : (const char[8]){ 0 };
    for (int64_t i = 0; i < run->count; i++)
        memcpy(run->to + i * to_step, from + i * from_step, bytes);
}

/* Every other float of a row: what windows with stride 2 take. */
static void unfold_halves(uint32_t *restrict to, const uint32_t *restrict from, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        to[i] = from[2 * i];
}

static void unfold_copy(struct unfold_run run, uint32_t bytes)
{
    switch (run.count > 0 ? bytes : 0) {
    case 1:
        unfold_copy_as(&run, 1);
        break;
    case 2:
        unfold_copy_as(&run, 2);
        break;
    case 4:
        if (run.from && run.to_step == 1 && run.from_step == 2)
            unfold_halves((uint32_t *)run.to, (const uint32_t *)run.from, run.count);
        else
            unfold_copy_as(&run, 4);
        break;
    case 8:
        unfold_copy_as(&run, 8);
        break;
    default:
        break;
    }
}

/* Along the last dimension: positions before, in and after the image. */
static void unfold_line(const struct kern_call *call, uint32_t k, const char *row, char *to)
{
    const struct kern_fold *fold = &call->op->u.fold;
    const struct kern_view *x = &call->op->tensors[0];
    uint32_t d = fold->spatial - 1, bytes = kern_type_bytes(x->type);
    int64_t stride = fold->strides[d], count = fold->positions[d], width = x->sizes[d + 2];
    int64_t first = fold_pixel(fold, d, 0, k), step = call->op->tensors[1].strides[2];
    int64_t begin = first < 0 ? (-first + stride - 1) / stride : 0;
    int64_t end = first < width ? (width - 1 - first) / stride + 1 : 0;
    end = BASE_MIN(end, count);
    if (!row || begin >= end)
        begin = end = 0;
    unfold_copy((struct unfold_run){ to, NULL, step, 0, begin }, bytes);
    if (begin < end)
        unfold_copy((struct unfold_run){ to + begin * step * bytes,
                                         row + (first + begin * stride) * x->strides[d + 2] * bytes, step,
                                         stride * x->strides[d + 2], end - begin },
                    bytes);
    unfold_copy((struct unfold_run){ to + end * step * bytes, NULL, step, 0, count - end }, bytes);
}

static void unfold_row(const struct kern_call *call, const uint32_t *at)
{
    const struct kern_fold *fold = &call->op->u.fold;
    const struct kern_view *x = &call->op->tensors[0], *y = &call->op->tensors[1];
    uint32_t last = fold->spatial - 1, bytes = kern_type_bytes(x->type), k[KERN_FOLD_MAX];
    uint32_t channel = (uint32_t)(at[1] / fold_taps(fold)), lines = y->sizes[2] / fold->positions[last];
    char *to = (char *)call->data[1] + dense_offset(y, at, 2) * bytes;
    fold_split(at[1], fold->window, fold->spatial, k);
    for (uint32_t line = 0; line < lines; line++) {
        uint32_t b[KERN_FOLD_MAX];
        int64_t from = at[0] * x->strides[0] + channel * x->strides[1];
        bool inside = true;
        fold_split(line, fold->positions, last, b);
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
void kern_fold_f32_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    const struct kern_fold *fold = &op->u.fold;
    const struct kern_view *y = &op->tensors[1];
    uint32_t last = fold->spatial - 1;
    *out = (struct kern_work){ .units = dense_rows(y), .grain = dense_grain(4 * (uint64_t)y->sizes[y->rank - 1]) };
    out->worker_scratch_bytes =
        (fold->positions[last] + scatter_add_floats(y->sizes[y->rank - 1], fold->strides[last])) * sizeof(float);
}
