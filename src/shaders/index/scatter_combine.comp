// SPDX-License-Identifier: Apache-2.0
/* KERN_SCATTER: items, sorted by target, are combined with Y. The invocation of a target's first item does it for all
 * of the target's, in their order, an element each. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define PARAMETERS scatter_params
#include "shaders/index/index_params.h"
#include "shaders/core/views.glsl"
#include "shaders/core/bits.glsl"
#include "shaders/sort/sort_items.glsl"
#include "shaders/index/scatter.glsl"

/* enum kern_scatter_reduction */
#define ADD      1
#define MULTIPLY 2
#define MIN      3

#define COMBINED(held, update, unordered)                                                                              \
    params.reduction == ADD        ? held + update                                                                     \
    : params.reduction == MULTIPLY ? held * update                                                                     \
    : params.reduction == MIN      ? (unordered || update < held ? update : held)                                      \
                                   : (unordered || update > held ? update : held)

/* Both in one compute type, as registers of core/number.glsl. */
uvec2 combined(uvec2 held, uvec2 update, uint type)
{
    switch (type) {
    case TYPE_FLOAT32: {
        float a = uintBitsToFloat(held.x), b = uintBitsToFloat(update.x);
        return uvec2(floatBitsToUint(COMBINED(a, b, is_nan(a))), 0u);
    }
    case TYPE_INT32: {
        int a = int(held.x), b = int(update.x);
        return uvec2(uint(COMBINED(a, b, false)), 0u);
    }
#ifdef HAVE_INT64
    case TYPE_INT64: {
        int64_t a = int64_t(as_uint64(held)), b = int64_t(as_uint64(update));
        return from_uint64(uint64_t(COMBINED(a, b, false)));
    }
    case TYPE_UINT64: {
        uint64_t a = as_uint64(held), b = as_uint64(update);
        return from_uint64(COMBINED(a, b, false));
    }
#endif
#ifdef HAVE_FLOAT64
    case TYPE_FLOAT64: {
        double a = packDouble2x32(held), b = packDouble2x32(update);
        return unpackDouble2x32(COMBINED(a, b, is_nan(a)));
    }
#endif
    default:
        return uvec2(COMBINED(held.x, update.x, false), 0u);
    }
}

bool has_target(uint k, uint target)
{
    return load_item(params.from + k).key.x == target;
}

void main()
{
    EACH_UNIT(number)
    {
        uint first = number / params.inner, i = number % params.inner;
        uint target = load_item(params.from + first).key.x;
        if (target == NO_TARGET || (first > 0u && has_target(first - 1u, target)))
            continue;
        int y = at_element(3u, 3u, target * params.inner + i), at = y;
        uvec2 held = uvec2(0u);
        uint t = 3u, type;
        for (uint k = first;; k++) {
            uvec2 x = load(place_of(t, at), type_of(t), type);
            held = t == 3u ? x : combined(held, x, type);
            if (k == params.items || !has_target(k, target))
                break;
            t = 2u;
            at = at_element(2u, 2u, load_item(params.from + k).position * params.inner + i);
        }
        store_bits(3u, y, held);
    }
}
