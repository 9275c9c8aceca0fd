// SPDX-License-Identifier: Apache-2.0
/* Results of convolutions by small tiles: pixel m of all images, and a channel; epilogue(sum + bias). With several
 * splits their sums go to the scratch memory, [splits, pixels, channels], and conv_sum.comp adds them. */
#include "shaders/core/epilogue.glsl"
#include "shaders/core/vector.glsl"

/* Which of the epilogue's steps have tensors, one bit each, and whether there are biases. */
layout(constant_id = 10) const uint STEP_TENSORS = 0;
layout(constant_id = 11) const bool HAS_BIAS = false;

/* The position of the pixel in Y, and its number in channel 0 of the image. */
int pixel_in_y(uint m, out uint number)
{
    uint image = divide(m, params.by_pixels), within = m - image * params.by_pixels.size;
    uint row = divide(within, CONV.by_out[2]), column = within - row * CONV.by_out[2].size;
    number = image * CONV.out_channels * params.by_pixels.size + within;
    return int(image) * CONV.y[0] + int(row) * CONV.y[3] + int(column) * CONV.y[4];
}

float bias_of(uint channel)
{
    return CONV.bias >= 0 ? load_real(uint(CONV.bias), int(channel) * CONV.bias_step) : 0.0;
}

void store_one(uint m, uint channel, float sum)
{
    uint number;
    int y_at = pixel_in_y(m, number) + int(channel) * CONV.y[1];
    store_real(header.inputs, y_at, epilogue(sum + bias_of(channel), number + channel * params.by_pixels.size, y_at));
}

uvec2 part_at(uint split, uint m, uint channel)
{
    return scratch_at(4u * ((split * params.m + m) * CONV.out_channels + channel));
}

void store_part_of(uint split, uint m, uint channel, float sum)
{
    Words(part_at(split, m, channel)).v = floatBitsToUint(sum);
}

/* ---- four neighbouring channels, side by side in Y ---- */

/* Everything that does not depend on the sums; may be loaded before they are complete. */
struct Four {
    int y_at;
    vec4 bias;
    vec4 operands[8]; /* of the steps that have tensors */
};

/* The elements of the step's tensor for these results. */
vec4 operands_of(uint tensor, uint place, uint number, int y_at)
{
    vec4 b;
    if (place == STEP_AT_RESULT)
        return load_vec4(type_of(tensor), address_of(tensor), y_at, 1, 4u);
    for (uint e = 0u; e < 4u; e++)
        b[e] = load_real(tensor, place == STEP_AT_FIRST ? 0
                                                        : at_element(tensor, header.inputs,
                                                                     number + e * params.by_pixels.size));
    return b;
}

uint code_of(uint step)
{
    return (step < 4u ? STEPS_LOW : STEPS_HIGH) >> 8u * (step % 4u) & 255u;
}

vec4 biases_of(uint channel)
{
    vec4 bias = vec4(0.0);
    if (HAS_BIAS)
        for (uint e = 0u; e < 4u; e++)
            bias[e] = load_real(uint(CONV.bias), int(channel + e) * CONV.bias_step);
    return bias;
}

Four prepare_four_with(uint m, uint channel, vec4 bias)
{
    Four four;
    uint number;
    four.y_at = pixel_in_y(m, number) + int(channel);
    number += channel * params.by_pixels.size;
    four.bias = bias;
    [[unroll]] for (uint i = 0u; i < 8u; i++)
        if ((STEP_TENSORS >> i & 1u) != 0u)
            four.operands[i] = operands_of(uint(step_of(i).tensor), step_of(i).place, number, four.y_at);
    return four;
}

Four prepare_four(uint m, uint channel)
{
    return prepare_four_with(m, channel, biases_of(channel));
}

vec4 finish_four(Four four, vec4 value)
{
    value += four.bias;
    [[unroll]] for (uint i = 0u; i < 8u; i++) {
        if (code_of(i) == 0u)
            continue;
        float p = step_of(i).p, q = step_of(i).q;
        vec4 b = (STEP_TENSORS >> i & 1u) != 0u ? four.operands[i] : vec4(p);
        for (uint e = 0u; e < 4u; e++)
            value[e] = step_result(code_of(i), value[e], b[e], p, q);
    }
    return value;
}

void store_eight(Four low, Four high, vec4 low_sums, vec4 high_sums)
{
    uint type = type_of(header.inputs);
    uvec4 a = pack_vec4(type, finish_four(low, low_sums)), b = pack_vec4(type, finish_four(high, high_sums));
    uvec2 to = place_at(type, address_of(header.inputs), low.y_at).address;
    if (type == TYPE_FLOAT32) {
        Quads(to).v = a;
        Quads(add64(to, uvec2(16u, 0u))).v = b;
    } else {
        Quads(to).v = uvec4(a.xy, b.xy);
    }
}
