/* SPDX-License-Identifier: Apache-2.0 */
/* What products and convolutions end in, in every row that takes it: operands in any order, and any numbers. */
#include "base/cpu.h"
#include "kernels/core/epilogue.h"
#include "kernels/core/number.h"

#include "test.h"

#include <math.h>
#include <stdlib.h>

#define F32 DML_TENSOR_DATA_TYPE_FLOAT32
#define U8  DML_TENSOR_DATA_TYPE_UINT8
#define I8  DML_TENSOR_DATA_TYPE_INT8

enum { M = 9, K = 24, N = 96 }; /* N: two panels of columns */

/* Runs the row on `data`, inputs and then the output, if it takes the op. */
static bool run_row(const struct kern_row *row, const struct kern_op *given, void *const *given_data, bool packs)
{
    struct kern_op op = *given;
    void *data[KERN_TENSORS_MAX], *packed = NULL;
    struct kern_work work;
    uint32_t input;
    uint64_t bytes;
    op.packed_input = packs ? 2 : 0;
    if (row->kind != op.kind || row->cpu & ~base_cpu_flags() || (packs && !row->pack_plan) || !row->accepts(&op))
        return false;
    memcpy(data, given_data, (op.input_count + 1) * sizeof(*data));
    bool ok = !packs || row->pack_plan(&op, &input, &bytes);
    if (ok && packs) {
        packed = aligned_alloc(256, base_align_up(bytes, 256));
        row->pack(&op, data[1], packed);
        data[1] = packed;
    }
    if (ok) {
        row->plan(&op, 1, &work);
        struct kern_call call = { .op = &op, .data = data };
        call.scratch = aligned_alloc(64, base_align_up(work.scratch_bytes + 64, 64));
        call.worker_scratch = aligned_alloc(64, base_align_up(work.worker_scratch_bytes + 64, 64));
        kern_pack_first(row, &work, &call, data);
        row->run(&call, 0, work.units);
        free(call.scratch);
        free(call.worker_scratch);
    }
    free(packed);
    return ok;
}

/* All rows against what the results should be: Y is M x N, in rows. Returns how many there were. */
static uint32_t check_rows(const struct kern_op *op, void *const *data, const double *want, double most,
                           const char *what, uint32_t number)
{
    uint32_t count, ran = 0;
    const struct kern_row *rows = kern_rows(&count);
    float *y = data[op->input_count];
    for (uint32_t i = 0; i < 2 * count; i++) {
        uint32_t wrong = M * N;
        memset(y, 0xff, M * N * sizeof(*y));
        if (!run_row(&rows[i / 2], op, data, i % 2))
            continue;
        ran++;
        for (uint32_t e = 0; e < M * N && wrong == M * N; e++)
            if (want[e] != want[e] ? y[e] == y[e]
                                   : y[e] != want[e] && !(fabs(y[e] - want[e]) <= most * fmax(1, fabs(want[e]))))
                wrong = e;
        TEST_FOR(wrong == M * N, "%s%s, %s %u, element %u: %g, not %g", rows[i / 2].name, i % 2 ? " packed" : "", what,
                 number, wrong, y[wrong % (M * N)], want[wrong % (M * N)]);
    }
    return ran;
}

static struct kern_view view(DML_TENSOR_DATA_TYPE type, uint32_t rows, uint32_t columns, int64_t down, int64_t right)
{
    return (struct kern_view){ .type = type, .rank = 2, .sizes = { rows, columns }, .strides = { down, right } };
}

/* ---- operands in any order ---- */

struct step {
    uint8_t code, x, y;
    float p, q;
};

/* Registers: 0 the sum, 1 a scale, 2 numbers along the columns, 3... what the steps give. */
static const struct step programs[][4] = {
    { { KERN_MAP_MUL, 0, 1, 0, 0 }, { KERN_MAP_SIGMOID, 3, 0, 0, 0 }, { KERN_MAP_MUL, 4, 0, 0, 0 } },
    { { KERN_MAP_MUL, 0, 1, 0, 0 }, { KERN_MAP_SIGMOID, 3, 0, 0, 0 }, { KERN_MAP_MUL, 0, 4, 0, 0 } },
    { { KERN_MAP_MUL, 1, 0, 0, 0 }, { KERN_MAP_SIGMOID, 3, 0, 0, 0 }, { KERN_MAP_MUL, 3, 4, 0, 0 } },
    { { KERN_MAP_MUL, 1, 0, 0, 0 }, { KERN_MAP_SIGMOID, 3, 0, 0, 0 }, { KERN_MAP_MUL, 4, 3, 0, 0 } },
    { { KERN_MAP_MUL, 0, 1, 0, 0 }, { KERN_MAP_HARD_SIGMOID, 3, 0, 1.0f / 6, 0.5f }, { KERN_MAP_MUL, 4, 0, 0, 0 } },
    { { KERN_MAP_MUL, 0, 1, 0, 0 }, { KERN_MAP_HARD_SIGMOID, 3, 0, 1.0f / 6, 0.5f }, { KERN_MAP_MUL, 4, 3, 0, 0 } },
    { { KERN_MAP_MUL, 0, 1, 0, 0 }, { KERN_MAP_SUB, 3, 2, 0, 0 } },
    { { KERN_MAP_MUL, 0, 1, 0, 0 }, { KERN_MAP_SUB, 2, 3, 0, 0 } },
    { { KERN_MAP_MUL, 0, 1, 0, 0 }, { KERN_MAP_SUB, 3, 0, 0, 0 } },
    { { KERN_MAP_MUL, 0, 1, 0, 0 }, { KERN_MAP_SUB, 0, 3, 0, 0 } },
    { { KERN_MAP_MUL, 0, 1, 0, 0 }, { KERN_MAP_ADD, 3, 2, 0, 0 } },
    { { KERN_MAP_MUL, 0, 1, 0, 0 }, { KERN_MAP_ADD, 2, 3, 0, 0 } },
    { { KERN_MAP_MUL, 0, 1, 0, 0 }, { KERN_MAP_ADD, 3, 0, 0, 0 } },
    { { KERN_MAP_MUL, 0, 1, 0, 0 }, { KERN_MAP_ADD, 0, 3, 0, 0 } },
    { { KERN_MAP_MUL, 0, 1, 0, 0 }, { KERN_MAP_ADD, 3, 2, 0, 0 }, { KERN_MAP_SUB, 4, 3, 0, 0 } },
    { { KERN_MAP_MUL, 0, 1, 0, 0 }, { KERN_MAP_ADD, 2, 3, 0, 0 }, { KERN_MAP_SUB, 3, 4, 0, 0 } },
    { { KERN_MAP_SUB, 0, 2, 0, 0 }, { KERN_MAP_MUL, 3, 1, 0, 0 } },
    { { KERN_MAP_SUB, 2, 0, 0, 0 }, { KERN_MAP_MUL, 1, 3, 0, 0 } },
    { { KERN_MAP_MUL, 0, 1, 0, 0 }, { KERN_MAP_CONST, 0, 0, 5, 0 }, { KERN_MAP_ADD, 3, 4, 0, 0 } },
    { { KERN_MAP_MUL, 0, 1, 0, 0 }, { KERN_MAP_CONST, 0, 0, 5, 0 }, { KERN_MAP_MIN, 3, 4, 0, 0 } },
    { { KERN_MAP_MUL, 0, 1, 0, 0 }, { KERN_MAP_CONST, 0, 0, 5, 0 }, { KERN_MAP_MIN, 0, 4, 0, 0 } },
};

static double compute(const struct step *step, double x, double y)
{
    switch (step->code) {
    case KERN_MAP_MUL:
        return x * y;
    case KERN_MAP_ADD:
        return x + y;
    case KERN_MAP_SUB:
        return x - y;
    case KERN_MAP_MIN:
        return fmin(x, y);
    case KERN_MAP_SIGMOID:
        return 1 / (1 + exp(-x));
    case KERN_MAP_HARD_SIGMOID:
        return x != x ? x : fmax(0, fmin(1, step->p * x + step->q));
    case KERN_MAP_SWISH:
        return x * (1 / (1 + exp(-step->p * x)));
    case KERN_MAP_HARD_SWISH:
        return x * fmax(0, fmin(1, step->p * x + step->q));
    case KERN_MAP_GELU:
        return 0.5 * x * (1 + erf(x * M_SQRT1_2));
    case KERN_MAP_TANH:
        return tanh(x);
    case KERN_MAP_DIV:
        return x / y;
    case KERN_MAP_MULADD:
        return x * step->p + step->q;
    default: /* CONST */
        return step->p;
    }
}

static double evaluate(const struct step *steps, uint32_t count, double sum, double scale, double other)
{
    double registers[7] = { sum, scale, other };
    for (uint32_t i = 0; i < count; i++)
        registers[3 + i] = compute(&steps[i], registers[steps[i].x], registers[steps[i].y]);
    return registers[2 + count];
}

static uint32_t steps_of(const struct step *steps)
{
    uint32_t count = 0;
    while (count < 4 && (steps[count].code || steps[count].p != 0))
        count++;
    return count;
}

static void set_program(struct kern_map *map, const struct step *steps, uint32_t count)
{
    *map = (struct kern_map){ .load_type = { F32, F32, F32 }, .inst_count = count };
    for (uint32_t i = 0; i < count; i++) {
        map->inst[i] = (struct kern_map_inst){ steps[i].code, F32, F32, { steps[i].x, steps[i].y }, { { 0 } } };
        map->inst[i].imm[0].f32 = steps[i].p;
        map->inst[i].imm[1].f32 = steps[i].q;
    }
    map->store[0] = (uint8_t)(2 + count);
}

/* [rows, columns] as an image of `rows` pixels, channels innermost; weights [K, N] as [N, K, 1, 1]. */
static void make_convolution(struct kern_op *op)
{
    op->kind = KERN_CONV;
    op->u.conv = (struct kern_conv){ .spatial = 2, .groups = 1, .integer = true };
    for (uint32_t d = 0; d < 2; d++)
        op->u.conv.strides[d] = op->u.conv.dilations[d] = 1;
    for (uint32_t t = 0; t <= op->input_count; t++) {
        struct kern_view *v = &op->tensors[t];
        const struct kern_view from = *v;
        v->rank = 4;
        if (t == 1)
            *v = (struct kern_view){ I8, 4, { N, K, 1, 1 }, { K, 1, 1, 1 }, 0 };
        else
            *v = (struct kern_view){ from.type,
                                     4,
                                     { 1, from.sizes[1], from.sizes[0], 1 },
                                     { from.strides[0] * M, from.strides[1], from.strides[0], from.strides[0] },
                                     0 };
    }
}

static void test_order(void)
{
    static uint8_t a[M * K];
    static int8_t b[K * N], transposed[N * K];
    static float other[N], y[M * N];
    static double want[M * N];
    float scale = 1.0f / 64;
    for (uint32_t i = 0; i < M * K; i++)
        a[i] = (uint8_t)(i * 7 % 16);
    for (uint32_t i = 0; i < K * N; i++)
        transposed[i % N * K + i / N] = b[i] = (int8_t)((i * 5 + i / 7) % 7) - 3;
    for (uint32_t n = 0; n < N; n++)
        other[n] = (float)(n % 11) - 5;
    for (uint32_t p = 0; p < ARRAY_SIZE(programs); p++) {
        struct kern_map map;
        uint32_t steps = steps_of(programs[p]);
        set_program(&map, programs[p], steps);
        struct kern_op op = { .kind = KERN_GEMM, .input_count = 4, .output_count = 1, .epilogue = &map };
        op.epilogue_input = 2;
        op.u.gemm = (struct kern_gemm){ .alpha = 1, .integer = true };
        op.tensors[0] = view(U8, M, K, K, 1);
        op.tensors[1] = view(I8, K, N, N, 1);
        op.tensors[2] = view(F32, M, N, 0, 0);
        op.tensors[3] = view(F32, M, N, 0, 1);
        op.tensors[4] = view(F32, M, N, N, 1);
        for (uint32_t e = 0; e < M * N; e++) {
            int32_t sum = 0;
            for (uint32_t k = 0; k < K; k++)
                sum += a[e / N * K + k] * b[k * N + e % N];
            want[e] = evaluate(programs[p], steps, sum, scale, other[e % N]);
        }
        TEST(check_rows(&op, (void *[]){ a, b, &scale, other, y }, want, 1e-4, "product", p) > 0);
        make_convolution(&op);
        TEST(check_rows(&op, (void *[]){ a, transposed, &scale, other, y }, want, 1e-4, "convolution", p) > 0);
    }
}

/* ---- any numbers ---- */

/* GELU of a number far from zero, where it has another formula than near zero, and of NaN a few columns from it. */
static void test_gelu(void)
{
    static float a[M * K], b[K * N], c[N], y[M * N];
    static double want[M * N];
    struct kern_map map = { .load_type = { F32 }, .inst_count = 1, .store = { 1 } };
    struct kern_op op = { .kind = KERN_GEMM, .input_count = 3, .output_count = 1, .epilogue = &map };
    map.inst[0] = (struct kern_map_inst){ KERN_MAP_GELU, F32, F32, { 0 }, { { 0 } } };
    op.epilogue_input = 3;
    op.u.gemm = (struct kern_gemm){ .alpha = 1, .beta = 1, .has_c = true };
    op.tensors[0] = view(F32, M, K, K, 1);
    op.tensors[1] = view(F32, K, N, N, 1);
    op.tensors[2] = view(F32, M, N, 0, 1);
    op.tensors[3] = view(F32, M, N, N, 1);
    for (uint32_t i = 0; i < M * K; i++)
        a[i] = (float)(i % 5) / 8;
    for (uint32_t i = 0; i < K * N; i++)
        b[i] = (float)(i % 13) / 16 - 0.375f;
    for (uint32_t round = 0; round < 4 * N; round++) {
        for (uint32_t n = 0; n < N; n++)
            c[n] = (float)(n % 9) / 2 - 2;
        c[round % N] = round % 2 ? 1e5f : -1e20f;
        c[(round + (4u << round / N)) % N] = NAN;
        for (uint32_t e = 0; e < M * N; e++) {
            double sum = c[e % N];
            for (uint32_t k = 0; k < K; k++)
                sum += (double)a[e / N * K + k] * b[k * N + e % N];
            want[e] = 0.5 * sum * (1 + erf(sum * M_SQRT1_2));
        }
        TEST(check_rows(&op, (void *[]){ a, b, c, y }, want, 2e-5, "GELU, round", round) > 0);
    }
}

enum { OF_GEMM, OF_POINTWISE, OF_FEW, OF_DEPTHWISE, OF_COUNT, FEW = 3 };

/* Registers: 0 the sum, 1... what the steps give. */
static const struct step curves[][4] = {
    { { KERN_MAP_SWISH, 0, 0, 1, 0 } },
    { { KERN_MAP_SWISH, 0, 0, -1.5f, 0 } },
    { { KERN_MAP_GELU, 0, 0, 0, 0 } },
    { { KERN_MAP_SIGMOID, 0, 0, 0, 0 } },
    { { KERN_MAP_HARD_SIGMOID, 0, 0, 0.25f, 0.5f } },
    { { KERN_MAP_HARD_SWISH, 0, 0, 1.0f / 6, 0.5f } },
    { { KERN_MAP_SIGMOID, 0, 0, 0, 0 }, { KERN_MAP_MUL, 0, 1, 0, 0 } },
    { { KERN_MAP_HARD_SIGMOID, 0, 0, 0.25f, 0.5f }, { KERN_MAP_MUL, 1, 0, 0, 0 } },
    { { KERN_MAP_TANH, 0, 0, 0, 0 } },
    { { KERN_MAP_CONST, 0, 0, 3, 0 },
      { KERN_MAP_DIV, 0, 1, 0, 0 },
      { KERN_MAP_TANH, 2, 0, 0, 0 },
      { KERN_MAP_MULADD, 3, 0, 3, -0.0f } },
};

static uint32_t set_curve(struct kern_map *map, const struct step *steps)
{
    const uint32_t count = steps_of(steps);
    set_program(map, steps, count);
    map->store[0] = (uint8_t)count;
    return count;
}

static void set_curved(struct kern_op *op, uint32_t kind)
{
    const uint32_t depth = kind == OF_FEW ? FEW : kind == OF_DEPTHWISE ? N : K;
    op->kind = KERN_GEMM;
    op->u.gemm = (struct kern_gemm){ .alpha = 1, .beta = 1, .has_c = true };
    op->tensors[0] = view(F32, M, depth, depth, 1);
    op->tensors[1] = view(F32, K, N, N, 1);
    op->tensors[2] = view(F32, M, N, 0, 1);
    op->tensors[3] = view(F32, M, N, N, 1);
    if (kind == OF_GEMM)
        return;
    make_convolution(op);
    op->u.conv.integer = false;
    op->u.conv.has_bias = true;
    op->u.conv.groups = kind == OF_DEPTHWISE ? N : 1;
    const uint32_t each = kind == OF_DEPTHWISE ? 1 : depth;
    op->tensors[1] = (struct kern_view){ F32, 4, { N, each, 1, 1 }, { each, 1, 1, 1 }, 0 };
    op->tensors[2] = (struct kern_view){ F32, 4, { 1, N, 1, 1 }, { 0, 1, 0, 0 }, 0 };
}

/* Activations of products and convolutions, among whose sums are numbers far from zero, infinities and NaN. */
static void test_curves(void)
{
    static const float far[] = { 1e5f, -1e20f, INFINITY, -INFINITY, NAN, 90, -88, -120 };
    static float a[M * N], b[K * N], c[N], y[M * N];
    static double want[M * N];
    struct kern_map map;
    struct kern_op op = { .input_count = 3, .output_count = 1, .epilogue = &map, .epilogue_input = 3 };
    for (uint32_t i = 0; i < M * N; i++)
        a[i] = (float)(i % 5) / 8;
    for (uint32_t i = 0; i < K * N; i++)
        b[i] = (float)(i % 13) / 16 - 0.375f;
    for (uint32_t round = 0; round < ARRAY_SIZE(curves) * OF_COUNT * 2; round++) {
        const uint32_t curve = round / 2 % ARRAY_SIZE(curves), kind = round / 2 / ARRAY_SIZE(curves);
        const struct step *steps = curves[curve];
        const uint32_t count = set_curve(&map, steps), depth = kind == OF_FEW ? FEW : kind == OF_DEPTHWISE ? 1 : K;
        set_curved(&op, kind);
        for (uint32_t n = 0; n < N; n++) /* none of a round's first ones is far */
            c[n] = round % 2 && n % 7 == 3 ? far[n / 7 % ARRAY_SIZE(far)] : (float)(n % 9) / 2 - 2;
        for (uint32_t e = 0; e < M * N; e++) {
            const uint32_t row = e / N, n = e % N;
            double sum = c[n];
            for (uint32_t k = 0; k < depth; k++)
                sum += kind == OF_DEPTHWISE ? (double)a[e] * b[n]
                       : kind == OF_GEMM    ? (double)a[row * K + k] * b[k * N + n]
                                            : (double)a[row * depth + k] * b[n * depth + k];
            double registers[5] = { sum };
            for (uint32_t i = 0; i < count; i++)
                registers[1 + i] = compute(&steps[i], registers[steps[i].x], registers[steps[i].y]);
            want[e] = registers[count];
        }
        TEST(check_rows(&op, (void *[]){ a, b, c, y }, want, 2e-5, "curve, round", round) > 0);
    }
}

/* exp(alpha * sum) + an operand: by the interpreter, some rows of a batch at a time. */
static void test_interpreted(void)
{
    enum { ROWS = 8, COLUMNS = M * N / 3 / ROWS };
    static float x[K * N], y[M * N]; /* x: all inputs */
    static double want[M * N];
    static const struct step steps[] = { { KERN_MAP_EXP, 0, 0, 0, 0 }, { KERN_MAP_ADD, 2, 1, 0, 0 } };
    struct kern_map map;
    struct kern_op op = { .kind = KERN_GEMM, .input_count = 3, .output_count = 1, .epilogue = &map };
    set_program(&map, steps, 2);
    map.store[0] = 3;
    op.epilogue_input = 2;
    op.tensors[0] = (struct kern_view){ F32, 3, { 3, ROWS, K }, { ROWS * K, K, 1 }, 0 };
    op.tensors[1] = (struct kern_view){ F32, 3, { 3, K, COLUMNS }, { 0, COLUMNS, 1 }, 0 };
    op.tensors[2] = (struct kern_view){ F32, 3, { 3, ROWS, COLUMNS }, { 1, 3, 3 * ROWS }, 0 };
    op.tensors[3] = (struct kern_view){ F32, 3, { 3, ROWS, COLUMNS }, { ROWS * COLUMNS, COLUMNS, 1 }, 0 };
    for (uint32_t i = 0; i < K * N; i++)
        x[i] = (float)(i % 13) / 16 - 0.375f;
    for (uint32_t e = 0; e < 2 * M * N; e++) {
        const uint32_t row = e % (M * N) / COLUMNS, n = e % COLUMNS;
        double sum = 0;
        for (uint32_t k = 0; k < K; k++)
            sum += (double)x[row * K + k] * x[k * COLUMNS + n];
        op.u.gemm = (struct kern_gemm){ .alpha = e < M * N ? 1 : -0.5f };
        want[e % (M * N)] = exp(op.u.gemm.alpha * sum) + x[row / ROWS + row % ROWS * 3 + n * 3 * ROWS];
        if (e % (M * N) == M * N - 1)
            TEST(check_rows(&op, (void *[]){ x, x, x, y }, want, 2e-5, "exp, element", e) > 1);
    }
}

/* ---- depthwise convolutions ---- */

enum { OF_PIXELS, OF_CHANNELS, OF_LINES, OF_PLANES, OF_OPERANDS };

static const struct step ends[][4] = {
    { { KERN_MAP_ADD, 0, 1, 0, 0 }, { KERN_MAP_HARD_SWISH, 2, 0, 0.25f, 0.5f } },
    { { KERN_MAP_MUL, 1, 0, 0, 0 } },
    { { KERN_MAP_ADD, 1, 0, 0, 0 }, { KERN_MAP_GELU, 2, 0, 0, 0 } },
    { { KERN_MAP_GELU, 0, 0, 0, 0 }, { KERN_MAP_ADD, 2, 1, 0, 0 } },
    { { KERN_MAP_SUB, 1, 0, 0, 0 } },
};

/* 3x3 taps of channels innermost, which end in an operand of any layout: NHWC, one line or plane for all, NCHW. */
static void set_depthwise(struct kern_op *op, uint32_t operand, uint32_t height)
{
    const uint32_t width = M / height, sizes[] = { 1, N, height, width };
    const int64_t strides[OF_OPERANDS][4] = {
        [OF_PIXELS] = { M * N, 1, width * N, N },
        [OF_CHANNELS] = { 0, 1, 0, 0 },
        [OF_LINES] = { 0, 0, 0, 1 },
        [OF_PLANES] = { M * N, M, width, 1 },
    };
    op->u.conv = (struct kern_conv){ .spatial = 2, .groups = N };
    for (uint32_t d = 0; d < 2; d++)
        op->u.conv.strides[d] = op->u.conv.dilations[d] = op->u.conv.pad_start[d] = 1;
    for (uint32_t t = 0; t < 4; t++) {
        kern_view_set_packed(&op->tensors[t], F32, 4, t == 1 ? (uint32_t[]){ N, 1, 3, 3 } : sizes);
        if (t != 1)
            memcpy(op->tensors[t].strides, strides[t == 2 ? operand : OF_PIXELS], sizeof(strides[0]));
    }
}

static double depthwise_sum(const float *x, const float *w, uint32_t channel, int row, int column, int height)
{
    const int width = M / height;
    double sum = 0;
    for (int k = 0; k < 9; k++) {
        const int at = row + k / 3 - 1, from = column + k % 3 - 1;
        if (at >= 0 && at < height && from >= 0 && from < width)
            sum += (double)x[(at * width + from) * N + (int)channel] * w[channel * 9 + (uint32_t)k];
    }
    return sum;
}

static void test_depthwise(void)
{
    static float x[M * N], w[N * 9], other[M * N], y[M * N];
    static double want[M * N];
    for (uint32_t i = 0; i < M * N; i++) {
        x[i] = (float)(i * 7 % 13) / 8 - 0.75f;
        other[i] = (float)(i * 5 % 17) / 8 - 1;
    }
    for (uint32_t i = 0; i < N * 9; i++)
        w[i] = (float)(i * 3 % 11) / 16 - 0.25f;
    for (uint32_t round = 0; round < ARRAY_SIZE(ends) * OF_OPERANDS * 2; round++) {
        const uint32_t end = round / 2 / OF_OPERANDS, height = round % 2 ? 3 : 1;
        struct kern_map map;
        struct kern_op op = { .kind = KERN_CONV, .input_count = 3, .output_count = 1, .epilogue = &map };
        op.epilogue_input = 2;
        set_depthwise(&op, round / 2 % OF_OPERANDS, height);
        set_program(&map, ends[end], steps_of(ends[end]));
        map.store[0]--; /* one operand */
        for (uint32_t e = 0; e < M * N; e++) {
            const uint32_t n = e % N, row = e / N / (M / height), column = e / N % (M / height);
            const uint32_t at[] = { 0, n, row, column };
            const double sum = depthwise_sum(x, w, n, (int)row, (int)column, (int)height);
            double registers[4] = { sum, other[kern_offset(&op.tensors[2], at)] };
            for (uint32_t i = 0; i < map.inst_count; i++)
                registers[2 + i] = compute(&ends[end][i], registers[ends[end][i].x], registers[ends[end][i].y]);
            want[e] = registers[1 + map.inst_count];
        }
        TEST(check_rows(&op, (void *[]){ x, w, other, y }, want, 2e-5, "depthwise, round", round) > 0);
        uint32_t count;
        const struct kern_row *rows = kern_rows(&count);
        for (uint32_t i = 0; i < count; i++)
            if (strstr(rows[i].name, "conv_dw_last_f32") && !(rows[i].cpu & ~base_cpu_flags()))
                TEST_FOR(rows[i].accepts(&op), "round %u", round);
    }
}

/* ---- programs as steps ---- */

/* Registers as above; `want`: the steps, 0 = not a chain of what is supported. */
static const struct {
    struct step program[4];
    uint32_t want;
    struct kern_epilogue_step steps[2];
} chains[] = {
    { { { KERN_MAP_ADD, 0, 1, 0, 0 } }, 1, { { KERN_MAP_ADD, 2, 0, 0 } } },
    { { { KERN_MAP_ADD, 2, 0, 0, 0 } }, 1, { { KERN_MAP_ADD, 3, 0, 0 } } },
    { { { KERN_MAP_DIV, 0, 2, 0, 0 } }, 1, { { KERN_MAP_DIV, 3, 0, 0 } } },
    { { { KERN_MAP_DIV, 2, 0, 0, 0 } }, 0, { { 0 } } },
    { { { KERN_MAP_ADD, 0, 0, 0, 0 } }, 0, { { 0 } } },
    { { { KERN_MAP_RELU, 1, 0, 0, 0 } }, 0, { { 0 } } },
    { { { KERN_MAP_RELU, 0, 0, 0, 0 }, { KERN_MAP_ADD, 3, 0, 0, 0 } }, 0, { { 0 } } },
    { { { KERN_MAP_RELU, 0, 0, 0, 0 }, { KERN_MAP_ADD, 0, 1, 0, 0 } }, 0, { { 0 } } },
    { { { KERN_MAP_CLAMP, 0, 0, -1, 2 }, { KERN_MAP_ADD, 1, 3, 0, 0 } },
      2,
      { { KERN_MAP_CLAMP, 0, -1, 2 }, { KERN_MAP_ADD, 2, 0, 0 } } },
    { { { KERN_MAP_CONST, 0, 0, 5, 0 }, { KERN_MAP_MIN, 0, 3, 0, 0 } }, 1, { { KERN_MAP_MIN, 0, 5, 0 } } },
    { { { KERN_MAP_CONST, 0, 0, 5, 0 }, { KERN_MAP_MIN, 3, 0, 0, 0 } }, 1, { { KERN_MAP_MIN, 0, 5, 0 } } },
    { { { KERN_MAP_MIN, 0, 1, 0, 0 } }, 0, { { 0 } } },
    { { { KERN_MAP_CONST, 0, 0, 5, 0 }, { KERN_MAP_MIN_NAN, 3, 0, 0, 0 } }, 1, { { KERN_MAP_MIN_NAN, 0, 5, 0 } } },
    { { { KERN_MAP_CONST, 0, 0, NAN, 0 }, { KERN_MAP_MIN_NAN, 0, 3, 0, 0 } }, 0, { { 0 } } },
    { { { KERN_MAP_CONST, 0, 0, 5, 0 }, { KERN_MAP_ADD, 3, 0, 0, 0 } }, 0, { { 0 } } },
    { { { KERN_MAP_SIGMOID, 0, 0, 0, 0 }, { KERN_MAP_MUL, 3, 0, 0, 0 } }, 1, { { KERN_MAP_SWISH, 0, 1, 0 } } },
    { { { KERN_MAP_SIGMOID, 0, 0, 0, 0 }, { KERN_MAP_MUL, 0, 3, 0, 0 } }, 1, { { KERN_MAP_SWISH, 0, 1, 0 } } },
    { { { KERN_MAP_SIGMOID, 0, 0, 0, 0 }, { KERN_MAP_MUL, 3, 3, 0, 0 } }, 0, { { 0 } } },
    { { { KERN_MAP_HARD_SIGMOID, 0, 0, 0.25f, 0.5f }, { KERN_MAP_MUL, 3, 0, 0, 0 } }, 0, { { 0 } } },
    { { { KERN_MAP_RELU, 0, 0, 0, 0 }, { KERN_MAP_RELU, 3, 0, 0, 0 }, { KERN_MAP_RELU, 4, 0, 0, 0 } }, 0, { { 0 } } },
    { { { KERN_MAP_TANH, 0, 0, 0, 0 } }, 0, { { 0 } } },
};

static void test_match(void)
{
    static const struct kern_epilogue_support support = { 2,
                                                          { [KERN_MAP_ADD] = KERN_EPILOGUE_TENSOR,
                                                            [KERN_MAP_DIV] = KERN_EPILOGUE_TENSOR,
                                                            [KERN_MAP_MIN] = KERN_EPILOGUE_NUMBER,
                                                            [KERN_MAP_MIN_NAN] = KERN_EPILOGUE_NUMBER,
                                                            [KERN_MAP_RELU] = KERN_EPILOGUE_VALUE,
                                                            [KERN_MAP_CLAMP] = KERN_EPILOGUE_VALUE,
                                                            [KERN_MAP_SWISH] = KERN_EPILOGUE_GATE } };
    struct kern_epilogue out;
    for (uint32_t c = 0; c < ARRAY_SIZE(chains); c++) {
        struct kern_map map;
        const struct kern_op op = {
            .kind = KERN_GEMM, .input_count = 4, .output_count = 1, .epilogue = &map, .epilogue_input = 2
        };
        set_program(&map, chains[c].program, steps_of(chains[c].program));
        bool matches = kern_epilogue_match(&op, &support, &out);
        TEST_FOR(matches == (chains[c].want > 0), "chain %u: %d", c, matches);
        for (uint32_t i = 0; matches && TEST(out.count == chains[c].want) && i < out.count; i++)
            TEST_FOR(out.step[i].code == chains[c].steps[i].code && out.step[i].tensor == chains[c].steps[i].tensor &&
                         out.step[i].p == chains[c].steps[i].p && out.step[i].q == chains[c].steps[i].q,
                     "chain %u, step %u", c, i);
        map.inst[0].type = DML_TENSOR_DATA_TYPE_FLOAT64;
        TEST_FOR(!kern_epilogue_match(&op, &support, &out), "chain %u in FLOAT64", c);
    }
    const struct kern_op plain = { .kind = KERN_GEMM, .input_count = 2, .output_count = 1 };
    TEST(kern_epilogue_match(&plain, &support, &out) && out.count == 0);
}

/* value * a + b, such as a batch normalisation, is a product and a sum. */
static void test_match_fma(void)
{
    static const uint8_t sources[][3] = { { 0, 1, 2 }, { 1, 0, 2 }, { 1, 2, 0 }, { 0, 1, 0 }, { 0, 0, 1 } };
    struct kern_epilogue_support support = {
        2, { [KERN_MAP_ADD] = KERN_EPILOGUE_TENSOR, [KERN_MAP_MUL] = KERN_EPILOGUE_TENSOR }
    };
    const struct step program[4] = { { KERN_MAP_FMA, 0, 1, 0, 0 } };
    for (uint32_t i = 0; i < ARRAY_SIZE(sources); i++) {
        struct kern_map map;
        struct kern_epilogue out;
        const struct kern_op op = {
            .kind = KERN_GEMM, .input_count = 4, .output_count = 1, .epilogue = &map, .epilogue_input = 2
        };
        set_program(&map, program, 1);
        memcpy(map.inst[0].src, sources[i], sizeof(sources[i]));
        support.steps = 2;
        const bool matches = kern_epilogue_match(&op, &support, &out);
        TEST_FOR(matches == (i < 2), "sources %u", i);
        TEST_FOR(!matches || (out.count == 2 && out.step[0].code == KERN_MAP_MUL && out.step[0].tensor == 2 &&
                              out.step[1].code == KERN_MAP_ADD && out.step[1].tensor == 3),
                 "steps of sources %u", i);
        support.steps = 1;
        TEST_FOR(!kern_epilogue_match(&op, &support, &out), "sources %u in one step", i);
    }
}

/* Bounds of a convolution of few input channels, NaN among its sums: CLAMP makes that the low one, CLIP the high one,
 * CLAMP_NAN leaves it. */
static void test_bounds(void)
{
    enum { CHANNELS = 3 };
    static float x[M * CHANNELS], w[N * CHANNELS], y[M * N];
    static double want[M * N];
    static const struct step bounds[][4] = {
        { { KERN_MAP_CLAMP, 0, 0, -0.25f, 0.5f } },
        { { KERN_MAP_CONST, 0, 0, 0.5f, 0 },
          { KERN_MAP_MIN, 0, 3, 0, 0 },
          { KERN_MAP_CONST, 0, 0, -0.25f, 0 },
          { KERN_MAP_MAX, 4, 5, 0, 0 } },
        { { KERN_MAP_CLAMP_NAN, 0, 0, -0.25f, 0.5f } },
    };
    static const enum kern_bounds_kind kinds[] = { KERN_BOUNDS_CLAMP, KERN_BOUNDS_CLIP, KERN_BOUNDS_CLAMP_NAN };
    static const double of_nan[] = { -0.25, 0.5, NAN };
    for (uint32_t i = 0; i < N * CHANNELS; i++)
        w[i] = (float)(i * 5 % 9) / 8 - 0.5f;
    for (uint32_t i = 0; i < M * CHANNELS; i++)
        x[i] = i == 7 ? NAN : (float)(i * 3 % 7) / 4 - 0.75f;
    for (uint32_t b = 0; b < ARRAY_SIZE(bounds); b++) {
        struct kern_map map;
        struct kern_bounds read;
        struct kern_op op = { .kind = KERN_CONV, .input_count = 4, .output_count = 1, .epilogue = &map };
        set_program(&map, bounds[b], steps_of(bounds[b]));
        op.epilogue_input = 2;
        op.tensors[0] = view(F32, M, CHANNELS, CHANNELS, 1);
        op.tensors[2] = op.tensors[3] = view(F32, M, N, 0, 0);
        op.tensors[4] = view(F32, M, N, N, 1);
        make_convolution(&op);
        op.u.conv.integer = false;
        op.tensors[1] = (struct kern_view){ F32, 4, { N, CHANNELS, 1, 1 }, { CHANNELS, 1, 1, 1 }, 0 };
        TEST(kern_epilogue_bounds(&op, &read) && read.low == -0.25f && read.high == 0.5f && read.kind == kinds[b]);
        for (uint32_t e = 0; e < M * N; e++) {
            double sum = 0;
            for (uint32_t c = 0; c < CHANNELS; c++)
                sum += (double)x[e / N * CHANNELS + c] * w[e % N * CHANNELS + c];
            want[e] = sum != sum ? of_nan[b] : fmin(fmax(sum, -0.25), 0.5);
        }
        TEST(check_rows(&op, (void *[]){ x, w, w, w, y }, want, 1e-6, "bounds", b) > 0);
    }
}

int main(void)
{
    test_depthwise();
    test_match();
    test_match_fma();
    test_bounds();
    test_order();
    test_gelu();
    test_curves();
    test_interpreted();
    return test_result();
}
