// SPDX-License-Identifier: Apache-2.0
/* KERN_NORM and KERN_MOMENTS. Tensors: 0 X, then [scale], [bias], Y or mean, variance. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define PARAMETERS line_params
#include "shaders/reduce/reduce_params.h"
#include "shaders/core/views.glsl"

/* Sums of differences from the mean so far and of their squares. */
struct Total {
    REAL sum, squares;
};

void combine(inout Total a, Total b)
{
    a.sum += b.sum;
    a.squares += b.squares;
}

#include "shaders/reduce/lines.glsl"
#include "shaders/reduce/cache.glsl"

Total add_up(int x, uint end, REAL mean, bool first)
{
    Total total = Total(REAL(0.0), REAL(0.0));
    EACH_BLOCK(i, 0u, end)
    {
        Total block = Total(REAL(0.0), REAL(0.0));
        EACH_IN_BLOCK(k, i, end)
        {
            REAL difference = element(x, k, first) - mean;
            combine(block, Total(difference, difference * difference));
        }
        combine(total, block);
    }
    return across_lanes(total);
}

/* The mean is the sum of two numbers: one cannot hold it as exactly as differences from it have to be. */
void write(int x, int y, uint line, uint end, REAL mean, REAL more, REAL factor, bool first)
{
    for (uint k = lane(); k < end; k += params.lanes) {
        REAL value = (element(x, k, first) - mean - more) * factor;
        for (uint t = 1u; t < header.inputs; t++) {
            REAL other = load_real(t, at_line(t, line) + in_line(t, k));
            if (t == 1u && (params.mode & NORM_SCALE) != 0u)
                value *= other;
            else
                value += other;
        }
        store_real(header.inputs, y + in_line(header.inputs, k), value);
    }
}

void main()
{
    EACH_GROUP_UNIT(unit)
    {
        uint line = unit * slots() + slot(), end = line < params.lines ? params.size : 0u;
        int x = at_line(0u, line), y = at_line(header.inputs, line);
        REAL mean = REAL(0.0), more = REAL(0.0), variance = REAL(0.0), count = REAL(params.size);
        bool first = true;
        /* the mean; then what is missing to it, and the variance */
        for (uint pass = 0u; pass < 2u; pass++) {
            bool centred = (params.mode & NORM_MEAN) != 0u;
            if (pass == 0u ? !centred : (params.mode & (NORM_VARIANCE | NORM_MEAN)) == 0u)
                continue;
            Total total = add_up(x, end, mean, first);
            first = false;
            if (pass == 0u) {
                mean = total.sum / count;
                continue;
            }
            more = centred ? total.sum / count : REAL(0.0);
            variance = total.squares / count - more * more;
            variance = variance < REAL(0.0) ? REAL(0.0) : variance;
        }
        if ((params.mode & NORM_MOMENTS) == 0u) {
            REAL factor = REAL(1.0);
            if ((params.mode & NORM_VARIANCE) != 0u)
                factor /= sqrt(variance + REAL(params.epsilon));
            write(x, y, line, end, mean, more, factor, first);
        } else if (lane() == 0u && line < params.lines) {
            for (uint t = 1u; t < 3u; t++)
                store_real(t, at_line(t, line), t == 1u ? mean + more : variance);
        }
    }
}
