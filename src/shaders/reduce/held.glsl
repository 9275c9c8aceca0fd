// SPDX-License-Identifier: Apache-2.0
/* Lines that are read once: each lane holds CHUNKS vectors of 4 neighbouring elements of its line in registers. Needs
 * what lines.glsl needs; REAL is float. */
#include "shaders/core/vector.glsl"
#include "shaders/reduce/lines.glsl"

layout(constant_id = 2) const uint CHUNKS = 1;
layout(constant_id = 3) const uint MODE = 0;

#define EACH_CHUNK(X)                                                                                                  \
    do {                                                                                                               \
        X(0u)                                                                                                          \
        X(1u)                                                                                                          \
        X(2u)                                                                                                          \
        X(3u)                                                                                                          \
        X(4u)                                                                                                          \
        X(5u)                                                                                                          \
        X(6u)                                                                                                          \
        X(7u)                                                                                                          \
    } while (false)

vec4 held[8];

/* Where in its line the lane's vector k begins, and how many elements it has. */
uint first_of(uint k)
{
    return (k * params.lanes + lane()) * 4u;
}

uint count_of(uint k)
{
    uint first = first_of(k);
    return first < params.size ? min(params.size - first, 4u) : 0u;
}

/* Of tensor t, whose line begins at `at`. */
vec4 load_chunk(uint t, uvec2 base, int at, uint k)
{
    uint count = count_of(k);
    int stride = view(t).strides[params.outer];
    return count == 0u ? vec4(0.0) : load_vec4(type_of(t), base, at + int(first_of(k)) * stride, stride, count);
}

void store_chunk(uint t, uvec2 base, int at, uint k, vec4 x)
{
    uint count = count_of(k);
    int stride = view(t).strides[params.outer];
    if (count != 0u)
        store_vec4(type_of(t), base, at + int(first_of(k)) * stride, stride, count, x);
}

#define LOAD_HELD(k)                                                                                                   \
    if (CHUNKS > k)                                                                                                    \
        held[k] = load_chunk(0u, address_of(0u), x_at, k);
