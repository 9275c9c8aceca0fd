/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of groups as vectors, their combination into statistics, the loops over groups in parallel, as rows with one
 * element of each, and the last step over a dense run of elements. Included once per instruction set. */
#ifndef KERNELS_REDUCTION_LOOPS_H
#define KERNELS_REDUCTION_LOOPS_H

#include "kernels/reduce/reduction.h"
#include "kernels/vec/vec.h"

#include <float.h>

#define REDUCTION_LINE 64 /* bytes that one request brings */

/* Prefetches `bytes` bytes; NULL: none. */
DENSE_INLINE void reduction_prefetch(const void *ahead, uint64_t at, uint32_t bytes)
{
    if (!ahead)
        return;
    _Pragma("GCC unroll 8") for (uint32_t i = 0; i < bytes; i += REDUCTION_LINE)
        __builtin_prefetch((const char *)ahead + at + i, 0, 2);
}

DENSE_INLINE vec reduction_load(const void *x, uint32_t i, bool half)
{
    return vec_load_of(half ? DML_TENSOR_DATA_TYPE_FLOAT16 : DML_TENSOR_DATA_TYPE_FLOAT32, x, i);
}

/* The same if `count` elements are left, padded with zeros. */
DENSE_INLINE vec reduction_load_some(const void *x, uint32_t i, bool half, uint32_t count)
{
    return vec_load_some(half ? DML_TENSOR_DATA_TYPE_FLOAT16 : DML_TENSOR_DATA_TYPE_FLOAT32, x, i, count);
}

DENSE_INLINE float reduction_element(const void *x, bool half, uint32_t i)
{
    return half ? (float)dense_load(x, i, DML_TENSOR_DATA_TYPE_FLOAT16) : ((const float *)x)[i];
}

/* The last `count` elements (fewer than a vector), then `rest`. */
DENSE_INLINE vec reduction_load_end(const void *x, uint32_t i, uint32_t count, bool half, float rest)
{
    float part[VEC];
    vec_store(part, vec_set(rest));
    for (uint32_t j = 0; j < count; j++)
        part[j] = reduction_element(x, half, i + j);
    return vec_load(part);
}

DENSE_INLINE vec reduction_join(enum kern_stat stat, vec total, vec x, vec center)
{
    vec difference = x - center;
    switch (stat) {
    case KERN_STAT_SUM:
        return total + x;
    case KERN_STAT_SIZE:
        return total + vec_abs(x);
    case KERN_STAT_SQUARES:
        return vec_fma(difference, difference, total);
    case KERN_STAT_EXP:
        return total + vec_exp_below(x, center, false); /* small terms need not be exact in a sum that contains 1 */
    case KERN_STAT_MAX:
        return vec_max(x, total);
    case KERN_STAT_MIN: /* minus the largest of -x */
        return vec_max(-x, total);
    case KERN_STAT_MAX_NAN: /* NaN in `total` stays, and a mask of ones is NaN */
        return (vec)((vec_bits)vec_max(x, total) | (vec_bits)(x != x));
    case KERN_STAT_MIN_NAN:
        return (vec)((vec_bits)vec_max(-x, total) | (vec_bits)(x != x));
    case KERN_STAT_PRODUCT:
        return total * x;
    }
    return total;
}

DENSE_INLINE bool reduction_is_extreme(enum kern_stat stat)
{
    return stat >= KERN_STAT_MAX && stat <= KERN_STAT_MIN_NAN;
}

/* The neutral element. */
DENSE_INLINE float reduction_neutral(enum kern_stat stat, float center)
{
    if (stat == KERN_STAT_EXP || stat == KERN_STAT_MAX || stat == KERN_STAT_MAX_NAN)
        return -INFINITY;
    return stat == KERN_STAT_MIN || stat == KERN_STAT_MIN_NAN ? INFINITY : stat == KERN_STAT_SQUARES ? center : 0;
}

/* -infinity may be the largest element, or mean that there is no number. */
static double reduction_extreme(double found, const void *x, bool half, uint32_t count)
{
    if (!isinf(found))
        return found;
    for (uint32_t i = 0; i < count; i++) {
        const float element = reduction_element(x, half, i);
        if (element == element)
            return found;
    }
    return NAN;
}

/* What combines the results of reduction_join for parts of a group; MIN is the largest of -x there. */
DENSE_INLINE enum kern_stat reduction_of_parts(enum kern_stat stat)
{
    const bool nan = stat == KERN_STAT_MAX_NAN || stat == KERN_STAT_MIN_NAN;
    return !reduction_is_extreme(stat) ? KERN_STAT_SUM : nan ? KERN_STAT_MAX_NAN : KERN_STAT_MAX;
}

enum column_loop { COLUMN_STAT, COLUMN_PLACE, COLUMN_DEVIATIONS, COLUMN_POWERS };

/* The parameters of a loop over columns; the compiler knows the first four. */
struct column {
    enum column_loop loop;
    enum kern_stat stat;
    bool half, greatest;
    float *acc, *squares; /* PLACE, POWERS: the extremes */
    double *sum;
    const float *center;
    int32_t *place, first, step; /* row r is number first + r * step */
};

/* Combines all rows with some vectors of groups from the i-th on, of which `count` are left. */
DENSE_INLINE void column_stat(const struct column *c, const struct kern_reduction_rows *rows, uint32_t i,
                              uint32_t vectors, uint32_t count)
{
    const bool centered = c->stat == KERN_STAT_SQUARES || c->stat == KERN_STAT_EXP;
    vec total[8], middle[8];
    _Pragma("GCC unroll 8") for (uint32_t j = 0; j < vectors; j++)
    {
        total[j] = vec_load(c->acc + i + j * VEC);
        middle[j] = centered ? vec_load(c->center + i + j * VEC) : vec_set(0);
    }
    for (uint32_t r = 0; r < rows->rows; r++)
        _Pragma("GCC unroll 8") for (uint32_t j = 0; j < vectors; j++) total[j] = reduction_join(
            c->stat, total[j], reduction_load_some(rows->x[r], i + j * VEC, c->half, count - j * VEC), middle[j]);
    _Pragma("GCC unroll 8") for (uint32_t j = 0; j < vectors; j++) vec_store(c->acc + i + j * VEC, total[j]);
}

DENSE_INLINE void column_place(const struct column *c, const struct kern_reduction_rows *rows, uint32_t i,
                               uint32_t vectors, uint32_t count)
{
    vec top[8];
    vec_int where[8];
    _Pragma("GCC unroll 8") for (uint32_t j = 0; j < vectors; j++)
    {
        top[j] = vec_load(c->acc + i + j * VEC);
        where[j] = vec_int_load(c->place + i + j * VEC);
    }
    for (uint32_t r = 0; r < rows->rows; r++) {
        const vec_int here = vec_int_set(c->first + (int32_t)r * c->step);
        _Pragma("GCC unroll 8") for (uint32_t j = 0; j < vectors; j++)
        {
            vec element = reduction_load_some(rows->x[r], i + j * VEC, c->half, count - j * VEC);
            vec_take_greater(c->greatest ? element : -element, here, &top[j], &where[j]);
        }
    }
    _Pragma("GCC unroll 8") for (uint32_t j = 0; j < vectors; j++)
    {
        vec_store(c->acc + i + j * VEC, top[j]);
        vec_int_store(c->place + i + j * VEC, where[j]);
    }
}

DENSE_INLINE void column_deviations(const struct column *c, const struct kern_reduction_rows *rows, uint32_t i,
                                    uint32_t count)
{
    vec total = vec_load(c->acc + i), squares = vec_load(c->squares + i), middle = vec_load(c->center + i);
    for (uint32_t r = 0; r < rows->rows; r++) {
        vec difference = reduction_load_some(rows->x[r], i, c->half, count) - middle;
        total += difference;
        squares = vec_fma(difference, difference, squares);
    }
    vec_store(c->acc + i, total);
    vec_store(c->squares + i, squares);
}

#define POWER_ROWS 8 /* rows whose elements stay in registers between both passes */

DENSE_INLINE void column_powers(const struct column *c, const struct kern_reduction_rows *rows, uint32_t i,
                                uint32_t count)
{
    const vec before = vec_load(c->acc + i);
    vec row[POWER_ROWS], most = before, part = vec_set(0);
    float powers[VEC], factor[VEC];
    double *sum = c->sum + i;
    _Pragma("GCC unroll 8") for (uint32_t r = 0; r < rows->rows; r++)
    {
        row[r] = reduction_load_some(rows->x[r], i, c->half, count);
        most = vec_max(row[r], most);
    }
    vec_store(c->acc + i, most);
    const bool raised = vec_any_greater(most, before);
    most = vec_max(most, vec_set(-FLT_MAX)); /* if there was only -infinity: powers of 0 */
    _Pragma("GCC unroll 8") for (uint32_t r = 0; r < rows->rows; r++) part += vec_exp_below(row[r], most, false);
    vec_store(powers, part);
    if (raised) {
        vec_store(factor, vec_exp_below(before, most, true));
        _Pragma("GCC ivdep") for (uint32_t j = 0; j < VEC; j++) sum[j] *= factor[j];
    }
    _Pragma("GCC ivdep") for (uint32_t j = 0; j < VEC; j++) sum[j] += powers[j];
}

DENSE_INLINE void column_step(const struct column *c, const struct kern_reduction_rows *rows, uint32_t i,
                              uint32_t vectors, uint32_t count)
{
    switch (c->loop) {
    case COLUMN_STAT:
        column_stat(c, rows, i, vectors, count);
        break;
    case COLUMN_PLACE:
        column_place(c, rows, i, vectors, count);
        break;
    case COLUMN_DEVIATIONS:
        column_deviations(c, rows, i, count);
        break;
    case COLUMN_POWERS:
        column_powers(c, rows, i, count);
        break;
    }
}

/* All groups with the rows from the r-th on, whose number is a constant. */
DENSE_INLINE void column_part(const struct column *c, const struct kern_reduction_rows *all, uint32_t r, uint32_t count)
{
    const struct kern_reduction_rows rows = { all->x + r, NULL, count, all->count, c->half };
    const bool by_lines = c->loop == COLUMN_STAT || c->loop == COLUMN_PLACE;
    const void *const *ahead = all->ahead && c->loop != COLUMN_DEVIATIONS && count > 1 ? all->ahead + r : NULL;
    const uint32_t bytes = c->half ? 2 : 4, line = REDUCTION_LINE / bytes, vectors = by_lines ? line / VEC : 1;
    uint32_t i = 0;
    for (; i + vectors * VEC <= all->count; i += vectors * VEC) {
        for (uint32_t k = 0; k < count && ahead && i % line == 0; k++)
            reduction_prefetch(ahead[k], i * bytes, 1);
        column_step(c, &rows, i, vectors, vectors * VEC);
    }
    for (; i + VEC <= all->count; i += VEC)
        column_step(c, &rows, i, 1, VEC);
    if (i < all->count)
        column_step(c, &rows, i, 1, all->count - i);
}

DENSE_INLINE void column_rows(struct column c, const struct kern_reduction_rows *rows, bool half)
{
    const uint32_t together = c.loop == COLUMN_STAT || c.loop == COLUMN_PLACE ? 4 : POWER_ROWS;
    const int32_t first = c.first;
    uint32_t r = 0;
    c.half = half;
    for (; r + together <= rows->rows; r += together) {
        c.first = first + (int32_t)r * c.step;
        column_part(&c, rows, r, together);
    }
    for (; r < rows->rows; r++) {
        c.first = first + (int32_t)r * c.step;
        column_part(&c, rows, r, 1);
    }
}

DENSE_INLINE void column_run(const struct column *c, const struct kern_reduction_rows *rows)
{
    if (rows->half)
        column_rows(*c, rows, true);
    else
        column_rows(*c, rows, false);
}

static void reduction_column(enum kern_stat stat, float *acc, const struct kern_reduction_rows *rows,
                             const float *center)
{
#define REDUCTION_COLUMN(name)                                                                                         \
    case name:                                                                                                         \
        column_run(&(struct column){ .stat = name, .acc = acc, .center = center }, rows);                              \
        break;
    switch (stat) {
        REDUCTION_COLUMN(KERN_STAT_SUM)
        REDUCTION_COLUMN(KERN_STAT_SIZE)
        REDUCTION_COLUMN(KERN_STAT_SQUARES)
        REDUCTION_COLUMN(KERN_STAT_EXP)
        REDUCTION_COLUMN(KERN_STAT_MAX)
        REDUCTION_COLUMN(KERN_STAT_MIN)
        REDUCTION_COLUMN(KERN_STAT_MAX_NAN)
        REDUCTION_COLUMN(KERN_STAT_MIN_NAN)
    case KERN_STAT_PRODUCT:
        break;
    }
#undef REDUCTION_COLUMN
}

static void reduction_powers(float *top, double *sum, const struct kern_reduction_rows *rows)
{
    column_run(&(struct column){ .loop = COLUMN_POWERS, .acc = top, .sum = sum }, rows);
}

static void reduction_column_place(float *best, uint32_t *place, const struct kern_reduction_rows *rows, bool greatest,
                                   uint32_t first, int32_t step)
{
    struct column c = { COLUMN_PLACE, .acc = best, .place = (int32_t *)place, .first = (int32_t)first, .step = step };
    c.greatest = true;
    if (greatest)
        column_run(&c, rows);
    c.greatest = false;
    if (!greatest)
        column_run(&c, rows);
}

static void reduction_deviations_columns(float *sum, float *squares, const struct kern_reduction_rows *rows,
                                         const float *center)
{
    column_run(&(struct column){ COLUMN_DEVIATIONS, .acc = sum, .squares = squares, .center = center }, rows);
}

/* ---- the last step, once the statistics of the groups are known ---- */

/* Constants of a run: a, b and c are one value each, or one for each element; scale and shift as well. */
struct reduction_run {
    const struct kern_reduction_finish *f;
    vec a, b, c;
    /* Known to the compiler: */
    enum kern_reduction_end end;
    bool each, x_half, y_half;
};

/* `count` elements are left, here and below. */
DENSE_INLINE vec reduction_parameter(const struct kern_reduction_parameter *p, uint32_t i, uint32_t count)
{
    if (p->step == KERN_REDUCTION_ONE)
        return vec_set(*(const float *)p->data);
    return reduction_load_some(p->data, i, p->step == KERN_REDUCTION_EACH_HALF, count);
}

/* There are whole vectors of them. */
DENSE_INLINE vec reduction_own(const struct kern_reduction_parameter *p, vec one, bool each, uint32_t i)
{
    return each ? vec_load((const float *)p->data + i) : one;
}

DENSE_INLINE vec reduction_finished(const struct reduction_run *run, uint32_t i, uint32_t count)
{
    const struct kern_reduction_finish *f = run->f;
    const bool each = run->each, x_half = run->x_half;
    vec x = reduction_load_some(f->x, i, x_half, count), b = reduction_own(&f->b, run->b, each, i);
    switch (run->end) {
    case KERN_REDUCTION_SCALED:
        return x * b;
    case KERN_REDUCTION_DIVIDED:
        return x / b;
    case KERN_REDUCTION_POWERS:
        return vec_exp_below(x, reduction_own(&f->a, run->a, each, i), !x_half) * b;
    case KERN_REDUCTION_LESS:
        return (x - reduction_own(&f->a, run->a, each, i)) - b;
    default:
        break;
    }
    x = vec_fma(x - reduction_own(&f->a, run->a, each, i), b, reduction_own(&f->c, run->c, each, i));
    if (run->end == KERN_REDUCTION_AFFINE)
        return x;
    if (run->end == KERN_REDUCTION_AFFINE_ALIKE)
        return vec_fma(x, reduction_load_some(f->scale.data, i, x_half, count),
                       reduction_load_some(f->shift.data, i, x_half, count));
    if (f->scale.data && f->shift.data)
        return vec_fma(x, reduction_parameter(&f->scale, i, count), reduction_parameter(&f->shift, i, count));
    if (f->scale.data)
        return x * reduction_parameter(&f->scale, i, count);
    return x + reduction_parameter(&f->shift, i, count);
}

DENSE_INLINE void reduction_finish_as(enum kern_reduction_end end, const struct kern_reduction_finish *f,
                                      uint32_t count, bool each, bool x_half, bool y_half)
{
    const struct kern_reduction_finish own = *f; /* so that stores are known not to change it */
    const vec none = vec_set(0);
    const struct reduction_run run = { &own,
                                       each ? none : vec_set(*(const float *)own.a.data),
                                       each ? none : vec_set(*(const float *)own.b.data),
                                       each ? none : vec_set(*(const float *)own.c.data),
                                       end,
                                       each,
                                       x_half,
                                       y_half };
    const uint32_t bytes = x_half ? 2 : 4;
    bool stream = f->stream && (uintptr_t)f->y % (VEC * (y_half ? 2 : 4)) == 0;
    uint32_t i = 0;
    for (; i + 4 * VEC <= count; i += 4 * VEC) {
        vec value[4];
        reduction_prefetch(own.ahead, i * bytes, 4 * VEC * bytes);
        _Pragma("GCC unroll 4") for (uint32_t j = 0; j < 4; j++) value[j] = reduction_finished(&run, i + j * VEC, VEC);
        _Pragma("GCC unroll 4") for (uint32_t j = 0; j < 4; j++) vec_put(own.y, i + j * VEC, y_half, stream, value[j]);
    }
    for (; i + VEC <= count; i += VEC)
        vec_put(own.y, i, y_half, stream, reduction_finished(&run, i, VEC));
    if (i < count)
        vec_store_some(y_half ? DML_TENSOR_DATA_TYPE_FLOAT16 : DML_TENSOR_DATA_TYPE_FLOAT32, own.y, i,
                       reduction_finished(&run, i, count - i), count - i);
}

DENSE_INLINE void reduction_finish_types(enum kern_reduction_end end, const struct kern_reduction_finish *f,
                                         uint32_t count, bool each)
{
    if (f->x_half && f->y_half)
        reduction_finish_as(end, f, count, each, true, true);
    else if (f->x_half || f->y_half)
        reduction_finish_as(end, f, count, each, f->x_half, f->y_half);
    else
        reduction_finish_as(end, f, count, each, false, false);
}

/* The layout of scale and shift of AFFINE. */
static enum kern_reduction_end reduction_end(const struct kern_reduction_finish *f)
{
    const enum kern_reduction_step alike = f->x_half ? KERN_REDUCTION_EACH_HALF : KERN_REDUCTION_EACH;
    if (f->end != KERN_REDUCTION_AFFINE || (!f->scale.data && !f->shift.data))
        return f->end;
    return f->scale.data && f->shift.data && f->scale.step == alike && f->shift.step == alike
               ? KERN_REDUCTION_AFFINE_ALIKE
               : KERN_REDUCTION_AFFINE_ANY;
}

static void reduction_finish(const struct kern_reduction_finish *f, uint32_t count)
{
#define REDUCTION_FINISH(end)                                                                                          \
    case end:                                                                                                          \
        if (f->b.step == KERN_REDUCTION_ONE)                                                                           \
            reduction_finish_types(end, f, count, false);                                                              \
        else                                                                                                           \
            reduction_finish_types(end, f, count, true);                                                               \
        break;
    switch (reduction_end(f)) {
        REDUCTION_FINISH(KERN_REDUCTION_SCALED)
        REDUCTION_FINISH(KERN_REDUCTION_DIVIDED)
        REDUCTION_FINISH(KERN_REDUCTION_POWERS)
        REDUCTION_FINISH(KERN_REDUCTION_LESS)
        REDUCTION_FINISH(KERN_REDUCTION_AFFINE)
        REDUCTION_FINISH(KERN_REDUCTION_AFFINE_ALIKE)
        REDUCTION_FINISH(KERN_REDUCTION_AFFINE_ANY)
    }
#undef REDUCTION_FINISH
}

#endif
