/* SPDX-License-Identifier: Apache-2.0 */
/* The gradients of pooling. */
#include "kernels/core/isa.h"
#include "kernels/pool/pool_band.h"
#include "kernels/resample/scatter_add.h"
#include "kernels/row/row.h"

/* ---- average: every row of dX gathers the rows of dY whose windows contain it ---- */

struct pool_grad {
    struct pool_shape s;
    struct scatter_add scatter_add;
    const struct kern_call *call;
    float *share[3]; /* 1 / elements that an average divides by along each dimension */
    float *row, *sum;
};

static void pool_grad_init(struct pool_grad *g, const struct kern_call *call)
{
    g->call = call;
    pool_shape_init(call->op, &g->s);
    float *scratch = call->worker_scratch;
    for (uint32_t d = 0; d < 3; d++) {
        g->share[d] = scratch;
        scratch += g->s.out[d];
        for (int64_t i = 0; i < g->s.out[d]; i++) {
            double count = pool_count(&g->s, d, i, call->op->u.pool_grad.include_padding);
            g->share[d][i] = count > 0 ? (float)(1 / count) : 0;
        }
    }
    g->row = scratch + SCATTER_ADD_STEP; /* rows are processed in whole vectors */
    g->sum = g->row + g->s.out[2];
    scatter_add_init(&g->scatter_add, g->s.in[2], g->s.stride[2], g->sum + g->s.out[2] + SCATTER_ADD_STEP);
}

/* The windows [*begin, *end) that contain position `at` of dimension d. */
static void pool_grad_windows(const struct pool_shape *s, uint32_t d, int64_t at, int64_t *begin, int64_t *end)
{
    int64_t far = at + s->pad[d] - s->window[d] + 1, near = at + s->pad[d];
    *begin = far > 0 ? scatter_add_div(far + s->stride[d] - 1, s->stride[d]) : 0;
    *end = BASE_MIN(scatter_add_div(near, s->stride[d]) + 1, s->out[d]);
}

/* sum += row * share, padded with zeros to a whole vector. */
DENSE_INLINE void pool_grad_take(float *sum, const float *row, float share, int64_t count)
{
    vec factor = vec_set(share);
    int64_t i = 0;
    for (; i + VEC <= count; i += VEC)
        vec_store(sum + i, vec_fma(vec_load(row + i), factor, vec_load(sum + i)));
    if (i < count)
        vec_store(sum + i,
                  vec_fma(vec_load_part(row + i, (uint32_t)(count - i), vec_set(0)), factor, vec_load(sum + i)));
}

/* sum = the total gradient of the windows that contain the row (i0, i1) of dX; false if there are none. */
static bool pool_grad_gather(const struct pool_grad *g, int64_t plane, int64_t i0, int64_t i1)
{
    const struct pool_shape *s = &g->s;
    const struct kern_view *dy = &g->call->op->tensors[0];
    int64_t begin[2], end[2];
    pool_grad_windows(s, 0, i0, &begin[0], &end[0]);
    pool_grad_windows(s, 1, i1, &begin[1], &end[1]);
    if (begin[0] >= end[0] || begin[1] >= end[1])
        return false;
    for (int64_t i = 0; i < s->out[2]; i += VEC)
        vec_store(g->sum + i, vec_set(0));
    for (int64_t o0 = begin[0]; o0 < end[0]; o0++) {
        for (int64_t o1 = begin[1]; o1 < end[1]; o1++) {
            int64_t at = plane + o0 * s->y[2] + o1 * s->y[3];
            const float *row = (const float *)g->call->data[0] + at;
            if (dy->type != DML_TENSOR_DATA_TYPE_FLOAT32 || (s->y[4] != 1 && s->out[2] > 1)) {
                dense_load_row(g->call->data[0], at, s->y[4], dy->type, (uint32_t)s->out[2], g->row);
                row = g->row;
            }
            pool_grad_take(g->sum, row, g->share[0][o0] * g->share[1][o1], s->out[2]);
        }
    }
    for (int64_t i = 0; i < s->out[2]; i += VEC)
        vec_store(g->sum + i, vec_load(g->sum + i) * vec_load(g->share[2] + i));
    return true;
}

/* Few wide windows: each is added in place. */
static void pool_grad_wide(const struct pool_grad *g, float *line)
{
    const struct pool_shape *s = &g->s;
    memset(line, 0, (size_t)s->in[2] * sizeof(float));
    for (int64_t o = 0; o < s->out[2]; o++) {
        int64_t first = o * s->stride[2] - s->pad[2];
        int64_t end = BASE_MIN(first + s->window[2], s->in[2]);
        float value = g->sum[o];
        for (int64_t i = BASE_MAX(first, 0); i < end; i++)
            line[i] += value;
    }
}

static void pool_grad_average(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const struct kern_view *dx = &call->op->tensors[1];
    struct pool_grad g;
    pool_grad_init(&g, call);
    const struct pool_shape *s = &g.s;
    bool direct = dx->type == DML_TENSOR_DATA_TYPE_FLOAT32 && dx->strides[dx->rank - 1] == 1;
    for (uint64_t unit = begin; unit < end; unit++) {
        uint32_t at[KERN_RANK_MAX];
        dense_row_at(dx, unit, at);
        int64_t i0 = dx->rank > 4 ? at[2] : 0, i1 = dx->rank > 3 ? at[dx->rank - 2] : 0;
        int64_t to = dense_offset(dx, at, dx->rank);
        float *line = direct ? (float *)call->data[1] + to : g.scatter_add.line;
        const float *sums = line;
        if (!pool_grad_gather(&g, at[0] * s->y[0] + at[1] * s->y[1], i0, i1)) {
            memset(line, 0, (size_t)s->in[2] * sizeof(float));
        } else if (s->out[2] < s->window[2]) {
            pool_grad_wide(&g, line);
        } else {
            scatter_add_clear(&g.scatter_add);
            for (int64_t k = 0; k < s->window[2]; k++)
                scatter_add_line(&g.scatter_add, s->stride[2], k - s->pad[2], g.sum, s->out[2]);
            sums = scatter_add_end(&g.scatter_add, line);
        }
        if (sums != line || !direct)
            dense_store_row(call->data[1], to, dx->strides[dx->rank - 1], dx->type, (uint32_t)s->in[2], sums);
    }
}

/* ---- max: the first maxima of a channel are found band by band, and dY is added there ---- */

static void pool_grad_channel(const struct kern_call *call, const struct pool_band *b, float *row, int64_t *at,
                              float *sums)
{
    const struct pool_shape *s = &b->s;
    DML_TENSOR_DATA_TYPE type = call->op->tensors[1].type;
    for (int64_t band = 0; band < s->out[0] * s->out[1]; band += BASE_MIN(b->w.rows, s->out[1] - band % s->out[1])) {
        int64_t first = band % s->out[1], rows = BASE_MIN(b->w.rows, s->out[1] - first);
        at[2] = band / s->out[1];
        pool_band_run(b, at[0] * s->x[0] + at[1] * s->x[1], at[2], first, rows);
        for (int64_t r = 0; r < rows; r++) {
            at[3] = first + r;
            int64_t from = pool_offset(s->y, at);
            const uint32_t *place = pool_places(b, at, r);
            dense_load_row(call->data[1], from, s->y[4], type, (uint32_t)s->out[2], row);
            for (int64_t i = 0; i < s->out[2]; i++) {
                if (place[i] != POOL_NOWHERE)
                    sums[place[i]] += row[i];
            }
        }
    }
}

static void pool_grad_store(const struct kern_call *call, const int64_t *at, const float *sums)
{
    const struct kern_view *dx = &call->op->tensors[2];
    uint32_t where[KERN_RANK_MAX], width = dx->sizes[dx->rank - 1];
    uint64_t rows = 1;
    for (uint32_t d = 2; d + 1 < dx->rank; d++)
        rows *= dx->sizes[d];
    for (uint64_t row = 0; row < rows; row++) {
        dense_row_at(dx, ((uint64_t)at[0] * dx->sizes[1] + (uint64_t)at[1]) * rows + row, where);
        dense_store_row(call->data[2], dense_offset(dx, where, dx->rank), dx->strides[dx->rank - 1], dx->type, width,
                        sums + row * width);
    }
}

static void pool_grad_max(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const struct kern_view *dx = &call->op->tensors[2];
    struct pool_band b = { .x = call->data[0], .kind = POOL_TOP };
    bool in_place = pool_grad_in_place(call->op);
    pool_shape_init(call->op, &b.s);
    pool_window_init(call->op, &b.s, &b.w);
    window_band_init(&b.w, &b.band, call->worker_scratch);
    b.place = (int32_t *)call->worker_scratch + window_floats(&b.w);
    float *row = (float *)(b.place + b.w.run_floats), *sums = row + b.s.out[2];
    size_t plane = (size_t)(b.s.in[0] * b.s.in[1] * b.s.in[2]);
    for (uint64_t unit = begin; unit < end; unit++) {
        int64_t at[5] = { (int64_t)(unit / dx->sizes[1]), (int64_t)(unit % dx->sizes[1]) };
        if (in_place)
            sums = (float *)call->data[2] + at[0] * dx->strides[0] + at[1] * dx->strides[1];
        memset(sums, 0, plane * sizeof(float));
        pool_grad_channel(call, &b, row, at, sums);
        if (!in_place)
            pool_grad_store(call, at, sums);
    }
}

/* Adds a row of dY where its indices say. */
static void pool_grad_row(const struct kern_call *call, const struct pool_shape *s, const int64_t *at, const float *row,
                          float *sums)
{
    const DML_TENSOR_DATA_TYPE type = call->op->tensors[1].type;
    const uint32_t plane = (uint32_t)(s->in[1] * s->in[2]), width = (uint32_t)s->in[2];
    int64_t from = pool_offset(s->index, at);
    for (int64_t i = 0; i < s->out[2]; i++, from += s->index[4]) {
        const int64_t place = pool_load_index(s, call->data[1], type, from);
        const uint32_t layer = (uint32_t)place / plane, rest = (uint32_t)place % plane;
        if (place >= 0 && pool_has(s, 0, at[2], layer) && pool_has(s, 1, at[3], rest / width) &&
            pool_has(s, 2, i, rest % width))
            sums[place] += row[i];
    }
}

static void pool_grad_indexed(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const struct kern_view *dx = &call->op->tensors[2];
    const bool in_place = pool_grad_in_place(call->op);
    struct pool_shape s;
    pool_shape_init(call->op, &s);
    float *row = call->worker_scratch, *sums = row + s.out[2];
    for (uint64_t unit = begin; unit < end; unit++) {
        int64_t at[5] = { (int64_t)(unit / dx->sizes[1]), (int64_t)(unit % dx->sizes[1]) };
        if (in_place)
            sums = (float *)call->data[2] + at[0] * dx->strides[0] + at[1] * dx->strides[1];
        memset(sums, 0, (size_t)(s.in[0] * s.in[1] * s.in[2]) * sizeof(float));
        for (at[2] = 0; at[2] < s.out[0]; at[2]++) {
            for (at[3] = 0; at[3] < s.out[1]; at[3]++) {
                dense_load_row(call->data[0], pool_offset(s.y, at), s.y[4], call->op->tensors[0].type,
                               (uint32_t)s.out[2], row);
                pool_grad_row(call, &s, at, row, sums);
            }
        }
        if (!in_place)
            pool_grad_store(call, at, sums);
    }
}

static void pool_grad_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    if (call->op->u.pool_grad.has_indices)
        pool_grad_indexed(call, begin, end);
    else if (call->op->u.pool_grad.mode == KERN_POOL_MAX)
        pool_grad_max(call, begin, end);
    else
        pool_grad_average(call, begin, end);
}

KERN_ISA_RUN(pool_grad_f32, pool_grad_run)
