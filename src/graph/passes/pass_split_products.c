/* SPDX-License-Identifier: Apache-2.0 */
/* Split-K: a GEMM whose result has too few rows and columns to share among the threads, but whose sums are long,
 * becomes a batch of GEMMs over parts of K and an op that adds them. In FLOAT32 only: in 16 bits the parts would be
 * rounded. The results differ by rounding, as those of different numbers of threads do anyway. */
#include "graph/passes/pass.h"

#define TILE_ROWS    8 /* of a result, which one thread computes at full speed */
#define TILE_COLUMNS 48
#define DEPTH_MIN    1024 /* of a part */
#define DEPTH_STEP   16   /* parts start at vector boundaries */
#define WORK_MIN     40000 /* approximate cycles of the GEMM alone, below which two more steps cost more than is gained */

struct parts {
    uint32_t count, depth, rest; /* `count` parts of `depth`, and one more with the remainder */
};

static const struct kern_view *result_of(const struct graph_op *op)
{
    return &op->k.tensors[op->k.input_count];
}

static bool all_f32(const struct graph_op *op)
{
    for (uint32_t t = 0; t <= op->k.input_count; t++)
        if (op->k.tensors[t].type != DML_TENSOR_DATA_TYPE_FLOAT32)
            return false;
    return true;
}

static bool suits(const struct graph_op *op)
{
    return op->k.kind == KERN_GEMM && !op->k.u.gemm.integer && !op->k.epilogue && result_of(op)->rank >= 2 &&
           result_of(op)->rank < KERN_RANK_MAX && all_f32(op);
}

/* Enough parts for all threads, as long as they are worth it. */
static bool find_parts(const struct graph_op *op, uint32_t threads, struct parts *out)
{
    const struct kern_view *y = result_of(op);
    uint64_t m = y->sizes[y->rank - 2], n = y->sizes[y->rank - 1], k = op->k.tensors[0].sizes[y->rank - 1];
    uint64_t batches = kern_view_elements(y) / (m * n);
    uint64_t tiles = batches * ((m + TILE_ROWS - 1) / TILE_ROWS) * ((n + TILE_COLUMNS - 1) / TILE_COLUMNS);
    if (tiles >= threads || (double)batches * (double)k * ((double)(m * n) / 32 + (double)(m + n) / 4) < WORK_MIN)
        return false;
    out->count = (uint32_t)BASE_MIN((threads + tiles - 1) / tiles, k / DEPTH_MIN);
    if (out->count < 2)
        return false;
    out->depth = (uint32_t)(k / out->count / DEPTH_STEP * DEPTH_STEP);
    out->rest = (uint32_t)(k - (uint64_t)out->count * out->depth);
    return true;
}

/* The view with an additional first dimension of this size and stride. */
static struct kern_view stack(const struct kern_view *view, uint32_t size, int64_t stride)
{
    struct kern_view out = *view;
    memmove(out.sizes + 1, view->sizes, view->rank * sizeof(*view->sizes));
    memmove(out.strides + 1, view->strides, view->rank * sizeof(*view->strides));
    out.sizes[0] = size;
    out.strides[0] = stride;
    out.rank++;
    return out;
}

/* The factor's parts: `count` of `depth`, from `begin` on, of dimension d. */
static struct graph_operand factor(const struct graph_op *op, uint32_t t, uint32_t d, uint32_t begin, uint32_t count,
                                   uint32_t depth)
{
    const struct kern_view *view = &op->k.tensors[t];
    struct graph_operand out = { op->value[t], stack(view, count, (int64_t)depth * view->strides[d]) };
    out.view.offset += (int64_t)begin * view->strides[d];
    out.view.sizes[d + 1] = depth;
    return out;
}

/* Writes the GEMMs of `count` parts to the slots of `sums` from `first` on; the op is inserted before position `at`. */
static bool add_parts(struct graph *graph, uint32_t at, const struct graph_op *whole, const struct graph_operand *sums,
                      uint32_t first, struct parts parts)
{
    uint32_t rank = result_of(whole)->rank;
    uint32_t begin = first * parts.depth, depth = parts.depth, count = parts.count;
    if (first) {
        count = 1;
        depth = parts.rest;
    }
    struct graph_operand in[2] = { factor(whole, 0, rank - 1, begin, count, depth),
                                   factor(whole, 1, rank - 2, begin, count, depth) };
    struct graph_operand out = *sums;
    out.view.offset += first * sums->view.strides[0];
    out.view.sizes[0] = count;
    struct graph_op *op = graph_op_insert(graph, at, whole, KERN_GEMM, in, 2, &out);
    if (op)
        op->k.u.gemm.alpha = whole->k.u.gemm.alpha;
    return op != NULL;
}

static bool split(struct graph *graph, uint32_t at, struct parts parts)
{
    struct graph_op *op = graph->ops[at], whole = *op;
    const struct kern_gemm *gemm = &whole.k.u.gemm;
    const struct kern_view *y = result_of(&whole);
    struct graph_operand out = { whole.value[whole.k.input_count], *y }, sum = out;
    uint32_t sizes[KERN_RANK_MAX] = { parts.count + (parts.rest > 0) };
    memcpy(sizes + 1, y->sizes, y->rank * sizeof(*sizes));
    struct graph_operand sums = graph_temp(graph, y->type, y->rank + 1, sizes);
    bool adds = gemm->has_c && gemm->beta != 0;
    if (adds)
        sum = graph_temp(graph, y->type, y->rank, y->sizes);
    if (graph->failed || !add_parts(graph, at, &whole, &sums, 0, parts) ||
        (parts.rest && !add_parts(graph, at, &whole, &sums, parts.count, parts)))
        return false;
    if (adds && !graph_add_scaled(graph, at + 1, &whole, sum,
                                  (struct graph_operand){ whole.value[2], whole.k.tensors[2] }, gemm->beta, out))
        return false;
    op->k.kind = KERN_REDUCE;
    memset(&op->k.u, 0, sizeof(op->k.u));
    op->k.u.reduce = (struct kern_reduce){ .function = DML_REDUCE_FUNCTION_SUM, .axes = 1 };
    op->k.input_count = 1;
    op->value[0] = sums.value;
    op->k.tensors[0] = sums.view;
    op->value[1] = sum.value;
    op->k.tensors[1] = stack(&sum.view, 1, 0);
    return true;
}

/* Its first matrix is the softmax of an attention: unsplit, the two become parts of one op (pass_fuse_attention.c).
 */
static bool weighs(const struct graph *graph, const struct graph_uses *uses, uint32_t at)
{
    struct graph_use_summary sum = graph_uses_of(uses, graph->ops[at]->value[0]);
    return sum.writes && graph->ops[sum.writer]->k.kind == KERN_SOFTMAX;
}

HRESULT graph_pass_split_products(struct graph *graph, const struct graph_options *options, bool *changed)
{
    struct parts parts;
    struct graph_uses uses;
    const uint32_t count = graph->op_count;
    bool ok = graph_uses_init(&uses, graph);
    for (uint32_t i = 0; ok && i < count && !graph->failed; i++)
        if (suits(graph->ops[i]) && find_parts(graph->ops[i], options->threads, &parts) && !weighs(graph, &uses, i))
            *changed |= split(graph, i, parts);
    graph_uses_finish(&uses);
    return ok && !graph->failed ? S_OK : E_OUTOFMEMORY;
}
