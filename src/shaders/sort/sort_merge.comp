// SPDX-License-Identifier: Apache-2.0
/* Merging pairs of sorted runs, an item per invocation: its position is the number of items of both runs before it. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define PARAMETERS sort_merge_params
#include "shaders/sort/sort_params.h"
#include "shaders/core/views.glsl"
#include "shaders/sort/sort_items.glsl"

/* Items of a run. */
uint run_items(uint run)
{
    return run < params.runs ? min(params.stored, params.size - run * params.covered) : 0u;
}

void main()
{
    EACH_UNIT(number)
    {
        uint place = number % params.stored, run = number / params.stored % params.runs;
        uint line = number / params.stored / params.runs;
        if (place >= run_items(run))
            continue;
        Item item = load_item(params.from + number);
        uint other = params.from + (line * params.runs + (run ^ 1u)) * params.stored, low = 0u;
        for (uint high = run_items(run ^ 1u); low < high;) {
            uint middle = (low + high) / 2u;
            if (before(load_item(other + middle), item))
                low = middle + 1u;
            else
                high = middle;
        }
        if (place + low < params.next_stored)
            store_item(params.to + (line * ((params.runs + 1u) / 2u) + run / 2u) * params.next_stored + place + low, item);
    }
}
