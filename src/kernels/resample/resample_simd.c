/* SPDX-License-Identifier: Apache-2.0 */
/* The resampling of resample.h: with two inputs along each dimension, and with tables; and FOLD. */
#include "kernels/core/isa.h"
#include "kernels/core/number.h"
#include "kernels/move/move.h"
#include "kernels/resample/resample.h"
#include "kernels/resample/scatter_add.h"
#include "kernels/row/row.h"

struct resample {
    struct resample_plan plan;
    const struct kern_call *call;
    float *line, *row, *out;                     /* line: blended over the outer dimensions */
    struct resample_table tables[KERN_RANK_MAX]; /* in the plan's order */
    struct resample_iterator iterator;           /* over the outer dimensions */
    float *w;                                    /* weights of the upper taps */
    int32_t *i0, *i1;
    struct resample_tap taps[KERN_RANK_MAX]; /* of the outer dimensions at coordinates known[] */
    uint32_t known[KERN_RANK_MAX];
    float *kept[RESAMPLE_KEPT]; /* rows resampled along themselves, of the input rows at kept_at */
    int64_t kept_at[RESAMPLE_KEPT];
    uint32_t kept_count, kept_next;
    uint32_t pairs; /* linear, by two: number of pairs of outputs from the second on with the same pattern, each one
                       input further */
};

static void resample_find_pairs(struct resample *r)
{
    const int32_t *i0 = r->i0, *i1 = r->i1;
    const float *w = r->w;
    r->pairs = 0;
    for (uint32_t o = 1; o + 1 < r->plan.out; o += 2) {
        const int32_t further = (int32_t)r->pairs;
        const bool next = i1[o] == i0[o] + 1 && i1[o + 1] == i0[o + 1] + 1;
        if (!next || i0[o] != i0[1] + further || i0[o + 1] != i0[2] + further || w[o] != w[1] || w[o + 1] != w[2])
            return;
        r->pairs++;
    }
}

static void resample_init(struct resample *r, const struct kern_call *call)
{
    const bool tables = resample_uses_table(call->op);
    resample_plan_init(call->op, &r->plan);
    uint32_t in = r->plan.in, out = r->plan.out;
    r->call = call;
    r->line = call->worker_scratch;
    if (tables)
        r->line = resample_iterator_init(&r->iterator, call->op, r->plan.order, r->plan.inner, r->tables, r->line);
    r->row = r->line + in;
    r->out = r->row + in;
    if (tables)
        return;
    r->w = r->out + out;
    r->i0 = (int32_t *)(r->w + out);
    r->i1 = r->i0 + out;
    r->kept_count = r->kept_next = 0;
    for (uint32_t i = 0; i < RESAMPLE_KEPT; i++)
        r->kept[i] = (float *)(r->i1 + out) + (uint64_t)i * out;
    uint32_t group = r->plan.group;
    for (uint32_t i = 0; !r->plan.same && i < out; i++) {
        struct resample_tap tap = resample_tap(call->op, r->plan.order[r->plan.inner], i / group);
        r->i0[i] = (int32_t)(tap.i0 * group + i % group);
        r->i1[i] = (int32_t)(tap.i1 * group + i % group);
        r->w[i] = tap.w;
    }
    r->pairs = 0;
    if (!r->plan.same && group == 1 && call->op->u.resample.mode != DML_INTERPOLATION_MODE_NEAREST_NEIGHBOR)
        resample_find_pairs(r);
    memset(r->known, 0xff, sizeof(r->known));
}

static void resample_set(float *restrict line, const float *restrict row, float weight, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        line[i] = weight * row[i];
}

/* The input row at `offset`, as floats. */
static const float *resample_load(const struct resample *r, int64_t offset)
{
    const struct kern_view *x = &r->plan.x;
    int64_t step = x->strides[x->rank - 1];
    if (x->type == DML_TENSOR_DATA_TYPE_FLOAT32 && step == 1)
        return (const float *)r->call->data[0] + offset;
    dense_load_row(r->call->data[0], offset, step, x->type, r->plan.in, r->row);
    return r->row;
}

static void resample_pick(const float *restrict line, const int32_t *restrict index, uint32_t count,
                          float *restrict out)
{
    for (uint32_t i = 0; i < count; i++)
        out[i] = line[index[i]];
}

static void resample_blend(const float *restrict line, const int32_t *restrict i0, const int32_t *restrict i1,
                           const float *restrict w, uint32_t count, float *restrict out)
{
    for (uint32_t i = 0; i < count; i++)
        out[i] = line[i0[i]] * (1 - w[i]) + line[i1[i]] * w[i];
}

static void resample_blend_pairs(const float *restrict a, const float *restrict b, float wa, float wb, uint32_t pairs,
                                 float *restrict out)
{
    for (uint32_t i = 0; i < pairs; i++) {
        out[2 * i] = a[i] * (1 - wa) + a[i + 1] * wa;
        out[2 * i + 1] = b[i] * (1 - wb) + b[i + 1] * wb;
    }
}

/* out = `line` resampled along itself */
static void resample_along(const struct resample *r, const float *line, float *out)
{
    if (r->call->op->u.resample.mode == DML_INTERPOLATION_MODE_NEAREST_NEIGHBOR)
        resample_pick(line, r->i0, r->plan.out, out);
    else if (r->pairs) {
        const uint32_t end = 1 + 2 * r->pairs;
        resample_blend(line, r->i0, r->i1, r->w, 1, out);
        resample_blend_pairs(line + r->i0[1], line + r->i0[2], r->w[1], r->w[2], r->pairs, out + 1);
        resample_blend(line, r->i0 + end, r->i1 + end, r->w + end, r->plan.out - end, out + end);
    } else
        resample_blend(line, r->i0, r->i1, r->w, r->plan.out, out);
}

/* The input row at `offset`, resampled along itself. */
static const float *resample_kept(struct resample *r, int64_t offset)
{
    for (uint32_t i = 0; i < r->kept_count; i++) {
        if (r->kept_at[i] == offset)
            return r->kept[i];
    }
    uint32_t slot = r->kept_next++ % RESAMPLE_KEPT;
    r->kept_count = BASE_MAX(r->kept_count, slot + 1);
    r->kept_at[slot] = offset;
    resample_along(r, resample_load(r, offset), r->kept[slot]);
    return r->kept[slot];
}

/* The rows around coordinates `at` of the outer dimensions, blended: input rows, or (keeps) rows resampled along
 * themselves. The result is in `line`, or one row in place. */
static const float *resample_outer(struct resample *r, const uint32_t *at, bool keeps, float *line)
{
    const struct kern_view *x = &r->plan.x;
    uint32_t blended[KERN_RANK_MAX], count = 0, width = keeps ? r->plan.out : r->plan.in;
    int64_t offset = 0;
    for (uint32_t d = 0; d < r->plan.inner; d++) {
        if (r->known[d] != at[d])
            r->taps[d] = resample_tap(r->call->op, r->plan.order[d], at[d]);
        r->known[d] = at[d];
        offset += r->taps[d].i0 * x->strides[d];
        if (r->taps[d].w != 0)
            blended[count++] = d;
    }
    if (!count)
        return keeps ? resample_kept(r, offset) : resample_load(r, offset);
    if (count == 1 && keeps) {
        const struct resample_tap *tap = &r->taps[blended[0]];
        const float *lower = resample_kept(r, offset);
        const float *upper = resample_kept(r, offset + (tap->i1 - tap->i0) * x->strides[blended[0]]);
        lower = resample_kept(r, offset); /* the upper row may have replaced it */
        resample_mix(line, lower, upper, tap->w, width);
        return line;
    }
    for (uint32_t choice = 0; choice < 1u << count; choice++) {
        float weight = 1;
        int64_t from = offset;
        for (uint32_t i = 0; i < count; i++) {
            const struct resample_tap *tap = &r->taps[blended[i]];
            bool upper = choice >> i & 1;
            weight *= upper ? tap->w : 1 - tap->w;
            from += upper ? (tap->i1 - tap->i0) * x->strides[blended[i]] : 0;
        }
        const float *row = keeps ? resample_kept(r, from) : resample_load(r, from);
        if (choice)
            resample_add(line, row, weight, width);
        else
            resample_set(line, row, weight, width);
    }
    return line;
}

/* ---- tables ---- */

/* line = the weighted sum of the input rows of the outer coordinates `at`; false if there are none. */
static bool resample_rows_gather(struct resample *r, const uint32_t *at)
{
    bool first = true;
    if (!resample_iterator_begin(&r->iterator, at))
        return false;
    do {
        const float *row = resample_load(r, resample_iterator_offset(&r->iterator, &r->plan.x));
        float weight = 1;
        for (uint32_t d = 0; d < r->plan.inner; d++)
            weight *= resample_iterator_weight(&r->iterator, d);
        if (first)
            resample_set(r->line, row, weight, r->plan.in);
        else
            resample_add(r->line, row, weight, r->plan.in);
        first = false;
    } while (resample_iterator_next(&r->iterator));
    return true;
}

static float resample_rows_dot(const float *line, const float *weights, uint32_t count)
{
    float sum = 0;
    uint32_t i = 0;
    if (count >= VEC) {
        vec acc = vec_set(0);
        for (; i + VEC <= count; i += VEC)
            acc = vec_fma(vec_load(line + i), vec_load(weights + i), acc);
        sum = vec_sum(acc);
    }
    for (; i < count; i++)
        sum += line[i] * weights[i];
    return sum;
}

/* out = `line` resampled along the row by the inner dimension's lists */
static void resample_rows_inner(const struct resample *r)
{
    const struct resample_table *table = &r->tables[r->plan.inner];
    uint32_t group = r->plan.group, columns = r->plan.out / group;
    for (uint32_t c = 0; c < columns; c++) {
        const struct resample_list *list = &table->lists[c];
        const float *weights = table->weights + list->weights, *from = r->line + (uint64_t)list->first * group;
        if (group == 1) {
            r->out[c] = resample_rows_dot(from, weights, list->count);
            continue;
        }
        for (uint32_t g = 0; g < group; g++) {
            float sum = 0;
            for (uint32_t i = 0; i < list->count; i++)
                sum += from[i * group + g] * weights[i];
            r->out[c * group + g] = sum;
        }
    }
}

/* The output row at `at`. */
static const float *resample_row(struct resample *r, const uint32_t *at)
{
    const bool keeps = resample_keeps(&r->plan);
    if (resample_uses_table(r->call->op)) {
        if (!resample_rows_gather(r, at))
            return memset(r->out, 0, r->plan.out * sizeof(float));
        if (r->plan.same)
            return r->line;
        resample_rows_inner(r);
        return r->out;
    }
    const float *line = resample_outer(r, at, keeps, keeps ? r->out : r->line);
    if (keeps || r->plan.same)
        return line;
    resample_along(r, line, r->out);
    return r->out;
}

static void resample_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    struct resample r;
    resample_init(&r, call);
    const struct kern_view *y = &r.plan.y;
    struct kern_view rows = *y; /* so that one row is one element of its last dimension */
    rows.rank = r.plan.inner + 1;
    for (uint64_t row = begin; row < end; row++) {
        uint32_t at[KERN_RANK_MAX];
        dense_row_at(&rows, row, at);
        dense_store_row(call->data[1], dense_offset(y, at, r.plan.inner), y->strides[y->rank - 1], y->type, r.plan.out,
                        resample_row(&r, at));
    }
}

KERN_ISA_RUN(resample_f32, resample_run)
KERN_ISA_RUN(resample_table_f32, resample_run)

/* ---- FOLD: every row of the image gathers the pieces of column rows that belong to it ---- */

struct fold_fast {
    const struct kern_call *call;
    struct scatter_add scatter_add;
    float *row;
    uint32_t taps; /* of a window but its last dimension */
};

/* Adds the column rows of outer tap `tap` (all but the last dimension) to the image row at `at`. */
static void fold_join(const struct fold_fast *f, const uint32_t *at, uint32_t tap)
{
    const struct kern_fold *fold = &f->call->op->u.fold;
    const struct kern_view *x = &f->call->op->tensors[0];
    uint32_t last = fold->spatial - 1, k[KERN_FOLD_MAX];
    int64_t position = 0, count = fold->positions[last];
    k[0] = tap;
    if (last > 1)
        kern_unflatten(tap, last, fold->window, k);
    for (uint32_t d = 0; d < last; d++) {
        uint32_t b;
        if (!fold_position(fold, d, at[d + 2], k[d], &b))
            return;
        position = position * fold->positions[d] + b;
    }
    uint64_t row = ((uint64_t)at[1] * f->taps + tap) * fold->window[last];
    int64_t from = at[0] * x->strides[0] + (int64_t)row * x->strides[1] + position * count * x->strides[2];
    for (uint32_t i = 0; i < fold->window[last]; i++, from += x->strides[1]) {
        const float *run = (const float *)f->call->data[0] + from;
        if (x->type != DML_TENSOR_DATA_TYPE_FLOAT32 || x->strides[2] != 1) {
            dense_load_row(f->call->data[0], from, x->strides[2], x->type, (uint32_t)count, f->row);
            run = f->row;
        }
        scatter_add_line(&f->scatter_add, fold->strides[last], fold_pixel(fold, last, 0, i), run, count);
    }
}

static void fold_fast_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const struct kern_fold *fold = &call->op->u.fold;
    const struct kern_view *y = &call->op->tensors[1];
    uint32_t last = fold->spatial - 1, width = y->sizes[y->rank - 1];
    bool direct = y->type == DML_TENSOR_DATA_TYPE_FLOAT32 && y->strides[y->rank - 1] == 1;
    struct fold_fast f = { .call = call, .row = call->worker_scratch };
    f.taps = (uint32_t)(fold_taps(fold) / fold->window[last]);
    scatter_add_init(&f.scatter_add, width, fold->strides[last], f.row + fold->positions[last]);
    for (uint64_t row = begin; row < end; row++) {
        uint32_t at[KERN_RANK_MAX];
        dense_row_at(y, row, at);
        scatter_add_clear(&f.scatter_add);
        for (uint32_t tap = 0; tap < f.taps; tap++)
            fold_join(&f, at, tap);
        int64_t to = dense_offset(y, at, y->rank);
        float *line = direct ? (float *)call->data[1] + to : f.scatter_add.line;
        const float *sums = scatter_add_end(&f.scatter_add, line);
        if (sums != line || !direct)
            dense_store_row(call->data[1], to, y->strides[y->rank - 1], y->type, width, sums);
    }
}

KERN_ISA_RUN(fold_f32, fold_fast_run)
KERN_ISA_RUN_WITH(resample_repeat, resample_repeat_run(call, &KERN_ISA_TABLE(move_isa_), begin, end))
