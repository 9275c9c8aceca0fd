/* SPDX-License-Identifier: Apache-2.0 */
/* The geometry of pooling, accept functions of its vectorised kernels, and their work. */
#include "kernels/pool/pool.h"
#include "kernels/resample/scatter_add.h"

#include <math.h>

bool pool_shape_init(const struct kern_op *op, struct pool_shape *s)
{
    const struct kern_pool *pool = &op->u.pool; /* of gradients likewise */
    const bool grad = op->kind == KERN_POOL_GRAD, indexed = grad && pool->has_indices;
    const bool grad_max = grad && pool->mode == KERN_POOL_MAX && !indexed;
    const struct kern_view *x = &op->tensors[indexed ? 2 : grad && !grad_max], *y = &op->tensors[grad ? grad_max : 1];
    const struct kern_view *index = !pool->has_indices ? y : &op->tensors[indexed ? 1 : 2];
    const uint32_t rank = pool->spatial + 2, missing = KERN_SPATIAL_MAX - pool->spatial;
    if (!pool->spatial || pool->spatial > KERN_SPATIAL_MAX || x->rank != rank || y->rank != rank || index->rank != rank)
        return false;
    *s = (struct pool_shape){ .area = 1, .in = { 1, 1, 1 }, .out = { 1, 1, 1 }, .window = { 1, 1, 1 } };
    for (uint32_t d = 0; d < missing; d++)
        s->stride[d] = s->dilation[d] = 1;
    for (uint32_t dim = 0; dim < rank; dim++) {
        const uint32_t to = dim < 2 ? dim : dim + missing;
        s->x[to] = x->strides[dim];
        s->y[to] = y->strides[dim];
        s->index[to] = index->strides[dim];
    }
    for (uint32_t from = 0; from < pool->spatial; from++) {
        const uint32_t d = from + missing;
        s->in[d] = x->sizes[from + 2];
        s->out[d] = y->sizes[from + 2];
        s->window[d] = pool->window[from];
        s->stride[d] = pool->strides[from];
        s->dilation[d] = pool->dilations[from];
        s->pad[d] = pool->pad_start[from];
        s->area = s->area > INT64_MAX / s->window[d] ? INT64_MAX : s->area * s->window[d];
    }
    return true;
}

void pool_window_init(const struct kern_op *op, const struct pool_shape *s, struct window *w)
{
    *w = (struct window){ .x_row = s->x[3],
                          .type = op->tensors[0].type,
                          .fill = op->u.pool.mode == KERN_POOL_MAX ? -INFINITY : 0 };
    for (int d = 0; d < 2; d++) {
        w->in[d] = s->in[d + 1];
        w->out[d] = s->out[d + 1];
        w->kernel[d] = s->window[d + 1];
        w->stride[d] = s->stride[d + 1];
        w->dilation[d] = s->dilation[d + 1];
        w->pad[d] = s->pad[d + 1];
    }
    window_plan_init(w);
}

static bool pool_global(const struct pool_shape *s)
{
    int64_t dense = 1;
    for (int d = 2; d >= 0; d--) {
        if (s->out[d] != 1 || s->pad[d] || s->window[d] != s->in[d] || s->dilation[d] != 1 ||
            (s->in[d] > 1 && s->x[d + 2] != dense))
            return false;
        dense *= s->in[d];
    }
    return true;
}

enum { LINE_WIDEST = 16 /* columns of a window */ };

/* Windows without gaps and column strides of 1 or 2. */
static bool pool_line_fits(const struct pool_shape *s, DML_TENSOR_DATA_TYPE type)
{
    return dense_is_short_float(type) && s->in[0] == 1 && s->out[0] == 1 && s->window[0] == 1 && s->pad[0] == 0 &&
           s->dilation[1] == 1 && s->dilation[2] == 1 && s->stride[2] <= 2 && s->window[2] <= LINE_WIDEST &&
           s->x[4] == 1 && s->in[2] < WINDOW_LIMIT && s->out[2] < WINDOW_LIMIT && s->pad[2] < WINDOW_LIMIT;
}

enum pool_way pool_way_of(const struct kern_op *op, const struct pool_shape *s)
{
    const bool indices = op->u.pool.has_indices, channels = op->tensors[1].sizes[1] > 1;
    if (channels && s->x[1] == 1 && (s->y[1] == 1 || s->x[4] != 1))
        return POOL_PIXELS;
    if (!indices && pool_global(s))
        return POOL_GLOBALS;
    if (!indices && pool_line_fits(s, op->tensors[0].type) && s->y[4] == 1)
        return POOL_LINES;
    if (!indices && pool_line_fits(s, op->tensors[0].type) && s->y[1] == 1)
        return POOL_LINES_TRANSPOSED;
    return POOL_PLANES;
}

int64_t pool_line_floats(const struct pool_shape *s)
{
    int64_t length = s->stride[2] * (int64_t)base_align_up((uint64_t)s->out[2], WINDOW_STEP) + s->window[2] + 1;
    return (int64_t)base_align_up((uint64_t)length, WINDOW_STEP) + 2 * WINDOW_STEP;
}

int64_t pool_tile_pitch(const struct kern_op *op)
{
    return (int64_t)base_align_up(op->tensors[1].sizes[1], WINDOW_STEP);
}

bool kern_pool_f32_accepts(const struct kern_op *op)
{
    const struct kern_pool *pool = &op->u.pool;
    struct pool_shape s;
    struct window w;
    DML_TENSOR_DATA_TYPE type = op->tensors[0].type;
    bool floats = dense_is_short_float(type);
    if (op->epilogue || !pool_shape_init(op, &s) || op->tensors[1].type != type)
        return false;
    /* Small integers are exact in FLOAT32, and no value is below its -infinity. */
    if (!floats && (pool->mode != KERN_POOL_MAX || !kern_type_bytes(type) || kern_type_bytes(type) > 2))
        return false;
    if (pool->mode == KERN_POOL_LP && pool->p != 1 && pool->p != 2)
        return false;
    if (pool->has_indices && (double)s.in[0] * (double)s.in[1] * (double)s.in[2] >= INT32_MAX)
        return false;
    enum pool_way way = pool_way_of(op, &s);
    if (way == POOL_PIXELS)
        return floats;
    if (way != POOL_PLANES)
        return true;
    if (!floats && !pool->has_indices && s.out[2] >= POOL_LANES)
        return false; /* rows of integers are combined without conversion */
    pool_window_init(op, &s, &w);
    return s.x[4] == 1 && window_floats(&w) <= 256 * 1024; /* stays in the second-level cache */
}

static uint64_t pool_cost(const struct pool_shape *s, uint64_t results)
{
    return (uint64_t)BASE_MIN(s->area, INT16_MAX) * results / 4;
}

void kern_pool_f32_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    struct pool_shape s;
    struct window w;
    pool_shape_init(op, &s);
    const uint64_t channels = op->tensors[1].sizes[1], planes = op->tensors[1].sizes[0] * channels;
    const uint64_t shares = (uint64_t)(s.out[1] + s.out[2]), pitch = base_align_up((uint64_t)s.out[2], WINDOW_STEP);
    uint64_t floats = 0, cost = pool_cost(&s, (uint64_t)(s.out[1] * s.out[2]));
    *out = (struct kern_work){ .units = planes };
    switch (pool_way_of(op, &s)) {
    case POOL_PIXELS:
        out->units = dense_rows(&op->tensors[1]) / channels;
        cost = pool_cost(&s, (uint64_t)s.out[2] * channels);
        floats = s.y[1] == 1 ? 0 : POOL_LANES * (uint64_t)pool_tile_pitch(op);
        break;
    case POOL_GLOBALS:
        break;
    case POOL_LINES:
        floats = (uint64_t)pool_line_floats(&s) + pitch + shares;
        break;
    case POOL_LINES_TRANSPOSED:
        out->units = op->tensors[1].sizes[0] * ((channels + POOL_LANES - 1) / POOL_LANES) * (uint64_t)s.out[1];
        cost = pool_cost(&s, POOL_LANES * (uint64_t)s.out[2]);
        floats = (uint64_t)pool_line_floats(&s) + POOL_LANES * pitch + shares;
        break;
    case POOL_PLANES:
        pool_window_init(op, &s, &w);
        out->units = planes * (uint64_t)s.out[0];
        floats = window_floats(&w) + shares + (op->u.pool.has_indices ? (uint64_t)w.run_floats : 0);
        break;
    }
    out->grain = dense_grain(cost);
    out->worker_scratch_bytes = floats * sizeof(float);
}

/* ---- FLOAT64 in any layout: tap by tap along rows of results, or of channels ---- */

bool kern_pool_f64_accepts(const struct kern_op *op)
{
    const struct kern_pool *pool = &op->u.pool;
    struct pool_shape s;
    return !op->epilogue && pool_shape_init(op, &s) && dense_same_type(op, 0, 1, DML_TENSOR_DATA_TYPE_FLOAT64) &&
           (pool->mode != KERN_POOL_LP || pool->p == 1 || pool->p == 2);
}

int64_t pool_f64_channels(const struct kern_op *op, const struct pool_shape *s)
{
    const int64_t channels = op->tensors[1].sizes[1];
    if (s->x[1] == 1 && channels >= POOL_F64_CHANNELS)
        return channels;
    return s->out[2] < POOL_F64_CHANNELS && channels > s->out[2] ? BASE_MIN(channels, POOL_F64_CHANNELS) : 0;
}

void kern_pool_f64_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    const struct kern_view *y = &op->tensors[1];
    struct pool_shape s;
    pool_shape_init(op, &s);
    const uint64_t lanes = (uint64_t)pool_f64_channels(op, &s), width = (uint64_t)s.out[2];
    *out = (struct kern_work){ .units = dense_rows(y) };
    if (lanes)
        out->units = y->sizes[0] * ((y->sizes[1] + lanes - 1) / lanes) * (uint64_t)(s.out[0] * s.out[1]);
    out->grain = dense_grain(width * BASE_MAX(lanes, 1) * (uint64_t)BASE_MIN(s.area, INT16_MAX) / 2);
    out->worker_scratch_bytes = (2 * BASE_MAX(lanes, width) + width) * sizeof(double);
}

/* ---- maxima of integers of any width, in any layout, likewise ---- */

bool kern_pool_int_accepts(const struct kern_op *op)
{
    struct pool_shape s;
    DML_TENSOR_DATA_TYPE type = op->tensors[0].type;
    if (op->epilogue || op->u.pool.mode != KERN_POOL_MAX || !pool_shape_init(op, &s) || op->tensors[1].type != type ||
        !kern_type_bytes(type) || dense_is_float(type))
        return false;
    /* Positions have 32 bits, next to numbers of at most 32. */
    return !op->u.pool.has_indices || kern_type_bytes(type) == 8 ||
           kern_view_elements(&op->tensors[0]) <= (uint64_t)INT32_MAX;
}

bool pool_int_by_channels(const struct kern_op *op, const struct pool_shape *s)
{
    return !op->u.pool.has_indices && s->x[1] == 1 && s->y[1] == 1 && op->tensors[1].sizes[1] >= 16;
}

uint64_t pool_int_line_bytes(const struct kern_op *op, const struct pool_shape *s)
{
    enum { LINE_MOST = 256 * 1024 };
    const int64_t channels = op->tensors[1].sizes[1];
    const uint64_t bytes = (uint64_t)(s->in[2] * channels) * kern_type_bytes(op->tensors[0].type);
    const bool fits = pool_int_by_channels(op, s) && (s->in[2] == 1 || s->x[4] == channels) &&
                      s->stride[2] <= s->window[2] * s->dilation[2] && bytes <= LINE_MOST;
    return fits ? bytes : 0;
}

void kern_pool_int_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    const struct kern_view *y = &op->tensors[1];
    uint64_t width = y->sizes[y->rank - 1];
    struct pool_shape s;
    *out = (struct kern_work){ .units = dense_rows(y), .grain = dense_grain(16 * width) };
    if (pool_shape_init(op, &s) && pool_int_by_channels(op, &s))
        *out = (struct kern_work){ .units = y->sizes[0] * (uint64_t)(s.out[0] * s.out[1]),
                                   .grain = dense_grain(width * y->sizes[1]) };
    out->worker_scratch_bytes = (2 * width + op->tensors[0].sizes[op->tensors[0].rank - 1]) * sizeof(int64_t) +
                                (pool_shape_init(op, &s) ? pool_int_line_bytes(op, &s) : 0);
}

/* ---- gradients ---- */

bool pool_grad_in_place(const struct kern_op *op)
{
    const struct kern_view *dx = &op->tensors[op->input_count];
    int64_t dense = 1;
    for (uint32_t d = dx->rank; d-- > 2;) {
        if (dx->sizes[d] > 1 && dx->strides[d] != dense)
            return false;
        dense *= dx->sizes[d];
    }
    return dx->type == DML_TENSOR_DATA_TYPE_FLOAT32;
}

bool kern_pool_grad_f32_accepts(const struct kern_op *op)
{
    struct pool_shape s;
    struct window w;
    DML_TENSOR_DATA_TYPE type = op->tensors[0].type;
    if (!kern_pool_grad_any_ref_accepts(op) || type == DML_TENSOR_DATA_TYPE_FLOAT64 || !pool_shape_init(op, &s))
        return false;
    if (op->u.pool_grad.mode == KERN_POOL_AVERAGE)
        return s.dilation[0] == 1 && s.dilation[1] == 1 && s.dilation[2] == 1;
    if (op->u.pool_grad.has_indices)
        return (double)s.in[0] * (double)s.in[1] * (double)s.in[2] < INT32_MAX;
    pool_window_init(op, &s, &w);
    return s.x[4] == 1 && (double)s.in[0] * (double)s.in[1] * (double)s.in[2] < INT32_MAX &&
           window_floats(&w) <= 256 * 1024;
}

void kern_pool_grad_f32_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    const struct kern_view *dx = &op->tensors[op->input_count];
    struct pool_shape s;
    struct window w;
    pool_shape_init(op, &s);
    if (op->u.pool_grad.mode == KERN_POOL_AVERAGE) {
        *out = (struct kern_work){ .units = dense_rows(dx), .grain = dense_grain(4 * (uint64_t)(s.in[2] + s.out[2])) };
        out->worker_scratch_bytes =
            (uint64_t)(s.out[0] + s.out[1] + 3 * s.out[2] + 4 * SCATTER_ADD_STEP) * sizeof(float) +
            scatter_add_floats(s.in[2], s.stride[2]) * sizeof(float);
        return;
    }
    uint64_t plane = (uint64_t)(s.in[0] * s.in[1] * s.in[2]);
    *out = (struct kern_work){ .units = (uint64_t)dx->sizes[0] * dx->sizes[1], .grain = dense_grain(2 * plane) };
    if (op->u.pool_grad.has_indices) {
        out->worker_scratch_bytes = ((uint64_t)s.out[2] + (pool_grad_in_place(op) ? 0 : plane)) * sizeof(float);
        return;
    }
    pool_window_init(op, &s, &w);
    out->worker_scratch_bytes =
        (window_floats(&w) + (uint64_t)w.run_floats + (uint64_t)s.out[2] + (pool_grad_in_place(op) ? 0 : plane)) *
        sizeof(float);
}
