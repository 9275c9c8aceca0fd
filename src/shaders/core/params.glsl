// SPDX-License-Identifier: Apache-2.0
/* The parameter block of an element-wise dispatch, as shader_map.c writes it, in 32-bit words:
 *   0 elements, 1 rank, 2 inputs, 3 outputs, 4 instructions, 8.. sizes[8], outermost first
 *   16 + 24 t: tensor t, inputs first: type, base address, register type, register, byte offset (2 words),
 *              at 8: strides[8] in bytes (4-bit types: in elements), 2 words each
 *   16 + 24 tensors + 6 i: instruction i: code | type << 8 | to_type << 16 | result << 24, registers a | b << 8 | c << 16,
 *              p (2 words), q (2 words)
 * Each workgroup reads the block once: it may lie in the host's memory. */
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require

#define GROUP_SIZE   256
#define HEADER_WORDS 16
#define TENSOR_WORDS 24
#define INST_WORDS   6
#define RANK_MAX     8

#define TYPE_FLOAT32 1
#define TYPE_FLOAT16 2
#define TYPE_UINT32  3
#define TYPE_UINT16  4
#define TYPE_UINT8   5
#define TYPE_INT32   6
#define TYPE_INT16   7
#define TYPE_INT8    8
#define TYPE_FLOAT64 9
#define TYPE_UINT64  10
#define TYPE_INT64   11
#define TYPE_UINT4   12
#define TYPE_INT4    13

layout(local_size_x = GROUP_SIZE) in;

layout(push_constant) uniform Push {
    uvec2 params;
    uvec2 bases[15];
} push;

layout(buffer_reference, std430, buffer_reference_align = 1) buffer Bytes { uint8_t v; };
layout(buffer_reference, std430, buffer_reference_align = 2) buffer Halves { uint16_t v; };
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Words { uint v; };
layout(buffer_reference, std430, buffer_reference_align = 8) buffer Pairs { uvec2 v; };

shared uint block[BLOCK_WORDS];

/* 64-bit arithmetic on pairs: devices need not have 64-bit integers. */
uvec2 add64(uvec2 a, uvec2 b)
{
    uint carry;
    uint low = uaddCarry(a.x, b.x, carry);
    return uvec2(low, a.y + b.y + carry);
}

uvec2 mul64(uint a, uvec2 b)
{
    uint high, low;
    umulExtended(a, b.x, high, low);
    return uvec2(low, high + a * b.y);
}

void load_block()
{
    uint tensors = Words(add64(push.params, uvec2(8, 0))).v + Words(add64(push.params, uvec2(12, 0))).v;
    uint words = HEADER_WORDS + tensors * TENSOR_WORDS + Words(add64(push.params, uvec2(16, 0))).v * INST_WORDS;
    for (uint i = gl_LocalInvocationID.x; i < words; i += GROUP_SIZE)
        block[i] = Words(add64(push.params, uvec2(i * 4, 0))).v;
    barrier();
}

/* Row-major index of element `number`. */
void unflatten(uint number, out uint index[RANK_MAX])
{
    for (uint d = block[1]; d-- > 0;) {
        uint size = block[8 + d];
        index[d] = number % size;
        number /= size;
    }
}

/* Where an element lies. */
struct Place {
    uvec2 address;
    uint nibble; /* 4-bit types: 1 = the high half */
};

uint tensor_at(uint tensor)
{
    return HEADER_WORDS + tensor * TENSOR_WORDS;
}

Place locate(uint tensor, uint index[RANK_MAX])
{
    uint at = tensor_at(tensor);
    uvec2 offset = uvec2(0);
    Place place;
    for (uint d = 0; d < block[1]; d++)
        offset = add64(offset, mul64(index[d], uvec2(block[at + 8 + 2 * d], block[at + 9 + 2 * d])));
    place.nibble = 0;
    if (block[at] >= TYPE_UINT4) {
        place.nibble = offset.x & 1;
        offset = uvec2(offset.x >> 1 | offset.y << 31, uint(int(offset.y) >> 1));
    }
    offset = add64(offset, uvec2(block[at + 4], block[at + 5]));
    place.address = add64(push.bases[block[at + 1]], offset);
    return place;
}

uint load_nibble(Place place)
{
    return uint(Bytes(place.address).v) >> (4 * place.nibble) & 15;
}

/* Neighbours share the byte, and other invocations write them at the same time. */
void store_nibble(Place place, uint value)
{
    Words word = Words(uvec2(place.address.x & ~3u, place.address.y));
    uint shift = 8 * (place.address.x & 3) + 4 * place.nibble;
    atomicAnd(word.v, ~(15u << shift));
    atomicOr(word.v, (value & 15) << shift);
}
