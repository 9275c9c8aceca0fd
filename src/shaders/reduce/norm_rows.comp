// SPDX-License-Identifier: Apache-2.0
/* KERN_NORM of groups that are long, or not contiguous, such as groups of channels in NHWC: struct norm_rows_params.
 * Tensors: 0 X, then [scale], [bias], [those of the epilogue], Y.
 *
 * A tile's sums are those of the differences from a reference, the mean of its group in the first rows: how much the
 * squares cancel is limited by the number of rows that an invocation adds up. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define UNIFORM_BLOCK
#define PARAMETERS norm_rows_params
#include "shaders/reduce/reduce_params.h"
#include "shaders/core/views.glsl"
#include "shaders/core/vector.glsl"
#include "shaders/core/epilogue.glsl"
#include "shaders/core/epilogue_vector.glsl"
#include "shaders/reduce/dims.glsl"

layout(constant_id = 2) const uint MODE = 0;
layout(constant_id = 3) const uint STAGE = 0;
layout(constant_id = 4) const bool WIDE = false; /* chunks have 8 elements instead of 4 */
layout(constant_id = 5) const bool FULL = false; /* all chunks are full, and contiguous in Y, too */

layout(constant_id = 8) const uint RESULT = 1;   /* the tensor: so its type is a constant, too */

#define CHUNK (WIDE ? 8u : 4u)

#define HAS_MEAN  ((MODE & NORM_MEAN) != 0u)
#define HAS_SCALE ((MODE & NORM_SCALE) != 0u)
#define HAS_BIAS  ((MODE & NORM_BIAS) != 0u)
#define IS_FIXED  ((MODE & NORM_FIXED) != 0u)
#define BIAS      (HAS_SCALE ? 2u : 1u)

/* The mean is mean + more: one number is not accurate enough for the differences. squares: sum of those of the
 * differences. Without NORM_MEAN, both are 0. */
struct Partial {
    float mean, more, squares;
};
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Partials { Partial v; };

#define GROUPS_MAX 256u /* of a tile */
shared float cells[GROUP_SIZE * 8u];
shared float means[GROUPS_MAX], rests[GROUPS_MAX], factors[GROUPS_MAX];

struct Tile {
    uint at, first_column, columns, groups, begin, end; /* at: in the outer dimensions */
};

/* Elements of a chunk. */
struct Chunk {
    vec4 low, high;
};

Tile tile;
uint own_column, own_row, own_count; /* column, from the tile's first one, and row of the invocation's first chunk */
uint row_step;                       /* params.at_once */
bool has_chunks;                     /* there are such */
int x_column, y_column;              /* column_at() of X and Y */
uint lane_count, own_group, own_lane;
Chunk chunk_means;

/* The number of columns of the row, from the tile's first one. */
uint columns_of(uint row)
{
    bool less = params.missing != 0u && row % params.folds == params.folds - 1u;
    return tile.columns - (less ? params.missing : 0u);
}

/* Elements of a group in these rows. */
float count_of(uint begin, uint end)
{
    return float((end - begin) * params.width - (end / params.folds - begin / params.folds) * params.missing);
}

uint chunk_count(uint row)
{
    uint columns = columns_of(row);
    return FULL ? CHUNK : own_column < columns ? min(columns - own_column, CHUNK) : 0u;
}

/* The position in tensor t of the invocation's column in the tile's outer dimensions. */
int column_at(uint t)
{
    return at_dimensions(t, 0u, params.outer, tile.at) +
           int(tile.first_column + own_column) * view(t).strides[view(0).rank - 1u];
}

/* That of its chunk in the row. */
int chunk_at(uint t, int column, uint row)
{
    return column + at_dimensions(t, params.outer, view(0).rank - 1u, row);
}

uvec4 load_raw(uint t, int column, uint row)
{
    uint type = type_of(t);
    int stride = view(t).strides[view(0).rank - 1u], at = chunk_at(t, column, row);
    uint count = chunk_count(row);
    if (stride == 0) { /* one element for all */
        uint shift = type_shift(type), bits = load_element(place_at(type, address_of(t), at), type).x;
        return uvec4(shift == 2u ? bits : bits & 0xffffu | bits << 16);
    }
    return load_vector(type, address_of(t), at, stride, count, CHUNK);
}

vec4 filled(vec4 x, uint count)
{
    if (FULL)
        return x;
    return vec4(count > 0u ? x.x : 0.0, count > 1u ? x.y : 0.0, count > 2u ? x.z : 0.0, count > 3u ? x.w : 0.0);
}

/* The elements that exist, and zeros. */
Chunk only(Chunk x, uint count)
{
    return Chunk(filled(x.low, min(count, 4u)), filled(x.high, max(count, 4u) - 4u));
}

Chunk unpack(uint t, uvec4 raw)
{
    uint type = type_of(t);
    return Chunk(unpack_vec4(type, raw), WIDE ? unpack_vec4(type, raw.zwxy) : vec4(0.0));
}

Chunk load_chunk(uint t, uint row)
{
    return unpack(t, load_raw(t, column_at(t), row));
}

/* ---- sums over the invocations of a tile ---- */

/* x + those of the group's other lanes. */
float across_lanes(float x)
{
    uint self = gl_LocalInvocationID.x;
    barrier(); /* what is there has been read */
    cells[self] = x;
    for (uint step = lane_count >> 1; step > 0u; step >>= 1) {
        barrier();
        if (own_lane < step) {
            x += cells[self + step];
            cells[self] = x;
        }
    }
    barrier();
    return cells[self - own_lane];
}

/* The sum of the group's elements of all invocations' chunks. */
float across(Chunk x)
{
    uint pitch = params.chunks * CHUNK, width = params.width, count = row_step * width;
    barrier(); /* what is there has been read */
    if (own_row < row_step)
        for (uint e = 0u; e < 4u; e++) {
            cells[own_row * pitch + own_column + e] = x.low[e];
            if (WIDE)
                cells[own_row * pitch + own_column + 4u + e] = x.high[e];
        }
    barrier();
    float sum = 0.0;
    if (own_group < tile.groups)
        for (uint i = own_lane; i < count; i += lane_count)
            sum += cells[i / width * pitch + own_group * width + i % width];
    return across_lanes(sum);
}

/* The number of each column's group. */
float of_group(uint which, uint e)
{
    uint group = (own_column + e) / params.width;
    if (group >= tile.groups)
        return 0.0;
    return which == 0u ? means[group] : which == 1u ? rests[group] : factors[group];
}

Chunk of_groups(uint which)
{
    Chunk x = Chunk(vec4(0.0), vec4(0.0));
    for (uint e = 0u; e < 4u; e++) {
        x.low[e] = of_group(which, e);
        if (WIDE)
            x.high[e] = of_group(which, e + 4u);
    }
    return x;
}

/* ---- the first stage ---- */

/* The means of the groups in the first rows become those of the tile. */
void find_references()
{
    uint row = tile.begin + own_row, end = min(tile.begin + row_step, tile.end);
    Chunk x = Chunk(vec4(0.0), vec4(0.0));
    if (has_chunks && row < end)
        x = only(load_chunk(0u, row), chunk_count(row));
    float mean = across(x) / count_of(tile.begin, end);
    if (own_lane == 0u && own_group < tile.groups)
        means[own_group] = mean;
    barrier();
    chunk_means = of_groups(0u);
}

#define EACH_OF_4(X) X(0u) X(1u) X(2u) X(3u)

/* Of the own group, for its first lane. */
Partial partial_of_tile()
{
    Chunk sum = Chunk(vec4(0.0), vec4(0.0)), squares = sum;
    chunk_means = sum;
    if (HAS_MEAN)
        find_references();
    uint end = has_chunks ? tile.end : 0u;
    for (uint first = tile.begin + own_row; first < end; first += 4u * row_step) {
        uvec4 raw[4];
#define LOAD(i)                                                                                                        \
    if (first + i * row_step < end)                                                                                    \
        raw[i] = load_raw(0u, x_column, first + i * row_step);
        EACH_OF_4(LOAD)
#define ADD(i)                                                                                                         \
    if (first + i * row_step < end) {                                                                                  \
        Chunk x = unpack(0u, raw[i]);                                                                                  \
        x = only(Chunk(x.low - chunk_means.low, x.high - chunk_means.high), chunk_count(first + i * row_step));       \
        sum = Chunk(sum.low + x.low, sum.high + x.high);                                                               \
        squares = Chunk(squares.low + x.low * x.low, squares.high + x.high * x.high);                                  \
    }
        EACH_OF_4(ADD)
    }
    float count = count_of(tile.begin, tile.end), total = HAS_MEAN ? across(sum) : 0.0;
    Partial p = Partial(0.0, 0.0, across(squares));
    if (HAS_MEAN && own_group < tile.groups) {
        p.mean = means[own_group];
        p.more = is_inf(p.mean) ? 0.0 : total / count; /* an infinite mean needs no correction */
        p.squares -= p.more * p.more * count;
        p.squares = p.squares < 0.0 ? 0.0 : p.squares;
    }
    return p;
}

/* That of part `part` of the own group, in the same slab. */
Partials partial_at(uint part)
{
    uint groups = params.columns / params.width, group = tile.first_column / params.width + own_group;
    uint number = (tile.at * groups + group) * params.parts + part;
    return Partials(add64(scratch_at(0u), mul64(number, uvec2(12u, 0u))));
}

/* ---- the second stage ---- */

/* From those of the group's parts. */
Partial partial_of_parts()
{
    uint parts = own_group < tile.groups ? params.parts : 0u, all = params.parts, part = params.part;
    Partial p = Partial(0.0, 0.0, 0.0);
    if (parts > 0u)
        p.mean = partial_at(0u).v.mean;
    for (uint pass = 0u; pass < 2u; pass++) {
        float sum = 0.0;
        for (uint k = own_lane; k < parts; k += lane_count) {
            Partial other = partial_at(k).v;
            float count = count_of(k * part, min(k * part + part, params.rows));
            float difference = other.mean - p.mean + other.more - p.more;
            sum += pass == 0u ? difference * count : other.squares + difference * difference * count;
        }
        sum = across_lanes(sum);
        if (pass == 1u)
            p.squares = sum;
        else if (HAS_MEAN)
            p.more = is_inf(p.mean) ? 0.0 : sum / count_of(0u, params.rows);
    }
    return p;
}

/* Of the invocation's columns. */
Chunk chunk_rests, chunk_factors, chunk_scale, chunk_bias;

void share(Partial p)
{
    float factor = 1.0;
    if ((MODE & NORM_VARIANCE) != 0u)
        factor /= sqrt(p.squares / count_of(0u, params.rows) + params.epsilon);
    barrier(); /* the numbers before have been read */
    if (own_lane == 0u && own_group < tile.groups) {
        means[own_group] = p.mean;
        rests[own_group] = p.more * factor;
        factors[own_group] = factor;
    }
    barrier();
    chunk_means = of_groups(0u);
    chunk_rests = of_groups(1u);
    chunk_factors = of_groups(2u);
}

Chunk finished(Chunk x, uint row)
{
    x.low = (x.low - chunk_means.low) * chunk_factors.low - chunk_rests.low;
    x.high = (x.high - chunk_means.high) * chunk_factors.high - chunk_rests.high;
    if (HAS_SCALE) {
        if (!IS_FIXED)
            chunk_scale = load_chunk(1u, row);
        x = Chunk(x.low * chunk_scale.low, x.high * chunk_scale.high);
    }
    if (HAS_BIAS) {
        if (!IS_FIXED)
            chunk_bias = load_chunk(BIAS, row);
        x = Chunk(x.low + chunk_bias.low, x.high + chunk_bias.high);
    }
    return x;
}

void store_chunk(Chunk x, uint row)
{
    uint type = type_of(RESULT), count = chunk_count(row), last = view(0).rank - 1u;
    int at = chunk_at(RESULT, y_column, row), stride = view(RESULT).strides[last];
    if (HAS_EPILOGUE) {
        uint number = (tile.at * params.rows + row) * view(RESULT).sizes[last] + tile.first_column + own_column;
        if (FULL && WIDE)
            epilogue_vector(number, at, x.low, x.high);
        else if (FULL)
            epilogue_four(number, at, x.low);
        else
            for (uint e = 0u; e < count; e++) {
                float value = epilogue(e < 4u ? x.low[e] : x.high[e - 4u], number + e, at + int(e) * stride);
                if (e < 4u)
                    x.low[e] = value;
                else
                    x.high[e - 4u] = value;
            }
    }
    uvec4 words = pack_vec4(type, x.low);
    if (WIDE)
        words.zw = pack_vec4(type, x.high).xy;
    if (FULL || count > 0u)
        store_vector(type, address_of(RESULT), at, stride, count, CHUNK, words);
}

void store_results()
{
    uint end = has_chunks ? tile.end : 0u, first = tile.begin + own_row;
    if (IS_FIXED && HAS_SCALE && first < end)
        chunk_scale = load_chunk(1u, first);
    if (IS_FIXED && HAS_BIAS && first < end)
        chunk_bias = load_chunk(BIAS, first);
    for (; first < end; first += 4u * row_step) {
        uvec4 raw[4];
        EACH_OF_4(LOAD)
#define STORE(i)                                                                                                       \
    if (first + i * row_step < end)                                                                                    \
        store_chunk(finished(unpack(0u, raw[i]), first + i * row_step), first + i * row_step);
        EACH_OF_4(STORE)
    }
}

void main()
{
    uint self = gl_LocalInvocationID.x;
    own_row = self / params.chunks;
    own_column = self % params.chunks * CHUNK;
    row_step = params.at_once;
    lane_count = params.lanes;
    own_group = self / lane_count;
    own_lane = self % lane_count;
    if (HAS_EPILOGUE)
        read_operands();
    EACH_GROUP_UNIT(unit)
    {
        uint part = unit / params.slabs % params.parts;
        tile.at = unit / params.slabs / params.parts;
        tile.first_column = unit % params.slabs * params.slab;
        tile.columns = min(params.columns - tile.first_column, params.slab);
        tile.groups = tile.columns / params.width;
        tile.begin = part * params.part;
        tile.end = min(tile.begin + params.part, params.rows);
        has_chunks = own_row < row_step && own_column < tile.columns;
        x_column = column_at(0u);
        y_column = column_at(RESULT);
        Partial p;
        if ((STAGE & NORM_SUMS) != 0u)
            p = partial_of_tile();
        else
            p = partial_of_parts();
        if ((STAGE & NORM_RESULTS) == 0u) {
            if (own_lane == 0u && own_group < tile.groups)
                partial_at(part).v = p;
        } else {
            share(p);
            store_results();
        }
    }
}
