// SPDX-License-Identifier: Apache-2.0
/* Few long lines are split into parts: a first dispatch stores a PARTIAL of PARTIAL_BYTES for each in scratch memory, a
 * second one (params.finish) combines them. */
#ifndef PARTIAL
#define PARTIAL Total
#endif
/* Numbers of 64 bits are at multiples of 8, which their partials' size then is. */
#if defined(HAVE_INT64) || defined(HAVE_FLOAT64)
#define PARTIAL_ALIGN 8
#else
#define PARTIAL_ALIGN 4
#endif
layout(buffer_reference, std430, buffer_reference_align = PARTIAL_ALIGN) buffer Partials { PARTIAL v; };

/* That of part k of the line. */
Partials partial_at(uint line, uint k)
{
    return Partials(add64(scratch_at(0u), mul64(line * params.partials + k, uvec2(PARTIAL_BYTES, 0u))));
}

uint part_begin(uint part)
{
    uint size = (params.size + params.parts - 1u) / params.parts;
    return min(part * size, params.size);
}
