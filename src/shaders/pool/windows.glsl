// SPDX-License-Identifier: Apache-2.0
/* The window in tensor params.x of an element of tensor params.y: three dimensions of taps, those inside the tensor. */
struct Window {
    uint first[3], count[3]; /* coordinate of the first, how many there are */
    int at;                  /* of the first */
};

uint elements_of(uint t)
{
    uint count = 1u;
    for (uint d = 0u; d < 5u; d++)
        count *= view(t).sizes[d];
    return count;
}

/* Coordinates of element `number`, row-major, of tensor t. */
void coordinates(uint t, uint number, out uint where[5])
{
    for (uint d = 5u; d-- > 0u;) {
        where[d] = number % view(t).sizes[d];
        number /= view(t).sizes[d];
    }
}

int at_coordinates(uint t, uint where[5])
{
    int at = 0;
    for (uint d = 0u; d < 5u; d++)
        at += int(where[d]) * view(t).strides[d];
    return at;
}

/* Along spatial dimension d, for position `to`. */
void taps_along(uint d, uint to, out uint first, out uint count)
{
    uint x = params.x, size = view(x).sizes[d + 2u], step = params.dilations[d], pad = params.pad[d];
    uint begin = to * params.strides[d], skipped = begin < pad ? (pad - begin + step - 1u) / step : 0u;
    first = begin + skipped * step - pad;
    uint taps = first < size ? (size - first + step - 1u) / step : 0u;
    count = skipped < params.window[d] ? min(taps, params.window[d] - skipped) : 0u;
}

Window window_of(uint where[5])
{
    Window w;
    uint x = params.x;
    w.at = int(where[0]) * view(x).strides[0] + int(where[1]) * view(x).strides[1];
    for (uint d = 0u; d < 3u; d++) {
        taps_along(d, where[d + 2u], w.first[d], w.count[d]);
        w.at += int(w.first[d]) * view(x).strides[d + 2u];
    }
    return w;
}

uint taps_of(Window w)
{
    return w.count[0] * w.count[1] * w.count[2];
}

/* The position of the window's tap i, row-major; `position`, row-major, in its channel. */
int tap_at(Window w, uint i, out uint position)
{
    int at = w.at;
    uint x = params.x, line = 1u;
    position = 0u;
    for (uint d = 3u; d-- > 0u;) {
        uint k = w.count[d] > 1u ? i % w.count[d] : 0u, step = k * params.dilations[d];
        i = w.count[d] > 1u ? i / w.count[d] : i;
        position += (w.first[d] + step) * line;
        line *= view(x).sizes[d + 2u];
        at += int(step) * view(x).strides[d + 2u];
    }
    return at;
}

/* The divisor of an average along dimension d; unspecified if no element is inside. */
REAL average_count(uint d, uint inside)
{
    return REAL(params.include_padding != 0u ? params.window[d] : inside);
}

/* Where POOL_GRAD stores which element of window `number` is the largest. */
uvec2 chosen_at(uint number)
{
    return add64(scratch_at(0u), mul64(number, uvec2(4u, 0u)));
}
