/* The work of scatter_add_plan.h; included once per instruction set. */
#ifndef KERNELS_SCATTER_ADD_BODY_H
#define KERNELS_SCATTER_ADD_BODY_H

#include "kernels/vec/vec.h"
#include "kernels/resample/scatter_add_plan.h"

/* to[i] += from[i]; nothing beyond `from` is read, zeros may be added up to a vector beyond `to`. */
DENSE_INLINE void scatter_add_run(float *to, const float *from, int64_t count)
{
    int64_t i = 0;
    for (; i + VEC <= count; i += VEC)
        vec_store(to + i, vec_load(to + i) + vec_load(from + i));
    if (i < count)
        vec_store(to + i, vec_load(to + i) + vec_load_part(from + i, (uint32_t)(count - i), vec_set(0)));
}

DENSE_INLINE void scatter_add_clear(const struct scatter_add *s)
{
    memset(s->phases, 0, (size_t)(s->stride * s->pitch) * sizeof(float));
}

/* The elements [*begin, *end) of a run that lie in the row, when element 0 lies at `first` and `count` are there. */
DENSE_INLINE void scatter_add_range(int64_t width, int64_t stride, int64_t first, int64_t count, int64_t *begin,
                                    int64_t *end)
{
    *begin = first < 0 ? scatter_add_div(-first + stride - 1, stride) : 0;
    *end = first < width ? scatter_add_div(width - 1 - first, stride) + 1 : 0;
    *end = BASE_MIN(*end, count);
}

/* Element i of the run is added at first + i * stride, where the row has such an element. */
DENSE_INLINE void scatter_add_line(const struct scatter_add *s, int64_t stride, int64_t first, const float *run,
                                   int64_t count)
{
    int64_t begin, end;
    scatter_add_range(s->width, stride, first, count, &begin, &end);
    if (begin >= end)
        return;
    int64_t at = first + begin * stride, q = scatter_add_div(at, s->stride), r = at - q * s->stride;
    scatter_add_run(s->phases + r * s->pitch + q, run + begin, end - begin);
}

/* The row, in order; made in `line`, where it is not in order already. */
static const float *scatter_add_end(const struct scatter_add *s, float *restrict line)
{
    const float *phase = s->phases, *odd = s->phases + s->pitch;
    if (s->stride == 1)
        return s->phases;
    if (s->stride == 2) {
        for (int64_t q = 0; q < s->width / 2; q++) {
            line[2 * q] = phase[q];
            line[2 * q + 1] = odd[q];
        }
        if (s->width % 2)
            line[s->width - 1] = phase[s->width / 2];
        return line;
    }
    for (int64_t r = 0; r < s->stride; r++, phase += s->pitch) {
        for (int64_t at = r, q = 0; at < s->width; at += s->stride)
            line[at] = phase[q++];
    }
    return line;
}

#endif
