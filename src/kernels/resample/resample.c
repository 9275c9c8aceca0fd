/* SPDX-License-Identifier: Apache-2.0 */
/* Resampling: the reference, and plans of the fast kernels. Along each dimension output coordinate o reads at
 *     x = (o - output offset) / scale - input offset
 * nearest: element ceil(x) (INCREASING) or floor(x) (DECREASING); linear: a blend of floor(x) and floor(x) + 1.
 * Positions outside repeat the edge. Coordinates are computed in FLOAT32: scales are quotients rounded to FLOAT32, and
 * the division's rounding restores integers in o / (out / in) where ceil and floor would otherwise be off by one. */
#include "kernels/core/number.h"
#include "kernels/move/move.h"
#include "kernels/resample/resample.h"

#include <math.h>

enum { REDUCTION_MAX = 32 };

static int64_t clamp_index(float at, uint32_t size)
{
    float last = (float)(size - 1);
    return at > 0 ? (int64_t)(at < last ? at : last) : 0; /* NaN becomes 0 */
}

static float position(const struct kern_op *op, uint32_t d, uint32_t out)
{
    const struct kern_resample *r = &op->u.resample;
    float x = ((float)out - r->output_offsets[d]) / r->scales[d] - r->input_offsets[d];
    return fabsf(x) < 0x1p-100f ? 0 : x; /* a scale of FLT_MAX means "always the first": ceil must not see 1e-38 */
}

struct resample_tap resample_tap(const struct kern_op *op, uint32_t d, uint32_t out)
{
    const struct kern_resample *r = &op->u.resample;
    uint32_t size = op->tensors[r->transposed].sizes[d];
    float x = position(op, d, out);
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

/* ---- tables ---- */

/* A dimension with more than two inputs: the filter is as wide as one output element. */
static bool antialiased(const struct kern_op *op, uint32_t d)
{
    const struct kern_resample *r = &op->u.resample;
    return r->antialiased && !r->transposed && r->mode == DML_INTERPOLATION_MODE_LINEAR &&
           1.0 / (double)r->scales[d] > 2;
}

static uint64_t max_weights(const struct kern_op *op, uint32_t d)
{
    uint64_t in = op->tensors[0].sizes[d], out = op->tensors[1].sizes[d];
    if (op->u.resample.transposed)
        return 2 * in;
    double wide = 2.0 / (double)op->u.resample.scales[d] + 2;
    return antialiased(op, d) ? out * (wide < (double)in ? (uint64_t)wide : in) : 2 * out;
}

uint64_t resample_table_bytes(const struct kern_op *op, uint32_t d)
{
    uint64_t lists = (uint64_t)op->tensors[1].sizes[d] * sizeof(struct resample_list);
    return base_align_up(lists + max_weights(op, d) * sizeof(float), 8);
}

/* The triangle of half width f around x, summed over the integers from a to b, all on one side of x. */
static double side_sum(double x, double f, double a, double b)
{
    double count = b - a + 1, distance = fabs((a + b) / 2 - x);
    return count > 0 ? count * (1 - distance / f) : 0;
}

static double triangle_sum(double x, double f, double a, double b)
{
    double middle = floor(x), low = ceil(x - f), high = floor(x + f);
    a = a > low ? a : low;
    b = b < high ? b : high;
    return side_sum(x, f, a, b < middle ? b : middle) + side_sum(x, f, a > middle ? a : middle + 1, b);
}

/* Positions before and after the input count for its first and last element. Returns the number of weights. */
static uint32_t widened(const struct kern_op *op, uint32_t d, uint32_t out, struct resample_list *list, float *weights)
{
    double f = 1.0 / (double)op->u.resample.scales[d], x = position(op, d, out);
    double last = (double)op->tensors[0].sizes[d] - 1;
    if (!isfinite(x)) {
        *list = (struct resample_list){ .first = x > 0 ? (uint32_t)last : 0, .count = 1, .weights = list->weights };
        weights[0] = 1;
        return 1;
    }
    double low = fmin(fmax(floor(x - f) + 1, 0), last), high = fmax(fmin(ceil(x + f) - 1, last), low);
    double total = triangle_sum(x, f, -INFINITY, INFINITY);
    list->first = (uint32_t)low;
    list->count = (uint32_t)(high - low) + 1;
    for (uint32_t i = 0; i < list->count; i++) {
        double j = low + i;
        double a = j == 0 ? -INFINITY : j, b = j == last ? INFINITY : j;
        weights[i] = (float)(triangle_sum(x, f, a, b) / total);
    }
    return list->count;
}

static void forward(const struct kern_op *op, uint32_t d, struct resample_table *table)
{
    uint32_t used = 0;
    for (uint32_t o = 0; o < op->tensors[1].sizes[d]; o++) {
        struct resample_list *list = &table->lists[o];
        list->weights = used;
        if (antialiased(op, d)) {
            used += widened(op, d, o, list, table->weights + used);
            continue;
        }
        struct resample_tap tap = resample_tap(op, d, o);
        list->first = (uint32_t)tap.i0;
        list->count = tap.w != 0 ? 2 : 1;
        table->weights[used++] = 1 - tap.w;
        if (tap.w != 0)
            table->weights[used++] = tap.w;
    }
}

/* An element of the forward input gathers from all forward outputs that read it. Positions are non-decreasing, so those
 * that read an element are adjacent. */
static void backward(const struct kern_op *op, uint32_t d, struct resample_table *table)
{
    uint32_t used = 0, size = op->tensors[1].sizes[d], outputs = op->tensors[0].sizes[d];
    for (uint32_t i = 0; i < size; i++)
        table->lists[i] = (struct resample_list){ 0 };
    for (uint32_t o = 0; o < outputs; o++) {
        struct resample_tap tap = resample_tap(op, d, o);
        struct resample_list *lower = &table->lists[tap.i0], *upper = &table->lists[tap.i1];
        lower->first = lower->count++ ? lower->first : o;
        if (tap.w != 0)
            upper->first = upper->count++ ? upper->first : o;
    }
    for (uint32_t i = 0; i < size; i++) {
        table->lists[i].weights = used;
        used += table->lists[i].count;
    }
    for (uint32_t o = 0; o < outputs; o++) {
        struct resample_tap tap = resample_tap(op, d, o);
        struct resample_list *lower = &table->lists[tap.i0], *upper = &table->lists[tap.i1];
        table->weights[lower->weights + o - lower->first] = 1 - tap.w;
        if (tap.w != 0)
            table->weights[upper->weights + o - upper->first] = tap.w;
    }
}

void resample_table_init(const struct kern_op *op, uint32_t d, void *memory, struct resample_table *out)
{
    out->lists = memory;
    out->weights = (float *)(out->lists + op->tensors[1].sizes[d]);
    if (op->u.resample.transposed)
        backward(op, d, out);
    else
        forward(op, d, out);
}

void *resample_iterator_init(struct resample_iterator *out, const struct kern_op *op, const uint32_t *order,
                             uint32_t dims, struct resample_table *tables, void *memory)
{
    out->dims = dims;
    for (uint32_t i = 0; i < op->tensors[1].rank; i++) {
        out->tables[i] = &tables[i];
        resample_table_init(op, order[i], memory, &tables[i]);
        memory = (char *)memory + resample_table_bytes(op, order[i]);
    }
    return memory;
}

/* ---- the reference: a weighted sum over all combinations of each dimension's inputs ---- */

static bool nearest(const struct kern_op *op)
{
    return !resample_uses_table(op) && op->u.resample.mode == DML_INTERPOLATION_MODE_NEAREST_NEIGHBOR;
}

bool kern_resample_any_ref_accepts(const struct kern_op *op)
{
    const struct kern_view *x = &op->tensors[0], *y = &op->tensors[1];
    if (op->epilogue || x->rank != y->rank || x->type != y->type || !kern_type_bytes(x->type))
        return false;
    return nearest(op) || dense_is_float(x->type) || (dense_is_byte(x->type) && !op->u.resample.transposed);
}

void kern_resample_any_ref_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    const struct kern_view *y = &op->tensors[1];
    *out = (struct kern_work){ .units = dense_rows(y), .grain = dense_grain(64 * (uint64_t)y->sizes[y->rank - 1]) };
    for (uint32_t d = 0; d < y->rank && !nearest(op); d++)
        out->worker_scratch_bytes += resample_table_bytes(op, d);
}

static void nearest_row(const struct kern_call *call, const uint32_t *at)
{
    const struct kern_view *x = &call->op->tensors[0], *y = &call->op->tensors[1];
    uint32_t last = y->rank - 1;
    int64_t from = 0, to = dense_offset(y, at, last);
    for (uint32_t d = 0; d < last; d++)
        from += resample_tap(call->op, d, at[d]).i0 * x->strides[d];
    for (uint32_t i = 0; i < y->sizes[last]; i++) {
        int64_t source = from + resample_tap(call->op, last, i).i0 * x->strides[last];
        kern_copy_element(y->type, call->data[1], to + i * y->strides[last], call->data[0], source);
    }
}

/* The first of two inputs has the weight that the second leaves of 1: exactly, because elements may be FLOAT64. */
static double exact_weight(const struct resample_iterator *iterator, uint32_t d, bool transposed)
{
    const struct resample_list *list = iterator->lists[d];
    const float *weights = iterator->tables[d]->weights + list->weights;
    if (list->count == 2 && !transposed)
        return iterator->entry[d] ? (double)weights[1] : 1.0 - (double)weights[1];
    return (double)weights[iterator->entry[d]];
}

static double summed(const struct kern_call *call, struct resample_iterator *iterator, const uint32_t *at)
{
    const struct kern_view *x = &call->op->tensors[0];
    double sum = 0;
    if (!resample_iterator_begin(iterator, at))
        return 0;
    do {
        double weight = 1;
        for (uint32_t d = 0; d < x->rank; d++)
            weight *= exact_weight(iterator, d, call->op->u.resample.transposed);
        sum += weight * dense_load(call->data[0], resample_iterator_offset(iterator, x), x->type);
    } while (resample_iterator_next(iterator));
    return sum;
}

void kern_resample_any_ref_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const struct kern_view *y = &call->op->tensors[1];
    static const uint32_t order[KERN_RANK_MAX] = { 0, 1, 2, 3, 4, 5, 6, 7 };
    struct resample_table tables[KERN_RANK_MAX];
    struct resample_iterator iterator;
    if (!nearest(call->op))
        resample_iterator_init(&iterator, call->op, order, y->rank, tables, call->worker_scratch);
    for (uint64_t row = begin; row < end; row++) {
        uint32_t at[KERN_RANK_MAX];
        dense_row_at(y, row, at);
        if (nearest(call->op)) {
            nearest_row(call, at);
            continue;
        }
        for (; at[y->rank - 1] < y->sizes[y->rank - 1]; at[y->rank - 1]++)
            dense_store(call->data[1], dense_offset(y, at, y->rank), y->type, summed(call, &iterator, at));
    }
}

/* ---- the fast kernels ---- */

static bool untouched(const struct kern_op *op, uint32_t d)
{
    const struct kern_resample *r = &op->u.resample;
    return op->tensors[0].sizes[d] == op->tensors[1].sizes[d] && r->scales[d] == 1 &&
           r->input_offsets[d] + r->output_offsets[d] == 0;
}

void resample_plan_init(const struct kern_op *op, struct resample_plan *plan)
{
    dense_memory_order(&op->tensors[1], plan->order);
    plan->x = dense_permute(&op->tensors[0], plan->order);
    plan->y = dense_permute(&op->tensors[1], plan->order);
    uint32_t last = plan->y.rank - 1;
    plan->inner = last;
    plan->group = 1;
    plan->in = plan->x.sizes[last];
    plan->out = plan->y.sizes[last];
    plan->same = untouched(op, plan->order[last]);
    /* A few innermost channels would make very short rows: merge the columns with them. */
    if (plan->same && last > 0 && plan->in < REDUCTION_MAX && plan->x.strides[last] == 1 &&
        plan->y.strides[last] == 1 && plan->x.strides[last - 1] == plan->in && plan->y.strides[last - 1] == plan->out) {
        plan->inner = last - 1;
        plan->group = plan->in;
        plan->in *= plan->x.sizes[last - 1];
        plan->out *= plan->y.sizes[last - 1];
        plan->same = untouched(op, plan->order[last - 1]);
    }
}

static bool row_accepts(const struct kern_op *op)
{
    const DML_TENSOR_DATA_TYPE type = op->tensors[0].type;
    return kern_resample_any_ref_accepts(op) && (dense_is_short_float(type) || dense_is_byte(type));
}

bool kern_resample_f32_accepts(const struct kern_op *op)
{
    return !resample_uses_table(op) && row_accepts(op);
}

bool kern_resample_table_f32_accepts(const struct kern_op *op)
{
    return resample_uses_table(op) && row_accepts(op);
}

void kern_resample_f32_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    struct resample_plan plan;
    resample_plan_init(op, &plan);
    *out = (struct kern_work){ .units = kern_view_elements(&plan.y) / plan.out };
    out->grain = dense_grain(2 * (uint64_t)plan.out + plan.in);
    out->worker_scratch_bytes = (2ull * plan.in + 4ull * plan.out + 64) * sizeof(float);
    if (resample_keeps(&plan))
        out->worker_scratch_bytes += (uint64_t)RESAMPLE_KEPT * plan.out * sizeof(float);
}

void kern_resample_table_f32_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    struct resample_plan plan;
    resample_plan_init(op, &plan);
    *out = (struct kern_work){ .units = kern_view_elements(&plan.y) / plan.out };
    out->grain = dense_grain(4 * ((uint64_t)plan.out + plan.in));
    for (uint32_t d = 0; d < op->tensors[1].rank; d++)
        out->worker_scratch_bytes += resample_table_bytes(op, d);
    out->worker_scratch_bytes += (2ull * plan.in + plan.out) * sizeof(float);
}

/* ---- nearest by integer factors: each element is repeated, a move from a view with stride 0 ---- */

enum { MAX_CHECKED = 65536 };

/* Whether dimension d repeats each element equally often. Floating-point coordinates decide, so all are checked. */
static bool repeats(const struct kern_op *op, uint32_t d)
{
    const uint32_t in = op->tensors[0].sizes[d], out = op->tensors[1].sizes[d];
    if (out % in || out > MAX_CHECKED)
        return false;
    for (uint32_t o = 0; o < out; o++) {
        const struct resample_tap tap = resample_tap(op, d, o);
        if (tap.i0 != o / (out / in) || tap.w != 0)
            return false;
    }
    return true;
}

static void add_dimension(struct kern_op *move, uint32_t size, int64_t in_stride, int64_t out_stride)
{
    for (uint32_t t = 0; t < 2; t++) {
        struct kern_view *view = &move->tensors[t];
        view->sizes[view->rank] = size;
        view->strides[view->rank++] = t ? out_stride : in_stride;
    }
}

/* false: the views would need too many dimensions */
static bool move_init(struct kern_op *move, const struct kern_op *op)
{
    *move = (struct kern_op){ .kind = KERN_MOVE, .input_count = 1, .output_count = 1 };
    move->tensors[0].type = op->tensors[0].type;
    move->tensors[1].type = op->tensors[1].type;
    for (uint32_t d = 0; d < op->tensors[0].rank; d++) {
        const struct kern_view *x = &op->tensors[0], *y = &op->tensors[1];
        const uint32_t times = y->sizes[d] / x->sizes[d];
        if (move->tensors[0].rank + (times > 1 ? 2 : 1) > KERN_RANK_MAX)
            return false;
        add_dimension(move, x->sizes[d], x->strides[d], y->strides[d] * times);
        if (times > 1)
            add_dimension(move, times, 0, y->strides[d]);
    }
    return true;
}

bool kern_resample_repeat_accepts(const struct kern_op *op)
{
    const struct kern_view *x = &op->tensors[0], *y = &op->tensors[1];
    struct kern_op move;
    if (op->epilogue || resample_uses_table(op) || x->rank != y->rank || x->type != y->type ||
        !kern_type_bytes(x->type) || op->u.resample.mode != DML_INTERPOLATION_MODE_NEAREST_NEIGHBOR)
        return false;
    for (uint32_t d = 0; d < x->rank; d++)
        if (!repeats(op, d))
            return false;
    return move_init(&move, op);
}

void kern_resample_repeat_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    struct kern_op move;
    move_init(&move, op);
    if (kern_move_interleave_accepts(&move))
        kern_move_interleave_plan(&move, threads, out);
    else
        kern_move_any_plan(&move, threads, out);
}

void resample_repeat_run(const struct kern_call *call, const struct move_isa *isa, uint64_t begin, uint64_t end)
{
    struct kern_op move;
    const struct kern_call inner = { .op = &move, .data = call->data };
    move_init(&move, call->op);
    if (kern_move_interleave_accepts(&move))
        move_interleave_run(&inner, isa, begin, end);
    else
        kern_move_any_run(&inner, begin, end);
}
