/* Reductions, one output element at a time: floating point in double, integers exactly (low 64 bits). */
#include "kernels/core/number.h"

#include <math.h>

struct total {
    DML_REDUCE_FUNCTION function;
    bool last;
    uint64_t count;
    struct kern_number value; /* running sum, product or extreme */
    double scaled;            /* LOG_SUM_EXP: sum of e^(x - value) */
    uint64_t position;
};

static bool greater(struct kern_number a, struct kern_number b)
{
    if (a.class == KERN_CLASS_FLOAT)
        return a.f > b.f;
    return a.class == KERN_CLASS_SIGNED ? a.i > b.i : a.u > b.u;
}

static bool is_nan(struct kern_number a)
{
    return a.class == KERN_CLASS_FLOAT && a.f != a.f;
}

/* Should `b` replace the extreme `a`? A number wins over NaN. */
static bool replaces(const struct total *total, struct kern_number b, bool greatest)
{
    struct kern_number a = total->value;
    if (is_nan(a) || is_nan(b))
        return is_nan(a) && !is_nan(b);
    if (greatest ? greater(b, a) : greater(a, b))
        return true;
    return total->last && !greater(a, b) && !greater(b, a);
}

static void extreme(struct total *total, struct kern_number x, bool greatest)
{
    if (total->count && !replaces(total, x, greatest))
        return;
    total->value = x;
    total->position = total->count;
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

static void add_float(struct total *total, double x)
{
    switch (total->function) {
    case DML_REDUCE_FUNCTION_L1:
        total->value.f += fabs(x);
        break;
    case DML_REDUCE_FUNCTION_L2:
    case DML_REDUCE_FUNCTION_SUM_SQUARE:
        total->value.f += x * x;
        break;
    case DML_REDUCE_FUNCTION_MULTIPLY:
        total->value.f = total->count ? total->value.f * x : x;
        break;
    case DML_REDUCE_FUNCTION_LOG_SUM_EXP:
        add_exponential(total, x);
        break;
    default:
        total->value.f += x;
        break;
    }
}

static void add_integer(struct total *total, struct kern_number x)
{
    uint64_t size = x.class == KERN_CLASS_SIGNED && x.i < 0 ? 0 - x.u : x.u;
    switch (total->function) {
    case DML_REDUCE_FUNCTION_L1:
        total->value.u += size;
        break;
    case DML_REDUCE_FUNCTION_L2:
    case DML_REDUCE_FUNCTION_SUM_SQUARE:
        total->value.u += x.u * x.u;
        break;
    case DML_REDUCE_FUNCTION_MULTIPLY:
        total->value.u = total->count ? total->value.u * x.u : x.u;
        break;
    default:
        total->value.u += x.u;
        break;
    }
}

static void add(struct total *total, struct kern_number x)
{
    bool greatest = total->function == DML_REDUCE_FUNCTION_MAX || total->function == DML_REDUCE_FUNCTION_ARGMAX;
    if (greatest || total->function == DML_REDUCE_FUNCTION_MIN || total->function == DML_REDUCE_FUNCTION_ARGMIN)
        extreme(total, x, greatest);
    else if (x.class == KERN_CLASS_FLOAT)
        add_float(total, x.f);
    else
        add_integer(total, x);
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
        return (struct kern_number){ .class = KERN_CLASS_UNSIGNED, .u = total->position };
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

bool kern_reduce_any_ref_accepts(const struct kern_op *op)
{
    return op->tensors[0].rank == op->tensors[1].rank &&
           (unsigned)op->u.reduce.function <= DML_REDUCE_FUNCTION_SUM_SQUARE;
}

void kern_reduce_any_ref_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    uint64_t outputs = kern_view_elements(&op->tensors[1]);
    uint64_t length = BASE_MAX(1, kern_view_elements(&op->tensors[0]) / outputs);
    *out = (struct kern_work){ .units = outputs, .grain = BASE_MAX(1, 16384 / length) };
    if (!kern_type_bytes(op->tensors[1].type))
        out->grain = outputs;
}

void kern_reduce_any_ref_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const struct kern_reduce *reduce = &call->op->u.reduce;
    const struct kern_view *x = &call->op->tensors[0], *y = &call->op->tensors[1];
    uint32_t outer[KERN_RANK_MAX], inner[KERN_RANK_MAX], index[KERN_RANK_MAX];
    kern_split_sizes(x, reduce->axes, outer, inner);
    for (uint64_t i = begin; i < end; i++) {
        struct total total = { .function = reduce->function, .last = reduce->last };
        kern_unflatten(i, x->rank, outer, index);
        int64_t offset = kern_offset(y, index);
        total.value.class = kern_type_class(x->type);
        do
            add(&total, kern_read(x->type, call->data[0], kern_offset(x, index)));
        while (kern_advance(x->rank, inner, index));
        kern_write(y->type, call->data[1], offset, result(&total));
    }
}
