// SPDX-License-Identifier: Apache-2.0
/* KERN_RECURRENT: a workgroup per batch row and direction, all steps. States and gates, of one vector of hidden values
 * each, are in scratch memory. Tensors: 0 X, 1 R, the others according to the parameters. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define PARAMETERS recurrent_params
#include "shaders/recurrent/recurrent_params.h"
#include "shaders/core/views.glsl"
#include "shaders/core/pairs.glsl"
#include "shaders/mapops.glsl"
#include "shaders/map/map_math.glsl"
#include "shaders/map/map_float.glsl"

/* enum kern_cell, enum kern_activation_mode */
#define RNN                0
#define GRU                1
#define ACTIVATION_MAP     0
#define ACTIVATION_HARDMAX 2

/* KERN_RECURRENT_PANEL */
#define PANEL 32u

/* The vectors: states, the vector that R is multiplied with, gates. */
#define H     0u
#define C     1u
#define MIXED 2u
#define GATE  3u
#define VECTORS 7u

layout(buffer_reference, std430, buffer_reference_align = 4) coherent buffer State { float v; };

uint batch, direction, hidden, unit_number;

#define EACH_HIDDEN(n) for (uint n = gl_LocalInvocationID.x; n < hidden; n += GROUP_SIZE)

State state_at(uint vector, uint n)
{
    return State(add64(scratch_at(0u), mul64(4u, uvec2((unit_number * VECTORS + vector) * hidden + n, 0u))));
}

/* All of the workgroup's writes are visible. */
void meet()
{
    memoryBarrierBuffer();
    barrier();
}

/* Row n of gate `gate` of R times a vector. */
float product(uint gate, uint n, uint vector)
{
    int at = int(direction) * view(1).strides[0] + int(gate) * view(1).strides[1], step_k = view(1).strides[3];
    float sum = 0.0;
    if (params.panels != 0u)
        at += int(n / PANEL) * view(1).strides[2] + int(n % PANEL) * view(1).strides[4];
    else
        at += int(n) * view(1).strides[2];
    for (uint k = 0u; k < hidden; k++)
        sum += load_real(1u, at + int(k) * step_k) * state_at(vector, k).v;
    return sum;
}

float input_of(uint at_step, uint gate, uint n)
{
    return load_real(0u, int(at_step) * view(0).strides[0] + int(batch) * view(0).strides[1] +
                             int(direction) * view(0).strides[2] + int(gate) * view(0).strides[3] +
                             int(n) * view(0).strides[4]);
}

float peephole(uint gate, uint n)
{
    uint t = params.net.peepholes;
    if (t == 0u)
        return 0.0;
    return load_real(t, int(direction) * view(t).strides[0] + int(gate) * view(t).strides[1] +
                            int(n) * view(t).strides[2]) *
           state_at(C, n).v;
}

/* Activation `which` of the direction over a vector; with barriers before and after. */
void activate(uint which, uint vector)
{
    uint at = 3u * direction + which, mode = params.modes[at];
    meet();
    EACH_HIDDEN(n)
    {
        float value = state_at(vector, n).v;
        if (params.net.has_clip != 0u)
            value = min_number(max_number(value, params.net.clip_low), params.net.clip_high);
        if (mode == ACTIVATION_MAP)
            value = eval_real(params.codes[at], value, value, value, params.net.p[at], params.net.q[at]);
        state_at(vector, n).v = value;
    }
    meet();
    if (mode != ACTIVATION_HARDMAX)
        return;
    uint top = 0u;
    for (uint n = 1u; n < hidden; n++) {
        float value = state_at(vector, n).v, best = state_at(vector, top).v;
        if (value > best || (is_nan(best) && !is_nan(value)))
            top = n;
    }
    meet();
    EACH_HIDDEN(n) state_at(vector, n).v = n == top ? 1.0 : 0.0;
    meet();
}

/* The element-wise part of a step at the start of each of its phases. */
void mix_states(uint phase)
{
    EACH_HIDDEN(n)
    {
        float h = state_at(H, n).v, g0 = state_at(GATE, n).v, g1 = state_at(GATE + 1u, n).v;
        float g2 = state_at(GATE + 2u, n).v;
        if (params.cell == RNN) {
            if (phase == 1u)
                state_at(H, n).v = g0;
        } else if (params.cell == GRU) { /* z, r, h */
            if (phase == 1u)
                state_at(MIXED, n).v = g1 * h;
            else if (phase == 2u)
                state_at(H, n).v = (1.0 - g0) * g2 + g0 * h;
        } else if (phase == 1u) { /* i, o, f, g */
            float keep = params.net.couple != 0u ? 1.0 - g0 : g2;
            state_at(C, n).v = keep * state_at(C, n).v + g0 * state_at(GATE + 3u, n).v;
            state_at(GATE + 1u, n).v = g1 + peephole(1u, n);
        } else if (phase == 2u) {
            state_at(H, n).v = state_at(C, n).v;
        } else if (phase == 3u) {
            state_at(H, n).v = h * g1;
        }
    }
}

/* The gate before its activation. */
float gate_sum(uint at, uint gate, uint n)
{
    bool reset = params.cell == GRU && gate == 2u, linear = params.linear_before_reset != 0u;
    float sum = product(gate, n, reset && !linear ? MIXED : H);
    if (reset && linear) {
        uint t = params.net.reset_bias;
        if (t != 0u)
            sum += load_real(t, int(direction) * view(t).strides[0] + int(n) * view(t).strides[1]);
        sum *= state_at(GATE + 1u, n).v;
    }
    sum += input_of(at, gate, n);
    return params.cell > GRU && (gate == 0u || gate == 2u) ? sum + peephole(gate, n) : sum;
}

/* Activation k of a phase: which, and its vector; false: fewer. */
bool activation_of(uint phase, uint k, out uint which, out uint vector)
{
    which = 0u;
    vector = GATE + k;
    if (params.cell == RNN)
        return phase == 0u && k == 0u;
    if (params.cell == GRU) {
        if (phase == 0u)
            return k < 2u;
        which = 1u;
        vector = GATE + 2u;
        return phase == 1u && k == 0u;
    }
    if (phase == 0u) { /* i, f, g */
        which = k == 2u ? 1u : 0u;
        vector = GATE + (k == 0u ? 0u : k + 1u);
        return true;
    }
    which = phase == 1u ? 0u : 2u;
    vector = phase == 1u ? GATE + 1u : H;
    return phase < 3u && k == 0u;
}

/* Functions have one call each, since drivers inline them all. */
void run_step(uint at)
{
    for (uint phase = 0u; phase < 4u; phase++) {
        uint first = phase == 0u ? 0u : 2u, gates = 0u, which, vector;
        if (phase == 0u)
            gates = params.cell == RNN ? 1u : params.cell == GRU ? 2u : 4u;
        else if (phase == 1u && params.cell == GRU)
            gates = 3u;
        meet();
        mix_states(phase);
        meet();
        for (uint gate = first; gate < gates; gate++)
            EACH_HIDDEN(n) state_at(GATE + gate, n).v = gate_sum(at, gate, n);
        for (uint k = 0u; k < 3u; k++)
            if (activation_of(phase, k, which, vector))
                activate(which, vector);
    }
}

/* A vector, or zeros, to the hidden values of tensor t from `at` on, `stride` apart. */
void put(uint t, int at, int stride, uint vector, bool zeros)
{
    EACH_HIDDEN(n) store_real(t, at + int(n) * stride, zeros ? 0.0 : state_at(vector, n).v);
}

int state_offset(uint t)
{
    return int(direction) * view(t).strides[0] + int(batch) * view(t).strides[1];
}

/* The state before the first step. */
void begin_state(uint t, uint vector)
{
    EACH_HIDDEN(n)
    state_at(vector, n).v = t == 0u ? 0.0 : load_real(t, state_offset(t) + int(n) * view(t).strides[2]);
}

void run_row()
{
    uint steps = view(0).sizes[0], count = steps;
    if (params.net.lengths != 0u)
        count = min(Words(place_of(params.net.lengths, int(batch) * view(params.net.lengths).strides[0]).address).v, steps);
    begin_state(params.net.initial_hidden, H);
    begin_state(params.net.initial_memory, C);
    /* two rounds more store the last states */
    for (uint s = 0u; s < steps + 2u; s++) {
        uint at = params.net.reverse[direction] != 0u && s < count ? count - 1u - s : s;
        uint t = s < steps ? params.net.sequence : s == steps ? params.net.last_hidden : params.net.last_memory;
        meet();
        if (s < count)
            run_step(at);
        meet();
        if (t == 0u)
            continue;
        if (s < steps)
            put(t,
                int(at) * view(t).strides[0] + int(direction) * view(t).strides[1] + int(batch) * view(t).strides[2],
                view(t).strides[3], H, s >= count);
        else
            put(t, state_offset(t), view(t).strides[2], s == steps ? H : C, count == 0u);
    }
}

void main()
{
    hidden = view(0).sizes[4];
    EACH_GROUP_UNIT(unit)
    {
        unit_number = unit;
        direction = unit / view(0).sizes[1];
        batch = unit % view(0).sizes[1];
        run_row();
        meet();
    }
}
