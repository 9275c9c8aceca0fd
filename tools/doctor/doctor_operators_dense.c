/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix multiplications and convolutions for the self-test: sums of many products. */
#include "tools/doctor/doctor.h"

#include <math.h>

/* Relu(A x B + C): sizes that no tile divides. */
bool tools_doctor_make_gemm(struct tools_doctor_case *c)
{
    enum { M = 131, N = 77, K = 203 };
    struct tools_doctor_tensor *a = tools_doctor_input(c, "ATensor", c->type, (const uint32_t[]){ 1, 1, M, K });
    struct tools_doctor_tensor *b = tools_doctor_input(c, "BTensor", c->type, (const uint32_t[]){ 1, 1, K, N });
    struct tools_doctor_tensor *bias = tools_doctor_input(c, "CTensor", c->type, (const uint32_t[]){ 1, 1, M, N });
    struct tools_doctor_tensor *y = tools_doctor_output(c, "OutputTensor", c->type, (const uint32_t[]){ 1, 1, M, N });
    if (!a || !b || !bias || !y)
        return false;
    tools_doctor_fill(c, a);
    tools_doctor_fill(c, b);
    tools_doctor_fill(c, bias);
    /* One bias per column: rows share it. */
    bias->strided = true;
    bias->strides[3] = 1;
    for (uint32_t i = N; i < M * N; i++)
        bias->values[i] = bias->values[i % N];
    for (uint32_t i = 0; i < M * N; i++) {
        double sum = bias->values[i], magnitude = fabs(sum);
        for (uint32_t k = 0; k < K; k++) {
            const double product = a->values[i / N * K + k] * b->values[k * N + i % N];
            sum += product;
            magnitude += fabs(product);
        }
        tools_doctor_expect(y, i, fmax(sum, 0), K + 2, magnitude);
    }
    c->operator= "DML_OPERATOR_GEMM";
    c->desc = json_pack("{s:s, s:s, s:f, s:f, s:{s:s}}", "TransA", "NONE", "TransB", "NONE", "Alpha", 1.0, "Beta", 1.0,
                        "FusedActivation", "type", "DML_OPERATOR_ACTIVATION_RELU");
    return true;
}

/* One pixel of one image and one filter: the sum, and that of the magnitudes. */
static double convolve(const struct tools_doctor_tensor *x, const struct tools_doctor_tensor *filter,
                       const uint32_t at[TOOLS_DOCTOR_RANK], double *out_magnitude)
{
    const uint32_t channels = x->sizes[1], height = x->sizes[2], width = x->sizes[3];
    double sum = 0;
    for (uint32_t i = 0; i < channels * 9; i++) {
        const uint32_t row = at[2] + i / 3 % 3 - 1, column = at[3] + i % 3 - 1; /* wraps before the first */
        if (row >= height || column >= width)
            continue;
        const double product = x->values[((at[0] * channels + i / 9) * height + row) * width + column] *
                               filter->values[at[1] * channels * 9 + i];
        sum += product;
        *out_magnitude += fabs(product);
    }
    return sum;
}

/* 3 x 3, with padding and a bias. */
bool tools_doctor_make_convolution(struct tools_doctor_case *c)
{
    enum { IMAGES = 2, CHANNELS = 19, FILTERS = 21, HEIGHT = 13, WIDTH = 11 };
    const uint32_t sizes[] = { IMAGES, FILTERS, HEIGHT, WIDTH };
    struct tools_doctor_tensor *x =
        tools_doctor_input(c, "InputTensor", c->type, (const uint32_t[]){ IMAGES, CHANNELS, HEIGHT, WIDTH });
    struct tools_doctor_tensor *filter =
        tools_doctor_input(c, "FilterTensor", c->type, (const uint32_t[]){ FILTERS, CHANNELS, 3, 3 });
    struct tools_doctor_tensor *bias =
        tools_doctor_input(c, "BiasTensor", c->type, (const uint32_t[]){ 1, FILTERS, 1, 1 });
    struct tools_doctor_tensor *y = tools_doctor_output(c, "OutputTensor", c->type, sizes);
    if (!x || !filter || !bias || !y)
        return false;
    tools_doctor_fill(c, x);
    tools_doctor_fill(c, filter);
    tools_doctor_fill(c, bias);
    for (uint32_t i = 0; i < y->count; i++) {
        const uint32_t at[] = { i / (FILTERS * HEIGHT * WIDTH), i / (HEIGHT * WIDTH) % FILTERS, i / WIDTH % HEIGHT,
                                i % WIDTH };
        double magnitude = fabs(bias->values[at[1]]);
        const double sum = convolve(x, filter, at, &magnitude) + bias->values[at[1]];
        /* Winograd's algorithm adds and subtracts up to 16 elements, and as many results, on the way. */
        tools_doctor_expect(y, i, sum, 9 * CHANNELS + 64, magnitude + 1);
    }
    c->operator= "DML_OPERATOR_CONVOLUTION";
    c->desc = json_pack("{s:s, s:s, s:[i,i], s:[i,i], s:[i,i], s:[i,i], s:[i,i], s:i}", "Mode", "CROSS_CORRELATION",
                        "Direction", "FORWARD", "Strides", 1, 1, "Dilations", 1, 1, "StartPadding", 1, 1, "EndPadding",
                        1, 1, "OutputPadding", 0, 0, "GroupCount", 1);
    return true;
}

/* Bytes with zero points, exact. */
bool tools_doctor_make_gemm_integer(struct tools_doctor_case *c)
{
    enum { M = 37, N = 29, K = 75 };
    struct tools_doctor_tensor *a = tools_doctor_input(c, "ATensor", "UINT8", (const uint32_t[]){ 1, 1, M, K });
    struct tools_doctor_tensor *zero_a =
        tools_doctor_input(c, "AZeroPointTensor", "UINT8", (const uint32_t[]){ 1, 1, 1, 1 });
    struct tools_doctor_tensor *b = tools_doctor_input(c, "BTensor", "INT8", (const uint32_t[]){ 1, 1, K, N });
    struct tools_doctor_tensor *zero_b =
        tools_doctor_input(c, "BZeroPointTensor", "INT8", (const uint32_t[]){ 1, 1, 1, 1 });
    struct tools_doctor_tensor *y = tools_doctor_output(c, "OutputTensor", "INT32", (const uint32_t[]){ 1, 1, M, N });
    if (!a || !zero_a || !b || !zero_b || !y)
        return false;
    tools_doctor_fill_whole(c, a, 0, 255);
    tools_doctor_fill_whole(c, b, -128, 127);
    zero_a->values[0] = 131;
    zero_b->values[0] = -3;
    for (uint32_t i = 0; i < M * N; i++)
        for (uint32_t k = 0; k < K; k++)
            y->values[i] +=
                (a->values[i / N * K + k] - zero_a->values[0]) * (b->values[k * N + i % N] - zero_b->values[0]);
    c->operator= "DML_OPERATOR_MATRIX_MULTIPLY_INTEGER";
    c->desc = json_object();
    return true;
}
