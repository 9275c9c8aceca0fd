// SPDX-License-Identifier: Apache-2.0
/* KERN_PAD: PAD_TOGETHER adjacent elements of the result per invocation, or, if its lines are contiguous in memory, a
 * vector of VECTOR, of up to two lines. Tensors: 0 X, 1 Y. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define PARAMETERS pad_params
#include "shaders/index/index_params.h"
#include "shaders/core/views.glsl"
#include "shaders/core/bits.glsl"
#include "shaders/core/vector.glsl"

layout(constant_id = 2) const uint VECTOR = 1;
layout(constant_id = 3) const uint MODE = 0; /* of vectors */

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

/* The source of position `at` of a line of `size` elements, negative before them; -1: the constant. */
int source_of(int at, int size)
{
    if (at >= 0 && at < size)
        return at;
    int back;
    switch (VECTOR > 1u ? MODE : params.mode) {
    case EDGE:
        return at < 0 ? 0 : size - 1;
    case REFLECTION: /* the outermost element is the mirror */
        if (size == 1)
            return 0;
        back = modulo(at, 2 * (size - 1));
        return min(back, 2 * (size - 1) - back);
    case SYMMETRIC: /* the mirror is after it */
        back = modulo(at, 2 * size);
        return min(back, 2 * size - 1 - back);
    case WRAP:
        return modulo(at, size);
    default:
        return -1;
    }
}

/* The same if the constant is between neighbours. */
int between_gaps(int at, uint step, uint d)
{
    uint from = uint(at) / step;
    return at < 0 || uint(at) % step != 0u || from >= view(0).sizes[d] ? -1 : int(from);
}

/* The source coordinate of coordinate `index` of the result's dimension d; negative: the constant. */
int source_along(uint index, uint d)
{
    uint step = params.gap[d] + 1u;
    int at = int(index - params.start[d]);
    return step == 1u ? source_of(at, int(view(0).sizes[d])) : between_gaps(at, step, d);
}

/* A line of the result is copied from the one that starts at x, or is all constant. */
struct Source {
    int x;
    bool inside;
};

/* y: its start in the result. */
Source source_of_line(uint line, out int y)
{
    Source s = Source(0, true);
    y = 0;
    for (uint d = view(1).rank - 1u; d-- > 0u;) {
        uint before = divide(line, params.by_sizes[d]), index = line - before * params.by_sizes[d].size;
        int from = source_along(index, d);
        line = before;
        y += int(index) * view(1).strides[d];
        s.inside = s.inside && from >= 0;
        s.x += max(from, 0) * view(0).strides[d];
    }
    return s;
}

/* Elements `first` to first + VECTOR - 1 of the result in memory order. */
void run_vector(uint first)
{
    uint type = type_of(0u), shift = type_shift(type), last = view(1).rank - 1u, size = params.by_parts.size;
    uint line = divide(first, params.by_parts), column = first - line * size, count = min(params.elements - first, VECTOR);
    int y, stride = view(0).strides[last], begin = int(column - params.start[last]);
    uvec2 from = address_of(0u), value = uvec2(params.value[0], params.value[1]);
    Source here = source_of_line(line, y), next = here;
    uvec4 words = uvec4(0u);
    if (here.inside && params.gap[last] == 0u && column + VECTOR <= size && begin >= 0 &&
        begin + int(VECTOR) <= int(view(0).sizes[last])) {
        words = load_vector(type, from, here.x + begin * stride, stride, VECTOR, VECTOR);
    } else {
        if (column + count > size)
            next = source_of_line(line + 1u, y);
        for (uint i = 0u; i < VECTOR; i++) {
            bool beyond = column + i >= size;
            int at = source_along(beyond ? column + i - size : column + i, last);
            bool inside = (beyond ? next.inside : here.inside) && at >= 0 && i < count;
            int place = inside ? (beyond ? next.x : here.x) + at * stride : 0;
            uvec2 bits = load_element(place_at(type, from, place), type);
            append_element(words, i, shift, inside ? bits : value);
        }
        words = appended(words, VECTOR << shift);
    }
    store_vector(type, address_of(1u), int(first), 1, count, VECTOR, words);
}

void main()
{
    uint last = view(1).rank - 1u;
    EACH_UNIT(number)
    {
        if (VECTOR > 1u) {
            run_vector(number * VECTOR);
            continue;
        }
        uint rest = divide(number, params.by_parts), first = (number - rest * params.by_parts.size) * PAD_TOGETHER;
        int y;
        Source s = source_of_line(rest, y);
        for (uint i = first; i < min(first + PAD_TOGETHER, view(1).sizes[last]); i++) {
            int from = source_along(i, last);
            uvec2 bits = uvec2(params.value[0], params.value[1]);
            if (s.inside && from >= 0)
                bits = load_bits(0u, s.x + from * view(0).strides[last]);
            store_bits(1u, y + int(i) * view(1).strides[last], bits);
        }
    }
}
