/* SPDX-License-Identifier: Apache-2.0 */
/* softmax(scale * Q K^T [+ mask]) V becomes one attention if the scores and the weights have no other readers, so they
 * are never written to memory. At this point, the scale and the mask are in the first GEMM's epilogue. */
#include "graph/passes/pass.h"

#include "kernels/core/epilogue.h"

struct attention {
    const struct graph_op *scores, *softmax, *product;
    uint32_t scores_at, softmax_at, product_at;
    float scale;
    uint32_t mask; /* an input of `scores`, 0 = none */
};

static bool is_product(const struct graph_op *op)
{
    return op->k.kind == KERN_GEMM && !op->k.u.gemm.integer && !op->k.u.gemm.has_c && op->k.output_count == 1 &&
           op->k.tensors[0].rank <= 4;
}

/* Position of the op whose whole result is input t of the op at `at`, its only reader; or GRAPH_NONE. The two may use
 * different sizes, but lines of equal length. */
static uint32_t source_of(const struct graph *graph, const struct graph_uses *uses, uint32_t at, uint32_t t)
{
    const struct graph_op *reader = graph->ops[at];
    const struct kern_view *read = &reader->k.tensors[t];
    struct kern_view seen;
    struct graph_use_summary sum = graph_uses_of(uses, reader->value[t]);
    if (graph->values[reader->value[t]].place != GRAPH_TEMP || sum.writes != 1 || sum.reading_ops != 1 ||
        sum.writer >= at)
        return GRAPH_NONE;
    for (uint32_t i = 0; i < reader->k.input_count; i++)
        if (i != t && reader->value[i] == reader->value[t]) /* read twice: it must stay */
            return GRAPH_NONE;
    const struct graph_op *writer = graph->ops[sum.writer];
    const struct kern_view *written = &writer->k.tensors[writer->k.input_count];
    if (writer->k.output_count != 1 || written->type != read->type ||
        written->sizes[written->rank - 1] != read->sizes[read->rank - 1])
        return GRAPH_NONE;
    if (graph_view_equal(read, written))
        return sum.writer;
    return graph_view_reshape(read, written->rank, written->sizes, &seen) && graph_view_equal(&seen, written)
               ? sum.writer
               : GRAPH_NONE;
}

/* The epilogue multiplies by a constant, adds a tensor, or does both in this order. */
static bool read_epilogue(struct attention *at)
{
    static const struct kern_epilogue_support support = {
        KERN_EPILOGUE_STEPS_MAX, { [KERN_MAP_MULADD] = KERN_EPILOGUE_VALUE, [KERN_MAP_ADD] = KERN_EPILOGUE_TENSOR }
    };
    const struct kern_op *op = &at->scores->k;
    struct kern_epilogue epilogue;
    at->scale = op->u.gemm.alpha;
    at->mask = 0;
    if (!kern_epilogue_match(op, &support, &epilogue))
        return false;
    for (uint32_t i = 0; i < epilogue.count; i++) {
        const struct kern_epilogue_step *step = &epilogue.step[i];
        if (at->mask || (!step->tensor && step->q != 0))
            return false;
        at->mask = step->tensor;
        at->scale *= step->tensor ? 1 : step->p;
    }
    return true;
}

static bool find(const struct graph *graph, const struct graph_uses *uses, uint32_t position, struct attention *out)
{
    out->product_at = position;
    out->product = graph->ops[position];
    if (!is_product(out->product) || out->product->k.epilogue || out->product->k.u.gemm.alpha != 1)
        return false;
    out->softmax_at = source_of(graph, uses, position, 0);
    if (out->softmax_at == GRAPH_NONE)
        return false;
    out->softmax = graph->ops[out->softmax_at];
    if (out->softmax->k.kind != KERN_SOFTMAX || out->softmax->k.u.softmax.mode != KERN_SOFTMAX_PLAIN ||
        out->softmax->k.u.softmax.axes != UINT32_C(1) << (out->softmax->k.tensors[0].rank - 1))
        return false;
    out->scores_at = source_of(graph, uses, out->softmax_at, 0);
    if (out->scores_at == GRAPH_NONE)
        return false;
    out->scores = graph->ops[out->scores_at];
    return is_product(out->scores) && read_epilogue(out);
}

/* A matrix per batch and head; `batches` and `heads` are those of the result. */
static struct graph_operand heads_of(const struct graph_op *op, uint32_t t, bool transposed, uint32_t batches,
                                     uint32_t heads)
{
    static const uint32_t order[] = { 0, 1, 3, 2 };
    struct graph_operand out = { op->value[t], op->k.tensors[t] };
    uint32_t rank = out.view.rank;
    out.view = graph_view_broadcast(
        &op->k.tensors[t], 4,
        (const uint32_t[]){ batches, heads, op->k.tensors[t].sizes[rank - 2], op->k.tensors[t].sizes[rank - 1] });
    if (transposed)
        out.view = graph_view_permute(&out.view, order);
    return out;
}

static bool short_floats(const struct graph_operand *operands, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (operands[i].view.type != DML_TENSOR_DATA_TYPE_FLOAT32 &&
            operands[i].view.type != DML_TENSOR_DATA_TYPE_FLOAT16)
            return false;
    return true;
}

/* Replaces the last GEMM by the attention. */
static bool build(const struct attention *at, struct graph_op *out)
{
    const struct kern_view *y = &at->product->k.tensors[at->product->k.input_count];
    const struct kern_view *s = &at->scores->k.tensors[at->scores->k.input_count];
    uint32_t b = y->rank > 3 ? y->sizes[y->rank - 4] : 1, h = y->rank > 2 ? y->sizes[y->rank - 3] : 1, count = 3;
    uint32_t sb = s->rank > 3 ? s->sizes[s->rank - 4] : 1, sh = s->rank > 2 ? s->sizes[s->rank - 3] : 1;
    struct graph_operand all[5];
    if (sb != b || sh != h || s->sizes[s->rank - 2] != y->sizes[y->rank - 2]) /* the weights are not shared */
        return false;
    all[0] = heads_of(at->scores, 0, false, b, h);
    all[1] = heads_of(at->scores, 1, true, b, h);
    all[2] = heads_of(at->product, 1, false, b, h);
    if (at->mask)
        all[count++] = heads_of(at->scores, at->mask, false, b, h);
    all[count] = heads_of(at->product, at->product->k.input_count, false, b, h);
    if (!short_floats(all, count + 1))
        return false;
    *out = *at->product;
    memset(&out->k, 0, sizeof(out->k));
    out->k.kind = KERN_ATTENTION;
    out->k.flags = at->product->k.flags;
    out->k.input_count = count;
    out->k.output_count = 1;
    out->k.u.attention = (struct kern_attention){ .scale = at->scale, .has_mask = at->mask != 0, .undefined = true };
    for (uint32_t t = 0; t <= count; t++) {
        out->k.tensors[t] = all[t].view;
        out->value[t] = all[t].value;
    }
    return !graph_op_reads(out, all[count].value);
}

/* Whether it has an optimised kernel, unless the GEMM does not have one either. */
static bool pays(const struct graph *graph, const struct graph_options *options, const struct attention *at,
                 const struct graph_op *fused)
{
    const uint32_t whole = graph_op_priority(graph, options, fused);
    const uint32_t part = graph_op_priority(graph, options, at->product);
    return whole != GRAPH_PRIORITY_NONE &&
           (!options->backend->portable(whole) || part == GRAPH_PRIORITY_NONE || options->backend->portable(part));
}

static bool fuse(struct graph *graph, struct graph_uses *uses, const struct graph_options *options, uint32_t position)
{
    struct attention at;
    struct graph_op fused;
    if (graph->ops[position]->dead || !find(graph, uses, position, &at) || !build(&at, &fused) ||
        !graph_op_may_sink(uses, at.scores, at.scores_at, position) || !pays(graph, options, &at, &fused))
        return false;
    graph_op_join(&fused, at.scores);
    graph_op_join(&fused, at.softmax);
    graph->ops[at.scores_at]->dead = graph->ops[at.softmax_at]->dead = true;
    *graph->ops[position] = fused;
    if (!graph_uses_refresh(uses, position))
        graph->failed = true;
    return true;
}

HRESULT graph_pass_fuse_attention(struct graph *graph, const struct graph_options *options, bool *changed)
{
    struct graph_uses uses;
    bool ok = graph_uses_init(&uses, graph);
    for (uint32_t i = 0; ok && !graph->failed && i < graph->op_count; i++)
        *changed |= fuse(graph, &uses, options, i);
    graph_uses_finish(&uses);
    return ok && !graph->failed ? S_OK : E_OUTOFMEMORY;
}
