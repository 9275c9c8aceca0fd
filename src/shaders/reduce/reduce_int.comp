// SPDX-License-Identifier: Apache-2.0
/* KERN_REDUCE: sums, products and similar of integers, which wrap at 64 bits; at 32 if Y has at most 32 and those are
 * the low ones. Tensors: 0 X, 1 Y. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define PARAMETERS line_params
#include "shaders/reduce/reduce_params.h"
#include "shaders/core/views.glsl"
#include "shaders/core/math_f64.glsl"

struct Total {
    UINT value;
};

void combine(inout Total a, Total b)
{
    if (params.mode == REDUCE_MULTIPLY)
        a.value *= b.value;
    else
        a.value += b.value;
}

#ifdef HAVE_INT64
#define PARTIAL_BYTES 8u
#else
#define PARTIAL_BYTES 4u
#endif
#include "shaders/reduce/lines.glsl"
#include "shaders/reduce/parts.glsl"

UINT value_of(INT x)
{
    if (params.mode == REDUCE_L1)
        return x < INT(0) && type_is_signed(type_of(0u)) ? UINT(-x) : UINT(x);
    bool square = params.mode == REDUCE_L2 || params.mode == REDUCE_SUM_SQUARE;
    return square ? UINT(x) * UINT(x) : UINT(x);
}

Total add_up(uint line, uint part)
{
    Total total = Total(UINT(params.mode == REDUCE_MULTIPLY ? 1 : 0));
    uint end = line < params.lines ? part_begin(part + 1u) : 0u;
    int x = at_line(0u, line);
    for (uint k = part_begin(part) + lane(); k < end; k += params.lanes) {
        Total one;
        if (params.finish != 0u)
            one = partial_at(line, k).v;
        else
            one.value = value_of(load_int(0u, x + in_line(0u, k)));
        combine(total, one);
    }
    return across_lanes(total);
}

#ifdef HAVE_INT64
/* The functions whose result is not the total. */
void finish(Place y, UINT value, bool is_signed)
{
    uint from = is_signed ? TYPE_INT64 : TYPE_UINT64;
    if (params.mode == REDUCE_AVERAGE)
        value = is_signed ? UINT(INT(value) / INT(params.count)) : value / UINT(params.count);
    uvec2 x = from_uint64(value);
#ifdef HAVE_FLOAT64
    if (params.mode == REDUCE_L2 || params.mode == REDUCE_LOG_SUM) {
        double real = packDouble2x32(register_to_double(x, from));
        real = params.mode == REDUCE_L2 ? sqrt(real) : log_of(real);
        x = unpackDouble2x32(real);
        from = TYPE_FLOAT64;
    }
#endif
    store(y, type_of(1u), x, from);
}
#endif

void main()
{
    EACH_GROUP_UNIT(unit)
    {
        uint line = unit / params.parts * slots() + slot(), part = unit % params.parts;
        Total total = add_up(line, part);
        if (lane() != 0u || line >= params.lines)
            continue;
        if (params.parts > 1u) {
            partial_at(line, part).v = total;
            continue;
        }
        Place y = place_of(1u, at_line(1u, line));
#ifdef HAVE_INT64
        finish(y, total.value, type_is_signed(type_of(0u)));
#else
        store(y, type_of(1u), uvec2(total.value, 0u), TYPE_UINT32);
#endif
    }
}
