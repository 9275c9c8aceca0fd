// SPDX-License-Identifier: Apache-2.0
/* Several adjacent elements at once, 4, 8 or 16 bytes. Elements are removed at a vector's front and appended at its end
 * by shifting the others: no index depends on a loop's counter, so a vector stays in registers even if a driver does
 * not unroll the loop. Needs core/views.glsl. */
layout(buffer_reference, std430, buffer_reference_align = 16) buffer Quads { uvec4 v; };
layout(buffer_reference, std430, buffer_reference_align = 16) buffer QuadArray { uvec4 v[]; };
layout(buffer_reference, std430, buffer_reference_align = 8) buffer PairArray { uvec2 v[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) buffer WordArray { uint v[]; };

uvec4 load_words(uvec2 address, uint bytes)
{
    if (bytes == 16u)
        return Quads(address).v;
    if (bytes == 8u)
        return uvec4(Pairs(address).v, 0u, 0u);
    return uvec4(Words(address).v, 0u, 0u, 0u);
}

void store_words(uvec2 address, uint bytes, uvec4 words)
{
    if (bytes == 16u)
        Quads(address).v = words;
    else if (bytes == 8u)
        Pairs(address).v = words.xy;
    else
        Words(address).v = words.x;
}

/* Element i, of 2^shift bytes; the elements before it have been removed. */
uvec2 take_element(inout uvec4 words, uint i, uint shift)
{
    uvec2 bits = words.xy;
    if (shift == 3u) {
        words = words.zwxy;
        return bits;
    }
    bits.y = 0u;
    if (shift == 2u) {
        words = words.yzwx;
        return bits;
    }
    uint width = 8u << shift, last = (4u >> shift) - 1u;
    bits.x &= (1u << width) - 1u;
    if ((i & last) == last)
        words = words.yzwx;
    else
        words.x >>= width;
    return bits;
}

/* Appends element i; bits above its width are ignored. */
void append_element(inout uvec4 words, uint i, uint shift, uvec2 bits)
{
    if (shift == 3u) {
        words = uvec4(words.zw, bits);
        return;
    }
    if (shift == 2u) {
        words = uvec4(words.yzw, bits.x);
        return;
    }
    uint width = 8u << shift, place = i & (4u >> shift) - 1u;
    bits.x &= (1u << width) - 1u;
    if (place == 0u)
        words = uvec4(words.yzw, bits.x);
    else
        words.w |= bits.x << width * place;
}

/* Shifts this many bytes of appended elements to the front. */
uvec4 appended(uvec4 words, uint bytes)
{
    return bytes > 8u ? words : bytes > 4u ? words.zwxy : words.wxyz;
}

bool is_whole(uint type, uvec2 address, uint bytes)
{
    return type != TYPE_UINT4 && type != TYPE_INT4 && bytes >= 4u && (address.x & bytes - 1u) == 0u;
}

/* Elements at, at + stride, ... of a tensor whose element 0, ..., 0 is at `base`: `count` of at most `most`, which fit
 * 16 bytes; zeros after them. */
uvec4 load_vector(uint type, uvec2 base, int at, int stride, uint count, uint most)
{
    uint shift = type_shift(type), bytes = most << shift;
    uvec2 address = place_at(type, base, at).address;
    if (stride == 1 && count == most && is_whole(type, address, bytes))
        return load_words(address, bytes);
    uvec4 words = uvec4(0u);
    for (uint i = 0u; i < most; i++) {
        uvec2 bits = uvec2(0u);
        if (i < count)
            bits = load_element(place_at(type, base, at + int(i) * stride), type);
        append_element(words, i, shift, bits);
    }
    return appended(words, bytes);
}

void store_vector(uint type, uvec2 base, int at, int stride, uint count, uint most, uvec4 words)
{
    uint shift = type_shift(type), bytes = most << shift;
    uvec2 address = place_at(type, base, at).address;
    if (stride == 1 && count == most && is_whole(type, address, bytes)) {
        store_words(address, bytes, words);
        return;
    }
    for (uint i = 0u; i < count; i++)
        store_element(place_at(type, base, at + int(i) * stride), type, take_element(words, i, shift));
}

/* ---- four elements of FLOAT32, FLOAT16 or BFLOAT16 ---- */

vec4 unpack_vec4(uint type, uvec4 words)
{
    if (type == TYPE_FLOAT32)
        return uintBitsToFloat(words);
    if (type == TYPE_BFLOAT16)
        return uintBitsToFloat(uvec4(words.x << 16, words.x & 0xffff0000u, words.y << 16, words.y & 0xffff0000u));
    return vec4(halves_to_floats(words.x), halves_to_floats(words.y));
}

/* Two elements of FLOAT16 or BFLOAT16 in a word. */
uint pack_vec2(uint type, vec2 x)
{
    if (type == TYPE_FLOAT16)
        return floats_to_halves(x);
    return float_to_bfloat(x.x) & 0xffffu | float_to_bfloat(x.y) << 16;
}

vec4 load_vec4(uint type, uvec2 base, int at, int stride, uint count)
{
    return unpack_vec4(type, load_vector(type, base, at, stride, count, 4u));
}

uvec4 pack_vec4(uint type, vec4 x)
{
    return type == TYPE_FLOAT32 ? floatBitsToUint(x) : uvec4(pack_vec2(type, x.xy), pack_vec2(type, x.zw), 0u, 0u);
}

void store_vec4(uint type, uvec2 base, int at, int stride, uint count, vec4 x)
{
    store_vector(type, base, at, stride, count, 4u, pack_vec4(type, x));
}
