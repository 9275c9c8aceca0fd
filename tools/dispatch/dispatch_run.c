/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/dispatch/dispatch_run.h"

#include "tools/text.h"

#include <DirectMLGuids.h>

#include <stdlib.h>

/* ---- compiling ---- */

struct compiling {
    struct dispatch *dispatch;
    IDMLDevice1 *dml;
    IDMLOperator **operators; /* of the nodes; NULL for constants */
    DML_OPERATOR_GRAPH_NODE_DESC *operator_nodes;
    DML_CONSTANT_DATA_GRAPH_NODE_DESC *constant_nodes;
    DML_GRAPH_NODE_DESC *nodes;
    DML_GRAPH_EDGE_DESC *in, *out, *mid;
};

static bool compiling_init(struct compiling *c, struct dispatch_reader *r, struct dispatch *d, IDMLDevice1 *dml)
{
    *c = (struct compiling){ .dispatch = d, .dml = dml };
    c->operators = tools_dispatch_alloc(r, d->node_count, sizeof(*c->operators));
    c->operator_nodes = tools_dispatch_alloc(r, d->node_count, sizeof(*c->operator_nodes));
    c->constant_nodes = tools_dispatch_alloc(r, d->node_count, sizeof(*c->constant_nodes));
    c->nodes = tools_dispatch_alloc(r, d->node_count, sizeof(*c->nodes));
    c->in = tools_dispatch_alloc(r, d->in_count, sizeof(*c->in));
    c->out = tools_dispatch_alloc(r, d->out_count, sizeof(*c->out));
    c->mid = tools_dispatch_alloc(r, d->mid_count, sizeof(*c->mid));
    return c->operators && c->operator_nodes && c->constant_nodes && c->nodes && c->in && c->out && c->mid;
}

static HRESULT create_nodes(struct compiling *c)
{
    HRESULT hr = S_OK;
    for (uint32_t i = 0; SUCCEEDED(hr) && i < c->dispatch->node_count; i++) {
        const struct dispatch_node *node = &c->dispatch->nodes[i];
        if (node->constant) {
            c->constant_nodes[i] =
                (DML_CONSTANT_DATA_GRAPH_NODE_DESC){ node->data, node->tensor->TotalTensorSizeInBytes, node->name };
            c->nodes[i] = (DML_GRAPH_NODE_DESC){ DML_GRAPH_NODE_TYPE_CONSTANT, &c->constant_nodes[i] };
            continue;
        }
        hr = IDMLDevice1_CreateOperator(c->dml, &node->desc, &IID_IDMLOperator, (void **)&c->operators[i]);
        c->operator_nodes[i] = (DML_OPERATOR_GRAPH_NODE_DESC){ c->operators[i], node->name };
        c->nodes[i] = (DML_GRAPH_NODE_DESC){ DML_GRAPH_NODE_TYPE_OPERATOR, &c->operator_nodes[i] };
    }
    return hr;
}

static HRESULT compile_graph(struct compiling *c, IDMLCompiledOperator **out)
{
    const struct dispatch *d = c->dispatch;
    for (uint32_t i = 0; i < d->in_count; i++)
        c->in[i] = (DML_GRAPH_EDGE_DESC){ DML_GRAPH_EDGE_TYPE_INPUT, &d->in[i] };
    for (uint32_t i = 0; i < d->out_count; i++)
        c->out[i] = (DML_GRAPH_EDGE_DESC){ DML_GRAPH_EDGE_TYPE_OUTPUT, &d->out[i] };
    for (uint32_t i = 0; i < d->mid_count; i++)
        c->mid[i] = (DML_GRAPH_EDGE_DESC){ DML_GRAPH_EDGE_TYPE_INTERMEDIATE, &d->mid[i] };
    const DML_GRAPH_DESC desc = {
        .InputCount = d->input_count,
        .OutputCount = d->output_count,
        .NodeCount = d->node_count,
        .Nodes = c->nodes,
        .InputEdgeCount = d->in_count,
        .InputEdges = c->in,
        .OutputEdgeCount = d->out_count,
        .OutputEdges = c->out,
        .IntermediateEdgeCount = d->mid_count,
        .IntermediateEdges = c->mid,
    };
    return IDMLDevice1_CompileGraph(c->dml, &desc, d->flags, &IID_IDMLCompiledOperator, (void **)out);
}

static HRESULT compile(struct dispatch_reader *r, struct dispatch *d, IDMLDevice1 *dml, IDMLCompiledOperator **out)
{
    struct compiling c;
    *out = NULL;
    if (!compiling_init(&c, r, d, dml))
        return E_OUTOFMEMORY;
    HRESULT hr = create_nodes(&c);
    if (SUCCEEDED(hr))
        hr = d->is_graph
                 ? compile_graph(&c, out)
                 : IDMLDevice1_CompileOperator(dml, c.operators[0], d->flags, &IID_IDMLCompiledOperator, (void **)out);
    for (uint32_t i = 0; i < d->node_count; i++)
        if (c.operators[i])
            IDMLOperator_Release(c.operators[i]);
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
static void explain(uint32_t index, struct dispatch_reader *r, struct dispatch *d, char *out, size_t size)
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
        compile(r, d, dml, &compiled);
        first_message(queue, out, size);
    }
    release(compiled);
    release(dml);
    release(queue);
    release(debug);
    tools_session_destroy(session);
}

static bool refuse(uint32_t index, struct dispatch_reader *r, struct dispatch *d, HRESULT hr)
{
    char why[400];
    if (hr == E_OUTOFMEMORY)
        return tools_fail_memory(r->error);
    explain(index, r, d, why, sizeof(why));
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
    HRESULT hr = compile(r, d, session->device->dml, &program->op);
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
