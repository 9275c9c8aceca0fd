/* SPDX-License-Identifier: Apache-2.0 */
/* The reference rows of reductions, normalisations and data movement against plain loops on a dense [A, B, C] tensor.
 */
#include "check.h"

#include <math.h>
#include <stdio.h>

enum { A = 3, B = 7, C = 5, ALL = A * B * C };

static void run(struct kern_op *op, void **data)
{
    struct kern_work work = { 0 };
    const struct kern_row *row = check_reference(op->kind);
    struct kern_call call = { .op = op, .data = data };
    row->plan(op, 1, &work);
    row->run(&call, 0, work.units);
}

static void fill(struct check_rng *rng, float *out, double least)
{
    for (uint32_t i = 0; i < ALL; i++)
        out[i] = (float)check_uniform(rng, least, 4);
}

static bool near(double got, long double want)
{
    return fabsl(got - want) <= 2e-6L * fmaxl(1, fabsl(want));
}

static int report(const char *what, unsigned detail, double got, long double want)
{
    if (near(got, want))
        return 0;
    printf("FAIL reference of %s (%u): got %.9g, want %.9Lg\n", what, detail, got, want);
    return 1;
}

struct sums {
    long double sum, size, squares, exponentials, product, most, least;
    uint32_t at_most, at_least;
};

static struct sums sum_middle(const float *x, uint32_t a, uint32_t c)
{
    struct sums s = { .product = 1, .most = -1e30L, .least = 1e30L };
    for (uint32_t b = 0; b < B; b++) {
        long double v = x[(a * B + b) * C + c];
        s.sum += v;
        s.size += fabsl(v);
        s.squares += v * v;
        s.exponentials += expl(v);
        s.product *= v;
        s.at_most = v > s.most ? b : s.at_most;
        s.at_least = v < s.least ? b : s.at_least;
        s.most = fmaxl(s.most, v);
        s.least = fminl(s.least, v);
    }
    return s;
}

static long double expected(const struct sums *s, DML_REDUCE_FUNCTION function)
{
    switch (function) {
    case DML_REDUCE_FUNCTION_ARGMAX:
        return s->at_most;
    case DML_REDUCE_FUNCTION_ARGMIN:
        return s->at_least;
    case DML_REDUCE_FUNCTION_AVERAGE:
        return s->sum / B;
    case DML_REDUCE_FUNCTION_L1:
        return s->size;
    case DML_REDUCE_FUNCTION_L2:
        return sqrtl(s->squares);
    case DML_REDUCE_FUNCTION_LOG_SUM:
        return logl(s->sum);
    case DML_REDUCE_FUNCTION_LOG_SUM_EXP:
        return logl(s->exponentials);
    case DML_REDUCE_FUNCTION_MAX:
        return s->most;
    case DML_REDUCE_FUNCTION_MIN:
        return s->least;
    case DML_REDUCE_FUNCTION_MULTIPLY:
        return s->product;
    case DML_REDUCE_FUNCTION_SUM:
        return s->sum;
    default:
        return s->squares;
    }
}

int check_oracle_reduce(struct check_rng *rng)
{
    const uint32_t sizes[] = { A, B, C }, small[] = { A, 1, C };
    float x[ALL], y[A * C];
    int failures = 0;
    for (uint32_t f = 0; f <= DML_REDUCE_FUNCTION_SUM_SQUARE; f++) {
        struct kern_op op = { .kind = KERN_REDUCE, .input_count = 1, .output_count = 1 };
        void *data[] = { x, y };
        bool position = f <= DML_REDUCE_FUNCTION_ARGMIN;
        fill(rng, x, f == DML_REDUCE_FUNCTION_LOG_SUM ? 0.5 : -4);
        op.u.reduce = (struct kern_reduce){ .function = f, .axes = 2 };
        kern_view_set_packed(&op.tensors[0], DML_TENSOR_DATA_TYPE_FLOAT32, 3, sizes);
        kern_view_set_packed(&op.tensors[1], position ? DML_TENSOR_DATA_TYPE_INT32 : DML_TENSOR_DATA_TYPE_FLOAT32, 3,
                             small);
        run(&op, data);
        for (uint32_t i = 0; i < A * C; i++) {
            struct sums s = sum_middle(x, i / C, i % C);
            double got = position ? (double)(int32_t)base_float_to_bits(y[i]) : (double)y[i];
            failures += report("reduce", f, got, expected(&s, f));
        }
    }
    return failures;
}

static int check_softmax(struct check_rng *rng, enum kern_softmax_mode mode)
{
    const uint32_t sizes[] = { A, B, C };
    float x[ALL], y[ALL];
    void *data[] = { x, y };
    struct kern_op op = { .kind = KERN_SOFTMAX, .input_count = 1, .output_count = 1 };
    int failures = 0;
    fill(rng, x, -4);
    op.u.softmax = (struct kern_softmax){ mode, 2 };
    kern_view_set_packed(&op.tensors[0], DML_TENSOR_DATA_TYPE_FLOAT32, 3, sizes);
    op.tensors[1] = op.tensors[0];
    run(&op, data);
    for (uint32_t i = 0; i < ALL; i++) {
        uint32_t a = i / (B * C), b = i / C % B, c = i % C;
        struct sums s = sum_middle(x, a, c);
        long double plain = expl(x[i]) / s.exponentials;
        long double want = mode == KERN_SOFTMAX_PLAIN ? plain : mode == KERN_SOFTMAX_LOG ? logl(plain) : b == s.at_most;
        failures += report("softmax", mode, y[i], want);
    }
    return failures;
}

static int check_norm(struct check_rng *rng, bool use_mean, bool use_variance)
{
    const uint32_t sizes[] = { A, B, C };
    float x[ALL], y[ALL], scale[C], bias[C];
    void *data[] = { x, scale, bias, y };
    struct kern_op op = { .kind = KERN_NORM, .input_count = 3, .output_count = 1 };
    int failures = 0;
    fill(rng, x, -4);
    for (uint32_t c = 0; c < C; c++) {
        scale[c] = (float)check_uniform(rng, 0.5, 2);
        bias[c] = (float)check_uniform(rng, -1, 1);
    }
    op.u.norm = (struct kern_norm){ 2, 0.01f, use_mean, use_variance, true, true };
    for (uint32_t t = 0; t < 4; t++)
        kern_view_set_packed(&op.tensors[t], DML_TENSOR_DATA_TYPE_FLOAT32, 3, sizes);
    for (uint32_t t = 1; t < 3; t++)
        op.tensors[t].strides[0] = op.tensors[t].strides[1] = 0;
    run(&op, data);
    for (uint32_t i = 0; i < ALL; i++) {
        struct sums s = sum_middle(x, i / (B * C), i % C);
        long double mean = use_mean ? s.sum / B : 0;
        long double variance = s.squares / B - mean * mean + (long double)op.u.norm.epsilon;
        long double want = (x[i] - mean) / (use_variance ? sqrtl(variance) : 1) * scale[i % C] + bias[i % C];
        failures += report("norm", use_mean * 2 + use_variance, y[i], want);
    }
    return failures;
}

/* A NaN is the size of its group, or counts for nothing. */
static int check_lp_norm(struct check_rng *rng, uint32_t p, bool nan)
{
    const uint32_t sizes[] = { A, B, C };
    float x[ALL], y[ALL];
    void *data[] = { x, y };
    struct kern_op op = { .kind = KERN_LP_NORM, .input_count = 1, .output_count = 1 };
    int failures = 0;
    fill(rng, x, -4);
    x[0] = NAN;
    op.u.lp_norm = (struct kern_lp_norm){ 1, 0.5f, p, nan };
    kern_view_set_packed(&op.tensors[0], DML_TENSOR_DATA_TYPE_FLOAT32, 3, sizes);
    op.tensors[1] = op.tensors[0];
    run(&op, data);
    for (uint32_t i = 0; i < ALL; i++) {
        struct sums s = sum_middle(x, i / (B * C), i % C);
        const bool has_nan = i < B * C && i % C == 0;
        if (has_nan && (nan || i == 0))
            failures += !isnan(y[i]);
        else
            failures += report("lp_norm", p, y[i], x[i] / (has_nan ? 0.5L : p == 1 ? s.size : sqrtl(s.squares)));
    }
    return failures;
}

static int check_lrn(struct check_rng *rng, uint32_t size)
{
    const uint32_t sizes[] = { A, B, C, 1 };
    float x[ALL], y[ALL];
    void *data[] = { x, y };
    struct kern_op op = { .kind = KERN_LRN, .input_count = 1, .output_count = 1 };
    int failures = 0;
    fill(rng, x, -4);
    op.u.lrn = (struct kern_lrn){ true, size, 0.5f, 0.75f, 1.5f };
    kern_view_set_packed(&op.tensors[0], DML_TENSOR_DATA_TYPE_FLOAT32, 4, sizes);
    op.tensors[1] = op.tensors[0];
    run(&op, data);
    for (int i = 0; i < ALL; i++) {
        long double sum = 0;
        int b = i / C % B;
        for (int k = b - ((int)size - 1) / 2; k <= b + (int)size / 2; k++)
            sum += k < 0 || k >= B ? 0 : powl(x[i + (k - b) * C], 2);
        failures += report("lrn", size, y[i], x[i] / powl(1.5L + 0.5L / size * sum, 0.75L));
    }
    return failures;
}

int check_oracle_norm(struct check_rng *rng)
{
    int failures = 0;
    for (uint32_t i = 0; i < 3; i++)
        failures += check_softmax(rng, i);
    for (uint32_t i = 0; i < 4; i++)
        failures += check_norm(rng, i & 1, i >> 1);
    for (uint32_t i = 0; i < 4; i++)
        failures += check_lp_norm(rng, 1 + i / 2, i & 1);
    return failures + check_lrn(rng, 3) + check_lrn(rng, 4);
}

static int check_pad(DML_PADDING_MODE mode, const char *want)
{
    /* [2, 3] "abc" "def", one row above, two columns left, one column right */
    const uint32_t sizes[] = { 2, 3 }, padded[] = { 3, 6 };
    uint8_t x[] = { 'a', 'b', 'c', 'd', 'e', 'f' }, y[19] = { 0 };
    void *data[] = { x, y };
    struct kern_op op = { .kind = KERN_PAD, .input_count = 1, .output_count = 1 };
    op.u.pad.mode = mode;
    op.u.pad.value.UInt8 = '.';
    op.u.pad.start[0] = 1;
    op.u.pad.start[1] = 2;
    kern_view_set_packed(&op.tensors[0], DML_TENSOR_DATA_TYPE_UINT8, 2, sizes);
    kern_view_set_packed(&op.tensors[1], DML_TENSOR_DATA_TYPE_UINT8, 2, padded);
    run(&op, data);
    if (memcmp(y, want, 18) == 0)
        return 0;
    printf("FAIL reference of pad mode %d: got %s, want %s\n", mode, (char *)y, want);
    return 1;
}

static int check_transpose(void)
{
    const uint32_t sizes[] = { C, B };
    uint16_t x[B * C], y[C * B];
    void *data[] = { x, y };
    struct kern_op op = { .kind = KERN_MOVE, .input_count = 1, .output_count = 1 };
    for (uint32_t i = 0; i < B * C; i++)
        x[i] = (uint16_t)(i * 7 + 1);
    kern_view_set_packed(&op.tensors[0], DML_TENSOR_DATA_TYPE_FLOAT16, 2, sizes);
    op.tensors[0].strides[0] = 1;
    op.tensors[0].strides[1] = C;
    kern_view_set_packed(&op.tensors[1], DML_TENSOR_DATA_TYPE_UINT16, 2, sizes);
    run(&op, data);
    for (uint32_t b = 0; b < B; b++)
        for (uint32_t c = 0; c < C; c++)
            if (y[c * B + b] != x[b * C + c]) {
                printf("FAIL reference of move: element [%u, %u]\n", c, b);
                return 1;
            }
    return 0;
}

int check_oracle_views(struct check_rng *rng)
{
    (void)rng;
    return check_pad(DML_PADDING_MODE_CONSTANT, "......"
                                                "..abc."
                                                "..def.") +
           check_pad(DML_PADDING_MODE_EDGE, "aaabcc"
                                            "aaabcc"
                                            "dddeff") +
           check_pad(DML_PADDING_MODE_REFLECTION, "fedefe"
                                                  "cbabcb"
                                                  "fedefe") +
           check_pad(DML_PADDING_MODE_SYMMETRIC, "baabcc"
                                                 "baabcc"
                                                 "eddeff") +
           check_pad(DML_PADDING_MODE_WRAP, "efdefd"
                                            "bcabca"
                                            "efdefd") +
           check_transpose();
}
