/* SPDX-License-Identifier: Apache-2.0 */
/* The last step over a dense run of elements, once the statistics of their groups are known. */
#ifndef KERNELS_REDUCTION_FINISH_H
#define KERNELS_REDUCTION_FINISH_H

#include "kernels/reduce/reduction_column.h"

/* struct kern_reduction_finish's end, and how scale and shift of AFFINE are given: there are none, both as elements of
 * X's type, in any other way. */
enum reduction_end {
    REDUCTION_SCALED,
    REDUCTION_DIVIDED,
    REDUCTION_POWERS,
    REDUCTION_LESS,
    REDUCTION_AFFINE,
    REDUCTION_AFFINE_ALIKE,
    REDUCTION_AFFINE_ANY,
};

/* What is fixed for a run: a, b and c are one value each, or each element has its own; scale and shift as well. */
struct reduction_run {
    const struct kern_reduction_finish *f;
    vec a, b, c;
    /* Known to the compiler: */
    enum reduction_end end;
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
    case REDUCTION_SCALED:
        return x * b;
    case REDUCTION_DIVIDED:
        return x / b;
    case REDUCTION_POWERS:
        return vec_exp_below(x, reduction_own(&f->a, run->a, each, i), !x_half) * b;
    case REDUCTION_LESS:
        return (x - reduction_own(&f->a, run->a, each, i)) - b;
    default:
        break;
    }
    x = vec_fma(x - reduction_own(&f->a, run->a, each, i), b, reduction_own(&f->c, run->c, each, i));
    if (run->end == REDUCTION_AFFINE)
        return x;
    if (run->end == REDUCTION_AFFINE_ALIKE)
        return vec_fma(x, reduction_load_some(f->scale.data, i, x_half, count),
                       reduction_load_some(f->shift.data, i, x_half, count));
    if (f->scale.data && f->shift.data)
        return vec_fma(x, reduction_parameter(&f->scale, i, count), reduction_parameter(&f->shift, i, count));
    if (f->scale.data)
        return x * reduction_parameter(&f->scale, i, count);
    return x + reduction_parameter(&f->shift, i, count);
}

DENSE_INLINE void reduction_put(void *y, uint32_t i, bool half, bool stream, vec value)
{
    if (half && stream)
        vec_stream_half((uint16_t *)y + i, value);
    else if (stream)
        vec_stream((float *)y + i, value);
    else
        vec_store_of(half ? DML_TENSOR_DATA_TYPE_FLOAT16 : DML_TENSOR_DATA_TYPE_FLOAT32, y, i, value);
}

DENSE_INLINE void reduction_finish_as(enum reduction_end end, const struct kern_reduction_finish *f, uint32_t count,
                                      bool each, bool x_half, bool y_half)
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
        _Pragma("GCC unroll 4") for (uint32_t j = 0; j < 4; j++)
            reduction_put(own.y, i + j * VEC, y_half, stream, value[j]);
    }
    for (; i + VEC <= count; i += VEC)
        reduction_put(own.y, i, y_half, stream, reduction_finished(&run, i, VEC));
    if (i < count)
        vec_store_some(y_half ? DML_TENSOR_DATA_TYPE_FLOAT16 : DML_TENSOR_DATA_TYPE_FLOAT32, own.y, i,
                       reduction_finished(&run, i, count - i), count - i);
}

DENSE_INLINE void reduction_finish_types(enum reduction_end end, const struct kern_reduction_finish *f, uint32_t count,
                                         bool each)
{
    if (f->x_half && f->y_half)
        reduction_finish_as(end, f, count, each, true, true);
    else if (f->x_half || f->y_half)
        reduction_finish_as(end, f, count, each, f->x_half, f->y_half);
    else
        reduction_finish_as(end, f, count, each, false, false);
}

static enum reduction_end reduction_end(const struct kern_reduction_finish *f)
{
    const enum kern_reduction_step alike = f->x_half ? KERN_REDUCTION_EACH_HALF : KERN_REDUCTION_EACH;
    if (f->end != KERN_REDUCTION_AFFINE || (!f->scale.data && !f->shift.data))
        return (enum reduction_end)f->end;
    return f->scale.data && f->shift.data && f->scale.step == alike && f->shift.step == alike ? REDUCTION_AFFINE_ALIKE
                                                                                              : REDUCTION_AFFINE_ANY;
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
        REDUCTION_FINISH(REDUCTION_SCALED)
        REDUCTION_FINISH(REDUCTION_DIVIDED)
        REDUCTION_FINISH(REDUCTION_POWERS)
        REDUCTION_FINISH(REDUCTION_LESS)
        REDUCTION_FINISH(REDUCTION_AFFINE)
        REDUCTION_FINISH(REDUCTION_AFFINE_ALIKE)
        REDUCTION_FINISH(REDUCTION_AFFINE_ANY)
    }
#undef REDUCTION_FINISH
}

#endif
