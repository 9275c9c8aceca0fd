/* SPDX-License-Identifier: Apache-2.0 */
/* From a file to nodes, edges, inputs and outputs. */
#include "tools/dispatch/dispatch.h"
#include "tools/files.h"

#include <stdio.h>
#include <sys/stat.h>

/* ---- execution flags ---- */

static const struct {
    const char *name;
    DML_EXECUTION_FLAGS flag;
} execution_flags[] = {
    { "DML_EXECUTION_FLAG_ALLOW_HALF_PRECISION_COMPUTATION", DML_EXECUTION_FLAG_ALLOW_HALF_PRECISION_COMPUTATION },
    { "DML_EXECUTION_FLAG_DISABLE_META_COMMANDS", DML_EXECUTION_FLAG_DISABLE_META_COMMANDS },
    { "DML_EXECUTION_FLAG_DESCRIPTORS_VOLATILE", DML_EXECUTION_FLAG_DESCRIPTORS_VOLATILE },
    { "ANYDML_EXECUTION_FLAG_HALF_PRECISION_FLOAT32", ANYDML_EXECUTION_FLAG_HALF_PRECISION_FLOAT32 },
    { "ANYDML_EXECUTION_FLAG_BYTE_ACTIVATIONS", ANYDML_EXECUTION_FLAG_BYTE_ACTIVATIONS },
    { "ANYDML_EXECUTION_FLAG_PROPAGATE_NAN", ANYDML_EXECUTION_FLAG_PROPAGATE_NAN },
};

static bool read_flags(struct dispatch_reader *r, const json_t *value, DML_EXECUTION_FLAGS *out)
{
    uint32_t flags = 0;
    const size_t length = tools_dispatch_enter(r, "flags");
    if (value && !json_is_array(value))
        return tools_dispatch_refuse(r, value, "an array of strings");
    for (size_t i = 0; i < json_array_size(value); i++) {
        const char *text;
        uint32_t row = 0;
        if (!tools_dispatch_string(r, json_array_get(value, i), &text))
            return false;
        while (row < ARRAY_SIZE(execution_flags) && strcmp(execution_flags[row].name, text))
            row++;
        if (row == ARRAY_SIZE(execution_flags))
            return tools_dispatch_refuse(r, json_array_get(value, i), "the name of an execution flag");
        flags |= (uint32_t)execution_flags[row].flag;
    }
    tools_dispatch_leave(r, length);
    *out = (DML_EXECUTION_FLAGS)flags;
    return true;
}

/* ---- nodes ---- */

static struct dispatch_node *find_node(struct dispatch *d, const char *name, size_t length)
{
    for (uint32_t i = 0; i < d->node_count; i++)
        if (strlen(d->nodes[i].name) == length && !memcmp(d->nodes[i].name, name, length))
            return &d->nodes[i];
    return NULL;
}

static bool read_node(struct dispatch_reader *r, const json_t *value, struct dispatch *d)
{
    static const char *const operator_keys[] = { "name", "type", "desc", NULL };
    static const char *const constant_keys[] = { "name", "constant", NULL };
    struct dispatch_node *node = &d->nodes[d->node_count];
    node->constant = json_object_get(value, "constant");
    if (!tools_dispatch_object(r, value, node->constant ? constant_keys : operator_keys))
        return false;
    const size_t length = tools_dispatch_enter(r, ".name");
    if (!tools_dispatch_string(r, json_object_get(value, "name"), &node->name))
        return false;
    if (find_node(d, node->name, strlen(node->name)))
        return tools_dispatch_refuse(r, json_object_get(value, "name"), "a name that no other node has");
    tools_dispatch_leave(r, length);
    d->node_count++;
    return node->constant || tools_dispatch_operator(r, value, node);
}

static bool read_nodes(struct dispatch_reader *r, const json_t *nodes, struct dispatch *d)
{
    const size_t outer = tools_dispatch_enter(r, "graph.nodes");
    if (!json_is_array(nodes) || !json_array_size(nodes))
        return tools_dispatch_refuse(r, nodes, "an array of nodes");
    d->nodes = tools_dispatch_alloc(r, json_array_size(nodes), sizeof(*d->nodes));
    for (size_t i = 0; d->nodes && i < json_array_size(nodes); i++) {
        const size_t length = tools_dispatch_enter(r, "[%zu]", i);
        if (!read_node(r, json_array_get(nodes, i), d))
            return false;
        tools_dispatch_leave(r, length);
    }
    tools_dispatch_leave(r, outer);
    return d->nodes != NULL;
}

/* ---- edges ---- */

/* One end of an edge. */
struct end {
    struct dispatch_node *node;
    uint32_t index;                       /* of the node's input or output */
    const DML_BUFFER_TENSOR_DESC *tensor; /* NULL: the node is a constant */
};

/* "node.Tensor", or the name of a constant. */
static bool read_end(struct dispatch_reader *r, struct dispatch *d, const json_t *edge, bool is_to, struct end *out)
{
    const json_t *value = json_object_get(edge, is_to ? "to" : "from");
    const size_t length = tools_dispatch_enter(r, is_to ? ".to" : ".from");
    const char *text;
    if (!tools_dispatch_string(r, value, &text))
        return false;
    struct dispatch_node *node = find_node(d, text, strlen(text));
    *out = (struct end){ node, 0, NULL };
    if (!node || !node->constant || is_to) {
        const char *dot = strrchr(text, '.');
        node = dot ? find_node(d, text, (size_t)(dot - text)) : NULL;
        if (!node || node->constant)
            return tools_dispatch_refuse(r, value,
                                         is_to ? "\"NODE.TENSOR\", an operator's input"
                                               : "\"NODE.TENSOR\", an operator's output, or a constant");
        const struct dispatch_slot *slots = is_to ? node->inputs : node->outputs;
        const uint32_t count = is_to ? node->input_count : node->output_count;
        uint32_t i = 0;
        while (i < count && (!slots[i].tensor || strcmp(slots[i].name, dot + 1)))
            i++;
        if (i == count)
            return tools_dispatch_refuse(
                r, value, is_to ? "an input that the node's desc gives" : "an output that the node's desc gives");
        *out = (struct end){ node, i, slots[i].tensor };
    }
    tools_dispatch_leave(r, length);
    return true;
}

/* The graph's input or output of that name, created with the first edge; with several tensors the largest size is
 * used. */
static uint32_t find_slot(struct dispatch_slot *slots, uint32_t *count, const char *name,
                          const DML_BUFFER_TENSOR_DESC *tensor)
{
    for (uint32_t i = 0; i < *count; i++) {
        if (strcmp(slots[i].name, name))
            continue;
        if (tensor->TotalTensorSizeInBytes > slots[i].tensor->TotalTensorSizeInBytes)
            slots[i].tensor = tensor;
        return i;
    }
    slots[*count] = (struct dispatch_slot){ name, tensor, NULL };
    return (*count)++;
}

static void add_edge(struct dispatch *d, struct emit_source from, const struct end *to)
{
    d->edges[d->edge_count++] =
        (struct emit_edge){ from, (uint32_t)(to->node - d->nodes), to->index, to->node->inputs[to->index].name };
}

static bool read_input_edge(struct dispatch_reader *r, const json_t *edge, struct dispatch *d)
{
    static const char *const keys[] = { "input", "to", NULL };
    struct end to;
    const char *name;
    if (!tools_dispatch_object(r, edge, keys) || !read_end(r, d, edge, true, &to))
        return false;
    tools_dispatch_enter(r, ".input");
    if (!tools_dispatch_string(r, json_object_get(edge, "input"), &name))
        return false;
    add_edge(d, (struct emit_source){ true, find_slot(d->inputs, &d->input_count, name, to.tensor), 0 }, &to);
    return true;
}

static bool read_output_edge(struct dispatch_reader *r, const json_t *edge, struct dispatch *d)
{
    static const char *const keys[] = { "from", "output", NULL };
    struct end from;
    const char *name;
    if (!tools_dispatch_object(r, edge, keys) || !read_end(r, d, edge, false, &from))
        return false;
    if (!from.tensor)
        return tools_dispatch_fail(r, ".from is a constant, must be an operator's output");
    tools_dispatch_enter(r, ".output");
    if (!tools_dispatch_string(r, json_object_get(edge, "output"), &name))
        return false;
    const uint32_t before = d->output_count, slot = find_slot(d->outputs, &d->output_count, name, from.tensor);
    if (slot != before)
        return tools_dispatch_refuse(r, json_object_get(edge, "output"), "a name that no other output has");
    d->ends[slot] = (DML_OUTPUT_GRAPH_EDGE_DESC){ (uint32_t)(from.node - d->nodes), from.index, slot,
                                                  from.node->outputs[from.index].name };
    return true;
}

static bool read_intermediate_edge(struct dispatch_reader *r, const json_t *edge, struct dispatch *d)
{
    static const char *const keys[] = { "from", "to", NULL };
    struct end from, to;
    if (!tools_dispatch_object(r, edge, keys) || !read_end(r, d, edge, false, &from) ||
        !read_end(r, d, edge, true, &to))
        return false;
    if (!from.tensor && !from.node->tensor)
        from.node->tensor = to.tensor;
    add_edge(d, (struct emit_source){ false, (uint32_t)(from.node - d->nodes), from.index }, &to);
    return true;
}

static bool read_edges(struct dispatch_reader *r, const json_t *edges, struct dispatch *d)
{
    const size_t outer = tools_dispatch_enter(r, "graph.edges"), count = json_array_size(edges);
    if (!json_is_array(edges) || !count)
        return tools_dispatch_refuse(r, edges, "an array of edges");
    d->edges = tools_dispatch_alloc(r, count, sizeof(*d->edges));
    d->ends = tools_dispatch_alloc(r, count, sizeof(*d->ends));
    d->inputs = tools_dispatch_alloc(r, count, sizeof(*d->inputs));
    d->outputs = tools_dispatch_alloc(r, count, sizeof(*d->outputs));
    if (!d->edges || !d->ends || !d->inputs || !d->outputs)
        return false;
    for (size_t i = 0; i < count; i++) {
        const json_t *edge = json_array_get(edges, i);
        const size_t length = tools_dispatch_enter(r, "[%zu]", i);
        if (!(json_object_get(edge, "input")    ? read_input_edge
              : json_object_get(edge, "output") ? read_output_edge
                                                : read_intermediate_edge)(r, edge, d))
            return false;
        tools_dispatch_leave(r, length);
    }
    tools_dispatch_leave(r, outer);
    return true;
}

/* The type of a constant is defined by its first edge. */
static bool read_constants(struct dispatch_reader *r, struct dispatch *d)
{
    for (uint32_t i = 0; i < d->node_count; i++) {
        struct dispatch_node *node = &d->nodes[i];
        const size_t length = tools_dispatch_enter(r, "graph.nodes[%u].constant", i);
        if (node->constant && !node->tensor)
            return tools_dispatch_fail(r, ": no edge leads from \"%.60s\" to an operator", node->name);
        if (node->constant) {
            /* Twice: the compiled graph has its own copy. */
            if (!tools_dispatch_take(r, node->tensor->TotalTensorSizeInBytes) ||
                !tools_dispatch_take(r, node->tensor->TotalTensorSizeInBytes))
                return false;
            void *data = tools_dispatch_alloc(r, node->tensor->TotalTensorSizeInBytes, 1);
            if (!data || !tools_dispatch_fill(r, node->constant, node->tensor, data))
                return false;
            node->data = data;
        }
        tools_dispatch_leave(r, length);
    }
    return true;
}

/* ---- files ---- */

static bool read_graph(struct dispatch_reader *r, struct dispatch *d)
{
    static const char *const keys[] = { "$schema", "comment", "graph", "flags", "inputs", "outputs", NULL };
    static const char *const graph_keys[] = { "nodes", "edges", NULL };
    const json_t *graph = json_object_get(d->root, "graph");
    if (!tools_dispatch_object(r, d->root, keys))
        return false;
    const size_t length = tools_dispatch_enter(r, "graph");
    if (!tools_dispatch_object(r, graph, graph_keys))
        return false;
    tools_dispatch_leave(r, length);
    return read_nodes(r, json_object_get(graph, "nodes"), d) && read_edges(r, json_object_get(graph, "edges"), d) &&
           read_constants(r, d);
}

static bool read_single(struct dispatch_reader *r, struct dispatch *d)
{
    static const char *const keys[] = { "$schema", "comment", "type", "desc", "flags", "inputs", "outputs", NULL };
    d->nodes = tools_dispatch_alloc(r, d->node_count = 1, sizeof(*d->nodes));
    if (!d->nodes || !tools_dispatch_object(r, d->root, keys) || !tools_dispatch_operator(r, d->root, d->nodes))
        return false;
    d->inputs = d->nodes->inputs;
    d->input_count = d->nodes->input_count;
    d->outputs = d->nodes->outputs;
    d->output_count = d->nodes->output_count;
    return true;
}

/* "inputs" and "outputs" list the existing ones. */
static bool check_names(struct dispatch_reader *r, const json_t *root, const char *key,
                        const struct dispatch_slot *slots, uint32_t count)
{
    const json_t *object = json_object_get(root, key);
    const char *name;
    json_t *ignored;
    if (object && !json_is_object(object)) {
        tools_dispatch_enter(r, "%s", key);
        return tools_dispatch_refuse(r, object, "an object");
    }
    json_object_foreach((json_t *)(uintptr_t)object, name, ignored)
    {
        uint32_t i = 0;
        while (i < count && (!slots[i].tensor || strcmp(slots[i].name, name)))
            i++;
        if (i == count)
            return tools_dispatch_fail(r, "%s.%.60s: the tensor does not exist", key, name);
    }
    return true;
}

/* Printing and .npy files need the elements without strides, in a second copy. */
static bool take_output(struct dispatch_reader *r, const DML_BUFFER_TENSOR_DESC *tensor)
{
    return tools_dispatch_take(r, tensor->TotalTensorSizeInBytes) &&
           (!tensor->Strides || tools_dispatch_take(r, tensor->TotalTensorSizeInBytes));
}

static bool read_inputs(struct dispatch_reader *r, struct dispatch *d)
{
    const json_t *given = json_object_get(d->root, "inputs");
    for (uint32_t i = 0; i < d->output_count; i++)
        if (d->outputs[i].tensor && !take_output(r, d->outputs[i].tensor))
            return false;
    for (uint32_t i = 0; i < d->input_count; i++) {
        struct dispatch_slot *slot = &d->inputs[i];
        if (!slot->tensor)
            continue;
        /* Twice: here and, after DirectML has accepted the description, bound. */
        if (!tools_dispatch_take(r, slot->tensor->TotalTensorSizeInBytes) ||
            !tools_dispatch_take(r, slot->tensor->TotalTensorSizeInBytes))
            return false;
        const size_t length = tools_dispatch_enter(r, "inputs.%s", slot->name);
        slot->data = tools_dispatch_alloc(r, base_align_up(slot->tensor->TotalTensorSizeInBytes, 4), 1);
        if (!slot->data || !tools_dispatch_fill(r, json_object_get(given, slot->name), slot->tensor, slot->data))
            return false;
        tools_dispatch_leave(r, length);
    }
    return true;
}

bool tools_dispatch_load(struct dispatch_reader *r, struct dispatch *d)
{
    json_error_t why;
    struct stat about;
    *d = (struct dispatch){ 0 };
    r->arena = &d->arena;
    r->path[0] = 0;
    if (!stat(r->file, &about) && S_ISDIR(about.st_mode))
        return tools_fail(r->error, TOOLS_USAGE, "cannot read %s: it is a folder", r->file);
    d->root = strcmp(r->file, "-") ? json_load_file(r->file, JSON_REJECT_DUPLICATES, &why)
                                   : json_loadf(stdin, JSON_REJECT_DUPLICATES, &why);
    if (!d->root && why.line < 1)
        return tools_fail(r->error, TOOLS_USAGE, "cannot read %s: %.150s", r->file, why.text);
    if (!d->root)
        return tools_fail(r->error, TOOLS_USAGE, "%s: line %d, column %d: %.150s", r->file, why.line, why.column,
                          why.text);
    tools_files_read(r->file);
    d->is_graph = json_object_get(d->root, "graph") != NULL;
    return (d->is_graph ? read_graph(r, d) : read_single(r, d)) &&
           read_flags(r, json_object_get(d->root, "flags"), &d->flags) &&
           check_names(r, d->root, "inputs", d->inputs, d->input_count) &&
           check_names(r, d->root, "outputs", d->outputs, d->output_count) && read_inputs(r, d);
}

void tools_dispatch_finish(struct dispatch *d)
{
    json_decref(d->root);
    base_arena_finish(&d->arena);
}
