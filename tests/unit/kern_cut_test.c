/* SPDX-License-Identifier: Apache-2.0 */
/* How products and convolutions are cut, in every row that takes them, for any number of threads: there is work, run()
 * with what plan() says cuts in the same way, and packed weights depend on none of it. Nothing runs, so shapes may be
 * larger than memory. */
#include "base/cpu.h"
#include "kernels/core/kernel.h"

#include "test.h"

#define F32  DML_TENSOR_DATA_TYPE_FLOAT32
#define BF16 ((DML_TENSOR_DATA_TYPE)ANYDML_TENSOR_DATA_TYPE_BFLOAT16)
#define U8   DML_TENSOR_DATA_TYPE_UINT8
#define I8   DML_TENSOR_DATA_TYPE_INT8

static const uint32_t thread_counts[] = { 1, 2, 3, 7, 16, 255 };

static void check_cut(const struct kern_row *row, const struct kern_op *given, uint32_t number)
{
    struct kern_op op = *given;
    uint64_t packed[2] = { 0 };
    uint32_t input;
    for (uint32_t i = 0; i < ARRAY_SIZE(thread_counts); i++) {
        struct kern_work work = { 0 }, again = { 0 };
        op.cut = 0;
        op.threads = (uint16_t)thread_counts[i];
        if (row->pack_plan && row->pack_plan(&op, &input, &packed[i > 0]))
            TEST_FOR(!i || packed[0] == packed[1], "%s, shape %u, %u threads", row->name, number, op.threads);
        row->plan(&op, op.threads, &work);
        TEST_FOR(work.units && work.grain, "%s, shape %u, %u threads", row->name, number, op.threads);
        op.cut = work.cut;
        row->plan(&op, op.threads, &again);
        TEST_FOR(again.units == work.units && again.cut == work.cut &&
                     again.worker_scratch_bytes == work.worker_scratch_bytes,
                 "%s, shape %u, %u threads: %u, then %u", row->name, number, op.threads, work.cut, again.cut);
    }
}

/* Returns how many rows take it. */
static uint32_t check_rows(const struct kern_op *given, uint32_t number)
{
    uint32_t count, taken = 0;
    const struct kern_row *rows = kern_rows(&count);
    for (uint32_t i = 0; i < 2 * count; i++) {
        const struct kern_row *row = &rows[i / 2];
        struct kern_op op = *given;
        op.packed_input = i % 2 ? 2 : 0;
        if (row->kind != op.kind || (row->cpu & ~base_cpu_flags()) || (i % 2 && !row->pack_plan) || !row->accepts(&op))
            continue;
        check_cut(row, &op, number);
        taken++;
    }
    return taken;
}

/* Channels innermost. */
static void pixels(struct kern_view *view, DML_TENSOR_DATA_TYPE type, uint32_t n, uint32_t c, uint32_t h, uint32_t w)
{
    const int64_t line = (int64_t)w * c;
    *view = (struct kern_view){ type, 4, { n, c, h, w }, { h * line, 1, line, c }, 0 };
}

struct shape {
    uint32_t n, in, out, height, width; /* of Y */
    uint32_t kernel, stride, dilation;
};

static const struct shape shapes[] = {
    { 1, 3, 32, 112, 112, 3, 2, 1 },  { 1, 64, 256, 56, 56, 1, 1, 1 },  { 2, 64, 64, 56, 57, 3, 1, 1 },
    { 1, 512, 512, 7, 7, 3, 1, 1 },   { 1, 512, 48, 13, 11, 3, 1, 2 },  { 1, 16, 5, 1, 1, 5, 1, 1 },
    { 3, 33, 17, 31, 97, 5, 2, 1 },   { 1, 1024, 2048, 7, 7, 1, 2, 1 }, { 1, 32, 32, 1, 4096, 3, 1, 1 },
    { 1, 256, 8, 64, 64, 16, 16, 1 }, /* lines of which many pixels do not fit in scratch memory */
    { 1, 16384, 8, 4, 64, 3, 1, 1 },  { 1, 40000, 8, 64, 64, 1, 2, 1 }, { 8, 8, 64, 3, 3, 56, 1, 1 },
};

static void test_convolutions(DML_TENSOR_DATA_TYPE x, DML_TENSOR_DATA_TYPE w, DML_TENSOR_DATA_TYPE y)
{
    for (uint32_t i = 0; i < 2 * ARRAY_SIZE(shapes); i++) {
        const struct shape *s = &shapes[i / 2];
        struct kern_op op = { .kind = KERN_CONV, .input_count = 2, .output_count = 1 };
        op.flags = KERN_FLAG_HALF_PRECISION | KERN_FLAG_HALF_FLOAT32;
        op.u.conv = (struct kern_conv){ .spatial = 2, .groups = 1, .integer = x == U8 };
        for (uint32_t d = 0; d < 2; d++) {
            op.u.conv.strides[d] = s->stride;
            op.u.conv.dilations[d] = s->dilation;
        }
        const uint32_t reach = (s->kernel - 1) * s->dilation + 1;
        const uint32_t height = (s->height - 1) * s->stride + reach, width = (s->width - 1) * s->stride + reach;
        kern_view_set_packed(&op.tensors[1], w, 4, (uint32_t[]){ s->out, s->in, s->kernel, s->kernel });
        if (i % 2) {
            pixels(&op.tensors[0], x, s->n, s->in, height, width);
            pixels(&op.tensors[2], y, s->n, s->out, s->height, s->width);
        } else {
            kern_view_set_packed(&op.tensors[0], x, 4, (uint32_t[]){ s->n, s->in, height, width });
            kern_view_set_packed(&op.tensors[2], y, 4, (uint32_t[]){ s->n, s->out, s->height, s->width });
        }
        TEST_FOR(check_rows(&op, i) > 0, "shape %u", i);
    }
}

static void test_products(DML_TENSOR_DATA_TYPE a, DML_TENSOR_DATA_TYPE b, DML_TENSOR_DATA_TYPE y)
{
    static const uint32_t sizes[][4] = { { 1, 1, 1, 1 },       { 1, 4, 4096, 4096 },  { 1, 128, 768, 3072 },
                                         { 12, 128, 64, 128 }, { 3, 97, 5, 49 },      { 1, 1000, 2048, 193 },
                                         { 64, 49, 32, 49 },   { 1, 197, 768, 2304 }, { 1, 7, 100000, 7 } };
    for (uint32_t i = 0; i < ARRAY_SIZE(sizes); i++) {
        const uint32_t batch = sizes[i][0], m = sizes[i][1], k = sizes[i][2], n = sizes[i][3];
        struct kern_op op = { .kind = KERN_GEMM, .input_count = 2, .output_count = 1 };
        op.flags = KERN_FLAG_HALF_PRECISION | KERN_FLAG_HALF_FLOAT32;
        op.u.gemm = (struct kern_gemm){ .alpha = 1, .integer = a == U8 };
        kern_view_set_packed(&op.tensors[0], a, 3, (uint32_t[]){ batch, m, k });
        kern_view_set_packed(&op.tensors[1], b, 3, (uint32_t[]){ batch, k, n });
        kern_view_set_packed(&op.tensors[2], y, 3, (uint32_t[]){ batch, m, n });
        op.tensors[1].strides[0] = 0;
        TEST_FOR(check_rows(&op, i) > 0, "product %u", i);
    }
}

int main(void)
{
    test_convolutions(F32, F32, F32);
    test_convolutions(BF16, BF16, BF16);
    test_convolutions(F32, BF16, BF16);
    test_convolutions(U8, I8, DML_TENSOR_DATA_TYPE_INT32);
    test_products(F32, F32, F32);
    test_products(BF16, BF16, F32);
    test_products(U8, I8, DML_TENSOR_DATA_TYPE_INT32);
    return test_result();
}
