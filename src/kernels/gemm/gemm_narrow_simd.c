/* SPDX-License-Identifier: Apache-2.0 */
/* The GEMM of gemm_narrow.h. */
#include "kernels/core/isa.h"
#include "kernels/gemm/gemm_block.h"
#include "kernels/gemm/gemm_narrow.h"
#include "kernels/map/map.h"

struct narrow_run {
    struct gemm_narrow p;
    const struct kern_call *call;
    float *a, *c, *block;
    const float *b;
    const struct kern_map_isa *isa;
    uint64_t b_batch;           /* whose matrix is in b */
    uint32_t at[KERN_RANK_MAX]; /* the block's first row in Y */
    uint32_t rows;
    struct kern_op end; /* the epilogue on a block */
    bool same[KERN_TENSORS_MAX];
};

/* ---- sums ---- */

/* Rows of A as columns: a[k * GEMM_NARROW_PITCH + row], whole vectors, in which the last row is repeated. */
DENSE_INLINE void narrow_turn(DML_TENSOR_DATA_TYPE type, const void *data, int64_t at, int64_t row, uint32_t rows,
                              uint32_t depth, float *a)
{
    for (uint32_t m = 0; m < rows; m += VEC)
        for (uint32_t k = 0; k < depth; k += VEC) {
            const uint32_t left = depth - k;
            vec v[VEC];
            _Pragma("GCC unroll 16") for (uint32_t r = 0; r < VEC; r++) v[r] =
                vec_load_some(type, data, at + (int64_t)BASE_MIN(m + r, rows - 1) * row + k, left);
            vec_transpose(v);
            _Pragma("GCC unroll 16") for (uint32_t r = 0; r < VEC; r++) if (r < left)
                vec_store(a + (uint64_t)(k + r) * GEMM_NARROW_PITCH + m, v[r]);
        }
}

/* Steps of k from k0 on, and the elements between them. */
static const float *narrow_load(const struct narrow_run *r, int64_t at, uint32_t k0, uint32_t depth, int64_t *out_step)
{
    const struct kern_view *a = &r->call->op->tensors[0];
    const int64_t step = a->sizes[a->rank - 1] > 1 ? a->strides[a->rank - 1] : 0, row = r->p.row[0];
    const void *data = r->call->data[0];
    at += k0 * step;
    *out_step = GEMM_NARROW_PITCH;
    if (row == 1 && a->type == DML_TENSOR_DATA_TYPE_FLOAT32 && r->rows % VEC == 0) {
        *out_step = step;
        return (const float *)data + at;
    }
    if ((step == 1 || depth == 1) && dense_is_short_float(a->type))
        VEC_BY_TYPE(a->type, narrow_turn, data, at, row, r->rows, depth, r->a);
    else
        gemm_block_load(&(struct gemm_block_source){ data, a->type, at, step, row, depth, r->rows }, r->a,
                        GEMM_NARROW_PITCH);
    return r->a;
}

/* Some steps of k: A as columns, `step` elements apart, and rows of B. */
struct narrow_steps {
    const float *a, *b;
    int64_t step;
    uint32_t depth;
    bool add;
};

/* Some vectors of rows from row m on, of all columns. */
DENSE_INLINE void narrow_rows(uint32_t n, uint32_t vecs, const struct narrow_steps *steps, uint32_t m, float *c)
{
    vec sum[GEMM_NARROW_COLUMNS][2];
    const float *a = steps->a + m, *b = steps->b;
    _Pragma("GCC unroll 8") for (uint32_t j = 0; j < n; j++) _Pragma("GCC unroll 2") for (uint32_t v = 0; v < vecs; v++)
        sum[j][v] = steps->add ? vec_load(c + j * GEMM_NARROW_ROWS + m + v * VEC) : vec_set(0);
    for (uint32_t k = 0; k < steps->depth; k++, a += steps->step, b += n) {
        vec x[2];
        _Pragma("GCC unroll 2") for (uint32_t v = 0; v < vecs; v++) x[v] = vec_load(a + v * VEC);
        _Pragma("GCC unroll 8") for (uint32_t j = 0; j < n; j++)
            _Pragma("GCC unroll 2") for (uint32_t v = 0; v < vecs; v++) sum[j][v] =
                vec_fma(x[v], vec_set(b[j]), sum[j][v]);
    }
    _Pragma("GCC unroll 8") for (uint32_t j = 0; j < n; j++) _Pragma("GCC unroll 2") for (uint32_t v = 0; v < vecs; v++)
        vec_store(c + j * GEMM_NARROW_ROWS + m + v * VEC, sum[j][v]);
}

DENSE_INLINE void narrow_multiply(uint32_t n, const struct narrow_run *r, const struct narrow_steps *steps)
{
    uint32_t m = 0;
    for (; n <= GEMM_NARROW_COLUMNS / 2 && m + 2 * VEC <= r->rows; m += 2 * VEC)
        narrow_rows(n, 2, steps, m, r->c);
    for (; m < r->rows; m += VEC)
        narrow_rows(n, 1, steps, m, r->c);
}

/* The matrix of the block's batch: [k][n], in place if it is so. */
static void narrow_load_b(struct narrow_run *r, uint64_t batch)
{
    const struct kern_view *b = &r->call->op->tensors[1];
    const int64_t row = gemm_row_step(b), step = b->sizes[b->rank - 1] > 1 ? b->strides[b->rank - 1] : 1;
    const int64_t at = dense_offset(b, r->at, b->rank - 2);
    float *to = (float *)r->call->worker_scratch + r->p.b;
    if (batch == r->b_batch)
        return;
    r->b_batch = batch;
    r->b = b->type == DML_TENSOR_DATA_TYPE_FLOAT32 && step == 1 && (row == r->p.n || r->p.k == 1)
               ? (const float *)r->call->data[1] + at
               : to;
    if (r->b == to)
        gemm_block_load(&(struct gemm_block_source){ r->call->data[1], b->type, at, row, step, r->p.k, r->p.n }, to,
                        r->p.n);
}

static void narrow_sums(const struct narrow_run *r)
{
    const struct kern_view *a = &r->call->op->tensors[0];
    const int64_t at = dense_offset(a, r->at, a->rank - 1);
    const float alpha = r->call->op->u.gemm.alpha;
    for (uint32_t k0 = 0; k0 < r->p.k; k0 += GEMM_NARROW_DEPTH) {
        struct narrow_steps steps = { .depth = BASE_MIN(r->p.k - k0, GEMM_NARROW_DEPTH), .add = k0 > 0 };
        steps.a = narrow_load(r, at, k0, steps.depth, &steps.step);
        steps.b = r->b + (uint64_t)k0 * r->p.n;
        UKERNEL_BY_COUNT(r->p.n, GEMM_NARROW_COLUMNS, narrow_multiply, r, &steps)
    }
    for (uint32_t i = 0; alpha != 1 && i < r->p.n * GEMM_NARROW_ROWS; i += VEC)
        vec_store(r->c + i, vec_load(r->c + i) * vec_set(alpha));
}

/* ---- results ---- */

/* Columns of sums to the block's rows: whole vectors, whose last elements the next rows or columns replace. */
static void narrow_interleave(const struct narrow_run *r)
{
    const uint32_t n = r->p.n;
    for (uint32_t m = 0; m < r->rows; m += VEC)
        for (uint32_t first = base_align_up(n, VEC) - VEC;; first -= VEC) {
            vec v[VEC];
            _Pragma("GCC unroll 16") for (uint32_t j = 0; j < VEC; j++) v[j] =
                vec_load(r->c + (uint64_t)BASE_MIN(first + j, n - 1) * GEMM_NARROW_ROWS + m);
            vec_transpose(v);
            _Pragma("GCC unroll 16") for (uint32_t j = 0; j < VEC; j++)
                vec_store(r->block + (uint64_t)(m + j) * n + first, v[j]);
            if (!first)
                break;
        }
}

/* Results of Y's type. */
static void narrow_store(const struct narrow_run *r)
{
    const struct kern_view *y = &r->call->op->tensors[r->call->op->input_count];
    void *data = r->call->data[r->call->op->input_count];
    const int64_t step = y->sizes[y->rank - 1] > 1 ? y->strides[y->rank - 1] : 1,
                  row = r->p.row[r->call->op->input_count];
    const int64_t at = dense_offset(y, r->at, y->rank - 1);
    const uint32_t n = r->p.n;
    const bool dense = step == 1 && row == n;
    for (uint32_t j = 0; j < n && r->p.turned; j++)
        dense_store_row(data, at + j * step, row, y->type, r->rows, r->c + (uint64_t)j * GEMM_NARROW_ROWS);
    if (!r->p.turned && dense)
        dense_store_row(data, at, 1, y->type, r->rows * n, r->block);
    for (uint32_t m = 0; m < r->rows && !r->p.turned && !dense; m++)
        dense_store_row(data, at + m * row, step, y->type, n, r->block + (uint64_t)m * n);
}

/* One row of `n` elements for all rows of a block, so that the whole block is one dense line. */
static void narrow_repeat(const struct narrow_run *r, uint32_t t, float *to)
{
    const struct kern_view *view = &r->call->op->tensors[t];
    const uint32_t n = r->p.n;
    dense_load_row(r->call->data[t], 0, view->sizes[view->rank - 1] > 1 ? view->strides[view->rank - 1] : 0, view->type,
                   n, to);
    for (uint32_t m = 1; m < GEMM_NARROW_ROWS; m *= 2)
        memcpy(to + m * n, to, m * n * sizeof(float));
}

static void narrow_end_init(struct narrow_run *r)
{
    const struct kern_op *op = r->call->op;
    float *const scratch = r->call->worker_scratch;
    r->end = (struct kern_op){ .kind = KERN_MAP, .output_count = 1 };
    if (r->p.adds_row)
        narrow_repeat(r, 2, scratch + r->p.added);
    if (!op->epilogue)
        return;
    r->end.u.map = *op->epilogue;
    r->end.input_count = kern_epilogue_inputs(op);
    for (uint32_t i = 1; i < r->end.input_count && !r->p.turned; i++) {
        const struct kern_view *view = &op->tensors[op->epilogue_input + i - 1];
        r->same[i] = view->strides[view->rank - 1] && gemm_repeats(view, view->rank - 1) &&
                     view->type == DML_TENSOR_DATA_TYPE_FLOAT32;
        if (r->same[i])
            narrow_repeat(r, op->epilogue_input + i - 1,
                          scratch + r->p.same + (uint64_t)(i - 1) * GEMM_NARROW_ROWS * r->p.n);
    }
}

/* beta * C is added to the block. */
static void narrow_add(const struct narrow_run *r, uint64_t first)
{
    const float *row = (float *)r->call->worker_scratch + r->p.added;
    const vec beta = vec_set(r->call->op->u.gemm.beta);
    const uint32_t n = r->p.n;
    for (uint32_t i = 0; r->p.adds_row && i < r->rows * n; i += VEC)
        vec_store(r->block + i, vec_fma(vec_load(row + i), beta, vec_load(r->block + i)));
    for (uint32_t m = 0; !r->p.adds_row && m < r->rows; m++) {
        uint32_t at[KERN_RANK_MAX];
        dense_row_at(&r->call->op->tensors[r->call->op->input_count], first + m, at);
        gemm_add_c(r->call, at, n, false, r->block + (uint64_t)m * n);
    }
}

static void narrow_end(const struct narrow_run *r)
{
    const struct kern_op *op = r->call->op;
    struct kern_op map = r->end, *end = &map;
    const bool turned = r->p.turned;
    const uint32_t n = r->p.n, sizes[2] = { turned ? n : r->rows, turned ? r->rows : n };
    void *data[KERN_TENSORS_MAX] = { turned ? r->c : r->block };
    kern_view_set_packed(&end->tensors[0], DML_TENSOR_DATA_TYPE_FLOAT32, 2, sizes);
    end->tensors[0].strides[0] = turned ? GEMM_NARROW_ROWS : n;
    for (uint32_t i = 1; i <= end->input_count; i++) {
        const uint32_t t = i < end->input_count ? op->epilogue_input + i - 1 : op->input_count;
        const struct kern_view *view = &op->tensors[t];
        const int64_t step = view->sizes[view->rank - 1] > 1 ? view->strides[view->rank - 1] : 0;
        end->tensors[i] = end->tensors[0];
        if (i < end->input_count && r->same[i]) {
            data[i] = (float *)r->call->worker_scratch + r->p.same + (uint64_t)(i - 1) * GEMM_NARROW_ROWS * n;
            continue;
        }
        end->tensors[i].type = view->type;
        end->tensors[i].strides[turned] = r->p.row[t];
        end->tensors[i].strides[!turned] = step;
        data[i] = (void *)kern_at(r->call->data[t], view->type, dense_offset(view, r->at, view->rank - 1));
    }
    const struct kern_call call = { .op = end,
                                    .data = data,
                                    .worker_scratch = (float *)r->call->worker_scratch + r->p.epilogue };
    kern_map_run_all(&call, r->isa);
}

static void narrow_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const struct kern_view *y = &call->op->tensors[call->op->input_count];
    struct narrow_run r = { .call = call, .b_batch = UINT64_MAX, .isa = &KERN_ISA_TABLE(kern_map_isa_) };
    gemm_narrow_init(call->op, &r.p);
    r.a = (float *)call->worker_scratch + r.p.a;
    r.c = (float *)call->worker_scratch + r.p.c;
    r.block = (float *)call->worker_scratch + r.p.block;
    narrow_end_init(&r);
    for (uint64_t unit = begin; unit < end; unit++) {
        const uint64_t batch = unit / r.p.blocks, from = unit % r.p.blocks * r.p.block_rows;
        r.rows = (uint32_t)BASE_MIN(r.p.rows - from, r.p.block_rows);
        dense_row_at(y, batch * r.p.rows + from, r.at);
        narrow_load_b(&r, batch);
        narrow_sums(&r);
        if (!r.p.turned)
            narrow_interleave(&r);
        if (r.p.adds)
            narrow_add(&r, batch * r.p.rows + from);
        (call->op->epilogue ? narrow_end : narrow_store)(&r);
    }
}

KERN_ISA_RUN(gemm_narrow_f32, narrow_run)
