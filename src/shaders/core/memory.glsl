// SPDX-License-Identifier: Apache-2.0
/* What all shaders begin with: push constants, data types, and memory by address. Devices need not have 64-bit
 * integers: addresses are pairs of words. */
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_spirv_intrinsics : require
/* NaN, infinities and -0 mean what they mean: without this, compilers turn a < 0 ? 0 : a into a maximum. */
spirv_execution_mode(extensions = ["SPV_KHR_float_controls"], capabilities = [4466], 4461, 32);
#ifdef HAVE_FLOAT64
spirv_execution_mode(extensions = ["SPV_KHR_float_controls"], capabilities = [4466], 4461, 64);
#endif
#ifdef HAVE_INT64
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#endif

#ifndef GROUP_SIZE
#define GROUP_SIZE 256
#endif
#define RANK_MAX 8

#define TYPE_FLOAT32  1
#define TYPE_FLOAT16  2
#define TYPE_UINT32   3
#define TYPE_UINT16   4
#define TYPE_UINT8    5
#define TYPE_INT32    6
#define TYPE_INT16    7
#define TYPE_INT8     8
#define TYPE_FLOAT64  9
#define TYPE_UINT64   10
#define TYPE_INT64    11
#define TYPE_UINT4    12
#define TYPE_INT4     13
#define TYPE_BFLOAT16 15

layout(local_size_x = GROUP_SIZE) in;

layout(push_constant) uniform Push {
    uvec2 block; /* address of the dispatch's parameter block */
    uvec2 bases[15];
} push;

layout(buffer_reference, std430, buffer_reference_align = 1) buffer Bytes { uint8_t v; };
layout(buffer_reference, std430, buffer_reference_align = 2) buffer Halves { uint16_t v; };
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Words { uint v; };
layout(buffer_reference, std430, buffer_reference_align = 8) buffer Pairs { uvec2 v; };

/* 64-bit arithmetic on pairs. */
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

/* Where an element lies. */
struct Place {
    uvec2 address;
    uint nibble; /* 4-bit types: 1 = the high half */
};

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
