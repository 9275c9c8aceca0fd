// SPDX-License-Identifier: Apache-2.0
/* KERN_SCATTER: a workgroup sorts SORT_CHUNK items by target, into a run in scratch memory. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define PARAMETERS scatter_params
#include "shaders/index/index_params.h"
#include "shaders/core/views.glsl"
#include "shaders/index/scatter.glsl"
#include "shaders/sort/sort_params.h"
#include "shaders/sort/sort_items.glsl"
#include "shaders/sort/sort_local.glsl"

void main()
{
    EACH_GROUP_UNIT(chunk)
    {
        uint first = chunk * SORT_CHUNK, count = min(params.items - first, SORT_CHUNK);
        barrier();
        for (uint slot = gl_LocalInvocationID.x; slot < SORT_CHUNK; slot += GROUP_SIZE) {
            Item item = last_item();
            if (slot < count) {
                item.position = first + slot;
                item.key = uvec2(target_of(item.position), 0u);
            }
            put_item(slot, item);
        }
        sort_segments(SORT_CHUNK);
        for (uint slot = gl_LocalInvocationID.x; slot < count; slot += GROUP_SIZE)
            store_item(first + slot, get_item(slot));
    }
}
