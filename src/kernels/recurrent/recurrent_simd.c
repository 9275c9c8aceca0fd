/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of recurrent.h. */
#include "base/parallel.h"
#include "kernels/core/isa.h"
#include "kernels/gemm/ukernel.h"
#include "kernels/recurrent/recurrent.h"
#include "kernels/recurrent/recurrent_bytes.h"
#include "kernels/row/row.h"

struct recurrent {
    const struct kern_call *call;
    const struct kern_recurrent *net;
    const struct kern_map_isa *isa;
    uint32_t steps, batch, hidden, gates;
    uint32_t width; /* hidden rounded up to whole panels: elements after `hidden` are zero in h and unused elsewhere */
    uint32_t direction;
    bool team;                                            /* each GEMM is distributed over the calling thread's team */
    uint32_t rows;                                        /* in this block, those with the most steps first */
    uint32_t row[RECURRENT_ROWS], length[RECURRENT_ROWS]; /* in the batch */
    float *h, *c, *mixed, *sums;                          /* of the rows; sums: five gates each */
    float *peepholes, *zeros, *reset_bias;
    /* R in 8 bits: */
    bool vnni;
    uint8_t *levels; /* of the rows, in the memory of the same number of floats */
    uint64_t levels_row;
    struct recurrent_rounded *rounded;
    float *scales;        /* of four gates */
    int32_t *zero_points; /* likewise */
};

enum { RECURRENT_SUMS = 5 };

DENSE_INLINE void recurrent_tile(uint32_t rows, struct ukernel t)
{
    t.rows = rows;
    t.vecs = 2;
    t.splits = rows == 1 ? 4 : rows == 2 ? 2 : 1;
    t.group = VEC == 16 ? 4 : t.splits;
    t.b_type = DML_TENSOR_DATA_TYPE_FLOAT32;
    t.a_step = 1;
    t.b_row = KERN_RECURRENT_PANEL;
    t.add = true;
    ukernel(&t);
}

#define RECURRENT_TILE (VEC == 16 ? 8 : 6) /* rows whose sums fit in the registers */

/* C[m][0 .. 2 VEC) += A[m] times two vectors of each of a panel's rows. */
static void recurrent_panel(uint32_t rows, struct ukernel t)
{
    for (uint32_t m = 0, count; m < rows; m += count, t.a += count * t.a_row, t.c += count * t.c_row) {
        count = BASE_MIN(rows - m, RECURRENT_TILE);
        UKERNEL_BY_COUNT(count, RECURRENT_TILE, recurrent_tile, t)
    }
}

/* t->c[m][n] += t->a[m] . R's row n for `count` rows from element `at` on, each contiguous. */
DENSE_INLINE void recurrent_dots(DML_TENSOR_DATA_TYPE type, struct ukernel t, uint32_t rows, int64_t at, int64_t row,
                                 uint32_t count)
{
    for (uint32_t m = 0, some; m < rows; m += some, t.a += some * t.a_row, t.c += some * t.c_row) {
        some = rows - m >= 4 ? 4 : rows - m >= 2 ? 2 : 1;
        for (uint32_t n = 0; n < count; n++)
            if (some == 4)
                ukernel_dots(4, type, &t, at + n * row, t.c + n);
            else if (some == 2)
                ukernel_dots(2, type, &t, at + n * row, t.c + n);
            else
                ukernel_dots(1, type, &t, at + n * row, t.c + n);
    }
}

/* Some gates' sums += a times R. */
struct recurrent_job {
    const struct recurrent *x;
    const float *a;
    uint32_t rows, count;
    uint8_t gates[4];
};

#if defined(__AVX2__)
/* With R in 8 bits: the sums of KERN_RECURRENT_PANEL hidden values of one gate from `n` on. */
DENSE_INLINE void recurrent_bytes_panel(enum recurrent_form form, const struct recurrent *x, uint32_t rows,
                                        uint32_t gate, uint32_t n)
{
    struct recurrent_bytes_tile t = { .a = x->levels, .a_row = x->levels_row, .rounded = x->rounded };
    const uint64_t depth = base_align_up(x->hidden, 4), lines = ((uint64_t)x->direction * x->gates + gate) * x->width;
    const uint32_t end = n + KERN_RECURRENT_PANEL, across = VEC == 8 && rows == 1 ? 2 : 1;
    t.packs = (uint32_t)depth / 4;
    t.c_row = RECURRENT_SUMS * x->width;
    for (; n < end; n += across * 2 * VEC) {
        t.codes = (const int8_t *)x->call->data[1] + RECURRENT_BYTES_HEAD + (lines + n) * (depth + sizeof(int32_t));
        t.scales = x->scales + gate * x->width + n;
        t.zeros = x->zero_points + gate * x->width + n;
        t.c = x->sums + gate * x->width + n;
        if (across == 2)
            recurrent_bytes_tile(1, 2, form, t);
        else
            recurrent_bytes_rows(rows, 1, form, t);
    }
}

static enum recurrent_form recurrent_form(const struct recurrent *x)
{
    const struct recurrent_bytes_head *head = x->call->data[1];
    return VEC == 16 || x->vnni ? RECURRENT_VNNI : head->wide ? RECURRENT_WIDE : RECURRENT_NARROW;
}

static void recurrent_bytes_part(const struct recurrent *x, uint32_t rows, uint32_t gate, uint32_t n)
{
    switch (recurrent_form(x)) {
    case RECURRENT_VNNI:
        recurrent_bytes_panel(RECURRENT_VNNI, x, rows, gate, n);
        break;
    case RECURRENT_NARROW:
        recurrent_bytes_panel(RECURRENT_NARROW, x, rows, gate, n);
        break;
    case RECURRENT_WIDE:
        recurrent_bytes_panel(RECURRENT_WIDE, x, rows, gate, n);
        break;
    }
}
#endif

/* The sums of KERN_RECURRENT_PANEL hidden values of one gate. */
static void recurrent_part(const struct recurrent_job *job, uint32_t gate, uint32_t part)
{
    const struct recurrent *x = job->x;
    const struct kern_view *r = &x->call->op->tensors[1];
    uint32_t n = part * KERN_RECURRENT_PANEL, count = BASE_MIN(x->hidden - n, KERN_RECURRENT_PANEL);
    int64_t at = dense_offset(r, (uint32_t[]){ x->direction, gate }, 2) + part * r->strides[2];
    struct ukernel t = { .depth = x->hidden, .a = job->a, .a_row = x->width, .b = x->call->data[1], .add = true };
    t.c = x->sums + gate * x->width + n;
    t.c_row = RECURRENT_SUMS * x->width;
#if defined(__AVX2__)
    if (x->net->scale) {
        recurrent_bytes_part(x, job->rows, gate, n);
        return;
    }
#endif
    if (!x->net->panels) {
        at += (n - part) * r->strides[2];
        VEC_BY_TYPE(r->type, recurrent_dots, t, job->rows, at, r->strides[2], count);
        return;
    }
    for (uint32_t v = 0; v < KERN_RECURRENT_PANEL; v += 2 * VEC, t.c += 2 * VEC) {
        t.b = (const float *)x->call->data[1] + at + v;
        recurrent_panel(job->rows, t);
    }
}

static void recurrent_parts(void *context, size_t begin, size_t end, unsigned worker)
{
    const struct recurrent_job *job = context;
    size_t parts = job->x->width / KERN_RECURRENT_PANEL;
    for (size_t i = begin; i < end; i++)
        recurrent_part(job, job->gates[i / parts], (uint32_t)(i % parts));
}

static void recurrent_round_rows(const struct recurrent *x, const float *a, uint32_t rows)
{
#if defined(__AVX2__)
    for (uint32_t m = 0; x->net->scale && m < rows; m++)
        x->rounded[m] = recurrent_round(a + m * x->width, x->width, recurrent_form(x) == RECURRENT_WIDE,
                                        x->levels + m * x->levels_row);
#endif
}

static void recurrent_product(struct recurrent_job *job)
{
    const struct recurrent *x = job->x;
    size_t parts = (size_t)job->count * (x->width / KERN_RECURRENT_PANEL);
    uint64_t cost = (uint64_t)job->rows * x->hidden * KERN_RECURRENT_PANEL;
    recurrent_round_rows(x, job->a, job->rows);
    if (x->team)
        base_parallel_for(parts, BASE_MAX(RECURRENT_TEAM_MIN / 4 / BASE_MAX(cost, 1), 1), recurrent_parts, job);
    else
        recurrent_parts(job, 0, parts, 0);
}

static void recurrent_hardmax(const struct recurrent *x, float *out, const float *in)
{
    uint32_t top = 0;
    for (uint32_t n = 1; n < x->hidden; n++) {
        if (in[n] > in[top] || (in[top] != in[top] && in[n] == in[n]))
            top = n;
    }
    memset(out, 0, x->width * sizeof(*out));
    out[top] = 1;
}

static void recurrent_activate(const struct recurrent *x, uint32_t which, float *out, const float *in)
{
    const struct kern_activation *activation = &x->net->activations[x->direction][which];
    if (x->net->has_clip) {
        x->isa->exec(&x->net->clip, out, (const void *const[]){ in, in, in }, x->width);
        in = out;
    }
    if (activation->mode == KERN_ACTIVATION_HARDMAX)
        recurrent_hardmax(x, out, in);
    else if (activation->mode == KERN_ACTIVATION_MAP)
        x->isa->exec(&activation->inst, out, (const void *const[]){ in, in, in }, x->width);
    else if (out != in)
        memcpy(out, in, x->width * sizeof(*out));
}

/* out = a * b + out */
static void recurrent_add_product(const struct recurrent *x, float *out, const float *a, const float *b)
{
    for (uint32_t n = 0; n < x->width; n += VEC)
        vec_store(out + n, vec_fma(vec_load(a + n), vec_load(b + n), vec_load(out + n)));
}

static void recurrent_lstm(const struct recurrent *x, uint32_t m)
{
    uint32_t width = x->width;
    float *i = x->sums + m * RECURRENT_SUMS * width, *o = i + width, *f = o + width, *g = f + width;
    float *h = x->h + m * width, *c = x->c + m * width;
    if (x->net->peepholes) {
        recurrent_add_product(x, i, x->peepholes, c);
        recurrent_add_product(x, f, x->peepholes + 2 * width, c);
    }
    recurrent_activate(x, 0, i, i);
    if (!x->net->couple)
        recurrent_activate(x, 0, f, f);
    recurrent_activate(x, 1, g, g);
    for (uint32_t n = 0; n < width; n += VEC) {
        vec in = vec_load(i + n), keep = vec_load(f + n);
        if (x->net->couple)
            keep = vec_set(1) - in;
        vec_store(c + n, vec_fma(keep, vec_load(c + n), in * vec_load(g + n)));
    }
    if (x->net->peepholes)
        recurrent_add_product(x, o, x->peepholes + width, c);
    recurrent_activate(x, 0, o, o);
    recurrent_activate(x, 2, h, c);
    for (uint32_t n = 0; n < width; n += VEC)
        vec_store(h + n, vec_load(h + n) * vec_load(o + n));
}

/* The gates z and r; then the input of the third gate's product. */
static void recurrent_gru_begin(const struct recurrent *x, uint32_t m)
{
    uint32_t width = x->width;
    float *z = x->sums + m * RECURRENT_SUMS * width, *r = z + width, *candidate = r + width, *input = candidate + width;
    float *h = x->h + m * width, *mixed = x->mixed + m * width;
    recurrent_activate(x, 0, z, z);
    recurrent_activate(x, 0, r, r);
    if (x->net->linear_before_reset) {
        for (uint32_t n = 0; n < width; n += VEC)
            vec_store(candidate + n, vec_fma(vec_load(r + n), vec_load(candidate + n), vec_load(input + n)));
        return;
    }
    for (uint32_t n = 0; n < x->hidden; n += VEC)
        vec_store(mixed + n, vec_load(r + n) * vec_load(h + n));
    memset(mixed + x->hidden, 0, (width - x->hidden) * sizeof(*mixed));
}

static void recurrent_gru_end(const struct recurrent *x, uint32_t m)
{
    uint32_t width = x->width;
    float *z = x->sums + m * RECURRENT_SUMS * width, *candidate = z + 2 * width, *h = x->h + m * width;
    recurrent_activate(x, 1, candidate, candidate);
    for (uint32_t n = 0; n < width; n += VEC) {
        vec keep = vec_load(z + n);
        vec_store(h + n, vec_fma(keep, vec_load(h + n), (vec_set(1) - keep) * vec_load(candidate + n)));
    }
}

static void recurrent_load_row(const struct recurrent *x, uint32_t tensor, const uint32_t *at, float *out)
{
    const struct kern_view *view = &x->call->op->tensors[tensor];
    dense_load_row(x->call->data[tensor], dense_offset(view, at, view->rank - 1), view->strides[view->rank - 1],
                   view->type, x->hidden, out);
}

static void recurrent_store_row(const struct recurrent *x, uint32_t tensor, const uint32_t *at, const float *in)
{
    const struct kern_view *view = &x->call->op->tensors[tensor];
    dense_store_row(x->call->data[tensor], dense_offset(view, at, view->rank - 1), view->strides[view->rank - 1],
                    view->type, x->hidden, in);
}

/* Scales and zero points of the direction's codes. */
static void recurrent_load_parameters(const struct recurrent *x)
{
    const struct kern_op *op = x->call->op;
    const struct recurrent_bytes_head *head = x->call->data[1];
    for (uint32_t gate = 0; gate < x->gates; gate++) {
        float *scales = x->scales + gate * x->width;
        int32_t *zeros = x->zero_points + gate * x->width;
        recurrent_load_row(x, x->net->scale, (uint32_t[]){ x->direction, gate, 0 }, scales);
        for (uint32_t n = 0; n < x->hidden; n++) {
            int64_t at = dense_offset(&op->tensors[x->net->zero], (uint32_t[]){ x->direction, gate, n }, 3);
            int32_t zero = x->net->zero ? (int32_t)dense_load(x->call->data[x->net->zero], at, op->tensors[1].type) : 0;
            zeros[n] = zero - head->center;
        }
    }
}

static uint32_t recurrent_time(const struct recurrent *x, uint32_t m, uint32_t step)
{
    return x->net->reverse[x->direction] ? x->length[m] - 1 - step : step;
}

/* The initial values of the products. */
static void recurrent_begin(const struct recurrent *x, uint32_t m, uint32_t step)
{
    uint32_t at[] = { recurrent_time(x, m, step), x->row[m], x->direction, 0, 0 };
    float *sums = x->sums + m * RECURRENT_SUMS * x->width;
    bool reset = x->net->linear_before_reset;
    for (; at[3] < x->gates; at[3]++)
        recurrent_load_row(x, 0, at, sums + (at[3] + (reset && at[3] == 2)) * x->width);
    if (reset)
        memcpy(sums + 2 * x->width, x->reset_bias, x->width * sizeof(*sums));
}

static void recurrent_cell(const struct recurrent *x, uint32_t rows)
{
    bool late = x->net->cell == KERN_CELL_GRU && !x->net->linear_before_reset;
    struct recurrent_job job = { .x = x, .a = x->h, .rows = rows };
    for (uint32_t gate = 0; gate < x->gates - late; gate++) {
        if (!x->net->couple || gate != 2)
            job.gates[job.count++] = (uint8_t)gate;
    }
    recurrent_product(&job);
    switch (x->net->cell) {
    case KERN_CELL_RNN:
        for (uint32_t m = 0; m < rows; m++)
            recurrent_activate(x, 0, x->h + m * x->width, x->sums + m * RECURRENT_SUMS * x->width);
        break;
    case KERN_CELL_GRU:
        for (uint32_t m = 0; m < rows; m++)
            recurrent_gru_begin(x, m);
        job = (struct recurrent_job){ .x = x, .a = x->mixed, .rows = rows, .count = 1, .gates = { 2 } };
        if (late)
            recurrent_product(&job);
        for (uint32_t m = 0; m < rows; m++)
            recurrent_gru_end(x, m);
        break;
    case KERN_CELL_LSTM:
        for (uint32_t m = 0; m < rows; m++)
            recurrent_lstm(x, m);
        break;
    }
}

static void recurrent_step(const struct recurrent *x, uint32_t rows, uint32_t step)
{
    for (uint32_t m = 0; m < rows; m++)
        recurrent_begin(x, m, step);
    recurrent_cell(x, rows);
    for (uint32_t m = 0; m < rows; m++) {
        float *h = x->h + m * x->width;
        memset(h + x->hidden, 0, (x->width - x->hidden) * sizeof(*h));
        if (x->net->sequence)
            recurrent_store_row(x, x->net->sequence,
                                (uint32_t[]){ recurrent_time(x, m, step), x->direction, x->row[m], 0 }, h);
    }
}

/* The block's rows by decreasing length, so that those still running are always the first. */
static void recurrent_order(struct recurrent *x, uint32_t first)
{
    const struct kern_view *view = &x->call->op->tensors[x->net->lengths];
    for (uint32_t i = 0; i < x->rows; i++) {
        uint32_t row = first + i, length = x->steps, at = i;
        if (x->net->lengths)
            length = ((const uint32_t *)x->call->data[x->net->lengths])[dense_offset(view, &row, 1)];
        length = BASE_MIN(length, x->steps);
        for (; at > 0 && x->length[at - 1] < length; at--) {
            x->length[at] = x->length[at - 1];
            x->row[at] = x->row[at - 1];
        }
        x->length[at] = length;
        x->row[at] = row;
    }
}

static void recurrent_finish(const struct recurrent *x, uint32_t m)
{
    const struct kern_recurrent *net = x->net;
    uint32_t at[] = { x->direction, x->row[m], 0 };
    if (net->last_hidden)
        recurrent_store_row(x, net->last_hidden, at, x->length[m] ? x->h + m * x->width : x->zeros);
    if (net->last_memory)
        recurrent_store_row(x, net->last_memory, at, x->length[m] ? x->c + m * x->width : x->zeros);
    for (uint32_t t = x->length[m]; net->sequence && t < x->steps; t++)
        recurrent_store_row(x, net->sequence, (uint32_t[]){ t, x->direction, x->row[m], 0 }, x->zeros);
}

static void recurrent_block(struct recurrent *x, uint32_t first)
{
    uint32_t active = x->rows;
    recurrent_order(x, first);
    for (uint32_t m = 0; m < x->rows; m++) {
        uint32_t at[] = { x->direction, x->row[m], 0 };
        if (x->net->hidden)
            recurrent_load_row(x, x->net->hidden, at, x->h + m * x->width);
        if (x->net->memory)
            recurrent_load_row(x, x->net->memory, at, x->c + m * x->width);
    }
    for (uint32_t gate = 0; x->net->peepholes && gate < 3; gate++)
        recurrent_load_row(x, x->net->peepholes, (uint32_t[]){ x->direction, gate, 0 }, x->peepholes + gate * x->width);
    if (x->net->reset_bias)
        recurrent_load_row(x, x->net->reset_bias, (uint32_t[]){ x->direction, 0 }, x->reset_bias);
    if (x->net->scale)
        recurrent_load_parameters(x);
    for (uint32_t step = 0; step < x->length[0]; step++) {
        while (x->length[active - 1] <= step)
            active--;
        recurrent_step(x, active, step);
    }
    for (uint32_t m = 0; m < x->rows; m++)
        recurrent_finish(x, m);
}

static void recurrent_run(const struct kern_call *call, bool vnni, uint64_t begin, uint64_t end)
{
    struct recurrent_rounded rounded[RECURRENT_ROWS];
    const uint32_t *sizes = call->op->tensors[0].sizes;
    struct recurrent x = { .call = call, .net = &call->op->u.recurrent, .isa = &KERN_ISA_TABLE(kern_map_isa_) };
    x.vnni = vnni;
    x.rounded = rounded;
    x.steps = sizes[0];
    x.batch = sizes[1];
    x.gates = sizes[3];
    x.hidden = sizes[4];
    x.width = (uint32_t)recurrent_width(x.hidden);
    x.team = end - begin == (uint64_t)x.batch * sizes[2] && recurrent_by_team(call->op, base_parallel_threads());
    uint64_t most = BASE_MIN(x.batch, RECURRENT_ROWS), part = most * x.width;
    x.h = call->worker_scratch;
    x.c = x.h + part;
    x.mixed = x.c + part;
    x.sums = x.mixed + part;
    x.zeros = x.sums + RECURRENT_SUMS * part;
    x.peepholes = x.zeros + x.width;
    x.reset_bias = x.peepholes + 3ull * x.width;
    uint64_t clear = RECURRENT_ROW_PARTS * part + RECURRENT_SAME_PARTS * (uint64_t)x.width;
    if (x.net->scale) {
        x.scales = x.reset_bias + x.width;
        x.zero_points = (int32_t *)(x.scales + 4ull * x.width);
        x.levels = (uint8_t *)(x.zero_points + 4ull * x.width);
        x.levels_row = x.width * sizeof(int16_t);
        clear += RECURRENT_BYTES_PARTS * (uint64_t)x.width;
    }
    while (begin < end) {
        uint32_t first = (uint32_t)(begin % x.batch);
        x.direction = (uint32_t)(begin / x.batch);
        x.rows = (uint32_t)BASE_MIN(end - begin, BASE_MIN((uint64_t)x.batch - first, most));
        memset(x.h, 0, clear * sizeof(float));
        recurrent_block(&x, first);
        begin += x.rows;
    }
}

KERN_ISA_RUN_WITH(recurrent_f32, recurrent_run(call, false, begin, end))

#if defined(__AVX512F__)
void kern_recurrent_bytes_vnni_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    recurrent_run(call, true, begin, end);
}
#elif defined(__AVX2__)
void kern_recurrent_bytes_avx_vnni_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    recurrent_run(call, true, begin, end);
}

void kern_recurrent_bytes_avx2_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    recurrent_run(call, false, begin, end);
}
#endif
