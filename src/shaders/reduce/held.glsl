// SPDX-License-Identifier: Apache-2.0
/* Lines that are read once: each lane holds CHUNKS vectors of 4 neighbouring elements of its line in registers. All are
 * loaded before the first one is looked at. Needs what lines.glsl needs; REAL is float. */
#include "shaders/core/vector.glsl"

layout(constant_id = 2) const uint CHUNKS = 1;
layout(constant_id = 3) const uint MODE = 0;
layout(constant_id = 4) const uint HELD_LANES = 1;
layout(constant_id = 5) const bool FULL = false; /* lines have 4 * CHUNKS elements for each lane */

#define LANES      HELD_LANES
#define IN_COLUMNS false
#include "shaders/reduce/lines.glsl"

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

uint own_lane, line_size; /* lane() and params.size, read once: stores may change memory */
uvec4 raw[8];
vec4 held[8];

void begin()
{
    own_lane = lane();
    line_size = params.size;
}

/* Where in its line the lane's vector k begins, and how many elements it has. */
uint first_of(uint k)
{
    return (k * LANES + own_lane) * 4u;
}

uint count_of(uint k)
{
    uint first = first_of(k);
    return FULL ? 4u : first < line_size ? min(line_size - first, 4u) : 0u;
}

/* A line of a tensor: of its first element, or with a stride of 1, whose vectors begin at multiples of their size. */
struct Line {
    uint type;
    uvec2 base;
    int at, stride;
    bool whole;
};

Line line_of(uint t, uint line)
{
    Line l = Line(type_of(t), address_of(t), at_line(t, line), view(t).strides[params.outer], false);
    uvec2 first = place_at(l.type, l.base, l.at).address;
    l.whole = l.stride == 1 && line_size % 4u == 0u && is_whole(l.type, first, 4u << type_shift(l.type));
    if (l.whole) {
        l.base = first;
        l.at = 0;
    }
    return l;
}

uvec4 load_chunk(Line l, uint k)
{
    uint count = count_of(k);
    if (count == 0u)
        return uvec4(0u);
    if (l.whole)
        return load_words(place_at(l.type, l.base, int(first_of(k))).address, 4u << type_shift(l.type));
    return load_vector(l.type, l.base, l.at + int(first_of(k)) * l.stride, l.stride, count, 4u);
}

void store_chunk(Line l, uint k, vec4 x)
{
    uint count = count_of(k);
    if (count == 0u)
        return;
    if (l.whole)
        store_words(place_at(l.type, l.base, int(first_of(k))).address, 4u << type_shift(l.type), pack_vec4(l.type, x));
    else
        store_vec4(l.type, l.base, l.at + int(first_of(k)) * l.stride, l.stride, count, x);
}

/* Those beyond the line's end are `fill`. */
vec4 filled(vec4 x, uint count, float fill)
{
    if (FULL)
        return x;
    return vec4(count > 0u ? x.x : fill, count > 1u ? x.y : fill, count > 2u ? x.z : fill, count > 3u ? x.w : fill);
}

void hold_line(uint line, float fill)
{
    Line x = line_of(0u, line);
#define LOAD_RAW(k)                                                                                                    \
    if (CHUNKS > k)                                                                                                    \
        raw[k] = load_chunk(x, k);
#define LOAD_WHOLE(k)                                                                                                  \
    if (CHUNKS > k)                                                                                                    \
        raw[k] = load_words(place_at(x.type, x.base, int(first_of(k))).address, 4u << type_shift(x.type));
#define UNPACK(k)                                                                                                      \
    if (CHUNKS > k)                                                                                                    \
        held[k] = filled(unpack_vec4(x.type, raw[k]), count_of(k), fill);
    if (FULL && x.whole)
        EACH_CHUNK(LOAD_WHOLE);
    else
        EACH_CHUNK(LOAD_RAW);
    EACH_CHUNK(UNPACK);
}

float sum_of(vec4 x)
{
    return (x.x + x.y) + (x.z + x.w);
}
