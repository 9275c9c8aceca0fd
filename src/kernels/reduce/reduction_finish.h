/* The last step over a dense run of elements, once the statistics of their groups are known. */
#ifndef KERNELS_REDUCTION_FINISH_H
#define KERNELS_REDUCTION_FINISH_H

#include "kernels/reduce/reduction_lane.h"

/* How scale and shift are given: there are none, both as elements of X's type, in any other way. */
enum reduction_further { REDUCTION_NONE, REDUCTION_ALIKE, REDUCTION_ANY };

/* What is fixed for a run: a, b and c are one value each, or each element has its own; scale and shift as well. */
struct reduction_run {
    const struct kern_reduction_finish *f;
    vec a, b, c;
    /* Known to the compiler: */
    enum kern_reduction_end end;
    bool each, x_half, y_half;
    enum reduction_further further;
};

DENSE_INLINE vec reduction_parameter(const struct kern_reduction_parameter *p, uint32_t i)
{
    if (p->step == KERN_REDUCTION_ONE)
        return vec_set(*(const float *)p->data);
    return reduction_load(p->data, i, p->step == KERN_REDUCTION_EACH_HALF);
}

DENSE_INLINE vec reduction_own(const struct kern_reduction_parameter *p, vec one, bool each, uint32_t i)
{
    return each ? vec_load((const float *)p->data + i) : one;
}

DENSE_INLINE vec reduction_finished(const struct reduction_run *run, uint32_t i)
{
    const struct kern_reduction_finish *f = run->f;
    const enum reduction_further further = run->further;
    const bool each = run->each, x_half = run->x_half;
    vec x = reduction_load(f->x, i, x_half), b = reduction_own(&f->b, run->b, each, i);
    switch (run->end) {
    case KERN_REDUCTION_SCALED:
        return x * b;
    case KERN_REDUCTION_DIVIDED:
        return x / b;
    case KERN_REDUCTION_POWERS:
        return vec_exp_below(x, reduction_own(&f->a, run->a, each, i), !x_half) * b;
    case KERN_REDUCTION_LESS:
        return (x - reduction_own(&f->a, run->a, each, i)) - b;
    case KERN_REDUCTION_AFFINE:
        break;
    }
    x = vec_fma(x - reduction_own(&f->a, run->a, each, i), b, reduction_own(&f->c, run->c, each, i));
    if (further == REDUCTION_ALIKE)
        return vec_fma(x, reduction_load(f->scale.data, i, x_half), reduction_load(f->shift.data, i, x_half));
    if (further == REDUCTION_NONE)
        return x;
    if (f->scale.data && f->shift.data)
        return vec_fma(x, reduction_parameter(&f->scale, i), reduction_parameter(&f->shift, i));
    if (f->scale.data)
        return x * reduction_parameter(&f->scale, i);
    return x + reduction_parameter(&f->shift, i);
}

DENSE_INLINE void reduction_put(void *y, uint32_t i, bool half, bool stream, vec value)
{
    if (half && stream)
        vec_stream_half((uint16_t *)y + i, value);
    else if (half)
        vec_store_half((uint16_t *)y + i, value);
    else if (stream)
        vec_stream((float *)y + i, value);
    else
        vec_store((float *)y + i, value);
}

/* A parameter's last `count` elements where a whole vector may be read. */
static void reduction_parameter_end(struct kern_reduction_parameter *p, uint32_t i, uint32_t count, float *buffer)
{
    const uint32_t bytes = p->step == KERN_REDUCTION_EACH_HALF ? 2 : 4;
    if (!p->data || p->step == KERN_REDUCTION_ONE)
        return;
    memset(buffer, 0, VEC * sizeof(float));
    memcpy(buffer, (const char *)p->data + i * bytes, count * bytes);
    p->data = buffer;
}

DENSE_INLINE void reduction_finish_end(const struct reduction_run *run, uint32_t i, uint32_t count)
{
    const bool x_half = run->x_half, y_half = run->y_half;
    float buffer[7][VEC];
    struct kern_reduction_finish last = *run->f;
    struct reduction_run rest = *run;
    rest.f = &last;
    memset(buffer, 0, sizeof(buffer));
    memcpy(buffer[0], (const char *)last.x + i * (x_half ? 2 : 4), count * (x_half ? 2 : 4));
    last.x = buffer[0];
    reduction_parameter_end(&last.a, i, count, buffer[2]);
    reduction_parameter_end(&last.b, i, count, buffer[3]);
    reduction_parameter_end(&last.c, i, count, buffer[4]);
    reduction_parameter_end(&last.scale, i, count, buffer[5]);
    reduction_parameter_end(&last.shift, i, count, buffer[6]);
    reduction_put(buffer[1], 0, y_half, false, reduction_finished(&rest, 0));
    memcpy((char *)last.y + i * (y_half ? 2 : 4), buffer[1], count * (y_half ? 2 : 4));
}

DENSE_INLINE void reduction_finish_as(enum kern_reduction_end end, const struct kern_reduction_finish *f,
                                      uint32_t count, bool each, bool x_half, bool y_half,
                                      enum reduction_further further)
{
    const struct kern_reduction_finish own = *f; /* so that stores are known not to change it */
    const struct reduction_run run = { &own,
                                       each || !own.a.data ? vec_set(0) : reduction_parameter(&own.a, 0),
                                       each ? vec_set(0) : reduction_parameter(&own.b, 0),
                                       each || !own.c.data ? vec_set(0) : reduction_parameter(&own.c, 0),
                                       end,
                                       each,
                                       x_half,
                                       y_half,
                                       further };
    const uint32_t bytes = x_half ? 2 : 4;
    bool stream = f->stream && (uintptr_t)f->y % (VEC * (y_half ? 2 : 4)) == 0;
    uint32_t i = 0;
    for (; i + 4 * VEC <= count; i += 4 * VEC) {
        vec value[4];
        reduction_prefetch(own.ahead, i * bytes, 4 * VEC * bytes);
        _Pragma("GCC unroll 4") for (uint32_t j = 0; j < 4; j++) value[j] = reduction_finished(&run, i + j * VEC);
        _Pragma("GCC unroll 4") for (uint32_t j = 0; j < 4; j++)
            reduction_put(own.y, i + j * VEC, y_half, stream, value[j]);
    }
    for (; i + VEC <= count; i += VEC)
        reduction_put(own.y, i, y_half, stream, reduction_finished(&run, i));
    if (i < count)
        reduction_finish_end(&run, i, count - i);
}

DENSE_INLINE void reduction_finish_types(enum kern_reduction_end end, const struct kern_reduction_finish *f,
                                         uint32_t count, bool each, enum reduction_further further)
{
    if (f->x_half && f->y_half)
        reduction_finish_as(end, f, count, each, true, true, further);
    else if (f->x_half || f->y_half)
        reduction_finish_as(end, f, count, each, f->x_half, f->y_half, further);
    else
        reduction_finish_as(end, f, count, each, false, false, further);
}

DENSE_INLINE void reduction_finish_each(enum kern_reduction_end end, const struct kern_reduction_finish *f,
                                        uint32_t count, enum reduction_further further)
{
    if (f->b.step == KERN_REDUCTION_ONE)
        reduction_finish_types(end, f, count, false, further);
    else
        reduction_finish_types(end, f, count, true, further);
}

static void reduction_affine(const struct kern_reduction_finish *f, uint32_t count)
{
    const enum kern_reduction_step alike = f->x_half ? KERN_REDUCTION_EACH_HALF : KERN_REDUCTION_EACH;
    if (!f->scale.data && !f->shift.data)
        reduction_finish_each(KERN_REDUCTION_AFFINE, f, count, REDUCTION_NONE);
    else if (f->scale.data && f->shift.data && f->scale.step == alike && f->shift.step == alike)
        reduction_finish_each(KERN_REDUCTION_AFFINE, f, count, REDUCTION_ALIKE);
    else
        reduction_finish_each(KERN_REDUCTION_AFFINE, f, count, REDUCTION_ANY);
}

static void reduction_finish(const struct kern_reduction_finish *f, uint32_t count)
{
    switch (f->end) {
    case KERN_REDUCTION_SCALED:
        reduction_finish_each(KERN_REDUCTION_SCALED, f, count, REDUCTION_NONE);
        break;
    case KERN_REDUCTION_DIVIDED:
        reduction_finish_each(KERN_REDUCTION_DIVIDED, f, count, REDUCTION_NONE);
        break;
    case KERN_REDUCTION_POWERS:
        reduction_finish_each(KERN_REDUCTION_POWERS, f, count, REDUCTION_NONE);
        break;
    case KERN_REDUCTION_LESS:
        reduction_finish_each(KERN_REDUCTION_LESS, f, count, REDUCTION_NONE);
        break;
    case KERN_REDUCTION_AFFINE:
        reduction_affine(f, count);
        break;
    }
}

#endif
