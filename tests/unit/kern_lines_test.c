/* SPDX-License-Identifier: Apache-2.0 */
/* Short lines that are few next to each other, as in transposed heads, and normalised lines before an epilogue, some of
 * which have squares that do not fit FLOAT32: compared with sums in double precision. */
#include "base/cpu.h"
#include "kernels/core/kernel.h"

#include "test.h"

#include <math.h>
#include <stdlib.h>

#define F32 DML_TENSOR_DATA_TYPE_FLOAT32

static uint64_t state = 3;

static uint32_t rnd(uint32_t below)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((state >> 33) % below);
}

static float *numbers(uint64_t count)
{
    float *out = malloc(count * sizeof(float));
    for (uint64_t i = 0; i < count; i++)
        out[i] = (float)rnd(2001) / 500 - 2 + 0.25f;
    return out;
}

static bool run(struct kern_op *op, void **data, uint32_t cpu)
{
    const struct kern_row *row = kern_find(op, cpu);
    struct kern_work work = { 0 };
    if (!TEST(row != NULL))
        return false;
    row->plan(op, 1, &work);
    struct kern_call call = { .op = op, .data = data };
    call.scratch = aligned_alloc(64, base_align_up(work.scratch_bytes + 64, 64));
    call.worker_scratch = aligned_alloc(64, base_align_up(work.worker_scratch_bytes + 64, 64));
    row->run(&call, 0, work.units);
    free(call.scratch);
    free(call.worker_scratch);
    return true;
}

/* x: [batch, heads, tokens, length], of which tokens are farther apart than heads; y: packed. */
static void check_heads(DML_REDUCE_FUNCTION function, uint32_t cpu)
{
    const uint32_t batch = 1 + rnd(3), heads = 1 + rnd(9), tokens = 1 + rnd(70), length = 2 + rnd(30);
    struct kern_op op = { .kind = KERN_REDUCE, .input_count = 1, .output_count = 1, .threads = 1 };
    const uint32_t lines = batch * heads * tokens;
    void *data[2] = { numbers((uint64_t)lines * length), malloc(lines * sizeof(float)) };
    const float *x = data[0], *y = data[1];
    op.u.reduce = (struct kern_reduce){ function, 8, false, false };
    kern_view_set_packed(&op.tensors[0], F32, 4, (const uint32_t[]){ batch, heads, tokens, length });
    kern_view_set_packed(&op.tensors[1], F32, 4, (const uint32_t[]){ batch, heads, tokens, 1 });
    op.tensors[0].strides[1] = length;
    op.tensors[0].strides[2] = (int64_t)heads * length;
    for (uint32_t i = 0; run(&op, data, cpu) && i < lines; i++) {
        const uint32_t b = i / (heads * tokens), h = i / tokens % heads, t = i % tokens;
        const float *line = x + ((b * tokens + t) * heads + h) * length;
        double sum = 0;
        for (uint32_t k = 0; k < length; k++)
            sum += function == DML_REDUCE_FUNCTION_L2 ? (double)line[k] * line[k] : line[k];
        sum = function == DML_REDUCE_FUNCTION_L2 ? sqrt(sum) : sum;
        if (!TEST_FOR(fabs(y[i] - sum) < 1e-5 * (length + fabs(sum)), "line %u: %g, not %g", i, y[i], sum))
            break;
    }
    free(data[0]);
    free(data[1]);
}

/* relu(normalised x * scale + residual), the residual and y of any order */
static void check_norm(uint32_t cpu)
{
    const uint32_t lines = 1 + rnd(200), length = 2 + rnd(600);
    struct kern_map map = { .inst_count = 2, .load_type = { F32, F32 }, .store = { 3 } };
    struct kern_op op = { .kind = KERN_NORM, .input_count = 3, .output_count = 1, .threads = 1 };
    void *data[4] = { numbers((uint64_t)lines * length), numbers(length), numbers((uint64_t)lines * length),
                      malloc((uint64_t)lines * length * sizeof(float)) };
    float *x = data[0], *scale = data[1], *residual = data[2], *y = data[3];
    map.inst[0] = (struct kern_map_inst){ KERN_MAP_ADD, F32, F32, { 0, 1 }, { { 0 } } };
    map.inst[1] = (struct kern_map_inst){ KERN_MAP_RELU, F32, F32, { 2 }, { { 0 } } };
    op.epilogue = &map;
    op.epilogue_input = 2;
    op.u.norm = (struct kern_norm){ .axes = 2, .epsilon = 1e-3f, .use_mean = true, .use_variance = true };
    op.u.norm.has_scale = true;
    for (uint32_t t = 0; t < 4; t++)
        kern_view_set_packed(&op.tensors[t], F32, 2, (const uint32_t[]){ lines, length });
    op.tensors[1].strides[0] = 0;
    for (uint32_t t = 2; t < 4; t++)
        if (rnd(3) == 0)
            memcpy(op.tensors[t].strides, (const int64_t[]){ 1, lines }, 2 * sizeof(int64_t));
    for (uint32_t i = 0; i < lines; i++) /* lines too large for FLOAT32 */
        for (uint32_t k = 0; i % 7 == 3 && k < length; k++)
            x[i * length + k] *= 1e25f;
    bool right = run(&op, data, cpu);
    for (uint32_t i = 0; right && i < lines; i++) {
        const float *line = x + i * length;
        double mean = 0, squares = 0;
        for (uint32_t k = 0; k < length; k++)
            mean += (double)line[k] / length;
        for (uint32_t k = 0; k < length; k++)
            squares += (line[k] - mean) * (line[k] - mean) / length;
        for (uint32_t k = 0; right && k < length; k++) {
            const int64_t at = i * op.tensors[2].strides[0] + k * op.tensors[2].strides[1];
            const int64_t to = i * op.tensors[3].strides[0] + k * op.tensors[3].strides[1];
            const double want = fmax(0, (line[k] - mean) / sqrt(squares + 1e-3) * scale[k] + residual[at]);
            right = TEST_FOR(fabs(y[to] - want) < 1e-4, "%u lines of %u: %u, %u: %g, not %g", lines, length, i, k,
                             y[to], want);
        }
    }
    for (uint32_t t = 0; t < 4; t++)
        free(data[t]);
}

int main(void)
{
    for (uint32_t i = 0; i < 60; i++) {
        const uint32_t cpu = i & 1 ? base_cpu_flags() : BASE_CPU_NONE;
        check_heads(i & 2 ? DML_REDUCE_FUNCTION_L2 : DML_REDUCE_FUNCTION_SUM, cpu);
        check_norm(cpu);
    }
    return test_result();
}
