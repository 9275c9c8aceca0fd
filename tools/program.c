#include "tools/program.h"

#include "tools/text.h"

#include <DirectMLGuids.h>

#include <stdlib.h>

bool tools_model_load(const char *path, struct onnx_model **out, struct tools_error *error)
{
    struct onnx_error why = { "" };
    HRESULT hr = onnx_model_load(path, out, &why);
    if (SUCCEEDED(hr))
        return true;
    *out = NULL;
    return tools_fail(error, hr == E_OUTOFMEMORY ? TOOLS_RUNTIME : TOOLS_USAGE, "%s: %s", path,
                      why.text[0] ? why.text : tools_hresult_name(hr));
}

bool tools_compile(struct tools_session *session, const struct onnx_model *model, struct onnx_input *inputs,
                   DML_EXECUTION_FLAGS flags, struct onnx_program **out, double *ms, struct tools_error *error)
{
    struct onnx_error why = { "" };
    double start = tools_now_ms();
    HRESULT hr = onnx_compile(model, inputs, session->dml, flags, out, &why);
    *ms = tools_now_ms() - start;
    if (SUCCEEDED(hr))
        return true;
    *out = NULL;
    bool device = hr == E_OUTOFMEMORY || FAILED(ID3D12Device_GetDeviceRemovedReason(session->device));
    return tools_fail(error, device ? TOOLS_RUNTIME : TOOLS_USAGE, "%s",
                      why.text[0] ? why.text : tools_hresult_name(hr));
}

/* A table for `dispatchable` over the program's whole heap. */
static bool program_table(struct tools_program *p, IDMLDispatchable *dispatchable, UINT descriptors,
                          IDMLBindingTable **out, struct tools_error *error)
{
    DML_BINDING_TABLE_DESC desc = {
        .Dispatchable = dispatchable,
        .CPUDescriptorHandle = ID3D12DescriptorHeap_GetCPUDescriptorHandleForHeapStart(p->heap),
        .GPUDescriptorHandle = ID3D12DescriptorHeap_GetGPUDescriptorHandleForHeapStart(p->heap),
        .SizeInDescriptors = descriptors,
    };
    return tools_check(error,
                       IDMLDevice1_CreateBindingTable(p->session->dml, &desc, &IID_IDMLBindingTable, (void **)out),
                       "creating the binding table");
}

static bool program_heap(struct tools_program *p, UINT descriptors, struct tools_error *error)
{
    D3D12_DESCRIPTOR_HEAP_DESC desc = {
        .Type = D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV,
        .NumDescriptors = BASE_MAX(descriptors, 1),
        .Flags = D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE,
    };
    return tools_check(
        error,
        ID3D12Device_CreateDescriptorHeap(p->session->device, &desc, &IID_ID3D12DescriptorHeap, (void **)&p->heap),
        "creating the descriptor heap");
}

/* All weights in one upload buffer, each at a multiple of 256; `bindings` has one entry per graph input. Initializers
 * read upload memory, so nothing is copied on the device. */
static ID3D12Resource *program_upload(struct tools_program *p, DML_BUFFER_BINDING *bindings, struct tools_error *error)
{
    const struct onnx_program *onnx = p->onnx;
    uint64_t bytes = 0;
    char *mapped = NULL;
    D3D12_RANGE none = { 0, 0 };
    for (uint32_t i = 0; i < onnx->weight_count; i++)
        bytes += base_align_up(onnx->weights[i].bytes, 256);
    ID3D12Resource *upload = tools_buffer_create(p->session, D3D12_HEAP_TYPE_UPLOAD, bytes, error);
    if (!upload)
        return NULL;
    if (!tools_check(error, ID3D12Resource_Map(upload, 0, &none, (void **)&mapped), "mapping the weights")) {
        tools_release(upload);
        return NULL;
    }
    uint64_t offset = 0;
    for (uint32_t i = 0; i < onnx->weight_count; i++) {
        const struct onnx_weight *weight = &onnx->weights[i];
        memcpy(mapped + offset, weight->data, weight->bytes);
        bindings[weight->slot] = (DML_BUFFER_BINDING){ upload, offset, base_align_up(weight->bytes, 4) };
        offset += base_align_up(weight->bytes, 256);
    }
    ID3D12Resource_Unmap(upload, 0, NULL);
    return upload;
}

static void program_record_initializer(struct tools_program *p, IDMLOperatorInitializer *initializer,
                                       IDMLBindingTable *table, ID3D12Resource *temporary, uint64_t temporary_bytes,
                                       const DML_BUFFER_BINDING *weights)
{
    struct tools_session *s = p->session;
    DML_BUFFER_ARRAY_BINDING array = { p->onnx->graph_input_count, weights };
    DML_BINDING_DESC input = { DML_BINDING_TYPE_BUFFER_ARRAY, &array };
    DML_BUFFER_BINDING scratch = { temporary, 0, temporary_bytes };
    DML_BINDING_DESC scratch_desc = { DML_BINDING_TYPE_BUFFER, &scratch };
    DML_BUFFER_BINDING persistent = { p->persistent, 0, p->persistent_bytes };
    DML_BINDING_DESC persistent_desc = { DML_BINDING_TYPE_BUFFER, &persistent };
    if (p->onnx->weight_count)
        IDMLBindingTable_BindInputs(table, 1, &input);
    if (temporary)
        IDMLBindingTable_BindTemporaryResource(table, &scratch_desc);
    if (p->persistent)
        IDMLBindingTable_BindOutputs(table, 1, &persistent_desc);
    ID3D12GraphicsCommandList_SetDescriptorHeaps(s->list, 1, &p->heap);
    IDMLCommandRecorder_RecordDispatch(s->recorder, (ID3D12CommandList *)s->list, (IDMLDispatchable *)initializer,
                                       table);
}

static bool program_run_initializer(struct tools_program *p, IDMLOperatorInitializer *initializer,
                                    struct tools_error *error)
{
    DML_BINDING_PROPERTIES needs = IDMLOperatorInitializer_GetBindingProperties(initializer);
    DML_BUFFER_BINDING *weights = calloc(p->onnx->graph_input_count + 1, sizeof(*weights));
    ID3D12Resource *upload = NULL, *temporary = NULL;
    IDMLBindingTable *table = NULL;
    bool ok = weights || tools_fail_memory(error);
    if (ok && p->onnx->weight_count)
        ok = (upload = program_upload(p, weights, error)) != NULL;
    if (ok && needs.TemporaryResourceSize)
        ok = (temporary =
                  tools_buffer_create(p->session, D3D12_HEAP_TYPE_DEFAULT, needs.TemporaryResourceSize, error)) != NULL;
    ok = ok && program_table(p, (IDMLDispatchable *)initializer, needs.RequiredDescriptorCount, &table, error);
    if (ok) {
        program_record_initializer(p, initializer, table, temporary, needs.TemporaryResourceSize, weights);
        ok = tools_session_flush(p->session, error);
    }
    tools_release(table);
    tools_release(temporary);
    tools_release(upload);
    free(weights);
    return ok;
}

/* Makes the heap (large enough for the initializer and the operator), the persistent buffer, and fills it. */
static bool program_initialize(struct tools_program *p, struct tools_error *error)
{
    IDMLCompiledOperator *op = p->onnx->op;
    IDMLOperatorInitializer *initializer = NULL;
    double start = tools_now_ms();
    HRESULT hr = IDMLDevice1_CreateOperatorInitializer(p->session->dml, 1, &op, &IID_IDMLOperatorInitializer,
                                                       (void **)&initializer);
    if (!tools_check(error, hr, "creating the initializer"))
        return false;
    DML_BINDING_PROPERTIES own = IDMLOperatorInitializer_GetBindingProperties(initializer);
    DML_BINDING_PROPERTIES needs = IDMLCompiledOperator_GetBindingProperties(op);
    p->persistent_bytes = needs.PersistentResourceSize;
    p->temporary_bytes = needs.TemporaryResourceSize;
    bool ok = program_heap(p, BASE_MAX(own.RequiredDescriptorCount, needs.RequiredDescriptorCount), error);
    if (ok && p->persistent_bytes)
        ok = (p->persistent = tools_buffer_create(p->session, D3D12_HEAP_TYPE_DEFAULT, p->persistent_bytes, error)) !=
             NULL;
    ok = ok && program_run_initializer(p, initializer, error);
    tools_release(initializer);
    if (ok && p->temporary_bytes)
        ok = (p->temporary = tools_buffer_create(p->session, D3D12_HEAP_TYPE_DEFAULT, p->temporary_bytes, error)) !=
             NULL;
    p->initialize_ms = tools_now_ms() - start;
    return ok && program_table(p, (IDMLDispatchable *)op, needs.RequiredDescriptorCount, &p->table, error);
}

/* A buffer for every slot that a port names; ports may share one. */
static bool program_buffers(struct tools_program *p, const struct onnx_port *ports, uint32_t port_count,
                            ID3D12Resource **slots, struct tools_error *error)
{
    for (uint32_t i = 0; i < port_count; i++) {
        if (ports[i].constant || slots[ports[i].slot])
            continue;
        ID3D12Resource *buffer = tools_buffer_create(p->session, D3D12_HEAP_TYPE_DEFAULT, ports[i].bytes, error);
        if (!buffer)
            return false;
        slots[ports[i].slot] = buffer;
    }
    return true;
}

/* What BindInputs and BindOutputs take; slots without a buffer (weights) bind nothing. */
static void program_bindings(ID3D12Resource *const *slots, uint32_t count, DML_BUFFER_BINDING *buffers,
                             DML_BINDING_DESC *descs)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!slots[i])
            continue;
        D3D12_RESOURCE_DESC about = ID3D12Resource_GetDesc(slots[i]);
        buffers[i] = (DML_BUFFER_BINDING){ slots[i], 0, about.Width };
        descs[i] = (DML_BINDING_DESC){ DML_BINDING_TYPE_BUFFER, &buffers[i] };
    }
}

static bool program_bind(struct tools_program *p, struct tools_error *error)
{
    uint32_t in = p->onnx->graph_input_count, out = p->onnx->graph_output_count;
    DML_BUFFER_BINDING *buffers = calloc(in + out + 1, sizeof(*buffers));
    DML_BINDING_DESC *descs = calloc(in + out + 1, sizeof(*descs));
    bool ok = (buffers && descs) || tools_fail_memory(error);
    if (ok) {
        DML_BUFFER_BINDING temporary = { p->temporary, 0, p->temporary_bytes };
        DML_BUFFER_BINDING persistent = { p->persistent, 0, p->persistent_bytes };
        DML_BINDING_DESC temporary_desc = { DML_BINDING_TYPE_BUFFER, &temporary };
        DML_BINDING_DESC persistent_desc = { DML_BINDING_TYPE_BUFFER, &persistent };
        program_bindings(p->inputs, in, buffers, descs);
        program_bindings(p->outputs, out, buffers + in, descs + in);
        IDMLBindingTable_BindInputs(p->table, in, descs);
        IDMLBindingTable_BindOutputs(p->table, out, descs + in);
        if (p->temporary)
            IDMLBindingTable_BindTemporaryResource(p->table, &temporary_desc);
        if (p->persistent)
            IDMLBindingTable_BindPersistentResource(p->table, &persistent_desc);
    }
    free(buffers);
    free(descs);
    return ok;
}

static bool program_clock(struct tools_program *p, struct tools_error *error)
{
    D3D12_QUERY_HEAP_DESC desc = { .Type = D3D12_QUERY_HEAP_TYPE_TIMESTAMP, .Count = 2 };
    HRESULT hr = ID3D12Device_CreateQueryHeap(p->session->device, &desc, &IID_ID3D12QueryHeap, (void **)&p->queries);
    if (SUCCEEDED(hr))
        hr = ID3D12CommandQueue_GetTimestampFrequency(p->session->queue, &p->ticks_per_second);
    if (!tools_check(error, hr, "creating the timestamps"))
        return false;
    p->ticks = tools_buffer_create(p->session, D3D12_HEAP_TYPE_READBACK, 2 * sizeof(uint64_t), error);
    return p->ticks != NULL;
}

static bool program_record(struct tools_program *p, struct tools_error *error)
{
    struct tools_session *s = p->session;
    const D3D12_COMMAND_LIST_TYPE type = D3D12_COMMAND_LIST_TYPE_COMPUTE;
    HRESULT hr =
        ID3D12Device_CreateCommandAllocator(s->device, type, &IID_ID3D12CommandAllocator, (void **)&p->allocator);
    if (SUCCEEDED(hr))
        hr = ID3D12Device_CreateCommandList(s->device, 0, type, p->allocator, NULL, &IID_ID3D12GraphicsCommandList,
                                            (void **)&p->list);
    if (!tools_check(error, hr, "creating the command list"))
        return false;
    ID3D12GraphicsCommandList_SetDescriptorHeaps(p->list, 1, &p->heap);
    ID3D12GraphicsCommandList_EndQuery(p->list, p->queries, D3D12_QUERY_TYPE_TIMESTAMP, 0);
    IDMLCommandRecorder_RecordDispatch(s->recorder, (ID3D12CommandList *)p->list, (IDMLDispatchable *)p->onnx->op,
                                       p->table);
    ID3D12GraphicsCommandList_EndQuery(p->list, p->queries, D3D12_QUERY_TYPE_TIMESTAMP, 1);
    ID3D12GraphicsCommandList_ResolveQueryData(p->list, p->queries, D3D12_QUERY_TYPE_TIMESTAMP, 0, 2, p->ticks, 0);
    return tools_check(error, ID3D12GraphicsCommandList_Close(p->list), "recording the model");
}

bool tools_program_create(struct tools_session *session, const struct onnx_program *onnx, struct tools_program **out,
                          struct tools_error *error)
{
    struct tools_program *p = calloc(1, sizeof(*p));
    *out = NULL;
    if (!p)
        return tools_fail_memory(error);
    p->session = session;
    p->onnx = onnx;
    p->inputs = calloc(onnx->graph_input_count + 1, sizeof(ID3D12Resource *));
    p->outputs = calloc(onnx->graph_output_count + 1, sizeof(ID3D12Resource *));
    bool ok = (p->inputs && p->outputs) || tools_fail_memory(error);
    if (ok && onnx->op) /* else every output is known already */
        ok = program_initialize(p, error) && program_buffers(p, onnx->inputs, onnx->input_count, p->inputs, error) &&
             program_buffers(p, onnx->outputs, onnx->output_count, p->outputs, error) && program_bind(p, error) &&
             program_clock(p, error) && program_record(p, error);
    if (ok)
        *out = p;
    else
        tools_program_destroy(p);
    return ok;
}

void tools_program_destroy(struct tools_program *p)
{
    if (!p)
        return;
    tools_release(p->list);
    tools_release(p->allocator);
    tools_release(p->ticks);
    tools_release(p->queries);
    tools_release(p->table);
    tools_release(p->heap);
    for (uint32_t i = 0; p->inputs && i < p->onnx->graph_input_count; i++)
        tools_release(p->inputs[i]);
    for (uint32_t i = 0; p->outputs && i < p->onnx->graph_output_count; i++)
        tools_release(p->outputs[i]);
    tools_release(p->temporary);
    tools_release(p->persistent);
    free(p->inputs);
    free(p->outputs);
    free(p);
}

bool tools_program_set_input(struct tools_program *p, uint32_t index, const struct tools_array *array,
                             struct tools_error *error)
{
    const struct onnx_port *port = &p->onnx->inputs[index];
    if (!p->onnx->op || port->constant)
        return true;
    if (array->bytes != port->bytes)
        return tools_fail(error, TOOLS_USAGE, "input '%s' has %llu bytes, the model takes %llu", port->name,
                          (unsigned long long)array->bytes, (unsigned long long)port->bytes);
    return tools_buffer_write(p->session, p->inputs[port->slot], array->data, array->bytes, error);
}

bool tools_program_run(struct tools_program *p, double *host_ms, double *device_ms, struct tools_error *error)
{
    *host_ms = *device_ms = 0;
    if (!p->onnx->op)
        return true;
    double start = tools_now_ms();
    if (!tools_session_execute(p->session, p->list, error))
        return false;
    *host_ms = tools_now_ms() - start;
    uint64_t *ticks = NULL;
    D3D12_RANGE all = { 0, 2 * sizeof(*ticks) }, none = { 0, 0 };
    if (!tools_check(error, ID3D12Resource_Map(p->ticks, 0, &all, (void **)&ticks), "mapping the timestamps"))
        return false;
    *device_ms = (double)(ticks[1] - ticks[0]) * 1e3 / (double)p->ticks_per_second;
    ID3D12Resource_Unmap(p->ticks, 0, &none);
    return true;
}

bool tools_program_get_output(struct tools_program *p, uint32_t index, struct tools_array *out,
                              struct tools_error *error)
{
    const struct onnx_port *port = &p->onnx->outputs[index];
    int64_t dims[ONNX_RANK_MAX];
    for (uint32_t i = 0; i < port->rank; i++)
        dims[i] = port->sizes[i];
    if (!tools_array_init(out, port->onnx_type, port->rank, dims, error))
        return false;
    bool ok = true;
    if (port->constant)
        memcpy(out->data, port->constant, out->bytes);
    else
        ok = tools_buffer_read(p->session, p->outputs[port->slot], out->data, out->bytes, error);
    if (!ok)
        tools_array_finish(out);
    return ok;
}
