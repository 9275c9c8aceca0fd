/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/dispatch/dispatch_run.h"

#include "tools/text.h"

#include <DirectMLGuids.h>

#include <stdlib.h>

/* ---- compiling ---- */

static bool add_edges(struct emit_graph *graph, const struct dispatch *d)
{
    bool ok = true;
    for (uint32_t i = 0; ok && i < d->edge_count; i++)
        ok = emit_edge(graph, d->edges[i].from, d->edges[i].node, d->edges[i].input, d->edges[i].name);
    for (uint32_t i = 0; ok && i < d->output_count; i++)
        ok = emit_output(graph, d->ends[i].FromNodeIndex, d->ends[i].FromNodeOutputIndex, d->ends[i].Name);
    return ok;
}

static HRESULT compile(const struct dispatch *d, IDMLDevice1 *dml, IDMLCompiledOperator **out)
{
    struct emit_graph graph = { .device = dml, .input_count = d->input_count };
    HRESULT hr = S_OK;
    *out = NULL;
    for (uint32_t i = 0; SUCCEEDED(hr) && i < d->node_count; i++) {
        const struct dispatch_node *node = &d->nodes[i];
        if (!node->constant)
            hr = emit_operator(&graph, &node->desc, node->name);
        else if (!emit_constant(&graph, node->data, node->tensor->TotalTensorSizeInBytes, node->name, false))
            hr = E_OUTOFMEMORY;
    }
    if (SUCCEEDED(hr) && d->is_graph)
        hr = add_edges(&graph, d) ? emit_compile(&graph, d->flags, out) : E_OUTOFMEMORY;
    else if (SUCCEEDED(hr))
        hr = IDMLDevice1_CompileOperator(dml, graph.nodes->desc.op.Operator, d->flags, &IID_IDMLCompiledOperator,
                                         (void **)out);
    emit_finish(&graph);
    return hr;
}

/* ---- why a device refused ---- */

static void release(void *object)
{
    if (object)
        IUnknown_Release((IUnknown *)object);
}

/* The first error that the debug layer has stored; "" for none. */
static void first_message(ID3D12InfoQueue *queue, char *out, size_t size)
{
    out[0] = 0;
    for (uint64_t i = 0; i < ID3D12InfoQueue_GetNumStoredMessages(queue) && !out[0]; i++) {
        SIZE_T bytes = 0;
        ID3D12InfoQueue_GetMessage(queue, i, NULL, &bytes);
        D3D12_MESSAGE *message = malloc(bytes + 1);
        if (message && SUCCEEDED(ID3D12InfoQueue_GetMessage(queue, i, message, &bytes)) &&
            message->Severity <= D3D12_MESSAGE_SEVERITY_ERROR)
            snprintf(out, size, "%.*s", (int)message->DescriptionByteLength, message->pDescription);
        free(message);
    }
}

/* Repeats a failure on a device with the debug layer, which would slow successful calls down. */
static void explain(uint32_t index, const struct dispatch *d, char *out, size_t size)
{
    struct tools_error ignored;
    struct tools_session *session = NULL;
    ID3D12Debug *debug = NULL;
    ID3D12InfoQueue *queue = NULL;
    IDMLDevice1 *dml = NULL;
    IDMLCompiledOperator *compiled = NULL;
    out[0] = 0;
    if (SUCCEEDED(D3D12GetDebugInterface(&IID_ID3D12Debug, (void **)&debug)))
        ID3D12Debug_EnableDebugLayer(debug);
    if (tools_session_create(index, &session, &ignored) &&
        SUCCEEDED(ID3D12Device_QueryInterface(session->device->d3d, &IID_ID3D12InfoQueue, (void **)&queue)) &&
        SUCCEEDED(DMLCreateDevice1(session->device->d3d, DML_CREATE_DEVICE_FLAG_DEBUG, DML_FEATURE_LEVEL_1_0,
                                   &IID_IDMLDevice1, (void **)&dml))) {
        compile(d, dml, &compiled);
        first_message(queue, out, size);
    }
    release(compiled);
    release(dml);
    release(queue);
    release(debug);
    tools_session_destroy(session);
}

static bool refuse(uint32_t index, struct dispatch_reader *r, const struct dispatch *d, HRESULT hr)
{
    char why[400];
    if (hr == E_OUTOFMEMORY)
        return tools_fail_memory(r->error);
    explain(index, d, why, sizeof(why));
    const bool wrong = hr == E_INVALIDARG || hr == E_NOTIMPL || hr == (HRESULT)DXGI_ERROR_UNSUPPORTED;
    return tools_fail(r->error, wrong ? TOOLS_USAGE : TOOLS_RUNTIME, "%s: %s%s%s", r->file, tools_hresult_name(hr),
                      why[0] ? ": " : "", why);
}

/* ---- the program ---- */

static bool set_port(struct onnx_port *port, const struct dispatch_slot *slot, uint32_t index)
{
    const DML_BUFFER_TENSOR_DESC *tensor = slot->tensor;
    *port = (struct onnx_port){ .name = slot->name,
                                .onnx_type = tools_dispatch_onnx_type(tensor->DataType),
                                .type = tensor->DataType,
                                .rank = tensor->DimensionCount,
                                .bytes = tensor->TotalTensorSizeInBytes,
                                .slot = index };
    memcpy(port->sizes, tensor->Sizes, tensor->DimensionCount * sizeof(*port->sizes));
    return true;
}

static bool set_ports(struct onnx_program *p, const struct dispatch *d)
{
    p->inputs = base_arena_alloc(&p->arena, (d->input_count + 1) * sizeof(*p->inputs));
    p->outputs = base_arena_alloc(&p->arena, (d->output_count + 1) * sizeof(*p->outputs));
    if (!p->inputs || !p->outputs)
        return false;
    p->graph_input_count = d->input_count;
    p->graph_output_count = d->output_count;
    p->node_count = d->node_count;
    for (uint32_t i = 0; i < d->output_count; i++)
        if (d->outputs[i].tensor)
            set_port(&p->outputs[p->output_count++], &d->outputs[i], i);
    for (uint32_t i = 0; i < d->input_count; i++) {
        const struct dispatch_slot *slot = &d->inputs[i];
        if (!slot->tensor)
            continue;
        if (!(slot->tensor->Flags & DML_TENSOR_FLAG_OWNED_BY_DML)) {
            set_port(&p->inputs[p->input_count++], slot, i);
            continue;
        }
        struct onnx_weight *weight = base_arena_alloc(&p->arena, sizeof(*weight));
        if (!weight)
            return false;
        *weight =
            (struct onnx_weight){ i, slot->data, base_align_up(slot->tensor->TotalTensorSizeInBytes, 4), p->weights };
        p->weights = weight;
    }
    return true;
}

/* Devices with memory of their own copy inputs and outputs, by way of staging memory. */
static bool take_device(struct dispatch_reader *r, const struct onnx_program *p, const struct tools_session *session)
{
    bool ok = true;
    for (uint32_t i = 0; ok && !session->device->host_memory && i < p->input_count; i++)
        ok = tools_dispatch_take(r, p->inputs[i].bytes) && tools_dispatch_take(r, p->inputs[i].bytes);
    for (uint32_t i = 0; ok && !session->device->host_memory && i < p->output_count; i++)
        ok = tools_dispatch_take(r, p->outputs[i].bytes) && tools_dispatch_take(r, p->outputs[i].bytes);
    return ok;
}

bool tools_dispatch_compile(struct tools_session *session, struct dispatch_reader *r, struct dispatch *d,
                            struct tools_program **out, double *out_ms)
{
    struct onnx_program *program = calloc(1, sizeof(*program));
    *out = NULL;
    if (!program || !set_ports(program, d)) {
        onnx_program_destroy(program);
        return tools_fail_memory(r->error);
    }
    const double start = tools_now_ms();
    HRESULT hr = compile(d, session->device->dml, &program->op);
    *out_ms = tools_now_ms() - start;
    if (FAILED(hr)) {
        onnx_program_destroy(program);
        return refuse(session->index, r, d, hr);
    }
    const DML_BINDING_PROPERTIES need = IDMLCompiledOperator_GetBindingProperties(program->op);
    if (!tools_dispatch_take(r, need.TemporaryResourceSize) || !tools_dispatch_take(r, need.PersistentResourceSize) ||
        !take_device(r, program, session)) {
        onnx_program_destroy(program);
        return false;
    }
    if (!tools_program_create(session, program, out, r->error))
        return false;
    for (uint32_t i = 0; i < (*out)->onnx->input_count; i++) {
        const struct onnx_port *port = &(*out)->onnx->inputs[i];
        memcpy((*out)->inputs[i], d->inputs[port->slot].data, port->bytes);
    }
    return true;
}
