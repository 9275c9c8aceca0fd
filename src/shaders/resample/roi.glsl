// SPDX-License-Identifier: Apache-2.0
/* Positions of the samples of a region of interest: kernels/resample/roi.h and roi.c in GLSL, for devices with FLOAT64:
 * in lower precision, samples would be on the other side of edges. Tensors 0 and 1 are the corners and each region's
 * image. */

#define ROI_POOL    0
#define ROI_AVERAGE 1
#define ROI_MAX     2
#define SAMPLES_MAX 4096u

struct Axis {
    bool pool, none, middle;
    uint size, bins;
    UINT per;
    REAL start, step_size, span;
    INT pool_start;
    UINT pool_extent;
};

struct Tap {
    int i0, i1;
    REAL w, part;
    bool moves;
};

/* Nearest integer, halves away from zero; bounded so that differences fit, NaN becomes 0. */
INT nearest_whole(float value)
{
    const float most = 1099511627776.0;
    if (is_nan(value))
        return INT(0);
    float bounded = clamp(value, -most, most);
    float below = floor(abs(bounded));
    float rounded = abs(bounded) - below >= 0.5 ? below + 1.0 : below;
    return INT(bounded < 0.0 ? -rounded : rounded);
}

UINT sample_count(float extent, uint bins)
{
    uint least = min(params.least, SAMPLES_MAX);
    float count = ceil(float(double(abs(extent)) / double(bins)));
    if (!(count > float(least)))
        return UINT(least);
    return count >= float(params.most) ? UINT(params.most) : UINT(count);
}

Axis axis_of(float from, float to, float scale_by, uint size, uint bins)
{
    precise float start = from * scale_by, end = to * scale_by, extent = end - start;
    Axis axis;
    axis.pool = params.mode == ROI_POOL;
    axis.size = size;
    axis.bins = bins;
    axis.middle = false;
    axis.none = is_nan(start) || is_inf(start) || is_nan(extent) || is_inf(extent);
    axis.per = UINT(1);
    axis.start = axis.step_size = axis.span = REAL(0);
    axis.pool_start = INT(0);
    axis.pool_extent = UINT(1);
    if (axis.pool) {
        INT first = nearest_whole(start), last = nearest_whole(end);
        axis.pool_start = first;
        if (last > first)
            axis.pool_extent = UINT(last - first) + UINT(1);
        return axis;
    }
    axis.per = sample_count(extent, bins);
    axis.span = REAL(UINT(bins) * axis.per);
    if (params.align_corners != 0u && axis.span > REAL(1))
        axis.span -= REAL(1);
    else
        axis.middle = params.align_corners != 0u;
    axis.start = REAL(start);
    axis.step_size = REAL(extent) / axis.span;
    return axis;
}

/* Axis x and axis y of a region, and its image; false if the image does not exist. */
bool region_of(uint region, uint sizes_image, uint pooled, out Axis x, out Axis y, out uint image)
{
    float at[4];
    for (uint i = 0u; i < 4u; i++)
        at[i] = float(load_real(0u, int(region) * view(0).strides[0] + int(i) * view(0).strides[1]));
    x = axis_of(at[0], at[2], params.scale_x, view(sizes_image).sizes[3], view(pooled).sizes[3]);
    y = axis_of(at[1], at[3], params.scale_y, view(sizes_image).sizes[2], view(pooled).sizes[2]);
    REAL index = load_real(1u, int(region) * view(1).strides[0]);
    image = 0u;
    if (!(index > REAL(-1) && index < REAL(view(sizes_image).sizes[0])))
        return false;
    image = uint(index);
    return true;
}

/* bin * extent / bins, rounded down or up, without overflow. */
UINT pool_edge(Axis axis, UINT bin, bool up)
{
    UINT bins = UINT(axis.bins), each = axis.pool_extent / bins, rest = axis.pool_extent % bins;
    return bin * each + (bin * rest + (up ? bins - UINT(1) : UINT(0))) / bins;
}

UINT pixel(Axis axis, UINT edge)
{
    INT at = axis.pool_start + INT(edge);
    return at < INT(0) ? UINT(0) : min(UINT(at), UINT(axis.size));
}

REAL sample_number(Axis axis, UINT s)
{
    return axis.middle ? REAL(0.5) : REAL(s) - REAL(params.out_offset);
}

REAL sample_position(Axis axis, UINT s)
{
    precise REAL at = sample_number(axis, s) * axis.step_size;
    return at + axis.start - REAL(params.in_offset);
}

/* The first sample of [low, high) past the limit, against the direction of the axis when it is inverted. */
UINT first_past(Axis axis, UINT low, UINT high, bool entering)
{
    while (low < high) {
        UINT middle = low + (high - low) / UINT(2);
        REAL at = sample_position(axis, middle);
        bool below = at < REAL(-1), above = at > REAL(axis.size), inverted = axis.step_size < REAL(0);
        bool before = entering ? (inverted ? above : below) : !(inverted ? below : above);
        if (before)
            low = middle + UINT(1);
        else
            high = middle;
    }
    return low;
}

/* The samples of a bin that are inside: numbers [first, last). */
void samples_inside(Axis axis, uint bin, out UINT first, out UINT last)
{
    first = last = UINT(0);
    if (axis.pool) {
        first = pixel(axis, pool_edge(axis, UINT(bin), false));
        last = pixel(axis, pool_edge(axis, UINT(bin) + UINT(1), true));
    } else if (!axis.none) {
        UINT low = UINT(bin) * axis.per, high = low + axis.per;
        first = first_past(axis, low, high, true);
        last = first_past(axis, first, high, false);
    }
}

/* Part of all samples of a bin: 1 when all are inside. */
REAL share_of(Axis axis, UINT first, UINT last)
{
    if (axis.pool)
        return last > first ? REAL(1) : REAL(0);
    return REAL(last - first) / REAL(axis.per);
}

Tap tap_of(Axis axis, UINT s)
{
    Tap tap = Tap(int(s), int(s), REAL(0), REAL(0), false);
    if (axis.pool)
        return tap;
    REAL at = sample_position(axis, s), last = REAL(axis.size) - REAL(1);
    REAL inside = clamp(at, REAL(0), last);
    tap.part = sample_number(axis, s) / axis.span;
    if (params.linear == 0u) {
        tap.i0 = tap.i1 = int(clamp(floor_of(at + REAL(0.5)), REAL(0), last));
        return tap;
    }
    tap.i0 = int(inside);
    tap.i1 = tap.i0 + (tap.i0 < int(axis.size) - 1 ? 1 : 0);
    tap.w = inside - REAL(tap.i0);
    tap.moves = at == inside && tap.i1 > tap.i0;
    return tap;
}

/* The image's value at a sample; `plane`: of its channel. */
REAL value_at(uint image, int plane, Tap tx, Tap ty)
{
    REAL sum = REAL(0);
    for (uint corner = 0u; corner < 4u; corner++) {
        bool right = (corner & 1u) != 0u, below = corner > 1u;
        REAL weight = (right ? tx.w : REAL(1) - tx.w) * (below ? ty.w : REAL(1) - ty.w);
        if (weight != REAL(0))
            sum += weight * load_real(image, plane + (below ? ty.i1 : ty.i0) * view(image).strides[2] +
                                                 (right ? tx.i1 : tx.i0) * view(image).strides[3]);
    }
    return sum;
}
