/* SPDX-License-Identifier: Apache-2.0 */
/* The operators of the self-test, one or more for each family of kernels, with odd sizes and random data. */
#include "tools/doctor/doctor.h"

#include <math.h>

static bool make_add(struct tools_doctor_case *c)
{
    const uint32_t sizes[] = { 2, 3, 5, 67 };
    struct tools_doctor_tensor *a = tools_doctor_input(c, "ATensor", c->type, sizes);
    struct tools_doctor_tensor *b = tools_doctor_input(c, "BTensor", c->type, sizes);
    struct tools_doctor_tensor *y = tools_doctor_output(c, "OutputTensor", c->type, sizes);
    if (!a || !b || !y)
        return false;
    tools_doctor_fill(c, a);
    tools_doctor_fill(c, b);
    /* One number per channel. */
    b->strided = true;
    b->strides[1] = 1;
    for (uint32_t i = 0; i < b->count; i++)
        b->values[i] = b->values[i / (5 * 67) % 3 * 5 * 67];
    for (uint32_t i = 0; i < y->count; i++) {
        const double sum = a->values[i] + b->values[i];
        tools_doctor_expect(y, i, sum, 1, fabs(sum));
    }
    c->operator= "DML_OPERATOR_ELEMENT_WISE_ADD";
    c->desc = json_object();
    return true;
}

static bool make_sigmoid(struct tools_doctor_case *c)
{
    const uint32_t sizes[] = { 1, 3, 7, 111 };
    struct tools_doctor_tensor *x = tools_doctor_input(c, "InputTensor", c->type, sizes);
    struct tools_doctor_tensor *y = tools_doctor_output(c, "OutputTensor", c->type, sizes);
    if (!x || !y)
        return false;
    tools_doctor_fill(c, x);
    for (uint32_t i = 0; i < y->count; i++) {
        /* Vulkan allows e^x an error of 3 + 2 |x| units in the last place, the division 2.5. */
        x->values[i] *= 8;
        tools_doctor_expect(y, i, 1 / (1 + exp(-x->values[i])), 16 + 4 * fabs(x->values[i]), 1);
    }
    c->operator= "DML_OPERATOR_ACTIVATION_SIGMOID";
    c->desc = json_object();
    return true;
}

/* 3 x 3, every second pixel. */
static bool make_max_pooling(struct tools_doctor_case *c)
{
    enum { HEIGHT = 13, WIDTH = 17 };
    struct tools_doctor_tensor *x =
        tools_doctor_input(c, "InputTensor", c->type, (const uint32_t[]){ 2, 5, HEIGHT, WIDTH });
    struct tools_doctor_tensor *y = tools_doctor_output(c, "OutputTensor", c->type, (const uint32_t[]){ 2, 5, 7, 9 });
    if (!x || !y)
        return false;
    tools_doctor_fill(c, x);
    for (uint32_t i = 0; i < y->count; i++) {
        double most = -INFINITY;
        for (uint32_t w = 0; w < 9; w++) {
            const uint32_t row = i / 9 % 7 * 2 + w / 3 - 1, column = i % 9 * 2 + w % 3 - 1; /* wraps before the first */
            if (row < HEIGHT && column < WIDTH)
                most = fmax(most, x->values[(i / 63 * HEIGHT + row) * WIDTH + column]);
        }
        y->values[i] = most;
    }
    c->operator= "DML_OPERATOR_MAX_POOLING";
    c->desc = json_pack("{s:[i,i], s:[i,i], s:[i,i], s:[i,i]}", "Strides", 2, 2, "WindowSize", 3, 3, "StartPadding", 1,
                        1, "EndPadding", 1, 1);
    return true;
}

static bool make_reduce(struct tools_doctor_case *c)
{
    enum { ROWS = 2 * 3, LENGTH = 7 * 123 };
    struct tools_doctor_tensor *x = tools_doctor_input(c, "InputTensor", c->type, (const uint32_t[]){ 2, 3, 7, 123 });
    struct tools_doctor_tensor *y = tools_doctor_output(c, "OutputTensor", c->type, (const uint32_t[]){ 2, 3, 1, 1 });
    if (!x || !y)
        return false;
    tools_doctor_fill(c, x);
    for (uint32_t row = 0; row < ROWS; row++) {
        double sum = 0, magnitude = 0;
        for (uint32_t i = 0; i < LENGTH; i++) {
            sum += x->values[row * LENGTH + i];
            magnitude += fabs(x->values[row * LENGTH + i]);
        }
        tools_doctor_expect(y, row, sum, LENGTH, magnitude);
    }
    c->operator= "DML_OPERATOR_REDUCE";
    c->desc = json_pack("{s:s, s:[i,i]}", "Function", "SUM", "Axes", 2, 3);
    return true;
}

static bool make_softmax(struct tools_doctor_case *c)
{
    enum { ROWS = 2 * 3 * 5, LENGTH = 77 };
    const uint32_t sizes[] = { 2, 3, 5, LENGTH };
    struct tools_doctor_tensor *x = tools_doctor_input(c, "InputTensor", c->type, sizes);
    struct tools_doctor_tensor *y = tools_doctor_output(c, "OutputTensor", c->type, sizes);
    if (!x || !y)
        return false;
    tools_doctor_fill(c, x);
    for (uint32_t row = 0; row < ROWS; row++) {
        double *in = &x->values[row * LENGTH], sum = 0;
        for (uint32_t i = 0; i < LENGTH; i++)
            sum += exp(in[i] *= 4);
        for (uint32_t i = 0; i < LENGTH; i++) {
            /* e^x twice, of arguments up to 8, each with 3 + 2 |x| units, the sum, and the division. */
            const double value = exp(in[i]) / sum;
            tools_doctor_expect(y, row * LENGTH + i, value, 4 * (3 + 2 * 8) + LENGTH + 8, value);
        }
    }
    c->operator= "DML_OPERATOR_ACTIVATION_SOFTMAX1";
    c->desc = json_pack("{s:[i]}", "Axes", 3);
    return true;
}

/* One group that is normalised, of `length` elements. */
static void normalize(const double *x, uint32_t length, double scale, double bias, struct tools_doctor_tensor *y,
                      uint32_t first)
{
    double mean = 0, variance = 0, magnitude = 0;
    for (uint32_t i = 0; i < length; i++) {
        mean += x[i] / length;
        magnitude += fabs(x[i]) / length;
    }
    for (uint32_t i = 0; i < length; i++)
        variance += (x[i] - mean) * (x[i] - mean) / length;
    const double deviation = sqrt(variance + 0x1p-17);
    for (uint32_t i = 0; i < length; i++) {
        const double normal = (x[i] - mean) / deviation;
        /* The error of the mean, that of the deviation, which is in proportion, and those of the last steps. */
        tools_doctor_expect(
            y, first + i, scale * normal + bias, length + 16,
            fabs(scale) * ((magnitude + fabs(x[i])) / deviation + fabs(normal) * (1 + mean * mean / variance)) +
                fabs(bias));
    }
}

static bool make_normalization(struct tools_doctor_case *c)
{
    enum { CHANNELS = 3, HEIGHT = 9, WIDTH = 13, LENGTH = HEIGHT * WIDTH };
    const uint32_t sizes[] = { 2, CHANNELS, HEIGHT, WIDTH }, channels[] = { 1, CHANNELS, 1, 1 };
    struct tools_doctor_tensor *x = tools_doctor_input(c, "InputTensor", c->type, sizes);
    struct tools_doctor_tensor *scale = tools_doctor_input(c, "ScaleTensor", c->type, channels);
    struct tools_doctor_tensor *bias = tools_doctor_input(c, "BiasTensor", c->type, channels);
    struct tools_doctor_tensor *y = tools_doctor_output(c, "OutputTensor", c->type, sizes);
    if (!x || !scale || !bias || !y)
        return false;
    tools_doctor_fill(c, x);
    tools_doctor_fill(c, scale);
    tools_doctor_fill(c, bias);
    for (uint32_t i = 0; i < 2 * CHANNELS; i++)
        normalize(&x->values[i * LENGTH], LENGTH, scale->values[i % CHANNELS], bias->values[i % CHANNELS], y,
                  i * LENGTH);
    c->operator= "DML_OPERATOR_MEAN_VARIANCE_NORMALIZATION1";
    c->desc = json_pack("{s:[i,i], s:b, s:f}", "Axes", 2, 3, "NormalizeVariance", 1, "Epsilon", 0x1p-17);
    return true;
}

static bool make_gather(struct tools_doctor_case *c)
{
    enum { ROWS = 11, WIDTH = 13, INDICES = 6 };
    struct tools_doctor_tensor *x =
        tools_doctor_input(c, "InputTensor", c->type, (const uint32_t[]){ 1, 1, ROWS, WIDTH });
    struct tools_doctor_tensor *indices =
        tools_doctor_input(c, "IndicesTensor", "UINT32", (const uint32_t[]){ 1, 1, 1, INDICES });
    struct tools_doctor_tensor *y =
        tools_doctor_output(c, "OutputTensor", c->type, (const uint32_t[]){ 1, 1, INDICES, WIDTH });
    if (!x || !indices || !y)
        return false;
    tools_doctor_fill(c, x);
    tools_doctor_fill_whole(c, indices, 0, ROWS - 1);
    for (uint32_t i = 0; i < y->count; i++)
        y->values[i] = x->values[(uint32_t)indices->values[i / WIDTH] * WIDTH + i % WIDTH];
    c->operator= "DML_OPERATOR_GATHER";
    c->desc = json_pack("{s:i, s:i}", "Axis", 2, "IndexDimensions", 1);
    return true;
}

/* Where the greatest is that has not been taken. */
static uint32_t take_greatest(const double *x, uint32_t length, bool *taken)
{
    uint32_t best = length;
    for (uint32_t i = 0; i < length; i++)
        if (!taken[i] && (best == length || x[i] > x[best]))
            best = i;
    taken[best] = true;
    return best;
}

static bool make_top_k(struct tools_doctor_case *c)
{
    enum { ROWS = 5, LENGTH = 133, K = 7 };
    const uint32_t kept[] = { 1, 1, ROWS, K };
    struct tools_doctor_tensor *x =
        tools_doctor_input(c, "InputTensor", c->type, (const uint32_t[]){ 1, 1, ROWS, LENGTH });
    struct tools_doctor_tensor *values = tools_doctor_output(c, "OutputValueTensor", c->type, kept);
    struct tools_doctor_tensor *indices = tools_doctor_output(c, "OutputIndexTensor", "UINT32", kept);
    if (!x || !values || !indices)
        return false;
    tools_doctor_fill(c, x);
    for (uint32_t row = 0; row < ROWS; row++) {
        bool taken[LENGTH] = { false };
        for (uint32_t i = 0; i < K; i++) {
            const uint32_t at = take_greatest(&x->values[row * LENGTH], LENGTH, taken);
            values->values[row * K + i] = x->values[row * LENGTH + at];
            indices->values[row * K + i] = at;
        }
    }
    c->operator= "DML_OPERATOR_TOP_K1";
    c->desc = json_pack("{s:i, s:i, s:s}", "Axis", 3, "K", K, "AxisDirection", "DECREASING");
    return true;
}

static bool make_cumulative_sum(struct tools_doctor_case *c)
{
    enum { LENGTH = 301 };
    const uint32_t sizes[] = { 1, 1, 3, LENGTH };
    struct tools_doctor_tensor *x = tools_doctor_input(c, "InputTensor", c->type, sizes);
    struct tools_doctor_tensor *y = tools_doctor_output(c, "OutputTensor", c->type, sizes);
    if (!x || !y)
        return false;
    tools_doctor_fill(c, x);
    double sum = 0, magnitude = 0;
    for (uint32_t i = 0; i < y->count; i++) {
        if (i % LENGTH == 0)
            sum = magnitude = 0;
        sum += x->values[i];
        magnitude += fabs(x->values[i]);
        tools_doctor_expect(y, i, sum, LENGTH, magnitude);
    }
    c->operator= "DML_OPERATOR_CUMULATIVE_SUMMATION";
    c->desc = json_pack("{s:i, s:s, s:b}", "Axis", 3, "AxisDirection", "INCREASING", "HasExclusiveSum", 0);
    return true;
}

/* Of one dimension: the two elements about output `at`, and the weight of the second. */
static double between(uint32_t at, double scale, uint32_t size, uint32_t out[2])
{
    const double place = (at + 0.5) / scale - 0.5, below = floor(place);
    out[0] = (uint32_t)fmin(fmax(below, 0), size - 1);
    out[1] = (uint32_t)fmin(fmax(below + 1, 0), size - 1);
    return place - below;
}

static bool make_resample(struct tools_doctor_case *c)
{
    enum { HEIGHT = 7, WIDTH = 9, TALL = 14, WIDE = 13 };
    struct tools_doctor_tensor *x =
        tools_doctor_input(c, "InputTensor", c->type, (const uint32_t[]){ 1, 3, HEIGHT, WIDTH });
    struct tools_doctor_tensor *y =
        tools_doctor_output(c, "OutputTensor", c->type, (const uint32_t[]){ 1, 3, TALL, WIDE });
    if (!x || !y)
        return false;
    tools_doctor_fill(c, x);
    for (uint32_t i = 0; i < y->count; i++) {
        const double *in = &x->values[i / (TALL * WIDE) * HEIGHT * WIDTH];
        uint32_t row[2], column[2];
        const double down = between(i / WIDE % TALL, 2, HEIGHT, row), right = between(i % WIDE, 1.5, WIDTH, column);
        const double above = in[row[0] * WIDTH + column[0]] * (1 - right) + in[row[0] * WIDTH + column[1]] * right;
        const double below = in[row[1] * WIDTH + column[0]] * (1 - right) + in[row[1] * WIDTH + column[1]] * right;
        /* The positions, up to WIDTH, round a few times. */
        tools_doctor_expect(y, i, above * (1 - down) + below * down, 8 * WIDTH, 2);
    }
    c->operator= "DML_OPERATOR_RESAMPLE";
    c->desc = json_pack("{s:s, s:[f,f,f,f]}", "InterpolationMode", "LINEAR", "Scales", 1.0, 1.0, 2.0, 1.5);
    return true;
}

const struct tools_doctor_operator tools_doctor_operators[] = {
    { "add", "FLOAT32", make_add },
    { "add", "FLOAT16", make_add },
    { "sigmoid", "FLOAT32", make_sigmoid },
    { "gemm", "FLOAT32", tools_doctor_make_gemm },
    { "gemm", "FLOAT16", tools_doctor_make_gemm },
    { "gemm", "INT8", tools_doctor_make_gemm_integer },
    { "convolution", "FLOAT32", tools_doctor_make_convolution },
    { "convolution", "FLOAT16", tools_doctor_make_convolution },
    { "max pooling", "FLOAT32", make_max_pooling },
    { "reduce", "FLOAT32", make_reduce },
    { "softmax", "FLOAT32", make_softmax },
    { "softmax", "FLOAT16", make_softmax },
    { "normalization", "FLOAT32", make_normalization },
    { "gather", "FLOAT32", make_gather },
    { "top k", "FLOAT32", make_top_k },
    { "cumulative sum", "FLOAT32", make_cumulative_sum },
    { "resample", "FLOAT32", make_resample },
};
const uint32_t tools_doctor_operator_count = ARRAY_SIZE(tools_doctor_operators);
