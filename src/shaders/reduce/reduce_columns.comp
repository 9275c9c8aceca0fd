// SPDX-License-Identifier: Apache-2.0
/* KERN_REDUCE: sums of FLOAT32, FLOAT16 or BFLOAT16 along lines that are neighbours in memory, such as the channels of
 * NHWC images, in one dispatch: LANES invocations share vectors of one element in each of LINES adjacent lines. Several
 * vectors are loaded before they are used. Tensors: 0 X, whose vectors are aligned, 1 Y. */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#define UNIFORM_BLOCK
#define PARAMETERS line_params
#include "shaders/reduce/reduce_params.h"
#include "shaders/core/views.glsl"
#include "shaders/core/vector.glsl"
#include "shaders/reduce/dims.glsl"

layout(constant_id = 2) const uint MODE = REDUCE_SUM;
layout(constant_id = 3) const uint LINES = 4;
layout(constant_id = 4) const uint LANES = 32; /* a power of two */
layout(constant_id = 5) const uint UNROLL = 8; /* vectors of an invocation whose loads are in flight at once */

#define TYPE    type_of(0u)
#define UNROLL_MAX 8u
#define EACH_LOAD(j) [[unroll]] for (uint j = 0u; j < UNROLL_MAX; j++) if (j < UNROLL)
#define ACROSS  (GROUP_SIZE / LANES) /* vectors side by side */
#define COLUMNS (ACROSS * LINES)     /* lines of a workgroup */
#define SHARES  min(min(GROUP_SIZE / COLUMNS, LANES), 16u) /* of the lanes, each added up by an invocation for a line */

shared float parts[8u * GROUP_SIZE]; /* [lane][line] */
shared float shares[GROUP_SIZE];

vec4 term(vec4 x)
{
    return MODE == REDUCE_L1 ? abs(x) : MODE == REDUCE_L2 || MODE == REDUCE_SUM_SQUARE ? x * x : x;
}

float result(float sum)
{
    return MODE == REDUCE_AVERAGE ? sum / float(params.count) : MODE == REDUCE_L2 ? sqrt(sum) : sum;
}

/* Every LANES-th vector of the lines from `line` on, as [lines 0 to 3, lines 4 to 7]. Vectors after the last one are
 * replaced by that and count as zeros. */
void add_up(uint line, uint lane, out vec4 sums[2])
{
    uvec2 base = address_of(0u);
    int at = at_dimensions(0u, 0u, params.outer, line), step = view(0).strides[params.outer];
    sums[0] = sums[1] = vec4(0.0);
    for (uint k = lane; k < params.size; k += UNROLL * LANES) {
        uvec4 x[UNROLL_MAX];
        EACH_LOAD(j)
            x[j] = load_words(place_at(TYPE, base, at + int(min(k + j * LANES, params.size - 1u)) * step).address,
                              LINES << type_shift(TYPE));
        EACH_LOAD(j)
        {
            uvec4 words = k + j * LANES < params.size ? x[j] : uvec4(0u);
            sums[0] += term(unpack_vec4(TYPE, words));
            if (LINES > 4u)
                sums[1] += term(unpack_vec4(TYPE, words.zwzw));
        }
    }
}

void main()
{
    uint self = gl_LocalInvocationID.x, place = self % ACROSS, lane = self / ACROSS;
    EACH_GROUP_UNIT(unit)
    {
        uint first = unit * COLUMNS;
        vec4 sums[2];
        add_up(min(first + place * LINES, params.lines - LINES), lane, sums);
        [[unroll]] for (uint i = 0u; i < 4u; i++) {
            parts[lane * COLUMNS + place * LINES + i] = sums[0][i];
            if (LINES > 4u)
                parts[lane * COLUMNS + place * LINES + 4u + i] = sums[1][i];
        }
        barrier();
        if (self < SHARES * COLUMNS) {
            float sum = 0.0;
            [[unroll]] for (uint i = 0u; i < LANES / SHARES; i++)
                sum += parts[(self / COLUMNS * (LANES / SHARES) + i) * COLUMNS + self % COLUMNS];
            shares[self] = sum;
        }
        barrier();
        if (self < COLUMNS && first + self < params.lines) {
            float sum = 0.0;
            [[unroll]] for (uint i = 0u; i < SHARES; i++)
                sum += shares[i * COLUMNS + self];
            store_real(1u, at_dimensions(1u, 0u, params.outer, first + self), result(sum));
        }
    }
}
