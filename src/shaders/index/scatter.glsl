// SPDX-License-Identifier: Apache-2.0
/* Targets of the updates of KERN_SCATTER. Tensors: 0 X, 1 indices, 2 updates, 3 Y. Include core/views.glsl first. */

#define NO_TARGET 0xffffffffu

/* Negative ones count from the end; false: out of range. */
bool place_in(int index, uint size, out uint place)
{
    index = index < 0 ? index + int(size) : index;
    place = uint(index);
    return index >= 0 && place < size;
}

/* The target of an item, or NO_TARGET. */
uint target_of(uint item)
{
    uint listed = view(1).rank - params.tuples, pitch = 1u, axis_pitch = 0u, target = 0u, place;
    int at = 0;
    for (uint d = listed; d-- > 0u;) {
        uint index = item % view(1).sizes[d];
        item /= view(1).sizes[d];
        at += int(index) * view(1).strides[d];
        if (d == params.axis)
            axis_pitch = pitch;
        else
            target += index * pitch;
        pitch *= view(3).sizes[d];
    }
    if (params.tuples == 0u)
        return place_in(load_index(1u, at), view(3).sizes[params.axis], place) ? target + place * axis_pitch
                                                                               : NO_TARGET;
    target = 0u;
    for (uint k = 0u; k < view(1).sizes[listed]; k++) {
        if (!place_in(load_index(1u, at + int(k) * view(1).strides[listed]), view(3).sizes[k], place))
            return NO_TARGET;
        target = target * view(3).sizes[k] + place;
    }
    return target;
}
