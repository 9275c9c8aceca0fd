// SPDX-License-Identifier: Apache-2.0
/* Lines along an axis of tensor 0, numbered row-major over its other dimensions. Include core/views.glsl first. */

/* The start of line `number` in tensor t, which has tensor 0's sizes except along the axis. */
int at_line(uint t, uint axis, uint number)
{
    int at = 0;
    for (uint d = view(0).rank; d-- > 0u;) {
        if (d == axis)
            continue;
        uint size = view(0).sizes[d];
        at += int(number % size) * view(t).strides[d];
        number /= size;
    }
    return at;
}
