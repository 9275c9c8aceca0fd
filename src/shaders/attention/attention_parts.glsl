// SPDX-License-Identifier: Apache-2.0
/* Shared by attention_parts.comp and attention_join.comp: the keys of a part, and the location of its sums. */

/* The share of `keys` of a part; parts after the last key are empty. */
uint keys_of_part(uint keys)
{
    const uint each = (keys + params.parts - 1u) / params.parts;
    return (each + ATTENTION_PARTS_KEYS - 1u) / ATTENTION_PARTS_KEYS * ATTENTION_PARTS_KEYS;
}

/* In scratch memory, in words, of a workgroup's query: sums of all columns, the largest score, the sum of weights. */
uint state_at(uint unit, uint row, uint rows)
{
    return (unit * rows + row) * (view(2).sizes[3] + 2u);
}

/* The reference of relative weights. */
float base_of(float top)
{
    return top == -INFINITY ? 0.0 : top;
}

float result_of(float sum, float total)
{
    return total > 0.0 || is_nan(total) || params.undefined != 0u ? sum / total : 0.0;
}
