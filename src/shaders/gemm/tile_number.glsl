// SPDX-License-Identifier: Apache-2.0
/* Factors and sums of products by tiles: float, of 16- and 32-bit floating-point tensors, or with TILE_INTEGER int, of
 * bytes. */
#ifdef TILE_INTEGER
#define NUMBER  int
#define NUMBER4 ivec4
#define BITS_OF(x)      uint(x)
#define NUMBER_OF(bits) int(bits)

int load_number(uint type, uvec2 base, int at)
{
    int byte = int(load_byte(add64(base, scaled(at, 0u))));
    return type == TYPE_INT8 ? bitfieldExtract(byte, 0, 8) : byte;
}
#else
#define NUMBER  float
#define NUMBER4 vec4
#define BITS_OF(x)      floatBitsToUint(x)
#define NUMBER_OF(bits) uintBitsToFloat(bits)

float load_number(uint type, uvec2 base, int at)
{
    if (type == TYPE_FLOAT32)
        return uintBitsToFloat(Words(add64(base, scaled(at, 2u))).v);
    uint bits = load_short(add64(base, scaled(at, 1u)));
    return type == TYPE_FLOAT16 ? half_to_float(bits) : bfloat_to_float(bits);
}
#endif
