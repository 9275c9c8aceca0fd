// SPDX-License-Identifier: Apache-2.0
/* Tensors of a dispatch whose parameter block is that of core/block.h. A shader defines PARAMETERS, the struct of its
 * family's parameters, before it includes this. `params` is that struct; tensors are numbered, inputs first. REAL and
 * INT are the types to compute in: float and int, int64_t with HAVE_INT64, double with HAVE_FLOAT64.
 *
 * Specialization constants 0 and 1 are the types of tensors 0 to 7 and 8 to 15, 4 bits each (shader_types() in
 * core/shader_block.c), 0: read from the block. Those of the shader start at 2. */
#include "shaders/core/memory.glsl"
#include "shaders/core/block.h"
#include "shaders/core/math.glsl"
#include "shaders/core/number.glsl"

layout(constant_id = 0) const uint TYPES_LOW = 0;
layout(constant_id = 1) const uint TYPES_HIGH = 0;

/* Shaders that define UNIFORM_BLOCK read it as a uniform buffer, which is faster for short dispatches. */
#ifdef UNIFORM_BLOCK
layout(set = 0, binding = 0, std430) uniform Block {
    shader_header head;
    PARAMETERS family;
    shader_view tensors[SHADER_TENSORS_MAX];
} own_block;
/* The block in the layout of the epilogue's steps. */
layout(set = 0, binding = 0, std430) uniform BlockVectors { uvec4 v[SHADER_BLOCK_BYTES / 16]; } block_vectors;

#define header  own_block.head
#define params  own_block.family
#define view(t) own_block.tensors[t]
#else
layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer Block {
    shader_header head;
    PARAMETERS family;
    shader_view tensors[];
};

#define header  Block(asked(push.block)).head
#define params  Block(asked(push.block)).family
#define view(t) Block(asked(push.block)).tensors[t]
#endif

#ifdef HAVE_FLOAT64
#define REAL     double
#define REAL_TYPE TYPE_FLOAT64
#else
#define REAL      float
#define REAL_TYPE TYPE_FLOAT32
#endif
#ifdef HAVE_INT64
#define INT  int64_t
#define UINT uint64_t
#else
#define INT  int
#define UINT uint
#endif

uint type_of(uint t)
{
    if ((TYPES_LOW | TYPES_HIGH) != 0u)
        return (t < 8u ? TYPES_LOW >> 4u * t : TYPES_HIGH >> 4u * (t - 8u)) & 15u;
    return view(t).type;
}

bool type_is_real(uint type)
{
    return type <= TYPE_FLOAT16 || type == TYPE_FLOAT64 || type == TYPE_BFLOAT16;
}

/* `index` * 2^shift as 64 bits. */
uvec2 scaled(int index, uint shift)
{
    return uvec2(uint(index) << shift, uint(index >> 31) << shift | uint(index) >> 1u >> 31u - shift);
}

/* Element 0, ..., 0 of the tensor. */
uvec2 address_of(uint t)
{
    return add64(base_address(view(t).base), uvec2(view(t).offset_low, view(t).offset_high));
}

/* Byte `at` of the scratch memory. */
uvec2 scratch_at(uint at)
{
    return add64(add64(base_address(header.scratch_base), uvec2(header.scratch_low, header.scratch_high)), uvec2(at, 0u));
}

/* The element `at` elements from element 0, ..., 0, which is at `base`. */
Place place_at(uint type, uvec2 base, int at)
{
    const uint halves = uint(type_is_nibble(type));
    return Place(add64(base, scaled(at >> halves, type_shift(type))), uint(at) & halves);
}

Place place_of(uint t, int at)
{
    return place_at(type_of(t), address_of(t), at);
}

/* The position of element `number`, row-major, of tensor `sizes_of` in tensor t, whose sizes are the same or 1 (then
 * with stride 0): for place_of and the functions below. */
int at_element(uint t, uint sizes_of, uint number)
{
    int at = 0;
    for (uint d = view(sizes_of).rank; d-- > 0u;) {
        uint size = view(sizes_of).sizes[d];
        at += int(number % size) * view(t).strides[d];
        number /= size;
    }
    return at;
}

uint divide(uint n, shader_divisor by)
{
    uint high, low;
    umulExtended(n, by.factor, high, low);
    return high + n >> by.shift;
}

/* ---- elements as numbers ---- */

REAL load_real(uint t, int at)
{
    uint type;
    uvec2 x = load(place_of(t, at), type_of(t), type);
#ifdef HAVE_FLOAT64
    return packDouble2x32(register_to_double(x, type));
#else
    return register_to_float(x, type);
#endif
}

void store_real(uint t, int at, REAL value)
{
#ifdef HAVE_FLOAT64
    store(place_of(t, at), type_of(t), unpackDouble2x32(value), TYPE_FLOAT64);
#else
    store(place_of(t, at), type_of(t), uvec2(floatBitsToUint(value), 0u), TYPE_FLOAT32);
#endif
}

/* Of integer types. Values that do not fit INT keep their bits: UINT32 without 64-bit integers, UINT64. */
INT load_int(uint t, int at)
{
    uint type;
    uvec2 x = load(place_of(t, at), type_of(t), type);
#ifdef HAVE_INT64
    return int64_t(as_uint64(register_to_int64(x, type, true)));
#else
    return int(x.x);
#endif
}

/* Keeps the low bits that the type has. */
void store_int(uint t, int at, INT value)
{
#ifdef HAVE_INT64
    store(place_of(t, at), type_of(t), from_uint64(uint64_t(value)), TYPE_INT64);
#else
    store(place_of(t, at), type_of(t), uvec2(uint(value), uint(value >> 31)), TYPE_INT32);
#endif
}

/* An index in INT32, UINT32, INT64 or UINT64, saturated to 32 bits. */
int load_index(uint t, int at)
{
    Place place = place_of(t, at);
    uint type = type_of(t);
    if (type == TYPE_INT32)
        return int(Words(place.address).v);
    if (type == TYPE_UINT32)
        return int(min(Words(place.address).v, 0x7fffffffu));
    uvec2 x = Pairs(place.address).v;
    if (type == TYPE_UINT64 || int(x.y) >= 0)
        return x.y != 0u ? 0x7fffffff : int(min(x.x, 0x7fffffffu));
    return x.y == 0xffffffffu && int(x.x) < 0 ? int(x.x) : -0x7fffffff - 1;
}

/* Its bits, of any type; both tensors have elements of one width. */
void copy_element(uint to, int to_at, uint from, int from_at)
{
    uint type = type_of(from);
    Place a = place_of(to, to_at), b = place_of(from, from_at);
    if (type_is_nibble(type)) {
        store_nibble(a, load_nibble(b));
        return;
    }
    switch (type_shift(type)) {
    case 0u:
        store_byte(a.address, load_byte(b.address));
        break;
    case 1u:
        store_short(a.address, load_short(b.address));
        break;
    case 2u:
        Words(a.address).v = Words(b.address).v;
        break;
    default:
        Pairs(a.address).v = Pairs(b.address).v;
    }
}

/* One invocation per unit of work, for any number of workgroups. */
#define EACH_UNIT(i)                                                                                                   \
    for (uint i = gl_GlobalInvocationID.x; i < header.elements; i += push.groups * GROUP_SIZE)
/* One workgroup per unit. */
#define EACH_GROUP_UNIT(i) for (uint i = gl_WorkGroupID.x; i < header.elements; i += push.groups)
