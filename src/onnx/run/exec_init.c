/* SPDX-License-Identifier: Apache-2.0 */
/* A program's weights in device memory: written once, by the operator's initializer. */
#include "onnx/run/exec_context.h"

#include <DirectMLGuids.h>

#include <stdlib.h>

/* `from` and `weights` by graph input, of the program's weights alone. */
struct initializing {
    IDMLOperatorInitializer *initializer;
    ID3D12Resource *temporary, **from;
    uint64_t temporary_bytes;
    DML_BUFFER_BINDING *weights;
};

static HRESULT run_initializer(struct onnx_exec *exec, const struct initializing *what, struct onnx_exec_state *c)
{
    DML_BUFFER_BINDING scratch = { what->temporary, 0, what->temporary_bytes },
                       to = { exec->persistent, 0, exec->persistent_bytes };
    DML_BINDING_DESC scratch_desc = { DML_BINDING_TYPE_BUFFER, &scratch };
    DML_BINDING_DESC output = { DML_BINDING_TYPE_BUFFER, &to };
    struct onnx_pool *pool = NULL;
    struct onnx_exec_context *context = NULL;
    if (what->temporary)
        IDMLBindingTable_BindTemporaryResource(c->table, &scratch_desc);
    if (exec->persistent)
        IDMLBindingTable_BindOutputs(c->table, 1, &output);
    HRESULT hr = onnx_exec_recording_reset(&c->all);
    if (FAILED(hr))
        return hr;
    onnx_weights_record(exec->program, what->from, what->weights, c->all.list);
    ID3D12GraphicsCommandList_SetDescriptorHeaps(c->all.list, 1, &c->heap);
    IDMLCommandRecorder_RecordDispatch(exec->device->recorder, (ID3D12CommandList *)c->all.list,
                                       (IDMLDispatchable *)what->initializer, c->table);
    hr = ID3D12GraphicsCommandList_Close(c->all.list);
    if (SUCCEEDED(hr))
        hr = onnx_pool_create(exec->device, 0, &pool);
    if (SUCCEEDED(hr))
        hr = onnx_exec_context_acquire(pool, &context);
    if (SUCCEEDED(hr)) {
        hr = onnx_exec_context_execute(context, c->all.list);
        onnx_exec_context_release(pool, context);
    }
    onnx_pool_destroy(pool);
    return hr;
}

static HRESULT initialize_with(struct onnx_exec *exec, IDMLOperatorInitializer *initializer)
{
    DML_BINDING_PROPERTIES needs = IDMLOperatorInitializer_GetBindingProperties(initializer);
    const uint32_t count = exec->program->weights ? exec->program->graph_input_count : 0;
    struct onnx_exec_state *c = calloc(1, sizeof(*c));
    struct initializing what = { initializer, NULL, calloc(count + 1u, sizeof(*what.from)), needs.TemporaryResourceSize,
                                 calloc(count + 1u, sizeof(*what.weights)) };
    uint32_t descriptors = exec->descriptors;
    HRESULT hr = c && what.from && what.weights ? S_OK : E_OUTOFMEMORY;
    exec->descriptors = needs.RequiredDescriptorCount;
    if (SUCCEEDED(hr) && needs.TemporaryResourceSize)
        what.temporary = onnx_buffer(exec->device, D3D12_HEAP_TYPE_DEFAULT, needs.TemporaryResourceSize, &hr);
    if (SUCCEEDED(hr))
        hr = onnx_weights_make(exec->device, exec->program, what.from, what.weights);
    if (SUCCEEDED(hr))
        hr = onnx_exec_state_open(exec, c, (IDMLDispatchable *)initializer);
    DML_BUFFER_ARRAY_BINDING array = { count, what.weights };
    DML_BINDING_DESC inputs = { DML_BINDING_TYPE_BUFFER_ARRAY, &array };
    if (SUCCEEDED(hr) && count)
        IDMLBindingTable_BindInputs(c->table, 1, &inputs);
    if (SUCCEEDED(hr))
        hr = run_initializer(exec, &what, c);
    onnx_exec_state_destroy(exec, c);
    onnx_release(what.temporary);
    for (uint32_t i = 0; what.from && what.weights && i < count; i++) {
        onnx_release(what.from[i]);
        onnx_release(what.weights[i].Buffer);
    }
    free(what.from);
    free(what.weights);
    exec->descriptors = descriptors;
    return hr;
}

HRESULT onnx_exec_initialize(struct onnx_exec *exec)
{
    IDMLCompiledOperator *op = exec->program->op;
    IDMLOperatorInitializer *initializer = NULL;
    if (!op)
        return S_OK;
    DML_BINDING_PROPERTIES needs = IDMLCompiledOperator_GetBindingProperties(op);
    exec->descriptors = needs.RequiredDescriptorCount;
    exec->persistent_bytes = needs.PersistentResourceSize;
    exec->temporary_bytes = needs.TemporaryResourceSize;
    HRESULT hr = IDMLDevice1_CreateOperatorInitializer(exec->device->dml, 1, &op, &IID_IDMLOperatorInitializer,
                                                       (void **)&initializer);
    if (SUCCEEDED(hr) && exec->persistent_bytes)
        exec->persistent = onnx_buffer(exec->device, D3D12_HEAP_TYPE_DEFAULT, exec->persistent_bytes, &hr);
    if (SUCCEEDED(hr))
        hr = initialize_with(exec, initializer);
    onnx_release(initializer);
    return hr;
}
