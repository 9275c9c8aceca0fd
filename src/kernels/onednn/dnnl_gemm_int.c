/* SPDX-License-Identifier: Apache-2.0 */
/* Integer matrix products on oneDNN: dense rows of A and Y, one matrix B that is packed once. */
#include "kernels/onednn/dnnl_op.h"

#include "base/parallel.h"
#include "kernels/gemm/gemm.h"

struct gemm_int {
    const struct kern_op *op;
    struct dnnl_state *state;
    int64_t m, n, k;
    struct dnnl_epilogue ending;
    struct dnnl_post post;
    dnnl_memory_desc_t a, b, b_plain, y;
};

static bool matrix_md(dnnl_memory_desc_t *out, dnnl_data_type_t type, int64_t rows, int64_t columns, int64_t row_step,
                      int64_t column_step)
{
    return dnnl_memory_desc_init_by_strides(out, 2, (dnnl_dims_t){ rows, columns }, type,
                                            (dnnl_dims_t){ row_step, column_step }) == dnnl_success;
}

/* Tensors of post-ops: one row for all, or as dense as the result. */
static bool post_md(void *context, uint32_t tensor, dnnl_memory_desc_t *out)
{
    const struct gemm_int *b = context;
    const struct kern_view *view = &b->op->tensors[tensor];
    uint32_t last = view->rank - 1;
    bool row = view->sizes[last] == b->n && (view->strides[last] == 1 || b->n == 1);
    if (view->type != DML_TENSOR_DATA_TYPE_FLOAT32)
        return false;
    if (kern_view_packed(view) && kern_view_elements(view) == (uint64_t)(b->m * b->n))
        return matrix_md(out, dnnl_f32, b->m, b->n, b->n, 1);
    for (uint32_t d = 0; d < last; d++)
        row = row && (view->sizes[d] == 1 || view->strides[d] == 0);
    return row && matrix_md(out, dnnl_f32, 1, b->n, b->n, 1);
}

/* One matrix, however many batches it is for. */
static bool single(const struct kern_view *view)
{
    bool result = true;
    for (uint32_t d = 0; d + 2 < view->rank; d++)
        result = result && (view->sizes[d] == 1 || view->strides[d] == 0);
    return result;
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
    if (!gemm_bytes(t[0].type) || t[1].type != DML_TENSOR_DATA_TYPE_INT8 || !whole(&t[0]) || !whole(y) ||
        !single(&t[1]) || !matrix_lies(&t[1]))
        return false;
    if (kern_view_elements(&t[0]) / t[0].sizes[t[0].rank - 1] != kern_view_elements(y) / y->sizes[y->rank - 1])
        return false;
    for (uint32_t d = 0; d < y->rank && gemm->has_a_zero; d++)
        if (t[2].sizes[d] > 1 && t[2].strides[d])
            return false;
    return dnnl_epilogue_init(op, y->rank - 1, &ending);
}

static bool gemm_build(struct gemm_int *b, dnnl_primitive_attr_t *attr, dnnl_primitive_desc_t *pd)
{
    const struct kern_op *op = b->op;
    const struct kern_view *a = &op->tensors[0], *w = &op->tensors[1], *y = &op->tensors[op->input_count];
    int args[DNNL_ARGS_MAX] = { DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST };
    uint32_t buffers[DNNL_ARGS_MAX], count = 3;
    dnnl_matmul_desc_t desc;
    b->k = a->sizes[a->rank - 1];
    b->n = y->sizes[y->rank - 1];
    b->m = (int64_t)(kern_view_elements(y) / (uint64_t)b->n);
    int64_t down = w->strides[w->rank - 2], right = w->strides[w->rank - 1];
    if (!matrix_md(&b->a, dnnl_view_type(a), b->m, b->k, b->k, 1) ||
        !matrix_md(&b->y, dnnl_view_type(y), b->m, b->n, b->n, 1) ||
        !matrix_md(&b->b_plain, dnnl_s8, b->k, b->n, b->k == 1 && right == 1 ? b->n : down,
                   b->n == 1 && down == 1 ? b->k : right) ||
        dnnl_memory_desc_init_by_tag(&b->b, 2, b->b_plain.dims, dnnl_s8, dnnl_format_tag_any) != dnnl_success)
        return false;
    if (!dnnl_int_attr(&b->ending, op->u.gemm.has_a_zero, &b->y, post_md, b, &b->post, attr) ||
        dnnl_matmul_desc_init(&desc, &b->a, &b->b, NULL, &b->y) != dnnl_success ||
        dnnl_safe_primitive_desc_create(pd, &desc, *attr, dnnl_engine(), NULL) != dnnl_success ||
        dnnl_is_reference(*pd))
        return false;
    const dnnl_memory_desc_t *wanted = dnnl_query_md(*pd, dnnl_query_weights_md);
    buffers[0] = dnnl_buffer_tensor(b->state, &b->a, 0);
    buffers[1] = dnnl_buffer_tensor(b->state, wanted, 1);
    buffers[2] = dnnl_buffer_tensor(b->state, &b->y, op->input_count);
    return dnnl_pack_set(b->state, &b->b_plain, wanted) &&
           dnnl_int_args(b->state, &b->ending, op->u.gemm.has_a_zero ? 2 : 0, post_md, b, &b->post, args, buffers,
                         &count) &&
           dnnl_stage_add(b->state, *pd, count, args, buffers) && dnnl_state_finish(b->state);
}

bool kern_gemm_int_dnnl_create(const struct kern_op *op, uint32_t threads, void **out_state)
{
    struct gemm_int b = { .op = op };
    dnnl_primitive_attr_t attr = NULL;
    dnnl_primitive_desc_t pd = NULL;
    if (!dnnl_engine() || op->packed_input != 2 ||
        !dnnl_epilogue_init(op, op->tensors[op->input_count].rank - 1, &b.ending) ||
        !(b.state = dnnl_state_create(op, threads)))
        return false;
    struct base_team before = base_parallel_enter(threads);
    bool ok = gemm_build(&b, &attr, &pd);
    base_parallel_leave(before);
    dnnl_primitive_desc_destroy(pd);
    dnnl_primitive_attr_destroy(attr);
    if (!ok)
        kern_dnnl_destroy(b.state);
    *out_state = ok ? b.state : NULL;
    return ok;
}
