/* SPDX-License-Identifier: Apache-2.0 */
/* Attention of FLOAT64 for the instruction set of the including file: the scores of some queries, their weights, and
 * the weighted sums of the values, with independent sums that the compiler vectorises. */
#include "kernels/core/isa.h"
#include "kernels/attention/attention.h"

enum { ATTENTION_F64_N = ATTENTION_F64_LANES };

typedef double attention_f64_lanes
    __attribute__((vector_size(ATTENTION_F64_N * sizeof(double)), aligned(8), may_alias));

struct attention_f64 {
    const struct kern_call *call;
    struct attention_inputs in;
    uint32_t group; /* query heads per key head */
    uint32_t rows;  /* of this block */
    uint64_t depth, keys, width, q_pitch, y_pitch;
    double *q, *scores, *sums, *row; /* row: of keys or values that are not contiguous */
    double total[ATTENTION_F64_ROWS];
    uint32_t seen[ATTENTION_F64_ROWS]; /* keys of each row */
};

static const double *attention_f64_at(const struct attention_f64 *a, uint32_t tensor, const uint32_t *at)
{
    const struct kern_view *view = &a->call->op->tensors[tensor];
    return (const double *)a->call->data[tensor] + dense_offset(view, at, view->rank);
}

/* out = `count` elements `step` apart, padded with zeros to a whole vector */
static void attention_f64_copy(const double *from, int64_t step, uint64_t count, double *out)
{
    for (uint64_t i = 0; i < count; i++)
        out[i] = from[(int64_t)i * step];
    for (uint64_t i = count; i < attention_f64_pitch(count); i++)
        out[i] = 0;
}

/* Row n of the keys or values, as whole vectors: in place or copied. */
static const double *attention_f64_row(const struct attention_f64 *a, uint32_t tensor, const uint32_t *at, uint32_t n)
{
    const struct kern_view *view = &a->call->op->tensors[tensor];
    const double *from = attention_f64_at(a, tensor, (uint32_t[]){ at[0], at[1] / a->group, n, 0 });
    const uint64_t count = view->sizes[3];
    if (view->strides[3] == 1 && count % ATTENTION_F64_N == 0)
        return from;
    attention_f64_copy(from, view->strides[3], count, a->row);
    return a->row;
}

/* scores[m][n] = q[m] . k for rows from `first` on */
DENSE_INLINE void attention_f64_dots(const struct attention_f64 *a, uint32_t rows, uint32_t first, uint32_t n,
                                     const double *k)
{
    attention_f64_lanes sum[ATTENTION_F64_ROWS] = { 0 };
    for (uint64_t d = 0; d < a->q_pitch; d += ATTENTION_F64_N) {
        const attention_f64_lanes key = *(const attention_f64_lanes *)(k + d);
        for (uint32_t m = 0; m < rows; m++)
            sum[m] += *(const attention_f64_lanes *)(a->q + (first + m) * a->q_pitch + d) * key;
    }
    for (uint32_t m = 0; m < rows; m++) {
        double *score = a->scores + (first + m) * a->keys + n;
        *score = 0;
        for (int i = 0; i < ATTENTION_F64_N; i++)
            *score += sum[m][i];
    }
}

static void attention_f64_scores(const struct attention_f64 *a, const uint32_t *at)
{
    uint32_t most = 0;
    for (uint32_t m = 0; m < a->rows; m++)
        most = BASE_MAX(most, a->seen[m]);
    for (uint32_t n = 0; n < most; n++) {
        const double *k = attention_f64_row(a, 1, at, n);
        if (a->rows == ATTENTION_F64_ROWS)
            attention_f64_dots(a, ATTENTION_F64_ROWS, 0, n, k);
        for (uint32_t m = 0; m < a->rows && a->rows < ATTENTION_F64_ROWS; m++)
            attention_f64_dots(a, 1, m, n, k);
    }
}

/* Scale and masks for the scores of one query. */
static void attention_f64_mask(const struct attention_f64 *a, const uint32_t *at, uint32_t count, double *scores)
{
    const struct kern_view *t = a->call->op->tensors;
    for (uint32_t n = 0; n < count; n++)
        scores[n] *= (double)a->call->op->u.attention.scale;
    if (a->in.mask) {
        const double *mask = attention_f64_at(a, a->in.mask, at);
        const int64_t step = t[a->in.mask].sizes[3] > 1 ? t[a->in.mask].strides[3] : 0;
        for (uint32_t n = 0; n < count; n++)
            scores[n] += mask[n * step];
    }
    attention_filter(a->call, &a->in, at, count, true, scores);
}

/* Converts scores to weights; returns their sum. */
static double attention_f64_soften(double *scores, uint32_t count)
{
    double top = -INFINITY, total = 0;
    for (uint32_t n = 0; n < count; n++)
        top = scores[n] > top ? scores[n] : top;
    for (uint32_t n = 0; n < count; n++) {
        scores[n] = exp(scores[n] - (top == -INFINITY ? 0 : top));
        total += scores[n];
    }
    return total;
}

/* sums[m] = the values weighted by row m's `count` weights */
DENSE_INLINE void attention_f64_weigh(const struct attention_f64 *a, uint32_t rows, uint32_t first, uint32_t count,
                                      const uint32_t *at)
{
    memset(a->sums + first * a->y_pitch, 0, rows * a->y_pitch * sizeof(double));
    for (uint32_t n = 0; n < count; n++) {
        const double *v = attention_f64_row(a, 2, at, n);
        attention_f64_lanes weight[ATTENTION_F64_ROWS];
        for (uint32_t m = 0; m < rows; m++)
            weight[m] = a->scores[(first + m) * a->keys + n] - (attention_f64_lanes){ 0 };
        for (uint64_t d = 0; d < a->y_pitch; d += ATTENTION_F64_N) {
            const attention_f64_lanes value = *(const attention_f64_lanes *)(v + d);
            for (uint32_t m = 0; m < rows; m++)
                *(attention_f64_lanes *)(a->sums + (first + m) * a->y_pitch + d) += weight[m] * value;
        }
    }
}

static void attention_f64_store(const struct attention_f64 *a, const uint32_t *at, uint32_t m)
{
    const struct kern_view *y = &a->call->op->tensors[a->call->op->input_count];
    const double total = a->total[m], *sums = a->sums + m * a->y_pitch;
    const bool divides = total > 0 || total != total || a->call->op->u.attention.undefined;
    double *to = (double *)a->call->data[a->call->op->input_count] +
                 dense_offset(y, (uint32_t[]){ at[0], at[1], at[2] + m, 0 }, 4);
    for (uint64_t d = 0; d < a->width; d++)
        to[(int64_t)d * y->strides[3]] = divides ? sums[d] / total : 0;
}

/* Queries at[2], ... */
static void attention_f64_block(struct attention_f64 *a, const uint32_t *at)
{
    const struct kern_view *q = &a->call->op->tensors[0];
    bool alike = a->rows == ATTENTION_F64_ROWS;
    for (uint32_t m = 0; m < a->rows; m++) {
        const uint32_t where[] = { at[0], at[1], at[2] + m, 0 };
        attention_f64_copy(attention_f64_at(a, 0, where), q->strides[3], a->depth, a->q + m * a->q_pitch);
        a->seen[m] = attention_keys(a->call, &a->in, at[0], at[2] + m);
        alike &= a->seen[m] == a->seen[0];
    }
    attention_f64_scores(a, at);
    for (uint32_t m = 0; m < a->rows; m++) {
        const uint32_t where[] = { at[0], at[1], at[2] + m, 0 };
        attention_f64_mask(a, where, a->seen[m], a->scores + m * a->keys);
        a->total[m] = attention_f64_soften(a->scores + m * a->keys, a->seen[m]);
    }
    if (alike)
        attention_f64_weigh(a, ATTENTION_F64_ROWS, 0, a->seen[0], at);
    for (uint32_t m = 0; m < a->rows; m++) {
        if (!alike)
            attention_f64_weigh(a, 1, m, a->seen[m], at);
        attention_f64_store(a, at, m);
    }
}

static void attention_f64_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const struct kern_view *t = call->op->tensors, *y = &t[call->op->input_count];
    struct attention_f64 a = { .call = call, .group = t[0].sizes[1] / t[1].sizes[1] };
    attention_inputs_init(call->op, &a.in);
    a.depth = t[1].sizes[3];
    a.keys = t[1].sizes[2];
    a.width = y->sizes[3];
    a.q_pitch = attention_f64_pitch(a.depth);
    a.y_pitch = attention_f64_pitch(a.width);
    a.q = call->worker_scratch;
    a.scores = a.q + ATTENTION_F64_ROWS * a.q_pitch;
    a.sums = a.scores + ATTENTION_F64_ROWS * a.keys;
    a.row = a.sums + ATTENTION_F64_ROWS * a.y_pitch;
    const uint32_t blocks = (y->sizes[2] + ATTENTION_F64_ROWS - 1) / ATTENTION_F64_ROWS;
    for (uint64_t unit = begin; unit < end; unit++) {
        const uint32_t heads = y->sizes[1], row = (uint32_t)(unit % blocks) * ATTENTION_F64_ROWS;
        const uint32_t at[] = { (uint32_t)(unit / blocks / heads), (uint32_t)(unit / blocks % heads), row, 0 };
        a.rows = BASE_MIN(y->sizes[2] - row, ATTENTION_F64_ROWS);
        attention_f64_block(&a, at);
    }
}

KERN_ISA_RUN(attention_f64, attention_f64_run)
