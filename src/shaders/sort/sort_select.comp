// SPDX-License-Identifier: Apache-2.0
/* KERN_SORT of which few are needed: a workgroup finds the last one of a line that is needed, digit by digit of its key
 * and, among equal ones, of its position, then sorts those up to it. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define PARAMETERS sort_select_params
#include "shaders/sort/sort_params.h"
#include "shaders/core/views.glsl"
#include "shaders/core/bits.glsl"
#include "shaders/sort/line.glsl"
#include "shaders/sort/sort_keys.glsl"
#include "shaders/sort/sort_items.glsl"
#include "shaders/sort/sort_local.glsl"
#include "shaders/sort/sort_write.glsl"
#include "shaders/sort/radix_scan.glsl"

#define COPIES 8u /* of counts, since neighbours often have the same digit */

shared uint counts[RADIX * COPIES];
shared uint digit_found, before_found, count_found, items_found;

/* Those with these bits under the masks. */
uint key_mask, key_bits, position_mask, position_bits;

uint key_at(int line, uint k)
{
    return key_of(load_bits(0u, line + int(k) * view(0).strides[params.axis])).x;
}

bool is_like(uint key, uint k)
{
    return (key & key_mask) == key_bits && (k & position_mask) == position_bits;
}

bool is_wanted(uint key, uint k)
{
    uint bits = key & key_mask;
    return bits < key_bits || (bits == key_bits && (k & position_mask) <= position_bits);
}

/* Among the items that match the last one so far, which is number `left` of them, selects by a further digit: whether
 * all of them are needed. */
bool find_digit(int line, bool of_key, uint shift, inout uint left)
{
    uint lane = gl_LocalInvocationID.x;
    for (uint i = 0u; i < COPIES; i++)
        counts[i * RADIX + lane] = 0u;
    barrier();
    for (uint k = lane; k < params.size; k += GROUP_SIZE) {
        uint key = key_at(line, k);
        if (is_like(key, k))
            atomicAdd(counts[((of_key ? key : k) >> shift & RADIX - 1u) * COPIES + lane % COPIES], 1u);
    }
    barrier();
    uint count = 0u;
    for (uint i = 0u; i < COPIES; i++)
        count += counts[lane * COPIES + i];
    uint all, before = sum_before(count, all);
    if (before < left && left <= before + count) {
        digit_found = lane;
        before_found = before;
        count_found = count;
    }
    barrier();
    left -= before_found;
    if (of_key) {
        key_mask |= RADIX - 1u << shift;
        key_bits |= digit_found << shift;
    } else {
        position_mask |= RADIX - 1u << shift;
        position_bits |= digit_found << shift;
    }
    return count_found == left;
}

void find_last(int line)
{
    uint left = params.kept;
    bool found = false;
    key_mask = key_bits = position_mask = position_bits = 0u;
    for (uint digit = params.key_digits; digit-- > 0u && !found;)
        found = find_digit(line, true, RADIX_BITS * digit, left);
    for (uint digit = params.position_digits; digit-- > 0u && !found;)
        found = find_digit(line, false, RADIX_BITS * digit, left);
}

void collect(int line)
{
    uint lane = gl_LocalInvocationID.x;
    barrier();
    if (lane == 0u)
        items_found = 0u;
    for (uint slot = params.kept + lane; slot < params.segment; slot += GROUP_SIZE)
        put_item(slot, last_item());
    barrier();
    for (uint k = lane; k < params.size; k += GROUP_SIZE) {
        Item item;
        item.key = uvec2(key_at(line, k), 0u);
        item.position = k;
        if (is_wanted(item.key.x, k))
            put_item(min(atomicAdd(items_found, 1u), params.kept - 1u), item);
    }
}

void main()
{
    EACH_GROUP_UNIT(line)
    {
        LinePlaces places = places_of_line(params.axis, line);
        find_last(places.x);
        collect(places.x);
        sort_segments(params.segment);
        for (uint slot = gl_LocalInvocationID.x; slot < params.kept; slot += GROUP_SIZE)
            write_result_at(places, params.axis, slot, positions[slot]);
    }
}
