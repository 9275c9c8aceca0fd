// SPDX-License-Identifier: Apache-2.0
/* KERN_MOVE: copies elements of one width between two views. Types stand for widths. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define BLOCK_WORDS 64
#include "shaders/map/map_params.glsl"

void copy(Place to, Place from, uint type)
{
    switch (type) {
    case TYPE_UINT4:
        store_nibble(to, load_nibble(from));
        break;
    case TYPE_UINT8:
        store_byte(to.address, load_byte(from.address));
        break;
    case TYPE_UINT16:
        store_short(to.address, load_short(from.address));
        break;
    case TYPE_UINT32:
        Words(to.address).v = Words(from.address).v;
        break;
    default:
        Pairs(to.address).v = Pairs(from.address).v;
    }
}

void main()
{
    load_block();
    uint stride = push.groups * GROUP_SIZE;
    for (uint i = gl_GlobalInvocationID.x; i < block[0]; i += stride) {
        uint index[RANK_MAX];
        unflatten(i, index);
        copy(locate(1, index), locate(0, index), block[tensor_at(0)]);
    }
}
