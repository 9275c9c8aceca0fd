// SPDX-License-Identifier: Apache-2.0
/* Included by all shaders: push constants, data types, and memory by address. Devices need not support 64-bit integers:
 * addresses are pairs of words. */
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#ifdef UNIFORM_BLOCK
#extension GL_EXT_scalar_block_layout : require
#endif
#ifndef WORD_STORAGE
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require
#endif
#extension GL_EXT_spirv_intrinsics : require
/* NaN, infinities and -0 are significant: without this, compilers turn a < 0 ? 0 : a into a maximum. */
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

#ifdef GROUP_SIZE_ID /* the number of a specialization constant that has it */
layout(local_size_x_id = GROUP_SIZE_ID) in;
#else
layout(local_size_x = GROUP_SIZE) in;
#endif

/* Every pipeline sets it: the device converts between FLOAT16 and FLOAT32 exactly, rounding to nearest even. */
layout(constant_id = 16) const bool HALF = false;

layout(buffer_reference, std430, buffer_reference_align = 8) readonly buffer Table { uvec2 addresses[]; };

layout(push_constant) uniform Push {
    uvec2 block; /* address of the dispatch's parameter block */
    uvec2 table; /* and of the table of the program's buffers */
    uint groups; /* of the whole dispatch, of which this may be a part */
} push;

/* Every pipeline sets it: the driver executes a loop's body once more with no invocation active, and loads from
 * addresses that are the same for all invocations even then (lavapipe 26.1). */
layout(constant_id = 18) const bool LOADS_UNASKED = false;

/* The address, which such a driver takes for one that differs between invocations: it then loads for those that are
 * active. */
uvec2 asked(const uvec2 address)
{
    if (LOADS_UNASKED)
        return uvec2(address.x + (gl_LocalInvocationID.x & push.groups & 0x80000000u), address.y); /* + 0 */
    return address;
}

#ifdef UNIFORM_BLOCK
/* The start of the table as a uniform buffer, from which devices read without the latency of memory. */
#define TABLE_HEAD 512u
layout(set = 1, binding = 0, std430) uniform TableHead { uvec2 addresses[TABLE_HEAD]; } table_head;

/* Every pipeline sets it: the program's table has more addresses. No load shall be in a branch. */
layout(constant_id = 17) const bool LARGE_TABLE = false;

uvec2 base_address(uint base)
{
    if (LARGE_TABLE)
        return Table(asked(push.table)).addresses[base];
    return asked(table_head.addresses[base]);
}
#else
uvec2 base_address(uint base)
{
    return Table(asked(push.table)).addresses[base];
}
#endif

#ifndef WORD_STORAGE
layout(buffer_reference, std430, buffer_reference_align = 1) buffer Bytes { uint8_t v; };
layout(buffer_reference, std430, buffer_reference_align = 2) buffer Shorts { uint16_t v; };
#endif
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

/* The address of an element. */
struct Place {
    uvec2 address;
    uint nibble; /* 4-bit types: 1 = the high half */
};

/* A part of the word around an address: other invocations may write the rest of it concurrently. The reference is not a
 * variable: SwiftShader allocates too little memory for those, so that they overwrite others. */
void store_part(uvec2 address, uint shift, uint mask, uint value)
{
    uvec2 word = uvec2(address.x & ~3u, address.y);
    shift += 8u * (address.x & 3u);
    atomicAnd(Words(word).v, ~(mask << shift));
    atomicOr(Words(word).v, (value & mask) << shift);
}

/* Bytes and 16-bit words as numbers; stores keep the low bits. Devices without such storage extract them from words. */
#ifdef WORD_STORAGE
uint load_part(uvec2 address)
{
    return Words(uvec2(address.x & ~3u, address.y)).v >> 8u * (address.x & 3u);
}

uint load_byte(uvec2 address)
{
    return load_part(address) & 0xffu;
}

void store_byte(uvec2 address, uint value)
{
    store_part(address, 0u, 0xffu, value);
}

uint load_short(uvec2 address)
{
    return load_part(address) & 0xffffu;
}

void store_short(uvec2 address, uint value)
{
    store_part(address, 0u, 0xffffu, value);
}
#else
uint load_byte(uvec2 address)
{
    return uint(Bytes(address).v);
}

void store_byte(uvec2 address, uint value)
{
    Bytes(address).v = uint8_t(value);
}

uint load_short(uvec2 address)
{
    return uint(Shorts(address).v);
}

void store_short(uvec2 address, uint value)
{
    Shorts(address).v = uint16_t(value);
}
#endif

uint load_nibble(Place place)
{
    return load_byte(place.address) >> 4u * place.nibble & 15u;
}

void store_nibble(Place place, uint value)
{
    store_part(place.address, 4u * place.nibble, 15u, value);
}
