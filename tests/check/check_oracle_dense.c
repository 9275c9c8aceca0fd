/* SPDX-License-Identifier: Apache-2.0 */
/* The reference rows of the dense and window families against the formulas of kernels/core/ops.h, element by element.
 */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static bool run(const struct kern_op *op, void **data)
{
    const struct kern_row *row = check_reference(op->kind);
    struct kern_work work = { 0 };
    if (!row->accepts(op))
        return false;
    row->plan(op, 1, &work);
    void *scratch = malloc(work.worker_scratch_bytes + 1);
    struct kern_call call = { .op = op, .data = data, .worker_scratch = scratch };
    if (scratch)
        row->run(&call, 0, work.units);
    free(scratch);
    return scratch != NULL;
}

static int report(const char *what, uint32_t at, double got, double want)
{
    if (fabs(got - want) <= 2e-5 * fmax(1, fabs(want)))
        return 0;
    printf("FAIL reference of %s at %u: got %.9g, want %.9g\n", what, at, got, want);
    return 1;
}

static void fill(struct check_rng *rng, float *out, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        out[i] = (float)check_uniform(rng, -2, 2);
}

static void view(struct kern_view *out, const uint32_t *sizes, uint32_t rank)
{
    kern_view_set_packed(out, DML_TENSOR_DATA_TYPE_FLOAT32, rank, sizes);
}

/* One group, 5 x 6 input, 3 x 2 kernel, 2 channels to 3; stride 2, dilation 1 and 2, padding 1. */
enum { CH = 5, CW = 6, KH = 3, KW = 2, CI = 2, CO = 3 };

/* The weight that ties input (c, iy, ix) to output (o, oy, ox), 0 when none does. The transposed one swaps the roles.
 */
static float tie(const float *w, bool transposed, bool flip, uint32_t o, uint32_t c, const int *small, const int *large)
{
    for (int ky = 0; ky < KH; ky++) {
        for (int kx = 0; kx < KW; kx++) {
            int fy = flip ? KH - 1 - ky : ky, fx = flip ? KW - 1 - kx : kx;
            uint32_t pair = transposed ? c * CO + o : o * CI + c;
            if (small[0] * 2 + ky - 1 == large[0] && small[1] * 2 + kx * 2 - 1 == large[1])
                return w[(pair * KH + (uint32_t)fy) * KW + (uint32_t)fx];
        }
    }
    return 0;
}

static double conv_element(const float *x, const float *w, const struct kern_conv *conv, const uint32_t *in_size,
                           uint32_t o, int oy, int ox)
{
    double sum = 0;
    for (uint32_t i = 0; i < CI * in_size[0] * in_size[1]; i++) {
        uint32_t c = i / in_size[1] / in_size[0];
        int in[] = { (int)(i / in_size[1] % in_size[0]), (int)(i % in_size[1]) }, out[] = { oy, ox };
        sum += (double)x[i] *
               (conv->transposed ? tie(w, true, conv->flip, o, c, in, out) : tie(w, false, conv->flip, o, c, out, in));
    }
    return sum;
}

static int check_conv(struct check_rng *rng, bool transposed, bool flip)
{
    uint32_t large[] = { CH, CW }, small[] = { 3, 3 }, *in = transposed ? small : large,
             *out = transposed ? large : small;
    struct kern_op op = { .kind = KERN_CONV, .input_count = 3, .output_count = 1 };
    float x[CI * CH * CW], w[CI * CO * KH * KW], bias[CO], y[CO * CH * CW];
    int failures = 0;
    op.u.conv = (struct kern_conv){ .spatial = 2,
                                    .groups = 1,
                                    .transposed = transposed,
                                    .flip = flip,
                                    .has_bias = true,
                                    .strides = { 2, 2 },
                                    .dilations = { 1, 2 },
                                    .pad_start = { 1, 1 } };
    fill(rng, x, CI * CH * CW);
    fill(rng, w, CI * CO * KH * KW);
    fill(rng, bias, CO);
    view(&op.tensors[0], (uint32_t[]){ 1, CI, in[0], in[1] }, 4);
    view(&op.tensors[1], (uint32_t[]){ transposed ? CI : CO, transposed ? CO : CI, KH, KW }, 4);
    view(&op.tensors[2], (uint32_t[]){ 1, CO, 1, 1 }, 4);
    view(&op.tensors[3], (uint32_t[]){ 1, CO, out[0], out[1] }, 4);
    if (!run(&op, (void *[]){ x, w, bias, y }))
        return printf("FAIL reference of conv does not run\n"), 1;
    for (uint32_t i = 0; i < CO * out[0] * out[1]; i++) {
        uint32_t o = i / out[1] / out[0];
        double want = bias[o] + conv_element(x, w, &op.u.conv, in, o, (int)(i / out[1] % out[0]), (int)(i % out[1]));
        failures += report(transposed ? "transposed conv" : "conv", i, y[i], want);
    }
    return failures;
}

static int check_gemm(struct check_rng *rng)
{
    enum { M = 4, N = 5, K = 6 };
    struct kern_op op = { .kind = KERN_GEMM, .input_count = 3, .output_count = 1 };
    float a[M * K], b[N * K], c[N], y[M * N];
    int failures = 0;
    op.u.gemm = (struct kern_gemm){ 0.5f, 2, true };
    fill(rng, a, M * K);
    fill(rng, b, N * K);
    fill(rng, c, N);
    view(&op.tensors[0], (uint32_t[]){ M, K }, 2);
    op.tensors[1] = (struct kern_view){ DML_TENSOR_DATA_TYPE_FLOAT32, 2, { K, N }, { 1, K }, 0 };
    op.tensors[2] = (struct kern_view){ DML_TENSOR_DATA_TYPE_FLOAT32, 2, { M, N }, { 0, 1 }, 0 };
    view(&op.tensors[3], (uint32_t[]){ M, N }, 2);
    if (!run(&op, (void *[]){ a, b, c, y }))
        return printf("FAIL reference of gemm does not run\n"), 1;
    for (uint32_t i = 0; i < M * N; i++) {
        double sum = 0;
        for (uint32_t k = 0; k < K; k++)
            sum += (double)a[i / N * K + k] * b[i % N * K + k];
        failures += report("gemm", i, y[i], 0.5 * sum + 2 * c[i % N]);
    }
    return failures;
}

static int check_pool(void)
{
    static const float x[] = { 1, 2, 3, 2, 4, 2, 5, 6, 7 };
    static const uint32_t in_channel[] = { 4, 4, 7, 8 }, want_average[] = { 9, 11, 17, 19 };
    struct kern_op op = { .kind = KERN_POOL, .input_count = 1, .output_count = 2 };
    float both[18], y[8];
    uint32_t index[8];
    int failures = 0;
    op.u.pool = (struct kern_pool){ .mode = KERN_POOL_MAX,
                                    .spatial = 2,
                                    .has_indices = true,
                                    .whole_indices = true,
                                    .window = { 2, 2 },
                                    .strides = { 1, 1 },
                                    .dilations = { 1, 1 } };
    memcpy(both, x, sizeof(x));
    memcpy(both + 9, x, sizeof(x));
    view(&op.tensors[0], (uint32_t[]){ 1, 2, 3, 3 }, 4);
    view(&op.tensors[1], (uint32_t[]){ 1, 2, 2, 2 }, 4);
    kern_view_set_packed(&op.tensors[2], DML_TENSOR_DATA_TYPE_UINT32, 4, (uint32_t[]){ 1, 2, 2, 2 });
    if (!run(&op, (void *[]){ both, y, index }))
        return printf("FAIL reference of pool does not run\n"), 1;
    for (uint32_t i = 0; i < 8; i++) {
        failures += report("max pool", i, y[i], x[in_channel[i % 4]]);
        failures += report("max pool index", i, index[i], in_channel[i % 4] + i / 4 * 9);
    }
    op.output_count = 1;
    op.u.pool.mode = KERN_POOL_AVERAGE;
    op.u.pool.has_indices = false;
    if (!run(&op, (void *[]){ both, y }))
        return printf("FAIL reference of pool does not run\n"), 1;
    for (uint32_t i = 0; i < 8; i++)
        failures += report("average pool", i, y[i], want_average[i % 4] / 4.0);
    return failures;
}

/* Halving and doubling of 0, 1, 2, 3 at pixel centres. */
static int check_resample(void)
{
    static const double doubled[] = { 0, 0.25, 0.75, 1.25, 1.75, 2.25, 2.75, 3 };
    struct kern_op op = { .kind = KERN_RESAMPLE, .input_count = 1, .output_count = 1 };
    float x[] = { 0, 1, 2, 3 }, y[8];
    int failures = 0;
    op.u.resample = (struct kern_resample){
        .mode = DML_INTERPOLATION_MODE_LINEAR, .scales = { 2 }, .input_offsets = { 0.5f }, .output_offsets = { -0.5f }
    };
    view(&op.tensors[0], (uint32_t[]){ 4 }, 1);
    view(&op.tensors[1], (uint32_t[]){ 8 }, 1);
    if (!run(&op, (void *[]){ x, y }))
        return printf("FAIL reference of resample does not run\n"), 1;
    for (uint32_t i = 0; i < 8; i++)
        failures += report("linear resample", i, y[i], doubled[i]);
    op.u.resample.mode = DML_INTERPOLATION_MODE_NEAREST_NEIGHBOR;
    op.u.resample.rounding = DML_AXIS_DIRECTION_DECREASING;
    op.u.resample.input_offsets[0] = 0; /* floor((o + 0.5) / 2) */
    if (!run(&op, (void *[]){ x, y }))
        return printf("FAIL reference of resample does not run\n"), 1;
    for (uint32_t i = 0; i < 8; i++)
        failures += report("nearest resample", i, y[i], i / 2);
    return failures;
}

static int check_gather(void)
{
    static const float want[] = { 7, 8, 9, 1, 2, 3, 7, 8, 9, 4, 5, 6 };
    struct kern_op op = { .kind = KERN_GATHER, .input_count = 2, .output_count = 1 };
    float x[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9 }, y[12];
    int64_t index[] = { 2, 0, -1, 1 };
    int failures = 0;
    op.u.gather = (struct kern_gather){ 0, 2 };
    view(&op.tensors[0], (uint32_t[]){ 3, 3 }, 2);
    kern_view_set_packed(&op.tensors[1], DML_TENSOR_DATA_TYPE_INT64, 2, (uint32_t[]){ 2, 2 });
    view(&op.tensors[2], (uint32_t[]){ 2, 2, 3 }, 3);
    if (!run(&op, (void *[]){ x, index, y }))
        return printf("FAIL reference of gather does not run\n"), 1;
    for (uint32_t i = 0; i < 12; i++)
        failures += report("gather", i, y[i], want[i]);
    return failures;
}

static int check_attention(struct check_rng *rng)
{
    enum { M = 3, N = 4, D = 5 };
    struct kern_op op = { .kind = KERN_ATTENTION, .input_count = 3, .output_count = 1, .u.attention = { 0.7f, false } };
    float q[M * D], k[N * D], v[N * D], y[M * D];
    int failures = 0;
    fill(rng, q, M * D);
    fill(rng, k, N * D);
    fill(rng, v, N * D);
    for (uint32_t i = 0; i < 4; i++)
        view(&op.tensors[i], (uint32_t[]){ 1, 1, i % 3 ? N : M, D }, 4);
    if (!run(&op, (void *[]){ q, k, v, y }))
        return printf("FAIL reference of attention does not run\n"), 1;
    for (uint32_t i = 0; i < M * D; i++) {
        double total = 0, sum = 0;
        for (uint32_t n = 0; n < N; n++) {
            double score = 0;
            for (uint32_t d = 0; d < D; d++)
                score += (double)q[i / D * D + d] * k[n * D + d];
            double weight = exp(0.7f * score);
            total += weight;
            sum += weight * v[n * D + i % D];
        }
        failures += report("attention", i, y[i], sum / total);
    }
    return failures;
}

int check_oracle_dense(struct check_rng *rng)
{
    return check_conv(rng, false, false) + check_conv(rng, false, true) + check_conv(rng, true, false) +
           check_conv(rng, true, true) + check_gemm(rng) + check_pool() + check_resample() + check_gather() +
           check_attention(rng);
}
