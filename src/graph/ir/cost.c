/* SPDX-License-Identifier: Apache-2.0 */
/* The computation and memory traffic of one execution of an op, from its description alone. */
#include "graph/ir/cost.h"

#include "schema/schema.h"

/* Operations per element of the op's largest tensor, for kinds other than matrix products; 0: bits are only moved.
 * Functions such as exp count once, like instructions of programs. */
static const uint8_t per_element[KERN_KIND_COUNT] = {
    [KERN_REDUCE] = 1,  [KERN_SOFTMAX] = 5, [KERN_NORM] = 7,     [KERN_MOMENTS] = 4, [KERN_GRAD_SUMS] = 5,
    [KERN_LP_NORM] = 3, [KERN_LRN] = 5,     [KERN_RESAMPLE] = 7, [KERN_FOLD] = 1,    [KERN_SEQUENCE] = 2,
    [KERN_SORT] = 1,    [KERN_SCAN] = 1,    [KERN_RANDOM] = 20,  [KERN_ROI] = 7,     [KERN_ROI_GRAD] = 7,
};

/* Elements of memory that a view covers: a dimension with stride 0 counts once. */
static uint64_t distinct(const struct kern_view *view)
{
    uint64_t count = 1;
    for (uint32_t d = 0; d < view->rank; d++)
        count *= view->strides[d] || !view->sizes[d] ? view->sizes[d] : 1;
    return count;
}

static uint64_t bytes_of(const struct kern_view *view)
{
    return (distinct(view) * schema_data_type_bits(view->type) + 7) / 8;
}

static uint64_t window(const uint32_t *sizes, uint32_t count)
{
    uint64_t product = 1;
    for (uint32_t i = 0; i < count; i++)
        product *= sizes[i];
    return product;
}

/* Each element that the first convolution reads and each of Y is multiplied with all middle channels, each pixel of Y
 * with its windows.
 */
static uint64_t inverted_residual_flops(const struct kern_inverted_residual *residual, const struct kern_view *x,
                                        const struct kern_view *y)
{
    uint64_t read = (uint64_t)x->sizes[0] * x->sizes[1] * window(residual->first, 2) * window(residual->image, 2);
    return 2 * (uint64_t)residual->middle *
           (read + kern_view_elements(y) +
            kern_view_elements(y) / BASE_MAX(y->sizes[1], 1u) * window(residual->window, 2));
}

/* Multiply-adds count as two. Convolutions count whole windows, including padding. */
static uint64_t product_flops(const struct kern_op *op)
{
    const struct kern_view *a = &op->tensors[0], *b = &op->tensors[1], *out = &op->tensors[op->input_count];
    switch ((int)op->kind) {
    case KERN_GEMM:
    case KERN_QGEMM:
        return 2 * kern_view_elements(out) * a->sizes[a->rank - 1];
    case KERN_CONV: /* the weights' first two sizes are [Cout, C / groups], transposed [C, Cout / groups] */
        return 2 * kern_view_elements(op->u.conv.transposed ? a : out) * b->sizes[1] *
               window(b->sizes + 2, op->u.conv.spatial);
    case KERN_INVERTED_RESIDUAL:
        return inverted_residual_flops(&op->u.inverted_residual, a, out);
    case KERN_ATTENTION: /* Q K^T, its softmax, and the GEMM with V */
        return kern_view_elements(a) / BASE_MAX(a->sizes[3], 1u) * b->sizes[2] *
               (2 * a->sizes[3] + 5 + 2 * (uint64_t)out->sizes[3]);
    case KERN_RECURRENT: /* X is [T, B, D, G, H]; each of its elements is multiplied with H hidden values */
        return 2 * kern_view_elements(a) * a->sizes[4];
    case KERN_POOL:
        return kern_view_elements(out) * window(op->u.pool.window, op->u.pool.spatial);
    case KERN_POOL_GRAD:
        return kern_view_elements(&op->tensors[op->input_count - 1]) *
               window(op->u.pool_grad.window, op->u.pool_grad.spatial);
    default:
        return 0;
    }
}

void graph_op_cost(const struct kern_op *op, struct graph_cost *out)
{
    uint64_t largest = 0, results = 0;
    *out = (struct graph_cost){ 0 };
    for (uint32_t t = 0; t < op->input_count + op->output_count; t++) {
        const struct kern_view *view = &op->tensors[t];
        largest = BASE_MAX(largest, kern_view_elements(view));
        if (t < op->input_count)
            out->read += bytes_of(view);
        else
            out->written += bytes_of(view);
    }
    if (op->output_count)
        results = kern_view_elements(&op->tensors[op->input_count]);
    /* Of a lookup table, as much is read as is output. */
    if (op->kind == KERN_GATHER)
        out->read = BASE_MIN(bytes_of(&op->tensors[0]), out->written) + bytes_of(&op->tensors[1]);
    out->flops = product_flops(op) + per_element[op->kind] * largest;
    if (op->kind == KERN_MAP)
        out->flops = largest * op->u.map.inst_count;
    if (op->epilogue)
        out->flops += results * op->epilogue->inst_count;
}

/* What one thread computes in the time that a team needs to start and join, or less: up to 4 operations count as a
 * byte. On an oversubscribed machine the join takes milliseconds. */
#define TEAM_WORK 65536

uint32_t graph_op_threads(const struct kern_op *op, uint32_t threads)
{
    struct graph_cost cost;
    graph_op_cost(op, &cost);
    return cost.read + cost.written + cost.flops / 4 < TEAM_WORK ? 1 : threads;
}
