// SPDX-License-Identifier: Apache-2.0
/* KERN_POOL, maximum or average, in NHWC: four channels of a pixel per invocation. Maxima also of bytes. Tensors: 0 X,
 * 1 Y. */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#define UNIFORM_BLOCK
#define PARAMETERS pool_last_params
#include "shaders/pool/pool_params.h"
#include "shaders/core/views.glsl"
#include "shaders/core/vector.glsl"

/* The window's size. */
layout(constant_id = 2) const uint ROWS = 3;
layout(constant_id = 3) const uint COLUMNS = 3;
layout(constant_id = 4) const bool AVERAGE = false;


bool is_byte(uint type)
{
    return type == TYPE_UINT8 || type == TYPE_INT8;
}

vec4 load_four(uint type, uvec2 base, int at)
{
    if (is_byte(type)) {
        uint word = WordArray(base).v[at >> 2];
        return type == TYPE_UINT8 ? vec4(word & 255u, word >> 8 & 255u, word >> 16 & 255u, word >> 24)
                                  : vec4(bitfieldExtract(int(word), 0, 8), bitfieldExtract(int(word), 8, 8),
                                         bitfieldExtract(int(word), 16, 8), int(word) >> 24);
    }
    if (type == TYPE_FLOAT32)
        return unpack_vec4(type, QuadArray(base).v[at >> 2]);
    return unpack_vec4(type, uvec4(PairArray(base).v[at >> 2], 0u, 0u));
}

vec4 pool_window(ivec2 at, int from)
{
    uint type = type_of(0u), count = 0u;
    uvec2 base = address_of(0u);
    vec4 total = vec4(AVERAGE ? 0.0 : -INFINITY);
    [[unroll]] for (uint i = 0u; i < ROWS; i++) {
        int y = at.x + int(i) * params.dilations[0];
        [[unroll]] for (uint j = 0u; j < COLUMNS; j++) {
            int x = at.y + int(j) * params.dilations[1];
            bool inside = uint(y) < uint(params.in_sizes[0]) && uint(x) < uint(params.in_sizes[1]);
            vec4 value = load_four(type, base, inside ? from + y * params.x[1] + x * params.x[2] : 0);
            count += uint(inside);
            for (uint e = 0u; e < 4u; e++) { /* NaNs are larger than no element */
                float better = AVERAGE ? total[e] + value[e] : value[e] > total[e] ? value[e] : total[e];
                total[e] = inside ? better : total[e];
            }
        }
    }
    if (!AVERAGE)
        return total;
    count = params.include_padding != 0u ? ROWS * COLUMNS : count;
    return count > 0u ? total / float(count) : vec4(0.0);
}

/* Of no element the lowest. */
void store_bytes(uint type, uvec2 base, int at, vec4 value)
{
    uvec4 v = uvec4(ivec4(max(value, vec4(type == TYPE_UINT8 ? 0.0 : -128.0)))) & 255u;
    WordArray(base).v[at >> 2] = v.x | v.y << 8 | v.z << 16 | v.w << 24;
}

void main()
{
    EACH_UNIT(unit)
    {
        uint pixel = divide(unit, params.by_quads), channel = 4u * (unit - pixel * params.by_quads.size);
        uint line = divide(pixel, params.by_columns), column = pixel - line * params.by_columns.size;
        uint image = divide(line, params.by_rows), row = line - image * params.by_rows.size;
        ivec2 at = ivec2(row, column) * ivec2(params.strides[0], params.strides[1]);
        at -= ivec2(params.pad[0], params.pad[1]);
        vec4 result = pool_window(at, int(image) * params.x[0] + int(channel));
        int y_at = int(image) * params.y[0] + int(row) * params.y[1] + int(column) * params.y[2] + int(channel);
        if (is_byte(type_of(1u)))
            store_bytes(type_of(1u), address_of(1u), y_at, result);
        else
            store_vec4(type_of(1u), address_of(1u), y_at, 1, 4u, result);
    }
}
