/* Resampling, the definition. Along each dimension output coordinate o reads at
 *     x = (o - output offset) / scale - input offset
 * nearest: element ceil(x) (INCREASING) or floor(x) (DECREASING); linear: a blend of floor(x) and floor(x) + 1.
 * Positions outside repeat the edge. Coordinates are computed in FLOAT32: scales are quotients rounded to FLOAT32, and
 * the division's rounding brings o / (out / in) back to the whole numbers where ceil and floor would otherwise slip. */
#include "kernels/resample/resample.h"

#include <math.h>

#define CHUNK 64

static int64_t clamp_index(float at, uint32_t size)
{
    float last = (float)(size - 1);
    return at > 0 ? (int64_t)(at < last ? at : last) : 0; /* NaN gives 0 */
}

float resample_position(const struct kern_op *op, uint32_t d, uint32_t out)
{
    const struct kern_resample *r = &op->u.resample;
    float x = ((float)out - r->output_offsets[d]) / r->scales[d] - r->input_offsets[d];
    return fabsf(x) < 0x1p-100f ? 0 : x; /* a scale of FLT_MAX means "always the first": ceil must not see 1e-38 */
}

struct resample_tap resample_tap(const struct kern_op *op, uint32_t d, uint32_t out)
{
    const struct kern_resample *r = &op->u.resample;
    uint32_t size = op->tensors[r->transposed].sizes[d];
    float x = resample_position(op, d, out);
    struct resample_tap tap = { 0 };
    if (r->mode == DML_INTERPOLATION_MODE_NEAREST_NEIGHBOR) {
        tap.i0 = tap.i1 = clamp_index(r->rounding == DML_AXIS_DIRECTION_INCREASING ? ceilf(x) : floorf(x), size);
        return tap;
    }
    float below = floorf(x);
    tap.i0 = clamp_index(below, size);
    tap.i1 = clamp_index(below + 1, size);
    tap.w = tap.i0 == tap.i1 ? 0 : x - below;
    return tap;
}

bool kern_resample_any_ref_accepts(const struct kern_op *op)
{
    const struct kern_view *x = &op->tensors[0], *y = &op->tensors[1];
    if (op->epilogue || x->rank != y->rank || x->type != y->type || !kern_type_bytes(x->type))
        return false;
    if (resample_uses_table(op))
        return resample_table_accepts(op);
    return op->u.resample.mode == DML_INTERPOLATION_MODE_NEAREST_NEIGHBOR || dense_is_float(x->type) ||
           x->type == DML_TENSOR_DATA_TYPE_INT8 || x->type == DML_TENSOR_DATA_TYPE_UINT8;
}

void kern_resample_any_ref_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    const struct kern_view *y = &op->tensors[1];
    if (resample_uses_table(op)) {
        resample_table_ref_plan(op, out);
        return;
    }
    *out = (struct kern_work){ .units = dense_rows(y), .grain = dense_grain(64 * (uint64_t)y->sizes[y->rank - 1]) };
}

static void nearest_row(const struct kern_call *call, const uint32_t *at)
{
    const struct kern_view *x = &call->op->tensors[0], *y = &call->op->tensors[1];
    uint32_t last = y->rank - 1, bytes = kern_type_bytes(y->type);
    int64_t from = 0, to = dense_offset(y, at, last);
    for (uint32_t d = 0; d < last; d++)
        from += resample_tap(call->op, d, at[d]).i0 * x->strides[d];
    for (uint32_t i = 0; i < y->sizes[last]; i++) {
        int64_t source = from + resample_tap(call->op, last, i).i0 * x->strides[last];
        memcpy((char *)call->data[1] + (to + i * y->strides[last]) * bytes,
               (const char *)call->data[0] + source * bytes, bytes);
    }
}

/* Adds weight * the row of X at `offset`, blended along the last dimension, to sums[0 .. count). */
static void linear_add(const struct kern_call *call, int64_t offset, double weight, uint32_t first, uint32_t count,
                       double *sums)
{
    const struct kern_view *x = &call->op->tensors[0];
    uint32_t last = x->rank - 1;
    for (uint32_t i = 0; i < count; i++) {
        struct resample_tap tap = resample_tap(call->op, last, first + i);
        double value = dense_load(call->data[0], offset + tap.i0 * x->strides[last], x->type) * (1.0 - tap.w);
        if (tap.w != 0)
            value += dense_load(call->data[0], offset + tap.i1 * x->strides[last], x->type) * tap.w;
        sums[i] += weight * value;
    }
}

/* All combinations of lower and upper taps of the dimensions before the last, those of weight 0 left out. */
static void linear_chunk(const struct kern_call *call, const uint32_t *at, uint32_t first, uint32_t count, double *sums)
{
    const struct kern_view *x = &call->op->tensors[0];
    uint32_t last = x->rank - 1;
    for (uint32_t i = 0; i < count; i++)
        sums[i] = 0;
    for (uint32_t choice = 0; choice < 1u << last; choice++) {
        double weight = 1;
        int64_t offset = 0;
        for (uint32_t d = 0; d < last && weight != 0; d++) {
            struct resample_tap tap = resample_tap(call->op, d, at[d]);
            bool upper = choice >> d & 1;
            weight *= upper ? (double)tap.w : 1.0 - tap.w;
            offset += (upper ? tap.i1 : tap.i0) * x->strides[d];
        }
        if (weight != 0)
            linear_add(call, offset, weight, first, count, sums);
    }
}

void kern_resample_any_ref_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const struct kern_view *y = &call->op->tensors[1];
    uint32_t last = y->rank - 1;
    if (resample_uses_table(call->op)) {
        resample_table_ref_run(call, begin, end);
        return;
    }
    for (uint64_t row = begin; row < end; row++) {
        uint32_t at[KERN_RANK_MAX];
        dense_row_at(y, row, at);
        if (call->op->u.resample.mode == DML_INTERPOLATION_MODE_NEAREST_NEIGHBOR) {
            nearest_row(call, at);
            continue;
        }
        for (uint32_t i = 0; i < y->sizes[last]; i += CHUNK) {
            double sums[CHUNK];
            uint32_t count = BASE_MIN(y->sizes[last] - i, CHUNK);
            linear_chunk(call, at, i, count, sums);
            at[last] = i;
            dense_finish(call, at, count, sums);
        }
    }
}
