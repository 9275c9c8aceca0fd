/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products on oneDNN's matmul. Batch dimensions are merged, and folded into the rows where they share B, so that
 * most products are two-dimensional. Integers: dense rows of A and Y, one matrix B that is packed once. */
#include "kernels/onednn/dnnl_op.h"

#include "base/parallel.h"
#include "kernels/gemm/gemm.h"

struct gemm_build {
    const struct kern_op *op;
    struct dnnl_state *state;
    uint32_t rank;
    struct kern_view views[KERN_TENSORS_MAX]; /* merged; repeated dimensions have stride 0 */
    bool plain;                               /* no post-ops */
    bool half;                                /* computes in BFLOAT16 */
    bool integer;
    struct dnnl_epilogue ending; /* of integers */
    bool expands; /* matrices shared by several batches are repeated in scratch; nothing is packed then */
    bool a_direct, b_direct, y_direct;
    bool c_bias, c_post, c_finish, in_post;
    struct dnnl_post post;
    dnnl_memory_desc_t a_md, b_md, c_md, y_md;
};

/* Dimensions d and d + 1 as one, in every tensor. */
static void merge_views(struct gemm_build *b, uint32_t d)
{
    for (uint32_t t = 0; t <= b->op->input_count; t++)
        if (t < 2 || dnnl_output_like(b->op, t))
            dense_view_merge(&b->views[t], d);
    b->rank--;
}

/* The same when the strides allow it. The rows' dimension (rank - 2) merges with
 * the batch before it only when B repeats along the batch. */
static void merge_all(struct gemm_build *b, uint32_t d)
{
    const struct kern_op *op = b->op;
    bool rows = d + 2 == b->rank - 1;
    for (uint32_t t = 0; t <= op->input_count; t++) {
        bool ok = t == 1 && rows ? b->views[1].strides[d] == 0 : dense_view_merges(&b->views[t], d);
        if ((t < 2 || dnnl_output_like(op, t)) && !ok)
            return;
    }
    b->views[1].sizes[d] = rows ? 1 : b->views[1].sizes[d];
    merge_views(b, d);
}

static void gemm_views(struct gemm_build *b)
{
    const struct kern_op *op = b->op;
    const struct kern_view *y = &op->tensors[op->input_count];
    b->rank = y->rank;
    for (uint32_t t = 0; t <= op->input_count; t++) {
        b->views[t] = op->tensors[t];
        for (uint32_t d = 0; (t < 2 || dnnl_output_like(op, t)) && d < y->rank; d++) {
            bool shared = t >= 2 || d + 2 < y->rank;
            if (shared && b->views[t].sizes[d] == 1)
                b->views[t].strides[d] = 0;
            if (shared)
                b->views[t].sizes[d] = y->sizes[d];
        }
    }
    /* Batches of one first: they would stop others from merging. */
    for (uint32_t d = 0; d + 2 < b->rank;) {
        if (b->views[op->input_count].sizes[d] > 1)
            d++;
        else
            merge_views(b, d);
    }
    for (uint32_t d = b->rank >= 3 ? b->rank - 2 : 0; d-- > 0;)
        merge_all(b, d);
}

static void matrix_set(struct kern_view *view, uint32_t rows, uint32_t columns, int64_t row_step, int64_t step)
{
    view->rank = 2;
    view->sizes[0] = rows;
    view->sizes[1] = columns;
    view->strides[0] = row_step;
    view->strides[1] = step;
}

/* Of integers: post-ops' tensors are as dense as the result, one row for all, or (steps of 0) not the library's. */
static void integer_views(struct gemm_build *b)
{
    const struct kern_op *op = b->op;
    const struct kern_view *w = &op->tensors[1], *y = &op->tensors[op->input_count];
    const uint32_t n = y->sizes[y->rank - 1], k = w->sizes[w->rank - 2];
    const uint32_t m = (uint32_t)(kern_view_elements(y) / n);
    b->rank = 2;
    memcpy(b->views, op->tensors, (op->input_count + 1) * sizeof(*b->views));
    matrix_set(&b->views[0], m, k, k, 1);
    matrix_set(&b->views[1], k, n, w->strides[w->rank - 2], w->strides[w->rank - 1]);
    for (uint32_t t = op->epilogue_input; t <= op->input_count; t++) {
        const struct kern_view *view = &op->tensors[t];
        const uint32_t last = view->rank - 1;
        const bool row = view->sizes[last] == n && (view->strides[last] == 1 || n == 1) && gemm_repeats(view, last);
        const bool whole = kern_view_packed(view) && kern_view_elements(view) == (uint64_t)m * n;
        matrix_set(&b->views[t], m, n, whole ? n : 0, whole || row);
    }
}

/* Repeated dimensions have size 1 for the library; those of size 1 get the stride they would have if dense. */
static bool view_md(const struct kern_view *view, dnnl_memory_desc_t *out)
{
    dnnl_dims_t dims, strides;
    int64_t inner = 1;
    for (uint32_t d = view->rank; d-- > 0;) {
        dims[d] = view->strides[d] == 0 ? 1 : view->sizes[d];
        strides[d] = dims[d] > 1 ? view->strides[d] : inner;
        inner = BASE_MAX(inner, strides[d] * dims[d]);
    }
    return dnnl_md_init(out, (int)view->rank, dims, dnnl_view_type(view), strides);
}

/* The same in the type of the computation, in the library's layout. */
static bool any_md(const struct gemm_build *b, dnnl_memory_desc_t *md)
{
    dnnl_memory_desc_t from = *md;
    return dnnl_md_init(md, from.ndims, from.dims, b->integer ? dnnl_s8 : b->half ? dnnl_bf16 : dnnl_f32, NULL);
}

/* Without its repeated dimensions. */
static struct kern_view distinct(const struct kern_view *view)
{
    struct kern_view result = *view;
    for (uint32_t d = 0; d < view->rank; d++) {
        if (view->strides[d] == 0)
            result.sizes[d] = 1;
    }
    return result;
}

static bool repeats(const struct kern_view *view)
{
    bool result = false;
    for (uint32_t d = 0; d + 2 < view->rank; d++)
        result = result || (view->sizes[d] > 1 && view->strides[d] == 0);
    return result;
}

static bool matrix_direct(const struct kern_view *view, bool half)
{
    struct kern_view once = distinct(view);
    uint32_t m = view->rank - 2, n = view->rank - 1;
    bool matrix = (once.sizes[m] == view->sizes[m] && once.sizes[n] == view->sizes[n]) &&
                  (once.sizes[n] == 1 || once.strides[n] == 1 || once.sizes[m] == 1 || once.strides[m] == 1);
    /* A vector with a step is no matrix of unit stride either way. */
    if (once.sizes[n] == 1 && once.sizes[m] > 1 && once.strides[m] != 1)
        matrix = matrix && once.strides[m] > 0;
    if (once.sizes[m] == 1 && once.sizes[n] > 1)
        matrix = matrix && once.strides[n] == 1;
    return matrix && dnnl_view_direct(&once, half);
}

static bool post_md(void *context, uint32_t tensor, dnnl_memory_desc_t *out)
{
    const struct gemm_build *b = context;
    struct kern_view once = distinct(&b->views[tensor]);
    const struct kern_view *y = &b->views[b->op->input_count];
    bool full = true, row = true;
    for (uint32_t d = 0; d < b->rank; d++) {
        full = full && once.sizes[d] == y->sizes[d] && (once.sizes[d] == 1 || once.strides[d] == y->strides[d]);
        row = row && (d + 1 == b->rank ? once.sizes[d] == y->sizes[d] && once.strides[d] == 1 : once.sizes[d] == 1);
    }
    return (full || row) && dnnl_view_direct(&once, b->half) && view_md(&once, out);
}

/* Y = alpha A B + beta C as the library can say it: a bias, a post-op, or (c_finish) not at all. */
static bool gemm_post(struct gemm_build *b, dnnl_post_ops_t ops, float *scale)
{
    const struct kern_gemm *gemm = &b->op->u.gemm;
    bool has_c = gemm->has_c && gemm->beta != 0;
    *scale = gemm->alpha;
    b->c_bias = b->c_post = b->c_finish = b->in_post = false;
    b->post.count = 0;
    if (has_c && b->y_direct && !b->plain && post_md(b, 2, &b->c_md)) {
        bool row = b->c_md.dims[b->rank - 1] == b->views[b->op->input_count].sizes[b->rank - 1];
        for (uint32_t d = 0; d + 1 < b->rank; d++)
            row = row && b->c_md.dims[d] == 1;
        b->c_bias = row && gemm->alpha == 1 && gemm->beta == 1;
        b->c_post = !b->c_bias;
    }
    b->c_finish = has_c && !b->c_bias && !b->c_post;
    if (b->c_post) {
        *scale = gemm->alpha / gemm->beta;
        return dnnl_post_binary(ops, dnnl_binary_add, 2, &b->c_md, &b->post) &&
               (gemm->beta == 1 || dnnl_safe_post_ops_append_eltwise(ops, 1, dnnl_eltwise_linear, gemm->beta, 0));
    }
    return true;
}

static bool gemm_attr(struct gemm_build *b, dnnl_primitive_attr_t *attr)
{
    dnnl_post_ops_t ops = NULL;
    float scale;
    if (b->integer) {
        b->in_post = true;
        return dnnl_int_attr(&b->ending, b->op->u.gemm.has_a_zero, &b->y_md, post_md, b, &b->post, attr);
    }
    bool ok = dnnl_attr_create(attr) && dnnl_safe_post_ops_create(&ops) && gemm_post(b, ops, &scale);
    if (ok && b->op->epilogue && b->y_direct && !b->c_finish && !b->plain) {
        b->in_post = dnnl_post_epilogue(b->op, ops, post_md, b, &b->post);
        if (!b->in_post) { /* start again: the list holds a part of the epilogue */
            dnnl_post_ops_destroy(ops);
            ops = NULL;
            ok = dnnl_safe_post_ops_create(&ops) && gemm_post(b, ops, &scale);
        }
    }
    if (ok && scale != 1)
        ok = dnnl_safe_primitive_attr_set_output_scales(*attr, 1, 0, &scale);
    ok = ok && (b->y_md.data_type == dnnl_f32 || !(b->c_finish || (b->op->epilogue && !b->in_post)));
    ok = ok && dnnl_safe_primitive_attr_set_post_ops(*attr, ops);
    dnnl_post_ops_destroy(ops);
    return ok;
}

static uint32_t matrix_buffer(struct gemm_build *b, uint32_t tensor, bool direct, dnnl_memory_desc_t *md)
{
    struct kern_view source = b->expands ? b->views[tensor] : distinct(&b->views[tensor]), dense = source;
    if (direct)
        return view_md(&source, md) ? dnnl_buffer_tensor(b->state, md, tensor) : DNNL_BUFFERS_MAX;
    dnnl_view_densify(&dense);
    for (uint32_t d = 0; d < dense.rank; d++)
        dense.strides[d] = dense.sizes[d] == 1 && b->views[tensor].sizes[d] > 1 ? 0 : dense.strides[d];
    return view_md(&dense, md) ? dnnl_buffer_input(b->state, md, tensor, false, &source, 0) : DNNL_BUFFERS_MAX;
}

/* A factor that is FLOAT32 is brought to the type of the computation, row by row. */
static uint32_t matrix_half(struct gemm_build *b, uint32_t buffer, dnnl_memory_desc_t *md)
{
    dnnl_memory_desc_t from = *md;
    dnnl_dims_t strides;
    int64_t inner = 1;
    if (!b->half || buffer >= DNNL_BUFFERS_MAX || from.data_type == dnnl_bf16)
        return buffer;
    for (int d = from.ndims; d-- > 0; inner *= from.dims[d])
        strides[d] = inner;
    if (!dnnl_md_init(md, from.ndims, from.dims, dnnl_bf16, strides))
        return DNNL_BUFFERS_MAX;
    return dnnl_stage_reorder_in(b->state, buffer, md);
}

/* B in the library's own layout, packed once or brought there at each execution. */
static uint32_t gemm_packed(struct gemm_build *b, const dnnl_memory_desc_t *wanted)
{
    struct kern_view source = distinct(&b->views[1]), dense = source;
    if (!b->b_direct)
        dnnl_view_densify(&dense);
    return view_md(&dense, &b->b_md) ? dnnl_buffer_packed(b->state, &b->b_md, wanted, b->b_direct, &source, 0)
                                     : DNNL_BUFFERS_MAX;
}

static bool gemm_stages(struct gemm_build *b, const_dnnl_primitive_desc_t pd, const uint32_t *inputs)
{
    const struct kern_op *op = b->op;
    struct dnnl_state *state = b->state;
    struct dnnl_args args = { 0 };
    const bool packed = op->packed_input == 2 && !b->expands;
    const uint32_t out = op->input_count;
    uint32_t y = b->y_direct ? dnnl_buffer_tensor(state, &b->y_md, out) : dnnl_buffer_scratch(state, &b->y_md);
    dnnl_arg(&args, DNNL_ARG_SRC, inputs[0]);
    dnnl_arg(&args, DNNL_ARG_WEIGHTS, packed ? gemm_packed(b, dnnl_query_md(pd, dnnl_query_weights_md)) : inputs[1]);
    dnnl_arg(&args, DNNL_ARG_DST, y);
    if (b->c_bias)
        dnnl_arg(&args, DNNL_ARG_BIAS, dnnl_buffer_tensor(state, &b->c_md, 2));
    if (b->integer)
        dnnl_int_args(state, &b->ending, op->u.gemm.has_a_zero ? 2 : 0, &args);
    dnnl_post_args(state, &b->post, &args);
    if (!dnnl_stage_add(state, pd, &args))
        return false;
    if (!b->y_direct || b->c_finish || (op->epilogue && !b->in_post)) {
        struct kern_view source = op->tensors[out];
        if (!b->y_direct)
            kern_view_set_packed(&source, DML_TENSOR_DATA_TYPE_FLOAT32, source.rank, op->tensors[out].sizes);
        dnnl_finish_set(state, op, !b->y_direct, state->buffers[y].offset, &source, b->c_finish,
                        op->epilogue && !b->in_post);
    }
    return true;
}

static bool gemm_build(struct gemm_build *b)
{
    dnnl_primitive_attr_t attr = NULL;
    dnnl_primitive_desc_t pd = NULL;
    dnnl_matmul_desc_t desc;
    uint32_t inputs[2] = { 0 };
    struct kern_view y = b->views[b->op->input_count], b_view = distinct(&b->views[1]);
    bool packed = b->op->packed_input == 2 && !b->expands;
    b->a_direct = b->integer || (matrix_direct(&b->views[0], b->half) && !(b->expands && repeats(&b->views[0])));
    b->b_direct = b->integer || (matrix_direct(&b->views[1], b->half) && !(b->expands && repeats(&b->views[1])));
    /* The last pass takes FLOAT32. oneDNN 2.6 takes batches that share B as more rows, even where they do not follow
     * each other in Y. */
    b->y_direct =
        b->integer || (matrix_direct(&y, b->half && !(b->plain && (b->op->epilogue || b->op->u.gemm.has_c))) &&
                       (y.sizes[b->rank - 1] == 1 || y.strides[b->rank - 1] == 1) &&
                       !(repeats(&b->views[1]) && !dense_view_merges(&y, b->rank - 3)));
    if (!b->y_direct) /* dense row-major in scratch; merged and original dimensions agree on that */
        kern_view_set_packed(&y, DML_TENSOR_DATA_TYPE_FLOAT32, y.rank, b->views[b->op->input_count].sizes);
    inputs[0] = matrix_half(b, matrix_buffer(b, 0, b->a_direct, &b->a_md), &b->a_md);
    if (packed && (!view_md(&b_view, &b->b_md) || !any_md(b, &b->b_md)))
        return false;
    if (!packed)
        inputs[1] = matrix_half(b, matrix_buffer(b, 1, b->b_direct, &b->b_md), &b->b_md);
    bool ok = view_md(&y, &b->y_md) && gemm_attr(b, &attr) &&
              dnnl_matmul_desc_init(&desc, &b->a_md, &b->b_md, b->c_bias ? &b->c_md : NULL, &b->y_md) == dnnl_success &&
              dnnl_safe_primitive_desc_create(&pd, &desc, attr, dnnl_engine(), NULL) && !dnnl_is_named(pd, "ref") &&
              gemm_stages(b, pd, inputs) && dnnl_state_finish(b->state);
    dnnl_primitive_desc_destroy(pd);
    dnnl_primitive_attr_destroy(attr);
    return ok;
}

/* Rows or columns repeat: the merged views would lose how often. */
static bool repeats_within(const struct kern_view *view)
{
    uint32_t m = view->rank - 2, n = view->rank - 1;
    return (view->sizes[m] > 1 && view->strides[m] == 0) || (view->sizes[n] > 1 && view->strides[n] == 0);
}

static bool shape_fits(const struct kern_op *op)
{
    const struct kern_view *a = &op->tensors[0], *b = &op->tensors[1], *y = &op->tensors[op->input_count];
    return !(op->flags & KERN_FLAG_REFERENCE) && a->rank >= 2 && a->rank == b->rank && a->rank == y->rank &&
           !repeats_within(a) && !repeats_within(b);
}

bool kern_gemm_bf16_dnnl_accepts(const struct kern_op *op)
{
    return dense_half_allowed(op) && !op->u.gemm.integer && dense_short_floats(op) && shape_fits(op);
}

bool kern_gemm_f32_dnnl_accepts(const struct kern_op *op)
{
    const struct kern_view *y = &op->tensors[op->input_count];
    return shape_fits(op) && (y->type == DML_TENSOR_DATA_TYPE_FLOAT32 || y->type == DML_TENSOR_DATA_TYPE_FLOAT16) &&
           dense_same_type(op, 0, op->u.gemm.has_c ? 2 : 1, y->type);
}

static bool matrix_lies(const struct kern_view *view)
{
    int64_t rows = view->sizes[view->rank - 2], columns = view->sizes[view->rank - 1];
    int64_t down = view->strides[view->rank - 2], right = view->strides[view->rank - 1];
    return (right == 1 && (rows == 1 || down >= columns)) || (down == 1 && (columns == 1 || right >= rows));
}

static bool whole(const struct kern_view *view)
{
    bool result = true;
    for (uint32_t d = 0; d < view->rank; d++)
        result = result && (view->sizes[d] == 1 || view->strides[d] != 0);
    return result && kern_view_packed(view);
}

bool kern_gemm_int_dnnl_accepts(const struct kern_op *op)
{
    const struct kern_gemm *gemm = &op->u.gemm;
    const struct kern_view *t = op->tensors, *y = &t[op->input_count];
    struct dnnl_epilogue ending;
    if ((op->flags & KERN_FLAG_REFERENCE) || !gemm->integer || gemm->has_b_zero || y->rank < 2 ||
        t[0].rank != y->rank || t[1].rank != y->rank)
        return false;
    if (!dense_is_byte(t[0].type) || t[1].type != DML_TENSOR_DATA_TYPE_INT8 || !whole(&t[0]) || !whole(y) ||
        !gemm_repeats(&t[1], y->rank - 2) || !matrix_lies(&t[1]))
        return false;
    const uint64_t rows = kern_view_elements(y) / y->sizes[y->rank - 1];
    if (kern_view_elements(&t[0]) / t[0].sizes[t[0].rank - 1] != rows || rows > UINT32_MAX)
        return false;
    return (!gemm->has_a_zero || gemm_repeats(&t[2], y->rank)) && dnnl_epilogue_init(op, y->rank - 1, &ending);
}

/* oneDNN 2.6 repeats a row wrongly over batches that do not follow each other as rows would. */
static bool lies_together(const struct gemm_build *b)
{
    const struct kern_view *y = &b->views[b->op->input_count];
    bool together = b->rank == 2 || y->sizes[b->rank - 2] > 1;
    for (uint32_t d = 0; d + 2 < b->rank; d++)
        together = together && dense_view_merges(y, d);
    return together;
}

static bool gemm_try(struct gemm_build *b, uint32_t threads)
{
    b->state = dnnl_state_create(b->op, threads);
    if (b->state && gemm_build(b))
        return true;
    kern_dnnl_destroy(b->state);
    b->state = NULL;
    return false;
}

/* oneDNN 2.6 cuts long sums of transposed matrices among threads that would be idle otherwise, and then leaves out all
 * batches but the first. It counts 64 columns of a batch, or fewer, as work for one thread. */
static uint32_t safe_threads(const struct gemm_build *b, uint32_t threads)
{
    const struct kern_view *a = &b->views[0], *y = &b->views[b->op->input_count];
    uint64_t parts = (y->sizes[b->rank - 1] + 63) / 64;
    for (uint32_t d = 0; d + 2 < b->rank; d++)
        parts *= y->sizes[d];
    bool cuts = b->rank > 2 && a->sizes[b->rank - 1] >= 2048 && a->strides[b->rank - 1] != 1;
    return cuts ? (uint32_t)BASE_MIN(parts, threads) : threads;
}

static bool gemm_create(struct gemm_build *b, uint32_t threads, void **out_state)
{
    if (!dnnl_engine())
        return false;
    if (b->integer)
        integer_views(b);
    else
        gemm_views(b);
    threads = b->integer ? threads : safe_threads(b, threads);
    struct base_team before = base_parallel_enter(threads); /* the library cuts the work when it makes the primitive */
    /* Only the library's reference takes some mixes of shared matrices and post-ops: then it gets simpler ones. */
    bool shared = repeats(&b->views[0]) || repeats(&b->views[1]), ok = false;
    for (uint32_t attempt = 0; attempt < (b->integer ? 1 : 4) && !ok; attempt++) {
        b->plain = !b->integer && ((attempt & 1) || !lies_together(b));
        b->expands = attempt & 2;
        ok = (shared || !b->expands) && gemm_try(b, threads);
    }
    base_parallel_leave(before);
    *out_state = b->state;
    return ok;
}

bool kern_gemm_f32_dnnl_create(const struct kern_op *op, uint32_t threads, void **out_state)
{
    return gemm_create(&(struct gemm_build){ .op = op }, threads, out_state);
}

bool kern_gemm_bf16_dnnl_create(const struct kern_op *op, uint32_t threads, void **out_state)
{
    return gemm_create(&(struct gemm_build){ .op = op, .half = true }, threads, out_state);
}

bool kern_gemm_int_dnnl_create(const struct kern_op *op, uint32_t threads, void **out_state)
{
    struct gemm_build b = { .op = op, .integer = true };
    return op->packed_input == 2 && dnnl_epilogue_init(op, op->tensors[op->input_count].rank - 1, &b.ending) &&
           gemm_create(&b, threads, out_state);
}
