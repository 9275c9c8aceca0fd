/* Softmax, log-softmax and hardmax, one group of elements at a time, in double. */
#include "kernels/core/number.h"

#include <math.h>

struct group {
    const struct kern_call *call;
    const struct kern_view *x, *y;
    uint32_t inner[KERN_RANK_MAX];
    uint32_t index[KERN_RANK_MAX];
};

static double read_x(const struct group *group)
{
    return kern_read_double(group->x->type, group->call->data[0], kern_offset(group->x, group->index));
}

static void write_y(const struct group *group, double value)
{
    kern_write_double(group->y->type, group->call->data[1], kern_offset(group->y, group->index), value);
}

static bool next(struct group *group)
{
    return kern_advance(group->x->rank, group->inner, group->index);
}

/* The greatest element, and how many come before its first occurrence. A number wins over NaN. */
static double find_top(struct group *group, uint64_t *out_position)
{
    double top = NAN;
    uint64_t i = 0;
    *out_position = 0;
    do {
        double x = read_x(group);
        if (x > top || (top != top && x == x)) {
            top = x;
            *out_position = i;
        }
        i++;
    } while (next(group));
    return top;
}

static void hardmax(struct group *group)
{
    uint64_t position, i = 0;
    find_top(group, &position);
    do
        write_y(group, i++ == position);
    while (next(group));
}

static void softmax(struct group *group, bool logarithm)
{
    uint64_t position;
    double top = find_top(group, &position), sum = 0;
    do
        sum += exp(read_x(group) - top);
    while (next(group));
    do {
        double x = read_x(group) - top;
        write_y(group, logarithm ? x - log(sum) : exp(x) / sum);
    } while (next(group));
}

bool kern_softmax_any_ref_accepts(const struct kern_op *op)
{
    return op->tensors[0].rank == op->tensors[1].rank;
}

void kern_softmax_any_ref_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    uint64_t groups = 1, length = 1;
    const struct kern_view *x = &op->tensors[0];
    for (uint32_t i = 0; i < x->rank; i++)
        *(op->u.softmax.axes >> i & 1 ? &length : &groups) *= x->sizes[i];
    *out = (struct kern_work){ .units = groups, .grain = BASE_MAX(1, 2048 / length) };
}

void kern_softmax_any_ref_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const struct kern_softmax *softmax_op = &call->op->u.softmax;
    struct group group = { .call = call, .x = &call->op->tensors[0], .y = &call->op->tensors[1] };
    uint32_t outer[KERN_RANK_MAX];
    kern_split_sizes(group.x, softmax_op->axes, outer, group.inner);
    for (uint64_t i = begin; i < end; i++) {
        kern_unflatten(i, group.x->rank, outer, group.index);
        if (softmax_op->mode == KERN_SOFTMAX_HARD)
            hardmax(&group);
        else
            softmax(&group, softmax_op->mode == KERN_SOFTMAX_LOG);
    }
}
