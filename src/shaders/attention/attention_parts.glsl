// SPDX-License-Identifier: Apache-2.0
/* What attention_parts.comp and attention_join.comp agree on: which keys a part has, and where it leaves its sums. */

/* Of `keys`, which all parts share; parts behind the last key have nothing to do. */
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

/* What weights are relative to. */
float base_of(float top)
{
    return top == -INFINITY ? 0.0 : top;
}

float result_of(float sum, float total)
{
    return total > 0.0 || is_nan(total) || params.undefined != 0u ? sum / total : 0.0;
}
