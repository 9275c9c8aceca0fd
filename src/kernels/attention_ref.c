/* Scaled dot-product attention, the definition: Y = softmax(scale * Q K^T + mask) V, row by row in double. A row whose
 * scores are all -infinity gives zeros. */
#include "kernels/dense.h"

#include <math.h>

bool kern_attention_any_ref_accepts(const struct kern_op *op)
{
    const struct kern_view *t = op->tensors, *y = &t[op->input_count];
    if (op->epilogue || op->input_count != (op->u.attention.has_mask ? 4u : 3u) || !dense_is_float(y->type))
        return false;
    for (uint32_t i = 0; i <= op->input_count; i++) {
        if (t[i].rank != 4 || !dense_is_float(t[i].type))
            return false;
    }
    return t[0].sizes[3] == t[1].sizes[3] && t[1].sizes[2] == t[2].sizes[2] && t[2].sizes[3] == y->sizes[3];
}

void kern_attention_any_ref_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    (void)state;
    (void)threads;
    const struct kern_view *k = &op->tensors[1], *v = &op->tensors[2];
    uint64_t cost = (uint64_t)k->sizes[2] * (k->sizes[3] + v->sizes[3]);
    *out = (struct kern_work){ .units = dense_rows(&op->tensors[op->input_count]), .grain = dense_grain(cost) };
    out->worker_scratch_bytes = ((uint64_t)k->sizes[2] + v->sizes[3]) * sizeof(double);
}

/* scores[n] = scale * q . k[n] + mask[n]; returns the greatest. */
static double attention_scores(const struct kern_call *call, const uint32_t *at, double *scores)
{
    const struct kern_view *q = &call->op->tensors[0], *k = &call->op->tensors[1], *mask = &call->op->tensors[3];
    int64_t q_at = dense_offset(q, at, 3), k_at = dense_offset(k, at, 2), mask_at = 0, mask_step = 0;
    double top = -INFINITY;
    if (call->op->u.attention.has_mask) {
        mask_at = dense_offset(mask, at, 3);
        mask_step = mask->sizes[3] > 1 ? mask->strides[3] : 0;
    }
    for (uint32_t n = 0; n < k->sizes[2]; n++) {
        double sum = 0;
        for (uint32_t d = 0; d < k->sizes[3]; d++)
            sum += dense_load(call->data[0], q_at + d * q->strides[3], q->type) *
                   dense_load(call->data[1], k_at + n * k->strides[2] + d * k->strides[3], k->type);
        sum *= call->op->u.attention.scale;
        if (call->op->u.attention.has_mask)
            sum += dense_load(call->data[3], mask_at + n * mask_step, mask->type);
        scores[n] = sum;
        top = sum > top ? sum : top;
    }
    return top;
}

void kern_attention_any_ref_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const struct kern_view *v = &call->op->tensors[2], *y = &call->op->tensors[call->op->input_count];
    double *scores = call->worker_scratch, *sums = scores + v->sizes[2];
    for (uint64_t row = begin; row < end; row++) {
        uint32_t at[KERN_RANK_MAX];
        dense_row_at(y, row, at);
        double top = attention_scores(call, at, scores), total = 0;
        int64_t v_at = dense_offset(v, at, 2);
        for (uint32_t d = 0; d < v->sizes[3]; d++)
            sums[d] = 0;
        for (uint32_t n = 0; n < v->sizes[2]; n++) {
            double weight = top == -INFINITY ? 0 : exp(scores[n] - top);
            total += weight;
            for (uint32_t d = 0; d < v->sizes[3]; d++)
                sums[d] += weight * dense_load(call->data[2], v_at + n * v->strides[2] + d * v->strides[3], v->type);
        }
        for (uint32_t d = 0; d < v->sizes[3]; d++)
            sums[d] = total > 0 || total != total ? sums[d] / total : 0;
        dense_finish(call, at, v->sizes[3], sums);
    }
}
