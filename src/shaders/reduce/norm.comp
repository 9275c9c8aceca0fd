// SPDX-License-Identifier: Apache-2.0
/* KERN_NORM and KERN_MOMENTS. Tensors: 0 X, then [scale], [bias], [those of the epilogue], Y or mean, variance. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define UNIFORM_BLOCK
#define PARAMETERS line_params
#include "shaders/reduce/reduce_params.h"
#include "shaders/core/views.glsl"
#ifndef HAVE_FLOAT64
#include "shaders/core/epilogue.glsl"
#endif

struct Total {
    REAL sum, squares;
};

void combine(inout Total a, Total b)
{
    a.sum += b.sum;
    a.squares += b.squares;
}

/* The mean is mean + more: one number is not accurate enough for the differences. squares: sum of those of the
 * differences. Without NORM_MEAN, both are 0. */
struct Moments {
    REAL mean, more, squares;
};

#ifdef HAVE_FLOAT64
#define PARTIAL_BYTES 24u
#else
#define PARTIAL_BYTES 12u
#endif
#define PARTIAL Moments
#include "shaders/reduce/lines.glsl"
#include "shaders/reduce/cache.glsl"
#include "shaders/reduce/parts.glsl"

/* An infinite mean needs no correction. */
REAL rest_of(REAL mean, REAL more)
{
    return is_inf(mean) ? REAL(0.0) : more;
}

/* Sums of the differences of elements begin to end - 1 from `mean` and of their squares. */
Total add_up(int x, uint begin, uint end, REAL mean, bool first)
{
    Total total = Total(REAL(0.0), REAL(0.0));
    EACH_BLOCK(i, begin, end)
    {
        Total block = Total(REAL(0.0), REAL(0.0));
        EACH_IN_BLOCK(k, i, end)
        {
            REAL difference = element(x, k, begin, first) - mean;
            combine(block, Total(difference, difference * difference));
        }
        combine(total, block);
    }
    return across_lanes(total);
}

/* Of a line or a part of it, `count` elements. */
Moments moments_of(int x, uint begin, uint end, REAL count)
{
    Moments m = Moments(REAL(0.0), REAL(0.0), REAL(0.0));
    bool centred = (params.mode & NORM_MEAN) != 0u;
    for (uint pass = centred ? 0u : 1u; pass < 2u; pass++) {
        Total total = add_up(x, begin, end, m.mean, pass == 0u || !centred);
        if (pass == 0u) {
            m.mean = total.sum / count;
            continue;
        }
        m.more = centred ? rest_of(m.mean, total.sum / count) : REAL(0.0);
        m.squares = total.squares - m.more * m.more * count;
        m.squares = m.squares < REAL(0.0) ? REAL(0.0) : m.squares;
    }
    return m;
}

/* From those of the line's parts. */
Moments moments_of_parts(uint line)
{
    uint size = (params.count + params.partials - 1u) / params.partials;
    line = min(line, params.lines - 1u);
    Moments m = partial_at(line, 0u).v;
    m.more = m.squares = REAL(0.0);
    for (uint pass = 0u; pass < 2u; pass++) {
        Total total = Total(REAL(0.0), REAL(0.0));
        for (uint k = lane(); k < params.partials; k += params.lanes) {
            Moments part = partial_at(line, k).v;
            REAL count = REAL(min(size, params.count - k * size)), difference = part.mean - m.mean + part.more - m.more;
            combine(total, Total(difference * count, part.squares + difference * difference * count));
        }
        total = across_lanes(total);
        if (pass == 0u)
            m.more = rest_of(m.mean, total.sum / REAL(params.count));
        else
            m.squares = total.squares;
    }
    return m;
}

void normalise(int x, uint line, uint begin, uint end, Moments m)
{
    REAL factor = REAL(1.0);
    uint inputs = 1u + (params.mode / NORM_SCALE & 1u) + (params.mode / NORM_BIAS & 1u);
    int y = at_line(header.inputs, line);
    if ((params.mode & NORM_VARIANCE) != 0u)
        factor /= sqrt(m.squares / REAL(params.count) + REAL(params.epsilon));
    for (uint k = begin + lane(); k < end; k += params.lanes) {
        REAL value = (element(x, k, begin, params.finish != 0u) - m.mean - m.more) * factor;
        for (uint t = 1u; t < inputs; t++) {
            REAL other = load_real(t, at_line(t, line) + in_line(t, k));
            if (t == 1u && (params.mode & NORM_SCALE) != 0u)
                value *= other;
            else
                value += other;
        }
        int to = y + in_line(header.inputs, k);
#ifndef HAVE_FLOAT64
        value = epilogue(value, line * params.count + k, to);
#endif
        store_real(header.inputs, to, value);
    }
}

void main()
{
    EACH_GROUP_UNIT(unit)
    {
        uint line = unit / params.parts * slots() + slot(), part = unit % params.parts;
        uint begin = part_begin(part), end = part_begin(part + 1u);
        REAL count = REAL(end - begin);
        bool there = line < params.lines;
        int x = at_line(0u, line);
        Moments m;
        if (params.finish != 0u)
            m = moments_of_parts(line);
        else
            m = moments_of(x, begin, there ? end : begin, count);
        if (params.partials != 0u && params.finish == 0u) {
            if (there && lane() == 0u)
                partial_at(line, part).v = m;
        } else if ((params.mode & NORM_MOMENTS) == 0u) {
            normalise(x, line, begin, there ? end : begin, m);
        } else if (there && lane() == 0u) {
            for (uint t = 1u; t < 3u; t++)
                store_real(t, at_line(t, line), t == 1u ? m.mean + m.more : m.squares / REAL(params.count));
        }
    }
}
