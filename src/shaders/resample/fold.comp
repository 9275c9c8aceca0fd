// SPDX-License-Identifier: Apache-2.0
/* KERN_FOLD: one element of the result per invocation. Tensors: unfold: 0 image, 1 columns; otherwise 0 columns,
 * 1 image. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define PARAMETERS fold_params
#include "shaders/resample/fold_params.h"
#include "shaders/core/views.glsl"

/* at: image, row and position of an element of the columns. */
void unfold(uvec3 at, int to)
{
    uint tap = at.y % params.taps, position = at.z;
    int from = int(at.x) * view(0).strides[0] + int(at.y / params.taps) * view(0).strides[1];
    bool inside = true;
    for (uint d = params.spatial; d-- > 0u;) {
        uint size = uint(params.window[d]), count = uint(params.positions[d]);
        int pixel = int(position % count) * params.steps[d] + int(tap % size) * params.dilations[d] - params.pad[d];
        tap /= size;
        position /= count;
        inside = inside && pixel >= 0 && pixel < int(view(0).sizes[d + 2u]);
        from += pixel * view(0).strides[d + 2u];
    }
    if (inside)
        copy_element(1u, to, 0u, from);
    else
        store(place_of(1u, to), type_of(1u), uvec2(0u), type_of(1u));
}

/* Whether `tap` of a window covers the pixel `at`, and that window's number. */
bool find_position(uint tap, uint at[RANK_MAX], out int position)
{
    int pitch = 1;
    position = 0;
    for (uint d = params.spatial; d-- > 0u;) {
        uint size = uint(params.window[d]);
        int from = int(at[d + 2u]) + params.pad[d] - int(tap % size) * params.dilations[d];
        int b = from / params.steps[d];
        tap /= size;
        if (from < 0 || b * params.steps[d] != from || b >= params.positions[d])
            return false;
        position += b * pitch;
        pitch *= params.positions[d];
    }
    return true;
}

void fold(uint at[RANK_MAX], int to)
{
    int first = int(at[0]) * view(0).strides[0] + int(at[1] * params.taps) * view(0).strides[1], position;
    uint type = type_of(0u), compute_type = type;
    REAL sum = REAL(0);
    uvec2 whole = uvec2(0u);
    for (uint tap = 0u; tap < params.taps; tap++) {
        if (!find_position(tap, at, position))
            continue;
        int from = first + int(tap) * view(0).strides[1] + position * view(0).strides[2];
        uvec2 x = load(place_of(0u, from), type, compute_type);
        if (!type_is_real(type)) {
            whole = add64(whole, x);
        } else {
#ifdef HAVE_FLOAT64
            sum += packDouble2x32(register_to_double(x, compute_type));
#else
            sum += register_to_float(x, compute_type);
#endif
        }
    }
    if (type_is_real(type))
        store_real(1u, to, sum);
    else
        store(place_of(1u, to), type, whole, type);
}

void main()
{
    EACH_UNIT(number)
    {
        uint at[RANK_MAX], rest = number;
        int to = 0;
        for (uint d = view(1).rank; d-- > 0u;) {
            at[d] = rest % view(1).sizes[d];
            rest /= view(1).sizes[d];
            to += int(at[d]) * view(1).strides[d];
        }
        if (params.unfold != 0u)
            unfold(uvec3(at[0], at[1], at[2]), to);
        else
            fold(at, to);
    }
}
