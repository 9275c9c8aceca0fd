// SPDX-License-Identifier: Apache-2.0
/* The position in tensor t of row-major index `number` of dimensions first to end - 1; X's sizes are used. */
int at_dimensions(uint t, uint first, uint end, uint number)
{
    int at = 0;
    for (uint d = end; d > first + 1u; d--) {
        uint size = view(0).sizes[d - 1u];
        at += int(number % size) * view(t).strides[d - 1u];
        number /= size;
    }
    return end > first ? at + int(number) * view(t).strides[first] : at;
}
