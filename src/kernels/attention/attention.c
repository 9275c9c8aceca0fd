/* SPDX-License-Identifier: Apache-2.0 */
/* Scaled dot-product attention: accept functions and plans of the kernels, and the reference, softmax(scale * Q K^T +
 * masks) V. */
#include "kernels/attention/attention.h"
#include "kernels/row/row.h"

#define DEPTH_MAX 4096

static bool is_integer_vector(const struct kern_view *view, uint32_t size, bool may_be_unsigned)
{
    return view->rank == 1 && view->sizes[0] == size &&
           (view->type == DML_TENSOR_DATA_TYPE_INT32 || (may_be_unsigned && view->type == DML_TENSOR_DATA_TYPE_UINT32));
}

static bool is_per_score(const struct kern_op *op, uint32_t tensor)
{
    const struct kern_view *view = &op->tensors[tensor], *y = &op->tensors[op->input_count];
    const uint32_t sizes[] = { y->sizes[0], y->sizes[1], y->sizes[2], op->tensors[1].sizes[2] };
    for (uint32_t d = 0; d < 4 && view->rank == 4; d++)
        if (view->sizes[d] != sizes[d] && view->sizes[d] != 1)
            return false;
    return view->rank == 4;
}

bool attention_inputs_init(const struct kern_op *op, struct attention_inputs *out)
{
    const struct kern_view *t = op->tensors, *y = &t[op->input_count];
    const struct kern_attention *attention = &op->u.attention;
    *out = (struct attention_inputs){ .count = 3 };
    out->mask = attention->has_mask ? out->count++ : 0;
    out->keep = attention->has_keep ? out->count++ : 0;
    out->end = attention->has_end ? out->count++ : 0;
    out->start = attention->has_start ? out->count++ : 0;
    out->past = attention->has_past ? out->count++ : 0;
    if (op->input_count != out->count || op->output_count != 1 || y->rank != 4 || !dense_is_float(y->type))
        return false;
    for (uint32_t i = 0; i < 3; i++)
        if (t[i].rank != 4 || !dense_is_float(t[i].type) || t[i].sizes[0] != y->sizes[0])
            return false;
    if (t[0].sizes[1] != y->sizes[1] || t[0].sizes[2] != y->sizes[2] || y->sizes[1] % t[1].sizes[1] ||
        t[1].sizes[1] != t[2].sizes[1] || t[0].sizes[3] != t[1].sizes[3] || t[1].sizes[2] != t[2].sizes[2] ||
        t[2].sizes[3] != y->sizes[3])
        return false;
    return (!out->mask || (is_per_score(op, out->mask) && dense_is_float(t[out->mask].type))) &&
           (!out->keep || (is_per_score(op, out->keep) && t[out->keep].type == DML_TENSOR_DATA_TYPE_INT32)) &&
           (!out->end || is_integer_vector(&t[out->end], y->sizes[0], false)) &&
           (!out->start || is_integer_vector(&t[out->start], y->sizes[0], false)) &&
           (!out->past || is_integer_vector(&t[out->past], y->sizes[0], true)) &&
           !(out->keep && (out->end || out->start));
}

bool kern_attention_f32_accepts(const struct kern_op *op)
{
    const struct kern_view *t = op->tensors, *y = &t[op->input_count];
    struct attention_inputs in;
    if (op->epilogue || !attention_inputs_init(op, &in) || !dense_is_short_float(y->type))
        return false;
    for (uint32_t i = 0; i < (in.mask ? 4u : 3u); i++)
        if (!dense_is_short_float(t[i].type))
            return false;
    return t[0].sizes[3] <= DEPTH_MAX && y->sizes[3] <= DEPTH_MAX;
}

void attention_scratch_init(const struct kern_op *op, struct attention_scratch *out)
{
    const struct kern_view *k = &op->tensors[1], *v = &op->tensors[2], *y = &op->tensors[op->input_count];
    const uint64_t depth = k->sizes[3];
    out->rows = (uint32_t)base_align_up(BASE_MIN(y->sizes[2], ATTENTION_ROWS), ATTENTION_LINE);
    out->keys = (uint32_t)base_align_up(BASE_MIN(k->sizes[2], ATTENTION_KEYS), ATTENTION_LINE);
    out->width = (uint32_t)base_align_up(y->sizes[3], ATTENTION_STEP);
    bool copies_k = !attention_direct(k, y->sizes[2]) && !attention_in_place(k, k->sizes[3]);
    out->scores = out->rows * depth;
    out->sums = out->scores + (uint64_t)out->rows * out->keys;
    out->k = out->sums + (uint64_t)out->rows * out->width;
    out->v = out->k + (copies_k ? out->keys * depth : 0);
    out->rows_state = out->v + (attention_in_place(v, out->width) ? 0 : (uint64_t)out->keys * out->width);
    out->masks = out->rows_state + 3 * out->rows;
    out->rows4 = out->masks + 4 * out->keys;
    out->floats = out->rows4 + 4 * base_align_up(depth, 4);
}

/* The number of parts of equal units: the smallest that is close to the minimum work of a thread. */
static uint32_t count_parts(uint64_t units, uint32_t threads, uint64_t most)
{
    double best = (double)((units + threads - 1) / threads);
    uint32_t count = 1;
    for (uint32_t parts = 2; parts <= most && units * parts < 2 * (uint64_t)threads + units; parts++) {
        const double share = (double)((units * parts + threads - 1) / threads) / parts;
        if (share <= 0.8 * best) {
            best = share;
            count = parts;
        }
    }
    return count;
}

void attention_parts_init(const struct kern_op *op, uint32_t threads, struct attention_parts *out)
{
    const struct kern_view *k = &op->tensors[1], *y = &op->tensors[op->input_count];
    const uint64_t rows = BASE_MIN(y->sizes[2], ATTENTION_ROWS);
    struct attention_scratch scratch;
    attention_scratch_init(op, &scratch);
    const uint64_t key = BASE_MAX(rows * (k->sizes[3] + scratch.width) / 8, 1);
    *out = (struct attention_parts){ .units = (uint64_t)y->sizes[0] * y->sizes[1] *
                                              ((y->sizes[2] + ATTENTION_ROWS - 1) / ATTENTION_ROWS) };
    out->keys = (uint32_t)base_align_up(BASE_MAX(KERN_GRAIN / key, ATTENTION_LINE), ATTENTION_LINE);
    out->count = op->cut ? op->cut : count_parts(out->units, BASE_MAX(threads, 1), k->sizes[2] / out->keys);
    out->worker = base_align_up(scratch.floats, ATTENTION_LINE);
    out->one = 2 * (uint64_t)scratch.rows + (uint64_t)scratch.rows * scratch.width;
    out->first = out->worker * BASE_MAX(threads, 1);
}

void kern_attention_f32_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    const struct kern_view *k = &op->tensors[1], *y = &op->tensors[op->input_count];
    uint64_t rows = BASE_MIN(y->sizes[2], ATTENTION_ROWS);
    struct attention_parts parts;
    struct attention_scratch scratch;
    attention_parts_init(op, threads, &parts);
    attention_scratch_init(op, &scratch);
    *out = (struct kern_work){ .units = parts.units, .calls = KERN_CALLS, .cut = parts.count };
    out->grain = dense_grain(rows * k->sizes[2] * (k->sizes[3] + scratch.width) / 8);
    if (parts.count == 1) {
        out->worker_scratch_bytes = scratch.floats * sizeof(float);
        return;
    }
    out->units = out->grain = 1;
    out->scratch_bytes = (parts.first + parts.units * parts.count * parts.one) * sizeof(float);
}

bool kern_attention_f64_accepts(const struct kern_op *op)
{
    const struct kern_view *t = op->tensors;
    struct attention_inputs in;
    return !op->epilogue && attention_inputs_init(op, &in) && dense_same_type(op, 0, 2, DML_TENSOR_DATA_TYPE_FLOAT64) &&
           t[op->input_count].type == DML_TENSOR_DATA_TYPE_FLOAT64 &&
           (!in.mask || t[in.mask].type == DML_TENSOR_DATA_TYPE_FLOAT64);
}

void kern_attention_f64_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    const struct kern_view *k = &op->tensors[1], *y = &op->tensors[op->input_count];
    const uint64_t keys = k->sizes[2], depth = k->sizes[3], width = y->sizes[3];
    *out = (struct kern_work){ .units = (uint64_t)y->sizes[0] * y->sizes[1] *
                                        ((y->sizes[2] + ATTENTION_F64_ROWS - 1) / ATTENTION_F64_ROWS) };
    out->grain = dense_grain(keys * (depth + width + 16));
    out->worker_scratch_bytes = (ATTENTION_F64_ROWS * (attention_f64_pitch(depth) + keys + attention_f64_pitch(width)) +
                                 BASE_MAX(attention_f64_pitch(depth), attention_f64_pitch(width))) *
                                sizeof(double);
}

/* ---- the definition ---- */

bool kern_attention_any_ref_accepts(const struct kern_op *op)
{
    return !op->epilogue && attention_inputs_init(op, &(struct attention_inputs){ 0 });
}

void kern_attention_any_ref_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    const struct kern_view *k = &op->tensors[1], *v = &op->tensors[2];
    uint64_t cost = (uint64_t)k->sizes[2] * (k->sizes[3] + v->sizes[3]);
    *out = (struct kern_work){ .units = dense_rows(&op->tensors[op->input_count]), .grain = dense_grain(cost) };
    const uint64_t lines = (uint64_t)k->sizes[3] + BASE_MAX(k->sizes[3], v->sizes[3]);
    out->worker_scratch_bytes = (k->sizes[2] + v->sizes[3] + lines) * sizeof(double);
}

static double element(const struct kern_call *call, uint32_t tensor, const uint32_t *at)
{
    const struct kern_view *view = &call->op->tensors[tensor];
    return dense_load(call->data[tensor], dense_offset(view, at, view->rank), view->type);
}

/* The sum of the masks for the score of query at[2] and key n. */
static double masks(const struct kern_call *call, const struct attention_inputs *in, const uint32_t *at, uint32_t n)
{
    const uint32_t where[] = { at[0], at[1], at[2], n };
    int64_t start, end;
    attention_span(call, in, at[0], &start, &end);
    bool masked = n < start || n >= end || (in->keep && element(call, in->keep, where) == 0);
    return (in->mask ? element(call, in->mask, where) : 0) + (masked ? (double)call->op->u.attention.filter : 0);
}

/* The elements along the last dimension, from the one at `at`. */
static void load_line(const struct kern_call *call, uint32_t tensor, const uint32_t *at, double *out)
{
    const struct kern_view *view = &call->op->tensors[tensor];
    const int64_t first = dense_offset(view, at, 3);
    for (uint32_t d = 0; d < view->sizes[3]; d++)
        out[d] = dense_load(call->data[tensor], first + d * view->strides[3], view->type);
}

/* scores[n] of the first `keys` keys; returns the largest. `lines`: space for a query and a key. */
static double attention_scores(const struct kern_call *call, const struct attention_inputs *in, const uint32_t *at,
                               uint32_t keys, double *scores, double *lines)
{
    const struct kern_view *q = &call->op->tensors[0], *k = &call->op->tensors[1];
    uint32_t head = at[1] / (q->sizes[1] / k->sizes[1]);
    double *key = lines + k->sizes[3], top = -INFINITY;
    load_line(call, 0, at, lines);
    for (uint32_t n = 0; n < keys; n++) {
        double sum = 0;
        load_line(call, 1, (uint32_t[]){ at[0], head, n }, key);
        for (uint32_t d = 0; d < k->sizes[3]; d++)
            sum += lines[d] * key[d];
        scores[n] = sum * call->op->u.attention.scale + masks(call, in, at, n);
        top = scores[n] > top ? scores[n] : top;
    }
    return top;
}

void kern_attention_any_ref_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const struct kern_view *v = &call->op->tensors[2], *y = &call->op->tensors[call->op->input_count];
    double *scores = call->worker_scratch, *sums = scores + v->sizes[2], *lines = sums + v->sizes[3];
    struct attention_inputs in;
    attention_inputs_init(call->op, &in);
    for (uint64_t row = begin; row < end; row++) {
        uint32_t at[KERN_RANK_MAX];
        dense_row_at(y, row, at);
        uint32_t keys = attention_keys(call, &in, at[0], at[2]), head = at[1] / (y->sizes[1] / v->sizes[1]);
        double top = attention_scores(call, &in, at, keys, scores, lines), total = 0;
        for (uint32_t d = 0; d < v->sizes[3]; d++)
            sums[d] = 0;
        for (uint32_t n = 0; n < keys; n++) {
            double weight = exp(scores[n] - (top == -INFINITY ? 0 : top));
            total += weight;
            load_line(call, 2, (uint32_t[]){ at[0], head, n }, lines);
            for (uint32_t d = 0; d < v->sizes[3]; d++)
                sums[d] += weight * lines[d];
        }
        for (uint32_t d = 0; d < v->sizes[3]; d++)
            sums[d] = total > 0 || total != total || call->op->u.attention.undefined ? sums[d] / total : 0;
        dense_finish(call, at, v->sizes[3], sums);
    }
}
