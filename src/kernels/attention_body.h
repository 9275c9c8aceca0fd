/* The attention of attention_fast.h; included once per instruction set. */
#include "kernels/attention_fast.h"
#include "kernels/dense_vec.h"

#include <math.h>

struct attention {
    const struct kern_call *call;
    struct attention_inputs in;
    const struct kern_view *q_view, *k_view, *v_view, *y_view;
    uint32_t group, depth, value_depth, width; /* query heads per key head; width: value_depth rounded up */
    float *q, *scores, *sums, *top, *total;   /* of the rows */
    float *kt, *v, *rows4, *mask;             /* of the keys: [depth][ATTENTION_KEYS], [ATTENTION_KEYS][width] */
};

static void attention_init(struct attention *a, const struct kern_call *call)
{
    const struct kern_op *op = call->op;
    *a = (struct attention){
        .call = call, .q_view = &op->tensors[0], .k_view = &op->tensors[1], .v_view = &op->tensors[2]
    };
    attention_inputs_init(op, &a->in);
    a->y_view = &op->tensors[op->input_count];
    a->group = a->q_view->sizes[1] / a->k_view->sizes[1];
    a->depth = a->k_view->sizes[3];
    a->value_depth = a->v_view->sizes[3];
    a->width = (uint32_t)base_align_up(a->value_depth, ATTENTION_STEP);
    a->q = call->worker_scratch;
    a->scores = a->q + ATTENTION_ROWS * a->depth;
    a->sums = a->scores + ATTENTION_ROWS * ATTENTION_KEYS;
    a->kt = a->sums + ATTENTION_ROWS * a->width;
    a->v = a->kt + ATTENTION_KEYS * a->depth;
    a->top = a->v + ATTENTION_KEYS * a->width;
    a->total = a->top + ATTENTION_ROWS;
    a->rows4 = a->total + ATTENTION_ROWS;
    a->mask = a->rows4 + 4 * a->depth;
    memset(a->v, 0, ATTENTION_KEYS * a->width * sizeof(float));
    memset(a->kt, 0, ATTENTION_KEYS * a->depth * sizeof(float));
}

/* c[m][0 .. 2 VEC) = (add ? c : 0) + sum over k of a[m][k] * b[k][...] */
DENSE_INLINE void attention_tile(uint32_t rows, uint32_t depth, const float *a, uint32_t a_row, const float *b,
                                 int64_t b_row, float *c, uint32_t c_row, bool add)
{
    vec low[8], high[8];
    for (uint32_t m = 0; m < rows; m++) {
        low[m] = add ? vec_load(c + m * c_row) : vec_set(0);
        high[m] = add ? vec_load(c + m * c_row + VEC) : vec_set(0);
    }
    for (uint32_t k = 0; k < depth; k++) {
        vec b0 = vec_load(b + k * b_row), b1 = vec_load(b + k * b_row + VEC);
        for (uint32_t m = 0; m < rows; m++) {
            vec value = vec_set(a[m * a_row + k]);
            low[m] = vec_fma(value, b0, low[m]);
            high[m] = vec_fma(value, b1, high[m]);
        }
    }
    for (uint32_t m = 0; m < rows; m++) {
        vec_store(c + m * c_row, low[m]);
        vec_store(c + m * c_row + VEC, high[m]);
    }
}

#define TILE_ROWS (VEC == 16 ? 8 : 6) /* accumulators that fit in the registers */

static void attention_product(uint32_t rows, uint32_t width, uint32_t depth, const float *a, uint32_t a_row,
                              const float *b, int64_t b_row, float *c, uint32_t c_row, bool add)
{
    for (uint32_t n = 0; n < width; n += 2 * VEC) {
        uint32_t m = 0;
        for (; m + TILE_ROWS <= rows; m += TILE_ROWS)
            attention_tile(TILE_ROWS, depth, a + m * a_row, a_row, b + n, b_row, c + m * c_row + n, c_row, add);
        for (; m + 2 <= rows; m += 2)
            attention_tile(2, depth, a + m * a_row, a_row, b + n, b_row, c + m * c_row + n, c_row, add);
        if (m < rows)
            attention_tile(1, depth, a + m * a_row, a_row, b + n, b_row, c + m * c_row + n, c_row, add);
    }
}

static void attention_load_row(const struct attention *a, uint32_t tensor, const struct kern_view *view,
                               const uint32_t *at, uint32_t row, float *out)
{
    uint32_t where[4] = { at[0], tensor ? at[1] / a->group : at[1], row };
    dense_load_row(a->call->data[tensor], dense_offset(view, where, 3), view->strides[3], view->type, view->sizes[3],
                   out);
}

/* kt[d][n] of four keys from their rows */
static void attention_turn(const float *rows, uint32_t depth, float *kt)
{
    uint32_t d = 0;
#if defined(__x86_64__)
    for (; d + 4 <= depth; d += 4) {
        __m128 r0 = _mm_loadu_ps(rows + d), r1 = _mm_loadu_ps(rows + depth + d);
        __m128 r2 = _mm_loadu_ps(rows + 2 * depth + d), r3 = _mm_loadu_ps(rows + 3 * depth + d);
        _MM_TRANSPOSE4_PS(r0, r1, r2, r3);
        _mm_storeu_ps(kt + d * ATTENTION_KEYS, r0);
        _mm_storeu_ps(kt + (d + 1) * ATTENTION_KEYS, r1);
        _mm_storeu_ps(kt + (d + 2) * ATTENTION_KEYS, r2);
        _mm_storeu_ps(kt + (d + 3) * ATTENTION_KEYS, r3);
    }
#endif
    for (; d < depth; d++) {
        for (uint32_t n = 0; n < 4; n++)
            kt[d * ATTENTION_KEYS + n] = rows[n * depth + d];
    }
}

static void attention_load_keys(const struct attention *a, const uint32_t *at, uint32_t first, uint32_t count)
{
    uint32_t last = first + count - 1;
    for (uint32_t n = 0; n < count; n += 4) {
        for (uint32_t i = 0; i < 4; i++) /* past the end: the last key again; its scores are not used */
            attention_load_row(a, 1, a->k_view, at, BASE_MIN(first + n + i, last), a->rows4 + i * a->depth);
        attention_turn(a->rows4, a->depth, a->kt + n);
    }
}

/* The values where they lie when the tiles can read them there, otherwise a copy. */
static const float *attention_values(const struct attention *a, const uint32_t *at, uint32_t first, uint32_t count,
                                     int64_t *out_row)
{
    const struct kern_view *v = a->v_view;
    uint32_t where[4] = { at[0], at[1] / a->group, first };
    if (v->type == DML_TENSOR_DATA_TYPE_FLOAT32 && v->strides[3] == 1 && a->width == a->value_depth) {
        *out_row = v->strides[2];
        return (const float *)a->call->data[2] + dense_offset(v, where, 3);
    }
    for (uint32_t n = 0; n < count; n++)
        attention_load_row(a, 2, v, at, first + n, a->v + n * a->width);
    *out_row = a->width;
    return a->v;
}

/* Few rows: turning the keys would cost more than the products. */
static bool attention_direct(const struct attention *a, uint32_t rows)
{
    return rows < 4 && a->k_view->type == DML_TENSOR_DATA_TYPE_FLOAT32 && a->k_view->strides[3] == 1;
}

static void attention_dots(const struct attention *a, const uint32_t *at, uint32_t rows, uint32_t first, uint32_t count)
{
    uint32_t where[4] = { at[0], at[1] / a->group, first };
    const float *key = (const float *)a->call->data[1] + dense_offset(a->k_view, where, 3);
    for (uint32_t n = 0; n < count; n++, key += a->k_view->strides[2]) {
        for (uint32_t m = 0; m < rows; m++) {
            const float *q = a->q + m * a->depth;
            vec sum = vec_set(0);
            uint32_t d = 0;
            for (; d + VEC <= a->depth; d += VEC)
                sum = vec_fma(vec_load(q + d), vec_load(key + d), sum);
            float score = vec_sum(sum);
            for (; d < a->depth; d++)
                score += q[d] * key[d];
            a->scores[m * ATTENTION_KEYS + n] = score;
        }
    }
}

static void attention_add_mask(const struct attention *a, const uint32_t *where, uint32_t count, float *scores)
{
    const struct kern_view *view = &a->call->op->tensors[a->in.mask];
    int64_t step = view->sizes[3] > 1 ? view->strides[3] : 0;
    dense_load_row(a->call->data[a->in.mask], dense_offset(view, where, 4), step, view->type, count, a->mask);
    for (uint32_t n = 0; n < count; n++)
        scores[n] += a->mask[n];
}

static void attention_keep(const struct attention *a, const uint32_t *where, uint32_t count, float *scores)
{
    const struct kern_view *view = &a->call->op->tensors[a->in.keep];
    const int32_t *keep = (const int32_t *)a->call->data[a->in.keep] + dense_offset(view, where, 4);
    int64_t step = view->sizes[3] > 1 ? view->strides[3] : 0;
    float filter = a->call->op->u.attention.filter;
    for (uint32_t n = 0; n < count; n++)
        scores[n] += keep[n * step] ? 0 : filter;
}

/* Masks the keys outside the batch's span. */
static void attention_cut(const struct attention *a, const uint32_t *where, uint32_t count, float *scores)
{
    float filter = a->call->op->u.attention.filter;
    int64_t start, end;
    attention_span(a->call, &a->in, where[0], &start, &end);
    int64_t low = BASE_MAX(0, BASE_MIN(start - where[3], count));
    int64_t high = BASE_MAX(low, BASE_MIN(end - where[3], count));
    for (int64_t n = 0; n < low; n++)
        scores[n] += filter;
    for (int64_t n = high; n < count; n++)
        scores[n] += filter;
}

static void attention_masks(const struct attention *a, const uint32_t *at, uint32_t m, uint32_t first, uint32_t count)
{
    const uint32_t where[4] = { at[0], at[1], at[2] + m, first };
    float *scores = a->scores + m * ATTENTION_KEYS;
    if (a->in.mask)
        attention_add_mask(a, where, count, scores);
    if (a->in.keep)
        attention_keep(a, where, count, scores);
    if (a->in.end || a->in.start)
        attention_cut(a, where, count, scores);
}

/* Turns the first `count` of `padded` scores into weights relative to the row's greatest score so far, and what was
 * summed up before likewise; the others have no weight. false when no weight is left. */
static bool attention_soften(const struct attention *a, uint32_t m, uint32_t count, uint32_t padded)
{
    float *scores = a->scores + m * ATTENTION_KEYS, *sums = a->sums + m * a->width;
    vec most = vec_set(a->top[m]), sum = vec_set(0);
    for (uint32_t n = count; n < padded; n++)
        scores[n] = -INFINITY;
    for (uint32_t n = 0; n < padded; n += VEC)
        most = vec_max(vec_load(scores + n), most);
    float top = vec_top(most), base = top == -INFINITY ? 0 : top;
    for (uint32_t n = 0; n < padded; n += VEC) {
        vec weight = vec_exp(vec_load(scores + n) - vec_set(base));
        vec_store(scores + n, weight);
        sum += weight;
    }
    float shrink = a->top[m] == -INFINITY ? 0 : expf(a->top[m] - base), added = vec_sum(sum);
    a->total[m] = a->total[m] * shrink + added;
    a->top[m] = top;
    for (uint32_t d = 0; shrink != 1 && d < a->width; d += VEC)
        vec_store(sums + d, vec_load(sums + d) * vec_set(shrink));
    return added != 0;
}

/* The block's keys from `first` on; `keys` exist for the last of its rows. */
static void attention_block(const struct attention *a, const uint32_t *at, uint32_t rows, uint32_t first, uint32_t keys)
{
    uint32_t count = BASE_MIN(keys - first, ATTENTION_KEYS);
    int64_t v_row;
    bool any = false;
    if (attention_direct(a, rows)) {
        attention_dots(a, at, rows, first, count);
    } else {
        attention_load_keys(a, at, first, count);
        attention_product(rows, (uint32_t)base_align_up(count, 2 * VEC), a->depth, a->q, a->depth, a->kt,
                          ATTENTION_KEYS, a->scores, ATTENTION_KEYS, false);
    }
    for (uint32_t m = 0; m < rows; m++) {
        uint32_t own = attention_keys(a->call, &a->in, at[0], at[2] + m);
        own = own > first ? BASE_MIN(own - first, count) : 0;
        attention_masks(a, at, m, first, own);
        any |= attention_soften(a, m, own, (uint32_t)base_align_up(count, VEC));
    }
    if (!any)
        return;
    const float *v = attention_values(a, at, first, count, &v_row);
    attention_product(rows, a->width, count, a->scores, ATTENTION_KEYS, v, v_row, a->sums, a->width, true);
}

static void attention_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    struct attention a;
    attention_init(&a, call);
    uint32_t total = a.y_view->sizes[2], blocks = (total + ATTENTION_ROWS - 1) / ATTENTION_ROWS;
    for (uint64_t unit = begin; unit < end; unit++) {
        uint32_t at[4] = { 0, 0, (uint32_t)(unit % blocks) * ATTENTION_ROWS, 0 };
        at[1] = (uint32_t)(unit / blocks % a.y_view->sizes[1]);
        at[0] = (uint32_t)(unit / blocks / a.y_view->sizes[1]);
        uint32_t rows = BASE_MIN(total - at[2], ATTENTION_ROWS);
        for (uint32_t m = 0; m < rows; m++) {
            attention_load_row(&a, 0, a.q_view, at, at[2] + m, a.q + m * a.depth);
            for (uint32_t d = 0; d < a.depth; d++)
                a.q[m * a.depth + d] *= call->op->u.attention.scale;
            a.top[m] = -INFINITY;
            a.total[m] = 0;
        }
        memset(a.sums, 0, (size_t)rows * a.width * sizeof(float));
        uint32_t keys = attention_keys(call, &a.in, at[0], at[2] + rows - 1);
        for (uint32_t first = 0; first < keys; first += ATTENTION_KEYS)
            attention_block(&a, at, rows, first, keys);
        for (uint32_t m = 0; m < rows; m++) {
            float inverse = a.total[m] == 0 ? 0 : 1 / a.total[m];
            uint32_t where[4] = { at[0], at[1], at[2] + m, 0 };
            for (uint32_t d = 0; d < a.value_depth; d++)
                a.sums[m * a.width + d] *= inverse;
            dense_finish_f32(call, NULL, where, a.value_depth, a.sums + m * a.width);
        }
    }
}
