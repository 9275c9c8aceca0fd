/* SPDX-License-Identifier: Apache-2.0 */
/* The statistics of groups, row by row or a tile of columns at once, for any type and layout. */
#include "kernels/reduce/reduction.h"

#include <math.h>

const void *kern_reductions_load(const struct kern_reductions *groups, uint32_t t, uint64_t group, uint64_t at,
                                 uint32_t count, float *buffer, bool *out_half)
{
    const DML_TENSOR_DATA_TYPE type = groups->call->op->tensors[t].type;
    const struct kern_iterator *inner = &groups->inner, *outer = &groups->outer;
    const bool narrow = type != DML_TENSOR_DATA_TYPE_FLOAT32;
    const int64_t offset = kern_iterator_offset(outer, t, group);
    const void *x = kern_at(groups->call->data[t], type, offset + kern_iterator_offset(inner, t, at));
    void *to = narrow ? (void *)groups->scratch->raw : buffer;
    int64_t stride = outer->strides[t][outer->rank - 1];
    *out_half = false;
    if ((groups->columns || kern_iterator_linear(inner, t, at, count, &stride)) && stride == 1) {
        *out_half = type == DML_TENSOR_DATA_TYPE_FLOAT16;
        if (kern_reduction_in_place(type))
            return x;
    } else if (groups->columns) {
        kern_copy_row(kern_type_bytes(type), to, 1, x, stride, count);
        x = to;
    } else {
        kern_iterator_load(inner, t, type, kern_at(groups->call->data[t], type, offset), at, count, to);
        x = to;
    }
    if (narrow)
        kern_convert(groups->isa->map, DML_TENSOR_DATA_TYPE_FLOAT32, buffer, type, x, count);
    return buffer;
}

/* The same as FLOAT32. */
static const float *load_float(const struct kern_reductions *groups, uint32_t t, uint64_t group, uint64_t at,
                               uint32_t count, float *buffer)
{
    bool half;
    const void *x = kern_reductions_load(groups, t, group, at, count, buffer, &half);
    if (!half)
        return x;
    kern_convert(groups->isa->map, DML_TENSOR_DATA_TYPE_FLOAT32, buffer, DML_TENSOR_DATA_TYPE_FLOAT16, x, count);
    return buffer;
}

#define AHEAD_BYTES (UINT64_C(1) << 18) /* of a tile that fits the caches together with the next one */

const void *kern_reductions_ahead(const struct kern_reductions *groups, uint64_t group, uint64_t at)
{
    const struct kern_iterator *inner = &groups->inner;
    DML_TENSOR_DATA_TYPE type = groups->call->op->tensors[0].type;
    if (group >= groups->outer.count || !kern_reduction_in_place(type) || inner->strides[0][inner->rank - 1] != 1 ||
        inner->count * groups->tile * kern_type_bytes(type) > AHEAD_BYTES)
        return NULL;
    return kern_at(groups->call->data[0], type,
                   kern_iterator_offset(&groups->outer, 0, group) + kern_iterator_offset(inner, 0, at));
}

#define LINE_MIN 512 /* elements of a line that are worth a separate block */

/* The number of elements of the block from `at` on in a group: long lines end one, so that it is read in place. */
static uint32_t block_length(const struct kern_reductions *groups, uint64_t at)
{
    const struct kern_iterator *inner = &groups->inner;
    const uint64_t line = inner->sizes[inner->rank - 1];
    const uint64_t left = line < LINE_MIN ? inner->count - at : line - at % line;
    return (uint32_t)BASE_MIN(left, KERN_REDUCTION_BLOCK);
}

/* The block of X's elements from `at` on in a group. */
static const void *load_run(const struct kern_reductions *groups, uint64_t group, uint64_t at, uint32_t *count,
                            bool *half)
{
    *count = (uint32_t)BASE_MIN(groups->inner.count - at, KERN_REDUCTION_BLOCK);
    return kern_reductions_load(groups, 0, group, at, *count, groups->scratch->block, half);
}

static double join(enum kern_stat stat, double total, double x)
{
    if (stat == KERN_STAT_MAX)
        return x > total || total != total ? x : total;
    if (stat == KERN_STAT_MIN)
        return x < total || total != total ? x : total;
    return stat == KERN_STAT_PRODUCT ? total * x : total + x;
}

/* Only NaN makes a sum of sizes NaN. */
static bool has_nan(const struct kern_reductions *groups, const void *x, bool half, uint32_t count)
{
    return isnan(groups->isa->row(KERN_STAT_SIZE, x, half, count, 0, NULL));
}

static bool is_extreme(enum kern_stat stat)
{
    return stat == KERN_STAT_MAX || stat == KERN_STAT_MIN;
}

static enum kern_stat keeping_nan(const struct kern_reductions *groups, enum kern_stat stat)
{
    if (!groups->nan || !is_extreme(stat))
        return stat;
    return stat == KERN_STAT_MAX ? KERN_STAT_MAX_NAN : KERN_STAT_MIN_NAN;
}

static double row_stat(const struct kern_reductions *groups, enum kern_stat stat, uint64_t group, float center)
{
    double total = 0;
    bool half;
    for (uint64_t at = 0; at < groups->inner.count; at += KERN_REDUCTION_BLOCK) {
        uint32_t count;
        const void *x = load_run(groups, group, at, &count, &half);
        const void *ahead = stat == KERN_STAT_EXP ? kern_reductions_ahead(groups, group + groups->tile, at) : NULL;
        double part = groups->isa->row(keeping_nan(groups, stat), x, half, count, center, ahead);
        if (groups->nan && is_extreme(stat) && isnan(part))
            return NAN;
        total = at ? join(stat, total, part) : part;
    }
    return total;
}

#define COLUMN_RUN 16 /* rows of a tile that stay in the cache, with the following ones, for a second pass */
#define ROWS_AHEAD 8  /* rows in flight while one is read */

/* Rows of X from the `begin`-th on, backwards if `last`, and the following ones: after the groups' end the last one is
 * repeated. Columns of X are dense. */
struct rows {
    const void *at[COLUMN_RUN + ROWS_AHEAD];
};

static struct kern_reduction_rows rows_of(struct rows *rows, const struct kern_reductions *groups, uint64_t first,
                                          uint32_t width, uint64_t begin, bool last)
{
    const DML_TENSOR_DATA_TYPE type = groups->call->op->tensors[0].type;
    const int64_t offset = kern_iterator_offset(&groups->outer, 0, first);
    const uint64_t left = groups->inner.count - begin;
    for (uint32_t i = 0; i < COLUMN_RUN + ROWS_AHEAD; i++) {
        const uint64_t at = last ? left - 1 - i : begin + i;
        rows->at[i] = i >= left
                          ? rows->at[i - 1]
                          : kern_at(groups->call->data[0], type, offset + kern_iterator_offset(&groups->inner, 0, at));
    }
    return (struct kern_reduction_rows){ rows->at, rows->at + ROWS_AHEAD, (uint32_t)BASE_MIN(left, COLUMN_RUN), width,
                                         type == DML_TENSOR_DATA_TYPE_FLOAT16 };
}

#define NOWHERE UINT32_MAX

/* The position of the first number of a group, or of the last one; or of NaN, if `nan`. */
static uint32_t find_number(const struct kern_reductions *groups, uint64_t group, bool last, bool nan)
{
    const uint64_t count = groups->inner.count;
    const int64_t offset = kern_iterator_offset(&groups->outer, 0, group);
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t at = last ? count - 1 - i : i;
        const double x = kern_read_double(groups->call->op->tensors[0].type, groups->call->data[0],
                                          offset + kern_iterator_offset(&groups->inner, 0, at));
        if ((x != x) == nan)
            return (uint32_t)at;
    }
    return NOWHERE;
}

static void column_stat(const struct kern_reductions *groups, enum kern_stat stat, uint64_t first, uint32_t width,
                        const float *center, double *out)
{
    const bool extreme = is_extreme(stat);
    float *acc = groups->scratch->acc;
    struct rows rows;
    for (uint32_t i = 0; i < width; i++) {
        acc[i] = extreme ? -INFINITY : 0;
        out[i] = 0;
    }
    for (uint64_t begin = 0; begin < groups->inner.count; begin += COLUMN_RUN) {
        const struct kern_reduction_rows x = rows_of(&rows, groups, first, width, begin, false);
        groups->isa->column(keeping_nan(groups, stat), acc, &x, center);
        for (uint32_t i = 0; i < width && !extreme; i++) {
            out[i] += acc[i];
            acc[i] = 0;
        }
    }
    for (uint32_t i = 0; i < width && extreme; i++) {
        out[i] = stat == KERN_STAT_MAX ? acc[i] : -acc[i];
        if (acc[i] == -INFINITY && find_number(groups, first + i, false, false) == NOWHERE)
            out[i] = NAN;
    }
}

void kern_reductions_powers(const struct kern_reductions *groups, uint64_t first, uint32_t width, float *top,
                            double *sum)
{
    struct rows rows;
    memset(sum, 0, width * sizeof(*sum));
    for (uint32_t i = 0; i < width; i++)
        top[i] = -INFINITY;
    for (uint64_t begin = 0; begin < groups->inner.count; begin += COLUMN_RUN) {
        const struct kern_reduction_rows x = rows_of(&rows, groups, first, width, begin, false);
        groups->isa->powers(top, sum, &x);
    }
}

/* ---- groups whose sums do not fit FLOAT32, although their elements do: once more, in double ---- */

static double element(const struct kern_reductions *groups, uint64_t group, uint64_t at)
{
    const int64_t offset = kern_iterator_offset(&groups->outer, 0, group) + kern_iterator_offset(&groups->inner, 0, at);
    return kern_read_double(groups->call->op->tensors[0].type, groups->call->data[0], offset);
}

static bool all_finite(const struct kern_reductions *groups, uint64_t group)
{
    for (uint64_t at = 0; at < groups->inner.count; at++)
        if (!isfinite(element(groups, group, at)))
            return false;
    return true;
}

static double wide_stat(const struct kern_reductions *groups, enum kern_stat stat, uint64_t group, double center)
{
    double total = 0;
    for (uint64_t at = 0; at < groups->inner.count; at++) {
        const double x = element(groups, group, at), difference = x - center;
        total += stat == KERN_STAT_SQUARES ? difference * difference : stat == KERN_STAT_SIZE ? fabs(x) : x;
    }
    return total;
}

/* The statistic, or what it is without overflow. */
static double without_overflow(const struct kern_reductions *groups, enum kern_stat stat, uint64_t group, float center,
                               double found)
{
    const bool sum = stat == KERN_STAT_SUM || stat == KERN_STAT_SIZE || stat == KERN_STAT_SQUARES;
    return !sum || isfinite(found) || !all_finite(groups, group) ? found : wide_stat(groups, stat, group, center);
}

static void moments_without_overflow(const struct kern_reductions *groups, uint64_t group, double *mean,
                                     double *squares)
{
    if ((isfinite(*mean) && isfinite(*squares)) || !all_finite(groups, group))
        return;
    *mean = wide_stat(groups, KERN_STAT_SUM, group, 0) / (double)groups->inner.count;
    *squares = wide_stat(groups, KERN_STAT_SQUARES, group, *mean);
}

/* Statistics do not depend on the order of a group's elements: X is read in the order of its memory. */
static const struct kern_reductions *in_memory_order(const struct kern_reductions *groups, struct kern_reductions *copy)
{
    if (!groups->alone.rank)
        return groups;
    *copy = *groups;
    copy->inner = groups->alone;
    return copy;
}

void kern_reductions_stat(const struct kern_reductions *groups, enum kern_stat stat, uint64_t first, uint32_t width,
                          const float *center, double *out)
{
    struct kern_reductions copy;
    groups = in_memory_order(groups, &copy);
    if (groups->columns)
        column_stat(groups, stat, first, width, center, out);
    for (uint32_t i = 0; i < width; i++) {
        const float from = center ? center[i] : 0;
        if (!groups->columns)
            out[i] = row_stat(groups, stat, first + i, from);
        out[i] = without_overflow(groups, stat, first + i, from, out[i]);
    }
}

/* A run of `count` elements joins a group's moments; sum and squares are those of x - center, so nothing cancels. */
static void join_moments(double *mean, double *squares, double before, double sum, double part, double center,
                         double count)
{
    double difference = center + sum / count - *mean;
    *squares += part - sum * sum / count + difference * difference * before * count / (before + count);
    *mean += difference * count / (before + count);
}

static void row_moments(const struct kern_reductions *groups, uint64_t group, double *mean, double *squares)
{
    bool half;
    *mean = *squares = 0;
    uint32_t count;
    for (uint64_t at = 0; at < groups->inner.count; at += count) {
        count = block_length(groups, at);
        const void *x = kern_reductions_load(groups, 0, group, at, count, groups->scratch->block, &half);
        float center = groups->isa->sample(x, half, count);
        double sum, part;
        groups->isa->deviations(x, half, count, center, &sum, &part);
        if (sum * sum > 0.5 * part * count) { /* too far from the mean: the squares would cancel */
            center = (float)(groups->isa->row(KERN_STAT_SUM, x, half, count, 0, NULL) / count);
            groups->isa->deviations(x, half, count, center, &sum, &part);
        }
        join_moments(mean, squares, (double)at, sum, part, center, count);
    }
}

#define FLOAT_ROWS 64 /* that are summed in FLOAT32 */

/* Sums of x - center and of (x - center)^2 for each group of a tile in columns. */
static void column_deviations(const struct kern_reductions *groups, uint64_t first, uint32_t width, const float *center,
                              double *sum, double *squares)
{
    const struct kern_reduction_scratch *scratch = groups->scratch;
    struct rows rows;
    memset(sum, 0, width * sizeof(*sum));
    memset(squares, 0, width * sizeof(*squares));
    for (uint64_t begin = 0, end; begin < groups->inner.count; begin = end) {
        end = BASE_MIN(begin + FLOAT_ROWS, groups->inner.count);
        memset(scratch->acc, 0, width * sizeof(float));
        memset(scratch->b, 0, width * sizeof(float));
        for (uint64_t at = begin; at < end; at += COLUMN_RUN) {
            const struct kern_reduction_rows x = rows_of(&rows, groups, first, width, at, false);
            groups->isa->deviations_columns(scratch->acc, scratch->b, &x, center);
        }
        for (uint32_t i = 0; i < width; i++) {
            sum[i] += scratch->acc[i];
            squares[i] += scratch->b[i];
        }
    }
}

/* An approximate mean of each group, from rows spread over the group. */
static void column_sample(const struct kern_reductions *groups, uint64_t first, uint32_t width, float *out)
{
    const DML_TENSOR_DATA_TYPE type = groups->call->op->tensors[0].type;
    const int64_t offset = kern_iterator_offset(&groups->outer, 0, first);
    const uint32_t count = (uint32_t)BASE_MIN(groups->inner.count, COLUMN_RUN);
    const uint64_t step = groups->inner.count / count;
    const void *at[COLUMN_RUN];
    for (uint32_t i = 0; i < count; i++)
        at[i] = kern_at(groups->call->data[0], type, offset + kern_iterator_offset(&groups->inner, 0, i * step));
    const struct kern_reduction_rows rows = { at, NULL, count, width, type == DML_TENSOR_DATA_TYPE_FLOAT16 };
    memset(out, 0, width * sizeof(*out));
    groups->isa->column(KERN_STAT_SUM, out, &rows, NULL);
    for (uint32_t i = 0; i < width; i++)
        out[i] /= (float)count;
}

static void column_moments(const struct kern_reductions *groups, uint64_t first, uint32_t width, double *mean,
                           double *squares)
{
    const double count = (double)groups->inner.count;
    float *center = groups->scratch->a;
    double sum[KERN_REDUCTION_TILE];
    bool far = false;
    column_sample(groups, first, width, center);
    column_deviations(groups, first, width, center, sum, squares);
    for (uint32_t i = 0; i < width; i++)
        far = far || sum[i] * sum[i] > 0.5 * squares[i] * count; /* from the mean: the squares would cancel */
    for (uint32_t i = 0; far && i < width; i++)
        center[i] += (float)(sum[i] / count);
    if (far)
        column_deviations(groups, first, width, center, sum, squares);
    for (uint32_t i = 0; i < width; i++) {
        mean[i] = center[i] + sum[i] / count;
        squares[i] -= sum[i] * sum[i] / count;
    }
}

void kern_reductions_moments(const struct kern_reductions *groups, uint64_t first, uint32_t width, double *mean,
                             double *squares)
{
    struct kern_reductions copy;
    groups = in_memory_order(groups, &copy);
    if (groups->columns)
        column_moments(groups, first, width, mean, squares);
    for (uint32_t i = 0; i < width; i++) {
        if (!groups->columns)
            row_moments(groups, first + i, &mean[i], &squares[i]);
        moments_without_overflow(groups, first + i, &mean[i], &squares[i]);
    }
}

/* Rows of both tensors: where they lie, or copies in scratch. */
static void column_pairs(const struct kern_reductions *groups, uint64_t first, uint32_t width, const float *center,
                         double *sums)
{
    const uint64_t length = groups->inner.count;
    const uint32_t room = groups->scratch->block_length / width, run = BASE_MIN(BASE_MAX(room, 1), COLUMN_RUN);
    float acc[3][KERN_REDUCTION_TILE];
    const void *x[COLUMN_RUN];
    const float *g[COLUMN_RUN];
    for (uint64_t at = 0, count; at < length; at += count) {
        count = BASE_MIN(BASE_MIN(run, length - at), FLOAT_ROWS - at % FLOAT_ROWS);
        for (uint32_t s = 0; s < 3 && at % FLOAT_ROWS == 0; s++)
            memset(acc[s], 0, base_align_up(width, 64) * sizeof(float));
        for (uint32_t r = 0; r < count; r++) {
            x[r] = load_float(groups, 0, first, at + r, width, groups->scratch->block + r * width);
            g[r] = load_float(groups, 1, first, at + r, width, groups->scratch->x + r * width);
        }
        const struct kern_reduction_rows rows = { x, NULL, (uint32_t)count, width, false };
        groups->isa->pair_columns(acc[0], acc[1], acc[2], &rows, g, center);
        for (uint32_t s = 0; s < 3 && ((at + count) % FLOAT_ROWS == 0 || at + count == length); s++)
            for (uint32_t i = 0; i < width; i++)
                sums[s * width + i] += acc[s][i];
    }
}

void kern_reductions_pairs(const struct kern_reductions *groups, uint64_t first, uint32_t width, const float *center,
                           double *sums)
{
    const struct kern_reduction_scratch *scratch = groups->scratch;
    memset(sums, 0, 3 * width * sizeof(*sums));
    if (groups->columns) {
        column_pairs(groups, first, width, center, sums);
        return;
    }
    for (uint32_t i = 0, count; i < width; i++)
        for (uint64_t at = 0; at < groups->inner.count; at += count) {
            double part[3] = { 0 };
            count = block_length(groups, at);
            groups->isa->pairs(load_float(groups, 0, first + i, at, count, scratch->block),
                               load_float(groups, 1, first + i, at, count, scratch->x), count, center[i], part);
            for (uint32_t s = 0; s < 3; s++)
                sums[s * width + i] += part[s];
        }
}

static uint32_t row_position(const struct kern_reductions *groups, bool greatest, bool last, uint64_t group)
{
    float best = NAN;
    uint64_t position = 0;
    bool half;
    for (uint64_t at = 0; at < groups->inner.count; at += KERN_REDUCTION_BLOCK) {
        uint32_t count, place;
        const void *x = load_run(groups, group, at, &count, &half);
        if (groups->nan && has_nan(groups, x, half, count))
            return find_number(groups, group, false, true);
        if (groups->isa->place(x, half, count, greatest, last, &best, &place))
            position = at + place;
    }
    return (uint32_t)position;
}

/* The first element that is larger than all previous ones; backwards for the last one. If nothing is above -infinity
 * (for minima: below infinity), that is the extreme, if there is any number. */
static void column_positions(const struct kern_reductions *groups, bool greatest, bool last, uint64_t first,
                             uint32_t width, uint32_t *out)
{
    const uint64_t length = groups->inner.count;
    float *best = groups->scratch->a, *sizes = groups->scratch->c;
    struct rows rows;
    for (uint32_t i = 0; i < width; i++) {
        best[i] = -INFINITY;
        sizes[i] = 0;
        out[i] = NOWHERE;
    }
    for (uint64_t begin = 0; begin < length; begin += COLUMN_RUN) {
        const struct kern_reduction_rows x = rows_of(&rows, groups, first, width, begin, last);
        groups->isa->column_place(best, out, &x, greatest, (uint32_t)(last ? length - 1 - begin : begin),
                                  last ? -1 : 1);
        if (groups->nan)
            groups->isa->column(KERN_STAT_SIZE, sizes, &x, NULL);
    }
    for (uint32_t i = 0; i < width; i++) {
        if (isnan(sizes[i]))
            out[i] = find_number(groups, first + i, false, true);
        if (out[i] == NOWHERE)
            out[i] = find_number(groups, first + i, last, false);
        if (out[i] == NOWHERE)
            out[i] = 0;
    }
}

void kern_reductions_position(const struct kern_reductions *groups, bool greatest, bool last, uint64_t first,
                              uint32_t width, uint32_t *out)
{
    if (groups->columns) {
        column_positions(groups, greatest, last, first, width, out);
        return;
    }
    for (uint32_t i = 0; i < width; i++)
        out[i] = row_position(groups, greatest, last, first + i);
}
