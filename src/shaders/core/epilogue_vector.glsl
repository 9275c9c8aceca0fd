// SPDX-License-Identifier: Apache-2.0
/* Epilogues (epilogue.glsl) of eight or four results at a time, which are contiguous in memory. Their parameters are
 * read once, early, to hide the latency of memory. */
struct Operand {
    float p, q;
    int tensor; /* < 0: none */
    uint place;
    uvec2 base;
    int next;  /* from a result's element to that of the next */
    uint last; /* with STEP_ALONG_LAST: the size of the last dimension */
};

#define EACH_STEP(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define STEP_CODE(i) ((i < 4 ? STEPS_LOW : STEPS_HIGH) >> 8 * (i % 4) & 255u)

#define DECLARE_OPERAND(i) Operand operand##i;
EACH_STEP(DECLARE_OPERAND)

Operand operand_of(uint i)
{
    shader_step s = step_of(i);
    Operand o = Operand(s.p, s.q, s.tensor, s.place, uvec2(0u), 1, 1u);
    if (o.tensor >= 0) {
        o.base = address_of(uint(o.tensor));
        if (o.place == STEP_AT_FIRST)
            o.next = 0;
        if (o.place == STEP_ALONG_LAST) {
            o.next = view(o.tensor).strides[view(o.tensor).rank - 1u];
            o.last = view(header.inputs).sizes[view(header.inputs).rank - 1u];
        }
    }
    return o;
}

void read_operands()
{
#define READ_OPERAND(i)                                                                                                \
    if (STEP_CODE(i) != 0u)                                                                                            \
        operand##i = operand_of(i);
    EACH_STEP(READ_OPERAND)
}

/* Of one result. */
int operand_at(Operand o, uint number, int y_at)
{
    if (o.place == STEP_BY_NUMBER)
        return at_element(uint(o.tensor), header.inputs, number);
    if (o.place == STEP_ALONG_LAST)
        return int(number % o.last) * o.next;
    return o.place == STEP_AT_RESULT ? y_at : 0;
}

float operand_value(Operand o, int at)
{
    uint type = type_of(uint(o.tensor)), as;
    uvec2 x = load(place_at(type, o.base, at), type, as);
    return register_to_float(x, as);
}

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer OperandVector { uvec4 v; };

/* Of eight results from `number` on, which is a multiple of eight. */
void load_operand(Operand o, uint number, int y_at, out vec4 low, out vec4 high)
{
    uint type = type_of(uint(o.tensor));
    int at = operand_at(o, number, y_at);
    bool apart = o.place == STEP_BY_NUMBER || (o.place == STEP_ALONG_LAST && (o.last & 7u) != 0u);
    uvec2 address = add64(o.base, scaled(at, 1u));
    if (!apart && o.next == 1 && type == TYPE_FLOAT16 && (address.x & 15u) == 0u) {
        uvec4 v = OperandVector(address).v;
        low = vec4(halves_to_floats(v.x), halves_to_floats(v.y));
        high = vec4(halves_to_floats(v.z), halves_to_floats(v.w));
        return;
    }
    for (uint e = 0u; e < 4u; e++) {
        low[e] = operand_value(o, apart ? operand_at(o, number + e, 0) : at + int(e) * o.next);
        high[e] = operand_value(o, apart ? operand_at(o, number + e + 4u, 0) : at + int(e + 4u) * o.next);
    }
}

void run_vector_step(Operand o, uint code, uint number, int y_at, inout vec4 low, inout vec4 high)
{
    vec4 b_low = vec4(o.p), b_high = vec4(o.p);
    if (o.tensor >= 0)
        load_operand(o, number, y_at, b_low, b_high);
    for (uint e = 0u; e < 4u; e++) {
        low[e] = step_result(code, low[e], b_low[e], o.p, o.q);
        high[e] = step_result(code, high[e], b_high[e], o.p, o.q);
    }
}

/* Of eight results from `number` on, stored from y_at on. */
void epilogue_vector(uint number, int y_at, inout vec4 low, inout vec4 high)
{
#define RUN_STEP(i)                                                                                                    \
    if (STEP_CODE(i) != 0u)                                                                                            \
        run_vector_step(operand##i, STEP_CODE(i), number, y_at, low, high);
    EACH_STEP(RUN_STEP)
}

/* ---- four ---- */

vec4 load_operand_four(Operand o, uint number, int y_at)
{
    uint type = type_of(uint(o.tensor));
    int at = operand_at(o, number, y_at);
    bool apart = o.place == STEP_BY_NUMBER || (o.place == STEP_ALONG_LAST && (o.last & 3u) != 0u);
    uvec2 address = add64(o.base, scaled(at, 2u));
    vec4 b;
    if (!apart && o.next == 1 && type == TYPE_FLOAT32 && (address.x & 15u) == 0u)
        return uintBitsToFloat(OperandVector(address).v);
    for (uint e = 0u; e < 4u; e++)
        b[e] = operand_value(o, apart ? operand_at(o, number + e, y_at + int(e)) : at + int(e) * o.next);
    return b;
}

void run_four_step(Operand o, uint code, uint number, int y_at, inout vec4 value)
{
    vec4 b = vec4(o.p);
    if (o.tensor >= 0)
        b = load_operand_four(o, number, y_at);
    for (uint e = 0u; e < 4u; e++)
        value[e] = step_result(code, value[e], b[e], o.p, o.q);
}

/* Of four results from `number` on, stored from y_at on. */
void epilogue_four(uint number, int y_at, inout vec4 value)
{
#define RUN_FOUR(i)                                                                                                    \
    if (STEP_CODE(i) != 0u)                                                                                            \
        run_four_step(operand##i, STEP_CODE(i), number, y_at, value);
    EACH_STEP(RUN_FOUR)
}
