// SPDX-License-Identifier: Apache-2.0
/* KERN_SORT, long lines: a result per invocation, from the lines' only runs in scratch memory. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define PARAMETERS sort_merge_params
#include "shaders/sort/sort_params.h"
#include "shaders/core/views.glsl"
#include "shaders/sort/line.glsl"
#include "shaders/sort/sort_items.glsl"
#include "shaders/sort/sort_write.glsl"

void main()
{
    EACH_UNIT(number)
        write_result(params.axis, number / params.stored, number % params.stored,
                     load_item(params.from + number).position);
}
