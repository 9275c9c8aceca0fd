/* Reductions, moments, softmax and normalisation of FLOAT64, a few groups side by side: each group's elements join in
 * the order of their indices, as in the references, so that results are theirs. */
#include "kernels/core/dense.h"
#include "kernels/core/number.h"
#include "kernels/core/iterator.h"

#include <math.h>

#define LANES 8 /* groups at once: sums that do not wait for one another */

struct f64_reduction {
    const struct kern_call *call;
    struct kern_iterator outer, inner; /* over the groups, within one; views are the op's tensors */
};

static void iterators_init(struct f64_reduction *groups, const struct kern_op *op, uint32_t axes)
{
    uint32_t tensors[KERN_TENSORS_MAX], count = op->input_count + op->output_count;
    for (uint32_t i = 0; i < count; i++)
        tensors[i] = i;
    kern_iterator_init(&groups->outer, op, tensors, count, ~axes, 0);
    kern_iterator_init(&groups->inner, op, tensors, count, axes, KERN_ITERATOR_ROW_MAJOR);
}

static bool all_doubles(const struct kern_op *op, uint32_t tensors)
{
    return dense_same_type(op, 0, tensors - 1, DML_TENSOR_DATA_TYPE_FLOAT64) && !op->epilogue;
}

static void plan(const struct kern_op *op, uint32_t axes, struct kern_work *out)
{
    struct f64_reduction groups;
    iterators_init(&groups, op, axes);
    *out = (struct kern_work){ .units = groups.outer.count };
    out->grain = BASE_MAX(LANES, 16384 / groups.inner.count);
}

/* Groups of the next tile: they lie evenly apart. */
static uint32_t width(const struct f64_reduction *groups, uint64_t begin, uint64_t end)
{
    return (uint32_t)BASE_MIN(BASE_MIN(end - begin, LANES), kern_iterator_row_left(&groups->outer, begin));
}

/* One row within the groups of a tile: element i of group g is data[t][i * along[t] + g * across[t]]. */
struct f64_row {
    double *data[KERN_TENSORS_MAX];
    int64_t along[KERN_TENSORS_MAX], across[KERN_TENSORS_MAX];
    uint32_t lanes;
    uint64_t first, count; /* the row's first element, counted within the group */
};

struct f64_rows {
    const struct f64_reduction *groups;
    uint64_t begin; /* the tile's first group */
    struct kern_cursor cursor;
    struct f64_row row;
};

static void rows_place(struct f64_rows *rows)
{
    const struct f64_reduction *groups = rows->groups;
    for (uint32_t t = 0; t < groups->outer.views; t++) {
        int64_t at = kern_iterator_offset(&groups->outer, t, rows->begin) + rows->cursor.offset[t];
        rows->row.data[t] =
            (double *)((char *)groups->call->data[t] + at * kern_type_bytes(groups->call->op->tensors[t].type));
    }
}

static void rows_begin(struct f64_rows *rows, const struct f64_reduction *groups, uint64_t begin, uint32_t lanes)
{
    const struct kern_iterator *outer = &groups->outer, *inner = &groups->inner;
    *rows = (struct f64_rows){ .groups = groups, .begin = begin };
    rows->row.lanes = lanes;
    rows->row.count = inner->sizes[inner->rank - 1];
    for (uint32_t t = 0; t < outer->views; t++) {
        rows->row.along[t] = inner->strides[t][inner->rank - 1];
        rows->row.across[t] = outer->strides[t][outer->rank - 1];
    }
    kern_cursor_seek(inner, 0, &rows->cursor);
    rows_place(rows);
}

static bool rows_next(struct f64_rows *rows)
{
    rows->row.first += rows->row.count;
    if (rows->row.first == rows->groups->inner.count)
        return false;
    kern_cursor_next_row(&rows->groups->inner, &rows->cursor);
    rows_place(rows);
    return true;
}

/* `code` for element i of group g, whose number is `at`, of each row; the compiler knows the usual steps. */
#define EACH(r, across, lanes, code)                                                                                   \
    for (uint64_t i = 0; i < (r)->count; i++)                                                                          \
        for (uint32_t g = 0; g < (lanes); g++) {                                                                       \
            const int64_t at = (int64_t)i * (r)->along[0] + g * (across);                                              \
            code;                                                                                                      \
        }
#define EACH_OF(r, code)                                                                                               \
    if ((r)->lanes == LANES && (r)->across[0] == 1)                                                                    \
        EACH(r, 1, LANES, code)                                                                                        \
    else if ((r)->lanes == LANES)                                                                                      \
        EACH(r, (r)->across[0], LANES, code)                                                                           \
    else                                                                                                               \
        EACH(r, (r)->across[0], (r)->lanes, code)

/* ---- reductions ---- */

bool kern_reduce_f64_accepts(const struct kern_op *op)
{
    return all_doubles(op, 1) && op->tensors[0].rank == op->tensors[1].rank && kern_type_bytes(op->tensors[1].type) &&
           op->u.reduce.function != DML_REDUCE_FUNCTION_LOG_SUM_EXP &&
           (unsigned)op->u.reduce.function <= DML_REDUCE_FUNCTION_SUM_SQUARE;
}

void kern_reduce_f64_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    plan(op, op->u.reduce.axes, out);
}

/* A number wins over NaN; the first of equals, or the last. */
static void extremes(const struct f64_row *r, bool greatest, bool last, double *total, uint64_t *place)
{
    const double *x = r->data[0];
    EACH_OF(r, {
        const double a = total[g];
        const double b = x[at];
        if ((greatest ? b > a : b < a) || (a != a && b == b) || (last && a == b)) {
            total[g] = b;
            place[g] = r->first + i;
        }
    })
}

static void fold(const struct f64_row *r, const struct kern_reduce *reduce, double *total, uint64_t *place)
{
    const double *x = r->data[0];
    switch (reduce->function) {
    case DML_REDUCE_FUNCTION_L1:
        EACH_OF(r, total[g] += fabs(x[at]))
        break;
    case DML_REDUCE_FUNCTION_L2:
    case DML_REDUCE_FUNCTION_SUM_SQUARE:
        EACH_OF(r, total[g] += x[at] * x[at])
        break;
    case DML_REDUCE_FUNCTION_MULTIPLY:
        EACH_OF(r, total[g] *= x[at])
        break;
    case DML_REDUCE_FUNCTION_MAX:
    case DML_REDUCE_FUNCTION_ARGMAX:
        extremes(r, true, reduce->last, total, place);
        break;
    case DML_REDUCE_FUNCTION_MIN:
    case DML_REDUCE_FUNCTION_ARGMIN:
        extremes(r, false, reduce->last, total, place);
        break;
    default:
        EACH_OF(r, total[g] += x[at])
        break;
    }
}

static double begins_with(DML_REDUCE_FUNCTION function)
{
    switch (function) {
    case DML_REDUCE_FUNCTION_MULTIPLY:
        return 1;
    case DML_REDUCE_FUNCTION_MAX:
    case DML_REDUCE_FUNCTION_MIN:
    case DML_REDUCE_FUNCTION_ARGMAX:
    case DML_REDUCE_FUNCTION_ARGMIN:
        return NAN;
    default:
        return 0;
    }
}

static struct kern_number reduced(DML_REDUCE_FUNCTION function, double total, uint64_t place, uint64_t count)
{
    switch (function) {
    case DML_REDUCE_FUNCTION_ARGMAX:
    case DML_REDUCE_FUNCTION_ARGMIN:
        return (struct kern_number){ .class = KERN_CLASS_UNSIGNED, .u = place };
    case DML_REDUCE_FUNCTION_AVERAGE:
        return kern_from_double(total / (double)count);
    case DML_REDUCE_FUNCTION_L2:
        return kern_from_double(sqrt(total));
    case DML_REDUCE_FUNCTION_LOG_SUM:
        return kern_from_double(log(total));
    default:
        return kern_from_double(total);
    }
}

void kern_reduce_f64_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const struct kern_reduce *reduce = &call->op->u.reduce;
    const struct kern_view *y = &call->op->tensors[1];
    struct f64_reduction groups = { .call = call };
    iterators_init(&groups, call->op, reduce->axes);
    for (uint32_t lanes; begin < end; begin += lanes) {
        double total[LANES];
        uint64_t place[LANES] = { 0 };
        struct f64_rows rows;
        lanes = width(&groups, begin, end);
        for (uint32_t g = 0; g < LANES; g++)
            total[g] = begins_with(reduce->function);
        rows_begin(&rows, &groups, begin, lanes);
        do
            fold(&rows.row, reduce, total, place);
        while (rows_next(&rows));
        for (uint32_t g = 0; g < lanes; g++)
            kern_write(y->type, call->data[1], kern_iterator_offset(&groups.outer, 1, begin + g),
                       reduced(reduce->function, total[g], place[g], groups.inner.count));
    }
}

/* ---- softmax ---- */

bool kern_softmax_f64_accepts(const struct kern_op *op)
{
    return all_doubles(op, 2) && op->tensors[0].rank == op->tensors[1].rank && op->u.softmax.mode != KERN_SOFTMAX_HARD;
}

void kern_softmax_f64_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    plan(op, op->u.softmax.axes, out);
    out->grain = BASE_MAX(LANES, out->grain / 8);
}

/* Y keeps the powers until their sum is known. */
static void powers(const struct f64_row *r, bool stay, const double *top, double *sum)
{
    const double *x = r->data[0];
    double *y = r->data[1];
    for (uint64_t i = 0; i < r->count; i++)
        for (uint32_t g = 0; g < r->lanes; g++) {
            const double power = exp(x[(int64_t)i * r->along[0] + g * r->across[0]] - top[g]);
            if (stay)
                y[(int64_t)i * r->along[1] + g * r->across[1]] = power;
            sum[g] += power;
        }
}

static void give(const struct f64_row *r, bool logarithm, const double *top, const double *sum)
{
    const double *x = r->data[0];
    double *y = r->data[1];
    for (uint64_t i = 0; i < r->count; i++)
        for (uint32_t g = 0; g < r->lanes; g++) {
            double *to = &y[(int64_t)i * r->along[1] + g * r->across[1]];
            *to = logarithm ? x[(int64_t)i * r->along[0] + g * r->across[0]] - top[g] - sum[g] : *to / sum[g];
        }
}

void kern_softmax_f64_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const bool logarithm = call->op->u.softmax.mode == KERN_SOFTMAX_LOG;
    struct f64_reduction groups = { .call = call };
    iterators_init(&groups, call->op, call->op->u.softmax.axes);
    for (uint32_t lanes; begin < end; begin += lanes) {
        double top[LANES], sum[LANES] = { 0 };
        uint64_t place[LANES];
        struct f64_rows rows;
        lanes = width(&groups, begin, end);
        for (uint32_t g = 0; g < LANES; g++)
            top[g] = NAN;
        rows_begin(&rows, &groups, begin, lanes);
        do
            extremes(&rows.row, true, false, top, place);
        while (rows_next(&rows));
        rows_begin(&rows, &groups, begin, lanes);
        do
            powers(&rows.row, !logarithm, top, sum);
        while (rows_next(&rows));
        for (uint32_t g = 0; g < lanes && logarithm; g++)
            sum[g] = log(sum[g]);
        rows_begin(&rows, &groups, begin, lanes);
        do
            give(&rows.row, logarithm, top, sum);
        while (rows_next(&rows));
    }
}

/* ---- moments ---- */

static void means(const struct f64_reduction *groups, uint64_t begin, uint32_t lanes, double *mean)
{
    double sum[LANES] = { 0 };
    struct f64_rows rows;
    rows_begin(&rows, groups, begin, lanes);
    do
        EACH_OF(&rows.row, sum[g] += rows.row.data[0][at])
    while (rows_next(&rows));
    for (uint32_t g = 0; g < LANES; g++)
        mean[g] = sum[g] / (double)groups->inner.count;
}

static void variances(const struct f64_reduction *groups, uint64_t begin, uint32_t lanes, const double *mean,
                      double *out)
{
    double squares[LANES] = { 0 };
    struct f64_rows rows;
    rows_begin(&rows, groups, begin, lanes);
    do
        EACH_OF(&rows.row, {
            const double difference = rows.row.data[0][at] - mean[g];
            squares[g] += difference * difference;
        })
    while (rows_next(&rows));
    for (uint32_t g = 0; g < LANES; g++)
        out[g] = squares[g] / (double)groups->inner.count;
}

bool kern_moments_f64_accepts(const struct kern_op *op)
{
    return op->input_count == 1 && op->output_count == 2 && all_doubles(op, 3) &&
           op->tensors[0].rank == op->tensors[1].rank && op->tensors[0].rank == op->tensors[2].rank;
}

void kern_moments_f64_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    plan(op, op->u.moments.axes, out);
}

void kern_moments_f64_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    struct f64_reduction groups = { .call = call };
    iterators_init(&groups, call->op, call->op->u.moments.axes);
    for (uint32_t lanes; begin < end; begin += lanes) {
        double mean[LANES], variance[LANES];
        lanes = width(&groups, begin, end);
        means(&groups, begin, lanes, mean);
        variances(&groups, begin, lanes, mean, variance);
        for (uint32_t g = 0; g < lanes; g++) {
            ((double *)call->data[1])[kern_iterator_offset(&groups.outer, 1, begin + g)] = mean[g];
            ((double *)call->data[2])[kern_iterator_offset(&groups.outer, 2, begin + g)] = variance[g];
        }
    }
}

/* ---- normalisation ---- */

bool kern_norm_f64_accepts(const struct kern_op *op)
{
    return all_doubles(op, op->input_count + 1) && op->tensors[0].rank == op->tensors[op->input_count].rank;
}

void kern_norm_f64_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    plan(op, op->u.norm.axes, out);
}

/* What a normalisation takes away and multiplies by: 0 and 1 where it does not. */
static void norm_moments(const struct f64_reduction *groups, uint64_t begin, uint32_t lanes, double *mean,
                         double *scale)
{
    const struct kern_norm *norm = &groups->call->op->u.norm;
    for (uint32_t g = 0; g < LANES; g++)
        scale[g] = 1 + (mean[g] = 0);
    if (norm->use_mean)
        means(groups, begin, lanes, mean);
    if (norm->use_variance)
        variances(groups, begin, lanes, mean, scale);
    for (uint32_t g = 0; g < LANES && norm->use_variance; g++)
        scale[g] = 1 / sqrt(scale[g] + norm->epsilon);
}

static void normalise(const struct f64_row *r, const struct kern_norm *norm, uint32_t y, const double *mean,
                      const double *scale)
{
    const uint32_t bias = 1 + norm->has_scale;
    for (uint64_t i = 0; i < r->count; i++)
        for (uint32_t g = 0; g < r->lanes; g++) {
            const int64_t n = (int64_t)i;
            double value = (r->data[0][n * r->along[0] + g * r->across[0]] - mean[g]) * scale[g];
            if (norm->has_scale)
                value *= r->data[1][n * r->along[1] + g * r->across[1]];
            if (norm->has_bias)
                value += r->data[bias][n * r->along[bias] + g * r->across[bias]];
            r->data[y][n * r->along[y] + g * r->across[y]] = value;
        }
}

void kern_norm_f64_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    struct f64_reduction groups = { .call = call };
    iterators_init(&groups, call->op, call->op->u.norm.axes);
    for (uint32_t lanes; begin < end; begin += lanes) {
        double mean[LANES], scale[LANES];
        struct f64_rows rows;
        lanes = width(&groups, begin, end);
        norm_moments(&groups, begin, lanes, mean, scale);
        rows_begin(&rows, &groups, begin, lanes);
        do
            normalise(&rows.row, &call->op->u.norm, call->op->input_count, mean, scale);
        while (rows_next(&rows));
    }
}
