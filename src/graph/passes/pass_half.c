/* SPDX-License-Identifier: Apache-2.0 */
/* If the caller allows half precision for FLOAT32 tensors and the CPU multiplies BFLOAT16, temporaries that are factors
 * of convolutions and GEMMs become BFLOAT16: the factors would be rounded to it anyway, and the memory traffic is
 * halved. All ops that access such a value must see it as FLOAT32 and accept the other type without losing their
 * kernel; views count elements, so they do not change. */
#include "graph/passes/pass.h"

#include <stdlib.h>

struct halves {
    struct graph *graph;
    const struct graph_options *options;
    bool *refused;   /* [value] */
    bool *factor;    /* [group] */
    uint32_t *group; /* [value]: towards the group's first value */
};

static bool is_product(const struct kern_op *op)
{
    return (op->kind == KERN_CONV && !op->u.conv.integer) || (op->kind == KERN_GEMM && !op->u.gemm.integer);
}

/* Ops whose input and output have one type. */
static bool keeps_type(enum kern_kind kind)
{
    return kind == KERN_POOL || kind == KERN_MOVE;
}

static bool is_factor(const struct kern_op *op, uint32_t t)
{
    return is_product(op) && (t == 0 || (t == 1 && op->kind == KERN_GEMM));
}

/* Operands of a GEMM's epilogue: the GEMM waits for their memory. */
static bool is_late(const struct kern_op *op, uint32_t t)
{
    return is_product(op) && op->epilogue && t >= op->epilogue_input && t < op->input_count;
}

/* Operand t may be BFLOAT16. */
static bool suits(const struct kern_op *op, uint32_t t)
{
    uint32_t own = op->epilogue ? op->epilogue_input : op->input_count;
    if (op->tensors[t].type != DML_TENSOR_DATA_TYPE_FLOAT32 || !(op->flags & KERN_FLAG_HALF_FLOAT32))
        return false;
    if (is_product(op))
        return is_factor(op, t) || t >= own;
    return op->kind == KERN_MAP || op->kind == KERN_NORM || op->kind == KERN_SOFTMAX || op->kind == KERN_REDUCE ||
           (keeps_type(op->kind) && op->input_count + op->output_count == 2);
}

static uint32_t find_group(struct halves *h, uint32_t value)
{
    while (h->group[value] != value)
        value = h->group[value] = h->group[h->group[value]];
    return value;
}

static uint32_t operands(const struct graph_op *op)
{
    return op->k.input_count + op->k.output_count;
}

static void look(struct halves *h, const struct graph_op *op)
{
    for (uint32_t t = 0; t < operands(op); t++)
        if (h->graph->values[op->value[t]].place != GRAPH_TEMP || !suits(&op->k, t))
            h->refused[op->value[t]] = true;
    if (!keeps_type(op->k.kind) || operands(op) != 2)
        return;
    uint32_t a = find_group(h, op->value[0]), b = find_group(h, op->value[1]);
    h->group[b] = a;
}

/* Groups are all or nothing: if one value cannot change, none of the group can. */
static void settle(struct halves *h)
{
    const struct graph *graph = h->graph;
    for (uint32_t i = 0; i < graph->op_count; i++)
        for (uint32_t t = 0; t < operands(graph->ops[i]); t++)
            if (is_factor(&graph->ops[i]->k, t) || is_late(&graph->ops[i]->k, t))
                h->factor[find_group(h, graph->ops[i]->value[t])] = true;
    for (uint32_t v = 0; v < graph->value_count; v++)
        if (h->refused[v])
            h->factor[find_group(h, v)] = false;
}

static bool changed_op(struct halves *h, const struct graph_op *op, struct graph_op *out)
{
    bool any = false;
    *out = *op;
    for (uint32_t t = 0; t < operands(op); t++) {
        if (!h->factor[find_group(h, op->value[t])])
            continue;
        out->k.tensors[t].type = ANYDML_TENSOR_DATA_TYPE_BFLOAT16;
        any = true;
    }
    return any;
}

/* Values of ops that would lose their kernel keep their types; true if there were any. */
static bool veto(struct halves *h)
{
    bool any = false;
    for (uint32_t i = 0; i < h->graph->op_count; i++) {
        const struct graph_op *op = h->graph->ops[i];
        struct graph_op changed;
        if (!changed_op(h, op, &changed) || graph_op_no_worse(h->graph, h->options, op, &changed))
            continue;
        for (uint32_t t = 0; t < operands(op); t++)
            h->factor[find_group(h, op->value[t])] = false;
        any = true;
    }
    return any;
}

static void change_all(struct halves *h, bool *changed)
{
    struct graph *graph = h->graph;
    struct graph_op op;
    for (uint32_t i = 0; i < graph->op_count; i++)
        look(h, graph->ops[i]);
    settle(h);
    while (veto(h)) { /* each time there are fewer groups */
    }
    for (uint32_t i = 0; i < graph->op_count; i++) {
        if (!changed_op(h, graph->ops[i], &op))
            continue;
        *graph->ops[i] = op;
        *changed = true;
    }
    for (uint32_t v = 0; v < graph->value_count; v++)
        if (h->factor[find_group(h, v)])
            graph->values[v].size_bytes = base_align_up(graph->values[v].size_bytes / 2, 4);
}

HRESULT graph_pass_half(struct graph *graph, const struct graph_options *options, bool *changed)
{
    size_t count = (size_t)graph->value_count + 1;
    if (!(graph->flags & ANYDML_EXECUTION_FLAG_HALF_PRECISION_FLOAT32) ||
        (graph->flags & DML_EXECUTION_FLAG_DISABLE_META_COMMANDS) ||
        !options->backend->multiplies(options, ANYDML_TENSOR_DATA_TYPE_BFLOAT16))
        return S_OK;
    struct halves h = { graph, options, calloc(count, sizeof(bool)), calloc(count, sizeof(bool)),
                        calloc(count, sizeof(uint32_t)) };
    bool ok = h.refused && h.factor && h.group;
    for (uint32_t v = 0; ok && v < graph->value_count; v++)
        h.group[v] = v;
    if (ok)
        change_all(&h, changed);
    free(h.refused);
    free(h.factor);
    free(h.group);
    return ok ? S_OK : E_OUTOFMEMORY;
}
