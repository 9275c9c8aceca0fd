/* SPDX-License-Identifier: Apache-2.0 */
/* Small graphs by hand, and their execution on plain memory: for the tests of src/graph. */
#ifndef TESTS_UNIT_GRAPH_MAKE_H
#define TESTS_UNIT_GRAPH_MAKE_H

#include "graph/compile.h"
#include "graph/exec.h"
#include "graph/ir/text.h"
#include "graph/passes/pass.h"
#include "graph/plan/planner.h"

#include "base/pages.h"

#include "test.h"

#include <stdio.h>
#include <stdlib.h>

#define F32 DML_TENSOR_DATA_TYPE_FLOAT32
#define F16 DML_TENSOR_DATA_TYPE_FLOAT16

__attribute__((unused)) static struct graph_operand make_value(struct graph *graph, enum graph_place place,
                                                               uint32_t index, DML_TENSOR_DATA_TYPE type, uint32_t rank,
                                                               const uint32_t *sizes)
{
    struct graph_operand operand = graph_temp(graph, type, rank, sizes);
    graph->values[operand.value].place = place;
    graph->values[operand.value].index = index;
    return operand;
}

#define SIZES(...)                                                                                                     \
    (const uint32_t[])                                                                                                 \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }

__attribute__((unused)) static struct graph_operand make4(struct graph *graph, enum graph_place place, uint32_t index,
                                                          uint32_t n, uint32_t c, uint32_t h, uint32_t w)
{
    return make_value(graph, place, index, F32, 4, SIZES(n, c, h, w));
}

/* A FLOAT32 constant; element i is first + i * step. */
__attribute__((unused)) static struct graph_operand make_constant(struct graph *graph, uint32_t rank,
                                                                  const uint32_t *sizes, float first, float step)
{
    struct graph_operand operand = make_value(graph, GRAPH_CONSTANT, 0, F32, rank, sizes);
    uint64_t count = kern_view_elements(&operand.view);
    float *data = base_pages_acquire(&graph->pages, count * sizeof(float));
    for (uint64_t i = 0; i < count; i++)
        data[i] = first + (float)i * step;
    graph_constant_put(graph, operand.value, data);
    return operand;
}

/* out = code(inputs...; p, q) in FLOAT32; inputs are broadcast to out's sizes. */
__attribute__((unused)) static struct graph_op *make_map(struct graph *graph, enum kern_map_code code,
                                                         const struct graph_operand *inputs, uint32_t count,
                                                         struct graph_operand out, float p, float q)
{
    struct graph_operand in[KERN_TENSORS_MAX] = { 0 };
    for (uint32_t i = 0; i < count; i++) {
        in[i] = inputs[i];
        in[i].view = graph_view_broadcast(&inputs[i].view, out.view.rank, out.view.sizes);
    }
    struct graph_op *op = graph_op_add(graph, KERN_MAP, in, count, &out, 1);
    struct kern_map_inst inst = { .code = (uint8_t)code, .type = F32, .to_type = F32 };
    for (uint32_t i = 0; i < count && i < 3; i++)
        inst.src[i] = (uint8_t)i;
    inst.imm[0].f32 = p;
    inst.imm[1].f32 = q;
    for (uint32_t i = 0; i < count; i++)
        op->k.u.map.load_type[i] = F32;
    op->k.u.map.inst[0] = inst;
    op->k.u.map.inst_count = 1;
    op->k.u.map.store[0] = (uint8_t)count;
    return op;
}

/* Copies to a tensor of perhaps another type. */
__attribute__((unused)) static void make_cast(struct graph *graph, struct graph_operand from, struct graph_operand to)
{
    struct graph_op *op = make_map(graph, KERN_MAP_ABS, &from, 1, to, 0, 0);
    op->k.u.map.inst_count = op->k.u.map.store[0] = 0;
}

__attribute__((unused)) static struct graph_op *make_move(struct graph *graph, struct graph_operand from,
                                                          struct graph_operand to)
{
    return graph_op_add(graph, KERN_MOVE, &from, 1, &to, 1);
}

/* Two spatial dimensions, dilation 1. inputs: X, W, [bias]. */
__attribute__((unused)) static struct graph_op *make_conv(struct graph *graph, const struct graph_operand *inputs,
                                                          uint32_t count, struct graph_operand out, uint32_t groups,
                                                          uint32_t stride, uint32_t pad)
{
    struct graph_op *op = graph_op_add(graph, KERN_CONV, inputs, count, &out, 1);
    struct kern_conv *conv = &op->k.u.conv;
    conv->spatial = 2;
    conv->groups = groups;
    conv->has_bias = count > 2;
    for (uint32_t d = 0; d < 2; d++) {
        conv->strides[d] = stride;
        conv->dilations[d] = 1;
        conv->pad_start[d] = pad;
    }
    return op;
}

__attribute__((unused)) static struct graph_op *make_gemm(struct graph *graph, const struct graph_operand *inputs,
                                                          uint32_t count, struct graph_operand out)
{
    struct graph_op *op = graph_op_add(graph, KERN_GEMM, inputs, count, &out, 1);
    op->k.u.gemm.alpha = 1;
    op->k.u.gemm.beta = count > 2;
    op->k.u.gemm.has_c = count > 2;
    return op;
}

/* softmax over the last dimension */
__attribute__((unused)) static struct graph_op *make_softmax(struct graph *graph, struct graph_operand from,
                                                             struct graph_operand to)
{
    struct graph_op *op = graph_op_add(graph, KERN_SOFTMAX, &from, 1, &to, 1);
    op->k.u.softmax = (struct kern_softmax){ KERN_SOFTMAX_PLAIN, UINT32_C(1) << (from.view.rank - 1) };
    return op;
}

/* A constant of one byte or of int32 elements. */
__attribute__((unused)) static struct graph_operand make_integers(struct graph *graph, DML_TENSOR_DATA_TYPE type,
                                                                  uint32_t rank, const uint32_t *sizes,
                                                                  const int32_t *values)
{
    struct graph_operand operand = { GRAPH_NONE, { 0 } };
    kern_view_set_packed(&operand.view, type, rank, sizes);
    uint64_t count = kern_view_elements(&operand.view), bytes = kern_type_bytes(type);
    char *data = base_arena_alloc(&graph->arena, count * bytes);
    for (uint64_t i = 0; i < count; i++)
        memcpy(data + i * bytes, &values[i], bytes);
    operand.value = graph_constant_add(graph, data, count * bytes);
    return operand;
}

/* out = (q - zero) * scale, or back with `quantize`, as DEQUANTIZE_LINEAR and QUANTIZE_LINEAR are lowered; scale and
 * zero point are broadcast. */
__attribute__((unused)) static void make_scaled(struct graph *graph, bool quantize, struct graph_operand from,
                                                struct graph_operand scale, struct graph_operand zero,
                                                struct graph_operand out)
{
    struct graph_operand in[3] = { from, scale, zero };
    for (uint32_t i = 1; i < 3; i++)
        in[i].view = graph_view_broadcast(&in[i].view, out.view.rank, out.view.sizes);
    struct graph_op *op = graph_op_add(graph, KERN_MAP, in, 3, &out, 1);
    struct kern_map *map = &op->k.u.map;
    bool wide = from.view.type == DML_TENSOR_DATA_TYPE_INT32;
    uint8_t load = wide ? DML_TENSOR_DATA_TYPE_INT64 : F32, at = 0;
    map->load_type[0] = map->load_type[2] = load;
    map->load_type[1] = F32;
    if (quantize) {
        bool is_signed = out.view.type == DML_TENSOR_DATA_TYPE_INT8;
        map->inst[at++] = (struct kern_map_inst){ KERN_MAP_DIV, F32, F32, { 0, 1 }, { { 0 } } };
        map->inst[at++] = (struct kern_map_inst){ KERN_MAP_RINT, F32, F32, { 3 }, { { 0 } } };
        map->inst[at++] = (struct kern_map_inst){ KERN_MAP_ADD, F32, F32, { 4, 2 }, { { 0 } } };
        map->inst[at] = (struct kern_map_inst){ KERN_MAP_CLAMP, F32, F32, { 5 }, { { 0 } } };
        map->inst[at].imm[0].f32 = is_signed ? -128 : 0;
        map->inst[at++].imm[1].f32 = is_signed ? 127 : 255;
    } else {
        map->inst[at++] = (struct kern_map_inst){ KERN_MAP_SUB, load, load, { 0, 2 }, { { 0 } } };
        if (wide)
            map->inst[at++] = (struct kern_map_inst){ KERN_MAP_CONVERT, load, F32, { 3 }, { { 0 } } };
        map->inst[at] = (struct kern_map_inst){ KERN_MAP_MUL, F32, F32, { (uint8_t)(2 + at), 1 }, { { 0 } } };
        at++;
    }
    map->inst_count = at;
    map->store[0] = (uint8_t)(2 + at);
}

/* Portable kernels only and one thread, so that the outcome is the same on every machine. */
__attribute__((unused)) static struct graph_options make_options(uint64_t disabled)
{
    struct graph_options options = {
        .disabled_passes = disabled, .cpu = 0, .threads = 1, .backend = &graph_backend_host
    };
    return options;
}

/* Copies of the inputs, exactly as large as the values, for address checkers' sake. */
struct make_run {
    void *inputs[16], *outputs[16];
};

/* Runs the plan. buffers->inputs are also the owned inputs; false when memory is short. */
__attribute__((unused)) static bool make_execute(const struct graph_plan *plan, const struct make_run *run)
{
    size_t temp_bytes = plan->temp_bytes, persistent_bytes = plan->persistent_bytes;
    void *temp = aligned_alloc(256, temp_bytes + 256), *persistent = aligned_alloc(256, persistent_bytes + 256);
    if (temp && persistent) {
        memset(temp, 0xa5, temp_bytes);
        memset(persistent, 0xa5, persistent_bytes);
        graph_plan_initialize(plan, run->inputs, persistent);
        struct graph_buffers buffers = { run->inputs, run->outputs, temp, persistent };
        graph_plan_run(plan, &buffers, NULL);
    }
    bool done = temp && persistent;
    free(temp);
    free(persistent);
    return done;
}

/* Plans, runs and finishes the graph, whose passes ended with `hr`. `seed` says which one it is; 0: a known one. */
__attribute__((unused)) static bool make_run_graph(struct graph *graph, const struct graph_options *options, HRESULT hr,
                                                   uint64_t seed, const struct make_run *run)
{
    struct graph_plan *plan = NULL;
    char error[256] = "";
    if (SUCCEEDED(hr))
        hr = graph_plan_create(graph, options, &plan, error);
    graph_finish(graph);
    bool good = TEST_FOR(SUCCEEDED(hr), "seed %llu: %s", (unsigned long long)seed, error) && make_execute(plan, run);
    graph_plan_destroy(plan);
    return good;
}

#endif
