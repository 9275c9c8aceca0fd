// SPDX-License-Identifier: Apache-2.0
/* Elements as bits, independent of their type. Include core/views.glsl first. */

/* Lower word first; zeros above the element's width. */
uvec2 load_bits(uint t, int at)
{
    return load_element(place_of(t, at), type_of(t));
}

/* The low bits of `bits` that an element has. */
void store_bits(uint t, int at, uvec2 bits)
{
    store_element(place_of(t, at), type_of(t), bits);
}
