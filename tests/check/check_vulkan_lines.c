/* SPDX-License-Identifier: Apache-2.0 */
/* Larger moves, reductions and products than the random cases, for rows that take several elements at once. */
#include "check_vulkan_map.h"

#include "check_window.h"

static const DML_TENSOR_DATA_TYPE types[] = { DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_DATA_TYPE_FLOAT16 };

bool check_list_transposes(uint32_t i, struct check_case *c)
{
    static const uint32_t sizes[][3] = { { 1, 64, 128 }, { 3, 70, 131 }, { 2, 9, 200 }, { 1, 129, 8 } };
    if (i >= 2 * ARRAY_SIZE(sizes))
        return false;
    /* X[b, i, j] to Y[b, j, i], which have room for more columns than they have. */
    const uint32_t *s = sizes[i / 2];
    const int64_t down = s[2] + s[0] - 1, across = s[1] + s[0] - 1;
    *c = (struct check_case){ .op = { .kind = KERN_MOVE, .input_count = 1, .output_count = 1 } };
    c->op.tensors[0] = (struct kern_view){ types[i % 2], 3, { s[0], s[2], s[1] }, { s[1] * down, 1, down }, 0 };
    c->op.tensors[1] = (struct kern_view){ types[i % 2], 3, { s[0], s[2], s[1] }, { s[2] * across, across, 1 }, 0 };
    return true;
}

/* Both factors transposed in memory, or none: vectors along k and along n, and lines that do not begin at multiples of
 * them. */
static bool product(uint32_t i, struct check_case *c)
{
    static const uint32_t sizes[][3] = { { 1, 200, 3000 }, { 3, 131, 2500 }, { 136, 2, 2304 }, { 1, 1000, 768 },
                                         { 2, 1500, 64 },  { 1, 3, 80000 },  { 1, 64, 20000 } };
    if (i >= 4 * ARRAY_SIZE(sizes))
        return false;
    const uint32_t m = sizes[i / 4][0], n = sizes[i / 4][1], k = sizes[i / 4][2];
    const DML_TENSOR_DATA_TYPE type = types[i % 2];
    const bool flipped = i / 2 % 2;
    *c = (struct check_case){ .op = { .kind = KERN_GEMM, .input_count = 2, .output_count = 1 } };
    c->op.u.gemm.alpha = 1;
    c->op.tensors[0] = (struct kern_view){ type, 2, { m, k }, { flipped ? 1 : k, flipped ? m : 1 }, 0 };
    c->op.tensors[1] = (struct kern_view){ type, 2, { k, n }, { flipped ? 1 : n, flipped ? k : 1 }, 0 };
    kern_view_set_packed(&c->op.tensors[2], type, 2, (uint32_t[]){ m, n });
    return true;
}

/* Convolutions of a few pixels of one or several images, between wide and narrow tensors. */
static bool pixels(uint32_t i, struct check_case *c)
{
    static const uint32_t sizes[][3] = { { 1, 96, 4 },    { 1, 4, 96 },   { 3, 10, 240 }, { 1, 480, 20 },
                                         { 1, 1152, 48 }, { 2, 48, 300 }, { 4, 33, 65 } }; /* images, channels */
    if (i >= 4 * ARRAY_SIZE(sizes))
        return false;
    const uint32_t *s = sizes[i / 4];
    const DML_TENSOR_DATA_TYPE type = types[i % 2];
    const uint32_t wide = i / 2 % 2 && s[0] == 1 ? 2 : 1; /* pixels of a line */
    *c = (struct check_case){ .op = { .kind = KERN_CONV, .input_count = 3, .output_count = 1 }, .norm_wise = true };
    c->op.u.conv = (struct kern_conv){ .spatial = 2, .groups = 1, .has_bias = true };
    for (uint32_t d = 0; d < 2; d++)
        c->op.u.conv.strides[d] = c->op.u.conv.dilations[d] = 1;
    kern_view_set_packed(&c->op.tensors[0], type, 4, (uint32_t[]){ s[0], s[1], 1, wide });
    kern_view_set_packed(&c->op.tensors[1], type, 4, (uint32_t[]){ s[2], s[1], 1, 1 });
    kern_view_set_packed(&c->op.tensors[2], type, 4, (uint32_t[]){ 1, s[2], 1, 1 });
    kern_view_set_packed(&c->op.tensors[3], type, 4, (uint32_t[]){ s[0], s[2], 1, wide });
    check_channels_last(&c->op.tensors[0]);
    check_channels_last(&c->op.tensors[3]);
    return true;
}

/* Images that grow by a whole factor, or not; pixels or channels side by side in X, in Y, or in both. */
static bool resampling(uint32_t i, struct check_case *c)
{
    static const struct {
        uint32_t channels, columns, to;
        bool x_last, y_last; /* channels are innermost */
        DML_INTERPOLATION_MODE mode;
    } shapes[] = {
        { 3, 20, 40, false, true, DML_INTERPOLATION_MODE_NEAREST_NEIGHBOR },
        { 2, 33, 66, false, false, DML_INTERPOLATION_MODE_NEAREST_NEIGHBOR },
        { 2, 16, 48, false, false, DML_INTERPOLATION_MODE_NEAREST_NEIGHBOR },
        { 11, 9, 18, true, true, DML_INTERPOLATION_MODE_NEAREST_NEIGHBOR },
        { 3, 15, 21, true, true, DML_INTERPOLATION_MODE_NEAREST_NEIGHBOR },
        { 2, 40, 80, false, false, DML_INTERPOLATION_MODE_LINEAR },
        { 1, 19, 76, false, false, DML_INTERPOLATION_MODE_LINEAR },
        { 1, 30, 47, false, false, DML_INTERPOLATION_MODE_LINEAR },
        { 1, 64, 32, false, false, DML_INTERPOLATION_MODE_LINEAR },
        { 13, 8, 16, true, true, DML_INTERPOLATION_MODE_LINEAR },
        { 3, 8, 24, false, true, DML_INTERPOLATION_MODE_LINEAR },
    };
    if (i >= 2 * ARRAY_SIZE(shapes))
        return false;
    const uint32_t n = shapes[i / 2].channels, rows = 7, x = shapes[i / 2].columns, y = shapes[i / 2].to;
    *c = (struct check_case){ .op = { .kind = KERN_RESAMPLE, .input_count = 1, .output_count = 1 } };
    c->op.u.resample.mode = shapes[i / 2].mode;
    c->op.u.resample.rounding = DML_AXIS_DIRECTION_DECREASING;
    for (uint32_t d = 0; d < 4; d++)
        c->op.u.resample.scales[d] = 1;
    c->op.u.resample.scales[2] = (float)(2 * rows) / (float)rows;
    c->op.u.resample.scales[3] = (float)y / (float)x;
    for (uint32_t d = 2; d < 4 && shapes[i / 2].mode == DML_INTERPOLATION_MODE_LINEAR; d++) {
        c->op.u.resample.input_offsets[d] = 0.5f;
        c->op.u.resample.output_offsets[d] = -0.5f;
    }
    for (uint32_t t = 0; t < 2; t++) {
        const uint32_t down = t ? 2 * rows : rows, across = t ? y : x, sizes[] = { 2, n, down, across };
        kern_view_set_packed(&c->op.tensors[t], types[i % 2], 4, sizes);
        if (t ? shapes[i / 2].y_last : shapes[i / 2].x_last) {
            c->op.tensors[t].strides[1] = 1;
            c->op.tensors[t].strides[2] = (int64_t)n * across;
            c->op.tensors[t].strides[3] = n;
        }
    }
    return true;
}

static void set_extreme(uint32_t i, uint32_t axes, struct check_case *c)
{
    static const DML_REDUCE_FUNCTION functions[] = { DML_REDUCE_FUNCTION_ARGMAX, DML_REDUCE_FUNCTION_MIN,
                                                     DML_REDUCE_FUNCTION_ARGMIN, DML_REDUCE_FUNCTION_MAX };
    c->op.u.reduce = (struct kern_reduce){ functions[i / 2 % 4], axes, i % 2, i / 8 % 2 };
    if (i / 2 % 2 == 0)
        c->op.tensors[1].type = DML_TENSOR_DATA_TYPE_UINT32;
    c->data[0] = i / 8 % 2 ? CHECK_DATA_SPECIAL : CHECK_DATA_NORMAL;
}

bool check_vulkan_lines(uint32_t i, enum kern_kind kind, struct check_case *c)
{
    static const struct {
        uint32_t sizes[3], axes;
    } shapes[] = {
        { { 2, 3, 5000 }, 4 },    { { 1, 5, 1027 }, 4 },  { { 1, 1, 70001 }, 4 }, { { 1, 4100, 130 }, 4 },
        { { 1, 2050, 1024 }, 4 }, { { 1, 3000, 70 }, 2 }, { { 2, 900, 36 }, 2 },  { { 1, 4000, 3 }, 2 },
        { { 2, 49, 1152 }, 2 },   { { 1, 3136, 96 }, 2 },
    };
    uint32_t reduced[3];
    if (kind == KERN_GEMM)
        return product(i, c);
    if (kind == KERN_CONV)
        return pixels(i, c);
    if (kind == KERN_RESAMPLE)
        return resampling(i, c);
    const uint32_t round = i / (2 * ARRAY_SIZE(shapes));
    i %= 2 * ARRAY_SIZE(shapes);
    if (round > (kind == KERN_REDUCE))
        return false;
    const uint32_t *sizes = shapes[i / 2].sizes, axes = shapes[i / 2].axes;
    *c = (struct check_case){ .op = { .kind = kind, .input_count = 1, .output_count = 1 } };
    /* A sum near 0 has no relative accuracy. */
    c->data[0] = kind == KERN_REDUCE ? CHECK_DATA_POSITIVE : CHECK_DATA_NORMAL;
    for (uint32_t d = 0; d < 3; d++)
        reduced[d] = axes >> d & 1 && kind == KERN_REDUCE ? 1 : sizes[d];
    kern_view_set_packed(&c->op.tensors[0], types[i % 2], 3, sizes);
    kern_view_set_packed(&c->op.tensors[1], types[i % 2], 3, reduced);
    if (kind == KERN_REDUCE && round)
        set_extreme(i, axes, c);
    else if (kind == KERN_REDUCE)
        c->op.u.reduce = (struct kern_reduce){ DML_REDUCE_FUNCTION_AVERAGE, axes, false, false };
    else if (kind == KERN_SOFTMAX)
        c->op.u.softmax = (struct kern_softmax){ KERN_SOFTMAX_PLAIN, axes };
    else
        c->op.u.norm = (struct kern_norm){ axes, 1e-5f, true, true, false, false };
    return true;
}
