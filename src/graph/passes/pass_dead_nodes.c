/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/passes/pass.h"

#include <stdlib.h>

static bool wanted(const struct graph *graph, const struct graph_op *op, const bool *read_later)
{
    for (uint32_t t = 0; t < op->k.output_count; t++) {
        uint32_t value = op->value[op->k.input_count + t];
        if (read_later[value] || graph->values[value].place == GRAPH_OUTPUT)
            return true;
    }
    return false;
}

HRESULT graph_pass_dead_nodes(struct graph *graph, const struct graph_options *options, bool *changed)
{
    (void)options;
    bool *read_later = calloc(graph->value_count + 1, sizeof(*read_later));
    if (!read_later)
        return E_OUTOFMEMORY;
    for (uint32_t i = graph->op_count; i--;) {
        struct graph_op *op = graph->ops[i];
        if (!wanted(graph, op, read_later)) {
            op->dead = true;
            *changed = true;
            continue;
        }
        for (uint32_t t = 0; t < op->k.input_count; t++)
            read_later[op->value[t]] = true;
    }
    free(read_later);
    return S_OK;
}
