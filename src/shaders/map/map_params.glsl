// SPDX-License-Identifier: Apache-2.0
/* The parameter block of an element-wise dispatch, as shader_map.c writes it, in 32-bit words:
 *   0 elements, 1 rank, 2 inputs, 3 outputs, 4 instructions, 8.. sizes[8], outermost first
 *   16 + 24 t: tensor t, inputs first: type, base address, register type, register, byte offset (2 words),
 *              at 8: strides[8] in bytes (4-bit types: in elements), 2 words each
 *   16 + 24 tensors + 6 i: instruction i: code | type << 8 | to_type << 16 | result << 24, registers a | b << 8 | c << 16,
 *              p (2 words), q (2 words)
 * Each workgroup reads the block once: it may be in the host's memory. */
#include "shaders/core/memory.glsl"

#define HEADER_WORDS 16
#define TENSOR_WORDS 24
#define INST_WORDS   6

shared uint block[BLOCK_WORDS];

void load_block()
{
    uint tensors = Words(add64(push.block, uvec2(8, 0))).v + Words(add64(push.block, uvec2(12, 0))).v;
    uint words = HEADER_WORDS + tensors * TENSOR_WORDS + Words(add64(push.block, uvec2(16, 0))).v * INST_WORDS;
    for (uint i = gl_LocalInvocationID.x; i < words; i += GROUP_SIZE)
        block[i] = Words(add64(push.block, uvec2(i * 4, 0))).v;
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
    if (block[at] == TYPE_UINT4 || block[at] == TYPE_INT4) {
        place.nibble = offset.x & 1;
        offset = uvec2(offset.x >> 1 | offset.y << 31, uint(int(offset.y) >> 1));
    }
    offset = add64(offset, uvec2(block[at + 4], block[at + 5]));
    place.address = add64(base_address(block[at + 1]), offset);
    return place;
}
