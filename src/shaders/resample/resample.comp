// SPDX-License-Identifier: Apache-2.0
/* KERN_RESAMPLE: one element of the result per invocation, the weighted sum over all combinations of the inputs of its
 * coordinates. Tensors: 0 X, 1 Y. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define PARAMETERS resample_params
#include "shaders/resample/resample_params.h"
#include "shaders/core/views.glsl"

uint table_word(uint d, uint index)
{
    return Words(add64(push.block, uvec2(params.tables[d] + 4u * index, 0u))).v;
}

/* `count` inputs from `first` on, with weights from `weight` on. */
struct List {
    uint first, count, weight;
};

List list_of(uint d, uint coordinate)
{
    return List(table_word(d, 3u * coordinate), table_word(d, 3u * coordinate + 1u),
                3u * view(1).sizes[d] + table_word(d, 3u * coordinate + 2u));
}

void main()
{
    EACH_UNIT(number)
    {
        List lists[RANK_MAX];
        uint entry[RANK_MAX], rest = number, rank = view(1).rank, left = 1u;
        int y = 0, x = 0;
        for (uint d = rank; d-- > 0u;) {
            uint size = view(1).sizes[d], at = rest % size;
            rest /= size;
            y += int(at) * view(1).strides[d];
            lists[d] = list_of(d, at);
            entry[d] = 0u;
            x += int(lists[d].first) * view(0).strides[d];
            left *= lists[d].count;
        }
        if (params.copies != 0u) {
            copy_element(1u, y, 0u, x);
            continue;
        }
        REAL sum = REAL(0);
        for (; left > 0u; left--) {
            REAL weight = REAL(1);
            for (uint d = 0u; d < rank; d++)
                weight *= REAL(uintBitsToFloat(table_word(d, lists[d].weight + entry[d])));
            sum += weight * load_real(0u, x);
            /* the next combination, the last dimension first */
            for (uint d = rank; d-- > 0u;) {
                x += view(0).strides[d];
                if (++entry[d] < lists[d].count)
                    break;
                x -= int(lists[d].count) * view(0).strides[d];
                entry[d] = 0u;
            }
        }
        store_real(1u, y, type_is_real(type_of(1u)) ? sum : rint_of(sum));
    }
}
