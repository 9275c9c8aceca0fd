/* SPDX-License-Identifier: Apache-2.0 */
/* Reads an ONNX file into the neutral structs. The file stays mapped, and raw tensor data is used in place: its pages
 * belong to the file, so those of weights that are already on the device can be evicted and reloaded. Field numbers are
 * those of the ONNX specification (onnx.proto3, IR version 3 to current); others are skipped. */
#include "onnx/read/read.h"

#include "base/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Graphs in attributes of nodes of graphs ... */
#define DEPTH_MAX 32

static HRESULT read_graph(struct onnx_reader *r, struct onnx_wire graph, struct onnx_model *m);

/* ---- nodes ---- */

const char **onnx_read_texts(struct onnx_reader *r, struct onnx_wire message, uint32_t number, uint32_t *out_count)
{
    const char **out = base_arena_alloc(&r->model->arena, onnx_wire_fields(message, number) * sizeof(*out));
    struct onnx_field f;
    *out_count = 0;
    while (out && onnx_wire_next(&message, &f))
        if (f.number == number && !(out[(*out_count)++] = onnx_read_text(r, &message, &f)))
            return NULL;
    return out;
}

/* The only allowed list, so that its count cannot belong to another. */
static bool read_lists(struct onnx_reader *r, struct onnx_wire message, struct onnx_attribute *out)
{
    uint32_t strings;
    size_t floats, ints;
    const char *const *texts_read = onnx_read_texts(r, message, 9, &strings);
    const int64_t *ints_read = onnx_read_numbers(r, message, 8, ONNX_WIRE_VARINT, sizeof(*ints_read), &ints);
    const float *floats_read = onnx_read_numbers(r, message, 7, ONNX_WIRE_FIXED32, sizeof(*floats_read), &floats);
    if (floats)
        out->floats = floats_read;
    else if (ints)
        out->ints = ints_read;
    else if (strings)
        out->strings = texts_read;
    out->count = (uint32_t)(floats ? floats : ints ? ints : strings);
    return texts_read && ints_read && floats_read;
}

/* The graph in an attribute. */
static HRESULT read_inner(struct onnx_reader *r, struct onnx_wire message, const struct onnx_model **out)
{
    struct onnx_model *inner = base_arena_alloc(&r->model->arena, sizeof(*inner));
    const char **names = r->names;
    uint32_t count = r->name_count;
    if (!inner)
        return E_OUTOFMEMORY;
    if (r->depth == DEPTH_MAX)
        return onnx_read_fail(r, "graphs in attributes are nested too deeply", NULL);
    r->depth++;
    HRESULT hr = read_graph(r, message, inner);
    r->depth--;
    r->names = names;
    r->name_count = count;
    *out = inner;
    return hr;
}

HRESULT onnx_read_attribute(struct onnx_reader *r, struct onnx_wire message, struct onnx_attribute *out)
{
    struct onnx_wire wire = message;
    struct onnx_tensor *tensor = NULL;
    struct onnx_field f;
    HRESULT hr = S_OK;
    out->name = out->reference = "";
    while (SUCCEEDED(hr) && onnx_wire_next(&wire, &f)) {
        switch (f.number) {
        case 1:
            hr = (out->name = onnx_read_text(r, &wire, &f)) ? S_OK : onnx_read_no_model(r);
            break;
        case 2:
            out->f = onnx_field_float(&wire, &f);
            break;
        case 3:
            out->i = onnx_field_int(&wire, &f);
            break;
        case 4:
            hr = (out->s = onnx_read_text(r, &wire, &f)) ? S_OK : onnx_read_no_model(r);
            out->s = f.size ? out->s : NULL;
            break;
        case 5:
            tensor = base_arena_alloc(&r->model->arena, sizeof(*tensor));
            out->t = tensor;
            hr = tensor ? onnx_read_tensor(r, onnx_field_message(&wire, &f), tensor) : E_OUTOFMEMORY;
            break;
        case 6:
            hr = read_inner(r, onnx_field_message(&wire, &f), &out->graph);
            break;
        case 21:
            hr = (out->reference = onnx_read_text(r, &wire, &f)) ? S_OK : onnx_read_no_model(r);
            break;
        default:
            break;
        }
    }
    if (FAILED(hr))
        return hr;
    return !wire.bad && read_lists(r, message, out) ? S_OK : onnx_read_no_model(r);
}

HRESULT onnx_read_node(struct onnx_reader *r, struct onnx_wire message, struct onnx_node *out)
{
    struct onnx_wire wire = message;
    struct onnx_attribute *attributes =
        base_arena_alloc(&r->model->arena, onnx_wire_fields(message, 5) * sizeof(*attributes));
    struct onnx_field f;
    const char **named = NULL;
    HRESULT hr = attributes ? S_OK : E_OUTOFMEMORY;
    out->op = out->domain = out->name = out->overload = "";
    out->attributes = attributes;
    while (SUCCEEDED(hr) && onnx_wire_next(&wire, &f)) {
        named = f.number == 3   ? &out->name
                : f.number == 4 ? &out->op
                : f.number == 7 ? &out->domain
                : f.number == 8 ? &out->overload
                                : NULL;
        if (named)
            hr = (*named = onnx_read_text(r, &wire, &f)) ? S_OK : onnx_read_no_model(r);
        else if (f.number == 5)
            hr = onnx_read_attribute(r, onnx_field_message(&wire, &f), &attributes[out->attribute_count++]);
    }
    if (FAILED(hr))
        return hr;
    out->inputs = onnx_read_texts(r, message, 1, &out->input_count);
    out->outputs = onnx_read_texts(r, message, 2, &out->output_count);
    return !wire.bad && out->inputs && out->outputs ? S_OK : onnx_read_no_model(r);
}

/* ---- inputs and outputs ---- */

static bool read_dimension(struct onnx_reader *r, struct onnx_wire wire, struct onnx_value_info *out)
{
    struct onnx_field f;
    int64_t size = 0;
    const char *symbol = "";
    while (onnx_wire_next(&wire, &f)) {
        if (f.number == 1)
            size = onnx_field_int(&wire, &f);
        else if (f.number == 2 && !(symbol = onnx_read_text(r, &wire, &f)))
            return false;
    }
    if (out->rank < ONNX_RANK_MAX) {
        out->dims[out->rank] = symbol[0] || size <= 0 ? -1 : size;
        out->symbols[out->rank] = symbol[0] && strcmp(symbol, "?") ? symbol : NULL; /* "?" is not a name */
    }
    out->rank += out->rank <= ONNX_RANK_MAX;
    return !wire.bad;
}

static bool read_shape(struct onnx_reader *r, struct onnx_wire wire, struct onnx_value_info *out)
{
    struct onnx_field f;
    out->has_shape = true;
    while (onnx_wire_next(&wire, &f))
        if (f.number == 1 && !read_dimension(r, onnx_field_message(&wire, &f), out))
            return false;
    return !wire.bad;
}

static bool read_tensor_type(struct onnx_reader *r, struct onnx_wire wire, struct onnx_value_info *out)
{
    struct onnx_field f;
    while (onnx_wire_next(&wire, &f)) {
        if (f.number == 1)
            out->type = (int32_t)onnx_field_int(&wire, &f);
        else if (f.number == 2 && !read_shape(r, onnx_field_message(&wire, &f), out))
            return false;
    }
    return !wire.bad;
}

/* The host computes a tensor instead of its sequence of maps. */
static bool is_zip_map(const struct onnx_model *m, const char *name)
{
    for (uint32_t i = 0; i < m->node_count; i++) {
        const struct onnx_node *n = &m->nodes[i];
        if (!strcmp(n->op, "ZipMap") && !strcmp(n->domain, "ai.onnx.ml") && n->output_count &&
            !strcmp(n->outputs[0], name))
            return true;
    }
    return false;
}

/* An input or output of m, whose nodes have been read. */
static HRESULT read_value_info(struct onnx_reader *r, const struct onnx_model *m, struct onnx_wire wire,
                               struct onnx_value_info *out)
{
    struct onnx_wire type = { NULL, NULL, false };
    struct onnx_field f, part;
    bool tensor = false;
    out->name = "";
    while (onnx_wire_next(&wire, &f)) {
        if (f.number == 1 && !(out->name = onnx_read_text(r, &wire, &f)))
            return onnx_read_no_model(r);
        if (f.number == 2)
            type = onnx_field_message(&wire, &f);
    }
    while (onnx_wire_next(&type, &part)) {
        tensor |= part.number == 1;
        if (part.number == 1 && !read_tensor_type(r, onnx_field_message(&type, &part), out))
            return onnx_read_no_model(r);
    }
    if (wire.bad || type.bad)
        return onnx_read_no_model(r);
    if (!tensor && !r->depth && !is_zip_map(m, out->name)) /* inner graphs need not declare the types of their values */
        return onnx_read_fail(r, "input or output is not a tensor", out->name);
    if (out->rank > ONNX_RANK_MAX)
        return onnx_read_fail(r, "input or output has more than 8 dimensions", out->name);
    return S_OK;
}

static int by_name(const void *x, const void *y)
{
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

static HRESULT sort_names(struct onnx_reader *r, const struct onnx_model *m)
{
    r->names = base_arena_alloc(&r->model->arena, m->initializer_count * sizeof(*r->names));
    if (!r->names)
        return E_OUTOFMEMORY;
    for (uint32_t i = 0; i < m->initializer_count; i++)
        r->names[i] = m->initializers[i].name;
    r->name_count = m->initializer_count;
    qsort(r->names, m->initializer_count, sizeof(*r->names), by_name);
    return S_OK;
}

static bool is_initializer(const struct onnx_reader *r, const char *name)
{
    return bsearch(&name, r->names, r->name_count, sizeof(*r->names), by_name) != NULL;
}

/* ---- the whole ---- */

enum { GRAPH_NODE = 1, GRAPH_INITIALIZER = 5, GRAPH_INPUT = 11, GRAPH_OUTPUT = 12 };

static HRESULT read_part(struct onnx_reader *r, struct onnx_model *m, uint32_t number, struct onnx_wire message)
{
    struct onnx_value_info info = { 0 };
    HRESULT hr;
    switch (number) {
    case GRAPH_NODE:
        return onnx_read_node(r, message, &m->nodes[m->node_count++]);
    case GRAPH_INITIALIZER:
        return onnx_read_tensor(r, message, &m->initializers[m->initializer_count++]);
    case GRAPH_OUTPUT:
        return read_value_info(r, m, message, &m->outputs[m->output_count++]);
    default:
        hr = read_value_info(r, m, message, &info);
        if (info.name && is_initializer(r, info.name)) /* whatever its declared type */
            return S_OK;
        m->inputs[m->input_count] = info;
        m->input_count += SUCCEEDED(hr);
        return hr;
    }
}

static HRESULT read_graph(struct onnx_reader *r, struct onnx_wire graph, struct onnx_model *m)
{
    static const uint32_t order[] = { GRAPH_INITIALIZER, GRAPH_NODE, GRAPH_INPUT, GRAPH_OUTPUT };
    struct base_arena *arena = &r->model->arena;
    struct onnx_field f;
    HRESULT hr = S_OK;
    m->nodes = base_arena_alloc(arena, onnx_wire_fields(graph, GRAPH_NODE) * sizeof(*m->nodes));
    m->initializers = base_arena_alloc(arena, onnx_wire_fields(graph, GRAPH_INITIALIZER) * sizeof(*m->initializers));
    m->inputs = base_arena_alloc(arena, onnx_wire_fields(graph, GRAPH_INPUT) * sizeof(*m->inputs));
    m->outputs = base_arena_alloc(arena, onnx_wire_fields(graph, GRAPH_OUTPUT) * sizeof(*m->outputs));
    if (!m->nodes || !m->initializers || !m->inputs || !m->outputs)
        return E_OUTOFMEMORY;
    for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
        struct onnx_wire wire = graph;
        while (SUCCEEDED(hr) && onnx_wire_next(&wire, &f))
            if (f.number == order[i])
                hr = read_part(r, m, f.number, onnx_field_message(&wire, &f));
        if (SUCCEEDED(hr) && wire.bad)
            hr = onnx_read_no_model(r);
        if (SUCCEEDED(hr) && order[i] == GRAPH_INITIALIZER)
            hr = sort_names(r, m);
    }
    return SUCCEEDED(hr) ? onnx_sort_nodes(m) : hr;
}

static bool same_domain(const char *x, const char *y)
{
    return !strcmp(!strcmp(x, "ai.onnx") ? "" : x, !strcmp(y, "ai.onnx") ? "" : y);
}

void onnx_set_versions(const struct onnx_model *m, const char *domain, int64_t version)
{
    for (uint32_t i = 0; i < m->node_count; i++) {
        struct onnx_node *n = &m->nodes[i];
        if (same_domain(domain, n->domain))
            n->version = version;
        for (uint32_t j = 0; j < n->attribute_count; j++)
            if (n->attributes[j].graph)
                onnx_set_versions(n->attributes[j].graph, domain, version);
    }
}

HRESULT onnx_read_opset(struct onnx_reader *r, struct onnx_wire wire, const char **domain, int64_t *version)
{
    struct onnx_field f;
    *domain = "";
    *version = 0;
    while (onnx_wire_next(&wire, &f)) {
        if (f.number == 1 && !(*domain = onnx_read_text(r, &wire, &f)))
            return onnx_read_no_model(r);
        if (f.number == 2)
            *version = onnx_field_int(&wire, &f);
    }
    return wire.bad ? onnx_read_no_model(r) : S_OK;
}

/* One operator set that the model imports. */
static HRESULT set_version(struct onnx_reader *r, struct onnx_wire wire)
{
    const char *domain;
    int64_t version;
    HRESULT hr = onnx_read_opset(r, wire, &domain, &version);
    if (SUCCEEDED(hr))
        onnx_set_versions(r->model, domain, version);
    return hr;
}

static HRESULT check_versions(struct onnx_reader *r, const struct onnx_model *m)
{
    HRESULT hr = S_OK;
    for (uint32_t i = 0; SUCCEEDED(hr) && i < m->node_count; i++) {
        const struct onnx_node *n = &m->nodes[i];
        for (uint32_t j = 0; SUCCEEDED(hr) && j < n->attribute_count; j++)
            hr = n->attributes[j].graph ? check_versions(r, n->attributes[j].graph) : S_OK;
        if (FAILED(hr) || !same_domain(n->domain, "") || (n->version >= 7 && n->version <= ONNX_OPSET_NEWEST))
            continue;
        snprintf(r->error->text, sizeof(r->error->text), "opset %lld is not supported (7 to %d are)",
                 (long long)n->version, ONNX_OPSET_NEWEST);
        return E_INVALIDARG;
    }
    return hr;
}

static HRESULT read_model(struct onnx_reader *r, struct onnx_wire file)
{
    struct onnx_wire wire = file, graph = { NULL, NULL, false };
    struct onnx_field f;
    HRESULT hr = S_OK;
    while (onnx_wire_next(&wire, &f))
        if (f.number == 7)
            graph = onnx_field_message(&wire, &f);
    if (wire.bad)
        return onnx_read_no_model(r);
    if (!onnx_wire_fields(graph, GRAPH_NODE) && !onnx_wire_fields(graph, GRAPH_OUTPUT))
        return onnx_read_fail(r, "the file is not an ONNX model (it has no graph)", NULL);
    hr = read_graph(r, graph, r->model);
    for (wire = file; SUCCEEDED(hr) && onnx_wire_next(&wire, &f);)
        if (f.number == 8)
            hr = set_version(r, onnx_field_message(&wire, &f));
    if (SUCCEEDED(hr))
        hr = onnx_read_functions(r, file);
    return FAILED(hr) ? hr : check_versions(r, r->model);
}

static HRESULT finish(HRESULT hr, struct onnx_model *model, struct onnx_model **out)
{
    if (FAILED(hr))
        onnx_model_destroy(model);
    else
        *out = model;
    return hr;
}

HRESULT onnx_model_parse(const void *bytes, size_t size, struct onnx_model **out, struct onnx_error *error)
{
    struct onnx_model *model = calloc(1, sizeof(*model));
    struct onnx_reader reader = { .model = model, .error = error };
    const uint8_t *first = bytes;
    *out = NULL;
    return model ? finish(read_model(&reader, (struct onnx_wire){ first, first + size, false }), model, out)
                 : E_OUTOFMEMORY;
}

HRESULT onnx_model_load(const char *path, struct onnx_model **out, struct onnx_error *error)
{
    struct onnx_model *model = calloc(1, sizeof(*model));
    *out = NULL;
    if (!model)
        return E_OUTOFMEMORY;
    struct onnx_reader reader = { .model = model, .error = error, .path = path, .mapped = true };
    const struct onnx_mapping *file = onnx_map(model, path, "");
    const uint8_t *bytes = file ? file->address : NULL;
    HRESULT hr = file ? read_model(&reader, (struct onnx_wire){ bytes, bytes + file->size, false })
                      : onnx_read_fail(&reader, "cannot read the file", onnx_map_problem(errno));
    return finish(hr, model, out);
}

void onnx_model_destroy(struct onnx_model *model)
{
    if (!model)
        return;
    for (struct onnx_mapping *mapping = model->storage; mapping; mapping = mapping->next)
        base_unmap_file(mapping->address, mapping->size);
    base_arena_finish(&model->arena);
    free(model);
}
