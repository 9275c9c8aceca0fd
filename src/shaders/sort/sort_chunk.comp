// SPDX-License-Identifier: Apache-2.0
/* KERN_SORT: a workgroup sorts SORT_CHUNK elements in shared memory, several short lines or a part of a long one. Whole
 * lines are results, parts become runs in scratch memory. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define PARAMETERS sort_params
#include "shaders/sort/sort_params.h"
#include "shaders/core/views.glsl"
#include "shaders/core/bits.glsl"
#include "shaders/sort/line.glsl"
#include "shaders/sort/sort_keys.glsl"
#include "shaders/sort/sort_items.glsl"
#include "shaders/sort/sort_local.glsl"
#include "shaders/sort/sort_write.glsl"

/* The element of a slot of the workgroup's chunk. */
struct Slot {
    uint part, line, in_part; /* parts are counted over all lines */
    bool used;
};

Slot slot_of(uint chunk, uint slot)
{
    Slot s;
    s.part = chunk * (SORT_CHUNK / params.segment) + slot / params.segment;
    s.in_part = slot % params.segment;
    s.line = s.part / params.parts;
    s.used = s.line < params.lines && s.part % params.parts * params.segment + s.in_part < params.size;
    return s;
}

void main()
{
    EACH_GROUP_UNIT(chunk)
    {
        barrier();
        for (uint slot = gl_LocalInvocationID.x; slot < SORT_CHUNK; slot += GROUP_SIZE) {
            Slot s = slot_of(chunk, slot);
            Item item = last_item();
            if (s.used) {
                item.position = s.part % params.parts * params.segment + s.in_part;
                item.key = key_of(load_bits(
                    0u, at_line(0u, params.axis, s.line) + int(item.position) * view(0).strides[params.axis]));
            }
            put_item(slot, item);
        }
        sort_segments(params.segment);
        for (uint slot = gl_LocalInvocationID.x; slot < SORT_CHUNK; slot += GROUP_SIZE) {
            Slot s = slot_of(chunk, slot);
            if (!s.used || s.in_part >= params.kept)
                continue;
            if (params.parts == 1u)
                write_result(params.axis, s.line, s.in_part, positions[slot]);
            else
                store_item(s.part * min(params.segment, params.kept) + s.in_part, get_item(slot));
        }
    }
}
