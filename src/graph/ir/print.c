/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/ir/text.h"

#include <stdlib.h>

static const char *const place_names[] = { "input", "owned", "output", "constant", "temp", "derived" };

static void print_value(struct graph_text *text, const struct graph *graph, uint32_t number)
{
    const struct graph_value *value = &graph->values[number];
    bool slot = value->place <= GRAPH_OUTPUT;
    graph_text_add(text, "%%%u = %s", number, place_names[value->place]);
    if (slot)
        graph_text_add(text, " %u", value->index);
    graph_text_add(text, ", %llu bytes", (unsigned long long)value->size_bytes);
    if (value->name) {
        graph_text_add(text, " ");
        graph_text_name(text, value->name);
    }
    graph_text_add(text, "\n");
}

static void print_operands(struct graph_text *text, const struct graph_op *op, uint32_t begin, uint32_t count)
{
    for (uint32_t t = begin; t < begin + count; t++) {
        graph_text_add(text, "%s%%%u ", t > begin ? ", " : "", op->value[t]);
        graph_text_view(text, &op->k.tensors[t]);
    }
}

static void print_graph_op(struct graph_text *text, const struct graph *graph, const struct graph_op *op)
{
    graph_text_op(text, &op->k);
    if (op->node != GRAPH_NONE) {
        graph_text_add(text, " ; node %u %s", op->node, op->origin);
        if (graph->named_nodes) {
            graph_text_add(text, " ");
            graph_text_names(text, graph, op);
        }
    }
    graph_text_add(text, "\n    ");
    print_operands(text, op, 0, op->k.input_count);
    graph_text_add(text, "\n    -> ");
    print_operands(text, op, op->k.input_count, op->k.output_count);
    graph_text_add(text, "\n");
}

/* Values that an op accesses; a pass may leave others behind. */
static bool *used_values(const struct graph *graph)
{
    bool *used = calloc(graph->value_count + 1, sizeof(*used));
    for (uint32_t i = 0; used && i < graph->op_count; i++)
        for (uint32_t t = 0; t < graph->ops[i]->k.input_count + graph->ops[i]->k.output_count; t++)
            used[graph->ops[i]->value[t]] |= !graph->ops[i]->dead;
    for (uint32_t i = 0; used && i < graph->derivation_count; i++)
        for (uint32_t t = 0; t < graph->derivations[i].input_count + graph->derivations[i].output_count; t++)
            used[graph->derivations[i].values[t]] = true;
    return used;
}

static void print_derivation(struct graph_text *text, const struct graph_derivation *d)
{
    graph_text_add(text, "initially %s:", d->name);
    for (uint32_t t = 0; t < d->input_count + d->output_count; t++)
        graph_text_add(text, "%s %%%u", t == d->input_count ? " ->" : "", d->values[t]);
    graph_text_add(text, "\n");
}

char *graph_print(const struct graph *graph)
{
    struct graph_text text = { 0 };
    bool *used = used_values(graph);
    if (!used)
        return NULL;
    graph_text_add(&text, "graph: %u inputs, %u outputs, flags 0x%x\n", graph->input_count, graph->output_count,
                   graph->flags);
    for (uint32_t i = 0; i < graph->value_count; i++)
        if (used[i])
            print_value(&text, graph, i);
    free(used);
    for (uint32_t i = 0; i < graph->derivation_count; i++)
        print_derivation(&text, &graph->derivations[i]);
    for (uint32_t i = 0; i < graph->op_count; i++)
        if (!graph->ops[i]->dead)
            print_graph_op(&text, graph, graph->ops[i]);
    return graph_text_detach(&text);
}
