/* SPDX-License-Identifier: Apache-2.0 */
/* The pointwise convolution of struct conv_pw (conv_plans.h). */
#include "kernels/core/isa.h"
#include "kernels/conv/conv_pw_tile.h"

/* Tile number `row` of all, columns of panel number `panel`; it is the `part`-th of `parts` that the panel meets. */
static void conv_pw_one(const struct kern_call *call, const struct conv_pw *p, uint64_t row, uint32_t panel,
                        uint32_t part, uint32_t parts)
{
    uint32_t width = CONV_PW_VECS * VEC, column = panel * width;
    int64_t first = (int64_t)(p->pixels * row / p->tiles), last = (int64_t)(p->pixels * (row + 1) / p->tiles);
    struct conv_pw_tile t = { .a_step = p->x_step, .y_step = p->y_step, .k = p->k, .epilogue = &p->epilogue };
    t.a = (const float *)call->data[0] + first * p->x_step;
    t.b = (const float *)call->data[1] + (uint64_t)column * p->k;
    t.bias = (const float *)call->worker_scratch + column;
    t.y = (float *)call->data[call->op->input_count] + first * p->y_step + column;
    t.used = BASE_MIN(p->columns - column, width);
    conv_pw_place(&t, call, first, column);
    conv_pw_fetch(&t, t.b + (uint64_t)p->k * width, part, parts);
    conv_pw_tile(&t, (uint32_t)(last - first));
}

/* Of one panel of a block, `vecs` vectors wide: the tiles that begin in [begin, end), counted in vectors. */
static void conv_pw_panel(const struct kern_call *call, const struct conv_pw *p, uint64_t block, uint32_t panel,
                          uint32_t vecs, uint64_t begin, uint64_t end)
{
    uint64_t first = p->tiles * block / p->blocks, count = p->tiles * (block + 1) / p->blocks - first;
    uint64_t from = first * p->vecs + (uint64_t)panel * CONV_PW_VECS * count;
    uint64_t tile = begin > from ? (begin - from + vecs - 1) / vecs : 0;
    uint64_t stop = end > from ? BASE_MIN((end - from + vecs - 1) / vecs, count) : 0;
    for (; tile < stop; tile++)
        conv_pw_one(call, p, first + tile, panel, (uint32_t)tile, (uint32_t)count);
}

static void conv_pw_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    struct conv_pw p;
    conv_pw_init(call->op, CONV_PW_ROWS, VEC, &p);
    conv_bias(call, &p.s, (int64_t)p.panels * CONV_PW_VECS * VEC, call->worker_scratch);
    for (uint64_t block = 0; block < p.blocks && p.tiles * block / p.blocks * p.vecs < end; block++)
        for (uint32_t panel = 0; panel < p.panels && p.tiles * (block + 1) / p.blocks * p.vecs > begin; panel++)
            conv_pw_panel(call, &p, block, panel, BASE_MIN(p.vecs - panel * CONV_PW_VECS, CONV_PW_VECS), begin, end);
}

KERN_ISA_RUN(conv_pw_f32, conv_pw_run)
