/* SPDX-License-Identifier: Apache-2.0 */
/* From a model and concrete input shapes to one compiled DirectML graph. */
#include "onnx/emit/emit.h"
#include "onnx/host/host.h"

#include "base/file.h"

#include <DirectMLGuids.h>
#include <anydml.h>

#include <stdio.h>
#include <stdlib.h>

static bool check_input(struct onnx_builder *b, const struct onnx_value_info *info, const struct onnx_input *in)
{
    if (!onnx_type_bytes(info->type))
        return onnx_fail(b, "input '%s': data type %s is not supported", info->name, onnx_type_name(info->type));
    /* A scalar may be passed as a vector with one element, as the host's own operators accept it. */
    bool scalar = info->has_shape && !info->rank && in->rank == 1 && in->dims[0] == 1;
    bool declared = info->has_shape && !info->inferred && !scalar;
    if (declared && in->rank != info->rank)
        return onnx_fail(b, "input '%s' has %u dimensions, the model expects %u", info->name, in->rank, info->rank);
    for (uint32_t d = 0; d < in->rank; d++) {
        int64_t got = in->dims[d], wanted = declared ? info->dims[d] : -1;
        if (got < 0 || got > UINT32_MAX || (wanted >= 0 && got != wanted))
            return onnx_fail(b, "input '%s': dimension %u is %lld, the model expects %lld", info->name, d,
                             (long long)got, (long long)wanted);
    }
    return true;
}

static bool add_inputs(struct onnx_builder *b)
{
    for (uint32_t i = 0; i < b->model->input_count; i++) {
        const struct onnx_value_info *info = &b->model->inputs[i];
        const struct onnx_input *in = &b->inputs[i];
        struct onnx_value *v =
            check_input(b, info, in) ? onnx_value_new(b, info->name, info->type, in->rank, in->dims) : NULL;
        if (!v)
            return false;
        bool known = in->data || !onnx_elements(v);
        v->source = known ? ONNX_SOURCE_CONSTANT : ONNX_SOURCE_INPUT;
        for (uint32_t d = 0; d < in->rank; d++) {
            v->lengths[d] = in->length[d] ? (uint8_t)(1u << (in->length[d] - 1)) : 0;
            v->times[d] = in->length[d] != 0;
            if (in->length[d])
                b->most[in->length[d] - 1] = in->dims[d];
            if (in->length[d] && (known || v->type == ONNX_INT4 || v->type == ONNX_UINT4))
                return onnx_refuse_part(b, v);
        }
        if (known && !(v->data = base_arena_copy(&b->arena, in->data ? in->data : "", onnx_value_bytes(v))))
            return onnx_fail(b, "out of memory");
        if (!known)
            v->index = b->emit.input_count++;
    }
    return true;
}

bool onnx_add_initializers(struct onnx_builder *b, const struct onnx_model *graph, const char *prefix)
{
    for (uint32_t i = 0; i < graph->initializer_count; i++) {
        const struct onnx_tensor *t = &graph->initializers[i];
        const char *name = onnx_join_names(b, prefix, t->name);
        struct onnx_value *v = name ? onnx_value_new(b, name, t->type, t->rank, t->dims) : NULL;
        if (!v)
            return false;
        v->source = ONNX_SOURCE_CONSTANT;
        v->data = t->data;
        v->mapped = t->mapped;
    }
    return true;
}

bool onnx_convert_node(struct onnx_builder *b, const struct onnx_node *n)
{
    const struct onnx_converter *row = onnx_converter_find(n->domain, n->op);
    b->node = n;
    if (!row) {
        b->unknown = b->unknown || (!b->failed && onnx_host_find(n->domain, n->op));
        return onnx_fail(b, "no converter for %s.%s", n->domain[0] ? n->domain : "ai.onnx", n->op);
    }
    for (uint32_t j = 0; j < n->input_count; j++) {
        const struct onnx_value *v = n->inputs[j][0] ? onnx_value_find(b, n->inputs[j]) : NULL;
        if (v && !onnx_type_bytes(v->type))
            return onnx_fail(b, "'%s' has data type %s, which is not supported", v->name, onnx_type_name(v->type));
    }
    if (!row->convert(b, n))
        return onnx_fail(b, "cannot be converted");
    return onnx_follow_lengths(b, row, n);
}

static bool convert_nodes(struct onnx_builder *b)
{
    for (uint32_t i = 0; i < b->model->node_count && !b->failed; i++) {
        onnx_convert_node(b, &b->model->nodes[i]);
        b->error->node = i;
    }
    b->error->unknown = b->failed && b->unknown;
    b->node = NULL;
    return !b->failed;
}

static struct onnx_port port_of(const struct onnx_value *v, const char *name)
{
    struct onnx_port port = { .name = name, .onnx_type = v->type, .type = onnx_type_dml(v->type), .rank = v->rank };
    for (uint32_t i = 0; i < v->rank; i++)
        port.sizes[i] = (uint32_t)v->dims[i];
    memcpy(port.lengths, v->lengths, sizeof(port.lengths));
    port.bytes = onnx_value_bytes(v);
    return port;
}

/* An output that is an input or already another output needs its own operator: a copy. */
static struct onnx_value *copy_of(struct onnx_builder *b, struct onnx_value *v)
{
    struct onnx_value *y = onnx_temp(b, v->type, v->rank, v->dims);
    struct onnx_desc dx, dy;
    if (!y)
        return NULL;
    DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC desc = { onnx_desc(b, &dx, v), onnx_desc(b, &dy, y), NULL };
    return onnx_emit(b, DML_OPERATOR_ELEMENT_WISE_IDENTITY, &desc, &v, 1, &y, 1) ? y : NULL;
}

static uint32_t port_number(const struct onnx_builder *b, const struct onnx_value *input)
{
    uint32_t i = 0;
    while (strcmp(b->model->inputs[i].name, input->name))
        i++;
    return i;
}

static bool add_outputs(struct onnx_builder *b, struct onnx_program *p)
{
    for (uint32_t i = 0; i < b->model->output_count; i++) {
        const char *name = b->model->outputs[i].name;
        struct onnx_value *v = onnx_value_find(b, name);
        if (!v)
            return onnx_fail(b, "output '%s' is not computed by any node", name);
        p->outputs[i] = port_of(v, name);
        for (uint32_t d = 0; d < v->rank; d++) {
            if (v->times[d] > 1 || (v->times[d] && (v->type == ONNX_INT4 || v->type == ONNX_UINT4)))
                return onnx_refuse_part(b, v);
        }
        p->output_count = i + 1;
        if (v->source == ONNX_SOURCE_CONSTANT) {
            p->outputs[i].constant = base_arena_copy(&p->arena, v->data, p->outputs[i].bytes);
            if (!p->outputs[i].constant)
                return onnx_fail(b, "out of memory");
            continue;
        }
        if (v->source == ONNX_SOURCE_INPUT && !(v = copy_of(b, v)))
            return false;
        p->outputs[i].carried = v->source == ONNX_SOURCE_NODE && v->carried ? port_number(b, v->carried) + 1 : 0;
        p->outputs[i].slot = p->graph_output_count++;
        if (!emit_output(&b->emit, v->index, v->output, name))
            return onnx_fail(b, "out of memory");
    }
    return true;
}

static HRESULT compile_graph(struct onnx_builder *b, struct onnx_program *p, DML_EXECUTION_FLAGS flags)
{
    flags |= ANYDML_EXECUTION_FLAG_PROPAGATE_NAN;
    if (b->coarse && b->coarse == b->dequantised)
        flags |= ANYDML_EXECUTION_FLAG_BYTE_ACTIVATIONS;
    if (!p->graph_output_count)
        return S_OK;
    HRESULT hr = emit_compile(&b->emit, flags, &p->op);
    if (FAILED(hr))
        onnx_fail(b, "DirectML cannot compile the graph (0x%08x)", (unsigned)hr);
    return hr;
}

static HRESULT build_program(struct onnx_builder *b, struct onnx_program *p, DML_EXECUTION_FLAGS flags)
{
    const struct onnx_model *m = b->model;
    p->inputs = base_arena_alloc(&p->arena, m->input_count * sizeof(*p->inputs));
    p->outputs = base_arena_alloc(&p->arena, m->output_count * sizeof(*p->outputs));
    if (!p->inputs || !p->outputs)
        return E_OUTOFMEMORY;
    if (!add_inputs(b) || !onnx_add_initializers(b, m, "") || !convert_nodes(b) || !add_outputs(b, p))
        return E_INVALIDARG;
    bool *read = base_arena_alloc(&b->arena, b->emit.input_count * sizeof(*read));
    if (!read)
        return E_OUTOFMEMORY;
    for (uint32_t i = 0; i < b->emit.edge_count; i++)
        if (b->emit.edges[i].from.is_input)
            read[b->emit.edges[i].from.index] = true;
    for (uint32_t i = 0; i < m->input_count; i++) {
        const struct onnx_value *v = onnx_value_find(b, m->inputs[i].name);
        p->inputs[i] = port_of(v, m->inputs[i].name);
        p->inputs[i].slot = v->index;
        p->inputs[i].constant = v->source == ONNX_SOURCE_CONSTANT ? "" : NULL;
        p->inputs[i].unread = v->source == ONNX_SOURCE_INPUT && !read[v->index];
    }
    for (uint32_t i = 0; i < p->output_count; i++) {
        if (p->outputs[i].carried)
            p->inputs[p->outputs[i].carried - 1].carried = i + 1;
    }
    p->input_count = m->input_count;
    p->graph_input_count = b->emit.input_count;
    for (uint32_t i = 0; i < ONNX_LENGTHS_MAX; i++) {
        p->most[i] = (uint32_t)b->most[i];
        p->length_slots[i] = b->lengths[i] ? b->lengths[i]->index + 1 : 0;
    }
    p->node_count = b->emit.node_count;
    return compile_graph(b, p, flags);
}

void onnx_builder_finish(struct onnx_builder *b)
{
    emit_finish(&b->emit);
    free(b->values);
    base_names_finish(&b->names);
    base_arena_finish(&b->arena);
}

static HRESULT compile(struct onnx_builder *b, bool owned, DML_EXECUTION_FLAGS flags, struct onnx_program **out)
{
    struct onnx_program *program = calloc(1, sizeof(*program));
    *out = NULL;
    b->error->unknown = false;
    b->error->partial = 0;
    snprintf(b->error->text, sizeof(b->error->text), "out of memory");
    b->owning = owned ? program : NULL;
    HRESULT hr = program ? build_program(b, program, flags) : E_OUTOFMEMORY;
    onnx_builder_finish(b);
    if (FAILED(hr))
        onnx_program_destroy(program);
    else
        *out = program;
    return hr;
}

HRESULT onnx_compile(const struct onnx_model *model, struct onnx_input *inputs, IDMLDevice1 *device,
                     DML_EXECUTION_FLAGS flags, struct onnx_program **out, struct onnx_error *error)
{
    struct onnx_builder b = { .model = model, .inputs = inputs, .emit.device = device, .error = error };
    return compile(&b, false, flags, out);
}

HRESULT onnx_compile_owned(const struct onnx_model *model, struct onnx_input *inputs, IDMLDevice1 *device,
                           DML_EXECUTION_FLAGS flags, struct onnx_program **out, struct onnx_error *error)
{
    struct onnx_builder b = { .model = model, .inputs = inputs, .emit.device = device, .error = error };
    return compile(&b, true, flags, out);
}

void onnx_port_dims(const struct onnx_program *program, const struct onnx_port *port, const uint32_t *lengths,
                    int64_t *out)
{
    for (uint32_t d = 0; d < port->rank; d++) {
        out[d] = port->sizes[d];
        for (uint32_t i = 0; i < ONNX_LENGTHS_MAX; i++)
            out[d] -= port->lengths[d] >> i & 1 ? (int64_t)program->most[i] - lengths[i] : 0;
    }
}

void onnx_program_destroy(struct onnx_program *program)
{
    if (!program)
        return;
    if (program->op)
        program->op->lpVtbl->Release(program->op);
    base_arena_finish(&program->arena);
    free(program);
}
