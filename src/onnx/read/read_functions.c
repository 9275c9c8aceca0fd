/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of a model: each call is replaced by the function's nodes, in the graph and in inner graphs, so that
 * nothing else knows of functions. */
#include "onnx/read/read.h"

#include "base/names.h"

#include <stdio.h>
#include <stdlib.h>

#define CALL_DEPTH_MAX 32
/* A few functions that call each other twice could become more nodes than memory has. */
#define COPIES_MAX (1u << 20)

struct function {
    const char *name, *domain, *overload;
    const char **inputs, **outputs;
    uint32_t input_count, output_count;
    struct onnx_model body;
    struct onnx_attribute *defaults;
    uint32_t default_count;
};

struct inliner {
    struct onnx_reader *r;
    struct function *functions;
    uint32_t count;
    uint32_t calls, copies;
};

/* Nodes that replace those of a graph. */
struct nodes {
    struct onnx_node *all;
    uint32_t count, capacity;
};

/* What the names of a function mean where it is called. */
struct call {
    struct inliner *in;
    const struct function *function;
    const struct onnx_node *node;
    const char *prefix;
    struct base_names names; /* positions in `texts` */
    const char **texts;
    uint32_t count, capacity;
};

/* ---- reading ---- */

static HRESULT read_opset(struct onnx_reader *r, struct onnx_wire wire, struct onnx_model *body)
{
    const char *domain;
    int64_t version;
    HRESULT hr = onnx_read_opset(r, wire, &domain, &version);
    if (SUCCEEDED(hr))
        onnx_set_versions(body, domain, version);
    return hr;
}

/* All fields but those of nodes, to which the operator sets apply. */
static HRESULT read_function(struct onnx_reader *r, struct onnx_wire message, struct function *out)
{
    struct base_arena *arena = &r->model->arena;
    struct onnx_wire wire = message;
    struct onnx_field f;
    HRESULT hr = S_OK;
    out->name = out->domain = out->overload = "";
    out->inputs = onnx_read_texts(r, message, 4, &out->input_count);
    out->outputs = onnx_read_texts(r, message, 5, &out->output_count);
    out->body.nodes = base_arena_alloc(arena, onnx_wire_fields(message, 7) * sizeof(*out->body.nodes));
    out->defaults = base_arena_alloc(arena, onnx_wire_fields(message, 11) * sizeof(*out->defaults));
    if (!out->inputs || !out->outputs || !out->body.nodes || !out->defaults)
        return onnx_read_no_model(r);
    while (SUCCEEDED(hr) && onnx_wire_next(&wire, &f)) {
        const char **text = f.number == 1    ? &out->name
                            : f.number == 10 ? &out->domain
                            : f.number == 13 ? &out->overload
                                             : NULL;
        if (text)
            hr = (*text = onnx_read_text(r, &wire, &f)) ? S_OK : onnx_read_no_model(r);
        else if (f.number == 7)
            hr = onnx_read_node(r, onnx_field_message(&wire, &f), &out->body.nodes[out->body.node_count++]);
        else if (f.number == 11)
            hr = onnx_read_attribute(r, onnx_field_message(&wire, &f), &out->defaults[out->default_count++]);
    }
    for (struct onnx_wire again = message; SUCCEEDED(hr) && onnx_wire_next(&again, &f);)
        if (f.number == 9)
            hr = read_opset(r, onnx_field_message(&again, &f), &out->body);
    if (SUCCEEDED(hr) && wire.bad)
        hr = onnx_read_no_model(r);
    return SUCCEEDED(hr) ? onnx_sort_nodes(&out->body) : hr;
}

static const struct function *find(const struct inliner *in, const struct onnx_node *n)
{
    for (uint32_t i = 0; i < in->count; i++) {
        const struct function *f = &in->functions[i];
        if (!strcmp(f->name, n->op) && !strcmp(f->domain, n->domain) && !strcmp(f->overload, n->overload))
            return f;
    }
    return NULL;
}

/* ---- names ---- */

static const char *join(struct inliner *in, const char *prefix, const char *name)
{
    const size_t bytes = strlen(prefix) + strlen(name) + 1;
    char *text = base_arena_alloc(&in->r->model->arena, bytes);
    if (text)
        snprintf(text, bytes, "%s%s", prefix, name);
    return text;
}

/* The first meaning of a name stays. */
static bool mean(struct call *c, const char *name, const char *text)
{
    if (!text || !base_array_reserve((void **)&c->texts, c->count, &c->capacity, sizeof(*c->texts)) ||
        !base_names_add(&c->names, name, c->count))
        return false;
    c->texts[c->count++] = text;
    return true;
}

/* What the function does not define keeps its name. */
static const char *meaning(const struct call *c, const char *name)
{
    const struct base_name *found = name[0] ? base_names_find(&c->names, name) : NULL;
    return found ? c->texts[found->number] : name;
}

static bool mean_own(struct call *c, const char *name)
{
    return !name[0] || base_names_find(&c->names, name) || mean(c, name, join(c->in, c->prefix, name));
}

/* What the nodes define, and their inner graphs: a call's values may have the names that inner graphs use. */
static bool mean_nodes(struct call *c, const struct onnx_node *nodes, uint32_t count)
{
    bool ok = true;
    for (uint32_t i = 0; ok && i < count; i++) {
        const struct onnx_node *n = &nodes[i];
        for (uint32_t k = 0; ok && k < n->output_count; k++)
            ok = mean_own(c, n->outputs[k]);
    }
    for (uint32_t i = 0; ok && i < count; i++)
        for (uint32_t k = 0; ok && k < nodes[i].attribute_count; k++) {
            const struct onnx_model *inner = nodes[i].attributes[k].graph;
            for (uint32_t j = 0; ok && inner && j < inner->input_count; j++)
                ok = mean_own(c, inner->inputs[j].name);
            for (uint32_t j = 0; ok && inner && j < inner->initializer_count; j++)
                ok = mean_own(c, inner->initializers[j].name);
            ok = ok && (!inner || mean_nodes(c, inner->nodes, inner->node_count));
        }
    return ok;
}

static bool call_open(struct call *c)
{
    const struct function *f = c->function;
    const struct onnx_node *n = c->node;
    char text[80];
    snprintf(text, sizeof(text), "%.50s~%u/", n->name[0] ? n->name : n->op, ++c->in->calls);
    bool ok = (c->prefix = base_arena_strdup(&c->in->r->model->arena, text)) != NULL;
    for (uint32_t i = 0; ok && i < f->input_count; i++)
        ok = mean(c, f->inputs[i], i < n->input_count ? n->inputs[i] : "");
    for (uint32_t i = 0; ok && i < f->output_count; i++)
        if (i < n->output_count && n->outputs[i][0] && !base_names_find(&c->names, f->outputs[i]))
            ok = mean(c, f->outputs[i], n->outputs[i]);
    return ok && mean_nodes(c, f->body.nodes, f->body.node_count);
}

/* ---- copies ---- */

static bool copy_node(struct call *c, const struct onnx_node *from, struct onnx_node *to);

static const char **copy_names(struct call *c, const char *const *names, uint32_t count)
{
    const char **out = base_arena_alloc(&c->in->r->model->arena, BASE_MAX(count, 1u) * sizeof(*out));
    for (uint32_t i = 0; out && i < count; i++)
        out[i] = meaning(c, names[i]);
    return out;
}

static const struct onnx_model *copy_graph(struct call *c, const struct onnx_model *from)
{
    struct base_arena *arena = &c->in->r->model->arena;
    struct onnx_model *to = base_arena_copy(arena, from, sizeof(*from));
    if (!to)
        return NULL;
    to->nodes = base_arena_alloc(arena, BASE_MAX(from->node_count, 1u) * sizeof(*to->nodes));
    to->inputs = base_arena_copy(arena, from->inputs, from->input_count * sizeof(*to->inputs));
    to->initializers = base_arena_copy(arena, from->initializers, from->initializer_count * sizeof(*to->initializers));
    to->outputs = base_arena_copy(arena, from->outputs, from->output_count * sizeof(*to->outputs));
    bool ok = to->nodes && to->inputs && to->initializers && to->outputs;
    for (uint32_t i = 0; ok && i < from->input_count; i++)
        to->inputs[i].name = meaning(c, from->inputs[i].name);
    for (uint32_t i = 0; ok && i < from->initializer_count; i++)
        to->initializers[i].name = meaning(c, from->initializers[i].name);
    for (uint32_t i = 0; ok && i < from->node_count; i++)
        ok = copy_node(c, &from->nodes[i], &to->nodes[i]);
    for (uint32_t i = 0; ok && i < from->output_count; i++)
        to->outputs[i].name = meaning(c, from->outputs[i].name);
    return ok ? to : NULL;
}

static const struct onnx_attribute *named(const struct onnx_attribute *all, uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; i++)
        if (!strcmp(all[i].name, name))
            return &all[i];
    return NULL;
}

/* An attribute may be one of the call's, or a default of the function; without either it is absent. */
static bool copy_attributes(struct call *c, const struct onnx_node *from, struct onnx_node *to)
{
    struct onnx_attribute *out =
        base_arena_alloc(&c->in->r->model->arena, BASE_MAX(from->attribute_count, 1u) * sizeof(*out));
    to->attributes = out;
    to->attribute_count = 0;
    for (uint32_t i = 0; out && i < from->attribute_count; i++) {
        const struct onnx_attribute *a = &from->attributes[i], *given = a;
        if (a->reference[0])
            given = named(c->node->attributes, c->node->attribute_count, a->reference);
        if (a->reference[0] && !given)
            given = named(c->function->defaults, c->function->default_count, a->reference);
        if (!given)
            continue;
        out[to->attribute_count] = *given;
        out[to->attribute_count].name = a->name;
        if (given == a && a->graph && !(out[to->attribute_count].graph = copy_graph(c, a->graph)))
            return false;
        to->attribute_count++;
    }
    return out != NULL;
}

static bool copy_node(struct call *c, const struct onnx_node *from, struct onnx_node *to)
{
    *to = *from;
    to->name = join(c->in, c->prefix, from->name);
    to->inputs = copy_names(c, from->inputs, from->input_count);
    to->outputs = copy_names(c, from->outputs, from->output_count);
    return ++c->in->copies <= COPIES_MAX && to->name && to->inputs && to->outputs && copy_attributes(c, from, to);
}

/* ---- inlining ---- */

static HRESULT inline_graph(struct inliner *in, struct onnx_model *graph, uint32_t depth);
static HRESULT add_node(struct inliner *in, struct nodes *to, const struct onnx_node *n, uint32_t depth);

static HRESULT too_much(struct inliner *in, const struct onnx_node *n)
{
    return in->copies > COPIES_MAX ? onnx_read_fail(in->r, "calls of functions expand to too many nodes", n->op)
                                   : E_OUTOFMEMORY;
}

/* An output of a function may be one of its inputs, or stand there twice. */
static HRESULT add_copies(struct call *c, struct nodes *to, uint32_t depth)
{
    const struct function *f = c->function;
    HRESULT hr = S_OK;
    for (uint32_t i = 0; SUCCEEDED(hr) && i < f->output_count && i < c->node->output_count; i++) {
        const char *from = meaning(c, f->outputs[i]), *name = c->node->outputs[i];
        if (!name[0] || !strcmp(from, name))
            continue;
        const char **names =
            base_arena_copy(&c->in->r->model->arena, (const char *[]){ from, name }, 2 * sizeof(*names));
        struct onnx_node same = { .op = "Identity",
                                  .domain = "",
                                  .name = c->prefix,
                                  .overload = "",
                                  .inputs = names,
                                  .outputs = names + 1,
                                  .input_count = 1,
                                  .output_count = 1,
                                  .version = 13 };
        hr = names ? add_node(c->in, to, &same, depth) : E_OUTOFMEMORY;
    }
    return hr;
}

static HRESULT add_call(struct inliner *in, struct nodes *to, const struct onnx_node *n, const struct function *f,
                        uint32_t depth)
{
    struct call c = { .in = in, .function = f, .node = n };
    if (depth >= CALL_DEPTH_MAX)
        return onnx_read_fail(in->r, "functions are nested too deeply, or call each other", n->op);
    if (n->input_count > f->input_count || n->output_count > f->output_count)
        return onnx_read_fail(in->r, "a function is called with too many inputs or outputs", n->op);
    HRESULT hr = call_open(&c) ? S_OK : E_OUTOFMEMORY;
    for (uint32_t i = 0; SUCCEEDED(hr) && i < f->body.node_count; i++) {
        struct onnx_node copy;
        hr = copy_node(&c, &f->body.nodes[i], &copy) ? add_node(in, to, &copy, depth + 1) : too_much(in, n);
    }
    if (SUCCEEDED(hr))
        hr = add_copies(&c, to, depth);
    base_names_finish(&c.names);
    free(c.texts);
    return hr;
}

static HRESULT add_node(struct inliner *in, struct nodes *to, const struct onnx_node *n, uint32_t depth)
{
    const struct function *f = find(in, n);
    HRESULT hr = S_OK;
    if (f)
        return add_call(in, to, n, f, depth);
    for (uint32_t i = 0; SUCCEEDED(hr) && i < n->attribute_count; i++)
        if (n->attributes[i].graph)
            hr = inline_graph(in, (struct onnx_model *)n->attributes[i].graph, depth); /* the reader's, or a copy */
    if (SUCCEEDED(hr) && !base_array_reserve((void **)&to->all, to->count, &to->capacity, sizeof(*to->all)))
        hr = E_OUTOFMEMORY;
    if (SUCCEEDED(hr))
        to->all[to->count++] = *n;
    return hr;
}

static HRESULT inline_graph(struct inliner *in, struct onnx_model *graph, uint32_t depth)
{
    struct nodes nodes = { 0 };
    HRESULT hr = S_OK;
    for (uint32_t i = 0; SUCCEEDED(hr) && i < graph->node_count; i++)
        hr = add_node(in, &nodes, &graph->nodes[i], depth);
    if (SUCCEEDED(hr)) {
        graph->nodes = base_arena_copy(&in->r->model->arena, nodes.all, nodes.count * sizeof(*nodes.all));
        graph->node_count = graph->nodes ? nodes.count : 0;
        hr = graph->nodes ? S_OK : E_OUTOFMEMORY;
    }
    free(nodes.all);
    return hr;
}

HRESULT onnx_read_functions(struct onnx_reader *r, struct onnx_wire file)
{
    struct inliner in = { .r = r };
    struct onnx_field f;
    const size_t count = onnx_wire_fields(file, 25);
    HRESULT hr = S_OK;
    if (!count)
        return S_OK;
    in.functions = base_arena_alloc(&r->model->arena, count * sizeof(*in.functions));
    if (!in.functions)
        return E_OUTOFMEMORY;
    while (SUCCEEDED(hr) && onnx_wire_next(&file, &f))
        if (f.number == 25)
            hr = read_function(r, onnx_field_message(&file, &f), &in.functions[in.count++]);
    return SUCCEEDED(hr) ? inline_graph(&in, r->model, 0) : hr;
}
