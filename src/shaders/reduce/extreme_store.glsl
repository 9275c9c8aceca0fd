// SPDX-License-Identifier: Apache-2.0
/* Results of minima, maxima and their positions. Include lines.glsl first. */

void store_element(int y, int x)
{
    if (type_of(0u) == type_of(1u)) {
        copy_element(1u, y, 0u, x); /* including the payload of a NaN */
        return;
    }
    uint type;
    uvec2 value = load(place_of(0u, x), type_of(0u), type);
    store(place_of(1u, y), type_of(1u), value, type);
}

/* The line's result: the element at `position`, or its position. */
void store_extreme(uint line, uint position)
{
    int y = at_line(1u, line);
    if (params.mode == REDUCE_ARGMAX || params.mode == REDUCE_ARGMIN)
        store(place_of(1u, y), type_of(1u), uvec2(position, 0u), TYPE_UINT32);
    else
        store_element(y, at_line(0u, line) + in_line(0u, position));
}
