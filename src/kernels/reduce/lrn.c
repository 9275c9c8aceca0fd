/* SPDX-License-Identifier: Apache-2.0 */
/* Local response normalisation. Across channels: tiles of positions pass through the channels with a ring of the
 * window's rows, so that every element is read once. The reference: one element at a time, in double. */
#include "kernels/core/dense.h"
#include "kernels/core/epilogue.h"
#include "kernels/reduce/reduction.h"
#include "kernels/row/row.h"

#include <math.h>

#define LRN_TILE 512 /* positions at once */

struct lrn {
    const struct kern_call *call;
    const struct kern_reduction_isa *isa;
    struct kern_iterator iterator; /* all dimensions but the channels; views 0 = X, 1 = Y */
    float *squares, *values;       /* local_size rows of LRN_TILE each */
    float *acc, *out;
    uint16_t *raw;
};

bool kern_lrn_float_accepts(const struct kern_op *op)
{
    return dense_is_short_float(op->tensors[0].type) && dense_is_short_float(op->tensors[1].type) && !op->epilogue &&
           op->tensors[0].rank >= 2 && op->u.lrn.cross_channel && op->u.lrn.local_size >= 1 &&
           op->u.lrn.local_size <= 64;
}

void kern_lrn_float_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    uint64_t channels = op->tensors[0].sizes[1];
    *out = (struct kern_work){ .units = kern_view_elements(&op->tensors[0]) / channels };
    out->grain = BASE_MAX(64, 8192 / channels);
    out->worker_scratch_bytes = (2 * (uint64_t)op->u.lrn.local_size + 3) * LRN_TILE * sizeof(float);
}

/* The window around `at`, clipped at the tensor's edge: [*out_begin, result). */
static uint32_t window(uint32_t at, uint32_t size, uint32_t local_size, uint32_t *out_begin)
{
    uint32_t before = (local_size - 1) / 2, after = local_size - 1 - before;
    *out_begin = at > before ? at - before : 0;
    return (uint32_t)BASE_MIN((uint64_t)at + after + 1, size);
}

static float *ring_row(const struct lrn *lrn, float *ring, uint32_t channel)
{
    return ring + channel % lrn->call->op->u.lrn.local_size * LRN_TILE;
}

static void load_channel(const struct lrn *lrn, uint32_t channel, uint64_t first, uint32_t width)
{
    const struct kern_view *x = &lrn->call->op->tensors[0];
    const void *base = kern_at(lrn->call->data[0], x->type, channel * x->strides[1]);
    float *values = ring_row(lrn, lrn->values, channel), *squares = ring_row(lrn, lrn->squares, channel);
    bool single = x->type == DML_TENSOR_DATA_TYPE_FLOAT32;
    kern_iterator_load(&lrn->iterator, 0, x->type, base, first, width, single ? (void *)values : lrn->raw);
    if (!single)
        kern_convert(lrn->isa->map, DML_TENSOR_DATA_TYPE_FLOAT32, values, x->type, lrn->raw, width);
    memset(squares, 0, width * sizeof(float));
    memset(lrn->acc, 0, width * sizeof(float));
    const void *row = values;
    lrn->isa->column(KERN_STAT_SQUARES, squares, &(struct kern_reduction_rows){ &row, NULL, 1, width, false },
                     lrn->acc);
}

static void store_channel(const struct lrn *lrn, uint32_t channel, uint64_t first, uint32_t width)
{
    const struct kern_lrn *op = &lrn->call->op->u.lrn;
    const struct kern_view *y = &lrn->call->op->tensors[1];
    void *base = (void *)kern_at(lrn->call->data[1], y->type, channel * y->strides[1]);
    uint32_t begin, end = window(channel, y->sizes[1], op->local_size, &begin);
    memset(lrn->acc, 0, width * sizeof(float));
    for (uint32_t k = begin; k < end; k++) {
        const void *row = ring_row(lrn, lrn->squares, k);
        lrn->isa->column(KERN_STAT_SUM, lrn->acc, &(struct kern_reduction_rows){ &row, NULL, 1, width, false }, NULL);
    }
    lrn->isa->respond(lrn->out, ring_row(lrn, lrn->values, channel), lrn->acc, width, op->bias,
                      op->alpha / (float)op->local_size, op->beta);
    bool single = y->type == DML_TENSOR_DATA_TYPE_FLOAT32;
    if (!single)
        kern_convert(lrn->isa->map, y->type, lrn->raw, DML_TENSOR_DATA_TYPE_FLOAT32, lrn->out, width);
    kern_iterator_store(&lrn->iterator, 1, y->type, base, first, width, single ? (void *)lrn->out : lrn->raw);
}

/* A channel can be completed once the last one of its window is loaded. */
static void lrn_tile(const struct lrn *lrn, uint64_t first, uint32_t width)
{
    uint32_t channels = lrn->call->op->tensors[0].sizes[1], size = lrn->call->op->u.lrn.local_size;
    uint32_t after = size - 1 - (size - 1) / 2;
    for (uint32_t k = 0; k < channels + after; k++) {
        if (k < channels)
            load_channel(lrn, k, first, width);
        if (k >= after)
            store_channel(lrn, k - after, first, width);
    }
}

void kern_lrn_run(const struct kern_call *call, const struct kern_reduction_isa *isa, uint64_t begin, uint64_t end)
{
    const uint32_t tensors[] = { 0, 1 };
    uint32_t size = call->op->u.lrn.local_size;
    struct lrn lrn = { .call = call, .isa = isa, .squares = call->worker_scratch };
    lrn.values = lrn.squares + size * LRN_TILE;
    lrn.acc = lrn.values + size * LRN_TILE;
    lrn.out = lrn.acc + LRN_TILE;
    lrn.raw = (uint16_t *)(lrn.out + LRN_TILE);
    kern_iterator_init(&lrn.iterator, call->op, tensors, 2, ~2u, 0);
    for (uint32_t width; begin < end; begin += width) {
        width = (uint32_t)BASE_MIN(end - begin, LRN_TILE);
        lrn_tile(&lrn, begin, width);
    }
}

/* ---- the reference ---- */

bool kern_lrn_any_ref_accepts(const struct kern_op *op)
{
    return op->tensors[0].rank >= 2 && op->u.lrn.local_size > 0;
}

/* Sum of squares over a window of dimension `d` and of those after it. */
static double window_squares(const struct kern_call *call, uint32_t *index, uint32_t d, uint32_t last)
{
    const struct kern_view *x = &call->op->tensors[0];
    uint32_t at = index[d], begin;
    uint32_t end = window(at, x->sizes[d], call->op->u.lrn.local_size, &begin);
    double sum = 0;
    for (index[d] = begin; index[d] < end; index[d]++) {
        double value = d == last ? kern_read_double(x->type, call->data[0], kern_offset(x, index)) : 0;
        sum += d == last ? value * value : window_squares(call, index, d + 1, last);
    }
    index[d] = at;
    return sum;
}

static void lrn_element(const struct kern_call *call, const uint32_t *at)
{
    const struct kern_lrn *lrn = &call->op->u.lrn;
    const struct kern_view *x = &call->op->tensors[0];
    uint32_t index[KERN_RANK_MAX], first = lrn->cross_channel || x->rank == 2 ? 1 : 2;
    memcpy(index, at, x->rank * sizeof(*index));
    double squares = window_squares(call, index, first, lrn->cross_channel ? 1 : x->rank - 1);
    double base = lrn->bias + (double)lrn->alpha / lrn->local_size * squares;
    kern_epilogue_store(call, at, kern_read_double(x->type, call->data[0], kern_offset(x, at)) / pow(base, lrn->beta));
}

void kern_lrn_any_ref_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    kern_each_element(call, 0, begin, end, lrn_element);
}
