// SPDX-License-Identifier: Apache-2.0
/* KERN_RECURRENT, a step of all rows of the batch per dispatch: the same dispatch repeated, which counts in scratch
 * memory. Neighbours of a subgroup, in SPLIT of them, share the products of one hidden value's gates with the states of
 * ROWS rows of the batch. Scratch memory: STEP word, then the states, of which a step reads one and writes the other,
 * then the memory. Tensors: 0 X, 1 R, the others according to the parameters. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define UNIFORM_BLOCK
#define PARAMETERS recurrent_step_params
#include "shaders/recurrent/recurrent_params.h"
#include "shaders/core/views.glsl"
#include "shaders/core/vector.glsl"
#include "shaders/core/pairs.glsl"
#include "shaders/mapops.glsl"
#include "shaders/map/map_math.glsl"
#include "shaders/map/map_float.glsl"
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_EXT_control_flow_attributes : require

/* enum kern_cell, enum kern_activation_mode */
#define RNN            0
#define GRU            1
#define ACTIVATION_MAP 0

layout(constant_id = 2) const uint CELL = RNN;
layout(constant_id = 3) const uint ROWS = 1;
layout(constant_id = 4) const bool BEGIN = false; /* the dispatch before the first step */
/* Of each direction: f, g, h: kern_map_code + 1, 0: identity; 8 bits each. */
layout(constant_id = 5) const uint CODES = 0;
layout(constant_id = 6) const uint CODES_REVERSE = 0;
layout(constant_id = 7) const uint SPLIT = 1;
layout(constant_id = 8) const uint UNROLL = 1; /* vectors of R whose loads are in flight at once */

#define GATES    (CELL == RNN ? 1u : CELL == GRU ? 3u : 4u)
#define ROWS_MAX 8
#define STEP     64u /* bytes of the scratch memory before the states: how many workgroups have done a step */

#define EACH_ROW(i)  [[unroll]] for (uint i = 0u; i < ROWS; i++)
#define EACH_GATE(g) [[unroll]] for (uint g = 0u; g < GATES; g++)

layout(buffer_reference, std430, buffer_reference_align = 4) coherent buffer Counter { uint v; };
layout(buffer_reference, std430, buffer_reference_align = 4) buffer State { float v; };

uint hidden, batch;

/* Of state `which`, 0 and 1, or with 2 the memory. */
uvec2 state_address(uint which, uint direction, uint row, uint n)
{
    uint number = ((which * params.directions + direction) * batch + row) * hidden + n;
    return add64(scratch_at(STEP), mul64(4u, uvec2(number, 0u)));
}

vec4 sums[ROWS_MAX]; /* gates of each row of the batch */
#define SLOTS_MAX (GROUP_SIZE / 4u) /* of a workgroup, times SPLIT */
shared vec4 parts[SLOTS_MAX * ROWS_MAX]; /* the same of each of the subgroups that share them */

float activated(uint direction, uint which, float x)
{
    uint code = (direction == 0u ? CODES : CODES_REVERSE) >> 8u * which & 255u, at = 3u * direction + which;
    if (params.net.has_clip != 0u)
        x = min_number(max_number(x, params.net.clip_low), params.net.clip_high);
    return code == 0u ? x : eval_real(code - 1u, x, x, x, params.net.p[at], params.net.q[at]);
}

float input_of(uint at_step, uint row, uint direction, uint gate, uint n)
{
    return load_real(0u, int(at_step) * view(0).strides[0] + int(row) * view(0).strides[1] +
                             int(direction) * view(0).strides[2] + int(gate) * view(0).strides[3] +
                             int(n) * view(0).strides[4]);
}

float peephole(uint direction, uint gate, uint n, float memory)
{
    uint t = params.net.peepholes;
    if (t == 0u)
        return 0.0;
    return memory * load_real(t, int(direction) * view(t).strides[0] + int(gate) * view(t).strides[1] +
                                     int(n) * view(t).strides[2]);
}

uint steps_of(uint row)
{
    uint steps = view(0).sizes[0], t = params.net.lengths;
    return t == 0u ? steps : min(Words(place_of(t, int(row) * view(t).strides[0]).address).v, steps);
}

float dot_four(vec4 a, vec4 b)
{
    return (a.x * b.x + a.y * b.y) + (a.z * b.z + a.w * b.w);
}

/* Positions of R of a hidden value and of the states of the rows. */
struct Factors {
    uvec2 matrix, state;
    int at, next; /* elements */
    bool whole;   /* all vectors of four of both */
};

Factors factors_of(uint old, uint direction, uint n)
{
    Factors f;
    f.matrix = address_of(1u);
    f.state = state_address(old, direction, 0u, 0u);
    f.at = int(direction) * view(1).strides[0] + int(n) * view(1).strides[2];
    f.next = view(1).strides[1];
    uint shift = type_shift(type_of(1u)), bytes = 4u << shift, steps = 0u;
    for (uint d = 0u; d < 3u; d++)
        steps |= uint(view(1).strides[d]);
    f.whole = ((hidden | steps) & 3u) == 0u && (f.matrix.x & bytes - 1u) == 0u && (f.state.x & 15u) == 0u;
    return f;
}

/* Elements k to k + 3, all of which exist. */
void multiply_whole(Factors f, uint first, uint k, uint step)
{
    uint type = type_of(1u), shift = type_shift(type);
    uvec4 weights[8];
    [[unroll]] for (uint u = 0u; u < UNROLL; u++)
        EACH_GATE(g)
            weights[4u * u + g] = load_words(
                place_at(type, f.matrix, f.at + int(g) * f.next + int(min(k + u * step, hidden - 4u))).address, 4u << shift);
    [[unroll]] for (uint u = 0u; u < UNROLL; u++) {
        uint at = k + u * step;
        EACH_ROW(i)
        {
            uint number = min(first + i, batch - 1u) * hidden + min(at, hidden - 4u);
            vec4 h = uintBitsToFloat(QuadArray(f.state).v[number / 4u]);
            EACH_GATE(g)
            {
                float part = dot_four(unpack_vec4(type, weights[4u * u + g]), h);
                sums[i][g] += at < hidden ? part : 0.0;
            }
        }
    }
}

/* Elements k to k + 3, those that exist. */
void multiply_some(Factors f, uint first, uint k)
{
    uint count = min(hidden - k, 4u);
    vec4 weights[4];
    EACH_GATE(g)
        weights[g] = load_vec4(type_of(1u), f.matrix, f.at + int(g) * f.next + int(k), 1, count);
    EACH_ROW(i)
    {
        uint number = min(first + i, batch - 1u) * hidden + k;
        vec4 h = load_vec4(TYPE_FLOAT32, f.state, int(number), 1, count);
        EACH_GATE(g)
            sums[i][g] += dot_four(weights[g], h);
    }
}

/* The lane's part of the products, of elements k to k + 3 of every lanes * 4. */
void multiply(uint old, uint direction, uint n, uint first, uint lane, uint lanes)
{
    Factors f = factors_of(old, direction, n);
    EACH_ROW(i)
        sums[i] = vec4(0.0);
    if (f.whole)
        for (uint k = 4u * lane; k < hidden; k += UNROLL * 4u * lanes)
            multiply_whole(f, first, k, 4u * lanes);
    else
        for (uint k = 4u * lane; k < hidden; k += 4u * lanes)
            multiply_some(f, first, k);
}

/* Sums over the lanes. While there are several rows, each of two lanes continues with half of them; returns the first
 * one that this lane ends with, and their number. */
uint add_lanes(uint lane, uint lanes, out uint count)
{
    uint row = 0u;
    count = ROWS;
    [[unroll]] for (uint b = 0u; b < 5u; b++) {
        const uint mask = 1u << b, half_rows = ROWS >> b + 1u;
        bool upper = (lane & mask) != 0u;
        if (mask >= lanes)
            continue;
        if (half_rows == 0u)
            sums[0] += subgroupShuffleXor(sums[0], mask);
        [[unroll]] for (uint i = 0u; i < half_rows; i++) {
            vec4 own = upper ? sums[i + half_rows] : sums[i], other = upper ? sums[i] : sums[i + half_rows];
            sums[i] = own + subgroupShuffleXor(other, mask);
        }
        row += upper ? half_rows : 0u;
        count = max(half_rows, 1u);
    }
    return row;
}

/* Hidden value n of a row of the batch, from the products of its gates. */
void finish(uint s, uint old, uint direction, uint row, uint n, vec4 products)
{
    uint count = steps_of(row), at_step = params.net.reverse[direction] != 0u && s < count ? count - 1u - s : s;
    uint t = params.net.sequence;
    int to = 0;
    if (t != 0u)
        to = int(at_step) * view(t).strides[0] + int(direction) * view(t).strides[1] + int(row) * view(t).strides[2] +
             int(n) * view(t).strides[3];
    if (s >= count) {
        if (t != 0u)
            store_real(t, to, 0.0);
        return;
    }
    vec4 x = vec4(0.0);
    for (uint g = 0u; g < GATES; g++)
        x[g] = input_of(at_step, row, direction, g, n);
    float before = State(state_address(old, direction, row, n)).v, h;
    if (CELL == RNN) {
        h = activated(direction, 0u, x.x + products.x);
    } else if (CELL == GRU) { /* z, r, h */
        float z = activated(direction, 0u, x.x + products.x), r = activated(direction, 0u, x.y + products.y);
        uint bias = params.net.reset_bias;
        float more = products.z;
        if (bias != 0u)
            more += load_real(bias, int(direction) * view(bias).strides[0] + int(n) * view(bias).strides[1]);
        h = (1.0 - z) * activated(direction, 1u, x.z + r * more) + z * before;
    } else { /* i, o, f, g */
        State memory = State(state_address(2u, direction, row, n));
        float c = memory.v;
        float i = activated(direction, 0u, x.x + products.x + peephole(direction, 0u, n, c));
        float keep = activated(direction, 0u, x.z + products.z + peephole(direction, 2u, n, c));
        keep = params.net.couple != 0u ? 1.0 - i : keep;
        c = keep * c + i * activated(direction, 1u, x.w + products.w);
        memory.v = c;
        float o = activated(direction, 0u, x.y + products.y + peephole(direction, 1u, n, c));
        h = o * activated(direction, 2u, c);
        t = params.net.last_memory;
        if (t != 0u && s + 1u == count)
            store_real(t, int(direction) * view(t).strides[0] + int(row) * view(t).strides[1] +
                              int(n) * view(t).strides[2], c);
    }
    State(state_address(old ^ 1u, direction, row, n)).v = h;
    if (params.net.sequence != 0u)
        store_real(params.net.sequence, to, h);
    t = params.net.last_hidden;
    if (t != 0u && s + 1u == count)
        store_real(t, int(direction) * view(t).strides[0] + int(row) * view(t).strides[1] + int(n) * view(t).strides[2],
                   h);
}

/* A hidden value of a direction, and ROWS rows of the batch from the first on. */
struct Slot {
    uint first, n, direction;
};

Slot slot_of(uint slot)
{
    uint blocks = (batch + ROWS - 1u) / ROWS, number = slot / blocks;
    return Slot(slot % blocks * ROWS, number % hidden, number / hidden);
}

/* By SPLIT times `width` invocations, of which this one is number `lane`; they are number `group` of the workgroup.
 * Slots from `end` on are empty, but all invocations of a workgroup must call it. */
void run_slot(uint s, uint slot, uint end, uint group, uint lane, uint width)
{
    uint lanes = SPLIT * width, old = s & 1u, within = lane % width, self = lane / width, count;
    Slot of = slot_of(min(slot, end - 1u));
    multiply(old, of.direction, of.n, of.first, lane, lanes);
    uint row = add_lanes(within, width, count);
    if (SPLIT > 1u) { /* then the first subgroup continues */
        uint at = group * SPLIT * ROWS;
        barrier();
        if (within < ROWS && slot < end)
            for (uint i = 0u; i < count; i++)
                parts[at + self * ROWS + row + i] = sums[i];
        barrier();
        for (uint i = 0u; i < count; i++) {
            sums[i] = parts[at + row + i];
            for (uint k = 1u; k < SPLIT; k++)
                sums[i] += parts[at + k * ROWS + row + i];
        }
    }
    if (self == 0u && within < ROWS && slot < end)
        [[unroll]] for (uint i = 0u; i < ROWS; i++)
            if (i < count && of.first + row + i < batch)
                finish(s, old, of.direction, of.first + row + i, of.n, sums[i]);
}

/* The states before the first step, and the last ones of rows without steps. */
void begin(uint number)
{
    uint n = number % hidden, row = number / hidden % batch, direction = number / hidden / batch;
    for (uint which = 0u; which < 2u; which++) {
        uint t = which == 0u ? params.net.initial_hidden : params.net.initial_memory;
        float value = 0.0;
        if (t != 0u)
            value = load_real(t, int(direction) * view(t).strides[0] + int(row) * view(t).strides[1] +
                                     int(n) * view(t).strides[2]);
        if (which == 0u || CELL > GRU)
            State(state_address(2u * which, direction, row, n)).v = value;
        t = which == 0u ? params.net.last_hidden : params.net.last_memory;
        if (t != 0u && steps_of(row) == 0u)
            store_real(t, int(direction) * view(t).strides[0] + int(row) * view(t).strides[1] +
                              int(n) * view(t).strides[2], 0.0);
    }
    if (number == 0u)
        Counter(scratch_at(0u)).v = 0u;
}

void main()
{
    hidden = view(0).sizes[4];
    batch = view(0).sizes[1];
    if (BEGIN) {
        EACH_UNIT(number)
            begin(number);
        return;
    }
    /* Other workgroups may be complete before this one starts, but not all. */
    uint s = Counter(scratch_at(0u)).v / push.groups, slots = hidden * params.directions * ((batch + ROWS - 1u) / ROWS);
    /* If drivers leave gaps in subgroups, invocations share nothing within them; some have no slot then. */
    bool whole = gl_NumSubgroups * gl_SubgroupSize == GROUP_SIZE;
    uint self = whole ? gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID : gl_LocalInvocationID.x;
    uint width = whole ? min(gl_SubgroupSize, 32u) : 1u, lanes = SPLIT * width;
    uint in_group = min(GROUP_SIZE / lanes, SLOTS_MAX / SPLIT), group = self / lanes;
    for (uint first = gl_WorkGroupID.x * in_group; first < slots; first += push.groups * in_group)
        run_slot(s, group < in_group ? first + group : slots, slots, group % in_group, self % lanes, width);
    barrier();
    if (gl_LocalInvocationID.x == 0u)
        atomicAdd(Counter(scratch_at(0u)).v, 1u);
}
