#include "check_window.h"

static void swap_last(struct kern_view *view)
{
    uint32_t m = view->rank - 2, n = view->rank - 1, size = view->sizes[m];
    int64_t stride = view->strides[m];
    view->sizes[m] = view->sizes[n];
    view->strides[m] = view->strides[n];
    view->sizes[n] = size;
    view->strides[n] = stride;
}

/* A matrix per batch: packed rows or columns, or any layout; batches may share one. */
static void matrix(struct check_rng *rng, struct kern_view *out, DML_TENSOR_DATA_TYPE type, uint32_t rank,
                   const uint32_t *batch, uint32_t rows, uint32_t columns)
{
    uint32_t sizes[KERN_RANK_MAX];
    bool turned = check_chance(rng, 2);
    memcpy(sizes, batch, (rank - 2) * sizeof(*sizes));
    sizes[rank - 2] = turned ? columns : rows;
    sizes[rank - 1] = turned ? rows : columns;
    if (check_chance(rng, 3))
        check_view(rng, out, type, rank, sizes);
    else
        kern_view_set_packed(out, type, rank, sizes);
    for (uint32_t d = 0; d + 2 < rank; d++) {
        if (check_chance(rng, 4))
            out->strides[d] = 0;
    }
    if (turned)
        swap_last(out);
}

void check_few(struct check_case *c, const struct kern_view *y)
{
    if (kern_view_elements(y) >= 64)
        return;
    for (uint32_t i = 0; i < c->op.input_count; i++)
        c->data[i] = CHECK_DATA_POSITIVE;
    if (c->op.kind == KERN_GEMM)
        c->op.u.gemm.alpha = c->op.u.gemm.beta = 1;
}

void check_gen_gemm(struct check_rng *rng, struct check_case *out)
{
    struct kern_op *op = &out->op;
    struct kern_gemm *gemm = &op->u.gemm;
    uint32_t sizes[KERN_RANK_MAX], rank = 2 + check_pick(rng, 4), k = 1 + check_pick(rng, 70);
    DML_TENSOR_DATA_TYPE type = check_float_type(rng);
    struct kern_view y;
    for (uint32_t d = 0; d + 2 < rank; d++)
        sizes[d] = 1 + check_pick(rng, 3);
    sizes[rank - 2] = 1 + check_pick(rng, check_chance(rng, 2) ? 5 : 40);
    sizes[rank - 1] = 1 + check_pick(rng, check_chance(rng, 4) ? 3 : 90);
    op->kind = KERN_GEMM;
    op->input_count = 2;
    op->output_count = 1;
    matrix(rng, &op->tensors[0], type, rank, sizes, sizes[rank - 2], k);
    matrix(rng, &op->tensors[1], type, rank, sizes, k, sizes[rank - 1]);
    gemm->alpha = check_chance(rng, 2) ? 1 : (float)check_uniform(rng, -2, 2);
    gemm->beta = check_chance(rng, 2) ? 1 : check_chance(rng, 5) ? 0 : (float)check_uniform(rng, 0.1, 2);
    gemm->has_c = check_chance(rng, 2);
    if (gemm->has_c)
        check_view_broadcast(rng, &op->tensors[op->input_count++], type, rank, sizes);
    if (check_chance(rng, 3))
        check_view(rng, &y, type, rank, sizes);
    else
        kern_view_set_packed(&y, type, rank, sizes);
    op->tensors[op->input_count] = y;
    if (type != DML_TENSOR_DATA_TYPE_FLOAT64)
        check_epilogue(rng, out, &y);
    op->tensors[op->input_count] = y;
    out->norm_wise = true;
    check_few(out, &y);
}
