// SPDX-License-Identifier: Apache-2.0
/* KERN_ATTENTION: a workgroup per query and up to 256 columns of V. Keys are processed in blocks of 256: an invocation
 * computes the score of one; then the weights (of an online softmax) are multiplied with V, where params.lanes
 * invocations take the columns and the others interleaved keys. Tensors: 0 Q, 1 K, 2 V, masks, Y. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define PARAMETERS attention_params
#include "shaders/attention/attention_params.h"
#include "shaders/core/views.glsl"
#include "shaders/core/math_f64.glsl"
#include "shaders/attention/attention.glsl"

#define KEYS GROUP_SIZE

shared REAL weights[KEYS];
shared REAL parts[GROUP_SIZE];

uint row; /* of the query */

REAL score_of(uint key)
{
    uint group = group_of_head(), depth = view(1).sizes[3];
    int q = offset4(0u, head, row), k = offset4(1u, group, key);
    REAL sum = REAL(0);
    for (uint d = 0u; d < depth; d++)
        sum += load_real(0u, q + int(d) * view(0).strides[3]) * load_real(1u, k + int(d) * view(1).strides[3]);
    return score(sum, row, key);
}

/* The workgroup's maximum, or its sum; NaN counts in sums only. */
REAL combine(REAL value, bool adds)
{
    uint me = gl_LocalInvocationID.x;
    parts[me] = value;
    barrier();
    for (uint half_size = GROUP_SIZE / 2u; half_size > 0u; half_size /= 2u) {
        if (me < half_size) {
            REAL other = parts[me + half_size];
            parts[me] = adds ? parts[me] + other : other > parts[me] || is_nan(parts[me]) ? other : parts[me];
        }
        barrier();
    }
    REAL result = parts[0];
    barrier();
    return result;
}

/* Adds the block's weights times V's column to `sum`: of every keys' part that this invocation has. */
REAL add_block(REAL sum, uint first, uint count, uint column)
{
    uint group = group_of_head(), step = GROUP_SIZE / params.lanes;
    for (uint n = gl_LocalInvocationID.x / params.lanes; n < count && column < view(2).sizes[3]; n += step)
        sum += weights[n] * load_real(2u, offset4(2u, group, first + n) + int(column) * view(2).strides[3]);
    return sum;
}

void run_query(uint chunk)
{
    uint me = gl_LocalInvocationID.x, keys = existing_keys(row), column = chunk * params.lanes + me % params.lanes;
    const REAL lowest = REAL(-INFINITY);
    REAL top = lowest, total = REAL(0), sum = REAL(0);
    for (uint first = 0u; first < keys; first += KEYS) {
        uint count = min(keys - first, KEYS);
        REAL score = me < count ? score_of(first + me) : lowest;
        REAL block_top = combine(score, false), new_top = block_top > top ? block_top : top;
        REAL base = new_top == lowest ? REAL(0) : new_top;
        REAL weight = me < count ? exp_of(score - base) : REAL(0);
        weights[me] = weight;
        REAL block_total = combine(weight, true);
        REAL rescale = exp_of(top - base);
        total = total * rescale + block_total;
        sum = add_block(sum * rescale, first, count, column);
        top = new_top;
        barrier();
    }
    parts[me] = sum;
    barrier();
    if (me < params.lanes && column < view(2).sizes[3]) {
        for (uint i = me + params.lanes; i < GROUP_SIZE; i += params.lanes)
            sum += parts[i];
        bool defined = total > 0 || is_nan(total) || params.undefined != 0u;
        uint y = header.inputs;
        store_real(y, offset4(y, head, row) + int(column) * view(y).strides[3], defined ? sum / total : REAL(0));
    }
    barrier();
}

void main()
{
    uint y = header.inputs, chunks = (view(2).sizes[3] + params.lanes - 1u) / params.lanes;
    EACH_GROUP_UNIT(unit)
    {
        uint rest = unit / chunks;
        row = rest % view(y).sizes[2];
        rest /= view(y).sizes[2];
        head = rest % view(y).sizes[1];
        batch = rest / view(y).sizes[1];
        run_query(unit % chunks);
    }
}
