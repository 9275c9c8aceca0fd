/* SPDX-License-Identifier: Apache-2.0 */
/* FOLD: every row of the image gathers the pieces of column rows that belong to it; once per instruction set. */
#include "kernels/core/isa.h"
#include "kernels/resample/fold.h"
#include "kernels/resample/scatter_add.h"

struct fold_fast {
    const struct kern_call *call;
    struct scatter_add scatter_add;
    float *row;
    uint32_t taps; /* of a window but its last dimension */
};

/* The column rows of outer tap `tap` (all but the last dimension) join the image row at `at`. */
static void fold_join(const struct fold_fast *f, const uint32_t *at, uint32_t tap)
{
    const struct kern_fold *fold = &f->call->op->u.fold;
    const struct kern_view *x = &f->call->op->tensors[0];
    uint32_t last = fold->spatial - 1, k[KERN_FOLD_MAX];
    int64_t position = 0, count = fold->positions[last];
    k[0] = tap;
    if (last > 1)
        kern_unflatten(tap, last, fold->window, k);
    for (uint32_t d = 0; d < last; d++) {
        uint32_t b;
        if (!fold_position(fold, d, at[d + 2], k[d], &b))
            return;
        position = position * fold->positions[d] + b;
    }
    uint64_t row = ((uint64_t)at[1] * f->taps + tap) * fold->window[last];
    int64_t from = at[0] * x->strides[0] + (int64_t)row * x->strides[1] + position * count * x->strides[2];
    for (uint32_t i = 0; i < fold->window[last]; i++, from += x->strides[1]) {
        const float *run = (const float *)f->call->data[0] + from;
        if (x->type != DML_TENSOR_DATA_TYPE_FLOAT32 || x->strides[2] != 1) {
            dense_load_row(f->call->data[0], from, x->strides[2], x->type, (uint32_t)count, f->row);
            run = f->row;
        }
        scatter_add_line(&f->scatter_add, fold->strides[last], fold_pixel(fold, last, 0, i), run, count);
    }
}

static void fold_fast_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const struct kern_fold *fold = &call->op->u.fold;
    const struct kern_view *y = &call->op->tensors[1];
    uint32_t last = fold->spatial - 1, width = y->sizes[y->rank - 1];
    bool direct = y->type == DML_TENSOR_DATA_TYPE_FLOAT32 && y->strides[y->rank - 1] == 1;
    struct fold_fast f = { .call = call, .row = call->worker_scratch };
    f.taps = (uint32_t)(fold_taps(fold) / fold->window[last]);
    scatter_add_init(&f.scatter_add, width, fold->strides[last], f.row + fold->positions[last]);
    for (uint64_t row = begin; row < end; row++) {
        uint32_t at[KERN_RANK_MAX];
        dense_row_at(y, row, at);
        scatter_add_clear(&f.scatter_add);
        for (uint32_t tap = 0; tap < f.taps; tap++)
            fold_join(&f, at, tap);
        int64_t to = dense_offset(y, at, y->rank);
        float *line = direct ? (float *)call->data[1] + to : f.scatter_add.line;
        const float *sums = scatter_add_end(&f.scatter_add, line);
        if (sums != line || !direct)
            dense_store_row(call->data[1], to, y->strides[y->rank - 1], y->type, width, sums);
    }
}

KERN_ISA_RUN(fold_f32, fold_fast_run)
