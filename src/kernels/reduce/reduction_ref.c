/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions, softmax, normalisations and the sums of their gradients, the references: one group of elements at a time,
 * floating point in double, integers exactly (low 64 bits). */
#include "kernels/core/epilogue.h"
#include "kernels/reduce/reduction.h"
#include "kernels/row/row.h"

#include <math.h>

struct group {
    const struct kern_call *call;
    uint32_t rank, inner[KERN_RANK_MAX], index[KERN_RANK_MAX]; /* the element that is looked at */
};

static bool next(struct group *group)
{
    return kern_advance(group->rank, group->inner, group->index);
}

static double get(const struct group *group, uint32_t t)
{
    const struct kern_view *view = &group->call->op->tensors[t];
    return kern_read_double(view->type, group->call->data[t], kern_offset(view, group->index));
}

static void put(const struct group *group, uint32_t t, struct kern_number value)
{
    const struct kern_view *view = &group->call->op->tensors[t];
    kern_write(view->type, group->call->data[t], kern_offset(view, group->index), value);
}

static void each_group(const struct kern_call *call, uint64_t begin, uint64_t end, void (*visit)(struct group *group))
{
    const struct kern_view *x = &call->op->tensors[0];
    struct group group = { .call = call, .rank = x->rank };
    uint32_t outer[KERN_RANK_MAX];
    kern_split_sizes(x, kern_reduction_axes(call->op), outer, group.inner);
    for (uint64_t i = begin; i < end; i++) {
        kern_unflatten(i, x->rank, outer, group.index);
        visit(&group);
    }
}

bool kern_reduction_any_ref_accepts(const struct kern_op *op)
{
    const bool moments = op->kind == KERN_MOMENTS, sums = op->kind == KERN_GRAD_SUMS;
    const uint32_t tensors = op->input_count + op->output_count;
    if (op->kind == KERN_LP_NORM)
        return op->u.lp_norm.axis < op->tensors[0].rank && op->u.lp_norm.p > 0;
    if ((moments && (op->input_count != 1 || tensors != 3)) || (sums && (op->input_count != 3 || tensors != 6)))
        return false;
    for (uint32_t t = moments || sums ? 1 : op->input_count; t < tensors; t++)
        if (op->tensors[t].rank != op->tensors[0].rank || ((moments || sums) && !kern_type_bytes(op->tensors[t].type)))
            return false;
    return op->kind != KERN_REDUCE || (unsigned)op->u.reduce.function <= DML_REDUCE_FUNCTION_SUM_SQUARE;
}

void kern_reduction_any_ref_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    uint64_t length = 1;
    for (uint32_t d = 0; d < op->tensors[0].rank; d++)
        length *= kern_reduction_axes(op) >> d & 1 ? op->tensors[0].sizes[d] : 1;
    *out = (struct kern_work){ .units = kern_view_elements(&op->tensors[0]) / length };
    out->grain = kern_type_bytes(op->tensors[op->input_count].type) ? BASE_MAX(1, 4096 / length) : out->units;
}

/* ---- reductions ---- */

struct total {
    DML_REDUCE_FUNCTION function;
    bool last, nan; /* as struct kern_reduce has them */
    uint64_t count;
    struct kern_number value; /* running sum, product or extreme */
    double scaled;            /* LOG_SUM_EXP: sum of e^(x - value) */
    uint64_t position;
};

static struct kern_number size_of(struct kern_number a)
{
    if (a.class == KERN_CLASS_FLOAT)
        a.f = fabs(a.f);
    else if (a.class == KERN_CLASS_SIGNED && a.i < 0)
        a.u = 0 - a.u;
    return a;
}

static bool is_nan(struct kern_number a)
{
    return a.class == KERN_CLASS_FLOAT && a.f != a.f;
}

/* Should `b` replace the extreme? */
static bool replaces(const struct total *total, struct kern_number b, bool greatest)
{
    struct kern_number a = total->value;
    if (!total->count)
        return true;
    if (is_nan(a) || is_nan(b))
        return is_nan(total->nan ? b : a) && !is_nan(total->nan ? a : b);
    if (greatest ? kern_number_less(a, b) : kern_number_less(b, a))
        return true;
    return total->last && !kern_number_less(a, b) && !kern_number_less(b, a);
}

static void add_exponential(struct total *total, double x)
{
    double top = total->count ? total->value.f : -INFINITY;
    if (x != x || top != top || x <= top) {
        total->scaled += x == top ? 1 : exp(x - top);
        total->value.f = x != x ? x : top;
        return;
    }
    total->scaled = total->scaled * exp(top - x) + 1;
    total->value.f = x;
}

static void add(struct total *total, struct kern_number x)
{
    const bool greatest = total->function == DML_REDUCE_FUNCTION_MAX || total->function == DML_REDUCE_FUNCTION_ARGMAX;
    switch (total->function) {
    case DML_REDUCE_FUNCTION_ARGMAX:
    case DML_REDUCE_FUNCTION_ARGMIN:
    case DML_REDUCE_FUNCTION_MAX:
    case DML_REDUCE_FUNCTION_MIN:
        if (!replaces(total, x, greatest))
            break;
        total->value = x;
        total->position = total->count;
        break;
    case DML_REDUCE_FUNCTION_L1:
        total->value = kern_number_sum(total->value, size_of(x));
        break;
    case DML_REDUCE_FUNCTION_L2:
    case DML_REDUCE_FUNCTION_SUM_SQUARE:
        total->value = kern_number_sum(total->value, kern_number_product(x, x));
        break;
    case DML_REDUCE_FUNCTION_MULTIPLY:
        total->value = total->count ? kern_number_product(total->value, x) : x;
        break;
    case DML_REDUCE_FUNCTION_LOG_SUM_EXP:
        add_exponential(total, x.f);
        break;
    default:
        total->value = kern_number_sum(total->value, x);
        break;
    }
    total->count++;
}

static double as_double(struct kern_number x)
{
    return kern_number_to(DML_TENSOR_DATA_TYPE_FLOAT64, x).f;
}

static struct kern_number average(const struct total *total)
{
    struct kern_number value = total->value;
    if (value.class == KERN_CLASS_FLOAT)
        value.f /= (double)total->count;
    else if (value.class == KERN_CLASS_SIGNED)
        value.i /= (int64_t)total->count;
    else
        value.u /= total->count;
    return value;
}

static struct kern_number result(const struct total *total)
{
    switch (total->function) {
    case DML_REDUCE_FUNCTION_ARGMAX:
    case DML_REDUCE_FUNCTION_ARGMIN:
        return kern_from_integer(total->position);
    case DML_REDUCE_FUNCTION_AVERAGE:
        return average(total);
    case DML_REDUCE_FUNCTION_L2:
        return kern_from_double(sqrt(as_double(total->value)));
    case DML_REDUCE_FUNCTION_LOG_SUM:
        return kern_from_double(log(as_double(total->value)));
    case DML_REDUCE_FUNCTION_LOG_SUM_EXP:
        if (isinf(total->value.f))
            return total->value;
        return kern_from_double(total->value.f + log(total->scaled));
    default:
        return total->value;
    }
}

static void reduce(struct group *group)
{
    const struct kern_reduce *op = &group->call->op->u.reduce;
    const struct kern_view *x = &group->call->op->tensors[0];
    struct total total = {
        .function = op->function, .last = op->last, .nan = op->nan, .value.class = kern_type_class(x->type)
    };
    do
        add(&total, kern_read(x->type, group->call->data[0], kern_offset(x, group->index)));
    while (next(group));
    put(group, 1, result(&total));
}

/* ---- softmax ---- */

static void softmax(struct group *group)
{
    const enum kern_softmax_mode mode = group->call->op->u.softmax.mode;
    double top = NAN, sum = 0; /* a number wins over NaN */
    uint64_t position = 0, i = 0;
    do {
        double x = get(group, 0);
        if (x > top || (top != top && x == x)) {
            top = x;
            position = i;
        }
        i++;
    } while (next(group));
    do
        sum += exp(get(group, 0) - top);
    while (next(group));
    i = 0;
    do {
        double x = get(group, 0) - top;
        if (mode == KERN_SOFTMAX_HARD)
            put(group, 1, kern_from_double(i++ == position));
        else
            put(group, 1, kern_from_double(mode == KERN_SOFTMAX_LOG ? x - log(sum) : exp(x) / sum));
    } while (next(group));
}

/* ---- normalisations ---- */

/* The mean, 0 unless it is requested, and the mean square of the differences from it. */
static void moments_of(struct group *group, bool use_mean, double *mean, double *variance)
{
    double sum = 0, squares = 0, count = 0;
    do {
        sum += get(group, 0);
        count++;
    } while (next(group));
    *mean = use_mean ? sum / count : 0;
    do {
        double difference = get(group, 0) - *mean;
        squares += difference * difference;
    } while (next(group));
    *variance = squares / count;
}

static void moments(struct group *group)
{
    double mean, variance;
    moments_of(group, true, &mean, &variance);
    put(group, 1, kern_from_double(mean));
    put(group, 2, kern_from_double(variance));
}

static void norm(struct group *group)
{
    const struct kern_norm *op = &group->call->op->u.norm;
    double mean, variance;
    moments_of(group, op->use_mean, &mean, &variance);
    const double scale = op->use_variance ? 1 / sqrt(variance + op->epsilon) : 1;
    do {
        double y = (get(group, 0) - mean) * scale;
        if (op->has_scale)
            y *= get(group, 1);
        if (op->has_bias)
            y += get(group, 1 + op->has_scale);
        kern_epilogue_store(group->call, group->index, y);
    } while (next(group));
}

static void lp_norm(struct group *group)
{
    const struct kern_lp_norm *op = &group->call->op->u.lp_norm;
    const uint32_t p = op->p;
    double sum = 0;
    do {
        double x = fabs(get(group, 0));
        sum += p == 1 ? x : p == 2 ? x * x : pow(x, p);
    } while (next(group));
    sum = p == 1 ? sum : p == 2 ? sqrt(sum) : pow(sum, 1.0 / p);
    if (!op->nan || !isnan(sum))
        sum = fmax(sum, op->epsilon);
    do
        kern_epilogue_store(group->call, group->index, get(group, 0) / sum);
    while (next(group));
}

static void grad_sums(struct group *group)
{
    double sums[3] = { 0 };
    do {
        double difference = get(group, 0) - get(group, 2), g = get(group, 1);
        sums[0] += g;
        sums[1] += g * difference;
        sums[2] += difference;
    } while (next(group));
    for (uint32_t s = 0; s < 3; s++)
        put(group, 3 + s, kern_from_double(sums[s]));
}

/* ---- kernels of the table ---- */

#define REF_ROW(name)                                                                                                  \
    void kern_##name##_any_ref_run(const struct kern_call *call, uint64_t begin, uint64_t end)                         \
    {                                                                                                                  \
        each_group(call, begin, end, name);                                                                            \
    }
REF_ROW(reduce)
REF_ROW(softmax)
REF_ROW(moments)
REF_ROW(norm)
REF_ROW(lp_norm)
REF_ROW(grad_sums)
