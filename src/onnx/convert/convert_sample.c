/* SPDX-License-Identifier: Apache-2.0 */
/* Sampling between pixels: GridSample, DeformConv, AffineGrid. ANYDML_OPERATOR_GRID_SAMPLE computes most samples. For
 * the others, a sample is a weighted sum of taps, each of which GATHER_ELEMENTS reads from the pixels [batch, channels,
 * pixels] of an image at indices [batch, 1, samples]. */
#include "onnx/convert/converters.h"

enum padding { PAD_ZEROS, PAD_BORDER, PAD_REFLECTION };
enum mode { MODE_LINEAR, MODE_NEAREST, MODE_CUBIC };

#define AXES_MAX 3
#define TAPS_MAX 4

/* One spatial axis: the position that each tap reads, and its weight. */
struct taps {
    struct onnx_value *index[TAPS_MAX]; /* INT32 */
    struct onnx_value *weight[TAPS_MAX];
    uint32_t count;
};

struct sampler {
    enum padding padding;
    enum mode mode;
    bool align;
    int32_t type; /* of the arithmetic */
};

static struct onnx_value *add(struct onnx_builder *b, struct onnx_value *x, double z)
{
    return x ? onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_ADD, x, onnx_scalar(b, x->type, z)) : NULL;
}

static struct onnx_value *mul(struct onnx_builder *b, struct onnx_value *x, double z)
{
    return x ? onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_MULTIPLY, x, onnx_scalar(b, x->type, z)) : NULL;
}

static struct onnx_value *clamp(struct onnx_builder *b, struct onnx_value *x, double low, double high)
{
    struct onnx_value *y = x ? onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_MAX, x, onnx_scalar(b, x->type, low)) : NULL;
    return y ? onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_MIN, y, onnx_scalar(b, x->type, high)) : NULL;
}

/* Mirrored at low and high as often as needed: a triangle wave of the distance from low. */
static struct onnx_value *reflect(struct onnx_builder *b, struct onnx_value *x, double low, double high)
{
    double range = high - low;
    if (!x || range <= 0)
        return mul(b, x, 0);
    struct onnx_value *u = onnx_apply(b, DML_OPERATOR_ELEMENT_WISE_ABS, add(b, x, -low));
    struct onnx_value *period = onnx_scalar(b, x->type, 2 * range);
    u = onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_MODULUS_TRUNCATE, u, period);
    return add(b, onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_MIN, u, add(b, mul(b, u, -1), 2 * range)), low);
}

static struct onnx_value *pad(struct onnx_builder *b, const struct sampler *s, struct onnx_value *x, int64_t size)
{
    double edge = s->align ? 0 : 0.5;
    if (s->padding == PAD_BORDER)
        return clamp(b, x, 0, (double)(size - 1));
    if (s->padding == PAD_REFLECTION)
        return reflect(b, x, -edge, (double)(size - 1) + edge);
    return x;
}

/* With zero padding, the image is one pixel larger on each side, and samples further out read there. */
static struct onnx_value *tap_index(struct onnx_builder *b, const struct sampler *s, struct onnx_value *x, int64_t size)
{
    if (s->padding == PAD_ZEROS)
        return onnx_convert(b, add(b, clamp(b, x, -1, (double)size), 1), ONNX_INT32);
    return onnx_convert(b, clamp(b, pad(b, s, x, size), 0, (double)(size - 1)), ONNX_INT32);
}

/* Keys' kernel with -0.75 at the distance |t|: t <= 1 for the inner taps, between 1 and 2 for the outer ones. */
static struct onnx_value *cubic_weight(struct onnx_builder *b, struct onnx_value *t, bool inner)
{
    const double a = -0.75;
    double c[4] = { inner ? 1 : -4 * a, inner ? 0 : 8 * a, inner ? -(a + 3) : -5 * a, inner ? a + 2 : a };
    struct onnx_value *y = add(b, mul(b, t, c[3]), c[2]);
    y = add(b, onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_MULTIPLY, y, t), c[1]);
    return add(b, onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_MULTIPLY, y, t), c[0]);
}

/* x: positions in pixels */
static bool find_taps(struct onnx_builder *b, const struct sampler *s, struct onnx_value *x, int64_t size,
                      struct taps *out)
{
    if (s->mode == MODE_NEAREST) {
        out->count = 1;
        out->index[0] = tap_index(b, s, pad(b, s, onnx_round_even(b, x), size), size);
        return out->index[0] != NULL;
    }
    if (s->mode != MODE_CUBIC || s->padding != PAD_BORDER) /* there only the taps are clamped */
        x = pad(b, s, x, size);
    struct onnx_value *base = onnx_apply(b, DML_OPERATOR_ELEMENT_WISE_FLOOR, x);
    struct onnx_value *t = onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_SUBTRACT, x, base);
    out->count = s->mode == MODE_CUBIC ? 4 : 2;
    for (uint32_t i = 0; i < out->count; i++) {
        int offset = (int)i - (s->mode == MODE_CUBIC);
        struct onnx_value *distance = offset > 0 ? add(b, mul(b, t, -1), offset) : add(b, t, -offset);
        out->index[i] = tap_index(b, s, add(b, base, offset), size);
        out->weight[i] =
            s->mode == MODE_CUBIC ? cubic_weight(b, distance, i == 1 || i == 2) : add(b, mul(b, distance, -1), 1);
        if (!out->index[i] || !out->weight[i])
            return false;
    }
    return true;
}

static struct onnx_value *product(struct onnx_builder *b, struct onnx_value *x, struct onnx_value *z)
{
    return x && z ? onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_MULTIPLY, x, z) : x ? x : z;
}

/* Sums up all taps: pixels [batch, channels, pixels]; the taps' indices and weights are [batch, 1, samples]. */
static struct onnx_value *sum_taps(struct onnx_builder *b, struct onnx_value *pixels, const struct taps *taps,
                                   const int64_t *sizes, uint32_t axes)
{
    uint32_t at[AXES_MAX] = { 0 }, i;
    struct onnx_value *sum = NULL;
    do {
        struct onnx_value *index = NULL, *weight = NULL;
        for (i = 0; i < axes; i++) {
            struct onnx_value *own = taps[i].index[at[i]];
            index = index ? onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_ADD, mul(b, index, (double)sizes[i]), own) : own;
            weight = product(b, weight, taps[i].weight[at[i]]);
        }
        struct onnx_value *value = product(b, onnx_pick(b, pixels, index, 2), weight);
        sum = sum ? onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_ADD, sum, value) : value;
        for (i = axes; i-- > 0 && ++at[i] == taps[i].count;)
            at[i] = 0;
    } while (sum && i < axes); /* wraps below 0 at the end */
    return sum;
}

/* x: [batch, channels, spatial...]; positions: per axis [batch, 1, samples], in pixels. */
static struct onnx_value *sample(struct onnx_builder *b, const struct sampler *s, struct onnx_value *x,
                                 struct onnx_value *const *positions)
{
    int64_t start[ONNX_RANK_MAX] = { 0 }, dims[ONNX_RANK_MAX], pixels = 1;
    uint32_t axes = x->rank - 2;
    struct taps taps[AXES_MAX] = { 0 };
    memcpy(dims, x->dims, sizeof(dims));
    for (uint32_t i = 0; i < axes; i++) {
        if (!find_taps(b, s, positions[i], x->dims[2 + i], &taps[i]))
            return NULL;
        start[2 + i] = s->padding == PAD_ZEROS;
        dims[2 + i] += s->padding == PAD_ZEROS ? 2 : 0;
        pixels *= dims[2 + i];
    }
    if (pixels > INT32_MAX)
        return onnx_fail(b, "too many pixels (%lld)", (long long)pixels), NULL;
    x = onnx_surround(b, x, start, dims, onnx_scalar(b, x->type, 0));
    x = onnx_as(b, x, 3, (int64_t[]){ dims[0], dims[1], pixels });
    return sum_taps(b, x, taps, dims + 2, axes);
}

/* ---- GridSample ---- */

static bool is_real(int32_t type)
{
    return type == ONNX_FLOAT || type == ONNX_FLOAT16 || type == ONNX_BFLOAT16 || type == ONNX_DOUBLE;
}

/* What the operator computes: not cubics, no integers; and of reflected positions ONNX rounds those of nearest pixels
 * before it reflects them. */
static bool has_operator(const struct sampler *s, int32_t type)
{
    return is_real(type) && s->mode != MODE_CUBIC && (s->mode == MODE_LINEAR || s->padding != PAD_REFLECTION);
}

static ANYDML_GRID_SAMPLE_OPERATOR_DESC operator_of(const struct sampler *s)
{
    static const DML_PADDING_MODE paddings[] = { [PAD_ZEROS] = DML_PADDING_MODE_CONSTANT,
                                                 [PAD_BORDER] = DML_PADDING_MODE_EDGE,
                                                 [PAD_REFLECTION] = DML_PADDING_MODE_SYMMETRIC };
    return (ANYDML_GRID_SAMPLE_OPERATOR_DESC){
        .InterpolationMode =
            s->mode == MODE_LINEAR ? DML_INTERPOLATION_MODE_LINEAR : DML_INTERPOLATION_MODE_NEAREST_NEIGHBOR,
        .PaddingMode = s->padding == PAD_REFLECTION && s->align ? DML_PADDING_MODE_REFLECTION : paddings[s->padding],
        .AlignCorners = s->align,
    };
}

static bool grid_sample_operator(struct onnx_builder *b, const struct onnx_node *n, const struct sampler *s,
                                 struct onnx_value *x, struct onnx_value *grid, const int64_t *dims)
{
    ANYDML_GRID_SAMPLE_OPERATOR_DESC desc = operator_of(s);
    struct onnx_value *in[2] = { x, grid }, *y = onnx_temp(b, x->type, x->rank, dims);
    struct onnx_desc d[3];
    if (!y)
        return false;
    desc.InputTensor = onnx_desc(b, &d[0], x);
    desc.GridTensor = onnx_desc(b, &d[1], grid);
    desc.OutputTensor = onnx_desc(b, &d[2], y);
    return onnx_emit(b, ANYDML_OPERATOR_GRID_SAMPLE, &desc, in, 2, &y, 1) && onnx_result(b, n, 0, y);
}

static bool sampler_read(struct onnx_builder *b, const struct onnx_node *n, struct sampler *s)
{
    const char *mode = onnx_attr_string(n, "mode", "linear"), *padding = onnx_attr_string(n, "padding_mode", "zeros");
    s->align = onnx_attr_int(n, "align_corners", 0) != 0;
    if (!strcmp(mode, "linear") || !strcmp(mode, "bilinear"))
        s->mode = MODE_LINEAR;
    else if (!strcmp(mode, "nearest"))
        s->mode = MODE_NEAREST;
    else if (!strcmp(mode, "cubic") || !strcmp(mode, "bicubic"))
        s->mode = MODE_CUBIC;
    else
        return onnx_fail(b, "mode '%s' is not supported", mode);
    if (!strcmp(padding, "zeros"))
        s->padding = PAD_ZEROS;
    else if (!strcmp(padding, "border"))
        s->padding = PAD_BORDER;
    else if (!strcmp(padding, "reflection"))
        s->padding = PAD_REFLECTION;
    else
        return onnx_fail(b, "padding_mode '%s' is not supported", padding);
    return true;
}

/* Coordinate `from` of the grid, -1 .. 1, in pixels. */
static struct onnx_value *grid_position(struct onnx_builder *b, const struct sampler *s, struct onnx_value *grid,
                                        uint32_t from, int64_t size)
{
    int64_t start[3] = { 0, 0, from }, dims[3] = { grid->dims[0], grid->dims[1], 1 };
    int64_t shape[3] = { dims[0], 1, dims[1] };
    struct onnx_value *x = onnx_as(b, onnx_window(b, grid, start, dims), 3, shape);
    if (s->align)
        return mul(b, add(b, x, 1), (double)(size - 1) / 2);
    return mul(b, add(b, mul(b, add(b, x, 1), (double)size), -1), 0.5);
}

bool onnx_grid_sample(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0), *grid = onnx_in(b, n, 1), *positions[AXES_MAX];
    struct sampler s = { .type = ONNX_FLOAT };
    int64_t dims[ONNX_RANK_MAX], flat[3] = { 1, 1, 1 };
    if (!x || !grid || !sampler_read(b, n, &s))
        return false;
    uint32_t axes = x->rank - 2;
    if (x->rank < 4 || x->rank > 5 || grid->rank != x->rank || (s.mode == MODE_CUBIC && axes != 2))
        return onnx_fail(b, "an input of rank %u with a grid of rank %u, or this mode, is not supported", x->rank,
                         grid->rank);
    if (grid->dims[x->rank - 1] != axes || grid->dims[0] != x->dims[0])
        return onnx_misfit(b, "'%s' does not have %u coordinates for each of %lld images", grid->name, axes,
                           (long long)x->dims[0]);
    memcpy(dims, x->dims, 2 * sizeof(*dims));
    for (uint32_t i = 0; i < axes; i++) {
        dims[2 + i] = grid->dims[1 + i];
        flat[1] *= grid->dims[1 + i];
        if (!x->dims[2 + i])
            return onnx_misfit(b, "the input has no pixels");
    }
    if (has_operator(&s, x->type) && is_real(grid->type) && onnx_elements(grid) && x->dims[0] && x->dims[1])
        return grid_sample_operator(b, n, &s, x, grid, dims);
    flat[0] = x->dims[0];
    flat[2] = axes;
    int32_t type = x->type;
    if (grid->type == ONNX_DOUBLE || (type == ONNX_DOUBLE && s.mode != MODE_NEAREST))
        s.type = ONNX_DOUBLE;
    grid = onnx_as(b, onnx_convert(b, grid, s.type), 3, flat);
    x = s.mode == MODE_NEAREST ? x : onnx_convert(b, x, s.type);
    for (uint32_t i = 0; grid && x && i < axes; i++)
        positions[i] = grid_position(b, &s, grid, axes - 1 - i, x->dims[2 + i]);
    struct onnx_value *y = grid && x ? sample(b, &s, x, positions) : NULL;
    return onnx_result_as(b, n, 0, onnx_convert(b, y, type), x ? x->rank : 0, dims);
}

/* ---- AffineGrid ---- */

/* The positions of pixel centres in -1 .. 1, [.., x], [.., x, y] or [.., x, y, z] followed by a one each. */
static struct onnx_value *base_grid(struct onnx_builder *b, int32_t type, const int64_t *sizes, uint32_t axes,
                                    bool align)
{
    int64_t count = 1, dims[3] = { 1, 1, axes + 1 };
    for (uint32_t i = 0; i < axes; i++)
        count *= sizes[i];
    double *values = onnx_reals(b, count * (axes + 1));
    dims[1] = count;
    for (int64_t p = 0; values && p < count; p++) {
        int64_t rest = p;
        for (uint32_t i = 0; i < axes; i++) { /* the innermost axis is first */
            int64_t size = sizes[axes - 1 - i], at = rest % size;
            double step = align ? (size > 1 ? 2.0 / (double)(size - 1) : 0) : 2.0 / (double)size;
            values[p * (axes + 1) + i] = -1 + (align ? 0 : step / 2) + (double)at * step;
            rest /= size;
        }
        values[p * (axes + 1) + axes] = 1;
    }
    return onnx_constant_reals(b, type, 3, dims, values);
}

bool onnx_affine_grid(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *theta = onnx_in(b, n, 0), *input = onnx_in(b, n, 1);
    int64_t size[5], dims[5];
    int64_t pixels = 1;
    uint32_t count;
    if (!theta || !input || !onnx_const_ints(b, input, size, 5, &count))
        return false;
    uint32_t axes = count - 2;
    if (count < 4 || theta->rank != 3 || theta->dims[0] != size[0] || theta->dims[1] != axes ||
        theta->dims[2] != axes + 1)
        return onnx_misfit(b, "theta does not fit %u sizes", count);
    dims[0] = size[0];
    for (uint32_t i = 0; i < axes; i++) {
        dims[1 + i] = size[2 + i];
        if (size[2 + i] < 1 || size[2 + i] > 1 << 24 || (pixels *= size[2 + i]) > 1 << 24)
            return onnx_fail(b, "size[%u] = %lld", 2 + i, (long long)size[2 + i]);
    }
    dims[1 + axes] = axes;
    struct onnx_value *base = base_grid(b, theta->type, size + 2, axes, onnx_attr_int(n, "align_corners", 0) != 0);
    return onnx_result_as(b, n, 0, onnx_multiply(b, base, theta, true), axes + 2, dims);
}

/* ---- DeformConv ---- */

struct deform {
    int64_t batch, channels, out_channels, group, offset_group;
    int64_t in[2], kernel[2], out[2], stride[2], dilation[2], pad[4];
    int64_t window, area; /* elements of a kernel, of an output image */
};

static bool deform_read(struct onnx_builder *b, const struct onnx_node *n, const struct onnx_value *x,
                        const struct onnx_value *w, const struct onnx_value *offset, struct deform *d)
{
    d->stride[0] = d->stride[1] = d->dilation[0] = d->dilation[1] = 1;
    d->group = onnx_attr_int(n, "group", 1);
    d->offset_group = onnx_attr_int(n, "offset_group", 1);
    uint32_t strides, dilations, pads;
    if (!onnx_attr_ints(b, n, "strides", d->stride, 2, &strides) ||
        !onnx_attr_ints(b, n, "dilations", d->dilation, 2, &dilations) ||
        !onnx_attr_ints(b, n, "pads", d->pad, 4, &pads))
        return false;
    if (strides % 2 || dilations % 2 || pads % 4)
        return onnx_fail(b, "%u strides, %u dilations and %u pads are not those of two dimensions", strides, dilations,
                         pads);
    if (x->rank != 4 || w->rank != 4 || offset->rank != 4 || d->group < 1 || d->offset_group < 1 ||
        w->dims[1] * d->group != x->dims[1] || w->dims[0] % d->group || x->dims[1] % d->offset_group)
        return onnx_misfit(b, "the input, the weights and the groups do not fit");
    d->batch = x->dims[0];
    d->channels = x->dims[1];
    d->out_channels = w->dims[0];
    d->window = w->dims[2] * w->dims[3];
    for (uint32_t i = 0; i < 2; i++) {
        d->in[i] = x->dims[2 + i];
        d->kernel[i] = w->dims[2 + i];
        if (d->stride[i] < 1 || d->stride[i] > 1 << 30 || d->dilation[i] < 1 || d->dilation[i] > 1 << 30 ||
            d->pad[i] < 0 || d->pad[i] > 1 << 30 || d->pad[2 + i] < 0 || d->pad[2 + i] > 1 << 30)
            return onnx_fail(b, "strides, dilations or pads are out of range");
        int64_t reach = d->dilation[i] * (d->kernel[i] - 1) + 1, slack = d->in[i] + d->pad[i] + d->pad[2 + i] - reach;
        if (slack < 0)
            return onnx_misfit(b, "the window does not fit the input");
        d->out[i] = slack / d->stride[i] + 1;
        if (offset->dims[2 + i] != d->out[i])
            return onnx_misfit(b, "offsets are given for %lld positions instead of %lld",
                               (long long)offset->dims[2 + i], (long long)d->out[i]);
    }
    d->area = d->out[0] * d->out[1];
    return (offset->dims[0] == d->batch && offset->dims[1] == onnx_size_product(d->offset_group * 2, d->window)) ||
           onnx_misfit(b, "%lld offsets do not fit", (long long)offset->dims[1]);
}

/* The row and column of each kernel element in each window without offsets: [1, window, 2, area]. */
static struct onnx_value *window_positions(struct onnx_builder *b, const struct deform *d, int32_t type)
{
    double *values = onnx_reals(b, d->window * 2 * d->area);
    for (int64_t i = 0; values && i < d->window * 2 * d->area; i++) {
        const int64_t p = i % d->area, axis = i / d->area % 2, k = i / d->area / 2;
        const int64_t in_kernel = axis ? k % d->kernel[1] : k / d->kernel[1];
        const int64_t at = axis ? p % d->out[1] : p / d->out[1];
        values[i] = (double)(at * d->stride[axis] - d->pad[axis] + in_kernel * d->dilation[axis]);
    }
    return onnx_constant_reals(b, type, 4, (int64_t[]){ 1, d->window, 2, d->area }, values);
}

/* Offsets are rows before columns, so the operator sees images, too, with columns before rows. */
static struct onnx_value *deform_samples(struct onnx_builder *b, const struct deform *d, struct onnx_value *x,
                                         struct onnx_value *positions)
{
    const uint32_t groups = (uint32_t)(d->batch * d->offset_group),
                   channels = (uint32_t)(d->channels / d->offset_group);
    const uint32_t rows = (uint32_t)d->in[0], columns = (uint32_t)d->in[1], plane = rows * columns;
    const uint32_t area = (uint32_t)d->area, window = (uint32_t)d->window;
    const struct sampler s = { PAD_ZEROS, MODE_LINEAR, true, x->type };
    ANYDML_GRID_SAMPLE_OPERATOR_DESC desc = operator_of(&s);
    struct onnx_value *in[2] = { x, positions };
    struct onnx_value *y =
        onnx_temp(b, x->type, 4, (int64_t[]){ groups, d->channels / d->offset_group, d->window, d->area });
    struct onnx_desc t[3];
    if (!y)
        return NULL;
    desc.InputTensor = onnx_desc_strided(b, &t[0], x, 4, (int64_t[]){ groups, channels, columns, rows },
                                         (uint32_t[]){ channels * plane, plane, 1, columns });
    desc.GridTensor = onnx_desc_strided(b, &t[1], positions, 4, (int64_t[]){ groups, window, area, 2 },
                                        (uint32_t[]){ window * 2 * area, 2 * area, 1, area });
    desc.OutputTensor = onnx_desc(b, &t[2], y);
    desc.PixelCoordinates = true;
    return onnx_emit(b, ANYDML_OPERATOR_GRID_SAMPLE, &desc, in, 2, &y, 1) ? y : NULL;
}

static struct onnx_value *deform_columns(struct onnx_builder *b, const struct deform *d, struct onnx_value *x,
                                         struct onnx_value *offset, struct onnx_value *mask, int32_t type)
{
    const int64_t groups = d->batch * d->offset_group, pairs[4] = { groups, d->window, 2, d->area };
    const int64_t images[4] = { groups, d->channels / d->offset_group, d->in[0], d->in[1] };
    offset = onnx_as(b, onnx_convert(b, offset, type), 4, pairs);
    struct onnx_value *positions = onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_ADD, offset, window_positions(b, d, type));
    x = onnx_as(b, onnx_convert(b, x, type), 4, images);
    struct onnx_value *columns = x && positions ? deform_samples(b, d, x, positions) : NULL;
    if (mask)
        columns = onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_MULTIPLY, columns,
                              onnx_as(b, onnx_convert(b, mask, type), 4, (int64_t[]){ groups, 1, d->window, d->area }));
    return columns;
}

bool onnx_deform_conv(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0), *w = onnx_in(b, n, 1), *offset = onnx_in(b, n, 2);
    struct onnx_value *bias = onnx_in_optional(b, n, 3), *mask = onnx_in_optional(b, n, 4);
    struct deform d = { 0 };
    if (!x || !w || !offset || b->failed || !deform_read(b, n, x, w, offset, &d))
        return false;
    if ((mask && onnx_elements(mask) != d.batch * d.offset_group * d.window * d.area) ||
        (bias && onnx_elements(bias) != d.out_channels))
        return onnx_misfit(b, "the mask or the bias does not fit");
    int32_t type = x->type == ONNX_DOUBLE ? ONNX_DOUBLE : ONNX_FLOAT;
    int64_t inner = d.channels / d.group * d.window, rows = d.out_channels / d.group;
    struct onnx_value *columns = deform_columns(b, &d, x, offset, mask, type);
    columns = onnx_as(b, columns, 3, (int64_t[]){ d.batch * d.group, inner, d.area });
    w = onnx_as(b, onnx_convert(b, w, type), 3, (int64_t[]){ d.group, rows, inner });
    if (w && d.group > 1 && d.batch > 1) /* the same weights for each image */
        w = onnx_as(b,
                    onnx_view(b, w, 3, (int64_t[]){ d.batch, d.group, rows * inner },
                              (uint32_t[]){ 0, (uint32_t)(rows * inner), 1 }),
                    3, (int64_t[]){ d.batch * d.group, rows, inner });
    struct onnx_value *y = onnx_multiply(b, w, columns, false);
    y = onnx_as(b, y, 4, (int64_t[]){ d.batch, d.out_channels, d.out[0], d.out[1] });
    if (bias)
        y = onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_ADD, y,
                        onnx_as(b, onnx_convert(b, bias, type), 3, (int64_t[]){ d.out_channels, 1, 1 }));
    return onnx_result(b, n, 0, onnx_convert(b, y, x->type));
}
