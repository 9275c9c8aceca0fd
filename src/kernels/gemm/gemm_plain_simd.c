/* SPDX-License-Identifier: Apache-2.0 */
/* The GEMM of struct gemm_plain (gemm_plain.h). */
#include "kernels/core/isa.h"
#include "kernels/gemm/blocked_gemm.h"
#include "kernels/gemm/gemm_block.h"
#include "kernels/gemm/gemm_plain.h"

struct plain_run {
    struct gemm_plain p;
    const struct kern_call *call;
    float *a, *b, *c;
    struct blocked_gemm_end end;
    int64_t a_at, b_at, a_row, a_step, b_row, b_step; /* of the batch */
    uint32_t at[KERN_RANK_MAX];                       /* the block's first row in Y */
    uint32_t rows, columns;
    float *y; /* destination of sums: Y or c */
    int64_t y_row;
};

static int64_t step_of(const struct kern_view *view, uint32_t d)
{
    return view->sizes[d] > 1 ? view->strides[d] : 0;
}

/* Whether A can be read in place. */
static bool a_direct(const struct plain_run *r)
{
    return r->call->op->tensors[0].type == DML_TENSOR_DATA_TYPE_FLOAT32 && (r->a_step == 1 || r->p.k == 1);
}

/* Columns [first, first + used) of B's rows from k0 on, in the micro-kernel's layout. */
static const float *load_b(const struct plain_run *r, uint32_t first, uint32_t used, uint32_t k0, uint32_t depth,
                           int64_t *pitch)
{
    const struct kern_view *b = &r->call->op->tensors[1];
    const int64_t at = r->b_at + k0 * r->b_row + first * r->b_step;
    *pitch = GEMM_TILE_COLUMNS;
    if (b->type == DML_TENSOR_DATA_TYPE_FLOAT32 && r->b_step == 1 && used % VEC == 0 && r->rows <= GEMM_PLAIN_FEW) {
        *pitch = r->b_row;
        return (const float *)r->call->data[1] + at;
    }
    if (used < GEMM_TILE_COLUMNS)
        memset(r->b, 0, (size_t)depth * GEMM_TILE_COLUMNS * sizeof(float));
    gemm_block_load(&(struct gemm_block_source){ r->call->data[1], b->type, at, r->b_row, r->b_step, depth, used },
                    r->b, *pitch);
    return r->b;
}

static void multiply(const struct plain_run *r, uint32_t column)
{
    const struct kern_view *a = &r->call->op->tensors[0];
    struct gemm_block g = { .rows = r->rows, .c_row = r->y_row };
    for (uint32_t k0 = 0; k0 < r->p.k; k0 += GEMM_PLAIN_DEPTH) {
        g.depth = BASE_MIN(r->p.k - k0, GEMM_PLAIN_DEPTH);
        g.add = k0 > 0;
        g.a = (const float *)r->call->data[0] + r->a_at + k0 * r->a_step;
        g.a_row = r->a_row;
        g.a_step = r->a_step;
        if (!a_direct(r)) {
            gemm_block_load(&(struct gemm_block_source){ r->call->data[0], a->type, r->a_at + k0 * r->a_step, r->a_row,
                                                         r->a_step, r->rows, g.depth },
                            r->a, GEMM_PLAIN_DEPTH);
            g.a = r->a;
            g.a_row = GEMM_PLAIN_DEPTH;
            g.a_step = 1;
        }
        for (uint32_t c = 0; c < r->columns; c += GEMM_TILE_COLUMNS) {
            g.columns = BASE_MIN(r->columns - c, GEMM_TILE_COLUMNS);
            g.b = load_b(r, column + c, g.columns, k0, g.depth, &g.b_row);
            g.c = r->y + c;
            gemm_block_multiply(&g);
        }
    }
}

/* The row after the one at these coordinates. */
static void next_row(const struct kern_view *view, uint32_t *at)
{
    for (uint32_t d = view->rank - 1; d-- > 0; at[d] = 0)
        if (++at[d] < view->sizes[d])
            return;
}

static void finish(const struct plain_run *r, uint32_t column)
{
    const struct kern_op *op = r->call->op;
    const struct kern_view *y = &op->tensors[op->input_count];
    uint32_t at[KERN_RANK_MAX];
    memcpy(at, r->at, sizeof(at));
    at[y->rank - 1] = column;
    float *to = (float *)r->call->data[op->input_count] + (r->p.direct ? dense_offset(y, at, y->rank) : 0);
    for (uint32_t i = 0; i < r->rows; i++, next_row(y, at)) {
        float *sums = r->c + (uint64_t)i * GEMM_PLAIN_PITCH;
        if (r->p.direct) {
            memcpy(to + i * r->p.y_row, sums, r->columns * sizeof(float));
            continue;
        }
        if (!r->end.in_steps)
            gemm_scale(r->call, at, r->columns, false, sums);
        blocked_gemm_end_floats(&r->end, at, r->columns, sums, KERN_ISA_TABLE(blocked_gemm_end_row_));
    }
}

static void unit_init(struct plain_run *r, uint64_t batch, uint64_t block)
{
    const struct kern_view *a = &r->call->op->tensors[0], *b = &r->call->op->tensors[1];
    const struct kern_view *y = &r->call->op->tensors[r->call->op->input_count];
    const uint64_t first = block * r->p.block_rows;
    r->rows = (uint32_t)BASE_MIN(r->p.rows - first, r->p.block_rows);
    r->a_row = r->p.a_row;
    r->a_step = step_of(a, a->rank - 1);
    r->b_row = step_of(b, b->rank - 2);
    r->b_step = step_of(b, b->rank - 1);
    dense_row_at(y, batch * r->p.rows, r->at);
    r->a_at = dense_offset(a, r->at, a->rank - 1) + (int64_t)first * r->a_row;
    r->b_at = dense_offset(b, r->at, b->rank - 2);
    dense_row_at(y, batch * r->p.rows + first, r->at);
}

static void plain_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const struct kern_view *y = &call->op->tensors[call->op->input_count];
    struct plain_run r = { .call = call };
    gemm_plain_init(call->op, &r.p);
    r.a = (float *)call->worker_scratch + r.p.a;
    r.b = (float *)call->worker_scratch + r.p.b;
    r.c = (float *)call->worker_scratch + r.p.c;
    if (!r.p.direct) {
        blocked_gemm_end_init(call, (float *)call->worker_scratch + r.p.epilogue, NULL, &r.end);
        blocked_gemm_end_in_steps(&r.end);
    }
    for (uint64_t unit = begin, count; unit < end; unit += count) {
        const uint64_t panel = unit % r.p.panels, block = unit / r.p.panels;
        const uint32_t column = (uint32_t)panel * GEMM_PLAIN_COLUMNS;
        count = BASE_MIN(BASE_MIN(r.p.panels - panel, GEMM_PLAIN_GROUP), end - unit);
        unit_init(&r, block / r.p.blocks, block % r.p.blocks);
        r.columns = (uint32_t)BASE_MIN(r.p.n - column, count * GEMM_PLAIN_COLUMNS);
        /* Whole vectors need no way round. */
        const bool stays = r.p.direct && r.columns % VEC == 0;
        r.at[y->rank - 1] = column;
        r.y = stays ? (float *)call->data[call->op->input_count] + dense_offset(y, r.at, y->rank) : r.c;
        r.y_row = stays ? r.p.y_row : GEMM_PLAIN_PITCH;
        multiply(&r, column);
        if (!stays)
            finish(&r, column);
    }
}

KERN_ISA_RUN(gemm_plain_f32, plain_run)
