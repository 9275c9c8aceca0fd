/* SPDX-License-Identifier: Apache-2.0 */
/* From arguments to a plan, and running one. */
#include "plan.h"

#include "device.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- arguments as values ---- */

static bool operand_of(struct aten_graph *g, const struct aten_arg *arg, uint32_t at, struct aten_operand *out)
{
    const bool list = arg->kind == ATEN_TENSORS;
    *out = (struct aten_operand){ .kind = arg->kind, .count = arg->count };
    out->integers = arg->integers; /* or whatever the union holds */
    if (!list && arg->kind != ATEN_TENSOR)
        return true;
    const uint32_t count = list ? arg->count : 1;
    out->values = aten_alloc(g, count * sizeof(struct aten_value *));
    for (uint32_t i = 0; out->values && i < count; i++)
        if (arg->tensors[i].type != ATEN_ABSENT && !(out->values[i] = aten_input_value(g, &arg->tensors[i], at, i)))
            return false;
    return out->values != NULL;
}

static bool build(struct aten_graph *g, const struct aten_call *call, struct aten_value **results)
{
    struct aten_operand *operands = aten_alloc(g, call->arg_count * sizeof(*operands));
    struct aten_node node = { .op = call->op,
                              .args = operands,
                              .arg_count = call->arg_count,
                              .outputs = call->outputs,
                              .output_count = call->output_count,
                              .results = results };
    g->node = &node;
    for (uint32_t i = 0; operands && i < call->arg_count; i++)
        if (!operand_of(g, &call->args[i], i, &operands[i]))
            return false;
    for (uint32_t i = 0; i < call->output_count; i++) {
        const struct aten_tensor *out = &call->outputs[i];
        if (out->type != ATEN_ABSENT && (out->rank > ATEN_RANK_MAX || !aten_type_bytes(out->type)))
            return aten_fail(g, "result %u has %u dimensions and type %d, at most %u of the usual types are possible",
                             i, out->rank, out->type, ATEN_RANK_MAX);
    }
    bool ok = operands && aten_build(g, &node);
    g->node = NULL;
    return ok;
}

/* ---- plans ---- */

void aten_plan_destroy(struct aten_plan *plan)
{
    if (plan->op)
        IDMLCompiledOperator_Release(plan->op);
    if (plan->persistent)
        ID3D12Resource_Release(plan->persistent);
    free(plan->failure);
    free(plan->inputs);
    free(plan->outputs);
    free(plan->slots);
    free(plan->slot_bytes);
    free(plan->key);
    free(plan);
}

void aten_release(struct aten_plan *plan)
{
    if (plan && atomic_fetch_sub(&plan->refs, 1) == 1)
        aten_plan_destroy(plan);
}

/* Where the result lies, without data: as wanted, or as the value does. */
static struct aten_tensor layout_of(const struct aten_value *v)
{
    struct aten_tensor layout = { .type = ATEN_ABSENT };
    if (!v)
        return layout;
    layout.type = v->type;
    layout.rank = v->rank;
    memcpy(layout.sizes, v->sizes, sizeof(layout.sizes));
    memcpy(layout.strides, v->strides, sizeof(layout.strides));
    return layout;
}

bool aten_plan_fill(struct aten_plan *plan, struct aten_graph *g, struct aten_value **outputs,
                    const struct aten_tensor *layouts, uint32_t output_count)
{
    plan->outputs = calloc(output_count + 1u, sizeof(*plan->outputs));
    plan->slots = calloc(output_count + 1u, sizeof(*plan->slots));
    plan->slot_bytes = calloc(output_count + 1u, sizeof(*plan->slot_bytes));
    if (!plan->outputs || !plan->slots || !plan->slot_bytes)
        return aten_fail(g, "out of memory");
    if (!aten_compile_graph(g, outputs, output_count, plan->slots, &plan->slot_count, &plan->op))
        return false;
    plan->output_count = output_count;
    for (uint32_t k = 0; k < plan->slot_count; k++) {
        const struct aten_buffer *buffer = outputs[plan->slots[k]]->buffer;
        plan->slot_bytes[k] = base_align_up((uint64_t)buffer->extent * aten_type_bytes(buffer->type), 4);
    }
    for (uint32_t i = 0; i < output_count; i++) {
        plan->outputs[i] = layouts ? layouts[i] : layout_of(outputs[i]);
        plan->outputs[i].data = NULL;
    }
    plan->inputs = calloc(g->input_count + 1u, sizeof(*plan->inputs));
    if (!plan->inputs)
        return aten_fail(g, "out of memory");
    if (g->input_count)
        memcpy(plan->inputs, g->inputs, g->input_count * sizeof(*g->inputs));
    plan->input_count = g->input_count;
    plan->draws = g->draws;
    return true;
}

uint32_t aten_plan_output_count(const struct aten_plan *plan)
{
    return plan->output_count;
}

const struct aten_tensor *aten_plan_output(const struct aten_plan *plan, uint32_t i)
{
    return &plan->outputs[i];
}

uint64_t aten_plan_draws(const struct aten_plan *plan)
{
    return plan->draws;
}

/* ---- finding and compiling ---- */

struct aten_plan *aten_find(struct aten_device *device, const struct aten_op *op, const struct aten_arg *args,
                            uint32_t arg_count, const struct aten_tensor *outputs, uint32_t output_count)
{
    struct aten_key key;
    const struct aten_call call = { device, op, args, arg_count, outputs, output_count };
    aten_key_make(&key, &call, outputs != NULL);
    struct aten_plan *plan = aten_cache_find(&key);
    aten_key_finish(&key);
    if (!plan || !plan->failure)
        return plan;
    aten_release(plan);
    return NULL;
}

/* Every number is an input now, so that the plan does for others, too. */
static bool all_live(const struct aten_graph *g, const struct aten_call *call)
{
    for (uint32_t i = 0; i < call->arg_count; i++) {
        const enum aten_kind kind = call->args[i].kind;
        const bool number = kind == ATEN_INT || kind == ATEN_REAL || kind == ATEN_BOOL;
        if (number && (i > 63 || !(g->numbers >> i & 1)))
            return false;
    }
    return !g->baked;
}

/* A plan with one reference, which says why when it failed. NULL: memory is short, or numbers cannot be live. */
static struct aten_plan *plan_new(const struct aten_call *call, bool live)
{
    struct aten_graph g;
    struct aten_plan *plan = calloc(1, sizeof(*plan));
    if (!plan)
        return NULL;
    atomic_init(&plan->refs, 1);
    plan->kind = live ? ATEN_PLAN_LIVE : ATEN_PLAN_EXACT;
    plan->device = call->device;
    BOOL before = AnydmlQuiet(TRUE);
    aten_graph_init(&g, call->device);
    g.live = live;
    struct aten_value **results = aten_alloc(&g, call->output_count * sizeof(struct aten_value *));
    bool ok = results && build(&g, call, results) && (!live || all_live(&g, call)) &&
              aten_plan_fill(plan, &g, results, call->outputs, call->output_count);
    AnydmlQuiet(before);
    if (!ok && !live)
        plan->failure = strdup(g.failed ? g.message : "out of memory");
    aten_graph_finish(&g);
    if (ok || plan->failure)
        return plan;
    aten_release(plan);
    return NULL;
}

struct aten_plan *aten_compile(struct aten_device *device, const struct aten_op *op, const struct aten_arg *args,
                               uint32_t arg_count, const struct aten_tensor *outputs, uint32_t output_count,
                               char message[ATEN_MESSAGE_BYTES])
{
    const struct aten_call call = { device, op, args, arg_count, outputs, output_count };
    bool written = false;
    for (uint32_t i = 0; i < output_count; i++)
        written = written || outputs[i].data;
    struct aten_key key;
    aten_key_make(&key, &call, written);
    struct aten_plan *plan = aten_cache_find(&key);
    if (!plan && aten_cache_miss(&key)) {
        plan = plan_new(&call, true);
        if (plan)
            plan = aten_cache_add(&key, plan);
        else
            aten_cache_refuse(&key);
    }
    if (!plan && (plan = plan_new(&call, false)))
        plan = aten_cache_add(&key, plan);
    aten_key_finish(&key);
    if (plan && !plan->failure)
        return plan;
    aten_say(message, ATEN_MESSAGE_BYTES, S_OK, plan ? plan->failure : "out of memory");
    aten_release(plan);
    return NULL;
}

/* ---- running ---- */

#define STACK_SLOTS 24

/* What inputs are bound to that are no tensors. */
struct bound {
    _Alignas(16) uint32_t words[8];
};

/* DirectML's state of a Philox generator: a counter of 128 bits in blocks of four numbers, and the key. */
static void store_generator(const int64_t *seed_offset, struct bound *out)
{
    uint64_t seed = (uint64_t)seed_offset[0], block = (uint64_t)seed_offset[1] / 4;
    out->words[0] = (uint32_t)block;
    out->words[1] = (uint32_t)(block >> 32);
    out->words[2] = out->words[3] = 0;
    out->words[4] = (uint32_t)seed;
    out->words[5] = (uint32_t)(seed >> 32);
}

static uint64_t address_of(const struct aten_binding *binding, const struct aten_arg *args, struct bound *bound)
{
    const struct aten_arg *arg = &args[binding->argument];
    if (binding->kind == ATEN_BIND_TENSOR)
        return (uint64_t)(uintptr_t)arg->tensors[binding->element].data;
    if (binding->kind == ATEN_BIND_GENERATOR)
        store_generator(arg->integers, bound);
    else if (arg->kind == ATEN_REAL)
        aten_store_real(binding->type, arg->real, bound->words);
    else
        aten_store_int(binding->type, arg->integer, bound->words);
    return (uint64_t)(uintptr_t)bound->words;
}

static HRESULT run_here(const struct aten_plan *plan, const struct aten_arg *args, const struct aten_tensor *outputs,
                        uint64_t *addresses, struct bound *bound)
{
    uint64_t *to = addresses + plan->input_count;
    for (uint32_t i = 0; i < plan->input_count; i++)
        addresses[i] = address_of(&plan->inputs[i], args, &bound[i]);
    for (uint32_t i = 0; i < plan->slot_count; i++)
        to[i] = (uint64_t)(uintptr_t)outputs[plan->slots[i]].data;
    return AnydmlRunOperator(plan->device->queue, plan->op, plan->input_count, addresses, plan->slot_count, to);
}

static HRESULT run_remote(struct aten_plan *plan, const struct aten_arg *args, const struct aten_tensor *outputs)
{
    const uint32_t count = plan->input_count + plan->slot_count;
    struct bound *bound = aligned_alloc(_Alignof(struct bound), (count + 1u) * sizeof(*bound));
    struct aten_place *places = malloc((count + 1u) * sizeof(*places)), *to = places + plan->input_count;
    for (uint32_t i = 0; bound && places && i < plan->input_count; i++) {
        const uint64_t address = address_of(&plan->inputs[i], args, &bound[i]);
        const bool here = plan->inputs[i].kind != ATEN_BIND_TENSOR;
        places[i] = (struct aten_place){ here ? 0 : address, here ? &bound[i] : NULL, plan->inputs[i].bytes };
    }
    for (uint32_t i = 0; bound && places && i < plan->slot_count; i++)
        to[i] = (struct aten_place){ (uint64_t)(uintptr_t)outputs[plan->slots[i]].data, NULL, plan->slot_bytes[i] };
    HRESULT hr = !bound || !places ? E_OUTOFMEMORY
                                   : aten_remote_run(plan->device->remote, plan->op, &plan->persistent, places,
                                                     plan->input_count, to, plan->slot_count);
    free(bound);
    free(places);
    return hr;
}

bool aten_run(struct aten_plan *plan, const struct aten_arg *args, uint32_t arg_count,
              const struct aten_tensor *outputs, uint32_t output_count, char *message, size_t message_bytes)
{
    const uint32_t count = plan->input_count + plan->slot_count;
    uint64_t addresses[STACK_SLOTS];
    struct bound bound[STACK_SLOTS];
    HRESULT hr = E_OUTOFMEMORY;
    (void)arg_count, (void)output_count;
    if (!plan->op)
        return true;
    if (plan->device->remote) {
        hr = run_remote(plan, args, outputs);
    } else if (count <= STACK_SLOTS) {
        hr = run_here(plan, args, outputs, addresses, bound);
    } else {
        struct bound *memory = aligned_alloc(_Alignof(struct bound), count * 2 * sizeof(*memory));
        if (memory)
            hr = run_here(plan, args, outputs, (uint64_t *)(void *)(memory + count), memory);
        free(memory);
    }
    return SUCCEEDED(hr) || aten_say(message, message_bytes, hr, "the device failed");
}
