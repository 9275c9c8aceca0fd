/* SPDX-License-Identifier: Apache-2.0 */
/* Products with quantised weights of activations that are hard to cut in slices (kernels/gemm/qgemm_slices_amx.c) or to
 * sum up: tiny, subnormal, huge, infinite, NaN. Every row that is to be as accurate as FLOAT32, against double. */
#include "base/cpu.h"
#include "kernels/core/kernel.h"

#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 20, K = 96, N = 48, BLOCK = 32, GROUPS = K / BLOCK, PANELS = N / 16 };

static float x[ROWS][K], y[ROWS][N], scales[PANELS][GROUPS][16];
static uint8_t codes[PANELS][GROUPS][BLOCK / 8][16][4];
static uint32_t state = 1;

static float uniform(void)
{
    state = state * 1664525u + 1013904223u;
    return (float)(int32_t)state / 2147483648.0f;
}

static void fill(void)
{
    static const float sizes[ROWS] = { 1e-37f, 1e-39f, 1e35f, 1e-30f, 1e-20f, 3e-18f };
    const uint32_t bits = 0x7f800001; /* NaN by its last bit alone */
    for (uint32_t m = 0; m < ROWS; m++)
        for (uint32_t k = 0; k < K; k++)
            x[m][k] = uniform() * (sizes[m] > 0 ? sizes[m] : 1);
    for (uint32_t k = 0; k < K; k++)
        x[6][k] *= k % 3 ? 1e-30f : 1;
    x[7][5] = INFINITY;
    x[8][40] = -INFINITY;
    memcpy(&x[9][70], &bits, sizeof(bits));
    memset(x[10], 0, sizeof(x[10]));
    for (uint32_t i = 0; i < PANELS * GROUPS * 16; i++)
        (&scales[0][0][0])[i] = 0.01f + 0.005f * uniform();
    for (uint32_t i = 0; i < sizeof(codes); i++) {
        uniform();
        (&codes[0][0][0][0][0])[i] = (uint8_t)(state >> 24);
    }
}

/* The sum, and that of the magnitudes. */
static double exact(uint32_t m, uint32_t n, double *size)
{
    double sum = 0;
    *size = 0;
    for (uint32_t k = 0; k < K; k++) {
        const uint32_t row = k % BLOCK;
        const int32_t code = codes[n / 16][k / BLOCK][row / 8][n % 16][row % 8 / 2] >> row % 2 * 4 & 15;
        const double term = (double)x[m][k] * ((code ^ 8) - 8) * (double)scales[n / 16][k / BLOCK][n % 16];
        sum += term;
        *size += fabs(term);
    }
    return sum;
}

static void check(const struct kern_row *row, const struct kern_op *op, uint32_t rows)
{
    void *data[] = { x, codes, scales, y };
    struct kern_work work;
    row->plan(op, op->threads, &work);
    void *own = aligned_alloc(64, (work.worker_scratch_bytes + 64) / 64 * 64);
    void *shared = aligned_alloc(64, (work.scratch_bytes + 64) / 64 * 64);
    const struct kern_call call = { .op = op, .data = data, .scratch = shared, .worker_scratch = own };
    memset(own, 0xff, work.worker_scratch_bytes);
    memset(shared, 0xff, work.scratch_bytes);
    row->run(&call, 0, work.units);
    for (uint32_t m = 0; m < rows; m++)
        for (uint32_t n = 0; n < N; n++) {
            double size, want = exact(m, n, &size), bound = 4e-6 * size + 2e-44;
            TEST_FOR(isfinite(want) ? fabs((double)y[m][n] - want) <= bound
                     : isnan(want)  ? isnan(y[m][n])
                                    : (double)y[m][n] == want,
                     "%s, row %u of %u, column %u: %g instead of %g", row->name, m, rows, n, (double)y[m][n], want);
        }
    free(own);
    free(shared);
}

int main(void)
{
    uint32_t count;
    const struct kern_row *all = kern_rows(&count);
    fill();
    for (uint32_t rows = 1; rows <= ROWS; rows++) {
        struct kern_op op = { .kind = KERN_QGEMM, .input_count = 3, .output_count = 1, .threads = 3 };
        op.u.qgemm.block = BLOCK;
        op.epilogue_input = 3;
        kern_view_set_packed(&op.tensors[0], DML_TENSOR_DATA_TYPE_FLOAT32, 2, (uint32_t[]){ rows, K });
        kern_view_set_packed(&op.tensors[1], DML_TENSOR_DATA_TYPE_INT4, 5,
                             (uint32_t[]){ PANELS, GROUPS, BLOCK / 8, 16, 8 });
        kern_view_set_packed(&op.tensors[2], DML_TENSOR_DATA_TYPE_FLOAT32, 3, (uint32_t[]){ PANELS, GROUPS, 16 });
        kern_view_set_packed(&op.tensors[3], DML_TENSOR_DATA_TYPE_FLOAT32, 2, (uint32_t[]){ rows, N });
        for (uint32_t i = 0; i < count; i++)
            if (all[i].kind == KERN_QGEMM && !(all[i].cpu & ~base_cpu_flags()) && all[i].accepts(&op))
                check(&all[i], &op, rows);
    }
    return test_result();
}
