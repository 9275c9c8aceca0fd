/* SPDX-License-Identifier: Apache-2.0 */
/* The shape of SAMPLE, its plans, and the reference: element by element. */
#include "kernels/resample/sample.h"

bool sample_shape_init(const struct kern_op *op, struct sample_shape *out)
{
    const struct kern_view *x = &op->tensors[0], *grid = &op->tensors[1], *y = &op->tensors[2];
    if (x->rank < 4 || x->rank > 5 || grid->rank != x->rank || y->rank != x->rank || x->type != y->type ||
        !dense_is_float(x->type) || !dense_is_float(grid->type))
        return false;
    *out = (struct sample_shape){ .first = 5 - x->rank, .batch = x->sizes[0], .channels = x->sizes[1], .points = 1 };
    out->taps = op->u.sample.linear ? 1u << (3 - out->first) : 1;
    for (uint32_t d = 0; d < 3; d++) {
        const bool present = d >= out->first;
        const uint32_t at = present ? d - out->first : 0;
        out->in[d] = present ? x->sizes[2 + at] : 1;
        out->out[d] = present ? y->sizes[2 + at] : 1;
        out->x[2 + d] = present ? x->strides[2 + at] : 0;
        out->y[2 + d] = present ? y->strides[2 + at] : 0;
        out->grid[1 + d] = present ? grid->strides[1 + at] : 0;
        out->points *= out->out[d];
    }
    for (uint32_t d = 0; d < 2; d++) {
        out->x[d] = x->strides[d];
        out->y[d] = y->strides[d];
    }
    out->grid[0] = grid->strides[0];
    out->grid[4] = grid->strides[x->rank - 1];
    return true;
}

/* ---- the reference ---- */

bool kern_sample_any_ref_accepts(const struct kern_op *op)
{
    struct sample_shape s;
    return sample_shape_init(op, &s);
}

void kern_sample_any_ref_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    kern_elements_plan(op, threads, out);
}

struct sample_point {
    int64_t base[3];
    double after[3]; /* weight of the pixel after the base */
};

static void point_at(const struct kern_call *call, const struct sample_shape *s, int64_t grid, struct sample_point *out)
{
    const struct kern_sample *sample = &call->op->u.sample;
    const DML_TENSOR_DATA_TYPE type = call->op->tensors[1].type;
    const bool wide = type == DML_TENSOR_DATA_TYPE_FLOAT64 || call->op->tensors[0].type == DML_TENSOR_DATA_TYPE_FLOAT64;
    *out = (struct sample_point){ 0 };
    for (uint32_t d = s->first; d < 3; d++) {
        const double at = dense_load(call->data[1], grid + (2 - d) * s->grid[4], type);
        const double place =
            wide ? sample_position_f64(sample, at, s->in[d]) : (double)sample_position(sample, (float)at, s->in[d]);
        out->base[d] = (int64_t)(sample->linear ? floor(place) : rint(place));
        out->after[d] = sample->linear ? place - floor(place) : 0;
    }
}

static double sample_at(const struct kern_call *call, const struct sample_shape *s, const struct sample_point *point,
                        int64_t plane)
{
    double sum = 0;
    for (uint32_t tap = 0; tap < s->taps; tap++) {
        double weight = 1;
        int64_t at = plane;
        bool inside = true;
        for (uint32_t d = s->first; d < 3; d++) {
            const uint32_t next = tap >> (2 - d) & 1;
            const int64_t pixel = point->base[d] + next;
            weight *= next ? point->after[d] : 1 - point->after[d];
            inside = inside && pixel >= 0 && pixel < s->in[d];
            at += pixel * s->x[2 + d];
        }
        if (inside)
            sum += weight * dense_load(call->data[0], at, call->op->tensors[0].type);
    }
    return sum;
}

void kern_sample_any_ref_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    struct sample_shape s;
    sample_shape_init(call->op, &s);
    for (uint64_t i = begin; i < end; i++) {
        const int64_t point = (int64_t)(i % (uint64_t)s.points), plane = (int64_t)(i / (uint64_t)s.points);
        const int64_t n = plane / s.channels, c = plane % s.channels;
        int64_t rest = point, grid = n * s.grid[0], y = n * s.y[0] + c * s.y[1];
        for (uint32_t d = 3; d-- > 0; rest /= s.out[d]) {
            grid += rest % s.out[d] * s.grid[1 + d];
            y += rest % s.out[d] * s.y[2 + d];
        }
        struct sample_point at;
        point_at(call, &s, grid, &at);
        dense_store(call->data[2], y, call->op->tensors[2].type, sample_at(call, &s, &at, n * s.x[0] + c * s.x[1]));
    }
}

/* ---- the fast kernels ---- */

bool kern_sample_f32_accepts(const struct kern_op *op)
{
    struct sample_shape s;
    return sample_shape_init(op, &s) && dense_is_short_float(op->tensors[0].type) &&
           dense_is_short_float(op->tensors[1].type);
}

void kern_sample_f32_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    struct sample_shape s = { 0 };
    (void)threads;
    sample_shape_init(op, &s);
    const uint64_t blocks = (uint64_t)(s.points + SAMPLE_POINTS - 1) / SAMPLE_POINTS;
    *out = (struct kern_work){ .units = (uint64_t)s.batch * blocks };
    out->grain = dense_grain((uint64_t)BASE_MIN(s.points, SAMPLE_POINTS) * s.taps * (8 + (uint64_t)s.channels * 2));
}
