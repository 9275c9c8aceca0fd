/* SPDX-License-Identifier: Apache-2.0 */
/* IDMLCompiledOperator: a description or a graph, turned into a program for the device's adapter. */
#include "dml/dml.h"

#include "base/log.h"
#include "base/os.h"

#include <stdlib.h>

#include <DirectMLGuids.h>

#define FLAGS_KNOWN                                                                                                    \
    (DML_EXECUTION_FLAG_ALLOW_HALF_PRECISION_COMPUTATION | DML_EXECUTION_FLAG_DISABLE_META_COMMANDS |                  \
     DML_EXECUTION_FLAG_DESCRIPTORS_VOLATILE | ANYDML_EXECUTION_FLAG_HALF_PRECISION_FLOAT32 |                          \
     ANYDML_EXECUTION_FLAG_BYTE_ACTIVATIONS | ANYDML_EXECUTION_FLAG_PROPAGATE_NAN)

static void compiled_operator_destroy(struct com_object *object)
{
    struct dml_compiled_operator *op = (struct dml_compiled_operator *)object;
    dml_program_destroy(dml_parent(op), &op->program);
    if (op->op)
        com_unref(&op->op->base);
    base_aligned_release(atomic_load(&op->run_persistent));
    free(op->inputs);
    free(op->outputs);
    com_finish(object);
    free(op);
}

void dml_pageable_released(struct com_object *object)
{
    struct dml_device *device = dml_parent(object);
    device->d3d12->lpVtbl->ForgetOwner(device->d3d12, object);
}

static const IID *const compiled_operator_iids[] = {
    &IID_IDMLObject, &IID_IDMLDeviceChild, &IID_IDMLPageable, &IID_IDMLDispatchable, &IID_IDMLCompiledOperator, NULL,
};

static const struct com_class compiled_operator_class = { "IDMLCompiledOperator", compiled_operator_iids,
                                                          compiled_operator_destroy, NULL, dml_pageable_released };

static COM_STRUCT(DML_BINDING_PROPERTIES)
    dml_compiled_operator_GetBindingProperties(IDMLCompiledOperator *iface COM_RESULT(DML_BINDING_PROPERTIES))
{
    const struct dml_compiled_operator *op = (const struct dml_compiled_operator *)iface;
    COM_RETURN((DML_BINDING_PROPERTIES){ BASE_MAX(op->descriptor_count, 1), op->program.temp_bytes,
                                         op->program.persistent_bytes });
}

const IDMLCompiledOperatorVtbl dml_compiled_operator_vtbl = {
    COM_CHILD_METHODS,
    .GetBindingProperties = dml_compiled_operator_GetBindingProperties,
};

/* ---- slots ---- */

static struct dml_slot slot_of(const DML_BUFFER_TENSOR_DESC *tensor)
{
    if (!tensor)
        return (struct dml_slot){ .expect = DML_EXPECT_NOTHING };
    return (struct dml_slot){
        .expect = tensor->Flags & DML_TENSOR_FLAG_OWNED_BY_DML ? DML_EXPECT_OWNED : DML_EXPECT_BUFFER,
        .alignment = BASE_MAX(tensor->GuaranteedBaseOffsetAlignment, DML_MINIMUM_BUFFER_TENSOR_ALIGNMENT),
        .bytes = tensor->TotalTensorSizeInBytes,
    };
}

static bool allocate_slots(struct dml_compiled_operator *op, uint32_t inputs, uint32_t outputs)
{
    op->input_count = inputs;
    op->output_count = outputs;
    op->inputs = calloc((size_t)inputs + 1, sizeof(*op->inputs));
    op->outputs = calloc((size_t)outputs + 1, sizeof(*op->outputs));
    return op->inputs && op->outputs;
}

/* Numbers the descriptors once the program is compiled, and determines the use of each slot. */
static void place_descriptors(struct dml_compiled_operator *op)
{
    for (uint32_t i = 0; i < op->input_count; i++) {
        op->inputs[i].used_bytes = graph_aliases_bytes_read(op->program.aliases, i);
        if (op->inputs[i].expect == DML_EXPECT_BUFFER)
            op->inputs[i].descriptor = op->bound_inputs++;
        else if (op->inputs[i].expect == DML_EXPECT_OWNED)
            op->inputs[i].descriptor = op->owned_count++;
    }
    for (uint32_t i = 0; i < op->output_count; i++) {
        op->outputs[i].used_bytes = graph_aliases_bytes_written(op->program.aliases, i);
        if (op->outputs[i].expect == DML_EXPECT_BUFFER)
            op->outputs[i].descriptor = op->bound_inputs + op->bound_outputs++;
    }
    op->descriptor_count = op->bound_inputs + op->bound_outputs;
    op->temp_descriptor = op->program.temp_bytes ? op->descriptor_count++ : GRAPH_NONE;
    op->persistent_descriptor = op->program.persistent_bytes ? op->descriptor_count++ : GRAPH_NONE;
    op->needs_initialization = op->program.persistent_bytes || op->owned_count;
}

/* ---- programs ---- */

static HRESULT compile_graph(struct dml_compiled_operator *op, struct graph *graph, char *error)
{
    struct dml_device *device = dml_parent(op);
    const bool late = device->records_at_once && dml_compiled_volatile(op);
    HRESULT hr = dml_program_create(device, graph, op->what, op->id, late, &op->program, error);
    if (SUCCEEDED(hr))
        place_descriptors(op);
    return hr;
}

/* What ANYDML_HALF_PRECISION adds to every program's flags. */
static uint32_t flags_of_environment(void)
{
    static _Atomic int known; /* 0: not yet, 1: off, 2: on */
    if (!atomic_load(&known)) {
        const char *wanted = getenv("ANYDML_HALF_PRECISION");
        bool on = wanted && !strcmp(wanted, "on"), off = !wanted || !*wanted || !strcmp(wanted, "off");
        int before = 0;
        if (atomic_compare_exchange_strong(&known, &before, on ? 2 : 1) && !on && !off)
            base_log(BASE_LOG_WARN, "ANYDML_HALF_PRECISION is \"%s\", must be on or off", wanted);
    }
    return atomic_load(&known) == 2 ? ANYDML_EXECUTION_FLAG_HALF_PRECISION_FLOAT32 : 0;
}

static struct dml_compiled_operator *compiled_operator_new(struct dml_device *device, const char *what, uint32_t flags)
{
    static _Atomic uint64_t last_id;
    struct dml_compiled_operator *op = calloc(1, sizeof(*op));
    if (!op)
        return NULL;
    com_init(&op->pageable.base, &dml_compiled_operator_vtbl, &compiled_operator_class, &device->base);
    atomic_init(&op->pageable.residency, 1);
    atomic_init(&op->initialized, 0);
    atomic_init(&op->warned, false);
    atomic_init(&op->run_persistent, NULL);
    op->run.ops = &dml_run_ops;
    op->id = atomic_fetch_add(&last_id, 1) + 1;
    op->what = what;
    op->flags = flags | flags_of_environment() | (device->adapter->kind == ADAPTER_SPIRV ? GRAPH_FLAG_NO_PANELS : 0);
    return op;
}

static HRESULT flags_check(struct dml_device *device, const char *method, DML_EXECUTION_FLAGS flags)
{
    if (!((unsigned)flags & ~(unsigned)FLAGS_KNOWN))
        return S_OK;
    return dml_fail(device, NULL, E_INVALIDARG, "%s: flags 0x%x has bits other than 0x%x", method, (unsigned)flags,
                    (unsigned)FLAGS_KNOWN);
}

/* Reports the reason and destroys the operator. */
static HRESULT compile_failed(struct dml_device *device, const char *method, struct dml_compiled_operator *op,
                              HRESULT hr, const char *error)
{
    bool named = !strncmp(error, op->what, strlen(op->what));
    const char *why = *error ? error : hr == E_OUTOFMEMORY ? "no memory" : "cannot be compiled";
    dml_error(device, NULL, "%s: %s%s%s (0x%08x)", method, named ? "" : op->what, named ? "" : ": ", why, (unsigned)hr);
    com_Release(op);
    return hr;
}

/* ---- IDMLDevice::CompileOperator ---- */

/* The object's name, for traces; without memory it stays unnamed. */
static bool name_node(struct graph *graph, uint32_t node, struct dml_operator *op)
{
    char name[128];
    com_object_name(&op->base, name, sizeof(name));
    graph->node_names[node] = strcmp(name, "<unnamed>") != 0 ? base_arena_strdup(&graph->arena, name) : NULL;
    return graph->node_names[node] != NULL;
}

static HRESULT compile_operator(struct dml_compiled_operator *op, struct dml_operator *source, char *error)
{
    const struct schema_desc *desc = source->desc;
    struct graph graph;
    com_ref(&source->base);
    op->op = source;
    if (!allocate_slots(op, desc->input_count, desc->output_count))
        return E_OUTOFMEMORY;
    for (uint32_t i = 0; i < desc->input_count; i++)
        op->inputs[i] = slot_of(desc->inputs[i]);
    for (uint32_t i = 0; i < desc->output_count; i++)
        op->outputs[i] = slot_of(desc->outputs[i]);
    HRESULT hr = graph_from_operator(&graph, desc, op->flags, error);
    if (FAILED(hr))
        return hr;
    graph.node_names = base_arena_alloc(&graph.arena, sizeof(*graph.node_names));
    if (graph.node_names && name_node(&graph, 0, source))
        graph.named_nodes = 1;
    hr = compile_graph(op, &graph, error);
    graph_finish(&graph);
    return hr;
}

HRESULT dml_device_CompileOperator(DML_DEVICE, IDMLOperator *op_iface, DML_EXECUTION_FLAGS flags, REFIID riid,
                                   void **out)
{
    static const char method[] = "IDMLDevice::CompileOperator";
    struct dml_device *device = dml_device_from(iface);
    char error[DML_ERROR_BYTES] = "";
    HRESULT hr = dml_create_begin(device, out);
    if (FAILED(hr))
        return hr;
    struct dml_operator *source = com_child(device, op_iface, &dml_operator_vtbl);
    if (!source)
        return dml_fail(device, NULL, E_INVALIDARG, "%s: op is %s", method,
                        op_iface ? "no operator of this device" : "NULL");
    hr = flags_check(device, method, flags);
    if (FAILED(hr))
        return hr;
    struct dml_compiled_operator *op = compiled_operator_new(device, source->desc->op->name, flags);
    if (!op)
        return E_OUTOFMEMORY;
    hr = compile_operator(op, source, error);
    if (FAILED(hr))
        return compile_failed(device, method, op, hr, error);
    return com_return(&op->pageable.base, riid, out);
}

/* ---- IDMLDevice1::CompileGraph ---- */

static HRESULT compile_checked_graph(struct dml_compiled_operator *op, const DML_GRAPH_DESC *desc,
                                     const struct dml_graph *checked, const struct dml_listener *listener, char *error)
{
    struct graph graph;
    if (!allocate_slots(op, desc->InputCount, desc->OutputCount))
        return E_OUTOFMEMORY;
    memcpy(op->inputs, checked->inputs, desc->InputCount * sizeof(*op->inputs));
    memcpy(op->outputs, checked->outputs, desc->OutputCount * sizeof(*op->outputs));
    HRESULT hr = graph_from_desc(&graph, desc, checked->nodes, op->flags, error);
    if (FAILED(hr))
        return hr;
    for (uint32_t i = 0; i < desc->NodeCount; i++) {
        const DML_OPERATOR_GRAPH_NODE_DESC *node = desc->Nodes[i].Desc;
        if (checked->nodes[i] && !graph.node_names[i] &&
            name_node(&graph, i, (struct dml_operator *)(void *)node->Operator))
            graph.named_nodes = desc->NodeCount;
    }
    graph.runs_often = true;
    graph.constant_done = listener->constant_done;
    graph.constant_part = listener->constant_part;
    graph.constant_context = listener->context;
    hr = compile_graph(op, &graph, error);
    graph_finish(&graph);
    return hr;
}

HRESULT dml_device_CompileGraph(DML_DEVICE, const DML_GRAPH_DESC *desc, DML_EXECUTION_FLAGS flags, REFIID riid,
                                void **out)
{
    return dml_compile_graph(dml_device_from(iface), desc, flags, &(struct dml_listener){ NULL, NULL, NULL }, riid,
                             out);
}

HRESULT dml_compile_graph(struct dml_device *device, const DML_GRAPH_DESC *desc, DML_EXECUTION_FLAGS flags,
                          const struct dml_listener *listener, REFIID riid, void **out)
{
    static const char method[] = "IDMLDevice1::CompileGraph";
    struct dml_compiled_operator *op = NULL;
    struct dml_graph checked;
    char error[DML_ERROR_BYTES] = "";
    HRESULT hr = dml_create_begin(device, out);
    if (FAILED(hr))
        return hr;
    if (!desc)
        return dml_fail(device, NULL, E_INVALIDARG, "%s: desc is NULL", method);
    hr = flags_check(device, method, flags);
    if (FAILED(hr))
        return hr;
    hr = dml_graph_check(device, desc, &checked);
    if (SUCCEEDED(hr)) {
        op = compiled_operator_new(device, "graph", flags);
        hr = op ? compile_checked_graph(op, desc, &checked, listener, error) : E_OUTOFMEMORY;
    }
    dml_graph_finish(&checked);
    if (op && FAILED(hr))
        return compile_failed(device, method, op, hr, error);
    return op ? com_return(&op->pageable.base, riid, out) : hr;
}
