/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions, moments, softmax and normalisation of FLOAT64, a few groups in parallel: each group's elements are
 * combined in the order of their indices, as in the references, so that results are equal. */
#include "kernels/core/dense.h"
#include "kernels/reduce/reduction.h"

#include <math.h>

#define LANES 8 /* groups at once: independent sums */

struct f64_reduction {
    const struct kern_call *call;
    struct kern_iterator outer, inner; /* over the groups, within one; views are the op's tensors */
};

static bool all_doubles(const struct kern_op *op, uint32_t tensors)
{
    return dense_same_type(op, 0, tensors - 1, DML_TENSOR_DATA_TYPE_FLOAT64) && !op->epilogue;
}

bool kern_reduction_f64_accepts(const struct kern_op *op)
{
    const uint32_t rank = op->tensors[0].rank;
    switch (op->kind) {
    case KERN_REDUCE:
        return all_doubles(op, 1) && rank == op->tensors[1].rank && kern_type_bytes(op->tensors[1].type) &&
               op->u.reduce.function != DML_REDUCE_FUNCTION_LOG_SUM_EXP &&
               (unsigned)op->u.reduce.function <= DML_REDUCE_FUNCTION_SUM_SQUARE;
    case KERN_SOFTMAX:
        return all_doubles(op, 2) && rank == op->tensors[1].rank && op->u.softmax.mode != KERN_SOFTMAX_HARD;
    case KERN_MOMENTS:
        return op->input_count == 1 && op->output_count == 2 && all_doubles(op, 3) && rank == op->tensors[1].rank &&
               rank == op->tensors[2].rank;
    default:
        return all_doubles(op, op->input_count + 1) && rank == op->tensors[op->input_count].rank;
    }
}

void kern_reduction_f64_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    struct f64_reduction groups;
    kern_reduction_iterators(op, true, &groups.outer, &groups.inner);
    *out = (struct kern_work){ .units = groups.outer.count };
    out->grain = BASE_MAX(LANES, (op->kind == KERN_SOFTMAX ? 2048 : 16384) / groups.inner.count);
}

/* The rows of a tile's groups, in sequence: element i of group g is data[t][i * along[t] + g * across[t]]. */
struct f64_rows {
    const struct f64_reduction *groups;
    uint64_t begin; /* the tile's first group */
    uint32_t lanes;
    struct kern_cursor cursor;
    double *data[KERN_TENSORS_MAX];
    int64_t along[KERN_TENSORS_MAX], across[KERN_TENSORS_MAX];
    uint64_t first, count; /* the row's first element, counted within the group */
};

static void rows_place(struct f64_rows *rows)
{
    const struct f64_reduction *groups = rows->groups;
    for (uint32_t t = 0; t < groups->outer.views; t++) {
        int64_t at = kern_iterator_offset(&groups->outer, t, rows->begin) + rows->cursor.offset[t];
        rows->data[t] = (double *)kern_at(groups->call->data[t], groups->call->op->tensors[t].type, at);
    }
}

static void rows_begin(struct f64_rows *rows, const struct f64_reduction *groups, uint64_t begin, uint32_t lanes)
{
    const struct kern_iterator *outer = &groups->outer, *inner = &groups->inner;
    *rows = (struct f64_rows){ .groups = groups, .begin = begin, .lanes = lanes };
    rows->count = inner->sizes[inner->rank - 1];
    for (uint32_t t = 0; t < outer->views; t++) {
        rows->along[t] = inner->strides[t][inner->rank - 1];
        rows->across[t] = outer->strides[t][outer->rank - 1];
    }
    kern_cursor_seek(inner, 0, &rows->cursor);
    rows_place(rows);
}

static bool rows_next(struct f64_rows *rows)
{
    rows->first += rows->count;
    if (rows->first == rows->groups->inner.count)
        return false;
    kern_cursor_next_row(&rows->groups->inner, &rows->cursor);
    rows_place(rows);
    return true;
}

/* `code` for element i of group g, whose number is `at`, of each row; common strides are constants for the compiler. */
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

/* NaN wins, the first one. */
static void extremes_nan(const struct f64_rows *r, bool greatest, bool last, double *total, uint64_t *place)
{
    const double *x = r->data[0];
    EACH_OF(r, {
        const double a = total[g];
        const double b = x[at];
        if (a == a && ((greatest ? b > a : b < a) || b != b || (last && a == b))) {
            total[g] = b;
            place[g] = r->first + i;
        }
    })
}

/* A number wins over NaN; the first of equals, or the last. */
static void extremes(const struct f64_rows *r, bool greatest, bool last, double *total, uint64_t *place)
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

static double first_total(enum kern_stat stat, bool nan)
{
    if (stat == KERN_STAT_MAX || stat == KERN_STAT_MIN)
        return !nan ? NAN : stat == KERN_STAT_MAX ? -INFINITY : INFINITY;
    return stat == KERN_STAT_PRODUCT;
}

/* All rows of the tile's groups; `center` of SQUARES, NULL: 0; the extremes' places. */
static void join(const struct f64_reduction *groups, uint64_t begin, uint32_t lanes, enum kern_stat stat,
                 const double *center, double *total, uint64_t *place)
{
    struct f64_rows rows;
    const struct f64_rows *r = &rows;
    const struct kern_op *op = groups->call->op;
    const bool last = op->kind == KERN_REDUCE && op->u.reduce.last, nan = op->kind == KERN_REDUCE && op->u.reduce.nan;
    for (uint32_t g = 0; g < LANES; g++)
        total[g] = first_total(stat, nan);
    rows_begin(&rows, groups, begin, lanes);
    do {
        const double *x = r->data[0];
        if (stat == KERN_STAT_SUM)
            EACH_OF(r, total[g] += x[at])
        else if (stat == KERN_STAT_SIZE)
            EACH_OF(r, total[g] += fabs(x[at]))
        else if (stat == KERN_STAT_SQUARES && !center)
            EACH_OF(r, total[g] += x[at] * x[at])
        else if (stat == KERN_STAT_SQUARES)
            EACH_OF(r, total[g] += (x[at] - center[g]) * (x[at] - center[g]))
        else if (stat == KERN_STAT_PRODUCT)
            EACH_OF(r, total[g] *= x[at])
        else if (nan)
            extremes_nan(r, stat == KERN_STAT_MAX, last, total, place);
        else
            extremes(r, stat == KERN_STAT_MAX, last, total, place);
    } while (rows_next(&rows));
}

/* ---- reductions ---- */

static void reduce(const struct f64_reduction *groups, uint64_t begin, uint32_t lanes)
{
    const struct kern_reduce *op = &groups->call->op->u.reduce;
    double total[LANES];
    uint64_t place[LANES] = { 0 };
    join(groups, begin, lanes, kern_reduction_stat(op->function), NULL, total, place);
    for (uint32_t g = 0; g < lanes; g++) {
        struct kern_number value =
            kern_from_double(kern_reduction_finished(op->function, total[g], (double)groups->inner.count));
        if (kern_reduction_is_position(op->function))
            value = kern_from_integer(place[g]);
        kern_write(groups->call->op->tensors[1].type, groups->call->data[1],
                   kern_iterator_offset(&groups->outer, 1, begin + g), value);
    }
}

/* ---- softmax ---- */

/* Y holds the powers until their sum is known. */
static void powers(const struct f64_rows *r, bool stay, const double *top, double *sum)
{
    const double *x = r->data[0];
    double *y = r->data[1];
    EACH(r, r->across[0], r->lanes, {
        const double power = exp(x[at] - top[g]);
        if (stay)
            y[(int64_t)i * r->along[1] + g * r->across[1]] = power;
        sum[g] += power;
    })
}

static void give(const struct f64_rows *r, bool logarithm, const double *top, const double *sum)
{
    const double *x = r->data[0];
    double *y = r->data[1];
    EACH(r, r->across[0], r->lanes, {
        double *to = &y[(int64_t)i * r->along[1] + g * r->across[1]];
        *to = logarithm ? x[at] - top[g] - sum[g] : *to / sum[g];
    })
}

static void softmax(const struct f64_reduction *groups, uint64_t begin, uint32_t lanes)
{
    const bool logarithm = groups->call->op->u.softmax.mode == KERN_SOFTMAX_LOG;
    double top[LANES], sum[LANES] = { 0 };
    uint64_t place[LANES];
    struct f64_rows rows;
    join(groups, begin, lanes, KERN_STAT_MAX, NULL, top, place);
    rows_begin(&rows, groups, begin, lanes);
    do
        powers(&rows, !logarithm, top, sum);
    while (rows_next(&rows));
    for (uint32_t g = 0; g < lanes && logarithm; g++)
        sum[g] = log(sum[g]);
    rows_begin(&rows, groups, begin, lanes);
    do
        give(&rows, logarithm, top, sum);
    while (rows_next(&rows));
}

/* ---- moments and normalisation ---- */

/* The mean, 0 unless it is requested, and the mean square of the differences from it unless `variance` is NULL. */
static void moments_of(const struct f64_reduction *groups, uint64_t begin, uint32_t lanes, bool use_mean, double *mean,
                       double *variance)
{
    const double count = (double)groups->inner.count;
    memset(mean, 0, LANES * sizeof(*mean));
    if (use_mean)
        join(groups, begin, lanes, KERN_STAT_SUM, NULL, mean, NULL);
    for (uint32_t g = 0; g < LANES; g++)
        mean[g] /= count;
    if (!variance)
        return;
    join(groups, begin, lanes, KERN_STAT_SQUARES, mean, variance, NULL);
    for (uint32_t g = 0; g < LANES; g++)
        variance[g] /= count;
}

static void moments(const struct f64_reduction *groups, uint64_t begin, uint32_t lanes)
{
    double out[2][LANES];
    moments_of(groups, begin, lanes, true, out[0], out[1]);
    for (uint32_t t = 1; t < 3; t++)
        for (uint32_t g = 0; g < lanes; g++)
            ((double *)groups->call->data[t])[kern_iterator_offset(&groups->outer, t, begin + g)] = out[t - 1][g];
}

static void normalise(const struct f64_rows *r, const struct kern_norm *norm, uint32_t y, const double *mean,
                      const double *scale)
{
    const uint32_t bias = 1 + norm->has_scale;
    EACH(r, r->across[0], r->lanes, {
        const int64_t n = (int64_t)i;
        double value = (r->data[0][at] - mean[g]) * scale[g];
        if (norm->has_scale)
            value *= r->data[1][n * r->along[1] + g * r->across[1]];
        if (norm->has_bias)
            value += r->data[bias][n * r->along[bias] + g * r->across[bias]];
        r->data[y][n * r->along[y] + g * r->across[y]] = value;
    })
}

static void norm(const struct f64_reduction *groups, uint64_t begin, uint32_t lanes)
{
    const struct kern_norm *op = &groups->call->op->u.norm;
    double mean[LANES], scale[LANES];
    struct f64_rows rows;
    moments_of(groups, begin, lanes, op->use_mean, mean, op->use_variance ? scale : NULL);
    for (uint32_t g = 0; g < LANES; g++)
        scale[g] = op->use_variance ? 1 / sqrt(scale[g] + op->epsilon) : 1;
    rows_begin(&rows, groups, begin, lanes);
    do
        normalise(&rows, op, groups->call->op->input_count, mean, scale);
    while (rows_next(&rows));
}

/* ---- kernels of the table ---- */

static void each_tile(const struct kern_call *call, uint64_t begin, uint64_t end,
                      void (*visit)(const struct f64_reduction *groups, uint64_t begin, uint32_t lanes))
{
    struct f64_reduction groups = { .call = call };
    kern_reduction_iterators(call->op, true, &groups.outer, &groups.inner);
    for (uint32_t lanes; begin < end; begin += lanes) { /* groups at a constant distance */
        lanes = (uint32_t)BASE_MIN(BASE_MIN(end - begin, LANES), kern_iterator_row_left(&groups.outer, begin));
        visit(&groups, begin, lanes);
    }
}

#define F64_ROW(name)                                                                                                  \
    void kern_##name##_f64_run(const struct kern_call *call, uint64_t begin, uint64_t end)                             \
    {                                                                                                                  \
        each_tile(call, begin, end, name);                                                                             \
    }
F64_ROW(reduce)
F64_ROW(softmax)
F64_ROW(moments)
F64_ROW(norm)
