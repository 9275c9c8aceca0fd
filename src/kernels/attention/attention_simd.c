/* SPDX-License-Identifier: Apache-2.0 */
/* The FLOAT32 attention of attention.h.
 *
 * Scores are stored transposed, [key][query]: the GEMMs then read K in place, and the softmax processes whole vectors
 * of queries. Few queries have untransposed scores, with vectors along the keys' depth. */
#include "kernels/core/isa.h"
#include "kernels/attention/attention.h"
#include "kernels/gemm/ukernel.h"
#include "kernels/row/row.h"

#include "base/parallel.h"

#include <float.h>

struct attention {
    const struct kern_call *call;
    struct attention_inputs in;
    const struct kern_view *q_view, *k_view, *v_view, *y_view;
    struct attention_scratch s;         /* sizes of blocks */
    uint32_t group, depth, value_depth; /* group: query heads per key head */
    bool masked, uniform;               /* there are masks; they do not depend on the query */
    float *q, *scores, *sums, *k, *v;
    float *top, *total, *shrink; /* per query: maximum score, sum of weights, factor for the previous blocks' results */
    float *rows4, *masks;        /* four rows of Q, of masks */
};

static bool attention_repeats(const struct kern_view *view)
{
    return view->sizes[2] == 1 || view->strides[2] == 0;
}

static void attention_init(struct attention *a, const struct kern_call *call)
{
    const struct kern_op *op = call->op;
    *a = (struct attention){
        .call = call, .q_view = &op->tensors[0], .k_view = &op->tensors[1], .v_view = &op->tensors[2]
    };
    attention_inputs_init(op, &a->in);
    a->masked = a->in.mask || a->in.keep || a->in.end || a->in.start;
    a->uniform = (!a->in.mask || attention_repeats(&op->tensors[a->in.mask])) &&
                 (!a->in.keep || attention_repeats(&op->tensors[a->in.keep]));
    a->y_view = &op->tensors[op->input_count];
    a->group = a->q_view->sizes[1] / a->k_view->sizes[1];
    a->depth = a->k_view->sizes[3];
    a->value_depth = a->v_view->sizes[3];
    attention_scratch_init(op, &a->s);
    a->q = call->worker_scratch;
    a->scores = a->q + a->s.scores;
    a->sums = a->q + a->s.sums;
    a->k = a->q + a->s.k;
    a->v = a->q + a->s.v;
    a->top = a->q + a->s.rows_state;
    a->total = a->top + a->s.rows;
    a->shrink = a->total + a->s.rows;
    a->masks = a->q + a->s.masks;
    a->rows4 = a->q + a->s.rows4;
    memset(a->v, 0, (a->s.rows_state - a->s.v) * sizeof(float));
}

#define TILE_ROWS (VEC == 16 ? 8 : 6) /* accumulators that fit in the registers */

DENSE_INLINE void attention_tile(uint32_t rows, uint32_t vecs, struct ukernel t)
{
    t.rows = rows;
    t.vecs = vecs;
    t.splits = rows == 1 && VEC < 16 ? 4 : 1;
    t.group = rows == 1 || VEC == 16 ? 4 : 1; /* unrolling longer tiles costs AVX2 3 % */
    t.b_type = DML_TENSOR_DATA_TYPE_FLOAT32;
    ukernel(&t);
}

DENSE_INLINE void attention_strip(uint32_t vecs, uint32_t rows, struct ukernel t)
{
    for (uint32_t m = 0, count; m < rows; m += count, t.a += count * t.a_row, t.c += count * t.c_row) {
        count = rows - m >= TILE_ROWS ? TILE_ROWS : rows - m;
        UKERNEL_BY_COUNT(count, TILE_ROWS, attention_tile, vecs, t)
    }
}

/* C (+)= A * B for all rows and `width` columns, a multiple of VEC; only the tile of `t` is unset. */
DENSE_INLINE void attention_product(uint32_t rows, uint32_t width, struct ukernel t)
{
    const float *b = t.b;
    for (; width >= 2 * VEC; width -= 2 * VEC, t.b = b += 2 * VEC, t.c += 2 * VEC)
        attention_strip(2, rows, t);
    if (width)
        attention_strip(1, rows, t);
}

static void attention_load_row(const struct attention *a, uint32_t tensor, const uint32_t *at, uint32_t row, float *out)
{
    const struct kern_view *view = &a->call->op->tensors[tensor];
    uint32_t where[4] = { at[0], tensor ? at[1] / a->group : at[1], row };
    dense_load_row(a->call->data[tensor], dense_offset(view, where, 3), view->strides[3], view->type, view->sizes[3],
                   out);
}

/* out[c][r] (+)= rows[r][c] for four rows of `count` columns rounded up to 4 */
DENSE_INLINE void attention_transpose(const float *rows, uint32_t length, uint32_t count, float *out, uint32_t out_row,
                                      bool add)
{
    for (uint32_t c = 0; c < count; c += 4) {
        float *to = out + c * out_row;
#if defined(__x86_64__)
        __m128 r0 = _mm_loadu_ps(rows + c), r1 = _mm_loadu_ps(rows + length + c);
        __m128 r2 = _mm_loadu_ps(rows + 2 * length + c), r3 = _mm_loadu_ps(rows + 3 * length + c);
        _MM_TRANSPOSE4_PS(r0, r1, r2, r3);
        _mm_storeu_ps(to, add ? _mm_add_ps(_mm_loadu_ps(to), r0) : r0);
        _mm_storeu_ps(to + out_row, add ? _mm_add_ps(_mm_loadu_ps(to + out_row), r1) : r1);
        _mm_storeu_ps(to + 2 * out_row, add ? _mm_add_ps(_mm_loadu_ps(to + 2 * out_row), r2) : r2);
        _mm_storeu_ps(to + 3 * out_row, add ? _mm_add_ps(_mm_loadu_ps(to + 3 * out_row), r3) : r3);
#else
        for (uint32_t i = 0; i < 16; i++) {
            float value = rows[i % 4 * length + c + i / 4], *at = to + i / 4 * out_row + i % 4;
            *at = add ? *at + value : value;
        }
#endif
    }
}

/* Q of these rows times scale: [row][depth], or transposed. */
static void attention_load_queries(const struct attention *a, const uint32_t *at, uint32_t rows, bool transposed)
{
    uint32_t length = (uint32_t)base_align_up(a->depth, 4);
    const uint32_t count = a->depth * (transposed ? a->s.rows : rows);
    const float scale = a->call->op->u.attention.scale;
    float *q = a->q;
    /* Columns without a row: stale values could be subnormal, which would slow the GEMM down tenfold. */
    if (transposed && rows < a->s.rows) {
        memset(q, 0, count * sizeof(*q));
        memset(a->rows4, 0, 4 * (size_t)length * sizeof(*a->rows4));
    }
    for (uint32_t m = 0; m < rows; m++) {
        float *row = transposed ? a->rows4 + m % 4 * length : a->q + m * a->depth;
        attention_load_row(a, 0, at, at[2] + m, row);
        if (transposed && (m % 4 == 3 || m + 1 == rows)) /* after the last row: stale ones, whose scores are not used */
            attention_transpose(a->rows4, length, a->depth, a->q + (m & ~3u), a->s.rows, false);
    }
    for (uint32_t i = 0; i < count; i++)
        q[i] *= scale;
}

/* Keys (tensor 1) or values (2) in place if the GEMMs can read them there, otherwise a copy. */
static const float *attention_rows(const struct attention *a, uint32_t tensor, const uint32_t *at, uint32_t first,
                                   uint32_t count, int64_t *out_row)
{
    const struct kern_view *view = &a->call->op->tensors[tensor];
    const uint32_t length = tensor == 1 ? a->depth : a->s.width;
    float *copy = tensor == 1 ? a->k : a->v;
    uint32_t where[4] = { at[0], at[1] / a->group, first };
    if (attention_in_place(view, length)) {
        *out_row = view->strides[2];
        return (const float *)a->call->data[tensor] + dense_offset(view, where, 3);
    }
    for (uint32_t n = 0; n < count; n++)
        attention_load_row(a, tensor, at, first + n, copy + n * length);
    *out_row = length;
    return copy;
}

DENSE_INLINE float attention_dot(DML_TENSOR_DATA_TYPE type, const float *q, const void *key, uint32_t depth)
{
    vec sum[4] = { vec_set(0), vec_set(0), vec_set(0), vec_set(0) };
    uint32_t d = 0;
    for (; d + 4 * VEC <= depth; d += 4 * VEC)
        for (uint32_t i = 0; i < 4; i++)
            sum[i] = vec_fma(vec_load(q + d + i * VEC), vec_load_of(type, key, d + i * VEC), sum[i]);
    for (; d + VEC <= depth; d += VEC)
        sum[0] = vec_fma(vec_load(q + d), vec_load_of(type, key, d), sum[0]);
    if (d < depth)
        sum[1] = vec_fma(vec_load_part(q + d, depth - d, vec_set(0)), vec_load_some(type, key, d, depth - d), sum[1]);
    return vec_sum((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

DENSE_INLINE void attention_fetch(const char *from, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes; i += 64)
        __builtin_prefetch(from + i);
}

/* While a key is multiplied, a later one and its value are prefetched. */
static void attention_dots(const struct attention *a, const uint32_t *at, uint32_t rows, uint32_t first, uint32_t count)
{
    uint32_t where[4] = { at[0], at[1] / a->group, first };
    const DML_TENSOR_DATA_TYPE type = a->k_view->type;
    int64_t bytes = kern_type_bytes(type), step = a->k_view->strides[2] * bytes;
    const char *key = (const char *)a->call->data[1] + dense_offset(a->k_view, where, 3) * bytes;
    const uint64_t value_bytes = kern_type_bytes(a->v_view->type), length = a->depth * (uint64_t)bytes;
    const int64_t value_step = a->v_view->strides[2] * (int64_t)value_bytes;
    const char *value = (const char *)a->call->data[2] + dense_offset(a->v_view, where, 3) * (int64_t)value_bytes;
    for (uint32_t n = 0; n < count; n++, key += step, value += value_step) {
        attention_fetch(key + DENSE_AHEAD, length);
        attention_fetch(value, a->v_view->strides[3] == 1 ? a->value_depth * value_bytes : 0);
        for (uint32_t m = 0; m < rows; m++)
            a->scores[m * a->s.keys + n] = VEC_BY_TYPE(type, attention_dot, a->q + m * a->depth, key, a->depth);
    }
}

/* The masks for scores of query at[2] + m and keys from `first` on; -infinity for keys that do not exist. */
static void attention_limit_row(const struct attention *a, const uint32_t *at, uint32_t m, uint32_t first,
                                uint32_t count, float *out)
{
    const uint32_t where[4] = { at[0], at[1], at[2] + m, first };
    const uint32_t keys = attention_keys(a->call, &a->in, at[0], at[2] + m);
    const struct kern_view *mask = &a->call->op->tensors[a->in.mask];
    if (a->in.mask)
        dense_load_row(a->call->data[a->in.mask], dense_offset(mask, where, 4),
                       mask->sizes[3] > 1 ? mask->strides[3] : 0, mask->type, count, out);
    else
        memset(out, 0, count * sizeof(*out));
    attention_filter(a->call, &a->in, where, count, false, out);
    for (uint32_t n = keys > first ? keys - first : 0; n < count; n++)
        out[n] = -INFINITY;
}

/* Converts a row's scores to weights relative to its maximum score so far; false if all weights are 0. */
static bool attention_soften_row(const struct attention *a, const uint32_t *at, uint32_t m, uint32_t first,
                                 uint32_t count)
{
    float *scores = a->scores + m * a->s.keys;
    uint32_t padded = (uint32_t)base_align_up(count, VEC);
    vec most = vec_set(a->top[m]), sum = vec_set(0);
    attention_limit_row(a, at, m, first, count, a->masks);
    for (uint32_t n = 0; n < count; n++)
        scores[n] += a->masks[n];
    for (uint32_t n = count; n < padded; n++)
        scores[n] = -INFINITY;
    for (uint32_t n = 0; n < padded; n += VEC)
        most = vec_max(vec_load(scores + n), most);
    float top = vec_top(most), base = BASE_MAX(top, -FLT_MAX);
    for (uint32_t n = 0; n < padded; n += VEC) {
        vec weight = vec_exp(vec_load(scores + n) - vec_set(base));
        vec_store(scores + n, weight);
        sum += weight;
    }
    float added = vec_sum(sum);
    a->shrink[m] = expf(a->top[m] - base);
    a->total[m] = a->total[m] * a->shrink[m] + added;
    a->top[m] = top;
    return added != 0;
}

/* Adds the masks to transposed scores. */
static void attention_mask_block(const struct attention *a, const uint32_t *at, uint32_t rows, uint32_t first,
                                 uint32_t count)
{
    bool limited = attention_keys(a->call, &a->in, at[0], at[2]) < first + count;
    if (!a->masked && !limited)
        return;
    if (a->uniform && !limited) {
        attention_limit_row(a, at, 0, first, count, a->masks);
        for (uint32_t n = 0; n < count; n++)
            for (uint32_t m = 0; m < rows; m += VEC) {
                float *scores = a->scores + n * a->s.rows + m;
                vec_store(scores, vec_load(scores) + vec_set(a->masks[n]));
            }
        return;
    }
    for (uint32_t m = 0; m < rows; m++) {
        attention_limit_row(a, at, m, first, count, a->masks + m % 4 * a->s.keys);
        for (uint32_t i = m % 4 + 1; m + 1 == rows && i < 4; i++) /* lanes without a query are defined, too */
            memset(a->masks + i * a->s.keys, 0, count * sizeof(*a->masks));
        if (m % 4 == 3 || m + 1 == rows)
            attention_transpose(a->masks, a->s.keys, count, a->scores + (m & ~3u), a->s.rows, true);
    }
}

/* As attention_soften_row for VEC queries from m on. */
static bool attention_soften(const struct attention *a, uint32_t m, uint32_t count)
{
    float *scores = a->scores + m;
    vec most = vec_load(a->top + m), sum = vec_set(0);
    for (uint32_t n = 0; n < count; n++)
        most = vec_max(vec_load(scores + n * a->s.rows), most);
    vec base = vec_max(most, vec_set(-FLT_MAX));
    for (uint32_t n = 0; n < count; n++) {
        vec weight = vec_exp(vec_load(scores + n * a->s.rows) - base);
        vec_store(scores + n * a->s.rows, weight);
        sum += weight;
    }
    vec shrink = vec_exp(vec_load(a->top + m) - base);
    vec_store(a->shrink + m, shrink);
    vec_store(a->total + m, vec_load(a->total + m) * shrink + sum);
    vec_store(a->top + m, most);
    return vec_sum(sum) != 0;
}

static bool attention_weights(const struct attention *a, const uint32_t *at, uint32_t rows, uint32_t first,
                              uint32_t count)
{
    bool any = false;
    int64_t row;
    if (attention_direct(a->k_view, rows)) {
        attention_dots(a, at, rows, first, count);
        for (uint32_t m = 0; m < rows; m++)
            any |= attention_soften_row(a, at, m, first, count);
        return any;
    }
    const float *k = attention_rows(a, 1, at, first, count, &row);
    struct ukernel t = { .depth = a->depth, .a = k, .a_row = row, .a_step = 1, .b = a->q, .c = a->scores };
    t.b_row = t.c_row = a->s.rows;
    attention_product(count, (uint32_t)base_align_up(rows, VEC), t);
    attention_mask_block(a, at, rows, first, count);
    for (uint32_t m = 0; m < rows; m += VEC)
        any |= attention_soften(a, m, count);
    return any;
}

static void attention_block(const struct attention *a, const uint32_t *at, uint32_t rows, uint32_t first,
                            uint32_t count)
{
    if (!attention_weights(a, at, rows, first, count))
        return;
    int64_t row;
    const float *v = attention_rows(a, 2, at, first, count, &row);
    for (uint32_t m = 0; m < rows; m++)
        for (uint32_t d = 0; a->shrink[m] != 1 && d < a->s.width; d += VEC)
            vec_store(a->sums + m * a->s.width + d, vec_load(a->sums + m * a->s.width + d) * vec_set(a->shrink[m]));
    struct ukernel t = { .depth = count, .a = a->scores, .a_row = 1, .a_step = 1, .b = v, .b_row = row, .add = true };
    t.c = a->sums;
    t.c_row = a->s.width;
    if (attention_direct(a->k_view, rows)) {
        t.a_row = a->s.keys;
        attention_product(rows, a->s.width, t);
    } else {
        t.a_step = a->s.rows;
        attention_product(rows, a->s.width, t);
    }
}

static void attention_store(const struct attention *a, const uint32_t *at, uint32_t rows)
{
    for (uint32_t m = 0; m < rows; m++) {
        float none = a->call->op->u.attention.undefined ? NAN : 0;
        float inverse = a->total[m] == 0 ? none : 1 / a->total[m];
        uint32_t where[4] = { at[0], at[1], at[2] + m, 0 };
        for (uint32_t d = 0; d < a->s.width; d += VEC)
            vec_store(a->sums + m * a->s.width + d, vec_load(a->sums + m * a->s.width + d) * vec_set(inverse));
        dense_finish_f32(a->call, NULL, where, a->value_depth, a->sums + m * a->s.width);
    }
}

/* Rows of one head: returns their number, and sets their addresses, and the keys that they see. */
static uint32_t attention_place(const struct attention *a, uint64_t unit, uint32_t *at, uint32_t *out_keys)
{
    const uint32_t total = a->y_view->sizes[2], blocks = (total + ATTENTION_ROWS - 1) / ATTENTION_ROWS;
    at[0] = (uint32_t)(unit / blocks / a->y_view->sizes[1]);
    at[1] = (uint32_t)(unit / blocks % a->y_view->sizes[1]);
    at[2] = (uint32_t)(unit % blocks) * ATTENTION_ROWS;
    at[3] = 0;
    const uint32_t rows = BASE_MIN(total - at[2], ATTENTION_ROWS);
    *out_keys = attention_keys(a->call, &a->in, at[0], at[2] + rows - 1);
    return rows;
}

/* Processes these rows against keys from `first` to `end`. */
static void attention_attend(const struct attention *a, const uint32_t *at, uint32_t rows, uint32_t first, uint32_t end)
{
    attention_load_queries(a, at, rows, !attention_direct(a->k_view, rows));
    for (uint32_t m = 0; m < a->s.rows; m++) {
        a->top[m] = -INFINITY;
        a->total[m] = 0;
    }
    memset(a->sums, 0, (size_t)rows * a->s.width * sizeof(float));
    for (; first < end; first += ATTENTION_KEYS)
        attention_block(a, at, rows, first, BASE_MIN(end - first, ATTENTION_KEYS));
}

/* ---- keys that threads share ---- */

struct attention_job {
    const struct kern_call *call;
    struct attention_parts parts;
};

static uint32_t attention_part_keys(const struct attention_job *job, uint32_t keys)
{
    const uint64_t share = base_align_up((keys + job->parts.count - 1) / job->parts.count, ATTENTION_LINE);
    return (uint32_t)BASE_MAX(share, job->parts.keys);
}

static float *attention_part_result(const struct attention_job *job, uint64_t part)
{
    return (float *)job->call->scratch + job->parts.first + part * job->parts.one;
}

static void attention_part_run(void *context, size_t begin, size_t end, unsigned worker)
{
    const struct attention_job *job = context;
    struct kern_call call = *job->call;
    struct attention a;
    call.worker_scratch = (float *)call.scratch + worker * job->parts.worker;
    attention_init(&a, &call);
    for (uint64_t part = begin; part < end; part++) {
        uint32_t at[4], keys, rows = attention_place(&a, part / job->parts.count, at, &keys);
        const uint32_t each = attention_part_keys(job, keys);
        const uint64_t first = part % job->parts.count * (uint64_t)each;
        if (first && first >= keys)
            continue;
        a.sums = attention_part_result(job, part);
        a.top = a.sums + (uint64_t)a.s.rows * a.s.width;
        a.total = a.top + a.s.rows;
        attention_attend(&a, at, rows, (uint32_t)first, BASE_MIN((uint32_t)first + each, keys));
    }
}

/* Combines all parts into the first one, to which `a` points. */
static void attention_add_part(const struct attention *a, uint32_t rows, const float *sums)
{
    const float *top = sums + (uint64_t)a->s.rows * a->s.width, *total = top + a->s.rows;
    for (uint32_t m = 0; m < rows; m++) {
        const float most = top[m] > a->top[m] ? top[m] : a->top[m], base = BASE_MAX(most, -FLT_MAX);
        const float own = expf(a->top[m] - base), other = expf(top[m] - base);
        float *to = a->sums + m * a->s.width;
        for (uint32_t d = 0; d < a->s.width; d += VEC)
            vec_store(to + d, vec_load(to + d) * vec_set(own) + vec_load(sums + m * a->s.width + d) * vec_set(other));
        a->total[m] = a->total[m] * own + total[m] * other;
        a->top[m] = most;
    }
}

static void attention_run_parts(const struct kern_call *call, const struct attention_parts *parts)
{
    struct attention_job job = { call, *parts };
    struct kern_call own = *call;
    struct attention a;
    base_parallel_ranges(parts->units * parts->count, 1, BASE_MAX(call->op->threads, 1), attention_part_run, &job);
    own.worker_scratch = call->scratch;
    attention_init(&a, &own);
    for (uint64_t unit = 0; unit < parts->units; unit++) {
        uint32_t at[4], keys, rows = attention_place(&a, unit, at, &keys);
        const uint32_t each = attention_part_keys(&job, keys);
        a.sums = attention_part_result(&job, unit * parts->count);
        a.top = a.sums + (uint64_t)a.s.rows * a.s.width;
        a.total = a.top + a.s.rows;
        for (uint32_t i = 1; i < parts->count && (uint64_t)i * each < keys; i++)
            attention_add_part(&a, rows, attention_part_result(&job, unit * parts->count + i));
        attention_store(&a, at, rows);
    }
}

static void attention_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    struct attention_parts parts;
    struct attention a;
    attention_parts_init(call->op, call->op->threads, &parts);
    if (parts.count > 1) {
        attention_run_parts(call, &parts);
        return;
    }
    attention_init(&a, call);
    for (uint64_t unit = begin; unit < end; unit++) {
        uint32_t at[4], keys, rows = attention_place(&a, unit, at, &keys);
        attention_attend(&a, at, rows, 0, keys);
        attention_store(&a, at, rows);
    }
}

KERN_ISA_RUN(attention_f32, attention_run)
