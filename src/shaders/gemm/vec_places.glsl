// SPDX-License-Identifier: Apache-2.0
/* GEMM with a few rows or columns, "lines" here: positions of their elements. Needs the dependencies of
 * tile_finish.glsl; PARAMETERS is vec_params. */

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
