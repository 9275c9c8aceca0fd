/* SPDX-License-Identifier: Apache-2.0 */
/* x / max(norm of x, epsilon), written as REDUCE with L1 or L2, perhaps a clamp, and a quotient, as one LP_NORM. The
 * norm and its clamp have no other readers, and x stays until the quotient. As FLOAT16 the norm was rounded, or became
 * 0 or infinite, which LP_NORM avoids. */
#include "graph/passes/pass.h"

#include <math.h>

#define F32 DML_TENSOR_DATA_TYPE_FLOAT32

/* An element-wise op of one FLOAT32 instruction with one result. */
static const struct kern_map_inst *only_instruction(const struct graph_op *op, uint32_t inputs)
{
    const struct kern_map *map = &op->k.u.map;
    if (op->dead || op->k.kind != KERN_MAP || op->k.input_count != inputs || op->k.output_count != 1 ||
        map->inst_count != 1 || map->store[0] != inputs || map->inst[0].type != F32 || map->inst[0].to_type != F32)
        return NULL;
    for (uint32_t t = 0; t < inputs; t++)
        if (map->load_type[t] != F32)
            return NULL;
    return map->inst;
}

/* The op that alone writes what only operand t of the op at `at` reads; GRAPH_NONE: there is no such op, or the operand
 * differs from its result in more than the size along `axis`. */
static uint32_t source_of(const struct graph *graph, const struct graph_uses *uses, uint32_t at, uint32_t t,
                          uint32_t axis)
{
    const struct graph_op *reader = graph->ops[at];
    const struct graph_use_summary sum = graph_uses_of(uses, reader->value[t]);
    struct kern_view seen = reader->k.tensors[t];
    if (graph->values[reader->value[t]].place != GRAPH_TEMP || sum.writes != 1 || sum.reading_ops != 1 ||
        sum.writer >= at || graph->ops[sum.writer]->k.output_count != 1)
        return GRAPH_NONE;
    const struct graph_op *writer = graph->ops[sum.writer];
    const struct kern_view *written = &writer->k.tensors[writer->k.input_count];
    if (written->rank != seen.rank || (seen.sizes[axis] > 1 && seen.strides[axis] != 0))
        return GRAPH_NONE;
    seen.sizes[axis] = 1;
    seen.strides[axis] = written->strides[axis];
    return graph_view_equal(&seen, written) ? sum.writer : GRAPH_NONE;
}

/* max(norm, epsilon) by the op at *at, which becomes the position of what computes the norm. */
static bool read_clamp(const struct graph *graph, const struct graph_uses *uses, uint32_t axis, uint32_t *at,
                       struct kern_lp_norm *out)
{
    const struct kern_map_inst *clamp = only_instruction(graph->ops[*at], 1);
    out->epsilon = 0;
    out->nan = true;
    if (graph->ops[*at]->k.kind != KERN_MAP)
        return true;
    if (!clamp || (clamp->code != KERN_MAP_CLAMP && clamp->code != KERN_MAP_CLAMP_NAN) ||
        clamp->imm[1].f32 != INFINITY || !(clamp->imm[0].f32 >= 0))
        return false;
    out->epsilon = clamp->imm[0].f32;
    out->nan = clamp->code == KERN_MAP_CLAMP_NAN;
    *at = source_of(graph, uses, *at, 0, axis);
    return *at != GRAPH_NONE;
}

static bool find(const struct graph *graph, const struct graph_uses *uses, uint32_t position, uint32_t *out_norm_at,
                 struct graph_op *out)
{
    const struct graph_op *quotient = graph->ops[position];
    const struct kern_map_inst *division = only_instruction(quotient, 2);
    struct kern_lp_norm norm = { 0 };
    if (!division || division->code != KERN_MAP_DIV || division->src[0] == division->src[1])
        return false;
    const uint32_t x = division->src[0], size = division->src[1];
    if ((graph->flags & DML_EXECUTION_FLAG_DISABLE_META_COMMANDS) && quotient->k.tensors[size].type != F32)
        return false; /* it is to be rounded as written */
    for (norm.axis = 0; norm.axis < quotient->k.tensors[size].rank; norm.axis++) {
        uint32_t at = source_of(graph, uses, position, size, norm.axis);
        if (at == GRAPH_NONE || !read_clamp(graph, uses, norm.axis, &at, &norm))
            continue;
        const struct graph_op *reduce = graph->ops[at];
        const DML_REDUCE_FUNCTION function = reduce->k.u.reduce.function;
        if (reduce->k.kind != KERN_REDUCE || reduce->k.u.reduce.axes != UINT32_C(1) << norm.axis ||
            (function != DML_REDUCE_FUNCTION_L1 && function != DML_REDUCE_FUNCTION_L2) || reduce->k.epilogue ||
            reduce->k.input_count != 1 || reduce->value[0] != quotient->value[x] ||
            !graph_view_equal(&reduce->k.tensors[0], &quotient->k.tensors[x]) ||
            !graph_stable_between(uses, reduce->value[0], at, position))
            continue;
        norm.p = function == DML_REDUCE_FUNCTION_L1 ? 1 : 2;
        *out = *quotient;
        memset(&out->k.u, 0, sizeof(out->k.u));
        out->k.kind = KERN_LP_NORM;
        out->k.input_count = 1;
        out->k.u.lp_norm = norm;
        out->value[0] = quotient->value[x];
        out->value[1] = quotient->value[2];
        out->k.tensors[0] = quotient->k.tensors[x];
        out->k.tensors[1] = quotient->k.tensors[2];
        *out_norm_at = at;
        return !graph_op_reads(out, out->value[1]);
    }
    return false;
}

HRESULT graph_pass_fuse_lp_norm(struct graph *graph, const struct graph_options *options, bool *changed)
{
    struct graph_uses uses;
    struct graph_op fused;
    uint32_t norm_at;
    bool ok = graph_uses_init(&uses, graph);
    for (uint32_t i = 0; ok && !graph->failed && i < graph->op_count; i++) {
        if (graph->ops[i]->dead || !find(graph, &uses, i, &norm_at, &fused) ||
            !graph_op_pays(graph, options, graph->ops[norm_at], &fused))
            continue;
        graph_op_join(&fused, graph->ops[norm_at]);
        *graph->ops[i] = fused; /* dead_nodes removes the norm, whose only reader this was */
        *changed = true;
        graph->failed |= !graph_uses_refresh(&uses, i);
    }
    graph_uses_finish(&uses);
    return ok && !graph->failed ? S_OK : E_OUTOFMEMORY;
}
