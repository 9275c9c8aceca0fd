/* SPDX-License-Identifier: Apache-2.0 */
/* Optimizers. */
#include "graph/lower/lower.h"

#include <math.h>

static uint32_t emit_real(struct lower_map *map, double value)
{
    return lower_emit_const(map, DML_TENSOR_DATA_TYPE_FLOAT64, (union kern_scalar){ .f64 = value });
}

/* 1 - beta^step, as 1 - exp(step * log(beta)) with the precision of exp(x) - 1: also in FLOAT32. */
static uint32_t emit_correction(struct lower_map *map, float beta, uint32_t step)
{
    if (beta > 0 && beta <= 1) {
        uint32_t power = lower_emit1(map, KERN_MAP_MULADD, step, log(beta), 0);
        return lower_emit1(map, KERN_MAP_NEG, lower_emit1(map, KERN_MAP_ELU, power, 1, 0), 0, 0);
    }
    uint32_t power = lower_emit2(map, KERN_MAP_POW, emit_real(map, beta), step);
    return lower_emit2(map, KERN_MAP_SUB, emit_real(map, 1), power);
}

/* LearningRate * sqrt(1 - Beta2^T) / (1 - Beta1^T), which is one number. */
static struct graph_operand step_size(struct graph_lowering *lowering, const DML_ADAM_OPTIMIZER_OPERATOR_DESC *desc)
{
    const struct graph_operand *step = &lowering->inputs[4];
    struct graph_operand size =
        graph_temp(lowering->graph, DML_TENSOR_DATA_TYPE_FLOAT32, step->view.rank, step->view.sizes);
    struct lower_map map;
    lower_map_begin(&map, lowering, step, 1, DML_TENSOR_DATA_TYPE_FLOAT64);
    uint32_t top = lower_emit1(&map, KERN_MAP_SQRT, emit_correction(&map, desc->Beta2, 0), 0, 0);
    uint32_t alpha = lower_emit2(&map, KERN_MAP_DIV, top, emit_correction(&map, desc->Beta1, 0));
    lower_map_end(&map, &size, lower_emit1(&map, KERN_MAP_MULADD, alpha, desc->LearningRate, 0));
    return size;
}

/* beta * old + (1 - beta) * next */
static uint32_t emit_average(struct lower_map *map, float beta, uint32_t old, uint32_t next)
{
    uint32_t kept = lower_emit1(map, KERN_MAP_MULADD, old, beta, 0);
    return lower_emit2(map, KERN_MAP_ADD, kept, lower_emit1(map, KERN_MAP_MULADD, next, 1 - (double)beta, 0));
}

/* All three results come from one op: whichever input an output is bound over, the input is read before it is
 * overwritten. */
HRESULT lower_adam(struct graph_lowering *lowering)
{
    const DML_ADAM_OPTIMIZER_OPERATOR_DESC *desc = LOWER_DESC(lowering, ADAM_OPTIMIZER);
    struct graph_operand in[5], size = step_size(lowering, desc);
    memcpy(in, lowering->inputs, 4 * sizeof(*in));
    in[4] = lower_broadcast(&size, &in[0].view);
    struct lower_map map;
    lower_map_begin(&map, lowering, in, 5, DML_TENSOR_DATA_TYPE_FLOAT32);
    uint32_t first = emit_average(&map, desc->Beta1, 1, 3);
    uint32_t second = emit_average(&map, desc->Beta2, 2, lower_emit2(&map, KERN_MAP_MUL, 3, 3));
    uint32_t deviation =
        lower_emit1(&map, KERN_MAP_MULADD, lower_emit1(&map, KERN_MAP_SQRT, second, 0, 0), 1, desc->Epsilon);
    uint32_t change = lower_emit2(&map, KERN_MAP_DIV, lower_emit2(&map, KERN_MAP_MUL, 4, first), deviation);
    uint32_t parameters = lower_emit2(&map, KERN_MAP_SUB, 0, change);
    struct graph_op *op = lower_op(lowering, KERN_MAP, in, 5, lowering->outputs, 3);
    if (!op)
        return E_OUTOFMEMORY;
    op->k.u.map = map.program;
    op->k.u.map.store[0] = (uint8_t)parameters;
    op->k.u.map.store[1] = (uint8_t)first;
    op->k.u.map.store[2] = (uint8_t)second;
    return lower_done(lowering);
}
