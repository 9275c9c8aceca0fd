/* SPDX-License-Identifier: Apache-2.0 */
/* Creation of plans from calls, and their execution. */
#include "plan.h"

#include "device.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- arguments as values ---- */

static bool operand_of(struct aten_graph *g, const struct aten_arg *arg, uint32_t at, struct aten_operand *out)
{
    const bool list = arg->kind == ATEN_TENSORS;
    *out = (struct aten_operand){ .kind = arg->kind, .count = arg->count };
    out->integers = arg->integers; /* copies any pointer of the union */
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
            return aten_fail(g, "result %u has %u dimensions and type %d, must have at most %u and a supported type", i,
                             out->rank, out->type, ATEN_RANK_MAX);
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
    if (plan->fixed)
        pthread_rwlock_destroy(&plan->fixed->lock);
    free(plan->fixed);
    free(plan->failure);
    free(plan->inputs);
    free(plan->outputs);
    free(plan->slots);
    free(plan->bounds);
    free(plan->key);
    free(plan);
}

void aten_release(struct aten_plan *plan)
{
    if (plan && atomic_fetch_sub(&plan->refs, 1) == 1)
        aten_plan_destroy(plan);
}

/* The layout of the result, without data: the requested one, or the value's. */
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

static bool fixed_new(struct aten_plan *plan)
{
    bool any = false;
    for (uint32_t i = 0; i < plan->input_count; i++)
        any = any || plan->inputs[i].fixed;
    if (!any)
        return true;
    plan->fixed = calloc(1, sizeof(*plan->fixed) + plan->input_count * sizeof(*plan->fixed->seen));
    if (plan->fixed && pthread_rwlock_init(&plan->fixed->lock, NULL)) {
        free(plan->fixed);
        plan->fixed = NULL;
    }
    return plan->fixed != NULL;
}

bool aten_plan_has_fixed(const struct aten_plan *plan)
{
    return plan->fixed != NULL;
}

uint64_t aten_plan_packed(const struct aten_plan *plan)
{
    return plan->fixed ? atomic_load(&plan->fixed->packed) : 0;
}

/* Host memory of compiled operators: 18 KiB for one, 60 for lists of 8, 130 to 200 for lists of 32. */
#define PLAN_BYTES (16u << 10)
#define NODE_BYTES (4u << 10)

bool aten_plan_fill(struct aten_plan *plan, struct aten_graph *g, struct aten_value **outputs,
                    const struct aten_tensor *layouts, uint32_t output_count)
{
    plan->outputs = calloc(output_count + 1u, sizeof(*plan->outputs));
    plan->slots = calloc(output_count + 1u, sizeof(*plan->slots));
    if (!plan->outputs || !plan->slots)
        return aten_fail(g, "out of memory");
    if (!aten_compile_graph(g, outputs, output_count, plan->slots, &plan->slot_count, &plan->op))
        return false;
    plan->output_count = output_count;
    for (uint32_t i = 0; i < output_count; i++) {
        plan->outputs[i] = layouts ? layouts[i] : layout_of(outputs[i]);
        plan->outputs[i].data = NULL;
    }
    plan->inputs = calloc(g->emit.input_count + 1u, sizeof(*plan->inputs));
    if (!plan->inputs)
        return aten_fail(g, "out of memory");
    if (g->emit.input_count)
        memcpy(plan->inputs, g->inputs, g->emit.input_count * sizeof(*g->inputs));
    plan->input_count = g->emit.input_count;
    for (uint32_t i = 0; i < plan->input_count; i++)
        plan->number_count += plan->inputs[i].kind != ATEN_BIND_TENSOR;
    plan->draws = g->draws;
    plan->bytes =
        PLAN_BYTES + (uint64_t)g->emit.node_count * NODE_BYTES + g->arena.total; /* the arena holds constants */
    return fixed_new(plan) || aten_fail(g, "out of memory");
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

/* Device memory cannot be read by the host. */
static bool keep_bounds(struct aten_plan *plan, const struct aten_graph *g)
{
    if (!g->bound_count || plan->device->remote)
        return true;
    plan->bounds = malloc(g->bound_count * sizeof(*plan->bounds));
    if (!plan->bounds)
        return false;
    memcpy(plan->bounds, g->bounds, g->bound_count * sizeof(*plan->bounds));
    plan->bound_count = g->bound_count;
    return true;
}

/* Whether every number is an input, so that the plan serves calls with other numbers, too. */
static bool all_live(const struct aten_graph *g, const struct aten_call *call)
{
    for (uint32_t i = 0; i < call->arg_count; i++) {
        const enum aten_kind kind = call->args[i].kind;
        const bool number = kind == ATEN_INT || kind == ATEN_REAL || kind == ATEN_BOOL || kind == ATEN_NUMBERS;
        if (number && (i > 63 || !(g->numbers >> i & 1)))
            return false;
    }
    return !g->baked;
}

/* A plan with one reference; if compilation failed, it holds the reason. NULL: out of memory, or numbers cannot be
 * live. */
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
              aten_plan_fill(plan, &g, results, call->outputs, call->output_count) && keep_bounds(plan, &g);
    AnydmlQuiet(before);
    if (!ok && !live)
        plan->failure = strdup(g.failed ? g.message : "out of memory");
    aten_graph_finish(&g);
    if (ok || plan->failure)
        return plan;
    aten_release(plan);
    return NULL;
}

/* Whether results are to be allocated. Results of the functional overload are, even if it writes to arguments as well
 * (batch normalisation). */
static bool has_fresh(const struct aten_tensor *outputs, uint32_t count)
{
    bool data = false, fresh = false;
    for (uint32_t i = 0; i < count; i++) {
        bool elements = outputs[i].type != ATEN_ABSENT;
        for (uint32_t d = 0; elements && d < outputs[i].rank; d++)
            elements = outputs[i].sizes[d] != 0;
        data = data || outputs[i].data;
        fresh = fresh || (elements && !outputs[i].data);
    }
    return fresh || !data;
}

struct aten_plan *aten_compile(struct aten_device *device, const struct aten_op *op, const struct aten_arg *args,
                               uint32_t arg_count, const struct aten_tensor *outputs, uint32_t output_count,
                               char message[ATEN_MESSAGE_BYTES])
{
    const struct aten_call call = { device, op, args, arg_count, outputs, output_count };
    struct aten_key key;
    aten_key_make(&key, &call, !has_fresh(outputs, output_count));
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

/* DirectML's state of a Philox generator: a 128-bit counter of blocks of four numbers, and the key. */
static void store_generator(const int64_t *seed_offset, struct aten_number *out)
{
    uint64_t seed = (uint64_t)seed_offset[0], block = (uint64_t)seed_offset[1] / 4;
    out->words[0] = (uint32_t)block;
    out->words[1] = (uint32_t)(block >> 32);
    out->words[2] = out->words[3] = 0;
    out->words[4] = (uint32_t)seed;
    out->words[5] = (uint32_t)(seed >> 32);
}

static void store_number(const struct aten_binding *binding, const struct aten_arg *arg, struct aten_number *out)
{
    if (arg->kind == ATEN_NUMBERS)
        arg = &arg->numbers[binding->element];
    if (binding->kind == ATEN_BIND_GENERATOR)
        store_generator(arg->integers, out);
    else if (arg->kind == ATEN_REAL)
        aten_store_real(binding->type, arg->real, out->words);
    else
        aten_store_int(binding->type, arg->integer, out->words);
}

/* Whether the fixed inputs equal the packed ones; `note`: records them as packed. */
static bool fixed_same(const struct aten_plan *plan, const uint64_t *addresses, const uint64_t *versions, bool note)
{
    bool same = true;
    for (uint32_t i = 0; i < plan->input_count; i++) {
        if (!plan->inputs[i].fixed)
            continue;
        const uint64_t version = versions ? versions[plan->inputs[i].argument] : 0;
        same =
            same && version && plan->fixed->seen[i].version == version && plan->fixed->seen[i].address == addresses[i];
        if (note) {
            plan->fixed->seen[i].address = addresses[i];
            plan->fixed->seen[i].version = version;
        }
    }
    return same;
}

static HRESULT run_at(const struct aten_plan *plan, const uint64_t *addresses)
{
    return AnydmlRunOperator(plan->device->queue, plan->op, plan->input_count, addresses, plan->slot_count,
                             addresses + plan->input_count);
}

static HRESULT run_with_fixed(const struct aten_plan *plan, uint64_t *addresses, const uint64_t *versions)
{
    pthread_rwlock_rdlock(&plan->fixed->lock);
    bool same = fixed_same(plan, addresses, versions, false);
    if (!same) {
        pthread_rwlock_unlock(&plan->fixed->lock);
        pthread_rwlock_wrlock(&plan->fixed->lock);
        same = fixed_same(plan, addresses, versions, true);
        atomic_fetch_add(&plan->fixed->packed, !same);
    }
    for (uint32_t i = 0; same && i < plan->input_count; i++)
        if (plan->inputs[i].fixed)
            addresses[i] = 0; /* the packed copy is used */
    HRESULT hr = run_at(plan, addresses);
    for (uint32_t i = 0; FAILED(hr) && !same && i < plan->input_count; i++)
        plan->fixed->seen[i].version = 0;
    pthread_rwlock_unlock(&plan->fixed->lock);
    return hr;
}

/* `address` is the address of `numbers` for the device. */
static HRESULT run_with(const struct aten_plan *plan, const struct aten_arg *args, const struct aten_tensor *outputs,
                        const uint64_t *versions, uint64_t *addresses, struct aten_number *numbers, uint64_t address)
{
    uint64_t *to = addresses + plan->input_count;
    for (uint32_t i = 0; i < plan->input_count; i++) {
        const struct aten_binding *binding = &plan->inputs[i];
        const struct aten_arg *arg = &args[binding->argument];
        if (binding->kind == ATEN_BIND_TENSOR) {
            addresses[i] = (uint64_t)(uintptr_t)arg->tensors[binding->element].data;
            continue;
        }
        store_number(binding, arg, numbers++);
        addresses[i] = address;
        address += sizeof(*numbers);
    }
    for (uint32_t i = 0; i < plan->slot_count; i++)
        to[i] = (uint64_t)(uintptr_t)outputs[plan->slots[i]].data;
    return plan->fixed ? run_with_fixed(plan, addresses, versions) : run_at(plan, addresses);
}

static HRESULT run(const struct aten_plan *plan, const struct aten_arg *args, const struct aten_tensor *outputs,
                   const uint64_t *versions, uint64_t *addresses, struct aten_number *here)
{
    struct aten_remote *remote = plan->device->remote;
    struct aten_number *numbers = NULL;
    uint64_t address = 0;
    if (!remote)
        return run_with(plan, args, outputs, versions, addresses, here, (uint64_t)(uintptr_t)here);
    HRESULT hr = S_OK;
    if (plan->number_count)
        hr = aten_remote_begin_numbers(remote, plan->number_count, &numbers, &address);
    if (FAILED(hr))
        return hr;
    hr = run_with(plan, args, outputs, versions, addresses, numbers, address);
    if (plan->number_count)
        aten_remote_end_numbers(remote);
    aten_remote_note_run(remote);
    return hr;
}

bool aten_run_fixed(struct aten_plan *plan, const struct aten_arg *args, const uint64_t *versions,
                    const struct aten_tensor *outputs, char *message, size_t message_bytes)
{
    const uint32_t count = plan->input_count + plan->slot_count;
    uint64_t addresses[STACK_SLOTS];
    struct aten_number numbers[STACK_SLOTS];
    HRESULT hr = E_OUTOFMEMORY;
    if (!plan->op)
        return true;
    if (count <= STACK_SLOTS) {
        hr = run(plan, args, outputs, versions, addresses, numbers);
    } else {
        struct aten_number *memory = aligned_alloc(_Alignof(struct aten_number), count * 2 * sizeof(*memory));
        if (memory)
            hr = run(plan, args, outputs, versions, (uint64_t *)(void *)(memory + count), memory);
        free(memory);
    }
    return SUCCEEDED(hr) || aten_say(message, message_bytes, hr, "the device failed");
}

bool aten_run(struct aten_plan *plan, const struct aten_arg *args, uint32_t arg_count,
              const struct aten_tensor *outputs, uint32_t output_count, char *message, size_t message_bytes)
{
    (void)arg_count, (void)output_count;
    return aten_run_fixed(plan, args, NULL, outputs, message, message_bytes);
}
