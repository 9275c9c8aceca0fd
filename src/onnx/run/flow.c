/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/run/flow_graph.h"

#include "onnx/emit/build.h"
#include "onnx/host/host.h"

#include <stdlib.h>

#define VARIANTS_MAX 64 /* of a part: programs for other shapes or values */

/* A program whose tensors have the same addresses as in the last run need not be recorded again, which takes longer
 * than copying this many bytes. */
#define STAGED_BYTES_MAX (32u << 10)

/* A program of a part, and the inputs that it was compiled for. */
struct variant {
    struct variant *next; /* more recently used first */
    void *key;
    size_t key_bytes;
    struct onnx_exec *exec;
    struct onnx_array *inputs, *outputs; /* small ones always pass through these */
};

/* Consecutive nodes of a graph: one program, or one node that the host runs. */
struct flow_part {
    uint32_t first, end;
    bool host;
    void *kept; /* host: what the node keeps from run to run */
    bool ready; /* the following is known */
    struct onnx_model model;
    bool *wanted;  /* per input: programs are specialised for its value */
    bool *repeats; /* per input: it changes in each iteration of a loop */
    struct variant *variants;
    uint32_t variant_count;
};

/* ---- parts ---- */

static void variant_destroy(struct variant *v)
{
    const struct onnx_program *p = v->exec ? onnx_exec_program(v->exec) : NULL;
    for (uint32_t i = 0; p && v->inputs && i < p->input_count; i++)
        onnx_array_finish(&v->inputs[i]);
    for (uint32_t i = 0; p && v->outputs && i < p->output_count; i++)
        onnx_array_finish(&v->outputs[i]);
    free(v->inputs);
    free(v->outputs);
    onnx_exec_destroy(v->exec);
    free(v->key);
    free(v);
}

static void part_forget(struct flow_part *part)
{
    while (part->variants) {
        struct variant *v = part->variants;
        part->variants = v->next;
        variant_destroy(v);
    }
    free(part->kept);
    part->kept = NULL;
    part->variant_count = 0;
    part->ready = false;
}

static bool graph_open(struct onnx_flow *flow, const struct onnx_model *model, struct flow_graph **out)
{
    struct flow_graph *g = flow->graphs;
    while (g && g->model != model)
        g = g->next;
    *out = g;
    if (g)
        return true;
    g = calloc(1, sizeof(*g));
    if (!g)
        return false;
    g->model = model;
    g->next = flow->graphs;
    flow->graphs = *out = g;
    for (uint32_t i = 0; i < model->initializer_count; i++) {
        if (!base_names_add(&g->initializers, model->initializers[i].name, i))
            return false;
    }
    if (model->node_count) {
        if (!base_array_reserve((void **)&g->parts, 0, &g->part_capacity, sizeof(*g->parts)))
            return false;
        g->parts[g->part_count++] = (struct flow_part){ .end = model->node_count };
    }
    return true;
}

/* Two parts instead of one; `at` is the first node of the second. */
static HRESULT part_cut(struct onnx_flow *flow, struct flow_graph *g, uint32_t index, uint32_t at)
{
    part_forget(&g->parts[index]);
    if (!base_array_reserve((void **)&g->parts, g->part_count, &g->part_capacity, sizeof(*g->parts)))
        return onnx_flow_no_memory(flow);
    struct flow_part *part = &g->parts[index];
    memmove(part + 2, part + 1, (g->part_count - index - 1) * sizeof(*part));
    part[1] = (struct flow_part){ .first = at, .end = part->end };
    part[0] = (struct flow_part){ .first = part->first, .end = at };
    g->part_count++;
    return S_OK;
}

/* The values that the node and its inner graphs read: including names of their own values, which is harmless. */
static bool add_uses(struct base_names *names, const struct onnx_node *n)
{
    bool ok = true;
    for (uint32_t i = 0; ok && i < n->input_count; i++)
        ok = !n->inputs[i][0] || base_names_add(names, n->inputs[i], 0);
    for (uint32_t i = 0; ok && i < n->attribute_count; i++) {
        const struct onnx_model *inner = n->attributes[i].graph;
        for (uint32_t j = 0; ok && inner && j < inner->node_count; j++)
            ok = add_uses(names, &inner->nodes[j]);
        for (uint32_t j = 0; ok && inner && j < inner->output_count; j++)
            ok = base_names_add(names, inner->outputs[j].name, 0);
    }
    return ok;
}

/* Values from before the part: initializers remain, the others become inputs. */
static bool part_inputs(struct onnx_flow *flow, const struct flow_scope *scope, struct flow_part *part,
                        const struct base_names *used)
{
    struct onnx_model *m = &part->model;
    m->inputs = base_arena_alloc(&flow->arena, used->count * sizeof(*m->inputs));
    m->initializers = base_arena_alloc(&flow->arena, used->count * sizeof(*m->initializers));
    part->wanted = base_arena_alloc(&flow->arena, used->count);
    part->repeats = base_arena_alloc(&flow->arena, used->count);
    if (!m->inputs || !m->initializers || !part->wanted || !part->repeats)
        return false;
    for (uint32_t i = 0; i < used->size; i++) {
        const struct onnx_array *array;
        const struct onnx_tensor *tensor;
        const char *name = used->slots[i].text;
        const struct flow_scope *from = name ? onnx_flow_find(scope, name, &array, &tensor) : NULL;
        if (from && tensor) {
            m->initializers[m->initializer_count++] = *tensor;
        } else if (from) {
            part->repeats[m->input_count] = from->repeats;
            m->inputs[m->input_count++] = (struct onnx_value_info){ .name = name };
        }
    }
    return true;
}

static bool part_outputs(struct onnx_flow *flow, struct flow_part *part, const struct base_names *later)
{
    struct onnx_model *m = &part->model;
    uint32_t count = 0;
    for (uint32_t i = 0; i < m->node_count; i++)
        count += m->nodes[i].output_count;
    m->outputs = base_arena_alloc(&flow->arena, count * sizeof(*m->outputs));
    for (uint32_t i = 0; m->outputs && i < m->node_count; i++) {
        const struct onnx_node *n = &m->nodes[i];
        for (uint32_t j = 0; j < n->output_count; j++) {
            if (n->outputs[j][0] && base_names_find(later, n->outputs[j]))
                m->outputs[m->output_count++] = (struct onnx_value_info){ .name = n->outputs[j] };
        }
    }
    return m->outputs != NULL;
}

static HRESULT part_prepare(struct onnx_flow *flow, const struct flow_scope *scope, struct flow_part *part)
{
    const struct onnx_model *whole = scope->graph->model;
    struct base_names used = { 0 }, later = { 0 };
    bool ok = true;
    if (part->ready)
        return S_OK;
    memset(&part->model, 0, sizeof(part->model));
    part->model.nodes = whole->nodes + part->first;
    part->model.node_count = part->end - part->first;
    for (uint32_t i = part->first; ok && i < part->end; i++)
        ok = add_uses(&used, &whole->nodes[i]);
    for (uint32_t i = part->end; ok && i < whole->node_count; i++)
        ok = add_uses(&later, &whole->nodes[i]);
    for (uint32_t i = 0; ok && i < whole->output_count; i++)
        ok = base_names_add(&later, whole->outputs[i].name, 0);
    ok = ok && part_inputs(flow, scope, part, &used) && part_outputs(flow, part, &later);
    base_names_finish(&used);
    base_names_finish(&later);
    part->ready = ok;
    return ok ? S_OK : onnx_flow_no_memory(flow);
}

/* ---- programs of a part ---- */

/* Types and shapes, then the required values. NULL: out of memory. */
static void *make_key(const struct flow_part *part, const struct onnx_array *arrays, size_t *out_bytes)
{
    size_t bytes = 1;
    for (uint32_t i = 0; i < part->model.input_count; i++)
        bytes += sizeof(arrays->type) + sizeof(arrays->rank) + sizeof(arrays->dims) +
                 (part->wanted[i] ? arrays[i].bytes : 0);
    char *key = malloc(bytes), *at = key;
    for (uint32_t i = 0; key && i < part->model.input_count; i++) {
        at = (char *)memcpy(at, &arrays[i].type, sizeof(arrays->type)) + sizeof(arrays->type);
        at = (char *)memcpy(at, &arrays[i].rank, sizeof(arrays->rank)) + sizeof(arrays->rank);
        at = (char *)memcpy(at, arrays[i].dims, sizeof(arrays->dims)) + sizeof(arrays->dims);
        if (part->wanted[i])
            at = (char *)memcpy(at, arrays[i].data, arrays[i].bytes) + arrays[i].bytes;
    }
    *out_bytes = key ? (size_t)(at - key) : 0;
    return key;
}

/* Moves it to the front. */
static struct variant *variant_find(struct flow_part *part, const void *key, size_t bytes)
{
    for (struct variant **at = &part->variants; *at; at = &(*at)->next) {
        struct variant *v = *at;
        if (v->key_bytes != bytes || memcmp(v->key, key, bytes))
            continue;
        *at = v->next;
        v->next = part->variants;
        part->variants = v;
        return v;
    }
    return NULL;
}

static void variant_drop_last(struct flow_part *part)
{
    struct variant **at = &part->variants;
    while ((*at)->next)
        at = &(*at)->next;
    variant_destroy(*at);
    *at = NULL;
    part->variant_count--;
}

/* S_FALSE: the part must be split first, at node error->node. A program may be specialised for input values that stay
 * the same; a value that a loop changes is used as late as possible, so that little else is compiled for it. */
static HRESULT part_compile(struct onnx_flow *flow, struct flow_part *part, const struct onnx_array *arrays,
                            struct onnx_program **out)
{
    uint32_t count = part->model.input_count;
    struct onnx_input *inputs = calloc(count + 1, sizeof(*inputs));
    HRESULT hr = inputs ? S_FALSE : onnx_flow_no_memory(flow);
    while (hr == S_FALSE) {
        bool fresh = false, repeats = false;
        for (uint32_t i = 0; i < count; i++) {
            inputs[i] = (struct onnx_input){ .rank = arrays[i].rank, .data = part->wanted[i] ? arrays[i].data : NULL };
            memcpy(inputs[i].dims, arrays[i].dims, sizeof(inputs[i].dims));
            part->model.inputs[i].type = arrays[i].type; /* that of a branch or iteration may be another one */
        }
        hr = (flow->own_weights ? onnx_compile_owned : onnx_compile)(&part->model, inputs, flow->device->dml,
                                                                     flow->flags, out, flow->error);
        if (SUCCEEDED(hr) || !flow->error->unknown)
            break;
        for (uint32_t i = 0; i < count; i++) {
            fresh = fresh || (inputs[i].wanted && !part->wanted[i]);
            repeats = repeats || (inputs[i].wanted && !part->wanted[i] && part->repeats[i]);
        }
        hr = S_FALSE;
        if (!fresh || (repeats && part->model.node_count > 1))
            break;
        for (uint32_t i = 0; i < count; i++)
            part->wanted[i] = part->wanted[i] || inputs[i].wanted;
    }
    free(inputs);
    return hr;
}

static bool stage(struct onnx_array *array, const struct onnx_port *port)
{
    int64_t dims[ONNX_RANK_MAX];
    for (uint32_t d = 0; d < port->rank; d++)
        dims[d] = port->sizes[d];
    return port->bytes > STAGED_BYTES_MAX || onnx_array_make(array, port->onnx_type, port->rank, dims);
}

static bool variant_stage(struct variant *v)
{
    const struct onnx_program *p = onnx_exec_program(v->exec);
    v->inputs = calloc(p->input_count + 1u, sizeof(*v->inputs));
    v->outputs = calloc(p->output_count + 1u, sizeof(*v->outputs));
    bool ok = v->inputs && v->outputs;
    for (uint32_t i = 0; ok && i < p->input_count; i++)
        ok = p->inputs[i].constant || stage(&v->inputs[i], &p->inputs[i]);
    for (uint32_t i = 0; ok && i < p->output_count; i++)
        ok = p->outputs[i].constant || stage(&v->outputs[i], &p->outputs[i]);
    return ok;
}

static HRESULT part_variant(struct onnx_flow *flow, struct flow_part *part, const struct onnx_array *arrays,
                            struct variant **out)
{
    struct onnx_program *program = NULL;
    size_t bytes;
    void *key = make_key(part, arrays, &bytes);
    *out = key ? variant_find(part, key, bytes) : NULL;
    free(key);
    if (!key || *out)
        return key ? S_OK : onnx_flow_no_memory(flow);
    HRESULT hr = part_compile(flow, part, arrays, &program);
    if (hr != S_OK)
        return hr;
    struct variant *v = calloc(1, sizeof(*v));
    if (!v || !(v->key = make_key(part, arrays, &v->key_bytes))) {
        onnx_program_destroy(program);
        free(v);
        return onnx_flow_no_memory(flow);
    }
    hr = onnx_exec_create(flow->device, program, &v->exec, flow->error);
    if (SUCCEEDED(hr) && !variant_stage(v))
        hr = onnx_flow_no_memory(flow);
    if (FAILED(hr)) {
        variant_destroy(v);
        return hr;
    }
    v->next = part->variants;
    part->variants = *out = v;
    if (++part->variant_count > VARIANTS_MAX)
        variant_drop_last(part);
    return S_OK;
}

/* ---- running ---- */

static HRESULT run_program(struct onnx_flow *flow, struct flow_scope *scope, const struct flow_part *part,
                           const struct variant *v, const struct onnx_array *arrays)
{
    uint64_t bytes = 0;
    const struct onnx_program *p = onnx_exec_program(v->exec);
    struct onnx_array *made = calloc(p->output_count + 1u, sizeof(*made));
    const void **in = calloc(p->input_count + 1u, sizeof(*in));
    void **out = calloc(p->output_count + 1u, sizeof(*out));
    HRESULT hr = made && in && out ? S_OK : onnx_flow_no_memory(flow);
    for (uint32_t i = 0; SUCCEEDED(hr) && i < p->input_count; i++) {
        in[i] = v->inputs[i].data ? v->inputs[i].data : arrays[i].data;
        if (v->inputs[i].data)
            memcpy(v->inputs[i].data, arrays[i].data, arrays[i].bytes);
    }
    for (uint32_t i = 0; SUCCEEDED(hr) && i < p->output_count; i++) {
        const struct onnx_port *port = &p->outputs[i];
        int64_t dims[ONNX_RANK_MAX];
        for (uint32_t d = 0; d < port->rank; d++)
            dims[d] = port->sizes[d];
        bytes += port->bytes;
        if (scope->repeats)
            hr = onnx_flow_may_hold(flow, &scope->graph->model->nodes[part->first], bytes);
        if (SUCCEEDED(hr) && !onnx_array_make(&made[i], port->onnx_type, port->rank, dims))
            hr = onnx_flow_no_memory(flow);
        out[i] = v->outputs[i].data ? v->outputs[i].data : made[i].data;
    }
    if (SUCCEEDED(hr))
        hr = onnx_exec_run(v->exec, flow->pool, NULL, in, out, flow->error);
    for (uint32_t i = 0; SUCCEEDED(hr) && i < p->output_count; i++) {
        if (v->outputs[i].data)
            memcpy(made[i].data, v->outputs[i].data, made[i].bytes);
        hr = onnx_flow_define(flow, scope, p->outputs[i].name, &made[i]);
    }
    for (uint32_t i = 0; made && i < p->output_count; i++)
        onnx_array_finish(&made[i]);
    free(made);
    free(in);
    free(out);
    return hr;
}

/* Continues with a part that could not become a program. */
static HRESULT part_split(struct onnx_flow *flow, struct flow_graph *g, uint32_t index)
{
    struct flow_part *part = &g->parts[index];
    uint32_t at = flow->error->node;
    const struct onnx_node *n = &g->model->nodes[part->first];
    if (at)
        return part_cut(flow, g, index, part->first + at);
    if (part->end - part->first > 1)
        return part_cut(flow, g, index, part->first + 1);
    part->host =
        !strcmp(n->op, "If") || !strcmp(n->op, "Loop") || !strcmp(n->op, "Scan") || onnx_host_find(n->domain, n->op);
    return part->host ? S_OK : E_INVALIDARG; /* the compiler has reported the unknown value */
}

/* S_FALSE: the part is another one now. */
static HRESULT run_part(struct onnx_flow *flow, struct flow_scope *scope, uint32_t index)
{
    struct flow_part *part = &scope->graph->parts[index];
    struct variant *v = NULL;
    HRESULT hr = part_prepare(flow, scope, part);
    if (FAILED(hr) || !part->model.output_count)
        return hr;
    uint32_t count = part->model.input_count;
    struct onnx_array *arrays = calloc(count + 1u, sizeof(*arrays));
    if (!arrays)
        return onnx_flow_no_memory(flow);
    for (uint32_t i = 0; SUCCEEDED(hr) && i < count; i++)
        hr = onnx_flow_value(flow, scope, part->model.inputs[i].name, &arrays[i]);
    if (SUCCEEDED(hr))
        hr = part_variant(flow, part, arrays, &v);
    if (hr == S_FALSE)
        hr = FAILED(hr = part_split(flow, scope->graph, index)) ? hr : S_FALSE;
    else if (SUCCEEDED(hr))
        hr = run_program(flow, scope, part, v, arrays);
    for (uint32_t i = 0; i < count; i++)
        onnx_array_finish(&arrays[i]);
    free(arrays);
    return hr;
}

static HRESULT run_if(struct onnx_flow *flow, struct flow_scope *scope, const struct onnx_node *n)
{
    const struct onnx_attribute *yes = onnx_attribute(n, "then_branch"), *no = onnx_attribute(n, "else_branch");
    struct onnx_array condition, *outputs = NULL;
    if (!yes || !no || !yes->graph || !no->graph || !n->input_count)
        return onnx_flow_fail(flow, n, "a branch has no graph");
    HRESULT hr = onnx_flow_value(flow, scope, n->inputs[0], &condition);
    if (FAILED(hr))
        return hr;
    bool one = condition.type == ONNX_BOOL && condition.bytes == 1;
    const struct onnx_model *branch = one && *(const uint8_t *)condition.data ? yes->graph : no->graph;
    onnx_array_finish(&condition);
    if (!one)
        return onnx_flow_fail(flow, n, "the condition must be one boolean");
    if (branch->input_count || branch->output_count != n->output_count)
        return onnx_flow_fail(flow, n, "the branch has %u inputs and %u outputs for %u", branch->input_count,
                              branch->output_count, n->output_count);
    outputs = calloc(n->output_count + 1u, sizeof(*outputs));
    hr = outputs ? onnx_flow_run_graph(flow, branch, scope, false, NULL, outputs) : onnx_flow_no_memory(flow);
    for (uint32_t i = 0; SUCCEEDED(hr) && i < n->output_count; i++)
        hr = onnx_flow_define(flow, scope, n->outputs[i], &outputs[i]);
    for (uint32_t i = 0; outputs && i < n->output_count; i++)
        onnx_array_finish(&outputs[i]);
    free(outputs);
    return hr;
}

static HRESULT run_node(struct onnx_flow *flow, struct flow_scope *scope, uint32_t index)
{
    struct flow_part *part = &scope->graph->parts[index];
    const struct onnx_node *n = &scope->graph->model->nodes[part->first];
    return onnx_host_find(n->domain, n->op) ? onnx_host_run(flow, scope, n, &part->kept)
           : !strcmp(n->op, "If")           ? run_if(flow, scope, n)
           : !strcmp(n->op, "Loop")         ? onnx_flow_run_loop(flow, scope, n)
                                            : onnx_flow_run_scan(flow, scope, n);
}

HRESULT onnx_flow_run_graph(struct onnx_flow *flow, const struct onnx_model *graph, const struct flow_scope *around,
                            bool repeats, const struct onnx_array *inputs, struct onnx_array *outputs)
{
    struct flow_scope scope = { .around = around, .repeats = repeats || (around && around->repeats) };
    HRESULT hr = graph_open(flow, graph, &scope.graph) ? S_OK : onnx_flow_no_memory(flow);
    for (uint32_t i = 0; SUCCEEDED(hr) && i < graph->input_count; i++) {
        struct onnx_array shared = onnx_array_share(&inputs[i]);
        hr = onnx_flow_define(flow, &scope, graph->inputs[i].name, &shared);
    }
    for (uint32_t i = 0; SUCCEEDED(hr) && i < scope.graph->part_count; i += hr != S_FALSE) {
        hr = scope.graph->parts[i].host ? run_node(flow, &scope, i) : run_part(flow, &scope, i);
    }
    for (uint32_t i = 0; SUCCEEDED(hr) && i < graph->output_count; i++)
        hr = onnx_flow_value(flow, &scope, graph->outputs[i].name, &outputs[i]);
    for (uint32_t i = 0; FAILED(hr) && i < graph->output_count; i++)
        onnx_array_finish(&outputs[i]);
    onnx_flow_forget(&scope);
    return hr;
}

HRESULT onnx_flow_run(struct onnx_flow *flow, const struct onnx_array *inputs, struct onnx_array *outputs,
                      struct onnx_error *error)
{
    flow->error = error;
    flow->held = 0;
    memset(outputs, 0, flow->model->output_count * sizeof(*outputs));
    return onnx_flow_run_graph(flow, flow->model, NULL, false, inputs, outputs);
}

/* ---- life ---- */

struct onnx_flow *onnx_flow_create(const struct onnx_model *model, struct onnx_device *device, struct onnx_pool *pool,
                                   DML_EXECUTION_FLAGS flags, bool own_weights)
{
    struct onnx_flow *flow = calloc(1, sizeof(*flow));
    if (flow) {
        flow->model = model;
        flow->device = device;
        flow->pool = pool;
        flow->flags = flags;
        flow->own_weights = own_weights;
    }
    return flow;
}

void onnx_flow_destroy(struct onnx_flow *flow)
{
    while (flow && flow->graphs) {
        struct flow_graph *g = flow->graphs;
        flow->graphs = g->next;
        for (uint32_t i = 0; i < g->part_count; i++)
            part_forget(&g->parts[i]);
        free(g->parts);
        base_names_finish(&g->initializers);
        free(g);
    }
    if (flow)
        base_arena_finish(&flow->arena);
    free(flow);
}

uint32_t onnx_flow_node_count(const struct onnx_flow *flow)
{
    uint32_t count = 0;
    for (const struct flow_graph *g = flow->graphs; g; g = g->next)
        for (uint32_t i = 0; i < g->part_count; i++)
            for (const struct variant *v = g->parts[i].variants; v; v = v->next)
                count += onnx_exec_program(v->exec)->node_count;
    return count;
}
