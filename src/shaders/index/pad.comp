// SPDX-License-Identifier: Apache-2.0
/* KERN_PAD: PAD_TOGETHER neighbouring elements of the result per invocation. Tensors: 0 X, 1 Y. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define PARAMETERS pad_params
#include "shaders/index/index_params.h"
#include "shaders/core/views.glsl"
#include "shaders/core/bits.glsl"

/* DML_PADDING_MODE */
#define EDGE       1
#define REFLECTION 2
#define SYMMETRIC  3
#define WRAP       4

/* Of the numbers that differ by multiples of n, the one from 0 to n - 1. */
int modulo(int a, int n)
{
    int rest = int(uint(abs(a)) % uint(n));
    return a < 0 && rest > 0 ? n - rest : rest;
}

/* Where place `at` of a line of `size` elements, before them where negative, comes from; -1: the constant. */
int source_of(int at, int size)
{
    if (at >= 0 && at < size)
        return at;
    int back;
    switch (params.mode) {
    case EDGE:
        return at < 0 ? 0 : size - 1;
    case REFLECTION: /* the outermost element is the mirror */
        if (size == 1)
            return 0;
        back = modulo(at, 2 * (size - 1));
        return min(back, 2 * (size - 1) - back);
    case SYMMETRIC: /* the mirror stands behind it */
        back = modulo(at, 2 * size);
        return min(back, 2 * size - 1 - back);
    case WRAP:
        return modulo(at, size);
    default:
        return -1;
    }
}

/* The same where the constant stands between neighbours. */
int between_gaps(int at, uint step, uint d)
{
    uint from = uint(at) / step;
    return at < 0 || uint(at) % step != 0u || from >= view(0).sizes[d] ? -1 : int(from);
}

/* Coordinate `index` of the result's dimension d comes from this one, or negative: the constant. */
int source_along(uint index, uint d)
{
    uint step = params.gap[d] + 1u;
    int at = int(index - params.start[d]);
    return step == 1u ? source_of(at, int(view(0).sizes[d])) : between_gaps(at, step, d);
}

void main()
{
    uint last = view(1).rank - 1u;
    EACH_UNIT(number)
    {
        uint rest = divide(number, params.by_parts), first = (number - rest * params.by_parts.size) * PAD_TOGETHER;
        int x = 0, y = 0;
        bool inside = true;
        for (uint d = last; d-- > 0u;) {
            uint before = divide(rest, params.by_sizes[d]), index = rest - before * params.by_sizes[d].size;
            rest = before;
            y += int(index) * view(1).strides[d];
            int from = source_along(index, d);
            inside = inside && from >= 0;
            x += from * view(0).strides[d];
        }
        for (uint i = first; i < min(first + PAD_TOGETHER, view(1).sizes[last]); i++) {
            int from = source_along(i, last);
            uvec2 bits = uvec2(params.value[0], params.value[1]);
            if (inside && from >= 0)
                bits = load_bits(0u, x + from * view(0).strides[last]);
            store_bits(1u, y + int(i) * view(1).strides[last], bits);
        }
    }
}
