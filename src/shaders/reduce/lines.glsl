// SPDX-License-Identifier: Apache-2.0
/* Positions of the elements of lines. Includes the dependencies of lanes.glsl. */
#include "shaders/reduce/lanes.glsl"
#include "shaders/reduce/dims.glsl"

int at_line(uint t, uint line)
{
    return at_dimensions(t, 0u, params.outer, line);
}

/* Element k of a line, as a distance from the first. */
int in_line(uint t, uint k)
{
    return at_dimensions(t, params.outer, view(0).rank, k);
}
