/* Reductions of FLOAT32 and FLOAT16. */
#include "kernels/reduce/reduction.h"

#include <math.h>

static bool is_position(DML_REDUCE_FUNCTION function)
{
    return function == DML_REDUCE_FUNCTION_ARGMAX || function == DML_REDUCE_FUNCTION_ARGMIN;
}

bool kern_reduce_float_accepts(const struct kern_op *op)
{
    DML_TENSOR_DATA_TYPE to = op->tensors[1].type;
    if (!kern_reductions_accept(op) || op->tensors[0].rank != op->tensors[1].rank || !kern_type_bytes(to) ||
        op->epilogue)
        return false;
    return kern_view_elements(&op->tensors[0]) / kern_view_elements(&op->tensors[1]) < UINT32_MAX;
}

void kern_reduce_float_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    kern_reductions_plan(op, op->u.reduce.axes, 0, out);
}

static enum kern_stat stat_of(DML_REDUCE_FUNCTION function)
{
    switch (function) {
    case DML_REDUCE_FUNCTION_L1:
        return KERN_STAT_SIZE;
    case DML_REDUCE_FUNCTION_L2:
    case DML_REDUCE_FUNCTION_SUM_SQUARE:
        return KERN_STAT_SQUARES;
    case DML_REDUCE_FUNCTION_MAX:
    case DML_REDUCE_FUNCTION_LOG_SUM_EXP:
        return KERN_STAT_MAX;
    case DML_REDUCE_FUNCTION_MIN:
        return KERN_STAT_MIN;
    case DML_REDUCE_FUNCTION_MULTIPLY:
        return KERN_STAT_PRODUCT;
    default:
        return KERN_STAT_SUM;
    }
}

/* ln of the sum of e^x = top + ln of the sum of e^(x - top) */
static void log_sum_exp(const struct kern_reductions *groups, uint64_t first, uint32_t width, double *sum)
{
    float *top = groups->scratch->a;
    for (uint32_t i = 0; i < width; i++)
        top[i] = (float)sum[i];
    kern_reductions_stat(groups, KERN_STAT_EXP, first, width, top, sum);
    for (uint32_t i = 0; i < width; i++)
        sum[i] = isinf(top[i]) ? top[i] : top[i] + log(sum[i]);
}

static double finished(DML_REDUCE_FUNCTION function, double value, double count)
{
    switch (function) {
    case DML_REDUCE_FUNCTION_AVERAGE:
        return value / count;
    case DML_REDUCE_FUNCTION_L2:
        return sqrt(value);
    case DML_REDUCE_FUNCTION_LOG_SUM:
        return log(value);
    default:
        return value;
    }
}

/* Writes one dense value per group of the tile. */
static void store(const struct kern_reductions *groups, uint64_t first, uint32_t width, DML_TENSOR_DATA_TYPE from,
                  const void *values)
{
    const struct kern_view *y = &groups->call->op->tensors[1];
    uint64_t converted[KERN_REDUCTION_TILE];
    int64_t offset = kern_iterator_offset(&groups->outer, 1, first);
    kern_convert(groups->isa->map, y->type, converted, from, values, width);
    kern_copy_row(kern_type_bytes(y->type), (void *)kern_at(groups->call->data[1], y->type, offset),
                  groups->outer.strides[1][groups->outer.rank - 1], converted, 1, width);
}

static void store_sums(const struct kern_reductions *groups, uint64_t first, uint32_t width)
{
    const double *sum = groups->scratch->sum;
    float *out = groups->scratch->b;
    for (uint32_t i = 0; i < width; i++)
        out[i] = (float)finished(groups->call->op->u.reduce.function, sum[i], (double)groups->inner.count);
    store(groups, first, width, DML_TENSOR_DATA_TYPE_FLOAT32, out);
}

void kern_reduce_run(const struct kern_call *call, const struct kern_reduction_isa *isa, uint64_t begin, uint64_t end)
{
    const struct kern_reduce *reduce = &call->op->u.reduce;
    struct kern_reductions groups;
    kern_reductions_init(&groups, call, isa, reduce->axes, is_position(reduce->function));
    double *sum = groups.scratch->sum;
    if (reduce->function == DML_REDUCE_FUNCTION_MULTIPLY) {
        groups.columns = false; /* a product's error has no room for FLOAT32 */
        groups.tile = 64;
    }
    memset(groups.scratch->a, 0, groups.scratch->tile * sizeof(*groups.scratch->a));
    for (uint32_t width; begin < end; begin += width) {
        width = kern_reductions_width(&groups, begin, end);
        if (is_position(reduce->function)) {
            kern_reductions_position(&groups, reduce->function == DML_REDUCE_FUNCTION_ARGMAX, reduce->last, begin,
                                     width, groups.scratch->position);
            store(&groups, begin, width, DML_TENSOR_DATA_TYPE_UINT32, groups.scratch->position);
            continue;
        }
        kern_reductions_stat(&groups, stat_of(reduce->function), begin, width, groups.scratch->a, sum);
        if (reduce->function == DML_REDUCE_FUNCTION_LOG_SUM_EXP)
            log_sum_exp(&groups, begin, width, sum);
        store_sums(&groups, begin, width);
    }
}
