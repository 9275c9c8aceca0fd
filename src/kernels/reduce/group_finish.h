/* The last step over a dense run of elements, once the statistics of their groups are known. */
#ifndef KERNELS_GROUP_FINISH_H
#define KERNELS_GROUP_FINISH_H

#include "kernels/reduce/group_lane.h"

/* What is fixed for a run: a, b and c are one value each, or each element has its own; scale and shift as well. */
struct group_run {
    const struct kern_group_finish *f;
    vec a, b, c;
};

/* How scale and shift are given: there are none, both as elements of X's type, in any other way. */
enum group_further { GROUP_NONE, GROUP_ALIKE, GROUP_ANY };

DENSE_INLINE vec group_parameter(const struct kern_group_parameter *p, uint32_t i)
{
    if (p->step == KERN_GROUP_ONE)
        return vec_set(*(const float *)p->data);
    return group_load(p->data, i, p->step == KERN_GROUP_EACH_HALF);
}

DENSE_INLINE vec group_own(const struct kern_group_parameter *p, vec one, bool each, uint32_t i)
{
    return each ? vec_load((const float *)p->data + i) : one;
}

DENSE_INLINE vec group_finished(enum kern_group_end end, const struct group_run *run, bool each, bool x_half,
                                enum group_further further, uint32_t i)
{
    const struct kern_group_finish *f = run->f;
    vec x = group_load(f->x, i, x_half), b = group_own(&f->b, run->b, each, i);
    switch (end) {
    case KERN_GROUP_SCALED:
        return x * b;
    case KERN_GROUP_DIVIDED:
        return x / b;
    case KERN_GROUP_POWERS:
        return group_exp(x, group_own(&f->a, run->a, each, i), !x_half) * b;
    case KERN_GROUP_LESS:
        return (x - group_own(&f->a, run->a, each, i)) - b;
    case KERN_GROUP_AFFINE:
        break;
    }
    x = vec_fma(x - group_own(&f->a, run->a, each, i), b, group_own(&f->c, run->c, each, i));
    if (further == GROUP_ALIKE)
        return vec_fma(x, group_load(f->scale.data, i, x_half), group_load(f->shift.data, i, x_half));
    if (further == GROUP_NONE)
        return x;
    if (f->scale.data && f->shift.data)
        return vec_fma(x, group_parameter(&f->scale, i), group_parameter(&f->shift, i));
    if (f->scale.data)
        return x * group_parameter(&f->scale, i);
    return x + group_parameter(&f->shift, i);
}

DENSE_INLINE void group_put(void *y, uint32_t i, bool half, bool stream, vec value)
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
static void group_parameter_end(struct kern_group_parameter *p, uint32_t i, uint32_t count, float *room)
{
    const uint32_t bytes = p->step == KERN_GROUP_EACH_HALF ? 2 : 4;
    if (!p->data || p->step == KERN_GROUP_ONE)
        return;
    memset(room, 0, VEC * sizeof(float));
    memcpy(room, (const char *)p->data + i * bytes, count * bytes);
    p->data = room;
}

DENSE_INLINE void group_finish_end(enum kern_group_end end, const struct group_run *run, bool each, bool x_half,
                                   bool y_half, enum group_further further, uint32_t i, uint32_t count)
{
    float room[7][VEC];
    struct kern_group_finish last = *run->f;
    struct group_run rest = { &last, run->a, run->b, run->c };
    memset(room, 0, sizeof(room));
    memcpy(room[0], (const char *)last.x + i * (x_half ? 2 : 4), count * (x_half ? 2 : 4));
    last.x = room[0];
    group_parameter_end(&last.a, i, count, room[2]);
    group_parameter_end(&last.b, i, count, room[3]);
    group_parameter_end(&last.c, i, count, room[4]);
    group_parameter_end(&last.scale, i, count, room[5]);
    group_parameter_end(&last.shift, i, count, room[6]);
    group_put(room[1], 0, y_half, false, group_finished(end, &rest, each, x_half, further, 0));
    memcpy((char *)last.y + i * (y_half ? 2 : 4), room[1], count * (y_half ? 2 : 4));
}

DENSE_INLINE void group_finish_as(enum kern_group_end end, const struct kern_group_finish *f, uint32_t count, bool each,
                                  bool x_half, bool y_half, enum group_further further)
{
    const struct kern_group_finish own = *f; /* so that stores are known not to change it */
    const struct group_run run = { &own, each || !own.a.data ? vec_set(0) : group_parameter(&own.a, 0),
                                   each ? vec_set(0) : group_parameter(&own.b, 0),
                                   each || !own.c.data ? vec_set(0) : group_parameter(&own.c, 0) };
    const uint32_t bytes = x_half ? 2 : 4;
    bool stream = f->stream && (uintptr_t)f->y % (VEC * (y_half ? 2 : 4)) == 0;
    uint32_t i = 0;
    for (; i + 4 * VEC <= count; i += 4 * VEC) {
        vec value[4];
        group_ask(own.ahead, i * bytes, 4 * VEC * bytes);
        _Pragma("GCC unroll 4") for (uint32_t j = 0; j < 4; j++) value[j] =
            group_finished(end, &run, each, x_half, further, i + j * VEC);
        _Pragma("GCC unroll 4") for (uint32_t j = 0; j < 4; j++)
            group_put(own.y, i + j * VEC, y_half, stream, value[j]);
    }
    for (; i + VEC <= count; i += VEC)
        group_put(own.y, i, y_half, stream, group_finished(end, &run, each, x_half, further, i));
    if (i < count)
        group_finish_end(end, &run, each, x_half, y_half, further, i, count - i);
}

DENSE_INLINE void group_finish_types(enum kern_group_end end, const struct kern_group_finish *f, uint32_t count,
                                     bool each, enum group_further further)
{
    if (f->x_half && f->y_half)
        group_finish_as(end, f, count, each, true, true, further);
    else if (f->x_half || f->y_half)
        group_finish_as(end, f, count, each, f->x_half, f->y_half, further);
    else
        group_finish_as(end, f, count, each, false, false, further);
}

DENSE_INLINE void group_finish_each(enum kern_group_end end, const struct kern_group_finish *f, uint32_t count,
                                    enum group_further further)
{
    if (f->b.step == KERN_GROUP_ONE)
        group_finish_types(end, f, count, false, further);
    else
        group_finish_types(end, f, count, true, further);
}

static void group_affine(const struct kern_group_finish *f, uint32_t count)
{
    const enum kern_group_step alike = f->x_half ? KERN_GROUP_EACH_HALF : KERN_GROUP_EACH;
    if (!f->scale.data && !f->shift.data)
        group_finish_each(KERN_GROUP_AFFINE, f, count, GROUP_NONE);
    else if (f->scale.data && f->shift.data && f->scale.step == alike && f->shift.step == alike)
        group_finish_each(KERN_GROUP_AFFINE, f, count, GROUP_ALIKE);
    else
        group_finish_each(KERN_GROUP_AFFINE, f, count, GROUP_ANY);
}

static void group_finish(const struct kern_group_finish *f, uint32_t count)
{
    switch (f->end) {
    case KERN_GROUP_SCALED:
        group_finish_each(KERN_GROUP_SCALED, f, count, GROUP_NONE);
        break;
    case KERN_GROUP_DIVIDED:
        group_finish_each(KERN_GROUP_DIVIDED, f, count, GROUP_NONE);
        break;
    case KERN_GROUP_POWERS:
        group_finish_each(KERN_GROUP_POWERS, f, count, GROUP_NONE);
        break;
    case KERN_GROUP_LESS:
        group_finish_each(KERN_GROUP_LESS, f, count, GROUP_NONE);
        break;
    case KERN_GROUP_AFFINE:
        group_affine(f, count);
        break;
    }
}

#endif
