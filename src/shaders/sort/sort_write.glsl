// SPDX-License-Identifier: Apache-2.0
/* Results of KERN_SORT. Tensors: 0 X, 1 values, 2 positions. Include sort/line.glsl first. */

/* The element at `position` of the line comes out at place k. */
void write_result(uint axis, uint line, uint k, uint position)
{
    int from = at_line(0u, axis, line) + int(position) * view(0).strides[axis];
    int to = at_line(1u, axis, line) + int(k) * view(1).strides[axis];
    copy_element(1u, to, 0u, from);
    uvec2 address = place_of(2u, at_line(2u, axis, line) + int(k) * view(2).strides[axis]).address;
    if (type_of(2u) == TYPE_UINT64)
        Pairs(address).v = uvec2(position, 0u);
    else
        Words(address).v = position;
}
