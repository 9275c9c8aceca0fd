/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/passes/quantized.h"

#include "kernels/core/dense.h"

double graph_constant_element(const void *data, const struct kern_view *view, int64_t index)
{
    return dense_load(data, index, view->type);
}

static double element(const struct graph_parameter *parameter, uint32_t at)
{
    return parameter->data ? graph_constant_element(parameter->data, &parameter->view,
                                                    parameter->view.offset + at * parameter->step)
                           : 0;
}

float graph_dequantized_scale(const struct graph_dequantized *dq, uint32_t at)
{
    return (float)element(&dq->scale, at);
}

double graph_dequantized_zero(const struct graph_dequantized *dq, uint32_t at)
{
    return element(&dq->zero, at);
}

/* A constant that is one element, or varies along one of the map's dimensions only. *out_dim = that, or GRAPH_NONE. */
static bool find_parameter(struct graph *graph, const struct graph_op *map, uint32_t t, struct graph_parameter *out,
                           uint32_t *out_dim)
{
    const struct graph_value *value = &graph->values[map->value[t]];
    const struct kern_view *view = &map->k.tensors[t];
    *out_dim = GRAPH_NONE;
    if (value->place != GRAPH_CONSTANT || !graph_operand_fits(graph, map, t))
        return false;
    *out = (struct graph_parameter){ graph_constant_data(graph, map->value[t]), *view, 0 };
    if (!out->data)
        return false;
    for (uint32_t d = 0; d < view->rank; d++) {
        if (view->sizes[d] == 1 || !view->strides[d])
            continue;
        if (*out_dim != GRAPH_NONE)
            return false;
        *out_dim = d;
        out->step = view->strides[d];
    }
    return true;
}

/* Dimension `dim` of `read` walks dimension `along` of the dense `written`, in full. */
static bool same_order(const struct kern_view *written, uint32_t along, const struct kern_view *read, uint32_t dim)
{
    uint64_t whole = kern_view_elements(written), period = (uint64_t)written->strides[along] * written->sizes[along];
    if (dim == GRAPH_NONE || read->sizes[dim] != written->sizes[along] || read->strides[dim] != written->strides[along])
        return false;
    /* Every other step either stays within one coordinate or advances by whole periods. */
    for (uint32_t d = 0; d < read->rank; d++) {
        uint64_t step = (uint64_t)read->strides[d], reach = step * (read->sizes[d] - 1);
        if (d == dim || read->sizes[d] == 1 || !step)
            continue;
        if (read->strides[d] < 0 || !(step % period == 0 || reach < (uint64_t)written->strides[along]))
            return false;
    }
    return whole > 0;
}

/* The inner dimensions of `read` together stay within one coordinate. */
static bool inner_fits(const struct kern_view *written, uint32_t along, const struct kern_view *read, uint32_t dim)
{
    uint64_t inner = 0, period = (uint64_t)written->strides[along] * written->sizes[along];
    for (uint32_t d = 0; d < read->rank; d++)
        if (d != dim && read->sizes[d] > 1 && (uint64_t)read->strides[d] % period)
            inner += (uint64_t)read->strides[d] * (read->sizes[d] - 1);
    return inner < (uint64_t)written->strides[along];
}

bool graph_dequantized_find(struct graph *graph, const struct graph_uses *uses, uint32_t at, uint32_t t, uint32_t dim,
                            struct graph_dequantized *out)
{
    const struct graph_op *op = graph->ops[at];
    const struct kern_view *read = &op->k.tensors[t];
    struct graph_use_summary sum = graph_uses_of(uses, op->value[t]);
    uint32_t along[2] = { GRAPH_NONE, GRAPH_NONE };
    memset(out, 0, sizeof(*out));
    if (graph->values[op->value[t]].place != GRAPH_TEMP || sum.writes != 1 || sum.writer >= at ||
        !graph_dequantizes(graph->ops[sum.writer]))
        return false;
    const struct graph_op *map = graph->ops[sum.writer];
    const struct kern_view *written = &map->k.tensors[map->k.input_count], *from = &map->k.tensors[0];
    if (read->type != written->type || !kern_view_packed(written) || !kern_view_packed(from) || written->offset ||
        !graph_operand_fits(graph, op, t) || graph_view_span_bytes(read) > graph_view_span_bytes(written) ||
        !graph_stable_between(uses, map->value[0], sum.writer, at) ||
        !find_parameter(graph, map, 1, &out->scale, &along[0]) ||
        (map->k.input_count == 3 && !find_parameter(graph, map, 2, &out->zero, &along[1])))
        return false;
    out->count = 1;
    for (uint32_t i = 0; i < 2; i++) {
        if (along[i] == GRAPH_NONE)
            continue;
        if (read->offset || !same_order(written, along[i], read, dim) || !inner_fits(written, along[i], read, dim))
            return false;
        out->count = written->sizes[along[i]];
    }
    out->q = (struct graph_operand){ map->value[0], *read };
    out->q.view.type = from->type;
    out->q.view.offset += from->offset;
    return true;
}

/* ---- the way back ---- */

/* Inputs x, scale, [zero point]; CLAMP([ADD(] RINT(DIV(x, scale)) [, zero point)]) */
static bool quantizes(const struct graph_op *op)
{
    static const uint8_t codes[] = { KERN_MAP_DIV, KERN_MAP_RINT, KERN_MAP_ADD, KERN_MAP_CLAMP };
    const struct kern_map *map = &op->k.u.map;
    uint32_t inputs = op->k.input_count, at = 0;
    if (op->k.kind != KERN_MAP || op->k.output_count != 1 || (inputs != 2 && inputs != 3) ||
        map->inst_count != inputs + 1 || map->store[0] != 2 * inputs)
        return false;
    for (uint32_t i = 0; i < ARRAY_SIZE(codes); i++) {
        const struct kern_map_inst *inst = &map->inst[at];
        if (codes[i] == KERN_MAP_ADD && inputs == 2)
            continue;
        if (inst->code != codes[i] || inst->type != DML_TENSOR_DATA_TYPE_FLOAT32 || inst->to_type != inst->type ||
            inst->src[0] != (at ? inputs + at - 1 : 0) || (codes[i] == KERN_MAP_DIV && inst->src[1] != 1) ||
            (codes[i] == KERN_MAP_ADD && inst->src[1] != 2))
            return false;
        at++;
    }
    return true;
}

uint32_t graph_only_reader(const struct graph *graph, const struct graph_uses *uses, uint32_t at)
{
    const struct graph_op *op = graph->ops[at];
    uint32_t value = op->value[op->k.input_count];
    struct graph_use_summary sum = graph_uses_of(uses, value);
    if (graph->values[value].place != GRAPH_TEMP || sum.writes != 1 || sum.reading_ops != 1)
        return GRAPH_NONE;
    const struct graph_op *reader = graph->ops[sum.reader];
    for (uint32_t t = 1; t < reader->k.input_count; t++)
        if (reader->value[t] == value)
            return GRAPH_NONE;
    return sum.reader;
}

/* The one positive scale of what quantizes(); 0 when it is not known. */
static float quantize_scale(struct graph *graph, const struct graph_op *op)
{
    struct graph_parameter scale;
    uint32_t dim;
    if (!find_parameter(graph, op, 1, &scale, &dim) || dim != GRAPH_NONE ||
        scale.view.type != DML_TENSOR_DATA_TYPE_FLOAT32)
        return 0;
    float by = (float)element(&scale, 0);
    return by > 0 && by < 3e38f ? by : 0;
}

bool graph_quantizes_like(struct graph *graph, const struct graph_op *op, const struct graph_dequantized *dq)
{
    struct graph_parameter zero = { NULL, { 0 }, 0 };
    uint32_t dim = GRAPH_NONE;
    if (dq->count != 1 || kern_type_bytes(dq->q.view.type) != 1 || !quantizes(op) ||
        op->k.tensors[0].type != DML_TENSOR_DATA_TYPE_FLOAT32 ||
        (op->k.input_count == 3 && (!find_parameter(graph, op, 2, &zero, &dim) || dim != GRAPH_NONE)))
        return false;
    const struct kern_map_inst *clamp = &op->k.u.map.inst[op->k.u.map.inst_count - 1];
    bool is_signed = dq->q.view.type == DML_TENSOR_DATA_TYPE_INT8;
    float by = quantize_scale(graph, op);
    return by > 0 && by == graph_dequantized_scale(dq, 0) && element(&zero, 0) == graph_dequantized_zero(dq, 0) &&
           op->k.tensors[op->k.input_count].type == dq->q.view.type && clamp->imm[0].f32 == (is_signed ? -128 : 0) &&
           clamp->imm[1].f32 == (is_signed ? 127 : 255);
}

/* Removes instruction `at`, whose first operand replaces its result, and input t, which only it read. */
static void drop_step(struct graph_op *op, uint32_t at, uint32_t t)
{
    struct kern_map *map = &op->k.u.map;
    const uint32_t inputs = op->k.input_count, gone = inputs + at;
    const uint8_t stand_in = map->inst[at].src[0];
    memmove(&op->value[t], &op->value[t + 1], (inputs - t) * sizeof(*op->value));
    memmove(&op->k.tensors[t], &op->k.tensors[t + 1], (inputs - t) * sizeof(*op->k.tensors));
    memmove(&map->load_type[t], &map->load_type[t + 1], (inputs - t - 1) * sizeof(*map->load_type));
    memmove(&map->inst[at], &map->inst[at + 1], (map->inst_count - at - 1) * sizeof(*map->inst));
    op->k.input_count--;
    map->inst_count--;
    for (uint32_t i = 0; i < map->inst_count; i++)
        for (uint32_t s = 0; s < ARRAY_SIZE(map->inst[i].src); s++) {
            uint8_t *reg = &map->inst[i].src[s];
            *reg = *reg == gone ? stand_in : *reg;
            *reg = (uint8_t)(*reg - (*reg > gone) - (*reg > t));
        }
    map->store[0] = (uint8_t)(map->store[0] - 2);
}

static bool all_zero(struct graph *graph, uint32_t value)
{
    const uint8_t *bytes = graph->values[value].place == GRAPH_CONSTANT ? graph_constant_data(graph, value) : NULL;
    bool result = bytes != NULL;
    for (uint64_t i = 0; result && i < graph->values[value].size_bytes; i++)
        result = bytes[i] == 0;
    return result;
}

static void remove_input(struct graph_op *op, uint32_t t)
{
    uint32_t behind = op->k.input_count + op->k.output_count - t - 1;
    memmove(&op->value[t], &op->value[t + 1], behind * sizeof(*op->value));
    memmove(&op->k.tensors[t], &op->k.tensors[t + 1], behind * sizeof(*op->k.tensors));
    op->k.input_count--;
    if (op->k.epilogue_input > t)
        op->k.epilogue_input--;
}

static bool drop_of_product(struct graph *graph, struct graph_op *op)
{
    bool conv = op->k.kind == KERN_CONV && op->k.u.conv.integer, gemm = op->k.kind == KERN_GEMM && op->k.u.gemm.integer;
    bool *has[2] = { conv ? &op->k.u.conv.has_x_zero : &op->k.u.gemm.has_a_zero,
                     conv ? &op->k.u.conv.has_w_zero : &op->k.u.gemm.has_b_zero };
    bool any = false;
    for (uint32_t i = 2; (conv || gemm) && i-- > 0;) {
        uint32_t t = 2u + (conv && op->k.u.conv.has_bias) + (i && *has[0]);
        if (!*has[i] || !all_zero(graph, op->value[t]))
            continue;
        remove_input(op, t);
        *has[i] = false;
        any = true;
    }
    return any;
}

bool graph_drop_zero_points(struct graph *graph, struct graph_op *op)
{
    const bool in = graph_dequantizes(op), out = !in && quantizes(op);
    if (op->dead)
        return false;
    if (!in && !out)
        return drop_of_product(graph, op);
    if (op->k.input_count != 3 || !all_zero(graph, op->value[2]))
        return false;
    drop_step(op, in ? 0 : 2, 2);
    return true;
}
