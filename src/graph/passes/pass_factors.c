/* SPDX-License-Identifier: Apache-2.0 */
/* A constant factor of a product's operand becomes a factor of the product: s * Q becomes Q and alpha * s in a GEMM, or
 * scale * s in an attention. Programs that scale both Q and K by a root write their copies for no other purpose, and
 * those of 16 bits round them. An op that multiplies is read through like one that copies; it stays if any reader of
 * its result cannot do so. It also stays where it continues an element-wise op: there it is free, and often the end of
 * a GELU. */
#include "graph/passes/pass.h"

#include <float.h>
#include <math.h>

#define F32 DML_TENSOR_DATA_TYPE_FLOAT32

static bool constant_of(const struct kern_op *map, uint32_t reg, float *out)
{
    if (reg < map->input_count)
        return false;
    const struct kern_map_inst *inst = &map->u.map.inst[reg - map->input_count];
    *out = inst->imm[0].f32;
    return inst->code == KERN_MAP_CONST && inst->type == F32;
}

/* One instruction as *factor times another register. */
static bool step_back(const struct kern_op *map, uint32_t *reg, double *factor)
{
    const struct kern_map_inst *inst = &map->u.map.inst[*reg - map->input_count];
    float c;
    if (inst->type != F32 || inst->to_type != F32)
        return false;
    if (inst->code == KERN_MAP_MULADD && inst->imm[1].f32 == 0) {
        *factor *= (double)inst->imm[0].f32;
        *reg = inst->src[0];
        return true;
    }
    if (inst->code == KERN_MAP_DIV && constant_of(map, inst->src[1], &c)) {
        *factor /= (double)c;
        *reg = inst->src[0];
        return true;
    }
    for (uint32_t s = 0; inst->code == KERN_MAP_MUL && s < 2; s++)
        if (constant_of(map, inst->src[s], &c)) {
            *factor *= (double)c;
            *reg = inst->src[1 - s];
            return true;
        }
    return false;
}

/* The op stores a constant times its only input, with the input's type. */
static bool factor_of(const struct graph_op *op, double *out)
{
    const struct kern_op *map = &op->k;
    if (map->kind != KERN_MAP || map->input_count != 1 || map->output_count != 1 ||
        map->tensors[0].type != map->tensors[1].type || map->tensors[0].type == DML_TENSOR_DATA_TYPE_FLOAT64 ||
        map->u.map.load_type[0] != F32)
        return false;
    uint32_t reg = map->u.map.store[0];
    *out = 1;
    while (reg >= map->input_count)
        if (!step_back(map, &reg, out))
            return false;
    return map->u.map.inst_count > 0;
}

/* The factor of all products of the op's operand t, or NULL. */
static float *scale_of(const struct graph *graph, const struct graph_uses *uses, struct graph_op *op, uint32_t t)
{
    if (op->k.kind == KERN_ATTENTION && t < 2)
        return &op->k.u.attention.scale;
    if (op->k.kind != KERN_GEMM || op->k.u.gemm.integer || t > 1)
        return NULL;
    /* Weights and values without a factor can become an attention, which has no factor of the result. */
    const struct graph_use_summary weights = graph_uses_of(uses, op->value[0]);
    return weights.writes && graph->ops[weights.writer]->k.kind == KERN_SOFTMAX ? NULL : &op->k.u.gemm.alpha;
}

/* The reader with the source of the op at `at` instead of its result, and its factor; false if it cannot. */
static bool read_through(const struct graph *graph, const struct graph_uses *uses, const struct graph_options *options,
                         uint32_t at, uint32_t reader, double factor, struct graph_op *out)
{
    const struct graph_op *map = graph->ops[at], *op = graph->ops[reader];
    if (reader <= at || graph_op_writes(op, map->value[0]) || !graph_stable_between(uses, map->value[0], at, reader))
        return false;
    *out = *op;
    for (uint32_t t = 0; t < out->k.input_count; t++) {
        if (op->value[t] != map->value[1])
            continue;
        float *scale = scale_of(graph, uses, out, t);
        if (!scale ||
            !graph_view_through(&map->k.tensors[1], &map->k.tensors[0], &op->k.tensors[t], &out->k.tensors[t]))
            return false;
        const double scaled = (double)*scale * factor;
        if (!(fabs(scaled) >= (double)FLT_MIN && fabs(scaled) <= (double)FLT_MAX))
            return false;
        *scale = (float)scaled;
        out->value[t] = map->value[0];
    }
    return graph_op_no_worse(graph, options, op, out);
}

/* First a trial (`apply` false), then the change itself. */
static bool read_all(struct graph *graph, struct graph_uses *uses, const struct graph_options *options, uint32_t at,
                     double factor, bool apply)
{
    struct graph_op changed;
    for (uint32_t use = graph_uses_first_read(uses, graph->ops[at]->value[1]); use != GRAPH_NONE;
         use = graph_uses_next(uses, use)) {
        const uint32_t reader = uses->pool[use].op;
        if (!read_through(graph, uses, options, at, reader, factor, &changed))
            return false;
        if (!apply)
            continue;
        graph_op_join(&changed, graph->ops[at]);
        *graph->ops[reader] = changed;
        if (!graph_uses_refresh(uses, reader))
            graph->failed = true;
    }
    return true;
}

/* It reads all of an element-wise result in order, alone: both will be one op. */
static bool continues(const struct graph *graph, const struct graph_uses *uses, const struct graph_op *op)
{
    const struct graph_use_summary sum = graph_uses_of(uses, op->value[0]);
    struct kern_view seen;
    if (graph->values[op->value[0]].place != GRAPH_TEMP || sum.writes != 1 || sum.reading_ops != 1)
        return false;
    const struct graph_op *writer = graph->ops[sum.writer];
    const struct kern_view *written = &writer->k.tensors[sum.writer_tensor];
    struct graph_program program;
    if (writer->k.kind != KERN_MAP)
        return false;
    graph_program_of(writer, &program);
    return !graph_program_casts(&program, written->type) &&
           (graph_view_equal(&op->k.tensors[0], written) ||
            (graph_view_reshape(&op->k.tensors[0], written->rank, written->sizes, &seen) &&
             graph_view_equal(&seen, written)));
}

static bool remove_factor(struct graph *graph, struct graph_uses *uses, const struct graph_options *options,
                          uint32_t at)
{
    double factor;
    const struct graph_op *op = graph->ops[at];
    if (op->dead || !factor_of(op, &factor) || graph->values[op->value[1]].place != GRAPH_TEMP ||
        graph_uses_of(uses, op->value[1]).writes != 1 || !graph_uses_of(uses, op->value[1]).reading_ops ||
        continues(graph, uses, op) || !read_all(graph, uses, options, at, factor, false))
        return false;
    read_all(graph, uses, options, at, factor, true);
    graph->ops[at]->dead = true;
    return true;
}

HRESULT graph_pass_factors(struct graph *graph, const struct graph_options *options, bool *changed)
{
    struct graph_uses uses;
    bool ok = graph_uses_init(&uses, graph);
    for (uint32_t i = 0; ok && !graph->failed && i < graph->op_count; i++)
        *changed |= remove_factor(graph, &uses, options, i);
    graph_uses_finish(&uses);
    return ok && !graph->failed ? S_OK : E_OUTOFMEMORY;
}
