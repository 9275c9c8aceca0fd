// SPDX-License-Identifier: Apache-2.0
/* Lines that are read once: each lane holds HELD vectors of 4 elements of its line in registers. They are loaded in
 * CHUNKS of adjacent elements, 4 or, with WIDE, if all tensors have 16 bits, 8. All of a line are loaded before the
 * first one is used. Needs the dependencies of lines.glsl; REAL is float. */
#include "shaders/core/vector.glsl"

layout(constant_id = 2) const uint CHUNKS = 1;
layout(constant_id = 3) const uint MODE = 0;
layout(constant_id = 4) const uint HELD_LANES = 1;
layout(constant_id = 5) const bool FULL = false; /* lines have CHUNKS chunks for each lane */
layout(constant_id = 8) const bool WIDE = false; /* 6 and 7 are the epilogue's */

#define LANES      HELD_LANES
#define IN_COLUMNS false
#include "shaders/reduce/lines.glsl"

#define HELD  (WIDE ? 2u * CHUNKS : CHUNKS)
#define CHUNK (WIDE ? 8u : 4u)

#define EACH_OF_16(X)                                                                                                  \
    do {                                                                                                               \
        X(0u)                                                                                                          \
        X(1u)                                                                                                          \
        X(2u)                                                                                                          \
        X(3u)                                                                                                          \
        X(4u)                                                                                                          \
        X(5u)                                                                                                          \
        X(6u)                                                                                                          \
        X(7u)                                                                                                          \
        X(8u)                                                                                                          \
        X(9u)                                                                                                          \
        X(10u)                                                                                                         \
        X(11u)                                                                                                         \
        X(12u)                                                                                                         \
        X(13u)                                                                                                         \
        X(14u)                                                                                                         \
        X(15u)                                                                                                         \
    } while (false)
#define EACH_CHUNK(X) EACH_OF_16(X)
#define EACH_HELD(X)  EACH_OF_16(X)

uint own_lane, line_size; /* lane() and params.size, read once: stores may change memory */
uvec4 raw[16];
vec4 held[16];

/* Chunk j starts at element first_of(j) of its line, and has this many elements. */
uint first_of(uint j)
{
    return (j * LANES + own_lane) * CHUNK;
}

uint count_of(uint j)
{
    uint first = first_of(j);
    return FULL ? CHUNK : first < line_size ? min(line_size - first, CHUNK) : 0u;
}

/* Of vector k. */
uint held_count(uint k)
{
    uint count = count_of(WIDE ? k / 2u : k);
    return WIDE && k % 2u != 0u ? max(count, 4u) - 4u : min(count, 4u);
}

/* A tensor's lines: the stride in a line, and between lines if they have one dimension. */
struct Lines {
    uint tensor, type;
    uvec2 base;
    int stride, pitch;
};

/* A line: of its first element, or with a stride of 1, whose chunks start at multiples of their size. */
struct Line {
    uint type;
    uvec2 base;
    int at, stride;
    bool whole;
};

Lines lines_of(uint t)
{
    return Lines(t, type_of(t), address_of(t), view(t).strides[params.outer],
                 params.outer == 1u ? view(t).strides[0] : 0);
}

Line line_at(Lines lines, uint line)
{
    int at = params.outer == 1u ? int(line) * lines.pitch : at_line(lines.tensor, line);
    Line l = Line(lines.type, lines.base, at, lines.stride, false);
    uvec2 first = place_at(l.type, l.base, l.at).address;
    l.whole = l.stride == 1 && line_size % CHUNK == 0u && is_whole(l.type, first, CHUNK << type_shift(l.type));
    if (l.whole) {
        l.base = first;
        l.at = 0;
    }
    return l;
}

uvec4 load_chunk(Line l, uint j)
{
    uint count = count_of(j);
    if (count == 0u)
        return uvec4(0u);
    if (l.whole)
        return load_words(place_at(l.type, l.base, int(first_of(j))).address, CHUNK << type_shift(l.type));
    return load_vector(l.type, l.base, l.at + int(first_of(j)) * l.stride, l.stride, count, CHUNK);
}

/* Vectors number AT(j, 0) and, with WIDE, AT(j, 1) are chunk j. */
#define AT(j, e) (WIDE ? 2u * j + e : j)

/* Of chunk j, vector e. */
vec4 unpack_part(uint type, uvec4 words, uint e)
{
    return unpack_vec4(type, e == 0u ? words : words.zwxy);
}

void store_chunk(Line l, uint j, vec4 x, vec4 more)
{
    uint count = count_of(j);
    uvec4 words = pack_vec4(l.type, x);
    if (WIDE)
        words.zw = pack_vec4(l.type, more).xy;
    if (count == 0u)
        return;
    if (l.whole)
        store_words(place_at(l.type, l.base, int(first_of(j))).address, CHUNK << type_shift(l.type), words);
    else
        store_vector(l.type, l.base, l.at + int(first_of(j)) * l.stride, l.stride, count, CHUNK, words);
}

/* Elements beyond the line's end are `fill`. */
vec4 filled(vec4 x, uint count, float fill)
{
    if (FULL)
        return x;
    return vec4(count > 0u ? x.x : fill, count > 1u ? x.y : fill, count > 2u ? x.z : fill, count > 3u ? x.w : fill);
}

/* The line of the slot in the workgroup's unit; it may not exist. */
uint line_of_unit(uint unit)
{
    return unit * slots() + slot();
}

void fetch_line(Lines lines, uint unit)
{
    Line x = line_at(lines, min(line_of_unit(unit), params.lines - 1u));
#define LOAD_RAW(j)                                                                                                    \
    if (CHUNKS > j)                                                                                                    \
        raw[j] = load_chunk(x, j);
#define LOAD_WHOLE(j)                                                                                                  \
    if (CHUNKS > j)                                                                                                    \
        raw[j] = load_words(place_at(x.type, x.base, int(first_of(j))).address, CHUNK << type_shift(x.type));
    if (FULL && x.whole)
        EACH_CHUNK(LOAD_WHOLE);
    else
        EACH_CHUNK(LOAD_RAW);
}

/* The loaded elements. */
void hold_line(uint type, float fill)
{
#define UNPACK(k)                                                                                                      \
    if (HELD > k)                                                                                                      \
        held[k] = filled(unpack_part(type, raw[WIDE ? k / 2u : k], WIDE ? k % 2u : 0u), held_count(k), fill);
    EACH_HELD(UNPACK);
}

#define STORE_LINE(y)                                                                                                  \
    do {                                                                                                               \
        EACH_CHUNK(STORE_CHUNK)                                                                                        \
        ;                                                                                                              \
    } while (false)
#define STORE_CHUNK(j)                                                                                                 \
    if (CHUNKS > j)                                                                                                    \
        store_chunk(y, j, held[AT(j, 0u) % 16u], held[AT(j, 1u) % 16u]);

/* run_line(line) of every unit of the workgroup, the line being held. */
#define EACH_HELD_LINE(x, fill)                                                                                        \
    EACH_GROUP_UNIT(unit)                                                                                              \
    {                                                                                                                  \
        fetch_line(x, unit);                                                                                           \
        hold_line(x.type, fill);                                                                                       \
        run_line(line_of_unit(unit));                                                                                  \
    }

float sum_of(vec4 x)
{
    return (x.x + x.y) + (x.z + x.w);
}
