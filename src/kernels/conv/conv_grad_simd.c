/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of convolutions' weights (conv_grad.h). */
#include "kernels/conv/conv_grad.h"
#include "kernels/core/isa.h"
#include "kernels/gemm/gemm_block.h"
#include "kernels/row/row.h"

struct grad_run {
    struct conv_grad p;
    const struct kern_call *call;
    float *a, *b, *c;
    int64_t group, row, column; /* the block's first ones; column: in the group */
    uint32_t rows, columns;
};

/* Part of a line of the filter. */
struct grad_line {
    int64_t channel, k[3]; /* channel in the group, the first tap */
    int64_t count;
};

static struct grad_line line_at(const struct grad_run *r, int64_t line, int64_t first, int64_t count)
{
    const struct conv_shape *s = &r->p.s;
    return (struct grad_line){ line / s->kernel[1] / s->kernel[0],
                               { line / s->kernel[1] % s->kernel[0], line % s->kernel[1], first },
                               count };
}

/* The elements of the line that rows [first, first + count) of the block read; these are one pixel of Y in consecutive
 * images. */
static void load_rows(const struct grad_run *r, const struct grad_line *line, int64_t first, int64_t count, float *to)
{
    const struct conv_shape *s = &r->p.s;
    const int64_t row = r->row + first, tap = row / s->batch;
    const int64_t out[] = { tap / s->out[2] / s->out[1], tap / s->out[2] % s->out[1], tap % s->out[2] };
    const int64_t from = out[2] * s->stride[2] + line->k[2] * s->dilation[2] - s->pad[2];
    int64_t begin = 0, end = 0, at = row % s->batch * s->x[0] + (r->group * s->in_group + line->channel) * s->x[1];
    const int64_t i0 = conv_tap(s, 0, out[0], line->k[0]), i1 = conv_tap(s, 1, out[1], line->k[1]);
    if (i0 >= 0 && i1 >= 0)
        dense_range(line->count, s->dilation[2], from, s->in[2], &begin, &end);
    if (end <= begin)
        begin = end = 0;
    to += first * CONV_GRAD_DEPTH;
    for (int64_t i = 0; i < count && end - begin < line->count; i++)
        memset(to + i * CONV_GRAD_DEPTH, 0, (size_t)line->count * sizeof(*to));
    at += i0 * s->x[2] + i1 * s->x[3] + (from + begin * s->dilation[2]) * s->x[4];
    if (begin < end)
        gemm_block_load(&(struct gemm_block_source){ r->call->data[0], r->call->op->tensors[0].type, at, s->x[0],
                                                     s->dilation[2] * s->x[4], count, end - begin },
                        to + begin, CONV_GRAD_DEPTH);
}

static void load_a(const struct grad_run *r, const struct grad_line *line, float *to)
{
    const int64_t batch = r->p.s.batch;
    for (int64_t i = 0, count; i < r->rows; i += count) {
        count = BASE_MIN(batch - (r->row + i) % batch, r->rows - i);
        load_rows(r, line, i, count, to);
    }
}

static void load_b(const struct grad_run *r, const struct grad_line *line, int64_t column, int64_t used, float *to)
{
    const struct conv_shape *s = &r->p.s;
    const int64_t at = (r->group * s->out_group + column) * s->w[0] + line->channel * s->w[1] + line->k[0] * s->w[2] +
                       line->k[1] * s->w[3] + line->k[2] * s->w[4];
    gemm_block_load(&(struct gemm_block_source){ r->call->data[1], r->call->op->tensors[1].type, at, s->w[4], s->w[0],
                                                 line->count, used },
                    to, GEMM_TILE_COLUMNS);
}

/* `lines` lines from `first` on, or part of one. */
static void add_lines(const struct grad_run *r, int64_t first, int64_t lines, int64_t begin, int64_t count)
{
    struct gemm_block g = { .a = r->a,
                            .b = r->b,
                            .a_row = CONV_GRAD_DEPTH,
                            .a_step = 1,
                            .b_row = GEMM_TILE_COLUMNS,
                            .c_row = CONV_GRAD_PITCH,
                            .rows = r->rows,
                            .depth = (uint32_t)(lines * count),
                            .add = first || begin };
    for (int64_t i = 0; i < lines; i++) {
        const struct grad_line line = line_at(r, first + i, begin, count);
        load_a(r, &line, r->a + i * count);
    }
    for (uint32_t c = 0; c < r->columns; c += GEMM_TILE_COLUMNS) {
        g.columns = BASE_MIN(r->columns - c, GEMM_TILE_COLUMNS);
        g.c = r->c + c;
        if (g.columns < GEMM_TILE_COLUMNS)
            memset(r->b, 0, (size_t)g.depth * GEMM_TILE_COLUMNS * sizeof(float));
        for (int64_t i = 0; i < lines; i++) {
            const struct grad_line line = line_at(r, first + i, begin, count);
            load_b(r, &line, r->column + c, g.columns, r->b + i * count * GEMM_TILE_COLUMNS);
        }
        gemm_block_multiply(&g);
    }
}

static void store(const struct grad_run *r)
{
    const struct conv_shape *s = &r->p.s;
    const struct kern_op *op = r->call->op;
    for (int64_t i = 0; i < r->rows; i++) {
        const int64_t tap = (r->row + i) / s->batch, n = (r->row + i) % s->batch;
        const int64_t at = n * s->y[0] + (r->group * s->out_group + r->column) * s->y[1] +
                           tap / s->out[2] / s->out[1] * s->y[2] + tap / s->out[2] % s->out[1] * s->y[3] +
                           tap % s->out[2] * s->y[4];
        dense_store_row(r->call->data[op->input_count], at, s->y[1], op->tensors[op->input_count].type, r->columns,
                        r->c + i * CONV_GRAD_PITCH);
    }
}

static void grad_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    struct grad_run r = { .call = call };
    const struct conv_shape *s = &r.p.s;
    conv_grad_init(call->op, &r.p);
    r.a = (float *)call->worker_scratch + r.p.a;
    r.b = (float *)call->worker_scratch + r.p.b;
    r.c = (float *)call->worker_scratch + r.p.c;
    for (int64_t unit = (int64_t)begin, count; unit < (int64_t)end; unit += count) {
        const int64_t panel = unit % r.p.panels, block = unit / r.p.panels;
        count = BASE_MIN(BASE_MIN(r.p.panels - panel, CONV_GRAD_GROUP), (int64_t)end - unit);
        r.group = block / r.p.blocks;
        r.row = block % r.p.blocks * r.p.block_rows;
        r.rows = (uint32_t)BASE_MIN(r.p.rows - r.row, r.p.block_rows);
        r.column = panel * CONV_GRAD_COLUMNS;
        r.columns = (uint32_t)BASE_MIN(s->out_group - r.column, count * CONV_GRAD_COLUMNS);
        for (int64_t line = 0; line < r.p.lines; line += r.p.together)
            for (int64_t k = 0; k < s->kernel[2]; k += CONV_GRAD_DEPTH)
                add_lines(&r, line, BASE_MIN(r.p.lines - line, r.p.together), k,
                          BASE_MIN(s->kernel[2] - k, CONV_GRAD_DEPTH));
        store(&r);
    }
}

KERN_ISA_RUN(conv_grad_f32, grad_run)
