#include "kernels/resample/resample.h"

#include <math.h>

/* A dimension that takes more than two inputs: the filter is as wide as one output element. */
static bool antialiased(const struct kern_op *op, uint32_t d)
{
    const struct kern_resample *r = &op->u.resample;
    return r->antialiased && !r->transposed && r->mode == DML_INTERPOLATION_MODE_LINEAR &&
           1.0 / (double)r->scales[d] > 2;
}

static uint64_t max_weights(const struct kern_op *op, uint32_t d)
{
    uint64_t in = op->tensors[0].sizes[d], out = op->tensors[1].sizes[d];
    if (op->u.resample.transposed)
        return 2 * in;
    double wide = 2.0 / (double)op->u.resample.scales[d] + 2;
    return antialiased(op, d) ? out * (wide < (double)in ? (uint64_t)wide : in) : 2 * out;
}

uint64_t resample_table_bytes(const struct kern_op *op, uint32_t d)
{
    uint64_t lists = (uint64_t)op->tensors[1].sizes[d] * sizeof(struct resample_list);
    return base_align_up(lists + max_weights(op, d) * sizeof(float), 8);
}

/* The triangle of half width f around x, summed over the integers from a to b, all on one side of x. */
static double side_sum(double x, double f, double a, double b)
{
    double count = b - a + 1, distance = fabs((a + b) / 2 - x);
    return count > 0 ? count * (1 - distance / f) : 0;
}

static double triangle_sum(double x, double f, double a, double b)
{
    double middle = floor(x), low = ceil(x - f), high = floor(x + f);
    a = a > low ? a : low;
    b = b < high ? b : high;
    return side_sum(x, f, a, b < middle ? b : middle) + side_sum(x, f, a > middle ? a : middle + 1, b);
}

/* Positions before and after the input count for its first and last element. Returns how many weights were made. */
static uint32_t widened(const struct kern_op *op, uint32_t d, uint32_t out, struct resample_list *list, float *weights)
{
    double f = 1.0 / (double)op->u.resample.scales[d], x = resample_position(op, d, out);
    double last = (double)op->tensors[0].sizes[d] - 1;
    if (!isfinite(x)) {
        *list = (struct resample_list){ .first = x > 0 ? (uint32_t)last : 0, .count = 1, .weights = list->weights };
        weights[0] = 1;
        return 1;
    }
    double low = fmin(fmax(floor(x - f) + 1, 0), last), high = fmax(fmin(ceil(x + f) - 1, last), low);
    double total = triangle_sum(x, f, -INFINITY, INFINITY);
    list->first = (uint32_t)low;
    list->count = (uint32_t)(high - low) + 1;
    for (uint32_t i = 0; i < list->count; i++) {
        double j = low + i;
        double a = j == 0 ? -INFINITY : j, b = j == last ? INFINITY : j;
        weights[i] = (float)(triangle_sum(x, f, a, b) / total);
    }
    return list->count;
}

static void forward(const struct kern_op *op, uint32_t d, struct resample_table *table)
{
    uint32_t used = 0;
    for (uint32_t o = 0; o < op->tensors[1].sizes[d]; o++) {
        struct resample_list *list = &table->lists[o];
        list->weights = used;
        if (antialiased(op, d)) {
            used += widened(op, d, o, list, table->weights + used);
            continue;
        }
        struct resample_tap tap = resample_tap(op, d, o);
        list->first = (uint32_t)tap.i0;
        list->count = tap.w != 0 ? 2 : 1;
        table->weights[used++] = 1 - tap.w;
        if (tap.w != 0)
            table->weights[used++] = tap.w;
    }
}

/* An element of the forward input takes from all forward outputs that read it. Positions never fall from one output to
 * the next, so those that read an element are neighbours. */
static void backward(const struct kern_op *op, uint32_t d, struct resample_table *table)
{
    uint32_t used = 0, size = op->tensors[1].sizes[d], outputs = op->tensors[0].sizes[d];
    for (uint32_t i = 0; i < size; i++)
        table->lists[i] = (struct resample_list){ 0 };
    for (uint32_t o = 0; o < outputs; o++) {
        struct resample_tap tap = resample_tap(op, d, o);
        struct resample_list *lower = &table->lists[tap.i0], *upper = &table->lists[tap.i1];
        lower->first = lower->count++ ? lower->first : o;
        if (tap.w != 0)
            upper->first = upper->count++ ? upper->first : o;
    }
    for (uint32_t i = 0; i < size; i++) {
        table->lists[i].weights = used;
        used += table->lists[i].count;
    }
    for (uint32_t o = 0; o < outputs; o++) {
        struct resample_tap tap = resample_tap(op, d, o);
        struct resample_list *lower = &table->lists[tap.i0], *upper = &table->lists[tap.i1];
        table->weights[lower->weights + o - lower->first] = 1 - tap.w;
        if (tap.w != 0)
            table->weights[upper->weights + o - upper->first] = tap.w;
    }
}

void resample_table_init(const struct kern_op *op, uint32_t d, void *memory, struct resample_table *out)
{
    out->lists = memory;
    out->weights = (float *)(out->lists + op->tensors[1].sizes[d]);
    if (op->u.resample.transposed)
        backward(op, d, out);
    else
        forward(op, d, out);
}

static bool row_type(DML_TENSOR_DATA_TYPE type)
{
    return dense_is_short_float(type) || type == DML_TENSOR_DATA_TYPE_INT8 || type == DML_TENSOR_DATA_TYPE_UINT8;
}

bool kern_resample_table_f32_accepts(const struct kern_op *op)
{
    return resample_table_accepts(op) && row_type(op->tensors[0].type);
}

void kern_resample_table_f32_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    struct resample_plan plan;
    resample_plan_init(op, &plan);
    *out = (struct kern_work){ .units = kern_view_elements(&plan.y) / plan.out };
    out->grain = dense_grain(4 * ((uint64_t)plan.out + plan.in));
    for (uint32_t d = 0; d < op->tensors[1].rank; d++)
        out->worker_scratch_bytes += resample_table_bytes(op, d);
    out->worker_scratch_bytes += (2ull * plan.in + plan.out) * sizeof(float);
}
