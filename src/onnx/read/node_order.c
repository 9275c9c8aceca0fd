/* SPDX-License-Identifier: Apache-2.0 */
/* The order of nodes: ONNX requires every value to be defined before it is used, but some tools violate this, and other
 * runtimes sort the nodes. */
#include "onnx/read/read.h"

#include "base/names.h"

#include <stdlib.h>

struct sorter {
    const struct onnx_model *graph;
    struct base_names makers; /* name -> the node that defines it */
    uint32_t *uses;           /* of all nodes: the nodes that they need, */
    uint32_t use_count, use_capacity;
    uint32_t *first;  /* ... of node i from first[i] to first[i + 1] */
    uint32_t *cursor; /* of node i: the next input to visit */
    uint8_t *state;   /* 1: its uses are being placed; 2: it is placed */
    uint32_t *stack;
    struct onnx_node *sorted;
    uint32_t placed;
    bool circle;
};

static bool add_use(struct sorter *s, const char *name)
{
    const struct base_name *maker = name[0] ? base_names_find(&s->makers, name) : NULL;
    if (!maker)
        return true;
    if (!base_array_reserve((void **)&s->uses, s->use_count, &s->use_capacity, sizeof(*s->uses)))
        return false;
    s->uses[s->use_count++] = maker->number;
    return true;
}

/* Inputs, and the values that inner graphs use from this one. */
static bool add_uses(struct sorter *s, const struct onnx_node *n)
{
    bool ok = true;
    for (uint32_t i = 0; ok && i < n->input_count; i++)
        ok = add_use(s, n->inputs[i]);
    for (uint32_t i = 0; i < n->attribute_count; i++) {
        const struct onnx_model *inner = n->attributes[i].graph;
        for (uint32_t j = 0; ok && inner && j < inner->node_count; j++)
            ok = add_uses(s, &inner->nodes[j]);
        for (uint32_t j = 0; ok && inner && j < inner->output_count; j++)
            ok = add_use(s, inner->outputs[j].name);
    }
    return ok;
}

static bool find_uses(struct sorter *s)
{
    const struct onnx_model *m = s->graph;
    bool ok = true;
    for (uint32_t i = 0; ok && i < m->node_count; i++)
        for (uint32_t j = 0; ok && j < m->nodes[i].output_count; j++)
            ok = !m->nodes[i].outputs[j][0] || base_names_add(&s->makers, m->nodes[i].outputs[j], i);
    for (uint32_t i = 0; ok && i < m->node_count; i++) {
        s->first[i] = s->use_count;
        ok = add_uses(s, &m->nodes[i]);
    }
    s->first[m->node_count] = s->use_count;
    return ok;
}

static bool is_sorted(const struct sorter *s)
{
    for (uint32_t i = 0; i < s->graph->node_count; i++)
        for (uint32_t u = s->first[i]; u < s->first[i + 1]; u++)
            if (s->uses[u] >= i)
                return false;
    return true;
}

/* Depth first, without recursion. */
static void place(struct sorter *s, uint32_t root)
{
    uint32_t depth = 0;
    s->stack[depth++] = root;
    s->state[root] = 1;
    while (depth) {
        uint32_t i = s->stack[depth - 1];
        if (s->cursor[i] < s->first[i + 1]) {
            uint32_t next = s->uses[s->cursor[i]++];
            if (!s->state[next]) {
                s->state[next] = 1;
                s->stack[depth++] = next;
            } else if (s->state[next] == 1) {
                s->circle = true;
            }
            continue;
        }
        depth--;
        s->state[i] = 2;
        s->sorted[s->placed++] = s->graph->nodes[i];
    }
}

HRESULT onnx_sort_nodes(struct onnx_model *m)
{
    struct sorter s = { .graph = m };
    size_t count = m->node_count;
    s.first = calloc(count + 1, sizeof(*s.first));
    s.cursor = calloc(count + 1, sizeof(*s.cursor));
    s.state = calloc(count + 1, sizeof(*s.state));
    s.stack = calloc(count + 1, sizeof(*s.stack));
    s.sorted = calloc(count + 1, sizeof(*s.sorted));
    bool ok = s.first && s.cursor && s.state && s.stack && s.sorted && find_uses(&s);
    if (ok && !is_sorted(&s)) {
        memcpy(s.cursor, s.first, count * sizeof(*s.cursor));
        for (uint32_t i = 0; i < m->node_count; i++)
            if (!s.state[i])
                place(&s, i);
        /* A cycle is left as it is (the converter reports it), and so is the order if an inner graph has names of its
         * own that resemble one. */
        if (!s.circle)
            memcpy(m->nodes, s.sorted, count * sizeof(*m->nodes));
    }
    base_names_finish(&s.makers);
    free(s.uses);
    free(s.first);
    free(s.cursor);
    free(s.state);
    free(s.stack);
    free(s.sorted);
    return ok ? S_OK : E_OUTOFMEMORY;
}
