/* SPDX-License-Identifier: Apache-2.0 */
/* Values that are dequantised and quantised again with the same scale and zero point do not change: (q - z) * s / s is
 * within one ulp of the integer q - z. So the requantisation becomes a copy, and a maximum can be computed on the
 * integers, because a positive scale preserves their order. */
#include "graph/passes/quantized.h"

static void make_move(struct graph_op *op)
{
    memset(&op->k.u, 0, sizeof(op->k.u));
    op->value[1] = op->value[op->k.input_count];
    op->k.tensors[1] = op->k.tensors[op->k.input_count];
    op->k.kind = KERN_MOVE;
    op->k.input_count = 1;
}

static bool copy(struct graph *graph, const struct graph_uses *uses, uint32_t at)
{
    struct graph_op *op = graph->ops[at];
    struct graph_dequantized dq;
    if (!graph_dequantized_find(graph, uses, at, 0, GRAPH_NONE, &dq) || !graph_quantizes_like(graph, op, &dq) ||
        graph_op_writes(op, dq.q.value))
        return false;
    op->value[0] = dq.q.value;
    op->k.tensors[0] = dq.q.view;
    make_move(op);
    return true;
}

static bool pool(struct graph *graph, const struct graph_uses *uses, uint32_t at)
{
    struct graph_op *op = graph->ops[at];
    struct graph_dequantized dq;
    if (op->k.epilogue || op->k.output_count != 1 || op->k.u.pool.mode != KERN_POOL_MAX)
        return false;
    uint32_t reader = graph_only_reader(graph, uses, at);
    if (reader == GRAPH_NONE || !graph_dequantized_find(graph, uses, at, 0, GRAPH_NONE, &dq) ||
        !graph_quantizes_like(graph, graph->ops[reader], &dq))
        return false;
    struct graph_op *quantize = graph->ops[reader];
    op->value[0] = dq.q.value;
    op->k.tensors[0] = dq.q.view;
    op->k.tensors[1].type = quantize->k.tensors[0].type = dq.q.view.type;
    make_move(quantize);
    return true;
}

HRESULT graph_pass_requantize(struct graph *graph, const struct graph_options *options, bool *changed)
{
    struct graph_uses uses;
    bool ok = graph_uses_init(&uses, graph);
    (void)options;
    for (uint32_t i = 0; ok && i < graph->op_count; i++) {
        bool here = false;
        if (graph->ops[i]->k.kind == KERN_MAP)
            here = copy(graph, &uses, i);
        else if (graph->ops[i]->k.kind == KERN_POOL)
            here = pool(graph, &uses, i);
        ok = !here || graph_uses_refresh(&uses, i);
        *changed |= here;
    }
    graph_uses_finish(&uses);
    return ok && !graph->failed ? S_OK : E_OUTOFMEMORY;
}
