// SPDX-License-Identifier: Apache-2.0
/* GEMM with a few rows or columns, "lines" here: positions of their elements, and the results. Needs the dependencies
 * of tile_finish.glsl; PARAMETERS is vec_params. */

/* The start of the current batch in tensor t. */
int batch_start(uint t, uint batch)
{
    uint y = header.inputs;
    int start = 0;
    for (uint d = view(y).rank - 2u; d-- > 0u;) {
        start += int(batch % view(y).sizes[d]) * view(t).strides[d];
        batch /= view(y).sizes[d];
    }
    return start;
}

/* The stride along m or n (0), or along k (1), of a factor. */
int step_of(uint t, uint along_k)
{
    return view(t).strides[view(t).rank - 2u + (t ^ along_k)];
}

/* Like at_element() of the result's element `number`; for the first row without division, which is slow. */
int at_result(uint t, uint number)
{
    uint y = header.inputs;
    if (number < TILE_PARAMS.n)
        return int(number) * view(t).strides[view(y).rank - 1u];
    return at_element(t, y, number);
}

void store_line(uint batch, uint split, uint i, uint column, NUMBER sum)
{
    uint m = params.small == 0u ? i : column, n = params.small == 0u ? column : i, y = header.inputs;
    uint number = (batch * TILE_PARAMS.m + m) * TILE_PARAMS.n + n, c = uint(max(TILE_PARAMS.c, 0));
    if (TILE_PARAMS.splits == 1u)
        store_result(number, at_result(y, number), at_result(c, number), sum);
    else
        Words(scratch_at(4u * (split * TILE_PARAMS.batches * TILE_PARAMS.m * TILE_PARAMS.n + number))).v = BITS_OF(sum);
}
