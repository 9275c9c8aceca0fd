// SPDX-License-Identifier: Apache-2.0
/* Sorting by digits. Include core/views.glsl first. */
#include "shaders/core/bits.glsl"
#include "shaders/sort/line.glsl"
#include "shaders/sort/sort_keys.glsl"

/* Item i of a line, which starts at x, as the pass reads it: key, position. */
uvec2 radix_item(uint line, int x, uint i)
{
    if (params.first == 0u)
        return Pairs(add64(scratch_at(params.from), mul64(8u, uvec2(line * params.size + i, 0u)))).v;
    return uvec2(key_of(load_bits(0u, x + int(i) * view(0).strides[params.axis])).x, i);
}

uint radix_digit(uint key)
{
    return key >> params.shift & (RADIX - 1u);
}

Words radix_count(uint line, uint digit, uint group)
{
    return Words(scratch_at(params.counts + 4u * ((line * RADIX + digit) * params.groups + group)));
}

Words radix_total(uint line, uint digit)
{
    return Words(scratch_at(params.totals + 4u * (line * RADIX + digit)));
}
