/* SPDX-License-Identifier: Apache-2.0 */
/* The few-row GEMM of gemm.h. */
#include "kernels/core/isa.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/ukernel.h"
#include "kernels/row/row.h"

#define GEMM_VEC_DEPTH 8 /* rows of B that are read simultaneously */

struct gemm_vec {
    const struct kern_call *call;
    uint32_t rows, k, columns, pitch; /* pitch: k up to a whole vector */
    float *a, *sums;                  /* [rows][pitch], [rows][GEMM_VEC_PANEL] */
    void *epilogue;
    int64_t b_at, b_row, b_step;
    DML_TENSOR_DATA_TYPE type;
};

/* sums[m][n] += sum over `depth` rows k.. of a[m][k] * B[k][n], B's rows contiguous. */
DENSE_INLINE void gemm_vec_strip(DML_TENSOR_DATA_TYPE type, const struct gemm_vec *g, uint32_t k, uint32_t depth,
                                 uint32_t rows, uint32_t count)
{
    const void *b = g->call->data[1];
    uint32_t n = 0;
    int64_t from = g->b_at + k * g->b_row;
    for (; n + VEC <= count; n += VEC) {
        vec sums[GEMM_VEC_ROWS];
        for (uint32_t m = 0; m < rows; m++)
            sums[m] = vec_load(g->sums + m * GEMM_VEC_PANEL + n);
        for (uint32_t i = 0; i < depth; i++) {
            vec value = vec_load_of(type, b, from + i * g->b_row + n);
            for (uint32_t m = 0; m < rows; m++)
                sums[m] = vec_fma(vec_set(g->a[m * g->pitch + k + i]), value, sums[m]);
        }
        for (uint32_t m = 0; m < rows; m++)
            vec_store(g->sums + m * GEMM_VEC_PANEL + n, sums[m]);
    }
    for (; n < count; n++) {
        for (uint32_t i = 0; i < depth; i++) {
            float value = (float)dense_load(b, from + i * g->b_row + n, type);
            for (uint32_t m = 0; m < rows; m++)
                g->sums[m * GEMM_VEC_PANEL + n] += g->a[m * g->pitch + k + i] * value;
        }
    }
}

DENSE_INLINE void gemm_vec_across(DML_TENSOR_DATA_TYPE type, const struct gemm_vec *g, uint32_t rows, uint32_t count)
{
    uint32_t k = 0;
    for (uint32_t m = 0; m < rows; m++)
        memset(g->sums + m * GEMM_VEC_PANEL, 0, count * sizeof(float));
    for (; k + GEMM_VEC_DEPTH <= g->k; k += GEMM_VEC_DEPTH)
        gemm_vec_strip(type, g, k, GEMM_VEC_DEPTH, rows, count);
    for (; k < g->k; k++)
        gemm_vec_strip(type, g, k, 1, rows, count);
}

/* B's columns contiguous: one dot product each. */
DENSE_INLINE void gemm_vec_dots(DML_TENSOR_DATA_TYPE type, const struct gemm_vec *g, uint32_t rows, uint32_t count)
{
    const struct ukernel t = {
        .depth = g->k, .a = g->a, .a_row = g->pitch, .b = g->call->data[1], .c_row = GEMM_VEC_PANEL
    };
    for (uint32_t n = 0; n < count; n++)
        ukernel_dots(rows, type, &t, g->b_at + n * g->b_step, g->sums + n);
}

DENSE_INLINE void gemm_vec_typed(DML_TENSOR_DATA_TYPE type, const struct gemm_vec *g, uint32_t rows, uint32_t count)
{
    if (g->b_step == 1)
        gemm_vec_across(type, g, rows, count);
    else
        gemm_vec_dots(type, g, rows, count);
}

DENSE_INLINE void gemm_vec_rows(uint32_t rows, const struct gemm_vec *g, uint32_t count)
{
    VEC_BY_TYPE(g->type, gemm_vec_typed, g, rows, count);
}

static void gemm_vec_finish(const struct gemm_vec *g, uint32_t *at, uint32_t count)
{
    for (uint32_t m = 0; m < g->rows; m++) {
        float *sums = g->sums + m * GEMM_VEC_PANEL;
        at[g->call->op->tensors[0].rank - 2] = m;
        gemm_scale(g->call, at, count, false, sums);
        dense_finish_f32(g->call, g->epilogue, at, count, sums);
    }
}

static void gemm_vec_load_a(const struct gemm_vec *g, const uint32_t *batch)
{
    const struct kern_view *a = &g->call->op->tensors[0];
    uint32_t at[KERN_RANK_MAX], rank = a->rank;
    memcpy(at, batch, rank * sizeof(*at));
    for (uint32_t m = 0; m < g->rows; m++) {
        at[rank - 2] = m;
        int64_t step = a->sizes[rank - 1] > 1 ? a->strides[rank - 1] : 0;
        dense_load_row(g->call->data[0], dense_offset(a, at, rank - 1), step, a->type, g->k, g->a + m * g->pitch);
        memset(g->a + m * g->pitch + g->k, 0, (g->pitch - g->k) * sizeof(*g->a));
    }
}

static void gemm_vec_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const struct kern_view *a = &call->op->tensors[0], *b = &call->op->tensors[1];
    const struct kern_view *y = &call->op->tensors[call->op->input_count];
    uint32_t rank = y->rank, blocks = (y->sizes[rank - 1] + GEMM_VEC_UNIT - 1) / GEMM_VEC_UNIT;
    struct gemm_vec g = {
        .call = call, .rows = y->sizes[rank - 2], .k = a->sizes[rank - 1], .columns = y->sizes[rank - 1]
    };
    g.pitch = (uint32_t)base_align_up(g.k, VEC);
    g.sums = call->worker_scratch;
    g.a = g.sums + GEMM_VEC_ROWS * GEMM_VEC_PANEL;
    g.epilogue = (char *)call->worker_scratch +
                 base_align_up((g.k + 32ull + GEMM_VEC_PANEL) * GEMM_VEC_ROWS * sizeof(float), 64);
    g.b_row = b->strides[rank - 2];
    g.b_step = b->sizes[rank - 1] > 1 || g.b_row != 1 ? b->strides[rank - 1] : 0;
    g.type = y->type;
    uint64_t loaded = UINT64_MAX;
    while (begin < end) {
        uint64_t batch = begin / blocks;
        uint32_t first = (uint32_t)(begin % blocks) * GEMM_VEC_UNIT, at[KERN_RANK_MAX];
        uint64_t stop = BASE_MIN(end, (batch + 1) * blocks);
        stop = BASE_MIN(stop, begin + GEMM_VEC_PANEL / GEMM_VEC_UNIT);
        dense_row_at(y, batch * g.rows, at);
        if (loaded != batch)
            gemm_vec_load_a(&g, at);
        loaded = batch;
        uint32_t count = (uint32_t)BASE_MIN((stop - begin) * GEMM_VEC_UNIT, (uint64_t)g.columns - first);
        g.b_at = dense_offset(b, at, rank - 2) + first * g.b_step;
        at[rank - 1] = first;
        UKERNEL_BY_COUNT(g.rows, GEMM_VEC_ROWS, gemm_vec_rows, &g, count)
        gemm_vec_finish(&g, at, count);
        begin = stop;
    }
}

KERN_ISA_RUN(gemm_vec_f32, gemm_vec_run)
