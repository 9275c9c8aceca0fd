// SPDX-License-Identifier: Apache-2.0
/* Include core/bits.glsl, sort/sort_keys.glsl and sort/sort_write.glsl first. */

/* Like write_result_at, from the element's key, which saves reading it again. */
void write_result_of_key(LinePlaces line, uint axis, uint k, uint key, uint position)
{
    uvec2 bits = uvec2(0u);
    if (!element_of_key(key, bits.x))
        bits = load_bits(0u, line.x + int(position) * view(0).strides[axis]);
    store_bits(1u, line.values + int(k) * view(1).strides[axis], bits);
    write_position(line, axis, k, position);
}
