// SPDX-License-Identifier: Apache-2.0
/* Few long lines are cut in parts, whose totals a second dispatch adds up: TOTAL_BYTES each, in scratch memory. */
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Partials { Total v; };

/* The total of part k of the line. */
Partials partial_at(uint line, uint k)
{
    uint parts = params.finish != 0u ? params.size : params.parts;
    return Partials(add64(scratch_at(0u), mul64(line * parts + k, uvec2(TOTAL_BYTES, 0u))));
}

uint part_begin(uint part)
{
    uint size = (params.size + params.parts - 1u) / params.parts;
    return min(part * size, params.size);
}
