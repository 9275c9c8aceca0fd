/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of 3x3 weights by Winograd's algorithm: struct wino_grad (conv_plans.h). */
#include "kernels/conv/conv_wino_tile.h"
#include "kernels/gemm/ukernel.h"

#define SIZE     6 /* inputs of a tile along each dimension */
#define POINTS   (SIZE * SIZE)
#define TILE     4 /* of the result's gradient */
#define TAPS     3
#define TOGETHER 4 /* input channels whose results are stored at once */

struct grad_run {
    const struct wino_grad *g;
    const struct kern_call *call;
    float *in, *out, *sum, *patch;
    float matrix[SIZE * TILE]; /* [point][coefficient] */
};

struct grad_place {
    int64_t image, row, column; /* of the tile's first gradient */
};

DENSE_INLINE struct grad_place grad_place(const struct wino_grad *g, uint32_t tile)
{
    const uint32_t line = tile / g->columns;
    return (struct grad_place){ line / g->rows, (int64_t)(line % g->rows) * TILE, (int64_t)(tile % g->columns) * TILE };
}

/* Some rows and columns of an image, partly outside, as [row][column][width]; zeros outside. */
struct grad_window {
    const float *image; /* the first channel of its first pixel */
    int64_t row_step, column_step, rows, columns;
    uint32_t channels, width, side;
};

static void grad_patch(const struct grad_window *w, int64_t row, int64_t column, float *to)
{
    memset(to, 0, (size_t)w->side * w->side * w->width * sizeof(float));
    for (int64_t i = BASE_MAX(-row, 0); i < BASE_MIN(w->side, w->rows - row); i++)
        for (int64_t j = BASE_MAX(-column, 0); j < BASE_MIN(w->side, w->columns - column); j++)
            memcpy(to + (i * w->side + j) * w->width,
                   w->image + (row + i) * w->row_step + (column + j) * w->column_step, w->channels * sizeof(float));
}

DENSE_INLINE bool grad_inside(const struct grad_window *w, int64_t row, int64_t column)
{
    return w->channels == w->width && row >= 0 && column >= 0 && row + w->side <= w->rows &&
           column + w->side <= w->columns;
}

static void grad_in(const struct grad_run *r, uint32_t first, uint32_t count)
{
    const struct wino_grad *g = r->g;
    const struct conv_shape *s = &g->s;
    for (uint32_t t = 0; t < count; t++) {
        const struct grad_place at = grad_place(g, first + t);
        const struct grad_window w = { (const float *)r->call->data[0] + at.image * s->x[1],
                                       s->x[3],
                                       s->x[4],
                                       s->in[1],
                                       s->in[2],
                                       g->ins,
                                       g->depth,
                                       SIZE };
        const int64_t row = at.row - s->pad[1], column = at.column - s->pad[2];
        const bool inside = grad_inside(&w, row, column);
        const float *from = inside ? w.image + row * w.row_step + column * w.column_step : r->patch;
        if (!inside)
            grad_patch(&w, row, column, r->patch);
        for (uint32_t c = 0; c < g->depth; c += VEC)
            wino_tile_in(SIZE, from + c, inside ? w.row_step : SIZE * g->depth, inside ? w.column_step : g->depth,
                         r->in + (uint64_t)t * g->depth + c, g->in_step);
    }
}

/* The values at the points of a row of coefficients. */
DENSE_INLINE void grad_values(const float *matrix, const vec *d, vec *to)
{
    WINO_UNROLL for (uint32_t i = 0; i < SIZE; i++)
    {
        to[i] = vec_set(matrix[i * TILE]) * d[0];
        WINO_UNROLL for (uint32_t t = 1; t < TILE; t++) to[i] = vec_fma(vec_set(matrix[i * TILE + t]), d[t], to[i]);
    }
}

static void grad_tile(const struct grad_run *r, const float *from, int64_t row, int64_t column, float *to)
{
    vec half[SIZE][TILE], d[TILE], values[SIZE];
    WINO_UNROLL for (uint32_t j = 0; j < TILE; j++)
    {
        WINO_UNROLL for (uint32_t i = 0; i < TILE; i++) d[i] = vec_load(from + i * row + j * column);
        grad_values(r->matrix, d, values);
        WINO_UNROLL for (uint32_t i = 0; i < SIZE; i++) half[i][j] = values[i];
    }
    for (uint32_t i = 0; i < SIZE; i++) {
        grad_values(r->matrix, half[i], values);
        WINO_UNROLL for (uint32_t j = 0; j < SIZE; j++) vec_store(to + (i * SIZE + j) * r->g->out_step, values[j]);
    }
}

/* Of one panel's channels, the q-th panel of the run. */
static void grad_out(const struct grad_run *r, uint32_t first, uint32_t count, uint32_t panel, uint32_t q)
{
    const struct wino_grad *g = r->g;
    const struct conv_shape *s = &g->s;
    const uint32_t channel = panel * g->panel, channels = BASE_MIN(g->outs - channel, g->panel);
    for (uint32_t t = 0; t < count; t++) {
        const struct grad_place at = grad_place(g, first + t);
        const struct grad_window w = { (const float *)r->call->data[1] + at.image * s->w[1] + channel,
                                       s->w[3],
                                       s->w[4],
                                       s->kernel[1],
                                       s->kernel[2],
                                       channels,
                                       g->panel,
                                       TILE };
        const bool inside = grad_inside(&w, at.row, at.column);
        const float *from = inside ? w.image + at.row * w.row_step + at.column * w.column_step : r->patch;
        if (!inside)
            grad_patch(&w, at.row, at.column, r->patch);
        for (uint32_t c = 0; c < g->panel; c += VEC)
            grad_tile(r, from + c, inside ? w.row_step : TILE * g->panel, inside ? w.column_step : g->panel,
                      r->out + ((uint64_t)q * g->block + t) * g->panel + c);
    }
}

/* Sums over tiles of products of one panel's channels with `rows` of X's. */
DENSE_INLINE void grad_multiply(uint32_t rows, const struct wino_grad *g, struct ukernel t)
{
    t.rows = rows;
    t.vecs = WINO_VECS(VEC);
    t.splits = t.group = 1;
    t.b_type = DML_TENSOR_DATA_TYPE_FLOAT32;
    t.a_row = 1;
    t.a_step = g->depth;
    t.b_row = t.c_row = g->panel;
    ukernel(&t);
}

static void grad_products(const struct grad_run *r, uint32_t count, uint32_t panels, bool add)
{
    const struct wino_grad *g = r->g;
    for (uint32_t point = 0; point < POINTS; point++)
        for (uint32_t q = 0; q < panels; q++)
            for (uint32_t row = 0, rows; row < g->ins; row += rows) {
                rows = BASE_MIN(g->ins - row, WINO_ROWS(VEC));
                const struct ukernel t = { .depth = count,
                                           .a = r->in + point * g->in_step + row,
                                           .b = r->out + point * g->out_step + (uint64_t)q * g->block * g->panel,
                                           .c = r->sum + point * g->sum_step + ((uint64_t)q * g->ins + row) * g->panel,
                                           .add = add };
                UKERNEL_BY_COUNT(rows, WINO_ROWS(VEC), grad_multiply, g, t)
            }
}

/* A vector of output channels: [tap][lane]. */
static void grad_taps(const struct grad_run *r, const float *from, float *to)
{
    vec half[TAPS][SIZE], m[SIZE], values[TAPS];
    for (uint32_t j = 0; j < SIZE; j++) {
        WINO_UNROLL for (uint32_t i = 0; i < SIZE; i++) m[i] = vec_load(from + (i * SIZE + j) * r->g->sum_step);
        wino_out(SIZE, TAPS, m, values);
        WINO_UNROLL for (uint32_t o = 0; o < TAPS; o++) half[o][j] = values[o];
    }
    WINO_UNROLL for (uint32_t o = 0; o < TAPS; o++)
    {
        wino_out(SIZE, TAPS, half[o], values);
        WINO_UNROLL for (uint32_t p = 0; p < TAPS; p++) vec_store(to + (o * TAPS + p) * VEC, values[p]);
    }
}

/* Some input channels of a panel: lines of the result are written whole. */
static void grad_store(const struct grad_run *r, uint32_t panel, uint32_t q, uint32_t c, uint32_t count)
{
    const struct wino_grad *g = r->g;
    const struct conv_shape *s = &g->s;
    float taps[TOGETHER][TAPS * TAPS * VEC];
    for (uint32_t v = 0; v < WINO_VECS(VEC); v++) {
        const uint32_t channel = panel * g->panel + v * VEC;
        for (uint32_t i = 0; i < count; i++)
            grad_taps(r, r->sum + ((uint64_t)q * g->ins + c + i) * g->panel + v * VEC, taps[i]);
        for (uint32_t lane = 0; lane < VEC && channel + lane < g->outs; lane++)
            for (uint32_t i = 0; i < count; i++) {
                float *to = (float *)r->call->data[2] + (c + i) * s->y[0] + (int64_t)(channel + lane) * s->y[1];
                for (uint32_t k = 0; k < TAPS * TAPS; k++)
                    to[k / TAPS * s->y[3] + k % TAPS * s->y[4]] = taps[i][k * VEC + lane];
            }
    }
}

static void grad_panels(const struct grad_run *r, uint32_t panel, uint32_t panels)
{
    const struct wino_grad *g = r->g;
    for (uint32_t first = 0, count; first < g->tiles; first += count) {
        count = BASE_MIN(g->tiles - first, g->block);
        grad_in(r, first, count);
        for (uint32_t q = 0; q < panels; q++)
            grad_out(r, first, count, panel + q, q);
        grad_products(r, count, panels, first > 0);
    }
    for (uint32_t q = 0; q < panels; q++)
        for (uint32_t c = 0; c < g->ins; c += TOGETHER)
            grad_store(r, panel + q, q, c, BASE_MIN(g->ins - c, TOGETHER));
}

void KERN_ISA_PASTE(wino_grad_, ISA)(const struct kern_call *call, const struct wino_grad *g, uint64_t begin,
                                     uint64_t end)
{
    struct grad_run r = { .g = g, .call = call, .in = call->worker_scratch };
    r.out = r.in + g->out;
    r.sum = r.in + g->sum;
    r.patch = r.in + g->patch;
    for (uint32_t t = 0; t < TILE; t++) {
        double unit[TILE] = { 0 }, values[SIZE];
        unit[t] = 1;
        wino_values(SIZE, TILE, unit, values, 1);
        for (uint32_t i = 0; i < SIZE; i++)
            r.matrix[i * TILE + t] = (float)values[i];
    }
    for (uint64_t panel = begin, panels; panel < end; panel += panels) {
        panels = BASE_MIN(end - panel, g->cut);
        grad_panels(&r, (uint32_t)panel, (uint32_t)panels);
    }
}
