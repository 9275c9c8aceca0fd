// SPDX-License-Identifier: Apache-2.0
/* KERN_GATHER: one element of the result per invocation, or for contiguous rows, several vectors of VECTOR adjacent
 * ones, all of which are loaded before the first one is stored. Tensors: 0 X, 1 indices, 2 Y. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define PARAMETERS gather_params
#include "shaders/index/index_params.h"
#include "shaders/core/views.glsl"
#include "shaders/core/vector.glsl"

layout(constant_id = 2) const uint VECTOR = 1;

/* enum kern_index_mode */
#define AXIS     0
#define ELEMENTS 1

/* An index along dimension d of X: negative ones count from the end, then it is clamped to the range. */
uint pick(int index, uint d)
{
    int size = int(view(0).sizes[d]);
    return uint(clamp(index < 0 ? index + size : index, 0, size - 1));
}

/* Rows may have 4 GiB and more. */
uvec2 vector_at(uvec2 row, uint number, uint bytes)
{
    return add64(row, mul64(number, uvec2(bytes, 0u)));
}

/* From the row of X that starts at x to the one of Y: vectors first, first + step, ... */
void copy_row(uint first, int x, int y)
{
    uint type = type_of(0u), size = view(2).sizes[view(2).rank - 1u], step = params.by_parts.size;
    uvec2 from = address_of(0u), to = address_of(2u);
    uvec2 source = place_at(type, from, x).address, target = place_at(type, to, y).address;
    uint bytes = VECTOR << type_shift(type);
    if (size % VECTOR == 0u && is_whole(type, source, bytes) && is_whole(type, target, bytes) &&
        (first + 3u * step) * VECTOR < size) {
        uvec4 a = load_words(vector_at(source, first, bytes), bytes);
        uvec4 b = load_words(vector_at(source, first + step, bytes), bytes);
        uvec4 c = load_words(vector_at(source, first + 2u * step, bytes), bytes);
        uvec4 d = load_words(vector_at(source, first + 3u * step, bytes), bytes);
        store_words(vector_at(target, first, bytes), bytes, a);
        store_words(vector_at(target, first + step, bytes), bytes, b);
        store_words(vector_at(target, first + 2u * step, bytes), bytes, c);
        store_words(vector_at(target, first + 3u * step, bytes), bytes, d);
        return;
    }
    for (uint at = first * VECTOR; at < size; at += step * VECTOR) {
        uint count = min(size - at, VECTOR);
        store_vector(type, to, y + int(at), 1, count, VECTOR, load_vector(type, from, x + int(at), 1, count, VECTOR));
    }
}

void main()
{
    EACH_UNIT(number)
    {
        uint at[RANK_MAX], rank = view(2).rank, outer = params.axis, rest = number;
        int x = 0, i = 0, y = 0;
        if (VECTOR > 1u)
            rest = divide(number, params.by_parts);
        for (uint d = rank; d-- > 0u;) {
            uint size = VECTOR > 1u && d == rank - 1u ? 1u : view(2).sizes[d];
            at[d] = rest % size;
            rest /= size;
            y += int(at[d]) * view(2).strides[d];
        }
        if (params.mode == ELEMENTS) {
            for (uint d = 0u; d < rank; d++)
                i += int(at[d]) * view(1).strides[d];
            for (uint d = 0u; d < rank; d++)
                x += int(d == outer ? pick(load_index(1, i), d) : at[d]) * view(0).strides[d];
        } else if (params.mode == AXIS) {
            uint inner = view(0).rank - outer - 1u, first = view(1).rank - params.index_rank;
            for (uint d = 0u; d < params.index_rank; d++)
                i += int(at[outer + d]) * view(1).strides[first + d];
            x = int(pick(load_index(1, i), outer)) * view(0).strides[outer];
            for (uint d = 0u; d < outer; d++)
                x += int(at[d]) * view(0).strides[d];
            for (uint d = 0u; d < inner; d++)
                x += int(at[outer + params.index_rank + d]) * view(0).strides[outer + 1u + d];
        } else {
            uint last = view(1).rank - 1u, tuple = view(1).sizes[last];
            for (uint d = 0u; d < outer + params.index_rank; d++)
                i += int(at[d]) * view(1).strides[d];
            for (uint d = 0u; d < outer; d++)
                x += int(at[d]) * view(0).strides[d];
            for (uint k = 0u; k < tuple; k++)
                x += int(pick(load_index(1, i + int(k) * view(1).strides[last]), outer + k)) *
                     view(0).strides[outer + k];
            for (uint d = outer + tuple; d < view(0).rank; d++)
                x += int(at[params.index_rank + d - tuple]) * view(0).strides[d];
        }
        if (VECTOR == 1u) {
            copy_element(2u, y, 0u, x);
            continue;
        }
        copy_row(number - divide(number, params.by_parts) * params.by_parts.size, x, y);
    }
}
