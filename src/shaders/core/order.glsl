// SPDX-License-Identifier: Apache-2.0
/* Elements of every type as pairs of words, higher word last, that compare as the elements do, without 64-bit
 * arithmetic. Both zeros are equal; NaN becomes 0, 0, below all numbers. */

uint order_of_float(uint bits)
{
    uint size = bits & 0x7fffffffu;
    if (size > 0x7f800000u)
        return 0u;
    return size == 0u ? 0x80000000u : size == bits ? bits | 0x80000000u : ~bits;
}

uvec2 order_of_double(uvec2 bits)
{
    uint size = bits.y & 0x7fffffffu;
    if (size > 0x7ff00000u || (size == 0x7ff00000u && bits.x != 0u))
        return uvec2(0u);
    if ((size | bits.x) == 0u)
        return uvec2(0u, 0x80000000u);
    return size == bits.y ? uvec2(bits.x, bits.y | 0x80000000u) : ~bits;
}

/* Element `at` of tensor t. */
uvec2 order_of(uint t, int at)
{
    uint type;
    uvec2 x = load(place_of(t, at), type_of(t), type);
    switch (type) {
    case TYPE_FLOAT32:
        return uvec2(0u, order_of_float(x.x));
    case TYPE_FLOAT64:
        return order_of_double(x);
    case TYPE_INT32:
        return uvec2(0u, x.x ^ 0x80000000u);
    case TYPE_UINT32:
        return uvec2(0u, x.x);
    case TYPE_INT64:
        return uvec2(x.x, x.y ^ 0x80000000u);
    default:
        return x;
    }
}

bool order_greater(uvec2 a, uvec2 b)
{
    return a.y > b.y || (a.y == b.y && a.x > b.x);
}
