// SPDX-License-Identifier: Apache-2.0
/* Keys: unsigned numbers in the requested order. */

/* NaNs are equal and greater than all numbers, -0 equals 0. */
uvec2 key_of(uvec2 bits)
{
    uvec2 mask = uvec2(params.keys.mask[0], params.keys.mask[1]), sign_bit = uvec2(params.keys.sign[0], params.keys.sign[1]);
    uvec2 infinity = uvec2(params.keys.infinity[0], params.keys.infinity[1]), flip = uvec2(params.keys.flip[0], params.keys.flip[1]);
    if (params.keys.is_float != 0u) {
        uvec2 magnitude = bits & ~sign_bit;
        bool negative = (bits & sign_bit) != uvec2(0u) && magnitude != uvec2(0u);
        bool nan = magnitude.y > infinity.y || (magnitude.y == infinity.y && magnitude.x > infinity.x);
        bits = nan ? mask : negative ? bits ^ mask : magnitude | sign_bit;
    }
    return bits ^ flip;
}

/* The bits of an element of at most 32 that has this key; false: several have. */
bool element_of_key(uint key, out uint bits)
{
    uint mask = params.keys.mask[0], sign_bit = params.keys.sign[0];
    bits = key ^ params.keys.flip[0];
    if (params.keys.is_float == 0u)
        return true;
    bool one = bits != mask && bits != sign_bit;
    bits = (bits & sign_bit) != 0u ? bits ^ sign_bit : bits ^ mask;
    return one;
}
