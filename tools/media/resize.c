/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/media/image.h"

#include <math.h>
#include <stdlib.h>

#define RESIZE_SUPPORT 2.0 /* of the cubic, in source pixels when enlarging */
#define RESIZE_BITS    22  /* of the fixed-point weights: 8 bits of pixel and 2 for overshoot make 32 */

/* The weights of one axis: output i is the sum over taps[i] pixels from first[i] on. */
struct resize_axis {
    uint32_t size, stride;
    uint32_t *first, *taps;
    int32_t *weights; /* [size][stride] */
};

static double resize_cubic(double x)
{
    const double a = -0.5;
    x = fabs(x);
    if (x < 1.0)
        return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
    if (x < 2.0)
        return (((x - 5.0) * x + 8.0) * x - 4.0) * a;
    return 0.0;
}

static void resize_axis_finish(struct resize_axis *axis)
{
    free(axis->first);
    free(axis->taps);
    free(axis->weights);
}

static void resize_axis_point(struct resize_axis *axis, uint32_t i, uint32_t from, double scale, double *row)
{
    double stretch = fmax(scale, 1.0), support = RESIZE_SUPPORT * stretch;
    double center = (i + 0.5) * scale, sum = 0.0;
    int64_t low = (int64_t)(center - support + 0.5), high = (int64_t)(center + support + 0.5);
    low = BASE_MAX(low, 0);
    high = BASE_MIN(high, (int64_t)from);
    axis->first[i] = (uint32_t)low;
    axis->taps[i] = (uint32_t)(high - low);
    for (uint32_t t = 0; t < axis->taps[i]; t++) {
        row[t] = resize_cubic(((double)low + t - center + 0.5) * (1.0 / stretch));
        sum += row[t];
    }
    for (uint32_t t = 0; t < axis->taps[i]; t++)
        axis->weights[(size_t)i * axis->stride + t] = (int32_t)lround(row[t] / sum * (1 << RESIZE_BITS));
}

static bool resize_axis_init(struct resize_axis *axis, uint32_t from, uint32_t to)
{
    double scale = (double)from / to;
    *axis = (struct resize_axis){ .size = to };
    axis->stride = (uint32_t)ceil(RESIZE_SUPPORT * fmax(scale, 1.0)) * 2 + 1;
    axis->first = calloc(to, sizeof(*axis->first));
    axis->taps = calloc(to, sizeof(*axis->taps));
    axis->weights = calloc((size_t)to * axis->stride, sizeof(*axis->weights));
    double *row = calloc(axis->stride, sizeof(*row));
    bool ok = axis->first && axis->taps && axis->weights && row;
    for (uint32_t i = 0; ok && i < to; i++)
        resize_axis_point(axis, i, from, scale, row);
    free(row);
    if (!ok)
        resize_axis_finish(axis);
    return ok;
}

static uint8_t resize_clamp(int32_t sum)
{
    sum >>= RESIZE_BITS;
    return (uint8_t)(sum < 0 ? 0 : sum > 255 ? 255 : sum);
}

/* One output pixel: neighbours along the axis are `step` bytes apart. */
static void resize_pixel(const struct resize_axis *axis, uint32_t i, const uint8_t *from, size_t step, uint8_t *to)
{
    const int32_t *weights = axis->weights + (size_t)i * axis->stride;
    const uint8_t *at = from + axis->first[i] * step;
    int32_t r = 1 << (RESIZE_BITS - 1), g = r, b = r;
    for (uint32_t t = 0; t < axis->taps[i]; t++, at += step) {
        r += at[0] * weights[t];
        g += at[1] * weights[t];
        b += at[2] * weights[t];
    }
    to[0] = resize_clamp(r);
    to[1] = resize_clamp(g);
    to[2] = resize_clamp(b);
}

static void resize_rows(const struct resize_axis *axis, const struct tools_image *from, struct tools_image *to)
{
    for (uint32_t y = 0; y < to->height; y++) {
        const uint8_t *source = from->pixels + (size_t)y * from->width * 3;
        uint8_t *target = to->pixels + (size_t)y * to->width * 3;
        for (uint32_t x = 0; x < to->width; x++)
            resize_pixel(axis, x, source, 3, target + x * 3);
    }
}

static void resize_columns(const struct resize_axis *axis, const struct tools_image *from, struct tools_image *to)
{
    size_t step = (size_t)from->width * 3;
    for (uint32_t y = 0; y < to->height; y++)
        for (uint32_t x = 0; x < to->width; x++)
            resize_pixel(axis, y, from->pixels + x * 3, step, to->pixels + y * step + x * 3);
}

bool tools_image_resize(const struct tools_image *from, uint32_t width, uint32_t height, struct tools_image *out,
                        struct tools_error *error)
{
    struct resize_axis across, down;
    struct tools_image middle = { 0 };
    if (!tools_image_init(out, width, height, error))
        return false;
    if (!resize_axis_init(&across, from->width, width)) {
        tools_image_finish(out);
        return tools_fail_memory(error);
    }
    bool ok = resize_axis_init(&down, from->height, height);
    if (!ok)
        tools_fail_memory(error);
    if (ok && tools_image_init(&middle, width, from->height, error)) {
        resize_rows(&across, from, &middle);
        resize_columns(&down, &middle, out);
    } else {
        tools_image_finish(out);
    }
    if (ok)
        resize_axis_finish(&down);
    ok = out->pixels != NULL;
    tools_image_finish(&middle);
    resize_axis_finish(&across);
    return ok;
}
