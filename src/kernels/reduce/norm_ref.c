/* Mean-variance normalisation and Lp normalisation, one group of elements at a time, in double. */
#include "kernels/core/epilogue.h"
#include "kernels/map/map.h"

#include <math.h>

static uint64_t reduction_count(const struct kern_view *x, uint32_t axes, uint64_t *out_length)
{
    uint64_t groups = 1;
    *out_length = 1;
    for (uint32_t i = 0; i < x->rank; i++)
        *(axes >> i & 1 ? out_length : &groups) *= x->sizes[i];
    return groups;
}

static double read_at(const struct kern_call *call, uint32_t tensor, const uint32_t *index)
{
    const struct kern_view *view = &call->op->tensors[tensor];
    return kern_read_double(view->type, call->data[tensor], kern_offset(view, index));
}

struct moments {
    double mean, scale;
};

static struct moments reduction_moments(const struct kern_call *call, const uint32_t *inner, uint32_t *index)
{
    const struct kern_norm *norm = &call->op->u.norm;
    uint32_t rank = call->op->tensors[0].rank;
    struct moments moments = { 0, 1 };
    double sum = 0, squares = 0, count = 0;
    if (norm->use_mean) {
        do {
            sum += read_at(call, 0, index);
            count++;
        } while (kern_advance(rank, inner, index));
        moments.mean = sum / count;
    }
    if (!norm->use_variance)
        return moments;
    count = 0;
    do {
        double x = read_at(call, 0, index) - moments.mean;
        squares += x * x;
        count++;
    } while (kern_advance(rank, inner, index));
    moments.scale = 1 / sqrt(squares / count + norm->epsilon);
    return moments;
}

bool kern_norm_any_ref_accepts(const struct kern_op *op)
{
    return op->tensors[0].rank == op->tensors[op->input_count].rank;
}

void kern_norm_any_ref_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    uint64_t length;
    out->units = reduction_count(&op->tensors[0], op->u.norm.axes, &length);
    out->grain = BASE_MAX(1, 4096 / length);
    out->scratch_bytes = 0;
    out->worker_scratch_bytes = 0;
}

void kern_norm_any_ref_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const struct kern_norm *norm = &call->op->u.norm;
    const struct kern_view *x = &call->op->tensors[0];
    uint32_t outer[KERN_RANK_MAX], inner[KERN_RANK_MAX], index[KERN_RANK_MAX];
    kern_split_sizes(x, norm->axes, outer, inner);
    for (uint64_t i = begin; i < end; i++) {
        kern_unflatten(i, x->rank, outer, index);
        struct moments moments = reduction_moments(call, inner, index);
        do {
            double y = (read_at(call, 0, index) - moments.mean) * moments.scale;
            if (norm->has_scale)
                y *= read_at(call, 1, index);
            if (norm->has_bias)
                y += read_at(call, 1 + norm->has_scale, index);
            kern_epilogue_store(call, index, y);
        } while (kern_advance(x->rank, inner, index));
    }
}

bool kern_lp_norm_any_ref_accepts(const struct kern_op *op)
{
    return op->u.lp_norm.axis < op->tensors[0].rank && op->u.lp_norm.p > 0;
}

void kern_lp_norm_any_ref_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    uint64_t length;
    uint64_t groups = reduction_count(&op->tensors[0], 1u << op->u.lp_norm.axis, &length);
    *out = (struct kern_work){ .units = groups, .grain = BASE_MAX(1, 4096 / length) };
}

static double lp_size(const struct kern_call *call, const uint32_t *inner, uint32_t *index)
{
    uint32_t p = call->op->u.lp_norm.p;
    double sum = 0;
    do {
        double x = fabs(read_at(call, 0, index));
        sum += p == 1 ? x : p == 2 ? x * x : pow(x, p);
    } while (kern_advance(call->op->tensors[0].rank, inner, index));
    return p == 1 ? sum : p == 2 ? sqrt(sum) : pow(sum, 1.0 / p);
}

void kern_lp_norm_any_ref_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const struct kern_lp_norm *norm = &call->op->u.lp_norm;
    const struct kern_view *x = &call->op->tensors[0];
    uint32_t outer[KERN_RANK_MAX], inner[KERN_RANK_MAX], index[KERN_RANK_MAX];
    kern_split_sizes(x, 1u << norm->axis, outer, inner);
    for (uint64_t i = begin; i < end; i++) {
        kern_unflatten(i, x->rank, outer, index);
        double size = fmax(lp_size(call, inner, index), norm->epsilon);
        do
            kern_epilogue_store(call, index, read_at(call, 0, index) / size);
        while (kern_advance(x->rank, inner, index));
    }
}
