// SPDX-License-Identifier: Apache-2.0
/* Results of KERN_SORT. Tensors: 0 X, 1 values, 2 positions. Include sort/line.glsl first. */

/* The start of a line in each tensor. */
struct LinePlaces {
    int x, values, positions;
};

LinePlaces places_of_line(uint axis, uint line)
{
    return LinePlaces(at_line(0u, axis, line), at_line(1u, axis, line), at_line(2u, axis, line));
}

void write_position(LinePlaces line, uint axis, uint k, uint position)
{
    uvec2 address = place_of(2u, line.positions + int(k) * view(2).strides[axis]).address;
    if (type_of(2u) == TYPE_UINT64)
        Pairs(address).v = uvec2(position, 0u);
    else
        Words(address).v = position;
}

/* The element at `position` of the line is the result at index k. */
void write_result_at(LinePlaces line, uint axis, uint k, uint position)
{
    copy_element(1u, line.values + int(k) * view(1).strides[axis], 0u, line.x + int(position) * view(0).strides[axis]);
    write_position(line, axis, k, position);
}

void write_result(uint axis, uint line, uint k, uint position)
{
    write_result_at(places_of_line(axis, line), axis, k, position);
}
