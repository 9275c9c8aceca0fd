// SPDX-License-Identifier: Apache-2.0
/* Factors and sums of tiled GEMM: float for 16- and 32-bit floating-point tensors, or with TILE_INTEGER int for bytes;
 * with TILE_MATRIX a factor is its 16 bits. Element `at` of an array needs less arithmetic than an address: loads
 * dominate these shaders besides the multiplications. */
#ifdef TILE_INTEGER
#define NUMBER  int
#define NUMBER4 ivec4
#define BITS_OF(x)      uint(x)
#define NUMBER_OF(bits) int(bits)

#ifdef WORD_STORAGE
#define BYTE_AT(base, at) load_byte(add64(base, scaled(at, 0u)))
#else
layout(buffer_reference, std430, buffer_reference_align = 1) readonly buffer ByteArray { uint8_t v[]; };
#define BYTE_AT(base, at) uint(ByteArray(base).v[at])
#endif

int load_number(uint type, uvec2 base, int at)
{
    int byte = int(BYTE_AT(base, at));
    return type == TYPE_INT8 ? bitfieldExtract(byte, 0, 8) : byte;
}
#else
#define NUMBER  float
#define NUMBER4 vec4
#define BITS_OF(x)      floatBitsToUint(x)
#define NUMBER_OF(bits) uintBitsToFloat(bits)

layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer FloatArray { float v[]; };
#ifdef WORD_STORAGE
#define SHORT_AT(base, at) load_short(add64(base, scaled(at, 1u)))
#else
layout(buffer_reference, std430, buffer_reference_align = 2) readonly buffer ShortArray { uint16_t v[]; };
#define SHORT_AT(base, at) uint(ShortArray(base).v[at])
#endif

#ifdef TILE_MATRIX
#define FACTOR uint
uint load_number(uint type, uvec2 base, int at)
{
    return SHORT_AT(base, at);
}
#else
float load_number(uint type, uvec2 base, int at)
{
    if (type == TYPE_FLOAT32)
        return FloatArray(base).v[at];
    uint bits = SHORT_AT(base, at);
    return type == TYPE_FLOAT16 ? half_to_float(bits) : bfloat_to_float(bits);
}
#endif
#endif
#ifndef FACTOR
#define FACTOR NUMBER
#endif

#ifdef TILE_DOT
#define FACTORS 4u /* in a word */

/* Added to bytes of this type and their zero points. */
int bias_of(uint type)
{
    return type == TYPE_UINT8 ? -128 : 0;
}
#else
#define FACTORS 1u
#endif
