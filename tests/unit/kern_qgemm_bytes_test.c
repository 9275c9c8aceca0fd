/* SPDX-License-Identifier: Apache-2.0 */
/* Products of activations in 8 bits (kernels/gemm/qgemm_bytes.h): bit for bit what a plain loop that rounds in the same
 * way gives, within what 8 bits may cost of the product in double, and NaN where an element is not finite. */
#include "base/cpu.h"
#include "kernels/core/kernel.h"

#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state = 1;

static uint32_t rnd(uint32_t below)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((state >> 33) % below);
}

static float uniform(float most)
{
    return ((float)rnd(1 << 20) / (1 << 19) - 1) * most;
}

struct product {
    struct kern_op op;
    uint32_t rows, k, n, block, groups, depth, panels;
    bool nibbles;
    float *x, *y, *scales;
    uint8_t *codes;
    int8_t *zeros;
};

static int32_t code_of(const struct product *p, uint32_t k, uint32_t n)
{
    const uint32_t row = k % p->block;
    const uint64_t group = (uint64_t)(n / 16) * p->groups + k / p->block;
    if (!p->nibbles)
        return (int8_t)p->codes[group * p->depth * 16 + row / 4 * 64 + n % 16 * 4 + row % 4];
    const int32_t code = p->codes[group * p->depth * 8 + row / 8 * 64 + n % 16 * 4 + row % 8 / 2] >> row % 2 * 4 & 15;
    return (code ^ 8) - 8;
}

static void make(struct product *p, uint32_t rows, uint32_t k, uint32_t n, uint32_t block, bool nibbles, bool zeros)
{
    *p = (struct product){ .rows = rows, .k = k, .n = n, .block = block, .nibbles = nibbles };
    p->groups = (k + block - 1) / block;
    p->depth = (block + 7) / 8 * 8;
    p->panels = (n + 15) / 16;
    const uint64_t columns = (uint64_t)p->panels * p->groups * 16, bytes = columns * p->depth / (nibbles ? 2 : 1);
    p->x = calloc((size_t)rows * k, sizeof(float));
    p->y = calloc((size_t)rows * n, sizeof(float));
    p->codes = calloc(bytes, 1);
    p->scales = calloc(columns, sizeof(float));
    p->zeros = calloc(columns, 1);
    for (uint64_t i = 0; i < (uint64_t)rows * k; i++)
        p->x[i] = uniform(rnd(8) ? 1 : 30);
    for (uint64_t i = 0; i < columns; i++) {
        p->scales[i] = 0.01f + uniform(0.005f);
        p->zeros[i] = zeros ? (int8_t)(nibbles ? (int32_t)rnd(16) - 8 : (int32_t)rnd(256) - 128) : 0;
    }
    for (uint64_t i = 0; i < bytes; i++)
        p->codes[i] = (uint8_t)rnd(256);
    for (uint64_t g = 0; g < columns / 16; g++) /* zeros behind a group's rows */
        for (uint32_t row = 0; row < p->depth; row++)
            for (uint32_t c = 0; c < 16; c++)
                if (row >= block || g % p->groups * block + row >= k) {
                    if (nibbles)
                        p->codes[g * p->depth * 8 + row / 8 * 64 + c * 4 + row % 8 / 2] &= row % 2 ? 0x0f : 0xf0;
                    else
                        p->codes[g * p->depth * 16 + row / 4 * 64 + c * 4 + row % 4] = 0;
                }
    p->op.kind = KERN_QGEMM;
    p->op.flags = KERN_FLAG_BYTES;
    p->op.u.qgemm = (struct kern_qgemm){ .block = block, .has_zero = zeros };
    p->op.input_count = 3 + zeros;
    p->op.output_count = 1;
    kern_view_set_packed(&p->op.tensors[0], DML_TENSOR_DATA_TYPE_FLOAT32, 2, (uint32_t[]){ rows, k });
    if (nibbles)
        kern_view_set_packed(&p->op.tensors[1], DML_TENSOR_DATA_TYPE_INT4, 5,
                             (uint32_t[]){ p->panels, p->groups, p->depth / 8, 16, 8 });
    else
        kern_view_set_packed(&p->op.tensors[1], DML_TENSOR_DATA_TYPE_INT8, 5,
                             (uint32_t[]){ p->panels, p->groups, p->depth / 4, 16, 4 });
    kern_view_set_packed(&p->op.tensors[2], DML_TENSOR_DATA_TYPE_FLOAT32, 3, (uint32_t[]){ p->panels, p->groups, 16 });
    kern_view_set_packed(&p->op.tensors[3], DML_TENSOR_DATA_TYPE_INT8, 3, (uint32_t[]){ p->panels, p->groups, 16 });
    kern_view_set_packed(&p->op.tensors[p->op.input_count], DML_TENSOR_DATA_TYPE_FLOAT32, 2, (uint32_t[]){ rows, n });
}

static void destroy(struct product *p)
{
    free(p->x);
    free(p->y);
    free(p->codes);
    free(p->scales);
    free(p->zeros);
}

/* In `threads` ranges. */
static void run(const struct kern_row *row, const struct product *p, uint32_t threads)
{
    void *data[5] = { p->x, p->codes, p->scales, p->zeros, p->y };
    struct kern_work work;
    data[p->op.input_count] = p->y;
    row->plan(&p->op, threads, &work);
    void *scratch = aligned_alloc(64, (work.worker_scratch_bytes + 63) / 64 * 64);
    memset(scratch, 0xa5, work.worker_scratch_bytes);
    memset(p->y, 0xa5, (size_t)p->rows * p->n * sizeof(float));
    const struct kern_call call = { .op = &p->op, .data = data, .worker_scratch = scratch };
    for (uint32_t i = 0; i < threads; i++)
        row->run(&call, work.units * i / threads, work.units * (i + 1) / threads);
    free(scratch);
}

/* The product with X in 8 bits; *exact: with X as it is; *bound: what 8 bits may cost. */
static float expected(const struct product *p, uint32_t m, uint32_t n, double *exact, double *bound)
{
    const float *x = p->x + (size_t)m * p->k;
    float total = 0;
    *exact = *bound = 0;
    for (uint32_t g = 0; g < p->groups; g++) {
        const uint32_t begin = g * p->block, end = begin + p->block < p->k ? begin + p->block : p->k;
        const uint64_t at = ((uint64_t)(n / 16) * p->groups + g) * 16 + n % 16;
        float most = 0;
        int32_t sum = 0;
        for (uint32_t k = begin; k < end; k++)
            most = fmaxf(most, fabsf(x[k]));
        for (uint32_t k = begin; k < end; k++) {
            const int32_t code = code_of(p, k, n) - p->zeros[at];
            sum += code * (most > 0 ? (int32_t)rintf(x[k] * (127.0f / most)) : 0);
            *exact += (double)x[k] * code * (double)p->scales[at];
            *bound += (double)most / 253 * abs(code) * (double)p->scales[at];
        }
        total = fmaf((float)sum * (most / 127.0f), p->scales[at], total);
    }
    return total;
}

static void check(const struct kern_row *row, const struct product *p)
{
    for (uint32_t m = 0; m < p->rows; m++)
        for (uint32_t n = 0; n < p->n; n++) {
            const float got = p->y[(size_t)m * p->n + n];
            double exact, bound;
            const float want = expected(p, m, n, &exact, &bound);
            if (!TEST_FOR(got == want, "%s: row %u of %u, column %u of %u, %u in blocks of %u: %g, not %g", row->name,
                          m, p->rows, n, p->n, p->k, p->block, (double)got, (double)want) ||
                !TEST_FOR(fabs(got - exact) <= bound, "%s: %g, not %g +- %g", row->name, (double)got, exact, bound))
                return;
        }
}

static void check_shapes(const struct kern_row *row)
{
    static const uint32_t rows[] = { 1, 2, 3, 7, 8, 9, 17, 140 };
    static const struct {
        uint32_t k, n, block;
    } shapes[] = { { 32, 16, 32 },   { 64, 40, 16 },   { 100, 17, 32 },  { 1100, 70, 128 },
                   { 1040, 33, 20 }, { 600, 48, 600 }, { 700, 35, 700 }, { 9, 5, 9 } };
    for (uint32_t i = 0; i < ARRAY_SIZE(rows) * ARRAY_SIZE(shapes) * 4; i++) {
        const uint32_t s = i / 4 % ARRAY_SIZE(shapes);
        struct product p;
        make(&p, rows[i / 4 / ARRAY_SIZE(shapes)], shapes[s].k, shapes[s].n, shapes[s].block, i & 1, i & 2);
        if (row->accepts(&p.op)) {
            run(row, &p, 1 + i / 4 % 3);
            check(row, &p);
        }
        destroy(&p);
    }
}

/* The largest sums that blocks can have fit, whatever codes lie behind the depth; the second block is not whole. */
static void check_greatest(const struct kern_row *row)
{
    for (uint32_t i = 0; i < 16; i++) {
        const bool nibbles = i & 1, zeros = i & 2, high = i & 4, positive = i & 8;
        struct product p;
        make(&p, 2, 40000, 16, 32768, nibbles, zeros);
        const uint64_t columns = (uint64_t)p.panels * p.groups * 16;
        for (uint64_t k = 0; k < (uint64_t)p.rows * p.k; k++)
            p.x[k] = positive ? 1 : -1;
        memset(p.codes, nibbles ? (high ? 0x77 : 0x88) : (high ? 0x7f : 0x80), columns * p.depth / (nibbles ? 2 : 1));
        memset(p.zeros, !zeros ? 0 : nibbles ? (high ? -8 : 7) : (high ? -128 : 127), columns);
        if (row->accepts(&p.op)) {
            run(row, &p, 1);
            check(row, &p);
        }
        destroy(&p);
    }
}

/* A row with an element that is not finite is NaN, others are as they were; one of tiny numbers is nearly zero. */
static void check_special(const struct kern_row *row)
{
    static const float odd[] = { INFINITY, -INFINITY, NAN };
    struct product p;
    make(&p, 12, 64, 16, 32, true, true);
    for (uint32_t i = 0; i < ARRAY_SIZE(odd); i++)
        p.x[i * 64 + 33 + i] = odd[i];
    for (uint32_t k = 0; k < 64; k++)
        p.x[3 * 64 + k] = k % 2 ? 0x1p-149f : -0x1p-126f;
    run(row, &p, 1);
    for (uint32_t m = 0; m < 12; m++)
        for (uint32_t n = 0; n < 16; n++) {
            const float got = p.y[m * 16 + n];
            double exact, bound;
            TEST_FOR(m < 3    ? isnan(got)
                     : m == 3 ? fabsf(got) < 0x1p-100f
                              : got == expected(&p, m, n, &exact, &bound),
                     "%s: row %u, %g", row->name, m, (double)got);
        }
    destroy(&p);
}

int main(void)
{
    uint32_t count;
    const struct kern_row *rows = kern_rows(&count);
    TEST(count > 0);
    for (uint32_t i = 0; i < count; i++)
        if (!strncmp(rows[i].name, "qgemm_bytes", 11) && !(rows[i].cpu & ~base_cpu_flags())) {
            check_shapes(&rows[i]);
            check_greatest(&rows[i]);
            check_special(&rows[i]);
        }
    return test_result();
}
