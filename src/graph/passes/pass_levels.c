/* SPDX-License-Identifier: Apache-2.0 */
/* Ops of one level (ir/levels.c) become neighbours. */
#include "graph/passes/pass.h"

#include <stdlib.h>

struct place {
    uint32_t level, before;
    struct graph_op *op;
};

static int by_level(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->level != y->level)
        return x->level < y->level ? -1 : 1;
    return x->before < y->before ? -1 : x->before > y->before;
}

HRESULT graph_pass_levels(struct graph *graph, const struct graph_options *options, bool *changed)
{
    const size_t count = (size_t)graph->op_count + 1;
    struct place *places = calloc(count, sizeof(*places));
    uint32_t *level = calloc(count, sizeof(*level));
    const bool ok = places && level && graph_levels(graph, level);
    (void)options;
    for (uint32_t i = 0; ok && i < graph->op_count; i++)
        places[i] = (struct place){ level[i], i, graph->ops[i] };
    if (ok)
        qsort(places, graph->op_count, sizeof(*places), by_level);
    for (uint32_t i = 0; ok && i < graph->op_count; i++) {
        *changed = *changed || graph->ops[i] != places[i].op;
        graph->ops[i] = places[i].op;
    }
    free(places);
    free(level);
    return ok ? S_OK : E_OUTOFMEMORY;
}
