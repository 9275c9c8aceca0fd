// SPDX-License-Identifier: Apache-2.0
/* KERN_REDUCE: sums, products and similar of floating-point elements. Tensors: 0 X, 1 Y. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define UNIFORM_BLOCK
#define PARAMETERS line_params
#include "shaders/reduce/reduce_params.h"
#include "shaders/core/views.glsl"
#include "shaders/core/math_f64.glsl"

layout(constant_id = 2) const uint KNOWN_MODE = 0; /* + 1 */

uint mode()
{
    return KNOWN_MODE != 0u ? KNOWN_MODE - 1u : params.mode;
}

/* The sum or product, which is value * 2^more; LOG_SUM_EXP: the largest element and the sum of e^(x - value). */
struct Total {
    REAL value, more;
};

Total nothing()
{
    if (mode() == REDUCE_LOG_SUM_EXP)
        return Total(REAL(-INFINITY), REAL(0.0));
    return Total(REAL(mode() == REDUCE_MULTIPLY ? 1.0 : 0.0), REAL(0.0));
}

/* Keeps products of any number of floats within their range. The reference uses doubles, which may overflow. */
void normalise(inout Total total)
{
#ifndef HAVE_FLOAT64
    uint bits = floatBitsToUint(total.value), exponent = bits >> 23 & 255u;
    if (exponent == 0u || exponent == 255u)
        return;
    total.value = uintBitsToFloat((bits & 0x807fffffu) | 0x3f800000u);
    total.more += float(int(exponent) - 127);
#endif
}

void add_exponential(inout Total a, Total b)
{
    if (is_nan(a.value) || is_nan(b.value)) {
        a.value = is_nan(a.value) ? a.value : b.value;
        return;
    }
    if (b.more == REAL(0.0))
        return;
    if (b.value > a.value) {
        Total other = a;
        a = b;
        b = other;
    }
    a.more += a.value == b.value ? b.more : b.more == REAL(0.0) ? b.more : b.more * exp_of(b.value - a.value);
}

void combine(inout Total a, Total b)
{
    if (mode() == REDUCE_LOG_SUM_EXP) {
        add_exponential(a, b);
    } else if (mode() == REDUCE_MULTIPLY) {
        a.value *= b.value;
        a.more += b.more;
        normalise(a);
    } else {
        a.value += b.value;
    }
}

#ifdef HAVE_FLOAT64
#define PARTIAL_BYTES 16u
#else
#define PARTIAL_BYTES 8u
#endif
#include "shaders/reduce/lines.glsl"
#include "shaders/reduce/parts.glsl"

Total total_of(REAL x)
{
    Total total = Total(x, REAL(0.0));
    if (mode() == REDUCE_L1)
        total.value = abs(x);
    else if (mode() == REDUCE_L2 || mode() == REDUCE_SUM_SQUARE)
        total.value = x * x;
    else if (mode() == REDUCE_LOG_SUM_EXP)
        total.more = REAL(1.0);
    else if (mode() == REDUCE_MULTIPLY)
        normalise(total);
    return total;
}

Total add_up(uint line, uint part)
{
    Total total = nothing();
    uint end = line < params.lines ? part_begin(part + 1u) : 0u;
    int x = at_line(0u, line);
    EACH_BLOCK(i, part_begin(part), end)
    {
        Total block = nothing();
        EACH_IN_BLOCK(k, i, end)
        {
            Total one;
            if (params.finish != 0u)
                one = partial_at(line, k).v;
            else
                one = total_of(load_real(0u, x + in_line(0u, k)));
            combine(block, one);
        }
        combine(total, block);
    }
    return across_lanes(total);
}

REAL result(Total total)
{
    switch (mode()) {
    case REDUCE_AVERAGE:
        return total.value / REAL(params.count);
    case REDUCE_L2:
        return sqrt(total.value);
    case REDUCE_LOG_SUM:
        return log_of(total.value);
    case REDUCE_LOG_SUM_EXP:
        return is_inf(total.value) ? total.value : total.value + log_of(total.more);
    case REDUCE_MULTIPLY:
        return scale(total.value, int(clamp(total.more, REAL(-250.0), REAL(250.0))));
    default:
        return total.value;
    }
}

void main()
{
    EACH_GROUP_UNIT(unit)
    {
        uint line = unit / params.parts * slots() + slot(), part = unit % params.parts;
        Total total = add_up(line, part);
        if (lane() != 0u || line >= params.lines)
            continue;
        if (params.parts > 1u)
            partial_at(line, part).v = total;
        else
            store_real(1u, at_line(1u, line), result(total));
    }
}
