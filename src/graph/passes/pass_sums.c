/* SPDX-License-Identifier: Apache-2.0 */
/* Sums between FLOAT16 tensors stay FLOAT32 until they are scaled. Kernels add in FLOAT32; a sum that is stored as
 * FLOAT16 becomes infinite above 65504 although the mean, which the next op computes from it, would not. The same
 * applies to sums of squares. A temporary is promoted if one op writes it and one other op reads it: an element-wise op
 * after a sum, or a sum or mean after an element-wise op; neither may lose its kernel. Views count elements, so they do
 * not change. */
#include "graph/passes/pass.h"

#define F16 DML_TENSOR_DATA_TYPE_FLOAT16
#define F32 DML_TENSOR_DATA_TYPE_FLOAT32

static bool adds(const struct graph_op *op)
{
    const DML_REDUCE_FUNCTION function = op->k.u.reduce.function;
    return op->k.kind == KERN_REDUCE && op->k.input_count == 1 && op->k.output_count == 1 &&
           (function == DML_REDUCE_FUNCTION_SUM || function == DML_REDUCE_FUNCTION_SUM_SQUARE ||
            function == DML_REDUCE_FUNCTION_L1 || function == DML_REDUCE_FUNCTION_AVERAGE);
}

static bool maps(const struct graph_op *op)
{
    return op->k.kind == KERN_MAP && op->k.output_count == 1;
}

/* `out` views the value as FLOAT32 wherever `op` views it as FLOAT16; false if it has another type there. */
static bool widened(const struct graph_op *op, uint32_t value, struct graph_op *out)
{
    *out = *op;
    for (uint32_t t = 0; t < op->k.input_count + op->k.output_count; t++) {
        if (op->value[t] != value)
            continue;
        if (op->k.tensors[t].type != F16 ||
            (op->k.kind == KERN_MAP && t < op->k.input_count && op->k.u.map.load_type[t] != F32))
            return false;
        out->k.tensors[t].type = F32;
    }
    return true;
}

static bool widen(struct graph *graph, struct graph_uses *uses, const struct graph_options *options, uint32_t value)
{
    const struct graph_use_summary sum = graph_uses_of(uses, value);
    struct graph_op writer, reader;
    if (graph->values[value].place != GRAPH_TEMP || sum.writes != 1 || sum.reading_ops != 1 || sum.writer >= sum.reader)
        return false;
    const struct graph_op *from = graph->ops[sum.writer], *to = graph->ops[sum.reader];
    if (!((adds(from) && maps(to)) || (maps(from) && adds(to))) || !widened(from, value, &writer) ||
        !widened(to, value, &reader) || !graph_op_no_worse(graph, options, from, &writer) ||
        !graph_op_no_worse(graph, options, to, &reader))
        return false;
    *graph->ops[sum.writer] = writer;
    *graph->ops[sum.reader] = reader;
    graph->values[value].size_bytes *= 2;
    graph->failed |= !graph_uses_refresh(uses, sum.writer) || !graph_uses_refresh(uses, sum.reader);
    return true;
}

HRESULT graph_pass_sums(struct graph *graph, const struct graph_options *options, bool *changed)
{
    struct graph_uses uses;
    if (graph->flags & DML_EXECUTION_FLAG_DISABLE_META_COMMANDS)
        return S_OK;
    bool ok = graph_uses_init(&uses, graph);
    for (uint32_t v = 0; ok && v < graph->value_count; v++)
        *changed |= widen(graph, &uses, options, v);
    graph_uses_finish(&uses);
    return ok && !graph->failed ? S_OK : E_OUTOFMEMORY;
}
