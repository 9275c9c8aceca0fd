// SPDX-License-Identifier: Apache-2.0
/* Elements as bits, whatever their type. Include core/views.glsl first. */

/* Lower word first; zeros above the element's width. */
uvec2 load_bits(uint t, int at)
{
    uint type = type_of(t);
    Place place = place_of(t, at);
    if (type == TYPE_UINT4 || type == TYPE_INT4)
        return uvec2(load_nibble(place), 0u);
    switch (type_shift(type)) {
    case 0u:
        return uvec2(load_byte(place.address), 0u);
    case 1u:
        return uvec2(load_short(place.address), 0u);
    case 2u:
        return uvec2(Words(place.address).v, 0u);
    default:
        return Pairs(place.address).v;
    }
}

/* The low ones of `bits`, as many as an element has. */
void store_bits(uint t, int at, uvec2 bits)
{
    uint type = type_of(t);
    Place place = place_of(t, at);
    if (type == TYPE_UINT4 || type == TYPE_INT4) {
        store_nibble(place, bits.x);
        return;
    }
    switch (type_shift(type)) {
    case 0u:
        store_byte(place.address, bits.x);
        break;
    case 1u:
        store_short(place.address, bits.x);
        break;
    case 2u:
        Words(place.address).v = bits.x;
        break;
    default:
        Pairs(place.address).v = bits;
    }
}
