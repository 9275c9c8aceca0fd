/* SPDX-License-Identifier: Apache-2.0 */
/* FLOAT64 within operators becomes FLOAT32 on devices that do not compute in FLOAT64, as most GPUs of Intel and
 * Qualcomm: statistics of normalisations, step sizes of optimizers, integers times a scale. Temporaries of one
 * operator's ops become FLOAT32, and so do the registers of element-wise programs. Tensors of the caller keep their
 * type, also those between two operators, and ops that access them remain unsupported. 32-bit integers that are
 * computed with in floating point lose what FLOAT32 does not hold. */
#include "graph/passes/pass.h"

#include <stdlib.h>

#define F64 DML_TENSOR_DATA_TYPE_FLOAT64
#define F32 DML_TENSOR_DATA_TYPE_FLOAT32

static void narrow_inst(struct kern_map_inst *inst)
{
    if (inst->type == F64 && inst->code != KERN_MAP_CONVERT)
        for (uint32_t i = 0; i < ARRAY_SIZE(inst->imm); i++)
            inst->imm[i] = (union kern_scalar){ .f32 = (float)inst->imm[i].f64 };
    inst->type = inst->type == F64 ? F32 : inst->type;
    inst->to_type = inst->to_type == F64 ? F32 : inst->to_type;
}

/* Whether the program had any. */
static bool narrow_program(struct graph_op *op)
{
    struct kern_map *map = &op->k.u.map;
    bool any = false;
    for (uint32_t i = 0; i < op->k.input_count; i++) {
        any |= map->load_type[i] == F64;
        map->load_type[i] = map->load_type[i] == F64 ? F32 : map->load_type[i];
    }
    for (uint32_t i = 0; i < map->inst_count; i++) {
        any |= map->inst[i].type == F64 || map->inst[i].to_type == F64;
        narrow_inst(&map->inst[i]);
    }
    return any;
}

static uint32_t operands(const struct graph_op *op)
{
    return op->k.input_count + op->k.output_count;
}

/* An operand in FLOAT64 that stays so. */
static bool keeps_some(const struct graph_op *op, const bool *narrow)
{
    for (uint32_t t = 0; t < operands(op); t++)
        if (op->k.tensors[t].type == F64 && !narrow[op->value[t]])
            return true;
    return false;
}

/* Temporaries in FLOAT64 that only the ops of one operator access, none of which has other operands in FLOAT64. node[]:
 * of the value's first op. */
static void find(const struct graph *graph, bool *narrow, uint32_t *node)
{
    bool again = true;
    for (uint32_t v = 0; v < graph->value_count; v++)
        narrow[v] = graph->values[v].place == GRAPH_TEMP;
    for (uint32_t i = graph->op_count; i--;)
        for (uint32_t t = 0; t < operands(graph->ops[i]); t++)
            node[graph->ops[i]->value[t]] = graph->ops[i]->node;
    for (uint32_t i = 0; i < graph->op_count; i++)
        for (uint32_t t = 0; t < operands(graph->ops[i]); t++)
            narrow[graph->ops[i]->value[t]] &=
                graph->ops[i]->k.tensors[t].type == F64 && node[graph->ops[i]->value[t]] == graph->ops[i]->node;
    while (again) {
        again = false;
        for (uint32_t i = 0; i < graph->op_count; i++)
            for (uint32_t t = 0; keeps_some(graph->ops[i], narrow) && t < operands(graph->ops[i]); t++) {
                again |= narrow[graph->ops[i]->value[t]];
                narrow[graph->ops[i]->value[t]] = false;
            }
    }
}

static bool change(struct graph *graph, const bool *narrow)
{
    bool any = false;
    for (uint32_t v = 0; v < graph->value_count; v++)
        graph->values[v].size_bytes /= narrow[v] ? 2 : 1;
    for (uint32_t i = 0; i < graph->op_count; i++) {
        struct graph_op *op = graph->ops[i];
        if (op->k.kind == KERN_MAP && !keeps_some(op, narrow))
            any |= narrow_program(op);
        for (uint32_t t = 0; t < operands(op); t++) {
            if (narrow[op->value[t]])
                op->k.tensors[t].type = F32; /* views count elements */
            any |= narrow[op->value[t]];
        }
    }
    return any;
}

HRESULT graph_pass_narrow(struct graph *graph, const struct graph_options *options, bool *changed)
{
    if (!options->backend->lacks || !options->backend->lacks(options, F64))
        return S_OK;
    bool *narrow = calloc((size_t)graph->value_count + 1, sizeof(*narrow));
    uint32_t *node = calloc((size_t)graph->value_count + 1, sizeof(*node));
    const bool ok = narrow && node;
    if (ok) {
        find(graph, narrow, node);
        *changed |= change(graph, narrow);
    }
    free(narrow);
    free(node);
    return ok ? S_OK : E_OUTOFMEMORY;
}
